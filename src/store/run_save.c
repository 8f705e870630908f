/* run_save.c - writing a run to a new file, complete or not at all.
 *
 * The run is written to a file beside its final name, in one transaction that SQLite syncs to the
 * disk, and then put in place in one step.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "store/run_file.h"

/* What a file could not hold, or would not be accepted again. */
static phl_status check_run(const phl_run *run, phl_error *error)
{
    for (size_t i = 0; i < run->n_meta; i++) {
        if (phl_key_is_reserved(run->meta[i].key)) {
            return phl_raise(error, PHL_ERR_ARGUMENT, "use another key",
                             "'%s' is not free for facts about a run", run->meta[i].key);
        }
    }
    for (size_t i = 0; i < run->n_models; i++) {
        for (size_t d = 0; d < run->models[i].n_draws; d++) {
            const phl_params *params = run->models[i].draws[d].params;
            PHL_CHECK_BUG(params->kind == run->kind && params->states == run->states &&
                              params->slots == run->slots && params->labels == run->labels.count,
                          error);
        }
    }
    return PHL_OK;
}

/* The path behind symbolic links, and the permissions of a file that is replaced (0: none there).
 */
static phl_status find_target(const char *path, bool replace, char **target, mode_t *mode,
                              phl_error *error)
{
    phl_position position = {path, 0, 0};
    struct stat info;
    *mode = 0;
    if (strcmp(path, "-") == 0) {
        return phl_raise(error, PHL_ERR_ARGUMENT, "a run is a file: give its name",
                         "a run cannot be written to standard output");
    }
    if (stat(path, &info) != 0) {
        if (errno != ENOENT) {
            return phl_raise_errno(error, PHL_ERR_WRITE, errno, path, "cannot write");
        }
        *target = phl_copy_text(path, strlen(path), error);
        return *target == NULL ? PHL_ERR_MEMORY : PHL_OK;
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
    *mode = info.st_mode & 07777;
    *target = realpath(path, NULL);
    return *target == NULL ? phl_raise_errno(error, PHL_ERR_WRITE, errno, path, "cannot write")
                           : PHL_OK;
}

/* An empty file in the folder of `target`; its path is to be released with phl_free. */
static phl_status make_temporary(const char *target, const char *path, mode_t mode,
                                 char **temporary, phl_error *error)
{
    size_t size = strlen(target) + 48;
    char *made = phl_alloc(size, 1, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    const char *slash = strrchr(target, '/');
    int folder = slash == NULL ? 0 : (int)(slash - target + 1);
    for (unsigned attempt = 0; attempt < 1000; attempt++) {
        (void)snprintf(made, size, "%.*s.%.200s.%ld-%u.tmp", folder, target, target + folder,
                       (long)getpid(), attempt);
        int file = open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0) {
            if (mode != 0) {
                (void)fchmod(file, mode);
            }
            (void)close(file);
            *temporary = made;
            return PHL_OK;
        }
        if (errno != EEXIST) {
            break;
        }
    }
    int cause = errno;
    phl_free(made);
    return phl_raise_errno(error, PHL_ERR_WRITE, cause, path, "cannot write");
}

/* A journal or log left beside the target by a killed program belongs to the file that is no more:
 * SQLite would play it into the new one.  `scratch` is as long as a temporary name. */
static void remove_leftovers(const char *target, char *scratch)
{
    static const char *const endings[] = {"-journal", "-wal", "-shm"};
    size_t length = strlen(target);
    memcpy(scratch, target, length);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        memcpy(scratch + length, endings[i], strlen(endings[i]) + 1);
        (void)unlink(scratch);
    }
}

/* Make a rename last through a power failure.  Not every file system can. */
static void sync_folder(const char *target, char *scratch)
{
    const char *slash = strrchr(target, '/');
    size_t length = slash == NULL ? 0 : (size_t)(slash - target) + 1;
    memcpy(scratch, target, length);
    memcpy(scratch + length, ".", 2);
    int folder = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        (void)fsync(folder);
        (void)close(folder);
    }
}

/* On success the temporary name is gone. */
static phl_status put_in_place(const char *temporary, const char *target, const char *path,
                               bool replace, phl_error *error)
{
    if (!replace) {
        /* Unlike rename, link fails when somebody else has made the target meanwhile. */
        if (link(temporary, target) == 0) {
            (void)unlink(temporary);
            return PHL_OK;
        }
        if (errno == EEXIST) {
            phl_position position = {path, 0, 0};
            return phl_raise_at(
                error, PHL_ERR_WRITE, position,
                "choose another name, or replace it with " PHL_OPTION("file.replace"),
                "the file exists already");
        }
    }
    return rename(temporary, target) == 0
               ? PHL_OK
               : phl_raise_errno(error, PHL_ERR_WRITE, errno, path, "cannot write");
}

phl_status phl_run_lock(const char *path, int *lock, phl_error *error)
{
    phl_position position = {path, 0, 0};
    struct stat info, now;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return phl_raise_errno(error, PHL_ERR_OPEN, errno, path, "cannot open");
    }
    /* Where a file system knows no locks there is nothing to be told. */
    bool busy = flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    /* Somebody may have put another file in its place between the two calls. */
    busy = busy || fstat(file, &info) != 0 || stat(path, &now) != 0 || info.st_ino != now.st_ino ||
           info.st_dev != now.st_dev;
    if (busy) {
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

/* The complete run in a file of its own, closed. */
static phl_status write_file(const phl_run *run, const phl_forest *forest, phl_more_fn more,
                             void *context, const char *file, const char *path, phl_error *error)
{
    phl_database database = {0};
    phl_status status = phl_database_create(file, path, &database, error);
    if (status == PHL_OK) {
        status = phl_run_write(&database, run, forest, error);
    }
    if (status == PHL_OK && more != NULL) {
        status = more(&database, context, error);
    }
    if (status == PHL_OK) {
        status = phl_database_commit(&database, error);
    }
    phl_database_close(&database);
    return status;
}

phl_status phl_run_make_file(const phl_run *run, const phl_forest *forest, phl_more_fn more,
                             void *context, const char *path, bool replace, int *lock,
                             phl_error *error)
{
    char *target = NULL, *temporary = NULL;
    mode_t mode = 0;
    int old_lock = -1;
    phl_status status = check_run(run, error);
    if (status == PHL_OK) {
        status = find_target(path, replace, &target, &mode, error);
    }
    if (status == PHL_OK && mode != 0 && *lock < 0) {
        status = phl_run_lock(target, &old_lock, error);
    }
    if (status == PHL_OK) {
        status = make_temporary(target, path, mode, &temporary, error);
    }
    if (status != PHL_OK) {
        phl_run_unlock(&old_lock);
        phl_free(target);
        return status;
    }
    int new_lock = -1;
    status = write_file(run, forest, more, context, temporary, path, error);
    if (status == PHL_OK) {
        status = phl_run_lock(temporary, &new_lock, error);
    }
    if (status == PHL_OK) {
        status = put_in_place(temporary, target, path, replace, error);
    }
    if (status == PHL_OK) {
        remove_leftovers(target, temporary);
        sync_folder(target, temporary);
        phl_run_unlock(lock);
        *lock = new_lock;
    } else {
        (void)unlink(temporary);
        phl_run_unlock(&new_lock);
    }
    phl_run_unlock(&old_lock);
    phl_free(temporary);
    phl_free(target);
    return status;
}

phl_status phl_run_save(const phl_run *run, const char *path, bool replace, phl_error *error)
{
    int lock = -1;
    phl_status status =
        phl_run_make_file(run, run->forest, NULL, NULL, path, replace, &lock, error);
    phl_run_unlock(&lock);
    return status;
}
