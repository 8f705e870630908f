/* unseen.c - labels that a run never saw; see unseen.h. */
#include "task/unseen.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "forest/forest.h"

void phl_unseen_init(phl_unseen *unseen)
{
    memset(unseen, 0, sizeof *unseen);
    unseen->example = -1;
}

void phl_unseen_clear(phl_unseen *unseen)
{
    phl_alphabet_clear(&unseen->names);
    phl_unseen_init(unseen);
}

/* Nodes with such a label; `number` is that of a label in `names`, -1 if the run knows it. */
static void count_nodes(phl_unseen *unseen, const phl_forest *forest, const int32_t *number)
{
    size_t height = 0;
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        int32_t label = forest->label[s];
        while (s >= forest->level[height + 1]) {
            height++;
        }
        if (label < 0 || number[label] < 0) {
            continue;
        }
        unseen->nodes += (uint64_t)forest->multiplicity[s];
        if (unseen->example < 0 || height < unseen->example_height) {
            unseen->example = number[label];
            unseen->example_height = height;
        }
    }
}

phl_status phl_unseen_add(phl_unseen *unseen, const phl_run *run, const phl_forest *forest,
                          phl_error *error)
{
    size_t n = forest->labels.count;
    int32_t *number = phl_alloc(n, sizeof *number, error);
    phl_status status = number == NULL ? PHL_ERR_MEMORY : PHL_OK;
    bool any = false;
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        const char *name = phl_alphabet_name(&forest->labels, i);
        size_t length = phl_alphabet_length(&forest->labels, i);
        number[i] = -1;
        if (phl_alphabet_find(&run->labels, name, length) < 0) {
            any = true;
            status = phl_alphabet_add(&unseen->names, name, length, &number[i], error);
        }
    }
    if (status == PHL_OK && any) {
        count_nodes(unseen, forest, number);
    }
    phl_free(number);
    return status;
}

bool phl_unseen_note(const phl_unseen *unseen, phl_error *note)
{
    if (unseen->nodes == 0) {
        return false;
    }
    char labels[PHL_GROUPED_SIZE], nodes[PHL_GROUPED_SIZE], example[PHL_EXCERPT_SIZE];
    size_t number = (size_t)unseen->example;
    (void)phl_raise(
        note, PHL_OK, NULL, "%s label%s (%s node%s) never seen in training, such as '%s'",
        phl_text_grouped(unseen->names.count, labels), unseen->names.count == 1 ? "" : "s",
        phl_text_grouped(unseen->nodes, nodes), unseen->nodes == 1 ? "" : "s",
        phl_text_excerpt(phl_alphabet_name(&unseen->names, number),
                         phl_alphabet_length(&unseen->names, number), example));
    return true;
}
