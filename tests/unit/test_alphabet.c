/* test_alphabet.c - names and their numbers. */
#include "forest/alphabet.h"

#include "samples.h"

static void add(phl_alphabet *alphabet, const char *name, size_t length, int32_t expected)
{
    int32_t number = -7;
    assert_int_equal(phl_alphabet_add(alphabet, name, length, &number, NULL), PHL_OK);
    assert_int_equal(number, expected);
}

static void test_numbers(void **state)
{
    (void)state;
    phl_alphabet names = {0};
    assert_int_equal(phl_alphabet_find(&names, "a", 1), -1);
    add(&names, "a", 1, 0);
    add(&names, "", 0, 1);
    add(&names, "ab", 2, 2);
    add(&names, "a", 1, 0);
    add(&names, "", 0, 1);
    assert_int_equal(phl_alphabet_find(&names, "ab", 2), 2);
    assert_int_equal(phl_alphabet_find(&names, "ab", 1), 0);
    assert_int_equal(phl_alphabet_find(&names, "b", 1), -1);
    assert_string_equal(phl_alphabet_name(&names, 2), "ab");
    assert_string_equal(phl_alphabet_name(&names, 1), "");
    assert_int_equal(phl_alphabet_length(&names, 2), 2);
    phl_alphabet_clear(&names);
    assert_int_equal(phl_alphabet_find(&names, "a", 1), -1);
    phl_alphabet_clear(&names);
}

/* Names that differ in one byte, at every length around the sizes that are handled specially. */
static void test_close_names(void **state)
{
    (void)state;
    phl_alphabet names = {0};
    int32_t next = 0;
    for (size_t length = 0; length <= 20; length++) {
        char name[21];
        memset(name, 'x', sizeof name);
        add(&names, name, length, next++);
        for (size_t at = 0; at < length; at++) {
            name[at] = 'y';
            add(&names, name, length, next++);
            name[at] = 'x';
        }
    }
    next = 0;
    for (size_t length = 0; length <= 20; length++) {
        char name[21];
        memset(name, 'x', sizeof name);
        assert_int_equal(phl_alphabet_find(&names, name, length), next++);
        for (size_t at = 0; at < length; at++) {
            name[at] = 'y';
            assert_int_equal(phl_alphabet_find(&names, name, length), next);
            assert_int_equal(phl_alphabet_length(&names, (size_t)next), length);
            assert_memory_equal(phl_alphabet_name(&names, (size_t)next), name, length);
            assert_int_equal(phl_alphabet_name(&names, (size_t)next)[length], '\0');
            next++;
            name[at] = 'x';
        }
    }
    phl_alphabet_clear(&names);
}

static size_t make_name(size_t i, char out[32])
{
    return (size_t)sprintf(out, i % 3 == 0 ? "%zu" : i % 3 == 1 ? "n%zu" : "a longer name %zu", i);
}

/* Entries in the hash table. */
static size_t filled(const phl_alphabet *names)
{
    size_t n = 0;
    for (size_t i = 0; i < names->table.size; i++) {
        n += names->table.places[i] != 0;
    }
    return n;
}

static void test_many(void **state)
{
    (void)state;
    enum { MANY = 100000 };
    phl_alphabet names = {0}, copy;
    char name[32];
    for (size_t i = 0; i < MANY; i++) {
        size_t length = make_name(i, name);
        add(&names, name, length, (int32_t)i);
    }
    assert_int_equal(phl_alphabet_copy(&names, &copy, NULL), PHL_OK);
    assert_int_equal(copy.count, MANY);
    for (size_t i = 0; i < MANY; i++) {
        size_t length = make_name(i, name);
        assert_int_equal(phl_alphabet_find(&names, name, length), i);
        assert_int_equal(phl_alphabet_find(&copy, name, length), i);
    }
    phl_alphabet_clear(&names);
    phl_alphabet_clear(&copy);
}

/* Truncating and adding again at random leaves what adding alone would have made. */
static void test_truncate(void **state)
{
    (void)state;
    uint64_t seed = 11;
    for (int round = 0; round < 200; round++) {
        phl_alphabet names = {0}, plain = {0};
        for (int step = 0; step < 20; step++) {
            size_t keep = plain.count;
            char name[32];
            for (size_t k = sample_random(&seed, 60); k > 0; k--) { /* to be forgotten */
                int32_t number;
                size_t length = make_name(sample_random(&seed, 500), name);
                assert_int_equal(phl_alphabet_add(&names, name, length, &number, NULL), PHL_OK);
            }
            phl_alphabet_truncate(&names, keep);
            for (size_t k = sample_random(&seed, 8); k > 0; k--) {
                int32_t number, expected;
                size_t length = make_name(sample_random(&seed, 500), name);
                assert_int_equal(phl_alphabet_add(&plain, name, length, &expected, NULL), PHL_OK);
                assert_int_equal(phl_alphabet_add(&names, name, length, &number, NULL), PHL_OK);
                assert_int_equal(number, expected);
            }
            assert_int_equal(names.count, plain.count);
            assert_int_equal(names.arena_used, plain.arena_used);
            assert_int_equal(filled(&names), names.count);
            for (size_t i = 0; i < 500; i++) {
                size_t length = make_name(i, name);
                assert_int_equal(phl_alphabet_find(&names, name, length),
                                 phl_alphabet_find(&plain, name, length));
            }
        }
        phl_alphabet_clear(&names);
        phl_alphabet_clear(&plain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_close_names),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_truncate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
