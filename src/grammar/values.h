/* values.h - the probability of every list, whatever is hidden: once for each distinct list.
 *
 * The value of a list says how probable it is, with all that is below it, given the states of the
 * parent and of the left sibling.  First come numbers by the parent's state, for lefts that never
 * occurred below that parent: there the left sibling makes no difference (backoff.h).  Then one
 * block [parent's annotations][left's] for each context that occurred.  A hidden label stands for
 * all labels; so memory grows with what occurred, not with the square of the alphabet.
 *
 * A value is scaled so that its largest number is 1; the logarithm of the scale, that of everything
 * below included, is beside it.
 */
#ifndef PHL_GRAMMAR_VALUES_H
#define PHL_GRAMMAR_VALUES_H

#include "grammar/backoff.h"
#include "grammar/lists.h"

/* Where the numbers of a value lie. */
typedef struct phl_value_form {
    size_t parents;      /* states of the parent */
    size_t count;        /* numbers in all */
    const size_t *place; /* of the blocks of contexts; NULL: there is one at most */
    size_t base;         /* place of the first */
} phl_value_form;

phl_value_form phl_values_form(const phl_backoff *backoff, uint32_t parent, uint32_t left);

/* Where the block of a context of that form begins. */
static inline size_t phl_values_block(const phl_value_form *form, uint32_t context)
{
    return form->parents + (form->place == NULL ? 0 : form->place[context] - form->base);
}

/* A list whose parts lie anywhere. */
typedef struct phl_value_item {
    uint32_t parent, left, symbol;
    const double *below; /* [states of the symbol] probability of what is below; NULL: 1 */
    const double *next;  /* value of the rest; NULL: 1 */
    phl_value_form next_form;
} phl_value_item;

/* What one thread works with. */
typedef struct phl_value_room {
    double *pairs, *gradients; /* by pairs of one parent */
    phl_both *weights;         /* by the parent's annotations */
    double *below;             /* [states] */
} phl_value_room;

phl_status phl_values_room_make(const phl_backoff *backoff, phl_value_room *room, phl_error *error);
void phl_values_room_clear(phl_value_room *room);

/* The value of an item, not scaled; returns its largest number. */
double phl_values_compute(const phl_backoff *backoff, phl_value_room *room,
                          const phl_value_item *item, double *value);

/* Derivatives: what `out`, that by the item's value, times `scale` is by its parts.  Added to
 * to_below [states of the symbol] and to_next (as the next value lies); the latter may be NULL. */
void phl_values_spread(const phl_backoff *backoff, phl_value_room *room, const phl_value_item *item,
                       const double *out, double scale, double *to_below, double *to_next);

typedef struct phl_values {
    const phl_lists *lists;     /* borrowed */
    const phl_backoff *backoff; /* borrowed */
    size_t *first;              /* [n + 1] where each value begins */
    double *value;
    double *log_scale; /* [n] */
    double *norm;      /* [n] what its own value was divided by */
} phl_values;

/* Values of all lists. */
phl_status phl_values_create(const phl_lists *lists, const phl_backoff *backoff,
                             phl_values **values, phl_error *error);
void phl_values_free(phl_values *values);

/* log p of a tree. */
double phl_values_tree(const phl_values *values, size_t tree);

/* States that a symbol, hidden or not, may have. */
size_t phl_values_states(const phl_backoff *backoff, uint32_t symbol);

/* What is below a symbol's states [states]: the value of a list of children, by the parent. */
void phl_values_children(const phl_backoff *backoff, uint32_t symbol, const double *value,
                         double *below);

/* The parts of a list; `room` holds what is below it. */
phl_value_item phl_values_item(const phl_values *values, uint32_t list, phl_value_room *room);

#endif
