/* params.c - making, checking and listing the parameters of a model; see params.h. */
#include "model/params.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/lanes.h"
#include "base/memory.h"

/* ---------------------------------------------------------------------------------------------
 * Sizes
 * ------------------------------------------------------------------------------------------- */

/* Doubles of each table; all in floating point, so that huge sizes do not overflow. */
struct sizes {
    double prior, emission, switching, transition, root, core, axes, shape;
};

static struct sizes measure(phl_kind kind, uint32_t states, uint32_t slots, uint32_t labels,
                            const phl_axis *axes, uint32_t n_axes)
{
    double c = states, l = slots, m = labels;
    struct sizes sizes = {.emission = (m + 2) * c, .shape = 3 * l};
    sizes.prior = kind == PHL_TD ? 0 : (l + 1) * c;
    if (kind == PHL_SP) {
        sizes.switching = l;
        sizes.transition = l * (c + 1) * c;
    } else if (kind == PHL_TD) {
        sizes.root = c;
        sizes.transition = (l + 1) * c * c;
    } else if (kind == PHL_FULL) {
        sizes.core = pow(c + 1, l) * c;
        sizes.axes = l * (c + 1) / 2;
    } else {
        sizes.core = c;
        for (uint32_t a = 0; a < n_axes; a++) {
            sizes.core *= axes[a].size;
            sizes.axes += (c + 1) * (axes[a].matrix != NULL ? axes[a].size : 0.5);
        }
    }
    return sizes;
}

uint64_t phl_params_bytes(phl_kind kind, uint32_t states, uint32_t slots, uint32_t labels,
                          const phl_axis *axes, uint32_t n_axes)
{
    struct sizes s = measure(kind, states, slots, labels, axes, n_axes);
    double bytes = 8.0 * (s.prior + s.emission + s.switching + s.transition + s.root + s.core +
                          s.axes + s.shape);
    return bytes < 1.8e19 ? (uint64_t)bytes : UINT64_MAX;
}

/* ---------------------------------------------------------------------------------------------
 * Making
 * ------------------------------------------------------------------------------------------- */

static phl_status copy_axis(const phl_axis *from, uint32_t states, phl_axis *to, phl_error *error)
{
    size_t values = (size_t)states + 1;
    to->slot = from->slot;
    to->size = from->size;
    if (from->block != NULL) {
        to->block = phl_alloc(values, sizeof *to->block, error);
        if (to->block == NULL) {
            return PHL_ERR_MEMORY;
        }
        memcpy(to->block, from->block, values * sizeof *to->block);
    } else {
        to->matrix = phl_alloc_zero(values * from->size, sizeof *to->matrix, error);
        if (to->matrix == NULL) {
            return PHL_ERR_MEMORY;
        }
        if (from->matrix != NULL) {
            memcpy(to->matrix, from->matrix, values * from->size * sizeof *to->matrix);
        }
    }
    return PHL_OK;
}

/* The identity partition of one slot. */
static phl_status identity_axis(uint32_t slot, uint32_t states, phl_axis *axis, phl_error *error)
{
    axis->slot = slot;
    axis->size = states + 1;
    axis->block = phl_alloc((size_t)states + 1, sizeof *axis->block, error);
    if (axis->block == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (uint32_t q = 0; q <= states; q++) {
        axis->block[q] = q;
    }
    return PHL_OK;
}

static phl_status make_axes(phl_params *params, const phl_axis *axes, uint32_t n_axes,
                            phl_error *error)
{
    bool full = params->kind == PHL_FULL;
    uint32_t count = full ? params->slots : n_axes;
    params->axis_of_slot =
        phl_alloc_zero((size_t)params->slots + 2, sizeof *params->axis_of_slot, error);
    params->axes = phl_alloc_zero(count, sizeof *params->axes, error);
    if (params->axis_of_slot == NULL || params->axes == NULL) {
        return PHL_ERR_MEMORY;
    }
    params->n_axes = count;
    params->core_rows = 1;
    for (uint32_t a = 0; a < count; a++) {
        phl_status status = full ? identity_axis(a + 1, params->states, &params->axes[a], error)
                                 : copy_axis(&axes[a], params->states, &params->axes[a], error);
        if (status != PHL_OK) {
            return status;
        }
        params->soft = params->soft || params->axes[a].matrix != NULL;
        params->core_rows *= params->axes[a].size;
        params->axis_of_slot[params->axes[a].slot] = a + 1;
    }
    return PHL_OK;
}

static phl_status allocate(double **table, double count, phl_error *error)
{
    if (count > 0) {
        *table = phl_alloc_zero((size_t)count + PHL_LANES - 1, sizeof **table, error);
    }
    return count > 0 && *table == NULL ? PHL_ERR_MEMORY : PHL_OK;
}

static phl_status check_axes(uint32_t states, uint32_t slots, const phl_axis *axes, uint32_t n_axes,
                             phl_error *error)
{
    if (n_axes > PHL_MAX_AXES) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL, "%u active slots, expected at most %d",
                         n_axes, PHL_MAX_AXES);
    }
    for (uint32_t a = 0; a < n_axes; a++) {
        const phl_axis *axis = &axes[a];
        if (axis->slot < 1 || axis->slot > slots || (a > 0 && axis->slot <= axes[a - 1].slot)) {
            return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                             "active slot %u: expected ascending slots from 1 to %u", axis->slot,
                             slots);
        }
        if (axis->size < 1 || axis->size > states + 1) {
            return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                             "slot %u has %u blocks, expected 1 to %u", axis->slot, axis->size,
                             states + 1);
        }
    }
    return PHL_OK;
}

phl_status phl_params_limit(phl_kind kind, uint32_t states, uint32_t slots, uint64_t bytes,
                            uint64_t memory_limit, phl_error *error)
{
    if ((memory_limit == 0 || bytes <= memory_limit) && bytes != UINT64_MAX) {
        return PHL_OK;
    }
    return phl_raise(
        error, PHL_ERR_LIMIT,
        "use fewer states or another model (sp, tf), or raise " PHL_OPTION("train.memory_limit"),
        "a model of kind %s with %u states and %u slots needs %.3g GiB of tables, "
        "the limit is %.3g GiB",
        phl_kind_name(kind), states, slots, (double)bytes / 0x1p30, (double)memory_limit / 0x1p30);
}

phl_status phl_params_create(phl_kind kind, uint32_t states, uint32_t slots, uint32_t labels,
                             const phl_axis *axes, uint32_t n_axes, uint64_t memory_limit,
                             phl_params **params, phl_error *error)
{
    if (states < 1 || states > PHL_MOST_STATES || slots < 1) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                         "%u states and %u slots: expected 1 to %d states, at least 1 slot", states,
                         slots, PHL_MOST_STATES);
    }
    phl_status status = check_axes(states, slots, axes, kind == PHL_TF ? n_axes : 0, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_params_limit(kind, states, slots,
                              phl_params_bytes(kind, states, slots, labels, axes, n_axes),
                              memory_limit, error);
    if (status != PHL_OK) {
        return status;
    }
    phl_params *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->kind = kind;
    made->states = states;
    made->slots = slots;
    made->labels = labels;
    if (kind == PHL_FULL || kind == PHL_TF) {
        status = make_axes(made, axes, n_axes, error);
    }
    struct sizes sizes = measure(kind, states, slots, labels, axes, n_axes);
    struct {
        double **table;
        double count;
    } tables[] = {{&made->prior, sizes.prior},         {&made->emission, sizes.emission},
                  {&made->switching, sizes.switching}, {&made->transition, sizes.transition},
                  {&made->root, sizes.root},           {&made->core, sizes.core},
                  {&made->shape, sizes.shape}};
    for (size_t i = 0; status == PHL_OK && i < sizeof tables / sizeof *tables; i++) {
        status = allocate(tables[i].table, tables[i].count, error);
    }
    if (status != PHL_OK) {
        phl_params_free(made);
        return status;
    }
    phl_params_complete(made);
    *params = made;
    return PHL_OK;
}

static void free_axes(phl_params *params)
{
    for (uint32_t a = 0; params->axes != NULL && a < params->n_axes; a++) {
        phl_free(params->axes[a].block);
        phl_free(params->axes[a].matrix);
    }
    phl_free(params->axes);
    phl_free(params->axis_of_slot);
}

phl_status phl_params_set_axes(phl_params *params, const phl_axis *axes, uint32_t n_axes,
                               phl_error *error)
{
    phl_params made = {.kind = params->kind, .states = params->states, .slots = params->slots};
    phl_status status = check_axes(params->states, params->slots, axes, n_axes, error);
    if (status == PHL_OK) {
        status = make_axes(&made, axes, n_axes, error);
    }
    if (status == PHL_OK) {
        status = allocate(&made.core, (double)made.core_rows * params->states, error);
    }
    if (status != PHL_OK) {
        free_axes(&made);
        return status;
    }
    free_axes(params);
    phl_free(params->core);
    params->soft = made.soft;
    params->n_axes = made.n_axes;
    params->axes = made.axes;
    params->axis_of_slot = made.axis_of_slot;
    params->core_rows = made.core_rows;
    params->core = made.core;
    return PHL_OK;
}

void phl_params_free(phl_params *params)
{
    if (params == NULL) {
        return;
    }
    free_axes(params);
    phl_free(params->prior);
    phl_free(params->emission);
    phl_free(params->switching);
    phl_free(params->transition);
    phl_free(params->root);
    phl_free(params->core);
    phl_free(params->shape);
    phl_grammar_part_free(params->grammar);
    phl_free(params);
}

phl_status phl_params_of_grammar(phl_grammar_part *part, uint32_t states, uint32_t slots,
                                 phl_params **params, phl_error *error)
{
    phl_params *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        phl_grammar_part_free(part);
        return PHL_ERR_MEMORY;
    }
    made->kind = PHL_GRAMMAR;
    made->states = states;
    made->slots = slots;
    made->labels = part->labels;
    made->grammar = part;
    *params = made;
    return PHL_OK;
}

phl_status phl_params_clone_empty(const phl_params *params, phl_params **empty, phl_error *error)
{
    phl_status status =
        phl_params_create(params->kind, params->states, params->slots, params->labels, params->axes,
                          params->n_axes, 0, empty, error);
    if (status == PHL_OK) {
        phl_params_clear(*empty);
    }
    return status;
}

phl_status phl_params_clone(const phl_params *params, phl_params **copy, phl_error *error)
{
    phl_params *made = NULL;
    phl_status status = phl_params_clone_empty(params, &made, error);
    if (status != PHL_OK) {
        return status;
    }
    phl_table from, to;
    for (size_t t = 0; phl_params_table(params, t, &from); t++) {
        (void)phl_params_table(made, t, &to);
        for (size_t r = 0; r < from.rows; r++) {
            for (size_t c = 0; c < from.columns; c++) {
                size_t at = r * from.row_stride + c * from.column_stride;
                to.data[at] = from.data[at];
            }
        }
    }
    phl_params_complete(made);
    *copy = made;
    return PHL_OK;
}

void phl_params_clear(phl_params *params)
{
    phl_table table;
    for (size_t i = 0; phl_params_table(params, i, &table); i++) {
        for (size_t r = 0; r < table.rows; r++) {
            for (size_t c = 0; c < table.columns; c++) {
                table.data[r * table.row_stride + c * table.column_stride] = 0.0;
            }
        }
    }
}

/* Row `count` of `table` becomes the mean of rows 0 .. count - 1 of `width` numbers. */
static void set_mean_row(double *table, size_t count, size_t width)
{
    double *mean = table + count * width;
    for (size_t i = 0; i < width; i++) {
        double sum = 0.0;
        for (size_t r = 0; r < count; r++) {
            sum += table[r * width + i];
        }
        mean[i] = sum / (double)count;
    }
}

void phl_params_complete(phl_params *params)
{
    size_t c = params->states;
    if (params->prior != NULL) {
        set_mean_row(params->prior, params->slots, c);
    }
    if (params->kind == PHL_TD) {
        set_mean_row(params->transition, params->slots, c * c);
    }
    for (size_t j = 0; j < c; j++) {
        params->emission[((size_t)params->labels + 1) * c + j] = 1.0;
    }
}

/* ---------------------------------------------------------------------------------------------
 * Tables one by one
 * ------------------------------------------------------------------------------------------- */

bool phl_params_table(const phl_params *params, size_t i, phl_table *table)
{
    size_t c = params->states, l = params->slots;
    bool td = params->kind == PHL_TD;
    phl_table all[] = {
        {"prior", 0, params->prior, l, c, c, 1},
        {"emission", 0, params->emission, c, (size_t)params->labels + 1, 1, c},
        {"switch", 0, params->switching, 1, l, l, 1},
        {"transition", 0, params->transition, td ? l * c : l * (c + 1), c, c, 1},
        {"root", 0, params->root, 1, c, c, 1},
        {"core", 0, params->core, params->core_rows, c, c, 1},
        {"root_kind", 0, (double *)params->root_kind, 1, 2, 2, 1},
        {"shape_prior", 0, params->shape, l, 3, 3, 1},
    };
    for (size_t t = 0; t < sizeof all / sizeof *all; t++) {
        if (all[t].data != NULL && i-- == 0) {
            *table = all[t];
            return true;
        }
    }
    for (uint32_t a = 0; a < params->n_axes; a++) {
        const phl_axis *axis = &params->axes[a];
        if (axis->matrix != NULL && i-- == 0) {
            phl_table matrix = {"mode", axis->slot, axis->matrix, c + 1, axis->size, axis->size, 1};
            *table = matrix;
            return true;
        }
    }
    return false;
}

/* The largest p takes what the others' rounding leaves of 1: then the sum is so near to 1 (2^-25)
 * that rounding what was divided by it gives the same floats again. */
static void round_row(double *row, size_t columns, size_t stride)
{
    double sum = 0.0;
    size_t largest = 0;
    for (size_t c = 0; c < columns; c++) {
        double *p = &row[c * stride];
        *p = *p > 0.0 && *p < FLT_MIN ? FLT_MIN : (double)(float)*p;
        largest = *p > row[largest * stride] ? c : largest;
        sum += *p;
    }
    row[largest * stride] = (float)(row[largest * stride] + (1.0 - sum));
    sum = 0.0;
    for (size_t c = 0; c < columns; c++) {
        sum += row[c * stride];
    }
    for (size_t c = 0; c < columns; c++) {
        row[c * stride] /= sum;
    }
}

void phl_params_round(phl_params *params)
{
    phl_table table;
    for (size_t i = 0; phl_params_table(params, i, &table); i++) {
        for (size_t r = 0; r < table.rows; r++) {
            round_row(table.data + r * table.row_stride, table.columns, table.column_stride);
        }
    }
    phl_params_complete(params);
}

static phl_status check_partition(const phl_axis *axis, uint32_t states, phl_error *error)
{
    for (uint32_t block = 0; block < axis->size; block++) {
        bool used = false;
        for (uint32_t q = 0; q <= states; q++) {
            used = used || axis->block[q] == block;
        }
        if (!used) {
            return phl_raise(error, PHL_ERR_SYNTAX, NULL,
                             "the partition of slot %u has an empty block %u", axis->slot, block);
        }
    }
    for (uint32_t q = 0; q <= states; q++) {
        if (axis->block[q] >= axis->size) {
            return phl_raise(error, PHL_ERR_SYNTAX, NULL,
                             "the partition of slot %u puts value %u into block %u of %u",
                             axis->slot, q, axis->block[q], axis->size);
        }
    }
    return PHL_OK;
}

phl_status phl_params_check(const phl_params *params, phl_error *error)
{
    phl_table table;
    for (size_t i = 0; phl_params_table(params, i, &table); i++) {
        for (size_t r = 0; r < table.rows; r++) {
            double sum = 0.0;
            bool valid = true;
            for (size_t c = 0; c < table.columns; c++) {
                double p = table.data[r * table.row_stride + c * table.column_stride];
                valid = valid && p >= 0.0 && p <= 1.0 + 1e-9;
                sum += p;
            }
            if (!valid || !(fabs(sum - 1.0) < 1e-9)) {
                return phl_raise(error, PHL_ERR_SYNTAX, NULL,
                                 "row %zu of table %s is not a distribution (sum %.17g)", r,
                                 table.name, sum);
            }
        }
    }
    for (uint32_t a = 0; a < params->n_axes; a++) {
        if (params->axes[a].block != NULL) {
            phl_status status = check_partition(&params->axes[a], params->states, error);
            if (status != PHL_OK) {
                return status;
            }
        }
    }
    return PHL_OK;
}
