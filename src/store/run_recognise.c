/* run_recognise.c - is a file a run?  A look at its first bytes. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/database.h"

bool phl_run_recognise(const char *path)
{
    /* Of a SQLite file: its magic, and the number that says whose database it is. */
    static const unsigned char owner[4] = {
        PHL_RUN_APPLICATION_ID >> 24, PHL_RUN_APPLICATION_ID >> 16 & 0xff,
        PHL_RUN_APPLICATION_ID >> 8 & 0xff, PHL_RUN_APPLICATION_ID & 0xff};
    unsigned char header[72] = {0};
    struct stat info;
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* not waiting for a pipe's writer */
    if (file < 0) {
        return false;
    }
    ssize_t got = fstat(file, &info) == 0 && S_ISREG(info.st_mode)
                      ? pread(file, header, sizeof header, 0)
                      : -1;
    (void)close(file);
    return got == (ssize_t)sizeof header && memcmp(header, "SQLite format 3", 16) == 0 &&
           memcmp(header + 68, owner, sizeof owner) == 0;
}
