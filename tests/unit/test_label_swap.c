/* test_label_swap.c - the label swap on data small enough to list every hidden state of every node.
 *
 * The posterior of the hidden states given partitions and lambda0 is written down from single nodes
 * (log-gamma functions), and so is where the move ends from every one of 3^10 states: the posterior
 * is left as it is, to 1e-12 in total.  The real move, called a million times over six starts and
 * all groups, ends in the counts that its definition says: chi-square, failing by chance with
 * probability 1e-6 a start.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "gibbs/label_swap.h"
#include "models.h"
#include "world.h"

#define SEED 20261118u
#define PURPOSE 0x73776170u
enum { C = 3, VALUES = C + 1, NODES = 10, STATES = 59049, SLOTS = 2, SUBTREES = 4, PAIRS = 3 };
enum { CELLS = 6, LABELS = 2 };

static const double gamma_ = 0.7, beta_ = 0.4, alpha_ = 1.3, lambda0[C] = {0.5, 0.2, 0.3};
static const uint32_t size[SLOTS] = {2, 3};
static const uint32_t block[SLOTS][VALUES] = {{0, 1, 0, 1}, {0, 1, 1, 2}};

/* (a b b) twice, and (a (a b b)); children by slot. */
static const struct {
    int child[SLOTS], parent, slot, label, subtree;
} node[NODES] = {
    {{1, 2}, -1, 0, 0, 2},  {{-1, -1}, 0, 1, 1, 0}, {{-1, -1}, 0, 2, 1, 1}, {{4, 5}, -1, 0, 0, 2},
    {{-1, -1}, 3, 1, 1, 0}, {{-1, -1}, 3, 2, 1, 1}, {{7, -1}, -1, 0, 0, 3}, {{8, 9}, 6, 1, 0, 2},
    {{-1, -1}, 7, 1, 1, 0}, {{-1, -1}, 7, 2, 1, 1},
};

typedef struct small {
    phl_forest *forest;
    phl_index *index;
    phl_slot_pairs *pairs;
    phl_gibbs *gibbs;
    uint32_t subtree[SUBTREES]; /* of the numbers above */
} small;

static bool is_leaf(int u)
{
    return node[u].child[0] < 0;
}

static uint32_t value_of(const uint8_t *q, int u, int e)
{
    return node[u].child[e] < 0 ? C : q[node[u].child[e]];
}

static uint32_t cell_at(const uint8_t *q, int u)
{
    return block[0][value_of(q, u, 0)] * size[1] + block[1][value_of(q, u, 1)];
}

static double log_rising(double a, int n)
{
    return lgamma(a + n) - lgamma(a);
}

/* log p(x, Q | c, lambda0), node by node. */
static double posterior(const uint8_t *q)
{
    int prior[SLOTS][C] = {{0}}, emission[C][LABELS] = {{0}}, cells[CELLS][C] = {{0}};
    double sum = 0.0;
    for (int u = 0; u < NODES; u++) {
        emission[q[u]][node[u].label]++;
        if (is_leaf(u)) {
            prior[node[u].slot - 1][q[u]]++;
        } else {
            cells[cell_at(q, u)][q[u]]++;
        }
    }
    for (int l = 0; l < SLOTS; l++) {
        int n = 0;
        for (int j = 0; j < C; n += prior[l][j++]) {
            sum += log_rising(gamma_, prior[l][j]);
        }
        sum -= log_rising(C * gamma_, n);
    }
    for (int j = 0; j < C; j++) { /* one more label, which nobody has */
        sum += log_rising(beta_, emission[j][0]) + log_rising(beta_, emission[j][1]) -
               log_rising((LABELS + 1) * beta_, emission[j][0] + emission[j][1]);
    }
    for (int z = 0; z < CELLS; z++) {
        int n = 0;
        for (int j = 0; j < C; n += cells[z][j++]) {
            sum += log_rising(alpha_ * lambda0[j], cells[z][j]);
        }
        sum -= log_rising(alpha_, n);
    }
    return sum;
}

static void unpack(size_t code, uint8_t *q)
{
    for (int u = 0; u < NODES; u++, code /= C) {
        q[u] = (uint8_t)(code % C);
    }
}

static size_t pack(const uint8_t *q)
{
    size_t code = 0;
    for (int u = NODES; u-- > 0;) {
        code = code * C + q[u];
    }
    return code;
}

/* Groups: numbers of subtrees as bits. */
static unsigned bits_of_group(const small *s, size_t g)
{
    const phl_label_groups *groups = s->gibbs->swap->groups;
    unsigned bits = 0;
    for (size_t i = groups->first[g]; i < groups->first[g + 1]; i++) {
        for (int k = 0; k < SUBTREES; k++) {
            bits |= groups->member[i] == s->subtree[k] ? 1u << k : 0u;
        }
    }
    return bits;
}

/* Are there parents of the same child, in a slot where a and b are told apart, whose child is
 * neither, and yet in one of the two blocks? */
static bool is_left_alone(const uint8_t *q, unsigned group, uint32_t a, uint32_t b)
{
    bool touched[SUBTREES][SLOTS] = {{false}}, other[SUBTREES][SLOTS] = {{false}}, alone = false;
    for (int u = 0; u < NODES; u++) {
        int k = node[u].subtree, e = node[u].slot - 1;
        if (e >= 0 && (group >> k & 1) && block[e][a] != block[e][b]) {
            bool mine = q[u] == a || q[u] == b;
            touched[k][e] = touched[k][e] || mine;
            other[k][e] =
                other[k][e] ||
                (!mine && (block[e][q[u]] == block[e][a] || block[e][q[u]] == block[e][b]));
        }
    }
    for (int k = 0; k < SUBTREES; k++) {
        for (int e = 0; e < SLOTS; e++) {
            alone = alone || (touched[k][e] && other[k][e]);
        }
    }
    return alone;
}

/* The law of the end of a move on a group from a state: up to C (C - 1) / 2 other ends. */
typedef struct law {
    size_t n, end[1 + C];
    double probability[1 + C];
} law;

static void find_law(size_t from, unsigned group, const double *log_pi, law *l)
{
    uint8_t q[NODES], swapped[NODES];
    double pick[C] = {0}, subtrees = 0.0;
    unpack(from, q);
    for (int k = 0; k < SUBTREES; k++) {
        subtrees += group >> k & 1;
    }
    for (int k = 0; k < SUBTREES; k++) {
        double n = 0.0, in[C] = {0};
        for (int u = 0; u < NODES; u++) {
            n += node[u].subtree == k;
            in[q[u]] += node[u].subtree == k;
        }
        for (int j = 0; (group >> k & 1) && j < C; j++) {
            pick[j] += in[j] / n / subtrees;
        }
    }
    *l = (law){.n = 1, .end = {from}, .probability = {1.0}};
    for (uint32_t a = 0; a < C; a++) {
        for (uint32_t b = a + 1; b < C; b++) {
            double chosen = (pick[a] + pick[b]) / (C - 1);
            for (int u = 0; u < NODES; u++) {
                bool in = group >> node[u].subtree & 1;
                swapped[u] = (uint8_t)(in && q[u] == a ? b : in && q[u] == b ? a : q[u]);
            }
            if (chosen > 0.0 && !is_left_alone(q, group, a, b)) {
                size_t to = pack(swapped);
                double taken = chosen * fmin(1.0, exp(log_pi[to] - log_pi[from]));
                l->end[l->n] = to;
                l->probability[l->n++] = taken;
                l->probability[0] -= taken;
            }
        }
    }
}

/* ---- The real thing ------------------------------------------------------------------------- */

static void make_small(small *s)
{
    static const shape shapes[] = {{3, {0, 0, 0}, {1, 1, 2}}, {4, {0, 0, 1, 1}, {1, 1, 1, 2}}};
    static const char *const labels[][4] = {{"a", "b", "b"}, {"a", "a", "b", "b"}};
    static uint32_t label_row[LABELS];
    phl_builder *builder = new_builder(false);
    add_tree(builder, &shapes[0], labels[0], 2.0, NULL);
    add_tree(builder, &shapes[1], labels[1], 1.0, NULL);
    s->forest = finish_forest(builder);
    assert_int_equal(s->forest->n_subtrees, SUBTREES);
    s->subtree[2] = s->forest->tree_root[0];
    s->subtree[3] = s->forest->tree_root[1];
    for (uint64_t k = s->forest->first_link[s->subtree[2]];
         k < s->forest->first_link[s->subtree[2] + 1]; k++) {
        s->subtree[s->forest->links[k].slot - 1] = s->forest->links[k].child;
    }
    for (uint32_t i = 0; i < LABELS; i++) { /* a is label 0 above */
        label_row[i] = i;
    }
    assert_string_equal(phl_alphabet_name(&s->forest->labels, 0), "a");
    must(phl_index_create(s->forest, SLOTS, false, &s->index, error));
    must(phl_slot_pairs_create(s->index, 0.0, &s->pairs, error));
    phl_axis axes[SLOTS];
    uint32_t blocks[SLOTS][VALUES];
    memcpy(blocks, block, sizeof blocks);
    for (uint32_t e = 0; e < SLOTS; e++) {
        axes[e] = (phl_axis){.slot = e + 1, .size = size[e], .block = blocks[e]};
    }
    phl_gibbs_options options = {.alpha = alpha_,
                                 .alpha0 = 1.0,
                                 .beta = beta_,
                                 .gamma = gamma_,
                                 .delta = 1.0,
                                 .prior = {.phi = 0.1, .slots_max = 2, .core_max = 100},
                                 .fixed_partitions = true,
                                 .seed = SEED,
                                 .threads = 1};
    must(phl_gibbs_create(s->pairs, label_row, C, LABELS, axes, SLOTS, &options, &s->gibbs, error));
    for (int j = 0; j < C; j++) {
        s->gibbs->log_lambda0[j] = log(lambda0[j]);
    }
}

static void free_small(small *s)
{
    phl_gibbs_free(s->gibbs);
    phl_slot_pairs_free(s->pairs);
    phl_index_free(s->index);
    phl_forest_free(s->forest);
}

/* Counts that tell all that a chain keeps. */
typedef struct key {
    uint8_t state[SUBTREES][C], value[SUBTREES][SLOTS][C], portion[SUBTREES][C][CELLS];
    uint8_t emission[LABELS][C], prior[SLOTS][C], cells[CELLS][C];
} key;

static void key_of_nodes(const uint8_t *q, key *k)
{
    memset(k, 0, sizeof *k);
    for (int u = 0; u < NODES; u++) {
        int t = node[u].subtree;
        k->state[t][q[u]]++;
        k->emission[node[u].label][q[u]]++;
        if (node[u].slot > 0) {
            k->value[t][node[u].slot - 1][q[u]]++;
        }
        if (is_leaf(u)) {
            k->prior[node[u].slot - 1][q[u]]++;
        } else {
            k->portion[t][q[u]][cell_at(q, u)]++;
            k->cells[cell_at(q, u)][q[u]]++;
        }
    }
}

static uint32_t find_pair(const small *s, int t, uint32_t slot)
{
    uint32_t pair = s->index->first_pair[s->subtree[t]];
    while (pair < s->index->first_pair[s->subtree[t] + 1] && s->index->pair_row[pair] + 1 != slot) {
        pair++;
    }
    return pair < s->index->first_pair[s->subtree[t] + 1] ? pair : PHL_NO_PAIR;
}

static uint8_t byte(int64_t n)
{
    assert_true(n >= 0 && n <= NODES);
    return (uint8_t)n;
}

static void read_key(const small *s, key *k)
{
    const phl_gibbs *gibbs = s->gibbs;
    memset(k, 0, sizeof *k);
    for (int t = 0; t < SUBTREES; t++) {
        for (uint32_t j = 0; j < C; j++) {
            k->state[t][j] = byte(phl_gibbs_count(gibbs, s->subtree[t], j));
            for (uint32_t slot = 1; slot <= SLOTS; slot++) {
                uint32_t pair = find_pair(s, t, slot);
                k->value[t][slot - 1][j] =
                    pair == PHL_NO_PAIR
                        ? 0
                        : byte(phl_state_counts_value(gibbs->state_counts, pair, j));
            }
        }
        for (size_t i = 0; i < gibbs->state_counts->n_portions; i++) {
            const phl_portion *portion = &gibbs->state_counts->portion[i];
            if (portion->subtree == s->subtree[t]) {
                uint8_t *count = &k->portion[t][portion->state][portion->cell];
                *count = byte(*count + portion->n);
            }
        }
    }
    for (int j = 0; j < C; j++) {
        for (int x = 0; x < LABELS; x++) {
            k->emission[x][j] = byte(gibbs->counts.emission[x * C + j]);
        }
        for (int l = 0; l < SLOTS; l++) {
            k->prior[l][j] = byte(gibbs->counts.prior[l * C + j]);
        }
        for (int z = 0; z < CELLS; z++) {
            k->cells[z][j] = byte(gibbs->partitions->cells[z * C + j]);
        }
    }
}

/* The chain in a state of all nodes; subtrees of one state are told so, or not. */
static void set_nodes_of(small *s, const uint8_t *q, bool tell)
{
    phl_gibbs *gibbs = s->gibbs;
    phl_state_counts *counts = gibbs->state_counts;
    key k;
    key_of_nodes(q, &k);
    phl_state_counts_reset(counts);
    for (int t = 0; t < SUBTREES; t++) {
        uint32_t last = 0, in = 0;
        for (uint32_t j = 0; j < C; j++) {
            gibbs->counts.state[s->subtree[t] * C + j] = k.state[t][j];
            last = k.state[t][j] > 0 ? j : last;
            in += k.state[t][j] > 0;
            for (uint32_t z = 0; z < CELLS; z++) {
                if (k.portion[t][j][z] > 0) {
                    must(phl_state_counts_add(counts, s->subtree[t], j, z, k.portion[t][j][z],
                                              error));
                }
            }
        }
        gibbs->counts.one_state[s->subtree[t]] = tell && in == 1 ? last : PHL_MANY;
        for (uint32_t slot = 1; slot <= SLOTS; slot++) {
            uint32_t pair = find_pair(s, t, slot);
            for (uint32_t j = 0; pair != PHL_NO_PAIR && j < C; j++) {
                counts->value[pair * C + j] = k.value[t][slot - 1][j];
            }
            if (pair != PHL_NO_PAIR) {
                phl_state_counts_tell(counts, pair);
            }
        }
    }
    for (int j = 0; j < C; j++) {
        for (int x = 0; x < LABELS; x++) {
            gibbs->counts.emission[x * C + j] = k.emission[x][j];
        }
        for (int l = 0; l < SLOTS; l++) {
            gibbs->counts.prior[l * C + j] = k.prior[l][j];
        }
    }
    must(phl_partitions_count(gibbs->partitions, error));
    must(phl_partitions_set_base(gibbs->partitions, alpha_, gibbs->log_lambda0, error));
    must(phl_label_swap_begin(gibbs, error));
}

/* ---- Tests ---------------------------------------------------------------------------------- */

static double *log_posteriors(void)
{
    double *log_pi = must_alloc(STATES, sizeof *log_pi), most = -INFINITY, sum = 0.0;
    for (size_t i = 0; i < STATES; i++) {
        uint8_t q[NODES];
        unpack(i, q);
        log_pi[i] = posterior(q);
        most = fmax(most, log_pi[i]);
    }
    for (size_t i = 0; i < STATES; i++) {
        sum += exp(log_pi[i] - most);
    }
    for (size_t i = 0; i < STATES; i++) {
        log_pi[i] -= most + log(sum);
    }
    return log_pi;
}

static void invariant(void **state)
{
    (void)state;
    small s;
    make_small(&s);
    double *log_pi = log_posteriors(), *after = must_alloc(STATES, sizeof *after), worst = 0.0;
    for (size_t g = 0; g < s.gibbs->swap->groups->n_groups; g++) {
        double off = 0.0, moved = 0.0;
        memset(after, 0, STATES * sizeof *after);
        for (size_t i = 0; i < STATES; i++) {
            law l;
            find_law(i, bits_of_group(&s, g), log_pi, &l);
            for (size_t k = 0; k < l.n; k++) {
                after[l.end[k]] += exp(log_pi[i]) * l.probability[k];
            }
            moved += exp(log_pi[i]) * (1.0 - l.probability[0]);
        }
        for (size_t i = 0; i < STATES; i++) {
            off += fabs(after[i] - exp(log_pi[i]));
        }
        print_message("  group %zu: moves with probability %.3f, |pi P - pi| = %.1e\n", g, moved,
                      off);
        assert_true(moved > 0.01);
        worst = fmax(worst, off);
    }
    assert_true(worst < 1e-12);
    phl_free(after);
    phl_free(log_pi);
    free_small(&s);
}

/* The real move from one state on every group. */
static void check_start(small *s, const double *log_pi, size_t start, int64_t calls)
{
    check_outcomes judged = {0};
    phl_rng rng;
    phl_rng_init(&rng, SEED, PURPOSE, start, 0, 0);
    size_t groups = s->gibbs->swap->groups->n_groups, ends = 0;
    uint8_t q[NODES];
    for (size_t g = 0; g < groups; g++) {
        law l;
        key at[1 + C], now;
        double probability[1 + C] = {0};
        int64_t observed[1 + C] = {0};
        size_t n = 0, kinds = 0, which[1 + C];
        find_law(start, bits_of_group(s, g), log_pi, &l);
        for (size_t k = 0; k < l.n; k++) { /* other nodes, but perhaps the same counts */
            unpack(l.end[k], q);
            key_of_nodes(q, &at[n]);
            for (which[k] = 0; memcmp(&at[which[k]], &at[n], sizeof now) != 0;) {
                which[k]++;
            }
            n += which[k] == n;
            probability[which[k]] += l.probability[k];
        }
        unpack(start, q);
        for (int64_t i = 0; i < calls / (int64_t)groups; i++) {
            set_nodes_of(s, q, i % 2 == 1);
            phl_label_swap_try(s->gibbs, g, 1.0, &rng);
            phl_label_swap_end(s->gibbs);
            read_key(s, &now);
            for (kinds = 0; kinds < n && memcmp(&at[kinds], &now, sizeof now) != 0;) {
                kinds++;
            }
            if (kinds == n) {
                fail_msg("from state %zu by group %zu to counts that are impossible", start, g);
            }
            observed[kinds]++;
        }
        check_outcomes_add(&judged, probability, observed, n, calls / (int64_t)groups);
        ends += n;
    }
    check_outcomes_judge(&judged, SEED, "from state %zu, %zu groups, %zu ends", start, groups,
                         ends);
}

static void real_moves(void **state)
{
    (void)state;
    small s;
    make_small(&s);
    double *log_pi = log_posteriors();
    phl_rng rng;
    phl_rng_init(&rng, SEED, PURPOSE, UINT64_MAX, 0, 0);
    for (int i = 0; i < 6; i++) {
        check_start(&s, log_pi, random_below(&rng, STATES), (int64_t)affordable(1000000) / 6);
    }
    phl_free(log_pi);
    free_small(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invariant),
        cmocka_unit_test(real_moves),
    };
    return cmocka_run_group_tests_name("label_swap", tests, NULL, NULL);
}
