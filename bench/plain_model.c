/* plain_model.c - trees node by node, the upward pass and the shape term; see plain.h. */
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "model/kernel.h"
#include "plain.h"

_Noreturn void plain_fail(const phl_error *error)
{
    char text[1600];
    fprintf(stderr, "plain: %s\n", phl_error_format(error, text, sizeof text));
    exit(EXIT_FAILURE);
}

void *plain_alloc(size_t count, size_t size)
{
    void *memory = NULL;
    plain_must((memory = phl_alloc_zero(count, size, error)) == NULL ? PHL_ERR_MEMORY : PHL_OK);
    return memory;
}

double plain_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---------------------------------------------------------------------------------------------
 * Trees
 * ------------------------------------------------------------------------------------------- */

/* How often a tree is taken. */
static size_t copies_of(const phl_forest *forest, size_t tree, int32_t class_number, bool repeat)
{
    if (class_number != PHL_NO_CLASS && forest->tree_class[tree] != class_number) {
        return 0;
    }
    double weight = phl_tree_weight(forest, tree);
    if (repeat && weight != floor(weight)) {
        plain_must(
            phl_raise(error, PHL_ERR_ARGUMENT, NULL, "tree %zu has weight %g", tree, weight));
    }
    return repeat ? (size_t)weight : 1;
}

/* Append a tree level by level: what is written serves as the queue.  subtree: [nodes] */
static void write_tree(const phl_forest *forest, size_t tree, const uint32_t *label_row,
                       uint32_t labels, uint32_t *subtree, plain_trees *trees)
{
    plain_node *nodes = trees->nodes;
    size_t end = trees->n_nodes;
    trees->first[trees->n_trees++] = end;
    subtree[end] = forest->tree_root[tree];
    nodes[end++].slot = 1;
    for (size_t u = trees->n_nodes; u < end; u++) {
        uint32_t s = subtree[u];
        nodes[u].label = forest->label[s] < 0 ? labels + 1 : label_row[forest->label[s]];
        nodes[u].first_child = (uint32_t)end;
        nodes[u].n_children = (uint32_t)(forest->first_link[s + 1] - forest->first_link[s]);
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            subtree[end] = forest->links[k].child;
            nodes[end++].slot = forest->links[k].slot;
        }
    }
    size_t size = end - trees->n_nodes;
    trees->largest = size > trees->largest ? size : trees->largest;
    trees->n_nodes = end;
    trees->first[trees->n_trees] = end;
}

plain_trees *plain_trees_create(const phl_forest *forest, int32_t class_number, bool repeat,
                                const uint32_t *label_row, uint32_t labels)
{
    size_t n_nodes = 0, n_trees = 0;
    size_t *size = plain_alloc(forest->n_subtrees, sizeof *size);
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        size[s] = 1;
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            size[s] += size[forest->links[k].child];
        }
    }
    for (size_t tree = 0; tree < forest->n_trees; tree++) {
        size_t copies = copies_of(forest, tree, class_number, repeat);
        n_trees += copies;
        n_nodes += copies * size[forest->tree_root[tree]];
    }
    if (n_nodes >= UINT32_MAX) {
        plain_must(phl_raise(error, PHL_ERR_LIMIT, "use fewer trees", "too many nodes"));
    }
    plain_trees *made = plain_alloc(1, sizeof *made);
    uint32_t *subtree = plain_alloc(n_nodes, sizeof *subtree);
    made->nodes = plain_alloc(n_nodes, sizeof *made->nodes);
    made->first = plain_alloc(n_trees + 1, sizeof *made->first);
    for (size_t tree = 0; tree < forest->n_trees; tree++) {
        for (size_t i = copies_of(forest, tree, class_number, repeat); i > 0; i--) {
            write_tree(forest, tree, label_row, labels, subtree, made);
        }
    }
    phl_free(subtree);
    phl_free(size);
    return made;
}

void plain_trees_free(plain_trees *trees)
{
    if (trees != NULL) {
        phl_free(trees->nodes);
        phl_free(trees->first);
        phl_free(trees);
    }
}

/* ---------------------------------------------------------------------------------------------
 * Upward
 * ------------------------------------------------------------------------------------------- */

void plain_upward_init(plain_upward *upward, size_t nodes, uint32_t states)
{
    upward->beta = plain_alloc(nodes * states, sizeof *upward->beta);
    upward->message = plain_alloc(nodes * ((size_t)states + 1), sizeof *upward->message);
    upward->scratch = NULL;
    upward->scratch_capacity = 0;
}

void plain_upward_clear(plain_upward *upward)
{
    phl_free(upward->beta);
    phl_free(upward->message);
    phl_free(upward->scratch);
}

/* m(z) = sum of beta over block z. */
static void add_blocks(const phl_axis *axis, const double *beta, size_t c, double *m)
{
    memset(m, 0, axis->size * sizeof *m);
    for (size_t q = 0; q < c; q++) {
        m[axis->block[q]] += beta[q];
    }
}

/* out[r] = sum_z m(z) in[z * rest + r]; out may be `in`. */
static void contract(const double *in, const double *m, size_t size, size_t rest, double *out)
{
    for (size_t r = 0; r < rest; r++) {
        out[r] = m[0] * in[r];
    }
    for (size_t z = 1; z < size; z++) {
        const double *slab = in + z * rest;
        for (size_t r = 0; r < rest; r++) {
            out[r] += m[z] * slab[r];
        }
    }
}

/* p(Q_u | labels strictly below): the prior of a leaf, or the core contracted with the messages of
 * the children in active slots.  An empty slot shows one block, which is a slab of the core. */
static const double *inside_of(const plain_upward *upward, const phl_params *params,
                               const plain_node *nodes, size_t u, size_t begin)
{
    size_t c = params->states;
    if (nodes[u].n_children == 0) {
        return params->prior + phl_leaf_row(params, nodes[u].slot) * c;
    }
    const double *current = params->core;
    size_t rest = params->core_rows * c;
    for (uint32_t a = 0; a < params->n_axes; a++) {
        const phl_axis *axis = &params->axes[a];
        size_t child = plain_find_child(nodes, u, axis->slot);
        rest /= axis->size;
        if (child == PLAIN_NONE) {
            current += axis->block[c] * rest;
            continue;
        }
        double *m = upward->message + (child - begin) * (c + 1);
        add_blocks(axis, upward->beta + (child - begin) * c, c, m);
        contract(current, m, axis->size, rest, upward->scratch);
        current = upward->scratch;
    }
    return current;
}

double plain_upward_run(plain_upward *upward, const phl_params *params, const plain_trees *trees,
                        size_t begin, size_t end)
{
    size_t c = params->states;
    plain_must(phl_grow(&upward->scratch, &upward->scratch_capacity, params->core_rows * c,
                        sizeof *upward->scratch, error));
    double sum = 0.0;
    for (size_t u = end; u-- > begin;) {
        const double *inside = inside_of(upward, params, trees->nodes, u, begin);
        const double *emission = params->emission + trees->nodes[u].label * c;
        double *beta = upward->beta + (u - begin) * c;
        double norm = 0.0;
        for (size_t j = 0; j < c; j++) {
            beta[j] = emission[j] * inside[j];
            norm += beta[j];
        }
        double scale = norm >= DBL_MIN ? 1.0 / norm : 0.0;
        for (size_t j = 0; j < c; j++) {
            beta[j] *= scale;
        }
        sum += scale > 0.0 ? log(norm) : -INFINITY;
    }
    return sum;
}

/* ---------------------------------------------------------------------------------------------
 * Shape
 * ------------------------------------------------------------------------------------------- */

void plain_shape_init(plain_shape *shape, uint32_t slots)
{
    shape->slots = slots;
    shape->child = plain_alloc((size_t)slots + 1, sizeof *shape->child);
}

void plain_shape_clear(plain_shape *shape)
{
    phl_free(shape->child);
}

void plain_shape_set(plain_shape *shape, const phl_params *params)
{
    double all_absent = 0.0;
    for (size_t l = 0; l < params->slots; l++) {
        const double *row = params->shape + 3 * l;
        double absent = log(row[0]);
        all_absent += absent;
        shape->child[l][0] = log(row[1]) - absent;
        shape->child[l][1] = log(row[2]) - absent;
    }
    shape->child[params->slots][0] = shape->child[params->slots][1] = -log(3.0);
    shape->internal = all_absent - phl_log_complement(all_absent);
    shape->root[0] = log(params->root_kind[0]);
    shape->root[1] = log(params->root_kind[1]);
}

double plain_shape_score(const plain_shape *shape, const plain_trees *trees, size_t tree)
{
    const plain_node *nodes = trees->nodes;
    size_t root = trees->first[tree];
    double sum = shape->root[nodes[root].n_children > 0];
    for (size_t u = root; u < trees->first[tree + 1]; u++) {
        bool internal = nodes[u].n_children > 0;
        if (u > root) {
            uint32_t slot = nodes[u].slot;
            sum += shape->child[slot <= shape->slots ? slot - 1 : shape->slots][internal];
        }
        sum += internal ? shape->internal : 0.0;
    }
    return sum;
}
