/* fingerprint.c - digests of subtrees and the fingerprint of a forest; see fingerprint.h. */
#include "forest/fingerprint.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

static const uint64_t HIGH_SEED = 0x243f6a8885a308d3u; /* digits of pi */
static const uint64_t LOW_SEED = 0x13198a2e03707344u;

/* Markers that keep the parts of a digest apart. */
enum { MARK_UNKNOWN = 1, MARK_LABEL = 2, MARK_NO_CLASS = 3, MARK_CLASS = 4, MARK_TREE = 5 };

phl_fingerprint phl_fingerprint_bytes(const char *bytes, size_t length)
{
    phl_fingerprint digest = {phl_hash_bytes(bytes, length, HIGH_SEED),
                              phl_hash_bytes(bytes, length, LOW_SEED)};
    return digest;
}

/* Two lanes with different constants; each also takes in the other, so that a collision needs both
 * lanes to collide at once. */
phl_fingerprint phl_fingerprint_step(phl_fingerprint digest, uint64_t word)
{
    phl_fingerprint next = {
        phl_mix(digest.high ^ HIGH_SEED, word ^ digest.low ^ 0xa4093822299f31d0u),
        phl_mix(digest.low ^ LOW_SEED, word ^ 0x082efa98ec4e6c89u) + digest.high};
    return next;
}

static phl_fingerprint join(phl_fingerprint digest, phl_fingerprint part)
{
    return phl_fingerprint_step(phl_fingerprint_step(digest, part.high), part.low);
}

phl_status phl_fingerprint_subtrees(const phl_forest *forest, phl_fingerprint **digests,
                                    phl_error *error)
{
    phl_fingerprint *names = phl_alloc(forest->labels.count, sizeof *names, error);
    phl_fingerprint *made =
        names == NULL ? NULL : phl_alloc(forest->n_subtrees, sizeof *made, error);
    if (made == NULL) {
        phl_free(names);
        return PHL_ERR_MEMORY;
    }
    for (size_t i = 0; i < forest->labels.count; i++) {
        names[i] = phl_fingerprint_bytes(phl_alphabet_name(&forest->labels, i),
                                         phl_alphabet_length(&forest->labels, i));
    }
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        /* Not the seeds themselves: they would cancel in the first step. */
        phl_fingerprint digest = {0x452821e638d01377u, 0xbe5466cf34e90c6cu};
        int32_t label = forest->label[s];
        digest = phl_fingerprint_step(digest, label < 0 ? MARK_UNKNOWN : MARK_LABEL);
        if (label >= 0) {
            digest = join(digest, names[label]);
        }
        digest = phl_fingerprint_step(digest, forest->leaf_slot[s]);
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            digest = phl_fingerprint_step(digest, forest->links[k].slot);
            digest = join(digest, made[forest->links[k].child]);
        }
        made[s] = digest;
    }
    phl_free(names);
    *digests = made;
    return PHL_OK;
}

phl_status phl_forest_fingerprint(const phl_forest *forest, bool ordered, char out[33],
                                  phl_error *error)
{
    phl_fingerprint *digests = NULL;
    phl_status status = phl_fingerprint_subtrees(forest, &digests, error);
    if (status != PHL_OK) {
        return status;
    }
    phl_fingerprint sum = {forest->n_trees, ordered};
    for (size_t tree = 0; tree < forest->n_trees; tree++) {
        phl_fingerprint digest = phl_fingerprint_step(digests[forest->tree_root[tree]], MARK_TREE);
        int32_t class_number = forest->tree_class[tree];
        digest = phl_fingerprint_step(digest, class_number < 0 ? MARK_NO_CLASS : MARK_CLASS);
        if (class_number >= 0) {
            size_t number = (size_t)class_number;
            digest =
                join(digest, phl_fingerprint_bytes(phl_alphabet_name(&forest->classes, number),
                                                   phl_alphabet_length(&forest->classes, number)));
        }
        double weight = phl_tree_weight(forest, tree);
        uint64_t bits;
        memcpy(&bits, &weight, sizeof bits);
        digest = phl_fingerprint_step(digest, bits);
        if (ordered) {
            sum = join(sum, digest);
        } else {
            sum.high += digest.high;
            sum.low += digest.low;
        }
    }
    sum = phl_fingerprint_step(sum, forest->n_trees);
    (void)snprintf(out, 33, "%016llx%016llx", (unsigned long long)sum.high,
                   (unsigned long long)sum.low);
    phl_free(digests);
    return PHL_OK;
}
