/* calibration.h - how far class posteriors can be believed.
 *
 * The posterior of class c is proportional to prior(c) p(tree | c)^(1/T).  T above 1 makes up for
 * log-likelihoods that differ more than they should.
 *
 * Where every tree is right, the lower T the better, without end, although a few trees do not show
 * that the next one will be right.  So one tree more is imagined, which is wrong: two classes a
 * doubt apart, and it belongs to the less probable one.  The doubt is what a tenth of the trees do
 * not reach, since errors are made where classes are close.
 */
#ifndef PHL_GRAMMAR_CALIBRATION_H
#define PHL_GRAMMAR_CALIBRATION_H

#include <stddef.h>
#include <stdint.h>

typedef struct phl_calibration_data {
    size_t n, n_classes;
    const double *score;     /* [n][n_classes] log p of each tree under each class */
    const int32_t *class_of; /* [n] */
    const double *weight;    /* [n] */
    const double *log_prior; /* [n_classes] up to a constant */
    double doubt;            /* in nats; 0: no tree is imagined */
} phl_calibration_data;

/* How far a class is from the best other one, above or below it. */
double phl_calibration_gap(const double *row, size_t n, size_t own);
/* What a tenth of the gaps, by weight, do not reach: n pairs of gap and weight, which are sorted.
 * 0 without pairs. */
double phl_calibration_decile(double *pairs, size_t n);
/* The doubt under a score, which may be another than that of the data.  room: [2][n]. */
double phl_calibration_doubt(const phl_calibration_data *data, const double *score, double *room);

/* Mean log posterior of the trees' classes; 0 without trees. */
double phl_calibration_posterior(const phl_calibration_data *data, double temperature);

/* The temperature that makes it largest (1 without trees), and its value. */
double phl_calibration_fit(const phl_calibration_data *data, double *best);

/* A class prior that makes it larger, at a temperature: log_prior [n_classes], so that
 * the classes are expected as often as they are there; data->log_prior is where it begins.  room:
 * [3][n_classes]. */
void phl_calibration_learn_prior(const phl_calibration_data *data, double temperature,
                                 double *log_prior, double *room);

/* Two opinions a, b [n][n_classes] on the same trees, as log-probabilities: weights (0 or more)
 * with which posteriors proportional to e^(u a + v b) give the classes the highest probability.
 * Both are held near 1/2, as by one tree; doubt: of a and b.  room: [n_classes]. */
void phl_calibration_blend(const phl_calibration_data *data, const double *a, const double *b,
                           const double doubt[2], double weights[2], double *room);

#endif
