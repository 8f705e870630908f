/* error.c - the error record: filling and formatting it. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

const char *phl_version(void)
{
    return PHL_VERSION;
}

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "a C11 compiler"
#endif

const char *phl_version_details(void)
{
    return "library   libphloem " PHL_VERSION "\n"
           "features  XML (expat), HTML (gumbo), gzip (zlib), zstd, run files (SQLite)\n"
           "compiler  " COMPILER;
}

phl_group phl_status_group(phl_status status)
{
    switch (-(int)status / 100) {
    case 0:
        return PHL_GROUP_OK;
    case 2:
        return PHL_GROUP_USAGE;
    case 3:
        return PHL_GROUP_DATA;
    case 4:
        return PHL_GROUP_SYSTEM;
    case 130:
        return PHL_GROUP_CANCELLED;
    default:
        return PHL_GROUP_INTERNAL;
    }
}

/* A text of `length` bytes was put into `size`: say so if it was cut, and between characters. */
static void end_text(char *text, size_t size, size_t length)
{
    if (length < size) {
        return;
    }
    size_t end = size - sizeof "...";
    while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80) {
        end--;
    }
    memcpy(text + end, "...", sizeof "...");
}

static void copy_text(char *to, size_t size, const char *from)
{
    size_t length = from != NULL ? strlen(from) : 0;
    size_t kept = length < size ? length : size - 1;
    if (kept > 0) {
        memcpy(to, from, kept);
    }
    to[kept] = '\0';
    end_text(to, size, length);
}

/* Formatted twice, with a blank in place of the marks the second time: where the two differ is a
 * mark of the format; whatever else a reader should not meet came with an argument, and is escaped.
 */
static void format_text(char *out, size_t size, const char *format, va_list arguments)
{
    enum { ROOM = 1024 };
    char blank_format[ROOM], marked[ROOM], blank[ROOM], safe[ROOM * PHL_ESCAPE_SIZE];
    va_list again;
    copy_text(blank_format, sizeof blank_format, format);
    for (char *at = blank_format; *at != '\0'; at++) {
        *at = *at == PHL_MARK_BEGIN[0] || *at == PHL_MARK_END[0] ? ' ' : *at;
    }
    va_copy(again, arguments);
    (void)vsnprintf(marked, sizeof marked, format, arguments);
    (void)vsnprintf(blank, sizeof blank, blank_format, again);
    va_end(again);
    size_t used = 0, step = 1, length = strlen(marked);
    for (size_t i = 0; i < length; i += step) {
        size_t escaped = phl_text_escape(marked + i, length - i, safe + used, &step);
        if (escaped == 0 || marked[i] != blank[i]) {
            memcpy(safe + used, marked + i, step);
        }
        used += escaped == 0 || marked[i] != blank[i] ? step : escaped;
    }
    safe[used] = '\0';
    copy_text(out, size, safe);
}

char *phl_remedy(char *out, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    format_text(out, size, format, arguments);
    va_end(arguments);
    return out;
}

static phl_status fill(phl_error *error, phl_status status, phl_position position,
                       const char *remedy, const char *format, va_list arguments)
{
    if (error != NULL) {
        error->status = status;
        format_text(error->message, sizeof error->message, format, arguments);
        copy_text(error->remedy, sizeof error->remedy, remedy);
        copy_text(error->file, sizeof error->file, position.file);
        error->line = position.line;
        error->column = position.column;
    }
    return status;
}

phl_status phl_raise(phl_error *error, phl_status status, const char *remedy, const char *format,
                     ...)
{
    va_list arguments;
    va_start(arguments, format);
    phl_position nowhere = {NULL, 0, 0};
    status = fill(error, status, nowhere, remedy, format, arguments);
    va_end(arguments);
    return status;
}

phl_status phl_raise_at(phl_error *error, phl_status status, phl_position position,
                        const char *remedy, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    status = fill(error, status, position, remedy, format, arguments);
    va_end(arguments);
    return status;
}

phl_status phl_raise_errno(phl_error *error, phl_status status, int errno_value, const char *file,
                           const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    phl_position position = {file, 0, 0};
    status = fill(error, status, position, NULL, format, arguments);
    va_end(arguments);
    if (error != NULL) {
        size_t used = strlen(error->message);
        char reason[128];
        if (strerror_r(errno_value, reason, sizeof reason) != 0) {
            (void)snprintf(reason, sizeof reason, "error %d", errno_value);
        }
        (void)snprintf(error->message + used, sizeof error->message - used, ": %s", reason);
    }
    return status;
}

phl_status phl_error_locate(phl_error *error, phl_position position)
{
    if (error->file[0] == '\0' && phl_status_group(error->status) == PHL_GROUP_DATA) {
        copy_text(error->file, sizeof error->file, position.file);
        error->line = position.line;
        error->column = position.column;
    }
    return error->status;
}

/* ---------------------------------------------------------------------------------------------
 * For people
 * ------------------------------------------------------------------------------------------- */

/* Text that is being put together in a buffer; what does not fit is cut. */
struct line {
    char *out;
    size_t size, used;
};

static void put(struct line *line, const char *text, size_t length)
{
    size_t room = line->size - 1 - line->used;
    length = length < room ? length : room;
    memcpy(line->out + line->used, text, length);
    line->used += length;
    line->out[line->used] = '\0';
}

/* An option without its struct, and the value it is to have; a call by its name. */
static void put_plain(struct line *line, const char *name, const char *value)
{
    const char *dot = strchr(name, '.');
    name = dot != NULL ? dot + 1 : name;
    put(line, name, strlen(name));
    if (value != NULL && value[0] != '\0') {
        put(line, " = ", 3);
        put(line, value, strlen(value));
    }
}

static void put_mark(struct line *line, const char *mark, size_t length, phl_name_fn name,
                     void *context)
{
    char own[160], words[256];
    length = length < sizeof own - 1 ? length : sizeof own - 1;
    memcpy(own, mark, length);
    own[length] = '\0';
    char *value = strchr(own, '=');
    if (value != NULL) {
        *value++ = '\0';
    }
    if (name != NULL && name(own, value, words, sizeof words, context)) {
        put(line, words, strlen(words));
    } else {
        put_plain(line, own, value);
    }
}

static void put_rendered(struct line *line, const char *text, phl_name_fn name, void *context)
{
    const char *begin;
    while ((begin = strchr(text, PHL_MARK_BEGIN[0])) != NULL) {
        size_t length = strcspn(begin + 1, PHL_MARK_END);
        put(line, text, (size_t)(begin - text));
        put_mark(line, begin + 1, length, name, context);
        text = begin + 1 + length + (begin[1 + length] != '\0');
    }
    put(line, text, strlen(text));
}

char *phl_error_render_text(const char *text, phl_name_fn name, void *context, char *buffer,
                            size_t size)
{
    struct line line = {buffer, size, 0};
    if (size > 0) {
        buffer[0] = '\0';
        put_rendered(&line, text, name, context);
    }
    return buffer;
}

char *phl_error_render(const phl_error *error, phl_name_fn name, void *context, char *buffer,
                       size_t size)
{
    struct line line = {buffer, size, 0};
    char numbers[64] = "";
    if (size == 0) {
        return buffer;
    }
    buffer[0] = '\0';
    if (error->file[0] != '\0') {
        if (error->line > 0 && error->column > 0) {
            (void)snprintf(numbers, sizeof numbers, ":%llu:%llu", (unsigned long long)error->line,
                           (unsigned long long)error->column);
        } else if (error->line > 0) {
            (void)snprintf(numbers, sizeof numbers, ":%llu", (unsigned long long)error->line);
        }
        put(&line, error->file, strlen(error->file));
        put(&line, numbers, strlen(numbers));
        put(&line, ": ", 2);
    }
    put_rendered(&line, error->message, name, context);
    if (error->remedy[0] != '\0') {
        put(&line, "; ", 2);
        put_rendered(&line, error->remedy, name, context);
    }
    return buffer;
}

char *phl_error_format(const phl_error *error, char *buffer, size_t size)
{
    return phl_error_render(error, NULL, NULL, buffer, size);
}
