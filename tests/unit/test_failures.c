/* test_failures.c - the n-th allocation fails, the n-th system call fails, for every n.
 *
 * malloc, calloc, realloc, free, read, write, fsync, rename and close of the library are replaced
 * at link time (-Wl,--wrap).  Each operation is run with its first allocation failing, then its
 * second, and so on until it goes through: once only, and from there on for ever.  It must then
 * return PHL_ERR_MEMORY, or its proper result where it could do without; nothing may leak, and an
 * output file must be the old one or the new one, with nothing left beside it.
 *
 * What libraries allocate through the library's own functions (expat, zlib) fails too; zstd
 * allocates by itself and is left alone.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/read.h"
#include "formats.h"
#include "many_trees.h"

/* ---------------------------------------------------------------------------------------------
 * The replaced calls
 * ------------------------------------------------------------------------------------------- */

enum call { ALLOCATE, READ, WRITE, FSYNC, RENAME, CLOSE };

static struct {
    bool armed;
    enum call call; /* which one fails */
    long at;        /* the how-manyth, from 1 */
    bool for_ever;  /* and all after it */
    int cause;      /* errno; 0: only a part is done (read, write) */
    long count;     /* calls so far */
    bool happened;
    void *live[4096]; /* allocated while armed */
    size_t n_live;
} fault;

static bool fails(enum call call)
{
    if (!fault.armed || call != fault.call) {
        return false;
    }
    fault.count++;
    bool now = fault.count == fault.at || (fault.for_ever && fault.count > fault.at);
    fault.happened = fault.happened || now;
    return now;
}

static void *born(void *memory)
{
    if (fault.armed && memory != NULL && fault.n_live < sizeof fault.live / sizeof *fault.live) {
        fault.live[fault.n_live++] = memory;
    }
    return memory;
}

static void dies(const void *memory)
{
    for (size_t i = fault.n_live; memory != NULL && i-- > 0;) {
        if (fault.live[i] == memory) {
            fault.live[i] = fault.live[--fault.n_live];
            return;
        }
    }
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void __real_free(void *memory);
ssize_t __real_read(int file, void *buffer, size_t size);
ssize_t __real_write(int file, const void *buffer, size_t size);
int __real_fsync(int file);
int __real_rename(const char *from, const char *to);
int __real_close(int file);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void __wrap_free(void *memory);
ssize_t __wrap_read(int file, void *buffer, size_t size);
ssize_t __wrap_write(int file, const void *buffer, size_t size);
int __wrap_fsync(int file);
int __wrap_rename(const char *from, const char *to);
int __wrap_close(int file);

void *__wrap_malloc(size_t size)
{
    return fails(ALLOCATE) ? NULL : born(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails(ALLOCATE) ? NULL : born(__real_calloc(count, size));
}

void *__wrap_realloc(void *memory, size_t size)
{
    if (fails(ALLOCATE)) {
        return NULL;
    }
    dies(memory);
    return born(__real_realloc(memory, size));
}

void __wrap_free(void *memory)
{
    dies(memory);
    __real_free(memory);
}

ssize_t __wrap_read(int file, void *buffer, size_t size)
{
    if (!fails(READ)) {
        return __real_read(file, buffer, size);
    }
    errno = fault.cause;
    return fault.cause != 0 ? -1 : __real_read(file, buffer, size > 7 ? 7 : size);
}

ssize_t __wrap_write(int file, const void *buffer, size_t size)
{
    if (!fails(WRITE)) {
        return __real_write(file, buffer, size);
    }
    errno = fault.cause;
    return fault.cause != 0 ? -1 : __real_write(file, buffer, size > 999 ? 999 : size);
}

int __wrap_fsync(int file)
{
    if (fails(FSYNC)) {
        errno = fault.cause;
        return -1;
    }
    return __real_fsync(file);
}

int __wrap_rename(const char *from, const char *to)
{
    if (fails(RENAME)) {
        errno = fault.cause;
        return -1;
    }
    return __real_rename(from, to);
}

int __wrap_close(int file)
{
    if (fails(CLOSE)) {
        (void)__real_close(file); /* as Linux does: closed, but with bad news */
        errno = fault.cause;
        return -1;
    }
    return __real_close(file);
}

static void arm(enum call call, long at, bool for_ever, int cause)
{
    memset(&fault, 0, sizeof fault);
    fault.call = call;
    fault.at = at;
    fault.for_ever = for_ever;
    fault.cause = cause;
    fault.armed = true;
}

/* ---------------------------------------------------------------------------------------------
 * A folder to work in
 * ------------------------------------------------------------------------------------------- */

static char folder[200];

static char *in_folder(const char *name, char out[600])
{
    (void)snprintf(out, 600, "%s/%s", folder, name);
    return out;
}

static void put_file(const char *name, const char *bytes, size_t size)
{
    char path[600];
    FILE *file = fopen(in_folder(name, path), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Content of a file: its bytes (test_malloc), or NULL if there is none. */
static char *get_file(const char *name, size_t *size)
{
    char path[600];
    FILE *file = fopen(in_folder(name, path), "rb");
    if (file == NULL) {
        return NULL;
    }
    char *bytes = test_malloc(4 << 20);
    *size = fread(bytes, 1, 4 << 20, file);
    fclose(file);
    return bytes;
}

/* Entries of a folder, whatever they are called. */
static size_t count_entries(const char *path)
{
    size_t n = 0;
    DIR *directory = opendir(path);
    assert_non_null(directory);
    while (readdir(directory) != NULL) {
        n++;
    }
    closedir(directory);
    return n - 2;
}

static int make_folder(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    (void)snprintf(folder, sizeof folder, "%.150s/phloem-failures-XXXXXX",
                   base != NULL ? base : "/tmp");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[300];
    (void)snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

/* ---------------------------------------------------------------------------------------------
 * Trees
 * ------------------------------------------------------------------------------------------- */

static const char elastic_text[] = "1:a(b($) c(d($) e($)))\n2:a(b($))\nq($)\n";
static const char json_text[] =
    "{\"id\":\"t1\",\"class\":\"a\",\"weight\":2.5,\"label\":[\"r\",\"a long label that is "
    "escaped: \\u00e9\",null],\"parent\":[-1,0,0],\"slot\":[1,1,3]}\n"
    "{\"class\":\"b\",\"label\":[\"q\",\"r\"],\"parent\":[-1,0]}\n";
static const char xml_text[] =
    "<?xml version=\"1.0\"?><?phloem nodes?><!DOCTYPE r [<!ATTLIST x a CDATA \"1\">]>"
    "<r><x b=\"2\">text</x><node label=\"a b\" slot=\"5\"/></r>";
static const char conllu_text[] = "# sent_id = s1\n1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\n"
                                  "2\tdog\tdog\tNOUN\tNN\t_\t0\troot\t_\t_\n\n"
                                  "1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n";
static const char ptb_text[] =
    "( (S (NP (DT the) (NN dog)) (VP (VBZ barks))))\n1 |BT| (S (A a)) |ET|\n";

/* ---------------------------------------------------------------------------------------------
 * Operations
 * ------------------------------------------------------------------------------------------- */

/* What an operation works on, and what it makes. */
struct work {
    phl_format format;
    const char *text; /* read from memory ... */
    size_t size;
    const char *path;         /* ... or from here; or written here */
    const phl_forest *source; /* written, copied, counted */
    bool skip_bad;
    size_t block; /* read in blocks of so many trees; 0: all at once */

    phl_forest *forest;
    char *written;
    size_t written_size;
    char print[33];
    phl_stats stats;
};

typedef phl_status (*operation)(struct work *work, phl_error *error);

/* Block by block, put together at the end. */
static phl_status do_read_blocks(struct work *work, const phl_read_options *options,
                                 phl_error *error)
{
    phl_forest *blocks[64] = {NULL};
    size_t n = 0;
    phl_forest_reader *reader = NULL;
    phl_status status = work->path != NULL
                            ? phl_forest_reader_create(&work->path, 1, options, &reader, error)
                            : phl_forest_reader_create_memory(work->text, work->size, "test",
                                                              options, &reader, error);
    while (status == PHL_OK) {
        assert_true(n < sizeof blocks / sizeof *blocks);
        status = phl_forest_reader_next(reader, work->block, 0, &blocks[n], error);
        if (blocks[n] == NULL) {
            break;
        }
        n++;
    }
    if (status == PHL_OK) {
        status = phl_forest_concat((const phl_forest *const *)blocks, n, &work->forest, error);
    }
    while (n > 0) {
        phl_forest_free(blocks[--n]);
    }
    phl_forest_reader_free(reader);
    return status;
}

static phl_status do_read(struct work *work, phl_error *error)
{
    phl_read_options options = read_options(work->format);
    options.xml_attributes = options.xml_text = true;
    options.skip_bad = work->skip_bad;
    if (work->block != 0) {
        return do_read_blocks(work, &options, error);
    }
    return work->path != NULL
               ? phl_forest_read(&work->path, 1, &options, &work->forest, NULL, error)
               : phl_forest_read_memory(work->text, work->size, "test", &options, &work->forest,
                                        NULL, error);
}

static phl_status do_write(struct work *work, phl_error *error)
{
    phl_write_options options = write_options(work->format);
    return work->path != NULL ? phl_forest_write(work->source, work->path, &options, error)
                              : phl_forest_write_memory(work->source, &options, &work->written,
                                                        &work->written_size, error);
}

static phl_status do_concat(struct work *work, phl_error *error)
{
    const phl_forest *both[2] = {work->source, work->source};
    return phl_forest_concat(both, 2, &work->forest, error);
}

static phl_status do_select(struct work *work, phl_error *error)
{
    const size_t trees[] = {1, 0, 1};
    return phl_forest_select(work->source, trees, 3, &work->forest, error);
}

static phl_status do_stats(struct work *work, phl_error *error)
{
    return phl_stats_compute(work->source, &work->stats, error);
}

static phl_status do_fingerprint(struct work *work, phl_error *error)
{
    return phl_forest_fingerprint(work->source, true, work->print, error);
}

static phl_status do_symm(struct work *work, phl_error *error)
{
    phl_symm_options options;
    phl_symm_options_init(&options);
    options.trees_per_class = 4;
    return phl_generate_symm(&options, &work->forest, error);
}

static phl_status do_documents(struct work *work, phl_error *error)
{
    phl_documents_options options;
    phl_documents_options_init(&options);
    options.trees_per_class = 4;
    options.classes = 2;
    return phl_generate_documents(&options, &work->forest, error);
}

/* A tree that fails half-way is forgotten; the builder goes on with the next. */
static phl_status do_build(struct work *work, phl_error *error)
{
    phl_builder *builder = NULL;
    phl_status first = PHL_OK;
    phl_status status = phl_builder_create(NULL, &builder, error);
    if (status != PHL_OK) {
        return status;
    }
    for (int attempt = 0; attempt < 2; attempt++) {
        phl_tree_info info = {"class", 2.0, "id", "file", 3};
        status = phl_builder_open(builder, "root", 1, error);
        for (uint32_t slot = 20; status == PHL_OK && slot > 0; slot--) {
            char label[32];
            (void)snprintf(label, sizeof label, "label %u", slot);
            status = phl_builder_open(builder, label, slot * 2, error);
            if (status == PHL_OK) {
                status = phl_builder_close(builder, error);
            }
        }
        if (status == PHL_OK) {
            status = phl_builder_close(builder, error);
        }
        if (status == PHL_OK) {
            status = phl_builder_end_tree(builder, &info, error);
        }
        if (attempt == 0) {
            first = status;
        }
        if (status == PHL_OK) {
            break;
        }
    }
    if (status == PHL_OK) {
        status = phl_builder_finish(builder, &work->forest, error);
    }
    phl_builder_free(builder);
    if (status == PHL_OK && first != PHL_OK && work->forest != NULL) {
        assert_int_equal(phl_forest_trees(work->forest), 1);
        assert_int_equal(phl_forest_labels(work->forest), 21);
    }
    return status;
}

/* What came out, as a line of text to compare. */
static void describe(struct work *work, char out[200])
{
    out[0] = '\0';
    if (work->forest != NULL) {
        assert_int_equal(phl_forest_fingerprint(work->forest, true, out, NULL), PHL_OK);
        (void)sprintf(out + strlen(out), " %zu labels", phl_forest_labels(work->forest));
    } else if (work->written != NULL) {
        uint64_t hash = work->written_size;
        for (size_t i = 0; i < work->written_size; i++) {
            hash = hash * 1099511628211u + (unsigned char)work->written[i];
        }
        (void)sprintf(out, "%016llx", (unsigned long long)hash);
    } else if (work->stats.slot_filled != NULL) {
        (void)sprintf(out, "%llu %llu %llu", (unsigned long long)work->stats.nodes,
                      (unsigned long long)work->stats.slot_child_pairs,
                      (unsigned long long)work->stats.ambiguous_trees);
    } else {
        (void)strcpy(out, work->print);
    }
}

static void clear(struct work *work)
{
    phl_forest_free(work->forest);
    phl_free(work->written);
    if (work->stats.slot_filled != NULL) {
        phl_stats_clear(&work->stats);
    }
    work->forest = NULL;
    work->written = NULL;
    memset(work->print, 0, sizeof work->print);
}

/* ---------------------------------------------------------------------------------------------
 * Allocations
 * ------------------------------------------------------------------------------------------- */

static void complain(const char *name, long at, bool for_ever, const char *what,
                     const phl_error *error)
{
    char line[2048];
    print_error("%s, call %ld failing %s: %s: %s\n", name, at, for_ever ? "for ever" : "once", what,
                phl_error_format(error, line, sizeof line));
    fail();
}

/* Every allocation of the operation fails in turn.  `name`d for messages. */
static void fail_allocations(const char *name, operation run, struct work *work)
{
    char expected[200], found[200];
    phl_error error = {0};
    assert_int_equal(run(work, &error), PHL_OK);
    describe(work, expected);
    clear(work);
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        bool more = true;
        for (long at = 1; more; at++) {
            memset(&error, 0, sizeof error);
            arm(ALLOCATE, at, for_ever, ENOMEM);
            phl_status status = run(work, &error);
            fault.armed = false;
            more = fault.happened;
            assert_true(more || at > 1); /* it was called at all */
            if (status == PHL_OK) {
                describe(work, found);
                if (strcmp(found, expected) != 0) {
                    complain(name, at, for_ever, "a wrong result", &error);
                }
            } else if (status != PHL_ERR_MEMORY || error.status != PHL_ERR_MEMORY ||
                       error.message[0] == '\0') {
                complain(name, at, for_ever, "not PHL_ERR_MEMORY", &error);
            } else if (work->forest != NULL || work->written != NULL) {
                complain(name, at, for_ever, "a result in spite of the failure", &error);
            }
            clear(work);
            if (fault.n_live != 0) {
                complain(name, at, for_ever, "memory is lost", &error);
            }
            assert_true(at < 100000);
            if (!more) {
                assert_int_equal(status, PHL_OK);
            }
        }
    }
}

static void read_failures(phl_format format, const char *text, size_t size)
{
    struct work work = {.format = format, .text = text, .size = size};
    fail_allocations(phl_format_name(format), do_read, &work);
    work.skip_bad = true; /* a tree there is no memory for is not a bad tree */
    fail_allocations(phl_format_name(format), do_read, &work);
    work.block = size > 1000 ? 30 : 1;
    fail_allocations(phl_format_name(format), do_read, &work);
}

static void test_reading_brackets(void **state)
{
    (void)state;
    char *text = many_brackets(700);
    read_failures(PHL_FORMAT_BRACKETS, text, strlen(text));
    read_failures(PHL_FORMAT_AUTO, text, strlen(text));
    test_free(text);
}

static void test_reading_elastic(void **state)
{
    (void)state;
    read_failures(PHL_FORMAT_ELASTIC, elastic_text, strlen(elastic_text));
}

static void test_reading_json(void **state)
{
    (void)state;
    char *text = many_objects(70);
    read_failures(PHL_FORMAT_JSON, json_text, strlen(json_text));
    read_failures(PHL_FORMAT_JSON, text, strlen(text));
    test_free(text);
}

static void test_reading_xml(void **state)
{
    (void)state;
    read_failures(PHL_FORMAT_XML, xml_text, strlen(xml_text));
}

static void test_reading_conllu(void **state)
{
    (void)state;
    read_failures(PHL_FORMAT_CONLLU, conllu_text, strlen(conllu_text));
}

static void test_reading_ptb(void **state)
{
    (void)state;
    read_failures(PHL_FORMAT_PTB, ptb_text, strlen(ptb_text));
}

/* A forest with classes, gaps, unknown labels and names that need quotes. */
static phl_forest *rich_forest(void)
{
    char *text = many_brackets(20);
    phl_read_options options = read_options(PHL_FORMAT_BRACKETS);
    phl_forest *forest = read_text(&options, text, strlen(text));
    test_free(text);
    return forest;
}

static phl_forest *forest_of(phl_format format, const char *text)
{
    phl_read_options options = read_options(format);
    return read_text(&options, text, strlen(text));
}

static void write_failures(phl_format format, const phl_forest *forest)
{
    struct work work = {.format = format, .source = forest};
    fail_allocations(phl_format_name(format), do_write, &work);
}

static void test_writing(void **state)
{
    (void)state;
    phl_forest *rich = rich_forest();
    write_failures(PHL_FORMAT_BRACKETS, rich);
    write_failures(PHL_FORMAT_JSON, rich);
    phl_forest_free(rich);
    static const struct {
        phl_format format;
        const char *text;
    } others[] = {{PHL_FORMAT_ELASTIC, elastic_text},
                  {PHL_FORMAT_XML, xml_text},
                  {PHL_FORMAT_CONLLU, conllu_text},
                  {PHL_FORMAT_PTB, "(S (NP (DT the)))\n"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        phl_forest *forest = forest_of(others[i].format, others[i].text);
        write_failures(others[i].format, forest);
        phl_forest_free(forest);
    }
}

static void test_combining(void **state)
{
    (void)state;
    for (int no_sharing = 0; no_sharing < 2; no_sharing++) {
        char *text = many_brackets(30);
        phl_read_options options = read_options(PHL_FORMAT_BRACKETS);
        options.no_sharing = no_sharing;
        phl_forest *forest = read_text(&options, text, strlen(text));
        test_free(text);
        struct work work = {.source = forest};
        fail_allocations("concat", do_concat, &work);
        fail_allocations("select", do_select, &work);
        fail_allocations("stats", do_stats, &work);
        fail_allocations("fingerprint", do_fingerprint, &work);
        phl_forest_free(forest);
    }
}

static void test_generating(void **state)
{
    (void)state;
    struct work work = {0};
    fail_allocations("generate symm", do_symm, &work);
    fail_allocations("generate documents", do_documents, &work);
}

static void test_building(void **state)
{
    (void)state;
    struct work work = {0};
    char expected[200], found[200];
    phl_error error = {0};
    assert_int_equal(do_build(&work, &error), PHL_OK);
    describe(&work, expected);
    clear(&work);
    /* Once: the second attempt goes through and leaves no trace of the first. */
    bool more = true;
    for (long at = 1; more; at++) {
        arm(ALLOCATE, at, false, ENOMEM);
        phl_status status = do_build(&work, &error);
        fault.armed = false;
        more = fault.happened;
        if (status == PHL_OK) {
            describe(&work, found);
            assert_string_equal(found, expected);
        } else {
            assert_int_equal(status, PHL_ERR_MEMORY);
        }
        clear(&work);
        assert_int_equal(fault.n_live, 0);
    }
    fail_allocations("builder", do_build, &work);
}

/* ---------------------------------------------------------------------------------------------
 * Files
 * ------------------------------------------------------------------------------------------- */

/* Every allocation of writing a file over an old one. */
static void test_writing_files(void **state)
{
    (void)state;
    static const char *const names[] = {"out.trees", "out.trees.gz", "out.jsonl.zst"};
    phl_forest *forest = rich_forest();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[600];
        struct work work = {.source = forest, .path = in_folder(names[i], path)};
        for (int for_ever = 0; for_ever < 2; for_ever++) {
            bool more = true;
            for (long at = 1; more; at++) {
                phl_error error = {0};
                size_t size = 0;
                put_file(names[i], "old", 3);
                arm(ALLOCATE, at, for_ever, ENOMEM);
                phl_status status = do_write(&work, &error);
                fault.armed = false;
                more = fault.happened;
                assert_true(more || at > 1); /* it was called at all */
                char *content = get_file(names[i], &size);
                assert_non_null(content);
                bool old = size == 3 && memcmp(content, "old", 3) == 0;
                test_free(content);
                if (old != (status != PHL_OK)) {
                    complain(names[i], at, for_ever, "old and new are mixed up", &error);
                }
                if (status != PHL_OK && status != PHL_ERR_MEMORY) {
                    complain(names[i], at, for_ever, "not PHL_ERR_MEMORY", &error);
                }
                if (count_entries(folder) != 1) {
                    complain(names[i], at, for_ever, "a file is left behind", &error);
                }
                assert_int_equal(fault.n_live, 0);
            }
        }
        assert_int_equal(unlink(path), 0);
    }
    phl_forest_free(forest);
}

/* Documents in folders: all of them or none. */
static void test_writing_documents(void **state)
{
    (void)state;
    phl_forest *forest =
        forest_of(PHL_FORMAT_BRACKETS, "a\t(r (x) _ (y))\nb\t(r)\n(q (\"a b\"))\na\t(s)\n");
    char path[600];
    struct work work = {
        .source = forest, .path = in_folder("documents", path), .format = PHL_FORMAT_XML};
    static const enum call calls[] = {ALLOCATE, WRITE, RENAME, CLOSE};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        for (int for_ever = 0; for_ever < 2; for_ever++) {
            bool more = true;
            for (long at = 1; more; at++) {
                phl_error error = {0};
                arm(calls[i], at, for_ever, calls[i] == ALLOCATE ? ENOMEM : EIO);
                phl_status status = do_write(&work, &error);
                fault.armed = false;
                more = fault.happened;
                assert_true(more || at > 1); /* it was called at all */
                if (count_entries(folder) != (status == PHL_OK)) {
                    complain("documents", at, for_ever, "something is left behind", &error);
                }
                if (status == PHL_OK && more) {
                    complain("documents", at, for_ever, "the failure went unseen", &error);
                }
                if (phl_status_exit_code(status) != (status == PHL_OK ? 0 : 4)) {
                    complain("documents", at, for_ever, "the wrong kind of error", &error);
                }
                assert_int_equal(fault.n_live, 0);
                if (status == PHL_OK) {
                    char command[700];
                    (void)snprintf(command, sizeof command, "rm -r '%s'", path);
                    assert_int_equal(system(command), 0);
                }
            }
        }
    }
    phl_forest_free(forest);
}

/* Every allocation of reading a folder with plain and compressed files. */
static void test_reading_files(void **state)
{
    (void)state;
    char path[600], inside[600];
    phl_forest *forest = rich_forest();
    assert_int_equal(mkdir(in_folder("in", path), 0777), 0);
    static const char *const names[] = {"in/a.trees", "in/b.trees.gz", "in/c.jsonl.zst",
                                        "in/d.jsonl"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct work work = {.source = forest, .path = in_folder(names[i], inside)};
        assert_int_equal(do_write(&work, NULL), PHL_OK);
    }
    struct work work = {.path = path};
    fail_allocations("folder", do_read, &work);
    work.block = 15;
    fail_allocations("folder in blocks", do_read, &work);
    work.block = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        work.path = in_folder(names[i], inside);
        fail_allocations(names[i], do_read, &work);
        assert_int_equal(unlink(inside), 0);
    }
    assert_int_equal(rmdir(path), 0);
    phl_forest_free(forest);
}

/* Read errors are told; interruptions and short reads are not noticed. */
static void test_failing_reads(void **state)
{
    (void)state;
    static const char *const names[] = {"in.trees", "in.trees.gz", "in.jsonl.zst"};
    phl_forest *forest = rich_forest();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[600], expected[200], found[200];
        struct work work = {.source = forest, .path = in_folder(names[i], path)};
        assert_int_equal(do_write(&work, NULL), PHL_OK);
        assert_int_equal(do_read(&work, NULL), PHL_OK);
        describe(&work, expected);
        clear(&work);
        static const int causes[] = {EIO, EINTR, 0};
        for (size_t c = 0; c < 2 * sizeof causes / sizeof *causes; c++) {
            int cause = causes[c / 2];
            bool more = true;
            work.block = c % 2 == 0 ? 0 : 7;
            for (long at = 1; more; at++) {
                phl_error error = {0};
                bool for_ever = cause != EINTR; /* interrupted for ever is waiting for ever */
                arm(READ, at, for_ever, cause);
                phl_status status = do_read(&work, &error);
                fault.armed = false;
                more = fault.happened;
                assert_true(more || at > 1); /* it was called at all */
                if (more && cause == EIO) {
                    assert_int_equal(status, PHL_ERR_READ);
                    assert_string_equal(error.file, path);
                } else {
                    assert_int_equal(status, PHL_OK);
                    describe(&work, found);
                    assert_string_equal(found, expected);
                }
                clear(&work);
                assert_int_equal(fault.n_live, 0);
            }
        }
        assert_int_equal(unlink(path), 0);
    }
    phl_forest_free(forest);
}

/* The old file or the whole new one, whatever fails on the way. */
static void test_failing_writes(void **state)
{
    (void)state;
    static const char *const names[] = {"out.trees", "out.jsonl.gz", "out.trees.zst"};
    static const struct {
        enum call call;
        int cause;
        bool for_ever;
        bool harmless;
    } ways[] = {
        {WRITE, EIO, false, false},    {WRITE, ENOSPC, true, false}, {WRITE, EINTR, false, true},
        {WRITE, 0, true, true},        {FSYNC, EIO, false, false},   {FSYNC, ENOSPC, true, false},
        {RENAME, EACCES, true, false}, {CLOSE, EIO, false, false},   {CLOSE, ENOSPC, true, false}};
    char *text = many_brackets(20000); /* several buffers full */
    phl_forest *forest = forest_of(PHL_FORMAT_BRACKETS, text);
    test_free(text);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[600];
        struct work work = {.source = forest, .path = in_folder(names[i], path)};
        size_t new_size = 0;
        assert_int_equal(do_write(&work, NULL), PHL_OK);
        char *new_content = get_file(names[i], &new_size);
        assert_true(new_size > 1000);
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
            bool more = true;
            for (long at = 1; more; at++) {
                phl_error error = {0};
                size_t size = 0;
                put_file(names[i], "old", 3);
                arm(ways[w].call, at, ways[w].for_ever, ways[w].cause);
                phl_status status = do_write(&work, &error);
                fault.armed = false;
                more = fault.happened;
                assert_true(more || at > 1); /* it was called at all */
                char *content = get_file(names[i], &size);
                assert_non_null(content);
                if (more && !ways[w].harmless) {
                    assert_int_equal(status, PHL_ERR_WRITE);
                    assert_string_equal(error.file, path);
                    assert_int_equal(size, 3);
                    assert_memory_equal(content, "old", 3);
                } else {
                    assert_int_equal(status, PHL_OK);
                    assert_int_equal(size, new_size);
                    assert_memory_equal(content, new_content, size);
                }
                test_free(content);
                assert_int_equal(count_entries(folder), 1);
                assert_int_equal(fault.n_live, 0);
            }
        }
        test_free(new_content);
        assert_int_equal(unlink(path), 0);
    }
    phl_forest_free(forest);
}

#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(test_reading_brackets), IN_A_FOLDER(test_reading_elastic),
        IN_A_FOLDER(test_reading_json),     IN_A_FOLDER(test_reading_xml),
        IN_A_FOLDER(test_reading_conllu),   IN_A_FOLDER(test_reading_ptb),
        IN_A_FOLDER(test_writing),          IN_A_FOLDER(test_combining),
        IN_A_FOLDER(test_generating),       IN_A_FOLDER(test_building),
        IN_A_FOLDER(test_writing_files),    IN_A_FOLDER(test_writing_documents),
        IN_A_FOLDER(test_reading_files),    IN_A_FOLDER(test_failing_reads),
        IN_A_FOLDER(test_failing_writes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
