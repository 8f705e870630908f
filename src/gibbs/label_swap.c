/* label_swap.c - exact swaps of two hidden states in a group; see label_swap.h. */
#include "gibbs/label_swap.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "gibbs/partition_state.h"
#include "model/kernel.h"
#include "model/purposes.h"

enum { LISTED = 1, FLIPPED = 2 };

/* ---------------------------------------------------------------------------------------------
 * Making
 * ------------------------------------------------------------------------------------------- */

/* How many moves cost about as much as looking at a tenth of all subtrees and their parents. */
static size_t choose_tries(const phl_gibbs *gibbs, const phl_label_groups *groups)
{
    size_t share = groups->n_groups / (10 * PHL_LABEL_GROUP_KINDS);
    return gibbs->params->states < 2 || groups->n_groups == 0 ? 0 : share < 1 ? 1 : share;
}

phl_status phl_label_swap_create(const phl_gibbs *gibbs, phl_label_swap **swap, phl_error *error)
{
    phl_label_swap *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    size_t rows = (size_t)gibbs->params->slots + 1;
    phl_status status = phl_label_groups_create(gibbs->index->forest, &made->groups, error);
    made->place = phl_alloc_zero(gibbs->index->n_pairs, sizeof *made->place, error);
    made->totals = phl_alloc_zero(gibbs->params->states, sizeof *made->totals, error);
    made->prior_change = phl_alloc_zero(rows, sizeof *made->prior_change, error);
    made->rows = phl_alloc(rows, sizeof *made->rows, error);
    made->row_listed = phl_alloc_zero(rows, 1, error);
    if (status != PHL_OK || made->place == NULL || made->totals == NULL ||
        made->prior_change == NULL || made->rows == NULL || made->row_listed == NULL) {
        phl_label_swap_free(made);
        return PHL_ERR_MEMORY;
    }
    const phl_slot_pairs *pairs = gibbs->pairs;
    for (size_t i = 0; i < pairs->first_pair[pairs->n_eligible]; i++) {
        made->place[pairs->pair[i]] = i;
    }
    made->tries = choose_tries(gibbs, made->groups);
    *swap = made;
    return PHL_OK;
}

void phl_label_swap_free(phl_label_swap *swap)
{
    if (swap == NULL) {
        return;
    }
    phl_label_groups_free(swap->groups);
    phl_free(swap->place);
    phl_free(swap->totals);
    phl_free(swap->touched);
    phl_free(swap->mark);
    phl_free(swap->shift);
    phl_free(swap->cell_change);
    phl_free(swap->total_change);
    phl_free(swap->prior_change);
    phl_free(swap->rows);
    phl_free(swap->row_listed);
    phl_free(swap->keys);
    phl_free(swap);
}

/* Room for n elements that are 0 until somebody sets them. */
static phl_status grow_zero(int64_t **array, size_t *capacity, size_t n, phl_error *error)
{
    size_t had = *capacity;
    phl_status status = phl_grow(array, capacity, n, sizeof **array, error);
    if (status == PHL_OK && *capacity > had) {
        memset(*array + had, 0, (*capacity - had) * sizeof **array);
    }
    return status;
}

phl_status phl_label_swap_begin(phl_gibbs *gibbs, phl_error *error)
{
    phl_label_swap *swap = gibbs->swap;
    size_t c = gibbs->params->states, cells = gibbs->partitions->n_cells;
    size_t portions = gibbs->state_counts->n_portions, had = swap->mark_capacity;
    const phl_room rooms[] = {
        PHL_ROOM(swap->touched, swap->touched_capacity, portions),
        PHL_ROOM(swap->mark, swap->mark_capacity, portions),
        PHL_ROOM(swap->keys, swap->key_capacity, 2 * portions),
    };
    phl_status status = phl_grow_all(rooms, sizeof rooms / sizeof *rooms, error);
    if (swap->mark_capacity > had) {
        memset(swap->mark + had, 0, swap->mark_capacity - had);
    }
    if (status == PHL_OK) {
        status = grow_zero(&swap->shift, &swap->shift_capacity, portions, error);
    }
    if (status == PHL_OK) {
        status = grow_zero(&swap->cell_change, &swap->cell_change_capacity, cells * c, error);
    }
    if (status == PHL_OK) {
        status = grow_zero(&swap->total_change, &swap->total_change_capacity, cells, error);
    }
    memset(swap->totals, 0, c * sizeof *swap->totals);
    for (size_t i = 0; i < gibbs->n_seen; i++) {
        for (size_t j = 0; j < c; j++) {
            swap->totals[j] += gibbs->counts.emission[gibbs->label_order[i] * c + j];
        }
    }
    swap->changed = false;
    return status;
}

void phl_label_swap_end(phl_gibbs *gibbs)
{
    if (gibbs->swap->changed) {
        phl_partitions_survey_cells(gibbs->partitions);
    }
}

/* ---------------------------------------------------------------------------------------------
 * What a swap would touch
 * ------------------------------------------------------------------------------------------- */

/* A swap under way: members of the group in a go to b, those in b to a. */
struct attempt {
    uint32_t a, b;
    int64_t moved; /* nodes that go from a to b, less those that go from b to a */
};

static void list_portion(phl_label_swap *swap, uint32_t r)
{
    if (swap->mark[r] == 0) {
        swap->touched[swap->n_touched++] = r;
    }
    swap->mark[r] |= LISTED;
}

/* Portions of s in the two states change their state. */
static void flip_portions(phl_gibbs *gibbs, uint32_t s, const struct attempt *at)
{
    const phl_portion *portion = gibbs->state_counts->portion;
    for (uint32_t r = phl_state_counts_first(gibbs->state_counts, s); r != PHL_NO_PORTION;
         r = portion[r].next) {
        if (portion[r].state == at->a || portion[r].state == at->b) {
            list_portion(gibbs->swap, r);
            gibbs->swap->mark[r] |= FLIPPED;
        }
    }
}

/* Is it certain who of the parents of a pair has a child in a, and who in b? */
static bool is_certain(const phl_gibbs *gibbs, uint32_t pair, const uint32_t *block,
                       const struct attempt *at)
{
    const phl_state_counts *counts = gibbs->state_counts;
    bool certain = true;
    for (uint32_t q = 0; counts->one_value[pair] == PHL_MANY && q < counts->states; q++) {
        certain =
            certain && (q == at->a || q == at->b || phl_state_counts_value(counts, pair, q) == 0 ||
                        (block[q] != block[at->a] && block[q] != block[at->b]));
    }
    return certain;
}

/* Parents of a pair in active slot e show the other of the two blocks. */
static void shift_parents(phl_gibbs *gibbs, uint32_t pair, uint32_t e, const struct attempt *at)
{
    phl_label_swap *swap = gibbs->swap;
    const phl_slot_pairs *pairs = gibbs->pairs;
    const phl_portion *portion = gibbs->state_counts->portion;
    const uint32_t *block = phl_partitions_blocks(gibbs->partitions, e);
    size_t stride = gibbs->partitions->stride[e], size = gibbs->partitions->size[e];
    int64_t step = ((int64_t)block[at->b] - (int64_t)block[at->a]) * (int64_t)stride;
    size_t place = swap->place[pair];
    for (size_t i = pairs->first_parent[place]; i < pairs->first_parent[place + 1]; i++) {
        for (uint32_t r = pairs->parent[i]; r != PHL_NO_PORTION; r = portion[r].next) {
            size_t shown = portion[r].cell / stride % size;
            if (shown == block[at->a] || shown == block[at->b]) {
                list_portion(swap, r);
                swap->shift[r] += shown == block[at->a] ? step : -step;
            }
        }
    }
}

/* The eligible slot of a pair, if it is active. */
static uint32_t active_slot(const phl_gibbs *gibbs, uint32_t pair)
{
    uint32_t row = gibbs->index->pair_row[pair];
    uint32_t e = row < gibbs->index->slots ? gibbs->pairs->eligible_of[row + 1] : PHL_NOT_ELIGIBLE;
    return e != PHL_NOT_ELIGIBLE && gibbs->partitions->size[e] > 1 ? e : PHL_NOT_ELIGIBLE;
}

/* Leaves beyond slot L stay out of all groups: a mean of other rows takes the place of their pi. */
static bool stays_out(const phl_gibbs *gibbs, uint32_t s)
{
    return gibbs->index->forest->leaf_slot[s] > gibbs->params->slots;
}

/* One member of the group.  False: the swap has to be left alone. */
static bool touch_member(phl_gibbs *gibbs, uint32_t s, struct attempt *at)
{
    phl_label_swap *swap = gibbs->swap;
    int64_t in_a = phl_gibbs_count(gibbs, s, at->a), in_b = phl_gibbs_count(gibbs, s, at->b);
    uint32_t leaf_slot = gibbs->index->forest->leaf_slot[s];
    if (stays_out(gibbs, s) || (in_a == 0 && in_b == 0)) {
        return true;
    }
    at->moved += in_a - in_b;
    if (leaf_slot != 0) {
        size_t row = phl_leaf_row(gibbs->params, leaf_slot);
        if (swap->row_listed[row] == 0) {
            swap->row_listed[row] = 1;
            swap->rows[swap->n_rows++] = (uint32_t)row;
        }
        swap->prior_change[row] += in_a - in_b;
    } else {
        flip_portions(gibbs, s, at);
    }
    for (uint32_t pair = gibbs->index->first_pair[s]; pair < gibbs->index->first_pair[s + 1];
         pair++) {
        uint32_t e = active_slot(gibbs, pair);
        const uint32_t *block =
            e == PHL_NOT_ELIGIBLE ? NULL : phl_partitions_blocks(gibbs->partitions, e);
        if (block == NULL || block[at->a] == block[at->b] ||
            (phl_state_counts_value(gibbs->state_counts, pair, at->a) == 0 &&
             phl_state_counts_value(gibbs->state_counts, pair, at->b) == 0)) {
            continue;
        }
        if (!is_certain(gibbs, pair, block, at)) {
            return false;
        }
        shift_parents(gibbs, pair, e, at);
    }
    return true;
}

/* ---------------------------------------------------------------------------------------------
 * The ratio
 * ------------------------------------------------------------------------------------------- */

static double step_of(const phl_rising *rising, int64_t n, int64_t change)
{
    return phl_rising_get(rising, n + change) - phl_rising_get(rising, n);
}

static uint32_t other_state(const struct attempt *at, uint32_t state)
{
    return state == at->a ? at->b : at->a;
}

static void change_cell(phl_label_swap *swap, size_t c, size_t cell, uint32_t state, int64_t n)
{
    size_t key = cell * c + state;
    swap->keys[swap->n_keys] = key;
    swap->n_keys += swap->cell_change[key] == 0;
    swap->cell_change[key] += n;
    swap->total_change[cell] += n;
}

/* Counts of the cells as the touched portions change them. */
static void change_cells(phl_gibbs *gibbs, const struct attempt *at)
{
    phl_label_swap *swap = gibbs->swap;
    size_t c = gibbs->params->states;
    swap->n_keys = 0;
    for (size_t i = 0; i < swap->n_touched; i++) {
        uint32_t r = swap->touched[i];
        const phl_portion *old = &gibbs->state_counts->portion[r];
        uint32_t state = swap->mark[r] & FLIPPED ? other_state(at, old->state) : old->state;
        change_cell(swap, c, old->cell, old->state, -old->n);
        change_cell(swap, c, (size_t)((int64_t)old->cell + swap->shift[r]), state, old->n);
    }
}

/* log of the ratio of the core; the changes become 0, and if `apply` is set they are made. */
static double settle_cells(phl_gibbs *gibbs, bool apply)
{
    phl_label_swap *swap = gibbs->swap;
    phl_partitions *partitions = gibbs->partitions;
    size_t c = gibbs->params->states;
    double gain = 0.0;
    for (size_t i = 0; i < swap->n_keys; i++) {
        size_t key = swap->keys[i], cell = key / c;
        int64_t change = swap->cell_change[key], total = swap->total_change[cell];
        if (change != 0) {
            gain += step_of(&partitions->rising[key % c], partitions->cells[key], change);
        }
        if (total != 0) {
            gain -= step_of(&partitions->rising_total, partitions->totals[cell], total);
        }
        partitions->cells[key] += apply ? change : 0;
        partitions->totals[cell] += apply ? total : 0;
        swap->cell_change[key] = swap->total_change[cell] = 0;
    }
    return gain;
}

/* log of the ratio of b, whose row of counts is given, and of pi. */
static double gain_of_tables(const phl_gibbs *gibbs, const int64_t *emission,
                             const struct attempt *at)
{
    const phl_label_swap *swap = gibbs->swap;
    const phl_rising *each = &gibbs->emission_rising[0], *all = &gibbs->emission_rising[1];
    size_t c = gibbs->params->states;
    double gain = 0.0;
    if (emission != NULL && at->moved != 0) {
        gain += step_of(each, emission[at->a], -at->moved) +
                step_of(each, emission[at->b], at->moved) -
                step_of(all, swap->totals[at->a], -at->moved) -
                step_of(all, swap->totals[at->b], at->moved);
    }
    each = &gibbs->prior_rising[0];
    for (size_t i = 0; i < swap->n_rows; i++) {
        const int64_t *row = gibbs->counts.prior + swap->rows[i] * c;
        int64_t change = swap->prior_change[swap->rows[i]];
        gain += step_of(each, row[at->a], -change) + step_of(each, row[at->b], change);
    }
    return gain;
}

/* ---------------------------------------------------------------------------------------------
 * Making the swap
 * ------------------------------------------------------------------------------------------- */

static void exchange(int64_t *counts, const struct attempt *at)
{
    int64_t in_a = counts[at->a];
    counts[at->a] = counts[at->b];
    counts[at->b] = in_a;
}

/* Occurrences and children of a member. */
static void swap_member(phl_gibbs *gibbs, uint32_t s, const struct attempt *at)
{
    size_t c = gibbs->params->states;
    phl_state_counts *counts = gibbs->state_counts;
    uint32_t *one = &gibbs->counts.one_state[s];
    if (*one == PHL_MANY) {
        exchange(gibbs->counts.state + s * c, at);
    } else if (*one == at->a || *one == at->b) {
        *one = other_state(at, *one);
    }
    for (uint32_t pair = gibbs->index->first_pair[s]; pair < gibbs->index->first_pair[s + 1];
         pair++) {
        one = &counts->one_value[pair];
        if (*one == PHL_MANY) {
            exchange(counts->value + pair * c, at);
        } else if (*one == at->a || *one == at->b) {
            *one = other_state(at, *one);
        }
    }
}

static void make_swap(phl_gibbs *gibbs, size_t g, int64_t *emission, const struct attempt *at)
{
    phl_label_swap *swap = gibbs->swap;
    size_t c = gibbs->params->states;
    for (size_t i = 0; i < swap->n_touched; i++) {
        phl_portion *portion = &gibbs->state_counts->portion[swap->touched[i]];
        portion->cell = (uint32_t)((int64_t)portion->cell + swap->shift[swap->touched[i]]);
        if (swap->mark[swap->touched[i]] & FLIPPED) {
            portion->state = other_state(at, portion->state);
        }
    }
    for (size_t i = 0; i < swap->n_rows; i++) {
        gibbs->counts.prior[swap->rows[i] * c + at->a] -= swap->prior_change[swap->rows[i]];
        gibbs->counts.prior[swap->rows[i] * c + at->b] += swap->prior_change[swap->rows[i]];
    }
    if (emission != NULL) {
        emission[at->a] -= at->moved;
        emission[at->b] += at->moved;
        swap->totals[at->a] -= at->moved;
        swap->totals[at->b] += at->moved;
    }
    for (size_t i = swap->groups->first[g]; i < swap->groups->first[g + 1]; i++) {
        if (!stays_out(gibbs, swap->groups->member[i])) {
            swap_member(gibbs, swap->groups->member[i], at);
        }
    }
    swap->changed = true;
    swap->count.changed++;
}

/* Nothing is touched any more. */
static void forget(phl_label_swap *swap)
{
    for (size_t i = 0; i < swap->n_touched; i++) {
        swap->mark[swap->touched[i]] = 0;
        swap->shift[swap->touched[i]] = 0;
    }
    for (size_t i = 0; i < swap->n_rows; i++) {
        swap->prior_change[swap->rows[i]] = 0;
        swap->row_listed[swap->rows[i]] = 0;
    }
    swap->n_touched = swap->n_rows = 0;
}

/* The state of one of the occurrences of a subtree, all as likely. */
static uint32_t draw_state_of(const phl_gibbs *gibbs, uint32_t s, phl_rng *rng)
{
    if (gibbs->counts.one_state[s] != PHL_MANY) {
        return gibbs->counts.one_state[s];
    }
    int64_t left = (int64_t)phl_rng_bounded(rng, (uint64_t)gibbs->times[s]);
    uint32_t state = 0;
    while (left >= phl_gibbs_count(gibbs, s, state)) {
        left -= phl_gibbs_count(gibbs, s, state++);
    }
    return state;
}

void phl_label_swap_try(phl_gibbs *gibbs, size_t g, double temperature, phl_rng *rng)
{
    phl_label_swap *swap = gibbs->swap;
    uint32_t c = gibbs->params->states;
    const uint32_t *member = swap->groups->member + swap->groups->first[g];
    size_t count = swap->groups->first[g + 1] - swap->groups->first[g];
    struct attempt at = {.moved = 0};
    at.a = draw_state_of(gibbs, member[phl_rng_bounded(rng, count)], rng);
    at.b = (at.a + 1 + (uint32_t)phl_rng_bounded(rng, c - 1)) % c;
    swap->count.tried++;
    bool possible = true;
    for (size_t i = 0; possible && i < count; i++) {
        possible = touch_member(gibbs, member[i], &at);
    }
    if (possible) {
        int32_t label = gibbs->index->forest->label[member[0]];
        int64_t *emission =
            label < 0 ? NULL : gibbs->counts.emission + gibbs->label_row[label] * (size_t)c;
        change_cells(gibbs, &at);
        double gain = settle_cells(gibbs, false) + gain_of_tables(gibbs, emission, &at);
        if (phl_partitions_accept(gain, 0.0, temperature, rng)) {
            change_cells(gibbs, &at);
            (void)settle_cells(gibbs, true);
            make_swap(gibbs, g, emission, &at);
        }
    }
    forget(swap);
}

phl_status phl_label_swap_sweep(phl_gibbs *gibbs, double temperature, phl_error *error)
{
    phl_label_swap *swap = gibbs->swap;
    if (swap->tries == 0) {
        return PHL_OK;
    }
    phl_rng rng;
    phl_gibbs_rng(gibbs, PHL_PURPOSE_SWAP, 0, &rng);
    phl_status status = phl_label_swap_begin(gibbs, error);
    for (size_t i = 0; status == PHL_OK && i < swap->tries; i++) {
        phl_label_swap_try(gibbs, phl_rng_bounded(&rng, swap->groups->n_groups), temperature, &rng);
    }
    if (status == PHL_OK) {
        phl_label_swap_end(gibbs);
    }
    return status;
}
