/* annotations.c - splitting and merging the annotations of labels; see annotations.h. */
#include "grammar/annotations.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"

#define PURPOSE_SPLIT 0x67737074u /* "gspt" */

/* For every state of the new counts the old one it comes from, or the other way round. */
struct states {
    uint32_t *sizes; /* new, [symbols] */
    size_t *first;   /* [symbols + 1] of the finer side */
    uint32_t *other; /* annotation on the coarser side */
    double *share;   /* splitting: its part of the old state */
};

static void clear_states(struct states *states)
{
    phl_free(states->first);
    phl_free(states->other);
    phl_free(states->share);
}

/* ---- splitting ---- */

uint32_t phl_annotations_after_split(const phl_rule_counts *counts,
                                     const phl_split_options *options, uint32_t symbol)
{
    uint32_t old = counts->sizes[symbol];
    bool two = symbol < counts->rules->labels && 2 * old <= options->most &&
               counts->x[symbol] >= 2.0 * options->least * (double)old;
    return two ? 2 * old : old;
}

static phl_status plan_split(const phl_rule_counts *counts, const phl_split_options *options,
                             struct states *states, phl_error *error)
{
    size_t symbols = (size_t)counts->rules->labels + PHL_SYMBOLS, at = 0;
    size_t old_states = counts->first_state[symbols];
    states->sizes = phl_alloc(symbols, sizeof *states->sizes, error);
    states->first = phl_alloc(symbols + 1, sizeof *states->first, error);
    states->other = phl_alloc(2 * old_states, sizeof *states->other, error);
    states->share = phl_alloc(2 * old_states, sizeof *states->share, error);
    if (states->sizes == NULL || states->first == NULL || states->other == NULL ||
        states->share == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (uint32_t s = 0; s < symbols; s++) {
        uint32_t old = counts->sizes[s], made = 0;
        bool two = phl_annotations_after_split(counts, options, s) > old;
        states->first[s] = at;
        for (uint32_t a = 0; a < old; a++) {
            for (uint32_t half = 0; half < (two ? 2u : 1u); half++) {
                states->other[at] = a;
                states->share[at++] = two ? 0.5 : 1.0;
                made++;
            }
        }
        states->sizes[s] = made;
    }
    states->first[symbols] = at;
    return PHL_OK;
}

static void split_rule(const phl_rule_counts *from, const struct states *states,
                       const phl_split_options *options, size_t r, phl_rule_counts *to)
{
    const phl_triple *rule = &from->rules->rules.items[r];
    const double *old = from->n + from->blocks.first[r];
    double *made = to->n + to->blocks.first[r];
    size_t lefts = from->sizes[rule->b], symbols = from->sizes[rule->c];
    size_t a = states->first[rule->a], b = states->first[rule->b], c = states->first[rule->c];
    phl_rng rng;
    phl_rng_init(&rng, options->seed, PURPOSE_SPLIT, options->stream, options->iteration, r);
    for (size_t i = 0; i < to->sizes[rule->a]; i++) {
        for (size_t j = 0; j < to->sizes[rule->b]; j++) {
            const double *row =
                old + (states->other[a + i] * lefts + states->other[b + j]) * symbols;
            double share = states->share[a + i] * states->share[b + j];
            for (size_t k = 0; k < to->sizes[rule->c]; k++) {
                double noise = 1.0 + options->noise * (2.0 * phl_rng_uniform(&rng) - 1.0);
                *made++ = row[states->other[c + k]] * share * states->share[c + k] * noise;
            }
        }
    }
}

phl_status phl_annotations_split(const phl_rule_counts *counts, const phl_split_options *options,
                                 uint32_t **sizes, phl_rule_counts **split, phl_error *error)
{
    struct states states = {NULL, NULL, NULL, NULL};
    phl_rule_counts *made = NULL;
    phl_status status = plan_split(counts, options, &states, error);
    if (status == PHL_OK) {
        status = phl_rule_counts_create(counts->rules, states.sizes, &made, error);
    }
    for (size_t r = 0; status == PHL_OK && r < counts->rules->rules.n; r++) {
        split_rule(counts, &states, options, r, made);
    }
    clear_states(&states);
    if (status != PHL_OK) {
        phl_rule_counts_free(made);
        phl_free(states.sizes);
        return status;
    }
    made->unseen = counts->unseen;
    phl_rule_counts_sum(made);
    *sizes = states.sizes;
    *split = made;
    return PHL_OK;
}

/* ---- merging ---- */

/* What telling two annotations apart gains, by pair of neighbouring annotations. */
struct gains {
    size_t *first; /* [symbols] where the pairs of a symbol begin */
    double *gain, *cells;
};

static double part(double n)
{
    return n > 0.0 ? n * log(n) : 0.0;
}

/* Of the counts of (neighbour, symbol) with annotations, rows being states of the neighbour. */
static void add_gains(const phl_rule_counts *counts, const phl_triples *pairs,
                      const struct phl_pair_places *places, const double *n, struct gains *gains)
{
    for (size_t p = 0; p < pairs->n; p++) {
        uint32_t symbol = pairs->items[p].a;
        size_t columns = counts->sizes[pairs->items[p].b];
        const double *rows = n + places[p].annotated;
        for (uint32_t a = 0; a + 1 < counts->sizes[symbol]; a += 2) {
            size_t at = gains->first[symbol] + a / 2;
            const double *x = rows + a * columns, *y = x + columns;
            for (size_t k = 0; k < columns; k++) {
                gains->gain[at] += part(x[k]) + part(y[k]) - part(x[k] + y[k]);
                gains->cells[at] += x[k] + y[k] < 1.0 ? x[k] + y[k] : 1.0;
            }
        }
    }
}

/* And the sums of the rows. */
static phl_status take_totals(const phl_rule_counts *counts, const phl_triples *pairs,
                              const struct phl_pair_places *places, const double *n,
                              struct gains *gains, phl_error *error)
{
    size_t symbols = (size_t)counts->rules->labels + PHL_SYMBOLS;
    double *total = phl_alloc_zero(counts->first_state[symbols], sizeof *total, error);
    if (total == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t p = 0; p < pairs->n; p++) {
        uint32_t symbol = pairs->items[p].a;
        size_t columns = counts->sizes[pairs->items[p].b];
        const double *row = n + places[p].annotated;
        for (uint32_t a = 0; a < counts->sizes[symbol]; a++) {
            for (size_t k = 0; k < columns; k++) {
                total[counts->first_state[symbol] + a] += *row++;
            }
        }
    }
    for (size_t s = 0; s < symbols; s++) {
        for (uint32_t a = 0; a + 1 < counts->sizes[s]; a += 2) {
            double x = total[counts->first_state[s] + a], y = total[counts->first_state[s] + a + 1];
            gains->gain[gains->first[s] + a / 2] -= part(x) + part(y) - part(x + y);
        }
    }
    phl_free(total);
    return PHL_OK;
}

static phl_status find_gains(const phl_rule_counts *counts, struct gains *gains, phl_error *error)
{
    const phl_rules *rules = counts->rules;
    size_t symbols = (size_t)rules->labels + PHL_SYMBOLS, at = 0;
    gains->first = phl_alloc(symbols, sizeof *gains->first, error);
    gains->gain = phl_alloc_zero(counts->first_state[symbols], sizeof *gains->gain, error);
    gains->cells = phl_alloc_zero(counts->first_state[symbols], sizeof *gains->cells, error);
    if (gains->first == NULL || gains->gain == NULL || gains->cells == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t s = 0; s < symbols; s++) {
        gains->first[s] = at;
        at += counts->sizes[s] / 2;
    }
    add_gains(counts, &rules->firsts, counts->of_first, counts->PX, gains);
    add_gains(counts, &rules->seconds, counts->of_second, counts->LX, gains);
    phl_status status =
        take_totals(counts, &rules->firsts, counts->of_first, counts->PX, gains, error);
    return status == PHL_OK
               ? take_totals(counts, &rules->seconds, counts->of_second, counts->LX, gains, error)
               : status;
}

/* *some: is there one to merge? */
static phl_status plan_merge(const phl_rule_counts *counts, struct states *states, bool *some,
                             phl_error *error)
{
    size_t symbols = (size_t)counts->rules->labels + PHL_SYMBOLS;
    struct gains gains = {NULL, NULL, NULL};
    states->sizes = phl_alloc(symbols, sizeof *states->sizes, error);
    states->other = phl_alloc(counts->first_state[symbols], sizeof *states->other, error);
    phl_status status = states->sizes == NULL || states->other == NULL
                            ? PHL_ERR_MEMORY
                            : find_gains(counts, &gains, error);
    *some = false;
    for (size_t s = 0; status == PHL_OK && s < symbols; s++) {
        uint32_t made = 0;
        for (uint32_t a = 0; a < counts->sizes[s]; a++) {
            size_t pair = gains.first[s] + a / 2;
            bool second = a % 2 == 1;
            bool merge = second && gains.gain[pair] < gains.cells[pair];
            made -= merge;
            *some = *some || merge;
            states->other[counts->first_state[s] + a] = made++;
        }
        states->sizes[s] = made;
    }
    phl_free(gains.first);
    phl_free(gains.gain);
    phl_free(gains.cells);
    return status;
}

static void merge_rule(const phl_rule_counts *from, const struct states *states, size_t r,
                       phl_rule_counts *to)
{
    const phl_triple *rule = &from->rules->rules.items[r];
    const double *old = from->n + from->blocks.first[r];
    double *made = to->n + to->blocks.first[r];
    const uint32_t *a = states->other + from->first_state[rule->a];
    const uint32_t *b = states->other + from->first_state[rule->b];
    const uint32_t *c = states->other + from->first_state[rule->c];
    size_t lefts = to->sizes[rule->b], symbols = to->sizes[rule->c];
    for (size_t i = 0; i < from->sizes[rule->a]; i++) {
        for (size_t j = 0; j < from->sizes[rule->b]; j++) {
            for (size_t k = 0; k < from->sizes[rule->c]; k++) {
                made[(a[i] * lefts + b[j]) * symbols + c[k]] += *old++;
            }
        }
    }
}

phl_status phl_annotations_merge(const phl_rule_counts *counts, uint32_t **sizes,
                                 phl_rule_counts **merged, phl_error *error)
{
    struct states states = {NULL, NULL, NULL, NULL};
    phl_rule_counts *made = NULL;
    bool some = false;
    phl_status status = plan_merge(counts, &states, &some, error);
    if (status == PHL_OK && some) {
        status = phl_rule_counts_create(counts->rules, states.sizes, &made, error);
    }
    for (size_t r = 0; made != NULL && r < counts->rules->rules.n; r++) {
        merge_rule(counts, &states, r, made);
    }
    clear_states(&states);
    if (status != PHL_OK || !some) {
        phl_free(states.sizes);
        *sizes = NULL;
        *merged = NULL;
        return status;
    }
    made->unseen = counts->unseen;
    phl_rule_counts_sum(made);
    *sizes = states.sizes;
    *merged = made;
    return PHL_OK;
}
