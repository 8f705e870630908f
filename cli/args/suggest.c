/* suggest.c - "did you mean": the candidate nearest to a mistyped word.
 *
 * Distance: insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
 */
#include "args/options.h"

#include <string.h>

enum { LONGEST = 40 };

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Distance of two words of at most LONGEST bytes. */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t row[3][LONGEST + 1]; /* the current row and the two above it, in turn */
    for (size_t j = 0; j <= m; j++) {
        row[0][j] = j;
    }
    for (size_t i = 1; i <= n; i++) {
        size_t *now = row[i % 3], *up = row[(i + 2) % 3], *upup = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
            now[j] = smaller(smaller(up[j] + 1, now[j - 1] + 1), up[j - 1] + cost);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                now[j] = smaller(now[j], upup[j - 2] + 1);
            }
        }
    }
    return row[n % 3][m];
}

const char *suggest(const char *word, const char *const *candidates, size_t n)
{
    size_t length = strlen(word), best_cost = 0;
    const char *best = NULL;
    if (length < 2 || length > LONGEST) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        size_t other = strlen(candidates[i]), cost;
        if (other > LONGEST) {
            continue;
        }
        /* A beginning of the candidate is as good as one mistake: "--out" for "--output". */
        if (length >= 3 && length < other && strncmp(word, candidates[i], length) == 0) {
            cost = 1;
        } else {
            cost = distance(word, length, candidates[i], other);
        }
        if (cost <= 1 + smaller(length, other) / 4 && cost < smaller(length, other) &&
            (!best || cost < best_cost)) {
            best = candidates[i];
            best_cost = cost;
        }
    }
    return best;
}
