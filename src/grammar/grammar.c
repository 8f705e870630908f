/* grammar.c - a tree grammar with latent annotations; see grammar.h. */
#include "grammar/grammar.h"

#include <string.h>

#include "base/memory.h"

/* Form, sizes and smoothing are those of the first part. */
static bool belong_together(phl_grammar_part *const *parts, size_t n)
{
    bool same = true;
    for (size_t i = 1; same && i < n; i++) {
        same = parts[i]->labels == parts[0]->labels &&
               memcmp(parts[i]->numbers, parts[0]->numbers, sizeof parts[i]->numbers) == 0 &&
               memcmp(parts[i]->sizes, parts[0]->sizes,
                      ((size_t)parts[0]->labels + PHL_SYMBOLS) * sizeof *parts[0]->sizes) == 0;
    }
    return same;
}

phl_status phl_grammar_create(phl_grammar_part *const *parts, size_t n, phl_grammar **grammar,
                              phl_error *error)
{
    if (n == 0 || !belong_together(parts, n)) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                         "the classes of a grammar do not belong together");
    }
    phl_grammar *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->pair = parts[0]->numbers[PHL_PART_PAIR] != 0.0;
    made->labels = parts[0]->labels;
    made->sizes = parts[0]->sizes;
    made->smoothing = phl_grammar_part_smoothing(parts[0]);
    phl_rules_init(&made->pool_rules, made->labels);
    made->parts = phl_alloc(n, sizeof *made->parts, error);
    if (made->parts == NULL) {
        phl_grammar_free(made);
        return PHL_ERR_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        made->parts[made->n_parts++] = parts[i];
    }
    phl_status status = phl_grammar_renew(made, error);
    if (status != PHL_OK) {
        phl_grammar_free(made);
        return status;
    }
    *grammar = made;
    return PHL_OK;
}

void phl_grammar_free(phl_grammar *grammar)
{
    if (grammar != NULL) {
        phl_rule_counts_free(grammar->pool);
        phl_rules_clear(&grammar->pool_rules);
        phl_free(grammar->parts);
        phl_free(grammar);
    }
}

/* Rules of all parts, in their order; counts of none. */
static phl_status make_pool(phl_grammar *grammar, phl_error *error)
{
    phl_status status = PHL_OK;
    uint32_t number;
    for (size_t c = 0; c < grammar->n_parts; c++) {
        const phl_triples *rules = &grammar->parts[c]->rules.rules;
        for (size_t r = 0; status == PHL_OK && r < rules->n; r++) {
            status = phl_rules_add(&grammar->pool_rules, rules->items[r], &number, error);
        }
    }
    return status == PHL_OK
               ? phl_rule_counts_create(&grammar->pool_rules, grammar->sizes, &grammar->pool, error)
               : status;
}

phl_status phl_grammar_renew(phl_grammar *grammar, phl_error *error)
{
    bool shared = grammar->n_parts > 1 && grammar->smoothing.share > 0.0;
    phl_status status = shared && grammar->pool == NULL ? make_pool(grammar, error) : PHL_OK;
    phl_rule_counts *pool = grammar->pool;
    if (status != PHL_OK || pool == NULL) {
        return status;
    }
    memset(pool->n, 0, pool->blocks.first[grammar->pool_rules.rules.n] * sizeof *pool->n);
    pool->unseen = 0.0;
    for (size_t c = 0; c < grammar->n_parts; c++) {
        const phl_rule_counts *counts = grammar->parts[c]->counts;
        const phl_triples *rules = &counts->rules->rules;
        for (size_t r = 0; r < rules->n; r++) {
            uint32_t number = phl_triples_find(&grammar->pool_rules.rules, rules->items[r]);
            double *to = pool->n + pool->blocks.first[number];
            size_t first = counts->blocks.first[r], size = counts->blocks.first[r + 1] - first;
            for (size_t i = 0; i < size; i++) {
                to[i] += counts->n[first + i];
            }
        }
        pool->unseen += counts->unseen;
    }
    phl_rule_counts_sum(pool);
    return PHL_OK;
}

phl_status phl_grammar_fill(const phl_grammar *grammar, size_t part, phl_rule_table *table,
                            phl_error *error)
{
    bool shared = grammar->smoothing.share > 0.0;
    return phl_rule_table_fill(table, grammar->parts[part]->counts, shared ? grammar->pool : NULL,
                               &grammar->smoothing, error);
}

phl_status phl_grammar_infer(const phl_grammar *grammar, size_t part, const phl_lists *lists,
                             phl_rule_table **table, phl_inside **inside, phl_error *error)
{
    phl_rule_table *made = NULL;
    phl_inside *values = NULL;
    phl_status status = phl_rule_table_create(&lists->rules, grammar->sizes, &made, error);
    if (status == PHL_OK) {
        status = phl_grammar_fill(grammar, part, made, error);
    }
    if (status == PHL_OK) {
        status = phl_inside_create(lists, made, &values, error);
    }
    if (status != PHL_OK) {
        phl_rule_table_free(made);
        return status;
    }
    phl_inside_run(values);
    *table = made;
    *inside = values;
    return PHL_OK;
}

phl_status phl_grammar_score(const phl_grammar *grammar, size_t part, const phl_lists *lists,
                             double *log_likelihood, phl_error *error)
{
    phl_rule_table *table = NULL;
    phl_inside *inside = NULL;
    phl_status status = phl_grammar_infer(grammar, part, lists, &table, &inside, error);
    for (size_t t = 0; status == PHL_OK && t < lists->n_trees; t++) {
        log_likelihood[t] = phl_inside_tree(inside, t);
    }
    phl_inside_free(inside);
    phl_rule_table_free(table);
    return status;
}
