/* conllu.c - dependency trees of Universal Dependencies: reading CoNLL-U.
 *
 * A sentence is a block of lines up to a blank one; a word is a line of ten columns set apart by
 * tabs: ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC.  A word is a node labelled by its UPOS
 * (or DEPREL, or FORM); its dependents are its children, in slots 1, 2, ... in the order of words.
 * "_" in the label's column is an unknown label.  Comments are passed over but for "# sent_id = X",
 * which is the tree's id; so are multiword tokens (ID 1-2) and empty nodes (ID 1.1).
 *
 * After a bad sentence reading goes on at the next blank line.  Everything takes linear time.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "format/conllu.h"
#include "format/lines.h"

enum { NONE = 0 }; /* no word: words are numbered from 1 */

/* One word of the sentence being read. */
typedef struct word {
    int32_t label;
    uint32_t head; /* NONE: the root */
    uint32_t first_child, next_sibling;
    uint64_t line; /* where its HEAD stands, for messages */
    uint64_t column;
} word;

typedef struct conllu_reading {
    phl_reader *reader;
    phl_error *error;
    phl_lines lines;
    word *words; /* [n_words + 1]; entry 0 is not used */
    size_t n_words, capacity;
    uint32_t root;
    uint64_t first_line; /* of the sentence's first word; 0: none yet */
    bool has_lines;      /* the sentence has lines that are no comments */
    phl_text id;
    phl_text both; /* a label of two columns */
} conllu_reading;

/* A field of the line at hand. */
typedef struct field {
    const char *begin;
    size_t length;
} field;

static void start_sentence(conllu_reading *reading)
{
    reading->n_words = 0;
    reading->root = NONE;
    reading->first_line = 0;
    reading->has_lines = false;
    reading->id.length = 0;
}

size_t phl_conllu_label_column(phl_conllu_label label)
{
    switch (label) {
    case PHL_CONLLU_DEPREL:
        return PHL_CONLLU_DEPREL_COLUMN;
    case PHL_CONLLU_FORM:
    case PHL_CONLLU_FORM_UPOS:
    case PHL_CONLLU_FORM_DEPREL:
        return PHL_CONLLU_FORM_COLUMN;
    case PHL_CONLLU_UPOS:
    case PHL_CONLLU_UPOS_DEPREL:
        break;
    }
    return PHL_CONLLU_UPOS_COLUMN;
}

/* The column that the second part of labels comes from; 0: none. */
static size_t second_column(phl_conllu_label label)
{
    return label == PHL_CONLLU_UPOS_DEPREL || label == PHL_CONLLU_FORM_DEPREL
               ? PHL_CONLLU_DEPREL_COLUMN
           : label == PHL_CONLLU_FORM_UPOS ? PHL_CONLLU_UPOS_COLUMN
                                           : 0;
}

/* ---------------------------------------------------------------------------------------------
 * Reading a line
 * ------------------------------------------------------------------------------------------- */

static bool is_blank(const char *line, size_t length)
{
    size_t at = 0;
    while (at < length && (line[at] == ' ' || line[at] == '\t' || line[at] == '\r')) {
        at++;
    }
    return at == length;
}

/* Digits at the start of a field, and their value; 2^32 - 1 stands for all that is larger. */
static size_t parse_number(const char *text, size_t length, uint32_t *number)
{
    uint64_t value = 0;
    size_t at = 0;
    while (at < length && text[at] >= '0' && text[at] <= '9') {
        value = value * 10 + (uint64_t)(text[at] - '0');
        value = value < UINT32_MAX ? value : UINT32_MAX;
        at++;
    }
    *number = (uint32_t)value;
    return at;
}

/* "1-2" or "1.1": not a word of the tree. */
static bool is_range_or_empty_node(field id)
{
    uint32_t ignored;
    size_t first = parse_number(id.begin, id.length, &ignored);
    if (first == 0 || first == id.length || (id.begin[first] != '-' && id.begin[first] != '.')) {
        return false;
    }
    size_t rest = id.length - first - 1;
    return rest > 0 && parse_number(id.begin + first + 1, rest, &ignored) == rest;
}

/* # sent_id = X */
static phl_status read_comment(conllu_reading *reading, const char *line, size_t length)
{
    static const char key[] = "sent_id";
    const char *at = line + 1;
    const char *end = line + length;
    while (at < end && (*at == ' ' || *at == '\t')) {
        at++;
    }
    if ((size_t)(end - at) < sizeof key - 1 || memcmp(at, key, sizeof key - 1) != 0) {
        return PHL_OK;
    }
    at += sizeof key - 1;
    while (at < end && (*at == ' ' || *at == '\t')) {
        at++;
    }
    if (at == end || *at != '=' || reading->has_lines) {
        return PHL_OK;
    }
    at++;
    while (at < end && (*at == ' ' || *at == '\t')) {
        at++;
    }
    while (end > at && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r')) {
        end--;
    }
    reading->id.length = 0;
    return phl_text_append(&reading->id, at, (size_t)(end - at), reading->error);
}

static phl_status split_fields(conllu_reading *reading, const char *line, size_t length,
                               field fields[PHL_CONLLU_COLUMNS])
{
    const char *end = line + length;
    const char *at = line;
    size_t n = 0;
    for (;;) {
        const char *tab = memchr(at, '\t', (size_t)(end - at));
        const char *stop = tab != NULL ? tab : end;
        if (n == PHL_CONLLU_COLUMNS) {
            return phl_raise_at(reading->error, PHL_ERR_SYNTAX,
                                phl_lines_position(&reading->lines, line, at), NULL,
                                "found an eleventh column, expected %d columns separated by tabs",
                                PHL_CONLLU_COLUMNS);
        }
        fields[n].begin = at;
        fields[n].length = (size_t)(stop - at);
        n++;
        if (tab == NULL) {
            break;
        }
        at = tab + 1;
    }
    if (n < PHL_CONLLU_COLUMNS) {
        return phl_raise_at(reading->error, PHL_ERR_SYNTAX,
                            phl_lines_position(&reading->lines, line, end),
                            "columns are separated by tabs, not spaces; unused ones hold _",
                            "the line ends after %zu column%s, expected %d", n, n == 1 ? "" : "s",
                            PHL_CONLLU_COLUMNS);
    }
    return PHL_OK;
}

static phl_status raise_field(conllu_reading *reading, const char *line, field what,
                              const char *expected)
{
    char shown[PHL_EXCERPT_SIZE];
    return phl_raise_at(
        reading->error, PHL_ERR_SYNTAX, phl_lines_position(&reading->lines, line, what.begin), NULL,
        "found '%s', expected %s", phl_text_excerpt(what.begin, what.length, shown), expected);
}

/* A column with a label, or _ if it is not known. */
static phl_status check_label(conllu_reading *reading, const char *line, field what, bool *known)
{
    uint64_t cap = reading->reader->options->max_name;
    if (what.length == 0) {
        return raise_field(reading, line, what, "a label, or _ if it is not known");
    }
    if (what.length > cap) {
        char shown[PHL_EXCERPT_SIZE];
        return phl_raise_at(
            reading->error, PHL_ERR_LIMIT, phl_lines_position(&reading->lines, line, what.begin),
            "raise the cap with " PHL_OPTION_TO("read.max_name", ""),
            "a label '%s' of %zu bytes, more than %llu",
            phl_text_excerpt(what.begin, what.length, shown), what.length, (unsigned long long)cap);
    }
    *known = what.length > 1 || *what.begin != '_';
    return PHL_OK;
}

/* The label of a word: one column, or two. */
static phl_status read_labels(conllu_reading *reading, const char *line, const field *fields,
                              int32_t *label)
{
    phl_conllu_label which = reading->reader->options->conllu_label;
    field first = fields[phl_conllu_label_column(which)];
    size_t column = second_column(which);
    bool known, second_known = false;
    phl_status status = check_label(reading, line, first, &known);
    if (status == PHL_OK && column > 0) {
        status = check_label(reading, line, fields[column], &second_known);
    }
    if (status != PHL_OK) {
        return status;
    }
    *label = PHL_UNKNOWN;
    if (!known || !second_known) {
        return known ? phl_builder_label(reading->reader->builder, first.begin, first.length, label,
                                         reading->error)
                     : PHL_OK;
    }
    field second = fields[column];
    phl_text *both = &reading->both;
    status = phl_reader_join_label(both, first.begin, first.length, second.begin, second.length,
                                   reading->error);
    return status == PHL_OK ? phl_builder_label(reading->reader->builder, both->bytes, both->length,
                                                label, reading->error)
                            : status;
}

static phl_status raise_second_root(conllu_reading *reading, const char *line, field head)
{
    return phl_raise_at(
        reading->error, PHL_ERR_SYNTAX, phl_lines_position(&reading->lines, line, head.begin),
        "a sentence is one tree: give all words but one a head",
        "found a second word with HEAD 0, expected one root per sentence (the first "
        "is on line %llu)",
        (unsigned long long)reading->words[reading->root].line);
}

/* A line that is neither blank nor a comment. */
static phl_status read_word(conllu_reading *reading, const char *line, size_t length)
{
    field fields[PHL_CONLLU_COLUMNS];
    reading->has_lines = true;
    phl_status status = split_fields(reading, line, length, fields);
    if (status != PHL_OK || is_range_or_empty_node(fields[PHL_CONLLU_ID])) {
        return status;
    }
    uint32_t id;
    size_t number = reading->n_words + 1;
    if (parse_number(fields[PHL_CONLLU_ID].begin, fields[PHL_CONLLU_ID].length, &id) !=
            fields[PHL_CONLLU_ID].length ||
        fields[PHL_CONLLU_ID].length == 0 || id != number) {
        char expected[64];
        (void)snprintf(expected, sizeof expected, "the word's number, %zu", number);
        return raise_field(reading, line, fields[PHL_CONLLU_ID], expected);
    }
    if (number > reading->reader->options->max_nodes || number >= UINT32_MAX) {
        return phl_raise_at(reading->error, PHL_ERR_LIMIT,
                            phl_lines_position(&reading->lines, line, line),
                            "raise the cap with " PHL_OPTION_TO("read.max_nodes", ""),
                            "a tree with more than %llu nodes",
                            (unsigned long long)reading->reader->options->max_nodes);
    }
    status = phl_grow(&reading->words, &reading->capacity, number + 1, sizeof *reading->words,
                      reading->error);
    if (status != PHL_OK) {
        return status;
    }
    word *made = &reading->words[number];
    memset(made, 0, sizeof *made);
    field head = fields[PHL_CONLLU_HEAD];
    if (head.length == 0 || parse_number(head.begin, head.length, &made->head) != head.length) {
        return raise_field(reading, line, head, "the number of the word's head, or 0 at the root");
    }
    if (made->head == NONE && reading->root != NONE) {
        return raise_second_root(reading, line, head);
    }
    phl_position place = phl_lines_position(&reading->lines, line, head.begin);
    made->line = place.line;
    made->column = place.column;
    status = read_labels(reading, line, fields, &made->label);
    if (status == PHL_OK) {
        reading->n_words = number;
        reading->first_line = number == 1 ? place.line : reading->first_line;
        reading->root = made->head == NONE ? (uint32_t)number : reading->root;
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * From words to a tree
 * ------------------------------------------------------------------------------------------- */

static phl_position head_place(const conllu_reading *reading, size_t number)
{
    phl_position place = {reading->reader->file, reading->words[number].line,
                          reading->words[number].column};
    return place;
}

/* Lists of dependents, in the order of words: last word first, each put in front. */
static phl_status link_words(conllu_reading *reading)
{
    word *words = reading->words;
    for (size_t i = 1; i <= reading->n_words; i++) {
        if (words[i].head > reading->n_words) {
            return phl_raise_at(reading->error, PHL_ERR_SYNTAX, head_place(reading, i), NULL,
                                "found HEAD %u in a sentence of %zu words", words[i].head,
                                reading->n_words);
        }
    }
    if (reading->root == NONE) {
        return phl_raise_at(reading->error, PHL_ERR_SYNTAX, head_place(reading, 1),
                            "give the root of the sentence HEAD 0",
                            "no word of the sentence has HEAD 0, expected one root");
    }
    for (size_t i = reading->n_words; i > 0; i--) {
        if (words[i].head != NONE) {
            words[i].next_sibling = words[words[i].head].first_child;
            words[words[i].head].first_child = (uint32_t)i;
        }
    }
    return PHL_OK;
}

/* Words that the root does not reach hang on a circle of heads: name its first word. */
static phl_status raise_cycle(conllu_reading *reading)
{
    const word *words = reading->words;
    size_t on_circle = 1;
    while (words[on_circle].next_sibling == UINT32_MAX) { /* entered by build_tree */
        on_circle++;
    }
    for (size_t step = 0; step < reading->n_words; step++) {
        on_circle = words[on_circle].head;
    }
    size_t first = on_circle;
    for (size_t i = words[on_circle].head; i != on_circle; i = words[i].head) {
        first = i < first ? i : first;
    }
    return phl_raise_at(reading->error, PHL_ERR_SYNTAX, head_place(reading, first),
                        "following heads must lead to the root",
                        "word %zu depends on itself through its head %u", first, words[first].head);
}

/* Walk from the root, down to first dependents, on to siblings, back up through heads: no stack.
 * A word that was entered is marked by next_sibling = UINT32_MAX once that was read. */
static phl_status build_tree(conllu_reading *reading)
{
    phl_builder *builder = reading->reader->builder;
    word *words = reading->words;
    phl_status status = link_words(reading);
    uint32_t at = reading->root;
    size_t entered = 0;
    bool down = true;
    while (status == PHL_OK && at != NONE) {
        if (down) {
            entered++;
            status = phl_builder_open_label(builder, words[at].label, 0, reading->error);
            if (words[at].first_child != NONE) {
                at = words[at].first_child;
                continue;
            }
        }
        if (status == PHL_OK) {
            status = phl_builder_close(builder, reading->error);
        }
        uint32_t next = words[at].next_sibling;
        words[at].next_sibling = UINT32_MAX;
        down = next != NONE;
        at = down ? next : words[at].head;
    }
    if (status == PHL_OK && entered < reading->n_words) {
        status = raise_cycle(reading);
    }
    return status;
}

static phl_status end_sentence(conllu_reading *reading)
{
    phl_error *error = reading->error;
    phl_position place = {reading->reader->file, reading->lines.number, 0};
    phl_status status = PHL_OK;
    if (!reading->has_lines) {
        return PHL_OK;
    }
    if (reading->n_words == 0) {
        return phl_raise_at(error, PHL_ERR_SYNTAX, place, NULL,
                            "a sentence without words ends here, expected a line that begins with "
                            "1 and a tab");
    }
    status = build_tree(reading);
    if (status == PHL_OK) {
        phl_span no_class = {NULL, 0};
        phl_span id = {NULL, 0};
        if (reading->id.length > 0) {
            id.bytes = reading->id.bytes;
            id.length = reading->id.length;
        }
        status =
            phl_reader_end_tree(reading->reader, no_class, 1.0, id, reading->first_line, error);
    }
    place.line = reading->first_line;
    if (status != PHL_OK) {
        phl_error_locate(error, place);
    }
    return status;
}

static void open_sentences(phl_reader *reader)
{
    conllu_reading *reading = reader->state;
    reading->reader = reader;
    phl_lines_init(&reading->lines, reader->input, reader->options->max_token);
    start_sentence(reading);
}

static void close_sentences(phl_reader *reader)
{
    conllu_reading *reading = reader->state;
    phl_lines_clear(&reading->lines);
    phl_free(reading->words);
    phl_text_clear(&reading->id);
    phl_text_clear(&reading->both);
}

static phl_status read_sentences(phl_reader *reader, phl_error *error)
{
    conllu_reading *reading = reader->state;
    bool passing = false; /* over the rest of a bad sentence; no pause comes inside one */
    const char *line = "";
    size_t length = 0;
    reading->error = error;
    while (line != NULL && !reader->pause) {
        bool blank = false;
        phl_status status = phl_lines_next(&reading->lines, &line, &length, error);
        if (status != PHL_OK && status != PHL_ERR_ENCODING) { /* no way to go on */
            return status;
        }
        if (status == PHL_OK) {
            blank = line == NULL || is_blank(line, length);
        }
        if (passing && (status != PHL_OK || !blank)) {
            continue;
        }
        if (status == PHL_OK && blank) {
            status = passing ? PHL_OK : end_sentence(reading);
            passing = false;
            start_sentence(reading);
            if (status == PHL_OK) {
                status = phl_reader_check_cancel(reader, error);
            }
        } else if (status == PHL_OK) {
            status = line[0] == '#' ? read_comment(reading, line, length)
                                    : read_word(reading, line, length);
        }
        if (status != PHL_OK) {
            passing = !blank;
            status = phl_reader_bad_tree(reader, status, error);
            if (status != PHL_OK) {
                return status;
            }
        }
    }
    reader->ended = line == NULL;
    return PHL_OK;
}

/* The first line that is no comment has a number and ten columns. */
static bool recognise(const char *text, size_t length)
{
    const char *end = text + length;
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
    }
    while (text < end && (*text == '#' || *text == '\n' || *text == '\r')) {
        const char *line_end = memchr(text, '\n', (size_t)(end - text));
        text = line_end != NULL ? line_end + 1 : end;
    }
    const char *line_end = memchr(text, '\n', (size_t)(end - text));
    end = line_end != NULL ? line_end : end;
    const char *tab = memchr(text, '\t', (size_t)(end - text));
    if (tab == NULL) {
        return false;
    }
    uint32_t ignored;
    field id = {text, (size_t)(tab - text)};
    if (id.length == 0 ||
        (parse_number(text, id.length, &ignored) != id.length && !is_range_or_empty_node(id))) {
        return false;
    }
    size_t tabs = 0;
    for (; text < end; text++) {
        tabs += *text == '\t';
    }
    return tabs == PHL_CONLLU_COLUMNS - 1;
}

static const char *const endings[] = {".conllu", NULL};

const phl_format_driver phl_conllu_driver = {
    .format = PHL_FORMAT_CONLLU,
    .name = "conllu",
    .endings = endings,
    .recognise = recognise,
    .state_size = sizeof(conllu_reading),
    .open = open_sentences,
    .read = read_sentences,
    .close = close_sentences,
    .tree_objection = phl_conllu_write_tree_objection,
    .node_objection = phl_conllu_write_node_objection,
    .write_tree = phl_conllu_write_tree,
    .one_tree_a_file = false,
    .carries_ids = true,
};
