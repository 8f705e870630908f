/* test_em.c - learning by EM: the objective never drops, each step is the step the formulas say,
 * what a fit reports is what it reached, and the shape tables are at their optimum.
 *
 * Random forests and models from SEED; nothing here is statistical, so no false alarms.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "em/em.h"
#include "model/run.h"
#include "models.h"

#define SEED 496
#define FITS 1000  /* of each kind */
#define DROP 1e-10 /* relative: what rounding may cost the objective */

static const struct {
    const char *name;
    phl_kind kind;
} kinds[] = {{"sp", PHL_SP}, {"td", PHL_TD}, {"full", PHL_FULL}, {"tf", PHL_TF}};
#define KINDS (sizeof kinds / sizeof kinds[0])

/* A small random task: a forest and how to fit it. */
struct task {
    phl_forest *forest;
    phl_train_options options;
    char *partition;
};

static phl_forest *random_forest(phl_rng *rng, uint32_t slots, uint32_t labels, bool weighted)
{
    uint32_t trees = 3 + random_below(rng, 10);
    uint32_t unknown = random_below(rng, 3); /* a tenth each */
    phl_builder *builder = new_builder(random_below(rng, 4) == 0);
    for (uint32_t t = 0; t < trees; t++) {
        shape form = random_shape(rng, 9, slots);
        const char *names[MAX_SHAPE];
        for (unsigned u = 0; u < form.size; u++) {
            bool hidden = random_below(rng, 10) < unknown;
            names[u] = hidden ? NULL : letter[random_below(rng, labels)];
        }
        double weight = weighted ? 0.05 + 4 * phl_rng_uniform(rng) : 1.0;
        add_tree(builder, &form, names, weight, t % 2 == 0 ? "even" : "odd");
    }
    return finish_forest(builder);
}

static struct task random_task(size_t kind, uint64_t number)
{
    static const double smoothings[] = {0, 0.01, 0, 1, 0, 1e-6};
    struct task task = {0};
    phl_rng rng;
    phl_rng_init(&rng, SEED, 1, kind, 0, number);
    uint32_t labels = 1 + random_below(&rng, 4);
    task.forest = random_forest(&rng, 1 + random_below(&rng, 3), labels, number % 3 == 0);
    phl_train_options_init(&task.options);
    task.options.kind = kinds[kind].kind;
    task.options.learner = PHL_LEARNER_EM;
    task.options.states = 1 + random_below(&rng, 4);
    task.options.iterations = 25;
    task.options.tolerance = 0;
    task.options.threads = 1;
    task.options.seed = number;
    task.options.smoothing = smoothings[number % 6];
    task.options.restarts = 1 + (number % 5 == 0);
    task.options.per_class = number % 7 == 0;
    if (kinds[kind].kind == PHL_TF) {
        phl_params *like = random_params(&rng, PHL_TF, false, task.options.states,
                                         phl_forest_max_slot(task.forest), 1, 3, ROWS_PLAIN);
        task.partition = partition_json(like);
        task.options.partition = task.partition;
        phl_params_free(like);
    }
    return task;
}

static phl_run *run_task(const struct task *task)
{
    phl_run *run = NULL;
    must(phl_train(task->forest, &task->options, &run, error));
    return run;
}

static void free_task(struct task *task)
{
    phl_forest_free(task->forest);
    phl_free(task->partition);
}

/* s times the sum of the logarithms of all parameters but the shape's. */
static double log_prior(const phl_params *params, double s)
{
    double sum = 0;
    phl_table table;
    for (size_t t = 0; s > 0 && phl_params_table(params, t, &table); t++) {
        if (strcmp(table.name, "shape_prior") == 0 || strcmp(table.name, "root_kind") == 0) {
            continue;
        }
        for (size_t r = 0; r < table.rows; r++) {
            for (size_t c = 0; c < table.columns; c++) {
                sum += log(table.data[r * table.row_stride + c * table.column_stride]);
            }
        }
    }
    return s * sum;
}

/* The trees a model was trained on. */
static phl_forest *trees_of(const phl_run *run, const phl_forest *forest, size_t model)
{
    size_t *trees = must_alloc(phl_forest_trees(forest), sizeof *trees);
    size_t n = 0;
    const char *wanted = phl_run_class_name(run, model);
    for (size_t t = 0; t < phl_forest_trees(forest); t++) {
        const char *name = phl_forest_class_name(forest, phl_tree_class(forest, t));
        if (wanted == NULL || strcmp(name, wanted) == 0) {
            trees[n++] = t;
        }
    }
    phl_forest *selected = NULL;
    must(phl_forest_select(forest, trees, n, &selected, error));
    phl_free(trees);
    return selected;
}

static double weighted_log_likelihood(const prepared *p)
{
    double sum = 0;
    for (size_t t = 0; t < phl_forest_trees(p->forest); t++) {
        sum += phl_tree_weight(p->forest, t) * phl_upward_tree(p->upward, t);
    }
    return sum;
}

static void check_within(double actual, double expected, double slack)
{
    if (!(fabs(actual - expected) <= slack)) {
        print_error("found %.17g, expected %.17g within %.3g\n", actual, expected, slack);
        fail();
    }
}

/* The trace of every class and restart: never down, no NaN, and complete. */
static size_t check_trace(const phl_run *run, const phl_train_options *options, double *gained)
{
    size_t steps = 0;
    for (size_t i = 0; i < run->n_trace; i++) {
        const phl_trace_row *row = &run->trace[i];
        assert_true(isfinite(row->log_joint) && isfinite(row->log_likelihood));
        const phl_trace_row *before = i > 0 ? row - 1 : NULL;
        if (before == NULL || before->class_index != row->class_index ||
            before->chain != row->chain) {
            continue;
        }
        assert_true(row->iteration == before->iteration + 1);
        double drop = before->log_joint - row->log_joint;
        if (!(drop <= DROP * fabs(before->log_joint) + 1e-13)) {
            print_error("%s, %u states, smoothing %g, seed %llu: step %llu from %.17g to %.17g\n",
                        phl_kind_name(options->kind), options->states, options->smoothing,
                        (unsigned long long)options->seed, (unsigned long long)row->iteration,
                        before->log_joint, row->log_joint);
            fail();
        }
        *gained += row->log_joint - before->log_joint;
        steps++;
    }
    return steps;
}

/* What the model says about itself is so. */
static void check_result(const phl_run *run, const phl_forest *forest,
                         const phl_train_options *options, size_t number)
{
    const phl_model *model = &run->models[number];
    assert_true(model->n_draws == 1);
    assert_int_equal(model->stop_reason, PHL_STOP_ITERATIONS);
    assert_true(model->iterations == options->iterations);
    const phl_draw *draw = &model->draws[0];
    must(phl_params_check(draw->params, error));
    phl_forest *own = trees_of(run, forest, number);
    assert_true(model->trees == phl_forest_trees(own));
    prepared p = prepare(own, &forest->labels, draw->params, 1);
    double log_likelihood = weighted_log_likelihood(&p);
    double objective = log_likelihood + log_prior(draw->params, options->smoothing);
    check_within(draw->log_likelihood, log_likelihood, 1e-11 * (1 + fabs(log_likelihood)));
    check_within(draw->log_joint, objective, 1e-11 * (1 + fabs(objective)));
    unprepare(&p);
    phl_forest_free(own);
    /* The best restart was kept, and its last trace row is the result. */
    double best = -INFINITY;
    for (size_t i = 0; i < run->n_trace; i++) {
        const phl_trace_row *row = &run->trace[i];
        bool last = i + 1 == run->n_trace || row[1].class_index != row->class_index ||
                    row[1].chain != row->chain;
        if (row->class_index == number && last && row->log_joint > best) {
            best = row->log_joint;
        }
    }
    check_within(draw->log_joint, best, 0);
}

static void test_objective(size_t kind)
{
    size_t steps = 0;
    double gained = 0;
    for (uint64_t i = 0; i < FITS; i++) {
        struct task task = random_task(kind, i);
        phl_run *run = run_task(&task);
        steps += check_trace(run, &task.options, &gained);
        for (size_t m = 0; m < run->n_models; m++) {
            check_result(run, task.forest, &task.options, m);
        }
        phl_run_free(run);
        free_task(&task);
    }
    print_message("%s: seed %d, %d fits, %zu steps, objective up by %.6g\n", kinds[kind].name, SEED,
                  FITS, steps, gained);
    assert_true(steps >= (size_t)FITS * 24 && gained > FITS);
}

static void test_objective_sp(void **state)
{
    (void)state;
    test_objective(0);
}

static void test_objective_td(void **state)
{
    (void)state;
    test_objective(1);
}

static void test_objective_full(void **state)
{
    (void)state;
    test_objective(2);
}

static void test_objective_tf(void **state)
{
    (void)state;
    test_objective(3);
}

/* One step from the random start is (n + s) / sum with n the expected counts, row by row. */
static void test_one_step(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++) {
        for (uint64_t i = 0; i < 100; i++) {
            struct task task = random_task(kind, 10000 + i);
            task.options.per_class = false;
            task.options.restarts = 1;
            task.options.iterations = 1;
            double s = task.options.smoothing;
            phl_run *run = run_task(&task);
            const phl_params *stepped = run->models[0].draws[0].params;
            phl_params *start = NULL;
            must(phl_params_clone_empty(stepped, &start, error));
            phl_em_start(start, task.options.seed, 0);
            must(phl_params_check(start, error));
            prepared p = prepare(task.forest, &task.forest->labels, start, 1);
            phl_params *counts = NULL;
            must(phl_params_clone_empty(stepped, &counts, error));
            must(phl_expected_counts(p.upward, NULL, 1, counts, error));
            phl_table n;
            phl_table found;
            for (size_t t = 0; phl_params_table(counts, t, &n); t++) {
                assert_true(phl_params_table(stepped, t, &found));
                bool shapes =
                    strcmp(n.name, "shape_prior") == 0 || strcmp(n.name, "root_kind") == 0;
                for (size_t r = 0; !shapes && r < n.rows; r++) {
                    double sum = 0;
                    for (size_t c = 0; c < n.columns; c++) {
                        sum += n.data[r * n.row_stride + c * n.column_stride] + s;
                    }
                    for (size_t c = 0; c < n.columns; c++) {
                        double expected =
                            sum > 0 ? (n.data[r * n.row_stride + c * n.column_stride] + s) / sum
                                    : 1 / (double)n.columns;
                        check_close(found.data[r * found.row_stride + c * found.column_stride],
                                    expected, 1e-12);
                    }
                }
            }
            phl_params_free(counts);
            unprepare(&p);
            phl_params_free(start);
            phl_run_free(run);
            free_task(&task);
        }
    }
}

/* ---- Shapes ---------------------------------------------------------------------------------- */

/* MAP objective of the shape tables, counts n: what phl_em_fit_shape maximises. */
static double shape_objective(const phl_params *counts, double s, const double *o)
{
    double nodes = counts->shape[0] + counts->shape[1] + counts->shape[2];
    double absent = 1;
    double sum = 0;
    for (size_t i = 0; i < 3 * (size_t)counts->slots; i++) {
        double power = counts->shape[i] + s;
        sum += power > 0 ? power * log(o[i]) : 0;
        absent *= i % 3 == 0 ? o[i] : 1;
    }
    return sum - nodes * log1p(-absent);
}

/* The tables that belong to r rejected nodes. */
static void shape_tables(const phl_params *counts, double s, double r, double *o)
{
    double nodes = counts->shape[0] + counts->shape[1] + counts->shape[2];
    for (size_t i = 0; i < 3 * (size_t)counts->slots; i++) {
        o[i] = (counts->shape[i] + (i % 3 == 0 ? r : 0) + s) / (nodes + r + 3 * s);
    }
}

/* The best objective over a fine grid of r: the stationary point has the form above. */
static double best_shape_objective(const phl_params *counts, double s)
{
    double *o = must_alloc(3 * (size_t)counts->slots, sizeof *o);
    double best = -INFINITY;
    for (int i = 0; i <= 40000; i++) {
        shape_tables(counts, s, i == 0 ? 0 : pow(10, -10 + 20 * (i / 40000.0)), o);
        double value = shape_objective(counts, s, o);
        best = value > best ? value : best;
    }
    phl_free(o);
    return best;
}

static void test_shape_tables(void **state)
{
    (void)state;
    static const double smoothings[] = {0.01, 1, 0.1, 0.5};
    for (uint64_t i = 0; i < 40; i++) {
        phl_rng rng;
        phl_rng_init(&rng, SEED, 2, 0, 0, i);
        phl_forest *forest =
            random_forest(&rng, 1 + random_below(&rng, 4), 2, random_below(&rng, 2) == 0);
        phl_params *params = NULL;
        phl_params *counts = NULL;
        must(phl_params_create(PHL_SP, 1, phl_forest_max_slot(forest), 2, NULL, 0, 0, &params,
                               error));
        must(phl_params_clone_empty(params, &counts, error));
        must(phl_shape_counts(forest, NULL, counts, error));
        double s = smoothings[i % 4];
        must(phl_em_fit_shape(forest, s, params, error));
        double roots = counts->root_kind[0] + counts->root_kind[1] + 2 * s;
        check_close(params->root_kind[0], (counts->root_kind[0] + s) / roots, 1e-12);
        check_close(params->root_kind[1], (counts->root_kind[1] + s) / roots, 1e-12);
        double found = shape_objective(counts, s, params->shape);
        double best = best_shape_objective(counts, s);
        if (!(found >= best - 1e-9 * (1 + fabs(best)))) {
            print_error("forest %llu, %u slots, smoothing %g: shape objective %.12g, best %.12g\n",
                        (unsigned long long)i, params->slots, s, found, best);
            fail();
        }
        phl_params_free(params);
        phl_params_free(counts);
        phl_forest_free(forest);
    }
}

/* ---- Stopping, and edges --------------------------------------------------------------------- */

static void test_tolerance(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++) {
        struct task task = random_task(kind, 1);
        task.options.tolerance = 1e-4;
        task.options.iterations = 1000;
        phl_run *run = run_task(&task);
        assert_int_equal(phl_model_stop_reason(&run->models[0]), PHL_STOP_TOLERANCE);
        assert_true(phl_model_iterations(&run->models[0]) < 1000);
        /* The last step gained less than the tolerance, the one before it did not. */
        assert_true(run->n_trace >= 3);
        const phl_trace_row *last = &run->trace[run->n_trace - 1];
        double gain = last->log_joint - last[-1].log_joint;
        double before = last[-1].log_joint - last[-2].log_joint;
        assert_true(gain <= 1e-4 * fabs(last[-1].log_joint));
        assert_true(before > 1e-4 * fabs(last[-2].log_joint));
        phl_run_free(run);
        free_task(&task);
    }
}

struct patience {
    int asked, until;
};

static bool lose_patience(void *context)
{
    struct patience *patience = context;
    return ++patience->asked >= patience->until;
}

static void test_interrupted(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++) {
        struct task task = random_task(kind, 2);
        struct patience patience = {.until = 8};
        task.options.cancel = lose_patience;
        task.options.context = &patience;
        task.options.restarts = 1;
        task.options.per_class = false;
        phl_run *run = run_task(&task);
        assert_int_equal(phl_model_stop_reason(&run->models[0]), PHL_STOP_INTERRUPTED);
        assert_true(phl_model_iterations(&run->models[0]) < task.options.iterations);
        must(phl_params_check(run->models[0].draws[0].params, error));
        phl_run_free(run);
        free_task(&task);
    }
}

/* No label is known at all; a single node; more states than nodes. */
static void test_edges(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++) {
        for (int variant = 0; variant < 3; variant++) {
            phl_builder *builder = new_builder(false);
            shape form = {.size = variant == 1 ? 1 : 3, .slot = {1, 1, 2}};
            const char *names[3] = {"a", "b", "a"};
            if (variant == 0) {
                names[0] = names[1] = names[2] = NULL;
            }
            add_tree(builder, &form, names, 1, NULL);
            phl_forest *forest = finish_forest(builder);
            phl_train_options options;
            phl_train_options_init(&options);
            options.kind = kinds[kind].kind;
            options.learner = PHL_LEARNER_EM;
            options.states = 6;
            options.smoothing = variant == 2 ? 0 : 0.01;
            options.iterations = 10;
            options.partition =
                options.kind == PHL_TF ? "[{\"slot\":1,\"blocks\":[0,0,1,1,0,1,1]}]" : NULL;
            phl_run *run = NULL;
            must(phl_train(forest, &options, &run, error));
            double gained = 0;
            (void)check_trace(run, &options, &gained);
            must(phl_params_check(run->models[0].draws[0].params, error));
            if (variant == 0) {
                check_within(run->models[0].draws[0].log_likelihood, 0, 1e-12);
            }
            phl_run_free(run);
            phl_forest_free(forest);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_objective_sp),   cmocka_unit_test(test_objective_td),
        cmocka_unit_test(test_objective_full), cmocka_unit_test(test_objective_tf),
        cmocka_unit_test(test_one_step),       cmocka_unit_test(test_shape_tables),
        cmocka_unit_test(test_tolerance),      cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
