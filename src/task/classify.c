/* classify.c - class posteriors from one model per class.
 *
 * Contents: the class prior, posteriors, the task.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "head/explain.h"
#include "head/head_posteriors.h"
#include "model/calibrated.h"
#include "model/grammar_scores.h"
#include "task/classify.h"
#include "task/use.h"

/* ---------------------------------------------------------------------------------------------
 * The class prior
 * ------------------------------------------------------------------------------------------- */

static const phl_classify_options defaults = {
    .size = sizeof(phl_classify_options),
    .structure = true,
    .prior = PHL_PRIOR_CHOSEN,
};

void phl_classify_options_init_sized(phl_classify_options *options, size_t size)
{
    phl_options_fill(options, size, &defaults, sizeof defaults);
}

static phl_status check_per_class(const phl_run *run, phl_error *error)
{
    if (!run->per_class) {
        return phl_raise(error, PHL_ERR_ARGUMENT, "train again with " PHL_OPTION("train.per_class"),
                         "the run was not trained per class: it has one model for all trees and "
                         "cannot tell classes apart");
    }
    return PHL_OK;
}

/* log p(class) [K], for a run trained per class; to be freed in any case. */
static phl_status make_prior(const phl_run *run, const phl_calibrated *calibrated,
                             phl_class_prior prior, double **log_prior, phl_error *error)
{
    *log_prior = phl_alloc(run->n_models, sizeof **log_prior, error);
    return *log_prior == NULL ? PHL_ERR_MEMORY
                              : phl_calibrated_prior(run, calibrated, prior, *log_prior, error);
}

/* ---------------------------------------------------------------------------------------------
 * Posteriors
 * ------------------------------------------------------------------------------------------- */

struct classifying {
    phl_use use;
    const phl_classify_options *options;
    phl_classify_fn each;           /* may be NULL */
    double *log_prior;              /* [K] */
    bool by_models, by_head;        /* the rule; both: their mean */
    double *posterior, *likelihood; /* [K] of one tree */
    phl_calibrated calibrated;      /* what training chose */
    phl_measures *measures;         /* NULL: not wanted */
    size_t reasons;                 /* of each tree at most; 0: none are wanted */
    double *opinion;                /* [K] of the models, with explanations */
    phl_explain_answers answers;    /* of the roots of a block */
    phl_explanation explanation;    /* of one tree */
};

phl_item phl_classify_item(const phl_classified_tree *classified, size_t n, size_t truth)
{
    return (phl_item){
        .truth = truth,
        .predicted = classified->best,
        .drawn = SIZE_MAX,
        .entropy_bits = phl_measures_entropy_bits_of_logs(classified->log_posterior, n),
        .p = exp(classified->log_posterior[classified->best]),
        .log_p = truth == SIZE_MAX ? (double)NAN : classified->log_posterior[truth],
    };
}

/* What the rule needs must be there. */
static phl_status choose_rule(struct classifying *work, phl_error *error)
{
    const phl_run *run = work->use.run;
    phl_rule rule = work->options->rule;
    if (rule == PHL_RULE_DEFAULT) {
        rule = run->head == NULL                           ? PHL_RULE_GENERATIVE
               : run->kind == PHL_NO_KIND                  ? PHL_RULE_HEAD
               : work->calibrated.rule == PHL_RULE_DEFAULT ? PHL_RULE_HEAD
                                                           : work->calibrated.rule;
    }
    if ((int)rule < PHL_RULE_GENERATIVE || rule > PHL_RULE_BOTH) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL, "there is no rule number %d", (int)rule);
    }
    work->by_models = rule != PHL_RULE_HEAD;
    work->by_head = rule != PHL_RULE_GENERATIVE;
    if (work->by_head && run->head == NULL) {
        return phl_raise(error, PHL_ERR_ARGUMENT,
                         "train one with " PHL_CALL("phl_train_classifier"),
                         "the run has no linear head to classify with");
    }
    if (!work->by_head && work->options->explain > 0) {
        return phl_raise(error, PHL_ERR_ARGUMENT,
                         "ask the head: " PHL_OPTION_TO("classify.rule", "head"),
                         "the models of the classes give no reasons, only a linear head does");
    }
    size_t features = work->by_head ? phl_features_count(run->head->features) : 0;
    work->reasons = work->options->explain < features ? work->options->explain : features;
    return work->by_models && run->n_models > 0 ? phl_scores_check_draws(&run->models[0], error)
                                                : PHL_OK;
}

/* The posterior of a tree; `head` [K] is that of the head, if it has a say. */
static phl_classified_tree find_posterior(const struct classifying *work, const double *head)
{
    size_t n = work->use.run->n_models, best = 0;
    double *row = work->posterior;
    bool possible = work->by_models ? phl_calibrated_models(&work->calibrated, work->log_prior, n,
                                                            work->likelihood, row)
                                    : true;
    if (work->by_head && work->by_models) {
        phl_calibrated_both(&work->calibrated, n, head, row);
    } else if (work->by_head) {
        memcpy(row, head, n * sizeof *row);
    }
    for (size_t k = 1; k < n; k++) {
        best = row[k] > row[best] ? k : best;
    }
    return (phl_classified_tree){.best = best,
                                 .log_posterior = row,
                                 .log_likelihood = work->by_models ? work->likelihood : NULL,
                                 .possible = possible};
}

/* The class of the second highest posterior. */
static size_t find_second(const double *row, size_t n, size_t best)
{
    size_t second = best == 0 ? 1 : 0;
    for (size_t k = 0; k < n; k++) {
        second = k != best && row[k] > row[second] ? k : second;
    }
    return second;
}

/* What the answers for a root say of a tree. */
static void explain(struct classifying *work, size_t root, phl_classified_tree *classified)
{
    const phl_explain_answers *answers = &work->answers;
    const double *row = classified->log_posterior;
    size_t n = work->use.run->n_models, best = classified->best;
    phl_explanation *made = &work->explanation;
    *made = (phl_explanation){.against = find_second(row, n, best),
                              .constant = answers->constant[root],
                              .rest = answers->features[root],
                              .n_reasons = answers->n_reasons[root],
                              .reasons = answers->reasons + root * work->reasons};
    made->log_odds = row[best] - row[made->against];
    for (size_t i = 0; i < made->n_reasons; i++) {
        made->rest -= made->reasons[i].log_odds;
    }
    if (work->by_models) {
        (void)phl_calibrated_models(&work->calibrated, work->log_prior, n, work->likelihood,
                                    work->opinion);
        made->models =
            work->calibrated.weights[0] * (work->opinion[best] - work->opinion[made->against]);
    }
    classified->explanation = made;
}

static phl_status take_tree(struct classifying *work, size_t tree, size_t root, const double *head,
                            phl_error *error)
{
    phl_use *use = &work->use;
    const phl_forest *block = use->block;
    phl_classified_tree classified = find_posterior(work, head);
    phl_status status = PHL_OK;
    if (work->reasons > 0) {
        explain(work, root, &classified);
    }
    if (!classified.possible) {
        status = phl_use_count(use, &use->impossible, tree, error);
    }
    int32_t class_number = block->tree_class[tree];
    if (status == PHL_OK && work->measures != NULL && class_number >= 0) {
        size_t truth = phl_run_find_class(use->run, phl_forest_class_name(block, class_number));
        phl_item item = phl_classify_item(&classified, use->run->n_models, truth);
        phl_measures_add(work->measures, 0, &item);
    }
    if (status == PHL_OK && work->each != NULL) {
        phl_tree_at at = phl_use_at(use, tree, classified.best);
        status = work->each(&at, &classified, use->context, error);
    }
    return status;
}

/* log p(tree | class) of every distinct root, [K][roots]. */
static phl_status score_models(const struct classifying *work, double *scores, phl_error *error)
{
    const phl_use *use = &work->use;
    phl_prepared prepared = {0};
    bool structure = work->options->structure;
    phl_status status = phl_scores_prepare(use->run, use->block, &prepared, error);
    if (status == PHL_OK) {
        if (use->run->kind == PHL_GRAMMAR) {
            status = phl_grammar_scores_make(&prepared, use->run->models, use->run->n_models,
                                             structure, PHL_MEAN_LOG, use->threads, use->cancel,
                                             use->context, scores, error);
        } else {
            status = phl_scores_average(
                &prepared, use->run->models, use->run->n_models, false, use->threads, use->cancel,
                use->context, structure ? NULL : scores, structure ? scores : NULL, error);
        }
    }
    phl_scores_clear(&prepared);
    return status;
}

/* The log-likelihoods of a root into their place. */
static void take_likelihoods(struct classifying *work, const double *scores, size_t n_roots,
                             size_t root)
{
    for (size_t k = 0; work->by_models && k < work->use.run->n_models; k++) {
        work->likelihood[k] = scores[k * n_roots + root];
    }
}

/* Reasons for every root of a block. */
static phl_status explain_block(struct classifying *work, const phl_roots *roots,
                                const double *scores, const double *heads, phl_error *error)
{
    const phl_use *use = &work->use;
    size_t n = use->run->n_models, most = work->reasons;
    phl_explain_question *questions = phl_alloc(roots->n, sizeof *questions, error);
    phl_status status = questions == NULL
                            ? PHL_ERR_MEMORY
                            : phl_explain_answers_init(&work->answers, roots->n, most, error);
    for (size_t r = 0; status == PHL_OK && r < roots->n; r++) {
        take_likelihoods(work, scores, roots->n, r);
        phl_classified_tree classified = find_posterior(work, heads + r * n);
        questions[r] = (phl_explain_question){
            classified.best, find_second(classified.log_posterior, n, classified.best)};
    }
    if (status == PHL_OK) {
        status = phl_explain_trees(use->run->head, use->block, roots->tree, questions, roots->n,
                                   most, work->by_models ? work->calibrated.weights[1] : 1.0,
                                   use->threads, use->cancel, use->context, &work->answers, error);
    }
    phl_free(questions);
    return status;
}

static phl_status classify_block(struct classifying *work, phl_error *error)
{
    const phl_use *use = &work->use;
    phl_roots roots = {0};
    double *scores = NULL, *heads = NULL;
    size_t n = use->run->n_models;
    phl_status status = phl_scores_roots_init(use->block, &roots, error);
    if (status == PHL_OK) {
        scores = work->by_models ? phl_alloc(n * roots.n, sizeof *scores, error) : NULL;
        heads = work->by_head ? phl_alloc(n * roots.n, sizeof *heads, error) : NULL;
        bool there = (scores != NULL || !work->by_models) && (heads != NULL || !work->by_head);
        status = there ? PHL_OK : PHL_ERR_MEMORY;
    }
    if (status == PHL_OK && work->by_models) {
        status = score_models(work, scores, error);
    }
    if (status == PHL_OK && work->by_head) {
        status = phl_head_posteriors(use->run->head, use->block, roots.tree, roots.n, use->threads,
                                     use->cancel, use->context, heads, error);
    }
    if (status == PHL_OK && work->reasons > 0) {
        status = explain_block(work, &roots, scores, heads, error);
    }
    for (size_t t = 0; status == PHL_OK && t < use->block->n_trees; t++) {
        size_t root = roots.of_tree[t];
        take_likelihoods(work, scores, roots.n, root);
        status = take_tree(work, t, root, work->by_head ? heads + root * n : NULL, error);
    }
    phl_explain_answers_clear(&work->answers);
    phl_free(scores);
    phl_free(heads);
    phl_scores_roots_clear(&roots);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * The task
 * ------------------------------------------------------------------------------------------- */

static void tell_impossible(const phl_use *use)
{
    const phl_noted *noted = &use->impossible;
    if (noted->count == 0) {
        return;
    }
    phl_error note = {.status = PHL_OK};
    phl_position position = {noted->file, noted->line, 0};
    (void)phl_raise_at(&note, PHL_OK, position, NULL,
                       "%zu tree%s probability 0 under every class (the first is tree %zu): the "
                       "class prior stands in for the posterior",
                       noted->count, noted->count == 1 ? " has" : "s have", noted->first);
    phl_use_note(use, &note);
}

static phl_status classify(const phl_run *run, phl_source *source,
                           const phl_classify_options *options, phl_classify_fn each,
                           phl_measures *measures, bool tell_unseen, phl_error *error)
{
    struct classifying work = {.options = options, .each = each, .measures = measures};
    phl_status status = phl_use_begin(&work.use, run, source, NULL, NULL, options->threads,
                                      options->report, options->cancel, options->context, error);
    work.use.count_unseen = work.use.count_unseen && tell_unseen;
    if (status == PHL_OK) {
        status = check_per_class(run, error);
    }
    if (status == PHL_OK) {
        status = phl_calibrated_restore(run, &work.calibrated, error);
    }
    if (status == PHL_OK) {
        status = make_prior(run, &work.calibrated, options->prior, &work.log_prior, error);
    }
    if (status == PHL_OK) {
        status = choose_rule(&work, error);
    }
    if (status == PHL_OK) {
        work.posterior = phl_alloc(run->n_models, sizeof *work.posterior, error);
        work.likelihood = phl_alloc(run->n_models, sizeof *work.likelihood, error);
        work.opinion = phl_alloc(run->n_models, sizeof *work.opinion, error);
        status = work.posterior == NULL || work.likelihood == NULL || work.opinion == NULL
                     ? PHL_ERR_MEMORY
                     : PHL_OK;
    }
    while (status == PHL_OK && (status = phl_use_next(&work.use, error)) == PHL_OK &&
           work.use.block != NULL) {
        status = classify_block(&work, error);
    }
    if (status == PHL_OK) {
        phl_use_tell(&work.use);
        tell_impossible(&work.use);
    }
    phl_calibrated_clear(&work.calibrated);
    phl_free(work.log_prior);
    phl_free(work.posterior);
    phl_free(work.likelihood);
    phl_free(work.opinion);
    phl_use_clear(&work.use);
    return status;
}

phl_status phl_classify_quietly(const phl_run *run, phl_source *source,
                                const phl_classify_options *options, phl_classify_fn each,
                                phl_error *error)
{
    return classify(run, source, options, each, NULL, false, error);
}

phl_status phl_classify(const phl_run *run, phl_source *source, const phl_classify_options *options,
                        phl_classify_fn each, phl_evaluation **evaluation, phl_error *error)
{
    phl_classify_options own;
    phl_measures measures = {0};
    phl_status status =
        phl_options_take(&own, &defaults, sizeof own, options, "phl_classify", error);
    if (status == PHL_OK && evaluation != NULL) {
        status = phl_measures_init(&measures, run->n_models, 1, false, error);
    }
    if (status == PHL_OK) {
        status =
            classify(run, source, &own, each, evaluation != NULL ? &measures : NULL, true, error);
    }
    if (status == PHL_OK && evaluation != NULL) {
        status = phl_measures_finish(&measures, &run->classes, evaluation, error);
    }
    phl_measures_clear(&measures);
    return status;
}
