/* backoff.c - a part of a grammar made ready for labels that are not known; see backoff.h. */
#include "grammar/backoff.h"

#include <string.h>

#include "base/memory.h"

/* ---------------------------------------------------------------------------------------------
 * Groups
 * ------------------------------------------------------------------------------------------- */

/* Items with key UINT32_MAX are in no group. */
static phl_status group(const uint32_t *key, size_t n, size_t n_keys, phl_grouped *grouped,
                        phl_error *error)
{
    grouped->first = phl_alloc_zero(n_keys + 1, sizeof *grouped->first, error);
    grouped->item = phl_alloc(n, sizeof *grouped->item, error);
    if (grouped->first == NULL || grouped->item == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        if (key[i] != UINT32_MAX) {
            grouped->first[key[i] + 1]++;
        }
    }
    for (size_t k = 0; k < n_keys; k++) {
        grouped->first[k + 1] += grouped->first[k];
    }
    for (size_t i = 0; i < n; i++) {
        if (key[i] != UINT32_MAX) {
            grouped->item[grouped->first[key[i]]++] = (uint32_t)i;
        }
    }
    for (size_t k = n_keys; k > 0; k--) {
        grouped->first[k] = grouped->first[k - 1];
    }
    grouped->first[0] = 0;
    return PHL_OK;
}

static void clear_group(phl_grouped *grouped)
{
    phl_free(grouped->first);
    phl_free(grouped->item);
}

static size_t size_of(const phl_backoff *backoff, const phl_triple *pair)
{
    return (size_t)backoff->sizes[pair->a] * backoff->sizes[pair->b];
}

/* Where the block of each pair of a grouping lies, and those of each key begin. */
static void place(const phl_backoff *backoff, const phl_triples *pairs, const phl_grouped *grouped,
                  size_t n_keys, size_t *places, size_t *ends)
{
    size_t at = 0;
    for (size_t key = 0; key < n_keys; key++) {
        ends[key] = at;
        for (size_t i = grouped->first[key]; i < grouped->first[key + 1]; i++) {
            places[grouped->item[i]] = at;
            at += size_of(backoff, &pairs->items[grouped->item[i]]);
        }
    }
    ends[n_keys] = at;
}

static phl_status group_contexts(phl_backoff *backoff, size_t symbols, uint32_t *key,
                                 phl_error *error)
{
    const phl_triples *contexts = &backoff->rules->contexts;
    for (size_t c = 0; c < contexts->n; c++) {
        const phl_triple *context = &contexts->items[c];
        key[c] = phl_backoff_is_label(backoff, context->b) ? context->a : UINT32_MAX;
    }
    phl_status status = group(key, contexts->n, symbols, &backoff->by_parent, error);
    if (status != PHL_OK) {
        return status;
    }
    for (size_t c = 0; c < contexts->n; c++) {
        const phl_triple *context = &contexts->items[c];
        key[c] = phl_backoff_is_label(backoff, context->a) ? context->b : UINT32_MAX;
    }
    status = group(key, contexts->n, symbols, &backoff->by_left, error);
    if (status != PHL_OK) {
        return status;
    }
    place(backoff, contexts, &backoff->by_parent, symbols, backoff->place_by_parent,
          backoff->end_by_parent);
    place(backoff, contexts, &backoff->by_left, symbols, backoff->place_by_left,
          backoff->end_by_left);
    return PHL_OK;
}

static phl_status group_rules(phl_backoff *backoff, size_t symbols, uint32_t *key, phl_error *error)
{
    const phl_rules *rules = backoff->rules;
    uint32_t begin = phl_rules_symbol(backoff->labels, PHL_SYMBOL_BEGIN);
    for (size_t f = 0; f < rules->firsts.n; f++) {
        const phl_triple *pair = &rules->firsts.items[f];
        key[f] = phl_backoff_is_label(backoff, pair->b) ? pair->a : UINT32_MAX;
        backoff->follower_of[f] =
            phl_backoff_context(backoff, phl_backoff_seen(backoff, pair->a), pair->b);
    }
    phl_status status = group(key, rules->firsts.n, symbols, &backoff->firsts, error);
    if (status != PHL_OK) {
        return status;
    }
    for (size_t p = 0; p < symbols; p++) {
        size_t at = 0;
        for (size_t i = backoff->firsts.first[p]; i < backoff->firsts.first[p + 1]; i++) {
            backoff->place_of_first[backoff->firsts.item[i]] = at;
            at += size_of(backoff, &rules->firsts.items[backoff->firsts.item[i]]);
        }
        backoff->most_of_firsts = at > backoff->most_of_firsts ? at : backoff->most_of_firsts;
    }
    for (size_t r = 0; r < rules->rules.n; r++) {
        key[r] = rules->parts[r].context;
    }
    for (uint32_t s = 0; s < symbols; s++) {
        backoff->begin_of[s] = phl_backoff_context(backoff, s, begin);
    }
    return group(key, rules->rules.n, rules->contexts.n, &backoff->rules_of, error);
}

/* ---------------------------------------------------------------------------------------------
 * Estimates; names of levels as in rule_counts.h
 * ------------------------------------------------------------------------------------------- */

/* Counts of a part and of the pool; the latter NULL: none. */
struct sources {
    const phl_rule_counts *of[2];
    const phl_smoothing *smoothing;
    double share; /* 0 without a pool */
};

static double smooth(double n, double total, double strength, double base)
{
    return (n + strength * base) / (total + strength);
}

static double mix(double own, double pooled, double share)
{
    return (1.0 - share) * own + share * pooled;
}

/* Base probabilities of symbols, as they are where the parent is no ROOT. */
static void fill_bases(phl_backoff *backoff, const struct sources *sources, size_t symbols)
{
    double even = 1.0 / ((double)backoff->labels + 3.0);
    for (size_t s = 0; s < symbols; s++) {
        for (int i = 0; i < 2; i++) {
            const phl_rule_counts *counts = sources->of[i];
            backoff->base[s].of[i] =
                counts == NULL ? 0.0 : (counts->x[s] + even) / (counts->total + 1.0);
        }
    }
}

/* How bases enter p_i(x | p) when (p, x) did not occur. */
static void fill_less(phl_backoff *backoff, const struct sources *sources, uint32_t parent)
{
    uint32_t labels = backoff->labels;
    double strength = sources->smoothing->label, weight[2] = {0.0, 0.0}, root[2] = {1.0, 1.0};
    for (int i = 0; i < 2; i++) {
        const phl_rule_counts *counts = sources->of[i];
        weight[i] = counts == NULL ? 0.0 : strength / (counts->p[parent] + strength);
        if (counts != NULL && parent == phl_rules_symbol(labels, PHL_SYMBOL_ROOT)) {
            double even = 1.0 / ((double)labels + 3.0);
            root[i] = (counts->total + 1.0) / (counts->nodes + (1.0 - 2.0 * even));
        }
    }
    phl_both *less = backoff->less[parent];
    less[1] = (phl_both){{0.0, weight[1] * root[1]}};
    less[0] = (phl_both){
        {weight[0] * (1.0 - sources->share) * root[0], weight[0] * sources->share * less[1].of[1]}};
}

static void fill_pairs(phl_backoff *backoff, const struct sources *sources)
{
    const phl_triples *firsts = &backoff->rules->firsts;
    double strength = sources->smoothing->label;
    for (size_t f = 0; f < firsts->n; f++) {
        const phl_triple *pair = &firsts->items[f];
        const phl_both *less = backoff->less[pair->a];
        phl_both *p = &backoff->p_of_pair[f];
        double more[2] = {0.0, 0.0};
        for (int i = 0; i < 2; i++) {
            const phl_rule_counts *counts = sources->of[i];
            uint32_t found =
                counts == NULL ? PHL_NO_TRIPLE : phl_triples_find(&counts->rules->firsts, *pair);
            more[i] =
                found == PHL_NO_TRIPLE ? 0.0 : counts->px[found] / (counts->p[pair->a] + strength);
        }
        const phl_both *base = &backoff->base[pair->b];
        p->of[1] = more[1] + less[1].of[1] * base->of[1];
        p->of[0] = more[0] + less[0].of[0] * base->of[0];
        if (sources->share > 0.0) {
            double weight = strength / (sources->of[0]->p[pair->a] + strength);
            p->of[0] += weight * sources->share * p->of[1];
        }
    }
}

/* r(a | x) into backoff->r, r(a | x, P) into r_of_pair: both as they are for a rule that never
 * occurred. */
static phl_status fill_annotations(phl_backoff *backoff, const struct sources *sources,
                                   size_t symbols, phl_error *error)
{
    const phl_triples *firsts = &backoff->rules->firsts;
    double strength = sources->smoothing->annotation, share = sources->share;
    double *plain = phl_alloc(2 * backoff->first_state[symbols], sizeof *plain, error);
    if (plain == NULL) {
        return PHL_ERR_MEMORY;
    }
    double *of[2] = {plain, plain + backoff->first_state[symbols]};
    for (size_t s = 0; s < symbols; s++) {
        size_t first = backoff->first_state[s], states = backoff->sizes[s];
        for (int i = 1; i >= 0; i--) {
            const phl_rule_counts *counts = sources->of[i];
            double sum = 0.0;
            for (size_t k = 0; counts != NULL && k < states; k++) {
                sum += counts->X[counts->first_state[s] + k];
            }
            for (size_t k = 0; k < states; k++) {
                double base = 1.0 / (double)states;
                base = i == 0 ? mix(base, of[1][first + k], share) : base;
                of[i][first + k] = counts == NULL ? 0.0
                                                  : smooth(counts->X[counts->first_state[s] + k],
                                                           sum, strength, base);
            }
        }
    }
    for (size_t f = 0; f < firsts->n; f++) {
        const phl_triple *pair = &firsts->items[f];
        size_t states = backoff->sizes[pair->b], first = backoff->first_state[pair->b];
        for (size_t ik = 0; ik < size_of(backoff, pair); ik++) {
            double known[2] = {0.0, 0.0};
            for (int i = 1; i >= 0; i--) {
                const phl_rule_counts *counts = sources->of[i];
                uint32_t at = counts == NULL ? PHL_NO_TRIPLE
                                             : phl_triples_find(&counts->rules->firsts, *pair);
                double n = 0.0, total = 0.0, base = of[i][first + ik % states];
                if (at != PHL_NO_TRIPLE) {
                    n = counts->PX[counts->of_first[at].annotated + ik];
                    total = counts->Px[counts->of_first[at].state + ik / states];
                }
                base = i == 0 ? mix(base, known[1], share) : base;
                known[i] = counts == NULL ? 0.0 : smooth(n, total, strength, base);
            }
            backoff->r_of_pair[backoff->first_pair[f] + ik] = mix(known[0], known[1], share);
        }
    }
    /* Through the levels of P and of P with L. */
    for (size_t k = 0; k < backoff->first_state[symbols]; k++) {
        double once = mix(of[0][k], of[1][k], share);
        backoff->r[k] = mix(once, of[1][k], share);
    }
    phl_free(plain);
    return PHL_OK;
}

/* What is left of p_0 and p_1 in the smoothed probability of a label. */
static phl_both smooth_both(double total, double strength, phl_both base)
{
    double scale = strength / (total + strength);
    return (phl_both){{base.of[0] * scale, base.of[1] * scale}};
}

static phl_both mix_both(phl_both own, phl_both pooled, double share)
{
    return (phl_both){{mix(own.of[0], pooled.of[0], share), mix(own.of[1], pooled.of[1], share)}};
}

/* What p_i is divided by after an empty slot: p_i of all symbols but the end together, added up as
 * such (rule_table.c). */
static void find_not_ended(const phl_backoff *backoff, const struct sources *sources,
                           uint32_t parent, double *not_ended)
{
    double even = 1.0 / ((double)backoff->labels + 3.0), strength = sources->smoothing->label;
    for (int i = 1; i >= 0; i--) {
        const phl_rule_counts *counts = sources->of[i];
        if (counts == NULL) {
            continue;
        }
        double n = counts->nodes + counts->x[backoff->labels + PHL_SYMBOL_EMPTY] + (1.0 - even);
        double base = n / (counts->total + 1.0);
        base = i == 0 ? mix(base, not_ended[1], sources->share) : base;
        not_ended[i] = smooth(counts->on[parent], counts->p[parent], strength, base);
    }
}

/* g of a context's states; where it has no counts, of the plain one. */
static void fill_context(const phl_backoff *backoff, const struct sources *sources,
                         const phl_triple *context, const uint32_t *at, phl_both *out)
{
    size_t parents = at == NULL ? 1 : backoff->sizes[context->a];
    size_t lefts = at == NULL ? 1 : backoff->sizes[context->b];
    double share = sources->share, s1 = sources->smoothing->label, s2 = sources->smoothing->state;
    double not_ended[2] = {1.0, 1.0};
    if (context->b == phl_rules_symbol(backoff->labels, PHL_SYMBOL_EMPTY)) {
        find_not_ended(backoff, sources, context->a, not_ended);
    }
    double of_parent = context->a >= backoff->labels   ? 0.0
                       : context->b >= backoff->labels ? 1.0
                                                       : 0.5;
    for (size_t ij = 0; ij < parents * lefts; ij++) {
        phl_both pl[2], P[2], L[2], PL[2];
        for (int i = 1; i >= 0; i--) {
            const phl_rule_counts *counts = sources->of[i];
            phl_both before = {
                {i == 0 ? 1.0 / not_ended[0] : 0.0, i == 1 ? 1.0 / not_ended[1] : 0.0}};
            bool pooled = i == 0 && sources->of[1] != NULL;
            if (counts == NULL) {
                continue;
            }
            uint32_t found = at == NULL ? PHL_NO_TRIPLE : at[i];
            bool none = found == PHL_NO_TRIPLE;
            const struct phl_rule_places *places = none ? NULL : &counts->of_context[found];
            before = pooled ? mix_both(before, pl[1], share) : before;
            pl[i] = smooth_both(none ? 0.0 : counts->pl[found], s1, before);
            before = pooled ? mix_both(pl[i], P[1], share) : pl[i];
            P[i] = smooth_both(none ? 0.0 : counts->Pl[places->P + ij / lefts], s2, before);
            before = pooled ? mix_both(pl[i], L[1], share) : pl[i];
            L[i] = smooth_both(none ? 0.0 : counts->pL[places->L + ij % lefts], s2, before);
            before = mix_both(L[i], P[i], of_parent);
            before = pooled ? mix_both(before, PL[1], share) : before;
            PL[i] = smooth_both(none ? 0.0 : counts->PL[places->PL + ij], s2, before);
        }
        out[ij] = PL[0];
    }
}

static void fill_contexts(phl_backoff *backoff, const struct sources *sources, uint32_t symbols)
{
    const phl_triples *contexts = &backoff->rules->contexts;
    for (size_t c = 0; c < contexts->n; c++) {
        uint32_t at[2];
        for (int i = 0; i < 2; i++) {
            const phl_rule_counts *counts = sources->of[i];
            at[i] = counts == NULL ? PHL_NO_TRIPLE
                                   : phl_triples_find(&counts->rules->contexts, contexts->items[c]);
        }
        fill_context(backoff, sources, &contexts->items[c], at,
                     backoff->g + backoff->first_context[c]);
    }
    for (uint32_t s = 0; s < symbols; s++) {
        phl_triple plain = {s, phl_rules_symbol(backoff->labels, PHL_SYMBOL_BEGIN), 0};
        phl_triple empty = {s, phl_rules_symbol(backoff->labels, PHL_SYMBOL_EMPTY), 0};
        fill_context(backoff, sources, &plain, NULL, &backoff->g_plain[s]);
        fill_context(backoff, sources, &empty, NULL, &backoff->g_empty[s]);
    }
}

/* The table of rules holds what is there beyond g p r. */
static void leave_residuals(phl_backoff *backoff)
{
    const phl_rules *rules = backoff->rules;
    for (size_t n = 0; n < rules->rules.n; n++) {
        const phl_triple *rule = &rules->rules.items[n];
        size_t lefts = backoff->sizes[rule->b], states = backoff->sizes[rule->c];
        const phl_both *g = backoff->g + backoff->first_context[rules->parts[n].context];
        const phl_both *p = &backoff->p_of_pair[rules->parts[n].first];
        const double *r = backoff->r_of_pair + backoff->first_pair[rules->parts[n].first];
        double *out = backoff->table->p + backoff->table->blocks.first[n];
        for (size_t ij = 0; ij < backoff->sizes[rule->a] * lefts; ij++) {
            double of_label = g[ij].of[0] * p->of[0] + g[ij].of[1] * p->of[1];
            for (size_t k = 0; k < states; k++) {
                *out++ -= of_label * r[ij / lefts * states + k];
            }
        }
    }
}

/* ---------------------------------------------------------------------------------------------
 * Making one
 * ------------------------------------------------------------------------------------------- */

/* Cumulative sizes of blocks, [n + 1]. */
static phl_status place_blocks(const phl_backoff *backoff, const phl_triples *pairs, size_t **first,
                               phl_error *error)
{
    *first = phl_alloc(pairs->n + 1, sizeof **first, error);
    if (*first == NULL) {
        return PHL_ERR_MEMORY;
    }
    (*first)[0] = 0;
    for (size_t i = 0; i < pairs->n; i++) {
        (*first)[i + 1] = (*first)[i] + size_of(backoff, &pairs->items[i]);
    }
    return PHL_OK;
}

/* Arrays whose length follows from the rules and the sizes. */
static phl_status make_arrays(phl_backoff *backoff, size_t symbols, phl_error *error)
{
    const phl_rules *rules = backoff->rules;
    phl_status status = place_blocks(backoff, &rules->contexts, &backoff->first_context, error);
    if (status == PHL_OK) {
        status = place_blocks(backoff, &rules->firsts, &backoff->first_pair, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    const struct {
        void *array;
        size_t count, size;
    } all[] = {
        {&backoff->state, (size_t)backoff->labels + 2, sizeof *backoff->state},
        {&backoff->place_by_parent, rules->contexts.n, sizeof *backoff->place_by_parent},
        {&backoff->place_by_left, rules->contexts.n, sizeof *backoff->place_by_left},
        {&backoff->end_by_parent, symbols + 1, sizeof *backoff->end_by_parent},
        {&backoff->end_by_left, symbols + 1, sizeof *backoff->end_by_left},
        {&backoff->place_of_first, rules->firsts.n, sizeof *backoff->place_of_first},
        {&backoff->begin_of, symbols, sizeof *backoff->begin_of},
        {&backoff->follower_of, rules->firsts.n, sizeof *backoff->follower_of},
        {&backoff->g, backoff->first_context[rules->contexts.n], sizeof *backoff->g},
        {&backoff->r_of_pair, backoff->first_pair[rules->firsts.n], sizeof *backoff->r_of_pair},
        {&backoff->p_of_pair, rules->firsts.n, sizeof *backoff->p_of_pair},
        {&backoff->base, symbols, sizeof *backoff->base},
        {&backoff->first_state, symbols + 1, sizeof *backoff->first_state},
        {&backoff->less, symbols, sizeof *backoff->less},
        {&backoff->g_plain, symbols, sizeof *backoff->g_plain},
        {&backoff->g_empty, symbols, sizeof *backoff->g_empty},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        void *made = phl_alloc(all[i].count, all[i].size, error);
        if (made == NULL) {
            return PHL_ERR_MEMORY;
        }
        memcpy(all[i].array, &made, sizeof made);
    }
    size_t at = 0;
    backoff->most = 1;
    for (size_t s = 0; s < symbols; s++) {
        uint32_t size = backoff->sizes[s];
        backoff->first_state[s] = at;
        backoff->most = size > backoff->most ? size : backoff->most;
        if (s <= backoff->labels + 1U) {
            backoff->state[s] = at;
        }
        at += size;
    }
    backoff->first_state[symbols] = at;
    backoff->r = phl_alloc(at, sizeof *backoff->r, error);
    return backoff->r == NULL ? PHL_ERR_MEMORY : PHL_OK;
}

static phl_status fill(phl_backoff *backoff, const phl_grammar *grammar, size_t part,
                       phl_error *error)
{
    size_t symbols = (size_t)backoff->labels + PHL_SYMBOLS, keys = backoff->rules->rules.n;
    keys = keys > backoff->rules->contexts.n ? keys : backoff->rules->contexts.n;
    uint32_t *key = phl_alloc(keys, sizeof *key, error);
    phl_status status = key == NULL ? PHL_ERR_MEMORY : group_contexts(backoff, symbols, key, error);
    if (status == PHL_OK) {
        status = group_rules(backoff, symbols, key, error);
    }
    phl_free(key);
    if (status == PHL_OK) {
        status = phl_rule_table_create(backoff->rules, grammar->sizes, &backoff->table, error);
    }
    if (status == PHL_OK) {
        status = phl_grammar_fill(grammar, part, backoff->table, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    bool shared = grammar->pool != NULL && grammar->smoothing.share > 0.0;
    struct sources sources = {.of = {grammar->parts[part]->counts, shared ? grammar->pool : NULL},
                              .smoothing = &grammar->smoothing,
                              .share = shared ? grammar->smoothing.share : 0.0};
    fill_bases(backoff, &sources, symbols);
    for (uint32_t s = 0; s < symbols; s++) {
        fill_less(backoff, &sources, s);
    }
    fill_pairs(backoff, &sources);
    status = fill_annotations(backoff, &sources, symbols, error);
    if (status == PHL_OK) {
        fill_contexts(backoff, &sources, (uint32_t)symbols);
        leave_residuals(backoff);
    }
    return status;
}

phl_status phl_backoff_create(const phl_grammar *grammar, size_t part, phl_backoff **backoff,
                              phl_error *error)
{
    phl_backoff *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    bool shared = grammar->pool != NULL && grammar->smoothing.share > 0.0;
    made->pair = grammar->pair;
    made->labels = grammar->labels;
    made->sizes = grammar->sizes;
    made->rules = shared ? &grammar->pool_rules : &grammar->parts[part]->rules;
    phl_status status = make_arrays(made, (size_t)made->labels + PHL_SYMBOLS, error);
    if (status == PHL_OK) {
        status = fill(made, grammar, part, error);
    }
    if (status != PHL_OK) {
        phl_backoff_free(made);
        return status;
    }
    *backoff = made;
    return PHL_OK;
}

void phl_backoff_free(phl_backoff *backoff)
{
    if (backoff == NULL) {
        return;
    }
    clear_group(&backoff->by_parent);
    clear_group(&backoff->by_left);
    clear_group(&backoff->firsts);
    clear_group(&backoff->rules_of);
    phl_rule_table_free(backoff->table);
    void *const arrays[] = {
        backoff->state,
        backoff->place_by_parent,
        backoff->place_by_left,
        backoff->begin_of,
        backoff->g,
        backoff->follower_of,
        backoff->first_context,
        backoff->first_pair,
        backoff->base,
        backoff->r_of_pair,
        backoff->p_of_pair,
        backoff->r,
        backoff->less,
        backoff->first_state,
        backoff->g_plain,
        backoff->g_empty,
        backoff->end_by_parent,
        backoff->end_by_left,
        backoff->place_of_first,
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        phl_free(arrays[i]);
    }
    phl_free(backoff);
}

/* ---------------------------------------------------------------------------------------------
 * Single probabilities
 * ------------------------------------------------------------------------------------------- */

phl_both phl_backoff_pair(const phl_backoff *backoff, uint32_t parent, uint32_t symbol,
                          const double **r, size_t *rows)
{
    uint32_t f = phl_triples_find(&backoff->rules->firsts, (phl_triple){parent, symbol, 0});
    if (f != PHL_NO_TRIPLE) {
        *r = backoff->r_of_pair + backoff->first_pair[f];
        *rows = backoff->sizes[symbol];
        return backoff->p_of_pair[f];
    }
    const phl_both *less = backoff->less[parent], *base = &backoff->base[symbol];
    *r = backoff->r + backoff->first_state[symbol];
    *rows = 0;
    return (phl_both){
        {less[0].of[0] * base->of[0] + less[0].of[1] * base->of[1], less[1].of[1] * base->of[1]}};
}

/* g of one pair of states, and the context. */
static phl_both find_g(const phl_backoff *backoff, phl_grammar_state parent, phl_grammar_state left,
                       uint32_t *context)
{
    *context = phl_backoff_context(backoff, parent.symbol, left.symbol);
    if (*context != PHL_NO_TRIPLE) {
        return backoff->g[backoff->first_context[*context] +
                          parent.annotation * backoff->sizes[left.symbol] + left.annotation];
    }
    return left.symbol == phl_rules_symbol(backoff->labels, PHL_SYMBOL_EMPTY)
               ? backoff->g_empty[parent.symbol]
               : backoff->g_plain[parent.symbol];
}

/* Add the residuals of a rule. */
static void add_residual(const phl_backoff *backoff, uint32_t rule, phl_grammar_state parent,
                         phl_grammar_state left, double *out)
{
    size_t states = backoff->sizes[backoff->rules->rules.items[rule].c];
    const double *residual =
        backoff->table->p + backoff->table->blocks.first[rule] +
        (parent.annotation * backoff->sizes[left.symbol] + left.annotation) * states;
    for (size_t k = 0; k < states; k++) {
        out[k] += residual[k];
    }
}

void phl_backoff_symbol(const phl_backoff *backoff, phl_grammar_state parent,
                        phl_grammar_state left, uint32_t symbol, double *out)
{
    uint32_t context;
    phl_both g = find_g(backoff, parent, left, &context);
    const double *r;
    size_t rows, states = backoff->sizes[symbol];
    phl_both p = phl_backoff_pair(backoff, parent.symbol, symbol, &r, &rows);
    double of_label = g.of[0] * p.of[0] + g.of[1] * p.of[1];
    for (size_t k = 0; k < states; k++) {
        out[k] = of_label * r[parent.annotation * rows + k];
    }
    uint32_t rule =
        phl_triples_find(&backoff->rules->rules, (phl_triple){parent.symbol, left.symbol, symbol});
    if (rule != PHL_NO_TRIPLE) {
        add_residual(backoff, rule, parent, left, out);
    }
}

void phl_backoff_labels(const phl_backoff *backoff, phl_grammar_state parent,
                        phl_grammar_state left, double *out)
{
    uint32_t context;
    phl_both g = find_g(backoff, parent, left, &context);
    const phl_both *less = backoff->less[parent.symbol];
    double of_base[2] = {g.of[0] * less[0].of[0],
                         g.of[0] * less[0].of[1] + g.of[1] * less[1].of[1]};
    for (size_t x = 0; x <= backoff->labels; x++) {
        const phl_both *base = &backoff->base[x];
        double p = of_base[0] * base->of[0] + of_base[1] * base->of[1];
        for (size_t k = backoff->state[x]; k < backoff->state[x + 1]; k++) {
            out[k] = p * backoff->r[k];
        }
    }
    const phl_grouped *firsts = &backoff->firsts;
    for (size_t i = firsts->first[parent.symbol]; i < firsts->first[parent.symbol + 1]; i++) {
        uint32_t f = firsts->item[i], x = backoff->rules->firsts.items[f].b;
        size_t states = backoff->sizes[x];
        const phl_both *p = &backoff->p_of_pair[f];
        double of_label = g.of[0] * p->of[0] + g.of[1] * p->of[1];
        const double *r = backoff->r_of_pair + backoff->first_pair[f] + parent.annotation * states;
        for (size_t k = 0; k < states; k++) {
            out[backoff->state[x] + k] = of_label * r[k];
        }
    }
    const phl_grouped *rules = &backoff->rules_of;
    for (size_t i = context == PHL_NO_TRIPLE ? 0 : rules->first[context];
         context != PHL_NO_TRIPLE && i < rules->first[context + 1]; i++) {
        uint32_t x = backoff->rules->rules.items[rules->item[i]].c;
        if (phl_backoff_is_label(backoff, x)) {
            add_residual(backoff, rules->item[i], parent, left, out + backoff->state[x]);
        }
    }
}
