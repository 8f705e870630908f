/* digest.h - digests over rows: the sum of the SHA-256 of every row, a number of 256 bits.
 *
 * A sum does not depend on the order of rows, and a row is added or taken away at the cost of that
 * row alone, however many there are: a training that writes often stays linear.  Rows are digested
 * as they lie in the database, so that writer and reader see the same; the bytes of arrays enter
 * through their checksums.  docs/run-file.md says which bytes.
 */
#ifndef PHL_STORE_DIGEST_H
#define PHL_STORE_DIGEST_H

#include "store/schema.h"

enum { PHL_DIGEST_SIZE = PHL_SHA256_SIZE };

typedef struct phl_digest {
    unsigned char bytes[PHL_DIGEST_SIZE]; /* little-endian; zeroed: of no rows */
} phl_digest;

/* Add the rows that a statement of phl_schema_select gives, or take them away; the statement is
 * reset. */
phl_status phl_digest_add(phl_database *database, phl_schema_number table, sqlite3_stmt *statement,
                          phl_digest *digest, phl_error *error);
phl_status phl_digest_remove(phl_database *database, phl_schema_number table,
                             sqlite3_stmt *statement, phl_digest *digest, phl_error *error);

/* The bytes that one value of the present row has in a digest go into `sha`. */
phl_status phl_digest_value(phl_database *database, sqlite3_stmt *statement, int column,
                            phl_sha256 *sha, phl_error *error);
/* 'T' and a table's name. */
void phl_digest_name(const char *name, phl_sha256 *sha);

#endif
