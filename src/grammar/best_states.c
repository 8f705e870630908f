/* best_states.c - the annotations that are most probable together; see best_states.h. */
#include "grammar/best_states.h"

#include <math.h>

#include "base/memory.h"

/* A list, and the annotations it stands beside. */
struct phl_best_waiting {
    uint32_t list, parent, left;
};

/* log p of what comes from annotation k on. */
static double follow(const phl_best_states *best, const phl_list *list, const double *p,
                     uint32_t parent, size_t k)
{
    const uint32_t *sizes = best->table->sizes;
    double sum = log(p[k]);
    if (list->below != PHL_NO_LIST) {
        sum += best->value[best->first[list->below] + k];
    }
    if (list->next != PHL_NO_LIST) {
        size_t row = best->lists->pair ? parent : 0;
        sum += best->value[best->first[list->next] + row * sizes[list->symbol] + k];
    }
    return sum;
}

/* The best annotation of a list's symbol; log p into *most. */
static uint32_t choose(const phl_best_states *best, uint32_t number, uint32_t parent, uint32_t left,
                       double *most)
{
    const phl_lists *lists = best->lists;
    const phl_list *list = &lists->items[number];
    const uint32_t *sizes = best->table->sizes;
    uint32_t rule = lists->rule_of[lists->pattern_rule[lists->pattern[number]]], chosen = 0;
    const double *p = best->table->p + best->table->blocks.first[rule] +
                      ((size_t)parent * sizes[list->left] + left) * sizes[list->symbol];
    *most = -INFINITY;
    for (uint32_t k = 0; k < sizes[list->symbol]; k++) {
        double sum = follow(best, list, p, parent, k);
        if (sum > *most) {
            *most = sum;
            chosen = k;
        }
    }
    return chosen;
}

static phl_status fill(phl_best_states *best, const phl_grammar *grammar, size_t part,
                       phl_error *error)
{
    const phl_lists *lists = best->lists;
    phl_status status = phl_rule_table_create(&lists->rules, grammar->sizes, &best->table, error);
    if (status == PHL_OK) {
        status = phl_grammar_fill(grammar, part, best->table, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    best->first = phl_alloc(lists->n + 1, sizeof *best->first, error);
    if (best->first == NULL) {
        return PHL_ERR_MEMORY;
    }
    best->first[0] = 0;
    for (size_t i = 0; i < lists->n; i++) {
        const phl_list *list = &lists->items[i];
        best->first[i + 1] =
            best->first[i] + (size_t)grammar->sizes[list->parent] * grammar->sizes[list->left];
    }
    best->value = phl_alloc(best->first[lists->n], sizeof *best->value, error);
    if (best->value == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < lists->n; i++) {
        uint32_t lefts = grammar->sizes[lists->items[i].left];
        for (size_t n = best->first[i]; n < best->first[i + 1]; n++) {
            uint32_t at = (uint32_t)(n - best->first[i]);
            (void)choose(best, i, at / lefts, at % lefts, &best->value[n]);
        }
    }
    return PHL_OK;
}

phl_status phl_best_states_create(const phl_grammar *grammar, size_t part, const phl_lists *lists,
                                  phl_best_states **best, phl_error *error)
{
    phl_best_states *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->lists = lists;
    phl_status status = fill(made, grammar, part, error);
    if (status != PHL_OK) {
        phl_best_states_free(made);
        return status;
    }
    *best = made;
    return PHL_OK;
}

void phl_best_states_free(phl_best_states *best)
{
    if (best != NULL) {
        phl_rule_table_free(best->table);
        phl_free(best->first);
        phl_free(best->value);
        phl_free(best->stack);
        phl_free(best);
    }
}

static phl_status push(phl_best_states *best, size_t *depth, struct phl_best_waiting waiting,
                       phl_error *error)
{
    if (waiting.list == PHL_NO_LIST) {
        return PHL_OK;
    }
    phl_status status =
        phl_grow(&best->stack, &best->capacity, *depth + 1, sizeof *best->stack, error);
    if (status == PHL_OK) {
        best->stack[(*depth)++] = waiting;
    }
    return status;
}

phl_status phl_best_states_find(phl_best_states *best, size_t tree, uint32_t *annotations,
                                double *log_p, phl_error *error)
{
    uint32_t root = best->lists->root[tree];
    size_t depth = 0, node = 0;
    *log_p = best->value[best->first[root]];
    phl_status status = push(best, &depth, (struct phl_best_waiting){root, 0, 0}, error);
    while (status == PHL_OK && depth > 0) {
        struct phl_best_waiting waiting = best->stack[--depth];
        const phl_list *list = &best->lists->items[waiting.list];
        /* Where the rest does not see the parent, annotation 0 stands for it. */
        double most;
        uint32_t chosen = choose(best, waiting.list, waiting.parent, waiting.left, &most);
        if (list->below != PHL_NO_LIST) {
            annotations[node++] = chosen;
        }
        uint32_t parent = best->lists->pair ? waiting.parent : 0;
        status = push(best, &depth, (struct phl_best_waiting){list->next, parent, chosen}, error);
        if (status == PHL_OK) {
            status = push(best, &depth, (struct phl_best_waiting){list->below, chosen, 0}, error);
        }
    }
    return status;
}
