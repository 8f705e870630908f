/* arrays.c - arrays of numbers as rows of a table; see arrays.h. */
#include "store/arrays.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "store/frame.h"

enum { PIECE = 1 << 18 }; /* bytes read at a time; a multiple of every width */

static const struct {
    const char *name;
    size_t width;
} dtypes[] = {{NULL, 1},     {"uint8", 1},   {"int32", 4},  {"uint32", 4},
              {"uint64", 8}, {"float64", 8}, {"float32", 4}};

const char *phl_array_dtype_name(phl_dtype dtype)
{
    return dtypes[dtype].name;
}

size_t phl_array_dtype_width(phl_dtype dtype)
{
    return dtypes[dtype].width;
}

phl_array phl_array_flat(const char *name, phl_dtype dtype, void *data, size_t count)
{
    phl_array array = {name, 0, dtype, data, 1, count, count, 1};
    return array;
}

/* ---------------------------------------------------------------------------------------------
 * Bytes: little-endian in the file, whatever the machine's order
 * ------------------------------------------------------------------------------------------- */

static char *element(const phl_array *array, size_t number, size_t width)
{
    size_t row = number / array->columns, column = number % array->columns;
    return (char *)array->data + (row * array->row_stride + column * array->column_stride) * width;
}

static void encode(const char *value, size_t width, unsigned char *bytes)
{
    if (width == 8) {
        uint64_t word;
        memcpy(&word, value, sizeof word);
        for (unsigned i = 0; i < 8; i++) {
            bytes[i] = (unsigned char)(word >> (8 * i));
        }
    } else if (width == 4) {
        uint32_t word;
        memcpy(&word, value, sizeof word);
        for (unsigned i = 0; i < 4; i++) {
            bytes[i] = (unsigned char)(word >> (8 * i));
        }
    } else {
        bytes[0] = (unsigned char)value[0];
    }
}

static void decode(const unsigned char *bytes, size_t width, char *value)
{
    if (width == 8) {
        uint64_t word = 0;
        for (unsigned i = 0; i < 8; i++) {
            word |= (uint64_t)bytes[i] << (8 * i);
        }
        memcpy(value, &word, sizeof word);
    } else if (width == 4) {
        uint32_t word = 0;
        for (unsigned i = 0; i < 4; i++) {
            word |= (uint32_t)bytes[i] << (8 * i);
        }
        memcpy(value, &word, sizeof word);
    } else {
        value[0] = (char)bytes[0];
    }
}

/* ---------------------------------------------------------------------------------------------
 * Writing
 * ------------------------------------------------------------------------------------------- */

/* One part, compressed where that helps.  Bytes stay as they are: names are short, and a run within
 * a run (members_store.c) is to be taken out with sqlite3 alone. */
static phl_status write_bytes(const phl_database *database, sqlite3_stmt *insert, phl_dtype dtype,
                              const unsigned char *bytes, size_t length, phl_error *error)
{
    unsigned char *frame = NULL;
    size_t frame_length = 0;
    phl_status status =
        dtype == PHL_UINT8 ? PHL_OK : phl_frame_pack(bytes, length, &frame, &frame_length, error);
    if (status == PHL_OK) {
        (void)sqlite3_bind_blob(insert, 6, frame != NULL ? frame : bytes,
                                (int)(frame != NULL ? frame_length : length), SQLITE_STATIC);
        status = phl_statement_run(database, insert, error);
    }
    phl_free(frame);
    return status;
}

phl_status phl_array_write(const phl_database *database, sqlite3_stmt *insert,
                           const phl_array *array, const char *shape, phl_error *error)
{
    size_t width = phl_array_dtype_width(array->dtype);
    size_t count = array->rows * array->columns;
    size_t part_count = PHL_ARRAY_PART / width;
    unsigned char *bytes = phl_alloc(count < part_count ? count : part_count, width, error);
    if (bytes == NULL) {
        return PHL_ERR_MEMORY;
    }
    (void)sqlite3_bind_text(insert, 1, array->name, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(insert, 3, phl_array_dtype_name(array->dtype), -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(insert, 4, shape, -1, SQLITE_STATIC);
    if (sqlite3_bind_parameter_count(insert) >= 7) {
        (void)sqlite3_bind_int64(insert, 7, array->slot);
    }
    phl_status status = PHL_OK;
    size_t done = 0;
    int part = 0;
    do { /* an empty array has one empty part */
        size_t now = count - done < part_count ? count - done : part_count;
        unsigned char checksum[PHL_SHA256_SIZE];
        for (size_t i = 0; i < now; i++) {
            encode(element(array, done + i, width), width, bytes + i * width);
        }
        phl_sha256_bytes(bytes, now * width, checksum);
        (void)sqlite3_bind_int(insert, 2, part++);
        (void)sqlite3_bind_blob(insert, 5, checksum, sizeof checksum, SQLITE_STATIC);
        status = write_bytes(database, insert, array->dtype, bytes, now * width, error);
        done += now;
    } while (status == PHL_OK && done < count);
    phl_free(bytes);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * The directory
 * ------------------------------------------------------------------------------------------- */

static int compare_number(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* In the order of SELECT. */
static int compare(const phl_entry *a, int64_t owner, const char *name, uint32_t slot,
                   uint32_t part)
{
    int order = compare_number((uint64_t)a->owner, (uint64_t)owner);
    order = order != 0 ? order : strcmp(a->name, name);
    order = order != 0 ? order : compare_number(a->slot, slot);
    return order != 0 ? order : compare_number(a->part, part);
}

/* The first entry that is not before the given place. */
static size_t lower_bound(const phl_array_directory *directory, int64_t owner, const char *name,
                          uint32_t slot)
{
    size_t low = 0, high = directory->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&directory->entries[middle], owner, name, slot, 0) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static phl_status read_dtype(phl_database *database, sqlite3_stmt *statement, phl_dtype *dtype,
                             phl_error *error)
{
    const char *name = NULL;
    size_t length = 0;
    phl_status status = phl_statement_text(database, statement, 4, false, &name, &length, error);
    if (status != PHL_OK) {
        return status;
    }
    for (int i = PHL_UINT8; i <= PHL_FLOAT32; i++) {
        if (strcmp(name, dtypes[i].name) == 0) {
            *dtype = (phl_dtype)i;
            return PHL_OK;
        }
    }
    return phl_database_damaged(database, error, "an array of unknown type");
}

/* Bytes of an array of this shape, "[3,10]", into *bytes; false if it is none. */
static bool bytes_of_shape(const char *shape, size_t width, uint64_t *bytes)
{
    const uint64_t most = (uint64_t)1 << 60;
    const char *at = shape;
    *bytes = width;
    bool none = false;
    if (*at != '[') {
        return false;
    }
    do {
        uint64_t extent = 0;
        const char *first = ++at; /* after '[' or ',' */
        for (; *at >= '0' && *at <= '9' && extent < most; at++) {
            extent = extent * 10 + (uint64_t)(*at - '0');
        }
        none = none || extent == 0;
        if (at == first || (extent > 0 && *bytes > most / extent)) {
            return false;
        }
        *bytes *= extent > 0 ? extent : 1;
    } while (*at == ',');
    *bytes = none ? 0 : *bytes;
    return strcmp(at, "]") == 0;
}

/* What the part unpacks to, from the shape of the whole. */
static phl_status find_length(const phl_database *database, phl_entry *entry, phl_error *error)
{
    uint64_t all = 0, before = (uint64_t)entry->part * PHL_ARRAY_PART;
    bool good = bytes_of_shape(entry->shape, phl_array_dtype_width(entry->dtype), &all);
    if (good && before > 0 && before >= all) {
        return phl_database_damaged(database, error, "the parts of %s do not fit together",
                                    entry->name);
    }
    entry->length = all - before < PHL_ARRAY_PART ? all - before : PHL_ARRAY_PART;
    bool framed = entry->length >= PHL_FRAME_LEAST && entry->stored < entry->length &&
                  entry->length / PHL_FRAME_RATIO <= entry->stored; /* unpacks to no more */
    good = good && (framed || entry->stored == entry->length);
    return good
               ? PHL_OK
               : phl_database_damaged(database, error, "%s has shape %.60s in %llu bytes",
                                      entry->name, entry->shape, (unsigned long long)entry->stored);
}

/* The present row. */
static phl_status read_entry(phl_database *database, sqlite3_stmt *statement, phl_entry *entry,
                             phl_error *error)
{
    int64_t slot = 0, part = 0, length = 0;
    const char *name = NULL, *shape = NULL;
    size_t name_length = 0, shape_length = 0;
    const phl_statement_column columns[] = {
        {0, 0, INT64_MAX, &entry->owner}, {2, 0, UINT32_MAX, &slot},
        {3, 0, UINT32_MAX, &part},        {7, INT64_MIN, INT64_MAX, &entry->rowid},
        {8, 0, INT32_MAX, &length},
    };
    phl_status status = phl_statement_ints(database, statement, columns, 5, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_statement_text(database, statement, 1, false, &name, &name_length, error);
    if (status != PHL_OK) {
        return status;
    }
    if (name_length >= PHL_ARRAY_NAME) {
        return phl_database_damaged(database, error, "an array with a strange name");
    }
    memcpy(entry->name, name, name_length + 1);
    status = read_dtype(database, statement, &entry->dtype, error);
    if (status != PHL_OK) {
        return status;
    }
    const void *checksum = sqlite3_column_blob(statement, 6);
    if (sqlite3_column_type(statement, 6) != SQLITE_BLOB || checksum == NULL ||
        sqlite3_column_bytes(statement, 6) != PHL_SHA256_SIZE) {
        return phl_database_damaged(database, error, "array %s has no checksum", entry->name);
    }
    memcpy(entry->checksum, checksum, PHL_SHA256_SIZE);
    status = phl_database_spend(database, (uint64_t)length, error);
    if (status != PHL_OK) {
        return status;
    }
    entry->slot = (uint32_t)slot;
    entry->part = (uint32_t)part;
    entry->stored = (uint64_t)length;
    status = phl_statement_text(database, statement, 5, false, &shape, &shape_length, error);
    if (status == PHL_OK) {
        entry->shape = phl_copy_text(shape, shape_length, error);
        status = entry->shape == NULL ? PHL_ERR_MEMORY : find_length(database, entry, error);
    }
    return status;
}

phl_status phl_array_directory_read(phl_database *database, phl_schema_number table,
                                    phl_array_directory *directory, phl_error *error)
{
    sqlite3_stmt *statement = NULL;
    bool row = false;
    memset(directory, 0, sizeof *directory);
    directory->table = table;
    phl_status status = phl_schema_select(database, table, NULL, &statement, error);
    while (status == PHL_OK &&
           (status = phl_statement_step(database, statement, &row, error)) == PHL_OK && row) {
        status = phl_grow(&directory->entries, &directory->capacity, directory->count + 1,
                          sizeof *directory->entries, error);
        if (status != PHL_OK) {
            break;
        }
        phl_entry *entry = &directory->entries[directory->count];
        memset(entry, 0, sizeof *entry);
        status = read_entry(database, statement, entry, error);
        directory->count++; /* what it holds is released with the others */
        if (status != PHL_OK) {
            break;
        }
        if (directory->count > 1 &&
            compare(entry - 1, entry->owner, entry->name, entry->slot, entry->part) >= 0) {
            status = phl_database_damaged(database, error, "table %s is out of order",
                                          phl_schema_of(table)->name);
        }
    }
    (void)sqlite3_finalize(statement);
    return status;
}

void phl_array_directory_clear(phl_array_directory *directory)
{
    for (size_t i = 0; i < directory->count; i++) {
        phl_free(directory->entries[i].shape);
    }
    phl_free(directory->entries);
    memset(directory, 0, sizeof *directory);
}

const phl_entry *phl_array_directory_find(const phl_array_directory *directory, int64_t owner,
                                          const char *name, uint32_t slot)
{
    size_t at = lower_bound(directory, owner, name, slot);
    return at < directory->count && compare(&directory->entries[at], owner, name, slot, 0) == 0
               ? &directory->entries[at]
               : NULL;
}

const phl_entry *phl_array_directory_owner(const phl_array_directory *directory, int64_t owner,
                                           size_t *count)
{
    size_t first = lower_bound(directory, owner, "", 0), end = first;
    while (end < directory->count && directory->entries[end].owner == owner) {
        end++;
    }
    *count = end - first;
    return *count > 0 ? &directory->entries[first] : NULL;
}

/* Does `next` carry on the array of `first`? */
static bool same_array(const phl_entry *first, const phl_entry *next)
{
    return first->owner == next->owner && first->slot == next->slot &&
           strcmp(first->name, next->name) == 0;
}

uint64_t phl_array_directory_bytes(const phl_array_directory *directory, const phl_entry *first)
{
    const phl_entry *end = directory->entries + directory->count;
    uint64_t bytes = 0;
    for (const phl_entry *entry = first; entry < end && same_array(first, entry); entry++) {
        bytes += entry->length;
    }
    return bytes;
}

/* ---------------------------------------------------------------------------------------------
 * Reading
 * ------------------------------------------------------------------------------------------- */

/* Where the bytes of arrays come from: one part after the other, in pieces. */
struct part_reader {
    const phl_database *database;
    phl_schema_number table;
    phl_unframer *unframer;  /* NULL until a part is compressed */
    unsigned char *in, *out; /* [PIECE] each; `in` of compressed bytes, with the unframer */
    size_t in_begin, in_end; /* of what has not been unpacked yet */
    sqlite3_blob *blob;
    size_t taken; /* of the blob */
};

static void close_reader(struct part_reader *reader)
{
    phl_frame_unpack_free(reader->unframer);
    phl_free(reader->in);
    phl_free(reader->out);
}

/* The next bytes of the part as they are stored. */
static phl_status read_stored(struct part_reader *reader, unsigned char *to, size_t length,
                              phl_error *error)
{
    int code = sqlite3_blob_read(reader->blob, to, (int)length, (int)reader->taken);
    reader->taken += length;
    return code == SQLITE_OK ? PHL_OK : phl_database_raise(reader->database, code, error);
}

/* `length` bytes out of the frame, into reader->out; after the last ones it must end. */
static phl_status unpack(struct part_reader *reader, const phl_entry *entry, size_t length,
                         bool last, phl_error *error)
{
    size_t filled = 0;
    bool ended = false;
    phl_status status = PHL_OK;
    while (status == PHL_OK && (filled < length || (last && !ended))) {
        size_t used = 0, made = 0, left = (size_t)entry->stored - reader->taken;
        if (reader->in_begin == reader->in_end && left > 0) {
            reader->in_begin = 0;
            reader->in_end = left < PIECE ? left : PIECE;
            status = read_stored(reader, reader->in, reader->in_end, error);
        }
        if (status == PHL_OK &&
            (!phl_frame_unpack_take(reader->unframer, reader->in + reader->in_begin,
                                    reader->in_end - reader->in_begin, &used, reader->out + filled,
                                    length - filled, &made, &ended) ||
             (!ended && used == 0 && made == 0) || (ended && filled + made < length))) {
            status =
                phl_database_damaged(reader->database, error, "%s cannot be unpacked", entry->name);
        }
        reader->in_begin += used;
        filled += made;
    }
    return status;
}

static phl_status prepare_unframer(struct part_reader *reader, phl_error *error)
{
    reader->in_begin = reader->in_end = 0;
    if (reader->unframer != NULL) {
        phl_frame_unpack_begin(reader->unframer);
        return PHL_OK;
    }
    reader->in = phl_alloc(PIECE, 1, error);
    return reader->in == NULL ? PHL_ERR_MEMORY : phl_frame_unpack_create(&reader->unframer, error);
}

/* The numbers of an open part, in pieces, into elements `done` and on. */
static phl_status read_pieces(struct part_reader *reader, const phl_entry *entry,
                              const phl_array *array, size_t done, phl_sha256 *sha,
                              phl_error *error)
{
    size_t width = phl_array_dtype_width(array->dtype);
    bool packed = entry->stored < entry->length;
    phl_status status = packed ? prepare_unframer(reader, error) : PHL_OK;
    for (size_t at = 0; status == PHL_OK && at < entry->length;) {
        size_t now = entry->length - at < PIECE ? (size_t)entry->length - at : PIECE;
        status = packed ? unpack(reader, entry, now, at + now == entry->length, error)
                        : read_stored(reader, reader->out, now, error);
        if (status == PHL_OK) {
            phl_sha256_add(sha, reader->out, now);
            for (size_t i = 0; i < now / width; i++) {
                decode(reader->out + i * width, width,
                       element(array, done + at / width + i, width));
            }
            at += now;
        }
    }
    return status;
}

/* One part into elements `done` and on. */
static phl_status read_part(struct part_reader *reader, const phl_entry *entry,
                            const phl_array *array, size_t done, phl_error *error)
{
    const phl_database *database = reader->database;
    phl_sha256 sha;
    unsigned char checksum[PHL_SHA256_SIZE];
    phl_sha256_init(&sha);
    reader->blob = NULL;
    reader->taken = 0;
    int code = sqlite3_blob_open(database->db, "main", phl_schema_of(reader->table)->name, "data",
                                 entry->rowid, 0, &reader->blob);
    if (code == SQLITE_OK && (uint64_t)sqlite3_blob_bytes(reader->blob) != entry->stored) {
        code = SQLITE_CORRUPT;
    }
    phl_status status = code == SQLITE_OK ? read_pieces(reader, entry, array, done, &sha, error)
                                          : phl_database_raise(database, code, error);
    (void)sqlite3_blob_close(reader->blob);
    phl_sha256_finish(&sha, checksum);
    if (status == PHL_OK && memcmp(checksum, entry->checksum, sizeof checksum) != 0) {
        status =
            phl_database_damaged(database, error, "the checksum of %s does not match", entry->name);
    }
    return status;
}

phl_status phl_array_read(const phl_database *database, const phl_array_directory *directory,
                          int64_t owner, const phl_array *array, const char *shape,
                          phl_error *error)
{
    size_t width = phl_array_dtype_width(array->dtype);
    size_t count = array->rows * array->columns;
    const phl_entry *first = phl_array_directory_find(directory, owner, array->name, array->slot);
    if (first == NULL) {
        return phl_database_damaged(database, error, "%s is missing", array->name);
    }
    if (first->dtype != array->dtype || strcmp(first->shape, shape) != 0 ||
        phl_array_directory_bytes(directory, first) != (uint64_t)count * width) {
        return phl_database_damaged(database, error, "%s has shape %.60s of %s, expected %.60s",
                                    array->name, first->shape, phl_array_dtype_name(first->dtype),
                                    shape);
    }
    struct part_reader reader = {.database = database, .table = directory->table};
    reader.out = phl_alloc(count < PIECE / width ? count : PIECE / width, width, error);
    if (reader.out == NULL) {
        return PHL_ERR_MEMORY;
    }
    phl_status status = PHL_OK;
    size_t done = 0;
    uint32_t part = 0;
    const phl_entry *entry = first;
    do {
        uint64_t left = (uint64_t)(count - done) * width;
        uint64_t expected = left < PHL_ARRAY_PART ? left : PHL_ARRAY_PART;
        if (entry->part != part++ || entry->length != expected || entry->dtype != array->dtype ||
            strcmp(entry->shape, shape) != 0) {
            status = phl_database_damaged(database, error, "the parts of %s do not fit together",
                                          array->name);
        } else {
            status = read_part(&reader, entry, array, done, error);
            done += (size_t)entry->length / width;
        }
        entry++;
    } while (status == PHL_OK && done < count);
    close_reader(&reader);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Arrays of a table of their own
 * ------------------------------------------------------------------------------------------- */

enum { SHAPE_SIZE = 64 };

static const char *shape_of(size_t rows, size_t columns, char text[SHAPE_SIZE])
{
    if (columns == 1) {
        (void)snprintf(text, SHAPE_SIZE, "[%zu]", rows);
    } else {
        (void)snprintf(text, SHAPE_SIZE, "[%zu,%zu]", rows, columns);
    }
    return text;
}

phl_status phl_array_write_table(const phl_database *database, sqlite3_stmt *insert,
                                 const char *name, phl_dtype dtype, void *data, size_t rows,
                                 size_t columns, phl_error *error)
{
    char shape[SHAPE_SIZE];
    phl_array array = phl_array_flat(name, dtype, data, rows * columns);
    return phl_array_write(database, insert, &array, shape_of(rows, columns, shape), error);
}

phl_status phl_array_load(const phl_database *database, const phl_array_directory *directory,
                          const char *of, const char *name, phl_dtype dtype, size_t columns,
                          bool optional, void *data_pointer, size_t *count, phl_error *error)
{
    char shape[SHAPE_SIZE];
    const phl_entry *first = phl_array_directory_find(directory, 0, name, 0);
    if (first == NULL) {
        return optional ? PHL_OK
                        : phl_database_damaged(database, error, "%s of %s is missing", name, of);
    }
    size_t width = phl_array_dtype_width(dtype) * columns;
    size_t rows = (size_t)(phl_array_directory_bytes(directory, first) / width);
    void *data = phl_alloc(rows, width, error);
    if (data == NULL) {
        return PHL_ERR_MEMORY;
    }
    phl_array array = phl_array_flat(name, dtype, data, rows * columns);
    phl_status status =
        phl_array_read(database, directory, 0, &array, shape_of(rows, columns, shape), error);
    if (status != PHL_OK) {
        phl_free(data);
        return status;
    }
    memcpy(data_pointer, &data, sizeof data);
    *count = rows;
    return PHL_OK;
}

phl_status phl_array_load_exactly(const phl_database *database,
                                  const phl_array_directory *directory, const char *of,
                                  const char *name, phl_dtype dtype, size_t columns, bool optional,
                                  size_t expected, void *data_pointer, phl_error *error)
{
    size_t count = expected;
    phl_status status = phl_array_load(database, directory, of, name, dtype, columns, optional,
                                       data_pointer, &count, error);
    return status != PHL_OK || count == expected
               ? status
               : phl_database_damaged(database, error, "%s of %s has %zu entries, expected %zu",
                                      name, of, count, expected);
}
