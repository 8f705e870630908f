/* test_xml.c - reading and writing XML: nodes, options, our own instructions, every refusal with
 * its place and remedy, files made to hurt, round trips. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats.h"

static phl_read_options xml(void)
{
    return read_options(PHL_FORMAT_XML);
}

static void test_elements(void **state)
{
    (void)state;
    phl_read_options options = xml();
    check_trees(&options, "<a/>", "(a)\n");
    check_trees(&options,
                "<?xml version='1.0'?>\n<!-- c --><a>x<b/>y<c><d/></c><b/></a>\n<!-- z -->",
                "(a (b) (c (d)) (b))\n");
    check_trees(&options, "<x:a xmlns:x='u'><x:b/><caf\xc3\xa9/></x:a>",
                "(x:a (x:b) (caf\xc3\xa9))\n");
    check_trees(&options, "\xef\xbb\xbf<a><b/></a>", "(a (b))\n");
    check_trees(&options, "<a>\r\n<b/>\r\n</a>\r\n", "(a (b))\n");
    check_trees(&options, "<a><node/><node label='x' y='z'/></a>", "(a (node) (node))\n");
}

static void test_attributes_and_text(void **state)
{
    (void)state;
    phl_read_options options = xml();
    const char *text = "<a y='1' x='2'> <b z=''/>t<![CDATA[u]]><!-- c -->v<c> \n\t</c>w &amp;</a>";
    options.xml_attributes = true;
    check_trees(&options, text, "(a (@y) (@x) (b (@z)) (c))\n");
    options.xml_text = true;
    check_trees(&options, text, "(a (@y) (@x) (b (@z)) (\"#text\") (c) (\"#text\"))\n");
    options.xml_attributes = false;
    check_trees(&options, text, "(a (b) (\"#text\") (c) (\"#text\"))\n");
    check_trees(&options, "<a>&#32;&#x9;</a>", "(a)\n");
    check_trees(&options, "<a>&#65;<b/><![CDATA[ ]]></a>", "(a (\"#text\") (b))\n");
    /* An entity that an external DTD may declare is text of some kind. */
    check_trees(&options, "<!DOCTYPE a SYSTEM 'none.dtd'><a>&eacute;<b>x&nbsp;y</b></a>",
                "(a (\"#text\") (b (\"#text\")))\n");
    /* Defaults declared in the document are attributes like any other. */
    options.xml_attributes = true;
    check_trees(&options, "<!DOCTYPE a [<!ATTLIST a d CDATA 'x'>]><a c=''/>", "(a (@c) (@d))\n");
}

static void test_attribute_in_label(void **state)
{
    (void)state;
    phl_read_options options = xml();
    options.xml_label = "type";
    check_trees(&options, "<a type='x'><b type=''/><c x='y'/><node type='z'/></a>",
                "(a+x (b+) (c) (node+z))\n");
    options.max_name = 3;
    check_bad(&options, "<a type='xyz'/>", PHL_ERR_LIMIT, 1, 1, "a label 'a+xyz' of 5 bytes",
              "max_name");
}

static void test_instructions(void **state)
{
    (void)state;
    phl_read_options options = xml();
    check_trees(
        &options,
        "<?phloem nodes?><a><node label='@x y' slot='2'/><node/><b/><node label='node'/></a>",
        "(a _ (\"@x y\") (?) (b) (node))\n");
    check_trees(&options, "<?phloem nodes?><node><node slot='2'/><node slot='1' label=''/></node>",
                "(? (\"\") (?))\n");
    check_trees(&options, "<?other nodes?><a><node label='x'/></a>", "(a (node))\n");
    check_trees(&options, "<a><?phloem nodes?><node label='x'/></a>", "(a (node))\n");
    options.class_name = "k";
    check_trees(&options, "<?phloem no-class?><a/>", "k\t(a)\n");
    options = xml();
    check_trees(&options, "<?phloem\n no-class  nodes ?><node/>", "(?)\n");

    check_bad(&options, "<?phloem nods?><a/>", PHL_ERR_SYNTAX, 1, 1,
              "found the word 'nods' in <?phloem ...?>, expected nodes or no-class", "newer");
    check_bad(&options, "<?phloem nodes?>\n<a><node colour='x'/></a>", PHL_ERR_SYNTAX, 2, 4,
              "found the attribute 'colour' in <node>, expected label or slot",
              "remove the instruction <?phloem nodes?>");
    check_bad(&options, "<?phloem nodes?><a><node slot='0'/></a>", PHL_ERR_SYNTAX, 1, 20,
              "found slot=\"0\", expected a whole number from 1", "");
    check_bad(&options, "<?phloem nodes?><a><node slot='4294967295'/></a>", PHL_ERR_SYNTAX, 1, 20,
              "found slot=\"4294967295\"", "");
    check_bad(&options, "<?phloem nodes?><a><node slot='-1'/></a>", PHL_ERR_SYNTAX, 1, 20,
              "found slot=\"-1\"", "");
    check_bad(&options, "<?phloem nodes?><a><node slot=''/></a>", PHL_ERR_SYNTAX, 1, 20,
              "found slot=\"\"", "");
    check_bad(&options, "<?phloem nodes?><a><b/><node slot='1'/></a>", PHL_ERR_SYNTAX, 1, 40,
              "two children in slot 1", "slot of its own");
}

static void test_not_well_formed(void **state)
{
    (void)state;
    phl_read_options options = xml();
    check_bad(&options, "", PHL_ERR_SYNTAX, 1, 1, "the file is empty, expected an XML document",
              "one document with one root element");
    check_bad(&options, " \n ", PHL_ERR_SYNTAX, 2, 2, "ends before its root element begins", "");
    check_bad(&options, "<?xml version='1.0'?>\n", PHL_ERR_SYNTAX, 2, 1,
              "ends before its root element begins", "");
    check_bad(&options, "<a>\n <b>", PHL_ERR_SYNTAX, 2, 5,
              "the document ends inside <b>, expected its end tag (2 open)", "cut short");
    check_bad(&options, "<a>\n <b></a>", PHL_ERR_SYNTAX, 2, 7,
              "found the end tag 'a', expected 'b'", "reverse order");
    check_bad(&options, "<!DOCTYPE html>\n<html><br></html>", PHL_ERR_SYNTAX, 2, 13,
              "found the end tag 'html', expected 'br'", "read.format=html");
    check_bad(&options, "<html><p>a & b</p></html>", PHL_ERR_SYNTAX, 1, 13, "found ' b</p></html>'",
              "read.format=html");
    check_bad(&options, "<a/>\n<b/>", PHL_ERR_SYNTAX, 2, 1,
              "found '<b/>' after the root element, expected the end of the file",
              "a file of its own");
    check_bad(&options, "<a/>x", PHL_ERR_SYNTAX, 1, 5, "found 'x' after the root element", "");
    check_bad(&options, "<a>1 & 2</a>", PHL_ERR_SYNTAX, 1, 7, "found ' 2</a>'", "&amp;");
    check_bad(&options, "<a>&nbsp;</a>", PHL_ERR_SYNTAX, 1, 4,
              "found '&nbsp;', an entity that is not declared", "&#233;");
    check_bad(&options, "<a>&#0;</a>", PHL_ERR_SYNTAX, 1, 4, "found '&#0;', a reference", "");
    check_bad(&options, "<a x='1'\n x='2'/>", PHL_ERR_SYNTAX, 2, 2,
              "found a second attribute of the same name: 'x'", "");
    check_bad(&options, "<a><b", PHL_ERR_SYNTAX, 1, 4,
              "the document ends inside the piece of markup that begins here: '<b'", "");
    check_bad(&options, "<a><![CDATA[x", PHL_ERR_SYNTAX, 1, 14,
              "the document ends inside a CDATA section", "]]>");
    check_bad(&options, "\n<?xml version='1.0'?><a/>", PHL_ERR_SYNTAX, 2, 1,
              "XML declaration '<?xml ...?>' that is not at the very beginning", "");
    check_bad(&options, "hello", PHL_ERR_SYNTAX, 1, 1, "found 'hello'", "");
    check_bad(&options, "<a>\x01</a>", PHL_ERR_SYNTAX, 1, 4, "found '\\x01</a>'", "");
    check_bad(&options, "<a b=c/>", PHL_ERR_SYNTAX, 1, 6, "found 'c/>'", "");
    check_bad(&options, "<1/>", PHL_ERR_SYNTAX, 1, 2, "found '1/>'", "");
    check_skipped(options, "<a><b></a>", "", 1);
}

static void test_encodings(void **state)
{
    (void)state;
    phl_read_options options = xml();
    check_trees(&options, "<?xml version='1.0' encoding='ISO-8859-1'?><\xe9/>", "(\xc3\xa9)\n");
    check_trees(&options, "<?xml version='1.0' encoding='US-ASCII'?><a/>", "(a)\n");
    static const char wide[] = "\xff\xfe<\0a\0>\0<\0\xe9\0/\0>\0<\0/\0a\0>\0";
    phl_forest *forest = read_text(&options, wide, sizeof wide - 1);
    assert_int_equal(phl_forest_find_label(forest, "\xc3\xa9"), 1);
    phl_forest_free(forest);
    static const char cut[] = "\xff\xfe<\0a\0/\0>";
    check_bad_bytes(&options, cut, sizeof cut - 1, PHL_ERR_SYNTAX, 1, 1,
                    "ends inside the piece of markup", "");

    check_bad(&options, "<?xml version='1.0' encoding='windows-1252'?>\n<a/>", PHL_ERR_ENCODING, 1,
              31, "is in the encoding 'windows-1252'; expected UTF-8", "iconv -f windows-1252");
    check_bad(&options, "<?xml version='1.0' encoding='UTF-16'?><a/>", PHL_ERR_ENCODING, 1, 31,
              "not in the encoding that its first line says", "first line");
    check_bad(&options, "<a>\n\xc3\xa9\xe9z</a>", PHL_ERR_ENCODING, 2, 2, "found '\\xe9z'",
              "iconv");
    check_bad(&options, "\xef\xbb\xbf<a><b></a>", PHL_ERR_SYNTAX, 1, 9, "found the end tag 'a'",
              "");
    check_bad_bytes(&options, "<a>\0</a>", 8, PHL_ERR_ENCODING, 1, 4, "NUL byte", "");
}

static void test_entities(void **state)
{
    (void)state;
    phl_read_options options = xml();
    check_bad(&options, "<!DOCTYPE a [\n <!ENTITY b 'x'>]><a>&b;</a>", PHL_ERR_SYNTAX, 2, 13,
              "the document declares the entity 'b'", "xmllint --noent");
    check_bad(&options, "<!DOCTYPE a [<!ENTITY % p 'x'>]><a/>", PHL_ERR_SYNTAX, 1, 27,
              "declares the parameter entity 'p'", "");
    /* External ones are not opened, whatever they point at. */
    check_trees(&options, "<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>", "(a)\n");
    check_trees(&options,
                "<!DOCTYPE a [<!ENTITY e SYSTEM 'file:///etc/passwd'><!ENTITY % p SYSTEM 'x'>%p;"
                "]><a>&e;<b/></a>",
                "(a (b))\n");
    check_bad(&options, "<!DOCTYPE a [<!ENTITY e SYSTEM '/etc/passwd'>]><a x='&e;'/>",
              PHL_ERR_SYNTAX, 1, 54, "reference to external entity in attribute", "");
}

/* n copies of `piece` between `before` and `behind`. */
static char *repeat(const char *before, const char *piece, size_t n, const char *behind)
{
    size_t size = strlen(piece);
    size_t first = strlen(before);
    char *text = test_malloc(first + n * size + strlen(behind) + 1);
    memcpy(text, before, first);
    for (size_t i = 0; i < n; i++) {
        memcpy(text + first + i * size, piece, size);
    }
    memcpy(text + first + n * size, behind, strlen(behind) + 1);
    return text;
}

static void test_caps(void **state)
{
    (void)state;
    phl_read_options options = xml();
    options.max_depth = 3;
    check_trees(&options, "<a><b><c/></b></a>", "(a (b (c)))\n");
    check_bad(&options, "<a><b><c><d/></c></b></a>", PHL_ERR_LIMIT, 1, 10,
              "elements nested more than 3 deep", "read.max_depth");
    options = xml();
    options.max_attributes = 2;
    check_trees(&options, "<a x='' y=''/>", "(a)\n");
    check_bad(&options, "<a x='' y='' z=''/>", PHL_ERR_LIMIT, 1, 1,
              "an element with 3 attributes, more than 2", "read.max_attributes");
    check_bad(&options,
              "<!DOCTYPE a [<!ATTLIST a x CDATA '' y CDATA ''>\n<!ATTLIST b z CDATA ''>]><a/>",
              PHL_ERR_LIMIT, 2, 21, "declares more than 2 attributes", "read.max_attributes");
    options = xml();
    options.max_name = 4;
    check_trees(&options, "<abcd/>", "(abcd)\n");
    check_bad(&options, "<a><abcde/></a>", PHL_ERR_LIMIT, 1, 4,
              "an element called 'abcde' of 5 bytes, more than 4", "read.max_name");
    check_bad(&options, "<?phloem nodes?><node label='a b c'/>", PHL_ERR_LIMIT, 1, 17,
              "a label 'a b c' of 5 bytes", "read.max_name");
    options.xml_attributes = true;
    check_bad(&options, "<a bcdef=''/>", PHL_ERR_LIMIT, 1, 1, "an attribute called 'bcdef'", "");
    options = xml();
    options.max_token = 20;
    check_trees(&options, "<a>xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx<b/></a>", "(a (b))\n");
    check_trees(&options, "<a><!--xxxxxxxxxxxxx--></a>", "(a)\n");
    check_bad(&options, "<a><!--xxxxxxxxxxxxxx--></a>", PHL_ERR_LIMIT, 1, 4,
              "a piece of markup of more than 20 bytes begins here", "read.max_token");
    options = xml();
    options.max_nodes = 2;
    check_bad(&options, "<a><b/><c/></a>", PHL_ERR_LIMIT, 1, 8, "more than 2 nodes",
              "read.max_nodes");
    options = xml();
    options.max_children = 1;
    check_bad(&options, "<a><b/><c/></a>", PHL_ERR_LIMIT, 1, 8, "slot beyond 1",
              "read.max_children");
}

/* Default caps against the files TESTING.md names; their time is watched by the test's time limit
 * and by bench/. */
static void test_attacks(void **state)
{
    (void)state;
    phl_read_options options = xml();
    char *text = repeat("", "<a>", 100000, "");
    check_bad(&options, text, PHL_ERR_LIMIT, 1, 30001, "nested more than 10000 deep", "");
    test_free(text);

    size_t n = 200000;
    text = test_malloc(16 * n);
    size_t used = (size_t)sprintf(text, "<a");
    for (size_t i = 0; i < n; i++) {
        used += (size_t)sprintf(text + used, " a%zu=''", i);
    }
    (void)sprintf(text + used, "/>");
    check_bad(&options, text, PHL_ERR_LIMIT, 1, 1, "an element with 200000 attributes", "");
    test_free(text);

    text = repeat("<", "abcdefghij", 6000000, "/>");
    check_bad(&options, text, PHL_ERR_LIMIT, 1, 1, "more than 16777216 bytes", "read.max_token");
    test_free(text);
    text = repeat("<", "abcdefghij", 100000, "/>");
    check_bad(&options, text, PHL_ERR_LIMIT, 1, 1, "of 1000000 bytes, more than 65536",
              "read.max_name");
    test_free(text);
    text = repeat("<a><!--", "abcdefghij", 1500000, "--></a>");
    check_trees(&options, text, "(a)\n");
    test_free(text);

    /* Many declared attributes times many elements. */
    text = test_malloc(16 * n + 5 * n);
    used = (size_t)sprintf(text, "<!DOCTYPE a [<!ATTLIST a");
    for (size_t i = 0; i < 9000; i++) {
        used += (size_t)sprintf(text + used, " a%zu CDATA ''", i);
    }
    used += (size_t)sprintf(text + used, ">]><b>");
    for (size_t i = 0; i < n; i++) {
        used += (size_t)sprintf(text + used, "<a/>");
    }
    (void)sprintf(text + used, "</b>");
    phl_error error = {0};
    phl_forest *forest = NULL;
    assert_int_equal(
        phl_forest_read_memory(text, strlen(text), "test", &options, &forest, NULL, &error),
        PHL_ERR_LIMIT);
    assert_non_null(strstr(error.message, "9000 attributes are declared for the element 'a'"));
    test_free(text);
}

static void test_deep_documents(void **state)
{
    (void)state;
    enum { DEPTH = 300000 };
    phl_read_options options = xml();
    options.max_depth = DEPTH;
    char *opening = repeat("", "<a>", DEPTH, "");
    char *text = repeat(opening, "</a>", DEPTH, "");
    phl_forest *forest = read_text(&options, text, strlen(text));
    assert_int_equal(phl_forest_levels(forest), DEPTH);
    char *written = write_text(forest, write_options(PHL_FORMAT_XML));
    assert_in_range(strlen(written), DEPTH * 9, DEPTH * 10);
    phl_forest *again = read_text(&options, written, strlen(written));
    assert_int_equal(phl_forest_levels(again), DEPTH);
    phl_forest_free(forest);
    phl_forest_free(again);
    test_free(opening);
    test_free(text);
    test_free(written);
}

static void test_writing(void **state)
{
    (void)state;
    phl_write_options how = write_options(PHL_FORMAT_XML);
    phl_read_options back = xml();
    check_round_trip("(a (b (c)) (d))\n", how, back,
                     "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<?phloem no-class?>\n"
                     "<a>\n  <b>\n    <c/>\n  </b>\n  <d/>\n</a>\n");
    check_round_trip("(node (node))\n", how, back,
                     "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<?phloem no-class?>\n"
                     "<node>\n  <node/>\n</node>\n");
    check_round_trip("(node _ (x) (? (\"\")) _ (\"<&\\\">'\\t\\n\\r\" (node)))\n", how, back,
                     "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<?phloem nodes no-class?>\n"
                     "<node label=\"node\">\n  <node label=\"x\" slot=\"2\"/>\n  <node>\n"
                     "    <node label=\"\"/>\n  </node>\n"
                     "  <node label=\"&lt;&amp;&quot;&gt;'&#9;&#10;&#13;\" slot=\"5\">\n"
                     "    <node label=\"node\"/>\n  </node>\n</node>\n");
    back.xml_attributes = back.xml_text = true;
    check_round_trip("(a (@href) (\"#text\") (b.c-d_e:f) (-a) (xml))\n", how, back, NULL);
    check_refused_text("(a (\"\\u0001\"))\n", PHL_FORMAT_XML, "control character");
    check_refused_text("(a (\"\\uffff\"))\n", PHL_FORMAT_XML, "U+FFFF");
    phl_read_options json = read_options(PHL_FORMAT_JSON);
    const char *heavy = "{\"weight\":2,\"label\":[\"a\"],\"parent\":[-1],\"slot\":[1]}\n";
    phl_forest *forest = read_text(&json, heavy, strlen(heavy));
    check_refused(forest, PHL_FORMAT_XML, "a weight other than 1");
    phl_forest_free(forest);
}

/* With a class the folder says it, and the file does not. */
static void test_class_folder(void **state)
{
    (void)state;
    char folder[] = "/tmp/phloem-test-XXXXXX";
    char path[64];
    char text[256];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/k", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/k/t.xml", folder);
    const char *paths[] = {path};
    phl_read_options plain = read_options(PHL_FORMAT_BRACKETS);
    phl_write_options how = write_options(PHL_FORMAT_XML);
    phl_read_options back = xml();
    phl_forest *forest = read_text(&plain, "k\t(a (1))\n", 10);
    phl_forest *again = NULL;
    assert_int_equal(phl_forest_write(forest, path, &how, NULL), PHL_OK);
    assert_int_equal(phl_forest_read(paths, 1, &back, &again, NULL, NULL), PHL_OK);
    char *found = write_text(again, write_options(PHL_FORMAT_BRACKETS));
    assert_string_equal(found, "k\t(a (1))\n");
    test_free(found);
    phl_forest_free(again);
    phl_forest_free(forest);

    FILE *file = fopen(path, "r");
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    assert_string_equal(text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<?phloem nodes?>\n"
                              "<a>\n  <node label=\"1\"/>\n</a>\n");

    forest = read_text(&plain, "(a)\n", 4);
    assert_int_equal(phl_forest_write(forest, path, &how, NULL), PHL_OK);
    assert_int_equal(phl_forest_read(paths, 1, &back, &again, NULL, NULL), PHL_OK);
    assert_int_equal(phl_tree_class(again, 0), PHL_NO_CLASS);
    phl_forest_free(again);
    phl_forest_free(forest);
    assert_int_equal(unlink(path), 0);
    *strrchr(path, '/') = '\0';
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static size_t put_character(char *out, uint32_t point)
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        out[0] = (char)(0xc0 | point >> 6);
        out[1] = (char)(0x80 | (point & 0x3f));
        return 2;
    }
    if (point < 0x10000) {
        out[0] = (char)(0xe0 | point >> 12);
        out[1] = (char)(0x80 | (point >> 6 & 0x3f));
        out[2] = (char)(0x80 | (point & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | point >> 18);
    out[1] = (char)(0x80 | (point >> 12 & 0x3f));
    out[2] = (char)(0x80 | (point >> 6 & 0x3f));
    out[3] = (char)(0x80 | (point & 0x3f));
    return 4;
}

/* Every character XML can carry, at the start of a label and inside, comes back: so every name the
 * writer takes for an XML name is one for expat. */
static void test_all_characters(void **state)
{
    (void)state;
    phl_builder *builder = NULL;
    assert_int_equal(phl_builder_create(NULL, &builder, NULL), PHL_OK);
    assert_int_equal(phl_builder_open(builder, "all", 1, NULL), PHL_OK);
    uint32_t slot = 1;
    for (uint32_t point = 0x20; point < 0x110000; point += point < 0x10000 ? 1 : 257) {
        if ((point >= 0xd800 && point < 0xe000) || point == 0xfffe || point == 0xffff) {
            continue;
        }
        char label[16];
        size_t length = put_character(label, point);
        label[length] = 'x';
        length += 1 + put_character(label + length + 1, point);
        label[length] = '\0';
        assert_int_equal(phl_builder_open(builder, label, slot++, NULL), PHL_OK);
        assert_int_equal(phl_builder_close(builder, NULL), PHL_OK);
    }
    assert_int_equal(phl_builder_close(builder, NULL), PHL_OK);
    phl_tree_info info = {0};
    assert_int_equal(phl_builder_end_tree(builder, &info, NULL), PHL_OK);
    phl_forest *forest = NULL;
    assert_int_equal(phl_builder_finish(builder, &forest, NULL), PHL_OK);
    phl_builder_free(builder);
    char *written = write_text(forest, write_options(PHL_FORMAT_XML));
    phl_read_options options = xml();
    phl_forest *again = read_text(&options, written, strlen(written));
    char before[33];
    char after[33];
    assert_int_equal(phl_forest_fingerprint(forest, true, before, NULL), PHL_OK);
    assert_int_equal(phl_forest_fingerprint(again, true, after, NULL), PHL_OK);
    assert_string_equal(before, after);
    assert_non_null(strstr(written, "<\xc3\xa9x\xc3\xa9/>"));         /* é */
    assert_non_null(strstr(written, "<\xe6\x9c\xa8x\xe6\x9c\xa8/>")); /* a Chinese tree */
    test_free(written);
    phl_forest_free(again);
    phl_forest_free(forest);
}

static void test_recognised(void **state)
{
    (void)state;
    assert_int_equal(recognised_status("<a/>", 4), PHL_OK);
    assert_int_equal(recognised_status("<\0a\0/\0>\0", 8), PHL_OK);
    assert_int_equal(recognised_status("\xfe\xff\0<\0a\0/\0>", 10), PHL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements),
        cmocka_unit_test(test_attributes_and_text),
        cmocka_unit_test(test_attribute_in_label),
        cmocka_unit_test(test_instructions),
        cmocka_unit_test(test_not_well_formed),
        cmocka_unit_test(test_encodings),
        cmocka_unit_test(test_entities),
        cmocka_unit_test(test_caps),
        cmocka_unit_test(test_attacks),
        cmocka_unit_test(test_deep_documents),
        cmocka_unit_test(test_writing),
        cmocka_unit_test(test_all_characters),
        cmocka_unit_test(test_recognised),
        cmocka_unit_test(test_class_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
