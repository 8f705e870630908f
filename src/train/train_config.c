/* train_config.c - the options of a training as a run recorded them; see train_options.h. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "train/train_options.h"

/* What is read, and what was wrong with it first. */
struct reader {
    const json_t *object;
    const char *missing; /* NULL: nothing so far */
};

static double get_real(struct reader *reader, const char *name)
{
    const json_t *value = json_object_get(reader->object, name);
    if (!json_is_number(value) && reader->missing == NULL) {
        reader->missing = name;
    }
    return json_number_value(value);
}

/* Whole numbers are read as doubles, which hold them to 2^53: seeds may be larger, but stand beside
 * the configuration. */
static bool is_whole(double number, double most)
{
    return number >= 0.0 && number <= most && floor(number) == number;
}

static uint64_t get_count(struct reader *reader, const char *name, double most)
{
    double number = get_real(reader, name);
    if (!is_whole(number, most)) {
        reader->missing = reader->missing == NULL ? name : reader->missing;
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

static bool get_bool(struct reader *reader, const char *name)
{
    const json_t *value = json_object_get(reader->object, name);
    if (!json_is_boolean(value) && reader->missing == NULL) {
        reader->missing = name;
    }
    return json_is_true(value);
}

/* Number of the word that is there, in a list of two. */
static int get_word(struct reader *reader, const char *name, const char *first, const char *second)
{
    const char *word = json_string_value(json_object_get(reader->object, name));
    if (word != NULL && strcmp(word, second) == 0) {
        return 1;
    }
    if ((word == NULL || strcmp(word, first) != 0) && reader->missing == NULL) {
        reader->missing = name;
    }
    return 0;
}

static void read_em(struct reader *reader, phl_train_options *o)
{
    o->restarts = get_size(reader, "restarts");
    o->tolerance = get_real(reader, "tolerance");
    o->smoothing = get_real(reader, "smoothing");
    o->gamma = get_real(reader, "gamma");
}

static void read_gibbs(struct reader *reader, phl_train_options *o)
{
    const json_t *anneal = json_object_get(reader->object, "anneal");
    double end = json_number_value(json_array_get(anneal, 1));
    if (json_array_size(anneal) != 2 || !is_whole(end, 0x1p52)) {
        reader->missing = "anneal";
        return;
    }
    o->anneal_start = json_number_value(json_array_get(anneal, 0));
    o->anneal_end = (size_t)end;
    o->sampler = get_word(reader, "sampler", "blocked", "seed") == 1 ? PHL_SAMPLER_PAPER
                                                                     : PHL_SAMPLER_BLOCKED;
    o->soft = get_word(reader, "clustering", "hard", "soft") == 1;
    o->warmup = get_size(reader, "warmup");
    o->chains = get_size(reader, "chains");
    o->keep = get_size(reader, "keep");
    o->slots_min = get_small(reader, "slots_min");
    o->slots_max = get_small(reader, "slots_max");
    o->slot_support = get_real(reader, "slot_support");
    o->core_max = get_count(reader, "core_max", 0x1p52);
    o->phi = get_real(reader, "phi");
    o->alpha = get_real(reader, "alpha");
    o->alpha0 = get_real(reader, "alpha0");
    o->beta = get_real(reader, "beta");
    o->gamma = get_real(reader, "gamma");
    o->delta = get_real(reader, "delta");
    o->update_concentration = get_bool(reader, "update_concentration");
}

/* The members "k" and "earlier", which need not be there. */
static phl_status read_lists(struct reader *reader, phl_train_config *config, phl_error *error)
{
    const json_t *sizes = json_object_get(reader->object, "k");
    const json_t *earlier = json_object_get(reader->object, "earlier");
    size_t n_sizes = json_array_size(sizes), n_earlier = json_array_size(earlier);
    config->sizes = phl_alloc(n_sizes, sizeof *config->sizes, error);
    config->earlier = phl_alloc(n_earlier, sizeof *config->earlier, error);
    if (config->sizes == NULL || config->earlier == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t i = 0; i < n_sizes; i++) {
        double size = json_number_value(json_array_get(sizes, i));
        reader->missing = is_whole(size, 4294967294.0) ? reader->missing : "k";
        config->sizes[i] = is_whole(size, 4294967294.0) ? (uint32_t)size : 0;
    }
    double before = 0.0;
    for (size_t i = 0; i < n_earlier; i++) { /* ascending, and below the iterations */
        double number = json_number_value(json_array_get(earlier, i));
        if (!is_whole(number, (double)config->options.iterations - 1.0) || number <= before) {
            reader->missing = "earlier";
            number = 1.0;
        }
        before = number;
        config->earlier[i] = (size_t)number;
    }
    config->n_earlier = n_earlier;
    config->options.sizes = sizes == NULL ? NULL : config->sizes;
    config->options.n_sizes = n_sizes;
    return PHL_OK;
}

phl_status phl_train_config_parse(const char *text, phl_train_config *config, phl_error *error)
{
    json_error_t place;
    json_t *object = json_loads(text, JSON_DECODE_INT_AS_REAL, &place);
    struct reader reader = {object, object == NULL ? "brackets" : NULL};
    phl_train_options *o = &config->options;
    memset(config, 0, sizeof *config);
    phl_train_options_init(o);
    const char *kind = json_string_value(json_object_get(object, "model"));
    o->kind = kind == NULL ? 0 : phl_kind_find(kind);
    o->learner =
        get_word(&reader, "learner", "em", "gibbs") == 1 ? PHL_LEARNER_GIBBS : PHL_LEARNER_EM;
    o->states = get_small(&reader, "states");
    o->per_class = get_bool(&reader, "per_class");
    o->iterations = get_size(&reader, "iterations");
    if (o->learner == PHL_LEARNER_EM) {
        read_em(&reader, o);
    } else {
        read_gibbs(&reader, o);
    }
    phl_status status = read_lists(&reader, config, error);
    if (status == PHL_OK && (reader.missing != NULL || o->kind == 0)) {
        status = phl_raise(error, PHL_ERR_SYNTAX, NULL, "the configuration of the run lacks \"%s\"",
                           reader.missing != NULL ? reader.missing : "model");
    }
    json_decref(object);
    if (status != PHL_OK) {
        phl_train_config_clear(config);
    }
    return status;
}

void phl_train_config_clear(phl_train_config *config)
{
    phl_free(config->sizes);
    phl_free(config->earlier);
    memset(config, 0, sizeof *config);
}
