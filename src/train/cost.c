/* cost.c - what a training will cost; see cost.h. */
#include "train/cost.h"

#include <math.h>

/* Seconds per distinct subtree or link: of an iteration, or of a grammar's start with 15. */
static const double tf_seconds = 2.5e-7, em_seconds = 2e-8, em_square = 5e-10,
                    grammar_seconds = 4e-5, head_seconds = 8e-6;
/* Of `full`: seconds per entry of the table of joint states, and iteration. */
static const double full_seconds = 1e-7;

double phl_cost_task(const phl_train_options *options, double size, uint32_t slots)
{
    double states = (double)options->states, iterations = (double)options->iterations;
    if (options->kind == PHL_GRAMMAR) {
        return grammar_seconds * size * iterations / 15.0;
    }
    if (options->learner == PHL_LEARNER_GIBBS) {
        double paper = options->sampler == PHL_SAMPLER_PAPER ? 10.0 : 1.0;
        return tf_seconds * size * iterations * (0.25 + 0.0375 * states) * paper;
    }
    double table = options->kind == PHL_FULL
                       ? full_seconds * states * pow(states + 1.0, fmin((double)slots, 60.0))
                       : 0.0;
    return iterations * (size * (em_seconds + em_square * states * states) + table);
}

double phl_cost_head(double size, size_t classes)
{
    return head_seconds * size * (double)classes;
}

double phl_cost_training(const phl_train_options *options, const phl_forest *forest)
{
    double size = (double)forest->n_subtrees + (double)forest->n_links;
    size_t classes = options->per_class ? forest->classes.count : 1;
    double head = phl_cost_head(size, classes);
    if (options->kind == PHL_NO_KIND) {
        return head;
    }
    size_t chains = options->learner == PHL_LEARNER_EM ? options->restarts : options->chains;
    double task = phl_cost_task(options, size, forest->max_slot);
    bool again =
        options->kind != PHL_GRAMMAR && (options->calibrate || options->head == PHL_HEAD_LINEAR);
    return task * ((double)chains + (again ? 1.0 : 0.0)) +
           (options->head == PHL_HEAD_LINEAR ? head : 0.0);
}
