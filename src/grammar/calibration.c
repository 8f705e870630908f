/* calibration.c - how far class posteriors can be believed; see calibration.h. */
#include "grammar/calibration.h"

#include <math.h>

double phl_calibration_posterior(const phl_calibration_data *data, double temperature)
{
    double sum = 0.0, total = 0.0;
    for (size_t t = 0; t < data->n; t++) {
        const double *row = data->score + t * data->n_classes;
        double most = -INFINITY, all = 0.0;
        for (size_t c = 0; c < data->n_classes; c++) {
            double value = data->log_prior[c] + row[c] / temperature;
            most = value > most ? value : most;
        }
        for (size_t c = 0; c < data->n_classes; c++) {
            all += exp(data->log_prior[c] + row[c] / temperature - most);
        }
        size_t own = (size_t)data->class_of[t];
        double log_posterior = data->log_prior[own] + row[own] / temperature - most - log(all);
        sum += data->weight[t] * log_posterior;
        total += data->weight[t];
    }
    return total > 0.0 ? sum / total : 0.0;
}

double phl_calibration_fit(const phl_calibration_data *data, double *best)
{
    double found = 1.0;
    *best = phl_calibration_posterior(data, 1.0);
    for (int i = -16; i <= 96; i++) { /* 0.5 to 64, in steps of 4 % */
        double temperature = exp2((double)i / 16.0);
        double value = phl_calibration_posterior(data, temperature);
        if (value > *best) {
            *best = value;
            found = temperature;
        }
    }
    return found;
}
