/* SPDX-License-Identifier: MIT */
/* svg.c: drawings as SVG 1.1.
 *
 * Attributes only, no style sheet and no script: every program that reads SVG understands them.
 * Numbers have two decimals at most, a hundredth of a point. Text is UTF-8; what XML cannot hold,
 * control characters and bytes that are not UTF-8, becomes '?'. */
#include "svg.h"
#include "fields.h"

#include <math.h>
#include <string.h>

static void put_number(FILE *to, double x)
{
    char text[64];
    size_t n;

    snprintf(text, sizeof text, "%.2f", isfinite(x) ? x : 0);
    n = strlen(text);
    while (text[n - 1] == '0')
        n--;
    if (text[n - 1] == '.')
        n--;
    text[n] = '\0';
    fputs(strcmp(text, "-0") == 0 ? "0" : text, to);
}

static void put_attribute(FILE *to, const char *name, double x)
{
    fprintf(to, " %s=\"", name);
    put_number(to, x);
    fputc('"', to);
}

/* Bytes of the UTF-8 character at `c` that XML can hold; 0: none. */
static int character_bytes(const unsigned char *c)
{
    int n = *c < 0x80 ? 1 : *c >= 0xc2 && *c < 0xe0 ? 2 : *c >= 0xe0 && *c < 0xf0 ? 3 : 4;
    unsigned code = *c & (n == 1 ? 0x7fu : 0x7fu >> n);

    if (*c < ' ' || *c == 0x7f || (*c >= 0x80 && *c < 0xc2) || *c > 0xf4)
        return 0;
    for (int i = 1; i < n; i++) {
        if ((c[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (c[i] & 0x3fu);
    }
    if ((n == 3 && code < 0x800) || (n == 4 && (code < 0x10000 || code > 0x10ffff)))
        return 0;
    return (code >= 0xd800 && code < 0xe000) || (code >= 0xfffe && code < 0x10000) ? 0 : n;
}

static void put_escaped(FILE *to, const char *text)
{
    while (*text) {
        int n = character_bytes((const unsigned char *)text);

        if (n == 0)
            fputc('?', to);
        else if (*text == '<')
            fputs("&lt;", to);
        else if (*text == '>')
            fputs("&gt;", to);
        else if (*text == '&')
            fputs("&amp;", to);
        else
            fwrite(text, 1, (size_t)n, to);
        text += n > 0 ? n : 1;
    }
}

void weft_svg_begin(weft_svg *s, FILE *to, double width, double height, const char *title)
{
    s->to = to;
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
          "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" role=\"img\" viewBox=\"0 0 ",
          to);
    put_number(to, width);
    fputc(' ', to);
    put_number(to, height);
    fputc('"', to);
    put_attribute(to, "width", width);
    put_attribute(to, "height", height);
    fputs(" font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\">\n<title>", to);
    put_escaped(to, title);
    fputs("</title>\n", to);
    weft_svg_filled(s, 0, 0, width, height, "#ffffff");
}

void weft_svg_end(weft_svg *s)
{
    fputs("</svg>\n", s->to);
}

void weft_svg_group(weft_svg *s, const char *fill, const char *stroke, double stroke_width)
{
    fputs("<g", s->to);
    if (fill != NULL)
        fprintf(s->to, " fill=\"%s\"", fill);
    if (stroke != NULL) {
        fprintf(s->to, " stroke=\"%s\" stroke-linejoin=\"round\"", stroke);
        put_attribute(s->to, "stroke-width", stroke_width);
    }
    fputs(">\n", s->to);
}

void weft_svg_group_end(weft_svg *s)
{
    fputs("</g>\n", s->to);
}

void weft_svg_filled(weft_svg *s, double x, double y, double w, double h, const char *fill)
{
    fputs("<rect", s->to);
    put_attribute(s->to, "x", x);
    put_attribute(s->to, "y", y);
    put_attribute(s->to, "width", w);
    put_attribute(s->to, "height", h);
    if (fill != NULL)
        fprintf(s->to, " fill=\"%s\"", fill);
    fputs("/>\n", s->to);
}

void weft_svg_rect(weft_svg *s, double x, double y, double w, double h)
{
    weft_svg_filled(s, x, y, w, h, NULL);
}

void weft_svg_line(weft_svg *s, const double *xy, int n_points)
{
    fputs("<polyline points=\"", s->to);
    for (int i = 0; i < 2 * n_points; i++) {
        if (i > 0)
            fputc(i % 2 ? ',' : ' ', s->to);
        put_number(s->to, xy[i]);
    }
    fputs("\"/>\n", s->to);
}

void weft_svg_text(weft_svg *s, double x, double y, const weft_svg_font *f, const char *text)
{
    static const char *const anchor[] = {NULL, "middle", "end"};

    fputs("<text", s->to);
    put_attribute(s->to, "x", x);
    put_attribute(s->to, "y", y);
    put_attribute(s->to, "font-size", f->size);
    if (f->anchor != WEFT_SVG_START)
        fprintf(s->to, " text-anchor=\"%s\"", anchor[f->anchor]);
    if (f->is_bold)
        fputs(" font-weight=\"bold\"", s->to);
    if (f->is_mono)
        fputs(" font-family=\"Menlo, Consolas, 'DejaVu Sans Mono', monospace\"", s->to);
    if (f->fill != NULL)
        fprintf(s->to, " fill=\"%s\"", f->fill);
    fputc('>', s->to);
    put_escaped(s->to, text);
    fputs("</text>\n", s->to);
}

double weft_svg_width(const char *text, double size)
{
    return weft_columns(text) * size * WEFT_SVG_EM;
}
