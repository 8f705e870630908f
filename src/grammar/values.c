/* values.c - the probability of every list, whatever is hidden; see values.h. */
#include "grammar/values.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* ---------------------------------------------------------------------------------------------
 * Forms and room
 * ------------------------------------------------------------------------------------------- */

size_t phl_values_states(const phl_backoff *backoff, uint32_t symbol)
{
    return symbol == PHL_SYMBOL_HIDDEN ? backoff->state[backoff->labels + 1]
                                       : backoff->sizes[symbol];
}

phl_value_form phl_values_form(const phl_backoff *backoff, uint32_t parent, uint32_t left)
{
    phl_value_form form = {.parents = phl_values_states(backoff, parent)};
    size_t blocks = 0;
    if (left == PHL_SYMBOL_HIDDEN) {
        bool all = parent == PHL_SYMBOL_HIDDEN;
        form.place = backoff->place_by_parent;
        form.base = all ? 0 : backoff->end_by_parent[parent];
        blocks = backoff->end_by_parent[all ? backoff->labels + 1 : parent + 1] - form.base;
    } else if (parent == PHL_SYMBOL_HIDDEN) {
        form.place = backoff->place_by_left;
        form.base = backoff->end_by_left[left];
        blocks = backoff->end_by_left[left + 1] - form.base;
    } else if (phl_backoff_context(backoff, parent, left) != PHL_NO_TRIPLE) {
        blocks = (size_t)backoff->sizes[parent] * backoff->sizes[left];
    }
    form.count = form.parents + blocks;
    return form;
}

phl_status phl_values_room_make(const phl_backoff *backoff, phl_value_room *room, phl_error *error)
{
    size_t square = (size_t)backoff->most * backoff->most;
    size_t pairs = backoff->most_of_firsts > square ? backoff->most_of_firsts : square;
    room->pairs = phl_alloc(pairs, sizeof *room->pairs, error);
    room->gradients = phl_alloc(pairs, sizeof *room->gradients, error);
    room->weights = phl_alloc(backoff->most, sizeof *room->weights, error);
    room->below = phl_alloc(backoff->state[backoff->labels + 1], sizeof *room->below, error);
    if (room->pairs == NULL || room->gradients == NULL || room->weights == NULL ||
        room->below == NULL) {
        phl_values_room_clear(room);
        return PHL_ERR_MEMORY;
    }
    return PHL_OK;
}

void phl_values_room_clear(phl_value_room *room)
{
    phl_free(room->pairs);
    phl_free(room->gradients);
    phl_free(room->weights);
    phl_free(room->below);
    memset(room, 0, sizeof *room);
}

/* ---------------------------------------------------------------------------------------------
 * What an item is made of, under one label of its parent
 * ------------------------------------------------------------------------------------------- */

/* An item under the states of one parent. */
struct under {
    const phl_backoff *backoff;
    const phl_value_item *item;
    phl_value_form form;
    uint32_t parent;
    size_t parents, state; /* its annotations; the number of the first of its states */
    phl_both rest;         /* sum over all labels of base r below (next) */
};

/* One symbol there: (p, x), with its states. */
struct pair {
    uint32_t symbol, follower; /* the context they are for the next one */
    size_t states, below;      /* its first state among those of the item's symbol */
    phl_both p;
    const double *r; /* [parents][states], or [states] for all parents: then rows is 0 */
    size_t rows;
};

static struct pair known_pair(const struct under *under, uint32_t symbol)
{
    const phl_backoff *backoff = under->backoff;
    struct pair pair = {
        .symbol = symbol, .follower = PHL_NO_TRIPLE, .states = backoff->sizes[symbol]};
    pair.p = phl_backoff_pair(backoff, under->parent, symbol, &pair.r, &pair.rows);
    if (under->item->next != NULL) {
        pair.follower =
            phl_backoff_context(backoff, phl_backoff_seen(backoff, under->parent), symbol);
    }
    return pair;
}

static struct pair hidden_pair(const struct under *under, uint32_t first)
{
    const phl_backoff *backoff = under->backoff;
    uint32_t symbol = backoff->rules->firsts.items[first].b;
    return (struct pair){.symbol = symbol,
                         .follower = backoff->follower_of[first],
                         .states = backoff->sizes[symbol],
                         .below = backoff->state[symbol],
                         .p = backoff->p_of_pair[first],
                         .r = backoff->r_of_pair + backoff->first_pair[first],
                         .rows = backoff->sizes[symbol]};
}

/* The value of the rest for annotation i of the parent, by the symbol's: stride 0 if it is the same
 * for all. */
static size_t next_place(const struct under *under, const struct pair *pair, size_t i,
                         size_t *stride)
{
    bool sees = under->backoff->pair;
    *stride = pair->follower != PHL_NO_TRIPLE;
    return pair->follower != PHL_NO_TRIPLE
               ? phl_values_block(&under->item->next_form, pair->follower) +
                     (sees ? i * pair->states : 0)
           : sees ? under->state + i
                  : 0;
}

/* below(k) next(i, k). */
static void fill_pair(const struct under *under, const struct pair *pair, double *out)
{
    const phl_value_item *item = under->item;
    const double *below = item->below == NULL ? NULL : item->below + pair->below;
    for (size_t i = 0; i < under->parents; i++) {
        size_t stride, at = item->next == NULL ? 0 : next_place(under, pair, i, &stride);
        for (size_t k = 0; k < pair->states; k++) {
            double next = item->next == NULL ? 1.0 : item->next[at + k * stride];
            *out++ = (below == NULL ? 1.0 : below[k]) * next;
        }
    }
}

/* base r below (next in the form in which it does not see the parent) of the states of a label. */
static double rest_of_state(const struct under *under, const struct pair *pair, size_t k)
{
    const phl_value_item *item = under->item;
    double r = under->backoff->r[under->backoff->first_state[pair->symbol] + k];
    if (!under->backoff->pair && item->next != NULL) {
        size_t stride, at = next_place(under, pair, 0, &stride);
        r *= item->next[at + k * stride];
    }
    return r * item->below[pair->below + k];
}

static phl_both rest_of_label(const struct under *under, const struct pair *pair)
{
    const phl_both *base = &under->backoff->base[pair->symbol];
    double sum = 0.0;
    for (size_t k = 0; k < pair->states; k++) {
        sum += rest_of_state(under, pair, k);
    }
    return (phl_both){{base->of[0] * sum, base->of[1] * sum}};
}

/* Any label, seen as what follows the next sibling where the rest does not see the parent. */
static struct pair any_label(const struct under *under, uint32_t symbol)
{
    const phl_backoff *backoff = under->backoff;
    struct pair pair = {.symbol = symbol,
                        .follower = PHL_NO_TRIPLE,
                        .states = backoff->sizes[symbol],
                        .below = backoff->state[symbol]};
    if (!backoff->pair && under->item->next != NULL) {
        pair.follower =
            phl_backoff_context(backoff, phl_rules_symbol(backoff->labels, PHL_SYMBOL_ANY), symbol);
    }
    return pair;
}

static phl_both rest_of_all(const struct under *under)
{
    phl_both sum = {{0.0, 0.0}};
    for (uint32_t x = 0; x <= under->backoff->labels; x++) {
        struct pair pair = any_label(under, x);
        phl_both rest = rest_of_label(under, &pair);
        sum.of[0] += rest.of[0];
        sum.of[1] += rest.of[1];
    }
    return sum;
}

/* Value of the rest for annotation i of the parent when no context of it occurred. */
static double next_plain(const struct under *under, size_t i)
{
    return under->item->next == NULL || !under->backoff->pair ? 1.0
                                                              : under->item->next[under->state + i];
}

/* The labels that its parent may have, one after the other. */
static void begin_under(struct under *under, const phl_backoff *backoff, const phl_value_item *item)
{
    *under = (struct under){.backoff = backoff,
                            .item = item,
                            .form = phl_values_form(backoff, item->parent, item->left)};
    if (item->symbol == PHL_SYMBOL_HIDDEN) {
        under->rest = rest_of_all(under);
    }
}

static uint32_t first_parent(const phl_value_item *item)
{
    return item->parent == PHL_SYMBOL_HIDDEN ? 0 : item->parent;
}

static uint32_t last_parent(const phl_backoff *backoff, const phl_value_item *item)
{
    return item->parent == PHL_SYMBOL_HIDDEN ? backoff->labels : item->parent;
}

static void turn_under(struct under *under, uint32_t parent)
{
    under->parent = parent;
    under->parents = under->backoff->sizes[parent];
    under->state = under->item->parent == PHL_SYMBOL_HIDDEN ? under->backoff->state[parent] : 0;
}

static phl_both plain_g(const struct under *under)
{
    bool empty = under->item->left == phl_rules_symbol(under->backoff->labels, PHL_SYMBOL_EMPTY);
    return (empty ? under->backoff->g_empty : under->backoff->g_plain)[under->parent];
}

/* The contexts of this parent that the value has blocks for: numbers first .. end - 1 of *items. */
static size_t find_contexts(const struct under *under, uint32_t *single, const uint32_t **items)
{
    const phl_backoff *backoff = under->backoff;
    if (under->item->left == PHL_SYMBOL_HIDDEN) {
        const phl_grouped *grouped = &backoff->by_parent;
        *items = grouped->item + grouped->first[under->parent];
        return grouped->first[under->parent + 1] - grouped->first[under->parent];
    }
    *single = under->item->left == phl_rules_symbol(backoff->labels, PHL_SYMBOL_BEGIN)
                  ? backoff->begin_of[under->parent]
                  : phl_backoff_context(backoff, under->parent, under->item->left);
    *items = single;
    return *single != PHL_NO_TRIPLE;
}

/* The rules of a context that the item's symbol may stand for. */
static size_t find_rules(const struct under *under, uint32_t context, uint32_t *single,
                         const uint32_t **items)
{
    const phl_backoff *backoff = under->backoff;
    if (under->item->symbol == PHL_SYMBOL_HIDDEN) {
        const phl_grouped *grouped = &backoff->rules_of;
        *items = grouped->item + grouped->first[context];
        return grouped->first[context + 1] - grouped->first[context];
    }
    phl_triple rule = {under->parent, backoff->rules->contexts.items[context].b,
                       under->item->symbol};
    *single = phl_triples_find(&backoff->rules->rules, rule);
    *items = single;
    return *single != PHL_NO_TRIPLE;
}

/* Where the numbers of a rule's pair lie in the room. */
static size_t pair_place(const struct under *under, uint32_t rule)
{
    const phl_backoff *backoff = under->backoff;
    return under->item->symbol == PHL_SYMBOL_HIDDEN
               ? backoff->place_of_first[backoff->rules->parts[rule].first]
               : 0;
}

/* A rule that ends or skips is none of a hidden label's. */
static bool passes(const struct under *under, uint32_t rule)
{
    return under->item->symbol != PHL_SYMBOL_HIDDEN ||
           phl_backoff_is_label(under->backoff, under->backoff->rules->rules.items[rule].c);
}

/* ---------------------------------------------------------------------------------------------
 * Values
 * ------------------------------------------------------------------------------------------- */

/* Add p r below next of a pair to the weights of the parent's annotations. */
static void add_weights(const struct under *under, const struct pair *pair, const double *numbers,
                        phl_both *weights)
{
    for (size_t i = 0; i < under->parents; i++) {
        const double *r = pair->r + i * pair->rows;
        double sum = 0.0;
        for (size_t k = 0; k < pair->states; k++) {
            sum += r[k] * *numbers++;
        }
        weights[i].of[0] += pair->p.of[0] * sum;
        weights[i].of[1] += pair->p.of[1] * sum;
    }
}

/* Numbers of the pairs, and the weights of the parent's annotations: sum over x of p_i r below
 * next. */
static void weigh(const struct under *under, phl_value_room *room)
{
    const phl_backoff *backoff = under->backoff;
    memset(room->weights, 0, under->parents * sizeof *room->weights);
    if (under->item->symbol != PHL_SYMBOL_HIDDEN) {
        struct pair pair = known_pair(under, under->item->symbol);
        fill_pair(under, &pair, room->pairs);
        add_weights(under, &pair, room->pairs, room->weights);
        return;
    }
    phl_both rest = under->rest;
    const phl_grouped *firsts = &backoff->firsts;
    for (size_t n = firsts->first[under->parent]; n < firsts->first[under->parent + 1]; n++) {
        struct pair pair = hidden_pair(under, firsts->item[n]);
        double *numbers = room->pairs + backoff->place_of_first[firsts->item[n]];
        fill_pair(under, &pair, numbers);
        add_weights(under, &pair, numbers, room->weights);
        phl_both label = rest_of_label(under, &pair);
        rest.of[0] -= label.of[0];
        rest.of[1] -= label.of[1];
    }
    const phl_both *less = backoff->less[under->parent];
    for (size_t i = 0; i < under->parents; i++) {
        double next = next_plain(under, i);
        room->weights[i].of[0] += (less[0].of[0] * rest.of[0] + less[0].of[1] * rest.of[1]) * next;
        room->weights[i].of[1] += less[1].of[1] * rest.of[1] * next;
    }
}

/* The block of one context. */
static void fill_context(const struct under *under, const phl_value_room *room, uint32_t context,
                         double *block)
{
    const phl_backoff *backoff = under->backoff;
    size_t lefts = backoff->sizes[backoff->rules->contexts.items[context].b];
    const phl_both *g = backoff->g + backoff->first_context[context];
    for (size_t ij = 0; ij < under->parents * lefts; ij++) {
        const phl_both *weight = &room->weights[ij / lefts];
        block[ij] = g[ij].of[0] * weight->of[0] + g[ij].of[1] * weight->of[1];
    }
    uint32_t single;
    const uint32_t *rules = NULL;
    size_t n_rules = find_rules(under, context, &single, &rules);
    for (size_t n = 0; n < n_rules; n++) {
        if (!passes(under, rules[n])) {
            continue;
        }
        size_t states = backoff->sizes[backoff->rules->rules.items[rules[n]].c];
        const double *residual = backoff->table->p + backoff->table->blocks.first[rules[n]];
        const double *numbers = room->pairs + pair_place(under, rules[n]);
        for (size_t ij = 0; ij < under->parents * lefts; ij++) {
            const double *row = numbers + ij / lefts * states;
            double sum = 0.0;
            for (size_t k = 0; k < states; k++) {
                sum += *residual++ * row[k];
            }
            block[ij] += sum;
        }
    }
}

double phl_values_compute(const phl_backoff *backoff, phl_value_room *room,
                          const phl_value_item *item, double *value)
{
    struct under under;
    double most = 0.0;
    begin_under(&under, backoff, item);
    for (uint32_t p = first_parent(item); p <= last_parent(backoff, item); p++) {
        turn_under(&under, p);
        weigh(&under, room);
        uint32_t single;
        const uint32_t *contexts = NULL;
        size_t n_contexts = find_contexts(&under, &single, &contexts);
        bool only = item->left != PHL_SYMBOL_HIDDEN && n_contexts == 1; /* no other left */
        phl_both g = only ? (phl_both){{0.0, 0.0}} : plain_g(&under);
        for (size_t i = 0; i < under.parents; i++) {
            value[under.state + i] =
                g.of[0] * room->weights[i].of[0] + g.of[1] * room->weights[i].of[1];
        }
        for (size_t n = 0; n < n_contexts; n++) {
            fill_context(&under, room, contexts[n],
                         value + phl_values_block(&under.form, contexts[n]));
        }
    }
    for (size_t i = 0; i < under.form.count; i++) {
        value[i] = value[i] > 0.0 ? value[i] : 0.0; /* rounding */
        most = value[i] > most ? value[i] : most;
    }
    return most;
}

/* ---------------------------------------------------------------------------------------------
 * Derivatives
 * ------------------------------------------------------------------------------------------- */

/* Where the derivatives go. */
struct spread {
    const double *out;
    double scale;
    double *to_below, *to_next;
    phl_both rest; /* of the sum over all labels */
};

/* Derivatives by the weights, and those by the numbers of pairs through the rules; false: all 0. */
static bool unweigh(const struct under *under, const struct spread *spread, phl_value_room *room,
                    size_t n_numbers)
{
    const phl_backoff *backoff = under->backoff;
    phl_both plain = plain_g(under);
    bool any = false;
    memset(room->gradients, 0, n_numbers * sizeof *room->gradients);
    for (size_t i = 0; i < under->parents; i++) {
        double out = spread->out[under->state + i] * spread->scale;
        room->weights[i] = (phl_both){{plain.of[0] * out, plain.of[1] * out}};
        any = any || out != 0.0;
    }
    uint32_t one_context, one_rule;
    const uint32_t *contexts = NULL, *rules = NULL;
    size_t n_contexts = find_contexts(under, &one_context, &contexts);
    for (size_t c = 0; c < n_contexts; c++) {
        size_t lefts = backoff->sizes[backoff->rules->contexts.items[contexts[c]].b];
        const phl_both *g = backoff->g + backoff->first_context[contexts[c]];
        const double *block = spread->out + phl_values_block(&under->form, contexts[c]);
        bool some = false;
        for (size_t ij = 0; ij < under->parents * lefts; ij++) {
            double out = block[ij] * spread->scale;
            room->weights[ij / lefts].of[0] += g[ij].of[0] * out;
            room->weights[ij / lefts].of[1] += g[ij].of[1] * out;
            some = some || out != 0.0;
        }
        any = any || some;
        size_t n_rules = some ? find_rules(under, contexts[c], &one_rule, &rules) : 0;
        for (size_t r = 0; r < n_rules; r++) {
            if (!passes(under, rules[r])) {
                continue;
            }
            size_t states = backoff->sizes[backoff->rules->rules.items[rules[r]].c];
            const double *residual = backoff->table->p + backoff->table->blocks.first[rules[r]];
            double *gradient = room->gradients + pair_place(under, rules[r]);
            for (size_t ij = 0; ij < under->parents * lefts; ij++) {
                double out = block[ij] * spread->scale;
                for (size_t k = 0; k < states; k++) {
                    gradient[ij / lefts * states + k] += out * *residual++;
                }
            }
        }
    }
    return any;
}

/* From the numbers of a pair to what they are products of. */
static void spread_pair(const struct under *under, const struct spread *spread,
                        const struct pair *pair, const phl_both *weights, const double *gradient)
{
    const phl_value_item *item = under->item;
    for (size_t i = 0; i < under->parents; i++) {
        const double *r = pair->r + i * pair->rows;
        double of_label = pair->p.of[0] * weights[i].of[0] + pair->p.of[1] * weights[i].of[1];
        size_t stride = 0, at = item->next == NULL ? 0 : next_place(under, pair, i, &stride);
        for (size_t k = 0; k < pair->states; k++) {
            double flow = *gradient++ + of_label * r[k];
            double next = item->next == NULL ? 1.0 : item->next[at + k * stride];
            spread->to_below[pair->below + k] += flow * next;
            if (spread->to_next != NULL) {
                spread->to_next[at + k * stride] +=
                    flow * (item->below == NULL ? 1.0 : item->below[pair->below + k]);
            }
        }
    }
}

/* Add to what the states of a label are derived from by `rest` of base r below (next). */
static void spread_rest(const struct under *under, const struct spread *spread,
                        const struct pair *pair, phl_both rest)
{
    const phl_backoff *backoff = under->backoff;
    const phl_value_item *item = under->item;
    const phl_both *base = &backoff->base[pair->symbol];
    const double *r = backoff->r + backoff->first_state[pair->symbol];
    double flow = rest.of[0] * base->of[0] + rest.of[1] * base->of[1];
    bool by_next = !backoff->pair && item->next != NULL;
    size_t stride = 0, at = by_next ? next_place(under, pair, 0, &stride) : 0;
    for (size_t k = 0; k < pair->states; k++) {
        double next = by_next ? item->next[at + k * stride] : 1.0;
        spread->to_below[pair->below + k] += flow * r[k] * next;
        if (by_next && spread->to_next != NULL) {
            spread->to_next[at + k * stride] += flow * r[k] * item->below[pair->below + k];
        }
    }
}

/* A hidden symbol under one parent. */
static void spread_hidden(const struct under *under, struct spread *spread,
                          const phl_value_room *room)
{
    const phl_backoff *backoff = under->backoff;
    const phl_grouped *firsts = &backoff->firsts;
    const phl_both *less = backoff->less[under->parent];
    phl_both left = under->rest, flow = {{0.0, 0.0}};
    for (size_t i = 0; i < under->parents; i++) {
        const phl_both *weight = &room->weights[i];
        double next = next_plain(under, i);
        flow.of[0] += weight->of[0] * less[0].of[0] * next;
        flow.of[1] += (weight->of[0] * less[0].of[1] + weight->of[1] * less[1].of[1]) * next;
    }
    phl_both minus = {{-flow.of[0], -flow.of[1]}};
    for (size_t n = firsts->first[under->parent]; n < firsts->first[under->parent + 1]; n++) {
        uint32_t f = firsts->item[n];
        struct pair pair = hidden_pair(under, f);
        phl_both label = rest_of_label(under, &pair);
        left.of[0] -= label.of[0];
        left.of[1] -= label.of[1];
        spread_pair(under, spread, &pair, room->weights,
                    room->gradients + backoff->place_of_first[f]);
        spread_rest(under, spread, &pair, minus);
    }
    spread->rest.of[0] += flow.of[0];
    spread->rest.of[1] += flow.of[1];
    for (size_t i = 0; spread->to_next != NULL && backoff->pair && i < under->parents; i++) {
        const phl_both *weight = &room->weights[i];
        spread->to_next[under->state + i] +=
            weight->of[0] * less[0].of[0] * left.of[0] +
            (weight->of[0] * less[0].of[1] + weight->of[1] * less[1].of[1]) * left.of[1];
    }
}

void phl_values_spread(const phl_backoff *backoff, phl_value_room *room, const phl_value_item *item,
                       const double *out, double scale, double *to_below, double *to_next)
{
    struct under under;
    struct spread spread = {.out = out,
                            .scale = scale,
                            .to_below = to_below,
                            .to_next = item->next == NULL ? NULL : to_next};
    bool hidden = item->symbol == PHL_SYMBOL_HIDDEN;
    begin_under(&under, backoff, item);
    for (uint32_t p = first_parent(item); p <= last_parent(backoff, item); p++) {
        turn_under(&under, p);
        const phl_grouped *firsts = &backoff->firsts;
        size_t last = firsts->first[p + 1], numbers = 0;
        if (!hidden) {
            numbers = under.parents * backoff->sizes[item->symbol];
        } else if (last > firsts->first[p]) {
            const phl_triple *pair = &backoff->rules->firsts.items[firsts->item[last - 1]];
            numbers = backoff->place_of_first[firsts->item[last - 1]] +
                      under.parents * backoff->sizes[pair->b];
        }
        if (!unweigh(&under, &spread, room, numbers)) {
            continue;
        }
        if (hidden) {
            spread_hidden(&under, &spread, room);
        } else {
            struct pair pair = known_pair(&under, item->symbol);
            spread_pair(&under, &spread, &pair, room->weights, room->gradients);
        }
    }
    for (uint32_t x = 0; hidden && x <= backoff->labels; x++) {
        struct pair pair = any_label(&under, x);
        spread_rest(&under, &spread, &pair, spread.rest);
    }
}

/* ---------------------------------------------------------------------------------------------
 * All lists
 * ------------------------------------------------------------------------------------------- */

void phl_values_children(const phl_backoff *backoff, uint32_t symbol, const double *value,
                         double *below)
{
    uint32_t begin = phl_rules_symbol(backoff->labels, PHL_SYMBOL_BEGIN);
    phl_value_form form = phl_values_form(backoff, symbol, begin);
    bool hidden = symbol == PHL_SYMBOL_HIDDEN;
    uint32_t first = hidden ? 0 : symbol, last = hidden ? backoff->labels : symbol;
    size_t at = 0;
    for (uint32_t x = first; x <= last; x++) {
        uint32_t context = backoff->begin_of[x];
        const double *from =
            context == PHL_NO_TRIPLE ? value + at : value + phl_values_block(&form, context);
        memcpy(below + at, from, backoff->sizes[x] * sizeof *below);
        at += backoff->sizes[x];
    }
}

phl_value_item phl_values_item(const phl_values *values, uint32_t number, phl_value_room *room)
{
    const phl_list *list = &values->lists->items[number];
    phl_value_item item = {.parent = list->parent, .left = list->left, .symbol = list->symbol};
    if (list->below != PHL_NO_LIST) {
        phl_values_children(values->backoff, list->symbol,
                            values->value + values->first[list->below], room->below);
        item.below = room->below;
    }
    if (list->next != PHL_NO_LIST) {
        const phl_list *next = &values->lists->items[list->next];
        item.next = values->value + values->first[list->next];
        item.next_form = phl_values_form(values->backoff, next->parent, next->left);
    }
    return item;
}

static void run(phl_values *values, phl_value_room *room)
{
    const phl_lists *lists = values->lists;
    for (uint32_t i = 0; i < lists->n; i++) {
        const phl_list *list = &lists->items[i];
        double *value = values->value + values->first[i];
        size_t count = values->first[i + 1] - values->first[i];
        phl_value_item item = phl_values_item(values, i, room);
        double most = phl_values_compute(values->backoff, room, &item, value);
        for (size_t n = 0; most > 0.0 && n < count; n++) {
            value[n] /= most;
        }
        values->norm[i] = most;
        values->log_scale[i] = log(most) +
                               (list->below == PHL_NO_LIST ? 0.0 : values->log_scale[list->below]) +
                               (list->next == PHL_NO_LIST ? 0.0 : values->log_scale[list->next]);
    }
}

static phl_status prepare(phl_values *values, phl_error *error)
{
    const phl_lists *lists = values->lists;
    values->first = phl_alloc(lists->n + 1, sizeof *values->first, error);
    values->log_scale = phl_alloc(lists->n, sizeof *values->log_scale, error);
    values->norm = phl_alloc(lists->n, sizeof *values->norm, error);
    if (values->first == NULL || values->log_scale == NULL || values->norm == NULL) {
        return PHL_ERR_MEMORY;
    }
    values->first[0] = 0;
    for (size_t i = 0; i < lists->n; i++) {
        const phl_list *list = &lists->items[i];
        values->first[i + 1] =
            values->first[i] + phl_values_form(values->backoff, list->parent, list->left).count;
    }
    values->value = phl_alloc(values->first[lists->n], sizeof *values->value, error);
    return values->value == NULL ? PHL_ERR_MEMORY : PHL_OK;
}

phl_status phl_values_create(const phl_lists *lists, const phl_backoff *backoff,
                             phl_values **values, phl_error *error)
{
    phl_value_room room = {0};
    phl_values *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->lists = lists;
    made->backoff = backoff;
    phl_status status = prepare(made, error);
    if (status == PHL_OK) {
        status = phl_values_room_make(backoff, &room, error);
    }
    if (status != PHL_OK) {
        phl_values_free(made);
        return status;
    }
    run(made, &room);
    phl_values_room_clear(&room);
    *values = made;
    return PHL_OK;
}

void phl_values_free(phl_values *values)
{
    if (values != NULL) {
        phl_free(values->first);
        phl_free(values->value);
        phl_free(values->log_scale);
        phl_free(values->norm);
        phl_free(values);
    }
}

double phl_values_tree(const phl_values *values, size_t tree)
{
    return values->log_scale[values->lists->root[tree]];
}
