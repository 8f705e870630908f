/* test_options.c - options of programs compiled against an older or a newer header. */
#include <string.h>

#include "check.h"
#include "old_caller.h"
#include "phloem.h"

static void test_older(void **state)
{
    (void)state;
    char by_old[33] = "", by_new[33];
    const char *trouble = old_caller_generate(by_old);
    assert_string_equal(trouble == NULL ? "" : trouble, "");
    trouble = old_caller_build();
    assert_string_equal(trouble == NULL ? "" : trouble, "");

    phl_documents_options options;
    phl_documents_options_init(&options);
    options.trees_per_class = 7;
    phl_forest *forest = NULL;
    assert_int_equal(phl_generate_documents(&options, &forest, NULL), PHL_OK);
    assert_int_equal(phl_forest_fingerprint(forest, true, by_new, NULL), PHL_OK);
    assert_string_equal(by_old, by_new); /* what the old one does not know has the defaults */
    phl_forest_free(forest);
}

/* Options as a later version might have them. */
struct later {
    phl_symm_options known;
    double added;
};

static void test_newer(void **state)
{
    (void)state;
    struct later later;
    phl_error error;
    phl_forest *forest = NULL, *untouched = (phl_forest *)&later;
    memset(&later, 0xa5, sizeof later);
    phl_symm_options_init_sized(&later.known, sizeof later);
    assert_true(later.known.size == sizeof later);
    assert_true(later.known.trees_per_class == 260);
    assert_true(later.added == 0.0);
    later.known.trees_per_class = 2;
    assert_int_equal(phl_generate_symm(&later.known, &forest, &error), PHL_OK);
    assert_true(phl_forest_trees(forest) == 6);
    phl_forest_free(forest);

    later.added = 0.5; /* not known here: rather refused than left out */
    forest = untouched;
    assert_int_equal(phl_generate_symm(&later.known, &forest, &error), PHL_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "phl_symm_options set an option that version"));
    assert_non_null(strstr(error.remedy, "as new as the phloem.h"));
    assert_ptr_equal(forest, untouched);
    assert_int_equal(phl_generate_symm(&later.known, &forest, NULL), PHL_ERR_ARGUMENT);
}

/* Not filled by init: refused, by every kind of call. */
static void test_unfilled(void **state)
{
    (void)state;
    phl_error error;
    phl_forest *forest = NULL;
    phl_builder *builder = NULL;
    phl_symm_options symm = {.trees_per_class = 2};
    assert_int_equal(phl_generate_symm(&symm, &forest, &error), PHL_ERR_ARGUMENT);
    assert_string_equal(error.message, "phl_symm_options of size 0");
    phl_builder_options building = {.no_sharing = true};
    assert_int_equal(phl_builder_create(&building, &builder, &error), PHL_ERR_ARGUMENT);
    phl_read_options reading = {.format = PHL_FORMAT_BRACKETS};
    assert_int_equal(phl_forest_read_memory("(a)", 3, NULL, &reading, &forest, NULL, &error),
                     PHL_ERR_ARGUMENT);
    assert_string_equal(error.message, "phl_read_options of size 0");
    phl_train_options training = {.kind = PHL_SP};
    phl_run *run = NULL;
    assert_int_equal(phl_forest_read_memory("(a)", 3, NULL, NULL, &forest, NULL, &error), PHL_OK);
    assert_int_equal(phl_train(forest, &training, &run, &error), PHL_ERR_ARGUMENT);
    assert_string_equal(error.message, "phl_train_options of size 0");
    phl_write_options writing = {.format = PHL_FORMAT_JSON};
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(phl_forest_write_memory(forest, &writing, &text, &size, &error),
                     PHL_ERR_ARGUMENT);
    assert_null(text);
    phl_forest_free(forest);
    phl_symm_options_init_sized(&symm, 1); /* no room for anything: nothing is written */
    assert_true(symm.trees_per_class == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_older),
        cmocka_unit_test(test_newer),
        cmocka_unit_test(test_unfilled),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL) != 0;
}
