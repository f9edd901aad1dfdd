/* SPDX-License-Identifier: MIT */
/* Two plans side by side: what the files of the comparison share (diff*.c, side_*.c). */
#ifndef WEFT_REPORT_DIFF_H
#define WEFT_REPORT_DIFF_H

#include "document.h"

#define WEFT_SAME 1e-9 /* relative difference that is none */

/* Names of two lists, matched: first those of A in order, then those of B only. */
typedef struct weft_match {
    int n;
    const char **name;
    int *of[2]; /* [n] number in A, in B; -1: not there */
    int *at[2]; /* number in A, in B -> number in this list */
} weft_match;

/* Of two lists of structs of this size that begin with a name. */
weft_match weft_match_names(const void *const list[2], const int n[2], size_t size, weft_arena *a);

/* Adds a line if the two differ; NULL: there is none. */
void weft_diff_setting(weft_diff *d, const char *name, const char *x, const char *y);
/* Settings of the platforms (diff_platform.c). */
void weft_diff_platforms(weft_diff *d);

/* --- sides (diff_side.c) -------------------------------------------------------------------------- */

/* Options of the model, solver and seed: what all plans have. */
void weft_side_origin(weft_side *s);
/* Settings and decisions in words, a number, and whether something is so. */
void weft_side_setting(weft_side *s, const char *name, const char *text);
void weft_side_number_of(weft_side *s, const char *name, double x, const char *unit);
void weft_side_count(weft_side *s, const char *name, int64_t n, const char *none);
void weft_side_yes(weft_side *s, const char *name, bool is_so);
void weft_side_decision(weft_side *s, const char *name, const char *text);
void weft_side_figures(weft_side *s, const weft_side_number *figure, int n);
void weft_side_add_place(weft_side *s, const char *name, const double *value);
/* The chain of a run that ends with its last job, as seconds of each of n parts, whose names are
 * those of the list: part_of[job]. What is left of the time until then is waiting. */
void weft_side_chain(weft_side *s, const weft_jobs *jobs, const weft_timeline *run,
                     const weft_side_number *part, int n, const int *part_of);
/* An item whose neighbour is the one before it. */
void weft_side_add_item(weft_side *s, weft_side_item item);

#endif
