/* runs.c - helpers for testing run files; see runs.h. */
#include "runs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"

const struct shape shapes[N_SHAPES] = {
    {"sp", PHL_SP, false, 4, 3, 5, 3, 1, 0},       {"td", PHL_TD, false, 3, 4, 6, 0, 2, 0},
    {"full", PHL_FULL, false, 2, 3, 4, 2, 1, 3},   {"tf", PHL_TF, false, 5, 6, 7, 2, 3, 3},
    {"soft", PHL_TF, true, 4, 5, 3, 2, 2, 2},      {"flat", PHL_TF, false, 3, 2, 2, 0, 1, 0},
    {"flat-soft", PHL_TF, true, 3, 2, 2, 0, 1, 0}, {"tiny", PHL_SP, false, 1, 1, 0, 0, 1, 0},
};

/* ---- Random runs ---------------------------------------------------------------------------- */

/* Rows of distributions, one cell in five exactly 0. */
static void fill_tables(phl_params *params, phl_rng *rng)
{
    phl_table table;
    for (size_t i = 0; phl_params_table(params, i, &table); i++) {
        for (size_t r = 0; r < table.rows; r++) {
            double sum = 0;
            for (size_t c = 0; c < table.columns; c++) {
                double weight = c > 0 && phl_rng_bounded(rng, 5) == 0 ? 0 : phl_rng_uniform(rng);
                table.data[r * table.row_stride + c * table.column_stride] = weight;
                sum += weight;
            }
            for (size_t c = 0; c < table.columns; c++) {
                table.data[r * table.row_stride + c * table.column_stride] /= sum;
            }
        }
    }
    phl_params_complete(params);
}

static phl_params *random_params(const struct shape *shape, phl_rng *rng)
{
    phl_axis axes[8];
    uint32_t blocks[8][16];
    phl_params *params = NULL;
    memset(axes, 0, sizeof axes);
    for (uint32_t a = 0; a < shape->active; a++) {
        axes[a].slot = shape->slots - shape->active + a + 1;
        axes[a].size = 2 + (uint32_t)phl_rng_bounded(rng, shape->states);
        for (uint32_t q = 0; q <= shape->states; q++) {
            blocks[a][q] = q < axes[a].size ? q : (uint32_t)phl_rng_bounded(rng, axes[a].size);
        }
        axes[a].block = shape->soft ? NULL : blocks[a];
    }
    must(phl_params_create(shape->kind, shape->states, shape->slots, shape->labels, axes,
                           shape->active, 0, &params, error));
    params->soft = shape->soft;
    fill_tables(params, rng);
    must(phl_params_check(params, error));
    return params;
}

static void add_names(phl_alphabet *alphabet, const char *const *names, size_t n_names,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char name[80];
        int32_t number = 0;
        (void)snprintf(name, sizeof name, "%s", i < n_names ? names[i] : "");
        if (i >= n_names) {
            (void)snprintf(name, sizeof name, "name %zu", i);
        }
        must(phl_alphabet_add(alphabet, name, strlen(name), &number, error));
        assert_int_equal(number, i);
    }
}

static void add_trace(phl_run *run, uint32_t class_index, size_t count, phl_rng *rng)
{
    for (size_t i = 0; i < count; i++) {
        phl_trace_row row = {.class_index = class_index,
                             .chain = (uint32_t)(2 * i / count),
                             .iteration = i % (count / 2),
                             .temperature = 1 + phl_rng_uniform(rng),
                             .log_likelihood = -1000 * phl_rng_uniform(rng),
                             .log_joint = -2000 * phl_rng_uniform(rng),
                             .seconds = phl_rng_uniform(rng),
                             .active = (uint32_t)i,
                             .sum_size = (uint32_t)(3 * i)};
        for (int move = 0; i > 2 && move < PHL_MOVE_TYPES; move++) {
            row.tried[move] = i == 3 ? UINT32_MAX : (uint32_t)phl_rng_bounded(rng, 1000);
            row.changed[move] = (uint32_t)phl_rng_bounded(rng, 1000);
        }
        row.log_likelihood = i == 0 ? -INFINITY : row.log_likelihood;
        row.log_joint = i == 1 ? NAN : row.log_joint;
        row.temperature = i == 2 ? 1.0 : row.temperature; /* SQLite keeps it as an integer */
        must(phl_run_add_trace(run, &row, error));
    }
}

phl_run *random_run(const struct shape *shape, uint64_t seed, bool with_forest)
{
    static const char *const labels[] = {"", "a \"quoted\"\t\\ label", "\xc3\xa9\xe2\x8a\xa5", "_"};
    static const char *const classes[] = {"", "second class"};
    static const phl_stop_reason reasons[] = {PHL_STOP_TOLERANCE, PHL_STOP_ITERATIONS,
                                              PHL_STOP_INTERRUPTED};
    phl_alphabet label_names = {0}, class_names = {0};
    phl_run *run = NULL;
    phl_rng rng;
    phl_rng_init(&rng, seed, 0, 0, 0, 0);
    add_names(&label_names, labels, 4, shape->labels);
    add_names(&class_names, classes, 2, shape->classes);
    must(phl_run_create(shape->kind, shape->states, shape->slots, &label_names, &class_names,
                        shape->classes > 0, &run, error));
    must(phl_run_set_meta(run, "seed", "42", error));
    must(phl_run_set_meta(run, "command", "phloem train \xc3\xa9 -o x.run", error));
    must(phl_run_set_meta(run, "empty", "", error));
    for (size_t i = 0; i < run->n_models; i++) {
        phl_model *model = &run->models[i];
        model->trees = 17 + i;
        model->weight = 17 + (double)i / 3;
        model->iterations = 100 * i + 1;
        model->stop_reason = reasons[i % 3];
        for (uint32_t d = 0; d < shape->draws; d++) {
            phl_draw draw = {
                .params = random_params(shape, &rng), .chain = d, .iteration = 10 * d + 1};
            draw.log_likelihood = -100 * phl_rng_uniform(&rng);
            draw.log_joint = -200 * phl_rng_uniform(&rng);
            must(phl_model_add_draw(model, &draw, error));
        }
        add_trace(run, (uint32_t)i, 8, &rng);
    }
    if (with_forest) {
        run->forest = symm_forest(SEED, 3);
    }
    phl_alphabet_clear(&label_names);
    phl_alphabet_clear(&class_names);
    return run;
}

/* ---- Comparing ------------------------------------------------------------------------------ */

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static bool same_names(const phl_alphabet *a, const phl_alphabet *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++) {
        same = strcmp(phl_alphabet_name(a, i), phl_alphabet_name(b, i)) == 0;
    }
    return same;
}

static bool same_axes(const phl_params *a, const phl_params *b)
{
    bool same = a->n_axes == b->n_axes;
    for (uint32_t m = 0; same && m < a->n_axes; m++) {
        const phl_axis *x = &a->axes[m], *y = &b->axes[m];
        same = x->slot == y->slot && x->size == y->size && !x->block == !y->block &&
               !x->matrix == !y->matrix;
        for (uint32_t q = 0; same && x->block != NULL && q <= a->states; q++) {
            same = x->block[q] == y->block[q];
        }
    }
    return same;
}

static bool same_array(const double *a, const double *b, size_t count)
{
    return (a == NULL) == (b == NULL) && (a == NULL || memcmp(a, b, count * sizeof *a) == 0);
}

/* In memory, rows beyond L and of ones included. */
static bool same_params(const phl_params *a, const phl_params *b)
{
    size_t c = a->states, l = a->slots;
    bool same = a->kind == b->kind && a->soft == b->soft && a->states == b->states &&
                a->slots == b->slots && a->labels == b->labels && same_axes(a, b) &&
                a->core_rows == b->core_rows;
    for (uint32_t m = 0; same && m < a->n_axes; m++) {
        same = same_array(a->axes[m].matrix, b->axes[m].matrix, (c + 1) * a->axes[m].size);
    }
    return same && same_array(a->prior, b->prior, (l + 1) * c) &&
           same_array(a->emission, b->emission, ((size_t)a->labels + 2) * c) &&
           same_array(a->switching, b->switching, l) &&
           same_array(a->transition, b->transition,
                      a->kind == PHL_TD ? (l + 1) * c * c : l * (c + 1) * c) &&
           same_array(a->root, b->root, c) && same_array(a->core, b->core, a->core_rows * c) &&
           same_array(a->shape, b->shape, 3 * l) && same_array(a->root_kind, b->root_kind, 2);
}

static bool same_trace(const phl_trace_row *a, const phl_trace_row *b)
{
    return a->class_index == b->class_index && a->chain == b->chain &&
           a->iteration == b->iteration && same_bits(a->temperature, b->temperature) &&
           same_bits(a->log_likelihood, b->log_likelihood) &&
           same_bits(a->log_joint, b->log_joint) && same_bits(a->seconds, b->seconds) &&
           a->active == b->active && a->sum_size == b->sum_size &&
           memcmp(a->tried, b->tried, sizeof a->tried) == 0 &&
           memcmp(a->changed, b->changed, sizeof a->changed) == 0;
}

static bool same_model(const phl_model *a, const phl_model *b)
{
    bool same = a->class_index == b->class_index && a->trees == b->trees &&
                same_bits(a->weight, b->weight) && a->n_draws == b->n_draws &&
                a->stop_reason == b->stop_reason && a->iterations == b->iterations;
    for (size_t d = 0; same && d < a->n_draws; d++) {
        const phl_draw *x = &a->draws[d], *y = &b->draws[d];
        same = x->chain == y->chain && x->iteration == y->iteration &&
               same_bits(x->log_likelihood, y->log_likelihood) &&
               same_bits(x->log_joint, y->log_joint) && same_params(x->params, y->params);
    }
    return same;
}

static bool same_head(const phl_head *a, const phl_head *b)
{
    if (a == NULL || b == NULL) {
        return a == b;
    }
    size_t n = phl_features_count(a->features);
    return n == phl_features_count(b->features) && a->n_classes == b->n_classes &&
           same_array(a->weights, b->weights, (n + 1) * a->n_classes) &&
           same_bits(a->temperature, b->temperature) && a->n_choices == b->n_choices &&
           a->chosen == b->chosen && a->n_folds == b->n_folds;
}

/* What differs, or NULL. */
const char *difference(const phl_run *a, const phl_run *b)
{
    if (a->kind != b->kind || a->states != b->states || a->slots != b->slots ||
        a->per_class != b->per_class) {
        return "kind or sizes";
    }
    if (!same_names(&a->labels, &b->labels) || !same_names(&a->classes, &b->classes)) {
        return "names";
    }
    if (a->n_meta != b->n_meta || a->n_models != b->n_models || a->n_trace != b->n_trace) {
        return "counts";
    }
    for (size_t i = 0; i < a->n_meta; i++) { /* in any order */
        const char *value = phl_run_meta(b, a->meta[i].key);
        if (value == NULL || strcmp(a->meta[i].value, value) != 0) {
            return "meta";
        }
    }
    for (size_t i = 0; i < a->n_models; i++) {
        if (!same_model(&a->models[i], &b->models[i])) {
            return "models";
        }
    }
    for (size_t i = 0; i < a->n_trace; i++) {
        if (!same_trace(&a->trace[i], &b->trace[i])) {
            return "trace";
        }
    }
    return same_head(a->head, b->head) ? NULL : "head";
}

/* ---- Files ---------------------------------------------------------------------------------- */

void save(const phl_run *run, const char *path)
{
    must(phl_run_save(run, path, true, error));
}

phl_run *open_run(const char *path)
{
    phl_run *run = NULL;
    must(phl_run_open(path, &run, error));
    return run;
}

void check_same_forest(const phl_forest *a, const phl_forest *b)
{
    assert_int_equal(a->n_subtrees, b->n_subtrees);
    assert_int_equal(a->n_links, b->n_links);
    assert_int_equal(a->n_levels, b->n_levels);
    assert_int_equal(a->n_trees, b->n_trees);
    assert_int_equal(a->max_slot, b->max_slot);
    assert_int_equal(a->shared, b->shared);
    size_t n = a->n_subtrees, trees = a->n_trees;
    assert_memory_equal(a->label, b->label, n * sizeof *a->label);
    assert_memory_equal(a->leaf_slot, b->leaf_slot, n * sizeof *a->leaf_slot);
    assert_memory_equal(a->first_link, b->first_link, (n + 1) * sizeof *a->first_link);
    assert_memory_equal(a->multiplicity, b->multiplicity, n * sizeof *a->multiplicity);
    assert_memory_equal(a->links, b->links, a->n_links * sizeof *a->links);
    assert_memory_equal(a->level, b->level, (a->n_levels + 1) * sizeof *a->level);
    for (size_t tree = 0; tree < trees; tree++) {
        assert_int_equal(a->tree_root[tree], b->tree_root[tree]);
        assert_int_equal(phl_tree_class(a, tree), phl_tree_class(b, tree));
        assert_true(same_bits(phl_tree_weight(a, tree), phl_tree_weight(b, tree)));
        assert_int_equal(a->tree_file[tree], b->tree_file[tree]);
        assert_int_equal(a->tree_line[tree], b->tree_line[tree]);
        const char *x = phl_tree_id(a, tree), *y = phl_tree_id(b, tree);
        assert_int_equal(x == NULL, y == NULL);
        assert_true(x == NULL || strcmp(x, y) == 0);
    }
    assert_int_equal(a->tree_weight == NULL, b->tree_weight == NULL);
    assert_int_equal(a->tree_id == NULL, b->tree_id == NULL);
    assert_true(same_names(&a->labels, &b->labels));
    assert_true(same_names(&a->classes, &b->classes));
    assert_true(same_names(&a->files, &b->files));
}
