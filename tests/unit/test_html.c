/* test_html.c - reading HTML: nodes as browsers make them, options, encodings, pages made to hurt.
 * tests/oracle/run_html.py compares many more pages with another parser. */
#include <stdlib.h>

#include "formats.h"

static phl_read_options html(void)
{
    return read_options(PHL_FORMAT_HTML);
}

static void test_elements(void **state)
{
    (void)state;
    phl_read_options options = html();
    check_trees(&options, "", "");
    check_trees(&options, "\xef\xbb\xbf", ""); /* nothing but a byte order mark */
    check_trees(&options, "\xfe\xff", "");
    check_trees(&options, "<!--><p><!---><i><!-- a --!><b><!--",
                "(html (head) (body (p (i (b)))))\n");
    check_trees(&options, "x", "(html (head) (body))\n");
    check_trees(&options, "<title>t</title><p>one<p>two<b>three",
                "(html (head (title)) (body (p) (p (b))))\n");
    check_trees(&options, "<table><tr><td>a<td>b</table>",
                "(html (head) (body (table (tbody (tr (td) (td))))))\n");
    check_trees(&options, "<MY-Tag><Em>x</em></MY-TAG>", "(html (head) (body (my-tag (em))))\n");
    check_trees(&options, "<svg><lineargradient/><clipPath/></svg><math><mi>",
                "(html (head) (body (svg (linearGradient) (clipPath)) (math (mi))))\n");
    check_trees(&options, "<template><p>x</template>", "(html (head (template (p))) (body))\n");
}

static void test_options(void **state)
{
    (void)state;
    phl_read_options options = html();
    const char *page = "<p class=a CLASS=b id>x<!-- c -->y <i> </i>z<script>s</script><svg "
                       "xlink:href=u viewbox=v></svg>";
    options.xml_text = true;
    check_trees(
        &options, page,
        "(html (head) (body (p (\"#text\") (i) (\"#text\") (script (\"#text\")) (svg))))\n");
    options.xml_text = false;
    options.xml_attributes = true;
    check_trees(&options, page,
                "(html (head) (body (p (@class) (@id) (i) (script) (svg (@xlink:href) "
                "(@viewBox)))))\n");
    static const char *const skip[] = {"script", "svg", "html", "head"};
    options.xml_attributes = false;
    options.html_skip = skip;
    options.n_html_skip = 4;
    check_trees(&options, page, "(html (body (p (i))))\n"); /* the root stays */
}

static void test_attribute_in_label(void **state)
{
    (void)state;
    phl_read_options options = html();
    options.xml_label = "class";
    check_trees(&options, "<div class='a b'><p CLASS=c id=x>x<p>y",
                "(html (head) (body (\"div+a b\" (p+c) (p))))\n");
    options.max_name = 6;
    check_bad(&options, "<div class=menu>", PHL_ERR_LIMIT, 1, 1, "'div+menu' of 8 bytes",
              "max_name");
}

static void test_encodings(void **state)
{
    (void)state;
    phl_read_options options = html();
    options.xml_attributes = true;
    const char *utf8 = "(html (head) (body (p (@\xc3\xa9))))\n";
    check_trees(&options, "<p \xc3\xa9>", utf8);
    check_trees(&options, "\xef\xbb\xbf<p \xc3\xa9>", utf8);
    check_trees(&options, "<p \xe9>", utf8); /* not UTF-8, so Windows-1252 */
    check_trees(&options, "<meta charset=latin1><p \xe9>",
                "(html (head (meta (@charset))) (body (p (@\xc3\xa9))))\n");
    check_trees(&options,
                "<!-- <meta charset=utf-8> --><meta http-equiv=content-type content='text/html; "
                "Charset = \"iso-8859-1\"'><p \xc3\xa9 \x80>",
                "(html (head (meta (@http-equiv) (@content))) (body (p (@\xc3\x83\xc2\xa9) "
                "(@\xe2\x82\xac))))\n");
    check_trees(&options, "<meta charset=UTF-8><p \xe9>",
                "(html (head (meta (@charset))) (body (p (@\xef\xbf\xbd))))\n");
    check_bad(&options, "<meta charset=iso-2022-jp>x", PHL_ERR_ENCODING, 0, 0,
              "written in 'iso-2022-jp'", "iconv");
    check_bad_bytes(&options, "<p>\n\0x", 6, PHL_ERR_ENCODING, 2, 0, "a NUL byte", "HTML page");
    static const char wide[] = "\xff\xfe<\0p\0 \0\xe9\0>\0\x3d\xd8\x00\xde\x00\xd8";
    phl_forest *forest = read_text(&options, wide, sizeof wide - 1);
    char *found = write_text(forest, write_options(PHL_FORMAT_BRACKETS));
    assert_string_equal(found, utf8);
    test_free(found);
    phl_forest_free(forest);
}

static void test_recognised(void **state)
{
    (void)state;
    phl_read_options options = read_options(PHL_FORMAT_AUTO);
    check_trees(&options, "\n<!-- c --><!DocType HTML>\n<p>", "(html (head) (body (p)))\n");
    check_trees(&options, "<HTML lang=en><br>", "(html (head) (body (br)))\n");
    check_trees(&options, "<html xmlns='http://www.w3.org/1999/xhtml'><p/></html>", "(html (p))\n");
    check_trees(&options, "<htmlx><p/></htmlx>", "(htmlx (p))\n");
    assert_int_equal(phl_format_of_file("a.html"), PHL_FORMAT_HTML);
    assert_int_equal(phl_format_of_file("a.htm.gz"), PHL_FORMAT_HTML);
    assert_int_equal(phl_format_of_file("a.xhtml"), PHL_FORMAT_XML);
    check_refused_writing(PHL_FORMAT_HTML, "the format html can be read, but not written");
}

/* `unit` so many times. */
static char *repeat(const char *unit, size_t times)
{
    size_t length = strlen(unit);
    char *text = test_malloc(length * times + 1);
    for (size_t i = 0; i < times; i++) {
        memcpy(text + i * length, unit, length);
    }
    text[length * times] = '\0';
    return text;
}

static void test_caps(void **state)
{
    (void)state;
    phl_read_options options = html();
    options.max_depth = 4;
    check_trees(&options, "<div><div>", "(html (head) (body (div (div))))\n");
    check_bad(&options, "<div>\n<div><div>", PHL_ERR_LIMIT, 2, 6, "nested more than 4 deep",
              "read.max_depth");
    options = html();
    options.max_attributes = 2;
    check_bad(&options, "<p>\n <p a b c>", PHL_ERR_LIMIT, 2, 2, "3 attributes, more than 2",
              "read.max_attributes");
    options = html();
    options.max_name = 5;
    check_bad(&options, "<p><abcdef>", PHL_ERR_LIMIT, 1, 4, "an element called 'abcdef' of 6 bytes",
              "read.max_name");
    options = html();
    options.max_token = 10;
    check_bad(&options, "<p>12345678", PHL_ERR_LIMIT, 0, 0, "a page of more than 10 bytes",
              "read.max_token");
}

/* What would take gumbo minutes is refused at once. */
static void test_hostile(void **state)
{
    (void)state;
    static const struct {
        const char *before, *unit;
        size_t times;
    } pages[] = {
        {"", "<div>", 100000},
        {"<svg>", "<g></x>", 100000},
        {"<svg><desc></svg></desc><style>", "<div>", 100000},
        {"<select><xmp><select>", "<div>", 100000},
        {"<ul>", "<ul><li>", 50000},
        {"<p>", "<b><i><p>", 100000},
        {"<table>", "<div>", 100000},
        {"<b>", "<div>", 100000},
        {"", "</div><span>", 100000},
    };
    phl_read_options options = html();
    options.max_depth = UINT64_MAX;
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        char *units = repeat(pages[i].unit, pages[i].times);
        size_t size = strlen(pages[i].before) + strlen(units);
        char *page = test_malloc(size + 1);
        (void)snprintf(page, size + 1, "%s%s", pages[i].before, units);
        phl_forest *forest = NULL;
        phl_error error = {0};
        phl_status status =
            phl_forest_read_memory(page, size, "test", &options, &forest, NULL, &error);
        if (status != PHL_ERR_LIMIT) {
            print_error("%s%s...: status %d\n", pages[i].before, pages[i].unit, status);
            fail();
        }
        assert_non_null(strstr(error.remedy, "tidy"));
        test_free(page);
        test_free(units);
    }
    /* Formatting elements that come back in every paragraph: memory. */
    char *page = test_malloc(200000);
    size_t size = 0;
    for (int i = 0; i < 3000; i++) {
        size += (size_t)snprintf(page + size, 200000 - size, "<font c=%d><p>", i);
    }
    check_bad_bytes(&options, page, size, PHL_ERR_LIMIT, 0, 0, "never closed multiply", "tidy");
    test_free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_encodings),
        cmocka_unit_test(test_recognised),
        cmocka_unit_test(test_attribute_in_label),
        cmocka_unit_test(test_caps),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
