/* SPDX-License-Identifier: MIT */
/* Drawings as SVG 1.1: elements with attributes, text escaped, numbers short. */
#ifndef WEFT_SVG_H
#define WEFT_SVG_H

#include "base.h"

typedef struct weft_svg {
    FILE *to;
} weft_svg;

static const double WEFT_SVG_EM = 0.6; /* most that a letter takes of the size of its font, about */

/* The head: a white ground, a name for those who do not see it. Fonts are those of papers. */
void weft_svg_begin(weft_svg *s, FILE *to, double width, double height, const char *title);
void weft_svg_end(weft_svg *s);

/* A group; NULL attributes are left out: fill, stroke. */
void weft_svg_group(weft_svg *s, const char *fill, const char *stroke, double stroke_width);
void weft_svg_group_end(weft_svg *s);

void weft_svg_rect(weft_svg *s, double x, double y, double w, double h);
/* With a colour of its own. */
void weft_svg_filled(weft_svg *s, double x, double y, double w, double h, const char *fill);
void weft_svg_line(weft_svg *s, const double *xy, int n_points);

/* Where text is in relation to its point. */
typedef enum weft_svg_anchor { WEFT_SVG_START, WEFT_SVG_MIDDLE, WEFT_SVG_END } weft_svg_anchor;

typedef struct weft_svg_font {
    double size;
    weft_svg_anchor anchor;
    bool is_bold, is_mono;
    const char *fill; /* NULL: of the group */
} weft_svg_font;

/* y: of the line that the letters stand on. */
void weft_svg_text(weft_svg *s, double x, double y, const weft_svg_font *f, const char *text);
/* Room of a text, a little more than it takes. */
double weft_svg_width(const char *text, double size);

#endif
