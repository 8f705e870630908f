/* report_head.c - the linear head of a run: what was chosen, and its heaviest features; see
 * report.h. */
#include "print/show.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

enum { HEAVIEST = 12, FEATURE_BYTES = 1000 };

static void put_choices(json_writer *json, const phl_head_summary *summary)
{
    char groups[80];
    json_out_array(json, "choices", false);
    for (size_t i = 0; i < summary->n_choices; i++) {
        const phl_head_choice *choice = &summary->choices[i];
        json_out_open(json, '{', true);
        json_out_text(json, "features", show_head_groups(choice->groups, groups, sizeof groups));
        report_values_real(json, "c", choice->c, 6);
        report_values_real(json, "log_loss", choice->log_loss, 6);
        report_values_real(json, "log_loss_se", choice->log_loss_se, 4);
        report_values_real(json, "accuracy", choice->accuracy, 6);
        report_values_real(json, "temperature", choice->temperature, 4);
        json_out_truth(json, "chosen", i == summary->chosen);
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
}

/* A feature in brackets; "cut" when it is too long to draw. */
static phl_status put_feature(json_writer *json, const phl_features *features, weighted feature,
                              phl_error *error)
{
    char *text = NULL;
    phl_status status = phl_features_text(features, feature.number, &text, error);
    if (status != PHL_OK) {
        return status;
    }
    json_out_open(json, '{', true);
    report_values_real(json, "weight", feature.weight, 5);
    json_out_text(json, "group",
                  phl_features_group_name(phl_features_group(features, feature.number)));
    if (strlen(text) <= FEATURE_BYTES) {
        json_out_text(json, "tree", text);
    } else {
        report_values_text(json, "cut", text);
    }
    json_out_close(json, '}');
    phl_free(text);
    return PHL_OK;
}

phl_status report_head_write(report *r, size_t run, phl_error *error)
{
    const phl_run *of = r->runs[run].run;
    const phl_head *head = phl_run_head(of);
    json_writer *json = r->json;
    phl_head_summary summary;
    weighted heaviest[HEAVIEST];
    char groups[80];
    phl_status status = PHL_OK;
    phl_head_summarise(head, &summary);
    json_out_object(json, "head", false);
    json_out_text(json, "features", show_head_groups(summary.groups, groups, sizeof groups));
    json_out_count(json, "n_features", summary.n_features);
    report_values_real(json, "c", summary.c, 6);
    report_values_real(json, "temperature", summary.temperature, 6);
    json_out_count(json, "distinct_trees", summary.distinct_trees);
    report_values_real(json, "log_loss", summary.log_loss, 6);
    json_out_count(json, "folds", summary.n_folds);
    put_choices(json, &summary);
    json_out_array(json, "classes", false);
    for (size_t k = 0; status == PHL_OK && k < phl_run_classes(of); k++) {
        size_t n = show_head_heaviest(head, phl_run_classes(of), k, heaviest, HEAVIEST);
        json_out_open(json, '{', false);
        report_values_text(json, "class", phl_run_class_name(of, k));
        json_out_array(json, "heaviest", false);
        for (size_t i = 0; status == PHL_OK && i < n; i++) {
            status = put_feature(json, phl_head_features(head), heaviest[i], error);
        }
        json_out_close(json, ']');
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
    json_out_close(json, '}');
    return status;
}
