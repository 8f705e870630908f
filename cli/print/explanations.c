/* explanations.c - why a tree was given its class; see explanations.h. */
#include "print/explanations.h"

#include <math.h>
#include <stdlib.h>

/* "nodes 3, 9, 12 and 4 more" */
static void name_nodes(const phl_reason *reason, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, reason->n_nodes == 1 ? "node " : "nodes ");
    for (size_t i = 0; i < reason->n_nodes && used < size; i++) {
        used +=
            (size_t)snprintf(text + used, size - used, "%s%zu", i ? ", " : "", reason->nodes[i]);
    }
    if (reason->n_nodes == PHL_REASON_NODES && used < size) {
        snprintf(text + used, size - used, ", ...");
    }
}

static phl_status print_reason(const phl_features *features, const phl_reason *reason,
                               double log_odds, phl_error *error)
{
    char *text = NULL, shown[400], nodes[240];
    phl_status status = phl_features_text(features, reason->feature, &text, error);
    if (status == PHL_OK) {
        text_printable(text, 60, shown, sizeof shown);
        name_nodes(reason, nodes, sizeof nodes);
        printf("  %+9.4f  %5.1f %%  %-2s  %s  (%s)\n", reason->log_odds,
               100 * reason->log_odds / log_odds,
               phl_features_group_name(phl_features_group(features, reason->feature)), shown,
               nodes);
    }
    phl_free(text);
    return status;
}

static void print_part(double log_odds, double all, const char *what)
{
    printf("  %+9.4f  %5.1f %%      %s\n", log_odds, 100 * log_odds / all, what);
}

phl_status explanation_print(const phl_run *run, const phl_tree_at *at, const char *source,
                             const phl_classified_tree *tree, phl_error *error)
{
    const phl_explanation *why = tree->explanation;
    const phl_features *features = phl_head_features(phl_run_head(run));
    char best[200], second[200], where[600];
    phl_status status = PHL_OK;
    text_printable(phl_run_class_name(run, tree->best), 40, best, sizeof best);
    text_printable(phl_run_class_name(run, why->against), 40, second, sizeof second);
    text_printable(source ? source : "", 200, where, sizeof where);
    printf("tree %zu%s%s: %s (%.2f %%) rather than %s (%.2f %%), log-odds %.4f\n", at->number,
           source ? ", " : "", where, best, 100 * exp(tree->log_posterior[tree->best]), second,
           100 * exp(tree->log_posterior[why->against]), why->log_odds);
    for (size_t i = 0; status == PHL_OK && i < why->n_reasons; i++) {
        status = print_reason(features, &why->reasons[i], why->log_odds, error);
    }
    print_part(why->rest, why->log_odds, "other features");
    print_part(why->constant, why->log_odds, "before any feature: how frequent the classes are");
    if (why->models != 0) {
        print_part(why->models, why->log_odds, "the models of the classes");
    }
    return status;
}

static phl_status reason_json(json_writer *json, const phl_features *features,
                              const phl_reason *reason, phl_error *error)
{
    char *text = NULL;
    phl_status status = phl_features_text(features, reason->feature, &text, error);
    if (status == PHL_OK) {
        json_out_open(json, '{', true);
        json_out_text(json, "feature", text);
        json_out_text(json, "group",
                      phl_features_group_name(phl_features_group(features, reason->feature)));
        json_out_count(json, "count", reason->count);
        json_out_number(json, "log_odds", reason->log_odds);
        json_out_key(json, "nodes");
        json_out_open(json, '[', true);
        for (size_t i = 0; i < reason->n_nodes; i++) {
            json_out_integer(json, reason->nodes[i]);
        }
        json_out_close(json, ']');
        json_out_close(json, '}');
    }
    phl_free(text);
    return status;
}

phl_status explanation_json(json_writer *json, const phl_run *run, const phl_tree_at *at,
                            const char *source, const phl_classified_tree *tree, phl_error *error)
{
    const phl_explanation *why = tree->explanation;
    phl_status status = PHL_OK;
    json_out_open(json, '{', false);
    json_out_count(json, "tree", at->number);
    json_out_text(json, "source", source);
    json_out_text(json, "predicted", phl_run_class_name(run, tree->best));
    json_out_number(json, "probability", exp(tree->log_posterior[tree->best]));
    json_out_text(json, "against", phl_run_class_name(run, why->against));
    json_out_number(json, "log_odds", why->log_odds);
    json_out_number(json, "models", why->models);
    json_out_number(json, "constant", why->constant);
    json_out_number(json, "rest", why->rest);
    json_out_key(json, "reasons");
    json_out_open(json, '[', false);
    for (size_t i = 0; status == PHL_OK && i < why->n_reasons; i++) {
        status = reason_json(json, phl_head_features(phl_run_head(run)), &why->reasons[i], error);
    }
    json_out_close(json, ']');
    json_out_close(json, '}');
    return status;
}
