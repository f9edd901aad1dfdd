/* SPDX-License-Identifier: MIT */
/* The simulator against a second one, which scans everything at every instant, and against
 * relations that hold for every plan. Numbers are small integers, zeros among them, so that ties
 * are common and sums exact. */
#include "check.h"
#include "sim.h"
#include "stream.h"

#include <stdlib.h>

enum {
    N_CASES = 10000,
    N_STREAM_CASES = 1000,
    MOST_TASKS = 12,
    MOST_DEVICES = 4,
    MOST_PLACES = 7, /* switches and devices */
    MOST_TENSORS = 24,
    MOST_READERS = MOST_TENSORS * MOST_TASKS,
    MOST_LINKS = 2 * MOST_PLACES * MOST_PLACES,
    MOST_THINGS = MOST_TASKS + MOST_TENSORS * MOST_DEVICES,
};

static const weft_transfer all_models[] = {WEFT_OVERLAP, WEFT_CONTEND, WEFT_BLOCK};
enum { N_MODELS = 3 };

/* --- random problems ------------------------------------------------------------------------- */

typedef struct arrays {
    const char *task_name[MOST_TASKS], *device_name[MOST_DEVICES];
    double seconds[MOST_TASKS * MOST_DEVICES], joules[MOST_TASKS * MOST_DEVICES];
    double amount[MOST_TENSORS], memory[MOST_TENSORS];
    bool is_weight[MOST_TENSORS], is_output[MOST_TENSORS];
    int producer[MOST_TENSORS], reader_at[MOST_TENSORS + 1], reader[MOST_READERS];
    double latency_s[MOST_DEVICES * MOST_DEVICES], second_per_byte[MOST_DEVICES * MOST_DEVICES];
    double idle_w[MOST_DEVICES];
    int n_tasks, n_devices, n_tensors;
} arrays;

static const char *const task_names[MOST_TASKS] = {"a", "b", "c", "d", "e", "f",
                                                   "g", "h", "i", "j", "k", "l"};
static const char *const device_names[MOST_DEVICES] = {"P", "Q", "R", "S"};

static bool happens(weft_rng *r, int percent)
{
    return weft_rng_below(r, 100) < percent;
}

static void draw_times(arrays *s, weft_rng *r)
{
    for (int u = 0; u < s->n_tasks; u++) {
        int sure = weft_rng_below(r, s->n_devices);
        bool is_view = happens(r, 15); /* no length anywhere */
        s->task_name[u] = task_names[u];
        for (int d = 0; d < s->n_devices; d++) {
            s->seconds[u * s->n_devices + d] = is_view ? 0 : weft_rng_below(r, 7);
            if (d != sure && happens(r, 10))
                s->seconds[u * s->n_devices + d] = INFINITY;
            s->joules[u * s->n_devices + d] = weft_rng_below(r, 5);
        }
    }
    for (int d = 0; d < s->n_devices; d++) {
        s->device_name[d] = device_names[d];
        s->idle_w[d] = weft_rng_below(r, 4);
    }
}

/* A tensor of task u; u < 0: an input or a weight. */
static void draw_tensor(arrays *s, weft_rng *r, int u, int percent)
{
    int t = s->n_tensors++, n = s->reader_at[t];

    s->producer[t] = u;
    s->is_weight[t] = u < 0 && happens(r, 30);
    s->is_output[t] = happens(r, 15);
    s->amount[t] = weft_rng_below(r, 6);
    s->memory[t] = weft_rng_below(r, 6);
    for (int v = u + 1; v < s->n_tasks; v++)
        if (happens(r, percent))
            s->reader[n++] = v;
    s->reader_at[t + 1] = n;
}

static void draw_tensors(arrays *s, weft_rng *r)
{
    int percent = 5 + weft_rng_below(r, 40), n_inputs = weft_rng_below(r, 4);

    for (int i = 0; i < n_inputs; i++)
        draw_tensor(s, r, -1, percent);
    while (s->n_tensors < n_inputs + s->n_tasks + s->n_tasks / 2)
        draw_tensor(s, r, weft_rng_below(r, s->n_tasks), percent);
}

/* A random tree of places (switches, then devices) and some more links; both directions of a link
 * are one resource or two. */
typedef struct net {
    int n_places, n_links;
    int link[MOST_PLACES][MOST_PLACES]; /* directed link, or -1 */
} net;

static void connect(net *n, weft_rng *r, int a, int b)
{
    if (a == b || n->link[a][b] >= 0)
        return;
    n->link[a][b] = n->n_links++;
    n->link[b][a] = happens(r, 30) ? n->link[a][b] : n->n_links++;
}

static void draw_net(net *n, weft_rng *r, int n_devices)
{
    n->n_places = n_devices + weft_rng_below(r, MOST_PLACES - n_devices + 1);
    n->n_links = 0;
    for (int a = 0; a < MOST_PLACES; a++)
        for (int b = 0; b < MOST_PLACES; b++)
            n->link[a][b] = -1;
    for (int a = 1; a < n->n_places; a++)
        connect(n, r, a, weft_rng_below(r, a));
    for (int i = weft_rng_below(r, 3); i > 0; i--)
        connect(n, r, weft_rng_below(r, n->n_places), weft_rng_below(r, n->n_places));
}

/* Links of a shortest path into `to`; returns their number. */
static int path(const net *n, int from, int at, int *to)
{
    int before[MOST_PLACES], line[MOST_PLACES], n_line = 1, hops = 0, reverse[MOST_PLACES];

    for (int i = 0; i < MOST_PLACES; i++)
        before[i] = -1;
    line[0] = from;
    before[from] = from;
    for (int i = 0; i < n_line; i++)
        for (int b = 0; b < n->n_places; b++)
            if (n->link[line[i]][b] >= 0 && before[b] < 0) {
                before[b] = line[i];
                line[n_line++] = b;
            }
    for (int b = at; b != from; b = before[b])
        reverse[hops++] = n->link[before[b]][b];
    for (int i = 0; i < hops; i++)
        to[i] = reverse[hops - 1 - i];
    return hops;
}

/* Puts routes over shared links in the place of the pairs' own links. */
static void reroute(weft_problem *p, weft_rng *r)
{
    int n = p->n_devices, first;
    int *at = WEFT_NEW(p->arena, int, n *n + 1),
        *route = WEFT_NEW(p->arena, int, n *n *MOST_PLACES);
    const char **name = WEFT_NEW(p->arena, const char *, MOST_LINKS);
    net wires;

    draw_net(&wires, r, n);
    first = wires.n_places - n;
    for (int k = 0; k < n * n; k++)
        at[k + 1] = at[k] + path(&wires, first + k / n, first + k % n, route + at[k]);
    for (int k = 0; k < wires.n_links; k++)
        name[k] = weft_arena_print(p->arena, "link%d", k);
    p->route_at = at;
    p->route = route;
    p->n_links = wires.n_links;
    p->link_name = name;
}

static weft_problem *random_case(weft_rng *r)
{
    arrays s = {.n_tasks = 1 + weft_rng_below(r, MOST_TASKS),
                .n_devices = 1 + weft_rng_below(r, MOST_DEVICES)};
    weft_problem *p = NULL;
    int host = weft_rng_below(r, s.n_devices + 1) - 1;

    draw_times(&s, r);
    draw_tensors(&s, r);
    for (int k = 0; k < s.n_devices * s.n_devices; k++) {
        s.latency_s[k] = k / s.n_devices == k % s.n_devices ? 0 : weft_rng_below(r, 3);
        s.second_per_byte[k] = weft_rng_below(r, 3);
    }
    CHECK_OK(weft_problem_make(&(weft_problem_spec){.name = "random",
                                                    .n_tasks = s.n_tasks,
                                                    .n_devices = s.n_devices,
                                                    .n_tensors = s.n_tensors,
                                                    .task_name = s.task_name,
                                                    .device_name = s.device_name,
                                                    .seconds = s.seconds,
                                                    .joules = s.joules,
                                                    .amount = s.amount,
                                                    .memory = s.memory,
                                                    .is_weight = s.is_weight,
                                                    .is_output = s.is_output,
                                                    .producer = s.producer,
                                                    .reader_at = s.reader_at,
                                                    .reader = s.reader,
                                                    .latency_s = s.latency_s,
                                                    .second_per_byte = s.second_per_byte,
                                                    .idle_w = s.idle_w,
                                                    .host = host},
                               &p));
    reroute(p, r);
    return p;
}

/* Starts: all equal; levels of the graph; a random order that agrees with it; anything. */
static weft_plan random_plan(const weft_problem *p, weft_rng *r, bool is_sound, weft_arena *a)
{
    weft_plan plan = weft_plan_new(p->n_tasks, a);
    int style = weft_rng_below(r, is_sound ? 3 : 4);

    for (int u = 0; u < p->n_tasks; u++) {
        do
            plan.device[u] = weft_rng_below(r, p->n_devices);
        while (isinf(weft_task_s(p, u, plan.device[u])));
        plan.start_s[u] = style == 3 ? weft_rng_below(r, 6) : 0;
        for (int i = p->pred_at[u]; i < p->pred_at[u + 1] && style > 0 && style < 3; i++)
            plan.start_s[u] = fmax(plan.start_s[u], plan.start_s[p->pred[i]] + 1);
        if (style == 2)
            plan.start_s[u] += 3 * weft_rng_real(r);
    }
    return plan;
}

/* --- the naive simulator --------------------------------------------------------------------- */

/* Tasks and transfers alike. */
typedef struct thing {
    bool is_task;
    int task, tensor, from, to;
    int turn; /* tasks: place in the order of all tasks */
    double length_s, ready_s, start_s, end_s;
    bool is_waiting, is_started, is_done;
} thing;

typedef struct naive {
    const weft_problem *p;
    const int *device;
    int n;
    thing x[MOST_THINGS]; /* tasks first, then transfers by tensor and destination */
} naive;

static bool reads(const weft_problem *p, int u, int t)
{
    for (int i = p->arg_at[u]; i < p->arg_at[u + 1]; i++)
        if (p->arg[i] == t)
            return true;
    return false;
}

static bool is_read_on(const naive *s, int t, int d)
{
    for (int u = 0; u < s->p->n_tasks; u++)
        if (s->device[u] == d && reads(s->p, u, t))
            return true;
    return false;
}

static int place_of(const naive *s, int t)
{
    return s->p->producer[t] >= 0 ? s->device[s->p->producer[t]] : s->p->host;
}

/* A task may be taken when its predecessors are, and no task of its device with a lower start is
 * left; of those that may, the lowest start, then length 0, then number. -1: none may. */
static int next_taken(const naive *s, const double *start, const bool *is_taken)
{
    int best = -1;

    for (int u = 0; u < s->p->n_tasks; u++) {
        bool may = !is_taken[u];
        for (int i = s->p->pred_at[u]; i < s->p->pred_at[u + 1]; i++)
            may = may && is_taken[s->p->pred[i]];
        for (int v = 0; v < s->p->n_tasks; v++)
            may = may && (is_taken[v] || s->device[v] != s->device[u] || start[v] >= start[u]);
        if (may && (best < 0 || start[u] < start[best] ||
                    (start[u] == start[best] && s->x[u].length_s == 0 && s->x[best].length_s > 0)))
            best = u;
    }
    return best;
}

/* False: the plan contradicts itself. */
static bool line_up(naive *s, const double *start)
{
    bool is_taken[MOST_TASKS] = {false};

    for (int i = 0; i < s->p->n_tasks; i++) {
        int u = next_taken(s, start, is_taken);
        if (u < 0)
            return false;
        is_taken[u] = true;
        s->x[u].turn = i;
    }
    return true;
}

static void list_things(naive *s)
{
    const weft_problem *p = s->p;

    for (int u = 0; u < p->n_tasks; u++)
        s->x[s->n++] = (thing){.is_task = true,
                               .task = u,
                               .tensor = -1,
                               .from = s->device[u],
                               .to = s->device[u],
                               .length_s = weft_task_s(p, u, s->device[u])};
    for (int t = 0; t < p->n_tensors; t++)
        for (int d = 0; d < p->n_devices; d++)
            if (!p->is_weight[t] && place_of(s, t) >= 0 && place_of(s, t) != d &&
                is_read_on(s, t, d))
                s->x[s->n++] = (thing){.task = -1,
                                       .tensor = t,
                                       .from = place_of(s, t),
                                       .to = d,
                                       .length_s = weft_send_s(p, t, place_of(s, t), d)};
}

/* Everything that thing i needs is done. */
static bool is_supplied(const naive *s, int i)
{
    const thing *x = &s->x[i];

    if (!x->is_task)
        return s->p->producer[x->tensor] < 0 || s->x[s->p->producer[x->tensor]].is_done;
    for (int k = 0; k < s->p->n_tasks; k++) {
        const thing *y = &s->x[k];
        if (y->from == x->from && y->turn < x->turn && !y->is_done &&
            (x->length_s > 0 || y->length_s > 0)) /* two of no length need no order */
            return false;
    }
    for (int k = 0; k < s->p->n_tasks; k++)
        for (int t = 0; t < s->p->n_tensors; t++)
            if (s->p->producer[t] == k && reads(s->p, x->task, t) && !s->x[k].is_done)
                return false;
    for (int k = s->p->n_tasks; k < s->n; k++)
        if (s->x[k].to == x->from && reads(s->p, x->task, s->x[k].tensor) && !s->x[k].is_done)
            return false;
    return true;
}

static bool needs_line(const naive *s, int i)
{
    if (s->x[i].length_s == 0 || s->p->transfer == WEFT_OVERLAP)
        return false;
    return s->p->transfer == WEFT_BLOCK || !s->x[i].is_task;
}

static bool share_link(const weft_problem *p, const thing *x, const thing *y)
{
    int k = x->from * p->n_devices + x->to, l = y->from * p->n_devices + y->to;

    for (int i = p->route_at[k]; i < p->route_at[k + 1]; i++)
        for (int j = p->route_at[l]; j < p->route_at[l + 1]; j++)
            if (p->route[i] == p->route[j])
                return true;
    return false;
}

static bool collide(const naive *s, int i, int k)
{
    const thing *x = &s->x[i], *y = &s->x[k];

    if (i == k || !needs_line(s, i) || !needs_line(s, k))
        return false;
    if (s->p->transfer == WEFT_CONTEND)
        return share_link(s->p, x, y);
    return x->from == y->from || x->from == y->to || x->to == y->from || x->to == y->to;
}

static bool is_ahead(const naive *s, int i, int k)
{
    const thing *x = &s->x[i], *y = &s->x[k];

    if (x->ready_s != y->ready_s)
        return x->ready_s < y->ready_s;
    if (x->is_task != y->is_task)
        return y->is_task;
    return i < k;
}

static bool is_served(const naive *s, int i)
{
    if (!s->x[i].is_waiting)
        return false;
    for (int k = 0; k < s->n; k++)
        if (collide(s, i, k) &&
            ((s->x[k].is_started && !s->x[k].is_done) || (s->x[k].is_waiting && is_ahead(s, k, i))))
            return false;
    return true;
}

static void launch(thing *x, double now_s)
{
    x->is_waiting = false;
    x->is_started = true;
    x->start_s = now_s;
    x->end_s = now_s + x->length_s;
}

/* What happens without lines; true if anything did. */
static bool advance(naive *s, double now_s)
{
    bool has_changed = false;

    for (int i = 0; i < s->n; i++) {
        thing *x = &s->x[i];
        if (x->is_started && !x->is_done && x->end_s <= now_s) {
            x->is_done = has_changed = true;
        } else if (!x->is_started && !x->is_waiting && is_supplied(s, i)) {
            has_changed = true;
            x->is_waiting = true;
            x->ready_s = now_s;
            if (!needs_line(s, i))
                launch(x, now_s);
        }
    }
    return has_changed;
}

static void serve(naive *s, double now_s)
{
    bool is_next[MOST_THINGS] = {false};

    for (int i = 0; i < s->n; i++)
        is_next[i] = is_served(s, i);
    for (int i = 0; i < s->n; i++)
        if (is_next[i])
            launch(&s->x[i], now_s);
}

/* False: stuck. */
static bool simulate(naive *s, const weft_problem *p, const weft_plan *plan)
{
    *s = (naive){.p = p, .device = plan->device};
    list_things(s);
    if (!line_up(s, plan->start_s))
        return false;
    for (double now_s = 0; now_s < INFINITY;) {
        double next_s = INFINITY;
        while (advance(s, now_s))
            continue;
        serve(s, now_s);
        for (int i = 0; i < s->n; i++)
            if (s->x[i].is_started && !s->x[i].is_done)
                next_s = fmin(next_s, s->x[i].end_s);
        now_s = next_s;
    }
    for (int i = 0; i < s->n; i++)
        if (!s->x[i].is_done)
            return false;
    return true;
}

/* --- comparisons ----------------------------------------------------------------------------- */

/* The job of a thing. */
static int job_of(const weft_jobs *j, const thing *x)
{
    for (int i = 0; i < j->n_jobs; i++)
        if (x->is_task ? j->task[i] == x->task : j->tensor[i] == x->tensor && j->to[i] == x->to)
            return i;
    return -1;
}

static void check_times(const naive *s, const weft_measures *m)
{
    CHECK_INT(m->n_jobs, s->n);
    for (int i = 0; i < s->n; i++) {
        int k = job_of(m->jobs, &s->x[i]);
        CHECK(k >= 0);
        CHECK(m->timeline->start_s[k] == s->x[i].start_s);
        CHECK(m->timeline->end_s[k] == s->x[i].end_s);
    }
}

/* No two tasks at once on a device, no two transfers on a link: by the definition of the models,
 * without the lines of the naive simulator. */
static void check_exclusion(const naive *s)
{
    for (int i = 0; i < s->n; i++)
        for (int k = 0; k < i; k++) {
            const thing *x = &s->x[i], *y = &s->x[k];
            bool is_apart = x->end_s <= y->start_s || y->end_s <= x->start_s;
            if (x->is_task && y->is_task && x->from == y->from)
                CHECK(is_apart);
            if (collide(s, i, k))
                CHECK(is_apart);
        }
}

/* Tensor t is on device d at the time: by looking at all readers and transfers. */
static bool is_held(const naive *s, int t, int d, double at_s)
{
    const weft_problem *p = s->p;
    double from_s = INFINITY, to_s = 0;
    bool is_home = place_of(s, t) == d && !p->is_weight[t];

    if (p->is_weight[t])
        return is_read_on(s, t, d);
    if (p->producer[t] < 0 && (p->host < 0 || is_home))
        from_s = p->host < 0 && !is_read_on(s, t, d) ? INFINITY : 0;
    for (int i = 0; i < s->n; i++) {
        const thing *x = &s->x[i];
        if (x->is_task && x->task == p->producer[t] && is_home)
            from_s = x->start_s;
        if (!x->is_task && x->tensor == t && x->to == d)
            from_s = x->start_s;
        if (x->is_task ? x->from == d && (reads(p, x->task, t) || x->task == p->producer[t])
                       : x->tensor == t && (x->from == d || x->to == d))
            to_s = fmax(to_s, x->end_s);
    }
    if (p->is_output[t] && (is_home || place_of(s, t) < 0) && from_s < INFINITY)
        return from_s <= at_s;
    return from_s <= at_s && at_s < to_s;
}

static double held_bytes(const naive *s, int d, double at_s)
{
    double sum = 0;

    for (int t = 0; t < s->p->n_tensors; t++)
        sum += is_held(s, t, d, at_s) ? s->p->memory[t] : 0;
    return sum;
}

static double step_at(const weft_sample *step, int n, double at_s)
{
    double bytes = NAN;

    for (int i = 0; i < n && step[i].at_s <= at_s; i++)
        bytes = step[i].bytes;
    return bytes;
}

static void check_memory(const naive *s, const weft_measures *m)
{
    for (int d = 0; d < s->p->n_devices; d++) {
        double peak = held_bytes(s, d, 0);
        CHECK(m->memory[d][0].at_s == 0);
        for (int i = 0; i < m->n_memory[d]; i++)
            CHECK(m->memory[d][i].bytes >= 0);
        for (int i = 0; i < 2 * s->n; i++) {
            double at_s = i % 2 ? s->x[i / 2].end_s : s->x[i / 2].start_s;
            double bytes = held_bytes(s, d, at_s);
            CHECK(step_at(m->memory[d], m->n_memory[d], at_s) == bytes);
            if (at_s < m->makespan_s)
                peak = fmax(peak, bytes);
        }
        /* what begins at the very end has no length, except outputs that need none */
        CHECK(m->peak_bytes[d] == fmax(peak, held_bytes(s, d, m->makespan_s)));
    }
}

static void check_sums(const naive *s, const weft_measures *m)
{
    double busy_s = 0, load_s = 0, hop_s = 0, work_s = 0, sent_s = 0, linked_s = 0, sent = 0;
    double energy_j = m->idle_j, idle_j = 0, last_s = 0, largest_s = 0;
    const weft_problem *p = s->p;
    int n_transfers = 0;

    for (int i = 0; i < s->n; i++) {
        int pair = s->x[i].from * p->n_devices + s->x[i].to;
        int n_hops = p->route_at[pair + 1] - p->route_at[pair];
        if (s->x[i].is_task) {
            work_s += s->x[i].length_s;
            energy_j += p->joules[s->x[i].task * p->n_devices + s->x[i].from];
            last_s = fmax(last_s, s->x[i].end_s);
        } else {
            n_transfers++;
            sent += p->amount[s->x[i].tensor];
            sent_s += s->x[i].length_s;
            linked_s += n_hops * s->x[i].length_s;
        }
    }
    for (int d = 0; d < p->n_devices; d++) {
        busy_s += m->busy_s[d];
        load_s += m->load_s[d];
        largest_s = fmax(largest_s, m->load_s[d]);
        idle_j += p->idle_w[d] * (m->makespan_s - m->busy_s[d]);
    }
    for (int k = 0; k < p->n_links; k++) {
        hop_s += m->link_s[k];
        if (p->transfer == WEFT_CONTEND)
            largest_s = fmax(largest_s, m->link_s[k]);
    }
    CHECK(m->makespan_s == last_s);
    CHECK(m->n_transfers == n_transfers && m->sent_bytes == sent);
    CHECK(busy_s == work_s);
    CHECK(load_s == work_s + (p->transfer == WEFT_BLOCK ? 2 * sent_s : 0));
    CHECK(hop_s == linked_s);
    CHECK(m->period_s == largest_s);
    CHECK(m->idle_j == idle_j && m->energy_j == energy_j);
}

/* Links follow each other without gap from 0 to the makespan; each is a job, no wait is needed. */
static void check_chain(const weft_measures *m)
{
    double at_s = 0;

    for (int i = 0; i < m->n_chain; i++) {
        CHECK(m->chain[i].start_s == at_s);
        CHECK(m->chain[i].kind != WEFT_CHAIN_WAIT);
        at_s = m->chain[i].end_s;
    }
    CHECK(at_s == m->makespan_s);
    for (int i = 0; i < m->n_jobs; i++) {
        int before = m->timeline->waits_for[i];
        CHECK(m->timeline->start_s[i] == (before < 0 ? 0 : m->timeline->end_s[before]));
    }
}

/* Simulated starts are a plan of the same worth. */
static void check_again(const weft_problem *p, const weft_plan *plan, const weft_measures *m,
                        weft_arena *a)
{
    weft_plan again = weft_plan_new(p->n_tasks, a);
    weft_measures second;

    memcpy(again.device, plan->device, (size_t)p->n_tasks * sizeof *again.device);
    memcpy(again.start_s, plan->start_s, (size_t)p->n_tasks * sizeof *again.start_s);
    CHECK_OK(weft_evaluate(p, &again, a, &second));
    CHECK_INT(second.n_jobs, m->n_jobs);
    for (int i = 0; i < m->n_jobs; i++)
        CHECK(second.timeline->start_s[i] == m->timeline->start_s[i]);
    for (int u = 0; u < p->n_tasks; u++)
        CHECK(again.start_s[u] == plan->start_s[u]);
}

static weft_plan copy_of(const weft_plan *plan, weft_arena *a)
{
    weft_plan copy = weft_plan_new(plan->n_tasks, a);

    memcpy(copy.device, plan->device, (size_t)plan->n_tasks * sizeof *copy.device);
    memcpy(copy.start_s, plan->start_s, (size_t)plan->n_tasks * sizeof *copy.start_s);
    return copy;
}

/* One plan under one model. The makespan, or INFINITY if the plan contradicts itself. */
static double compare(weft_problem *p, weft_transfer transfer, const weft_plan *plan, weft_arena *a)
{
    weft_plan mine = copy_of(plan, a);
    weft_measures m;
    naive s;

    p->transfer = transfer;
    if (!simulate(&s, p, plan)) {
        CHECK_FAILS(weft_evaluate(p, &mine, a, &m), "contradicts the dependences");
        return INFINITY;
    }
    CHECK_OK(weft_evaluate(p, &mine, a, &m));
    check_times(&s, &m);
    check_exclusion(&s);
    check_memory(&s, &m);
    check_sums(&s, &m);
    check_chain(&m);
    check_again(p, &mine, &m, a);
    return m.makespan_s;
}

TEST(simulator_equals_the_naive_one)
{
    weft_rng r = weft_rng_seed(1);
    int n_stuck = 0;

    for (int i = 0; i < N_DRAWN(N_CASES); i++) {
        weft_arena *a = weft_arena_new();
        weft_problem *p = random_case(&r);
        weft_plan plan = random_plan(p, &r, false, a);
        double overlap_s = compare(p, WEFT_OVERLAP, &plan, a);
        double contend_s = compare(p, WEFT_CONTEND, &plan, a);
        double block_s = compare(p, WEFT_BLOCK, &plan, a);
        /* what holds up transfers never makes a plan quicker, nor decides if it can run */
        CHECK(contend_s >= overlap_s && block_s >= overlap_s);
        CHECK(isinf(contend_s) == isinf(overlap_s) && isinf(block_s) == isinf(overlap_s));
        n_stuck += isinf(overlap_s);
        weft_problem_free(p);
        weft_arena_free(a);
    }
    CHECK(n_stuck > N_DRAWN(N_CASES) / 100 &&
          n_stuck < N_DRAWN(N_CASES) / 2); /* both kinds were met */
}

/* Times by a power of two are exact, so are the results. */
TEST(scaled_times_scale_the_results)
{
    const double factor = 0.125;
    weft_rng r = weft_rng_seed(2);

    for (int i = 0; i < 1000; i++) {
        weft_arena *a = weft_arena_new();
        weft_problem *p = random_case(&r);
        weft_plan plan = random_plan(p, &r, true, a), scaled = copy_of(&plan, a);
        weft_problem q = *p;
        double *seconds = WEFT_NEW(a, double, p->n_tasks * p->n_devices);
        double *latency_s = WEFT_NEW(a, double, p->n_devices * p->n_devices);
        double *second_per_byte = WEFT_NEW(a, double, p->n_devices * p->n_devices);
        weft_measures m, n;

        for (int k = 0; k < p->n_tasks * p->n_devices; k++)
            seconds[k] = factor * p->seconds[k];
        for (int k = 0; k < p->n_devices * p->n_devices; k++) {
            latency_s[k] = factor * p->latency_s[k];
            second_per_byte[k] = factor * p->second_per_byte[k];
        }
        q.seconds = seconds;
        q.latency_s = latency_s;
        q.second_per_byte = second_per_byte;
        p->transfer = q.transfer = all_models[i % N_MODELS];
        CHECK_OK(weft_evaluate(p, &plan, a, &m));
        CHECK_OK(weft_evaluate(&q, &scaled, a, &n));
        CHECK(n.makespan_s == factor * m.makespan_s && n.period_s == factor * m.period_s);
        for (int k = 0; k < m.n_jobs; k++)
            CHECK(n.timeline->start_s[k] == factor * m.timeline->start_s[k]);
        weft_problem_free(p);
        weft_arena_free(a);
    }
}

/* --- streams --------------------------------------------------------------------------------- */

/* Filling and draining: each job, hop by hop, waits less than a period beyond the ends of what it
 * waits for. */
static double fill_s(const weft_problem *p, const weft_measures *m)
{
    double sum_s = 0;
    int n_steps = 0;

    for (int i = 0; i < m->n_jobs; i++) {
        int pair = m->jobs->from[i] * p->n_devices + m->jobs->to[i];
        int n_hops = m->jobs->kind[i] == WEFT_JOB_COMPUTE ? 1
                     : p->transfer == WEFT_BLOCK          ? 2
                                                 : p->route_at[pair + 1] - p->route_at[pair];
        n_hops = n_hops < 1 ? 1 : n_hops;
        n_steps += n_hops;
        sum_s += n_hops * m->jobs->duration_s[i];
    }
    return sum_s + n_steps * m->period_s;
}

/* n items need n periods of the busiest resource, and little more. Away from both ends they follow
 * each other at the period; true: exactly. If a resource with a long way behind it has nearly the
 * largest load, more items than this go by before the busiest one alone decides: then the ends are
 * off by less than one period in 120. */
static bool check_stream(const weft_problem *p, weft_plan *plan, weft_arena *a)
{
    enum { N_ITEMS = 240, FILLED = 60, DRAINING = 180 };
    double end_s[N_ITEMS], off_s;
    weft_measures m;

    CHECK_OK(weft_evaluate(p, plan, a, &m));
    run_stream(p, plan, N_ITEMS, end_s);
    CHECK(end_s[N_ITEMS - 1] >= N_ITEMS * m.period_s);
    CHECK(end_s[N_ITEMS - 1] <= N_ITEMS * m.period_s + fill_s(p, &m));
    for (int k = 1; k < N_ITEMS; k++)
        CHECK(end_s[k] >= end_s[k - 1]);
    off_s = end_s[DRAINING] - end_s[FILLED] - (DRAINING - FILLED) * m.period_s;
    CHECK(off_s == 0 || fabs(off_s) < m.period_s);
    return off_s == 0;
}

static void check_streams(weft_transfer transfer, uint64_t seed)
{
    weft_rng r = weft_rng_seed(seed);
    int n_exact = 0;

    for (int i = 0; i < N_STREAM_CASES; i++) {
        weft_arena *a = weft_arena_new();
        weft_problem *p = random_case(&r);
        weft_plan plan = random_plan(p, &r, true, a);
        p->transfer = transfer;
        n_exact += check_stream(p, &plan, a);
        weft_problem_free(p);
        weft_arena_free(a);
    }
    CHECK(n_exact >= N_STREAM_CASES - N_STREAM_CASES / 100);
}

TEST(a_stream_keeps_the_period_of_the_largest_load_under_overlap)
{
    check_streams(WEFT_OVERLAP, 3);
}

TEST(a_stream_keeps_the_period_of_the_largest_load_under_contend)
{
    check_streams(WEFT_CONTEND, 4);
}

TEST(a_stream_keeps_the_period_of_the_largest_load_under_block)
{
    check_streams(WEFT_BLOCK, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simulator_equals_the_naive_one),
        cmocka_unit_test(scaled_times_scale_the_results),
        cmocka_unit_test(a_stream_keeps_the_period_of_the_largest_load_under_overlap),
        cmocka_unit_test(a_stream_keeps_the_period_of_the_largest_load_under_contend),
        cmocka_unit_test(a_stream_keeps_the_period_of_the_largest_load_under_block),
    };

    return RUN_TESTS(tests);
}
