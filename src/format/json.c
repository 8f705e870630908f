/* json.c - the json format: one flat object per line, written here and read in json_read.c. */
#include "format/json.h"

#include <string.h>

#include "base/text.h"
#include "format/format.h"

static bool recognise_json(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length && (text[at] == ' ' || text[at] == '\n' || text[at] == '\r')) {
        at++;
    }
    return at < length && text[at] == '{';
}

/* ---------------------------------------------------------------------------------------------
 * Writing
 * ------------------------------------------------------------------------------------------- */

/* One of the three arrays: a walk each. */
static phl_status write_array(phl_writer *writer, size_t tree, enum phl_json_key field,
                              phl_error *error)
{
    static const char *const heads[] = {"\"label\":[", ",\"parent\":[", ",\"slot\":["};
    const phl_alphabet *labels = &writer->forest->labels;
    phl_output *output = writer->output;
    phl_visit visit;
    int more = 0;
    phl_status status = phl_output_string(output, heads[field], error);
    phl_walk_start(writer->walk, tree);
    while (status == PHL_OK && (more = phl_walk_next(writer->walk, &visit, error)) > 0) {
        if (visit.node > 0) {
            status = phl_output_write(output, ",", 1, error);
        }
        if (status != PHL_OK) {
            break;
        }
        if (field == PHL_JSON_LABEL) {
            status = visit.label < 0 ? phl_output_write(output, "null", 4, error)
                                     : phl_output_json_string(
                                           output, phl_alphabet_name(labels, (size_t)visit.label),
                                           phl_alphabet_length(labels, (size_t)visit.label), error);
        } else if (field == PHL_JSON_SLOT) {
            status = phl_output_number(output, visit.slot, error);
        } else {
            status = visit.parent == SIZE_MAX ? phl_output_write(output, "-1", 2, error)
                                              : phl_output_number(output, visit.parent, error);
        }
    }
    status = status == PHL_OK && more < 0 ? (phl_status)more : status;
    return status == PHL_OK ? phl_output_write(output, "]", 1, error) : status;
}

static phl_status write_member(phl_output *output, const char *key, const char *value,
                               phl_error *error)
{
    phl_status status = phl_output_string(output, key, error);
    if (status == PHL_OK) {
        status = phl_output_json_string(output, value, strlen(value), error);
    }
    return status == PHL_OK ? phl_output_write(output, ",", 1, error) : status;
}

static phl_status write_json(phl_writer *writer, size_t tree, phl_error *error)
{
    phl_output *output = writer->output;
    const char *id = phl_tree_id(writer->forest, tree);
    const char *class_name =
        phl_forest_class_name(writer->forest, phl_tree_class(writer->forest, tree));
    double weight = phl_tree_weight(writer->forest, tree);
    phl_status status = phl_output_write(output, "{", 1, error);
    if (status == PHL_OK && id != NULL) {
        status = write_member(output, "\"id\":", id, error);
    }
    if (status == PHL_OK && class_name != NULL) {
        status = write_member(output, "\"class\":", class_name, error);
    }
    if (status == PHL_OK && weight != 1.0) {
        char digits[32];
        phl_text_of_double(weight, digits);
        status = phl_output_string(output, "\"weight\":", error);
        if (status == PHL_OK) {
            status = phl_output_string(output, digits, error);
        }
        if (status == PHL_OK) {
            status = phl_output_write(output, ",", 1, error);
        }
    }
    for (int field = PHL_JSON_LABEL; status == PHL_OK && field <= PHL_JSON_SLOT; field++) {
        status = write_array(writer, tree, (enum phl_json_key)field, error);
    }
    return status == PHL_OK ? phl_output_write(output, "}\n", 2, error) : status;
}

static const char *const endings[] = {".jsonl", ".ndjson", ".json", NULL};

const phl_format_driver phl_json_driver = {
    .format = PHL_FORMAT_JSON,
    .name = "json",
    .endings = endings,
    .recognise = recognise_json,
    .state_size = sizeof(phl_json_parse),
    .open = phl_json_read_open,
    .read = phl_json_read,
    .close = phl_json_read_close,
    .write_tree = write_json,
    .carries_ids = true,
};
