/* dbn.c - reading RNA structures in dot-bracket notation.
 *
 *   >id family              may be missing; so may the sequence
 *   GGGAAAUCC
 *   (((...)))  (-1.20)      what stands after a blank is passed over
 *
 * A pair is a bracket and its partner, of the kinds () [] {} <> and Aa to Zz, which may cross those
 * of another kind; . , : - _ ~ are unpaired.  Lines that begin with # are comments, but for
 * "#Name: id".
 *
 * After a bad structure reading goes on at the next line.
 */
#include <string.h>

#include "base/memory.h"
#include "format/rna.h"

enum { KINDS = 4 + 26, UNPAIRED = -1, NEITHER = -2 };

typedef struct dbn_reading {
    phl_reader *reader;
    phl_lines lines;
    phl_rna rna;
    uint64_t bases_line; /* of the sequence at hand */
    size_t tops[KINDS];  /* innermost open bracket of each kind, from 1; 0: none */
} dbn_reading;

/* The kind of a bracket, and whether it opens; UNPAIRED or NEITHER. */
static int kind_of(char c, bool *opens)
{
    static const char open[] = "([{<", close[] = ")]}>";
    const char *found = c != '\0' ? strchr(open, c) : NULL;
    *opens = found != NULL;
    if (found != NULL) {
        return (int)(found - open);
    }
    found = c != '\0' ? strchr(close, c) : NULL;
    if (found != NULL) {
        return (int)(found - close);
    }
    if (c != '\0' && strchr(".,:-_~", c) != NULL) {
        return UNPAIRED;
    }
    *opens = c >= 'A' && c <= 'Z';
    return *opens ? 4 + c - 'A' : c >= 'a' && c <= 'z' ? 4 + c - 'a' : NEITHER;
}

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static size_t word_length(const char *line, size_t length)
{
    size_t n = 0;
    while (n < length && line[n] != ' ' && line[n] != '\t') {
        n++;
    }
    return n;
}

/* Only letters: a sequence.  (A structure has at least one character that is none.) */
static bool is_sequence(const char *line, size_t length)
{
    size_t n = 0;
    while (n < length && is_letter(line[n])) {
        n++;
    }
    return n > 0 && n == length;
}

static phl_status raise_at(const dbn_reading *reading, const char *line, const char *at,
                           const char *remedy, const char *what, phl_error *error)
{
    return phl_raise_at(error, PHL_ERR_SYNTAX, phl_lines_position(&reading->lines, line, at),
                        remedy, "%s", what);
}

/* Partners of a line of brackets.  The partner of an open bracket is, for the time being, the one
 * of its kind around it. */
static phl_status read_brackets(dbn_reading *reading, const char *line, size_t length,
                                phl_error *error)
{
    phl_rna *rna = &reading->rna;
    phl_status status = PHL_OK;
    memset(reading->tops, 0, sizeof reading->tops);
    for (size_t i = 0; status == PHL_OK && i < length; i++) {
        bool opens;
        int kind = kind_of(line[i], &opens);
        size_t top = kind >= 0 ? reading->tops[kind] : 0;
        if (kind == NEITHER) {
            return raise_at(reading, line, line + i, NULL,
                            "found a character that is no part of a structure, expected brackets "
                            "and dots",
                            error);
        }
        if (kind >= 0 && !opens && top == 0) {
            return raise_at(reading, line, line + i, "every bracket needs its partner",
                            "found a closing bracket, expected one that opens before it", error);
        }
        status = phl_rna_add(rna, reading->reader, opens ? (uint32_t)top : 0, error);
        if (status == PHL_OK && kind >= 0 && opens) {
            reading->tops[kind] = i + 1;
        } else if (status == PHL_OK && kind >= 0) {
            reading->tops[kind] = rna->partner[top - 1];
            rna->partner[top - 1] = (uint32_t)i + 1;
            rna->partner[i] = (uint32_t)top;
        }
    }
    for (int kind = 0; status == PHL_OK && kind < KINDS; kind++) {
        if (reading->tops[kind] > 0) {
            return raise_at(reading, line, line + reading->tops[kind] - 1,
                            "every bracket needs its partner", "found a bracket that is not closed",
                            error);
        }
    }
    return status;
}

static phl_status read_structure(dbn_reading *reading, const char *line, size_t length,
                                 phl_error *error)
{
    phl_rna *rna = &reading->rna;
    size_t word = word_length(line, length);
    rna->line = reading->lines.number;
    rna->length = 0;
    phl_status status = read_brackets(reading, line, word, error);
    if (status == PHL_OK && rna->bases.length > 0 && rna->bases.length != word) {
        return phl_raise_at(error, PHL_ERR_SYNTAX, phl_lines_position(&reading->lines, line, line),
                            NULL, "a structure of %zu characters for %zu bases (line %llu)", word,
                            rna->bases.length, (unsigned long long)reading->bases_line);
    }
    if (status != PHL_OK) {
        return phl_error_locate(error, phl_lines_position(&reading->lines, line, line));
    }
    size_t crossing = 0;
    status = phl_rna_end_tree(rna, reading->reader, &crossing, error);
    return status == PHL_OK ? PHL_OK
                            : phl_error_locate(error, phl_lines_position(&reading->lines, line,
                                                                         line + crossing));
}

static phl_status read_sequence(dbn_reading *reading, const char *line, size_t length,
                                phl_error *error)
{
    phl_rna *rna = &reading->rna;
    if (rna->bases.length > 0) {
        return raise_at(reading, line, line, "one line of bases, then one of brackets and dots",
                        "found a second line of bases, expected a structure", error);
    }
    reading->bases_line = reading->lines.number;
    return phl_text_append(&rna->bases, line, length, error);
}

static phl_status read_comment(dbn_reading *reading, const char *line, size_t length,
                               phl_error *error)
{
    static const char name[] = "#Name:";
    size_t n = sizeof name - 1;
    if (length < n || memcmp(line, name, n) != 0) {
        return PHL_OK;
    }
    phl_rna_begin(&reading->rna);
    return phl_rna_title(&reading->rna, line + n, length - n, error);
}

static phl_status take_line(void *state, const char *line, size_t length, phl_error *error)
{
    dbn_reading *reading = state;
    while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\t')) {
        length--;
    }
    if (length == 0) {
        return PHL_OK;
    }
    if (line[0] == '#') {
        return read_comment(reading, line, length, error);
    }
    if (line[0] == '>') {
        phl_rna_begin(&reading->rna);
        return phl_rna_title(&reading->rna, line + 1, length - 1, error);
    }
    if (is_sequence(line, length)) {
        phl_status status = read_sequence(reading, line, length, error);
        if (status != PHL_OK) {
            phl_rna_begin(&reading->rna);
        }
        return status;
    }
    phl_status status = read_structure(reading, line, length, error);
    phl_rna_begin(&reading->rna);
    return status;
}

static void open_structures(phl_reader *reader)
{
    dbn_reading *reading = reader->state;
    reading->reader = reader;
    phl_lines_init(&reading->lines, reader->input, reader->options->max_token);
}

static void close_structures(phl_reader *reader)
{
    dbn_reading *reading = reader->state;
    phl_lines_clear(&reading->lines);
    phl_rna_clear(&reading->rna);
}

static phl_status read_structures(phl_reader *reader, phl_error *error)
{
    dbn_reading *reading = reader->state;
    return phl_reader_lines(reader, &reading->lines, take_line, error);
}

/* A title or comments, then perhaps bases, then nothing but brackets and dots, as many. */
static bool recognise(const char *text, size_t length)
{
    size_t bases = 0;
    bool titled = false;
    for (size_t at = 0; at < length;) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t n = end != NULL ? (size_t)(end - text) - at : length - at;
        const char *line = text + at;
        at += n + 1;
        n -= n > 0 && line[n - 1] == '\r';
        if (n == 0 || line[0] == '#' || line[0] == '>') {
            titled |= n > 0;
            continue;
        }
        if (bases == 0 && is_sequence(line, n)) {
            bases = n;
            continue;
        }
        size_t word = word_length(line, n);
        size_t marks = strspn(line, "()[]{}<>.,:-_~");
        return marks >= word && word > 0 && (word == bases || (bases == 0 && titled));
    }
    return false;
}

static const char *const endings[] = {".dbn", ".dot", NULL};

const phl_format_driver phl_dbn_driver = {
    .format = PHL_FORMAT_DBN,
    .name = "dbn",
    .endings = endings,
    .recognise = recognise,
    .state_size = sizeof(dbn_reading),
    .open = open_structures,
    .read = read_structures,
    .close = close_structures,
    .carries_ids = true,
};
