/* SPDX-License-Identifier: MIT */
/* Timetables of H2H, shared by its steps. */
#ifndef WEFT_H2H_TABLE_H
#define WEFT_H2H_TABLE_H

#include "h2h.h"

/* Layers of a device are a list: first, next, prev; -1 ends it. */
typedef struct weft_h2h_table {
    int *device, *prev, *next, *first, *last;
    double *start_s, *end_s;
    bool *is_pinned;
} weft_h2h_table;

/* What a layer pays for. */
typedef struct weft_h2h_paid {
    bool weights, input, output;
} weft_h2h_paid;

weft_h2h_table weft_h2h_table_new(const weft_h2h *p, weft_arena *a);
void weft_h2h_table_copy(const weft_h2h *p, weft_h2h_table *to, const weft_h2h_table *from);
/* Puts l behind `after` (-1: at the head of the list) of device d; takes it out. */
void weft_h2h_link(weft_h2h_table *t, int l, int d, int after);
void weft_h2h_unlink(weft_h2h_table *t, int l);

double weft_h2h_latency_s(const weft_h2h *p, const weft_h2h_table *t);
double weft_h2h_duration_s(const weft_h2h *p, int l, int d, weft_h2h_paid what);
/* Do two neighbours on a device (-1: none) hand over without the host? */
bool weft_h2h_hands_over(const weft_h2h *p, int from, int to);
/* End of the last predecessor in data; in data and on the device. */
double weft_h2h_data_ready_s(const weft_h2h *p, const weft_h2h_table *t, int l);
double weft_h2h_ready_s(const weft_h2h *p, const weft_h2h_table *t, int l);

/* Step 1: devices, lists and times of all layers; see h2h_map.c. */
void weft_h2h_map(const weft_h2h *p, weft_h2h_table *t, weft_arena *a);
/* Says of more layers that their weights stay. */
void weft_h2h_pin(const weft_h2h *p, weft_h2h_table *t, weft_arena *a);
/* Every layer starts when its predecessors in data and on its device are done, and takes length_s.
 * False, and times unchanged, if these orders form a cycle. */
bool weft_h2h_time_soonest(const weft_h2h *p, weft_h2h_table *t, const double *length_s,
                           weft_arena *a);
/* Weights pinned anew, neighbours that hand over (if asked for), then the same. */
bool weft_h2h_time_repaired(const weft_h2h *p, weft_h2h_table *t, bool has_neighbours,
                            weft_arena *a);

#endif
