/* test_newick.c - reading and writing Newick: names, quotes, comments, lengths, every refusal. */
#include "formats.h"

static phl_read_options newick(void)
{
    return read_options(PHL_FORMAT_NEWICK);
}

static void test_trees(void **state)
{
    (void)state;
    phl_read_options options = newick();
    check_trees(&options, "", "");
    check_trees(&options, "A;", "(A)\n");
    check_trees(&options, ";", "(\"\")\n");
    check_trees(&options, "(A,B)C;", "(C (A) (B))\n");
    check_trees(&options, "(A,(B,C)x,D)r;\n(,);",
                "(r (A) (x (B) (C)) (D))\n(\"\" (\"\") (\"\"))\n");
    check_trees(&options, "((A)b)c;()d;", "(c (b (A)))\n(d (\"\"))\n");
    check_trees(&options, "('it''s a':1,'(b)' : 2e-3 )[c]'':3;\n",
                "(\"\" (\"it's a\") (\"(b)\"))\n");
    check_trees(&options, "[&R] (A[&&NHX:S=h;x]:1,B_b\n,[two\nlines]C)95;", "(95 (A) (B_b) (C))\n");
}

static void test_lengths(void **state)
{
    (void)state;
    phl_read_options options = newick();
    options.newick_lengths = true;
    check_trees(&options, "(A:1,B:0.3,C:0,D:-1,E,:8)r:4.5;",
                "(r:2^2 (A:2^0) (B:2^-2) (C:0) (D:-) (E) (:2^3))\n");
}

static void test_bad(void **state)
{
    (void)state;
    phl_read_options options = newick();
    check_bad(&options, "(A,B)C", PHL_ERR_SYNTAX, 1, 1, "not complete", "ends with ;");
    check_bad(&options, "(A,B\n);(C", PHL_ERR_SYNTAX, 2, 3, "not complete", "");
    check_bad(&options, "A);", PHL_ERR_SYNTAX, 1, 2, "found ')', expected ; after the tree",
              "too many");
    check_bad(&options, "A,B;", PHL_ERR_SYNTAX, 1, 2, "found ',', expected ; after the tree",
              "need brackets");
    check_bad(&options, "(A,B;", PHL_ERR_SYNTAX, 1, 5, "found ';', expected a comma or )",
              "needs its )");
    check_bad(&options, "(A B,C);", PHL_ERR_SYNTAX, 1, 4,
              "found 'B', expected a comma, a ) or the end", "in quotes");
    check_bad(&options, "(A(B));", PHL_ERR_SYNTAX, 1, 3, "found '(', expected a comma",
              "before the name");
    check_bad(&options, "(A:x,B);", PHL_ERR_SYNTAX, 1, 4, "found 'x', expected the length", "");
    check_bad(&options, "(A:,B);", PHL_ERR_SYNTAX, 1, 4, "found ',', expected the length", "");
    check_bad(&options, "(A:1:2,B);", PHL_ERR_SYNTAX, 1, 5, "found ':', expected a comma", "");
    check_bad(&options, "(A:1e999,B);", PHL_ERR_SYNTAX, 1, 4, "found '1e999'", "");
    check_bad(&options, "('A\n',B);", PHL_ERR_SYNTAX, 1, 2, "the quote that begins here", "twice");
    check_bad(&options, "(A]);", PHL_ERR_SYNTAX, 1, 3, "found ']'", "too many");
    check_bad(&options, "A;\n[c", PHL_ERR_SYNTAX, 2, 0, "a comment is not closed", "needs its ]");
    check_bad(&options, "#NEXUS\nbegin trees;", PHL_ERR_SYNTAX, 1, 1, "found '#NEXUS'", "NEXUS");
    check_skipped(options, "(A,B);\n(A B);\n(C\n,D E\n);\n(F);", "(\"\" (A) (B))\n(\"\" (F))\n", 2);
    options.max_name = 3;
    check_bad(&options, "(A,Bbbb);", PHL_ERR_LIMIT, 1, 4, "a name 'Bbbb' of 4 bytes", "max_name");
    options = newick();
    options.max_nodes = 3;
    check_bad(&options, "(A,B,C);", PHL_ERR_LIMIT, 1, 6, "more than 3 nodes", "max_nodes");
}

static void test_writing(void **state)
{
    (void)state;
    phl_write_options how = write_options(PHL_FORMAT_NEWICK);
    check_round_trip(
        "(r (A) (x (B) (C)) (D))\n(\"\" (\"\") (\"it's\") (\"a b\") (\"(\") (\"''\"))\n(one)\n",
        how, newick(), "(A,(B,C)x,D)r;\n(,'it''s','a b','(','''''');\none;\n");
    check_round_trip(
        "(\"#x\" (\"a;b\") (\"[c]\") (\"d,e:f\") (\"\\ufeffg\") (\"_\") (caf\xc3\xa9))\n", how,
        newick(), NULL);
    check_refused_text("k\t(a)", PHL_FORMAT_NEWICK, "a class");
    check_refused_text("(a (?))", PHL_FORMAT_NEWICK, "an unknown label");
    check_refused_text("(a _ (b))", PHL_FORMAT_NEWICK, "an empty slot");
    check_refused_text("(\"a\\nb\")", PHL_FORMAT_NEWICK, "a line end");
}

static void test_recognised(void **state)
{
    (void)state;
    phl_read_options options = read_options(PHL_FORMAT_AUTO);
    check_trees(&options, "[&R] ((A,B)\n,'C;'):0.1;", "(\"\" (\"\" (A) (B)) (C;))\n");
    check_trees(&options, "(a (b;) (c))\n", "(a (b;) (c))\n");
    check_trees(&options, "(S (NP a) (; ;))\n", "(S (NP (a)) (; (;)))\n");
    assert_int_equal(phl_format_of_file("a.nwk"), PHL_FORMAT_NEWICK);
    assert_int_equal(phl_format_of_file("a.tree.gz"), PHL_FORMAT_NEWICK);
    assert_int_equal(phl_format_of_file("a.elastic.tree"), PHL_FORMAT_ELASTIC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trees),      cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_bad),        cmocka_unit_test(test_writing),
        cmocka_unit_test(test_recognised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
