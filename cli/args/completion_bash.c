/* completion_bash.c - bash completion: phloem --completion bash; see completion.h. */
#include "args/completion.h"

#include <stdio.h>

static void put_words(const cli_command *const *table)
{
    for (size_t i = 0; table[i]; i++) {
        printf("%s%s", i ? " " : "", command_word(table[i]));
    }
}

/* "convert:--from|convert:-f)" and what its value completes to. */
static void put_option_values(const cli_command *c)
{
    const cli_option *o;
    for (size_t i = 0; (o = command_option(c, i)); i++) {
        if (o->type == OPTION_FLAG) {
            continue;
        }
        printf("    '%s:--%s'", c->name, o->name);
        if (o->letter) {
            printf(" | '%s:-%c'", c->name, o->letter);
        }
        printf(") ");
        switch (completion_kind(o)) {
        case COMPLETION_WORDS:
            printf("values='");
            completion_words(o);
            printf("' ;;\n");
            break;
        case COMPLETION_FILES:
            printf("kind=files ;;\n");
            break;
        case COMPLETION_FREE:
            printf("kind=free ;;\n");
            break;
        }
    }
}

static void put_option_names(const cli_command *c)
{
    const cli_option *o;
    printf("    '%s') options='", c->name);
    for (size_t i = 0; (o = command_option(c, i)); i++) {
        printf("%s--%s%s", i ? " " : "", o->name, o->type == OPTION_FLAG ? "" : "=");
    }
    printf("' operands=");
    if (c->operand_choices) {
        putchar('\'');
        completion_choices(c->operand_choices);
        printf("' ;;\n");
    } else {
        printf("%s ;;\n", c->operands ? "files" : "none");
    }
}

static void put_subcommands(void)
{
    for (size_t i = 0; program_commands[i]; i++) {
        if (!program_commands[i]->subcommands) {
            continue;
        }
        printf("    '%s')\n        if [[ $second ]]; then\n            command+=\" $second\"\n"
               "        else\n            mapfile -t COMPREPLY < <(compgen -W '",
               program_commands[i]->name);
        put_words(program_commands[i]->subcommands);
        printf(" --help' -- \"$current\")\n            return\n        fi\n        ;;\n");
    }
}

void completion_bash(void)
{
    printf(
        "# bash completion of phloem %s; written by phloem --completion bash\n"
        "_phloem() {\n"
        "    local current previous command='' second='' options='' operands='' values='' kind=''\n"
        "    local word i\n"
        "    COMPREPLY=()\n"
        "    current=${COMP_WORDS[COMP_CWORD]}\n"
        "    previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
        "    # --name=value comes as three words where = is a word break\n"
        "    if [[ $current == = ]]; then\n"
        "        current=''\n"
        "    elif [[ $previous == = ]]; then\n"
        "        previous=${COMP_WORDS[COMP_CWORD - 2]}\n"
        "    fi\n"
        "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
        "        word=${COMP_WORDS[i]}\n"
        "        [[ $word == -* ]] && continue\n"
        "        if [[ ! $command ]]; then\n"
        "            command=$word\n"
        "        elif [[ ! $second ]]; then\n"
        "            second=$word\n"
        "        fi\n"
        "    done\n",
        phl_version());
    printf("    if [[ $command == help && ! $second ]]; then\n"
           "        mapfile -t COMPREPLY < <(compgen -W '");
    put_words(program_commands);
    printf("' -- \"$current\")\n"
           "        return\n"
           "    elif [[ ! $command ]]; then\n"
           "        mapfile -t COMPREPLY < <(compgen -W '");
    put_words(program_commands);
    printf(" help --help --version --completion' -- \"$current\")\n"
           "        return\n"
           "    fi\n"
           "    case $command in\n");
    put_subcommands();
    printf("    esac\n    case $command in\n");
    completion_each_command(put_option_names);
    printf("    *) return ;;\n    esac\n    case \"$command:$previous\" in\n");
    completion_each_command(put_option_values);
    printf("    esac\n"
           "    if [[ $values ]]; then\n"
           "        mapfile -t COMPREPLY < <(compgen -W \"$values\" -- \"$current\")\n"
           "    elif [[ $kind == free ]]; then\n"
           "        return\n"
           "    elif [[ ! $kind && $current == -* ]]; then\n"
           "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
           "        [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null\n"
           "    elif [[ $kind == files || $operands == files ]]; then\n"
           "        compopt -o filenames 2>/dev/null\n"
           "        mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
           "    elif [[ $operands != none ]]; then\n"
           "        mapfile -t COMPREPLY < <(compgen -W \"$operands\" -- \"$current\")\n"
           "    fi\n"
           "}\n"
           "complete -F _phloem phloem\n");
}
