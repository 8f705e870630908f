/* picture_confusion.c - a confusion matrix as a picture; see pictures.h. */
#include "print/pictures.h"
#include "print/svg.h"
#include "print/terminal.h"

#include <stdlib.h>
#include <string.h>

enum { LARGE_CELLS = 8 };
static const double margin = 20, title_height = 30;

/* Share of the row from white to dark blue. */
static void shade(double share, char *colour, size_t size)
{
    static const double dark[3] = {8, 69, 148};
    unsigned channel[3];
    for (size_t i = 0; i < 3; i++) {
        channel[i] = (unsigned)(255 + share * (dark[i] - 255) + 0.5);
    }
    snprintf(colour, size, "#%02x%02x%02x", channel[0], channel[1], channel[2]);
}

/* `count` of `all` in its row; large cells if there are few names. */
static void draw_cell(FILE *file, uint64_t count, uint64_t all, bool large, double x, double y,
                      double side)
{
    char colour[16], text[NUMBER_SIZE];
    double share = all ? (double)count / (double)all : 0;
    const char *ink = share > 0.5 ? "white" : SVG_INK;
    shade(share, colour, sizeof colour);
    svg_square(file, x, y, side, colour);
    if (large) {
        snprintf(text, sizeof text, "%.1f %%", 100 * share);
        svg_text(file, x + side / 2, y + 0.4 * side, 13, SVG_MIDDLE, ink, text);
        svg_text(file, x + side / 2, y + 0.7 * side, 10, SVG_MIDDLE, ink,
                 number_grouped(count, text));
    } else if (count) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)count);
        svg_text(file, x + side / 2, y + side / 2, 10, SVG_MIDDLE, ink, text);
    }
}

void picture_confusion(FILE *file, const phl_evaluation *e, const phl_confusion *confusion,
                       const char *title)
{
    size_t n = e->n_names, *order = evaluation_names_in_order(e);
    bool large = n <= LARGE_CELLS;
    double side = large ? 64 : 30, size = large ? 13 : 11;
    char name[TABLE_CELL];
    size_t longest = 0;
    for (size_t i = 0; i < n; i++) {
        size_t columns = text_printable(evaluation_name(e, order[i]), 16, name, sizeof name);
        longest = columns > longest ? columns : longest;
    }
    double names = 0.62 * size * (double)longest + 8;
    double left = margin + 20 + names, top = title_height + 24 + (longest > 3 ? names : size + 4);
    double width = left + side * (double)n + margin;
    double title_width = 2 * margin + 6.6 * (double)strlen(title);
    svg_begin(file, width > title_width ? width : title_width, top + side * (double)n + margin,
              title);
    svg_text(file, margin, 18, 13, SVG_START, SVG_INK, title);
    svg_text(file, left + side * (double)n / 2, title_height + 12, 12, SVG_MIDDLE, SVG_PALE,
             "predicted");
    svg_text_upward(file, margin + 6, top + side * (double)n / 2, 12, SVG_MIDDLE, SVG_PALE, "true");
    for (size_t i = 0; i < n; i++) {
        double middle = side * ((double)i + 0.5);
        text_printable(evaluation_name(e, order[i]), 16, name, sizeof name);
        svg_text(file, left - 8, top + middle, size, SVG_END, SVG_INK, name);
        if (longest > 3) {
            svg_text_upward(file, left + middle, top - 8, size, SVG_START, SVG_INK, name);
        } else {
            svg_text(file, left + middle, top - 6 - size / 2, size, SVG_MIDDLE, SVG_INK, name);
        }
        for (size_t j = 0; j < n; j++) {
            draw_cell(file, confusion->counts[order[i] * n + order[j]],
                      confusion->measures[order[i]].n, large, left + side * (double)j,
                      top + side * (double)i, side);
        }
    }
    svg_end(file);
    free(order);
}
