/* frame.c - the bytes of an array, compressed; see frame.h. */
#include "store/frame.h"

#include <string.h>
#include <zstd.h>

#include "base/memory.h"

enum {
    LEVEL = 3,       /* more takes much longer and gains two percent */
    WINDOW_LOG = 21, /* the widest window of that level: 2 MiB */
    SKIPPABLE = 8    /* bytes of the header of a skippable frame */
};

struct phl_unframer {
    ZSTD_DStream *stream;
};

static void put_little_endian(unsigned char *bytes, uint32_t word)
{
    for (unsigned i = 0; i < 4; i++) {
        bytes[i] = (unsigned char)(word >> (8 * i));
    }
}

phl_status phl_frame_pack(const unsigned char *bytes, size_t length, unsigned char **frame,
                          size_t *frame_length, phl_error *error)
{
    size_t room = ZSTD_compressBound(length), least = length / PHL_FRAME_RATIO + 1;
    *frame = NULL;
    *frame_length = 0;
    if (length < PHL_FRAME_LEAST) {
        return PHL_OK;
    }
    unsigned char *made = phl_alloc(room + SKIPPABLE + least, 1, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    size_t used = ZSTD_compress(made, room, bytes, length, LEVEL);
    if (ZSTD_isError(used) || used > length - length / 16) {
        phl_free(made); /* without memory to compress in, bytes are stored as they are */
        return PHL_OK;
    }
    if (used < least) {
        size_t rest = least - used < SKIPPABLE ? 0 : least - used - SKIPPABLE;
        put_little_endian(made + used, ZSTD_MAGIC_SKIPPABLE_START);
        put_little_endian(made + used + 4, (uint32_t)rest);
        memset(made + used + SKIPPABLE, 0, rest);
        used += SKIPPABLE + rest;
    }
    *frame = made;
    *frame_length = used;
    return PHL_OK;
}

phl_status phl_frame_unpack_create(phl_unframer **unframer, phl_error *error)
{
    phl_unframer *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->stream = ZSTD_createDStream();
    if (made->stream == NULL ||
        ZSTD_isError(ZSTD_DCtx_setParameter(made->stream, ZSTD_d_windowLogMax, WINDOW_LOG))) {
        phl_frame_unpack_free(made);
        return phl_raise(error, PHL_ERR_MEMORY, "use a machine with more memory",
                         "not enough memory to unpack the run file");
    }
    *unframer = made;
    return PHL_OK;
}

void phl_frame_unpack_free(phl_unframer *unframer)
{
    if (unframer != NULL) {
        (void)ZSTD_freeDStream(unframer->stream);
        phl_free(unframer);
    }
}

void phl_frame_unpack_begin(phl_unframer *unframer)
{
    (void)ZSTD_DCtx_reset(unframer->stream, ZSTD_reset_session_only);
}

bool phl_frame_unpack_take(phl_unframer *unframer, const unsigned char *in, size_t in_length,
                           size_t *used, unsigned char *out, size_t out_length, size_t *made,
                           bool *ended)
{
    ZSTD_inBuffer from = {in, in_length, 0};
    ZSTD_outBuffer to = {out, out_length, 0};
    size_t code = ZSTD_decompressStream(unframer->stream, &to, &from);
    *used = from.pos;
    *made = to.pos;
    *ended = code == 0;
    return !ZSTD_isError(code);
}
