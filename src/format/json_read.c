/* json_read.c - reading one flat object per line:
 * {"id":"t1","class":"a","weight":1,"label":["r","x",null],"parent":[-1,0,0],"slot":[1,1,3]}
 *
 * Nodes may come in any order; `slot` may be left out (children then fill slots 1, 2, 3, ... in
 * order).  Unknown keys are refused: a misspelt key that is passed over is a wrong tree.
 *
 * One pass over the line puts the three arrays into arrays of numbers that are used again for every
 * tree, labels already as their numbers in the builder's alphabet (a tree that turns out bad takes
 * its labels along).  Then the nodes are handed to the builder from the root down.
 */
#include <string.h>

#include "base/memory.h"
#include "format/json.h"

static const uint32_t MAX_NODES = UINT32_MAX - 2; /* two numbers above them stand for no node */
static const uint32_t MAX_SLOT = UINT32_MAX - 2;

static const char *const key_names[PHL_JSON_KEYS] = {"label", "parent", "slot",
                                                     "id",    "class",  "weight"};

static phl_position place(const phl_json_parse *parse, const char *at)
{
    return phl_lines_position(&parse->line.lines, parse->line.line, at);
}

/* ---------------------------------------------------------------------------------------------
 * Values
 * ------------------------------------------------------------------------------------------- */

static phl_status too_many_nodes(const phl_json_parse *parse, const char *at, phl_error *error)
{
    return phl_raise_at(error, PHL_ERR_LIMIT, place(parse, at),
                        parse->max_nodes < MAX_NODES
                            ? "raise the cap with " PHL_OPTION_TO("read.max_nodes", "")
                            : "split the tree",
                        "a tree with more than %llu nodes", (unsigned long long)parse->max_nodes);
}

static phl_status read_label(phl_json_parse *parse, size_t node, const char *at, const char **end,
                             uint32_t *value, phl_error *error)
{
    int32_t label = PHL_UNKNOWN;
    phl_span name;
    phl_json_owner owner = {key_names[PHL_JSON_LABEL], node};
    phl_status status =
        phl_json_scan_name(&parse->line, at, owner, &parse->text, &name, end, error);
    if (status == PHL_OK && name.bytes != NULL) {
        status = phl_builder_label(parse->reader->builder, name.bytes, name.length, &label, error);
        if (status != PHL_OK) {
            (void)phl_error_locate(error, place(parse, at));
        }
    }
    *value = (uint32_t)label;
    return status;
}

static phl_status read_index(phl_json_parse *parse, enum phl_json_key key, size_t node,
                             const char *at, const char **end, uint32_t *value, phl_error *error)
{
    bool negative;
    uint64_t size;
    const char *behind = phl_json_integer(at, &negative, &size);
    if (behind == NULL) {
        phl_json_owner owner = {key_names[key], node};
        return phl_json_scan_wrong_value(&parse->line, at, owner, "an integer", error);
    }
    *end = behind;
    negative = negative && size != 0;
    if (key == PHL_JSON_PARENT) {
        /* How many nodes there are may not be known yet: find_root looks at the range. */
        *value = negative ? (size == 1 ? PHL_JSON_NO_PARENT : PHL_JSON_BAD_PARENT)
                          : (size < PHL_JSON_BAD_PARENT ? (uint32_t)size : PHL_JSON_BAD_PARENT);
        return PHL_OK;
    }
    if (negative || size == 0 || size > MAX_SLOT) {
        return phl_json_nodes_out_of_range(parse, PHL_JSON_SLOT, node, "1 to 4294967293", error);
    }
    if (size > parse->max_slot) {
        return phl_raise_at(error, PHL_ERR_LIMIT, place(parse, at),
                            "raise the cap with " PHL_OPTION_TO("read.max_children", ""),
                            "\"slot\"[%zu] is beyond %llu", node,
                            (unsigned long long)parse->max_slot);
    }
    *value = (uint32_t)size;
    return PHL_OK;
}

static inline phl_status read_array(phl_json_parse *parse, enum phl_json_key key, const char *at,
                                    const char **end, phl_error *error)
{
    phl_json_column *column = &parse->columns[key];
    if (*at != '[') {
        phl_json_owner owner = {key_names[key], SIZE_MAX};
        return phl_json_scan_wrong_value(&parse->line, at, owner, "an array", error);
    }
    size_t n = 0;
    at = phl_json_skip(at + 1);
    if (*at != ']') {
        for (;; at = phl_json_skip(at + 1)) {
            if (n >= parse->max_nodes) {
                return too_many_nodes(parse, at, error);
            }
            phl_status status =
                phl_grow(&column->values, &column->capacity, n + 1, sizeof *column->values, error);
            if (status == PHL_OK) {
                status = key == PHL_JSON_LABEL
                             ? read_label(parse, n, at, &at, &column->values[n], error)
                             : read_index(parse, key, n, at, &at, &column->values[n], error);
            }
            if (status != PHL_OK) {
                return status;
            }
            n++;
            at = phl_json_skip(at);
            if (*at != ',') {
                break;
            }
        }
        if (*at != ']') {
            return phl_json_scan_expected(&parse->line, at, ", or ]", NULL, error);
        }
    }
    column->n = n;
    *end = at + 1;
    return PHL_OK;
}

static phl_status read_value(phl_json_parse *parse, enum phl_json_key key, const char *at,
                             const char **end, phl_error *error)
{
    phl_json_owner owner = {key_names[key], SIZE_MAX};
    switch (key) {
    case PHL_JSON_LABEL:
        return read_array(parse, PHL_JSON_LABEL, at, end, error);
    case PHL_JSON_PARENT:
        return read_array(parse, PHL_JSON_PARENT, at, end, error);
    case PHL_JSON_SLOT:
        return read_array(parse, PHL_JSON_SLOT, at, end, error);
    case PHL_JSON_ID:
        return phl_json_scan_name(&parse->line, at, owner, &parse->id_text, &parse->id, end, error);
    case PHL_JSON_CLASS:
        return phl_json_scan_name(&parse->line, at, owner, &parse->class_text, &parse->class_name,
                                  end, error);
    default:
        return phl_json_scan_positive(&parse->line, at, owner, &parse->weight, end, error);
    }
}

/* ---------------------------------------------------------------------------------------------
 * The object
 * ------------------------------------------------------------------------------------------- */

/* A key from its opening quote, one of those there are and not there before. */
static phl_status read_key(phl_json_parse *parse, const char *at, const char **end,
                           enum phl_json_key *key, phl_error *error)
{
    phl_span name;
    if (*at != '"') {
        return phl_json_scan_expected(&parse->line, at, "a key in quotes", "one object per line",
                                      error);
    }
    phl_status status =
        phl_json_scan_string(&parse->line, at, UINT64_MAX, &parse->text, &name, end, error);
    if (status != PHL_OK) {
        return status;
    }
    size_t found = 0;
    while (found < PHL_JSON_KEYS && !(strlen(key_names[found]) == name.length &&
                                      memcmp(key_names[found], name.bytes, name.length) == 0)) {
        found++;
    }
    if (found == PHL_JSON_KEYS) {
        char excerpt[PHL_EXCERPT_SIZE];
        return phl_raise_at(
            error, PHL_ERR_SYNTAX, place(parse, at), "remove or rename it",
            "found the key \"%s\", expected id, class, weight, label, parent or slot",
            phl_text_excerpt(name.bytes, name.length, excerpt));
    }
    if (parse->value[found] != NULL) {
        return phl_raise_at(error, PHL_ERR_SYNTAX, place(parse, at), "remove one of them",
                            "found the key \"%s\" again, expected every key once",
                            key_names[found]);
    }
    *key = (enum phl_json_key)found;
    return PHL_OK;
}

/* The members from the opening brace; *end is at the closing one. */
static phl_status read_members(phl_json_parse *parse, const char *at, const char **end,
                               phl_error *error)
{
    at = phl_json_skip(at + 1);
    if (*at != '}') {
        for (;; at = phl_json_skip(at + 1)) {
            enum phl_json_key key = PHL_JSON_KEYS;
            phl_status status = read_key(parse, at, &at, &key, error);
            if (status != PHL_OK) {
                return status;
            }
            at = phl_json_skip(at);
            if (*at != ':') {
                return phl_json_scan_expected(&parse->line, at, ": after a key", NULL, error);
            }
            at = phl_json_skip(at + 1);
            parse->value[key] = at;
            status = read_value(parse, key, at, &at, error);
            if (status != PHL_OK) {
                return status;
            }
            at = phl_json_skip(at);
            if (*at != ',') {
                break;
            }
        }
        if (*at != '}') {
            return phl_json_scan_expected(&parse->line, at, ", or }", "one object per line", error);
        }
    }
    *end = at;
    return PHL_OK;
}

/* Are the arrays there, and of one length?  `end` is the object's closing brace. */
static phl_status check_arrays(const phl_json_parse *parse, const char *end, phl_error *error)
{
    size_t n = parse->columns[PHL_JSON_LABEL].n;
    for (size_t key = PHL_JSON_LABEL; key <= PHL_JSON_SLOT; key++) {
        const char *value = parse->value[key];
        if (value == NULL && key != PHL_JSON_SLOT) {
            return phl_raise_at(error, PHL_ERR_SYNTAX, place(parse, end), NULL,
                                "\"%s\" is missing, expected an array", key_names[key]);
        }
        if (value != NULL && parse->columns[key].n != n) {
            return phl_raise_at(error, PHL_ERR_SYNTAX, place(parse, value), NULL,
                                "\"%s\" has %zu entries, expected %zu as \"label\"", key_names[key],
                                parse->columns[key].n, n);
        }
    }
    if (n == 0) {
        return phl_raise_at(error, PHL_ERR_SYNTAX, place(parse, parse->value[PHL_JSON_LABEL]), NULL,
                            "\"label\" is empty, expected at least one node");
    }
    return PHL_OK;
}

static phl_status read_tree(phl_json_parse *parse, const char *at, phl_error *error)
{
    static const phl_span nothing = {NULL, 0};
    for (size_t key = 0; key < PHL_JSON_KEYS; key++) {
        parse->value[key] = NULL;
    }
    for (size_t column = 0; column < PHL_JSON_COLUMNS; column++) {
        parse->columns[column].n = 0;
    }
    parse->class_name = parse->id = nothing;
    parse->weight = 1.0;
    if (*at != '{') {
        const char *type = phl_json_scan_type(at);
        return type == NULL
                   ? phl_json_scan_expected(&parse->line, at, "an object", "one object per line",
                                            error)
                   : phl_raise_at(error, PHL_ERR_SYNTAX, place(parse, at), "one object per line",
                                  "found %s, expected an object", type);
    }
    phl_status status = read_members(parse, at, &at, error);
    const char *behind = status == PHL_OK ? phl_json_skip(at + 1) : at;
    if (status == PHL_OK && *behind != '\n') {
        status =
            phl_json_scan_expected(&parse->line, behind, "the end of the line after the object",
                                   "one object per line", error);
    }
    if (status == PHL_OK) {
        status = check_arrays(parse, at, error);
    }
    if (status == PHL_OK) {
        status = phl_json_nodes(parse, error);
    }
    return status != PHL_OK ? status
                            : phl_reader_end_tree(parse->reader, parse->class_name, parse->weight,
                                                  parse->id, parse->line.lines.number, error);
}

void phl_json_read_open(phl_reader *reader)
{
    const phl_read_options *options = reader->options;
    phl_json_parse *parse = reader->state;
    parse->reader = reader;
    parse->line.max_name = options->max_name;
    parse->max_nodes = options->max_nodes < MAX_NODES ? options->max_nodes : MAX_NODES;
    parse->max_slot = options->max_children < MAX_SLOT ? options->max_children : MAX_SLOT;
    phl_lines_init(&parse->line.lines, reader->input, options->max_token);
}

void phl_json_read_close(phl_reader *reader)
{
    phl_json_parse *parse = reader->state;
    phl_lines_clear(&parse->line.lines);
    for (size_t column = 0; column < PHL_JSON_COLUMNS; column++) {
        phl_free(parse->columns[column].values);
    }
    phl_text_clear(&parse->text);
    phl_text_clear(&parse->class_text);
    phl_text_clear(&parse->id_text);
    phl_free(parse->first);
    phl_free(parse->order);
    phl_free(parse->stack);
}

phl_status phl_json_read(phl_reader *reader, phl_error *error)
{
    phl_json_parse *parse = reader->state;
    phl_status status = PHL_OK;
    while (status == PHL_OK && !reader->pause) {
        size_t length;
        status = phl_lines_next(&parse->line.lines, &parse->line.line, &length, error);
        if (status == PHL_OK && parse->line.line == NULL) {
            reader->ended = true;
            break;
        }
        const char *start = status == PHL_OK ? phl_json_skip(parse->line.line) : NULL;
        if (status == PHL_OK && *start != '\n') {
            status = read_tree(parse, start, error);
        }
        if (status != PHL_OK) {
            status = phl_reader_bad_tree(reader, status, error);
        }
    }
    return status;
}
