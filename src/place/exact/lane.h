/* SPDX-License-Identifier: MIT */
/* The slots of one device in a partial schedule, and the first idle gap that holds a task. */
#ifndef WEFT_LANE_H
#define WEFT_LANE_H

#include "base.h"

/* A subtree is the slots from first_s to last_s. Indices of slots; -1: none. */
typedef struct weft_slot {
    double start_s, end_s;
    double first_s, last_s; /* start of the first and end of the last slot of the subtree */
    double idle_s;          /* the longest gap between two neighbours of the subtree */
    int left, right;
    uint32_t weight; /* no slot below has more */
} weft_slot;

typedef struct weft_lane {
    WEFT_VEC(weft_slot) slot;
    int n;    /* slots that are taken */
    int root; /* if n > 0 */
    int free; /* slots to be used again, linked by `right`; -1: none */
} weft_lane;

weft_lane weft_lane_new(void);
/* Slots do not overlap. Behind equal slots, but an empty slot before a longer one of the same
 * start. */
void weft_lane_put(weft_lane *l, double start_s, double end_s, weft_arena *a);
/* Frees a slot with this start and end, which there must be. */
void weft_lane_take(weft_lane *l, double start_s, double end_s);
/* The least time, not before ready_s, at which the device is idle for length_s. */
double weft_lane_gap(const weft_lane *l, double ready_s, double length_s);
/* When the last slot ends; 0 if there is none. */
double weft_lane_end(const weft_lane *l);

#endif
