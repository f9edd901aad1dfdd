/* SPDX-License-Identifier: MIT */
/* A table of measurements beside what the cost models say, and how far they are apart. */
#ifndef WEFT_SCORE_H
#define WEFT_SCORE_H

#include "measured.h"
#include "statistics.h"

typedef struct weft_score {
    const weft_measured *measured;
    const char *name;
    int n;
    const double *published_s, *predicted_s; /* [n] */
    int n_refused; /* rows that weft says cannot be; they are not in what follows */
    weft_errors errors;
    int n_problems; /* with several choices, each a group of rows; 0: the rows are no choices */
    double regret, mean_regret; /* of the problem where it is largest; of all */
} weft_score;

/* The figures that a set is not to fall behind: the line "# recorded: median=.. p90=..", percent. */
typedef struct weft_recorded {
    double median, p90, regret; /* parts, not percent; INFINITY: not given */
    double refused;             /* rows */
} weft_recorded;

/* Predicts all rows. on: as in weft_ready_make. Everything lives in `a`. */
WEFT_CHECKED weft_status weft_score_make(const weft_measured *m, const char *on, weft_arena *a,
                                         weft_score *out);
/* The statistics of rows whose times are known: fills what follows predicted_s. */
void weft_score_sum(weft_score *s, weft_arena *a);
/* All rows of the scores whose sets are of the family of s[i], if that is the first of two or more of
 * it; else false. */
bool weft_score_family(const weft_score *s, int n, int i, weft_arena *a, weft_score *out);
WEFT_CHECKED weft_status weft_recorded_read(const weft_measured *m, weft_recorded *out);
/* NULL, or what is worse than recorded; rounding of the last digit is forgiven. */
const char *weft_score_worse(const weft_score *s, const weft_recorded *r, weft_arena *a);

void weft_score_text(const weft_score *s, FILE *to);
void weft_score_markdown(const weft_score *s, FILE *to);
weft_doc *weft_score_figures_doc(const weft_score *s, weft_arena *a); /* without rows */
weft_doc *weft_score_doc(const weft_score *s, weft_arena *a);
/* One line a set. */
void weft_scores_text(const weft_score *s, int n, FILE *to);
void weft_scores_markdown(const weft_score *s, int n, FILE *to);

#endif
