/* test_partition_kernel.c - the partition moves against their exact transition matrices.
 *
 * On data small enough to list every state, the posterior of the partitions is written down anew
 * (by log-gamma functions of the counts of single nodes), the matrix P of every move is written
 * down from its definition, and
 *  - pi P = pi to 1e-12 in total;
 *  - the real move, started from every state a hundred times and more, over 10^6 times in all, ends
 * where its row of P says: chi-square over all starts, failing by chance with probability 1e-6 for
 * each of the moves judged (some 60).  With 20,000 calls and 200 degrees of freedom it has power
 * 1/2 against transition probabilities off by 8 % (root mean square, relative); a transition of
 * probability 0 that happens always fails. Rows hold single nodes, or all equal nodes together: a
 * single move must not tell the difference.  Over several moves rows are cut and margins dealt; the
 * law of the end is then the mean over all joint values that agree with the margins, which is
 * listed too.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "learn/partitions.h"
#include "models.h"
#include "world.h"

#define SEED 20250802u
#define PURPOSE 0x6b65726eu /* "kern" */

enum { MOST_SLOTS = 3, MOST_VALUES = 4, MOST_PARTITIONS = 15, MOST_STATES = 225, MOST_NODES = 64 };

typedef struct node {
    uint32_t state, value[MOST_SLOTS];
} node;

/* Data, prior and base of a problem. */
typedef struct problem {
    const char *name;
    uint32_t states, slots;
    const node *nodes;
    size_t n_nodes;
    double phi, alpha, lambda0[3];
    uint32_t slots_min, slots_max;
    uint64_t core_max;
    uint32_t fixed[MOST_SLOTS]; /* 0: not fixed */
} problem;

/* Partition states: a number for each slot in the list of all partitions. */
typedef struct space {
    const problem *p;
    uint32_t values;
    size_t n_partitions;
    uint32_t partition[MOST_PARTITIONS][MOST_VALUES]; /* blocks by first occurrence */
    uint32_t size[MOST_PARTITIONS];
    size_t n; /* states within the confines */
    size_t state[MOST_STATES][MOST_SLOTS];
    int number[MOST_STATES]; /* of a code, or -1 outside the confines */
    double score[MOST_STATES];
} space;

/* ---- The posterior, written down ----------------------------------------------------------------
 */

static void list_partitions(space *s)
{
    uint32_t string[MOST_VALUES] = {0};
    s->n_partitions = 0;
    for (;;) {
        uint32_t most = 0;
        for (uint32_t q = 0; q < s->values; q++) {
            most = string[q] > most ? string[q] : most;
        }
        memcpy(s->partition[s->n_partitions], string, sizeof string);
        s->size[s->n_partitions++] = most + 1;
        uint32_t q = s->values;
        while (q-- > 1) { /* the next string in which no value runs ahead */
            most = 0;
            for (uint32_t i = 0; i < q; i++) {
                most = string[i] > most ? string[i] : most;
            }
            if (string[q] <= most) {
                string[q]++;
                for (uint32_t i = q + 1; i < s->values; i++) {
                    string[i] = 0;
                }
                break;
            }
        }
        if (q == 0 || q == UINT32_MAX) {
            return;
        }
    }
}

static double log_posterior(const space *s, const size_t *state, const node *nodes)
{
    const problem *p = s->p;
    double counts[64][3] = {{0}}, sum = 0.0;
    for (size_t i = 0; i < p->n_nodes; i++) {
        size_t cell = 0;
        for (uint32_t e = 0; e < p->slots; e++) {
            cell = cell * s->size[state[e]] + s->partition[state[e]][nodes[i].value[e]];
        }
        counts[cell][nodes[i].state] += 1.0;
    }
    for (size_t z = 0; z < 64; z++) {
        double total = 0.0;
        for (uint32_t j = 0; j < p->states; j++) {
            double a = p->alpha * p->lambda0[j];
            sum += lgamma(a + counts[z][j]) - lgamma(a);
            total += counts[z][j];
        }
        sum -= lgamma(p->alpha + total) - lgamma(p->alpha);
    }
    for (uint32_t e = 0; e < p->slots; e++) {
        double same_size = 0.0;
        for (size_t i = 0; i < s->n_partitions; i++) {
            same_size += s->size[i] == s->size[state[e]];
        }
        sum += -p->phi * s->size[state[e]] - log(same_size);
    }
    return sum;
}

static bool allowed(const space *s, const size_t *state)
{
    const problem *p = s->p;
    uint64_t cells = 1;
    uint32_t active = 0;
    for (uint32_t e = 0; e < p->slots; e++) {
        if (p->fixed[e] != 0 && s->size[state[e]] != p->fixed[e]) {
            return false;
        }
        cells *= s->size[state[e]];
        active += s->size[state[e]] > 1;
    }
    return p->fixed[0] != 0 ||
           (cells <= p->core_max && active >= p->slots_min && active <= p->slots_max);
}

static size_t code_of(const space *s, const size_t *state)
{
    size_t code = 0;
    for (uint32_t e = 0; e < s->p->slots; e++) {
        code = code * s->n_partitions + state[e];
    }
    return code;
}

static void make_space(space *s, const problem *p)
{
    memset(s, 0, sizeof *s);
    s->p = p;
    s->values = p->states + 1;
    list_partitions(s);
    size_t codes = 1;
    for (uint32_t e = 0; e < p->slots; e++) {
        codes *= s->n_partitions;
    }
    assert_true(codes <= MOST_STATES);
    for (size_t code = 0; code < codes; code++) {
        size_t state[MOST_SLOTS], rest = code;
        for (uint32_t e = p->slots; e-- > 0;) {
            state[e] = rest % s->n_partitions;
            rest /= s->n_partitions;
        }
        s->number[code] = -1;
        if (allowed(s, state)) {
            s->number[code] = (int)s->n;
            memcpy(s->state[s->n], state, sizeof state);
            s->score[s->n++] = log_posterior(s, state, p->nodes);
        }
    }
}

/* Number of a partition given by any blocks. */
static size_t find_partition(const space *s, const uint32_t *block)
{
    for (size_t i = 0; i < s->n_partitions; i++) {
        bool same = true;
        for (uint32_t a = 0; a < s->values; a++) {
            for (uint32_t b = 0; b < a; b++) {
                same = same && (block[a] == block[b]) == (s->partition[i][a] == s->partition[i][b]);
            }
        }
        if (same) {
            return i;
        }
    }
    return MOST_PARTITIONS;
}

/* The state that is `from` but for one slot; -1 outside the confines. */
static int with_slot(const space *s, size_t from, uint32_t e, const uint32_t *block)
{
    size_t state[MOST_SLOTS];
    memcpy(state, s->state[from], sizeof state);
    state[e] = find_partition(s, block);
    return s->number[code_of(s, state)];
}

/* ---- Matrices from the definitions of the moves
 * --------------------------------------------------- */

typedef double matrix[MOST_STATES][MOST_STATES];

/* The exact conditional of one value's place, all else kept. */
static void reassign_matrix(const space *s, uint32_t e, uint32_t value, double temperature,
                            matrix m)
{
    for (size_t from = 0; from < s->n; from++) {
        double sum = 0.0;
        for (int pass = 0; pass < 2; pass++) {
            for (size_t to = 0; to < s->n; to++) {
                bool reachable = true;
                for (uint32_t l = 0; l < s->p->slots; l++) {
                    const uint32_t *x = s->partition[s->state[from][l]];
                    const uint32_t *y = s->partition[s->state[to][l]];
                    for (uint32_t a = 0; a < s->values; a++) {
                        for (uint32_t b = 0; b < a; b++) {
                            bool touched = l == e && (a == value || b == value);
                            reachable = reachable && (touched || (x[a] == x[b]) == (y[a] == y[b]));
                        }
                    }
                }
                double weight =
                    reachable ? exp((s->score[to] - s->score[from]) / temperature) : 0.0;
                sum += pass == 0 ? weight : 0.0;
                m[from][to] = pass == 0 ? 0.0 : weight / sum;
            }
        }
    }
}

/* Propose with a probability; what is not accepted stays. */
static void propose(const space *s, size_t from, int to, double probability, double log_proposal,
                    double temperature, matrix m)
{
    double accept = 0.0;
    if (to >= 0) {
        accept = exp((s->score[to] - s->score[from]) / temperature + log_proposal);
        accept = accept > 1.0 ? 1.0 : accept;
        m[from][to] += probability * accept;
    }
    m[from][from] += probability * (1.0 - accept);
}

static void split_matrix(const space *s, uint32_t e, double temperature, matrix m)
{
    double pair = 1.0 / (s->values * (s->values - 1.0));
    for (size_t from = 0; from < s->n; from++) {
        const uint32_t *block = s->partition[s->state[from][e]];
        memset(m[from], 0, sizeof m[from]);
        for (uint32_t a = 0; a < s->values; a++) {
            for (uint32_t b = 0; b < s->values; b++) {
                uint32_t made[MOST_VALUES], free[MOST_VALUES], n = 0, members = 0;
                for (uint32_t q = 0; q < s->values; q++) {
                    members += block[q] == block[a] || block[q] == block[b];
                    if (q != a && q != b && block[q] == block[a]) {
                        free[n++] = q;
                    }
                }
                double sides = (members - 2.0) * log(2.0);
                memcpy(made, block, sizeof made);
                if (a == b) {
                    continue;
                }
                if (block[a] != block[b]) {
                    for (uint32_t q = 0; q < s->values; q++) {
                        made[q] = block[q] == block[b] ? block[a] : block[q];
                    }
                    propose(s, from, with_slot(s, from, e, made), pair, -sides, temperature, m);
                    continue;
                }
                for (uint32_t set = 0; set < 1u << n; set++) {
                    made[b] = MOST_VALUES;
                    for (uint32_t i = 0; i < n; i++) {
                        made[free[i]] = set & 1u << i ? MOST_VALUES : block[a];
                    }
                    propose(s, from, with_slot(s, from, e, made), pair / (1u << n), sides,
                            temperature, m);
                }
            }
        }
    }
}

static void carry_matrix(const space *s, double temperature, matrix m)
{
    for (size_t from = 0; from < s->n; from++) {
        uint32_t active = 0, slots = s->p->slots;
        memset(m[from], 0, sizeof m[from]);
        for (uint32_t e = 0; e < slots; e++) {
            active += s->size[s->state[from][e]] > 1;
        }
        if (active == 0 || active == slots || s->p->fixed[0] != 0) {
            m[from][from] = 1.0;
            continue;
        }
        for (uint32_t a = 0; a < slots; a++) {
            for (uint32_t b = 0; b < slots; b++) {
                size_t state[MOST_SLOTS];
                memcpy(state, s->state[from], sizeof state);
                if (s->size[state[a]] == 1 || s->size[state[b]] > 1) {
                    continue;
                }
                state[b] = s->state[from][a];
                state[a] = s->state[from][b];
                propose(s, from, s->number[code_of(s, state)], 1.0 / (active * (slots - active)),
                        0.0, temperature, m);
            }
        }
    }
}

/* |pi P - pi| in total, and rows that are distributions. */
static double distance(const space *s, double temperature, matrix m)
{
    static double pi[MOST_STATES];
    double sum = 0.0, most = -INFINITY, off = 0.0;
    for (size_t i = 0; i < s->n; i++) {
        most = s->score[i] > most ? s->score[i] : most;
    }
    for (size_t i = 0; i < s->n; i++) {
        pi[i] = exp((s->score[i] - most) / temperature);
        sum += pi[i];
    }
    for (size_t to = 0; to < s->n; to++) {
        double in = 0.0, row = 0.0;
        for (size_t from = 0; from < s->n; from++) {
            in += pi[from] / sum * m[from][to];
            row += m[to][from];
        }
        off += fabs(in - pi[to] / sum) + fabs(row - 1.0) * 1e-3;
    }
    return off;
}

/* ---- The real moves
 * -------------------------------------------------------------------------------- */

/* One subtree for each set of filled slots. */
typedef struct real {
    const space *s;
    phl_forest *forest;
    phl_index *index;
    phl_rows *rows;
    phl_partitions *partitions;
    uint32_t fixed[MOST_SLOTS];
    uint32_t subtree[1 << MOST_SLOTS]; /* by filled slots */
} real;

static uint32_t filled_slots(const space *s, const node *at)
{
    uint32_t filled = 0;
    for (uint32_t e = 0; e < s->p->slots; e++) {
        filled |= at->value[e] < s->p->states ? 1u << e : 0;
    }
    return filled;
}

static void make_real(real *r, const space *s)
{
    const problem *p = s->p;
    phl_builder *builder = new_builder(false);
    memset(r, 0, sizeof *r);
    r->s = s;
    for (uint32_t filled = 1; filled < 1u << p->slots; filled++) {
        shape tree = {.size = 1, .slot = {1}};
        const char *labels[MAX_SHAPE] = {letter[0], letter[0], letter[0], letter[0]};
        for (uint32_t e = 0; e < p->slots; e++) {
            if (filled & 1u << e) {
                tree.slot[tree.size++] = e + 1;
            }
        }
        add_tree(builder, &tree, labels, 1.0, NULL);
    }
    r->forest = finish_forest(builder);
    for (uint32_t filled = 1; filled < 1u << p->slots; filled++) {
        r->subtree[filled] = r->forest->tree_root[filled - 1];
    }
    phl_partition_prior prior = {.phi = p->phi,
                                 .slots_min = p->slots_min,
                                 .slots_max = p->slots_max,
                                 .core_max = p->core_max};
    memcpy(r->fixed, p->fixed, sizeof r->fixed);
    prior.fixed = p->fixed[0] != 0 ? r->fixed : NULL;
    double log_lambda0[3];
    for (uint32_t j = 0; j < p->states; j++) {
        log_lambda0[j] = log(p->lambda0[j]);
    }
    must(phl_index_create(r->forest, p->slots, false, &r->index, error));
    must(phl_rows_create(r->index, p->states, 0.0, &r->rows, error));
    must(phl_partitions_create(r->rows, &prior, &r->partitions, error));
    must(phl_partitions_set_base(r->partitions, p->alpha, log_lambda0, error));
    assert_int_equal(r->rows->n_eligible, p->slots);
}

static void free_real(real *r)
{
    phl_partitions_free(r->partitions);
    phl_rows_free(r->rows);
    phl_index_free(r->index);
    phl_forest_free(r->forest);
}

/* Set partitions, blocks numbered at random, and rows: of single nodes, or of all equal ones. */
static void set_state(real *r, size_t state, bool apart, phl_rng *rng)
{
    const space *s = r->s;
    const problem *p = s->p;
    bool done[MOST_NODES] = {false};
    for (uint32_t e = 0; e < p->slots; e++) {
        size_t number = s->state[state][e];
        uint32_t k = s->size[number], turn = random_below(rng, k);
        r->partitions->size[e] = k;
        for (uint32_t q = 0; q < s->values; q++) {
            r->partitions->block[e * s->values + q] = (s->partition[number][q] + turn) % k;
        }
    }
    phl_rows_reset(r->rows);
    for (size_t i = 0; i < p->n_nodes; i++) {
        const node *a = &p->nodes[i];
        int64_t n = 0, margin[MOST_SLOTS][MOST_VALUES] = {{0}};
        for (size_t k = i; !done[i] && k < (apart ? i + 1 : p->n_nodes); k++) {
            const node *b = &p->nodes[k];
            bool same =
                !done[k] && a->state == b->state && filled_slots(s, a) == filled_slots(s, b);
            for (uint32_t e = 0; same && e < p->slots; e++) {
                const uint32_t *block = s->partition[s->state[state][e]];
                same = block[a->value[e]] == block[b->value[e]];
            }
            for (uint32_t e = 0; same && e < p->slots; e++) {
                margin[e][b->value[e]]++;
            }
            n += same;
            done[k] = k > i ? done[k] || same : done[k];
        }
        if (done[i]) {
            continue;
        }
        must(phl_rows_add(r->rows, r->subtree[filled_slots(s, a)], a->state, n, error));
        for (uint32_t e = 0; e < p->slots; e++) {
            for (uint32_t q = 0; q < p->states; q++) {
                if (margin[e][q] > 0) {
                    must(phl_rows_add_entry(r->rows, q, margin[e][q], error));
                }
            }
            if (a->value[e] < p->states) {
                must(phl_rows_end_margin(r->rows, error));
            }
        }
    }
    must(phl_rows_index(r->rows, error));
    must(phl_partitions_count(r->partitions, error));
}

static int read_state(const real *r)
{
    size_t state[MOST_SLOTS];
    for (uint32_t e = 0; e < r->s->p->slots; e++) {
        state[e] = find_partition(r->s, r->partitions->block + e * r->s->values);
        if (state[e] == MOST_PARTITIONS || r->partitions->size[e] != r->s->size[state[e]]) {
            return -1;
        }
    }
    return r->s->number[code_of(r->s, state)];
}

typedef enum move { REASSIGN, SPLIT_MERGE, CARRY } move;

static void call_move(real *r, move kind, uint32_t e, uint32_t value, double temperature,
                      phl_rng *rng)
{
    switch (kind) {
    case REASSIGN:
        must(phl_partitions_reassign(r->partitions, e, value, temperature, rng, error));
        break;
    case SPLIT_MERGE:
        must(phl_partitions_split_merge(r->partitions, e, temperature, rng, error));
        break;
    case CARRY:
    default:
        must(phl_partitions_carry(r->partitions, temperature, rng, error));
        break;
    }
}

enum { RARITIES = 4 };

/* Ends that are too rare for a bin of one start, over all starts, by how rare they are. */
typedef struct rare_ends {
    double expected[RARITIES], observed[RARITIES];
} rare_ends;

/* Chi-square of observed ends against probabilities; degrees of freedom are added, rare ends set
 * aside. */
static double chi_square(const double *probability, const int64_t *observed, size_t n,
                         int64_t calls, double *freedom, rare_ends *rare)
{
    double sum = 0.0;
    int bins = 0;
    for (size_t i = 0; i < n; i++) {
        double expected = probability[i] * (double)calls;
        if (expected >= 10.0) {
            double off = (double)observed[i] - expected;
            sum += off * off / expected;
            bins++;
        } else {
            int rarity = probability[i] >= 1e-2   ? 0
                         : probability[i] >= 1e-3 ? 1
                         : probability[i] >= 1e-4 ? 2
                                                  : 3;
            rare->expected[rarity] += expected;
            rare->observed[rarity] += (double)observed[i];
        }
    }
    *freedom += bins > 1 ? bins - 1 : 0;
    return bins > 1 ? sum : 0.0;
}

/* Chance of as many rare ends as there were, or as few: a Poisson law has at least their tails. */
static double rare_chance(const rare_ends *rare)
{
    double least = 1.0;
    for (int i = 0; i < RARITIES; i++) {
        if (rare->expected[i] > 0.0) {
            double log_expected = log(rare->expected[i]), seen = rare->observed[i];
            double few = check_gamma_tail(seen + 1.0, log_expected);
            double many = seen > 0.0 ? check_gamma_cdf(seen, log_expected) : 1.0;
            least = fmin(least, 2.0 * fmin(few, many));
        }
    }
    return least;
}

static uint64_t all_calls;

static void check_move(real *r, move kind, uint32_t e, uint32_t value, double temperature,
                       int64_t calls)
{
    static matrix m;
    static int64_t observed[MOST_STATES];
    const space *s = r->s;
    char name[64];
    (void)snprintf(name, sizeof name,
                   kind == REASSIGN      ? "reassign slot %u value %u"
                   : kind == SPLIT_MERGE ? "split/merge slot %u"
                                         : "carry",
                   e + 1, value);
    switch (kind) {
    case REASSIGN:
        reassign_matrix(s, e, value, temperature, m);
        break;
    case SPLIT_MERGE:
        split_matrix(s, e, temperature, m);
        break;
    case CARRY:
    default:
        carry_matrix(s, temperature, m);
        break;
    }
    double off = distance(s, temperature, m), sum = 0.0, freedom = 0.0;
    if (!(off < 1e-12)) {
        fail_msg("%s, %s: pi P - pi = %g", s->p->name, name, off);
    }
    rare_ends rare = {{0}, {0}};
    phl_rng rng;
    phl_rng_init(&rng, SEED, PURPOSE, all_calls, 0, 0);
    for (size_t from = 0; from < s->n; from++) {
        memset(observed, 0, sizeof observed);
        for (int64_t i = 0; i < calls; i++) {
            set_state(r, from, i % 2 == 1, &rng);
            call_move(r, kind, e, value, temperature, &rng);
            int to = read_state(r);
            if (to < 0 || m[from][to] == 0.0) {
                fail_msg("%s, %s: from state %zu to %d, which is impossible", s->p->name, name,
                         from, to);
            }
            observed[to]++;
        }
        all_calls += (uint64_t)calls;
        sum += chi_square(m[from], observed, s->n, calls, &freedom, &rare);
    }
    double chance = freedom > 0.0 ? check_gamma_tail(freedom / 2.0, log(sum / 2.0)) : 1.0;
    double chance_of_rare = rare_chance(&rare);
    if (!(chance > 1e-6) || !(chance_of_rare > 1e-6)) {
        fail_msg("%s, T = %g, %s: chi-square %.1f / %.0f, rare ends %.0f of %.1f, chance %.2g",
                 s->p->name, temperature, name, sum, freedom,
                 rare.observed[0] + rare.observed[1] + rare.observed[2] + rare.observed[3],
                 rare.expected[0] + rare.expected[1] + rare.expected[2] + rare.expected[3],
                 fmin(chance, chance_of_rare));
    }
    print_message("  %s, T = %g, %s: |pi P - pi| %.1e, chi-square %.1f / %.0f, chance %.2g, of "
                  "rare ends %.2g\n",
                  s->p->name, temperature, name, off, sum, freedom, chance, chance_of_rare);
}

static void check_problem(const problem *p, int64_t calls)
{
    static space s;
    static real r;
    const double temperatures[] = {1.0, 2.5};
    make_space(&s, p);
    make_real(&r, &s);
    int64_t n = (int64_t)affordable((size_t)calls);
    print_message("%s: seed %u, %zu states, %lld calls from each\n", p->name, SEED, s.n,
                  (long long)n);
    for (int t = 0; t < 2; t++) {
        for (uint32_t e = 0; e < p->slots; e++) {
            for (uint32_t q = 0; q < s.values; q++) {
                check_move(&r, REASSIGN, e, q, temperatures[t], n);
            }
            check_move(&r, SPLIT_MERGE, e, 0, temperatures[t], n);
        }
        check_move(&r, CARRY, 0, 0, temperatures[t], n);
    }
    free_real(&r);
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
                       .phi = 2.0,
                       .alpha = 0.8,
                       .lambda0 = {0.5, 0.3, 0.2},
                       .slots_max = 2,
                       .core_max = 1 << 20,
                       .fixed = {2, 3}};
    check_problem(&p, 800);
}

/* Several moves in a row from margins: the law of the end is a mean over joint values. */
static const node dealt[] = {
    {0, {0, 0}}, {0, {0, 1}}, {0, {1, 0}}, {0, {1, 1}}, {0, {0, 0}}, {1, {0, 1}},
    {1, {0, 0}}, {1, {1, 1}}, {1, {1, 1}}, {1, {2, 1}}, {0, {2, 0}},
};

static const struct {
    move kind;
    uint32_t e, value;
} sequence[] = {
    {REASSIGN, 0, 0}, {SPLIT_MERGE, 1, 0}, {REASSIGN, 1, 1}, {CARRY, 0, 0}, {REASSIGN, 0, 2}};
enum { MOVES = sizeof sequence / sizeof *sequence };

static void add_law(space *s, const node *nodes, size_t start, double weight, double *law)
{
    static matrix m;
    double before[MOST_STATES] = {0}, after[MOST_STATES];
    for (size_t i = 0; i < s->n; i++) {
        s->score[i] = log_posterior(s, s->state[i], nodes);
    }
    before[start] = weight;
    for (int k = 0; k < MOVES; k++) {
        if (sequence[k].kind == REASSIGN) {
            reassign_matrix(s, sequence[k].e, sequence[k].value, 1.0, m);
        } else if (sequence[k].kind == SPLIT_MERGE) {
            split_matrix(s, sequence[k].e, 1.0, m);
        } else {
            carry_matrix(s, 1.0, m);
        }
        memset(after, 0, sizeof after);
        for (size_t i = 0; i < s->n; i++) {
            for (size_t to = 0; before[i] > 0.0 && to < s->n; to++) {
                after[to] += before[i] * m[i][to];
            }
        }
        memcpy(before, after, sizeof before);
    }
    for (size_t i = 0; i < s->n; i++) {
        law[i] += before[i];
    }
}

/* The k-th of the `n` ordered choices in which values[0 .. n-1] are permuted. */
static void permute(uint32_t *values, size_t n, size_t k)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = k % i;
        k /= i;
        uint32_t kept = values[i - 1];
        values[i - 1] = values[j];
        values[j] = kept;
    }
}

static void dealing(void **state)
{
    (void)state;
    static space s;
    static real r;
    const problem p = {"dealing",
                       2,
                       2,
                       NODES(dealt),
                       .phi = 0.2,
                       .alpha = 0.6,
                       .lambda0 = {0.5, 0.5},
                       .slots_max = 2,
                       .core_max = 1 << 20};
    make_space(&s, &p);
    make_real(&r, &s);
    /* Start: nothing is active, so the rows are the first five, the next four and two single nodes.
     * Their values in slot 2 are permuted against those in slot 1 in 5! x 4! ways; as values
     * repeat, those of the second row (one 0 among three 1) need only the 4 places of the 0. */
    static double law[MOST_STATES];
    memset(law, 0, sizeof law);
    size_t start = (size_t)s.number[0], ways = 0;
    for (size_t i = 0; i < 120; i++) {
        for (size_t k = 0; k < 4; k++) {
            node nodes[sizeof dealt / sizeof *dealt];
            uint32_t first[5];
            memcpy(nodes, dealt, sizeof dealt);
            for (size_t a = 0; a < 5; a++) {
                first[a] = dealt[a].value[1];
            }
            permute(first, 5, i);
            for (size_t a = 0; a < 5; a++) {
                nodes[a].value[1] = first[a];
            }
            for (size_t a = 0; a < 4; a++) {
                nodes[5 + a].value[1] = a != k;
            }
            add_law(&s, nodes, start, 1.0 / 480.0, law);
            ways++;
        }
    }
    assert_int_equal(ways, 480);
    int64_t calls = (int64_t)affordable(200000);
    static int64_t observed[MOST_STATES];
    memset(observed, 0, sizeof observed);
    phl_rng rng;
    phl_rng_init(&rng, SEED, PURPOSE, 1, 1, 1);
    for (int64_t i = 0; i < calls; i++) {
        set_state(&r, start, false, &rng);
        for (int k = 0; k < MOVES; k++) {
            call_move(&r, sequence[k].kind, sequence[k].e, sequence[k].value, 1.0, &rng);
        }
        int to = read_state(&r);
        assert_true(to >= 0);
        observed[to]++;
    }
    rare_ends rare = {{0}, {0}};
    double freedom = 0.0, sum = chi_square(law, observed, s.n, calls, &freedom, &rare);
    double chance = check_gamma_tail(freedom / 2.0, log(sum / 2.0));
    print_message(
        "  dealing: seed %u, %lld runs of %d moves, chi-square %.1f / %.0f, chance %.2g\n", SEED,
        (long long)calls, MOVES, sum, freedom, chance);
    assert_true(chance > 1e-6);
    free_real(&r);
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
        cmocka_unit_test(confined), cmocka_unit_test(free_sizes), cmocka_unit_test(fixed_sizes),
        cmocka_unit_test(dealing),  cmocka_unit_test(enough),
    };
    return cmocka_run_group_tests_name("partition_kernel", tests, NULL, NULL);
}
