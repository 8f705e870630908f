/* completion_zsh.c - zsh completion: phloem --completion zsh; see completion.h. */
#include "args/completion.h"

#include <stdio.h>

/* 'train:what it does' of each command of a table. */
static void put_commands(const cli_command *const *table)
{
    for (size_t i = 0; table[i]; i++) {
        printf(" '%s:", command_word(table[i]));
        completion_phrase(table[i]->summary);
        putchar('\'');
    }
}

/* An option as _arguments wants it: names that exclude each other, help, and its value. */
static void put_option(const cli_option *o)
{
    bool value = o->type != OPTION_FLAG;
    bool repeats = o->type == OPTION_LIST || o->type == OPTION_PATHS;
    printf(" \\\n        ");
    if (repeats) {
        printf("'*'");
    } else if (o->letter) {
        printf("'(-%c --%s)'", o->letter, o->name);
    }
    if (o->letter) {
        printf("{-%c%s,--%s%s}", o->letter, value ? "+" : "", o->name, value ? "=" : "");
    } else {
        printf("--%s%s", o->name, value ? "=" : "");
    }
    printf("'[");
    completion_phrase(o->help);
    putchar(']');
    if (value) {
        printf(":%s:", o->argument);
        switch (completion_kind(o)) {
        case COMPLETION_WORDS:
            putchar('(');
            completion_words(o);
            putchar(')');
            break;
        case COMPLETION_FILES:
            printf("_files");
            break;
        case COMPLETION_FREE:
            putchar(' ');
            break;
        }
    }
    putchar('\'');
}

static void put_options(const cli_command *c)
{
    const cli_option *o;
    printf("    '%s')\n    _arguments -s -S", c->name);
    for (size_t i = 0; (o = command_option(c, i)); i++) {
        put_option(o);
    }
    if (c->operand_choices) {
        printf(" \\\n        '*:%s:(", c->operands ? c->operands : "");
        completion_choices(c->operand_choices);
        printf(")'");
    } else if (c->operands) {
        printf(" \\\n        '*:file:_files'");
    }
    printf(" ;;\n");
}

void completion_zsh(void)
{
    printf("#compdef phloem\n"
           "# zsh completion of phloem %s; written by phloem --completion zsh\n"
           "_phloem() {\n"
           "    local -a commands\n"
           "    local command=${words[2]}\n"
           "    commands=(",
           phl_version());
    put_commands(program_commands);
    printf(" 'help:the help of a command')\n"
           "    if (( CURRENT == 2 )); then\n"
           "        _describe -t commands command commands -- \\\n"
           "            '(--help --version --completion)'\n"
           "        return\n"
           "    fi\n"
           "    shift words\n"
           "    (( CURRENT-- ))\n"
           "    case $command in\n"
           "    help)\n"
           "        (( CURRENT == 2 )) && _describe -t commands command commands\n"
           "        return ;;\n"
           "    --completion)\n"
           "        (( CURRENT == 2 )) && compadd bash zsh fish\n"
           "        return ;;\n");
    for (size_t i = 0; program_commands[i]; i++) {
        if (program_commands[i]->subcommands) {
            printf("    %s)\n        commands=(", program_commands[i]->name);
            put_commands(program_commands[i]->subcommands);
            printf(")\n"
                   "        if (( CURRENT == 2 )); then\n"
                   "            _describe -t commands command commands\n"
                   "            return\n"
                   "        fi\n"
                   "        command+=\" ${words[2]}\"\n"
                   "        shift words\n"
                   "        (( CURRENT-- )) ;;\n");
        }
    }
    printf("    esac\n    case $command in\n");
    completion_each_command(put_options);
    printf("    esac\n"
           "}\n"
           "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n"
           "    _phloem \"$@\"\n"
           "else\n"
           "    compdef _phloem phloem\n"
           "fi\n");
}
