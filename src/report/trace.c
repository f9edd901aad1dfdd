/* SPDX-License-Identifier: MIT */
/* trace.c: events of Chrome traces. */
#include "trace.h"

#include <math.h>

double weft_trace_ns(double seconds)
{
    return floor(seconds * 1e9 + 0.5);
}

weft_doc *weft_trace_event(weft_trace *t, const char *phase, const char *name, int pid, int tid)
{
    weft_doc *e = weft_doc_new(t->a, WEFT_DOC_MAP);

    weft_put_text(t->a, e, "ph", phase);
    weft_put_text(t->a, e, "name", name);
    weft_put_int(t->a, e, "pid", pid);
    weft_put_int(t->a, e, "tid", tid);
    weft_doc_add(t->a, t->events, e);
    return e;
}

weft_doc *weft_trace_args(weft_trace *t, weft_doc *event)
{
    weft_doc *args = weft_doc_new(t->a, WEFT_DOC_MAP);

    weft_doc_put(t->a, event, "args", args);
    return args;
}

void weft_trace_name(weft_trace *t, const char *what, int pid, int tid, const char *name)
{
    weft_doc *event = weft_trace_event(t, "M", what, pid, tid);

    weft_put_text(t->a, weft_trace_args(t, event), "name", name);
}
