/* report_test.c - a run on test trees; see report.h. */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

/* Trees that the run was trained on say nothing of others. */
static phl_status check_seen(report *r, size_t run, phl_error *error)
{
    const char *trained = phl_run_meta(r->runs[run].run, "fingerprint");
    char fingerprint[33];
    phl_status status = phl_forest_fingerprint(r->test, false, fingerprint, error);
    if (status == PHL_OK && trained && strcmp(trained, fingerprint) == 0) {
        report_values_alert(r, run, true, "tested-on-training-trees", NULL,
                            "test with trees that were put aside before training",
                            "the test trees are those that the run was trained on: figures of the "
                            "test are too good");
    }
    return status;
}

/* Nodes whose labels the run does not know. */
static void check_labels(report *r, size_t run)
{
    const phl_run *of = r->runs[run].run;
    double unseen = 0, all = 0;
    size_t n = phl_forest_labels(r->test), labels = 0;
    bool *known = terminal_allocate(n + 1, sizeof *known);
    for (size_t i = 0; i < phl_run_labels(of); i++) {
        int32_t label = phl_forest_find_label(r->test, phl_run_label_name(of, (int32_t)i));
        if (label >= 0) {
            known[label] = true;
        }
    }
    for (uint32_t s = 0; s < phl_forest_subtrees(r->test); s++) {
        int32_t label = phl_subtree_label(r->test, s);
        double times = (double)phl_subtree_multiplicity(r->test, s);
        all += times;
        unseen += label != PHL_UNKNOWN && !known[label] ? times : 0;
    }
    for (size_t i = 0; i < n; i++) {
        labels += !known[i];
    }
    if (unseen > 0) {
        report_values_alert(r, run, unseen > 0.05 * all, "unseen-labels", NULL,
                            unseen > 0.05 * all
                                ? "check that the test trees were read as the training trees were"
                                : NULL,
                            "%zu labels of the test trees (%.2f %% of their nodes) were never seen "
                            "in training",
                            labels, 100 * unseen / all);
    }
    free(known);
}

phl_status report_test_write(report *r, size_t run, phl_error *error)
{
    const report_run *of = &r->runs[run];
    bool classifies = phl_run_per_class(of->run) && (of->trained || phl_run_head(of->run)) &&
                      (of->trained || phl_run_kind(of->run) == PHL_NO_KIND);
    if (!r->test) {
        json_out_text(r->json, "test", NULL);
        return PHL_OK;
    }
    json_out_object(r->json, "test", false);
    phl_status status = check_seen(r, run, error);
    if (status == PHL_OK) {
        check_labels(r, run);
    }
    if (status == PHL_OK && classifies) {
        status = report_classes_write(r, run, error);
    }
    if (status == PHL_OK) {
        status = report_labels_write(r, run, error);
    }
    if (status == PHL_OK) {
        status = report_odd_write(r, run, error);
    }
    json_out_close(r->json, '}');
    return status;
}
