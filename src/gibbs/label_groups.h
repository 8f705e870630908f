/* label_groups.h - groups of distinct subtrees that have one label: a function of the data alone.
 *
 * Kinds of groups, from coarse to fine: a label; a label at leaves, and at internal nodes; a label
 * at leaves of one slot, and at internal nodes whose first child has one label.  Labels that are
 * not known count as one more label.
 */
#ifndef PHL_GIBBS_LABEL_GROUPS_H
#define PHL_GIBBS_LABEL_GROUPS_H

#include "forest/forest.h"

enum { PHL_LABEL_GROUP_KINDS = 3 };

typedef struct phl_label_groups {
    size_t n_groups;    /* of all kinds; those of kind k begin at first_of_kind[k] */
    size_t *first;      /* [n_groups + 1] into member */
    uint32_t *member;   /* subtrees, ascending within a group */
    uint32_t *group_of; /* [kinds][n] group of a subtree, counted from the first of the kind */
    size_t first_of_kind[PHL_LABEL_GROUP_KINDS + 1];
} phl_label_groups;

phl_status phl_label_groups_create(const phl_forest *forest, phl_label_groups **groups,
                                   phl_error *error);
void phl_label_groups_free(phl_label_groups *groups);

#endif
