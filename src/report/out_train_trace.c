/* SPDX-License-Identifier: MIT */
/* out_train_trace.c: a simulated training step as a Chrome trace, which Perfetto and
 * chrome://tracing open.
 *
 * A stage is a process, since its devices do the same at the same time: thread 1 computes, sums
 * gradients and updates; the threads behind it send activations and gradients, and parameters that
 * two stages share. Viewers want events of a thread not to cross: transfers are on as many threads
 * as the stage has lanes (lanes.c). A counter shows the memory of
 * the fullest device. Times are whole nanoseconds, as viewers keep them; exact seconds are in the
 * arguments.
 *
 * Time O(n log n) in jobs. */
#include "lanes.h"
#include "trace.h"

enum { COMPUTING = 1 };

typedef struct tracing {
    const weft_train_report *r;
    const weft_train_measures *m;
    weft_trace trace;
} tracing;

static int pid_of_stage(int i)
{
    return i + 1; /* viewers keep 0 for themselves */
}

static const char *job_name(tracing *t, int job)
{
    const char *part = weft_train_part_name(t->m->part[job]);
    int item = t->m->jobs->item[job];

    return item < 0 ? part : weft_arena_print(t->trace.a, "%s %d", part, item);
}

static void add_job(tracing *t, int job, int stage, int thread)
{
    double start_s = t->m->timeline->start_s[job], end_s = t->m->timeline->end_s[job];
    weft_doc *e = weft_trace_event(&t->trace, "X", job_name(t, job), pid_of_stage(stage), thread),
             *args;

    weft_put_text(t->trace.a, e, "cat", weft_train_part_name(t->m->part[job]));
    weft_put_real(t->trace.a, e, "ts", weft_trace_ns(start_s) / 1e3);
    weft_put_real(t->trace.a, e, "dur", (weft_trace_ns(end_s) - weft_trace_ns(start_s)) / 1e3);
    args = weft_trace_args(&t->trace, e);
    if (t->m->jobs->item[job] >= 0) {
        weft_put_int(t->trace.a, args, "microbatch", t->m->jobs->item[job]);
        weft_put_int(t->trace.a, args, "chunk",
                     t->m->jobs->task[job] / t->r->solution->plan.n_stages);
    }
    weft_put_real(t->trace.a, args, "seconds", t->m->jobs->duration_s[job]);
}

static void add_stage(tracing *t, int i)
{
    const weft_stage *s = &t->r->solution->plan.stage[i];
    int pid = pid_of_stage(i), n = weft_stage_devices(s);

    weft_trace_name(&t->trace, "process_name", pid, 0,
                    weft_arena_print(t->trace.a, "stage %d: %d device%s", i, n, n == 1 ? "" : "s"));
    weft_put_int(
        t->trace.a,
        weft_trace_args(&t->trace, weft_trace_event(&t->trace, "M", "process_sort_index", pid, 0)),
        "sort_index", pid);
    weft_trace_name(&t->trace, "thread_name", pid, COMPUTING, "computing");
    for (int k = 0; k < t->m->n_memory[i]; k++) {
        weft_doc *e = weft_trace_event(&t->trace, "C", "memory of the fullest device", pid, 0);

        weft_put_real(t->trace.a, e, "ts", weft_trace_ns(t->m->memory[i][k].at_s) / 1e3);
        weft_put_real(t->trace.a, weft_trace_args(&t->trace, e), "bytes", t->m->memory[i][k].bytes);
    }
}

static void add_lanes(tracing *t, weft_lane *sent, int n, weft_arena *scratch)
{
    int n_stages = t->r->solution->plan.n_stages;
    int *n_lanes = WEFT_NEW(scratch, int, n_stages + 1);

    weft_lanes_assign(sent, n, n_stages, n_lanes);
    for (int s = 0; s < n_stages; s++)
        for (int i = 0; i < n_lanes[s]; i++)
            weft_trace_name(&t->trace, "thread_name", pid_of_stage(s), COMPUTING + 1 + i,
                            i == 0 ? "sending"
                                   : weft_arena_print(t->trace.a, "sending (%d)", i + 1));
    for (int i = 0; i < n; i++)
        add_job(t, sent[i].job, sent[i].row, COMPUTING + 1 + sent[i].lane);
}

static void add_jobs(tracing *t)
{
    weft_arena *scratch = weft_arena_new();
    int n_jobs = t->m->jobs->n_jobs, n = 0;
    weft_lane *sent = WEFT_NEW(scratch, weft_lane, n_jobs + 1);

    for (int i = 0; i < n_jobs; i++) {
        int stage = weft_train_stage_of(t->r, i);

        if (weft_train_is_sent(t->m->part[i]))
            sent[n++] = (weft_lane){.row = stage,
                                    .job = i,
                                    .start_s = t->m->timeline->start_s[i],
                                    .end_s = t->m->timeline->end_s[i]};
        else
            add_job(t, i, stage, COMPUTING);
    }
    add_lanes(t, sent, n, scratch);
    weft_arena_free(scratch);
}

weft_doc *weft_train_report_trace(const weft_train_report *r, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);
    tracing t = {
        .r = r,
        .m = &r->solution->measures,
        .trace = {a, weft_doc_new(a, WEFT_DOC_LIST)},
    };

    if (weft_train_report_has_plan(r)) {
        for (int i = 0; i < r->solution->plan.n_stages; i++)
            add_stage(&t, i);
        add_jobs(&t);
    }
    weft_doc_put(a, d, "traceEvents", t.trace.events);
    weft_put_text(a, d, "displayTimeUnit", "ms");
    return d;
}
