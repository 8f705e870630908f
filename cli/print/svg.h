/* svg.h - the little of SVG that pictures of results need. */
#ifndef PHLOEM_CLI_SVG_H
#define PHLOEM_CLI_SVG_H

#include "phloem.h"

#include <stdio.h>

/* Colours of all pictures. */
#define SVG_INK "#222222"
#define SVG_PALE "#888888"
#define SVG_WRONG "#d62728"

typedef enum svg_anchor { SVG_START, SVG_MIDDLE, SVG_END } svg_anchor;

/* A picture of so many pixels on white; scales without loss. */
void svg_begin(FILE *file, double width, double height, const char *title);
void svg_end(FILE *file);
void svg_line(FILE *file, double x1, double y1, double x2, double y2);
/* With a text that shows when pointed at (NULL: none). */
void svg_circle(FILE *file, double x, double y, double radius, const char *fill, const char *stroke,
                const char *hint);
void svg_square(FILE *file, double x, double y, double side, const char *fill);
/* Text whose middle line is at y. */
void svg_text(FILE *file, double x, double y, double size, svg_anchor anchor, const char *fill,
              const char *text);
/* The same turned by a quarter to the left around its anchor. */
void svg_text_upward(FILE *file, double x, double y, double size, svg_anchor anchor,
                     const char *fill, const char *text);

#endif
