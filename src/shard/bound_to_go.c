/* SPDX-License-Identifier: MIT */
/* bound_to_go.c: a lower bound for all configurations at once, for platforms with too many to list.
 *
 * Every step may choose among all kinds of sets there could be, whether they fit together or not:
 * any number n of equal accelerators, any design, any split. n members work together over links no
 * faster than the best set of n could have: in a set with accelerator i the slowest pair is no
 * faster than i's (n-1)-th fastest link; the best i decides. Inside a kind, edges cost what they
 * cost over these links. Two sets are disjoint, so m senders hand over to n receivers only if there
 * are m + n accelerators, and over links no faster than the n-th fastest of any sender and the m-th
 * fastest of any receiver. Of the edges of the network a forest is kept: for each step the edge of
 * its largest operand. Dropping edges drops costs >= 0. The least sum over a forest, from the last
 * steps to the first:
 *
 *   g_v(x) = own_v(x) + sum over kept edges (v, w) of min_y [ edge(x, y) + g_w(y) ]
 *
 * where y is in the kind of x, or in any other; the latter depends on the kind of x alone, so one
 * minimum does for all its splits. Every plan of every configuration is a choice of
 * this kind and costs no less.
 *
 * Side by side, along every way through the network: when step v ends in state x,
 *
 *   f_v(x) = mode_v(x) + max over operands of min_y [ f_u(y) + edge(y, x) ]
 *
 * is no later than in any plan, since v waits for all operands, and each of them was made in some
 * state y. No forest is needed; that sets run one step at a time is left out. */
#include "search.h"
#include "shard_bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct world {
    weft_search *s;
    int n_kinds;
    weft_set_kind *kind;
    weft_link_cost fastest; /* between any two accelerators */
    weft_link_cost *
        *best;    /* [kind] -> [n] the fastest slowest pair of n accelerators of that kind */
    int *n_equal; /* [kind] accelerators of its kind */
    double **g;   /* [n_steps][state], NULL until needed */
    int *at;      /* [n_classes * (n_kinds + 1)] first state of a kind */
    int *kept;    /* [n_steps] edge by which a step is tied to an earlier one, or -1 */
    weft_arena *a;
} world;

static int falling(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? 1 : x > y ? -1 : 0;
}

static double bandwidth(const weft_route *r)
{
    return r->n_hops < 0 ? 0 : r->bytes_per_s;
}

static double latency(const weft_route *r)
{
    return r->n_hops < 0 ? INFINITY : r->latency_s;
}

/* [n]: the fastest slowest pair of sets of n accelerators among `device`. */
static void best_links(const weft_platform *p, const int *device, int n_devices,
                       weft_link_cost *out, weft_arena *a)
{
    double *fast = WEFT_NEW(a, double, n_devices), *late = WEFT_NEW(a, double, n_devices);

    for (int n = 0; n <= n_devices; n++)
        out[n] = n < 2 ? WEFT_LINK_COST_NONE
                       : (weft_link_cost){.latency_s = INFINITY, .has_trees = p->has_trees};
    for (int i = 0; i < n_devices; i++) {
        int m = 0;

        for (int k = 0; k < n_devices; k++) {
            const weft_route *out_of = weft_platform_route(p, device[i], device[k]);
            const weft_route *into = weft_platform_route(p, device[k], device[i]);

            if (k != i) { /* the better direction: i may send or receive */
                fast[m] = fmax(bandwidth(out_of), bandwidth(into));
                late[m++] = -fmin(latency(out_of), latency(into)); /* falling: least first */
            }
        }
        qsort(fast, (size_t)m, sizeof *fast, falling);
        qsort(late, (size_t)m, sizeof *late, falling);
        for (int n = 2; n <= n_devices; n++) {
            out[n].bytes_per_s = fmax(out[n].bytes_per_s, fast[n - 2]);
            out[n].latency_s = fmin(out[n].latency_s, -late[n - 2]);
        }
    }
}

static weft_link_cost best_host(const weft_shard_problem *p)
{
    weft_link_cost best = {.latency_s = INFINITY};

    for (int i = 0; i < p->n_accelerators; i++) {
        weft_device_set one = {.n = 1, .member = {p->accelerator[i]}};
        weft_link_cost h = weft_host_link_cost(p, &one);

        best.bytes_per_s = fmax(best.bytes_per_s, h.bytes_per_s);
        best.latency_s = fmin(best.latency_s, h.latency_s);
    }
    return best;
}

/* Every number of equal accelerators with every design. */
static void make_kinds(world *w)
{
    const weft_shard_problem *p = w->s->p;
    const weft_repeats *t = w->s->configs->equals;
    weft_link_cost host = best_host(p);
    int *device = WEFT_NEW(w->a, int, p->n_accelerators);
    int room = 0;

    for (int c = 0; c < t->n_classes; c++)
        room += t->n_in[c] * p->platform->device[t->device[c][0]].n_designs;
    w->kind = WEFT_NEW(w->a, weft_set_kind, room);
    w->best = WEFT_NEW(w->a, weft_link_cost *, room);
    w->n_equal = WEFT_NEW(w->a, int, room);
    for (int c = 0; c < t->n_classes; c++) {
        int n = 0, n_designs = p->platform->device[t->device[c][0]].n_designs;
        weft_link_cost *link = WEFT_NEW(w->a, weft_link_cost, p->n_accelerators + 2);

        for (int b = c; b < t->n_classes && t->kind[c] == c; b++)
            for (int i = 0; i < t->n_in[b] && t->kind[b] == c; i++)
                device[n++] = t->device[b][i];
        best_links(p->platform, device, n, link, w->a);
        for (int m = 1; m <= n && m <= WEFT_MAX_MEMBERS; m++)
            for (int d = 0; d < n_designs && link[m].bytes_per_s > 0; d++) {
                weft_device_set device_set = {.n = 1, .member = {device[0]}, .design = d};

                w->best[w->n_kinds] = link;
                w->n_equal[w->n_kinds] = n;
                w->kind[w->n_kinds++] = (weft_set_kind){
                    .n = m, .design = d, .device_set = device_set, .link = link[m], .host = host};
            }
    }
}

static void find_states(world *w)
{
    weft_tables *t = w->s->tables;

    w->at = WEFT_NEW(w->a, int, t->n_classes *(w->n_kinds + 1));
    for (int c = 0; c < t->n_classes; c++)
        for (int f = 0; f < w->n_kinds; f++)
            w->at[c * (w->n_kinds + 1) + f + 1] =
                w->at[c * (w->n_kinds + 1) + f] + weft_tables_choices(t, c, w->kind[f].n)->n;
}

static void find_forest(world *w)
{
    const weft_tables *t = w->s->tables;
    const weft_steps *s = w->s->p->steps;

    w->kept = WEFT_NEW(w->a, int, s->n);
    for (int v = 0; v < s->n; v++)
        w->kept[v] = -1;
    for (int e = 0; e < t->n_edges; e++) {
        const weft_shard_edge *x = &t->edge[e];
        int64_t bytes = s->graph->tensor[s->step[x->to].operand[x->operand].tensor].bytes;
        int old = w->kept[x->to];

        if (old < 0 ||
            s->graph->tensor[s->step[x->to].operand[t->edge[old].operand].tensor].bytes < bytes)
            w->kept[x->to] = e;
    }
}

static double *states_of(world *w, int v)
{
    weft_tables *t = w->s->tables;
    int c = t->class_of[v];
    const int *at = w->at + c * (w->n_kinds + 1);

    if (w->g[v] == NULL) {
        w->g[v] = WEFT_NEW(w->a, double, at[w->n_kinds]);
        for (int f = 0; f < w->n_kinds; f++)
            for (int k = 0; k < at[f + 1] - at[f]; k++)
                w->g[v][at[f] + k] = weft_tables_own_s(t, c, &w->kind[f], k);
    }
    return w->g[v];
}

/* The fastest link over which a set of kind `from` could hand over to another of kind `to`; false
 * if there are not enough accelerators for both. */
static bool link_between(const world *w, int from, int to, weft_link_cost *out)
{
    int m = w->kind[from].n, n = w->kind[to].n;
    const weft_link_cost *best = w->best[from];

    *out = w->fastest;
    if (best != w->best[to]) /* other devices */
        return true;
    if (m + n > w->n_equal[from])
        return false;
    out->bytes_per_s = fmin(best[m + 1].bytes_per_s, best[n + 1].bytes_per_s);
    out->latency_s = fmax(best[m + 1].latency_s, best[n + 1].latency_s);
    return true;
}

/* Least seconds of step v on a set that is another than that of kind `from`. */
static double least_between(world *w, const weft_shard_edge *e, const double *g, int from)
{
    weft_tables *t = w->s->tables;
    const int *at = w->at + t->class_of[e->to] * (w->n_kinds + 1);
    double least = INFINITY;
    weft_link_cost link;

    for (int f = 0; f < w->n_kinds; f++)
        for (int y = 0; link_between(w, from, f, &link) && y < at[f + 1] - at[f]; y++)
            if (g[at[f] + y] < least)
                least = fmin(least, g[at[f] + y] + weft_tables_between_s(t, e->class_of, &link,
                                                                         w->kind[from].n,
                                                                         w->kind[f].n, y));
    return least;
}

static void add_inside(world *w, const weft_shard_edge *e, int f, double other, double *to)
{
    weft_tables *t = w->s->tables;
    const int *from = w->at + t->class_of[e->from] * (w->n_kinds + 1) + f;
    const int *at = w->at + t->class_of[e->to] * (w->n_kinds + 1) + f;
    const double *g = w->g[e->to] + at[0];
    const double *bytes = weft_tables_reshard(t, e->class_of, w->kind[f].n);
    int n = at[1] - at[0];

    for (int x = 0; x < from[1] - from[0]; x++) {
        double least = other;

        for (int y = 0; y < n; y++) {
            double s;

            if (g[y] >= least)
                continue;
            s = t->problem->hides ? weft_tables_inside_s(t, e->class_of, &w->kind[f], x, y)
                                  : weft_reshard_s(&w->kind[f].link, bytes[x * n + y]);
            least = g[y] + s < least ? g[y] + s : least;
        }
        to[from[0] + x] += least;
    }
}

/* Adds what step v costs at least to the states of the step it is tied to. Kinds of the same
 * devices and number follow each other: they hand over alike. */
static void send_up(world *w, int v)
{
    const weft_shard_edge *e = &w->s->tables->edge[w->kept[v]];
    double *to = states_of(w, e->from), between = INFINITY;

    for (int f = 0; f < w->n_kinds; f++) {
        if (f == 0 || w->kind[f].n != w->kind[f - 1].n || w->best[f] != w->best[f - 1])
            between = least_between(w, e, w->g[v], f);
        add_inside(w, e, f, between, to);
    }
}

static world new_world(weft_search *s, weft_arena *scratch)
{
    world w = {.s = s, .a = scratch};

    make_kinds(&w);
    w.fastest = weft_fastest_link(s->p);
    find_states(&w);
    w.g = WEFT_NEW(scratch, double *, s->p->steps->n);
    return w;
}

double weft_search_bound_to_go(weft_search *s, weft_arena *scratch)
{
    world w = new_world(s, scratch);
    int n = s->p->steps->n;
    double sum = 0;

    find_forest(&w);
    for (int v = n - 1; v >= 0; v--) {
        const double *g = states_of(&w, v);
        const int *at = w.at + s->tables->class_of[v] * (w.n_kinds + 1);

        if (w.kept[v] >= 0) {
            send_up(&w, v);
        } else {
            double least = INFINITY;

            for (int x = 0; x < at[w.n_kinds]; x++)
                least = fmin(least, g[x]);
            sum += least;
        }
    }
    return sum;
}

/* --- side by side ---------------------------------------------------------------------------- */

/* Least end of an operand's way to a set of kind f from another set, for split x of step v. */
static double handed_over(world *w, const weft_shard_edge *e, const double *least, int f, int x)
{
    double best = INFINITY;
    weft_link_cost link;

    for (int from = 0; from < w->n_kinds; from++)
        if (least[from] < best && link_between(w, from, f, &link))
            best =
                fmin(best, least[from] + weft_tables_between_s(w->s->tables, e->class_of, &link,
                                                               w->kind[from].n, w->kind[f].n, x));
    return best;
}

/* Least end of an operand's way inside a set of kind f, or from another one. */
static double arrival(world *w, const weft_shard_edge *e, const double *least, int f, int x)
{
    weft_tables *t = w->s->tables;
    const int *from = w->at + t->class_of[e->from] * (w->n_kinds + 1) + f;
    const double *g = w->g[e->from] + from[0];
    double best = handed_over(w, e, least, f, x);

    for (int y = 0; y < from[1] - from[0]; y++)
        if (g[y] < best)
            best = fmin(best, g[y] + weft_tables_inside_s(t, e->class_of, &w->kind[f], y, x));
    return best;
}

/* The least end of step u on each kind of set. */
static double *least_ends(world *w, int u)
{
    const int *at = w->at + w->s->tables->class_of[u] * (w->n_kinds + 1);
    double *least = WEFT_NEW(w->a, double, w->n_kinds);

    for (int f = 0; f < w->n_kinds; f++) {
        least[f] = INFINITY;
        for (int y = at[f]; y < at[f + 1]; y++)
            least[f] = fmin(least[f], w->g[u][y]);
    }
    return least;
}

/* When the operands of v can be there at the earliest, added to its seconds in each state. */
static void add_arrivals(world *w, int v, int first_edge)
{
    weft_tables *t = w->s->tables;
    const weft_step *s = &w->s->p->steps->step[v];
    const int *at = w->at + t->class_of[v] * (w->n_kinds + 1);
    double **least = WEFT_NEW(w->a, double *, s->n_operands + 1);

    for (int k = 0, e = first_edge; k < s->n_operands; k++)
        if (s->operand[k].step >= 0)
            least[k] = least_ends(w, t->edge[e++].from);
    for (int f = 0; f < w->n_kinds; f++) {
        const weft_choices *c = weft_tables_choices(t, t->class_of[v], w->kind[f].n);

        for (int x = 0; x < at[f + 1] - at[f]; x++) {
            double last = 0;

            for (int k = 0, e = first_edge; k < s->n_operands; k++)
                last = fmax(last, s->operand[k].step < 0
                                      ? weft_link_cost_s(&w->kind[f].host, c->need_bytes[k][x])
                                      : arrival(w, &t->edge[e++], least[k], f, x));
            w->g[v][at[f] + x] += last;
        }
    }
}

/* The least end of step v, outputs at the host included. */
static double least_end(const world *w, int v)
{
    weft_tables *t = w->s->tables;
    const weft_steps *s = w->s->p->steps;
    const int *at = w->at + t->class_of[v] * (w->n_kinds + 1);
    double least = INFINITY;

    for (int f = 0; f < w->n_kinds; f++) {
        const weft_choices *c = weft_tables_choices(t, t->class_of[v], w->kind[f].n);

        for (int x = 0; x < at[f + 1] - at[f]; x++) {
            double out = 0;

            for (int r = 0; r < s->step[v].n_results; r++)
                if (s->graph->tensor[s->step[v].result[r]].kind == WEFT_OUTPUT)
                    out = fmax(out, weft_link_cost_s(&w->kind[f].host, c->result_bytes[r][x]));
            least = fmin(least, w->g[v][at[f] + x] + out);
        }
    }
    return least;
}

double weft_search_bound_to_go_side(weft_search *s, weft_arena *scratch)
{
    world w = new_world(s, scratch);
    weft_tables *t = s->tables;
    int n = s->p->steps->n, e = 0;
    double longest = 0;

    for (int v = 0; v < n && !weft_run_is_over(s->run); v++) {
        const int *at = w.at + t->class_of[v] * (w.n_kinds + 1);

        w.g[v] = WEFT_NEW(scratch, double, at[w.n_kinds]);
        for (int f = 0; f < w.n_kinds; f++) {
            const weft_split_cost *m =
                weft_tables_costs(t, t->class_of[v], w.kind[f].n,
                                  weft_device_set_design(s->p, &w.kind[f].device_set));

            for (int x = 0; x < at[f + 1] - at[f]; x++)
                w.g[v][at[f] + x] = weft_split_cost_s(&m[x], &w.kind[f].link, s->p->hides);
        }
        add_arrivals(&w, v, e);
        while (e < t->n_edges && t->edge[e].to == v)
            e++;
        longest = fmax(longest, least_end(&w, v));
    }
    return longest;
}
