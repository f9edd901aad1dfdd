/* SPDX-License-Identifier: MIT */
/* pipe_variants.c: the search over all variants of a problem (levels of ZeRO), each a problem of its
 * own with the same devices.
 *
 * 1. Every variant gets the bound that needs no search (train_bound.c).
 * 2. A first look at each, in the order of these bounds: the first plans only. Every search knows the
 *    best plan of those before it and looks for better ones only.
 * 3. Rounds: variants whose bound lies below the best plan are searched again, in the order of their
 *    bounds, each with an equal part of the steps and the time that are left, until nothing is open,
 *    the steps or the time are used up, or no search would get more steps than before.
 *
 * Guarantee: no plan of variant v takes less than its bound, so none at all less than the least of
 * the bounds; it is that of the best plan itself (less rounding) if every variant is closed. */
#include <math.h>
#include <stdlib.h>

#include "order.h"
#include "pipe_solve.h"

enum { FIRST_STEPS = 1000000, LEAST_GROWTH = 2 };

typedef struct variant {
    int index;
    double bound_s;
    int64_t steps; /* of its last search */
} variant;

typedef struct chooser {
    const weft_train_problem *p;
    weft_run *run;
    const weft_pipe_effort *effort;
    weft_arena *a;
    int n;
    variant *list;
    int64_t steps; /* left */
    weft_pipe_result best;
} chooser;

static int by_bound(const void *a, const void *b)
{
    const variant *x = a, *y = b;

    return weft_order((double[]){x->bound_s, x->index}, (double[]){y->bound_s, y->index}, 2);
}

static bool is_open(const chooser *c, const variant *v)
{
    return v->bound_s < c->best.value_s * (1 - WEFT_PIPE_ROUNDING);
}

static int n_open(const chooser *c)
{
    int n = 0;

    for (int i = 0; i < c->n; i++)
        n += is_open(c, &c->list[i]);
    return n;
}

/* One of `left` searches that share steps and time; at most so many steps. */
static void search(chooser *c, variant *v, bool is_first, int64_t most_steps, int left)
{
    weft_run run = *c->run;
    double left_s = weft_run_left_s(c->run);
    weft_pipe_effort effort = *c->effort;
    weft_pipe_result r;

    effort.is_first = is_first;
    effort.steps = most_steps;
    effort.below_s = c->best.value_s;
    run.limit_s -= left_s < INFINITY ? left_s - left_s / left : 0;
    weft_pipe_search(c->p->variant[v->index], &run, &effort, c->a, &r);
    c->steps -= r.n_steps;
    v->steps = most_steps;
    v->bound_s = fmax(v->bound_s, r.bound_s);
    c->best.n_stages_tried += r.n_stages_tried;
    c->best.n_plans_tried += r.n_plans_tried;
    if (r.value_s < c->best.value_s) {
        c->best.value_s = r.value_s;
        c->best.plan = r.plan;
        c->best.plan.variant = v->index;
    }
}

static void look_first(chooser *c)
{
    int64_t share = c->steps / (2 * c->n);

    share = share < FIRST_STEPS ? share : FIRST_STEPS;
    qsort(c->list, (size_t)c->n, sizeof *c->list, by_bound);
    for (int i = 0; i < c->n; i++)
        if (is_open(c, &c->list[i]))
            search(c, &c->list[i], true, share + 1, c->n - i + 1);
}

/* All open variants once more; false: none got more steps than before. */
static bool run_round(chooser *c)
{
    bool is_moving = false;

    qsort(c->list, (size_t)c->n, sizeof *c->list, by_bound);
    for (int i = 0; i < c->n && !weft_run_is_over(c->run); i++) {
        variant *v = &c->list[i];
        int left = n_open(c);

        if (!is_open(c, v) || c->steps / left < LEAST_GROWTH * v->steps)
            continue;
        search(c, v, false, c->steps / left, left);
        is_moving = true;
    }
    return is_moving;
}

static void find_floors(chooser *c)
{
    for (int i = 0; i < c->n; i++) {
        weft_train_bound_parts parts;
        weft_proof floor;

        weft_train_bound(c->p->variant[i], c->a, &floor, &parts);
        c->list[i] = (variant){.index = i, .bound_s = floor.bound};
    }
}

void weft_pipe_search_all(const weft_train_problem *p, weft_run *run,
                          const weft_pipe_effort *effort, weft_arena *a, weft_pipe_result *out)
{
    chooser c = {.p = p,
                 .run = run,
                 .effort = effort,
                 .a = a,
                 .n = p->n_variants,
                 .list = WEFT_NEW(a, variant, p->n_variants + 1),
                 .steps = effort->steps > 0 ? effort->steps : weft_pipe_default_steps(run),
                 .best = {.value_s = INFINITY}};

    if (p->n_variants == 0) {
        weft_pipe_search(p, run, effort, a, out);
        return;
    }
    find_floors(&c);
    look_first(&c);
    while (!effort->is_first && run_round(&c))
        continue;
    *out = c.best;
    out->bound_s = c.best.value_s;
    if (c.best.value_s < INFINITY)
        out->bound_s *= 1 - WEFT_PIPE_ROUNDING;
    for (int i = 0; i < c.n; i++)
        out->bound_s = fmin(out->bound_s, c.list[i].bound_s);
}
