/* write.c - a forest into a file, a folder of XML documents, or memory. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dirent.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/text.h"
#include "format/files.h"
#include "format/format.h"

static const phl_write_options defaults = {.size = sizeof(phl_write_options)};

void phl_write_options_init_sized(phl_write_options *options, size_t size)
{
    phl_options_fill(options, size, &defaults, sizeof defaults);
}

/* ---------------------------------------------------------------------------------------------
 * What cannot be expressed
 * ------------------------------------------------------------------------------------------- */

static phl_status raise_objection(const phl_writer *writer, const phl_format_driver *driver,
                                  size_t tree, const char *what, phl_error *error)
{
    const phl_forest *forest = writer->forest;
    const char *file = phl_tree_file(forest, tree);
    phl_position position = {file, phl_tree_line(forest, tree), 0};
    return phl_raise_at(
        error, PHL_ERR_EXPRESS, position,
        strstr(what, "class") != NULL
            ? "write json or brackets, or leave classes out with " PHL_OPTION("read.no_class")
        : strstr(what, "weight") != NULL ? "write json"
                                         : "write json or brackets",
        "tree %zu: %s cannot express %s", tree, driver->name, what);
}

/* Refuse a forest that holds something the format cannot carry, naming the first such tree.  Nodes
 * are asked about once a distinct subtree. */
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
            status = raise_objection(writer, driver, tree, objection, error);
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
    (void)phl_raise(&note, PHL_OK, "write json to keep them", "%s leaves the ids of trees out",
                    driver->name);
    writer->options->report(&note, writer->options->context);
}

/* ---------------------------------------------------------------------------------------------
 * One stream
 * ------------------------------------------------------------------------------------------- */

static phl_status check_cancel(const phl_writer *writer, phl_error *error)
{
    if (writer->options->cancel != NULL && writer->options->cancel(writer->options->context)) {
        return phl_raise(error, PHL_ERR_CANCELLED, NULL, "interrupted");
    }
    return PHL_OK;
}

static phl_status write_stream(phl_writer *writer, const phl_format_driver *driver,
                               phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t tree = 0; status == PHL_OK && tree < writer->forest->n_trees; tree++) {
        status = check_cancel(writer, error);
        if (status == PHL_OK) {
            status = driver->write_tree(writer, tree, error);
        }
    }
    return status == PHL_OK ? phl_output_commit(writer->output, error) : status;
}

/* ---------------------------------------------------------------------------------------------
 * A folder of documents: PATH/CLASS/000001.xml, trees without class in PATH itself
 *
 * A new folder is filled under another name beside its final one and renamed when complete.
 * ------------------------------------------------------------------------------------------- */

enum { MAX_FOLDER_NAME = 200 };

static bool is_folder_name(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && length <= MAX_FOLDER_NAME && name[0] != '.' && strchr(name, '/') == NULL;
}

static phl_status check_folder_names(const phl_writer *writer, const phl_format_driver *driver,
                                     phl_error *error)
{
    for (size_t tree = 0; tree < writer->forest->n_trees; tree++) {
        const char *name =
            phl_forest_class_name(writer->forest, phl_tree_class(writer->forest, tree));
        if (name != NULL && !is_folder_name(name)) {
            return raise_objection(writer, driver, tree,
                                   "a class that cannot be the name of a folder", error);
        }
    }
    return PHL_OK;
}

static phl_status make_folder(const char *path, phl_error *error)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        return phl_raise_errno(error, PHL_ERR_WRITE, errno, path, "cannot make the folder");
    }
    return PHL_OK;
}

/* Path of a tree's document below `folder`, its class folder made; `text` is NUL-terminated. */
static phl_status document_path(const phl_writer *writer, const char *folder, size_t tree,
                                const char *ending, phl_text *text, phl_error *error)
{
    const char *class_name =
        phl_forest_class_name(writer->forest, phl_tree_class(writer->forest, tree));
    text->length = 0;
    phl_status status = phl_text_append_string(text, folder, error);
    if (status == PHL_OK && class_name != NULL) {
        status = phl_text_append_string(text, "/", error);
        if (status == PHL_OK) {
            status = phl_text_append(text, class_name, strlen(class_name) + 1, error);
        }
        if (status == PHL_OK) {
            text->length--; /* the NUL is for mkdir only */
            status = make_folder(text->bytes, error);
        }
    }
    if (status == PHL_OK) {
        status = phl_text_append_format(text, error, "/%08zu%s", tree, ending);
    }
    return status == PHL_OK ? phl_text_append(text, "", 1, error) : status;
}

static phl_status fill_folder(phl_writer *writer, const phl_format_driver *driver,
                              const char *folder, bool in_place, phl_text *path, phl_error *error)
{
    phl_status status = PHL_OK;
    for (size_t tree = 0; status == PHL_OK && tree < writer->forest->n_trees; tree++) {
        status = check_cancel(writer, error);
        if (status == PHL_OK) {
            status = document_path(writer, folder, tree, driver->endings[0], path, error);
        }
        if (status == PHL_OK) {
            status = in_place ? phl_output_open(path->bytes, &writer->output, error)
                              : phl_output_create(path->bytes, &writer->output, error);
        }
        if (status == PHL_OK) {
            status = driver->write_tree(writer, tree, error);
        }
        if (status == PHL_OK) {
            status = phl_output_commit(writer->output, error);
        }
        phl_output_close(writer->output);
        writer->output = NULL;
    }
    return status;
}

/* Remove a folder that was not completed, with the documents in it.  `path` has room for their
 * names, so this works when memory is used up. */
static void remove_folder(const phl_writer *writer, const char *folder, const char *ending,
                          phl_text *path)
{
    for (size_t tree = 0; tree < writer->forest->n_trees; tree++) {
        if (document_path(writer, folder, tree, ending, path, NULL) == PHL_OK) {
            (void)unlink(path->bytes);
        }
    }
    for (size_t i = 0; i < writer->forest->classes.count; i++) {
        path->length = 0;
        if (phl_text_append_string(path, folder, NULL) == PHL_OK &&
            phl_text_append_string(path, "/", NULL) == PHL_OK &&
            phl_text_append(path, phl_alphabet_name(&writer->forest->classes, i),
                            phl_alphabet_length(&writer->forest->classes, i) + 1, NULL) == PHL_OK) {
            (void)rmdir(path->bytes);
        }
    }
    (void)rmdir(folder);
}

/* Does the folder exist and hold anything? */
static bool is_filled_folder(const char *path)
{
    DIR *directory = opendir(path);
    if (directory == NULL) {
        return false;
    }
    bool filled = false;
    const struct dirent *entry;
    while (!filled && (entry = readdir(directory)) != NULL) {
        filled = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    (void)closedir(directory);
    return filled;
}

static phl_status write_new_folder(phl_writer *writer, const phl_format_driver *driver,
                                   const char *path, phl_error *error)
{
    char *temporary = phl_alloc(strlen(path) + 40, 1, error);
    if (temporary == NULL) {
        return PHL_ERR_MEMORY;
    }
    (void)sprintf(temporary, "%s.%ld.tmp", path, (long)getpid());
    phl_text name = {NULL, 0, 0}; /* of a document: folder, class and number */
    phl_status status =
        phl_grow(&name.bytes, &name.capacity, strlen(temporary) + MAX_FOLDER_NAME + 64, 1, error);
    if (status != PHL_OK) {
        phl_free(temporary);
        return status;
    }
    if (mkdir(temporary, 0777) != 0) {
        status = phl_raise_errno(error, PHL_ERR_WRITE, errno, path, "cannot make the folder");
    } else {
        status = fill_folder(writer, driver, temporary, false, &name, error);
        if (status == PHL_OK && rename(temporary, path) != 0) {
            status = phl_raise_errno(error, PHL_ERR_WRITE, errno, path, "cannot make the folder");
        }
        if (status != PHL_OK) {
            remove_folder(writer, temporary, driver->endings[0], &name);
        }
    }
    phl_text_clear(&name);
    phl_free(temporary);
    return status;
}

static phl_status write_folder(phl_writer *writer, const phl_format_driver *driver,
                               const char *path, phl_error *error)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') {
        length--;
    }
    phl_status status = check_folder_names(writer, driver, error);
    char *folder = status == PHL_OK ? phl_copy_text(path, length, error) : NULL;
    if (folder == NULL) {
        return status == PHL_OK ? PHL_ERR_MEMORY : status;
    }
    struct stat info;
    if (stat(folder, &info) == 0 && !S_ISDIR(info.st_mode)) {
        phl_position position = {folder, 0, 0};
        status = phl_raise_at(error, PHL_ERR_WRITE, position,
                              "give the name of a new folder, or " PHL_OPTION(
                                  "read.only_classes") "/" PHL_OPTION_TO("read.limit", "1"),
                              "several documents need a folder, and this is a file");
    } else if (is_filled_folder(folder)) {
        phl_position position = {folder, 0, 0};
        phl_text name = {NULL, 0, 0};
        status = writer->options->force
                     ? fill_folder(writer, driver, folder, true, &name, error)
                     : phl_raise_at(
                           error, PHL_ERR_WRITE, position,
                           "name a new folder, or add to this one with " PHL_OPTION("write.force"),
                           "the folder is not empty");
        phl_text_clear(&name);
    } else {
        status = write_new_folder(writer, driver, folder, error);
    }
    phl_free(folder);
    return status;
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
                         "%s holds one document a file, and there are %zu trees", driver->name,
                         forest->n_trees);
    }
    const char *class_name = phl_forest_class_name(forest, phl_tree_class(forest, 0));
    char *folder = NULL;
    phl_status status = phl_files_folder_name(path, &folder, error);
    if (status == PHL_OK && class_name != NULL &&
        (folder == NULL || strcmp(folder, class_name) != 0)) {
        status =
            raise_objection(writer, driver, 0, "a class other than the name of the folder", error);
    }
    phl_free(folder);
    return status;
}

static phl_status begin(phl_writer *writer, const phl_forest *forest,
                        const phl_write_options *options, const phl_format_driver *driver,
                        phl_error *error)
{
    memset(writer, 0, sizeof *writer);
    writer->forest = forest;
    writer->options = options;
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

static const phl_format_driver *choose_driver(const phl_write_options *options, const char *path)
{
    phl_format format = options->format;
    if (format == PHL_FORMAT_AUTO && path != NULL) {
        format = phl_format_of_file(path);
    }
    return phl_format_driver_of(format != PHL_FORMAT_AUTO ? format : PHL_FORMAT_BRACKETS);
}

phl_status phl_forest_write(const phl_forest *forest, const char *path,
                            const phl_write_options *options, phl_error *error)
{
    phl_write_options own;
    phl_status status = phl_options_take(&own, &defaults, sizeof own, options, "phl_write", error);
    if (status != PHL_OK) {
        return status;
    }
    options = &own;
    const phl_format_driver *driver = choose_driver(options, path);
    phl_writer writer;
    status = begin(&writer, forest, options, driver, error);
    if (status == PHL_OK) {
        bool standard = strcmp(path, "-") == 0;
        if (driver->one_tree_a_file && !standard && (forest->n_trees != 1 || names_folder(path))) {
            status = write_folder(&writer, driver, path, error);
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
    phl_status status = phl_options_take(&own, &defaults, sizeof own, options, "phl_write", error);
    if (status != PHL_OK) {
        return status;
    }
    options = &own;
    const phl_format_driver *driver = choose_driver(options, NULL);
    phl_writer writer;
    status = begin(&writer, forest, options, driver, error);
    if (status == PHL_OK) {
        status = check_document_class(&writer, driver, "", error);
    }
    if (status == PHL_OK) {
        status = phl_output_open_memory(&writer.output, error);
    }
    if (status == PHL_OK) {
        status = write_stream(&writer, driver, error);
    }
    if (status == PHL_OK) {
        /* An empty forest is an empty text, not NULL. */
        status = phl_output_write(writer.output, "", 0, error);
        *text = phl_output_take(writer.output, size);
        if (*text == NULL) {
            *text = phl_copy_text("", 0, error);
            status = *text == NULL ? PHL_ERR_MEMORY : PHL_OK;
        }
    }
    end(&writer);
    return status;
}
