/* reproduce_table.c - the paper's table with ours beside it, as text and as Markdown.
 *
 * Contents: sheets, cells of figures, tables, the page.
 */
#include "print/rows.h"
#include "reproduce/reproduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- sheets ---- */

/* A table, for the terminal or in Markdown. */
typedef struct sheet {
    FILE *file;
    bool markdown;
    size_t columns, rows;
    text_table text;
} sheet;

static void sheet_begin(sheet *s, FILE *file, bool markdown, size_t columns)
{
    *s = (sheet){.file = file, .markdown = markdown, .columns = columns};
    if (!markdown) {
        table_begin(&s->text, columns);
    }
}

static void put_cell(FILE *file, const char *text)
{
    for (; *text; text++) {
        if (strchr("|\\*_`<>[]", *text)) {
            fputc('\\', file);
        }
        fputc(*text, file);
    }
}

static void sheet_row(sheet *s, const char *const *cells)
{
    if (!s->markdown) {
        table_row(&s->text, cells);
        return;
    }
    for (size_t c = 0; c < s->columns; c++) {
        fputs(c ? " | " : "| ", s->file);
        put_cell(s->file, cells[c]);
    }
    fputs(" |\n", s->file);
    for (size_t c = 0; c < s->columns && s->rows == 0; c++) {
        fputs(c ? "---:|" : "|---|", s->file);
        if (c + 1 == s->columns) {
            fputc('\n', s->file);
        }
    }
    s->rows++;
}

static void sheet_end(sheet *s)
{
    if (!s->markdown) {
        table_end(&s->text, s->file, 2);
    }
    fputc('\n', s->file);
}

static void heading(FILE *file, bool markdown, const char *text)
{
    fprintf(file, markdown ? "## %s\n\n" : "%s\n", text);
}

/* ---- cells of figures ---- */

/* "91.41 (3.62)"; "-" when there is none. */
static const char *percent(double mean, double sd, char *text)
{
    if (isnan(mean)) {
        return "-";
    }
    snprintf(text, TABLE_CELL, "%.2f (%.2f)", mean, sd);
    return text;
}

/* As printed, with two decimals. */
static double rounded(double number)
{
    return round(100 * number) / 100;
}

/* A kind of figure, and where it stands. */
typedef struct measure {
    const char *title;
    bool entropy; /* else: accuracy */
} measure;

static double value_of(const measure *m, const figure *f)
{
    return m->entropy ? f->entropy : f->accuracy;
}

/* What the paper has; NULL: nothing. */
static const paper_figure *paper_of(const measure *m, const paper_row *row, int model)
{
    if (!row || model < 0) {
        return NULL;
    }
    return m->entropy ? &row->entropy[model] : &row->accuracy[model];
}

static const char *ours(const measure *m, const cell *c, size_t setting, size_t row, char *text)
{
    return percent(100 * value_of(m, &c->mean[setting][row]),
                   100 * value_of(m, &c->sd[setting][row]), text);
}

/* Is our mean at least as good as the paper's? */
static const char *verdict(const measure *m, const cell *c, size_t row, const paper_figure *paper)
{
    double mean = rounded(100 * value_of(m, &c->mean[HEADLINE][row]));
    if (!paper || isnan(mean)) {
        return "-";
    }
    return (m->entropy ? mean <= paper->mean : mean >= paper->mean) ? "yes" : "no";
}

/* "tf", or "tf c4" where a table of labels has several numbers of states. */
static void name_model(const reproduction *r, const cell *c, char *text)
{
    bool several =
        r->experiment->labelling && r->cells[0].states != r->cells[r->n_cells - 1].states;
    if (several) {
        snprintf(text, TABLE_CELL, "%s c%u", c->model->name, (unsigned)c->states);
    } else {
        snprintf(text, TABLE_CELL, "%s", c->model->name);
    }
}

/* ---- tables ---- */

static void print_row(const reproduction *r, sheet *s, const measure *m, const cell *c, size_t row)
{
    char name[TABLE_CELL], states[NUMBER_SIZE], cells[3][TABLE_CELL];
    name_model(r, c, name);
    snprintf(states, sizeof states, "%u", (unsigned)c->states);
    const char *first =
        reproduce_settings_row_name(r, row) ? reproduce_settings_row_name(r, row) : states;
    const paper_figure *paper = paper_of(m, paper_row_find(r->paper, first), c->model->paper);
    const char *published = paper ? percent(paper->mean, paper->sd, cells[0]) : "-";
    const char *headline = ours(m, c, HEADLINE, row, cells[1]);
    const char *good = verdict(m, c, row, paper);
    if (r->experiment->labelling) {
        sheet_row(s, (const char *const[]){first, name, published, headline, good,
                                           ours(m, c, 1, row, cells[2])});
    } else {
        sheet_row(s, (const char *const[]){first, name, published, headline, good});
    }
}

/* The paper's figures, and ours beside them. */
static void print_measure(const reproduction *r, FILE *file, bool markdown, const measure *m)
{
    sheet s;
    if (r->experiment->labelling) {
        sheet_begin(&s, file, markdown, 6);
        sheet_row(&s, (const char *const[]){"label", "model", "paper", "ours, drawn", "as good",
                                            "ours, most probable"});
    } else {
        sheet_begin(&s, file, markdown, 5);
        sheet_row(&s, (const char *const[]){"states", "model", "paper", "ours", "as good"});
    }
    for (size_t i = 0; i < r->n_cells; i++) {
        for (size_t row = 0; row < r->experiment->n_rows; row++) {
            print_row(r, &s, m, &r->cells[i], row);
        }
    }
    sheet_end(&s);
}

/* Classification: one figure under every setting. */
static void print_settings(const reproduction *r, FILE *file, bool markdown, const measure *m)
{
    const experiment *e = r->experiment;
    char cells[MOST_SETTINGS][TABLE_CELL], states[NUMBER_SIZE];
    const char *row[2 + MOST_SETTINGS] = {"states", "model"};
    sheet s;
    sheet_begin(&s, file, markdown, 2 + e->n_settings);
    for (size_t k = 0; k < e->n_settings; k++) {
        row[2 + k] = e->settings[k];
    }
    sheet_row(&s, row);
    for (size_t i = 0; i < r->n_cells; i++) {
        const cell *c = &r->cells[i];
        snprintf(states, sizeof states, "%u", (unsigned)c->states);
        row[0] = states;
        row[1] = c->model->name;
        for (size_t k = 0; k < e->n_settings; k++) {
            row[2 + k] = ours(m, c, k, 0, cells[k]);
        }
        sheet_row(&s, row);
    }
    sheet_end(&s);
}

static void print_confusion(const outcome *o, FILE *file, bool markdown)
{
    const phl_evaluation *e = o->evaluation;
    size_t n = e->n_names;
    char cells[TABLE_COLUMNS][TABLE_CELL];
    const char *row[TABLE_COLUMNS] = {"true"};
    sheet s;
    if (n + 1 > TABLE_COLUMNS) {
        fprintf(file, "(%zu names: too many to show; see results.json)\n\n", n);
        return;
    }
    size_t *order = evaluation_names_in_order(e);
    sheet_begin(&s, file, markdown, n + 1);
    for (size_t j = 0; j < n; j++) {
        text_printable(evaluation_name(e, order[j]), 12, cells[j + 1], TABLE_CELL);
        row[j + 1] = cells[j + 1];
    }
    sheet_row(&s, row);
    for (size_t i = 0; i < n; i++) {
        text_printable(evaluation_name(e, order[i]), 24, cells[0], TABLE_CELL);
        row[0] = cells[0];
        for (size_t j = 0; j < n; j++) {
            snprintf(cells[j + 1], TABLE_CELL, "%llu",
                     (unsigned long long)o->confusion->counts[order[i] * n + order[j]]);
        }
        sheet_row(&s, row);
    }
    sheet_end(&s);
    free(order);
}

/* ---- the page ---- */

static void print_confusions(const reproduction *r, FILE *file, bool markdown)
{
    for (size_t i = 0; i < r->n_cells; i++) {
        const cell *c = reproduce_run_best(r, &r->cells[i]);
        char text[300];
        if (!c) {
            continue;
        }
        const outcome *o = &c->outcomes[c->best];
        snprintf(text, sizeof text,
                 "Best run of %s: %u states, seed %llu, accuracy %.2f %%; true by predicted",
                 c->model->name, (unsigned)c->states, (unsigned long long)o->seed,
                 100 * o->figures[HEADLINE][reproduce_settings_row_of_all(r)].accuracy);
        heading(file, markdown, text);
        print_confusion(o, file, markdown);
    }
}

static void print_tables(const reproduction *r, FILE *file, bool markdown)
{
    static const measure measures[] = {{"Accuracy in percent", false},
                                       {"Entropy, 100 times bits", true}};
    char text[200], runs[80];
    number_of(r->runs, "run", "runs", runs, sizeof runs);
    for (size_t i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "%s: mean (standard deviation) over %s", measures[i].title,
                 runs);
        heading(file, markdown, text);
        print_measure(r, file, markdown, &measures[i]);
    }
    for (size_t i = 0; i < 2 && !r->experiment->labelling; i++) {
        snprintf(text, sizeof text, "%s: by structure and class prior (above: the first)",
                 measures[i].title);
        heading(file, markdown, text);
        print_settings(r, file, markdown, &measures[i]);
    }
    print_confusions(r, file, markdown);
}

void reproduce_table_print(const reproduction *r)
{
    print_tables(r, stdout, false);
}

static void print_data(const data_set *set, const char *what, FILE *file)
{
    fprintf(file, "- %s: %zu trees, fingerprint `%s`\n", what, phl_forest_trees(set->forest),
            set->fingerprint);
}

int reproduce_table_write(const reproduction *r)
{
    rows_file result = {0};
    char *path = text_path(r->folder, "table.md");
    int code = rows_file_open(&result, path);
    if (code == EXIT_OK) {
        FILE *file = result.file;
        fprintf(file, "# %s\n\n%s.\n\n", r->experiment->name, r->experiment->title);
        print_data(&r->train, r->generated ? "trained on (generated)" : "trained on", file);
        print_data(&r->test, r->generated ? "tested on (generated)" : "tested on", file);
        fprintf(file, "- phloem %s\n- the paper: %s; entropy is 100 times bits\n\n", phl_version(),
                paper_source);
        print_tables(r, file, true);
        heading(file, true, "Commands that train the same runs, in the folder of the data");
        fputs("```\n", file);
        for (size_t i = 0; i < r->n_cells; i++) {
            for (size_t run = 0; run < r->runs; run++) {
                text_put(file, r->cells[i].outcomes[run].command);
                fputc('\n', file);
            }
        }
        fputs("```\n", file);
        code = rows_file_close(&result, code);
    }
    free(path);
    return code;
}
