/* fuzz_run.c - a libFuzzer target for run files that knows what a run file is.
 *
 * Mutating its bytes would hardly get past the digests.  So the bytes are read as a list of edits:
 * which of some small runs, then which row and column of which table gets which value, or what
 * happens to the numbers of an array or of the configuration.  Checksums and digests are made to
 * fit afterwards, so that every edit reaches the code behind them.
 *
 * Whatever the edits are, opening, showing and resuming the run succeed or fail with words, and a
 * failure is no internal one.  Build and run with tests/fuzz/run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "fuzz.h"
#include "store/section.h"

enum { KINDS = 7, MOST_EDITS = 6, MOST_CALLS = 40, LARGEST_FILE = 1 << 20 };

/* The runs that edits begin with, as bytes, and where the edited ones are written. */
struct seeds {
    unsigned char *bytes[KINDS];
    size_t sizes[KINDS];
    char path[64];
};
static struct seeds seeds;

static bool end_soon(void *context)
{
    return ++*(int *)context > MOST_CALLS;
}

/* ---------------------------------------------------------------------------------------------
 * The runs
 * ------------------------------------------------------------------------------------------- */

static void remove_run(void)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char name[80];
        (void)snprintf(name, sizeof name, "%s%s", seeds.path, endings[i]);
        (void)unlink(name);
    }
}

static void make_seed(const phl_forest *forest, int kind)
{
    static const phl_kind kinds[KINDS] = {PHL_SP, PHL_TD, PHL_FULL,   PHL_TF,
                                          PHL_TF, PHL_TF, PHL_GRAMMAR};
    phl_train_options options;
    phl_file_options keeping;
    phl_run *run = NULL;
    phl_error error = {0};
    int calls = 0;
    phl_train_options_init(&options);
    phl_file_options_init(&keeping);
    options.kind = kinds[kind];
    options.states = 2;
    options.per_class = kind % 2 == 0;
    options.iterations = 6;
    options.chains = 2;
    options.keep = 2;
    options.soft = kind == 4;
    options.sampler = kind == 5 ? (phl_sampler)1 : PHL_SAMPLER_BLOCKED;
    options.threads = 1;
    options.cancel = end_soon; /* most are interrupted, so that there is something to resume */
    options.context = &calls;
    calls = kind == 0 ? 0 : MOST_CALLS - 12;
    if (options.kind == PHL_GRAMMAR) { /* its first start comes to its end */
        calls = -10000;
    }
    keeping.checkpoint_seconds = 0.0;
    must(phl_train_file(forest, &options, &keeping, seeds.path, &run, &error) == PHL_OK,
         "a run to begin with", &error);
    phl_run_free(run);
    FILE *file = fopen(seeds.path, "rb");
    must(file != NULL, "the run to begin with is not there", NULL);
    seeds.bytes[kind] = malloc(LARGEST_FILE);
    seeds.sizes[kind] = fread(seeds.bytes[kind], 1, LARGEST_FILE, file);
    must(fclose(file) == 0 && seeds.sizes[kind] < LARGEST_FILE, "the run is too large", NULL);
    remove_run();
}

static void make_seeds(void)
{
    static const char text[] = "one\t(a (b) (c (b)))\none\t(a (c) _ (b))\ntwo\t(c (a (b) (b)))\n"
                               "two\t(b (a) (?))\n";
    phl_read_options options;
    phl_forest *forest = NULL;
    phl_error error = {0};
    const char *folder = getenv("TMPDIR");
    (void)snprintf(seeds.path, sizeof seeds.path, "%.30s/phloem-fuzz-%ld.run",
                   folder == NULL ? "/tmp" : folder, (long)getpid());
    phl_read_options_init(&options);
    options.format = PHL_FORMAT_BRACKETS;
    must(phl_forest_read_memory(text, sizeof text - 1, "text", &options, &forest, NULL, &error) ==
             PHL_OK,
         "trees to begin with", &error);
    for (int kind = 0; kind < KINDS; kind++) {
        make_seed(forest, kind);
    }
    phl_forest_free(forest);
}

/* ---------------------------------------------------------------------------------------------
 * Edits
 * ------------------------------------------------------------------------------------------- */

struct input {
    const uint8_t *data;
    size_t size;
};

static unsigned take(struct input *input)
{
    if (input->size == 0) {
        return 0;
    }
    input->size--;
    return *input->data++;
}

static const int64_t odd_integers[] = {0,         1,         -1,         2,         3,
                                       7,         255,       100000,     100001,    30000000,
                                       INT32_MAX, 1LL << 31, UINT32_MAX, 1LL << 32, 1LL << 40,
                                       1LL << 52, 1LL << 53, INT64_MAX,  INT64_MIN, -2};
static const char *const odd_reals[] = {"0",      "1",     "-1",    "-0.0",   "0.5",  "5e-324",
                                        "1e-310", "1e308", "9e999", "-9e999", "NULL", "2"};
static const char *const odd_texts[] = {"",
                                        "a",
                                        "?",
                                        "interrupted",
                                        "iterations",
                                        "tolerance",
                                        "tf",
                                        "sp",
                                        "td",
                                        "full",
                                        "4294967295",
                                        "4294967294",
                                        "0",
                                        "18446744073709551616",
                                        "[",
                                        "[]",
                                        "[1]",
                                        "[0]",
                                        "[2,2]",
                                        "[-1]",
                                        "[4294967296,4294967296]",
                                        "float64",
                                        "int32",
                                        "uint64",
                                        "uint8",
                                        "{}",
                                        "\x1b[31m",
                                        "head",
                                        "expert"};

#define ONE_OF(list, input) (list)[take(input) % (sizeof(list) / sizeof *(list))]

static void bind_value(sqlite3_stmt *statement, int parameter, struct input *input)
{
    switch (take(input) % 5) {
    case 0:
        (void)sqlite3_bind_int64(statement, parameter, ONE_OF(odd_integers, input));
        break;
    case 1:
        (void)sqlite3_bind_int64(statement, parameter, (sqlite3_int64)take(input));
        break;
    case 2:
        (void)sqlite3_bind_double(statement, parameter, atof(ONE_OF(odd_reals, input)));
        break;
    case 3:
        (void)sqlite3_bind_text(statement, parameter, ONE_OF(odd_texts, input), -1, SQLITE_STATIC);
        break;
    default:
        (void)sqlite3_bind_null(statement, parameter);
        break;
    }
}

/* Some number of a text becomes another. */
static void edit_number(char *text, size_t room, struct input *input)
{
    size_t length = strlen(text), numbers = 0, wanted = take(input), at = 0;
    char rest[8192], number[32];
    for (size_t i = 0; i < length; i++) {
        bool begins = strchr("0123456789", text[i]) != NULL &&
                      (i == 0 || strchr("0123456789.e-", text[i - 1]) == NULL);
        if (begins && numbers++ <= wanted % 40) {
            at = i;
        }
    }
    size_t after = at + strspn(text + at, "0123456789.e-");
    (void)snprintf(rest, sizeof rest, "%s", text + after);
    if (take(input) % 3 == 0) {
        (void)snprintf(number, sizeof number, "%s", ONE_OF(odd_reals, input));
    } else {
        (void)snprintf(number, sizeof number, "%lld", (long long)ONE_OF(odd_integers, input));
    }
    (void)snprintf(text + at, room - at, "%s%s", number, rest);
}

static void edit_config(sqlite3 *db, struct input *input)
{
    sqlite3_stmt *select = NULL, *update = NULL;
    char text[8192] = "";
    (void)sqlite3_prepare_v2(db, "SELECT value FROM meta WHERE key = 'config'", -1, &select, NULL);
    if (sqlite3_step(select) == SQLITE_ROW) {
        (void)snprintf(text, sizeof text, "%s", (const char *)sqlite3_column_text(select, 0));
    }
    (void)sqlite3_finalize(select);
    edit_number(text, sizeof text, input);
    (void)sqlite3_prepare_v2(db, "UPDATE meta SET value = ?1 WHERE key = 'config'", -1, &update,
                             NULL);
    (void)sqlite3_bind_text(update, 1, text, -1, SQLITE_STATIC);
    (void)sqlite3_step(update);
    (void)sqlite3_finalize(update);
}

/* Bytes of an array: one number of it, or its length. */
static void edit_bytes(unsigned char *bytes, size_t *size, struct input *input)
{
    size_t width = (const size_t[]){1, 4, 8, 8}[take(input) % 4];
    size_t n = *size / width;
    if (take(input) % 8 == 0 || n == 0) {
        *size = take(input) % 2 == 0 ? *size / 2 : *size + take(input);
        return;
    }
    size_t at = (take(input) << 8 | take(input)) % n * width;
    if (width == 8 && take(input) % 2 == 0) {
        double value = atof(ONE_OF(odd_reals, input));
        memcpy(bytes + at, &value, width);
    } else {
        int64_t value = ONE_OF(odd_integers, input);
        memcpy(bytes + at, &value, width);
    }
}

static void edit_array(sqlite3 *db, const char *table, struct input *input)
{
    char sql[160];
    sqlite3_stmt *select = NULL, *update = NULL;
    unsigned char *bytes = NULL;
    size_t size = 0;
    sqlite3_int64 row = -1;
    (void)snprintf(sql, sizeof sql, "SELECT rowid, data FROM %s LIMIT 1 OFFSET %u", table,
                   take(input));
    (void)sqlite3_prepare_v2(db, sql, -1, &select, NULL);
    if (sqlite3_step(select) == SQLITE_ROW) {
        row = sqlite3_column_int64(select, 0);
        size = (size_t)sqlite3_column_bytes(select, 1);
        bytes = calloc(2 * size + 512, 1);
        if (size > 0) {
            memcpy(bytes, sqlite3_column_blob(select, 1), size);
        }
    }
    (void)sqlite3_finalize(select);
    if (bytes != NULL) {
        edit_bytes(bytes, &size, input);
        (void)snprintf(sql, sizeof sql, "UPDATE %s SET data = ?1 WHERE rowid = ?2", table);
        (void)sqlite3_prepare_v2(db, sql, -1, &update, NULL);
        (void)sqlite3_bind_blob(update, 1, bytes, (int)size, SQLITE_STATIC);
        (void)sqlite3_bind_int64(update, 2, row);
        (void)sqlite3_step(update);
        (void)sqlite3_finalize(update);
    }
    free(bytes);
}

/* One column of one row, or the row goes. */
static void edit_row(sqlite3 *db, const char *table, struct input *input)
{
    static const char *const columns[] = {
        "id",       "name",      "trees", "weight", "iterations",  "stop_reason",    "class",
        "chain",    "iteration", "kind",  "soft",   "log_joint",   "log_likelihood", "model",
        "slot",     "part",      "dtype", "shape",  "temperature", "seconds",        "active",
        "sum_size", "moves",     "value", "key",    "version",     "required"};
    char sql[200];
    sqlite3_stmt *statement = NULL;
    bool rowid = strcmp(table, "meta") != 0 && strcmp(table, "section") != 0;
    const char *key = rowid ? "rowid" : strcmp(table, "meta") == 0 ? "key" : "name";
    unsigned row = take(input);
    if (take(input) % 8 == 0) {
        (void)snprintf(sql, sizeof sql,
                       "DELETE FROM %s WHERE %s = (SELECT %s FROM %s LIMIT 1 OFFSET %u)", table,
                       key, key, table, row);
    } else {
        (void)snprintf(sql, sizeof sql,
                       "UPDATE OR IGNORE %s SET %s = ?1 WHERE %s = "
                       "(SELECT %s FROM %s LIMIT 1 OFFSET %u)",
                       table, ONE_OF(columns, input), key, key, table, row);
    }
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK) {
        if (sqlite3_bind_parameter_count(statement) > 0) {
            bind_value(statement, 1, input);
        }
        (void)sqlite3_step(statement); /* other types and doubles are refused by SQLite itself */
    }
    (void)sqlite3_finalize(statement);
}

static void edit(sqlite3 *db, struct input *input)
{
    static const char *const arrays[] = {"tensor", "forest", "checkpoint"};
    static const char *const tables[] = {"meta",  "label",  "class",      "model",  "tensor",
                                         "trace", "forest", "checkpoint", "section"};
    switch (take(input) % 4) {
    case 0:
        edit_array(db, ONE_OF(arrays, input), input);
        break;
    case 1:
        edit_config(db, input);
        break;
    default:
        edit_row(db, ONE_OF(tables, input), input);
        break;
    }
}

/* ---------------------------------------------------------------------------------------------
 * Making it fit
 * ------------------------------------------------------------------------------------------- */

static void put_checksum(sqlite3_context *context, int n, sqlite3_value **values)
{
    static unsigned char plain[1 << 20];
    unsigned char digest[PHL_SHA256_SIZE];
    const void *bytes = sqlite3_value_blob(values[0]);
    size_t length = (size_t)sqlite3_value_bytes(values[0]);
    (void)n;
    size_t frame = ZSTD_findFrameCompressedSize(bytes, length);
    size_t unpacked =
        ZSTD_isError(frame) ? frame : ZSTD_decompress(plain, sizeof plain, bytes, frame);
    if (!ZSTD_isError(unpacked)) { /* compressed: what it holds */
        bytes = plain;
        length = unpacked;
    }
    phl_sha256_bytes(bytes, length, digest);
    sqlite3_result_blob(context, digest, sizeof digest, SQLITE_TRANSIENT);
}

static void seal(sqlite3 *db)
{
    phl_database database = {.db = db,
                             .name = "fuzz",
                             .writing = true,
                             .format = 2,
                             .budget = UINT64_MAX,
                             .steps = UINT64_MAX};
    (void)sqlite3_create_function(db, "checksum_of", 1, SQLITE_UTF8, NULL, put_checksum, NULL,
                                  NULL);
    (void)sqlite3_exec(db,
                       "UPDATE tensor SET checksum = checksum_of(data);"
                       "UPDATE forest SET checksum = checksum_of(data);"
                       "UPDATE checkpoint SET checksum = checksum_of(data);"
                       "UPDATE head SET checksum = checksum_of(data);"
                       "UPDATE expert SET checksum = checksum_of(data);"
                       "UPDATE members SET checksum = checksum_of(data);"
                       "UPDATE shapes SET checksum = checksum_of(data)",
                       NULL, NULL, NULL);
    sqlite3_stmt *select = NULL;
    int n = 0;
    (void)sqlite3_prepare_v2(db, "SELECT count(*) FROM section", -1, &select, NULL);
    if (sqlite3_step(select) == SQLITE_ROW) {
        n = sqlite3_column_int(select, 0);
    }
    (void)sqlite3_finalize(select);
    for (int section = 0; n == PHL_SECTIONS && section < PHL_SECTIONS; section++) {
        phl_digest digest;
        if (phl_section_digest(&database, (phl_section)section, &digest, NULL) == PHL_OK) {
            static const char *const names[PHL_SECTIONS] = {
                "models", "trace", "forest", "checkpoint", "head", "expert", "members", "shapes"};
            sqlite3_stmt *update = NULL;
            (void)sqlite3_prepare_v2(db, "UPDATE section SET digest = ?1 WHERE name = ?2", -1,
                                     &update, NULL);
            (void)sqlite3_bind_blob(update, 1, digest.bytes, PHL_DIGEST_SIZE, SQLITE_STATIC);
            (void)sqlite3_bind_text(update, 2, names[section], -1, SQLITE_STATIC);
            (void)sqlite3_step(update);
            (void)sqlite3_finalize(update);
        }
    }
}

static void make_file(struct input *input)
{
    unsigned kind = take(input) % KINDS;
    sqlite3 *db = NULL;
    FILE *file = fopen(seeds.path, "wb");
    must(file != NULL && fwrite(seeds.bytes[kind], 1, seeds.sizes[kind], file) == seeds.sizes[kind],
         "the run cannot be written", NULL);
    (void)fclose(file);
    must(sqlite3_open(seeds.path, &db) == SQLITE_OK, "the run cannot be opened", NULL);
    (void)sqlite3_exec(db,
                       "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;"
                       "UPDATE class SET stop_reason = 'interrupted'",
                       NULL, NULL, NULL);
    for (int i = 0; i < MOST_EDITS && input->size > 0; i++) {
        edit(db, input);
    }
    seal(db);
    (void)sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    (void)sqlite3_close(db);
}

/* ---------------------------------------------------------------------------------------------
 * Use
 * ------------------------------------------------------------------------------------------- */

static void check(phl_status status, const phl_error *error)
{
    if (status != PHL_OK) {
        must(status == error->status && error->message[0] != '\0', "a failure without words",
             error);
        must(status != PHL_ERR_INTERNAL, "an internal failure", error);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    phl_run *run = NULL;
    phl_error error = {0};
    phl_resume_options options;
    char *json = NULL;
    size_t length = 0;
    int calls = 0;
    if (seeds.bytes[0] == NULL) {
        make_seeds();
    }
    make_file(&input);
    phl_status status = phl_run_open(seeds.path, &run, &error);
    check(status, &error);
    if (status == PHL_OK) {
        check(phl_run_json(run, &json, &length, &error), &error);
        phl_free(json);
        phl_run_free(run);
        run = NULL;
    }
    phl_resume_options_init(&options);
    options.threads = 1;
    options.cancel = end_soon;
    options.context = &calls;
    check(phl_resume(seeds.path, &options, &run, &error), &error);
    phl_run_free(run);
    remove_run();
    return 0;
}
