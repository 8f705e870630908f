/* brackets.c - the native format: one tree per line, `class<TAB>(label child child)`.
 *
 * Reading is one pass over the line with the builder's own stack; a sentinel '\n' ends every line,
 * so no byte is counted.  Column numbers are worked out only when something is wrong.
 */
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "format/format.h"
#include "format/lines.h"

/* Bytes that end an unquoted name. */
static bool ends_name(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '(' || byte == ')' || byte == '"' || byte == '\n';
}

struct parse {
    phl_reader *reader;
    phl_lines lines;
    const char *line;    /* start of the current line */
    phl_text name;       /* the quoted name decoded last */
    phl_text class_name; /* the quoted class decoded last */
};

static phl_status expected(struct parse *parse, const char *at, const char *what,
                           const char *remedy, phl_error *error)
{
    char excerpt[PHL_EXCERPT_SIZE];
    const char *end = at;
    while (!ends_name(*end)) {
        end++;
    }
    phl_position position = phl_lines_position(&parse->lines, parse->line, at);
    if (*at == '\n') {
        return phl_raise_at(error, PHL_ERR_SYNTAX, position, remedy,
                            "found the end of the line, expected %s", what);
    }
    if (*at == '\t') {
        return phl_raise_at(error, PHL_ERR_SYNTAX, position, remedy, "found a tab, expected %s",
                            what);
    }
    phl_text_excerpt(at, end == at ? 1 : (size_t)(end - at), excerpt);
    return phl_raise_at(error, PHL_ERR_SYNTAX, position, remedy, "found '%s', expected %s", excerpt,
                        what);
}

static phl_status name_too_long(struct parse *parse, const char *at, phl_error *error)
{
    return phl_raise_at(error, PHL_ERR_LIMIT, phl_lines_position(&parse->lines, parse->line, at),
                        "raise the cap with " PHL_OPTION_TO("read.max_name", ""),
                        "a name longer than %llu bytes",
                        (unsigned long long)parse->reader->options->max_name);
}

/* Decode the escape whose backslash is at `at` into parse->name; *end is after it. */
static phl_status decode_escape(struct parse *parse, const char *at, const char **end,
                                phl_error *error)
{
    char bytes[4];
    const char *remedy;
    size_t size = phl_json_escape(at, end, bytes, &remedy);
    return size == 0 ? expected(parse, at, PHL_JSON_ESCAPES, remedy, error)
                     : phl_text_append(&parse->name, bytes, size, error);
}

/* A quoted name from its opening quote; *end is after its closing one. */
static phl_status read_quoted(struct parse *parse, const char *at, const char **end,
                              phl_error *error)
{
    const char *start = at++;
    phl_status status = PHL_OK;
    parse->name.length = 0;
    for (;;) {
        const char *run = at;
        while (*at != '"' && *at != '\\' && *at != '\n') {
            at++;
        }
        status = phl_text_append(&parse->name, run, (size_t)(at - run), error);
        if (status != PHL_OK) {
            return status;
        }
        if (parse->name.length > parse->reader->options->max_name) {
            return name_too_long(parse, start, error);
        }
        if (*at == '"') {
            *end = at + 1;
            return PHL_OK;
        }
        if (*at == '\n') {
            return expected(parse, at, "a closing quote", "write a line end inside quotes as \\n",
                            error);
        }
        status = decode_escape(parse, at, &at, error);
        if (status != PHL_OK) {
            return status;
        }
    }
}

/* A label after '(': its number, or PHL_UNKNOWN for a bare question mark. */
static phl_status read_label(struct parse *parse, const char *at, const char **end, int32_t *label,
                             phl_error *error)
{
    phl_builder *builder = parse->reader->builder;
    if (*at == '"') {
        phl_status status = read_quoted(parse, at, end, error);
        if (status == PHL_OK && !ends_name(**end)) {
            status =
                expected(parse, *end, "a space or a bracket after a quoted label", NULL, error);
        }
        return status != PHL_OK ? status
                                : phl_builder_label(builder, parse->name.bytes, parse->name.length,
                                                    label, error);
    }
    const char *behind = at;
    while (!ends_name(*behind)) {
        behind++;
    }
    size_t length = (size_t)(behind - at);
    *end = behind;
    if (length == 0) {
        return expected(parse, at, "a label", "write an unknown label as ?, an empty one as \"\"",
                        error);
    }
    if (length == 1 && *at == '?') {
        *label = PHL_UNKNOWN;
        return PHL_OK;
    }
    if (length == 1 && *at == '_') {
        return expected(parse, at, "a label", "write \"_\" for a label that is an underscore",
                        error);
    }
    if (*behind == '"') {
        return expected(parse, behind, "a label without quotes inside",
                        "quote the whole label: \"...\"", error);
    }
    if (length > parse->reader->options->max_name) {
        return name_too_long(parse, at, error);
    }
    return phl_builder_label(builder, at, length, label, error);
}

/* The class before the tab, if any; *end is at the tree. */
static phl_status read_class(struct parse *parse, const char *at, const char **end,
                             phl_span *class_name, phl_error *error)
{
    class_name->bytes = NULL;
    class_name->length = 0;
    *end = at;
    if (*at == '(') {
        return PHL_OK;
    }
    const char *behind = at;
    if (*at == '"') {
        phl_status status = read_quoted(parse, at, &behind, error);
        if (status != PHL_OK) {
            return status;
        }
        /* Labels are decoded into the same buffer: keep the class elsewhere. */
        phl_text *kept = &parse->class_name;
        kept->length = 0;
        status = phl_text_append(kept, parse->name.bytes, parse->name.length, error);
        if (status == PHL_OK) {
            status = phl_text_append(kept, "", 1, error); /* never NULL, also when empty */
        }
        if (status != PHL_OK) {
            return status;
        }
        class_name->bytes = kept->bytes;
        class_name->length = kept->length - 1;
    } else {
        while (!ends_name(*behind)) {
            behind++;
        }
        class_name->bytes = at;
        class_name->length = (size_t)(behind - at);
        if (class_name->length == 0) {
            return expected(parse, at, "a class or a tree in brackets",
                            *at == '\t' ? "write an empty class as \"\"" : NULL, error);
        }
        if (class_name->length == 1 && (*at == '_' || *at == '?')) {
            return expected(parse, at, "a class or a tree", "quote a class that is _ or ?", error);
        }
        if (class_name->length > parse->reader->options->max_name) {
            return name_too_long(parse, at, error);
        }
    }
    if (*behind != '\t') {
        return expected(parse, behind, "a tab between class and tree",
                        behind == at ? NULL : "quote a class that holds spaces or brackets", error);
    }
    *end = behind + 1;
    return PHL_OK;
}

/* The tree from its opening bracket; *end is after its closing one. */
static phl_status read_nodes(struct parse *parse, const char *at, const char **end,
                             phl_error *error)
{
    phl_builder *builder = parse->reader->builder;
    phl_status status = PHL_OK;
    if (*at != '(') {
        return expected(parse, at, "( and a tree", NULL, error);
    }
    do {
        const char *token = at;
        switch (*at) {
        case '(': {
            int32_t label;
            at++;
            while (*at == ' ' || *at == '\t') {
                at++;
            }
            status = read_label(parse, at, &at, &label, error);
            if (status == PHL_OK && *at == ')') {
                at++;
                status = phl_builder_leaf(builder, label, 0, error);
            } else if (status == PHL_OK) {
                status = phl_builder_open_label(builder, label, 0, error);
            }
            break;
        }
        case ')':
            at++;
            status = phl_builder_close(builder, error);
            break;
        case ' ':
        case '\t':
            at++;
            break;
        case '_':
            if (!ends_name(at[1])) {
                return expected(parse, at, "a child in brackets, _ or )", NULL, error);
            }
            at++;
            status = phl_builder_skip_slot(builder, error);
            break;
        default:
            return expected(parse, at, "a child in brackets, _ or )",
                            *at == '\n' ? "every ( needs its )"
                                        : "a leaf is written (name); is this a parse tree with "
                                          "words (" PHL_OPTION_TO("read.format", "ptb") ")?",
                            error);
        }
        if (status != PHL_OK) {
            return phl_error_locate(error, phl_lines_position(&parse->lines, parse->line, token));
        }
    } while (builder->depth > 0);
    *end = at;
    return PHL_OK;
}

static phl_status read_tree(struct parse *parse, const char *line, phl_error *error)
{
    phl_span class_name;
    const char *at = line;
    phl_status status = read_class(parse, at, &at, &class_name, error);
    if (status != PHL_OK) {
        return status;
    }
    status = read_nodes(parse, at, &at, error);
    if (status != PHL_OK) {
        return status;
    }
    while (*at == ' ' || *at == '\t') {
        at++;
    }
    if (*at != '\n') {
        return expected(parse, at, "the end of the line after the tree", "one tree per line",
                        error);
    }
    phl_span no_id = {NULL, 0};
    return phl_reader_end_tree(parse->reader, class_name, 1.0, no_id, parse->lines.number, error);
}

static bool is_blank_or_comment(const char *line, size_t length)
{
    if (length > 0 && line[0] == '#') {
        return true;
    }
    for (size_t i = 0; i < length; i++) {
        if (line[i] != ' ' && line[i] != '\t') {
            return false;
        }
    }
    return true;
}

static void open_brackets(phl_reader *reader)
{
    struct parse *parse = reader->state;
    parse->reader = reader;
    phl_lines_init(&parse->lines, reader->input, reader->options->max_token);
}

static void close_brackets(phl_reader *reader)
{
    struct parse *parse = reader->state;
    phl_lines_clear(&parse->lines);
    phl_text_clear(&parse->name);
    phl_text_clear(&parse->class_name);
}

static phl_status read_line(void *state, const char *line, size_t length, phl_error *error)
{
    struct parse *parse = state;
    parse->line = line;
    return is_blank_or_comment(line, length) ? PHL_OK : read_tree(parse, line, error);
}

static phl_status read_brackets(phl_reader *reader, phl_error *error)
{
    struct parse *parse = reader->state;
    return phl_reader_lines(reader, &parse->lines, read_line, error);
}

/* A line that begins with a bracket, or with a class, a tab and a bracket. */
static bool recognise_brackets(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length) {
        const char *line = text + at;
        const char *end = memchr(line, '\n', length - at);
        size_t size = end != NULL ? (size_t)(end - line) : length - at;
        at += size + 1;
        if (is_blank_or_comment(line, size) || (size == 1 && *line == '\r')) {
            continue;
        }
        const char *tab = memchr(line, '\t', size);
        return line[0] == '(' || (tab != NULL && (size_t)(tab - line) + 1 < size && tab[1] == '(');
    }
    return false;
}

/* ---------------------------------------------------------------------------------------------
 * Writing
 * ------------------------------------------------------------------------------------------- */

static bool needs_quotes(const char *name, size_t length)
{
    if (length == 0 || name[0] == '#' || (length == 1 && (name[0] == '_' || name[0] == '?'))) {
        return true;
    }
    bool ascii = true;
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)name[i];
        if (byte <= ' ' || byte == '(' || byte == ')' || byte == '"') {
            return true;
        }
        ascii = ascii && byte < 0x7f;
    }
    /* A byte order mark at the start of a file would be taken for just that; others could command a
     * terminal. */
    return !ascii && phl_text_is_hidden(name, length);
}

static void write_name(phl_output *output, const phl_alphabet *names, int32_t number)
{
    const char *name = phl_alphabet_name(names, (size_t)number);
    size_t length = phl_alphabet_length(names, (size_t)number);
    if (needs_quotes(name, length)) {
        phl_output_json_string(output, name, length);
    } else {
        phl_output_write(output, name, length);
    }
}

static const char *brackets_tree_objection(const phl_writer *writer, size_t tree)
{
    return phl_tree_weight(writer->forest, tree) != 1.0 ? "the weight of a tree" : NULL;
}

static phl_status write_brackets(phl_writer *writer, size_t tree, phl_error *error)
{
    const phl_forest *forest = writer->forest;
    phl_output *output = writer->output;
    int32_t class_number = phl_tree_class(forest, tree);
    if (class_number >= 0) {
        write_name(output, &forest->classes, class_number);
        phl_output_string(output, "\t");
    }
    phl_visit visit;
    size_t depth = 0; /* open brackets */
    int more;
    phl_walk_start(writer->walk, tree);
    while ((more = phl_walk_next(writer->walk, &visit, error)) > 0) {
        phl_output_repeat(output, ")", depth - visit.depth);
        phl_output_repeat(output, " _", visit.gap);
        phl_output_string(output, visit.depth > 0 ? " (" : "(");
        if (visit.label < 0) {
            phl_output_string(output, "?");
        } else {
            write_name(output, &forest->labels, visit.label);
        }
        depth = visit.depth + 1;
    }
    phl_output_repeat(output, ")", depth);
    phl_output_string(output, "\n");
    return more < 0 ? (phl_status)more : phl_output_check(output, error);
}

static const char *const endings[] = {".trees", NULL};

const phl_format_driver phl_brackets_driver = {
    .format = PHL_FORMAT_BRACKETS,
    .name = "brackets",
    .endings = endings,
    .recognise = recognise_brackets,
    .state_size = sizeof(struct parse),
    .open = open_brackets,
    .read = read_brackets,
    .close = close_brackets,
    .tree_objection = brackets_tree_objection,
    .write_tree = write_brackets,
};
