/* team.h - the ranks of phloem-mpi: agreeing with each other, and work that the first hands out.
 *
 * Only the thread that called team_begin talks to MPI.
 */
#ifndef PHLOEM_CLI_TEAM_H
#define PHLOEM_CLI_TEAM_H

#include <stdbool.h>
#include <stddef.h>

void team_begin(int *argc, char ***argv);
/* Wait, asleep, for the others, and leave. */
void team_end(void);
/* End all ranks at once. */
void team_abort(int code);

bool team_begun(void);
size_t team_rank(void); /* from 0; 0 before the beginning */
size_t team_size(void);

/* Ranks other than the first say nothing (true), or may speak again. */
void team_mute(bool mute);

/* All ranks: the worst of their exit codes.  If the first rank's own was good, it tells whose was
 * not; `what` could not be done there. */
int team_agree(int code, const char *what);
/* All ranks: `size` bytes as the first rank has them. */
void team_share(void *bytes, size_t size);

/* All ranks: do the tasks 1 to n, each on the rank that is free first, in this order.  Returns, on
 * the first rank, EXIT_OK or the code of a task that was interrupted, after which no other begins;
 * on the others EXIT_OK.  When a task fails, all ranks end.  `interrupted` is what the first rank
 * says when that happens, at once: a launcher that ends a job gives ranks little time. */
typedef int team_task(size_t number, void *context);
int team_work(size_t n, team_task *task, bool quiet, const char *interrupted, void *context);

#endif
