/* SPDX-License-Identifier: MIT */
/* network_times.c: a network measured on one device after the other.
 *
 * Every node becomes a segment of its own (weft_deployment.is_chain) in a folder that is removed
 * again. Views cost nothing inside of a segment and have no times. Times are what nodes take in
 * sessions of their own, without the launch. In longer segments some take less, since results stay in
 * caches or are never written: the closure says what the sum of all is of the whole network. Times are
 * not scaled to it: plans that send much have short segments, and their latency was met better without
 * (docs/results.md). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cost.h"
#include "network_times.h"

typedef struct taking {
    const weft_network *n;
    const weft_measure_options *o;
    weft_arena *a;
    weft_doc *times;
    weft_map *node; /* name -> node of the graph */
} taking;

static bool is_view(const weft_graph *g, int u)
{
    weft_work_key key;

    weft_work_key_of(g, u, &key);
    return key.is_view;
}

static weft_deployment chain_on(const taking *t, int device)
{
    const weft_graph *g = t->n->model->graph;
    int *of = WEFT_NEW(t->a, int, g->n_nodes), *task = WEFT_NEW(t->a, int, g->n_nodes);
    double *start_s = WEFT_NEW(t->a, double, g->n_nodes);

    for (int u = 0; u < g->n_nodes; u++) {
        of[u] = device;
        task[u] = u;
        start_s[u] = u;
    }
    return (weft_deployment){.source = t->n->model->source,
                             .options = t->n->options,
                             .graph = g,
                             .platform = t->n->platform,
                             .task = task,
                             .device = of,
                             .start_s = start_s,
                             .is_chain = true};
}

/* --- figures of a device --------------------------------------------------------------------- */

static int node_of(const taking *t, const weft_segment *g)
{
    return g->n_nodes > 0 ? weft_map_get(t->node, g->node[0], strlen(g->node[0])) : -1;
}

static void find_closure(const taking *t, const weft_split_net *s, weft_device_times *out)
{
    double sum_s = 0;

    for (int i = 0; i < s->n_segments; i++) {
        int u = node_of(t, &s->segment[i]);

        if (u < 0 || is_view(t->n->model->graph, u))
            continue;
        out->n_refused += out->m.node[i].n_tried == 0;
        if (out->m.node[i].n_tried == 0)
            continue;
        sum_s += out->m.node[i].seconds;
        out->n_nodes++;
        out->n_noisy += out->m.node[i].n_kept < WEFT_LEAST_KEPT;
    }
    out->closure = (sum_s + out->m.launch.seconds) / out->m.whole.seconds;
}

static void add_time(taking *t, const char *node, const weft_device_times *d, const weft_timing *x)
{
    weft_doc *map = weft_add_map(t->a, t->times);

    weft_put_text(t->a, map, "node", node);
    weft_put_text(t->a, map, "device", t->n->platform->device[d->device].name);
    weft_put_real(t->a, map, "seconds", x->seconds);
    weft_put_real(t->a, map, "spread", x->n_kept > 0 ? x->mad_s : NAN);
    weft_put_int(t->a, map, "samples", x->n_kept);
    weft_put_int(t->a, map, "tried", x->n_tried);
}

/* Nodes that are inside of another one take nothing themselves. */
static void add_times(taking *t, const weft_split_net *s, const weft_device_times *d)
{
    const weft_graph *g = t->n->model->graph;
    bool *has = WEFT_NEW(t->a, bool, g->n_nodes + 1);

    for (int i = 0; i < s->n_segments; i++) {
        int u = node_of(t, &s->segment[i]);

        if (u < 0 || is_view(g, u))
            continue;
        has[u] = true;
        if (d->m.node[i].n_tried > 0)
            add_time(t, g->node[u].name, d, &d->m.node[i]);
    }
    for (int u = 0; u < g->n_nodes; u++)
        if (!has[u] && !is_view(g, u))
            add_time(t, g->node[u].name, d, &(weft_timing){0});
}

static weft_status measure_device(taking *t, int device, weft_device_times *out)
{
    const weft_device *d = &t->n->platform->device[device];
    weft_deployment chain = chain_on(t, device);
    const char *folder = weft_arena_print(t->a, "%s/%s", t->n->tmp, d->name), *whole;
    weft_split_net s;
    weft_status status;

    *out = (weft_device_times){.device = device};
    WEFT_TRY(weft_engine_find(d->engine, &out->engine));
    status = weft_split_net_write(&chain, folder, t->a, &s);
    if (status == WEFT_OK) {
        whole = s.whole ? weft_arena_print(t->a, "%s/%s", folder, s.whole) : chain.source;
        status = weft_measure_nodes(&s, whole, t->o, t->a, &out->m);
    }
    if (status == WEFT_OK) {
        find_closure(t, &s, out);
        add_times(t, &s, out);
    }
    if (status != WEFT_OK) {
        const char *message = weft_arena_word(t->a, weft_message());

        weft_split_net_remove(folder);
        return weft_fail(status, "%s", message);
    }
    weft_split_net_remove(folder);
    return WEFT_OK;
}

/* --- the document ---------------------------------------------------------------------------- */

static weft_doc *model_doc(const taking *t)
{
    weft_doc *d = weft_doc_new(t->a, WEFT_DOC_MAP);

    weft_put_text(t->a, d, "source", t->n->model->source);
    weft_put_text(t->a, d, "hash",
                  weft_arena_print(t->a, "%016" PRIx64, weft_graph_hash(t->n->model->graph)));
    if (t->n->level >= 0)
        weft_put_int(t->a, d, "level", t->n->level);
    weft_put_text(t->a, d, "normalised_by", t->n->normal_by);
    return d;
}

static weft_doc *devices_doc(const taking *t, const weft_network_times *x)
{
    weft_doc *list = weft_doc_new(t->a, WEFT_DOC_LIST);

    for (int i = 0; i < x->n_devices; i++) {
        const weft_device_times *d = &x->device[i];
        const weft_device *on = &t->n->platform->device[d->device];
        weft_doc *map = weft_add_map(t->a, list), *cpus = weft_doc_new(t->a, WEFT_DOC_LIST);

        weft_put_text(t->a, map, "name", on->name);
        weft_put_text(t->a, map, "engine", on->engine);
        weft_put_text(t->a, map, "version", d->m.version);
        for (int k = 0; k < on->n_cores; k++)
            weft_doc_add(t->a, cpus, weft_doc_new_int(t->a, on->cores[k]));
        weft_doc_put(t->a, map, "cpus", cpus);
        weft_put_real(t->a, map, "whole_s", d->m.whole.seconds);
        weft_put_int(t->a, map, "whole_kept", d->m.whole.n_kept);
        weft_put_int(t->a, map, "whole_tried", d->m.whole.n_tried);
        weft_put_real(t->a, map, "launch_s", d->m.launch.seconds);
        weft_put_real(t->a, map, "closure", d->closure);
        weft_put_real(t->a, map, "pacer_s", d->m.pacer_s);
        weft_put_int(t->a, map, "noisy", d->n_noisy);
        weft_put_int(t->a, map, "refused", d->n_refused);
    }
    return list;
}

/* Between the first processors of each two devices. */
static weft_status links_doc(const taking *t, weft_doc **out)
{
    const weft_platform *p = t->n->platform;

    *out = weft_doc_new(t->a, WEFT_DOC_LIST);
    for (int d = 0; d < p->n_devices; d++)
        for (int e = 0; e < p->n_devices; e++) {
            const weft_device *from = &p->device[d], *to = &p->device[e];
            weft_link_timing time[WEFT_N_LINK_SIZES];

            if (from->n_cores == 0 || to->n_cores == 0 || from->cores[0] == to->cores[0])
                continue;
            WEFT_TRY(weft_measure_link(from->cores[0], to->cores[0], time));
            for (int k = 0; k < WEFT_N_LINK_SIZES; k++) {
                weft_doc *map = weft_add_map(t->a, *out);

                weft_put_text(t->a, map, "from", from->name);
                weft_put_text(t->a, map, "to", to->name);
                weft_put_int(t->a, map, "bytes", time[k].bytes);
                weft_put_real(t->a, map, "seconds", time[k].time.seconds);
            }
        }
    return WEFT_OK;
}

weft_status weft_network_times_measure(const weft_network *n, const weft_measure_options *o,
                                       weft_arena *a, weft_network_times *out)
{
    taking t = {.n = n, .o = o, .a = a, .times = weft_doc_new(a, WEFT_DOC_LIST)};
    weft_device_times *device = WEFT_NEW(a, weft_device_times, n->platform->n_devices);
    const weft_graph *g = n->model->graph;
    weft_doc *links;

    *out = (weft_network_times){.device = device, .doc = weft_doc_new(a, WEFT_DOC_MAP)};
    t.node = weft_map_new(a);
    for (int u = 0; u < g->n_nodes; u++)
        weft_map_set(t.node, g->node[u].name, strlen(g->node[u].name), u);
    for (int d = 0; d < n->platform->n_devices; d++)
        if (n->platform->device[d].engine != NULL)
            WEFT_TRY(measure_device(&t, d, &device[out->n_devices++]));
    if (out->n_devices == 0)
        return weft_fail(WEFT_E_INPUT,
                         "no device of platform '%s' has an engine: weft profile --devices writes "
                         "a platform file of this machine",
                         n->platform->name);
    WEFT_TRY(links_doc(&t, &links));
    weft_put_text(a, out->doc, "schema", "weft.profile/1");
    weft_doc_put(a, out->doc, "model", model_doc(&t));
    weft_doc_put(a, out->doc, "devices", devices_doc(&t, out));
    weft_doc_put(a, out->doc, "links", links);
    weft_doc_put(a, out->doc, "times", t.times);
    return WEFT_OK;
}
