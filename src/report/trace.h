/* SPDX-License-Identifier: MIT */
/* Events of Chrome traces, which Perfetto opens: what the traces of all kinds of plans share. */
#ifndef WEFT_TRACE_H
#define WEFT_TRACE_H

#include "fields.h"

typedef struct weft_trace {
    weft_arena *a; /* of the document */
    weft_doc *events;
} weft_trace;

/* Times are whole nanoseconds, as viewers keep them. */
double weft_trace_ns(double seconds);
/* A new event; arguments of one; what viewers call a process or thread. */
weft_doc *weft_trace_event(weft_trace *t, const char *phase, const char *name, int pid, int tid);
weft_doc *weft_trace_args(weft_trace *t, weft_doc *event);
void weft_trace_name(weft_trace *t, const char *what, int pid, int tid, const char *name);

#endif
