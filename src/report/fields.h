/* SPDX-License-Identifier: MIT */
/* Shared by the writers of reports: fields of documents, names and numbers for people. */
#ifndef WEFT_REPORT_FIELDS_H
#define WEFT_REPORT_FIELDS_H

#include "weft/report.h"

/* --- documents ------------------------------------------------------------------------------- */

void weft_put_int(weft_arena *a, weft_doc *map, const char *key, int64_t value);
void weft_put_text(weft_arena *a, weft_doc *map, const char *key, const char *value);
/* Null if the value is not finite: unknown, or without limit. */
void weft_put_real(weft_arena *a, weft_doc *map, const char *key, double value);
weft_doc *weft_real_or_null(weft_arena *a, double value);

/* --- plans ----------------------------------------------------------------------------------- */

/* True if there is something to show: the solver found a plan and it was measured. */
bool weft_report_has_plan(const weft_report *r);
/* Share of the time that a device computes: of the makespan, or of the period. */
double weft_utilisation(const weft_problem *p, const weft_measures *m, int device);
/* What tensors are called, [n_tensors]: by the task that makes them ("conv", or "split:1" if it
 * makes several), "input" or "input:1", "weight:1". Belongs to `a`. */
const char *const *weft_tensor_labels(const weft_problem *p, weft_arena *a);

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

#endif
