/* old_caller.h - what the program compiled against an earlier header does (old_caller.c).  Calls
 * return NULL, or what is wrong. */
#ifndef OLD_CALLER_H
#define OLD_CALLER_H

/* 4 classes of 7 documents, and their fingerprint. */
const char *old_caller_generate(char fingerprint[33]);
/* A forest without trees, shared. */
const char *old_caller_build(void);

#endif
