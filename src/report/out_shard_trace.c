/* SPDX-License-Identifier: MIT */
/* out_shard_trace.c: the simulated run of a sharded network as a Chrome trace, which Perfetto and
 * chrome://tracing open.
 *
 * A set is a process, since its members do the same at the same time: thread 1 computes, the
 * threads behind it rotate shards, combine sums, and bring operands and outputs along. Viewers want
 * events of a thread not to cross: jobs of communication are on as many threads as the set has
 * lanes (lanes.c). A counter shows the memory of one member. Times are whole nanoseconds, as
 * viewers keep them; exact seconds are in the arguments.
 *
 * Time O(n log n) in jobs. */
#include "lanes.h"
#include "trace.h"

enum { COMPUTING = 1 };

typedef struct tracing {
    const weft_shard_report *r;
    const weft_shards *s;
    const weft_shards_measures *m;
    weft_trace trace;
} tracing;

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

static void add_lanes(tracing *t, weft_lane *sent, int n, weft_arena *scratch)
{
    int *n_lanes = WEFT_NEW(scratch, int, t->s->n_sets + 1);

    weft_lanes_assign(sent, n, t->s->n_sets, n_lanes);
    for (int k = 0; k < t->s->n_sets; k++)
        for (int i = 0; i < n_lanes[k]; i++)
            weft_trace_name(&t->trace, "thread_name", pid_of_set(k), COMPUTING + 1 + i,
                            i == 0 ? "sending"
                                   : weft_arena_print(t->trace.a, "sending (%d)", i + 1));
    for (int i = 0; i < n; i++)
        add_job(t, sent[i].job, sent[i].row, COMPUTING + 1 + sent[i].lane);
}

static void add_jobs(tracing *t)
{
    const weft_jobs *j = t->m->jobs;
    weft_arena *scratch = weft_arena_new();
    weft_lane *sent = WEFT_NEW(scratch, weft_lane, j->n_jobs + 1);
    int n = 0;

    for (int i = 0; i < j->n_jobs; i++) {
        int set = t->s->set_of[j->task[i]];

        if (t->m->part[i] == WEFT_PART_COMPUTE)
            add_job(t, i, set, COMPUTING);
        else
            sent[n++] = (weft_lane){.row = set,
                                    .job = i,
                                    .start_s = t->m->timeline->start_s[i],
                                    .end_s = t->m->timeline->end_s[i]};
    }
    add_lanes(t, sent, n, scratch);
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
