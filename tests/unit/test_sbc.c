/* test_sbc.c - simulation-based calibration of the blocked sampler (a long test).
 *
 * N worlds are drawn from the prior; a chain is run on the labels of each, from its own start and
 * with annealing in the warm-up, and 63 draws are kept, thinned.  For every feature of world.h and
 * for the log-likelihood the rank of the world's own value among the draws, ties broken at random,
 * is uniform on 0 .. 63 if the chain has the posterior as its law and has mixed.  Ranks are judged
 * by chi-square over 16 bins and by the mean rank.
 *
 * With N = 1,000 each fails by chance with probability 1e-6, so 3e-4 for all with fresh seeds; with
 * power 1/2 the chi-square sees bins off by 25 % (root mean square), the mean a shift of 0.15
 * standard deviations of the posterior.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "models.h"
#include "train/schedule.h"
#include "world.h"

#define SEED 20250804u
#define PURPOSE 0x73626373u /* "sbcs" */
#define CHANCE 1e-6

enum { DRAWS = 63, THIN = 20, WARM_UP = 300, BINS = 16 };

typedef struct ranks {
    char name[40];
    bool varies;
    int64_t bin[BINS];
    double sum;
} ranks;

/* log p(labels) of the parameters a chain has now. */
static double log_likelihood(phl_gibbs *gibbs)
{
    double sum = 0.0;
    must(phl_upward_run(gibbs->upward, 1, error));
    for (size_t t = 0; t < gibbs->index->forest->n_trees; t++) {
        sum += phl_upward_tree(gibbs->upward, t);
    }
    return sum;
}

static size_t describe(const world *w, const picture *p, double log_likelihood, feature *features)
{
    (void)w;
    size_t n = picture_features(p, features);
    (void)snprintf(features[n].name, sizeof features[n].name, "log-likelihood");
    features[n].on = UINT32_MAX;
    features[n].value = log_likelihood;
    return n + 1;
}

/* One world: add the ranks of its features. */
static size_t simulate(const skeleton *bones, const world_prior *prior, uint64_t number, ranks *all)
{
    static world w;
    static picture p;
    static int64_t below[MAX_FEATURES], equal[MAX_FEATURES];
    feature truth[MAX_FEATURES], draw[MAX_FEATURES];
    phl_rng rng;
    phl_rng_init(&rng, SEED, PURPOSE, prior->soft, number, 0);
    world_draw(&w, bones, prior, &rng);
    phl_gibbs *gibbs = world_gibbs(&w, SEED + number);
    world_set_parameters(&w, gibbs);
    picture_of_world(&p, &w);
    size_t n = describe(&w, &p, log_likelihood(gibbs), truth);
    phl_gibbs_free(gibbs);

    gibbs = world_gibbs(&w, SEED + number);
    world_set_shape_counts(&w, gibbs);
    const phl_schedule annealing = {.anneal_start = 5.0, .anneal_end = WARM_UP / 2};
    memset(below, 0, sizeof below);
    memset(equal, 0, sizeof equal);
    for (int i = 0; i < WARM_UP; i++) {
        double temperature = phl_schedule_temperature(&annealing, gibbs->iteration);
        must(phl_gibbs_step(gibbs, temperature, error));
    }
    for (int d = 0; d < DRAWS; d++) {
        for (int i = 0; i < THIN; i++) {
            must(phl_gibbs_step(gibbs, 1.0, error));
        }
        picture_of_gibbs(&p, &w, gibbs);
        picture_deal(&p, gibbs->state_counts, &rng);
        assert_int_equal(describe(&w, &p, log_likelihood(gibbs), draw), n);
        for (size_t f = 0; f < n; f++) {
            double off = draw[f].value - truth[f].value;
            bool tie = fabs(off) <= 1e-9 * fmax(1.0, fabs(truth[f].value));
            equal[f] += tie;
            below[f] += !tie && off < 0.0;
        }
    }
    for (size_t f = 0; f < n; f++) {
        int64_t rank = below[f] + (int64_t)phl_rng_bounded(&rng, (uint64_t)equal[f] + 1);
        memcpy(all[f].name, truth[f].name, sizeof all[f].name);
        all[f].varies = all[f].varies || equal[f] < DRAWS;
        all[f].bin[rank * BINS / (DRAWS + 1)]++;
        all[f].sum += (double)rank;
    }
    phl_gibbs_free(gibbs);
    world_clear(&w);
    return n;
}

static void calibrate(const char *name, const world_prior *prior)
{
    static ranks all[MAX_FEATURES];
    static skeleton bones;
    const char *asked = getenv("SBC_SIMULATIONS");
    uint64_t simulations = affordable(asked != NULL ? strtoul(asked, NULL, 10) : 1000);
    size_t n = 0, failed = 0;
    double least = 1.0, largest = 0.0;
    memset(all, 0, sizeof all);
    skeleton_make(&bones);
    print_message("%s: seed %u, %llu simulations, %d draws each, every %dth iteration after %d\n",
                  name, SEED, (unsigned long long)simulations, DRAWS, THIN, WARM_UP);
    for (uint64_t i = 0; i < simulations; i++) {
        n = simulate(&bones, prior, i, all);
    }
    for (size_t f = 0; f < n; f++) {
        double sum = 0.0, expected = (double)simulations / BINS;
        double sd = sqrt(((DRAWS + 1.0) * (DRAWS + 1.0) - 1.0) / 12.0 / (double)simulations);
        double z = (all[f].sum / (double)simulations - DRAWS / 2.0) / sd;
        for (int b = 0; b < BINS; b++) {
            double off = (double)all[f].bin[b] - expected;
            sum += off * off / expected;
        }
        double chance = check_gamma_tail((BINS - 1) / 2.0, log(sum / 2.0));
        bool bad = chance < CHANCE || 2.0 * check_normal_cdf(-fabs(z)) < CHANCE || !all[f].varies;
        if (bad || chance < 1e-3) {
            print_message("  %s: chi-square %.1f, chance %.2g, mean rank z = %.2f%s:", all[f].name,
                          sum, chance, z, bad ? ", WRONG" : "");
            for (int b = 0; b < BINS; b++) {
                print_message(" %lld", (long long)all[f].bin[b]);
            }
            print_message("\n");
        }
        failed += bad;
        least = chance < least ? chance : least;
        largest = fabs(z) > largest ? fabs(z) : largest;
    }
    print_message("  %zu quantities, smallest chance %.2g, largest |z| of a mean rank %.2f\n", n,
                  least, largest);
    assert_int_equal(failed, 0);
}

static void hard(void **state)
{
    (void)state;
    world_prior prior = world_prior_confined(0.8);
    calibrate("hard", &prior);
}

static void soft(void **state)
{
    (void)state;
    world_prior prior = world_prior_soft(0.8);
    calibrate("soft", &prior);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hard),
        cmocka_unit_test(soft),
    };
    return cmocka_run_group_tests_name("sbc", tests, NULL, NULL);
}
