/* SPDX-License-Identifier: MIT */
/* configuration_bound.c: lower bounds for a configuration, cheaper than its best splits.
 *
 *  1. The sum over steps of the least own seconds of any state: edges cost no less than nothing.
 *  2. The same with a choice of set for each step: two steps on different sets pay at least the
 *     least handover between these sets. Every plan is such a choice, its own seconds and handovers
 *     are no less than these minima, and what happens inside sets costs no less than nothing. The
 *     least sum over choices of sets is found by elimination; its variables have as many states as
 *     there are sets. */
#include "search.h"

#include <math.h>

static double least_own_s(weft_search *s, int step_class, const weft_set_kind *kind)
{
    int n = weft_tables_choices(s->tables, step_class, kind->n)->n;
    double least = INFINITY;

    for (int k = 0; k < n; k++)
        least = fmin(least, weft_tables_own_s(s->tables, step_class, kind, k));
    return least;
}

/* least_own_s of every class and kind: [class * n_kinds + kind], made once. */
static const double *least_table(weft_search *s)
{
    if (s->least_s == NULL) {
        int n_kinds = s->configs->n_kinds;

        s->least_s = WEFT_NEW(s->a, double, s->tables->n_classes *n_kinds);
        for (int c = 0; c < s->tables->n_classes; c++)
            for (int k = 0; k < n_kinds; k++)
                s->least_s[c * n_kinds + k] = least_own_s(s, c, &s->configs->kind[k]);
    }
    return s->least_s;
}

double weft_configuration_bound(weft_search *s, int config)
{
    const weft_configuration *u = &s->configs->config[config];
    const double *least_s = least_table(s);
    double sum = 0;

    for (int c = 0; c < s->tables->n_classes; c++) {
        double least = INFINITY;

        for (int i = 0; i < u->n_sets; i++)
            least = fmin(least, least_s[c * s->configs->n_kinds + u->kind[i]]);
        sum += s->tables->n_like[c] * least;
    }
    return sum;
}

/* Least seconds to hand over between two sets, for every edge class: [from * n_sets + to]. */
static double *handovers(weft_search *s, int edge_class, const weft_configuration *u,
                         const weft_link_cost *link, weft_arena *a)
{
    const weft_tables *t = s->tables;
    const weft_shard_edge *e = &t->edge[t->edge_first[edge_class]];
    double *table = WEFT_NEW(a, double, u->n_sets * u->n_sets);

    for (int k = 0; k < u->n_sets; k++) {
        int n_to = s->configs->kind[u->kind[k]].n;
        const weft_choices *c = weft_tables_choices(s->tables, t->class_of[e->to], n_to);
        int least = 0; /* the state that needs least */

        for (int y = 1; y < c->n; y++)
            if (c->need_bytes[e->operand][y] < c->need_bytes[e->operand][least])
                least = y;
        for (int i = 0; i < u->n_sets; i++)
            if (i != k)
                table[i * u->n_sets + k] =
                    weft_tables_between_s(s->tables, edge_class, &link[i * u->n_sets + k],
                                          s->configs->kind[u->kind[i]].n, n_to, least);
    }
    return table;
}

double weft_configuration_bound_sets(weft_search *s, int config, weft_arena *a)
{
    const weft_tables *t = s->tables;
    const weft_configuration *u = &s->configs->config[config];
    const double *least_s = least_table(s);
    int n = s->p->steps->n, *n_states = WEFT_NEW(a, int, n);
    const double **own = WEFT_NEW(a, const double *, n);
    double **of_class = WEFT_NEW(a, double *, t->n_classes);
    double **between = WEFT_NEW(a, double *, t->n_edge_classes + 1);
    weft_pairwise_min_pair *pair = WEFT_NEW(a, weft_pairwise_min_pair, t->n_edges + 1);
    weft_device_set *device_set = WEFT_NEW(a, weft_device_set, u->n_sets);
    weft_link_cost *link = WEFT_NEW(a, weft_link_cost, u->n_sets * u->n_sets);
    weft_pairwise_min_answer answer;

    weft_configuration_device_sets(s->p, s->configs, config, device_set);
    for (int i = 0; i < u->n_sets; i++)
        for (int k = 0; k < u->n_sets; k++)
            if (i != k)
                link[i * u->n_sets + k] = weft_pair_link_cost(s->p, &device_set[i], &device_set[k]);
    for (int c = 0; c < t->n_classes; c++) {
        of_class[c] = WEFT_NEW(a, double, u->n_sets);
        for (int i = 0; i < u->n_sets; i++)
            of_class[c][i] = least_s[c * s->configs->n_kinds + u->kind[i]];
    }
    for (int v = 0; v < n; v++) {
        n_states[v] = u->n_sets;
        own[v] = of_class[t->class_of[v]];
    }
    for (int e = 0; e < t->n_edges; e++) {
        int c = t->edge[e].class_of;

        if (between[c] == NULL)
            between[c] = handovers(s, c, u, link, a);
        pair[e] = (weft_pairwise_min_pair){t->edge[e].from, t->edge[e].to, between[c]};
    }
    weft_pairwise_min_solve(&(weft_pairwise_min){n, n_states, own, t->n_edges, pair}, s->order,
                            1 << 14, a, &answer);
    return answer.bound;
}
