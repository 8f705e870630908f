/* grow_grammar.c - whole trees drawn from a grammar; see grow_grammar.h. */
#include "task/grow_grammar.h"

#include <string.h>

#include "base/memory.h"
#include "base/sampler.h"

/* A node whose children are being drawn. */
struct phl_growing_node {
    phl_grammar_state state, left; /* its own; the last child's */
    uint32_t slot;                 /* of the last child, filled or not */
};

phl_status phl_grow_grammar_turn(phl_grow_grammar *growing, const phl_backoff *backoff,
                                 phl_error *error)
{
    if (growing->backoff == backoff) {
        return PHL_OK;
    }
    phl_free(growing->weights);
    growing->weights =
        phl_alloc(backoff->state[backoff->labels + 1] + 2, sizeof *growing->weights, error);
    growing->backoff = growing->weights == NULL ? NULL : backoff;
    return growing->weights == NULL ? PHL_ERR_MEMORY : PHL_OK;
}

void phl_grow_grammar_clear(phl_grow_grammar *growing)
{
    phl_free(growing->weights);
    phl_free(growing->stack);
    memset(growing, 0, sizeof *growing);
}

/* What comes below a parent, beside a left sibling: a label's state, an empty slot or the end. */
static phl_grammar_state draw(phl_grow_grammar *growing, phl_grammar_state parent,
                              phl_grammar_state left, phl_rng *rng)
{
    const phl_backoff *backoff = growing->backoff;
    uint32_t labels = backoff->labels;
    uint32_t empty = phl_rules_symbol(labels, PHL_SYMBOL_EMPTY);
    uint32_t stop = phl_rules_symbol(labels, PHL_SYMBOL_STOP);
    bool inner = parent.symbol != phl_rules_symbol(labels, PHL_SYMBOL_ROOT);
    if (inner && left.symbol != phl_rules_symbol(labels, PHL_SYMBOL_BEGIN) && !backoff->pair) {
        parent = (phl_grammar_state){phl_rules_symbol(labels, PHL_SYMBOL_ANY), 0};
    }
    size_t states = backoff->state[labels];
    double *weights = growing->weights;
    phl_backoff_labels(backoff, parent, left, weights);
    weights[states] = weights[states + 1] = 0.0; /* in place of the unseen label */
    if (inner) {
        phl_backoff_symbol(backoff, parent, left, empty, &weights[states]);
    }
    if (inner && left.symbol != empty) {
        phl_backoff_symbol(backoff, parent, left, stop, &weights[states + 1]);
    }
    size_t drawn = phl_categorical_draw(rng, weights, states + 2);
    if (drawn >= states) {
        return (phl_grammar_state){drawn == states ? empty : stop, 0};
    }
    uint32_t low = 0, high = labels - 1; /* the label whose states it is among */
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;
        if (backoff->state[middle] <= drawn) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return (phl_grammar_state){low, (uint32_t)(drawn - backoff->state[low])};
}

static phl_status open(phl_grow_grammar *growing, phl_builder *builder, phl_grammar_state state,
                       uint32_t slot, size_t *depth, phl_error *error)
{
    phl_grammar_state begin = {phl_rules_symbol(growing->backoff->labels, PHL_SYMBOL_BEGIN), 0};
    phl_status status =
        phl_grow(&growing->stack, &growing->capacity, *depth + 1, sizeof *growing->stack, error);
    if (status == PHL_OK) {
        status = phl_builder_open_label(builder, growing->label_of[state.symbol], slot, error);
    }
    if (status == PHL_OK) {
        growing->stack[(*depth)++] = (struct phl_growing_node){.state = state, .left = begin};
    }
    return status;
}

phl_status phl_grow_grammar_tree(phl_grow_grammar *growing, phl_builder *builder, size_t max_nodes,
                                 phl_rng *rng, size_t *size, phl_error *error)
{
    uint32_t labels = growing->backoff->labels;
    phl_grammar_state root = {phl_rules_symbol(labels, PHL_SYMBOL_ROOT), 0};
    phl_grammar_state begin = {phl_rules_symbol(labels, PHL_SYMBOL_BEGIN), 0};
    size_t depth = 0, made = 1;
    uint64_t slots = 0; /* empty ones; a tree of these alone would not end either */
    *size = 0;
    phl_status status = open(growing, builder, draw(growing, root, begin, rng), 1, &depth, error);
    while (status == PHL_OK && depth > 0) {
        struct phl_growing_node *node = &growing->stack[depth - 1];
        phl_grammar_state drawn = draw(growing, node->state, node->left, rng);
        node->left = drawn;
        node->slot++;
        if (drawn.symbol == phl_rules_symbol(labels, PHL_SYMBOL_STOP)) {
            status = phl_builder_close(builder, error);
            depth--;
        } else if (drawn.symbol == phl_rules_symbol(labels, PHL_SYMBOL_EMPTY)) {
            if (++slots > (uint64_t)max_nodes * 64) {
                return PHL_OK;
            }
        } else if (++made > max_nodes) {
            return PHL_OK;
        } else {
            status = open(growing, builder, drawn, node->slot, &depth, error);
        }
    }
    *size = made;
    return status;
}
