/* test_train_config.c - the options a run was trained with: recorded, stored, read back. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "runs.h"
#include "train/train_config.h"

/* ---- sets of options ---- */

static const uint32_t sizes[] = {2, 1, 6};
static const char *const partition = "[{\"slot\":1,\"blocks\":[0,1,0,1,0,1]}]";

static phl_train_options base_options(const struct shape *shape)
{
    phl_train_options options;
    phl_train_options_init(&options);
    options.kind = shape->kind;
    options.states = shape->states;
    options.per_class = shape->classes > 0;
    options.command_line = "phloem train";
    options.learner = shape->kind == PHL_TF ? PHL_LEARNER_GIBBS : PHL_LEARNER_EM;
    options.iterations = 100;
    options.warmup = 50;
    options.anneal_end = 50;
    return options;
}

/* Everything that a chain can be told, at values of its own. */
static phl_train_options rich_gibbs(void)
{
    phl_train_options options = base_options(&shapes[A_TF]);
    options.seed = 18364758544493064720u; /* larger than a JSON reader's integers */
    options.command_line = "phloem train \"x\" -o y";
    options.iterations = 300;
    options.warmup = 40;
    options.chains = 7;
    options.keep = 3;
    options.anneal_start = 1.0 / 3 + 7;
    options.anneal_end = 39;
    options.slots_min = 1;
    options.slots_max = 2;
    options.slot_support = 0.1;
    options.core_max = 123456789;
    options.sizes = sizes;
    options.n_sizes = 3;
    options.phi = 0.7;
    options.alpha = 1.1;
    options.alpha0 = 1.3;
    options.beta = 0.9;
    options.gamma = 2e-5;
    options.delta = 3e99;
    options.update_concentration = true;
    options.recycle = 17;
    return options;
}

/* ---- comparing ---- */

static bool same_text(const char *a, const char *b)
{
    return (a == NULL) == (b == NULL) && (a == NULL || strcmp(a, b) == 0);
}

/* All but the callbacks, which must not be there. */
static void check_same(const phl_train_options *a, const phl_train_options *b)
{
    phl_train_options x = *a, y = *b;
    assert_true(same_text(x.partition, y.partition));
    assert_true(same_text(x.command_line, y.command_line));
    assert_int_equal(x.n_sizes, y.n_sizes);
    assert_true((x.sizes == NULL) == (y.sizes == NULL));
    for (size_t i = 0; x.sizes != NULL && i < x.n_sizes; i++) {
        assert_int_equal(x.sizes[i], y.sizes[i]);
    }
    assert_true(x.kind == y.kind && x.learner == y.learner && x.sampler == y.sampler);
    assert_true(x.states == y.states && x.per_class == y.per_class && x.seed == y.seed);
    assert_true(x.threads == 0 && y.threads == 0 && x.memory_limit == 0 && y.memory_limit == 0);
    assert_true(x.iterations == y.iterations && x.restarts == y.restarts);
    assert_true(x.tolerance == y.tolerance && x.smoothing == y.smoothing && x.soft == y.soft);
    assert_true(x.warmup == y.warmup && x.chains == y.chains && x.keep == y.keep);
    assert_true(x.anneal_start == y.anneal_start && x.anneal_end == y.anneal_end);
    assert_true(x.slots_min == y.slots_min && x.slots_max == y.slots_max);
    assert_true(x.slot_support == y.slot_support && x.core_max == y.core_max);
    assert_true(x.phi == y.phi && x.alpha == y.alpha && x.alpha0 == y.alpha0);
    assert_true(x.beta == y.beta && x.gamma == y.gamma && x.delta == y.delta);
    assert_true(x.update_concentration == y.update_concentration && x.recycle == y.recycle);
    assert_true(x.progress == NULL && x.report == NULL && x.cancel == NULL && x.context == NULL);
    assert_true(y.progress == NULL && y.report == NULL && y.cancel == NULL && y.context == NULL);
}

/* ---- there and back ---- */

static void check_round_trip(const struct shape *shape, const phl_train_options *options,
                             const size_t *earlier, size_t n_earlier)
{
    phl_run *run = random_run(shape, SEED, false);
    assert_null(phl_run_options(run)); /* a run that does not say */
    must(phl_train_config_record(options, earlier, n_earlier, run, error));
    save(run, in_folder("a.run"));
    phl_run *again = open_run(in_folder("a.run"));
    assert_non_null(phl_run_options(run));
    assert_non_null(phl_run_options(again));
    assert_int_equal(phl_run_options(again)->size, sizeof *options);
    check_same(phl_run_options(run), phl_run_options(again));
    assert_int_equal(again->n_earlier, n_earlier);
    assert_true(n_earlier == 0 ||
                memcmp(again->earlier, earlier, n_earlier * sizeof *earlier) == 0);
    assert_ptr_not_equal(phl_run_options(run)->command_line,
                         options->command_line == NULL ? "" : options->command_line);
    phl_run_free(run);
    phl_run_free(again);
}

static bool never(void *context)
{
    (void)context;
    return false;
}

static void test_round_trips(void **state)
{
    (void)state;
    static const size_t earlier[] = {100, 299};
    for (size_t s = 0; s < N_SHAPES; s++) {
        phl_train_options options = base_options(&shapes[s]);
        check_round_trip(&shapes[s], &options, NULL, 0);
    }
    phl_train_options options = rich_gibbs();
    check_round_trip(&shapes[A_TF], &options, NULL, 0);
    check_round_trip(&shapes[A_TF], &options, earlier, 2);
    options.sizes = NULL;
    options.n_sizes = 0;
    options.partition = partition;
    options.soft = true;
    /* What is not recorded. */
    options.threads = 3;
    options.memory_limit = 1 << 30;
    options.restarts = 9;
    options.tolerance = 0.25;
    options.cancel = never;
    options.context = &options;
    check_round_trip(&shapes[A_TF], &options, earlier, 1);
    options = base_options(&shapes[A_TF]);
    options.sampler = PHL_SAMPLER_PAPER;
    check_round_trip(&shapes[A_TF], &options, NULL, 0);
    options = base_options(&shapes[A_SP]);
    options.restarts = 5;
    options.tolerance = 0;
    options.smoothing = 1e-300;
    options.gamma = 1.5;
    options.chains = 77; /* not of this learner */
    check_round_trip(&shapes[A_SP], &options, earlier, 0);
    empty_folder();
}

/* What phl_train gives, by the public header alone: defaults are worked out. */
static void test_trained(void **state)
{
    (void)state;
    phl_forest *forest = trees("(a (b) (c))\n(a (b (c)))\n");
    phl_train_options options;
    phl_run *run = NULL;
    phl_train_options_init(&options);
    options.kind = PHL_TF;
    options.states = 2;
    options.iterations = 6;
    options.chains = 2;
    options.threads = 2;
    options.cancel = never;
    must(phl_train(forest, &options, &run, error));
    const phl_train_options *found = phl_run_options(run);
    assert_int_equal(found->kind, PHL_TF);
    assert_int_equal(found->learner, PHL_LEARNER_GIBBS);
    assert_int_equal(found->warmup, 3);
    assert_int_equal(found->anneal_end, 3);
    assert_int_equal(found->chains, 2);
    assert_int_equal(found->threads, 0);
    assert_true(found->cancel == NULL);
    /* Trained with them again, the same comes out. */
    phl_run *again = NULL;
    must(phl_train(forest, found, &again, error));
    for (size_t i = 0; i < run->n_trace; i++) {
        run->trace[i].seconds = again->trace[i].seconds = 0;
    }
    assert_null(difference(run, again));
    phl_run_free(run);
    phl_run_free(again);
    phl_forest_free(forest);
}

/* ---- the text ---- */

static char *replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    assert_non_null(at);
    size_t before = (size_t)(at - text), size = strlen(text) + strlen(to) + 1;
    char *made = must_alloc(size, 1);
    memcpy(made, text, before);
    memcpy(made + before, to, strlen(to));
    memcpy(made + before + strlen(to), at + strlen(from), strlen(at + strlen(from)));
    return made;
}

/* Byte for byte what 0.1.0 wrote: `resume` and other programs read it. */
static void test_text(void **state)
{
    (void)state;
    static const size_t earlier[] = {100, 299};
    phl_run *run = random_run(&shapes[A_TF], SEED, false);
    phl_train_options options = rich_gibbs();
    must(phl_train_config_record(&options, earlier, 2, run, error));
    assert_string_equal(
        phl_run_meta(run, "config"),
        "{\"model\":\"tf\",\"learner\":\"gibbs\",\"states\":5,\"slots\":6,\"per_class\":true,"
        "\"seed\":18364758544493064720,\"iterations\":300,\"earlier\":[100,299],"
        "\"sampler\":\"blocked\",\"clustering\":\"hard\",\"warmup\":40,\"chains\":7,\"keep\":3,"
        "\"anneal\":[7.333333333333333,39],\"slots_min\":1,\"slots_max\":2,"
        "\"slot_support\":0.10000000000000001,\"core_max\":123456789,\"phi\":0.69999999999999996,"
        "\"alpha\":1.1000000000000001,\"alpha0\":1.3,\"beta\":0.90000000000000002,"
        "\"gamma\":2.0000000000000002e-05,\"delta\":3.0000000000000001e+99,"
        "\"update_concentration\":true,\"recycle\":17,\"k\":[2,1,6]}");
    assert_string_equal(phl_run_meta(run, "seed"), "18364758544493064720");
    assert_string_equal(phl_run_meta(run, "command"), options.command_line);
    phl_run_free(run);
    run = random_run(&shapes[A_SP], SEED, false);
    options = base_options(&shapes[A_SP]);
    must(phl_train_config_record(&options, NULL, 0, run, error));
    assert_string_equal(phl_run_meta(run, "config"),
                        "{\"model\":\"sp\",\"learner\":\"em\",\"states\":4,\"slots\":3,"
                        "\"per_class\":true,\"seed\":42,\"iterations\":100,\"restarts\":1,"
                        "\"tolerance\":9.9999999999999995e-07,\"smoothing\":0.01,\"gamma\":1}");
    phl_run_free(run);
}

/* The paper's sampler was called "seed". */
static void test_older_word(void **state)
{
    (void)state;
    phl_run *run = random_run(&shapes[A_TF], SEED, false);
    phl_train_options options = base_options(&shapes[A_TF]);
    options.sampler = PHL_SAMPLER_PAPER;
    must(phl_train_config_record(&options, NULL, 0, run, error));
    char *text = replaced(phl_run_meta(run, "config"), "\"paper\"", "\"seed\"");
    must(phl_run_set_meta(run, "config", text, error));
    phl_free(text);
    must(phl_run_set_options(run, &(phl_train_options){0}, NULL, 0, error));
    must(phl_train_config_restore(run, error));
    assert_int_equal(phl_run_options(run)->sampler, PHL_SAMPLER_PAPER);
    assert_int_equal(phl_run_options(run)->chains, 4);
    phl_run_free(run);
}

/* Files of before states were recycled. */
static void test_older_tries(void **state)
{
    (void)state;
    phl_run *run = random_run(&shapes[A_TF], SEED, false);
    phl_train_options options = base_options(&shapes[A_TF]);
    must(phl_train_config_record(&options, NULL, 0, run, error));
    char *text = replaced(phl_run_meta(run, "config"), ",\"recycle\":200", "");
    must(phl_run_set_meta(run, "config", text, error));
    phl_free(text);
    must(phl_run_set_options(run, &(phl_train_options){0}, NULL, 0, error));
    must(phl_train_config_restore(run, error));
    assert_int_equal(phl_run_options(run)->recycle, 0);
    phl_run_free(run);
}

/* ---- what is no such text ---- */

/* Words of a good one, and what they become. */
static const struct {
    const char *from, *to, *message;
} damages[] = {
    {"{\"model\"", "no JSON", "its configuration is not JSON: line 1, column 1: found 'no'"},
    {"{\"model\"", "[1,{\"model\"", "its configuration is not JSON"},
    {"\"per_class\":true", "\"states\":5", "\"states\" is given twice"},
    {"\"tf\"", "\"zz\"", "lacks \"model\""},
    {"\"gibbs\"", "\"magic\"", "lacks \"learner\""},
    {"\"blocked\"", "\"magic\"", "lacks \"sampler\""},
    {"\"chains\":7", "\"chain\":7", "lacks \"chains\""},
    {"\"keep\":3", "\"keep\":2.5", "lacks \"keep\""},
    {"\"keep\":3", "\"keep\":-3", "lacks \"keep\""},
    {"\"slots_max\":2", "\"slots_max\":4294967295", "lacks \"slots_max\""},
    {",39]", "]", "lacks \"anneal\""},
    {"\"phi\":0", "\"phi\":\"0\",\"x\":0", "lacks \"phi\""},
    {"tion\":true", "tion\":1", "lacks \"update_concentration\""},
    {"\"recycle\":17", "\"recycle\":0.5", "lacks \"recycle\""},
    {"[2,1,6]", "[2,\"1\",-6]", "lacks \"k\""},
    {"[100,299]", "[299,100]", "lacks \"earlier\""},
    {"[100,299]", "[40,299]", "lacks \"earlier\""},
    {"[100,299]", "[100,300]", "lacks \"earlier\""},
    {"\"states\":5", "\"states\":4", "its configuration is that of another run"},
    {"\"per_class\":true", "\"per_class\":false", "its configuration is that of another run"},
    {"\"warmup\":40", "\"warmup\":30", "annealing from"},
    {"\"chains\":7", "\"chains\":0", "its configuration is impossible: chains must be from 1"},
};

/* Such a run opens, and does not say how it was trained; it cannot be resumed, and that says why.
 */
static void test_damages(void **state)
{
    (void)state;
    static const size_t earlier[] = {100, 299};
    const char *path = in_folder("a.run");
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        phl_run *run = random_run(&shapes[A_TF], SEED, false), *resumed = NULL;
        phl_train_options options = rich_gibbs();
        phl_error wrong = {0};
        must(phl_train_config_record(&options, earlier, 2, run, error));
        must(phl_run_set_meta(run, "version", phl_version(), error));
        char *text = replaced(phl_run_meta(run, "config"), damages[i].from, damages[i].to);
        must(phl_run_set_meta(run, "config", text, error));
        phl_free(text);
        save(run, path);
        phl_run_free(run);
        run = open_run(path);
        assert_null(phl_run_options(run));
        phl_run_free(run);
        assert_true(phl_resume(path, NULL, &resumed, &wrong) < 0);
        assert_string_equal(wrong.file, path);
        if (strstr(wrong.message, damages[i].message) == NULL) {
            fail_msg("%s: %s", damages[i].to, wrong.message);
        }
    }
    empty_folder();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_round_trips, start_empty),
        cmocka_unit_test(test_trained),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_older_word),
        cmocka_unit_test(test_older_tries),
        cmocka_unit_test_setup(test_damages, start_empty),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
