/* oddity.c - how odd a tree is; see oddity.h. */
#include "task/oddity.h"

#include <math.h>

#include "base/memory.h"

/* How much large figures count: the root of the mean of this power lies between mean (1) and
 * maximum.  A guess that was kept: other powers have not been compared. */
static const double power = 4.0;

static phl_status reserve(phl_oddity *oddity, const phl_expert *expert, size_t n, bool model,
                          phl_error *error)
{
    size_t width = expert->n_labels + 1;
    const phl_room rooms[] = {
        PHL_ROOM(oddity->bits, oddity->bits_capacity, n),
        PHL_ROOM(oddity->log_p, oddity->log_capacity, phl_times(expert->n_voices, width)),
        PHL_ROOM(oddity->p, oddity->p_capacity, width),
        PHL_ROOM(oddity->predictive, oddity->predictive_capacity, model ? phl_times(n, width) : 0),
    };
    return phl_grow_all(rooms, sizeof rooms / sizeof *rooms, error);
}

/* Bits of a node's label; what is seen of it itself plays no role. */
static phl_status find_bits(phl_oddity *oddity, size_t node, const double *model, phl_error *error)
{
    const phl_expert *expert = oddity->tables->expert;
    size_t width = expert->n_labels + 1;
    uint32_t near[PHL_NEAR_PLACES], label = oddity->nodes.nodes[node].symbol;
    phl_neighbourhood_of(&oddity->nodes, node, near);
    phl_status status = phl_expert_tables_reserve(oddity->tables, near, error);
    if (status == PHL_OK) {
        phl_label_pool_voices(oddity->tables, near, model, oddity->log_p);
        phl_expert_pool(oddity->log_p, expert->weights[phl_expert_pattern(near)], expert->n_voices,
                        width, oddity->p);
        oddity->bits[node] = oddity->p[label] > 0.0 ? -log2(oddity->p[label]) : 1074.0;
    }
    return status;
}

phl_status phl_oddity_of_tree(phl_oddity *oddity, phl_walk *walk, size_t tree,
                              const uint32_t *label_row, phl_session *session, phl_error *error)
{
    const phl_expert *expert = oddity->tables->expert;
    size_t width = expert->n_labels + 1, known = 0;
    bool possible = false, pooled = expert->n_voices > PHL_EXPERT_CHAINS;
    phl_status status =
        phl_label_pool_look(walk, tree, label_row, expert->n_labels, &oddity->nodes, error);
    size_t n = oddity->nodes.n;
    if (status == PHL_OK) {
        status = reserve(oddity, expert, n, pooled, error);
    }
    if (status == PHL_OK && pooled) {
        status = phl_session_predict(session, tree, oddity->predictive, &possible, error);
        for (size_t i = 0; status == PHL_OK && !possible && i < n * width; i++) {
            oddity->predictive[i] = 1.0 / (double)width;
        }
    }
    double sum = 0.0, powers = 0.0, most = 0.0;
    for (size_t u = 0; status == PHL_OK && u < n; u++) {
        oddity->bits[u] = (double)NAN;
        if (oddity->nodes.nodes[u].symbol != PHL_NEAR_UNKNOWN) {
            status = find_bits(oddity, u, pooled ? oddity->predictive + u * width : NULL, error);
            sum += oddity->bits[u];
            powers += pow(oddity->bits[u], power);
            most = oddity->bits[u] > most ? oddity->bits[u] : most;
            known++;
        }
    }
    oddity->mean = known == 0 ? (double)NAN : sum / (double)known;
    oddity->most = known == 0 ? (double)NAN : most;
    oddity->oddity = known == 0 ? (double)NAN : pow(powers / (double)known, 1.0 / power);
    return status;
}

void phl_oddity_clear(phl_oddity *oddity)
{
    phl_neighbourhood_clear(&oddity->nodes);
    phl_free(oddity->log_p);
    phl_free(oddity->p);
    phl_free(oddity->predictive);
    phl_free(oddity->bits);
    *oddity = (phl_oddity){0};
}

double phl_oddity_share(const phl_expert *expert, double oddity)
{
    size_t low = 0, high = expert->n_odd; /* the first that is at least as odd */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (expert->odd[middle] >= oddity) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return (double)(1 + expert->n_odd - low) / (double)(1 + expert->n_odd);
}
