/* tf.c - the factorised model, hard and soft, and the full one (identity partitions).
 *
 * A(j | q_1..q_L) = sum_z lambda_z(j) prod_a [z_a is the block of q_a], the product over active
 * slots only (soft: kappa^a_{q_a}(z_a)).  The message of a (slot, child) pair in an active slot is
 * m(z) = sum of beta over block z; inside is the core contracted with the messages slot by slot. An
 * empty active slot shows one known block (hard), which is a slab of the core, not a sum.
 * Children in inactive slots bring their own evidence and nothing else.
 */
#include <math.h>
#include <string.h>

#include "base/sampler.h"
#include "model/cells.h"
#include "model/kernel.h"

/* ---- Upward
 * ----------------------------------------------------------------------------------------- */

static size_t tf_width(const phl_params *params)
{
    size_t width = 1;
    for (uint32_t a = 0; a < params->n_axes; a++) {
        width = params->axes[a].size > width ? params->axes[a].size : width;
    }
    return width;
}

static const phl_axis *axis_of_pair(const phl_upward *upward, uint32_t pair)
{
    const phl_params *params = upward->params;
    uint32_t number = params->axis_of_slot[upward->index->pair_row[pair] + 1];
    return number == 0 ? NULL : &params->axes[number - 1];
}

static double tf_root_term(const phl_upward *upward, uint32_t s)
{
    (void)upward;
    (void)s;
    return 0.0;
}

/* ---- Expected counts
 * ------------------------------------------------------------------------------------ */

static void tf_count_root(phl_counting *counting, uint32_t s, double weight)
{
    size_t c = counting->upward->params->states;
    for (size_t j = 0; j < c; j++) {
        counting->outside[s * c + j] += weight;
    }
}

static void tf_count_node(phl_counting *counting, uint32_t s)
{
    const phl_upward *upward = counting->upward;
    const phl_params *params = upward->params;
    const phl_index *index = upward->index;
    const phl_forest *forest = index->forest;
    size_t c = params->states;
    const double *flow = counting->flow;
    phl_cells cells;
    phl_cells_start(&cells, upward, s);
    do {
        const double *lambda = params->core + cells.cell * c;
        double *counts = counting->counts->core + cells.cell * c;
        double weight = phl_cells_weight(&cells);
        double through = 0.0; /* sum_i U(i) lambda_z(i) */
        for (size_t i = 0; i < c; i++) {
            double part = flow[i] * lambda[i];
            through += part;
            counts[i] += part * weight;
        }
        for (uint32_t f = 0; f < cells.n; f++) {
            uint32_t digit = cells.free[f].digit;
            double down = through * phl_cells_weight_without(&cells, f);
            if (cells.free[f].pair != PHL_NO_PAIR) {
                counting->pair_sum[cells.free[f].pair * upward->width + digit] += down;
            } else {
                phl_axis *axis = &counting->counts->axes[cells.free[f].axis];
                axis->matrix[c * axis->size + digit] += down * cells.free[f].m[digit];
            }
        }
    } while (phl_cells_next(&cells));
    double total = phl_dot(flow, upward->inside + s * c, c);
    for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
        uint32_t pair = index->link_pair[k];
        if (pair == PHL_NO_PAIR) {
            double *outside = counting->outside + forest->links[k].child * c;
            for (size_t q = 0; q < c; q++) {
                outside[q] += total;
            }
        } else if (axis_of_pair(upward, pair) == NULL) {
            counting->pair_sum[pair * upward->width] += total;
        }
    }
}

static void tf_count_pair(phl_counting *counting, uint32_t pair)
{
    const phl_upward *upward = counting->upward;
    size_t c = upward->params->states;
    uint32_t child = upward->index->pair_child[pair];
    const phl_axis *axis = axis_of_pair(upward, pair);
    const double *sum = counting->pair_sum + pair * upward->width;
    double *outside = counting->outside + child * c;
    for (size_t q = 0; q < c; q++) {
        if (axis == NULL) {
            outside[q] += sum[0];
        } else if (axis->block != NULL) {
            outside[q] += sum[axis->block[q]];
        } else {
            phl_axis *counted = &counting->counts->axes[axis - upward->params->axes];
            double beta = upward->beta[child * c + q];
            for (size_t z = 0; z < axis->size; z++) {
                double part = axis->matrix[q * axis->size + z] * sum[z];
                outside[q] += part;
                counted->matrix[q * axis->size + z] += part * beta;
            }
        }
    }
}

/* ---- One tree
 * ------------------------------------------------------------------------------------------- */

static double flow_of(const phl_tree_view *view, size_t u, size_t i)
{
    uint32_t s = view->subtree[u];
    return phl_clamp_flow(view->outside[u * view->upward->params->states + i] *
                          phl_emission_of(view->upward, s)[i] / view->upward->norm[s]);
}

static void tf_tree_root(phl_tree_view *view)
{
    for (size_t j = 0; j < view->upward->params->states; j++) {
        view->outside[j] = 1.0;
    }
}

/* What a child in an active slot gets: through(z), or through the mode matrix. */
static void spread(const phl_axis *axis, const double *through, size_t c, double *outside)
{
    for (size_t q = 0; q < c; q++) {
        outside[q] = axis->block != NULL
                         ? through[axis->block[q]]
                         : phl_dot(axis->matrix + q * axis->size, through, axis->size);
    }
}

static phl_status tf_tree_children(phl_tree_view *view, size_t u, phl_error *error)
{
    const phl_upward *upward = view->upward;
    const phl_params *params = upward->params;
    const phl_forest *forest = upward->index->forest;
    size_t c = params->states, width = upward->width;
    uint32_t s = view->subtree[u];
    phl_status status = phl_tree_scratch(view, c + params->n_axes * width, error);
    if (status != PHL_OK) {
        return status;
    }
    double *flow = view->scratch, *through = flow + c; /* [n_axes][width] */
    for (size_t i = 0; i < c; i++) {
        flow[i] = flow_of(view, u, i);
    }
    memset(through, 0, params->n_axes * width * sizeof *through);
    phl_cells cells;
    phl_cells_start(&cells, upward, s);
    do {
        double part = phl_dot(flow, params->core + cells.cell * c, c);
        for (uint32_t f = 0; f < cells.n; f++) {
            through[cells.free[f].axis * width + cells.free[f].digit] +=
                part * phl_cells_weight_without(&cells, f);
        }
    } while (phl_cells_next(&cells));
    double total = phl_dot(flow, upward->inside + s * c, c);
    size_t child = phl_first_child(u);
    for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
        uint32_t pair = upward->index->link_pair[k];
        const phl_axis *axis = pair == PHL_NO_PAIR ? NULL : axis_of_pair(upward, pair);
        double *outside = view->outside + child * c;
        if (axis != NULL) {
            spread(axis, through + (size_t)(axis - params->axes) * width, c, outside);
        } else {
            for (size_t q = 0; q < c; q++) {
                outside[q] = total;
            }
        }
        child = phl_next_sibling(view, child);
    }
    return PHL_OK;
}

static phl_status tf_tree_pair(phl_tree_view *view, size_t u, size_t child, double *joint,
                               phl_error *error)
{
    const phl_upward *upward = view->upward;
    const phl_params *params = upward->params;
    size_t c = params->states;
    uint32_t s = view->subtree[u];
    const double *beta = upward->beta + view->subtree[child] * c;
    uint32_t pair = upward->index->link_pair[view->link[child]];
    const phl_axis *axis = pair == PHL_NO_PAIR ? NULL : axis_of_pair(upward, pair);
    if (axis == NULL) {
        for (size_t i = 0; i < c; i++) {
            for (size_t q = 0; q < c; q++) {
                joint[i * c + q] = flow_of(view, u, i) * upward->inside[s * c + i] * beta[q];
            }
        }
        return PHL_OK;
    }
    phl_status status = phl_tree_scratch(view, (size_t)axis->size * c, error);
    if (status != PHL_OK) {
        return status;
    }
    /* part[z][i] = sum over cells with this slot in block z of lambda(i) times the others. */
    double *part = view->scratch;
    memset(part, 0, axis->size * c * sizeof *part);
    phl_cells cells;
    phl_cells_start(&cells, upward, s);
    uint32_t own = 0;
    while (params->axes + cells.free[own].axis != axis) {
        own++;
    }
    do {
        double weight = phl_cells_weight_without(&cells, own);
        const double *lambda = params->core + cells.cell * c;
        for (size_t i = 0; i < c; i++) {
            part[cells.free[own].digit * c + i] += lambda[i] * weight;
        }
    } while (phl_cells_next(&cells));
    for (size_t i = 0; i < c; i++) {
        for (size_t q = 0; q < c; q++) {
            double sum = 0.0;
            for (size_t z = 0; z < axis->size; z++) {
                double share = axis->block != NULL ? (double)(axis->block[q] == z)
                                                   : axis->matrix[q * axis->size + z];
                sum += share * part[z * c + i];
            }
            joint[i * c + q] = flow_of(view, u, i) * sum * beta[q];
        }
    }
    return PHL_OK;
}

/* ---- Most probable states
 * ---------------------------------------------------------------------------------- */

/* Best child state for each block of a free axis, relative to the child's best: offers [size]. */
static void axis_offers(const phl_tree_view *view, const phl_cells *cells, uint32_t f,
                        double *offers)
{
    const phl_params *params = view->upward->params;
    const phl_axis *axis = &params->axes[cells->free[f].axis];
    size_t c = params->states;
    if (cells->free[f].pair == PHL_NO_PAIR) {
        for (size_t z = 0; z < axis->size; z++) {
            offers[z] = phl_kernel_log(axis->matrix[c * axis->size + z]);
        }
        return;
    }
    uint32_t child = view->upward->index->pair_child[cells->free[f].pair];
    const double *delta = view->delta + child * c;
    for (size_t z = 0; z < axis->size; z++) {
        offers[z] = -INFINITY;
        for (size_t q = 0; q < c; q++) {
            double value = axis->block == NULL
                               ? phl_kernel_log(axis->matrix[q * axis->size + z]) + delta[q]
                           : axis->block[q] == z ? delta[q]
                                                 : -INFINITY;
            offers[z] = value > offers[z] ? value : offers[z];
        }
        offers[z] -= offers[z] == -INFINITY ? 0.0 : view->best[child];
    }
}

/* Offers of all free axes into view->scratch [n_axes][width]. */
static const double *all_offers(phl_tree_view *view, const phl_cells *cells)
{
    for (uint32_t f = 0; f < cells->n; f++) {
        axis_offers(view, cells, f, view->scratch + f * view->upward->width);
    }
    return view->scratch;
}

static double cell_offer(const phl_cells *cells, const double *offers, size_t width)
{
    double sum = 0.0;
    for (uint32_t f = 0; f < cells->n; f++) {
        sum += offers[f * width + cells->free[f].digit];
    }
    return sum;
}

static void tf_joint_inside(phl_tree_view *view, uint32_t s, double *delta)
{
    const phl_params *params = view->upward->params;
    size_t c = params->states;
    phl_cells cells;
    phl_cells_start(&cells, view->upward, s);
    const double *offers = all_offers(view, &cells);
    for (size_t i = 0; i < c; i++) {
        delta[i] = -INFINITY;
    }
    do {
        double offer = cell_offer(&cells, offers, view->upward->width);
        for (size_t i = 0; i < c; i++) {
            double value = phl_kernel_log(params->core[cells.cell * c + i]) + offer;
            delta[i] = value > delta[i] ? value : delta[i];
        }
    } while (phl_cells_next(&cells));
}

/* Best state of a child that must show block z (any block if axis is NULL). */
static uint32_t best_in_block(const double *delta, size_t c, const phl_axis *axis, uint32_t z)
{
    uint32_t best = 0;
    double most = -INFINITY;
    for (size_t q = 0; q < c; q++) {
        double value = axis == NULL ? delta[q]
                       : axis->block == NULL
                           ? phl_kernel_log(axis->matrix[q * axis->size + z]) + delta[q]
                       : axis->block[q] == z ? delta[q]
                                             : -INFINITY;
        if (value > most) {
            most = value;
            best = (uint32_t)q;
        }
    }
    return best;
}

static void tf_joint_children(phl_tree_view *view, size_t u, uint32_t *states)
{
    const phl_upward *upward = view->upward;
    const phl_params *params = upward->params;
    const phl_forest *forest = upward->index->forest;
    size_t c = params->states;
    uint32_t s = view->subtree[u];
    uint32_t chosen[PHL_MAX_AXES] = {0}; /* block of each axis */
    double most = -INFINITY;
    phl_cells cells;
    phl_cells_start(&cells, upward, s);
    const double *offers = all_offers(view, &cells);
    do {
        double value = phl_kernel_log(params->core[cells.cell * c + states[u]]) +
                       cell_offer(&cells, offers, upward->width);
        if (value > most) {
            most = value;
            for (uint32_t f = 0; f < cells.n; f++) {
                chosen[cells.free[f].axis] = cells.free[f].digit;
            }
        }
    } while (phl_cells_next(&cells));
    size_t child = phl_first_child(u);
    for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
        uint32_t pair = upward->index->link_pair[k];
        const phl_axis *axis = pair == PHL_NO_PAIR ? NULL : axis_of_pair(upward, pair);
        states[child] = best_in_block(view->delta + forest->links[k].child * c, c, axis,
                                      axis == NULL ? 0 : chosen[axis - params->axes]);
        child = phl_next_sibling(view, child);
    }
}

/* ---- Drawing
 * --------------------------------------------------------------------------------------------------
 */

/* Blocks of all axes of node s given its state: proportional to lambda_z(i) prod m. */
static void draw_blocks(const phl_upward *upward, uint32_t s, size_t i, phl_rng *rng,
                        uint32_t *blocks)
{
    const phl_params *params = upward->params;
    size_t c = params->states;
    double target = phl_rng_uniform(rng) * upward->inside[s * c + i];
    double passed = 0.0;
    phl_cells cells;
    phl_cells_start(&cells, upward, s);
    bool found = false;
    do {
        double weight = params->core[cells.cell * c + i] * phl_cells_weight(&cells);
        if (weight > 0.0 && (!found || target >= passed)) {
            found = true;
            passed += weight;
            for (uint32_t f = 0; f < cells.n; f++) {
                blocks[cells.free[f].axis] = cells.free[f].digit;
            }
        }
    } while (phl_cells_next(&cells) && (!found || target >= passed));
}

static void tf_draw_children(phl_tree_view *view, size_t u, phl_rng *rng, uint32_t *states)
{
    const phl_upward *upward = view->upward;
    const phl_params *params = upward->params;
    const phl_forest *forest = upward->index->forest;
    size_t c = params->states;
    uint32_t s = view->subtree[u];
    uint32_t blocks[PHL_MAX_AXES] = {0};
    draw_blocks(upward, s, states[u], rng, blocks);
    double *weights = view->scratch; /* [C] */
    size_t child = phl_first_child(u);
    for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
        uint32_t pair = upward->index->link_pair[k];
        const phl_axis *axis = pair == PHL_NO_PAIR ? NULL : axis_of_pair(upward, pair);
        uint32_t z = axis == NULL ? 0 : blocks[axis - params->axes];
        const double *beta = upward->beta + forest->links[k].child * c;
        for (size_t q = 0; q < c; q++) {
            double share = axis == NULL          ? 1.0
                           : axis->block != NULL ? (double)(axis->block[q] == z)
                                                 : axis->matrix[q * axis->size + z];
            weights[q] = share * beta[q];
        }
        states[child] = (uint32_t)phl_categorical_draw(rng, weights, c);
        child = phl_next_sibling(view, child);
    }
}

const phl_kernel phl_tf_kernel = {
    .width = tf_width,
    .scratch = phl_tf_upward_scratch,
    .prepare = phl_tf_upward_prepare,
    .run = phl_tf_upward_run,
    .send = phl_tf_upward_send,
    .copy = phl_tf_upward_copy,
    .root_term = tf_root_term,
    .count_root = tf_count_root,
    .count_node = tf_count_node,
    .count_pair = tf_count_pair,
    .tree_root = tf_tree_root,
    .tree_children = tf_tree_children,
    .tree_pair = tf_tree_pair,
    .joint_inside = tf_joint_inside,
    .joint_children = tf_joint_children,
    .draw_children = tf_draw_children,
};
