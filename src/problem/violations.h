/* SPDX-License-Identifier: MIT */
/* What breaks the rules, in words: shared by the checkers of plans. */
#ifndef WEFT_VIOLATIONS_H
#define WEFT_VIOLATIONS_H

#include "problem.h"

typedef struct weft_violations {
    weft_violation *list;
    int n, most; /* found; room in the list */
    weft_arena *a;
    int way; /* of several that is looked at, from 1, for the text; 0: there is only one */
} weft_violations;

/* Counts a violation and lists it while there is room. Names come from files: the text stays one
 * line whatever they hold. */
void weft_violate(weft_violations *v, const char *format, ...) WEFT_PRINTF(2, 3);

#endif
