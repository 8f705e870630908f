/* label.c - filling in labels.
 *
 * Hiding labels gives another forest, whose trees share far more than the original's; inference
 * runs on that one, batch by batch (label_batch.h).  A tree whose known labels have probability 0
 * falls back on a second session that knows shapes only.
 */
#include "task/label_forest.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "task/beside.h"
#include "task/label_batch.h"
#include "task/label_pool.h"
#include "task/measures.h"

static const phl_label_options defaults = {.size = sizeof(phl_label_options), .seed = 42};

void phl_label_options_init_sized(phl_label_options *options, size_t size)
{
    phl_options_fill(options, size, &defaults, sizeof defaults);
}

struct labelling {
    phl_use use;
    const phl_label_options *options;
    phl_label_fn each;   /* may be NULL */
    size_t n_labels;     /* M */
    uint32_t *label_row; /* of the block's labels in the run; M: not known */
    phl_label_batch batch;
    phl_beside *beside;      /* [1 + n_with] the run and those it is pooled with; NULL: none */
    phl_label_batch *others; /* [n_with] the same trees under those */
    size_t n_others;
    double *voices; /* [1 + n_with][M + 1] and one row of any of them */
    bool measured;  /* an evaluation is wanted */
    phl_measures measures;
    phl_label_forest filling; /* of the block, if wanted */

    /* One tree on its way to the callback. */
    int32_t *truth, *best, *drawn;
    bool *hidden, *filled;
    size_t truth_capacity, best_capacity, drawn_capacity, hidden_capacity, filled_capacity;
};

/* ---------------------------------------------------------------------------------------------
 * One tree
 * ------------------------------------------------------------------------------------------- */

static phl_status reserve_tree(struct labelling *work, size_t n, phl_error *error)
{
    const phl_room rooms[] = {
        PHL_ROOM(work->truth, work->truth_capacity, n),
        PHL_ROOM(work->best, work->best_capacity, n),
        PHL_ROOM(work->drawn, work->drawn_capacity, n),
        PHL_ROOM(work->hidden, work->hidden_capacity, n),
        PHL_ROOM(work->filled, work->filled_capacity, n),
    };
    phl_status status = phl_grow_all(rooms, sizeof rooms / sizeof *rooms, error);
    return status;
}

/* Truths, and known labels as the run numbers them. */
static phl_status read_tree(struct labelling *work, size_t tree, phl_error *error)
{
    phl_visit visit;
    int more;
    phl_walk_start(work->use.walk, tree);
    while ((more = phl_walk_next(work->use.walk, &visit, error)) > 0) {
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

static void measure_row(struct labelling *work, size_t model, size_t row, int32_t truth,
                        int32_t drawn)
{
    size_t m = work->n_labels;
    uint32_t label = work->label_row[truth];
    double p = label < m ? work->batch.probability[row * m + label] : work->batch.unseen[row];
    phl_item item = {
        .truth = label < m ? label : SIZE_MAX,
        .predicted = (size_t)work->batch.best[row],
        .drawn = work->options->no_draw ? SIZE_MAX : (size_t)drawn,
        .entropy_bits = work->batch.entropy[row],
        .p = (double)NAN,
        .log_p = p > 0.0 ? log(p) : -(double)INFINITY,
    };
    phl_measures_add(&work->measures, model, &item);
}

static phl_status hand_out(struct labelling *work, const phl_label_batch_member *member,
                           phl_error *error)
{
    const phl_label_batch_shape *shape = &work->batch.shapes[member->shape];
    size_t model = work->batch.parts[member->part].model->class_index;
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
            measure_row(work, model, row, work->truth[u], work->drawn[u]);
        }
    }
    phl_labelled_tree labelled = {
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
    if (work->options->filled != NULL) {
        status = phl_label_forest_add(&work->filling, member->tree, &labelled,
                                      work->options->fill_drawn, error);
    }
    phl_tree_at at = phl_use_at(&work->use, member->tree, model);
    return status == PHL_OK && work->each != NULL
               ? work->each(&at, &labelled, work->use.context, error)
               : status;
}

/* ---------------------------------------------------------------------------------------------
 * One block
 * ------------------------------------------------------------------------------------------- */

/* Sessions that know shapes only, where some tree with labels to fill is impossible. */
static phl_status prepare_fallbacks(struct labelling *work, const phl_use_portions *portions,
                                    phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t t = 0; status == PHL_OK && t < portions->n_trees; t++) {
        if (phl_label_batch_is_impossible(&work->batch, portions, t)) {
            status = phl_use_count(&work->use, &work->use.impossible, t, error);
            if (status == PHL_OK) {
                status = phl_label_batch_add_shapes(&work->batch, portions->of_tree[t], error);
            }
        }
    }
    return status;
}

/* Give the trees with their labels filled in. */
static phl_status give_filled(struct labelling *work, phl_error *error)
{
    phl_forest *filled = NULL;
    phl_status status = phl_label_forest_finish(&work->filling, &filled, error);
    if (status == PHL_OK) {
        status = work->options->filled(filled, work->use.context, error);
    }
    phl_forest_free(filled);
    return status;
}

/* Rows of the batch become the product of what all runs say. */
static void pool_rows(struct labelling *work)
{
    phl_label_batch *batch = &work->batch;
    size_t m = batch->n_labels, width = m + 1, n = 1 + work->n_others;
    for (size_t row = 0; row < batch->n_rows; row++) {
        double *p = batch->probability + row * m;
        for (size_t i = 0; i < n; i++) {
            const phl_label_batch *one = i == 0 ? batch : &work->others[i - 1];
            phl_beside_voice(&work->beside[i], one->probability + row * one->n_labels,
                             one->unseen[row], work->voices + i * width);
        }
        phl_beside_pool(work->voices, n, width, work->voices);
        memcpy(p, work->voices, m * sizeof *p);
        batch->unseen[row] = work->voices[m];
    }
}

static phl_status pool_runs(struct labelling *work, phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < work->n_others; i++) {
        status = phl_label_batch_fill_beside(&work->others[i], &work->batch, error);
        if (status == PHL_OK) {
            status = phl_label_batch_predict(&work->others[i], error);
        }
    }
    if (status == PHL_OK) {
        pool_rows(work);
    }
    return status;
}

/* The models of the runs on the trees of a block. */
static phl_status open_block(struct labelling *work, const phl_use_portions *portions,
                             phl_error *error)
{
    phl_label_batch *batch = &work->batch;
    phl_status status =
        phl_index_map_labels(work->use.block, &work->use.run->labels, &work->label_row, error);
    if (status == PHL_OK) {
        status = phl_label_batch_open(batch, portions, error);
    }
    for (size_t i = 0; status == PHL_OK && i < work->n_others; i++) {
        status = phl_label_batch_open_beside(&work->others[i], batch, error);
    }
    if (status == PHL_OK) {
        status = prepare_fallbacks(work, portions, error);
    }
    if (status == PHL_OK && work->options->filled != NULL) {
        status = phl_label_forest_begin(&work->filling, work->use.run, work->use.block, error);
    }
    return status;
}

static phl_status label_portions(struct labelling *work, const phl_use_portions *portions,
                                 phl_error *error)
{
    phl_label_batch *batch = &work->batch;
    phl_status status = open_block(work, portions, error);
    for (size_t i = 0; i < portions->n; i++) {
        work->measures.parts[portions->portions[i].model->class_index].used = true;
    }
    for (size_t tree = 0; status == PHL_OK && tree < portions->n_trees;) {
        status = phl_label_batch_fill(batch, portions, tree, &tree, error);
        if (status == PHL_OK) {
            status = phl_label_batch_predict(batch, error);
        }
        if (status == PHL_OK && work->n_others > 0) {
            status = pool_runs(work, error);
        }
        if (status == PHL_OK) {
            status = phl_label_batch_predict_best(batch, error);
        }
        for (size_t i = 0; status == PHL_OK && i < batch->n_members; i++) {
            status = hand_out(work, &batch->members[i], error);
        }
    }
    if (status == PHL_OK && work->options->filled != NULL) {
        status = give_filled(work, error);
    }
    phl_label_forest_clear(&work->filling);
    for (size_t i = 0; i < work->n_others; i++) { /* they borrow its trees */
        phl_label_batch_close(&work->others[i]);
    }
    phl_label_batch_close(batch);
    phl_free(work->label_row);
    work->label_row = NULL;
    return status;
}

static phl_status label_block(struct labelling *work, phl_error *error)
{
    phl_use_portions portions;
    phl_status status = phl_use_portions_make(&work->use, &portions, error);
    if (status == PHL_OK) {
        status = label_portions(work, &portions, error);
    }
    if (status == PHL_OK) {
        status = phl_use_portions_finish(&work->use, &portions, error);
    }
    phl_use_portions_clear(&portions);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * The task
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
    if (work->options->fill_drawn && work->options->no_draw) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                         "labels that are not drawn cannot be filled in");
    }
    if (work->measured && work->n_labels > most_names) {
        return phl_raise(error, PHL_ERR_LIMIT, "label without evaluating",
                         "an evaluation over %zu labels, at most %zu are possible", work->n_labels,
                         most_names);
    }
    return PHL_OK;
}

static void tell_impossible(const phl_use *use)
{
    const phl_noted *noted = &use->impossible;
    if (noted->count == 0) {
        return;
    }
    phl_error note = {.status = PHL_OK};
    phl_position position = {noted->file, noted->line, 0};
    (void)phl_raise_at(&note, PHL_OK, position, NULL,
                       "the known labels of %zu tree%s probability 0 (the first is tree %zu): "
                       "predictions there rest on the shape alone",
                       noted->count, noted->count == 1 ? " have" : "s have", noted->first);
    phl_use_note(use, &note);
}

static phl_status init_runs(struct labelling *work, phl_error *error)
{
    const phl_label_options *options = work->options;
    phl_status status =
        phl_label_batch_init(&work->batch, &work->use, work->use.run, options, error);
    if (status == PHL_OK) {
        status =
            phl_beside_create(work->use.run, options->with, options->n_with, &work->beside, error);
    }
    if (status != PHL_OK || options->n_with == 0) {
        return status;
    }
    work->others = phl_alloc_zero(options->n_with, sizeof *work->others, error);
    work->voices =
        phl_alloc(phl_times(options->n_with + 1, work->n_labels + 1), sizeof *work->voices, error);
    status = work->others == NULL || work->voices == NULL ? PHL_ERR_MEMORY : PHL_OK;
    while (status == PHL_OK && work->n_others < options->n_with) {
        size_t number = work->n_others++;
        status = phl_label_batch_init(&work->others[number], &work->use, options->with[number],
                                      options, error);
    }
    return status;
}

static void clear(struct labelling *work)
{
    for (size_t i = 0; i < work->n_others; i++) {
        phl_label_batch_clear(&work->others[i]);
    }
    phl_free(work->others);
    phl_free(work->voices);
    phl_beside_free(work->beside, work->options->n_with);
    phl_label_batch_clear(&work->batch);
    phl_measures_clear(&work->measures);
    phl_use_clear(&work->use);
    phl_free(work->truth);
    phl_free(work->best);
    phl_free(work->drawn);
    phl_free(work->hidden);
    phl_free(work->filled);
}

phl_status phl_label(const phl_run *run, phl_source *source, const phl_label_options *options,
                     phl_label_fn each, phl_evaluation **evaluation, phl_error *error)
{
    phl_label_options own;
    phl_status status = phl_options_take(&own, &defaults, sizeof own, options, "phl_label", error);
    if (status != PHL_OK) {
        return status;
    }
    struct labelling work = {.options = &own,
                             .each = each,
                             .n_labels = run->labels.count,
                             .measured = evaluation != NULL && own.hide > 0.0};
    status = check_options(&work, error);
    if (status == PHL_OK) {
        status =
            phl_use_begin(&work.use, run, source, PHL_OPTION("label.class_name"), own.class_name,
                          own.threads, own.report, own.cancel, own.context, error);
    }
    if (status == PHL_OK) {
        status = init_runs(&work, error);
    }
    if (status == PHL_OK) {
        status = phl_measures_init(&work.measures, work.measured ? work.n_labels : 0, run->n_models,
                                   work.measured && !own.no_draw, error);
    }
    while (status == PHL_OK && (status = phl_use_next(&work.use, error)) == PHL_OK &&
           work.use.block != NULL) {
        status = label_block(&work, error);
    }
    if (status == PHL_OK) {
        phl_use_tell(&work.use);
        tell_impossible(&work.use);
    }
    if (status == PHL_OK && evaluation != NULL) {
        status = phl_measures_finish(&work.measures, &run->labels, evaluation, error);
    }
    clear(&work);
    return status;
}
