/* plain_partitions.c - step 2 of the sampler: partitions given the state of every node; see
 * plain.h.
 *
 * Moves, their order and the law of each are those of gibbs/partitions.h.
 */
#include <string.h>

#include "base/memory.h"
#include "base/sampler.h"
#include "plain.h"

enum { LARGEST_TABLE = 4096, CARRIES = 4 };

static uint32_t *blocks_of(const plain_chain *chain, uint32_t e)
{
    return chain->block + e * ((size_t)chain->params->states + 1);
}

/* Values of the children of internal nodes, and for every slot the nodes sorted by value. */
static void list_values(plain_chain *chain)
{
    const plain_node *nodes = chain->trees->nodes;
    size_t n = chain->n_internal, c = chain->params->states;
    for (size_t i = 0; i < chain->n_eligible * n; i++) {
        chain->value[i] = (uint32_t)c;
    }
    for (size_t i = 0; i < n; i++) {
        size_t u = chain->internal[i];
        size_t end = (size_t)nodes[u].first_child + nodes[u].n_children;
        chain->own[i] = chain->state[u];
        for (size_t k = nodes[u].first_child; k < end; k++) {
            uint32_t e = chain->eligible_of[nodes[k].slot];
            if (e != UINT32_MAX) {
                chain->value[e * n + i] = chain->state[k];
            }
        }
    }
    for (size_t e = 0; e < chain->n_eligible; e++) {
        const uint32_t *value = chain->value + e * n;
        size_t *start = chain->start + e * (c + 2);
        memset(start, 0, (c + 2) * sizeof *start);
        for (size_t i = 0; i < n; i++) {
            start[value[i] + 1]++;
        }
        for (size_t q = 0; q < c; q++) {
            start[q + 2] += start[q + 1];
        }
        for (size_t i = 0; i < n; i++) { /* start[q] runs to where q + 1 begins */
            chain->list[e * n + start[value[i]]++] = (uint32_t)i;
        }
        memmove(start + 1, start, (c + 1) * sizeof *start);
        start[0] = 0;
    }
}

void plain_partitions_clear(plain_chain *chain)
{
    phl_free(chain->count);
    phl_free(chain->total);
    phl_free(chain->moving);
    phl_free(chain->moving_sum);
    phl_free(chain->touched);
}

static void reserve_cells(plain_chain *chain, size_t n)
{
    size_t c = chain->params->states;
    if (n > chain->cell_capacity) {
        plain_partitions_clear(chain);
        chain->cell_capacity = 2 * n;
        chain->count = plain_alloc(2 * n * c, sizeof *chain->count);
        chain->total = plain_alloc(2 * n, sizeof *chain->total);
        chain->moving = plain_alloc(2 * n * c, sizeof *chain->moving);
        chain->moving_sum = plain_alloc(2 * n, sizeof *chain->moving_sum);
        chain->touched = plain_alloc(2 * n, sizeof *chain->touched);
    }
}

/* Sizes or states changed: strides, the cell of every internal node, the counts of all cells. */
static void count_cells(plain_chain *chain)
{
    size_t n = chain->n_internal, c = chain->params->states;
    chain->n_cells = 1;
    chain->n_active = 0;
    for (uint32_t e = chain->n_eligible; e-- > 0;) {
        chain->stride[e] = chain->size[e] > 1 ? chain->n_cells : 0;
        chain->n_cells *= chain->size[e];
        chain->n_active += chain->size[e] > 1;
    }
    reserve_cells(chain, chain->n_cells);
    memset(chain->cell, 0, n * sizeof *chain->cell);
    for (uint32_t e = 0; e < chain->n_eligible; e++) {
        const uint32_t *value = chain->value + e * n, *block = blocks_of(chain, e);
        uint32_t stride = (uint32_t)chain->stride[e];
        for (size_t i = 0; stride > 0 && i < n; i++) {
            chain->cell[i] += stride * block[value[i]];
        }
    }
    memset(chain->count, 0, chain->n_cells * c * sizeof *chain->count);
    memset(chain->total, 0, chain->n_cells * sizeof *chain->total);
    for (size_t i = 0; i < n; i++) {
        chain->count[chain->cell[i] * c + chain->own[i]]++;
        chain->total[chain->cell[i]]++;
    }
}

/* ---- Scores ---------------------------------------------------------------------------------- */

/* alpha and lambda0 for the moves to come. */
static void set_base(plain_chain *chain)
{
    int64_t most = chain->n_internal < LARGEST_TABLE ? (int64_t)chain->n_internal : LARGEST_TABLE;
    phl_rising_reset(&chain->rising_total, chain->options.alpha);
    plain_must(phl_rising_reserve(&chain->rising_total, most, error));
    for (size_t j = 0; j < chain->options.states; j++) {
        phl_rising_reset(&chain->rising[j], chain->options.alpha * exp(chain->log_lambda0[j]));
        plain_must(phl_rising_reserve(&chain->rising[j], most, error));
    }
}

/* What the log of B(alpha lambda0 + n) / B(alpha lambda0) gains when counts [C] that sum to `sum`
 * come to a cell (sign 1) or leave it (-1). */
static double gain(const plain_chain *chain, size_t cell, const int64_t *counts, int64_t sum,
                   int64_t sign)
{
    const int64_t *have = chain->count + cell * chain->params->states;
    int64_t total = chain->total[cell];
    double difference = 0.0;
    for (size_t j = 0; j < chain->params->states; j++) {
        if (counts[j] > 0) {
            difference += phl_rising_get(&chain->rising[j], have[j] + sign * counts[j]) -
                          phl_rising_get(&chain->rising[j], have[j]);
        }
    }
    return difference - (phl_rising_get(&chain->rising_total, total + sign * sum) -
                         phl_rising_get(&chain->rising_total, total));
}

/* The same for a cell that has nothing else. */
static double cell_score(const plain_chain *chain, const int64_t *counts)
{
    double score = 0.0;
    int64_t sum = 0;
    for (size_t j = 0; j < chain->params->states; j++) {
        if (counts[j] > 0) {
            score += phl_rising_get(&chain->rising[j], counts[j]);
            sum += counts[j];
        }
    }
    return sum == 0 ? 0.0 : score - phl_rising_get(&chain->rising_total, sum);
}

/* log p(k) / S(C + 1, k), up to a constant. */
static double size_prior(const plain_chain *chain, uint32_t size)
{
    return -chain->options.phi * size -
           phl_stirling_get(&chain->stirling, (size_t)chain->params->states + 1, size);
}

static bool size_allowed(const plain_chain *chain, uint32_t e, uint32_t size)
{
    uint32_t active = chain->n_active - (chain->size[e] > 1) + (size > 1);
    return active >= chain->options.slots_min && active <= chain->slots_max &&
           size <= chain->params->states + 1 &&
           (double)(chain->n_cells / chain->size[e]) * size <= (double)chain->options.core_max;
}

static bool accept(plain_chain *chain, double log_ratio)
{
    return log_ratio >= 0.0 || log(phl_rng_uniform(&chain->rng)) < log_ratio;
}

/* ---- Moves ----------------------------------------------------------------------------------- */

/* Count the nodes with a value in slot e, by the rest of their cell. */
static void gather(plain_chain *chain, uint32_t e, uint32_t value)
{
    size_t c = chain->params->states;
    size_t shown = blocks_of(chain, e)[value] * chain->stride[e];
    const size_t *start = chain->start + e * (c + 2);
    const uint32_t *list = chain->list + e * chain->n_internal;
    for (size_t at = start[value]; at < start[value + 1]; at++) {
        uint32_t i = list[at];
        size_t rest = chain->cell[i] - shown;
        if (chain->moving_sum[rest]++ == 0) {
            chain->touched[chain->n_touched++] = (uint32_t)rest;
        }
        chain->moving[rest * c + chain->own[i]]++;
    }
}

static void forget(plain_chain *chain)
{
    size_t c = chain->params->states;
    for (size_t t = 0; t < chain->n_touched; t++) {
        size_t rest = chain->touched[t];
        memset(chain->moving + rest * c, 0, c * sizeof *chain->moving);
        chain->moving_sum[rest] = 0;
    }
    chain->n_touched = 0;
}

static uint32_t members_of(const plain_chain *chain, uint32_t e, uint32_t block)
{
    uint32_t members = 0;
    for (uint32_t q = 0; q <= chain->params->states; q++) {
        members += blocks_of(chain, e)[q] == block;
    }
    return members;
}

/* Block `gone`, now empty, is filled by the last one. */
static void drop_block(plain_chain *chain, uint32_t e, uint32_t gone)
{
    uint32_t *block = blocks_of(chain, e), last = --chain->size[e];
    for (uint32_t q = 0; q <= chain->params->states; q++) {
        block[q] = block[q] == last ? gone : block[q];
    }
}

/* The gathered nodes of a value of slot e go from one block to another: sizes stay. */
static void move_nodes(plain_chain *chain, uint32_t e, uint32_t value, uint32_t from, uint32_t to)
{
    size_t c = chain->params->states, stride = chain->stride[e];
    for (size_t t = 0; t < chain->n_touched; t++) {
        size_t rest = chain->touched[t], old = rest + from * stride, into = rest + to * stride;
        for (size_t j = 0; j < c; j++) {
            chain->count[old * c + j] -= chain->moving[rest * c + j];
            chain->count[into * c + j] += chain->moving[rest * c + j];
        }
        chain->total[old] -= chain->moving_sum[rest];
        chain->total[into] += chain->moving_sum[rest];
    }
    const size_t *start = chain->start + e * (c + 2);
    for (size_t at = start[value]; at < start[value + 1]; at++) {
        uint32_t i = chain->list[e * chain->n_internal + at];
        chain->cell[i] = (uint32_t)(chain->cell[i] - from * stride + to * stride);
    }
}

/* (a) A value to any block or one of its own, from its exact conditional. */
static void reassign(plain_chain *chain, uint32_t e, uint32_t value)
{
    uint32_t size = chain->size[e], *block = blocks_of(chain, e), own = block[value];
    size_t c = chain->params->states, stride = chain->stride[e];
    bool alone = members_of(chain, e, own) == 1;
    uint32_t fresh = alone ? own : size, others = alone ? size - 1 : size;
    double *weights = chain->weights;
    gather(chain, e, value);
    for (uint32_t y = 0; y <= size; y++) {
        uint32_t new_size = y == fresh ? others + 1 : others;
        bool allowed = !(alone && y == size) && size_allowed(chain, e, new_size);
        weights[y] = allowed ? size_prior(chain, new_size) : -INFINITY;
    }
    for (size_t t = 0; t < chain->n_touched; t++) {
        size_t rest = chain->touched[t];
        const int64_t *counts = chain->moving + rest * c;
        int64_t sum = chain->moving_sum[rest];
        for (uint32_t y = 0; y <= size; y++) {
            if (weights[y] > -INFINITY) {
                weights[y] += y == fresh ? cell_score(chain, counts)
                              : y == own ? -gain(chain, rest + y * stride, counts, sum, -1)
                                         : gain(chain, rest + y * stride, counts, sum, 1);
            }
        }
    }
    size_t place = phl_categorical_draw_log(&chain->rng, weights, (size_t)size + 1);
    bool changed = place != PHL_NO_OUTCOME && place != own;
    bool resized = changed && (alone || place == size);
    if (changed && !resized) {
        move_nodes(chain, e, value, own, (uint32_t)place);
    }
    forget(chain);
    if (changed) {
        block[value] = (uint32_t)place;
    }
    if (!resized) {
        return;
    }
    if (place == size) {
        chain->size[e]++;
    } else {
        drop_block(chain, e, own);
    }
    count_cells(chain);
}

/* (b) The common block of two values is split between them, the others going either way. */
static void split(plain_chain *chain, uint32_t e, uint32_t first, uint32_t second)
{
    uint32_t *block = blocks_of(chain, e), y = block[first], members = 0;
    size_t c = chain->params->states;
    if (!size_allowed(chain, e, chain->size[e] + 1)) {
        return;
    }
    for (uint32_t q = 0; q <= c; q++) {
        bool member = block[q] == y;
        members += member;
        chain->moved[q] =
            q == second || (member && q != first && phl_rng_bounded(&chain->rng, 2) == 1);
        if (chain->moved[q]) {
            gather(chain, e, q);
        }
    }
    double ratio = size_prior(chain, chain->size[e] + 1) - size_prior(chain, chain->size[e]) +
                   (members - 2) * log(2.0);
    for (size_t t = 0; t < chain->n_touched; t++) {
        size_t rest = chain->touched[t];
        const int64_t *counts = chain->moving + rest * c;
        ratio += cell_score(chain, counts) +
                 gain(chain, rest + y * chain->stride[e], counts, chain->moving_sum[rest], -1);
    }
    forget(chain);
    if (!accept(chain, ratio)) {
        return;
    }
    for (uint32_t q = 0; q <= c; q++) {
        block[q] = chain->moved[q] ? chain->size[e] : block[q];
    }
    chain->size[e]++;
    count_cells(chain);
}

/* ... or two blocks are merged. */
static void merge(plain_chain *chain, uint32_t e, uint32_t y, uint32_t w)
{
    uint32_t *block = blocks_of(chain, e);
    size_t c = chain->params->states, stride = chain->stride[e], step = stride * chain->size[e];
    if (!size_allowed(chain, e, chain->size[e] - 1)) {
        return;
    }
    uint32_t members = members_of(chain, e, y) + members_of(chain, e, w);
    double ratio = size_prior(chain, chain->size[e] - 1) - size_prior(chain, chain->size[e]) -
                   (members - 2) * log(2.0);
    for (size_t outer = 0; outer < chain->n_cells; outer += step) {
        for (size_t rest = outer; rest < outer + stride; rest++) {
            size_t from = rest + w * stride;
            const int64_t *counts = chain->count + from * c;
            if (chain->total[from] > 0) {
                ratio += gain(chain, rest + y * stride, counts, chain->total[from], 1) -
                         cell_score(chain, counts);
            }
        }
    }
    if (!accept(chain, ratio)) {
        return;
    }
    for (uint32_t q = 0; q <= c; q++) {
        block[q] = block[q] == w ? y : block[q];
    }
    drop_block(chain, e, w);
    count_cells(chain);
}

static void split_or_merge(plain_chain *chain, uint32_t e)
{
    uint32_t values = chain->params->states + 1;
    uint32_t first = (uint32_t)phl_rng_bounded(&chain->rng, values);
    uint32_t second = (uint32_t)phl_rng_bounded(&chain->rng, values - 1);
    second += second >= first;
    const uint32_t *block = blocks_of(chain, e);
    if (block[first] == block[second]) {
        split(chain, e, first, second);
    } else {
        merge(chain, e, block[first], block[second]);
    }
}

/* A random slot that is active or not. */
static uint32_t pick_slot(plain_chain *chain, bool active)
{
    uint32_t number = active ? chain->n_active : chain->n_eligible - chain->n_active, e = 0;
    uint64_t pass = phl_rng_bounded(&chain->rng, number);
    while ((chain->size[e] > 1) != active || pass-- > 0) {
        e++;
    }
    return e;
}

/* (c) The partition of an active slot goes over to an inactive one. */
static void carry(plain_chain *chain)
{
    size_t c = chain->params->states, n = chain->n_internal;
    if (chain->n_active == 0 || chain->n_active == chain->n_eligible) {
        return;
    }
    uint32_t from = pick_slot(chain, true), to = pick_slot(chain, false);
    uint32_t *block = blocks_of(chain, from), *other = blocks_of(chain, to);
    const uint32_t *here = chain->value + from * n, *there = chain->value + to * n;
    uint32_t stride = (uint32_t)chain->stride[from];
    for (size_t i = 0; i < n; i++) {
        size_t cell = chain->cell[i] - stride * block[here[i]] + stride * block[there[i]];
        chain->moving[cell * c + chain->own[i]]++;
    }
    double ratio = 0.0;
    for (size_t z = 0; z < chain->n_cells; z++) {
        ratio += cell_score(chain, chain->moving + z * c) - cell_score(chain, chain->count + z * c);
    }
    memset(chain->moving, 0, chain->n_cells * c * sizeof *chain->moving);
    if (!accept(chain, ratio)) {
        return;
    }
    memcpy(other, block, (c + 1) * sizeof *block);
    memset(block, 0, (c + 1) * sizeof *block);
    chain->size[to] = chain->size[from];
    chain->size[from] = 1;
    count_cells(chain);
}

double plain_partitions_score(const plain_chain *chain)
{
    double sum = 0.0;
    for (uint32_t e = 0; e < chain->n_eligible; e++) {
        sum += size_prior(chain, chain->size[e]);
    }
    for (size_t z = 0; z < chain->n_cells; z++) {
        sum += cell_score(chain, chain->count + z * chain->params->states);
    }
    return sum;
}

/* Every value of every slot in random order, one split or merge per slot, a few carries. */
void plain_partitions_draw(plain_chain *chain)
{
    uint32_t values = chain->params->states + 1;
    size_t n = (size_t)chain->n_eligible * values;
    list_values(chain);
    count_cells(chain);
    set_base(chain);
    for (size_t i = 0; i < n; i++) {
        chain->order[i] = (uint32_t)i;
    }
    phl_shuffle(&chain->rng, n, chain->order);
    for (size_t i = 0; i < n; i++) {
        reassign(chain, chain->order[i] / values, chain->order[i] % values);
    }
    for (uint32_t e = 0; e < chain->n_eligible; e++) {
        split_or_merge(chain, e);
    }
    for (int i = 0; i < CARRIES; i++) {
        carry(chain);
    }
}
