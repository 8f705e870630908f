/* random_trees.c - random_trees MEGABYTES: trees that hardly repeat, in brackets, to standard
 * output.
 *
 * A tree has 20 to 60 nodes with labels out of 1,000, each hung below a random one of the last few
 * nodes; a slot is left empty now and then.  The same numbers at every call.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LABELS = 1000, LEAST = 20, MOST = 60, LINE = 1 << 12 };

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

/* One tree in pre-order: after each node close some brackets (none: it gets a child). */
static int write_tree(uint64_t *state, char *line)
{
    uint64_t n = LEAST + below(state, MOST - LEAST + 1);
    uint64_t open = 0;
    int used = 0;
    for (uint64_t i = 0; i < n; i++) {
        used += sprintf(line + used, "%s(w%" PRIu64, i > 0 ? " " : "", below(state, LABELS));
        open++;
        uint64_t draw = below(state, 8);
        uint64_t closed = draw < 3 ? 0 : draw < 6 ? 1 : draw - 4;
        for (; closed > 0 && open > 1; closed--, open--) {
            line[used++] = ')';
        }
        if (i + 1 < n && below(state, 16) == 0) {
            used += sprintf(line + used, " _");
        }
    }
    for (; open > 0; open--) {
        line[used++] = ')';
    }
    line[used++] = '\n';
    return used;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: random_trees MEGABYTES\n");
        return 2;
    }
    char line[LINE];
    uint64_t state = 42, left = strtoull(argv[1], NULL, 10) * 1000000;
    while (left > 0) {
        size_t used = (size_t)write_tree(&state, line);
        if (fwrite(line, 1, used, stdout) != used) {
            perror("random_trees");
            return 4;
        }
        left -= used < left ? used : left;
    }
    return fflush(stdout) == 0 ? 0 : 4;
}
