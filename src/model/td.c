/* td.c - the top-down model: Q_root ~ rho, Q_child ~ A^slot(. | Q_parent).
 *
 * Messages run upward all the same: that of a (slot, child) pair is m(i) = sum_q A(q|i) beta(q),
 * beta being the likelihood of the child's subtree up to a factor; inside is the product of the
 * children's messages, with an exponent a state so that a million children do not underflow.
 * Slots beyond L use the mean transition, row L.
 */
#include <math.h>
#include <string.h>

#include "base/clones.h"
#include "base/memory.h"
#include "base/sampler.h"
#include "model/kernel.h"
#include "model/lane_rows.h"

static const double *row_of(const phl_params *params, size_t row, size_t i)
{
    size_t c = params->states;
    return params->transition + (row * c + i) * c;
}

static size_t td_width(const phl_params *params)
{
    return params->states;
}

static size_t td_scratch(const phl_upward *upward)
{
    return 2 * phl_whole_lanes(upward->params->states);
}

/* table: A with the parent's state last, [L + 1][C][C], so that messages are sums of rows. */
static phl_status td_prepare(phl_upward *upward, phl_error *error)
{
    const phl_params *params = upward->params;
    size_t c = params->states, rows = (size_t)params->slots + 1;
    phl_status status = phl_grow(&upward->table, &upward->table_capacity, rows * c * c + PHL_LANES,
                                 sizeof *upward->table, error);
    for (size_t row = 0; status == PHL_OK && row < rows; row++) {
        for (size_t i = 0; i < c; i++) {
            for (size_t q = 0; q < c; q++) {
                upward->table[(row * c + q) * c + i] = row_of(params, row, i)[q];
            }
        }
    }
    return status;
}

PHL_INLINED void send_messages(const phl_upward *upward, size_t s)
{
    const phl_index *index = upward->index;
    size_t c = upward->params->states;
    for (uint32_t pair = index->first_pair[s]; pair < index->first_pair[s + 1]; pair++) {
        phl_combine(c, upward->table + index->pair_row[pair] * c * c, c, upward->beta + s * c, c,
                    upward->message + pair * c);
    }
}

/* Fractions below this are brought back to 1/2 .. 1. */
#define SMALL 0x1p-500

/* Products over children as fraction * 2^exponent, one pair per state: one state may be far behind
 * the others after some children and ahead after the next.  Fractions after the last state become
 * 0. True if an exponent changed. */
PHL_INLINED bool multiply(size_t lanes, size_t c, const double *restrict factors,
                          double *restrict fraction, double *restrict exponent)
{
    size_t last = (lanes - 1) * PHL_LANES;
    phl_lane_mask small = {0};
    for (size_t j = 0; j <= last; j += PHL_LANES) {
        phl_lanes x = phl_lanes_at(fraction + j) * phl_lanes_at(factors + j);
        if (j == last) {
            phl_lanes_keep(&x, c - last);
        }
        phl_lanes_set(fraction + j, x);
        small |= (x > 0.0) & (x < SMALL);
    }
    if ((small[0] | small[1] | small[2] | small[3]) == 0) {
        return false;
    }
    for (size_t i = 0; i < c; i++) {
        if (fraction[i] > 0.0 && fraction[i] < SMALL) {
            int shift;
            fraction[i] = frexp(fraction[i], &shift);
            exponent[i] += shift;
        }
    }
    return true;
}

/* Bring fractions to one exponent, the largest, which is returned. */
static double align(double *fraction, const double *exponent, size_t n)
{
    double largest = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        double own = fraction[i] > 0.0 ? exponent[i] + ilogb(fraction[i]) : -INFINITY;
        largest = own > largest ? own : largest;
    }
    if (largest == -INFINITY) {
        return 0.0;
    }
    for (size_t i = 0; i < n; i++) {
        double shift = exponent[i] - largest;
        fraction[i] = shift < -2200.0 ? 0.0 : ldexp(fraction[i], (int)shift);
    }
    return largest;
}

/* The same where all exponents are 0: then no fraction is below SMALL, but for zeros. */
PHL_INLINED double align_plain(size_t lanes, size_t c, double *restrict fraction)
{
    double most = 0.0;
    for (size_t i = 0; i < c; i++) {
        most = fraction[i] > most ? fraction[i] : most;
    }
    if (!(most > 0.0)) {
        return 0.0;
    }
    int largest = ilogb(most);
    double scale = ldexp(1.0, -largest);
    for (size_t j = 0; j < lanes * PHL_LANES; j += PHL_LANES) {
        phl_lanes_set(fraction + j, phl_lanes_at(fraction + j) * scale);
    }
    return largest;
}

PHL_INLINED void run_subtrees(size_t lanes, const phl_upward *upward, size_t begin, size_t end,
                              double *scratch)
{
    const phl_forest *forest = upward->index->forest;
    size_t c = upward->params->states, whole = lanes * PHL_LANES;
    double *product = scratch, *exponent = scratch + whole; /* [whole] each */
    for (size_t s = begin; s < end; s++) {
        bool shifted = false;
        for (size_t i = 0; i < whole; i++) {
            product[i] = 1.0;
            exponent[i] = 0.0;
        }
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            const double *factors = upward->message + upward->index->link_pair[k] * c;
            shifted = multiply(lanes, c, factors, product, exponent) || shifted;
        }
        upward->exponent[s] = forest->leaf_slot[s] != 0 ? 0.0
                              : shifted                 ? align(product, exponent, c)
                                                        : align_plain(lanes, c, product);
        upward->norm[s] = phl_finish(lanes, c, phl_emission_of(upward, (uint32_t)s), product,
                                     upward->inside + s * c, upward->beta + s * c);
        send_messages(upward, s);
    }
}

PHL_CLONES
static void td_run(const phl_upward *upward, size_t begin, size_t end, double *scratch)
{
    PHL_BY_PARTS(upward->params->states, run_subtrees, upward, begin, end, scratch);
}

static double root_likelihood(const phl_upward *upward, uint32_t s)
{
    size_t c = upward->params->states;
    return phl_dot(upward->params->root, upward->beta + s * c, c);
}

static double td_root_term(const phl_upward *upward, uint32_t s)
{
    return phl_kernel_log(root_likelihood(upward, s));
}

/* ---- Expected counts: flow is the expected count of each state
 * ------------------------------------------- */

static void td_count_root(phl_counting *counting, uint32_t s, double weight)
{
    const phl_upward *upward = counting->upward;
    size_t c = upward->params->states;
    double total = root_likelihood(upward, s);
    for (size_t j = 0; j < c; j++) {
        double ratio = weight * upward->params->root[j] / total;
        counting->outside[s * c + j] += ratio;
        counting->counts->root[j] += ratio * upward->beta[s * c + j];
    }
}

static void td_count_node(phl_counting *counting, uint32_t s)
{
    const phl_index *index = counting->upward->index;
    const phl_forest *forest = index->forest;
    size_t c = counting->upward->params->states;
    for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
        double *sum = counting->pair_sum + index->link_pair[k] * c;
        for (size_t i = 0; i < c; i++) {
            sum[i] += counting->flow[i];
        }
    }
}

static void td_count_pair(phl_counting *counting, uint32_t pair)
{
    const phl_upward *upward = counting->upward;
    const phl_params *params = upward->params;
    size_t c = params->states, row = upward->index->pair_row[pair];
    uint32_t child = upward->index->pair_child[pair];
    const double *beta = upward->beta + child * c;
    double *outside = counting->outside + child * c;
    double *counts = counting->counts->transition + row * c * c;
    for (size_t i = 0; i < c; i++) {
        double message = upward->message[pair * c + i];
        if (!(message > 0.0)) {
            continue; /* then state i has no expected count either */
        }
        double ratio = counting->pair_sum[pair * c + i] / message;
        const double *a = row_of(params, row, i);
        for (size_t q = 0; q < c; q++) {
            outside[q] += ratio * a[q];
            counts[i * c + q] += ratio * a[q] * beta[q];
        }
    }
}

/* ---- One tree: outside(j) is proportional to p(labels not below, Q = j)
 * ------------------------------------- */

static void td_tree_root(phl_tree_view *view)
{
    const phl_params *params = view->upward->params;
    memcpy(view->outside, params->root, params->states * sizeof *params->root);
}

/* exp of logarithms, the largest becoming 1; all 0 when every one is -inf. */
static void exponentiate(const double *logs, size_t n, double *out)
{
    double largest = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        largest = logs[i] > largest ? logs[i] : largest;
    }
    for (size_t i = 0; i < n; i++) {
        out[i] = largest == -INFINITY ? 0.0 : exp(logs[i] - largest);
    }
}

static void add_logs(double *logs, const double *factors, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        logs[i] += phl_kernel_log(factors[i]);
    }
}

/* log of outside * emission of node u. */
static void start_logs(const phl_tree_view *view, size_t u, double *logs)
{
    size_t c = view->upward->params->states;
    const double *emission = phl_emission_of(view->upward, view->subtree[u]);
    for (size_t i = 0; i < c; i++) {
        logs[i] = phl_kernel_log(view->outside[u * c + i]) + phl_kernel_log(emission[i]);
    }
}

/* Outside of one child from parent(i), the joint of the parent's state and all but that child. */
static void child_outside(const phl_params *params, size_t row, const double *parent,
                          double *outside)
{
    size_t c = params->states;
    for (size_t q = 0; q < c; q++) {
        outside[q] = 0.0;
    }
    for (size_t i = 0; i < c; i++) {
        const double *a = row_of(params, row, i);
        for (size_t q = 0; q < c; q++) {
            outside[q] += parent[i] * a[q];
        }
    }
}

static phl_status td_tree_children(phl_tree_view *view, size_t u, phl_error *error)
{
    const phl_upward *upward = view->upward;
    const phl_index *index = upward->index;
    const phl_forest *forest = index->forest;
    const phl_params *params = upward->params;
    size_t c = params->states;
    uint32_t s = view->subtree[u];
    uint64_t begin = forest->first_link[s];
    size_t n = (size_t)(forest->first_link[s + 1] - begin);
    phl_status status = phl_tree_scratch(view, (n + 2) * c, error);
    if (status != PHL_OK) {
        return status;
    }
    /* Sums of the log-messages after each child [n][C]; then, on the way, of those before it. */
    double *before = view->scratch, *parent = before + c, *behind = parent + c;
    start_logs(view, u, before);
    for (size_t k = n; k-- > 0;) {
        double *here = behind + k * c;
        for (size_t i = 0; i < c; i++) {
            here[i] = k + 1 == n ? 0.0 : here[c + i];
        }
        if (k + 1 < n) {
            add_logs(here, upward->message + index->link_pair[begin + k + 1] * c, c);
        }
    }
    size_t child = phl_first_child(u);
    for (size_t k = 0; k < n; k++, child = phl_next_sibling(view, child)) {
        uint32_t pair = index->link_pair[begin + k];
        for (size_t i = 0; i < c; i++) {
            parent[i] = before[i] + behind[k * c + i];
        }
        exponentiate(parent, c, parent);
        child_outside(params, index->pair_row[pair], parent, view->outside + child * c);
        add_logs(before, upward->message + pair * c, c);
    }
    return PHL_OK;
}

static phl_status td_tree_pair(phl_tree_view *view, size_t u, size_t child, double *joint,
                               phl_error *error)
{
    const phl_upward *upward = view->upward;
    const phl_params *params = upward->params;
    size_t c = params->states;
    const double *beta = upward->beta + view->subtree[child] * c;
    size_t row = upward->index->pair_row[upward->index->link_pair[view->link[child]]];
    phl_status status = phl_tree_scratch(view, c, error);
    if (status != PHL_OK) {
        return status;
    }
    const phl_forest *forest = upward->index->forest;
    uint32_t s = view->subtree[u];
    double *parent = view->scratch;
    start_logs(view, u, parent);
    for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
        if (k != view->link[child]) {
            add_logs(parent, upward->message + upward->index->link_pair[k] * c, c);
        }
    }
    exponentiate(parent, c, parent);
    for (size_t i = 0; i < c; i++) {
        for (size_t q = 0; q < c; q++) {
            joint[i * c + q] = parent[i] * row_of(params, row, i)[q] * beta[q];
        }
    }
    return PHL_OK;
}

/* ---- Most probable states
 * ------------------------------------------------------------------------------------- */

/* max_q [log A(q|i) + delta(q)]; *argument is the child's state. */
static double best_child(const phl_tree_view *view, uint32_t pair, size_t i, uint32_t *argument)
{
    const phl_params *params = view->upward->params;
    size_t c = params->states;
    const double *a = row_of(params, view->upward->index->pair_row[pair], i);
    const double *delta = view->delta + view->upward->index->pair_child[pair] * c;
    double most = -INFINITY;
    *argument = 0;
    for (size_t q = 0; q < c; q++) {
        double value = phl_kernel_log(a[q]) + delta[q];
        if (value > most) {
            most = value;
            *argument = (uint32_t)q;
        }
    }
    return most;
}

static void td_joint_inside(phl_tree_view *view, uint32_t s, double *delta)
{
    const phl_index *index = view->upward->index;
    const phl_forest *forest = index->forest;
    for (size_t i = 0; i < view->upward->params->states; i++) {
        delta[i] = 0.0;
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            uint32_t argument;
            double value = best_child(view, index->link_pair[k], i, &argument);
            /* relative to the child's best, which the caller adds */
            delta[i] += value == -INFINITY ? value : value - view->best[forest->links[k].child];
        }
    }
}

static void td_joint_children(phl_tree_view *view, size_t u, uint32_t *states)
{
    const phl_index *index = view->upward->index;
    const phl_forest *forest = index->forest;
    uint32_t s = view->subtree[u];
    size_t child = phl_first_child(u);
    for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
        (void)best_child(view, index->link_pair[k], states[u], &states[child]);
        child = phl_next_sibling(view, child);
    }
}

/* ---- Drawing
 * ------------------------------------------------------------------------------------------------------
 */

static void td_draw_children(phl_tree_view *view, size_t u, phl_rng *rng, uint32_t *states)
{
    const phl_upward *upward = view->upward;
    const phl_index *index = upward->index;
    const phl_forest *forest = index->forest;
    const phl_params *params = upward->params;
    size_t c = params->states;
    uint32_t s = view->subtree[u];
    double *weights = view->scratch; /* [C] */
    size_t child = phl_first_child(u);
    for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
        const double *a = row_of(params, index->pair_row[index->link_pair[k]], states[u]);
        const double *beta = upward->beta + forest->links[k].child * c;
        for (size_t q = 0; q < c; q++) {
            weights[q] = a[q] * beta[q];
        }
        states[child] = (uint32_t)phl_categorical_draw(rng, weights, c);
        child = phl_next_sibling(view, child);
    }
}

const phl_kernel phl_td_kernel = {
    .width = td_width,
    .scratch = td_scratch,
    .prepare = td_prepare,
    .run = td_run,
    .root_term = td_root_term,
    .count_root = td_count_root,
    .count_node = td_count_node,
    .count_pair = td_count_pair,
    .tree_root = td_tree_root,
    .tree_children = td_tree_children,
    .tree_pair = td_tree_pair,
    .joint_inside = td_joint_inside,
    .joint_children = td_joint_children,
    .draw_children = td_draw_children,
};
