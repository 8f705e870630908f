/* test_task_blocks.c - trees that come in blocks: the same bits, figures, trees and notes from
 * every task as for one forest, whatever the blocks.
 */
#include "check.h"
#include "task_models.h"

/* Everything that a task gives, as text: numbers in all their bits. */
typedef struct record {
    char text[1 << 16];
    size_t used;
    char notes[4096];
} record;

static void put(record *all, const char *what, const void *bytes, size_t size)
{
    all->used += (size_t)snprintf(all->text + all->used, sizeof all->text - all->used, " %s", what);
    for (size_t i = 0; i < size; i++) {
        all->used += (size_t)snprintf(all->text + all->used, sizeof all->text - all->used, "%02x",
                                      ((const unsigned char *)bytes)[i]);
    }
    assert_true(all->used + 1 < sizeof all->text);
}

static void put_tree(record *all, const phl_tree_at *at)
{
    put(all, "\ntree", &at->number, sizeof at->number);
    put(all, "class", &at->class_index, sizeof at->class_index);
    uint64_t line = phl_tree_line(at->block, at->tree);
    put(all, "line", &line, sizeof line);
}

static void keep_note(const phl_error *error, void *context)
{
    record *all = context;
    char text[2048];
    (void)snprintf(all->notes + strlen(all->notes), sizeof all->notes - strlen(all->notes), "%s\n",
                   phl_error_format(error, text, sizeof text));
}

static phl_status put_score(const phl_tree_at *at, const phl_tree_score *score, void *context,
                            phl_error *error)
{
    (void)error;
    put_tree(context, at);
    put(context, "score", &score->log_likelihood, sizeof(double));
    put(context, "bits", score->bits, (size_t)score->nodes * sizeof(double));
    return PHL_OK;
}

static phl_status put_states(const phl_tree_at *at, const phl_decoded_tree *decoded, void *context,
                             phl_error *error)
{
    (void)error;
    put_tree(context, at);
    put(context, "states", decoded->best, decoded->possible ? sizeof(uint32_t) : 0);
    put(context, "marginals", decoded->marginals, decoded->possible ? 3 * sizeof(double) : 0);
    return PHL_OK;
}

static phl_status put_class(const phl_tree_at *at, const phl_classified_tree *classified,
                            void *context, phl_error *error)
{
    (void)error;
    put_tree(context, at);
    put(context, "posterior", classified->log_posterior, 2 * sizeof(double));
    return PHL_OK;
}

static phl_status put_labels(const phl_tree_at *at, const phl_labelled_tree *labelled,
                             void *context, phl_error *error)
{
    (void)error;
    put_tree(context, at);
    put(context, "best", labelled->best, labelled->n * sizeof(int32_t));
    put(context, "drawn", labelled->drawn, labelled->n * sizeof(int32_t));
    put(context, "hidden", labelled->hidden, labelled->n * sizeof(bool));
    put(context, "p", labelled->probability, 3 * labelled->n_filled * sizeof(double));
    return PHL_OK;
}

static phl_status put_forest(const phl_forest *block, void *context, phl_error *error)
{
    char *text = NULL;
    size_t size = 0;
    record *all = context;
    phl_status status = phl_forest_write_memory(block, NULL, &text, &size, error);
    if (status == PHL_OK) {
        assert_true(all->used + size < sizeof all->text);
        memcpy(all->text + all->used, text, size);
        all->used += size;
    }
    phl_free(text);
    return status;
}

static void put_evaluation(record *all, phl_evaluation *e)
{
    put(all, "\nn", &e->n, sizeof e->n);
    put(all, "accuracy", &e->best->accuracy, sizeof(double));
    put(all, "entropy", &e->best->entropy_bits, sizeof(double));
    put(all, "predictive", &e->predictive_entropy_bits, sizeof(double));
    put(all, "loss", &e->log_loss, sizeof(double));
    put(all, "counts", e->best->counts, e->n_names * e->n_names * sizeof(uint64_t));
    if (e->drawn != NULL) {
        put(all, "drawn", e->drawn->counts, e->n_names * e->n_names * sizeof(uint64_t));
    }
    phl_evaluation_free(e);
}

/* A source of the text in blocks of `few` trees. */
static phl_source *in_blocks(const char *text, size_t few)
{
    phl_read_options options = read_options(PHL_FORMAT_BRACKETS);
    phl_source *source = NULL;
    options.block_trees = few;
    must(phl_source_memory(text, strlen(text), "test", &options, &source, error));
    return source;
}

typedef void (*task_fn)(const phl_run *run, phl_source *source, record *all);

static void do_score(const phl_run *run, phl_source *source, record *all)
{
    phl_score_options options;
    phl_score_options_init(&options);
    options.every_class = options.bits = true;
    options.report = keep_note;
    options.context = all;
    must(phl_score(run, source, &options, put_score, error));
}

static void do_score_own(const phl_run *run, phl_source *source, record *all)
{
    phl_score_options options;
    phl_score_options_init(&options);
    options.bits = true;
    options.report = keep_note;
    options.context = all;
    must(phl_score(run, source, &options, put_score, error));
}

static void do_decode(const phl_run *run, phl_source *source, record *all)
{
    phl_decode_options options;
    phl_decode_options_init(&options);
    options.report = keep_note;
    options.context = all;
    must(phl_decode(run, source, &options, put_states, error));
}

static void do_classify(const phl_run *run, phl_source *source, record *all)
{
    phl_evaluation *evaluation = NULL;
    phl_classify_options options;
    phl_classify_options_init(&options);
    options.report = keep_note;
    options.context = all;
    must(phl_classify(run, source, &options, put_class, &evaluation, error));
    put_evaluation(all, evaluation);
}

static void do_label(const phl_run *run, phl_source *source, record *all)
{
    phl_evaluation *evaluation = NULL;
    phl_label_options options;
    phl_label_options_init(&options);
    options.hide = 0.5;
    options.report = keep_note;
    options.context = all;
    must(phl_label(run, source, &options, put_labels, &evaluation, error));
    put_evaluation(all, evaluation);
}

static void do_fill(const phl_run *run, phl_source *source, record *all)
{
    phl_label_options options;
    phl_label_options_init(&options);
    options.filled = put_forest;
    options.fill_drawn = true;
    options.context = all;
    must(phl_label(run, source, &options, NULL, NULL, error));
}

static void do_sample(const phl_run *run, phl_source *source, record *all)
{
    phl_sample_options options;
    phl_sample_options_init(&options);
    options.context = all;
    must(phl_sample(run, source, &options, put_forest, error));
}

/* Trees in blocks of `few` give what one forest gives. */
static void check_in_blocks(task_fn task, const phl_run *run, const char *text, size_t few)
{
    static record expected, found;
    phl_forest *forest = trees(text);
    phl_source *source = source_of(forest);
    memset(&expected, 0, sizeof expected);
    memset(&found, 0, sizeof found);
    task(run, source, &expected);
    phl_source_free(source);
    source = in_blocks(text, few);
    task(run, source, &found);
    assert_true(expected.used > 100);
    assert_string_equal(found.text, expected.text);
    assert_string_equal(found.notes, expected.notes);
    phl_source_free(source);
    phl_forest_free(forest);
}

/* Both classes, in turn, and labels nobody knows. */
static const char *const mixed = "left\t(a (b) (c))\n"
                                 "right\t(a _ (b (c) (?)))\n"
                                 "left\t(?)\n"
                                 "right\t(b)\n"
                                 "left\t(z (a (b)) (? _ (c)))\n"
                                 "left\t(a (b) (c))\n"
                                 "right\t(c (y (c)))\n"
                                 "left\t(a (?))\n";

static const size_t few[] = {1, 2, 3, 7, 1000};
enum { FEW = sizeof few / sizeof *few };

static void test_blocks(void **state)
{
    (void)state;
    static const task_fn tasks[] = {do_score, do_score_own, do_decode, do_classify,
                                    do_label, do_fill,      do_sample};
    for (size_t i = 0; i < FEW; i++) {
        for (size_t t = 0; t < sizeof tasks / sizeof *tasks; t++) {
            for (size_t k = 0; k < KINDS; k++) {
                phl_run *run = random_run(kinds[k], true, 1 + k, ROWS_PLAIN);
                check_in_blocks(tasks[t], run, mixed, few[i]);
                phl_run_free(run);
            }
            phl_run *run = one_label_run(true, 0); /* most trees have probability 0 */
            check_in_blocks(tasks[t], run, mixed, few[i]);
            phl_run_free(run);
        }
        phl_run *run = random_run(PHL_SP, true, 2, ROWS_PLAIN);
        check_in_blocks(do_classify, run, tiny, few[i]); /* a class the run does not know */
        check_in_blocks(do_score, run, "(a)\n(a (?))\nleft\t(?)\nleft\t(a (c))\n(b)\n", few[i]);
        phl_run_free(run);
    }
}

/* A tree without a model ends a task after the trees before it, whatever the blocks; so does a bad
 * tree. */
static void test_ends(void **state)
{
    (void)state;
    static record all;
    phl_run *run = random_run(PHL_SP, true, 1, ROWS_PLAIN);
    phl_label_options options;
    phl_label_options_init(&options);
    options.context = &all;
    for (size_t i = 0; i < FEW; i++) {
        phl_error e = {0};
        phl_evaluation *evaluation = NULL;
        size_t lines = 0;
        memset(&all, 0, sizeof all);
        phl_source *source = in_blocks(tiny, few[i]);
        assert_int_equal(phl_label(run, source, &options, put_labels, &evaluation, &e),
                         PHL_ERR_CLASS);
        assert_true(e.line == 7 && evaluation == NULL);
        for (const char *at = all.text; (at = strstr(at, "tree")) != NULL; at++) {
            lines++;
        }
        assert_int_equal(lines, 6);
        phl_source_free(source);
        source = in_blocks("left\t(a (?))\nleft\t(a\n", few[i]);
        memset(&all, 0, sizeof all);
        assert_int_equal(phl_label(run, source, &options, put_labels, &evaluation, &e),
                         PHL_ERR_SYNTAX);
        assert_true(e.line == 2 && strstr(all.text, "tree") != NULL);
        phl_source_free(source);
    }
    phl_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_blocks), cmocka_unit_test(test_ends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
