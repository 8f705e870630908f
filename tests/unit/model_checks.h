/* model_checks.h - comparing models and their results, and forests to compare them on.
 *
 * Shared by test_metamorphic.c (inference) and test_training.c (learning).
 */
#ifndef PHL_TESTS_MODEL_CHECKS_H
#define PHL_TESTS_MODEL_CHECKS_H

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "models.h"

#define EXACT 1e-12 /* relative; sums of positive numbers in another order */

/* ---- Kinds of models ------------------------------------------------------------------------- */

struct kind {
    const char *name;
    phl_kind kind;
    bool soft;
};
static const struct kind kinds[] = {{"sp", PHL_SP, false},
                                    {"full", PHL_FULL, false},
                                    {"tf", PHL_TF, false},
                                    {"soft tf", PHL_TF, true},
                                    {"td", PHL_TD, false}};
#define KINDS (sizeof kinds / sizeof kinds[0])

/* |actual - expected| <= relative * |expected|, or <= floor. */
#define check_near(actual, expected, relative, floor)                                              \
    check_near_at((actual), (expected), (relative), (floor), #actual, __FILE__, __LINE__)
static inline void check_near_at(double actual, double expected, double relative, double floor,
                                 const char *what, const char *file, int line)
{
    if (actual != expected && !(fabs(actual - expected) <= floor)) {
        check_close_at(actual, expected, relative, what, file, line);
    }
}

/* ---- Forests --------------------------------------------------------------------------------- */

/* `trees` random trees of up to `size` nodes; a fifth of the labels unknown.  Labels take part in
 * the shape: leaves of the same slot mostly have the same one, so that subtrees repeat. */
static inline phl_forest *random_forest(phl_rng *rng, size_t trees, unsigned size, uint32_t slots,
                                        uint32_t labels, const double *weights, unsigned copies)
{
    shape *shapes = must_alloc(trees, sizeof *shapes);
    const char *(*names)[MAX_SHAPE] = must_alloc(trees, sizeof *names);
    for (size_t t = 0; t < trees; t++) {
        shapes[t] = random_shape(rng, size, slots);
        for (unsigned u = 0; u < shapes[t].size; u++) {
            uint32_t usual = (shapes[t].slot[u] + shapes[t].parent[u]) % labels;
            uint32_t label = random_below(rng, 3) == 0 ? random_below(rng, labels) : usual;
            names[t][u] = random_below(rng, 5) == 0 ? NULL : letter[label];
        }
        if (t == 0) { /* the widest node and the last label occur, whatever comes */
            shapes[t] = (shape){.size = 2, .slot = {1, slots}};
            names[t][0] = letter[labels - 1];
            names[t][1] = letter[0];
        }
    }
    phl_builder *builder = new_builder(false);
    for (unsigned copy = 0; copy < copies; copy++) {
        for (size_t t = 0; t < trees; t++) {
            double weight = weights != NULL ? weights[t] : 1.0;
            add_tree(builder, &shapes[t], names[t], weight / copies, t % 2 == 0 ? "even" : "odd");
        }
    }
    phl_free(shapes);
    phl_free(names);
    return finish_forest(builder);
}

/* ---- Comparing ------------------------------------------------------------------------------ */

/* All tables alike. */
static inline void check_tables(const phl_params *actual, const phl_params *expected,
                                double relative, double floor)
{
    phl_table a;
    phl_table e;
    size_t i = 0;
    for (; phl_params_table(expected, i, &e); i++) {
        assert_true(phl_params_table(actual, i, &a));
        assert_string_equal(a.name, e.name);
        assert_true(a.rows == e.rows && a.columns == e.columns);
        for (size_t r = 0; r < e.rows; r++) {
            for (size_t c = 0; c < e.columns; c++) {
                check_near(a.data[r * a.row_stride + c * a.column_stride],
                           e.data[r * e.row_stride + c * e.column_stride], relative, floor);
            }
        }
    }
    assert_false(phl_params_table(actual, i, &a));
}

static inline phl_params *count(const prepared *p)
{
    phl_params *counts = NULL;
    must(phl_params_clone_empty(p->params, &counts, error));
    must(phl_expected_counts(p->upward, NULL, 1, counts, error));
    must(phl_shape_counts(p->forest, NULL, counts, error));
    return counts;
}

/* Identity partitions of all slots. */
static inline phl_params *identity_tf(uint32_t states, uint32_t slots, uint32_t labels)
{
    phl_axis axes[8] = {{0}};
    uint32_t block[16];
    for (uint32_t q = 0; q <= states; q++) {
        block[q] = q;
    }
    for (uint32_t l = 0; l < slots; l++) {
        axes[l] = (phl_axis){.slot = l + 1, .size = states + 1, .block = block};
    }
    phl_params *params = NULL;
    must(phl_params_create(PHL_TF, states, slots, labels, axes, slots, 0, &params, error));
    return params;
}

#endif
