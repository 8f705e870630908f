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
    int more;
    phl_output_string(output, heads[field]);
    phl_walk_start(writer->walk, tree);
    while ((more = phl_walk_next(writer->walk, &visit, error)) > 0) {
        phl_output_string(output, visit.node > 0 ? "," : "");
        if (field == PHL_JSON_SLOT) {
            phl_output_number(output, visit.slot);
        } else if (field == PHL_JSON_LABEL && visit.label < 0) {
            phl_output_string(output, "null");
        } else if (field == PHL_JSON_LABEL) {
            phl_output_json_string(output, phl_alphabet_name(labels, (size_t)visit.label),
                                   phl_alphabet_length(labels, (size_t)visit.label));
        } else if (visit.parent == SIZE_MAX) {
            phl_output_string(output, "-1");
        } else {
            phl_output_number(output, visit.parent);
        }
    }
    phl_output_string(output, "]");
    return more < 0 ? (phl_status)more : PHL_OK;
}

static void write_member(phl_output *output, const char *key, const char *value)
{
    if (value != NULL) {
        phl_output_string(output, key);
        phl_output_json_string(output, value, strlen(value));
        phl_output_string(output, ",");
    }
}

static phl_status write_json(phl_writer *writer, size_t tree, phl_error *error)
{
    const phl_forest *forest = writer->forest;
    phl_output *output = writer->output;
    double weight = phl_tree_weight(forest, tree);
    phl_status status = PHL_OK;
    phl_output_string(output, "{");
    write_member(output, "\"id\":", phl_tree_id(forest, tree));
    write_member(output, "\"class\":", phl_forest_class_name(forest, phl_tree_class(forest, tree)));
    if (weight != 1.0) {
        char digits[32];
        phl_text_of_double(weight, digits);
        phl_output_string(output, "\"weight\":");
        phl_output_string(output, digits);
        phl_output_string(output, ",");
    }
    for (int field = PHL_JSON_LABEL; status == PHL_OK && field <= PHL_JSON_SLOT; field++) {
        status = write_array(writer, tree, (enum phl_json_key)field, error);
    }
    phl_output_string(output, "}\n");
    return status == PHL_OK ? phl_output_check(output, error) : status;
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
