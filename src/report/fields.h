/* SPDX-License-Identifier: MIT */
/* Shared by the writers of reports: names and numbers for people. */
#ifndef WEFT_REPORT_FIELDS_H
#define WEFT_REPORT_FIELDS_H

#include "report.h"

/* --- plans ----------------------------------------------------------------------------------- */

/* True if there is something to show: the solver found a plan and it was measured. */
bool weft_report_has_plan(const weft_report *r);
/* Of a mix the way whose run was kept, the one that takes longest; else the plan itself. */
weft_plan weft_shown_way(const weft_report *r);
/* Amounts that are sent are bytes; files of tasks count them in units of their own. */
bool weft_report_has_bytes(const weft_report *r);

/* Neighbours in the chain of one kind and place. */
typedef struct weft_chain_step {
    weft_chain_kind kind;
    int first, n; /* links of the chain */
    double seconds;
    int number;
} weft_chain_step;

/* out: [n_chain]; returns how many there are. */
int weft_chain_steps(const weft_measures *m, weft_chain_step *out);
/* "58 tasks on a6000: conv_2 .. conv_126". */
const char *weft_chain_text(const weft_report *r, const weft_chain_step *s, weft_arena *a);

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
const char *weft_whole(weft_arena *a, int64_t number); /* "1,234" */
const char *weft_glued_seconds(weft_arena *a, double seconds);
const char *weft_glued_bytes(weft_arena *a, double bytes);
/* What is sent: bytes, or the units of a file of tasks. */
const char *weft_glued_amount(const weft_report *r, double sent, weft_arena *a);
/* A text with blanks for tabs, in `a`. */
const char *weft_unglued(weft_arena *a, const char *text);
/* Seconds for a column of a table (8 or more): with a power of ten where they would be wider. */
const char *weft_column_seconds(weft_arena *a, double seconds, int columns);
/* A text as it is, tabs as blanks, without regard to a width. */
void weft_put_glued(FILE *to, const char *text);

enum { WEFT_LABEL = 16 }; /* columns before the text of a line with a label */

/* A width that was asked for (0: the usual one) as it is used: 60 columns or more. */
enum { WEFT_USUAL_WIDTH = 80 };
int weft_text_width(int width);
/* Numbers of a text keep their units: "13.2 us" has a tab then. */
const char *weft_glued(weft_arena *a, const char *text);
/* A number with its unit for a column: "s", "B", "J", "W", "mm2", "1/s", "x", "%" (a share), "gap",
 * "count", "units" (of files of tasks); "-" for NAN. */
const char *weft_amount_text(weft_arena *a, double value, const char *unit);

/* A line "  label       text", wrapped. */
void weft_print_field(FILE *to, int width, const char *label, const char *text);

/* --- sharded networks ------------------------------------------------------------------------ */

bool weft_shard_report_has_plan(const weft_shard_report *r);
/* Seconds of all jobs of a step, [step * WEFT_N_PARTS + part] in `a`. */
const double *weft_step_parts(const weft_shard_report *r, weft_arena *a);
/* Steps on each set, [n_sets] in `a`. */
const int *weft_set_sizes(const weft_shard_plan *s, weft_arena *a);
/* Share of the latency that the members of a set compute. */
double weft_set_utilisation(const weft_shard_report *r, int set);

/* --- training -------------------------------------------------------------------------------- */

bool weft_train_report_has_plan(const weft_train_report *r);
/* The stage that a job belongs to: of a way between stages, the one that sends. */
int weft_train_stage_of(const weft_train_report *r, int job);
/* Does a job of this kind send, beside the computation of its stage? */
bool weft_train_is_sent(weft_train_part part);
/* Devices of a stage. */
int weft_stage_devices(const weft_stage *s);
/* Devices of all stages; of all classes. */
int weft_train_plan_devices(const weft_train_plan *plan);
int weft_cluster_devices(const weft_cluster *c);
/* Figures of all chunks of a stage together. */
weft_chunk_figures weft_stage_figures(const weft_train_plan *plan, const weft_train_measures *m,
                                      int stage);
/* The chunk of each unit, [n_units] in `a`. */
const int *weft_unit_chunks(const weft_train_problem *p, const weft_train_plan *plan,
                            weft_arena *a);
/* Forward, backward and what is computed again of a microbatch: the slowest part of the stage. */
double weft_unit_s(const weft_train_problem *p, int unit, const weft_stage *s);
/* Names of the lower bounds as people read them. Returns the one that the bound of the proof is, or
 * -1. */
enum { WEFT_N_BOUNDS = 4 };
typedef struct weft_bound_name {
    const char *name, *key;
    double seconds;
} weft_bound_name;
int weft_train_bounds(const weft_train_solution *s, weft_bound_name out[WEFT_N_BOUNDS]);

/* --- accelerators ---------------------------------------------------------------------------- */

/* "600 mm2 and 280 W", numbers glued to their units; in `a`. */
const char *weft_limits_words(const weft_limits *l, weft_arena *a);

#endif
