/* interrupt.h - what happens on Ctrl-C.
 *
 * While nothing of the output is on disk an interruption ends the program at once.  While output is
 * being written the library is asked to stop and clean up; a second signal ends the program anyway.
 */
#ifndef PHLOEM_CLI_INTERRUPT_H
#define PHLOEM_CLI_INTERRUPT_H

#include <stdbool.h>

/* SIGINT, SIGTERM and SIGHUP as above, SIGPIPE ends the program quietly. */
void interrupt_install(void);
/* From here on signals are polled (true) or end the program at once (false, the start). */
void interrupt_poll(bool polled);
/* From here on there is something on standard output when a signal ends the program. */
void interrupt_partial(void);
/* A phl_cancel_fn: true once a polled signal came. */
bool interrupt_asked(void *context);

/* Signals end the program at once again, without a word. */
void interrupt_release(void);

#endif
