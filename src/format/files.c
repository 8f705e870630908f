/* files.c - the files behind what a user names; see files.h. */
#include "format/files.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"

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

/* One entry of a folder: a folder goes on the list of those to open, a file on that of files. */
static phl_status add_entry(phl_files *folders, phl_files *files, const char *folder,
                            const char *name, phl_format format, phl_error *error)
{
    char *path = join(folder, name, error);
    if (path == NULL) {
        return PHL_ERR_MEMORY;
    }
    struct stat info;
    if (lstat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        return append(folders, path, error);
    }
    phl_format found = phl_format_of_file(name);
    bool wanted = found != PHL_FORMAT_AUTO && (format == PHL_FORMAT_AUTO || found == format);
    if (wanted && stat(path, &info) == 0 && S_ISREG(info.st_mode)) {
        return append(files, path, error);
    }
    phl_free(path);
    return PHL_OK;
}

static phl_status list_folder(phl_files *folders, phl_files *files, const char *folder,
                              phl_format format, phl_error *error)
{
    DIR *directory = opendir(folder);
    if (directory == NULL) {
        return phl_raise_errno(error, PHL_ERR_OPEN, errno, folder, "cannot open the folder");
    }
    phl_status status = PHL_OK;
    while (status == PHL_OK) {
        errno = 0;
        const struct dirent *entry = readdir(directory);
        if (entry == NULL) {
            if (errno != 0) {
                status =
                    phl_raise_errno(error, PHL_ERR_READ, errno, folder, "cannot read the folder");
            }
            break;
        }
        if (entry->d_name[0] != '.') {
            status = add_entry(folders, files, folder, entry->d_name, format, error);
        }
    }
    (void)closedir(directory);
    return status;
}

static int compare_paths(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

phl_status phl_files_add(phl_files *files, const char *path, phl_format format, phl_error *error)
{
    struct stat info;
    if (strcmp(path, "-") == 0 || stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) {
        return phl_files_append(files, path, error);
    }
    phl_files folders = {NULL, 0, 0};
    size_t first = files->count;
    phl_status status = phl_files_append(&folders, path, error);
    while (status == PHL_OK && folders.count > 0) {
        char *folder = folders.paths[--folders.count];
        status = list_folder(&folders, files, folder, format, error);
        phl_free(folder);
    }
    phl_files_clear(&folders);
    if (status == PHL_OK && files->count == first) {
        phl_position position = {path, 0, 0};
        return phl_raise_at(error, PHL_ERR_OPEN, position,
                            "files in a folder are found by their endings (.trees, .jsonl, .xml, "
                            ".conllu, ...); name others one by one",
                            "no %s%sfiles with trees in this folder",
                            format == PHL_FORMAT_AUTO ? "" : phl_format_name(format),
                            format == PHL_FORMAT_AUTO ? "" : " ");
    }
    if (status == PHL_OK) {
        qsort(files->paths + first, files->count - first, sizeof *files->paths, compare_paths);
    }
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
