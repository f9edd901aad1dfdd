/* SPDX-License-Identifier: MIT */
/* tables.c: splits, modes and edges of a sharding problem, each computed once.
 *
 * Steps of equal work (weft_step.like) have equal splits, modes and boxes. They share a class if
 * they also read the same operands from the host and give the same results to it; edges share a
 * class if both their ends do. A network of many equal blocks has few classes. */
#include "tables.h"

#include <math.h>
#include <string.h>

static const weft_step *step_of(const weft_tables *t, int step_class)
{
    return &t->problem->steps->step[t->first[step_class]];
}

static bool is_asked_for(const weft_graph *g, int tensor)
{
    return g->tensor[tensor].kind == WEFT_OUTPUT;
}

/* --- classes --------------------------------------------------------------------------------- */

static bool is_same_class(const weft_tables *t, int a, int b)
{
    const weft_steps *s = t->problem->steps;
    const weft_step *x = &s->step[a], *y = &s->step[b];

    if (x->like != y->like || x->n_operands != y->n_operands || x->n_results != y->n_results)
        return false;
    for (int i = 0; i < x->n_operands; i++)
        if ((x->operand[i].step < 0) != (y->operand[i].step < 0))
            return false;
    for (int i = 0; i < x->n_results; i++)
        if (is_asked_for(s->graph, x->result[i]) != is_asked_for(s->graph, y->result[i]))
            return false;
    return true;
}

static void find_classes(weft_tables *t, weft_arena *a)
{
    int n = t->problem->steps->n;

    t->class_of = WEFT_NEW(a, int, n);
    t->first = WEFT_NEW(a, int, n);
    t->n_like = WEFT_NEW(a, int, n);
    for (int v = 0; v < n; v++) {
        int c = 0;

        while (c < t->n_classes && !is_same_class(t, t->first[c], v))
            c++;
        if (c == t->n_classes)
            t->first[t->n_classes++] = v;
        t->class_of[v] = c;
        t->n_like[c]++;
    }
}

static bool is_same_edge(const weft_tables *t, const weft_shard_edge *x, const weft_shard_edge *y)
{
    const weft_step *s = t->problem->steps->step;

    return x->operand == y->operand && t->class_of[x->from] == t->class_of[y->from] &&
           t->class_of[x->to] == t->class_of[y->to] &&
           s[x->to].operand[x->operand].result == s[y->to].operand[y->operand].result;
}

static void find_edges(weft_tables *t, weft_arena *a)
{
    const weft_steps *s = t->problem->steps;
    int most = 0;

    for (int v = 0; v < s->n; v++)
        most += s->step[v].n_operands;
    t->edge = WEFT_NEW(a, weft_shard_edge, most + 1);
    t->edge_first = WEFT_NEW(a, int, most + 1);
    for (int v = 0; v < s->n; v++)
        for (int k = 0; k < s->step[v].n_operands; k++) {
            weft_shard_edge *e = &t->edge[t->n_edges];
            int c = 0;

            if (s->step[v].operand[k].step < 0)
                continue;
            *e = (weft_shard_edge){s->step[v].operand[k].step, v, k, 0};
            while (c < t->n_edge_classes && !is_same_edge(t, &t->edge[t->edge_first[c]], e))
                c++;
            if (c == t->n_edge_classes)
                t->edge_first[t->n_edge_classes++] = t->n_edges;
            e->class_of = c;
            t->n_edges++;
        }
}

weft_tables *weft_tables_new(const weft_shard_problem *p, weft_arena *a)
{
    weft_tables *t = WEFT_NEW(a, weft_tables, 1);

    t->problem = p;
    t->arena = a;
    find_classes(t, a);
    find_edges(t, a);
    t->choice = WEFT_NEW(a, weft_choices, t->n_classes * (WEFT_MAX_MEMBERS + 1));
    t->reshard = WEFT_NEW(a, double *, (t->n_edge_classes + 1) * (WEFT_MAX_MEMBERS + 1));
    t->interior = WEFT_NEW(a, double *, (t->n_edge_classes + 1) * (WEFT_MAX_MEMBERS + 1));
    return t;
}

/* --- splits and modes ------------------------------------------------------------------------ */

static void measure_parts(weft_tables *t, int step_class, weft_choices *c)
{
    const weft_steps *s = t->problem->steps;
    int v = t->first[step_class];

    c->need_bytes = WEFT_NEW(t->arena, double *, s->step[v].n_operands + 1);
    c->result_bytes = WEFT_NEW(t->arena, double *, s->step[v].n_results + 1);
    for (int k = 0; k < s->step[v].n_operands; k++) {
        c->need_bytes[k] = WEFT_NEW(t->arena, double, c->n);
        for (int i = 0; i < c->n; i++)
            c->need_bytes[k][i] = weft_need_bytes(s, v, k, &c->split[i], NULL);
    }
    for (int k = 0; k < s->step[v].n_results; k++) {
        c->result_bytes[k] = WEFT_NEW(t->arena, double, c->n);
        for (int i = 0; i < c->n; i++)
            c->result_bytes[k][i] = weft_result_bytes(s, v, k, &c->split[i], NULL);
    }
}

const weft_choices *weft_tables_choices(weft_tables *t, int step_class, int n)
{
    weft_choices *c = &t->choice[step_class * (WEFT_MAX_MEMBERS + 1) + n];

    if (c->n == 0) {
        c->n = weft_step_splits(t->problem->steps, t->first[step_class], n,
                                !t->problem->constraints.has_no_sharing, t->arena, &c->split);
        measure_parts(t, step_class, c);
    }
    return c;
}

/* Devices have designs of their own, also those of one kind. */
static int count_designs(const weft_shard_problem *p)
{
    int n = 0;

    for (int i = 0; i < p->n_accelerators; i++)
        n += p->platform->device[p->accelerator[i]].n_designs;
    return n;
}

const weft_split_cost *weft_tables_costs(weft_tables *t, int step_class, int n,
                                         const weft_design *d)
{
    weft_choices *c;
    weft_split_cost *mode;

    (void)weft_tables_choices(t, step_class, n);
    c = &t->choice[step_class * (WEFT_MAX_MEMBERS + 1) + n];
    for (int i = 0; i < c->n_designs; i++)
        if (c->design[i] == d)
            return c->mode[i];
    if (c->design == NULL) {
        int most = count_designs(t->problem);

        c->design = WEFT_NEW(t->arena, const weft_design *, most);
        c->mode = WEFT_NEW(t->arena, weft_split_cost *, most);
    }
    mode = WEFT_NEW(t->arena, weft_split_cost, c->n);
    for (int i = 0; i < c->n; i++)
        mode[i] = weft_split_cost_of(t->problem->steps, t->first[step_class], &c->split[i], d);
    c->design[c->n_designs] = d;
    c->mode[c->n_designs++] = mode;
    return mode;
}

/* --- edges ----------------------------------------------------------------------------------- */

/* Of an edge class over n members, [from * n_to + to]: made when it is asked for first. */
static const double *edge_table(weft_tables *t, double **tables, int edge_class, int n)
{
    double **table = &tables[edge_class * (WEFT_MAX_MEMBERS + 1) + n];
    const weft_shard_edge *e = &t->edge[t->edge_first[edge_class]];
    const weft_choices *from, *to;

    if (*table != NULL)
        return *table;
    from = weft_tables_choices(t, t->class_of[e->from], n);
    to = weft_tables_choices(t, t->class_of[e->to], n);
    *table = WEFT_NEW(t->arena, double, from->n * to->n);
    if (tables == t->reshard)
        weft_reshard_table(t->problem->steps, e->to, e->operand, from->split, from->n, to->split,
                           to->n, *table);
    for (int i = 0; i < from->n * to->n && tables == t->interior; i++)
        (*table)[i] = weft_interior_share(t->problem->steps, e->to, e->operand,
                                          &from->split[i / to->n], &to->split[i % to->n]);
    return *table;
}

const double *weft_tables_reshard(weft_tables *t, int edge_class, int n)
{
    return edge_table(t, t->reshard, edge_class, n);
}

void weft_tables_fill(weft_tables *t, const weft_configurations *s)
{
    for (int k = 0; k < s->n_kinds; k++) {
        const weft_design *d = weft_device_set_design(t->problem, &s->kind[k].device_set);

        for (int c = 0; c < t->n_classes; c++)
            (void)weft_tables_costs(t, c, s->kind[k].n, d);
        for (int e = 0; e < t->n_edge_classes; e++) {
            (void)weft_tables_reshard(t, e, s->kind[k].n);
            if (t->problem->hides)
                (void)edge_table(t, t->interior, e, s->kind[k].n);
        }
    }
}

/* --- seconds --------------------------------------------------------------------------------- */

double weft_tables_own_s(weft_tables *t, int step_class, const weft_set_kind *kind, int k)
{
    const weft_shard_problem *p = t->problem;
    const weft_step *s = step_of(t, step_class);
    const weft_choices *c = weft_tables_choices(t, step_class, kind->n);
    const weft_split_cost *m =
        weft_tables_costs(t, step_class, kind->n, weft_device_set_design(p, &kind->device_set));
    double seconds = weft_split_cost_s(&m[k], &kind->link, p->hides);

    for (int i = 0; i < s->n_operands; i++)
        if (s->operand[i].step < 0)
            seconds += weft_link_cost_s(&kind->host, c->need_bytes[i][k]);
    for (int i = 0; i < s->n_results; i++)
        if (is_asked_for(p->steps->graph, s->result[i]))
            seconds += weft_link_cost_s(&kind->host, c->result_bytes[i][k]);
    return seconds;
}

double weft_tables_inside_s(weft_tables *t, int edge_class, const weft_set_kind *kind, int from,
                            int to)
{
    const weft_shard_edge *e = &t->edge[t->edge_first[edge_class]];
    int n_to = weft_tables_choices(t, t->class_of[e->to], kind->n)->n;
    double s =
        weft_reshard_s(&kind->link, weft_tables_reshard(t, edge_class, kind->n)[from * n_to + to]);

    if (t->problem->hides && e->operand == 0 && s > 0) { /* the first operand comes meanwhile */
        const weft_split_cost *m = weft_tables_costs(
            t, t->class_of[e->to], kind->n, weft_device_set_design(t->problem, &kind->device_set));
        double share = edge_table(t, t->interior, edge_class, kind->n)[from * n_to + to];

        s = fmax(0, s - share * weft_split_compute_s(&m[to]));
    }
    return s;
}

double weft_tables_between_s(weft_tables *t, int edge_class, const weft_link_cost *link, int n_from,
                             int n_to, int to)
{
    const weft_shard_edge *e = &t->edge[t->edge_first[edge_class]];
    const weft_step *s = &t->problem->steps->step[e->to];
    const weft_choices *c = weft_tables_choices(t, t->class_of[e->to], n_to);
    double bytes = (double)t->problem->steps->graph->tensor[s->operand[e->operand].tensor].bytes;

    return weft_handover_s(link, c->need_bytes[e->operand][to], bytes, n_from);
}
