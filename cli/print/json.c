/* json.c - JSON output, value by value; see terminal.h.
 *
 * Members of an ordinary container get a line each, members of an inline one share a line.
 */
#include "print/terminal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"

void json_out_begin(json_writer *json, FILE *file)
{
    *json = (json_writer){.file = file, .first = true};
}

void json_out_begin_compact(json_writer *json, FILE *file)
{
    *json = (json_writer){.file = file, .first = true, .compact = true};
}

static void next_line(json_writer *json)
{
    fprintf(json->file, "\n%*s", (int)(2 * json->depth), "");
}

/* What separates a member from what stands before it. */
static void separate(json_writer *json)
{
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    if (json->depth == 0) {
        return;
    }
    if (!json->first) {
        fputs(json->inline_depth && !json->compact ? ", " : ",", json->file);
    }
    if (!json->inline_depth && !json->compact) {
        next_line(json);
    }
    json->first = false;
}

void json_out_open(json_writer *json, char bracket, bool on_one_line)
{
    separate(json);
    fputc(bracket, json->file);
    json->depth++;
    if (on_one_line && !json->inline_depth) {
        json->inline_depth = json->depth;
    }
    json->first = true;
}

void json_out_close(json_writer *json, char bracket)
{
    bool one_line = json->inline_depth != 0;
    if (json->inline_depth == json->depth) {
        json->inline_depth = 0;
    }
    json->depth--;
    if (!one_line && !json->first && !json->compact) {
        next_line(json);
    }
    fputc(bracket, json->file);
    json->first = false;
    if (json->depth == 0 && !json->compact) {
        fputc('\n', json->file);
    }
}

static void put_string(const json_writer *json, const char *text)
{
    char escape[PHL_ESCAPE_SIZE];
    size_t step;
    fputc('"', json->file);
    for (size_t left = strlen(text); left > 0; text += step, left -= step) {
        size_t escaped = phl_text_escape_json(text, left, escape, &step);
        if (json->compact && (*text == '<' || *text == '>' || *text == '&')) {
            escaped = (size_t)snprintf(escape, sizeof escape, "\\u%04x", (unsigned)*text);
        }
        fwrite(escaped ? escape : text, 1, escaped ? escaped : step, json->file);
    }
    fputc('"', json->file);
}

void json_out_key(json_writer *json, const char *key)
{
    separate(json);
    put_string(json, key);
    fputs(json->compact ? ":" : ": ", json->file);
    json->after_key = true;
}

void json_out_string(json_writer *json, const char *text)
{
    separate(json);
    if (text) {
        put_string(json, text);
    } else {
        fputs("null", json->file);
    }
}

void json_out_raw(json_writer *json, const char *text)
{
    separate(json);
    fputs(text, json->file);
}

void json_out_integer(json_writer *json, uint64_t number)
{
    separate(json);
    fprintf(json->file, "%" PRIu64, number);
}

void json_out_real(json_writer *json, double number)
{
    char text[NUMBER_SIZE];
    separate(json);
    fputs(isfinite(number) ? number_exact(number, text) : "null", json->file);
}

void json_out_rounded(json_writer *json, double number, int digits)
{
    separate(json);
    if (isfinite(number)) {
        fprintf(json->file, "%.*g", digits, number == 0 ? 0 : number); /* no "-0" */
    } else {
        fputs("null", json->file);
    }
}

void json_out_text(json_writer *json, const char *key, const char *text)
{
    json_out_key(json, key);
    json_out_string(json, text);
}

void json_out_count(json_writer *json, const char *key, uint64_t number)
{
    json_out_key(json, key);
    json_out_integer(json, number);
}

void json_out_number(json_writer *json, const char *key, double number)
{
    json_out_key(json, key);
    json_out_real(json, number);
}

void json_out_truth(json_writer *json, const char *key, bool truth)
{
    json_out_key(json, key);
    separate(json);
    fputs(truth ? "true" : "false", json->file);
}

void json_out_object(json_writer *json, const char *key, bool on_one_line)
{
    json_out_key(json, key);
    json_out_open(json, '{', on_one_line);
}

void json_out_array(json_writer *json, const char *key, bool on_one_line)
{
    json_out_key(json, key);
    json_out_open(json, '[', on_one_line);
}

void json_out_spread(json_writer *json, const char *key, double mean, double sd)
{
    json_out_key(json, key);
    json_out_open(json, '{', true);
    json_out_number(json, "mean", mean);
    json_out_number(json, "sd", sd);
    json_out_close(json, '}');
}
