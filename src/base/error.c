/* error.c - the error record: filling and formatting it. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *phl_version(void)
{
    return PHL_VERSION;
}

int phl_status_exit_code(phl_status status)
{
    return status >= 0 ? 0 : -(int)status / 100;
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

static phl_status fill(phl_error *error, phl_status status, phl_position position,
                       const char *remedy, const char *format, va_list arguments)
{
    if (error != NULL) {
        error->status = status;
        int length = vsnprintf(error->message, sizeof error->message, format, arguments);
        end_text(error->message, sizeof error->message, length < 0 ? 0 : (size_t)length);
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
    if (error->file[0] == '\0' && phl_status_exit_code(error->status) == 3) {
        copy_text(error->file, sizeof error->file, position.file);
        error->line = position.line;
        error->column = position.column;
    }
    return error->status;
}

char *phl_error_format(const phl_error *error, char *buffer, size_t size)
{
    if (size == 0) {
        return buffer;
    }
    char place[600] = "";
    if (error->file[0] != '\0' && error->line > 0 && error->column > 0) {
        (void)snprintf(place, sizeof place, "%s:%llu:%llu: ", error->file,
                       (unsigned long long)error->line, (unsigned long long)error->column);
    } else if (error->file[0] != '\0' && error->line > 0) {
        (void)snprintf(place, sizeof place, "%s:%llu: ", error->file,
                       (unsigned long long)error->line);
    } else if (error->file[0] != '\0') {
        (void)snprintf(place, sizeof place, "%s: ", error->file);
    }
    (void)snprintf(buffer, size, "%s%s%s%s", place, error->message,
                   error->remedy[0] != '\0' ? "; " : "", error->remedy);
    return buffer;
}
