/* label.c - filling in labels.
 *
 * Hiding labels gives another forest, whose trees share far more than the original's; inference
 * runs on that one, batch by batch (label_batch.h).  A tree whose known labels have probability 0
 * falls back on a second session that knows shapes only.
 */
#include "task/label.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "task/copies.h"
#include "task/label_batch.h"
#include "task/measures.h"

struct labelling {
    const phl_model *model;
    const phl_forest *forest; /* as given */
    const phl_label_options *options;
    size_t n_labels;     /* M */
    uint32_t *label_row; /* of the forest's labels in the run; M: not known */
    phl_walk *walk;      /* of the forest */
    phl_batch batch;
    bool measured; /* an evaluation is wanted */
    phl_measures measures;

    /* One tree on its way to the callback. */
    int32_t *truth, *best, *drawn;
    bool *hidden, *filled;
    size_t truth_capacity, best_capacity, drawn_capacity, hidden_capacity, filled_capacity;
};

static const phl_label_options defaults = {
    .size = sizeof(phl_label_options),
    .seed = 42,
};

void phl_label_options_init_sized(phl_label_options *options, size_t size)
{
    phl_options_fill(options, size, &defaults, sizeof defaults);
}

phl_status phl_label_options_take(const phl_label_options *given, phl_label_options *taken,
                                  phl_error *error)
{
    return phl_options_take(taken, &defaults, sizeof defaults, given, "phl_label", error);
}

/* ---------------------------------------------------------------------------------------------
 * Preparing
 * ------------------------------------------------------------------------------------------- */

static void report_impossible(const struct labelling *work, size_t count, size_t first)
{
    if (work->options->report != NULL) {
        phl_error note = {.status = PHL_OK};
        phl_position position = {phl_tree_file(work->forest, first),
                                 phl_tree_line(work->forest, first), 0};
        phl_raise_at(&note, PHL_OK, position, NULL,
                     "the known labels of %zu tree%s probability 0 (the first is tree %zu): "
                     "predictions there rest on the shape alone",
                     count, count == 1 ? " have" : "s have", first);
        work->options->report(&note, work->options->context);
    }
}

/* A session that knows shapes only, if some tree with labels to fill is impossible. */
static phl_status prepare_fallback(struct labelling *work, phl_forest **shapes, phl_error *error)
{
    const phl_session *session = work->batch.session[0];
    size_t impossible = 0, first = 0;
    for (size_t t = 0; t < work->batch.forest->n_trees; t++) {
        bool possible = work->batch.unknown[work->batch.forest->tree_root[t]] == 0;
        for (size_t d = 0; !possible && d < session->n_draws; d++) {
            possible = !isinf(phl_session_labels(session, d, t));
        }
        if (!possible) {
            first = impossible == 0 ? t : first;
            impossible++;
        }
    }
    if (impossible == 0) {
        return PHL_OK;
    }
    report_impossible(work, impossible, first);
    phl_status status = phl_copy_shapes(work->batch.forest, shapes, error);
    if (status == PHL_OK) {
        status = phl_session_create(work->model, *shapes, work->options->threads,
                                    &work->batch.session[1], error);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Handing out
 * ------------------------------------------------------------------------------------------- */

static phl_status reserve_tree(struct labelling *work, size_t n, phl_error *error)
{
    phl_status status =
        phl_grow(&work->truth, &work->truth_capacity, n, sizeof *work->truth, error);
    if (status == PHL_OK) {
        status = phl_grow(&work->best, &work->best_capacity, n, sizeof *work->best, error);
    }
    if (status == PHL_OK) {
        status = phl_grow(&work->drawn, &work->drawn_capacity, n, sizeof *work->drawn, error);
    }
    if (status == PHL_OK) {
        status = phl_grow(&work->hidden, &work->hidden_capacity, n, sizeof *work->hidden, error);
    }
    if (status == PHL_OK) {
        status = phl_grow(&work->filled, &work->filled_capacity, n, sizeof *work->filled, error);
    }
    return status;
}

/* Truths, and known labels as the run numbers them. */
static phl_status read_tree(struct labelling *work, size_t tree, phl_error *error)
{
    phl_visit visit;
    int more;
    phl_walk_start(work->walk, tree);
    while ((more = phl_walk_next(work->walk, &visit, error)) > 0) {
        size_t u = visit.node;
        uint32_t row = visit.label < 0 ? UINT32_MAX : work->label_row[visit.label];
        work->truth[u] = visit.label;
        work->best[u] = row < work->n_labels ? (int32_t)row : -1;
        work->drawn[u] = work->best[u];
        work->hidden[u] = false;
        work->filled[u] = false;
    }
    return (phl_status)more;
}

static void measure_row(struct labelling *work, size_t row, int32_t truth, int32_t drawn)
{
    size_t m = work->n_labels;
    uint32_t label = work->label_row[truth];
    double p = label < m ? work->batch.probability[row * m + label] : work->batch.unseen[row];
    phl_item item = {
        .truth = label < m ? label : SIZE_MAX,
        .predicted = (size_t)work->batch.best[row],
        .drawn = work->options->no_draw ? SIZE_MAX : (size_t)drawn,
        .entropy_bits = work->batch.entropy[row],
        .log_p = p > 0.0 ? log(p) : -(double)INFINITY,
    };
    phl_measures_add(&work->measures, &item);
}

static phl_status hand_out(struct labelling *work, const phl_batch_member *member,
                           phl_labelled_fn labelled, void *context, phl_error *error)
{
    const phl_batch_shape *shape = &work->batch.shapes[member->shape];
    phl_status status = reserve_tree(work, shape->n, error);
    if (status == PHL_OK) {
        status = read_tree(work, member->tree, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    for (size_t row = shape->first_row; row < shape->first_row + shape->n_rows; row++) {
        size_t u = work->batch.row_node[row];
        work->filled[u] = true;
        work->hidden[u] = work->truth[u] >= 0;
        work->best[u] = work->batch.best[row];
        if (member->pick != SIZE_MAX) {
            int32_t drawn = work->batch.drawn[member->first_drawn + u];
            work->drawn[u] = drawn >= 0 ? drawn : work->batch.best[row];
        }
        if (work->measured && work->hidden[u] && work->n_labels > 0) {
            measure_row(work, row, work->truth[u], work->drawn[u]);
        }
    }
    if (labelled == NULL) {
        return PHL_OK;
    }
    phl_labelled_tree tree = {
        .tree = member->tree,
        .n = shape->n,
        .n_filled = shape->n_rows,
        .truth = work->truth,
        .hidden = work->hidden,
        .filled = work->filled,
        .best = work->best,
        .drawn = work->options->no_draw ? NULL : work->drawn,
        .probability = work->batch.probability + shape->first_row * work->n_labels,
        .unseen = work->batch.unseen + shape->first_row,
        .possible = shape->possible,
    };
    return labelled(&tree, context, error);
}

/* ---------------------------------------------------------------------------------------------
 * Labelling
 * ------------------------------------------------------------------------------------------- */

/* Names an evaluation can have: the confusion matrix grows with their square. */
static const size_t most_names = 20000;

static phl_status check_options(const struct labelling *work, phl_error *error)
{
    double hide = work->options->hide;
    if (!(hide >= 0.0 && hide <= 1.0)) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                         "the share of labels to hide is %g, expected 0 to 1", hide);
    }
    if (work->measured && work->n_labels > most_names) {
        return phl_raise(error, PHL_ERR_LIMIT, "label without evaluating",
                         "an evaluation over %zu labels, at most %zu are possible", work->n_labels,
                         most_names);
    }
    return PHL_OK;
}

/* Everything the batches need; `shapes` may get a forest for the fallback. */
static phl_status prepare(struct labelling *work, phl_forest **shapes, phl_error *error)
{
    phl_batch *batch = &work->batch;
    batch->options = work->options;
    batch->model = work->model;
    phl_status status = phl_session_create(work->model, batch->forest, work->options->threads,
                                           &batch->session[0], error);
    if (status == PHL_OK) {
        status = phl_batch_init(batch, error);
    }
    if (status == PHL_OK) {
        status =
            phl_index_map_labels(work->forest, &work->model->run->labels, &work->label_row, error);
    }
    if (status == PHL_OK) {
        status = phl_walk_create(work->forest, &work->walk, error);
    }
    if (status == PHL_OK) {
        status = phl_measures_init(&work->measures, work->measured ? work->n_labels : 0, error);
    }
    return status == PHL_OK ? prepare_fallback(work, shapes, error) : status;
}

static void clear(struct labelling *work)
{
    phl_batch_clear(&work->batch);
    phl_session_free(work->batch.session[0]);
    phl_session_free(work->batch.session[1]);
    phl_walk_free(work->walk);
    phl_measures_clear(&work->measures);
    phl_free(work->label_row);
    phl_free(work->truth);
    phl_free(work->best);
    phl_free(work->drawn);
    phl_free(work->hidden);
    phl_free(work->filled);
}

phl_status phl_label_with(const phl_model *model, const phl_forest *forest,
                          const phl_label_options *options, phl_labelled_fn labelled,
                          void *labelled_context, phl_evaluation *evaluation, phl_error *error)
{
    phl_forest *hidden = NULL, *shapes = NULL;
    struct labelling work = {.model = model,
                             .forest = forest,
                             .options = options,
                             .n_labels = model->run->labels.count,
                             .measured = evaluation != NULL && options->hide > 0.0};
    phl_status status = check_options(&work, error);
    if (status == PHL_OK && options->hide > 0.0) {
        status = phl_hide_labels(forest, options->hide, options->seed, &hidden, error);
    }
    if (status == PHL_OK) {
        work.batch.forest = hidden != NULL ? hidden : forest;
        status = prepare(&work, &shapes, error);
    }
    for (size_t tree = 0; status == PHL_OK && tree < forest->n_trees;) {
        status = phl_batch_fill(&work.batch, tree, &tree, error);
        if (status == PHL_OK) {
            status = phl_batch_run(&work.batch, error);
        }
        for (size_t i = 0; status == PHL_OK && i < work.batch.n_members; i++) {
            status = hand_out(&work, &work.batch.members[i], labelled, labelled_context, error);
        }
    }
    if (status == PHL_OK && evaluation != NULL) {
        status = phl_measures_finish(&work.measures, &model->run->labels, evaluation, error);
    }
    clear(&work);
    phl_forest_free(hidden);
    phl_forest_free(shapes);
    return status;
}

phl_status phl_label(const phl_model *model, const phl_forest *forest,
                     const phl_label_options *options, phl_labelled_fn labelled,
                     phl_evaluation *evaluation, phl_error *error)
{
    phl_label_options own;
    phl_status status = phl_label_options_take(options, &own, error);
    return status == PHL_OK
               ? phl_label_with(model, forest, &own, labelled, own.context, evaluation, error)
               : status;
}
