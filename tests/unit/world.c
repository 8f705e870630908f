/* world.c - worlds drawn forward from the prior, pictures of them, and what must hold; see world.h.
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
    phl_index_free(w->index);
    phl_forest_free(w->forest);
    w->label_row = NULL;
    w->index = NULL;
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
        .slot_support = 0.1,
        .prior = {.phi = prior->phi,
                  .slots_min = prior->slots_min,
                  .slots_max = prior->slots_max,
                  .core_max = prior->core_max},
        .update_concentration = prior->update_concentration,
        .anneal_start = 1.0,
        .seed = seed,
        .threads = 1,
    };
    return options;
}

phl_gibbs *world_gibbs(const world *w, uint64_t seed)
{
    phl_gibbs_options options = world_options(w, seed);
    phl_gibbs *gibbs = NULL;
    phl_mode modes[W_ELIGIBLE];
    uint32_t block[W_ELIGIBLE][W_VALUES], n = 0;
    memset(modes, 0, sizeof modes);
    for (uint32_t e = 0; w->prior.soft && e < W_ELIGIBLE; e++) {
        for (uint32_t q = 0; q < W_VALUES; q++) {
            block[e][q] = q % w->size[e];
        }
        if (w->size[e] > 1) {
            modes[n].slot = e + 1;
            modes[n].size = w->size[e];
            modes[n++].block = block[e];
        }
    }
    must(phl_gibbs_create(w->index, w->label_row, W_STATES, W_LABELS, modes, n, &options, &gibbs,
                          error));
    if (gibbs->rows->n_eligible != W_ELIGIBLE) {
        must(PHL_ERR_INTERNAL);
    }
    if (w->prior.soft) {
        must(phl_gibbs_soften(gibbs, error));
    }
    return gibbs;
}

static void set_modes(const world *w, phl_gibbs *gibbs)
{
    phl_partitions *partitions = gibbs->partitions;
    for (int e = 0; e < W_ELIGIBLE; e++) {
        partitions->size[e] = w->size[e];
        memcpy(partitions->block + e * W_VALUES, w->block[e], sizeof w->block[e]);
    }
    phl_mode modes[W_ELIGIBLE];
    uint32_t n = 0;
    memset(modes, 0, sizeof modes);
    for (uint32_t e = 0; e < W_ELIGIBLE; e++) {
        if (w->size[e] > 1) {
            modes[n].slot = e + 1;
            modes[n].size = w->size[e];
            modes[n++].block = (uint32_t *)w->block[e];
        }
    }
    must(phl_params_set_modes(gibbs->params, modes, n, error));
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
        for (uint32_t a = 0; a < params->n_modes; a++) {
            uint32_t e = params->modes[a].slot - 1, k = w->size[e];
            for (uint32_t q = 0; q < W_VALUES; q++) {
                memcpy(params->modes[a].matrix + q * k, w->kappa[e][q], k * sizeof(double));
            }
        }
    } else {
        set_modes(w, gibbs);
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
    gibbs->alpha = w->alpha;
    gibbs->alpha0 = w->alpha0;
    memcpy(gibbs->log_lambda0, w->log_lambda0, sizeof w->log_lambda0);
    world_set_shape_counts(w, gibbs);
}

/* Do two occurrences belong to one row: the same subtree, state and blocks in active slots? */
static bool same_row(const world *w, int u, int v)
{
    bool same = w->subtree[u] == w->subtree[v] && w->state[u] == w->state[v];
    for (int e = 0; same && e < W_ELIGIBLE; e++) {
        same = w->size[e] == 1 ||
               w->block[e][child_value(w, u, e)] == w->block[e][child_value(w, v, e)];
    }
    return same;
}

static void set_rows(const world *w, phl_gibbs *gibbs, bool apart)
{
    const skeleton *bones = w->bones;
    phl_rows *rows = gibbs->rows;
    bool done[W_NODES] = {false};
    phl_rows_reset(rows);
    for (int u = 0; u < bones->n_nodes; u++) {
        if (bones->leaf[u] || done[u]) {
            continue;
        }
        int64_t n = 0, margin[W_ELIGIBLE][W_VALUES] = {{0}};
        for (int v = u; v < (apart ? u + 1 : bones->n_nodes); v++) {
            if (!bones->leaf[v] && !done[v] && same_row(w, u, v)) {
                done[v] = true;
                n++;
                for (int e = 0; e < W_ELIGIBLE; e++) {
                    margin[e][child_value(w, v, e)]++;
                }
            }
        }
        must(phl_rows_add(rows, w->subtree[u], (uint32_t)w->state[u], n, error));
        for (int e = 0; e < W_ELIGIBLE; e++) {
            if (bones->child[u][e + 1] < 0) {
                continue;
            }
            for (uint32_t q = 0; q < W_STATES; q++) {
                if (margin[e][q] > 0) {
                    must(phl_rows_add_entry(rows, q, margin[e][q], error));
                }
            }
            must(phl_rows_end_margin(rows, error));
        }
    }
    must(phl_rows_index(rows, error));
    must(phl_partitions_count(gibbs->partitions, error));
}

void world_set_hidden(const world *w, phl_gibbs *gibbs, bool apart)
{
    picture *p = must_alloc(1, sizeof *p);
    picture_of_world(p, w);
    memcpy(gibbs->counts.state, p->state, w->forest->n_subtrees * sizeof p->state[0]);
    memcpy(gibbs->counts.prior, p->prior_count, sizeof p->prior_count);
    for (int x = 0; x < W_SYMBOLS; x++) {
        for (int j = 0; j < W_STATES; j++) {
            gibbs->counts.emission[x * W_STATES + j] = p->emission_count[j][x];
        }
    }
    if (w->prior.soft) {
        memcpy(gibbs->counts.core, p->core_count, w->n_cells * sizeof p->core_count[0]);
        for (uint32_t a = 0; a < gibbs->params->n_modes; a++) {
            uint32_t e = gibbs->params->modes[a].slot - 1, k = w->size[e];
            for (uint32_t q = 0; q < W_VALUES; q++) {
                memcpy(gibbs->counts.mode[a] + q * k, p->mode_count[e][q], k * sizeof(int64_t));
            }
        }
    } else {
        set_rows(w, gibbs, apart);
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
        picture_row *row = &p->row[p->n_rows++];
        row->subtree = w->subtree[u];
        row->state = (uint32_t)w->state[u];
        row->n = 1;
        for (int e = 0; e < W_ELIGIBLE; e++) {
            int q = child_value(w, u, e);
            row->margin[e][q] = 1;
            row->cell = row->cell * w->size[e] + w->shown[u][e];
            p->mode_count[e][q][w->shown[u][e]]++;
        }
        p->core_count[row->cell][w->state[u]]++;
    }
}

static void hidden_of_gibbs(picture *p, const phl_gibbs *gibbs)
{
    const phl_params *params = gibbs->params;
    const phl_rows *rows = gibbs->rows;
    memcpy(p->state, gibbs->counts.state, p->w->forest->n_subtrees * sizeof p->state[0]);
    memcpy(p->prior_count, gibbs->counts.prior, sizeof p->prior_count);
    for (int x = 0; x < W_SYMBOLS; x++) {
        for (int j = 0; j < W_STATES; j++) {
            p->emission_count[j][x] = gibbs->counts.emission[x * W_STATES + j];
        }
    }
    const int64_t *core = p->soft ? gibbs->counts.core : gibbs->partitions->cells;
    memcpy(p->core_count, core, p->n_cells * sizeof p->core_count[0]);
    for (uint32_t a = 0; p->soft && a < params->n_modes; a++) {
        uint32_t e = params->modes[a].slot - 1, k = params->modes[a].size;
        for (uint32_t q = 0; q < W_VALUES; q++) {
            memcpy(p->mode_count[e][q], gibbs->counts.mode[a] + q * k, k * sizeof(int64_t));
        }
    }
    p->n_rows = p->soft ? 0 : rows->n_rows;
    for (size_t r = 0; r < p->n_rows; r++) {
        p->row[r].subtree = rows->row[r].subtree;
        p->row[r].state = rows->row[r].state;
        p->row[r].n = rows->row[r].n;
        p->row[r].cell = rows->row[r].cell;
        for (uint32_t e = 0; e < W_ELIGIBLE; e++) {
            for (uint32_t q = 0; q < W_VALUES; q++) {
                p->row[r].margin[e][q] = phl_rows_count(rows, r, e, q);
            }
        }
    }
}

void picture_of_gibbs(picture *p, const world *w, const phl_gibbs *gibbs)
{
    const phl_params *params = gibbs->params;
    memset(p, 0, sizeof *p);
    p->w = w;
    p->soft = params->soft;
    p->alpha = gibbs->alpha;
    p->alpha0 = gibbs->alpha0;
    p->n_cells = p->soft ? params->core_rows : gibbs->partitions->n_cells;
    if (p->n_cells > W_CELLS || gibbs->rows->n_rows > sizeof p->row / sizeof *p->row) {
        must(PHL_ERR_INTERNAL);
    }
    for (int e = 0; e < W_ELIGIBLE; e++) {
        p->size[e] = p->soft ? 1 : gibbs->partitions->size[e];
        memcpy(p->block[e], gibbs->partitions->block + e * W_VALUES, sizeof p->block[e]);
    }
    for (uint32_t a = 0; p->soft && a < params->n_modes; a++) {
        uint32_t e = params->modes[a].slot - 1, k = params->modes[a].size;
        p->size[e] = k;
        for (uint32_t q = 0; q < W_VALUES; q++) {
            memcpy(p->kappa[e][q], params->modes[a].matrix + q * k, k * sizeof(double));
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

/* ---- Features
 * ------------------------------------------------------------------------------------ */

typedef struct feature_list {
    feature *features;
    size_t count;
} feature_list;

static void add(feature_list *list, unsigned on, double value, const char *name, int number)
{
    feature *f = &list->features[list->count++];
    (void)snprintf(f->name, sizeof f->name, number < 0 ? "%s" : "%s %d", name, number + 1);
    f->on = on;
    f->value = value;
}

static double ratio(double a, double b)
{
    return b > 0.0 ? a / b : 0.0;
}

static double internal_nodes(const picture *p)
{
    double sum = 0.0;
    for (size_t z = 0; z < p->n_cells; z++) {
        for (int j = 0; j < W_STATES; j++) {
            sum += (double)p->core_count[z][j];
        }
    }
    return sum;
}

/* Features of roots: distinct subtrees that are nothing but roots. */
static void root_features(const picture *p, feature_list *list)
{
    const phl_forest *forest = p->w->forest;
    double n = 0.0, emission = 0.0, base = 0.0, share[W_STATES] = {0}, largest = 0.0;
    double repeated = 0.0, dispersion = 0.0;
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        int64_t roots = 0;
        for (size_t t = 0; t < forest->n_trees; t++) {
            roots += forest->tree_root[t] == s;
        }
        double times = (double)forest->multiplicity[s];
        for (int j = 0; j < W_STATES; j++) {
            double count = (double)p->state[s][j];
            if (roots == forest->multiplicity[s] && forest->label[s] >= 0) {
                n += count;
                emission += count * p->b[j][p->w->label_row[forest->label[s]]];
                base += count * p->lambda0[j];
                share[j] += count;
            }
            dispersion += times > 1 ? count * count / (times * times) : 0.0;
        }
        repeated += times > 1;
    }
    for (int j = 0; j < W_STATES; j++) {
        largest = share[j] > largest ? share[j] : largest;
    }
    add(list, ON_STATES | ON_EMISSION, ratio(emission, n), "b of root labels", -1);
    add(list, ON_STATES | ON_BASE, ratio(base, n), "lambda0 of roots", -1);
    add(list, ON_STATES, ratio(largest, n), "commonest root state", -1);
    add(list, ON_STATES, ratio(dispersion, repeated), "states within a subtree", -1);
}

/* Features of the leaves and of the labels. */
static void table_features(const picture *p, feature_list *list)
{
    double labelled = 0.0, of_label[W_SYMBOLS] = {0}, fit = 0.0, purity = 0.0;
    for (int j = 0; j < W_STATES; j++) {
        for (int x = 0; x < W_SYMBOLS; x++) {
            double count = (double)p->emission_count[j][x];
            labelled += count;
            of_label[x] += count;
            fit += count * p->b[j][x];
        }
    }
    for (int j = 0; j < W_STATES; j++) {
        double share = ratio((double)p->emission_count[j][0], of_label[0]);
        purity += share * share;
    }
    add(list, ON_STATES | ON_EMISSION, ratio(fit, labelled), "b of labels", -1);
    add(list, ON_STATES, purity, "states of label a", -1);
    double mean = 0.0, unseen = 0.0, product = 0.0, norm0 = 0.0;
    for (int j = 0; j < W_STATES; j++) {
        for (int x = 0; x < W_SYMBOLS; x++) {
            mean += ratio(of_label[x], labelled) * p->b[j][x] / W_STATES;
        }
        unseen += p->b[j][W_LABELS] * p->b[j][W_LABELS] / W_STATES;
        product += p->b[j][0] * p->lambda0[j];
        norm0 += p->lambda0[j] * p->lambda0[j];
    }
    add(list, ON_EMISSION, mean, "b at the observed frequencies", -1);
    add(list, ON_EMISSION, unseen, "b of the unseen, squared", -1);
    add(list, ON_EMISSION | ON_BASE, product, "b of a times lambda0", -1);
    add(list, ON_BASE, norm0, "lambda0 squared", -1);
    for (int l = 0; l < W_SLOTS; l++) {
        double n = 0.0, sum = 0.0, base = 0.0;
        for (int j = 0; j < W_STATES; j++) {
            n += (double)p->prior_count[l][j];
            sum += (double)p->prior_count[l][j] * p->pi[l][j];
            base += p->pi[l][j] * p->lambda0[j];
        }
        add(list, ON_STATES | ON_PRIOR, ratio(sum, n), "pi of leaves in slot", l);
        add(list, ON_PRIOR | ON_BASE, base, "pi times lambda0, slot", l);
    }
}

static void core_features(const picture *p, feature_list *list)
{
    double n = internal_nodes(p), fit = 0.0, base = 0.0, product = 0.0, norm = 0.0, purity = 0.0;
    double coupling = 0.0, biggest = 0.0, likely = 0.0, nodes = 0.0;
    for (size_t z = 0; z < p->n_cells; z++) {
        double in_cell = 0.0;
        for (int j = 0; j < W_STATES; j++) {
            double count = (double)p->core_count[z][j];
            in_cell += count;
            fit += count * p->core[z][j];
            base += count * p->lambda0[j];
            product += p->core[z][j] * p->lambda0[j];
            norm += p->core[z][j] * p->core[z][j];
            purity += count * count;
            likely += count > 0 ? count * log(p->core[z][j]) : 0.0;
        }
        biggest = in_cell > biggest ? in_cell : biggest;
    }
    for (int j = 0; j < W_STATES; j++) {
        double in_state = 0.0, labels = 0.0;
        for (size_t z = 0; z < p->n_cells; z++) {
            in_state += (double)p->core_count[z][j];
        }
        for (int x = 0; x < W_SYMBOLS; x++) {
            double count = (double)p->emission_count[j][x];
            likely += count > 0 ? count * log(p->b[j][x]) : 0.0;
            labels += count;
            nodes += count;
        }
        for (int l = 0; l < W_SLOTS; l++) {
            double count = (double)p->prior_count[l][j];
            likely += count > 0 ? count * log(p->pi[l][j]) : 0.0;
        }
        coupling += in_state / n * (double)p->emission_count[j][0] / fmax(labels, 1.0);
    }
    unsigned tables = ON_CORE | ON_PARTITIONS;
    double cells = (double)p->n_cells;
    add(list, ON_STATES | tables, fit / n, "lambda of nodes", -1);
    add(list, ON_STATES | ON_BASE, base / n, "lambda0 of nodes", -1);
    add(list, tables | ON_BASE, product / cells, "lambda times lambda0", -1);
    add(list, tables, norm / cells, "lambda squared", -1);
    add(list, ON_STATES | ON_PARTITIONS, purity / (n * n), "purity of cells", -1);
    add(list, ON_STATES | ON_PARTITIONS, biggest / n, "biggest cell", -1);
    add(list, ON_STATES, coupling, "inner states by label a", -1);
    add(list, ON_STATES | tables | ON_EMISSION | ON_PRIOR, exp(likely / nodes),
        "complete likelihood", -1);
    double a = p->alpha / (1.0 + p->alpha), a0 = p->alpha0 / (1.0 + p->alpha0), norm0 = 0.0;
    for (int j = 0; j < W_STATES; j++) {
        norm0 += p->lambda0[j] * p->lambda0[j];
    }
    if (p->w->prior.update_concentration) {
        add(list, ON_CONCENTRATION, a, "alpha", -1);
        add(list, ON_CONCENTRATION, a0, "alpha0", -1);
        add(list, ON_CONCENTRATION | tables, a * norm / cells, "alpha times lambda squared", -1);
        add(list, ON_CONCENTRATION | ON_BASE, a0 * norm0, "alpha0 times lambda0 squared", -1);
        add(list, ON_CONCENTRATION | ON_BASE, a * norm0, "alpha times lambda0 squared", -1);
        add(list, ON_CONCENTRATION | ON_STATES | ON_PARTITIONS, a * purity / (n * n),
            "alpha times purity", -1);
    }
}

/* Features of one eligible slot: what the rows and the partition say about it. */
static void slot_features(const picture *p, uint32_t e, feature_list *list)
{
    double filled = 0.0, empty = 0.0, same = 0.0, at_empty = 0.0, with_empty = 0.0, together = 0.0;
    double value[W_VALUES] = {0}, n = internal_nodes(p);
    const uint32_t *block = p->block[e];
    for (size_t r = 0; r < p->n_rows; r++) {
        const picture_row *row = &p->row[r];
        for (uint32_t q = 0; q < W_VALUES; q++) {
            double count = (double)row->margin[e][q];
            value[q] += count;
            if (q < W_STATES) {
                filled += count;
                same += q == row->state ? count : 0.0;
                with_empty += block[q] == block[W_STATES] ? count : 0.0;
            } else {
                empty += count;
                at_empty += count * p->core[row->cell][row->state];
            }
        }
    }
    for (uint32_t q = 0; q < W_VALUES; q++) {
        for (uint32_t r = 0; r < W_VALUES; r++) {
            together += block[q] == block[r] ? value[q] * value[r] / (n * n) : 0.0;
        }
    }
    double members = 0.0;
    for (uint32_t q = 0; q < W_VALUES; q++) {
        members += block[q] == block[W_STATES];
    }
    bool active = p->size[e] > 1;
    int slot = (int)e;
    add(list, ON_STATES, ratio(same, filled), "child in its parent's state, slot", slot);
    add(list, ON_PARTITIONS, p->size[e] / (double)W_VALUES, "k of slot", slot);
    add(list, ON_STATES | ON_PARTITIONS, active ? ratio(same, filled) : 0.0,
        "active and child as parent, slot", slot);
    add(list, ON_PARTITIONS, members / W_VALUES, "block of the empty value, slot", slot);
    add(list, ON_STATES | ON_CORE | ON_PARTITIONS, ratio(at_empty, empty), "lambda at empty slot",
        slot);
    add(list, ON_STATES | ON_PARTITIONS, ratio(with_empty, filled), "child with empty, slot", slot);
    add(list, ON_STATES | ON_PARTITIONS, together, "values in one block, slot", slot);
}

/* Features that need the joint values of two slots: given its row, each child of a slot is
 * exchangeable, so the expected number of pairs is a product of margins over n. */
static void joint_features(const picture *p, feature_list *list)
{
    double n = internal_nodes(p), alike = 0.0, all = 0.0, pairs = 0.0, far = 0.0;
    for (size_t r = 0; r < p->n_rows; r++) {
        const picture_row *row = &p->row[r];
        if (row->n == 0) {
            continue;
        }
        for (uint32_t q = 0; q < W_STATES; q++) {
            double m1 = (double)row->margin[0][q], m2 = (double)row->margin[1][q];
            double m3 = (double)row->margin[2][q];
            alike += m1 * m2 / (double)row->n;
            far += m1 * m3 / (double)row->n;
            all += q == row->state ? m1 * m2 / (double)row->n : 0.0;
            for (uint32_t w = 0; w < W_STATES; w++) {
                bool one = p->block[0][q] == p->block[0][w];
                pairs += one ? m1 * (double)row->margin[1][w] / (double)row->n : 0.0;
            }
        }
    }
    uint32_t active = 0;
    for (int e = 0; e < W_ELIGIBLE; e++) {
        active += p->size[e] > 1;
    }
    add(list, ON_PARTITIONS, active / (double)W_ELIGIBLE, "active slots", -1);
    add(list, ON_PARTITIONS, (double)p->n_cells / W_CELLS, "cells", -1);
    add(list, ON_STATES | ON_JOINT, alike / n, "siblings 1, 2 alike", -1);
    add(list, ON_STATES | ON_JOINT, far / n, "siblings 1, 3 alike", -1);
    add(list, ON_STATES | ON_JOINT, all / n, "siblings and parent alike", -1);
    add(list, ON_STATES | ON_JOINT | ON_PARTITIONS, p->size[0] > 1 ? alike / n : 0.0,
        "slot 1 active, siblings alike", -1);
    add(list, ON_STATES | ON_JOINT | ON_PARTITIONS,
        p->size[1] > 1 && p->size[0] == 1 ? alike / n : 0.0, "slot 2 alone active, siblings alike",
        -1);
    add(list, ON_STATES | ON_JOINT | ON_PARTITIONS, pairs / n, "siblings 1, 2 in a block of slot 1",
        -1);
}

static void mode_features(const picture *p, uint32_t e, feature_list *list)
{
    double n = internal_nodes(p), fit = 0.0, norm = 0.0, empty = 0.0, at_empty = 0.0, purity = 0.0;
    double overlap = 0.0, emission = 0.0;
    for (int q = 0; q < W_VALUES; q++) {
        for (uint32_t z = 0; z < p->size[e]; z++) {
            double count = (double)p->mode_count[e][q][z], kappa = p->kappa[e][q][z];
            fit += count * kappa;
            norm += kappa * kappa / W_VALUES;
            purity += count * count / (n * n);
            overlap += q < W_STATES ? kappa * p->kappa[e][W_STATES][z] / W_STATES : 0.0;
            emission += q < W_STATES ? kappa * kappa * p->b[q][0] / W_STATES : 0.0;
            if (q == W_STATES) {
                empty += count;
                at_empty += count * kappa;
            }
        }
    }
    int slot = (int)e;
    add(list, ON_STATES | ON_MODES, fit / n, "kappa of children, slot", slot);
    add(list, ON_MODES, norm, "kappa squared, slot", slot);
    add(list, ON_STATES, purity, "purity of blocks, slot", slot);
    add(list, ON_STATES | ON_MODES, ratio(at_empty, empty), "kappa of empty, slot", slot);
    add(list, ON_MODES, overlap, "kappa of empty and filled, slot", slot);
    add(list, ON_MODES | ON_EMISSION, emission, "kappa squared times b, slot", slot);
}

static void shape_features(const picture *p, feature_list *list)
{
    double p0 = 1.0;
    for (int l = 0; l < W_SLOTS; l++) {
        double n = 0.0, fit = 0.0;
        for (int k = 0; k < 3; k++) {
            n += (double)p->w->shape_count[l][k];
            fit += (double)p->w->shape_count[l][k] * p->shape[l][k];
        }
        p0 *= p->shape[l][0];
        add(list, ON_SHAPE, fit / n, "o of slot", l);
    }
    add(list, ON_SHAPE, p0, "all absent", -1);
    add(list, ON_SHAPE, p->shape[0][0] * (double)p->w->shape_count[0][0] / W_SHAPE_NODES,
        "absent times how often", -1);
    add(list, ON_SHAPE,
        (p->root_kind[0] * (double)p->w->root_count[0] +
         p->root_kind[1] * (double)p->w->root_count[1]) /
            W_SHAPE_TREES,
        "kind of roots", -1);
}

size_t picture_features(const picture *p, feature *features)
{
    feature_list list = {features, 0};
    root_features(p, &list);
    table_features(p, &list);
    core_features(p, &list);
    for (uint32_t e = 0; e < W_ELIGIBLE; e++) {
        if (!p->soft) {
            slot_features(p, e, &list);
        } else if (p->size[e] > 1) {
            mode_features(p, e, &list);
        }
    }
    if (!p->soft) {
        joint_features(p, &list);
    }
    shape_features(p, &list);
    return list.count;
}

/* ---- What must hold
 * ------------------------------------------------------------------------------ */

#define demand(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            return #condition;                                                                     \
        }                                                                                          \
    } while (0)

static const char *table_fault(const phl_gibbs *gibbs, const int64_t *multiplicity)
{
    const phl_forest *forest = gibbs->index->forest;
    const phl_params *params = gibbs->params;
    size_t c = params->states, n_emission = ((size_t)params->labels + 1) * c;
    size_t n_prior = params->slots * c;
    int64_t *emission = must_alloc(n_emission, sizeof *emission);
    int64_t *prior = must_alloc(n_prior, sizeof *prior);
    bool states_sum = true;
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        int64_t total = 0;
        for (size_t j = 0; j < c; j++) {
            int64_t count = gibbs->counts.state[s * c + j];
            states_sum = states_sum && count >= 0;
            total += count;
            if (forest->label[s] >= 0) {
                emission[gibbs->label_row[forest->label[s]] * c + j] += count;
            }
            if (forest->leaf_slot[s] != 0) {
                prior[(forest->leaf_slot[s] - 1) * c + j] += count;
            }
        }
        states_sum = states_sum && total == multiplicity[s];
    }
    bool emission_right =
        memcmp(emission, gibbs->counts.emission, n_emission * sizeof *emission) == 0;
    bool prior_right = memcmp(prior, gibbs->counts.prior, n_prior * sizeof *prior) == 0;
    phl_free(emission);
    phl_free(prior);
    demand(states_sum);
    demand(emission_right);
    demand(prior_right);
    return NULL;
}

static const char *partition_fault(const phl_partitions *partitions)
{
    size_t values = (size_t)partitions->states + 1, cells = 1;
    uint32_t active = 0;
    const phl_partition_prior *prior = &partitions->prior;
    for (uint32_t e = partitions->n_eligible; e-- > 0;) {
        uint32_t k = partitions->size[e];
        const uint32_t *block = partitions->block + e * values;
        demand(k >= 1 && k <= values);
        for (uint32_t y = 0; y < k; y++) {
            bool used = false;
            for (size_t q = 0; q < values; q++) {
                used = used || block[q] == y;
            }
            demand(used);
        }
        for (size_t q = 0; q < values; q++) {
            demand(block[q] < k);
        }
        demand(partitions->stride[e] == (k > 1 ? cells : 0));
        demand(prior->fixed == NULL || prior->fixed[e] == k);
        cells *= k;
        active += k > 1;
    }
    demand(partitions->n_cells == cells);
    demand(partitions->n_active == active);
    demand(prior->fixed != NULL || (active >= prior->slots_min && active <= prior->slots_max));
    demand(prior->fixed != NULL || cells <= prior->core_max);
    return NULL;
}

/* Is each value of a row in the list of its slot, and no row there twice? */
static const char *list_fault(const phl_rows *rows)
{
    size_t values = (size_t)rows->states + 1;
    uint8_t *listed = must_alloc(rows->n_rows * values + 1, 1);
    bool complete = true, once = true;
    for (uint32_t e = 0; e < rows->n_eligible; e++) {
        memset(listed, 0, rows->n_rows * values);
        for (uint32_t q = 0; q < values; q++) {
            const phl_row_list *list = phl_rows_list(rows, e, q);
            for (size_t i = 0; i < list->count; i++) {
                once = once && listed[list->rows[i] * values + q]++ == 0;
            }
        }
        for (size_t r = 0; r < rows->n_rows; r++) {
            for (uint32_t q = 0; q < values; q++) {
                complete =
                    complete && (phl_rows_count(rows, r, e, q) == 0 || listed[r * values + q]);
            }
        }
    }
    phl_free(listed);
    demand(complete);
    demand(once);
    return NULL;
}

/* Rows against states, partitions and cells.  given: [n][C] to hold how often children got states.
 */
static const char *row_fault(const phl_gibbs *gibbs, int64_t *cells, int64_t *of_subtree)
{
    const phl_rows *rows = gibbs->rows;
    const phl_partitions *partitions = gibbs->partitions;
    const phl_forest *forest = gibbs->index->forest;
    size_t c = rows->states, values = c + 1;
    for (size_t r = 0; r < rows->n_rows; r++) {
        const phl_row *row = &rows->row[r];
        size_t cell = 0;
        demand(row->n > 0);
        demand(forest->leaf_slot[row->subtree] == 0);
        for (uint32_t e = 0; e < rows->n_eligible; e++) {
            const uint32_t *block = partitions->block + e * values;
            int64_t total = 0;
            uint32_t shown = UINT32_MAX;
            bool one_block = true;
            for (uint32_t q = 0; q < values; q++) {
                int64_t count = phl_rows_count(rows, r, e, q);
                demand(count >= 0);
                total += count;
                one_block = one_block && (count == 0 || shown == UINT32_MAX || shown == block[q]);
                shown = count > 0 ? block[q] : shown;
            }
            demand(total == row->n);
            demand(one_block);
            cell = cell * partitions->size[e] + shown;
        }
        demand(row->cell == cell);
        cells[cell * c + row->state] += row->n;
        of_subtree[row->subtree * c + row->state] += row->n;
    }
    for (size_t i = 0; i < partitions->n_cells * c; i++) {
        demand(cells[i] == partitions->cells[i]);
    }
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        for (size_t j = 0; forest->leaf_slot[s] == 0 && j < c; j++) {
            demand(of_subtree[s * c + j] == gibbs->counts.state[s * c + j]);
        }
    }
    return NULL;
}

/* Children of eligible slots in the margins: not more than there are, and all of them where a
 * subtree is never a root nor in another slot. */
static const char *child_fault(const phl_gibbs *gibbs, int64_t *given, bool *elsewhere)
{
    const phl_rows *rows = gibbs->rows;
    const phl_forest *forest = gibbs->index->forest;
    size_t c = rows->states;
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        elsewhere[s] = elsewhere[s] || gibbs->root_count[s] > 0;
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            bool eligible = false;
            for (uint32_t e = 0; e < rows->n_eligible; e++) {
                eligible = eligible || rows->eligible[e] == forest->links[k].slot;
            }
            elsewhere[forest->links[k].child] = elsewhere[forest->links[k].child] || !eligible;
        }
    }
    for (size_t r = 0; r < rows->n_rows; r++) {
        uint32_t s = rows->row[r].subtree;
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            for (uint32_t e = 0; e < rows->n_eligible; e++) {
                for (uint32_t q = 0; rows->eligible[e] == forest->links[k].slot && q < c; q++) {
                    given[forest->links[k].child * c + q] += phl_rows_count(rows, r, e, q);
                }
            }
        }
    }
    for (size_t i = 0; i < forest->n_subtrees * c; i++) {
        demand(given[i] <= gibbs->counts.state[i]);
        demand(elsewhere[i / c] || given[i] == gibbs->counts.state[i]);
    }
    return NULL;
}

const char *gibbs_fault(const phl_gibbs *gibbs, const int64_t *multiplicity)
{
    const phl_forest *forest = gibbs->index->forest;
    const phl_params *params = gibbs->params;
    size_t c = params->states;
    const char *fault = table_fault(gibbs, multiplicity);
    if (fault != NULL) {
        return fault;
    }
    if (params->soft) {
        int64_t internal = 0, counted = 0;
        for (size_t s = 0; s < forest->n_subtrees; s++) {
            internal += forest->leaf_slot[s] == 0 ? multiplicity[s] : 0;
        }
        for (size_t i = 0; i < params->core_rows * c; i++) {
            counted += gibbs->counts.core[i];
        }
        demand(counted == internal);
        for (uint32_t a = 0; a < params->n_modes; a++) {
            counted = 0;
            for (size_t i = 0; i < (c + 1) * params->modes[a].size; i++) {
                counted += gibbs->counts.mode[a][i];
            }
            demand(counted == internal);
        }
        return NULL;
    }
    fault = partition_fault(gibbs->partitions);
    if (fault != NULL) {
        return fault;
    }
    int64_t *cells = must_alloc(gibbs->partitions->n_cells * c, sizeof *cells);
    int64_t *counts = must_alloc(forest->n_subtrees * c, sizeof *counts);
    int64_t *given = must_alloc(forest->n_subtrees * c, sizeof *given);
    bool *elsewhere = must_alloc(forest->n_subtrees, sizeof *elsewhere);
    fault = row_fault(gibbs, cells, counts);
    fault = fault == NULL ? child_fault(gibbs, given, elsewhere) : fault;
    fault = fault == NULL ? list_fault(gibbs->rows) : fault;
    phl_free(elsewhere);
    phl_free(given);
    phl_free(counts);
    phl_free(cells);
    return fault;
}
