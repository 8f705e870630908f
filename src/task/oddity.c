/* oddity.c - how odd a tree is; see oddity.h. */
#include "task/oddity.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* How much large figures count: the root of the mean of this power lies between mean (1) and
 * maximum.  docs/defaults.md compares powers. */
static const double power = 4.0;

static size_t width_of(const phl_oddity_source *source)
{
    return source->n_labels + 1;
}

/* The tree as a run sees it, and what its models predict for every node. */
static phl_status look(const phl_oddity_source *source, phl_oddity_view *view, phl_walk *walk,
                       size_t tree, phl_error *error)
{
    size_t width = width_of(source);
    size_t voices = source->tables != NULL ? source->tables->expert->n_voices : 1;
    phl_status status =
        phl_label_pool_look(walk, tree, source->label_row, source->n_labels, &view->nodes, error);
    size_t numbers = phl_times(view->nodes.n, width);
    const phl_room rooms[] = {
        PHL_ROOM(view->log_p, view->log_capacity, phl_times(voices, width)),
        PHL_ROOM(view->p, view->p_capacity, phl_times(voices, width)),
        PHL_ROOM(view->predictive, view->predictive_capacity, phl_times(source->n_models, numbers)),
    };
    if (status == PHL_OK) {
        status = phl_grow_all(rooms, sizeof rooms / sizeof *rooms, error);
    }
    for (size_t k = 0; status == PHL_OK && k < source->n_models; k++) {
        double *predictive = view->predictive + k * numbers;
        bool possible = false;
        status = phl_session_predict(source->models[k], tree, predictive, &possible, error);
        for (size_t i = 0; status == PHL_OK && !possible && i < numbers; i++) {
            predictive[i] = 1.0 / (double)width;
        }
    }
    return status;
}

/* p [M + 1] of a node's label by one run, whatever its label is. */
static phl_status say(const phl_oddity_source *source, phl_oddity_view *view, size_t node,
                      phl_error *error)
{
    size_t width = width_of(source), numbers = view->nodes.n * width;
    const double *own = view->predictive + node * width;
    if (source->tables == NULL) {
        memcpy(view->p, own, width * sizeof *own);
        return PHL_OK;
    }
    const phl_expert *expert = source->tables->expert;
    uint32_t near[PHL_NEAR_PLACES];
    phl_neighbourhood_of(&view->nodes, node, near);
    phl_status status = phl_expert_tables_reserve(source->tables, near, error);
    if (status == PHL_OK) { /* p has room for what the models say */
        for (size_t k = 0; k < source->n_models; k++) {
            memcpy(view->p + k * width, own + k * numbers, width * sizeof *own);
        }
        phl_label_pool_voices(source->tables, near, view->p, source->n_models, view->log_p);
        phl_expert_pool(view->log_p, expert->weights[phl_expert_pattern(near)], expert->n_voices,
                        width, view->p);
    }
    return status;
}

/* Bits of a node's label by all runs; what is seen of it itself plays no role. */
static phl_status find_bits(phl_oddity *oddity, const phl_oddity_source *sources, size_t n,
                            size_t node, phl_error *error)
{
    size_t width = width_of(&sources[0]);
    uint32_t label = oddity->views[0].nodes.nodes[node].symbol;
    const double *p = n == 1 ? oddity->views[0].p : oddity->voices;
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        status = say(&sources[i], &oddity->views[i], node, error);
        if (status == PHL_OK && n > 1) {
            phl_beside_voice(sources[i].beside, oddity->views[i].p,
                             oddity->views[i].p[sources[i].n_labels], oddity->voices + i * width);
        }
    }
    if (status == PHL_OK && n > 1) {
        phl_beside_pool(oddity->voices, n, width, oddity->voices);
    }
    if (status == PHL_OK) {
        oddity->bits[node] = p[label] > 0.0 ? -log2(p[label]) : 1074.0;
    }
    return status;
}

static phl_status look_all(phl_oddity *oddity, const phl_oddity_source *sources, size_t n,
                           phl_walk *walk, size_t tree, phl_error *error)
{
    if (oddity->views == NULL) {
        oddity->views = phl_alloc_zero(n, sizeof *oddity->views, error);
        oddity->n_views = oddity->views == NULL ? 0 : n;
    }
    if (oddity->views == NULL) {
        return PHL_ERR_MEMORY;
    }
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        status = look(&sources[i], &oddity->views[i], walk, tree, error);
    }
    const phl_room rooms[] = {
        PHL_ROOM(oddity->bits, oddity->bits_capacity, oddity->views[0].nodes.n),
        PHL_ROOM(oddity->voices, oddity->voices_capacity, phl_times(n, width_of(&sources[0]))),
    };
    return status == PHL_OK ? phl_grow_all(rooms, sizeof rooms / sizeof *rooms, error) : status;
}

phl_status phl_oddity_of_tree(phl_oddity *oddity, const phl_oddity_source *sources,
                              size_t n_sources, phl_walk *walk, size_t tree, phl_error *error)
{
    phl_status status = look_all(oddity, sources, n_sources, walk, tree, error);
    double sum = 0.0, powers = 0.0, most = 0.0;
    size_t known = 0;
    for (size_t u = 0; status == PHL_OK && u < oddity->views[0].nodes.n; u++) {
        oddity->bits[u] = (double)NAN;
        if (oddity->views[0].nodes.nodes[u].symbol != PHL_NEAR_UNKNOWN) {
            status = find_bits(oddity, sources, n_sources, u, error);
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
    for (size_t i = 0; i < oddity->n_views; i++) {
        phl_neighbourhood_clear(&oddity->views[i].nodes);
        phl_free(oddity->views[i].predictive);
        phl_free(oddity->views[i].log_p);
        phl_free(oddity->views[i].p);
    }
    phl_free(oddity->views);
    phl_free(oddity->voices);
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
