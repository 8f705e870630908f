/* run_place.h - who may write to a run file, and how a new one takes its place.
 *
 * A run is the file NAME and, while it is being written to or after a kill, the log NAME-wal (with
 * its index NAME-shm) beside it.  SQLite plays a log into whatever file has the name, so that a log
 * must never lie beside a file it does not belong to, not even for a moment.  Hence:
 *
 *  1. Whoever writes to the file NAME holds a lock (flock) on it: on the file, not on its name.
 *     After taking the lock one looks whether NAME still is that file.  A new file is locked by
 *     its maker from its first byte on, under its temporary name (base/placing.h).
 *  2. A new file takes the name in one step.  Where a file was locked, it replaces that file and
 *     no other (rename); where there was none, it fails if there is one by now (link).  Of two
 *     trainings that begin on a name without a file the second one thus fails, and so does every
 *     one that comes while the first is at work.
 *  3. Before a file is replaced its own log is folded into it and it is set to have none, which
 *     SQLite allows only while nobody else has it open with its log.  From there on nobody makes a
 *     log beside the old file; names that still lie there belong to nothing and are removed, and
 *     then the new file takes the name.  A program that dies anywhere in between leaves the old
 *     run, whole, and after the last step the new one.
 *  4. The steps from looking at the name to taking it are done with a lock on the folder: nobody
 *     removes as a leftover the log of a file that has just got the name.  Where folders cannot be
 *     locked, leftovers beside a name without a file are not removed but refused.
 *  5. The file that SQLite has open is compared with the one that is locked, when it is opened and
 *     whenever something is written.  A reader that finds another file under the name, after its
 *     first look inside, opens it again.
 *
 * Locks go with their process.  Where a file system has none, only link and rename are left.
 */
#ifndef PHL_STORE_RUN_PLACE_H
#define PHL_STORE_RUN_PLACE_H

#include "base/placing.h"

/* Take the right to write to a run file, which others may still read: *lock is a descriptor.  It
 * ends with phl_run_place_unlock or with the process.  Closing it drops SQLite's locks on the file,
 * so close databases first. */
phl_status phl_run_place_lock(const char *path, int *lock, phl_error *error);
void phl_run_place_unlock(int *lock); /* fine on -1 */

/* Is the file still under its name?  What is written to one that is not would be lost. */
phl_status phl_run_place_check(const char *path, int lock, phl_error *error);

/* A run is to be written to `path`: is that possible?  *lock is the lock on the file that it may
 * replace, or -1 if there is none. */
phl_status phl_run_place_begin(const char *path, bool replace, int *lock, phl_error *error);
/* Put a complete file in place: of the file that *lock locks, or of none.  On success *lock is the
 * lock on the new one. */
phl_status phl_run_place_commit(phl_placing *placing, int *lock, phl_error *error);

#endif
