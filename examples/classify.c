/* classify.c - train a classifier on trees and test it; build with nothing but
 *   cc classify.c $(pkg-config --cflags --libs phloem) -o classify
 */
#include <phloem.h>
#include <stdio.h>
#include <stdlib.h>

static void check(phl_status status, const phl_error *error)
{
    char text[2048];
    if (status != PHL_OK) {
        fprintf(stderr, "classify: %s\n", phl_error_format(error, text, sizeof text));
        exit(EXIT_FAILURE);
    }
}

int main(int argc, char **argv)
{
    phl_error error;
    phl_forest *train, *test;
    phl_run *run;
    if (argc != 3) {
        fprintf(stderr, "usage: classify TRAIN TEST\n");
        return 2;
    }
    check(phl_forest_read((const char *const *)argv + 1, 1, NULL, &train, NULL, &error), &error);
    check(phl_forest_read((const char *const *)argv + 2, 1, NULL, &test, NULL, &error), &error);

    phl_train_options options;
    phl_train_options_init(&options);
    options.kind = PHL_SP;
    options.states = 4;
    options.per_class = true;
    check(phl_train(train, &options, &run, &error), &error);

    size_t cells = phl_forest_trees(test) * phl_run_classes(run);
    double *posterior = malloc(cells * sizeof *posterior);
    phl_evaluation evaluation = {0};
    check(phl_classify(run, test, NULL, posterior, &error), &error);
    check(phl_classify_evaluate(run, test, posterior, &evaluation, &error), &error);
    printf("%.2f %% of %llu trees\n", 100 * evaluation.accuracy, (unsigned long long)evaluation.n);

    phl_evaluation_clear(&evaluation);
    free(posterior);
    phl_run_free(run);
    phl_forest_free(test);
    phl_forest_free(train);
    return 0;
}
