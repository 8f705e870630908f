/* calibrated.c - from what models and head say to probabilities of classes; see calibrated.h. */
#include "model/calibrated.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/numeric.h"
#include "base/text.h"

/* Words in the facts of a run. */
static const char *const priors[] = {"uniform", "empirical", "learned"};
static const char *const rules[] = {"", "generative", "head", "both"};

phl_calibrated phl_calibrated_none(void)
{
    phl_calibrated none = {.temperature = 1.0, .weights = {0.5, 0.5}};
    for (size_t i = 0; i <= PHL_RULE_BOTH; i++) {
        none.figures[i] = (phl_rule_figure){(double)NAN, (double)NAN};
    }
    return none;
}

void phl_calibrated_clear(phl_calibrated *calibrated)
{
    phl_free(calibrated->log_prior);
    calibrated->log_prior = NULL;
}

/* ---------------------------------------------------------------------------------------------
 * Facts
 * ------------------------------------------------------------------------------------------- */

/* Numbers with spaces between them, as one fact. */
static phl_status record_numbers(phl_run *run, const char *key, const double *numbers, size_t n,
                                 phl_error *error)
{
    phl_text_writer writer = {{NULL, 0, 0}, PHL_OK, error};
    for (size_t i = 0; i < n; i++) {
        char digits[32];
        phl_text_of_double(numbers[i], digits);
        phl_text_put(&writer, i > 0 ? " " : "");
        phl_text_put(&writer, digits);
    }
    if (writer.status == PHL_OK) {
        writer.status = phl_text_append(&writer.text, "", 1, error);
    }
    phl_status status = writer.status == PHL_OK
                            ? phl_run_set_meta(run, key, writer.text.bytes, error)
                            : writer.status;
    phl_text_clear(&writer.text);
    return status;
}

/* Are there exactly n numbers, none of them infinite? */
static bool restore_numbers(const phl_run *run, const char *key, double *numbers, size_t n)
{
    const char *text = phl_run_meta(run, key);
    bool good = text != NULL;
    for (size_t i = 0; good && i < n; i++) {
        char *end = NULL;
        numbers[i] = strtod(text, &end);
        good = end != text && !isinf(numbers[i]);
        text = end;
    }
    return good && *text == '\0';
}

phl_status phl_calibrated_record(phl_run *run, const phl_calibrated *calibrated, phl_error *error)
{
    const phl_rule_figure *f = calibrated->figures;
    double held[1 + 2 * PHL_RULE_BOTH] = {(double)calibrated->trees};
    for (size_t i = 1; i <= PHL_RULE_BOTH; i++) {
        bool known = !isnan(f[i].log_loss); /* -1: not known */
        held[2 * i - 1] = known ? f[i].log_loss : -1.0;
        held[2 * i] = known ? f[i].accuracy : -1.0;
    }
    phl_status status = record_numbers(run, "temperature", &calibrated->temperature, 1, error);
    if (status == PHL_OK) {
        status = phl_run_set_meta(run, "class_prior", priors[calibrated->prior], error);
    }
    if (status == PHL_OK && calibrated->log_prior != NULL) {
        status = record_numbers(run, "log_prior", calibrated->log_prior, run->n_models, error);
    }
    if (status == PHL_OK && calibrated->rule != PHL_RULE_DEFAULT) {
        status = phl_run_set_meta(run, "rule", rules[calibrated->rule], error);
    }
    if (status == PHL_OK && run->head != NULL) {
        status = record_numbers(run, "rule_weights", calibrated->weights, 2, error);
    }
    return status == PHL_OK && calibrated->trees > 0
               ? record_numbers(run, "held_out", held, sizeof held / sizeof *held, error)
               : status;
}

/* Number of the word among n; n: it is none of them. */
static size_t find_word(const char *word, const char *const *words, size_t n)
{
    size_t i = word == NULL ? n : 0;
    while (i < n && strcmp(word, words[i]) != 0) {
        i++;
    }
    return i;
}

static void restore_figures(const phl_run *run, phl_calibrated *made)
{
    double held[1 + 2 * PHL_RULE_BOTH];
    if (!restore_numbers(run, "held_out", held, sizeof held / sizeof *held) ||
        !(held[0] >= 1.0 && held[0] < 0x1p53)) {
        return;
    }
    made->trees = (size_t)held[0];
    for (size_t i = 1; i <= PHL_RULE_BOTH; i++) {
        if (held[2 * i] >= 0.0) {
            made->figures[i] = (phl_rule_figure){held[2 * i - 1], held[2 * i]};
        }
    }
}

phl_status phl_calibrated_restore(const phl_run *run, phl_calibrated *calibrated, phl_error *error)
{
    phl_calibrated made = phl_calibrated_none();
    double number[2];
    size_t rule = find_word(phl_run_meta(run, "rule"), rules, PHL_RULE_BOTH + 1);
    size_t prior = find_word(phl_run_meta(run, "class_prior"), priors, 3);
    *calibrated = made;
    made.log_prior = phl_alloc(run->n_models, sizeof *made.log_prior, error);
    if (made.log_prior == NULL) {
        return PHL_ERR_MEMORY;
    }
    if (!restore_numbers(run, "log_prior", made.log_prior, run->n_models)) {
        phl_calibrated_clear(&made);
    }
    if (restore_numbers(run, "temperature", number, 1) && number[0] >= 1e-3 && number[0] <= 1e3) {
        made.temperature = number[0];
    }
    if (prior < (made.log_prior != NULL ? 3 : 2)) {
        made.prior = (phl_class_prior)prior;
    }
    if (restore_numbers(run, "rule_weights", number, 2) && number[0] >= 0.0 && number[1] >= 0.0) {
        memcpy(made.weights, number, sizeof number);
    }
    if (rule >= PHL_RULE_GENERATIVE && rule <= PHL_RULE_BOTH && run->head != NULL) {
        made.rule = (phl_rule)rule;
    }
    restore_figures(run, &made);
    *calibrated = made;
    return PHL_OK;
}

/* ---------------------------------------------------------------------------------------------
 * Use
 * ------------------------------------------------------------------------------------------- */

phl_status phl_calibrated_prior(const phl_run *run, const phl_calibrated *calibrated,
                                phl_class_prior prior, double *log_prior, phl_error *error)
{
    size_t n = run->n_models;
    prior = prior == PHL_PRIOR_CHOSEN ? calibrated->prior : prior;
    if ((int)prior < PHL_PRIOR_UNIFORM || prior > PHL_PRIOR_LEARNED) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL, "there is no class prior number %d",
                         (int)prior);
    }
    if (prior == PHL_PRIOR_LEARNED && calibrated->log_prior == NULL) {
        return phl_raise(error, PHL_ERR_ARGUMENT, "use another class prior",
                         "no class prior was learned for this run");
    }
    for (size_t k = 0; k < n; k++) {
        const phl_model *model = &run->models[k];
        double weight = model->weight > 0.0 ? model->weight : (double)model->trees;
        log_prior[k] = prior == PHL_PRIOR_UNIFORM     ? 0.0
                       : prior == PHL_PRIOR_EMPIRICAL ? log(weight)
                                                      : calibrated->log_prior[k];
    }
    return isinf(phl_log_normalise(log_prior, n))
               ? phl_raise(error, PHL_ERR_ARGUMENT, "use the uniform class prior",
                           "the run does not say how many trees each class was trained on")
               : PHL_OK;
}

bool phl_calibrated_models(const phl_calibrated *calibrated, const double *log_prior, size_t n,
                           const double *likelihood, double *posterior)
{
    for (size_t k = 0; k < n; k++) {
        posterior[k] = log_prior[k] + likelihood[k] / calibrated->temperature;
    }
    bool possible = !isinf(phl_log_normalise(posterior, n));
    if (!possible) {
        memcpy(posterior, log_prior, n * sizeof *posterior);
    }
    return possible;
}

void phl_calibrated_both(const phl_calibrated *calibrated, size_t n, const double *head,
                         double *posterior)
{
    for (size_t k = 0; k < n; k++) { /* 0 times minus infinity is nothing */
        double models = calibrated->weights[0] > 0.0 ? calibrated->weights[0] * posterior[k] : 0.0;
        double own = calibrated->weights[1] > 0.0 ? calibrated->weights[1] * head[k] : 0.0;
        posterior[k] = models + own;
    }
    if (isinf(phl_log_normalise(posterior, n))) {
        memcpy(posterior, head, n * sizeof *posterior);
    }
}
