/* rules.c - the rules of a tree grammar, as far as they occur; see rules.h. */
#include "grammar/rules.h"

#include <string.h>

#include "base/memory.h"

void phl_rules_init(phl_rules *rules, uint32_t labels)
{
    *rules = (phl_rules){.labels = labels};
}

void phl_rules_clear(phl_rules *rules)
{
    phl_triples_clear(&rules->rules);
    phl_triples_clear(&rules->contexts);
    phl_triples_clear(&rules->firsts);
    phl_triples_clear(&rules->seconds);
    phl_free(rules->parts);
    memset(rules, 0, sizeof *rules);
}

phl_status phl_rules_add(phl_rules *rules, phl_triple rule, uint32_t *number, phl_error *error)
{
    size_t before = rules->rules.n;
    phl_status status =
        phl_grow(&rules->parts, &rules->capacity, before + 1, sizeof *rules->parts, error);
    if (status == PHL_OK) {
        status = phl_triples_add(&rules->rules, rule, number, error);
    }
    if (status != PHL_OK || rules->rules.n == before) {
        return status;
    }
    struct phl_rule_parts *parts = &rules->parts[before];
    status =
        phl_triples_add(&rules->contexts, (phl_triple){rule.a, rule.b, 0}, &parts->context, error);
    if (status == PHL_OK) {
        status =
            phl_triples_add(&rules->firsts, (phl_triple){rule.a, rule.c, 0}, &parts->first, error);
    }
    if (status == PHL_OK) {
        status = phl_triples_add(&rules->seconds, (phl_triple){rule.b, rule.c, 0}, &parts->second,
                                 error);
    }
    return status;
}
