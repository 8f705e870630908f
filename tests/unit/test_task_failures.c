/* test_task_failures.c - every task with its n-th allocation failing, for every n until it goes
 * through (failing.h).
 */
#include "check.h"
#include "failing.h"
#include "task_models.h"

/* What the operations work on. */
struct setting {
    const char *text;
    phl_forest *forest; /* the same */
    phl_run *run, *per_class;
};

static phl_status ignore_score(const phl_tree_at *at, const phl_tree_score *score, void *context,
                               phl_error *error)
{
    (void)at;
    (void)score;
    (void)context;
    (void)error;
    return PHL_OK;
}

static phl_status ignore_states(const phl_tree_at *at, const phl_decoded_tree *decoded,
                                void *context, phl_error *error)
{
    (void)at;
    (void)decoded;
    (void)context;
    (void)error;
    return PHL_OK;
}

static phl_status ignore_forest(const phl_forest *block, void *context, phl_error *error)
{
    (void)block;
    (void)context;
    (void)error;
    return PHL_OK;
}

static void ignore_note(const phl_error *note, void *context)
{
    (void)note;
    (void)context;
}

static phl_status do_nodes(void *context, phl_error *error)
{
    const struct setting *setting = context;
    phl_score_options options;
    phl_score_options_init(&options);
    options.threads = 1;
    options.bits = options.predictive = true;
    options.report = ignore_note;
    phl_source *source = NULL;
    phl_status status = phl_source_forest(setting->forest, &source, error);
    if (status == PHL_OK) {
        status = phl_score(setting->per_class, source, &options, ignore_score, error);
    }
    phl_source_free(source);
    return status;
}

static phl_status do_decode(void *context, phl_error *error)
{
    const struct setting *setting = context;
    phl_decode_options options;
    phl_decode_options_init(&options);
    options.threads = 1;
    options.pairs = options.joint = true;
    options.report = ignore_note;
    phl_source *source = NULL;
    phl_status status = phl_source_forest(setting->forest, &source, error);
    if (status == PHL_OK) {
        status = phl_decode(setting->per_class, source, &options, ignore_states, error);
    }
    if (status == PHL_OK) {
        status = phl_decode(setting->run, source, &options, ignore_states, error);
    }
    phl_source_free(source);
    return status;
}

/* Of trees that come in blocks of two. */
/* A grammar: annotations of trees with unknown labels, the most probable ones of known labels. */
static phl_status do_annotations(void *context, phl_error *error)
{
    const struct setting *setting = context;
    phl_decode_options options;
    phl_decode_options_init(&options);
    options.threads = 1;
    options.report = ignore_note;
    phl_source *source = NULL;
    phl_status status = phl_source_forest(setting->forest, &source, error);
    if (status == PHL_OK) {
        status = phl_decode(setting->per_class, source, &options, ignore_states, error);
    }
    phl_source_free(source);
    source = NULL;
    phl_forest *known = NULL;
    const size_t first[] = {0};
    if (status == PHL_OK) {
        status = phl_forest_select(setting->forest, first, 1, &known, error);
    }
    if (status == PHL_OK) {
        status = phl_source_forest(known, &source, error);
    }
    options.joint = true;
    if (status == PHL_OK) {
        status = phl_decode(setting->run, source, &options, ignore_states, error);
    }
    phl_source_free(source);
    phl_forest_free(known);
    return status;
}

static phl_status do_classify(void *context, phl_error *error)
{
    const struct setting *setting = context;
    phl_read_options reading;
    phl_read_options_init(&reading);
    reading.format = PHL_FORMAT_BRACKETS;
    reading.block_trees = 2;
    phl_classify_options options;
    phl_classify_options_init(&options);
    options.threads = 1;
    options.report = ignore_note;
    phl_evaluation *evaluation = NULL;
    phl_source *source = NULL;
    phl_status status =
        phl_source_memory(setting->text, strlen(setting->text), NULL, &reading, &source, error);
    if (status == PHL_OK) {
        status = phl_classify(setting->per_class, source, &options, NULL, &evaluation, error);
    }
    phl_evaluation_free(evaluation);
    phl_source_free(source);
    return status;
}

static phl_status do_score(void *context, phl_error *error)
{
    const struct setting *setting = context;
    phl_score_options options;
    phl_score_options_init(&options);
    options.structure = true;
    options.threads = 1;
    phl_source *source = NULL;
    phl_status status = phl_source_forest(setting->forest, &source, error);
    if (status == PHL_OK) {
        status = phl_score(setting->run, source, &options, ignore_score, error);
    }
    if (status == PHL_OK) {
        options.every_class = true;
        status = phl_score(setting->per_class, source, &options, ignore_score, error);
    }
    phl_source_free(source);
    return status;
}

static phl_status label(const struct setting *setting, const phl_run *run, phl_error *error)
{
    phl_evaluation *evaluation = NULL;
    phl_source *source = NULL;
    phl_label_options options;
    phl_label_options_init(&options);
    options.hide = 0.5;
    options.threads = 1;
    options.filled = ignore_forest;
    options.fill_drawn = true;
    options.report = ignore_note;
    phl_status status = phl_source_forest(setting->forest, &source, error);
    if (status == PHL_OK) {
        status = phl_label(run, source, &options, NULL, &evaluation, error);
    }
    phl_evaluation_free(evaluation);
    phl_source_free(source);
    return status;
}

static phl_status do_label(void *context, phl_error *error)
{
    const struct setting *setting = context;
    return label(setting, setting->run, error);
}

static phl_status do_label_classes(void *context, phl_error *error)
{
    const struct setting *setting = context;
    return label(setting, setting->per_class, error);
}

static phl_status do_sample(void *context, phl_error *error)
{
    const struct setting *setting = context;
    phl_source *source = NULL;
    phl_sample_options options;
    phl_sample_options_init(&options);
    options.threads = 1;
    options.trees = 3;
    phl_status status = phl_source_forest(setting->forest, &source, error);
    if (status == PHL_OK) {
        status = phl_sample(setting->per_class, source, &options, ignore_forest, error);
    }
    if (status == PHL_OK) {
        status = phl_sample(setting->per_class, NULL, &options, ignore_forest, error);
    }
    phl_source_free(source);
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

static phl_status ignore_features(const phl_tree_at *at, const phl_tree_features *features,
                                  void *context, phl_error *error)
{
    (void)at;
    (void)features;
    (void)context;
    (void)error;
    return PHL_OK;
}

static phl_status do_features(void *context, phl_error *error)
{
    const struct setting *setting = context;
    phl_features *features = NULL;
    phl_source *source = NULL;
    phl_features_options options;
    phl_features_options_init(&options);
    options.threads = 1;
    options.least_trees = 2;
    phl_status status = phl_features_create(setting->forest, &options, &features, error);
    if (status == PHL_OK) {
        status = phl_source_forest(setting->forest, &source, error);
    }
    if (status == PHL_OK) {
        status = phl_features_extract(features, source, &options, ignore_features, error);
    }
    for (size_t i = 0; status == PHL_OK && i < phl_features_count(features); i++) {
        char *text = NULL;
        status = phl_features_text(features, i, &text, error);
        phl_free(text);
    }
    phl_source_free(source);
    phl_features_free(features);
    return status;
}

static phl_status do_classifier(void *context, phl_error *error)
{
    const struct setting *setting = context;
    phl_run *run = NULL;
    phl_source *source = NULL;
    phl_evaluation *evaluation = NULL;
    phl_classify_options options;
    phl_classifier_options how;
    phl_classifier_options_init(&how);
    how.threads = 1;
    how.n_folds = 2;
    how.command_line = "test";
    phl_classify_options_init(&options);
    options.threads = 1;
    phl_status status = phl_train_classifier(setting->forest, &how, &run, error);
    if (status == PHL_OK) {
        status = phl_source_forest(setting->forest, &source, error);
    }
    if (status == PHL_OK) {
        status = phl_classify(run, source, &options, NULL, &evaluation, error);
    }
    if (status == PHL_OK) {
        phl_diagnosis diagnosis = {0};
        status = phl_diagnose(run, NULL, &diagnosis, error);
        phl_diagnosis_clear(&diagnosis);
    }
    phl_evaluation_free(evaluation);
    phl_source_free(source);
    phl_run_free(run);
    return status;
}

/* A model with an expert beside it, or an expert alone, used. */
static phl_status use_expert(const struct setting *setting, phl_run *run, phl_error *error)
{
    phl_source *source = NULL;
    phl_evaluation *evaluation = NULL;
    phl_label_options label;
    phl_label_options_init(&label);
    label.threads = 1;
    label.hide = 0.5;
    phl_score_options score;
    phl_score_options_init(&score);
    score.threads = 1;
    score.bits = true;
    const phl_run *with[] = {run};
    phl_status status = phl_source_forest(setting->forest, &source, error);
    if (status == PHL_OK) {
        status = phl_label(run, source, &label, NULL, &evaluation, error);
    }
    if (status == PHL_OK) { /* pooled with another run, here itself */
        phl_evaluation_free(evaluation);
        evaluation = NULL;
        label.with = score.with = with;
        label.n_with = score.n_with = 1;
        status = phl_label(run, source, &label, NULL, &evaluation, error);
    }
    if (status == PHL_OK) {
        status = phl_score(run, source, &score, ignore_score, error);
    }
    phl_evaluation_free(evaluation);
    phl_source_free(source);
    return status;
}

static phl_status do_expert(void *context, phl_error *error)
{
    const struct setting *setting = context;
    phl_run *run = NULL;
    phl_expert_options how;
    phl_expert_options_init(&how);
    how.threads = 1;
    how.n_folds = 2;
    how.command_line = "test";
    phl_status status = phl_train_expert(setting->forest, &how, &run, error);
    if (status == PHL_OK) {
        status = use_expert(setting, run, error);
    }
    phl_run_free(run);
    return status;
}

static phl_status do_add_expert(void *context, phl_error *error)
{
    const struct setting *setting = context;
    phl_run *run = NULL;
    phl_train_options train;
    phl_train_options_init(&train);
    train.kind = PHL_TD;
    train.iterations = 2;
    train.states = 2;
    train.threads = 1;
    phl_expert_options how;
    phl_expert_options_init(&how);
    how.threads = 1;
    how.n_folds = 2;
    phl_status status = phl_train(setting->forest, &train, &run, error);
    train.kind = PHL_SP;
    if (status == PHL_OK) {
        status = phl_run_add_member(run, setting->forest, &train, error);
    }
    if (status == PHL_OK) {
        status = phl_run_add_expert(run, setting->forest, &how, error);
    }
    if (status == PHL_OK) {
        status = use_expert(setting, run, error);
    }
    phl_run_free(run);
    return status;
}

static phl_status do_evaluate(void *context, phl_error *error)
{
    const struct setting *setting = context;
    static const uint32_t states[] = {1, 2};
    phl_cross_validation *result = NULL;
    phl_train_options train;
    phl_train_options_init(&train);
    train.kind = PHL_SP;
    train.per_class = true;
    train.iterations = 2;
    train.threads = 1;
    phl_evaluate_options options;
    phl_evaluate_options_init(&options);
    options.train = &train;
    options.n_folds = 2;
    options.states = states;
    options.n_states = 2;
    phl_status status = phl_cross_validate(setting->forest, &options, &result, error);
    phl_cross_validation_free(result);
    return status;
}

static void test_failures(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        phl_status (*run)(void *context, phl_error *error);
    } tasks[] = {{"score", do_score},           {"score nodes", do_nodes},
                 {"decode", do_decode},         {"classify", do_classify},
                 {"label", do_label},           {"label by class", do_label_classes},
                 {"sample", do_sample},         {"evaluate", do_evaluate},
                 {"diagnose", do_diagnose},     {"features", do_features},
                 {"classifier", do_classifier}, {"expert", do_expert},
                 {"add expert", do_add_expert}};
    static const char *const classes[] = {"left", "right"};
    static const char *const text = "left\t(a (b) (c))\n"
                                    "right\t(a _ (b (c) (?)))\n"
                                    "left\t(?)\n"
                                    "right\t(z (c))\n";
    struct setting setting = {.text = text, .forest = trees(text)};
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

/* What grammars do in their own way. */
static void test_grammars(void **state)
{
    (void)state;
    static const char *const text = "left\t(a (b) (c))\n"
                                    "right\t(a _ (b (c) (?)))\n"
                                    "left\t(?)\n"
                                    "right\t(z (c))\n";
    struct setting setting = {.text = text, .forest = trees(text)};
    phl_train_options options = train_options(PHL_GRAMMAR, 2, 2);
    options.restarts = 2;
    must(phl_train(setting.forest, &options, &setting.run, error));
    options.per_class = true;
    must(phl_train(setting.forest, &options, &setting.per_class, error));
    failing_allocations(&(failing_work){"score by grammar", do_score, NULL, &setting, false});
    failing_allocations(&(failing_work){"classify by grammar", do_classify, NULL, &setting, false});
    failing_allocations(&(failing_work){"diagnose a grammar", do_diagnose, NULL, &setting, false});
    failing_allocations(&(failing_work){"nodes by grammar", do_nodes, NULL, &setting, false});
    failing_allocations(&(failing_work){"label by grammar", do_label, NULL, &setting, false});
    failing_allocations(
        &(failing_work){"label classes by grammar", do_label_classes, NULL, &setting, false});
    failing_allocations(&(failing_work){"sample a grammar", do_sample, NULL, &setting, false});
    failing_allocations(
        &(failing_work){"decode by grammar", do_annotations, NULL, &setting, false});
    phl_run_free(setting.run);
    phl_run_free(setting.per_class);
    phl_forest_free(setting.forest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_failures),
                                       cmocka_unit_test(test_grammars)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
