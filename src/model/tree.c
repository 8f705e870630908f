/* tree.c - one tree node by node: marginals, predictives, most probable states, draws; see infer.h.
 *
 * Nodes are numbered in pre-order, so the first child of node u is u + 1 and a sibling follows
 * after as many nodes as the subtree before it has.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sampler.h"
#include "model/kernel.h"

phl_status phl_tree_view_create(const phl_upward *upward, phl_tree_view **view, phl_error *error)
{
    const phl_forest *forest = upward->index->forest;
    phl_tree_view *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->upward = upward;
    made->size = phl_alloc(forest->n_subtrees, sizeof *made->size, error);
    if (made->size == NULL) {
        phl_tree_view_free(made);
        return PHL_ERR_MEMORY;
    }
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        made->size[s] = 1;
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            made->size[s] += made->size[forest->links[k].child];
        }
    }
    *view = made;
    return PHL_OK;
}

void phl_tree_view_free(phl_tree_view *view)
{
    if (view == NULL) {
        return;
    }
    phl_free(view->subtree);
    phl_free(view->parent);
    phl_free(view->slot);
    phl_free(view->link);
    phl_free(view->outside);
    phl_free(view->marginal);
    phl_free(view->cavity);
    phl_free(view->scratch);
    phl_free(view->size);
    phl_free(view->delta);
    phl_free(view->best);
    phl_free(view);
}

phl_status phl_tree_scratch(phl_tree_view *view, size_t n, phl_error *error)
{
    return phl_grow(&view->scratch, &view->scratch_capacity, n, sizeof *view->scratch, error);
}

/* Room for the nodes of a tree, and their places. */
static phl_status load_tree(phl_tree_view *view, size_t tree, phl_error *error)
{
    const phl_forest *forest = view->upward->index->forest;
    uint32_t root = forest->tree_root[tree];
    size_t n = (size_t)view->size[root];
    const phl_room rooms[] = {
        PHL_ROOM(view->subtree, view->subtree_capacity, n),
        PHL_ROOM(view->parent, view->parent_capacity, n),
        PHL_ROOM(view->slot, view->slot_capacity, n),
        PHL_ROOM(view->link, view->link_capacity, n),
    };
    phl_status status = phl_grow_all(rooms, sizeof rooms / sizeof *rooms, error);
    if (status != PHL_OK) {
        return status;
    }
    view->n = n;
    view->subtree[0] = root;
    view->parent[0] = SIZE_MAX;
    view->slot[0] = 1;
    for (size_t u = 0; u < n; u++) {
        uint32_t s = view->subtree[u];
        size_t child = phl_first_child(u);
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            view->subtree[child] = forest->links[k].child;
            view->parent[child] = u;
            view->slot[child] = forest->links[k].slot;
            view->link[child] = k;
            child = phl_next_sibling(view, child);
        }
    }
    return PHL_OK;
}

static bool is_possible(const phl_tree_view *view, size_t tree)
{
    return phl_upward_tree(view->upward, tree) > -INFINITY;
}

/* out(j) proportional to a(j) b(j), summing to 1; a product may be huge or tiny, so the largest is
 * taken out first. */
static void normalised_product(const double *a, const double *b, size_t n, double *out)
{
    double largest = 0.0, sum = 0.0;
    for (size_t j = 0; j < n; j++) {
        out[j] = b[j] > 0.0 ? a[j] * b[j] : 0.0;
        largest = out[j] > largest ? out[j] : largest;
    }
    for (size_t j = 0; j < n; j++) {
        out[j] = largest > 0.0 ? out[j] / largest : 0.0;
        sum += out[j];
    }
    for (size_t j = 0; sum > 0.0 && j < n; j++) {
        out[j] /= sum;
    }
}

phl_status phl_tree_marginals(phl_tree_view *view, size_t tree, bool *possible, phl_error *error)
{
    const phl_upward *upward = view->upward;
    const phl_kernel *kernel = phl_kernel_of(upward->params->kind);
    size_t c = upward->params->states;
    phl_status status = load_tree(view, tree, error);
    *possible = status == PHL_OK && is_possible(view, tree);
    if (!*possible) {
        return status;
    }
    size_t n = view->n;
    const phl_room rooms[] = {
        PHL_ROOM(view->outside, view->outside_capacity, n * c),
        PHL_ROOM(view->marginal, view->marginal_capacity, n * c),
        PHL_ROOM(view->cavity, view->cavity_capacity, n * c),
    };
    status = phl_grow_all(rooms, sizeof rooms / sizeof *rooms, error);
    if (status != PHL_OK) {
        return status;
    }
    kernel->tree_root(view);
    for (size_t u = 0; status == PHL_OK && u < n; u++) {
        uint32_t s = view->subtree[u];
        const double *outside = view->outside + u * c;
        normalised_product(outside, upward->beta + s * c, c, view->marginal + u * c);
        normalised_product(outside, upward->inside + s * c, c, view->cavity + u * c);
        if (view->size[s] > 1) {
            status = kernel->tree_children(view, u, error);
        }
    }
    return status;
}

phl_status phl_tree_pair(phl_tree_view *view, size_t u, double *pair, phl_error *error)
{
    size_t c = view->upward->params->states;
    PHL_CHECK_BUG(u > 0 && u < view->n, error);
    phl_status status =
        phl_kernel_of(view->upward->params->kind)->tree_pair(view, view->parent[u], u, pair, error);
    double sum = 0.0;
    for (size_t i = 0; status == PHL_OK && i < c * c; i++) {
        sum += pair[i];
    }
    for (size_t i = 0; status == PHL_OK && sum > 0.0 && i < c * c; i++) {
        pair[i] /= sum;
    }
    return status;
}

void phl_tree_predictive(const phl_tree_view *view, size_t u, double *predictive)
{
    const phl_params *params = view->upward->params;
    size_t c = params->states;
    for (size_t d = 0; d <= params->labels; d++) {
        predictive[d] = phl_dot(params->emission + d * c, view->cavity + u * c, c);
    }
}

/* ---- Most probable states
 * ------------------------------------------------------------------------ */

/* delta [n][C] and best [n] of every distinct subtree, children first. */
static phl_status make_delta(phl_tree_view *view, phl_error *error)
{
    const phl_upward *upward = view->upward;
    const phl_params *params = upward->params;
    const phl_forest *forest = upward->index->forest;
    const phl_kernel *kernel = phl_kernel_of(params->kind);
    size_t c = params->states;
    view->delta = phl_alloc(forest->n_subtrees * c, sizeof *view->delta, error);
    view->best = phl_alloc(forest->n_subtrees, sizeof *view->best, error);
    if (view->delta == NULL || view->best == NULL) {
        phl_free(view->delta);
        phl_free(view->best);
        view->delta = view->best = NULL;
        return PHL_ERR_MEMORY;
    }
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        double *delta = view->delta + s * c;
        const double *emission = phl_emission_of(upward, (uint32_t)s);
        double below = 0.0; /* the children's best values */
        if (forest->leaf_slot[s] != 0) {
            for (size_t j = 0; j < c; j++) {
                delta[j] = phl_kernel_log(upward->inside[s * c + j]);
            }
        } else {
            kernel->joint_inside(view, (uint32_t)s, delta);
        }
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            below += view->best[forest->links[k].child];
        }
        view->best[s] = -INFINITY;
        for (size_t j = 0; j < c; j++) {
            delta[j] += phl_kernel_log(emission[j]) + below;
            view->best[s] = delta[j] > view->best[s] ? delta[j] : view->best[s];
        }
    }
    return PHL_OK;
}

/* Scratch that the calls below the kernel's joint_* and draw_children may use without asking. */
static phl_status reserve_scratch(phl_tree_view *view, phl_error *error)
{
    const phl_upward *upward = view->upward;
    size_t needed = phl_kernel_of(upward->params->kind)->scratch(upward);
    needed = needed > upward->params->states ? needed : upward->params->states;
    return phl_tree_scratch(view, needed, error);
}

phl_status phl_tree_most_probable(phl_tree_view *view, size_t tree, uint32_t *states,
                                  double *log_joint, bool *possible, phl_error *error)
{
    const phl_params *params = view->upward->params;
    const phl_kernel *kernel = phl_kernel_of(params->kind);
    size_t c = params->states;
    phl_status status = load_tree(view, tree, error);
    if (status == PHL_OK) {
        status = reserve_scratch(view, error);
    }
    if (status == PHL_OK && view->delta == NULL) {
        status = make_delta(view, error);
    }
    *possible = status == PHL_OK && is_possible(view, tree);
    if (!*possible) {
        return status;
    }
    const double *delta = view->delta + view->subtree[0] * c;
    *log_joint = -INFINITY;
    for (size_t j = 0; j < c; j++) {
        double value = delta[j] + (params->root != NULL ? phl_kernel_log(params->root[j]) : 0.0);
        if (value > *log_joint) {
            *log_joint = value;
            states[0] = (uint32_t)j;
        }
    }
    for (size_t u = 0; u < view->n; u++) {
        if (view->size[view->subtree[u]] > 1) {
            kernel->joint_children(view, u, states);
        }
    }
    return PHL_OK;
}

phl_status phl_tree_draw_states(phl_tree_view *view, size_t tree, phl_rng *rng, uint32_t *states,
                                bool *possible, phl_error *error)
{
    const phl_upward *upward = view->upward;
    const phl_params *params = upward->params;
    const phl_kernel *kernel = phl_kernel_of(params->kind);
    size_t c = params->states;
    phl_status status = load_tree(view, tree, error);
    if (status == PHL_OK) {
        status = reserve_scratch(view, error);
    }
    *possible = status == PHL_OK && is_possible(view, tree);
    if (!*possible) {
        return status;
    }
    const double *beta = upward->beta + view->subtree[0] * c;
    for (size_t j = 0; j < c; j++) {
        view->scratch[j] = params->root != NULL ? params->root[j] * beta[j] : beta[j];
    }
    states[0] = (uint32_t)phl_categorical_draw(rng, view->scratch, c);
    for (size_t u = 0; u < view->n; u++) {
        if (view->size[view->subtree[u]] > 1) {
            kernel->draw_children(view, u, rng, states);
        }
    }
    return PHL_OK;
}
