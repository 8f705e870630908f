/* frame.h - the bytes of an array, compressed: one zstd frame.
 *
 * What is unpacked is known in length beforehand, and is never more than PHL_FRAME_RATIO times what
 * is stored, so that opening a file costs memory and time in proportion to its size.  A frame that
 * would be smaller is filled up with a skippable one, which every zstd reader passes over.
 */
#ifndef PHL_STORE_FRAME_H
#define PHL_STORE_FRAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define PHL_FRAME_RATIO 32
#define PHL_FRAME_LEAST 128 /* bytes worth compressing; fewer are stored as they are */

/* *frame (to be released with phl_free) and its length, or NULL where it would save next to
 * nothing.  The same bytes give the same frame, with one version of libzstd. */
phl_status phl_frame_pack(const unsigned char *bytes, size_t length, unsigned char **frame,
                          size_t *frame_length, phl_error *error);

typedef struct phl_unframer phl_unframer;

phl_status phl_frame_unpack_create(phl_unframer **unframer, phl_error *error);
void phl_frame_unpack_free(phl_unframer *unframer);
/* Get ready for another frame. */
void phl_frame_unpack_begin(phl_unframer *unframer);
/* Unpack from `in`, of which *used bytes are taken, as much as is there and fits into `out`: *made
 * bytes.  *ended: the frame ends here.  False: this is no frame. */
bool phl_frame_unpack_take(phl_unframer *unframer, const unsigned char *in, size_t in_length,
                           size_t *used, unsigned char *out, size_t out_length, size_t *made,
                           bool *ended);

#endif
