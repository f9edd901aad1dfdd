/* SPDX-License-Identifier: MIT */
/* Solvers that callers of the library add. */
#ifndef WEFT_PLACE_REGISTRY_H
#define WEFT_PLACE_REGISTRY_H

#include "place.h"

enum { WEFT_MOST_ADDED = 16 };

/* One more for the whole process, which is to stay; its name must be new. Not by two threads at
 * once. */
void weft_place_add(const weft_solver *s);

#endif
