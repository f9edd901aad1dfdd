/* SPDX-License-Identifier: MIT */
/* Whole jobs: from what a user names to a problem, and from a plan file to a verdict. */
#ifndef WEFT_API_H
#define WEFT_API_H

#include "weft/place.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is asked for: a network on a platform, or a file of tasks that names its own devices. */
typedef struct weft_request {
    const char *model, *platform; /* platform NULL or empty for task files */
    const char *format;           /* NULL or "msr" for the dnn-partitioning JSON */
    weft_model_options options;
    weft_ask ask;
} weft_request;

typedef struct weft_case {
    weft_model *model;       /* NULL for task files */
    weft_platform *platform; /* NULL for task files */
    weft_problem *problem;
    uint64_t model_hash, platform_hash;
} weft_case;

WEFT_CHECKED weft_status weft_case_open(const weft_request *r, weft_case *out);
void weft_case_close(weft_case *c);

/* The verdict on a plan file: one line for each thing that is wrong. */
typedef struct weft_verdict {
    int n_wrong;
    const char *const *wrong; /* at most 100 of them */
    bool is_bound_checked;    /* the whole bound follows from certificates */
    double certified;         /* the part of it that does; the rest was found by a search */
    weft_solution
        solution; /* what the simulator says of the plan; valid if n_wrong counts no missing task */
    bool has_solution;
} weft_verdict;

/* Opens the model and the platform that the plan names (or the given ones, if not NULL), recomputes
 * legality, times and every claimed number. Everything returned belongs to `a`; *c is to be closed.
 * A file that cannot be read is an error, a wrong plan is a verdict. */
WEFT_CHECKED weft_status weft_verify(const char *plan_path, const char *model, const char *platform,
                                     weft_arena *a, weft_case *c, weft_verdict *out);

#ifdef __cplusplus
}
#endif
#endif
