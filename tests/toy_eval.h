/* SPDX-License-Identifier: MIT */
/* A small workload for tests of searches: random operators with plain times, written apart from the
 * evaluation, that keeps the promises of a weft_timer; and random templates. */
#ifndef WEFT_TOY_EVAL_H
#define WEFT_TOY_EVAL_H

#include <stdatomic.h>

#include "mine.h"

enum { TOY_OPERATORS = 12 };

typedef struct toy_eval {
    const weft_template *template_;
    int n;
    bool is_tensor[TOY_OPERATORS];
    double m[TOY_OPERATORS], k[TOY_OPERATORS], c[TOY_OPERATORS]; /* a product; elements: m */
    double bytes[TOY_OPERATORS];
    bool before[TOY_OPERATORS][TOY_OPERATORS]; /* before[u][v]: v waits for u; u < v */
    double rough; /* steps are up to this part longer, differently for each design */
    uint64_t seed;
    atomic_llong n_steps; /* how often a step was asked for */
    void (*told)(void);   /* called at each of them; may be NULL */
} toy_eval;

extern const weft_timer toy_timer;

toy_eval *toy_eval_new(const weft_template *t, uint64_t seed, double rough, weft_arena *a);

/* A template with a few sizes of each parameter, drawn; at most `most` of one. */
weft_template *toy_template(uint64_t seed, int most);

/* An objective for one toy, or several; everything lies in `a`. Limits keep about half of the designs.
 */
typedef struct toy_objective {
    weft_template *template_; /* free with weft_template_free */
    weft_objective objective;
    toy_eval *eval[3];
} toy_objective;
toy_objective toy_objective_new(uint64_t seed, int most, int n_workloads, double rough,
                                weft_arena *a);

/* A run without limits. */
weft_run toy_run(int n_threads, int64_t seed, weft_arena *scratch);

#endif
