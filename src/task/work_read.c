/* work_read.c - reading a file that keeps trials, which may hold anything; see work_file.h.
 *
 * Contents: words, values, what is evaluated, trials, the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "task/work_file.h"
#include "task/work_words.h"

/* ---------------------------------------------------------------------------------------------
 * Words
 * ------------------------------------------------------------------------------------------- */

const char *const phl_work_heads[2] = {"none", "linear"};
const char *const phl_work_tasks[2] = {"likelihood", "classify"};
const char *const phl_work_priors[4] = {"uniform", "empirical", "learned", "chosen"};

void phl_work_digest(const void *bytes, size_t length, char out[PHL_WORK_DIGEST_SIZE])
{
    unsigned char digest[PHL_SHA256_SIZE];
    phl_sha256_bytes(bytes, length, digest);
    for (size_t i = 0; i < sizeof digest; i++) {
        (void)snprintf(out + 2 * i, 3, "%02x", digest[i]);
    }
}

/* ---------------------------------------------------------------------------------------------
 * Values
 * ------------------------------------------------------------------------------------------- */

/* What is read, and whether everything was as it should be so far. */
struct reader {
    bool good;
};

static size_t get_count(struct reader *reader, const phl_json_value *value, size_t most)
{
    double number = phl_json_number_of(value);
    bool good = phl_json_is(value, PHL_JSON_NUMBER) && number >= 0.0 && number <= 0x1p53 &&
                floor(number) == number && number <= (double)most;
    reader->good = reader->good && good;
    return good ? (size_t)number : 0;
}

/* Not null: with `known`. */
static double get_real(struct reader *reader, const phl_json_value *value, bool known)
{
    const char *word = phl_json_string_of(value);
    if (phl_json_is(value, PHL_JSON_NUMBER)) {
        return phl_json_number_of(value);
    }
    if (word != NULL && (strcmp(word, "inf") == 0 || strcmp(word, "-inf") == 0)) {
        return word[0] == '-' ? -(double)INFINITY : (double)INFINITY;
    }
    reader->good = reader->good && !known && phl_json_is(value, PHL_JSON_NULL);
    return (double)NAN;
}

static size_t get_word(struct reader *reader, const phl_json_value *value, const char *const *words,
                       size_t n)
{
    const char *word = phl_json_string_of(value);
    for (size_t i = 0; word != NULL && i < n; i++) {
        if (strcmp(word, words[i]) == 0) {
            return i;
        }
    }
    reader->good = false;
    return 0;
}

static phl_status get_text(struct reader *reader, const phl_json_value *value, char **text,
                           phl_error *error)
{
    const char *found = phl_json_string_of(value);
    reader->good = reader->good && found != NULL;
    *text = phl_copy_text(found == NULL ? "" : found, found == NULL ? 0 : strlen(found), error);
    return *text == NULL ? PHL_ERR_MEMORY : PHL_OK;
}

/* ---------------------------------------------------------------------------------------------
 * What is evaluated
 * ------------------------------------------------------------------------------------------- */

static phl_status get_candidates(struct reader *reader, const phl_json_value *array,
                                 phl_trials *trials, phl_error *error)
{
    const phl_json_value *entry = NULL;
    phl_status status = PHL_OK;
    for (size_t c = 0; status == PHL_OK && c < trials->n_candidates; c++) {
        phl_candidate *candidate = &trials->candidates[c];
        entry = phl_json_next(array, entry);
        const char *model = phl_json_string_of(phl_json_member(entry, "model"));
        candidate->kind = model == NULL ? 0 : phl_kind_find(model);
        reader->good = reader->good && candidate->kind != 0;
        candidate->states =
            (uint32_t)get_count(reader, phl_json_member(entry, "states"), PHL_MOST_STATES);
        candidate->head = get_word(reader, phl_json_member(entry, "head"), phl_work_heads, 2) == 1
                              ? PHL_HEAD_LINEAR
                              : PHL_HEAD_NONE;
        candidate->cost = get_real(reader, phl_json_member(entry, "cost"), true);
        reader->good = reader->good && isfinite(candidate->cost) && candidate->cost >= 0.0;
        status = get_text(reader, phl_json_member(entry, "config"), &candidate->config, error);
    }
    return status;
}

static phl_status get_classes(struct reader *reader, const phl_json_value *array,
                              phl_alphabet *classes, phl_error *error)
{
    const phl_json_value *entry = NULL;
    phl_status status = PHL_OK;
    for (size_t k = 0; status == PHL_OK && k < phl_json_size_of(array); k++) {
        int32_t number = 0;
        entry = phl_json_next(array, entry);
        const char *name = phl_json_string_of(entry);
        reader->good = reader->good && name != NULL;
        if (name != NULL) {
            status = phl_alphabet_add(classes, name, strlen(name), &number, error);
            reader->good = reader->good && (size_t)number == k; /* none twice */
        }
    }
    return status;
}

static void get_lists(struct reader *reader, const phl_json_value *head, phl_trials *trials)
{
    const phl_json_value *folds = phl_json_member(head, "fold_trees");
    const phl_json_value *priors = phl_json_member(head, "priors");
    const phl_json_value *own = phl_json_member(head, "own"), *entry = NULL;
    size_t sum = 0, least = 0;
    for (size_t f = 0; f < trials->n_folds; f++) {
        entry = phl_json_next(folds, entry);
        trials->fold_trees[f] = get_count(reader, entry, trials->n_trees - sum);
        sum += trials->fold_trees[f];
    }
    reader->good = reader->good && sum == trials->n_trees;
    entry = NULL;
    for (size_t p = 0; p < trials->n_priors; p++) {
        entry = phl_json_next(priors, entry);
        trials->priors[p] = (phl_class_prior)get_word(reader, entry, phl_work_priors, 4);
    }
    trials->in_pieces = !phl_json_is(own, PHL_JSON_NULL);
    for (size_t i = 0; trials->in_pieces && i < phl_trials_count(trials); i++) {
        trials->trials[i].elsewhere = true;
    }
    entry = NULL;
    for (size_t i = 0; reader->good && i < phl_json_size_of(own); i++) { /* ascending */
        entry = phl_json_next(own, entry);
        size_t trial = get_count(reader, entry, phl_trials_count(trials) - 1);
        reader->good = reader->good && trial >= least;
        least = trial + 1;
        trials->trials[trial].elsewhere = false;
    }
    reader->good = reader->good && own != NULL;
}

static phl_status get_facts(struct reader *reader, const phl_json_value *head, phl_trials *trials,
                            phl_error *error)
{
    const struct {
        const char *name;
        char **text;
    } facts[] = {{"version", &trials->version},
                 {"trees", &trials->fingerprint},
                 {"seed", &trials->seed},
                 {"folding", &trials->folding}};
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < sizeof facts / sizeof *facts; i++) {
        status = get_text(reader, phl_json_member(head, facts[i].name), facts[i].text, error);
    }
    return status;
}

static phl_status get_head(struct reader *reader, const phl_json_value *head, phl_trials *trials,
                           phl_error *error)
{
    const phl_json_value *candidates = phl_json_member(head, "candidates");
    const phl_json_value *folds = phl_json_member(head, "fold_trees");
    const phl_json_value *priors = phl_json_member(head, "priors");
    size_t n_candidates = phl_json_size_of(candidates), n_folds = phl_json_size_of(folds);
    if (!phl_json_is(candidates, PHL_JSON_ARRAY) || !phl_json_is(folds, PHL_JSON_ARRAY) ||
        !phl_json_is(priors, PHL_JSON_ARRAY) || n_candidates == 0 || n_folds < 2 ||
        phl_json_size_of(priors) == 0) {
        reader->good = false;
        return PHL_OK;
    }
    phl_status status =
        phl_trials_init(trials, n_candidates, n_folds, phl_json_size_of(priors), error);
    if (status == PHL_OK) {
        status = get_facts(reader, head, trials, error);
    }
    if (status == PHL_OK) {
        trials->n_trees = get_count(reader, phl_json_member(head, "n_trees"), SIZE_MAX);
        trials->per_class = get_word(reader, phl_json_member(head, "task"), phl_work_tasks, 2) == 1;
        trials->structure = phl_json_is(phl_json_member(head, "structure"), PHL_JSON_TRUE);
        get_lists(reader, head, trials);
        status = get_candidates(reader, candidates, trials, error);
    }
    return status == PHL_OK
               ? get_classes(reader, phl_json_member(head, "classes"), &trials->classes, error)
               : status;
}

/* ---------------------------------------------------------------------------------------------
 * Trials
 * ------------------------------------------------------------------------------------------- */

static void get_bins(struct reader *reader, const phl_json_value *array, phl_trial_result *result)
{
    const phl_json_value *entry = NULL;
    uint64_t sum = 0;
    reader->good = reader->good && phl_json_size_of(array) == 3u * PHL_MEASURE_BINS;
    for (size_t b = 0; reader->good && b < PHL_MEASURE_BINS; b++) {
        phl_measure_bin *bin = &result->bins[b];
        entry = phl_json_next(array, entry);
        bin->n = get_count(reader, entry, result->sums.n - sum);
        sum += bin->n;
        entry = phl_json_next(array, entry);
        bin->right = get_count(reader, entry, bin->n);
        entry = phl_json_next(array, entry);
        bin->p = get_real(reader, entry, true);
    }
}

/* Ascending pairs of classes, whose counts are those of the sums. */
static phl_status get_taken(struct reader *reader, const phl_json_value *array, size_t n_classes,
                            phl_trial_result *result, phl_error *error)
{
    const phl_json_value *entry = NULL;
    size_t n = phl_json_size_of(array) / 3;
    uint64_t sum = 0, right = 0, least = 0;
    result->taken = phl_alloc(n, sizeof *result->taken, error);
    if (result->taken == NULL) {
        return PHL_ERR_MEMORY;
    }
    reader->good = reader->good && phl_json_is(array, PHL_JSON_ARRAY) &&
                   phl_json_size_of(array) == 3 * n && (n == 0 || n_classes > 0);
    for (size_t i = 0; reader->good && i < n; i++) {
        phl_taken *taken = &result->taken[i];
        entry = phl_json_next(array, entry);
        taken->truth = (uint32_t)get_count(reader, entry, n_classes - 1);
        entry = phl_json_next(array, entry);
        taken->predicted = (uint32_t)get_count(reader, entry, n_classes - 1);
        entry = phl_json_next(array, entry);
        taken->count = get_count(reader, entry, result->sums.n - sum);
        uint64_t place = (uint64_t)taken->truth * n_classes + taken->predicted;
        reader->good = reader->good && taken->count > 0 && place >= least;
        least = place + 1;
        sum += taken->count;
        right += taken->truth == taken->predicted ? taken->count : 0;
    }
    result->n_taken = n;
    reader->good = reader->good && sum == result->sums.n && right == result->sums.right;
    return PHL_OK;
}

static phl_status get_result(struct reader *reader, const phl_json_value *object,
                             const phl_trials *trials, size_t fold, phl_trial_result *result,
                             phl_error *error)
{
    const phl_json_value *sums = phl_json_member(object, "sums"), *entry = NULL;
    size_t n_trees = (size_t)trials->fold_trees[fold];
    result->fold.trees = get_count(reader, phl_json_member(object, "trees"), n_trees);
    result->fold.nodes = get_count(reader, phl_json_member(object, "nodes"), SIZE_MAX);
    result->fold.accuracy = get_real(reader, phl_json_member(object, "accuracy"), false);
    result->fold.entropy_bits = get_real(reader, phl_json_member(object, "entropy_bits"), false);
    result->fold.log_loss = get_real(reader, phl_json_member(object, "log_loss"), false);
    result->fold.log_likelihood_per_node =
        get_real(reader, phl_json_member(object, "log_likelihood_per_node"), false);
    reader->good = reader->good && phl_json_size_of(sums) == 5 && result->fold.trees == n_trees;
    if (!reader->good) {
        return PHL_OK;
    }
    size_t items = trials->per_class ? n_trees : 0;
    entry = phl_json_next(sums, NULL);
    result->sums.n = get_count(reader, entry, items);
    entry = phl_json_next(sums, entry);
    result->sums.right = get_count(reader, entry, (size_t)result->sums.n);
    entry = phl_json_next(sums, entry);
    result->sums.n_loss = get_count(reader, entry, (size_t)result->sums.n);
    entry = phl_json_next(sums, entry);
    result->sums.entropy_bits = get_real(reader, entry, true);
    entry = phl_json_next(sums, entry);
    result->sums.loss = get_real(reader, entry, true);
    result->sums.used = result->sums.n > 0;
    get_bins(reader, phl_json_member(object, "bins"), result);
    return get_taken(reader, phl_json_member(object, "taken"), trials->classes.count, result,
                     error);
}

static phl_status get_trial(struct reader *reader, const phl_json_value *object, phl_trials *trials,
                            phl_error *error)
{
    size_t number =
        get_count(reader, phl_json_member(object, "trial"), phl_trials_count(trials) - 1);
    const phl_json_value *results = phl_json_member(object, "results"), *entry = NULL;
    double seconds = get_real(reader, phl_json_member(object, "seconds"), true);
    phl_trial *trial = &trials->trials[number];
    reader->good = reader->good && phl_json_size_of(results) == trials->n_priors &&
                   isfinite(seconds) && seconds >= 0.0 && trial->results == NULL &&
                   !trial->elsewhere;
    if (!reader->good) {
        return PHL_OK;
    }
    trial->seconds = seconds;
    trial->results = phl_alloc_zero(trials->n_priors, sizeof *trial->results, error);
    phl_status status = trial->results == NULL ? PHL_ERR_MEMORY : PHL_OK;
    for (size_t p = 0; status == PHL_OK && p < trials->n_priors; p++) {
        entry = phl_json_next(results, entry);
        status =
            get_result(reader, entry, trials, number % trials->n_folds, &trial->results[p], error);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * The file
 * ------------------------------------------------------------------------------------------- */

static phl_status damaged(const char *path, size_t line, phl_error *error)
{
    phl_position position = {path, line, 0};
    return phl_raise_at(error, PHL_ERR_SYNTAX, position, "use an undamaged copy, or evaluate again",
                        "this file of an evaluation is damaged");
}

/* The bytes of an open file and a NUL. */
static phl_status read_bytes(const char *path, int file, char **bytes, size_t *length,
                             phl_error *error)
{
    struct stat known;
    if (fstat(file, &known) != 0) {
        return phl_raise_errno(error, PHL_ERR_READ, errno, path, "cannot read");
    }
    if (!S_ISREG(known.st_mode)) {
        phl_position position = {path, 0, 0};
        return phl_raise_at(error, PHL_ERR_FORMAT, position, NULL,
                            "this is no file that keeps an evaluation");
    }
    size_t size = (size_t)known.st_size;
    *bytes = phl_alloc(size + 1, 1, error);
    if (*bytes == NULL) {
        return PHL_ERR_MEMORY;
    }
    *length = 0;
    ssize_t got = 1;
    while (*length < size && got != 0) {
        got = pread(file, *bytes + *length, size - *length, (off_t)*length);
        if (got < 0 && errno != EINTR) {
            return phl_raise_errno(error, PHL_ERR_READ, errno, path, "cannot read");
        }
        *length += got > 0 ? (size_t)got : 0;
    }
    (*bytes)[*length] = '\0';
    return PHL_OK;
}

/* One line, which is ended by NUL. */
static phl_status read_line(const char *path, size_t number, const char *line, phl_trials *trials,
                            phl_error *error)
{
    phl_json json = {0};
    phl_error fault = {0};
    struct reader reader = {true};
    phl_status status = phl_json_load(line, &json, &fault);
    if (status == PHL_OK) {
        status = number == 1 ? get_head(&reader, &json.values[0], trials, &fault)
                             : get_trial(&reader, &json.values[0], trials, &fault);
    }
    phl_json_clear(&json);
    return status == PHL_ERR_MEMORY           ? phl_raise(error, status, NULL, "%s", fault.message)
           : status != PHL_OK || !reader.good ? damaged(path, number, error)
                                              : PHL_OK;
}

/* Is the last line the digest of those before?  *end: where it begins. */
static bool is_whole(const char *bytes, size_t length, size_t *end)
{
    char digest[PHL_WORK_DIGEST_SIZE], expected[PHL_WORK_DIGEST_SIZE + 32];
    if (length < 2 || bytes[length - 1] != '\n' || memchr(bytes, '\0', length) != NULL) {
        return false;
    }
    for (*end = length - 1; *end > 0 && bytes[*end - 1] != '\n'; (*end)--) {
    }
    phl_work_digest(bytes, *end, digest);
    int n = snprintf(expected, sizeof expected, "{\"sha256\":\"%s\"}\n", digest);
    return *end > 0 && length - *end == (size_t)n && memcmp(bytes + *end, expected, (size_t)n) == 0;
}

static phl_status read_lines(const char *path, char *bytes, size_t length, phl_trials *trials,
                             phl_error *error)
{
    static const char begin[] = PHL_WORK_FILE_BEGIN;
    char format[64];
    size_t end = 0, number = 0;
    phl_position position = {path, 0, 0};
    int n = snprintf(format, sizeof format, "%s\"format\":%d,", begin, PHL_WORK_FORMAT);
    if (length < sizeof begin || memcmp(bytes, begin, sizeof begin - 1) != 0) {
        return phl_raise_at(error, PHL_ERR_FORMAT, position, NULL,
                            "this is no file that keeps an evaluation");
    }
    if (strncmp(bytes, format, (size_t)n) != 0) {
        return phl_raise_at(error, PHL_ERR_FORMAT, position, "use the version that wrote it",
                            "this file of an evaluation was written by another version");
    }
    if (!is_whole(bytes, length, &end)) {
        return damaged(path, 0, error);
    }
    phl_status status = PHL_OK;
    for (size_t at = 0; status == PHL_OK && at < end;) {
        char *stop = strchr(bytes + at, '\n');
        *stop = '\0';
        status = read_line(path, ++number, bytes + at, trials, error);
        at = (size_t)(stop - bytes) + 1;
    }
    return status;
}

phl_status phl_work_file_read(const char *path, int file, phl_trials *trials, phl_error *error)
{
    char *bytes = NULL;
    size_t length = 0;
    int own = file < 0 ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (file < 0 && own < 0) {
        return phl_raise_errno(error, PHL_ERR_OPEN, errno, path, "cannot open");
    }
    phl_status status = read_bytes(path, file < 0 ? own : file, &bytes, &length, error);
    if (status == PHL_OK) {
        status = read_lines(path, bytes, length, trials, error);
    }
    phl_free(bytes);
    if (own >= 0) {
        (void)close(own);
    }
    return status;
}

bool phl_work_recognise(const char *path)
{
    char begin[sizeof PHL_WORK_FILE_BEGIN - 1];
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is = file >= 0 && read(file, begin, sizeof begin) == (ssize_t)sizeof begin &&
              memcmp(begin, PHL_WORK_FILE_BEGIN, sizeof begin) == 0;
    if (file >= 0) {
        (void)close(file);
    }
    return is;
}
