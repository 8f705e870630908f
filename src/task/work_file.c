/* work_file.c - writing a file that keeps trials, and who may; see work_file.h.
 *
 * Contents: the text, the file, one that is being worked on.
 */
#include "task/work_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/sha256.h"
#include "base/text.h"
#include "task/work_words.h"

/* ---------------------------------------------------------------------------------------------
 * The text
 * ------------------------------------------------------------------------------------------- */

static void put_string(phl_text_writer *writer, const char *name, const char *string)
{
    phl_text_put(writer, name);
    if (writer->status == PHL_OK) {
        writer->status = phl_text_append_json(&writer->text, string, strlen(string), writer->error);
    }
}

static void put_count(phl_text_writer *writer, const char *name, uint64_t number)
{
    phl_text_put(writer, name);
    phl_text_put_number(writer, number);
}

static void put_real(phl_text_writer *writer, const char *name, double number)
{
    char digits[32];
    phl_text_of_double(number, digits);
    phl_text_put(writer, name);
    phl_text_put(writer, isnan(number)   ? "null"
                         : isinf(number) ? number > 0.0 ? "\"inf\"" : "\"-inf\""
                                         : digits);
}

static void put_candidate(phl_text_writer *writer, const phl_candidate *candidate)
{
    put_string(writer, "{\"model\":", phl_kind_name(candidate->kind));
    put_count(writer, ",\"states\":", candidate->states);
    put_string(writer, ",\"head\":", phl_work_heads[candidate->head == PHL_HEAD_LINEAR]);
    put_real(writer, ",\"cost\":", candidate->cost);
    put_string(writer, ",\"config\":", candidate->config);
    phl_text_put(writer, "}");
}

/* The trials of a piece; null: all. */
static void put_own(phl_text_writer *writer, const phl_trials *trials)
{
    const char *before = "[";
    phl_text_put(writer, ",\"own\":");
    for (size_t i = 0; trials->in_pieces && i < phl_trials_count(trials); i++) {
        if (!trials->trials[i].elsewhere) {
            put_count(writer, before, i);
            before = ",";
        }
    }
    phl_text_put(writer, !trials->in_pieces ? "null" : *before == '[' ? "[]" : "]");
}

static void put_head(phl_text_writer *writer, const phl_trials *trials)
{
    put_count(writer, PHL_WORK_FILE_BEGIN "\"format\":", PHL_WORK_FORMAT);
    put_string(writer, ",\"version\":", trials->version);
    put_string(writer, ",\"trees\":", trials->fingerprint);
    put_count(writer, ",\"n_trees\":", trials->n_trees);
    put_string(writer, ",\"seed\":", trials->seed);
    put_string(writer, ",\"folding\":", trials->folding);
    for (size_t f = 0; f < trials->n_folds; f++) {
        put_count(writer, f == 0 ? ",\"fold_trees\":[" : ",", trials->fold_trees[f]);
    }
    put_string(writer, "],\"task\":", phl_work_tasks[trials->per_class]);
    phl_text_put(writer, trials->structure ? ",\"structure\":true" : ",\"structure\":false");
    for (size_t p = 0; p < trials->n_priors; p++) {
        put_string(writer, p == 0 ? ",\"priors\":[" : ",", phl_work_priors[trials->priors[p]]);
    }
    phl_text_put(writer, "],\"classes\":[");
    for (size_t k = 0; k < trials->classes.count; k++) {
        put_string(writer, k == 0 ? "" : ",", phl_alphabet_name(&trials->classes, k));
    }
    phl_text_put(writer, "],\"candidates\":[");
    for (size_t c = 0; c < trials->n_candidates; c++) {
        phl_text_put(writer, c == 0 ? "" : ",");
        put_candidate(writer, &trials->candidates[c]);
    }
    phl_text_put(writer, "]");
    put_own(writer, trials);
    phl_text_put(writer, "}\n");
}

static void put_result(phl_text_writer *writer, const phl_trial_result *result)
{
    put_count(writer, "{\"trees\":", result->fold.trees);
    put_count(writer, ",\"nodes\":", result->fold.nodes);
    put_real(writer, ",\"accuracy\":", result->fold.accuracy);
    put_real(writer, ",\"entropy_bits\":", result->fold.entropy_bits);
    put_real(writer, ",\"log_loss\":", result->fold.log_loss);
    put_real(writer, ",\"log_likelihood_per_node\":", result->fold.log_likelihood_per_node);
    put_count(writer, ",\"sums\":[", result->sums.n);
    put_count(writer, ",", result->sums.right);
    put_count(writer, ",", result->sums.n_loss);
    put_real(writer, ",", result->sums.entropy_bits);
    put_real(writer, ",", result->sums.loss);
    for (size_t b = 0; b < PHL_MEASURE_BINS; b++) {
        put_count(writer, b == 0 ? "],\"bins\":[" : ",", result->bins[b].n);
        put_count(writer, ",", result->bins[b].right);
        put_real(writer, ",", result->bins[b].p);
    }
    phl_text_put(writer, "],\"taken\":[");
    for (size_t i = 0; i < result->n_taken; i++) {
        put_count(writer, i == 0 ? "" : ",", result->taken[i].truth);
        put_count(writer, ",", result->taken[i].predicted);
        put_count(writer, ",", result->taken[i].count);
    }
    phl_text_put(writer, "]}");
}

static void put_trials(phl_text_writer *writer, const phl_trials *trials)
{
    for (size_t i = 0; i < phl_trials_count(trials); i++) {
        const phl_trial *trial = &trials->trials[i];
        if (trial->results != NULL) {
            put_count(writer, "{\"trial\":", i);
            put_real(writer, ",\"seconds\":", trial->seconds);
            phl_text_put(writer, ",\"results\":[");
            for (size_t p = 0; p < trials->n_priors; p++) {
                phl_text_put(writer, p == 0 ? "" : ",");
                put_result(writer, &trial->results[p]);
            }
            phl_text_put(writer, "]}\n");
        }
    }
}

static phl_status make_text(const phl_trials *trials, phl_text *text, phl_error *error)
{
    phl_text_writer writer = {{NULL, 0, 0}, PHL_OK, error};
    char digest[PHL_WORK_DIGEST_SIZE];
    put_head(&writer, trials);
    put_trials(&writer, trials);
    if (writer.status == PHL_OK) {
        phl_work_digest(writer.text.bytes, writer.text.length, digest);
        put_string(&writer, "{\"sha256\":", digest);
        phl_text_put(&writer, "}\n");
    }
    if (writer.status != PHL_OK) {
        phl_text_clear(&writer.text);
        return writer.status;
    }
    *text = writer.text;
    return PHL_OK;
}

/* ---------------------------------------------------------------------------------------------
 * The file
 * ------------------------------------------------------------------------------------------- */

static phl_status write_all(const phl_placing *placing, const phl_text *text, phl_error *error)
{
    size_t done = 0;
    while (done < text->length) {
        ssize_t wrote = write(placing->file, text->bytes + done, text->length - done);
        if (wrote < 0 && errno != EINTR) {
            return phl_raise_errno(error, PHL_ERR_WRITE, errno, placing->name, "cannot write");
        }
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    return PHL_OK;
}

/* On success the new file is in place, and open. */
static phl_status place(const phl_trials *trials, const char *path, phl_placing_rule rule,
                        phl_placing *placing, phl_error *error)
{
    phl_text text = {0};
    phl_status status = make_text(trials, &text, error);
    if (status == PHL_OK) {
        status = phl_placing_open(placing, path, error);
    }
    if (status == PHL_OK && placing->target == NULL) {
        phl_position position = {path, 0, 0};
        status = phl_raise_at(error, PHL_ERR_WRITE, position, "name a file",
                              "what keeps an evaluation must be a file");
    }
    if (status == PHL_OK) {
        status = write_all(placing, &text, error);
    }
    if (status == PHL_OK) {
        status = phl_placing_commit(placing, rule, error);
    }
    phl_text_clear(&text);
    return status;
}

phl_status phl_work_file_save(const phl_trials *trials, const char *path, bool replace,
                              phl_error *error)
{
    phl_placing placing = {.file = -1};
    phl_status status =
        place(trials, path, replace ? PHL_PLACING_REPLACES : PHL_PLACING_IS_NEW, &placing, error);
    phl_placing_close(&placing);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * One that is being worked on
 * ------------------------------------------------------------------------------------------- */

static phl_status refuse(const char *path, phl_status status, const char *remedy,
                         const char *message, phl_error *error)
{
    phl_position position = {path, 0, 0};
    return phl_raise_at(error, status, position, remedy, "%s", message);
}

/* What the file keeps becomes ours. */
static phl_status take(const char *path, phl_trials *trials, phl_trials *stored, phl_error *error)
{
    static const char *const remedy = "give the options it was begun with, or name another file";
    const char *difference = phl_trials_differ(trials, stored);
    if (difference != NULL) {
        char message[200];
        (void)phl_remedy(message, sizeof message, "this file keeps an evaluation of %s",
                         difference);
        return refuse(path, PHL_ERR_CHANGED, remedy, message, error);
    }
    bool same = trials->in_pieces == stored->in_pieces;
    for (size_t i = 0; same && i < phl_trials_count(trials); i++) {
        same = trials->trials[i].elsewhere == stored->trials[i].elsewhere;
    }
    if (!same) {
        return refuse(path, PHL_ERR_CHANGED, remedy,
                      "this file keeps another piece of the evaluation", error);
    }
    for (size_t i = 0; i < phl_trials_count(trials); i++) {
        trials->trials[i].results = stored->trials[i].results;
        trials->trials[i].seconds = stored->trials[i].seconds;
        stored->trials[i].results = NULL;
    }
    return PHL_OK;
}

static phl_status go_on(phl_work_file *work, phl_trials *trials, phl_error *error)
{
    phl_trials stored = {0};
    if (flock(work->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        return refuse(work->path, PHL_ERR_WRITE, "wait for it, or name another file",
                      "another evaluation is at work on this file", error);
    }
    if (!phl_placing_is_file(work->path, work->lock)) { /* written between opening and locking */
        return refuse(work->path, PHL_ERR_WRITE, "wait for it, or name another file",
                      "another evaluation was at work on this file just now", error);
    }
    phl_status status = phl_work_file_read(work->path, work->lock, &stored, error);
    if (status == PHL_OK) {
        status = take(work->path, trials, &stored, error);
    }
    phl_trials_clear(&stored);
    return status;
}

phl_status phl_work_file_open(phl_work_file *work, const char *path, phl_trials *trials,
                              phl_error *error)
{
    *work = (phl_work_file){.path = path, .lock = -1, .placing = {.file = -1}};
    if (path == NULL) {
        return PHL_OK;
    }
    work->lock = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (work->lock >= 0) {
        return go_on(work, trials, error);
    }
    return errno == ENOENT ? place(trials, path, PHL_PLACING_IS_NEW, &work->placing, error)
                           : phl_raise_errno(error, PHL_ERR_OPEN, errno, path, "cannot open");
}

phl_status phl_work_file_write(phl_work_file *work, const phl_trials *trials, phl_error *error)
{
    phl_placing placing = {.file = -1};
    if (work->path == NULL) {
        return PHL_OK;
    }
    phl_status status = place(trials, work->path, PHL_PLACING_REPLACES, &placing, error);
    if (status != PHL_OK) {
        phl_placing_close(&placing);
        return status;
    }
    phl_work_file_close(work); /* the new file is locked as well */
    work->placing = placing;
    return PHL_OK;
}

void phl_work_file_close(phl_work_file *work)
{
    if (work->path != NULL) {
        phl_placing_close(&work->placing);
        work->placing = (phl_placing){.file = -1};
    }
    if (work->path != NULL && work->lock >= 0) {
        (void)close(work->lock);
        work->lock = -1;
    }
}
