/* SPDX-License-Identifier: MIT */
/* The search over configurations, and what it is made of. */
#ifndef WEFT_SEARCH_H
#define WEFT_SEARCH_H

#include "memory_limit.h"
#include "shard.h"

typedef struct weft_search {
    const weft_shard_problem *p;
    weft_run *run;
    weft_tables *tables;
    const weft_configurations *configs;
    const int *order;    /* of elimination */
    bool is_memory_free; /* all weights fit on every accelerator: memory never binds */
    double spare_bytes;  /* kept free for activations */
    double value;        /* of the best plan */
    weft_shard_plan plan;
    double bound;      /* no plan is below; what is certain so far */
    double everywhere; /* bound for what is not in the list; INFINITY: all is */
    double all_bound;  /* of weft_search_bound_to_go; 0: not asked yet */
    int64_t n_solved;  /* configurations whose best splits were found */
    double *least_s;   /* least own seconds, [class * n_kinds + kind]; NULL: not made yet */
    weft_arena *a;     /* for plans and lists */
} weft_search;

/* A search without a plan; *s is zero before. */
void weft_search_start(weft_search *s, const weft_shard_problem *p, weft_run *run);
/* Tables, configurations and order of elimination. */
void weft_search_begin(weft_search *s);
/* Simulates a plan and keeps it if it is legal and better than the one that is kept. */
weft_status weft_search_consider(weft_search *s, const weft_shard_plan *plan);
/* The plans of quick baselines. */
weft_status weft_search_quick(weft_search *s, const weft_shard_options *o);
/* One step after the other. Fills value, plan and bound. */
weft_status weft_search_run(weft_search *s);

/* Lower bounds for a configuration: the sum of least seconds; and with the least seconds of
 * handovers between sets. */
double weft_configuration_bound(weft_search *s, int config);
double weft_configuration_bound_sets(weft_search *s, int config, weft_arena *a);
/* A lower bound for all configurations at once, listed or not (bound_to_go.c). */
double weft_search_bound_to_go(weft_search *s, weft_arena *scratch);
/* The same for steps side by side. */
double weft_search_bound_to_go_side(weft_search *s, weft_arena *scratch);

extern const weft_shard_solver weft_shard_auto;

#endif
