/* reproduce_files.c - the folders and the trees of an experiment; see reproduce.h. */
#include "folders.h"
#include "print/terminal.h"
#include "reproduce/reproduce.h"

#include <stdlib.h>

/* Trees of each class that are generated: as many as the paper has. */
enum { TRAIN_TREES = 200, TEST_TREES = 60 };

/* ---- folders ---- */

static int folder_make_below(const char *folder, const char *name)
{
    char *path = text_path(folder, name);
    int code = folder_make(path);
    free(path);
    return code;
}

int reproduce_files_make(const char *folder)
{
    int code = folder_make(folder);
    code = code == EXIT_OK ? folder_make_below(folder, "runs") : code;
    return code == EXIT_OK ? folder_make_below(folder, "predictions") : code;
}

/* ---- trees ---- */

static int generate(const reproduction *r, const char *name, size_t trees, uint64_t seed)
{
    phl_symm_options options;
    phl_error error = {0};
    phl_forest *forest = NULL;
    char *path = text_path(r->folder, name);
    phl_symm_options_init(&options);
    options.trees_per_class = trees;
    options.seed = seed;
    phl_status status = phl_generate_symm(&options, &forest, &error);
    if (status == PHL_OK) {
        status = phl_forest_write(forest, path, NULL, &error);
    }
    phl_forest_free(forest);
    free(path);
    return status == PHL_OK ? EXIT_OK : usage_report(r->parsed->command, &error);
}

static int read_set(const reproduction *r, const char *folder, const char *name, data_set *set)
{
    phl_read_options options;
    phl_error error = {0};
    phl_read_options_init(&options);
    set->path = text_path(folder, name);
    phl_status status =
        phl_forest_read((const char *const *)&set->path, 1, &options, &set->forest, NULL, &error);
    if (status == PHL_OK) {
        status = phl_forest_fingerprint(set->forest, false, set->fingerprint, &error);
    }
    if (status != PHL_OK) {
        return usage_report(r->parsed->command, &error);
    }
    if (phl_forest_trees(set->forest) == 0) {
        terminal_message("%s: there are no trees in it", set->path);
        return EXIT_DATA;
    }
    return EXIT_OK;
}

/* Where to put the files, after it was said that there are none. */
static int explain(const reproduction *r)
{
    terminal_message(
        "%s needs the trees that the paper used; they are no part of phloem. Put them "
        "in a folder as %s and %s, one tree per line in the format 'elastic', and name "
        "the folder: --data FOLDER",
        r->experiment->name, r->experiment->train, r->experiment->test);
    return EXIT_SYSTEM;
}

int reproduce_files_read(reproduction *r)
{
    const char *folder = arguments_path(r->parsed, "data");
    const experiment *e = r->experiment;
    int code = EXIT_OK;
    if (!folder && !e->labelling) {
        return explain(r);
    }
    if (!folder) {
        folder = r->folder;
        r->generated = true;
        code = folder_make_below(folder, "symm");
        code = code == EXIT_OK ? generate(r, e->train, TRAIN_TREES, r->seed) : code;
        code = code == EXIT_OK ? generate(r, e->test, TEST_TREES, r->seed + 1) : code;
    }
    code = code == EXIT_OK ? read_set(r, folder, e->train, &r->train) : code;
    code = code == EXIT_OK ? read_set(r, folder, e->test, &r->test) : code;
    if (code == EXIT_SYSTEM && !r->generated && !e->labelling) {
        explain(r);
    }
    return code;
}
