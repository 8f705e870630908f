/* ptb.c - reading bracketed parse trees.
 *
 *   tree  = "(" label child* ")"       child = tree | word
 *
 * as in the Penn Treebank, (S (NP (DT the) (NN dog)) (VP (VBZ barks))), and the Stanford Sentiment
 * Treebank, (3 (2 It) (4 (4 is) (2 good))).  Words and labels are runs of anything but blanks and
 * brackets; a word is a leaf of its own, or left out (options->ptb_drop_words).  A tree may span
 * lines; an outer bracket without a label, ( (S ...) ), is taken off.  A line
 *
 *   class |BT| tree |ET|
 *
 * (|BT| before the first bracket) is a tree with a class, as tree-kernel tools write it.
 *
 * After a bad tree reading goes on at the next line that begins with "(" in its first column or has
 * |BT| before its first bracket.
 */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "format/lines.h"
#include "format/ptb.h"

enum { MARK_LENGTH = sizeof PHL_PTB_BEGIN - 1 };

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\f' || byte == '\v';
}

static bool ends_token(char byte)
{
    return is_blank(byte) || byte == '(' || byte == ')' || byte == '\n';
}

/* ---------------------------------------------------------------------------------------------
 * Reading
 * ------------------------------------------------------------------------------------------- */

/* What stood before the next token. */
enum ptb_state {
    OUTSIDE,     /* no tree open */
    BEHIND_OPEN, /* "(" whose label is to come */
    INSIDE,      /* a labelled node: children or ")" */
    UNWRAPPED    /* the outer bracket without label: its one tree, or ")" */
};

typedef struct ptb_reading {
    phl_reader *reader;
    phl_error *error;
    phl_lines lines;
    const char *line; /* at hand */
    const char *rest; /* of the line, after the tree that made the reader pause; NULL: nothing */
    enum ptb_state state;
    bool wrapped;       /* the open tree has an outer bracket without label ... */
    bool has_tree;      /* ... and the tree in it is complete */
    uint64_t tree_line; /* where the open tree began */
    uint64_t tree_column;
    bool marked; /* in a |BT| line: one tree, which enters the forest once |ET| was seen */
} ptb_reading;

static phl_position place_of(const ptb_reading *reading, const char *at)
{
    return phl_lines_position(&reading->lines, reading->line, at);
}

static void forget_tree(ptb_reading *reading)
{
    reading->state = OUTSIDE;
    reading->wrapped = false;
    reading->has_tree = false;
}

/* "found X, expected Y" for the token at `at`, which a line end or a blank may end. */
static phl_status raise_found(ptb_reading *reading, const char *at, const char *expected,
                              const char *remedy)
{
    char shown[PHL_EXCERPT_SIZE];
    phl_position place = place_of(reading, at);
    if (*at == '\n') {
        return phl_raise_at(reading->error, PHL_ERR_SYNTAX, place, remedy,
                            "found the end of the line, expected %s", expected);
    }
    const char *end = at + 1;
    while (!ends_token(*at) && !ends_token(*end)) {
        end++;
    }
    return phl_raise_at(reading->error, PHL_ERR_SYNTAX, place, remedy, "found '%s', expected %s",
                        phl_text_excerpt(at, (size_t)(end - at), shown), expected);
}

static phl_status raise_long_name(ptb_reading *reading, const char *at, size_t length)
{
    char shown[PHL_EXCERPT_SIZE];
    return phl_raise_at(reading->error, PHL_ERR_LIMIT, place_of(reading, at),
                        "raise the cap with " PHL_OPTION_TO("read.max_name", ""),
                        "a name '%s' of %zu bytes, more than %llu",
                        phl_text_excerpt(at, length, shown), length,
                        (unsigned long long)reading->reader->options->max_name);
}

static phl_status enter_tree(ptb_reading *reading, phl_span class_name)
{
    phl_span no_id = {NULL, 0};
    return phl_reader_end_tree(reading->reader, class_name, 1.0, no_id, reading->tree_line,
                               reading->error);
}

/* The root was closed and, if it was wrapped, its outer bracket too. */
static phl_status end_tree(ptb_reading *reading)
{
    phl_span no_class = {NULL, 0};
    forget_tree(reading);
    return reading->marked ? PHL_OK : enter_tree(reading, no_class);
}

static phl_status take_open(ptb_reading *reading, const char *at)
{
    switch (reading->state) {
    case OUTSIDE: {
        phl_position place = place_of(reading, at);
        reading->tree_line = place.line;
        reading->tree_column = place.column;
        break;
    }
    case BEHIND_OPEN:
        if (reading->reader->builder->depth > 0 || reading->wrapped) {
            return raise_found(reading, at, "a label after (",
                               "only the outermost bracket may go without a label");
        }
        reading->wrapped = true;
        break;
    case UNWRAPPED:
        if (reading->has_tree) {
            return raise_found(reading, at, "the ) of the outer bracket without label",
                               "give the outer bracket a label, or each tree its own");
        }
        break;
    case INSIDE:
        break;
    }
    reading->state = BEHIND_OPEN;
    return PHL_OK;
}

static phl_status take_close(ptb_reading *reading, const char *at)
{
    switch (reading->state) {
    case OUTSIDE:
        return raise_found(reading, at, "a tree in brackets", "there is one ) too many");
    case BEHIND_OPEN:
        return raise_found(reading, at, "a label after (", NULL);
    case UNWRAPPED: /* only entered once the tree inside is complete */
        return end_tree(reading);
    case INSIDE:
        break;
    }
    phl_status status = phl_builder_close(reading->reader->builder, reading->error);
    if (status != PHL_OK || reading->reader->builder->depth > 0) {
        return status;
    }
    if (reading->wrapped) {
        reading->state = UNWRAPPED;
        reading->has_tree = true;
        return PHL_OK;
    }
    return end_tree(reading);
}

/* A label or a word. */
static phl_status take_name(ptb_reading *reading, const char *at, size_t length)
{
    phl_builder *builder = reading->reader->builder;
    bool is_word = reading->state == INSIDE;
    if (reading->state == OUTSIDE) {
        return raise_found(reading, at, "a tree in brackets",
                           "trees are written (S (NP ...) ...), one with a class as "
                           "class |BT| (...) |ET|");
    }
    if (reading->state == UNWRAPPED) {
        return raise_found(reading, at, "the ) of the outer bracket without label", NULL);
    }
    if (length == MARK_LENGTH && (memcmp(at, PHL_PTB_BEGIN, MARK_LENGTH) == 0 ||
                                  memcmp(at, PHL_PTB_END, MARK_LENGTH) == 0)) {
        return raise_found(reading, at, "the rest of the tree", "every ( needs its )");
    }
    if (length > reading->reader->options->max_name) {
        return raise_long_name(reading, at, length);
    }
    if (is_word && reading->reader->options->ptb_drop_words) {
        return PHL_OK;
    }
    int32_t label;
    phl_status status = phl_builder_label(builder, at, length, &label, reading->error);
    if (status == PHL_OK) {
        status = phl_builder_open_label(builder, label, 0, reading->error);
    }
    if (status == PHL_OK && is_word) {
        status = phl_builder_close(builder, reading->error);
    }
    reading->state = INSIDE;
    return status;
}

/* Tokens from `at` on; stops at the end of the line, after the tree of a |BT| line, or after a
 * tree at which to pause.  *end is where it stopped. */
static phl_status read_tokens(ptb_reading *reading, const char *at, const char **end)
{
    phl_status status = PHL_OK;
    while (status == PHL_OK && *at != '\n' && !reading->reader->pause) {
        const char *token = at++;
        if (is_blank(*token)) {
            continue;
        }
        if (*token == '(') {
            status = take_open(reading, token);
        } else if (*token == ')') {
            status = take_close(reading, token);
        } else {
            while (!ends_token(*at)) {
                at++;
            }
            status = take_name(reading, token, (size_t)(at - token));
        }
        if (status != PHL_OK) {
            return phl_error_locate(reading->error, place_of(reading, token));
        }
        if (reading->marked && reading->state == OUTSIDE) {
            break;
        }
    }
    *end = at;
    return status;
}

/* The |BT| before the first bracket of a line, or NULL. */
static const char *find_begin_mark(const char *line, size_t length)
{
    const char *bracket = memchr(line, '(', length);
    const char *end = bracket != NULL ? bracket : line + length;
    for (const char *at = line; (at = memchr(at, '|', (size_t)(end - at))) != NULL; at++) {
        if (end - at >= MARK_LENGTH && memcmp(at, PHL_PTB_BEGIN, MARK_LENGTH) == 0) {
            return at;
        }
    }
    return NULL;
}

static const char *skip_blanks(const char *at)
{
    while (is_blank(*at)) {
        at++;
    }
    return at;
}

/* Does the mark stand at `at`?  Stops at the first difference, so at the line's end at the latest.
 */
static bool stands_at(const char *at, const char *mark)
{
    while (*mark != '\0' && *at == *mark) {
        at++;
        mark++;
    }
    return *mark == '\0';
}

/* class |BT| tree |ET| */
static phl_status read_marked_line(ptb_reading *reading, const char *mark)
{
    const char *begin = skip_blanks(reading->line);
    const char *end = mark;
    while (end > begin && is_blank(end[-1])) {
        end--;
    }
    size_t length = (size_t)(end - begin);
    if (length > reading->reader->options->max_name) {
        return raise_long_name(reading, begin, length);
    }
    const char *at = skip_blanks(mark + MARK_LENGTH);
    if (*at != '(') {
        return raise_found(reading, at, "a tree in brackets after |BT|", NULL);
    }
    reading->marked = true;
    phl_status status = read_tokens(reading, at, &at);
    reading->marked = false;
    if (status != PHL_OK) {
        return status;
    }
    if (reading->state != OUTSIDE) {
        return raise_found(reading, at, "the rest of the tree", "every ( needs its )");
    }
    at = skip_blanks(at);
    if (!stands_at(at, PHL_PTB_END)) {
        return raise_found(reading, at, "|ET| after the tree",
                           "a line holds one tree: keep one of several");
    }
    at = skip_blanks(at + MARK_LENGTH);
    if (*at != '\n') {
        return raise_found(reading, at, "the end of the line after |ET|",
                           "remove feature vectors, for example with sed 's/|ET|.*/|ET|/'");
    }
    phl_span class_name = {length > 0 ? begin : NULL, length};
    return enter_tree(reading, class_name);
}

/* The end of the input. */
static phl_status check_closed(ptb_reading *reading)
{
    if (reading->state == OUTSIDE) {
        return PHL_OK;
    }
    phl_position place = {reading->reader->file, reading->tree_line, reading->tree_column};
    size_t open =
        reading->reader->builder->depth + reading->wrapped + (reading->state == BEHIND_OPEN);
    return phl_raise_at(reading->error, PHL_ERR_SYNTAX, place, "every ( needs its )",
                        "the tree that begins here is not complete at the end of the file: %zu "
                        "bracket%s open",
                        open, open == 1 ? "" : "s");
}

static phl_status read_rest(ptb_reading *reading, const char *at)
{
    phl_status status = read_tokens(reading, at, &at);
    reading->rest = status == PHL_OK && reading->reader->pause ? at : NULL;
    return status;
}

static phl_status read_line(ptb_reading *reading, size_t length)
{
    const char *mark = NULL;
    if (reading->state == OUTSIDE) {
        mark = find_begin_mark(reading->line, length);
    }
    return mark != NULL ? read_marked_line(reading, mark) : read_rest(reading, reading->line);
}

static void open_parse_trees(phl_reader *reader)
{
    ptb_reading *reading = reader->state;
    reading->reader = reader;
    reading->line = "";
    phl_lines_init(&reading->lines, reader->input, reader->options->max_token);
}

static void close_parse_trees(phl_reader *reader)
{
    ptb_reading *reading = reader->state;
    phl_lines_clear(&reading->lines);
}

static phl_status read_parse_trees(phl_reader *reader, phl_error *error)
{
    ptb_reading *reading = reader->state;
    phl_status status = PHL_OK;
    bool passing = false; /* looking for a line to go on at after a bad tree */
    size_t length = 0;
    reading->error = error;
    while (reading->line != NULL && !reader->pause) {
        if (reading->rest != NULL) {
            status = read_rest(reading, reading->rest);
        } else {
            status = phl_lines_next(&reading->lines, &reading->line, &length, error);
            if (status != PHL_OK && status != PHL_ERR_ENCODING) { /* no way to go on */
                return status;
            }
            if (status != PHL_OK && passing) {
                continue;
            }
            if (status == PHL_OK && reading->line == NULL) {
                status = check_closed(reading);
            } else if (status == PHL_OK) {
                passing = passing && reading->line[0] != '(' &&
                          find_begin_mark(reading->line, length) == NULL;
                if (!passing) {
                    status = read_line(reading, length);
                }
            }
        }
        if (status == PHL_OK) {
            status = phl_reader_check_cancel(reader, error);
        }
        if (status != PHL_OK) {
            passing = true;
            forget_tree(reading);
            status = phl_reader_bad_tree(reader, status, error);
            if (status != PHL_OK) {
                return status;
            }
        }
    }
    reader->ended = reading->line == NULL;
    return PHL_OK;
}

/* The native format has no words (bare names other than _), no brackets without label and no tree
 * that spans lines: the first of those, or a |BT|, tells.  Quoted labels are the native format's.
 */
static bool recognise(const char *text, size_t length)
{
    const char *end = text + length;
    const char *at = text;
    size_t depth = 0;
    bool label_next = false;
    if (length >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0) {
        at += 3;
    }
    while (at < end && (is_blank(*at) || *at == '\n')) {
        at++;
    }
    const char *line_end = memchr(at, '\n', (size_t)(end - at));
    if (find_begin_mark(at, (size_t)((line_end != NULL ? line_end : end) - at)) != NULL) {
        return true;
    }
    for (; at < end; at++) {
        if (is_blank(*at)) {
            continue;
        }
        if (*at == '(') {
            if (label_next) {
                return true;
            }
            label_next = true;
            depth++;
        } else if (*at == ')') {
            if (label_next || depth == 0) {
                return false;
            }
            depth--;
        } else if (*at == '\n') {
            if (depth > 0) {
                return true;
            }
        } else {
            const char *name = at;
            if (label_next && *name == '"') {
                for (at++; at < end && *at != '"' && *at != '\n'; at++) {
                    at += *at == '\\' && end - at > 1;
                }
                if (at < end && *at == '\n') {
                    return true; /* a quotation mark of a text */
                }
            } else {
                while (end - at > 1 && !ends_token(at[1])) {
                    at++;
                }
            }
            if (depth == 0) {
                return false; /* a class */
            }
            if (!label_next && !(*name == '_' && at == name)) {
                return true;
            }
            label_next = false;
        }
    }
    return false;
}

static const char *const endings[] = {".ptb", ".mrg", NULL};

const phl_format_driver phl_ptb_driver = {
    .format = PHL_FORMAT_PTB,
    .name = "ptb",
    .endings = endings,
    .recognise = recognise,
    .state_size = sizeof(ptb_reading),
    .open = open_parse_trees,
    .read = read_parse_trees,
    .close = close_parse_trees,
    .tree_objection = phl_format_bare_tree,
    .node_objection = phl_ptb_write_node_objection,
    .write_tree = phl_ptb_write_tree,
    .one_tree_a_file = false,
    .carries_ids = false,
};
