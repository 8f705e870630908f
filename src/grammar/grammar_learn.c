/* grammar_learn.c - learning a tree grammar; see grammar_learn.h. */
#include "grammar/grammar_learn.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/numeric.h"
#include "base/parallel.h"
#include "forest/forest_cut.h"
#include "grammar/annotations.h"
#include "grammar/calibration.h"
#include "grammar/grammar_blocks.h"

enum {
    CLASS_STEPS = 2,
    FINAL_STEPS = 3,
    HIDDEN_STEPS = 6,
    MERGED_STEPS = 3,
    USUAL_STAGES = 8,
    LEAST_STAGES = 3
};

#define LEAST_COUNT 10.0
#define NOISE 0.2

/* The trees of one class. */
struct piece {
    phl_forest *forest;
    phl_lists *lists;
    double *train, *all; /* weights of roots: without and with those held out */
};

struct learner {
    const phl_learn_data *data;
    const phl_learn_options *options;
    phl_lists *lists; /* of all trees */
    double *train;
    bool *is_held; /* [trees] */
    bool hidden;   /* some labels are unknown */
    struct piece *pieces;
    phl_forest *held_forest;
    phl_lists *held_lists;
    size_t n_held;
    uint32_t *held;
    int32_t *held_class;
    double *held_weight, *log_prior;
    double unseen; /* counts of labels that occur once */

    uint32_t *sizes; /* at hand */
    phl_rule_counts *counts;
    double log_likelihood;
    double *by_class; /* [classes] log_likelihood */
    phl_smoothing smoothing;
    phl_learn_step step;
};

/* ---------------------------------------------------------------------------------------------
 * Preparing
 * ------------------------------------------------------------------------------------------- */

static int32_t class_of(const struct learner *l, size_t tree)
{
    return l->data->class_of == NULL ? 0 : l->data->class_of[tree];
}

/* Every tenth tree of each class, as long as the class keeps some. */
static phl_status hold_out(struct learner *l, phl_error *error)
{
    const phl_forest *forest = l->data->forest;
    size_t *seen = phl_alloc_zero(l->data->n_classes, sizeof *seen, error);
    l->is_held = phl_alloc_zero(forest->n_trees, sizeof *l->is_held, error);
    l->held = phl_alloc(forest->n_trees, sizeof *l->held, error);
    l->held_class = phl_alloc(forest->n_trees, sizeof *l->held_class, error);
    l->held_weight = phl_alloc(forest->n_trees, sizeof *l->held_weight, error);
    l->log_prior = phl_alloc_zero(l->data->n_classes, sizeof *l->log_prior, error);
    l->by_class = phl_alloc_zero(l->data->n_classes, sizeof *l->by_class, error);
    if (seen == NULL || l->by_class == NULL || l->is_held == NULL || l->held == NULL ||
        l->held_class == NULL || l->held_weight == NULL || l->log_prior == NULL) {
        phl_free(seen);
        return PHL_ERR_MEMORY;
    }
    for (size_t t = 0; t < forest->n_trees; t++) {
        int32_t c = class_of(l, t);
        double weight = forest->tree_weight == NULL ? 1.0 : forest->tree_weight[t];
        l->log_prior[c] += weight;
        if (phl_grammar_learn_holds(1, seen[c]++)) {
            l->is_held[t] = true;
            l->held[l->n_held] = (uint32_t)t;
            l->held_class[l->n_held] = c;
            l->held_weight[l->n_held++] = weight;
        }
    }
    for (size_t c = 0; c < l->data->n_classes; c++) {
        l->log_prior[c] = log(l->log_prior[c]);
    }
    phl_free(seen);
    return PHL_OK;
}

static phl_status make_lists(const struct learner *l, const phl_forest *forest, phl_lists **lists,
                             phl_error *error)
{
    return phl_lists_create(forest, l->data->symbol_of, l->data->labels, l->options->pair, lists,
                            error);
}

/* Weights of the trees of a piece: without and with those held out. */
static phl_status weigh(const struct learner *l, const phl_forest *forest, const phl_lists *lists,
                        const size_t *trees, size_t n, double **train, double **all,
                        phl_error *error)
{
    *train = phl_alloc_zero(lists->n, sizeof **train, error);
    *all = phl_alloc_zero(lists->n, sizeof **all, error);
    if (*train == NULL || *all == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        size_t tree = trees == NULL ? i : trees[i];
        double weight = forest->tree_weight == NULL ? 1.0 : forest->tree_weight[i];
        (*all)[lists->root[i]] += weight;
        (*train)[lists->root[i]] += l->is_held[tree] ? 0.0 : weight;
    }
    return PHL_OK;
}

static phl_status make_pieces(struct learner *l, phl_error *error)
{
    const phl_forest *forest = l->data->forest;
    phl_forest_cutter cutter = {0};
    size_t *trees = phl_alloc(forest->n_trees, sizeof *trees, error);
    l->pieces = phl_alloc_zero(l->data->n_classes, sizeof *l->pieces, error);
    phl_status status = trees == NULL || l->pieces == NULL
                            ? PHL_ERR_MEMORY
                            : phl_forest_cut_begin(&cutter, forest, error);
    for (size_t c = 0; status == PHL_OK && c < l->data->n_classes; c++) {
        struct piece *piece = &l->pieces[c];
        size_t n = 0;
        for (size_t t = 0; t < forest->n_trees; t++) {
            if (class_of(l, t) == (int32_t)c) {
                trees[n++] = t;
            }
        }
        status = phl_forest_cut(&cutter, trees, n, &piece->forest, error);
        if (status == PHL_OK) {
            status = make_lists(l, piece->forest, &piece->lists, error);
        }
        if (status == PHL_OK) {
            status =
                weigh(l, piece->forest, piece->lists, trees, n, &piece->train, &piece->all, error);
        }
    }
    size_t n = 0;
    for (size_t t = 0; status == PHL_OK && t < forest->n_trees; t++) {
        if (l->is_held[t]) {
            trees[n++] = t;
        }
    }
    if (status == PHL_OK) {
        status = phl_forest_cut(&cutter, trees, n, &l->held_forest, error);
    }
    if (status == PHL_OK) {
        status = make_lists(l, l->held_forest, &l->held_lists, error);
    }
    phl_forest_cut_end(&cutter);
    phl_free(trees);
    return status;
}

/* The weight of nodes whose label occurs nowhere else: what a new label is likely to be. */
static phl_status count_unseen(struct learner *l, phl_error *error)
{
    const phl_forest *forest = l->data->forest;
    int64_t *times = phl_alloc_zero(forest->labels.count, sizeof *times, error);
    if (times == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        if (forest->label[s] >= 0) {
            times[forest->label[s]] += forest->multiplicity[s];
        } else {
            l->hidden = true;
        }
    }
    for (size_t i = 0; i < forest->labels.count; i++) {
        l->unseen += times[i] == 1;
    }
    phl_free(times);
    return PHL_OK;
}

static phl_status prepare(struct learner *l, phl_error *error)
{
    double *all = NULL;
    phl_status status = hold_out(l, error);
    if (status == PHL_OK) {
        status = make_lists(l, l->data->forest, &l->lists, error);
    }
    if (status == PHL_OK) {
        status = weigh(l, l->data->forest, l->lists, NULL, l->data->forest->n_trees, &l->train,
                       &all, error);
    }
    phl_free(all);
    if (status == PHL_OK) {
        status = make_pieces(l, error);
    }
    if (status == PHL_OK) {
        status = count_unseen(l, error);
    }
    return status;
}

static void release(struct learner *l)
{
    for (size_t c = 0; l->pieces != NULL && c < l->data->n_classes; c++) {
        phl_lists_free(l->pieces[c].lists);
        phl_forest_free(l->pieces[c].forest);
        phl_free(l->pieces[c].train);
        phl_free(l->pieces[c].all);
    }
    phl_free(l->pieces);
    phl_lists_free(l->lists);
    phl_lists_free(l->held_lists);
    phl_forest_free(l->held_forest);
    phl_free(l->train);
    phl_free(l->is_held);
    phl_free(l->held);
    phl_free(l->held_class);
    phl_free(l->held_weight);
    phl_free(l->log_prior);
    phl_free(l->by_class);
    phl_rule_counts_free(l->counts);
    phl_free(l->sizes);
}

/* ---------------------------------------------------------------------------------------------
 * EM on all trees together
 * ------------------------------------------------------------------------------------------- */

static phl_status tell(struct learner *l, bool ends_stage, phl_error *error)
{
    size_t usual = USUAL_STAGES * (l->options->iterations + MERGED_STEPS + 1);
    l->step.step++;
    l->step.steps = usual > l->step.step ? usual : l->step.step;
    l->step.log_likelihood = l->log_likelihood;
    l->step.ends_stage = ends_stage;
    l->step.by_class = l->by_class;
    return l->options->watch == NULL || l->options->watch(&l->step, l->options->context)
               ? PHL_OK
               : phl_raise(error, PHL_ERR_CANCELLED, NULL, "stopped on request");
}

/* The log-likelihood of each class by itself. */
static void share_log_likelihood(struct learner *l, const phl_inside *inside)
{
    const phl_forest *forest = l->data->forest;
    memset(l->by_class, 0, l->data->n_classes * sizeof *l->by_class);
    for (size_t t = 0; t < forest->n_trees; t++) {
        double weight = forest->tree_weight == NULL ? 1.0 : forest->tree_weight[t];
        if (!l->is_held[t] && weight > 0.0) {
            l->by_class[class_of(l, t)] += weight * inside->log_scale[l->lists->root[t]];
        }
    }
}

/* Expected counts under a table: what the counts had is replaced. */
static phl_status expect(phl_inside *inside, const double *root_weight, phl_rule_counts *counts,
                         double *log_likelihood, phl_error *error)
{
    size_t cells = counts->blocks.first[inside->lists->rules.rules.n];
    phl_inside_run(inside);
    *log_likelihood = phl_inside_total(inside, root_weight);
    memset(counts->n, 0, cells * sizeof *counts->n);
    phl_status status = phl_inside_count(inside, root_weight, counts->n, error);
    if (status == PHL_OK) {
        phl_rule_counts_sum(counts);
    }
    return status;
}

static phl_status run_em(struct learner *l, size_t iterations, phl_error *error)
{
    phl_rule_table *table = NULL;
    phl_inside *inside = NULL;
    phl_status status = phl_rule_table_create(&l->lists->rules, l->sizes, &table, error);
    if (status == PHL_OK) {
        status = phl_inside_create(l->lists, table, &inside, error);
    }
    for (size_t i = 0; status == PHL_OK && i < iterations; i++) {
        status = phl_rule_table_fill(table, l->counts, NULL, &l->smoothing, error);
        if (status == PHL_OK) {
            status = expect(inside, l->train, l->counts, &l->log_likelihood, error);
        }
        if (status == PHL_OK) {
            share_log_likelihood(l, inside);
            status = tell(l, false, error);
        }
    }
    phl_inside_free(inside);
    phl_rule_table_free(table);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * EM on each class
 * ------------------------------------------------------------------------------------------- */

/* A grammar and the parts it is made of, which it borrows. */
struct candidate {
    phl_grammar_part **parts; /* [classes] */
    phl_grammar *grammar;
    double *score; /* [classes][held] log p */
    double figure; /* by the trees held out */
    bool stale;    /* score is of a smoothing that was tried and left */
};

static void free_candidate(const struct learner *l, struct candidate *candidate)
{
    phl_grammar_free(candidate->grammar);
    for (size_t c = 0; candidate->parts != NULL && c < l->data->n_classes; c++) {
        phl_grammar_part_free(candidate->parts[c]);
    }
    phl_free(candidate->parts);
    phl_free(candidate->score);
    *candidate = (struct candidate){0};
}

/* What one parallel loop over classes does. */
struct class_step {
    const struct learner *l;
    const struct candidate *candidate;
    bool pooled; /* tables of all classes together, else those of the class */
    bool all;    /* trees, held out or not */
};

static phl_status step_class(size_t chunk, size_t begin, size_t end, int worker, void *context,
                             phl_error *error)
{
    (void)chunk;
    (void)worker;
    const struct class_step *step = context;
    const struct learner *l = step->l;
    phl_status status = PHL_OK;
    for (size_t c = begin; status == PHL_OK && c < end; c++) {
        const struct piece *piece = &l->pieces[c];
        phl_grammar_part *part = step->candidate->parts[c];
        phl_rule_table *table = NULL;
        phl_inside *inside = NULL;
        double log_likelihood;
        status = phl_rule_table_create(&part->rules, part->sizes, &table, error);
        if (status == PHL_OK) {
            status = step->pooled
                         ? phl_rule_table_fill(table, l->counts, NULL, &l->smoothing, error)
                         : phl_grammar_fill(step->candidate->grammar, c, table, error);
        }
        if (status == PHL_OK) {
            status = phl_inside_create(piece->lists, table, &inside, error);
        }
        if (status == PHL_OK) {
            status = expect(inside, step->all ? piece->all : piece->train, part->counts,
                            &log_likelihood, error);
        }
        phl_inside_free(inside);
        phl_rule_table_free(table);
    }
    return status;
}

static phl_status step_classes(const struct learner *l, const struct candidate *candidate,
                               bool pooled, bool all, phl_error *error)
{
    struct class_step step = {l, candidate, pooled, all};
    phl_status status = phl_parallel_chunks(l->data->n_classes, 1, l->options->threads, step_class,
                                            &step, NULL, NULL, error);
    return status == PHL_OK && candidate->grammar != NULL
               ? phl_grammar_renew(candidate->grammar, error)
               : status;
}

/* With the annotations at hand, and no counts. */
static phl_status make_part(const struct learner *l, size_t c, phl_grammar_part **part,
                            phl_error *error)
{
    size_t symbols = (size_t)l->data->labels + PHL_SYMBOLS;
    const phl_triples *rules = &l->pieces[c].lists->rules.rules;
    uint32_t number;
    phl_status status = phl_grammar_part_create(l->data->labels, part, error);
    if (status != PHL_OK) {
        return status;
    }
    memcpy((*part)->sizes, l->sizes, symbols * sizeof *l->sizes);
    for (size_t r = 0; status == PHL_OK && r < rules->n; r++) {
        status = phl_rules_add(&(*part)->rules, rules->items[r], &number, error);
    }
    if (status == PHL_OK) {
        status = phl_rule_counts_create(&(*part)->rules, (*part)->sizes, &(*part)->counts, error);
    }
    if (status == PHL_OK) {
        (*part)->counts->unseen = l->unseen / (double)l->data->n_classes;
    }
    return status;
}

static phl_status make_candidate(const struct learner *l, struct candidate *candidate,
                                 phl_error *error)
{
    size_t n = l->data->n_classes;
    candidate->parts = phl_alloc_zero(n, sizeof(phl_grammar_part *), error);
    candidate->score = phl_alloc(n * l->n_held, sizeof *candidate->score, error);
    phl_status status =
        candidate->parts == NULL || candidate->score == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t c = 0; status == PHL_OK && c < n; c++) {
        status = make_part(l, c, &candidate->parts[c], error);
    }
    if (status == PHL_OK) {
        status = step_classes(l, candidate, true, false, error);
    }
    if (status == PHL_OK) {
        status = phl_grammar_create(candidate->parts, n, &candidate->grammar, error);
    }
    if (status == PHL_OK) {
        candidate->grammar->smoothing = l->smoothing;
        status = phl_grammar_renew(candidate->grammar, error);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Judging by the trees held out
 * ------------------------------------------------------------------------------------------- */

struct scoring {
    const struct learner *l;
    const struct candidate *candidate;
};

static phl_status score_class(size_t chunk, size_t begin, size_t end, int worker, void *context,
                              phl_error *error)
{
    (void)chunk;
    (void)worker;
    const struct scoring *s = context;
    phl_status status = PHL_OK;
    for (size_t c = begin; status == PHL_OK && c < end; c++) {
        status = phl_grammar_score(s->candidate->grammar, c, s->l->held_lists,
                                   s->candidate->score + c * s->l->n_held, error);
    }
    return status;
}

/* The figure that candidates are compared by. */
static phl_status judge(const struct learner *l, const struct candidate *candidate, double *figure,
                        phl_error *error)
{
    size_t n = l->n_held, n_classes = l->data->n_classes;
    struct scoring scoring = {l, candidate};
    double *by_tree = phl_alloc(n * n_classes, sizeof *by_tree, error);
    phl_status status = by_tree == NULL
                            ? PHL_ERR_MEMORY
                            : phl_parallel_chunks(n_classes, 1, l->options->threads, score_class,
                                                  &scoring, NULL, NULL, error);
    double sum = 0.0, total = 0.0;
    for (size_t t = 0; status == PHL_OK && t < n; t++) {
        for (size_t c = 0; c < n_classes; c++) {
            by_tree[t * n_classes + c] = candidate->score[c * n + t];
        }
        sum += l->held_weight[t] * by_tree[t * n_classes];
        total += l->held_weight[t];
    }
    if (status == PHL_OK && n_classes > 1) {
        const phl_calibration_data data = {
            n, n_classes, by_tree, l->held_class, l->held_weight, l->log_prior, 0.0};
        (void)phl_calibration_fit(&data, figure);
    } else if (status == PHL_OK) {
        *figure = total > 0.0 ? sum / total : 0.0;
    }
    phl_free(by_tree);
    return status;
}

/* Values that a number of the smoothing may have.  Those from `first` to `last` are all tried;
 * beyond them only as long as the trees held out gain. */
struct choices {
    const double *values;
    size_t n, first, last;
};

static const double label_values[] = {0.02, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 80.0};
static const double state_values[] = {0.01, 0.05, 0.2, 1.0, 5.0, 20.0, 80.0, 320.0};
static const double annotation_values[] = {0.005, 0.02, 0.1, 0.5, 1.0, 5.0, 20.0, 80.0};
static const double share_values[] = {0.0, 0.4, 0.8, 0.95};
static const struct choices label_choices = {label_values, 10, 2, 9};
static const struct choices state_choices = {state_values, 8, 3, 6};
static const struct choices annotation_choices = {annotation_values, 8, 3, 6};
static const struct choices share_choices = {share_values, 4, 0, 3};

/* Judges a candidate with another value of one number of its smoothing: is it better? */
static phl_status try_value(const struct learner *l, struct candidate *candidate, double *number,
                            double value, bool *better, phl_error *error)
{
    double found = 0.0, before = *number;
    *number = value;
    phl_status status = phl_grammar_renew(candidate->grammar, error);
    if (status == PHL_OK) {
        status = judge(l, candidate, &found, error);
    }
    *better = status == PHL_OK && found > candidate->figure;
    candidate->figure = *better ? found : candidate->figure;
    candidate->stale = !*better;
    *number = *better ? value : before;
    return status;
}

/* Set one number of the smoothing to the value that is best on the trees held out. */
static phl_status choose(const struct learner *l, struct candidate *candidate, double *number,
                         const struct choices *choices, phl_error *error)
{
    const double *values = choices->values;
    double before = *number;
    bool better = true;
    phl_status status = PHL_OK;
    for (size_t i = choices->first; status == PHL_OK && i <= choices->last; i++) {
        if (values[i] != before) {
            status = try_value(l, candidate, number, values[i], &better, error);
        }
    }
    better = *number == values[choices->first];
    for (size_t i = choices->first; status == PHL_OK && better && i-- > 0;) {
        status = try_value(l, candidate, number, values[i], &better, error);
    }
    better = *number == values[choices->last];
    for (size_t i = choices->last + 1; status == PHL_OK && better && i < choices->n; i++) {
        status = try_value(l, candidate, number, values[i], &better, error);
    }
    return status == PHL_OK ? phl_grammar_renew(candidate->grammar, error) : status;
}

/* How a candidate is smoothed: chosen with one annotation a label and with two; how much is shared,
 * with more, too. */
static phl_status choose_smoothing(const struct learner *l, struct candidate *candidate,
                                   phl_error *error)
{
    phl_smoothing *smoothing = &candidate->grammar->smoothing;
    uint32_t stage = l->step.stage;
    const struct {
        bool now;
        double *number;
        const struct choices *choices;
    } numbers[] = {
        {stage == 0, &smoothing->label, &label_choices},
        {stage == 1, &smoothing->state, &state_choices},
        {stage == 1, &smoothing->annotation, &annotation_choices},
        {l->data->n_classes > 1, &smoothing->share, &share_choices},
    };
    phl_status status = judge(l, candidate, &candidate->figure, error);
    for (size_t i = 0; status == PHL_OK && l->n_held > 0 && i < sizeof numbers / sizeof *numbers;
         i++) {
        if (numbers[i].now) {
            status = choose(l, candidate, numbers[i].number, numbers[i].choices, error);
        }
    }
    return status == PHL_OK && candidate->stale ? judge(l, candidate, &candidate->figure, error)
                                                : status;
}

/* ---------------------------------------------------------------------------------------------
 * Stages
 * ------------------------------------------------------------------------------------------- */

static size_t count_states(const uint32_t *sizes, uint32_t labels)
{
    size_t sum = 0;
    for (uint32_t x = 0; x < labels; x++) {
        sum += sizes[x];
    }
    return sum;
}

static void take(struct learner *l, uint32_t *sizes, phl_rule_counts *counts)
{
    phl_rule_counts_free(l->counts);
    phl_free(l->sizes);
    l->counts = counts;
    l->sizes = sizes;
    l->step.states = count_states(sizes, l->data->labels);
}

/* What a stage takes beside the lists, with these annotations: counts before and after a split, of
 * each class and their pool, tables, values of lists.  In floating point, so that nothing
 * overflows. */
static double stage_bytes(const struct learner *l, const uint32_t *sizes)
{
    const phl_triples *rules = &l->lists->rules.rules;
    double cells = 0.0, values = 0.0;
    for (size_t r = 0; r < rules->n; r++) {
        const phl_triple *rule = &rules->items[r];
        cells += (double)sizes[rule->a] * sizes[rule->b] * sizes[rule->c];
    }
    for (size_t i = 0; i < l->lists->n; i++) {
        const phl_list *list = &l->lists->items[i];
        bool hidden = list->parent == PHL_SYMBOL_HIDDEN || list->left == PHL_SYMBOL_HIDDEN;
        values += hidden ? (double)l->data->labels * l->options->most
                         : (double)sizes[list->parent] * sizes[list->left];
    }
    return sizeof(double) * (cells * (l->data->n_classes > 1 ? 8.0 : 6.0) + 2.0 * values);
}

static phl_status check_memory(const struct learner *l, phl_error *error)
{
    double need = stage_bytes(l, l->sizes), limit = (double)l->options->memory_limit;
    return limit <= 0.0 || need <= limit
               ? PHL_OK
               : phl_raise(error, PHL_ERR_LIMIT,
                           "train on fewer trees, use fewer restarts, or raise " PHL_OPTION(
                               "train.memory_limit"),
                           "a start of the grammar needs %.3g GiB before any label is split, its "
                           "share of the limit is %.3g GiB",
                           need / 0x1p30, limit / 0x1p30);
}

static phl_status begin(struct learner *l, phl_error *error)
{
    size_t symbols = (size_t)l->data->labels + PHL_SYMBOLS;
    l->sizes = phl_alloc(symbols, sizeof *l->sizes, error);
    if (l->sizes == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t s = 0; s < symbols; s++) {
        l->sizes[s] = 1;
    }
    l->step.states = l->data->labels;
    phl_status status = check_memory(l, error);
    if (status == PHL_OK) {
        status = phl_rule_counts_create(&l->lists->rules, l->sizes, &l->counts, error);
    }
    if (status == PHL_OK) {
        l->counts->unseen = l->unseen;
        phl_rule_counts_sum(l->counts);
        status = run_em(l, l->hidden ? HIDDEN_STEPS : 1, error);
    }
    return status;
}

/* Would the next split take more than there may be? */
static phl_status is_too_large(const struct learner *l, const phl_split_options *split, bool *large,
                               phl_error *error)
{
    size_t symbols = (size_t)l->data->labels + PHL_SYMBOLS;
    uint32_t *sizes = phl_alloc(symbols, sizeof *sizes, error);
    if (sizes == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (uint32_t s = 0; s < symbols; s++) {
        sizes[s] = phl_annotations_after_split(l->counts, split, s);
    }
    double limit = (double)l->options->memory_limit;
    *large = limit > 0.0 && stage_bytes(l, sizes) > limit;
    phl_free(sizes);
    return PHL_OK;
}

/* *done: nothing is left to split, or no memory to do so. */
static phl_status split(struct learner *l, bool *done, phl_error *error)
{
    const phl_split_options split = {.least = LEAST_COUNT,
                                     .noise = NOISE,
                                     .most = l->options->most,
                                     .seed = l->options->seed,
                                     .stream = l->options->stream,
                                     .iteration = l->step.stage};
    uint32_t *sizes = NULL;
    phl_rule_counts *counts = NULL;
    size_t before = l->step.states;
    phl_status status = is_too_large(l, &split, done, error);
    if (status != PHL_OK || *done) {
        return status;
    }
    status = phl_annotations_split(l->counts, &split, &sizes, &counts, error);
    if (status != PHL_OK) {
        return status;
    }
    take(l, sizes, counts);
    *done = l->step.states == before;
    return PHL_OK;
}

static phl_status merge(struct learner *l, phl_error *error)
{
    uint32_t *sizes = NULL;
    phl_rule_counts *counts = NULL;
    phl_status status = phl_annotations_merge(l->counts, &sizes, &counts, error);
    if (status == PHL_OK && counts != NULL) {
        take(l, sizes, counts);
    }
    return status;
}

/* The candidate of a stage, judged. */
static phl_status finish_stage(struct learner *l, struct candidate *candidate, phl_error *error)
{
    phl_status status = make_candidate(l, candidate, error);
    for (int i = 1; status == PHL_OK && i < CLASS_STEPS && l->step.stage > 0; i++) {
        status = step_classes(l, candidate, false, false, error);
    }
    if (status == PHL_OK) {
        status = choose_smoothing(l, candidate, error);
    }
    if (status == PHL_OK) {
        l->smoothing = candidate->grammar->smoothing;
        l->step.held_out = candidate->figure;
        status = tell(l, true, error);
    }
    return status;
}

/* More annotations. */
static phl_status begin_stage(struct learner *l, bool *done, phl_error *error)
{
    phl_status status = split(l, done, error);
    l->step.stage++;
    if (status == PHL_OK && !*done) {
        status = run_em(l, l->options->iterations, error);
    }
    if (status == PHL_OK && !*done) {
        status = merge(l, error);
    }
    return status == PHL_OK && !*done ? run_em(l, MERGED_STEPS, error) : status;
}

/* What is known of the chosen stage, into its parts. */
static phl_status describe(const struct learner *l, struct candidate *best, uint32_t stage,
                           double before, phl_error *error)
{
    const phl_smoothing *smoothing = &best->grammar->smoothing;
    for (size_t c = 0; c < l->data->n_classes; c++) {
        phl_grammar_part *part = best->parts[c];
        part->numbers[PHL_PART_PAIR] = l->options->pair;
        part->numbers[PHL_PART_LABEL] = smoothing->label;
        part->numbers[PHL_PART_STATE] = smoothing->state;
        part->numbers[PHL_PART_ANNOTATION] = smoothing->annotation;
        part->numbers[PHL_PART_SHARE] = smoothing->share;
        part->numbers[PHL_PART_UNSEEN] = part->counts->unseen;
        part->numbers[PHL_PART_STAGE] = stage;
        part->numbers[PHL_PART_HELD_OUT] = best->figure;
        part->numbers[PHL_PART_BEFORE] = before;
        part->n_held = l->n_held;
        part->held = phl_alloc(l->n_held, sizeof *part->held, error);
        if (part->held == NULL) {
            return PHL_ERR_MEMORY;
        }
        memcpy(part->held, best->score + c * l->n_held, l->n_held * sizeof *part->held);
    }
    return PHL_OK;
}

/* Stages until two in a row gain nothing. */
static phl_status run_stages(struct learner *l, struct candidate *best, phl_error *error)
{
    double before = 0.0, last = 0.0;
    uint32_t stage = 0;
    bool done = false;
    phl_status status = begin(l, error);
    while (status == PHL_OK && !done) {
        struct candidate candidate = {0};
        status = finish_stage(l, &candidate, error);
        double figure = candidate.figure;
        if (status == PHL_OK && (best->grammar == NULL || figure > best->figure)) {
            free_candidate(l, best);
            *best = candidate;
            stage = l->step.stage;
            before = stage == 0 ? figure : last;
        } else {
            free_candidate(l, &candidate);
            done = l->step.stage > stage + 1;
        }
        last = figure;
        if (status == PHL_OK && !done) {
            status = begin_stage(l, &done, error);
        }
    }
    return status == PHL_OK ? describe(l, best, stage, before, error) : status;
}

/* The log-likelihood of all trees of each class. */
static phl_status score_all(const struct learner *l, const struct candidate *best, phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t c = 0; status == PHL_OK && c < l->data->n_classes; c++) {
        phl_rule_table *table = NULL;
        phl_inside *inside = NULL;
        status = phl_grammar_infer(best->grammar, c, l->pieces[c].lists, &table, &inside, error);
        if (status == PHL_OK) {
            best->parts[c]->log_likelihood = phl_inside_total(inside, l->pieces[c].all);
        }
        phl_inside_free(inside);
        phl_rule_table_free(table);
    }
    return status;
}

/* The last steps, on all trees. */
static phl_status finish(const struct learner *l, const phl_learn_data *all, struct candidate *best,
                         phl_error *error)
{
    phl_status status = PHL_OK;
    bool sampled = all->forest != l->data->forest;
    for (int i = 0; status == PHL_OK && i < FINAL_STEPS; i++) {
        status = sampled ? phl_grammar_blocks_step(all, l->options, true, best->parts,
                                                   &best->grammar, error)
                         : step_classes(l, best, false, true, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    return sampled
               ? phl_grammar_blocks_step(all, l->options, false, best->parts, &best->grammar, error)
               : score_all(l, best, error);
}

static phl_status learn(const phl_learn_data *data, const phl_learn_data *all,
                        const phl_learn_options *options, phl_grammar_part ***parts,
                        phl_error *error)
{
    struct learner l = {.data = data,
                        .options = options,
                        .smoothing = {5.0, 20.0, 5.0, data->n_classes > 1 ? 0.8 : 0.0},
                        .step = {.held_out = (double)NAN}};
    struct candidate best = {0};
    phl_status status = prepare(&l, error);
    if (status == PHL_OK) {
        status = run_stages(&l, &best, error);
    }
    if (status == PHL_OK) {
        status = finish(&l, all, &best, error);
    }
    if (status == PHL_OK) {
        *parts = best.parts;
        best.parts = NULL;
    }
    free_candidate(&l, &best);
    release(&l);
    return status;
}

size_t phl_grammar_learn_stride(const phl_forest *forest, size_t most_links)
{
    return 1 + forest->n_links / (most_links == 0 ? 300000 : most_links);
}

/* Every k-th tree of each class. */
static phl_status take_sample(const phl_learn_data *data, size_t stride, phl_learn_data *sample,
                              int32_t **classes, phl_forest **made, phl_error *error)
{
    const phl_forest *forest = data->forest;
    phl_forest_cutter cutter = {0};
    size_t n = 0;
    size_t *seen = phl_alloc_zero(data->n_classes, sizeof *seen, error);
    size_t *trees = phl_alloc(forest->n_trees, sizeof *trees, error);
    *classes = phl_alloc(forest->n_trees, sizeof **classes, error);
    phl_status status = seen == NULL || trees == NULL || *classes == NULL
                            ? PHL_ERR_MEMORY
                            : phl_forest_cut_begin(&cutter, forest, error);
    for (size_t t = 0; status == PHL_OK && t < forest->n_trees; t++) {
        int32_t c = data->class_of == NULL ? 0 : data->class_of[t];
        if (seen[c]++ % stride == 0) {
            (*classes)[n] = c;
            trees[n++] = t;
        }
    }
    if (status == PHL_OK) {
        status = phl_forest_cut(&cutter, trees, n, made, error);
    }
    *sample = *data;
    sample->forest = *made;
    sample->class_of = *classes;
    phl_forest_cut_end(&cutter);
    phl_free(trees);
    phl_free(seen);
    return status;
}

phl_status phl_grammar_learn(const phl_learn_data *data, const phl_learn_options *options,
                             phl_grammar_part ***parts, phl_error *error)
{
    size_t stride = phl_grammar_learn_stride(data->forest, options->most_links);
    if (stride == 1) {
        return learn(data, data, options, parts, error);
    }
    phl_learn_data sample = {0};
    phl_forest *forest = NULL;
    int32_t *classes = NULL;
    phl_status status = take_sample(data, stride, &sample, &classes, &forest, error);
    if (status == PHL_OK) {
        status = learn(&sample, data, options, parts, error);
    }
    phl_forest_free(forest);
    phl_free(classes);
    return status;
}
