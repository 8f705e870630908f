/* score.c - how well models explain trees and their labels.
 *
 * A lot is a number of trees and the models they are scored under: the trees of one class under
 * its model, or all trees of a block under every model.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "forest/copy.h"
#include "task/oddity.h"

static const phl_score_options defaults = {.size = sizeof(phl_score_options)};

void phl_score_options_init_sized(phl_score_options *options, size_t size)
{
    phl_options_fill(options, size, &defaults, sizeof defaults);
}

struct lot {
    const phl_model *models_of_run; /* [n_models] */
    size_t n_models;
    const phl_forest *forest;
    uint64_t *nodes, *unknown; /* of the forest's subtrees */
    /* Whole trees. */
    phl_prepared prepared;
    double *labels, *both; /* [n_models][roots]; both: with the shape term */
    /* Nodes. */
    phl_session **sessions; /* [n_models] */
    phl_walk *walk;
    /* Where several members or runs have a say, what each run says: [n_models][n_runs], with
     * sessions of its own for all models but that above. */
    phl_oddity_source *sources;
    phl_session **models;  /* all those of the sources, one after the other */
    size_t n_models_held;  /* of them */
    uint32_t **label_rows; /* [n_runs] of the forest's labels in each run */
};

struct scoring {
    phl_use use;
    const phl_score_options *options;
    phl_score_fn each;
    bool nodes; /* something is asked for about each node */
    struct lot *lots;
    size_t n_lots;
    double *bits, *predictive; /* of one tree */
    size_t bits_capacity, predictive_capacity;
    bool odd;                   /* bits are of a pool */
    size_t n_runs;              /* that are pooled: 1, or more */
    phl_beside *beside;         /* [n_runs], or NULL: one */
    phl_expert_tables **tables; /* [n_runs] of their experts; NULL where there is none */
    phl_oddity oddity;
};

static const phl_run *run_of(const struct scoring *work, size_t i)
{
    return i == 0 ? work->use.run : work->options->with[i - 1];
}

/* Models of a run that have a say: without an expert, further ones have none. */
static size_t count_models(const phl_run *run)
{
    return run->kind == PHL_NO_KIND ? 0 : run->expert == NULL ? 1 : 1 + run->n_members;
}

/* ---------------------------------------------------------------------------------------------
 * One lot
 * ------------------------------------------------------------------------------------------- */

static phl_status score_trees(const struct scoring *work, struct lot *lot, phl_error *error)
{
    const phl_use *use = &work->use;
    phl_status status = phl_scores_prepare(use->run, lot->forest, &lot->prepared, error);
    if (status != PHL_OK) {
        return status;
    }
    size_t cells = lot->n_models * lot->prepared.roots.n;
    lot->labels = phl_alloc(cells, sizeof *lot->labels, error);
    lot->both = work->options->structure ? phl_alloc(cells, sizeof *lot->both, error) : NULL;
    if (lot->labels == NULL || (work->options->structure && lot->both == NULL)) {
        return PHL_ERR_MEMORY;
    }
    return phl_scores_average(&lot->prepared, lot->models_of_run, lot->n_models, true, use->threads,
                              use->cancel, use->context, lot->labels, lot->both, error);
}

/* Sessions of a lot: of its models, and of what is pooled with each of them. */
static size_t count_sessions(const struct scoring *work, const struct lot *lot)
{
    size_t n = 1;
    for (size_t i = 0; work->odd && i < work->n_runs; i++) {
        n += count_models(run_of(work, i));
    }
    return n * lot->n_models;
}

static phl_status open_session(const struct scoring *work, const struct lot *lot,
                               const phl_model *model, size_t n_sessions, phl_session **session,
                               phl_error *error)
{
    return phl_session_create(model, lot->forest, work->use.threads,
                              phl_session_memory() / n_sessions, session, error);
}

/* What run number i says beside model m of the lot. */
static phl_status open_source(const struct scoring *work, struct lot *lot, size_t m, size_t i,
                              size_t n_sessions, phl_error *error)
{
    const phl_run *run = run_of(work, i);
    size_t n = count_models(run);
    lot->sources[m * work->n_runs + i] =
        (phl_oddity_source){.tables = work->tables[i],
                            .label_row = lot->label_rows[i],
                            .models = lot->models + lot->n_models_held,
                            .n_models = n,
                            .n_labels = run->labels.count,
                            .beside = work->beside == NULL ? NULL : &work->beside[i]};
    phl_status status = PHL_OK;
    for (size_t k = 0; status == PHL_OK && k < n; k++) {
        const phl_run *one = k == 0 ? run : run->members[k - 1];
        phl_session **session = &lot->models[lot->n_models_held++];
        if (i == 0 && k == 0) {
            *session = lot->sessions[m];
        } else {
            status = open_session(work, lot, phl_beside_model(one, &lot->models_of_run[m]),
                                  n_sessions, session, error);
        }
    }
    return status;
}

static phl_status open_sources(const struct scoring *work, struct lot *lot, size_t n_sessions,
                               phl_error *error)
{
    size_t cells = lot->n_models * work->n_runs;
    lot->sources = phl_alloc_zero(cells, sizeof *lot->sources, error);
    lot->models = phl_alloc_zero(count_sessions(work, lot), sizeof *lot->models, error);
    lot->label_rows = phl_alloc_zero(work->n_runs, sizeof *lot->label_rows, error);
    phl_status status = lot->sources == NULL || lot->models == NULL || lot->label_rows == NULL
                            ? PHL_ERR_MEMORY
                            : PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < work->n_runs; i++) {
        status =
            phl_index_map_labels(lot->forest, &run_of(work, i)->labels, &lot->label_rows[i], error);
    }
    for (size_t c = 0; status == PHL_OK && c < cells; c++) {
        status = open_source(work, lot, c / work->n_runs, c % work->n_runs, n_sessions, error);
    }
    return status;
}

/* Sessions share what memory there is for upward passes. */
static phl_status open_sessions(const struct scoring *work, struct lot *lot, size_t n_sessions,
                                phl_error *error)
{
    lot->sessions = phl_alloc_zero(lot->n_models, sizeof *lot->sessions, error);
    phl_status status =
        lot->sessions == NULL ? PHL_ERR_MEMORY : phl_walk_create(lot->forest, &lot->walk, error);
    bool expert_alone = work->use.run->expert != NULL && work->use.run->kind == PHL_NO_KIND;
    for (size_t m = 0; status == PHL_OK && !expert_alone && m < lot->n_models; m++) {
        status =
            open_session(work, lot, &lot->models_of_run[m], n_sessions, &lot->sessions[m], error);
    }
    return status == PHL_OK && work->odd ? open_sources(work, lot, n_sessions, error) : status;
}

/* Is it one of those of the lot's models? */
static bool is_own(const struct lot *lot, const phl_session *session)
{
    bool own = false;
    for (size_t m = 0; !own && m < lot->n_models; m++) {
        own = lot->sessions[m] == session;
    }
    return own;
}

static void clear_lots(struct scoring *work)
{
    for (size_t i = 0; i < work->n_lots; i++) {
        struct lot *lot = &work->lots[i];
        for (size_t k = 0; k < lot->n_models_held; k++) {
            if (!is_own(lot, lot->models[k])) {
                phl_session_free(lot->models[k]);
            }
        }
        for (size_t m = 0; lot->sessions != NULL && m < lot->n_models; m++) {
            phl_session_free(lot->sessions[m]);
        }
        for (size_t r = 0; lot->label_rows != NULL && r < work->n_runs; r++) {
            phl_free(lot->label_rows[r]);
        }
        phl_scores_clear(&lot->prepared);
        phl_walk_free(lot->walk);
        phl_free(lot->sessions);
        phl_free(lot->sources);
        phl_free(lot->models);
        phl_free(lot->label_rows);
        phl_free(lot->labels);
        phl_free(lot->both);
        phl_free(lot->nodes);
        phl_free(lot->unknown);
    }
    phl_free(work->lots);
    work->lots = NULL;
    work->n_lots = 0;
}

/* ---------------------------------------------------------------------------------------------
 * One tree
 * ------------------------------------------------------------------------------------------- */

/* Bits of known labels; without any where the label is unknown, infinite in an impossible tree. */
static phl_status finish_bits(struct scoring *work, const struct lot *lot, size_t place,
                              bool possible, phl_error *error)
{
    phl_visit visit;
    int more;
    phl_walk_start(lot->walk, place);
    while ((more = phl_walk_next(lot->walk, &visit, error)) > 0) {
        if (visit.label < 0 || !possible) {
            work->bits[visit.node] = visit.label < 0 ? (double)NAN : (double)INFINITY;
        }
    }
    return (phl_status)more;
}

static phl_status score_nodes(struct scoring *work, const struct lot *lot, size_t m, size_t place,
                              phl_tree_score *score, phl_error *error)
{
    phl_session *session = lot->sessions[m];
    size_t n = (size_t)score->nodes, width = work->use.run->labels.count + 1;
    bool possible = false;
    phl_status status = PHL_OK;
    if (work->odd) {
        phl_oddity *oddity = &work->oddity;
        status = phl_oddity_of_tree(oddity, lot->sources + m * work->n_runs, work->n_runs,
                                    lot->walk, place, error);
        score->oddity = oddity->oddity;
        score->mean_bits = oddity->mean;
        score->most_bits = oddity->most;
        if (work->n_runs == 1) { /* how odd training trees are is known of one run alone */
            score->odd_share = phl_oddity_share(work->use.run->expert, oddity->oddity);
        }
        score->bits = work->options->bits ? oddity->bits : NULL;
    } else if (work->options->bits) {
        status = phl_grow(&work->bits, &work->bits_capacity, n, sizeof *work->bits, error);
        if (status == PHL_OK) {
            status = phl_session_surprise(session, place, work->bits, &possible, error);
        }
        if (status == PHL_OK) {
            status = finish_bits(work, lot, place, possible, error);
        }
        score->bits = work->bits;
    }
    if (status == PHL_OK && work->options->predictive && session != NULL) {
        status = phl_grow(&work->predictive, &work->predictive_capacity, n * width,
                          sizeof *work->predictive, error);
        if (status == PHL_OK) {
            status = phl_session_predict(session, place, work->predictive, &possible, error);
        }
        score->predictive = possible ? work->predictive : NULL;
    }
    return status;
}

static phl_status score_tree(struct scoring *work, const struct lot *lot, size_t m, size_t tree,
                             size_t place, phl_error *error)
{
    uint32_t root = lot->forest->tree_root[place];
    phl_tree_score score = {.nodes = lot->nodes[root],
                            .labels = lot->nodes[root] - lot->unknown[root],
                            .oddity = (double)NAN,
                            .mean_bits = (double)NAN,
                            .most_bits = (double)NAN,
                            .odd_share = (double)NAN};
    double labels = 0.0;
    phl_status status = PHL_OK;
    if (work->nodes && lot->labels == NULL) {
        phl_session *session = lot->sessions[m];
        labels = session == NULL ? (double)NAN : phl_session_score(session, place, false);
        score.log_likelihood = session == NULL || !work->options->structure
                                   ? labels
                                   : phl_session_score(session, place, true);
    } else {
        size_t cell = m * lot->prepared.roots.n + lot->prepared.roots.of_tree[place];
        labels = lot->labels[cell];
        score.log_likelihood = work->options->structure ? lot->both[cell] : labels;
    }
    if (work->nodes) {
        status = score_nodes(work, lot, m, place, &score, error);
    }
    score.bits_per_label =
        score.labels == 0 ? (double)NAN : -labels / log(2.0) / (double)score.labels;
    phl_tree_at at = phl_use_at(&work->use, tree, lot->models_of_run[m].class_index);
    return status == PHL_OK ? work->each(&at, &score, work->use.context, error) : status;
}

/* ---------------------------------------------------------------------------------------------
 * One block
 * ------------------------------------------------------------------------------------------- */

static phl_status prepare_lots(struct scoring *work, phl_error *error)
{
    phl_status status = PHL_OK;
    size_t n_sessions = 0;
    for (size_t i = 0; i < work->n_lots; i++) {
        n_sessions += count_sessions(work, &work->lots[i]);
    }
    for (size_t i = 0; status == PHL_OK && i < work->n_lots; i++) {
        struct lot *lot = &work->lots[i];
        status = phl_forest_count_nodes(lot->forest, &lot->nodes, &lot->unknown, error);
        /* A grammar's figure for a whole tree is not among those of its nodes. */
        if (status == PHL_OK && (!work->nodes || work->use.run->kind == PHL_GRAMMAR)) {
            status = score_trees(work, lot, error);
        }
        if (status == PHL_OK && work->nodes) {
            status = open_sessions(work, lot, n_sessions, error);
        }
    }
    return status;
}

static phl_status score_every(struct scoring *work, phl_error *error)
{
    const phl_run *run = work->use.run;
    work->lots = phl_alloc_zero(1, sizeof *work->lots, error);
    if (work->lots == NULL) {
        return PHL_ERR_MEMORY;
    }
    work->n_lots = 1;
    work->lots[0].models_of_run = run->models;
    work->lots[0].n_models = run->n_models;
    work->lots[0].forest = work->use.block;
    phl_status status = prepare_lots(work, error);
    for (size_t t = 0; status == PHL_OK && t < work->use.block->n_trees; t++) {
        for (size_t m = 0; status == PHL_OK && m < run->n_models; m++) {
            status = score_tree(work, &work->lots[0], m, t, t, error);
        }
    }
    return status;
}

static phl_status score_own(struct scoring *work, phl_error *error)
{
    phl_use_portions portions;
    phl_status status = phl_use_portions_make(&work->use, &portions, error);
    if (status == PHL_OK) {
        work->lots = phl_alloc_zero(portions.n, sizeof *work->lots, error);
        status = work->lots == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    for (size_t i = 0; status == PHL_OK && i < portions.n; i++) {
        work->lots[i].models_of_run = portions.portions[i].model;
        work->lots[i].n_models = 1;
        work->lots[i].forest = portions.portions[i].forest;
        work->n_lots++;
    }
    if (status == PHL_OK) {
        status = prepare_lots(work, error);
    }
    for (size_t t = 0; status == PHL_OK && t < portions.n_trees; t++) {
        status = score_tree(work, &work->lots[portions.of_tree[t]], 0, t, portions.place[t], error);
    }
    if (status == PHL_OK) {
        status = phl_use_portions_finish(&work->use, &portions, error);
    }
    phl_use_portions_clear(&portions);
    return status;
}

/* Tables of experts, and how runs are pooled. */
static phl_status prepare_runs(struct scoring *work, phl_error *error)
{
    phl_status status = phl_beside_create(work->use.run, work->options->with, work->options->n_with,
                                          &work->beside, error);
    if (status == PHL_OK) {
        work->tables = phl_alloc_zero(work->n_runs, sizeof *work->tables, error);
        status = work->tables == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    for (size_t i = 0; status == PHL_OK && i < work->n_runs; i++) {
        const phl_run *run = run_of(work, i);
        status = run->expert == NULL
                     ? PHL_OK
                     : phl_expert_tables_create(run->expert, &work->tables[i], error);
    }
    return status;
}

phl_status phl_score(const phl_run *run, phl_source *source, const phl_score_options *options,
                     phl_score_fn each, phl_error *error)
{
    phl_score_options own;
    phl_status status = phl_options_take(&own, &defaults, sizeof own, options, "phl_score", error);
    if (status != PHL_OK) {
        return status;
    }
    struct scoring work = {.options = &own,
                           .each = each,
                           .odd = run->expert != NULL || own.n_with > 0,
                           .n_runs = 1 + own.n_with};
    work.nodes = own.bits || own.predictive || work.odd;
    status = phl_use_begin(&work.use, run, source, PHL_OPTION("score.class_name"), own.class_name,
                           own.threads, own.report, own.cancel, own.context, error);
    if (status == PHL_OK) {
        status = prepare_runs(&work, error);
    }
    while (status == PHL_OK && (status = phl_use_next(&work.use, error)) == PHL_OK &&
           work.use.block != NULL) {
        status = own.every_class ? score_every(&work, error) : score_own(&work, error);
        clear_lots(&work);
    }
    if (status == PHL_OK) {
        phl_use_tell(&work.use);
    }
    phl_free(work.bits);
    phl_free(work.predictive);
    phl_oddity_clear(&work.oddity);
    for (size_t i = 0; work.tables != NULL && i < work.n_runs; i++) {
        phl_expert_tables_free(work.tables[i]);
    }
    phl_free(work.tables);
    phl_beside_free(work.beside, own.n_with);
    phl_use_clear(&work.use);
    return status;
}
