/* classify.c - one model per class, a folder classified in blocks, the three heaviest slots:
 *   cc classify.c $(pkg-config --cflags --libs phloem) -o classify; ./classify TRAIN FOLDER */
#include <phloem.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    const char *const *paths = (const char *const *)argv;
    phl_error error = {.message = "usage: classify TRAIN FOLDER"};
    phl_forest *trees = NULL;
    phl_source *folder = NULL;
    phl_run *run = NULL;
    phl_evaluation *found = NULL;
    phl_train_options options;
    phl_train_options_init(&options);
    options.per_class = true;
    if (argc != 3 || phl_forest_read(paths + 1, 1, NULL, &trees, NULL, &error) != PHL_OK ||
        phl_train(trees, &options, &run, &error) != PHL_OK ||
        phl_source_open(paths + 2, 1, NULL, &folder, &error) != PHL_OK ||
        phl_classify(run, folder, NULL, NULL, &found, &error) != PHL_OK) {
        fprintf(stderr, "%s %s\n", error.file, error.message);
        return EXIT_FAILURE;
    }
    printf("%.2f %% of %llu trees\n", 100 * found->best->accuracy, (unsigned long long)found->n);
    uint32_t n = phl_run_slots(run);
    double *weight = calloc(n + 1, sizeof *weight); /* share of draws in which a slot matters */
    for (size_t i = 0; i < phl_run_classes(run) * n; i++) {
        uint32_t slot = (uint32_t)(1 + i % n);
        const phl_model *model = phl_run_model(run, i / n);
        weight[slot] += phl_model_slot_posterior(model, slot, NULL) / (double)phl_run_classes(run);
    }
    for (uint32_t shown = 0, top = 1; shown < 3 && shown < n; shown++, weight[top] = -1) {
        for (uint32_t slot = 1; slot <= n; slot++) {
            top = weight[slot] > weight[top] ? slot : top;
        }
        printf("slot %u matters in %.0f %% of the draws\n", top, 100 * weight[top]);
    }
    free(weight);
}
