/* Bytes of arrays, compressed: what is packed comes out again, in pieces of any size, and nothing
 * unpacks to more than it may. */
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "check.h"
#include "must.h"
#include "store/frame.h"

enum { LARGEST = 3 << 20 };

/* Unpack in pieces of `in` and `out` bytes; the bytes that came out, SIZE_MAX: no frame. */
static size_t unpack(phl_unframer *unframer, const unsigned char *frame, size_t length, size_t in,
                     size_t out, unsigned char *to, size_t room)
{
    size_t at = 0, filled = 0;
    bool ended = false;
    phl_frame_unpack_begin(unframer);
    while (!ended) {
        size_t used = 0, made = 0;
        size_t here = length - at < in ? length - at : in;
        size_t there = room - filled < out ? room - filled : out;
        if (!phl_frame_unpack_take(unframer, frame + at, here, &used, to + filled, there, &made,
                                   &ended) ||
            (!ended && used == 0 && made == 0)) {
            return SIZE_MAX;
        }
        at += used;
        filled += made;
    }
    return filled;
}

/* Bytes of so many kinds, of any length. */
static void fill(phl_rng *rng, unsigned kinds, unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        bytes[i] = (unsigned char)(phl_rng_uniform(rng) * kinds);
    }
}

static void round_trip(void **state)
{
    (void)state;
    static const size_t lengths[] = {128, 129, 1000, 4096, 100000, LARGEST};
    static const unsigned kinds[] = {1, 2, 16, 200};
    unsigned char *bytes = must_alloc(LARGEST, 1), *back = must_alloc(LARGEST, 1);
    phl_unframer *unframer = NULL;
    phl_rng rng;
    phl_rng_init(&rng, 7, 1, 0, 0, 0);
    must(phl_frame_unpack_create(&unframer, error));
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            size_t length = lengths[l], packed = 0, again = 0;
            unsigned char *frame = NULL, *second = NULL;
            fill(&rng, kinds[k], bytes, length);
            must(phl_frame_pack(bytes, length, &frame, &packed, error));
            must(phl_frame_pack(bytes, length, &second, &again, error));
            assert_true((frame == NULL) == (second == NULL) && packed == again);
            if (frame == NULL) {
                assert_true(length < 1000 || kinds[k] == 200);
                continue;
            }
            assert_memory_equal(frame, second, packed);
            assert_true(packed < length && packed >= length / PHL_FRAME_RATIO);
            assert_true(kinds[k] > 1 || length < 1000 || packed <= length / PHL_FRAME_RATIO + 64);
            size_t piece = length > 5000 ? 4099 : 7;
            memset(back, 0xaa, length);
            assert_int_equal(unpack(unframer, frame, packed, piece, piece, back, length), length);
            assert_memory_equal(bytes, back, length);
            /* cut, or with room for less, it does not end */
            assert_true(unpack(unframer, frame, 9, 9, length, back, length) == SIZE_MAX);
            assert_true(unpack(unframer, frame, packed, packed, length, back, length - 1) ==
                        SIZE_MAX);
            phl_free(frame);
            phl_free(second);
        }
    }
    size_t packed = 1;
    unsigned char *frame = bytes;
    must(phl_frame_pack(bytes, 127, &frame, &packed, error));
    assert_true(frame == NULL && packed == 0);
    must(phl_frame_pack(bytes, 0, &frame, &packed, error));
    assert_null(frame);
    memset(back, 'x', 100);
    assert_true(unpack(unframer, back, 100, 100, 100, bytes, 100) == SIZE_MAX);
    phl_frame_unpack_free(unframer);
    phl_free(bytes);
    phl_free(back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(round_trip)};
    return cmocka_run_group_tests_name("frame", tests, NULL, NULL);
}
