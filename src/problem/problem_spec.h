/* SPDX-License-Identifier: MIT */
/* Shared by the makers of problems. */
#ifndef WEFT_PROBLEM_SPEC_H
#define WEFT_PROBLEM_SPEC_H

#include "doc.h"
#include "problem.h"

enum {
    WEFT_MOST_DEVICES = 1024,  /* each ordered pair of them may have a link of its own */
    WEFT_MOST_TIMES = 1 << 27, /* entries of the table of seconds */
};

/* A word of the user in a message: two arguments of "%.*s". */
#define WEFT_SHOWN(text) weft_shown_bytes(text), text

/* What a weft_problem_spec does not say. */
typedef struct weft_problem_extra {
    const char *const *task_kind;   /* NULL: "Task" */
    const weft_doc *at;             /* where the problem is written; NULL: nowhere */
    const weft_doc *const *task_at; /* [n_tasks] where each task is written; NULL: nowhere */
    int n_links;
    const char *const *link_name; /* NULL: one link for each ordered pair that is connected */
    const int *route_at, *route;
} weft_problem_extra;

/* Adds to pins and colocation of the spec what its constraints name, in arrays of `a`. */
WEFT_CHECKED weft_status weft_constrain(weft_problem_spec *s, weft_arena *a);

/* weft_problem_make with more said. Tasks keep their numbers if these are topological already;
 * tensors always do. */
WEFT_CHECKED weft_status weft_problem_build(const weft_problem_spec *s, const weft_problem_extra *x,
                                            weft_problem **out);

#endif
