/* random_trees.c - trees that hardly repeat, in brackets, to standard output.
 *
 * random_trees MEGABYTES [SLOTS]     so much text
 * random_trees NODESn [SLOTS]        so many nodes, as in 20000n
 *
 * A tree has 20 to 60 nodes with labels out of 1,000, each hung below a random one of the last few
 * nodes; a slot is left empty now and then.  With SLOTS no node has a child beyond that slot, and
 * children lie spread over all of them.  The same numbers at every call.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LABELS = 1000, LEAST = 20, MOST = 60, MAX_SLOTS = 1000, LINE = MOST * (2 * MAX_SLOTS + 16) };

/* splitmix64 */
static uint64_t next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint64_t below(uint64_t *state, uint64_t n)
{
    return next(state) % n;
}

/* Empty slots before the next child of a node whose slots up to `used` are taken. */
static uint64_t gap_behind(uint64_t *state, uint64_t used, uint64_t slots)
{
    if (slots == 0) {
        return below(state, 16) == 0 ? 1 : 0;
    }
    return used + 1 < slots ? below(state, (slots - used + 1) / 2) : 0;
}

/* One tree in pre-order: after each node close some brackets (none: it gets a child).  Returns the
 * length of the line; *nodes is how many were written. */
static size_t write_tree(uint64_t *state, uint64_t slots, char *line, uint64_t *nodes)
{
    uint64_t n = LEAST + below(state, MOST - LEAST + 1);
    uint64_t used[MOST + 1] = {0}; /* slots taken of each open node */
    uint64_t open = 0;
    size_t length = 0;
    for (*nodes = 0; *nodes < n; ++*nodes) {
        while (open > 1 && slots > 0 && used[open - 1] >= slots) { /* no slot left */
            line[length++] = ')';
            open--;
        }
        if (open > 0 && slots > 0 && used[open - 1] >= slots) {
            break;
        }
        if (open > 0) {
            uint64_t gap = gap_behind(state, used[open - 1], slots);
            used[open - 1] += gap + 1;
            for (; gap > 0; gap--) {
                line[length++] = ' ';
                line[length++] = '_';
            }
            line[length++] = ' ';
        }
        length += (size_t)sprintf(line + length, "(w%" PRIu64, below(state, LABELS));
        used[open++] = 0;
        uint64_t draw = below(state, 8);
        uint64_t closed = draw < 3 ? 0 : draw < 6 ? 1 : draw - 4;
        for (; closed > 0 && open > 1; closed--, open--) {
            line[length++] = ')';
        }
    }
    for (; open > 0; open--) {
        line[length++] = ')';
    }
    line[length++] = '\n';
    return length;
}

int main(int argc, char **argv)
{
    static char line[LINE];
    char *unit = "";
    uint64_t left = argc > 1 ? strtoull(argv[1], &unit, 10) : 0;
    uint64_t slots = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    if (argc < 2 || argc > 3 || left == 0 || slots > MAX_SLOTS) {
        fprintf(stderr, "usage: random_trees MEGABYTES|NODESn [SLOTS]\n");
        return 2;
    }
    left *= *unit == 'n' ? 1 : 1000000;
    uint64_t state = 42;
    while (left > 0) {
        uint64_t nodes;
        size_t length = write_tree(&state, slots, line, &nodes);
        if (fwrite(line, 1, length, stdout) != length) {
            perror("random_trees");
            return 4;
        }
        uint64_t done = *unit == 'n' ? nodes : length;
        left -= done < left ? done : left;
    }
    return fflush(stdout) == 0 ? 0 : 4;
}
