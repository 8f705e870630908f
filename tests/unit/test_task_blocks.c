/* test_task_blocks.c - scores and classes of trees that come in blocks: the same bits, figures and
 * notes as for one forest, whatever the blocks.
 */
#include "format/read.h"
#include "task_models.h"

#define SEED 20260

static const phl_kind kinds[] = {PHL_SP, PHL_FULL, PHL_TF, PHL_TD};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* Gaps, unknown labels, a label nobody knows (z), single nodes, repeated trees. */
static const char *const tiny = "left\t(a (b) (c))\n"
                                "right\t(a _ (b (c) (?)))\n"
                                "left\t(?)\n"
                                "right\t(b)\n"
                                "left\t(z (a (b)) (? _ (c)))\n"
                                "left\t(a (b) (c))\n"
                                "other\t(c (c (c)))\n";

static phl_run *random_run(phl_kind kind, bool per_class, size_t draws)
{
    static const char *const classes[] = {"left", "right"};
    phl_run *run = empty_run(kind, 3, 2, 3, classes, per_class ? 2 : 0);
    for (size_t m = 0; m < run->n_models; m++) {
        for (size_t d = 0; d < draws; d++) {
            add_random_draw(run, m, SEED + (uint64_t)kind, ROWS_PLAIN);
        }
    }
    return run;
}

/* Models in which only the first label is possible. */
static phl_run *one_label_run(void)
{
    phl_run *run = random_run(PHL_SP, true, 2);
    for (size_t m = 0; m < run->n_models; m++) {
        for (size_t d = 0; d < 2; d++) {
            phl_params *params = run->models[m].draws[d].params;
            for (size_t i = 0; i < 12; i++) {
                params->emission[i] = i / 3 == 0 ? 1.0 : 0.0;
            }
        }
    }
    return run;
}

/* The last note. */
static void keep_note(const phl_error *error, void *context)
{
    phl_error_format(error, context, 2048);
}

/* Trees in blocks of `few` give the bits of one forest: posteriors, scores, evaluation, note. */
static void check_in_blocks(const phl_run *run, const char *text, size_t few)
{
    enum { TREES = 16 };
    phl_forest *forest = trees(text), *block = NULL;
    size_t n = phl_forest_trees(forest), classes = phl_run_classes(run), first = 0;
    double expected[2 * TREES], posterior[2 * TREES];
    phl_tree_score expected_score[TREES], score[TREES];
    char expected_note[2048] = "", found_note[2048] = "";
    phl_evaluation expected_figures = {0}, figures = {0};
    phl_classify_options options;
    phl_read_options reading;
    phl_classifier *classifier = NULL;
    phl_forest_reader *reader = NULL;
    phl_classify_options_init(&options);
    phl_read_options_init(&reading);
    options.report = keep_note;
    options.context = expected_note;
    must(phl_classify(run, forest, &options, expected, error));
    must(phl_classify_evaluate(run, forest, expected, &expected_figures, error));
    must(phl_score(&run->models[0], forest, NULL, expected_score, error));
    options.context = found_note;
    must(phl_classifier_create(run, &options, &classifier, error));
    must(phl_forest_reader_create_memory(text, strlen(text), phl_tree_file(forest, 0), &reading,
                                         &reader, error));
    for (;;) {
        must(phl_forest_reader_next(reader, few, 0, &block, error));
        if (block == NULL) {
            break;
        }
        must(phl_classifier_add(classifier, block, posterior + classes * first, error));
        must(phl_score(&run->models[0], block, NULL, score + first, error));
        first += phl_forest_trees(block);
        phl_forest_free(block);
    }
    must(phl_classifier_finish(classifier, &figures, error));
    assert_int_equal(first, n);
    assert_memory_equal(posterior, expected, n * classes * sizeof *posterior);
    assert_memory_equal(score, expected_score, n * sizeof *score);
    assert_string_equal(found_note, expected_note);
    assert_int_equal(figures.n, expected_figures.n);
    assert_int_equal(figures.n_names, expected_figures.n_names);
    assert_memory_equal(&figures.log_loss, &expected_figures.log_loss, sizeof(double));
    assert_memory_equal(&figures.predictive_entropy_bits, &expected_figures.predictive_entropy_bits,
                        sizeof(double));
    assert_memory_equal(figures.confusion, expected_figures.confusion,
                        figures.n_names * figures.n_names * sizeof *figures.confusion);
    phl_evaluation_clear(&figures);
    phl_evaluation_clear(&expected_figures);
    phl_classifier_free(classifier);
    phl_forest_reader_free(reader);
    phl_forest_free(forest);
}

static void test_blocks(void **state)
{
    (void)state;
    static const size_t few[] = {1, 2, 3, 7, 1000};
    for (size_t i = 0; i < sizeof few / sizeof *few; i++) {
        for (size_t k = 0; k < KINDS; k++) {
            phl_run *run = random_run(kinds[k], true, 1 + k);
            check_in_blocks(run, tiny, few[i]);
            phl_run_free(run);
        }
        phl_run *run = one_label_run(); /* most trees have probability 0 */
        check_in_blocks(run, tiny, few[i]);
        check_in_blocks(run, "(a)\n(a (?))\nleft\t(?)\nleft\t(a (c))\n(b)\n", few[i]);
        phl_run_free(run);
    }
    phl_classifier_free(NULL);
    phl_run *run = random_run(PHL_SP, false, 1);
    phl_classifier *classifier = NULL;
    assert_int_equal(phl_classifier_create(run, NULL, &classifier, NULL), PHL_ERR_ARGUMENT);
    assert_null(classifier);
    phl_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_blocks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
