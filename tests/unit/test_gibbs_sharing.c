/* test_gibbs_sharing.c - hidden states drawn by count splitting have the law of states drawn node
 * by node, whether equal subtrees are shared or not, and the counts always add up.
 *
 *  - exact law: the counts drawn for a small forest with repeated trees against all states of its
 * nodes, listed: chi-square with 400,000 draws a model, failing by chance with probability 1e-6;
 * with 500 degrees of freedom it has power 1/2 against probabilities off by 1.6 % (root mean
 * square, relative); who has which child is dealt slot by slot by opening it.  The same for up to
 * 30 occurrences of one tree of two nodes, whose joint states are multinomial;
 *  - sharing: first and second moments of all counts, shared against not shared, and first moments
 *    against the exact expectations; |z| > 5.5 fails, by chance with probability 3.8e-8 for each of
 * some 2,000 moments; with 10,000 draws power 1/2 against a shift of 0.08 standard deviations;
 *  - consistency: gibbs_fault (world.h) after every part of every step on random forests, exact;
 * and the traced figures against their formulas;
 *  - to the bit: any number of threads, weights for repetitions, a chain taken up, a chain looked
 * at.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "models.h"
#include "world.h"

#define SEED 20250803u
#define PURPOSE 0x73686172u /* "shar" */

/* A chain with the parameters given. */
static phl_gibbs *chain_of(const prepared *p, const phl_params *params, uint64_t seed)
{
    phl_gibbs_options options = {
        .alpha = 1.0,
        .alpha0 = 1.0,
        .beta = 1.0,
        .gamma = 1.0,
        .delta = 1.0,
        .prior = {.phi = 1.0, .slots_max = params->n_modes > 0 ? 3 : 0, .core_max = 1000},
        .anneal_start = 1.0,
        .seed = seed,
        .threads = 1};
    phl_mode *modes = must_alloc(params->n_modes, sizeof *modes);
    uint32_t *block = must_alloc((size_t)params->n_modes * (params->states + 1), sizeof *block);
    for (uint32_t a = 0; a < params->n_modes; a++) {
        modes[a].slot = params->modes[a].slot;
        modes[a].size = params->modes[a].size;
        modes[a].block = block + (size_t)a * (params->states + 1);
        for (uint32_t q = 0; q <= params->states; q++) {
            modes[a].block[q] = params->soft ? q % modes[a].size : params->modes[a].block[q];
        }
    }
    phl_gibbs *gibbs = NULL;
    must(phl_gibbs_create(p->index, p->label_row, params->states, params->labels, modes,
                          params->n_modes, &options, &gibbs, error));
    if (params->soft) {
        must(phl_gibbs_soften(gibbs, error));
    }
    phl_table from, to;
    for (size_t t = 0; phl_params_table(params, t, &from); t++) {
        assert_true(phl_params_table(gibbs->params, t, &to));
        for (size_t r = 0; r < from.rows; r++) {
            for (size_t c = 0; c < from.columns; c++) {
                size_t at = r * from.row_stride + c * from.column_stride;
                to.data[at] = from.data[at];
            }
        }
    }
    phl_params_complete(gibbs->params);
    phl_free(block);
    phl_free(modes);
    return gibbs;
}

/* How many nodes in state j have value q in eligible slot e, out[j][q]: dealt by opening the slot.
 */
static void open_slot(phl_gibbs *gibbs, uint32_t e, phl_rng *rng, int64_t *out)
{
    const phl_slot_view *view = &gibbs->partitions->view;
    size_t values = (size_t)gibbs->rows->states + 1;
    memset(out, 0, (values - 1) * values * sizeof *out);
    must(phl_partitions_open(gibbs->partitions, e, rng, error));
    for (size_t t = 0; t < view->n_tables; t++) {
        for (uint32_t i = 0; i < view->tables[t].n_parts; i++) {
            const phl_slot_part *part = &view->parts[view->tables[t].first_part + i];
            out[part->state * values + view->tables[t].value] += part->n;
        }
    }
    must(phl_partitions_close(gibbs->partitions, rng, error));
}

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

/* ---- The exact law
 * ------------------------------------------------------------------------------- */

enum { TINY_NODES = 13, TINY_SLOTS = 3, TINY_STATES = 2, TINY_TREES = 5 };

/* (a (b) (c)) three times, (b (b) _ (c)), (c). */
static const int tiny_parent[TINY_NODES] = {-1, 0, 0, -1, 3, 3, -1, 6, 6, -1, 9, 9, -1};
static const uint32_t tiny_slot[TINY_NODES] = {1, 1, 2, 1, 1, 2, 1, 1, 2, 1, 1, 3, 1};
static const int tiny_label[TINY_NODES] = {0, 1, 2, 0, 1, 2, 0, 1, 2, 1, 1, 2, 2};

typedef struct key {
    int64_t state[6][TINY_STATES], cells[16][TINY_STATES];
    int64_t pair[TINY_SLOTS][TINY_STATES][TINY_STATES + 1];
} key;

typedef struct key_table {
    size_t n;
    uint64_t hash[8192];
    double probability[8192];
    int64_t observed[8192];
} key_table;

static uint64_t hash_key(const key *k)
{
    uint64_t hash = 14695981039346656037u;
    const unsigned char *at = (const unsigned char *)k;
    for (size_t i = 0; i < sizeof *k; i++) {
        hash = (hash ^ at[i]) * 1099511628211u;
    }
    return hash;
}

static size_t find_key(const key_table *table, uint64_t hash)
{
    size_t i = 0;
    while (i < table->n && table->hash[i] != hash) {
        i++;
    }
    return i;
}

/* All states of all nodes, by what the sampler would count. */
static void list_states(const phl_params *params, const phl_forest *forest, key_table *table)
{
    uint32_t subtree[TINY_NODES];
    int child[TINY_NODES][TINY_SLOTS];
    for (int u = 0, tree = 0; u < TINY_NODES; u++) {
        for (int e = 0; e < TINY_SLOTS; e++) {
            child[u][e] = -1;
        }
        if (tiny_parent[u] < 0) {
            subtree[u] = forest->tree_root[tree++];
            continue;
        }
        uint32_t above = subtree[tiny_parent[u]];
        child[tiny_parent[u]][tiny_slot[u] - 1] = u;
        for (uint64_t k = forest->first_link[above]; k < forest->first_link[above + 1]; k++) {
            subtree[u] =
                forest->links[k].slot == tiny_slot[u] ? forest->links[k].child : subtree[u];
        }
    }
    double all = 0.0;
    for (uint32_t code = 0; code < 1u << TINY_NODES; code++) {
        key k;
        double p = 1.0;
        memset(&k, 0, sizeof k);
        for (int u = 0; u < TINY_NODES; u++) {
            uint32_t j = code >> u & 1, cell = 0, leaf = 1;
            k.state[subtree[u]][j]++;
            p *= params->emission[tiny_label[u] * TINY_STATES + (int)j];
            for (int e = 0; e < TINY_SLOTS; e++) {
                leaf = child[u][e] >= 0 ? 0 : leaf;
            }
            for (uint32_t a = 0; a < params->n_modes; a++) {
                int at = child[u][params->modes[a].slot - 1];
                uint32_t value = at < 0 ? TINY_STATES : code >> at & 1;
                cell = cell * params->modes[a].size + params->modes[a].block[value];
            }
            if (leaf) {
                p *= params->prior[(tiny_slot[u] - 1) * TINY_STATES + j];
                continue;
            }
            p *= params->core[cell * TINY_STATES + j];
            k.cells[cell][j]++;
            for (int e = 0; e < TINY_SLOTS; e++) {
                k.pair[e][j][child[u][e] < 0 ? TINY_STATES : (int)(code >> child[u][e] & 1)]++;
            }
        }
        uint64_t hash = hash_key(&k);
        size_t i = find_key(table, hash);
        table->hash[i] = hash;
        table->probability[i] += p;
        table->n += i == table->n;
        all += p;
    }
    for (size_t i = 0; i < table->n; i++) {
        table->probability[i] /= all;
    }
}

static void exact_law(void **state)
{
    (void)state;
    static key_table table;
    phl_rng rng;
    phl_rng_init(&rng, SEED, PURPOSE, 0, 0, 0);
    phl_builder *builder = new_builder(false);
    for (int first = 0, end; first < TINY_NODES; first = end) {
        for (end = first + 1; end < TINY_NODES && tiny_parent[end] >= 0;) {
            end++;
        }
        shape s = {.size = (unsigned)(end - first)};
        const char *labels[MAX_SHAPE];
        for (int u = first; u < end; u++) {
            s.parent[u - first] = u == first ? 0 : (unsigned)(tiny_parent[u] - first);
            s.slot[u - first] = tiny_slot[u];
            labels[u - first] = letter[tiny_label[u]];
        }
        add_tree(builder, &s, labels, 1.0, NULL);
    }
    phl_forest *forest = finish_forest(builder);
    assert_int_equal(forest->n_trees, TINY_TREES);
    assert_int_equal(forest->n_subtrees, 6);
    for (int round = 0; round < 2; round++) {
        /* Slots 1 and 2 active, or 2 and 3. */
        uint32_t block[2][TINY_STATES + 1] = {{0, 1, round == 0 ? 0 : 1}, {1, 0, 2}};
        phl_mode modes[2] = {{.slot = round == 0 ? 1 : 2, .size = 2, .block = block[0]},
                             {.slot = round == 0 ? 2 : 3, .size = 3, .block = block[1]}};
        phl_params *params = NULL;
        must(phl_params_create(PHL_TF, TINY_STATES, TINY_SLOTS, 3, modes, 2, 0, &params, error));
        random_tables(&rng, ROWS_PLAIN, params);
        prepared p = prepare(forest, &forest->labels, params, 1);
        phl_gibbs *gibbs = chain_of(&p, params, SEED);
        memset(&table, 0, sizeof table);
        list_states(params, forest, &table);
        int64_t draws = (int64_t)affordable(400000);
        for (int64_t i = 0; i < draws; i++) {
            key k;
            memset(&k, 0, sizeof k);
            gibbs->iteration = (uint64_t)i;
            must(phl_gibbs_draw_states(gibbs, error));
            memcpy(k.state, gibbs->counts.state, sizeof k.state);
            memcpy(k.cells, gibbs->partitions->cells,
                   gibbs->partitions->n_cells * sizeof k.cells[0]);
            for (uint32_t e = 0; e < TINY_SLOTS; e++) {
                open_slot(gibbs, e, &rng, k.pair[e][0]);
            }
            size_t at = find_key(&table, hash_key(&k));
            assert_true(at < table.n);
            table.observed[at]++;
        }
        double sum = 0.0, pooled = 0.0, seen = 0.0, freedom = 0.0;
        for (size_t i = 0; i < table.n; i++) {
            double expected = table.probability[i] * (double)draws;
            double off = (double)table.observed[i] - expected;
            if (expected >= 10.0) {
                sum += off * off / expected;
                freedom += 1.0;
            } else {
                pooled += expected;
                seen += (double)table.observed[i];
            }
        }
        sum += pooled >= 10.0 ? (seen - pooled) * (seen - pooled) / pooled : 0.0;
        freedom -= pooled >= 10.0 ? 0.0 : 1.0;
        double chance = check_gamma_tail(freedom / 2.0, log(sum / 2.0));
        print_message("  exact law %d: seed %u, %zu outcomes, %lld draws, chi-square %.1f / %.0f, "
                      "chance %.2g\n",
                      round + 1, SEED, table.n, (long long)draws, sum, freedom, chance);
        assert_true(chance > 1e-6);
        phl_gibbs_free(gibbs);
        unprepare(&p);
        phl_params_free(params);
    }
    phl_forest_free(forest);
}

/* ---- Many occurrences
 * ------------------------------------------------------------------------------ */

enum { MOST_JOINT = 9, MOST_CODES = 1 << 19 };

/* Occurrences of the tree (a (b)), and its model: in `skewed` ones one state outdoes the others. */
typedef struct crowd {
    uint32_t states;
    int64_t n;
    bool active, skewed;
} crowd;

static phl_params *crowd_params(const crowd *of, phl_rng *rng)
{
    uint32_t block[4];
    phl_mode mode = {.slot = 1, .size = 2, .block = block};
    phl_params *params = NULL;
    for (uint32_t q = 0; q <= of->states; q++) {
        block[q] = q + 1 >= of->states; /* {0, ..}, {the last, empty} */
    }
    must(phl_params_create(PHL_TF, of->states, 1, 2, &mode, of->active, 0, &params, error));
    random_tables(rng, ROWS_PLAIN, params);
    for (size_t i = 0; of->skewed && i < params->core_rows; i++) {
        for (size_t j = 0; j < of->states; j++) {
            params->core[i * of->states + j] *= 0.1;
            params->core[i * of->states + j] += j == i % of->states ? 0.9 : 0.0;
        }
    }
    for (size_t j = 0; of->skewed && j < of->states; j++) {
        params->prior[j] *= 0.1;
        params->prior[j] += j == 1 ? 0.9 : 0.0;
    }
    phl_params_complete(params);
    return params;
}

/* The multinomial law of how many have parent state j and child state q, by code: counts of all
 * outcomes but the last, in base n + 1.  How many codes there are. */
static size_t list_crowds(const crowd *of, const phl_params *params, double *law)
{
    size_t c = of->states, outcomes = c * c, codes = 1;
    double p[MOST_JOINT], sum = 0.0, all = 0.0;
    for (size_t i = 0; i < outcomes; i++) {
        size_t j = i / c, q = i % c;
        size_t cell = of->active ? params->modes[0].block[q] : 0;
        p[i] = params->core[cell * c + j] * params->emission[j] * params->prior[q] *
               params->emission[c + q]; /* label a at the parent, b at the child */
        sum += p[i];
        codes *= i > 0 ? (size_t)of->n + 1 : 1;
    }
    assert_true(codes <= MOST_CODES);
    for (size_t code = 0; code < codes; code++) {
        size_t rest = code;
        double log_p = lgamma((double)of->n + 1.0), left = (double)of->n;
        for (size_t i = outcomes; i-- > 0;) { /* the last outcome gets what is left */
            double count = i > 0 ? (double)(rest % ((size_t)of->n + 1)) : left;
            rest /= (size_t)of->n + 1;
            left -= count;
            log_p += count * log(p[i] / sum) - lgamma(fmax(count, 0.0) + 1.0);
            log_p = count < 0.0 ? -INFINITY : log_p;
        }
        law[code] = exp(log_p);
        all += law[code];
    }
    check_close(all, 1.0, 1e-9);
    return codes;
}

static void many_occurrences(void **state)
{
    (void)state;
    static double law[MOST_CODES];
    static int64_t observed[MOST_CODES];
    const crowd crowds[] = {{2, 12, true, false}, {2, 12, true, true},  {2, 30, true, false},
                            {2, 30, true, true},  {3, 4, true, false},  {3, 4, true, true},
                            {2, 12, false, true}, {2, 30, false, false}};
    for (size_t k = 0; k < sizeof crowds / sizeof *crowds; k++) {
        const crowd *of = &crowds[k];
        size_t c = of->states;
        phl_rng rng;
        phl_rng_init(&rng, SEED, PURPOSE, 7, k, 0);
        phl_builder *builder = new_builder(false);
        const shape tree = {.size = 2, .slot = {1, 1}};
        const char *const labels[] = {letter[0], letter[1]};
        add_tree(builder, &tree, labels, (double)of->n, NULL);
        phl_forest *forest = finish_forest(builder);
        phl_params *params = crowd_params(of, &rng);
        prepared p = prepare(forest, &forest->labels, params, 1);
        phl_gibbs *gibbs = chain_of(&p, params, SEED + k);
        assert_int_equal(gibbs->params->n_modes, of->active);
        size_t codes = list_crowds(of, params, law), draws = affordable(200000);
        memset(observed, 0, sizeof observed);
        for (size_t i = 0; i < draws; i++) {
            int64_t joint[3 * 4];
            size_t code = 0;
            gibbs->iteration = i;
            must(phl_gibbs_draw_states(gibbs, error));
            open_slot(gibbs, 0, &rng, joint);
            for (size_t j = 1; j < c * c; j++) {
                code = code * ((size_t)of->n + 1) + (size_t)joint[j / c * (c + 1) + j % c];
            }
            assert_true(law[code] > 0.0);
            observed[code]++;
        }
        double sum = 0.0, pooled = 0.0, seen = 0.0, freedom = -1.0;
        for (size_t i = 0; i < codes; i++) {
            double expected = law[i] * (double)draws, off = (double)observed[i] - expected;
            if (expected >= 10.0) {
                sum += off * off / expected;
                freedom += 1.0;
            } else {
                pooled += expected;
                seen += (double)observed[i];
            }
        }
        sum += pooled >= 10.0 ? (seen - pooled) * (seen - pooled) / pooled : 0.0;
        freedom += pooled >= 10.0;
        double chance = check_gamma_tail(freedom / 2.0, log(sum / 2.0));
        print_message("  %lld occurrences, C = %zu, %s, %s: seed %u, %zu draws, chi-square %.1f / "
                      "%.0f, chance %.2g\n",
                      (long long)of->n, c, of->active ? "active" : "not active",
                      of->skewed ? "skewed" : "even", SEED, draws, sum, freedom, chance);
        assert_true(chance > 1e-6);
        phl_gibbs_free(gibbs);
        unprepare(&p);
        phl_params_free(params);
        phl_forest_free(forest);
    }
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
    for (uint32_t a = 0; params->soft && a < params->n_modes; a++) {
        for (size_t i = 0; i < (c + 1) * params->modes[a].size; i++) {
            figure[n++] = (double)gibbs->counts.mode[a][i];
        }
    }
    for (uint32_t e = 0; !params->soft && e < gibbs->rows->n_eligible; e++) {
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
        must(phl_gibbs_draw_states(gibbs, error));
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

/* First moments against expected counts: prior, emission, core, modes lie in this order. */
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
    for (uint32_t t = 0; t < 3 + (params->soft ? params->n_modes : 0); t++) {
        const double *exact = t < 3 ? tables[t] : counts->modes[t - 3].matrix;
        size_t length = t < 3 ? lengths[t] : (c + 1) * params->modes[t - 3].size;
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
            if (params->n_modes == 0) {
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
            soft ? "soft" : "hard", (size_t)params->n_modes, SEED, shared->n_subtrees,
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

static void must_hold(const phl_gibbs *gibbs, const int64_t *times, uint64_t forest,
                      const char *when)
{
    const char *fault = gibbs_fault(gibbs, times);
    phl_error error = {0};
    if (fault != NULL) {
        fail_msg("forest %llu, iteration %llu, %s: not true that %s", (unsigned long long)forest,
                 (unsigned long long)gibbs->iteration, when, fault);
    }
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
    for (uint32_t a = 0; params->soft && a < params->n_modes; a++) {
        size_t k = params->modes[a].size;
        sum += dirichlet_rows(gibbs->counts.mode[a], c + 1, k, k, 1, options->delta / (double)k);
    }
    for (uint32_t e = 0; !params->soft && e < gibbs->rows->n_eligible; e++) {
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
        phl_gibbs_options options = {.alpha = 1.0,
                                     .alpha0 = 1.0,
                                     .beta = 1.0,
                                     .gamma = 1.0,
                                     .delta = 1.0,
                                     .slot_support = 0.05 * random_below(&rng, 3),
                                     .prior = {.phi = 0.2,
                                               .slots_min = random_below(&rng, 2),
                                               .slots_max = 1 + random_below(&rng, 4),
                                               .core_max = 8 + random_below(&rng, 100)},
                                     .update_concentration = random_below(&rng, 2) == 1,
                                     .anneal_start = 10.0,
                                     .anneal_end = 10,
                                     .seed = SEED,
                                     .stream = i,
                                     .threads = 1};
        if (i % 5 == 4) {
            options.prior.fixed = fixed;
            options.slot_support = 0.0;
        }
        phl_index *index = NULL;
        phl_gibbs *gibbs = NULL;
        uint32_t *label_row = NULL;
        must(phl_index_create(forest, forest->max_slot, false, &index, error));
        must(phl_map_labels(forest, &forest->labels, &label_row, error));
        must(phl_gibbs_create(index, label_row, states,
                              (uint32_t)forest->labels.count + random_below(&rng, 3), NULL, 0,
                              &options, &gibbs, error));
        for (int m = 0; m < 40; m++) {
            double temperature = phl_gibbs_temperature(&options, gibbs->iteration);
            must(phl_gibbs_draw_states(gibbs, error));
            must_hold(gibbs, times, i, "states");
            if (!gibbs->params->soft) {
                must(phl_gibbs_draw_partitions(gibbs, temperature, error));
                must_hold(gibbs, times, i, "partitions");
            }
            must(phl_gibbs_draw_parameters(gibbs, error));
            must_hold(gibbs, times, i, "parameters");
            gibbs->iteration++;
            double alpha = gibbs->alpha, log_lambda0[8], likelihood = 0.0;
            memcpy(log_lambda0, gibbs->log_lambda0, states * sizeof *log_lambda0);
            must(phl_upward_run(gibbs->upward, 1, error));
            for (size_t t = 0; t < forest->n_trees; t++) {
                likelihood += phl_tree_weight(forest, t) * phl_upward_tree(gibbs->upward, t);
            }
            must(phl_gibbs_step(gibbs, error));
            must_hold(gibbs, times, i, "step");
            check_close(gibbs->log_likelihood, likelihood, 1e-10);
            check_close(gibbs->log_joint, joint_of(gibbs, alpha, log_lambda0), 1e-9);
            if (m == 29) {
                must(phl_gibbs_soften(gibbs, error));
            }
        }
        phl_gibbs_free(gibbs);
        phl_free(label_row);
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
    uint32_t *label_row;
    phl_gibbs *gibbs;
} setup;

/* The model has labels and a slot that the trees do not have. */
static setup set_up(phl_forest *forest, const phl_gibbs_options *options, uint32_t states)
{
    setup made = {.forest = forest};
    must(phl_index_create(forest, forest->max_slot + 1, false, &made.index, error));
    must(phl_map_labels(forest, &forest->labels, &made.label_row, error));
    must(phl_gibbs_create(made.index, made.label_row, states, (uint32_t)forest->labels.count + 2,
                          NULL, 0, options, &made.gibbs, error));
    return made;
}

static void tear_down(setup *made)
{
    phl_gibbs_free(made->gibbs);
    phl_free(made->label_row);
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
    assert_int_equal(a->params->n_modes, b->params->n_modes);
    for (uint32_t i = 0; i < a->params->n_modes; i++) {
        assert_int_equal(a->params->modes[i].slot, b->params->modes[i].slot);
        if (!a->params->soft) {
            assert_memory_equal(a->params->modes[i].block, b->params->modes[i].block,
                                (a->params->states + 1) * sizeof(uint32_t));
        }
    }
    assert_memory_equal(a->log_lambda0, b->log_lambda0, a->params->states * sizeof(double));
    assert_memory_equal(&a->alpha, &b->alpha, sizeof a->alpha);
    assert_memory_equal(&a->alpha0, &b->alpha0, sizeof a->alpha0);
    assert_memory_equal(&a->log_joint, &b->log_joint, sizeof a->log_joint);
    assert_memory_equal(&a->log_likelihood, &b->log_likelihood, sizeof a->log_likelihood);
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
                                 .anneal_start = 5.0,
                                 .anneal_end = 5,
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
        setup made = set_up(varied_forest(&rng, (int)affordable(3000), 16), &options, 4);
        for (int i = 0; i < 12; i++) {
            must(phl_gibbs_step(made.gibbs, error));
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
        options.slot_support = i < 5 ? 0.0 : 0.3;
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
            made[weighted] = set_up(finish_forest(builder), &options, 3);
            for (int k = 0; k < 10; k++) {
                must(phl_gibbs_step(made[weighted].gibbs, error));
            }
        }
        assert_int_equal(made[0].gibbs->rows->n_eligible, made[1].gibbs->rows->n_eligible);
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
            made[k] = set_up(varied_forest(&rng, 30, 9), &options, 3);
        }
        for (int i = 0; i < 16; i++) {
            if (i == 9) {
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
            if (i == 9 && i > stop) {
                must(phl_gibbs_soften(made[1].gibbs, error));
            }
            must(phl_gibbs_step(made[0].gibbs, error));
            if (i >= stop) {
                must(phl_gibbs_step(made[1].gibbs, error));
                assert_same(made[0].gibbs, made[1].gibbs);
            }
        }
        tear_down(&made[0]);
        tear_down(&made[1]);
    }
}

/* Looking at the parameters, which draws those that no step needs, does not change the chain, and
 * looking again does not change them. */
static void looked_at(void **state)
{
    (void)state;
    phl_gibbs_options options = plain_options();
    setup made[2];
    for (int k = 0; k < 2; k++) {
        phl_rng rng;
        phl_rng_init(&rng, SEED, PURPOSE, 8, 0, 0);
        made[k] = set_up(varied_forest(&rng, 30, 9), &options, 3);
    }
    const phl_params *params = made[0].gibbs->params;
    for (int i = 0; i < 12; i++) {
        for (int k = 0; k < 2; k++) {
            if (i == 8) {
                must(phl_gibbs_soften(made[k].gibbs, error));
            }
            must(phl_gibbs_step(made[k].gibbs, error));
        }
        const double *label = params->emission + (size_t)params->labels * params->states;
        const double *slot = params->prior + (size_t)(params->slots - 1) * params->states;
        double before[2] = {*label, *slot};
        phl_gibbs_expand(made[0].gibbs);
        double after[2] = {*label, *slot};
        assert_true(after[0] != before[0] && after[1] != before[1]);
        phl_gibbs_expand(made[0].gibbs);
        assert_memory_equal(label, &after[0], sizeof *label);
        assert_memory_equal(slot, &after[1], sizeof *slot);
        must_hold(made[0].gibbs, made[0].forest->multiplicity, 0, "a look");
        if (i % 3 == 2) {
            phl_gibbs_expand(made[1].gibbs);
            assert_same(made[0].gibbs, made[1].gibbs);
        }
    }
    tear_down(&made[0]);
    tear_down(&made[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_law),
        cmocka_unit_test(many_occurrences),
        cmocka_unit_test(sharing),
        cmocka_unit_test(consistency),
        cmocka_unit_test(any_number_of_threads),
        cmocka_unit_test(weights_are_repetitions),
        cmocka_unit_test(taken_up),
        cmocka_unit_test(looked_at),
    };
    return cmocka_run_group_tests_name("gibbs_sharing", tests, NULL, NULL);
}
