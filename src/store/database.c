/* database.c - opening and closing the database that a run is; see database.h. */
#include "store/database.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/placing.h"
#include "base/text.h"
#include "store/schema.h"

#define ASK_FOR_RUN "give a run that " PHL_CALL("phl_train") " made"
#define MAGIC "SQLite format 3" /* with its NUL, the first bytes of a database */
#define TRY_A_COPY "use an undamaged copy, or train again"

enum {
    HEADER_SIZE = 100, /* of a SQLite database */
    BUSY_MILLISECONDS = 5000,
    START_MILLISECONDS = 60000, /* for others to end reading a file that gets a log */
    LEAVE_MILLISECONDS = 1000,  /* for others to close a file whose log is empty */
    PAUSE_MILLISECONDS = 20,
    OPEN_TRIES = 10,
    LARGEST_VALUE = 1 << 27 /* bytes; arrays are cut into smaller parts (arrays.h) */
};

/* ---------------------------------------------------------------------------------------------
 * Errors
 * ------------------------------------------------------------------------------------------- */

phl_status phl_database_damaged(const phl_database *database, phl_error *error, const char *what,
                                ...)
{
    char detail[256];
    va_list arguments;
    va_start(arguments, what);
    (void)vsnprintf(detail, sizeof detail, what, arguments);
    va_end(arguments);
    phl_position position = {database->name, 0, 0};
    return phl_raise_at(error, PHL_ERR_SYNTAX, position, TRY_A_COPY, "the run is damaged: %s",
                        detail);
}

static phl_status raise_writing(const phl_database *database, int code, phl_error *error)
{
    int cause = sqlite3_system_errno(database->db);
    if ((code & 0xff) == SQLITE_FULL) {
        cause = ENOSPC;
    }
    if (cause != 0) {
        return phl_raise_errno(error, PHL_ERR_WRITE, cause, database->name, "cannot write");
    }
    phl_position position = {database->name, 0, 0};
    return phl_raise_at(error, PHL_ERR_WRITE, position, NULL, "cannot write: %s",
                        sqlite3_errmsg(database->db));
}

phl_status phl_database_raise(const phl_database *database, int code, phl_error *error)
{
    phl_position position = {database->name, 0, 0};
    int cause = sqlite3_system_errno(database->db);
    switch (code & 0xff) {
    case SQLITE_INTERRUPT: /* count_steps */
        return phl_database_damaged(database, error, "it holds more than its size allows");
    case SQLITE_NOMEM:
        return phl_raise(error, PHL_ERR_MEMORY, "use a machine with more memory",
                         "not enough memory for the run file");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return phl_raise_at(error, database->writing ? PHL_ERR_WRITE : PHL_ERR_OPEN, position,
                            "try again when it is done", "another program is writing to the run");
    default:
        break;
    }
    if (database->writing && (code & 0xff) != SQLITE_CORRUPT) {
        return raise_writing(database, code, error);
    }
    switch (code & 0xff) {
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return phl_raise_errno(error, PHL_ERR_OPEN, cause != 0 ? cause : EACCES, database->name,
                               "cannot open");
    case SQLITE_READONLY:
        if (code == SQLITE_READONLY_ROLLBACK) {
            char remedy[sizeof error->remedy];
            (void)snprintf(remedy, sizeof remedy, "undo that change with: sqlite3 %.200s .tables",
                           database->name);
            return phl_raise_at(
                error, PHL_ERR_OPEN, position, remedy,
                "cannot open: another program was stopped while it changed the run, "
                "and left %.200s-journal",
                database->name);
        }
        return phl_raise_at(error, PHL_ERR_OPEN, position,
                            "let the program that wrote it finish or resume its work",
                            "cannot open: there is an unfinished write beside the run");
    case SQLITE_IOERR:
        if (code != SQLITE_IOERR_SHORT_READ && code != SQLITE_IOERR_CORRUPTFS) {
            return phl_raise_errno(error, PHL_ERR_READ, cause != 0 ? cause : EIO, database->name,
                                   "cannot read");
        }
        break;
    default:
        break;
    }
    return phl_database_damaged(database, error, "%s", sqlite3_errmsg(database->db));
}

/* ---------------------------------------------------------------------------------------------
 * Opening and closing
 * ------------------------------------------------------------------------------------------- */

phl_status phl_database_execute(const phl_database *database, const char *sql, phl_error *error)
{
    int code = sqlite3_exec(database->db, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? PHL_OK : phl_database_raise(database, code, error);
}

/* Names like ":memory:" and "file:..." mean something to SQLite; with "./" they are just names. */
static phl_status append_name(phl_text *text, const char *path, phl_error *error)
{
    phl_status status = path[0] == '/' ? PHL_OK : phl_text_append(text, "./", 2, error);
    return status == PHL_OK ? phl_text_append_string(text, path, error) : status;
}

/* The name as a URI with a parameter that says: nobody writes to this file. */
static phl_status append_uri(phl_text *text, const char *path, phl_error *error)
{
    phl_text plain = {NULL, 0, 0};
    phl_status status = append_name(&plain, path, error);
    if (status == PHL_OK) {
        status = phl_text_append_string(text, "file:", error);
    }
    for (size_t i = 0; status == PHL_OK && i < plain.length; i++) {
        status = strchr("%?#", plain.bytes[i]) == NULL
                     ? phl_text_append(text, plain.bytes + i, 1, error)
                     : phl_text_append_format(text, error, "%%%02x", plain.bytes[i]);
    }
    phl_text_clear(&plain);
    return status == PHL_OK ? phl_text_append_string(text, "?immutable=1", error) : status;
}

static phl_status open_file(const char *path, int flags, phl_database *database, phl_error *error)
{
    phl_text name = {NULL, 0, 0};
    phl_status status = (flags & SQLITE_OPEN_URI) != 0 ? append_uri(&name, path, error)
                                                       : append_name(&name, path, error);
    if (status == PHL_OK) {
        status = phl_text_append(&name, "", 1, error);
    }
    if (status == PHL_OK) {
        int code = sqlite3_open_v2(name.bytes, &database->db,
                                   flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
        if (code != SQLITE_OK) {
            status = phl_database_raise(database, code, error);
        }
    }
    phl_text_clear(&name);
    return status;
}

static void start_writing(const char *name, phl_database *database)
{
    memset(database, 0, sizeof *database);
    database->name = name;
    database->writing = true;
    database->format = PHL_RUN_FORMAT;
    database->budget = database->steps = UINT64_MAX;
}

/* Tables in an empty database, and the transaction they are filled in. */
static phl_status make_tables(const phl_database *database, phl_error *error)
{
    /* No journal: the file counts only once it is complete and in place. */
    char settings[256];
    (void)snprintf(settings, sizeof settings,
                   "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = OFF;"
                   "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; BEGIN;"
                   "PRAGMA application_id = %u; PRAGMA user_version = %u",
                   PHL_RUN_APPLICATION_ID, PHL_RUN_FORMAT);
    phl_status status = phl_database_execute(database, settings, error);
    return status == PHL_OK ? phl_schema_create(database, error) : status;
}

phl_status phl_database_create(const char *file, const char *name, phl_database *database,
                               phl_error *error)
{
    start_writing(name, database);
    phl_status status = open_file(file, SQLITE_OPEN_READWRITE, database, error);
    return status == PHL_OK ? make_tables(database, error) : status;
}

static phl_status open_memory(phl_database *database, phl_error *error)
{
    int code = sqlite3_open_v2(":memory:", &database->db,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
                                   SQLITE_OPEN_EXRESCODE,
                               NULL);
    return code == SQLITE_OK ? PHL_OK : phl_database_raise(database, code, error);
}

phl_status phl_database_create_in_memory(const char *name, phl_database *database, phl_error *error)
{
    start_writing(name, database);
    phl_status status = open_memory(database, error);
    return status == PHL_OK ? make_tables(database, error) : status;
}

phl_status phl_database_bytes(const phl_database *database, unsigned char **bytes, size_t *size,
                              phl_error *error)
{
    sqlite3_int64 length = 0;
    *bytes = sqlite3_serialize(database->db, "main", &length, 0);
    *size = (size_t)length;
    return *bytes != NULL ? PHL_OK : phl_database_raise(database, SQLITE_NOMEM, error);
}

phl_status phl_database_commit(phl_database *database, phl_error *error)
{
    return phl_database_execute(database, "COMMIT", error);
}

phl_status phl_database_begin(const phl_database *database, phl_error *error)
{
    return phl_database_execute(database, "BEGIN IMMEDIATE", error);
}

phl_status phl_database_end(const phl_database *database, phl_status status, phl_error *error)
{
    if (status == PHL_OK) {
        status = phl_database_execute(database, "COMMIT", error);
    }
    if (status != PHL_OK) {
        (void)sqlite3_exec(database->db, "ROLLBACK", NULL, NULL, NULL);
    }
    return status;
}

/* Whether a database has a write-ahead log stands in its first 100 bytes, and nothing else changes
 * when it gets or loses one: that page, half old and half new, is as good as either.  With a
 * journal on the disk, a program that ended right there would leave the journal behind, and
 * readers, who must not play it back, would refuse the run. */
#define NO_JOURNAL_FILE "PRAGMA journal_mode = MEMORY;"

/* The log into the file (*inside: all of it), and then no log any more, which takes that nobody
 * else has it open.  Others are waited for; SQLITE_BUSY when they do not end. */
static int fold(sqlite3 *db, bool *inside)
{
    int code = sqlite3_wal_checkpoint_v2(db, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    *inside = code == SQLITE_OK;
    for (int waited = 0; *inside; waited += PAUSE_MILLISECONDS) {
        code = sqlite3_exec(db, NO_JOURNAL_FILE, NULL, NULL, NULL);
        if ((code & 0xff) != SQLITE_BUSY || waited >= LEAVE_MILLISECONDS) {
            break;
        }
        (void)sqlite3_sleep(PAUSE_MILLISECONDS);
    }
    return code;
}

phl_status phl_database_fold(const phl_database *database, phl_error *error)
{
    phl_position position = {database->name, 0, 0};
    bool inside = false;
    int code = fold(database->db, &inside);
    if (code == SQLITE_OK || (inside && (code & 0xff) == SQLITE_BUSY)) {
        return PHL_OK; /* a reader may still keep an empty log */
    }
    if ((code & 0xff) == SQLITE_BUSY) {
        return phl_raise_at(error, PHL_ERR_WRITE, position,
                            "do not copy or move one without the other; when nobody reads the run "
                            "any more, " PHL_CALL("phl_resume") " joins them",
                            "everything is written, but a part of it is in %.200s-wal, because "
                            "another program is reading an earlier state of the run",
                            database->name);
    }
    return phl_database_raise(database, code, error);
}

void phl_database_close(phl_database *database)
{
    (void)sqlite3_close(database->db);
    database->db = NULL;
}

static uint32_t big_endian(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Called by SQLite every thousand steps. */
static int count_steps(void *context)
{
    phl_database *database = context;
    if (database->steps == UINT64_MAX) {
        return 0;
    }
    if (database->steps == 0) {
        return 1; /* SQLITE_INTERRUPT */
    }
    database->steps--;
    return 0;
}

/* What the bytes that are really there, those of the file (as check_header left them) and of the
 * log, can hold.  Every row is read twice, to digest it and to use it, and takes fewer than two
 * steps per byte each time. */
static void set_budget_of(phl_database *database, uint64_t size)
{
    database->budget = 2 * size + 65536;
    database->steps = 4 * size / 1000 + 1000;
    sqlite3_progress_handler(database->db, 1000, count_steps, database);
}

static void set_budget(phl_database *database)
{
    const char *name = sqlite3_db_filename(database->db, "main");
    uint64_t size = database->budget;
    struct stat info;
    if (name != NULL && stat(sqlite3_filename_wal(name), &info) == 0) {
        size += (uint64_t)info.st_size;
    }
    set_budget_of(database, size);
}

phl_status phl_database_spend(phl_database *database, uint64_t bytes, phl_error *error)
{
    if (database->budget == UINT64_MAX) {
        return PHL_OK;
    }
    if (bytes > database->budget) {
        return phl_database_damaged(database, error, "it holds more than its size allows");
    }
    database->budget -= bytes;
    return PHL_OK;
}

/* What the first bytes say, before SQLite looks at them: is it a run, of which format, complete?
 * They are read through SQLite's own descriptor; closing another one would drop its locks. */
static phl_status check_header(phl_database *database, bool *logged, phl_error *error)
{
    phl_position position = {database->name, 0, 0};
    sqlite3_file *file = NULL;
    sqlite3_int64 size = 0;
    unsigned char header[HEADER_SIZE] = {0};
    int code = sqlite3_file_control(database->db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (code == SQLITE_OK && (file == NULL || file->pMethods == NULL)) {
        code = SQLITE_CANTOPEN;
    }
    if (code == SQLITE_OK) {
        code = file->pMethods->xFileSize(file, &size);
    }
    if (code == SQLITE_OK && size == 0) {
        return phl_raise_at(error, PHL_ERR_EMPTY, position, ASK_FOR_RUN, "the file is empty");
    }
    if (code == SQLITE_OK) {
        code = file->pMethods->xRead(file, header, HEADER_SIZE, 0);
        code = code == SQLITE_IOERR_SHORT_READ ? SQLITE_OK : code;
    }
    if (code != SQLITE_OK) {
        return phl_database_raise(database, code, error);
    }
    if (memcmp(header, MAGIC, size < 16 ? (size_t)size : sizeof MAGIC) != 0) {
        return phl_raise_at(error, PHL_ERR_FORMAT, position, ASK_FOR_RUN, "this is not a run");
    }
    if (size >= HEADER_SIZE && big_endian(header + 68) != PHL_RUN_APPLICATION_ID) {
        return phl_raise_at(error, PHL_ERR_FORMAT, position, ASK_FOR_RUN,
                            "this is not a run but some other SQLite database");
    }
    uint32_t format = big_endian(header + 60);
    if (size >= HEADER_SIZE && format > PHL_RUN_FORMAT) {
        return phl_raise_at(error, PHL_ERR_FORMAT, position, "upgrade phloem",
                            "the run was written by a newer version (format %u, this one knows %u)",
                            format, PHL_RUN_FORMAT);
    }
    uint64_t page = (uint64_t)header[16] << 8 | header[17];
    uint64_t whole = (page == 1 ? 65536 : page) * big_endian(header + 28);
    *logged = header[18] == 2; /* has a write-ahead log, and may lag behind it */
    if (size < HEADER_SIZE || (!*logged && (uint64_t)size < whole)) {
        return phl_database_damaged(database, error, "it is cut short after %lld bytes",
                                    (long long)size);
    }
    if (format == 0) {
        return phl_database_damaged(database, error, "it has no format version");
    }
    database->format = format;
    database->budget = (uint64_t)size;
    return PHL_OK;
}

bool phl_database_has_log(const phl_database *database)
{
    struct stat info;
    const char *name = sqlite3_db_filename(database->db, "main");
    return name != NULL && stat(sqlite3_filename_wal(name), &info) == 0;
}

/* Open and look at the header.  A file that says it has a log but has none is taken as it is;
 * SQLite would make an empty log, which a reader must not leave behind and often cannot write. */
static phl_status open_checked(const char *path, phl_database *database, phl_error *error)
{
    bool logged = false;
    phl_status status = open_file(path, SQLITE_OPEN_READONLY, database, error);
    if (status != PHL_OK) {
        return status;
    }
    status = check_header(database, &logged, error);
    if (status != PHL_OK) {
        return status;
    }
    if (logged && !phl_database_has_log(database)) {
        phl_database_close(database);
        status = open_file(path, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, database, error);
    }
    if (status == PHL_OK) {
        set_budget(database);
    }
    return status;
}

/* Nothing in the file is run, and nothing in it makes SQLite do more than reading rows. */
static phl_status distrust(phl_database *database, phl_error *error)
{
    static const struct {
        int limit, value;
    } limits[] = {
        {SQLITE_LIMIT_LENGTH, LARGEST_VALUE},
        {SQLITE_LIMIT_SQL_LENGTH, 100000},
        {SQLITE_LIMIT_COLUMN, 100},
        {SQLITE_LIMIT_EXPR_DEPTH, 20},
        {SQLITE_LIMIT_COMPOUND_SELECT, 3},
        {SQLITE_LIMIT_VDBE_OP, 25000},
        {SQLITE_LIMIT_FUNCTION_ARG, 8},
        {SQLITE_LIMIT_ATTACHED, 0},
        {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50},
        {SQLITE_LIMIT_VARIABLE_NUMBER, 12},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
        {SQLITE_LIMIT_WORKER_THREADS, 0},
    };
    static const struct {
        int option, value;
    } options[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
        {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        (void)sqlite3_limit(database->db, limits[i].limit, limits[i].value);
    }
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        int code =
            sqlite3_db_config(database->db, options[i].option, options[i].value, (int *)NULL);
        PHL_CHECK_BUG(code == SQLITE_OK, error);
    }
    (void)sqlite3_busy_timeout(database->db, BUSY_MILLISECONDS);
    /* Mapped memory would turn a file that is cut short meanwhile into a signal. */
    return phl_database_execute(database, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0",
                                error);
}

/* What can be told before SQLite opens it. */
static phl_status check_file(const char *path, phl_error *error)
{
    phl_position position = {path, 0, 0};
    struct stat info;
    if (strcmp(path, "-") == 0) {
        return phl_raise(error, PHL_ERR_ARGUMENT, "a run is a file: give its name",
                         "a run cannot be read from standard input");
    }
    if (stat(path, &info) != 0) {
        return phl_raise_errno(error, PHL_ERR_OPEN, errno, path, "cannot open");
    }
    if (!S_ISREG(info.st_mode)) { /* opening a pipe would wait for a writer */
        return phl_raise_at(error, PHL_ERR_OPEN, position, ASK_FOR_RUN, "cannot open: it is %s",
                            S_ISDIR(info.st_mode) ? "a folder" : "not a regular file");
    }
    return PHL_OK;
}

/* Is it no longer the file that has the name? */
static bool is_moved(const phl_database *database)
{
    int moved = 0;
    return sqlite3_file_control(database->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) ==
               SQLITE_OK &&
           moved != 0;
}

static phl_status open_reading(const char *path, phl_database *database, phl_error *error)
{
    memset(database, 0, sizeof *database);
    database->name = path;
    phl_status status = check_file(path, error);
    if (status != PHL_OK) {
        return status;
    }
    status = open_checked(path, database, error);
    if (status != PHL_OK) {
        return status;
    }
    status = distrust(database, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_database_execute(database, "PRAGMA query_only = ON; BEGIN", error);
    return status == PHL_OK ? phl_schema_check(database, error) : status;
}

phl_status phl_database_open(const char *path, phl_database *database, phl_error *error)
{
    phl_status status = open_reading(path, database, error);
    /* A file that was replaced after it was opened has been read with the log of the new one. */
    for (int tries = 1; tries < OPEN_TRIES && database->db != NULL && is_moved(database); tries++) {
        phl_database_close(database);
        status = open_reading(path, database, error);
    }
    return status;
}

phl_status phl_database_open_bytes(unsigned char *bytes, size_t size, const char *name,
                                   phl_database *database, phl_error *error)
{
    bool logged = false;
    memset(database, 0, sizeof *database);
    database->name = name;
    phl_status status = open_memory(database, error);
    if (status == PHL_OK) {
        int code = sqlite3_deserialize(database->db, "main", bytes, (sqlite3_int64)size,
                                       (sqlite3_int64)size, SQLITE_DESERIALIZE_READONLY);
        status = code == SQLITE_OK ? PHL_OK : phl_database_raise(database, code, error);
    }
    if (status == PHL_OK) {
        status = check_header(database, &logged, error);
    }
    if (status == PHL_OK && (logged || database->format == 1)) {
        status = phl_database_damaged(database, error, "a further model that is no complete run");
    }
    if (status != PHL_OK) {
        return status;
    }
    set_budget_of(database, size);
    status = distrust(database, error);
    if (status == PHL_OK) {
        status = phl_database_execute(database, "PRAGMA query_only = ON; BEGIN", error);
    }
    return status == PHL_OK ? phl_schema_check(database, error) : status;
}

/* SQLite opens a file by its name; it is to be the one that is locked. */
static phl_status check_locked(const phl_database *database, const char *path, int lock,
                               phl_error *error)
{
    phl_position position = {database->name, 0, 0};
    return !is_moved(database) && phl_placing_is_file(path, lock)
               ? PHL_OK
               : phl_raise_at(error, PHL_ERR_WRITE, position, "try again",
                              "cannot write: another file has taken its place in the meantime");
}

/* Getting a log takes that nobody reads for a moment; having one does not. */
static phl_status start_log(const phl_database *database, bool logged, phl_error *error)
{
    phl_position position = {database->name, 0, 0};
    int code = logged ? SQLITE_OK : sqlite3_exec(database->db, NO_JOURNAL_FILE, NULL, NULL, NULL);
    if (code == SQLITE_OK) {
        (void)sqlite3_busy_timeout(database->db, START_MILLISECONDS);
        code = sqlite3_exec(database->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL",
                            NULL, NULL, NULL);
        (void)sqlite3_busy_timeout(database->db, BUSY_MILLISECONDS);
    }
    if ((code & 0xff) == SQLITE_BUSY) {
        return phl_raise_at(error, PHL_ERR_WRITE, position,
                            "end that program; " PHL_CALL("phl_resume") " goes on from here",
                            "cannot write: another program has been reading the run since before "
                            "its log was started");
    }
    return code == SQLITE_OK ? PHL_OK : phl_database_raise(database, code, error);
}

phl_status phl_database_open_writing(const char *path, int lock, phl_database *database,
                                     phl_error *error)
{
    bool logged = false;
    memset(database, 0, sizeof *database);
    database->name = path;
    phl_status status = check_file(path, error);
    if (status != PHL_OK) {
        return status;
    }
    status = open_file(path, SQLITE_OPEN_READWRITE, database, error);
    if (status != PHL_OK) {
        return status;
    }
    status = check_locked(database, path, lock, error);
    if (status != PHL_OK) {
        return status;
    }
    status = check_header(database, &logged, error);
    if (status != PHL_OK) {
        return status;
    }
    set_budget(database);
    status = distrust(database, error);
    if (status != PHL_OK) {
        return status;
    }
    status = phl_schema_check(database, error);
    if (status != PHL_OK) {
        return status;
    }
    database->writing = true;
    database->budget = database->steps = UINT64_MAX; /* ours, or looked through */
    return start_log(database, logged || phl_database_has_log(database), error);
}

/* Could SQLite play something into the file, or make a log for it? */
static bool is_settled(const phl_database *database, int lock)
{
    unsigned char header[HEADER_SIZE];
    const char *name = sqlite3_db_filename(database->db, "main");
    struct stat info;
    if (pread(lock, header, sizeof header, 0) != (ssize_t)sizeof header ||
        memcmp(header, MAGIC, sizeof MAGIC) != 0) {
        return true; /* no database: what lies there is not its own */
    }
    return header[18] != 2 && header[19] != 2 && name != NULL &&
           stat(sqlite3_filename_wal(name), &info) != 0 &&
           stat(sqlite3_filename_journal(name), &info) != 0;
}

static phl_status settle(phl_database *database, const char *file, int lock, phl_error *error)
{
    phl_position position = {database->name, 0, 0};
    bool inside = false;
    phl_status status = check_locked(database, file, lock, error);
    if (status == PHL_OK) {
        set_budget(database);
        status = distrust(database, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    /* The first look plays back what another program did not finish, unless it still writes. */
    int code = sqlite3_exec(database->db, "BEGIN IMMEDIATE; ROLLBACK", NULL, NULL, NULL);
    code = code == SQLITE_OK ? fold(database->db, &inside) : code;
    switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_NOTADB: /* nobody can read it, with or without what lies beside it */
    case SQLITE_CORRUPT:
    case SQLITE_INTERRUPT:
        return PHL_OK;
    case SQLITE_BUSY:
        return phl_raise_at(error, PHL_ERR_WRITE, position,
                            "end that program, or choose another name",
                            "cannot replace the run: another program has it open together with "
                            "its log");
    default:
        return phl_database_raise(database, code, error);
    }
}

phl_status phl_database_settle(const char *file, const char *name, int lock, phl_error *error)
{
    phl_database database = {.name = name, .writing = true};
    struct stat info;
    phl_status status = open_file(file, SQLITE_OPEN_READWRITE, &database, error);
    if (status == PHL_OK && !is_settled(&database, lock)) {
        database.budget = fstat(lock, &info) == 0 ? (uint64_t)info.st_size : 0;
        status = settle(&database, file, lock, error);
    }
    phl_database_close(&database);
    return status;
}
