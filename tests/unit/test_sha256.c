/* test_sha256.c - SHA-256 against the examples of NIST (FIPS 180-4, and the long message of the
 * Secure Hash Standard's validation list), given at one go and in pieces of every size. */
#include <stdio.h>
#include <string.h>

#include "base/sha256.h"
#include "check.h"

static void check_digest(const unsigned char *digest, const char *expected)
{
    char hex[2 * PHL_SHA256_SIZE + 1];
    for (int i = 0; i < PHL_SHA256_SIZE; i++) {
        (void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    }
    assert_string_equal(hex, expected);
}

static void test_vectors(void **state)
{
    (void)state;
    static const char *const vectors[][2] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
         "lmnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        unsigned char digest[PHL_SHA256_SIZE];
        phl_sha256_bytes(vectors[i][0], strlen(vectors[i][0]), digest);
        check_digest(digest, vectors[i][1]);
        phl_sha256 plain;
        phl_sha256_init(&plain);
        plain.fast = false;
        phl_sha256_add(&plain, vectors[i][0], strlen(vectors[i][0]));
        phl_sha256_finish(&plain, digest);
        check_digest(digest, vectors[i][1]);
    }
}

static void test_million(void **state)
{
    (void)state;
    phl_sha256 sha;
    unsigned char digest[PHL_SHA256_SIZE];
    char letters[1000];
    memset(letters, 'a', sizeof letters);
    phl_sha256_init(&sha);
    for (int i = 0; i < 1000; i++) {
        phl_sha256_add(&sha, letters, sizeof letters);
    }
    phl_sha256_finish(&sha, digest);
    check_digest(digest, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Lengths around the block size, in pieces; asking in between changes nothing. */
static void test_pieces(void **state)
{
    (void)state;
    unsigned char bytes[300], whole[PHL_SHA256_SIZE], parts[PHL_SHA256_SIZE];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(i * 37 + 11);
    }
    for (size_t length = 0; length <= sizeof bytes; length++) {
        phl_sha256_bytes(bytes, length, whole);
        for (size_t piece = 1; piece < 70; piece += 7) {
            phl_sha256 sha;
            phl_sha256_init(&sha);
            sha.fast = sha.fast && piece % 2 == 0; /* also without the processor's instructions */
            for (size_t at = 0; at < length; at += piece) {
                phl_sha256_add(&sha, bytes + at, length - at < piece ? length - at : piece);
                phl_sha256_finish(&sha, parts);
            }
            phl_sha256_finish(&sha, parts);
            assert_memory_equal(whole, parts, sizeof whole);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_million),
        cmocka_unit_test(test_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
