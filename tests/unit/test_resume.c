/* test_resume.c - trainings that are interrupted, killed, starved of room, extended: the run is the
 * one that an undisturbed training gives, to the bit. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/rng.h"
#include "runs.h"
#include "train/training.h"

/* ---- Settings ------------------------------------------------------------------------------- */

struct setting {
    const char *name;
    phl_kind kind;
    bool per_class, soft, update;
    size_t iterations, runs; /* restarts or chains */
    bool partition;
    double tolerance;
    phl_sampler sampler;
    bool head, calibrate, choose; /* the number of states */
};

static const struct setting settings[] = {
    {"sp", PHL_SP, false, false, false, 9, 2, false, 0, PHL_SAMPLER_BLOCKED, false, false, false},
    {"sp by tolerance", PHL_SP, true, false, false, 40, 2, false, 1e-2, PHL_SAMPLER_BLOCKED, false,
     false, false},
    {"td", PHL_TD, true, false, false, 7, 1, false, 0, PHL_SAMPLER_BLOCKED, false, false, false},
    {"full", PHL_FULL, false, false, false, 6, 2, false, 0, PHL_SAMPLER_BLOCKED, false, false,
     false},
    {"tf by EM", PHL_TF, false, false, false, 8, 2, true, 0, PHL_SAMPLER_BLOCKED, false, false,
     false},
    {"tf", PHL_TF, false, false, false, 14, 2, false, 0, PHL_SAMPLER_BLOCKED, false, false, false},
    {"tf by class", PHL_TF, true, false, true, 10, 2, false, 0, PHL_SAMPLER_BLOCKED, false, false,
     false},
    {"soft tf", PHL_TF, false, true, false, 10, 2, false, 0, PHL_SAMPLER_BLOCKED, false, false,
     false},
    {"tf, partition held", PHL_TF, false, true, true, 10, 1, true, 0, PHL_SAMPLER_BLOCKED, false,
     false, false},
    {"sp and a head", PHL_SP, true, false, false, 4, 2, false, 0, PHL_SAMPLER_BLOCKED, true, false,
     false},
    {"tf, calibrated", PHL_TF, true, false, false, 6, 2, false, 0, PHL_SAMPLER_BLOCKED, false, true,
     false},
    {"the paper's sampler", PHL_TF, true, false, false, 10, 2, false, 0, PHL_SAMPLER_PAPER, false,
     false, false},
    {"tf, states chosen", PHL_TF, true, false, false, 10, 2, false, 0, PHL_SAMPLER_BLOCKED, false,
     false, true},
};
enum { N_SETTINGS = sizeof settings / sizeof *settings };

static phl_train_options options_of(const struct setting *setting)
{
    phl_train_options options;
    phl_train_options_init(&options);
    options.kind = setting->kind;
    options.states = 3;
    options.seed = 0xfedcba9876543210u; /* larger than JSON numbers go */
    options.per_class = setting->per_class;
    options.iterations = setting->iterations;
    options.restarts = options.chains = setting->runs;
    options.tolerance = setting->tolerance;
    options.smoothing = 0.1;
    options.keep = 3;
    options.soft = setting->soft;
    options.sampler = setting->sampler;
    options.update_concentration = setting->update;
    options.head = setting->head ? PHL_HEAD_LINEAR : PHL_HEAD_NONE;
    options.calibrate = setting->calibrate;
    options.states_auto = setting->choose;
    options.states_max = 6;
    options.command_line = "test \"quoted\"";
    options.threads = 1;
    if (setting->partition) {
        options.partition = "[{\"slot\":1,\"blocks\":[0,1,1,0]}]";
        options.learner = setting->soft ? PHL_LEARNER_GIBBS : PHL_LEARNER_EM;
    }
    return options;
}

enum { MOST_CLASSES = 8 };

/* Called by a training: ends it, one way or another, after so many iterations. */
struct stopper {
    size_t left; /* iterations until it acts */
    bool kill;   /* end the process, as SIGKILL does */
    bool stop;
    void (*look)(void); /* called then, if given */
    bool told[MOST_CLASSES];
    double rhat[MOST_CLASSES]; /* as told last */
};

static void on_progress(const phl_progress *progress, void *context)
{
    struct stopper *stopper = context;
    assert_true(progress->classes <= MOST_CLASSES);
    stopper->told[progress->class_index] = true;
    stopper->rhat[progress->class_index] = progress->rhat;
    if (stopper->left > 0 && --stopper->left == 0) {
        if (stopper->kill) {
            _exit(9);
        }
        if (stopper->look != NULL) {
            stopper->look();
        }
        stopper->stop = true;
    }
}

static bool on_cancel(void *context)
{
    const struct stopper *stopper = context;
    return stopper->stop;
}

static phl_run *train_plainly(const phl_forest *forest, const phl_train_options *options)
{
    phl_run *run = NULL;
    must(phl_train(forest, options, &run, error));
    return run;
}

static phl_status train_into(const phl_forest *forest, const struct setting *setting,
                             const char *path, const phl_file_options *file,
                             struct stopper *stopper, phl_run **run, phl_error *error)
{
    phl_train_options options = options_of(setting);
    options.progress = on_progress;
    options.cancel = on_cancel;
    options.context = stopper;
    return phl_train_file(forest, &options, file, path, run, error);
}

static phl_status resume(const char *path, int threads, size_t iterations, struct stopper *stopper,
                         phl_run **run, phl_error *error)
{
    phl_resume_options options;
    phl_resume_options_init(&options);
    options.threads = threads;
    options.iterations = iterations;
    options.checkpoint_seconds = 0;
    options.progress = on_progress;
    options.cancel = on_cancel;
    options.context = stopper;
    return phl_resume(path, &options, run, error);
}

/* ---- Comparing ------------------------------------------------------------------------------ */

static void forget_seconds(phl_run *run)
{
    for (size_t i = 0; i < run->n_trace; i++) {
        run->trace[i].seconds = 0;
    }
}

/* The run, and what the file at `path` holds, are the expected one; no log lies beside it. */
static void check_run(const struct setting *setting, phl_run *expected, phl_run *run,
                      const char *path)
{
    phl_run *stored = open_run(path);
    forget_seconds(expected);
    forget_seconds(run);
    forget_seconds(stored);
    const char *differs = difference(expected, run);
    const char *differs_stored = difference(expected, stored);
    if (differs != NULL || differs_stored != NULL) {
        print_error("%s: %s differ, in the file %s\n", setting->name, differs, differs_stored);
        fail();
    }
    assert_int_equal(entries_in(folder), 1);
    phl_run_free(stored);
}

/* R-hat was told last as a diagnosis has it, over the iterations before an interruption too. */
static void check_rhat(const phl_run *run, const struct stopper *stopper)
{
    phl_diagnosis diagnosis;
    must(phl_diagnose(run, NULL, &diagnosis, error));
    for (size_t i = 0; i < diagnosis.n_classes; i++) {
        double rhat = diagnosis.learner == PHL_LEARNER_GIBBS
                          ? diagnosis.classes[i].quantities[PHL_LOG_LIKELIHOOD].rhat
                          : (double)NAN;
        assert_true(!stopper->told[i] || stopper->rhat[i] == rhat ||
                    (isnan(stopper->rhat[i]) && isnan(rhat)));
    }
    phl_diagnosis_clear(&diagnosis);
}

static bool is_interrupted(const phl_run *run)
{
    bool found = false;
    for (size_t i = 0; i < run->n_models; i++) {
        found = found || run->models[i].stop_reason == PHL_STOP_INTERRUPTED;
    }
    return found;
}

static phl_file_options every_iteration(void)
{
    phl_file_options file;
    phl_file_options_init(&file);
    file.checkpoint_seconds = 0;
    return file;
}

/* ---- Tests ---------------------------------------------------------------------------------- */

/* Undisturbed: the same as without a file, however often it is kept. */
static void test_undisturbed(void **state)
{
    (void)state;
    phl_forest *forest = symm_forest(1, 10);
    for (size_t s = 0; s < N_SETTINGS; s++) {
        phl_train_options options = options_of(&settings[s]);
        phl_run *expected = train_plainly(forest, &options);
        for (int often = 0; often < 2; often++) {
            phl_file_options file = every_iteration();
            struct stopper never = {0};
            phl_run *run = NULL;
            file.checkpoint_seconds = often ? 0 : 1000;
            file.replace = often;
            must(train_into(forest, &settings[s], in_folder("a.run"), &file, &never, &run, error));
            check_run(&settings[s], expected, run, in_folder("a.run"));
            phl_run_free(run);
            /* Nothing is left to do. */
            must(resume(in_folder("a.run"), 1, 0, &never, &run, error));
            check_run(&settings[s], expected, run, in_folder("a.run"));
            phl_run_free(run);
        }
        empty_folder();
        phl_run_free(expected);
    }
    phl_forest_free(forest);
}

/* Cancelled again and again at random iterations, resumed with other numbers of threads. */
static void test_cancelled(void **state)
{
    (void)state;
    phl_forest *forest = symm_forest(1, 10);
    phl_rng rng;
    phl_rng_init(&rng, SEED, 1, 0, 0, 0);
    for (size_t s = 0; s < N_SETTINGS; s++) {
        phl_train_options options = options_of(&settings[s]);
        phl_run *expected = train_plainly(forest, &options);
        for (int attempt = 0; attempt < 4; attempt++) {
            const char *path = in_folder("a.run");
            phl_file_options file = every_iteration();
            phl_run *run = NULL;
            struct stopper stopper = {.left = 1 + phl_rng_bounded(&rng, 12)};
            file.checkpoint_seconds = attempt % 2 == 0 ? 0 : 1000;
            must(train_into(forest, &settings[s], path, &file, &stopper, &run, error));
            for (int i = 0; is_interrupted(run) && i < 100; i++) {
                assert_int_equal(entries_in(folder), 1);
                phl_run_free(run);
                stopper = (struct stopper){.left = 1 + phl_rng_bounded(&rng, 12)};
                must(resume(path, 1 + (int)phl_rng_bounded(&rng, 3), 0, &stopper, &run, error));
            }
            check_rhat(run, &stopper);
            check_run(&settings[s], expected, run, path);
            phl_run_free(run);
            empty_folder();
        }
        phl_run_free(expected);
    }
    phl_forest_free(forest);
}

/* In a process of its own, which ends without notice after `left` iterations: is that what
 * happened? */
static bool killed_in(const phl_forest *forest, const struct setting *setting, const char *path,
                      size_t left)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        phl_file_options file = every_iteration();
        struct stopper stopper = {.left = left, .kill = true};
        phl_run *run = NULL;
        phl_error error = {0};
        phl_status status = forest != NULL
                                ? train_into(forest, setting, path, &file, &stopper, &run, &error)
                                : resume(path, 1, 0, &stopper, &run, &error);
        _exit(status == PHL_OK ? 0 : 1);
    }
    int ended = 0;
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFEXITED(ended));
    assert_true(WEXITSTATUS(ended) == 0 || WEXITSTATUS(ended) == 9);
    return WEXITSTATUS(ended) == 9;
}

static void test_killed(void **state)
{
    (void)state;
    phl_forest *forest = symm_forest(1, 10);
    phl_rng rng;
    phl_rng_init(&rng, SEED, 2, 0, 0, 0);
    for (size_t s = 0; s < N_SETTINGS; s++) {
        phl_train_options options = options_of(&settings[s]);
        phl_run *expected = train_plainly(forest, &options);
        for (int attempt = 0; attempt < 3; attempt++) {
            const char *path = in_folder("a.run");
            /* The file is made after the first iteration. */
            bool killed = killed_in(forest, &settings[s], path, 2 + phl_rng_bounded(&rng, 8));
            while (killed) {
                phl_run *unfinished = open_run(path); /* what is there can be read */
                assert_true(unfinished->n_trace > 0);
                assert_true(is_interrupted(unfinished));
                phl_run_free(unfinished);
                killed = killed_in(NULL, &settings[s], path, 1 + phl_rng_bounded(&rng, 8));
            }
            phl_run *run = open_run(path);
            check_run(&settings[s], expected, run, path);
            phl_run_free(run);
            empty_folder();
        }
        phl_run_free(expected);
    }
    phl_forest_free(forest);
}

/* A finished run goes on: the chains are those of a longer training, the draws kept so far stay. */
static void test_extended(void **state)
{
    (void)state;
    phl_forest *forest = symm_forest(1, 10);
    for (size_t s = 0; s < N_SETTINGS; s++) {
        const struct setting *setting = &settings[s];
        const char *path = in_folder("a.run");
        phl_file_options file = every_iteration();
        struct stopper never = {0};
        phl_run *first = NULL, *second = NULL;
        phl_error failure = {0};
        bool sampled = setting->kind == PHL_TF && (!setting->partition || setting->soft);
        must(train_into(forest, setting, path, &file, &never, &first, error));
        assert_int_equal(resume(path, 1, setting->iterations - 1, &never, &second, &failure),
                         PHL_ERR_ARGUMENT);
        /* Killed on the way, the longer end is not forgotten; nor is one extension over another. */
        pid_t child = fork();
        if (child == 0) {
            struct stopper stopper = {.left = 2, .kill = true};
            _exit(resume(path, 1, setting->iterations + 4, &stopper, &second, &failure) == PHL_OK
                      ? 0
                      : 1);
        }
        int ended = 0;
        assert_int_equal(waitpid(child, &ended, 0), child);
        must(resume(path, 2, setting->iterations + 7, &never, &second, error));
        phl_train_options longer = options_of(setting);
        longer.warmup = longer.anneal_end = setting->iterations / 2;
        longer.iterations = setting->iterations + 7;
        if (sampled && !setting->soft) {
            longer.keep = longer.iterations;
        }
        phl_run *expected = train_plainly(forest, &longer);
        for (size_t i = 0; i < second->n_models; i++) {
            const phl_model *model = &second->models[i], *old = &first->models[i];
            assert_int_equal(model->stop_reason, expected->models[i].stop_reason);
            /* 3 draws per chain at first, 3 of 4 more iterations, 3 of 3 more. */
            assert_int_equal(model->n_draws, sampled ? 3 * old->n_draws : 1);
            for (size_t d = 0; sampled && d < old->n_draws; d++) {
                size_t at = d / 3 * 9 + d % 3;
                assert_int_equal(model->draws[at].chain, old->draws[d].chain);
                assert_int_equal(model->draws[at].iteration, old->draws[d].iteration);
                assert_memory_equal(model->draws[at].params->prior, old->draws[d].params->prior,
                                    sizeof(double) * 3);
            }
        }
        /* Soft stages begin later in a training that was longer from the start. */
        forget_seconds(second);
        forget_seconds(expected);
        if (!setting->soft) {
            assert_int_equal(second->n_trace, expected->n_trace);
            for (size_t i = 0; i < second->n_trace; i++) {
                assert_memory_equal(&second->trace[i], &expected->trace[i], sizeof *second->trace);
            }
        }
        phl_run_free(first);
        phl_run_free(second);
        phl_run_free(expected);
        empty_folder();
    }
    phl_forest_free(forest);
}

static const char *watched;

/* While a training is at work: its run can be read, and no other training gets hold of it. */
static void look_at_watched(void)
{
    phl_error failure = {0};
    phl_run *run = NULL;
    struct stopper never = {0};
    phl_forest *forest = symm_forest(2, 8);
    phl_file_options file = every_iteration();
    must(phl_run_open(watched, &run, error));
    assert_true(run->n_trace > 0 && is_interrupted(run));
    phl_run_free(run);
    assert_int_equal(resume(watched, 1, 0, &never, &run, &failure), PHL_ERR_WRITE);
    assert_non_null(strstr(failure.message, "another training is at work"));
    assert_int_equal(train_into(forest, &settings[0], watched, &file, &never, &run, &failure),
                     PHL_ERR_WRITE);
    assert_non_null(strstr(failure.message, "exists already"));
    file.replace = true;
    assert_int_equal(train_into(forest, &settings[0], watched, &file, &never, &run, &failure),
                     PHL_ERR_WRITE);
    assert_non_null(strstr(failure.message, "another training is at work"));
    phl_forest_free(forest);
}

static void test_one_at_a_time(void **state)
{
    (void)state;
    phl_forest *forest = symm_forest(1, 10);
    phl_file_options file = every_iteration();
    struct stopper stopper = {.left = 4, .look = look_at_watched};
    phl_run *run = NULL;
    watched = in_folder("watched.run");
    must(train_into(forest, &settings[5], watched, &file, &stopper, &run, error));
    assert_true(is_interrupted(run));
    phl_run_free(run);
    stopper = (struct stopper){0};
    must(resume(watched, 1, 0, &stopper, &run, error));
    phl_train_options options = options_of(&settings[5]);
    phl_run *expected = train_plainly(forest, &options);
    check_run(&settings[5], expected, run, watched);
    phl_run_free(run);
    phl_run_free(expected);
    phl_forest_free(forest);
}

/* Without its trees a run asks for them, and takes no others. */
static void test_trees(void **state)
{
    (void)state;
    const struct setting *setting = &settings[6];
    const char *path = in_folder("a.run");
    phl_forest *forest = symm_forest(1, 10), *other = symm_forest(2, 8);
    phl_file_options file = every_iteration();
    struct stopper stopper = {.left = 5};
    phl_resume_options options;
    phl_run *run = NULL;
    phl_error failure = {0};
    file.no_embed = true;
    must(train_into(forest, setting, path, &file, &stopper, &run, error));
    phl_run_free(run);
    run = NULL;
    phl_resume_options_init(&options);
    assert_int_equal(phl_resume(path, &options, &run, &failure), PHL_ERR_ARGUMENT);
    assert_non_null(strstr(failure.remedy, "resume.forest"));
    options.forest = other;
    assert_int_equal(phl_resume(path, &options, &run, &failure), PHL_ERR_CHANGED);
    assert_int_equal(phl_status_group(PHL_ERR_CHANGED), PHL_GROUP_DATA);
    options.forest = forest;
    must(phl_resume(path, &options, &run, error));
    phl_train_options train = options_of(setting);
    phl_run *expected = train_plainly(forest, &train);
    check_run(setting, expected, run, path);
    /* A run that was merely saved has nothing to go on from. */
    const char *saved = in_folder("saved.run");
    save(expected, saved);
    options.iterations = 100;
    phl_run *none = NULL;
    assert_int_equal(phl_resume(saved, &options, &none, &failure), PHL_ERR_ARGUMENT);
    assert_non_null(strstr(failure.message, "no checkpoint"));
    assert_int_equal(phl_resume(in_folder("missing.run"), &options, &none, &failure), PHL_ERR_OPEN);
    phl_run_free(run);
    phl_run_free(expected);
    phl_forest_free(forest);
    phl_forest_free(other);
}

/* No room on the disk, sooner or later: an old file stays as long as there is no new one, and what
 * is there can be resumed.  The limit on the size of files stands for a full disk. */
static void test_no_room(void **state)
{
    (void)state;
    const struct setting *setting = &settings[5];
    phl_forest *forest = symm_forest(1, 10);
    phl_train_options options = options_of(setting);
    phl_run *expected = train_plainly(forest, &options);
    phl_run *old = random_run(&shapes[A_SP], 1, false);
    struct rlimit limit, small;
    size_t intact = 0, resumed = 0;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    phl_status status = PHL_ERR_WRITE;
    for (rlim_t room = 4096; status != PHL_OK; room += 7000) {
        const char *path = in_folder("a.run");
        phl_file_options file = every_iteration();
        struct stopper never = {0};
        phl_run *run = NULL;
        phl_error failure = {0};
        file.replace = true;
        save(old, path);
        small = limit;
        small.rlim_cur = room;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        status = train_into(forest, setting, path, &file, &never, &run, &failure);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        if (status == PHL_OK) {
            check_run(setting, expected, run, path);
            phl_run_free(run);
            break;
        }
        assert_int_equal(status, PHL_ERR_WRITE);
        assert_string_equal(failure.file, path);
        assert_non_null(strstr(failure.message, "cannot write"));
        phl_run *found = open_run(path);
        if (found->kind == PHL_SP) {
            assert_null(difference(old, found));
            assert_int_equal(entries_in(folder), 1);
            intact++;
        } else if (found->n_trace > 0) {
            assert_non_null(strstr(failure.remedy, "phl_resume"));
            must(resume(path, 1, 0, &never, &run, error));
            check_run(setting, expected, run, path);
            phl_run_free(run);
            resumed++;
        }
        phl_run_free(found);
        empty_folder();
    }
    print_message("no room: %zu old files intact, %zu trainings resumed\n", intact, resumed);
    assert_true(intact > 0 && resumed > 0);
    (void)signal(SIGXFSZ, before);
    phl_run_free(old);
    phl_run_free(expected);
    phl_forest_free(forest);
}

/* Flipped bits in the file of an interrupted training: resuming is refused, or gives the same. */
static void test_damaged(void **state)
{
    (void)state;
    const struct setting *setting = &settings[6];
    const char *path = in_folder("a.run");
    phl_forest *forest = symm_forest(1, 10);
    phl_train_options options = options_of(setting);
    phl_run *expected = train_plainly(forest, &options);
    phl_file_options file = every_iteration();
    struct stopper stopper = {.left = 33};
    phl_run *run = NULL;
    phl_error failure = {0};
    phl_rng rng;
    size_t size = 0, refused = 0;
    must(train_into(forest, setting, path, &file, &stopper, &run, error));
    assert_true(is_interrupted(run));
    phl_run_free(run);
    unsigned char *bytes = read_bytes(path, &size);
    phl_rng_init(&rng, SEED, 3, 0, 0, 0);
    for (int i = 0; i < 200; i++) {
        size_t bit = phl_rng_bounded(&rng, 8 * size);
        struct stopper never = {0};
        empty_folder();
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        write_bytes(path, bytes, size);
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        run = NULL;
        phl_status status = resume(path, 1, 0, &never, &run, &failure);
        if (status == PHL_OK) {
            check_run(setting, expected, run, path);
            phl_run_free(run);
        } else {
            assert_int_equal(phl_status_group(status), PHL_GROUP_DATA);
            refused++;
        }
    }
    print_message("200 flipped bits: %zu refused\n", refused);
    assert_true(refused > 20);
    test_free(bytes);
    phl_run_free(expected);
    phl_forest_free(forest);
}

/* A checkpoint that no training of these options makes. */
struct foreign {
    bool soft;           /* clustering is, that of the training is hard */
    uint32_t slot, size; /* active slots of that number and size; 0: none */
    size_t n_hidden;
};

static phl_status restore_foreign(struct phl_training *training, void *context, phl_error *error)
{
    const struct foreign *foreign = context;
    phl_train_task *task = &training->tasks[0];
    uint32_t states = training->options.states, block[8] = {0, 1};
    double matrix[16] = {0};
    phl_axis axis = {.slot = foreign->slot, .size = foreign->size};
    axis.block = foreign->soft ? NULL : block;
    axis.matrix = foreign->soft ? matrix : NULL;
    phl_train_task_state *from = phl_alloc_zero(1, sizeof *from, error);
    task->from = from;
    from->iteration = 2;
    from->alpha = from->alpha0 = 1;
    from->log_lambda0 = phl_alloc_zero(states, sizeof *from->log_lambda0, error);
    from->n_hidden = foreign->n_hidden;
    from->hidden = phl_alloc_zero(from->n_hidden, sizeof *from->hidden, error);
    phl_status status = phl_params_create(PHL_TF, states, training->forest->max_slot,
                                          (uint32_t)training->forest->labels.count, &axis,
                                          foreign->slot != 0, 0, &from->params, error);
    if (status == PHL_OK) {
        from->params->soft = foreign->soft;
    }
    return status;
}

static phl_status save_nothing(const struct phl_train_task *task, const phl_train_task_state *at,
                               void *context, phl_error *error)
{
    (void)task;
    (void)at;
    (void)context;
    (void)error;
    return PHL_OK;
}

/* Refused in words, whoever made it. */
static void test_foreign(void **state)
{
    (void)state;
    static const struct {
        phl_sampler sampler;
        struct foreign foreign;
        const char *said;
    } cases[] = {
        {PHL_SAMPLER_PAPER, {true, 0, 0, 9}, "the active slots of the checkpoint"},
        {PHL_SAMPLER_PAPER, {true, 1, 2, 9}, "the active slots of the checkpoint"},
        {PHL_SAMPLER_PAPER, {false, 3, 2, 9}, "the active slots of the checkpoint"},
        {PHL_SAMPLER_PAPER, {false, 1, 2, 8}, "the hidden states of the checkpoint"},
        {PHL_SAMPLER_BLOCKED, {true, 1, 2, 0}, "the active slots of the checkpoint"},
        {PHL_SAMPLER_BLOCKED, {false, 3, 2, 0}, "the active slots of the checkpoint"},
        {PHL_SAMPLER_BLOCKED, {false, 1, 2, 9}, "the hidden states of the checkpoint"},
    };
    phl_forest *forest = trees("(a (b) (a))\n(a (a) (b))\n(b (b) _ (a))\n"); /* slot 3: rare */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct foreign foreign = cases[i].foreign;
        phl_train_options options = options_of(&settings[5]);
        options.chains = 1;
        options.slot_support = 0.5;
        options.sampler = cases[i].sampler;
        phl_keeper keeper = {.restore = restore_foreign, .save = save_nothing, .context = &foreign};
        phl_run *run = NULL;
        phl_error failure = {0};
        assert_int_equal(phl_train_kept(forest, &options, NULL, 0, &keeper, &run, &failure),
                         PHL_ERR_SYNTAX);
        assert_non_null(strstr(failure.message, cases[i].said));
    }
    phl_forest_free(forest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* Those that fork come first: threads do not survive it. */
        cmocka_unit_test_setup(test_killed, start_empty),
        cmocka_unit_test_setup(test_undisturbed, start_empty),
        cmocka_unit_test_setup(test_no_room, start_empty),
        cmocka_unit_test_setup(test_one_at_a_time, start_empty),
        cmocka_unit_test_setup(test_extended, start_empty),
        cmocka_unit_test_setup(test_cancelled, start_empty),
        cmocka_unit_test_setup(test_trees, start_empty),
        cmocka_unit_test_setup(test_damaged, start_empty),
        cmocka_unit_test(test_foreign),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
