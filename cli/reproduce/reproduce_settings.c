/* reproduce_settings.c - the paper's experiments, and how each model is trained in them.
 *
 * Contents: experiments, models, options, commands.
 */
#include "print/terminal.h"
#include "reproduce/reproduce.h"

#include <inttypes.h>
#include <string.h>

/* ---- experiments ---- */

static const experiment experiments[] = {
    {.name = "labelling",
     .title = "The labelling task: all labels of the test trees are taken away and generated",
     .labelling = true,
     .train = "symm/train.trees",
     .test = "symm/test.trees",
     .n_settings = 2,
     .settings = {"drawn", "most probable"},
     .n_rows = PAPER_ROWS},
    {.name = "inex05",
     .title = "INEX 2005: documents of 11 classes",
     .train = "inex05/train.elastic.tree",
     .test = "inex05/test.elastic.tree",
     .n_settings = 4,
     .settings = {"slots uniform", "slots empirical", "none uniform", "none empirical"},
     .n_rows = 1},
    {.name = "inex06",
     .title = "INEX 2006: articles of 18 journals",
     .train = "inex06/train.elastic.tree",
     .test = "inex06/test.elastic.tree",
     .n_settings = 4,
     .settings = {"slots uniform", "slots empirical", "none uniform", "none empirical"},
     .n_rows = 1},
};

const experiment *reproduce_settings_experiment(const char *name)
{
    for (size_t i = 0; i < sizeof experiments / sizeof *experiments; i++) {
        if (strcmp(experiments[i].name, name) == 0) {
            return &experiments[i];
        }
    }
    return NULL;
}

const char *reproduce_settings_row_name(const reproduction *r, size_t row)
{
    return r->experiment->labelling ? r->paper->rows[row].name : NULL;
}

size_t reproduce_settings_row_of_all(const reproduction *r)
{
    return r->experiment->n_rows - 1;
}

/* ---- models ---- */

static const model_variant variants[] = {
    {.name = "sp", .kind = PHL_SP, .paper = PAPER_SP},
    {.name = "tf", .kind = PHL_TF, .paper = PAPER_TF},
    {.name = "tf-1", .kind = PHL_TF, .one_chain = true, .paper = PAPER_TF},
    {.name = "tf-seed",
     .kind = PHL_TF,
     .sampler = PHL_SAMPLER_PAPER,
     .one_chain = true,
     .paper = PAPER_TF},
    {.name = "td", .kind = PHL_TD, .paper = -1},
};
const char *const variant_names = "sp, tf, tf-1, tf-seed, td";

const model_variant *reproduce_settings_variant(const char *name)
{
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        if (strcmp(variants[i].name, name) == 0) {
            return &variants[i];
        }
    }
    return NULL;
}

/* ---- options ---- */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The last state of the paper's own sampler, with the temperatures of the authors' programs. */
static void use_paper_sampler(const reproduction *r, phl_train_options *o)
{
    bool labelling = r->experiment->labelling;
    o->sampler = PHL_SAMPLER_PAPER;
    o->warmup = r->iterations - 1;
    o->keep = 1;
    o->anneal_start = labelling ? 10 : 20;
    o->anneal_end = smaller(labelling ? 20 : 5, o->warmup);
}

void reproduce_settings_options(const reproduction *r, const cell *c, uint64_t seed,
                                phl_train_options *o)
{
    phl_train_options_init(o);
    o->kind = c->model->kind;
    o->states = c->states;
    o->per_class = !r->experiment->labelling;
    o->seed = seed;
    o->iterations = r->iterations;
    if (o->kind != PHL_TF) {
        o->tolerance = 0; /* all iterations, as the paper */
        o->restarts = 5;  /* one random start ends now here, now there */
        return;
    }
    o->chains = c->model->one_chain ? 1 : r->chains;
    o->slots_min = 1;
    o->slots_max = r->experiment->labelling ? 3 : 5;
    o->beta = 1.0; /* the paper's; the default is another one */
    if (c->model->sampler == PHL_SAMPLER_PAPER) {
        use_paper_sampler(r, o);
        return;
    }
    o->warmup = r->iterations / 2;
    o->keep = smaller(20, r->iterations - o->warmup);
    o->anneal_start = 10;
    o->anneal_end = o->warmup;
}

/* ---- commands ---- */

char *reproduce_settings_command(const reproduction *r, const cell *c, const phl_train_options *o,
                                 const char *file)
{
    char how[300];
    if (o->kind == PHL_TF) {
        snprintf(how, sizeof how,
                 "%s--warmup %zu --anneal %g:%zu --chains %zu --keep %zu --slots-min %u "
                 "--slots-max %u --beta %g",
                 o->sampler == PHL_SAMPLER_PAPER ? "--sampler paper " : "", o->warmup,
                 o->anneal_start, o->anneal_end, o->chains, o->keep, (unsigned)o->slots_min,
                 (unsigned)o->slots_max, o->beta);
    } else {
        snprintf(how, sizeof how, "--tolerance %g --restarts %zu", o->tolerance, o->restarts);
    }
    return text_format(
        "phloem train --model %s%s --states %u --iterations %zu %s --seed %" PRIu64 " %s -o %s",
        phl_kind_name(c->model->kind), o->per_class ? " --per-class" : "", (unsigned)o->states,
        o->iterations, how, o->seed, r->experiment->train, file);
}
