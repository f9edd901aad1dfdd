/* SPDX-License-Identifier: MIT */
/* The two levels of the genetic algorithm `ga`: sets, designs and stretches of steps (genetic.c),
 * and the splits of one stretch (genetic_splits.c). */
#ifndef WEFT_BASE_GA_H
#define WEFT_BASE_GA_H

#include "baseline.h"

/* Splits of the steps of one stretch on one set, as found. */
typedef struct weft_ga_splits {
    double value_s;
    const int *choice; /* [last - first] */
} weft_ga_splits;

typedef struct weft_ga {
    weft_baseline *base;
    weft_candidates candidates;
    weft_baseline_sets sets;  /* all candidates, with the designs of the genome looked at */
    weft_draft draft;         /* set_of is known for all steps before the stretch */
    int *type_of;             /* [candidates] the first with as many equal members and links */
    weft_baseline_memo index; /* of stretches: place in `found` */
    WEFT_VEC(weft_ga_splits) found;
    int64_t n_evaluations; /* of splits of a stretch: steps of the search */
} weft_ga;

/* What a step that a design cannot run adds, and weights and tensors that need twice the memory: so
 * much that a plan without them is always better. */
#define WEFT_GA_PENALTY_S 1e6

bool weft_ga_is_over(const weft_ga *g);
/* Good splits for steps first .. last - 1 on a set; remembered. Belongs to the base's arena. */
weft_ga_splits weft_ga_stretch(weft_ga *g, int set, int first, int last);

#endif
