/* utf8.h - checking and decoding UTF-8. */
#ifndef PHL_BASE_UTF8_H
#define PHL_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Offset of the first byte that is NUL or not part of valid UTF-8; `length` if there is none. */
size_t phl_utf8_check(const char *text, size_t length);

/* The character at `text`, with `left` > 0 bytes there, into *point: how many bytes it takes, or 0
 * (and *point untouched) for what is not valid UTF-8, and for NUL. */
size_t phl_utf8_decode(const char *text, size_t left, uint32_t *point);

/* Characters (code points) in `length` bytes of valid UTF-8: for columns in messages. */
size_t phl_utf8_count(const char *text, size_t length);

#endif
