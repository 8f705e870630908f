/* elastic.c - the format of the INEX files: `class:label(child child)`, a leaf is `label($)`.
 *
 * Children fill slots 1, 2, 3, ...; there are no empty slots, unknown labels or quotes.
 */
#include <string.h>

#include "base/text.h"
#include "format/format.h"
#include "format/lines.h"

static bool ends_name(char byte)
{
    return byte == '(' || byte == ')' || byte == ' ' || byte == '\t' || byte == '\n';
}

struct parse {
    phl_reader *reader;
    phl_lines lines;
    const char *line;
};

static phl_status expected(struct parse *parse, const char *at, const char *what, phl_error *error)
{
    char excerpt[PHL_EXCERPT_SIZE];
    const char *end = at;
    while (!ends_name(*end)) {
        end++;
    }
    phl_position position = phl_lines_position(&parse->lines, parse->line, at);
    if (*at == '\n') {
        return phl_raise_at(error, PHL_ERR_SYNTAX, position, NULL,
                            "found the end of the line, expected %s", what);
    }
    phl_text_excerpt(at, end == at ? 1 : (size_t)(end - at), excerpt);
    return phl_raise_at(error, PHL_ERR_SYNTAX, position, NULL, "found '%s', expected %s", excerpt,
                        what);
}

static phl_status name_too_long(struct parse *parse, const char *at, phl_error *error)
{
    return phl_raise_at(error, PHL_ERR_LIMIT, phl_lines_position(&parse->lines, parse->line, at),
                        "raise the cap with " PHL_OPTION_TO("read.max_name", ""),
                        "a name longer than %llu bytes",
                        (unsigned long long)parse->reader->options->max_name);
}

/* `label(` opens a node, `label($)` is a whole leaf; *end is after the bracket. */
static phl_status read_node(struct parse *parse, const char *at, const char **end, bool *leaf,
                            phl_error *error)
{
    phl_builder *builder = parse->reader->builder;
    const char *behind = at;
    while (!ends_name(*behind)) {
        behind++;
    }
    size_t length = (size_t)(behind - at);
    if (length == 0) {
        return expected(parse, at, "a label", error);
    }
    if (*behind != '(') {
        return expected(parse, behind, "( after a label; a leaf is written label($)", error);
    }
    if (length > parse->reader->options->max_name) {
        return name_too_long(parse, at, error);
    }
    *leaf = behind[1] == '$' && behind[2] == ')';
    *end = behind + (*leaf ? 3 : 1);
    int32_t label;
    phl_status status = phl_builder_label(builder, at, length, &label, error);
    if (status == PHL_OK) {
        status = *leaf ? phl_builder_leaf(builder, label, 0, error)
                       : phl_builder_open_label(builder, label, 0, error);
    }
    return status == PHL_OK
               ? PHL_OK
               : phl_error_locate(error, phl_lines_position(&parse->lines, parse->line, at));
}

/* The nodes from the root's label; *end is after the last bracket. */
static phl_status read_nodes(struct parse *parse, const char *at, const char **end,
                             phl_error *error)
{
    phl_builder *builder = parse->reader->builder;
    bool leaf; /* was the node read last one? if not, nothing stands yet after its bracket */
    phl_status status = read_node(parse, at, &at, &leaf, error);
    while (status == PHL_OK && builder->depth > 0) {
        switch (*at) {
        case '$':
            return expected(parse, at, "$ alone between brackets, as in label($)", error);
        case ')':
            if (!leaf) {
                return expected(parse, at, "$ or a child; a leaf is written label($)", error);
            }
            status = phl_builder_close(builder, error);
            if (status != PHL_OK) {
                return phl_error_locate(error, phl_lines_position(&parse->lines, parse->line, at));
            }
            at++;
            break;
        case ' ':
        case '\t':
            at++;
            break;
        case '\n':
            return expected(parse, at, "a child or )", error);
        default:
            status = read_node(parse, at, &at, &leaf, error);
        }
    }
    *end = at;
    return status;
}

static phl_status read_tree(struct parse *parse, const char *at, phl_error *error)
{
    phl_span class_name = {NULL, 0};
    const char *behind = at;
    while (!ends_name(*behind) && *behind != ':') {
        behind++;
    }
    if (*behind == ':') {
        class_name.bytes = at;
        class_name.length = (size_t)(behind - at);
        if (class_name.length == 0) {
            return expected(parse, at, "a class before the colon", error);
        }
        if (class_name.length > parse->reader->options->max_name) {
            return name_too_long(parse, at, error);
        }
        at = behind + 1;
    }
    phl_status status = read_nodes(parse, at, &at, error);
    if (status != PHL_OK) {
        return status;
    }
    while (*at == ' ' || *at == '\t') {
        at++;
    }
    if (*at != '\n') {
        return expected(parse, at, "the end of the line after the tree", error);
    }
    phl_span no_id = {NULL, 0};
    return phl_reader_end_tree(parse->reader, class_name, 1.0, no_id, parse->lines.number, error);
}

static void open_elastic(phl_reader *reader)
{
    struct parse *parse = reader->state;
    parse->reader = reader;
    phl_lines_init(&parse->lines, reader->input, reader->options->max_token);
}

static void close_elastic(phl_reader *reader)
{
    struct parse *parse = reader->state;
    phl_lines_clear(&parse->lines);
}

static phl_status read_elastic(phl_reader *reader, phl_error *error)
{
    struct parse *parse = reader->state;
    phl_status status = PHL_OK;
    while (status == PHL_OK && !reader->pause) {
        size_t length;
        status = phl_lines_next(&parse->lines, &parse->line, &length, error);
        if (status == PHL_OK && parse->line == NULL) {
            reader->ended = true;
            break;
        }
        if (status == PHL_OK) {
            const char *at = parse->line;
            while (*at == ' ' || *at == '\t') {
                at++;
            }
            if (*at != '\n') {
                status = read_tree(parse, at, error);
            }
        }
        if (status != PHL_OK) {
            status = phl_reader_bad_tree(reader, status, error);
        }
    }
    return status;
}

/* The first line that is not blank has `name(` at its start and `($)` somewhere. */
static bool recognise_elastic(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length && (text[at] == '\n' || text[at] == '\r' || text[at] == ' ')) {
        at++;
    }
    const char *line = text + at;
    const char *end = memchr(line, '\n', length - at);
    size_t size = end != NULL ? (size_t)(end - line) : length - at;
    size_t name = 0;
    while (name < size && !ends_name(line[name])) {
        name++;
    }
    /* A quote: more likely a quoted class of the native format. */
    if (name == 0 || name == size || line[name] != '(' || line[0] == '"') {
        return false;
    }
    for (size_t i = name; i + 2 < size; i++) {
        if (memcmp(line + i, "($)", 3) == 0) {
            return true;
        }
    }
    return false;
}

/* ---------------------------------------------------------------------------------------------
 * Writing
 * ------------------------------------------------------------------------------------------- */

static const char *name_objection(const phl_alphabet *names, int32_t number)
{
    const char *name = phl_alphabet_name(names, (size_t)number);
    size_t length = phl_alphabet_length(names, (size_t)number);
    if (length == 0) {
        return "an empty name";
    }
    for (size_t i = 0; i < length; i++) {
        if (ends_name(name[i]) || name[i] == '\r') {
            return "a name with spaces or brackets";
        }
    }
    if (length >= 3 && memcmp(name, "\xef\xbb\xbf", 3) == 0) {
        return "a name that begins with a byte order mark";
    }
    return name[0] == '$' ? "a name that begins with $" : NULL;
}

static const char *elastic_tree_objection(const phl_writer *writer, size_t tree)
{
    const phl_forest *forest = writer->forest;
    int32_t class_number = phl_tree_class(forest, tree);
    int32_t label = phl_subtree_label(forest, phl_tree_root(forest, tree));
    if (phl_tree_weight(forest, tree) != 1.0) {
        return "the weight of a tree";
    }
    if (class_number < 0) {
        const char *name = phl_forest_label_name(forest, label);
        return name != NULL && strchr(name, ':') != NULL
                   ? "a tree without class whose root label holds a colon"
                   : NULL;
    }
    if (strchr(phl_forest_class_name(forest, class_number), ':') != NULL) {
        return "a class with a colon";
    }
    return name_objection(&forest->classes, class_number);
}

static const char *elastic_node_objection(const phl_writer *writer, uint32_t subtree)
{
    int32_t label = phl_subtree_label(writer->forest, subtree);
    if (label < 0) {
        return "an unknown label";
    }
    if (phl_format_has_gap(writer->forest, subtree)) {
        return "an empty slot";
    }
    return name_objection(&writer->forest->labels, label);
}

static void write_name(phl_output *output, const phl_alphabet *names, int32_t number)
{
    phl_output_write(output, phl_alphabet_name(names, (size_t)number),
                     phl_alphabet_length(names, (size_t)number));
}

static phl_status write_elastic(phl_writer *writer, size_t tree, phl_error *error)
{
    const phl_forest *forest = writer->forest;
    phl_output *output = writer->output;
    int32_t class_number = phl_tree_class(forest, tree);
    if (class_number >= 0) {
        write_name(output, &forest->classes, class_number);
        phl_output_string(output, ":");
    }
    phl_visit visit;
    size_t depth = 0;
    int more;
    bool first = true; /* the next node is the first child (or the root) */
    phl_walk_start(writer->walk, tree);
    while ((more = phl_walk_next(writer->walk, &visit, error)) > 0) {
        phl_output_repeat(output, ")", depth - visit.depth);
        phl_output_string(output, first ? "" : " ");
        write_name(output, &forest->labels, visit.label);
        phl_output_string(output, visit.leaf ? "($)" : "(");
        first = !visit.leaf;
        depth = visit.depth + !visit.leaf;
    }
    phl_output_repeat(output, ")", depth);
    phl_output_string(output, "\n");
    return more < 0 ? (phl_status)more : phl_output_check(output, error);
}

static const char *const endings[] = {".elastic.tree", ".elastic", NULL};

const phl_format_driver phl_elastic_driver = {
    .format = PHL_FORMAT_ELASTIC,
    .name = "elastic",
    .endings = endings,
    .recognise = recognise_elastic,
    .state_size = sizeof(struct parse),
    .open = open_elastic,
    .read = read_elastic,
    .close = close_elastic,
    .tree_objection = elastic_tree_objection,
    .node_objection = elastic_node_objection,
    .write_tree = write_elastic,
};
