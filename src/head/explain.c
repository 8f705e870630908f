/* explain.c - why a head decides as it does; see explain.h.
 *
 * A linear score is a sum over features, so the difference of two classes is one, too: a feature
 * gives its value times the difference of its two weights.
 */
#include "head/explain.h"

#include <string.h>

#include "base/memory.h"

struct explaining {
    const phl_head *head;
    const phl_feature_index *index;
    const size_t *trees;
    const phl_explain_question *questions;
    size_t most;
    double scale;
    const phl_explain_answers *answers;
};

phl_status phl_explain_answers_init(phl_explain_answers *answers, size_t n, size_t most,
                                    phl_error *error)
{
    answers->reasons = phl_alloc_zero(phl_times(n, most), sizeof *answers->reasons, error);
    answers->n_reasons = phl_alloc_zero(n, sizeof *answers->n_reasons, error);
    answers->features = phl_alloc_zero(n, sizeof *answers->features, error);
    answers->constant = phl_alloc_zero(n, sizeof *answers->constant, error);
    return answers->reasons == NULL || answers->n_reasons == NULL || answers->features == NULL ||
                   answers->constant == NULL
               ? PHL_ERR_MEMORY
               : PHL_OK;
}

void phl_explain_answers_clear(phl_explain_answers *answers)
{
    phl_free(answers->reasons);
    phl_free(answers->n_reasons);
    phl_free(answers->features);
    phl_free(answers->constant);
    memset(answers, 0, sizeof *answers);
}

/* Among those that weigh most, heaviest first, the first of equals before. */
static void take_reason(phl_reason *reasons, size_t *n, size_t most, const phl_reason *new)
{
    size_t at = *n;
    while (at > 0 && reasons[at - 1].log_odds < new->log_odds) {
        at--;
    }
    if (at < most) {
        *n += *n < most;
        memmove(reasons + at + 1, reasons + at, (*n - at - 1) * sizeof *reasons);
        reasons[at] = *new;
    }
}

/* ---------------------------------------------------------------------------------------------
 * Where features sit
 * ------------------------------------------------------------------------------------------- */

/* A node on the way, and the link of it that comes next. */
struct stop {
    uint64_t next, end;
};

struct seeking {
    const phl_feature_index *index;
    phl_reason *reasons;
    size_t n;
};

static void note(const struct seeking *work, int group, uint32_t number, size_t node)
{
    if (number == PHL_NO_FEATURE) {
        return;
    }
    size_t feature = phl_dictionary_first(work->index->dictionary, group) + number;
    for (size_t i = 0; i < work->n; i++) {
        phl_reason *reason = &work->reasons[i];
        bool again = reason->n_nodes > 0 && reason->nodes[reason->n_nodes - 1] == node;
        if (reason->feature == feature && reason->n_nodes < PHL_REASON_NODES && !again) {
            reason->nodes[reason->n_nodes++] = node;
        }
    }
}

/* The features of a node: its own, those with its parent, those of its children under it. */
static void note_node(const struct seeking *work, uint32_t subtree, uint32_t edge, uint32_t under,
                      size_t node)
{
    const phl_feature_index *index = work->index;
    unsigned groups = index->groups;
    bool leaf = index->forest->leaf_slot[subtree] != 0;
    if (groups & PHL_FEATURE_S) {
        note(work, PHL_GROUP_S, index->subtree[subtree], node);
    }
    if (groups & PHL_FEATURE_L) {
        note(work, PHL_GROUP_L, index->label[subtree], node);
    }
    if (groups & PHL_FEATURE_P1) {
        note(work, PHL_GROUP_P1, edge, node);
    }
    for (uint64_t k = 0; groups & PHL_FEATURE_B && !leaf &&
                         k < index->pairs.first[subtree + 1] - index->pairs.first[subtree];
         k++) {
        note(work, PHL_GROUP_B, index->pairs.numbers[index->pairs.first[subtree] + k], node);
    }
    for (uint64_t k = 0; groups & PHL_FEATURE_BG && !leaf && under != PHL_NO_FEATURE &&
                         k < index->grand.first[under + 1] - index->grand.first[under];
         k++) {
        note(work, PHL_GROUP_BG, index->grand.numbers[index->grand.first[under] + k], node);
    }
}

/* Walk the tree in pre-order. */
static phl_status seek(const struct seeking *work, size_t tree, phl_error *error)
{
    const phl_feature_index *index = work->index;
    const phl_forest *forest = index->forest;
    struct stop *stops = NULL;
    size_t depth = 0, capacity = 0, node = 0;
    uint32_t root = forest->tree_root[tree];
    note_node(work, root, index->root_edge[tree], index->root_under[tree], node++);
    phl_status status = phl_grow(&stops, &capacity, 1, sizeof *stops, error);
    if (status == PHL_OK) {
        stops[depth++] = (struct stop){forest->first_link[root], forest->first_link[root + 1]};
    }
    while (status == PHL_OK && depth > 0) {
        struct stop *top = &stops[depth - 1];
        if (top->next == top->end) {
            depth--;
            continue;
        }
        uint64_t link = top->next++;
        uint32_t child = forest->links[link].child;
        note_node(work, child, index->edge[link], index->under[link], node++);
        status = phl_grow(&stops, &capacity, depth + 1, sizeof *stops, error);
        if (status == PHL_OK) {
            stops[depth++] =
                (struct stop){forest->first_link[child], forest->first_link[child + 1]};
        }
    }
    phl_free(stops);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Reasons
 * ------------------------------------------------------------------------------------------- */

static phl_status take_row(size_t item, const phl_feature_row *row, size_t chunk, int worker,
                           void *context, phl_error *error)
{
    (void)chunk;
    (void)worker;
    const struct explaining *work = context;
    const phl_head *head = work->head;
    const phl_dictionary *dictionary = &head->features->dictionary;
    const phl_explain_question *question = &work->questions[item];
    phl_reason *reasons = work->answers->reasons + item * work->most;
    size_t *n = &work->answers->n_reasons[item], at = 0;
    double sum = 0.0;
    for (int g = 0; g < PHL_FEATURE_GROUPS; g++) {
        size_t end = phl_dictionary_first(dictionary, g + 1);
        for (; at < row->n && row->feature[at] < end; at++) {
            const double *weights = head->weights + (size_t)row->feature[at] * head->n_classes;
            phl_reason new = {.feature = row->feature[at], .count = row->count[at]};
            new.log_odds = phl_feature_index_value(row, g, row->count[at], head->features->groups) *
                           (weights[question->best] - weights[question->second]) * work->scale;
            sum += new.log_odds;
            take_reason(reasons, n, work->most, &new);
        }
    }
    const double *last = head->weights + phl_features_count(head->features) * head->n_classes;
    work->answers->features[item] = sum;
    work->answers->constant[item] = (last[question->best] - last[question->second]) * work->scale;
    const struct seeking seeking = {work->index, reasons, *n};
    return seek(&seeking, work->trees[item], error);
}

phl_status phl_explain_trees(const phl_head *head, const phl_forest *forest, const size_t *trees,
                             const phl_explain_question *questions, size_t n, size_t most,
                             double scale, int threads, phl_cancel_fn cancel, void *context,
                             const phl_explain_answers *answers, phl_error *error)
{
    phl_feature_index index = {0};
    struct explaining work = {.head = head,
                              .index = &index,
                              .trees = trees,
                              .questions = questions,
                              .most = most,
                              .scale = scale / head->temperature,
                              .answers = answers};
    phl_status status = phl_feature_index_init(&index, forest, &head->features->dictionary,
                                               head->features->groups, error);
    if (status == PHL_OK) {
        status = phl_feature_index_count(&index, trees, n, threads, take_row, &work, cancel,
                                         context, error);
    }
    phl_feature_index_clear(&index);
    return status;
}
