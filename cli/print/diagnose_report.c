/* diagnose_report.c - a diagnosis in words; see diagnoses.h.
 *
 * Contents: one class in full, several classes in a table, findings, the linear head, the report.
 */
#include "print/diagnoses.h"
#include "print/terminal.h"
#include "runs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const quantity_titles[PHL_QUANTITIES] = {"log-joint", "log-likelihood",
                                                            "active slots", "sum of k"};

/* "%.*g", or "-" for what is not defined. */
static const char *figure(double number, int digits, char *buffer)
{
    if (isnan(number)) {
        return "-";
    }
    snprintf(buffer, NUMBER_SIZE, "%.*g", digits, number);
    return buffer;
}

/* With `decimals`, for what is near 1 or counts draws; infinities and large numbers in short. */
static const char *fixed(double number, int decimals, char *buffer)
{
    if (!(fabs(number) < 1e9)) {
        return figure(number, 3, buffer);
    }
    snprintf(buffer, NUMBER_SIZE, "%.*f", decimals, number);
    return buffer;
}

/* ---- one class in full ---- */

static void print_quantities(const phl_class_diagnosis *diagnosis)
{
    static const char *const titles[] = {"",      "mean",     "MCSE",     "sd",
                                         "R-hat", "bulk ESS", "tail ESS", "verdict"};
    char cells[6][NUMBER_SIZE];
    text_table table;
    table_begin(&table, sizeof titles / sizeof *titles);
    table_row(&table, titles);
    for (size_t q = 0; q < PHL_QUANTITIES; q++) {
        const phl_quantity *quantity = &diagnosis->quantities[q];
        const char *row[] = {quantity_titles[q],
                             figure(quantity->mean, 6, cells[0]),
                             figure(quantity->mcse, 2, cells[1]),
                             figure(quantity->sd, 3, cells[2]),
                             fixed(quantity->rhat, 3, cells[3]),
                             fixed(quantity->ess_bulk, 0, cells[4]),
                             fixed(quantity->ess_tail, 0, cells[5]),
                             phl_verdict_name(quantity->verdict)};
        table_row(&table, row);
    }
    table_end(&table, stdout, 2);
}

/* "1 (3) 2 (2)": slots and their sizes. */
static const char *slots_of(const phl_chain_diagnosis *chain, char *buffer, size_t size)
{
    size_t length = 0;
    snprintf(buffer, size, "%s", chain->slots ? "none" : "-");
    for (uint32_t i = 0; i < chain->n_slots && length < size; i++) {
        length += (size_t)snprintf(buffer + length, size - length, "%s%" PRIu32 " (%" PRIu32 ")",
                                   i ? " " : "", chain->slots[i], chain->sizes[i]);
    }
    return buffer;
}

static void print_chains(const phl_class_diagnosis *diagnosis)
{
    static const char *const titles[] = {"chain",          "draws",    "counts",       "log-joint",
                                         "log-likelihood", "drift",    "active slots", "sum of k",
                                         "mode",           "slots (k)"};
    char cells[PHL_QUANTITIES + 5][NUMBER_SIZE], slots[TABLE_CELL];
    text_table table;
    table_begin(&table, sizeof titles / sizeof *titles);
    table_row(&table, titles);
    for (size_t c = 0; c < diagnosis->n_chains; c++) {
        const phl_chain_diagnosis *chain = &diagnosis->chains[c];
        char *number = cells[PHL_QUANTITIES], *mode = cells[PHL_QUANTITIES + 2];
        snprintf(number, NUMBER_SIZE, "%zu", chain->chain);
        char *counts = cells[PHL_QUANTITIES + 4];
        snprintf(mode, NUMBER_SIZE, "%" PRIu32, chain->mode);
        snprintf(counts, NUMBER_SIZE, "%.0f %%", 100 * chain->weight);
        const char *row[] = {number,
                             number_grouped(chain->draws, cells[PHL_QUANTITIES + 1]),
                             counts,
                             figure(chain->mean[PHL_LOG_JOINT], 6, cells[0]),
                             figure(chain->mean[PHL_LOG_LIKELIHOOD], 6, cells[1]),
                             figure(chain->drift, 2, cells[PHL_QUANTITIES + 3]),
                             figure(chain->mean[PHL_ACTIVE_SLOTS], 3, cells[2]),
                             figure(chain->mean[PHL_SUM_OF_SIZES], 3, cells[3]),
                             chain->mode ? mode : "-",
                             slots_of(chain, slots, sizeof slots)};
        table_row(&table, row);
    }
    table_end(&table, stdout, 2);
}

static void print_overlap(const phl_class_diagnosis *diagnosis)
{
    char line[200];
    size_t length = 0;
    if (!isnan(diagnosis->overlap_between)) {
        length =
            (size_t)snprintf(line, sizeof line, "overlap of active slots: %.0f %% between chains",
                             100 * diagnosis->overlap_between);
        if (!isnan(diagnosis->overlap_within)) {
            snprintf(line + length, sizeof line - length, ", %.0f %% within one",
                     100 * diagnosis->overlap_within);
        }
        printf("\n  %s\n", line);
    }
}

static void print_moves(const phl_class_diagnosis *diagnosis)
{
    char line[600] = "moves that changed something:", tried[NUMBER_SIZE];
    size_t length = strlen(line), listed = 0;
    for (size_t m = 0; m < diagnosis->n_moves && length < sizeof line; m++) {
        const phl_move_diagnosis *move = &diagnosis->moves[m];
        if (move->tried) {
            length += (size_t)snprintf(line + length, sizeof line - length, "%s %s %.1f %% of %s",
                                       listed++ ? "," : "", move->name,
                                       100.0 * (double)move->changed / (double)move->tried,
                                       number_grouped(move->tried, tried));
        }
    }
    if (listed) {
        printf("  ");
        terminal_wrap(stdout, line, 2, 4);
    }
}

static void print_restarts(const phl_class_diagnosis *diagnosis)
{
    static const char *const titles[] = {"restart", "iterations", "objective", "log-likelihood"};
    char cells[4][NUMBER_SIZE];
    text_table table;
    table_begin(&table, sizeof titles / sizeof *titles);
    table_row(&table, titles);
    for (size_t c = 0; c < diagnosis->n_chains; c++) {
        const phl_chain_diagnosis *chain = &diagnosis->chains[c];
        snprintf(cells[0], NUMBER_SIZE, "%zu", chain->chain);
        const char *row[] = {cells[0], number_grouped(chain->iterations, cells[1]),
                             figure(chain->log_joint, 8, cells[2]),
                             figure(chain->log_likelihood, 8, cells[3])};
        table_row(&table, row);
    }
    table_end(&table, stdout, 2);
}

static void print_in_full(const phl_class_diagnosis *diagnosis, const phl_model *model, bool gibbs)
{
    char chains[80], draws[80], warmup[80], line[800], name[200] = "all trees";
    if (diagnosis->class_name) {
        text_printable(diagnosis->class_name, 40, name, sizeof name);
    }
    if (gibbs) {
        snprintf(line, sizeof line,
                 "%s%s: %s compared, %s each after a warm-up of %s, stopped by %s",
                 diagnosis->class_name ? "class " : "", name,
                 number_of(diagnosis->n_compared, "chain", "chains", chains, sizeof chains),
                 number_of(diagnosis->draws, "draw", "draws", draws, sizeof draws),
                 number_of(diagnosis->warmup, "iteration", "iterations", warmup, sizeof warmup),
                 run_stop_in_words(model));
    } else {
        snprintf(line, sizeof line, "%s%s: %s, the best one stopped by %s",
                 diagnosis->class_name ? "class " : "", name,
                 number_of(diagnosis->n_chains, "restart", "restarts", chains, sizeof chains),
                 run_stop_in_words(model));
    }
    putchar('\n');
    terminal_wrap(stdout, line, 0, 2);
    putchar('\n');
    if (diagnosis->n_chains == 0) {
        return;
    }
    if (gibbs) {
        print_quantities(diagnosis);
        printf("\n  means by chain; counts: in predictions; mode, drift: of the log-likelihood\n");
        print_chains(diagnosis);
        print_overlap(diagnosis);
        print_moves(diagnosis);
    } else {
        print_restarts(diagnosis);
    }
    putchar('\n');
}

/* ---- several classes in a table ---- */

static const char *overlap_in_words(const phl_class_diagnosis *diagnosis, char *buffer)
{
    if (isnan(diagnosis->overlap_between)) {
        return "-";
    }
    snprintf(buffer, NUMBER_SIZE, "%.0f %%", 100 * diagnosis->overlap_between);
    return buffer;
}

static void print_gibbs_row(const phl_class_diagnosis *diagnosis, const char *name,
                            text_table *table)
{
    double rhat = (double)NAN, ess = (double)NAN;
    char cells[6][NUMBER_SIZE];
    for (size_t q = PHL_LOG_LIKELIHOOD; q < PHL_QUANTITIES; q++) { /* what the verdict rests on */
        const phl_quantity *quantity = &diagnosis->quantities[q];
        rhat = isnan(rhat) || quantity->rhat > rhat ? quantity->rhat : rhat;
        ess = isnan(ess) || quantity->ess_bulk < ess ? quantity->ess_bulk : ess;
    }
    const char *row[] = {name,
                         number_grouped(diagnosis->n_compared, cells[0]),
                         number_grouped(diagnosis->draws, cells[1]),
                         fixed(rhat, 3, cells[2]),
                         fixed(ess, 0, cells[3]),
                         number_grouped(diagnosis->modes, cells[4]),
                         overlap_in_words(diagnosis, cells[5]),
                         diagnosis->trouble ? "trouble" : "fine"};
    table_row(table, row);
}

static void print_em_row(const phl_class_diagnosis *diagnosis, const char *name, text_table *table)
{
    char cells[3][NUMBER_SIZE];
    double best = (double)NAN;
    for (size_t c = 0; c < diagnosis->n_chains; c++) {
        double objective = diagnosis->chains[c].log_joint;
        best = isnan(best) || objective > best ? objective : best;
    }
    const char *row[] = {name,
                         number_grouped(diagnosis->n_chains, cells[0]),
                         figure(best, 8, cells[1]),
                         figure(diagnosis->spread, 3, cells[2]),
                         phl_stop_reason_name(diagnosis->stop_reason),
                         diagnosis->trouble ? "trouble" : "fine"};
    table_row(table, row);
}

static void print_in_short(const phl_diagnosis *diagnosis, bool gibbs)
{
    static const char *const gibbs_titles[] = {"class",        "chains",         "draws",
                                               "worst R-hat",  "least bulk ESS", "modes",
                                               "slot overlap", "verdict"};
    static const char *const em_titles[] = {"class",  "restarts",   "best objective",
                                            "spread", "stopped by", "verdict"};
    char name[200];
    text_table table;
    table_begin(&table, gibbs ? sizeof gibbs_titles / sizeof *gibbs_titles
                              : sizeof em_titles / sizeof *em_titles);
    table_row(&table, gibbs ? gibbs_titles : em_titles);
    for (size_t i = 0; i < diagnosis->n_classes; i++) {
        text_printable(diagnosis->classes[i].class_name, 40, name, sizeof name);
        if (gibbs) {
            print_gibbs_row(&diagnosis->classes[i], name, &table);
        } else {
            print_em_row(&diagnosis->classes[i], name, &table);
        }
    }
    putchar('\n');
    table_end(&table, stdout, 2);
    putchar('\n');
}

/* ---- findings ---- */

static void print_finding(const phl_finding *finding, const char *class_name)
{
    char name[200] = "";
    if (class_name) {
        text_printable(class_name, 40, name, sizeof name);
    }
    char *text = terminal_words(finding->text), *advice = terminal_words(finding->advice);
    const char *parts[] = {finding->trouble ? "trouble" : "note",
                           class_name ? ", class " : "",
                           name,
                           ": ",
                           text,
                           advice ? "; " : "",
                           advice ? advice : ""};
    size_t size = 1;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size += strlen(parts[i]);
    }
    char *line = terminal_allocate(size, 1);
    line[0] = '\0';
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        strcat(line, parts[i]);
    }
    terminal_wrap(stdout, line, 0, 2);
    free(line);
    free(text);
    free(advice);
}

static void print_verdict(const phl_diagnosis *diagnosis)
{
    char *summary = terminal_words(diagnosis->summary);
    char *line = terminal_allocate(strlen(summary) + 10, 1);
    sprintf(line, "verdict: %s", summary);
    terminal_wrap(stdout, line, 0, 2);
    free(line);
    free(summary);
}

/* ---- the linear head ---- */

static void print_head(const phl_head_diagnosis *head)
{
    char line[300];
    int length = snprintf(line, sizeof line, "linear head: %s", head->summary);
    if (length > 0 && (size_t)length < sizeof line && !isnan(head->accuracy)) {
        snprintf(line + length, sizeof line - (size_t)length,
                 " (class shares alone: %.2f %%, %.4f nats)", 100 * head->largest_share,
                 head->log_loss_of_shares);
    }
    terminal_wrap(stdout, line, 0, 2);
    for (size_t f = 0; f < head->n_findings; f++) {
        print_finding(&head->findings[f], NULL);
    }
}

/* All of one class; of several, what is trouble. */
static void print_findings(const phl_diagnosis *diagnosis)
{
    size_t notes = 0;
    bool several = diagnosis->n_classes > 1;
    for (size_t i = 0; i < diagnosis->n_classes; i++) {
        const phl_class_diagnosis *of_class = &diagnosis->classes[i];
        for (size_t f = 0; f < of_class->n_findings; f++) {
            const phl_finding *finding = &of_class->findings[f];
            if (!several || finding->trouble) {
                print_finding(finding, several ? of_class->class_name : NULL);
            } else {
                notes++;
            }
        }
    }
    if (notes) {
        char text[80];
        printf("%s, figures and chains of a class: --class NAME\n",
               number_of(notes, "note", "notes", text, sizeof text));
    }
    if (diagnosis->head.there) {
        print_head(&diagnosis->head);
    }
    if (diagnosis->n_classes > 0) {
        print_verdict(diagnosis);
    }
}

/* ---- the report ---- */

void diagnose_report(const phl_diagnosis *diagnosis, const phl_run *run, size_t first_class)
{
    bool gibbs = diagnosis->learner == PHL_LEARNER_GIBBS;
    if (diagnosis->n_classes == 0) {
        putchar('\n');
    } else if (diagnosis->n_classes == 1) {
        print_in_full(&diagnosis->classes[0], phl_run_model(run, first_class), gibbs);
    } else {
        print_in_short(diagnosis, gibbs);
    }
    print_findings(diagnosis);
}
