/* test_null_error.c - every call that takes an error record fails as it should without one.
 *
 * tests/tools/calls.py checks that no call of phloem.h is forgotten; those that fail for want of
 * memory alone are called without a record by the tests of failing allocations (failing.h).
 */
#include <string.h>

#include "folder.h"
#include "task_models.h"

/* The call, which has NULL for its error record, fails. */
#define refused(call)                                                                              \
    do {                                                                                           \
        int refused_status = (int)(call);                                                          \
        if (refused_status >= 0) {                                                                 \
            fail_msg("%s: %d", #call, refused_status);                                             \
        }                                                                                          \
    } while (0)

static phl_forest *forest;
static phl_run *run, *untrained;

static void test_building(void **state)
{
    (void)state;
    static const phl_builder_options unfilled = {0};
    phl_builder *builder = NULL;
    phl_forest *made = NULL;
    phl_tree_info info = {.weight = -1.0};
    refused(phl_builder_create(&unfilled, &builder, NULL));
    must(phl_builder_create(NULL, &builder, error));
    refused(phl_builder_open(builder, "a", 0, NULL));
    refused(phl_builder_close(builder, NULL));
    refused(phl_builder_end_tree(builder, &info, NULL));
    must(phl_builder_finish(builder, &made, error));
    refused(phl_builder_finish(builder, &made, NULL));
    phl_forest_free(made);
    phl_builder_free(builder);
}

static void test_forests(void **state)
{
    (void)state;
    static const size_t beyond[] = {1000};
    static const phl_read_options unfilled = {0};
    static const phl_write_options bare = {0};
    const char *missing[] = {in_folder("missing.trees")};
    phl_read_options options = read_options(PHL_FORMAT_BRACKETS);
    phl_write_options express = write_options(PHL_FORMAT_CONLLU);
    phl_forest *made = NULL;
    phl_source *source = NULL;
    phl_sink *sink = NULL;
    const phl_forest *block = NULL;
    char *text = NULL;
    size_t size = 0;
    refused(phl_forest_select(forest, beyond, 1, &made, NULL));
    refused(phl_forest_encode(forest, PHL_ENCODING_NONE, &made, NULL));
    refused(phl_forest_decode(forest, PHL_ENCODING_NONE, &made, NULL));
    refused(phl_forest_read(missing, 1, &options, &made, NULL, NULL));
    refused(phl_forest_read_memory("(a", 2, "test", &options, &made, NULL, NULL));
    refused(phl_source_open(missing, 1, &unfilled, &source, NULL));
    refused(phl_source_memory("(a", 2, "test", &unfilled, &source, NULL));
    must(phl_source_memory("(a", 2, "test", &options, &source, error));
    refused(phl_source_next(source, &block, NULL));
    phl_source_free(source);
    refused(phl_sink_open("a.trees", &bare, &sink, NULL));
    must(phl_sink_open(in_folder("no/such/folder.trees"), NULL, &sink, error));
    refused(phl_sink_write(sink, forest, NULL));
    refused(phl_sink_finish(sink, NULL));
    phl_sink_free(sink);
    refused(phl_forest_write(forest, in_folder("no/such/folder.trees"), NULL, NULL));
    refused(phl_forest_write_memory(forest, &express, &text, &size, NULL));
}

static void test_generating(void **state)
{
    (void)state;
    phl_forest *made = NULL;
    phl_symm_options symm;
    phl_logic_options logic;
    phl_documents_options documents;
    phl_symm_options_init(&symm);
    phl_logic_options_init(&logic);
    phl_documents_options_init(&documents);
    symm.trees_per_class = 0;
    logic.trees = 0;
    documents.classes = 0;
    refused(phl_generate_symm(&symm, &made, NULL));
    refused(phl_generate_logic(&logic, &made, NULL));
    refused(phl_generate_documents(&documents, &made, NULL));
}

static void test_training(void **state)
{
    (void)state;
    phl_run *made = NULL;
    phl_train_options options;
    phl_train_options_init(&options);
    options.states = 0;
    refused(phl_train(forest, &options, &made, NULL));
    refused(phl_train_file(forest, &options, NULL, in_folder("a.run"), &made, NULL));
    size_t n_tasks = 0;
    refused(phl_train_tasks(forest, &options, &n_tasks, NULL));
    refused(phl_resume(in_folder("missing.run"), NULL, &made, NULL));
    refused(phl_merge(NULL, 0, NULL, in_folder("a.run"), &made, NULL));
    refused(phl_run_open(in_folder("missing.run"), &made, NULL));
    phl_forest *trees = NULL;
    refused(phl_run_open_trees(in_folder("missing.run"), &trees, NULL));
    assert_null(trees);
    refused(phl_run_save(run, in_folder("no/such/folder.run"), false, NULL));
}

static phl_status keep_states(const phl_tree_at *at, const phl_decoded_tree *decoded, void *context,
                              phl_error *error)
{
    (void)at;
    (void)decoded;
    (void)context;
    (void)error;
    return PHL_OK;
}

static void test_tasks(void **state)
{
    (void)state;
    phl_tree_score scores[8];
    phl_evaluation *evaluation = NULL;
    phl_forest *made = NULL;
    phl_source *source = source_of(forest);
    phl_score_options score;
    phl_label_options label;
    phl_sample_options sample;
    phl_diagnose_options diagnose;
    phl_diagnosis diagnosis = {0};
    phl_evaluate_options evaluate;
    phl_cross_validation *validation = NULL;
    phl_score_options_init(&score);
    phl_label_options_init(&label);
    phl_sample_options_init(&sample);
    phl_diagnose_options_init(&diagnose);
    phl_evaluate_options_init(&evaluate);
    phl_features_options features;
    phl_features *dictionary = NULL;
    char *text = NULL;
    phl_features_options_init(&features);
    features.groups = 0;
    score.context = scores;
    sample.context = &made;
    label.hide = 2.0;
    diagnose.class_index = 1000;
    evaluate.n_folds = 1;
    refused(phl_classify(run, source, NULL, NULL, &evaluation, NULL));
    refused(phl_score(untrained, source, &score, keep_score, NULL));
    refused(phl_decode(untrained, source, NULL, keep_states, NULL));
    refused(phl_label(run, source, &label, NULL, &evaluation, NULL));
    refused(phl_sample(untrained, source, &sample, keep_forest, NULL));
    refused(phl_sample(untrained, NULL, &sample, keep_forest, NULL));
    refused(phl_features_create(forest, &features, &dictionary, NULL));
    features.groups = PHL_FEATURES_ALL;
    must(phl_features_create(forest, &features, &dictionary, error));
    features.groups = 0;
    refused(phl_features_text(dictionary, SIZE_MAX, &text, NULL));
    refused(phl_features_extract(dictionary, source, &features, NULL, NULL));
    phl_features_free(dictionary);
    phl_run *classifier = NULL;
    phl_classifier_options how;
    phl_classifier_options_init(&how);
    how.n_folds = 0;
    refused(phl_train_classifier(forest, &how, &classifier, NULL));
    phl_expert_options expert;
    phl_expert_options_init(&expert);
    expert.n_folds = 1;
    refused(phl_train_expert(forest, &expert, &classifier, NULL));
    refused(phl_run_add_expert(run, forest, &expert, NULL));
    expert.n_folds = 2;
    must(phl_train_expert(forest, &expert, &classifier, error));
    refused(phl_run_add_member(classifier, forest, NULL, NULL));
    phl_run_free(classifier);
    refused(phl_run_save_members(run, "no such folder/x.run", NULL));
    refused(phl_cross_validate(forest, &evaluate, &validation, NULL));
    refused(phl_refit(forest, NULL, 7, NULL, in_folder("refit.run"), &classifier, NULL));
    refused(phl_work_merge(NULL, 0, NULL, false, false, &validation, NULL));
    refused(phl_diagnose(run, &diagnose, &diagnosis, NULL));
    phl_source_free(source);
}

static void test_folds(void **state)
{
    (void)state;
    uint32_t fold[8];
    size_t n_folds = 0;
    refused(phl_folds_read(in_folder("missing"), 4, fold, &n_folds, NULL));
    refused(phl_folds_make(forest, 1, 42, fold, NULL));
}

static int set_up(void **state)
{
    forest = trees("left\t(a (b) (c))\nright\t(a _ (b (c) (?)))\n");
    run = empty_run(PHL_TF, 3, 2, 3, NULL, 0);
    untrained = empty_run(PHL_TF, 3, 2, 3, NULL, 0);
    add_random_draw(run, 0, 1, ROWS_PLAIN);
    return make_folder(state);
}

static int tear_down(void **state)
{
    phl_forest_free(forest);
    phl_run_free(run);
    phl_run_free(untrained);
    return remove_folder(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_building),   cmocka_unit_test(test_forests),
        cmocka_unit_test(test_generating), cmocka_unit_test(test_training),
        cmocka_unit_test(test_tasks),      cmocka_unit_test(test_folds),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
