/* files.c - the files behind what a user names; see files.h. */
#include "format/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "format/format.h"

void phl_files_clear(phl_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        phl_free(files->paths[i]);
    }
    phl_free(files->paths);
    memset(files, 0, sizeof *files);
}

/* Takes over `path`, on failure too. */
static phl_status append(phl_files *files, char *path, phl_error *error)
{
    phl_status status = path == NULL ? PHL_ERR_MEMORY
                                     : phl_grow(&files->paths, &files->capacity, files->count + 1,
                                                sizeof *files->paths, error);
    if (status != PHL_OK) {
        phl_free(path);
        return status;
    }
    files->paths[files->count++] = path;
    return PHL_OK;
}

phl_status phl_files_append(phl_files *files, const char *path, phl_error *error)
{
    return append(files, phl_copy_text(path, strlen(path), error), error);
}

static char *join(const char *folder, const char *name, phl_error *error)
{
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') {
        length--;
    }
    size_t name_length = strlen(name);
    char *path = phl_alloc(length + name_length + 2, 1, error);
    if (path != NULL) {
        memcpy(path, folder, length);
        path[length] = '/';
        memcpy(path + length + 1, name, name_length + 1);
    }
    return path;
}

/* What is known while a folder is gone through. */
struct listing {
    phl_files *files;  /* found */
    phl_files folders; /* still to be opened */
    bool entered;      /* the folder that was named is open, and these are its entries */
    const phl_read_options *options;
    uint64_t skipped;     /* entries that cannot be read (skip_bad) */
    uint64_t not_entered; /* links to folders */
    char *first_link;     /* the first of them, by name */
};

/* An entry that should be read and cannot be: passed over like a bad tree if that is asked for. */
static phl_status pass_over_entry(struct listing *listing, phl_error *error)
{
    const phl_read_options *options = listing->options;
    if (!options->skip_bad) {
        return error->status;
    }
    listing->skipped++;
    if (options->report != NULL) {
        options->report(error, options->context);
    }
    return PHL_OK;
}

static phl_status raise_entry(struct listing *listing, int reason, const char *path,
                              const char *what, phl_error *error)
{
    (void)phl_raise_errno(error, PHL_ERR_OPEN, reason, path, "%s", what);
    return pass_over_entry(listing, error);
}

/* A name with an ending of a format must be a file, or a link to one, that can be read. */
static phl_status add_file(struct listing *listing, char *path, bool link, phl_error *error)
{
    struct stat info;
    phl_status status;
    if (stat(path, &info) != 0) {
        status = raise_entry(listing, errno, path, link ? "cannot follow the link" : "cannot open",
                             error);
    } else if (!S_ISREG(info.st_mode)) {
        phl_position position = {path, 0, 0};
        (void)phl_raise_at(
            error, PHL_ERR_OPEN, position,
            "pipes and devices in a folder are not read; name it by itself, or remove "
            "it",
            "the name is that of a file with trees, but this is not a file");
        status = pass_over_entry(listing, error);
    } else if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != 0) {
        status = raise_entry(listing, errno, path, "cannot open", error);
    } else {
        return append(listing->files, path, error);
    }
    phl_free(path);
    return status;
}

/* One entry of a folder: a folder goes on the list of those to open, a file on that of files. */
static phl_status add_entry(struct listing *listing, const char *folder, const char *name,
                            phl_error *error)
{
    char *path = join(folder, name, error);
    if (path == NULL) {
        return PHL_ERR_MEMORY;
    }
    struct stat info, target;
    if (lstat(path, &info) != 0) {
        /* Gone since the folder was read: it is none of its entries any more. */
        phl_status status =
            errno == ENOENT ? PHL_OK : raise_entry(listing, errno, path, "cannot open", error);
        phl_free(path);
        return status;
    }
    bool link = S_ISLNK(info.st_mode);
    if (S_ISDIR(info.st_mode)) {
        return append(&listing->folders, path, error);
    }
    if (link && stat(path, &target) == 0 && S_ISDIR(target.st_mode)) {
        if (listing->not_entered++ == 0) {
            listing->first_link = path;
        } else {
            phl_free(path);
        }
        return PHL_OK;
    }
    phl_format wanted = listing->options->format;
    phl_format found = phl_format_of_name(name, listing->options);
    if (found != PHL_FORMAT_AUTO && (wanted == PHL_FORMAT_AUTO || found == wanted)) {
        return add_file(listing, path, link, error);
    }
    phl_free(path);
    return PHL_OK;
}

static int compare_paths(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* The names in a folder, hidden ones left out. */
static phl_status read_names(DIR *directory, const char *folder, phl_files *names, phl_error *error)
{
    phl_status status = PHL_OK;
    while (status == PHL_OK) {
        errno = 0;
        const struct dirent *entry = readdir(directory);
        if (entry == NULL) {
            return errno == 0 ? PHL_OK
                              : phl_raise_errno(error, PHL_ERR_READ, errno, folder,
                                                "cannot read the folder");
        }
        if (entry->d_name[0] != '.') {
            status = phl_files_append(names, entry->d_name, error);
        }
    }
    return status;
}

/* In order of name, so that the first thing wrong is the same every time. */
static phl_status list_folder(struct listing *listing, const char *folder, phl_error *error)
{
    DIR *directory = opendir(folder);
    if (directory == NULL) {
        return listing->entered
                   ? raise_entry(listing, errno, folder, "cannot open the folder", error)
                   : phl_raise_errno(error, PHL_ERR_OPEN, errno, folder, "cannot open the folder");
    }
    listing->entered = true;
    phl_files names = {NULL, 0, 0};
    phl_status status = read_names(directory, folder, &names, error);
    (void)closedir(directory);
    if (status == PHL_OK && names.count > 0) {
        qsort(names.paths, names.count, sizeof *names.paths, compare_paths);
    }
    for (size_t i = 0; status == PHL_OK && i < names.count; i++) {
        status = add_entry(listing, folder, names.paths[i], error);
    }
    phl_files_clear(&names);
    return status;
}

/* Tell that links to folders were left alone. */
static void report_links(const struct listing *listing)
{
    const phl_read_options *options = listing->options;
    if (listing->not_entered == 0 || options->report == NULL) {
        return;
    }
    phl_error note;
    memset(&note, 0, sizeof note);
    phl_position position = {listing->first_link, 0, 0};
    if (listing->not_entered == 1) {
        (void)phl_raise_at(&note, PHL_OK, position, "name the folder by itself to read it",
                           "a link to a folder is not followed");
    } else {
        (void)phl_raise_at(&note, PHL_OK, position, "name the folders by themselves to read them",
                           "%llu links to folders, this one and others, are not followed",
                           (unsigned long long)listing->not_entered);
    }
    options->report(&note, options->context);
}

static phl_status raise_no_files(const char *path, phl_format format, phl_error *error)
{
    phl_position position = {path, 0, 0};
    return phl_raise_at(error, PHL_ERR_OPEN, position,
                        "files in a folder are found by their endings (.trees, .jsonl, .xml, "
                        ".conllu, ...); name others one by one",
                        "no %s%sfiles with trees in this folder",
                        format == PHL_FORMAT_AUTO ? "" : phl_format_name(format),
                        format == PHL_FORMAT_AUTO ? "" : " ");
}

phl_status phl_files_add(phl_files *files, const char *path, const phl_read_options *options,
                         uint64_t *skipped, phl_error *error)
{
    struct stat info;
    bool standard = strcmp(path, "-") == 0;
    if (!standard && stat(path, &info) != 0) {
        return phl_raise_errno(error, PHL_ERR_OPEN, errno, path, "cannot open");
    }
    if (standard || !S_ISDIR(info.st_mode)) {
        return phl_files_append(files, path, error);
    }
    phl_error own; /* reports need a record, whatever the caller gives */
    error = error != NULL ? error : &own;
    struct listing listing = {.files = files, .options = options};
    size_t first = files->count;
    phl_status status = phl_files_append(&listing.folders, path, error);
    while (status == PHL_OK && listing.folders.count > 0) {
        char *folder = listing.folders.paths[--listing.folders.count];
        status = list_folder(&listing, folder, error);
        phl_free(folder);
    }
    phl_files_clear(&listing.folders);
    if (status == PHL_OK) {
        report_links(&listing);
    }
    if (status == PHL_OK && files->count == first && listing.skipped == 0) {
        status = raise_no_files(path, options->format, error);
    }
    if (status == PHL_OK && files->count > first) {
        qsort(files->paths + first, files->count - first, sizeof *files->paths, compare_paths);
    }
    *skipped += listing.skipped;
    phl_free(listing.first_link);
    return status;
}

phl_status phl_files_folder_name(const char *path, char **name, phl_error *error)
{
    *name = NULL;
    const char *end = strrchr(path, '/');
    if (end == NULL) {
        return PHL_OK;
    }
    while (end > path && end[-1] == '/') {
        end--;
    }
    const char *begin = end;
    while (begin > path && begin[-1] != '/') {
        begin--;
    }
    size_t length = (size_t)(end - begin);
    if (length == 0 || (length == 1 && begin[0] == '.') ||
        (length == 2 && memcmp(begin, "..", 2) == 0)) {
        return PHL_OK;
    }
    *name = phl_copy_text(begin, length, error);
    return *name == NULL ? PHL_ERR_MEMORY : PHL_OK;
}

phl_status phl_files_level_name(const char *path, size_t base, uint32_t level, char **name,
                                phl_error *error)
{
    *name = NULL;
    const char *at = path + base;
    for (uint32_t n = 1;; n++) {
        at += strspn(at, "/");
        const char *end = strchr(at, '/');
        if (end == NULL) {
            return PHL_OK; /* the file itself */
        }
        if (n == level) {
            *name = phl_copy_text(at, (size_t)(end - at), error);
            return *name == NULL ? PHL_ERR_MEMORY : PHL_OK;
        }
        at = end;
    }
}
