/* report_values.c - values of a report's document; see report.h. */
#include "report/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

enum { NAME_CHARACTERS = 1000, PIECES = 40 };

/* ---- alerts ---- */

static char *copy(const char *text)
{
    return text ? text_format("%s", text) : NULL;
}

void report_values_alert(report *r, size_t run, bool trouble, const char *code,
                         const char *class_name, const char *advice, const char *format, ...)
{
    char text[2000];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    report_alert *alerts = terminal_allocate(r->n_alerts + 1, sizeof *alerts);
    if (r->n_alerts) {
        memcpy(alerts, r->alerts, r->n_alerts * sizeof *alerts);
    }
    free(r->alerts);
    r->alerts = alerts;
    alerts[r->n_alerts++] = (report_alert){.trouble = trouble,
                                           .code = code,
                                           .run = run,
                                           .class_name = copy(class_name),
                                           .text = copy(text),
                                           .advice = copy(advice)};
}

/* ---- names and numbers ---- */

void report_values_name(json_writer *json, const char *name)
{
    size_t length = name ? strlen(name) : 0, at = 0, step = 0;
    uint32_t point;
    if (length <= NAME_CHARACTERS) {
        json_out_string(json, name);
        return;
    }
    for (size_t n = 0; n < NAME_CHARACTERS && at < length; n++, at += step) {
        step = phl_utf8_decode(name + at, length - at, &point);
        step = step ? step : 1;
    }
    if (at == length) {
        json_out_string(json, name);
        return;
    }
    char *cut = text_format("%.*s...", (int)at, name);
    json_out_string(json, cut);
    free(cut);
}

void report_values_text(json_writer *json, const char *key, const char *name)
{
    json_out_key(json, key);
    report_values_name(json, name);
}

void report_values_real(json_writer *json, const char *key, double number, int digits)
{
    json_out_key(json, key);
    json_out_rounded(json, number, digits);
}

void report_values_share(json_writer *json, const char *name, double share)
{
    json_out_open(json, '{', true);
    report_values_text(json, "name", name);
    report_values_real(json, "share", share, 4);
    json_out_close(json, '}');
}

/* ---- summaries ---- */

void report_values_distribution(json_writer *json, const char *key, const uint64_t *values,
                                size_t n)
{
    uint64_t low = UINT64_MAX, high = 0, counts[PIECES] = {0};
    for (size_t i = 0; i < n; i++) {
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
    }
    json_out_array(json, key, false);
    if (n > 0) {
        uint64_t width = (high - low) / PIECES + 1, pieces = (high - low) / width + 1;
        for (size_t i = 0; i < n; i++) {
            counts[(values[i] - low) / width]++;
        }
        for (uint64_t k = 0; k < pieces; k++) {
            json_out_open(json, '{', true);
            json_out_count(json, "from", low + k * width);
            json_out_count(json, "to", k + 1 < pieces ? low + (k + 1) * width - 1 : high);
            json_out_count(json, "count", counts[k]);
            json_out_close(json, '}');
        }
    }
    json_out_close(json, ']');
}

void report_values_interval(json_writer *json, double share, uint64_t n)
{
    const double z = 1.959963984540054;
    double count = (double)n, low = (double)NAN, high = (double)NAN;
    if (n > 0) {
        double scale = 1 + z * z / count, middle = share + z * z / (2 * count);
        double half = z * sqrt(share * (1 - share) / count + z * z / (4 * count * count));
        low = fmax(0, (middle - half) / scale);
        high = fmin(1, (middle + half) / scale);
    }
    report_values_real(json, "low", low, 6);
    report_values_real(json, "high", high, 6);
}
