/* SPDX-License-Identifier: MIT */
/* out_train_trace.c: a simulated training step as a Chrome trace, which Perfetto and
 * chrome://tracing open.
 *
 * A stage is a process, since its devices do the same at the same time: thread 1 computes, sums
 * gradients and updates; the threads behind it send activations and gradients, and parameters that
 * two stages share. Viewers want events of a thread not to cross: transfers are taken by start, and
 * each takes the first thread of its stage whose last one has ended. A counter shows the memory of
 * the fullest device. Times are whole nanoseconds, as viewers keep them; exact seconds are in the
 * arguments.
 *
 * Time O(n log n + n * threads) in jobs. */
#include "trace.h"

#include <stdlib.h>

enum { COMPUTING = 1, MOST_LANES = 256 };

typedef struct tracing {
    const weft_train_report *r;
    const weft_train_measures *m;
    weft_trace trace;
} tracing;

/* A transfer on its thread. */
typedef struct bar {
    int job, stage;
    double start_s;
} bar;

static int pid_of_stage(int i)
{
    return i + 1; /* viewers keep 0 for themselves */
}

static bool is_sent(weft_train_part part)
{
    return part == WEFT_TRAIN_SEND || part == WEFT_TRAIN_RETURN || part == WEFT_TRAIN_SHARED;
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

static int by_start(const void *a, const void *b)
{
    const bar *x = a, *y = b;

    if (x->stage != y->stage)
        return x->stage < y->stage ? -1 : 1;
    if (x->start_s > y->start_s || x->start_s < y->start_s)
        return x->start_s < y->start_s ? -1 : 1;
    return (x->job > y->job) - (x->job < y->job);
}

/* Transfers, n of them by stage and start. With more than MOST_LANES at one time the last thread
 * takes what is left. */
static void add_lanes(tracing *t, const bar *b, int n)
{
    double until_s[MOST_LANES] = {0};
    int n_lanes = 0;

    for (int i = 0; i < n; i++) {
        int lane = 0;

        if (i > 0 && b[i].stage != b[i - 1].stage)
            n_lanes = 0;
        while (lane < n_lanes && lane < MOST_LANES - 1 && until_s[lane] > b[i].start_s)
            lane++;
        if (lane == n_lanes)
            weft_trace_name(
                &t->trace, "thread_name", pid_of_stage(b[i].stage), COMPUTING + 1 + n_lanes++,
                lane == 0 ? "sending" : weft_arena_print(t->trace.a, "sending (%d)", lane + 1));
        until_s[lane] = t->m->timeline->end_s[b[i].job];
        add_job(t, b[i].job, b[i].stage, COMPUTING + 1 + lane);
    }
}

static void add_jobs(tracing *t)
{
    weft_arena *scratch = weft_arena_new();
    int n_jobs = t->m->jobs->n_jobs, n = 0;
    bar *sent = WEFT_NEW(scratch, bar, n_jobs + 1);

    for (int i = 0; i < n_jobs; i++) {
        int stage = weft_train_stage_of(t->r, i);

        if (is_sent(t->m->part[i]))
            sent[n++] = (bar){i, stage, t->m->timeline->start_s[i]};
        else
            add_job(t, i, stage, COMPUTING);
    }
    qsort(sent, (size_t)n, sizeof *sent, by_start);
    add_lanes(t, sent, n);
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
