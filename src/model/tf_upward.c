/* tf_upward.c - the upward pass of the factorised and the full model; see tf.c for the formulas.
 *
 * A level at a time, leaves apart from internal nodes, twins (twins.h) computed once.  The core is
 * contracted with the messages of the filled active slots, the first slot first; what an empty slot
 * shows is known (hard), so only the part of the core with that block is read.
 */
#include <string.h>

#include "base/clones.h"
#include "base/memory.h"
#include "model/kernel.h"
#include "model/lane_rows.h"

/* ---------------------------------------------------------------------------------------------
 * Parameters made ready
 * ------------------------------------------------------------------------------------------- */

/* An active slot, as the loops below want it. */
struct axis {
    size_t size, stride;     /* blocks; distance of two in the core, in doubles */
    size_t empty_offset;     /* hard: where the block that an empty slot shows begins */
    const double *empty;     /* soft: [size] what an empty slot shows; NULL when hard */
    const uint32_t *members; /* hard: [C] states by block, then [size] where each block ends */
    const double *matrix;    /* soft: [C + 1][size] */
};

static void list_axes(const phl_upward *upward, struct axis *axes)
{
    const phl_params *params = upward->params;
    size_t c = params->states, stride = params->core_rows * phl_whole_lanes(c);
    for (uint32_t a = 0; a < params->n_axes; a++) {
        const phl_axis *axis = &params->axes[a];
        stride /= axis->size;
        axes[a] = (struct axis){.size = axis->size, .stride = stride, .matrix = axis->matrix};
        if (axis->block != NULL) {
            axes[a].empty_offset = axis->block[c] * stride;
            axes[a].members = upward->members + a * (c + upward->width);
        } else {
            axes[a].empty = axis->matrix + c * axis->size;
        }
    }
}

/* Doubles that the contraction of any one slot leaves. */
static size_t side_size(const phl_params *params)
{
    size_t least = params->n_axes == 0 ? 1 : SIZE_MAX;
    for (uint32_t a = 0; a < params->n_axes; a++) {
        least = params->axes[a].size < least ? params->axes[a].size : least;
    }
    return params->core_rows / least * phl_whole_lanes(params->states);
}

size_t phl_tf_upward_scratch(const phl_upward *upward)
{
    const phl_params *params = upward->params;
    size_t offers = (params->n_axes + 1) * upward->width; /* of most probable states */
    size_t sides = 3 * side_size(params);
    return sides > offers ? sides : offers;
}

/* table: the rows of the core in whole lanes, unless they are. */
static phl_status pad_core(phl_upward *upward, phl_error *error)
{
    const phl_params *params = upward->params;
    size_t c = params->states, whole = phl_whole_lanes(c);
    if (whole == c) {
        return PHL_OK;
    }
    phl_status status = phl_grow(&upward->table, &upward->table_capacity, params->core_rows * whole,
                                 sizeof *upward->table, error);
    for (size_t row = 0; status == PHL_OK && row < params->core_rows; row++) {
        for (size_t j = 0; j < whole; j++) {
            upward->table[row * whole + j] = j < c ? params->core[row * c + j] : 0.0;
        }
    }
    return status;
}

/* members: the states by block, as struct axis wants them. */
static phl_status sort_members(phl_upward *upward, phl_error *error)
{
    const phl_params *params = upward->params;
    size_t c = params->states, stride = c + upward->width;
    phl_status status = phl_grow(&upward->members, &upward->members_capacity,
                                 params->n_axes * stride, sizeof *upward->members, error);
    for (uint32_t a = 0; status == PHL_OK && a < params->n_axes; a++) {
        const phl_axis *axis = &params->axes[a];
        uint32_t *member = upward->members + a * stride, *end = member + c, sum = 0;
        if (axis->block == NULL) {
            continue;
        }
        memset(end, 0, axis->size * sizeof *end);
        for (size_t q = 0; q < c; q++) {
            end[axis->block[q]]++;
        }
        for (size_t z = 0; z < axis->size; z++) {
            uint32_t count = end[z];
            end[z] = sum; /* for now where it begins */
            sum += count;
        }
        for (uint32_t q = 0; q < c; q++) {
            member[end[axis->block[q]]++] = q;
        }
    }
    return status;
}

phl_status phl_tf_upward_prepare(phl_upward *upward, phl_error *error)
{
    enum { LARGE = 64 }; /* cells from which it pays to put groups in order */
    phl_status status = pad_core(upward, error);
    if (status != PHL_OK) {
        return status;
    }
    status = sort_members(upward, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_twins_find(&upward->twins, upward->index, upward->params, error);
    if (status == PHL_OK && upward->params->core_rows >= LARGE) {
        status = phl_twins_order(&upward->twins, upward->index, error);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Nodes
 * ------------------------------------------------------------------------------------------- */

/* out[r] = sum_z m(z) in[z * stride + r], r < n, a multiple of PHL_LANES, added up in the order of
 * z.  `size` is a constant where this is called, or any. */
PHL_INLINED void contract_size(const double *restrict in, size_t stride, const double *restrict m,
                               size_t size, size_t n, double *restrict out)
{
    for (size_t r = 0; r < n; r += PHL_LANES) {
        phl_lanes sum = m[0] * phl_lanes_at(in + r);
        for (size_t z = 1; z < size; z++) {
            sum += m[z] * phl_lanes_at(in + z * stride + r);
        }
        phl_lanes_set(out + r, sum);
    }
}

PHL_INLINED void contract(const double *restrict in, size_t stride, const double *restrict m,
                          size_t size, size_t n, double *restrict out)
{
    switch (size) {
    case 2:
        contract_size(in, stride, m, 2, n, out);
        return;
    case 3:
        contract_size(in, stride, m, 3, n, out);
        return;
    case 4:
        contract_size(in, stride, m, 4, n, out);
        return;
    default:
        contract_size(in, stride, m, size, n, out);
    }
}

/* An active slot of a node whose block is not known. */
struct factor {
    const double *m;           /* [size] its message */
    size_t size, stride, rest; /* rest: doubles left when slots up to this one are contracted */
};

/* Factors of the node that sees these pairs; *start is where its part of the core begins. */
PHL_INLINED size_t list_factors(const phl_upward *upward, const struct axis *axes,
                                const uint32_t *seen, struct factor *factors, size_t *start)
{
    size_t n = 0, rest = phl_whole_lanes(upward->params->states);
    *start = 0;
    for (uint32_t a = 0; a < upward->params->n_axes; a++) {
        if (seen[a] == PHL_NO_PAIR && axes[a].empty == NULL) {
            *start += axes[a].empty_offset;
            continue;
        }
        factors[n].m =
            seen[a] == PHL_NO_PAIR ? axes[a].empty : upward->message + seen[a] * upward->width;
        factors[n].size = axes[a].size;
        factors[n++].stride = axes[a].stride;
    }
    for (size_t f = n; f-- > 0;) {
        factors[f].rest = rest;
        rest *= factors[f].size;
    }
    return n;
}

/* Contract the first factor where others are known to be in one block: row by row of the core. */
PHL_INLINED void contract_rows(const double *core, const struct factor *factors, size_t n, size_t c,
                               double *restrict out)
{
    size_t digit[PHL_MAX_AXES], offset = 0;
    for (size_t f = 1; f < n; f++) {
        digit[f] = 0;
    }
    for (size_t at = 0; at < factors[0].rest; at += c) {
        contract(core + offset, factors[0].stride, factors[0].m, factors[0].size, c, out + at);
        for (size_t f = n; f-- > 1;) { /* the last factor runs fastest */
            offset += factors[f].stride;
            if (++digit[f] < factors[f].size) {
                break;
            }
            offset -= factors[f].stride * factors[f].size;
            digit[f] = 0;
        }
    }
}

/* inside of the node that sees these pairs, a row of whole lanes: in one of the sides (side_size
 * each) or in the core.  What the contraction of the first of several factors leaves is in the
 * first side; it is there already if the node before was alike. */
PHL_INLINED const double *node_inside(size_t whole, const phl_upward *upward,
                                      const struct axis *axes, const uint32_t *seen, bool alike,
                                      double *const sides[3])
{
    const phl_params *params = upward->params;
    struct factor factors[PHL_MAX_AXES];
    size_t start, n = list_factors(upward, axes, seen, factors, &start);
    const double *core = (whole == params->states ? params->core : upward->table) + start;
    if (n == 0) {
        return core;
    }
    if (n == 1) {
        contract(core, factors[0].stride, factors[0].m, factors[0].size, whole, sides[1]);
        return sides[1];
    }
    if (!alike && n == params->n_axes) {
        contract(core, factors[0].stride, factors[0].m, factors[0].size, factors[0].rest, sides[0]);
    } else if (!alike) {
        contract_rows(core, factors, n, whole, sides[0]);
    }
    const double *in = sides[0];
    for (size_t f = 1; f + 1 < n; f++) {
        double *out = sides[1 + f % 2];
        contract(in, factors[f].rest, factors[f].m, factors[f].size, factors[f].rest, out);
        in = out;
    }
    double *out = sides[1 + (n - 1) % 2];
    contract(in, whole, factors[n - 1].m, factors[n - 1].size, whole, out);
    return out;
}

PHL_INLINED void do_leaves(size_t lanes, const phl_upward *upward, size_t begin, size_t end)
{
    const phl_params *params = upward->params;
    const uint32_t *leaf_slot = upward->index->forest->leaf_slot;
    const double *prior = params->prior, *emission = params->emission;
    double *inside = upward->inside, *beta = upward->beta, *norm = upward->norm;
    size_t c = params->states;
    for (size_t s = begin; s < end; s++) {
        const double *from = prior + phl_leaf_row(params, leaf_slot[s]) * c;
        norm[s] = phl_finish(lanes, c, emission + phl_emission_row(upward, (uint32_t)s) * c, from,
                             inside + s * c, beta + s * c);
    }
}

PHL_INLINED void do_nodes(size_t lanes, const phl_upward *upward, const struct axis *axes,
                          size_t begin, size_t end, double *const sides[3])
{
    const phl_twins *twins = &upward->twins;
    const uint32_t *first = twins->first, *last = NULL;
    const double *emission = upward->params->emission;
    double *inside = upward->inside, *beta = upward->beta, *norm = upward->norm;
    size_t c = upward->params->states;
    for (size_t i = begin; i < end; i++) {
        uint32_t s = first[twins->ordered ? twins->order[i - twins->n_leaves] : i];
        size_t at = (s - twins->n_leaves) * (size_t)twins->n_slots;
        bool alike = false;
        if (twins->ordered) {
            const uint32_t *key = twins->key + at;
            alike = last != NULL && phl_twins_alike(key, last, twins->n_slots);
            last = key;
        }
        const double *from =
            node_inside(lanes * PHL_LANES, upward, axes, twins->seen + at, alike, sides);
        norm[s] = phl_finish(lanes, c, emission + phl_emission_row(upward, s) * c, from,
                             inside + s * c, beta + s * c);
    }
}

PHL_CLONES
static void run_leaves(const phl_upward *upward, size_t begin, size_t end)
{
    PHL_BY_PARTS(upward->params->states, do_leaves, upward, begin, end);
}

PHL_CLONES
static void run_nodes(const phl_upward *upward, const struct axis *axes, size_t begin, size_t end,
                      double *const sides[3])
{
    PHL_BY_PARTS(upward->params->states, do_nodes, upward, axes, begin, end, sides);
}

void phl_tf_upward_run(const phl_upward *upward, size_t begin, size_t end, double *scratch)
{
    if (begin < upward->twins.n_leaves) {
        run_leaves(upward, begin, end);
        return;
    }
    struct axis axes[PHL_MAX_AXES];
    list_axes(upward, axes);
    size_t side = side_size(upward->params);
    run_nodes(upward, axes, begin, end,
              (double *const[]){scratch, scratch + side, scratch + 2 * side});
}

/* ---------------------------------------------------------------------------------------------
 * Messages
 * ------------------------------------------------------------------------------------------- */

/* Hard: sums of beta by block. */
static inline void sum_blocks(const struct axis *axis, const double *restrict beta, size_t c,
                              double *restrict m)
{
    const uint32_t *member = axis->members, *end = member + c;
    uint32_t q = 0;
    for (size_t z = 0; z < axis->size; z++) {
        double sum = 0.0;
        for (; q < end[z]; q++) {
            sum += beta[member[q]];
        }
        m[z] = sum;
    }
}

/* Soft: sums weighted by the matrix. */
static inline void mix_blocks(const struct axis *axis, const double *restrict beta, size_t c,
                              double *restrict m)
{
    for (size_t z = 0; z < axis->size; z++) {
        m[z] = 0.0;
    }
    for (size_t q = 0; q < c; q++) {
        for (size_t z = 0; z < axis->size; z++) {
            m[z] += axis->matrix[q * axis->size + z] * beta[q];
        }
    }
}

void phl_tf_upward_send(const phl_upward *upward, size_t begin, size_t end)
{
    const phl_twins *twins = &upward->twins;
    const phl_index *index = upward->index;
    const uint32_t *axis_of_slot = upward->params->axis_of_slot;
    size_t c = upward->params->states;
    struct axis axes[PHL_MAX_AXES];
    list_axes(upward, axes);
    for (size_t i = begin; i < end; i++) {
        uint32_t pair = twins->sent[i];
        const struct axis *axis = &axes[axis_of_slot[index->pair_row[pair] + 1] - 1];
        const double *beta = upward->beta + twins->first[twins->group[index->pair_child[pair]]] * c;
        double *m = upward->message + pair * upward->width;
        if (axis->matrix == NULL) {
            sum_blocks(axis, beta, c, m);
        } else {
            mix_blocks(axis, beta, c, m);
        }
    }
}

/* ---------------------------------------------------------------------------------------------
 * Twins
 * ------------------------------------------------------------------------------------------- */

PHL_INLINED void copy_row(size_t lanes, size_t c, const double *restrict from, double *restrict to)
{
    for (size_t j = 0; j < lanes - 1; j++) {
        phl_lanes_set(to + j * PHL_LANES, phl_lanes_at(from + j * PHL_LANES));
    }
    if (lanes > 1) { /* the last lanes may overlap with those before */
        phl_lanes_set(to + c - PHL_LANES, phl_lanes_at(from + c - PHL_LANES));
    } else {
        for (size_t j = 0; j < c; j++) {
            to[j] = from[j];
        }
    }
}

PHL_INLINED void do_copies(size_t lanes, const phl_upward *upward, size_t begin, size_t end)
{
    const phl_twins *twins = &upward->twins;
    const uint32_t *first = twins->first, *group = twins->group;
    double *inside = upward->inside, *beta = upward->beta, *norm = upward->norm;
    size_t c = upward->params->states;
    for (size_t s = begin; s < end; s++) {
        size_t from = first[group[s]];
        if (from != s) {
            copy_row(lanes, c, inside + from * c, inside + s * c);
            copy_row(lanes, c, beta + from * c, beta + s * c);
            norm[s] = norm[from];
        }
    }
}

PHL_CLONES
void phl_tf_upward_copy(const phl_upward *upward, size_t begin, size_t end)
{
    PHL_BY_PARTS(upward->params->states, do_copies, upward, begin, end);
}
