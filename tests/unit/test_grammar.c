/* test_grammar.c - tree grammars as they are learned: tables sum to 1 with and without sharing
 * between classes, also where counts are huge; any number of threads gives the same bits; counts
 * and scores do not change with the order of the trees, copies are weights, and sharing of subtrees
 * changes nothing; blocks of trees count what all trees together do; a limit on memory is kept.
 *
 * All random, from SEED; nothing here is statistical, so no false alarms.
 */
#include <math.h>
#include <string.h>

#include "base/lanes.h"
#include "base/memory.h"
#include "check.h"
#include "forest/copy.h"
#include "forests.h"
#include "grammar/grammar_blocks.h"
#include "must.h"

enum { SEED = 271 };
#define EXACT 1e-12

/* ---- Learning ------------------------------------------------------------------------------- */

struct learned {
    const phl_forest *forest;
    uint32_t labels;
    uint32_t *symbol_of;
    phl_grammar_part **parts;
    phl_grammar *grammar;
};

static phl_learn_options learn_options(bool pair, int threads)
{
    return (phl_learn_options){
        .pair = pair, .seed = SEED, .most = 4, .iterations = 4, .threads = threads};
}

static struct learned learn_as(const phl_forest *forest, const phl_learn_options *options,
                               bool classes)
{
    struct learned made = {.forest = forest, .labels = (uint32_t)phl_forest_labels(forest)};
    made.symbol_of = must_alloc(made.labels, sizeof *made.symbol_of);
    for (uint32_t x = 0; x < made.labels; x++) {
        made.symbol_of[x] = x;
    }
    const phl_learn_data data = {.forest = forest,
                                 .symbol_of = made.symbol_of,
                                 .labels = made.labels,
                                 .class_of = classes ? forest->tree_class : NULL,
                                 .n_classes = classes ? phl_forest_classes(forest) : 1};
    must(phl_grammar_learn(&data, options, &made.parts, error));
    must(phl_grammar_create(made.parts, data.n_classes, &made.grammar, error));
    return made;
}

static struct learned learn(const phl_forest *forest, bool pair, bool classes, int threads)
{
    const phl_learn_options options = learn_options(pair, threads);
    return learn_as(forest, &options, classes);
}

static void forget(struct learned *learned)
{
    for (size_t c = 0; c < learned->grammar->n_parts; c++) {
        phl_grammar_part_free(learned->parts[c]);
    }
    phl_grammar_free(learned->grammar);
    phl_free(learned->parts);
    phl_free(learned->symbol_of);
}

/* ---- Sums ----------------------------------------------------------------------------------- */

/* All symbols that may come below `parent` beside `left`, each of them in a table. */
static void check_context(const phl_grammar *grammar, uint32_t parent, uint32_t left)
{
    uint32_t labels = grammar->labels, number;
    phl_rules rules;
    phl_rules_init(&rules, labels);
    for (uint32_t x = 0; x <= labels + PHL_SYMBOL_STOP; x++) {
        bool root = parent == labels + PHL_SYMBOL_ROOT, gap = left == labels + PHL_SYMBOL_EMPTY;
        bool out = (x == labels + PHL_SYMBOL_STOP && (root || gap)) ||
                   (x == labels + PHL_SYMBOL_EMPTY && root);
        if (!out) {
            must(phl_rules_add(&rules, (phl_triple){parent, left, x}, &number, error));
        }
    }
    for (size_t c = 0; c < grammar->n_parts; c++) {
        phl_rule_table *table = NULL;
        must(phl_rule_table_create(&rules, grammar->sizes, &table, error));
        must(phl_grammar_fill(grammar, c, table, error));
        size_t pairs = (size_t)grammar->sizes[parent] * grammar->sizes[left];
        for (size_t ij = 0; ij < pairs; ij++) {
            double sum = 0.0;
            for (size_t r = 0; r < rules.rules.n; r++) {
                size_t states = grammar->sizes[rules.rules.items[r].c];
                const double *p = table->p + table->blocks.first[r] + ij * states;
                for (size_t k = 0; k < states; k++) {
                    assert_true(p[k] >= 0.0);
                    sum += p[k];
                }
            }
            check_close(sum, 1.0, EXACT);
        }
        phl_rule_table_free(table);
    }
    phl_rules_clear(&rules);
}

static void check_contexts(const phl_grammar *grammar)
{
    uint32_t labels = grammar->labels;
    check_context(grammar, labels + PHL_SYMBOL_ROOT, labels + PHL_SYMBOL_BEGIN);
    for (uint32_t p = 0; p <= labels; p += 1 + labels / 6) {
        uint32_t parent = grammar->pair ? p : labels + PHL_SYMBOL_ANY;
        check_context(grammar, p, labels + PHL_SYMBOL_BEGIN);
        check_context(grammar, parent, labels + PHL_SYMBOL_EMPTY);
        for (uint32_t left = 0; left <= labels; left += 1 + labels / 7) {
            check_context(grammar, parent, left);
        }
    }
}

static void check_sums(const phl_forest *forest, bool pair)
{
    static const double shares[] = {0.0, 0.4, 1.0}, strengths[] = {1e-9, 3.0, 1e9};
    struct learned learned = learn(forest, pair, true, 1);
    phl_grammar *grammar = learned.grammar;
    uint32_t most = 0;
    for (uint32_t x = 0; x < grammar->labels; x++) {
        most = grammar->sizes[x] > most ? grammar->sizes[x] : most;
    }
    assert_true(most > 1); /* or there was nothing to see */
    for (size_t i = 0; i < 3; i++) {
        grammar->smoothing.share = shares[i];
        must(phl_grammar_renew(grammar, error));
        for (size_t j = 0; j < 3; j++) {
            grammar->smoothing.label = grammar->smoothing.state = strengths[j];
            check_contexts(grammar);
        }
    }
    /* Rules that a file may hold: ends beyond all measure. */
    for (size_t c = 0; c < grammar->n_parts; c++) {
        phl_rule_counts *counts = learned.parts[c]->counts;
        for (size_t r = 0; r < counts->rules->rules.n; r++) {
            bool end = counts->rules->rules.items[r].c == grammar->labels + PHL_SYMBOL_STOP;
            for (size_t at = counts->blocks.first[r]; at < counts->blocks.first[r + 1]; at++) {
                counts->n[at] = end ? 1e100 : 0.0;
            }
        }
        phl_rule_counts_sum(counts);
    }
    must(phl_grammar_renew(grammar, error));
    check_contexts(grammar);
    forget(&learned);
}

static void test_sums(void **state)
{
    (void)state;
    phl_forest *symm = symm_forest(SEED, 40), *documents = document_forest(SEED, 30);
    for (int pair = 0; pair < 2; pair++) {
        check_sums(symm, pair);
        check_sums(documents, pair);
    }
    phl_forest_free(symm);
    phl_forest_free(documents);
}

/* ---- Threads -------------------------------------------------------------------------------- */

static void check_same_parts(const struct learned *a, const struct learned *b)
{
    assert_int_equal(a->grammar->n_parts, b->grammar->n_parts);
    for (size_t c = 0; c < a->grammar->n_parts; c++) {
        const phl_grammar_part *x = a->parts[c], *y = b->parts[c];
        size_t rules = x->rules.rules.n;
        assert_int_equal(rules, y->rules.rules.n);
        assert_memory_equal(x->numbers, y->numbers, sizeof x->numbers);
        assert_memory_equal(x->sizes, y->sizes, (a->labels + PHL_SYMBOLS) * sizeof *x->sizes);
        assert_memory_equal(x->rules.rules.items, y->rules.rules.items,
                            rules * sizeof *x->rules.rules.items);
        assert_memory_equal(x->counts->n, y->counts->n,
                            x->counts->blocks.first[rules] * sizeof *x->counts->n);
        assert_memory_equal(x->held, y->held, x->n_held * sizeof *x->held);
        assert_memory_equal(&x->log_likelihood, &y->log_likelihood, sizeof x->log_likelihood);
    }
}

static void test_threads(void **state)
{
    (void)state;
    static const int threads[] = {2, 3, 8};
    phl_forest *forest = document_forest(SEED, 30);
    for (int classes = 0; classes < 2; classes++) {
        struct learned one = learn(forest, true, classes, 1);
        for (size_t i = 0; i < 3; i++) {
            struct learned several = learn(forest, true, classes, threads[i]);
            check_same_parts(&one, &several);
            forget(&several);
        }
        forget(&one);
    }
    phl_forest_free(forest);
}

/* ---- The same trees in other words ---------------------------------------------------------- */

/* Expected counts of a forest under a part, and its scores. */
struct expected {
    phl_lists *lists;
    phl_rule_table *table;
    phl_inside *inside;
    double *n;
};

static struct expected expect(const struct learned *learned, const phl_forest *forest,
                              double weight)
{
    struct expected made = {0};
    uint32_t *symbol_of = must_alloc(learned->labels, sizeof *symbol_of);
    for (uint32_t x = 0; x < learned->labels; x++) { /* copies may number labels otherwise */
        const char *name = phl_forest_label_name(forest, (int32_t)x);
        symbol_of[x] = (uint32_t)phl_forest_find_label(learned->forest, name);
    }
    must(phl_lists_create(forest, symbol_of, learned->labels, learned->grammar->pair, &made.lists,
                          error));
    phl_free(symbol_of);
    must(phl_grammar_infer(learned->grammar, 0, made.lists, &made.table, &made.inside, error));
    double *weights = must_alloc(made.lists->n, sizeof *weights);
    memset(weights, 0, made.lists->n * sizeof *weights);
    for (size_t t = 0; t < made.lists->n_trees; t++) {
        weights[made.lists->root[t]] += weight;
    }
    size_t cells = made.table->blocks.first[made.lists->rules.rules.n];
    made.n = must_alloc(PHL_LANES + cells, sizeof *made.n);
    memset(made.n, 0, cells * sizeof *made.n);
    must(phl_inside_count(made.inside, weights, made.n, error));
    phl_free(weights);
    return made;
}

static void clear_expected(struct expected *expected)
{
    phl_inside_free(expected->inside);
    phl_rule_table_free(expected->table);
    phl_lists_free(expected->lists);
    phl_free(expected->n);
}

static void check_same_counts(const struct expected *a, const struct expected *b)
{
    const phl_triples *rules = &a->lists->rules.rules;
    double all = 0.0;
    assert_int_equal(rules->n, b->lists->rules.rules.n);
    for (size_t r = 0; r < rules->n; r++) {
        uint32_t other = phl_triples_find(&b->lists->rules.rules, rules->items[r]);
        assert_true(other != PHL_NO_TRIPLE);
        const double *x = a->n + a->table->blocks.first[r];
        const double *y = b->n + b->table->blocks.first[other];
        for (size_t i = 0; i < a->table->blocks.first[r + 1] - a->table->blocks.first[r]; i++) {
            assert_true(fabs(x[i] - y[i]) <= 1e-10 * fabs(x[i]) + 1e-12);
            all += x[i];
        }
    }
    assert_true(all > 1.0);
}

static void check_rewordings(const phl_forest *forest, bool pair)
{
    struct learned learned = learn(forest, pair, true, 1);
    size_t n = phl_forest_trees(forest), *order = must_alloc(3 * n, sizeof *order);
    struct expected plain = expect(&learned, forest, 1.0), thrice = expect(&learned, forest, 3.0);
    /* Another order: every tree once, in strides. */
    for (size_t t = 0; t < n; t++) {
        order[t] = n - 1 - t;
    }
    phl_forest *reversed = NULL, *copied = NULL, *unshared = unshared_copy(forest);
    must(phl_copy_trees(forest, order, n, PHL_COPY_ALL, &reversed, error));
    struct expected other = expect(&learned, reversed, 1.0);
    check_same_counts(&plain, &other);
    for (size_t t = 0; t < n; t++) {
        check_close(phl_inside_tree(other.inside, t), phl_inside_tree(plain.inside, n - 1 - t),
                    EXACT);
    }
    clear_expected(&other);
    /* Copies are weights. */
    for (size_t t = 0; t < 3 * n; t++) {
        order[t] = t % n;
    }
    must(phl_copy_trees(forest, order, 3 * n, PHL_COPY_ALL, &copied, error));
    other = expect(&learned, copied, 1.0);
    check_same_counts(&thrice, &other);
    clear_expected(&other);
    /* Subtrees of their own. */
    other = expect(&learned, unshared, 1.0);
    check_same_counts(&plain, &other);
    for (size_t t = 0; t < n; t++) {
        check_close(phl_inside_tree(other.inside, t), phl_inside_tree(plain.inside, t), EXACT);
    }
    clear_expected(&other);
    clear_expected(&plain);
    clear_expected(&thrice);
    phl_forest_free(reversed);
    phl_forest_free(copied);
    phl_forest_free(unshared);
    phl_free(order);
    forget(&learned);
}

static void test_rewordings(void **state)
{
    (void)state;
    phl_forest *symm = symm_forest(SEED, 20), *documents = document_forest(SEED, 20);
    for (int pair = 0; pair < 2; pair++) {
        check_rewordings(symm, pair);
        check_rewordings(documents, pair);
    }
    phl_forest_free(symm);
    phl_forest_free(documents);
}

/* ---- Blocks, memory ------------------------------------------------------------------------- */

/* One step in many blocks, and in one. */
static void check_blocks(const phl_forest *forest, bool pair)
{
    phl_learn_options options = learn_options(pair, 1);
    struct learned one = learn(forest, pair, true, 1), many = learn(forest, pair, true, 1);
    const phl_learn_data data = {.forest = forest,
                                 .symbol_of = one.symbol_of,
                                 .labels = one.labels,
                                 .class_of = forest->tree_class,
                                 .n_classes = phl_forest_classes(forest)};
    options.most_links = SIZE_MAX;
    must(phl_grammar_blocks_step(&data, &options, true, one.parts, &one.grammar, error));
    options.most_links = phl_forest_subtrees(forest) / 6;
    assert_true(phl_grammar_learn_stride(forest, options.most_links) > 3);
    must(phl_grammar_blocks_step(&data, &options, true, many.parts, &many.grammar, error));
    for (size_t c = 0; c < data.n_classes; c++) {
        const phl_rule_counts *x = one.parts[c]->counts, *y = many.parts[c]->counts;
        check_close(many.parts[c]->log_likelihood, one.parts[c]->log_likelihood, EXACT);
        check_close(y->total, x->total, EXACT);
        assert_int_equal(x->rules->rules.n, y->rules->rules.n);
        for (size_t r = 0; r < x->rules->rules.n; r++) {
            uint32_t other = phl_triples_find(&y->rules->rules, x->rules->rules.items[r]);
            assert_true(other != PHL_NO_TRIPLE);
            check_close(y->plx[other], x->plx[r], 1e-10);
        }
    }
    forget(&one);
    forget(&many);
}

static void test_blocks(void **state)
{
    (void)state;
    phl_forest *forest = document_forest(SEED, 30);
    check_blocks(forest, true);
    check_blocks(forest, false);
    /* Learned on a part of the trees: rules of all are there. */
    phl_learn_options options = learn_options(true, 1);
    struct learned whole = learn_as(forest, &options, true);
    options.most_links = phl_forest_subtrees(forest) / 2;
    struct learned part = learn_as(forest, &options, true);
    for (size_t c = 0; c < part.grammar->n_parts; c++) {
        assert_true(part.parts[c]->n_held < whole.parts[c]->n_held);
        assert_int_equal(part.parts[c]->rules.rules.n, whole.parts[c]->rules.rules.n);
        double n = part.parts[c]->counts->total - part.parts[c]->counts->unseen;
        check_close(n, whole.parts[c]->counts->total - whole.parts[c]->counts->unseen, 1e-9);
    }
    forget(&whole);
    forget(&part);
    phl_forest_free(forest);
}

static size_t count_states(const struct learned *learned)
{
    size_t sum = 0;
    for (uint32_t x = 0; x < learned->labels; x++) {
        sum += learned->grammar->sizes[x];
    }
    return sum;
}

static void test_memory_limit(void **state)
{
    (void)state;
    phl_forest *forest = symm_forest(SEED, 40);
    phl_learn_options options = learn_options(true, 1);
    struct learned free_one = learn_as(forest, &options, false);
    options.memory_limit = 80000;
    struct learned bounded = learn_as(forest, &options, false);
    assert_true(count_states(&bounded) < count_states(&free_one));
    const phl_learn_data data = {
        .forest = forest, .symbol_of = bounded.symbol_of, .labels = bounded.labels, .n_classes = 1};
    phl_grammar_part **parts = NULL;
    phl_error refusal = {0};
    options.memory_limit = 1000;
    assert_int_equal(phl_grammar_learn(&data, &options, &parts, &refusal), PHL_ERR_LIMIT);
    forget(&free_one);
    forget(&bounded);
    phl_forest_free(forest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),         cmocka_unit_test(test_threads),
        cmocka_unit_test(test_rewordings),   cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_memory_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
