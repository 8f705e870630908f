/* run_lock.c - who may train on a run file, and how a new one takes its place; see run_file.h.
 *
 * A training holds a lock (flock) on its run file from the moment it has one.  What it writes under
 * a name that others may use too is decided by that lock:
 *   - a file that is locked is replaced by rename, after its write-ahead log was folded into it: an
 *     old log must never lie beside a new file, into which SQLite would play it;
 *   - where none is locked the new file is put in place by link, which fails when somebody else was
 *     quicker.  The folder is locked meanwhile, so that a log without a file can be removed: the
 *     one who makes the file makes its log later.
 * So of two trainings on one name one gives way, and a program killed between any two of these
 * steps leaves the old run or the new one, whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "store/run_file.h"

phl_status phl_run_lock(const char *path, int *lock, phl_error *error)
{
    phl_position position = {path, 0, 0};
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return phl_raise_errno(error, PHL_ERR_OPEN, errno, path, "cannot open");
    }
    /* Where a file system knows no locks there is nothing to be told.  Somebody may have put
     * another file in its place between the two calls. */
    if ((flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) ||
        !phl_placing_is_file(path, file)) {
        (void)close(file);
        return phl_raise_at(error, PHL_ERR_WRITE, position, "wait for it to end, or stop it",
                            "another training is at work on this run");
    }
    *lock = file;
    return PHL_OK;
}

void phl_run_unlock(int *lock)
{
    if (*lock >= 0) {
        (void)close(*lock);
        *lock = -1;
    }
}

phl_status phl_run_check_lock(const char *path, int lock, phl_error *error)
{
    phl_position position = {path, 0, 0};
    return phl_placing_is_file(path, lock)
               ? PHL_OK
               : phl_raise_at(error, PHL_ERR_WRITE, position,
                              "leave a run where it is while it is being trained",
                              "the run is not the file it was: it was moved, removed or replaced");
}

/* What SQLite would play into a file of that name. */
static const char *const companions[] = {"-journal", "-wal", "-shm"};
enum { JOURNAL = 1, ALL_COMPANIONS = 3, LONGEST_ENDING = 8 };

/* Any of the first n there?  With `remove`, they are removed. */
static phl_status find_companions(const char *target, size_t n, bool remove, bool *found,
                                  phl_error *error)
{
    size_t length = strlen(target);
    char *name = phl_alloc(length + LONGEST_ENDING + 1, 1, error);
    if (name == NULL) {
        return PHL_ERR_MEMORY;
    }
    phl_status status = PHL_OK;
    memcpy(name, target, length);
    *found = false;
    for (size_t i = 0; i < n && status == PHL_OK; i++) {
        struct stat info;
        memcpy(name + length, companions[i], strlen(companions[i]) + 1);
        if (lstat(name, &info) != 0) {
            continue;
        }
        *found = true;
        if (remove && unlink(name) != 0 && errno != ENOENT) {
            status = phl_raise_errno(error, PHL_ERR_WRITE, errno, name, "cannot remove");
        }
    }
    phl_free(name);
    return status;
}

/* Make the locked run one file.  What is no database has no log worth keeping. */
static phl_status settle(const phl_placing *placing, phl_error *error)
{
    bool found = false;
    phl_status status = find_companions(placing->target, ALL_COMPANIONS, false, &found, error);
    if (status != PHL_OK || !found) {
        return status;
    }
    status = phl_database_settle(placing->target, placing->name, error);
    return status == PHL_OK ? find_companions(placing->target, ALL_COMPANIONS, true, &found, error)
                            : status;
}

phl_status phl_run_recover(const char *path, phl_error *error)
{
    bool found = false;
    char *target = realpath(path, NULL);
    if (target == NULL) {
        return phl_raise_errno(error, PHL_ERR_OPEN, errno, path, "cannot open");
    }
    phl_status status = find_companions(target, JOURNAL, false, &found, error);
    if (status == PHL_OK && found) {
        status = phl_database_settle(target, path, error);
    }
    phl_free(target);
    return status;
}

/* Where there is no file. */
static phl_status put_new(phl_placing *placing, phl_error *error)
{
    bool found = false;
    struct stat info;
    phl_status status = PHL_OK;
    int folder = phl_placing_open_folder(placing->target);
    if (folder >= 0) {
        (void)flock(folder, LOCK_EX);
    }
    if (lstat(placing->target, &info) != 0 && errno == ENOENT) {
        status = find_companions(placing->target, ALL_COMPANIONS, true, &found, error);
    }
    if (status == PHL_OK) {
        status = phl_placing_commit(placing, PHL_PLACING_IS_NEW, error);
    }
    if (folder >= 0) {
        (void)close(folder);
    }
    return status;
}

phl_status phl_run_put(phl_placing *placing, int old_lock, phl_error *error)
{
    if (old_lock < 0 || !phl_placing_is_file(placing->target, old_lock)) {
        return put_new(placing, error);
    }
    phl_status status = settle(placing, error);
    return status == PHL_OK ? phl_placing_commit(placing, PHL_PLACING_REPLACES, error) : status;
}
