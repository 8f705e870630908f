/* small_moves.c - the partition moves on small data; see small_moves.h. */
#include "small_moves.h"

#include <math.h>
#include <string.h>

#include "check.h"
#include "models.h"
#include "world.h"

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

size_t cell_of(const space *s, const size_t *state, const node *at)
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

void set_nodes(space *s, const node *nodes)
{
    s->nodes = nodes;
    s->round++;
}

double score_of(space *s, size_t i)
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

void make_space(space *s, const problem *p)
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

uint32_t count_active(const space *s, size_t from)
{
    uint32_t active = 0;
    for (uint32_t e = 0; e < s->p->slots; e++) {
        active += s->size[s->state[from][e]] > 1;
    }
    return active;
}

bool can_carry(const space *s, size_t from, uint32_t to)
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
    if (more) { /* value[i - 2] goes up to the next larger one after it */
        while (value[j - 1] <= value[i - 2]) {
            j--;
        }
        uint32_t kept = value[i - 2];
        value[i - 2] = value[j - 1];
        value[j - 1] = kept;
    }
    size_t first = more ? i - 1 : 0; /* all after it are falling: turn them round */
    for (size_t k = 0; k < n; k++) {
        d->nodes[d->member[group][k]].value[d->e] =
            k < first ? value[k] : value[n - 1 - (k - first)];
    }
    return more;
}

void start_deal(const space *s, const node *nodes, uint32_t e, size_t partition, deal *d)
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

bool next_deal(deal *d)
{
    size_t g = 0;
    while (g < d->n_groups && !next_order(d, g)) {
        g++;
    }
    return g < d->n_groups;
}

void add_ends(space *s, move kind, size_t from, uint32_t e, uint32_t value, double temperature,
              double weight, double *row)
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

/* ---- The real moves
 * -------------------------------------------------------------------------------- */

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

void make_real(real *r, const space *s)
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
    must(phl_slot_pairs_create(r->index, 0.0, &r->pairs, error));
    must(phl_state_counts_create(r->pairs, p->states, &r->counts, error));
    must(phl_partitions_create(r->counts, &prior, &r->partitions, error));
    must(phl_partitions_set_base(r->partitions, p->alpha, log_lambda0, error));
    assert_int_equal(r->pairs->n_eligible, p->slots);
}

void free_real(real *r)
{
    phl_partitions_free(r->partitions);
    phl_state_counts_free(r->counts);
    phl_slot_pairs_free(r->pairs);
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

void set_state(real *r, size_t state, bool apart, phl_rng *rng)
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
    phl_state_counts_reset(r->counts);
    memset(r->counts->value, 0, r->index->n_pairs * p->states * sizeof *r->counts->value);
    for (size_t i = 0; i < p->n_nodes; i++) {
        for (uint32_t e = 0; e < p->slots; e++) {
            if (r->pair[i][e] != PHL_NO_PAIR) {
                r->counts->value[r->pair[i][e] * p->states + p->nodes[i].value[e]]++;
                phl_state_counts_tell(r->counts, r->pair[i][e]);
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
            must(phl_state_counts_add(r->counts, r->subtree[i], p->nodes[i].state, real_cell(r, i),
                                      n, error));
        }
    }
    must(phl_partitions_count(r->partitions, error));
}

int read_state(const real *r)
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

void call_move(real *r, move kind, uint32_t e, uint32_t value, double temperature, bool opens,
               bool closes, phl_rng *rng)
{
    if (kind != CARRY && opens) {
        must(phl_partition_slot_open(r->partitions, e, rng, error));
    }
    switch (kind) {
    case REASSIGN:
        must(phl_partition_reassign(r->partitions, value, temperature, rng, error));
        break;
    case SPLIT_MERGE:
        must(phl_partition_split_merge(r->partitions, temperature, rng, error));
        break;
    case CARRY:
    default:
        must(phl_partition_carry(r->partitions, temperature, rng, error));
        break;
    }
    if (kind != CARRY && closes) {
        must(phl_partition_slot_close(r->partitions, rng, error));
    }
    const char *fault = closes ? partitions_fault(r->partitions) : NULL;
    if (fault != NULL) {
        fail_msg("%s: not true that %s", r->s->p->name, fault);
    }
}
