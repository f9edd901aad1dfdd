/* SPDX-License-Identifier: MIT */
/* What a plan of serving is worth under --objective flow. */
#ifndef WEFT_SERVE_FLOW_H
#define WEFT_SERVE_FLOW_H

#include "serve_problem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A link, or a node itself (from = to), and what it passes of what it can. Ends as in links. */
typedef struct weft_serve_passing {
    int from, to;
    double tokens_per_s, room;
} weft_serve_passing;

typedef struct weft_serve_flow {
    double tokens_per_s; /* the maximum flow */
    double *node;        /* [n_nodes] through each */
    int n_links, n_cut, n_used, depth;
    const weft_serve_passing *link; /* those that pass something */
    const weft_serve_passing *cut;  /* a least cut: links and nodes that bind */
    double cut_tokens_per_s;
} weft_serve_flow;

/* The plan must be legal. Everything is in `a`. */
WEFT_CHECKED weft_status weft_serve_evaluate(const weft_serve_problem *p,
                                             const weft_serve_plan *plan, weft_arena *a,
                                             weft_serve_flow *out);
weft_doc *weft_serve_measures_doc(const weft_serve_problem *p, const weft_serve_flow *f,
                                  weft_arena *a);

#ifdef __cplusplus
}
#endif
#endif
