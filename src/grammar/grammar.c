/* grammar.c - a tree grammar with latent annotations; see grammar.h. */
#include "grammar/grammar.h"

#include "base/memory.h"

phl_status phl_grammar_create(bool pair, uint32_t labels, size_t n_classes, phl_grammar **grammar,
                              phl_error *error)
{
    size_t symbols = (size_t)labels + PHL_SYMBOLS;
    phl_grammar *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->pair = pair;
    made->labels = labels;
    phl_rules_init(&made->pool_rules, labels);
    made->sizes = phl_alloc(symbols, sizeof *made->sizes, error);
    made->classes = phl_alloc_zero(n_classes, sizeof *made->classes, error);
    if (made->sizes == NULL || made->classes == NULL) {
        phl_grammar_free(made);
        return PHL_ERR_MEMORY;
    }
    made->n_classes = n_classes;
    for (size_t s = 0; s < symbols; s++) {
        made->sizes[s] = 1;
    }
    for (size_t c = 0; c < n_classes; c++) {
        phl_rules_init(&made->classes[c].rules, labels);
    }
    *grammar = made;
    return PHL_OK;
}

void phl_grammar_free(phl_grammar *grammar)
{
    if (grammar == NULL) {
        return;
    }
    for (size_t c = 0; grammar->classes != NULL && c < grammar->n_classes; c++) {
        phl_rule_counts_free(grammar->classes[c].counts);
        phl_rules_clear(&grammar->classes[c].rules);
    }
    phl_rule_counts_free(grammar->pool);
    phl_rules_clear(&grammar->pool_rules);
    phl_free(grammar->classes);
    phl_free(grammar->sizes);
    phl_free(grammar);
}

static phl_status make_pool(phl_grammar *grammar, phl_error *error)
{
    phl_status status = PHL_OK;
    uint32_t number;
    phl_rule_counts_free(grammar->pool);
    grammar->pool = NULL;
    for (size_t c = 0; c < grammar->n_classes; c++) {
        const phl_triples *rules = &grammar->classes[c].rules.rules;
        for (size_t r = 0; status == PHL_OK && r < rules->n; r++) {
            status = phl_rules_add(&grammar->pool_rules, rules->items[r], &number, error);
        }
    }
    if (status == PHL_OK) {
        status = phl_rule_counts_create(&grammar->pool_rules, grammar->sizes, &grammar->pool,
                                        error);
    }
    for (size_t c = 0; status == PHL_OK && c < grammar->n_classes; c++) {
        const phl_rule_counts *counts = grammar->classes[c].counts;
        const phl_triples *rules = &grammar->classes[c].rules.rules;
        for (size_t r = 0; r < rules->n; r++) {
            number = phl_triples_find(&grammar->pool_rules.rules, rules->items[r]);
            double *to = grammar->pool->n + grammar->pool->blocks.first[number];
            size_t first = counts->blocks.first[r], size = counts->blocks.first[r + 1] - first;
            for (size_t i = 0; i < size; i++) {
                to[i] += counts->n[first + i];
            }
        }
        grammar->pool->unseen += counts->unseen;
    }
    if (status == PHL_OK) {
        phl_rule_counts_sum(grammar->pool);
    }
    return status;
}

phl_status phl_grammar_complete(phl_grammar *grammar, phl_error *error)
{
    for (size_t c = 0; c < grammar->n_classes; c++) {
        phl_rule_counts_sum(grammar->classes[c].counts);
    }
    return grammar->n_classes > 1 && grammar->smoothing.share > 0.0 ? make_pool(grammar, error)
                                                                    : PHL_OK;
}

phl_status phl_grammar_fill(const phl_grammar *grammar, size_t class_index, phl_rule_table *table,
                            phl_error *error)
{
    return phl_rule_table_fill(table, grammar->classes[class_index].counts, grammar->pool,
                               &grammar->smoothing, error);
}

phl_status phl_grammar_score(const phl_grammar *grammar, size_t class_index,
                             const phl_lists *lists, double *log_likelihood, phl_error *error)
{
    phl_rule_table *table = NULL;
    phl_inside *inside = NULL;
    phl_status status = phl_rule_table_create(&lists->rules, grammar->sizes, &table, error);
    if (status == PHL_OK) {
        status = phl_grammar_fill(grammar, class_index, table, error);
    }
    if (status == PHL_OK) {
        status = phl_inside_create(lists, table, &inside, error);
    }
    if (status == PHL_OK) {
        phl_inside_run(inside);
        for (size_t t = 0; t < lists->n_trees; t++) {
            log_likelihood[t] = phl_inside_tree(inside, t);
        }
    }
    phl_inside_free(inside);
    phl_rule_table_free(table);
    return status;
}
