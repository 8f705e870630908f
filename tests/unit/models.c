/* models.c - random models and random trees for tests; see models.h. */
#include "models.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

const char *const letter[26] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m",
                                "n", "o", "p", "q", "r", "s", "t", "u", "v", "w", "x", "y", "z"};

uint32_t random_below(phl_rng *rng, uint32_t bound)
{
    return (uint32_t)phl_rng_bounded(rng, bound);
}

/* ---- Models ---------------------------------------------------------------------------------- */

void random_row(phl_rng *rng, row_style style, double *row, size_t columns, size_t stride)
{
    size_t spared = (size_t)phl_rng_bounded(rng, columns); /* one cell is never 0 */
    double sum = 0;
    for (size_t c = 0; c < columns; c++) {
        double value =
            style == ROWS_SKEWED ? exp(-13.8 * phl_rng_uniform(rng)) : phl_rng_exponential(rng);
        if (style == ROWS_ZEROS && c != spared && phl_rng_uniform(rng) < 1.0 / 3) {
            value = 0;
        }
        row[c * stride] = value;
        sum += value;
    }
    for (size_t c = 0; c < columns; c++) {
        row[c * stride] /= sum;
    }
}

void random_tables(phl_rng *rng, row_style style, phl_params *params)
{
    phl_table table;
    for (size_t i = 0; phl_params_table(params, i, &table); i++) {
        for (size_t r = 0; r < table.rows; r++) {
            random_row(rng, style, table.data + r * table.row_stride, table.columns,
                       table.column_stride);
        }
    }
    phl_params_complete(params);
}

/* Values 0 .. count - 1 onto blocks 0 .. k - 1, numbered at random. */
static void random_partition(phl_rng *rng, uint32_t *block, uint32_t count, uint32_t k)
{
    for (uint32_t q = 0; q < count; q++) {
        block[q] = q < k ? q : random_below(rng, k);
    }
    for (uint32_t q = count; q > 1; q--) {
        uint32_t other = random_below(rng, q);
        uint32_t kept = block[q - 1];
        block[q - 1] = block[other];
        block[other] = kept;
    }
}

phl_params *random_params(phl_rng *rng, phl_kind kind, bool soft, uint32_t states, uint32_t slots,
                          uint32_t labels, uint32_t max_active, row_style style)
{
    phl_axis *axes = must_alloc(slots, sizeof *axes);
    uint32_t n_axes = 0;
    if (kind == PHL_TF) {
        uint32_t wanted = random_below(rng, (max_active < slots ? max_active : slots) + 1);
        for (uint32_t l = 1; l <= slots; l++) {
            /* Each choice of `wanted` slots is equally likely. */
            if (random_below(rng, slots - l + 1) >= wanted - n_axes) {
                continue;
            }
            phl_axis *axis = &axes[n_axes++];
            axis->slot = l;
            axis->size = 2 + random_below(rng, states);
            if (soft) {
                axis->matrix = must_alloc((size_t)(states + 1) * axis->size, sizeof(double));
            } else {
                axis->block = must_alloc(states + 1, sizeof(uint32_t));
                random_partition(rng, axis->block, states + 1, axis->size);
            }
        }
    }
    phl_params *params = NULL;
    must(phl_params_create(kind, states, slots, labels, axes, n_axes, 0, &params, error));
    for (uint32_t i = 0; i < n_axes; i++) {
        phl_free(axes[i].block);
        phl_free(axes[i].matrix);
    }
    phl_free(axes);
    random_tables(rng, style, params);
    must(phl_params_check(params, error));
    return params;
}

char *partition_json(const phl_params *params)
{
    size_t room = 64 + params->n_axes * (size_t)(64 + 12 * (params->states + 1));
    char *text = must_alloc(room, 1);
    size_t used = (size_t)snprintf(text, room, "[");
    for (uint32_t i = 0; i < params->n_axes; i++) {
        const phl_axis *axis = &params->axes[i];
        used += (size_t)snprintf(text + used, room - used, "%s{\"slot\":%u,\"blocks\":[",
                                 i == 0 ? "" : ",", axis->slot);
        for (uint32_t q = 0; q <= params->states; q++) {
            used += (size_t)snprintf(text + used, room - used, "%s%u", q == 0 ? "" : ",",
                                     axis->block[q]);
        }
        used += (size_t)snprintf(text + used, room - used, "]}");
    }
    (void)snprintf(text + used, room - used, "]");
    return text;
}

prepared prepare(const phl_forest *forest, const phl_alphabet *labels, const phl_params *params,
                 int threads)
{
    prepared p = {.forest = forest, .params = params};
    must(phl_index_create(forest, params->slots, params->kind == PHL_TD, &p.index, error));
    must(phl_index_map_labels(forest, labels, &p.label_row, error));
    must(phl_slot_pairs_create(p.index, 0.0, &p.pairs, error));
    must(phl_upward_create(p.index, params, p.label_row, &p.upward, error));
    must(phl_upward_run(p.upward, threads, error));
    must(phl_tree_view_create(p.upward, &p.view, error));
    return p;
}

void unprepare(prepared *p)
{
    phl_tree_view_free(p->view);
    phl_upward_free(p->upward);
    phl_free(p->label_row);
    phl_slot_pairs_free(p->pairs);
    phl_index_free(p->index);
    *p = (prepared){0};
}

/* ---- Trees ----------------------------------------------------------------------------------- */

/* In pre-order the last node hangs somewhere on the path from the node before it to the root,
 * after the last child there.  So every shape of n + 1 nodes is one shape of n nodes and such a
 * place. */
shape *all_shapes(unsigned size, uint32_t slots, size_t *count)
{
    shape *found = must_alloc(1, sizeof *found);
    size_t capacity = 1;
    found[0].size = 1;
    found[0].slot[0] = 1;
    *count = 1;
    for (size_t i = 0; i < *count; i++) {
        if (found[i].size == size) {
            continue;
        }
        unsigned node = found[i].size - 1;
        uint32_t first = 1;
        for (;;) {
            for (uint32_t slot = first; slot <= slots; slot++) {
                must(phl_grow(&found, &capacity, *count + 1, sizeof *found, error));
                shape *made = &found[(*count)++];
                *made = found[i];
                made->parent[made->size] = node;
                made->slot[made->size] = slot;
                made->size++;
            }
            if (node == 0) {
                break;
            }
            first = found[i].slot[node] + 1;
            node = found[i].parent[node];
        }
    }
    return found;
}

uint32_t shape_max_slot(const shape *s)
{
    uint32_t max = 1;
    for (unsigned u = 0; u < s->size; u++) {
        max = s->slot[u] > max ? s->slot[u] : max;
    }
    return max;
}

shape random_shape(phl_rng *rng, unsigned size, uint32_t slots)
{
    shape s = {.size = 1, .slot = {1}};
    unsigned wanted = 1 + random_below(rng, size);
    while (s.size < wanted) {
        /* Walk from the last node towards the root; stop at random where there is room. */
        unsigned node = s.size - 1;
        uint32_t first = 1;
        for (unsigned up = random_below(rng, 3); node != 0 && (up > 0 || first > slots);
             up -= up > 0) {
            first = s.slot[node] + 1;
            node = s.parent[node];
        }
        if (first > slots) {
            break; /* the root is full */
        }
        s.parent[s.size] = node;
        s.slot[s.size] = first + random_below(rng, slots - first + 1);
        s.size++;
    }
    return s;
}

void add_tree(phl_builder *builder, const shape *s, const char *const *labels, double weight,
              const char *class_name)
{
    unsigned open[MAX_SHAPE];
    unsigned depth = 0;
    for (unsigned u = 0; u < s->size; u++) {
        while (depth > 0 && open[depth - 1] != s->parent[u]) {
            must(phl_builder_close(builder, error));
            depth--;
        }
        must(phl_builder_open(builder, labels[u], s->slot[u], error));
        open[depth++] = u;
    }
    while (depth-- > 0) {
        must(phl_builder_close(builder, error));
    }
    phl_tree_info info = {.class_name = class_name, .weight = weight};
    must(phl_builder_end_tree(builder, &info, error));
}

phl_builder *new_builder(bool no_sharing)
{
    phl_builder *builder = NULL;
    phl_builder_options options;
    phl_builder_options_init(&options);
    options.no_sharing = no_sharing;
    must(phl_builder_create(&options, &builder, error));
    return builder;
}

phl_forest *finish_forest(phl_builder *builder)
{
    phl_forest *forest = NULL;
    must(phl_builder_finish(builder, &forest, error));
    phl_builder_free(builder);
    return forest;
}
