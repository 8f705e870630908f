/* plain_upward.c - the upward pass, node by node; see plain_upward.h. */
#include "plain_upward.h"

#include <limits.h>
#include <math.h>

#include "base/memory.h"
#include "models.h"

/* A node on its way: children found by slot, every sum written out. */
struct node {
    const phl_forest *forest;
    const phl_params *params;
    const double *beta; /* of all subtrees */
    uint32_t s;
};

/* beta of the child in a slot, NULL when it is empty. */
static const double *child_beta(const struct node *node, uint32_t slot)
{
    const phl_forest *forest = node->forest;
    for (uint64_t k = forest->first_link[node->s]; k < forest->first_link[node->s + 1]; k++) {
        if (forest->links[k].slot == slot) {
            return node->beta + forest->links[k].child * (size_t)node->params->states;
        }
    }
    return NULL;
}

/* m(z) of an active slot. */
static double message(const struct node *node, const phl_axis *axis, uint32_t z)
{
    size_t c = node->params->states;
    const double *beta = child_beta(node, axis->slot);
    double sum = 0;
    for (size_t q = 0; q <= c; q++) {
        double shown = beta == NULL ? (q == c ? 1 : 0) : q == c ? 0 : beta[q];
        sum += shown * (axis->block != NULL ? (axis->block[q] == z ? 1 : 0)
                                            : axis->matrix[q * axis->size + z]);
    }
    return sum;
}

/* inside(j) = sum_z lambda_z(j) prod_a m_a(z_a) */
static void tf_inside(const struct node *node, double *inside)
{
    const phl_params *params = node->params;
    size_t c = params->states;
    for (size_t cell = 0; cell < params->core_rows; cell++) {
        double weight = 1;
        size_t rest = cell;
        for (uint32_t a = params->n_axes; a-- > 0;) {
            const phl_axis *axis = &params->axes[a];
            weight *= message(node, axis, (uint32_t)(rest % axis->size));
            rest /= axis->size;
        }
        for (size_t j = 0; j < c; j++) {
            inside[j] += params->core[cell * c + j] * weight;
        }
    }
}

/* inside(j) = sum_l phi_l sum_q A^l(j|q) beta(q) */
static void sp_inside(const struct node *node, double *inside)
{
    const phl_params *params = node->params;
    size_t c = params->states;
    for (uint32_t l = 0; l < params->slots; l++) {
        const double *beta = child_beta(node, l + 1);
        for (size_t q = 0; q <= c; q++) {
            double shown = beta == NULL ? (q == c ? 1 : 0) : q == c ? 0 : beta[q];
            for (size_t j = 0; j < c; j++) {
                inside[j] +=
                    params->switching[l] * params->transition[(l * (c + 1) + q) * c + j] * shown;
            }
        }
    }
}

/* sum_q A(q|j) beta(q) of one child. */
static double td_message(const struct node *node, const phl_link *link, size_t j)
{
    const phl_params *params = node->params;
    size_t c = params->states;
    size_t row = link->slot <= params->slots ? link->slot - 1 : params->slots;
    double sum = 0;
    for (size_t q = 0; q < c; q++) {
        sum += params->transition[(row * c + j) * c + q] * node->beta[link->child * c + q];
    }
    return sum;
}

/* inside(j) = product of the messages of all children, divided by the power of two that brings the
 * largest to 1 .. 2, which is returned. */
static double td_inside(const struct node *node, double *inside)
{
    const phl_forest *forest = node->forest;
    size_t c = node->params->states;
    int *exponent = must_alloc(c, sizeof *exponent);
    int largest = INT_MIN;
    for (size_t j = 0; j < c; j++) {
        inside[j] = 1;
        for (uint64_t k = forest->first_link[node->s]; k < forest->first_link[node->s + 1]; k++) {
            int shift;
            inside[j] = frexp(inside[j] * td_message(node, &forest->links[k], j), &shift);
            exponent[j] += shift;
        }
        if (inside[j] > 0 && exponent[j] - 1 > largest) {
            largest = exponent[j] - 1;
        }
    }
    largest = largest == INT_MIN ? 0 : largest;
    for (size_t j = 0; j < c; j++) {
        inside[j] = ldexp(inside[j], exponent[j] - largest);
    }
    phl_free(exponent);
    return largest;
}

plain_upward plain_upward_run(const phl_forest *forest, const uint32_t *label_row,
                              const phl_params *params)
{
    size_t n = forest->n_subtrees, c = params->states;
    plain_upward plain = {must_alloc(n * c, sizeof(double)), must_alloc(n * c, sizeof(double)),
                          must_alloc(n, sizeof(double)), must_alloc(n, sizeof(double)),
                          must_alloc(n, sizeof(double))};
    for (size_t s = 0; s < n; s++) {
        struct node node = {forest, params, plain.beta, (uint32_t)s};
        double *inside = plain.inside + s * c, *beta = plain.beta + s * c;
        uint32_t slot = forest->leaf_slot[s];
        for (size_t j = 0; slot != 0 && j < c; j++) {
            size_t row = slot <= params->slots ? slot - 1 : params->slots;
            inside[j] = params->kind == PHL_TD ? 1 : params->prior[row * c + j];
        }
        if (slot == 0 && params->kind == PHL_TD) {
            plain.exponent[s] = td_inside(&node, inside);
        } else if (slot == 0 && params->kind == PHL_SP) {
            sp_inside(&node, inside);
        } else if (slot == 0) {
            tf_inside(&node, inside);
        }
        size_t row = forest->label[s] < 0 ? params->labels + 1 : label_row[forest->label[s]];
        for (size_t j = 0; j < c; j++) {
            beta[j] = params->emission[row * c + j] * inside[j];
            plain.norm[s] += beta[j];
        }
        for (size_t j = 0; plain.norm[s] > 0 && j < c; j++) {
            beta[j] /= plain.norm[s];
        }
        plain.log_likelihood[s] = log(plain.norm[s]) + plain.exponent[s] * log(2.0);
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            plain.log_likelihood[s] += plain.log_likelihood[forest->links[k].child];
        }
    }
    return plain;
}

void plain_upward_clear(plain_upward *plain)
{
    phl_free(plain->inside);
    phl_free(plain->beta);
    phl_free(plain->norm);
    phl_free(plain->log_likelihood);
    phl_free(plain->exponent);
    *plain = (plain_upward){0};
}
