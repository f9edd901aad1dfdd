/* SPDX-License-Identifier: MIT */
/* Which device sets there are, up to exchanging equal accelerators. */
#ifndef WEFT_SETS_H
#define WEFT_SETS_H

#include "weft/plan.h"

/* Accelerators that can be exchanged for each other: same kind, same links to everybody else. */
typedef struct weft_twins {
    int n_classes;
    int *class_of; /* [n_accelerators] */
    int *n_in;     /* [n_classes] members */
    int **device;  /* [n_classes][n_in] devices, ascending */
    int *kind;     /* [n_classes] classes of the same kind may form a set together */
} weft_twins;

weft_twins weft_twins_find(const weft_sharding *p, weft_arena *a);

/* A kind of set: how many of each class, and the design. Two sets of one kind differ in names
 * only. */
typedef struct weft_set_kind {
    int n;          /* members */
    int design;     /* of the devices' designs */
    uint8_t *count; /* [n_classes] */
    weft_team team; /* the first devices of each class */
    weft_span span; /* between its members */
    weft_span host;
    double memory_bytes; /* of one member */
} weft_set_kind;

/* A configuration: disjoint sets, as numbers of kinds, ascending, equal ones several times. */
typedef struct weft_setup {
    int n_sets;
    int *kind; /* [n_sets] */
} weft_setup;

typedef struct weft_setups {
    const weft_twins *twins;
    int n_kinds;
    weft_set_kind *kind;
    int n;
    weft_setup *setup;
    bool is_complete; /* all configurations are in the list; else it is a selection */
} weft_setups;

/* All configurations while there are at most `most` of them (sets that differ in names only count
 * once); else a selection along the hierarchy of bandwidths (setups.c). With is_distinct, two sets
 * of one kind are as good as one. */
weft_setups *weft_setups_new(const weft_sharding *p, int most, bool is_distinct, weft_arena *a);
/* The devices of each set of a configuration. */
void weft_setup_teams(const weft_sharding *p, const weft_setups *s, int setup, weft_team *out);

#endif
