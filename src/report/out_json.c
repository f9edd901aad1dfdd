/* SPDX-License-Identifier: MIT */
/* out_json.c: summaries as documents, field by field as docs/formats.md lists them. */
#include "report.h"

/* Dimensions; null where they depend on the data, null for the whole if the rank does. */
static weft_doc *shape_doc(const weft_shape *s, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, s->rank < 0 ? WEFT_DOC_NULL : WEFT_DOC_LIST);

    for (int d = 0; d < s->rank; d++)
        weft_doc_add(a, list,
                     s->dim[d] < 0 ? weft_doc_new(a, WEFT_DOC_NULL)
                                   : weft_doc_new_int(a, s->dim[d]));
    return list;
}

static weft_doc *tensor_doc(weft_dtype type, const weft_shape *shape, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_text(a, d, "type", weft_dtype_name(type));
    weft_doc_put(a, d, "shape", shape_doc(shape, a));
    return d;
}

static void put_work(weft_arena *a, weft_doc *map, const weft_work *w)
{
    weft_put_int(a, map, "macs", w->macs);
    weft_put_int(a, map, "flops", w->flops);
    weft_put_int(a, map, "read_bytes", w->read_bytes);
    weft_put_int(a, map, "write_bytes", w->write_bytes);
}

static weft_doc *operators_doc(const weft_summary *s, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < s->n_ops; i++) {
        weft_doc *row = weft_add_map(a, list);

        weft_put_text(a, row, "op", s->op[i].op);
        weft_put_text(a, row, "domain", s->op[i].domain);
        weft_put_int(a, row, "nodes", s->op[i].n_nodes);
        put_work(a, row, &s->op[i].work);
        weft_put_bool(a, row, "known", !s->op[i].is_opaque);
    }
    return list;
}

static weft_doc *layers_doc(const weft_summary *s, weft_arena *a)
{
    static const char *const phase[] = {"forward", "backward", "update"};
    const weft_graph *g = s->model->graph;
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int u = 0; u < g->n_nodes; u++) {
        weft_doc *row = weft_add_map(a, list), *outputs = weft_doc_new(a, WEFT_DOC_LIST);

        weft_put_text(a, row, "name", g->node[u].name);
        weft_put_text(a, row, "op", g->node[u].op);
        weft_put_text(a, row, "phase", phase[g->node[u].phase]);
        for (int i = g->res_at[u]; i < g->res_at[u + 1]; i++)
            if (g->res[i] >= 0)
                weft_doc_add(a, outputs, weft_doc_new_text(a, g->tensor[g->res[i]].name));
        weft_doc_put(a, row, "outputs", outputs);
        put_work(a, row, &s->node[u]);
    }
    return list;
}

static weft_doc *tensors_doc(const weft_model *m, weft_arena *a)
{
    weft_doc *map = weft_doc_new(a, WEFT_DOC_MAP);

    for (int i = 0; i < m->n_tensors; i++)
        weft_doc_put(a, map, m->tensor[i].name,
                     tensor_doc(m->tensor[i].type, m->tensor[i].shape, a));
    return map;
}

static weft_doc *training_doc(const weft_summary *s, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_int(a, d, "forward_nodes", s->n_phase_nodes[WEFT_FORWARD]);
    weft_put_int(a, d, "backward_nodes", s->n_phase_nodes[WEFT_BACKWARD]);
    weft_put_int(a, d, "update_nodes", s->n_phase_nodes[WEFT_UPDATE]);
    weft_put_int(a, d, "forward_macs", s->phase[WEFT_FORWARD].macs);
    weft_put_int(a, d, "backward_macs", s->phase[WEFT_BACKWARD].macs);
    weft_put_int(a, d, "update_flops", s->phase[WEFT_UPDATE].flops);
    weft_put_int(a, d, "stash_bytes", s->stash_bytes);
    weft_put_int(a, d, "state_bytes", s->state_bytes);
    return d;
}

static weft_doc *names_doc(const weft_graph *g, const int *tensor, int n, weft_arena *a)
{
    weft_doc *map = weft_doc_new(a, WEFT_DOC_MAP);

    for (int i = 0; i < n; i++)
        weft_doc_put(a, map, g->tensor[tensor[i]].name,
                     tensor_doc(g->tensor[tensor[i]].type, g->tensor[tensor[i]].shape, a));
    return map;
}

static void put_totals(weft_arena *a, weft_doc *d, const weft_summary *s)
{
    weft_put_int(a, d, "nodes", s->model->n_nodes);
    weft_put_int(a, d, "graph_nodes", s->model->graph->n_nodes);
    weft_put_int(a, d, "parameters", s->model->n_parameters);
    weft_put_int(a, d, "constants", s->model->n_constants);
    put_work(a, d, &s->total);
    weft_doc_put(a, d, "flops_per_byte", weft_doc_new_real(a, s->flops_per_byte));
    weft_put_int(a, d, "weight_bytes", s->weight_bytes);
    weft_put_int(a, d, "activation_bytes", s->activation_bytes);
    weft_put_int(a, d, "input_bytes", s->input_bytes);
    weft_put_int(a, d, "output_bytes", s->output_bytes);
    weft_put_int(a, d, "peak_live_bytes", s->peak_bytes);
    weft_put_int(a, d, "edges", s->model->graph->n_edges);
    weft_put_int(a, d, "longest_path_nodes", s->depth);
    weft_put_int(a, d, "barriers", s->n_barriers);
    weft_put_int(a, d, "cuts", s->n_cuts);
    weft_put_int(a, d, "nodes_without_static_shape", s->n_dynamic_nodes);
}

weft_doc *weft_summary_doc(const weft_summary *s, bool with_layers, weft_arena *a)
{
    const weft_model *m = s->model;
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_text(a, d, "schema", "weft.inspect/1");
    weft_put_text(a, d, "command", "inspect");
    weft_put_text(a, d, "model", m->name);
    weft_put_text(a, d, "source", m->source);
    weft_put_text(a, d, "origin", m->origin);
    put_totals(a, d, s);
    if (s->n_phase_nodes[WEFT_BACKWARD] > 0)
        weft_doc_put(a, d, "training", training_doc(s, a));
    weft_doc_put(a, d, "operators", operators_doc(s, a));
    weft_doc_put(a, d, "inputs", names_doc(m->graph, m->graph->input, m->graph->n_inputs, a));
    weft_doc_put(a, d, "outputs", names_doc(m->graph, m->graph->output, m->graph->n_outputs, a));
    if (with_layers)
        weft_doc_put(a, d, "layers", layers_doc(s, a));
    weft_doc_put(a, d, "tensors", tensors_doc(m, a));
    weft_doc_put(a, d, "warnings", weft_texts_doc(m->warning, m->n_warnings, a));
    if (m->graph->n_assumed > 0)
        weft_doc_put(a, d, "assumed_sizes", weft_assumed_doc(m->graph, a));
    return d;
}
