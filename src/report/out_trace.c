/* SPDX-License-Identifier: MIT */
/* out_trace.c: the simulated run as a Chrome trace, which Perfetto and chrome://tracing open.
 *
 * Processes 1 .. D are the devices, with one thread of tasks and a counter of memory; process D + 1
 * has the transfers. Under contend a transfer is on each link of its route, a thread a link; else
 * on a thread for its pair of devices. Viewers want events of a thread not to cross, but transfers
 * that run beside each other do: each pair (or link) has as many threads as it has transfers at one
 * time:
 *   1. Take the transfers of a pair by start.
 *   2. Give back the threads of those that have ended, found by a second list sorted by end.
 *   3. Take the thread given back last, or a new one.
 * Arrows (flow events s and f, a number for each) go from the producer to its transfer and from
 * there to each reader. Times are whole nanoseconds, as viewers keep them: rounding keeps the
 * order, so what does not cross before does not cross after. Exact seconds are in the arguments.
 *
 * Of a mix of ways the one that takes longest is shown.
 *
 * Time O(n log n) in jobs, hops and readers. */
#include "trace.h"

#include <stdlib.h>

/* A transfer on one thread of process D + 1. */
typedef struct hop {
    int job;
    int group;  /* link, or from * n_devices + to */
    int number; /* in order of travel, over all jobs */
    int thread; /* 0 until it is known */
    double start_s, end_s;
} hop;

typedef struct tracing {
    const weft_problem *p;
    const weft_plan *plan;
    const weft_measures *m;
    weft_trace trace;
    weft_arena *scratch; /* rest */
    const char *const *label;
    int *job_of; /* [n_tasks] */
    int n_hops;
    hop *hop;    /* by number */
    int *hop_at; /* [n_jobs + 1] */
    int n_threads, n_flows;
} tracing;

enum { TASKS = 1 }; /* the thread of a device */

static int pid_of_device(int d)
{
    return d + 1; /* viewers keep 0 for themselves */
}

static int pid_of_links(const tracing *t)
{
    return t->p->n_devices + 1;
}

/* --- events ---------------------------------------------------------------------------------- */

static void put_time(tracing *t, weft_doc *event, double start_s)
{
    weft_put_real(t->trace.a, event, "ts", weft_trace_ns(start_s) / 1e3);
}

static weft_doc *add_span(tracing *t, weft_doc *event, const char *category, int job)
{
    double start_s = t->m->timeline->start_s[job], end_s = t->m->timeline->end_s[job];

    weft_put_text(t->trace.a, event, "cat", category);
    put_time(t, event, start_s);
    weft_put_real(t->trace.a, event, "dur", (weft_trace_ns(end_s) - weft_trace_ns(start_s)) / 1e3);
    return weft_trace_args(&t->trace, event);
}

static void add_process(tracing *t, int pid, const char *name)
{
    weft_trace_name(&t->trace, "process_name", pid, 0, name);
    weft_put_int(
        t->trace.a,
        weft_trace_args(&t->trace, weft_trace_event(&t->trace, "M", "process_sort_index", pid, 0)),
        "sort_index", pid);
}

/* --- devices --------------------------------------------------------------------------------- */

static void add_task(tracing *t, int job)
{
    int u = t->m->jobs->task[job];
    weft_doc *e = weft_trace_event(&t->trace, "X", t->p->task_name[u],
                                   pid_of_device(t->plan->device[u]), TASKS);
    weft_doc *args = add_span(t, e, "compute", job);

    weft_put_text(t->trace.a, args, "task", t->p->task_name[u]);
    weft_put_text(t->trace.a, args, "operator", t->p->task_kind[u]);
    weft_put_real(t->trace.a, args, "seconds", t->m->jobs->duration_s[job]);
}

static void add_memory(tracing *t, int d)
{
    for (int i = 0; t->m->memory != NULL && i < t->m->n_memory[d]; i++) {
        weft_doc *e = weft_trace_event(&t->trace, "C", "memory", pid_of_device(d), 0);

        put_time(t, e, t->m->memory[d][i].at_s);
        weft_put_real(t->trace.a, weft_trace_args(&t->trace, e), "bytes", t->m->memory[d][i].bytes);
    }
}

static void add_devices(tracing *t)
{
    const weft_jobs *j = t->m->jobs;

    t->job_of = WEFT_NEW(t->scratch, int, t->p->n_tasks);
    for (int d = 0; d < t->p->n_devices; d++) {
        add_process(t, pid_of_device(d), t->p->device_name[d]);
        weft_trace_name(&t->trace, "thread_name", pid_of_device(d), TASKS, "tasks");
        add_memory(t, d);
    }
    for (int i = 0; i < j->n_jobs; i++)
        if (j->kind[i] == WEFT_JOB_COMPUTE) {
            t->job_of[j->task[i]] = i;
            add_task(t, i);
        }
}

/* --- threads of transfers -------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
    const hop *x = *(hop *const *)a, *y = *(hop *const *)b;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->start_s > y->start_s || x->start_s < y->start_s)
        return x->start_s < y->start_s ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static int by_end(const void *a, const void *b)
{
    const hop *x = *(hop *const *)a, *y = *(hop *const *)b;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->end_s > y->end_s || x->end_s < y->end_s)
        return x->end_s < y->end_s ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* True if a route, which may cross a half-duplex link twice, met its link k before. */
static bool is_repeated(const weft_problem *p, int first, int k)
{
    for (int i = first; i < k; i++)
        if (p->route[i] == p->route[k])
            return true;
    return false;
}

static void add_hop(tracing *t, int job, int group)
{
    t->hop[t->n_hops] = (hop){.job = job,
                              .group = group,
                              .number = t->n_hops,
                              .start_s = t->m->timeline->start_s[job],
                              .end_s = t->m->timeline->end_s[job]};
    t->n_hops++;
}

static size_t most_hops(const tracing *t)
{
    const weft_jobs *j = t->m->jobs;
    size_t n = 0;

    for (int i = 0; i < j->n_jobs; i++)
        if (j->kind[i] == WEFT_JOB_TRANSFER) {
            int pair = j->from[i] * t->p->n_devices + j->to[i];
            n += 1 + (size_t)(t->p->route_at[pair + 1] - t->p->route_at[pair]);
        }
    return n;
}

static void list_hops(tracing *t)
{
    const weft_problem *p = t->p;
    const weft_jobs *j = t->m->jobs;

    t->hop = WEFT_NEW(t->scratch, hop, most_hops(t));
    t->hop_at = WEFT_NEW(t->scratch, int, j->n_jobs + 1);
    for (int i = 0; i < j->n_jobs; i++) {
        bool is_sent = j->kind[i] == WEFT_JOB_TRANSFER;
        int pair = is_sent ? j->from[i] * p->n_devices + j->to[i] : 0;
        int first = p->route_at[pair], last = p->route_at[pair + 1];

        t->hop_at[i] = t->n_hops;
        if (is_sent && (p->transfer != WEFT_CONTEND || first == last))
            add_hop(t, i, p->transfer == WEFT_CONTEND ? p->n_links + pair : pair);
        else
            for (int k = first; is_sent && k < last; k++)
                if (!is_repeated(p, first, k))
                    add_hop(t, i, p->route[k]);
    }
    t->hop_at[j->n_jobs] = t->n_hops;
}

/* Threads of one group: n hops in both orders. `given_back` has room for n. */
static int assign_threads(hop **start, hop **end, int n, int first, int *given_back)
{
    int n_free = 0, n_used = 0, ended = 0;

    for (int i = 0; i < n; i++) {
        while (ended < n && end[ended]->thread > 0 && end[ended]->end_s <= start[i]->start_s)
            given_back[n_free++] = end[ended++]->thread;
        start[i]->thread = n_free > 0 ? given_back[--n_free] : first + n_used++;
    }
    return n_used;
}

static void name_threads(tracing *t, const hop *h, int n)
{
    const weft_problem *p = t->p;
    const weft_jobs *j = t->m->jobs;
    const char *name;

    if (p->transfer == WEFT_CONTEND && h->group < p->n_links)
        name = p->link_name[h->group];
    else
        name = weft_arena_print(t->trace.a, "%s>%s", p->device_name[j->from[h->job]],
                                p->device_name[j->to[h->job]]);
    for (int i = 0; i < n; i++)
        weft_trace_name(&t->trace, "thread_name", pid_of_links(t), t->n_threads + 1 + i,
                        i == 0 ? name : weft_arena_print(t->trace.a, "%s (%d)", name, i + 1));
    t->n_threads += n;
}

static void make_threads(tracing *t)
{
    hop **start = WEFT_NEW(t->scratch, hop *, t->n_hops);
    hop **end = WEFT_NEW(t->scratch, hop *, t->n_hops);
    int *given_back = WEFT_NEW(t->scratch, int, t->n_hops);

    if (t->n_hops == 0)
        return;
    add_process(t, pid_of_links(t), "links");
    for (int i = 0; i < t->n_hops; i++)
        start[i] = end[i] = &t->hop[i];
    qsort(start, (size_t)t->n_hops, sizeof *start, by_start);
    qsort(end, (size_t)t->n_hops, sizeof *end, by_end);
    for (int first = 0, n; first < t->n_hops; first += n) {
        for (n = 1; first + n < t->n_hops && start[first + n]->group == start[first]->group; n++)
            ;
        name_threads(t, start[first],
                     assign_threads(start + first, end + first, n, t->n_threads + 1, given_back));
    }
}

/* --- transfers and arrows -------------------------------------------------------------------- */

static void add_transfer(tracing *t, const hop *h)
{
    const weft_jobs *j = t->m->jobs;
    int tensor = j->tensor[h->job];
    weft_doc *e = weft_trace_event(&t->trace, "X", t->label[tensor], pid_of_links(t), h->thread);
    weft_doc *args = add_span(t, e, "transfer", h->job);

    weft_put_text(t->trace.a, args, "tensor", t->label[tensor]);
    weft_put_text(t->trace.a, args, "from", t->p->device_name[j->from[h->job]]);
    weft_put_text(t->trace.a, args, "to", t->p->device_name[j->to[h->job]]);
    weft_put_real(t->trace.a, args, "bytes", t->p->amount[tensor]);
    weft_put_real(t->trace.a, args, "seconds", j->duration_s[h->job]);
}

/* One end of an arrow. It belongs to the event around its time: the start, since an event does not
 * contain its end. */
static void add_arrow_end(tracing *t, const char *phase, int pid, int tid, int job)
{
    weft_doc *e = weft_trace_event(&t->trace, phase, "send", pid, tid);

    weft_put_text(t->trace.a, e, "cat", "send");
    weft_put_int(t->trace.a, e, "id", t->n_flows);
    put_time(t, e, t->m->timeline->start_s[job]);
    weft_put_text(t->trace.a, e, "bp", "e");
}

static void add_task_end(tracing *t, const char *phase, int u)
{
    add_arrow_end(t, phase, pid_of_device(t->plan->device[u]), TASKS, t->job_of[u]);
}

static void add_arrows(tracing *t, int job)
{
    const weft_problem *p = t->p;
    const hop *first = &t->hop[t->hop_at[job]], *last = &t->hop[t->hop_at[job + 1] - 1];
    int tensor = t->m->jobs->tensor[job], links = pid_of_links(t);

    if (p->producer[tensor] >= 0) {
        t->n_flows++;
        add_task_end(t, "s", p->producer[tensor]);
        add_arrow_end(t, "f", links, first->thread, job);
    }
    for (int i = p->reader_at[tensor]; i < p->reader_at[tensor + 1]; i++)
        if (t->plan->device[p->reader[i]] == t->m->jobs->to[job]) {
            t->n_flows++;
            add_arrow_end(t, "s", links, last->thread, job);
            add_task_end(t, "f", p->reader[i]);
        }
}

static void add_links(tracing *t)
{
    t->label = weft_tensor_labels(t->p, t->scratch);
    list_hops(t);
    make_threads(t);
    for (int i = 0; i < t->n_hops; i++)
        add_transfer(t, &t->hop[i]);
    for (int i = 0; i < t->m->n_jobs; i++)
        if (t->m->jobs->kind[i] == WEFT_JOB_TRANSFER)
            add_arrows(t, i);
}

/* Of a mix the way whose run was kept: the one that takes longest. */
static weft_plan shown_way(const weft_report *r)
{
    weft_plan view = r->solution->plan;
    size_t first = (size_t)r->solution->measures.longest_way * (size_t)view.n_tasks;

    if (view.n_ways > 1) {
        view.device += first;
        view.start_s += first;
        view.n_ways = 1;
    }
    return view;
}

weft_doc *weft_report_trace(const weft_report *r, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);
    weft_plan view = shown_way(r);
    tracing t = {
        .p = r->problem,
        .plan = &view,
        .m = &r->solution->measures,
        .trace = {a, weft_doc_new(a, WEFT_DOC_LIST)},
        .scratch = weft_arena_new(),
    };

    if (weft_report_has_plan(r) && t.m->jobs != NULL && t.m->timeline != NULL) {
        add_devices(&t);
        add_links(&t);
    }
    weft_doc_put(a, d, "traceEvents", t.trace.events);
    weft_put_text(a, d, "displayTimeUnit", "ms");
    weft_arena_free(t.scratch);
    return d;
}
