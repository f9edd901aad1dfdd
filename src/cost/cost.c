/* SPDX-License-Identifier: MIT */
/* cost.c: fills the table of costs.
 *
 * 1. Nodes with the same work have the same key (layer.c); keys are interned once.
 * 2. A model is asked once for each key and kind of device.
 * 3. Everything else is a look-up.
 *
 *   seconds = 0                                                   for views
 *           = overhead + max(core_s, (bytes + half) / (bandwidth * eta))   else; no overhead for the
 *             later nodes of a kernel, whose bytes are those that leave or enter it
 *           = max(that, host_time), or their sum if launches block, with software eager
 *   joules  = operations * energy_per_flop + bytes * energy_per_byte */
#include "doc.h"
#include "models.h"
#include "profile.h"

#include <math.h>
#include <string.h>

/* Measured times name nodes, not work (src/model/profile.c). */
static const weft_param profile_params[] = {WEFT_ROWS_OF_ALL};

const weft_device_row weft_device_profile = {.name = "profile", WEFT_PARAMS(profile_params)};

/* With the time of the host: beside the device's, or before it. */
static double hosted_s(const weft_design *d, double device_s)
{
    double host_s = d->value[WEFT_P_HOST_TIME];

    return d->value[WEFT_P_BLOCKING] > 0 ? host_s + device_s : fmax(host_s, device_s);
}

weft_cost weft_design_cost(const weft_design *d, const weft_work_key *k)
{
    const weft_device_row *model = weft_device_row_of(d->model);
    weft_core_cost e;
    double memory_s, seconds;

    if (k->is_view)
        return (weft_cost){0, 0, 0};
    if (model->core_cost == NULL)
        return (weft_cost){INFINITY, 0, 0};
    e = model->core_cost(d, k);
    memory_s = (e.memory_bytes + (e.memory_bytes > 0 ? d->value[WEFT_P_MEMORY_HALF] : 0)) /
               (d->value[WEFT_P_BANDWIDTH] * d->value[WEFT_P_ETA]);
    seconds = (k->is_joined ? 0 : d->value[WEFT_P_OVERHEAD]) + fmax(e.core_s, memory_s);
    return (weft_cost){k->is_eager ? hosted_s(d, seconds) : seconds,
                       weft_operations(k) * d->value[WEFT_P_PJ_FLOP] +
                           e.memory_bytes * d->value[WEFT_P_PJ_BYTE],
                       e.memory_bytes};
}

double weft_design_cycles(const weft_design *d, const weft_layer *l)
{
    const weft_device_row *model = weft_device_row_of(d->model);

    return model->cycles ? model->cycles(d, l) : 0;
}

double weft_design_area(const weft_design *d)
{
    const weft_device_row *model = weft_device_row_of(d->model);

    if (d->value[WEFT_P_AREA] > 0)
        return d->value[WEFT_P_AREA];
    return model->area_mm2 ? model->area_mm2(d) : 0;
}

double weft_design_peak_flops(const weft_design *d)
{
    const weft_device_row *model = weft_device_row_of(d->model);

    return model->peak_flops ? model->peak_flops(d) : 0;
}

double weft_design_type_peak(const weft_design *d, weft_dtype type)
{
    return weft_largest_peak(d) > 0 ? d->value[weft_peak_place(d, type)]
                                    : weft_design_peak_flops(d);
}

bool weft_design_supports(const weft_design *d, const char *op, const char *domain)
{
    const weft_op *row = d->n_only ? weft_op_find(domain, op) : NULL;

    for (int i = 0; i < d->n_only; i++)
        if (strcmp(d->only[i], op) == 0 ||
            (row && strcmp(d->only[i], weft_fusion_name(row->fusion)) == 0))
            return true;
    return d->n_only == 0;
}

typedef WEFT_VEC(const char *) word_list;

/* Operators of the table and of a network, and families. */
static word_list known_operators(const weft_graph *g, weft_arena *a)
{
    word_list list = {0};

    for (int i = 0; i < weft_op_count(); i++)
        WEFT_PUSH(a, list, weft_op_at(i)->name);
    for (int f = WEFT_FUSE_TENSOR; f <= WEFT_FUSE_NONE; f++)
        WEFT_PUSH(a, list, weft_fusion_name((weft_fusion)f));
    for (int u = 0; u < g->n_nodes; u++)
        WEFT_PUSH(a, list, g->node[u].op);
    return list;
}

static weft_status check_only(const weft_design *d, const word_list *known)
{
    for (int i = 0; i < d->n_only; i++) {
        const char *near;

        if (weft_is_among(d->only[i], known->at, known->n))
            continue;
        near = weft_nearest(d->only[i], known->at, known->n);
        if (near)
            return weft_fail(WEFT_E_INPUT, "%s: no operator is called '%s' (did you mean '%s'?)",
                             d->only_at[i], d->only[i], near);
        return weft_fail(WEFT_E_INPUT,
                         "%s: no operator is called '%s', expected one like 'Conv', or a family "
                         "like 'tensor'",
                         d->only_at[i], d->only[i]);
    }
    return WEFT_OK;
}

weft_status weft_only_check(const weft_platform *p, const weft_graph *g)
{
    weft_arena *a = weft_arena_new();
    word_list known = known_operators(g, a);
    weft_status status = WEFT_OK;

    for (int d = 0; d < p->n_devices; d++)
        for (int k = 0; k < p->device[d].n_designs && status == WEFT_OK; k++)
            status = check_only(&p->device[d].design[k], &known);
    weft_arena_free(a);
    return status;
}

/* --- the table ------------------------------------------------------------------------------- */

static void intern(const weft_graph *g, weft_work_keys *k)
{
    weft_work_key *key = WEFT_NEW(k->arena, weft_work_key, g->n_nodes);
    int *of_node = WEFT_NEW(k->arena, int, g->n_nodes);
    weft_map *seen = weft_map_new(k->arena);

    for (int u = 0; u < g->n_nodes; u++) {
        weft_work_key_of(g, u, &key[k->n]);
        of_node[u] = weft_map_get(seen, (const char *)&key[k->n], sizeof key[0]);
        if (of_node[u] >= 0)
            continue;
        of_node[u] = k->n++;
        (void)weft_map_put(seen, (const char *)&key[of_node[u]], sizeof key[0], of_node[u]);
    }
    k->key = key;
    k->of_node = of_node;
}

weft_status weft_work_keys_new(const weft_graph *g, weft_work_keys **out)
{
    weft_arena *a;

    WEFT_TRY(weft_need_static(g, "its cost"));
    a = weft_arena_new();
    *out = WEFT_NEW(a, weft_work_keys, 1);
    (*out)->graph = g;
    (*out)->arena = a;
    intern(g, *out);
    return WEFT_OK;
}

void weft_work_keys_free(weft_work_keys *k)
{
    if (k)
        weft_arena_free(k->arena);
}

/* The operator whose name decides support: a backward node's is that of its forward node. */
static const weft_node *named(const weft_graph *g, int u)
{
    const weft_node *n = &g->node[u];

    return n->phase == WEFT_BACKWARD && n->forward >= 0 ? &g->node[n->forward] : n;
}

static int missing_of(const weft_design *d, const weft_work_key *k)
{
    const weft_device_row *model = weft_device_row_of(d->model);

    return model->missing ? model->missing(d, k) : -1;
}

/* The peak that a node needs and no design of a device that could run it has, or -1. Which operators
 * a design supports is asked last: it takes longest. */
static int missing_peak(const weft_device *d, int n_designs, const weft_work_key *k,
                        const weft_node *n)
{
    int missing = -1, found = -1;

    for (int i = 0; i < n_designs && missing < 0; i++)
        missing = missing_of(&d->design[i], k);
    for (int i = 0; i < n_designs && missing >= 0; i++) {
        if (!weft_design_supports(&d->design[i], n->op, n->domain))
            continue;
        found = missing_of(&d->design[i], k);
        if (found < 0)
            return -1;
    }
    return found;
}

static weft_status fail_peak(const weft_device *d, int missing, const weft_graph *g, int u,
                             const weft_work_key *k)
{
    const char *key = NULL;

    for (int i = 0; i < d->n_designs && key == NULL; i++)
        key = weft_param_key(d->design[i].model, missing);
    return weft_fail(WEFT_E_INPUT, "device '%s' has no '%s', which node '%s' (%s of %s) needs",
                     d->name, key, g->node[u].name, named(g, u)->op, weft_dtype_name(k->type));
}

/* One node on all devices; copies share their designs and are looked at once. */
static weft_status check_peak(const weft_graph *g, int u, const weft_work_key *k,
                              const weft_platform *p, bool is_sharded)
{
    for (int d = 0; d < p->n_devices && k->n_layers > 0; d++) {
        const weft_device *device = &p->device[d];
        int missing;

        if ((d > 0 && device->design == p->device[d - 1].design) ||
            (is_sharded && d == p->host && p->n_devices > 1))
            continue;
        missing = missing_peak(device, is_sharded ? device->n_designs : 1, k, named(g, u));
        if (missing >= 0)
            return fail_peak(device, missing, g, u, k);
    }
    return WEFT_OK;
}

static weft_status check_known_peaks(const weft_work_keys *keys, const weft_platform *p)
{
    for (int u = 0; u < keys->graph->n_nodes; u++)
        WEFT_TRY(check_peak(keys->graph, u, &keys->key[keys->of_node[u]], p, false));
    return WEFT_OK;
}

weft_status weft_check_peaks(const weft_graph *g, const weft_platform *p)
{
    weft_work_key k;

    for (int u = 0; u < g->n_nodes; u++) {
        if (!weft_node_is_static(g, u))
            continue;
        weft_work_key_of(g, u, &k);
        WEFT_TRY(check_peak(g, u, &k, p, true));
    }
    return WEFT_OK;
}

typedef struct filler {
    const weft_graph *g;
    const weft_platform *p;
    const weft_work_keys *keys;
    weft_arena *scratch;
    double *seconds, *joules, *bytes;
    bool *is_measured;
    double *launch_s;
} filler;

static bool same_values(const double *a, const double *b, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

static bool same_design(const weft_design *a, const weft_design *b)
{
    return a->model == b->model && a->n_only == b->n_only && a->n_only == 0 && a->profile == NULL &&
           b->profile == NULL && same_values(a->value, b->value, WEFT_N_PARAMS) &&
           same_values(a->efficiency, b->efficiency, WEFT_N_FAMILIES);
}

/* A column of an equal device that is there already, or -1. */
static int equal_device(const weft_platform *p, int d)
{
    for (int e = 0; e < d; e++)
        if (same_design(p->device[e].design, p->device[d].design))
            return e;
    return -1;
}

static void copy_column(filler *f, int from, int to)
{
    for (int u = 0; u < f->g->n_nodes; u++) {
        size_t row = (size_t)u * (size_t)f->p->n_devices;

        f->seconds[row + (size_t)to] = f->seconds[row + (size_t)from];
        f->joules[row + (size_t)to] = f->joules[row + (size_t)from];
        f->bytes[row + (size_t)to] = f->bytes[row + (size_t)from];
    }
}

static void put(filler *f, int u, int d, weft_cost c)
{
    size_t at = (size_t)u * (size_t)f->p->n_devices + (size_t)d;

    f->seconds[at] = c.seconds;
    f->joules[at] = c.joules;
    f->bytes[at] = c.memory_bytes;
}

/* Measured times replace those of the model; a device of model profile has no others. */
static weft_status use_profile(filler *f, int d)
{
    const weft_device *device = &f->p->device[d];
    weft_profile *profile;

    if (device->design->profile == NULL)
        return WEFT_OK;
    WEFT_TRY(weft_profile_read(device->design->profile, f->scratch, &profile));
    WEFT_TRY(weft_profile_check(profile, f->g, f->p));
    f->launch_s[d] = weft_profile_launch_s(profile, device->name);
    for (int u = 0; u < f->g->n_nodes; u++) {
        size_t at = (size_t)u * (size_t)f->p->n_devices + (size_t)d;
        double seconds = weft_profile_s(profile, f->g->node[u].name, device->name);

        if (isnan(seconds))
            continue;
        f->seconds[at] = seconds;
        f->is_measured[at] = true;
    }
    return WEFT_OK;
}

static weft_status fill_column(filler *f, int d)
{
    const weft_design *design = f->p->device[d].design;
    int equal = equal_device(f->p, d);
    weft_cost *cost;

    if (equal >= 0) {
        copy_column(f, equal, d);
        return WEFT_OK;
    }
    cost = WEFT_NEW(f->scratch, weft_cost, f->keys->n);
    for (int k = 0; k < f->keys->n; k++)
        cost[k] = weft_design_cost(design, &f->keys->key[k]);
    for (int u = 0; u < f->g->n_nodes; u++) {
        const weft_node *n = named(f->g, u);
        bool is_free = f->keys->key[f->keys->of_node[u]].is_view;

        put(f, u, d,
            is_free || weft_design_supports(design, n->op, n->domain)
                ? cost[f->keys->of_node[u]]
                : (weft_cost){INFINITY, 0, 0});
    }
    return use_profile(f, d);
}

static weft_status fill(filler *f)
{
    for (int d = 0; d < f->p->n_devices; d++)
        WEFT_TRY(fill_column(f, d));
    return WEFT_OK;
}

static bool has_profile(const weft_platform *p)
{
    for (int d = 0; d < p->n_devices; d++)
        if (p->device[d].design->profile)
            return true;
    return false;
}

weft_status weft_costs_of(const weft_work_keys *k, const weft_platform *p, weft_costs **out)
{
    size_t size = (size_t)k->graph->n_nodes * (size_t)p->n_devices;
    weft_arena *a = weft_arena_new(), *scratch = weft_arena_new();
    weft_costs *c = WEFT_NEW(a, weft_costs, 1);
    filler f = {.g = k->graph,
                .p = p,
                .keys = k,
                .scratch = scratch,
                .seconds = WEFT_NEW(a, double, size),
                .joules = WEFT_NEW(a, double, size),
                .bytes = WEFT_NEW(a, double, size),
                .is_measured = has_profile(p) ? WEFT_NEW(a, bool, size) : NULL,
                .launch_s = has_profile(p) ? WEFT_NEW(a, double, p->n_devices) : NULL};
    weft_status status = check_known_peaks(k, p);

    if (status == WEFT_OK)
        status = fill(&f);

    *c = (weft_costs){k->graph->n_nodes, p->n_devices, f.seconds, f.joules, f.bytes, k->n,
                      f.is_measured,     f.launch_s,   a};
    weft_arena_free(scratch);
    if (status != WEFT_OK)
        weft_arena_free(a);
    else
        *out = c;
    return status;
}

weft_status weft_costs_new(const weft_graph *g, const weft_platform *p, weft_costs **out)
{
    weft_work_keys *k;
    weft_status status;

    WEFT_TRY(weft_work_keys_new(g, &k));
    status = weft_costs_of(k, p, out);
    weft_work_keys_free(k);
    return status;
}

void weft_costs_free(weft_costs *c)
{
    if (c)
        weft_arena_free(c->arena);
}
