/* SPDX-License-Identifier: MIT */
/* What all searches share: designs are tried once, by all threads and processes, and remembered. */
#ifndef WEFT_MINE_EVALUATOR_H
#define WEFT_MINE_EVALUATOR_H

#include "mine.h"

enum { WEFT_EVALUATOR_BATCH = 64 }; /* designs that are tried together, whatever the threads */

/* Values nearer than this, relatively, are the same: the tolerance of status `optimal`. */
#define WEFT_EVALUATOR_EXACT 1e-9

typedef struct weft_tried {
    int64_t index;
    double throughput, value;
} weft_tried;

/* A search under way. Fields are read by searches and changed by the functions below. */
typedef struct weft_evaluator {
    weft_objective objective; /* with reference_s */
    const weft_eval_cache *eval_cache;
    weft_run *run;
    weft_arena *arena; /* scratch of the whole search */
    int64_t most;      /* evaluations; INT64_MAX: no limit */
    double least;      /* throughput */
    WEFT_VEC(weft_tried) tried;
    weft_map *known; /* index -> place in tried */
    int best;        /* place in tried of the best design with a value above 0; -1: none */
    int64_t n_feasible, n_bounds, n_strong, n_evaluated, n_recalled;
    double bound, schedule_bound; /* of the metric; INFINITY: not known */
    bool is_front_proved;
    void *context; /* of the search */
} weft_evaluator;

typedef weft_status weft_search(weft_evaluator *s);

/* Runs a search from the reference design to the report. */
WEFT_CHECKED weft_status weft_evaluator_run(weft_search *search, void *context,
                                            const weft_objective *q,
                                            const weft_eval_cache *eval_cache, int64_t most,
                                            weft_run *run, weft_arena *a, weft_found *out);

/* Values of designs: 0 if one breaks a limit, NAN if the budget was spent before. */
WEFT_CHECKED weft_status weft_evaluator_try(weft_evaluator *s, const int64_t *index, int n,
                                            double *value);
/* What was tried under this number, or NULL. */
const weft_tried *weft_evaluator_look(const weft_evaluator *s, int64_t index);
/* Upper bounds of throughput (by the serial gauge: low estimates): of designs, of boxes (0: no
 * member is within the limits). */
void weft_evaluator_tops(weft_evaluator *s, weft_gauge gauge, const int64_t *index, int n,
                         double *top);
void weft_evaluator_box_tops(weft_evaluator *s, const weft_space_box *box, int n, double *top);

static inline bool weft_evaluator_fits(const weft_evaluator *s, const weft_design_point *p)
{
    return weft_point_fits(s->objective.template_, p, &s->objective.limits);
}
/* A design with what it is worth. */
weft_mined weft_evaluator_mined(const weft_evaluator *s, int64_t index, double throughput);
/* The metric of a throughput; 0 below the least one. */
double weft_evaluator_metric(const weft_evaluator *s, double throughput, double tdp_w);
/* The same of an upper bound of throughput, which rounding may have put below the least one. */
double weft_evaluator_metric_top(const weft_evaluator *s, double throughput, double tdp_w);
double weft_evaluator_best(const weft_evaluator *s); /* value; 0: none */
/* True if a design with at most this value cannot improve on the best. */
bool weft_evaluator_is_beaten(const weft_evaluator *s, double top);
/* The time is over, for all processes alike, or the budget is spent. */
bool weft_evaluator_is_over(weft_evaluator *s);
void weft_evaluator_progress(const weft_evaluator *s, double bound);
/* The bound of the whole lattice as one box. */
double weft_evaluator_root_top(weft_evaluator *s);
/* Numbers of the designs within the limits, ascending. Refuses lattices too large to list. */
WEFT_CHECKED weft_status weft_evaluator_list(weft_evaluator *s, int *n, int64_t **index);
/* A design within the limits, drawn; false if none was found in many draws. */
bool weft_evaluator_draw(const weft_evaluator *s, weft_rng *r, weft_design_point *out);

/* The searches. */
weft_search weft_search_fast, weft_search_climb, weft_search_certified, weft_search_exhaustive,
    weft_search_boxes, weft_search_front, weft_search_random, weft_search_anneal,
    weft_search_genetic, weft_search_surrogate, weft_search_auto;

/* Most points of a lattice that is listed; beyond, boxes. */
#define WEFT_EVALUATOR_LISTED (INT64_C(1) << 24)

#endif
