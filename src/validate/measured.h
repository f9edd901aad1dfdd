/* SPDX-License-Identifier: MIT */
/* Measured rows: what somebody timed on a machine (docs/formats.md), and what the cost models say of
 * the same. */
#ifndef WEFT_MEASURED_H
#define WEFT_MEASURED_H

#include "cost.h"
#include "csv.h"
#include "graph.h"

typedef struct weft_gemm_shape {
    int64_t m, n, k, count;
} weft_gemm_shape;

typedef struct weft_conv_shape {
    int64_t batch, channels, height, width, filters, kernel_h, kernel_w, pad_h, pad_w, stride_h,
        stride_w;
    const char *pass; /* forward, data, weight */
} weft_conv_shape;

typedef struct weft_rnn_shape {
    const char *cell; /* rnn, gru, lstm */
    int64_t hidden, batch, steps;
    bool input; /* the product with the inputs of all steps, as long as the state, belongs to it */
    const char *pass;
} weft_rnn_shape;

typedef struct weft_infer_shape {
    int64_t batch, tokens;
} weft_infer_shape;

/* A step of training that is cut as the row says, in the words of weft train --exactly. */
typedef struct weft_train_shape {
    int64_t batch, tokens, tp, pp, dp, mbs, chunks, zero, sp;
    const char *schedule, *recompute;
} weft_train_shape;

typedef struct weft_sum_shape {
    int64_t ranks, bytes;
} weft_sum_shape;

struct weft_measured_row;

/* What can be measured: a row of the table in measured.c. */
typedef struct weft_measured_kind {
    const char *name, *plural; /* in the column `what`; in reports */
    const weft_option *params;
    size_t size;
    bool has_model, has_type;
} weft_measured_kind;

typedef enum weft_measured_what {
    WEFT_MEASURED_GEMM,
    WEFT_MEASURED_CONV,
    WEFT_MEASURED_RNN,
    WEFT_MEASURED_INFER,
    WEFT_MEASURED_TRAIN,
    WEFT_MEASURED_SUM,
    WEFT_N_MEASURED,
} weft_measured_what;

typedef struct weft_measured_row {
    int line;
    weft_measured_what what;
    const char *label; /* of the column `case`, else the parameters */
    const char *model, *platform, *device, *group, *source, *unit, *params, *constants;
    weft_dtype type;
    bool is_tf32;      /* f32, run as tf32 */
    bool has_software; /* it says which; else the platform does */
    weft_software software;
    const void *shape;
    double published; /* in `unit` */
    double seconds;   /* the same as a time */
} weft_measured_row;

/* A table of them. Lines "# key: value" before the header say more; NULL: not given. */
typedef struct weft_measured {
    const char *file, *summary, *recorded;
    bool has_choices; /* "# regret: group": rows of one group are choices of one problem */
    int n;
    const weft_measured_row *row;
} weft_measured;

const weft_measured_kind *weft_measured_kind_of(weft_measured_what what);

/* Reads a table; everything lives in `a`. `on`: platform of rows that name none, or NULL. Errors
 * name file, line, column, value, and what was expected. */
WEFT_CHECKED weft_status weft_measured_parse(const char *text, size_t n, const char *file,
                                             const char *on, weft_arena *a, weft_measured *out);
/* A shipped set by name, or a file (a '/' or an ending .csv). */
WEFT_CHECKED weft_status weft_measured_open(const char *source, const char *on, weft_arena *a,
                                            weft_measured *out);

/* --- predictions ----------------------------------------------------------------------------- */

/* Platforms that rows have named, each opened once. */
typedef struct weft_platforms weft_platforms;
weft_platforms *weft_platforms_new(weft_arena *a);
void weft_platforms_free(weft_platforms *p); /* closes them; the arena stays */

/* A row that only waits for constants: work of one device, or a sum over many. */
typedef struct weft_ready {
    const weft_measured_row *row;
    const weft_platform *platform;
    const char *platform_name;
    int device;           /* the first of its kind */
    weft_design design;   /* of the device, with the constants of the row */
    weft_work_key key;    /* products, convolutions, recurrent layers */
    weft_work_keys *keys; /* networks, else NULL */
    struct weft_model *network;
} weft_ready;

/* on: a platform that replaces those of the rows, or NULL. */
WEFT_CHECKED weft_status weft_ready_make(const weft_measured *m, int i, const char *on,
                                         weft_platforms *platforms, weft_ready *out);
void weft_ready_free(weft_ready *r, int n);
/* Seconds with the constants of `design`; those of the row itself: &r->design. INFINITY: weft says
 * that it cannot be, for want of memory. */
WEFT_CHECKED weft_status weft_ready_seconds(const weft_ready *r, const weft_design *design,
                                            double *out);
/* A step of training on the platform of the row, as it is. */
WEFT_CHECKED weft_status weft_ready_train_s(const weft_ready *r, double *out);
/* The device's design as a row needs it: its constants, f32 as tf32 or not. */
WEFT_CHECKED weft_status weft_ready_design(const weft_measured *m, const weft_measured_row *row,
                                           const weft_design *from, weft_design *out);

#endif
