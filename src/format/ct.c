/* ct.c - reading RNA structures as connectivity tables (.ct).
 *
 *   4  id family                   number of bases, title
 *   1  G  0  2  4  1               number, base, ..., ..., partner or 0, ...
 *   2  A  1  3  0  2
 *   ...
 *
 * "ENERGY = -1.2" or "dG = -1.2" before the title is passed over, and so are lines that begin with
 * #. After a bad structure reading goes on at the next title: a line whose second word is not a
 * single character, or that has fewer than six words.
 */
#include <string.h>

#include "base/memory.h"
#include "format/rna.h"

enum { WORDS = 6 };

typedef struct ct_reading {
    phl_reader *reader;
    phl_lines lines;
    phl_rna rna;
    uint32_t expected; /* bases of the structure at hand; 0: a title is next */
    uint64_t title_line;
    bool passing; /* over the rest of a bad structure */
} ct_reading;

/* Up to `most` words of a line; what stands behind them is left alone. */
static size_t split_words(const char *line, size_t length, phl_span words[], size_t most)
{
    size_t n = 0;
    size_t at = 0;
    while (n < most) {
        while (at < length && (line[at] == ' ' || line[at] == '\t')) {
            at++;
        }
        if (at == length) {
            break;
        }
        size_t begin = at;
        while (at < length && line[at] != ' ' && line[at] != '\t') {
            at++;
        }
        words[n++] = (phl_span){line + begin, at - begin};
    }
    return n;
}

static bool parse_number(phl_span word, uint32_t *number)
{
    uint64_t value = 0;
    for (size_t i = 0; i < word.length; i++) {
        if (word.bytes[i] < '0' || word.bytes[i] > '9' || value > UINT32_MAX) {
            return false;
        }
        value = value * 10 + (uint64_t)(word.bytes[i] - '0');
    }
    *number = (uint32_t)value;
    return word.length > 0 && value < UINT32_MAX;
}

static bool is_base_line(const phl_span words[], size_t n)
{
    uint32_t ignored;
    return n == WORDS && words[1].length == 1 && parse_number(words[0], &ignored) &&
           parse_number(words[4], &ignored);
}

static phl_status raise_word(const ct_reading *reading, const char *line, phl_span word,
                             const char *expected, phl_error *error)
{
    char shown[PHL_EXCERPT_SIZE];
    return phl_raise_at(
        error, PHL_ERR_SYNTAX, phl_lines_position(&reading->lines, line, word.bytes), NULL,
        "found '%s', expected %s", phl_text_excerpt(word.bytes, word.length, shown), expected);
}

static phl_status read_title(ct_reading *reading, const char *line, size_t length, phl_error *error)
{
    phl_span words[4];
    size_t n = split_words(line, length, words, 4);
    phl_rna_begin(&reading->rna);
    if (n == 0 || !parse_number(words[0], &reading->expected) || reading->expected == 0) {
        reading->expected = 0;
        return raise_word(reading, line, words[0], "the number of bases, and a title", error);
    }
    reading->title_line = reading->lines.number;
    const char *title = words[0].bytes + words[0].length;
    if (n == 4 && words[2].length == 1 && words[2].bytes[0] == '=') {
        title = words[3].bytes + words[3].length; /* ENERGY = x */
    }
    return phl_rna_title(&reading->rna, title, (size_t)(line + length - title), error);
}

/* Every pair is told of twice. */
static phl_status check_mutual(ct_reading *reading, phl_error *error)
{
    const phl_rna *rna = &reading->rna;
    for (size_t i = 0; i < rna->length; i++) {
        uint32_t partner = rna->partner[i];
        if (partner != 0 &&
            (partner > rna->length || partner == i + 1 || rna->partner[partner - 1] != i + 1)) {
            phl_position place = {reading->reader->file, rna->line + i, 0};
            return phl_raise_at(
                error, PHL_ERR_SYNTAX, place, "a pair is in the lines of both of its bases",
                "base %zu is paired with %u, which is not paired with it", i + 1, partner);
        }
    }
    return PHL_OK;
}

static phl_status end_structure(ct_reading *reading, phl_error *error)
{
    phl_rna *rna = &reading->rna;
    size_t crossing = 0;
    phl_status status = check_mutual(reading, error);
    reading->expected = 0;
    if (status != PHL_OK) {
        return status;
    }
    status = phl_rna_end_tree(rna, reading->reader, &crossing, error);
    phl_position place = {reading->reader->file, rna->line + crossing, 0};
    return status == PHL_OK ? PHL_OK : phl_error_locate(error, place);
}

static phl_status read_base(ct_reading *reading, const char *line, const phl_span words[], size_t n,
                            phl_error *error)
{
    phl_rna *rna = &reading->rna;
    uint32_t number, partner;
    if (n < WORDS) {
        return phl_raise_at(error, PHL_ERR_SYNTAX, phl_lines_position(&reading->lines, line, line),
                            "number, base, two neighbours, partner or 0, number",
                            "a base's line of %zu words, expected %d", n, WORDS);
    }
    if (!parse_number(words[0], &number) || number != rna->length + 1) {
        return raise_word(reading, line, words[0], "the base's number, one more than before",
                          error);
    }
    if (words[1].length != 1) {
        return raise_word(reading, line, words[1], "a base, one character", error);
    }
    if (!parse_number(words[4], &partner)) {
        return raise_word(reading, line, words[4], "the number of the base's partner, or 0", error);
    }
    rna->line = rna->length == 0 ? reading->lines.number : rna->line;
    phl_status status = phl_rna_add(rna, reading->reader, partner, error);
    if (status == PHL_OK) {
        status = phl_text_append(&rna->bases, words[1].bytes, 1, error);
    }
    if (status != PHL_OK) {
        return phl_error_locate(error, phl_lines_position(&reading->lines, line, line));
    }
    return rna->length == reading->expected ? end_structure(reading, error) : PHL_OK;
}

static phl_status take_line(void *state, const char *line, size_t length, phl_error *error)
{
    ct_reading *reading = state;
    phl_span words[WORDS];
    size_t n = split_words(line, length, words, WORDS);
    if (n == 0 || words[0].bytes[0] == '#') {
        return PHL_OK;
    }
    bool base = is_base_line(words, n);
    if (reading->passing && base) {
        return PHL_OK;
    }
    reading->passing = false;
    phl_status status = reading->expected == 0 ? read_title(reading, line, length, error)
                                               : read_base(reading, line, words, n, error);
    if (status != PHL_OK) {
        reading->passing = true;
        reading->expected = 0;
    }
    return status;
}

static void open_tables(phl_reader *reader)
{
    ct_reading *reading = reader->state;
    reading->reader = reader;
    phl_lines_init(&reading->lines, reader->input, reader->options->max_token);
}

static void close_tables(phl_reader *reader)
{
    ct_reading *reading = reader->state;
    phl_lines_clear(&reading->lines);
    phl_rna_clear(&reading->rna);
}

static phl_status read_tables(phl_reader *reader, phl_error *error)
{
    ct_reading *reading = reader->state;
    phl_status status = phl_reader_lines(reader, &reading->lines, take_line, error);
    if (status == PHL_OK && reader->ended && reading->expected > 0) {
        phl_position place = {reader->file, reading->title_line, 0};
        status = phl_raise_at(error, PHL_ERR_SYNTAX, place, NULL,
                              "the structure that begins here has %zu of its %u bases at the end "
                              "of the file",
                              reading->rna.length, reading->expected);
        reading->expected = 0;
        status = phl_reader_bad_tree(reader, status, error);
    }
    return status;
}

/* A line that begins with a number, and one of a base behind it. */
static bool recognise(const char *text, size_t length)
{
    phl_span words[WORDS];
    uint32_t number;
    for (int lines = 0; length > 0;) {
        const char *end = memchr(text, '\n', length);
        size_t n = end != NULL ? (size_t)(end - text) : length;
        size_t found = split_words(text, n - (n > 0 && text[n - 1] == '\r'), words, WORDS);
        text += n + (end != NULL);
        length -= n + (end != NULL);
        if (found == 0 || words[0].bytes[0] == '#') {
            continue;
        }
        if (lines++ == 1) {
            return is_base_line(words, found) && words[0].length == 1 && words[0].bytes[0] == '1';
        }
        if (!parse_number(words[0], &number)) {
            return false;
        }
    }
    return false;
}

static const char *const endings[] = {".ct", NULL};

const phl_format_driver phl_ct_driver = {
    .format = PHL_FORMAT_CT,
    .name = "ct",
    .endings = endings,
    .recognise = recognise,
    .state_size = sizeof(ct_reading),
    .open = open_tables,
    .read = read_tables,
    .close = close_tables,
    .carries_ids = true,
};
