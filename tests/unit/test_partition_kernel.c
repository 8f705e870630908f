/* test_partition_kernel.c - the partition moves against their exact transition matrices.
 *
 * On data small enough to list every state, the posterior of the partitions is written down anew
 * (by log-gamma functions of the counts of single nodes), the matrix P of every move is written
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
 * listed.  Rows hold single nodes, or all equal nodes together: a move must not tell the
 * difference.
 *
 * Over several moves the law of the end is that of a chain on partitions and assignments of
 * children to nodes, listed too: pi is invariant to 1e-12, and the real moves end in its partitions
 * and rows.  After every call the rows must agree with the cells and with the pairs.
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

enum { MOST_SLOTS = 3, MOST_VALUES = 4, MOST_PARTITIONS = 15, MOST_STATES = 225, MOST_NODES = 16 };
enum { MOST_CELLS = 64 };

typedef struct node {
    uint32_t state, value[MOST_SLOTS];
} node;

/* Data, prior and base of a problem. */
typedef struct problem {
    const char *name;
    uint32_t states, slots;
    const node *nodes;
    size_t n_nodes;
    size_t kinds[MOST_SLOTS]; /* the child of node i in slot e is of kind i mod kinds[e] */
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
    double log_prior[MOST_STATES];
    double rising[3][MOST_NODES + 1], rising_total[MOST_NODES + 1];
    /* Scores given who has which child, each worked out when it is asked for. */
    const node *nodes;
    uint64_t round, made[MOST_STATES];
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

static double log_prior(const space *s, const size_t *state)
{
    double sum = 0.0;
    for (uint32_t e = 0; e < s->p->slots; e++) {
        double same_size = 0.0;
        for (size_t i = 0; i < s->n_partitions; i++) {
            same_size += s->size[i] == s->size[state[e]];
        }
        sum += -s->p->phi * s->size[state[e]] - log(same_size);
    }
    return sum;
}

static size_t cell_of(const space *s, const size_t *state, const node *at)
{
    size_t cell = 0;
    for (uint32_t e = 0; e < s->p->slots; e++) {
        cell = cell * s->size[state[e]] + s->partition[state[e]][at->value[e]];
    }
    return cell;
}

static double log_posterior(const space *s, size_t i, const node *nodes)
{
    const problem *p = s->p;
    size_t counts[MOST_CELLS][3], cells = 1;
    double sum = s->log_prior[i];
    for (uint32_t e = 0; e < p->slots; e++) {
        cells *= s->size[s->state[i][e]];
    }
    memset(counts, 0, cells * sizeof counts[0]);
    for (size_t u = 0; u < p->n_nodes; u++) {
        counts[cell_of(s, s->state[i], &nodes[u])][nodes[u].state]++;
    }
    for (size_t z = 0; z < cells; z++) {
        size_t total = 0;
        for (uint32_t j = 0; j < p->states; j++) {
            sum += s->rising[j][counts[z][j]];
            total += counts[z][j];
        }
        sum -= s->rising_total[total];
    }
    return sum;
}

static void set_nodes(space *s, const node *nodes)
{
    s->nodes = nodes;
    s->round++;
}

static double score_of(space *s, size_t i)
{
    if (s->made[i] != s->round) {
        s->made[i] = s->round;
        s->score[i] = log_posterior(s, i, s->nodes);
    }
    return s->score[i];
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
    for (size_t n = 0; n <= p->n_nodes; n++) {
        s->rising_total[n] = lgamma(p->alpha + (double)n) - lgamma(p->alpha);
        for (uint32_t j = 0; j < p->states; j++) {
            double a = p->alpha * p->lambda0[j];
            s->rising[j][n] = lgamma(a + (double)n) - lgamma(a);
        }
    }
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
            s->log_prior[s->n++] = log_prior(s, state);
        }
    }
    set_nodes(s, p->nodes);
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

/* ---- Rows of the matrices from the definitions of the moves
 * --------------------------------------- */

typedef double matrix[MOST_STATES][MOST_STATES];

/* The exact conditional of one value's place, all else kept. */
static void add_reassign(space *s, size_t from, uint32_t e, uint32_t value, double temperature,
                         double weight, double *row)
{
    double place[MOST_VALUES], sum = 0.0;
    int to[MOST_VALUES];
    uint32_t n = 0;
    for (uint32_t y = 0; y < MOST_VALUES; y++) { /* the block of another value, or a new one */
        uint32_t made[MOST_VALUES];
        memcpy(made, s->partition[s->state[from][e]], sizeof made);
        made[value] = y;
        to[n] = with_slot(s, from, e, made);
        bool again = to[n] < 0;
        for (uint32_t i = 0; i < n; i++) {
            again = again || to[i] == to[n];
        }
        if (!again) {
            place[n] = exp((score_of(s, (size_t)to[n]) - score_of(s, from)) / temperature);
            sum += place[n++];
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        row[to[i]] += weight * place[i] / sum;
    }
}

/* Propose with a probability; what is not accepted stays. */
static void propose(space *s, size_t from, int to, double probability, double log_proposal,
                    double temperature, double *row)
{
    double accept = 0.0;
    if (to >= 0) {
        accept = exp((score_of(s, (size_t)to) - score_of(s, from)) / temperature + log_proposal);
        accept = accept > 1.0 ? 1.0 : accept;
        row[to] += probability * accept;
    }
    row[from] += probability * (1.0 - accept);
}

static void add_split(space *s, size_t from, uint32_t e, double temperature, double weight,
                      double *row)
{
    double pair = weight / (s->values * (s->values - 1.0));
    const uint32_t *block = s->partition[s->state[from][e]];
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
                propose(s, from, with_slot(s, from, e, made), pair, -sides, temperature, row);
                continue;
            }
            for (uint32_t set = 0; set < 1u << n; set++) {
                made[b] = MOST_VALUES;
                for (uint32_t i = 0; i < n; i++) {
                    made[free[i]] = set & 1u << i ? MOST_VALUES : block[a];
                }
                propose(s, from, with_slot(s, from, e, made), pair / (1u << n), sides, temperature,
                        row);
            }
        }
    }
}

static uint32_t count_active(const space *s, size_t from)
{
    uint32_t active = 0;
    for (uint32_t e = 0; e < s->p->slots; e++) {
        active += s->size[s->state[from][e]] > 1;
    }
    return active;
}

/* Is there anything to carry, and is slot `to` free to take it? */
static bool can_carry(const space *s, size_t from, uint32_t to)
{
    uint32_t active = count_active(s, from);
    return active > 0 && active < s->p->slots && s->p->fixed[0] == 0 &&
           s->size[s->state[from][to]] == 1;
}

/* A random active slot over to slot `to`. */
static void add_carry(space *s, size_t from, uint32_t to, double temperature, double weight,
                      double *row)
{
    for (uint32_t a = 0; a < s->p->slots; a++) {
        size_t state[MOST_SLOTS];
        memcpy(state, s->state[from], sizeof state);
        if (s->size[state[a]] > 1) {
            state[to] = s->state[from][a];
            state[a] = s->state[from][to];
            propose(s, from, s->number[code_of(s, state)], weight / count_active(s, from), 0.0,
                    temperature, row);
        }
    }
}

/* ---- Dealing
 * -------------------------------------------------------------------------------------- */

/* All ways to give the children of slot e to nodes of the same kind that show the same block. */
typedef struct deal {
    node nodes[MOST_NODES];
    uint32_t e;
    size_t n_groups, size[MOST_NODES], member[MOST_NODES][MOST_NODES];
} deal;

/* The next order of the values of a group; false: the first one again. */
static bool next_order(deal *d, size_t group)
{
    uint32_t value[MOST_NODES];
    size_t n = d->size[group], i = n, j = n;
    for (size_t k = 0; k < n; k++) {
        value[k] = d->nodes[d->member[group][k]].value[d->e];
    }
    while (i > 1 && value[i - 2] >= value[i - 1]) {
        i--;
    }
    bool more = i > 1;
    if (more) { /* value[i - 2] goes up to the next larger one behind it */
        while (value[j - 1] <= value[i - 2]) {
            j--;
        }
        uint32_t kept = value[i - 2];
        value[i - 2] = value[j - 1];
        value[j - 1] = kept;
    }
    size_t first = more ? i - 1 : 0; /* all behind are falling: turn them round */
    for (size_t k = 0; k < n; k++) {
        d->nodes[d->member[group][k]].value[d->e] =
            k < first ? value[k] : value[n - 1 - (k - first)];
    }
    return more;
}

/* `partition`: of slot e, which tells the blocks. */
static void start_deal(const space *s, const node *nodes, uint32_t e, size_t partition, deal *d)
{
    const problem *p = s->p;
    const uint32_t *block = s->partition[partition];
    memcpy(d->nodes, nodes, p->n_nodes * sizeof *nodes);
    d->e = e;
    d->n_groups = 0;
    for (size_t kind = 0; kind < p->kinds[e]; kind++) {
        for (uint32_t y = 0; y < s->size[partition]; y++) {
            size_t n = 0;
            for (size_t i = kind; i < p->n_nodes; i += p->kinds[e]) {
                uint32_t q = nodes[i].value[e];
                if (q < p->states && block[q] == y) {
                    d->member[d->n_groups][n++] = i;
                }
            }
            d->size[d->n_groups] = n;
            d->n_groups += n > 0;
        }
    }
    for (size_t g = 0; g < d->n_groups; g++) {
        while (next_order(d, g)) {
        }
    }
}

static bool next_deal(deal *d)
{
    size_t g = 0;
    while (g < d->n_groups && !next_order(d, g)) {
        g++;
    }
    return g < d->n_groups;
}

typedef enum move { REASSIGN, SPLIT_MERGE, CARRY } move;

/* The law of the end of a move that opens slot e (carry: goes to slot e), given who has which child
 * then. */
static void add_ends(space *s, move kind, size_t from, uint32_t e, uint32_t value,
                     double temperature, double weight, double *row)
{
    switch (kind) {
    case REASSIGN:
        add_reassign(s, from, e, value, temperature, weight, row);
        break;
    case SPLIT_MERGE:
        add_split(s, from, e, temperature, weight, row);
        break;
    case CARRY:
    default:
        add_carry(s, from, e, temperature, weight, row);
        break;
    }
}

/* The same, the children being dealt first. */
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

/* ---- The real moves
 * -------------------------------------------------------------------------------- */

typedef struct real {
    const space *s;
    phl_forest *forest;
    phl_index *index;
    phl_rows *rows;
    phl_partitions *partitions;
    uint32_t fixed[MOST_SLOTS];
    uint32_t subtree[MOST_NODES];
    uint32_t pair[MOST_NODES][MOST_SLOTS]; /* PHL_NO_PAIR: no child there */
} real;

/* A tree for every node: the labels of the leaves are the kinds. */
static void make_forest(real *r, const problem *p)
{
    phl_builder *builder = new_builder(false);
    for (size_t i = 0; i < p->n_nodes; i++) {
        shape tree = {.size = 1, .slot = {1}};
        const char *labels[MAX_SHAPE] = {letter[0]};
        for (uint32_t e = 0; e < p->slots; e++) {
            if (p->nodes[i].value[e] < p->states) {
                labels[tree.size] = letter[i % p->kinds[e]];
                tree.slot[tree.size++] = e + 1;
            }
        }
        add_tree(builder, &tree, labels, 1.0, NULL);
    }
    r->forest = finish_forest(builder);
    must(phl_index_create(r->forest, p->slots, false, &r->index, error));
    for (size_t i = 0; i < p->n_nodes; i++) {
        uint32_t s = r->forest->tree_root[i];
        r->subtree[i] = s;
        for (uint32_t e = 0; e < p->slots; e++) {
            r->pair[i][e] = PHL_NO_PAIR;
        }
        for (uint64_t k = r->forest->first_link[s]; k < r->forest->first_link[s + 1]; k++) {
            r->pair[i][r->forest->links[k].slot - 1] = r->index->link_pair[k];
        }
    }
}

static void make_real(real *r, const space *s)
{
    const problem *p = s->p;
    memset(r, 0, sizeof *r);
    r->s = s;
    make_forest(r, p);
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

/* The cell of a node, in the order phl_partitions_count asks for. */
static uint32_t real_cell(const real *r, size_t i)
{
    uint32_t cell = 0;
    for (uint32_t e = 0; e < r->s->p->slots; e++) {
        cell = cell * r->partitions->size[e] +
               r->partitions->block[e * r->s->values + r->s->p->nodes[i].value[e]];
    }
    return cell;
}

/* Set partitions, blocks numbered at random, pairs, and rows: of single nodes, or of all equal
 * ones. */
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
    memset(r->rows->value, 0, r->index->n_pairs * p->states * sizeof *r->rows->value);
    for (size_t i = 0; i < p->n_nodes; i++) {
        for (uint32_t e = 0; e < p->slots; e++) {
            if (r->pair[i][e] != PHL_NO_PAIR) {
                r->rows->value[r->pair[i][e] * p->states + p->nodes[i].value[e]]++;
            }
        }
        int64_t n = 0;
        for (size_t k = i; !done[i] && k < (apart ? i + 1 : p->n_nodes); k++) {
            bool same = r->subtree[i] == r->subtree[k] && p->nodes[i].state == p->nodes[k].state &&
                        real_cell(r, i) == real_cell(r, k);
            n += same;
            done[k] = done[k] || (same && k > i);
        }
        if (n > 0) {
            must(
                phl_rows_add(r->rows, r->subtree[i], p->nodes[i].state, real_cell(r, i), n, error));
        }
    }
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

static void call_move(real *r, move kind, uint32_t e, uint32_t value, double temperature,
                      phl_rng *rng)
{
    if (kind == CARRY) {
        must(phl_partitions_carry(r->partitions, temperature, rng, error));
    } else {
        must(phl_partitions_open(r->partitions, e, rng, error));
        if (kind == REASSIGN) {
            must(phl_partitions_reassign(r->partitions, value, temperature, rng, error));
        } else {
            must(phl_partitions_split_merge(r->partitions, temperature, rng, error));
        }
        must(phl_partitions_close(r->partitions, rng, error));
    }
    const char *fault = partitions_fault(r->partitions);
    if (fault != NULL) {
        fail_msg("%s: not true that %s", r->s->p->name, fault);
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
    double off = distance(s, temperature, apart, m), sum = 0.0, freedom = 0.0;
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
    print_message("  %s, T = %g, %s: %s %.1e, chi-square %.1f / %.0f, chance %.2g, of rare ends "
                  "%.2g\n",
                  s->p->name, temperature, name, apart ? "|pi P - pi|" : "dealt, |sum P - 1|", off,
                  sum, freedom, chance, chance_of_rare);
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

/* ---- Several moves in a row
 * ------------------------------------------------------------------------- */

/* C = 2, two slots.  Two kinds of children in slot 1, one in slot 2: parents of the same child in
 * one slot have different ones in the other. */
static const node dealt[] = {
    {0, {0, 0}}, {0, {0, 1}}, {1, {1, 0}}, {0, {1, 1}}, {0, {0, 0}},
    {1, {0, 1}}, {0, {1, 0}}, {1, {1, 2}}, {1, {2, 1}}, {1, {0, 1}},
};

static const struct {
    move kind;
    uint32_t e, value;
} sequence[] = {{REASSIGN, 0, 0}, {SPLIT_MERGE, 1, 0}, {REASSIGN, 1, 1}, {CARRY, 0, 0},
                {REASSIGN, 0, 2}, {SPLIT_MERGE, 0, 0}, {CARRY, 0, 0},    {REASSIGN, 1, 0}};

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

/* A whole call on a law. */
static void call_law(const joint *j, move kind, uint32_t e, uint32_t value, double *law)
{
    static double after[MOST_LAW], part[MOST_LAW];
    size_t ways = j->n[0] * j->n[1];
    memset(after, 0, j->all * sizeof *after);
    if (kind != CARRY) {
        deal_law(j, e, law);
        move_law(j, kind, e, value, law, after);
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
        pi[at] = exp(log_posterior(j->s, at / ways, nodes));
        sum += pi[at];
    }
    for (size_t at = 0; at < j->all; at++) {
        pi[at] /= sum;
    }
    for (int k = 0; k < MOVES; k++) {
        double off = 0.0;
        memcpy(law, pi, j->all * sizeof *law);
        call_law(j, sequence[k].kind, sequence[k].e, sequence[k].value, law);
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
    for (size_t i = 0; i < r->rows->n_rows; i++) {
        const phl_row *row = &r->rows->row[i];
        size_t cell = 0, below = r->partitions->size[1];
        for (uint32_t e = 0; e < 2; e++) {
            size_t digit = e == 0 ? row->cell / below : row->cell % below;
            uint32_t q = 0;
            while (r->partitions->block[e * s->values + q] != digit) {
                q++;
            }
            size_t number = s->state[state][e];
            cell = cell * s->size[number] + s->partition[number][q];
        }
        uint8_t *count = &k->rows[first_like(r, row->subtree)][row->state][cell];
        *count = (uint8_t)(*count + row->n);
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
        call_law(j, sequence[k].kind, sequence[k].e, sequence[k].value, law);
    }
    list_ends(j, r, law, &table);
    int64_t calls = (int64_t)affordable(200000);
    phl_rng rng;
    phl_rng_init(&rng, SEED, PURPOSE, 1, start, 1);
    for (int64_t i = 0; i < calls; i++) {
        key k;
        set_state(r, start, i % 2 == 1, &rng);
        for (int m = 0; m < MOVES; m++) {
            call_move(r, sequence[m].kind, sequence[m].e, sequence[m].value, 1.0, &rng);
        }
        read_key(r, &k);
        size_t place = find_key(&table, hash_key(&k));
        if (table.hash[place] == 0) {
            fail_msg("from state %zu to %zu with rows that are impossible", start, k.state);
        }
        table.observed[place]++;
    }
    rare_ends rare = {{0}, {0}};
    double freedom = 0.0;
    double sum = chi_square(table.probability, table.observed,
                            sizeof table.hash / sizeof *table.hash, calls, &freedom, &rare);
    double chance = check_gamma_tail(freedom / 2.0, log(sum / 2.0));
    double chance_of_rare = rare_chance(&rare);
    print_message("  from state %zu: seed %u, %lld runs of %d moves, %zu ends, chi-square %.1f / "
                  "%.0f, chance %.2g, of rare ends %.2g\n",
                  start, SEED, (long long)calls, MOVES, table.n, sum, freedom, chance,
                  chance_of_rare);
    assert_true(chance > 1e-6 && chance_of_rare > 1e-6);
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
                       NODES(dealt),
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
