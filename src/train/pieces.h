/* pieces.h - a training in pieces: which of its tasks are done here, and which elsewhere.
 *
 * A task draws from a random stream of its own, so that it comes out the same, to the bit, wherever
 * it is done.  A piece is a training that does a part of the tasks; its run says which by the fact
 * "piece", a list of ranges such as "0-3,8" over the numbers class * chains + chain.
 */
#ifndef PHL_TRAIN_PIECES_H
#define PHL_TRAIN_PIECES_H

#include "train/training.h"

#define PHL_KEY_PIECE "piece"

/* What the options ask for: tasks that are not to be done are marked, and the run records the
 * others.  Nothing happens when the options ask for all of them. */
phl_status phl_pieces_choose(phl_training *training, phl_error *error);

/* The same from what another run of the training recorded; NULL: all tasks. */
phl_status phl_pieces_restore(phl_training *training, const char *recorded, phl_error *error);

/* Into own [n_tasks] the tasks that a run recorded.  PHL_ERR_SYNTAX when that is no such list. */
phl_status phl_pieces_read(const char *recorded, size_t n_tasks, bool *own, phl_error *error);

/* Deal n things among pieces that cost about the same, largest first, each to the piece that has
 * least so far: into piece_of [n] numbers from 0. */
phl_status phl_pieces_deal(const double *cost, size_t n, size_t pieces, size_t *piece_of,
                           phl_error *error);

/* Chains or restarts that resolved options ask for. */
static inline size_t phl_pieces_chains(const phl_train_options *options)
{
    return options->learner == PHL_LEARNER_EM ? options->restarts : options->chains;
}

#endif
