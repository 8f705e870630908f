#!/usr/bin/env python3
"""philox.py - Philox4x64-10 in plain Python, written from the paper, to check the C streams.

Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).  The first three
vectors have the inputs of the known-answer file of the Random123 distribution (zeros, ones, digits of
pi); the printed outputs were compared with that file and are equal.

    python3 tests/oracle/philox.py > tests/unit/philox_vectors.h
"""
MASK = (1 << 64) - 1
MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
WEYL = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)


def philox4x64(counter, key, rounds=10):
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(rounds):
        p0 = MULTIPLIERS[0] * c0
        p1 = MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = (p1 >> 64) ^ c1 ^ k0, p1 & MASK, (p0 >> 64) ^ c3 ^ k1, p0 & MASK
        k0 = (k0 + WEYL[0]) & MASK
        k1 = (k1 + WEYL[1]) & MASK
    return c0, c1, c2, c3


PI = (0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89,
      0x452821E638D01377, 0xBE5466CF34E90C6C)
CASES = [
    ((0, 0, 0, 0), (0, 0)),
    ((MASK,) * 4, (MASK,) * 2),
    (PI[:4], PI[4:]),
    ((1, 2, 3, 0), (42, 7)),
    ((1, 2, 3, 1), (42, 7)),
    ((1, 2, 4, 0), (42, 7)),
    ((1, 3, 3, 0), (42, 7)),
    ((2, 2, 3, 0), (42, 7)),
    ((1, 2, 3, 0), (43, 7)),
    ((1, 2, 3, 0), (42, 8)),
]


def main():
    print("/* philox_vectors.h - known answers of Philox4x64-10: counter, key, output.")
    print(" * Made by: python3 tests/oracle/philox.py > tests/unit/philox_vectors.h */")
    print("static const uint64_t philox_vectors[][10] = {")
    for counter, key in CASES:
        words = list(counter) + list(key) + list(philox4x64(counter, key))
        text = ["0x%016xu" % word for word in words]
        print("    {" + ", ".join(text[:4]) + ",")
        print("     " + ", ".join(text[4:8]) + ",")
        print("     " + ", ".join(text[8:]) + "},")
    print("};")


if __name__ == "__main__":
    main()
