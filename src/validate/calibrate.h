/* SPDX-License-Identifier: MIT */
/* Constants of one device of a platform, fitted to measured rows. */
#ifndef WEFT_CALIBRATE_H
#define WEFT_CALIBRATE_H

#include "score.h"

/* A constant that may be fitted. */
typedef struct weft_fit_param {
    const char *key; /* as in platform files; "efficiency.tensor": of that map */
    int place;       /* WEFT_P_...; -1: efficiency of products */
    double lowest, highest;
    double begin; /* where a search begins if the platform has none */
    weft_unit unit;
    const char *unit_text; /* of files, with `scale` units in one */
    double scale;
} weft_fit_param;

typedef struct weft_fitted {
    const weft_fit_param *param;
    double before, after;
} weft_fitted;

typedef struct weft_fit_options {
    int64_t folds, seed;
    int n_threads;
} weft_fit_options;

typedef struct weft_fit {
    const char *device; /* its kind */
    int n_rows, n_groups, n_folds;
    const char *what; /* "products", "products and convolutions", .. */
    int n_params;
    const weft_fitted *param;
    weft_design design;
    weft_link_curve
        curve; /* of links, fitted to all-reduces of n_ranks devices; n 0: of a device */
    int n_ranks;
    weft_score before, fitted; /* all rows with the old and with the new constants */
    weft_score held_out; /* each row by a fit that has not seen its group; n 0: one group only */
} weft_fit;

/* All rows must run on the same kind of device. Everything lives in `a`. */
WEFT_CHECKED weft_status weft_fit_make(const weft_measured *m, const char *on,
                                       const weft_fit_options *o, weft_arena *a, weft_fit *out);
/* Of all-reduces, fit_links.c: weft_fit_links instead. */
bool weft_fit_is_of_links(const weft_measured *m);
WEFT_CHECKED weft_status weft_fit_links(const weft_measured *m, const char *on, weft_arena *a,
                                        weft_fit *out);
/* The platform `on` with the constants of the fit and the key `calibrated`, as a YAML file. */
WEFT_CHECKED weft_status weft_fit_platform(const weft_fit *f, const char *on, weft_arena *a,
                                           const char **out);
void weft_fit_text(const weft_fit *f, FILE *to);
weft_doc *weft_fit_doc(const weft_fit *f, weft_arena *a);

#endif
