/* SPDX-License-Identifier: MIT */
/* A mapping is a device for each task, without times. Its loads decide the period of a stream.
 * They are kept while tasks move: a move costs the tensors it touches, not the network. */
#ifndef WEFT_MAPPING_H
#define WEFT_MAPPING_H

#include "list.h"

typedef struct weft_mapping_undo {
    int index; /* resource, or group */
    int device;
    double load_s;
} weft_mapping_undo;

/* Resources are the devices and, under contend, the directed links behind them. Loads are those of
 * the simulator, up to the rounding of sums. */
typedef struct weft_mapping {
    const weft_domain *domain;
    const weft_problem *problem;
    int n_resources;
    bool is_sending;      /* transfers change loads, or may be impossible */
    const int *member_at; /* [n_groups + 1] */
    const int *member;    /* group -> its tasks, ascending */
    int *device;          /* [n_tasks] */
    int *home;            /* [n_groups] the same by group */
    double *load_s;       /* [n_resources] */
    double *held_bytes;   /* [n_devices] weights, each once a device */
    double over_bytes;    /* sum of what exceeds the capacities, less roundings */
    int n_over;           /* devices whose capacity is exceeded */
    int n_cut;            /* transfers between devices that are not connected */
    int *n_readers;       /* [tensor * n_devices + device] */
    int *n_edges;         /* [from * n_devices + to] forward edges; NULL unless stages are asked */
    int *n_fed;           /* [n_devices] scratch of weft_mapping_is_staged */
    weft_mapping_undo *was; /* loads before the moves that are not kept yet */
    int n_was;
    int *stamp; /* [n_resources] the trial that noted a load last */
    int trial;
    WEFT_VEC(weft_mapping_undo) moved; /* groups and where they were */
    weft_arena *arena;
} weft_mapping;

/* Belongs to `a`. To be filled by weft_mapping_set, or cleared and filled by moves. */
weft_mapping weft_mapping_new(const weft_domain *domain, weft_arena *a);
void weft_mapping_clear(weft_mapping *m); /* all tasks on no device: -1 */
/* Devices of all tasks, [n_tasks]; tasks of a group share one. Loads are summed anew. */
void weft_mapping_set(weft_mapping *m, const int *device);
/* Moves a group; -1: to no device. Trials add up until they are kept or undone. */
void weft_mapping_move(weft_mapping *m, int group, int device);
void weft_mapping_keep(weft_mapping *m);
void weft_mapping_undo_all(weft_mapping *m);
/* True unless pipeline stages are asked for and forward edges between devices form a cycle. */
bool weft_mapping_is_staged(const weft_mapping *m);
/* The largest load. */
double weft_mapping_period(const weft_mapping *m);
/* A price for each resource: sum of price * load. */
double weft_mapping_cost(const weft_mapping *m, const double *price);

/* Is link route[k] of a pair of devices met for the first time? One without duplex is met twice. */
bool weft_route_is_new(const weft_problem *p, int pair, int k);

/* An order for a mapping, as starts of a plan of one way: tasks by the longest way to the end with
 * the times of their devices, each in the first gap that holds it. */
void weft_mapping_order(const weft_domain *m, const int *device, weft_arena *scratch,
                        double *start_s);

#endif
