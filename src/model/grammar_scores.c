/* grammar_scores.c - log-probabilities of whole trees under grammars; see grammar_scores.h. */
#include "model/grammar_scores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "forest/copy.h"
#include "grammar/values.h"

/* ---------------------------------------------------------------------------------------------
 * Grammars of a run
 * ------------------------------------------------------------------------------------------- */

/* Number of the last draw of a chain; SIZE_MAX: none. */
static size_t find_draw(const phl_model *model, size_t chain)
{
    for (size_t d = model->n_draws; d-- > 0;) {
        if (model->draws[d].chain == chain) {
            return d;
        }
    }
    return SIZE_MAX;
}

/* The start of draw `first` of the first model, if every class has it. */
static phl_status add_start(const phl_run *run, size_t first, phl_grammar_part **parts,
                            phl_grammars *grammars, phl_error *error)
{
    size_t *draws = grammars->draws + grammars->n * run->n_models;
    size_t chain = run->models[0].draws[first].chain;
    for (size_t c = 0; c < run->n_models; c++) {
        draws[c] = find_draw(&run->models[c], chain);
        if (draws[c] == SIZE_MAX || (c == 0 && draws[c] != first)) {
            return PHL_OK;
        }
        parts[c] = run->models[c].draws[draws[c]].params->grammar;
    }
    phl_status status =
        phl_grammar_create(parts, run->n_models, &grammars->grammars[grammars->n], error);
    grammars->n += status == PHL_OK;
    return status;
}

phl_status phl_grammar_scores_open(const phl_run *run, phl_grammars *grammars, phl_error *error)
{
    size_t most = run->models[0].n_draws;
    phl_grammar_part **parts = phl_alloc(run->n_models, sizeof *parts, error);
    *grammars =
        (phl_grammars){.grammars = phl_alloc_zero(most, sizeof(phl_grammar *), error),
                       .draws = phl_alloc(phl_times(most, run->n_models), sizeof(size_t), error)};
    phl_status status = parts == NULL || grammars->grammars == NULL || grammars->draws == NULL
                            ? PHL_ERR_MEMORY
                            : PHL_OK;
    for (size_t d = 0; status == PHL_OK && d < most; d++) {
        status = add_start(run, d, parts, grammars, error);
    }
    phl_free(parts);
    if (status == PHL_OK && grammars->n == 0) {
        status = phl_raise(error, PHL_ERR_ARGUMENT, "train again, or resume the run",
                           "the run holds no parameters: training stopped before it had any");
    }
    if (status != PHL_OK) {
        phl_grammar_scores_close(grammars);
    }
    return status;
}

void phl_grammar_scores_close(phl_grammars *grammars)
{
    for (size_t i = 0; grammars->grammars != NULL && i < grammars->n; i++) {
        phl_grammar_free(grammars->grammars[i]);
    }
    phl_free(grammars->grammars);
    phl_free(grammars->draws);
    memset(grammars, 0, sizeof *grammars);
}

/* ---------------------------------------------------------------------------------------------
 * Scores
 * ------------------------------------------------------------------------------------------- */

/* A forest as lists, in the form of each grammar that needs it. */
struct view {
    phl_lists *lists[2]; /* by form */
    bool hidden;         /* some label is */
};

static phl_status make_view(const phl_forest *forest, const uint32_t *symbol_of,
                            const phl_grammars *grammars, struct view *view, phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t s = 0; !view->hidden && s < forest->n_subtrees; s++) {
        view->hidden = forest->label[s] < 0;
    }
    for (size_t i = 0; status == PHL_OK && i < grammars->n; i++) {
        const phl_grammar *grammar = grammars->grammars[i];
        phl_lists **lists = &view->lists[grammar->pair];
        if (*lists == NULL) {
            status = (view->hidden ? phl_lists_create_bare : phl_lists_create)(
                forest, symbol_of, grammar->labels, grammar->pair, lists, error);
        }
    }
    return status;
}

static void clear_view(struct view *view)
{
    phl_lists_free(view->lists[0]);
    phl_lists_free(view->lists[1]);
}

struct jobs {
    const phl_grammars *grammars;
    size_t first, n_models, n_trees; /* models of the run */
    struct view trees, shapes;
    const char *form; /* of the starts that classify */
    double *scores;   /* [starts][n_models][trees] */
};

/* log p of the trees of a view under a part. */
static phl_status score_view(const phl_grammar *grammar, size_t part, const struct view *view,
                             double *scores, phl_error *error)
{
    const phl_lists *lists = view->lists[grammar->pair];
    if (!view->hidden) {
        return phl_grammar_score(grammar, part, lists, scores, error);
    }
    phl_backoff *backoff = NULL;
    phl_values *values = NULL;
    phl_status status = phl_backoff_create(grammar, part, &backoff, error);
    if (status == PHL_OK) {
        status = phl_values_create(lists, backoff, &values, error);
    }
    for (size_t t = 0; status == PHL_OK && t < lists->n_trees; t++) {
        scores[t] = phl_values_tree(values, t);
    }
    phl_values_free(values);
    phl_backoff_free(backoff);
    return status;
}

static phl_status run_job(size_t chunk, size_t begin, size_t end, int worker, void *context,
                          phl_error *error)
{
    (void)chunk;
    (void)worker;
    const struct jobs *jobs = context;
    double *shape = phl_alloc(jobs->n_trees, sizeof *shape, error);
    phl_status status = shape == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t i = begin; status == PHL_OK && i < end; i++) {
        const phl_grammar *grammar = jobs->grammars->grammars[i / jobs->n_models];
        size_t part = jobs->first + i % jobs->n_models;
        double *scores = jobs->scores + i * jobs->n_trees;
        const phl_lists *bare = jobs->shapes.lists[grammar->pair];
        status = score_view(grammar, part, &jobs->trees, scores, error);
        if (status == PHL_OK && bare != NULL) {
            status = score_view(grammar, part, &jobs->shapes, shape, error);
        }
        for (size_t t = 0; status == PHL_OK && bare != NULL && t < jobs->n_trees; t++) {
            scores[t] -= shape[t];
        }
    }
    phl_free(shape);
    return status;
}

/* As training chose; all where it did not, or where there are none such. */
static const char *find_form(const phl_run *run, const phl_grammars *grammars)
{
    const char *form = phl_run_meta(run, "form");
    bool any = false;
    for (size_t i = 0; i < grammars->n; i++) {
        any = any || phl_grammar_part_has_form(grammars->grammars[i]->parts[0], form);
    }
    return any ? form : NULL;
}

/* Over the starts, by root. */
static void average(const struct jobs *jobs, const phl_roots *roots, phl_grammar_mean mean,
                    double *room, double *scores)
{
    size_t starts = jobs->grammars->n, n = jobs->n_trees;
    for (size_t m = 0; m < jobs->n_models; m++) {
        for (size_t r = 0; r < roots->n; r++) {
            double sum = 0.0, classify = 0.0;
            for (size_t s = 0; s < starts; s++) {
                room[s] = jobs->scores[(s * jobs->n_models + m) * n + roots->tree[r]];
                if (phl_grammar_part_has_form(jobs->grammars->grammars[s]->parts[0], jobs->form)) {
                    sum += room[s];
                    classify += 1.0;
                }
            }
            double *out = &scores[m * roots->n + r];
            if (mean == PHL_MEAN_LOG) {
                *out = sum / classify;
            } else {
                phl_scores_average_draws(room, NULL, starts, 1, out);
            }
        }
    }
}

static phl_status score(struct jobs *jobs, const phl_prepared *prepared, bool shape, int threads,
                        phl_cancel_fn cancel, void *context, phl_error *error)
{
    const phl_forest *forest = prepared->forest;
    phl_forest *bare = NULL;
    size_t n_jobs = jobs->grammars->n * jobs->n_models;
    jobs->n_trees = forest->n_trees;
    jobs->scores = phl_alloc(phl_times(n_jobs, forest->n_trees), sizeof *jobs->scores, error);
    phl_status status = jobs->scores == NULL ? PHL_ERR_MEMORY
                                             : make_view(forest, prepared->label_row,
                                                         jobs->grammars, &jobs->trees, error);
    if (status == PHL_OK && !shape) {
        status = phl_copy_trees(forest, NULL, forest->n_trees, PHL_COPY_SHAPES, &bare, error);
    }
    if (status == PHL_OK && !shape) {
        status = make_view(bare, prepared->label_row, jobs->grammars, &jobs->shapes, error);
    }
    if (status == PHL_OK) {
        status = phl_parallel_chunks(n_jobs, 1, threads, run_job, jobs, cancel, context, error);
    }
    phl_forest_free(bare);
    clear_view(&jobs->trees);
    clear_view(&jobs->shapes);
    return status;
}

phl_status phl_grammar_scores_make(const phl_prepared *prepared, const phl_model *models,
                                   size_t n_models, bool shape, phl_grammar_mean mean, int threads,
                                   phl_cancel_fn cancel, void *context, double *scores,
                                   phl_error *error)
{
    phl_grammars grammars = {0};
    phl_status status = phl_grammar_scores_open(models->run, &grammars, error);
    double *room = status == PHL_OK ? phl_alloc(grammars.n, sizeof *room, error) : NULL;
    if (status == PHL_OK && room == NULL) {
        status = PHL_ERR_MEMORY;
    }
    struct jobs jobs = {.grammars = &grammars,
                        .first = models->class_index,
                        .n_models = n_models,
                        .form = find_form(models->run, &grammars)};
    if (status == PHL_OK) {
        status = score(&jobs, prepared, shape, threads, cancel, context, error);
    }
    if (status == PHL_OK) {
        average(&jobs, &prepared->roots, mean, room, scores);
    }
    phl_free(room);
    phl_free(jobs.scores);
    phl_grammar_scores_close(&grammars);
    return status;
}
