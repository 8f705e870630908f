/* completion_fish.c - fish completion: phloem --completion fish; see completion.h. */
#include "args/completion.h"

#include <stdio.h>

static void put_command(const cli_command *c, const char *condition)
{
    printf("complete -c phloem -n '%s' -a %s -d '", condition, command_word(c));
    completion_phrase(c->summary);
    printf("'\n");
}

static void put_options(const cli_command *c)
{
    const cli_option *o;
    for (size_t i = 0; (o = command_option(c, i)); i++) {
        printf("complete -c phloem -n '__phloem_is %s' -l %s", c->name, o->name);
        if (o->letter) {
            printf(" -s %c", o->letter);
        }
        if (o->type != OPTION_FLAG) {
            completion_value kind = completion_kind(o);
            printf(kind == COMPLETION_FILES ? " -r -F" : " -x");
            if (kind == COMPLETION_WORDS) {
                printf(" -a '");
                completion_words(o);
                putchar('\'');
            }
        }
        printf(" -d '");
        completion_phrase(o->help);
        printf("'\n");
    }
    if (c->operand_choices) {
        printf("complete -c phloem -n '__phloem_is %s' -a '", c->name);
        completion_choices(c->operand_choices);
        printf("'\n");
    } else if (c->operands) {
        printf("complete -c phloem -n '__phloem_is %s' -F\n", c->name);
    }
}

void completion_fish(void)
{
    printf(
        "# fish completion of phloem %s; written by phloem --completion fish\n"
        "\n"
        "# The words before the cursor that are no options.\n"
        "function __phloem_words\n"
        "    for word in (commandline -opc)[2..-1]\n"
        "        string match -q -- '-*' $word; or echo $word\n"
        "    end\n"
        "end\n"
        "# They begin with these.\n"
        "function __phloem_is\n"
        "    set -l words (__phloem_words)\n"
        "    test (count $words) -ge (count $argv)\n"
        "    and test (string join ' ' -- $words[1..(count $argv)]) = (string join ' ' -- $argv)\n"
        "end\n"
        "# They are just these.\n"
        "function __phloem_ends\n"
        "    set -l words (__phloem_words)\n"
        "    test \"$words\" = \"$argv\"\n"
        "end\n"
        "\n"
        "complete -c phloem -f\n",
        phl_version());
    for (size_t i = 0; program_commands[i]; i++) {
        char condition[100];
        put_command(program_commands[i], "__phloem_ends");
        put_command(program_commands[i], "__phloem_ends help");
        snprintf(condition, sizeof condition, "__phloem_ends %s", program_commands[i]->name);
        for (size_t k = 0; program_commands[i]->subcommands && program_commands[i]->subcommands[k];
             k++) {
            put_command(program_commands[i]->subcommands[k], condition);
        }
    }
    printf("complete -c phloem -n __phloem_ends -a help -d 'the help of a command'\n"
           "complete -c phloem -n __phloem_ends -l help -d 'an overview'\n"
           "complete -c phloem -n __phloem_ends -l version -d 'the version'\n"
           "complete -c phloem -n __phloem_ends -l completion -x -a 'bash zsh fish' "
           "-d 'a completion script'\n");
    completion_each_command(put_options);
}
