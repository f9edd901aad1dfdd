/* SPDX-License-Identifier: MIT */
/* Communities of a directed acyclic graph whose quotient is acyclic too, so that they can be
 * scheduled one after the other. Plain arrays: nothing here knows of tasks or devices. */
#ifndef WEFT_MODULARITY_H
#define WEFT_MODULARITY_H

#include "base.h"

/* Nodes 0 .. n_nodes - 1; every edge goes from a lower to a higher number. */
typedef struct weft_flow {
    int n_nodes, n_edges;
    const int *from, *to;
    const double *weight; /* [n_edges] not negative */
} weft_flow;

/* What modules are wanted. */
typedef struct weft_module_rule {
    double gamma; /* resolution: larger values give smaller modules */
    int most;     /* nodes of a module at most, 1 or more */
} weft_module_rule;

/* Directed modularity of a partition into modules 0 .. n_modules - 1,
 *   sum over modules of  inside / W - gamma * leaving * entering / W^2,
 * where leaving and entering count every edge at the module's nodes, those inside too. 0 if all
 * weights are 0. */
double weft_modularity(const weft_flow *f, const int *module, int n_modules, double gamma);

/* The two ways to find modules. They write module[n_nodes] and return the number of modules, which
 * are numbered such that every edge between two of them climbs. */

/* Best partition into intervals of an order, depth first (dag.h). O(most * (nodes + edges)). */
int weft_modules_interval(const weft_flow *f, const weft_module_rule *r, weft_arena *a,
                          int *module);
/* Moves of nodes and merges of modules as long as modularity grows. */
int weft_modules_louvain(const weft_flow *f, const weft_module_rule *r, weft_arena *a, int *module);

/* Makes the quotient of any partition acyclic: contracts the strong components of the quotient and
 * cuts those of more than r->most nodes into intervals. Returns the number of modules. */
int weft_modules_repair(const weft_flow *f, const weft_module_rule *r, weft_arena *a, int *module);

#endif
