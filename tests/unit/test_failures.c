/* test_failures.c - reading, writing and building forests with the n-th allocation or system call
 * failing, for every n: nothing leaks, and an output file is the old one or the new one, with
 * nothing left beside it.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "failing.h"
#include "folder.h"
#include "formats.h"
#include "many_trees.h"

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
static const char html_text[] = "<title>t</title><p class=a \xe9>x<b>y<table><tr><td>z";
static const char newick_text[] = "((a,'b c')d,(e,f):2)g;\n(a,b);x;\n";
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
    const char *copy; /* where do_stream writes */
    phl_format format;
    const char *text; /* read from memory ... */
    size_t size;
    const char *path;         /* ... or from here; or written here */
    const phl_forest *source; /* written, copied, counted */
    bool skip_bad;
    bool force;   /* into a folder that is not empty */
    size_t block; /* read in blocks of so many trees, written in so many; 0: all at once */

    phl_forest *forest;
    char *written;
    size_t written_size;
    char print[33];
    phl_stats *stats;
};

/* Block by block, put together as they come. */
static phl_status do_read_blocks(struct work *work, phl_read_options *options, phl_error *error)
{
    phl_source *source = NULL;
    options->block_trees = work->block;
    phl_status status =
        work->path != NULL
            ? phl_source_open(&work->path, 1, options, &source, error)
            : phl_source_memory(work->text, work->size, "test", options, &source, error);
    while (status == PHL_OK) {
        const phl_forest *both[2] = {work->forest, NULL};
        phl_forest *joined = NULL;
        status = phl_source_next(source, &both[1], error);
        if (status != PHL_OK || both[1] == NULL) {
            break;
        }
        bool first = work->forest == NULL;
        status = phl_forest_concat(first ? both + 1 : both, first ? 1 : 2, &joined, error);
        if (status == PHL_OK) {
            phl_forest_free(work->forest);
            work->forest = joined;
        }
    }
    phl_source_free(source);
    if (status != PHL_OK) {
        phl_forest_free(work->forest);
        work->forest = NULL;
    }
    return status;
}

static phl_status do_read(void *context, phl_error *error)
{
    struct work *work = context;
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

/* The same trees, as often as there are to be blocks. */
static phl_status do_write_blocks(const struct work *work, const phl_write_options *options,
                                  phl_error *error)
{
    phl_sink *sink = NULL;
    phl_status status = phl_sink_open(work->path, options, &sink, error);
    for (size_t i = 0; status == PHL_OK && i < work->block; i++) {
        status = phl_sink_write(sink, work->source, error);
    }
    if (status == PHL_OK) {
        status = phl_sink_finish(sink, error);
    }
    phl_sink_free(sink);
    return status;
}

static phl_status do_write(void *context, phl_error *error)
{
    struct work *work = context;
    phl_write_options options = write_options(work->format);
    options.force = work->force;
    if (work->block != 0) {
        return do_write_blocks(work, &options, error);
    }
    return work->path != NULL ? phl_forest_write(work->source, work->path, &options, error)
                              : phl_forest_write_memory(work->source, &options, &work->written,
                                                        &work->written_size, error);
}

/* From a source into a sink, block by block. */
static phl_status do_stream(void *context, phl_error *error)
{
    struct work *work = context;
    phl_read_options reading = read_options(PHL_FORMAT_AUTO);
    phl_write_options writing = write_options(PHL_FORMAT_JSON);
    phl_source *source = NULL;
    phl_sink *sink = NULL;
    reading.block_trees = 2;
    phl_status status = phl_source_open(&work->path, 1, &reading, &source, error);
    if (status == PHL_OK) {
        status = phl_sink_open(work->copy, &writing, &sink, error);
    }
    for (bool more = true; status == PHL_OK && more;) {
        const phl_forest *block = NULL;
        status = phl_source_next(source, &block, error);
        more = block != NULL;
        if (status == PHL_OK && more) {
            status = phl_sink_write(sink, block, error);
        }
    }
    if (status == PHL_OK) {
        status = phl_sink_finish(sink, error);
    }
    phl_sink_free(sink);
    phl_source_free(source);
    return status;
}

static phl_status do_concat(void *context, phl_error *error)
{
    struct work *work = context;
    const phl_forest *both[2] = {work->source, work->source};
    return phl_forest_concat(both, 2, &work->forest, error);
}

static phl_status do_select(void *context, phl_error *error)
{
    struct work *work = context;
    const size_t trees[] = {1, 0, 1};
    return phl_forest_select(work->source, trees, 3, &work->forest, error);
}

static phl_status do_encode(void *context, phl_error *error)
{
    struct work *work = context;
    return phl_forest_encode(work->source, PHL_ENCODING_FIRST_CHILD, &work->forest, error);
}

static phl_status do_decode(void *context, phl_error *error)
{
    struct work *work = context;
    phl_forest *encoded = NULL;
    phl_status status = phl_forest_encode(work->source, PHL_ENCODING_FIRST_CHILD, &encoded, error);
    if (status == PHL_OK) {
        status = phl_forest_decode(encoded, PHL_ENCODING_FIRST_CHILD, &work->forest, error);
    }
    phl_forest_free(encoded);
    return status;
}

static phl_status do_stats(void *context, phl_error *error)
{
    struct work *work = context;
    return phl_stats_compute(work->source, &work->stats, error);
}

static phl_status do_fingerprint(void *context, phl_error *error)
{
    struct work *work = context;
    return phl_forest_fingerprint(work->source, true, work->print, error);
}

static phl_status do_symm(void *context, phl_error *error)
{
    struct work *work = context;
    phl_symm_options options;
    phl_symm_options_init(&options);
    options.trees_per_class = 4;
    return phl_generate_symm(&options, &work->forest, error);
}

static phl_status do_logic(void *context, phl_error *error)
{
    struct work *work = context;
    phl_logic_options options;
    phl_logic_options_init(&options);
    options.trees = 4;
    return phl_generate_logic(&options, &work->forest, error);
}

static phl_status do_documents(void *context, phl_error *error)
{
    struct work *work = context;
    phl_documents_options options;
    phl_documents_options_init(&options);
    options.trees_per_class = 4;
    options.classes = 2;
    return phl_generate_documents(&options, &work->forest, error);
}

static phl_status do_walk(void *context, phl_error *error)
{
    struct work *work = context;
    phl_walk *walk = NULL;
    phl_status status = phl_walk_create(work->source, &walk, error);
    size_t nodes = 0;
    for (size_t tree = 0; status == PHL_OK && tree < phl_forest_trees(work->source); tree++) {
        phl_visit visit;
        int more = 1;
        for (phl_walk_start(walk, tree); more > 0; nodes += more > 0) {
            more = phl_walk_next(walk, &visit, error);
        }
        status = (phl_status)more;
    }
    phl_walk_free(walk);
    (void)snprintf(work->print, sizeof work->print, "%zu nodes", nodes);
    return status;
}

/* A tree that fails half-way is forgotten; the builder goes on with the next. */
static phl_status do_build(void *context, phl_error *error)
{
    struct work *work = context;
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

/* What came out, as a line of text to compare; and release it. */
static void finish(void *context, char *out, size_t room)
{
    struct work *work = context;
    if (work->forest != NULL) {
        char print[33];
        assert_int_equal(phl_forest_fingerprint(work->forest, true, print, NULL), PHL_OK);
        (void)snprintf(out, room, "%s %zu labels", print, phl_forest_labels(work->forest));
    } else if (work->written != NULL) {
        uint64_t hash = work->written_size;
        for (size_t i = 0; i < work->written_size; i++) {
            hash = hash * 1099511628211u + (unsigned char)work->written[i];
        }
        (void)snprintf(out, room, "%016llx", (unsigned long long)hash);
    } else if (work->stats != NULL) {
        (void)snprintf(out, room, "%llu %llu %llu", (unsigned long long)work->stats->nodes,
                       (unsigned long long)work->stats->slot_child_pairs,
                       (unsigned long long)work->stats->ambiguous_trees);
        phl_stats_free(work->stats);
        work->stats = NULL;
    } else {
        (void)snprintf(out, room, "%s", work->print);
    }
    phl_forest_free(work->forest);
    phl_free(work->written);
    work->forest = NULL;
    work->written = NULL;
}

/* ---------------------------------------------------------------------------------------------
 * Allocations
 * ------------------------------------------------------------------------------------------- */

static void fail_allocations(const char *name, phl_status (*run)(void *, phl_error *),
                             struct work *work)
{
    failing_allocations(&(failing_work){name, run, finish, work, false});
}

static void read_failures(phl_format format, const char *text, size_t size)
{
    struct work work = {.format = format, .text = text, .size = size};
    fail_allocations(phl_format_name(format), do_read, &work);
    work.skip_bad = true; /* a tree there is no memory for is not a bad tree */
    fail_allocations(phl_format_name(format), do_read, &work);
    work.block = size > 1000 ? 300 : 1; /* three blocks of the long texts */
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

static void test_reading_html(void **state)
{
    (void)state;
    read_failures(PHL_FORMAT_HTML, html_text, strlen(html_text));
}

static void test_reading_newick(void **state)
{
    (void)state;
    read_failures(PHL_FORMAT_NEWICK, newick_text, strlen(newick_text));
}

static void test_reading_rna(void **state)
{
    (void)state;
    static const char dots[] = ">x k\nGACU\n(.).\n((..))\n";
    static const char table[] = "2 x k\n1 G 0 2 2 1\n2 C 1 0 1 2\n1 y\n1 G 0 0 0 1\n";
    read_failures(PHL_FORMAT_DBN, dots, strlen(dots));
    read_failures(PHL_FORMAT_CT, table, strlen(table));
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
    phl_forest *forest = trees(text);
    test_free(text);
    return forest;
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
                  {PHL_FORMAT_PTB, "(S (NP (DT the)))\n"},
                  {PHL_FORMAT_NEWICK, newick_text}};
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
        fail_allocations("encode", do_encode, &work);
        fail_allocations("decode", do_decode, &work);
        fail_allocations("stats", do_stats, &work);
        fail_allocations("fingerprint", do_fingerprint, &work);
        fail_allocations("walk", do_walk, &work);
        phl_forest_free(forest);
    }
}

/* Deep enough for what a walk remembers to grow. */
static void test_walking(void **state)
{
    (void)state;
    char text[1200];
    size_t used = 0;
    for (size_t i = 0; i < 200; i++) {
        used += (size_t)sprintf(text + used, "(a ");
    }
    memset(text + used, ')', 200);
    (void)strcpy(text + used + 200, "\n");
    phl_forest *forest = trees(text);
    struct work work = {.source = forest};
    fail_allocations("walk", do_walk, &work);
    phl_forest_free(forest);
}

static void test_generating(void **state)
{
    (void)state;
    struct work work = {0};
    fail_allocations("generate symm", do_symm, &work);
    fail_allocations("generate logic", do_logic, &work);
    fail_allocations("generate documents", do_documents, &work);
}

static void test_building(void **state)
{
    (void)state;
    struct work work = {0};
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
    long live = failing_live();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *path = in_folder(names[i]);
        for (int variant = 0; variant < 4; variant++) {
            int for_ever = variant % 2;
            struct work work = {.source = forest, .path = path, .block = variant < 2 ? 0 : 2};
            bool more = true;
            for (long at = 1; more; at++) {
                phl_error error = {0};
                size_t size = 0;
                write_bytes(path, "old", 3);
                failing_start(ALLOCATE, at, for_ever, ENOMEM);
                phl_status status = do_write(&work, &error);
                more = failing_stop();
                assert_true(more || at > 1); /* it was called at all */
                char *content = read_bytes(path, &size);
                bool old = size == 3 && memcmp(content, "old", 3) == 0;
                test_free(content);
                if (old != (status != PHL_OK)) {
                    failing_complain(names[i], "old and new are mixed up", &error);
                }
                if (status != PHL_OK && status != PHL_ERR_MEMORY) {
                    failing_complain(names[i], "not PHL_ERR_MEMORY", &error);
                }
                if (entries_in(folder) != 1) {
                    failing_complain(names[i], "a file is left behind", &error);
                }
                assert_int_equal(failing_live(), live);
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
    phl_forest *forest = trees("a\t(r (x) _ (y))\nb\t(r)\n(q (\"a b\"))\na\t(s)\n");
    const char *path = in_folder("documents");
    struct work work = {.source = forest, .path = path, .format = PHL_FORMAT_XML};
    long live = failing_live();
    static const enum failing_call calls[] = {ALLOCATE, WRITE, RENAME, CLOSE};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        for (int for_ever = 0; for_ever < 2; for_ever++) {
            bool more = true;
            for (long at = 1; more; at++) {
                phl_error error = {0};
                failing_start(calls[i], at, for_ever, calls[i] == ALLOCATE ? ENOMEM : EIO);
                phl_status status = do_write(&work, &error);
                more = failing_stop();
                assert_true(more || at > 1); /* it was called at all */
                if (entries_in(folder) != (status == PHL_OK)) {
                    failing_complain("documents", "something is left behind", &error);
                }
                /* After the four documents only folders are closed. */
                if (status == PHL_OK && more && (calls[i] != CLOSE || at <= 4)) {
                    failing_complain("documents", "the failure went unseen", &error);
                }
                if (phl_status_group(status) !=
                    (status == PHL_OK ? PHL_GROUP_OK : PHL_GROUP_SYSTEM)) {
                    failing_complain("documents", "the wrong kind of error", &error);
                }
                assert_int_equal(failing_live(), live);
                empty_folder();
            }
        }
    }
    phl_forest_free(forest);
}

/* Everything below the folder, names and contents, as one text. */
static char *everything(void)
{
    char command[1000];
    (void)snprintf(command, sizeof command,
                   "cd '%s' && { find . ! -name seen -printf '%%p %%y %%l\\n' | sort; "
                   "find . -type f ! -name seen | sort | xargs cat; } > seen",
                   folder);
    assert_int_equal(system(command), 0);
    return read_bytes(in_folder("seen"), NULL);
}

static void make_old_folder(void)
{
    empty_folder();
    assert_int_equal(mkdir(in_folder("documents"), 0777), 0);
    assert_int_equal(mkdir(in_folder("documents/a"), 0777), 0);
    put_text("documents/a/00000000.xml", "<old/>\n");
    put_text("documents/a/other.xml", "<other/>\n");
    put_text("outside.xml", "<outside/>\n");
    assert_int_equal(symlink("../../outside.xml", in_folder("documents/a/00000003.xml")), 0);
    assert_int_equal(symlink("../outside.xml", in_folder("documents/00000002.xml")), 0);
}

/* Documents into a folder that holds some: all of them or none, and never through a link. */
static void test_adding_documents(void **state)
{
    (void)state;
    phl_forest *forest = trees("a\t(r (x) _ (y))\nb\t(r)\n(q (\"a b\"))\na\t(s)\n");
    char path[300];
    (void)snprintf(path, sizeof path, "%s", in_folder("documents"));
    struct work work = {.source = forest, .path = path, .format = PHL_FORMAT_XML, .force = true};
    make_old_folder();
    char *before = everything();
    phl_error error = {0};
    assert_int_equal(do_write(&work, &error), PHL_OK);
    char *after = everything();
    check_content("outside.xml", "<outside/>\n");
    check_content("documents/a/other.xml", "<other/>\n");
    assert_null(strstr(after, "<old/>"));
    assert_non_null(strstr(after, "./documents/b/00000001.xml f"));
    assert_non_null(strstr(after, "./documents/00000002.xml f")); /* no link any more */
    long live = failing_live();
    static const enum failing_call calls[] = {ALLOCATE, WRITE, RENAME, CLOSE};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        bool more = true;
        for (long at = 1; more; at++) {
            memset(&error, 0, sizeof error);
            make_old_folder();
            live = failing_live();
            failing_start(calls[i], at, calls[i] == WRITE, calls[i] == ALLOCATE ? ENOMEM : EIO);
            phl_status status = do_write(&work, &error);
            more = failing_stop();
            assert_true(more || at > 1); /* it was called at all */
            char *now = everything();
            if (strcmp(now, status == PHL_OK ? after : before) != 0) {
                print_error("%s", now);
                failing_complain("into a folder", "old and new are mixed up", &error);
            }
            test_free(now);
            if (status == PHL_OK && more && calls[i] != CLOSE) {
                failing_complain("into a folder", "the failure went unseen", &error);
            }
            assert_int_equal(failing_live(), live);
        }
    }
    test_free(before);
    test_free(after);
    phl_forest_free(forest);
}

/* Every allocation of reading a folder with plain and compressed files. */
static void test_reading_files(void **state)
{
    (void)state;
    phl_forest *forest = rich_forest();
    const char *path = in_folder("in");
    assert_int_equal(mkdir(path, 0777), 0);
    static const char *const names[] = {"in/a.trees", "in/b.trees.gz", "in/c.jsonl.zst",
                                        "in/d.jsonl"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct work work = {.source = forest, .path = in_folder(names[i])};
        assert_int_equal(do_write(&work, NULL), PHL_OK);
    }
    struct work work = {.path = path};
    fail_allocations("folder", do_read, &work);
    work.block = 15;
    fail_allocations("folder in blocks", do_read, &work);
    work.block = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        work.path = in_folder(names[i]);
        fail_allocations(names[i], do_read, &work);
    }
    work.path = in_folder(names[0]);
    work.copy = in_folder("copy.jsonl");
    fail_allocations("stream", do_stream, &work);
    phl_forest_free(forest);
}

/* Read errors are told; interruptions and short reads are not noticed. */
static void test_failing_reads(void **state)
{
    (void)state;
    static const char *const names[] = {"in.trees", "in.trees.gz", "in.jsonl.zst"};
    phl_forest *forest = rich_forest();
    long live = failing_live();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char expected[200], found[200];
        const char *path = in_folder(names[i]);
        struct work work = {.source = forest, .path = path};
        assert_int_equal(do_write(&work, NULL), PHL_OK);
        assert_int_equal(do_read(&work, NULL), PHL_OK);
        finish(&work, expected, sizeof expected);
        static const int causes[] = {EIO, EINTR, 0};
        for (size_t c = 0; c < 2 * sizeof causes / sizeof *causes; c++) {
            int cause = causes[c / 2];
            bool more = true;
            work.block = c % 2 == 0 ? 0 : 7;
            for (long at = 1; more; at++) {
                phl_error error = {0};
                bool for_ever = cause != EINTR; /* interrupted for ever is waiting for ever */
                failing_start(READ, at, for_ever, cause);
                phl_status status = do_read(&work, &error);
                more = failing_stop();
                assert_true(more || at > 1); /* it was called at all */
                if (more && cause == EIO) {
                    assert_int_equal(status, PHL_ERR_READ);
                    assert_string_equal(error.file, path);
                } else {
                    assert_int_equal(status, PHL_OK);
                    finish(&work, found, sizeof found);
                    assert_string_equal(found, expected);
                }
                assert_int_equal(failing_live(), live);
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
    /* Harmless from call number N on (0: none is): the sync of the folder, which comes second, and
     * closing what has been synced. */
    static const struct {
        enum failing_call call;
        int cause;
        bool for_ever;
        long harmless;
    } ways[] = {{WRITE, EIO, false, 0},    {WRITE, ENOSPC, true, 0}, {WRITE, EINTR, false, 1},
                {WRITE, 0, true, 1},       {FSYNC, EIO, false, 2},   {FSYNC, ENOSPC, true, 2},
                {RENAME, EACCES, true, 0}, {CLOSE, EIO, false, 1},   {CLOSE, ENOSPC, true, 1}};
    char *text = many_brackets(20000); /* several buffers full */
    phl_forest *forest = trees(text);
    test_free(text);
    long live = failing_live();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *path = in_folder(names[i]);
        struct work work = {.source = forest, .path = path};
        size_t new_size = 0;
        assert_int_equal(do_write(&work, NULL), PHL_OK);
        char *new_content = read_bytes(path, &new_size);
        assert_true(new_size > 1000);
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
            bool more = true;
            for (long at = 1; more; at++) {
                phl_error error = {0};
                size_t size = 0;
                write_bytes(path, "old", 3);
                failing_start(ways[w].call, at, ways[w].for_ever, ways[w].cause);
                phl_status status = do_write(&work, &error);
                more = failing_stop();
                assert_true(more || at > 1); /* it was called at all */
                char *content = read_bytes(path, &size);
                if (more && (ways[w].harmless == 0 || at < ways[w].harmless)) {
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
                assert_int_equal(entries_in(folder), 1);
                assert_int_equal(failing_live(), live);
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
        IN_A_FOLDER(test_reading_html),     IN_A_FOLDER(test_reading_newick),
        IN_A_FOLDER(test_reading_rna),      IN_A_FOLDER(test_reading_conllu),
        IN_A_FOLDER(test_reading_ptb),      IN_A_FOLDER(test_writing),
        IN_A_FOLDER(test_combining),        IN_A_FOLDER(test_walking),
        IN_A_FOLDER(test_generating),       IN_A_FOLDER(test_building),
        IN_A_FOLDER(test_writing_files),    IN_A_FOLDER(test_writing_documents),
        IN_A_FOLDER(test_adding_documents), IN_A_FOLDER(test_reading_files),
        IN_A_FOLDER(test_failing_reads),    IN_A_FOLDER(test_failing_writes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
