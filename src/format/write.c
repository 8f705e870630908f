/* write.c - a forest into a file, or memory; see write.h for folders of XML documents. */
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/text.h"
#include "format/files.h"
#include "format/write.h"

static const phl_write_options defaults = {.size = sizeof(phl_write_options)};

void phl_write_options_init_sized(phl_write_options *options, size_t size)
{
    phl_options_fill(options, size, &defaults, sizeof defaults);
}

phl_status phl_write_options_take(const phl_write_options *given, phl_write_options *taken,
                                  phl_error *error)
{
    return phl_options_take(taken, &defaults, sizeof defaults, given, "phl_write", error);
}

/* ---------------------------------------------------------------------------------------------
 * What cannot be expressed
 * ------------------------------------------------------------------------------------------- */

phl_status phl_write_objection(const phl_writer *writer, const phl_format_driver *driver,
                               size_t tree, const char *what, phl_error *error)
{
    const phl_forest *forest = writer->forest;
    const char *file = phl_tree_file(forest, tree);
    phl_position position = {file, phl_tree_line(forest, tree), 0};
    return phl_raise_at(
        error, PHL_ERR_EXPRESS, position,
        strstr(what, "class") != NULL
            ? "write json or brackets, or leave out classes with " PHL_OPTION("read.no_class")
        : strstr(what, "weight") != NULL ? "write json"
                                         : "write json or brackets",
        "tree %zu: %s cannot express %s", writer->first + tree, driver->name, what);
}

/* Refuse a forest that holds something the format cannot carry, naming the first such tree.  Nodes
 * are asked about once per distinct subtree. */
static phl_status check_expressible(const phl_writer *writer, const phl_format_driver *driver,
                                    phl_error *error)
{
    const phl_forest *forest = writer->forest;
    bool *bad = phl_alloc_zero(forest->n_subtrees, sizeof *bad, error);
    if (bad == NULL) {
        return PHL_ERR_MEMORY;
    }
    for (size_t s = 0; driver->node_objection != NULL && s < forest->n_subtrees; s++) {
        bad[s] = driver->node_objection(writer, (uint32_t)s) != NULL;
        for (uint64_t k = forest->first_link[s]; !bad[s] && k < forest->first_link[s + 1]; k++) {
            bad[s] = bad[forest->links[k].child];
        }
    }
    phl_status status = PHL_OK;
    for (size_t tree = 0; status == PHL_OK && tree < forest->n_trees; tree++) {
        const char *objection =
            driver->tree_objection != NULL ? driver->tree_objection(writer, tree) : NULL;
        if (objection == NULL && bad[forest->tree_root[tree]]) {
            phl_visit visit;
            int more = 0;
            phl_walk_start(writer->walk, tree);
            while (objection == NULL && (more = phl_walk_next(writer->walk, &visit, error)) > 0) {
                objection = driver->node_objection(writer, visit.subtree);
            }
            status = more < 0 ? (phl_status)more : PHL_OK;
        }
        if (status == PHL_OK && objection != NULL) {
            status = phl_write_objection(writer, driver, tree, objection, error);
        }
    }
    phl_free(bad);
    return status;
}

/* Tell the caller what is left out without changing the trees: ids. */
static void report_left_out(const phl_writer *writer, const phl_format_driver *driver)
{
    if (writer->forest->tree_id == NULL || driver->carries_ids || writer->options->report == NULL) {
        return;
    }
    phl_error note;
    memset(&note, 0, sizeof note);
    (void)phl_raise(&note, PHL_OK, "write json to keep them", "%s leaves out the ids of trees",
                    driver->name);
    writer->options->report(&note, writer->options->context);
}

/* ---------------------------------------------------------------------------------------------
 * One stream
 * ------------------------------------------------------------------------------------------- */

phl_status phl_write_check_cancel(const phl_writer *writer, phl_error *error)
{
    if (writer->options->cancel != NULL && writer->options->cancel(writer->options->context)) {
        return phl_raise(error, PHL_ERR_CANCELLED, NULL, "interrupted");
    }
    return PHL_OK;
}

static phl_status write_trees(phl_writer *writer, const phl_format_driver *driver, phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t tree = 0; status == PHL_OK && tree < writer->forest->n_trees; tree++) {
        status = phl_write_check_cancel(writer, error);
        if (status == PHL_OK) {
            status = driver->write_tree(writer, tree, error);
        }
    }
    return status;
}

static phl_status write_stream(phl_writer *writer, const phl_format_driver *driver,
                               phl_error *error)
{
    phl_status status = write_trees(writer, driver, error);
    return status == PHL_OK ? phl_output_commit(writer->output, error) : status;
}

/* ---------------------------------------------------------------------------------------------
 * Public calls
 * ------------------------------------------------------------------------------------------- */

static bool names_folder(const char *path)
{
    struct stat info;
    size_t length = strlen(path);
    return (length > 0 && path[length - 1] == '/') ||
           (stat(path, &info) == 0 && S_ISDIR(info.st_mode));
}

/* One document in one file has its class from the folder the file lies in, or not at all. */
static phl_status check_document_class(const phl_writer *writer, const phl_format_driver *driver,
                                       const char *path, phl_error *error)
{
    const phl_forest *forest = writer->forest;
    if (!driver->one_tree_a_file) {
        return PHL_OK;
    }
    if (forest->n_trees != 1) {
        return phl_raise(error, PHL_ERR_ARGUMENT, "name a folder to write them into",
                         "%s holds one document per file, and there are %zu trees", driver->name,
                         forest->n_trees);
    }
    const char *class_name = phl_forest_class_name(forest, phl_tree_class(forest, 0));
    char *folder = NULL;
    phl_status status = phl_files_folder_name(path, &folder, error);
    if (status == PHL_OK && class_name != NULL &&
        (folder == NULL || strcmp(folder, class_name) != 0)) {
        status = phl_write_objection(writer, driver, 0, "a class other than the name of the folder",
                                     error);
    }
    phl_free(folder);
    return status;
}

static phl_status begin(phl_writer *writer, const phl_forest *forest, size_t first,
                        const phl_write_options *options, const phl_format_driver *driver,
                        phl_error *error)
{
    *writer = (phl_writer){.forest = forest, .first = first, .options = options};
    phl_status status = phl_walk_create(forest, &writer->walk, error);
    if (status == PHL_OK) {
        status = check_expressible(writer, driver, error);
    }
    if (status == PHL_OK) {
        report_left_out(writer, driver);
    }
    return status;
}

static void end(phl_writer *writer)
{
    phl_output_close(writer->output);
    phl_walk_free(writer->walk);
}

phl_status phl_write_driver(const phl_write_options *options, const char *path,
                            const phl_format_driver **driver, phl_error *error)
{
    phl_format format = options->format;
    if (format == PHL_FORMAT_AUTO && path != NULL) {
        format = phl_format_of_file(path);
    }
    *driver = phl_format_driver_of(format != PHL_FORMAT_AUTO ? format : PHL_FORMAT_BRACKETS);
    if (*driver == NULL || (*driver)->write_tree == NULL) {
        return phl_raise(error, PHL_ERR_ARGUMENT,
                         "choose another with " PHL_OPTION_TO("write.format", ""),
                         "the format %s can be read, but not written", phl_format_name(format));
    }
    return PHL_OK;
}

phl_status phl_write_block(const phl_forest *block, size_t first, const phl_write_options *options,
                           const phl_format_driver *driver, const char *path, phl_output **output,
                           phl_error *error)
{
    phl_writer writer;
    phl_status status = begin(&writer, block, first, options, driver, error);
    if (status == PHL_OK && *output == NULL) {
        status = phl_output_open(path, output, error);
    }
    if (status == PHL_OK) {
        writer.output = *output;
        status = write_trees(&writer, driver, error);
        writer.output = NULL; /* it goes on */
    }
    end(&writer);
    return status;
}

phl_status phl_forest_write(const phl_forest *forest, const char *path,
                            const phl_write_options *options, phl_error *error)
{
    phl_write_options own;
    phl_status status = phl_write_options_take(options, &own, error);
    if (status != PHL_OK) {
        return status;
    }
    options = &own;
    const phl_format_driver *driver = NULL;
    status = phl_write_driver(options, path, &driver, error);
    if (status != PHL_OK) {
        return status;
    }
    phl_writer writer;
    status = begin(&writer, forest, 0, options, driver, error);
    if (status == PHL_OK) {
        bool standard = strcmp(path, "-") == 0;
        if (driver->one_tree_a_file && !standard && (forest->n_trees != 1 || names_folder(path))) {
            status = phl_write_folder(&writer, driver, path, error);
        } else {
            status = check_document_class(&writer, driver, path, error);
            if (status == PHL_OK) {
                status = phl_output_open(path, &writer.output, error);
            }
            if (status == PHL_OK) {
                status = write_stream(&writer, driver, error);
            }
        }
    }
    end(&writer);
    return status;
}

phl_status phl_forest_write_memory(const phl_forest *forest, const phl_write_options *options,
                                   char **text, size_t *size, phl_error *error)
{
    phl_write_options own;
    phl_status status = phl_write_options_take(options, &own, error);
    if (status != PHL_OK) {
        return status;
    }
    options = &own;
    const phl_format_driver *driver = NULL;
    status = phl_write_driver(options, NULL, &driver, error);
    if (status != PHL_OK) {
        return status;
    }
    phl_writer writer;
    status = begin(&writer, forest, 0, options, driver, error);
    if (status == PHL_OK) {
        status = check_document_class(&writer, driver, "", error);
    }
    if (status == PHL_OK) {
        status = phl_output_open_memory(&writer.output, error);
    }
    if (status == PHL_OK) {
        status = write_stream(&writer, driver, error);
    }
    char *made = NULL;
    size_t length = 0;
    if (status == PHL_OK) {
        made = phl_output_take(writer.output, &length);
        made = made != NULL ? made : phl_copy_text("", 0, error); /* an empty forest */
        status = made == NULL ? PHL_ERR_MEMORY : PHL_OK;
    }
    end(&writer);
    if (status == PHL_OK) {
        *text = made;
        *size = length;
    }
    return status;
}
