/* SPDX-License-Identifier: MIT */
/* write_trace.c: the timeline of a document as a Chrome trace, which Perfetto and chrome://tracing
 * open.
 *
 * Rows that compute are processes 1, 2, ...; what they send are further threads of theirs, and rows
 * that belong to nobody are threads of one more process, "links". Viewers want events of a thread
 * not to cross: a row has a thread for each of its lanes. Memory is a counter of its process. Arrows
 * are flow events (s and f, a number for each). Times are whole nanoseconds, as viewers keep them:
 * rounding keeps the order, so what does not cross before does not cross after. Exact seconds are in
 * the arguments.
 *
 * Time O(bars + arrows + samples). */
#include "document.h"

#include <math.h>
#include <string.h>

typedef struct tracing {
    const weft_page *g;
    weft_arena *a;
    weft_doc *events;
    int *pid, *tid; /* of a row; tid: of its first lane */
} tracing;

static double nanoseconds(double seconds)
{
    return floor(seconds * 1e9 + 0.5);
}

static weft_doc *add_event(tracing *t, const char *phase, const char *name, int pid, int tid)
{
    weft_doc *e = weft_add_map(t->a, t->events);

    weft_put_text(t->a, e, "ph", phase);
    weft_put_text(t->a, e, "name", name);
    weft_put_int(t->a, e, "pid", pid);
    weft_put_int(t->a, e, "tid", tid);
    return e;
}

static weft_doc *args_of(tracing *t, weft_doc *event)
{
    weft_doc *args = weft_doc_new(t->a, WEFT_DOC_MAP);

    weft_doc_put(t->a, event, "args", args);
    return args;
}

static void name_thread(tracing *t, const char *what, int pid, int tid, const char *name)
{
    weft_put_text(t->a, args_of(t, add_event(t, "M", what, pid, tid)), "name", name);
}

static void name_process(tracing *t, int pid, const char *name)
{
    name_thread(t, "process_name", pid, 0, name);
    weft_put_int(t->a, args_of(t, add_event(t, "M", "process_sort_index", pid, 0)), "sort_index",
                 pid);
}

static bool is_link(const weft_page_line *row)
{
    return strcmp(row->kind, "link") == 0;
}

/* Processes and threads of all rows. */
static void add_rows(tracing *t)
{
    const weft_page_time *time = &t->g->time;
    int *n_threads = WEFT_NEW(t->a, int, time->rows.n + 2), links = -1, n = 0;

    t->pid = WEFT_NEW(t->a, int, time->rows.n + 1);
    t->tid = WEFT_NEW(t->a, int, time->rows.n + 1);
    for (int r = 0; r < time->rows.n; r++) {
        const weft_page_line *row = &time->rows.at[r];
        bool is_free = is_link(row) && row->owner < 0;
        const char *name = !is_link(row) ? "computing" : is_free ? row->name : "sending";

        if (!is_link(row))
            name_process(t, t->pid[r] = ++n, row->name); /* viewers keep 0 for themselves */
        else if (is_free && links < 0)
            name_process(t, links = ++n, "links");
        if (is_link(row))
            t->pid[r] = is_free ? links : t->pid[row->owner];
        t->tid[r] = n_threads[t->pid[r]] + 1;
        for (int i = 0; i < row->n_lanes; i++)
            name_thread(t, "thread_name", t->pid[r], ++n_threads[t->pid[r]],
                        i == 0 ? name : weft_arena_print(t->a, "%s (%d)", name, i + 1));
    }
}

static void add_memory(tracing *t)
{
    for (int k = 0; k < t->g->memory.n; k++) {
        const weft_page_curve *c = &t->g->memory.at[k];

        for (int i = 0; i < c->n; i++) {
            weft_doc *e = add_event(t, "C", "memory", t->pid[c->row], 0);

            weft_put_real(t->a, e, "ts", nanoseconds(c->sample[i].at_s) / 1e3);
            weft_put_real(t->a, args_of(t, e), "bytes", c->sample[i].bytes);
        }
    }
}

static void add_bar(tracing *t, const weft_page_bar *b)
{
    weft_doc *e = add_event(t, "X", b->name, t->pid[b->row], t->tid[b->row] + b->lane);
    double start = nanoseconds(b->start_s), end = nanoseconds(b->end_s);

    weft_put_text(t->a, e, "cat", t->g->time.kinds[b->kind]);
    weft_put_real(t->a, e, "ts", start / 1e3);
    weft_put_real(t->a, e, "dur", (end - start) / 1e3);
    t->g->put_bar(t->g->context, b, t->a, args_of(t, e));
}

/* One end of an arrow. It belongs to the event around its time: the start, since an event does not
 * contain its end. */
static void add_arrow_end(tracing *t, const char *phase, int arrow, int bar)
{
    const weft_page_bar *b = &t->g->time.bars.at[bar];
    weft_doc *e = add_event(t, phase, "send", t->pid[b->row], t->tid[b->row] + b->lane);

    weft_put_text(t->a, e, "cat", "send");
    weft_put_int(t->a, e, "id", arrow + 1);
    weft_put_real(t->a, e, "ts", nanoseconds(b->start_s) / 1e3);
    weft_put_text(t->a, e, "bp", "e");
}

weft_doc *weft_write_trace(const weft_page *g, weft_arena *a)
{
    tracing t = {.g = g, .a = a, .events = weft_doc_new(a, WEFT_DOC_LIST)};
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    add_rows(&t);
    if (g->time.rows.n > 0)
        add_memory(&t);
    for (int i = 0; i < g->time.bars.n; i++)
        add_bar(&t, &g->time.bars.at[i]);
    for (int i = 0; i < g->time.from.n; i++) {
        add_arrow_end(&t, "s", i, g->time.from.at[i]);
        add_arrow_end(&t, "f", i, g->time.to.at[i]);
    }
    weft_doc_put(a, d, "traceEvents", t.events);
    weft_put_text(a, d, "displayTimeUnit", "ms");
    return d;
}
