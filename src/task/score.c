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
    const phl_model *models; /* [n_models] */
    size_t n_models;
    const phl_forest *forest;
    uint64_t *nodes, *unknown; /* of the forest's subtrees */
    /* Whole trees. */
    phl_prepared prepared;
    double *labels, *both; /* [n_models][roots]; both: with the shape term */
    /* Nodes. */
    phl_session **sessions; /* [n_models] */
    phl_walk *walk;
    uint32_t *label_row; /* with an expert: of the forest's labels in the run */
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
    phl_expert_tables *tables; /* of the run's expert; NULL: it has none */
    phl_oddity oddity;
};

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
    return phl_scores_average(&lot->prepared, lot->models, lot->n_models, true, use->threads,
                              use->cancel, use->context, lot->labels, lot->both, error);
}

/* Sessions share what memory there is for upward passes. */
static phl_status open_sessions(const struct scoring *work, struct lot *lot, size_t n_sessions,
                                phl_error *error)
{
    lot->sessions = phl_alloc_zero(lot->n_models, sizeof *lot->sessions, error);
    phl_status status =
        lot->sessions == NULL ? PHL_ERR_MEMORY : phl_walk_create(lot->forest, &lot->walk, error);
    if (status == PHL_OK && work->tables != NULL) {
        status = phl_index_map_labels(lot->forest, &work->use.run->labels, &lot->label_row, error);
    }
    bool expert_alone = work->tables != NULL && work->use.run->kind == PHL_NO_KIND;
    for (size_t m = 0; status == PHL_OK && !expert_alone && m < lot->n_models; m++) {
        status = phl_session_create(&lot->models[m], lot->forest, work->use.threads,
                                    phl_session_memory() / n_sessions, &lot->sessions[m], error);
    }
    return status;
}

static void clear_lots(struct scoring *work)
{
    for (size_t i = 0; i < work->n_lots; i++) {
        struct lot *lot = &work->lots[i];
        for (size_t m = 0; lot->sessions != NULL && m < lot->n_models; m++) {
            phl_session_free(lot->sessions[m]);
        }
        phl_scores_clear(&lot->prepared);
        phl_walk_free(lot->walk);
        phl_free(lot->sessions);
        phl_free(lot->label_row);
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
    if (work->tables != NULL) {
        phl_oddity *oddity = &work->oddity;
        status = phl_oddity_of_tree(oddity, lot->walk, place, lot->label_row, session, error);
        score->oddity = oddity->oddity;
        score->mean_bits = oddity->mean;
        score->most_bits = oddity->most;
        score->odd_share = phl_oddity_share(work->tables->expert, oddity->oddity);
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
    phl_tree_at at = phl_use_at(&work->use, tree, lot->models[m].class_index);
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
        n_sessions += work->lots[i].n_models;
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
    work->lots[0].models = run->models;
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
        work->lots[i].models = portions.portions[i].model;
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

phl_status phl_score(const phl_run *run, phl_source *source, const phl_score_options *options,
                     phl_score_fn each, phl_error *error)
{
    phl_score_options own;
    phl_status status = phl_options_take(&own, &defaults, sizeof own, options, "phl_score", error);
    if (status != PHL_OK) {
        return status;
    }
    struct scoring work = {
        .options = &own, .each = each, .nodes = own.bits || own.predictive || run->expert != NULL};
    if (run->expert != NULL) {
        status = phl_expert_tables_create(run->expert, &work.tables, error);
        work.oddity.tables = work.tables;
    }
    status =
        status != PHL_OK
            ? status
            : phl_use_begin(&work.use, run, source, PHL_OPTION("score.class_name"), own.class_name,
                            own.threads, own.report, own.cancel, own.context, error);
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
    phl_expert_tables_free(work.tables);
    phl_use_clear(&work.use);
    return status;
}
