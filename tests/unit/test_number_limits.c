/* test_number_limits.c - numbers near the limits of their types, in every option and argument that
 * is one: refused in words, or a result that can be used; no crash, no endless work, nothing that
 * wraps.
 *
 * tests/tools/calls.py checks that no option of phloem.h is forgotten here.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "folder.h"
#include "task_models.h"

/* A member of an options struct. */
struct field {
    const char *name;
    size_t offset, bytes;
    bool real;
};
#define FIELD(type, member)                                                                        \
    {                                                                                              \
#type "." #member, offsetof(type, member), sizeof((type *)0)->member,                      \
            _Generic(((type *)0)->member, double                                                   \
                     : true, default                                                               \
                     : false)                                                                      \
    }

/* What a call works on. */
static phl_forest *forest;
static phl_source *source; /* the same */
static phl_run *run, *per_class;
static char now[200]; /* what is tried */
static int patience;  /* asks left until a call is cancelled */

static bool cancel(void *context)
{
    (void)context;
    return --patience < 0;
}

typedef union number {
    uint64_t whole;
    double real;
} number;

static void put(void *options, const struct field *field, number value)
{
    char *place = (char *)options + field->offset;
    uint32_t small = (uint32_t)value.whole;
    if (field->bytes == sizeof small) {
        memcpy(place, &small, sizeof small);
    } else {
        assert_int_equal(field->bytes, sizeof value.whole);
        memcpy(place, &value.whole, sizeof value.whole);
    }
}

typedef phl_status (*limited_call)(const struct field *field, number value, phl_error *error);

/* Every field at every limit of its type. */
static void try_limits(limited_call call, const struct field *fields, size_t n_fields)
{
    static const uint64_t wholes[] = {0,
                                      1,
                                      1u << 30,
                                      INT32_MAX,
                                      (uint64_t)INT32_MAX + 1,
                                      UINT32_MAX - 1,
                                      UINT32_MAX,
                                      (uint64_t)UINT32_MAX + 1,
                                      (uint64_t)1 << 61,
                                      ((uint64_t)1 << 61) + 1,
                                      (uint64_t)1 << 62,
                                      INT64_MAX,
                                      (uint64_t)INT64_MAX + 1,
                                      UINT64_MAX - 1,
                                      UINT64_MAX};
    static const double reals[] = {0.0,     -0.0,     5e-324, DBL_MIN,  1e-100,    1.0, 1e100,
                                   DBL_MAX, -DBL_MAX, -1.0,   INFINITY, -INFINITY, NAN};
    for (size_t f = 0; f < n_fields; f++) {
        size_t count =
            fields[f].real ? sizeof reals / sizeof *reals : sizeof wholes / sizeof *wholes;
        for (size_t i = 0; i < count; i++) {
            number value = {.whole = wholes[i % (sizeof wholes / sizeof *wholes)]};
            if (fields[f].real) {
                value.real = reals[i];
            }
            phl_error error = {0};
            patience = 40;
            (void)snprintf(now, sizeof now, fields[f].real ? "%s = %g" : "%s = %.0f",
                           fields[f].name, fields[f].real ? value.real : (double)value.whole);
            phl_status status = call(&fields[f], value, &error);
            if (status != PHL_OK && (status != error.status || status == PHL_ERR_INTERNAL ||
                                     error.message[0] == '\0')) {
                print_error("%s: status %d, %s\n", now, (int)status, error.message);
                fail();
            }
        }
    }
}

#define TRY(call, fields) try_limits(call, fields, sizeof fields / sizeof *fields)

/* ---- Forests --------------------------------------------------------------------------------- */

static phl_status do_read(const struct field *field, number value, phl_error *error)
{
    static const char text[] = "{\"weight\":2,\"label\":[\"a\",\"b\",\"c\"],\"parent\":[-1,0,0]}\n";
    phl_read_options options = read_options(PHL_FORMAT_JSON);
    phl_forest *made = NULL;
    put(&options, field, value);
    phl_status status =
        phl_forest_read_memory(text, sizeof text - 1, "test", &options, &made, NULL, error);
    phl_forest_free(made);
    return status;
}

static phl_status do_symm(const struct field *field, number value, phl_error *error)
{
    phl_symm_options options;
    phl_symm_options_init(&options);
    options.trees_per_class = 1;
    put(&options, field, value);
    phl_forest *made = NULL;
    phl_status status = phl_generate_symm(&options, &made, error);
    phl_forest_free(made);
    return status;
}

static phl_status do_logic(const struct field *field, number value, phl_error *error)
{
    phl_logic_options options;
    phl_logic_options_init(&options);
    options.trees = 1;
    put(&options, field, value);
    phl_forest *made = NULL;
    phl_status status = phl_generate_logic(&options, &made, error);
    phl_forest_free(made);
    return status;
}

static phl_status do_documents(const struct field *field, number value, phl_error *error)
{
    phl_documents_options options;
    phl_documents_options_init(&options);
    options.trees_per_class = options.classes = 1;
    put(&options, field, value);
    phl_forest *made = NULL;
    phl_status status = phl_generate_documents(&options, &made, error);
    phl_forest_free(made);
    return status;
}

static void test_forests(void **state)
{
    (void)state;
    static const struct field reading[] = {
        FIELD(phl_read_options, class_level), FIELD(phl_read_options, limit),
        FIELD(phl_read_options, block_trees), FIELD(phl_read_options, block_size),
        FIELD(phl_read_options, max_nodes),   FIELD(phl_read_options, max_children),
        FIELD(phl_read_options, max_depth),   FIELD(phl_read_options, max_attributes),
        FIELD(phl_read_options, max_name),    FIELD(phl_read_options, max_token),
        FIELD(phl_read_options, max_ratio),   FIELD(phl_read_options, block_trees),
        FIELD(phl_read_options, block_size)};
    static const struct field symm[] = {FIELD(phl_symm_options, seed),
                                        FIELD(phl_symm_options, trees_per_class)};
    static const struct field logic[] = {FIELD(phl_logic_options, seed),
                                         FIELD(phl_logic_options, trees),
                                         FIELD(phl_logic_options, depth)};
    static const struct field documents[] = {
        FIELD(phl_documents_options, seed),       FIELD(phl_documents_options, classes),
        FIELD(phl_documents_options, nodes),      FIELD(phl_documents_options, trees_per_class),
        FIELD(phl_documents_options, vocabulary), FIELD(phl_documents_options, noise),
        FIELD(phl_documents_options, overlap)};
    TRY(do_read, reading);
    TRY(do_symm, symm);
    TRY(do_logic, logic);
    TRY(do_documents, documents);
}

/* Weights, slots and lines of a tree that is built by hand; bounds of a block. */
static void test_numbers_of_trees(void **state)
{
    (void)state;
    static const uint32_t slots[] = {0,         1, 10000000, 10000001, INT32_MAX, UINT32_MAX - 1,
                                     UINT32_MAX};
    static const double weights[] = {5e-324, 1.0, DBL_MAX, INFINITY, -1.0, NAN};
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
        phl_builder *builder = new_builder(false);
        phl_error failure = {0};
        must(phl_builder_open(builder, "a", 1, error));
        phl_status status = phl_builder_open(builder, "b", slots[i], &failure);
        assert_true(slots[i] == 0            ? status == PHL_ERR_ARGUMENT
                    : slots[i] == UINT32_MAX ? status == PHL_ERR_LIMIT
                                             : status == PHL_OK);
        if (status == PHL_OK) {
            char print[33];
            must(phl_builder_close(builder, error));
            must(phl_builder_close(builder, error));
            must(phl_builder_end_tree(builder, NULL, error));
            phl_forest *made = finish_forest(builder);
            assert_int_equal(phl_forest_max_slot(made), slots[i]);
            must(phl_forest_fingerprint(made, true, print, error));
            phl_forest_free(made);
        } else {
            assert_true(failure.message[0] != '\0');
            phl_builder_free(builder);
        }
    }
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        phl_builder *builder = new_builder(false);
        phl_error failure = {0};
        phl_tree_info info = {.weight = weights[i], .line = UINT64_MAX};
        must(phl_builder_open(builder, "a", 1, error));
        must(phl_builder_close(builder, error));
        phl_status status = phl_builder_end_tree(builder, &info, &failure);
        assert_true(status == PHL_OK || (status == PHL_ERR_ARGUMENT && failure.message[0] != '\0'));
        assert_false(status == PHL_OK && !(weights[i] > 0.0 && isfinite(weights[i])));
        phl_builder_free(builder);
    }
    static const size_t bounds[] = {0, 1, SIZE_MAX - 1, SIZE_MAX};
    for (size_t i = 0; i < 16; i++) {
        phl_read_options options = read_options(PHL_FORMAT_BRACKETS);
        options.block_trees = bounds[i % 4];
        options.block_size = bounds[i / 4];
        phl_source *blocks = NULL;
        size_t found = 0;
        must(phl_source_memory("(a)\n(b)\n(c)\n", 12, "test", &options, &blocks, error));
        for (bool more = true; more;) {
            const phl_forest *block = NULL;
            must(phl_source_next(blocks, &block, error));
            more = block != NULL;
            found += more ? phl_forest_trees(block) : 0;
        }
        assert_int_equal(found, 3);
        phl_source_free(blocks);
    }
}

/* ---- Training -------------------------------------------------------------------------------- */

/* A run that was trained can be saved, opened and shown. */
static void check_run(phl_run *made)
{
    char *before = NULL, *after = NULL;
    size_t size = 0, again_size = 0;
    phl_run *again = NULL;
    phl_error failure = {0};
    phl_status status = phl_run_save(made, in_folder("limits.run"), true, &failure);
    status = status == PHL_OK ? phl_run_open(in_folder("limits.run"), &again, &failure) : status;
    if (status != PHL_OK) {
        print_error("%s: %s\n", now, failure.message);
        fail();
    }
    must(phl_run_json(made, &before, &size, error));
    must(phl_run_json(again, &after, &again_size, error));
    assert_int_equal(size, again_size);
    assert_memory_equal(before, after, size);
    phl_free(before);
    phl_free(after);
    phl_run_free(again);
}

static phl_status train(phl_train_options *options, const struct field *field, number value,
                        phl_error *error)
{
    phl_run *made = NULL;
    options->chains = options->restarts = 1;
    options->keep = 2;
    options->cancel = cancel;
    put(options, field, value);
    phl_status status = phl_train(forest, options, &made, error);
    if (status == PHL_OK) {
        check_run(made);
    }
    phl_run_free(made);
    return status;
}

static phl_status do_train_em(const struct field *field, number value, phl_error *error)
{
    phl_train_options options = train_options(PHL_SP, 2, 4);
    return train(&options, field, value, error);
}

static phl_status do_train_full(const struct field *field, number value, phl_error *error)
{
    phl_train_options options = train_options(PHL_FULL, 2, 4);
    return train(&options, field, value, error);
}

static phl_status do_train_gibbs(const struct field *field, number value, phl_error *error)
{
    phl_train_options options = train_options(PHL_TF, 2, 4);
    options.soft = true;
    return train(&options, field, value, error);
}

/* Numbers of states are tried until one is clearly worse, or takes more memory than there is. */
static phl_status do_train_chosen(const struct field *field, number value, phl_error *error)
{
    phl_train_options options = train_options(PHL_SP, 2, 1);
    options.states_auto = true;
    options.memory_limit = 1 << 20;
    return train(&options, field, value, error);
}

static phl_status do_train_file(const struct field *field, number value, phl_error *error)
{
    phl_train_options options;
    phl_file_options file;
    phl_run *made = NULL;
    phl_train_options_init(&options);
    phl_file_options_init(&file);
    options.kind = PHL_SP;
    options.iterations = 2;
    options.cancel = cancel;
    put(&file, field, value);
    empty_folder();
    phl_status status = phl_train_file(forest, &options, &file, in_folder("a.run"), &made, error);
    phl_run_free(made);
    return status;
}

static phl_status do_resume(const struct field *field, number value, phl_error *failure)
{
    phl_train_options options;
    phl_resume_options more;
    phl_run *made = NULL, *resumed = NULL;
    phl_train_options_init(&options);
    options.kind = PHL_SP;
    options.iterations = 2;
    empty_folder();
    must(phl_train_file(forest, &options, NULL, in_folder("a.run"), &made, error));
    phl_run_free(made);
    phl_resume_options_init(&more);
    more.cancel = cancel;
    put(&more, field, value);
    phl_status status = phl_resume(in_folder("a.run"), &more, &resumed, failure);
    if (status == PHL_OK) {
        check_run(resumed);
    }
    phl_run_free(resumed);
    return status;
}

static phl_status do_piece(const struct field *field, number value, phl_error *failure)
{
    phl_train_options options;
    phl_run *made = NULL;
    phl_train_options_init(&options);
    options.kind = PHL_SP;
    options.iterations = 2;
    options.restarts = 2;
    options.piece = options.pieces = 1;
    put(&options, field, value);
    phl_status status = phl_train(forest, &options, &made, failure);
    if (status == PHL_OK) {
        check_run(made);
    }
    phl_run_free(made);
    return status;
}

static phl_status do_merge(const struct field *field, number value, phl_error *failure)
{
    phl_train_options options;
    phl_merge_options merging;
    phl_run *made = NULL, *merged = NULL;
    char piece[200], whole[200];
    const char *const pieces[] = {piece};
    empty_folder();
    snprintf(piece, sizeof piece, "%s", in_folder("a.run"));
    snprintf(whole, sizeof whole, "%s", in_folder("b.run"));
    phl_train_options_init(&options);
    options.kind = PHL_SP;
    options.iterations = 2;
    options.piece = options.pieces = 1;
    must(phl_train_file(forest, &options, NULL, piece, &made, error));
    phl_run_free(made);
    phl_merge_options_init(&merging);
    put(&merging, field, value);
    phl_status status = phl_merge(pieces, 1, &merging, whole, &merged, failure);
    if (status == PHL_OK) {
        check_run(merged);
    }
    phl_run_free(merged);
    return status;
}

static void test_training(void **state)
{
    (void)state;
    static const struct field common[] = {
        FIELD(phl_train_options, states),     FIELD(phl_train_options, n_folds),
        FIELD(phl_train_options, seed),       FIELD(phl_train_options, threads),
        FIELD(phl_train_options, iterations), FIELD(phl_train_options, memory_limit),
        FIELD(phl_train_options, gamma)};
    static const struct field em[] = {FIELD(phl_train_options, restarts),
                                      FIELD(phl_train_options, tolerance),
                                      FIELD(phl_train_options, smoothing)};
    static const struct field gibbs[] = {
        FIELD(phl_train_options, warmup),     FIELD(phl_train_options, chains),
        FIELD(phl_train_options, keep),       FIELD(phl_train_options, anneal_start),
        FIELD(phl_train_options, anneal_end), FIELD(phl_train_options, slots_min),
        FIELD(phl_train_options, slots_max),  FIELD(phl_train_options, slot_support),
        FIELD(phl_train_options, core_max),   FIELD(phl_train_options, phi),
        FIELD(phl_train_options, alpha),      FIELD(phl_train_options, alpha0),
        FIELD(phl_train_options, beta),       FIELD(phl_train_options, delta),
        FIELD(phl_train_options, recycle)};
    static const struct field choice[] = {FIELD(phl_train_options, states_max)};
    static const struct field file[] = {FIELD(phl_file_options, checkpoint_seconds)};
    static const struct field more[] = {
        FIELD(phl_resume_options, threads), FIELD(phl_resume_options, iterations),
        FIELD(phl_resume_options, memory_limit), FIELD(phl_resume_options, checkpoint_seconds)};
    static const struct field pieces[] = {
        FIELD(phl_train_options, piece), FIELD(phl_train_options, pieces),
        FIELD(phl_train_options, piece_first_chain), FIELD(phl_train_options, piece_last_chain)};
    static const struct field merging[] = {FIELD(phl_merge_options, threads),
                                           FIELD(phl_merge_options, memory_limit)};
    TRY(do_piece, pieces);
    TRY(do_merge, merging);
    TRY(do_train_em, common);
    TRY(do_train_full, common);
    TRY(do_train_gibbs, common);
    TRY(do_train_em, em);
    TRY(do_train_gibbs, gibbs);
    TRY(do_train_chosen, choice);
    TRY(do_train_file, file);
    TRY(do_resume, more);
}

/* ---- Use ------------------------------------------------------------------------------------- */

static phl_status do_classify(const struct field *field, number value, phl_error *error)
{
    phl_evaluation *evaluation = NULL;
    phl_classify_options options;
    phl_classify_options_init(&options);
    put(&options, field, value);
    phl_status status = phl_classify(per_class, source, &options, NULL, &evaluation, error);
    phl_evaluation_free(evaluation);
    return status;
}

static phl_status do_score(const struct field *field, number value, phl_error *error)
{
    phl_tree_score scores[8];
    phl_score_options options;
    phl_score_options_init(&options);
    options.context = scores;
    put(&options, field, value);
    return phl_score(run, source, &options, keep_score, error);
}

static phl_status keep_states(const phl_tree_at *at, const phl_decoded_tree *decoded, void *context,
                              phl_error *error)
{
    (void)at;
    (void)context;
    (void)error;
    assert_true(decoded->draw == 0);
    return PHL_OK;
}

static phl_status do_decode(const struct field *field, number value, phl_error *error)
{
    phl_decode_options options;
    phl_decode_options_init(&options);
    put(&options, field, value);
    return phl_decode(run, source, &options, keep_states, error);
}

static phl_status do_label(const struct field *field, number value, phl_error *error)
{
    phl_evaluation *evaluation = NULL;
    phl_label_options options;
    phl_label_options_init(&options);
    put(&options, field, value);
    phl_status status = phl_label(run, source, &options, NULL, &evaluation, error);
    phl_evaluation_free(evaluation);
    return status;
}

static phl_status drop(const phl_forest *block, void *context, phl_error *error)
{
    (void)block;
    (void)context;
    (void)error;
    return PHL_OK;
}

static phl_status do_sample(const struct field *field, number value, phl_error *error)
{
    phl_sample_options options;
    phl_sample_options_init(&options);
    options.trees = 2;
    options.threads = 1;
    options.cancel = cancel;
    put(&options, field, value);
    return phl_sample(per_class, NULL, &options, drop, error);
}

static phl_status do_evaluate(const struct field *field, number value, phl_error *error)
{
    phl_cross_validation *result = NULL;
    phl_train_options how;
    phl_train_options_init(&how);
    how.kind = PHL_SP;
    how.per_class = true;
    how.states = 2;
    how.iterations = 2;
    phl_evaluate_options options;
    phl_evaluate_options_init(&options);
    options.train = &how;
    options.n_folds = 2;
    options.cancel = cancel;
    put(&options, field, value);
    phl_status status = phl_cross_validate(forest, &options, &result, error);
    phl_cross_validation_free(result);
    return status;
}

static phl_status keep_features(const phl_tree_at *at, const phl_tree_features *features,
                                void *context, phl_error *error)
{
    (void)at;
    (void)features;
    (void)context;
    (void)error;
    return PHL_OK;
}

static phl_status do_features(const struct field *field, number value, phl_error *error)
{
    phl_features *features = NULL;
    phl_features_options options;
    phl_features_options_init(&options);
    put(&options, field, value);
    phl_status status = phl_features_create(forest, &options, &features, error);
    if (status == PHL_OK) {
        status = phl_features_extract(features, source, &options, keep_features, error);
    }
    phl_features_free(features);
    return status;
}

static phl_status do_classifier(const struct field *field, number value, phl_error *error)
{
    phl_run *made = NULL;
    phl_classifier_options options;
    phl_classifier_options_init(&options);
    options.cancel = cancel;
    put(&options, field, value);
    phl_status status = phl_train_classifier(forest, &options, &made, error);
    phl_run_free(made);
    return status;
}

static phl_status do_expert(const struct field *field, number value, phl_error *error)
{
    phl_run *made = NULL;
    phl_expert_options options;
    phl_expert_options_init(&options);
    options.cancel = cancel;
    put(&options, field, value);
    phl_status status = phl_train_expert(forest, &options, &made, error);
    phl_run_free(made);
    return status;
}

static phl_status do_diagnose(const struct field *field, number value, phl_error *error)
{
    phl_diagnosis diagnosis = {0};
    phl_diagnose_options options;
    phl_diagnose_options_init(&options);
    put(&options, field, value);
    phl_status status = phl_diagnose(per_class, &options, &diagnosis, error);
    phl_diagnosis_clear(&diagnosis);
    return status;
}

static void test_use(void **state)
{
    (void)state;
    static const struct field classify[] = {FIELD(phl_classify_options, threads),
                                            FIELD(phl_classify_options, explain)};
    static const struct field score[] = {FIELD(phl_score_options, threads)};
    static const struct field decode[] = {FIELD(phl_decode_options, draw),
                                          FIELD(phl_decode_options, threads)};
    static const struct field label[] = {FIELD(phl_label_options, hide),
                                         FIELD(phl_label_options, seed),
                                         FIELD(phl_label_options, threads)};
    static const struct field sample[] = {
        FIELD(phl_sample_options, seed), FIELD(phl_sample_options, trees),
        FIELD(phl_sample_options, max_nodes), FIELD(phl_sample_options, max_attempts),
        FIELD(phl_sample_options, threads)};
    static const struct field evaluate[] = {FIELD(phl_evaluate_options, n_folds),
                                            FIELD(phl_evaluate_options, piece),
                                            FIELD(phl_evaluate_options, pieces)};
    static const struct field diagnose[] = {FIELD(phl_diagnose_options, class_index)};
    static const struct field features[] = {FIELD(phl_features_options, groups),
                                            FIELD(phl_features_options, least_trees),
                                            FIELD(phl_features_options, threads)};
    static const struct field classifier[] = {
        FIELD(phl_classifier_options, n_folds), FIELD(phl_classifier_options, groups),
        FIELD(phl_classifier_options, c),       FIELD(phl_classifier_options, seed),
        FIELD(phl_classifier_options, threads), FIELD(phl_classifier_options, memory_limit)};
    static const struct field expert[] = {FIELD(phl_expert_options, seed),
                                          FIELD(phl_expert_options, n_folds),
                                          FIELD(phl_expert_options, threads)};
    TRY(do_expert, expert);
    TRY(do_features, features);
    TRY(do_classifier, classifier);
    TRY(do_classify, classify);
    TRY(do_score, score);
    TRY(do_decode, decode);
    TRY(do_label, label);
    TRY(do_sample, sample);
    TRY(do_evaluate, evaluate);
    TRY(do_diagnose, diagnose);
}

static void test_folds(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, (size_t)1 << 62, SIZE_MAX - 1, SIZE_MAX};
    uint32_t fold[16] = {0};
    put_text("folds", "1 2\n3 4\n");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        phl_error error = {0};
        size_t n_folds = 0;
        phl_status status = phl_folds_make(forest, sizes[i], UINT64_MAX, fold, &error);
        assert_int_equal(status, PHL_ERR_ARGUMENT);
        status = phl_folds_read(in_folder("folds"), sizes[i], fold, &n_folds, &error);
        assert_true(status == PHL_ERR_SYNTAX || status == PHL_ERR_MEMORY);
        assert_true(error.message[0] != '\0');
    }
}

static int set_up(void **state)
{
    static const char *const classes[] = {"left", "right"};
    forest = trees("left\t(a (b) (c))\nright\t(a _ (b (c) (?)))\nleft\t(?)\nright\t(c (c))\n");
    source = source_of(forest);
    run = empty_run(PHL_TF, 3, 2, 3, NULL, 0);
    per_class = empty_run(PHL_SP, 3, 2, 3, classes, 2);
    add_random_draw(run, 0, 1, ROWS_PLAIN);
    add_random_draw(per_class, 0, 1, ROWS_PLAIN);
    add_random_draw(per_class, 1, 2, ROWS_PLAIN);
    return make_folder(state);
}

static int tear_down(void **state)
{
    phl_source_free(source);
    phl_forest_free(forest);
    phl_run_free(run);
    phl_run_free(per_class);
    return remove_folder(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forests),  cmocka_unit_test(test_numbers_of_trees),
        cmocka_unit_test(test_training), cmocka_unit_test(test_use),
        cmocka_unit_test(test_folds),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
