/* test_gibbs_invariance.c - every step of the blocked sampler leaves the posterior as it is.
 *
 * Paired one-step invariance: a world (parameters, hidden states, labels) is drawn forward from the
 * prior, one step is applied with the labels fixed, and for every feature f of world.h the mean
 * of f(after) - f(before) is tested.  If the step leaves the posterior invariant the mean is 0
 * exactly.  A chain keeps rows and pairs (rows.h), not who is whose child: where f depends on that,
 * its expectation given what is kept is taken, every way being as likely.  Whether they are is
 * tested first, by a step that does nothing but forget; moves, which start from portions and pairs,
 * are compared with what was left then, all other steps with the world.
 *
 * With n = 30,000 worlds a feature fails when |z| > 5.5: by chance with probability 3.8e-8 each,
 * 4e-5 for the whole program with fresh seeds (some 1,000 features of steps); with power 1/2 a
 * shift of 0.032 standard deviations of the difference is seen.  A feature that depends on what a
 * step draws must move in at least one world of a hundred, any other must not move at all. (Sizes
 * alone need not move in a carry; expectations may move with the way rows are cut.)
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "gibbs/label_swap.h"
#include "models.h"
#include "world.h"

#define SEED 20250801u
#define PURPOSE 0x696e7661u /* "inva" */
#ifndef WORLDS              /* tests/faults may ask for fewer */
#define WORLDS 30000
#endif
#define LIMIT 5.5

typedef enum step {
    FORGET,
    DRAW_STATES,
    REASSIGN,
    SPLIT_MERGE,
    CARRY,
    SWEEP,
    SWAP,
    DRAW_PARAMETERS,
    ITERATION,
    STEPS
} step;

static const struct {
    const char *name;
    unsigned changes;
} steps[STEPS] = {
    [FORGET] = {"forget", ON_JOINT},
    [DRAW_STATES] = {"states", ON_STATES},
    [REASSIGN] = {"reassign", ON_PARTITIONS},
    [SPLIT_MERGE] = {"split/merge", ON_PARTITIONS},
    [CARRY] = {"carry", ON_PARTITIONS},
    [SWEEP] = {"sweep", ON_PARTITIONS},
    [SWAP] = {"label swap", ON_STATES},
    [DRAW_PARAMETERS] = {"parameters", ON_CORE | ON_BASE | ON_PRIOR | ON_EMISSION | ON_KAPPA |
                                           ON_CONCENTRATION | ON_SHAPE},
    [ITERATION] = {"iterations", UINT32_MAX},
};

static bool is_move(step k)
{
    return k == REASSIGN || k == SPLIT_MERGE || k == CARRY || k == SWEEP || k == SWAP;
}

/* Apply a step to a chain that is in the state of a world. */
static void apply_step(step k, phl_gibbs *gibbs, phl_rng *rng)
{
    phl_partitions *partitions = gibbs->partitions;
    switch (k) {
    case FORGET:
        break;
    case DRAW_STATES:
        must(phl_hidden_states_draw(gibbs, error));
        break;
    case REASSIGN:
        for (uint32_t e = 0; e < W_ELIGIBLE; e++) {
            must(phl_partition_slot_open(partitions, e, rng, error));
            for (uint32_t q = 0; q < W_VALUES; q++) {
                must(phl_partition_reassign(partitions, q, 1.0, rng, error));
            }
            must(phl_partition_slot_close(partitions, rng, error));
        }
        break;
    case SPLIT_MERGE:
        for (uint32_t i = 0; i < 8 * W_ELIGIBLE; i++) {
            must(phl_partition_slot_open(partitions, i % W_ELIGIBLE, rng, error));
            must(phl_partition_split_merge(partitions, 1.0, rng, error));
            must(phl_partition_slot_close(partitions, rng, error));
        }
        break;
    case CARRY:
        for (int i = 0; i < 8; i++) {
            must(phl_partition_carry(partitions, 1.0, rng, error));
        }
        break;
    case SWEEP:
        must(phl_partition_sweep(partitions, 1.0, rng, error));
        break;
    case SWAP:
        must(phl_label_swap_begin(gibbs, error));
        for (size_t i = 0; i < 2 * gibbs->swap->groups->n_groups; i++) {
            phl_label_swap_try(gibbs, i / 2, 1.0, rng);
        }
        phl_label_swap_end(gibbs);
        break;
    case DRAW_PARAMETERS:
        must(phl_gibbs_parameters_draw(gibbs, gibbs->iteration, error));
        break;
    case ITERATION:
    default: /* the second one meets what the first has left behind */
        must(phl_gibbs_step(gibbs, 1.0, error));
        must(phl_gibbs_step(gibbs, 1.0, error));
        break;
    }
}

typedef struct tally {
    char name[40];
    unsigned on;
    double sum, squares;
    size_t moved;
} tally;

/* Judge the features of one step; how many failed. */
static unsigned judge(const char *setting, step k, const tally *tallies, size_t count, size_t n)
{
    unsigned failed = 0, tested = 0;
    double worst = 0.0;
    const char *worst_name = "none";
    for (size_t f = 0; f < count; f++) {
        const tally *t = &tallies[f];
        bool should_move = (t->on & steps[k].changes) != 0 &&
                           !(k == CARRY && t->on == ON_PARTITIONS) &&
                           !(k == SWAP && t->on == ON_STATES); /* some count whole groups */
        bool may_move =
            should_move || (t->on & (steps[k].changes | (is_move(k) ? ON_JOINT : 0u))) != 0;
        if (is_move(k) && (t->on & ON_CORE) != 0) {
            continue; /* lambda does not belong to the new partitions */
        }
        if (k == SWAP && (t->on & (ON_PRIOR | ON_EMISSION)) != 0) {
            continue; /* nor pi and b to the new states */
        }
        double mean = t->sum / (double)n;
        double variance = t->squares / (double)n - mean * mean;
        double z = variance > 0.0 ? mean / sqrt(variance / (double)n) : 0.0;
        bool bad = !(fabs(z) <= LIMIT) || (!may_move && t->moved > 0) ||
                   (should_move && t->moved * 100 < n) || !isfinite(t->sum);
        if (bad) {
            print_message(
                "  %s, %s: feature '%s' z = %.2f, mean %.3g, moved in %zu of %zu: WRONG\n", setting,
                steps[k].name, t->name, z, mean, t->moved, n);
            failed++;
        }
        tested += may_move;
        if (fabs(z) > fabs(worst)) {
            worst = z;
            worst_name = t->name;
        }
    }
    print_message("  %-6s %-12s %3u features, largest |z| %.2f (%s)\n", setting, steps[k].name,
                  tested, fabs(worst), worst_name);
    return failed;
}

static void check_setting(const char *setting, const world_prior *prior, unsigned wanted)
{
    static tally tallies[STEPS][MAX_FEATURES];
    static skeleton bones;
    static world w;
    static picture p;
    size_t n = affordable(WORLDS), count = 0;
    uint64_t repeated = 0, faults = 0;
    memset(tallies, 0, sizeof tallies);
    skeleton_make(&bones);
    print_message("setting %s: seed %u, %zu worlds of %d nodes\n", setting, SEED, n, bones.n_nodes);
    for (size_t i = 0; i < n; i++) {
        phl_rng rng;
        feature before[MAX_FEATURES], kept[MAX_FEATURES], after[MAX_FEATURES];
        phl_rng_init(&rng, SEED, PURPOSE, (uint64_t)setting[0], i, 0);
        world_draw(&w, &bones, prior, &rng);
        repeated += w.forest->n_subtrees < (size_t)bones.n_nodes;
        picture_of_world(&p, &w);
        count = picture_features(&p, before);
        phl_gibbs *gibbs = world_gibbs(&w, SEED + i);
        memcpy(kept, before, sizeof kept);
        for (int k = 0; k < STEPS; k++) {
            if ((wanted & 1u << k) == 0) {
                continue;
            }
            phl_rng_init(&rng, SEED, PURPOSE, (uint64_t)setting[0], i, 1 + (uint64_t)k);
            gibbs->iteration = (uint64_t)k;
            world_set_parameters(&w, gibbs);
            world_set_hidden(&w, gibbs, i % 2 == 1);
            if (is_move((step)k)) {
                world_set_base(&w, gibbs);
            }
            apply_step((step)k, gibbs, &rng);
            const char *fault = gibbs_fault(gibbs, w.forest->multiplicity);
            if (fault != NULL && faults++ == 0) {
                print_message("  world %zu after %s: not true that %s\n", i, steps[k].name, fault);
            }
            picture_of_gibbs(&p, &w, gibbs);
            assert_int_equal(picture_features(&p, after), count);
            if (k == FORGET) {
                memcpy(kept, after, sizeof kept);
            }
            const feature *from = is_move((step)k) || k == DRAW_PARAMETERS ? kept : before;
            for (size_t f = 0; f < count; f++) {
                tally *t = &tallies[k][f];
                double difference = after[f].value - from[f].value;
                memcpy(t->name, after[f].name, sizeof t->name);
                t->on = after[f].on;
                difference = fabs(difference) > 1e-12 ? difference : 0.0; /* rounding */
                t->sum += difference;
                t->squares += difference * difference;
                t->moved += difference != 0.0;
            }
        }
        phl_gibbs_free(gibbs);
        world_clear(&w);
    }
    assert_true(repeated > n / 2);
    unsigned failed = 0;
    for (int k = 0; k < STEPS; k++) {
        if (wanted & 1u << k) {
            failed += judge(setting, (step)k, tallies[k], count, n);
        }
    }
    print_message("  %s: %llu states of the sampler were inconsistent, %u features wrong\n",
                  setting, (unsigned long long)faults, failed);
    assert_int_equal(faults, 0);
    assert_int_equal(failed, 0);
}

static void hard(void **state)
{
    (void)state;
    world_prior prior = world_prior_hard(0.4);
    check_setting("hard", &prior, (1u << STEPS) - 1);
}

static void confined(void **state)
{
    (void)state;
    world_prior prior = world_prior_confined(0.4);
    check_setting("confined", &prior, (1u << STEPS) - 1);
}

static void soft(void **state)
{
    (void)state;
    world_prior prior = world_prior_soft(0.4);
    check_setting("soft", &prior, 1u << DRAW_STATES | 1u << DRAW_PARAMETERS | 1u << ITERATION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hard),
        cmocka_unit_test(confined),
        cmocka_unit_test(soft),
    };
    return cmocka_run_group_tests_name("gibbs_invariance", tests, NULL, NULL);
}
