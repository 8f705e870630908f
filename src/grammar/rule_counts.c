/* rule_counts.c - counts of rules between annotated symbols, and their sums; see rule_counts.h. */
#include "grammar/rule_counts.h"

#include <string.h>

#include "base/lanes.h"
#include "base/memory.h"

phl_status phl_rule_counts_place(const phl_rules *rules, const uint32_t *sizes, phl_blocks *blocks,
                                 phl_error *error)
{
    size_t n = rules->rules.n, at = 0;
    blocks->first = phl_alloc(n + 1, sizeof *blocks->first, error);
    if (blocks->first == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t r = 0; r < n; r++) {
        const phl_triple *rule = &rules->rules.items[r];
        blocks->first[r] = at;
        at += (size_t)sizes[rule->a] * sizes[rule->b] * sizes[rule->c];
    }
    blocks->first[n] = at;
    return PHL_OK;
}

void phl_rule_counts_unplace(phl_blocks *blocks)
{
    phl_free(blocks->first);
    blocks->first = NULL;
}

static void place_rules(const phl_triples *set, const uint32_t *sizes,
                        struct phl_rule_places *places, struct phl_rule_places *end)
{
    *end = (struct phl_rule_places){0, 0, 0};
    for (size_t i = 0; i < set->n; i++) {
        size_t parents = sizes[set->items[i].a], lefts = sizes[set->items[i].b];
        places[i] = *end;
        end->P += parents;
        end->L += lefts;
        end->PL += parents * lefts;
    }
}

static void place_pairs(const phl_triples *set, const uint32_t *sizes,
                        struct phl_pair_places *places, struct phl_pair_places *end)
{
    *end = (struct phl_pair_places){0, 0};
    for (size_t i = 0; i < set->n; i++) {
        size_t states = sizes[set->items[i].a];
        places[i] = *end;
        end->annotated += states * sizes[set->items[i].b];
        end->state += states;
    }
}

/* One allocation after the other, all zero; false: no memory. */
static bool make(double **array, size_t count, phl_error *error)
{
    *array = phl_alloc_zero(count, sizeof **array, error);
    return *array != NULL;
}

static phl_status make_sums(phl_rule_counts *counts, phl_error *error)
{
    const phl_rules *rules = counts->rules;
    size_t symbols = (size_t)rules->labels + PHL_SYMBOLS;
    struct phl_rule_places of_rules, of_contexts;
    struct phl_pair_places of_firsts, of_seconds;
    counts->first_state = phl_alloc(symbols + 1, sizeof *counts->first_state, error);
    counts->of_rule = phl_alloc(rules->rules.n, sizeof *counts->of_rule, error);
    counts->of_context = phl_alloc(rules->contexts.n, sizeof *counts->of_context, error);
    counts->of_first = phl_alloc(rules->firsts.n, sizeof *counts->of_first, error);
    counts->of_second = phl_alloc(rules->seconds.n, sizeof *counts->of_second, error);
    if (counts->first_state == NULL || counts->of_rule == NULL || counts->of_context == NULL ||
        counts->of_first == NULL || counts->of_second == NULL) {
        return PHL_ERR_MEMORY;
    }
    counts->first_state[0] = 0;
    for (size_t s = 0; s < symbols; s++) {
        counts->first_state[s + 1] = counts->first_state[s] + counts->sizes[s];
    }
    place_rules(&rules->rules, counts->sizes, counts->of_rule, &of_rules);
    place_rules(&rules->contexts, counts->sizes, counts->of_context, &of_contexts);
    place_pairs(&rules->firsts, counts->sizes, counts->of_first, &of_firsts);
    place_pairs(&rules->seconds, counts->sizes, counts->of_second, &of_seconds);
    bool made =
        make(&counts->x, symbols, error) && make(&counts->X, counts->first_state[symbols], error) &&
        make(&counts->p, symbols, error) && make(&counts->on, symbols, error) &&
        make(&counts->px, rules->firsts.n, error) && make(&counts->plx, rules->rules.n, error) &&
        make(&counts->Plx, of_rules.P, error) && make(&counts->pLx, of_rules.L, error) &&
        make(&counts->PLx, of_rules.PL, error) && make(&counts->pl, rules->contexts.n, error) &&
        make(&counts->Pl, of_contexts.P, error) && make(&counts->pL, of_contexts.L, error) &&
        make(&counts->PL, of_contexts.PL, error) && make(&counts->PX, of_firsts.annotated, error) &&
        make(&counts->Px, of_firsts.state, error) &&
        make(&counts->LX, of_seconds.annotated, error) &&
        make(&counts->Lx, of_seconds.state, error);
    return made ? PHL_OK : PHL_ERR_MEMORY;
}

phl_status phl_rule_counts_create(const phl_rules *rules, const uint32_t *sizes,
                                  phl_rule_counts **counts, phl_error *error)
{
    phl_rule_counts *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->rules = rules;
    made->sizes = sizes;
    phl_status status = phl_rule_counts_place(rules, sizes, &made->blocks, error);
    if (status == PHL_OK &&
        !make(&made->n, made->blocks.first[rules->rules.n] + PHL_LANES, error)) {
        status = PHL_ERR_MEMORY;
    }
    if (status == PHL_OK) {
        status = make_sums(made, error);
    }
    if (status != PHL_OK) {
        phl_rule_counts_free(made);
        return status;
    }
    *counts = made;
    return PHL_OK;
}

void phl_rule_counts_free(phl_rule_counts *counts)
{
    if (counts == NULL) {
        return;
    }
    double *const arrays[] = {counts->n,   counts->x,   counts->X,   counts->p,   counts->px,
                              counts->plx, counts->Plx, counts->pLx, counts->PLx, counts->pl,
                              counts->Pl,  counts->pL,  counts->PL,  counts->PX,  counts->Px,
                              counts->LX,  counts->Lx,  counts->on};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        phl_free(arrays[i]);
    }
    phl_rule_counts_unplace(&counts->blocks);
    phl_free(counts->first_state);
    phl_free(counts->of_rule);
    phl_free(counts->of_context);
    phl_free(counts->of_first);
    phl_free(counts->of_second);
    phl_free(counts);
}

static void clear_sums(phl_rule_counts *counts)
{
    const phl_rules *rules = counts->rules;
    size_t symbols = (size_t)rules->labels + PHL_SYMBOLS;
    struct phl_rule_places of_rules, of_contexts;
    struct phl_pair_places of_firsts, of_seconds;
    place_rules(&rules->rules, counts->sizes, counts->of_rule, &of_rules);
    place_rules(&rules->contexts, counts->sizes, counts->of_context, &of_contexts);
    place_pairs(&rules->firsts, counts->sizes, counts->of_first, &of_firsts);
    place_pairs(&rules->seconds, counts->sizes, counts->of_second, &of_seconds);
    const struct {
        double *array;
        size_t count;
    } all[] = {
        {counts->x, symbols},           {counts->X, counts->first_state[symbols]},
        {counts->p, symbols},           {counts->on, symbols},
        {counts->px, rules->firsts.n},  {counts->plx, rules->rules.n},
        {counts->Plx, of_rules.P},      {counts->pLx, of_rules.L},
        {counts->PLx, of_rules.PL},     {counts->pl, rules->contexts.n},
        {counts->Pl, of_contexts.P},    {counts->pL, of_contexts.L},
        {counts->PL, of_contexts.PL},   {counts->PX, of_firsts.annotated},
        {counts->Px, of_firsts.state},  {counts->LX, of_seconds.annotated},
        {counts->Lx, of_seconds.state},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        memset(all[i].array, 0, all[i].count * sizeof *all[i].array);
    }
    counts->total = counts->nodes = 0.0;
}

static void sum_rule(phl_rule_counts *counts, size_t r)
{
    const phl_rules *rules = counts->rules;
    const phl_triple *rule = &rules->rules.items[r];
    const struct phl_rule_parts *parts = &rules->parts[r];
    size_t parents = counts->sizes[rule->a], lefts = counts->sizes[rule->b];
    size_t states = counts->sizes[rule->c];
    const struct phl_rule_places *own = &counts->of_rule[r];
    const struct phl_rule_places *context = &counts->of_context[parts->context];
    const struct phl_pair_places *first = &counts->of_first[parts->first];
    const struct phl_pair_places *second = &counts->of_second[parts->second];
    const double *n = counts->n + counts->blocks.first[r];
    double *X = counts->X + counts->first_state[rule->c], of_rule = 0.0;
    for (size_t i = 0; i < parents; i++) {
        double *PX = counts->PX + first->annotated + i * states;
        for (size_t j = 0; j < lefts; j++) {
            double *LX = counts->LX + second->annotated + j * states, sum = 0.0;
            for (size_t k = 0; k < states; k++) {
                double value = *n++;
                X[k] += value;
                PX[k] += value;
                LX[k] += value;
                sum += value;
            }
            counts->PLx[own->PL + i * lefts + j] = sum;
            counts->PL[context->PL + i * lefts + j] += sum;
            counts->Plx[own->P + i] += sum;
            counts->Pl[context->P + i] += sum;
            counts->pLx[own->L + j] += sum;
            counts->pL[context->L + j] += sum;
            counts->Px[first->state + i] += sum;
            counts->Lx[second->state + j] += sum;
            of_rule += sum;
        }
    }
    counts->plx[r] = of_rule;
    counts->pl[parts->context] += of_rule;
    counts->px[parts->first] += of_rule;
    counts->p[rule->a] += of_rule;
    counts->on[rule->a] += rule->c == rules->labels + PHL_SYMBOL_STOP ? 0.0 : of_rule;
    counts->x[rule->c] += of_rule;
    counts->total += of_rule;
    counts->nodes += rule->c <= rules->labels + PHL_SYMBOL_UNSEEN ? of_rule : 0.0;
}

void phl_rule_counts_sum(phl_rule_counts *counts)
{
    clear_sums(counts);
    for (size_t r = 0; r < counts->rules->rules.n; r++) {
        sum_rule(counts, r);
    }
    counts->x[counts->rules->labels + PHL_SYMBOL_UNSEEN] += counts->unseen;
    counts->total += counts->unseen;
    counts->nodes += counts->unseen;
}
