/* decode.c - the hidden states of nodes, under one draw of the model of each tree. */
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "grammar/best_states.h"
#include "model/scores.h"
#include "task/session.h"
#include "task/use.h"

static const phl_decode_options defaults = {
    .size = sizeof(phl_decode_options),
    .draw = PHL_DEFAULT,
    .marginals = true,
};

void phl_decode_options_init_sized(phl_decode_options *options, size_t size)
{
    phl_options_fill(options, size, &defaults, sizeof defaults);
}

/* The trees of one model, ready to be decoded. */
struct part {
    phl_prepared prepared;
    phl_upward *upward;
    phl_tree_view *view;    /* for marginals, made when needed */
    phl_tree_view *decoder; /* for states that are most probable together, made when needed */
    size_t draw;

    phl_grammar_session *grammar; /* of a grammar run; else NULL: */
    size_t start;                 /* its start that the draw is */
    phl_walk *walk;
    phl_lists *lists; /* with rules, for states that are most probable together */
    phl_best_states *best_states;
};

struct decoding {
    phl_use use;
    const phl_decode_options *options;
    phl_decode_fn each;
    struct part *parts;
    size_t n_parts;
    uint32_t *best, *joint; /* of one tree */
    double *pairs, *marginals;
    size_t best_capacity, joint_capacity, pairs_capacity, marginals_capacity;
    double *by_label; /* [M + 1] */
};

/* ---------------------------------------------------------------------------------------------
 * One tree
 * ------------------------------------------------------------------------------------------- */

static phl_status find_best(struct decoding *work, const phl_tree_view *view, phl_error *error)
{
    size_t c = work->use.run->states;
    phl_status status =
        phl_grow(&work->best, &work->best_capacity, view->n, sizeof *work->best, error);
    for (size_t u = 0; status == PHL_OK && u < view->n; u++) {
        const double *p = view->marginal + u * c;
        uint32_t best = 0;
        for (uint32_t q = 1; q < c; q++) {
            best = p[q] > p[best] ? q : best;
        }
        work->best[u] = best;
    }
    return status;
}

static phl_status find_pairs(struct decoding *work, phl_tree_view *view, phl_error *error)
{
    size_t cells = (size_t)work->use.run->states * work->use.run->states;
    phl_status status =
        phl_grow(&work->pairs, &work->pairs_capacity, view->n * cells, sizeof *work->pairs, error);
    if (status == PHL_OK) {
        memset(work->pairs, 0, cells * sizeof *work->pairs);
    }
    for (size_t u = 1; status == PHL_OK && u < view->n; u++) {
        status = phl_tree_pair(view, u, work->pairs + u * cells, error);
    }
    return status;
}

static phl_status decode_nodes(struct decoding *work, struct part *part, size_t place,
                               phl_decoded_tree *decoded, phl_error *error)
{
    const phl_decode_options *options = work->options;
    phl_status status =
        part->view == NULL ? phl_tree_view_create(part->upward, &part->view, error) : PHL_OK;
    if (status == PHL_OK) {
        status = phl_tree_marginals(part->view, place, &decoded->possible, error);
    }
    if (status != PHL_OK || !decoded->possible) {
        return status;
    }
    if (options->marginals) {
        status = find_best(work, part->view, error);
        decoded->marginals = part->view->marginal;
        decoded->best = work->best;
    }
    if (status == PHL_OK && options->pairs) {
        status = find_pairs(work, part->view, error);
        decoded->pairs = work->pairs;
    }
    return status;
}

static phl_status decode_joint(struct decoding *work, struct part *part, size_t place,
                               phl_decoded_tree *decoded, phl_error *error)
{
    phl_status status =
        part->decoder == NULL ? phl_tree_view_create(part->upward, &part->decoder, error) : PHL_OK;
    if (status == PHL_OK) {
        size_t n = (size_t)part->decoder->size[part->prepared.forest->tree_root[place]];
        status = phl_grow(&work->joint, &work->joint_capacity, n, sizeof *work->joint, error);
    }
    if (status == PHL_OK) {
        status = phl_tree_most_probable(part->decoder, place, work->joint, &decoded->log_joint,
                                        &decoded->possible, error);
    }
    decoded->joint = decoded->possible ? work->joint : NULL;
    return status;
}

/* Annotations of a grammar's node: of its label, or where that is unknown of the most probable one.
 */
struct annotating {
    struct decoding *work;
    const phl_backoff *backoff;
};

static phl_status take_node(const phl_outlook_node *node, void *context, phl_error *error)
{
    (void)error;
    const struct annotating *annotating = context;
    struct decoding *work = annotating->work;
    const phl_backoff *backoff = annotating->backoff;
    size_t c = work->use.run->states, label = node->label, total = 0;
    const double *weights = node->weights;
    if (node->all) {
        phl_grammar_session_sum_labels(backoff, weights, work->by_label);
        label = 0;
        for (size_t x = 1; x < backoff->labels; x++) {
            label = work->by_label[x] > work->by_label[label] ? x : label;
        }
        weights += backoff->state[label];
    }
    double *out = work->marginals + node->node * c, sum = 0.0;
    uint32_t best = 0;
    total = backoff->sizes[label] < c ? backoff->sizes[label] : c;
    memset(out, 0, c * sizeof *out);
    for (size_t k = 0; k < total; k++) {
        sum += weights[k];
    }
    for (uint32_t k = 0; k < total; k++) {
        out[k] = sum > 0.0 ? weights[k] / sum : 1.0 / (double)total;
        best = out[k] > out[best] ? k : best;
    }
    work->best[node->node] = best;
    return PHL_OK;
}

static phl_status reserve_annotations(struct decoding *work, size_t nodes, phl_error *error)
{
    const phl_room rooms[] = {
        PHL_ROOM(work->best, work->best_capacity, nodes),
        PHL_ROOM(work->joint, work->joint_capacity, nodes),
        PHL_ROOM(work->marginals, work->marginals_capacity,
                 phl_times(nodes, work->use.run->states)),
    };
    if (work->by_label == NULL) {
        work->by_label = phl_alloc(work->use.run->labels.count + 1, sizeof(double), error);
    }
    return work->by_label == NULL ? PHL_ERR_MEMORY
                                  : phl_grow_all(rooms, sizeof rooms / sizeof *rooms, error);
}

static phl_status decode_grammar(struct decoding *work, struct part *part, size_t place,
                                 phl_decoded_tree *decoded, phl_error *error)
{
    const phl_forest *forest = part->prepared.forest;
    const phl_values *values = NULL;
    struct annotating annotating = {.work = work, .backoff = part->grammar->backoffs[part->start]};
    phl_visit visit;
    int more;
    size_t nodes = 0;
    if (part->walk == NULL) {
        phl_status made = phl_walk_create(forest, &part->walk, error);
        if (made != PHL_OK) {
            return made;
        }
    }
    phl_walk_start(part->walk, place);
    while ((more = phl_walk_next(part->walk, &visit, error)) > 0) {
        nodes++;
    }
    phl_status status = (phl_status)more;
    if (status == PHL_OK) {
        status = reserve_annotations(work, nodes, error);
    }
    decoded->possible = true;
    if (status == PHL_OK && work->options->joint) {
        status =
            phl_best_states_find(part->best_states, place, work->joint, &decoded->log_joint, error);
        decoded->joint = work->joint;
    }
    if (status != PHL_OK || !work->options->marginals) {
        return status;
    }
    status = phl_grammar_session_values(part->grammar, part->start, &values, error);
    if (status == PHL_OK) {
        status = phl_grammar_session_turn(&part->grammar->outlook, values, error);
    }
    if (status == PHL_OK) {
        status =
            phl_outlook_nodes(part->grammar->outlook, place, false, take_node, &annotating, error);
    }
    decoded->marginals = work->marginals;
    decoded->best = work->best;
    return status;
}

static phl_status decode_tree(struct decoding *work, struct part *part, const phl_model *model,
                              size_t tree, size_t place, phl_error *error)
{
    const phl_decode_options *options = work->options;
    phl_decoded_tree decoded = {.draw = part->draw};
    phl_status status = PHL_OK;
    if (part->grammar != NULL) {
        status = decode_grammar(work, part, place, &decoded, error);
    } else if (options->joint) {
        status = decode_joint(work, part, place, &decoded, error);
    }
    if (status == PHL_OK && part->grammar == NULL &&
        (options->marginals || options->pairs || !options->joint)) {
        status = decode_nodes(work, part, place, &decoded, error);
    }
    if (status == PHL_OK && !decoded.possible) {
        status = phl_use_count(&work->use, &work->use.impossible, tree, error);
    }
    phl_tree_at at = phl_use_at(&work->use, tree, model->class_index);
    return status == PHL_OK ? work->each(&at, &decoded, work->use.context, error) : status;
}

/* ---------------------------------------------------------------------------------------------
 * One block
 * ------------------------------------------------------------------------------------------- */

/* Number of the start that a draw of a model is. */
static phl_status find_start(const phl_grammar_session *grammar, size_t n_models, size_t draw,
                             size_t *start, phl_error *error)
{
    for (*start = 0; *start < grammar->grammars.n; (*start)++) {
        if (grammar->grammars.draws[*start * n_models + grammar->part] == draw) {
            return PHL_OK;
        }
    }
    return phl_raise(error, PHL_ERR_ARGUMENT, "choose another one, or resume the run",
                     "option " PHL_OPTION("decode.draw") ": draw %zu is of a start that was not "
                                                         "finished for all classes",
                     draw);
}

static phl_status prepare_grammar(const struct decoding *work, const phl_model *model,
                                  const phl_forest *forest, struct part *part, phl_error *error)
{
    phl_status status = phl_grammar_session_create(model, forest, part->prepared.label_row, 0,
                                                   &part->grammar, error);
    if (status == PHL_OK) {
        status = find_start(part->grammar, model->run->n_models, part->draw, &part->start, error);
    }
    if (status != PHL_OK || !work->options->joint) {
        return status;
    }
    const phl_grammar *grammar = part->grammar->grammars.grammars[part->start];
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        if (forest->label[s] < 0) {
            return phl_raise(error, PHL_ERR_ARGUMENT,
                             "fill them in first with " PHL_CALL("phl_label"),
                             "the states of a grammar that are most probable together need known "
                             "labels, and some are unknown");
        }
    }
    status = phl_lists_create(forest, part->prepared.label_row, grammar->labels, grammar->pair,
                              &part->lists, error);
    return status == PHL_OK ? phl_best_states_create(grammar, part->grammar->part, part->lists,
                                                     &part->best_states, error)
                            : status;
}

static phl_status prepare_part(const struct decoding *work, const phl_use_portion *portion,
                               struct part *part, phl_error *error)
{
    const phl_model *model = portion->model;
    part->draw =
        work->options->draw == PHL_DEFAULT ? phl_model_best_draw(model) : work->options->draw;
    phl_status status = phl_scores_prepare(work->use.run, portion->forest, &part->prepared, error);
    if (model->run->kind == PHL_GRAMMAR) {
        return status == PHL_OK ? prepare_grammar(work, model, portion->forest, part, error)
                                : status;
    }
    if (status == PHL_OK) {
        status = phl_upward_create(part->prepared.index, model->draws[part->draw].params,
                                   part->prepared.label_row, &part->upward, error);
    }
    if (status == PHL_OK) {
        status = phl_upward_run(part->upward, work->use.threads, error);
    }
    return status;
}

static void clear_parts(struct decoding *work)
{
    for (size_t i = 0; i < work->n_parts; i++) {
        phl_tree_view_free(work->parts[i].decoder);
        phl_tree_view_free(work->parts[i].view);
        phl_upward_free(work->parts[i].upward);
        phl_best_states_free(work->parts[i].best_states);
        phl_lists_free(work->parts[i].lists);
        phl_walk_free(work->parts[i].walk);
        phl_grammar_session_free(work->parts[i].grammar);
        phl_scores_clear(&work->parts[i].prepared);
    }
    phl_free(work->parts);
    work->parts = NULL;
    work->n_parts = 0;
}

static phl_status decode_block(struct decoding *work, phl_error *error)
{
    phl_use_portions portions;
    phl_status status = phl_use_portions_make(&work->use, &portions, error);
    if (status == PHL_OK) {
        work->parts = phl_alloc_zero(portions.n, sizeof *work->parts, error);
        status = work->parts == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    for (size_t i = 0; status == PHL_OK && i < portions.n; i++) {
        status = prepare_part(work, &portions.portions[i], &work->parts[work->n_parts++], error);
    }
    for (size_t t = 0; status == PHL_OK && t < portions.n_trees; t++) {
        size_t of = portions.of_tree[t];
        status = decode_tree(work, &work->parts[of], portions.portions[of].model, t,
                             portions.place[t], error);
    }
    if (status == PHL_OK) {
        status = phl_use_portions_finish(&work->use, &portions, error);
    }
    clear_parts(work);
    phl_use_portions_clear(&portions);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * The task
 * ------------------------------------------------------------------------------------------- */

/* Every model that may be used has the draw asked for. */
static phl_status check_draw(const struct decoding *work, phl_error *error)
{
    const phl_use *use = &work->use;
    phl_status status = PHL_OK;
    for (size_t m = 0; status == PHL_OK && m < use->run->n_models; m++) {
        const phl_model *model = &use->run->models[m];
        if (use->named != SIZE_MAX && use->named != m) {
            continue;
        }
        status = phl_scores_check_draws(model, error);
        if (status == PHL_OK && work->options->draw != PHL_DEFAULT &&
            work->options->draw >= model->n_draws) {
            status = phl_raise(
                error, PHL_ERR_ARGUMENT, NULL,
                "option " PHL_OPTION("decode.draw") ": found '%zu', but the model has %zu draw%s",
                work->options->draw, model->n_draws, model->n_draws == 1 ? ", number 0" : "s");
        }
    }
    return status;
}

static void tell_impossible(const phl_use *use)
{
    const phl_noted *noted = &use->impossible;
    if (noted->count > 0) {
        phl_error note = {.status = PHL_OK};
        (void)phl_raise(&note, PHL_OK, NULL,
                        "%zu tree%s probability 0 under the model, and no states", noted->count,
                        noted->count == 1 ? " has" : "s have");
        phl_use_note(use, &note);
    }
}

phl_status phl_decode(const phl_run *run, phl_source *source, const phl_decode_options *options,
                      phl_decode_fn each, phl_error *error)
{
    phl_decode_options own;
    phl_status status = phl_options_take(&own, &defaults, sizeof own, options, "phl_decode", error);
    if (status == PHL_OK && own.pairs) {
        status = phl_use_check_kind(run, "give joint probabilities of two nodes' states", error);
    }
    if (status != PHL_OK) {
        return status;
    }
    struct decoding work = {.options = &own, .each = each};
    status = phl_use_begin(&work.use, run, source, PHL_OPTION("decode.class_name"), own.class_name,
                           own.threads, own.report, own.cancel, own.context, error);
    if (status == PHL_OK) {
        status = check_draw(&work, error);
    }
    while (status == PHL_OK && (status = phl_use_next(&work.use, error)) == PHL_OK &&
           work.use.block != NULL) {
        status = decode_block(&work, error);
    }
    if (status == PHL_OK) {
        phl_use_tell(&work.use);
        tell_impossible(&work.use);
    }
    phl_free(work.best);
    phl_free(work.joint);
    phl_free(work.pairs);
    phl_free(work.marginals);
    phl_free(work.by_label);
    phl_use_clear(&work.use);
    return status;
}
