/* arrays.h - arrays of numbers as rows of a table: tensors of models, the forest, checkpoints.
 *
 * An array is stored row-major, little-endian, with its name, type, shape and the SHA-256 of these
 * bytes; beyond PHL_ARRAY_PART bytes it is cut into parts, one row each.  A part that is shorter
 * than its shape says is compressed (frame.h).
 */
#ifndef PHL_STORE_ARRAYS_H
#define PHL_STORE_ARRAYS_H

#include "store/schema.h"

#define PHL_ARRAY_PART ((size_t)1 << 26)

const char *phl_array_dtype_name(phl_dtype dtype); /* "uint8", "int32", ... */
size_t phl_array_dtype_width(phl_dtype dtype);     /* bytes an element */

/* Where the elements lie in memory: element (r, c) at number r * row_stride + c * column_stride.
 * Stored in the order of r, then c. */
typedef struct phl_array {
    const char *name;
    uint32_t slot; /* of a table with a column slot; 0 otherwise */
    phl_dtype dtype;
    void *data; /* not written to by phl_array_write */
    size_t rows, columns, row_stride, column_stride;
} phl_array;

/* `count` elements one after the other. */
phl_array phl_array_flat(const char *name, phl_dtype dtype, void *data, size_t count);

/* Write an array through `insert`, whose parameters are ?1 name, ?2 part, ?3 dtype, ?4 shape,
 * ?5 checksum, ?6 data, ?7 slot if there is such a column; others are bound already. */
phl_status phl_array_write(const phl_database *database, sqlite3_stmt *insert,
                           const phl_array *array, const char *shape, phl_error *error);

/* ---- Reading -------------------------------------------------------------------------------- */

#define PHL_ARRAY_NAME 24

/* One row of such a table, without the bytes. */
typedef struct phl_entry {
    int64_t owner; /* model */
    char name[PHL_ARRAY_NAME];
    uint32_t slot, part;
    phl_dtype dtype;
    char *shape;
    unsigned char checksum[PHL_SHA256_SIZE];
    int64_t rowid;
    uint64_t length; /* bytes of its numbers, as the shape of the array tells */
    uint64_t stored; /* bytes in the file: fewer where they are compressed (frame.h) */
} phl_entry;

/* All rows, ascending by owner, name, slot and part. */
typedef struct phl_array_directory {
    phl_schema_number table;
    size_t count, capacity;
    phl_entry *entries;
} phl_array_directory;

/* Of a table of arrays.  Takes the bytes of all arrays from the database's budget.  To be cleared
 * on failure too. */
phl_status phl_array_directory_read(phl_database *database, phl_schema_number table,
                                    phl_array_directory *directory, phl_error *error);
void phl_array_directory_clear(phl_array_directory *directory);

/* First part of an array, or NULL. */
const phl_entry *phl_array_directory_find(const phl_array_directory *directory, int64_t owner,
                                          const char *name, uint32_t slot);
/* First entry of an owner, and how many it has. */
const phl_entry *phl_array_directory_owner(const phl_array_directory *directory, int64_t owner,
                                           size_t *count);
/* Bytes of all parts of an array, given its first part. */
uint64_t phl_array_directory_bytes(const phl_array_directory *directory, const phl_entry *first);

/* Read an array whose type, shape and size are known: they are compared, then the elements are
 * put in place and their checksum is verified. */
phl_status phl_array_read(const phl_database *database, const phl_array_directory *directory,
                          int64_t owner, const phl_array *array, const char *shape,
                          phl_error *error);

/* ---- Arrays of one owner, in a table of their own ---------------------------------------------
 */

/* rows x columns elements one after the other, through `insert`. */
phl_status phl_array_write_table(const phl_database *database, sqlite3_stmt *insert,
                                 const char *name, phl_dtype dtype, void *data, size_t rows,
                                 size_t columns, phl_error *error);
/* An array of any length: *count rows, released with phl_free.  One that is optional and missing is
 * NULL, and *count is left alone.  `of` is what it belongs to, for messages. */
phl_status phl_array_load(const phl_database *database, const phl_array_directory *directory,
                          const char *of, const char *name, phl_dtype dtype, size_t columns,
                          bool optional, void *data_pointer, size_t *count, phl_error *error);
/* The same for an array whose length is known. */
phl_status phl_array_load_exactly(const phl_database *database,
                                  const phl_array_directory *directory, const char *of,
                                  const char *name, phl_dtype dtype, size_t columns, bool optional,
                                  size_t expected, void *data_pointer, phl_error *error);

#endif
