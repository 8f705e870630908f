/* pieces.c - a training in pieces; see pieces.h.
 *
 * Contents: the record, choosing by class and chain, dealing by cost.
 */
#include "train/pieces.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

/* ---------------------------------------------------------------------------------------------
 * The record
 * ------------------------------------------------------------------------------------------- */

/* A decimal number at *at, which moves behind it; false: none, or too large. */
static bool read_number(const char **at, size_t *number)
{
    char *end;
    if (**at < '0' || **at > '9') {
        return false;
    }
    unsigned long long value = strtoull(*at, &end, 10);
    *at = end;
    *number = (size_t)value;
    return value < SIZE_MAX;
}

phl_status phl_pieces_read(const char *recorded, size_t n_tasks, bool *own, phl_error *error)
{
    const char *at = recorded;
    size_t least = 0; /* that the next range may begin with */
    bool good = true;
    memset(own, 0, n_tasks * sizeof *own);
    do {
        size_t first = 0, last;
        at += at > recorded; /* the comma */
        good = read_number(&at, &first);
        last = first;
        if (good && *at == '-') {
            at++;
            good = read_number(&at, &last);
        }
        good = good && first >= least && first <= last && last < n_tasks;
        for (size_t i = first; good && i <= last; i++) {
            own[i] = true;
        }
        least = last + 1;
    } while (good && *at == ',');
    return good && *at == '\0'
               ? PHL_OK
               : phl_raise(error, PHL_ERR_SYNTAX, "use an undamaged copy, or train again",
                           "the run does not say which piece of its training it is");
}

static phl_status record(phl_training *training, phl_error *error)
{
    size_t n = training->n_classes * training->n_chains;
    phl_text text = {0};
    phl_status status = PHL_OK;
    for (size_t i = 0, end; status == PHL_OK && i < n; i = end) {
        end = i + 1;
        if (training->tasks[i].elsewhere) {
            continue;
        }
        while (end < n && !training->tasks[end].elsewhere) {
            end++;
        }
        const char *comma = text.length > 0 ? "," : "";
        status = end - i > 1 ? phl_text_append_format(&text, error, "%s%zu-%zu", comma, i, end - 1)
                             : phl_text_append_format(&text, error, "%s%zu", comma, i);
    }
    if (status == PHL_OK) {
        status = phl_text_append(&text, "", 1, error); /* its end */
    }
    if (status == PHL_OK) {
        status = phl_run_set_meta(training->run, PHL_KEY_PIECE, text.bytes, error);
    }
    phl_text_clear(&text);
    training->in_pieces = status == PHL_OK;
    return status;
}

phl_status phl_pieces_restore(phl_training *training, const char *recorded, phl_error *error)
{
    size_t n = training->n_classes * training->n_chains;
    if (recorded == NULL) {
        return PHL_OK;
    }
    bool *own = phl_alloc(n, sizeof *own, error);
    phl_status status = own == NULL ? PHL_ERR_MEMORY : phl_pieces_read(recorded, n, own, error);
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        training->tasks[i].elsewhere = !own[i];
    }
    phl_free(own);
    return status == PHL_OK ? record(training, error) : status;
}

/* ---------------------------------------------------------------------------------------------
 * By class and chain
 * ------------------------------------------------------------------------------------------- */

/* Tasks of other classes than those named are done elsewhere. */
static phl_status choose_classes(phl_training *training, phl_error *error)
{
    const phl_train_options *options = &training->options;
    bool *named = phl_alloc_zero(training->n_classes, sizeof *named, error);
    phl_status status = named == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < options->n_piece_classes; i++) {
        size_t found = phl_run_find_class(training->run, options->piece_classes[i]);
        if (found == SIZE_MAX) {
            status = phl_raise(error, PHL_ERR_CLASS, NULL,
                               "no tree has the class '%.100s', which is to be trained",
                               options->piece_classes[i]);
        } else {
            named[found] = true;
        }
    }
    for (size_t i = 0; status == PHL_OK && i < training->n_classes * training->n_chains; i++) {
        training->tasks[i].elsewhere = !named[training->tasks[i].class_index];
    }
    phl_free(named);
    return status;
}

static phl_status choose_chains(const phl_training *training, phl_error *error)
{
    const phl_train_options *options = &training->options;
    if (options->piece_last_chain > training->n_chains) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                         "there %s %zu chain%s or restart%s, no number %zu",
                         training->n_chains == 1 ? "is" : "are", training->n_chains,
                         training->n_chains == 1 ? "" : "s", training->n_chains == 1 ? "" : "s",
                         options->piece_last_chain);
    }
    for (size_t i = 0; i < training->n_classes * training->n_chains; i++) {
        size_t number = training->tasks[i].chain + 1;
        if (number < options->piece_first_chain || number > options->piece_last_chain) {
            training->tasks[i].elsewhere = true;
        }
    }
    return PHL_OK;
}

/* ---------------------------------------------------------------------------------------------
 * By cost
 * ------------------------------------------------------------------------------------------- */

struct unit {
    double cost;
    size_t number;
};

static int compare_units(const void *a, const void *b)
{
    const struct unit *x = a, *y = b;
    return x->cost != y->cost ? (x->cost < y->cost ? 1 : -1)
                              : (x->number > y->number) - (x->number < y->number);
}

phl_status phl_pieces_deal(const double *cost, size_t n, size_t pieces, size_t *piece_of,
                           phl_error *error)
{
    double *load = phl_alloc_zero(pieces, sizeof *load, error);
    struct unit *units = phl_alloc(n, sizeof *units, error);
    if (load == NULL || units == NULL) {
        phl_free(load);
        phl_free(units);
        return PHL_ERR_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        units[i] = (struct unit){cost[i], i};
    }
    qsort(units, n, sizeof *units, compare_units);
    for (size_t i = 0; i < n; i++) {
        size_t least = 0;
        for (size_t p = 1; p < pieces; p++) {
            least = load[p] < load[least] ? p : least;
        }
        load[least] += units[i].cost;
        piece_of[units[i].number] = least;
    }
    phl_free(load);
    phl_free(units);
    return PHL_OK;
}

/* One piece takes a task as a whole, or the tasks of a grammar's start, which learns all classes
 * together. */
static phl_status choose_piece(phl_training *training, phl_error *error)
{
    const phl_train_options *options = &training->options;
    bool together = options->kind == PHL_GRAMMAR;
    size_t n_tasks = training->n_classes * training->n_chains;
    size_t n = together ? training->n_chains : n_tasks;
    if (options->pieces > n) {
        return phl_raise(error, PHL_ERR_ARGUMENT, "ask for fewer pieces",
                         "the training consists of %zu task%s, which cannot be cut into %zu pieces",
                         n, n == 1 ? "" : "s", options->pieces);
    }
    double *cost = phl_alloc(n, sizeof *cost, error);
    size_t *piece_of = phl_alloc_zero(n, sizeof *piece_of, error);
    phl_status status = cost == NULL || piece_of == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < n; i++) {
        cost[i] = together ? 1.0 : (double)phl_train_task_cost(&training->tasks[i]);
    }
    if (status == PHL_OK) {
        status = phl_pieces_deal(cost, n, options->pieces, piece_of, error);
    }
    for (size_t i = 0; status == PHL_OK && i < n_tasks; i++) {
        phl_train_task *task = &training->tasks[i];
        task->elsewhere = piece_of[together ? task->chain : i] != options->piece - 1;
    }
    phl_free(cost);
    phl_free(piece_of);
    return status;
}

static phl_status check(const phl_train_options *options, bool by_number, bool by_name,
                        phl_error *error)
{
    if (by_number && (options->piece < 1 || options->piece > options->pieces ||
                      options->pieces > (size_t)PHL_MOST_CHAINS)) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                         "there is no piece %zu of %zu; pieces are counted from 1, up to %d",
                         options->piece, options->pieces, PHL_MOST_CHAINS);
    }
    if (by_number && by_name) {
        return phl_raise(error, PHL_ERR_ARGUMENT, "give one of them",
                         "a piece is chosen by its number, or by classes and chains");
    }
    if (options->n_piece_classes > 0 && options->kind == PHL_GRAMMAR) {
        return phl_raise(error, PHL_ERR_ARGUMENT, "choose pieces by number or by chains",
                         "a start of a grammar learns all classes together, which cannot be "
                         "trained apart");
    }
    if (options->piece_first_chain > options->piece_last_chain ||
        (options->piece_last_chain > 0 && options->piece_first_chain < 1)) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL,
                         "chains from %zu to %zu are none; they are counted from 1",
                         options->piece_first_chain, options->piece_last_chain);
    }
    return PHL_OK;
}

phl_status phl_pieces_choose(phl_training *training, phl_error *error)
{
    const phl_train_options *options = &training->options;
    bool by_number = options->piece != 0 || options->pieces != 0;
    bool by_class = options->n_piece_classes > 0;
    bool by_chain = options->piece_first_chain != 0 || options->piece_last_chain != 0;
    if (!by_number && !by_class && !by_chain) {
        return PHL_OK;
    }
    phl_status status = check(options, by_number, by_class || by_chain, error);
    if (status != PHL_OK) {
        return status;
    }
    if (by_class) {
        status = choose_classes(training, error);
    }
    if (by_chain && status == PHL_OK) {
        status = choose_chains(training, error);
    }
    if (by_number && status == PHL_OK) {
        status = choose_piece(training, error);
    }
    return status == PHL_OK ? record(training, error) : status;
}
