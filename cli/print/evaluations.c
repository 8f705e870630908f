/* evaluations.c - predictions held against the truth; see evaluations.h.
 *
 * Contents: the report, names in order, JSON.
 */
#include "print/evaluations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_SHOWN = 40, MATRIX_NAMES = 20, NAME_SHOWN = 24, MATRIX_NAME = 10 };

/* ---- the report ---- */

static void percent(double fraction, char *text)
{
    if (isnan(fraction)) {
        snprintf(text, NUMBER_SIZE, "-");
    } else {
        snprintf(text, NUMBER_SIZE, "%.2f %%", 100 * fraction);
    }
}

/* Is the accuracy a good one? */
static void print_standing(const phl_evaluation *e)
{
    char number[NUMBER_SIZE], text[120];
    percent(e->largest_share, number);
    snprintf(text, sizeof text, "%s%s", number,
             e->accuracy_low <= e->largest_share
                 ? ": saying this class of every tree may be as good"
                 : "");
    terminal_fact("largest class", text);
    percent(e->balanced_accuracy, number);
    terminal_fact("balanced accuracy", number);
    snprintf(text, sizeof text, "%.4f (how far probabilities are from shares of right answers)",
             e->calibration_error);
    terminal_fact("calibration error", isnan(e->calibration_error) ? "-" : text);
}

static void print_totals(const phl_evaluation *e, const evaluation_words *words)
{
    char number[NUMBER_SIZE], text[120];
    terminal_fact(words->items, number_grouped(e->n, number));
    if (e->unseen) {
        snprintf(text, sizeof text, "%s (%s never seen in training: always wrong)",
                 number_grouped(e->unseen, number), words->names);
        terminal_fact("of these unseen", text);
    }
    percent(e->best->accuracy, number);
    if (words->classes && e->n) {
        snprintf(text, sizeof text, "%s (%.2f to %.2f at 95 %%)", number, 100 * e->accuracy_low,
                 100 * e->accuracy_high);
    }
    terminal_fact("accuracy", words->classes && e->n ? text : number);
    if (words->classes && e->n) {
        print_standing(e);
    }
    if (e->drawn && !isnan(e->drawn->accuracy)) {
        percent(e->drawn->accuracy, number);
        terminal_fact("accuracy, drawn", number);
    }
    snprintf(text, sizeof text, "%.4f bits (%.2f as the paper counts it)", e->best->entropy_bits,
             100 * e->best->entropy_bits);
    terminal_fact("entropy", text);
    snprintf(text, sizeof text, "%.4f bits", e->predictive_entropy_bits);
    terminal_fact("predictive entropy", text);
    snprintf(text, sizeof text, "%.4f nats", e->log_loss);
    terminal_fact("log-loss", isnan(e->log_loss) ? "-" : text);
}

typedef struct ranked_name {
    const phl_evaluation *evaluation;
    size_t index;
} ranked_name;

const char *evaluation_name(const phl_evaluation *e, size_t i)
{
    return e->names[i] ? e->names[i] : "(unseen)";
}

static int compare_names(const void *a, const void *b)
{
    const ranked_name *left = a, *right = b;
    int order = text_compare_natural(evaluation_name(left->evaluation, left->index),
                                     evaluation_name(right->evaluation, right->index));
    return order != 0 ? order : left->index < right->index ? -1 : 1;
}

static int compare_sizes(const void *a, const void *b)
{
    const ranked_name *left = a, *right = b;
    uint64_t n = left->evaluation->best->measures[left->index].n;
    uint64_t m = right->evaluation->best->measures[right->index].n;
    return n == m ? compare_names(a, b) : (n > m ? -1 : 1);
}

/* Names that occur, true or predicted, by name; the most frequent ones if there are many.  *n is
 * how many there are; to be freed. */
static ranked_name *rank_names(const phl_evaluation *e, size_t *n)
{
    ranked_name *ranks = terminal_allocate(e->n_names, sizeof *ranks);
    *n = 0;
    for (size_t i = 0; i < e->n_names; i++) {
        if (e->best->measures[i].n || e->best->measures[i].predicted) {
            ranks[(*n)++] = (ranked_name){e, i};
        }
    }
    if (*n > NAMES_SHOWN) {
        qsort(ranks, *n, sizeof *ranks, compare_sizes);
    }
    qsort(ranks, *n > NAMES_SHOWN ? NAMES_SHOWN : *n, sizeof *ranks, compare_names);
    return ranks;
}

/* Precision and F1 of a name; NaN where they are not defined. */
static void precision_of(const phl_evaluation *e, size_t i, double *precision, double *f1)
{
    const phl_name_measure *m = &e->best->measures[i];
    double right = (double)e->best->counts[i * e->n_names + i];
    *precision = m->predicted ? right / (double)m->predicted : (double)NAN;
    *f1 = m->n + m->predicted ? 2 * right / (double)(m->n + m->predicted) : (double)NAN;
}

/* The cells of a name: n, predicted and then as the columns say. */
static void print_name(const phl_evaluation *e, const evaluation_words *words, size_t i,
                       text_table *table)
{
    const phl_name_measure *m = &e->best->measures[i];
    char name[TABLE_CELL], count[NUMBER_SIZE], predicted[NUMBER_SIZE], right[NUMBER_SIZE];
    char entropy[NUMBER_SIZE] = "-", drawn[NUMBER_SIZE] = "", share[NUMBER_SIZE], both[NUMBER_SIZE];
    double precision, f1;
    text_printable(evaluation_name(e, i), NAME_SHOWN, name, sizeof name);
    number_grouped(m->n, count);
    number_grouped(m->predicted, predicted);
    percent(m->accuracy, right);
    if (m->predicted) {
        snprintf(entropy, sizeof entropy, "%.4f", m->entropy_bits);
    }
    if (words->classes) {
        precision_of(e, i, &precision, &f1);
        percent(precision, share);
        percent(f1, both);
        table_row(table,
                  (const char *const[]){name, count, predicted, right, share, both, entropy});
        return;
    }
    if (e->drawn) {
        percent(e->drawn->measures[i].accuracy, drawn);
    }
    table_row(table, (const char *const[]){name, count, predicted, right, entropy, drawn});
}

static void print_names(const phl_evaluation *e, const evaluation_words *words,
                        const ranked_name *ranks, size_t n)
{
    char count[NUMBER_SIZE];
    text_table table;
    table_begin(&table, words->classes ? 7 : e->drawn ? 6 : 5);
    table_row(&table, words->classes
                          ? (const char *const[]){words->name, "n", "predicted", "recall",
                                                  "precision", "F1", "entropy bits"}
                          : (const char *const[]){words->name, "n", "predicted", "accuracy",
                                                  "entropy bits", "accuracy, drawn"});
    for (size_t r = 0; r < n && r < NAMES_SHOWN; r++) {
        print_name(e, words, ranks[r].index, &table);
    }
    putchar('\n');
    table_end(&table, stdout, 2);
    if (n > NAMES_SHOWN) {
        printf("  and %s more; --json lists all\n", number_grouped(n - NAMES_SHOWN, count));
    }
}

static void print_matrix(const phl_evaluation *e, const evaluation_words *words,
                         const ranked_name *ranks, size_t n)
{
    char cells[MATRIX_NAMES + 1][TABLE_CELL];
    const char *row[MATRIX_NAMES + 1];
    text_table table;
    if (n > MATRIX_NAMES) {
        printf("\nThe confusion matrix of %zu %s is in --json.\n", n, words->names);
        return;
    }
    printf("\nconfusion (rows: true, columns: predicted)\n");
    table_begin(&table, n + 1);
    row[0] = "";
    for (size_t c = 0; c < n; c++) {
        text_printable(evaluation_name(e, ranks[c].index), MATRIX_NAME, cells[c + 1], TABLE_CELL);
        row[c + 1] = cells[c + 1];
    }
    table_row(&table, row);
    for (size_t r = 0; r < n; r++) {
        text_printable(evaluation_name(e, ranks[r].index), NAME_SHOWN, cells[0], TABLE_CELL);
        row[0] = cells[0];
        for (size_t c = 0; c < n; c++) {
            uint64_t count = e->best->counts[ranks[r].index * e->n_names + ranks[c].index];
            number_grouped(count, cells[c + 1]);
        }
        table_row(&table, row);
    }
    table_end(&table, stdout, 2);
}

void evaluation_print(const phl_evaluation *e, const evaluation_words *words)
{
    size_t n = 0;
    ranked_name *ranks = rank_names(e, &n);
    print_totals(e, words);
    print_names(e, words, ranks, n);
    print_matrix(e, words, ranks, n);
    free(ranks);
}

/* ---- names in order ---- */

size_t *evaluation_names_in_order(const phl_evaluation *e)
{
    ranked_name *ranks = terminal_allocate(e->n_names, sizeof *ranks);
    size_t *order = terminal_allocate(e->n_names, sizeof *order);
    for (size_t i = 0; i < e->n_names; i++) {
        ranks[i] = (ranked_name){e, i};
    }
    qsort(ranks, e->n_names, sizeof *ranks, compare_names);
    for (size_t i = 0; i < e->n_names; i++) {
        order[i] = ranks[i].index;
    }
    free(ranks);
    return order;
}

/* ---- JSON ---- */

void evaluation_confusion_json(json_writer *json, const phl_evaluation *e,
                               const phl_confusion *confusion, const size_t *order)
{
    size_t n = e->n_names;
    json_out_key(json, "confusion");
    json_out_open(json, '{', false);
    json_out_key(json, "names");
    json_out_open(json, '[', true);
    for (size_t i = 0; i < n; i++) {
        json_out_string(json, e->names[order ? order[i] : i]);
    }
    json_out_close(json, ']');
    json_out_key(json, "counts");
    json_out_open(json, '[', false);
    for (size_t i = 0; i < n; i++) {
        const uint64_t *row = confusion->counts + (order ? order[i] : i) * n;
        json_out_open(json, '[', true);
        for (size_t j = 0; j < n; j++) {
            json_out_integer(json, row[order ? order[j] : j]);
        }
        json_out_close(json, ']');
    }
    json_out_close(json, ']');
    json_out_close(json, '}');
}

void evaluation_json_write(json_writer *json, const phl_evaluation *e)
{
    json_out_open(json, '{', false);
    json_out_count(json, "n", e->n);
    json_out_number(json, "accuracy", e->best->accuracy);
    if (e->drawn) {
        json_out_number(json, "accuracy_drawn", e->drawn->accuracy);
    }
    json_out_number(json, "entropy_bits", e->best->entropy_bits);
    json_out_number(json, "predictive_entropy_bits", e->predictive_entropy_bits);
    json_out_number(json, "log_loss", e->log_loss);
    json_out_number(json, "accuracy_low", e->accuracy_low);
    json_out_number(json, "accuracy_high", e->accuracy_high);
    json_out_number(json, "largest_share", e->largest_share);
    json_out_number(json, "balanced_accuracy", e->balanced_accuracy);
    json_out_number(json, "calibration_error", e->calibration_error);
    evaluation_confusion_json(json, e, e->best, NULL);
    json_out_key(json, "per_label");
    json_out_open(json, '[', false);
    for (size_t i = 0; i < e->n_names; i++) {
        double precision, f1;
        const phl_name_measure *m = &e->best->measures[i];
        json_out_open(json, '{', true);
        json_out_text(json, "label", e->names[i]);
        json_out_count(json, "n", m->n);
        json_out_number(json, "accuracy", m->accuracy);
        precision_of(e, i, &precision, &f1);
        json_out_number(json, "precision", precision);
        json_out_number(json, "f1", f1);
        json_out_number(json, "entropy_bits", m->entropy_bits);
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
    json_out_close(json, '}');
}

void evaluation_json(const phl_evaluation *e)
{
    json_writer json;
    json_out_begin(&json, stdout);
    evaluation_json_write(&json, e);
}
