/* test_run_queries.c - what a run is asked through phloem.h: tensors, traces, slots, reasons. */
#include <math.h>
#include <string.h>

#include "runs.h"

/* ---- tensors ---- */

/* Where element (i, j, k) of a tensor lies by the layout in memory that params.h describes. */
static const void *element(const phl_params *p, const char *name, uint32_t slot, size_t i, size_t j,
                           size_t k)
{
    size_t c = p->states, rows = p->kind == PHL_TD ? c : c + 1;
    if (slot > 0) {
        const phl_axis *axis = &p->axes[p->axis_of_slot[slot] - 1];
        return p->soft ? (const void *)&axis->matrix[i * axis->size + j] : &axis->block[i];
    }
    return strcmp(name, "prior") == 0         ? &p->prior[i * c + j]
           : strcmp(name, "emission") == 0    ? &p->emission[j * c + i]
           : strcmp(name, "switch") == 0      ? &p->switching[i]
           : strcmp(name, "transition") == 0  ? &p->transition[(i * rows + j) * c + k]
           : strcmp(name, "root") == 0        ? &p->root[i]
           : strcmp(name, "root_kind") == 0   ? &p->root_kind[i]
           : strcmp(name, "shape_prior") == 0 ? &p->shape[3 * i + j]
                                              : NULL;
}

static void check_elements(const phl_params *params, const phl_tensor *t)
{
    size_t sizes[3] = {1, 1, 1}, strides[3] = {0, 0, 0};
    assert_in_range(t->n_axes, 1, 3);
    memcpy(sizes, t->shape, t->n_axes * sizeof *sizes);
    memcpy(strides, t->strides, t->n_axes * sizeof *strides);
    size_t width = t->dtype == PHL_INT32 ? sizeof(int32_t) : sizeof(double);
    for (size_t i = 0; i < sizes[0]; i++) {
        for (size_t j = 0; j < sizes[1]; j++) {
            for (size_t k = 0; k < sizes[2]; k++) {
                size_t at = i * strides[0] + j * strides[1] + k * strides[2];
                assert_ptr_equal((const char *)t->data + at * width,
                                 element(params, t->name, t->slot, i, j, k));
            }
        }
    }
}

/* The last active slot runs fastest among the rows of the core. */
static void check_core(const phl_params *params, const phl_tensor *t)
{
    size_t rows = 1;
    assert_ptr_equal(t->data, params->core);
    assert_int_equal(t->n_axes, params->n_axes + 1);
    for (size_t a = params->n_axes; a-- > 0;) {
        assert_int_equal(t->shape[a], params->axes[a].size);
        assert_int_equal(t->strides[a], rows * params->states);
        rows *= t->shape[a];
    }
    assert_int_equal(t->shape[params->n_axes], params->states);
    assert_int_equal(t->strides[params->n_axes], 1);
}

/* Names and shapes as docs/run-file.md has them. */
static void check_shape(const phl_params *params, const phl_tensor *t)
{
    size_t c = params->states, l = params->slots, m = params->labels;
    const struct {
        const char *name;
        size_t n, shape[3];
    } expected[] = {
        {"prior", 2, {l, c, 0}},
        {"emission", 2, {c, m + 1, 0}},
        {"switch", 1, {l, 0, 0}},
        {"transition", 3, {l, params->kind == PHL_TD ? c : c + 1, c}},
        {"root", 1, {c, 0, 0}},
        {"partition", 1, {c + 1, 0, 0}},
        {"mode",
         2,
         {c + 1, t->slot > 0 ? params->axes[params->axis_of_slot[t->slot] - 1].size : 0}},
        {"root_kind", 1, {2, 0, 0}},
        {"shape_prior", 2, {l, 3, 0}},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        if (strcmp(expected[i].name, t->name) == 0) {
            assert_int_equal(t->n_axes, expected[i].n);
            assert_memory_equal(t->shape, expected[i].shape, t->n_axes * sizeof *t->shape);
            assert_int_equal(t->dtype, t->slot > 0 && !params->soft ? PHL_INT32 : PHL_FLOAT64);
            check_elements(params, t);
            return;
        }
    }
    fail_msg("a tensor named %s", t->name);
}

/* All tensors of every kind of model: their number, shapes, and that nothing is copied. */
static void test_tensors(void **state)
{
    (void)state;
    /* Without those of active slots. */
    static const size_t n_tensors[N_SHAPES] = {
        [A_SP] = 6,   [A_TD] = 5,   [A_FULL] = 5,      [A_TF] = 5,
        [A_SOFT] = 5, [A_FLAT] = 5, [A_FLAT_SOFT] = 5, [A_TINY] = 6};
    for (size_t s = 0; s < N_SHAPES; s++) {
        phl_run *run = random_run(&shapes[s], SEED + s, false);
        const phl_model *model = phl_run_model(run, 0);
        const phl_draw *draw = phl_model_draw(model, phl_model_draws(model) - 1);
        const phl_params *params = draw->params;
        phl_tensor tensor, found;
        size_t n = 0;
        for (; phl_tensor_get(draw, n, &tensor); n++) {
            memset(&found, 0, sizeof found);
            assert_true(phl_tensor_find(draw, tensor.name, tensor.slot, &found));
            assert_ptr_equal(found.data, tensor.data);
            if (strcmp(tensor.name, "core") == 0) {
                check_core(params, &tensor);
            } else {
                check_shape(params, &tensor);
            }
        }
        assert_int_equal(n, n_tensors[s] + params->n_axes);
        /* Outputs are untouched where there is nothing. */
        memset(&tensor, 0x5a, sizeof tensor);
        found = tensor;
        assert_false(phl_tensor_get(draw, n, &tensor));
        assert_false(phl_tensor_find(draw, "no such", 0, &tensor));
        assert_false(phl_tensor_find(draw, "partition", shapes[s].slots + 1, &tensor));
        assert_memory_equal(&tensor, &found, sizeof tensor);
        phl_run_free(run);
    }
}

static void test_draws(void **state)
{
    (void)state;
    phl_run *run = random_run(&shapes[A_TF], SEED, false);
    const phl_model *model = phl_run_model(run, 1);
    assert_int_equal(phl_model_draws(model), 3);
    assert_int_equal(phl_model_draw(model, 2)->chain, 2);
    assert_int_equal(phl_model_draw(model, 2)->iteration, 21);
    assert_true(phl_model_draw(model, phl_model_best_draw(model))->log_likelihood ==
                phl_model_log_likelihood(model));
    assert_null(phl_model_draw(model, 3));
    phl_run_free(run);
}

/* ---- slots ---- */

/* Sizes counted by hand from the tensors. */
static void test_slot_posterior(void **state)
{
    (void)state;
    for (size_t s = 0; s < N_SHAPES; s++) {
        phl_run *run = random_run(&shapes[s], SEED + s, false);
        const phl_model *model = phl_run_model(run, 0);
        size_t n = phl_model_draws(model), counts[16];
        bool blocks = shapes[s].kind == PHL_TF || shapes[s].kind == PHL_FULL;
        for (uint32_t slot = 1; slot <= shapes[s].slots; slot++) {
            size_t expected[16] = {0}, active = 0;
            for (size_t d = 0; d < n; d++) {
                phl_tensor core;
                uint32_t k = blocks ? 1 : 0, axis = 0;
                for (uint32_t l = 1; blocks && l <= slot; l++) { /* which axis of the core */
                    phl_tensor any;
                    const char *name = shapes[s].soft ? "mode" : "partition";
                    bool is_active = phl_tensor_find(phl_model_draw(model, d), name, l, &any);
                    assert_true(phl_tensor_find(phl_model_draw(model, d), "core", 0, &core));
                    k = is_active && l == slot ? (uint32_t)core.shape[axis] : k;
                    axis += is_active;
                }
                expected[k]++;
                active += k > 1;
            }
            memset(counts, 0xff, sizeof counts);
            double share = phl_model_slot_posterior(model, slot, counts);
            assert_true(share == (double)active / (double)n);
            assert_memory_equal(counts, expected, (shapes[s].states + 2) * sizeof *counts);
            assert_int_equal(counts[shapes[s].states + 2], SIZE_MAX); /* not beyond its end */
        }
        phl_run_free(run);
    }
    phl_run *none = random_run(&shapes[A_TF], SEED, false);
    phl_model *emptied = &none->models[0];
    size_t draws = emptied->n_draws, counts[16];
    emptied->n_draws = 0;
    assert_true(isnan(phl_model_slot_posterior(emptied, 1, counts)));
    emptied->n_draws = draws;
    phl_run_free(none);
}

/* ---- traces ---- */

static phl_trace_row row_of(uint32_t class_index, uint32_t chain, uint64_t iteration, double value)
{
    return (phl_trace_row){.class_index = class_index,
                           .chain = chain,
                           .iteration = iteration,
                           .temperature = 1,
                           .log_joint = value};
}

/* Rows as a training in progress writes them, now of this chain, now of that, and one twice: a run
 * that is opened has them by class, chain and iteration. */
static void test_traces(void **state)
{
    (void)state;
    phl_run *run = random_run(&shapes[A_TF], SEED, false);
    run->n_trace = 0;
    for (uint64_t iteration = 1; iteration <= 5; iteration++) {
        for (uint32_t chain = 0; chain < 4; chain++) {
            phl_trace_row row = row_of(1, 3 - chain, iteration, (double)(10 * chain + iteration));
            if (chain != 2) { /* number 1 has not begun */
                must(phl_run_add_trace(run, &row, error));
            }
        }
    }
    phl_trace_row early = row_of(0, 0, 7, 0.5), again = row_of(1, 2, 3, 99);
    must(phl_run_add_trace(run, &early, error));
    must(phl_run_add_trace(run, &again, error));
    save(run, in_folder("a.run"));
    phl_run_free(run);
    run = open_run(in_folder("a.run"));
    const phl_model *first = phl_run_model(run, 0), *second = phl_run_model(run, 1);
    assert_int_equal(phl_trace_chains(first), 1);
    assert_int_equal(phl_trace_get(first, 0, 0)->iteration, 7);
    assert_null(phl_trace_get(first, 0, 1));
    assert_null(phl_trace_get(first, 1, 0));
    assert_int_equal(phl_trace_chains(second), 4);
    assert_null(phl_trace_get(second, 1, 0));
    assert_null(phl_trace_get(second, 4, 0));
    for (size_t chain = 0; chain < 4; chain++) {
        for (size_t i = 0; chain != 1 && i < 5; i++) {
            const phl_trace_row *row = phl_trace_get(second, chain, i);
            assert_int_equal(row->class_index, 1);
            assert_int_equal(row->chain, chain);
            assert_int_equal(row->iteration, i + 1);
            double expected = chain == 2 && i == 2 ? 99 : (double)(10 * (3 - chain) + i + 1);
            assert_true(row->log_joint == expected);
        }
        assert_null(phl_trace_get(second, chain, 5));
    }
    phl_run_free(run);
    run = random_run(&shapes[A_TINY], SEED, false);
    run->n_trace = 0;
    assert_int_equal(phl_trace_chains(phl_run_model(run, 0)), 0);
    assert_null(phl_trace_get(phl_run_model(run, 0), 0, 0));
    phl_run_free(run);
    empty_folder();
}

/* ---- names ---- */

static void test_names(void **state)
{
    (void)state;
    phl_run *run = random_run(&shapes[A_TF], SEED, false);
    for (size_t i = 0; i < phl_run_classes(run); i++) {
        assert_int_equal(phl_run_find_class(run, phl_run_class_name(run, i)), i);
    }
    assert_int_equal(phl_run_find_class(run, "no such class"), SIZE_MAX);
    assert_null(phl_run_class_name(run, phl_run_classes(run)));
    assert_string_equal(phl_run_label_name(run, 3), "_");
    assert_null(phl_run_label_name(run, -1));
    assert_null(phl_run_label_name(run, (int32_t)phl_run_labels(run)));
    phl_run_free(run);
}

/* ---- reasons ---- */

static void test_stop_reasons(void **state)
{
    (void)state;
    for (phl_stop_reason r = PHL_STOP_TOLERANCE; r <= PHL_STOP_INTERRUPTED; r++) {
        assert_int_equal(phl_stop_reason_find(phl_stop_reason_name(r)), r);
    }
    assert_string_equal(phl_stop_reason_name(PHL_STOP_TOLERANCE), "tolerance");
    assert_null(phl_stop_reason_name(0));
    assert_int_equal(phl_stop_reason_find("bored"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensors),        cmocka_unit_test(test_draws),
        cmocka_unit_test(test_slot_posterior), cmocka_unit_test_setup(test_traces, start_empty),
        cmocka_unit_test(test_names),          cmocka_unit_test(test_stop_reasons),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
