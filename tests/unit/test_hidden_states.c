/* test_hidden_states.c - hidden states drawn as counts that are divided have the law of states
 * drawn node by node.
 *
 *  - the counts drawn for a small forest with repeated trees against all states of its nodes,
 * listed; who has which child is dealt slot by slot by opening it;
 *  - up to 30 occurrences of one tree of two nodes, whose joint states are multinomial;
 *  - up to 30 occurrences of a tree with three active slots: states and cells of its root, two at a
 *    time;
 *  - twins that occur once, whose states and cells are independent and alike;
 *  - what cells are drawn from follows from the core, made anew as well as kept.
 * Chi-square with 400,000 and 200,000 draws per model, failing by chance with probability 1e-6;
 * with 400 degrees of freedom it has power 1/2 against probabilities off by 1.8 and 2.6 % (root
 * mean square, relative).
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "chains.h"
#include "check.h"
#include "models.h"
#include "world.h"

#define SEED 20250807u
#define PURPOSE 0x73706c69u /* "spli" */

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
            for (uint32_t a = 0; a < params->n_axes; a++) {
                int at = child[u][params->axes[a].slot - 1];
                uint32_t value = at < 0 ? TINY_STATES : code >> at & 1;
                cell = cell * params->axes[a].size + params->axes[a].block[value];
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
        phl_axis axes[2] = {{.slot = round == 0 ? 1 : 2, .size = 2, .block = block[0]},
                            {.slot = round == 0 ? 2 : 3, .size = 3, .block = block[1]}};
        phl_params *params = NULL;
        must(phl_params_create(PHL_TF, TINY_STATES, TINY_SLOTS, 3, axes, 2, 0, &params, error));
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
            must(phl_hidden_states_draw(gibbs, error));
            for (uint32_t s = 0; s < sizeof k.state / sizeof *k.state; s++) {
                for (uint32_t j = 0; j < TINY_STATES; j++) {
                    k.state[s][j] = phl_gibbs_count(gibbs, s, j);
                }
            }
            memcpy(k.cells, gibbs->partitions->cells,
                   gibbs->partitions->n_cells * sizeof k.cells[0]);
            for (uint32_t e = 0; e < TINY_SLOTS; e++) {
                open_slot(gibbs, e, &rng, k.pair[e][0]);
            }
            size_t at = find_key(&table, hash_key(&k));
            assert_true(at < table.n);
            table.observed[at]++;
        }
        check_outcomes keys = {0};
        check_outcomes_add(&keys, table.probability, table.observed, table.n, draws);
        check_outcomes_judge(&keys, SEED, "exact law %d, %zu outcomes", round + 1, table.n);
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
    phl_axis axis = {.slot = 1, .size = 2, .block = block};
    phl_params *params = NULL;
    for (uint32_t q = 0; q <= of->states; q++) {
        block[q] = q + 1 >= of->states; /* {0, ..}, {the last, empty} */
    }
    must(phl_params_create(PHL_TF, of->states, 1, 2, &axis, of->active, 0, &params, error));
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

/* The law of n occurrences over outcomes with probabilities in proportion to p, by code: counts of
 * all outcomes but the first, in base n + 1.  How many codes there are. */
static size_t list_multinomial(const double *p, size_t outcomes, int64_t n, double *law)
{
    size_t codes = 1;
    double sum = p[0], all = 0.0;
    for (size_t i = 1; i < outcomes; i++) {
        sum += p[i];
        codes *= (size_t)n + 1;
    }
    assert_true(codes <= MOST_CODES);
    for (size_t code = 0; code < codes; code++) {
        size_t rest = code;
        double log_p = lgamma((double)n + 1.0), left = (double)n;
        for (size_t i = outcomes; i-- > 0;) { /* the first outcome gets what is left */
            double count = i > 0 ? (double)(rest % ((size_t)n + 1)) : left;
            rest /= (size_t)n + 1;
            left -= count;
            log_p += (count > 0.0 ? count * log(p[i] / sum) : 0.0) - lgamma(fmax(count, 0.0) + 1.0);
            log_p = count < 0.0 ? -INFINITY : log_p;
        }
        law[code] = exp(log_p);
        all += law[code];
    }
    check_close(all, 1.0, 1e-9);
    return codes;
}

static size_t code_counts(const int64_t *count, size_t outcomes, int64_t n)
{
    size_t code = 0;
    for (size_t i = 1; i < outcomes; i++) {
        code = code * ((size_t)n + 1) + (size_t)count[i];
    }
    return code;
}

/* How many have parent state j and child state q. */
static size_t list_crowds(const crowd *of, const phl_params *params, double *law)
{
    size_t c = of->states;
    double p[MOST_JOINT] = {0.0};
    for (size_t i = 0; i < c * c; i++) {
        size_t j = i / c, q = i % c;
        size_t cell = of->active ? params->axes[0].block[q] : 0;
        p[i] = params->core[cell * c + j] * params->emission[j] * params->prior[q] *
               params->emission[c + q]; /* label a at the parent, b at the child */
    }
    return list_multinomial(p, c * c, of->n, law);
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
        assert_int_equal(gibbs->params->n_axes, of->active);
        size_t codes = list_crowds(of, params, law), draws = affordable(200000);
        memset(observed, 0, sizeof observed);
        for (size_t i = 0; i < draws; i++) {
            int64_t joint[3 * 4], count[MOST_JOINT];
            gibbs->iteration = i;
            must(phl_hidden_states_draw(gibbs, error));
            open_slot(gibbs, 0, &rng, joint);
            for (size_t j = 0; j < c * c; j++) {
                count[j] = joint[j / c * (c + 1) + j % c];
            }
            size_t code = code_counts(count, c * c, of->n);
            assert_true(law[code] > 0.0);
            observed[code]++;
        }
        check_outcomes joint_states = {0};
        check_outcomes_add(&joint_states, law, observed, codes, (int64_t)draws);
        check_outcomes_judge(&joint_states, SEED, "%lld occurrences, C = %zu, %s, %s",
                             (long long)of->n, c, of->active ? "active" : "not active",
                             of->skewed ? "skewed" : "even");
        phl_gibbs_free(gibbs);
        unprepare(&p);
        phl_params_free(params);
        phl_forest_free(forest);
    }
}

/* ---- Cells of several slots
 * --------------------------------------------------------------------------- */

enum { WIDE_STATES = 3, WIDE_SLOTS = 3, WIDE_CELLS = 12, WIDE_VIEWS = 7, MOST_SEEN = 6 };

/* n occurrences of (a (b) (c) (b)) or, with a gap, of (a (b) _ (b)). */
typedef struct wide {
    int64_t n;
    bool gap, soft;
} wide;

/* A state and a cell by what view v tells of them: two of state, z_1, z_2 and z_3, or parities. */
static const size_t view_outcomes[WIDE_VIEWS] = {4, 6, 4, 6, 4, 6, 4};
static size_t outcome_of(size_t v, size_t j, size_t cell)
{
    static const size_t two[WIDE_VIEWS - 1][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {3, 2}};
    size_t digit[] = {j > 0, cell / 6, cell / 2 % 3, cell % 2};
    if (v == WIDE_VIEWS - 1) {
        return 2 * ((digit[0] + digit[1]) % 2) + (digit[2] + digit[3]) % 2;
    }
    size_t base = two[v][1] == 2 ? 3 : 2; /* blocks */
    return digit[two[v][0]] * base + digit[two[v][1]];
}

static phl_params *wide_params(const wide *of, phl_rng *rng)
{
    uint32_t pairs[] = {0, 0, 1, 1}, all[] = {0, 1, 2, 1};
    phl_axis axes[] = {{.slot = 1, .size = 2, .block = pairs},
                       {.slot = 2, .size = 3, .block = all},
                       {.slot = 3, .size = 2, .block = pairs}};
    phl_params *params = NULL;
    while (params == NULL || params->core_rows != WIDE_CELLS || params->axes[1].size != 3 ||
           params->axes[0].size != 2) {
        phl_params_free(params);
        params = NULL;
        if (of->soft) {
            params = random_params(rng, PHL_TF, true, WIDE_STATES, WIDE_SLOTS, 3, 3, ROWS_PLAIN);
        } else {
            must(phl_params_create(PHL_TF, WIDE_STATES, WIDE_SLOTS, 3, axes, WIDE_SLOTS, 0, &params,
                                   error));
            random_tables(rng, ROWS_PLAIN, params);
        }
    }
    return params;
}

/* Probabilities, but for a factor, of state and cell of the root. */
static void weigh_cells(const wide *of, const phl_params *params, double *p)
{
    static const size_t label[WIDE_SLOTS] = {1, 2, 1};
    size_t c = WIDE_STATES;
    double message[WIDE_SLOTS][3];
    for (size_t a = 0; a < WIDE_SLOTS; a++) {
        const phl_axis *axis = &params->axes[a];
        bool empty = of->gap && a == 1;
        for (size_t z = 0; z < axis->size; z++) {
            message[a][z] = 0.0;
            for (size_t q = empty ? c : 0; q < (empty ? c + 1 : c); q++) {
                double share = of->soft ? axis->matrix[q * axis->size + z] : axis->block[q] == z;
                message[a][z] +=
                    share *
                    (empty ? 1.0 : params->prior[a * c + q] * params->emission[label[a] * c + q]);
            }
        }
    }
    for (size_t cell = 0; cell < WIDE_CELLS; cell++) {
        for (size_t j = 0; j < c; j++) {
            p[cell * c + j] = params->core[cell * c + j] * params->emission[j] *
                              message[0][cell / 6] * message[1][cell / 2 % 3] *
                              message[2][cell % 2];
        }
    }
}

/* How many occurrences of the root are in each state and cell. */
static void count_cells(const phl_gibbs *gibbs, uint32_t root, int64_t *count)
{
    size_t c = WIDE_STATES;
    if (gibbs->params->soft) {
        memcpy(count, gibbs->counts.core, WIDE_CELLS * c * sizeof *count);
        return;
    }
    memset(count, 0, WIDE_CELLS * c * sizeof *count);
    for (size_t r = 0; r < gibbs->state_counts->n_portions; r++) {
        const phl_portion *portion = &gibbs->state_counts->portion[r];
        if (portion->subtree == root) {
            assert_int_equal(count[portion->cell * c + portion->state], 0); /* no two rows alike */
            count[portion->cell * c + portion->state] = portion->n;
        }
    }
}

static void several_slots(void **state)
{
    (void)state;
    static double law[MOST_CODES];
    static int64_t observed[WIDE_VIEWS][MOST_CODES];
    const wide wides[] = {{9, false, false}, {9, true, false},  {30, false, false},
                          {12, false, true}, {30, false, true}, {5, false, true}};
    for (size_t k = 0; k < sizeof wides / sizeof *wides; k++) {
        const wide *of = &wides[k];
        phl_rng rng;
        phl_rng_init(&rng, SEED, PURPOSE, 8, k, 0);
        phl_builder *builder = new_builder(false);
        const shape full = {.size = 4, .slot = {1, 1, 2, 3}};
        const shape gap = {.size = 3, .slot = {1, 1, 3}};
        const char *const labels[] = {letter[0], letter[1], letter[2], letter[1]};
        const char *const gap_labels[] = {letter[0], letter[1], letter[1]};
        add_tree(builder, of->gap ? &gap : &full, of->gap ? gap_labels : labels, (double)of->n,
                 NULL);
        if (of->gap) { /* a slot that is never filled cannot be active */
            add_tree(builder, &full, labels, 1.0, NULL);
        }
        phl_forest *forest = finish_forest(builder);
        phl_params *params = wide_params(of, &rng);
        prepared p = prepare(forest, &forest->labels, params, 1);
        phl_gibbs *gibbs = chain_of(&p, params, SEED + k);
        assert_int_equal(gibbs->params->n_axes, WIDE_SLOTS);
        size_t draws = affordable(200000), step = of->n > 12 ? 2 : 1; /* not 6 outcomes */
        memset(observed, 0, sizeof observed);
        for (size_t i = 0; i < draws; i++) {
            int64_t count[WIDE_CELLS * WIDE_STATES];
            gibbs->iteration = i;
            must(phl_hidden_states_draw(gibbs, error));
            count_cells(gibbs, forest->tree_root[0], count);
            for (size_t v = 0; v < WIDE_VIEWS; v += step) {
                int64_t seen[MOST_SEEN] = {0};
                for (size_t at = 0; at < WIDE_CELLS * WIDE_STATES; at++) {
                    seen[outcome_of(v, at % WIDE_STATES, at / WIDE_STATES)] += count[at];
                }
                observed[v][code_counts(seen, view_outcomes[v], of->n)]++;
            }
        }
        double weight[WIDE_CELLS * WIDE_STATES];
        weigh_cells(of, params, weight);
        for (size_t v = 0; v < WIDE_VIEWS; v += step) {
            double sum[MOST_SEEN] = {0.0};
            for (size_t at = 0; at < WIDE_CELLS * WIDE_STATES; at++) {
                sum[outcome_of(v, at % WIDE_STATES, at / WIDE_STATES)] += weight[at];
            }
            size_t codes = list_multinomial(sum, view_outcomes[v], of->n, law);
            check_outcomes cells = {0};
            check_outcomes_add(&cells, law, observed[v], codes, (int64_t)draws);
            check_outcomes_judge(&cells, SEED, "%lld occurrences, %s%s, view %zu", (long long)of->n,
                                 of->soft ? "soft" : "hard", of->gap ? ", a slot empty" : "",
                                 v + 1);
        }
        phl_gibbs_free(gibbs);
        unprepare(&p);
        phl_params_free(params);
        phl_forest_free(forest);
    }
}

/* ---- Twins that occur once
 * ----------------------------------------------------------------------------- */

enum {
    TWINS = 6,
    TWIN_STATES = 3,
    TWIN_CELLS = 4,
    TWIN_OUTCOMES = 12,
    TWIN_PAIRS = TWIN_OUTCOMES * TWIN_OUTCOMES,
    TWIN_KINDS = 1 << TWINS
};

/* (a (b) (c) (x)) with another label at x for each, which stands in a slot that is not active. */
static phl_forest *twins_forest(void)
{
    phl_builder *builder = new_builder(false);
    const shape tree = {.size = 4, .slot = {1, 1, 2, 3}};
    for (int t = 0; t < TWINS; t++) {
        const char *const labels[] = {letter[0], letter[1], letter[2], letter[3 + t]};
        add_tree(builder, &tree, labels, 1.0, NULL);
    }
    return finish_forest(builder);
}

/* skewed: of the states, and of the cells given one, one outdoes the others. */
static phl_params *twins_params(bool skewed, phl_rng *rng)
{
    uint32_t block[] = {0, 1, 1, 0};
    phl_axis axes[] = {{.slot = 1, .size = 2, .block = block},
                       {.slot = 2, .size = 2, .block = block}};
    phl_params *params = NULL;
    must(phl_params_create(PHL_TF, TWIN_STATES, 3, 3 + TWINS, axes, 2, 0, &params, error));
    random_tables(rng, ROWS_PLAIN, params);
    for (size_t cell = 0; skewed && cell < TWIN_CELLS; cell++) {
        for (size_t j = 0; j < TWIN_STATES; j++) {
            double *lambda = &params->core[cell * TWIN_STATES + j];
            *lambda = 0.1 * *lambda + (j == (cell == 2 ? 1 : 0) ? 0.9 : 0.0);
        }
    }
    phl_params_complete(params);
    return params;
}

/* The law of state and cell of a root. */
static void twin_law(const phl_params *params, double *law)
{
    size_t c = TWIN_STATES;
    double message[2][2] = {{0.0}}, sum = 0.0;
    for (size_t a = 0; a < 2; a++) {
        for (size_t q = 0; q < c; q++) {
            message[a][params->axes[a].block[q]] +=
                params->prior[a * c + q] * params->emission[(1 + a) * c + q];
        }
    }
    for (size_t i = 0; i < TWIN_OUTCOMES; i++) {
        size_t cell = i / c, j = i % c;
        law[i] = params->core[cell * c + j] * params->emission[j] * message[0][cell / 2] *
                 message[1][cell % 2];
        sum += law[i];
    }
    for (size_t i = 0; i < TWIN_OUTCOMES; i++) {
        law[i] /= sum;
    }
}

/* Judge what was observed of twins, two at a time, and of all by two kinds of outcomes. */
static void judge_twins(const phl_params *params, int64_t observed[][TWINS][TWIN_PAIRS],
                        const int64_t *kinds, int64_t draws, const char *name)
{
    double law[TWIN_OUTCOMES], pair_law[TWIN_PAIRS], kind_law[TWIN_KINDS], kind[2] = {0.0};
    twin_law(params, law);
    for (size_t i = 0; i < TWIN_PAIRS; i++) {
        pair_law[i] = law[i / TWIN_OUTCOMES] * law[i % TWIN_OUTCOMES];
    }
    for (size_t i = 0; i < TWIN_OUTCOMES; i++) {
        kind[i % 5 < 2] += law[i];
    }
    for (size_t i = 0; i < TWIN_KINDS; i++) {
        kind_law[i] = 1.0;
        for (size_t t = 0; t < TWINS; t++) {
            kind_law[i] *= kind[i >> t & 1];
        }
    }
    for (size_t t = 1; t < TWINS; t++) {
        for (size_t u = 0; u < t; u++) {
            check_outcomes two = {0};
            check_outcomes_add(&two, pair_law, observed[t][u], TWIN_PAIRS, draws);
            check_outcomes_judge(&two, SEED, "twins %zu and %zu, %s", t, u, name);
        }
    }
    check_outcomes all = {0};
    check_outcomes_add(&all, kind_law, kinds, TWIN_KINDS, draws);
    check_outcomes_judge(&all, SEED, "all twins, %s", name);
}

/* Every root on its own, and each as any other.  Draws by two sets of tables take turns: nothing of
 * one may be left for the other. */
static void twins_once(void **state)
{
    (void)state;
    static int64_t observed[2][TWINS][TWINS][TWIN_PAIRS], kinds[2][TWIN_KINDS];
    phl_forest *forest = twins_forest();
    phl_params *params[2];
    for (int skewed = 0; skewed < 2; skewed++) {
        phl_rng rng;
        phl_rng_init(&rng, SEED, PURPOSE, 9, (uint64_t)skewed, 0);
        params[skewed] = twins_params(skewed, &rng);
    }
    prepared p = prepare(forest, &forest->labels, params[0], 1);
    phl_gibbs *gibbs = chain_of(&p, params[0], SEED + 20);
    assert_int_equal(gibbs->params->n_axes, 2);
    memset(observed, 0, sizeof observed);
    memset(kinds, 0, sizeof kinds);
    size_t draws = affordable(200000);
    for (size_t i = 0; i < 2 * draws; i++) {
        size_t outcome[TWINS], code = 0, skewed = i % 2;
        copy_tables(params[skewed], gibbs->params);
        gibbs->iteration = i;
        must(phl_hidden_states_draw(gibbs, error));
        assert_int_equal(gibbs->state_counts->n_portions, TWINS);
        for (size_t t = 0; t < TWINS; t++) {
            const phl_portion *portion =
                &gibbs->state_counts
                     ->portion[phl_state_counts_first(gibbs->state_counts, forest->tree_root[t])];
            outcome[t] = portion->cell * TWIN_STATES + portion->state;
            code = 2 * code + (outcome[t] % 5 < 2);
        }
        for (size_t t = 1; t < TWINS; t++) {
            for (size_t u = 0; u < t; u++) {
                observed[skewed][t][u][outcome[t] * TWIN_OUTCOMES + outcome[u]]++;
            }
        }
        kinds[skewed][code]++;
    }
    judge_twins(params[0], observed[0], kinds[0], (int64_t)draws, "even");
    judge_twins(params[1], observed[1], kinds[1], (int64_t)draws, "skewed");
    phl_gibbs_free(gibbs);
    unprepare(&p);
    phl_params_free(params[0]);
    phl_params_free(params[1]);
    phl_forest_free(forest);
}

/* ---- What cells are drawn from
 * ------------------------------------------------------------------------ */

/* The sums a cell is drawn from in state j follow from each other and from the core. */
static void check_sums(const phl_upward *upward, const phl_cell_draw_node *node, uint32_t j)
{
    const phl_params *params = upward->params;
    size_t c = params->states, count = 1;
    for (size_t i = 0; i < node->n; i++) {
        count *= node->slot[i].axis->size;
    }
    for (size_t number = 0; number < count; number++) {
        size_t at = 0, cell = node->cell, rest = number;
        double sum = node->total;
        for (size_t i = node->n; i-- > 0;) {
            const phl_cell_draw_slot *slot = &node->slot[i];
            double added = 0.0;
            for (size_t z = 0; z < slot->axis->size; z++) {
                added += slot->m[z] * slot->rest[at + z * slot->step];
            }
            check_close(added, sum, 1e-14);
            size_t z = rest % slot->axis->size;
            rest /= slot->axis->size;
            at += z * slot->step;
            cell += z * slot->axis->stride;
            sum = slot->rest[at];
        }
        check_close(sum, params->core[cell * c + j], 0.0);
    }
}

/* With little room these sums are made again and again: to the bit as when all are kept. */
static void little_room(void **state)
{
    (void)state;
    phl_rng rng;
    phl_rng_init(&rng, SEED, PURPOSE, 9, 0, 0);
    phl_builder *builder = new_builder(false);
    for (int t = 0; t < 60; t++) {
        shape s = random_shape(&rng, 7, 4);
        const char *labels[MAX_SHAPE];
        for (unsigned u = 0; u < s.size; u++) {
            labels[u] = letter[random_below(&rng, 3)];
        }
        add_tree(builder, &s, labels, 1.0, NULL);
    }
    phl_forest *forest = finish_forest(builder);
    for (int round = 0; round < 20; round++) {
        phl_params *params = NULL;
        while (params == NULL || params->n_axes < 2) {
            phl_params_free(params);
            params = random_params(&rng, PHL_TF, round % 2 == 1, 3 + (uint32_t)round % 3, 4, 3, 3,
                                   ROWS_PLAIN);
        }
        prepared p = prepare(forest, &forest->labels, params, 1);
        phl_cell_draw all = {0}, few = {0};
        phl_cell_draw_node kept, again;
        must(phl_cell_draw_prepare(&all, p.upward, error));
        must(phl_cell_draw_prepare(&few, p.upward, error));
        few.limit = 2 * few.most;
        uint32_t leaves = (uint32_t)p.upward->twins.n_leaves;
        for (int i = 0; i < 2000; i++) {
            uint32_t s = leaves + random_below(&rng, (uint32_t)forest->n_subtrees - leaves);
            uint32_t j = random_below(&rng, params->states);
            phl_cell_draw_open(&all, s, &kept);
            phl_cell_draw_open(&few, s, &again);
            phl_cell_draw_in_state(&all, &kept, j);
            phl_cell_draw_in_state(&few, &again, j);
            check_sums(p.upward, &kept, j);
            assert_true(few.used <= few.limit);
            assert_int_equal(kept.n, again.n);
            for (size_t a = 0; a < kept.n; a++) {
                size_t cells = kept.slot[a].step * kept.slot[a].axis->size;
                assert_int_equal(kept.slot[a].step, again.slot[a].step);
                for (size_t at = 0; kept.n > 1 && at < cells; at++) {
                    assert_true(kept.slot[a].rest[at] == again.slot[a].rest[at]);
                }
            }
        }
        phl_cell_draw_clear(&all);
        phl_cell_draw_clear(&few);
        unprepare(&p);
        phl_params_free(params);
    }
    phl_forest_free(forest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_law),     cmocka_unit_test(many_occurrences),
        cmocka_unit_test(several_slots), cmocka_unit_test(twins_once),
        cmocka_unit_test(little_room),
    };
    return cmocka_run_group_tests_name("hidden_states", tests, NULL, NULL);
}
