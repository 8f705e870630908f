/* checkpoint.c - the state of a task as arrays of the table checkpoint; see checkpoint.h.
 *
 * Beside the tables of its parameters, which are stored as those of a draw: `counts`, `reals`, and
 * as far as the learner has them `log_lambda0` and `hidden`.
 */
#include "store/checkpoint.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

enum { COUNT_ITERATION, COUNT_KEPT, COUNT_SOFT, COUNTS };
enum { REAL_ALPHA, REAL_ALPHA0, REAL_PREVIOUS, REALS };

static void write_shape(size_t count, char shape[32])
{
    (void)snprintf(shape, 32, "[%zu]", count);
}

static phl_status write_flat(const phl_database *database, sqlite3_stmt *insert, const char *name,
                             phl_dtype dtype, void *data, size_t count, phl_error *error)
{
    phl_array array = phl_array_flat(name, dtype, data, count);
    char shape[32];
    write_shape(count, shape);
    return phl_array_write(database, insert, &array, shape, error);
}

phl_status phl_checkpoint_write(const phl_database *database, sqlite3_stmt *insert, int64_t owner,
                                const phl_train_task_state *state, phl_error *error)
{
    bool bare = state->params == NULL; /* all there is to know is what was kept */
    uint64_t counts[COUNTS] = {state->iteration, state->kept, !bare && state->params->soft};
    double reals[REALS] = {state->alpha, state->alpha0, state->previous};
    (void)sqlite3_bind_int64(insert, 8, owner);
    phl_status status =
        bare ? PHL_OK : phl_draw_store_write(database, insert, owner, state->params, error);
    if (status != PHL_OK) {
        return status;
    }
    status = write_flat(database, insert, "counts", PHL_UINT64, counts, COUNTS, error);
    if (status != PHL_OK) {
        return status;
    }
    status = write_flat(database, insert, "reals", PHL_FLOAT64, reals, REALS, error);
    if (status != PHL_OK) {
        return status;
    }
    if (state->log_lambda0 != NULL) {
        status = write_flat(database, insert, "log_lambda0", PHL_FLOAT64, state->log_lambda0,
                            state->params->states, error);
    }
    if (status == PHL_OK && state->hidden != NULL) {
        status = write_flat(database, insert, "hidden", PHL_UINT32, state->hidden, state->n_hidden,
                            error);
    }
    return status;
}

static phl_status read_flat(const phl_database *database, const phl_array_directory *directory,
                            int64_t owner, const char *name, phl_dtype dtype, void *data,
                            size_t count, phl_error *error)
{
    phl_array array = phl_array_flat(name, dtype, data, count);
    char shape[32];
    write_shape(count, shape);
    return phl_array_read(database, directory, owner, &array, shape, error);
}

/* The arrays that not every learner has. */
static phl_status read_optional(const phl_database *database, const phl_array_directory *directory,
                                int64_t owner, uint32_t states, phl_train_task_state *state,
                                phl_error *error)
{
    const phl_entry *base = phl_array_directory_find(directory, owner, "log_lambda0", 0);
    const phl_entry *hidden = phl_array_directory_find(directory, owner, "hidden", 0);
    phl_status status = PHL_OK;
    if (base != NULL) { /* the parameters were read before: as many states are no trouble */
        state->log_lambda0 = phl_alloc(states, sizeof *state->log_lambda0, error);
        status = state->log_lambda0 == NULL
                     ? PHL_ERR_MEMORY
                     : read_flat(database, directory, owner, "log_lambda0", PHL_FLOAT64,
                                 state->log_lambda0, states, error);
    }
    if (status == PHL_OK && hidden != NULL) {
        state->n_hidden =
            (size_t)(phl_array_directory_bytes(directory, hidden) / sizeof *state->hidden);
        state->hidden = phl_alloc(state->n_hidden, sizeof *state->hidden, error);
        status = state->hidden == NULL ? PHL_ERR_MEMORY
                                       : read_flat(database, directory, owner, "hidden", PHL_UINT32,
                                                   state->hidden, state->n_hidden, error);
    }
    return status;
}

phl_status phl_checkpoint_read(const phl_database *database, const phl_array_directory *directory,
                               int64_t owner, const phl_draw_kind *kind,
                               phl_train_task_state **state, phl_error *error)
{
    size_t count = 0;
    uint64_t counts[COUNTS];
    double reals[REALS];
    *state = NULL;
    if (phl_array_directory_owner(directory, owner, &count) == NULL) {
        return PHL_OK;
    }
    phl_train_task_state *made = phl_alloc_zero(1, sizeof *made, error);
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    phl_status status =
        read_flat(database, directory, owner, "counts", PHL_UINT64, counts, COUNTS, error);
    if (status == PHL_OK) {
        status = read_flat(database, directory, owner, "reals", PHL_FLOAT64, reals, REALS, error);
    }
    if (status == PHL_OK && kind->kind != PHL_GRAMMAR) {
        phl_draw_kind sizes = *kind;
        sizes.soft = counts[COUNT_SOFT] != 0;
        status = phl_draw_store_read(database, directory, owner, &sizes, &made->params, error);
    }
    if (status == PHL_OK) {
        made->iteration = counts[COUNT_ITERATION];
        made->kept = counts[COUNT_KEPT];
        made->alpha = reals[REAL_ALPHA];
        made->alpha0 = reals[REAL_ALPHA0];
        made->previous = reals[REAL_PREVIOUS];
        status = read_optional(database, directory, owner, kind->states, made, error);
    }
    if (status != PHL_OK) {
        phl_train_task_state_clear(made);
        phl_free(made);
        return status;
    }
    *state = made;
    return PHL_OK;
}
