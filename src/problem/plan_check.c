/* SPDX-License-Identifier: MIT */
/* plan_check.c: is a plan legal? Each rule is applied as problem.h states it, to the start times as
 * they are; no code of solvers or simulator is used.
 *
 * 1. Each task has a device and a start that is a number, not negative.
 * 2. The device supports the task; pins and colocation are kept.
 * 3. A task starts when its inputs have arrived: the end of their producer (or time 0, for what is
 *    on the host) and the time to send them.
 * 4. No two tasks run at once on a device. A task of no length may not start inside another.
 * 5. The weights of the tasks on a device fit its memory together, each counted once.
 *
 * Where calls are asked for, rule 3 is that of plan_check_calls.c and rule 4 does not concern the
 * host; so are stages of a pipeline.
 *
 * 6. Several ways only if they are asked for; their shares are positive and add up to 1. The other
 *    rules hold for each way; the weights of all ways lie on the devices together.
 * 7. Limits: no way ends after the deadline; the period (the largest load of a device, under
 *    contend of a link, each way by its share) is not above the one asked for. (Under calls the
 *    simulator alone says what the period is.)
 *
 * 8. If switches take time, a task takes the switch of its device longer if it reads from a task on
 *    another device from which no task of lower number reads there. Under calls it is the task of
 *    least number on each accelerator that takes longer.
 *
 * 9. A way has no more segments, and none is smaller, than is asked for (segments.c).
 *
 * Times may be early by 1e-9 of the makespan; bytes are exact. A task that
 * breaks rule 1 is left out of the other rules; one that is not supported counts as of no length.
 * Time O(reads + tasks log tasks + weights * readers). */
#include "checker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE 1e-9

/* --- rules ----------------------------------------------------------------------------------- */

static void check_placed(weft_checker *c, int u)
{
    int d = c->plan->device[u];
    double start_s = c->plan->start_s[u];

    c->is_placed[u] = d >= 0 && d < c->problem->n_devices && isfinite(start_s);
    c->is_whole = c->is_whole && c->is_placed[u] && isfinite(weft_task_s(c->problem, u, d));
    if (d < 0 || d >= c->problem->n_devices)
        weft_violate(&c->v, "task '%s' is on device number %d, but there are %d devices",
                     weft_checker_task(c, u), d, c->problem->n_devices);
    else if (!isfinite(start_s))
        weft_violate(&c->v, "task '%s' starts at %g s, which is not a time",
                     weft_checker_task(c, u), start_s);
}

/* Does any of the readers of u before task v run on d? */
static bool has_earlier_reader(const weft_checker *c, int u, int v, int d)
{
    const weft_problem *p = c->problem;

    for (int i = p->succ_at[u]; i < p->succ_at[u + 1] && p->succ[i] < v; i++)
        if (c->plan->device[p->succ[i]] == d)
            return true;
    return false;
}

/* Rule 8 for task v. */
static bool is_switched_to(const weft_checker *c, int v)
{
    const weft_problem *p = c->problem;
    int d = c->plan->device[v];
    bool is_first = d != p->host; /* of a call */

    if (p->transfer == WEFT_CALLS) {
        for (int u = 0; u < v && is_first; u++)
            is_first = c->plan->device[u] != d;
        return is_first;
    }
    for (int i = p->pred_at[v]; i < p->pred_at[v + 1]; i++)
        if (c->plan->device[p->pred[i]] != d && !has_earlier_reader(c, p->pred[i], v, d))
            return true;
    return false;
}

double weft_checker_length_s(const weft_checker *c, int u)
{
    const weft_problem *p = c->problem;
    double length_s = weft_task_s(p, u, c->plan->device[u]);

    if (!isfinite(length_s))
        return 0;
    return p->switch_s != NULL && is_switched_to(c, u) ? length_s + p->switch_s[c->plan->device[u]]
                                                       : length_s;
}

/* Ends of all tasks, and from the last one the slack. */
static void find_ends(weft_checker *c)
{
    double last_s = 0;

    for (int u = 0; u < c->problem->n_tasks; u++) {
        if (!c->is_placed[u])
            continue;
        c->end_s[u] = c->plan->start_s[u] + weft_checker_length_s(c, u);
        last_s = fmax(last_s, c->end_s[u]);
    }
    c->slack_s = TOLERANCE * last_s;
}

static void check_device(weft_checker *c, int u)
{
    const weft_problem *p = c->problem;
    int d = c->plan->device[u];

    if (c->plan->start_s[u] < -c->slack_s)
        weft_violate(&c->v, "task '%s' starts at %.9g s on '%s': %.3g s before time 0",
                     weft_checker_task(c, u), c->plan->start_s[u], weft_checker_device(c, u),
                     -c->plan->start_s[u]);
    if (isinf(weft_task_s(p, u, d)))
        weft_violate(&c->v, "task '%s' is on '%s', which does not support it",
                     weft_checker_task(c, u), weft_checker_device(c, u));
    if (p->pin[u] >= 0 && p->pin[u] != d)
        weft_violate(&c->v, "task '%s' is on '%s', but it is pinned to '%s'",
                     weft_checker_task(c, u), weft_checker_device(c, u), p->device_name[p->pin[u]]);
}

static int by_colocation(const void *a, const void *b)
{
    const int *x = a, *y = b; /* colocation group, task */

    if (x[0] != y[0])
        return x[0] < y[0] ? -1 : 1;
    return x[1] < y[1] ? -1 : 1;
}

/* Each task is held against the first placed one of its colocation group. */
static void check_colocations(weft_checker *c)
{
    const weft_problem *p = c->problem;
    int(*item)[2] = weft_arena_array(c->arena, (size_t)p->n_tasks, sizeof *item);
    int n = 0, first = 0;

    for (int u = 0; u < p->n_tasks; u++)
        if (p->colocation[u] >= 0 && c->is_placed[u]) {
            item[n][0] = p->colocation[u];
            item[n++][1] = u;
        }
    qsort(item, (size_t)n, sizeof *item, by_colocation);
    for (int i = 0; i < n; i++) {
        if (item[i][0] != item[first][0])
            first = i;
        if (c->plan->device[item[i][1]] != c->plan->device[item[first][1]])
            weft_violate(
                &c->v, "task '%s' is on '%s', but '%s', which must share its device, is on '%s'",
                weft_checker_task(c, item[i][1]), weft_checker_device(c, item[i][1]),
                weft_checker_task(c, item[first][1]), weft_checker_device(c, item[first][1]));
    }
}

/* Under calls everything passes through the host: paid on both sides. */
static double sent_s(const weft_problem *p, int t, int from, int to)
{
    if (p->transfer != WEFT_CALLS || from == to)
        return weft_send_s(p, t, from, to);
    return weft_send_s(p, t, from, p->host) + weft_send_s(p, t, p->host, to);
}

/* Input t of task v from device `from`, where it is ready at ready_s. */
static void check_arrival(weft_checker *c, int v, int t, int from, double ready_s)
{
    const weft_problem *p = c->problem;
    double send_s = sent_s(p, t, from, c->plan->device[v]);
    double early_s = ready_s + send_s - c->plan->start_s[v];
    bool is_made = p->producer[t] >= 0;
    const char *source = is_made ? weft_checker_task(c, p->producer[t]) : p->device_name[from];

    if (isinf(send_s))
        weft_violate(&c->v,
                     "task '%s' is on '%s', but its input from %s'%s'%s%s%s cannot get there: the "
                     "devices are not connected",
                     weft_checker_task(c, v), weft_checker_device(c, v), is_made ? "" : "the host ",
                     source, is_made ? " on '" : "", is_made ? p->device_name[from] : "",
                     is_made ? "'" : "");
    else if (early_s > c->slack_s)
        weft_violate(
            &c->v,
            "task '%s' starts at %.9g s on '%s', but its input from %s'%s' arrives at %.9g s: "
            "%.3g s too early",
            weft_checker_task(c, v), c->plan->start_s[v], weft_checker_device(c, v),
            is_made ? "" : "the host ", source, ready_s + send_s, early_s);
}

static void check_inputs(weft_checker *c, int v)
{
    const weft_problem *p = c->problem;

    for (int k = p->arg_at[v]; k < p->arg_at[v + 1]; k++) {
        int t = p->arg[k], u = p->producer[t];

        if (p->is_weight[t])
            continue;
        if (u >= 0 && c->is_placed[u])
            check_arrival(c, v, t, c->plan->device[u], c->end_s[u]);
        else if (u < 0 && p->host >= 0 && p->transfer != WEFT_CALLS)
            check_arrival(c, v, t, p->host, 0);
    }
}

/* --- one task at a time ---------------------------------------------------------------------- */

typedef struct run {
    int device, task;
    double start_s, end_s;
} run;

static int compare(double x, double y)
{
    return (x > y) - (x < y);
}

/* By device, then by start; of those that start together, the shortest first. */
static int by_start(const void *a, const void *b)
{
    const run *x = a, *y = b;
    int order = (x->device > y->device) - (x->device < y->device);

    if (order == 0)
        order = compare(x->start_s, y->start_s);
    if (order == 0)
        order = compare(x->end_s, y->end_s);
    return order ? order : (x->task > y->task) - (x->task < y->task);
}

static void check_overlaps(weft_checker *c)
{
    const weft_plan *plan = c->plan;
    run *runs = WEFT_NEW(c->arena, run, plan->n_tasks);
    bool has_calls = weft_checker_has_calls(c); /* tasks of the host run side by side */
    const run *last = NULL; /* of the runs before on this device, the one that ends last */
    int n = 0;

    for (int u = 0; u < plan->n_tasks; u++)
        if (c->is_placed[u] && !(has_calls && plan->device[u] == c->problem->host))
            runs[n++] = (run){plan->device[u], u, plan->start_s[u], c->end_s[u]};
    qsort(runs, (size_t)n, sizeof *runs, by_start);
    for (int i = 0; i < n; i++) {
        if (last == NULL || last->device != runs[i].device) {
            last = &runs[i];
            continue;
        }
        if (last->end_s - runs[i].start_s > c->slack_s)
            weft_violate(
                &c->v,
                "task '%s' starts at %.9g s on '%s', but '%s' runs there until %.9g s: %.3g s "
                "too early",
                weft_checker_task(c, runs[i].task), runs[i].start_s,
                weft_checker_device(c, runs[i].task), weft_checker_task(c, last->task), last->end_s,
                last->end_s - runs[i].start_s);
        if (runs[i].end_s >= last->end_s)
            last = &runs[i];
    }
}

/* --- memory ---------------------------------------------------------------------------------- */

typedef struct room {
    double bytes;   /* of all weights */
    double largest; /* of one weight, read by task `reader` */
    int reader;
    int counted; /* 1 + the last weight that was added */
} room;

static void hold(room *r, int weight, double bytes, int reader)
{
    if (r->counted == weight + 1)
        return;
    r->counted = weight + 1;
    r->bytes += bytes;
    if (bytes > r->largest) {
        r->largest = bytes;
        r->reader = reader;
    }
}

/* Weight t on all devices where a way reads it. */
static void hold_weight(const weft_problem *p, const weft_plan *plan, int n_variants, int t,
                        room *rooms)
{
    for (int w = 0; w < n_variants; w++)
        for (int k = p->reader_at[t]; k < p->reader_at[t + 1]; k++) {
            size_t at = (size_t)w * (size_t)p->n_tasks + (size_t)p->reader[k];
            int d = plan->device[at];

            if (d >= 0 && d < p->n_devices && isfinite(plan->start_s[at])) /* rule 1 */
                hold(&rooms[d], t, p->memory[t], p->reader[k]);
        }
}

static void check_memory(weft_checker *c, const weft_plan *plan, int n_variants)
{
    const weft_problem *p = c->problem;
    room *rooms = WEFT_NEW(c->arena, room, p->n_devices);

    for (int t = 0; t < p->n_tensors; t++)
        if (p->is_weight[t])
            hold_weight(p, plan, n_variants, t, rooms);
    for (int d = 0; d < p->n_devices; d++)
        if (!weft_fits(rooms[d].bytes, p->capacity[d]))
            weft_violate(
                &c->v,
                "device '%s' has to hold %.0f bytes of weights, but has room for %.0f: %.0f "
                "bytes too many; the largest belong to task '%s', %.0f bytes",
                p->device_name[d], rooms[d].bytes, p->capacity[d], rooms[d].bytes - p->capacity[d],
                weft_checker_task(c, rooms[d].reader), rooms[d].largest);
}

/* --- limits ---------------------------------------------------------------------------------- */

static void check_deadline(weft_checker *c)
{
    double last_s = 0;

    for (int u = 0; u < c->problem->n_tasks; u++)
        last_s = fmax(last_s, c->is_placed[u] ? c->end_s[u] : 0);
    if (!weft_constraints_allow(&c->problem->constraints, last_s, 0))
        weft_violate(&c->v, "the last task ends at %.9g s, the deadline is %.9g s", last_s,
                     c->problem->constraints.most_latency_s);
}

/* Adds what tensor t costs one item when it goes to device `to`. */
static void add_transfer(const weft_problem *p, int t, int from, int to, double share,
                         double *load_s)
{
    double send_s = share * weft_send_s(p, t, from, to);
    int pair = from * p->n_devices + to;

    if (p->transfer == WEFT_BLOCK) {
        load_s[from] += send_s;
        load_s[to] += send_s;
    }
    for (int k = p->route_at[pair]; p->transfer == WEFT_CONTEND && k < p->route_at[pair + 1]; k++) {
        bool is_first = true; /* both directions of a half-duplex link are one */

        for (int l = p->route_at[pair]; l < k; l++)
            is_first = is_first && p->route[l] != p->route[k];
        if (is_first)
            load_s[p->n_devices + p->route[k]] += send_s;
    }
}

/* Loads of the way at hand: devices, then links. counted: [n_devices] 1 + the last tensor sent
 * there. */
static void add_loads(const weft_checker *c, double share, int *counted, double *load_s)
{
    const weft_problem *p = c->problem;
    const int *device = c->plan->device;

    for (int u = 0; u < p->n_tasks; u++)
        load_s[device[u]] += share * weft_checker_length_s(c, u);
    for (int d = 0; d < p->n_devices; d++)
        counted[d] = 0;
    for (int t = 0; t < p->n_tensors; t++) {
        int from = p->producer[t] < 0 ? p->host : device[p->producer[t]];

        for (int k = p->reader_at[t]; k < p->reader_at[t + 1]; k++) {
            int to = device[p->reader[k]];

            if (p->is_weight[t] || from < 0 || to == from || counted[to] == t + 1)
                continue;
            counted[to] = t + 1;
            add_transfer(p, t, from, to, share, load_s);
        }
    }
}

static weft_plan view_of(const weft_plan *plan, int way)
{
    size_t first = (size_t)way * (size_t)plan->n_tasks;

    return (weft_plan){plan->n_tasks, plan->device + first, plan->start_s + first, 1, NULL};
}

static void check_period(weft_checker *c, const weft_plan *plan, int n_variants)
{
    const weft_problem *p = c->problem;
    double *load_s = WEFT_NEW(c->arena, double, p->n_devices + p->n_links), most_s = 0;
    int *counted = WEFT_NEW(c->arena, int, p->n_devices);

    if (!(p->constraints.most_period_s > 0) || !c->is_whole || p->transfer == WEFT_CALLS)
        return;
    for (int w = 0; w < n_variants; w++) {
        weft_plan view = view_of(plan, w);

        c->plan = &view;
        add_loads(c, n_variants > 1 ? plan->share[w] : 1, counted, load_s);
    }
    c->plan = NULL;
    for (int r = 0; r < p->n_devices + p->n_links; r++)
        most_s = fmax(most_s, load_s[r]);
    if (!weft_constraints_allow(&p->constraints, 0, most_s))
        weft_violate(&c->v,
                     "an item takes %.9g s of the busiest device or link, %.9g s are allowed",
                     most_s, p->constraints.most_period_s);
}

/* --- pipeline stages ------------------------------------------------------------------------- */

/* feeds[d * n + e]: a forward task on d gives to one on e. */
static bool *list_feeds(const weft_problem *p, const int *device, weft_arena *a)
{
    int n = p->n_devices;
    bool *feeds = WEFT_NEW(a, bool, (size_t)n *(size_t)n);

    for (int v = 0; v < p->n_tasks; v++)
        for (int k = p->pred_at[v]; k < p->pred_at[v + 1]; k++) {
            int d = device[p->pred[k]], e = device[v];

            if (!p->is_backward[p->pred[k]] && !p->is_backward[v] && d >= 0 && d < n && e >= 0 &&
                e < n && d != e)
                feeds[d * n + e] = true;
        }
    return feeds;
}

/* Takes devices away that no other feeds, until none is left; those left form a cycle. */
int weft_plan_loop(const weft_problem *p, const int *device, weft_arena *a)
{
    int n = p->n_devices;
    const bool *feeds = list_feeds(p, device, a);
    bool *is_gone = WEFT_NEW(a, bool, n), is_moving = true;

    while (is_moving) {
        is_moving = false;
        for (int d = 0; d < n; d++) {
            bool is_fed = false;

            for (int e = 0; e < n; e++)
                is_fed = is_fed || (feeds[e * n + d] && !is_gone[e]);
            if (is_gone[d] || is_fed)
                continue;
            is_gone[d] = is_moving = true;
        }
    }
    for (int d = 0; d < n; d++)
        if (!is_gone[d])
            return d;
    return -1;
}

static void check_segments(weft_checker *c)
{
    const char *what;

    for (int u = 0; u < c->problem->n_tasks; u++)
        if (!c->is_placed[u])
            return;
    what = weft_segments_breach(c->problem, c->plan->device, c->arena);
    if (what != NULL)
        weft_violate(&c->v, "%s", what);
}

/* --- all rules ------------------------------------------------------------------------------- */

static void check_way(weft_checker *c)
{
    for (int u = 0; u < c->problem->n_tasks; u++)
        check_placed(c, u);
    find_ends(c);
    for (int u = 0; u < c->problem->n_tasks; u++) {
        if (!c->is_placed[u])
            continue;
        check_device(c, u);
        if (!weft_checker_has_calls(c))
            check_inputs(c, u);
    }
    if (weft_checker_has_calls(c))
        weft_check_calls(c);
    weft_check_stages(c);
    check_segments(c);
    check_colocations(c);
    check_overlaps(c);
    check_deadline(c);
}

static void check_shares(weft_checker *c, const weft_plan *plan, int n_variants)
{
    double sum = 0;

    if (n_variants == 1)
        return;
    if (!c->problem->constraints.is_mixed)
        weft_violate(&c->v, "the plan has %d ways, but all items are to take the same", n_variants);
    for (int w = 0; w < n_variants; w++) {
        if (!(plan->share[w] > 0 && plan->share[w] <= 1))
            weft_violate(&c->v, "the share of way %d is %.9g, which is not between 0 and 1", w + 1,
                         plan->share[w]);
        sum += plan->share[w];
    }
    if (!(fabs(sum - 1) <= TOLERANCE))
        weft_violate(&c->v, "the shares of the ways add up to %.12g, not to 1", sum);
}

int weft_plan_check(const weft_problem *p, const weft_plan *plan, weft_violation *violation,
                    int most, weft_arena *a)
{
    weft_checker c = {
        .problem = p, .arena = a, .v = {violation, 0, most, a, 0},
                .is_whole = true
    };
    int n_variants = plan->n_variants > 1 ? plan->n_variants : 1;

    if (plan->n_tasks != p->n_tasks) {
        weft_violate(&c.v, "the plan has %d tasks, but the problem has %d", plan->n_tasks,
                     p->n_tasks);
        return c.v.n;
    }
    c.is_placed = WEFT_NEW(a, bool, p->n_tasks);
    c.end_s = WEFT_NEW(a, double, p->n_tasks);
    check_shares(&c, plan, n_variants);
    for (int w = 0; w < n_variants; w++) {
        weft_plan view = view_of(plan, w);

        c.plan = &view;
        c.v.way = n_variants > 1 ? w + 1 : 0;
        check_way(&c);
    }
    c.plan = NULL;
    c.v.way = 0;
    check_memory(&c, plan, n_variants);
    check_period(&c, plan, n_variants);
    return c.v.n;
}
