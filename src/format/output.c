/* output.c - a stream of bytes to a file, standard output or memory; see output.h. */
#include "format/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/memory.h"
#include "base/placing.h"
#include "base/text.h"

enum { BUFFER_SIZE = 1 << 18, ZSTD_LEVEL = 3 };

enum compression { PLAIN, GZIP, ZSTD };

struct phl_output {
    char *name; /* for messages */
    phl_placing placing;
    int file;     /* descriptor; -1 for memory */
    bool created; /* a plain file of our own, written where it stays */
    phl_text memory;

    char *buffer; /* text on its way to the compressor or the file */
    size_t used;

    enum compression compression;
    unsigned char *packed; /* compressed bytes on their way to the file */
    z_stream zlib;
    bool zlib_made;
    ZSTD_CStream *zstd;

    phl_error failure; /* the first one, if its status says so */
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

static bool has_ending(const char *text, const char *ending)
{
    size_t length = strlen(text), wanted = strlen(ending);
    return length >= wanted && strcmp(text + length - wanted, ending) == 0;
}

static phl_status start_compression(phl_output *output, const char *path, phl_error *error)
{
    if (has_ending(path, ".gz")) {
        output->zlib.zalloc = zlib_alloc;
        output->zlib.zfree = zlib_free;
        if (deflateInit2(&output->zlib, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
                         Z_DEFAULT_STRATEGY) != Z_OK) {
            return phl_raise(error, PHL_ERR_MEMORY, NULL, "not enough memory for compression");
        }
        output->zlib_made = true;
        output->compression = GZIP;
    } else if (has_ending(path, ".zst")) {
        output->zstd = ZSTD_createCStream();
        if (output->zstd == NULL || ZSTD_isError(ZSTD_initCStream(output->zstd, ZSTD_LEVEL))) {
            return phl_raise(error, PHL_ERR_MEMORY, NULL, "not enough memory for compression");
        }
        output->compression = ZSTD;
    }
    if (output->compression != PLAIN) {
        output->packed = phl_alloc(BUFFER_SIZE, 1, error);
        return output->packed == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    return PHL_OK;
}

static phl_status make(const char *name, phl_output **output, phl_error *error)
{
    phl_output *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->file = made->placing.file = -1;
    made->name = phl_copy_text(name, strlen(name), error);
    made->buffer = made->name == NULL ? NULL : phl_alloc(BUFFER_SIZE, 1, error);
    if (made->buffer == NULL) {
        phl_output_close(made);
        return PHL_ERR_MEMORY;
    }
    *output = made;
    return PHL_OK;
}

phl_status phl_output_open_memory(phl_output **output, phl_error *error)
{
    return make("<memory>", output, error);
}

phl_status phl_output_open(const char *path, phl_output **output, phl_error *error)
{
    bool standard = strcmp(path, "-") == 0;
    phl_output *made = NULL;
    phl_status status = make(standard ? "<stdout>" : path, &made, error);
    if (status != PHL_OK) {
        return status;
    }
    if (standard) {
        made->file = STDOUT_FILENO;
    } else {
        status = phl_placing_open(&made->placing, made->name, error);
        made->file = made->placing.file;
        if (status == PHL_OK) {
            status = start_compression(made, path, error);
        }
    }
    if (status != PHL_OK) {
        phl_output_close(made);
        return status;
    }
    *output = made;
    return PHL_OK;
}

phl_status phl_output_create(const char *path, const char *name, phl_output **output,
                             phl_error *error)
{
    phl_output *made = NULL;
    phl_status status = make(name, &made, error);
    if (status != PHL_OK) {
        return status;
    }
    made->created = true;
    made->file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (made->file < 0) {
        status = phl_raise_errno(error, PHL_ERR_WRITE, errno, name, "cannot write");
        phl_output_close(made);
        return status;
    }
    *output = made;
    return PHL_OK;
}

/* To the file or memory itself. */
static phl_status write_raw(phl_output *output, const char *bytes, size_t length, phl_error *error)
{
    if (output->file < 0) {
        return phl_text_append(&output->memory, bytes, length, error);
    }
    while (length > 0) {
        ssize_t count = write(output->file, bytes, length);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return phl_raise_errno(error, PHL_ERR_WRITE, errno, output->name, "cannot write");
        }
        bytes += count;
        length -= (size_t)count;
    }
    return PHL_OK;
}

static phl_status deflate_buffer(phl_output *output, bool last, phl_error *error)
{
    z_stream *stream = &output->zlib;
    stream->next_in = (unsigned char *)output->buffer;
    stream->avail_in = (unsigned)output->used;
    int code;
    do {
        stream->next_out = output->packed;
        stream->avail_out = BUFFER_SIZE;
        code = deflate(stream, last ? Z_FINISH : Z_NO_FLUSH);
        PHL_CHECK_BUG(code != Z_STREAM_ERROR, error);
        phl_status status =
            write_raw(output, (const char *)output->packed, BUFFER_SIZE - stream->avail_out, error);
        if (status != PHL_OK) {
            return status;
        }
    } while (stream->avail_out == 0 || (last && code != Z_STREAM_END));
    return PHL_OK;
}

static phl_status zstd_buffer(phl_output *output, bool last, phl_error *error)
{
    ZSTD_inBuffer in = {output->buffer, output->used, 0};
    size_t left;
    do {
        ZSTD_outBuffer out = {output->packed, BUFFER_SIZE, 0};
        left = ZSTD_compressStream2(output->zstd, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left)) {
            return phl_raise(error, PHL_ERR_MEMORY, NULL, "zstd compression failed: %s",
                             ZSTD_getErrorName(left));
        }
        phl_status status = write_raw(output, (const char *)output->packed, out.pos, error);
        if (status != PHL_OK) {
            return status;
        }
    } while (in.pos < in.size || (last && left != 0));
    return PHL_OK;
}

static phl_status flush(phl_output *output, bool last, phl_error *error)
{
    phl_status status = output->compression == GZIP ? deflate_buffer(output, last, error)
                        : output->compression == ZSTD
                            ? zstd_buffer(output, last, error)
                            : write_raw(output, output->buffer, output->used, error);
    output->used = status == PHL_OK ? 0 : BUFFER_SIZE; /* full for ever: nothing more is taken */
    return status;
}

void phl_output_write(phl_output *output, const char *bytes, size_t length)
{
    while (length > BUFFER_SIZE - output->used) {
        if (output->failure.status != PHL_OK) {
            return;
        }
        size_t part = BUFFER_SIZE - output->used;
        memcpy(output->buffer + output->used, bytes, part);
        output->used += part;
        bytes += part;
        length -= part;
        output->failure.status = flush(output, false, &output->failure);
    }
    memcpy(output->buffer + output->used, bytes, length);
    output->used += length;
}

void phl_output_string(phl_output *output, const char *string)
{
    phl_output_write(output, string, strlen(string));
}

void phl_output_repeat(phl_output *output, const char *string, size_t times)
{
    size_t length = times > 0 ? strlen(string) : 0;
    for (size_t i = 0; i < times; i++) {
        phl_output_write(output, string, length);
    }
}

void phl_output_json_string(phl_output *output, const char *bytes, size_t length)
{
    char escape[PHL_ESCAPE_SIZE];
    size_t plain = 0, step; /* plain: bytes not written yet begin here */
    phl_output_write(output, "\"", 1);
    for (size_t at = 0; at < length; at += step) {
        step = 1;
        if (phl_text_is_plain(bytes[at])) {
            continue;
        }
        size_t escaped = phl_text_escape_json(bytes + at, length - at, escape, &step);
        if (escaped > 0) {
            phl_output_write(output, bytes + plain, at - plain);
            phl_output_write(output, escape, escaped);
            plain = at + step;
        }
    }
    phl_output_write(output, bytes + plain, length - plain);
    phl_output_write(output, "\"", 1);
}

void phl_output_number(phl_output *output, uint64_t number)
{
    char digits[24];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    phl_output_write(output, digits + at, sizeof digits - at);
}

phl_status phl_output_check(const phl_output *output, phl_error *error)
{
    if (output->failure.status != PHL_OK && error != NULL) {
        *error = output->failure;
    }
    return output->failure.status;
}

phl_status phl_output_commit(phl_output *output, phl_error *error)
{
    phl_status status = phl_output_check(output, error);
    if (status == PHL_OK) {
        status = flush(output, true, error);
    }
    if (status != PHL_OK || output->file < 0) {
        return status;
    }
    if (!output->created) {
        return phl_placing_commit(&output->placing, PHL_PLACING_REPLACES, error);
    }
    int closed = close(output->file);
    output->file = -1;
    return closed == 0 ? PHL_OK
                       : phl_raise_errno(error, PHL_ERR_WRITE, errno, output->name, "cannot write");
}

char *phl_output_take(phl_output *output, size_t *length)
{
    char *bytes = output->memory.bytes;
    *length = output->memory.length;
    memset(&output->memory, 0, sizeof output->memory);
    return bytes;
}

void phl_output_close(phl_output *output)
{
    if (output == NULL) {
        return;
    }
    if (output->created && output->file >= 0) {
        (void)close(output->file);
    }
    phl_placing_close(&output->placing);
    if (output->zlib_made) {
        (void)deflateEnd(&output->zlib);
    }
    (void)ZSTD_freeCStream(output->zstd);
    phl_text_clear(&output->memory);
    phl_free(output->packed);
    phl_free(output->buffer);
    phl_free(output->name);
    phl_free(output);
}
