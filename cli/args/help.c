/* help.c - --help, from the option tables.
 *
 * Contents: texts shared with the man pages, one command, the program.
 */
#include "args/options.h"
#include "print/terminal.h"

#include <string.h>

enum { OPTION_COLUMN = 30 };

/* ---- texts shared with the man pages ---- */

const char *const program_about =
    "Phloem learns from trees: XML and HTML documents, parse trees, "
    "glycans, RNA folds, session and process trees. It reads them in many "
    "formats, stores equal subtrees once and learns a model of them. With "
    "the model it classifies trees, fills in labels, finds odd trees and "
    "shows which child positions matter.";

const example program_examples[] = {
    {"make trees to play with", "phloem generate documents -o docs.trees"},
    {"see what is in them", "phloem stats docs.trees"},
    {"turn a folder of XML files into one file", "phloem convert docs/ -o docs.jsonl.gz"},
    {"learn one model per class", "phloem train --per-class docs.trees -o docs.run"},
    {"see what was learned, and use it",
     "phloem show docs.run; phloem classify docs.run new.trees"},
    {NULL, NULL}};

const char *const exit_codes[][2] = {{"0", "success"},
                                     {"1", "the answer is no"},
                                     {"2", "wrong usage"},
                                     {"3", "bad data"},
                                     {"4", "system failure (file, disk, memory)"},
                                     {"5", "a defect in phloem"},
                                     {"130", "interrupted"},
                                     {NULL, NULL}};

/* ---- one command ---- */

static void print_usage(const cli_command *command)
{
    const cli_option *o;
    printf("  %s %s [OPTION]...", program_name, command->name);
    if (command->operands) {
        printf(" %s", command->operands);
    }
    for (size_t i = 0; (o = command_option(command, i)); i++) {
        if (o->required && o->letter) {
            printf(" -%c %s", o->letter, o->argument);
        } else if (o->required) {
            printf(" --%s %s", o->name, o->argument);
        }
    }
    putchar('\n');
}

static void print_option(const cli_option *o)
{
    char name[80], about[800];
    char letter[8] = "    ";
    if (o->letter) {
        snprintf(letter, sizeof letter, "-%c, ", o->letter);
    }
    snprintf(name, sizeof name, "  %s--%s%s%s", letter, o->name, o->argument ? " " : "",
             o->argument ? o->argument : "");
    if (strlen(name) + 2 > OPTION_COLUMN) {
        printf("%s\n%*s", name, OPTION_COLUMN, "");
    } else {
        printf("%-*s", OPTION_COLUMN, name);
    }
    option_describe(o, about, sizeof about);
    terminal_wrap(stdout, about, OPTION_COLUMN, OPTION_COLUMN);
}

static void print_examples(const example *examples)
{
    printf("\nExamples:\n");
    for (size_t i = 0; examples[i].line; i++) {
        printf("  # %s\n  %s\n", examples[i].about, examples[i].line);
    }
}

static void print_commands(FILE *file, const cli_command *const *table)
{
    size_t width = 0;
    for (size_t i = 0; table[i]; i++) {
        if (strlen(command_word(table[i])) > width) {
            width = strlen(command_word(table[i]));
        }
    }
    for (size_t i = 0; table[i]; i++) {
        fprintf(file, "  %-*s  ", (int)width, command_word(table[i]));
        terminal_wrap(file, table[i]->summary, width + 4, width + 4);
    }
}

void help_command(const cli_command *c)
{
    printf("%s %s - %s\n\nUsage:\n", program_name, c->name, c->summary);
    if (!c->subcommands) {
        print_usage(c);
    }
    for (size_t i = 0; c->subcommands && c->subcommands[i]; i++) {
        print_usage(c->subcommands[i]);
    }
    putchar('\n');
    terminal_wrap(stdout, c->description, 0, 0);
    if (c->subcommands) {
        printf("\nKinds:\n");
        print_commands(stdout, c->subcommands);
        printf("\n'phloem %s KIND --help' describes a kind.\n", c->name);
        return;
    }
    if (c->operands) {
        printf("\n  %-*s", OPTION_COLUMN - 2, c->operands);
        terminal_wrap(stdout, c->operand_help, OPTION_COLUMN, OPTION_COLUMN);
    }
    for (size_t g = 0; c->groups[g]; g++) {
        printf("\n%s:\n", c->groups[g]->title);
        for (size_t i = 0; i < c->groups[g]->n; i++) {
            print_option(&c->groups[g]->options[i]);
        }
    }
    if (c->examples) {
        print_examples(c->examples);
    }
}

/* ---- the program ---- */

void help_overview(void)
{
    fprintf(stderr, "Usage: %s COMMAND [OPTION]... [OPERAND]...\n\nCommands:\n", program_name);
    print_commands(stderr, program_commands);
    fprintf(stderr, "\nSee '%s --help' for more.\n", program_name);
}

void help_program(void)
{
    bool first = strcmp(program_name, "phloem") == 0;
    printf("%s %s\n\nUsage:\n  %s COMMAND [OPTION]... [OPERAND]...\n\n", program_name,
           phl_version(), program_name);
    terminal_wrap(stdout, program_about, 0, 0);
    printf("\nCommands:\n");
    print_commands(stdout, program_commands);
    printf("\nOther:\n"
           "  --help, help COMMAND  this help, or that of a command (also: COMMAND --help)\n"
           "  --version             print the version\n%s",
           !first ? ""
                  : "  --completion SHELL    print a completion script for bash, zsh or fish; to "
                    "try it:\n"
                    "                        source <(phloem --completion bash)\n");
    if (first) {
        print_examples(program_examples);
    }
    printf("\nExit codes:\n  ");
    char codes[400] = "";
    for (size_t i = 0; exit_codes[i][0]; i++) {
        size_t used = strlen(codes);
        snprintf(codes + used, sizeof codes - used, "%s%s %s", i ? ", " : "", exit_codes[i][0],
                 exit_codes[i][1]);
    }
    terminal_wrap(stdout, codes, 2, 2);
}
