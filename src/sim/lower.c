/* SPDX-License-Identifier: MIT */
/* lower.c: a plan as jobs on resources.
 *
 * Jobs of an item: first one compute job a task, in order of the tasks; then one transfer job for
 * each tensor and each device that reads it and where it does not lie, by (tensor, destination). A
 * tensor lies where its task runs; without a task it lies on the host from time 0, or everywhere if
 * there is no host. Weights are never sent.
 *
 * The order of tasks on a device is the order of their starts in the plan. Tasks of one device with
 * equal starts have none of their own: they follow the dependences, then tasks without length come
 * first, then those whose length is lost when it is added to the start (all that come before
 * another of the same start must be such), then the lower number. Tasks without length between two
 * others do not wait for each other. In a run every job with length ends later than it starts
 * (weft_end_s), so the starts that the simulator writes into a plan give the same run again. If
 * different starts contradict the dependences, no order exists: the jobs are queued by start and
 * the run is stuck.
 *
 * The run is the definition of latency. Resources:
 *   overlap  0 .. D-1 the devices' queues of tasks. Transfers use nothing.
 *   contend  the queues, then D .. D+L-1 the directed links, first come first served. A transfer
 *            holds all links of its route at once.
 *   block    the queues, then D .. 2D-1 the devices as such, first come first served. A task holds
 *            its device, a transfer holds sender and receiver at once.
 *   calls    lower_calls.c.
 * A job of no length holds neither link nor device: it only keeps its place in a queue. Who becomes
 * ready at the same time is served by rank: transfers by (tensor, destination), then tasks. These
 * ranks do not depend on starts, so simulating a plan with simulated starts changes nothing.
 *
 * No deadlock: queues and dependences are restrictions of one order of all tasks (unless the plan
 * contradicts itself), and all links or devices of a job are taken at one time. If nothing runs,
 * the first of all that wait, by (ready time, rank), is first in each of its lines: it starts.
 *
 * Throughput: items follow each other at the largest load of any resource. A transfer that holds
 * several resources at once cannot always keep up with that: three devices that send to each other
 * in a circle under block have two transfers each, but no two of the three transfers fit side by
 * side. In a stream transfers are therefore buffered: a transfer holds its resources one after the
 * other, each for its whole length (block: sender, then receiver; contend: link by link). Loads are
 * the same. tests/stream.c runs such streams.
 *
 * Time O(n log n) in jobs, dependences and uses. */
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "order.h"
#include "parts.h"
#include "rows.h"

/* One tensor on its way to one device. */
typedef struct sending {
    int tensor, from, to;
} sending;

/* The plan as read: what is sent, and one order of all tasks. */
typedef struct draft {
    const weft_problem *p;
    const weft_plan *plan;
    int n_sends;
    sending *send;
    int *send_at;  /* [n_tensors + 1] */
    weft_rows get; /* task -> sends it waits for */
    int *order;    /* [n_tasks] tasks in plan order */
    int n_ordered; /* the rest of order[] contradicts itself */
    int *hold;     /* resources of one send at a time */
    int *seen;     /* [n_resources] the look at a route that met it last */
    int n_looks;
    const double *switch_s; /* [n_tasks] what each takes longer; NULL: nothing */
    int n_queues;           /* resources before links and devices as such */
    int n_resources;        /* all */
    weft_arena *scratch;
} draft;

/* --- what is sent ---------------------------------------------------------------------------- */

/* Where tensor t lies, or -1: nowhere in particular, it is never sent. */
static int home_of(const draft *d, int t)
{
    if (d->p->is_weight[t])
        return -1;
    return d->p->producer[t] < 0 ? d->p->host : d->plan->device[d->p->producer[t]];
}

/* Devices that read t and where it does not lie, ascending. mark[device] = t + 1: met already. */
static int destinations(const draft *d, int t, int *mark, int *to)
{
    const weft_problem *p = d->p;
    int home = home_of(d, t), n = 0;

    if (home < 0)
        return 0;
    mark[home] = t + 1;
    for (int i = p->reader_at[t]; i < p->reader_at[t + 1]; i++) {
        int device = d->plan->device[p->reader[i]];
        if (mark[device] != t + 1)
            to[n++] = device;
        mark[device] = t + 1;
    }
    qsort(to, (size_t)n, sizeof *to, weft_by_int);
    return n;
}

static void list_sends(draft *d)
{
    const weft_problem *p = d->p;
    int *mark = WEFT_NEW(d->scratch, int, p->n_devices);
    int *to = WEFT_NEW(d->scratch, int, p->n_devices);

    /* a send has at least one reader, so the readers' number is room enough */
    d->send = WEFT_NEW(d->scratch, sending, p->reader_at[p->n_tensors]);
    d->send_at = WEFT_NEW(d->scratch, int, p->n_tensors + 1);
    for (int t = 0; t < p->n_tensors; t++) {
        int n = destinations(d, t, mark, to);
        for (int i = 0; i < n; i++)
            d->send[d->n_sends++] = (sending){t, home_of(d, t), to[i]};
        d->send_at[t + 1] = d->n_sends;
    }
}

/* The sends that each task waits for. */
static void list_gets(draft *d)
{
    const weft_problem *p = d->p;
    int *by_device = WEFT_NEW(d->scratch, int, p->n_devices), n = 0;
    int *task = WEFT_NEW(d->scratch, int, p->reader_at[p->n_tensors]);
    int *send = WEFT_NEW(d->scratch, int, p->reader_at[p->n_tensors]);

    for (int t = 0; t < p->n_tensors; t++) {
        int home = home_of(d, t);
        if (d->send_at[t] == d->send_at[t + 1])
            continue;
        for (int s = d->send_at[t]; s < d->send_at[t + 1]; s++)
            by_device[d->send[s].to] = s;
        for (int i = p->reader_at[t]; i < p->reader_at[t + 1]; i++) {
            int device = d->plan->device[p->reader[i]];
            if (device == home)
                continue;
            task[n] = p->reader[i];
            send[n++] = by_device[device];
        }
    }
    d->get = weft_rows_by(task, n, p->n_tasks, d->scratch);
    for (int i = 0; i < n; i++)
        d->get.item[i] = send[d->get.item[i]];
}

/* --- the order of tasks ---------------------------------------------------------------------- */

/* Tasks of one device with equal starts form a group; a group opens when the one before it on its
 * device is done. An open task all of whose predecessors are done is free to be taken. */
typedef struct ordering {
    const draft *d;
    const int *turn; /* [n_tasks] tasks by device, start, number */
    int *group_of;   /* [n_tasks] */
    int *group_at;   /* [n_groups + 1] into turn */
    int *left;       /* [n_groups] */
    bool *is_open;   /* [n_groups] */
    int *pending;    /* [n_tasks] predecessors not done */
    weft_queue free; /* by start, tasks without length first, number */
    int n_groups;
} ordering;

static double start_of(const draft *d, int u)
{
    return isnan(d->plan->start_s[u]) ? INFINITY : d->plan->start_s[u];
}

static double task_s(const draft *d, int u)
{
    return weft_task_s(d->p, u, d->plan->device[u]) + (d->switch_s ? d->switch_s[u] : 0);
}

static const int *list_turns(const draft *d)
{
    int n = d->p->n_tasks, *turn = WEFT_NEW(d->scratch, int, n);
    uint64_t *key = WEFT_NEW(d->scratch, uint64_t, n);

    for (int u = 0; u < n; u++) {
        turn[u] = u;
        key[u] = weft_time_key(start_of(d, u));
    }
    weft_sort(key, turn, n, d->scratch);
    for (int u = 0; u < n; u++)
        key[u] = (uint64_t)d->plan->device[u];
    weft_sort(key, turn, n, d->scratch);
    return turn;
}

static bool is_first_of_device(const ordering *o, int i)
{
    const int *device = o->d->plan->device;

    return i == 0 || device[o->turn[i]] != device[o->turn[i - 1]];
}

static bool is_first_of_group(const ordering *o, int i)
{
    return is_first_of_device(o, i) || start_of(o->d, o->turn[i]) > start_of(o->d, o->turn[i - 1]);
}

static void list_groups(ordering *o)
{
    int n = o->d->p->n_tasks;

    for (int i = 0; i < n; i++) {
        if (is_first_of_group(o, i)) {
            o->is_open[o->n_groups] = is_first_of_device(o, i);
            o->group_at[o->n_groups++] = i;
        }
        o->group_of[o->turn[i]] = o->n_groups - 1;
        o->left[o->n_groups - 1]++;
    }
    o->group_at[o->n_groups] = n;
}

/* Among tasks of equal start: 0 without length, 1 with a length that the start swallows, 2 other.
 */
static int turn_of(const draft *d, int u)
{
    double start_s = start_of(d, u), length_s = task_s(d, u);

    if (!(length_s > 0))
        return 0;
    return start_s + length_s > start_s ? 2 : 1;
}

static void free_if_ready(ordering *o, int u)
{
    int64_t rank = turn_of(o->d, u) * ((int64_t)INT_MAX + 1) + u;

    if (o->pending[u] == 0 && o->is_open[o->group_of[u]])
        weft_queue_push(&o->free, (weft_queued){start_of(o->d, u), rank, u});
}

static void open_group(ordering *o, int g)
{
    o->is_open[g] = true;
    for (int i = o->group_at[g]; i < o->group_at[g + 1]; i++)
        free_if_ready(o, o->turn[i]);
}

static void take(ordering *o, int u)
{
    const weft_problem *p = o->d->p;
    int g = o->group_of[u];

    for (int i = p->succ_at[u]; i < p->succ_at[u + 1]; i++)
        if (--o->pending[p->succ[i]] == 0)
            free_if_ready(o, p->succ[i]);
    if (--o->left[g] == 0 && g + 1 < o->n_groups && !o->is_open[g + 1])
        open_group(o, g + 1);
}

static ordering new_ordering(const draft *d)
{
    int n = d->p->n_tasks;

    return (ordering){
        .d = d,
        .turn = list_turns(d),
        .group_of = WEFT_NEW(d->scratch, int, n),
        .group_at = WEFT_NEW(d->scratch, int, n + 1),
        .left = WEFT_NEW(d->scratch, int, n),
        .is_open = WEFT_NEW(d->scratch, bool, n),
        .pending = WEFT_NEW(d->scratch, int, n),
        .free = {.entry = WEFT_NEW(d->scratch, weft_queued, n)},
    };
}

static void order_tasks(draft *d)
{
    const weft_problem *p = d->p;
    ordering o = new_ordering(d);
    bool *is_taken = WEFT_NEW(d->scratch, bool, p->n_tasks);
    int n = 0;

    d->order = WEFT_NEW(d->scratch, int, p->n_tasks);
    list_groups(&o);
    for (int u = 0; u < p->n_tasks; u++) {
        o.pending[u] = p->pred_at[u + 1] - p->pred_at[u];
        free_if_ready(&o, u);
    }
    while (o.free.n > 0) {
        int u = weft_queue_pop(&o.free).id;
        d->order[n++] = u;
        is_taken[u] = true;
        take(&o, u);
    }
    d->n_ordered = n;
    /* the rest contradicts itself; by start on each device it stays contradictory */
    for (int i = 0; i < p->n_tasks; i++)
        if (!is_taken[o.turn[i]])
            d->order[n++] = o.turn[i];
}

/* --- resources ------------------------------------------------------------------------------- */

static double send_s(const draft *d, int s)
{
    return weft_send_s(d->p, d->send[s].tensor, d->send[s].from, d->send[s].to);
}

/* Links of the route of send s into hold[], each once. */
static int hold_links(draft *d, int s)
{
    const weft_problem *p = d->p;
    int pair = d->send[s].from * p->n_devices + d->send[s].to, n = 0;

    d->n_looks++;
    for (int i = p->route_at[pair]; i < p->route_at[pair + 1]; i++) {
        int r = d->n_queues + p->route[i];
        if (d->seen[r] != d->n_looks)
            d->hold[n++] = r;
        d->seen[r] = d->n_looks;
    }
    return n;
}

/* Resources that send s holds, into hold[]. Returns their number. */
static int hold_of(draft *d, int s)
{
    if (d->p->transfer == WEFT_OVERLAP || !(send_s(d, s) > 0))
        return 0;
    if (d->p->transfer == WEFT_CONTEND)
        return hold_links(d, s);
    d->hold[0] = d->n_queues + d->send[s].from;
    d->hold[1] = d->n_queues + d->send[s].to;
    return 2;
}

static void list_resources(draft *d)
{
    const weft_problem *p = d->p;
    int n_links = p->transfer == WEFT_CONTEND ? p->n_links : 0;
    int n_devices = p->transfer == WEFT_BLOCK ? p->n_devices : 0;

    d->n_queues = p->n_devices;
    d->n_resources = d->n_queues + n_links + n_devices;
    d->seen = WEFT_NEW(d->scratch, int, d->n_resources);
    d->hold = WEFT_NEW(d->scratch, int, d->n_resources + 1);
}

/* --- jobs ------------------------------------------------------------------------------------ */

static void add_task(draft *d, int u, weft_jobs *out)
{
    const weft_problem *p = d->p;
    int n_deps = out->dep_at[u], n_uses = out->use_at[u];

    out->duration_s[u] = task_s(d, u);
    out->task[u] = u;
    for (int i = p->pred_at[u]; i < p->pred_at[u + 1]; i++)
        out->dep[n_deps++] = p->pred[i];
    for (int i = d->get.at[u]; i < d->get.at[u + 1]; i++)
        out->dep[n_deps++] = p->n_tasks + d->get.item[i];
    out->use[n_uses++] = d->plan->device[u];
    if (p->transfer == WEFT_BLOCK && task_s(d, u) > 0)
        out->use[n_uses++] = d->n_queues + d->plan->device[u];
    out->dep_at[u + 1] = n_deps;
    out->use_at[u + 1] = n_uses;
}

static void add_send(draft *d, int s, weft_jobs *out)
{
    int j = d->p->n_tasks + s, producer = d->p->producer[d->send[s].tensor];
    int n_held = hold_of(d, s);

    out->duration_s[j] = send_s(d, s);
    out->kind[j] = WEFT_JOB_TRANSFER;
    out->tensor[j] = d->send[s].tensor;
    out->from[j] = d->send[s].from;
    out->to[j] = d->send[s].to;
    out->dep_at[j + 1] = out->dep_at[j];
    if (producer >= 0)
        out->dep[out->dep_at[j + 1]++] = producer;
    qsort(d->hold, (size_t)n_held, sizeof *d->hold, weft_by_int);
    for (int i = 0; i < n_held; i++)
        out->use[out->use_at[j] + i] = d->hold[i];
    out->use_at[j + 1] = out->use_at[j] + n_held;
}

/* NULL: more jobs, dependences or uses than an int counts. */
static weft_jobs *make_jobs(draft *d, weft_arena *a)
{
    int n = d->p->n_tasks;
    int64_t n_jobs = (int64_t)n + d->n_sends, n_uses = 2 * (int64_t)n;
    int64_t n_deps = (int64_t)d->p->pred_at[n] + d->get.at[n] + d->n_sends;
    weft_jobs *out;

    for (int s = 0; s < d->n_sends; s++)
        n_uses += hold_of(d, s);
    if (n_jobs > INT_MAX || n_deps > INT_MAX || n_uses > INT_MAX)
        return NULL;
    out = weft_jobs_new((int)n_jobs, d->n_resources, n_deps, n_uses, a);
    for (int r = 0; r < d->n_queues; r++)
        out->is_queue[r] = true;
    for (int u = 0; u < n; u++)
        add_task(d, u, out);
    for (int s = 0; s < d->n_sends; s++)
        add_send(d, s, out);
    return out;
}

/* --- ranks ----------------------------------------------------------------------------------- */

/* Tasks without length between two others of a device share a rank: they need no order. */
static void rank_run(const draft *d, weft_jobs *one)
{
    int *last = WEFT_NEW(d->scratch, int, d->p->n_devices); /* 1 + its last task without length */

    for (int s = 0; s < d->n_sends; s++)
        one->rank[d->p->n_tasks + s] = s;
    for (int i = 0; i < d->p->n_tasks; i++) {
        int u = d->order[i], device = d->plan->device[u];
        bool has_length = task_s(d, u) > 0;
        bool is_beside = last[device] > 0 && !has_length && i < d->n_ordered;
        one->rank[u] = is_beside ? one->rank[last[device] - 1] : (int64_t)d->n_sends + i;
        last[device] = has_length ? 0 : u + 1;
    }
}

weft_jobs *weft_lower(const weft_problem *p, const weft_plan *plan, weft_arena *a)
{
    draft d = {.p = p, .plan = plan};
    weft_jobs *out;

    assert(plan->n_tasks == p->n_tasks);
    if (p->transfer == WEFT_CALLS)
        return weft_lower_calls(p, plan, a);
    d.scratch = weft_arena_new();
    d.switch_s = weft_switch_times(p, plan->device, d.scratch);
    list_sends(&d);
    list_gets(&d);
    order_tasks(&d);
    list_resources(&d);
    out = make_jobs(&d, a);
    if (out != NULL)
        rank_run(&d, out);
    weft_arena_free(d.scratch);
    return out;
}
