/* digest.c - digests over rows; see digest.h. */
#include "store/digest.h"

#include <string.h>

static void add_number(phl_sha256 *sha, char tag, uint64_t bits)
{
    unsigned char bytes[9] = {(unsigned char)tag};
    for (int i = 0; i < 8; i++) {
        bytes[1 + i] = (unsigned char)(bits >> (8 * i));
    }
    phl_sha256_add(sha, bytes, sizeof bytes);
}

static void add_bytes(phl_sha256 *sha, char tag, const void *bytes, size_t length)
{
    add_number(sha, tag, length);
    if (length > 0) {
        phl_sha256_add(sha, bytes, length);
    }
}

void phl_digest_name(const char *name, phl_sha256 *sha)
{
    add_bytes(sha, 'T', name, strlen(name));
}

/* A letter for its type, then 8 bytes or a length and bytes. */
phl_status phl_digest_value(phl_database *database, sqlite3_stmt *statement, int column,
                            phl_sha256 *sha, phl_error *error)
{
    int type = sqlite3_column_type(statement, column);
    if (type == SQLITE_INTEGER) {
        add_number(sha, 'i', (uint64_t)sqlite3_column_int64(statement, column));
    } else if (type == SQLITE_FLOAT) {
        double value = sqlite3_column_double(statement, column);
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        add_number(sha, 'r', bits);
    } else if (type == SQLITE_NULL) {
        phl_sha256_add(sha, "n", 1);
    } else {
        const void *bytes = sqlite3_column_blob(statement, column);
        size_t length = (size_t)sqlite3_column_bytes(statement, column);
        if (bytes == NULL && length > 0) {
            return phl_database_raise(database, SQLITE_NOMEM, error);
        }
        phl_status status = phl_database_spend(database, length, error);
        if (status != PHL_OK) {
            return status;
        }
        add_bytes(sha, type == SQLITE_TEXT ? 't' : 'b', bytes, length);
    }
    return PHL_OK;
}

/* digest += row, or digest -= row, modulo 2^256 */
static void combine(phl_digest *digest, const unsigned char row[PHL_SHA256_SIZE], bool remove)
{
    unsigned carry = remove ? 1 : 0;
    for (int i = 0; i < PHL_DIGEST_SIZE; i++) {
        unsigned byte = remove ? 255u - row[i] : row[i];
        carry += digest->bytes[i] + byte;
        digest->bytes[i] = (unsigned char)carry;
        carry >>= 8;
    }
}

static phl_status take(phl_database *database, phl_schema_number table, sqlite3_stmt *statement,
                       bool remove, phl_digest *digest, phl_error *error)
{
    const phl_schema_table *of = phl_schema_of(table);
    bool row = false;
    phl_status status = PHL_OK;
    while (status == PHL_OK &&
           (status = phl_statement_step(database, statement, &row, error)) == PHL_OK && row) {
        unsigned char bytes[PHL_SHA256_SIZE];
        phl_sha256 sha;
        phl_sha256_init(&sha);
        phl_digest_name(of->name, &sha);
        for (int column = 0; status == PHL_OK && column < of->digested; column++) {
            status = phl_digest_value(database, statement, column, &sha, error);
        }
        phl_sha256_finish(&sha, bytes);
        combine(digest, bytes, remove);
    }
    (void)sqlite3_reset(statement);
    return status;
}

phl_status phl_digest_add(phl_database *database, phl_schema_number table, sqlite3_stmt *statement,
                          phl_digest *digest, phl_error *error)
{
    return take(database, table, statement, false, digest, error);
}

phl_status phl_digest_remove(phl_database *database, phl_schema_number table,
                             sqlite3_stmt *statement, phl_digest *digest, phl_error *error)
{
    return take(database, table, statement, true, digest, error);
}
