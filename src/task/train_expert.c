/* train_expert.c - an expert on neighbourhoods, further models, and how all are pooled.
 *
 * Trees are dealt into folds.  For a fold, an expert (and models, trained as those of the run were)
 * is made of the other trees; labels of its trees are hidden at several rates, and what the voices
 * say of them is what the weights are learned from.  With these weights, the trees of the folds,
 * which voices and weights have not seen in training or hardly, tell how odd trees are.
 *
 * Contents: one fold, samples, oddity, all together.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "model/purposes.h"
#include "task/label_forest.h"
#include "task/label_pool.h"
#include "task/oddity.h"
#include "train/train_options.h"

static const phl_expert_options defaults = {
    .size = sizeof(phl_expert_options), .seed = 42, .n_folds = 5};

void phl_expert_options_init_sized(phl_expert_options *options, size_t size)
{
    phl_options_fill(options, size, &defaults, sizeof defaults);
}

static const double rates[] = {0.05, 0.2, 0.5, 0.9};
enum { RATES = sizeof rates / sizeof *rates };

static const size_t most_samples = 20000, most_numbers = 24000000;

/* A fold: what was made of the other trees, and its own. */
struct part {
    phl_forest *held;
    phl_run *run; /* with an expert, and models if the run has some */
    phl_expert_tables *tables;
};

struct work {
    const phl_run *run;
    const phl_forest *forest;
    const phl_expert_options *options;
    phl_expert *expert;
    size_t n_parts;
    struct part *parts;
    phl_expert_samples samples;
    double *log_p;      /* [voices][M + 1] */
    double *models;     /* [models][M + 1] */
    double *predictive; /* [models][nodes][M + 1] of a tree */
    size_t predictive_capacity;
    phl_neighbourhood nodes;
};

/* ---------------------------------------------------------------------------------------------
 * One fold
 * ------------------------------------------------------------------------------------------- */

/* Models of a run: 0 for an expert alone. */
static size_t count_models(const phl_run *run)
{
    return run->kind == PHL_NO_KIND ? 0 : 1 + run->n_members;
}

/* Number i of them, 0 being the run itself. */
static const phl_run *model_run(const phl_run *run, size_t i)
{
    return i == 0 ? run : run->members[i - 1];
}

/* A model as that of a run is, of other trees. */
static phl_status train_again(const struct work *work, const phl_run *run, const phl_forest *rest,
                              phl_run **made, phl_error *error)
{
    phl_train_options options = *phl_run_options(run);
    options.threads = work->options->threads;
    options.head = PHL_HEAD_NONE;
    options.fold = NULL;
    options.progress = NULL;
    options.report = NULL;
    options.cancel = work->options->cancel;
    options.context = work->options->context;
    phl_status status = phl_train(rest, &options, made, error);
    if (status == PHL_OK && work->options->cancel != NULL &&
        work->options->cancel(work->options->context)) {
        return phl_raise(error, PHL_ERR_CANCELLED, NULL, "stopped on request");
    }
    return status;
}

static phl_status make_run(const struct work *work, const phl_forest *rest, phl_run **made,
                           phl_error *error)
{
    const phl_run *run = work->run;
    phl_status status = run->kind == PHL_NO_KIND
                            ? phl_run_create(PHL_NO_KIND, 0, run->slots, &run->labels,
                                             &run->classes, run->per_class, made, error)
                            : train_again(work, run, rest, made, error);
    for (size_t i = 0; status == PHL_OK && i < run->n_members; i++) {
        phl_run *member = NULL;
        status = train_again(work, run->members[i], rest, &member, error);
        if (status == PHL_OK) {
            status = phl_run_take_member(*made, member, error);
        }
        if (status != PHL_OK) {
            phl_run_free(member);
        }
    }
    return status;
}

static phl_status make_part(const struct work *work, const uint32_t *fold, uint32_t number,
                            size_t *list, struct part *part, phl_error *error)
{
    const phl_forest *forest = work->forest;
    phl_forest *rest = NULL;
    size_t held = 0, others = 0;
    for (size_t t = 0; t < forest->n_trees; t++) {
        if (fold[t] == number) {
            list[held++] = t;
        }
    }
    phl_status status = phl_forest_select(forest, list, held, &part->held, error);
    for (size_t t = 0; t < forest->n_trees; t++) {
        if (fold[t] != number) {
            list[others++] = t;
        }
    }
    if (status == PHL_OK) {
        status = phl_forest_select(forest, list, others, &rest, error);
    }
    if (status == PHL_OK) {
        status = make_run(work, rest, &part->run, error);
    }
    if (status == PHL_OK) {
        status = phl_expert_create(rest, NULL, others, &part->run->expert, error);
    }
    if (status == PHL_OK) {
        part->run->expert->n_chains = work->expert->n_chains;
        part->run->expert->n_voices = work->expert->n_voices;
        status = phl_expert_tables_create(part->run->expert, &part->tables, error);
    }
    phl_forest_free(rest);
    return status;
}

static void clear_part(struct part *part)
{
    phl_expert_tables_free(part->tables);
    phl_run_free(part->run);
    phl_forest_free(part->held);
}

/* ---------------------------------------------------------------------------------------------
 * Samples
 * ------------------------------------------------------------------------------------------- */

/* The model of a tree's class in a part; NULL: none such, or no model at all. */
static const phl_model *model_of(const struct part *part, size_t tree)
{
    const phl_run *run = part->run;
    size_t model = 0;
    if (run->kind == PHL_NO_KIND) {
        return NULL;
    }
    if (run->per_class) {
        model = phl_run_find_class(run,
                                   phl_forest_class_name(part->held, part->held->tree_class[tree]));
    }
    return model == SIZE_MAX || run->models[model].n_draws == 0 ? NULL : &run->models[model];
}

/* What the voices say of a node whose label is hidden. */
static phl_status add_sample(struct work *work, const struct part *part, size_t node,
                             uint32_t label, phl_error *error)
{
    phl_expert_samples *samples = &work->samples;
    size_t n_models = count_models(work->run), width = samples->width;
    size_t numbers = samples->n_voices * samples->width;
    uint32_t near[PHL_NEAR_PLACES];
    phl_neighbourhood_of(&work->nodes, node, near);
    phl_status status = phl_expert_tables_reserve(part->tables, near, error);
    const phl_room rooms[] = {
        PHL_ROOM(samples->log_p, samples->log_capacity, (samples->n + 1) * numbers),
        PHL_ROOM(samples->label, samples->label_capacity, samples->n + 1),
        PHL_ROOM(samples->pattern, samples->pattern_capacity, samples->n + 1),
    };
    if (status == PHL_OK) {
        status = phl_grow_all(rooms, sizeof rooms / sizeof *rooms, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    for (size_t k = 0; k < n_models; k++) {
        memcpy(work->models + k * width, work->predictive + (k * work->nodes.n + node) * width,
               width * sizeof(double));
    }
    phl_label_pool_voices(part->tables, near, work->models, n_models, work->log_p);
    for (size_t i = 0; i < numbers; i++) {
        samples->log_p[samples->n * numbers + i] = (float)work->log_p[i];
    }
    samples->label[samples->n] = label;
    samples->pattern[samples->n++] = (uint32_t)phl_expert_pattern(near);
    return PHL_OK;
}

/* Labels of part->held as the part numbers them: M where the other trees do not have it. */
static uint32_t row_of(const struct part *part, int32_t label)
{
    const phl_expert_table *all = part->tables->of_places[0];
    bool there = false;
    for (uint64_t i = 0; all->n > 0 && i < all->first[1] && !there; i++) {
        there = all->label[i] == (uint32_t)label;
    }
    return there ? (uint32_t)label : (uint32_t)part->run->expert->n_labels;
}

/* What the models predict for every node of a tree; *possible: none holds it for impossible. */
static phl_status predict(struct work *work, phl_session *const *sessions, size_t tree,
                          bool *possible, phl_error *error)
{
    size_t n_models = count_models(work->run);
    size_t numbers = phl_times(work->nodes.n, work->samples.width);
    phl_status status = phl_grow(&work->predictive, &work->predictive_capacity,
                                 phl_times(n_models, numbers), sizeof *work->predictive, error);
    *possible = true;
    for (size_t k = 0; status == PHL_OK && *possible && k < n_models; k++) {
        status =
            phl_session_predict(sessions[k], tree, work->predictive + k * numbers, possible, error);
    }
    return status;
}

static phl_status sample_tree(struct work *work, const struct part *part,
                              phl_session *const *sessions, phl_walk *seen, phl_walk *whole,
                              size_t tree, const uint32_t *rows, double share, phl_rng *rng,
                              phl_error *error)
{
    bool possible = false;
    phl_visit truth;
    int more;
    phl_status status =
        phl_label_pool_look(seen, tree, rows, work->samples.width - 1, &work->nodes, error);
    if (status == PHL_OK) {
        status = predict(work, sessions, tree, &possible, error);
    }
    if (status != PHL_OK || !possible) {
        return status;
    }
    phl_walk_start(whole, tree);
    while (status == PHL_OK && (more = phl_walk_next(whole, &truth, error)) != 0) {
        if (more < 0) {
            return (phl_status)more;
        }
        if (truth.label >= 0 && work->nodes.nodes[truth.node].symbol == PHL_NEAR_UNKNOWN &&
            phl_rng_uniform(rng) < share) {
            status = add_sample(work, part, truth.node, rows[truth.label], error);
        }
    }
    return status;
}

/* Sessions for the models that the trees of the part have: [classes][models]. */
static phl_status open_sessions(const struct work *work, const struct part *part,
                                const phl_forest *hidden, phl_session **sessions, phl_error *error)
{
    size_t n_models = count_models(part->run), n = n_models * part->run->n_models;
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        const phl_model *model = &model_run(part->run, i % n_models)->models[i / n_models];
        if (model->n_draws > 0) {
            status = phl_session_create(model, hidden, work->options->threads,
                                        phl_session_memory() / n, &sessions[i], error);
        }
    }
    return status;
}

static void close_sessions(const struct part *part, phl_session **sessions)
{
    size_t n = count_models(part->run) * part->run->n_models;
    for (size_t i = 0; sessions != NULL && i < n; i++) {
        phl_session_free(sessions[i]);
    }
    phl_free(sessions);
}

/* Trees with labels hidden, or as they are, and what goes with them. */
struct view {
    phl_forest *hidden;     /* NULL: as they are */
    phl_session **sessions; /* [classes][models] */
    phl_walk *seen, *whole;
    uint32_t *rows; /* [labels] */
};

static phl_status open_view(const struct work *work, const struct part *part, double rate,
                            uint64_t seed, struct view *view, phl_error *error)
{
    const phl_forest *held = part->held;
    view->sessions = phl_alloc_zero(phl_times(count_models(part->run), part->run->n_models),
                                    sizeof *view->sessions, error);
    view->rows = phl_alloc(held->labels.count, sizeof *view->rows, error);
    phl_status status = view->sessions == NULL || view->rows == NULL ? PHL_ERR_MEMORY : PHL_OK;
    if (status == PHL_OK && rate > 0.0) {
        status = phl_label_forest_hide(held, rate, seed, 0, &view->hidden, error);
    }
    const phl_forest *seen = rate > 0.0 ? view->hidden : held;
    if (status == PHL_OK) {
        status = phl_walk_create(seen, &view->seen, error);
    }
    if (status == PHL_OK) {
        status = phl_walk_create(held, &view->whole, error);
    }
    if (status == PHL_OK) {
        status = open_sessions(work, part, seen, view->sessions, error);
    }
    for (size_t i = 0; status == PHL_OK && i < held->labels.count; i++) {
        view->rows[i] = row_of(part, (int32_t)i);
    }
    return status;
}

static void close_view(const struct part *part, struct view *view)
{
    close_sessions(part, view->sessions);
    phl_walk_free(view->seen);
    phl_walk_free(view->whole);
    phl_free(view->rows);
    phl_forest_free(view->hidden);
}

/* Of a tree's model and those that go with it; NULL: an expert alone. */
static phl_session *const *sessions_of(const struct view *view, const struct part *part,
                                       const phl_model *model)
{
    return model == NULL ? NULL : view->sessions + model->class_index * count_models(part->run);
}

/* Labels of the trees of a part, hidden at one rate: about so many of them. */
static phl_status sample_rate(struct work *work, const struct part *part, double rate,
                              uint64_t seed, size_t wanted, phl_error *error)
{
    struct view view = {0};
    phl_status status = open_view(work, part, rate, seed, &view, error);
    double nodes = 0.0;
    for (size_t s = 0; s < part->held->n_subtrees; s++) {
        nodes += part->held->label[s] >= 0 ? (double)part->held->multiplicity[s] : 0.0;
    }
    for (size_t t = 0; status == PHL_OK && t < part->held->n_trees; t++) {
        const phl_model *model = model_of(part, t);
        phl_rng rng;
        phl_rng_init(&rng, seed, PHL_PURPOSE_SAMPLES, 0, 0, t);
        if (model != NULL || part->run->kind == PHL_NO_KIND) {
            status = sample_tree(work, part, sessions_of(&view, part, model), view.seen, view.whole,
                                 t, view.rows, (double)wanted / (nodes * rate), &rng, error);
        }
    }
    close_view(part, &view);
    return status;
}

static phl_status gather_samples(struct work *work, phl_error *error)
{
    phl_expert_samples *samples = &work->samples;
    samples->n_voices = work->expert->n_voices;
    samples->width = work->expert->n_labels + 1;
    size_t room = most_numbers / (samples->n_voices * samples->width) + 1;
    room = (room < most_samples ? room : most_samples) / (RATES * work->n_parts) + 1;
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < work->n_parts; i++) {
        for (size_t r = 0; status == PHL_OK && r < RATES; r++) {
            status = sample_rate(work, &work->parts[i], rates[r],
                                 work->options->seed + i * RATES + r, room, error);
        }
    }
    return status;
}

/* How well labels that are hidden are told. */
static phl_status measure(struct work *work, phl_error *error)
{
    const phl_expert_samples *samples = &work->samples;
    phl_expert *expert = work->expert;
    size_t width = samples->width, numbers = samples->n_voices * width;
    double *p = phl_alloc(width, sizeof *p, error);
    if (p == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t i = 0; i < samples->n; i++) {
        size_t best = 0;
        for (size_t k = 0; k < numbers; k++) {
            work->log_p[k] = (double)samples->log_p[i * numbers + k];
        }
        phl_expert_pool(work->log_p, expert->weights[samples->pattern[i]], samples->n_voices, width,
                        p);
        for (size_t x = 1; x + 1 < width; x++) {
            best = p[x] > p[best] ? x : best;
        }
        expert->accuracy += best == samples->label[i];
        expert->log_loss -= log(p[samples->label[i]]);
    }
    expert->hidden = samples->n;
    expert->accuracy /= (double)samples->n;
    expert->log_loss /= (double)samples->n;
    phl_free(p);
    return PHL_OK;
}

/* ---------------------------------------------------------------------------------------------
 * Oddity
 * ------------------------------------------------------------------------------------------- */

/* How odd the trees of a part are, one after the other, into odd [trees]. */
static phl_status find_odd(struct work *work, struct part *part, double *odd, size_t *n,
                           phl_error *error)
{
    struct view view = {0};
    memcpy(part->run->expert->weights, work->expert->weights, sizeof work->expert->weights);
    phl_status status = open_view(work, part, 0.0, 0, &view, error);
    phl_oddity oddity = {0};
    for (size_t t = 0; status == PHL_OK && t < part->held->n_trees; t++) {
        const phl_model *model = model_of(part, t);
        if (model == NULL && part->run->kind != PHL_NO_KIND) {
            continue;
        }
        const phl_oddity_source source = {.tables = part->tables,
                                          .label_row = view.rows,
                                          .models = sessions_of(&view, part, model),
                                          .n_models = count_models(part->run),
                                          .n_labels = part->run->expert->n_labels};
        status = phl_oddity_of_tree(&oddity, &source, 1, view.seen, t, error);
        if (status == PHL_OK && !isnan(oddity.oddity)) {
            odd[(*n)++] = oddity.oddity;
        }
    }
    phl_oddity_clear(&oddity);
    close_view(part, &view);
    return status;
}

static int compare_reals(const void *a, const void *b)
{
    double one = *(const double *)a, two = *(const double *)b;
    return one < two ? -1 : one > two;
}

static phl_status gather_odd(struct work *work, phl_error *error)
{
    phl_expert *expert = work->expert;
    size_t trees = 0;
    for (size_t i = 0; i < work->n_parts; i++) {
        trees += work->parts[i].held->n_trees;
    }
    expert->odd = phl_alloc(trees, sizeof *expert->odd, error);
    phl_status status = expert->odd == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < work->n_parts; i++) {
        status = find_odd(work, &work->parts[i], expert->odd, &expert->n_odd, error);
    }
    if (status == PHL_OK && expert->n_odd > 0) {
        qsort(expert->odd, expert->n_odd, sizeof *expert->odd, compare_reals);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * All together
 * ------------------------------------------------------------------------------------------- */

static phl_status check_run(const phl_run *run, const phl_forest *forest, phl_error *error)
{
    for (size_t i = 0; i < count_models(run); i++) {
        if (phl_run_options(model_run(run, i)) == NULL) {
            return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                             "the run does not say how its model was trained");
        }
    }
    bool same = run->labels.count == forest->labels.count;
    for (size_t i = 0; same && i < run->labels.count; i++) {
        same =
            strcmp(phl_alphabet_name(&run->labels, i), phl_alphabet_name(&forest->labels, i)) == 0;
    }
    return same ? PHL_OK
                : phl_raise(error, PHL_ERR_CHANGED, "give the trees that the run was trained on",
                            "the labels of the trees are not those of the run");
}

static phl_status make_parts(struct work *work, phl_error *error)
{
    const phl_forest *forest = work->forest;
    size_t n_folds =
        work->options->n_folds < forest->n_trees ? work->options->n_folds : forest->n_trees;
    if (n_folds < 2) { /* a single tree: equal weights */
        return PHL_OK;
    }
    /* A model is trained again for one fold, or two if that is quick; an expert is made for all. */
    bool slow = false;
    for (size_t i = 0; i < count_models(work->run); i++) {
        const phl_run *model = model_run(work->run, i);
        slow = slow || model->kind == PHL_GRAMMAR ||
               (model->kind == PHL_TF && model->options->learner != PHL_LEARNER_EM);
    }
    size_t n_parts = work->run->kind == PHL_NO_KIND ? n_folds : slow ? 1 : 2;
    uint32_t *fold = phl_alloc(forest->n_trees, sizeof *fold, error);
    size_t *list = phl_alloc(forest->n_trees, sizeof *list, error);
    work->parts = phl_alloc_zero(n_parts, sizeof *work->parts, error);
    phl_status status = fold == NULL || list == NULL || work->parts == NULL
                            ? PHL_ERR_MEMORY
                            : phl_folds_make(forest, n_folds, work->options->seed, fold, error);
    while (status == PHL_OK && work->n_parts < n_parts) {
        size_t number = work->n_parts++;
        status = make_part(work, fold, (uint32_t)number, list, &work->parts[number], error);
        if (status == PHL_OK && work->options->cancel != NULL &&
            work->options->cancel(work->options->context)) {
            status = phl_raise(error, PHL_ERR_CANCELLED, NULL, "stopped on request");
        }
    }
    phl_free(fold);
    phl_free(list);
    return status;
}

static phl_status learn(struct work *work, phl_error *error)
{
    phl_status status =
        phl_expert_create(work->forest, NULL, work->forest->n_trees, &work->expert, error);
    if (status != PHL_OK) {
        return status;
    }
    phl_expert *expert = work->expert;
    size_t n_models = count_models(work->run);
    if (work->options->models_only) {
        expert->n_chains = expert->n_rows = 0;
    }
    expert->n_voices = expert->n_chains + n_models;
    for (size_t i = 0; i < PHL_EXPERT_PATTERNS; i++) {
        for (size_t v = 0; v < expert->n_voices; v++) {
            expert->weights[i][v] = 1.0 / (double)expert->n_voices;
        }
    }
    work->log_p =
        phl_alloc(phl_times(expert->n_voices, expert->n_labels + 1), sizeof *work->log_p, error);
    work->models =
        phl_alloc(phl_times(n_models, expert->n_labels + 1), sizeof *work->models, error);
    status = work->log_p == NULL || work->models == NULL ? PHL_ERR_MEMORY : make_parts(work, error);
    if (status == PHL_OK) {
        status = gather_samples(work, error);
    }
    if (status == PHL_OK && work->samples.n > 0) {
        status = phl_expert_pool_fit(&work->samples, expert->weights, error);
        if (status == PHL_OK) {
            status = measure(work, error);
        }
    }
    return status == PHL_OK ? gather_odd(work, error) : status;
}

phl_status phl_run_add_expert(phl_run *run, const phl_forest *forest,
                              const phl_expert_options *options, phl_error *error)
{
    phl_expert_options own;
    phl_status status = phl_options_take(&own, &defaults, sizeof own, options, "phl_expert", error);
    if (status == PHL_OK && own.n_folds < 2) {
        status =
            phl_raise(error, PHL_ERR_ARGUMENT, NULL, "%zu folds, expected at least 2", own.n_folds);
    }
    if (status == PHL_OK && forest->n_trees == 0) {
        status = phl_raise(error, PHL_ERR_EMPTY, NULL, "there are no trees to learn from");
    }
    if (status == PHL_OK && own.models_only && count_models(run) == 0) {
        status = phl_raise(error, PHL_ERR_ARGUMENT, NULL, "there is no model to be pooled");
    }
    if (status == PHL_OK) {
        status = check_run(run, forest, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    struct work work = {.run = run, .forest = forest, .options = &own};
    status = learn(&work, error);
    for (size_t i = 0; i < work.n_parts; i++) {
        clear_part(&work.parts[i]);
    }
    phl_free(work.parts);
    phl_expert_pool_clear(&work.samples);
    phl_neighbourhood_clear(&work.nodes);
    phl_free(work.log_p);
    phl_free(work.models);
    phl_free(work.predictive);
    if (status != PHL_OK) {
        phl_expert_free(work.expert);
        return status;
    }
    phl_expert_free(run->expert);
    run->expert = work.expert;
    return PHL_OK;
}

phl_status phl_run_add_member(phl_run *run, const phl_forest *forest,
                              const phl_train_options *options, phl_error *error)
{
    phl_run *member = NULL;
    if (run->kind == PHL_NO_KIND) {
        return phl_raise(error, PHL_ERR_ARGUMENT, "train a model with " PHL_CALL("phl_train"),
                         "the run has no model that another one could stand beside");
    }
    phl_status status = check_run(run, forest, error);
    phl_train_options own = {0};
    if (status == PHL_OK) {
        status = phl_train_options_take(options, &own, error);
    }
    if (status == PHL_OK) {
        own.per_class = run->per_class;
        own.head = PHL_HEAD_NONE;
        status = phl_train(forest, &own, &member, error);
    }
    if (status == PHL_OK && own.cancel != NULL && own.cancel(own.context)) {
        status = phl_raise(error, PHL_ERR_CANCELLED, NULL, "stopped on request");
    }
    if (status == PHL_OK) {
        status = phl_run_take_member(run, member, error);
    }
    if (status != PHL_OK) {
        phl_run_free(member);
        return status;
    }
    phl_expert_free(run->expert);
    run->expert = NULL;
    return PHL_OK;
}

/* Facts about how the run was made. */
static phl_status fill_run(phl_run *run, const phl_forest *forest,
                           const phl_expert_options *options, phl_error *error)
{
    char fingerprint[33], seed[32];
    phl_model *model = &run->models[0];
    (void)snprintf(seed, sizeof seed, "%llu", (unsigned long long)options->seed);
    model->stop_reason = PHL_STOP_TOLERANCE;
    model->trees = forest->n_trees;
    for (size_t t = 0; t < forest->n_trees; t++) {
        model->weight += phl_tree_weight(forest, t);
    }
    phl_status status = phl_forest_fingerprint(forest, false, fingerprint, error);
    const char *const facts[][2] = {{"version", phl_version()},
                                    {"fingerprint", fingerprint},
                                    {"seed", seed},
                                    {"command", options->command_line}};
    return status == PHL_OK ? phl_run_set_facts(run, facts, sizeof facts / sizeof *facts, error)
                            : status;
}

phl_status phl_train_expert(const phl_forest *forest, const phl_expert_options *options,
                            phl_run **run, phl_error *error)
{
    phl_expert_options own;
    phl_run *made = NULL;
    phl_status status = phl_options_take(&own, &defaults, sizeof own, options, "phl_expert", error);
    if (status == PHL_OK) {
        status = phl_run_create(PHL_NO_KIND, 0, forest->max_slot, &forest->labels, &forest->classes,
                                false, &made, error);
    }
    if (status == PHL_OK) {
        status = fill_run(made, forest, &own, error);
    }
    if (status == PHL_OK) {
        status = phl_run_add_expert(made, forest, &own, error);
    }
    if (status != PHL_OK) {
        phl_run_free(made);
        return status;
    }
    *run = made;
    return PHL_OK;
}

void phl_expert_summarise(const phl_run *run, phl_expert_summary *summary)
{
    const phl_expert *expert = run->expert;
    *summary = (phl_expert_summary){0};
    if (expert != NULL) {
        *summary = (phl_expert_summary){.trees = expert->trees,
                                        .neighbourhoods = expert->n_rows,
                                        .voices = expert->n_voices,
                                        .models = expert->n_voices - expert->n_chains,
                                        .hidden = expert->hidden,
                                        .accuracy = expert->accuracy,
                                        .log_loss = expert->log_loss,
                                        .odd_trees = expert->n_odd};
    }
}
