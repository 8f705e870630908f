/* upward_pass.c - one upward pass of tf over all trees of some files, against the same arithmetic
 * on data that lie side by side.
 *
 * The model: C states, random tables, the three slots filled most often are active, each with two
 * blocks (states by turns; the empty slot with the second).  It is timed on one thread, as are two
 * yardsticks of the same shapes: a contraction for as many nodes with the same active slots filled,
 * a message for as many pairs, emissions and norms for as many subtrees; each reads its operands
 * one after the other from long arrays, with no index in between.  The second also adds up as many
 * logarithms along links as the pass does.  Printed is a line of JSON.
 *
 * --dump FILE writes subtrees, tables and the log-likelihood of every tree, for
 * upward_reference.py.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "classes.h"
#include "em/em.h"

static const char USAGE[] = "upward_pass [--states 10] [--seconds 1] [--dump FILE] FILE...";

enum { MODES = 3, BLOCKS = 2, CELLS = 8 };
static const uint64_t SEED = 42;

/* ---------------------------------------------------------------------------------------------
 * The model
 * ------------------------------------------------------------------------------------------- */

/* The slots that most internal nodes (occurrences) fill, ascending; 0 if there are fewer. */
static phl_status busiest_slots(const phl_forest *forest, uint32_t busiest[MODES], phl_error *error)
{
    uint32_t slots = forest->max_slot;
    int64_t *filled = phl_alloc_zero((size_t)slots + 1, sizeof *filled, error);
    if (filled == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            filled[forest->links[k].slot] += forest->multiplicity[s];
        }
    }
    memset(busiest, 0, MODES * sizeof *busiest);
    for (int a = 0; a < MODES; a++) {
        int64_t most = 0;
        for (uint32_t l = 1; l <= slots; l++) {
            if (filled[l] > most) {
                most = filled[l];
                busiest[a] = l;
            }
        }
        filled[busiest[a]] = 0;
    }
    for (int a = 1; a < MODES; a++) { /* sorted, by insertion */
        for (int b = a; b > 0 && busiest[b] < busiest[b - 1]; b--) {
            uint32_t swapped = busiest[b];
            busiest[b] = busiest[b - 1];
            busiest[b - 1] = swapped;
        }
    }
    phl_free(filled);
    return PHL_OK;
}

static phl_status make_model(const phl_forest *forest, uint32_t states, phl_params **params,
                             phl_error *error)
{
    uint32_t slots[MODES];
    uint32_t *block = phl_alloc((size_t)states + 1, sizeof *block, error);
    phl_status status = block == NULL ? PHL_ERR_MEMORY : busiest_slots(forest, slots, error);
    if (status == PHL_OK && slots[0] == 0) {
        status =
            phl_raise(error, PHL_ERR_ARGUMENT, NULL, "the trees fill fewer than %d slots", MODES);
    }
    if (status == PHL_OK) {
        phl_axis axes[MODES];
        for (uint32_t q = 0; q <= states; q++) {
            block[q] = q == states ? BLOCKS - 1 : q % BLOCKS;
        }
        for (int a = 0; a < MODES; a++) {
            axes[a] = (phl_axis){.slot = slots[a], .size = BLOCKS, .block = block};
        }
        status = phl_params_create(PHL_TF, states, forest->max_slot, (uint32_t)forest->labels.count,
                                   axes, MODES, 0, params, error);
    }
    if (status == PHL_OK) {
        phl_em_start(*params, SEED, 0);
    }
    phl_free(block);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * The yardsticks
 * ------------------------------------------------------------------------------------------- */

/* The pass's operands, one after the other. */
struct side_by_side {
    size_t states, nodes, subtrees, pairs, links;
    uint8_t *filled;         /* [nodes] bit a: axis a is filled */
    uint32_t *children;      /* [subtrees] */
    uint32_t *block;         /* [states + 1] */
    double *core;            /* [CELLS][states] */
    double *node_message;    /* [nodes][MODES][BLOCKS] */
    double *pair_beta;       /* [pairs][states] */
    double *pair_message;    /* [pairs][BLOCKS] made */
    double *emission;        /* [subtrees][states] */
    double *inside;          /* [subtrees][states] internal nodes first: made; then given */
    double *beta;            /* [subtrees][states] made */
    double *norm, *log_norm; /* [subtrees] made */
    double *link_log;        /* [links] */
    double scratch[MODES][CELLS * 64];
};

static double *ones(size_t n, phl_error *error)
{
    double *made = phl_alloc(n, sizeof *made, error);
    for (size_t i = 0; made != NULL && i < n; i++) {
        made[i] = 1.0 / (double)(1 + i % 7);
    }
    return made;
}

static phl_status lay_out(const phl_upward *upward, struct side_by_side *data, phl_error *error)
{
    const phl_params *params = upward->params;
    const phl_index *index = upward->index;
    const phl_forest *forest = index->forest;
    size_t c = params->states;
    data->states = c;
    data->subtrees = forest->n_subtrees;
    data->links = forest->n_links;
    for (size_t i = 0; i < index->n_pairs; i++) {
        data->pairs += params->axis_of_slot[index->pair_row[i] + 1] != 0;
    }
    data->filled = phl_alloc_zero(data->subtrees, sizeof *data->filled, error);
    data->children = phl_alloc(data->subtrees, sizeof *data->children, error);
    data->block = phl_alloc(c + 1, sizeof *data->block, error);
    data->core = ones(CELLS * c, error);
    data->node_message = ones(data->subtrees * MODES * BLOCKS, error);
    data->pair_beta = ones(data->pairs * c, error);
    data->pair_message = ones(data->pairs * BLOCKS, error);
    data->emission = ones(data->subtrees * c, error);
    data->inside = ones(data->subtrees * c, error);
    data->beta = ones(data->subtrees * c, error);
    data->norm = ones(data->subtrees, error);
    data->log_norm = ones(data->subtrees, error);
    data->link_log = ones(data->links, error);
    if (data->filled == NULL || data->children == NULL || data->block == NULL ||
        data->core == NULL || data->node_message == NULL || data->pair_beta == NULL ||
        data->pair_message == NULL || data->emission == NULL || data->inside == NULL ||
        data->beta == NULL || data->norm == NULL || data->log_norm == NULL ||
        data->link_log == NULL) {
        return PHL_ERR_MEMORY;
    }
    memcpy(data->block, params->axes[0].block, (c + 1) * sizeof *data->block);
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        data->children[s] = (uint32_t)(forest->first_link[s + 1] - forest->first_link[s]);
        if (forest->leaf_slot[s] != 0) {
            continue;
        }
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            uint32_t number = params->axis_of_slot[forest->links[k].slot];
            if (number != 0) {
                data->filled[data->nodes] |= (uint8_t)(1u << (number - 1));
            }
        }
        data->nodes++;
    }
    return PHL_OK;
}

static void release(struct side_by_side *data)
{
    phl_free(data->filled);
    phl_free(data->children);
    phl_free(data->block);
    phl_free(data->core);
    phl_free(data->node_message);
    phl_free(data->pair_beta);
    phl_free(data->pair_message);
    phl_free(data->emission);
    phl_free(data->inside);
    phl_free(data->beta);
    phl_free(data->norm);
    phl_free(data->log_norm);
    phl_free(data->link_log);
}

/* out[r] = sum_z m(z) in[z * rest + r] */
static inline void contract(const double *restrict in, const double *restrict m, size_t rest,
                            double *restrict out)
{
    for (size_t r = 0; r < rest; r++) {
        out[r] = m[0] * in[r] + m[1] * in[rest + r];
    }
}

/* Core times messages, slot by slot; an empty slot takes a slab of the core. */
static void contract_all(struct side_by_side *data)
{
    size_t c = data->states;
    for (size_t i = 0; i < data->nodes; i++) {
        const double *current = data->core;
        size_t rest = CELLS * c;
        for (int a = 0; a < MODES; a++) {
            rest /= BLOCKS;
            if ((data->filled[i] >> a & 1) == 0) {
                current += data->block[c] * rest;
                continue;
            }
            contract(current, data->node_message + (i * MODES + (size_t)a) * BLOCKS, rest,
                     data->scratch[a]);
            current = data->scratch[a];
        }
        memcpy(data->inside + i * c, current, c * sizeof *current);
    }
}

static void sum_messages(struct side_by_side *data)
{
    size_t c = data->states;
    for (size_t i = 0; i < data->pairs; i++) {
        const double *beta = data->pair_beta + i * c;
        double m[BLOCKS] = {0.0};
        for (size_t q = 0; q < c; q++) {
            m[data->block[q]] += beta[q];
        }
        memcpy(data->pair_message + i * BLOCKS, m, sizeof m);
    }
}

static void emit(struct side_by_side *data)
{
    size_t c = data->states;
    for (size_t s = 0; s < data->subtrees; s++) {
        const double *emission = data->emission + s * c, *inside = data->inside + s * c;
        double *beta = data->beta + s * c;
        double norm = 0.0;
        for (size_t j = 0; j < c; j++) {
            beta[j] = emission[j] * inside[j];
            norm += beta[j];
        }
        double scale = 1.0 / norm;
        for (size_t j = 0; j < c; j++) {
            beta[j] *= scale;
        }
        data->norm[s] = norm;
    }
}

static void add_logs(struct side_by_side *data)
{
    const double *link = data->link_log;
    for (size_t s = 0; s < data->subtrees; s++) {
        double sum = log(data->norm[s]);
        for (uint32_t k = 0; k < data->children[s]; k++) {
            sum += *link++;
        }
        data->log_norm[s] = sum;
    }
}

/* ---------------------------------------------------------------------------------------------
 * Taking turns
 * ------------------------------------------------------------------------------------------- */

struct times {
    double pass, kernel, kernel_logs; /* shortest */
};

static void keep_shortest(double began, double *shortest)
{
    double taken = bench_seconds() - began;
    *shortest = taken < *shortest ? taken : *shortest;
}

static phl_status measure(phl_upward *upward, struct side_by_side *data, double seconds,
                          struct times *times, phl_error *error)
{
    *times = (struct times){INFINITY, INFINITY, INFINITY};
    double end = bench_seconds() + seconds;
    do {
        double began = bench_seconds();
        phl_status status = phl_upward_run(upward, 1, error);
        keep_shortest(began, &times->pass);
        if (status != PHL_OK) {
            return status;
        }
        began = bench_seconds();
        contract_all(data);
        sum_messages(data);
        emit(data);
        keep_shortest(began, &times->kernel);
        add_logs(data);
        keep_shortest(began, &times->kernel_logs);
    } while (bench_seconds() < end);
    return PHL_OK;
}

/* ---------------------------------------------------------------------------------------------
 * The dump
 * ------------------------------------------------------------------------------------------- */

static void dump_numbers(FILE *out, const char *name, const double *numbers, size_t rows,
                         size_t columns)
{
    fprintf(out, ",\n\"%s\": [", name);
    for (size_t r = 0; r < rows; r++) {
        fprintf(out, "%s[", r > 0 ? ",\n" : "");
        for (size_t i = 0; i < columns; i++) {
            fprintf(out, "%s%.17g", i > 0 ? "," : "", numbers[r * columns + i]);
        }
        fputc(']', out);
    }
    fputc(']', out);
}

/* Every subtree as [row of emission, slot of a leaf or 0, [slot, child, slot, child, ...]]. */
static void dump_subtrees(FILE *out, const phl_upward *upward)
{
    const phl_forest *forest = upward->index->forest;
    fprintf(out, ",\n\"subtrees\": [");
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        int32_t label = forest->label[s];
        uint32_t row = label < 0 ? upward->params->labels + 1 : upward->label_row[label];
        fprintf(out, "%s[%u,%u,[", s > 0 ? ",\n" : "", row, forest->leaf_slot[s]);
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            fprintf(out, "%s%u,%u", k > forest->first_link[s] ? "," : "", forest->links[k].slot,
                    forest->links[k].child);
        }
        fprintf(out, "]]");
    }
    fputc(']', out);
}

static phl_status dump(const char *path, const phl_upward *upward, phl_error *error)
{
    const phl_params *params = upward->params;
    const phl_forest *forest = upward->index->forest;
    size_t c = params->states;
    FILE *out = fopen(path, "w");
    if (out == NULL) {
        return phl_raise(error, PHL_ERR_WRITE, NULL, "%s cannot be written", path);
    }
    fprintf(out, "{\"states\": %zu", c);
    dump_numbers(out, "prior", params->prior, (size_t)params->slots + 1, c);
    dump_numbers(out, "emission", params->emission, (size_t)params->labels + 2, c);
    dump_numbers(out, "core", params->core, params->core_rows, c);
    fprintf(out, ",\n\"modes\": [");
    for (uint32_t a = 0; a < params->n_axes; a++) {
        fprintf(out, "%s{\"slot\": %u, \"blocks\": [", a > 0 ? ", " : "", params->axes[a].slot);
        for (size_t q = 0; q <= c; q++) {
            fprintf(out, "%s%u", q > 0 ? "," : "", params->axes[a].block[q]);
        }
        fprintf(out, "]}");
    }
    fputc(']', out);
    dump_subtrees(out, upward);
    fprintf(out, ",\n\"roots\": [");
    for (size_t t = 0; t < forest->n_trees; t++) {
        fprintf(out, "%s%u", t > 0 ? "," : "", forest->tree_root[t]);
    }
    fprintf(out, "],\n\"log_likelihood\": [");
    for (size_t t = 0; t < forest->n_trees; t++) {
        fprintf(out, "%s%.17g", t > 0 ? "," : "", phl_upward_tree(upward, t));
    }
    fprintf(out, "]}\n");
    if (fclose(out) != 0) {
        return phl_raise(error, PHL_ERR_WRITE, NULL, "%s cannot be written", path);
    }
    return PHL_OK;
}

/* ------------------------------------------------------------------------------------------- */

static phl_status run(const char *const *paths, size_t n_paths, uint32_t states, double seconds,
                      const char *dump_path, phl_error *error)
{
    phl_forest *forest = NULL;
    phl_index *index = NULL;
    phl_params *params = NULL;
    phl_upward *upward = NULL;
    uint32_t *label_row = NULL;
    struct side_by_side data = {0};
    struct times times = {0};
    phl_status status = phl_forest_read(paths, n_paths, NULL, &forest, NULL, error);
    if (status == PHL_OK) {
        status = phl_index_create(forest, forest->max_slot, false, &index, error);
    }
    if (status == PHL_OK) {
        status = phl_index_map_labels(forest, &forest->labels, &label_row, error);
    }
    if (status == PHL_OK) {
        status = make_model(forest, states, &params, error);
    }
    if (status == PHL_OK) {
        status = phl_upward_create(index, params, label_row, &upward, error);
    }
    if (status == PHL_OK) {
        status = lay_out(upward, &data, error);
    }
    if (status == PHL_OK) {
        status = measure(upward, &data, seconds, &times, error);
    }
    if (status == PHL_OK && dump_path != NULL) {
        status = dump(dump_path, upward, error);
    }
    if (status == PHL_OK) {
        printf("{\"subtrees\": %zu, \"internal\": %zu, \"links\": %zu, \"active_pairs\": %zu, "
               "\"slots\": [%u, %u, %u], \"pass_seconds\": %.9f, \"kernel_seconds\": %.9f, "
               "\"kernel_logs_seconds\": %.9f}\n",
               data.subtrees, data.nodes, data.links, data.pairs, params->axes[0].slot,
               params->axes[1].slot, params->axes[2].slot, times.pass, times.kernel,
               times.kernel_logs);
    }
    release(&data);
    phl_upward_free(upward);
    phl_params_free(params);
    phl_free(label_row);
    phl_index_free(index);
    phl_forest_free(forest);
    return status;
}

int main(int argc, char **argv)
{
    double states = 10, seconds = 1;
    const char *dump_path = NULL;
    const bench_option options[] = {
        {"--states", &states, NULL, NULL},
        {"--seconds", &seconds, NULL, NULL},
        {"--dump", NULL, &dump_path, NULL},
        {NULL, NULL, NULL, NULL},
    };
    int files = bench_options(argc, argv, options, USAGE);
    if (files == 0 || !(states >= 1 && states <= 64)) {
        return 2;
    }
    phl_error error = {0};
    phl_status status = run((const char *const *)argv + files, (size_t)(argc - files),
                            (uint32_t)states, seconds, dump_path, &error);
    return bench_end("upward_pass", status, &error);
}
