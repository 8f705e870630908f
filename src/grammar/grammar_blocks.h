/* grammar_blocks.h - steps of EM on more trees than are looked at together: block by block.
 *
 * Stages of learning look at every k-th tree of each class where there are many different subtrees;
 * the last steps take in all, one block of trees after the other.
 */
#ifndef PHL_GRAMMAR_GRAMMAR_BLOCKS_H
#define PHL_GRAMMAR_GRAMMAR_BLOCKS_H

#include "grammar/grammar_learn.h"

/* One step on the trees of each class: the parts of the grammar, and the grammar itself, become new
 * ones.  With `count` false the counts stay, and log-likelihoods alone are filled in. */
phl_status phl_grammar_blocks_step(const phl_learn_data *data, const phl_learn_options *options,
                                   bool count, phl_grammar_part **parts, phl_grammar **grammar,
                                   phl_error *error);

#endif
