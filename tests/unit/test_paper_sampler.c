/* test_paper_sampler.c - the sampler of the paper: its counts are those of its states, partitions
 * stay within their confines, steps 1 and 2 follow the laws of Algorithms 1 and 2, a chain is a
 * function of its seed and goes on from a checkpoint as if nothing had happened.
 *
 * Random numbers from SEED and fixed chains: the frequencies compared with laws never change, so a
 * test that passes once passes always.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "gibbs/paper_sampler.h"
#include "gibbs/paper_sampler_state.h"
#include "models.h"

#define SEED 2019
#define CHAINS 60
#define STEPS 25
#define DRAWS 40000
#define SIGMAS 5.0

static phl_gibbs_options usual_options(uint64_t seed)
{
    phl_gibbs_options options = {
        .alpha = 1,
        .alpha0 = 1,
        .beta = 1,
        .gamma = 1,
        .delta = 1,
        .prior = {.phi = 0.5, .slots_min = 1, .slots_max = 3, .core_max = 1 << 20},
        .seed = seed,
        .threads = 1,
    };
    return options;
}

static phl_forest *random_forest(phl_rng *rng, uint32_t slots, uint32_t labels, bool weighted)
{
    uint32_t trees = 1 + random_below(rng, 12);
    phl_builder *builder = new_builder(random_below(rng, 3) == 0);
    for (uint32_t t = 0; t < trees; t++) {
        shape form = random_shape(rng, 12, slots);
        const char *names[MAX_SHAPE];
        for (unsigned u = 0; u < form.size; u++) {
            bool hidden = random_below(rng, 8) == 0;
            names[u] = hidden ? NULL : letter[random_below(rng, labels)];
        }
        add_tree(builder, &form, names, weighted ? 1 + random_below(rng, 3) : 1, NULL);
    }
    return finish_forest(builder);
}

/* A chain on a forest, with what it borrows. */
struct chain {
    phl_forest *forest;
    phl_index *index;
    phl_slot_pairs *pairs;
    uint32_t *label_row;
    phl_paper_sampler *sampler;
};

static struct chain start_chain(phl_forest *forest, uint32_t states, uint32_t slots,
                                const phl_gibbs_options *options)
{
    struct chain chain = {.forest = forest};
    must(phl_index_map_labels(forest, &forest->labels, &chain.label_row, error));
    must(phl_index_create(forest, slots, false, &chain.index, error));
    must(phl_slot_pairs_create(chain.index, 0.01, &chain.pairs, error));
    must(phl_paper_sampler_create(chain.pairs, chain.label_row, states,
                                  (uint32_t)forest->labels.count, options, &chain.sampler, error));
    return chain;
}

static void end_chain(struct chain *chain)
{
    phl_paper_sampler_free(chain->sampler);
    phl_slot_pairs_free(chain->pairs);
    phl_index_free(chain->index);
    phl_free(chain->label_row);
    phl_forest_free(chain->forest);
}

/* One iteration, annealed from 10 in the first ten of them. */
static void step_annealed(phl_paper_sampler *sampler)
{
    double done = (double)sampler->gibbs->iteration;
    must(phl_paper_sampler_step(sampler, done < 10 ? pow(10, 1 - done / 10) : 1, error));
}

/* The chain in a state of its own making, lambda0 and Q given. */
static void put_back(phl_paper_sampler *sampler, phl_params *params, const double *log_lambda0,
                     const uint32_t *hidden, uint64_t iteration)
{
    double base[8];
    memcpy(base, log_lambda0, params->states * sizeof *base);
    phl_chain_state state = {iteration, params, base, 1, 1};
    must(phl_paper_sampler_restore(sampler, &state, hidden, error));
}

/* ---- Bookkeeping -------------------------------------------------------------------------------
 */

static void check_partitions(const phl_paper_sampler *sampler)
{
    const phl_partitions *partitions = sampler->gibbs->partitions;
    const phl_params *params = sampler->gibbs->params;
    uint32_t values = partitions->states + 1, active = 0;
    double cells = 1;
    for (uint32_t e = 0; e < partitions->n_eligible; e++) {
        uint32_t size = partitions->size[e];
        const uint32_t *block = partitions->block + (size_t)e * values;
        assert_in_range(size, 1, values);
        for (uint32_t z = 0; z < size; z++) {
            uint32_t count = 0;
            for (uint32_t q = 0; q < values; q++) {
                assert_true(block[q] < size);
                count += block[q] == z;
            }
            assert_true(count > 0);
        }
        if (size > 1) {
            assert_true(active < params->n_axes);
            const phl_axis *axis = &params->axes[active++];
            assert_int_equal(axis->slot, sampler->gibbs->pairs->eligible[e]);
            assert_int_equal(axis->size, size);
            assert_memory_equal(axis->block, block, values * sizeof *block);
        }
        cells *= size;
    }
    assert_int_equal(params->n_axes, active);
    assert_int_equal(partitions->n_active, active);
    assert_true(cells <= (double)partitions->prior.core_max);
    assert_true(active <= partitions->prior.slots_max);
    assert_true(active >= partitions->prior.slots_min || active == partitions->n_eligible);
}

/* Counts from the forest, the states and the model, without the tables of the sampler. */
static void check_counts(const struct chain *chain)
{
    const phl_paper_sampler *sampler = chain->sampler;
    const phl_gibbs *gibbs = sampler->gibbs;
    const phl_params *params = gibbs->params;
    size_t c = params->states, labels = params->labels, node = 0, made = 0;
    int64_t *prior = must_alloc(((size_t)params->slots + 1) * c, sizeof *prior);
    int64_t *emission = must_alloc((labels + 1) * c, sizeof *emission);
    int64_t *cells = must_alloc(params->core_rows * c, sizeof *cells);
    uint32_t(*shown)[PHL_MAX_AXES] = must_alloc(sampler->n_nodes, sizeof *shown);
    phl_walk *walk = NULL;
    must(phl_walk_create(chain->forest, &walk, error));
    for (size_t tree = 0; tree < chain->forest->n_trees; tree++) {
        for (int i = 0; i < (int)phl_tree_weight(chain->forest, tree); i++) {
            size_t first = node;
            assert_int_equal(sampler->first[made++], first);
            phl_visit visit;
            phl_error error = {0};
            for (phl_walk_start(walk, tree); phl_walk_next(walk, &visit, &error) > 0; node++) {
                uint32_t j = sampler->state[node];
                assert_true(j < c);
                for (uint32_t a = 0; a < params->n_axes; a++) {
                    shown[node][a] = params->axes[a].block[c]; /* until a child says otherwise */
                }
                uint32_t beyond = params->slots + 1;
                uint32_t slot = visit.slot < beyond ? visit.slot : beyond;
                uint32_t axis = params->axis_of_slot[slot];
                if (visit.parent != SIZE_MAX && axis != 0) {
                    shown[first + visit.parent][axis - 1] = params->axes[axis - 1].block[j];
                }
                if (visit.label >= 0) {
                    emission[chain->label_row[visit.label] * c + j]++;
                }
                if (visit.leaf) {
                    prior[(slot - 1) * c + j]++;
                }
            }
        }
    }
    assert_int_equal(made, sampler->n_trees);
    assert_int_equal(node, sampler->n_nodes);
    assert_int_equal(sampler->first[made], node);
    for (size_t u = 0; u < node; u++) {
        if (sampler->nodes[u].leaf_row == PHL_PAPER_SAMPLER_NONE) {
            size_t cell = 0;
            for (uint32_t a = 0; a < params->n_axes; a++) {
                cell = cell * params->axes[a].size + shown[u][a];
            }
            assert_int_equal(sampler->cell[u], cell);
            cells[cell * c + sampler->state[u]]++;
        }
    }
    assert_memory_equal(prior, gibbs->counts.prior,
                        ((size_t)params->slots + 1) * c * sizeof *prior);
    assert_memory_equal(emission, gibbs->counts.emission, (labels + 1) * c * sizeof *emission);
    assert_int_equal(gibbs->partitions->n_cells, params->core_rows);
    assert_memory_equal(cells, gibbs->partitions->cells, params->core_rows * c * sizeof *cells);
    phl_walk_free(walk);
    phl_free(prior);
    phl_free(emission);
    phl_free(cells);
    phl_free(shown);
}

static double log_likelihood(const struct chain *chain, const phl_params *params)
{
    prepared p = prepare(chain->forest, &chain->forest->labels, params, 1);
    double sum = 0;
    for (size_t tree = 0; tree < chain->forest->n_trees; tree++) {
        sum += phl_tree_weight(chain->forest, tree) * phl_upward_tree(p.upward, tree);
    }
    unprepare(&p);
    return sum;
}

/* log B(a + n) / B(a) of `columns` counts by stride. */
static double log_row(const double *a, const int64_t *counts, size_t columns, size_t stride)
{
    int64_t n[32];
    assert_true(columns <= 32);
    for (size_t i = 0; i < columns; i++) {
        n[i] = counts[i * stride];
    }
    return phl_log_beta_ratio(a, n, columns);
}

/* log p(x, Q, c | lambda0) from the counts. */
static double log_joint(const phl_gibbs *gibbs, const double *log_lambda0)
{
    const phl_params *params = gibbs->params;
    size_t c = params->states, m = (size_t)params->labels + 1;
    double flat[32], base[32], sum = 0;
    assert_true(c <= 32);
    for (size_t i = 0; i < 32; i++) {
        flat[i] = 1; /* beta and gamma */
        base[i] = i < c ? gibbs->options.alpha * exp(log_lambda0[i]) : 0;
    }
    for (size_t l = 0; l < params->slots; l++) {
        sum += log_row(flat, gibbs->counts.prior + l * c, c, 1);
    }
    for (size_t j = 0; j < c; j++) {
        sum += log_row(flat, gibbs->counts.emission + j, m, c);
    }
    for (size_t z = 0; z < params->core_rows; z++) {
        sum += log_row(base, gibbs->partitions->cells + z * c, c, 1);
    }
    return sum + phl_partitions_log_prior(gibbs->partitions);
}

static void test_bookkeeping(void **state)
{
    (void)state;
    uint64_t taken = 0, sizes = 0;
    for (uint64_t number = 0; number < CHAINS; number++) {
        phl_rng rng;
        phl_rng_init(&rng, SEED, 1, 0, 0, number);
        uint32_t slots = 1 + random_below(&rng, 4), states = 1 + random_below(&rng, 5);
        phl_gibbs_options options = usual_options(number);
        options.prior.slots_min = random_below(&rng, 2);
        options.prior.slots_max = 1 + random_below(&rng, 3);
        options.prior.core_max = number % 4 == 0 ? 4 : 1 << 20;
        options.update_concentration = number % 5 == 0;
        phl_forest *forest = random_forest(&rng, slots, 1 + random_below(&rng, 3), number % 3 == 0);
        /* the model may know fewer slots than the trees have */
        uint32_t known = phl_forest_max_slot(forest);
        known = number % 7 == 0 && known > 1 ? known - 1 : known;
        struct chain chain = start_chain(forest, states, known, &options);
        phl_gibbs *gibbs = chain.sampler->gibbs;
        check_counts(&chain);
        check_partitions(chain.sampler);
        for (int step = 0; step < STEPS; step++) {
            phl_params *before = NULL;
            double base[32];
            memcpy(base, gibbs->log_lambda0, states * sizeof *base);
            double alpha = gibbs->alpha;
            must(phl_params_clone(gibbs->params, &before, error));
            step_annealed(chain.sampler);
            must(phl_params_check(gibbs->params, error));
            check_partitions(chain.sampler);
            check_counts(&chain);
            check_close(gibbs->log_likelihood, log_likelihood(&chain, before), 1e-12);
            if (alpha == options.alpha) {
                check_close(gibbs->log_joint, log_joint(gibbs, base), 1e-9);
            }
            assert_true(isfinite(gibbs->log_joint) && isfinite(gibbs->log_likelihood));
            assert_int_equal(gibbs->iteration, step + 1);
            phl_params_free(before);
        }
        assert_int_equal(chain.sampler->trees_tried, chain.sampler->n_trees * STEPS);
        assert_true(chain.sampler->sizes_tried <= STEPS);
        taken += chain.sampler->trees_taken;
        sizes += chain.sampler->sizes_taken;
        end_chain(&chain);
    }
    assert_true(taken > 0 && sizes > 0);
}

/* ---- Laws --------------------------------------------------------------------------------------
 */

/* (a (b) (a)) and a model of two states whose slot 1 is active, {0} against {1, bottom}. */
static struct chain small_chain(phl_params **params, uint64_t number)
{
    static const uint32_t sizes[] = {2, 1};
    shape form = {.size = 3, .parent = {0, 0, 0}, .slot = {1, 1, 2}};
    const char *names[] = {letter[0], letter[1], letter[0]};
    phl_builder *builder = new_builder(false);
    add_tree(builder, &form, names, 1, NULL);
    phl_gibbs_options options = usual_options(number);
    options.prior.fixed = sizes;
    struct chain chain = start_chain(finish_forest(builder), 2, 2, &options);
    uint32_t block[] = {0, 1, 1};
    phl_axis axis = {.slot = 1, .size = 2, .block = block};
    phl_rng rng;
    phl_rng_init(&rng, SEED, 2, 0, 0, number);
    must(phl_params_create(PHL_TF, 2, 2, 2, &axis, 1, 0, params, error));
    random_tables(&rng, ROWS_PLAIN, *params);
    return chain;
}

/* Step 1 from one state, drawn often, against Algorithm 1 and its acceptance ratio. */
static void test_states_law(void **unused)
{
    (void)unused;
    static const double log_lambda0[] = {-0.6931471805599453, -0.6931471805599453};
    for (uint64_t number = 0; number < 4; number++) {
        phl_params *params = NULL;
        struct chain chain = small_chain(&params, number);
        uint32_t from[] = {(uint32_t)(number & 1), (uint32_t)(number >> 1),
                           0}; /* root, slots 1, 2 */
        double expected[8] = {0}, total = 0;
        const double *core = params->core, *b = params->emission;
        for (unsigned to = 0; to < 8; to++) {
            unsigned root = to & 1, left = to >> 1 & 1, right = to >> 2;
            unsigned z = from[1], next = left; /* block of a state is the state */
            double norm[3] = {0, 0, 0};
            for (unsigned j = 0; j < 2; j++) {
                norm[0] += core[z * 2 + j] * b[j];
                norm[1] += params->prior[j] * b[2 + j];
                norm[2] += params->prior[2 + j] * b[j];
            }
            double proposed = core[z * 2 + root] * b[root] / norm[0] * params->prior[left] *
                              b[2 + left] / norm[1] * params->prior[2 + right] * b[right] / norm[2];
            double ratio = core[next * 2 + root] * core[next * 2 + from[0]] /
                           (core[z * 2 + from[0]] * core[z * 2 + root]);
            double accepted = fmin(1, pow(ratio, 0.25));
            expected[to] += proposed * accepted;
            expected[from[0] | from[1] << 1 | from[2] << 2] += proposed * (1 - accepted);
            total += proposed;
        }
        check_close(total, 1, 1e-12);
        int64_t counts[8] = {0};
        for (uint64_t i = 0; i < DRAWS; i++) {
            put_back(chain.sampler, params, log_lambda0, from, i);
            must(phl_paper_sampler_step(chain.sampler, 4.0, error));
            const uint32_t *q = chain.sampler->state;
            counts[q[0] | q[1] << 1 | q[2] << 2]++;
        }
        for (unsigned to = 0; to < 8; to++) {
            double sd = sqrt(DRAWS * expected[to] * (1 - expected[to]));
            assert_true(fabs((double)counts[to] - DRAWS * expected[to]) < SIGMAS * sd + 1e-9);
        }
        phl_params_free(params);
        end_chain(&chain);
    }
}

/* The five partitions of {0, 1, bottom}, each numbered by first occurrence. */
static const uint32_t partition_of[5][3] = {{0, 0, 0}, {0, 0, 1}, {0, 1, 0}, {0, 1, 1}, {0, 1, 2}};
static const uint32_t size_of[5] = {1, 2, 2, 2, 3};

static unsigned which_partition(const uint32_t *block)
{
    for (unsigned p = 0; p < 5; p++) {
        bool same = true;
        for (unsigned i = 0; i < 3; i++) {
            for (unsigned j = 0; j < i; j++) {
                same = same && (block[i] == block[j]) == (partition_of[p][i] == partition_of[p][j]);
            }
        }
        if (same) {
            return p;
        }
    }
    return 5;
}

/* log L(k) p(k) of a partition of the only eligible slot, from the states. */
static double paper_score(const phl_paper_sampler *sampler, const uint32_t *states, unsigned p,
                          const double *base, double phi)
{
    int64_t counts[3][2] = {{0}};
    for (size_t u = 0; u < sampler->n_nodes; u++) {
        uint32_t value = 2;
        for (size_t child = u + 1; child < sampler->n_nodes; child++) {
            bool mine = sampler->nodes[child].parent == u && sampler->nodes[child].eligible == 0;
            value = mine ? states[child] : value;
        }
        if (sampler->nodes[u].leaf_row == PHL_PAPER_SAMPLER_NONE) {
            counts[partition_of[p][value]][states[u]]++;
        }
    }
    double sum = -phi * size_of[p];
    for (unsigned z = 0; z < size_of[p]; z++) {
        sum += phl_log_beta_ratio(base, counts[z], 2);
    }
    return sum;
}

/* Step 2 from every partition of one slot, drawn often, against Algorithm 2.  Nodes with the only
 * child in slot 2 make slot 1 empty; slot 2 is beyond the model. */
static void test_sizes_law(void **unused)
{
    (void)unused;
    static const double temperature = 2.5, phi = 0.7;
    phl_builder *builder = new_builder(false);
    phl_rng rng;
    phl_rng_init(&rng, SEED, 3, 0, 0, 0);
    const char *names[] = {letter[0], letter[1], letter[0], letter[1], letter[0]};
    for (int t = 0; t < 8; t++) {
        shape form = {.size = 5, .parent = {0, 0, 1, 2, 3}, .slot = {1, 1, 2, 1, 1}};
        form.slot[2] = t % 2 == 0 ? 1 : 2;
        form.slot[3] = t % 3 == 0 ? 2 : 1;
        add_tree(builder, &form, names, 1, NULL);
    }
    phl_gibbs_options options = usual_options(5);
    options.prior.phi = phi;
    options.prior.slots_min = 0;
    options.prior.slots_max = 1;
    struct chain chain = start_chain(finish_forest(builder), 2, 1, &options);
    phl_paper_sampler *sampler = chain.sampler;
    uint32_t *states = must_alloc(sampler->n_nodes, sizeof *states);
    for (size_t u = 0; u < sampler->n_nodes; u++) {
        states[u] = random_below(&rng, 2);
    }
    const double base[] = {0.3, 0.7}, log_lambda0[] = {log(0.3), log(0.7)};
    for (unsigned round = 0; round < 9; round++) {
        /* round 5 on: at least one active slot, so a slot that is merged away is split again */
        bool confined = round >= 5;
        unsigned from = confined ? round - 4 : round;
        sampler->gibbs->partitions->prior.slots_min = confined;
        uint32_t block[3];
        memcpy(block, partition_of[from], sizeof block);
        phl_axis axis = {.slot = 1, .size = size_of[from], .block = block};
        phl_params *params = NULL;
        must(phl_params_create(PHL_TF, 2, 1, 2, &axis, size_of[from] > 1, 0, &params, error));
        random_tables(&rng, ROWS_PLAIN, params);
        put_back(sampler, params, log_lambda0, states, 0);
        double expected[5] = {0}, score[5];
        for (unsigned p = 0; p < 5; p++) {
            score[p] = paper_score(sampler, states, p, base, phi);
        }
        /* from one block to each pair of blocks, from three blocks likewise; from two blocks up or
         * down by a coin */
        for (unsigned to = 0; to < 5; to++) {
            double proposed = size_of[from] != 2 ? (size_of[to] == 2 ? 1.0 / 3 : 0)
                              : size_of[to] == 3 ? 0.5
                              : !confined        ? (size_of[to] == 1 ? 0.5 : 0)
                                                 : (size_of[to] == 2 ? 0.5 / 3 : 0);
            double accepted = fmin(1, exp((score[to] - score[from]) / temperature));
            expected[to] += proposed * accepted;
            expected[from] += proposed * (1 - accepted);
        }
        int64_t counts[5] = {0};
        for (uint64_t i = 0; i < DRAWS; i++) {
            put_back(sampler, params, log_lambda0, states, i);
            must(phl_paper_sampler_sizes_draw(sampler, temperature, error));
            unsigned to = which_partition(sampler->gibbs->partitions->block);
            assert_true(to < 5);
            assert_int_equal(size_of[to], sampler->gibbs->partitions->size[0]);
            counts[to]++;
        }
        for (unsigned to = 0; to < 5; to++) {
            double sd = sqrt(DRAWS * expected[to] * (1 - expected[to]));
            assert_true(fabs((double)counts[to] - DRAWS * expected[to]) < SIGMAS * sd + 1e-9);
        }
        phl_params_free(params);
    }
    phl_free(states);
    end_chain(&chain);
}

/* Without active slots z never changes: every proposal of step 1 is taken. */
static void test_no_slots(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 1, 1};
    phl_rng rng;
    phl_rng_init(&rng, SEED, 4, 0, 0, 0);
    phl_gibbs_options options = usual_options(1);
    options.prior.fixed = sizes;
    struct chain chain = start_chain(random_forest(&rng, 3, 2, false), 3, 3, &options);
    for (int step = 0; step < STEPS; step++) {
        step_annealed(chain.sampler);
    }
    assert_int_equal(chain.sampler->trees_taken, chain.sampler->trees_tried);
    assert_int_equal(chain.sampler->sizes_tried, 0);
    end_chain(&chain);
}

/* With exactly one active slot allowed, Algorithm 2 carries it from slot to slot. */
static void test_confines(void **state)
{
    (void)state;
    phl_rng rng;
    phl_rng_init(&rng, SEED, 5, 0, 0, 0);
    phl_gibbs_options options = usual_options(3);
    options.prior.slots_max = 1;
    struct chain chain = start_chain(random_forest(&rng, 3, 2, false), 4, 3, &options);
    const phl_partitions *partitions = chain.sampler->gibbs->partitions;
    uint32_t seen[3] = {0, 0, 0}, largest = 0, undone = 0, total = 4;
    for (int step = 0; step < 500; step++) {
        uint64_t split = partitions->split.changed;
        uint32_t before = total;
        must(phl_paper_sampler_step(chain.sampler, 1e6, error));
        assert_int_equal(partitions->n_active, 1);
        total = 0;
        for (uint32_t e = 0; e < partitions->n_eligible; e++) {
            seen[e] += partitions->size[e] > 1;
            largest = partitions->size[e] > largest ? partitions->size[e] : largest;
            total += partitions->size[e];
        }
        /* a split that was removed again, the merge made to repair it staying */
        undone += partitions->split.changed > split && total < before;
    }
    assert_true(seen[0] > 0 && seen[1] > 0 && seen[2] > 0);
    assert_true(largest > 2 && undone > 0);
    end_chain(&chain);
}

/* ---- A chain is a function of its seed ----------------------------------------------------------
 */

static void check_same(const phl_paper_sampler *a, const phl_paper_sampler *b)
{
    assert_memory_equal(a->state, b->state, a->n_nodes * sizeof *a->state);
    assert_true(a->gibbs->log_joint == b->gibbs->log_joint);
    assert_int_equal(a->gibbs->params->core_rows, b->gibbs->params->core_rows);
    phl_table one, other;
    for (size_t t = 0; phl_params_table(a->gibbs->params, t, &one); t++) {
        assert_true(phl_params_table(b->gibbs->params, t, &other));
        assert_memory_equal(one.data, other.data, one.rows * one.columns * sizeof *one.data);
    }
}

static struct chain numbered_chain(uint64_t forest, uint64_t seed, int threads)
{
    phl_rng rng;
    phl_rng_init(&rng, SEED, 6, 0, 0, forest);
    phl_gibbs_options options = usual_options(seed);
    options.threads = threads;
    phl_forest *made = random_forest(&rng, 3, 3, true);
    return start_chain(made, 4, phl_forest_max_slot(made), &options);
}

static void test_determinism(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 10; number++) {
        struct chain one = numbered_chain(number, 7, 1), two = numbered_chain(number, 7, 2);
        struct chain other = numbered_chain(number, 8, 1), later = numbered_chain(number, 7, 1);
        for (int step = 0; step < 12; step++) {
            step_annealed(one.sampler);
            step_annealed(two.sampler);
            step_annealed(other.sampler);
            if (step == 5) {
                const phl_gibbs *at = one.sampler->gibbs;
                phl_chain_state state_of = {at->iteration, at->params, at->log_lambda0, at->alpha,
                                            at->alpha0};
                must(
                    phl_paper_sampler_restore(later.sampler, &state_of, one.sampler->state, error));
            } else if (step > 5) {
                step_annealed(later.sampler);
            }
        }
        check_same(one.sampler, two.sampler);
        check_same(one.sampler, later.sampler);
        assert_true(one.sampler->gibbs->log_joint != other.sampler->gibbs->log_joint);
        end_chain(&one);
        end_chain(&two);
        end_chain(&other);
        end_chain(&later);
    }
}

/* ---- Odd input
 * ----------------------------------------------------------------------------------- */

static void test_edges(void **state)
{
    (void)state;
    shape single = {.size = 1, .slot = {1}};
    for (int variant = 0; variant < 3; variant++) { /* a lone node; no label at all; tiny beta */
        phl_builder *builder = new_builder(false);
        phl_rng rng;
        phl_rng_init(&rng, SEED, 7, 0, 0, 0);
        shape form = variant == 0 ? single : random_shape(&rng, 12, 3);
        const char *names[MAX_SHAPE];
        for (unsigned u = 0; u < form.size; u++) {
            names[u] = variant == 1 ? NULL : letter[random_below(&rng, 3)];
        }
        add_tree(builder, &form, names, 2, NULL);
        phl_gibbs_options options = usual_options(1);
        options.beta = variant == 2 ? 1e-6 : 1;
        options.alpha0 = variant == 2 ? 1e-6 : 1;
        options.prior.slots_min = variant == 0 ? 0 : 1;
        phl_forest *forest = finish_forest(builder);
        struct chain chain = start_chain(forest, 3, phl_forest_max_slot(forest), &options);
        for (int step = 0; step < STEPS; step++) {
            step_annealed(chain.sampler);
            must(phl_params_check(chain.sampler->gibbs->params, error));
            assert_true(!isnan(chain.sampler->gibbs->log_joint));
            assert_true(!isnan(chain.sampler->gibbs->log_likelihood));
            check_counts(&chain);
        }
        end_chain(&chain);
    }
    phl_builder *builder = new_builder(false);
    add_tree(builder, &single, &letter[0], 0x1p33, NULL);
    phl_forest *forest = finish_forest(builder);
    phl_gibbs_options options = usual_options(1);
    uint32_t row = 0;
    phl_paper_sampler *sampler = NULL;
    phl_index *index = NULL;
    phl_slot_pairs *pairs = NULL;
    must(phl_index_create(forest, 1, false, &index, error));
    must(phl_slot_pairs_create(index, 0.01, &pairs, error));
    assert_int_equal(phl_paper_sampler_create(pairs, &row, 2, 1, &options, &sampler, NULL),
                     PHL_ERR_LIMIT);
    assert_null(sampler);
    phl_slot_pairs_free(pairs);
    phl_index_free(index);
    phl_paper_sampler_free(NULL);
    phl_forest_free(forest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bookkeeping), cmocka_unit_test(test_states_law),
        cmocka_unit_test(test_sizes_law),   cmocka_unit_test(test_no_slots),
        cmocka_unit_test(test_confines),    cmocka_unit_test(test_determinism),
        cmocka_unit_test(test_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
