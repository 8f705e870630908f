/* report_classes.c - test trees classified: figures, calibration, and every prediction; see
 * report.h.
 *
 * Contents: predictions, calibration, classes, alerts, all of it.
 */
#include "forests.h"
#include "interrupt.h"
#include "print/evaluations.h"
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BINS = 15, DIGITS_P = 5 };

/* Of one tree; classes by their number in the run, and -1. */
typedef struct prediction {
    int64_t truth, best, second;
    double p_best, p_second, p_truth;
} prediction;

typedef struct predictions {
    const phl_run *run;
    size_t n;
    prediction *trees;
} predictions;

/* ---- predictions ---- */

static phl_status take(const phl_tree_at *at, const phl_classified_tree *tree, void *context,
                       phl_error *error)
{
    predictions *all = context;
    prediction *p = &all->trees[all->n++];
    const char *name = forest_tree_class(at->block, at->tree);
    size_t truth = name ? phl_run_find_class(all->run, name) : SIZE_MAX;
    size_t second = tree->best == 0 ? 1 : 0;
    (void)error;
    for (size_t k = 0; k < phl_run_classes(all->run); k++) {
        if (k != tree->best && tree->log_posterior[k] > tree->log_posterior[second]) {
            second = k;
        }
    }
    bool alone = phl_run_classes(all->run) < 2;
    *p = (prediction){
        .truth = truth == SIZE_MAX ? -1 : (int64_t)truth,
        .best = (int64_t)tree->best,
        .second = alone ? -1 : (int64_t)second,
        .p_best = exp(tree->log_posterior[tree->best]),
        .p_second = alone ? 0 : exp(tree->log_posterior[second]),
        .p_truth = truth == SIZE_MAX ? (double)NAN : exp(tree->log_posterior[truth]),
    };
    return PHL_OK;
}

static void put_classes(json_writer *json, const char *key, const predictions *all, size_t which)
{
    json_out_array(json, key, true);
    for (size_t i = 0; i < all->n; i++) {
        const prediction *p = &all->trees[i];
        const int64_t of[] = {p->truth, p->best, p->second};
        if (of[which] < 0) {
            json_out_raw(json, "-1");
        } else {
            json_out_integer(json, (uint64_t)of[which]);
        }
    }
    json_out_close(json, ']');
}

static void put_probabilities(json_writer *json, const char *key, const predictions *all,
                              size_t which)
{
    json_out_array(json, key, true);
    for (size_t i = 0; i < all->n; i++) {
        const prediction *p = &all->trees[i];
        const double of[] = {p->p_truth, p->p_best, p->p_second};
        json_out_rounded(json, of[which], DIGITS_P);
    }
    json_out_close(json, ']');
}

static void put_predictions(json_writer *json, const predictions *all)
{
    json_out_object(json, "predictions", false);
    put_classes(json, "true", all, 0);
    put_classes(json, "predicted", all, 1);
    put_classes(json, "second", all, 2);
    put_probabilities(json, "p_true", all, 0);
    put_probabilities(json, "p_predicted", all, 1);
    put_probabilities(json, "p_second", all, 2);
    json_out_close(json, '}');
}

/* ---- calibration ---- */

static void put_calibration(json_writer *json, const predictions *all)
{
    uint64_t n[BINS] = {0}, right[BINS] = {0};
    double sum[BINS] = {0};
    for (size_t i = 0; i < all->n; i++) {
        const prediction *p = &all->trees[i];
        size_t bin = (size_t)(p->p_best * BINS);
        if (p->truth < 0) {
            continue;
        }
        bin = bin < BINS ? bin : BINS - 1;
        n[bin]++;
        right[bin] += p->truth == p->best;
        sum[bin] += p->p_best;
    }
    json_out_array(json, "calibration", false);
    for (size_t b = 0; b < BINS; b++) {
        double share = n[b] ? (double)right[b] / (double)n[b] : (double)NAN;
        json_out_open(json, '{', true);
        report_values_real(json, "from", (double)b / BINS, 4);
        report_values_real(json, "to", (double)(b + 1) / BINS, 4);
        json_out_count(json, "n", n[b]);
        report_values_real(json, "probability", n[b] ? sum[b] / (double)n[b] : (double)NAN, 6);
        report_values_real(json, "right", share, 6);
        report_values_interval(json, share, n[b]);
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
}

/* ---- classes ---- */

static void put_intervals(json_writer *json, const phl_evaluation *e)
{
    json_out_array(json, "per_class", false);
    for (size_t i = 0; i < e->n_names; i++) {
        const phl_name_measure *m = &e->best->measures[i];
        double right = (double)e->best->counts[i * e->n_names + i];
        json_out_open(json, '{', true);
        report_values_text(json, "class", e->names[i]);
        json_out_count(json, "n", m->n);
        json_out_count(json, "predicted", m->predicted);
        report_values_real(json, "accuracy", m->accuracy, 6);
        report_values_interval(json, m->accuracy, m->n);
        report_values_real(json, "precision",
                           m->predicted ? right / (double)m->predicted : (double)NAN, 6);
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
}

/* ---- alerts ---- */

static void raise_alerts(report *r, size_t run, const phl_evaluation *e)
{
    if (e->unseen) {
        report_values_alert(r, run, false, "unseen-classes", NULL,
                            "train on trees of these classes, too",
                            "%llu test trees are of classes that the run was not trained on",
                            (unsigned long long)e->unseen);
    }
    if (e->n >= 20 && e->n_names > 1 && e->accuracy_low <= e->largest_share) {
        bool below = e->best->accuracy <= e->largest_share;
        report_values_alert(
            r, run, below, below ? "below-largest-class" : "near-largest-class", NULL,
            "look at the confusion matrix, and whether the test trees were read "
            "as the training trees were",
            "%.1f %% of the test trees are classified right: %s by naming "
            "the largest class always (%.1f %%)",
            100 * e->best->accuracy, below ? "not more than" : "not clearly more than",
            100 * e->largest_share);
    }
    if (e->n >= 100 && e->calibration_error > 0.1) {
        report_values_alert(r, run, false, "calibration", NULL,
                            "trust the predicted classes more than their probabilities",
                            "probabilities of classes are %.2f away from the shares of right "
                            "answers, on average",
                            e->calibration_error);
    }
}

/* ---- all of it ---- */

static void put_all(report *r, size_t run, const predictions *all, const phl_evaluation *e)
{
    json_writer *json = r->json;
    json_out_object(json, "classification", false);
    json_out_array(json, "names", true);
    for (size_t k = 0; k < phl_run_classes(all->run); k++) {
        report_values_name(json, phl_run_class_name(all->run, k));
    }
    json_out_close(json, ']');
    if (e->n > 0) {
        json_out_key(json, "evaluation");
        evaluation_json_write(json, e);
        put_intervals(json, e);
        put_calibration(json, all);
        raise_alerts(r, run, e);
    } else {
        json_out_text(json, "evaluation", NULL);
    }
    put_predictions(json, all);
    json_out_close(json, '}');
}

phl_status report_classes_write(report *r, size_t run, phl_error *error)
{
    const phl_run *of = r->runs[run].run;
    predictions all = {
        .run = of, .trees = terminal_allocate(phl_forest_trees(r->test) + 1, sizeof *all.trees)};
    phl_classify_options options;
    phl_evaluation *evaluation = NULL;
    phl_source *source = NULL;
    phl_classify_options_init(&options);
    options.threads = r->threads;
    options.cancel = interrupt_asked;
    options.context = &all;
    phl_status status = phl_source_forest(r->test, &source, error);
    if (status == PHL_OK) {
        status = phl_classify(of, source, &options, take, &evaluation, error);
    }
    if (status == PHL_OK) {
        put_all(r, run, &all, evaluation);
    }
    phl_evaluation_free(evaluation);
    phl_source_free(source);
    free(all.trees);
    return status;
}
