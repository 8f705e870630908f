/* write_folder.c - a folder of documents, one per tree; see write.h.
 *
 * Documents are written into a temporary folder, which is then renamed, or from which they are
 * moved into the folder that is there.  The temporary folder is locked (flock): one that is not was
 * left behind by a process that died, and is removed by the next one that writes there.
 *
 * Contents: names, the temporary folder, documents, a new folder, a folder that is there.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syncfs */
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/placing.h"
#include "base/text.h"
#include "format/write.h"

enum { MAX_CLASS = 200, MAX_DOCUMENT = 64, MAX_TEMPORARY = 1000 };

struct folder {
    phl_writer *writer;
    const phl_format_driver *driver;
    const char *name; /* as the user calls it, for messages */
    char *target;     /* the same behind symbolic links */
    int into;         /* the folder that is there, open; -1: there is none, or it is empty */
    char *temporary;  /* path of the temporary folder */
    int made;         /* the same, open and locked; -1: none */
    char *path;       /* room for the path of a document below it */
    bool *replaced;   /* [trees] into: an old document was there */
    bool *class_made; /* [classes] into: the folder is new */
};

/* ---------------------------------------------------------------------------------------------
 * Names
 * ------------------------------------------------------------------------------------------- */

static bool is_folder_name(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && length <= MAX_CLASS && name[0] != '.' && strchr(name, '/') == NULL;
}

static phl_status check_folder_names(const struct folder *folder, phl_error *error)
{
    const phl_forest *forest = folder->writer->forest;
    for (size_t tree = 0; tree < forest->n_trees; tree++) {
        const char *name = phl_forest_class_name(forest, phl_tree_class(forest, tree));
        if (name != NULL && !is_folder_name(name)) {
            return phl_write_objection(folder->writer, folder->driver, tree,
                                       "a class that cannot be the name of a folder", error);
        }
    }
    return PHL_OK;
}

static phl_status raise_errno(const struct folder *folder, int cause, phl_error *error)
{
    return phl_raise_errno(error, PHL_ERR_WRITE, cause, folder->name,
                           "cannot write into the folder");
}

/* Name of the folder of a tree's class; NULL: it has none. */
static const char *class_of(const struct folder *folder, size_t tree)
{
    const phl_forest *forest = folder->writer->forest;
    return phl_forest_class_name(forest, phl_tree_class(forest, tree));
}

/* Name of a tree's document in its folder, or that of the one it replaces. */
static const char *document_name(const struct folder *folder, size_t tree, bool old,
                                 char name[MAX_DOCUMENT])
{
    (void)snprintf(name, MAX_DOCUMENT, "%08zu%s%s", tree, folder->driver->endings[0],
                   old ? ".old" : "");
    return name;
}

/* ---------------------------------------------------------------------------------------------
 * The temporary folder
 * ------------------------------------------------------------------------------------------- */

/* The entries of an open folder, from the first; NULL with errno. */
static DIR *open_entries(int folder)
{
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = again < 0 ? NULL : fdopendir(again);
    if (entries == NULL && again >= 0) {
        (void)close(again);
    }
    return entries;
}

/* The next one but "." and ".."; NULL: that was all. */
static const char *next_entry(DIR *entries)
{
    const struct dirent *entry;
    do {
        entry = readdir(entries);
    } while (entry != NULL &&
             (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
    return entry == NULL ? NULL : entry->d_name;
}

static void remove_files(int folder)
{
    DIR *entries = open_entries(folder);
    const char *name;
    while (entries != NULL && (name = next_entry(entries)) != NULL) {
        (void)unlinkat(folder, name, 0);
    }
    if (entries != NULL) {
        (void)closedir(entries);
    }
}

/* Files, and folders that hold files: there is nothing else in a temporary folder. */
static void remove_entries(int folder)
{
    DIR *entries = open_entries(folder);
    const char *name;
    while (entries != NULL && (name = next_entry(entries)) != NULL) {
        int inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (inner >= 0) {
            remove_files(inner);
            (void)close(inner);
        }
        (void)unlinkat(folder, name, inner >= 0 ? AT_REMOVEDIR : 0);
    }
    if (entries != NULL) {
        (void)closedir(entries);
    }
}

/* Remove a temporary folder that nobody writes into any more. */
static void sweep(const char *path)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) {
        return;
    }
    if (flock(folder, LOCK_EX | LOCK_NB) == 0 && phl_placing_is_file(path, folder)) {
        remove_entries(folder);
        (void)rmdir(path);
    }
    (void)close(folder);
}

/* Beside the folder that will be, or in the one that is there. */
static void write_temporary(struct folder *folder, unsigned number)
{
    const char *slash = strrchr(folder->target, '/');
    int length = folder->into >= 0 ? (int)strlen(folder->target)
                 : slash != NULL   ? (int)(slash - folder->target)
                                   : 0;
    const char *own = slash != NULL ? slash + 1 : folder->target;
    (void)sprintf(folder->temporary, "%.*s%s.%.200s%sphloem-%u.tmp", length, folder->target,
                  folder->into >= 0 || slash != NULL ? "/" : "", folder->into >= 0 ? "" : own,
                  folder->into >= 0 ? "" : ".", number);
}

static phl_status make_temporary(struct folder *folder, phl_error *error)
{
    size_t size = strlen(folder->target) + 250;
    folder->temporary = phl_alloc(size, 1, error);
    folder->path =
        folder->temporary == NULL ? NULL : phl_alloc(size + MAX_CLASS + MAX_DOCUMENT, 1, error);
    if (folder->path == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (unsigned number = 0; number < MAX_TEMPORARY; number++) {
        write_temporary(folder, number);
        sweep(folder->temporary);
        if (mkdir(folder->temporary, 0777) != 0) {
            if (errno == EEXIST) {
                continue;
            }
            return raise_errno(folder, errno, error);
        }
        folder->made = open(folder->temporary, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        /* A sweeper may have been quicker. */
        if (folder->made >= 0 &&
            (flock(folder->made, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
            phl_placing_is_file(folder->temporary, folder->made)) {
            return PHL_OK;
        }
        if (folder->made >= 0) {
            (void)close(folder->made);
        }
        folder->made = -1;
    }
    return raise_errno(folder, EEXIST, error);
}

/* Remove it with what is in it; needs no memory. */
static void remove_temporary(struct folder *folder)
{
    const phl_forest *forest = folder->writer->forest;
    for (size_t tree = 0; tree < forest->n_trees; tree++) {
        const char *class_name = class_of(folder, tree);
        char name[MAX_DOCUMENT];
        for (int old = 0; old < 2; old++) {
            (void)sprintf(folder->path, "%s%s%s", class_name != NULL ? class_name : "",
                          class_name != NULL ? "/" : "",
                          document_name(folder, tree, old == 1, name));
            (void)unlinkat(folder->made, folder->path, 0);
        }
    }
    for (size_t i = 0; i < forest->classes.count; i++) {
        (void)unlinkat(folder->made, phl_alphabet_name(&forest->classes, i), AT_REMOVEDIR);
    }
    (void)rmdir(folder->temporary);
}

/* ---------------------------------------------------------------------------------------------
 * Documents
 * ------------------------------------------------------------------------------------------- */

static phl_status write_document(struct folder *folder, size_t tree, phl_error *error)
{
    phl_writer *writer = folder->writer;
    const char *class_name = class_of(folder, tree);
    char name[MAX_DOCUMENT];
    if (class_name != NULL && mkdirat(folder->made, class_name, 0777) != 0 && errno != EEXIST) {
        return raise_errno(folder, errno, error);
    }
    (void)sprintf(folder->path, "%s/%s%s%s", folder->temporary,
                  class_name != NULL ? class_name : "", class_name != NULL ? "/" : "",
                  document_name(folder, tree, false, name));
    phl_status status = phl_output_create(folder->path, folder->name, &writer->output, error);
    if (status == PHL_OK) {
        status = folder->driver->write_tree(writer, tree, error);
    }
    if (status == PHL_OK) {
        status = phl_output_commit(writer->output, error);
    }
    phl_output_close(writer->output);
    writer->output = NULL;
    return status;
}

static phl_status write_documents(struct folder *folder, phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t tree = 0; status == PHL_OK && tree < folder->writer->forest->n_trees; tree++) {
        status = phl_write_check_cancel(folder->writer, error);
        if (status == PHL_OK) {
            status = write_document(folder, tree, error);
        }
    }
    if (status == PHL_OK && syncfs(folder->made) != 0) {
        status = raise_errno(folder, errno, error);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * A new folder
 * ------------------------------------------------------------------------------------------- */

static phl_status put_new(struct folder *folder, phl_error *error)
{
    return rename(folder->temporary, folder->target) == 0 ? PHL_OK
                                                          : raise_errno(folder, errno, error);
}

/* ---------------------------------------------------------------------------------------------
 * A folder that is there
 * ------------------------------------------------------------------------------------------- */

/* The folder of a tree's class below `top`, open; links are not followed.  -1 with errno. */
static int open_class(const struct folder *folder, int top, size_t tree)
{
    const char *class_name = class_of(folder, tree);
    return openat(top, class_name != NULL ? class_name : ".",
                  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* What would be in the way is known before anything is moved. */
static phl_status check_place(const struct folder *folder, size_t tree, phl_error *error)
{
    const char *class_name = class_of(folder, tree);
    char name[MAX_DOCUMENT];
    struct stat info;
    phl_position position = {folder->name, 0, 0};
    int place = open_class(folder, folder->into, tree);
    if (place < 0 && (errno == ENOTDIR || errno == ELOOP)) {
        return phl_raise_at(error, PHL_ERR_WRITE, position,
                            "remove it, or write into another folder",
                            "%s in it is not a folder: documents are not written through links or "
                            "over files",
                            class_name != NULL ? class_name : ".");
    }
    if (place < 0) { /* not there yet, or closed to us */
        return errno == ENOENT ? PHL_OK : raise_errno(folder, errno, error);
    }
    (void)document_name(folder, tree, false, name);
    bool taken = fstatat(place, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
    bool closed = faccessat(place, ".", W_OK | X_OK, AT_EACCESS) != 0;
    int cause = errno;
    (void)close(place);
    if (taken) {
        return phl_raise_at(
            error, PHL_ERR_WRITE, position, "remove it, or write into another folder",
            "%s%s%s in it is a folder, not a document", class_name != NULL ? class_name : "",
            class_name != NULL ? "/" : "", name);
    }
    return closed ? raise_errno(folder, cause, error) : PHL_OK;
}

/* Keep the old document of a tree under another name in the temporary folder. */
static int keep_old(struct folder *folder, int from, int place, size_t tree)
{
    char name[MAX_DOCUMENT], old[MAX_DOCUMENT];
    (void)document_name(folder, tree, false, name);
    (void)document_name(folder, tree, true, old);
    if (linkat(place, name, from, old, 0) == 0) {
        folder->replaced[tree] = true;
        return 0;
    }
    if (errno == ENOENT) { /* there is none */
        return 0;
    }
    /* Where files cannot have two names. */
    folder->replaced[tree] = renameat(place, name, from, old) == 0;
    return folder->replaced[tree] ? 0 : -1;
}

static phl_status put_document(struct folder *folder, size_t tree, phl_error *error)
{
    int32_t number = phl_tree_class(folder->writer->forest, tree);
    const char *class_name = class_of(folder, tree);
    char name[MAX_DOCUMENT];
    if (class_name != NULL && mkdirat(folder->into, class_name, 0777) == 0) {
        folder->class_made[number] = true;
    }
    int place = open_class(folder, folder->into, tree);
    int from = place < 0 ? -1 : open_class(folder, folder->made, tree);
    (void)document_name(folder, tree, false, name);
    phl_status status = from < 0 || keep_old(folder, from, place, tree) != 0 ||
                                renameat(from, name, place, name) != 0
                            ? raise_errno(folder, errno, error)
                            : PHL_OK;
    if (place >= 0) {
        (void)close(place);
    }
    if (from >= 0) {
        (void)close(from);
    }
    return status;
}

/* Everything as it was: the first `count` trees have their documents in place, and maybe one more
 * has its old one put aside. */
static void take_back(struct folder *folder, size_t count)
{
    const phl_forest *forest = folder->writer->forest;
    for (size_t tree = 0; tree <= count && tree < forest->n_trees; tree++) {
        int place = open_class(folder, folder->into, tree);
        int from = place < 0 ? -1 : open_class(folder, folder->made, tree);
        char name[MAX_DOCUMENT], old[MAX_DOCUMENT];
        (void)document_name(folder, tree, false, name);
        (void)document_name(folder, tree, true, old);
        if (from >= 0 && folder->replaced[tree]) {
            (void)renameat(from, old, place, name);
        } else if (from >= 0 && tree < count) {
            (void)unlinkat(place, name, 0);
        }
        if (place >= 0) {
            (void)close(place);
        }
        if (from >= 0) {
            (void)close(from);
        }
    }
    for (size_t i = 0; i < forest->classes.count; i++) {
        if (folder->class_made[i]) {
            (void)unlinkat(folder->into, phl_alphabet_name(&forest->classes, i), AT_REMOVEDIR);
        }
    }
}

static phl_status put_into(struct folder *folder, phl_error *error)
{
    const phl_forest *forest = folder->writer->forest;
    phl_status status = PHL_OK;
    folder->replaced = phl_alloc_zero(forest->n_trees, sizeof *folder->replaced, error);
    folder->class_made = phl_alloc_zero(forest->classes.count, sizeof *folder->class_made, error);
    if (folder->replaced == NULL || folder->class_made == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t tree = 0; status == PHL_OK && tree < forest->n_trees; tree++) {
        status = check_place(folder, tree, error);
    }
    size_t count = 0;
    while (status == PHL_OK && count < forest->n_trees) {
        status = put_document(folder, count, error);
        count += status == PHL_OK;
    }
    if (status != PHL_OK) {
        take_back(folder, count);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Both
 * ------------------------------------------------------------------------------------------- */

static bool is_filled(int folder)
{
    DIR *entries = open_entries(folder);
    bool filled = entries == NULL || next_entry(entries) != NULL;
    if (entries != NULL) {
        (void)closedir(entries);
    }
    return filled;
}

/* What is there, and where the documents go in the end. */
static phl_status find_target(struct folder *folder, phl_error *error)
{
    phl_position position = {folder->name, 0, 0};
    folder->into = open(folder->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder->into < 0 && errno == ENOTDIR) {
        return phl_raise_at(error, PHL_ERR_WRITE, position,
                            "give the name of a new folder, or " PHL_OPTION(
                                "read.only_classes") "/" PHL_OPTION_TO("read.limit", "1"),
                            "several documents need a folder, and this is a file");
    }
    if (folder->into < 0 && errno != ENOENT) {
        return raise_errno(folder, errno, error);
    }
    if (folder->into < 0) {
        size_t length = strlen(folder->name);
        while (length > 1 && folder->name[length - 1] == '/') {
            length--;
        }
        folder->target = phl_copy_text(folder->name, length, error);
        return folder->target == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    folder->target = realpath(folder->name, NULL);
    if (folder->target == NULL) {
        return raise_errno(folder, errno, error);
    }
    if (!is_filled(folder->into)) {
        (void)close(folder->into);
        folder->into = -1;
    } else if (!folder->writer->options->force) {
        return phl_raise_at(error, PHL_ERR_WRITE, position,
                            "name a new folder, or add to this one with " PHL_OPTION("write.force"),
                            "the folder is not empty");
    }
    return PHL_OK;
}

phl_status phl_write_folder(phl_writer *writer, const phl_format_driver *driver, const char *path,
                            phl_error *error)
{
    struct folder folder = {
        .writer = writer, .driver = driver, .name = path, .into = -1, .made = -1};
    phl_status status = check_folder_names(&folder, error);
    if (status == PHL_OK) {
        status = find_target(&folder, error);
    }
    if (status == PHL_OK) {
        status = make_temporary(&folder, error);
    }
    if (status == PHL_OK) {
        status = write_documents(&folder, error);
    }
    if (status == PHL_OK) {
        status = folder.into >= 0 ? put_into(&folder, error) : put_new(&folder, error);
    }
    if (folder.made >= 0 && (status != PHL_OK || folder.into >= 0)) {
        remove_temporary(&folder);
    }
    if (folder.made >= 0) {
        (void)close(folder.made);
    }
    if (folder.into >= 0) {
        (void)close(folder.into);
    }
    phl_free(folder.replaced);
    phl_free(folder.class_made);
    phl_free(folder.path);
    phl_free(folder.temporary);
    phl_free(folder.target);
    return status;
}
