/* diagnose.c - can a run be trusted?
 *
 * Contents: options and names, how the run was made, the classes.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "task/diagnosis.h"

/* ---- options and names ---- */

static const phl_diagnose_options defaults = {
    .size = sizeof(phl_diagnose_options),
    .class_index = SIZE_MAX,
};

void phl_diagnose_options_init_sized(phl_diagnose_options *options, size_t size)
{
    phl_options_fill(options, size, &defaults, sizeof defaults);
}

const char *phl_verdict_name(phl_verdict verdict)
{
    switch (verdict) {
    case PHL_FINE:
        return "fine";
    case PHL_CONSTANT:
        return "constant";
    case PHL_STUCK:
        return "stuck";
    case PHL_DISAGREE:
        return "disagree";
    case PHL_FEW_DRAWS:
        return "few draws";
    case PHL_NOT_FINITE:
        return "not finite";
    case PHL_SLIGHT:
        return "slight";
    }
    return "?";
}

/* ---- how the run was made ---- */

/* The second half of the longest chain counts in a run that does not say how long it warmed up. */
static uint64_t half_of_trace(const phl_run *run)
{
    uint64_t longest = 0;
    for (size_t i = 0; i < run->n_trace; i++) {
        longest = run->trace[i].iteration > longest ? run->trace[i].iteration : longest;
    }
    return longest / 2;
}

static phl_plan make_plan(const phl_run *run)
{
    const phl_train_options *options = run->options;
    if (options == NULL) {
        return (phl_plan){.gibbs = run->kind == PHL_TF, .schedule = {.warm = half_of_trace(run)}};
    }
    bool free = options->sizes == NULL && options->partition == NULL;
    return (phl_plan){.gibbs = options->learner == PHL_LEARNER_GIBBS,
                      .paper = options->sampler == PHL_SAMPLER_PAPER,
                      .slots_max = free ? options->slots_max : 0,
                      .schedule = phl_schedule_make(options, run->earlier, run->n_earlier)};
}

/* ---- the classes ---- */

static phl_status diagnose_class(const phl_model *model, const phl_plan *plan, bool allow_few,
                                 phl_class_diagnosis *made, phl_error *error)
{
    phl_rows_of_class rows = {0};
    rows.rows = phl_trace_of_class(model, &rows.n);
    made->class_name = phl_run_class_name(model->run, model->class_index);
    made->stop_reason = model->stop_reason;
    made->spread = (double)NAN;
    phl_status status = phl_diagnose_chains(model, plan, rows, made, error);
    if (status == PHL_OK) {
        status = phl_diagnose_slots(model, plan, made, error);
    }
    if (status == PHL_OK) {
        status = phl_diagnose_starts(model, made, error);
    }
    if (status == PHL_OK) {
        status = plan->gibbs ? phl_findings_gibbs(model, plan, allow_few, made, error)
                 : model->run->kind == PHL_GRAMMAR ? phl_findings_grammar(model, made, error)
                                                   : phl_findings_em(model, rows, made, error);
    }
    return status == PHL_OK ? phl_findings_sum_up(plan, made, error) : status;
}

phl_status phl_diagnose(const phl_run *run, const phl_diagnose_options *options,
                        phl_diagnosis *diagnosis, phl_error *error)
{
    phl_diagnose_options own;
    phl_status status =
        phl_options_take(&own, &defaults, sizeof own, options, "phl_diagnose", error);
    if (status != PHL_OK) {
        return status;
    }
    options = &own;
    if (run->kind == PHL_NO_KIND && run->head == NULL) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                         "the run holds an expert alone, which has no chains or restarts to "
                         "compare");
    }
    bool all = options->class_index == SIZE_MAX;
    if (!all && options->class_index >= run->n_models) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL, "class %zu of %zu", options->class_index,
                         run->n_models);
    }
    phl_plan plan = make_plan(run);
    phl_diagnosis made = {.learner = plan.gibbs ? PHL_LEARNER_GIBBS : PHL_LEARNER_EM};
    size_t n_models = run->kind == PHL_NO_KIND ? 0 : run->n_models; /* that learned something */
    made.classes = phl_alloc_zero(all ? n_models : 1, sizeof *made.classes, error);
    status = made.classes == NULL ? PHL_ERR_MEMORY : PHL_OK;
    if (status == PHL_OK) {
        status = phl_findings_head(run, &made.head, error);
        made.trouble = made.head.trouble;
    }
    for (size_t i = 0; status == PHL_OK && i < n_models; i++) {
        if (all || i == options->class_index) {
            phl_class_diagnosis *of_class = &made.classes[made.n_classes++];
            status = diagnose_class(&run->models[i], &plan, options->allow_few, of_class, error);
            made.trouble = made.trouble || of_class->trouble;
        }
    }
    if (status == PHL_OK) {
        status = phl_findings_sum_up_all(&made, error);
    }
    if (status != PHL_OK) {
        phl_diagnosis_clear(&made);
        return status;
    }
    *diagnosis = made;
    return PHL_OK;
}

static void clear_findings(phl_finding *findings, size_t n)
{
    for (size_t f = 0; f < n; f++) {
        phl_free(findings[f].text);
        phl_free(findings[f].advice);
    }
    phl_free(findings);
}

void phl_diagnosis_clear(phl_diagnosis *diagnosis)
{
    clear_findings(diagnosis->head.findings, diagnosis->head.n_findings);
    phl_free(diagnosis->head.summary);
    for (size_t i = 0; i < diagnosis->n_classes; i++) {
        phl_class_diagnosis *of_class = &diagnosis->classes[i];
        for (size_t c = 0; c < of_class->n_chains; c++) {
            phl_free(of_class->chains[c].slots);
            phl_free(of_class->chains[c].sizes);
        }
        clear_findings(of_class->findings, of_class->n_findings);
        phl_free(of_class->chains);
        phl_free(of_class->moves);
        phl_free(of_class->summary);
    }
    phl_free(diagnosis->summary);
    phl_free(diagnosis->classes);
    memset(diagnosis, 0, sizeof *diagnosis);
}
