/* rule_table.c - probabilities of rules between annotated symbols; see rule_table.h. */
#include "grammar/rule_table.h"

#include <string.h>

#include "base/lanes.h"
#include "base/memory.h"

phl_status phl_rule_table_create(const phl_rules *rules, const uint32_t *sizes,
                                 phl_rule_table **table, phl_error *error)
{
    phl_rule_table *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->rules = rules;
    made->sizes = sizes;
    phl_status status = phl_rule_counts_place(rules, sizes, &made->blocks, error);
    if (status == PHL_OK) {
        made->p =
            phl_alloc_zero(made->blocks.first[rules->rules.n] + PHL_LANES, sizeof *made->p, error);
        status = made->p == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    if (status != PHL_OK) {
        phl_rule_table_free(made);
        return status;
    }
    *table = made;
    return PHL_OK;
}

void phl_rule_table_free(phl_rule_table *table)
{
    if (table != NULL) {
        phl_rule_counts_unplace(&table->blocks);
        phl_free(table->p);
        phl_free(table);
    }
}

/* What is known of one rule at every level of the hierarchy; names as in rule_counts.h. */
struct levels {
    double px, plx;
    double *Plx, *pLx, *PLx;   /* label given states */
    double *X, *PX, *LX, *PLX; /* annotation given states */
};

/* Where the counts of one rule lie; PHL_NO_TRIPLE: there are none. */
struct found {
    uint32_t rule, context, first, second;
};

static struct found find(const phl_rules *rules, const phl_triple *rule)
{
    struct found found = {.rule = phl_triples_find(&rules->rules, *rule)};
    if (found.rule != PHL_NO_TRIPLE) {
        const struct phl_rule_parts *parts = &rules->parts[found.rule];
        found.context = parts->context;
        found.first = parts->first;
        found.second = parts->second;
    } else {
        found.context = phl_triples_find(&rules->contexts, (phl_triple){rule->a, rule->b, 0});
        found.first = phl_triples_find(&rules->firsts, (phl_triple){rule->a, rule->c, 0});
        found.second = phl_triples_find(&rules->seconds, (phl_triple){rule->b, rule->c, 0});
    }
    return found;
}

static inline double mix(double own, double pooled, double share)
{
    return (1.0 - share) * own + share * pooled;
}

/* Of all symbols that may come somewhere; the root is a label, the end does not follow an empty
 * slot.  */
static double base_of(const phl_rule_counts *counts, const phl_triple *rule)
{
    uint32_t labels = counts->rules->labels;
    double even = 1.0 / ((double)labels + 3.0);
    bool root = rule->a == phl_rules_symbol(labels, PHL_SYMBOL_ROOT);
    double total = root ? counts->nodes + (1.0 - 2.0 * even) : counts->total + 1.0;
    return (counts->x[rule->c] + even) / total;
}

/* p(symbol | parent) of all symbols but the end together, added up as such: the end may be all but
 * certain.  pool: the same of the pool; share 0: there is none. */
static double go_on(const phl_rule_counts *counts, uint32_t parent, double pool,
                    const phl_smoothing *smoothing, double share)
{
    uint32_t labels = counts->rules->labels;
    double even = 1.0 / ((double)labels + 3.0), strength = smoothing->label;
    double base = (counts->nodes + counts->x[labels + PHL_SYMBOL_EMPTY] + (1.0 - even)) /
                  (counts->total + 1.0);
    return (counts->on[parent] + strength * mix(base, pool, share)) /
           (counts->p[parent] + strength);
}

/* p(symbol | labels); *on: what go_on gave for the pool, and then gives here. */
static void fill_labels(const phl_rule_counts *counts, const phl_triple *rule,
                        const struct found *at, const struct levels *pool,
                        const phl_smoothing *smoothing, double *on, struct levels *out)
{
    double base = base_of(counts, rule), share = pool == NULL ? 0.0 : smoothing->share;
    double strength = smoothing->label;
    if (pool != NULL) {
        base = mix(base, pool->px, share);
    }
    double n = at->first == PHL_NO_TRIPLE ? 0.0 : counts->px[at->first];
    out->px = (n + strength * base) / (counts->p[rule->a] + strength);
    double before = out->px;
    if (rule->b == phl_rules_symbol(counts->rules->labels, PHL_SYMBOL_EMPTY)) {
        *on = go_on(counts, rule->a, *on, smoothing, share);
        before /= *on;
    }
    if (pool != NULL) {
        before = mix(before, pool->plx, share);
    }
    n = at->rule == PHL_NO_TRIPLE ? 0.0 : counts->plx[at->rule];
    double total = at->context == PHL_NO_TRIPLE ? 0.0 : counts->pl[at->context];
    out->plx = (n + strength * before) / (total + strength);
}

/* p(symbol | states), of the rule. */
static void fill_states(const phl_rule_counts *counts, const phl_triple *rule,
                        const struct found *at, const struct levels *pool,
                        const phl_smoothing *smoothing, struct levels *out)
{
    uint32_t labels = counts->rules->labels;
    size_t parents = counts->sizes[rule->a], lefts = counts->sizes[rule->b];
    double share = pool == NULL ? 0.0 : smoothing->share, strength = smoothing->state;
    const struct phl_rule_places *own =
        at->rule == PHL_NO_TRIPLE ? NULL : &counts->of_rule[at->rule];
    const struct phl_rule_places *context =
        at->context == PHL_NO_TRIPLE ? NULL : &counts->of_context[at->context];
    for (size_t i = 0; i < parents; i++) {
        double base = pool == NULL ? out->plx : mix(out->plx, pool->Plx[i], share);
        double n = own == NULL ? 0.0 : counts->Plx[own->P + i];
        double total = context == NULL ? 0.0 : counts->Pl[context->P + i];
        out->Plx[i] = (n + strength * base) / (total + strength);
    }
    for (size_t j = 0; j < lefts; j++) {
        double base = pool == NULL ? out->plx : mix(out->plx, pool->pLx[j], share);
        double n = own == NULL ? 0.0 : counts->pLx[own->L + j];
        double total = context == NULL ? 0.0 : counts->pL[context->L + j];
        out->pLx[j] = (n + strength * base) / (total + strength);
    }
    double of_parent = rule->a >= labels ? 0.0 : rule->b >= labels ? 1.0 : 0.5;
    for (size_t i = 0; i < parents; i++) {
        for (size_t j = 0; j < lefts; j++) {
            size_t ij = i * lefts + j;
            double base = mix(out->pLx[j], out->Plx[i], of_parent);
            base = pool == NULL ? base : mix(base, pool->PLx[ij], share);
            double n = own == NULL ? 0.0 : counts->PLx[own->PL + ij];
            double total = context == NULL ? 0.0 : counts->PL[context->PL + ij];
            out->PLx[ij] = (n + strength * base) / (total + strength);
        }
    }
}

/* r(annotation | symbol, one neighbour's state); counts and totals NULL: none. */
static void fill_beside(const double *n, const double *total, size_t neighbours, size_t states,
                        const double *base, const double *pool, double share, double strength,
                        double *out)
{
    for (size_t i = 0; i < neighbours; i++) {
        double sum = total == NULL ? 0.0 : total[i];
        for (size_t k = 0; k < states; k++) {
            double before = pool == NULL ? base[k] : mix(base[k], pool[i * states + k], share);
            double value = n == NULL ? 0.0 : n[i * states + k];
            out[i * states + k] = (value + strength * before) / (sum + strength);
        }
    }
}

/* r(annotation | symbol, states).  seen: the rule has counts, in the pool at least. */
static void fill_annotations(const phl_rule_counts *counts, const phl_triple *rule,
                             const struct found *at, bool seen, const struct levels *pool,
                             const phl_smoothing *smoothing, struct levels *out)
{
    uint32_t labels = counts->rules->labels;
    size_t parents = counts->sizes[rule->a], lefts = counts->sizes[rule->b];
    size_t states = counts->sizes[rule->c];
    double share = pool == NULL ? 0.0 : smoothing->share, strength = smoothing->annotation;
    const double *X = counts->X + counts->first_state[rule->c];
    double sum = 0.0;
    for (size_t k = 0; k < states; k++) {
        sum += X[k];
    }
    for (size_t k = 0; k < states; k++) {
        double base = 1.0 / (double)states;
        base = pool == NULL ? base : mix(base, pool->X[k], share);
        out->X[k] = (X[k] + strength * base) / (sum + strength);
    }
    const struct phl_pair_places *first =
        at->first == PHL_NO_TRIPLE ? NULL : &counts->of_first[at->first];
    const struct phl_pair_places *second =
        at->second == PHL_NO_TRIPLE ? NULL : &counts->of_second[at->second];
    fill_beside(first == NULL ? NULL : counts->PX + first->annotated,
                first == NULL ? NULL : counts->Px + first->state, parents, states, out->X,
                pool == NULL ? NULL : pool->PX, share, strength, out->PX);
    fill_beside(second == NULL ? NULL : counts->LX + second->annotated,
                second == NULL ? NULL : counts->Lx + second->state, lefts, states, out->X,
                pool == NULL ? NULL : pool->LX, share, strength, out->LX);
    /* Of a rule that never occurred the parent tells alone: so what hidden labels may be is a sum
     * over the rules that occurred, and a rest in which the left sibling has no part. */
    double of_parent = !seen ? 1.0 : rule->a >= labels ? 0.0 : rule->b >= labels ? 1.0 : 0.5;
    const double *n = at->rule == PHL_NO_TRIPLE ? NULL : counts->n + counts->blocks.first[at->rule];
    const double *total =
        at->rule == PHL_NO_TRIPLE ? NULL : counts->PLx + counts->of_rule[at->rule].PL;
    for (size_t ij = 0; ij < parents * lefts; ij++) {
        const double *of_P = out->PX + ij / lefts * states, *of_L = out->LX + ij % lefts * states;
        double scale = 1.0 / ((total == NULL ? 0.0 : total[ij]) + strength);
        for (size_t k = 0; k < states; k++) {
            double base = mix(of_L[k], of_P[k], of_parent);
            size_t at_k = ij * states + k;
            base = pool == NULL ? base : mix(base, pool->PLX[at_k], share);
            out->PLX[at_k] = ((n == NULL ? 0.0 : n[at_k]) + strength * base) * scale;
        }
    }
}

/* Room for the largest rule of a table. */
struct room {
    double *memory;
    struct levels levels[2];
};

static phl_status make_room(const phl_rule_table *table, struct room *room, phl_error *error)
{
    size_t most = 1, cells = 1;
    for (size_t r = 0; r < table->rules->rules.n; r++) {
        const phl_triple *rule = &table->rules->rules.items[r];
        size_t size = table->blocks.first[r + 1] - table->blocks.first[r];
        most = table->sizes[rule->a] > most ? table->sizes[rule->a] : most;
        most = table->sizes[rule->b] > most ? table->sizes[rule->b] : most;
        most = table->sizes[rule->c] > most ? table->sizes[rule->c] : most;
        cells = size > cells ? size : cells;
    }
    size_t each = 3 * most + 3 * most * most + cells;
    room->memory = phl_alloc(2 * each, sizeof *room->memory, error);
    if (room->memory == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t i = 0; i < 2; i++) {
        double *at = room->memory + i * each;
        struct levels *levels = &room->levels[i];
        levels->Plx = at;
        levels->pLx = at + most;
        levels->X = at + 2 * most;
        levels->PLx = at + 3 * most;
        levels->PX = levels->PLx + most * most;
        levels->LX = levels->PX + most * most;
        levels->PLX = levels->LX + most * most;
    }
    return PHL_OK;
}

phl_status phl_rule_table_fill(phl_rule_table *table, const phl_rule_counts *counts,
                               const phl_rule_counts *pool, const phl_smoothing *smoothing,
                               phl_error *error)
{
    struct room room;
    phl_status status = make_room(table, &room, error);
    if (status != PHL_OK) {
        return status;
    }
    for (size_t r = 0; r < table->rules->rules.n; r++) {
        const phl_triple *rule = &table->rules->rules.items[r];
        size_t pairs = (size_t)table->sizes[rule->a] * table->sizes[rule->b];
        size_t states = table->sizes[rule->c];
        const struct levels *known = NULL;
        double on = 0.0;
        bool seen = false;
        for (int own = pool == NULL; own < 2; own++) {
            const phl_rule_counts *of = own ? counts : pool;
            struct found at = find(of->rules, rule);
            struct levels *out = &room.levels[own];
            fill_labels(of, rule, &at, known, smoothing, &on, out);
            fill_states(of, rule, &at, known, smoothing, out);
            seen = seen || at.rule != PHL_NO_TRIPLE;
            fill_annotations(of, rule, &at, seen, known, smoothing, out);
            known = out;
        }
        double *p = table->p + table->blocks.first[r];
        for (size_t ij = 0; ij < pairs; ij++) {
            for (size_t k = 0; k < states; k++) {
                p[ij * states + k] = known->PLx[ij] * known->PLX[ij * states + k];
            }
        }
    }
    phl_free(room.memory);
    return PHL_OK;
}
