/* run_place.c - who may write to a run file, and how a new one takes its place; see run_place.h. */
#include "store/run_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "store/database.h"

enum { FOLDER_TRIES = 1000, FOLDER_PAUSE = 10 /* milliseconds */ };

/* What SQLite keeps beside a file. */
static const char *const endings[] = {"-journal", "-wal", "-shm"};
enum { ENDINGS = sizeof endings / sizeof *endings, LONGEST_ENDING = 8 };

phl_status phl_run_place_lock(const char *path, int *lock, phl_error *error)
{
    phl_position position = {path, 0, 0};
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return phl_raise_errno(error, PHL_ERR_OPEN, errno, path, "cannot open");
    }
    /* Where a file system knows no locks there is nothing to be told. */
    bool busy = flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (busy || !phl_placing_is_file(path, file)) {
        (void)close(file);
        return phl_raise_at(error, PHL_ERR_WRITE, position, "wait for it to end, or stop it",
                            "another training is at work on this run");
    }
    phl_placing_sweep(path, file);
    *lock = file;
    return PHL_OK;
}

void phl_run_place_unlock(int *lock)
{
    if (*lock >= 0) {
        (void)close(*lock);
        *lock = -1;
    }
}

phl_status phl_run_place_check(const char *path, int lock, phl_error *error)
{
    phl_position position = {path, 0, 0};
    return phl_placing_is_file(path, lock)
               ? PHL_OK
               : phl_raise_at(
                     error, PHL_ERR_WRITE, position,
                     "leave the file in its place while a training writes to it",
                     "cannot write: the run was moved, removed or replaced in the meantime");
}

/* Step 3: nothing that lies beside the locked file belongs to it any more. */
static phl_status settle(const char *file, const char *name, int lock, phl_error *error)
{
    phl_status status = phl_run_place_check(name, lock, error);
    return status == PHL_OK ? phl_database_settle(file, name, lock, error) : status;
}

phl_status phl_run_place_begin(const char *path, bool replace, int *lock, phl_error *error)
{
    phl_position position = {path, 0, 0};
    struct stat info;
    *lock = -1;
    if (strcmp(path, "-") == 0) {
        return phl_raise(error, PHL_ERR_ARGUMENT, "a run is a file: give its name",
                         "a run cannot be written to standard output");
    }
    if (stat(path, &info) != 0) {
        return PHL_OK; /* what else is in the way shows when the file is made */
    }
    if (!S_ISREG(info.st_mode)) {
        return phl_raise_at(error, PHL_ERR_WRITE, position, "a run is a file: give its name",
                            "cannot write: it is %s",
                            S_ISDIR(info.st_mode) ? "a folder" : "not a regular file");
    }
    if (!replace) {
        return phl_raise_at(error, PHL_ERR_WRITE, position,
                            "choose another name, or replace it with " PHL_OPTION("file.replace"),
                            "the file exists already");
    }
    phl_status status = phl_run_place_lock(path, lock, error);
    if (status == PHL_OK) {
        status = settle(path, path, *lock, error);
    }
    if (status != PHL_OK) {
        phl_run_place_unlock(lock);
    }
    return status;
}

/* A lock on the folder of the target: *folder, or -1 where folders cannot be locked. */
static phl_status lock_folder(const phl_placing *placing, int *folder, phl_error *error)
{
    phl_position position = {placing->name, 0, 0};
    const struct timespec pause = {0, FOLDER_PAUSE * 1000000L};
    *folder = phl_placing_open_folder(placing->target);
    for (int tries = 0; *folder >= 0 && flock(*folder, LOCK_EX | LOCK_NB) != 0; tries++) {
        bool busy = errno == EWOULDBLOCK || errno == EINTR;
        if (busy && tries < FOLDER_TRIES) {
            (void)nanosleep(&pause, NULL);
            continue;
        }
        (void)close(*folder);
        *folder = -1;
        if (busy) {
            return phl_raise_at(error, PHL_ERR_WRITE, position, "try again when it is done",
                                "cannot write: another program has locked the folder");
        }
    }
    return PHL_OK;
}

/* What lies beside a target that it does not belong to: SQLite would play it into the new file. */
static phl_status remove_leftovers(const phl_placing *placing, bool allowed, phl_error *error)
{
    size_t length = strlen(placing->target);
    char *name = phl_alloc(length + LONGEST_ENDING + 1, 1, error);
    phl_status status = name == NULL ? PHL_ERR_MEMORY : PHL_OK;
    phl_position position = {placing->name, 0, 0};
    struct stat info;
    for (size_t i = 0; status == PHL_OK && i < ENDINGS; i++) {
        (void)snprintf(name, length + LONGEST_ENDING + 1, "%s%s", placing->target, endings[i]);
        if (lstat(name, &info) != 0) {
            continue;
        }
        if (!allowed) {
            status = phl_raise_at(error, PHL_ERR_WRITE, position, "remove it",
                                  "cannot write: there is a file %s%s that belongs to another run",
                                  placing->name, endings[i]);
        } else if (unlink(name) != 0 && errno != ENOENT) {
            status = phl_raise_errno(error, PHL_ERR_WRITE, errno, placing->name,
                                     "cannot write: cannot remove the old %s%s", placing->name,
                                     endings[i]);
        }
    }
    phl_free(name);
    return status;
}

phl_status phl_run_place_commit(phl_placing *placing, int *lock, phl_error *error)
{
    struct stat info;
    int folder = -1;
    phl_status status = lock_folder(placing, &folder, error);
    bool taken = lstat(placing->target, &info) == 0;
    bool replaces = taken && *lock >= 0;
    if (status == PHL_OK && replaces) {
        status = settle(placing->target, placing->name, *lock, error);
    }
    if (status == PHL_OK && (replaces || !taken)) {
        status = remove_leftovers(placing, replaces || folder >= 0, error);
    }
    if (status == PHL_OK) {
        status = phl_placing_commit(placing, replaces ? PHL_PLACING_REPLACES : PHL_PLACING_IS_NEW,
                                    error);
    }
    if (status == PHL_OK) {
        phl_run_place_unlock(lock);
        *lock = placing->file;
        placing->file = -1;
    }
    phl_run_place_unlock(&folder);
    return status;
}
