/* training_start.c - what a training is to be, before any tree is read. */
#include "print/terminal.h"
#include "training.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int training_start_check(const cli_arguments *parsed)
{
    const char *path = arguments_path(parsed, "output");
    struct stat known;
    if (strcmp(path, "-") == 0) {
        return usage_error(parsed->command, "a run is a file, it cannot go to standard output");
    }
    if (lstat(path, &known) == 0) {
        if (S_ISDIR(known.st_mode)) {
            return usage_error(parsed->command, "the output '%s' is a folder", path);
        }
        if (!arguments_flag(parsed, "force")) {
            return usage_error(parsed->command, "%s exists already; --force replaces it", path);
        }
    }
    const char *slash = strrchr(path, '/');
    char *folder = terminal_allocate(strlen(path) + 2, 1);
    strcpy(folder, ".");
    if (slash) {
        size_t length = slash == path ? 1 : (size_t)(slash - path);
        memcpy(folder, path, length);
        folder[length] = '\0';
    }
    bool missing = access(folder, W_OK | X_OK) != 0;
    if (missing) {
        terminal_message("cannot write %s: the folder %s: %s", path, folder, strerror(errno));
    }
    free(folder);
    return missing ? EXIT_SYSTEM : EXIT_OK;
}

int training_start_read(const cli_arguments *parsed, const training_members *members, void *line,
                        training *how)
{
    int code = training_begin(parsed, line, members->n > 0 ? members->kinds[0] : PHL_NO_KIND, how);
    if (code != EXIT_OK) {
        return code;
    }
    uint32_t usual = training_members_states(how->options.kind, members);
    how->options.members = members->text;
    how->options.states_auto =
        arguments_given(parsed, "states") && arguments_integer(parsed, "states") == 0;
    how->options.states = arguments_given(parsed, "states") && !how->options.states_auto
                              ? (uint32_t)arguments_integer(parsed, "states")
                              : usual;
    how->options.states_max = (uint32_t)arguments_integer(parsed, "states-max");
    if (arguments_given(parsed, "states-max") && !how->options.states_auto) {
        return usage_error(parsed->command, "option --states-max belongs to --states auto");
    }
    how->options.per_class = arguments_flag(parsed, "per-class");
    if (how->options.states_auto && how->options.kind == PHL_GRAMMAR) {
        return usage_error(parsed->command,
                           "--states auto is not for --model grammar, which finds the number of "
                           "annotations of each label by itself");
    }
    return EXIT_OK;
}
