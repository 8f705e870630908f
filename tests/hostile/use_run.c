/* use_run.c - everything that can be done with a run file; see use_run.h. */
#include "use_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/run_file.h"

enum { MOST_CALLS = 40 }; /* of a training's progress */

static const char trees[] = "left\t(a (b) (c (b)))\nright\t(b (c) _ (?) _ _ _ (e))\none\t(a)\n"
                            "(c (c (c (a) (b)) (d)) (b))\n";

static void stop(const char *what, const phl_error *error)
{
    char line[2048] = "";
    if (error != NULL) {
        phl_error_format(error, line, sizeof line);
    }
    fprintf(stderr, "use_run: %s: %s\n", what, line);
    abort();
}

static void must(bool good, const char *what, const phl_error *error)
{
    if (!good) {
        stop(what, error);
    }
}

/* A call may fail, but with words, and not by our own fault. */
static void check(phl_status status, const phl_error *error, const char *what)
{
    if (status != PHL_OK) {
        must(status == error->status && error->message[0] != '\0', what, error);
        must(phl_status_group(status) != PHL_GROUP_INTERNAL, what, error);
    }
}

static bool end_soon(void *context)
{
    return ++*(int *)context > MOST_CALLS;
}

/* ---------------------------------------------------------------------------------------------
 * What the tasks give
 * ------------------------------------------------------------------------------------------- */

static phl_status take_score(const phl_tree_at *at, const phl_tree_score *score, void *context,
                             phl_error *error)
{
    (void)at;
    (void)context;
    (void)error;
    must(!isnan(score->log_likelihood), "a score that is no number", NULL);
    for (uint64_t i = 0; score->bits != NULL && i < score->nodes; i++) {
        must(score->bits[i] >= 0.0 || isnan(score->bits[i]), "bits below 0", NULL);
    }
    return PHL_OK;
}

static phl_status take_decoded(const phl_tree_at *at, const phl_decoded_tree *decoded,
                               void *context, phl_error *error)
{
    (void)at;
    (void)context;
    (void)error;
    must(!decoded->possible || !isnan(decoded->log_joint), "states of no probability", NULL);
    return PHL_OK;
}

static phl_status take_classified(const phl_tree_at *at, const phl_classified_tree *classified,
                                  void *context, phl_error *error)
{
    (void)at;
    (void)error;
    for (size_t k = 0; k < phl_run_classes(context); k++) {
        must(!isnan(classified->log_posterior[k]), "a posterior that is no number", NULL);
    }
    return PHL_OK;
}

static phl_status take_labelled(const phl_tree_at *at, const phl_labelled_tree *labelled,
                                void *context, phl_error *error)
{
    (void)at;
    (void)context;
    (void)error;
    for (size_t i = 0; i < labelled->n_filled; i++) {
        must(!isnan(labelled->unseen[i]), "a prediction that is no number", NULL);
    }
    return PHL_OK;
}

static phl_status take_trees(const phl_forest *block, void *context, phl_error *error)
{
    (void)block;
    (void)context;
    (void)error;
    return PHL_OK;
}

/* ---------------------------------------------------------------------------------------------
 * Uses
 * ------------------------------------------------------------------------------------------- */

static phl_forest *make_trees(void)
{
    phl_read_options options;
    phl_forest *forest = NULL;
    phl_error error = {0};
    phl_read_options_init(&options);
    options.format = PHL_FORMAT_BRACKETS;
    must(phl_forest_read_memory(trees, sizeof trees - 1, "trees", &options, &forest, NULL,
                                &error) == PHL_OK,
         "trees", &error);
    return forest;
}

static void look_at(phl_run *run)
{
    phl_error error = {0};
    char *json = NULL;
    size_t size = 0;
    phl_diagnosis diagnosis;
    memset(&diagnosis, 0, sizeof diagnosis);
    check(phl_run_json(run, &json, &size, &error), &error, "json");
    phl_free(json);
    check(phl_diagnose(run, NULL, &diagnosis, &error), &error, "diagnose");
    phl_diagnosis_clear(&diagnosis);
}

static void predict_with(phl_run *run, phl_source *source)
{
    phl_error error = {0};
    phl_score_options score;
    phl_decode_options decode;
    phl_label_options label;
    phl_sample_options sample;
    phl_classify_options classify;
    phl_evaluation *evaluation = NULL;
    phl_score_options_init(&score);
    score.threads = 1;
    score.structure = score.every_class = score.bits = true;
    check(phl_score(run, source, &score, take_score, &error), &error, "score");
    phl_decode_options_init(&decode);
    decode.threads = 1;
    decode.joint = decode.pairs = true;
    decode.class_name = phl_run_class_name(run, 0);
    check(phl_decode(run, source, &decode, take_decoded, &error), &error, "decode");
    phl_label_options_init(&label);
    label.threads = 1;
    label.hide = 0.5;
    label.class_name = phl_run_class_name(run, 0);
    check(phl_label(run, source, &label, take_labelled, &evaluation, &error), &error, "label");
    phl_evaluation_free(evaluation);
    evaluation = NULL;
    phl_classify_options_init(&classify);
    classify.threads = 1;
    classify.prior = PHL_PRIOR_EMPIRICAL;
    classify.context = run;
    check(phl_classify(run, source, &classify, take_classified, &evaluation, &error), &error,
          "classify");
    phl_evaluation_free(evaluation);
    phl_sample_options_init(&sample);
    sample.threads = 1;
    sample.trees = 2;
    sample.max_nodes = 200;
    sample.max_attempts = 20;
    check(phl_sample(run, NULL, &sample, take_trees, &error), &error, "sample");
    check(phl_sample(run, source, &sample, take_trees, &error), &error, "sample of shapes");
}

static void go_on(const char *path, size_t iterations)
{
    phl_resume_options options;
    phl_error error = {0};
    phl_run *run = NULL;
    int calls = 0;
    phl_resume_options_init(&options);
    options.threads = 1;
    options.iterations = iterations;
    options.memory_limit = (uint64_t)1 << 27;
    options.cancel = end_soon;
    options.context = &calls;
    phl_status status = phl_resume(path, &options, &run, &error);
    check(status, &error, "resume");
    phl_run_free(run);
    if (status == PHL_OK) { /* what it left can be opened */
        run = NULL;
        must(phl_run_open(path, &run, &error) == PHL_OK, "a resumed run", &error);
        phl_run_free(run);
    }
}

phl_status use_run(const char *path)
{
    phl_run *run = NULL;
    phl_error error = {0};
    phl_forest *forest = make_trees();
    phl_source *source = NULL;
    must(phl_source_forest(forest, &source, &error) == PHL_OK, "a source", &error);
    phl_status opened = phl_run_open(path, &run, &error);
    check(opened, &error, "open");
    if (opened == PHL_OK) {
        look_at(run);
        predict_with(run, source);
        phl_run_free(run);
    }
    go_on(path, 0);
    go_on(path, 12);
    phl_source_free(source);
    phl_forest_free(forest);
    return opened;
}

bool use_run_fit(const char *path)
{
    phl_database database;
    phl_forest *forest = NULL;
    phl_error error = {0};
    phl_status status = phl_database_open(path, &database, &error);
    if (status == PHL_OK) {
        status = phl_forest_store_load(&database, &forest, &error);
    }
    phl_database_close(&database);
    if (status != PHL_OK || forest == NULL) {
        return false;
    }
    char print[33], sql[256];
    must(phl_forest_fingerprint(forest, true, print, &error) == PHL_OK, "fingerprint", &error);
    (void)snprintf(sql, sizeof sql,
                   "UPDATE meta SET value = '%s' WHERE key = 'fingerprint_ordered';"
                   "UPDATE meta SET value = '%u' WHERE key = 'slots'",
                   print, phl_forest_max_slot(forest));
    phl_forest_free(forest);
    phl_database mended = {.name = path,
                           .writing = true,
                           .format = PHL_RUN_FORMAT,
                           .budget = UINT64_MAX,
                           .steps = UINT64_MAX};
    bool done = sqlite3_open(path, &mended.db) == SQLITE_OK &&
                sqlite3_exec(mended.db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", NULL,
                             NULL, NULL) == SQLITE_OK &&
                sqlite3_exec(mended.db, sql, NULL, NULL, NULL) == SQLITE_OK &&
                phl_section_renew(&mended, PHL_SECTION_MODELS, NULL, &error) == PHL_OK;
    (void)sqlite3_close(mended.db);
    return done;
}
