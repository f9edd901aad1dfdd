/* SPDX-License-Identifier: MIT */
/* doubt.c: is a plan still good if costs are not what they were taken for?
 *
 * 1. Costs are changed: the times of one device, or of all transfers over one link, by a factor;
 *    or all times of tasks, each by its own.
 * 2. The plan keeps devices and order; the simulator says what it is worth then. The problem is
 *    solved again with a budget in steps, and with as many steps windows of the plan are searched
 *    again (window.c), which finds what is wrong with it sooner. The regret is the value of the
 * plan over that of the best plan found (the plan itself, if nothing better is), less 1. A bound of
 * the solver may show that no plan at all is better by more than the tolerance.
 * 3. Ranges: GRID points on either side of 1, outward, up to the first where the regret is too
 *    large; then BISECTIONS between this one and the last good one. What lies between points that
 *    were tried is not known.
 * 4. Samples: factors log-uniform in [1 - error, 1 + error].
 *
 * Sides of ranges and samples do not depend on each other and may run side by side, each sample
 * with random numbers of its own. */
#include "weft/explain.h"

#include "window.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum { GRID = 8, BISECTIONS = 3 };
enum { WINDOW_TASKS = 32, WINDOW_STATES = 20000 };
static const double MOST_SENDS = 1e7; /* numbers that describe the edges of a piece */

/* What one change of costs does. */
typedef struct trial {
    double regret;
    bool is_proved; /* within the tolerance, by a bound */
} trial;

/* A device, or the links of a pair of neighbours. */
typedef struct part {
    const char *name;
    int device;  /* -1: links */
    int link[2]; /* directed; the second -1: there is one */
} part;

typedef struct side {
    double end; /* the furthest good factor; NAN: not even 1 */
    bool is_proved;
} side;

typedef struct doubter {
    const weft_problem *p;
    const weft_plan *plan;
    const weft_doubt_options *o;
    int n_parts;
    const part *part;
    side *side;    /* [2 * n_parts] */
    trial *sample; /* [n_samples] */
    weft_rng *rng; /* [n_samples] */
    weft_status *status;
    char (*message)[512];
    int n;
    atomic_int n_done;
} doubter;

/* --- one change ------------------------------------------------------------------------------ */

static weft_plan copy_plan(const weft_plan *plan, weft_arena *a)
{
    weft_plan copy = weft_plan_new_ways(plan->n_tasks, plan->n_ways, a);
    size_t n = (size_t)plan->n_tasks * (size_t)plan->n_ways;

    memcpy(copy.device, plan->device, n * sizeof *copy.device);
    memcpy(copy.start_s, plan->start_s, n * sizeof *copy.start_s);
    memcpy(copy.share, plan->share, (size_t)plan->n_ways * sizeof *copy.share);
    return copy;
}

static bool has_plan(const weft_proof *proof)
{
    return proof->outcome == WEFT_OPTIMAL || proof->outcome == WEFT_BOUNDED;
}

/* Windows of the plan, searched again: the value of what comes out; INFINITY: nothing better. It is
 * the quickest way to notice that a plan has become a bad one. */
static double improved(const doubter *d, const weft_problem *q, const weft_plan *plan,
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

    if (!weft_is_schedule(q) || plan->n_ways > 1 || q->n_devices > WEFT_PIECE_DEVICES ||
        n_sends > MOST_SENDS)
        return INFINITY;
    m = weft_domain_new(q, a);
    other = copy_plan(plan, a);
    run.scratch = a;
    run.begin_s = weft_wall_s();
    weft_windows(weft_piece_thin(weft_piece_of(&m, a), a), other.device, other.start_s, &o, &run,
                 &steps);
    if (weft_evaluate(q, &other, a, &measures) != WEFT_OK || measures.over_device >= 0)
        return INFINITY;
    return weft_goal_value(q, &measures);
}

/* The plan against the best that is found for costs q. */
static weft_status try_costs(const doubter *d, const weft_problem *q, weft_arena *a, trial *out)
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
    double value, best;
    weft_status status;

    WEFT_TRY(weft_evaluate(q, &plan, a, &m));
    value = best = weft_goal_value(q, &m);
    weft_place_bound(q, a, &bound);
    run.scratch = weft_arena_new();
    status = weft_solve(d->o->solver, q, NULL, &run, &bound, a, &s);
    weft_arena_free(run.scratch);
    WEFT_TRY(status);
    if (has_plan(&s.proof))
        best = fmin(best, s.proof.value);
    if (best > s.proof.bound * (1 + 1e-9))
        best = fmin(best, improved(d, q, &plan, a));
    out->regret = best > 0 ? value / best - 1 : 0;
    out->is_proved = value <= (1 + d->o->tolerance) * s.proof.bound * (1 + 1e-12);
    return WEFT_OK;
}

/* Costs without limits of latency and period, which are not what is asked about. */
static weft_problem bare(const weft_problem *p)
{
    weft_problem q = *p;

    q.ask.most_latency_s = q.ask.most_period_s = 0;
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

    for (int pair = 0; pair < n; pair++)
        if (is_on_route(q, pair, link)) {
            latency_s[pair] *= factor;
            byte_s[pair] *= factor;
        }
    q->latency_s = latency_s;
    q->second_per_byte = byte_s;
}

static weft_status try_factor(const doubter *d, const part *x, double factor, trial *out)
{
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

/* --- ranges ---------------------------------------------------------------------------------- */

static bool is_good(const doubter *d, const trial *t)
{
    return t->regret <= d->o->tolerance * (1 + 1e-9);
}

static weft_status find_side(const doubter *d, const part *x, double direction, side *out)
{
    double good = 0, bad = NAN; /* parts of the error */
    trial t;

    *out = (side){.end = NAN, .is_proved = true};
    for (int i = 0; i <= GRID && isnan(bad); i++) {
        double at = (double)i / GRID;

        WEFT_TRY(try_factor(d, x, 1 + direction * at * d->o->error, &t));
        if (!is_good(d, &t)) {
            bad = at;
            break;
        }
        good = at;
        out->is_proved &= t.is_proved;
        out->end = 1 + direction * good * d->o->error;
    }
    if (isnan(bad) || isnan(out->end))
        return WEFT_OK;
    for (int i = 0; i < BISECTIONS; i++) {
        double at = (good + bad) / 2;

        WEFT_TRY(try_factor(d, x, 1 + direction * at * d->o->error, &t));
        if (is_good(d, &t)) {
            good = at;
            out->is_proved &= t.is_proved;
        } else {
            bad = at;
        }
    }
    out->end = 1 + direction * good * d->o->error;
    return WEFT_OK;
}

/* --- samples --------------------------------------------------------------------------------- */

static weft_status draw_sample(const doubter *d, int i, trial *out)
{
    weft_arena *a = weft_arena_new();
    weft_problem q = bare(d->p);
    weft_rng r = d->rng[i];
    size_t n = (size_t)q.n_tasks * (size_t)q.n_devices;
    double *seconds = weft_arena_copy(a, q.seconds, n * sizeof *seconds);
    double least = log(1 - d->o->error), most = log(1 + d->o->error);
    weft_status status;

    for (size_t k = 0; k < n; k++)
        seconds[k] *= exp(least + (most - least) * weft_rng_real(&r));
    q.seconds = seconds;
    status = try_costs(d, &q, a, out);
    weft_arena_free(a);
    return status;
}

static void work(void *context, int i)
{
    doubter *d = context;
    int n_sides = 2 * d->n_parts, n_done;

    d->status[i] = i < n_sides ? find_side(d, &d->part[i / 2], i % 2 == 0 ? -1 : 1, &d->side[i])
                               : draw_sample(d, i - n_sides, &d->sample[i - n_sides]);
    if (d->status[i] != WEFT_OK)
        snprintf(d->message[i], sizeof d->message[i], "%s", weft_message());
    n_done = atomic_fetch_add(&d->n_done, 1) + 1;
    if (d->o->told != NULL)
        d->o->told(d->o->context, n_done, d->n);
}

/* --- all ------------------------------------------------------------------------------------- */

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

static const part *list_parts(const weft_problem *p, weft_arena *a, int *n)
{
    part *list = WEFT_NEW(a, part, p->n_devices + p->n_links + 1);

    *n = 0;
    for (int d = 0; d < p->n_devices; d++)
        list[(*n)++] = (part){
            p->device_name[d], d, {-1, -1}
        };
    for (int k = 0; k < p->n_links; k++) {
        int back = reverse_of(p, k);
        const char *mark = strchr(p->link_name[k], '>');

        if (back >= 0 && back < k)
            continue;
        list[(*n)++] = (part){
            mark == NULL ? p->link_name[k]
                         : weft_arena_print(a, "%.*s - %s", (int)(mark - p->link_name[k]),
                                            p->link_name[k], mark + 1),
            -1,
            {k, back}
        };
    }
    return list;
}

static weft_status first_failure(const doubter *d)
{
    for (int i = 0; i < d->n; i++)
        if (d->status[i] != WEFT_OK)
            return weft_fail(d->status[i], "%s", d->message[i]);
    return WEFT_OK;
}

static void sum_up(const doubter *d, weft_arena *a, weft_doubt *out)
{
    weft_range *range = WEFT_NEW(a, weft_range, d->n_parts + 1);

    for (int i = 0; i < d->n_parts; i++)
        range[i] = (weft_range){
            d->part[i].name, d->part[i].device < 0, d->side[2 * i].end, d->side[2 * i + 1].end,
            d->side[2 * i].is_proved && d->side[2 * i + 1].is_proved && !isnan(d->side[2 * i].end)};
    *out = (weft_doubt){.error = d->o->error,
                        .tolerance = d->o->tolerance,
                        .precision = d->o->error / GRID / (1 << BISECTIONS),
                        .n_ranges = d->n_parts,
                        .range = range,
                        .n_samples = d->o->n_samples};
    for (int i = 0; i < out->n_samples; i++) {
        const trial *t = &d->sample[i];

        out->n_within += is_good(d, t);
        out->n_proved += t->is_proved;
        out->worst = fmax(out->worst, t->regret);
        out->mean += t->regret / out->n_samples;
    }
}

weft_status weft_place_doubt(const weft_problem *p, const weft_plan *plan,
                             const weft_doubt_options *o, weft_arena *a, weft_doubt *out)
{
    weft_arena *scratch = weft_arena_new();
    weft_rng seed = weft_rng_seed((uint64_t)o->run.seed);
    doubter d = {.p = p, .plan = plan, .o = o};
    weft_status status;

    d.part = list_parts(p, a, &d.n_parts);
    d.n = 2 * d.n_parts + o->n_samples;
    d.side = WEFT_NEW(scratch, side, 2 * d.n_parts + 1);
    d.sample = WEFT_NEW(scratch, trial, o->n_samples + 1);
    d.rng = WEFT_NEW(scratch, weft_rng, o->n_samples + 1);
    d.status = WEFT_NEW(scratch, weft_status, d.n + 1);
    d.message = weft_arena_array(scratch, (size_t)d.n + 1, sizeof *d.message);
    for (int i = 0; i < o->n_samples; i++)
        d.rng[i] = weft_rng_split(&seed, (uint64_t)i);
    weft_parallel(o->run.n_threads > 0 ? o->run.n_threads : 1, d.n, work, &d);
    status = first_failure(&d);
    if (status == WEFT_OK)
        sum_up(&d, a, out);
    weft_arena_free(scratch);
    return status;
}
