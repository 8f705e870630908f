/* test_task_failures.c - every task with its n-th allocation failing, for every n until it goes
 * through: once only, and from there on for ever.  It must return PHL_ERR_MEMORY (or its proper
 * result where it could do without) and leave nothing behind.
 *
 * malloc, calloc, realloc and free of the library are replaced at link time (-Wl,--wrap).
 */
#include <stdlib.h>

#include "check.h"
#include "task_models.h"

static struct {
    bool armed, for_ever, happened;
    long at, count;
    long live; /* allocations not yet freed */
} fault;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void __wrap_free(void *memory);

static bool fails(void)
{
    if (!fault.armed) {
        return false;
    }
    fault.count++;
    bool now = fault.count == fault.at || (fault.for_ever && fault.count > fault.at);
    fault.happened = fault.happened || now;
    return now;
}

void *__wrap_malloc(size_t size)
{
    void *memory = fails() ? NULL : __real_malloc(size);
    fault.live += memory != NULL;
    return memory;
}

void *__wrap_calloc(size_t count, size_t size)
{
    void *memory = fails() ? NULL : __real_calloc(count, size);
    fault.live += memory != NULL;
    return memory;
}

void *__wrap_realloc(void *memory, size_t size)
{
    void *moved = fails() ? NULL : __real_realloc(memory, size);
    fault.live += moved != NULL && memory == NULL;
    return moved;
}

void __wrap_free(void *memory)
{
    fault.live -= memory != NULL;
    __real_free(memory);
}

/* What the operations work on. */
struct setting {
    phl_forest *forest;
    phl_run *run, *per_class;
};

typedef phl_status (*operation)(const struct setting *setting, phl_error *error);

static phl_status do_session(const struct setting *setting, phl_error *error)
{
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

static phl_status do_classify(const struct setting *setting, phl_error *error)
{
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

static phl_status do_classify_blocks(const struct setting *setting, phl_error *error)
{
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

static phl_status do_score(const struct setting *setting, phl_error *error)
{
    phl_tree_score scores[8];
    phl_score_options options;
    phl_score_options_init(&options);
    options.structure = true;
    options.threads = 1;
    return phl_score(phl_run_model(setting->run, 0), setting->forest, &options, scores, error);
}

static phl_status do_label(const struct setting *setting, phl_error *error)
{
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

static phl_status do_label_forest(const struct setting *setting, phl_error *error)
{
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

static phl_status do_sample(const struct setting *setting, phl_error *error)
{
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

static phl_status do_diagnose(const struct setting *setting, phl_error *error)
{
    phl_diagnosis diagnosis = {0};
    phl_status status = phl_diagnose(setting->run, NULL, &diagnosis, error);
    phl_diagnosis_clear(&diagnosis);
    return status;
}

static phl_status do_evaluate(const struct setting *setting, phl_error *error)
{
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

static void run_failing(operation run, const struct setting *setting, bool for_ever)
{
    for (long at = 1;; at++) {
        phl_error error = {0};
        fault.at = at;
        fault.count = 0;
        fault.for_ever = for_ever;
        fault.happened = false;
        long before = fault.live;
        fault.armed = true;
        phl_status status = run(setting, &error);
        fault.armed = false;
        if (fault.live != before || (status != PHL_OK && status != PHL_ERR_MEMORY)) {
            print_error("allocation %ld: status %d (%s), %ld left behind\n", at, (int)status,
                        error.message, fault.live - before);
            fail();
        }
        if (!fault.happened) {
            assert_int_equal(status, PHL_OK);
            assert_true(at > 10);
            return;
        }
        assert_true(at < 100000);
    }
}

static void test_failures(void **state)
{
    (void)state;
    static const operation operations[] = {do_session, do_classify, do_classify_blocks,
                                           do_score,   do_label,    do_label_forest,
                                           do_sample,  do_evaluate, do_diagnose};
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
        row.log_joint = row.chain * 100.0 + i % 3;
        row.active = row.chain;
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
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        run_failing(operations[i], &setting, false);
        run_failing(operations[i], &setting, true);
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
