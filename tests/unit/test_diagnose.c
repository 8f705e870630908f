/* test_diagnose.c - verdicts on planted runs: chains whose law is known, restarts of EM. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "task_models.h"
#include "train/convergence.h"

enum { WARMUP = 50, DRAWS = 300, CHAINS = 4 };

/* ---- planting ---- */

/* Standard normal, a pure function of chain, iteration and what it is for. */
static double noise(uint32_t chain, uint64_t iteration, uint64_t purpose)
{
    phl_rng rng;
    phl_rng_init(&rng, 42, 0x6469616e, purpose, chain, iteration);
    return phl_convergence_normal_quantile(phl_rng_uniform(&rng));
}

static phl_train_options sampled(size_t iterations, size_t warmup, bool soft)
{
    phl_train_options options;
    phl_train_options_init(&options);
    options.kind = PHL_TF;
    options.learner = PHL_LEARNER_GIBBS;
    options.iterations = iterations;
    options.warmup = warmup;
    options.soft = soft;
    return options;
}

static phl_run *planted_run(void)
{
    phl_run *run = empty_run(PHL_TF, 2, 3, 2, NULL, 0);
    phl_train_options options = sampled(WARMUP + DRAWS, WARMUP, false);
    must(phl_run_set_options(run, &options, NULL, 0, error));
    run->models[0].stop_reason = PHL_STOP_ITERATIONS;
    return run;
}

static void plant(phl_run *run, phl_trace_row row)
{
    must(phl_run_add_trace(run, &row, error));
}

/* A chain of warm-up rows far away, and `draws` rows around `centre`, the log-likelihood. */
static void plant_chain(phl_run *run, uint32_t chain, size_t draws, double centre, uint32_t active)
{
    for (uint64_t i = 1; i <= WARMUP + draws; i++) {
        bool warm = i <= WARMUP;
        plant(run, (phl_trace_row){.chain = chain,
                                   .iteration = i,
                                   .temperature = i <= WARMUP / 2 ? 5.0 : 1.0,
                                   .log_joint = (warm ? -1e6 : -150.0) + noise(chain, i, 0),
                                   .log_likelihood = (warm ? -1e6 : centre) + noise(chain, i, 1),
                                   .active = warm ? 9 : active,
                                   .sum_size = 3 + (noise(chain, i, 2) > 1.0),
                                   .tried = {10, 2, warm ? 7 : 0, 0},
                                   .changed = {warm ? 10 : 1, 0, 0, 0}});
    }
}

static phl_diagnosis diagnose(phl_run *run, bool allow_few)
{
    phl_diagnose_options options;
    phl_diagnosis made = {0};
    phl_diagnose_options_init(&options);
    options.allow_few = allow_few;
    must(phl_trace_order(run, error)); /* rows were planted as it came */
    must(phl_diagnose(run, &options, &made, error));
    assert_int_equal(made.n_classes, 1);
    assert_int_equal(made.trouble, made.classes[0].trouble);
    bool any = false; /* a finding of trouble, and trouble comes first */
    for (size_t f = 0; f < made.classes[0].n_findings; f++) {
        const phl_finding *finding = &made.classes[0].findings[f];
        assert_true(!finding->trouble || f == 0 || made.classes[0].findings[f - 1].trouble);
        any = any || finding->trouble;
    }
    assert_int_equal(any, made.trouble);
    return made;
}

/* Is there a finding that begins so? */
static bool found(const phl_diagnosis *diagnosis, bool trouble, const char *begin)
{
    for (size_t f = 0; f < diagnosis->classes[0].n_findings; f++) {
        const phl_finding *finding = &diagnosis->classes[0].findings[f];
        if (finding->trouble == trouble && strncmp(finding->text, begin, strlen(begin)) == 0) {
            return true;
        }
    }
    return false;
}

static void done(phl_diagnosis *diagnosis, phl_run *run)
{
    phl_diagnosis_clear(diagnosis);
    assert_int_equal(diagnosis->n_classes, 0);
    phl_run_free(run);
}

/* ---- Gibbs ---- */

static void test_fine(void **state)
{
    (void)state;
    phl_run *run = planted_run();
    for (uint32_t c = 0; c < CHAINS; c++) {
        plant_chain(run, c, DRAWS, -100.0, 2);
    }
    phl_diagnosis d = diagnose(run, false);
    const phl_class_diagnosis *one = &d.classes[0];
    assert_false(d.trouble);
    assert_int_equal(one->n_findings, 0);
    assert_string_equal(d.summary, "fine, 4 chains agree");
    assert_true(isnan(one->overlap_between)); /* no draw was kept */
    assert_int_equal(d.learner, PHL_LEARNER_GIBBS);
    assert_int_equal(one->n_compared, CHAINS);
    assert_int_equal(one->draws, DRAWS);
    assert_int_equal(one->warmup, WARMUP);
    assert_int_equal(one->modes, 1);
    assert_null(one->class_name);
    assert_int_equal(one->quantities[PHL_LOG_JOINT].verdict, PHL_FINE);
    assert_int_equal(one->quantities[PHL_ACTIVE_SLOTS].verdict, PHL_CONSTANT);
    assert_int_equal(one->quantities[PHL_SUM_OF_SIZES].verdict, PHL_FINE);
    check_close(one->quantities[PHL_ACTIVE_SLOTS].mean, 2.0, 1e-15);
    check_close(one->quantities[PHL_LOG_JOINT].mean, -150.0, 0.002);
    assert_true(one->quantities[PHL_LOG_JOINT].ess_bulk > 900.0);
    check_close(one->chains[3].mean[PHL_LOG_LIKELIHOOD], -100.0, 0.01);
    check_close(one->chains[3].sd[PHL_LOG_JOINT], 1.0, 0.2);
    /* Moves of the warm-up do not count. */
    assert_int_equal(one->n_moves, 4);
    assert_string_equal(one->moves[0].name, "reassign");
    assert_int_equal(one->moves[0].tried, 10 * CHAINS * DRAWS);
    assert_int_equal(one->moves[0].changed, CHAINS * DRAWS);
    assert_int_equal(one->moves[2].tried, 0);
    done(&d, run);
}

/* TESTING 10: a chain stuck in another mode is called out. */
static void test_other_mode(void **state)
{
    (void)state;
    phl_run *run = planted_run();
    for (uint32_t c = 0; c < CHAINS; c++) {
        plant_chain(run, c, DRAWS, c == 2 ? -90.0 : -100.0, 2);
    }
    phl_diagnosis d = diagnose(run, false);
    assert_true(d.trouble);
    assert_true(found(&d, true, "chains disagree on log-likelihood (R-hat 1."));
    assert_true(found(&d, true, "the chains have settled in 2 places, by log-likelihood"));
    assert_non_null(strstr(d.classes[0].findings[1].text, ": chain 2 around -90"));
    assert_true(found(&d, false, "predictions average over the chains"));
    assert_string_equal(d.summary, d.classes[0].summary);
    assert_int_equal(strncmp(d.summary, "trouble, chains disagree on log-", 32), 0);
    assert_int_equal(d.classes[0].quantities[PHL_LOG_JOINT].verdict, PHL_FINE);
    assert_int_equal(d.classes[0].quantities[PHL_LOG_LIKELIHOOD].verdict, PHL_DISAGREE);
    assert_int_equal(d.classes[0].modes, 2);
    assert_int_equal(d.classes[0].chains[2].mode, 1);
    assert_int_equal(d.classes[0].chains[3].mode, 2);
    assert_non_null(strstr(d.classes[0].findings[0].advice, "more chains"));
    done(&d, run);
}

/* The log-joint, with its redundant states, is a note. */
static void test_joint(void **state)
{
    (void)state;
    phl_run *run = planted_run();
    for (uint32_t c = 0; c < CHAINS; c++) {
        plant_chain(run, c, DRAWS, -100.0, 2);
    }
    for (size_t i = 0; i < run->n_trace; i++) {
        run->trace[i].log_joint -= 500.0 * (double)run->trace[i].chain;
    }
    phl_diagnosis d = diagnose(run, false);
    assert_false(d.trouble);
    assert_int_equal(d.classes[0].quantities[PHL_LOG_JOINT].verdict, PHL_DISAGREE);
    assert_int_equal(d.classes[0].modes, 1);
    assert_int_equal(d.classes[0].n_findings, 1);
    assert_true(found(&d, false, "the log-joint (R-hat "));
    done(&d, run);
}

/* Up to three nats between chains: with a thousand trees nothing, with one tree trouble. */
static void test_slight(void **state)
{
    (void)state;
    static const double weights[] = {0.0, 1.0, 1000.0};
    for (size_t i = 0; i < 3; i++) {
        phl_run *run = planted_run();
        run->models[0].weight = weights[i];
        for (uint32_t c = 0; c < CHAINS; c++) {
            plant_chain(run, c, DRAWS, -100.0 - c, 2);
        }
        phl_diagnosis d = diagnose(run, false);
        assert_int_equal(d.trouble, i < 2);
        assert_int_equal(d.classes[0].quantities[PHL_LOG_LIKELIHOOD].verdict,
                         i < 2 ? PHL_DISAGREE : PHL_SLIGHT);
        done(&d, run);
    }
}

/* Chains that have one value in nine of ten draws agree; in eight of ten, or another one, they do
 * not. */
static void test_nearly_constant(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        phl_run *run = planted_run();
        for (uint32_t c = 0; c < CHAINS; c++) {
            plant_chain(run, c, DRAWS, -100.0, 2);
        }
        for (size_t k = 0; k < run->n_trace; k++) {
            phl_trace_row *row = &run->trace[k];
            bool late = row->iteration > WARMUP + (i < 2 ? 92 : 80) * DRAWS / 100;
            row->sum_size = 5u + (row->chain == 1 && late) + (i == 3 && row->chain == 2) +
                            (i == 1 && row->chain == 0 && row->iteration == WARMUP + 3);
        }
        phl_diagnosis d = diagnose(run, false);
        phl_verdict verdict = d.classes[0].quantities[PHL_SUM_OF_SIZES].verdict;
        assert_int_equal(verdict, i < 2 ? PHL_SLIGHT : PHL_DISAGREE);
        assert_int_equal(d.trouble, i >= 2);
        done(&d, run);
    }
}

/* A chain that rises while its draws are kept is named; a stationary one is not. */
static void test_climbing(void **state)
{
    (void)state;
    phl_run *run = planted_run();
    for (uint32_t c = 0; c < CHAINS; c++) {
        plant_chain(run, c, DRAWS, -100.0, 2);
    }
    for (size_t i = 0; i < run->n_trace; i++) {
        phl_trace_row *row = &run->trace[i];
        row->log_likelihood += row->chain == 1 ? 0.05 * (double)(row->iteration - WARMUP) : 0.0;
        row->log_likelihood -= row->chain == 3 ? 0.05 * (double)(row->iteration - WARMUP) : 0.0;
    }
    phl_diagnosis d = diagnose(run, false);
    const phl_chain_diagnosis *chains = d.classes[0].chains;
    assert_true(found(&d, true, "chain 1 is still climbing: from the first quarter of the draws"));
    assert_false(chains[0].climbing);
    assert_true(chains[1].climbing);
    assert_false(chains[3].climbing); /* it fell */
    check_close(chains[1].drift, 0.05 * 0.75 * DRAWS, 0.05);
    check_close(chains[3].drift, -0.05 * 0.75 * DRAWS, 0.05);
    assert_true(fabs(chains[0].drift) < 0.6); /* sd 0.16 */
    done(&d, run);
}

static void test_stuck(void **state)
{
    (void)state;
    phl_run *run = planted_run();
    for (uint32_t c = 0; c < CHAINS; c++) {
        plant_chain(run, c, DRAWS, -100.0, 1 + c / 2);
    }
    phl_diagnosis d = diagnose(run, false);
    assert_true(d.trouble);
    assert_true(found(&d, true, "chains are stuck at different values of active slots"));
    assert_int_equal(d.classes[0].quantities[PHL_ACTIVE_SLOTS].verdict, PHL_STUCK);
    assert_true(isinf(d.classes[0].quantities[PHL_ACTIVE_SLOTS].rhat));
    done(&d, run);
}

static void test_few_chains(void **state)
{
    (void)state;
    for (uint32_t chains = 1; chains < 4; chains += 2) {
        phl_run *run = planted_run();
        for (uint32_t c = 0; c < chains; c++) {
            plant_chain(run, c, DRAWS, -100.0, 2);
        }
        phl_diagnosis d = diagnose(run, false);
        assert_true(found(&d, true, chains == 1 ? "1 chain: fewer" : "3 chains: fewer"));
        assert_int_equal(d.classes[0].n_findings, 1);
        phl_diagnosis_clear(&d);
        d = diagnose(run, true);
        assert_false(d.trouble);
        done(&d, run);
    }
}

static void test_few_draws(void **state)
{
    (void)state;
    phl_run *run = planted_run();
    for (uint32_t c = 0; c < CHAINS; c++) {
        plant_chain(run, c, DRAWS, -100.0, 2);
    }
    for (size_t i = 0; i < run->n_trace; i++) { /* waves: four in each chain, two in each half */
        run->trace[i].log_likelihood =
            sin((double)run->trace[i].iteration * 2.0 * acos(-1.0) / 75.0);
    }
    phl_diagnosis d = diagnose(run, false);
    assert_true(d.trouble);
    assert_int_equal(d.classes[0].quantities[PHL_LOG_LIKELIHOOD].verdict, PHL_FEW_DRAWS);
    assert_int_equal(d.classes[0].quantities[PHL_LOG_JOINT].verdict, PHL_FINE);
    assert_true(found(&d, true, "draws are too correlated"));
    done(&d, run);

    run = planted_run(); /* still warming up */
    for (uint32_t c = 0; c < CHAINS; c++) {
        plant_chain(run, c, 5, -100.0, 2);
        run->n_trace -= 5;
    }
    run->models[0].stop_reason = PHL_STOP_INTERRUPTED;
    d = diagnose(run, false);
    assert_true(found(&d, true, "0 draws per chain after the warm-up of 50 iterations"));
    assert_true(found(&d, false, "training is not finished"));
    assert_int_equal(d.classes[0].n_chains, CHAINS);
    assert_int_equal(d.classes[0].chains[0].iterations, WARMUP);
    assert_true(isnan(d.classes[0].quantities[PHL_LOG_JOINT].rhat));
    done(&d, run);
}

/* A chain that has only begun is left out; others are cut to the same length; rows may come in any
 * order and, after a resume, twice. */
static void test_unequal_chains(void **state)
{
    (void)state;
    phl_run *run = planted_run();
    plant_chain(run, 4, 20, -500.0, 2);
    for (uint32_t c = CHAINS; c-- > 0;) {
        plant_chain(run, c, DRAWS - 10 * c, -100.0, 2);
    }
    phl_trace_row again = run->trace[run->n_trace - 1];
    assert_int_equal(again.chain, 0);
    run->trace[run->n_trace - 1].log_joint = 1e6; /* made void by the row that follows */
    plant(run, again);
    phl_diagnosis d = diagnose(run, false);
    assert_false(d.trouble);
    assert_true(found(&d, false, "1 of 5 chains is left out"));
    assert_int_equal(d.classes[0].draws, DRAWS - 30);
    assert_int_equal(d.classes[0].n_compared, 4);
    assert_int_equal(d.classes[0].chains[0].draws, DRAWS);
    assert_false(d.classes[0].chains[4].compared);
    assert_int_equal(d.classes[0].chains[4].mode, 0);
    assert_true(isnan(d.classes[0].chains[4].mean[0]));
    check_close(d.classes[0].chains[0].log_joint, -150.0, 0.1);
    done(&d, run);
}

static void test_not_finite(void **state)
{
    (void)state;
    phl_run *run = planted_run();
    for (uint32_t c = 0; c < CHAINS; c++) {
        plant_chain(run, c, DRAWS, -100.0, 2);
    }
    run->trace[run->n_trace - 3].log_likelihood = -INFINITY;
    run->trace[run->n_trace - 2].log_joint = (double)NAN;
    phl_diagnosis d = diagnose(run, false);
    assert_true(found(&d, true, "some draws are not finite: log-joint, log-likelihood"));
    assert_int_equal(d.classes[0].modes, 0);
    done(&d, run);
}

/* A draw with one active slot, or none. */
static void add_slot_draw(phl_run *run, uint32_t chain, uint32_t slot, uint32_t n)
{
    uint32_t blocks[3] = {0, 1, 1};
    phl_axis axis = {.slot = slot, .size = 2, .block = blocks};
    phl_draw draw = {.chain = chain};
    must(phl_params_create(PHL_TF, 2, 3, 2, &axis, n, 0, &draw.params, error));
    must(phl_model_add_draw(&run->models[0], &draw, error));
}

/* The slots of most kept draws, chain by chain; how much they overlap; how often they are all that
 * may be. */
static void test_slots(void **state)
{
    (void)state;
    static const uint32_t used[] = {1, 3, 3, 1, 1}; /* slots of the draws; the last of chain 1 */
    phl_run *run = planted_run();
    run->options->slots_max = 1;
    for (uint32_t c = 0; c < CHAINS; c++) {
        plant_chain(run, c, DRAWS, -100.0, 1);
    }
    for (uint32_t i = 0; i < 5; i++) {
        add_slot_draw(run, i / 4, used[i], i == 3 ? 0 : 1);
    }
    phl_diagnosis d = diagnose(run, false);
    const phl_chain_diagnosis *chains = d.classes[0].chains;
    assert_false(d.trouble);
    /* Pairs of chain 0: slots {1} {3} {3} {} with overlaps 0, 0, 0, 1, 0, 0; of both: {1} with
     * those. */
    check_close(d.classes[0].overlap_within, 1.0 / 6.0, 1e-15);
    check_close(d.classes[0].overlap_between, 1.0 / 4.0, 1e-15);
    assert_true(d.classes[0].slots_agree); /* as much as one chain with itself */
    check_close(d.classes[0].slots_at_limit, 4.0 / 5.0, 1e-15);
    assert_true(found(&d, false, "in 80 % of the draws as many slots are active as "));
    assert_int_equal(chains[0].n_slots, 1);
    assert_int_equal(chains[0].slots[0], 3);
    assert_int_equal(chains[0].sizes[0], 2);
    assert_int_equal(chains[1].slots[0], 1);
    assert_null(chains[2].slots);
    done(&d, run);
}

/* Every chain has a slot of its own. */
static void test_slots_apart(void **state)
{
    (void)state;
    phl_run *run = planted_run();
    for (uint32_t c = 0; c < CHAINS; c++) {
        plant_chain(run, c, DRAWS, -100.0, 1);
        for (uint32_t i = 0; i < 3; i++) {
            add_slot_draw(run, c, 1 + c % 2, 1);
        }
    }
    phl_diagnosis d = diagnose(run, false);
    assert_false(d.trouble);
    check_close(d.classes[0].overlap_within, 1.0, 1e-15);
    check_close(d.classes[0].overlap_between, 1.0 / 3.0, 1e-15);
    assert_false(d.classes[0].slots_agree);
    assert_true(found(&d, false,
                      "chains use different slots: the active ones of two chains overlap "
                      "by 33 %, those of two draws of one chain by 100 %"));
    assert_true(found(&d, false, "predictions average over the chains"));
    done(&d, run);
}

/* Soft runs count what follows half of their second stage; extended ones where it first began. */
static void test_plans(void **state)
{
    (void)state;
    static const size_t earlier[] = {100, 200};
    static const struct {
        size_t iterations; /* 0: the run does not say how it was trained */
        bool soft;
        size_t n_earlier;
        uint64_t warmup;
    } cases[] = {
        {350, false, 0, 50},
        {100, true, 0, 125},
        {300, true, 2, 125},
        {300, false, 1, 50},
        {0, false, 0, (WARMUP + DRAWS) / 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        phl_run *run = empty_run(PHL_TF, 2, 3, 2, NULL, 0);
        phl_train_options options = sampled(cases[i].iterations, WARMUP, cases[i].soft);
        if (cases[i].iterations > 0) {
            must(phl_run_set_options(run, &options, earlier, cases[i].n_earlier, error));
        }
        for (uint32_t c = 0; c < CHAINS; c++) {
            plant_chain(run, c, DRAWS, -100.0, 2);
        }
        phl_diagnosis d = diagnose(run, false);
        assert_int_equal(d.classes[0].warmup, cases[i].warmup);
        assert_int_equal(d.classes[0].draws, WARMUP + DRAWS - cases[i].warmup);
        done(&d, run);
    }
}

static void test_nothing(void **state)
{
    (void)state;
    phl_run *run = planted_run();
    phl_diagnosis d = diagnose(run, true);
    assert_true(found(&d, true, "nothing was trained"));
    phl_diagnosis_clear(&d);
    add_random_draw(run, 0, 1, ROWS_PLAIN);
    d = diagnose(run, true);
    assert_true(found(&d, true, "the run holds no trace"));
    done(&d, run);
}

/* ---- EM ---- */

static phl_run *planted_em(size_t restarts, phl_stop_reason stop_reason)
{
    phl_run *run = empty_run(PHL_SP, 2, 3, 2, NULL, 0);
    phl_train_options options;
    phl_train_options_init(&options);
    options.kind = PHL_SP;
    options.learner = PHL_LEARNER_EM;
    options.iterations = 9;
    must(phl_run_set_options(run, &options, NULL, 0, error));
    run->models[0].stop_reason = stop_reason;
    run->models[0].iterations = 9;
    for (uint32_t r = 0; r < restarts; r++) {
        for (uint64_t i = 0; i < 10; i++) {
            double objective = i == 0 ? -INFINITY : -100.0 - r - 50.0 / (double)i;
            plant(run, (phl_trace_row){.chain = r,
                                       .iteration = i,
                                       .temperature = 1.0,
                                       .log_joint = objective,
                                       .log_likelihood = objective + 1.0});
        }
    }
    return run;
}

static void test_restarts(void **state)
{
    (void)state;
    phl_run *run = planted_em(3, PHL_STOP_TOLERANCE);
    phl_diagnosis d = diagnose(run, false);
    assert_false(d.trouble);
    assert_int_equal(d.learner, PHL_LEARNER_EM);
    assert_int_equal(d.classes[0].n_chains, 3);
    check_close(d.classes[0].spread, 2.0, 1e-12);
    check_close(d.classes[0].chains[1].log_joint, -101.0 - 50.0 / 9, 1e-15);
    assert_int_equal(d.classes[0].n_findings, 1);
    assert_true(
        found(&d, false, "restart 0 of 3 is the best, with -105.55556; the worst is 2 below"));
    assert_non_null(d.classes[0].findings[0].advice);
    done(&d, run);

    run = planted_em(1, PHL_STOP_ITERATIONS);
    d = diagnose(run, false);
    assert_false(d.trouble);
    assert_true(isnan(d.classes[0].spread));
    assert_true(found(&d, false, "there was one start only"));
    assert_true(found(&d, false, "stopped by the limit of 9 iterations"));
    done(&d, run);
}

static void test_em_trouble(void **state)
{
    (void)state;
    phl_run *run = planted_em(2, PHL_STOP_TOLERANCE);
    run->trace[15].log_joint = run->trace[14].log_joint - 1e-6;
    phl_diagnosis d = diagnose(run, false);
    assert_true(found(&d, true, "the objective of restart 1 fell from"));
    phl_diagnosis_clear(&d);
    run->trace[15].log_joint = run->trace[14].log_joint * (1.0 + 1e-12); /* rounding */
    run->trace[19].log_joint = -INFINITY;
    d = diagnose(run, false);
    assert_true(found(&d, true, "the objective of restart 1 fell from"));
    assert_true(found(&d, true, "the objective of restart 1 is not finite"));
    done(&d, run);
}

/* ---- classes ---- */

/* A start of a grammar of two classes, whose log p of the trees held out differ by what margins
 * [HELD] says: above 0 for the first class. */
enum { HELD = 20 };

static void plant_start(phl_run *run, size_t start, double splits, const double *margins)
{
    for (size_t c = 0; c < 2; c++) {
        phl_grammar_part *part = NULL;
        must(phl_grammar_part_create(2, &part, error));
        part->numbers[PHL_PART_PAIR] = 1.0;
        part->numbers[PHL_PART_STAGE] = splits;
        part->numbers[PHL_PART_HELD_OUT] = -0.5 - 0.01 * (double)start;
        part->numbers[PHL_PART_BEFORE] = -0.75;
        part->sizes[0] = 9;
        part->n_held = HELD;
        part->held = phl_alloc(HELD, sizeof *part->held, NULL);
        assert_non_null(part->held);
        for (size_t t = 0; t < HELD; t++) {
            part->held[t] = -30.0 + (c == 0 ? margins[t] : 0.0);
        }
        phl_draw draw = {.chain = start, .log_joint = part->numbers[PHL_PART_HELD_OUT]};
        must(phl_params_of_grammar(part, 16, 3, &draw.params, error));
        must(phl_model_add_draw(&run->models[c], &draw, error));
        plant(run, (phl_trace_row){.class_index = c,
                                   .chain = start,
                                   .iteration = 9,
                                   .temperature = 1.0,
                                   .log_joint = draw.log_joint,
                                   .log_likelihood = -1000.0});
    }
}

static phl_run *planted_grammar(void)
{
    static const char *const classes[] = {"left", "right"};
    phl_run *run = empty_run(PHL_GRAMMAR, 16, 3, 2, classes, 2);
    phl_train_options options;
    phl_train_options_init(&options);
    must(phl_run_set_options(run, &options, NULL, 0, error));
    return run;
}

/* Four starts: of each half one has the margins of `first` or `second`, the other none; the mean of
 * a half has half of them. */
static phl_diagnosis diagnose_halves(const double *first, const double *second, phl_run **run)
{
    static const double none[HELD] = {0.0};
    phl_diagnosis made = {0};
    *run = planted_grammar();
    plant_start(*run, 0, 3.0, first);
    plant_start(*run, 1, 0.0, none);
    plant_start(*run, 2, 3.0, none);
    plant_start(*run, 3, 3.0, second);
    must(phl_trace_order(*run, error));
    must(phl_diagnose(*run, NULL, &made, error));
    assert_int_equal(made.n_classes, 2);
    return made;
}

static void test_starts(void **state)
{
    (void)state;
    double first[HELD], second[HELD];
    for (size_t t = 0; t < HELD; t++) { /* 12 trees of the first class, 8 of the second */
        first[t] = t < 12 ? 2.0 : -2.0;
        second[t] = t < 3 ? -1.0 : t < 12 ? 2.0 : -2.0;
    }
    phl_run *run = NULL;
    phl_diagnosis d = diagnose_halves(first, second, &run);
    const phl_class_diagnosis *left = &d.classes[0], *right = &d.classes[1];
    /* log-odds of the halves are 1 and -1/2 for three trees, else the same; T = 1, no prior */
    double shift = (1.0 / (1.0 + exp(-1.0)) - 1.0 / (1.0 + exp(0.5))) * 3.0 / 12.0;
    assert_int_equal(left->answers, 12);
    check_close(left->answers_same, 9.0 / 12.0, 1e-15);
    check_close(left->answers_shift, shift, 1e-12);
    assert_int_equal(right->answers, 8);
    check_close(right->answers_same, 1.0, 1e-15);
    check_close(right->answers_shift, 0.0, 1e-15);
    assert_false(d.trouble);
    assert_string_equal(d.summary, "fine in all 2 classes");
    assert_string_equal(left->summary, "fine, 4 starts agree");
    assert_true(found(&d, false,
                      "starts agree on the class of a tree: of 12 trees held out that get this "
                      "class, 75 % get it from both halves of the starts"));
    assert_true(found(&d, false, "4 starts, whose figures on the trees held out differ by 0.03"));
    assert_true(
        found(&d, false, "start 0: split 3 was the last to gain on the trees held out, 0.25"));
    assert_true(found(&d, false, "start 1: no split of labels gained"));
    assert_true(found(&d, false, "a label has 9 annotations"));
    assert_int_equal(left->chains[0].splits, 3);
    check_close(left->chains[3].gain, 0.22, 1e-12);
    assert_true(isnan(left->chains[1].gain));
    done(&d, run);

    for (size_t t = 0; t < 12; t++) {
        second[t] = -1.0;
    }
    d = diagnose_halves(first, second, &run);
    check_close(d.classes[0].answers_shift, 4.0 * shift, 1e-12);
    check_close(d.classes[0].answers_same, 0.0, 1e-15);
    assert_true(d.trouble);
    assert_true(found(&d, true, "starts disagree on the class of a tree"));
    assert_non_null(d.classes[0].findings[0].advice);
    assert_false(d.classes[1].trouble);
    done(&d, run);

    run = planted_grammar(); /* one start cannot show it */
    plant_start(run, 0, 3.0, first);
    must(phl_trace_order(run, error));
    must(phl_diagnose(run, NULL, &d, error));
    assert_int_equal(d.classes[0].answers, 0);
    assert_true(isnan(d.classes[0].answers_same) && isnan(d.classes[0].answers_shift));
    assert_true(found(&d, false, "there was one start only"));
    assert_false(d.trouble);
    done(&d, run);
}

static void test_classes(void **state)
{
    (void)state;
    static const char *const classes[] = {"left", "right"};
    phl_run *run = empty_run(PHL_TF, 2, 3, 2, classes, 2);
    phl_train_options options_of_run = sampled(WARMUP + DRAWS, WARMUP, false);
    must(phl_run_set_options(run, &options_of_run, NULL, 0, error));
    for (uint32_t c = 0; c < CHAINS; c++) {
        size_t begin = run->n_trace;
        plant_chain(run, c, DRAWS, -100.0, 2);
        for (size_t i = begin; i < run->n_trace; i++) {
            run->trace[i].class_index = 1;
        }
    }
    phl_diagnosis d = {0};
    must(phl_diagnose(run, NULL, &d, error));
    assert_int_equal(d.n_classes, 2);
    assert_true(d.trouble);
    assert_true(d.classes[0].trouble);
    assert_false(d.classes[1].trouble);
    assert_string_equal(d.classes[1].class_name, "right");
    assert_string_equal(d.summary, "trouble in 1 of 2 classes");
    assert_string_equal(d.classes[1].summary, "fine, 4 chains agree");
    phl_diagnosis_clear(&d);
    phl_diagnose_options options;
    phl_diagnose_options_init(&options);
    options.class_index = 1;
    must(phl_diagnose(run, &options, &d, error));
    assert_int_equal(d.n_classes, 1);
    assert_false(d.trouble);
    assert_int_equal(d.classes[0].draws, DRAWS);
    phl_diagnosis_clear(&d);
    options.class_index = 2;
    assert_int_equal(phl_diagnose(run, &options, &d, NULL), PHL_ERR_ARGUMENT);
    phl_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fine),
        cmocka_unit_test(test_other_mode),
        cmocka_unit_test(test_joint),
        cmocka_unit_test(test_slight),
        cmocka_unit_test(test_nearly_constant),
        cmocka_unit_test(test_climbing),
        cmocka_unit_test(test_slots_apart),
        cmocka_unit_test(test_stuck),
        cmocka_unit_test(test_few_chains),
        cmocka_unit_test(test_few_draws),
        cmocka_unit_test(test_unequal_chains),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_slots),
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_restarts),
        cmocka_unit_test(test_em_trouble),
        cmocka_unit_test(test_starts),
        cmocka_unit_test(test_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
