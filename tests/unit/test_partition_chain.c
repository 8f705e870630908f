/* test_partition_chain.c - several partition moves in a row, against the exact law of a chain on
 * partitions and on who has which child.
 *
 * Data are small enough to list every state (small_moves.h) and every way to give the children to
 * their parents.  Opening a slot makes all ways that show the same blocks as likely; a move is
 * given by its definition.  The posterior of both is left as it is by every call, to 1e-12 in
 * total.  The real moves, called from three states 200,000 times each, end in the partitions and
 * the rows that the law says: chi-square, failing by chance with probability 1e-6 a start; with 900
 * degrees of freedom it has power 1/2 against probabilities off by 3.2 % (root mean square,
 * relative).
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "models.h"
#include "small_moves.h"
#include "world.h"

#define SEED 20250806u
#define PURPOSE 0x63686169u /* "chai" */

/* C = 2, two slots.  Two kinds of children in slot 1, one in slot 2: parents of the same child in
 * one slot have different ones in the other. */
static const node dealt[] = {
    {0, {0, 0}}, {0, {0, 1}}, {1, {1, 0}}, {0, {1, 1}}, {0, {0, 0}},
    {1, {0, 1}}, {0, {1, 0}}, {1, {1, 2}}, {1, {2, 1}}, {1, {0, 1}},
};

/* Moves by slots that are opened and closed, as in a sweep; a carry does so itself. */
static const struct {
    move kind;
    uint32_t e, value;
    bool opens, closes;
} sequence[] = {
    {REASSIGN, 0, 0, true, true},     {SPLIT_MERGE, 1, 0, true, false},
    {REASSIGN, 1, 1, false, false},   {REASSIGN, 1, 0, false, false},
    {SPLIT_MERGE, 1, 0, false, true}, {CARRY, 0, 0, true, true},
    {REASSIGN, 0, 2, true, false},    {SPLIT_MERGE, 0, 0, false, true},
    {CARRY, 0, 0, true, true},        {REASSIGN, 1, 0, true, true},
};

enum { MOVES = sizeof sequence / sizeof *sequence, MOST_ASSIGNMENTS = 512, MOST_LAW = 1 << 18 };

/* Partitions, and who has which child: the value of each slot by a number in a list.  A law is a
 * probability for each [state][assignment of slot 1][assignment of slot 2]. */
typedef struct joint {
    space *s;
    size_t n[2], all; /* assignments; all: states and assignments */
    uint32_t value[2][MOST_ASSIGNMENTS][MOST_NODES];
} joint;

static void make_joint(joint *j, space *s)
{
    static deal d;
    j->s = s;
    for (uint32_t e = 0; e < 2; e++) {
        j->n[e] = 0;
        start_deal(s, s->p->nodes, e, 0, &d); /* all values in one block: every order there is */
        do {
            assert_true(j->n[e] < MOST_ASSIGNMENTS);
            for (size_t i = 0; i < s->p->n_nodes; i++) {
                j->value[e][j->n[e]][i] = d.nodes[i].value[e];
            }
            j->n[e]++;
        } while (next_deal(&d));
    }
    j->all = s->n * j->n[0] * j->n[1];
    assert_true(j->all <= MOST_LAW);
}

static void nodes_at(const joint *j, size_t at, node *nodes)
{
    memcpy(nodes, j->s->p->nodes, j->s->p->n_nodes * sizeof *nodes);
    for (size_t i = 0; i < j->s->p->n_nodes; i++) {
        nodes[i].value[0] = j->value[0][at / j->n[1] % j->n[0]][i];
        nodes[i].value[1] = j->value[1][at % j->n[1]][i];
    }
}

/* Do two assignments of slot e show the same blocks? */
static bool same_blocks(const joint *j, uint32_t e, const uint32_t *block, size_t a, size_t b)
{
    bool same = true;
    for (size_t i = 0; same && i < j->s->p->n_nodes; i++) {
        same = block[j->value[e][a][i]] == block[j->value[e][b][i]];
    }
    return same;
}

/* Slot e is dealt: every assignment that shows the same blocks becomes as likely. */
static void deal_law(const joint *j, uint32_t e, double *law)
{
    static double before[MOST_LAW];
    static size_t class[MOST_ASSIGNMENTS], members[MOST_ASSIGNMENTS];
    static double sum[MOST_ASSIGNMENTS];
    size_t step = e == 0 ? j->n[1] : 1, others = j->n[1 - e], other_step = e == 0 ? 1 : j->n[1];
    memcpy(before, law, j->all * sizeof *law);
    for (size_t state = 0; state < j->s->n; state++) {
        const uint32_t *block = j->s->partition[j->s->state[state][e]];
        memset(members, 0, sizeof members);
        for (size_t a = 0; a < j->n[e]; a++) {
            for (class[a] = 0; !same_blocks(j, e, block, a, class[a]);) {
                class[a]++;
            }
            members[class[a]]++;
        }
        for (size_t o = 0; o < others; o++) {
            size_t first = state * j->n[0] * j->n[1] + o * other_step;
            memset(sum, 0, sizeof sum);
            for (size_t a = 0; a < j->n[e]; a++) {
                sum[class[a]] += before[first + a * step];
            }
            for (size_t a = 0; a < j->n[e]; a++) {
                law[first + a * step] = sum[class[a]] / (double)members[class[a]];
            }
        }
    }
}

/* A move given who has which child. */
static void move_law(const joint *j, move kind, uint32_t e, uint32_t value, const double *before,
                     double *after)
{
    size_t ways = j->n[0] * j->n[1];
    for (size_t at = 0; at < j->all; at++) {
        if (before[at] > 0.0) {
            node nodes[MOST_NODES];
            double row[MOST_STATES] = {0};
            nodes_at(j, at, nodes);
            set_nodes(j->s, nodes);
            add_ends(j->s, kind, at / ways, e, value, 1.0, before[at], row);
            for (size_t to = 0; to < j->s->n; to++) {
                after[to * ways + at % ways] += row[to];
            }
        }
    }
}

/* The k-th move on a law. */
static void call_law(const joint *j, int k, double *law)
{
    static double after[MOST_LAW], part[MOST_LAW];
    size_t ways = j->n[0] * j->n[1];
    memset(after, 0, j->all * sizeof *after);
    if (sequence[k].kind != CARRY) {
        if (sequence[k].opens) {
            deal_law(j, sequence[k].e, law);
        }
        move_law(j, sequence[k].kind, sequence[k].e, sequence[k].value, law, after);
        memcpy(law, after, j->all * sizeof *law);
        return;
    }
    for (uint32_t to = 0; to < 2; to++) {
        for (size_t at = 0; at < j->all; at++) {
            bool here = can_carry(j->s, at / ways, to);
            part[at] = here ? law[at] / (2 - count_active(j->s, at / ways)) : 0.0;
        }
        deal_law(j, to, part);
        move_law(j, CARRY, to, 0, part, after);
    }
    for (size_t at = 0; at < j->all; at++) {
        bool stays = !can_carry(j->s, at / ways, 0) && !can_carry(j->s, at / ways, 1);
        law[at] = after[at] + (stays ? law[at] : 0.0);
    }
}

/* The posterior is left as it is by every call. */
static void check_joint(const joint *j)
{
    static double pi[MOST_LAW], law[MOST_LAW];
    size_t ways = j->n[0] * j->n[1];
    double sum = 0.0, worst = 0.0;
    for (size_t at = 0; at < j->all; at++) {
        node nodes[MOST_NODES];
        nodes_at(j, at, nodes);
        set_nodes(j->s, nodes);
        pi[at] = exp(score_of(j->s, at / ways));
        sum += pi[at];
    }
    for (size_t at = 0; at < j->all; at++) {
        pi[at] /= sum;
    }
    for (int k = 0; k < MOVES; k++) {
        double off = 0.0;
        memcpy(law, pi, j->all * sizeof *law);
        call_law(j, k, law);
        for (size_t at = 0; at < j->all; at++) {
            off += fabs(law[at] - pi[at]);
        }
        worst = fmax(worst, off);
    }
    print_message("  %zu partitions x %zu x %zu assignments: |pi P - pi| at most %.1e\n", j->s->n,
                  j->n[0], j->n[1], worst);
    assert_true(worst < 1e-12);
}

/* What is kept: the state, and occurrences by subtree, state and cell.  (Pairs never change.) */
typedef struct key {
    size_t state;
    uint8_t rows[MOST_NODES][2][9]; /* by the first node with that subtree */
} key;

typedef struct ends {
    size_t n;
    uint64_t hash[1 << 15];
    double probability[1 << 15];
    int64_t observed[1 << 15];
} ends;

static uint64_t hash_key(const key *k)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < sizeof *k; i++) {
        hash = (hash ^ ((const unsigned char *)k)[i]) * 1099511628211u;
    }
    return hash;
}

/* Where a key is, or would be. */
static size_t find_key(const ends *table, uint64_t hash)
{
    size_t i = hash % (sizeof table->hash / sizeof *table->hash);
    while (table->hash[i] != 0 && table->hash[i] != hash) {
        i = (i + 1) % (sizeof table->hash / sizeof *table->hash);
    }
    return i;
}

static size_t first_like(const real *r, uint32_t subtree)
{
    size_t i = 0;
    while (r->subtree[i] != subtree) {
        i++;
    }
    return i;
}

static void list_ends(const joint *j, const real *r, const double *law, ends *table)
{
    size_t ways = j->n[0] * j->n[1];
    memset(table, 0, sizeof *table);
    for (size_t at = 0; at < j->all; at++) {
        node nodes[MOST_NODES];
        key k;
        if (law[at] == 0.0) {
            continue;
        }
        memset(&k, 0, sizeof k);
        nodes_at(j, at, nodes);
        k.state = at / ways;
        for (size_t i = 0; i < j->s->p->n_nodes; i++) {
            k.rows[first_like(r, r->subtree[i])][nodes[i].state]
                  [cell_of(j->s, j->s->state[k.state], &nodes[i])]++;
        }
        size_t place = find_key(table, hash_key(&k));
        table->n += table->hash[place] == 0;
        table->hash[place] = hash_key(&k);
        table->probability[place] += law[at];
        assert_true(table->n < sizeof table->hash / sizeof *table->hash / 2);
    }
}

/* The key of the real thing: blocks as the list of partitions numbers them. */
static void read_key(const real *r, key *k)
{
    const space *s = r->s;
    int state = read_state(r);
    assert_true(state >= 0);
    memset(k, 0, sizeof *k);
    k->state = (size_t)state;
    for (size_t i = 0; i < r->counts->n_portions; i++) {
        const phl_portion *portion = &r->counts->portion[i];
        size_t cell = 0, below = r->partitions->size[1];
        for (uint32_t e = 0; e < 2; e++) {
            size_t digit = e == 0 ? portion->cell / below : portion->cell % below;
            uint32_t q = 0;
            while (r->partitions->block[e * s->values + q] != digit) {
                q++;
            }
            size_t number = s->state[state][e];
            cell = cell * s->size[number] + s->partition[number][q];
        }
        uint8_t *count = &k->rows[first_like(r, portion->subtree)][portion->state][cell];
        *count = (uint8_t)(*count + portion->n);
    }
}

static void check_sequence(real *r, const joint *j, size_t start)
{
    static double law[MOST_LAW];
    static ends table;
    size_t ways = j->n[0] * j->n[1], own = 0;
    node nodes[MOST_NODES];
    do { /* the assignment of the data */
        nodes_at(j, own++, nodes);
    } while (memcmp(nodes, j->s->p->nodes, j->s->p->n_nodes * sizeof *nodes) != 0);
    memset(law, 0, j->all * sizeof *law);
    law[start * ways + own - 1] = 1.0;
    for (int k = 0; k < MOVES; k++) {
        call_law(j, k, law);
    }
    list_ends(j, r, law, &table);
    int64_t calls = (int64_t)affordable(200000);
    phl_rng rng;
    phl_rng_init(&rng, SEED, PURPOSE, 1, start, 1);
    for (int64_t i = 0; i < calls; i++) {
        key k;
        set_state(r, start, i % 2 == 1, &rng);
        for (int m = 0; m < MOVES; m++) {
            call_move(r, sequence[m].kind, sequence[m].e, sequence[m].value, 1.0, sequence[m].opens,
                      sequence[m].closes, &rng);
        }
        read_key(r, &k);
        size_t place = find_key(&table, hash_key(&k));
        if (table.hash[place] == 0) {
            fail_msg("from state %zu to %zu with rows that are impossible", start, k.state);
        }
        table.observed[place]++;
    }
    check_outcomes judged = {0};
    check_outcomes_add(&judged, table.probability, table.observed,
                       sizeof table.hash / sizeof *table.hash, calls);
    check_outcomes_judge(&judged, SEED, "from state %zu, %d moves, %zu ends", start, MOVES,
                         table.n);
}

static void dealing(void **state)
{
    (void)state;
    static space s;
    static real r;
    static joint j;
    const problem p = {"dealing",
                       2,
                       2,
                       .nodes = dealt,
                       .n_nodes = sizeof dealt / sizeof *dealt,
                       .kinds = {2, 1},
                       .phi = 0.2,
                       .alpha = 0.6,
                       .lambda0 = {0.5, 0.5},
                       .slots_max = 2,
                       .core_max = 1 << 20};
    make_space(&s, &p);
    make_real(&r, &s);
    make_joint(&j, &s);
    check_joint(&j);
    check_sequence(&r, &j, 0);
    check_sequence(&r, &j, s.n / 2);
    check_sequence(&r, &j, s.n - 1);
    free_real(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dealing),
    };
    return cmocka_run_group_tests_name("partition_chain", tests, NULL, NULL);
}
