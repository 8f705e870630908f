/* unseen.c - labels that a run never saw; see unseen.h.
 *
 * Contents: the set of names, counting, the note.
 */
#include "unseen.h"
#include "print/terminal.h"

#include <stdlib.h>
#include <string.h>

/* ---- the set of names ---- */

enum { FIRST_SIZE = 64 };

/* Where a name is, or belongs, in a table with room. */
static size_t find_place(char *const *names, size_t size, const char *name)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (const char *at = name; *at; at++) {
        hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    }
    size_t place = (size_t)(hash ^ hash >> 32) & (size - 1);
    while (names[place] && strcmp(names[place], name) != 0) {
        place = (place + 1) & (size - 1);
    }
    return place;
}

/* The name as it is kept. */
static const char *keep_name(unseen_labels *unseen, const char *name)
{
    if (2 * unseen->n >= unseen->size) {
        size_t size = unseen->size ? 2 * unseen->size : FIRST_SIZE;
        char **names = terminal_allocate(size, sizeof *names);
        for (size_t i = 0; i < unseen->size; i++) {
            if (unseen->names[i]) {
                names[find_place(names, size, unseen->names[i])] = unseen->names[i];
            }
        }
        free(unseen->names);
        unseen->names = names;
        unseen->size = size;
    }
    char **place = &unseen->names[find_place(unseen->names, unseen->size, name)];
    if (!*place) {
        *place = terminal_allocate(strlen(name) + 1, 1);
        strcpy(*place, name);
        unseen->n++;
    }
    return *place;
}

/* ---- counting ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_known(unseen_labels *unseen)
{
    size_t n = phl_run_labels(unseen->run);
    unseen->known = terminal_allocate(n, sizeof *unseen->known);
    for (size_t i = 0; i < n; i++) {
        unseen->known[i] = phl_run_label_name(unseen->run, i);
    }
    qsort(unseen->known, n, sizeof *unseen->known, compare_names);
}

void unseen_add(unseen_labels *unseen, const phl_forest *forest)
{
    size_t n = phl_run_labels(unseen->run), m = phl_forest_labels(forest);
    const char **kept = terminal_allocate(m, sizeof *kept); /* NULL: the run knows the label */
    size_t height = 0;
    bool any = false;
    if (!unseen->known) {
        sort_known(unseen);
    }
    for (size_t i = 0; i < m; i++) {
        const char *name = phl_forest_label_name(forest, (int32_t)i);
        if (!bsearch(&name, unseen->known, n, sizeof *unseen->known, compare_names)) {
            kept[i] = keep_name(unseen, name);
            any = true;
        }
    }
    for (size_t s = 0; any && s < phl_forest_subtrees(forest); s++) {
        int32_t label = phl_subtree_label(forest, (uint32_t)s);
        while (s >= phl_forest_level(forest, height + 1)) {
            height++;
        }
        if (label == PHL_UNKNOWN || !kept[label]) {
            continue;
        }
        unseen->nodes += (uint64_t)phl_subtree_multiplicity(forest, (uint32_t)s);
        if (!unseen->first || height < unseen->first_height) {
            unseen->first = kept[label];
            unseen->first_height = height;
        }
    }
    free(kept);
}

/* ---- the note ---- */

void unseen_tell(const unseen_labels *unseen)
{
    char of_labels[80], of_nodes[80], name[200];
    if (!unseen->nodes) {
        return;
    }
    number_of(unseen->n, "label", "labels", of_labels, sizeof of_labels);
    number_of(unseen->nodes, "node", "nodes", of_nodes, sizeof of_nodes);
    text_printable(unseen->first, 40, name, sizeof name);
    terminal_message("note: %s (%s) never seen in training, such as '%s'", of_labels, of_nodes,
                     name);
}

void unseen_clear(unseen_labels *unseen)
{
    for (size_t i = 0; i < unseen->size; i++) {
        free(unseen->names[i]);
    }
    free(unseen->names);
    free(unseen->known);
    *unseen = (unseen_labels){0};
}
