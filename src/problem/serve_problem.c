/* SPDX-License-Identifier: MIT */
/* serve_problem.c: problems of serving, their plans, and what makes a plan legal.
 *
 * Nodes with the same rates form a class, numbered in the order of their first nodes. */
#include "serve_problem.h"

#include <string.h>

#include "hash.h"
#include "violations.h"

/* --- problems -------------------------------------------------------------------------------- */

static bool has_same_rates(const weft_serve_problem *p, int i, int j)
{
    return p->most[i] == p->most[j] &&
           memcmp(p->rate[i], p->rate[j], sizeof *p->rate[i] * (size_t)p->most[i]) == 0;
}

static void find_classes(weft_serve_problem *p)
{
    int *class_of = WEFT_NEW(p->arena, int, p->n_nodes);
    int *size = WEFT_NEW(p->arena, int, p->n_nodes), *first = WEFT_NEW(p->arena, int, p->n_nodes);

    for (int i = 0; i < p->n_nodes; i++) {
        int c = 0;

        while (c < p->n_classes && !has_same_rates(p, i, first[c]))
            c++;
        if (c == p->n_classes)
            first[p->n_classes++] = i;
        class_of[i] = c;
        size[c]++;
    }
    p->class_of = class_of;
    p->class_size = size;
    p->class_node = first;
}

static uint64_t hash_of(const weft_serve_problem *p)
{
    uint64_t h = weft_hash_text(weft_hash_start(), "serve");
    int n = p->n_nodes + 2;

    h = weft_hash_int(weft_hash_int(h, p->n_layers), p->n_nodes);
    h = weft_hash_int(h, p->is_partial);
    for (int i = 0; i < p->n_nodes; i++) {
        h = weft_hash_int(weft_hash_text(h, p->node_name[i]), p->most[i]);
        for (int k = 0; k < p->most[i]; k++)
            h = weft_hash_real(h, p->rate[i][k]);
    }
    for (int i = 0; i < n * n; i++)
        h = weft_hash_real(h, p->link[i]);
    return weft_hash_end(h);
}

static const double *const *copy_rates(const weft_serve_spec *s, const int *most, weft_arena *a)
{
    const double **rate = WEFT_NEW(a, const double *, s->n_nodes);

    for (int i = 0; i < s->n_nodes; i++) {
        double *to = WEFT_NEW(a, double, most[i] + 1);

        memcpy(to, s->rate[i], sizeof *to * (size_t)most[i]);
        rate[i] = to;
    }
    return rate;
}

weft_status weft_serve_problem_make(const weft_serve_spec *s, weft_serve_problem **out)
{
    weft_arena *a = weft_arena_new();
    weft_serve_problem *p = WEFT_NEW(a, weft_serve_problem, 1);
    size_t n = (size_t)s->n_nodes, n_ends = n + 2;
    const char **name = WEFT_NEW(a, const char *, n);
    int *most = WEFT_NEW(a, int, n);

    p->arena = a;
    p->name = weft_arena_word(a, s->name ? s->name : "");
    p->n_layers = s->n_layers;
    p->n_nodes = s->n_nodes;
    p->is_partial = s->is_partial;
    for (size_t i = 0; i < n; i++) {
        name[i] = weft_arena_word(a, s->node_name[i]);
        most[i] = s->most[i] < s->n_layers ? s->most[i] : s->n_layers;
    }
    p->node_name = name;
    p->most = most;
    p->rate = copy_rates(s, most, a);
    p->link = weft_arena_copy(a, s->link, sizeof *s->link * n_ends * n_ends);
    for (size_t i = 0; i < n_ends * n_ends; i++)
        p->n_links += p->link[i] > 0;
    find_classes(p);
    p->hash = hash_of(p);
    *out = p;
    return WEFT_OK;
}

void weft_serve_problem_free(weft_serve_problem *p)
{
    if (p != NULL)
        weft_arena_free(p->arena);
}

const char *weft_serve_end_name(const weft_serve_problem *p, int end)
{
    return end < p->n_nodes ? p->node_name[end] : end == weft_serve_source(p) ? "source" : "sink";
}

/* --- plans ----------------------------------------------------------------------------------- */

weft_serve_plan weft_serve_plan_new(int n_nodes, weft_arena *a)
{
    return (weft_serve_plan){n_nodes, WEFT_NEW(a, int, n_nodes), WEFT_NEW(a, int, n_nodes)};
}

weft_serve_plan weft_serve_plan_copy(const weft_serve_plan *plan, weft_arena *a)
{
    size_t bytes = sizeof *plan->start * (size_t)plan->n_nodes;

    return (weft_serve_plan){plan->n_nodes, weft_arena_copy(a, plan->start, bytes),
                             weft_arena_copy(a, plan->end, bytes)};
}

bool weft_serve_joins(const weft_serve_problem *p, const weft_serve_plan *plan, int u, int v)
{
    if (plan->start[u] == plan->end[u] || plan->start[v] == plan->end[v])
        return false;
    if (p->is_partial)
        return plan->start[v] <= plan->end[u] && plan->end[u] < plan->end[v];
    return plan->start[v] == plan->end[u];
}

int weft_serve_plan_check(const weft_serve_problem *p, const weft_serve_plan *plan,
                          weft_violation *list, int most, weft_arena *a)
{
    weft_violations v = {.list = list, .most = most, .a = a};

    for (int i = 0; i < p->n_nodes; i++) {
        int start = plan->start[i], end = plan->end[i];

        if (start < 0 || end < start || end > p->n_layers)
            weft_violate(&v, "node '%s' holds layers %d to %d, expected a range within 0 to %d",
                         p->node_name[i], start, end, p->n_layers);
        else if (end - start > p->most[i])
            weft_violate(&v, "node '%s' holds %d layers, it can hold %d", p->node_name[i],
                         end - start, p->most[i]);
    }
    return v.n;
}

static const char *const method_names[WEFT_SERVE_N_METHODS] = {
    "cut", "configurations", "whole configurations", "links", "enumeration"};

const char *weft_serve_method_name(int m)
{
    return method_names[m];
}
