/* SPDX-License-Identifier: MIT */
/* out_trace.c: the simulated run as a Chrome trace, which Perfetto and chrome://tracing open.
 *
 * Processes 1 .. D are the devices, with one thread of tasks and a counter of memory; process D + 1
 * has the transfers. Under contend a transfer is on each link of its route, a thread a link; else
 * on a thread for its pair of devices. Viewers want events of a thread not to cross, but transfers
 * that run beside each other do: each pair (or link) has as many threads as it has lanes (lanes.c).
 * Arrows (flow events s and f, a number for each) go from the producer to its transfer and from
 * there to each reader. Times are whole nanoseconds, as viewers keep them: rounding keeps the
 * order, so what does not cross before does not cross after. Exact seconds are in the arguments.
 *
 * Of a mix of ways the one that takes longest is shown.
 *
 * Time O(n log n) in jobs, hops and readers. */
#include "lanes.h"
#include "trace.h"

typedef struct tracing {
    const weft_problem *p;
    const weft_plan *plan;
    const weft_measures *m;
    weft_trace trace;
    weft_arena *scratch; /* rest */
    const char *const *label;
    int *job_of; /* [n_tasks] */
    weft_hops hops;
    int *first_thread; /* [rows of hops] */
    int n_flows;
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

static void name_threads(tracing *t)
{
    const weft_hops *h = &t->hops;
    int thread = 1;

    if (h->n == 0)
        return;
    add_process(t, pid_of_links(t), "links");
    t->first_thread = WEFT_NEW(t->scratch, int, h->n_rows);
    for (int r = 0; r < h->n_rows; r++) {
        t->first_thread[r] = thread;
        for (int i = 0; i < h->n_lanes[r]; i++)
            weft_trace_name(&t->trace, "thread_name", pid_of_links(t), thread++,
                            i == 0 ? h->name[r]
                                   : weft_arena_print(t->trace.a, "%s (%d)", h->name[r], i + 1));
    }
}

static int thread_of(const tracing *t, const weft_lane *h)
{
    return t->first_thread[h->row] + h->lane;
}

/* --- transfers and arrows -------------------------------------------------------------------- */

static void add_transfer(tracing *t, const weft_lane *h)
{
    const weft_jobs *j = t->m->jobs;
    int tensor = j->tensor[h->job];
    weft_doc *e =
        weft_trace_event(&t->trace, "X", t->label[tensor], pid_of_links(t), thread_of(t, h));
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
    const weft_lane *first = &t->hops.hop[t->hops.hop_at[job]];
    const weft_lane *last = &t->hops.hop[t->hops.hop_at[job + 1] - 1];
    int tensor = t->m->jobs->tensor[job], links = pid_of_links(t);

    if (p->producer[tensor] >= 0) {
        t->n_flows++;
        add_task_end(t, "s", p->producer[tensor]);
        add_arrow_end(t, "f", links, thread_of(t, first), job);
    }
    for (int i = p->reader_at[tensor]; i < p->reader_at[tensor + 1]; i++)
        if (t->plan->device[p->reader[i]] == t->m->jobs->to[job]) {
            t->n_flows++;
            add_arrow_end(t, "s", links, thread_of(t, last), job);
            add_task_end(t, "f", p->reader[i]);
        }
}

static void add_links(tracing *t)
{
    t->label = weft_tensor_labels(t->p, t->scratch);
    t->hops = weft_hops_of(t->p, t->m, t->trace.a);
    name_threads(t);
    for (int i = 0; i < t->hops.n; i++)
        add_transfer(t, &t->hops.hop[i]);
    for (int i = 0; i < t->m->n_jobs; i++)
        if (t->m->jobs->kind[i] == WEFT_JOB_TRANSFER)
            add_arrows(t, i);
}

weft_doc *weft_report_trace(const weft_report *r, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);
    weft_plan view = weft_shown_way(r);
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
