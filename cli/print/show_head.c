/* show_head.c - the linear head of a run: what was chosen and why, and the features that weigh
 * most. */
#include "print/show.h"
#include "print/terminal.h"

#include <math.h>
#include <stdlib.h>

char *show_head_groups(unsigned groups, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (unsigned group = 1; group < PHL_FEATURES_ALL; group <<= 1) {
        if (groups & group && used < size) {
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "+" : "",
                                     phl_features_group_name(group));
        }
    }
    return text;
}

static void print_choices(const phl_head_summary *summary)
{
    text_table table;
    char groups[TABLE_CELL], c[40], loss[80], accuracy[40], temperature[40], tempered[40],
        calibration[40];
    char folds[80];
    printf("\ncross-validation, %s; * is what was chosen\n",
           number_of(summary->n_folds, "fold", "folds", folds, sizeof folds));
    table_begin(&table, 8);
    table_row(&table,
              (const char *const[]){"features", "C", "log-loss nats (se)", "accuracy %",
                                    "temperature", "log-loss with it", "calibration error", ""});
    for (size_t i = 0; i < summary->n_choices; i++) {
        const phl_head_choice *choice = &summary->choices[i];
        snprintf(c, sizeof c, "%g", choice->c);
        snprintf(loss, sizeof loss, "%.4f (%.4f)", choice->log_loss, choice->log_loss_se);
        snprintf(accuracy, sizeof accuracy, "%.2f", 100 * choice->accuracy);
        snprintf(temperature, sizeof temperature, "%g", choice->temperature);
        snprintf(tempered, sizeof tempered, "%.4f", choice->tempered_log_loss);
        snprintf(calibration, sizeof calibration, "%.4f", choice->calibration_error);
        table_row(&table,
                  (const char *const[]){show_head_groups(choice->groups, groups, sizeof groups), c,
                                        loss, accuracy, temperature, tempered, calibration,
                                        i == summary->chosen ? "*" : ""});
    }
    table_end(&table, stdout, 2);
}

/* The heaviest features for one class against the mean of all classes; weights are compared with
 * it, since adding the same to all classes changes nothing. */
static double net_weight(const double *weights, size_t n_classes, size_t class_index)
{
    double sum = 0.0;
    for (size_t k = 0; k < n_classes; k++) {
        sum += weights[k];
    }
    return weights[class_index] - sum / (double)n_classes;
}

/* Put into `top`, heaviest first, if there is room for it; returns how many there are. */
static size_t take(weighted *top, size_t used, size_t room, weighted new)
{
    size_t at = used < room ? used : room;
    while (at > 0 && top[at - 1].weight < new.weight) {
        if (at < room) {
            top[at] = top[at - 1];
        }
        at--;
    }
    if (at < room) {
        top[at] = new;
    }
    return used < room ? used + 1 : room;
}

size_t show_head_heaviest(const phl_head *head, size_t n_classes, size_t class_index,
                          weighted *heaviest, size_t room)
{
    size_t used = 0, n = phl_features_count(phl_head_features(head));
    for (size_t f = 0; f < n; f++) {
        double weight = net_weight(phl_head_weights(head, f), n_classes, class_index);
        if (weight > 0) {
            used = take(heaviest, used, room, (weighted){.number = f, .weight = weight});
        }
    }
    return used;
}

static phl_status print_class(const phl_head *head, size_t n_classes, size_t class_index,
                              weighted *top, size_t room, phl_error *error)
{
    const phl_features *features = phl_head_features(head);
    size_t used = show_head_heaviest(head, n_classes, class_index, top, room);
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < used; i++) {
        char *text = NULL, shown[400];
        status = phl_features_text(features, top[i].number, &text, error);
        if (status == PHL_OK) {
            text_printable(text, 60, shown, sizeof shown);
            printf("  %8.3f  %-2s  %s\n", top[i].weight,
                   phl_features_group_name(phl_features_group(features, top[i].number)), shown);
        }
        phl_free(text);
    }
    return status;
}

phl_status show_head(const phl_run *run, size_t first, size_t last, size_t top, phl_error *error)
{
    const phl_head *head = phl_run_head(run);
    size_t n_classes = phl_run_classes(run);
    phl_head_summary summary;
    char groups[80], features[80], distinct[NUMBER_SIZE], name[200];
    phl_status status = PHL_OK;
    phl_head_summarise(head, &summary);
    number_of(summary.n_features, "feature", "features", features, sizeof features);
    printf("\nlinear head: %s (%s) of %s distinct trees, C = %g, temperature %g\n", features,
           show_head_groups(summary.groups, groups, sizeof groups),
           number_grouped(summary.distinct_trees, distinct), summary.c, summary.temperature);
    printf("  log-loss of the training trees %.4f nats, duality gap %.1g after %llu passes\n",
           summary.log_loss, summary.gap, (unsigned long long)summary.passes);
    if (summary.n_choices > 0) {
        print_choices(&summary);
    }
    size_t room = top < summary.n_features ? top : summary.n_features;
    weighted *heaviest = terminal_allocate(room + 1, sizeof *heaviest);
    for (size_t i = first; status == PHL_OK && i < last; i++) {
        text_printable(phl_run_class_name(run, i), 40, name, sizeof name);
        printf("\nclass %s: the features that speak most for it\n", name);
        status = print_class(head, n_classes, i, heaviest, room, error);
    }
    free(heaviest);
    return status;
}
