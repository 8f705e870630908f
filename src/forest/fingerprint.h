/* fingerprint.h - 128-bit digests of subtrees: equal for equal subtrees in any two forests.
 *
 * A digest is made of the label's bytes and the (slot, digest) of each child, so it does not depend
 * on the numbering of labels or subtrees, nor on sharing.
 */
#ifndef PHL_FOREST_FINGERPRINT_H
#define PHL_FOREST_FINGERPRINT_H

#include "forest/forest.h"

typedef struct phl_fingerprint {
    uint64_t high, low;
} phl_fingerprint;

phl_fingerprint phl_fingerprint_bytes(const char *bytes, size_t length);
phl_fingerprint phl_fingerprint_step(phl_fingerprint digest, uint64_t word);

/* One digest a distinct subtree, to be released with phl_free. */
phl_status phl_fingerprint_subtrees(const phl_forest *forest, phl_fingerprint **digests,
                                    phl_error *error);

#endif
