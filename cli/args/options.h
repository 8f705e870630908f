/* options.h - the option tables of the command line.
 *
 * A command is described once, as constant data: what it does, its operands, its options in groups,
 * its examples.  That description drives parsing (arguments_parse.c, options.c), --help (help.c),
 * the man pages (manual.c) and completion for shells (completion.h).
 */
#ifndef PHLOEM_CLI_OPTIONS_H
#define PHLOEM_CLI_OPTIONS_H

#include "phloem.h"

typedef enum option_type {
    OPTION_FLAG,
    OPTION_STRING,  /* UTF-8 text */
    OPTION_PATH,    /* a file or folder that is read; completion offers files */
    OPTION_PATHS,   /* the same; repeating adds */
    OPTION_OUTPUT,  /* a file or folder that is written, guarded by outputs.c; the same */
    OPTION_CHOICE,  /* one of `choices` */
    OPTION_INTEGER, /* least..most */
    OPTION_REAL,    /* low..high */
    OPTION_LIST,    /* names separated by commas ("\," stands for a comma); repeating adds */
    OPTION_SEED,    /* a whole number, or "random" */
    OPTION_SIZE     /* bytes: a whole number with K, M, G or T (powers of 1024) or without */
} option_type;

typedef struct cli_option {
    const char *name; /* without the dashes */
    char letter;      /* 0: none */
    option_type type;
    const char *argument; /* name of the value in help texts; NULL for flags */
    const char *choices;  /* "a|b|c" */
    const char *older;    /* "old=b": a word of earlier versions that still stands for a choice */
    const char *word;     /* integer: may stand in place of a number, whose value is then 0 */
    uint64_t least, most;
    double low, high;
    bool required;
    const char *fallback;      /* the default, as a user would write it */
    const char *fallback_note; /* the default in words, when it is no value of the option */
    const char *excludes;      /* options that may not come with this one: "class no-class" */
    const char *help;          /* a phrase without a full stop */
} cli_option;

typedef struct option_group {
    const char *title;
    const cli_option *options;
    size_t n;
} option_group;

typedef struct example {
    const char *about;
    const char *line;
} example;

typedef struct cli_arguments cli_arguments;

typedef struct cli_command {
    const char *name;        /* "convert"; of a subcommand both words, "generate symm" */
    const char *summary;     /* one line, starting with a small letter, no full stop */
    const char *description; /* paragraphs, separated by blank lines */
    const char *operands;    /* "IN..."; NULL: the command takes none */
    const char *operand_help;
    const char *operand_choices; /* "a|b|c"; NULL: operands are files */
    size_t least_operands, most_operands;
    const option_group *const *groups;            /* ends with NULL */
    const example *examples;                      /* ends with {NULL, NULL} */
    const struct cli_command *const *subcommands; /* ends with NULL; then all above but name,
                                                 summary and description is empty, and so is run */
    int (*run)(const cli_arguments *parsed);      /* returns the exit code */
} cli_command;

/* All commands, in the order of the overview; ends with NULL (main.c). */
extern const cli_command *const program_commands[];
/* What users type (main.c). */
extern const char program_name[];

/* The group every command ends with: --threads, --quiet, --help, --version. */
extern const option_group general_options;

/* Rows of a table: the long name, the name of the value, what it may be, the help phrase; then
 * whatever else there is to say, as .member = value. */
#define OPTION_FLAG_ROW(name_, ...)                                                                \
    {                                                                                              \
        .name = name_, .type = OPTION_FLAG, .help = __VA_ARGS__                                    \
    }
#define OPTION_VALUE_ROW(type_, name_, argument_, ...)                                             \
    {                                                                                              \
        .name = name_, .type = type_, .argument = argument_, .help = __VA_ARGS__                   \
    }
#define OPTION_STRING_ROW(...) OPTION_VALUE_ROW(OPTION_STRING, __VA_ARGS__)
#define OPTION_PATH_ROW(...) OPTION_VALUE_ROW(OPTION_PATH, __VA_ARGS__)
#define OPTION_PATHS_ROW(...) OPTION_VALUE_ROW(OPTION_PATHS, __VA_ARGS__)
#define OPTION_OUTPUT_ROW(...) OPTION_VALUE_ROW(OPTION_OUTPUT, __VA_ARGS__)
#define OPTION_LIST_ROW(...) OPTION_VALUE_ROW(OPTION_LIST, __VA_ARGS__)
#define OPTION_CHOICE_ROW(name_, argument_, choices_, ...)                                         \
    {                                                                                              \
        .name = name_, .type = OPTION_CHOICE, .argument = argument_, .choices = choices_,          \
        .help = __VA_ARGS__                                                                        \
    }
#define OPTION_INTEGER_ROW(name_, argument_, least_, most_, ...)                                   \
    {                                                                                              \
        .name = name_, .type = OPTION_INTEGER, .argument = argument_, .least = least_,             \
        .most = most_, .help = __VA_ARGS__                                                         \
    }
#define OPTION_REAL_ROW(name_, argument_, low_, high_, ...)                                        \
    {                                                                                              \
        .name = name_, .type = OPTION_REAL, .argument = argument_, .low = low_, .high = high_,     \
        .help = __VA_ARGS__                                                                        \
    }

/* The --seed row of a command's table. */
#define OPTION_SEED_ROW                                                                            \
    {                                                                                              \
        .name = "seed", .type = OPTION_SEED, .argument = "N", .fallback = "42",                    \
        .help = "seed of the random numbers, or 'random' to have one picked and printed"           \
    }

/* ---- values (options.c) ---- */

typedef struct option_value {
    bool given;
    const char *text; /* as written, or the fallback; NULL: neither */
    uint64_t integer; /* integer, seed, size; choice: which one, from 0 */
    double real;
    char **items; /* list, paths */
    size_t n_items;
} option_value;

/* Parse text into value.  On failure false, and problem says what was found and expected. */
bool option_value_parse(const cli_option *option, const char *text, option_value *value,
                        char *problem, size_t size);
void option_value_clear(option_value *value);

/* The i-th of "a|b|c", not terminated; NULL past the end. */
const char *option_choice(const cli_option *option, size_t i, size_t *length);

/* Help phrase with choices, range and default, as shown to users. */
void option_describe(const cli_option *option, char *buffer, size_t size);

/* ---- parsing (arguments_parse.c) ---- */

struct cli_arguments {
    const cli_command *command;
    option_value *values; /* one per option, in table order */
    const char **operands;
    size_t n_operands;
    char *listed;       /* operands out of --files-from are in here; or NULL */
    char *const *words; /* all words after the command's name, as typed */
    int n_words;
};

typedef enum parse_outcome {
    PARSE_RUN,
    PARSE_HELP,
    PARSE_VERSION,
    PARSE_BAD,
    PARSE_FAILED
} parse_outcome;

/* Parse the words after the command's name.  After PARSE_BAD (usage) and
 * PARSE_FAILED (a list of files cannot be read) the user was told.  Free in any case.
 */
parse_outcome arguments_parse(const cli_command *command, int n_words, char *const *words,
                              cli_arguments *parsed);
void arguments_free(cli_arguments *parsed);

/* ---- commands (commands.c) ---- */

/* The i-th option of a command, over all its groups; NULL past the end. */
const cli_option *command_option(const cli_command *command, size_t i);
/* Index of the option whose long name is these `length` bytes; SIZE_MAX if there is none. */
size_t command_find_option(const cli_command *command, const char *name, size_t length);
/* The last word of a command's name. */
const char *command_word(const cli_command *command);
/* By its last word in a NULL-terminated table; NULL if there is none. */
const cli_command *command_find(const cli_command *const *table, const char *word);

/* ---- values by long name (arguments.c) ---- */

/* Asking for an option that is not in the command's table, or for the wrong
 * type, is a defect of ours and ends the program loudly. */
bool arguments_has(const cli_arguments *parsed, const char *name); /* is it in the table? */
bool arguments_given(const cli_arguments *parsed, const char *name);
bool arguments_flag(const cli_arguments *parsed, const char *name);
const char *arguments_string(const cli_arguments *parsed, const char *name); /* or NULL */
const char *arguments_path(const cli_arguments *parsed, const char *name);   /* or NULL */
uint64_t arguments_integer(const cli_arguments *parsed,
                           const char *name);                         /* 0: none given, or a word */
double arguments_real(const cli_arguments *parsed, const char *name); /* 0: none given */
/* Value of --threads for the library. */
int arguments_threads(const cli_arguments *parsed);
uint64_t arguments_size(const cli_arguments *parsed, const char *name);       /* 0: none given */
const char *arguments_choice(const cli_arguments *parsed, const char *name);  /* or NULL */
size_t arguments_choice_index(const cli_arguments *parsed, const char *name); /* from 0 */
const char *const *arguments_list(const cli_arguments *parsed, const char *name, size_t *n);
const char *const *arguments_paths(const cli_arguments *parsed, const char *name, size_t *n);
/* The seed; picks and prints one for "random".  Returns an exit code. */
int arguments_seed(const cli_arguments *parsed, uint64_t *seed);

/* The command line as one could type it again; to be freed. */
char *arguments_line(const cli_arguments *parsed);

/* ---- what is wrong (usage.c, suggest.c) ---- */

/* "phloem: <problem>" and where to find help, on standard error.  Returns the exit code, 2. */
int usage_error(const cli_command *command, const char *format, ...) PHL_PRINTF(2, 3);

/* The record as a message, for wrong usage with where to find help.  Returns the exit code. */
int usage_report(const cli_command *command, const phl_error *error);

/* The candidate a mistyped word was probably meant to be; NULL when none is near. */
const char *suggest(const char *word, const char *const *candidates, size_t n);

/* ---- texts (help.c, manual.c) ---- */

void help_overview(void); /* phloem alone: on standard error */
void help_program(void);  /* phloem --help */
void help_command(const cli_command *command);
void manual_program(void); /* roff, on standard output */
void manual_command(const cli_command *command);

extern const example program_examples[];
extern const char *const program_about;
extern const char *const exit_codes[][2]; /* code, meaning; ends with NULL */

#endif
