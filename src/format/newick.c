/* newick.c - reading Newick, the format of phylogenetic trees.
 *
 *   tree   = node ";"                  may span several lines
 *   node   = [ "(" node { "," node } ")" ] [ name ] [ ":" length ]
 *   name   = bare | "'" text with '' for ' "'"
 *
 * [Comments], annotations like [&&NHX:S=human] among them, are passed over wherever blanks may
 * stand.  A node without a name has the empty label.  Lengths of branches are passed over, or
 * become part of labels by the power of two they fall in (options->newick_lengths).
 *
 * The name of a node stands behind its children, so the tree is kept as a list of events until its
 * semicolon, 8 bytes for each bracket and leaf, and then built.
 *
 * After a bad tree reading goes on at the line after the one that holds the next semicolon.
 */
#include "format/newick.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "format/lines.h"

/* What stood before the next token. */
enum newick_state {
    OUTSIDE,      /* no tree open */
    NODE_NEXT,    /* "(" or ",": a node begins */
    BEHIND_CLOSE, /* ")": its name, its length, or what follows a node */
    BEHIND_NAME,  /* its length, or what follows a node */
    BEHIND_LENGTH /* what follows a node */
};

enum { NONE = -1, OPENED = 0, CLOSED, LEAF };

typedef struct event {
    int32_t label; /* of an OPENED whose node is not complete yet: the OPENED around it, or NONE */
    int32_t kind;
} event;

typedef struct newick_reading {
    phl_reader *reader;
    phl_error *error;
    phl_lines lines;
    const char *line; /* at hand */
    size_t length;
    const char *rest; /* of the line, after the tree that made the reader pause; NULL: nothing */
    enum newick_state state;
    bool passing; /* over the rest of a bad tree; no pause comes inside one */
    bool in_comment;
    event *events;
    size_t n_events, capacity;
    uint64_t nodes;
    int32_t around; /* innermost OPENED without its ")", or NONE */
    int32_t named;  /* the event that name and length at hand belong to */
    phl_text name;
    uint64_t tree_line, tree_column; /* where the open tree began */
    const char *counted;             /* tree_column is that of this byte of the line */
} newick_reading;

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\f' || byte == '\v';
}

static bool ends_name(char byte)
{
    return is_blank(byte) || byte == '\n' || strchr(PHL_NEWICK_MARKS, byte) != NULL;
}

static void forget_tree(newick_reading *reading)
{
    reading->state = OUTSIDE;
    reading->in_comment = false;
    reading->n_events = 0;
    reading->nodes = 0;
    reading->around = NONE;
    reading->name.length = 0;
}

static phl_position place_of(const newick_reading *reading, const char *at)
{
    return phl_lines_position(&reading->lines, reading->line, at);
}

static phl_status raise_found(const newick_reading *reading, const char *at, const char *expected,
                              const char *remedy)
{
    char shown[PHL_EXCERPT_SIZE];
    const char *end = at + 1;
    while (!ends_name(*at) && !ends_name(*end)) {
        end++;
    }
    return phl_raise_at(reading->error, PHL_ERR_SYNTAX, place_of(reading, at), remedy,
                        "found '%s', expected %s", phl_text_excerpt(at, (size_t)(end - at), shown),
                        expected);
}

/* ---------------------------------------------------------------------------------------------
 * Nodes
 * ------------------------------------------------------------------------------------------- */

static phl_status add_event(newick_reading *reading, int32_t kind, int32_t label)
{
    const phl_read_options *options = reading->reader->options;
    reading->nodes += kind != CLOSED;
    if (reading->nodes > options->max_nodes || reading->n_events >= INT32_MAX) {
        return phl_raise(reading->error, PHL_ERR_LIMIT,
                         "raise the cap with " PHL_OPTION_TO("read.max_nodes", ""),
                         "a tree with more than %llu nodes",
                         (unsigned long long)options->max_nodes);
    }
    phl_status status = phl_grow(&reading->events, &reading->capacity, reading->n_events + 1,
                                 sizeof *reading->events, reading->error);
    if (status == PHL_OK) {
        reading->events[reading->n_events++] = (event){label, kind};
    }
    return status;
}

/* A leaf begins; its name and length may follow. */
static phl_status begin_leaf(newick_reading *reading)
{
    reading->named = (int32_t)reading->n_events;
    return add_event(reading, LEAF, NONE);
}

/* Name and length of a node are complete. */
static phl_status end_node(newick_reading *reading)
{
    int32_t label;
    phl_status status = PHL_OK;
    if (reading->state == NODE_NEXT) { /* a leaf with neither */
        status = begin_leaf(reading);
    }
    if (status == PHL_OK) {
        const char *name = reading->name.bytes != NULL ? reading->name.bytes : "";
        status = phl_builder_label(reading->reader->builder, name, reading->name.length, &label,
                                   reading->error);
    }
    if (status == PHL_OK) {
        reading->events[reading->named].label = label;
        reading->name.length = 0;
    }
    return status;
}

static phl_status build_tree(newick_reading *reading)
{
    phl_builder *builder = reading->reader->builder;
    phl_status status = PHL_OK;
    for (size_t i = 0; status == PHL_OK && i < reading->n_events; i++) {
        event at = reading->events[i];
        status = at.kind == LEAF     ? phl_builder_leaf(builder, at.label, 0, reading->error)
                 : at.kind == OPENED ? phl_builder_open_label(builder, at.label, 0, reading->error)
                                     : phl_builder_close(builder, reading->error);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Tokens
 * ------------------------------------------------------------------------------------------- */

static const char behind_node[] = "a comma, a ) or the end of the tree";

static phl_status take_open(newick_reading *reading, const char *at)
{
    if (reading->state != NODE_NEXT) {
        return raise_found(reading, at, behind_node, "children stand before the name: (a,b)name");
    }
    phl_status status = add_event(reading, OPENED, reading->around);
    reading->around = (int32_t)reading->n_events - 1;
    return status;
}

static phl_status take_comma(newick_reading *reading, const char *at)
{
    if (reading->around == NONE) {
        return raise_found(reading, at, "; after the tree", "several nodes need brackets: (a,b)");
    }
    phl_status status = end_node(reading);
    reading->state = NODE_NEXT;
    return status;
}

static phl_status take_close(newick_reading *reading, const char *at)
{
    if (reading->around == NONE) {
        return raise_found(reading, at, "; after the tree", "there is one ) too many");
    }
    phl_status status = end_node(reading);
    if (status == PHL_OK) {
        status = add_event(reading, CLOSED, NONE);
    }
    if (status == PHL_OK) {
        reading->named = reading->around;
        reading->around = reading->events[reading->named].label;
        reading->state = BEHIND_CLOSE;
    }
    return status;
}

static phl_status take_end(newick_reading *reading, const char *at)
{
    phl_span nothing = {NULL, 0};
    if (reading->around != NONE) {
        return raise_found(reading, at, "a comma or )", "every ( needs its )");
    }
    phl_status status = end_node(reading);
    if (status == PHL_OK) {
        status = build_tree(reading);
    }
    if (status == PHL_OK) {
        status = phl_reader_end_tree(reading->reader, nothing, 1.0, nothing, reading->tree_line,
                                     reading->error);
    }
    if (reading->tree_line != reading->lines.number) {
        reading->tree_column = 1;
        reading->counted = reading->line;
    }
    forget_tree(reading);
    return status;
}

/* Append to the label the power of two that a length falls in. */
static phl_status add_length(newick_reading *reading, double length)
{
    char text[32];
    int power;
    if (length > 0.0) {
        (void)frexp(length, &power);
        (void)snprintf(text, sizeof text, ":2^%d", power - 1);
    } else {
        (void)snprintf(text, sizeof text, length < 0.0 ? ":-" : ":0");
    }
    return phl_text_append_string(&reading->name, text, reading->error);
}

/* ":" and a number; *at is moved behind it. */
static phl_status take_length(newick_reading *reading, const char **at)
{
    if (reading->state == BEHIND_LENGTH) {
        return raise_found(reading, *at, behind_node, NULL);
    }
    phl_status status = reading->state == NODE_NEXT ? begin_leaf(reading) : PHL_OK;
    const char *begin = *at + 1;
    while (is_blank(*begin)) {
        begin++;
    }
    const char *end = begin;
    while (!ends_name(*end)) {
        end++;
    }
    const char *read = begin;
    double length = begin < end ? phl_text_to_double(begin, &read) : 0.0;
    if (status == PHL_OK && (read != end || begin == end || !isfinite(length))) {
        char shown[PHL_EXCERPT_SIZE];
        return phl_raise_at(reading->error, PHL_ERR_SYNTAX, place_of(reading, begin), NULL,
                            "found '%s', expected the length of a branch after :",
                            phl_text_excerpt(begin, (size_t)(end - begin) + (begin == end), shown));
    }
    if (status == PHL_OK && reading->reader->options->newick_lengths) {
        status = add_length(reading, length);
    }
    reading->state = BEHIND_LENGTH;
    *at = end;
    return status;
}

static phl_status check_name_place(newick_reading *reading, const char *at)
{
    if (reading->state == BEHIND_LENGTH || reading->state == BEHIND_NAME) {
        return raise_found(reading, at, behind_node,
                           "names with blanks or punctuation are written in quotes: 'a b'");
    }
    return reading->state == NODE_NEXT ? begin_leaf(reading) : PHL_OK;
}

/* A name, bare or in quotes; *at is moved behind it. */
static phl_status take_name(newick_reading *reading, const char **at)
{
    const char *begin = *at;
    const char *end = begin;
    phl_status status = check_name_place(reading, begin);
    if (status != PHL_OK) {
        return status;
    }
    if (*begin != '\'') {
        while (!ends_name(*end)) {
            end++;
        }
        status = phl_text_append(&reading->name, begin, (size_t)(end - begin), reading->error);
    } else {
        do {
            const char *piece = ++end;
            while (*end != '\'' && *end != '\n') {
                end++;
            }
            if (*end == '\n') {
                return phl_raise_at(reading->error, PHL_ERR_SYNTAX, place_of(reading, begin),
                                    "a quote inside a name is written twice",
                                    "the quote that begins here is not closed in its line");
            }
            end++; /* of two quotes one stays */
            status = phl_text_append(&reading->name, piece, (size_t)(end - piece) - (*end != '\''),
                                     reading->error);
        } while (status == PHL_OK && *end == '\'');
    }
    /* The place is looked for only if need be: it takes as long as the line is. */
    if (status == PHL_OK && reading->name.length > reading->reader->options->max_name) {
        status = phl_reader_check_name(reading->reader, place_of(reading, begin), "a name",
                                       reading->name.bytes != NULL ? reading->name.bytes : "",
                                       reading->name.length, reading->error);
    }
    reading->state = BEHIND_NAME;
    *at = end;
    return status;
}

/* The token at `at`, which is neither blank nor a comment; *next is what stands behind it. */
static phl_status take_token(newick_reading *reading, const char *at, const char **next)
{
    *next = at + 1;
    if (reading->state == OUTSIDE) {
        /* Counted on from the tree before: a line may hold many. */
        reading->tree_line = reading->lines.number;
        reading->tree_column += phl_utf8_count(reading->counted, (size_t)(at - reading->counted));
        reading->counted = at;
        reading->state = NODE_NEXT;
        if (*at == '#') {
            return raise_found(reading, at, "a tree",
                               "of a NEXUS file only the trees can be read: put them into a file "
                               "of their own");
        }
    }
    switch (*at) {
    case '(':
        return take_open(reading, at);
    case ',':
        return take_comma(reading, at);
    case ')':
        return take_close(reading, at);
    case ';':
        return take_end(reading, at);
    case ']':
        return raise_found(reading, at, "a tree", "there is one ] too many");
    case ':':
        *next = at;
        return take_length(reading, next);
    default:
        *next = at;
        return take_name(reading, next);
    }
}

/* ---------------------------------------------------------------------------------------------
 * Lines
 * ------------------------------------------------------------------------------------------- */

/* Tokens from `at` to the end of the line, or to the end of a tree at which to pause. */
static phl_status read_tokens(newick_reading *reading, const char *at)
{
    reading->rest = NULL;
    while (*at != '\n') {
        const char *token = at;
        if (reading->in_comment || *at == '[') {
            at += strcspn(at, "]\n");
            reading->in_comment = *at == '\n';
            at += *at == ']';
        } else if (is_blank(*at)) {
            at++;
        } else {
            phl_status status = take_token(reading, token, &at);
            if (status != PHL_OK) {
                return phl_error_locate(reading->error, place_of(reading, token));
            }
        }
        if (reading->reader->pause) {
            reading->rest = at;
            return PHL_OK;
        }
    }
    return PHL_OK;
}

/* The end of the input. */
static phl_status check_complete(newick_reading *reading)
{
    phl_position place = {reading->reader->file, reading->tree_line, reading->tree_column};
    if (reading->state == OUTSIDE && reading->in_comment) {
        place.line = reading->lines.number;
        place.column = 0;
        return phl_raise_at(reading->error, PHL_ERR_SYNTAX, place, "every [ needs its ]",
                            "a comment is not closed at the end of the file");
    }
    if (reading->state == OUTSIDE) {
        return PHL_OK;
    }
    return phl_raise_at(reading->error, PHL_ERR_SYNTAX, place,
                        "every ( needs its ), and a tree ends with ;",
                        "the tree that begins here is not complete at the end of the file");
}

static void open_trees(phl_reader *reader)
{
    newick_reading *reading = reader->state;
    reading->reader = reader;
    reading->line = "";
    phl_lines_init(&reading->lines, reader->input, reader->options->max_token);
    forget_tree(reading);
}

static void close_trees(phl_reader *reader)
{
    newick_reading *reading = reader->state;
    phl_lines_clear(&reading->lines);
    phl_text_clear(&reading->name);
    phl_free(reading->events);
}

/* A new line, or the end of the input. */
static phl_status read_line(newick_reading *reading)
{
    if (reading->line == NULL) {
        return reading->passing ? PHL_OK : check_complete(reading);
    }
    if (reading->passing) {
        reading->passing = memchr(reading->line, ';', reading->length) == NULL;
        return PHL_OK;
    }
    if (reading->state == OUTSIDE) {
        reading->tree_column = 1;
        reading->counted = reading->line;
    }
    return read_tokens(reading, reading->line);
}

static phl_status read_trees(phl_reader *reader, phl_error *error)
{
    newick_reading *reading = reader->state;
    reading->error = error;
    while (reading->line != NULL && !reader->pause) {
        phl_status status;
        if (reading->rest != NULL) {
            status = read_tokens(reading, reading->rest);
        } else {
            status = phl_lines_next(&reading->lines, &reading->line, &reading->length, error);
            if (status != PHL_OK && status != PHL_ERR_ENCODING) { /* no way to go on */
                return status;
            }
            if (status != PHL_OK && reading->passing) {
                continue;
            }
            status = status == PHL_OK ? read_line(reading) : status;
        }
        if (status == PHL_OK) {
            status = phl_reader_check_cancel(reader, error);
        }
        if (status != PHL_OK) {
            reading->passing =
                reading->line != NULL && memchr(reading->line, ';', reading->length) == NULL;
            reading->rest = NULL;
            forget_tree(reading);
            status = phl_reader_bad_tree(reader, status, error);
        }
        if (status != PHL_OK) {
            return status;
        }
    }
    reader->ended = reading->line == NULL;
    return PHL_OK;
}

/* ---------------------------------------------------------------------------------------------
 * The driver
 * ------------------------------------------------------------------------------------------- */

/* Brackets, perhaps after comments, that close before a semicolon; a tree that is longer than what
 * is to be seen must have a comma.  Brackets of other formats have no such end. */
static bool recognise(const char *text, size_t length)
{
    size_t depth = 0;
    size_t commas = 0;
    bool begun = false;
    for (size_t at = 0; at < length; at++) {
        char c = text[at];
        if (c == '[' || c == '\'') {
            const char *end = memchr(text + at + 1, c == '[' ? ']' : c, length - at - 1);
            if (end == NULL) {
                return false;
            }
            at = (size_t)(end - text);
        } else if (c == '(') {
            if (depth == 0 && begun) {
                return false;
            }
            begun = true;
            depth++;
        } else if (c == ')') {
            if (depth == 0) {
                return false;
            }
            depth--;
        } else if (c == ';') {
            return begun && depth == 0;
        } else if (!begun && !is_blank(c) && c != '\n') {
            return false;
        }
        commas += c == ',';
    }
    return depth > 0 && commas > 0 && length >= 60000;
}

static const char *const endings[] = {".nwk", ".newick", ".nhx", ".tree", NULL};

const phl_format_driver phl_newick_driver = {
    .format = PHL_FORMAT_NEWICK,
    .name = "newick",
    .endings = endings,
    .recognise = recognise,
    .state_size = sizeof(newick_reading),
    .open = open_trees,
    .read = read_trees,
    .close = close_trees,
    .tree_objection = phl_format_bare_tree,
    .node_objection = phl_newick_write_node_objection,
    .write_tree = phl_newick_write_tree,
};
