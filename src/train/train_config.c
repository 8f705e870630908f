/* train_config.c - the options of a training, as the run it gives records them; see train_config.h.
 *
 * Contents: what is recorded, writing, reading, the run.
 */
#include "train/train_config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "train/train_options.h"

/* ---------------------------------------------------------------------------------------------
 * What is recorded
 * ------------------------------------------------------------------------------------------- */

typedef enum field_type { SMALL, SIZE, COUNT, REAL, TRUTH } field_type;

/* A member of phl_train_options and its name in the object. */
typedef struct field {
    const char *name;
    field_type type;
    size_t offset;
} field;

#define FIELD(type, member)                                                                        \
    {                                                                                              \
#member, type, offsetof(phl_train_options, member)                                         \
    }

/* In the order in which they are written, after those of every run. */
static const field em_fields[] = {
    FIELD(SIZE, restarts),
    FIELD(REAL, tolerance),
    FIELD(REAL, smoothing),
    FIELD(REAL, gamma),
};
/* After the sampler and the clustering, before and after the annealing. */
static const field chain_fields[] = {
    FIELD(SIZE, warmup),
    FIELD(SIZE, chains),
    FIELD(SIZE, keep),
};
static const field gibbs_fields[] = {
    FIELD(SMALL, slots_min),
    FIELD(SMALL, slots_max),
    FIELD(REAL, slot_support),
    FIELD(COUNT, core_max),
    FIELD(REAL, phi),
    FIELD(REAL, alpha),
    FIELD(REAL, alpha0),
    FIELD(REAL, beta),
    FIELD(REAL, gamma),
    FIELD(REAL, delta),
    FIELD(TRUTH, update_concentration),
};
/* Not in files of 0.2.0 and before, which made no tries. */
static const field recycle_field[] = {FIELD(SIZE, recycle)};
#define LENGTH(fields) (sizeof(fields) / sizeof *(fields))

/* Words for choices, the first one for 0 or false. */
static const char *const learners[] = {"em", "gibbs"};
static const char *const samplers[] = {"blocked", "paper"};
static const char *const older_samplers[] = {"blocked", "seed"}; /* in files of 0.1.0 */
static const char *const clusterings[] = {"hard", "soft"};
static const char *const heads[] = {"none", "linear"};

static size_t width_of(field_type type)
{
    static const size_t widths[] = {[SMALL] = sizeof(uint32_t),
                                    [SIZE] = sizeof(size_t),
                                    [COUNT] = sizeof(uint64_t),
                                    [REAL] = sizeof(double),
                                    [TRUTH] = sizeof(bool)};
    return widths[type];
}

static void copy_fields(const field *fields, size_t n, const phl_train_options *from,
                        phl_train_options *to)
{
    for (size_t i = 0; i < n; i++) {
        memcpy((char *)to + fields[i].offset, (const char *)from + fields[i].offset,
               width_of(fields[i].type));
    }
}

/* Nothing is left to be worked out, and nothing depends on the machine. */
static void settle(phl_train_options *options)
{
    phl_train_options_resolve(options);
    options->memory_limit = 0;
}

/* Options with what is not recorded at its default. */
static phl_train_options recorded(const phl_train_options *options)
{
    phl_train_options made;
    phl_train_options_init(&made);
    made.kind = options->kind;
    made.learner = options->learner;
    made.states = options->states;
    made.per_class = options->per_class;
    made.head = options->head;
    made.calibrate = options->calibrate;
    made.seed = options->seed;
    made.iterations = options->iterations;
    made.command_line = options->command_line;
    made.partition = options->partition;
    made.members = options->members;
    if (options->learner == PHL_LEARNER_EM) {
        copy_fields(em_fields, LENGTH(em_fields), options, &made);
    } else {
        made.sampler = options->sampler;
        made.soft = options->soft;
        copy_fields(chain_fields, LENGTH(chain_fields), options, &made);
        made.anneal_start = options->anneal_start;
        made.anneal_end = options->anneal_end;
        copy_fields(gibbs_fields, LENGTH(gibbs_fields), options, &made);
        made.recycle = options->recycle;
        made.sizes = options->sizes;
        made.n_sizes = options->n_sizes;
    }
    settle(&made);
    return made;
}

/* ---------------------------------------------------------------------------------------------
 * Writing
 * ------------------------------------------------------------------------------------------- */

static void put_name(phl_text_writer *writer, const char *name)
{
    phl_text_put(writer, writer->text.length == 0 ? "{\"" : ",\"");
    phl_text_put(writer, name);
    phl_text_put(writer, "\":");
}

static void put_real(phl_text_writer *writer, double number)
{
    char digits[32];
    phl_text_of_double(number, digits);
    phl_text_put(writer, digits);
}

static void put_word(phl_text_writer *writer, const char *name, const char *word)
{
    put_name(writer, name);
    phl_text_put(writer, "\"");
    phl_text_put(writer, word);
    phl_text_put(writer, "\"");
}

static void put_count(phl_text_writer *writer, const char *name, uint64_t number)
{
    put_name(writer, name);
    phl_text_put_number(writer, number);
}

static void put_truth(phl_text_writer *writer, const char *name, bool truth)
{
    put_name(writer, name);
    phl_text_put(writer, truth ? "true" : "false");
}

static void put_fields(phl_text_writer *writer, const phl_train_options *options,
                       const field *fields, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const void *member = (const char *)options + fields[i].offset;
        switch (fields[i].type) {
        case SMALL:
            put_count(writer, fields[i].name, *(const uint32_t *)member);
            break;
        case SIZE:
            put_count(writer, fields[i].name, *(const size_t *)member);
            break;
        case COUNT:
            put_count(writer, fields[i].name, *(const uint64_t *)member);
            break;
        case REAL:
            put_name(writer, fields[i].name);
            put_real(writer, *(const double *)member);
            break;
        case TRUTH:
            put_truth(writer, fields[i].name, *(const bool *)member);
            break;
        }
    }
}

static void put_gibbs(phl_text_writer *writer, const phl_train_options *options)
{
    put_word(writer, "sampler", samplers[options->sampler == PHL_SAMPLER_PAPER]);
    put_word(writer, "clustering", clusterings[options->soft]);
    put_fields(writer, options, chain_fields, LENGTH(chain_fields));
    put_name(writer, "anneal");
    phl_text_put(writer, "[");
    put_real(writer, options->anneal_start);
    phl_text_put(writer, ",");
    phl_text_put_number(writer, options->anneal_end);
    phl_text_put(writer, "]");
    put_fields(writer, options, gibbs_fields, LENGTH(gibbs_fields));
    put_fields(writer, options, recycle_field, LENGTH(recycle_field));
    if (options->sizes != NULL) {
        put_name(writer, "k");
        phl_text_put(writer, "[");
        for (size_t i = 0; i < options->n_sizes; i++) {
            phl_text_put(writer, i > 0 ? "," : "");
            phl_text_put_number(writer, options->sizes[i]);
        }
        phl_text_put(writer, "]");
    }
}

static void put_config(phl_text_writer *writer, const phl_train_options *options,
                       const size_t *earlier, size_t n_earlier, uint32_t slots)
{
    bool em = options->learner == PHL_LEARNER_EM;
    put_word(writer, "model", phl_kind_name(options->kind));
    put_word(writer, "learner", learners[!em]);
    put_count(writer, "states", options->states);
    put_count(writer, "slots", slots);
    put_truth(writer, "per_class", options->per_class);
    put_count(writer, "seed", options->seed);
    put_count(writer, "iterations", options->iterations);
    if (options->head !=
        PHL_HEAD_NONE) { /* what older versions do not have, only where it is used */
        put_word(writer, "head", heads[1]);
    }
    if (options->calibrate) {
        put_truth(writer, "calibrate", true);
    }
    if (n_earlier > 0) {
        put_name(writer, "earlier");
        for (size_t i = 0; i < n_earlier; i++) {
            phl_text_put(writer, i > 0 ? "," : "[");
            phl_text_put_number(writer, earlier[i]);
        }
        phl_text_put(writer, "]");
    }
    if (em) {
        put_fields(writer, options, em_fields, LENGTH(em_fields));
    } else {
        put_gibbs(writer, options);
    }
    phl_text_put(writer, "}");
}

/* ---------------------------------------------------------------------------------------------
 * Reading
 * ------------------------------------------------------------------------------------------- */

/* What is read, and what was wrong with it first. */
struct reader {
    const phl_json_value *object;
    const char *missing; /* NULL: nothing so far */
};

static void miss(struct reader *reader, const char *name)
{
    reader->missing = reader->missing == NULL ? name : reader->missing;
}

static double get_real(struct reader *reader, const char *name)
{
    const phl_json_value *value = phl_json_member(reader->object, name);
    if (!phl_json_is(value, PHL_JSON_NUMBER)) {
        miss(reader, name);
    }
    return phl_json_number_of(value);
}

/* Whole numbers are read as doubles, which hold them to 2^53: seeds may be larger, but stand beside
 * the object. */
static bool is_whole(double number, double most)
{
    return number >= 0.0 && number <= most && floor(number) == number;
}

static uint64_t get_count(struct reader *reader, const char *name, double most)
{
    double number = get_real(reader, name);
    if (!is_whole(number, most)) {
        miss(reader, name);
        return 0;
    }
    return (uint64_t)number;
}

static size_t get_size(struct reader *reader, const char *name)
{
    return (size_t)get_count(reader, name, 0x1p52);
}

static uint32_t get_small(struct reader *reader, const char *name)
{
    return (uint32_t)get_count(reader, name, 4294967294.0);
}

static bool get_truth(struct reader *reader, const char *name)
{
    const phl_json_value *value = phl_json_member(reader->object, name);
    bool truth = phl_json_is(value, PHL_JSON_TRUE);
    if (!truth && !phl_json_is(value, PHL_JSON_FALSE)) {
        miss(reader, name);
    }
    return truth;
}

static bool is_word(const struct reader *reader, const char *name, const char *word)
{
    const char *found = phl_json_string_of(phl_json_member(reader->object, name));
    return found != NULL && strcmp(found, word) == 0;
}

/* Is the word that is there the second of the two that may be? */
static bool get_choice(struct reader *reader, const char *name, const char *const words[2])
{
    bool second = is_word(reader, name, words[1]);
    if (!second && !is_word(reader, name, words[0])) {
        miss(reader, name);
    }
    return second;
}

static void get_fields(struct reader *reader, const field *fields, size_t n,
                       phl_train_options *options)
{
    for (size_t i = 0; i < n; i++) {
        void *member = (char *)options + fields[i].offset;
        switch (fields[i].type) {
        case SMALL:
            *(uint32_t *)member = get_small(reader, fields[i].name);
            break;
        case SIZE:
            *(size_t *)member = get_size(reader, fields[i].name);
            break;
        case COUNT:
            *(uint64_t *)member = get_count(reader, fields[i].name, 0x1p52);
            break;
        case REAL:
            *(double *)member = get_real(reader, fields[i].name);
            break;
        case TRUTH:
            *(bool *)member = get_truth(reader, fields[i].name);
            break;
        }
    }
}

static void get_gibbs(struct reader *reader, phl_train_options *options)
{
    const phl_json_value *anneal = phl_json_member(reader->object, "anneal");
    const phl_json_value *start = phl_json_next(anneal, NULL);
    double end = start == NULL ? 0.0 : phl_json_number_of(phl_json_next(anneal, start));
    if (phl_json_size_of(anneal) != 2 || !is_whole(end, 0x1p52)) {
        miss(reader, "anneal");
        return;
    }
    options->anneal_start = phl_json_number_of(start);
    options->anneal_end = (size_t)end;
    bool older = is_word(reader, "sampler", older_samplers[1]);
    options->sampler = get_choice(reader, "sampler", older ? older_samplers : samplers)
                           ? PHL_SAMPLER_PAPER
                           : PHL_SAMPLER_BLOCKED;
    options->soft = get_choice(reader, "clustering", clusterings);
    get_fields(reader, chain_fields, LENGTH(chain_fields), options);
    get_fields(reader, gibbs_fields, LENGTH(gibbs_fields), options);
    options->recycle = 0;
    if (phl_json_member(reader->object, recycle_field->name) != NULL) {
        get_fields(reader, recycle_field, LENGTH(recycle_field), options);
    }
}

/* Lists that the object holds, if it does. */
struct lists {
    uint32_t *sizes;
    size_t *earlier;
    size_t n_earlier;
};

/* "k" becomes the sizes, "earlier" is ascending, after the warm-up and below the iterations. */
static phl_status get_lists(struct reader *reader, phl_train_options *options, struct lists *lists,
                            phl_error *error)
{
    const phl_json_value *sizes = phl_json_member(reader->object, "k");
    const phl_json_value *earlier = phl_json_member(reader->object, "earlier");
    size_t n_sizes = phl_json_size_of(sizes), n_earlier = phl_json_size_of(earlier);
    lists->sizes = phl_alloc(n_sizes, sizeof *lists->sizes, error);
    lists->earlier = phl_alloc(n_earlier, sizeof *lists->earlier, error);
    if (lists->sizes == NULL || lists->earlier == NULL) {
        return PHL_ERR_MEMORY;
    }
    const phl_json_value *entry = NULL;
    for (size_t i = 0; i < n_sizes; i++) {
        entry = phl_json_next(sizes, entry);
        double size = phl_json_number_of(entry);
        if (!is_whole(size, 4294967294.0)) {
            miss(reader, "k");
            size = 0.0;
        }
        lists->sizes[i] = (uint32_t)size;
    }
    bool gibbs = options->learner == PHL_LEARNER_GIBBS;
    double before = gibbs ? (double)options->warmup : 0.0;
    entry = NULL;
    for (size_t i = 0; i < n_earlier; i++) {
        entry = phl_json_next(earlier, entry);
        double number = phl_json_number_of(entry);
        if (!is_whole(number, (double)options->iterations - 1.0) || number <= before) {
            miss(reader, "earlier");
            number = 1.0;
        }
        before = number;
        lists->earlier[i] = (size_t)number;
    }
    lists->n_earlier = n_earlier;
    options->sizes = sizes == NULL ? NULL : lists->sizes;
    options->n_sizes = n_sizes;
    return PHL_OK;
}

static phl_status get_config(const phl_json_value *object, phl_train_options *options,
                             struct lists *lists, phl_error *error)
{
    struct reader reader = {object, phl_json_is(object, PHL_JSON_OBJECT) ? NULL : "brackets"};
    const char *kind = phl_json_string_of(phl_json_member(object, "model"));
    options->kind = kind == NULL ? 0 : phl_kind_find(kind);
    if (options->kind == 0) {
        miss(&reader, "model");
    }
    options->learner =
        get_choice(&reader, "learner", learners) ? PHL_LEARNER_GIBBS : PHL_LEARNER_EM;
    options->states = get_small(&reader, "states");
    options->per_class = get_truth(&reader, "per_class");
    options->iterations = get_size(&reader, "iterations");
    if (phl_json_member(object, "head") != NULL) {
        options->head = get_choice(&reader, "head", heads) ? PHL_HEAD_LINEAR : PHL_HEAD_NONE;
    }
    options->calibrate =
        phl_json_member(object, "calibrate") != NULL && get_truth(&reader, "calibrate");
    if (options->learner == PHL_LEARNER_EM) {
        get_fields(&reader, em_fields, LENGTH(em_fields), options);
    } else {
        get_gibbs(&reader, options);
    }
    phl_status status = get_lists(&reader, options, lists, error);
    if (status == PHL_OK && reader.missing != NULL) {
        status = phl_raise(error, PHL_ERR_SYNTAX, NULL, "the configuration of the run lacks \"%s\"",
                           reader.missing);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * The run
 * ------------------------------------------------------------------------------------------- */

static phl_status write_config(const phl_train_options *kept, const size_t *earlier,
                               size_t n_earlier, uint32_t slots, char **text, phl_error *error)
{
    phl_text_writer writer = {{NULL, 0, 0}, PHL_OK, error};
    put_config(&writer, kept, earlier, n_earlier, slots);
    if (writer.status == PHL_OK) {
        writer.status = phl_text_append(&writer.text, "", 1, error); /* its end */
    }
    if (writer.status != PHL_OK) {
        phl_text_clear(&writer.text);
        return writer.status;
    }
    *text = writer.text.bytes;
    return PHL_OK;
}

phl_status phl_train_config_text(const phl_train_options *options, uint32_t slots, char **text,
                                 phl_error *error)
{
    phl_train_options kept = recorded(options);
    return write_config(&kept, NULL, 0, slots, text, error);
}

phl_status phl_train_config_record(const phl_train_options *options, const size_t *earlier,
                                   size_t n_earlier, phl_run *run, phl_error *error)
{
    phl_train_options kept = recorded(options);
    char seed[32], *config = NULL;
    (void)snprintf(seed, sizeof seed, "%llu", (unsigned long long)kept.seed);
    phl_status status = write_config(&kept, earlier, n_earlier, run->slots, &config, error);
    const char *const facts[][2] = {{"config", config},
                                    {"seed", seed},
                                    {"command", kept.command_line},
                                    {"partition", kept.partition},
                                    {"members", kept.members}};
    if (status == PHL_OK) {
        status = phl_run_set_facts(run, facts, sizeof facts / sizeof *facts, error);
    }
    phl_free(config);
    return status == PHL_OK ? phl_run_set_options(run, &kept, earlier, n_earlier, error) : status;
}

/* A hostile file may say anything. */
static phl_status check_restored(const phl_run *run, const phl_train_options *options,
                                 phl_error *error)
{
    static const char *const remedy = "use an undamaged copy, or train again";
    phl_error refusal = {0};
    if (options->kind != run->kind || options->states != run->states ||
        options->per_class != run->per_class) {
        return phl_raise(error, PHL_ERR_SYNTAX, remedy,
                         "the run is damaged: its configuration is that of another run");
    }
    return phl_train_options_check(options, &refusal) == PHL_OK
               ? PHL_OK
               : phl_raise(error, PHL_ERR_SYNTAX, remedy,
                           "the run is damaged: its configuration is impossible: %s",
                           refusal.message);
}

static phl_status parse_config(const char *text, phl_json *json, phl_error *error)
{
    phl_error fault = {0};
    phl_status status = phl_json_load(text, json, &fault);
    return status == PHL_OK ? PHL_OK
           : status == PHL_ERR_SYNTAX
               ? phl_raise(error, status, "use an undamaged copy, or train again",
                           "the run is damaged: its configuration is not JSON: %s", fault.message)
               : phl_raise(error, status, fault.remedy, "%s", fault.message);
}

phl_status phl_train_config_restore(phl_run *run, phl_error *error)
{
    const char *text = phl_run_meta(run, "config"), *seed = phl_run_meta(run, "seed");
    if (text == NULL || seed == NULL) {
        return PHL_OK;
    }
    phl_json json = {0};
    phl_train_options options;
    struct lists lists = {NULL, NULL, 0};
    phl_train_options_init(&options);
    phl_status status = parse_config(text, &json, error);
    if (status == PHL_OK) {
        status = get_config(json.values, &options, &lists, error);
    }
    phl_json_clear(&json);
    options.seed = strtoull(seed, NULL, 10);
    options.partition = phl_run_meta(run, "partition");
    options.command_line = phl_run_meta(run, "command");
    options.members = phl_run_meta(run, "members");
    settle(&options);
    if (status == PHL_OK) {
        status = check_restored(run, &options, error);
    }
    if (status == PHL_OK) {
        status = phl_run_set_options(run, &options, lists.earlier, lists.n_earlier, error);
    }
    phl_free(lists.sizes);
    phl_free(lists.earlier);
    return status;
}
