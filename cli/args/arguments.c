/* arguments.c - the values of a parsed command line, by the options' names; see options.h. */
#include "args/options.h"
#include "print/terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const option_value *value_of(const cli_arguments *parsed, const char *name, option_type type)
{
    size_t i = command_find_option(parsed->command, name, strlen(name));
    if (i == SIZE_MAX || command_option(parsed->command, i)->type != type) {
        terminal_defect(name);
    }
    return &parsed->values[i];
}

bool arguments_has(const cli_arguments *parsed, const char *name)
{
    return command_find_option(parsed->command, name, strlen(name)) != SIZE_MAX;
}

bool arguments_given(const cli_arguments *parsed, const char *name)
{
    size_t i = command_find_option(parsed->command, name, strlen(name));
    if (i == SIZE_MAX) {
        terminal_defect(name);
    }
    return parsed->values[i].given;
}

bool arguments_flag(const cli_arguments *parsed, const char *name)
{
    return value_of(parsed, name, OPTION_FLAG)->given;
}

const char *arguments_string(const cli_arguments *parsed, const char *name)
{
    return value_of(parsed, name, OPTION_STRING)->text;
}

const char *arguments_path(const cli_arguments *parsed, const char *name)
{
    size_t i = command_find_option(parsed->command, name, strlen(name));
    bool written = i != SIZE_MAX && command_option(parsed->command, i)->type == OPTION_OUTPUT;
    return value_of(parsed, name, written ? OPTION_OUTPUT : OPTION_PATH)->text;
}

uint64_t arguments_integer(const cli_arguments *parsed, const char *name)
{
    return value_of(parsed, name, OPTION_INTEGER)->integer;
}

int arguments_threads(const cli_arguments *parsed)
{
    return (int)arguments_integer(parsed, "threads");
}

double arguments_real(const cli_arguments *parsed, const char *name)
{
    return value_of(parsed, name, OPTION_REAL)->real;
}

uint64_t arguments_size(const cli_arguments *parsed, const char *name)
{
    return value_of(parsed, name, OPTION_SIZE)->integer;
}

const char *arguments_choice(const cli_arguments *parsed, const char *name)
{
    return value_of(parsed, name, OPTION_CHOICE)->text;
}

size_t arguments_choice_index(const cli_arguments *parsed, const char *name)
{
    return (size_t)value_of(parsed, name, OPTION_CHOICE)->integer;
}

const char *const *arguments_list(const cli_arguments *parsed, const char *name, size_t *n)
{
    const option_value *value = value_of(parsed, name, OPTION_LIST);
    *n = value->n_items;
    return (const char *const *)value->items;
}

const char *const *arguments_paths(const cli_arguments *parsed, const char *name, size_t *n)
{
    const option_value *value = value_of(parsed, name, OPTION_PATHS);
    *n = value->n_items;
    return (const char *const *)value->items;
}

int arguments_seed(const cli_arguments *parsed, uint64_t *seed)
{
    const option_value *value = value_of(parsed, "seed", OPTION_SEED);
    *seed = value->integer;
    if (strcmp(value->text, "random") != 0) {
        return EXIT_OK;
    }
    /* 32 bits, so that a person can type it again. */
    uint32_t picked = 0;
    FILE *source = fopen("/dev/urandom", "rb");
    size_t got = source ? fread(&picked, sizeof picked, 1, source) : 0;
    int reason = errno;
    if (source) {
        fclose(source);
    }
    if (got != 1) {
        terminal_message("cannot pick a random seed from /dev/urandom: %s; give one with --seed N",
                         strerror(reason));
        return EXIT_SYSTEM;
    }
    *seed = picked;
    terminal_message("seed %" PRIu64, *seed);
    return EXIT_OK;
}

/* Append a word, quoted for a shell where that is needed; returns the end. */
static char *append_word(char *end, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=:,./@%";
    *end++ = ' ';
    if (*word && !word[strspn(word, plain)]) {
        size_t length = strlen(word);
        memcpy(end, word, length);
        return end + length;
    }
    *end++ = '\'';
    for (; *word; word++) {
        if (*word == '\'') {
            memcpy(end, "'\\'", 3);
            end += 3;
        }
        *end++ = *word;
    }
    *end++ = '\'';
    return end;
}

char *arguments_line(const cli_arguments *parsed)
{
    size_t size = strlen(program_name) + strlen(parsed->command->name) + 16;
    for (int i = 0; i < parsed->n_words; i++) {
        size += 4 * strlen(parsed->words[i]) + 3;
    }
    char *line = terminal_allocate(size, 1);
    char *end = line + snprintf(line, size, "%s %s", program_name, parsed->command->name);
    for (int i = 0; i < parsed->n_words; i++) {
        end = append_word(end, parsed->words[i]);
    }
    return line;
}

void arguments_free(cli_arguments *parsed)
{
    if (parsed->values) {
        for (size_t i = 0; command_option(parsed->command, i); i++) {
            option_value_clear(&parsed->values[i]);
        }
    }
    free(parsed->values);
    free(parsed->operands);
    free(parsed->listed);
    *parsed = (cli_arguments){0};
}
