/* test_gibbs_sharing.c - hidden states drawn as counts that are divided have the same law whether
 * equal subtrees are shared or not, and the counts always add up.
 *
 *  - sharing: first and second moments of all counts, shared against not shared, and first moments
 *    against the exact expectations; |z| > 5.5 fails, by chance with probability 3.8e-8 for each of
 * some 2,000 moments; with 10,000 draws power 1/2 against a shift of 0.08 standard deviations;
 *  - consistency: gibbs_fault (world.h) after every part of every step on random forests, exact;
 * and the traced figures against their formulas;
 *  - to the bit: any number of threads, weights for repetitions, a chain taken up, a chain looked
 * at;
 *  - tables given counts: moments of 40,000 draws of b and pi against the Dirichlet law, where the
 * forest has no such label or leaf too; |z| > 5.5 fails.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "chains.h"
#include "check.h"
#include "models.h"
#include "train/schedule.h"
#include "world.h"

#define SEED 20250803u
#define PURPOSE 0x73686172u /* "shar" */

/* Occurrences of each distinct subtree, weights counted. */
static int64_t *occurrences(const phl_forest *forest)
{
    int64_t *times = must_alloc(forest->n_subtrees, sizeof *times);
    for (size_t t = 0; t < forest->n_trees; t++) {
        times[forest->tree_root[t]] += (int64_t)phl_tree_weight(forest, t);
    }
    for (size_t s = forest->n_subtrees; s-- > 0;) {
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            times[forest->links[k].child] += times[s];
        }
    }
    return times;
}

/* ---- Sharing on and off
 * ---------------------------------------------------------------------------- */

enum { MOST_FIGURES = 400, SHIFTS = 4 };

typedef struct moments {
    size_t n;
    double sum[MOST_FIGURES], square[MOST_FIGURES];
    double product[SHIFTS][MOST_FIGURES], product_square[SHIFTS][MOST_FIGURES];
} moments;

/* All counts of a chain that do not depend on how subtrees are numbered. */
static size_t figures_of(phl_gibbs *gibbs, phl_rng *rng, double *figure)
{
    const phl_params *params = gibbs->params;
    size_t c = params->states, n = 0;
    for (size_t i = 0; i < params->slots * c; i++) {
        figure[n++] = (double)gibbs->counts.prior[i];
    }
    for (size_t i = 0; i < ((size_t)params->labels + 1) * c; i++) {
        figure[n++] = (double)gibbs->counts.emission[i];
    }
    const int64_t *core = params->soft ? gibbs->counts.core : gibbs->partitions->cells;
    for (size_t i = 0; i < params->core_rows * c; i++) {
        figure[n++] = (double)core[i];
    }
    for (uint32_t a = 0; params->soft && a < params->n_axes; a++) {
        for (size_t i = 0; i < (c + 1) * params->axes[a].size; i++) {
            figure[n++] = (double)gibbs->counts.kappa[a][i];
        }
    }
    for (uint32_t e = 0; !params->soft && e < gibbs->pairs->n_eligible; e++) {
        int64_t joint[MOST_FIGURES];
        assert_true(c * (c + 1) <= MOST_FIGURES);
        open_slot(gibbs, e, rng, joint);
        for (size_t i = 0; i < c * (c + 1); i++) {
            figure[n++] = (double)joint[i];
        }
    }
    assert_true(n <= MOST_FIGURES);
    return n;
}

static void draw_moments(phl_gibbs *gibbs, size_t draws, moments *m)
{
    static const size_t shift[SHIFTS] = {0, 1, 4, 11};
    double figure[MOST_FIGURES];
    phl_rng rng;
    phl_rng_init(&rng, gibbs->options.seed, PURPOSE, 6, 0, 0);
    memset(m, 0, sizeof *m);
    for (size_t i = 0; i < draws; i++) {
        gibbs->iteration = i;
        must(phl_hidden_states_draw(gibbs, error));
        m->n = figures_of(gibbs, &rng, figure);
        for (size_t f = 0; f < m->n; f++) {
            m->sum[f] += figure[f] / (double)draws;
            m->square[f] += figure[f] * figure[f] / (double)draws;
            for (int k = 0; k < SHIFTS; k++) {
                double product = figure[f] * figure[(f + shift[k]) % m->n];
                m->product[k][f] += product / (double)draws;
                m->product_square[k][f] += product * product / (double)draws;
            }
        }
    }
}

/* z of the difference of two means of whole numbers; the second one may be exact.  A whole number
 * whose mean has the fractional part f has at least the variance f (1 - f): this speaks for events
 * so rare that the draws do not show how they vary. */
static double difference(double a, double a_square, double b, double b_square, bool exact,
                         size_t draws)
{
    double mean = exact ? b : (a + b) / 2.0, f = mean - floor(mean);
    double variance = fmax(a_square - a * a, f * (1.0 - f));
    variance += exact ? 0.0 : fmax(b_square - b * b, f * (1.0 - f));
    double off = a - b;
    return fabs(off) < 1e-9 * fmax(1.0, fabs(b)) ? 0.0 : off / sqrt(variance / (double)draws);
}

static double sharing_distance(const moments *on, const moments *off, size_t draws)
{
    double worst = 0.0;
    assert_int_equal(on->n, off->n);
    for (size_t f = 0; f < on->n; f++) {
        double z = difference(on->sum[f], on->square[f], off->sum[f], off->square[f], false, draws);
        worst = fabs(z) > fabs(worst) ? z : worst;
        for (int k = 0; k < SHIFTS; k++) {
            z = difference(on->product[k][f], on->product_square[k][f], off->product[k][f],
                           off->product_square[k][f], false, draws);
            worst = fabs(z) > fabs(worst) ? z : worst;
        }
    }
    return fabs(worst);
}

/* First moments against expected counts: prior, emission, core, axes lie in this order. */
static double expectation_distance(const prepared *p, const moments *m, size_t draws)
{
    const phl_params *params = p->params;
    size_t c = params->states, f = 0;
    double worst = 0.0;
    phl_params *counts = NULL;
    must(phl_params_clone_empty(params, &counts, error));
    must(phl_expected_counts(p->upward, NULL, 1, counts, error));
    const double *tables[3] = {counts->prior, counts->emission, counts->core};
    const size_t lengths[3] = {params->slots * c, ((size_t)params->labels + 1) * c,
                               params->core_rows * c};
    for (uint32_t t = 0; t < 3 + (params->soft ? params->n_axes : 0); t++) {
        const double *exact = t < 3 ? tables[t] : counts->axes[t - 3].matrix;
        size_t length = t < 3 ? lengths[t] : (c + 1) * params->axes[t - 3].size;
        for (size_t i = 0; i < length; i++, f++) {
            double z = difference(m->sum[f], m->square[f], exact[i], 0.0, true, draws);
            worst = fabs(z) > fabs(worst) ? z : worst;
        }
    }
    phl_params_free(counts);
    return fabs(worst);
}

/* Trees of which many are equal; weights up to `weights`. */
static phl_forest *repeating_forest(phl_rng *rng, int kinds, int trees, uint32_t slots,
                                    uint32_t weights)
{
    phl_builder *builder = new_builder(false);
    shape shapes[16];
    const char *labels[16][MAX_SHAPE];
    for (int i = 0; i < kinds; i++) {
        shapes[i] = random_shape(rng, 9, slots);
        for (unsigned u = 0; u < shapes[i].size; u++) {
            uint32_t x = random_below(rng, 4);
            labels[i][u] = x == 3 ? NULL : letter[x];
        }
    }
    /* One tree that fills all slots and shows all labels. */
    shapes[0] = (shape){.size = slots + 1, .slot = {1}};
    for (uint32_t l = 1; l <= slots; l++) {
        shapes[0].slot[l] = l;
        labels[0][l] = letter[l % 3];
    }
    labels[0][0] = NULL;
    for (int t = 0; t < trees; t++) {
        uint32_t i = t == 0 ? 0 : random_below(rng, (uint32_t)kinds);
        add_tree(builder, &shapes[i], labels[i], 1 + random_below(rng, weights), NULL);
    }
    return finish_forest(builder);
}

static void sharing(void **state)
{
    (void)state;
    static moments on, off;
    size_t draws = affordable(10000);
    for (uint64_t i = 0; i < 6; i++) {
        phl_rng rng;
        phl_rng_init(&rng, SEED, PURPOSE, 1, i, 0);
        bool soft = i % 2 == 1;
        phl_forest *shared = repeating_forest(&rng, 6, 24, 3, 1);
        phl_forest *apart = unshared_copy(shared);
        assert_true(shared->n_subtrees * 2 < apart->n_subtrees);
        phl_params *params;
        do {
            params = random_params(&rng, PHL_TF, soft, 2 + (uint32_t)i / 3, 3, 3, 2, ROWS_PLAIN);
            if (params->n_axes == 0) {
                phl_params_free(params);
                params = NULL;
            }
        } while (params == NULL);
        prepared a = prepare(shared, &shared->labels, params, 1);
        prepared b = prepare(apart, &shared->labels, params, 1);
        phl_gibbs *first = chain_of(&a, params, SEED + i);
        phl_gibbs *second = chain_of(&b, params, SEED + 100 + i);
        draw_moments(first, draws, &on);
        draw_moments(second, draws, &off);
        double z = sharing_distance(&on, &off, draws);
        double exact = expectation_distance(&a, &on, draws);
        double exact_apart = expectation_distance(&b, &off, draws);
        print_message(
            "  %s, %zu active: seed %u, %zu of %zu subtrees distinct, %zu figures; largest "
            "|z| shared or not %.2f, against expectations %.2f and %.2f\n",
            soft ? "soft" : "hard", (size_t)params->n_axes, SEED, shared->n_subtrees,
            apart->n_subtrees, on.n, z, exact, exact_apart);
        assert_true(z < 5.5 && exact < 5.5 && exact_apart < 5.5);
        phl_gibbs_free(first);
        phl_gibbs_free(second);
        unprepare(&a);
        unprepare(&b);
        phl_params_free(params);
        phl_forest_free(shared);
        phl_forest_free(apart);
    }
}

/* ---- Counts add up
 * ----------------------------------------------------------------------------------- */

static void must_hold(phl_gibbs *gibbs, const int64_t *times, uint64_t forest, const char *when)
{
    const char *fault = gibbs_fault(gibbs, times);
    phl_error error = {0};
    if (fault != NULL) {
        fail_msg("forest %llu, iteration %llu, %s: not true that %s", (unsigned long long)forest,
                 (unsigned long long)gibbs->iteration, when, fault);
    }
    phl_gibbs_parameters_expand(gibbs);
    if (phl_params_check(gibbs->params, &error) != PHL_OK) {
        fail_msg("forest %llu, iteration %llu, %s: %s", (unsigned long long)forest,
                 (unsigned long long)gibbs->iteration, when, error.message);
    }
    assert_true(isfinite(gibbs->log_likelihood) && isfinite(gibbs->log_joint));
}

/* ---- The traced figures
 * -------------------------------------------------------------------------- */

/* log of the product over rows of B(a + n) / B(a), a symmetric. */
static double dirichlet_rows(const int64_t *counts, size_t rows, size_t row_stride, size_t columns,
                             size_t column_stride, double a)
{
    double sum = 0.0;
    for (size_t r = 0; r < rows; r++) {
        double total = 0.0;
        for (size_t i = 0; i < columns; i++) {
            double n = (double)counts[r * row_stride + i * column_stride];
            sum += lgamma(a + n) - lgamma(a);
            total += n;
        }
        sum += lgamma(a * (double)columns) - lgamma(a * (double)columns + total);
    }
    return sum;
}

/* S(n, k). */
static double stirling(uint32_t n, uint32_t k)
{
    return k == 0 || k > n ? (double)(n == 0 && k == 0)
                           : stirling(n - 1, k - 1) + k * stirling(n - 1, k);
}

/* log p(x, Q, c | lambda0) of the counts a step has left, with the alpha and lambda0 it entered
 * with. */
static double joint_of(const phl_gibbs *gibbs, double alpha, const double *log_lambda0)
{
    const phl_params *params = gibbs->params;
    const phl_gibbs_options *options = &gibbs->options;
    size_t c = params->states;
    double sum =
        dirichlet_rows(gibbs->counts.prior, params->slots, c, c, 1, options->gamma) +
        dirichlet_rows(gibbs->counts.emission, c, 1, (size_t)params->labels + 1, c, options->beta);
    const int64_t *core = params->soft ? gibbs->counts.core : gibbs->partitions->cells;
    for (size_t z = 0; z < params->core_rows; z++) {
        double total = 0.0;
        for (size_t j = 0; j < c; j++) {
            double a = alpha * exp(log_lambda0[j]), n = (double)core[z * c + j];
            sum += n > 0.0 ? lgamma(a + n) - lgamma(a) : 0.0;
            total += n;
        }
        sum += lgamma(alpha) - lgamma(alpha + total);
    }
    for (uint32_t a = 0; params->soft && a < params->n_axes; a++) {
        size_t k = params->axes[a].size;
        sum += dirichlet_rows(gibbs->counts.kappa[a], c + 1, k, k, 1, options->delta / (double)k);
    }
    for (uint32_t e = 0; !params->soft && e < gibbs->pairs->n_eligible; e++) {
        uint32_t k = gibbs->partitions->size[e];
        sum -= options->prior.phi * k + log(stirling((uint32_t)c + 1, k));
    }
    return sum;
}

static void consistency(void **state)
{
    (void)state;
    uint64_t forests = affordable(60);
    print_message("  seed %u, %llu forests, 40 iterations each\n", SEED,
                  (unsigned long long)forests);
    for (uint64_t i = 0; i < forests; i++) {
        phl_rng rng;
        phl_rng_init(&rng, SEED, PURPOSE, 2, i, 0);
        uint32_t states = 1 + random_below(&rng, 4), slots = 1 + random_below(&rng, 4);
        phl_forest *forest =
            repeating_forest(&rng, 4 + (int)random_below(&rng, 8), 10 + (int)random_below(&rng, 60),
                             slots, 1 + random_below(&rng, 3));
        int64_t *times = occurrences(forest);
        uint32_t fixed[4] = {1 + (states > 1), 1, 2, 1};
        const phl_schedule annealing = {.anneal_start = 10.0, .anneal_end = 10};
        double support = 0.05 * random_below(&rng, 3);
        phl_gibbs_options options = {.alpha = 1.0,
                                     .alpha0 = 1.0,
                                     .beta = 1.0,
                                     .gamma = 1.0,
                                     .delta = 1.0,
                                     .prior = {.phi = 0.2,
                                               .slots_min = random_below(&rng, 2),
                                               .slots_max = 1 + random_below(&rng, 4),
                                               .core_max = 8 + random_below(&rng, 100)},
                                     .update_concentration = random_below(&rng, 2) == 1,
                                     .seed = SEED,
                                     .stream = i,
                                     .threads = 1};
        if (i % 5 == 4) {
            options.prior.fixed = fixed;
            support = 0.0;
        }
        phl_index *index = NULL;
        phl_gibbs *gibbs = NULL;
        uint32_t *label_row = NULL;
        phl_slot_pairs *pairs = NULL;
        must(phl_index_create(forest, forest->max_slot, false, &index, error));
        must(phl_slot_pairs_create(index, support, &pairs, error));
        must(phl_index_map_labels(forest, &forest->labels, &label_row, error));
        must(phl_gibbs_create(pairs, label_row, states,
                              (uint32_t)forest->labels.count + random_below(&rng, 3), NULL, 0,
                              &options, &gibbs, error));
        for (int m = 0; m < 40; m++) {
            double temperature = phl_schedule_temperature(&annealing, gibbs->iteration);
            must(phl_hidden_states_draw(gibbs, error));
            must_hold(gibbs, times, i, "states");
            if (!gibbs->params->soft) {
                must(phl_gibbs_draw_partitions(gibbs, temperature, error));
                must_hold(gibbs, times, i, "partitions");
            }
            must(phl_gibbs_parameters_draw(gibbs, gibbs->iteration, error));
            must_hold(gibbs, times, i, "parameters");
            gibbs->iteration++;
            double alpha = gibbs->alpha, log_lambda0[8], likelihood = 0.0;
            memcpy(log_lambda0, gibbs->log_lambda0, states * sizeof *log_lambda0);
            must(phl_upward_run(gibbs->upward, 1, error));
            for (size_t t = 0; t < forest->n_trees; t++) {
                likelihood += phl_tree_weight(forest, t) * phl_upward_tree(gibbs->upward, t);
            }
            temperature = phl_schedule_temperature(&annealing, gibbs->iteration);
            must(phl_gibbs_step(gibbs, temperature, error));
            must_hold(gibbs, times, i, "step");
            check_close(gibbs->log_likelihood, likelihood, 1e-10);
            check_close(gibbs->log_joint, joint_of(gibbs, alpha, log_lambda0), 1e-9);
            if (m == 29) {
                must(phl_gibbs_soften(gibbs, error));
            }
        }
        phl_gibbs_free(gibbs);
        phl_free(label_row);
        phl_slot_pairs_free(pairs);
        phl_index_free(index);
        phl_free(times);
        phl_forest_free(forest);
    }
}

/* ---- Steps to the bit
 * ------------------------------------------------------------------------------ */

typedef struct setup {
    phl_forest *forest;
    phl_index *index;
    phl_slot_pairs *pairs;
    uint32_t *label_row;
    phl_gibbs *gibbs;
} setup;

/* The model has labels and a slot that the trees do not have. */
static setup set_up(phl_forest *forest, double support, const phl_gibbs_options *options,
                    uint32_t states)
{
    setup made = {.forest = forest};
    must(phl_index_create(forest, forest->max_slot + 1, false, &made.index, error));
    must(phl_slot_pairs_create(made.index, support, &made.pairs, error));
    must(phl_index_map_labels(forest, &forest->labels, &made.label_row, error));
    must(phl_gibbs_create(made.pairs, made.label_row, states, (uint32_t)forest->labels.count + 2,
                          NULL, 0, options, &made.gibbs, error));
    return made;
}

static void tear_down(setup *made)
{
    phl_gibbs_free(made->gibbs);
    phl_free(made->label_row);
    phl_slot_pairs_free(made->pairs);
    phl_index_free(made->index);
    phl_forest_free(made->forest);
}

static void assert_same(const phl_gibbs *a, const phl_gibbs *b)
{
    phl_table x, y;
    size_t t = 0;
    for (; phl_params_table(a->params, t, &x); t++) {
        assert_true(phl_params_table(b->params, t, &y));
        assert_int_equal(x.rows, y.rows);
        assert_int_equal(x.columns, y.columns);
        for (size_t r = 0; r < x.rows; r++) {
            for (size_t c = 0; c < x.columns; c++) {
                size_t at = r * x.row_stride + c * x.column_stride;
                assert_memory_equal(&x.data[at], &y.data[at], sizeof(double));
            }
        }
    }
    assert_false(phl_params_table(b->params, t, &y));
    assert_int_equal(a->params->n_axes, b->params->n_axes);
    for (uint32_t i = 0; i < a->params->n_axes; i++) {
        assert_int_equal(a->params->axes[i].slot, b->params->axes[i].slot);
        if (!a->params->soft) {
            assert_memory_equal(a->params->axes[i].block, b->params->axes[i].block,
                                (a->params->states + 1) * sizeof(uint32_t));
        }
    }
    assert_memory_equal(a->log_lambda0, b->log_lambda0, a->params->states * sizeof(double));
    assert_memory_equal(&a->alpha, &b->alpha, sizeof a->alpha);
    assert_memory_equal(&a->alpha0, &b->alpha0, sizeof a->alpha0);
    assert_memory_equal(&a->log_joint, &b->log_joint, sizeof a->log_joint);
    assert_memory_equal(&a->log_likelihood, &b->log_likelihood, sizeof a->log_likelihood);
}

static void step(phl_gibbs *gibbs)
{
    static const phl_schedule annealing = {.anneal_start = 5.0, .anneal_end = 5};
    double temperature = phl_schedule_temperature(&annealing, gibbs->iteration);
    must(phl_gibbs_step(gibbs, temperature, error));
}

static phl_gibbs_options plain_options(void)
{
    phl_gibbs_options options = {.alpha = 1.0,
                                 .alpha0 = 1.0,
                                 .beta = 1.0,
                                 .gamma = 1.0,
                                 .delta = 1.0,
                                 .prior = {.phi = 0.5, .slots_max = 3, .core_max = 1000},
                                 .update_concentration = true,
                                 .seed = SEED,
                                 .threads = 1};
    return options;
}

/* Random trees over eight labels, hardly one like another. */
static phl_forest *varied_forest(phl_rng *rng, int trees, unsigned size)
{
    phl_builder *builder = new_builder(false);
    for (int t = 0; t < trees; t++) {
        shape s = random_shape(rng, size, 3);
        const char *labels[MAX_SHAPE];
        for (unsigned u = 0; u < s.size; u++) {
            labels[u] = letter[random_below(rng, 8)];
        }
        add_tree(builder, &s, labels, 1.0, NULL);
    }
    return finish_forest(builder);
}

static void any_number_of_threads(void **state)
{
    (void)state;
    phl_gibbs_options options = plain_options();
    setup one = {0};
    for (int threads = 1; threads <= 4; threads++) {
        phl_rng rng;
        phl_rng_init(&rng, SEED, PURPOSE, 3, 0, 0);
        options.threads = threads;
        setup made = set_up(varied_forest(&rng, (int)affordable(3000), 16), 0.0, &options, 4);
        for (int i = 0; i < 12; i++) {
            step(made.gibbs);
            if (i == 8) {
                must(phl_gibbs_soften(made.gibbs, error));
            }
        }
        if (threads == 1) {
            print_message("  seed %u, %zu distinct subtrees\n", SEED, made.forest->n_subtrees);
            one = made;
        } else {
            assert_same(one.gibbs, made.gibbs);
            tear_down(&made);
        }
    }
    tear_down(&one);
}

/* A tree of weight w is that tree w times, also where slots are too rare to be active. */
static void weights_are_repetitions(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 10; i++) {
        phl_gibbs_options options = plain_options();
        setup made[2];
        for (int weighted = 0; weighted < 2; weighted++) {
            phl_rng rng;
            phl_rng_init(&rng, SEED, PURPOSE, 4, i, 0);
            phl_builder *builder = new_builder(false);
            for (int t = 0; t < 12; t++) {
                shape s = random_shape(&rng, 6, 3);
                const char *labels[MAX_SHAPE];
                uint32_t weight = 1 + random_below(&rng, 5);
                for (unsigned u = 0; u < s.size; u++) {
                    labels[u] = letter[random_below(&rng, 2)];
                }
                for (uint32_t k = 0; k < (weighted ? 1 : weight); k++) {
                    add_tree(builder, &s, labels, weighted ? weight : 1.0, NULL);
                }
            }
            made[weighted] = set_up(finish_forest(builder), i < 5 ? 0.0 : 0.3, &options, 3);
            for (int k = 0; k < 10; k++) {
                step(made[weighted].gibbs);
            }
        }
        assert_int_equal(made[0].gibbs->pairs->n_eligible, made[1].gibbs->pairs->n_eligible);
        assert_same(made[0].gibbs, made[1].gibbs);
        tear_down(&made[0]);
        tear_down(&made[1]);
    }
}

/* A chain taken up from its parameters goes on as if it had never stopped. */
static void taken_up(void **state)
{
    (void)state;
    for (int stop = 1; stop < 14; stop += 3) {
        phl_gibbs_options options = plain_options();
        setup made[2];
        for (int k = 0; k < 2; k++) {
            phl_rng rng;
            phl_rng_init(&rng, SEED, PURPOSE, 5, 0, 0);
            made[k] = set_up(varied_forest(&rng, 30, 9), 0.0, &options, 3);
        }
        for (int i = 0; i < 16; i++) {
            if (i >= 9) { /* does nothing the second time */
                must(phl_gibbs_soften(made[0].gibbs, error));
            }
            if (i == stop) {
                const phl_gibbs *from = made[0].gibbs;
                phl_chain_state at = {.params = from->params,
                                      .log_lambda0 = from->log_lambda0,
                                      .alpha = from->alpha,
                                      .alpha0 = from->alpha0,
                                      .iteration = from->iteration};
                must(phl_gibbs_restore(made[1].gibbs, &at, error));
            }
            if (i >= 9 && i >= stop) { /* with no slot active too it fixes the partitions */
                must(phl_gibbs_soften(made[1].gibbs, error));
            }
            step(made[0].gibbs);
            if (i >= stop) {
                step(made[1].gibbs);
                assert_same(made[0].gibbs, made[1].gibbs);
            }
        }
        tear_down(&made[0]);
        tear_down(&made[1]);
    }
}

/* Looking at the parameters, which fills in those that no step needs, or at the likelihood does not
 * change the chain, and looking again does not change them. */
static void looked_at(void **state)
{
    (void)state;
    phl_gibbs_options options = plain_options();
    setup made[2];
    for (int k = 0; k < 2; k++) {
        phl_rng rng;
        phl_rng_init(&rng, SEED, PURPOSE, 8, 0, 0);
        made[k] = set_up(varied_forest(&rng, 30, 9), 0.0, &options, 3);
    }
    const phl_params *params = made[0].gibbs->params;
    for (int i = 0; i < 12; i++) {
        for (int k = 0; k < 2; k++) {
            if (i == 8) {
                must(phl_gibbs_soften(made[k].gibbs, error));
            }
            step(made[k].gibbs);
        }
        const double *label = params->emission + (size_t)params->labels * params->states;
        double before = *label;
        phl_gibbs_parameters_expand(made[0].gibbs);
        double after = *label;
        assert_true(after != before);
        phl_gibbs_parameters_expand(made[0].gibbs);
        assert_memory_equal(label, &after, sizeof *label);
        must_hold(made[0].gibbs, made[0].forest->multiplicity, 0, "a look");
        if (i % 3 == 2) {
            phl_gibbs_parameters_expand(made[1].gibbs);
            assert_same(made[0].gibbs, made[1].gibbs);
        }
        double likelihood;
        must(phl_gibbs_likelihood(made[0].gibbs, &likelihood, error));
        for (int k = 0; k < 2 && i % 4 == 1; k++) { /* others, which the look has not seen */
            made[k].gibbs->iteration++;
            must(phl_gibbs_parameters_draw(made[k].gibbs, made[k].gibbs->iteration, error));
        }
    }
    tear_down(&made[0]);
    tear_down(&made[1]);
}

/* ---- Tables given counts
 * ------------------------------------------------------------------------------- */

/* Largest |z| of first and second moments of draws of a row from Dir(a + counts), strides apart.
 * `alike` entries without counts at its end are the same in every draw: shares of one component. */
static double dirichlet_distance(const double *sum, const double *square, const double *fourth,
                                 const int64_t *counts, size_t n, size_t stride, double a,
                                 size_t alike, double draws)
{
    double total = 0.0, worst = 0.0;
    for (size_t i = 0; i < n; i++) {
        total += a + (double)counts[i * stride];
    }
    for (size_t i = 0; i < n; i++) {
        double share = i < n - alike ? 1.0 : (double)alike;
        double own = share * a + (double)counts[i * stride], mean = own / total / share;
        double second = mean * (own + 1.0) / (total + 1.0) / share;
        double m1 = sum[i * stride] / draws, m2 = square[i * stride] / draws;
        double variance = fourth[i * stride] / draws - m2 * m2;
        worst = fmax(worst, fabs(m1 - mean) / sqrt((second - mean * mean) / draws));
        worst = fmax(worst, fabs(m2 - second) / sqrt(variance / draws));
    }
    return worst;
}

/* b and pi given counts; labels that the forest does not have share what is left to them, and slots
 * without leaves are flat. */
static void tables_given_counts(void **state)
{
    (void)state;
    enum { STATES = 2, SLOTS = 4, LABELS = 6, ROWS = LABELS + 1 };
    const shape tree = {.size = 3, .slot = {1, 1, 3}};
    const char *const names[] = {letter[0], letter[1], letter[0]};
    phl_rng rng;
    phl_rng_init(&rng, SEED, PURPOSE, 9, 0, 0);
    phl_builder *builder = new_builder(false);
    add_tree(builder, &tree, names, 4.0, NULL);
    phl_forest *forest = finish_forest(builder);
    phl_params *params = NULL;
    must(phl_params_create(PHL_TF, STATES, SLOTS, LABELS, NULL, 0, 0, &params, error));
    random_tables(&rng, ROWS_PLAIN, params);
    prepared p = prepare(forest, &forest->labels, params, 1);
    phl_gibbs *gibbs = chain_of(&p, params, SEED);
    gibbs->options.beta = 0.4;
    gibbs->options.gamma = 0.7;
    must(phl_hidden_states_draw(gibbs, error));
    double label[3][ROWS * STATES] = {{0.0}}, leaf[3][SLOTS * STATES] = {{0.0}};
    size_t draws = affordable(40000);
    for (size_t i = 0; i < draws; i++) {
        gibbs->iteration = i;
        must(phl_gibbs_parameters_draw(gibbs, gibbs->iteration, error));
        phl_gibbs_parameters_expand(gibbs);
        for (size_t k = 0; k < ROWS * STATES; k++) {
            double b = gibbs->params->emission[k];
            label[0][k] += b;
            label[1][k] += b * b;
            label[2][k] += b * b * b * b;
        }
        for (size_t k = 0; k < SLOTS * STATES; k++) {
            double pi = gibbs->params->prior[k];
            leaf[0][k] += pi;
            leaf[1][k] += pi * pi;
            leaf[2][k] += pi * pi * pi * pi;
        }
    }
    double worst = 0.0;
    for (size_t j = 0; j < STATES; j++) {
        worst = fmax(worst, dirichlet_distance(label[0] + j, label[1] + j, label[2] + j,
                                               gibbs->counts.emission + j, ROWS, STATES, 0.4,
                                               ROWS - 2, (double)draws));
    }
    for (size_t l = 0; l < SLOTS; l++) {
        size_t at = l * STATES;
        if (gibbs->has_leaf[l] == 0) {
            for (size_t j = 0; j < STATES; j++) {
                assert_true(gibbs->params->prior[at + j] == 1.0 / STATES);
            }
            continue;
        }
        worst = fmax(worst, dirichlet_distance(leaf[0] + at, leaf[1] + at, leaf[2] + at,
                                               gibbs->counts.prior + at, STATES, 1, 0.7, 0,
                                               (double)draws));
    }
    print_message("  seed %u, %zu draws; largest |z| %.2f\n", SEED, draws, worst);
    assert_true(worst < 5.5);
    phl_gibbs_free(gibbs);
    unprepare(&p);
    phl_params_free(params);
    phl_forest_free(forest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sharing),
        cmocka_unit_test(consistency),
        cmocka_unit_test(any_number_of_threads),
        cmocka_unit_test(weights_are_repetitions),
        cmocka_unit_test(taken_up),
        cmocka_unit_test(looked_at),
        cmocka_unit_test(tables_given_counts),
    };
    return cmocka_run_group_tests_name("gibbs_sharing", tests, NULL, NULL);
}
