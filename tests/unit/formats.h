/* formats.h - helpers for testing readers and writers: text in, trees compared as native text.
 *
 * A failed check prints the text it was about and fails the running cmocka test.
 */
#ifndef PHL_TESTS_FORMATS_H
#define PHL_TESTS_FORMATS_H

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "forests.h"

/* `text` reads as the trees `expected`, one per line in the native format. */
static inline void check_trees(const phl_read_options *options, const char *text,
                               const char *expected)
{
    phl_forest *forest = read_text(options, text, strlen(text));
    char *found = write_text(forest, write_options(PHL_FORMAT_BRACKETS));
    if (strcmp(found, expected) != 0) {
        print_error("in: %s\nfound: %s\nexpected: %s\n", text, found, expected);
        fail();
    }
    test_free(found);
    phl_forest_free(forest);
}

/* `text` is refused with this status at this place, and message and remedy hold these words. */
static inline void check_bad_bytes(const phl_read_options *options, const char *text, size_t size,
                                   phl_status status, uint64_t line, uint64_t column,
                                   const char *message, const char *remedy)
{
    phl_forest *forest = NULL;
    phl_error error = {0};
    phl_status found = phl_forest_read_memory(text, size, "test", options, &forest, NULL, &error);
    if (found != status || error.status != status || error.line != line || error.column != column ||
        strstr(error.message, message) == NULL || strstr(error.remedy, remedy) == NULL ||
        strcmp(error.file, "test") != 0 || forest != NULL) {
        char shown[2048];
        print_error("in: %.200s\nfound: %d %s\nexpected: %d test:%llu:%llu: %s; %s\n", text, found,
                    phl_error_format(&error, shown, sizeof shown), status, (unsigned long long)line,
                    (unsigned long long)column, message, remedy);
        fail();
    }
}

static inline void check_bad(const phl_read_options *options, const char *text, phl_status status,
                             uint64_t line, uint64_t column, const char *message,
                             const char *remedy)
{
    check_bad_bytes(options, text, strlen(text), status, line, column, message, remedy);
}

/* Bad trees are passed over: `expected` is left, `skipped` were reported. */
static inline void check_skipped(phl_read_options options, const char *text, const char *expected,
                                 uint64_t skipped)
{
    phl_read_summary summary = {0};
    phl_forest *forest = NULL;
    phl_error error = {0};
    options.skip_bad = true;
    assert_int_equal(
        phl_forest_read_memory(text, strlen(text), "test", &options, &forest, &summary, &error),
        PHL_OK);
    char *found = write_text(forest, write_options(PHL_FORMAT_BRACKETS));
    assert_string_equal(found, expected);
    assert_int_equal(summary.skipped, skipped);
    test_free(found);
    phl_forest_free(forest);
}

/* Native text, written in another format as `expected` (NULL: not looked at) and read back, gives
 * the same trees. */
static inline void check_round_trip(const char *native, phl_write_options how,
                                    phl_read_options back, const char *expected)
{
    phl_forest *forest = trees(native);
    char *written = write_text(forest, how);
    if (expected != NULL && strcmp(written, expected) != 0) {
        print_error("of: %s\nfound: %s\nexpected: %s\n", native, written, expected);
        fail();
    }
    phl_forest *again = read_text(&back, written, strlen(written));
    char before[33];
    char after[33];
    assert_int_equal(phl_forest_fingerprint(forest, true, before, NULL), PHL_OK);
    assert_int_equal(phl_forest_fingerprint(again, true, after, NULL), PHL_OK);
    if (strcmp(before, after) != 0) {
        print_error("of: %s\nwritten as: %s\nreads as other trees\n", native, written);
        fail();
    }
    test_free(written);
    phl_forest_free(again);
    phl_forest_free(forest);
}

/* The format refuses to write the forest and says so. */
static inline void check_refused(const phl_forest *forest, phl_format format, const char *reason)
{
    char *text = NULL;
    size_t size = 0;
    phl_error error = {0};
    phl_write_options options = write_options(format);
    phl_status status = phl_forest_write_memory(forest, &options, &text, &size, &error);
    if (status != PHL_ERR_EXPRESS || strstr(error.message, reason) == NULL || text != NULL) {
        print_error("found: %d %s\nexpected: %s\n", status, error.message, reason);
        fail();
    }
}

static inline void check_refused_text(const char *native, phl_format format, const char *reason)
{
    phl_forest *forest = trees(native);
    check_refused(forest, format, reason);
    phl_forest_free(forest);
}

/* No tree at all can be written in the format. */
static inline void check_refused_writing(phl_format format, const char *reason)
{
    phl_forest *forest = trees("(a)\n");
    char *text = NULL;
    size_t size = 0;
    phl_error error = {0};
    phl_write_options options = write_options(format);
    assert_int_equal(phl_forest_write_memory(forest, &options, &text, &size, &error),
                     PHL_ERR_ARGUMENT);
    assert_string_equal(error.message, reason);
    phl_forest_free(forest);
}

/* The content alone tells the format (or, with a native text, does not tell this one). */
static inline phl_status recognised_status(const char *text, size_t size)
{
    phl_read_options options = read_options(PHL_FORMAT_AUTO);
    phl_forest *forest = NULL;
    phl_status status = phl_forest_read_memory(text, size, "test", &options, &forest, NULL, NULL);
    phl_forest_free(forest);
    return status;
}

#endif
