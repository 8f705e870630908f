/* test_task_failures.c - every task with its n-th allocation failing, for every n until it goes
 * through (failing.h).
 */
#include "check.h"
#include "failing.h"
#include "task_models.h"

/* What the operations work on. */
struct setting {
    phl_forest *forest;
    phl_run *run, *per_class;
};

static phl_status do_session(void *context, phl_error *error)
{
    const struct setting *setting = context;
    phl_session *session = NULL;
    double values[64], log_joint;
    uint32_t states[8];
    int32_t labels[8];
    bool possible;
    phl_status status =
        phl_session_create(phl_run_model(setting->run, 0), setting->forest, 1, &session, error);
    if (status == PHL_OK) {
        status = phl_session_score(session, 0, true, &log_joint, error);
    }
    if (status == PHL_OK) {
        status = phl_session_predict(session, 0, values, &possible, error);
    }
    if (status == PHL_OK) {
        status = phl_session_surprise(session, 1, values, &possible, error);
    }
    if (status == PHL_OK) {
        status = phl_session_marginals(session, 0, 1, values, &possible, error);
    }
    if (status == PHL_OK) {
        status = phl_session_pairs(session, 1, 0, values, &possible, error);
    }
    if (status == PHL_OK) {
        status = phl_session_decode(session, 1, 0, states, &log_joint, &possible, error);
    }
    if (status == PHL_OK) {
        status = phl_session_draw_labels(session, 1, 1, labels, &possible, error);
    }
    phl_session_free(session);
    return status;
}

static phl_status do_classify(void *context, phl_error *error)
{
    const struct setting *setting = context;
    double posterior[16];
    phl_classify_options options;
    phl_classify_options_init(&options);
    options.threads = 1;
    phl_evaluation evaluation = {0};
    phl_status status =
        phl_classify(setting->per_class, setting->forest, &options, posterior, error);
    if (status == PHL_OK) {
        status = phl_classify_evaluate(setting->per_class, setting->forest, posterior, &evaluation,
                                       error);
    }
    phl_evaluation_clear(&evaluation);
    return status;
}

static phl_status do_classify_blocks(void *context, phl_error *error)
{
    const struct setting *setting = context;
    double posterior[16];
    phl_classify_options options;
    phl_classify_options_init(&options);
    options.threads = 1;
    phl_evaluation evaluation = {0};
    phl_classifier *classifier = NULL;
    phl_status status = phl_classifier_create(setting->per_class, &options, &classifier, error);
    for (int block = 0; status == PHL_OK && block < 2; block++) {
        status = phl_classifier_add(classifier, setting->forest, posterior, error);
    }
    if (status == PHL_OK) {
        status = phl_classifier_finish(classifier, &evaluation, error);
    }
    phl_evaluation_clear(&evaluation);
    phl_classifier_free(classifier);
    return status;
}

static phl_status do_score(void *context, phl_error *error)
{
    const struct setting *setting = context;
    phl_tree_score scores[8];
    phl_score_options options;
    phl_score_options_init(&options);
    options.structure = true;
    options.threads = 1;
    return phl_score(phl_run_model(setting->run, 0), setting->forest, &options, scores, error);
}

static phl_status do_label(void *context, phl_error *error)
{
    const struct setting *setting = context;
    phl_evaluation evaluation = {0};
    phl_label_options options;
    phl_label_options_init(&options);
    options.hide = 0.5;
    options.threads = 1;
    phl_status status = phl_label(phl_run_model(setting->run, 0), setting->forest, &options, NULL,
                                  &evaluation, error);
    phl_evaluation_clear(&evaluation);
    return status;
}

static phl_status do_label_forest(void *context, phl_error *error)
{
    const struct setting *setting = context;
    phl_forest *filled = NULL;
    phl_label_options options;
    phl_label_options_init(&options);
    options.hide = 1;
    options.threads = 1;
    phl_status status = phl_label_forest(phl_run_model(setting->run, 0), setting->forest, &options,
                                         true, &filled, error);
    phl_forest_free(filled);
    return status;
}

static phl_status do_sample(void *context, phl_error *error)
{
    const struct setting *setting = context;
    phl_forest *drawn = NULL, *grown = NULL;
    phl_sample_options options;
    phl_sample_options_init(&options);
    options.threads = 1;
    options.trees = 3;
    phl_status status =
        phl_sample_labels(phl_run_model(setting->run, 0), setting->forest, &options, &drawn, error);
    if (status == PHL_OK) {
        status =
            phl_sample_trees(phl_run_model(setting->per_class, 1), &options, &grown, NULL, error);
    }
    phl_forest_free(drawn);
    phl_forest_free(grown);
    return status;
}

static phl_status do_diagnose(void *context, phl_error *error)
{
    const struct setting *setting = context;
    phl_diagnosis diagnosis = {0};
    phl_status status = phl_diagnose(setting->run, NULL, &diagnosis, error);
    phl_diagnosis_clear(&diagnosis);
    return status;
}

static phl_status do_evaluate(void *context, phl_error *error)
{
    const struct setting *setting = context;
    static const uint32_t states[] = {1, 2};
    phl_cross_validation result = {0};
    phl_evaluate_options options;
    phl_evaluate_options_init(&options);
    options.train.kind = PHL_SP;
    options.n_folds = 2;
    options.states = states;
    options.n_states = 2;
    options.train.iterations = 2;
    options.train.threads = 1;
    phl_status status = phl_cross_validate(setting->forest, &options, &result, error);
    phl_cross_validation_clear(&result);
    return status;
}

static void test_failures(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        phl_status (*run)(void *context, phl_error *error);
    } tasks[] = {{"session", do_session},
                 {"classify", do_classify},
                 {"classify in blocks", do_classify_blocks},
                 {"score", do_score},
                 {"label", do_label},
                 {"label forest", do_label_forest},
                 {"sample", do_sample},
                 {"evaluate", do_evaluate},
                 {"diagnose", do_diagnose}};
    static const char *const classes[] = {"left", "right"};
    static const char *const text = "left\t(a (b) (c))\n"
                                    "right\t(a _ (b (c) (?)))\n"
                                    "left\t(?)\n"
                                    "right\t(z (c))\n";
    struct setting setting = {.forest = trees(text)};
    setting.run = empty_run(PHL_TF, 3, 2, 3, NULL, 0);
    setting.per_class = empty_run(PHL_SP, 3, 2, 3, classes, 2);
    for (uint64_t d = 0; d < 2; d++) {
        add_random_draw(setting.run, 0, d, ROWS_PLAIN);
        add_random_draw(setting.per_class, 0, d, ROWS_PLAIN);
        add_random_draw(setting.per_class, 1, d, ROWS_PLAIN);
    }
    /* Chains that disagree, for the diagnosis. */
    for (uint32_t i = 0; i < 40; i++) {
        phl_trace_row row = {.chain = i / 20, .iteration = i % 20, .temperature = 1.0};
        row.log_joint = (double)row.chain * 100.0 + i % 3;
        row.active = (uint32_t)row.chain;
        must(phl_run_add_trace(setting.run, &row, error));
    }
    /* Nothing in the tf model explains label a: the labelling falls back on shapes. */
    for (size_t d = 0; d < 2; d++) {
        phl_params *params = setting.run->models[0].draws[d].params;
        for (size_t j = 0; j < 3; j++) {
            params->emission[3 + j] += params->emission[j];
            params->emission[j] = 0;
        }
    }
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        failing_allocations(&(failing_work){tasks[i].name, tasks[i].run, NULL, &setting, false});
    }
    phl_run_free(setting.run);
    phl_run_free(setting.per_class);
    phl_forest_free(setting.forest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_failures)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
