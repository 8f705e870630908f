/* work_words.h - what writing and reading a file of trials share. */
#ifndef PHL_TASK_WORK_WORDS_H
#define PHL_TASK_WORK_WORDS_H

#include <stddef.h>

#define PHL_WORK_FORMAT 1

/* By head, by whether there are classes, by class prior. */
extern const char *const phl_work_heads[2], *const phl_work_tasks[2], *const phl_work_priors[4];

/* The SHA-256 of some bytes, in hexadecimal digits. */
#define PHL_WORK_DIGEST_SIZE 65
void phl_work_digest(const void *bytes, size_t length, char out[PHL_WORK_DIGEST_SIZE]);

#endif
