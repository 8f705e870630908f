/* test_fork.c - a child of fork() goes on using the library after its parent has used threads. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "phloem.h"

enum { TREES = 400, THREADS = 3, SECONDS = 60 };

static phl_status take_score(const phl_tree_at *at, const phl_tree_score *score, void *context,
                             phl_error *error)
{
    (void)error;
    if (at->number == 0) {
        *(double *)context = score->log_likelihood;
    }
    return PHL_OK;
}

static phl_status take_sampled(const phl_forest *block, void *context, phl_error *error)
{
    (void)error;
    *(size_t *)context += phl_forest_trees(block);
    return PHL_OK;
}

/* Everything that runs in threads: chains, one large upward pass, scores, labels, samples. */
static bool work(const phl_forest *forest, double *log_likelihood)
{
    phl_error error;
    phl_train_options train;
    phl_train_options_init(&train);
    train.kind = PHL_SP;
    train.learner = PHL_LEARNER_EM;
    train.states = 4;
    train.restarts = 3;
    train.iterations = 3;
    train.threads = THREADS;
    phl_score_options score;
    phl_score_options_init(&score);
    score.threads = THREADS;
    phl_sample_options sample;
    phl_sample_options_init(&sample);
    sample.threads = THREADS;

    score.context = log_likelihood;
    size_t sampled = 0;
    sample.context = &sampled;

    phl_run *run = NULL;
    phl_source *source = NULL;
    bool good = phl_train(forest, &train, &run, &error) == PHL_OK &&
                phl_source_forest(forest, &source, &error) == PHL_OK &&
                phl_score(run, source, &score, take_score, &error) == PHL_OK &&
                phl_sample(run, source, &sample, take_sampled, &error) == PHL_OK;
    if (!good) {
        (void)fprintf(stderr, "%s\n", error.message);
    }
    good = good && sampled == TREES;
    phl_source_free(source);
    phl_run_free(run);
    return good;
}

static void test_child(void **state)
{
    (void)state;
    phl_documents_options documents;
    phl_documents_options_init(&documents);
    documents.trees_per_class = TREES / documents.classes;
    phl_forest *forest;
    double before = 0.0, after = 0.0;
    assert_int_equal(phl_generate_documents(&documents, &forest, NULL), PHL_OK);
    assert_true(phl_forest_trees(forest) == TREES);
    assert_true(work(forest, &before));

    (void)fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)alarm(SECONDS); /* rather than wait for ever */
        double found = 0.0;
        _exit(work(forest, &found) && memcmp(&found, &before, sizeof found) == 0 ? 0 : 1);
    }
    int status = -1;
    assert_true(waitpid(child, &status, 0) == child);
    assert_false(WIFSIGNALED(status)); /* by the alarm: the child hung */
    assert_int_equal(WEXITSTATUS(status), 0);

    assert_true(work(forest, &after)); /* and so does the parent */
    check_ulps(after, before, 0);
    phl_forest_free(forest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_child)};
    return cmocka_run_group_tests_name("fork", tests, NULL, NULL) != 0;
}
