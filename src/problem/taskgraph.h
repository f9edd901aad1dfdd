/* SPDX-License-Identifier: MIT */
/* Task graphs of other projects: STG, WfCommons, DOT. Each reader becomes the document of a file of
 * tasks (weft.tasks/1), which is what the rest of weft knows. */
#ifndef WEFT_PROBLEM_TASKGRAPH_H
#define WEFT_PROBLEM_TASKGRAPH_H

#include "problem.h"

/* The format of a file, "stg", "dot" or "wfcommons", as the user says it, or else (format NULL) as its
 * ending does; NULL: it is none of them, or may be a workflow. */
const char *weft_taskgraph_format(const char *path, const char *format);
/* Is this document of a JSON file a workflow of WfCommons? */
bool weft_taskgraph_is_workflow(const weft_doc *d);
/* The document of weft.tasks/1 that a file of that format means on these machines. Its nodes know
 * the lines of the file. Everything belongs to `a`. */
WEFT_CHECKED weft_status weft_taskgraph_read(const char *path, const char *format,
                                             const weft_task_machines *machines, weft_arena *a,
                                             const weft_doc **out);
/* The same of n bytes; file: for messages. */
WEFT_CHECKED weft_status weft_taskgraph_parse(const char *text, size_t n, const char *file,
                                              const char *format,
                                              const weft_task_machines *machines, weft_arena *a,
                                              const weft_doc **out);

/* The same of the document of a workflow. */
WEFT_CHECKED weft_status weft_taskgraph_of_workflow(const weft_doc *d,
                                                    const weft_task_machines *machines,
                                                    weft_arena *a, const weft_doc **out);

/* --- for the readers ------------------------------------------------------------------------- */

/* What a reader finds, in the order of the file. */
typedef struct weft_taskgraph {
    weft_arena *a;
    const char *text, *file;
    size_t n;
    const weft_doc *doc;   /* of a workflow that is parsed already, or NULL */
    int n_processors;      /* that the file names; 0: none */
    bool has_bytes;        /* amounts are bytes, else seconds */
    const char *name;      /* of the graph; NULL: that of the file */
    weft_map *index;       /* task by name */
    weft_doc *task, *edge; /* lists */
} weft_taskgraph;

weft_status weft_taskgraph_fail(const weft_taskgraph *x, int line, const char *format, ...)
    WEFT_PRINTF(3, 4);
WEFT_CHECKED weft_status weft_taskgraph_add_task(weft_taskgraph *x, int line, const char *name,
                                                 double seconds);
/* A transfer to each of n readers; it is sent once to a device that has several of them. */
void weft_taskgraph_add_edge(weft_taskgraph *x, int line, const char *from, const char *const *to,
                             int n, double amount);

WEFT_CHECKED weft_status weft_taskgraph_stg(weft_taskgraph *x);
WEFT_CHECKED weft_status weft_taskgraph_dot(weft_taskgraph *x);
WEFT_CHECKED weft_status weft_taskgraph_wfcommons(weft_taskgraph *x);

#endif
