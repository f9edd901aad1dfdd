/* SPDX-License-Identifier: MIT */
/* What all searches share: designs are tried once, by all threads and processes, and remembered. */
#ifndef WEFT_MINE_ASSAY_H
#define WEFT_MINE_ASSAY_H

#include "weft/mine.h"

enum { WEFT_ASSAY_BATCH = 64 }; /* designs that are tried together, whatever the threads */

/* Values nearer than this, relatively, are the same: the tolerance of status `optimal`. */
#define WEFT_ASSAY_EXACT 1e-9

typedef struct weft_tried {
    int64_t index;
    double throughput, value;
} weft_tried;

typedef enum weft_gauge {
    WEFT_GAUGE_STEP,
    WEFT_GAUGE_FLOOR,  /* a bound under the policy */
    WEFT_GAUGE_SIMPLE, /* bounds of any schedule */
    WEFT_GAUGE_HEADTAIL,
    WEFT_GAUGE_SERIAL, /* no bound: an estimate */
} weft_gauge;

/* A search under way. Fields are read by searches and changed by the functions below. */
typedef struct weft_assay {
    weft_quest quest; /* with reference_s */
    const weft_ledger *ledger;
    weft_run *run;
    weft_arena *arena; /* scratch of the whole search */
    int64_t most;      /* evaluations; INT64_MAX: no limit */
    double least;      /* throughput */
    WEFT_VEC(weft_tried) tried;
    int *slot; /* hash table of places in tried, -1: free */
    int n_slots;
    int best; /* place in tried of the best design with a value above 0; -1: none */
    int64_t n_feasible, n_bounds, n_strong, n_evaluated, n_recalled;
    double bound, schedule_bound; /* of the metric; INFINITY: not known */
    bool is_front_proved;
    void *context; /* of the search */
} weft_assay;

typedef weft_status weft_search(weft_assay *s);

/* Runs a search from the reference design to the report. */
WEFT_CHECKED weft_status weft_assay_run(weft_search *search, void *context, const weft_quest *q,
                                        const weft_ledger *ledger, int64_t most, weft_run *run,
                                        weft_arena *a, weft_found *out);

/* Values of designs: 0 if one breaks a limit, NAN if the budget was spent before. */
WEFT_CHECKED weft_status weft_assay_try(weft_assay *s, const int64_t *index, int n, double *value);
/* What was tried under this number, or NULL. */
const weft_tried *weft_assay_look(const weft_assay *s, int64_t index);
/* Upper bounds of throughput (by the serial gauge: low estimates): of designs, of boxes (0: no
 * member is within the limits). */
void weft_assay_tops(weft_assay *s, weft_gauge gauge, const int64_t *index, int n, double *top);
void weft_assay_box_tops(weft_assay *s, const weft_space_box *box, int n, double *top);

bool weft_assay_fits(const weft_assay *s, const weft_point *p);
/* The metric of a throughput; 0 below the least one. */
double weft_assay_metric(const weft_assay *s, double throughput, double tdp_w);
/* The same of an upper bound of throughput, which rounding may have put below the least one. */
double weft_assay_metric_top(const weft_assay *s, double throughput, double tdp_w);
double weft_assay_best(const weft_assay *s); /* value; 0: none */
/* True if a design with at most this value cannot improve on the best. */
bool weft_assay_is_beaten(const weft_assay *s, double top);
bool weft_assay_is_spent(const weft_assay *s); /* the budget */
/* The time is over, for all processes alike, or the budget is spent. */
bool weft_assay_is_over(weft_assay *s);
void weft_assay_progress(const weft_assay *s, double bound);
/* The bound of the whole lattice as one box. */
double weft_assay_root_top(weft_assay *s);
/* Numbers of the designs within the limits, ascending. Refuses lattices too large to list. */
WEFT_CHECKED weft_status weft_assay_list(weft_assay *s, int *n, int64_t **index);
/* A design within the limits, drawn; false if none was found in many draws. */
bool weft_assay_draw(const weft_assay *s, weft_rng *r, weft_point *out);

/* The searches. */
weft_search weft_search_fast, weft_search_climb, weft_search_certified, weft_search_exhaustive,
    weft_search_boxes, weft_search_front, weft_search_random, weft_search_anneal,
    weft_search_genetic, weft_search_surrogate, weft_search_auto;

/* Most points of a lattice that is listed; beyond, boxes. */
#define WEFT_ASSAY_LISTED (INT64_C(1) << 24)

#endif
