/* slot_deal.h - dealing the children of one pair: what slot_view.c and slot_apply.c share.
 *
 * The same portions and random numbers give the same result, whoever asks.
 */
#ifndef PHL_GIBBS_SLOT_DEAL_H
#define PHL_GIBBS_SLOT_DEAL_H

#include "gibbs/slot_view.h"

typedef enum phl_slot_way {
    PHL_SLOT_PLAIN,     /* children in at most one state of every block: nothing to deal */
    PHL_SLOT_SCATTERED, /* an inactive slot, and few children in other states than most */
    PHL_SLOT_SINGLY,    /* an inactive slot, and parents that occur few times */
    PHL_SLOT_TOGETHER,  /* by (cell, state) of the parents */
} phl_slot_way;

/* How the i-th pair is dealt.  PLAIN: view->only tells the state by block. */
phl_slot_way phl_slot_deal_way(phl_slot_view *view, const phl_state_counts *counts, size_t i,
                               const uint32_t *block, bool inactive);

/* The state that most children have. */
uint32_t phl_slot_deal_most(const int64_t *value, size_t c);

/* SCATTERED: every child in another state than `most` gets a place of its own, a unit. */
phl_status phl_slot_deal_scattered(phl_slot_view *view, const phl_state_counts *counts, size_t i,
                                   uint32_t most, phl_rng *rng, phl_error *error);

/* SINGLY: every occurrence of a parent gets a child, a unit, portion after portion. */
phl_status phl_slot_deal_singly(phl_slot_view *view, const phl_state_counts *counts, size_t i,
                                phl_rng *rng, phl_error *error);

/* TOGETHER: every entry gets children, view->dealt.  phl_slot_deal_forget must follow, also when it
 * failed. */
phl_status phl_slot_deal_together(phl_slot_view *view, const phl_state_counts *counts, size_t i,
                                  const uint32_t *block, const uint32_t *digit, phl_rng *rng,
                                  phl_error *error);
void phl_slot_deal_forget(phl_slot_view *view, size_t c);

#endif
