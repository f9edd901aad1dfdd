/* SPDX-License-Identifier: MIT */
/* Shared by the writers of reports: names and numbers for people. */
#ifndef WEFT_REPORT_FIELDS_H
#define WEFT_REPORT_FIELDS_H

#include "weft/report.h"

/* --- plans ----------------------------------------------------------------------------------- */

/* True if there is something to show: the solver found a plan and it was measured. */
bool weft_report_has_plan(const weft_report *r);

/* --- text ------------------------------------------------------------------------------------ */

enum { WEFT_SHORT_COLUMNS = 39, WEFT_SHORT_BYTES = 4 * WEFT_SHORT_COLUMNS + 1 };

/* Columns of a UTF-8 text on a terminal. */
int weft_columns(const char *text);
/* At most `columns` columns of a name (2 to WEFT_SHORT_COLUMNS), ".." for what is left out in the
 * middle; control characters become '?'. Returns `to`. */
const char *weft_shorten(const char *name, int columns, char to[WEFT_SHORT_BYTES]);
/* Blanks up to a column of its own. */
void weft_print_padded(FILE *to, const char *name, int columns);
/* Words and a new line; what does not fit continues `indent` columns from the left, where the text
 * also begins. A tab is a blank that no line ends at. */
void weft_print_wrapped(FILE *to, int indent, int width, const char *text);
/* "1.23 ms", "12,346 s". Returns `to`. */
const char *weft_print_seconds(double seconds, char to[48]);

/* Numbers that keep their unit: a tab between them, which weft_print_wrapped makes a blank. */
const char *weft_glued_seconds(weft_arena *a, double seconds);
const char *weft_glued_bytes(weft_arena *a, double bytes);
/* A text as it is, tabs as blanks, without regard to a width. */
void weft_put_glued(FILE *to, const char *text);

enum { WEFT_LABEL = 16 }; /* columns before the text of a line with a label */

/* A line "  label       text", wrapped. */
void weft_print_field(FILE *to, int width, const char *label, const char *text);

/* --- sharded networks ------------------------------------------------------------------------ */

bool weft_shard_report_has_plan(const weft_shard_report *r);
/* Seconds of all jobs of a step, [step * WEFT_N_PARTS + part] in `a`. */
const double *weft_step_parts(const weft_shard_report *r, weft_arena *a);
/* Steps on each set, [n_sets] in `a`. */
const int *weft_set_sizes(const weft_shards *s, weft_arena *a);
/* Share of the latency that the members of a set compute. */
double weft_set_utilisation(const weft_shard_report *r, int set);

/* --- training -------------------------------------------------------------------------------- */

bool weft_train_report_has_plan(const weft_train_report *r);
/* The stage that a job belongs to: of a way between stages, the one that sends. */
int weft_train_stage_of(const weft_train_report *r, int job);
/* Devices of a stage. */
int weft_stage_devices(const weft_stage *s);
/* Names of the lower bounds as people read them. Returns the one that the bound of the proof is, or
 * -1. */
enum { WEFT_N_FLOORS = 4 };
typedef struct weft_floor_name {
    const char *name, *key;
    double seconds;
} weft_floor_name;
int weft_train_floors(const weft_train_solution *s, weft_floor_name out[WEFT_N_FLOORS]);

/* --- accelerators ---------------------------------------------------------------------------- */

/* "600 mm2 and 280 W", numbers glued to their units; in `a`. */
const char *weft_limits_words(const weft_limits *l, weft_arena *a);

#endif
