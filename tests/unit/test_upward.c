/* test_upward.c - the upward pass and the sums over trees against plain code: plain_upward.c for
 * the pass, phl_shape_run for the shape.
 *
 * Random forests with wide nodes, empty slots, unknown and unseen labels and slots beyond the
 * model; all models, C from 1 to 40.  All from SEED; nothing here is statistical.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "model/sums.h"
#include "model_checks.h"
#include "plain_upward.h"

#define SEED 2718

enum { LABELS = 3, SLOTS = 9, MAX_DEPTH = 6 };

/* What a test needs to know about its trees. */
struct plan {
    size_t trees;
    uint32_t children, letters; /* at most; the model knows the first LABELS letters */
    bool no_sharing;
};

static const char *random_label(phl_rng *rng, uint32_t letters)
{
    uint32_t number = random_below(rng, letters + 1);
    return number == letters ? NULL : letter[number];
}

/* One tree: a node has children in ascending slots, some left empty, up to two beyond the model. */
static void random_tree(phl_rng *rng, const struct plan *plan, phl_builder *builder)
{
    uint32_t slot[MAX_DEPTH], left[MAX_DEPTH];
    size_t depth = 0;
    must(phl_builder_open(builder, random_label(rng, plan->letters), 1, error));
    left[0] = random_below(rng, plan->children + 1);
    slot[0] = 0;
    for (;;) {
        if (left[depth] == 0 || slot[depth] >= SLOTS + 2) {
            must(phl_builder_close(builder, error));
            if (depth == 0) {
                break;
            }
            depth--;
            continue;
        }
        left[depth]--;
        slot[depth] += random_below(rng, 4) == 0 ? 2 : 1;
        uint32_t at = slot[depth];
        must(phl_builder_open(builder, random_label(rng, plan->letters), at, error));
        depth++;
        slot[depth] = 0;
        /* Most nodes are leaves. */
        left[depth] = depth + 1 < MAX_DEPTH && random_below(rng, 3) == 0
                          ? random_below(rng, plan->children + 1)
                          : 0;
    }
    must(
        phl_builder_end_tree(builder, &(phl_tree_info){.weight = 1 + random_below(rng, 3)}, error));
}

static phl_forest *random_trees(phl_rng *rng, const struct plan *plan)
{
    phl_builder *builder = new_builder(plan->no_sharing);
    for (size_t t = 0; t < plan->trees; t++) {
        random_tree(rng, plan, builder);
    }
    return finish_forest(builder);
}

/* A model on a forest, with the alphabet it was made for. */
struct world {
    phl_alphabet labels;
    phl_forest *forest;
    prepared p;
};

static struct world make_world(phl_rng *rng, const struct plan *plan, const phl_params *params)
{
    struct world world = {0};
    for (int i = 0; i < LABELS; i++) {
        int32_t number;
        must(phl_alphabet_add(&world.labels, letter[i], 1, &number, error));
    }
    world.forest = random_trees(rng, plan);
    world.p = prepare(world.forest, &world.labels, params, 1);
    return world;
}

static void clear_world(struct world *world)
{
    unprepare(&world->p);
    phl_forest_free(world->forest);
    phl_alphabet_clear(&world->labels);
}

/* ---- The pass -------------------------------------------------------------------------------- */

static void check_pass(const prepared *p, const phl_params *params)
{
    const phl_upward *fast = p->upward;
    size_t n = p->forest->n_subtrees, c = params->states;
    plain_upward plain = plain_upward_run(p->forest, p->label_row, params);
    for (size_t s = 0; s < n; s++) {
        /* A product just below a power of two may be just above it in the other. */
        double scale = fast->exponent == NULL ? 1 : exp2(fast->exponent[s] - plain.exponent[s]);
        for (size_t i = s * c; i < (s + 1) * c; i++) {
            check_near(fast->inside[i] * scale, plain.inside[i], 1e-13, 1e-300);
            check_near(fast->beta[i], plain.beta[i], 1e-13, 1e-300);
        }
        check_near(fast->norm[s] * scale, plain.norm[s], 1e-13, 1e-300);
        check_near(fast->log_likelihood[s], plain.log_likelihood[s], 1e-13, 1e-13);
    }
    plain_upward_clear(&plain);
}

/* Every model, any number of states; partitions of up to 7 blocks. */
static void test_plain(void **unused)
{
    (void)unused;
    static const struct {
        phl_kind kind;
        bool soft;
    } models[] = {{PHL_TF, false}, {PHL_TF, true}, {PHL_SP, false}, {PHL_TD, false}};
    static const uint32_t states[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 16, 17, 23, 40};
    phl_rng rng;
    phl_rng_init(&rng, SEED, 0, 0, 0, 0);
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
            for (int style = 0; style < ROW_STYLES; style++) {
                struct plan plan = {.trees = 12, .children = 6 + random_below(&rng, 6)};
                plan.letters = LABELS - 1 + random_below(&rng, 3);
                uint32_t active = states[i] > 7 ? 2 : 3;
                phl_params *params = random_params(&rng, models[k].kind, models[k].soft, states[i],
                                                   SLOTS, LABELS, active, (row_style)style);
                struct world world = make_world(&rng, &plan, params);
                check_pass(&world.p, params);
                clear_world(&world);
                phl_params_free(params);
            }
        }
    }
}

/* The full model has every slot active: few slots and states. */
static void test_full(void **unused)
{
    (void)unused;
    phl_rng rng;
    phl_rng_init(&rng, SEED, 1, 0, 0, 0);
    for (uint32_t c = 1; c <= 4; c++) {
        for (uint32_t slots = 1; slots <= 4; slots++) {
            struct plan plan = {.trees = 15, .children = 6, .letters = LABELS};
            phl_params *params =
                random_params(&rng, PHL_FULL, false, c, slots, LABELS, 0, ROWS_PLAIN);
            struct world world = make_world(&rng, &plan, params);
            check_pass(&world.p, params);
            clear_world(&world);
            phl_params_free(params);
        }
    }
}

/* k blocks in each of these slots, the states dealt round. */
static void set_blocks(phl_rng *rng, phl_params *params, const uint32_t *slots, uint32_t n,
                       uint32_t k)
{
    phl_axis axes[SLOTS];
    uint32_t *block = must_alloc((size_t)n * (params->states + 1), sizeof *block);
    for (uint32_t a = 0; a < n; a++) {
        axes[a] = (phl_axis){
            .slot = slots[a], .size = k, .block = block + (size_t)a * (params->states + 1)};
        for (uint32_t q = 0; q <= params->states; q++) {
            axes[a].block[q] = (q * 5 + a) % k;
        }
    }
    must(phl_params_set_axes(params, axes, n, error));
    random_tables(rng, ROWS_PLAIN, params);
    phl_free(block);
}

/* The child of s in a slot, and the number of its pair; UINT32_MAX: empty. */
static uint32_t child_in_slot(const phl_index *index, uint32_t s, uint32_t slot, uint32_t *pair)
{
    const phl_forest *forest = index->forest;
    uint32_t child = UINT32_MAX;
    *pair = PHL_NO_PAIR;
    for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
        if (forest->links[k].slot == slot) {
            child = forest->links[k].child;
            *pair = index->link_pair[k];
        }
    }
    return child;
}

/* Twins, what they see and who sends, against their definition. */
static void check_twins(const prepared *p, const phl_params *params)
{
    const phl_twins *twins = &p->upward->twins;
    const phl_index *index = p->index;
    const phl_forest *forest = index->forest;
    size_t n_groups = 0, n_sent = 0, h = 0;
    uint32_t pair, other_pair;
    assert_int_equal(twins->n_slots, params->n_axes);
    for (uint32_t s = 0; s < forest->n_subtrees; s++) {
        uint32_t first = forest->leaf_slot[s] != 0 ? s : (uint32_t)twins->n_leaves;
        for (; first < s; first++) {
            bool same = forest->label[first] == forest->label[s];
            for (uint32_t a = 0; same && a < params->n_axes; a++) {
                uint32_t slot = params->axes[a].slot;
                uint32_t child = child_in_slot(index, s, slot, &pair);
                uint32_t other = child_in_slot(index, first, slot, &other_pair);
                same = child == UINT32_MAX || other == UINT32_MAX
                           ? child == other
                           : twins->group[child] == twins->group[other];
            }
            if (same) {
                break;
            }
        }
        if (first == s) {
            assert_int_equal(twins->first[n_groups++], s);
        }
        assert_int_equal(twins->first[twins->group[s]], first);
        for (; h < forest->n_levels && s == forest->level[h]; h++) {
            assert_int_equal(twins->level[h], n_groups - (first == s));
        }
        for (uint32_t a = 0; forest->leaf_slot[s] == 0 && a < params->n_axes; a++) {
            (void)child_in_slot(index, s, params->axes[a].slot, &pair);
            assert_int_equal(twins->seen[(s - twins->n_leaves) * params->n_axes + a], pair);
        }
    }
    assert_int_equal(twins->n_groups, n_groups);
    assert_int_equal(twins->level[forest->n_levels], n_groups);
    for (h = 0; h < forest->n_levels; h++) {
        assert_int_equal(twins->sent_level[h], n_sent);
        for (pair = index->first_pair[forest->level[h]];
             pair < index->first_pair[forest->level[h + 1]]; pair++) {
            if (params->axis_of_slot[index->pair_row[pair] + 1] != 0) {
                assert_int_equal(twins->sent[n_sent++], pair);
            }
        }
    }
    assert_int_equal(twins->sent_level[h], n_sent);
}

/* Groups in order: each height by itself, and those alike together. */
static void check_order(const phl_twins *twins, size_t n_levels)
{
    size_t n_slots = twins->n_slots;
    for (size_t h = 1; h < n_levels; h++) {
        uint32_t begin = twins->level[h], end = twins->level[h + 1];
        uint64_t sum = 0;
        for (uint32_t i = begin; i < end; i++) {
            const uint32_t *key = phl_twins_key(twins, twins->order[i - twins->n_leaves]);
            bool apart = false;
            sum += twins->order[i - twins->n_leaves];
            assert_in_range(twins->order[i - twins->n_leaves], begin, end - 1);
            for (uint32_t k = i; k-- > begin;) {
                uint32_t other = twins->order[k - twins->n_leaves];
                bool alike = phl_twins_alike(key, phl_twins_key(twins, other), n_slots);
                assert_true(other != twins->order[i - twins->n_leaves]);
                assert_false(alike && apart);
                apart = apart || !alike;
            }
        }
        assert_int_equal(sum, ((uint64_t)begin + end - 1) * (end - begin) / 2);
    }
}

/* By definition: what the contraction of the first message of a hard model depends on. */
static void test_alike(void **unused)
{
    (void)unused;
    static const struct {
        uint32_t key[3], other[3];
        bool alike;
    } cases[] = {
        {{1, 2, 3}, {1, 4, 5}, true},
        {{1, 2, 3}, {2, 2, 3}, false},
        {{1, UINT32_MAX, 3}, {1, UINT32_MAX, 4}, true},
        {{1, UINT32_MAX, 3}, {1, 2, 3}, false},
        {{1, 2, 3}, {1, 2, UINT32_MAX}, false},
        {{UINT32_MAX, 2, 3}, {UINT32_MAX, 2, 9}, true},
        {{UINT32_MAX, 2, 3}, {UINT32_MAX, 3, 3}, false},
        {{UINT32_MAX, 2, 3}, {2, UINT32_MAX, 3}, false},
        {{UINT32_MAX, UINT32_MAX, UINT32_MAX}, {UINT32_MAX, UINT32_MAX, UINT32_MAX}, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(phl_twins_alike(cases[i].key, cases[i].other, 3), cases[i].alike);
        assert_int_equal(phl_twins_alike(cases[i].other, cases[i].key, 3), cases[i].alike);
    }
}

/* One upward pass lives through changes of the active slots, and twins with it: groups must be
 * found anew when slots change, and may be kept when only blocks do. */
static void test_changing_slots(void **unused)
{
    (void)unused;
    static const struct {
        uint32_t n, slots[4], k;
    } steps[] = {{1, {2}, 2},          {1, {2}, 3},          {2, {1, 3}, 7},   {2, {1, 4}, 4},
                 {4, {1, 2, 3, 4}, 2}, {3, {3, 8, 9}, 3},    {0, {0}, 1},      {1, {9}, 2},
                 {4, {1, 2, 5, 9}, 3}, {4, {1, 2, 5, 9}, 5}, {3, {1, 2, 5}, 6}};
    phl_rng rng;
    phl_rng_init(&rng, SEED, 2, 0, 0, 0);
    struct plan plan = {.trees = 60, .children = 9, .letters = LABELS};
    phl_params *params = random_params(&rng, PHL_TF, false, 10, SLOTS, LABELS, 0, ROWS_PLAIN);
    struct world world = make_world(&rng, &plan, params);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        set_blocks(&rng, params, steps[i].slots, steps[i].n, steps[i].k);
        must(phl_upward_run(world.p.upward, 1, error));
        check_pass(&world.p, params);
        check_twins(&world.p, params);
        must(phl_twins_order(&world.p.upward->twins, world.p.index, error));
        check_order(&world.p.upward->twins, world.forest->n_levels);
        /* There are twins: few slots are active. */
        assert_true(world.p.upward->twins.n_groups < world.forest->n_subtrees);
    }
    clear_world(&world);
    phl_params_free(params);
}

/* A star of so many children that products of messages leave the range of doubles, states in
 * opposite order in odd and even slots. */
static void test_many_children(void **unused)
{
    (void)unused;
    enum { CHILDREN = 2000 };
    phl_rng rng;
    phl_rng_init(&rng, SEED, 3, 0, 0, 0);
    phl_params *params = random_params(&rng, PHL_TD, false, 6, CHILDREN, LABELS, 0, ROWS_SKEWED);
    phl_builder *builder = new_builder(false);
    must(phl_builder_open(builder, "a", 1, error));
    for (uint32_t slot = 1; slot <= CHILDREN; slot++) {
        must(phl_builder_open(builder, letter[random_below(&rng, LABELS)], slot, error));
        must(phl_builder_close(builder, error));
    }
    must(phl_builder_close(builder, error));
    must(phl_builder_end_tree(builder, &(phl_tree_info){.weight = 1}, error));
    struct world world = {0};
    for (int i = 0; i < LABELS; i++) {
        int32_t number;
        must(phl_alphabet_add(&world.labels, letter[i], 1, &number, error));
    }
    world.forest = finish_forest(builder);
    world.p = prepare(world.forest, &world.labels, params, 1);
    assert_true(world.p.upward->log_likelihood[world.forest->n_subtrees - 1] < -1000);
    plain_upward plain = plain_upward_run(world.forest, world.p.label_row, params);
    size_t root = world.forest->n_subtrees - 1;
    for (size_t j = 0; j < 6; j++) { /* 2000 roundings */
        check_near(world.p.upward->beta[root * 6 + j], plain.beta[root * 6 + j], 1e-11, 1e-300);
    }
    check_near(world.p.upward->log_likelihood[root], plain.log_likelihood[root], 1e-13, 0);
    plain_upward_clear(&plain);
    clear_world(&world);
    phl_params_free(params);
}

/* A label so improbable that 1 / norm is no number. */
static void test_tiny_norm(void **unused)
{
    (void)unused;
    phl_rng rng;
    phl_rng_init(&rng, SEED, 7, 0, 0, 0);
    struct plan plan = {.trees = 20, .children = 5, .letters = LABELS};
    phl_params *params = random_params(&rng, PHL_TF, false, 2, SLOTS, LABELS, 2, ROWS_PLAIN);
    for (size_t j = 0; j < 2; j++) { /* rows of emission by label, columns by state */
        params->emission[j] = 0x1p-1040;
    }
    struct world world = make_world(&rng, &plan, params);
    size_t tiny = 0;
    for (size_t s = 0; s < world.forest->n_subtrees; s++) {
        const double *beta = world.p.upward->beta + 2 * s;
        check_close(beta[0] + beta[1], 1.0, 1e-9); /* subnormal numbers have few digits */
        tiny += world.p.upward->norm[s] < 0x1p-1030;
    }
    assert_true(tiny > 0);
    clear_world(&world);
    phl_params_free(params);
}

static void assert_same_bits(const double *a, const double *b, size_t n)
{
    assert_memory_equal(a, b, n * sizeof *a);
}

/* Levels large enough to be shared between threads. */
static void test_threads(void **unused)
{
    (void)unused;
    static const phl_kind models[] = {PHL_TF, PHL_SP, PHL_TD};
    enum { STATES = 38 };
    phl_rng rng;
    phl_rng_init(&rng, SEED, 4, 0, 0, 0);
    struct plan plan = {.trees = 1500, .children = 7, .letters = 26, .no_sharing = true};
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        phl_params *params =
            random_params(&rng, models[k], false, STATES, SLOTS, LABELS, 0, ROWS_PLAIN);
        if (models[k] == PHL_TF) {
            set_blocks(&rng, params, (const uint32_t[]){1, 2, 3, 4}, 4, 2);
        }
        struct world world = make_world(&rng, &plan, params);
        size_t n = world.forest->n_subtrees;
        assert_true(world.forest->n_levels > 3);
        for (int threads = 2; threads <= 4; threads++) {
            prepared other = prepare(world.forest, &world.labels, params, threads);
            assert_same_bits(other.upward->inside, world.p.upward->inside, n * STATES);
            assert_same_bits(other.upward->beta, world.p.upward->beta, n * STATES);
            assert_same_bits(other.upward->norm, world.p.upward->norm, n);
            assert_same_bits(other.upward->log_likelihood, world.p.upward->log_likelihood, n);
            unprepare(&other);
        }
        clear_world(&world);
        phl_params_free(params);
    }
}

/* ---- Sums ------------------------------------------------------------------------------------ */

/* phl_upward_norms gives the norms of the pass; phl_upward_total the weighted sum over trees. */
static void test_norms_and_total(void **unused)
{
    (void)unused;
    phl_rng rng;
    phl_rng_init(&rng, SEED, 5, 0, 0, 0);
    for (int i = 0; i < 40; i++) {
        phl_kind kind = i % 2 == 0 ? PHL_TF : PHL_SP;
        struct plan plan = {.trees = 40, .children = 8, .letters = LABELS};
        phl_params *params = random_params(&rng, kind, false, 1 + random_below(&rng, 12), SLOTS,
                                           LABELS, 3, (row_style)(i % ROW_STYLES));
        struct world world = make_world(&rng, &plan, params);
        const phl_forest *forest = world.forest;
        phl_upward *upward = NULL;
        must(phl_upward_create(world.p.index, params, world.p.label_row, &upward, error));
        must(phl_upward_norms(upward, 1, error));
        assert_same_bits(upward->norm, world.p.upward->norm, forest->n_subtrees);
        double *times = NULL, sum = 0;
        must(phl_index_occurrences(forest, NULL, &times, error));
        for (size_t t = 0; t < forest->n_trees; t++) {
            sum += phl_tree_weight(forest, t) * phl_upward_tree(world.p.upward, t);
        }
        check_near(phl_upward_total(world.p.upward, times), sum, 1e-13, 0);
        /* A subtree that does not occur adds nothing, however improbable. */
        memset(times, 0, forest->n_subtrees * sizeof *times);
        assert_true(phl_upward_total(world.p.upward, times) == 0);
        phl_free(times);
        phl_upward_free(upward);
        clear_world(&world);
        phl_params_free(params);
    }
}

/* Shape tables in which slot 2 is never empty, and slot 3 never a leaf. */
static void make_strict(phl_params *params)
{
    double *o = params->shape;
    o[3] = 0, o[4] = 0.5, o[5] = 0.5;
    o[7] = 0, o[6] = 0.5, o[8] = 0.5;
}

/* Labels and shape of all lanes against one upward pass and phl_shape_run each. */
static void test_sums(void **unused)
{
    (void)unused;
    phl_rng rng;
    phl_rng_init(&rng, SEED, 6, 0, 0, 0);
    for (int i = 0; i < 20; i++) {
        static const phl_kind models[] = {PHL_TF, PHL_SP, PHL_TD};
        phl_kind kind = models[i % 3];
        struct plan plan = {.trees = 30, .children = 8, .letters = LABELS};
        uint32_t c = 1 + random_below(&rng, 12);
        size_t lanes = 1 + random_below(&rng, PHL_SUM_LANES);
        phl_params *params[PHL_SUM_LANES];
        for (size_t d = 0; d < lanes; d++) {
            params[d] = random_params(&rng, kind, false, c, SLOTS, LABELS, 3,
                                      (row_style)(random_below(&rng, ROW_STYLES)));
            if (random_below(&rng, 4) == 0) {
                make_strict(params[d]);
            }
        }
        struct world world = make_world(&rng, &plan, params[0]);
        const phl_forest *forest = world.forest;
        phl_upward *upward = world.p.upward;
        phl_sums *sums = NULL, *single = NULL;
        double *log_shape = must_alloc(forest->n_subtrees, sizeof *log_shape);
        must(phl_sums_create(forest, SLOTS, lanes, &sums, error));
        must(phl_sums_create(forest, SLOTS, 1, &single, error));
        for (size_t d = 0; d < lanes; d++) {
            phl_upward_turn(upward, params[d]);
            must(phl_upward_norms(upward, 1, error));
            phl_sums_set_labels(sums, d, upward);
        }
        for (int with_shape = 0; with_shape < 2; with_shape++) {
            for (size_t d = 0; with_shape == 1 && d < lanes; d++) {
                phl_sums_add_shape(sums, d, params[d]);
            }
            phl_sums_run(sums, with_shape == 1);
            for (size_t d = 0; d < lanes; d++) {
                phl_upward_turn(upward, params[d]);
                must(phl_upward_run(upward, 1, error));
                phl_sums_set_labels(single, 0, upward);
                phl_shape_run(params[d], forest, log_shape);
                if (with_shape == 1) {
                    phl_sums_add_shape(single, 0, params[d]);
                }
                phl_sums_run(single, with_shape == 1);
                for (size_t s = 0; s < forest->n_subtrees; s++) {
                    double sum = sums->sum[s * sums->width + d];
                    double plain =
                        upward->log_likelihood[s] + (with_shape == 1 ? log_shape[s] : 0.0);
                    check_near(sum, plain, 1e-13, 1e-12);
                    assert_same_bits(&sum, &single->sum[s], 1);
                }
            }
        }
        phl_free(log_shape);
        phl_sums_free(sums);
        phl_sums_free(single);
        clear_world(&world);
        for (size_t d = 0; d < lanes; d++) {
            phl_params_free(params[d]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),         cmocka_unit_test(test_full),
        cmocka_unit_test(test_alike),         cmocka_unit_test(test_changing_slots),
        cmocka_unit_test(test_many_children), cmocka_unit_test(test_tiny_norm),
        cmocka_unit_test(test_threads),       cmocka_unit_test(test_norms_and_total),
        cmocka_unit_test(test_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
