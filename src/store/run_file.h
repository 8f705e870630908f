/* run_file.h - the pieces a run is written and read in.
 *
 * phl_run_save (run_save.c) and phl_run_open (run_open.c) put them together; a learner that writes
 * while it trains can use them one by one, in transactions of its own.
 */
#ifndef PHL_STORE_RUN_FILE_H
#define PHL_STORE_RUN_FILE_H

#include "model/run.h"
#include "store/arrays.h"
#include "store/run_place.h"
#include "store/section.h"

/* Facts that are fields of struct phl_run, not of its meta. */
#define PHL_KEY_MODEL "model"
#define PHL_KEY_STATES "states"
#define PHL_KEY_SLOTS "slots"
#define PHL_KEY_PER_CLASS "per_class"

/* Is it one of those, or a digest? */
bool phl_run_write_is_reserved(const char *key);

/* ---- Content: run_write.c -------------------------------------------------------------------- */

#define PHL_INSERT_MODEL "INSERT INTO model VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
#define PHL_INSERT_TRACE "INSERT INTO trace VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"

/* Everything into empty tables, with digests; `forest` may be NULL. */
phl_status phl_run_write(phl_database *database, const phl_run *run, const phl_forest *forest,
                         phl_error *error);
/* Facts, classes, draws and traces anew, in the order of the run, with digests; the rest stays. */
phl_status phl_run_write_again(phl_database *database, const phl_run *run, phl_error *error);
/* A row of the table model and its tensors, through PHL_INSERT_MODEL and PHL_INSERT_TENSOR. */
phl_status phl_run_write_model(const phl_database *database, sqlite3_stmt *insert,
                               sqlite3_stmt *insert_tensor, int64_t id, size_t class_index,
                               const phl_draw *draw, phl_error *error);
phl_status phl_run_write_trace(const phl_database *database, sqlite3_stmt *insert, int64_t id,
                               const phl_trace_row *row, phl_error *error);

/* ---- Files: run_save.c ----------------------------------------------------------------------- */

/* phl_run_save with a forest of the caller's (or NULL), and with what `more` (or NULL) writes in
 * the same transaction.  *lock is the lock on the file that is replaced, or -1: there must be none;
 * on success it is the lock on the new one. */
typedef phl_status (*phl_more_fn)(phl_database *database, void *context, phl_error *error);
phl_status phl_run_save_with(const phl_run *run, const phl_forest *forest, phl_more_fn more,
                             void *context, const char *path, int *lock, phl_error *error);

/* ---- One draw: draw_store.c ------------------------------------------------------------------ */

#define PHL_INSERT_TENSOR                                                                          \
    "INSERT INTO tensor (model, name, slot, part, dtype, shape, checksum, data) "                  \
    "VALUES (?8, ?1, ?7, ?2, ?3, ?4, ?5, ?6)"
phl_status phl_draw_store_write(const phl_database *database, sqlite3_stmt *insert, int64_t model,
                                const phl_params *params, phl_error *error);

/* What a draw is, but for its tables. */
typedef struct phl_draw_kind {
    phl_kind kind;
    bool soft;
    uint32_t states, slots, labels;
} phl_draw_kind;

/* Sizes are compared with the bytes that are there before anything is allocated. */
phl_status phl_draw_store_read(const phl_database *database, const phl_array_directory *directory,
                               int64_t model, const phl_draw_kind *kind, phl_params **params,
                               phl_error *error);
/* The same for kind grammar: grammar_store.c. */
phl_status phl_grammar_store_read(const phl_database *database,
                                  const phl_array_directory *directory, int64_t model,
                                  const phl_draw_kind *kind, phl_params **params, phl_error *error);

/* ---- The forest: forest_store.c -------------------------------------------------------------- */

#define PHL_INSERT_FOREST                                                                          \
    "INSERT INTO forest (name, part, dtype, shape, checksum, data) VALUES (?1, ?2, ?3, ?4, ?5, "   \
    "?6)"
phl_status phl_forest_store(const phl_database *database, const phl_forest *forest,
                            phl_error *error);
/* NULL when the run holds none.  Whatever the bytes are, the forest is sound or refused. */
phl_status phl_forest_store_load(phl_database *database, phl_forest **forest, phl_error *error);

/* ---- The linear classifier: head_store.c ------------------------------------------------------
 */

/* Into an empty table; nothing if `head` is NULL. */
phl_status phl_head_store(const phl_database *database, const phl_head *head, phl_error *error);
/* NULL when the run holds none.  It must fit the run's labels and classes, and whatever the bytes
 * are, it is sound or refused. */
phl_status phl_head_store_load(phl_database *database, const phl_run *run, phl_head **head,
                               phl_error *error);

/* ---- The expert: expert_store.c ---------------------------------------------------------------
 */

/* As those of the head. */
phl_status phl_expert_store(const phl_database *database, const phl_expert *expert,
                            phl_error *error);
phl_status phl_expert_store_load(phl_database *database, const phl_run *run, size_t n_members,
                                 phl_expert **expert, phl_error *error);

/* ---- Further models: members_store.c ----------------------------------------------------------
 */

phl_status phl_members_store(const phl_database *database, const phl_run *run, phl_error *error);
/* Into run->members, if they are to be kept; they are read and checked in any case.  *n: so many.
 */
phl_status phl_members_store_load(phl_database *database, phl_run *run, bool keep, size_t *n,
                                  phl_error *error);
/* What there is of a run but further models (run_open.c, run_write.c). */
phl_status phl_run_open_alone(phl_database *database, bool keep, phl_run **run, phl_error *error);
phl_status phl_run_write_alone(phl_database *database, const phl_run *run, const phl_forest *forest,
                               phl_error *error);

/* ---- The model of shapes: shape_store.c -------------------------------------------------------
 */

/* As those of the head. */
phl_status phl_shape_store(const phl_database *database, const phl_shape_model *shapes,
                           phl_error *error);
phl_status phl_shape_store_load(phl_database *database, const phl_run *run,
                                phl_shape_model **shapes, phl_error *error);

/* Is what has been written a run that phl_run_open would take?  Asked before the transaction ends.
 * PHL_ERR_INTERNAL if not. */
phl_status phl_run_open_check(phl_database *database, phl_error *error);

/* Load the forest of the run in `path` into run->forest; phl_run_open leaves it out, because only
 * resuming needs it. */
phl_status phl_run_open_forest(phl_run *run, const char *path, phl_error *error);

#endif
