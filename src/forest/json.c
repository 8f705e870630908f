/* json.c - one flat object a line:
 * {"id":"t1","class":"a","weight":1,"label":["r","x",null],"parent":[-1,0,0],"slot":[1,1,3]}
 *
 * Nodes may come in any order; `slot` may be left out (children then fill slots 1, 2, 3, ... in
 * order).  Unknown keys are refused: a misspelt key that is passed over is a wrong tree.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "forest/format.h"
#include "forest/lines.h"

enum { MAX_NESTING = 8 }; /* jansson's parser calls itself; ours are flat */

struct parse {
    phl_reader *reader;
    phl_lines lines;
    const char *line;
    /* Of the tree at hand, [n] each. */
    size_t *first;  /* [n + 1] first child of each node in `order` */
    size_t *order;  /* children by parent */
    size_t *stack;  /* nodes open */
    size_t first_capacity, order_capacity, stack_capacity;
};

static phl_position here(const struct parse *parse)
{
    phl_position position = {parse->reader->file, parse->lines.number, 0};
    return position;
}

#define BAD(parse, error, remedy, ...)                                                           \
    phl_raise_at((error), PHL_ERR_SYNTAX, here(parse), (remedy), __VA_ARGS__)

static const char *type_name(const json_t *value)
{
    static const char *const names[] = {"an object", "an array", "a string", "an integer",
                                        "a real number", "true", "false", "null"};
    return value == NULL ? "missing" : names[json_typeof(value)];
}

/* Brackets open at once, outside of strings. */
static size_t nesting(const char *line, size_t length)
{
    size_t depth = 0, deepest = 0;
    bool quoted = false;
    for (size_t i = 0; i < length; i++) {
        char byte = line[i];
        if (quoted) {
            i += byte == '\\';
            quoted = byte != '"';
        } else if (byte == '"') {
            quoted = true;
        } else if (byte == '[' || byte == '{') {
            depth++;
            deepest = depth > deepest ? depth : deepest;
        } else if ((byte == ']' || byte == '}') && depth > 0) {
            depth--;
        }
    }
    return deepest;
}

/* A name: a string, or an integer as its digits.  `digits` holds 24 bytes. */
static phl_status read_name(struct parse *parse, const json_t *value, const char *what,
                            size_t index, char *digits, phl_span *name, phl_error *error)
{
    name->bytes = NULL;
    name->length = 0;
    if (json_is_string(value)) {
        name->bytes = json_string_value(value);
        name->length = json_string_length(value);
    } else if (json_is_integer(value)) {
        name->bytes = digits;
        name->length =
            (size_t)snprintf(digits, 24, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    } else if (value != NULL && !json_is_null(value)) {
        return index == SIZE_MAX
                   ? BAD(parse, error, NULL, "\"%s\" is %s, expected a string or null", what,
                         type_name(value))
                   : BAD(parse, error, NULL, "\"%s\"[%zu] is %s, expected a string or null", what,
                         index, type_name(value));
    }
    if (name->length > parse->reader->options->max_name) {
        return phl_raise_at(error, PHL_ERR_LIMIT, here(parse),
                            "raise the cap with --max-name BYTES", "a name longer than %llu bytes",
                            (unsigned long long)parse->reader->options->max_name);
    }
    return PHL_OK;
}

static phl_status check_keys(struct parse *parse, json_t *object, phl_error *error)
{
    static const char *const known[] = {"id", "class", "weight", "label", "parent", "slot"};
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        bool found = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
            found = found || strcmp(key, known[i]) == 0;
        }
        if (!found) {
            char excerpt[PHL_EXCERPT_SIZE];
            return BAD(parse, error, "remove or rename it",
                       "found the key \"%s\", expected id, class, weight, label, parent or slot",
                       phl_excerpt(key, strlen(key), excerpt));
        }
    }
    return PHL_OK;
}

/* An integer of an array in [low, high]. */
static phl_status read_index(struct parse *parse, const json_t *array, const char *what, size_t i,
                             json_int_t low, json_int_t high, json_int_t *index, phl_error *error)
{
    const json_t *value = json_array_get(array, i);
    if (!json_is_integer(value)) {
        return BAD(parse, error, NULL, "\"%s\"[%zu] is %s, expected an integer", what, i,
                   type_name(value));
    }
    *index = json_integer_value(value);
    if (*index < low || *index > high) {
        return BAD(parse, error, NULL,
                   "\"%s\"[%zu] is %" JSON_INTEGER_FORMAT ", expected %" JSON_INTEGER_FORMAT
                   " to %" JSON_INTEGER_FORMAT,
                   what, i, *index, low, high);
    }
    return PHL_OK;
}

/* Children by parent, in order of node number (a counting sort), and the root. */
static phl_status sort_children(struct parse *parse, const json_t *parents, size_t n, size_t *root,
                                phl_error *error)
{
    phl_status status =
        phl_grow(&parse->first, &parse->first_capacity, n + 2, sizeof *parse->first, error);
    if (status == PHL_OK) {
        status = phl_grow(&parse->order, &parse->order_capacity, n, sizeof *parse->order, error);
    }
    if (status == PHL_OK) {
        status = phl_grow(&parse->stack, &parse->stack_capacity, n, sizeof *parse->stack, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    memset(parse->first, 0, (n + 2) * sizeof *parse->first);
    *root = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        json_int_t parent = -1;
        status = read_index(parse, parents, "parent", i, -1, (json_int_t)n - 1, &parent, error);
        if (status != PHL_OK) {
            return status;
        }
        if (parent < 0 && *root != SIZE_MAX) {
            return BAD(parse, error, "one tree an object",
                       "\"parent\"[%zu] is -1, but node %zu is the root already", i, *root);
        }
        if (parent < 0) {
            *root = i;
        } else {
            parse->first[parent + 2]++;
        }
    }
    if (*root == SIZE_MAX) {
        return BAD(parse, error, NULL, "no root, expected one \"parent\" of -1");
    }
    for (size_t i = 2; i < n + 2; i++) {
        parse->first[i] += parse->first[i - 1];
    }
    for (size_t i = 0; i < n; i++) {
        json_int_t parent = json_integer_value(json_array_get(parents, i));
        if (parent >= 0) {
            parse->order[parse->first[parent + 1]++] = i;
        }
    }
    return PHL_OK;
}

static phl_status open_node(struct parse *parse, const json_t *labels, const json_t *slots,
                            size_t node, bool is_root, phl_error *error)
{
    phl_builder *builder = parse->reader->builder;
    json_int_t slot = 0; /* the next one */
    int32_t label = PHL_UNKNOWN;
    char digits[24];
    phl_span name;
    phl_status status =
        read_name(parse, json_array_get(labels, node), "label", node, digits, &name, error);
    if (status == PHL_OK && name.bytes != NULL) {
        status = phl_builder_label(builder, name.bytes, name.length, &label, error);
    }
    if (status == PHL_OK && slots != NULL) {
        json_int_t cap = (json_int_t)parse->reader->options->max_children;
        cap = cap > UINT32_MAX - 2 ? UINT32_MAX - 2 : cap;
        status = read_index(parse, slots, "slot", node, 1, is_root ? 1 : UINT32_MAX - 2, &slot,
                            error);
        if (status == PHL_OK && slot > cap) {
            status = phl_raise_at(error, PHL_ERR_LIMIT, here(parse),
                                  "raise the cap with --max-children N",
                                  "\"slot\"[%zu] is beyond %" JSON_INTEGER_FORMAT, node, cap);
        }
    }
    return status == PHL_OK ? phl_builder_open_label(builder, label, (uint32_t)slot, error)
                            : status;
}

static phl_status read_nodes(struct parse *parse, const json_t *labels, const json_t *parents,
                             const json_t *slots, phl_error *error)
{
    phl_builder *builder = parse->reader->builder;
    size_t n = json_array_size(labels);
    size_t root;
    phl_status status = sort_children(parse, parents, n, &root, error);
    if (status != PHL_OK) {
        return status;
    }
    /* first[i] is where the children of node i begin in `order`, and serves as the cursor: they end
     * where an entry has another parent. */
    size_t depth = 0, seen = 1;
    status = open_node(parse, labels, slots, root, true, error);
    parse->stack[depth++] = root;
    while (status == PHL_OK && depth > 0) {
        size_t node = parse->stack[depth - 1];
        size_t next = parse->first[node];
        bool more = next < n - 1 &&
                    json_integer_value(json_array_get(parents, parse->order[next])) ==
                        (json_int_t)node;
        if (more) {
            size_t child = parse->order[next];
            parse->first[node]++;
            seen++;
            status = open_node(parse, labels, slots, child, false, error);
            parse->stack[depth++] = child;
        } else {
            status = phl_builder_close(builder, error);
            depth--;
        }
    }
    if (status == PHL_OK && seen != n) {
        status = BAD(parse, error, NULL,
                     "%zu of %zu nodes are not below the root: \"parent\" has a cycle", n - seen,
                     n);
    }
    return status;
}

static phl_status check_array(struct parse *parse, const json_t *array, const char *what, size_t n,
                              phl_error *error)
{
    if (!json_is_array(array)) {
        return BAD(parse, error, NULL, "\"%s\" is %s, expected an array", what, type_name(array));
    }
    if (json_array_size(array) != n) {
        return BAD(parse, error, NULL, "\"%s\" has %zu entries, expected %zu as \"label\"", what,
                   json_array_size(array), n);
    }
    return PHL_OK;
}

static phl_status read_object(struct parse *parse, json_t *object, phl_error *error)
{
    if (!json_is_object(object)) {
        return BAD(parse, error, "one object a line", "found %s, expected an object",
                   type_name(object));
    }
    const json_t *labels = json_object_get(object, "label");
    const json_t *parents = json_object_get(object, "parent");
    const json_t *slots = json_object_get(object, "slot");
    const json_t *weight = json_object_get(object, "weight");
    size_t n = json_array_size(labels);
    char class_digits[24], id_digits[24];
    phl_span class_name, id;
    phl_status status = check_keys(parse, object, error);
    if (status == PHL_OK) {
        status = check_array(parse, labels, "label", n, error);
    }
    if (status == PHL_OK) {
        status = check_array(parse, parents, "parent", n, error);
    }
    if (status == PHL_OK && slots != NULL) {
        status = check_array(parse, slots, "slot", n, error);
    }
    if (status == PHL_OK && n == 0) {
        status = BAD(parse, error, NULL, "\"label\" is empty, expected at least one node");
    }
    if (status == PHL_OK && weight != NULL &&
        !(json_is_number(weight) && json_number_value(weight) > 0.0)) {
        status = BAD(parse, error, NULL, "\"weight\" is %s, expected a positive number",
                     json_is_number(weight) ? "not positive" : type_name(weight));
    }
    if (status == PHL_OK) {
        status = read_name(parse, json_object_get(object, "class"), "class", SIZE_MAX,
                           class_digits, &class_name, error);
    }
    if (status == PHL_OK) {
        status = read_name(parse, json_object_get(object, "id"), "id", SIZE_MAX, id_digits, &id,
                           error);
    }
    if (status == PHL_OK) {
        status = read_nodes(parse, labels, parents, slots, error);
    }
    if (status != PHL_OK) {
        return phl_error_locate(error, here(parse));
    }
    return phl_reader_end_tree(parse->reader, class_name,
                               weight != NULL ? json_number_value(weight) : 1.0, id,
                               parse->lines.number, error);
}

static phl_status read_tree(struct parse *parse, size_t length, phl_error *error)
{
    if (nesting(parse->line, length) > MAX_NESTING) {
        return BAD(parse, error, "write a tree as flat arrays: label, parent, slot",
                   "arrays or objects nested more than %d deep", MAX_NESTING);
    }
    json_error_t fault;
    json_t *object = json_loadb(parse->line, length, JSON_REJECT_DUPLICATES, &fault);
    if (object == NULL) {
        /* jansson mostly says nothing at all when memory is used up. */
        if (json_error_code(&fault) == json_error_out_of_memory || fault.text[0] == '\0') {
            return phl_raise(error, PHL_ERR_MEMORY, NULL, "not enough memory for a line of JSON");
        }
        phl_position position = here(parse);
        position.column = fault.column > 0 ? (uint64_t)fault.column : 1;
        return phl_raise_at(error, PHL_ERR_SYNTAX, position, "one object a line",
                            "not JSON: %s", fault.text);
    }
    phl_status status = read_object(parse, object, error);
    json_decref(object);
    return status;
}

static phl_status read_json(phl_reader *reader, phl_error *error)
{
    struct parse parse = {.reader = reader};
    phl_status status = PHL_OK;
    phl_lines_init(&parse.lines, reader->input, reader->options->max_token);
    while (status == PHL_OK && !reader->done) {
        size_t length;
        status = phl_lines_next(&parse.lines, &parse.line, &length, error);
        if (status == PHL_OK && parse.line == NULL) {
            break;
        }
        if (status == PHL_OK && strspn(parse.line, " \t") < length) {
            status = read_tree(&parse, length, error);
        }
        if (status != PHL_OK) {
            status = phl_reader_bad_tree(reader, status, error);
        }
    }
    phl_lines_clear(&parse.lines);
    phl_free(parse.first);
    phl_free(parse.order);
    phl_free(parse.stack);
    return status;
}

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

enum field { LABEL, PARENT, SLOT };

/* One of the three arrays: a walk each. */
static phl_status write_array(phl_writer *writer, size_t tree, enum field field, phl_error *error)
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
        if (field == LABEL) {
            status = visit.label < 0
                         ? phl_output_write(output, "null", 4, error)
                         : phl_output_json_string(
                               output, phl_alphabet_name(labels, (size_t)visit.label),
                               phl_alphabet_length(labels, (size_t)visit.label), error);
        } else if (field == SLOT) {
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
        char text[64];
        (void)snprintf(text, sizeof text, "\"weight\":%.17g,", weight);
        status = phl_output_string(output, text, error);
    }
    for (int field = LABEL; status == PHL_OK && field <= SLOT; field++) {
        status = write_array(writer, tree, (enum field)field, error);
    }
    return status == PHL_OK ? phl_output_write(output, "}\n", 2, error) : status;
}

static const char *const endings[] = {".jsonl", ".ndjson", ".json", NULL};

const phl_format_driver phl_json_driver = {
    .format = PHL_FORMAT_JSON,
    .name = "json",
    .endings = endings,
    .recognise = recognise_json,
    .read = read_json,
    .write_tree = write_json,
    .carries_ids = true,
};
