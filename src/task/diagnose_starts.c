/* diagnose_starts.c - the starts of a grammar: what their last splits gained, do they agree on the
 * classes of the trees held out?  See diagnosis.h.
 *
 * Contents: splits, halves of the starts, all of it.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "model/calibrated.h"
#include "task/diagnosis.h"

/* ---- splits ---- */

static void take_splits(const phl_model *model, phl_class_diagnosis *made)
{
    for (size_t c = 0; c < made->n_chains; c++) {
        phl_chain_diagnosis *chain = &made->chains[c];
        for (size_t d = 0; d < model->n_draws; d++) {
            const double *numbers = model->draws[d].params->grammar->numbers;
            if (model->draws[d].chain == chain->chain && numbers[PHL_PART_STAGE] > 0.0) {
                chain->splits = (uint32_t)numbers[PHL_PART_STAGE];
                chain->gain = numbers[PHL_PART_HELD_OUT] - numbers[PHL_PART_BEFORE];
            }
        }
    }
}

/* ---- halves of the starts ---- */

enum { FIRST_HALF, SECOND_HALF, ALL_STARTS, AVERAGES };

/* What is compared: starts that classify and have scored the same trees under every class. */
struct comparison {
    const phl_run *run;
    const char *form;
    size_t starts, held;
    phl_calibrated calibrated;
    double *log_prior, *posteriors; /* [classes], [AVERAGES][classes] */
};

/* The number of a draw of a class among those that classify; SIZE_MAX: it does not. */
static size_t rank_of(const struct comparison *compared, const phl_model *model, size_t draw)
{
    size_t rank = 0;
    if (!phl_grammar_part_has_form(model->draws[draw].params->grammar, compared->form)) {
        return SIZE_MAX;
    }
    for (size_t d = 0; d < draw; d++) {
        rank += phl_grammar_part_has_form(model->draws[d].params->grammar, compared->form);
    }
    return rank;
}

/* Have all classes as many starts that classify, and all of these scored as many trees?  A run may
 * hold a part of its training, or come from elsewhere. */
static bool can_compare(struct comparison *compared)
{
    bool same = compared->run->n_models > 1;
    for (size_t c = 0; c < compared->run->n_models; c++) {
        const phl_model *model = &compared->run->models[c];
        size_t starts = 0;
        for (size_t d = 0; d < model->n_draws; d++) {
            const phl_grammar_part *part = model->draws[d].params->grammar;
            if (phl_grammar_part_has_form(part, compared->form)) {
                compared->held = c == 0 && starts == 0 ? part->n_held : compared->held;
                same = same && part->n_held == compared->held;
                starts++;
            }
        }
        compared->starts = c == 0 ? starts : compared->starts;
        same = same && starts == compared->starts;
    }
    return same && compared->starts > 1;
}

/* Log-posteriors of the class of one tree by the mean log p of each half, and of all starts. */
static void compare_tree(const struct comparison *compared, size_t tree)
{
    size_t classes = compared->run->n_models, half = (compared->starts + 1) / 2;
    const double counts[AVERAGES] = {(double)half, (double)(compared->starts - half),
                                     (double)compared->starts};
    memset(compared->posteriors, 0, AVERAGES * classes * sizeof *compared->posteriors);
    for (size_t c = 0; c < classes; c++) {
        const phl_model *model = &compared->run->models[c];
        for (size_t d = 0; d < model->n_draws; d++) {
            size_t rank = rank_of(compared, model, d);
            if (rank != SIZE_MAX) {
                double log_p = model->draws[d].params->grammar->held[tree];
                size_t part = rank < half ? FIRST_HALF : SECOND_HALF;
                compared->posteriors[part * classes + c] += log_p / counts[part];
                compared->posteriors[ALL_STARTS * classes + c] += log_p / counts[ALL_STARTS];
            }
        }
    }
    for (size_t part = 0; part < AVERAGES; part++) {
        double *row = compared->posteriors + part * classes;
        (void)phl_calibrated_models(&compared->calibrated, compared->log_prior, classes, row, row);
    }
}

static size_t answer_of(const double *posterior, size_t classes)
{
    size_t best = 0;
    for (size_t c = 1; c < classes; c++) {
        best = posterior[c] > posterior[best] ? c : best;
    }
    return best;
}

static void compare_halves(const struct comparison *compared, size_t class_index,
                           phl_class_diagnosis *made)
{
    size_t classes = compared->run->n_models;
    const double *first = compared->posteriors, *second = first + classes;
    double same = 0.0, shift = 0.0;
    for (size_t t = 0; t < compared->held; t++) {
        compare_tree(compared, t);
        if (answer_of(second + classes, classes) != class_index) {
            continue;
        }
        made->answers++;
        same +=
            answer_of(first, classes) == class_index && answer_of(second, classes) == class_index;
        for (size_t c = 0; c < classes; c++) {
            shift += 0.5 * fabs(exp(first[c]) - exp(second[c]));
        }
    }
    if (made->answers > 0) {
        made->answers_same = same / (double)made->answers;
        made->answers_shift = shift / (double)made->answers;
    }
}

/* ---- all of it ---- */

phl_status phl_diagnose_starts(const phl_model *model, phl_class_diagnosis *made, phl_error *error)
{
    const phl_run *run = model->run;
    struct comparison compared = {.run = run, .form = phl_run_meta(run, "form")};
    made->answers_same = made->answers_shift = (double)NAN;
    if (run->kind != PHL_GRAMMAR) {
        return PHL_OK;
    }
    take_splits(model, made);
    if (!can_compare(&compared)) {
        return PHL_OK;
    }
    compared.log_prior = phl_alloc(run->n_models, sizeof *compared.log_prior, error);
    compared.posteriors = phl_alloc(AVERAGES * run->n_models, sizeof *compared.posteriors, error);
    phl_status status = compared.log_prior == NULL || compared.posteriors == NULL
                            ? PHL_ERR_MEMORY
                            : phl_calibrated_restore(run, &compared.calibrated, error);
    if (status == PHL_OK) {
        status = phl_calibrated_prior(run, &compared.calibrated, PHL_PRIOR_CHOSEN,
                                      compared.log_prior, error);
    }
    if (status == PHL_OK) {
        compare_halves(&compared, model->class_index, made);
    }
    phl_calibrated_clear(&compared.calibrated);
    phl_free(compared.log_prior);
    phl_free(compared.posteriors);
    return status;
}
