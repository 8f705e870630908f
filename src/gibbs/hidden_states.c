/* hidden_states.c - step 1 of the blocked sampler: hidden states given parameters, as counts that
 * are divided.
 *
 * Subtrees are visited parents before children.  By then it is known how many of the occurrences of
 * subtree s, by slot, must show which block to their parents (gibbs->pool); they are divided over
 * states by one multinomial draw of beta restricted to the block, which has exactly the law of
 * drawing each occurrence alone.  The n_s(j) occurrences in state j are then divided over the
 * blocks of the active children in the same way, slot by slot (cell_draw.h); each (s, j, z) that
 * gets any is a portion, and adds to the pools of the children.  Internal subtrees that occur once,
 * in no active slot, are drawn in runs of their group's likely state and cell (likely_outcome.h).
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sampler.h"
#include "gibbs/gibbs.h"
#include "model/kernel.h"
#include "model/purposes.h"

/* ---------------------------------------------------------------------------------------------
 * States
 * ------------------------------------------------------------------------------------------- */

/* One of `count` outcomes but `top`, in proportion to weights, that add up to `rest` without it. */
static uint32_t other_outcome(const double *weights, size_t count, size_t top, double rest,
                              phl_rng *rng)
{
    double target = phl_rng_uniform(rng) * rest, sum = 0.0;
    size_t last = top;
    for (size_t i = 0; i < count; i++) {
        sum += i == top ? 0.0 : weights[i];
        if (i != top && weights[i] > 0.0) {
            last = i;
            if (target < sum) {
                break;
            }
        }
    }
    return (uint32_t)last;
}

/* The outcome that has all n, or PHL_MANY. */
static uint32_t which_has_all(int64_t n, const int64_t *counts, size_t count)
{
    uint32_t i = 0;
    while (i < count && counts[i] == 0) {
        i++;
    }
    return i < count && counts[i] == n ? i : PHL_MANY;
}

/* The largest of `count` weights, which add up to `total` but for rounding: `guess` if it has more
 * than half of that, which needs no look at the others and leads to the same one. */
static size_t largest(const double *weights, size_t count, double total, uint32_t guess)
{
    size_t top = 0;
    if (guess < count && weights[guess] > 0.5 * total) {
        return guess;
    }
    for (size_t i = 1; i < count; i++) {
        top = weights[i] > weights[top] ? i : top;
    }
    return top;
}

/* Divide n over `count` outcomes in proportion to weights, which add up to `total` but for
 * rounding: the law of phl_multinomial_draw, made for weights of which one outdoes the others,
 * `guess` perhaps.  If all fall on one it is returned; else PHL_MANY, and `to` has got the numbers.
 * How many fall on others than the largest is a binomial draw by inversion, and since
 * (1 - r)^n >= 1 - n r it mostly needs no power. */
static uint32_t divide(int64_t n, const double *weights, size_t count, double total, uint32_t guess,
                       phl_rng *rng, int64_t *to)
{
    size_t top = largest(weights, count, total, guess);
    double rest = weights[top] < total ? total - weights[top] : 0.0;
    double r = total == 1.0 ? rest : rest / total, times = (double)n;
    bool even = times * r >= 4.0 || r > 0.999; /* else (1 - r)^n is far from underflow */
    if (even && weights[top] > 0.0) {
        phl_multinomial_draw(rng, n, weights, count, to);
        return which_has_all(n, to, count);
    }
    double u = phl_rng_uniform(rng);
    int64_t others = 0;
    if (u > 1.0 - times * r) {
        double mass = exp(times * log1p(-r));
        while (u > mass && others < n && mass > 1e-25) {
            u -= mass;
            others++;
            mass *= r / (1.0 - r) * (double)(n - others + 1) / (double)others;
        }
    }
    if (others == 0) {
        return (uint32_t)top;
    }
    memset(to, 0, count * sizeof *to);
    to[top] = n - others;
    for (; others > 0; others--) {
        to[other_outcome(weights, count, top, rest, rng)]++;
    }
    return which_has_all(n, to, count);
}

/* beta of s: the first of its twins has it. */
static const double *beta_of(const phl_gibbs *gibbs, uint32_t s)
{
    const phl_twins *twins = &gibbs->upward->twins;
    return gibbs->upward->beta + (size_t)twins->first[twins->group[s]] * gibbs->params->states;
}

/* beta of s restricted to block z of axis a, into gibbs->weights. */
static void restrict_beta(phl_gibbs *gibbs, uint32_t s, uint32_t a, size_t z)
{
    size_t c = gibbs->params->states;
    const double *beta = beta_of(gibbs, s);
    const double *share = gibbs->share + gibbs->first_share[a] + z * c;
    for (size_t q = 0; q < c; q++) {
        gibbs->weights[q] = share[q] * beta[q];
    }
}

/* Occurrences by state, which mostly are all in one: `one`, or PHL_MANY and count [C] has them. */
struct tally {
    int64_t *count;
    int64_t n;
    uint32_t one;
};

/* Add what divide gave. */
static void tally_add(struct tally *tally, size_t c, int64_t n, uint32_t one, const int64_t *drawn)
{
    if (one != PHL_MANY && (tally->n == 0 || tally->one == one)) {
        tally->one = one;
        tally->n += n;
        return;
    }
    if (tally->n == 0 || tally->one != PHL_MANY) {
        memset(tally->count, 0, c * sizeof *tally->count);
        tally->count[tally->n == 0 ? 0 : tally->one] = tally->n;
        tally->one = PHL_MANY;
    }
    tally->n += n;
    if (one != PHL_MANY) {
        tally->count[one] += n;
        return;
    }
    for (size_t q = 0; q < c; q++) {
        tally->count[q] += drawn[q];
    }
}

/* Soft: children of axis a that show block z. */
static void count_kappa(phl_gibbs *gibbs, uint32_t a, size_t z, int64_t n, uint32_t one,
                        const int64_t *drawn)
{
    size_t c = gibbs->params->states, size = gibbs->params->axes[a].size;
    int64_t *count = gibbs->counts.kappa[a] + z;
    if (one != PHL_MANY) {
        count[one * size] += n;
        return;
    }
    for (size_t q = 0; q < c; q++) {
        count[q * size] += drawn[q];
    }
}

/* The occurrences of s as a child of one pair, in an active slot, into `value`. */
static void divide_blocks(phl_gibbs *gibbs, uint32_t s, uint32_t pair, uint32_t a, phl_rng *rng,
                          struct tally *value)
{
    const phl_params *params = gibbs->params;
    size_t c = params->states;
    for (size_t z = 0; z < params->axes[a].size; z++) {
        int64_t n = gibbs->pool[pair * gibbs->upward->width + z];
        if (n == 0) {
            continue;
        }
        restrict_beta(gibbs, s, a, z);
        double total = gibbs->upward->message[pair * gibbs->upward->width + z];
        uint32_t guess = gibbs->state_counts->one_value[pair];
        uint32_t one = divide(n, gibbs->weights, c, total, guess, rng, gibbs->drawn);
        tally_add(value, c, n, one, gibbs->drawn);
        if (params->soft) {
            count_kappa(gibbs, a, z, n, one, gibbs->drawn);
        }
    }
}

/* The state of the one occurrence of s, which is a child of `pair` or free. */
static uint32_t draw_lone_state(phl_gibbs *gibbs, uint32_t s, uint32_t pair, phl_rng *rng)
{
    const phl_params *params = gibbs->params;
    size_t c = params->states;
    const double *weights = beta_of(gibbs, s);
    double total = 1.0;
    uint32_t number =
        pair == PHL_NO_PAIR ? 0 : params->axis_of_slot[gibbs->index->pair_row[pair] + 1];
    size_t z = 0;
    if (number != 0) {
        const int64_t *pool = gibbs->pool + pair * gibbs->upward->width;
        while (pool[z] == 0) {
            z++;
        }
        restrict_beta(gibbs, s, number - 1, z);
        weights = gibbs->weights;
        total = gibbs->upward->message[pair * gibbs->upward->width + z];
    }
    uint32_t j = (uint32_t)phl_categorical_draw_total(rng, weights, c, total);
    if (number != 0 && params->soft) {
        gibbs->counts.kappa[number - 1][j * params->axes[number - 1].size + z]++;
    }
    return j;
}

/* n_s: the states of all occurrences of s. */
static struct tally draw_states(phl_gibbs *gibbs, uint32_t s, phl_rng *rng)
{
    const phl_params *params = gibbs->params;
    const phl_index *index = gibbs->index;
    const phl_slot_pairs *pairs = gibbs->pairs;
    phl_state_counts *counts = gibbs->state_counts;
    size_t c = params->states;
    const double *beta = beta_of(gibbs, s);
    struct tally state = {gibbs->counts.state + s * c, 0, 0};
    uint32_t before = gibbs->counts.one_state[s];
    if (pairs->free_times[s] > 0) {
        uint32_t one = divide(pairs->free_times[s], beta, c, 1.0, before, rng, gibbs->drawn);
        tally_add(&state, c, pairs->free_times[s], one, gibbs->drawn);
    }
    for (uint32_t pair = index->first_pair[s]; pair < index->first_pair[s + 1]; pair++) {
        if (pairs->pair_times[pair] == 0) {
            continue; /* not in an eligible slot */
        }
        uint32_t number = params->axis_of_slot[index->pair_row[pair] + 1];
        struct tally value = {counts->value + pair * c, 0, 0};
        if (number != 0) {
            divide_blocks(gibbs, s, pair, number - 1, rng, &value);
        } else {
            value.n = pairs->pair_times[pair];
            value.one = divide(value.n, beta, c, 1.0, before, rng, value.count);
        }
        counts->one_value[pair] = value.one;
        tally_add(&state, c, value.n, value.one, value.count);
    }
    gibbs->counts.one_state[s] = state.one;
    return state;
}

/* ---------------------------------------------------------------------------------------------
 * Cells
 * ------------------------------------------------------------------------------------------- */

/* n of the occurrences at hand show block z in a slot. */
static void show_block(phl_gibbs *gibbs, const phl_cell_draw_slot *slot, size_t z, int64_t n)
{
    if (slot->pair != PHL_NO_PAIR) {
        gibbs->pool[slot->pair * gibbs->upward->width + z] += n;
    } else { /* empty, which only soft ones leave open */
        size_t a = (size_t)(slot->axis - gibbs->cell_draw.axis);
        gibbs->counts.kappa[a][gibbs->params->states * slot->axis->size + z] += n;
    }
}

/* n occurrences of s in state j use a cell. */
static phl_status use_cell(phl_gibbs *gibbs, uint32_t s, uint32_t j, size_t cell, int64_t n,
                           phl_error *error)
{
    if (gibbs->params->soft) {
        gibbs->counts.core[cell * gibbs->params->states + j] += n;
        return PHL_OK;
    }
    return phl_state_counts_add(gibbs->state_counts, s, j, (uint32_t)cell, n, error);
}

/* Draw the cell of one of the occurrences of a batch; target is uniform up to its total. */
static size_t draw_cell(phl_gibbs *gibbs, const phl_cell_draw_node *node,
                        const phl_cell_draw_batch *batch, double target)
{
    size_t at = batch->at, cell = batch->cell;
    for (size_t i = batch->left; i-- > 0;) {
        const phl_cell_draw_slot *slot = &node->slot[i];
        size_t z = phl_cell_draw_block(slot, at, &target);
        show_block(gibbs, slot, z, 1);
        at += z * slot->step;
        cell += z * slot->axis->stride;
    }
    return cell;
}

enum { FEW = 8 }; /* occurrences that are drawn one by one */

/* The cells of a batch of few occurrences of s in state j. */
static phl_status draw_cells(phl_gibbs *gibbs, uint32_t s, const phl_cell_draw_node *node,
                             uint32_t j, const phl_cell_draw_batch *batch, phl_rng *rng,
                             phl_error *error)
{
    size_t cell[FEW], count = 0;
    int64_t times[FEW];
    if (batch->n == 1) {
        size_t one = draw_cell(gibbs, node, batch, phl_rng_uniform(rng) * batch->total);
        return use_cell(gibbs, s, j, one, 1, error);
    }
    for (int64_t n = batch->n; n > 0; n--) {
        size_t i = 0;
        cell[count] = draw_cell(gibbs, node, batch, phl_rng_uniform(rng) * batch->total);
        while (cell[i] != cell[count]) {
            i++;
        }
        times[i] = i < count ? times[i] + 1 : 1;
        count += i == count;
    }
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < count; i++) {
        status = use_cell(gibbs, s, j, cell[i], times[i], error);
    }
    return status;
}

/* Divide a batch over the blocks of the last slot it has left, into batches at `to`: how many. */
static size_t divide_batch(phl_gibbs *gibbs, const phl_cell_draw_node *node,
                           phl_cell_draw_batch batch, phl_rng *rng, phl_cell_draw_batch *to)
{
    const phl_cell_draw_slot *slot = &node->slot[batch.left - 1];
    int64_t *drawn = gibbs->drawn;
    size_t size = slot->axis->size, count = 0;
    for (size_t z = 0; z < size; z++) {
        gibbs->weights[z] = slot->m[z] * slot->rest[batch.at + z * slot->step];
    }
    uint32_t one = divide(batch.n, gibbs->weights, size, batch.total, 0, rng, drawn);
    for (size_t z = one == PHL_MANY ? 0 : one; z < (one == PHL_MANY ? size : one + 1u); z++) {
        int64_t n = one == PHL_MANY ? drawn[z] : batch.n;
        if (n > 0) {
            size_t at = batch.at + z * slot->step;
            show_block(gibbs, slot, z, n);
            to[count++] = (phl_cell_draw_batch){.left = batch.left - 1,
                                                .at = at,
                                                .cell = batch.cell + z * slot->axis->stride,
                                                .total = slot->rest[at],
                                                .n = n};
        }
    }
    return count;
}

/* Divide the occurrences of s in state j over its cells. */
static phl_status divide_cells(phl_gibbs *gibbs, uint32_t s, phl_cell_draw_node *node, uint32_t j,
                               int64_t n, phl_rng *rng, phl_error *error)
{
    if (node->n == 0) {
        return use_cell(gibbs, s, j, node->cell, n, error);
    }
    phl_cell_draw_in_state(&gibbs->cell_draw, node, j);
    phl_cell_draw_batch batch = {.left = node->n, .cell = node->cell, .total = node->total, .n = n};
    if (n <= FEW) {
        return draw_cells(gibbs, s, node, j, &batch, rng, error);
    }
    phl_cell_draw_batch *waiting = gibbs->cell_draw.waiting;
    size_t count = divide_batch(gibbs, node, batch, rng, waiting);
    phl_status status = PHL_OK;
    while (status == PHL_OK && count > 0) {
        batch = waiting[--count];
        if (batch.left == 0) {
            status = use_cell(gibbs, s, j, batch.cell, batch.n, error);
        } else if (batch.n <= FEW) {
            status = draw_cells(gibbs, s, node, j, &batch, rng, error);
        } else {
            count += divide_batch(gibbs, node, batch, rng, waiting + count);
        }
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * All subtrees
 * ------------------------------------------------------------------------------------------- */

/* State j of the one occurrence of s, which is a child of `pair` or free. */
static void note_lone_state(phl_gibbs *gibbs, uint32_t s, uint32_t pair, uint32_t j)
{
    int32_t label = gibbs->index->forest->label[s];
    gibbs->counts.one_state[s] = j;
    if (pair != PHL_NO_PAIR) {
        gibbs->state_counts->one_value[pair] = j;
    }
    if (label >= 0) {
        gibbs->counts.emission[gibbs->label_row[label] * gibbs->params->states + j]++;
    }
}

/* A subtree that occurs once. */
static phl_status draw_lone(phl_gibbs *gibbs, uint32_t s, uint32_t pair, phl_rng *rng,
                            phl_error *error)
{
    const phl_params *params = gibbs->params;
    uint32_t leaf_slot = gibbs->index->forest->leaf_slot[s];
    uint32_t j = draw_lone_state(gibbs, s, pair, rng);
    note_lone_state(gibbs, s, pair, j);
    if (leaf_slot != 0) {
        gibbs->counts.prior[phl_leaf_row(params, leaf_slot) * params->states + j]++;
        return PHL_OK;
    }
    phl_cell_draw_node node;
    phl_cell_draw_open(&gibbs->cell_draw, s, &node);
    return divide_cells(gibbs, s, &node, j, 1, rng, error);
}

/* An internal subtree that occurs once, in no active slot, and has the likely outcome. */
static phl_status take_likely(phl_gibbs *gibbs, uint32_t s, uint32_t pair,
                              const phl_likely_outcome *likely, const uint32_t *block,
                              phl_error *error)
{
    const phl_twins *twins = &gibbs->upward->twins;
    const uint32_t *seen = twins->seen + (s - twins->n_leaves) * twins->n_slots;
    note_lone_state(gibbs, s, pair, likely->state);
    for (size_t a = 0; a < twins->n_slots; a++) {
        if (seen[a] != PHL_NO_PAIR) {
            gibbs->pool[seen[a] * gibbs->upward->width + block[a]]++;
        }
    }
    return use_cell(gibbs, s, likely->state, likely->cell, 1, error);
}

/* The same with any other outcome. */
static phl_status take_other(phl_gibbs *gibbs, uint32_t s, uint32_t pair,
                             const phl_likely_outcome *likely, phl_rng *rng, phl_error *error)
{
    phl_cell_draw_node node;
    phl_cell_draw_open(&gibbs->cell_draw, s, &node);
    if (phl_rng_uniform(rng) * likely->odd < likely->odd_state) {
        uint32_t j = other_outcome(beta_of(gibbs, s), gibbs->params->states, likely->state,
                                   likely->odd_state, rng);
        note_lone_state(gibbs, s, pair, j);
        return divide_cells(gibbs, s, &node, j, 1, rng, error);
    }
    note_lone_state(gibbs, s, pair, likely->state);
    phl_cell_draw_in_state(&gibbs->cell_draw, &node, likely->state);
    double target = phl_rng_uniform(rng) * (node.total - likely->width);
    target += target >= likely->begin ? likely->width : 0.0; /* not the likely cell */
    phl_cell_draw_batch batch = {.left = node.n, .cell = node.cell, .total = node.total, .n = 1};
    return use_cell(gibbs, s, likely->state, draw_cell(gibbs, &node, &batch, target), 1, error);
}

/* An internal subtree that occurs once, in no active slot. */
static phl_status draw_free(phl_gibbs *gibbs, uint32_t s, uint32_t pair, phl_rng *rng,
                            phl_error *error)
{
    const phl_twins *twins = &gibbs->upward->twins;
    size_t g = twins->group[s] - twins->n_leaves;
    phl_likely_outcome *likely = &gibbs->likely.group[g];
    if (likely->met < PHL_LIKELY_OUTCOME_AFTER) {
        likely->met++;
        return draw_lone(gibbs, s, pair, rng, error);
    }
    if (likely->met == PHL_LIKELY_OUTCOME_AFTER) {
        likely->met++;
        phl_likely_outcome_make(&gibbs->likely, &gibbs->cell_draw, s, g, rng);
    }
    if (likely->run > 0) {
        likely->run--;
        return take_likely(gibbs, s, pair, likely, gibbs->likely.block + g * twins->n_slots, error);
    }
    likely->run = phl_likely_outcome_run(likely->odd, rng);
    return take_other(gibbs, s, pair, likely, rng, error);
}

/* One that occurs more often. */
static phl_status draw_subtree(phl_gibbs *gibbs, uint32_t s, phl_rng *rng, phl_error *error)
{
    const phl_params *params = gibbs->params;
    const phl_forest *forest = gibbs->index->forest;
    size_t c = params->states;
    struct tally state = draw_states(gibbs, s, rng);
    uint32_t first = state.one == PHL_MANY ? 0 : state.one;
    uint32_t end = state.one == PHL_MANY ? (uint32_t)c : state.one + 1;
    int32_t label = forest->label[s];
    bool leaf = forest->leaf_slot[s] != 0;
    phl_cell_draw_node node;
    phl_status status = PHL_OK;
    if (!leaf) {
        phl_cell_draw_open(&gibbs->cell_draw, s, &node);
    }
    for (uint32_t j = first; status == PHL_OK && j < end; j++) {
        int64_t n = state.one == PHL_MANY ? state.count[j] : state.n;
        if (label >= 0) {
            gibbs->counts.emission[gibbs->label_row[label] * c + j] += n;
        }
        if (leaf) {
            gibbs->counts.prior[phl_leaf_row(params, forest->leaf_slot[s]) * c + j] += n;
        } else if (n > 0) {
            status = divide_cells(gibbs, s, &node, j, n, rng, error);
        }
    }
    return status;
}

static phl_status draw_any(phl_gibbs *gibbs, uint32_t s, phl_rng *rng, phl_error *error)
{
    uint32_t pair = gibbs->pairs->lone_pair[s];
    if (pair == PHL_NOT_LONE) {
        return draw_subtree(gibbs, s, rng, error);
    }
    bool active =
        pair != PHL_NO_PAIR && gibbs->params->axis_of_slot[gibbs->index->pair_row[pair] + 1] != 0;
    return active || gibbs->params->soft || gibbs->index->forest->leaf_slot[s] != 0
               ? draw_lone(gibbs, s, pair, rng, error)
               : draw_free(gibbs, s, pair, rng, error);
}

/* share[a][z][q]: 1 if state q is in block z of axis a, soft: kappa. */
static phl_status prepare_shares(phl_gibbs *gibbs, phl_error *error)
{
    const phl_params *params = gibbs->params;
    size_t c = params->states, at = 0;
    for (uint32_t a = 0; a < params->n_axes; a++) {
        gibbs->first_share[a] = at;
        at += params->axes[a].size * c;
    }
    phl_status status =
        phl_grow(&gibbs->share, &gibbs->share_capacity, at, sizeof *gibbs->share, error);
    for (uint32_t a = 0; status == PHL_OK && a < params->n_axes; a++) {
        const phl_axis *axis = &params->axes[a];
        for (size_t z = 0; z < axis->size; z++) {
            for (size_t q = 0; q < c; q++) {
                gibbs->share[gibbs->first_share[a] + z * c + q] =
                    axis->block != NULL ? (double)(axis->block[q] == z)
                                        : axis->matrix[q * axis->size + z];
            }
        }
    }
    return status;
}

/* Room for what depends on the active slots, and all counts at 0. */
static phl_status prepare(phl_gibbs *gibbs, phl_error *error)
{
    const phl_params *params = gibbs->params;
    size_t c = params->states;
    size_t most = 2 * (params->core_rows > c ? params->core_rows : c);
    const phl_twins *twins = &gibbs->upward->twins;
    size_t width = gibbs->upward->width, pools = gibbs->index->n_pairs * width;
    phl_status status = prepare_shares(gibbs, error);
    if (status != PHL_OK) {
        return status;
    }
    status =
        phl_grow(&gibbs->weights, &gibbs->weight_capacity, most, sizeof *gibbs->weights, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_grow(&gibbs->drawn, &gibbs->drawn_capacity, most, sizeof *gibbs->drawn, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_cell_draw_prepare(&gibbs->cell_draw, gibbs->upward, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_likely_outcome_prepare(&gibbs->likely, gibbs->upward, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_grow(&gibbs->pool, &gibbs->pool_capacity, pools, sizeof *gibbs->pool, error);
    if (status != PHL_OK) {
        return status;
    }
    for (size_t i = 0; i < twins->sent_level[gibbs->index->forest->n_levels]; i++) {
        memset(gibbs->pool + twins->sent[i] * width, 0, width * sizeof *gibbs->pool);
    }
    memset(gibbs->counts.prior, 0, ((size_t)params->slots + 1) * c * sizeof *gibbs->counts.prior);
    for (size_t i = 0; i < gibbs->n_seen; i++) { /* no other label ever has a count */
        memset(gibbs->counts.emission + gibbs->label_order[i] * c, 0,
               c * sizeof *gibbs->counts.emission);
    }
    if (params->soft) {
        memset(gibbs->counts.core, 0, params->core_rows * c * sizeof *gibbs->counts.core);
        for (uint32_t a = 0; a < params->n_axes; a++) {
            memset(gibbs->counts.kappa[a], 0,
                   (c + 1) * params->axes[a].size * sizeof *gibbs->counts.kappa[a]);
        }
    }
    phl_state_counts_reset(gibbs->state_counts);
    return PHL_OK;
}

phl_status phl_hidden_states_draw(phl_gibbs *gibbs, phl_error *error)
{
    enum { STREAM = 64 }; /* subtrees that share a random stream */
    const phl_forest *forest = gibbs->index->forest;
    phl_status status =
        gibbs->passed ? PHL_OK : phl_upward_norms(gibbs->upward, gibbs->options.threads, error);
    gibbs->passed = false;
    if (status == PHL_OK) {
        gibbs->log_likelihood = phl_upward_total(gibbs->upward, gibbs->times);
        status = isfinite(gibbs->log_likelihood)
                     ? prepare(gibbs, error)
                     : phl_raise(error, PHL_ERR_ARGUMENT,
                                 "use concentrations (" PHL_OPTION("train.alpha") ", " PHL_OPTION(
                                     "train.beta") ", " PHL_OPTION("train.gamma") ") nearer to 1",
                                 "the tables drawn in iteration %llu give trees no probability",
                                 (unsigned long long)gibbs->iteration);
    }
    phl_rng rng;
    phl_gibbs_rng(gibbs, PHL_PURPOSE_HIDDEN_STATES, UINT64_MAX, &rng);
    for (uint32_t s = (uint32_t)forest->n_subtrees; status == PHL_OK && s-- > 0;) {
        if (s % STREAM == STREAM - 1) {
            phl_gibbs_rng(gibbs, PHL_PURPOSE_HIDDEN_STATES, s / STREAM, &rng);
        }
        status = draw_any(gibbs, s, &rng, error);
    }
    return status == PHL_OK && !gibbs->params->soft ? phl_partitions_count(gibbs->partitions, error)
                                                    : status;
}
