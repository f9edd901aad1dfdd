/* SPDX-License-Identifier: MIT */
/* problem_new.c: the problem of a network on a platform.
 *
 * Task u is node u and tensor t is tensor t of the graph. Weights and the optimizer's states are
 * held where they are read and never sent. A directed link of the problem is a direction of a link
 * of the platform; the two directions of a half-duplex link are one. A shared resource is a directed
 * link on the routes of all that use it, so that it carries one transfer at a time. Tasks that read a
 * parameter which training changes share a colocation group, and so do those that read or make a
 * state (a state that is changed in place is held once, for the whole time), the nodes of a kernel
 * (ops/fusion.c) and of an attention with its backward kernel: what stays inside is neither sent nor
 * held. A group of which no device can run all nodes is not fused. */
#include "problem_spec.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Parallel links between two places are told apart by a number. */
static const char *new_link_name(weft_map *names, weft_arena *a, const char *name)
{
    const char *unique = name;

    for (int k = 2; !weft_map_put(names, unique, strlen(unique), k); k++)
        unique = weft_arena_print(a, "%s#%d", name, k);
    return unique;
}

/* Numbers the directions of links: two for most links, one for a half-duplex link. of_hop[hop] is
 * the number of a hop of a route. */
static int *number_links(const weft_platform *p, weft_problem_extra *x, weft_arena *a)
{
    int *of_hop = WEFT_NEW(a, int, 2 * (size_t)p->n_links);
    const char **name = WEFT_NEW(a, const char *, 2 * (size_t)p->n_links + (size_t)p->n_resources);
    weft_map *names = weft_map_new(a);

    for (int k = 0; k < p->n_links; k++) {
        const weft_link *l = &p->link[k];
        const char *one = weft_place_name(p, l->a), *other = weft_place_name(p, l->b);
        const char *mark = l->is_half_duplex ? "-" : ">";

        of_hop[2 * k] = of_hop[2 * k + 1] = x->n_links;
        name[x->n_links++] =
            new_link_name(names, a, weft_arena_print(a, "%s%s%s", one, mark, other));
        if (l->is_half_duplex)
            continue;
        of_hop[2 * k + 1] = x->n_links;
        name[x->n_links++] = new_link_name(names, a, weft_arena_print(a, "%s>%s", other, one));
    }
    for (int r = 0; r < p->n_resources; r++) /* behind the links */
        name[x->n_links + r] = new_link_name(names, a, p->resource[r].name);
    x->n_links += p->n_resources;
    x->link_name = name;
    return of_hop;
}

typedef WEFT_VEC(int) int_list;

/* The links of a route, then the resources that these use, each once. */
static void add_route(const weft_platform *p, const weft_problem_extra *x, const int *of_hop,
                      const int *hop, int n_hops, int_list *route, weft_arena *a)
{
    int first = x->n_links - p->n_resources, begin = route->n;

    for (int i = 0; i < n_hops; i++)
        WEFT_PUSH(a, *route, of_hop[hop[i]]);
    for (int i = 0; i < n_hops && p->n_resources > 0; i++)
        for (int k = p->use_at[hop[i]]; k < p->use_at[hop[i] + 1]; k++) {
            int seen = begin;

            while (seen < route->n && route->at[seen] != first + p->use[k])
                seen++;
            if (seen == route->n)
                WEFT_PUSH(a, *route, first + p->use[k]);
        }
}

static void use_routes(const weft_platform *p, weft_problem_spec *s, weft_problem_extra *x,
                       weft_arena *a)
{
    int n_pairs = p->n_devices * p->n_devices;
    const int *of_hop = number_links(p, x, a);
    double *latency_s = WEFT_NEW(a, double, n_pairs);
    double *second_per_byte = WEFT_NEW(a, double, n_pairs);
    uint64_t *curves = WEFT_NEW(a, uint64_t, n_pairs);
    int *at = WEFT_NEW(a, int, n_pairs + 1), *hop = WEFT_NEW(a, int, 2 * p->n_links);
    int_list route = {0};

    for (int k = 0; k < n_pairs; k++) {
        const weft_route *r = weft_platform_route(p, k / p->n_devices, k % p->n_devices);

        second_per_byte[k] = r->n_hops < 0 ? INFINITY : 0;
        if (r->n_hops > 0) {
            latency_s[k] = r->latency_s;
            second_per_byte[k] = 1 / r->bytes_per_s;
            curves[k] = r->curves;
        }
        weft_platform_hops(p, k / p->n_devices, k % p->n_devices, hop);
        add_route(p, x, of_hop, hop, r->n_hops, &route, a);
        at[k + 1] = route.n;
    }
    s->latency_s = latency_s;
    s->second_per_byte = second_per_byte;
    s->n_curves = p->n_curves;
    s->curve = p->curve;
    s->curves = curves;
    x->route_at = at;
    x->route = route.at;
}

/* Placement shares a resource by letting one transfer use it at a time. */
static weft_status check_shared(const weft_platform *p)
{
    if (p->n_resources == 0 || p->transfer == WEFT_CONTEND)
        return WEFT_OK;
    return weft_fail(WEFT_E_INPUT,
                     "platform '%s': '%s' is shared, which placement knows under 'transfer: %s' "
                     "only, not under '%s'",
                     p->name, p->resource[0].name, weft_transfer_name(WEFT_CONTEND),
                     weft_transfer_name(p->transfer));
}

/* What the platform does not say of a switch, the profile of the device may: what its engine takes
 * to start. */
static void use_devices(const weft_platform *p, const weft_costs *c, weft_problem_spec *s,
                        weft_arena *a)
{
    const char **name = WEFT_NEW(a, const char *, p->n_devices);
    double *capacity = WEFT_NEW(a, double, p->n_devices);
    double *idle_w = WEFT_NEW(a, double, p->n_devices);
    double *switch_s = WEFT_NEW(a, double, p->n_devices);

    for (int d = 0; d < p->n_devices; d++) {
        name[d] = p->device[d].name;
        capacity[d] = p->device[d].memory_bytes;
        idle_w[d] = p->device[d].idle_w;
        switch_s[d] = p->device[d].switch_s;
        if (!(switch_s[d] > 0) && c->launch_s != NULL)
            switch_s[d] = c->launch_s[d];
    }
    s->n_devices = p->n_devices;
    s->device_name = name;
    s->capacity = capacity;
    s->idle_w = idle_w;
    s->switch_s = switch_s;
    s->host = p->host;
    s->transfer = p->transfer;
}

static void use_nodes(const weft_graph *g, weft_problem_spec *s, weft_problem_extra *x,
                      weft_arena *a)
{
    const char **name = WEFT_NEW(a, const char *, g->n_nodes);
    const char **kind = WEFT_NEW(a, const char *, g->n_nodes);

    for (int u = 0; u < g->n_nodes; u++) {
        name[u] = g->node[u].name;
        kind[u] = g->node[u].op;
    }
    s->n_tasks = g->n_nodes;
    s->task_name = name;
    x->task_kind = kind;
}

/* Weights and the optimizer's states are held, the rest is sent and held. */
static void use_tensors(const weft_graph *g, weft_problem_spec *s, weft_arena *a)
{
    double *bytes = WEFT_NEW(a, double, g->n_tensors), *held = WEFT_NEW(a, double, g->n_tensors);
    bool *is_weight = WEFT_NEW(a, bool, g->n_tensors);
    bool *is_output = WEFT_NEW(a, bool, g->n_tensors);
    int *producer = WEFT_NEW(a, int, g->n_tensors);

    for (int t = 0; t < g->n_tensors; t++) {
        const weft_tensor *x = &g->tensor[t];

        bytes[t] = (double)x->bytes;
        held[t] = weft_tensor_is_inner(g, t) || weft_state_in_place(g, t) >= 0 ? 0 : bytes[t];
        is_weight[t] = x->producer < 0 && (x->kind == WEFT_WEIGHT || x->kind == WEFT_STATE);
        producer[t] = x->producer;
    }
    for (int i = 0; i < g->n_outputs; i++)
        is_output[g->output[i]] = true;
    s->n_tensors = g->n_tensors;
    s->amount = bytes;
    s->memory = held;
    s->is_weight = is_weight;
    s->is_output = is_output;
    s->producer = producer;
    s->reader_at = g->use_at;
    s->reader = g->use;
}

static void put_together(int *group, bool *is_shared, int u, int v)
{
    int one = weft_root(group, u), other = weft_root(group, v);

    group[one < other ? other : one] = one < other ? one : other;
    is_shared[u] = is_shared[v] = true;
}

/* A parameter that training changes exists once: all that read it, and its update, share a device.
 */
static void join_updates(const weft_graph *g, int *group, bool *is_shared)
{
    for (int u = 0; u < g->n_nodes; u++) {
        int w = g->node[u].phase == WEFT_UPDATE ? g->arg[g->arg_at[u]] : -1;

        for (int k = w < 0 ? 0 : g->use_at[w]; w >= 0 && k < g->use_at[w + 1]; k++)
            put_together(group, is_shared, u, g->use[k]);
    }
}

/* A state exists once, and neither it nor what takes its place is sent: all that read or make the
 * two share a device. */
static void join_states(const weft_graph *g, int *group, bool *is_shared)
{
    for (int t = 0; t < g->n_tensors && g->n_states > 0; t++) {
        int present = g->kept[t], first = -1;
        const int both[] = {t, present};

        if (g->tensor[t].kind != WEFT_STATE)
            continue;
        for (int i = 0; i < 2 && both[i] >= 0; i++)
            for (int k = g->use_at[both[i]]; k < g->use_at[both[i] + 1]; k++) {
                first = first < 0 ? g->use[k] : first;
                put_together(group, is_shared, first, g->use[k]);
            }
        if (present >= 0)
            put_together(group, is_shared, first < 0 ? g->tensor[present].producer : first,
                         g->tensor[present].producer);
    }
}

/* Joins the nodes with the same number >= 0. */
static void join_equal(const weft_graph *g, const int *number, int *group, bool *is_shared,
                       weft_arena *a)
{
    int *first = WEFT_NEW(a, int, g->n_nodes + 1); /* 1 + node */

    for (int u = 0; u < g->n_nodes; u++) {
        int k = number[u];

        if (k >= 0 && first[k] > 0)
            put_together(group, is_shared, first[k] - 1, u);
        else if (k >= 0)
            first[k] = u + 1;
    }
}

/* [n_nodes] the first node of its colocation group, or -1. */
static int *colocation_of(const weft_graph *g, weft_arena *a)
{
    int *group = WEFT_NEW(a, int, g->n_nodes), *colocation = WEFT_NEW(a, int, g->n_nodes);
    bool *is_shared = WEFT_NEW(a, bool, g->n_nodes);

    for (int u = 0; u < g->n_nodes; u++)
        group[u] = u;
    join_updates(g, group, is_shared);
    join_states(g, group, is_shared);
    if (g->kernel) {
        join_equal(g, g->kernel, group, is_shared, a);
        join_equal(g, g->attention, group, is_shared, a);
    }
    for (int u = 0; u < g->n_nodes; u++)
        colocation[u] = is_shared[u] ? weft_root(group, u) : -1;
    return colocation;
}

bool weft_problem_tear(const weft_graph *g, const weft_costs *c, weft_arena *a, weft_graph *out)
{
    const int *group = colocation_of(g, a);
    bool *is_able = WEFT_NEW(a, bool, g->n_nodes + 1), is_torn = false;
    int *part = WEFT_NEW(a, int, g->n_nodes + 1);

    for (int d = 0; d < c->n_devices; d++) {
        bool *can = WEFT_NEW(a, bool, g->n_nodes + 1); /* by group */

        for (int u = 0; u < g->n_nodes; u++)
            can[u] = true;
        for (int u = 0; u < g->n_nodes; u++)
            if (group[u] >= 0 && isinf(c->seconds[(size_t)u * (size_t)c->n_devices + (size_t)d]))
                can[group[u]] = false;
        for (int u = 0; u < g->n_nodes; u++)
            is_able[u] = is_able[u] || can[u];
    }
    for (int u = 0; u < g->n_nodes && g->kernel; u++)
        if (group[u] >= 0 && !is_able[group[u]]) {
            part[u] = u + 1;
            is_torn = true;
        }
    if (is_torn)
        weft_graph_cut_kernels(g, part, a, out);
    return is_torn;
}

/* Whatever follows the forward pass. */
static void use_phases(const weft_graph *g, weft_problem_spec *s, weft_arena *a)
{
    bool *is_backward = WEFT_NEW(a, bool, g->n_nodes);

    for (int u = 0; u < g->n_nodes; u++)
        is_backward[u] = g->node[u].phase != WEFT_FORWARD;
    s->is_backward = is_backward;
}

/* --- states ---------------------------------------------------------------------------------- */

/* A state that another node than the one that makes it anew reads: an item of a stream must wait
 * until the one before it has got that far, which loads of resources do not tell. */
static bool is_wide(const weft_graph *g, int past)
{
    int maker = g->kept[past] < 0 ? -1 : g->tensor[g->kept[past]].producer;

    for (int k = g->use_at[past]; maker >= 0 && k < g->use_at[past + 1]; k++)
        if (g->use[k] != maker)
            return true;
    return false;
}

static const char *wide_state(const weft_graph *g)
{
    for (int t = 0; t < g->n_tensors && g->n_states > 0; t++)
        if (g->tensor[t].kind == WEFT_STATE && is_wide(g, t))
            return g->tensor[t].name;
    return NULL;
}

static weft_status check_states(const weft_graph *g, const weft_constraints *c)
{
    const char *wide = wide_state(g);

    if (g->n_states == 0)
        return WEFT_OK;
    if (c->is_mixed)
        return weft_fail(WEFT_E_INPUT, "the network has states that stay on one device (see weft "
                                       "inspect), so items cannot go different ways (--mix): leave "
                                       "it out, or take them for inputs with --state none");
    if (wide != NULL && (c->goal == WEFT_THROUGHPUT || c->most_period_s > 0))
        return weft_fail(WEFT_E_INPUT,
                         "state '%s' is read by one operator and made anew by another, so items "
                         "of a stream wait for each other: throughput knows states that one "
                         "operator reads and makes anew; --state none takes them for inputs",
                         wide);
    return WEFT_OK;
}

static void keep_states(const weft_graph *g, weft_problem *p)
{
    const char *wide = wide_state(g);
    bool *is_state;

    if (g->n_states == 0)
        return;
    is_state = WEFT_NEW(p->arena, bool, g->n_tensors);
    for (int t = 0; t < g->n_tensors; t++)
        is_state[t] = g->tensor[t].kind == WEFT_STATE;
    p->is_state = is_state;
    p->wide_state = wide ? weft_arena_word(p->arena, wide) : NULL;
}

weft_status weft_problem_new(const weft_graph *g, const weft_costs *c, const weft_platform *p,
                             const weft_constraints *constraints, weft_problem **out)
{
    weft_arena *scratch;
    weft_problem_spec s = {
        .name = g->name, .seconds = c->seconds, .joules = c->joules, .constraints = *constraints};
    weft_problem_extra x = {0};
    weft_status status;

    s.constraints.may_mix = constraints->may_mix && g->n_states == 0;
    assert(c->n_nodes == g->n_nodes && c->n_devices == p->n_devices);
    if (p->n_devices > WEFT_MOST_DEVICES)
        return weft_fail(WEFT_E_INPUT, "platform '%s' has %d devices, expected at most %d", p->name,
                         p->n_devices, WEFT_MOST_DEVICES);
    WEFT_TRY(check_shared(p));
    WEFT_TRY(check_states(g, constraints));
    scratch = weft_arena_new();
    use_devices(p, c, &s, scratch);
    use_nodes(g, &s, &x, scratch);
    use_tensors(g, &s, scratch);
    s.colocation = colocation_of(g, scratch);
    use_phases(g, &s, scratch);
    use_routes(p, &s, &x, scratch);
    status = weft_problem_build(&s, &x, out);
    if (status == WEFT_OK)
        keep_states(g, *out);
    if (status == WEFT_OK && c->is_measured)
        (*out)->is_measured =
            weft_arena_copy((*out)->arena, c->is_measured,
                            (size_t)g->n_nodes * (size_t)p->n_devices * sizeof *c->is_measured);
    weft_arena_free(scratch);
    return status;
}
