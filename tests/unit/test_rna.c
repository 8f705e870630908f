/* test_rna.c - RNA structures in dot-bracket notation and connectivity tables. */
#include "formats.h"

static void test_dots(void **state)
{
    (void)state;
    phl_read_options options = read_options(PHL_FORMAT_DBN);
    check_trees(&options, "", "");
    check_trees(&options, "> one tRNA\nGGGAAAUCC\n(((...))) (-1.20)\n\n>two\n.()\n",
                "(rna (GC (GC (GU (A) (A) (A)))))\n(rna (.) (\"()\"))\n");
    check_trees(&options, "#Name: x\n#Length: 3\nGAC\n(.)\n", "(rna (GC (A)))\n");
    check_trees(&options, "GAAGCAC\n(,:[-])", "(rna (GC (A) (A) (GA (C))))\n");
    options.rna_family = true;
    check_trees(&options, ">one tRNA x\n(.)\n>two\n.\n", "tRNA\t(rna (\"()\" (.)))\n(rna (.))\n");
    options.rna_runs = true;
    check_trees(&options, "(..)........(.....)\n..................",
                "(rna (\"()\" (.2)) (.5-8) (\"()\" (.5-8)))\n(rna (.17-32))\n");
}

static void test_knots(void **state)
{
    (void)state;
    phl_read_options options = read_options(PHL_FORMAT_DBN);
    check_bad(&options, ">k\n((.[[.)).]]\n", PHL_ERR_SYNTAX, 2, 7,
              "the pair of bases 2 and 7 crosses that of 5 and 10", "read.rna_drop_knots=drop");
    options.rna_drop_knots = true;
    check_trees(&options, "((.[[.)).]]\n(A)a\n",
                "(rna (\"()\" (\"()\" (.) (.) (.) (.))) (.) (.) (.))\n(rna (\"()\" (.)) (.))\n");
}

static void test_bad_dots(void **state)
{
    (void)state;
    phl_read_options options = read_options(PHL_FORMAT_DBN);
    check_bad(&options, "..(\n", PHL_ERR_SYNTAX, 1, 3, "not closed", "partner");
    check_bad(&options, "..)\n", PHL_ERR_SYNTAX, 1, 3, "found a closing bracket", "partner");
    check_bad(&options, "(]\n", PHL_ERR_SYNTAX, 1, 2, "found a closing bracket", "");
    check_bad(&options, ".*\n", PHL_ERR_SYNTAX, 1, 2, "no part of a structure", "");
    check_bad(&options, ">x\nGGC\n(...)\n", PHL_ERR_SYNTAX, 3, 1,
              "5 characters for 3 bases (line 2)", "");
    check_bad(&options, "GG\nCC\n(..)\n", PHL_ERR_SYNTAX, 2, 1, "a second line of bases", "");
    check_skipped(options, "(\n(.)\nG\n..\n.\n", "(rna (\"()\" (.)))\n(rna (.))\n", 2);
    options.max_nodes = 3;
    check_bad(&options, "...\n", PHL_ERR_LIMIT, 1, 1, "more than 2 bases", "max_nodes");
}

static const char table[] = "4 ENERGY = -1.5 x fam\n 1 G 0 2 4 1\n 2 A 1 3 0 2\n3\tA\t2\t4\t0\t3\n"
                            "# c\n4 C 3 0 1 4\n\n1 y\n1 U 0 0 0 1\n";

static void test_tables(void **state)
{
    (void)state;
    phl_read_options options = read_options(PHL_FORMAT_CT);
    options.rna_family = true;
    check_trees(&options, table, "fam\t(rna (GC (A) (A)))\n(rna (U))\n");
    check_bad(&options, "x\n", PHL_ERR_SYNTAX, 1, 1, "found 'x', expected the number of bases", "");
    check_bad(&options, "2 x\n1 G 0 2 0 1\n", PHL_ERR_SYNTAX, 1, 0, "has 1 of its 2 bases", "");
    check_bad(&options, "1 x\n1 G 0 2\n", PHL_ERR_SYNTAX, 2, 1, "of 4 words, expected 6", "");
    check_bad(&options, "1 x\n2 G 0 2 0 1\n", PHL_ERR_SYNTAX, 2, 1,
              "found '2', expected the base's", "");
    check_bad(&options, "1 x\n1 GG 0 2 0 1\n", PHL_ERR_SYNTAX, 2, 3, "found 'GG', expected a base",
              "");
    check_bad(&options, "1 x\n1 G 0 2 z 1\n", PHL_ERR_SYNTAX, 2, 9,
              "found 'z', expected the number", "");
    check_bad(&options, "2 x\n1 G 0 2 2 1\n2 C 1 0 0 2\n", PHL_ERR_SYNTAX, 2, 0,
              "base 1 is paired with 2, which is not paired with it", "both");
    check_bad(&options, "1 x\n1 G 0 2 7 1\n", PHL_ERR_SYNTAX, 2, 0, "base 1 is paired with 7", "");
    check_bad(&options, "4 k\n1 A 0 2 3 1\n2 A 1 3 4 2\n3 A 2 4 1 3\n4 A 3 0 2 4\n", PHL_ERR_SYNTAX,
              4, 0, "a pseudoknot", "drop");
    check_skipped(options, "2 x\n1 G 0 2 0 1\n3 G 0 2 0 1\n1 G 1 1 1 1\n1 y\n1 U 0 0 0 1\n",
                  "(rna (U))\n", 1);
}

static void test_recognised(void **state)
{
    (void)state;
    phl_read_options options = read_options(PHL_FORMAT_AUTO);
    check_trees(&options, table, "(rna (GC (A) (A)))\n(rna (U))\n");
    check_trees(&options, ">x\nGAC\n(.)\n", "(rna (GC (A)))\n");
    check_trees(&options, "GAC\n(.)\n", "(rna (GC (A)))\n");
    assert_int_equal(phl_format_of_file("a.dbn"), PHL_FORMAT_DBN);
    assert_int_equal(phl_format_of_file("a.ct"), PHL_FORMAT_CT);
    check_refused_writing(PHL_FORMAT_DBN, "the format dbn can be read, but not written");
    check_refused_writing(PHL_FORMAT_CT, "the format ct can be read, but not written");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dots),       cmocka_unit_test(test_knots),
        cmocka_unit_test(test_bad_dots),   cmocka_unit_test(test_tables),
        cmocka_unit_test(test_recognised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
