#!/usr/bin/env python3
"""reference.py - values of special functions to 50 digits, for tests/unit/test_numeric.c.

Needs mpmath (any version; made with 1.3.0):

    python3 tests/oracle/reference.py > tests/unit/reference.h
"""
from mpmath import mp, mpf, log, log1p, exp, loggamma, gammainc

mp.dps = 50


def number(x):
    return repr(float(x))


def rising(a, n):
    mp.dps = 400
    value = loggamma(mpf(a) + n) - loggamma(mpf(a))
    mp.dps = 50
    return value


def stirling_row(n):
    row = [1]
    for size in range(1, n + 1):
        row = [0] + [(k * row[k] if k < size else 0) + row[k - 1] for k in range(1, size + 1)]
    return row


def table(name, comment, rows):
    width = len(rows[0])
    print("/* %s */" % comment)
    print("static const double %s[][%d] = {" % (name, width))
    for row in rows:
        print("    {" + ", ".join(number(x) for x in row) + "},")
    print("};\n")


def beta_cdf(a, b, z):
    """I_x(a,b) by its series with positive terms, from the side where it converges faster."""
    if mpf(z) > log((mpf(a) + 1) / (mpf(b) + 1)):
        return 1 - beta_cdf(b, a, -z)
    a, b, z = mpf(a), mpf(b), mpf(z)
    log_x, log_rest = -log1p(exp(-z)), -log1p(exp(z))
    x = exp(log_x)
    term, total, n = mpf(1), mpf(1), 0
    while term > mpf(10) ** -45 * total:
        term *= (a + b + n) / (a + 1 + n) * x
        total += term
        n += 1
    log_beta = loggamma(a) + loggamma(b) - loggamma(a + b)
    return exp(a * log_x + b * log_rest - log_beta) / a * total


def main():
    print("/* reference.h - values of special functions, correctly rounded.")
    print(" * Made by: python3 tests/oracle/reference.py > tests/unit/reference.h */\n")
    pairs = [(a, n) for a in (1e-300, 1e-100, 1e-12, 1e-3, 0.1, 0.5, 1.0, 2.5, 9.999, 10.0, 123.4, 1e6,
                              1e15, 1e100, 1e300)
             for n in (1, 2, 3, 7, 8, 9, 10, 11, 25, 1000, 10**6, 10**12, 2**62)]
    table("reference_rising", "a, n, log (a)_n", [(a, n, rising(a, n)) for a, n in pairs])
    xs = [-0.999999, -0.5, -0.25, -0.2, -0.19, -0.01, -1e-5, -1e-9, -1e-200, 1e-200, 1e-12, 1e-7, 1e-3,
          0.1, 0.24, 0.25, 0.26, 0.5, 1.0, 30.0, 1e8]
    table("reference_log1p_minus", "x, log(1 + x) - x", [(x, log1p(mpf(x)) - mpf(x)) for x in xs])
    rows = []
    for n in (1, 2, 5, 11, 50, 219, 220, 221, 300, 400):
        row = stirling_row(n)
        for k in sorted({1, 2, 3, n // 3, n // 2, n - 1, n}):
            if 1 <= k <= n:
                rows.append((n, k, log(mpf(row[k]))))
    table("reference_stirling", "n, k, log S(n,k)", rows)
    rows = []
    for k in (0, 1, 2, 9, 10, 11, 100, 10**6):
        rest = (loggamma(mpf(k) + 1) - (k + mpf(1) / 2) * log(mpf(k) + 1) + k + 1
                - log(2 * mp.pi) / 2)
        rows.append((k, rest))
    table("reference_stirling_rest", "k, what Stirling's formula for log k! leaves over", rows)
    rows = []
    for a, ts in ((1e-8, (-1e9, -1e8, -1e7, -100.0, -1.0, 1.0, 2.0)), (0.01, (-300.0, -50.0, -1.0, 0.5)),
                  (0.5, (-10.0, -1.0, 0.0, 1.0)), (1.0, (-3.0, 0.0, 1.0)), (10.0, (1.5, 2.3, 2.9)),
                  (1000.0, (6.85, 6.9, 6.95)), (39.5, (3.5, 3.68, 4.3)), (1e5, (11.509, 11.5129, 11.517))):
        for t in ts:
            rows.append((a, t, gammainc(mpf(a), 0, exp(mpf(t)), regularized=True)))
    table("reference_gamma_cdf", "shape, log x, P(shape, x)", rows)
    rows = [(a, b, z, beta_cdf(a, b, z)) for a, b, z in (
        (1e-8, 1e-8, -1e8), (1e-8, 1e-8, -3.0), (1e-8, 1e-8, 3.0), (1e-8, 1.0, -1e7), (1e-8, 1.0, 5.0),
        (0.1, 0.5, -20.0), (0.1, 0.5, 2.0), (1.0, 1.0, 0.3), (2.0, 5.0, -1.0), (2.0, 5.0, 1.0),
        (300.0, 700.0, -0.85), (300.0, 700.0, -0.8), (1e-8, 1e4, -12.0), (1e-8, 1e4, -1e8),
        (1e4, 1.0, 8.0), (1e4, 1e4, 0.01))]
    table("reference_beta_cdf", "a, b, z, I_x(a,b) at x = 1 / (1 + e^-z)", rows)


if __name__ == "__main__":
    main()
