/* SPDX-License-Identifier: MIT */
/* Two plans side by side: what the files of the comparison share (diff_*.c). */
#ifndef WEFT_EXPLAIN_DIFF_H
#define WEFT_EXPLAIN_DIFF_H

#include "weft/explain.h"

#define WEFT_SAME 1e-9 /* relative difference that is none */

/* A comparison that grows. */
typedef struct weft_differ {
    weft_arena *a;
    const weft_side *side;
    weft_diff *out;
    WEFT_VEC(weft_diff_row) settings;
    WEFT_VEC(weft_diff_row) decisions;
    WEFT_VEC(weft_diff_figure) figures;
    WEFT_VEC(weft_diff_figure) links;
    WEFT_VEC(weft_diff_figure) parts;
    WEFT_VEC(weft_diff_place) places;
} weft_differ;

/* Names of two lists, matched: first those of A in order, then those of B only. */
typedef struct weft_match {
    int n;
    const char **name;
    int *of[2]; /* [n] number in A, in B; -1: not there */
    int *at[2]; /* number in A, in B -> number in this list */
} weft_match;

weft_match weft_match_names(const char *const *a_name, int a_n, const char *const *b_name, int b_n,
                            weft_arena *a);

/* Adds a line if the two differ; NULL: there is none. */
void weft_differ_setting(weft_differ *d, const char *name, const char *a, const char *b);
void weft_differ_decision(weft_differ *d, const char *name, const char *a, const char *b);
void weft_differ_figure(weft_differ *d, weft_diff_figure f);
/* Settings of the platforms (diff_platform.c). */
void weft_differ_platforms(weft_differ *d);

/* A place of which nothing is known. */
weft_diff_place weft_diff_nowhere(const char *name);

/* Sets value, bound, claim and so on; proof, kind and is_comparable are there. */
void weft_differ_values(weft_differ *d);

/* Makes stretches of moves that have the same number in `group` (each a number of a move), and
 * sorts both. order[i]: where move i was put. */
void weft_differ_moves(weft_differ *d, weft_diff_move *move, int n, const int *group, int *order);
/* The same for moves in a row: neighbours by `number` with the same places. */
void weft_differ_rows(weft_differ *d, weft_diff_move *move, int n, const int *number);

/* Names of what one side has only. */
void weft_differ_only(weft_differ *d, const weft_match *m);

/* The chain that ends with the last job, as seconds of each of n parts; what is left of the time
 * until then is waiting. part NULL: by kind of job. */
double weft_chain_parts(const weft_jobs *j, const weft_timeline *t, const int *part, int n,
                        double *part_s);

void weft_differ_place(weft_differ *d); /* placed networks (diff_place.c) */
void weft_differ_shard(weft_differ *d); /* sharded networks (diff_shard.c) */
void weft_differ_train(weft_differ *d); /* training (diff_train.c) */
void weft_differ_mine(weft_differ *d);  /* accelerators (diff_mine.c) */

#endif
