/* outlook.c - a tree under one part of a grammar, node by node; see outlook.h. */
#include "grammar/outlook.h"

#include <string.h>

#include "base/memory.h"
#include "base/sampler.h"

/* A list that waits: what is outside of it, or the states it stands beside. */
struct phl_outlook_waiting {
    uint32_t list;
    size_t out; /* in the arena */
    phl_grammar_state parent, left;
};

/* ---------------------------------------------------------------------------------------------
 * Room
 * ------------------------------------------------------------------------------------------- */

static void clear_room(phl_outlook *outlook)
{
    phl_values_room_clear(&outlook->room);
    phl_free(outlook->below);
    phl_free(outlook->joint);
    outlook->below = outlook->joint = NULL;
}

phl_status phl_outlook_turn(phl_outlook *outlook, const phl_values *values, phl_error *error)
{
    outlook->values = values;
    if (outlook->backoff == values->backoff) {
        return PHL_OK;
    }
    outlook->backoff = NULL;
    size_t states = phl_values_states(values->backoff, PHL_SYMBOL_HIDDEN);
    clear_room(outlook);
    outlook->below = phl_alloc(states, sizeof *outlook->below, error);
    outlook->joint = phl_alloc(states, sizeof *outlook->joint, error);
    phl_status status = outlook->below == NULL || outlook->joint == NULL
                            ? PHL_ERR_MEMORY
                            : phl_values_room_make(values->backoff, &outlook->room, error);
    if (status != PHL_OK) {
        clear_room(outlook);
        return status;
    }
    outlook->backoff = values->backoff;
    return PHL_OK;
}

phl_status phl_outlook_create(const phl_values *values, phl_outlook **outlook, phl_error *error)
{
    phl_outlook *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    phl_status status = phl_outlook_turn(made, values, error);
    if (status != PHL_OK) {
        phl_outlook_free(made);
        return status;
    }
    *outlook = made;
    return PHL_OK;
}

void phl_outlook_free(phl_outlook *outlook)
{
    if (outlook != NULL) {
        clear_room(outlook);
        phl_free(outlook->arena);
        phl_free(outlook->stack);
        for (size_t i = 0; i < 3; i++) {
            phl_free(outlook->other[i]);
        }
        phl_free(outlook);
    }
}

static phl_status push(phl_outlook *outlook, size_t *depth, struct phl_outlook_waiting waiting,
                       phl_error *error)
{
    phl_status status = phl_grow(&outlook->stack, &outlook->stack_capacity, *depth + 1,
                                 sizeof *outlook->stack, error);
    if (status == PHL_OK) {
        outlook->stack[(*depth)++] = waiting;
    }
    return status;
}

static bool is_end(const phl_values *values, uint32_t list)
{
    return list == PHL_NO_LIST || (values->lists->items[list].below == PHL_NO_LIST &&
                                   values->lists->items[list].next == PHL_NO_LIST);
}

/* ---------------------------------------------------------------------------------------------
 * A node as if its label were hidden
 * ------------------------------------------------------------------------------------------- */

static void scale_down(double *value, size_t count, double most)
{
    for (size_t i = 0; most > 0.0 && i < count; i++) {
        value[i] /= most;
    }
}

static phl_status reserve_other(phl_outlook *outlook, size_t i, size_t count, phl_error *error)
{
    return phl_grow(&outlook->other[i], &outlook->other_capacity[i], count,
                    sizeof *outlook->other[i], error);
}

/* The lists of a node's children one after the other, last first: a list of them. */
static phl_status list_children(phl_outlook *outlook, uint32_t list, size_t base, size_t *end,
                                phl_error *error)
{
    phl_status status = PHL_OK;
    for (*end = base; status == PHL_OK && list != PHL_NO_LIST;
         list = outlook->values->lists->items[list].next) {
        status = push(outlook, end, (struct phl_outlook_waiting){.list = list}, error);
    }
    return status;
}

/* What is below the node whose children are `list`, for every label it might have: into
 * outlook->below. */
static phl_status hide_parent(phl_outlook *outlook, uint32_t list, size_t base, phl_error *error)
{
    const phl_values *values = outlook->values;
    const phl_backoff *backoff = values->backoff;
    size_t end = 0, now = 0;
    phl_value_form before = {0};
    phl_status status = list_children(outlook, list, base, &end, error);
    for (size_t n = end; status == PHL_OK && n-- > base; now ^= 1) {
        uint32_t number = outlook->stack[n].list;
        const phl_list *own = &values->lists->items[number];
        phl_value_item item = phl_values_item(values, number, &outlook->room);
        bool sees = backoff->pair || n == base;
        if (sees) {
            item.parent = PHL_SYMBOL_HIDDEN;
        }
        if (backoff->pair && own->next != PHL_NO_LIST) { /* its next one has been done just so */
            item.next = outlook->other[now ^ 1];
            item.next_form = before;
        }
        if (sees) {
            phl_value_form form = phl_values_form(backoff, item.parent, item.left);
            status = reserve_other(outlook, now, form.count, error);
            if (status == PHL_OK) {
                double most =
                    phl_values_compute(backoff, &outlook->room, &item, outlook->other[now]);
                scale_down(outlook->other[now], form.count, most);
            }
            before = form;
        }
    }
    if (status == PHL_OK) {
        phl_values_children(backoff, PHL_SYMBOL_HIDDEN, outlook->other[now ^ 1], outlook->below);
    }
    return status;
}

/* Weights of all states of a node with a known label, were it hidden. */
static phl_status weigh_without(phl_outlook *outlook, const struct phl_outlook_waiting *waiting,
                                size_t depth, phl_error *error)
{
    const phl_values *values = outlook->values;
    const phl_backoff *backoff = values->backoff;
    const phl_list *list = &values->lists->items[waiting->list];
    phl_value_item item = {.parent = list->parent, .left = list->left, .symbol = PHL_SYMBOL_HIDDEN};
    phl_status status = hide_parent(outlook, list->below, depth, error);
    if (status == PHL_OK && list->next != PHL_NO_LIST) {
        phl_value_item next = phl_values_item(values, list->next, &outlook->room);
        next.left = PHL_SYMBOL_HIDDEN;
        item.next_form = phl_values_form(backoff, next.parent, next.left);
        status = reserve_other(outlook, 2, item.next_form.count, error);
        if (status == PHL_OK) {
            double most = phl_values_compute(backoff, &outlook->room, &next, outlook->other[2]);
            scale_down(outlook->other[2], item.next_form.count, most);
            item.next = outlook->other[2];
        }
    }
    if (status != PHL_OK) {
        return status;
    }
    size_t states = phl_values_states(backoff, PHL_SYMBOL_HIDDEN);
    item.below = outlook->below;
    memset(outlook->joint, 0, states * sizeof *outlook->joint);
    phl_values_spread(backoff, &outlook->room, &item, outlook->arena + waiting->out, 1.0,
                      outlook->joint, NULL);
    for (size_t i = 0; i < states; i++) {
        double weight = outlook->joint[i] * outlook->below[i];
        outlook->joint[i] = weight > 0.0 ? weight : 0.0;
    }
    return PHL_OK;
}

/* ---------------------------------------------------------------------------------------------
 * All nodes
 * ------------------------------------------------------------------------------------------- */

/* Numbers of the form of a list. */
static size_t count_of(const phl_values *values, uint32_t list)
{
    return is_end(values, list) ? 0 : values->first[list + 1] - values->first[list];
}

/* Derivatives by what is below each state, as ones by the value of that list. */
static void enter_children(const phl_values *values, uint32_t symbol, const double *by_state,
                           double *out)
{
    const phl_backoff *backoff = values->backoff;
    phl_value_form form =
        phl_values_form(backoff, symbol, phl_rules_symbol(backoff->labels, PHL_SYMBOL_BEGIN));
    bool hidden = symbol == PHL_SYMBOL_HIDDEN;
    uint32_t first = hidden ? 0 : symbol, last = hidden ? backoff->labels : symbol;
    size_t at = 0;
    for (uint32_t x = first; x <= last; x++) {
        uint32_t context = backoff->begin_of[x];
        double *to = context == PHL_NO_TRIPLE ? out + at : out + phl_values_block(&form, context);
        memcpy(to, by_state + at, backoff->sizes[x] * sizeof *to);
        at += backoff->sizes[x];
    }
}

/* One list: its node's weights, if it has one, and what is outside of its parts, which take its
 * place. */
static phl_status enter(phl_outlook *outlook, struct phl_outlook_waiting waiting, size_t *depth,
                        phl_error *error)
{
    const phl_values *values = outlook->values;
    const phl_list *list = &values->lists->items[waiting.list];
    size_t own = count_of(values, waiting.list),
           states = phl_values_states(values->backoff, list->symbol);
    size_t next = count_of(values, list->next), below = count_of(values, list->below);
    phl_status status = phl_grow(&outlook->arena, &outlook->arena_capacity,
                                 waiting.out + own + next + below, sizeof *outlook->arena, error);
    if (status != PHL_OK) {
        return status;
    }
    double *out = outlook->arena + waiting.out, *parts = out + own;
    double empty = 0.0;
    bool node = list->below != PHL_NO_LIST;
    memset(parts, 0, (next + below) * sizeof *parts);
    if (node) {
        memset(outlook->joint, 0, states * sizeof *outlook->joint);
    }
    phl_value_item item = phl_values_item(values, waiting.list, &outlook->room);
    phl_values_spread(values->backoff, &outlook->room, &item, out, 1.0 / values->norm[waiting.list],
                      node ? outlook->joint : &empty, next > 0 ? parts : NULL);
    if (below > 0) {
        enter_children(values, list->symbol, outlook->joint, parts + next);
    }
    for (size_t i = 0; node && i < states; i++) {
        double weight = outlook->joint[i] * item.below[i];
        outlook->joint[i] = weight > 0.0 ? weight : 0.0;
    }
    memmove(out, parts, (next + below) * sizeof *parts);
    if (next > 0) {
        status = push(outlook, depth,
                      (struct phl_outlook_waiting){.list = list->next, .out = waiting.out}, error);
    }
    if (status == PHL_OK && below > 0) {
        status = push(outlook, depth,
                      (struct phl_outlook_waiting){.list = list->below, .out = waiting.out + next},
                      error);
    }
    return status;
}

phl_status phl_outlook_nodes(phl_outlook *outlook, size_t tree, bool without, phl_outlook_fn each,
                             void *context, phl_error *error)
{
    const phl_values *values = outlook->values;
    uint32_t root = values->lists->root[tree];
    size_t depth = 0, node = 0, count = count_of(values, root);
    phl_status status =
        phl_grow(&outlook->arena, &outlook->arena_capacity, count, sizeof *outlook->arena, error);
    if (status == PHL_OK) {
        memset(outlook->arena, 0, count * sizeof *outlook->arena);
        outlook->arena[count - 1] = 1.0; /* by the context of all roots, or by the rest */
        status = push(outlook, &depth, (struct phl_outlook_waiting){.list = root}, error);
    }
    while (status == PHL_OK && depth > 0) {
        struct phl_outlook_waiting waiting = outlook->stack[--depth];
        uint32_t symbol = values->lists->items[waiting.list].symbol;
        bool is_node = values->lists->items[waiting.list].below != PHL_NO_LIST;
        bool other = is_node && without && symbol != PHL_SYMBOL_HIDDEN;
        phl_outlook_node at = {.node = node,
                               .label = symbol,
                               .all = other || symbol == PHL_SYMBOL_HIDDEN,
                               .weights = outlook->joint};
        if (other) {
            status = weigh_without(outlook, &waiting, depth, error);
            if (status == PHL_OK) {
                status = each(&at, context, error);
            }
        }
        if (status == PHL_OK) {
            status = enter(outlook, waiting, &depth, error);
        }
        if (status == PHL_OK && is_node && !other) {
            status = each(&at, context, error);
        }
        node += is_node;
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Draws
 * ------------------------------------------------------------------------------------------- */

/* Multiply by the value of the rest, for one state of the parent. */
static void follow(const phl_values *values, uint32_t number, phl_grammar_state parent,
                   uint32_t symbol, double *weights)
{
    const phl_backoff *backoff = values->backoff;
    const phl_list *list = &values->lists->items[number];
    const double *value = values->value + values->first[number];
    phl_value_form form = phl_values_form(backoff, list->parent, list->left);
    uint32_t any = phl_rules_symbol(backoff->labels, PHL_SYMBOL_ANY);
    uint32_t seen = list->parent == any ? any : parent.symbol;
    size_t i = list->parent == any ? 0 : parent.annotation;
    size_t state = list->parent == PHL_SYMBOL_HIDDEN ? backoff->state[seen] + i : i;
    bool hidden = symbol == PHL_SYMBOL_HIDDEN;
    uint32_t first = hidden ? 0 : symbol, last = hidden ? backoff->labels : symbol;
    for (uint32_t x = first; x <= last; x++) {
        uint32_t context = phl_backoff_context(backoff, seen, x);
        const double *block = context == PHL_NO_TRIPLE ? NULL
                                                       : value + phl_values_block(&form, context) +
                                                             i * backoff->sizes[x];
        for (size_t k = 0; k < backoff->sizes[x]; k++) {
            *weights++ *= block == NULL ? value[state] : block[k];
        }
    }
}

/* Draw the state of a list's node. */
static phl_grammar_state draw_state(phl_outlook *outlook, const struct phl_outlook_waiting *waiting,
                                    phl_rng *rng)
{
    const phl_values *values = outlook->values;
    const phl_backoff *backoff = values->backoff;
    const phl_list *list = &values->lists->items[waiting->list];
    bool hidden = list->symbol == PHL_SYMBOL_HIDDEN;
    uint32_t any = phl_rules_symbol(backoff->labels, PHL_SYMBOL_ANY);
    phl_grammar_state parent = list->parent == any ? (phl_grammar_state){any, 0} : waiting->parent;
    phl_value_item item = phl_values_item(values, waiting->list, &outlook->room);
    double *weights = outlook->joint;
    if (hidden) {
        phl_backoff_labels(backoff, parent, waiting->left, weights);
    } else {
        phl_backoff_symbol(backoff, parent, waiting->left, list->symbol, weights);
    }
    size_t states = hidden ? backoff->state[backoff->labels] : backoff->sizes[list->symbol];
    if (list->next != PHL_NO_LIST) {
        follow(values, list->next, waiting->parent, list->symbol, weights);
    }
    for (size_t i = 0; i < states; i++) {
        weights[i] *= item.below[i];
    }
    size_t drawn = phl_categorical_draw(rng, weights, states);
    drawn = drawn == PHL_NO_OUTCOME ? 0 : drawn;
    uint32_t symbol = hidden ? 0 : list->symbol;
    while (hidden && backoff->state[symbol + 1] <= drawn) {
        symbol++;
    }
    return (phl_grammar_state){symbol, (uint32_t)(hidden ? drawn - backoff->state[symbol] : drawn)};
}

phl_status phl_outlook_draw(phl_outlook *outlook, size_t tree, phl_rng *rng,
                            phl_grammar_state *states, phl_error *error)
{
    const phl_values *values = outlook->values;
    uint32_t labels = values->backoff->labels;
    const phl_grammar_state begin = {phl_rules_symbol(labels, PHL_SYMBOL_BEGIN), 0};
    const phl_grammar_state empty = {phl_rules_symbol(labels, PHL_SYMBOL_EMPTY), 0};
    struct phl_outlook_waiting root = {.list = values->lists->root[tree],
                                       .parent = {phl_rules_symbol(labels, PHL_SYMBOL_ROOT), 0},
                                       .left = begin};
    size_t depth = 0, node = 0;
    phl_status status = push(outlook, &depth, root, error);
    while (status == PHL_OK && depth > 0) {
        struct phl_outlook_waiting waiting = outlook->stack[--depth];
        const phl_list *list = &values->lists->items[waiting.list];
        bool is_node = list->below != PHL_NO_LIST;
        phl_grammar_state drawn = is_node ? draw_state(outlook, &waiting, rng) : empty;
        if (is_node) {
            states[node++] = drawn;
        }
        if (!is_end(values, list->next)) {
            status = push(outlook, &depth,
                          (struct phl_outlook_waiting){
                              .list = list->next, .parent = waiting.parent, .left = drawn},
                          error);
        }
        if (status == PHL_OK && is_node && !is_end(values, list->below)) {
            status = push(
                outlook, &depth,
                (struct phl_outlook_waiting){.list = list->below, .parent = drawn, .left = begin},
                error);
        }
    }
    return status;
}
