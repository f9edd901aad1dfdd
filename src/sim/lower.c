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
 * A single run (n_items = 1) is the definition of latency. Resources:
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
 * A stream (n_items > 1) is the definition of throughput: items follow each other at the largest
 * load of any resource. A transfer that holds several resources at once cannot always keep up with
 * that: three devices that send to each other in a circle under block have two transfers each, but
 * no two of the three transfers fit side by side. In a stream transfers are therefore buffered: a
 * transfer holds its resources one after the other, each for its whole length (block: sender, then
 * receiver; contend: link by link). Loads are the same. All resources are queues, ordered by
 * the reservation of items.c.
 *
 * Time O(n log n) in jobs, dependences and uses. */
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "parts.h"

/* One tensor on its way to one device. */
typedef struct sending {
    int tensor, from, to;
} sending;

/* The plan as read: what is sent, and one order of all tasks. */
typedef struct draft {
    const weft_problem *p;
    const weft_plan *plan;
    bool is_stream;
    int n_sends;
    sending *send;
    int *send_at;  /* [n_tensors + 1] */
    int *get_at;   /* [n_tasks + 1] */
    int *get;      /* task -> sends it waits for */
    int *order;    /* [n_tasks] tasks in plan order */
    int n_ordered; /* the rest of order[] contradicts itself */
    int *hop_at;   /* [n_sends + 1] jobs of a send, counted from n_tasks */
    int *hold;     /* resources of one send at a time, in order of travel */
    int *seen;     /* [n_resources] the look at a route that met it last */
    int n_looks;
    int n_queues;    /* resources before links and devices as such */
    int n_resources; /* all */
    int n_jobs;      /* of one item */
    weft_arena *scratch;
} draft;

/* --- what is sent ---------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

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
    qsort(to, (size_t)n, sizeof *to, by_number);
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

/* Goes through the readers of all sends: counts them in place[], or fills get[] from place[] on. */
static void visit_readers(draft *d, int *place, bool is_counting)
{
    const weft_problem *p = d->p;
    int *by_device = WEFT_NEW(d->scratch, int, p->n_devices);

    for (int t = 0; t < p->n_tensors; t++) {
        int home = home_of(d, t);
        if (d->send_at[t] == d->send_at[t + 1])
            continue;
        for (int s = d->send_at[t]; s < d->send_at[t + 1]; s++)
            by_device[d->send[s].to] = s;
        for (int i = p->reader_at[t]; i < p->reader_at[t + 1]; i++) {
            int v = p->reader[i];
            if (d->plan->device[v] == home)
                continue;
            if (!is_counting)
                d->get[place[v]] = by_device[d->plan->device[v]];
            place[v]++;
        }
    }
}

static void list_gets(draft *d)
{
    int n = d->p->n_tasks;
    int *place = WEFT_NEW(d->scratch, int, n);

    visit_readers(d, place, true);
    d->get_at = WEFT_NEW(d->scratch, int, n + 1);
    for (int u = 0; u < n; u++) {
        d->get_at[u + 1] = d->get_at[u] + place[u];
        place[u] = d->get_at[u];
    }
    d->get = WEFT_NEW(d->scratch, int, d->get_at[n]);
    visit_readers(d, place, false);
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
    weft_line free;  /* by start, tasks without length first, number */
    int n_groups;
} ordering;

static double start_of(const draft *d, int u)
{
    return isnan(d->plan->start_s[u]) ? INFINITY : d->plan->start_s[u];
}

static double task_s(const draft *d, int u)
{
    return weft_task_s(d->p, u, d->plan->device[u]);
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
        weft_line_push(&o->free, (weft_waiting){start_of(o->d, u), rank, u});
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
        .free = {.entry = WEFT_NEW(d->scratch, weft_waiting, n)},
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
        int u = weft_line_pop(&o.free).id;
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

/* Resources that send s holds, in order of travel, into hold[]. Returns their number. */
static int hold_of(draft *d, int s)
{
    int first_device = d->is_stream ? 0 : d->n_queues; /* a stream knows queues only */

    if (d->p->transfer == WEFT_OVERLAP || !(send_s(d, s) > 0))
        return 0;
    if (d->p->transfer == WEFT_CONTEND)
        return hold_links(d, s);
    d->hold[0] = first_device + d->send[s].from;
    d->hold[1] = first_device + d->send[s].to;
    return 2;
}

static void list_resources(draft *d)
{
    const weft_problem *p = d->p;
    int n_links = p->transfer == WEFT_CONTEND ? p->n_links : 0;
    int n_devices = p->transfer == WEFT_BLOCK && !d->is_stream ? p->n_devices : 0;

    d->n_queues = p->n_devices;
    d->n_resources = d->n_queues + n_links + n_devices;
    d->seen = WEFT_NEW(d->scratch, int, d->n_resources);
    d->hold = WEFT_NEW(d->scratch, int, d->n_resources + 1);
}

/* False: more jobs than an int counts. */
static bool list_hops(draft *d)
{
    d->hop_at = WEFT_NEW(d->scratch, int, d->n_sends + 1);
    for (int s = 0; s < d->n_sends; s++) {
        int n_hops = d->is_stream ? hold_of(d, s) : 1;
        if (__builtin_add_overflow(d->hop_at[s], n_hops > 1 ? n_hops : 1, &d->hop_at[s + 1]))
            return false;
    }
    return !__builtin_add_overflow(d->p->n_tasks, d->hop_at[d->n_sends], &d->n_jobs);
}

/* --- the jobs of one item -------------------------------------------------------------------- */

static int last_job(const draft *d, int s)
{
    return d->p->n_tasks + d->hop_at[s + 1] - 1;
}

static void add_task(draft *d, int u, weft_item *out)
{
    const weft_problem *p = d->p;
    int n_deps = out->dep_at[u], n_uses = out->use_at[u];

    out->duration_s[u] = task_s(d, u);
    out->task[u] = u;
    for (int i = p->pred_at[u]; i < p->pred_at[u + 1]; i++)
        out->dep[n_deps++] = p->pred[i];
    for (int i = d->get_at[u]; i < d->get_at[u + 1]; i++)
        out->dep[n_deps++] = last_job(d, d->get[i]);
    out->use[n_uses++] = d->plan->device[u];
    if (p->transfer == WEFT_BLOCK && !d->is_stream && task_s(d, u) > 0)
        out->use[n_uses++] = d->n_queues + d->plan->device[u];
    out->dep_at[u + 1] = n_deps;
    out->use_at[u + 1] = n_uses;
}

/* In a single run one job with all resources; in a stream a job for each. */
static void add_send(draft *d, int s, weft_item *out)
{
    int first = d->p->n_tasks + d->hop_at[s], last = last_job(d, s);
    int producer = d->p->producer[d->send[s].tensor];
    int n_held = hold_of(d, s), i = 0;

    if (!d->is_stream)
        qsort(d->hold, (size_t)n_held, sizeof *d->hold, by_number);
    for (int j = first; j <= last; j++) {
        int n_deps = out->dep_at[j], n_uses = out->use_at[j];
        int until = j == last ? n_held : i + 1;
        out->duration_s[j] = send_s(d, s);
        out->kind[j] = WEFT_JOB_TRANSFER;
        out->tensor[j] = d->send[s].tensor;
        out->from[j] = d->send[s].from;
        out->to[j] = d->send[s].to;
        if (j > first || producer >= 0)
            out->dep[n_deps++] = j > first ? j - 1 : producer;
        for (; i < until; i++)
            out->use[n_uses++] = d->hold[i];
        out->dep_at[j + 1] = n_deps;
        out->use_at[j + 1] = n_uses;
    }
}

/* False: more dependences or uses than an int counts. */
static bool count_item(draft *d, int n_items, int64_t *n_deps, int64_t *n_uses)
{
    int64_t n_sending = (int64_t)d->n_jobs - d->p->n_tasks, most;

    *n_deps = (int64_t)d->p->pred_at[d->p->n_tasks] + d->get_at[d->p->n_tasks] + n_sending;
    *n_uses = 2 * (int64_t)d->p->n_tasks + n_sending;
    if (!d->is_stream)
        for (int s = 0; s < d->n_sends; s++)
            *n_uses += hold_of(d, s);
    most = *n_deps > *n_uses ? *n_deps : *n_uses;
    return most <= INT_MAX / n_items;
}

static bool make_item(draft *d, int n_items, weft_item *out)
{
    int64_t n_deps, n_uses;

    if (!count_item(d, n_items, &n_deps, &n_uses))
        return false;
    *out = weft_item_new(d->n_jobs, d->n_resources, n_deps, n_uses, d->scratch);
    for (int r = 0; r < d->n_resources; r++)
        out->is_queue[r] = d->is_stream || r < d->n_queues;
    for (int u = 0; u < d->p->n_tasks; u++)
        add_task(d, u, out);
    for (int s = 0; s < d->n_sends; s++)
        add_send(d, s, out);
    return true;
}

/* --- ranks ----------------------------------------------------------------------------------- */

/* Tasks without length between two others of a device share a rank: they need no order. */
static void rank_run(const draft *d, weft_item *one)
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

static int add_jobs_of_tensor(const draft *d, int t, int *list, int n)
{
    int first = d->hop_at[d->send_at[t]], end = d->hop_at[d->send_at[t + 1]];

    for (int i = first; i < end; i++)
        list[n++] = d->p->n_tasks + i;
    return n;
}

/* All jobs of an item in an order that agrees with dependences and queues. */
static const int *list_jobs(const draft *d)
{
    const weft_problem *p = d->p;
    int *list = WEFT_NEW(d->scratch, int, d->n_jobs), n = 0;

    for (int t = 0; t < p->n_tensors; t++)
        if (p->producer[t] < 0)
            n = add_jobs_of_tensor(d, t, list, n);
    for (int i = 0; i < p->n_tasks; i++) {
        int u = d->order[i];
        list[n++] = u;
        for (int k = p->res_at[u]; k < p->res_at[u + 1]; k++)
            n = add_jobs_of_tensor(d, p->res[k], list, n);
    }
    assert(n == d->n_jobs);
    return list;
}

static weft_jobs *lower(draft *d, int n_items, weft_arena *a)
{
    weft_item one = {0};

    list_sends(d);
    list_gets(d);
    order_tasks(d);
    list_resources(d);
    if (!list_hops(d) || !make_item(d, n_items, &one))
        return NULL;
    if (d->is_stream)
        weft_item_reserve(&one, list_jobs(d), d->scratch);
    else
        rank_run(d, &one);
    return weft_item_copies(&one, n_items, a);
}

weft_jobs *weft_lower_in(const weft_problem *p, const weft_plan *plan, int n_items, weft_arena *a)
{
    draft d = {.p = p, .plan = plan, .is_stream = n_items > 1};
    weft_jobs *out;

    assert(n_items >= 1 && plan->n_tasks == p->n_tasks);
    if (p->transfer == WEFT_CALLS)
        return weft_lower_calls(p, plan, n_items, a);
    d.scratch = weft_arena_new();
    out = lower(&d, n_items, a);
    weft_arena_free(d.scratch);
    return out;
}

weft_jobs *weft_lower(const weft_problem *p, const weft_plan *plan, int n_items)
{
    weft_arena *a = weft_arena_new();
    weft_jobs *out = weft_lower_in(p, plan, n_items, a);

    if (out == NULL)
        weft_arena_free(a);
    else
        out->arena = a;
    return out;
}

void weft_jobs_free(weft_jobs *j)
{
    if (j != NULL)
        weft_arena_free(j->arena);
}
