/* test_state_recycle.c - tries to recycle states, on trees where every node is a subtree of its own
 * and a label tells the group of all kinds, so that from the counts afterwards one can tell what
 * every node's state has become.
 *
 * Written down here node by node: the log-joint (log-gamma functions), which no kept try lowers;
 * the counts, partitions and lambda0 that a try with some a, b and d leaves behind, one of which
 * must be what is found; and that a try that is not kept leaves everything as it was, to the bit.
 * On trees that share subtrees the sums that no try can change.  Nothing happens outside the
 * warm-up: a chain that may recycle and one that may not are the same from there on.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "forests.h"
#include "gibbs/label_swap.h"
#include "gibbs/state_recycle.h"
#include "models.h"

#define SEED 20261119u
enum { C = 5, VALUES = C + 1, SLOTS = 2, MOST_NODES = 400, MOST_LABELS = 40, MOST_CELLS = 64 };
enum { BEGIN = 100, END = 2000 }; /* of one try an iteration */

static const double gamma_ = 0.7, beta_ = 0.1, alpha_ = 1.3, phi = 0.3;

typedef struct chain {
    phl_forest *forest;
    phl_index *index;
    phl_slot_pairs *pairs;
    uint32_t label_row[MOST_LABELS];
    phl_gibbs *gibbs;
} chain;

/* What a try may change. */
typedef struct picture {
    int64_t emission[MOST_LABELS][C], prior[SLOTS][C], cells[MOST_CELLS][C];
    uint32_t size[SLOTS], block[SLOTS][VALUES];
    size_t n_cells;
    double log_lambda0[C];
} picture;

/* ---- the chain ------------------------------------------------------------------------------ */

static phl_gibbs_options options_of(uint64_t recycle, uint64_t recycle_end)
{
    return (phl_gibbs_options){
        .alpha = alpha_,
        .alpha0 = 1.0,
        .beta = beta_,
        .gamma = gamma_,
        .delta = 1.0,
        .prior = {.phi = phi, .slots_min = 1, .slots_max = SLOTS, .core_max = MOST_CELLS / 2},
        .recycle = recycle,
        .recycle_end = recycle_end,
        .seed = SEED,
        .threads = 1};
}

static void make_chain(chain *s, phl_forest *forest, const phl_gibbs_options *options)
{
    s->forest = forest;
    assert_true(forest->labels.count < MOST_LABELS && forest->n_subtrees <= MOST_NODES);
    for (uint32_t i = 0; i < MOST_LABELS; i++) {
        s->label_row[i] = i;
    }
    must(phl_index_create(forest, SLOTS, false, &s->index, error));
    must(phl_slot_pairs_create(s->index, 0.0, &s->pairs, error));
    must(phl_gibbs_create(s->pairs, s->label_row, C, (uint32_t)forest->labels.count, NULL, 0,
                          options, &s->gibbs, error));
}

static void free_chain(chain *s)
{
    phl_gibbs_free(s->gibbs);
    phl_slot_pairs_free(s->pairs);
    phl_index_free(s->index);
    phl_forest_free(s->forest);
}

static void name_node(char *name, char kind, uint64_t number)
{
    (void)snprintf(name, 8, "%c%u", kind, (unsigned)number);
}

/* (Si (Ri (ai) (bk))): the label of an internal node follows from that of its first child. */
static phl_forest *place_forest(bool no_sharing)
{
    phl_builder *builder = new_builder(no_sharing);
    static const shape s = {4, {0, 0, 1, 1}, {1, 1, 1, 2}};
    phl_rng rng;
    phl_rng_init(&rng, SEED, 1, 2, 3, 4);
    for (int t = 0; t < MOST_NODES / 4; t++) {
        char names[4][8];
        uint64_t i = phl_rng_bounded(&rng, 4), k = phl_rng_bounded(&rng, 4);
        k = phl_rng_bounded(&rng, 4) == 0 ? k : i; /* mostly the same */
        name_node(names[0], 'S', i);
        name_node(names[1], 'R', i);
        name_node(names[2], 'a', i);
        name_node(names[3], 'b', k);
        add_tree(builder, &s, (const char *const[]){names[0], names[1], names[2], names[3]}, 1.0,
                 NULL);
    }
    return finish_forest(builder);
}

/* (Ri (ai) (bk)): the second child, which is never missing, tells nothing. */
static phl_forest *second_tells_nothing(void)
{
    phl_builder *builder = new_builder(true);
    static const shape s = {3, {0, 0, 0}, {1, 1, 2}};
    phl_rng rng;
    phl_rng_init(&rng, SEED, 4, 3, 2, 1);
    for (int t = 0; t < MOST_NODES / 3; t++) {
        char names[3][8];
        uint64_t i = phl_rng_bounded(&rng, 4);
        name_node(names[0], 'R', i);
        name_node(names[1], 'a', i);
        name_node(names[2], 'b', phl_rng_bounded(&rng, 4));
        add_tree(builder, &s, (const char *const[]){names[0], names[1], names[2]}, 1.0, NULL);
    }
    return finish_forest(builder);
}

static void take_picture(const chain *s, picture *p)
{
    const phl_gibbs *gibbs = s->gibbs;
    const phl_partitions *partitions = gibbs->partitions;
    memset(p, 0, sizeof *p);
    memcpy(p->emission, gibbs->counts.emission, s->forest->labels.count * sizeof *p->emission);
    memcpy(p->prior, gibbs->counts.prior, sizeof p->prior);
    assert_true(partitions->n_cells <= MOST_CELLS);
    memcpy(p->cells, partitions->cells, partitions->n_cells * sizeof *p->cells);
    assert_int_equal(partitions->n_eligible, SLOTS);
    memcpy(p->size, partitions->size, sizeof p->size);
    memcpy(p->block, partitions->block, sizeof p->block);
    p->n_cells = partitions->n_cells;
    memcpy(p->log_lambda0, gibbs->log_lambda0, sizeof p->log_lambda0);
}

/* ---- by hand -------------------------------------------------------------------------------- */

static double log_rising(double a, int64_t n)
{
    return lgamma(a + (double)n) - lgamma(a);
}

static double log_stirling(int n, int k)
{
    double s[VALUES + 1][VALUES + 1] = {{1.0}};
    for (int i = 1; i <= n; i++) {
        for (int j = 1; j <= i; j++) {
            s[i][j] = s[i - 1][j - 1] + j * s[i - 1][j];
        }
    }
    return log(s[n][k]);
}

/* Up to the constant of p(k). */
static double log_joint(const picture *p, size_t labels)
{
    double sum = 0.0;
    for (int j = 0; j < C; j++) {
        int64_t all = 0;
        for (size_t x = 0; x < labels; x++) {
            sum += log_rising(beta_, p->emission[x][j]);
            all += p->emission[x][j];
        }
        sum -= log_rising((double)(labels + 1) * beta_, all);
    }
    for (int l = 0; l < SLOTS; l++) {
        int64_t all = 0;
        for (int j = 0; j < C; all += p->prior[l][j++]) {
            sum += log_rising(gamma_, p->prior[l][j]);
        }
        sum -= log_rising(C * gamma_, all);
    }
    for (size_t z = 0; z < p->n_cells; z++) {
        int64_t all = 0;
        for (int j = 0; j < C; all += p->cells[z][j++]) {
            sum += log_rising(alpha_ * exp(p->log_lambda0[j]), p->cells[z][j]);
        }
        sum -= log_rising(alpha_, all);
    }
    for (int e = 0; e < SLOTS; e++) {
        sum -= phi * p->size[e] + log_stirling(VALUES, (int)p->size[e]);
    }
    return sum;
}

/* A partition as it must be: blocks 0 .. size - 1, none empty; within the confines. */
static void check_partitions(const picture *p, uint32_t slots_min)
{
    size_t cells = 1, active = 0;
    for (int e = 0; e < SLOTS; e++) {
        bool used[VALUES] = {false};
        for (int q = 0; q < VALUES; q++) {
            assert_in_range(p->block[e][q], 0, p->size[e] - 1);
            used[p->block[e][q]] = true;
        }
        for (uint32_t k = 0; k < p->size[e]; k++) {
            assert_true(used[k]);
        }
        cells *= p->size[e];
        active += p->size[e] > 1;
    }
    assert_int_equal(cells, p->n_cells);
    assert_in_range(active, slots_min, SLOTS);
}

/* Every node counts once as a label, and once as a leaf or in a cell; lambda0 adds up to 1. */
static void check_sums(const picture *before, const picture *after, size_t labels)
{
    int64_t cells[2] = {0, 0};
    double total = 0.0;
    for (size_t x = 0; x < labels; x++) {
        int64_t was = 0, is = 0;
        for (int j = 0; j < C; j++) {
            was += before->emission[x][j];
            is += after->emission[x][j];
        }
        assert_int_equal(was, is);
    }
    for (int l = 0; l < SLOTS; l++) {
        int64_t was = 0, is = 0;
        for (int j = 0; j < C; j++) {
            was += before->prior[l][j];
            is += after->prior[l][j];
        }
        assert_int_equal(was, is);
    }
    for (int j = 0; j < C; j++) {
        int64_t shown = 0, placed = 0;
        for (size_t x = 0; x < labels; x++) {
            assert_true(after->emission[x][j] >= 0);
            shown += after->emission[x][j];
        }
        for (int l = 0; l < SLOTS; l++) {
            assert_true(after->prior[l][j] >= 0);
            placed += after->prior[l][j];
        }
        for (size_t z = 0; z < MOST_CELLS; z++) {
            assert_true(after->cells[z][j] >= 0);
            placed += after->cells[z][j];
            cells[0] += before->cells[z][j];
            cells[1] += after->cells[z][j];
        }
        assert_int_equal(shown, placed);
        total += exp(after->log_lambda0[j]);
    }
    assert_int_equal(cells[0], cells[1]);
    check_close(total, 1.0, 1e-9);
}

/* States of all nodes, where each is a subtree of its own. */
static void read_states(const chain *s, uint32_t *state)
{
    for (uint32_t u = 0; u < s->forest->n_subtrees; u++) {
        state[u] = C;
        for (uint32_t j = 0; j < C; j++) {
            int64_t n = phl_gibbs_count(s->gibbs, u, j);
            assert_in_range(n, 0, 1);
            state[u] = n == 1 ? j : state[u];
        }
        assert_true(state[u] < C);
    }
}

static size_t cell_of(const chain *s, const picture *p, const uint32_t *state, uint32_t u)
{
    uint32_t value[SLOTS] = {C, C};
    for (uint64_t k = s->forest->first_link[u]; k < s->forest->first_link[u + 1]; k++) {
        value[s->forest->links[k].slot - 1] = state[s->forest->links[k].child];
    }
    return (size_t)p->block[0][value[0]] * p->size[1] + p->block[1][value[1]];
}

/* Counts of given states, with the partitions of the picture. */
static void count_nodes(const chain *s, const uint32_t *state, picture *p)
{
    memset(p->emission, 0, sizeof p->emission);
    memset(p->prior, 0, sizeof p->prior);
    memset(p->cells, 0, sizeof p->cells);
    for (uint32_t u = 0; u < s->forest->n_subtrees; u++) {
        p->emission[s->forest->label[u]][state[u]]++;
        if (s->forest->leaf_slot[u] != 0) {
            p->prior[s->forest->leaf_slot[u] - 1][state[u]]++;
        } else {
            p->cells[cell_of(s, p, state, u)][state[u]]++;
        }
    }
}

/* Are values other than b together with one another as before, and b with d? */
static bool fits_blocks(const picture *before, const picture *after, uint32_t b, uint32_t d)
{
    bool fits = true;
    for (int e = 0; e < SLOTS; e++) {
        fits = fits && after->block[e][b] == after->block[e][d];
        for (uint32_t q = 0; q < VALUES; q++) {
            for (uint32_t r = 0; r < VALUES; r++) {
                fits = fits && (q == b || r == b ||
                                (before->block[e][q] == before->block[e][r]) ==
                                    (after->block[e][q] == after->block[e][r]));
            }
        }
    }
    return fits;
}

static bool fits_base(const picture *before, const picture *after, uint32_t a, uint32_t b,
                      uint32_t d)
{
    double expected[C];
    bool fits = true;
    for (int j = 0; j < C; j++) {
        expected[j] = exp(before->log_lambda0[j]);
    }
    expected[a] += expected[b];
    expected[b] = expected[d] = expected[d] / 2.0;
    for (int j = 0; j < C; j++) {
        fits = fits && fabs(exp(after->log_lambda0[j]) / expected[j] - 1.0) < 1e-9;
    }
    return fits;
}

/* Is what is found what a try with these states leaves behind?  All of b went into a, and of d
 * each label as a whole stays or goes to b. */
static bool fits_attempt(const chain *s, const picture *before, const uint32_t *state,
                         const picture *after, uint32_t a, uint32_t b, uint32_t d)
{
    uint32_t now[MOST_NODES];
    picture counted = *after;
    if (!fits_blocks(before, after, b, d) || !fits_base(before, after, a, b, d)) {
        return false;
    }
    for (uint32_t u = 0; u < s->forest->n_subtrees; u++) {
        now[u] = state[u] == b ? a : state[u];
        now[u] = now[u] == d && after->emission[s->forest->label[u]][b] > 0 ? b : now[u];
    }
    count_nodes(s, now, &counted);
    return memcmp(&counted, after, sizeof counted) == 0;
}

static bool is_some_attempt(const chain *s, const picture *before, const uint32_t *state,
                            const picture *after)
{
    for (uint32_t a = 0; a < C; a++) {
        for (uint32_t b = 0; b < C; b++) {
            for (uint32_t d = 0; d < C; d++) {
                if (a != b && b != d && fits_attempt(s, before, state, after, a, b, d)) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* ---- tests ---------------------------------------------------------------------------------- */

/* Iterations with one try each; of `exact` trees every node is a subtree of its own. */
static void check_tries(chain *s, bool exact, size_t least)
{
    phl_gibbs *gibbs = s->gibbs;
    size_t labels = s->forest->labels.count, kept = 0, rose = 0, refused = 0;
    static uint32_t state[MOST_NODES];
    static picture before, after, counted;
    gibbs->iteration = BEGIN;
    for (int i = 0; i < 1500; i++) {
        uint64_t changed = gibbs->recycle->count.changed;
        must(phl_hidden_states_draw(gibbs, error));
        must(phl_gibbs_draw_partitions(gibbs, 1.0, error));
        take_picture(s, &before);
        if (exact) {
            read_states(s, state);
            counted = before;
            count_nodes(s, state, &counted);
            assert_memory_equal(&counted, &before, sizeof counted);
        }
        double joint = log_joint(&before, labels);
        check_close(phl_gibbs_joint(gibbs), joint, 1e-10);
        must(phl_state_recycle_search(gibbs, error));
        assert_int_equal(gibbs->recycle->count.tried, i + 1);
        take_picture(s, &after);
        if (gibbs->recycle->count.changed == changed) {
            assert_memory_equal(&before, &after, sizeof before);
            refused++;
        } else {
            assert_int_equal(gibbs->recycle->count.changed, changed + 1);
            double reached = log_joint(&after, labels);
            assert_true(reached >= joint - 1e-9 * fabs(joint));
            check_partitions(&after, gibbs->options.prior.slots_min);
            check_sums(&before, &after, labels);
            assert_true(!exact || is_some_attempt(s, &before, state, &after));
            kept++;
            rose += reached > joint + 0.5;
        }
        check_close(phl_gibbs_joint(gibbs), log_joint(&after, labels), 1e-10);
        must(phl_gibbs_parameters_draw(gibbs, gibbs->iteration, error));
        gibbs->iteration++;
    }
    print_message("  %s: %zu tries kept, %zu of them with a gain, %zu not\n",
                  exact ? "single nodes" : "shared subtrees", kept, rose, refused);
    assert_true(kept >= least && rose >= least / 4 && refused >= 100);
}

static void test_single_nodes(void **state)
{
    (void)state;
    chain s;
    phl_gibbs_options options = options_of(END - BEGIN, END);
    make_chain(&s, place_forest(true), &options);
    assert_int_equal(s.forest->n_subtrees, MOST_NODES);
    check_tries(&s, true, 20);
    free_chain(&s);
}

static void test_shared(void **state)
{
    (void)state;
    chain s;
    phl_gibbs_options options = options_of(END - BEGIN, END);
    make_chain(&s, place_forest(false), &options);
    assert_true(s.forest->n_subtrees < MOST_NODES / 4);
    check_tries(&s, false, 20);
    free_chain(&s);
}

/* Two slots must be active, where the second tells nothing and all would gain by its end. */
static void test_confines(void **state)
{
    (void)state;
    chain s;
    phl_gibbs_options options = options_of(END - BEGIN, END);
    options.prior.slots_min = SLOTS;
    make_chain(&s, second_tells_nothing(), &options);
    check_tries(&s, true, 8);
    free_chain(&s);
}

/* As many tries as were asked for at most, none before a twentieth and none after the end. */
static void test_when(void **state)
{
    (void)state;
    enum { TRIES = 60, UNTIL = 40 };
    chain s;
    phl_gibbs_options options = options_of(TRIES, UNTIL);
    make_chain(&s, place_forest(false), &options);
    for (int i = 0; i < UNTIL + 30; i++) {
        uint64_t tried = s.gibbs->recycle->count.tried;
        must(phl_gibbs_step(s.gibbs, 1.0, error));
        if (i < UNTIL / 20 || i >= UNTIL) {
            assert_int_equal(s.gibbs->recycle->count.tried, tried);
        }
    }
    assert_in_range(s.gibbs->recycle->count.tried, UNTIL / 2, TRIES);
    free_chain(&s);
}

/* From the end of the warm-up on, a chain that recycled is the one that does not know how to. */
static void test_afterwards(void **state)
{
    (void)state;
    enum { UNTIL = 20 };
    chain s, plain;
    phl_gibbs_options options = options_of(60, UNTIL);
    make_chain(&s, place_forest(false), &options);
    options.recycle = 0;
    make_chain(&plain, place_forest(false), &options);
    assert_null(plain.gibbs->recycle);
    for (int i = 0; i < UNTIL; i++) {
        must(phl_gibbs_step(s.gibbs, 1.0, error));
    }
    phl_gibbs_parameters_expand(s.gibbs);
    phl_chain_state at = {s.gibbs->iteration, s.gibbs->params, s.gibbs->log_lambda0, s.gibbs->alpha,
                          s.gibbs->alpha0};
    must(phl_gibbs_restore(plain.gibbs, &at, error));
    for (int i = 0; i < 40; i++) {
        must(phl_gibbs_step(s.gibbs, 1.0, error));
        must(phl_gibbs_step(plain.gibbs, 1.0, error));
        assert_true(s.gibbs->log_joint == plain.gibbs->log_joint);
        assert_true(s.gibbs->log_likelihood == plain.gibbs->log_likelihood);
    }
    free_chain(&s);
    free_chain(&plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single_nodes), cmocka_unit_test(test_shared),
        cmocka_unit_test(test_confines),     cmocka_unit_test(test_when),
        cmocka_unit_test(test_afterwards),
    };
    return cmocka_run_group_tests_name("state_recycle", tests, NULL, NULL);
}
