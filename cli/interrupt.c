/* interrupt.c - what happens on Ctrl-C; see interrupt.h.
 *
 * Contents: the state (the one mutable global of the command line), the handler, installation.
 */
#include "interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "print/terminal.h"

enum { AT_ONCE, PARTIAL, POLLED, ASKED };
static volatile sig_atomic_t state = AT_ONCE;

static void on_signal(int number)
{
    static const char nothing[] = "phloem: interrupted, nothing was written\n";
    static const char partial[] = "phloem: interrupted, the output is not complete\n";
    (void)number;
    if (state == POLLED) {
        state = ASKED;
        return;
    }
    ssize_t ignored = 0;
    if (state == AT_ONCE) {
        ignored = write(STDERR_FILENO, nothing, sizeof nothing - 1);
    } else if (state == PARTIAL) {
        ignored = write(STDERR_FILENO, partial, sizeof partial - 1);
    }
    (void)ignored;
    _exit(EXIT_INTERRUPTED);
}

void interrupt_install(void)
{
    static const int handled[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal}, old;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++) {
        /* nohup and background jobs come with signals ignored: leave those so. */
        if (sigaction(handled[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN) {
            sigaction(handled[i], &action, NULL);
        }
    }
    /* `phloem ... | head` ends quietly even where a parent ignores SIGPIPE; a file size limit is an
     * ordinary write error. */
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_IGN);
}

void interrupt_release(void)
{
    static const int handled[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++) {
        signal(handled[i], SIG_DFL);
    }
}

void interrupt_poll(bool polled)
{
    if (polled) {
        state = POLLED;
    } else if (state == POLLED) {
        state = AT_ONCE;
    }
}

void interrupt_partial(void)
{
    if (state == AT_ONCE) {
        state = PARTIAL;
    }
}

bool interrupt_asked(void *context)
{
    (void)context;
    return state == ASKED;
}
