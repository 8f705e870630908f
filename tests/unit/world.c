/* world.c - worlds drawn forward from the prior, chains in their state, and pictures; see world.h.
 */
#include "world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/sampler.h"
#include "models.h"

size_t affordable(size_t repetitions)
{
    bool slow = false;
#if defined(__SANITIZE_ADDRESS__)
    slow = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
    slow = true;
#endif
#endif
    const char *preload = getenv("LD_PRELOAD");
    bool valgrind = preload != NULL && strstr(preload, "vgpreload") != NULL;
    return valgrind ? repetitions / 50 + 1 : slow ? repetitions / 10 + 1 : repetitions;
}

/* ---- Priors ---------------------------------------------------------------------------------- */

world_prior world_prior_hard(double beta)
{
    return (world_prior){.alpha = 1.3,
                         .alpha0 = 1.7,
                         .beta = beta,
                         .gamma = 0.7,
                         .delta = 0.9,
                         .phi = 0.5,
                         .slots_max = 3,
                         .core_max = 27};
}

world_prior world_prior_soft(double beta)
{
    world_prior prior = world_prior_hard(beta);
    static const uint32_t sizes[W_ELIGIBLE] = {2, 1, 3};
    prior.soft = true;
    memcpy(prior.soft_size, sizes, sizeof sizes);
    return prior;
}

world_prior world_prior_confined(double beta)
{
    world_prior prior = world_prior_hard(beta);
    prior.update_concentration = true;
    prior.phi = 0.3;
    prior.slots_min = 1;
    prior.slots_max = 2;
    prior.core_max = 8;
    return prior;
}

/* ---- Shapes ---------------------------------------------------------------------------------- */

/* Trees in a small notation: a digit is the slot of a child, then its children in brackets. */
static const char *const tree_shapes[] = {
    "12",      "12",      "12",   "12",   "12",   "12",     "1(13)3", "1(13)3", "1(13)3",
    "2(123)3", "2(123)3", "1(1)", "1(1)", "1(1)", "14(12)", "4",      "",
};

void skeleton_make(skeleton *bones)
{
    memset(bones, 0, sizeof *bones);
    for (size_t t = 0; t < sizeof tree_shapes / sizeof *tree_shapes; t++) {
        int path[8], depth = 0, last = bones->n_nodes;
        bones->root[bones->n_trees++] = last;
        bones->parent[last] = -1;
        bones->slot[last] = 1;
        bones->n_nodes++;
        path[0] = last;
        for (const char *at = tree_shapes[t]; *at != '\0'; at++) {
            if (*at == '(') {
                path[++depth] = last;
            } else if (*at == ')') {
                depth--;
            } else {
                last = bones->n_nodes++;
                bones->parent[last] = path[depth];
                bones->slot[last] = (uint32_t)(*at - '0');
            }
        }
    }
    for (int u = 0; u < bones->n_nodes; u++) {
        bones->leaf[u] = true;
        /* Some labels are unknown: roots, inner nodes and leaves among them. */
        bones->known[u] = u % 11 != 6 && u != bones->root[3];
        for (int l = 0; l <= W_SLOTS; l++) {
            bones->child[u][l] = -1;
        }
        if (bones->parent[u] >= 0) {
            bones->child[bones->parent[u]][bones->slot[u]] = u;
            bones->leaf[bones->parent[u]] = false;
        }
    }
}

/* ---- Drawing from the prior --------------------------------------------------------------------
 */

static size_t pick(phl_rng *rng, const double *weights, size_t count)
{
    double sum = 0.0, at;
    for (size_t i = 0; i < count; i++) {
        sum += weights[i];
    }
    at = phl_rng_uniform(rng) * sum;
    size_t i = 0, last = 0;
    for (; i < count; i++) {
        if (weights[i] > 0.0) {
            last = i;
            if (at < weights[i]) {
                return i;
            }
        }
        at -= weights[i];
    }
    return last;
}

static void dirichlet(phl_rng *rng, double concentration, size_t count, double *p)
{
    double parameters[16] = {0};
    for (size_t i = 0; i < count; i++) {
        parameters[i] = concentration;
    }
    phl_log_dirichlet_draw(rng, parameters, count, parameters);
    for (size_t i = 0; i < count; i++) {
        p[i] = exp(parameters[i]);
    }
}

/* Partitions of W_VALUES values as restricted growth strings: counted by size, and one picked. */
static uint32_t next_string(uint32_t *string)
{
    for (int q = W_VALUES - 1; q > 0; q--) {
        uint32_t most = 0;
        for (int i = 0; i < q; i++) {
            most = string[i] > most ? string[i] : most;
        }
        if (string[q] <= most) {
            string[q]++;
            for (int i = q + 1; i < W_VALUES; i++) {
                string[i] = 0;
            }
            return 1;
        }
    }
    return 0;
}

static uint32_t string_size(const uint32_t *string)
{
    uint32_t most = 0;
    for (int q = 0; q < W_VALUES; q++) {
        most = string[q] > most ? string[q] : most;
    }
    return most + 1;
}

/* A uniformly drawn partition into k blocks, blocks numbered at random. */
static void draw_partition(phl_rng *rng, uint32_t k, uint32_t *block)
{
    uint32_t string[W_VALUES] = {0}, count = 0, order[W_VALUES];
    do {
        count += string_size(string) == k;
    } while (next_string(string));
    uint64_t wanted = phl_rng_bounded(rng, count);
    memset(string, 0, sizeof string);
    while (string_size(string) != k || wanted-- > 0) {
        (void)next_string(string);
    }
    for (uint32_t y = 0; y < k; y++) {
        order[y] = y;
    }
    phl_shuffle(rng, k, order);
    for (int q = 0; q < W_VALUES; q++) {
        block[q] = order[string[q]];
    }
}

static void draw_partitions(world *w, phl_rng *rng)
{
    const world_prior *prior = &w->prior;
    double weight[W_VALUES];
    for (uint32_t k = 1; k <= W_VALUES; k++) {
        weight[k - 1] = exp(-prior->phi * k);
    }
    uint32_t active;
    do {
        active = 0;
        w->n_cells = 1;
        for (int e = 0; e < W_ELIGIBLE; e++) {
            w->size[e] =
                prior->soft ? prior->soft_size[e] : 1 + (uint32_t)pick(rng, weight, W_VALUES);
            w->n_cells *= w->size[e];
            active += w->size[e] > 1;
        }
    } while (!prior->soft && (active < prior->slots_min || active > prior->slots_max ||
                              w->n_cells > prior->core_max));
    for (int e = 0; e < W_ELIGIBLE; e++) {
        draw_partition(rng, w->size[e], w->block[e]);
    }
}

static void draw_tables(world *w, phl_rng *rng)
{
    const world_prior *prior = &w->prior;
    w->alpha = prior->update_concentration ? phl_rng_exponential(rng) : prior->alpha;
    w->alpha0 = prior->update_concentration ? phl_rng_exponential(rng) : prior->alpha0;
    double base[W_STATES];
    for (int j = 0; j < W_STATES; j++) {
        base[j] = log(w->alpha0 / W_STATES);
    }
    phl_log_dirichlet_draw_log(rng, base, W_STATES, w->log_lambda0);
    draw_partitions(w, rng);
    for (size_t z = 0; z < w->n_cells; z++) {
        for (int j = 0; j < W_STATES; j++) {
            base[j] = log(w->alpha) + w->log_lambda0[j];
        }
        phl_log_dirichlet_draw_log(rng, base, W_STATES, base);
        for (int j = 0; j < W_STATES; j++) {
            w->core[z][j] = exp(base[j]);
        }
    }
    for (int l = 0; l < W_SLOTS; l++) {
        dirichlet(rng, prior->gamma, W_STATES, w->pi[l]);
        dirichlet(rng, prior->gamma, 3, w->shape[l]);
    }
    dirichlet(rng, prior->gamma, 2, w->root_kind);
    for (int j = 0; j < W_STATES; j++) {
        dirichlet(rng, prior->beta, W_SYMBOLS, w->b[j]);
    }
    for (int e = 0; prior->soft && e < W_ELIGIBLE; e++) {
        for (int q = 0; q < W_VALUES; q++) {
            dirichlet(rng, prior->delta / w->size[e], w->size[e], w->kappa[e][q]);
        }
    }
}

/* Outcomes of the shape term: internal nodes on their own, conditioned on not all slots being
 * absent. */
static void draw_shape_counts(world *w, phl_rng *rng)
{
    memset(w->shape_count, 0, sizeof w->shape_count);
    memset(w->root_count, 0, sizeof w->root_count);
    for (int i = 0; i < W_SHAPE_NODES;) {
        size_t outcome[W_SLOTS], filled = 0;
        for (int l = 0; l < W_SLOTS; l++) {
            outcome[l] = pick(rng, w->shape[l], 3);
            filled += outcome[l] > 0;
        }
        for (int l = 0; filled > 0 && l < W_SLOTS; l++) {
            w->shape_count[l][outcome[l]]++;
        }
        i += filled > 0;
    }
    for (int t = 0; t < W_SHAPE_TREES; t++) {
        w->root_count[pick(rng, w->root_kind, 2)]++;
    }
}

/* Value a node sees in eligible slot e. */
static int child_value(const world *w, int u, int e)
{
    int child = w->bones->child[u][e + 1];
    return child < 0 ? W_STATES : w->state[child];
}

/* Cell of an internal node, the last active slot fastest; blocks into shown. */
static size_t draw_cell(world *w, int u, phl_rng *rng)
{
    size_t cell = 0;
    for (int e = 0; e < W_ELIGIBLE; e++) {
        int q = child_value(w, u, e);
        w->shown[u][e] =
            w->prior.soft ? (uint32_t)pick(rng, w->kappa[e][q], w->size[e]) : w->block[e][q];
        cell = cell * w->size[e] + w->shown[u][e];
    }
    return cell;
}

static void draw_trees(world *w, phl_rng *rng)
{
    const skeleton *bones = w->bones;
    for (int u = bones->n_nodes; u-- > 0;) { /* children first */
        const double *p =
            bones->leaf[u] ? w->pi[bones->slot[u] - 1] : w->core[draw_cell(w, u, rng)];
        w->state[u] = (int)pick(rng, p, W_STATES);
        w->label[u] = bones->known[u] ? (int)pick(rng, w->b[w->state[u]], W_SYMBOLS) : -1;
    }
}

static void build_forest(world *w)
{
    const skeleton *bones = w->bones;
    phl_builder *builder = new_builder(false);
    for (int t = 0; t < bones->n_trees; t++) {
        int first = bones->root[t];
        int end = t + 1 < bones->n_trees ? bones->root[t + 1] : bones->n_nodes;
        shape s = {.size = (unsigned)(end - first)};
        const char *labels[MAX_SHAPE];
        for (int u = first; u < end; u++) {
            s.parent[u - first] = u == first ? 0 : (unsigned)(bones->parent[u] - first);
            s.slot[u - first] = bones->slot[u];
            labels[u - first] = w->label[u] < 0 ? NULL : letter[w->label[u]];
        }
        add_tree(builder, &s, labels, 1.0, NULL);
    }
    w->forest = finish_forest(builder);
    must(phl_index_create(w->forest, W_SLOTS, false, &w->index, error));
    must(phl_slot_pairs_create(w->index, 0.1, &w->pairs, error));
    w->label_row = must_alloc(w->forest->labels.count + 1, sizeof *w->label_row);
    for (size_t i = 0; i < w->forest->labels.count; i++) {
        w->label_row[i] = (uint32_t)(phl_alphabet_name(&w->forest->labels, i)[0] - 'a');
    }
    for (int t = 0; t < bones->n_trees; t++) {
        w->subtree[bones->root[t]] = w->forest->tree_root[t];
    }
    for (int u = 0; u < bones->n_nodes; u++) {
        if (bones->parent[u] < 0) {
            continue;
        }
        uint32_t above = w->subtree[bones->parent[u]];
        for (uint64_t k = w->forest->first_link[above]; k < w->forest->first_link[above + 1]; k++) {
            if (w->forest->links[k].slot == bones->slot[u]) {
                w->subtree[u] = w->forest->links[k].child;
            }
        }
    }
}

void world_draw(world *w, const skeleton *bones, const world_prior *prior, phl_rng *rng)
{
    memset(w, 0, sizeof *w);
    w->bones = bones;
    w->prior = *prior;
    draw_tables(w, rng);
    draw_shape_counts(w, rng);
    draw_trees(w, rng);
    build_forest(w);
}

void world_clear(world *w)
{
    phl_free(w->label_row);
    phl_slot_pairs_free(w->pairs);
    phl_index_free(w->index);
    phl_forest_free(w->forest);
    w->label_row = NULL;
    w->index = NULL;
    w->pairs = NULL;
    w->forest = NULL;
}

/* ---- A chain in the state of a world
 * ------------------------------------------------------------- */

phl_gibbs_options world_options(const world *w, uint64_t seed)
{
    const world_prior *prior = &w->prior;
    phl_gibbs_options options = {
        .alpha = prior->alpha,
        .alpha0 = prior->alpha0,
        .beta = prior->beta,
        .gamma = prior->gamma,
        .delta = prior->delta,
        .prior = {.phi = prior->phi,
                  .slots_min = prior->slots_min,
                  .slots_max = prior->slots_max,
                  .core_max = prior->core_max},
        .update_concentration = prior->update_concentration,
        .seed = seed,
        .threads = 1,
    };
    return options;
}

phl_gibbs *world_gibbs(const world *w, uint64_t seed)
{
    phl_gibbs_options options = world_options(w, seed);
    phl_gibbs *gibbs = NULL;
    phl_axis axes[W_ELIGIBLE];
    uint32_t block[W_ELIGIBLE][W_VALUES], n = 0;
    memset(axes, 0, sizeof axes);
    for (uint32_t e = 0; w->prior.soft && e < W_ELIGIBLE; e++) {
        for (uint32_t q = 0; q < W_VALUES; q++) {
            block[e][q] = q % w->size[e];
        }
        if (w->size[e] > 1) {
            axes[n].slot = e + 1;
            axes[n].size = w->size[e];
            axes[n++].block = block[e];
        }
    }
    must(phl_gibbs_create(w->pairs, w->label_row, W_STATES, W_LABELS, axes, n, &options, &gibbs,
                          error));
    if (gibbs->pairs->n_eligible != W_ELIGIBLE) {
        must(PHL_ERR_INTERNAL);
    }
    if (w->prior.soft) {
        must(phl_gibbs_soften(gibbs, error));
    }
    return gibbs;
}

static void set_axes(const world *w, phl_gibbs *gibbs)
{
    phl_partitions *partitions = gibbs->partitions;
    for (int e = 0; e < W_ELIGIBLE; e++) {
        partitions->size[e] = w->size[e];
        memcpy(partitions->block + e * W_VALUES, w->block[e], sizeof w->block[e]);
    }
    phl_axis axes[W_ELIGIBLE];
    uint32_t n = 0;
    memset(axes, 0, sizeof axes);
    for (uint32_t e = 0; e < W_ELIGIBLE; e++) {
        if (w->size[e] > 1) {
            axes[n].slot = e + 1;
            axes[n].size = w->size[e];
            axes[n++].block = (uint32_t *)w->block[e];
        }
    }
    must(phl_params_set_axes(gibbs->params, axes, n, error));
}

void world_set_shape_counts(const world *w, phl_gibbs *gibbs)
{
    for (int l = 0; l < W_SLOTS; l++) {
        for (int k = 0; k < 3; k++) {
            gibbs->shape_counts->shape[3 * l + k] = (double)w->shape_count[l][k];
        }
    }
    gibbs->shape_counts->root_kind[0] = (double)w->root_count[0];
    gibbs->shape_counts->root_kind[1] = (double)w->root_count[1];
}

void world_set_parameters(const world *w, phl_gibbs *gibbs)
{
    phl_params *params = gibbs->params;
    if (w->prior.soft) {
        for (uint32_t a = 0; a < params->n_axes; a++) {
            uint32_t e = params->axes[a].slot - 1, k = w->size[e];
            for (uint32_t q = 0; q < W_VALUES; q++) {
                memcpy(params->axes[a].matrix + q * k, w->kappa[e][q], k * sizeof(double));
            }
        }
    } else {
        set_axes(w, gibbs);
    }
    if (params->core_rows != w->n_cells) {
        must(PHL_ERR_INTERNAL);
    }
    memcpy(params->core, w->core, w->n_cells * sizeof w->core[0]);
    memcpy(params->prior, w->pi, sizeof w->pi);
    memcpy(params->shape, w->shape, sizeof w->shape);
    memcpy(params->root_kind, w->root_kind, sizeof w->root_kind);
    for (int x = 0; x < W_SYMBOLS; x++) {
        for (int j = 0; j < W_STATES; j++) {
            params->emission[x * W_STATES + j] = w->b[j][x];
        }
    }
    phl_params_complete(params);
    gibbs->expanded = true; /* labels and slots that the trees do not have are here too */
    gibbs->alpha = w->alpha;
    gibbs->alpha0 = w->alpha0;
    memcpy(gibbs->log_lambda0, w->log_lambda0, sizeof w->log_lambda0);
    world_set_shape_counts(w, gibbs);
}

static size_t cell_of(const world *w, int u)
{
    size_t cell = 0;
    for (int e = 0; e < W_ELIGIBLE; e++) {
        cell = cell * w->size[e] + w->block[e][child_value(w, u, e)];
    }
    return cell;
}

/* The pair of subtree s with its child in eligible slot e, or PHL_NO_PAIR. */
static uint32_t pair_of(const world *w, uint32_t s, int e)
{
    uint32_t pair = PHL_NO_PAIR;
    for (uint64_t k = w->forest->first_link[s]; k < w->forest->first_link[s + 1]; k++) {
        pair = w->forest->links[k].slot == (uint32_t)e + 1 ? w->index->link_pair[k] : pair;
    }
    return pair;
}

/* Portions: one occurrence each, or all of a subtree, state and cell; and the children of every
 * pair.
 */
static void set_portions(const world *w, phl_gibbs *gibbs, bool apart)
{
    const skeleton *bones = w->bones;
    phl_state_counts *counts = gibbs->state_counts;
    bool done[W_NODES] = {false};
    phl_state_counts_reset(counts);
    memset(counts->value, 0, w->index->n_pairs * W_STATES * sizeof *counts->value);
    for (int u = 0; u < bones->n_nodes; u++) {
        if (bones->leaf[u]) {
            continue;
        }
        for (int e = 0; e < W_ELIGIBLE; e++) {
            if (bones->child[u][e + 1] >= 0) {
                counts->value[pair_of(w, w->subtree[u], e) * W_STATES +
                              (uint32_t)child_value(w, u, e)]++;
                phl_state_counts_tell(counts, pair_of(w, w->subtree[u], e));
            }
        }
        int64_t n = 0;
        size_t cell = cell_of(w, u);
        for (int v = u; !done[u] && v < (apart ? u + 1 : bones->n_nodes); v++) {
            bool same = !bones->leaf[v] && w->subtree[u] == w->subtree[v] &&
                        w->state[u] == w->state[v] && cell == cell_of(w, v);
            n += same;
            done[v] = done[v] || (same && v > u);
        }
        if (n > 0) {
            must(phl_state_counts_add(counts, w->subtree[u], (uint32_t)w->state[u], (uint32_t)cell,
                                      n, error));
        }
    }
    must(phl_partitions_count(gibbs->partitions, error));
}

void world_set_hidden(const world *w, phl_gibbs *gibbs, bool apart)
{
    picture *p = must_alloc(1, sizeof *p);
    picture_of_world(p, w);
    memcpy(gibbs->counts.state, p->state, w->forest->n_subtrees * sizeof p->state[0]);
    for (size_t s = 0; s < w->forest->n_subtrees; s++) {
        gibbs->counts.one_state[s] = PHL_MANY;
    }
    memcpy(gibbs->counts.prior, p->prior_count, sizeof p->prior_count);
    for (int x = 0; x < W_SYMBOLS; x++) {
        for (int j = 0; j < W_STATES; j++) {
            gibbs->counts.emission[x * W_STATES + j] = p->emission_count[j][x];
        }
    }
    if (w->prior.soft) {
        memcpy(gibbs->counts.core, p->core_count, w->n_cells * sizeof p->core_count[0]);
        for (uint32_t a = 0; a < gibbs->params->n_axes; a++) {
            uint32_t e = gibbs->params->axes[a].slot - 1, k = w->size[e];
            for (uint32_t q = 0; q < W_VALUES; q++) {
                memcpy(gibbs->counts.kappa[a] + q * k, p->axis_count[e][q], k * sizeof(int64_t));
            }
        }
    } else {
        set_portions(w, gibbs, apart);
    }
    phl_free(p);
}

void world_set_base(const world *w, phl_gibbs *gibbs)
{
    gibbs->partitions->alpha = w->alpha;
    phl_rising_reset(&gibbs->partitions->rising_total, w->alpha);
    for (int j = 0; j < W_STATES; j++) {
        phl_rising_reset(&gibbs->partitions->rising[j], w->alpha * exp(w->log_lambda0[j]));
    }
}

/* ---- Pictures ----------------------------------------------------------------------------------
 */

void picture_of_world(picture *p, const world *w)
{
    const skeleton *bones = w->bones;
    memset(p, 0, sizeof *p);
    p->w = w;
    p->soft = w->prior.soft;
    p->alpha = w->alpha;
    p->alpha0 = w->alpha0;
    p->n_cells = w->n_cells;
    memcpy(p->size, w->size, sizeof p->size);
    memcpy(p->block, w->block, sizeof p->block);
    memcpy(p->core, w->core, sizeof p->core);
    memcpy(p->pi, w->pi, sizeof p->pi);
    memcpy(p->b, w->b, sizeof p->b);
    memcpy(p->kappa, w->kappa, sizeof p->kappa);
    memcpy(p->shape, w->shape, sizeof p->shape);
    memcpy(p->root_kind, w->root_kind, sizeof p->root_kind);
    for (int j = 0; j < W_STATES; j++) {
        p->lambda0[j] = exp(w->log_lambda0[j]);
    }
    for (int u = 0; u < bones->n_nodes; u++) {
        p->state[w->subtree[u]][w->state[u]]++;
        if (w->label[u] >= 0) {
            p->emission_count[w->state[u]][w->label[u]]++;
        }
        if (bones->leaf[u]) {
            p->prior_count[bones->slot[u] - 1][w->state[u]]++;
            continue;
        }
        picture_portion *portion = &p->portion[p->n_portions++];
        portion->subtree = w->subtree[u];
        portion->state = (uint32_t)w->state[u];
        portion->n = 1;
        for (int e = 0; e < W_ELIGIBLE; e++) {
            int q = child_value(w, u, e);
            portion->margin[e][q] = 1.0;
            portion->cell = portion->cell * w->size[e] + w->shown[u][e];
            p->axis_count[e][q][w->shown[u][e]]++;
        }
        p->core_count[portion->cell][w->state[u]]++;
    }
}

/* The children of a portion in eligible slot e, expected: as those of its pair in the block it
 * shows.
 */
static void expect_margin(const picture *p, const phl_state_counts *counts,
                          picture_portion *portion, int e)
{
    uint32_t pair = pair_of(p->w, portion->subtree, e);
    if (pair == PHL_NO_PAIR) {
        portion->margin[e][W_STATES] = (double)portion->n;
        return;
    }
    size_t below = 1;
    for (int l = e + 1; l < W_ELIGIBLE; l++) {
        below *= p->size[l];
    }
    size_t shown = portion->cell / below % p->size[e];
    double children = 0.0;
    for (uint32_t q = 0; q < W_STATES; q++) {
        children += p->block[e][q] == shown ? (double)phl_state_counts_value(counts, pair, q) : 0.0;
    }
    for (uint32_t q = 0; q < W_STATES; q++) {
        int64_t value = phl_state_counts_value(counts, pair, q);
        portion->margin[e][q] = p->block[e][q] == shown && value > 0
                                    ? (double)portion->n * (double)value / children
                                    : 0.0;
    }
}

static void hidden_of_gibbs(picture *p, const phl_gibbs *gibbs)
{
    const phl_params *params = gibbs->params;
    const phl_state_counts *counts = gibbs->state_counts;
    for (uint32_t s = 0; s < p->w->forest->n_subtrees; s++) {
        for (uint32_t j = 0; j < W_STATES; j++) {
            p->state[s][j] = phl_gibbs_count(gibbs, s, j);
        }
    }
    memcpy(p->prior_count, gibbs->counts.prior, sizeof p->prior_count);
    for (int x = 0; x < W_SYMBOLS; x++) {
        for (int j = 0; j < W_STATES; j++) {
            p->emission_count[j][x] = gibbs->counts.emission[x * W_STATES + j];
        }
    }
    const int64_t *core = p->soft ? gibbs->counts.core : gibbs->partitions->cells;
    memcpy(p->core_count, core, p->n_cells * sizeof p->core_count[0]);
    for (uint32_t a = 0; p->soft && a < params->n_axes; a++) {
        uint32_t e = params->axes[a].slot - 1, k = params->axes[a].size;
        for (uint32_t q = 0; q < W_VALUES; q++) {
            memcpy(p->axis_count[e][q], gibbs->counts.kappa[a] + q * k, k * sizeof(int64_t));
        }
    }
    p->n_portions = p->soft ? 0 : counts->n_portions;
    for (size_t r = 0; r < p->n_portions; r++) {
        p->portion[r].subtree = counts->portion[r].subtree;
        p->portion[r].state = counts->portion[r].state;
        p->portion[r].n = counts->portion[r].n;
        p->portion[r].cell = counts->portion[r].cell;
        for (int e = 0; e < W_ELIGIBLE; e++) {
            expect_margin(p, counts, &p->portion[r], e);
        }
    }
}

/* Shows portion `portion` block y of eligible slot e, having a child of this pair there? */
static bool shows(const picture *p, const picture_portion *portion, int e, uint32_t pair,
                  uint32_t y)
{
    size_t below = 1;
    for (int l = e + 1; l < W_ELIGIBLE; l++) {
        below *= p->size[l];
    }
    return pair_of(p->w, portion->subtree, e) == pair && portion->cell / below % p->size[e] == y;
}

/* What no tree bears on: a chain keeps its expectation, which must be here to the bit (labels the
 * trees do not have share evenly what their state leaves to them, slots without leaves are flat);
 * in its place a draw from the prior, of the shares or of the row. */
static void draw_unseen(picture *p, phl_rng *rng)
{
    size_t absent[W_SYMBOLS], n = 0;
    double share[W_SYMBOLS];
    for (size_t x = 0; x < W_SYMBOLS; x++) {
        int64_t there = 0;
        for (int j = 0; j < W_STATES; j++) {
            there += p->emission_count[j][x];
        }
        if (there == 0) {
            absent[n++] = x;
        }
    }
    for (int j = 0; n > 0 && j < W_STATES; j++) {
        double mass = p->b[j][absent[0]] * (double)n;
        dirichlet(rng, p->w->prior.beta, n, share);
        for (size_t i = 0; i < n; i++) {
            must(p->b[j][absent[i]] == p->b[j][absent[0]] ? PHL_OK : PHL_ERR_INTERNAL);
        }
        for (size_t i = 0; i < n; i++) {
            p->b[j][absent[i]] = mass * share[i];
        }
    }
    for (int l = 0; l < W_SLOTS; l++) {
        int64_t leaves = 0;
        bool flat = true;
        for (int j = 0; j < W_STATES; j++) {
            leaves += p->prior_count[l][j];
            flat = flat && p->pi[l][j] == 1.0 / W_STATES;
        }
        must(flat == (leaves == 0) ? PHL_OK : PHL_ERR_INTERNAL);
        if (flat) {
            dirichlet(rng, p->w->prior.gamma, W_STATES, p->pi[l]);
        }
    }
}

void picture_deal(picture *p, const phl_state_counts *counts, phl_rng *rng)
{
    draw_unseen(p, rng);
    size_t n = p->n_portions;
    for (size_t r = 0; r < n; r++) { /* a portion an occurrence */
        for (; p->portion[r].n > 1; p->portion[r].n--) {
            if (p->n_portions == sizeof p->portion / sizeof *p->portion) {
                must(PHL_ERR_INTERNAL);
            }
            p->portion[p->n_portions] = p->portion[r];
            p->portion[p->n_portions++].n = 1;
        }
    }
    for (int e = 0; !p->soft && e < W_ELIGIBLE; e++) { /* soft ones have no portions */
        for (size_t r = 0; r < p->n_portions; r++) {
            bool empty = pair_of(p->w, p->portion[r].subtree, e) == PHL_NO_PAIR;
            memset(p->portion[r].margin[e], 0, sizeof p->portion[r].margin[e]);
            p->portion[r].margin[e][W_STATES] = empty;
        }
        for (uint32_t pair = 0; pair < p->w->index->n_pairs; pair++) {
            for (uint32_t y = 0; y < p->size[e]; y++) {
                uint32_t deck[W_NODES];
                size_t left = 0;
                for (uint32_t q = 0; q < W_STATES; q++) {
                    bool there = p->w->index->pair_row[pair] == (uint32_t)e && p->block[e][q] == y;
                    for (int64_t k = there ? phl_state_counts_value(counts, pair, q) : 0; k > 0;
                         k--) {
                        deck[left++] = q;
                    }
                }
                phl_shuffle(rng, left, deck);
                for (size_t r = 0; r < p->n_portions; r++) {
                    if (left > 0 && shows(p, &p->portion[r], e, pair, y)) {
                        p->portion[r].margin[e][deck[--left]] = 1.0;
                    }
                }
                must(left == 0 ? PHL_OK : PHL_ERR_INTERNAL);
            }
        }
    }
}

void picture_of_gibbs(picture *p, const world *w, phl_gibbs *gibbs)
{
    const phl_params *params = gibbs->params;
    phl_gibbs_parameters_expand(gibbs);
    memset(p, 0, sizeof *p);
    p->w = w;
    p->soft = params->soft;
    p->alpha = gibbs->alpha;
    p->alpha0 = gibbs->alpha0;
    p->n_cells = p->soft ? params->core_rows : gibbs->partitions->n_cells;
    if (p->n_cells > W_CELLS ||
        gibbs->state_counts->n_portions > sizeof p->portion / sizeof *p->portion) {
        must(PHL_ERR_INTERNAL);
    }
    for (int e = 0; e < W_ELIGIBLE; e++) {
        p->size[e] = p->soft ? 1 : gibbs->partitions->size[e];
        memcpy(p->block[e], gibbs->partitions->block + e * W_VALUES, sizeof p->block[e]);
    }
    for (uint32_t a = 0; p->soft && a < params->n_axes; a++) {
        uint32_t e = params->axes[a].slot - 1, k = params->axes[a].size;
        p->size[e] = k;
        for (uint32_t q = 0; q < W_VALUES; q++) {
            memcpy(p->kappa[e][q], params->axes[a].matrix + q * k, k * sizeof(double));
        }
    }
    for (int e = 0; p->soft && e < W_ELIGIBLE; e++) {
        for (uint32_t q = 0; p->size[e] == 1 && q < W_VALUES; q++) {
            p->kappa[e][q][0] = 1.0;
        }
    }
    if (params->core_rows == p->n_cells) { /* not after a partition move alone */
        memcpy(p->core, params->core, p->n_cells * sizeof p->core[0]);
    }
    memcpy(p->pi, params->prior, sizeof p->pi);
    memcpy(p->shape, params->shape, sizeof p->shape);
    memcpy(p->root_kind, params->root_kind, sizeof p->root_kind);
    for (int j = 0; j < W_STATES; j++) {
        p->lambda0[j] = exp(gibbs->log_lambda0[j]);
        for (int x = 0; x < W_SYMBOLS; x++) {
            p->b[j][x] = params->emission[x * W_STATES + j];
        }
    }
    hidden_of_gibbs(p, gibbs);
}
