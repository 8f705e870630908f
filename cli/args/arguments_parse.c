/* arguments_parse.c - parsing the words of a command line by the command's option table.
 *
 * Options may stand before and after operands, as --name=value, --name value, -x value or -xvalue;
 * letters of flags may be joined; "--" ends the options; "-" is an operand.
 */
#include "args/files_list.h"
#include "args/options.h"
#include "print/terminal.h"

#include <stdlib.h>
#include <string.h>

static size_t count_options(const cli_command *command)
{
    size_t n = 0;
    while (command_option(command, n)) {
        n++;
    }
    return n;
}

static size_t find_letter(const cli_command *command, char letter)
{
    const cli_option *o;
    for (size_t i = 0; (o = command_option(command, i)); i++) {
        if (o->letter == letter) {
            return i;
        }
    }
    return SIZE_MAX;
}

static parse_outcome unknown_option(const cli_command *command, const char *word, size_t length)
{
    size_t n = count_options(command);
    const char **names = terminal_allocate(n + 1, sizeof *names);
    char typed[64];
    for (size_t i = 0; i < n; i++) {
        names[i] = command_option(command, i)->name;
    }
    snprintf(typed, sizeof typed, "%.*s", (int)(length > 60 ? 60 : length), word);
    const char *near = suggest(typed, names, n);
    if (near) {
        usage_error(command, "unknown option '--%s', did you mean '--%s'?", typed, near);
    } else {
        usage_error(command, "unknown option '--%s'", typed);
    }
    free(names);
    return PARSE_BAD;
}

/* ---- parsing ---- */

typedef struct word_parser {
    cli_arguments *parsed;
    char *const *words;
    int n_words, at;
} word_parser;

/* Take option i, whose value, if any, was attached, or is the next word. */
static parse_outcome take_option(word_parser *parser, size_t i, const char *attached)
{
    const cli_command *command = parser->parsed->command;
    const cli_option *o = command_option(command, i);
    option_value *value = &parser->parsed->values[i];
    char problem[900];
    if (o->type == OPTION_FLAG) {
        if (attached) {
            usage_error(command, "option --%s takes no value, found '%s'", o->name, attached);
            return PARSE_BAD;
        }
        value->given = true;
        return PARSE_RUN;
    }
    if (!attached) {
        const char *next = parser->at + 1 < parser->n_words ? parser->words[parser->at + 1] : NULL;
        if (!next) {
            usage_error(command, "option --%s needs a value, %s: %.*s", o->name, o->argument,
                        (int)strcspn(o->help, ";"), o->help);
            return PARSE_BAD;
        }
        /* "-o --quiet" is a forgotten value, not a file of that name. */
        bool free_text = o->type == OPTION_STRING || o->type == OPTION_PATH ||
                         o->type == OPTION_PATHS || o->type == OPTION_OUTPUT ||
                         o->type == OPTION_LIST;
        if (free_text && next[0] == '-' && next[1]) {
            usage_error(command, "option --%s needs a value, found '%s' (write --%s=%s if meant)",
                        o->name, next, o->name, next);
            return PARSE_BAD;
        }
        attached = next;
        parser->at++;
    }
    if (!value->given) {
        option_value_clear(value); /* a list adds to what was given, not to the default */
    }
    if (!option_value_parse(o, attached, value, problem, sizeof problem)) {
        usage_error(command, "%s", problem);
        return PARSE_BAD;
    }
    value->given = true;
    return PARSE_RUN;
}

static parse_outcome take_long(word_parser *parser, const char *name)
{
    size_t length = strcspn(name, "=");
    size_t i = command_find_option(parser->parsed->command, name, length);
    if (i == SIZE_MAX) {
        return unknown_option(parser->parsed->command, name, length);
    }
    return take_option(parser, i, name[length] ? name + length + 1 : NULL);
}

static parse_outcome take_letters(word_parser *parser, const char *letters)
{
    const cli_command *command = parser->parsed->command;
    size_t length = strcspn(letters, "=");
    /* "-from" is more likely "--from" than "-f rom". */
    if (length > 1 && command_find_option(command, letters, length) != SIZE_MAX) {
        usage_error(command, "unknown option '-%s', did you mean '--%s'?", letters, letters);
        return PARSE_BAD;
    }
    for (; *letters; letters++) {
        size_t i = find_letter(command, *letters);
        if (i == SIZE_MAX) {
            usage_error(command, "unknown option '-%c'", *letters);
            return PARSE_BAD;
        }
        bool flag = command_option(command, i)->type == OPTION_FLAG;
        parse_outcome outcome = take_option(parser, i, !flag && letters[1] ? letters + 1 : NULL);
        if (outcome != PARSE_RUN || !flag) {
            return outcome;
        }
    }
    return PARSE_RUN;
}

static parse_outcome check_operands(const cli_arguments *parsed)
{
    const cli_command *c = parsed->command;
    if (parsed->n_operands < c->least_operands) {
        usage_error(c, "%s is missing: %s", c->operands, c->operand_help);
        return PARSE_BAD;
    }
    if (parsed->n_operands > c->most_operands) {
        usage_error(c, "unexpected '%s'; %s takes %s", parsed->operands[c->most_operands], c->name,
                    c->most_operands ? c->operands : "options only");
        return PARSE_BAD;
    }
    return PARSE_RUN;
}

/* Required options are there, excluding ones are not there together. */
static parse_outcome check_options(const cli_arguments *parsed)
{
    const cli_command *c = parsed->command;
    const cli_option *o;
    for (size_t i = 0; (o = command_option(c, i)); i++) {
        if (!parsed->values[i].given) {
            if (!o->required) {
                continue;
            }
            char letter[8] = "";
            if (o->letter) {
                snprintf(letter, sizeof letter, "-%c or ", o->letter);
            }
            usage_error(c, "%s--%s %s is missing: %.*s", letter, o->name, o->argument,
                        (int)strcspn(o->help, ";"), o->help);
            return PARSE_BAD;
        }
        for (const char *at = o->excludes; at && *at; at += strspn(at, " ")) {
            size_t length = strcspn(at, " ");
            size_t other = command_find_option(c, at, length);
            if (other != SIZE_MAX && parsed->values[other].given) {
                usage_error(c, "options --%s and --%.*s exclude each other", o->name, (int)length,
                            at);
                return PARSE_BAD;
            }
            at += length;
        }
    }
    return PARSE_RUN;
}

static void take_fallbacks(cli_arguments *parsed)
{
    const cli_option *o;
    char problem[900];
    for (size_t i = 0; (o = command_option(parsed->command, i)); i++) {
        if (o->fallback &&
            !option_value_parse(o, o->fallback, &parsed->values[i], problem, sizeof problem)) {
            terminal_defect(problem);
        }
    }
}

parse_outcome arguments_parse(const cli_command *command, int n_words, char *const *words,
                              cli_arguments *parsed)
{
    word_parser parser = {.parsed = parsed, .words = words, .n_words = n_words};
    bool options_ended = false;
    *parsed = (cli_arguments){.command = command, .words = words, .n_words = n_words};
    parsed->values = terminal_allocate(count_options(command) + 1, sizeof *parsed->values);
    parsed->operands = terminal_allocate((size_t)n_words + 1, sizeof *parsed->operands);
    take_fallbacks(parsed);
    for (; parser.at < n_words; parser.at++) {
        const char *word = words[parser.at];
        parse_outcome outcome = PARSE_RUN;
        if (options_ended || word[0] != '-' || !word[1]) {
            parsed->operands[parsed->n_operands++] = word;
        } else if (strcmp(word, "--") == 0) {
            options_ended = true;
        } else if (word[1] == '-') {
            outcome = take_long(&parser, word + 2);
        } else {
            outcome = take_letters(&parser, word + 1);
        }
        if (outcome != PARSE_RUN) {
            return outcome;
        }
        if (arguments_flag(parsed, "help")) {
            return PARSE_HELP;
        }
        if (arguments_flag(parsed, "version")) {
            return PARSE_VERSION;
        }
    }
    if (files_list_add(parsed) != EXIT_OK) {
        return PARSE_FAILED;
    }
    if (check_operands(parsed) != PARSE_RUN) {
        return PARSE_BAD;
    }
    return check_options(parsed);
}
