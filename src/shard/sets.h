/* SPDX-License-Identifier: MIT */
/* Which device sets there are, up to exchanging equal accelerators. */
#ifndef WEFT_SETS_H
#define WEFT_SETS_H

#include "problem.h"

/* Accelerators that can be exchanged for each other: same kind, same links to everybody else. */
typedef struct weft_repeats {
    int n_classes;
    int *class_of; /* [n_accelerators] */
    int *n_in;     /* [n_classes] members */
    int **device;  /* [n_classes][n_in] devices, ascending */
    int *kind;     /* [n_classes] classes of the same kind may form a set together */
} weft_repeats;

weft_repeats weft_repeats_find(const weft_shard_problem *p, weft_arena *a);
/* Members that a set of accelerators of the kind of class c may have; 0: c is not the first of it. */
int weft_repeats_most(const weft_repeats *t, int c);

/* A kind of set: how many of each class, and the design. Two sets of one kind differ in names
 * only. */
typedef struct weft_set_kind {
    int n;                      /* members */
    int design;                 /* of the devices' designs */
    uint8_t *count;             /* [n_classes] */
    weft_device_set device_set; /* the first devices of each class */
    weft_link_cost link;        /* between its members */
    weft_link_cost host;
    double memory_bytes; /* of one member */
} weft_set_kind;

/* A configuration: disjoint sets, as numbers of kinds, ascending, equal ones several times. */
typedef struct weft_configuration {
    int n_sets;
    int *kind; /* [n_sets] */
} weft_configuration;

typedef struct weft_configurations {
    const weft_repeats *equals;
    int n_kinds;
    weft_set_kind *kind;
    int n;
    weft_configuration *config;
    bool is_complete; /* all configurations are in the list; else it is a selection */
} weft_configurations;

/* All configurations while there are at most `most` of them (sets that differ in names only count
 * once); else a selection along the hierarchy of bandwidths (configurations.c). With is_distinct,
 * two sets of one kind are as good as one. */
weft_configurations *weft_configurations_new(const weft_shard_problem *p, int most,
                                             bool is_distinct, weft_arena *a);
/* The devices of each set of a configuration. */
void weft_configuration_device_sets(const weft_shard_problem *p, const weft_configurations *s,
                                    int config, weft_device_set *out);

#endif
