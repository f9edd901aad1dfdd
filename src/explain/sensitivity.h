/* SPDX-License-Identifier: MIT */
/* The search for ranges and the drawing of samples, whatever the plan (sensitivity.c). */
#ifndef WEFT_EXPLAIN_SENSITIVITY_H
#define WEFT_EXPLAIN_SENSITIVITY_H

#include "explain.h"

/* What one change of costs does. */
typedef struct weft_trial {
    double regret;  /* of the plan against the best that is found */
    bool is_proved; /* within the tolerance, by a bound */
} weft_trial;

/* The plan of value `value` against the best found and a bound. */
weft_trial weft_trial_of(double value, double best, double bound, double tolerance);

/* Something whose times may be wrong. */
typedef struct weft_suspect {
    const char *name;
    bool is_link;
} weft_suspect;

/* Functions are called from several threads. */
typedef struct weft_doubter {
    int n;
    const weft_suspect *suspect; /* [n] */
    const char *sampled;         /* what samples change: "all times of tasks" */
    /* The times of one suspect, by a factor. */
    weft_status (*try_factor)(const void *context, int suspect, double factor, weft_trial *out);
    /* Everything that samples change, each by a factor of weft_draw_factor. */
    weft_status (*try_sample)(const void *context, weft_rng *r, weft_trial *out);
    const void *context;
} weft_doubter;

/* Entries of a platform file whose times may be wrong: devices with rates, then links, those of
 * groups last. Their number; in `a`. */
int weft_machine_suspects(const weft_doc *machine, weft_arena *a, const weft_suspect **out);
/* The document with times of all suspects multiplied: rates and bandwidths are divided, overheads
 * and latencies multiplied by factor[suspect]. In `a`. */
const weft_doc *weft_machine_scaled(const weft_doc *machine, const double *factor, weft_arena *a);

/* Log-uniform in [1 - error, 1 + error]. */
double weft_draw_factor(weft_rng *r, double error);
/* Names are kept, not copied. */
WEFT_CHECKED weft_status weft_sensitivity_find(const weft_doubter *d,
                                               const weft_sensitivity_options *o, weft_arena *a,
                                               weft_sensitivity *out);

#endif
