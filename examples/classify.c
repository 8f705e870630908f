/* classify.c - one model per class; a folder, classified in blocks; the three heaviest slots.
 *   cc classify.c $(pkg-config --cflags --libs phloem) -o classify; ./classify TRAIN FOLDER */
#include <phloem.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    const char *const *paths = (const char *const *)argv;
    phl_error error = {.message = "usage: classify TRAIN FOLDER"};
    char text[2000];
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
        fprintf(stderr, "%s\n", phl_error_format(&error, text, sizeof text));
        return EXIT_FAILURE;
    }
    printf("%.2f %% of %zu trees\n", 100 * found->best->accuracy, (size_t)found->n);
    size_t classes = phl_run_classes(run), slots = phl_run_slots(run);
    double *weight = calloc(slots + 1, sizeof *weight); /* by slot: in how many draws it matters */
    for (size_t i = 0; weight != NULL && i < classes * slots; i++) {
        uint32_t slot = (uint32_t)(1 + i % slots);
        weight[slot] += phl_model_slot_posterior(phl_run_model(run, i / slots), slot, NULL);
    }
    for (size_t shown = 0, top = 1; weight != NULL && shown < 3 && shown < slots; shown++) {
        for (size_t slot = 1; slot <= slots; slot++) {
            top = weight[slot] > weight[top] ? slot : top;
        }
        printf("slot %zu matters in %.0f %% of draws\n", top, 100 * weight[top] / (double)classes);
        weight[top] = -1;
    }
}
