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

#endif
