/* outlook.h - a tree under one part of a grammar, node by node: which states its nodes may have
 * given all that is known of it, and draws of them.
 *
 * What is outside of a node's list depends on the tree; it is carried down from the root, so room
 * is needed for one path, not for the tree.
 */
#ifndef PHL_GRAMMAR_OUTLOOK_H
#define PHL_GRAMMAR_OUTLOOK_H

#include "base/rng.h"
#include "grammar/values.h"

typedef struct phl_outlook {
    const phl_values *values;   /* borrowed; see phl_outlook_turn */
    const phl_backoff *backoff; /* that the room is made for; borrowed */
    phl_value_room room;
    double *arena; /* derivatives by the values of the lists that wait */
    size_t arena_capacity;
    struct phl_outlook_waiting *stack;
    size_t stack_capacity;
    double *below, *joint; /* [states] */
    double *other[3];      /* values with another label hidden */
    size_t other_capacity[3];
} phl_outlook;

/* One node. */
typedef struct phl_outlook_node {
    size_t node;           /* its number */
    uint32_t label;        /* its symbol in the tree, PHL_SYMBOL_HIDDEN if that is not known */
    bool all;              /* weights are of the states of all labels, else of its own */
    const double *weights; /* up to a factor: p of each state given all that is known */
} phl_outlook_node;

typedef phl_status (*phl_outlook_fn)(const phl_outlook_node *node, void *context, phl_error *error);

phl_status phl_outlook_create(const phl_values *values, phl_outlook **outlook, phl_error *error);
void phl_outlook_free(phl_outlook *outlook);

/* Use other values of the same sizes, or of others: the room is made again where that needs it. */
phl_status phl_outlook_turn(phl_outlook *outlook, const phl_values *values, phl_error *error);

/* All nodes in pre-order.  without: as if the label of each node, one at a time, were not known.
 * The tree has probability above 0. */
phl_status phl_outlook_nodes(phl_outlook *outlook, size_t tree, bool without, phl_outlook_fn each,
                             void *context, phl_error *error);

/* Draw the states [n] of all nodes together, in pre-order, given the known labels; a hidden label
 * is never the unseen one. */
phl_status phl_outlook_draw(phl_outlook *outlook, size_t tree, phl_rng *rng,
                            phl_grammar_state *states, phl_error *error);

#endif
