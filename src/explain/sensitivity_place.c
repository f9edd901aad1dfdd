/* SPDX-License-Identifier: MIT */
/* sensitivity_place.c: placements whose costs are in sensitivity.
 *
 * Suspects are devices (all their times) and links (all transfers that go over them, both ways
 * together). Samples change every time of a task by a factor of its own.
 *
 * The plan keeps devices and order; the simulator says what it is worth then. The problem is solved
 * again with a budget in steps, and with as many steps windows of the plan are searched again
 * (window.c), which finds what is wrong with it sooner. The regret is the value of the plan over
 * that of the best plan found (the plan itself, if nothing better is), less 1. A bound of the
 * solver may show that no plan at all is better by more than the tolerance. */
#include "sensitivity.h"

#include "window.h"

#include <math.h>
#include <string.h>

enum { WINDOW_TASKS = 32, WINDOW_STATES = 20000 };
static const double MOST_SENDS = 1e7; /* numbers that describe the edges of a piece */

/* A device, or the links of a pair of neighbours. */
typedef struct part {
    int device;  /* -1: links */
    int link[2]; /* directed; the second -1: there is one */
} part;

typedef struct placement {
    const weft_problem *p;
    const weft_plan *plan;
    const weft_sensitivity_options *o;
    const part *part;
} placement;

/* --- one change ------------------------------------------------------------------------------ */

static weft_plan copy_plan(const weft_plan *plan, weft_arena *a)
{
    weft_plan copy = weft_plan_new_variants(plan->n_tasks, plan->n_variants, a);
    size_t n = (size_t)plan->n_tasks * (size_t)plan->n_variants;

    memcpy(copy.device, plan->device, n * sizeof *copy.device);
    memcpy(copy.start_s, plan->start_s, n * sizeof *copy.start_s);
    memcpy(copy.share, plan->share, (size_t)plan->n_variants * sizeof *copy.share);
    return copy;
}

/* Windows of the plan, searched again: the value of what comes out; INFINITY: nothing better. It is
 * the quickest way to notice that a plan has become a bad one. */
static double improved(const placement *d, const weft_problem *q, const weft_plan *plan,
                       weft_arena *a)
{
    weft_window_options o = {
        .most_free = WINDOW_TASKS, .most_states = WINDOW_STATES, .most_beam = 64, .patience = 100};
    weft_run run = {
        .seed = d->o->run.seed, .n_threads = 1, .limit_s = INFINITY, .stop = d->o->run.stop};
    double n_sends = (double)q->pred_at[q->n_tasks] * q->n_devices * q->n_devices;
    int64_t steps = d->o->run.steps;
    weft_plan other;
    weft_domain m;
    weft_measures measures;

    if (!weft_is_schedule(q) || plan->n_variants > 1 || q->n_devices > WEFT_SUBPROBLEM_DEVICES ||
        n_sends > MOST_SENDS)
        return INFINITY;
    m = weft_domain_new(q, a);
    other = copy_plan(plan, a);
    run.scratch = a;
    run.begin_s = weft_wall_s();
    weft_windows(weft_subproblem_thin(weft_subproblem_of(&m, a), a), other.device, other.start_s,
                 &o, &run, &steps);
    if (weft_evaluate(q, &other, a, &measures) != WEFT_OK || measures.over_device >= 0)
        return INFINITY;
    return weft_goal_value(q, &measures);
}

/* The plan, and what windows make of it, against the bound of the solver. */
static weft_status cross_check(const placement *d, const weft_proof *proof, double value,
                               double better)
{
    const weft_claim all[3] = {weft_claim_of(d->o->solver->name, proof),
                               weft_claim_plan("the plan that is explained", value, 0),
                               weft_claim_plan("windows of that plan", better, 0)};

    return weft_cross_check(&(weft_contest){.n = 3, .claim = all});
}

/* The plan against the best that is found for costs q. */
static weft_status try_costs(const placement *d, const weft_problem *q, weft_arena *a,
                             weft_trial *out)
{
    weft_run run = {.seed = d->o->run.seed,
                    .n_threads = 1,
                    .limit_s = INFINITY,
                    .steps = d->o->run.steps,
                    .stop = d->o->run.stop};
    weft_plan plan = copy_plan(d->plan, a);
    weft_measures m;
    weft_solution s;
    weft_proof bound;
    double value, best, better = INFINITY;
    weft_status status;

    WEFT_TRY(weft_evaluate(q, &plan, a, &m));
    value = best = weft_goal_value(q, &m);
    weft_place_bound(q, a, &bound);
    run.scratch = weft_arena_new();
    status = weft_solve(d->o->solver, q, NULL, &run, &bound, a, &s);
    weft_arena_free(run.scratch);
    WEFT_TRY(status);
    if (weft_has_plan(&s.proof))
        best = fmin(best, s.proof.value);
    if (best > s.proof.bound * (1 + 1e-9))
        better = improved(d, q, &plan, a);
    WEFT_TRY(cross_check(d, &s.proof, value, better));
    best = fmin(best, better);
    *out = weft_trial_of(value, best, s.proof.bound, d->o->tolerance);
    return WEFT_OK;
}

/* Costs without limits of latency and period, which are not what is asked about. */
static weft_problem bare(const weft_problem *p)
{
    weft_problem q = *p;

    q.constraints.most_latency_s = q.constraints.most_period_s = 0;
    return q;
}

static void scale_device(weft_problem *q, int device, double factor, weft_arena *a)
{
    size_t n = (size_t)q->n_tasks * (size_t)q->n_devices;
    double *seconds = weft_arena_copy(a, q->seconds, n * sizeof *seconds);

    for (int u = 0; u < q->n_tasks; u++)
        seconds[u * q->n_devices + device] *= factor;
    q->seconds = seconds;
}

static bool is_on_route(const weft_problem *p, int pair, const int link[2])
{
    for (int i = p->route_at[pair]; i < p->route_at[pair + 1]; i++)
        if (p->route[i] == link[0] || p->route[i] == link[1])
            return true;
    return false;
}

static void scale_link(weft_problem *q, const int link[2], double factor, weft_arena *a)
{
    int n = q->n_devices * q->n_devices;
    double *latency_s = weft_arena_copy(a, q->latency_s, (size_t)n * sizeof *latency_s);
    double *byte_s = weft_arena_copy(a, q->second_per_byte, (size_t)n * sizeof *byte_s);
    double *curve_factor = WEFT_NEW(a, double, n);

    for (int pair = 0; pair < n; pair++)
        curve_factor[pair] = q->curve_factor ? q->curve_factor[pair] : 1;
    for (int pair = 0; pair < n; pair++)
        if (is_on_route(q, pair, link)) {
            latency_s[pair] *= factor;
            byte_s[pair] *= factor;
            curve_factor[pair] *= factor;
        }
    q->curve_factor = curve_factor;
    q->latency_s = latency_s;
    q->second_per_byte = byte_s;
}

static weft_status try_factor(const void *context, int suspect, double factor, weft_trial *out)
{
    const placement *d = context;
    const part *x = &d->part[suspect];
    weft_arena *a = weft_arena_new();
    weft_problem q = bare(d->p);
    weft_status status;

    if (x->device >= 0)
        scale_device(&q, x->device, factor, a);
    else
        scale_link(&q, x->link, factor, a);
    status = try_costs(d, &q, a, out);
    weft_arena_free(a);
    return status;
}

static weft_status try_sample(const void *context, weft_rng *r, weft_trial *out)
{
    const placement *d = context;
    weft_arena *a = weft_arena_new();
    weft_problem q = bare(d->p);
    size_t n = (size_t)q.n_tasks * (size_t)q.n_devices;
    double *seconds = weft_arena_copy(a, q.seconds, n * sizeof *seconds);
    weft_status status;

    for (size_t k = 0; k < n; k++)
        seconds[k] *= weft_draw_factor(r, d->o->error);
    q.seconds = seconds;
    status = try_costs(d, &q, a, out);
    weft_arena_free(a);
    return status;
}

/* --- suspects -------------------------------------------------------------------------------- */

/* The link in the other direction: "b>a" of "a>b"; -1: there is none. */
static int reverse_of(const weft_problem *p, int k)
{
    const char *name = p->link_name[k], *mark = strchr(name, '>');
    size_t n = mark == NULL ? 0 : (size_t)(mark - name), m;

    for (int i = 0; mark != NULL && i < p->n_links; i++) {
        const char *other = p->link_name[i], *at = strchr(other, '>');

        m = at == NULL ? 0 : (size_t)(at - other);
        if (at != NULL && strlen(at + 1) == n && strncmp(at + 1, name, n) == 0 &&
            strlen(mark + 1) == m && strncmp(mark + 1, other, m) == 0)
            return i;
    }
    return -1;
}

/* Fills d->suspect; what they are in the problem is returned, in `a`. */
static const part *list_suspects(const weft_problem *p, weft_arena *a, weft_doubter *d)
{
    int most = p->n_devices + p->n_links + 1;
    weft_suspect *suspect = WEFT_NEW(a, weft_suspect, most);
    part *list = WEFT_NEW(a, part, most);

    d->suspect = suspect;
    for (int i = 0; i < p->n_devices; i++) {
        suspect[d->n] = (weft_suspect){p->device_name[i], false};
        list[d->n++] = (part){
            i, {-1, -1}
        };
    }
    for (int k = 0; k < p->n_links; k++) {
        int back = reverse_of(p, k);
        const char *name = p->link_name[k], *mark = strchr(name, '>');

        if (back >= 0 && back < k)
            continue;
        if (mark != NULL)
            name = weft_arena_print(a, "%.*s - %s", (int)(mark - name), name, mark + 1);
        suspect[d->n] = (weft_suspect){name, true};
        list[d->n++] = (part){
            -1, {k, back}
        };
    }
    return list;
}

weft_status weft_place_sensitivity(const weft_problem *p, const weft_plan *plan,
                                   const weft_sensitivity_options *o, weft_arena *a,
                                   weft_sensitivity *out)
{
    weft_doubter d = {
        .sampled = "all times of tasks", .try_factor = try_factor, .try_sample = try_sample};
    placement x = {p, plan, o, list_suspects(p, a, &d)};

    d.context = &x;
    return weft_sensitivity_find(&d, o, a, out);
}
