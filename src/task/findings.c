/* findings.c - what the figures of a diagnosis mean, in sentences with advice; see diagnosis.h.
 *
 * Contents: sentences, lists, Gibbs: trouble, Gibbs: notes, EM, grammars, one line, the head.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "task/diagnosis.h"

enum { MAX_LISTED = 8 }; /* chains or modes named in a sentence; the rest is counted */

/* ---- sentences ---- */

/* Takes the text over as a string, on failure too; `status` is that of writing it. */
static phl_status take_text(phl_text *text, phl_status status, char **string, phl_error *error)
{
    if (status == PHL_OK) {
        status = phl_text_append(text, "", 1, error); /* its end */
    }
    if (status != PHL_OK) {
        phl_text_clear(text);
        return status;
    }
    *string = text->bytes;
    return PHL_OK;
}

/* Takes the text over, on failure too; `status` is that of writing it.  advice may be NULL. */
static phl_status add_finding(phl_class_diagnosis *made, bool trouble, phl_text *text,
                              phl_status status, const char *advice, phl_error *error)
{
    size_t capacity = made->n_findings;
    char *sentence = NULL, *copy = NULL;
    status = take_text(text, status, &sentence, error);
    if (status == PHL_OK && advice != NULL) {
        copy = phl_copy_text(advice, strlen(advice), error);
        status = copy == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    if (status == PHL_OK) {
        status = phl_grow(&made->findings, &capacity, made->n_findings + 1, sizeof *made->findings,
                          error);
    }
    if (status != PHL_OK) {
        phl_free(copy);
        phl_free(sentence);
        return status;
    }
    made->findings[made->n_findings++] = (phl_finding){trouble, sentence, copy};
    made->trouble = made->trouble || trouble;
    return PHL_OK;
}

static phl_status say(phl_class_diagnosis *made, bool trouble, const char *sentence,
                      const char *advice, phl_error *error)
{
    phl_text text = {0};
    phl_status status = phl_text_append_string(&text, sentence, error);
    return add_finding(made, trouble, &text, status, advice, error);
}

/* ---- lists ---- */

static const char *const in_words[PHL_QUANTITIES] = {"log-joint", "log-likelihood", "active slots",
                                                     "sum of k"};

typedef double (*figure_fn)(const phl_quantity *quantity);

static double rhat_of(const phl_quantity *quantity)
{
    return quantity->rhat;
}

static double ess_of(const phl_quantity *quantity)
{
    return quantity->ess_bulk;
}

/* Does the verdict of a run rest on a quantity?  The log-joint depends on states that no prediction
 * needs; only that it is finite counts. */
static bool rests_on(size_t quantity, phl_verdict verdict)
{
    return quantity != PHL_LOG_JOINT || verdict == PHL_NOT_FINITE;
}

/* One sentence about all quantities of a verdict that count, none if there is none such: "BEFORE a
 * (WHAT 1.23), b (WHAT 4.56)BEHIND". */
static phl_status about_quantities(phl_class_diagnosis *made, phl_verdict verdict,
                                   const char *before, const char *what, figure_fn figure,
                                   const char *behind, const char *advice, phl_error *error)
{
    phl_text text = {0};
    phl_status status = PHL_OK;
    for (size_t q = 0; status == PHL_OK && q < PHL_QUANTITIES; q++) {
        const phl_quantity *quantity = &made->quantities[q];
        bool meant = quantity->verdict == verdict && rests_on(q, verdict);
        if (meant) {
            status = phl_text_append_format(&text, error, "%s %s", text.length ? "," : before,
                                            in_words[q]);
        }
        if (status == PHL_OK && meant && figure != NULL) {
            status = phl_text_append_format(&text, error, " (%s %.3g)", what, figure(quantity));
        }
    }
    if (status == PHL_OK && text.length == 0) {
        phl_text_clear(&text);
        return PHL_OK;
    }
    if (status == PHL_OK) {
        status = phl_text_append_string(&text, behind, error);
    }
    return add_finding(made, true, &text, status, advice, error);
}

typedef bool (*chosen_fn)(const phl_chain_diagnosis *chain, uint32_t mode);

static bool in_mode(const phl_chain_diagnosis *chain, uint32_t mode)
{
    return chain->mode == mode;
}

static bool climbs(const phl_chain_diagnosis *chain, uint32_t mode)
{
    (void)mode;
    return chain->climbing;
}

/* "chain 0" or "chains 1, 3": those chosen, and how many they are. */
static phl_status list_chains(const phl_class_diagnosis *made, chosen_fn chosen, uint32_t mode,
                              size_t *count, phl_text *text, phl_error *error)
{
    size_t n = 0, listed = 0;
    for (size_t c = 0; c < made->n_chains; c++) {
        n += chosen(&made->chains[c], mode);
    }
    phl_status status = phl_text_append_string(text, n == 1 ? "chain" : "chains", error);
    for (size_t c = 0; status == PHL_OK && c < made->n_chains && listed < MAX_LISTED; c++) {
        if (chosen(&made->chains[c], mode)) {
            status = phl_text_append_format(text, error, "%s %zu", listed++ > 0 ? "," : "",
                                            made->chains[c].chain);
        }
    }
    if (status == PHL_OK && listed < n) {
        status = phl_text_append_format(text, error, " and %zu more", n - listed);
    }
    *count = n;
    return status;
}

/* "chains 1, 3 around -1234.5" of a mode. */
static phl_status list_mode(const phl_class_diagnosis *made, uint32_t mode, phl_text *text,
                            phl_error *error)
{
    size_t n = 0;
    double sum = 0.0;
    for (size_t c = 0; c < made->n_chains; c++) {
        bool meant = made->chains[c].mode == mode;
        sum += meant ? made->chains[c].mean[PHL_LOG_LIKELIHOOD] : 0.0;
    }
    phl_status status = list_chains(made, in_mode, mode, &n, text, error);
    return status == PHL_OK ? phl_text_append_format(text, error, " around %.6g", sum / (double)n)
                            : status;
}

/* ---- Gibbs: trouble ---- */

static phl_status find_modes(phl_class_diagnosis *made, phl_error *error)
{
    if (made->modes < 2 || phl_verdict_fine(made->quantities[PHL_LOG_LIKELIHOOD].verdict)) {
        return PHL_OK;
    }
    phl_text text = {0};
    phl_status status = phl_text_append_format(
        &text, error,
        "the chains have settled in %zu places, by log-likelihood, and those below the first are "
        "poorer: ",
        made->modes);
    size_t listed = made->modes < MAX_LISTED ? made->modes : MAX_LISTED;
    for (size_t m = 0; status == PHL_OK && m < listed; m++) {
        status = phl_text_append_string(&text, m > 0 ? "; " : "", error);
        if (status == PHL_OK) {
            status = list_mode(made, (uint32_t)m + 1, &text, error);
        }
    }
    if (status == PHL_OK && listed < made->modes) {
        status = phl_text_append_format(&text, error, "; and %zu more", made->modes - listed);
    }
    double below = 0.0;
    for (size_t c = 0; c < made->n_chains; c++) {
        below += made->chains[c].mode > 1 ? made->chains[c].weight : 0.0;
    }
    if (status == PHL_OK) {
        status = phl_text_append_format(
            &text, error, "; in predictions those below count %.0f %% together", 100.0 * below);
    }
    return add_finding(made, true, &text, status, NULL, error);
}

/* Chains that had not arrived when their draws were kept. */
static phl_status find_climbing(phl_class_diagnosis *made, phl_error *error)
{
    size_t n = 0;
    double most = 0.0;
    for (size_t c = 0; c < made->n_chains; c++) {
        const phl_chain_diagnosis *chain = &made->chains[c];
        most = chain->climbing && chain->drift > most ? chain->drift : most;
        n += chain->climbing;
    }
    if (n == 0 || phl_verdict_fine(made->quantities[PHL_LOG_LIKELIHOOD].verdict)) {
        return PHL_OK;
    }
    phl_text text = {0};
    phl_status status = list_chains(made, climbs, 0, &n, &text, error);
    if (status == PHL_OK) {
        status = phl_text_append_format(
            &text, error,
            " %s still climbing: from the first quarter of the draws to the last the "
            "log-likelihood rose by %s%.3g",
            n == 1 ? "is" : "are", n == 1 ? "" : "up to ", most);
    }
    return add_finding(
        made, true, &text, status,
        "go on with " PHL_CALL("phl_resume") " and more " PHL_OPTION("resume.iterations"), error);
}

static phl_status find_few_chains(phl_class_diagnosis *made, bool allow_few, phl_error *error)
{
    if (made->n_compared >= PHL_CHAINS_LEAST || allow_few) {
        return PHL_OK;
    }
    phl_text text = {0};
    phl_status status = phl_text_append_format(
        &text, error, "%zu %s: fewer than %d cannot show whether chains agree", made->n_compared,
        made->n_compared == 1 ? "chain" : "chains", PHL_CHAINS_LEAST);
    return add_finding(
        made, true, &text, status,
        "train with " PHL_OPTION_TO("train.chains", "4") " or more, or accept it with " PHL_OPTION(
            "diagnose.allow_few"),
        error);
}

/* More iterations do not bring chains together that sit in different places, nor does annealing. */
static const char more_chains[] =
    "more chains (" PHL_OPTION_TO("train.chains", "8") ") usually predict better, because "
                                                       "predictions average over them";

static phl_status find_trouble(phl_class_diagnosis *made, phl_error *error)
{
    bool one = made->n_compared == 1;
    phl_status status = about_quantities(
        made, PHL_DISAGREE, one ? "the halves of the chain disagree on" : "chains disagree on",
        "R-hat", rhat_of, "", one ? NULL : more_chains, error);
    if (status != PHL_OK) {
        return status;
    }
    status = about_quantities(made, PHL_STUCK, "chains are stuck at different values of", NULL,
                              NULL, "", more_chains, error);
    if (status != PHL_OK) {
        return status;
    }
    status = find_modes(made, error);
    if (status != PHL_OK) {
        return status;
    }
    status = find_climbing(made, error);
    if (status != PHL_OK) {
        return status;
    }
    status = about_quantities(
        made, PHL_FEW_DRAWS, "draws are too correlated to average:", "bulk ESS", ess_of,
        ", at least 100 is required", "run longer (" PHL_OPTION("train.iterations") ")", error);
    return status == PHL_OK
               ? about_quantities(made, PHL_NOT_FINITE, "some draws are not finite:", NULL, NULL,
                                  "", "please report this", error)
               : status;
}

/* ---- Gibbs: notes ---- */

static phl_status note_left_out(phl_class_diagnosis *made, phl_error *error)
{
    phl_status status = PHL_OK;
    size_t left_out = 0;
    for (size_t c = 0; c < made->n_chains; c++) {
        left_out += !made->chains[c].compared;
    }
    if (left_out > 0 && made->n_compared > 0) {
        phl_text text = {0};
        status = phl_text_append_format(
            &text, error,
            "%zu of %zu chains %s left out, having less than half the draws of the "
            "longest",
            left_out, made->n_chains, left_out == 1 ? "is" : "are");
        status = add_finding(made, false, &text, status, NULL, error);
    }
    return status;
}

static phl_status note_joint(phl_class_diagnosis *made, phl_error *error)
{
    const phl_quantity *joint = &made->quantities[PHL_LOG_JOINT];
    if (made->draws < 6 || phl_verdict_fine(joint->verdict) || joint->verdict == PHL_NOT_FINITE) {
        return PHL_OK;
    }
    phl_text text = {0};
    phl_status status = phl_text_append_format(
        &text, error,
        "the log-joint (R-hat %.3g) depends on states that no prediction needs, and does not count",
        joint->rhat);
    return add_finding(made, false, &text, status, NULL, error);
}

static phl_status note_slots(phl_class_diagnosis *made, phl_error *error)
{
    if (isnan(made->overlap_between) || made->slots_agree) {
        return PHL_OK;
    }
    phl_text text = {0};
    phl_status status = phl_text_append_format(
        &text, error,
        "chains use different slots: the active ones of two chains overlap by %.0f %%",
        100.0 * made->overlap_between);
    if (status == PHL_OK && !isnan(made->overlap_within)) {
        status =
            phl_text_append_format(&text, error, ", those of two draws of one chain by %.0f %%",
                                   100.0 * made->overlap_within);
    }
    return add_finding(made, false, &text, status, NULL, error);
}

static phl_status note_limit(const phl_plan *plan, phl_class_diagnosis *made, phl_error *error)
{
    if (!(made->slots_at_limit >= 0.5)) {
        return PHL_OK;
    }
    phl_text text = {0};
    phl_status status =
        phl_text_append_format(&text, error,
                               "in %.0f %% of the draws as many slots are active as " PHL_OPTION(
                                   "train.slots_max") " %u allows: others may matter too",
                               100.0 * made->slots_at_limit, plan->slots_max);
    return add_finding(made, false, &text, status, NULL, error);
}

/* What trouble between chains leaves to rely on. */
static phl_status note_trust(phl_class_diagnosis *made, phl_error *error)
{
    bool apart = !isnan(made->overlap_between) && !made->slots_agree;
    for (size_t q = PHL_LOG_LIKELIHOOD; q < PHL_QUANTITIES; q++) {
        phl_verdict verdict = made->quantities[q].verdict;
        apart = apart || verdict == PHL_DISAGREE || verdict == PHL_STUCK;
    }
    return apart && made->n_compared > 1
               ? say(made, false,
                     "predictions average over the chains and can be used; the active slots and "
                     "states of one chain are one possibility of several",
                     NULL, error)
               : PHL_OK;
}

static phl_status note_moves(phl_class_diagnosis *made, phl_error *error)
{
    uint64_t tried = 0, changed = 0;
    for (size_t m = 0; m < made->n_moves; m++) {
        tried += made->moves[m].tried;
        changed += made->moves[m].changed;
    }
    return tried > 0 && changed == 0
               ? say(made, false, "no move changed anything after the warm-up", NULL, error)
               : PHL_OK;
}

static phl_status note_interruption(const phl_model *model, phl_class_diagnosis *made,
                                    phl_error *error)
{
    return model->stop_reason == PHL_STOP_INTERRUPTED
               ? say(made, false, "training is not finished: this is how far it got", NULL, error)
               : PHL_OK;
}

static phl_status find_nothing(const phl_model *model, phl_class_diagnosis *made, phl_error *error)
{
    return model->n_draws == 0
               ? say(made, true, "nothing was trained: training was interrupted before",
                     "train again", error)
               : say(made, true, "the run holds no trace of its training: nothing can be said",
                     NULL, error);
}

static phl_status note_what_differs(const phl_plan *plan, phl_class_diagnosis *made,
                                    phl_error *error)
{
    phl_status status = note_joint(made, error);
    if (status == PHL_OK) {
        status = note_slots(made, error);
    }
    if (status == PHL_OK) {
        status = note_limit(plan, made, error);
    }
    return status == PHL_OK ? note_trust(made, error) : status;
}

phl_status phl_findings_gibbs(const phl_model *model, const phl_plan *plan, bool allow_few,
                              phl_class_diagnosis *made, phl_error *error)
{
    if (made->n_chains == 0) {
        return find_nothing(model, made, error);
    }
    phl_status status = PHL_OK;
    if (made->draws < 6) { /* halves of three: the least that has an ESS */
        phl_text text = {0};
        status = phl_text_append_format(
            &text, error, "%zu %s per chain after the warm-up of %llu iterations: too few to tell",
            made->draws, made->draws == 1 ? "draw" : "draws", (unsigned long long)made->warmup);
        status = add_finding(made, true, &text, status,
                             "run longer (" PHL_OPTION("train.iterations") ")", error);
    } else {
        status = find_trouble(made, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    if (made->n_compared > 0) {
        status = find_few_chains(made, allow_few, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    status = note_left_out(made, error);
    if (status != PHL_OK) {
        return status;
    }
    status = note_interruption(model, made, error);
    if (status != PHL_OK) {
        return status;
    }
    status = note_what_differs(plan, made, error);
    if (status != PHL_OK) {
        return status;
    }
    status = note_moves(made, error);
    if (status == PHL_OK && plan->paper) {
        status =
            say(made, false,
                "the paper's sampler does not leave the posterior invariant: chains that agree "
                "may agree on something else",
                PHL_OPTION_TO("train.sampler", "blocked") " is exact", error);
    }
    return status;
}

/* ---- EM ---- */

/* Where an objective fell: EM's never does, but for rounding. */
static phl_status find_fall(phl_rows_of_class rows, phl_class_diagnosis *made, phl_error *error)
{
    for (size_t i = 1; i < rows.n; i++) {
        const phl_trace_row *before = &rows.rows[i - 1], *row = &rows.rows[i];
        if (before->chain == row->chain &&
            before->log_joint - row->log_joint > 1e-9 * fabs(before->log_joint)) {
            phl_text text = {0};
            phl_status status = phl_text_append_format(
                &text, error,
                "the objective of restart %zu fell from %.17g to %.17g at iteration %llu, "
                "which EM never does",
                row->chain, before->log_joint, row->log_joint, (unsigned long long)row->iteration);
            return add_finding(made, true, &text, status, "please report this", error);
        }
    }
    return PHL_OK;
}

static phl_status compare_restarts(phl_class_diagnosis *made, phl_error *error)
{
    const phl_chain_diagnosis *best = &made->chains[0], *worst = best;
    for (size_t c = 0; c < made->n_chains; c++) {
        const phl_chain_diagnosis *chain = &made->chains[c];
        if (!isfinite(chain->log_joint)) {
            phl_text text = {0};
            phl_status status = phl_text_append_format(
                &text, error, "the objective of restart %zu is not finite", chain->chain);
            return add_finding(
                made, true, &text, status,
                "some tree may be impossible: train with " PHL_OPTION("train.smoothing") " above 0",
                error);
        }
        best = chain->log_joint > best->log_joint ? chain : best;
        worst = chain->log_joint < worst->log_joint ? chain : worst;
    }
    if (made->n_chains == 1) {
        return say(made, false, "there was one start only: others may end higher",
                   "train with " PHL_OPTION_TO("train.restarts", "5"), error);
    }
    made->spread = best->log_joint - worst->log_joint;
    size_t near = 0; /* the best */
    for (size_t c = 0; c < made->n_chains; c++) {
        near += best->log_joint - made->chains[c].log_joint <= 1e-4 * fabs(best->log_joint);
    }
    phl_text text = {0};
    if (near == made->n_chains) {
        phl_status same = phl_text_append_format(
            &text, error, "all %zu restarts end within 0.01 %% of %.8g", near, best->log_joint);
        return add_finding(made, false, &text, same, NULL, error);
    }
    phl_status status = phl_text_append_format(
        &text, error,
        "restart %zu of %zu is the best, with %.8g; the worst is %.3g below, %zu %s "
        "within 0.01 %%",
        best->chain, made->n_chains, best->log_joint, made->spread, near, near == 1 ? "is" : "are");
    return add_finding(made, false, &text, status,
                       near == 1 ? "only one start got there: more " PHL_OPTION(
                                       "train.restarts") " may find better"
                                 : NULL,
                       error);
}

phl_status phl_findings_em(const phl_model *model, phl_rows_of_class rows,
                           phl_class_diagnosis *made, phl_error *error)
{
    if (made->n_chains == 0) {
        return find_nothing(model, made, error);
    }
    phl_status status = find_fall(rows, made, error);
    if (status != PHL_OK) {
        return status;
    }
    status = compare_restarts(made, error);
    if (status != PHL_OK) {
        return status;
    }
    status = note_interruption(model, made, error);
    if (status == PHL_OK && model->stop_reason == PHL_STOP_ITERATIONS) {
        phl_text text = {0};
        status = phl_text_append_format(
            &text, error, "stopped by the limit of %llu iterations, not by the tolerance",
            (unsigned long long)model->iterations);
        status = add_finding(made, false, &text, status,
                             "more " PHL_OPTION("train.iterations") " may gain more", error);
    }
    return status;
}

/* ---- grammars ---- */

/* Do halves of the starts, averaged, give other classes to the trees held out? */
static phl_status find_answers(phl_class_diagnosis *made, phl_error *error)
{
    if (made->answers == 0) {
        return PHL_OK;
    }
    bool apart = made->answers_shift > PHL_HALVES_MOST && made->answers >= PHL_ANSWERS_LEAST;
    phl_text text = {0};
    phl_status status = phl_text_append_format(
        &text, error,
        "%s: of %zu trees held out that get this class, %.0f %% get it from both halves of the "
        "starts, whose probabilities of classes differ by %.2f on average",
        apart ? "starts disagree on the class of a tree" : "starts agree on the class of a tree",
        made->answers, 100.0 * made->answers_same, made->answers_shift);
    return add_finding(
        made, apart, &text, status,
        apart ? "train with " PHL_OPTION_TO(
                    "train.restarts", "8") ": the mean of more starts depends less on the seed"
              : NULL,
        error);
}

/* Was the last split a gain on the trees held out? */
static phl_status judge_split(const phl_chain_diagnosis *chain, phl_class_diagnosis *made,
                              phl_error *error)
{
    phl_text text = {0};
    phl_status status =
        chain->splits == 0
            ? phl_text_append_format(&text, error,
                                     "start %zu: no split of labels gained on the trees held out",
                                     chain->chain)
            : phl_text_append_format(&text, error,
                                     "start %zu: split %u was the last to gain on the trees held "
                                     "out, %.3g nats a tree over the one before",
                                     chain->chain, chain->splits, chain->gain);
    return add_finding(made, false, &text, status, NULL, error);
}

/* Could more annotations gain more?  Some label has as many as may be, after a split that gained.
 */
static phl_status note_annotations(const phl_model *model, phl_class_diagnosis *made,
                                   phl_error *error)
{
    uint32_t most = 0, limit = model->run->states;
    for (size_t d = 0; d < model->n_draws; d++) {
        const phl_grammar_part *part = model->draws[d].params->grammar;
        for (uint32_t x = 0; part->numbers[PHL_PART_STAGE] > 0.0 && x < part->labels; x++) {
            most = part->sizes[x] > most ? part->sizes[x] : most;
        }
    }
    if (2 * most <= limit || limit >= PHL_MOST_ANNOTATIONS || most == 0) {
        return PHL_OK;
    }
    phl_text text = {0};
    phl_status status = phl_text_append_format(
        &text, error,
        "a label has %u annotations, which cannot be split again with at most %u of them", most,
        limit);
    return add_finding(made, false, &text, status,
                       "more (" PHL_OPTION("train.states") ") may gain more", error);
}

/* Do starts agree on the trees held out? */
static phl_status compare_starts(phl_class_diagnosis *made, phl_error *error)
{
    const phl_chain_diagnosis *best = &made->chains[0], *worst = best;
    for (size_t c = 0; c < made->n_chains; c++) {
        const phl_chain_diagnosis *chain = &made->chains[c];
        best = chain->log_joint > best->log_joint ? chain : best;
        worst = chain->log_joint < worst->log_joint ? chain : worst;
    }
    if (made->n_chains == 1) {
        return say(made, false, "there was one start only: the mean of several predicts better",
                   "train with " PHL_OPTION_TO("train.restarts", "4"), error);
    }
    made->spread = best->log_joint - worst->log_joint;
    phl_text text = {0};
    phl_status status = phl_text_append_format(
        &text, error,
        "%zu starts, whose figures on the trees held out differ by %.3g nats a tree; start %zu is "
        "the best",
        made->n_chains, made->spread, best->chain);
    return add_finding(made, false, &text, status, NULL, error);
}

/* A start whose figure is not finite cannot be compared. */
static phl_status find_not_finite(phl_class_diagnosis *made, bool *some, phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t c = 0; status == PHL_OK && c < made->n_chains; c++) {
        if (!isfinite(made->chains[c].log_joint)) {
            phl_text text = {0};
            *some = true;
            status = phl_text_append_format(
                &text, error, "the figure of start %zu on the trees held out is not finite",
                made->chains[c].chain);
            status = add_finding(made, true, &text, status, "please report this", error);
        }
    }
    return status;
}

phl_status phl_findings_grammar(const phl_model *model, phl_class_diagnosis *made, phl_error *error)
{
    bool odd = false;
    if (made->n_chains == 0) {
        return find_nothing(model, made, error);
    }
    phl_status status = find_not_finite(made, &odd, error);
    if (status == PHL_OK) {
        status = find_answers(made, error);
    }
    if (status == PHL_OK && !odd) {
        status = compare_starts(made, error);
    }
    for (size_t c = 0; status == PHL_OK && c < made->n_chains; c++) {
        status = judge_split(&made->chains[c], made, error);
    }
    if (status == PHL_OK) {
        status = note_annotations(model, made, error);
    }
    return status == PHL_OK ? note_interruption(model, made, error) : status;
}

/* ---- one line ---- */

static const char *first_trouble(const phl_class_diagnosis *made)
{
    return made->n_findings > 0 && made->findings[0].trouble ? made->findings[0].text : NULL;
}

phl_status phl_findings_sum_up(const phl_plan *plan, phl_class_diagnosis *made, phl_error *error)
{
    phl_text text = {0};
    const char *trouble = first_trouble(made);
    const char *what = plan->gibbs ? "chain" : "start";
    phl_status status =
        trouble != NULL ? phl_text_append_format(&text, error, "trouble, %s", trouble)
        : made->n_chains == 1
            ? phl_text_append_format(&text, error, "fine, but with one %s only", what)
            : phl_text_append_format(&text, error, "fine, %zu %ss%s", made->n_chains, what,
                                     plan->gibbs || made->answers > 0 ? " agree" : "");
    return take_text(&text, status, &made->summary, error);
}

phl_status phl_findings_sum_up_all(phl_diagnosis *made, phl_error *error)
{
    phl_text text = {0};
    size_t troubled = 0;
    for (size_t i = 0; i < made->n_classes; i++) {
        troubled += made->classes[i].trouble;
    }
    phl_status status =
        made->n_classes == 0   ? phl_text_append_string(&text, made->head.summary, error)
        : made->n_classes == 1 ? phl_text_append_string(&text, made->classes[0].summary, error)
        : troubled == 0
            ? phl_text_append_format(&text, error, "fine in all %zu classes", made->n_classes)
            : phl_text_append_format(&text, error, "trouble in %zu of %zu classes", troubled,
                                     made->n_classes);
    if (status == PHL_OK && made->n_classes > 0 && made->head.trouble) {
        status = phl_text_append_string(&text, "; trouble with the linear head", error);
    }
    return take_text(&text, status, &made->summary, error);
}

/* ---- the head ---- */

#define GAP_MOST 1e-3 /* nats a tree that a finished head may be from the best one */
#define MISCALIBRATED_MOST 0.05

/* What the class shares alone would give. */
static void weigh_shares(const phl_run *run, phl_head_diagnosis *made)
{
    double all = 0.0;
    for (size_t k = 0; k < run->n_models; k++) {
        all += run->models[k].weight;
    }
    made->log_loss_of_shares = made->largest_share = 0.0;
    for (size_t k = 0; k < run->n_models; k++) {
        double share = run->models[k].weight / all;
        made->log_loss_of_shares -= share > 0.0 ? share * log(share) : 0.0;
        made->largest_share = fmax(made->largest_share, share);
    }
}

/* Figures of the trees left out that are trouble. */
static phl_status judge_choice(const phl_head *head, const phl_head_diagnosis *made,
                               phl_class_diagnosis *said, phl_error *error)
{
    phl_text text = {0};
    phl_status status = PHL_OK;
    double chance = 1.0 / sqrt((double)(head->trees > 0 ? head->trees : 1));
    if (made->log_loss >= made->log_loss_of_shares || made->accuracy <= made->largest_share) {
        status = phl_text_append_format(
            &text, error,
            "of the trees left out %.2f %% are right with a log-loss of %.4f nats; to say the "
            "shares of the classes whatever the tree gives %.2f %% and %.4f",
            100 * made->accuracy, made->log_loss, 100 * made->largest_share,
            made->log_loss_of_shares);
        status = add_finding(said, true, &text, status,
                             "the pieces of these trees hardly tell their classes; look at the "
                             "labels and at what the classes are",
                             error);
    }
    if (status == PHL_OK && made->calibration_error > MISCALIBRATED_MOST + chance) {
        text = (phl_text){0};
        status = phl_text_append_format(&text, error,
                                        "probabilities are %.3f from the shares of right answers "
                                        "on average, more than %.3f",
                                        made->calibration_error, MISCALIBRATED_MOST + chance);
        status = add_finding(said, true, &text, status,
                             "trust the order of the answers more than their probabilities", error);
    }
    return status;
}

static phl_status find_head(const phl_run *run, const phl_head_diagnosis *made,
                            phl_class_diagnosis *said, phl_error *error)
{
    const phl_head *head = run->head;
    phl_text text = {0};
    phl_status status = PHL_OK;
    if (head->n_choices > 0) {
        status = judge_choice(head, made, said, error);
    }
    if (status == PHL_OK && !(head->gap <= GAP_MOST)) {
        status = phl_text_append_format(&text, error,
                                        "after %llu passes the head is up to %.2g nats a tree from "
                                        "the best one",
                                        (unsigned long long)head->passes, head->gap);
        status = add_finding(said, true, &text, status, "choose a smaller C", error);
    }
    if (status == PHL_OK && head->n_choices == 0) {
        status = say(said, false,
                     "the settings of the head were given, so there was no cross-validation: "
                     "nothing is known about trees it has not seen",
                     "classify trees that were not trained on", error);
    }
    return status;
}

static phl_status sum_up_head(phl_head_diagnosis *made, phl_error *error)
{
    phl_text text = {0};
    phl_status status =
        isnan(made->accuracy)
            ? phl_text_append_format(&text, error, "%s, not judged by trees left out",
                                     made->trouble ? "trouble" : "fine")
            : phl_text_append_format(&text, error,
                                     "%s, of trees left out %.2f %% are right, log-loss %.4f "
                                     "nats, calibration error %.4f",
                                     made->trouble ? "trouble" : "fine", 100 * made->accuracy,
                                     made->log_loss, made->calibration_error);
    return take_text(&text, status, &made->summary, error);
}

phl_status phl_findings_head(const phl_run *run, phl_head_diagnosis *made, phl_error *error)
{
    const phl_head *head = run->head;
    phl_class_diagnosis said = {0};
    *made = (phl_head_diagnosis){0};
    if (head == NULL) {
        return PHL_OK;
    }
    made->there = true;
    made->gap = head->gap;
    made->log_loss = made->accuracy = made->calibration_error = (double)NAN;
    if (head->n_choices > 0) {
        const phl_head_choice *choice = &head->choices[head->chosen];
        made->log_loss = choice->tempered_log_loss;
        made->accuracy = choice->accuracy;
        made->calibration_error = choice->calibration_error;
    }
    weigh_shares(run, made);
    phl_status status = find_head(run, made, &said, error);
    made->trouble = said.trouble;
    made->n_findings = said.n_findings;
    made->findings = said.findings;
    return status == PHL_OK ? sum_up_head(made, error) : status;
}
