/* pool.c - label evaluations of several classes' models put together; see evaluations.h.
 *
 * Counts add up; means are weighted by the number of items; entropies of the truth given the
 * prediction are computed anew from the joint matrix.
 */
#include "print/evaluations.h"

#include <math.h>
#include <stdlib.h>

void pool_begin(evaluation_pool *pool, const phl_run *run)
{
    size_t n = phl_run_labels(run) + 1; /* the unseen ones last */
    *pool = (evaluation_pool){.total = {.n_names = n}};
    pool->total.names = terminal_allocate(n, sizeof *pool->total.names);
    pool->total.confusion = terminal_allocate(n * n, sizeof *pool->total.confusion);
    pool->total.measures = terminal_allocate(n, sizeof *pool->total.measures);
    for (size_t i = 0; i + 1 < n; i++) {
        pool->total.names[i] = (char *)phl_run_label_name(run, i); /* borrowed */
    }
}

void pool_add(evaluation_pool *pool, const phl_evaluation *part)
{
    phl_evaluation *total = &pool->total;
    double n = (double)part->n;
    if (part->n == 0) {
        return;
    }
    if (part->n_names == total->n_names) {
        total->names[total->n_names - 1] = "(unseen)";
    }
    for (size_t i = 0; i < part->n_names; i++) {
        for (size_t j = 0; j < part->n_names; j++) {
            total->confusion[i * total->n_names + j] += part->confusion[i * part->n_names + j];
        }
    }
    total->n += part->n;
    total->unseen += part->unseen;
    pool->right += n * part->accuracy;
    pool->drawn += n * part->accuracy_drawn;
    pool->predictive_entropy += n * part->predictive_entropy_bits;
    pool->log_loss += n * part->log_loss;
}

/* Without unseen labels the last row and column go. */
static void drop_unseen(phl_evaluation *total)
{
    size_t n = total->n_names - 1;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            total->confusion[i * n + j] = total->confusion[i * total->n_names + j];
        }
    }
    total->n_names = n;
}

static void measure(phl_evaluation *total, size_t name)
{
    phl_name_measure *m = &total->measures[name];
    size_t n = total->n_names;
    for (size_t i = 0; i < n; i++) {
        m->n += total->confusion[name * n + i];
        m->predicted += total->confusion[i * n + name];
    }
    m->accuracy = m->n ? (double)total->confusion[name * n + name] / (double)m->n : NAN;
    for (size_t i = 0; i < n; i++) {
        if (total->confusion[i * n + name]) {
            double p = (double)total->confusion[i * n + name] / (double)m->predicted;
            m->entropy_bits -= p * log2(p);
        }
    }
}

void pool_finish(evaluation_pool *pool)
{
    phl_evaluation *total = &pool->total;
    double n = total->n ? (double)total->n : NAN;
    if (total->unseen == 0) {
        drop_unseen(total);
    }
    for (size_t i = 0; i < total->n_names; i++) {
        measure(total, i);
        total->entropy_bits +=
            (double)total->measures[i].predicted * total->measures[i].entropy_bits;
    }
    total->entropy_bits /= n;
    total->accuracy = pool->right / n;
    total->accuracy_drawn = pool->drawn / n;
    total->predictive_entropy_bits = pool->predictive_entropy / n;
    total->log_loss = pool->log_loss / n;
}

void pool_clear(evaluation_pool *pool)
{
    free(pool->total.names);
    free(pool->total.confusion);
    free(pool->total.measures);
    *pool = (evaluation_pool){0};
}
