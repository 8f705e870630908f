/* forest.c - questions to a forest. */
#include "forest/forest.h"

#include <string.h>

#include "base/memory.h"

void phl_forest_free(phl_forest *forest)
{
    if (forest == NULL) {
        return;
    }
    if (!forest->borrows_names) {
        phl_alphabet_clear(&forest->labels);
        phl_alphabet_clear(&forest->classes);
        phl_alphabet_clear(&forest->files);
        phl_alphabet_clear(&forest->ids);
    }
    phl_free(forest->label);
    phl_free(forest->leaf_slot);
    phl_free(forest->first_link);
    phl_free(forest->multiplicity);
    phl_free(forest->links);
    phl_free(forest->level);
    phl_free(forest->tree_root);
    phl_free(forest->tree_class);
    phl_free(forest->tree_file);
    phl_free(forest->tree_line);
    phl_free(forest->tree_weight);
    phl_free(forest->tree_id);
    phl_free(forest);
}

size_t phl_forest_trees(const phl_forest *forest)
{
    return forest->n_trees;
}

size_t phl_forest_labels(const phl_forest *forest)
{
    return forest->labels.count;
}

size_t phl_forest_classes(const phl_forest *forest)
{
    return forest->classes.count;
}

size_t phl_forest_subtrees(const phl_forest *forest)
{
    return forest->n_subtrees;
}

size_t phl_forest_links(const phl_forest *forest)
{
    return forest->n_links;
}

size_t phl_forest_levels(const phl_forest *forest)
{
    return forest->n_levels;
}

size_t phl_forest_level(const phl_forest *forest, size_t height)
{
    return height >= forest->n_levels ? forest->n_subtrees : forest->level[height];
}

uint32_t phl_forest_max_slot(const phl_forest *forest)
{
    return forest->max_slot;
}

bool phl_forest_is_shared(const phl_forest *forest)
{
    return forest->shared;
}

const char *phl_forest_label_name(const phl_forest *forest, int32_t label)
{
    return label < 0 || (size_t)label >= forest->labels.count
               ? NULL
               : phl_alphabet_name(&forest->labels, (size_t)label);
}

const char *phl_forest_class_name(const phl_forest *forest, int32_t class_index)
{
    return class_index < 0 || (size_t)class_index >= forest->classes.count
               ? NULL
               : phl_alphabet_name(&forest->classes, (size_t)class_index);
}

int32_t phl_forest_find_label(const phl_forest *forest, const char *name)
{
    return phl_alphabet_find(&forest->labels, name, strlen(name));
}

int32_t phl_forest_find_class(const phl_forest *forest, const char *name)
{
    return phl_alphabet_find(&forest->classes, name, strlen(name));
}

uint32_t phl_tree_root(const phl_forest *forest, size_t tree)
{
    return forest->tree_root[tree];
}

int32_t phl_tree_class(const phl_forest *forest, size_t tree)
{
    return forest->tree_class[tree];
}

double phl_tree_weight(const phl_forest *forest, size_t tree)
{
    return forest->tree_weight == NULL ? 1.0 : forest->tree_weight[tree];
}

const char *phl_tree_id(const phl_forest *forest, size_t tree)
{
    return forest->tree_id == NULL || forest->tree_id[tree] < 0
               ? NULL
               : phl_alphabet_name(&forest->ids, (size_t)forest->tree_id[tree]);
}

const char *phl_tree_file(const phl_forest *forest, size_t tree)
{
    return forest->tree_file[tree] == 0
               ? NULL
               : phl_alphabet_name(&forest->files, forest->tree_file[tree] - 1);
}

uint64_t phl_tree_line(const phl_forest *forest, size_t tree)
{
    return forest->tree_line[tree];
}

int32_t phl_subtree_label(const phl_forest *forest, uint32_t subtree)
{
    return forest->label[subtree];
}

uint32_t phl_subtree_leaf_slot(const phl_forest *forest, uint32_t subtree)
{
    return forest->leaf_slot[subtree];
}

size_t phl_subtree_links(const phl_forest *forest, uint32_t subtree, const phl_link **links)
{
    *links = forest->links + forest->first_link[subtree];
    return (size_t)(forest->first_link[subtree + 1] - forest->first_link[subtree]);
}

int64_t phl_subtree_multiplicity(const phl_forest *forest, uint32_t subtree)
{
    return forest->multiplicity[subtree];
}

void phl_forest_view(const phl_forest *forest, phl_forest_arrays *arrays)
{
    *arrays = (phl_forest_arrays){.label = forest->label,
                                  .leaf_slot = forest->leaf_slot,
                                  .multiplicity = forest->multiplicity,
                                  .first_link = forest->first_link,
                                  .links = forest->links,
                                  .tree_root = forest->tree_root,
                                  .tree_class = forest->tree_class,
                                  .tree_weight = forest->tree_weight};
}

phl_status phl_forest_count_nodes(const phl_forest *forest, uint64_t **nodes, uint64_t **unknown,
                                  phl_error *error)
{
    uint64_t *total = phl_alloc(forest->n_subtrees, sizeof *total, error);
    uint64_t *missing = phl_alloc(forest->n_subtrees, sizeof *missing, error);
    if (total == NULL || missing == NULL) {
        phl_free(total);
        phl_free(missing);
        return PHL_ERR_MEMORY;
    }
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        total[s] = 1;
        missing[s] = forest->label[s] < 0;
        for (uint64_t k = forest->first_link[s]; k < forest->first_link[s + 1]; k++) {
            total[s] += total[forest->links[k].child];
            missing[s] += missing[forest->links[k].child];
        }
    }
    *nodes = total;
    *unknown = missing;
    return PHL_OK;
}
