/* SPDX-License-Identifier: MIT */
/* case_nodes.c: which task, step or unit of a plan a node of the network is part of.
 *
 * Tasks are the nodes themselves, steps know theirs. The units of training are cut out of a graph
 * that the problem does not keep: it is opened and cut once more, which gives the same units. */
#include "weft/api.h"

#include <string.h>

static const int *identity(int n, weft_arena *a)
{
    int *part = WEFT_NEW(a, int, n);

    for (int u = 0; u < n; u++)
        part[u] = u;
    return part;
}

/* With one sample, or with the batch that it has (training.c). */
static weft_status open_training(const weft_plan_origin *o, const char *source, weft_model **out)
{
    weft_model_options options = o->options;

    options.train = true;
    options.batch = 1;
    if (weft_model_open(source, &options, out) == WEFT_OK)
        return WEFT_OK;
    options.batch = 0;
    return weft_model_open(source, &options, out);
}

/* Units of forward nodes; the others are not in the file of the model. */
static weft_status add_units(const weft_units *expected, weft_arena *a, weft_case_nodes *out)
{
    const weft_graph *g = out->graph;
    int *part = WEFT_NEW(a, int, g->n_nodes);
    weft_units units;

    WEFT_TRY(weft_units_of(g, NULL, a, &units));
    if (units.n_units != expected->n_units)
        return weft_fail(WEFT_E_INTERNAL, "the network is cut into %d units, before into %d",
                         units.n_units, expected->n_units);
    for (int u = 0; u < g->n_nodes; u++)
        part[u] = g->node[u].phase == WEFT_FORWARD ? units.of_node[u] : -1;
    out->part = part;
    return WEFT_OK;
}

static weft_status open_nodes(const weft_case *c, const weft_verdict *v, const char *source,
                              weft_arena *a, weft_case_nodes *out)
{
    if (v->is_train) {
        WEFT_TRY(open_training(&v->origin, source, &out->model));
        out->graph = out->model->graph;
        return add_units(&c->train.training->units, a, out);
    }
    if (v->is_shard) {
        const weft_steps *s = c->shard.sharding->steps;

        out->graph = s->graph;
        out->part = s->of_node;
        return WEFT_OK;
    }
    if (c->model == NULL)
        return weft_fail(WEFT_E_INPUT, "this is no plan of a network: there are no nodes to "
                                       "annotate");
    out->graph = c->model->graph;
    out->part = identity(out->graph->n_nodes, a);
    return WEFT_OK;
}

weft_status weft_case_nodes_open(const weft_case *c, const weft_verdict *v, const char *source,
                                 weft_arena *a, weft_case_nodes *out)
{
    weft_status status;

    memset(out, 0, sizeof *out);
    status = open_nodes(c, v, source, a, out);
    if (status != WEFT_OK)
        weft_case_nodes_close(out);
    return status;
}

void weft_case_nodes_close(weft_case_nodes *n)
{
    weft_model_free(n->model);
    memset(n, 0, sizeof *n);
}
