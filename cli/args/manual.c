/* manual.c - man pages in roff, from the option tables: phloem --man [COMMAND].
 *
 * Contents: escaping, pieces of a page, a command's page, the program's page.
 */
#include "args/options.h"
#include "print/terminal.h"

#include <ctype.h>
#include <string.h>

/* ---- escaping ---- */

/* Text for roff: backslashes, hyphens and quotes are taken literally, no line is a request. */
static void put(const char *text)
{
    bool line_start = true;
    for (; *text; text++) {
        if (line_start && (*text == '.' || *text == '\'')) {
            fputs("\\&", stdout);
        }
        if (*text == '\\') {
            fputs("\\e", stdout);
        } else if (*text == '-') {
            fputs("\\-", stdout);
        } else if (*text == '\'') {
            fputs("\\(aq", stdout);
        } else if (*text == '^') {
            fputs("\\(ha", stdout);
        } else if (*text == '~') {
            fputs("\\(ti", stdout);
        } else {
            putchar(*text);
        }
        line_start = *text == '\n';
    }
}

static void put_paragraphs(const char *text)
{
    const char *end;
    char piece[1200];
    for (; (end = strstr(text, "\n\n")); text = end + 2) {
        snprintf(piece, sizeof piece, "%.*s", (int)(end - text), text);
        put(piece);
        fputs("\n.PP\n", stdout);
    }
    put(text);
    putchar('\n');
}

static void put_bold(const char *text)
{
    fputs("\\fB", stdout);
    put(text);
    fputs("\\fR", stdout);
}

static void put_italic(const char *text)
{
    fputs("\\fI", stdout);
    put(text);
    fputs("\\fR", stdout);
}

/* ---- pieces of a page ---- */

static void put_title(const char *name)
{
    printf(".\\\" Written by %s --man; do not edit.\n.TH \"", program_name);
    for (; *name; name++) {
        putchar(*name == ' ' ? '-' : toupper((unsigned char)*name));
    }
    printf("\" 1 \"\" \"phloem %s\" \"Phloem manual\"\n.nh\n.ad l\n", phl_version());
}

static void put_synopsis(const cli_command *c)
{
    const cli_option *o;
    fputs(".TP\n", stdout);
    fputs("\\fB", stdout);
    put(program_name);
    putchar(' ');
    put(c->name);
    fputs("\\fR [\\fIOPTION\\fR]...", stdout);
    if (c->operands) {
        putchar(' ');
        put_italic(c->operands);
    }
    for (size_t i = 0; (o = command_option(c, i)); i++) {
        if (!o->required) {
            continue;
        }
        fputs(" \\fB", stdout);
        if (o->letter) {
            printf("\\-%c", o->letter);
        } else {
            fputs("\\-\\-", stdout);
            put(o->name);
        }
        printf("\\fR \\fI%s\\fR", o->argument);
    }
    putchar('\n');
}

static void put_option(const cli_option *o)
{
    char about[800];
    fputs(".TP\n", stdout);
    if (o->letter) {
        printf("\\fB\\-%c\\fR, ", o->letter);
    }
    fputs("\\fB\\-\\-", stdout);
    put(o->name);
    fputs("\\fR", stdout);
    if (o->argument) {
        putchar(' ');
        put_italic(o->argument);
    }
    putchar('\n');
    option_describe(o, about, sizeof about);
    put(about);
    putchar('\n');
}

static void put_options(const cli_command *c)
{
    if (c->operands) {
        fputs(".TP\n", stdout);
        put_italic(c->operands);
        putchar('\n');
        put(c->operand_help);
        putchar('\n');
    }
    for (size_t g = 0; c->groups[g]; g++) {
        printf(".SS \"");
        put(c->groups[g]->title);
        printf("\"\n");
        for (size_t i = 0; i < c->groups[g]->n; i++) {
            put_option(&c->groups[g]->options[i]);
        }
    }
}

static void put_examples(const example *examples)
{
    for (size_t i = 0; examples[i].line; i++) {
        fputs(".PP\n.nf\n# ", stdout);
        put(examples[i].about);
        putchar('\n');
        put(examples[i].line);
        fputs("\n.fi\n", stdout);
    }
}

static void put_exit_codes(void)
{
    printf(".SH \"EXIT STATUS\"\n");
    for (size_t i = 0; exit_codes[i][0]; i++) {
        printf(".TP\n%s\n", exit_codes[i][0]);
        put(exit_codes[i][1]);
        putchar('\n');
    }
}

/* Pages of all commands but this one. */
static void put_see_also(const cli_command *self)
{
    bool first = true;
    printf(".SH \"SEE ALSO\"\n");
    if (self) {
        put_bold(program_name);
        printf("(1)");
        first = false;
    }
    for (size_t i = 0; program_commands[i]; i++) {
        if (program_commands[i] == self) {
            continue;
        }
        printf("%s\\fB", first ? "" : ",\n");
        put(program_name);
        fputs("\\-", stdout);
        put(program_commands[i]->name);
        printf("\\fR(1)");
        first = false;
    }
    putchar('\n');
}

/* ---- pages ---- */

void manual_command(const cli_command *c)
{
    char page[80];
    snprintf(page, sizeof page, "%s-%s", program_name, c->name);
    put_title(page);
    printf(".SH NAME\n");
    put(page);
    printf(" \\- ");
    put(c->summary);
    printf("\n.SH SYNOPSIS\n");
    if (!c->subcommands) {
        put_synopsis(c);
    }
    for (size_t i = 0; c->subcommands && c->subcommands[i]; i++) {
        put_synopsis(c->subcommands[i]);
    }
    printf(".SH DESCRIPTION\n");
    put_paragraphs(c->description);
    if (c->subcommands) {
        for (size_t i = 0; c->subcommands[i]; i++) {
            const cli_command *kind = c->subcommands[i];
            printf(".SH \"PHLOEM ");
            for (const char *at = kind->name; *at; at++) {
                putchar(toupper((unsigned char)*at));
            }
            printf("\"\n");
            put_paragraphs(kind->description);
            put_options(kind);
        }
        printf(".SH EXAMPLES\n");
        for (size_t i = 0; c->subcommands[i]; i++) {
            put_examples(c->subcommands[i]->examples);
        }
    } else {
        printf(".SH OPTIONS\n");
        put_options(c);
        printf(".SH EXAMPLES\n");
        put_examples(c->examples);
    }
    put_exit_codes();
    put_see_also(c);
}

void manual_program(void)
{
    bool first = strcmp(program_name, "phloem") == 0;
    put_title(program_name);
    printf(".SH NAME\n");
    put(program_name);
    printf(" \\- learn from tree\\-shaped data%s\n.SH SYNOPSIS\n",
           first ? "" : " on the ranks of an MPI job");
    put_bold(program_name);
    printf(" \\fICOMMAND\\fR [\\fIOPTION\\fR]... [\\fIOPERAND\\fR]...\n"
           ".SH DESCRIPTION\n");
    put_paragraphs(program_about);
    printf(".PP\n");
    put("Options may stand before or after operands, as --name=value or --name value; '--' ends "
        "the options; '-' is standard input or output.\n");
    printf(".SH COMMANDS\n");
    for (size_t i = 0; program_commands[i]; i++) {
        printf(".TP\n");
        put_bold(program_commands[i]->name);
        putchar('\n');
        put(program_commands[i]->summary);
        printf(";\nsee \\fB");
        put(program_name);
        fputs("\\-", stdout);
        put(program_commands[i]->name);
        printf("\\fR(1)\n");
    }
    printf(".TP\n\\fBhelp\\fR [\\fICOMMAND\\fR]\nprint the help of a command\n"
           ".SH OPTIONS\n"
           ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nprint an overview\n"
           ".TP\n\\fB\\-V\\fR, \\fB\\-\\-version\\fR\nprint the version\n");
    if (first) {
        printf(".TP\n\\fB\\-\\-completion\\fR \\fISHELL\\fR\nprint a completion script for "
               "bash, zsh or fish\n.SH EXAMPLES\n");
        put_examples(program_examples);
    }
    put_exit_codes();
    put_see_also(NULL);
}
