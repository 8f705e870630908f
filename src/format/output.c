/* output.c - a stream of bytes to a file, standard output or memory; see output.h. */
#include "format/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/memory.h"
#include "base/text.h"

enum { BUFFER_SIZE = 1 << 18, ZSTD_LEVEL = 3 };

enum compression { PLAIN, GZIP, ZSTD };

struct phl_output {
    char *name;      /* for messages */
    char *target;    /* final path; NULL when written directly */
    char *temporary; /* path being written; NULL once in place */
    int file;        /* descriptor; -1 for memory */
    bool created;    /* a plain file of our own, written in place */
    phl_text memory;

    char *buffer; /* text on its way to the compressor or the file */
    size_t used;

    enum compression compression;
    unsigned char *packed; /* compressed bytes on their way to the file */
    z_stream zlib;
    bool zlib_made;
    ZSTD_CStream *zstd;
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

/* Where the bytes go in the end: behind symbolic links, and NULL if the path is no regular file. */
static phl_status find_target(const char *path, char **target, mode_t *mode, phl_error *error)
{
    struct stat info;
    *mode = 0;
    *target = NULL;
    if (stat(path, &info) != 0) {
        *target = phl_copy_text(path, strlen(path), error);
        return *target == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    if (S_ISDIR(info.st_mode)) {
        phl_position position = {path, 0, 0};
        return phl_raise_at(error, PHL_ERR_WRITE, position, "give the name of a file",
                            "cannot write: it is a folder");
    }
    if (S_ISREG(info.st_mode)) {
        *mode = info.st_mode & 07777;
        char *real = realpath(path, NULL);
        if (real == NULL) {
            return phl_raise_errno(error, PHL_ERR_WRITE, errno, path, "cannot write");
        }
        *target = real;
    }
    return PHL_OK;
}

/* A new file beside the target: same folder, so that it can be renamed into place. */
static phl_status open_temporary(phl_output *output, mode_t mode, phl_error *error)
{
    size_t size = strlen(output->target) + 48;
    output->temporary = phl_alloc(size, 1, error);
    if (output->temporary == NULL) {
        return PHL_ERR_MEMORY;
    }
    const char *slash = strrchr(output->target, '/');
    int folder = slash == NULL ? 0 : (int)(slash - output->target + 1);
    const char *name = output->target + folder;
    for (unsigned attempt = 0; attempt < 1000; attempt++) {
        (void)snprintf(output->temporary, size, "%.*s.%.200s.%ld-%u.tmp", folder, output->target,
                       name, (long)getpid(), attempt);
        output->file = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (output->file >= 0) {
            if (mode != 0) {
                (void)fchmod(output->file, mode); /* keep the old file's permissions */
            }
            return PHL_OK;
        }
        if (errno != EEXIST) {
            break;
        }
    }
    int cause = errno;
    phl_free(output->temporary);
    output->temporary = NULL;
    return phl_raise_errno(error, PHL_ERR_WRITE, cause, output->name, "cannot write");
}

static phl_status make(const char *name, phl_output **output, phl_error *error)
{
    phl_output *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->file = -1;
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
        mode_t mode = 0;
        status = find_target(path, &made->target, &mode, error);
        if (status == PHL_OK && made->target != NULL) {
            status = open_temporary(made, mode, error);
        } else if (status == PHL_OK) {
            made->file = open(path, O_WRONLY | O_CLOEXEC);
            if (made->file < 0) {
                status = phl_raise_errno(error, PHL_ERR_WRITE, errno, path, "cannot write");
            }
        }
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

phl_status phl_output_create(const char *path, phl_output **output, phl_error *error)
{
    phl_output *made = NULL;
    phl_status status = make(path, &made, error);
    if (status != PHL_OK) {
        return status;
    }
    made->created = true;
    made->file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (made->file < 0) {
        status = phl_raise_errno(error, PHL_ERR_WRITE, errno, path, "cannot write");
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
    output->used = 0;
    return status;
}

phl_status phl_output_write(phl_output *output, const char *bytes, size_t length, phl_error *error)
{
    while (length > BUFFER_SIZE - output->used) {
        size_t part = BUFFER_SIZE - output->used;
        memcpy(output->buffer + output->used, bytes, part);
        output->used += part;
        bytes += part;
        length -= part;
        phl_status status = flush(output, false, error);
        if (status != PHL_OK) {
            return status;
        }
    }
    if (length > 0) {
        memcpy(output->buffer + output->used, bytes, length);
        output->used += length;
    }
    return PHL_OK;
}

phl_status phl_output_string(phl_output *output, const char *string, phl_error *error)
{
    return phl_output_write(output, string, strlen(string), error);
}

phl_status phl_output_json_string(phl_output *output, const char *bytes, size_t length,
                                  phl_error *error)
{
    char escape[PHL_ESCAPE_SIZE];
    size_t plain = 0, step;
    while (plain < length &&
           phl_text_escape_json(bytes + plain, length - plain, escape, &step) == 0) {
        plain += step;
    }
    phl_status status;
    if (plain == length) { /* nothing to escape: no detour through a buffer */
        status = phl_output_write(output, "\"", 1, error);
        if (status == PHL_OK) {
            status = phl_output_write(output, bytes, length, error);
        }
        return status == PHL_OK ? phl_output_write(output, "\"", 1, error) : status;
    }
    phl_text text = {NULL, 0, 0};
    status = phl_text_append_json(&text, bytes, length, error);
    if (status == PHL_OK) {
        status = phl_output_write(output, text.bytes, text.length, error);
    }
    phl_text_clear(&text);
    return status;
}

phl_status phl_output_number(phl_output *output, uint64_t number, phl_error *error)
{
    char digits[24];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return phl_output_write(output, digits + at, sizeof digits - at, error);
}

phl_status phl_output_commit(phl_output *output, phl_error *error)
{
    phl_status status = flush(output, true, error);
    if (status != PHL_OK || output->file < 0 || (output->target == NULL && !output->created)) {
        return status;
    }
    if (output->target != NULL && fsync(output->file) != 0) {
        return phl_raise_errno(error, PHL_ERR_WRITE, errno, output->name, "cannot write");
    }
    int closed = close(output->file);
    output->file = -1;
    if (closed != 0 || (output->target != NULL && rename(output->temporary, output->target) != 0)) {
        return phl_raise_errno(error, PHL_ERR_WRITE, errno, output->name, "cannot write");
    }
    phl_free(output->temporary);
    output->temporary = NULL;
    return PHL_OK;
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
    if (output->file >= 0 && output->file != STDOUT_FILENO) {
        (void)close(output->file);
    }
    if (output->temporary != NULL) {
        (void)unlink(output->temporary);
    }
    if (output->zlib_made) {
        (void)deflateEnd(&output->zlib);
    }
    (void)ZSTD_freeCStream(output->zstd);
    phl_text_clear(&output->memory);
    phl_free(output->packed);
    phl_free(output->buffer);
    phl_free(output->temporary);
    phl_free(output->target);
    phl_free(output->name);
    phl_free(output);
}
