/* dump_inference.c - random small models and trees, and all the library computes on them.
 *
 *   dump_inference SEED MODELS
 *
 * One JSON object per line and model:
 *   number, kind, rows (style of the tables), shared
 *   model     as `phloem show --json` prints it
 *   tables    its draw once more, every number with 17 digits
 *   trees     in the flat json format
 *   inside    how many of the trees, the first ones, have no slot beyond L
 *   results   one per tree: log_likelihood, log_shape, possible and, if so, marginals [n][C],
 *             predictive [n][M + 1], pairs [n - 1][C][C] (from node 1 on), states [n], log_joint
 *   weights   of the trees in counts
 *   counts    expected counts, laid out as a draw of the model; shape_prior and root_kind are those
 * of the shapes sums      for shapes of up to 3 nodes: {parent, slot, sum}, sum of p(labels) over
 * all labels draws     {tree, counts: [[states...], count]...} or null -Infinity and NaN are
 * written as Python's json reads them.
 *
 * The shapes with slots up to L follow each other in a cycle, one per kind and L, so that all occur
 * about equally often; run_enumeration.py counts them.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/models.h"
#include "base/memory.h"
#include "model/run.h"

#define TREES_INSIDE 20
#define TREES_BEYOND 4
#define TREES (TREES_INSIDE + TREES_BEYOND)
#define MAX_NODES 5
#define MAX_SLOTS 3
#define MAX_STATES 3
#define DRAWS 20000

enum { SP, FULL, TF_HARD, TF_SOFT, TD, KINDS };
static const phl_kind kind_of[KINDS] = {PHL_SP, PHL_FULL, PHL_TF, PHL_TF, PHL_TD};
static const char *const kind_names[KINDS] = {"sp", "full", "tf hard", "tf soft", "td"};

static shape *shapes; /* all of them */
static size_t n_shapes;
static size_t next_shape[KINDS][MAX_SLOTS + 1];

/* One model and its trees. */
struct setting {
    phl_rng rng;
    phl_run *run;
    phl_params *params; /* of the run */
    phl_alphabet labels;
    phl_forest *forest;
    prepared p;
};

/* ---- Writing --------------------------------------------------------------------------------- */

static void put(const char *text)
{
    (void)fputs(text, stdout);
}

static void put_number(double value)
{
    if (isnan(value)) {
        put("NaN");
    } else if (isinf(value)) {
        put(value < 0 ? "-Infinity" : "Infinity");
    } else {
        (void)printf("%.17g", value);
    }
}

/* Numbers as nested arrays of sizes dims[0] x dims[1] x ..., all > 0. */
static void put_tensor(const double *values, size_t n_dims, const size_t *dims)
{
    size_t total = 1;
    for (size_t d = 0; d < n_dims; d++) {
        total *= dims[d];
    }
    for (size_t i = 0; i < total; i++) {
        put(i == 0 ? "" : ",");
        size_t inner = total;
        for (size_t d = 0; d < n_dims; inner /= dims[d++]) {
            put(i % inner == 0 ? "[" : "");
        }
        put_number(values[i]);
        inner = total;
        for (size_t d = 0; d < n_dims; inner /= dims[d++]) {
            put((i + 1) % inner == 0 ? "]" : "");
        }
    }
}

static void put_vector(const double *values, size_t count)
{
    put_tensor(values, 1, (size_t[]){count});
}

static void put_matrix(const double *values, size_t rows, size_t columns)
{
    put_tensor(values, 2, (size_t[]){rows, columns});
}

/* Emission lies by label; it is shown by state, without and with the unseen symbol. */
static void put_emission(const phl_params *params)
{
    size_t c = params->states;
    for (size_t j = 0; j < c; j++) {
        put(j == 0 ? "\"emission\":[" : ",");
        for (size_t d = 0; d < params->labels; d++) {
            put(d == 0 ? "[" : ",");
            put_number(params->emission[d * c + j]);
        }
        put("]");
    }
    put("],\"unseen\":");
    put_vector(params->emission + params->labels * c, c);
}

static void put_axes(const phl_params *params)
{
    put(params->soft ? ",\"mode\":[" : ",\"partition\":[");
    for (uint32_t a = 0; a < params->n_axes; a++) {
        const phl_axis *axis = &params->axes[a];
        (void)printf("%s{\"slot\":%u,", a == 0 ? "" : ",", axis->slot);
        if (params->soft) {
            put("\"matrix\":");
            put_matrix(axis->matrix, params->states + 1, axis->size);
        } else {
            for (uint32_t q = 0; q <= params->states; q++) {
                (void)printf("%s%u", q == 0 ? "\"blocks\":[" : ",", axis->block[q]);
            }
            put("]");
        }
        put("}");
    }
    put("],\"core\":{\"shape\":[");
    for (uint32_t a = 0; a < params->n_axes; a++) {
        (void)printf("%u,", params->axes[a].size);
    }
    (void)printf("%u],\"data\":", params->states);
    put_vector(params->core, params->core_rows * params->states);
    put("}");
}

/* The tables of a model, or counts in their place. */
static void put_tables(const phl_params *params)
{
    size_t c = params->states;
    size_t l = params->slots;
    put("{");
    put_emission(params);
    if (params->prior != NULL) {
        put(",\"prior\":");
        put_matrix(params->prior, l, c);
    }
    if (params->switching != NULL) {
        put(",\"switch\":");
        put_vector(params->switching, l);
    }
    if (params->root != NULL) {
        put(",\"root\":");
        put_vector(params->root, c);
    }
    if (params->transition != NULL) {
        put(",\"transition\":");
        put_tensor(params->transition, 3, (size_t[]){l, params->kind == PHL_SP ? c + 1 : c, c});
    }
    if (params->core != NULL) {
        put_axes(params);
    }
    put(",\"root_kind\":");
    put_vector(params->root_kind, 2);
    put(",\"shape_prior\":");
    put_matrix(params->shape, l, 3);
    put("}");
}

/* As `show --json` writes it, and once more as the tables lie in memory. */
static void put_model(const struct setting *s)
{
    char *text = NULL;
    size_t size = 0;
    must(phl_run_json(s->run, &text, &size, error));
    put("\"model\":");
    for (size_t i = 0; i < size; i++) {
        (void)putchar(text[i] == '\n' ? ' ' : text[i]);
    }
    phl_free(text);
    put(",\"tables\":");
    put_tables(s->params);
}

static void put_trees(const phl_forest *forest)
{
    phl_write_options options;
    phl_write_options_init(&options);
    options.format = PHL_FORMAT_JSON;
    char *text = NULL;
    size_t size = 0;
    must(phl_forest_write_memory(forest, &options, &text, &size, error));
    put(",\"trees\":[");
    for (size_t i = 0; i < size; i++) {
        if (text[i] != '\n') {
            (void)putchar(text[i]);
        } else if (i + 1 < size) {
            (void)putchar(',');
        }
    }
    put("]");
    phl_free(text);
}

/* ---- Trees ----------------------------------------------------------------------------------- */

/* A label of the alphabet, one outside it ("x0", "x1"), or unknown. */
static const char *random_label(struct setting *s)
{
    double u = phl_rng_uniform(&s->rng);
    if (u < 0.2) {
        return NULL;
    }
    if (u < 0.3) {
        return u < 0.25 ? "x0" : "x1";
    }
    return letter[random_below(&s->rng, s->params->labels)];
}

/* The next shape of this kind with slots up to L. */
static const shape *shape_inside(int kind, uint32_t slots)
{
    for (;;) {
        const shape *found = &shapes[next_shape[kind][slots]++ % n_shapes];
        if (shape_max_slot(found) <= slots) {
            return found;
        }
    }
}

/* A random shape with some slots beyond L. */
static shape shape_beyond(phl_rng *rng, uint32_t slots)
{
    shape found;
    do {
        found = shapes[random_below(rng, (uint32_t)n_shapes)];
        uint32_t to[MAX_SLOTS + 1] = {0}; /* ascending */
        for (uint32_t l = 1; l <= MAX_SLOTS; l++) {
            to[l] = to[l - 1] + 1 + random_below(rng, slots + 1);
        }
        for (unsigned u = 1; u < found.size; u++) {
            found.slot[u] = to[found.slot[u]];
        }
    } while (shape_max_slot(&found) <= slots);
    return found;
}

/* ---- Results --------------------------------------------------------------------------------- */

static void put_result(struct setting *s, size_t tree, const double *log_shape)
{
    size_t c = s->params->states;
    size_t m = s->params->labels;
    bool possible = true;
    put("{\"log_likelihood\":");
    put_number(phl_upward_tree(s->p.upward, tree));
    put(",\"log_shape\":");
    put_number(phl_shape_tree(s->params, s->forest, log_shape, tree));
    must(phl_tree_marginals(s->p.view, tree, &possible, error));
    (void)printf(",\"possible\":%s", possible ? "true" : "false");
    if (possible) {
        size_t n = s->p.view->n;
        put(",\"marginals\":");
        put_matrix(s->p.view->marginal, n, c);
        put(",\"predictive\":[");
        for (size_t u = 0; u < n; u++) {
            double predictive[32];
            phl_tree_predictive(s->p.view, u, predictive);
            put(u == 0 ? "" : ",");
            put_vector(predictive, m + 1);
        }
        put("],\"pairs\":[");
        for (size_t u = 1; u < n; u++) {
            double pair[MAX_STATES * MAX_STATES];
            must(phl_tree_pair(s->p.view, u, pair, error));
            put(u == 1 ? "" : ",");
            put_matrix(pair, c, c);
        }
        put("]");
    }
    uint32_t states[MAX_NODES];
    double log_joint = 0;
    bool decodable = true;
    must(phl_tree_most_probable(s->p.view, tree, states, &log_joint, &decodable, error));
    (void)printf(",\"decodable\":%s", decodable ? "true" : "false");
    if (decodable) {
        put(",\"log_joint\":");
        put_number(log_joint);
        for (size_t u = 0; u < s->p.view->n; u++) {
            (void)printf("%s%u", u == 0 ? ",\"states\":[" : ",", states[u]);
        }
        put("]");
    }
    put("}");
}

static void put_counts(struct setting *s, bool own_weights)
{
    double *weights = must_alloc(TREES, sizeof *weights);
    for (size_t t = 0; t < TREES; t++) {
        weights[t] = own_weights ? phl_tree_weight(s->forest, t) : phl_rng_uniform(&s->rng) * 3;
    }
    phl_params *counts = NULL;
    must(phl_params_clone_empty(s->params, &counts, error));
    const double *given = own_weights ? NULL : weights;
    must(phl_expected_counts(s->p.upward, given, 1, counts, error));
    must(phl_shape_counts(s->forest, given, counts, error));
    put(",\"weights\":");
    put_vector(weights, TREES);
    put(",\"counts\":");
    put_tables(counts);
    phl_params_free(counts);
    phl_free(weights);
}

/* Joint states of the first tree of at least 3 nodes that is possible. */
static void put_draws(struct setting *s)
{
    size_t c = s->params->states;
    for (size_t tree = 0; tree < TREES; tree++) {
        uint32_t states[MAX_NODES];
        size_t seen[243] = {0}; /* by states as digits in base C, node 0 leading */
        bool possible = true;
        size_t n = 0;
        for (int i = 0; i < DRAWS; i++) {
            must(phl_tree_draw_states(s->p.view, tree, &s->rng, states, &possible, error));
            n = s->p.view->n;
            if (!possible || n < 3) {
                break;
            }
            size_t number = 0;
            for (size_t u = 0; u < n; u++) {
                number = number * c + states[u];
            }
            seen[number < 243 ? number : 242]++;
        }
        if (!possible || n < 3) {
            continue;
        }
        (void)printf("{\"tree\":%zu,\"counts\":[", tree);
        size_t total = (size_t)llround(pow((double)c, (double)n));
        for (size_t i = 0; i < total; i++) {
            (void)printf("%s%zu", i == 0 ? "" : ",", seen[i]);
        }
        put("]}");
        return;
    }
    put("null");
}

/* Sum of p(labels) over all labels, the unseen symbol included, on one shape. */
static double sum_over_labels(const struct setting *s, const shape *form)
{
    uint32_t outcomes = s->params->labels + 1;
    size_t total = 1;
    for (unsigned u = 0; u < form->size; u++) {
        total *= outcomes;
    }
    phl_builder *builder = new_builder(false);
    for (size_t i = 0; i < total; i++) {
        const char *labels[MAX_SHAPE];
        size_t rest = i;
        for (unsigned u = 0; u < form->size; u++, rest /= outcomes) {
            uint32_t d = (uint32_t)(rest % outcomes);
            labels[u] = d < s->params->labels ? letter[d] : "x0";
        }
        add_tree(builder, form, labels, 1, NULL);
    }
    phl_forest *forest = finish_forest(builder);
    prepared p = prepare(forest, &s->labels, s->params, 1);
    double sum = 0;
    for (size_t i = 0; i < total; i++) {
        sum += exp(phl_upward_tree(p.upward, i));
    }
    unprepare(&p);
    phl_forest_free(forest);
    return sum;
}

static void put_sums(struct setting *s)
{
    put(",\"sums\":[");
    bool first = true;
    for (size_t i = 0; i < n_shapes; i++) {
        if (shapes[i].size > 3) {
            continue;
        }
        for (int beyond = 0; beyond < 2; beyond++) {
            shape form = shapes[i];
            for (unsigned u = 1; u < form.size; u++) {
                form.slot[u] += beyond != 0 ? s->params->slots : 0;
            }
            if (beyond ? form.size == 1 || i % 4 != 0 : shape_max_slot(&form) > s->params->slots) {
                continue;
            }
            (void)printf("%s{\"parent\":[-1", first ? "" : ",");
            first = false;
            for (unsigned u = 1; u < form.size; u++) {
                (void)printf(",%u", form.parent[u]);
            }
            put("],\"slot\":[1");
            for (unsigned u = 1; u < form.size; u++) {
                (void)printf(",%u", form.slot[u]);
            }
            put("],\"sum\":");
            put_number(sum_over_labels(s, &form));
            put("}");
        }
    }
    put("]");
}

/* ---- Models ---------------------------------------------------------------------------------- */

/* 1, 2, 3 with the given chances in per cent; the rest is 3. */
static uint32_t weighted(phl_rng *rng, uint32_t one, uint32_t two)
{
    uint32_t u = random_below(rng, 100);
    return u < one ? 1 : u < one + two ? 2 : 3;
}

static void run_model(uint64_t seed, unsigned number)
{
    int kind = (int)(number % KINDS);
    unsigned group = number / KINDS;
    row_style style = group % 10 < 3 ? ROWS_ZEROS : group % 10 < 5 ? ROWS_SKEWED : ROWS_PLAIN;
    bool shared = group % 4 != 3;
    struct setting s = {0};
    phl_rng_init(&s.rng, seed, 1, 0, 0, number);

    uint32_t states = weighted(&s.rng, 15, 45);
    uint32_t labels = weighted(&s.rng, 20, 40);
    uint32_t slots = weighted(&s.rng, 20, 30);
    s.params =
        random_params(&s.rng, kind_of[kind], kind == TF_SOFT, states, slots, labels, slots, style);
    for (uint32_t d = 0; d < labels; d++) {
        must(phl_alphabet_add(&s.labels, letter[d], 1, &(int32_t){0}, error));
    }
    must(phl_run_create(kind_of[kind], states, slots, &s.labels, NULL, false, &s.run, error));
    must(phl_model_add_draw(&s.run->models[0], &(phl_draw){.params = s.params}, error));
    phl_builder *builder = new_builder(!shared);
    for (int t = 0; t < TREES; t++) {
        shape form = t < TREES_INSIDE ? *shape_inside(kind, slots) : shape_beyond(&s.rng, slots);
        const char *names[MAX_SHAPE];
        for (unsigned u = 0; u < form.size; u++) {
            names[u] = random_label(&s);
        }
        add_tree(builder, &form, names, 0.5 + random_below(&s.rng, 4), NULL);
    }
    s.forest = finish_forest(builder);
    s.p = prepare(s.forest, &s.labels, s.params, 1);

    (void)printf("{\"number\":%u,\"kind\":\"%s\",\"rows\":%d,\"shared\":%s,\"inside\":%d,", number,
                 kind_names[kind], (int)style, shared ? "true" : "false", TREES_INSIDE);
    put_model(&s);
    put_trees(s.forest);
    double *log_shape = must_alloc(s.forest->n_subtrees, sizeof *log_shape);
    phl_shape_run(s.params, s.forest, log_shape);
    put(",\"results\":[");
    for (size_t t = 0; t < TREES; t++) {
        put(t == 0 ? "" : ",");
        put_result(&s, t, log_shape);
    }
    put("]");
    phl_free(log_shape);
    put_counts(&s, group % 2 == 0);
    put_sums(&s);
    put(",\"draws\":");
    if (group % 20 == 7 || group % 20 == 12) {
        put_draws(&s);
    } else {
        put("null");
    }
    put("}\n");

    unprepare(&s.p);
    phl_forest_free(s.forest);
    phl_run_free(s.run);
    phl_alphabet_clear(&s.labels);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        (void)fputs("usage: dump_inference SEED MODELS\n", stderr);
        return 2;
    }
    uint64_t seed = strtoull(argv[1], NULL, 10);
    unsigned long models = strtoul(argv[2], NULL, 10);
    shapes = all_shapes(MAX_NODES, MAX_SLOTS, &n_shapes);
    for (unsigned number = 0; number < models; number++) {
        run_model(seed, number);
    }
    phl_free(shapes);
    return fflush(stdout) == 0 ? 0 : 1;
}
