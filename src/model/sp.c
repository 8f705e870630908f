/* sp.c - the switching-parent model: A(i | q_1..q_L) = sum_l phi_l A^l(i | q_l).
 *
 * The message of a (slot, child) pair is its part of that sum, v(i) = phi_l sum_q A^l(i|q) beta(q);
 * inside is the sum of the children's messages and of the part of the empty slots, which depends
 * only on which slots are filled and is summed once per set, without subtraction.
 */
#include <math.h>

#include "base/clones.h"
#include "base/sampler.h"
#include "model/kernel.h"
#include "model/lane_rows.h"

static const double *row_of(const phl_params *params, size_t row, size_t q)
{
    size_t c = params->states;
    return params->transition + (row * (c + 1) + q) * c;
}

static size_t sp_width(const phl_params *params)
{
    return params->states;
}

static size_t sp_scratch(const phl_upward *upward)
{
    /* A row; one number per link of the widest node, in count_node. */
    return (size_t)upward->index->slots + phl_whole_lanes(upward->params->states) + 1;
}

/* Does the set hold the row?  `cursor` walks along the set while rows ascend. */
static bool is_filled(const phl_index *index, size_t set, size_t row, uint32_t *cursor)
{
    if (*cursor < index->set_first[set + 1] && index->set_rows[*cursor] == row) {
        (*cursor)++;
        return true;
    }
    return false;
}

static phl_status sp_prepare(phl_upward *upward, phl_error *error)
{
    (void)error;
    const phl_index *index = upward->index;
    const phl_params *params = upward->params;
    size_t c = params->states;
    for (size_t set = 0; set < index->n_sets; set++) {
        double *empty = upward->empty + set * c;
        for (size_t i = 0; i < c; i++) {
            empty[i] = 0.0;
        }
        uint32_t cursor = index->set_first[set];
        for (size_t row = 0; row < params->slots; row++) {
            if (is_filled(index, set, row, &cursor)) {
                continue;
            }
            const double *a = row_of(params, row, c);
            for (size_t i = 0; i < c; i++) {
                empty[i] += params->switching[row] * a[i];
            }
        }
    }
    return PHL_OK;
}

/* v(i) = phi_l sum_q A^l(i|q) beta(q) of every pair of child s.  weights: [C] scratch */
PHL_INLINED void send_messages(const phl_upward *upward, size_t s, double *restrict weights)
{
    const phl_params *params = upward->params;
    const phl_index *index = upward->index;
    size_t c = params->states;
    const double *restrict beta = upward->beta + s * c;
    for (uint32_t pair = index->first_pair[s]; pair < index->first_pair[s + 1]; pair++) {
        size_t row = index->pair_row[pair];
        for (size_t q = 0; q < c; q++) {
            weights[q] = params->switching[row] * beta[q];
        }
        phl_combine(c, row_of(params, row, 0), c, weights, c, upward->message + pair * c);
    }
}

/* The part of the empty slots and the messages of the children. */
PHL_INLINED void add_messages(size_t lanes, const phl_upward *upward, size_t s,
                              double *restrict inside)
{
    const phl_index *index = upward->index;
    const uint64_t *first_link = index->forest->first_link;
    size_t c = upward->params->states;
    for (size_t j = 0; j < lanes * PHL_LANES; j += PHL_LANES) {
        phl_lanes sum = phl_lanes_at(upward->empty + index->set_of[s] * c + j);
        for (uint64_t k = first_link[s]; k < first_link[s + 1]; k++) {
            uint32_t pair = index->link_pair[k];
            if (pair == PHL_NO_PAIR) {
                break; /* slots ascend: the rest lies beyond L too */
            }
            sum += phl_lanes_at(upward->message + pair * c + j);
        }
        phl_lanes_set(inside + j, sum);
    }
}

PHL_INLINED void run_subtrees(size_t lanes, const phl_upward *upward, size_t begin, size_t end,
                              double *scratch)
{
    const phl_params *params = upward->params;
    const uint32_t *leaf_slot = upward->index->forest->leaf_slot;
    size_t c = params->states;
    for (size_t s = begin; s < end; s++) {
        const double *from = scratch;
        if (leaf_slot[s] != 0) {
            from = params->prior + phl_leaf_row(params, leaf_slot[s]) * c;
        } else {
            add_messages(lanes, upward, s, scratch);
        }
        upward->norm[s] = phl_finish(lanes, c, phl_emission_of(upward, (uint32_t)s), from,
                                     upward->inside + s * c, upward->beta + s * c);
        send_messages(upward, s, scratch);
    }
}

PHL_CLONES
static void sp_run(const phl_upward *upward, size_t begin, size_t end, double *scratch)
{
    PHL_BY_PARTS(upward->params->states, run_subtrees, upward, begin, end, scratch);
}

static double sp_root_term(const phl_upward *upward, uint32_t s)
{
    (void)upward;
    (void)s;
    return 0.0;
}

/* ---- Expected counts -------------------------------------------------------------------------
 *
 * With flow U(i) of node u: the posterior of switching to slot l is s(l) = sum_i U(i) v_l(i).  A
 * child takes part with s(l) through A and, with the share of all other slots, through beta alone:
 * outside_child(q) += phi_l sum_i U(i) A^l(i|q) + (s of the others).
 * A pair collects sum U in pair_sum [C]; the share of the others goes to outside at once. */

static void sp_count_root(phl_counting *counting, uint32_t s, double weight)
{
    size_t c = counting->upward->params->states;
    for (size_t j = 0; j < c; j++) {
        counting->outside[s * c + j] += weight;
    }
}

static void add_to_all(double *values, size_t n, double amount)
{
    for (size_t i = 0; i < n; i++) {
        values[i] += amount;
    }
}

static void sp_count_node(phl_counting *counting, uint32_t s)
{
    const phl_upward *upward = counting->upward;
    const phl_index *index = upward->index;
    const phl_forest *forest = index->forest;
    size_t c = upward->params->states;
    const double *flow = counting->flow;
    size_t set = index->set_of[s];
    uint64_t begin = forest->first_link[s], end = forest->first_link[s + 1];
    double empty = phl_dot(flow, upward->empty + set * c, c);
    for (size_t i = 0; i < c; i++) {
        counting->set_sum[set * c + i] += flow[i];
    }
    /* Shares from the last slot to the first, so that each child gets the sum of the others without
     * a subtraction: behind[k] is the share of the slots after the k-th child. */
    double *behind = counting->scratch;
    double share = empty;
    uint64_t inside_end = begin; /* children in slots up to L */
    while (inside_end < end && index->link_pair[inside_end] != PHL_NO_PAIR) {
        inside_end++;
    }
    for (uint64_t k = inside_end; k-- > begin;) {
        behind[k - begin] = share;
        share += phl_dot(flow, upward->message + index->link_pair[k] * c, c);
    }
    double before = 0.0;
    for (uint64_t k = begin; k < inside_end; k++) {
        uint32_t pair = index->link_pair[k];
        double *sum = counting->pair_sum + pair * c;
        for (size_t i = 0; i < c; i++) {
            sum[i] += flow[i];
        }
        double *outside = counting->outside + forest->links[k].child * c;
        add_to_all(outside, c, before + behind[k - begin]);
        before += phl_dot(flow, upward->message + pair * c, c);
    }
    for (uint64_t k = inside_end; k < end; k++) { /* beyond L: only its own evidence */
        add_to_all(counting->outside + forest->links[k].child * c, c, share);
    }
}

static void sp_count_pair(phl_counting *counting, uint32_t pair)
{
    const phl_upward *upward = counting->upward;
    const phl_params *params = upward->params;
    size_t c = params->states, row = upward->index->pair_row[pair];
    uint32_t child = upward->index->pair_child[pair];
    const double *beta = upward->beta + child * c;
    const double *sum = counting->pair_sum + pair * c;
    double *outside = counting->outside + child * c;
    double switching = params->switching[row];
    double *counts = counting->counts->transition + row * (c + 1) * c;
    for (size_t q = 0; q < c; q++) {
        const double *a = row_of(params, row, q);
        double through = 0.0;
        for (size_t i = 0; i < c; i++) {
            double joint = switching * sum[i] * a[i];
            through += joint;
            counts[q * c + i] += joint * beta[q];
        }
        outside[q] += through;
        counting->counts->switching[row] += through * beta[q];
    }
}

static void sp_count_end(phl_counting *counting)
{
    const phl_upward *upward = counting->upward;
    const phl_index *index = upward->index;
    const phl_params *params = upward->params;
    size_t c = params->states;
    for (size_t set = 0; set < index->n_sets; set++) {
        const double *sum = counting->set_sum + set * c;
        uint32_t cursor = index->set_first[set];
        for (size_t row = 0; row < params->slots; row++) {
            if (is_filled(index, set, row, &cursor)) {
                continue;
            }
            const double *a = row_of(params, row, c);
            double *counts = counting->counts->transition + (row * (c + 1) + c) * c;
            for (size_t i = 0; i < c; i++) {
                double joint = params->switching[row] * sum[i] * a[i];
                counts[i] += joint;
                counting->counts->switching[row] += joint;
            }
        }
    }
}

/* ---- One tree ---------------------------------------------------------------------------------
 */

/* Flow of node u: outside * b / norm. */
static double flow_of(const phl_tree_view *view, size_t u, size_t i)
{
    uint32_t s = view->subtree[u];
    double norm = view->upward->norm[s];
    return phl_clamp_flow(view->outside[u * view->upward->params->states + i] *
                          phl_emission_of(view->upward, s)[i] / norm);
}

static void sp_tree_root(phl_tree_view *view)
{
    for (size_t j = 0; j < view->upward->params->states; j++) {
        view->outside[j] = 1.0;
    }
}

static phl_status sp_tree_children(phl_tree_view *view, size_t u, phl_error *error)
{
    const phl_upward *upward = view->upward;
    const phl_index *index = upward->index;
    const phl_forest *forest = index->forest;
    const phl_params *params = upward->params;
    size_t c = params->states;
    uint32_t s = view->subtree[u];
    uint64_t begin = forest->first_link[s], end = forest->first_link[s + 1];
    size_t n = (size_t)(end - begin);
    phl_status status = phl_tree_scratch(view, c + n, error);
    if (status != PHL_OK) {
        return status;
    }
    double *flow = view->scratch, *behind = flow + c;
    for (size_t i = 0; i < c; i++) {
        flow[i] = flow_of(view, u, i);
    }
    double share = phl_dot(flow, upward->empty + index->set_of[s] * c, c);
    for (size_t k = n; k-- > 0;) {
        uint32_t pair = index->link_pair[begin + k];
        behind[k] = share;
        share += pair == PHL_NO_PAIR ? 0.0 : phl_dot(flow, upward->message + pair * c, c);
    }
    double before = 0.0;
    size_t child = phl_first_child(u);
    for (size_t k = 0; k < n; k++, child = phl_next_sibling(view, child)) {
        uint32_t pair = index->link_pair[begin + k];
        double *outside = view->outside + child * c;
        for (size_t q = 0; q < c; q++) {
            outside[q] = before + behind[k];
            if (pair != PHL_NO_PAIR) {
                size_t row = index->pair_row[pair];
                outside[q] += params->switching[row] * phl_dot(flow, row_of(params, row, q), c);
            }
        }
        before += pair == PHL_NO_PAIR ? 0.0 : phl_dot(flow, upward->message + pair * c, c);
    }
    return PHL_OK;
}

static phl_status sp_tree_pair(phl_tree_view *view, size_t u, size_t child, double *joint,
                               phl_error *error)
{
    (void)error;
    const phl_upward *upward = view->upward;
    const phl_index *index = upward->index;
    const phl_forest *forest = index->forest;
    const phl_params *params = upward->params;
    size_t c = params->states;
    uint32_t s = view->subtree[u];
    const double *beta = upward->beta + view->subtree[child] * c;
    uint32_t pair = index->link_pair[view->link[child]];
    for (size_t i = 0; i < c; i++) {
        double rest = upward->empty[index->set_of[s] * c + i]; /* all other slots */
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            uint32_t other = index->link_pair[k];
            if (k != view->link[child] && other != PHL_NO_PAIR) {
                rest += upward->message[other * c + i];
            }
        }
        for (size_t q = 0; q < c; q++) {
            double through = 0.0;
            if (pair != PHL_NO_PAIR) {
                size_t row = index->pair_row[pair];
                through = params->switching[row] * row_of(params, row, q)[i];
            }
            joint[i * c + q] = flow_of(view, u, i) * (through + rest) * beta[q];
        }
    }
    return PHL_OK;
}

/* ---- Most probable states
 * ------------------------------------------------------------------------
 *
 * Relative to the sum of the children's best values, switching to slot l offers
 * log phi_l + max_q [log A^l(i|q) + delta_child(q)] - best_child. */

/* The offer of a filled slot to state i; *argument is the child's state. */
static double offer(const phl_tree_view *view, uint32_t pair, size_t i, uint32_t *argument)
{
    const phl_params *params = view->upward->params;
    size_t c = params->states, row = view->upward->index->pair_row[pair];
    uint32_t child = view->upward->index->pair_child[pair];
    const double *delta = view->delta + child * c;
    double most = -INFINITY;
    *argument = 0;
    for (size_t q = 0; q < c; q++) {
        double value = phl_kernel_log(row_of(params, row, q)[i]) + delta[q];
        if (value > most) {
            most = value;
            *argument = (uint32_t)q;
        }
    }
    return most == -INFINITY ? most
                             : phl_kernel_log(params->switching[row]) + most - view->best[child];
}

/* The best offer to state i of node s: *link is its link, or UINT64_MAX for an empty slot. */
static double best_offer(const phl_tree_view *view, uint32_t s, size_t i, uint64_t *link,
                         uint32_t *argument)
{
    const phl_index *index = view->upward->index;
    const phl_forest *forest = index->forest;
    const phl_params *params = view->upward->params;
    size_t c = params->states, set = index->set_of[s];
    double most = -INFINITY;
    *link = UINT64_MAX;
    *argument = 0;
    uint32_t cursor = index->set_first[set];
    for (size_t row = 0; row < params->slots; row++) {
        if (!is_filled(index, set, row, &cursor)) {
            double value =
                phl_kernel_log(params->switching[row]) + phl_kernel_log(row_of(params, row, c)[i]);
            most = value > most ? value : most;
        }
    }
    for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
        uint32_t state;
        if (index->link_pair[k] == PHL_NO_PAIR) {
            break;
        }
        double value = offer(view, index->link_pair[k], i, &state);
        if (value > most) {
            most = value;
            *link = k;
            *argument = state;
        }
    }
    return most;
}

static void sp_joint_inside(phl_tree_view *view, uint32_t s, double *delta)
{
    uint64_t link;
    uint32_t argument;
    for (size_t i = 0; i < view->upward->params->states; i++) {
        delta[i] = best_offer(view, s, i, &link, &argument);
    }
}

static uint32_t argmax(const double *values, size_t n)
{
    uint32_t best = 0;
    for (size_t i = 1; i < n; i++) {
        best = values[i] > values[best] ? (uint32_t)i : best;
    }
    return best;
}

static void sp_joint_children(phl_tree_view *view, size_t u, uint32_t *states)
{
    const phl_forest *forest = view->upward->index->forest;
    size_t c = view->upward->params->states;
    uint32_t s = view->subtree[u];
    uint64_t chosen;
    uint32_t argument;
    (void)best_offer(view, s, states[u], &chosen, &argument);
    size_t child = phl_first_child(u);
    for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
        states[child] =
            k == chosen ? argument : argmax(view->delta + forest->links[k].child * c, c);
        child = phl_next_sibling(view, child);
    }
}

/* ---- Drawing
 * --------------------------------------------------------------------------------------- */

static void sp_draw_children(phl_tree_view *view, size_t u, phl_rng *rng, uint32_t *states)
{
    const phl_upward *upward = view->upward;
    const phl_index *index = upward->index;
    const phl_forest *forest = index->forest;
    const phl_params *params = upward->params;
    size_t c = params->states, i = states[u];
    uint32_t s = view->subtree[u];
    double *weights = view->scratch; /* [C] */
    /* Which slot is switched to: a link, or an empty slot. */
    uint64_t chosen = UINT64_MAX;
    double passed = upward->empty[index->set_of[s] * c + i];
    double target = phl_rng_uniform(rng) * upward->inside[s * c + i];
    for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1] && target >= passed;
         k++) {
        if (index->link_pair[k] == PHL_NO_PAIR) {
            break;
        }
        double part = upward->message[index->link_pair[k] * c + i];
        if (part > 0.0) {
            chosen = k;
            passed += part;
        }
    }
    size_t child = phl_first_child(u);
    for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
        const double *beta = upward->beta + forest->links[k].child * c;
        size_t row = k == chosen ? index->pair_row[index->link_pair[k]] : 0;
        for (size_t q = 0; q < c; q++) {
            weights[q] = k == chosen ? row_of(params, row, q)[i] * beta[q] : beta[q];
        }
        states[child] = (uint32_t)phl_categorical_draw(rng, weights, c);
        child = phl_next_sibling(view, child);
    }
}

const phl_kernel phl_sp_kernel = {
    .width = sp_width,
    .scratch = sp_scratch,
    .prepare = sp_prepare,
    .run = sp_run,
    .root_term = sp_root_term,
    .count_root = sp_count_root,
    .count_node = sp_count_node,
    .count_pair = sp_count_pair,
    .count_end = sp_count_end,
    .tree_root = sp_tree_root,
    .tree_children = sp_tree_children,
    .tree_pair = sp_tree_pair,
    .joint_inside = sp_joint_inside,
    .joint_children = sp_joint_children,
    .draw_children = sp_draw_children,
};
