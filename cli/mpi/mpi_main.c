/* mpi_main.c - phloem-mpi: its commands, run by all ranks of an MPI job. */
#include "interrupt.h"
#include "mpi/mpi_commands.h"
#include "mpi/team.h"
#include "outputs.h"
#include "print/terminal.h"
#include "program.h"

#include <string.h>

const cli_command *const program_commands[] = {&command_mpi_train, &command_mpi_resume, NULL};
const char program_name[] = "phloem-mpi";

static int check_outputs(const cli_arguments *parsed)
{
    int code = team_rank() == 0 ? outputs_check(parsed) : EXIT_OK;
    code = team_agree(code, "begin");
    return code == EXIT_OK || team_rank() == 0 ? code : EXIT_USAGE;
}

/* Only text is asked for, which needs no ranks. */
static bool asks_help(int n_words, char *const *words)
{
    static const char *const known[] = {"--help", "-h", "--version", "-V", "help", "--man"};
    bool asks = n_words == 0;
    for (int i = 0; i < n_words; i++) {
        for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
            asks = asks || strcmp(words[i], known[k]) == 0;
        }
    }
    return asks;
}

int main(int argc, char **argv)
{
    program_open_streams();
    if (asks_help(argc - 1, argv + 1)) {
        return program_run(argc > 0 ? argc - 1 : 0, argv + 1, outputs_check);
    }
    team_begin(&argc, &argv);
    interrupt_install();
    team_mute(true); /* all ranks parse the same words */
    int code = program_run(argc > 0 ? argc - 1 : 0, argv + 1, check_outputs);
    team_mute(false);
    size_t rank = team_rank();
    if (code == EXIT_SYSTEM && rank > 0) { /* where others may wait for this rank */
        terminal_message("rank %zu cannot begin", rank);
        team_abort(code);
    }
    int written = terminal_finish();
    interrupt_release(); /* launchers end the other ranks when one has failed */
    team_end();
    code = written != EXIT_OK && code == EXIT_OK ? written : code;
    return rank == 0 ? code : EXIT_OK;
}
