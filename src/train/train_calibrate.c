/* train_calibrate.c - the last step of a training per class: the head, and how to make
 * probabilities of classes of what models and head say (model/calibrated.h).
 *
 * Every tenth tree of a class is held out, as the learner of grammars does it, so that grammars
 * need no further training.  Other models are trained once more on the rest, by one chain or
 * restart, and so is the head, with the settings that its cross-validation chose.  What is compared
 * is compared by halves: fitted on one half of the trees held out, judged on the other.
 *
 * Contents: trees held out, what is said of them, fitting, choosing, the step.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "forest/copy.h"
#include "grammar/grammar_learn.h"
#include "head/head_posteriors.h"
#include "model/calibrated.h"
#include "model/scores.h"
#include "train/train_head.h"
#include "train/training.h"

enum { MOST_HELD = 5000 }; /* more are not needed to fit a handful of numbers */
#define FAR_BELOW 1e4      /* nats: what is less probable is not told apart */

struct calibrating {
    const phl_training *training;
    phl_run *run;
    size_t n_classes;
    uint32_t *number; /* [classes of the forest] model of a class */
    size_t n_held, n_rest;
    size_t *held, *rest; /* trees, in their order */
    phl_forest *held_forest, *rest_forest;

    phl_calibration_data data; /* of the trees held out; its score is that of the models */
    int32_t *class_of;
    double *weight, *half;      /* [held] weights: all, those of one half */
    double *models, *heads;     /* [held][K] log-likelihoods; log-posteriors of the head or NULL */
    double *opinion, *combined; /* [held][K]; [K] */
    double *empirical, *fitted; /* [K] log prior by weight; of the fit at hand */
    double *room;               /* [3][K] */
    double *gaps;               /* [2][held] */
    double *losses;             /* [rules][held] of each tree, weighted */
    double *apart;              /* [rules][held][2] its gap and its weight */
};

/* ---------------------------------------------------------------------------------------------
 * Trees held out
 * ------------------------------------------------------------------------------------------- */

static void clear_work(struct calibrating *work)
{
    phl_forest_free(work->held_forest);
    phl_forest_free(work->rest_forest);
    void *const all[] = {work->number,  work->held,     work->rest,      work->class_of,
                         work->weight,  work->half,     work->models,    work->heads,
                         work->opinion, work->combined, work->empirical, work->fitted,
                         work->room,    work->gaps,     work->losses,    work->apart};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        phl_free(all[i]);
    }
}

static phl_status divide_trees(struct calibrating *work, phl_error *error)
{
    const phl_forest *forest = work->training->forest;
    size_t stride = phl_grammar_learn_stride(forest, 0);
    size_t *seen = phl_alloc_zero(work->n_classes, sizeof *seen, error);
    work->number = phl_alloc_zero(forest->classes.count, sizeof *work->number, error);
    work->held = phl_alloc(forest->n_trees, sizeof *work->held, error);
    work->rest = phl_alloc(forest->n_trees, sizeof *work->rest, error);
    phl_status status =
        seen == NULL || work->number == NULL || work->held == NULL || work->rest == NULL
            ? PHL_ERR_MEMORY
            : PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < work->n_classes; i++) {
        work->number[work->training->classes[i].class_number] = (uint32_t)i;
    }
    for (size_t t = 0; status == PHL_OK && t < forest->n_trees; t++) {
        if (phl_grammar_learn_holds(stride, seen[work->number[forest->tree_class[t]]]++)) {
            work->held[work->n_held++] = t;
        } else {
            work->rest[work->n_rest++] = t;
        }
    }
    phl_free(seen);
    return status;
}

static phl_status make_room(struct calibrating *work, phl_error *error)
{
    size_t n = work->n_held, k = work->n_classes;
    const struct {
        double **array;
        size_t count;
    } arrays[] = {{&work->weight, n},
                  {&work->half, n},
                  {&work->models, phl_times(n, k)},
                  {&work->opinion, phl_times(n, k)},
                  {&work->combined, k},
                  {&work->empirical, k},
                  {&work->fitted, k},
                  {&work->room, phl_times(3, k)},
                  {&work->gaps, phl_times(2, n)},
                  {&work->losses, phl_times(PHL_RULE_BOTH + 1, n)},
                  {&work->apart, phl_times(2 * (PHL_RULE_BOTH + 1), n)}};
    work->class_of = phl_alloc(n, sizeof *work->class_of, error);
    phl_status status = work->class_of == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i].array = phl_alloc(arrays[i].count, sizeof(double), error);
        status = *arrays[i].array == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    return status;
}

static phl_status gather(struct calibrating *work, phl_error *error)
{
    const phl_forest *forest = work->training->forest;
    phl_status status = divide_trees(work, error);
    if (status == PHL_OK) {
        status = make_room(work, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    for (size_t i = 0; i < work->n_held; i++) {
        work->class_of[i] = (int32_t)work->number[forest->tree_class[work->held[i]]];
        work->weight[i] = phl_tree_weight(forest, work->held[i]);
    }
    for (size_t c = 0; c < work->n_classes; c++) {
        work->empirical[c] = log(work->run->models[c].weight);
    }
    work->data = (phl_calibration_data){work->n_held, work->n_classes, work->models, work->class_of,
                                        work->weight, work->empirical, 0.0};
    return PHL_OK;
}

/* Forests of both, for those who are trained once more. */
static phl_status cut(struct calibrating *work, phl_error *error)
{
    const phl_forest *forest = work->training->forest;
    if (work->rest_forest != NULL) {
        return PHL_OK;
    }
    phl_status status =
        phl_copy_trees(forest, work->rest, work->n_rest, PHL_COPY_USED, &work->rest_forest, error);
    return status == PHL_OK
               ? phl_forest_select(forest, work->held, work->n_held, &work->held_forest, error)
               : status;
}

/* ---------------------------------------------------------------------------------------------
 * What is said of them
 * ------------------------------------------------------------------------------------------- */

static phl_status score_held(struct calibrating *work, const phl_run *rest, phl_error *error)
{
    const phl_train_options *options = &work->training->options;
    phl_prepared prepared = {0};
    double *scores = NULL;
    phl_status status = phl_scores_prepare(rest, work->held_forest, &prepared, error);
    if (status == PHL_OK) {
        scores = phl_alloc(phl_times(rest->n_models, prepared.roots.n), sizeof *scores, error);
        status = scores == NULL ? PHL_ERR_MEMORY
                                : phl_scores_average(&prepared, rest->models, rest->n_models, false,
                                                     options->threads, options->cancel,
                                                     options->context, NULL, scores, error);
    }
    for (size_t m = 0; status == PHL_OK && m < rest->n_models; m++) {
        size_t c = phl_run_find_class(work->run, phl_run_class_name(rest, m));
        for (size_t t = 0; t < work->n_held; t++) {
            work->models[t * work->n_classes + c] =
                scores[m * prepared.roots.n + prepared.roots.of_tree[t]];
        }
    }
    phl_free(scores);
    phl_scores_clear(&prepared);
    return status;
}

/* Models of the rest, by one chain or restart. */
static phl_status ask_models(struct calibrating *work, phl_error *error)
{
    phl_train_options options = work->training->options;
    phl_run *rest = NULL;
    options.head = PHL_HEAD_NONE;
    options.calibrate = false;
    options.fold = NULL;
    options.chains = options.restarts = 1;
    options.progress = NULL;
    options.report = NULL;
    phl_status status = cut(work, error);
    if (status == PHL_OK) {
        status = phl_train_models(work->rest_forest, &options, &rest, error);
    }
    if (status == PHL_OK && options.cancel != NULL && options.cancel(options.context)) {
        status = phl_raise(error, PHL_ERR_CANCELLED, NULL, "stopped on request");
    }
    if (status == PHL_OK) {
        status = score_held(work, rest, error);
    }
    phl_run_free(rest);
    return status;
}

/* No infinities: what is impossible is very improbable. */
static void tame(struct calibrating *work)
{
    for (size_t t = 0; t < work->n_held; t++) {
        double *row = work->models + t * work->n_classes, most = -INFINITY;
        for (size_t c = 0; c < work->n_classes; c++) {
            most = row[c] > most ? row[c] : most;
        }
        for (size_t c = 0; c < work->n_classes; c++) {
            row[c] = isinf(most) ? 0.0 : fmax(row[c] - most, -FAR_BELOW);
        }
    }
}

static phl_classifier_options head_options(const phl_training *training)
{
    const phl_train_options *options = &training->options;
    phl_classifier_options made;
    phl_classifier_options_init(&made);
    made.fold = options->fold;
    made.n_folds = options->fold != NULL ? options->n_folds : made.n_folds;
    made.seed = options->seed;
    made.memory_limit = training->limited ? options->memory_limit : 0;
    made.threads = options->threads;
    made.cancel = options->cancel;
    made.context = options->context;
    return made;
}

/* A head of the rest, and what it says. */
static phl_status ask_head(struct calibrating *work, phl_error *error)
{
    const phl_head *chosen = work->run->head;
    phl_classifier_options options = head_options(work->training);
    phl_head *rest = NULL;
    uint32_t *number = NULL;
    size_t *every = phl_alloc(work->n_held, sizeof *every, error);
    options.groups = chosen->features->groups;
    options.c = chosen->choices[chosen->chosen].c;
    work->heads = phl_alloc(phl_times(work->n_held, work->n_classes), sizeof(double), error);
    phl_status status = every == NULL || work->heads == NULL ? PHL_ERR_MEMORY : cut(work, error);
    if (status == PHL_OK) {
        const phl_alphabet *classes = &work->rest_forest->classes;
        number = phl_alloc(classes->count, sizeof *number, error);
        status = number == NULL ? PHL_ERR_MEMORY : PHL_OK;
        for (size_t i = 0; status == PHL_OK && i < classes->count; i++) {
            number[i] = (uint32_t)phl_run_find_class(work->run, phl_alphabet_name(classes, i));
        }
    }
    if (status == PHL_OK) {
        status = phl_train_head(work->rest_forest, &options, number, work->n_classes, &rest, error);
    }
    if (status == PHL_OK) {
        rest->temperature = chosen->temperature;
        for (size_t i = 0; i < work->n_held; i++) {
            every[i] = i;
        }
        status = phl_head_posteriors(rest, work->held_forest, every, work->n_held, options.threads,
                                     options.cancel, options.context, work->heads, error);
    }
    phl_head_free(rest);
    phl_free(number);
    phl_free(every);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Fitting
 * ------------------------------------------------------------------------------------------- */

/* Class prior (into work->fitted) and temperature of the models. */
static double fit_models(const struct calibrating *work, const double *weight,
                         phl_class_prior prior)
{
    phl_calibration_data data = work->data;
    double best, *fitted = work->fitted;
    size_t k = work->n_classes;
    data.weight = weight;
    data.doubt = phl_calibration_doubt(&data, work->models, work->gaps);
    for (size_t c = 0; c < k; c++) {
        fitted[c] = prior == PHL_PRIOR_UNIFORM ? 0.0 : work->empirical[c];
    }
    data.log_prior = fitted;
    double temperature = phl_calibration_fit(&data, &best);
    for (int round = 0; prior == PHL_PRIOR_LEARNED && round < 2; round++) {
        data.log_prior = work->empirical;
        phl_calibration_learn_prior(&data, temperature, fitted, work->room);
        data.log_prior = fitted;
        temperature = phl_calibration_fit(&data, &best);
    }
    return temperature;
}

/* What the models say of every tree held out, with a temperature and work->fitted. */
static void form_opinion(const struct calibrating *work, double temperature)
{
    size_t k = work->n_classes;
    phl_calibrated how = phl_calibrated_none();
    how.temperature = temperature;
    for (size_t t = 0; t < work->n_held; t++) {
        (void)phl_calibrated_models(&how, work->fitted, k, work->models + t * k,
                                    work->opinion + t * k);
    }
}

static void take_half(const struct calibrating *work, size_t half)
{
    for (size_t t = 0; t < work->n_held; t++) {
        work->half[t] = t % 2 == half ? work->weight[t] : 0.0;
    }
}

/* Sums over trees. */
struct judged {
    double weight, loss, right;
};

/* The trees of a half under a rule. */
static void judge(const struct calibrating *work, phl_rule rule, const double weights[2],
                  size_t half, struct judged *judged)
{
    size_t k = work->n_classes;
    phl_calibrated how = phl_calibrated_none();
    memcpy(how.weights, weights, sizeof how.weights);
    for (size_t t = half; t < work->n_held; t += 2) {
        const double *head = work->heads == NULL ? NULL : work->heads + t * k;
        double *row = work->combined;
        size_t best = 0, own = (size_t)work->class_of[t];
        memcpy(row, rule == PHL_RULE_HEAD ? head : work->opinion + t * k, k * sizeof *row);
        if (rule == PHL_RULE_BOTH) {
            phl_calibrated_both(&how, k, head, row);
        }
        for (size_t c = 1; c < k; c++) {
            best = row[c] > row[best] ? c : best;
        }
        judged->weight += work->weight[t];
        work->losses[rule * work->n_held + t] = -work->weight[t] * row[own];
        work->apart[2 * (rule * work->n_held + t)] = phl_calibration_gap(row, k, own);
        work->apart[2 * (rule * work->n_held + t) + 1] = work->weight[t];
        judged->loss -= work->weight[t] * row[own];
        judged->right += best == own ? work->weight[t] : 0.0;
    }
}

/* ---------------------------------------------------------------------------------------------
 * Choosing
 * ------------------------------------------------------------------------------------------- */

static phl_class_prior choose_prior(const struct calibrating *work)
{
    static const double none[2] = {0.5, 0.5};
    phl_class_prior best = PHL_PRIOR_EMPIRICAL;
    double lowest = INFINITY;
    for (int i = 0; i < 3; i++) { /* the first of equals */
        static const phl_class_prior order[] = {PHL_PRIOR_EMPIRICAL, PHL_PRIOR_UNIFORM,
                                                PHL_PRIOR_LEARNED};
        struct judged judged = {0};
        for (size_t half = 0; half < 2; half++) {
            take_half(work, 1 - half);
            form_opinion(work, fit_models(work, work->half, order[i]));
            judge(work, PHL_RULE_GENERATIVE, none, half, &judged);
        }
        if (judged.loss < lowest) {
            lowest = judged.loss;
            best = order[i];
        }
    }
    return best;
}

static void blend(const struct calibrating *work, const double *weight, double weights[2])
{
    phl_calibration_data data = work->data;
    data.weight = weight;
    const double doubt[2] = {phl_calibration_doubt(&data, work->opinion, work->gaps),
                             phl_calibration_doubt(&data, work->heads, work->gaps)};
    phl_calibration_blend(&data, work->opinion, work->heads, doubt, weights, work->room);
}

/* What a rule loses on the tree that is imagined, which is wrong; sorts its gaps. */
static double lose_imagined(const struct calibrating *work, phl_rule rule)
{
    double gap =
        phl_calibration_decile(work->apart + 2 * (size_t)rule * work->n_held, work->n_held);
    return gap + log1p(exp(-gap));
}

/* Does a rule lose less than both together, by more than the standard error of that? */
static bool is_better(const struct calibrating *work, phl_rule rule)
{
    const double *own = work->losses + (size_t)rule * work->n_held;
    const double *both = work->losses + (size_t)PHL_RULE_BOTH * work->n_held;
    double imagined = lose_imagined(work, rule) - lose_imagined(work, PHL_RULE_BOTH);
    double n = (double)work->n_held + 1.0, sum = imagined, squares = imagined * imagined;
    for (size_t t = 0; t < work->n_held; t++) {
        sum += own[t] - both[t];
        squares += (own[t] - both[t]) * (own[t] - both[t]);
    }
    return sum < -sqrt(fmax(squares - sum * sum / n, 0.0) * n / fmax(n - 1.0, 1.0));
}

/* Every rule by halves.  Where there is a head both are asked, unless one of them alone does
 * better. */
static void compare_rules(const struct calibrating *work, phl_calibrated *made)
{
    struct judged judged[PHL_RULE_BOTH + 1] = {{0}};
    phl_rule last = work->heads != NULL ? PHL_RULE_BOTH : PHL_RULE_GENERATIVE;
    for (size_t half = 0; half < 2; half++) {
        double weights[2] = {0.5, 0.5};
        take_half(work, 1 - half);
        form_opinion(work, fit_models(work, work->half, made->prior));
        if (work->heads != NULL) {
            blend(work, work->half, weights);
        }
        for (int rule = PHL_RULE_GENERATIVE; rule <= (int)last; rule++) {
            judge(work, (phl_rule)rule, weights, half, &judged[rule]);
        }
    }
    for (int rule = PHL_RULE_GENERATIVE; rule <= (int)last; rule++) {
        made->figures[rule] = (phl_rule_figure){judged[rule].loss / judged[rule].weight,
                                                judged[rule].right / judged[rule].weight};
    }
    if (work->heads != NULL) {
        bool models = is_better(work, PHL_RULE_GENERATIVE), head = is_better(work, PHL_RULE_HEAD);
        phl_rule alone = judged[PHL_RULE_GENERATIVE].loss < judged[PHL_RULE_HEAD].loss
                             ? PHL_RULE_GENERATIVE
                             : PHL_RULE_HEAD;
        made->rule = models || head ? alone : PHL_RULE_BOTH;
    }
}

static phl_status choose(struct calibrating *work, phl_calibrated *made, phl_error *error)
{
    made->trees = work->n_held;
    made->prior = choose_prior(work);
    compare_rules(work, made);
    made->log_prior = phl_alloc(work->n_classes, sizeof *made->log_prior, error);
    if (made->log_prior == NULL) {
        return PHL_ERR_MEMORY;
    }
    (void)fit_models(work, work->weight, PHL_PRIOR_LEARNED);
    memcpy(made->log_prior, work->fitted, work->n_classes * sizeof *made->log_prior);
    made->temperature = fit_models(work, work->weight, made->prior);
    form_opinion(work, made->temperature);
    if (work->heads != NULL) {
        blend(work, work->weight, made->weights);
    }
    return PHL_OK;
}

/* ---------------------------------------------------------------------------------------------
 * The step
 * ------------------------------------------------------------------------------------------- */

/* Numbers are fitted on so many trees at most, spread evenly; rows move up. */
static void thin(struct calibrating *work)
{
    size_t step = (work->n_held + MOST_HELD - 1) / MOST_HELD, n = 0, k = work->n_classes;
    for (size_t t = 0; step > 1 && t < work->n_held; t += step, n++) {
        work->class_of[n] = work->class_of[t];
        work->weight[n] = work->weight[t];
        memmove(work->models + n * k, work->models + t * k, k * sizeof *work->models);
        if (work->heads != NULL) {
            memmove(work->heads + n * k, work->heads + t * k, k * sizeof *work->heads);
        }
    }
    work->n_held = step > 1 ? n : work->n_held;
    work->data.n = work->n_held;
}

static phl_status calibrate(struct calibrating *work, bool head, phl_error *error)
{
    phl_run *run = work->run;
    phl_status status = gather(work, error);
    if (status == PHL_OK && head) {
        phl_classifier_options options = head_options(work->training);
        status = phl_train_head(work->training->forest, &options, work->number, work->n_classes,
                                &run->head, error);
    }
    if (status == PHL_OK && run->kind == PHL_GRAMMAR) {
        status = phl_train_grammar_choose(run, &work->data, work->models, error);
    } else if (status == PHL_OK && work->n_held > 0) {
        status = ask_models(work, error);
    }
    if (status == PHL_OK && head && work->n_held > 0) {
        status = ask_head(work, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    phl_calibrated made = phl_calibrated_none();
    made.prior = PHL_PRIOR_EMPIRICAL;
    made.rule = head ? PHL_RULE_BOTH : PHL_RULE_DEFAULT;
    if (work->n_held > 0) {
        made.rule = PHL_RULE_DEFAULT;
        tame(work);
        thin(work);
        status = choose(work, &made, error);
    }
    if (status == PHL_OK) {
        status = phl_calibrated_record(run, &made, error);
    }
    phl_calibrated_clear(&made);
    return status;
}

phl_status phl_train_calibrate(const phl_training *training, phl_error *error)
{
    const phl_train_options *options = &training->options;
    phl_run *run = training->run;
    struct calibrating work = {.training = training, .run = run, .n_classes = run->n_models};
    bool whole = true, grammar = run->kind == PHL_GRAMMAR;
    for (size_t i = 0; i < run->n_models; i++) {
        whole = whole && run->models[i].stop_reason != PHL_STOP_INTERRUPTED;
    }
    bool head = whole && options->head == PHL_HEAD_LINEAR;
    if (run->n_models < 2 || !(grammar || head || (whole && options->calibrate))) {
        return PHL_OK;
    }
    phl_status status = calibrate(&work, head, error);
    clear_work(&work);
    if (status == PHL_ERR_CANCELLED) { /* the models are good; whoever resumes does the rest */
        phl_head_free(run->head);
        run->head = NULL;
        for (size_t i = 0; i < run->n_models; i++) {
            run->models[i].stop_reason = PHL_STOP_INTERRUPTED;
        }
        status = PHL_OK;
    }
    return status;
}
