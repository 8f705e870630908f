/* test_plain.c - the sampler of bench/plain*.c, which handles every node by itself, against the
 * library's, which handles distinct subtrees: each is the other's oracle.
 *
 *  - scores: log-likelihood and shape term of random trees under random models, equal but for
 *    rounding;
 *  - paths: without swaps of labels, which the plain one does not have, the two are the same Markov
 *    chain, so figures of the m-th iteration have the same law.
 *    2,000 chains each, from their start, several m; |z| > 5 of a mean fails, by chance with
 *    probability 6e-7 for each of 120; power 1/2 against a shift of 0.16 standard deviations;
 *  - means: posterior means of long chains, errors by the effective sample size; |z| > 4 fails, by
 *    chance with probability 6e-5 for each of 20; with 1,000 effective draws power 1/2 against a
 *    shift of 0.18 standard deviations.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "gibbs/gibbs.h"
#include "models.h"
#include "plain.h"
#include "train/convergence.h"
#include "train/train_options.h"

#define SEED 20250817u
#define PURPOSE 0x706c6e74u /* "plnt" */

/* ---- Trees
 * ------------------------------------------------------------------------------------------- */

/* Trees with gaps, repeated trees, unknown labels; a label goes with the node's slot. */
static phl_forest *random_trees(phl_rng *rng, unsigned trees, unsigned nodes, uint32_t slots,
                                uint32_t labels)
{
    phl_builder *builder = new_builder(false);
    for (unsigned t = 0; t < trees; t++) {
        shape s = random_shape(rng, 1 + random_below(rng, nodes), slots);
        const char *names[MAX_SHAPE];
        for (unsigned u = 0; u < s.size; u++) {
            uint32_t label =
                random_below(rng, 3) > 0 ? s.slot[u] % labels : random_below(rng, labels);
            names[u] = random_below(rng, 12) == 0 ? NULL : letter[label];
        }
        add_tree(builder, &s, names, 1.0 + random_below(rng, 3), "class");
    }
    return finish_forest(builder);
}

/* ---- Scores
 * ------------------------------------------------------------------------------------------- */

static void scores(void **state)
{
    (void)state;
    phl_rng rng;
    phl_rng_init(&rng, SEED, PURPOSE, 0, 0, 0);
    for (int round = 0; round < 200; round++) {
        phl_forest *forest = random_trees(&rng, 20, 12, 4, 3);
        /* Slots beyond those of the model and labels it does not know are met too. */
        uint32_t slots = 2 + random_below(&rng, 3), labels = 1 + random_below(&rng, 3);
        phl_alphabet known = {0};
        for (uint32_t i = 0; i < labels; i++) {
            int32_t number = 0;
            must(phl_alphabet_add(&known, letter[i], 1, &number, error));
        }
        phl_params *params = random_params(&rng, PHL_TF, false, 1 + random_below(&rng, 5), slots,
                                           labels, 3, ROWS_PLAIN);
        prepared p = prepare(forest, &known, params, 1);
        double *log_shape = must_alloc(forest->n_subtrees, sizeof *log_shape);
        plain_trees *trees = plain_trees_create(forest, PHL_NO_CLASS, false, p.label_row, labels);
        plain_upward upward;
        plain_shape form;
        plain_upward_init(&upward, trees->largest, params->states);
        plain_shape_init(&form, slots);
        plain_shape_set(&form, params);
        phl_shape_run(params, forest, log_shape);
        assert_int_equal(trees->n_trees, forest->n_trees);
        for (size_t t = 0; t < trees->n_trees; t++) {
            double found =
                plain_upward_run(&upward, params, trees, trees->first[t], trees->first[t + 1]);
            check_close(found - 1, phl_upward_tree(p.upward, t) - 1, 1e-12); /* may be 0 */
            check_close(plain_shape_score(&form, trees, t),
                        phl_shape_tree(params, forest, log_shape, t), 1e-12);
        }
        plain_shape_clear(&form);
        plain_upward_clear(&upward);
        plain_trees_free(trees);
        phl_free(log_shape);
        unprepare(&p);
        phl_params_free(params);
        phl_alphabet_clear(&known);
        phl_forest_free(forest);
    }
}

/* ---- The two chains
 * -------------------------------------------------------------------------------------- */

enum { FIGURES = 10 };

static const char *const figure_name[FIGURES] = {
    "log-likelihood", "log-joint", "active slots", "sum of k",      "lambda0^2",
    "pi^2",           "b^2",       "core^2",       "absent slot 1", "root a leaf"};

static double squares(const double *values, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += values[i] * values[i];
    }
    return sum;
}

/* Figures that do not depend on the names of states and blocks. */
static void fill_figures(const phl_params *params, const double *log_lambda0, double *figure)
{
    size_t c = params->states;
    figure[4] = 0.0;
    for (size_t j = 0; j < c; j++) {
        figure[4] += exp(2.0 * log_lambda0[j]);
    }
    figure[5] = squares(params->prior, params->slots * c);
    figure[6] = squares(params->emission, ((size_t)params->labels + 1) * c);
    figure[7] = squares(params->core, params->core_rows * c);
    figure[8] = params->shape[0];
    figure[9] = params->root_kind[0];
}

/* The same trees for both, and the same model. */
typedef struct pair {
    const phl_forest *forest;
    prepared p; /* of the library */
    plain_trees *trees;
    phl_train_options options;
    uint32_t labels;
} pair;

static void pair_make(pair *both, const phl_forest *forest, uint32_t states)
{
    both->forest = forest;
    both->labels = (uint32_t)phl_forest_labels(forest);
    phl_train_options_init(&both->options);
    both->options.kind = PHL_TF;
    both->options.states = states;
    both->options.slots_max = 2; /* of three: the confine is met */
    both->options.core_max = 8;
    both->options.phi = 1.0;
    both->options.slot_support = 0.2;
    phl_train_options_resolve(&both->options);
    must(phl_index_create(forest, phl_forest_max_slot(forest), false, &both->p.index, error));
    must(phl_slot_pairs_create(both->p.index, both->options.slot_support, &both->p.pairs, error));
    must(phl_index_map_labels(forest, &forest->labels, &both->p.label_row, error));
    both->trees = plain_trees_create(forest, 0, true, both->p.label_row, both->labels);
}

static void pair_clear(pair *both)
{
    plain_trees_free(both->trees);
    phl_slot_pairs_free(both->p.pairs);
    phl_index_free(both->p.index);
    phl_free(both->p.label_row);
}

/* n iterations of a chain, figures into out [n][FIGURES]. */
static void run_plain(pair *both, uint64_t stream, size_t n, double *out)
{
    both->options.seed = SEED;
    plain_chain *chain = plain_chain_create(both->trees, phl_forest_max_slot(both->forest),
                                            both->labels, &both->options, stream);
    for (size_t i = 0; i < n; i++) {
        double *figure = out + i * FIGURES;
        plain_chain_step(chain);
        figure[0] = chain->log_likelihood;
        figure[1] = chain->log_joint;
        figure[2] = chain->n_active;
        figure[3] = chain->sum_size;
        fill_figures(chain->params, chain->log_lambda0, figure);
    }
    plain_chain_free(chain);
}

static void run_library(pair *both, uint64_t stream, bool swaps, size_t n, double *out)
{
    const phl_train_options *o = &both->options;
    phl_gibbs_options options = {.alpha = o->alpha,
                                 .alpha0 = o->alpha0,
                                 .beta = o->beta,
                                 .gamma = o->gamma,
                                 .delta = o->delta,
                                 .prior = {.phi = o->phi,
                                           .slots_min = o->slots_min,
                                           .slots_max = o->slots_max,
                                           .core_max = o->core_max},
                                 .no_swaps = !swaps,
                                 .seed = SEED,
                                 .stream = stream,
                                 .threads = 1};
    phl_gibbs *gibbs = NULL;
    must(phl_gibbs_create(both->p.pairs, both->p.label_row, o->states, both->labels, NULL, 0,
                          &options, &gibbs, error));
    for (size_t i = 0; i < n; i++) {
        double *figure = out + i * FIGURES;
        must(phl_gibbs_step(gibbs, 1.0, error));
        figure[0] = gibbs->log_likelihood;
        figure[1] = gibbs->log_joint;
        figure[2] = gibbs->partitions->n_active;
        figure[3] = 0.0;
        for (uint32_t e = 0; e < gibbs->partitions->n_eligible; e++) {
            figure[3] += gibbs->partitions->size[e];
        }
        fill_figures(gibbs->params, gibbs->log_lambda0, figure);
    }
    phl_gibbs_free(gibbs);
}

/* ---- Paths
 * ------------------------------------------------------------------------------------------- */

enum { CHAINS = 2000, STEPS = 12, MARKS = 4 };

static const size_t mark[MARKS] = {0, 1, 4, STEPS - 1};

/* Sums over chains of figures and squares at the marks. */
typedef struct path_sums {
    double first[MARKS][FIGURES], second[MARKS][FIGURES];
} path_sums;

static void add_path(path_sums *sums, const double *path)
{
    for (int m = 0; m < MARKS; m++) {
        for (int f = 0; f < FIGURES; f++) {
            double x = path[mark[m] * FIGURES + (size_t)f];
            sums->first[m][f] += x / CHAINS;
            sums->second[m][f] += x * x / CHAINS;
        }
    }
}

static void paths(void **state)
{
    (void)state;
    phl_rng rng;
    phl_rng_init(&rng, SEED, PURPOSE, 1, 0, 0);
    for (uint32_t states = 2; states <= 4; states++) {
        phl_forest *forest = random_trees(&rng, 14, 14, 4, 3);
        pair both = {0};
        path_sums library = {0}, plain = {0};
        double path[STEPS * FIGURES], worst = 0.0;
        pair_make(&both, forest, states);
        for (uint64_t i = 0; i < CHAINS; i++) {
            run_library(&both, i, false, STEPS, path);
            add_path(&library, path);
            run_plain(&both, i, STEPS, path);
            add_path(&plain, path);
        }
        for (int m = 0; m < MARKS; m++) {
            for (int f = 0; f < FIGURES; f++) {
                double a = library.first[m][f], b = plain.first[m][f];
                double variance = library.second[m][f] - a * a + plain.second[m][f] - b * b;
                /* The first log-likelihood is that of the uniform start: no chance in it. */
                double z = variance < 1e-9 ? (a - b) * 1e6 : (a - b) / sqrt(variance / CHAINS);
                worst = fabs(z) > worst ? fabs(z) : worst;
                if (!(fabs(z) < 5.0)) {
                    fail_msg("%u states, iteration %zu, %s: library %.6g, plain %.6g, z %.2f",
                             states, mark[m] + 1, figure_name[f], a, b, z);
                }
            }
        }
        print_message("  %u states, %zu nodes: largest |z| %.2f of %d\n", states,
                      both.trees->n_nodes, worst, MARKS * FIGURES);
        pair_clear(&both);
        phl_forest_free(forest);
    }
}

/* ---- Posterior means
 * ------------------------------------------------------------------------------------- */

enum { LONG_CHAINS = 4, LONG = 7000, WARM = 500, KEPT = LONG - WARM };

/* Mean and its error of a figure over all chains; draws [LONG_CHAINS][LONG][FIGURES]. */
static phl_convergence measure(const double *draws, int figure, double *values)
{
    phl_convergence found;
    for (size_t chain = 0; chain < LONG_CHAINS; chain++) {
        for (size_t i = 0; i < KEPT; i++) {
            values[chain * KEPT + i] = draws[(chain * LONG + WARM + i) * FIGURES + (size_t)figure];
        }
    }
    must(phl_convergence_measure(values, LONG_CHAINS, KEPT, &found, error));
    return found;
}

static void means(void **state)
{
    (void)state;
    size_t n = (size_t)LONG_CHAINS * LONG * FIGURES;
    double *library = must_alloc(n, sizeof *library), *plain = must_alloc(n, sizeof *plain);
    double *values = must_alloc((size_t)LONG_CHAINS * KEPT, sizeof *values);
    phl_rng rng;
    phl_rng_init(&rng, SEED, PURPOSE, 2, 0, 0);
    for (uint32_t states = 2; states <= 3; states++) {
        phl_forest *forest = random_trees(&rng, 20, 16, 4, 3);
        pair both = {0};
        pair_make(&both, forest, states);
        for (size_t chain = 0; chain < LONG_CHAINS; chain++) {
            run_library(&both, chain, true, LONG, library + chain * LONG * FIGURES);
            run_plain(&both, chain, LONG, plain + chain * LONG * FIGURES);
        }
        for (int f = 0; f < FIGURES; f++) {
            phl_convergence a = measure(library, f, values), b = measure(plain, f, values);
            double z = (a.mean - b.mean) / hypot(a.mcse_mean, b.mcse_mean);
            print_message("  %u states, %-14s library %10.4f (sd %.4f, ESS %6.0f), plain %10.4f "
                          "(sd %.4f, ESS %6.0f), z %5.2f\n",
                          states, figure_name[f], a.mean, a.sd, a.ess_mean, b.mean, b.sd,
                          b.ess_mean, z);
            assert_true(a.rhat < 1.05 && b.rhat < 1.05);
            assert_true(fabs(z) < 4.0);
            /* The spread agrees too: 400 independent draws tell it to 7 %. */
            assert_true(a.ess_mean > 400.0 && b.ess_mean > 400.0);
            check_close(a.sd, b.sd, 0.25);
        }
        pair_clear(&both);
        phl_forest_free(forest);
    }
    phl_free(values);
    phl_free(plain);
    phl_free(library);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores),
        cmocka_unit_test(paths),
        cmocka_unit_test(means),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
