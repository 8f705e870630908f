/* test_slot_view.c - children dealt out to many parents, against the exact law.
 *
 * Parents of several subtrees, states and blocks, up to 25 of a sort, have children of one pair.
 * Opening the slot deals the children; moves that are certain, whatever was dealt, give every state
 * a block of its own, so that the rows after closing tell how many parents of each sort got which
 * child.  The law of these tables is multivariate hypergeometric and is listed: chi-square over
 * 300,000 runs, failing by chance with probability 1e-6 for each of seven problems; with 400
 * degrees of freedom it has power 1/2 against probabilities off by 2.1 % (root mean square,
 * relative). What was dealt must agree exactly with what the rows say afterwards, and with the
 * slots that are empty.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "models.h"
#include "world.h"

#define SEED 20250805u
#define PURPOSE 0x736c6f74u /* "slot" */

enum { MOST_SORTS = 6, MOST_STATES = 3, EMPTY = 5, SUBTREES = 6, MOST_TABLES = 1 << 19 };

/* Parents alike: subtrees 0 to 4, as far as a problem has them, have the same child in slot 1, and
 * one of their own in slot 2, which shows block `shown`; subtree EMPTY has none in slot 1. */
typedef struct sort {
    uint32_t subtree, state, shown;
    int64_t n;
} sort;

typedef struct problem {
    const char *name;
    uint32_t states;
    size_t n_sorts; /* with a child in slot 1 */
    sort sorts[MOST_SORTS];
    sort empty;
    int64_t children[MOST_STATES];
    bool apart; /* {0, empty} and {the others} are blocks already */
} problem;

typedef struct real {
    const problem *p;
    phl_forest *forest;
    phl_index *index;
    phl_slot_pairs *pairs;
    phl_state_counts *counts;
    phl_partitions *partitions;
    uint32_t n_trees;
    uint32_t subtree[SUBTREES];
} real;

static void make_real(real *r, const problem *p)
{
    phl_builder *builder = new_builder(false);
    const shape with_child = {.size = 3, .slot = {1, 1, 2}}, without = {.size = 2, .slot = {1, 2}};
    memset(r, 0, sizeof *r);
    r->p = p;
    for (int t = 0; t < SUBTREES; t++) {
        const char *const labels[3] = {letter[0], letter[0], letter[t]};
        const char *const empty_labels[2] = {letter[0], letter[t]};
        int64_t times = t == EMPTY ? p->empty.n : 0;
        for (size_t g = 0; g < p->n_sorts; g++) {
            times += p->sorts[g].subtree == (uint32_t)t ? p->sorts[g].n : 0;
        }
        if (times > 0) {
            add_tree(builder, t == EMPTY ? &without : &with_child,
                     t == EMPTY ? empty_labels : labels, (double)times, NULL);
        }
        r->subtree[t] = times > 0 ? r->n_trees++ : UINT32_MAX;
    }
    r->forest = finish_forest(builder);
    for (int t = 0; t < SUBTREES; t++) {
        r->subtree[t] =
            r->subtree[t] == UINT32_MAX ? UINT32_MAX : r->forest->tree_root[r->subtree[t]];
    }
    /* A new block weighs e^200, which no counts outweigh. */
    phl_partition_prior prior = {.phi = -200.0, .slots_max = 2, .core_max = 1000};
    const double log_lambda0[MOST_STATES] = {-1.0, -1.1, -1.2};
    must(phl_index_create(r->forest, 2, false, &r->index, error));
    must(phl_slot_pairs_create(r->index, 0.0, &r->pairs, error));
    must(phl_state_counts_create(r->pairs, p->states, &r->counts, error));
    must(phl_partitions_create(r->counts, &prior, &r->partitions, error));
    must(phl_partitions_set_base(r->partitions, 1.0, log_lambda0, error));
    assert_int_equal(r->pairs->n_eligible, 2);
}

static void free_real(real *r)
{
    phl_partitions_free(r->partitions);
    phl_state_counts_free(r->counts);
    phl_slot_pairs_free(r->pairs);
    phl_index_free(r->index);
    phl_forest_free(r->forest);
}

static uint32_t pair_of(const real *r, int tree, uint32_t slot)
{
    uint32_t s = r->subtree[tree], pair = PHL_NO_PAIR;
    for (uint64_t k = r->forest->first_link[s]; k < r->forest->first_link[s + 1]; k++) {
        pair = r->forest->links[k].slot == slot ? r->index->link_pair[k] : pair;
    }
    return pair;
}

static void add_row(real *r, const sort *at, uint32_t first, int64_t n)
{
    if (n > 0) {
        must(phl_state_counts_add(r->counts, r->subtree[at->subtree], at->state,
                                  first * 2 + at->shown, n, error));
    }
    r->counts->value[pair_of(r, (int)at->subtree, 2) * r->p->states + at->shown] += n;
    phl_state_counts_tell(r->counts, pair_of(r, (int)at->subtree, 2));
}

/* Slot 1: one block, or two.  Slot 2: {0} and {the others}.  Every sort is one row, or cut in two
 * at random. */
static void set_state(real *r, bool cut, phl_rng *rng)
{
    const problem *p = r->p;
    size_t values = (size_t)p->states + 1;
    r->partitions->size[0] = p->apart ? 2 : 1;
    r->partitions->size[1] = 2;
    for (size_t q = 0; q < values; q++) {
        r->partitions->block[q] = p->apart && q > 0 && q < p->states;
        r->partitions->block[values + q] = q > 0;
    }
    phl_state_counts_reset(r->counts);
    memset(r->counts->value, 0, r->index->n_pairs * p->states * sizeof *r->counts->value);
    memcpy(r->counts->value + pair_of(r, 0, 1) * p->states, p->children,
           p->states * sizeof *p->children);
    phl_state_counts_tell(r->counts, pair_of(r, 0, 1));
    for (size_t g = 0; g < p->n_sorts; g++) {
        int64_t n = p->sorts[g].n;
        int64_t first = cut ? (int64_t)random_below(rng, (uint32_t)n + 1) : n;
        /* The sorts of the first subtree show the first block, where there are two. */
        uint32_t digit = p->apart && p->sorts[g].subtree == 1;
        add_row(r, &p->sorts[g], digit, first);
        add_row(r, &p->sorts[g], digit, n - first);
    }
    add_row(r, &p->empty, 0, p->empty.n);
    must(phl_partitions_count(r->partitions, error));
}

/* Does the open slot show the empty ones in their place, and as many children as there are? */
static void check_view(const real *r)
{
    const phl_slot_view *view = &r->partitions->view;
    const problem *p = r->p;
    int64_t seen[MOST_STATES + 1] = {0};
    for (size_t t = 0; t < view->n_tables; t++) {
        const phl_slot_table *table = &view->tables[t];
        int64_t total = 0;
        for (uint32_t i = 0; i < table->n_terms; i++) {
            const phl_slot_term *term = &view->terms[table->first_term + i];
            assert_true(term->n > 0);
            total += term->n;
            assert_true(table->value < p->states ||
                        (term->state == p->empty.state && table->rest == p->empty.shown));
        }
        assert_int_equal(total, table->total);
        seen[table->value] += total;
    }
    for (size_t q = 0; q < p->states; q++) {
        assert_int_equal(seen[q], p->children[q]);
    }
    assert_int_equal(seen[p->states], p->empty.n);
}

/* A table of children by sort as a number: counts of the states but 0, sort by sort. */
static size_t code_of(const problem *p, int64_t table[][MOST_STATES])
{
    size_t code = 0;
    for (size_t g = 0; g < p->n_sorts; g++) {
        for (size_t q = 1; q < p->states; q++) {
            code = code * ((size_t)p->sorts[g].n + 1) + (size_t)table[g][q];
        }
    }
    return code;
}

/* P(table), or 0 if its sums are not those of the problem. */
static double probability_of(const problem *p, int64_t table[][MOST_STATES])
{
    double sum = 0.0;
    int64_t children[MOST_STATES] = {0}, in_block[2] = {0};
    for (size_t g = 0; g < p->n_sorts; g++) {
        sum += lgamma((double)p->sorts[g].n + 1.0);
        for (size_t q = 0; q < p->states; q++) {
            bool impossible = p->apart && (q > 0) != (p->sorts[g].subtree == 1);
            if (table[g][q] < 0 || (impossible && table[g][q] > 0)) {
                return 0.0;
            }
            sum -= lgamma((double)table[g][q] + 1.0);
            children[q] += table[g][q];
        }
    }
    for (size_t q = 0; q < p->states; q++) {
        if (children[q] != p->children[q]) {
            return 0.0;
        }
        sum += lgamma((double)children[q] + 1.0);
        in_block[p->apart && q > 0] += children[q];
    }
    return exp(sum - lgamma((double)in_block[0] + 1.0) - lgamma((double)in_block[1] + 1.0));
}

/* The law by code; how many codes there are. */
static size_t list_tables(const problem *p, double *law)
{
    int64_t table[MOST_SORTS][MOST_STATES] = {{0}};
    size_t codes = 1;
    double all = 0.0;
    for (size_t g = 0; g < p->n_sorts; g++) {
        for (size_t q = 1; q < p->states; q++) {
            codes *= (size_t)p->sorts[g].n + 1;
        }
    }
    assert_true(codes <= MOST_TABLES);
    for (size_t code = 0; code < codes; code++) {
        size_t rest = code;
        for (size_t g = p->n_sorts; g-- > 0;) {
            size_t base = (size_t)p->sorts[g].n + 1;
            table[g][0] = p->sorts[g].n;
            for (size_t q = p->states; q-- > 1;) {
                table[g][q] = (int64_t)(rest % base);
                table[g][0] -= table[g][q];
                rest /= base;
            }
        }
        law[code] = probability_of(p, table);
        all += law[code];
    }
    check_close(all, 1.0, 1e-9);
    return codes;
}

/* Which state of slot 1 the rows show, by sort. */
static void read_table(const real *r, int64_t table[][MOST_STATES])
{
    const problem *p = r->p;
    memset(table, 0, MOST_SORTS * sizeof *table);
    for (size_t i = 0; i < r->counts->n_portions; i++) {
        const phl_portion *portion = &r->counts->portion[i];
        uint32_t q = 0;
        size_t g = 0;
        if (portion->subtree == r->subtree[EMPTY]) {
            assert_int_equal(portion->cell / 2, r->partitions->block[p->states]);
            continue;
        }
        while (q < p->states && r->partitions->block[q] != portion->cell / 2) {
            q++;
        }
        assert_true(q < p->states);
        while (g < p->n_sorts &&
               (r->subtree[p->sorts[g].subtree] != portion->subtree ||
                p->sorts[g].state != portion->state || p->sorts[g].shown != portion->cell % 2)) {
            g++;
        }
        assert_true(g < p->n_sorts);
        table[g][q] += portion->n;
    }
}

static void check_problem(const problem *p)
{
    static double law[MOST_TABLES];
    static int64_t observed[MOST_TABLES];
    static real r;
    phl_rng rng;
    size_t codes = list_tables(p, law), runs = affordable(300000);
    make_real(&r, p);
    memset(observed, 0, sizeof observed);
    phl_rng_init(&rng, SEED, PURPOSE, p->states, (uint64_t)p->apart, p->n_sorts);
    for (size_t i = 0; i < runs; i++) {
        int64_t table[MOST_SORTS][MOST_STATES];
        set_state(&r, i % 2 == 1, &rng);
        must(phl_partition_slot_open(r.partitions, 0, &rng, error));
        check_view(&r);
        for (uint32_t q = 1; q < p->states; q++) {
            must(phl_partition_reassign(r.partitions, q, 1.0, &rng, error));
        }
        must(phl_partition_slot_close(r.partitions, &rng, error));
        const char *fault = partitions_fault(r.partitions);
        if (fault != NULL) {
            fail_msg("%s: not true that %s", p->name, fault);
        }
        assert_int_equal(r.partitions->size[0], p->states);
        read_table(&r, table);
        size_t code = code_of(p, table);
        if (!(law[code] > 0.0)) {
            fail_msg("%s: a table that is impossible", p->name);
        }
        observed[code]++;
    }
    check_outcomes tables = {0};
    check_outcomes_add(&tables, law, observed, codes, (int64_t)runs);
    check_outcomes_judge(&tables, SEED, "%s", p->name);
    free_real(&r);
}

static void one_by_one(void **state)
{
    (void)state;
    const problem p = {"few parents",
                       2,
                       5,
                       {{0, 0, 0, 7}, {1, 0, 0, 3}, {0, 0, 1, 4}, {1, 1, 1, 2}, {0, 1, 1, 9}},
                       {EMPTY, 0, 1, 5},
                       {11, 14},
                       false};
    check_problem(&p);
}

static void many(void **state)
{
    (void)state;
    const problem p = {"many parents",
                       2,
                       4,
                       {{0, 0, 0, 20}, {1, 0, 0, 25}, {0, 1, 1, 3}, {1, 1, 1, 18}},
                       {EMPTY, 0, 1, 7},
                       {30, 36},
                       false};
    check_problem(&p);
}

static void three_states(void **state)
{
    (void)state;
    const problem p = {
        "three states",   3,          3,    {{0, 0, 0, 17}, {1, 0, 0, 6}, {1, 2, 1, 3}},
        {EMPTY, 2, 1, 4}, {12, 9, 5}, false};
    check_problem(&p);
}

/* The first subtree has children in state 0, the second in states 1 and 2: only these are dealt. */
static void two_blocks(void **state)
{
    (void)state;
    const problem p = {"two blocks",
                       3,
                       4,
                       {{0, 0, 0, 2}, {1, 1, 0, 19}, {1, 1, 1, 3}, {1, 0, 1, 2}},
                       {EMPTY, 2, 1, 4},
                       {2, 14, 10},
                       true};
    check_problem(&p);
}

/* Two of ten children are in other states than most, and five parents have them. */
static void scattered(void **state)
{
    (void)state;
    const problem p = {
        "few in other states",
        3,
        6,
        {{0, 0, 0, 3}, {1, 1, 0, 1}, {2, 0, 1, 2}, {3, 2, 0, 1}, {4, 1, 1, 2}, {0, 1, 1, 1}},
        {EMPTY, 2, 1, 4},
        {1, 8, 1},
        false};
    check_problem(&p);
}

/* Every parent occurs once. */
static void scattered_once(void **state)
{
    (void)state;
    const problem p = {"few in other states, parents once",
                       2,
                       5,
                       {{0, 0, 0, 1}, {1, 1, 0, 1}, {2, 0, 1, 1}, {3, 0, 0, 1}, {4, 1, 1, 1}},
                       {EMPTY, 1, 1, 1},
                       {3, 2},
                       false};
    check_problem(&p);
}

/* Twelve children of five parents in three states. */
static void singly(void **state)
{
    (void)state;
    const problem p = {
        "parents a few times each",
        3,
        6,
        {{0, 0, 0, 3}, {1, 1, 0, 1}, {2, 0, 1, 4}, {3, 2, 0, 1}, {4, 1, 1, 1}, {0, 1, 1, 2}},
        {EMPTY, 2, 1, 4},
        {5, 3, 4},
        false};
    check_problem(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_by_one), cmocka_unit_test(many),      cmocka_unit_test(three_states),
        cmocka_unit_test(two_blocks), cmocka_unit_test(scattered), cmocka_unit_test(scattered_once),
        cmocka_unit_test(singly),
    };
    return cmocka_run_group_tests_name("slot_view", tests, NULL, NULL);
}
