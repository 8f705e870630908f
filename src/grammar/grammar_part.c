/* grammar_part.c - what one start of the learner found for one class; see grammar_part.h. */
#include "grammar/grammar_part.h"

#include <string.h>

#include "base/memory.h"

phl_status phl_grammar_part_create(uint32_t labels, phl_grammar_part **part, phl_error *error)
{
    size_t symbols = (size_t)labels + PHL_SYMBOLS;
    phl_grammar_part *made = phl_alloc_zero(1, sizeof *made, error);
    uint32_t *sizes = made == NULL ? NULL : phl_alloc(symbols, sizeof *sizes, error);
    if (sizes == NULL) {
        phl_free(made);
        return PHL_ERR_MEMORY;
    }
    for (size_t s = 0; s < symbols; s++) {
        sizes[s] = 1;
    }
    made->labels = labels;
    made->sizes = sizes;
    phl_rules_init(&made->rules, labels);
    *part = made;
    return PHL_OK;
}

void phl_grammar_part_free(phl_grammar_part *part)
{
    if (part != NULL) {
        phl_rule_counts_free(part->counts);
        phl_rules_clear(&part->rules);
        phl_free(part->sizes);
        phl_free(part->held);
        phl_free(part);
    }
}

bool phl_grammar_part_has_form(const phl_grammar_part *part, const char *form)
{
    bool pair = part->numbers[PHL_PART_PAIR] != 0.0;
    return form == NULL || (strcmp(form, "pair") != 0 && strcmp(form, "single") != 0) ||
           pair == (strcmp(form, "pair") == 0);
}

phl_smoothing phl_grammar_part_smoothing(const phl_grammar_part *part)
{
    return (phl_smoothing){.label = part->numbers[PHL_PART_LABEL],
                           .state = part->numbers[PHL_PART_STATE],
                           .annotation = part->numbers[PHL_PART_ANNOTATION],
                           .share = part->numbers[PHL_PART_SHARE]};
}
