/* checkpoint.h - where a training stands, in its run file.
 *
 * A writer is the keeper of a training (train/training.h): every call to save is one transaction
 * with the new trace rows, the new draws and the task's state.  The run file is made by the first
 * of them, so that a training that fails before its first iteration leaves no trace and no old run
 * is lost.
 */
#ifndef PHL_STORE_CHECKPOINT_H
#define PHL_STORE_CHECKPOINT_H

#include "store/run_file.h"
#include "train/training.h"

/* ---- The state of a task as arrays: checkpoint.c --------------------------------------------- */

/* Owner of the arrays of a task, as phl_schema_select gives it. */
static inline int64_t phl_checkpoint_owner(size_t class_index, size_t chain)
{
    return (int64_t)((uint64_t)class_index << 32 | (uint64_t)chain);
}

#define PHL_INSERT_CHECKPOINT                                                                      \
    "INSERT INTO checkpoint (class, chain, name, slot, part, dtype, shape, checksum, data) "       \
    "VALUES (?8 >> 32, ?8 & 4294967295, ?1, ?7, ?2, ?3, ?4, ?5, ?6)"
phl_status phl_checkpoint_write(const phl_database *database, sqlite3_stmt *insert, int64_t owner,
                                const phl_train_task_state *state, phl_error *error);

/* The state of a task; *state is NULL when there is none. */
phl_status phl_checkpoint_read(const phl_database *database, const phl_array_directory *directory,
                               int64_t owner, const phl_draw_kind *kind,
                               phl_train_task_state **state, phl_error *error);

/* ---- The keeper: run_writer.c ---------------------------------------------------------------- */

typedef struct phl_run_writer {
    const char *path;         /* of the run file, borrowed */
    const phl_forest *forest; /* to be stored with the run, or NULL; borrowed */
    int lock;                 /* on the run file, or on the one that it will replace; -1: none */
    bool is_open;
    phl_database database;
    sqlite3_stmt *trace, *model, *tensor, *forget, *checkpoint, *progress;
    sqlite3_stmt *digested[PHL_SCHEMA_TABLES]; /* rows that are new or go, of tables that change */
    int64_t n_traces, n_models;                /* rows in the file */
    phl_digest digests[PHL_SECTIONS];          /* as they stand in the file */
    double synced_at;                          /* seconds of the training, to the disk */
} phl_run_writer;

/* Go on with an existing file, whose lock the writer holds. */
phl_status phl_run_writer_open(phl_run_writer *writer, phl_error *error);
/* A phl_keeper's save; the context is a writer. */
phl_status phl_run_writer_save(const phl_train_task *task, const phl_train_task_state *state,
                               void *context, phl_error *error);
/* The run as it came out, in order, and the write-ahead log folded into the one file. */
phl_status phl_run_writer_finish(phl_run_writer *writer, const phl_run *run, phl_error *error);
/* Fine at any time; gives the lock back. */
void phl_run_writer_close(phl_run_writer *writer);

#endif
