/* SPDX-License-Identifier: MIT */
/* out_shard_trace.c: the simulated run of a sharded network as a Chrome trace, which Perfetto and
 * chrome://tracing open.
 *
 * A set is a process, since its members do the same at the same time: thread 1 computes, the
 * threads behind it rotate shards, combine sums, and bring operands and outputs along. Viewers want
 * events of a thread not to cross: jobs of communication are taken by start, and each takes the
 * first thread of its set whose last job has ended. A counter shows the memory of one member.
 * Times are whole nanoseconds, as viewers keep them; exact seconds are in the arguments.
 *
 * Time O(n log n + n * threads) in jobs. */
#include "trace.h"

#include <stdlib.h>

enum { COMPUTING = 1, MOST_LANES = 256 };

typedef struct tracing {
    const weft_shard_report *r;
    const weft_shards *s;
    const weft_shards_measures *m;
    weft_trace trace;
} tracing;

/* A job on its thread. */
typedef struct bar {
    int job, set;
    double start_s;
} bar;

static int pid_of_set(int k)
{
    return k + 1; /* viewers keep 0 for themselves */
}

static void add_job(tracing *t, int job, int set, int thread)
{
    const weft_steps *steps = t->r->problem->steps;
    double start_s = t->m->timeline->start_s[job], end_s = t->m->timeline->end_s[job];
    int v = t->m->jobs->task[job];
    const char *step = weft_step_name(steps, v), *part = weft_shard_part_name(t->m->part[job]);
    const char *name =
        thread == COMPUTING ? step : weft_arena_print(t->trace.a, "%s: %s", part, step);
    weft_doc *e = weft_trace_event(&t->trace, "X", name, pid_of_set(set), thread), *args;
    char text[128];

    weft_split_print(steps, v, &t->s->split[v], text);
    weft_put_text(t->trace.a, e, "cat", part);
    weft_put_real(t->trace.a, e, "ts", weft_trace_ns(start_s) / 1e3);
    weft_put_real(t->trace.a, e, "dur", (weft_trace_ns(end_s) - weft_trace_ns(start_s)) / 1e3);
    args = weft_trace_args(&t->trace, e);
    weft_put_text(t->trace.a, args, "step", step);
    weft_put_text(t->trace.a, args, "split", weft_arena_print(t->trace.a, "%s", text));
    weft_put_real(t->trace.a, args, "seconds", t->m->jobs->duration_s[job]);
}

static void add_set(tracing *t, int k)
{
    const weft_team *team = &t->s->set[k];
    const weft_platform *p = t->r->problem->platform;
    const char *first = p->device[team->member[0]].name;
    const char *design = weft_team_design(t->r->problem, team)->name;
    int pid = pid_of_set(k), d = team->member[0];

    weft_trace_name(&t->trace, "process_name", pid, 0,
                    team->n == 1
                        ? weft_arena_print(t->trace.a, "set %d: %s as %s", k, first, design)
                        : weft_arena_print(t->trace.a, "set %d: %d devices as %s, %s .. %s", k,
                                           team->n, design, first,
                                           p->device[team->member[team->n - 1]].name));
    weft_put_int(
        t->trace.a,
        weft_trace_args(&t->trace, weft_trace_event(&t->trace, "M", "process_sort_index", pid, 0)),
        "sort_index", pid);
    weft_trace_name(&t->trace, "thread_name", pid, COMPUTING, "computing");
    for (int i = 0; i < t->m->n_memory[d]; i++) {
        weft_doc *e = weft_trace_event(&t->trace, "C", "memory of a member", pid, 0);

        weft_put_real(t->trace.a, e, "ts", weft_trace_ns(t->m->memory[d][i].at_s) / 1e3);
        weft_put_real(t->trace.a, weft_trace_args(&t->trace, e), "bytes", t->m->memory[d][i].bytes);
    }
}

static int by_start(const void *a, const void *b)
{
    const bar *x = a, *y = b;

    if (x->set != y->set)
        return x->set < y->set ? -1 : 1;
    if (x->start_s > y->start_s || x->start_s < y->start_s)
        return x->start_s < y->start_s ? -1 : 1;
    return (x->job > y->job) - (x->job < y->job);
}

/* Jobs of communication, n of them by set and start. With more than MOST_LANES at one time the last
 * thread takes what is left. */
static void add_lanes(tracing *t, const bar *b, int n)
{
    double until_s[MOST_LANES] = {0};
    int n_lanes = 0;

    for (int i = 0; i < n; i++) {
        int lane = 0;

        if (i > 0 && b[i].set != b[i - 1].set)
            n_lanes = 0;
        while (lane < n_lanes && lane < MOST_LANES - 1 && until_s[lane] > b[i].start_s)
            lane++;
        if (lane == n_lanes)
            weft_trace_name(
                &t->trace, "thread_name", pid_of_set(b[i].set), COMPUTING + 1 + n_lanes++,
                lane == 0 ? "sending" : weft_arena_print(t->trace.a, "sending (%d)", lane + 1));
        until_s[lane] = t->m->timeline->end_s[b[i].job];
        add_job(t, b[i].job, b[i].set, COMPUTING + 1 + lane);
    }
}

static void add_jobs(tracing *t)
{
    const weft_jobs *j = t->m->jobs;
    weft_arena *scratch = weft_arena_new();
    bar *sent = WEFT_NEW(scratch, bar, j->n_jobs + 1);
    int n = 0;

    for (int i = 0; i < j->n_jobs; i++) {
        int set = t->s->set_of[j->task[i]];

        if (t->m->part[i] == WEFT_PART_COMPUTE)
            add_job(t, i, set, COMPUTING);
        else
            sent[n++] = (bar){i, set, t->m->timeline->start_s[i]};
    }
    qsort(sent, (size_t)n, sizeof *sent, by_start);
    add_lanes(t, sent, n);
    weft_arena_free(scratch);
}

weft_doc *weft_shard_report_trace(const weft_shard_report *r, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);
    tracing t = {
        .r = r,
        .s = &r->solution->plan,
        .m = &r->solution->measures,
        .trace = {a, weft_doc_new(a, WEFT_DOC_LIST)},
    };

    if (weft_shard_report_has_plan(r)) {
        for (int k = 0; k < t.s->n_sets; k++)
            add_set(&t, k);
        add_jobs(&t);
    }
    weft_doc_put(a, d, "traceEvents", t.trace.events);
    weft_put_text(a, d, "displayTimeUnit", "ms");
    return d;
}
