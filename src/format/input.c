/* input.c - a stream of bytes from a file, standard input or memory; see input.h.
 *
 * Three stages: raw bytes (file descriptor or memory) into `raw`, decompression into the caller's
 * buffer, and a small stash of text that was peeked at.
 */
#include "format/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/memory.h"

enum { RAW_SIZE = 1 << 18, PEEK_SIZE = 1 << 16 };
static const uint64_t RATIO_FREE_BYTES = (uint64_t)64 << 20;

enum compression { PLAIN, GZIP, ZSTD };

struct phl_input {
    char *name;
    int file; /* descriptor, or -1 */
    const unsigned char *memory;
    size_t memory_size, memory_used;
    uint64_t max_ratio;

    unsigned char *raw;
    size_t raw_begin, raw_end;
    bool raw_ended;
    uint64_t raw_bytes; /* read so far */

    enum compression compression;
    z_stream zlib;
    bool zlib_made;
    ZSTD_DStream *zstd;
    bool frame_open;     /* inside a compressed member: the end of the file would be a cut */
    uint64_t text_bytes; /* decompressed so far */

    char *peeked;
    size_t peeked_begin, peeked_end;
    uint64_t handed_out;
};

static void *zlib_alloc(void *context, unsigned count, unsigned size)
{
    (void)context;
    return phl_raw_malloc((size_t)count * size);
}

static void zlib_free(void *context, void *memory)
{
    (void)context;
    phl_free(memory);
}

/* Read raw bytes after what is there; room must be left. */
static phl_status fill_raw(phl_input *input, phl_error *error)
{
    if (input->raw_begin == input->raw_end) {
        input->raw_begin = input->raw_end = 0;
    }
    size_t room = RAW_SIZE - input->raw_end;
    size_t got = 0;
    if (input->file < 0) {
        size_t left = input->memory_size - input->memory_used;
        got = left < room ? left : room;
        if (got > 0) {
            memcpy(input->raw + input->raw_end, input->memory + input->memory_used, got);
        }
        input->memory_used += got;
    } else {
        ssize_t count;
        do {
            count = read(input->file, input->raw + input->raw_end, room);
        } while (count < 0 && errno == EINTR);
        if (count < 0) {
            return phl_raise_errno(error, errno == EISDIR ? PHL_ERR_OPEN : PHL_ERR_READ, errno,
                                   input->name, "cannot read");
        }
        got = (size_t)count;
    }
    input->raw_end += got;
    input->raw_bytes += got;
    input->raw_ended = got == 0;
    return PHL_OK;
}

static phl_status raise_memory(phl_error *error)
{
    return phl_raise(error, PHL_ERR_MEMORY, NULL, "not enough memory for decompression");
}

static phl_status detect_compression(phl_input *input, phl_error *error)
{
    while (input->raw_end - input->raw_begin < 4 && !input->raw_ended) {
        phl_status status = fill_raw(input, error);
        if (status != PHL_OK) {
            return status;
        }
    }
    const unsigned char *bytes = input->raw + input->raw_begin;
    size_t length = input->raw_end - input->raw_begin;
    if (length >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b) {
        input->compression = GZIP;
        input->zlib.zalloc = zlib_alloc;
        input->zlib.zfree = zlib_free;
        int code = inflateInit2(&input->zlib, 15 + 16);
        if (code != Z_OK) {
            return raise_memory(error);
        }
        input->zlib_made = true;
    } else if (length >= 4 && memcmp(bytes, "\x28\xb5\x2f\xfd", 4) == 0) {
        input->compression = ZSTD;
        input->zstd = ZSTD_createDStream();
        if (input->zstd == NULL) {
            return raise_memory(error);
        }
        /* The widest window there is (zstd --long=31): memory for it is touched as text comes out,
         * of which there is no more than the ratio allows. */
        ZSTD_bounds window = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax);
        size_t code = ZSTD_DCtx_setParameter(input->zstd, ZSTD_d_windowLogMax, window.upperBound);
        PHL_CHECK_BUG(!ZSTD_isError(window.error) && !ZSTD_isError(code), error);
    }
    return PHL_OK;
}

static phl_status make(const char *name, uint64_t max_ratio, phl_input **input, phl_error *error)
{
    phl_input *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->file = -1;
    made->max_ratio = max_ratio;
    made->name = phl_copy_text(name, strlen(name), error);
    made->raw = made->name == NULL ? NULL : phl_alloc(RAW_SIZE, 1, error);
    if (made->raw == NULL) {
        phl_input_close(made);
        return PHL_ERR_MEMORY;
    }
    *input = made;
    return PHL_OK;
}

phl_status phl_input_open(const char *path, uint64_t max_ratio, phl_input **input, phl_error *error)
{
    bool standard = strcmp(path, "-") == 0;
    phl_input *made = NULL;
    phl_status status = make(standard ? "<stdin>" : path, max_ratio, &made, error);
    if (status != PHL_OK) {
        return status;
    }
    made->file = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (made->file < 0) {
        status = phl_raise_errno(error, PHL_ERR_OPEN, errno, path, "cannot open");
    } else {
        status = detect_compression(made, error);
    }
    if (status != PHL_OK) {
        phl_input_close(made);
        return status;
    }
    *input = made;
    return PHL_OK;
}

phl_status phl_input_open_memory(const void *bytes, size_t size, const char *name,
                                 uint64_t max_ratio, phl_input **input, phl_error *error)
{
    phl_input *made = NULL;
    phl_status status = make(name, max_ratio, &made, error);
    if (status != PHL_OK) {
        return status;
    }
    made->memory = bytes;
    made->memory_size = size;
    status = detect_compression(made, error);
    if (status != PHL_OK) {
        phl_input_close(made);
        return status;
    }
    *input = made;
    return PHL_OK;
}

void phl_input_close(phl_input *input)
{
    if (input == NULL) {
        return;
    }
    if (input->file >= 0 && input->file != STDIN_FILENO) {
        (void)close(input->file);
    }
    if (input->zlib_made) {
        (void)inflateEnd(&input->zlib);
    }
    (void)ZSTD_freeDStream(input->zstd);
    phl_free(input->raw);
    phl_free(input->peeked);
    phl_free(input->name);
    phl_free(input);
}

const char *phl_input_name(const phl_input *input)
{
    return input->name;
}

uint64_t phl_input_bytes(const phl_input *input)
{
    return input->handed_out;
}

static phl_status raise_damaged(const phl_input *input, const char *kind, const char *what,
                                phl_error *error)
{
    phl_position position = {input->name, 0, 0};
    return phl_raise_at(error, PHL_ERR_SYNTAX, position, "make or fetch the file again",
                        "the %s data are %s", kind, what);
}

/* One step of decompression from raw into buffer; *got may be 0 without being at the end. */
static phl_status inflate_some(phl_input *input, unsigned char *buffer, size_t size, size_t *got,
                               phl_error *error)
{
    z_stream *stream = &input->zlib;
    if (!input->frame_open && inflateReset(stream) != Z_OK) {
        return phl_raise(error, PHL_ERR_INTERNAL, NULL, "zlib refused to start");
    }
    input->frame_open = true;
    stream->next_in = input->raw + input->raw_begin;
    stream->avail_in = (unsigned)(input->raw_end - input->raw_begin);
    stream->next_out = buffer;
    stream->avail_out = (unsigned)size;
    int code = inflate(stream, Z_NO_FLUSH);
    input->raw_begin = input->raw_end - stream->avail_in;
    *got = size - stream->avail_out;
    if (code == Z_STREAM_END) {
        input->frame_open = false; /* another member may follow */
    } else if (code == Z_MEM_ERROR) {
        return raise_memory(error);
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
        return raise_damaged(input, "gzip", "damaged", error);
    }
    return PHL_OK;
}

static phl_status unzstd_some(phl_input *input, unsigned char *buffer, size_t size, size_t *got,
                              phl_error *error)
{
    ZSTD_inBuffer in = {input->raw + input->raw_begin, input->raw_end - input->raw_begin, 0};
    ZSTD_outBuffer out = {buffer, size, 0};
    size_t code = ZSTD_decompressStream(input->zstd, &out, &in);
    input->raw_begin += in.pos;
    *got = out.pos;
    if (ZSTD_isError(code)) {
        phl_position position = {input->name, 0, 0};
        switch (ZSTD_getErrorCode(code)) {
        case ZSTD_error_memory_allocation:
            return raise_memory(error);
        case ZSTD_error_frameParameter_windowTooLarge:
            return phl_raise_at(error, PHL_ERR_LIMIT, position,
                                "compress it with a window of at most 2 GiB",
                                "the zstd data need a wider window than this machine can give");
        case ZSTD_error_dictionary_wrong:
            return phl_raise_at(error, PHL_ERR_FORMAT, position, "compress it without one",
                                "the zstd data need a dictionary, which is not part of the file");
        default:
            return raise_damaged(input, "zstd", "damaged", error);
        }
    }
    input->frame_open = code != 0;
    return PHL_OK;
}

static phl_status check_ratio(const phl_input *input, phl_error *error)
{
    if (input->text_bytes > RATIO_FREE_BYTES &&
        input->text_bytes / input->max_ratio > input->raw_bytes) {
        phl_position position = {input->name, 0, 0};
        return phl_raise_at(error, PHL_ERR_LIMIT, position,
                            "raise the cap with " PHL_OPTION_TO("read.max_ratio",
                                                                "") " if the file is to be trusted",
                            "decompresses to more than %llu times its size",
                            (unsigned long long)input->max_ratio);
    }
    return PHL_OK;
}

/* The next bytes of text, whatever the compression. */
static phl_status read_text(phl_input *input, unsigned char *buffer, size_t size, size_t *got,
                            phl_error *error)
{
    phl_status status = PHL_OK;
    *got = 0;
    if (size > (size_t)1 << 30) {
        size = (size_t)1 << 30; /* zlib counts in unsigned */
    }
    while (status == PHL_OK && *got == 0) {
        if (input->raw_begin == input->raw_end) {
            if (!input->raw_ended) {
                status = fill_raw(input, error);
            }
            if (status != PHL_OK) {
                return status;
            }
            if (input->raw_begin == input->raw_end && input->compression != PLAIN &&
                input->frame_open && input->raw_ended) {
                /* The decoder may still hold text; if not, the file is cut. */
                status = input->compression == GZIP ? inflate_some(input, buffer, size, got, error)
                                                    : unzstd_some(input, buffer, size, got, error);
                if (status == PHL_OK && *got == 0 && input->frame_open) {
                    return raise_damaged(input, input->compression == GZIP ? "gzip" : "zstd",
                                         "cut short", error);
                }
                if (status != PHL_OK || *got > 0) {
                    break;
                }
            }
            if (input->raw_begin == input->raw_end && input->raw_ended) {
                return PHL_OK;
            }
        }
        if (input->compression == PLAIN) {
            size_t left = input->raw_end - input->raw_begin;
            *got = left < size ? left : size;
            memcpy(buffer, input->raw + input->raw_begin, *got);
            input->raw_begin += *got;
        } else if (input->compression == GZIP) {
            status = inflate_some(input, buffer, size, got, error);
        } else {
            status = unzstd_some(input, buffer, size, got, error);
        }
    }
    if (status == PHL_OK && input->compression != PLAIN) {
        input->text_bytes += *got;
        status = check_ratio(input, error);
    }
    return status;
}

phl_status phl_input_peek(phl_input *input, const char **bytes, size_t *length, phl_error *error)
{
    if (input->peeked == NULL) {
        input->peeked = phl_alloc(PEEK_SIZE, 1, error);
        if (input->peeked == NULL) {
            return PHL_ERR_MEMORY;
        }
        size_t got = 1;
        while (got > 0 && input->peeked_end < PEEK_SIZE) {
            phl_status status = read_text(input, (unsigned char *)input->peeked + input->peeked_end,
                                          PEEK_SIZE - input->peeked_end, &got, error);
            if (status != PHL_OK) {
                return status;
            }
            input->peeked_end += got;
        }
    }
    *bytes = input->peeked + input->peeked_begin;
    *length = input->peeked_end - input->peeked_begin;
    return PHL_OK;
}

phl_status phl_input_read(phl_input *input, void *buffer, size_t size, size_t *got,
                          phl_error *error)
{
    phl_status status = PHL_OK;
    size_t left = input->peeked_end - input->peeked_begin;
    if (left > 0) {
        *got = left < size ? left : size;
        memcpy(buffer, input->peeked + input->peeked_begin, *got);
        input->peeked_begin += *got;
    } else {
        status = read_text(input, buffer, size, got, error);
    }
    input->handed_out += *got;
    return status;
}
