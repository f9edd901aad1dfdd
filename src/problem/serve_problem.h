/* SPDX-License-Identifier: MIT */
/* Serving: which node holds which layers of a language model, for most tokens per second.
 *
 * Node i holds layers start .. end - 1 and passes rate[i][end - start - 1] tokens per second. Links
 * have a direction. Tokens go from the source to a node that starts at layer 0, from a node that
 * ends at layer e to one that starts there (if inference may be partial: to one that holds layer e),
 * and from a node that ends at the last layer to the sink. The value of a plan is the maximum flow
 * from source to sink: no node and no link passes more than it can. */
#ifndef WEFT_SERVE_PROBLEM_H
#define WEFT_SERVE_PROBLEM_H

#include "problem.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { WEFT_SERVE_MOST_NODES = 1000, WEFT_SERVE_MOST_LAYERS = 10000 };

/* Nodes are 0 .. n_nodes - 1, the source is n_nodes, the sink n_nodes + 1. */
typedef struct weft_serve_problem {
    const char *name;
    int n_layers, n_nodes, n_links;
    const char *const *node_name; /* [n_nodes] unique */
    const int *most;              /* [n_nodes] layers that a node can hold; 0: none */
    const double *const *rate;    /* [n_nodes][most] tokens per second with 1, 2, ... layers */
    const double *link;           /* [(n_nodes + 2)^2] tokens per second; 0: there is none */
    bool is_partial;              /* a node may begin in the middle of its layers */
    int n_classes;                /* nodes of a class have equal rates; links may differ */
    const int *class_of;          /* [n_nodes] */
    const int *class_size;        /* [n_classes] */
    const int *class_node;        /* [n_classes] the first of each */
    uint64_t hash;
    weft_arena *arena; /* owns everything above */
} weft_serve_problem;

/* What a problem is made of; all is copied. */
typedef struct weft_serve_spec {
    const char *name;
    int n_layers, n_nodes;
    const char *const *node_name;
    const int *most;
    const double *const *rate;
    const double *link;
    bool is_partial;
} weft_serve_spec;

WEFT_CHECKED weft_status weft_serve_problem_make(const weft_serve_spec *s,
                                                 weft_serve_problem **out);
void weft_serve_problem_free(weft_serve_problem *p); /* NULL is allowed */
/* Reads weft.serving/1, or the JSON of the instances of Helix (docs/formats.md). */
WEFT_CHECKED weft_status weft_serve_problem_read(const char *path, weft_serve_problem **out);
WEFT_CHECKED weft_status weft_serve_problem_of_doc(const weft_doc *d, weft_serve_problem **out);

static inline int weft_serve_source(const weft_serve_problem *p)
{
    return p->n_nodes;
}
static inline int weft_serve_sink(const weft_serve_problem *p)
{
    return p->n_nodes + 1;
}
static inline double weft_serve_link(const weft_serve_problem *p, int from, int to)
{
    return p->link[(size_t)from * (size_t)(p->n_nodes + 2) + (size_t)to];
}
/* "source", "sink", or the name of the node. */
const char *weft_serve_end_name(const weft_serve_problem *p, int end);

/* --- plans ----------------------------------------------------------------------------------- */

typedef struct weft_serve_plan {
    int n_nodes;
    int *start, *end; /* [n_nodes] layers start .. end - 1; equal: the node is not used */
} weft_serve_plan;

weft_serve_plan weft_serve_plan_new(int n_nodes, weft_arena *a); /* no node is used */
weft_serve_plan weft_serve_plan_copy(const weft_serve_plan *plan, weft_arena *a);
/* May tokens go from node u to node v? */
bool weft_serve_joins(const weft_serve_problem *p, const weft_serve_plan *plan, int u, int v);
/* Ranges exist and fit. Returns the number of breaches; at most `most` are listed. */
int weft_serve_plan_check(const weft_serve_problem *p, const weft_serve_plan *plan,
                          weft_violation *list, int most, weft_arena *a);

/* --- proofs ---------------------------------------------------------------------------------- */

typedef enum weft_serve_method {
    WEFT_SERVE_CUT,            /* what source, links and nodes pass at most */
    WEFT_SERVE_CONFIGURATIONS, /* prices: the layers that configurations can fill */
    WEFT_SERVE_WHOLE,          /* the same with whole configurations */
    WEFT_SERVE_LINKS,          /* only chains are left, and no links for one */
    WEFT_SERVE_ENUMERATION,    /* all placements: a search */
    WEFT_SERVE_N_METHODS
} weft_serve_method;

const char *weft_serve_method_name(int m);

/* Why there is no plan of `target` tokens per second or more (weft_serve_refuted). */
typedef struct weft_serve_certificate {
    weft_serve_method method;
    double target;
    int n_prices;
    const double *price; /* [n_classes] of a node of each class; of the methods with prices */
} weft_serve_certificate;

/* --- plan files (weft.plan/1, kind "serve") -------------------------------------------------- */

typedef struct weft_serve_plan_file {
    weft_plan_origin origin;
    weft_proof proof;
    weft_serve_certificate certificate;
    const weft_doc *ranges;   /* decisions, as written: see weft_serve_plan_decide */
    const weft_doc *measures; /* claimed numbers, as written */
    const weft_doc *doc;
} weft_serve_plan_file;

weft_doc *weft_serve_plan_doc(const weft_serve_problem *p, const weft_serve_plan *plan,
                              const weft_proof *proof, const weft_serve_certificate *certificate,
                              const weft_plan_origin *origin, weft_doc *measures, weft_arena *a);
WEFT_CHECKED weft_status weft_serve_plan_read(const char *path, weft_arena *a,
                                              weft_serve_plan_file *out);
/* The decisions of a file: a node that is not there or that is named twice is an error with file
 * and line; the rules are the business of weft_serve_plan_check. */
WEFT_CHECKED weft_status weft_serve_plan_decide(const weft_serve_plan_file *f,
                                                const weft_serve_problem *p, weft_arena *a,
                                                weft_serve_plan *out);

#ifdef __cplusplus
}
#endif
#endif
