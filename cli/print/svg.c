/* svg.c - the little of SVG that pictures of results need; see svg.h. */
#include "print/svg.h"

#include <string.h>

#include "base/text.h"

/* XML has no controls, not even escaped, and neither U+FFFE nor bytes that are no UTF-8. */
static void put_text(FILE *file, const char *text)
{
    char escape[PHL_ESCAPE_SIZE];
    size_t step;
    for (size_t left = strlen(text); left > 0; text += step, left -= step) {
        size_t escaped = phl_text_escape(text, left, escape, &step);
        const char *entity = *text == '<'   ? "&lt;"
                             : *text == '>' ? "&gt;"
                             : *text == '&' ? "&amp;"
                             : *text == '"' ? "&quot;"
                                            : NULL;
        if (entity) {
            fputs(entity, file);
        } else {
            fwrite(escaped ? escape : text, 1, escaped ? escaped : step, file);
        }
    }
}

void svg_begin(FILE *file, double width, double height, const char *title)
{
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
            "viewBox=\"0 0 %.0f %.0f\" font-family=\"Helvetica, Arial, sans-serif\">\n<title>",
            width, height, width, height);
    put_text(file, title);
    fputs("</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n", file);
}

void svg_end(FILE *file)
{
    fputs("</svg>\n", file);
}

void svg_line(FILE *file, double x1, double y1, double x2, double y2)
{
    fprintf(file,
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"" SVG_PALE "\"/>\n", x1,
            y1, x2, y2);
}

void svg_circle(FILE *file, double x, double y, double radius, const char *fill, const char *stroke,
                const char *hint)
{
    fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\" stroke=\"%s\">", x, y,
            radius, fill, stroke);
    if (hint) {
        fputs("<title>", file);
        put_text(file, hint);
        fputs("</title>", file);
    }
    fputs("</circle>\n", file);
}

void svg_square(FILE *file, double x, double y, double side, const char *fill)
{
    fprintf(file,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\" "
            "stroke=\"#cccccc\"/>\n",
            x, y, side, side, fill);
}

static void text_at(FILE *file, double x, double y, double size, svg_anchor anchor,
                    const char *fill, const char *text, bool upward)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    /* Not every viewer knows dominant-baseline: shift by a third of the height. */
    fprintf(file, "<text font-size=\"%.1f\" text-anchor=\"%s\" fill=\"%s\" ", size, anchors[anchor],
            fill);
    if (upward) {
        fprintf(file, "transform=\"translate(%.1f %.1f) rotate(-90)\">", x + 0.35 * size, y);
    } else {
        fprintf(file, "x=\"%.1f\" y=\"%.1f\">", x, y + 0.35 * size);
    }
    put_text(file, text);
    fputs("</text>\n", file);
}

void svg_text(FILE *file, double x, double y, double size, svg_anchor anchor, const char *fill,
              const char *text)
{
    text_at(file, x, y, size, anchor, fill, text, false);
}

void svg_text_upward(FILE *file, double x, double y, double size, svg_anchor anchor,
                     const char *fill, const char *text)
{
    text_at(file, x, y, size, anchor, fill, text, true);
}
