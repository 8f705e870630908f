/* use.h - what all tasks on a run share: blocks of the source one after the other, the model that
 * is for each tree, and what is known of all trees together only.
 *
 * Random numbers of a tree depend on its number among the trees of its model (`ordinal`), so
 * neither blocks nor trees of other classes change them.
 */
#ifndef PHL_TASK_USE_H
#define PHL_TASK_USE_H

#include "model/run.h"
#include "task/unseen.h"

/* Trees under which something happened that is told at the end. */
typedef struct phl_noted {
    size_t count;
    size_t first; /* number of the first of them, */
    char *file;   /* where it came from */
    uint64_t line;
} phl_noted;

typedef struct phl_use {
    const phl_run *run; /* borrowed */
    phl_source *source;
    size_t named; /* model for all trees; SIZE_MAX: that of a tree's class */
    const char *class_option;
    int threads;
    phl_report_fn report;
    phl_cancel_fn cancel;
    void *context;

    const phl_forest *block; /* at hand; NULL: there is none left */
    phl_walk *walk;          /* over it, for callbacks */
    size_t first;            /* number of its first tree */
    size_t *ordinal;         /* [models] trees of each in the blocks before */
    bool count_unseen;       /* labels never seen are counted, and told */
    phl_unseen unseen;
    phl_noted impossible;
} phl_use;

/* Options that all tasks have.  class_option: PHL_OPTION of class_name, for messages; class_name
 * NULL: the model of a tree's class. */
phl_status phl_use_begin(phl_use *use, const phl_run *run, phl_source *source,
                         const char *class_option, const char *class_name, int threads,
                         phl_report_fn report, phl_cancel_fn cancel, void *context,
                         phl_error *error);
/* The next block, and what it holds that is counted. */
phl_status phl_use_next(phl_use *use, phl_error *error);
/* Once all trees were handled: a note on labels never seen. */
void phl_use_tell(const phl_use *use);
void phl_use_clear(phl_use *use);

/* Give a note to the task's report, if there is one. */
void phl_use_note(const phl_use *use, const phl_error *note);

/* Count a tree of the block. */
phl_status phl_use_count(const phl_use *use, phl_noted *noted, size_t tree, phl_error *error);

/* Number of the class of that name in a run trained per class; otherwise an error says why not. */
phl_status phl_use_find_class(const phl_run *run, const char *name, size_t *model,
                              phl_error *error);

/* Refuse a piece of a training, which predicts nothing by itself. */
phl_status phl_use_check_whole(const phl_run *run, phl_error *error);

/* Refuse what grammars cannot do. */
phl_status phl_use_check_kind(const phl_run *run, const char *task, phl_error *error);

/* PHL_ERR_CANCELLED when the caller wants to stop. */
phl_status phl_use_check_cancel(const phl_use *use, phl_error *error);

/* ---- The trees of a block by model ----------------------------------------------------------- */

/* The trees of one model. */
typedef struct phl_use_portion {
    const phl_model *model;
    size_t n, *trees;         /* numbers in the block, ascending */
    const phl_forest *forest; /* these trees alone; the block if it holds no others */
    phl_forest *own;          /* the same if it was made for the portion, else NULL */
    size_t first_ordinal;
} phl_use_portion;

typedef struct phl_use_portions {
    size_t n_trees; /* of the block; fewer when a tree has no model: those before it */
    size_t n;
    phl_use_portion *portions; /* in the order of models */
    size_t *of_tree;           /* [n_trees] portion */
    size_t *place;             /* [n_trees] number in it */
} phl_use_portions;

/* Of the block at hand; clear in any case. */
phl_status phl_use_portions_make(const phl_use *use, phl_use_portions *portions, phl_error *error);
/* Once these trees were handled: they count, and the tree that has no model is an error. */
phl_status phl_use_portions_finish(phl_use *use, const phl_use_portions *portions,
                                   phl_error *error);
void phl_use_portions_clear(phl_use_portions *portions);

/* What is given to a callback about a tree of the block. */
phl_tree_at phl_use_at(const phl_use *use, size_t tree, size_t model);

#endif
