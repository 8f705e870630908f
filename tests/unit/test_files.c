/* test_files.c - files and folders in, files out: compression, classes by folder, replacing. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "folder.h"
#include "must.h"
#include "samples.h"

/* A file or folder reads as these trees. */
static void check_reads(const char *name, const phl_read_options *options, const char *expected)
{
    const char *path = in_folder(name);
    phl_forest *forest = NULL;
    must(phl_forest_read(&path, 1, options, &forest, NULL, error));
    char *found = write_text(forest, write_options(PHL_FORMAT_BRACKETS));
    assert_string_equal(found, expected);
    test_free(found);
    phl_forest_free(forest);
}

static void check_fails(const char *name, const phl_read_options *options, phl_status status,
                        const char *message)
{
    const char *path = in_folder(name);
    phl_forest *forest = NULL;
    phl_error error = {0};
    assert_int_equal(phl_forest_read(&path, 1, options, &forest, NULL, &error), status);
    assert_null(forest);
    assert_string_equal(error.file, path);
    if (strstr(error.message, message) == NULL) {
        print_error("found: %s\nexpected: %s\n", error.message, message);
        fail();
    }
}

static size_t pack_gzip(const char *text, size_t size, unsigned char *out, size_t room)
{
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = (unsigned char *)(uintptr_t)text;
    stream.avail_in = (unsigned)size;
    stream.next_out = out;
    stream.avail_out = (unsigned)room;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    size_t packed = room - stream.avail_out;
    deflateEnd(&stream);
    return packed;
}

static size_t pack_zstd(const char *text, size_t size, unsigned char *out, size_t room)
{
    size_t packed = ZSTD_compress(out, room, text, size, 3);
    assert_false(ZSTD_isError(packed));
    return packed;
}

/* ---------------------------------------------------------------------------------------------
 * Reading
 * ------------------------------------------------------------------------------------------- */

static void test_folders(void **state)
{
    (void)state;
    phl_read_options options = read_options(PHL_FORMAT_AUTO);
    assert_int_equal(mkdir(in_folder("in"), 0777), 0);
    assert_int_equal(mkdir(in_folder("in/k1"), 0777), 0);
    assert_int_equal(mkdir(in_folder("in/k2"), 0777), 0);
    assert_int_equal(mkdir(in_folder("in/.git"), 0777), 0);
    check_fails("in", &options, PHL_ERR_OPEN, "no files with trees in this folder");
    put_text("in/z.trees", "own\t(z)\n");
    put_text("in/k1/b.xml", "<b/>");
    put_text("in/k1/a.xml", "<a/>");
    put_text("in/k2/c.jsonl", "{\"class\":\"own\",\"label\":[\"c\"],\"parent\":[-1]}\n");
    put_text("in/k2/readme.txt", "(not a tree file)");
    put_text("in/.hidden.trees", "(hidden)");
    put_text("in/.git/x.trees", "(hidden)");
    check_reads("in", &options, "k1\t(a)\nk1\t(b)\nown\t(c)\nown\t(z)\n");
    check_reads("in/", &options, "k1\t(a)\nk1\t(b)\nown\t(c)\nown\t(z)\n");
    options.class_by_folder = true;
    check_reads("in", &options, "k1\t(a)\nk1\t(b)\nk2\t(c)\nin\t(z)\n");
    options = read_options(PHL_FORMAT_XML);
    check_reads("in", &options, "k1\t(a)\nk1\t(b)\n");
    options = read_options(PHL_FORMAT_CONLLU);
    check_fails("in", &options, PHL_ERR_OPEN, "no conllu files with trees");
    options = read_options(PHL_FORMAT_AUTO);
    options.no_class = true;
    check_reads("in", &options, "(a)\n(b)\n(c)\n(z)\n");
    options.no_class = false;
    options.limit = 2;
    check_reads("in", &options, "k1\t(a)\nk1\t(b)\n");
    /* A link to a folder is not followed, a link to a file is; no endless circle. */
    assert_int_equal(symlink("..", in_folder("in/k1/up")), 0);
    assert_int_equal(symlink("../z.trees", in_folder("in/k2/link.trees")), 0);
    options.limit = 0;
    check_reads("in", &options, "k1\t(a)\nk1\t(b)\nown\t(c)\nown\t(z)\nown\t(z)\n");
}

static void test_several_paths(void **state)
{
    (void)state;
    put_text("b.trees", "(b)\n(c)\n");
    put_text("a.trees", "(a)\n");
    const char *paths[] = {in_folder("b.trees"), in_folder("a.trees"), in_folder("b.trees")};
    phl_read_options options = read_options(PHL_FORMAT_AUTO);
    phl_read_summary summary;
    phl_forest *forest = NULL;
    assert_int_equal(phl_forest_read(paths, 3, &options, &forest, &summary, NULL), PHL_OK);
    assert_int_equal(summary.files, 3);
    assert_int_equal(summary.trees, 5);
    assert_int_equal(summary.bytes, 20);
    assert_int_equal(summary.skipped, 0);
    assert_string_equal(phl_tree_file(forest, 2), paths[1]);
    assert_int_equal(phl_tree_line(forest, 4), 2);
    phl_forest_free(forest);
    options.class_name = "x";
    options.no_class = true;
    forest = NULL;
    assert_int_equal(phl_forest_read(paths, 3, &options, &forest, NULL, NULL), PHL_ERR_ARGUMENT);
    assert_null(forest);
}

/* What a reader will read, before it does. */
static void test_listed_files(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_folder("in"), 0777), 0);
    put_text("in/b.trees", "(b)\n");
    put_text("in/a.xml", "<a/>");
    put_text("in/notes.txt", "(not a tree file)");
    put_text("c.dat", "(c)\n");
    const char *paths[] = {in_folder("c.dat"), in_folder("in"), "-", in_folder("missing.trees")};
    const char *expected[] = {paths[0], in_folder("in/a.xml"), in_folder("in/b.trees"), "-"};
    phl_read_options options = read_options(PHL_FORMAT_AUTO);
    phl_source *source = NULL;
    phl_error error = {0};
    /* A missing file is told of before any is read. */
    assert_int_equal(phl_source_open(paths, 4, &options, &source, &error), PHL_ERR_OPEN);
    assert_string_equal(error.file, paths[3]);
    assert_null(source);
    assert_int_equal(phl_source_open(paths, 3, &options, &source, NULL), PHL_OK);
    assert_int_equal(phl_source_files(source), 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(phl_source_file(source, i), expected[i]);
    }
    phl_source_free(source);
}

/* The class of each tree of `path`, as native text. */
static void check_folder(const char *path, const phl_read_options *options, const char *expected)
{
    phl_forest *forest = NULL;
    assert_int_equal(phl_forest_read(&path, 1, options, &forest, NULL, NULL), PHL_OK);
    char *found = write_text(forest, write_options(PHL_FORMAT_BRACKETS));
    assert_string_equal(found, expected);
    test_free(found);
    phl_forest_free(forest);
}

static void test_levels_and_endings(void **state)
{
    (void)state;
    static const char *const folders[] = {"in", "in/cats", "in/cats/2020", "in/dogs"};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(mkdir(in_folder(folders[i]), 0777), 0);
    }
    put_text("in/cats/2020/a.xml", "<a/>");
    put_text("in/dogs/b.svg", "<b/>");
    put_text("in/c.trees", "k\t(c)\n");
    phl_read_options options = read_options(PHL_FORMAT_AUTO);
    options.class_level = 1;
    check_folder(in_folder("in"), &options, "k\t(c)\ncats\t(a)\n");
    static const char *const svg[] = {"svg=xml"}, *const dotted[] = {".svg=xml"};
    options.endings = svg;
    options.n_endings = 1;
    check_folder(in_folder("in/"), &options, "k\t(c)\ncats\t(a)\ndogs\t(b)\n");
    options.endings = dotted;
    options.class_level = 2;
    check_folder(in_folder("in"), &options, "k\t(c)\n2020\t(a)\n(b)\n");
    options.class_level = 1;
    check_folder(in_folder("in/cats"), &options, "2020\t(a)\n");
    /* A choice by the class, which is then dropped. */
    static const char *const only[] = {"cats"};
    options.only_classes = only;
    options.n_only_classes = 1;
    options.no_class = true;
    check_folder(in_folder("in"), &options, "(a)\n");
    static const char *const wrong[] = {"svg=nothing", "svg", "=xml"};
    for (size_t i = 0; i < 3; i++) {
        options.endings = wrong + i;
        phl_forest *forest = NULL;
        phl_error error = {0};
        const char *path = in_folder("in");
        assert_int_equal(phl_forest_read(&path, 1, &options, &forest, NULL, &error),
                         PHL_ERR_ARGUMENT);
        assert_non_null(strstr(error.message, "does not name a format"));
    }
}

static void test_formats_by_name(void **state)
{
    (void)state;
    assert_int_equal(phl_format_of_file("a.trees"), PHL_FORMAT_BRACKETS);
    assert_int_equal(phl_format_of_file("a.trees.gz"), PHL_FORMAT_BRACKETS);
    assert_int_equal(phl_format_of_file("x/a.elastic.tree.zst"), PHL_FORMAT_ELASTIC);
    assert_int_equal(phl_format_of_file("a.jsonl"), PHL_FORMAT_JSON);
    assert_int_equal(phl_format_of_file("a.xml"), PHL_FORMAT_XML);
    assert_int_equal(phl_format_of_file("a.conllu"), PHL_FORMAT_CONLLU);
    assert_int_equal(phl_format_of_file("a.gz"), PHL_FORMAT_AUTO);
    assert_int_equal(phl_format_of_file(".trees"), PHL_FORMAT_AUTO);
    assert_int_equal(phl_format_of_file("trees"), PHL_FORMAT_AUTO);
    assert_int_equal(phl_format_of_file(""), PHL_FORMAT_AUTO);
    for (int format = PHL_FORMAT_BRACKETS; format <= PHL_FORMAT_PTB; format++) {
        assert_int_equal(phl_format_find(phl_format_name((phl_format)format)), format);
    }
    assert_int_equal(phl_format_find("nonsense"), PHL_FORMAT_AUTO);
}

static void test_compressed(void **state)
{
    (void)state;
    phl_read_options options = read_options(PHL_FORMAT_AUTO);
    unsigned char bytes[4096];
    size_t size = pack_gzip("k\t(a)\n(b", 8, bytes, sizeof bytes);
    /* The second member goes on in the middle of a tree. */
    size += pack_gzip(" (c))\n", 6, bytes + size, sizeof bytes - size);
    write_bytes(in_folder("x.trees.gz"), bytes, size);
    write_bytes(in_folder("x.dat"), bytes, size); /* by content, whatever the name */
    write_bytes(in_folder("x.trees.zst"), bytes, size);
    check_reads("x.trees.gz", &options, "k\t(a)\n(b (c))\n");
    check_reads("x.dat", &options, "k\t(a)\n(b (c))\n");
    check_reads("x.trees.zst", &options, "k\t(a)\n(b (c))\n");
    for (size_t cut = 1; cut < size; cut++) { /* cut anywhere but between the members */
        const char *path = in_folder("cut.trees.gz");
        phl_forest *forest = NULL;
        write_bytes(in_folder("cut.trees.gz"), bytes, cut);
        phl_status status = phl_forest_read(&path, 1, &options, &forest, NULL, NULL);
        assert_true(phl_status_group(status) == PHL_GROUP_DATA);
        assert_null(forest);
    }
    size = pack_zstd("k\t(a)\n(b", 8, bytes, sizeof bytes);
    size += pack_zstd(" (c))\n", 6, bytes + size, sizeof bytes - size);
    write_bytes(in_folder("y.trees.zst"), bytes, size);
    check_reads("y.trees.zst", &options, "k\t(a)\n(b (c))\n");
    for (size_t cut = 1; cut < size; cut++) {
        const char *path = in_folder("cut.trees.zst");
        phl_forest *forest = NULL;
        write_bytes(in_folder("cut.trees.zst"), bytes, cut);
        phl_status status = phl_forest_read(&path, 1, &options, &forest, NULL, NULL);
        assert_true(phl_status_group(status) == PHL_GROUP_DATA);
        assert_null(forest);
    }
    size = pack_gzip("", 0, bytes, sizeof bytes);
    write_bytes(in_folder("empty.trees.gz"), bytes, size);
    check_reads("empty.trees.gz", &options, "");
    size = pack_zstd("", 0, bytes, sizeof bytes);
    write_bytes(in_folder("empty.zst"), bytes, size);
    check_reads("empty.zst", &options, "");
}

/* A frame of unknown length whose header asks for this window (its logarithm). */
static size_t pack_zstd_window(const char *text, size_t size, int window, unsigned char *out,
                               size_t room)
{
    ZSTD_CStream *stream = ZSTD_createCStream();
    ZSTD_inBuffer in = {text, size, 0};
    ZSTD_outBuffer into = {out, room, 0};
    assert_non_null(stream);
    assert_false(ZSTD_isError(ZSTD_compressStream2(stream, &into, &in, ZSTD_e_flush)));
    assert_int_equal(ZSTD_compressStream2(stream, &into, &in, ZSTD_e_end), 0);
    ZSTD_freeCStream(stream);
    assert_int_equal(out[4] & 0xe0, 0); /* neither a length nor a single segment */
    out[5] = (unsigned char)((window - 10) << 3);
    return into.pos;
}

/* Megabytes in which the address sanitizer keeps book of the widest window: an eighth of it. */
#ifdef __SANITIZE_ADDRESS__
#define SHADOW 256
#else
#define SHADOW 0
#endif

/* Windows of zstd --ultra and --long, up to the widest there is, in little memory. */
static void test_zstd_windows(void **state)
{
    (void)state;
    unsigned char bytes[4096];
    phl_read_options options = read_options(PHL_FORMAT_AUTO);
    struct rusage usage;
    (void)mallopt(M_PERTURB, 0); /* memory that nobody asked for stays untouched */
    for (int window = 10; window <= 31; window++) {
        write_bytes(in_folder("w.trees.zst"), bytes,
                    pack_zstd_window("k\t(a (b))\n", 10, window, bytes, sizeof bytes));
        check_reads("w.trees.zst", &options, "k\t(a (b))\n");
    }
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    assert_in_range(usage.ru_maxrss, 0, (256 + SHADOW) << 10);
    write_bytes(in_folder("w.trees.zst"), bytes,
                pack_zstd_window("(a)\n", 4, 32, bytes, sizeof bytes));
    check_fails("w.trees.zst", &options, PHL_ERR_LIMIT, "a wider window");
    /* A frame that names a dictionary. */
    write_bytes(in_folder("d.trees.zst"), "\x28\xb5\x2f\xfd\x21\x07\x04\x21\0\0(a)\n", 14);
    check_fails("d.trees.zst", &options, PHL_ERR_FORMAT, "need a dictionary");
}

/* A few kilobytes that become many megabytes. */
static void test_ratio(void **state)
{
    (void)state;
    enum { BIG = 80 << 20, ROOM = 1 << 20 };
    char *text = malloc(BIG);
    unsigned char *packed = malloc(ROOM);
    phl_read_options options = read_options(PHL_FORMAT_AUTO);
    memset(text, '#', BIG); /* comments of a megabyte */
    for (size_t i = 0; i < BIG; i += 1 << 20) {
        text[i + (1 << 20) - 1] = '\n';
    }
    memcpy(text + BIG - 5, "\n(a)\n", 5);
    write_bytes(in_folder("bomb.trees.gz"), packed, pack_gzip(text, BIG, packed, ROOM));
    options.max_ratio = 500;
    check_fails("bomb.trees.gz", &options, PHL_ERR_LIMIT, "more than 500 times its size");
    options.max_ratio = 100000;
    check_reads("bomb.trees.gz", &options, "(a)\n");
    write_bytes(in_folder("bomb.trees.zst"), packed, pack_zstd(text, BIG, packed, ROOM));
    options.max_ratio = 0; /* 1,000 */
    check_fails("bomb.trees.zst", &options, PHL_ERR_LIMIT, "more than 1000 times its size");
    write_bytes(in_folder("small.trees.gz"), packed,
                pack_gzip(text, 60 << 20, packed, ROOM)); /* below what is free */
    options.max_ratio = 10;
    check_reads("small.trees.gz", &options, "");
    free(packed);
    free(text);
}

static void test_unreadable(void **state)
{
    (void)state;
    phl_read_options options = read_options(PHL_FORMAT_AUTO);
    check_fails("missing.trees", &options, PHL_ERR_OPEN, "cannot open: No such file");
    put_text("file", "(a)");
    check_fails("file/x.trees", &options, PHL_ERR_OPEN, "cannot open: Not a directory");
    put_text("x.dat", "hello");
    check_fails("x.dat", &options, PHL_ERR_FORMAT, "cannot tell the format");
    options.skip_bad = true; /* a missing file is no bad tree */
    check_fails("missing.trees", &options, PHL_ERR_OPEN, "cannot open");
    check_reads("x.dat", &options, "");
    assert_int_equal(mkdir(in_folder("empty"), 0777), 0);
    check_fails("empty", &options, PHL_ERR_OPEN, "no files with trees");
}

/* Somebody writes into the other end. */
static void test_fifo(void **state)
{
    (void)state;
    phl_read_options options = read_options(PHL_FORMAT_AUTO);
    assert_int_equal(mkfifo(in_folder("fifo"), 0666), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int file = open(in_folder("fifo"), O_WRONLY);
        bool good = write(file, "(a", 2) == 2 && write(file, " (b))\n", 6) == 6;
        _exit(good ? 0 : 1);
    }
    check_reads("fifo", &options, "(a (b))\n");
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* ---------------------------------------------------------------------------------------------
 * Writing
 * ------------------------------------------------------------------------------------------- */

static phl_status write_file(const char *text, const char *name, phl_error *error)
{
    phl_read_options options = read_options(PHL_FORMAT_BRACKETS);
    phl_forest *forest = read_text(&options, text, strlen(text));
    phl_status status =
        phl_forest_write(forest, name[0] == '/' ? name : in_folder(name), NULL, error);
    phl_forest_free(forest);
    return status;
}

static void test_replacing(void **state)
{
    (void)state;
    struct stat info;
    phl_error error = {0};
    assert_int_equal(write_file("(a)\n", "out.trees", NULL), PHL_OK);
    check_content("out.trees", "(a)\n");
    mode_t mask = umask(022);
    (void)umask(mask);
    assert_int_equal(stat(in_folder("out.trees"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0666 & ~mask);
    assert_int_equal(chmod(in_folder("out.trees"), 0640), 0);
    assert_int_equal(write_file("(b)\n", "out.trees", NULL), PHL_OK);
    check_content("out.trees", "(b)\n");
    assert_int_equal(stat(in_folder("out.trees"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    /* What cannot be expressed leaves the old file alone. */
    put_text("old.elastic.tree", "old");
    assert_int_equal(write_file("(a _ (b))\n", "old.elastic.tree", &error), PHL_ERR_EXPRESS);
    check_content("old.elastic.tree", "old");
    /* Behind a link the file itself is replaced, and the link stays. */
    assert_int_equal(mkdir(in_folder("elsewhere"), 0777), 0);
    put_text("elsewhere/real.trees", "old");
    assert_int_equal(symlink("elsewhere/real.trees", in_folder("link.trees")), 0);
    assert_int_equal(write_file("(c)\n", "link.trees", NULL), PHL_OK);
    check_content("elsewhere/real.trees", "(c)\n");
    assert_int_equal(lstat(in_folder("link.trees"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(entries_in(in_folder("elsewhere")), 1);
    assert_int_equal(entries_in(folder), 4);
}

static void test_writing_compressed(void **state)
{
    (void)state;
    phl_read_options options = read_options(PHL_FORMAT_AUTO);
    static const char *const names[] = {"o.trees.gz", "o.trees.zst", "o.jsonl.gz", "o.jsonl.zst"};
    static const unsigned char magic[][4] = {
        {0x1f, 0x8b, 8, 0}, {0x28, 0xb5, 0x2f, 0xfd}, {0x1f, 0x8b, 8, 0}, {0x28, 0xb5, 0x2f, 0xfd}};
    for (size_t i = 0; i < 4; i++) {
        unsigned char head[4];
        assert_int_equal(write_file("k\t(a _ (b))\n(c)\n", names[i], NULL), PHL_OK);
        FILE *file = fopen(in_folder(names[i]), "rb");
        assert_int_equal(fread(head, 1, 4, file), 4);
        fclose(file);
        assert_memory_equal(head, magic[i], 4);
        check_reads(names[i], &options, "k\t(a _ (b))\n(c)\n");
        assert_int_equal(write_file("", names[i], NULL), PHL_OK);
        check_reads(names[i], &options, "");
    }
}

static void test_unwritable(void **state)
{
    (void)state;
    phl_error error = {0};
    assert_int_equal(write_file("(a)\n", "nowhere/out.trees", &error), PHL_ERR_WRITE);
    assert_non_null(strstr(error.message, "No such file"));
    assert_int_equal(mkdir(in_folder("folder.trees"), 0777), 0);
    assert_int_equal(write_file("(a)\n", "folder.trees", &error), PHL_ERR_WRITE);
    assert_non_null(strstr(error.message, "it is a folder"));
    assert_int_equal(write_file("(a)\n", "/dev/full", &error), PHL_ERR_WRITE);
    assert_non_null(strstr(error.message, "No space left"));
    assert_int_equal(write_file("(a)\n", "/dev/null", &error), PHL_OK);
    assert_int_equal(entries_in(folder), 1);
}

/* In a process without privileges: root may write anywhere. */
static void test_read_only_folder(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_folder("closed"), 0777), 0);
    put_text("closed/old.trees", "old");
    assert_int_equal(chmod(in_folder("closed"), 0555), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        phl_error error = {0};
        phl_forest *forest = NULL;
        phl_read_options options = read_options(PHL_FORMAT_BRACKETS);
        if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) {
            _exit(2);
        }
        if (phl_forest_read_memory("(a)", 3, "test", &options, &forest, NULL, NULL) != PHL_OK) {
            _exit(3);
        }
        phl_status status = phl_forest_write(forest, in_folder("closed/old.trees"), NULL, &error);
        phl_forest_free(forest);
        _exit(status == PHL_ERR_WRITE && strstr(error.message, "Permission denied") != NULL ? 0
                                                                                            : 4);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    check_content("closed/old.trees", "old");
    assert_int_equal(entries_in(in_folder("closed")), 1);
}

/* Documents: a folder a class; an existing folder is filled only if told so. */
static void test_documents(void **state)
{
    (void)state;
    phl_read_options reading = read_options(PHL_FORMAT_BRACKETS);
    phl_write_options options = write_options(PHL_FORMAT_XML);
    const char *text = "a\t(x (y))\nb\t(x _ (y))\na\t(z)\n(w)\n";
    phl_forest *forest = read_text(&reading, text, strlen(text));
    phl_error error = {0};
    assert_int_equal(phl_forest_write(forest, in_folder("docs"), &options, NULL), PHL_OK);
    phl_read_options automatic = read_options(PHL_FORMAT_AUTO);
    check_reads("docs", &automatic, "(w)\na\t(x (y))\na\t(z)\nb\t(x _ (y))\n");
    assert_int_equal(phl_forest_write(forest, in_folder("docs"), &options, &error), PHL_ERR_WRITE);
    assert_non_null(strstr(error.message, "not empty"));
    options.force = true;
    assert_int_equal(phl_forest_write(forest, in_folder("docs"), &options, NULL), PHL_OK);
    check_reads("docs", &automatic, "(w)\na\t(x (y))\na\t(z)\nb\t(x _ (y))\n");
    assert_int_equal(entries_in(folder), 1);
    phl_forest_free(forest);
    text = "a/b\t(x)\nc\t(y)\n";
    forest = read_text(&reading, text, strlen(text));
    assert_int_equal(phl_forest_write(forest, in_folder("more"), &options, &error),
                     PHL_ERR_EXPRESS);
    assert_non_null(strstr(error.message, "tree 0"));
    assert_int_equal(entries_in(folder), 1);
    phl_forest_free(forest);
}

static bool say_stop(void *context)
{
    return --*(int *)context < 0;
}

/* Interrupted at any moment: the old file, and nothing else. */
static void test_cancelled(void **state)
{
    (void)state;
    phl_read_options reading = read_options(PHL_FORMAT_BRACKETS);
    const char *text = "(a)\n(b)\n(c)\n";
    phl_forest *forest = read_text(&reading, text, strlen(text)), *nothing = NULL;
    phl_write_options options = write_options(PHL_FORMAT_BRACKETS);
    options.cancel = say_stop;
    for (int calls = 0; calls < 3; calls++) {
        int left = calls;
        phl_error error = {0};
        options.context = &left;
        put_text("out.trees", "old");
        assert_int_equal(phl_forest_write(forest, in_folder("out.trees"), &options, &error),
                         PHL_ERR_CANCELLED);
        check_content("out.trees", "old");
        assert_int_equal(entries_in(folder), 1);
        left = calls;
        reading.cancel = say_stop;
        reading.context = &left;
        assert_int_equal(
            phl_forest_read_memory(text, strlen(text), "x", &reading, &nothing, NULL, &error),
            PHL_ERR_CANCELLED);
        assert_null(nothing);
    }
    phl_forest_free(forest);
}

#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(test_folders),         IN_A_FOLDER(test_several_paths),
        IN_A_FOLDER(test_listed_files),    IN_A_FOLDER(test_levels_and_endings),
        IN_A_FOLDER(test_formats_by_name), IN_A_FOLDER(test_compressed),
        IN_A_FOLDER(test_zstd_windows),    IN_A_FOLDER(test_ratio),
        IN_A_FOLDER(test_unreadable),      IN_A_FOLDER(test_fifo),
        IN_A_FOLDER(test_replacing),       IN_A_FOLDER(test_writing_compressed),
        IN_A_FOLDER(test_unwritable),      IN_A_FOLDER(test_read_only_folder),
        IN_A_FOLDER(test_documents),       IN_A_FOLDER(test_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
