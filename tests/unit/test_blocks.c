/* test_blocks.c - forests read block by block: the trees, sources, reports and errors are those of
 * a forest read at once, whatever the bounds of a block.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "folder.h"
#include "format/block_reader.h"
#include "formats.h"

/* ---------------------------------------------------------------------------------------------
 * What was read, as text
 * ------------------------------------------------------------------------------------------- */

/* An input: a text, or paths. */
struct source {
    const char *text;
    const char *const *paths;
    size_t n_paths;
};

/* Trees as "file:line json", one per line; reports and the failure as lines of their own. */
struct transcript {
    char trees[1 << 16], reports[1 << 13], failure[2048];
    size_t n_trees, n_blocks;
    phl_read_summary summary;
};

static void note(const phl_error *error, void *context)
{
    struct transcript *transcript = context;
    char line[2048];
    size_t used = strlen(transcript->reports);
    int wanted = snprintf(transcript->reports + used, sizeof transcript->reports - used, "%s\n",
                          phl_error_format(error, line, sizeof line));
    assert_true((size_t)wanted < sizeof transcript->reports - used);
}

static void add_trees(struct transcript *transcript, const phl_forest *forest)
{
    char *text = write_text(forest, write_options(PHL_FORMAT_JSON));
    char *line = text;
    for (size_t t = 0; t < phl_forest_trees(forest); t++) {
        char *end = strchr(line, '\n');
        size_t used = strlen(transcript->trees);
        const char *file = phl_tree_file(forest, t);
        *end = '\0';
        int wanted =
            snprintf(transcript->trees + used, sizeof transcript->trees - used, "%s:%llu %s\n",
                     file != NULL ? file : "", (unsigned long long)phl_tree_line(forest, t), line);
        assert_true((size_t)wanted < sizeof transcript->trees - used);
        line = end + 1;
    }
    transcript->n_trees += phl_forest_trees(forest);
    test_free(text);
}

static void read_whole(const struct source *source, phl_read_options options,
                       struct transcript *transcript)
{
    phl_forest *forest = NULL;
    phl_error error = {0};
    memset(transcript, 0, sizeof *transcript);
    options.report = note;
    options.context = transcript;
    phl_status status =
        source->paths != NULL
            ? phl_forest_read(source->paths, source->n_paths, &options, &forest,
                              &transcript->summary, &error)
            : phl_forest_read_memory(source->text, strlen(source->text), "test", &options, &forest,
                                     &transcript->summary, &error);
    if (status == PHL_OK) {
        add_trees(transcript, forest);
    } else {
        phl_error_format(&error, transcript->failure, sizeof transcript->failure);
    }
    phl_forest_free(forest);
}

/* Blocks are as large as their bounds say: full after their last tree, not before it. */
static void check_bounds(const phl_forest *block, size_t max_trees, size_t max_size, bool last)
{
    size_t trees = phl_forest_trees(block);
    size_t size = phl_forest_subtrees(block) + phl_forest_links(block);
    bool full = (max_trees != 0 && trees >= max_trees) || (max_size != 0 && size >= max_size);
    assert_true(trees > 0 && (max_trees == 0 || trees <= max_trees));
    assert_true(full || last);
    if (max_size != 0 && trees > 1) {
        size_t *numbers = test_malloc(trees * sizeof *numbers);
        phl_forest *before = NULL;
        for (size_t t = 0; t < trees; t++) {
            numbers[t] = t;
        }
        assert_int_equal(phl_forest_select(block, numbers, trees - 1, &before, NULL), PHL_OK);
        assert_true(phl_forest_subtrees(before) + phl_forest_links(before) < max_size);
        phl_forest_free(before);
        test_free(numbers);
    }
}

static void read_blocks(const struct source *source, phl_read_options options, size_t max_trees,
                        size_t max_size, struct transcript *transcript)
{
    phl_block_reader *reader = NULL;
    phl_forest *block = NULL, *next = NULL;
    phl_error error = {0};
    memset(transcript, 0, sizeof *transcript);
    options.report = note;
    options.context = transcript;
    phl_status status =
        source->paths != NULL
            ? phl_block_reader_create(source->paths, source->n_paths, &options, &reader, &error)
            : phl_block_reader_create_memory(source->text, strlen(source->text), "test", &options,
                                             &reader, &error);
    if (status == PHL_OK) {
        status = phl_block_reader_next(reader, max_trees, max_size, &block, &error);
    }
    while (block != NULL) {
        next = NULL;
        transcript->n_blocks++;
        status = phl_block_reader_next(reader, max_trees, max_size, &next, &error);
        check_bounds(block, max_trees, max_size, next == NULL);
        add_trees(transcript, block);
        phl_forest_free(block);
        block = next;
    }
    if (status != PHL_OK) {
        phl_error again = {0};
        phl_error_format(&error, transcript->failure, sizeof transcript->failure);
        if (reader != NULL) { /* it stays so */
            assert_int_equal(phl_block_reader_next(reader, 0, 0, &next, &again), status);
            assert_string_equal(again.message, error.message);
        }
    } else {
        assert_int_equal(phl_block_reader_next(reader, 0, 0, &next, NULL), PHL_OK);
        assert_null(next);
    }
    if (reader != NULL) {
        phl_block_reader_summary(reader, &transcript->summary);
    }
    phl_block_reader_free(reader);
}

/* In blocks of every kind `source` gives what it gives at once; of a bad one, also the trees before
 * the failure, as many as `good`. */
static void check_blocks_after(const struct source *source, phl_read_options options, size_t good)
{
    static const struct {
        size_t trees, size;
    } bounds[] = {{1, 0}, {2, 0}, {3, 0}, {7, 0}, {1000000, 0}, {0, 0}, {0, 1}, {0, 9}, {3, 12}};
    static struct transcript whole, blocks, before;
    read_whole(source, options, &whole);
    before = whole;
    if (whole.failure[0] != '\0' && good > 0) {
        phl_read_options some = options;
        some.limit = good;
        read_whole(source, some, &before);
    }
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        read_blocks(source, options, bounds[i].trees, bounds[i].size, &blocks);
        assert_string_equal(blocks.trees, before.trees);
        assert_string_equal(blocks.reports, whole.reports);
        assert_string_equal(blocks.failure, whole.failure);
        assert_int_equal(blocks.summary.trees, before.n_trees);
        if (whole.failure[0] == '\0') {
            assert_memory_equal(&blocks.summary, &whole.summary, sizeof whole.summary);
        }
        if (bounds[i].trees == 1 || bounds[i].size == 1) {
            assert_int_equal(blocks.n_blocks, before.n_trees);
        }
    }
}

static void check_blocks(const struct source *source, phl_read_options options)
{
    check_blocks_after(source, options, 0);
}

/* ---------------------------------------------------------------------------------------------
 * Formats
 * ------------------------------------------------------------------------------------------- */

static const struct sample {
    phl_format format;
    const char *text;
    size_t good; /* trees before the first bad one */
} good_samples[] = {
    {PHL_FORMAT_BRACKETS,
     "# a comment\nk\t(a (b) _ (c))\n\n(a (b))\n\"k l\"\t(\"x y\" (?) (b))\nk\t(a (b) _ (c))\n(q)\n"
     "(a (a (a (b))))\n(q)\nm\t(q)",
     0},
    {PHL_FORMAT_ELASTIC, "1:a(b($) c($))\n\n2:a(b($))\nq($)\n1:a(b($) c($))\n1:c($)\n3:x(y($))", 0},
    {PHL_FORMAT_JSON,
     "{\"id\":\"t1\",\"weight\":2.5,\"label\":[\"r\",null],\"parent\":[-1,0],\"slot\":[1,3]}\n\n"
     "{\"class\":\"b\",\"label\":[\"q\",\"r\"],\"parent\":[-1,0]}\n"
     "{\"id\":\"t3\",\"label\":[\"q\",\"r\"],\"parent\":[-1,0]}\n"
     "{\"class\":\"a\",\"label\":[\"r\\n\"],\"parent\":[-1]}",
     0},
    {PHL_FORMAT_XML, "<r><x b=\"2\">text</x><y/></r>", 0},
    {PHL_FORMAT_HTML, "<!doctype html><p>text<ul><li class=x>a<li>b</ul>", 0},
    {PHL_FORMAT_CONLLU,
     "# sent_id = s1\n1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\n"
     "2\tdog\tdog\tNOUN\tNN\t_\t0\troot\t_\t_\n\n"
     "1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n\n\n# sent_id = s3\n"
     "1\tNo\tno\tINTJ\t_\t_\t0\troot\t_\t_\n\n1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n",
     0},
    {PHL_FORMAT_PTB,
     "( (S (NP (DT the)) (VP barks))) (S a) (S\n (A a)) (S a) (S (B b)) \n1 |BT| (S (A a)) |ET|\n"
     "(S a)(S a)  ( (T\n t) ) (S (B b))",
     0},
    {PHL_FORMAT_NEWICK, "(a,b)c;(d,(e,f)g);\n(a,\nb)c; x;\n(a:1,b:2);", 0},
    {PHL_FORMAT_DBN, ">x k\nGAC\n(.)\n>y k\nGAC\n(.)\n((..))\n.\n(.)(.)\n", 0},
    {PHL_FORMAT_CT,
     "2 x k\n1 G 0 2 2 1\n2 C 1 0 1 2\n1 y\n1 G 0 0 0 1\n1 z\n1 A 0 0 0 1\n1 z\n1 A 0 0 0 1\n", 0},
};

static const struct sample bad_samples[] = {
    {PHL_FORMAT_NEWICK, "(a,b);\n(c)d;\n(a b);(c);\n(d);\n(e", 2},
    {PHL_FORMAT_DBN, ">x\n(.)\n(..\n>y\n.\n", 1},
    {PHL_FORMAT_CT, "1 x\n1 G 0 0 0 1\n2 y\n1 G 0 2 0 1\n7 G 0 2 0 1\n1 z\n1 A 0 0 0 1\n", 1},
    {PHL_FORMAT_BRACKETS, "(a (b))\n(a (c))\n(q)\n(a (b)\n(q)\n(r (s)\n(t)\n", 3},
    {PHL_FORMAT_BRACKETS, "(a (b)\n(q)\n", 0},
    {PHL_FORMAT_BRACKETS, "(a)\n(b)\n(\xff)\n(c)\n", 2},
    {PHL_FORMAT_ELASTIC, "1:a(b($))\n2:a(c($))\n1:a()\n3:d($)\n", 2},
    {PHL_FORMAT_JSON,
     "{\"label\":[\"q\"],\"parent\":[-1]}\n{\"label\":[\"r\"],\"parent\":[-1]}\n"
     "{\"label\":[\"q\",\"x\"],\"parent\":[-1]}\n{\"label\":[\"s\"],\"parent\":[-1]}\n",
     2},
    {PHL_FORMAT_XML, "<r><x></r>", 0},
    {PHL_FORMAT_HTML, "<meta charset=utf-7><p>", 0},
    {PHL_FORMAT_CONLLU,
     "1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n\n1\tNo\tno\tINTJ\t_\t_\t0\troot\t_\t_\n\n"
     "1\tx\tx\tX\t_\t_\t7\troot\t_\t_\n2\ty\ty\tX\t_\t_\t0\troot\t_\t_\n\n"
     "1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n",
     2},
    {PHL_FORMAT_PTB, "(S a) (S (A a)) (S b) ) (S c)\n(S d) (T\n(S e)\n", 3},
    {PHL_FORMAT_PTB, "(S a)\n(S (A a)", 1},
};

static void test_every_format(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good_samples / sizeof *good_samples; i++) {
        struct source source = {.text = good_samples[i].text};
        phl_read_options options = read_options(good_samples[i].format);
        static struct transcript whole;
        read_whole(&source, options, &whole);
        assert_true(whole.n_trees > 3 || good_samples[i].format == PHL_FORMAT_XML ||
                    good_samples[i].format == PHL_FORMAT_HTML);
        options.xml_attributes = options.xml_text = true;
        check_blocks(&source, options);
        options.no_sharing = true;
        check_blocks(&source, options);
        options.format = PHL_FORMAT_AUTO;
        check_blocks(&source, options);
        for (size_t limit = 1; limit < 6; limit++) {
            options.limit = limit;
            check_blocks(&source, options);
        }
    }
}

static void test_classes(void **state)
{
    (void)state;
    static const char *const only[] = {"k", "m"};
    struct source source = {.text = good_samples[0].text};
    phl_read_options options = read_options(PHL_FORMAT_BRACKETS);
    options.only_classes = only;
    options.n_only_classes = 2;
    check_blocks(&source, options);
    options.limit = 2;
    check_blocks(&source, options);
    options = read_options(PHL_FORMAT_BRACKETS);
    options.no_class = true;
    check_blocks(&source, options);
}

static void test_bad_trees(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_samples / sizeof *bad_samples; i++) {
        static struct transcript whole;
        struct source source = {.text = bad_samples[i].text};
        phl_read_options options = read_options(bad_samples[i].format);
        read_whole(&source, options, &whole);
        assert_true(whole.failure[0] != '\0');
        check_blocks_after(&source, options, bad_samples[i].good);
        options.skip_bad = true;
        read_whole(&source, options, &whole);
        assert_true(whole.failure[0] == '\0' && whole.reports[0] != '\0');
        check_blocks(&source, options);
    }
}

static void test_nothing(void **state)
{
    (void)state;
    struct source source = {.text = ""};
    check_blocks(&source, read_options(PHL_FORMAT_AUTO));
    check_blocks(&source, read_options(PHL_FORMAT_BRACKETS));
    source.text = "neither this nor that";
    check_blocks(&source, read_options(PHL_FORMAT_AUTO));
    phl_read_options options = read_options(PHL_FORMAT_AUTO);
    options.skip_bad = true;
    check_blocks(&source, options);
    options.class_name = "x";
    options.no_class = true;
    check_blocks(&source, options);
    phl_block_reader_free(NULL);
}

/* ---------------------------------------------------------------------------------------------
 * Files
 * ------------------------------------------------------------------------------------------- */

static void put_gzip(const char *name, const char *text)
{
    gzFile file = gzopen(in_folder(name), "wb");
    assert_non_null(file);
    assert_int_equal(gzputs(file, text), strlen(text));
    assert_int_equal(gzclose(file), Z_OK);
}

static void test_files(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_folder("in"), 0777), 0);
    assert_int_equal(mkdir(in_folder("in/k1"), 0777), 0);
    put_text("in/k1/a.xml", "<a><b/></a>");
    put_text("in/k1/b.xml", "<a><b/></a>");
    put_text("in/k1/c.xml", "<c/>");
    put_text("in/d.trees", "");
    put_text("in/e.ptb", good_samples[6].text);
    put_gzip("in/f.trees.gz", good_samples[0].text);
    put_text("in/g.conllu", good_samples[5].text);
    put_text("in/h.jsonl", good_samples[2].text);
    const char *paths[] = {in_folder("in"), in_folder("in/e.ptb"), in_folder("in/k1/b.xml"),
                           in_folder("in/f.trees.gz")};
    struct source source = {.paths = paths, .n_paths = 4};
    phl_read_options options = read_options(PHL_FORMAT_AUTO);
    check_blocks(&source, options);
    options.class_by_folder = true;
    check_blocks(&source, options);
    for (size_t limit = 1; limit < 30; limit += 3) {
        options.limit = limit;
        check_blocks(&source, options);
    }
    /* A bad file among good ones, a missing one at the end. */
    options.limit = 0;
    put_text("in/k1/b.xml", "<a><b></a>");
    check_blocks_after(&source, options, 10 + 8 + 4 + 4 + 1);
    options.skip_bad = true;
    check_blocks(&source, options);
    const char *missing[] = {paths[3], in_folder("in/none.trees")};
    source.paths = missing;
    source.n_paths = 2;
    check_blocks_after(&source, options, 8);
    source.paths = missing + 1;
    source.n_paths = 1;
    check_blocks(&source, options);
}

/* Cancelled, it stops at once and stays so; what was in the block is gone. */
static bool at_the_fifth(void *context)
{
    size_t *asked = context;
    return ++*asked >= 5;
}

static void test_cancel(void **state)
{
    (void)state;
    size_t asked = 0;
    const char *text = "(a)\n(b)\n(c)\n(d)\n(e)\n(f)\n";
    phl_read_options options = read_options(PHL_FORMAT_BRACKETS);
    phl_block_reader *reader = NULL;
    phl_forest *block = NULL;
    options.cancel = at_the_fifth;
    options.context = &asked;
    assert_int_equal(
        phl_block_reader_create_memory(text, strlen(text), "test", &options, &reader, NULL),
        PHL_OK);
    assert_int_equal(phl_block_reader_next(reader, 3, 0, &block, NULL), PHL_OK);
    assert_int_equal(phl_forest_trees(block), 3);
    phl_forest_free(block);
    block = NULL;
    assert_int_equal(phl_block_reader_next(reader, 3, 0, &block, NULL), PHL_ERR_CANCELLED);
    assert_null(block);
    assert_int_equal(phl_block_reader_next(reader, 3, 0, &block, NULL), PHL_ERR_CANCELLED);
    phl_block_reader_free(reader);
}

/* The builder's table shrinks and grows: one large tree between many small ones, both orders. */
static void test_large_and_small(void **state)
{
    (void)state;
    enum { LEAVES = 3000 };
    char *text = test_malloc(LEAVES * 16 + 400);
    size_t used = 0;
    for (int i = 0; i < 8; i++) {
        used += (size_t)sprintf(text + used, "(s (x) (s (x)))\n");
    }
    used += (size_t)sprintf(text + used, "(r");
    for (int i = 0; i < LEAVES; i++) {
        used += (size_t)sprintf(text + used, " (l%d)", i % 7);
    }
    used += (size_t)sprintf(text + used, ")\n");
    for (int i = 0; i < 8; i++) {
        used += (size_t)sprintf(text + used, "(s (x) (s (x)))\n(s (l%d))\n", i);
    }
    struct source source = {.text = text};
    check_blocks(&source, read_options(PHL_FORMAT_BRACKETS));
    test_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_format),
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_bad_trees),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test_setup_teardown(test_files, make_folder, remove_folder),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_large_and_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
