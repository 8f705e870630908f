/* placing.c - a file that is written beside its final name and put in place when it is complete;
 * see placing.h.
 *
 * Contents: names, leftovers, opening, putting in place.
 */
#include "base/placing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

enum { MAX_TEMPORARY = 1000, LONGEST_NAME = 200 };

/* ---------------------------------------------------------------------------------------------
 * Names
 * ------------------------------------------------------------------------------------------- */

static phl_status raise_errno(const phl_placing *placing, int cause, phl_error *error)
{
    return phl_raise_errno(error, PHL_ERR_WRITE, cause, placing->name, "cannot write");
}

/* Bytes of the path up to its last part. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

static size_t temporary_size(const char *target)
{
    return strlen(target) + 48;
}

static void write_temporary(const char *target, unsigned number, char *name)
{
    size_t folder = folder_length(target);
    (void)snprintf(name, temporary_size(target), "%.*s.%.*s.phloem-%u.tmp", (int)folder, target,
                   (int)LONGEST_NAME, target + folder, number);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool phl_placing_is_file(const char *path, int file)
{
    struct stat named, open_one;
    return stat(path, &named) == 0 && fstat(file, &open_one) == 0 && is_same(&named, &open_one);
}

int phl_placing_open_folder(const char *path)
{
    size_t length = folder_length(path);
    char *folder = length == 0 ? phl_copy_text(".", 1, NULL) : phl_copy_text(path, length, NULL);
    int file = folder == NULL ? -1 : open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    phl_free(folder);
    return file;
}

/* ---------------------------------------------------------------------------------------------
 * Leftovers
 *
 * While a temporary file is locked only its owner takes its name away: neither the owner nor
 * another sweeper can have put a new file under a name whose file we have locked.
 * ------------------------------------------------------------------------------------------- */

/* Remove a temporary file that nobody writes any more: *removed.  False when there is none. */
static bool sweep_one(const char *name, int held, bool *removed)
{
    struct stat info, now, known;
    *removed = false;
    int file = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) {
        return errno != ENOENT;
    }
    bool left = fstat(file, &info) == 0 && S_ISREG(info.st_mode);
    left = left && (flock(file, LOCK_EX | LOCK_NB) == 0 ||
                    (held >= 0 && fstat(held, &known) == 0 && is_same(&info, &known)));
    left = left && lstat(name, &now) == 0 && is_same(&info, &now);
    *removed = left && unlink(name) == 0;
    (void)close(file);
    return true;
}

/* The names from `number` on, up to the first that is free. */
static void sweep_from(const char *target, unsigned number, int held)
{
    char *name = phl_alloc(temporary_size(target), 1, NULL);
    bool more = name != NULL, removed = false;
    for (; more && number < MAX_TEMPORARY; number++) {
        write_temporary(target, number, name);
        more = sweep_one(name, held, &removed);
    }
    phl_free(name);
}

void phl_placing_sweep(const char *path, int held)
{
    char *target = realpath(path, NULL);
    if (target != NULL) {
        sweep_from(target, 0, held);
    }
    phl_free(target);
}

/* ---------------------------------------------------------------------------------------------
 * Opening
 * ------------------------------------------------------------------------------------------- */

/* Where the bytes go in the end: *known tells of the file that is there, its mode is 0 if there is
 * none.  The target is NULL if the path is no regular file. */
static phl_status find_target(phl_placing *placing, struct stat *known, phl_error *error)
{
    phl_position position = {placing->name, 0, 0};
    struct stat link;
    if (stat(placing->name, known) == 0) {
        if (S_ISDIR(known->st_mode)) {
            return phl_raise_at(error, PHL_ERR_WRITE, position, "give the name of a file",
                                "cannot write: it is a folder");
        }
        placing->target = S_ISREG(known->st_mode) ? realpath(placing->name, NULL) : NULL;
        return S_ISREG(known->st_mode) && placing->target == NULL
                   ? raise_errno(placing, errno, error)
                   : PHL_OK;
    }
    if (errno != ENOENT) {
        return raise_errno(placing, errno, error);
    }
    if (lstat(placing->name, &link) == 0 && S_ISLNK(link.st_mode)) {
        return phl_raise_at(error, PHL_ERR_WRITE, position, "give the name of the file itself",
                            "cannot write: it is a link to a file that is not there");
    }
    known->st_mode = 0;
    placing->target = phl_copy_text(placing->name, strlen(placing->name), error);
    return placing->target == NULL ? PHL_ERR_MEMORY : PHL_OK;
}

/* Owner, group and permissions of the old file, as far as we may.  A group that cannot be kept does
 * not hand its rights to another one. */
static void keep_permissions(int file, const struct stat *known)
{
    mode_t mode = known->st_mode & 07777;
    struct stat now;
    if (fstat(file, &now) == 0 && now.st_uid != known->st_uid &&
        fchown(file, known->st_uid, (gid_t)-1) != 0) {
        mode &= ~(mode_t)S_ISUID;
    }
    if (fstat(file, &now) == 0 && now.st_gid != known->st_gid &&
        fchown(file, (uid_t)-1, known->st_gid) != 0) {
        mode &= ~(mode_t)(S_ISGID | S_IRWXG);
    }
    (void)fchmod(file, mode);
}

/* A new file with a lock of ours on it, or -1 with errno; EEXIST: the name is taken. */
static int make_locked(const char *name, mode_t mode)
{
    struct stat info;
    int file = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file < 0) {
        return -1;
    }
    /* A sweeper may have been quicker with the lock.  Where there are no locks there are no
     * sweepers. */
    if ((flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) || fstat(file, &info) != 0 ||
        info.st_nlink == 0) {
        (void)close(file);
        errno = EEXIST;
        return -1;
    }
    return file;
}

/* The same in place of a leftover. */
static int make_temporary(const char *name, mode_t mode)
{
    int file = make_locked(name, mode);
    bool removed = false;
    if (file >= 0 || errno != EEXIST) {
        return file;
    }
    bool taken = sweep_one(name, -1, &removed) && !removed;
    errno = EEXIST;
    return taken ? -1 : make_locked(name, mode);
}

static phl_status open_temporary(phl_placing *placing, const struct stat *known, phl_error *error)
{
    char *name = phl_alloc(temporary_size(placing->target), 1, error);
    if (name == NULL) {
        return PHL_ERR_MEMORY;
    }
    unsigned number = 0;
    do {
        write_temporary(placing->target, number, name);
        placing->file = make_temporary(name, known->st_mode == 0 ? 0666 : 0600);
    } while (placing->file < 0 && errno == EEXIST && ++number < MAX_TEMPORARY);
    if (placing->file < 0) {
        int cause = errno;
        phl_free(name);
        return raise_errno(placing, cause, error);
    }
    placing->temporary = name;
    sweep_from(placing->target, number + 1, -1);
    if (known->st_mode != 0) {
        keep_permissions(placing->file, known);
    }
    return PHL_OK;
}

phl_status phl_placing_open(phl_placing *placing, const char *path, phl_error *error)
{
    struct stat known;
    *placing = (phl_placing){.name = path, .file = -1};
    phl_status status = find_target(placing, &known, error);
    if (status == PHL_OK && placing->target != NULL) {
        status = open_temporary(placing, &known, error);
    } else if (status == PHL_OK) {
        placing->file = open(path, O_WRONLY | O_CLOEXEC);
        status = placing->file < 0 ? raise_errno(placing, errno, error) : PHL_OK;
    }
    if (status != PHL_OK) {
        phl_placing_close(placing);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Putting in place
 * ------------------------------------------------------------------------------------------- */

static phl_status raise_taken(const phl_placing *placing, phl_error *error)
{
    phl_position position = {placing->name, 0, 0};
    return phl_raise_at(error, PHL_ERR_WRITE, position, "choose another name, or replace it",
                        "another program has created this file in the meantime, and it stays "
                        "as it is");
}

/* Where files cannot have two names: keep the place with an empty file, locked as everything that
 * is being written. */
static phl_status put_reserved(phl_placing *placing, phl_error *error)
{
    int reserved = make_locked(placing->target, 0600);
    if (reserved < 0) {
        return errno == EEXIST ? raise_taken(placing, error) : raise_errno(placing, errno, error);
    }
    phl_status status = PHL_OK;
    if (rename(placing->temporary, placing->target) != 0) {
        status = raise_errno(placing, errno, error);
        (void)unlink(placing->target);
    }
    (void)close(reserved);
    return status;
}

/* Unlike rename, link fails when somebody else has made the target meanwhile. */
static phl_status put_new(phl_placing *placing, phl_error *error)
{
    if (link(placing->temporary, placing->target) != 0) {
        return errno == EEXIST ? raise_taken(placing, error) : put_reserved(placing, error);
    }
    (void)unlink(placing->temporary);
    return PHL_OK;
}

phl_status phl_placing_commit(phl_placing *placing, phl_placing_rule rule, phl_error *error)
{
    if (placing->temporary == NULL) { /* written directly */
        return PHL_OK;
    }
    phl_status status = fsync(placing->file) == 0 ? PHL_OK : raise_errno(placing, errno, error);
    if (status == PHL_OK && rule == PHL_PLACING_IS_NEW) {
        status = put_new(placing, error);
    } else if (status == PHL_OK && rename(placing->temporary, placing->target) != 0) {
        status = raise_errno(placing, errno, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    phl_free(placing->temporary);
    placing->temporary = NULL;
    /* Through a power failure the name lasts only with its folder; not every file system can. */
    int folder = phl_placing_open_folder(placing->target);
    if (folder >= 0) {
        (void)fsync(folder);
        (void)close(folder);
    }
    return PHL_OK;
}

void phl_placing_close(phl_placing *placing)
{
    if (placing->temporary != NULL && placing->file >= 0) {
        (void)unlink(placing->temporary);
    }
    if (placing->file >= 0) {
        (void)close(placing->file);
    }
    phl_free(placing->temporary);
    phl_free(placing->target);
    *placing = (phl_placing){.file = -1};
}
