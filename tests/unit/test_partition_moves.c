/* test_partition_moves.c - the partition moves against their exact transition matrices.
 *
 * On data small enough to list every state (small_moves.h), the matrix P of every move is written
 * down from its definition, and
 *  - pi P = pi to 1e-12 in total;
 *  - the real move, started from every state a hundred times and more, over 10^6 times in all, ends
 * where its row of P says: chi-square over all starts, failing by chance with probability 1e-6 for
 * each of the moves judged (some 120).  With 20,000 calls and 200 degrees of freedom it has power
 * 1/2 against transition probabilities off by 8 % (root mean square, relative); a transition of
 * probability 0 that happens always fails.
 *
 * Nodes are either all different, so that it is known who has which child, or share children:
 * nodes whose child in a slot is the same subtree are one pair (rows.h), and opening the slot deals
 * the children of every block out anew.  P is then the mean over all ways to deal, which are
 * listed; test_partition_chain.c shows what is invariant.  Rows hold single nodes, or all equal
 * nodes together: a move must not tell the difference.  After every call the rows must agree with
 * the cells and with the pairs.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "models.h"
#include "small_moves.h"
#include "world.h"

#define SEED 20250802u
#define PURPOSE 0x6b65726eu /* "kern" */

/* ---- Matrices
 * ------------------------------------------------------------------------------------- */

typedef double matrix[MOST_STATES][MOST_STATES];

/* The law of the end of a move, the children being dealt first. */
static void add_dealt_ends(space *s, move kind, size_t from, uint32_t e, uint32_t value,
                           double temperature, double weight, double *row)
{
    static deal d;
    double ways = 0.0;
    double sum[MOST_STATES] = {0};
    start_deal(s, s->p->nodes, e, s->state[from][e], &d);
    do {
        set_nodes(s, d.nodes);
        add_ends(s, kind, from, e, value, temperature, 1.0, sum);
        ways += 1.0;
    } while (next_deal(&d));
    for (size_t to = 0; to < s->n; to++) {
        row[to] += weight * sum[to] / ways;
    }
}

static void fill_matrix(space *s, move kind, uint32_t e, uint32_t value, double temperature,
                        matrix m)
{
    for (size_t from = 0; from < s->n; from++) {
        memset(m[from], 0, sizeof m[from]);
        if (kind != CARRY) {
            add_dealt_ends(s, kind, from, e, value, temperature, 1.0, m[from]);
            continue;
        }
        double inactive = s->p->slots - count_active(s, from), stays = 1.0;
        for (uint32_t to = 0; to < s->p->slots; to++) {
            if (can_carry(s, from, to)) {
                add_dealt_ends(s, kind, from, to, 0, temperature, 1.0 / inactive, m[from]);
                stays = 0.0;
            }
        }
        m[from][from] += stays;
    }
}

/* Rows that are distributions and, if asked for, |pi P - pi| in total. */
static double distance(space *s, double temperature, bool invariant, matrix m)
{
    static double pi[MOST_STATES];
    double sum = 0.0, most = -INFINITY, off = 0.0;
    set_nodes(s, s->p->nodes);
    for (size_t i = 0; i < s->n; i++) {
        most = score_of(s, i) > most ? score_of(s, i) : most;
    }
    for (size_t i = 0; i < s->n; i++) {
        pi[i] = exp((score_of(s, i) - most) / temperature);
        sum += pi[i];
    }
    for (size_t to = 0; to < s->n; to++) {
        double in = 0.0, row = 0.0;
        for (size_t from = 0; from < s->n; from++) {
            in += pi[from] / sum * m[from][to];
            row += m[to][from];
        }
        off += (invariant ? fabs(in - pi[to] / sum) : 0.0) + fabs(row - 1.0) * 1e-3;
    }
    return off;
}

static uint64_t all_calls;

static void check_move(real *r, space *s, move kind, uint32_t e, uint32_t value, double temperature,
                       int64_t calls)
{
    static matrix m;
    static int64_t observed[MOST_STATES];
    char name[64];
    (void)snprintf(name, sizeof name,
                   kind == REASSIGN      ? "reassign slot %u value %u"
                   : kind == SPLIT_MERGE ? "split/merge slot %u"
                                         : "carry",
                   e + 1, value);
    bool apart = s->p->kinds[0] >= s->p->n_nodes;
    fill_matrix(s, kind, e, value, temperature, m);
    double off = distance(s, temperature, apart, m);
    if (!(off < 1e-12)) {
        fail_msg("%s, %s: pi P - pi = %g", s->p->name, name, off);
    }
    check_outcomes ends = {0};
    phl_rng rng;
    phl_rng_init(&rng, SEED, PURPOSE, all_calls, 0, 0);
    for (size_t from = 0; from < s->n; from++) {
        memset(observed, 0, sizeof observed);
        for (int64_t i = 0; i < calls; i++) {
            set_state(r, from, i % 2 == 1, &rng);
            call_move(r, kind, e, value, temperature, true, true, &rng);
            int to = read_state(r);
            if (to < 0 || m[from][to] == 0.0) {
                fail_msg("%s, %s: from state %zu to %d, which is impossible", s->p->name, name,
                         from, to);
            }
            observed[to]++;
        }
        all_calls += (uint64_t)calls;
        check_outcomes_add(&ends, m[from], observed, s->n, calls);
    }
    check_outcomes_judge(&ends, SEED, "%s, T = %g, %s, %s %.0e", s->p->name, temperature, name,
                         apart ? "|pi P - pi|" : "dealt, |sum P - 1|", off);
}

/* All moves, nodes apart and by the kinds of the problem. */
static void check_problem(const problem *given, int64_t calls)
{
    static space s;
    static real r;
    const double temperatures[] = {1.0, 2.5};
    int64_t n = (int64_t)affordable((size_t)calls);
    for (int shared = 0; shared < 2; shared++) {
        problem p = *given;
        for (uint32_t e = 0; e < p.slots; e++) {
            p.kinds[e] = shared ? p.kinds[e] : p.n_nodes;
        }
        make_space(&s, &p);
        make_real(&r, &s);
        print_message("%s, children %s: seed %u, %zu states, %lld calls from each\n", p.name,
                      shared ? "shared" : "apart", SEED, s.n, (long long)n);
        for (int t = 0; t < 2; t++) {
            for (uint32_t e = 0; e < p.slots; e++) {
                for (uint32_t q = 0; q < s.values; q++) {
                    check_move(&r, &s, REASSIGN, e, q, temperatures[t], n);
                }
                check_move(&r, &s, SPLIT_MERGE, e, 0, temperatures[t], n);
            }
            check_move(&r, &s, CARRY, 0, 0, temperatures[t], n);
        }
        free_real(&r);
    }
}

/* ---- The problems
 * ------------------------------------------------------------------------------------ */

/* C = 2 (values 0, 1 and the empty 2), three slots. */
static const node three_slots[] = {
    {0, {0, 0, 2}}, {0, {0, 1, 0}}, {0, {0, 2, 2}}, {1, {1, 0, 2}}, {1, {1, 1, 1}},
    {1, {0, 1, 0}}, {0, {2, 0, 1}}, {1, {1, 2, 0}}, {1, {2, 2, 1}}, {0, {0, 0, 2}},
    {1, {1, 1, 2}}, {0, {0, 2, 0}}, {1, {1, 0, 1}}, {0, {1, 1, 0}},
};
/* C = 3, two slots; value 2 is never seen in slot 2. */
static const node two_slots[] = {
    {0, {0, 3}}, {0, {0, 1}}, {0, {1, 0}}, {1, {1, 1}}, {1, {2, 3}}, {2, {2, 0}},
    {2, {2, 1}}, {1, {0, 1}}, {0, {0, 0}}, {2, {3, 1}}, {2, {3, 0}}, {0, {1, 3}},
    {1, {2, 1}}, {0, {0, 3}}, {2, {2, 3}}, {0, {0, 0}},
};

#define NODES(list) .nodes = list, .n_nodes = sizeof(list) / sizeof *(list)

static void confined(void **state)
{
    (void)state;
    const problem p = {"C=2, 3 slots, confined",
                       2,
                       3,
                       NODES(three_slots),
                       .kinds = {2, 2, 2},
                       .phi = 0.7,
                       .alpha = 1.4,
                       .lambda0 = {0.7, 0.3},
                       .slots_min = 1,
                       .slots_max = 2,
                       .core_max = 6};
    check_problem(&p, 500);
}

static void free_sizes(void **state)
{
    (void)state;
    const problem p = {"C=3, 2 slots",
                       3,
                       2,
                       NODES(two_slots),
                       .kinds = {4, 4},
                       .phi = 0.3,
                       .alpha = 0.8,
                       .lambda0 = {0.5, 0.3, 0.2},
                       .slots_min = 0,
                       .slots_max = 2,
                       .core_max = 1 << 20};
    check_problem(&p, 400);
}

static void fixed_sizes(void **state)
{
    (void)state;
    const problem p = {"C=3, 2 slots, sizes 2 and 3",
                       3,
                       2,
                       NODES(two_slots),
                       .kinds = {4, 4},
                       .phi = 2.0,
                       .alpha = 0.8,
                       .lambda0 = {0.5, 0.3, 0.2},
                       .slots_max = 2,
                       .core_max = 1 << 20,
                       .fixed = {2, 3}};
    check_problem(&p, 800);
}

static void enough(void **state)
{
    (void)state;
    print_message("  %llu calls of single moves\n", (unsigned long long)all_calls);
    assert_true(all_calls >= affordable(1000000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(confined),
        cmocka_unit_test(free_sizes),
        cmocka_unit_test(fixed_sizes),
        cmocka_unit_test(enough),
    };
    return cmocka_run_group_tests_name("partition_moves", tests, NULL, NULL);
}
