/* SPDX-License-Identifier: MIT */
/* public_model.c: networks, as weft/model.h shows them. */
#include "command.h"
#include "ops.h"
#include "weft/model.h"

#include <string.h>

typedef struct load_options {
    weft_model_flags flags;
} load_options;

static const weft_option load_table[] = {
    WEFT_MODEL_FLAGS(load_options),
    WEFT_OPTIONS_END,
};

static const weft_command loading = {.name = "inspect", .options = load_table};

weft_status weft_model_load(const char *source, const char *const *options, weft_model **out)
{
    weft_arena *a = weft_arena_new();
    WEFT_VEC(char *) word = {0};
    const char *none[1];
    load_options o;
    weft_model_options how;
    int n_none;
    weft_status status;

    *out = NULL;
    for (; options && *options; options++)
        WEFT_PUSH(a, word, weft_arena_print(a, "--%s", *options));
    status = weft_args_read(&loading, word.at, word.n, &o, none, &n_none, a);
    if (status == WEFT_OK)
        status = weft_model_flags_read(&o.flags, a, &how);
    if (status == WEFT_OK)
        status = weft_model_open(source, &how, out);
    weft_arena_free(a);
    return status;
}

void weft_model_close(weft_model *m)
{
    weft_model_free(m);
}

/* --- the whole network ----------------------------------------------------------------------- */

const char *weft_model_name(const weft_model *m)
{
    return m->name;
}

const char *weft_model_origin(const weft_model *m)
{
    return m->origin;
}

int64_t weft_model_parameters(const weft_model *m)
{
    return m->n_parameters;
}

static weft_work total(const weft_model *m)
{
    weft_work sum = {0};

    for (int u = 0; u < m->graph->n_nodes; u++)
        weft_work_add(&sum, weft_node_work(m->graph, u));
    return sum;
}

int64_t weft_model_macs(const weft_model *m)
{
    return total(m).macs;
}

int64_t weft_model_flops(const weft_model *m)
{
    return total(m).flops;
}

int64_t weft_model_weight_bytes(const weft_model *m)
{
    int64_t sum = 0;

    for (int t = 0; t < m->graph->n_tensors; t++)
        sum += m->graph->tensor[t].kind == WEFT_WEIGHT ? m->graph->tensor[t].bytes : 0;
    return sum;
}

int64_t weft_model_peak_bytes(const weft_model *m)
{
    return weft_graph_peak_bytes(m->graph);
}

int weft_model_n_warnings(const weft_model *m)
{
    return m->n_warnings;
}

static bool is_below(int i, int n)
{
    return i >= 0 && i < n;
}

const char *weft_model_warning(const weft_model *m, int i)
{
    return is_below(i, m->n_warnings) ? m->warning[i] : NULL;
}

int weft_model_n_inputs(const weft_model *m)
{
    return m->graph->n_inputs;
}

int weft_model_input(const weft_model *m, int i)
{
    return is_below(i, m->graph->n_inputs) ? m->graph->input[i] : -1;
}

int weft_model_n_outputs(const weft_model *m)
{
    return m->graph->n_outputs;
}

int weft_model_output(const weft_model *m, int i)
{
    return is_below(i, m->graph->n_outputs) ? m->graph->output[i] : -1;
}

/* --- nodes ----------------------------------------------------------------------------------- */

static bool has_node(const weft_model *m, int node)
{
    return is_below(node, m->graph->n_nodes);
}

static weft_work work_of(const weft_model *m, int node)
{
    return has_node(m, node) ? weft_node_work(m->graph, node) : (weft_work){0};
}

int weft_model_n_nodes(const weft_model *m)
{
    return m->graph->n_nodes;
}

const char *weft_model_node_name(const weft_model *m, int node)
{
    return has_node(m, node) ? m->graph->node[node].name : NULL;
}

const char *weft_model_node_op(const weft_model *m, int node)
{
    return has_node(m, node) ? m->graph->node[node].op : NULL;
}

int64_t weft_model_node_macs(const weft_model *m, int node)
{
    return work_of(m, node).macs;
}

int64_t weft_model_node_flops(const weft_model *m, int node)
{
    return work_of(m, node).flops;
}

int64_t weft_model_node_bytes(const weft_model *m, int node)
{
    weft_work work = work_of(m, node);

    return work.read_bytes + work.write_bytes;
}

static int count_at(const weft_model *m, const int *at, int node)
{
    return has_node(m, node) ? at[node + 1] - at[node] : 0;
}

int weft_model_node_n_operands(const weft_model *m, int node)
{
    return count_at(m, m->graph->arg_at, node);
}

int weft_model_node_operand(const weft_model *m, int node, int i)
{
    return is_below(i, weft_model_node_n_operands(m, node))
               ? m->graph->arg[m->graph->arg_at[node] + i]
               : -1;
}

int weft_model_node_n_results(const weft_model *m, int node)
{
    return count_at(m, m->graph->res_at, node);
}

int weft_model_node_result(const weft_model *m, int node, int i)
{
    return is_below(i, weft_model_node_n_results(m, node))
               ? m->graph->res[m->graph->res_at[node] + i]
               : -1;
}

/* --- tensors --------------------------------------------------------------------------------- */

static const weft_tensor *tensor_of(const weft_model *m, int tensor)
{
    return is_below(tensor, m->graph->n_tensors) ? &m->graph->tensor[tensor] : NULL;
}

int weft_model_n_tensors(const weft_model *m)
{
    return m->graph->n_tensors;
}

const char *weft_model_tensor_name(const weft_model *m, int tensor)
{
    const weft_tensor *t = tensor_of(m, tensor);

    return t ? t->name : NULL;
}

const char *weft_model_tensor_type(const weft_model *m, int tensor)
{
    const weft_tensor *t = tensor_of(m, tensor);

    return t ? weft_dtype_name(t->type) : NULL;
}

const char *weft_model_tensor_kind(const weft_model *m, int tensor)
{
    const weft_tensor *t = tensor_of(m, tensor);

    return t ? weft_tensor_kind_name(t->kind) : NULL;
}

int weft_model_tensor_producer(const weft_model *m, int tensor)
{
    const weft_tensor *t = tensor_of(m, tensor);

    return t ? t->producer : -1;
}

int weft_model_tensor_rank(const weft_model *m, int tensor)
{
    const weft_tensor *t = tensor_of(m, tensor);

    return t ? t->shape->rank : -1;
}

int64_t weft_model_tensor_dim(const weft_model *m, int tensor, int axis)
{
    return is_below(axis, weft_model_tensor_rank(m, tensor))
               ? m->graph->tensor[tensor].shape->dim[axis]
               : -1;
}

int64_t weft_model_tensor_bytes(const weft_model *m, int tensor)
{
    const weft_tensor *t = tensor_of(m, tensor);

    return t ? t->bytes : 0;
}
