/* SPDX-License-Identifier: MIT */
/* robust.c: does the winner survive the errors of the cost model?
 *
 * 1. Each constant with a stated error is put at both ends of it, alone; then all are drawn at
 * once, uniformly within their errors. Parts of a whole (usable bandwidth, derate) end at 1.
 * 2. Each time the workloads are made anew, the best design is searched and proved, and compared
 *    with the winner under the same constants. The winner stays if it has at least 1 - tolerance of
 *    the best.
 * 3. A winner that breaks a limit under changed constants does not stay; it is counted apart, for a
 *    smaller relative of it might have won.
 *
 * Every search tries the winner first, so the best is never below it. */
#include <math.h>

#include "evaluator.h"

typedef struct trial {
    weft_design_point winner;
    double value;
    bool is_over; /* the search ended before its proof */
} trial;

static weft_status search_with_winner(weft_evaluator *s)
{
    trial *t = s->context;
    int64_t index = weft_point_index(s->objective.template_, &t->winner);

    WEFT_TRY(weft_evaluator_try(s, &index, 1, &t->value));
    return weft_search_auto(s);
}

static double clamped(const weft_template *t, weft_constant_id id, double factor)
{
    bool is_part = id == WEFT_HBM_EFFICIENCY || id == WEFT_DERATE;

    return is_part ? fmin(factor, 1 / t->constant[id].value) : factor;
}

/* The best design and the winner's value with these factors. */
static weft_status run_trial(const weft_objective *q, const weft_workload_maker *w,
                             const double *factor, weft_run *run, trial *t, weft_found *found)
{
    weft_template *changed = weft_template_scaled(q->template_, factor);
    weft_arena *a = weft_arena_new();
    weft_objective now = *q;
    weft_status status;

    now.template_ = changed;
    now.forward = NULL;
    now.reference_s = NULL;
    status = w->make(w->context, changed, &now.workload);
    if (status == WEFT_OK) {
        status = weft_evaluator_run(search_with_winner, t, &now, NULL, 0, run, a, found);
        w->drop(w->context, now.workload);
    }
    t->is_over = found->outcome == WEFT_BOUNDED || found->outcome == WEFT_UNKNOWN;
    found->front = NULL; /* in the arena that goes now */
    found->n_front = 0;
    weft_arena_free(a);
    weft_template_free(changed);
    return status;
}

typedef struct inquiry {
    const weft_objective *objective;
    const weft_workload_maker *maker;
    const weft_design_point *winner;
    double tolerance, begin_s;
    weft_run *run;
} inquiry;

/* A run with what is left of the time. */
static weft_run rest_of(const inquiry *q)
{
    weft_run rest = *q->run;

    if (rest.limit_s < INFINITY)
        rest.limit_s = fmax(0, rest.limit_s - (weft_wall_s() - q->begin_s));
    rest.progress = NULL;
    return rest;
}

/* For all processes alike. */
static bool is_late(const inquiry *q)
{
    const weft_ranks *ranks = q->objective->ranks;
    weft_run rest = rest_of(q);
    double late;

    rest.begin_s = weft_wall_s();
    late = weft_run_is_over(&rest);
    if (ranks)
        ranks->tell(ranks->context, &late, 1);
    return late > 0;
}

static bool stays(const trial *t, const weft_found *best, double tolerance)
{
    return t->value > 0 && t->value >= (1 - tolerance) * best->value;
}

static void no_change(double factor[WEFT_N_CONSTANTS])
{
    for (int i = 0; i < WEFT_N_CONSTANTS; i++)
        factor[i] = 1;
}

static weft_status shift_one(const inquiry *q, weft_constant_id id, double side,
                             weft_design_sensitivity *out, weft_shift *shift)
{
    const weft_template *t = q->objective->template_;
    double factor[WEFT_N_CONSTANTS];
    trial now = {.winner = *q->winner};
    weft_run rest = rest_of(q);
    weft_found best;

    no_change(factor);
    factor[id] = clamped(t, id, 1 + side * t->constant[id].error);
    WEFT_TRY(run_trial(q->objective, q->maker, factor, &rest, &now, &best));
    if (now.is_over) /* nothing is proved about it */
        return WEFT_OK;
    *shift = (weft_shift){.constant = id,
                          .factor = factor[id],
                          .winner_value = now.value,
                          .best_value = best.value,
                          .best = best.point,
                          .is_flip = !stays(&now, &best, q->tolerance)};
    out->n_shifts++;
    return WEFT_OK;
}

static weft_status shift_all(const inquiry *q, weft_arena *a, weft_design_sensitivity *out)
{
    const weft_template *t = q->objective->template_;
    weft_shift *list = WEFT_NEW(a, weft_shift, 2 * WEFT_N_CONSTANTS);

    out->shift = list;
    for (int i = 0; i < 2 * WEFT_N_CONSTANTS; i++)
        if (t->constant[i / 2].error > 0 && !is_late(q))
            WEFT_TRY(shift_one(q, (weft_constant_id)(i / 2), i % 2 == 0 ? -1 : 1, out,
                               &list[out->n_shifts]));
    return WEFT_OK;
}

static weft_status draw_one(const inquiry *q, weft_rng *r, weft_design_sensitivity *out)
{
    const weft_template *t = q->objective->template_;
    double factor[WEFT_N_CONSTANTS];
    trial now = {.winner = *q->winner};
    weft_run rest = rest_of(q);
    weft_found best;

    for (int i = 0; i < WEFT_N_CONSTANTS; i++) {
        double side = 2 * weft_rng_real(r) - 1;

        factor[i] = clamped(t, (weft_constant_id)i, 1 + side * t->constant[i].error);
    }
    WEFT_TRY(run_trial(q->objective, q->maker, factor, &rest, &now, &best));
    if (now.is_over)
        return WEFT_OK;
    out->n_draws++;
    out->n_stays += stays(&now, &best, q->tolerance);
    if (!(now.value > 0))
        out->n_breaks++;
    else
        out->worst_loss = fmax(out->worst_loss, 1 - now.value / best.value);
    return WEFT_OK;
}

weft_status weft_objective_sensitivity(const weft_objective *q, const weft_design_point *winner,
                                       const weft_workload_maker *w, int n_draws, double tolerance,
                                       weft_run *run, weft_arena *a, weft_design_sensitivity *out)
{
    inquiry i = {q, w, winner, tolerance, weft_wall_s(), run};
    weft_rng r = weft_rng_seed((uint64_t)run->seed);

    *out = (weft_design_sensitivity){.n_draws = 0};
    WEFT_TRY(shift_all(&i, a, out));
    for (int draw = 0; draw < n_draws && !is_late(&i); draw++) {
        weft_rng own = weft_rng_split(&r, (uint64_t)draw);

        WEFT_TRY(draw_one(&i, &own, out));
    }
    return WEFT_OK;
}
