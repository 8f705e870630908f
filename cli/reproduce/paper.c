/* paper.c - what the paper published; see paper.h. */
#include "reproduce/paper.h"

#include <string.h>

const char *const paper_source =
    "D. Castellana and D. Bacciu, Bayesian Tensor Factorisation for Bottom-up Hidden Tree Markov "
    "Models, IJCNN 2019, tables I to III: mean and standard deviation over 5 runs";

/* Columns as printed there: accuracy of SP-BU, of TF-BU, entropy of SP-BU, of TF-BU. */
#define ROW(name_, a, b, c, d, e, f, g, h)                                                         \
    {                                                                                              \
        name_, {{a, b}, {c, d}},                                                                   \
        {                                                                                          \
            {e, f},                                                                                \
            {                                                                                      \
                g, h                                                                               \
            }                                                                                      \
        }                                                                                          \
    }

static const paper_table tables[] = {
    {"inex05",
     {ROW("2", 87.55, 4.13, 91.41, 3.62, 34.19, 5.80, 31.99, 10.37),
      ROW("4", 90.68, 5.70, 93.65, 1.64, 28.92, 5.16, 25.00, 4.13),
      ROW("6", 93.81, 1.15, 95.10, 0.27, 24.30, 2.90, 20.91, 0.93),
      ROW("8", 93.15, 1.69, 94.28, 2.27, 23.59, 1.29, 23.12, 6.35),
      ROW("10", 93.30, 3.09, 95.21, 0.17, 21.77, 1.64, 20.60, 0.46)}},
    {"inex06",
     {ROW("2", 21.44, 4.54, 27.94, 2.62, 287.40, 7.24, 275.28, 2.07),
      ROW("4", 24.84, 3.15, 29.83, 3.06, 281.23, 3.46, 279.82, 7.11),
      ROW("6", 25.57, 2.12, 30.65, 2.36, 277.99, 2.81, 283.47, 5.34),
      ROW("8", 26.43, 2.47, 26.48, 2.84, 278.17, 1.12, 292.36, 5.56),
      ROW("10", 22.89, 3.33, 26.94, 2.77, 289.40, 6.28, 291.03, 7.12)}},
    {"labelling",
     {ROW("0", 55.47, 12.90, 99.67, 0.11, 35.49, 8.25, 1.34, 2.03),
      ROW("1", 60.15, 2.22, 79.59, 22.35, 151.51, 13.14, 65.61, 61.25),
      ROW("2", 45.84, 4.43, 64.71, 27.17, 180.88, 5.40, 93.69, 51.19),
      ROW("3", 17.04, 2.05, 29.68, 38.22, 184.08, 4.93, 97.71, 44.38),
      ROW("all", 53.08, 4.83, 80.68, 15.77, 140.38, 10.39, 51.42, 34.91)}},
};

const paper_table *paper_find(const char *experiment)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (strcmp(tables[i].experiment, experiment) == 0) {
            return &tables[i];
        }
    }
    return NULL;
}

const paper_row *paper_row_find(const paper_table *table, const char *name)
{
    for (size_t i = 0; i < PAPER_ROWS; i++) {
        if (strcmp(table->rows[i].name, name) == 0) {
            return &table->rows[i];
        }
    }
    return NULL;
}
