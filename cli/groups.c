/* groups.c - the trees of a forest by the model that is for them; see runs.h.
 *
 * Calls that take one model and a forest are made once a group, and what they give is put back into
 * the order of the trees.
 */
#include "print/terminal.h"
#include "runs.h"

#include <stdlib.h>

/* A group for each model that has trees. */
static int select_groups(const cli_arguments *parsed, const phl_run *run, const phl_forest *forest,
                         const size_t *model_of, tree_groups *groups)
{
    phl_error error = {0};
    for (size_t m = 0; m < phl_run_classes(run); m++) {
        tree_group *group = &groups->groups[groups->n];
        size_t n = 0;
        for (size_t t = 0; t < groups->n_trees; t++) {
            n += model_of[t] == m;
        }
        if (n == 0) {
            continue;
        }
        groups->n++;
        group->model = phl_run_model(run, m);
        group->trees = terminal_allocate(n, sizeof *group->trees);
        for (size_t t = 0; t < groups->n_trees; t++) {
            if (model_of[t] == m) {
                group->trees[group->n++] = t;
            }
        }
        if (phl_forest_select(forest, group->trees, n, &group->own, &error) != PHL_OK) {
            return library_error(parsed->command, &error);
        }
        group->forest = group->own;
    }
    return EXIT_OK;
}

int groups_make(const cli_arguments *parsed, const phl_run *run, const phl_forest *forest,
                tree_groups *groups)
{
    int code = EXIT_OK;
    *groups = (tree_groups){.n_trees = phl_forest_trees(forest)};
    groups->groups = terminal_allocate(phl_run_classes(run), sizeof *groups->groups);
    if (!phl_run_per_class(run) || groups->n_trees == 0) {
        groups->n = 1;
        groups->groups[0] =
            (tree_group){.model = phl_run_model(run, 0), .n = groups->n_trees, .forest = forest};
        return EXIT_OK;
    }
    size_t *model_of = models_of_trees(parsed, run, forest, &code);
    if (model_of) {
        code = select_groups(parsed, run, forest, model_of, groups);
    }
    free(model_of);
    return code;
}

int groups_join(const cli_arguments *parsed, const tree_groups *groups, phl_forest **parts,
                phl_forest **joined)
{
    phl_error error = {0};
    phl_forest *row = NULL;
    phl_status status = PHL_OK;
    *joined = NULL;
    if (groups->n == 1) {
        *joined = parts[0];
        return EXIT_OK;
    }
    size_t *place = terminal_allocate(groups->n_trees, sizeof *place); /* of each tree in the row */
    size_t at = 0;
    for (size_t g = 0; g < groups->n; g++) {
        for (size_t i = 0; i < groups->groups[g].n; i++) {
            place[groups->groups[g].trees[i]] = at++;
        }
    }
    status = phl_forest_concat((const phl_forest *const *)parts, groups->n, &row, &error);
    if (status == PHL_OK) {
        status = phl_forest_select(row, place, groups->n_trees, joined, &error);
    }
    for (size_t g = 0; g < groups->n; g++) {
        phl_forest_free(parts[g]);
    }
    phl_forest_free(row);
    free(place);
    return status == PHL_OK ? EXIT_OK : library_error(parsed->command, &error);
}

void groups_clear(tree_groups *groups)
{
    for (size_t g = 0; g < groups->n; g++) {
        free(groups->groups[g].trees);
        phl_forest_free(groups->groups[g].own);
    }
    free(groups->groups);
    *groups = (tree_groups){0};
}
