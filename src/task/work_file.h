/* work_file.h - a file that keeps the trials of a cross-validation (docs/formats.md).
 *
 * JSON, a value per line: what is evaluated, then every trial that is done, then the SHA-256 of the
 * lines before.  The file is written anew after each trial and put in place when it is whole; a
 * kill at any moment loses the trial at hand and no other.  While a cross-validation is at work on
 * the file it holds a lock on it, where file systems have locks.
 */
#ifndef PHL_TASK_WORK_FILE_H
#define PHL_TASK_WORK_FILE_H

#include "base/placing.h"
#include "task/trials.h"

#define PHL_WORK_FILE_BEGIN "{\"phloem\":\"evaluation\","

typedef struct phl_work_file {
    const char *path;    /* borrowed; NULL: there is none */
    int lock;            /* of the file that was found; -1: none */
    phl_placing placing; /* of the file as it was written last, which holds its lock */
} phl_work_file;

/* Put what the file keeps into the trials, which it must be of, or begin a new one.  Close in any
 * case. */
phl_status phl_work_file_open(phl_work_file *work, const char *path, phl_trials *trials,
                              phl_error *error);
phl_status phl_work_file_write(phl_work_file *work, const phl_trials *trials, phl_error *error);
void phl_work_file_close(phl_work_file *work);

/* All that a file holds; `trials` are zeroed before.  Whatever its bytes are, they are sound trials
 * or refused.  An open file may be given, else -1. */
phl_status phl_work_file_read(const char *path, int file, phl_trials *trials, phl_error *error);
/* The trials into a file of any name. */
phl_status phl_work_file_save(const phl_trials *trials, const char *path, bool replace,
                              phl_error *error);

#endif
