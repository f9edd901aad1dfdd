/* SPDX-License-Identifier: MIT */
/* Pages of designs: what those of one device and of pipelines share (facts_designs.c). */
#ifndef WEFT_FACTS_MINE_H
#define WEFT_FACTS_MINE_H

#include "document.h"

/* "1587", "0.01669", "12,345": four digits at least. */
const char *weft_metric_text(weft_arena *a, double x);
/* "600 mm²", "280 W". */
const char *weft_area_text(weft_arena *a, double mm2);
const char *weft_power_text(weft_arena *a, double w);
/* "128x128 x2, 1024 lanes x2, 32 MiB"; in `a`. */
const char *weft_design_words(const weft_template *t, const weft_design_point *p, weft_arena *a);

/* Value, bound and gap of a metric of which more is better. */
typedef struct weft_design_claim {
    const char *label, *unit; /* of the value */
    double value, bound, gap;
    weft_outcome outcome;
} weft_design_claim;
void weft_design_claim_facts(weft_page *g, const weft_design_claim *c);
void weft_design_limit_fact(weft_page *g, const char *key, const char *label, double have,
                            double most, const char *(*text)(weft_arena *, double));

/* What `weft mine --json` prints of both. */
void weft_design_result(weft_page *g, const weft_design_asked *q, const char *solver,
                        const weft_proof *proof);

/* Columns of the sizes, area and power of a design, and its cells. */
enum { WEFT_SIZE_COLUMNS = WEFT_N_PARAMETERS + 2 };
void weft_size_columns(weft_column *to);
void weft_size_cells(weft_page *g, weft_doc *row, const weft_template *t,
                     const weft_design_point *p);

/* A design in a plot. */
typedef struct weft_plot_point {
    double x, y;
    const char *label;
    bool is_best, is_front;
} weft_plot_point;
typedef struct weft_plot {
    const char *id, *title;
    const char *x_name, *x_unit, *y_name, *y_unit;
    int n_points;
    const weft_plot_point *point;
    double x_limit; /* INFINITY: none */
    const char *limit_text;
} weft_plot;
void weft_page_plot(weft_page *g, const weft_plot *p);

/* Last part of the page: where the template comes from, its constants with their errors. */
void weft_about_template(weft_page *g, const weft_template *t);
void weft_about_limits(weft_page *g, weft_doc *rows, const weft_limits *l, double memory_bytes);
/* The name of software that is not the default; else NULL. */
const char *weft_software_given(const weft_model_options *o);
void weft_about_options(weft_page *g, weft_doc *rows, const weft_model_options *o,
                        const char *dtype, const char *optimizer);
/* What is assumed of every design. */
void weft_assume_designs(weft_page *g, const weft_template *t);

#endif
