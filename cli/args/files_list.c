/* files_list.c - operands out of a list in a file; see files_list.h. */
#include "args/files_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print/terminal.h"

/* All of a stream, with a NUL after it. */
static char *read_all(FILE *file, size_t *length)
{
    size_t capacity = 1 << 16;
    char *text = terminal_allocate(capacity, 1);
    size_t got;
    *length = 0;
    while ((got = fread(text + *length, 1, capacity - *length - 1, file)) > 0) {
        *length += got;
        if (capacity - *length < 2) {
            char *larger = terminal_allocate(2 * capacity, 1);
            memcpy(larger, text, *length);
            free(text);
            text = larger;
            capacity *= 2;
        }
    }
    text[*length] = '\0';
    return text;
}

/* Names end at NUL bytes if there is one, else at line ends; empty ones are passed over. */
static void add_names(cli_arguments *parsed, char *text, size_t length)
{
    bool nul = memchr(text, '\0', length) != NULL;
    char *end = text + length;
    size_t most = 1;
    for (char *at = text; at < end; at++) {
        most += *at == (nul ? '\0' : '\n');
    }
    const char **operands = terminal_allocate(parsed->n_operands + most, sizeof *operands);
    memcpy(operands, parsed->operands, parsed->n_operands * sizeof *operands);
    free(parsed->operands);
    parsed->operands = operands;
    for (char *at = text; at < end;) {
        char *stop = memchr(at, nul ? '\0' : '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        if (!nul && stop > at && stop[-1] == '\r') {
            stop[-1] = '\0';
        }
        *stop = '\0';
        if (*at) {
            parsed->operands[parsed->n_operands++] = at;
        }
        at = stop + 1;
    }
}

int files_list_add(cli_arguments *parsed)
{
    static const char name[] = "files-from";
    bool known = command_find_option(parsed->command, name, sizeof name - 1) != SIZE_MAX;
    const char *path = known ? arguments_string(parsed, name) : NULL;
    if (!path) {
        return EXIT_OK;
    }
    bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "rb");
    size_t length = 0;
    if (file) {
        errno = 0;
        parsed->listed = read_all(file, &length);
    }
    bool failed = !file || ferror(file);
    int reason = errno;
    if (file && !standard) {
        fclose(file);
    }
    if (failed) {
        terminal_message("%s: cannot read the list of files: %s", standard ? "<stdin>" : path,
                         strerror(reason));
        return EXIT_SYSTEM;
    }
    add_names(parsed, parsed->listed, length);
    return EXIT_OK;
}
