/* folders.c - folders that commands write several files into; see folders.h. */
#include "folders.h"
#include "print/terminal.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int folder_make(const char *path)
{
    struct stat known;
    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        terminal_message("cannot make the folder %s: %s", path, strerror(errno));
        return EXIT_SYSTEM;
    }
    errno = ENOTDIR;
    if (stat(path, &known) != 0 || !S_ISDIR(known.st_mode) || access(path, W_OK | X_OK) != 0) {
        terminal_message("cannot write into the folder %s: %s", path, strerror(errno));
        return EXIT_SYSTEM;
    }
    return EXIT_OK;
}

bool folder_is_filled(const char *path)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    size_t n = 0;
    while (folder && (entry = readdir(folder))) {
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    if (folder) {
        closedir(folder);
    }
    return n > 0;
}
