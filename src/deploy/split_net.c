/* SPDX-License-Identifier: MIT */
/* split_net.c: a network and its plan as a folder of ONNX files.
 *
 * 1. The document is cut (cut_network.c). Values between segments, inputs and outputs become tensors with
 *    the types and shapes that the plan was made with.
 * 2. A segment has the nodes of the file byte for byte, the weights it reads, and constants that are
 *    computed from weights. Weights in files beside the model stay there: the folder gets a second
 *    name of these files (a hard link), or a copy where the file system has none.
 * 3. All is written beside an earlier split in the folder and takes its place when it is complete
 *    (split_folder.c). */
#include <math.h>
#include <string.h>

#include "cost.h"
#include "cut_network.h"
#include "manifest.h"
#include "split_folder.h"
#include "weights.h"

typedef struct writing {
    const weft_deployment *plan;
    weft_arena *a;
    weft_bytes document;
    const weft_onnx *doc;
    weft_onnx_index index;
    weft_cut cut;
    int *tensor_of; /* [values] number among the tensors, or -1 */
    WEFT_VEC(weft_segment_tensor) tensor;
    weft_segment *segment;
    bool *is_paid;          /* [tasks] some segment has its seconds already */
    const double *switch_s; /* [tasks] of a switch to its device; NULL: there are none */
    weft_split_folder folder;
    WEFT_VEC(const char *) files; /* all that the folder holds, but the manifest */
    weft_split_net *out;
} writing;

/* --- what can be split ----------------------------------------------------------------------- */

static weft_status check_options(const weft_deployment *d)
{
    const weft_model_options *o = d->options;

    if (o->train)
        return weft_fail(WEFT_E_INPUT,
                         "the plan is of a training step: only inference can be split");
    if (d->graph->n_assumed > 0)
        return weft_fail(WEFT_E_INPUT,
                         "the plan assumes sizes that depend on the data (--dim %s=%lld): tensors "
                         "between segments need sizes that hold, so such a network cannot be split",
                         d->graph->assumed[0].name, (long long)d->graph->assumed[0].size);
    if (o->dtype != WEFT_TYPE_UNKNOWN)
        return weft_fail(WEFT_E_INPUT,
                         "the plan is for --dtype %s, which the file is not: convert the model "
                         "first, then plan",
                         weft_dtype_name(o->dtype));
    return WEFT_OK;
}

/* A batch other than that of the file changes shapes that its nodes may have as constants. */
static weft_status check_inputs(const writing *w)
{
    const weft_graph *g = w->plan->graph;

    for (int i = 0; i < w->doc->graph->n_inputs; i++) {
        const weft_onnx_value_info *v = &w->doc->graph->input[i];
        int at = weft_map_get(w->cut.index, v->name.at, v->name.n);
        int t = at >= 0 ? w->cut.value[at].tensor : -1;

        for (int k = 0; t >= 0 && k < v->n_dims && k < g->tensor[t].shape->rank; k++)
            if (v->dim[k].value >= 0 && v->dim[k].value != g->tensor[t].shape->dim[k])
                return weft_fail(WEFT_E_INPUT,
                                 "the plan is for an input '%.*s' of %lld as dimension %d, the "
                                 "file has %lld: export the model with that batch, then plan",
                                 (int)v->name.n, v->name.at, (long long)g->tensor[t].shape->dim[k],
                                 k, (long long)v->dim[k].value);
    }
    return WEFT_OK;
}

/* --- tensors --------------------------------------------------------------------------------- */

static const weft_tensor *graph_tensor(const writing *w, int value)
{
    int t = w->cut.value[value].tensor;

    return t >= 0 ? &w->plan->graph->tensor[t] : NULL;
}

static bool is_sendable(const weft_tensor *t)
{
    return t != NULL && weft_shape_elements(t->shape) >= 0 && t->type != WEFT_TYPE_UNKNOWN &&
           t->type != WEFT_STRING;
}

/* What takes the place of a state, or the state of which a tensor does; NULL: neither. */
static const char *state_of(const writing *w, int tensor)
{
    const weft_graph *g = w->plan->graph;
    int other = tensor < 0 || g->kept == NULL ? -1 : g->kept[tensor];

    if (other >= 0)
        return g->tensor[other].name;
    return tensor >= 0 && g->tensor[tensor].kind == WEFT_STATE ? "" : NULL;
}

static weft_status add_tensor(writing *w, int value, const weft_tensor *t, int producer)
{
    const weft_cut_value *v = &w->cut.value[value];
    const char *name = weft_arena_text(w->a, v->name.at, v->name.n);

    if (w->tensor_of[value] >= 0)
        return WEFT_OK;
    if (!is_sendable(t))
        return weft_fail(
            WEFT_E_INPUT, "'%s' goes from one segment to another, and %s: it cannot be sent", name,
            t != NULL && t->type == WEFT_STRING ? "is of type string"
                                                : "its size depends on the data or is not known");
    w->tensor_of[value] = w->tensor.n;
    WEFT_PUSH(w->a, w->tensor,
              ((weft_segment_tensor){.name = name,
                                     .type = t->type,
                                     .shape = t->shape,
                                     .bytes = t->bytes,
                                     .producer = producer,
                                     .state = state_of(w, v->tensor)}));
    return WEFT_OK;
}

static int output_value(const writing *w, int i)
{
    weft_slice name = w->doc->graph->output[i].name;

    return weft_map_get(w->cut.index, name.at, name.n);
}

/* Some files ask for an output twice. */
static bool is_output_before(const writing *w, int i)
{
    for (int k = 0; k < i; k++)
        if (output_value(w, k) == output_value(w, i))
            return true;
    return false;
}

/* What segments read, and inputs that are asked for as outputs. */
static weft_status add_inputs(writing *w)
{
    bool *is_used = WEFT_NEW(w->a, bool, w->cut.n_values + 1);

    for (int u = 0; u < w->doc->graph->n_nodes; u++)
        for (int i = 0; i < w->cut.node[u].n_reads && w->cut.segment_of[u] >= 0; i++)
            is_used[w->cut.node[u].read[i]] = true;
    for (int i = 0; i < w->doc->graph->n_outputs; i++)
        if (output_value(w, i) >= 0)
            is_used[output_value(w, i)] = true;
    for (int v = 0; v < w->cut.n_values; v++)
        if (is_used[v] && w->cut.value[v].source == WEFT_CUT_INPUT)
            WEFT_TRY(add_tensor(w, v, graph_tensor(w, v), -1));
    w->out->n_inputs = w->tensor.n;
    return WEFT_OK;
}

/* What the file says of an output that the graph does not have; NULL: too little. */
static const weft_tensor *declared(const writing *w, const weft_onnx_value_info *v)
{
    weft_tensor *t = WEFT_NEW(w->a, weft_tensor, 1);
    weft_shape *shape = WEFT_NEW(w->a, weft_shape, 1);

    if (!v->is_tensor || !v->has_shape || v->n_dims > WEFT_MAX_RANK || v->elem_type <= 0 ||
        v->elem_type >= WEFT_N_DTYPES)
        return NULL;
    for (int i = 0; i < v->n_dims; i++)
        shape->dim[shape->rank++] = v->dim[i].value;
    *t = (weft_tensor){.type = (weft_dtype)v->elem_type, .shape = shape};
    if (is_sendable(t))
        t->bytes = weft_dtype_bytes(t->type, weft_shape_elements(shape));
    return t;
}

/* What nobody computes, weights and constants, comes from the first segment. */
static weft_status add_output(writing *w, int i)
{
    const weft_onnx_value_info *info = &w->doc->graph->output[i];
    int v = output_value(w, i), producer = 0;
    const weft_tensor *t;

    if (v < 0)
        return weft_fail(WEFT_E_INPUT, "output '%.*s' is made by no operator", (int)info->name.n,
                         info->name.at);
    t = graph_tensor(w, v) ? graph_tensor(w, v) : declared(w, info);
    if (w->cut.value[v].source == WEFT_CUT_MADE)
        producer = w->cut.segment_of[w->cut.value[v].at];
    if (w->cut.value[v].source != WEFT_CUT_INPUT)
        WEFT_TRY(add_tensor(w, v, t, producer));
    w->tensor.at[w->tensor_of[v]].is_output = true;
    return WEFT_OK;
}

/* A result of segment i that can be a tensor, the last such one; -1: none. */
static int last_result(const writing *w, int i)
{
    const weft_cut_segment *s = &w->cut.segment[i];

    for (int k = s->n_nodes - 1; k >= 0; k--) {
        const weft_onnx_node *n = &w->doc->graph->node[s->node[k]];

        for (int j = 0; j < n->n_outputs; j++) {
            weft_slice name = n->output[j];
            int v = name.n > 0 ? weft_map_get(w->cut.index, name.at, name.n) : -1;

            if (v >= 0 && is_sendable(graph_tensor(w, v)))
                return v;
        }
    }
    return -1;
}

/* Runtimes run nothing that makes nothing: a segment whose results nobody reads gives its last. */
static weft_status add_unread(writing *w)
{
    bool *has = WEFT_NEW(w->a, bool, w->cut.n_segments + 1);

    for (int t = 0; t < w->tensor.n; t++)
        if (w->tensor.at[t].producer >= 0)
            has[w->tensor.at[t].producer] = true;
    for (int i = 0; i < w->cut.n_segments; i++) {
        int v = has[i] ? -1 : last_result(w, i);

        if (has[i])
            continue;
        if (v < 0)
            return weft_fail(WEFT_E_INPUT,
                             "node '%s' makes nothing that is read or of a known size: such a "
                             "network cannot be split",
                             w->cut.node[w->cut.segment[i].node[0]].name);
        WEFT_TRY(add_tensor(w, v, graph_tensor(w, v), i));
    }
    return WEFT_OK;
}

static weft_status add_tensors(writing *w)
{
    w->tensor_of = WEFT_NEW(w->a, int, w->cut.n_values + 1);
    for (int v = 0; v < w->cut.n_values; v++)
        w->tensor_of[v] = -1;
    WEFT_TRY(add_inputs(w));
    for (int u = 0; u < w->doc->graph->n_nodes; u++)
        for (int i = 0; i < w->cut.node[u].n_reads && w->cut.segment_of[u] >= 0; i++) {
            int v = w->cut.node[u].read[i];
            const weft_cut_value *x = &w->cut.value[v];

            if (x->source == WEFT_CUT_MADE && w->cut.segment_of[x->at] != w->cut.segment_of[u])
                WEFT_TRY(add_tensor(w, v, graph_tensor(w, v), w->cut.segment_of[x->at]));
        }
    for (int i = 0; i < w->doc->graph->n_outputs; i++)
        WEFT_TRY(add_output(w, i));
    return add_unread(w);
}

/* --- segments -------------------------------------------------------------------------------- */

/* A segment in the making: lists with each entry once. */
typedef struct making {
    writing *w;
    int segment;
    int *mark;               /* [values] segment + 1: has been met */
    WEFT_VEC(int) constants; /* nodes, those they read first */
    WEFT_VEC(int) nodes;
    WEFT_VEC(int) weights;
    WEFT_VEC(int) reads; /* tensors */
    WEFT_VEC(int) makes;
    WEFT_VEC(weft_onnx_tensor) folded;
    WEFT_VEC(weft_onnx_value_info) inner;
} making;

static void add_folded(making *m, const weft_cut_value *v)
{
    const weft_tensor *t = &m->w->plan->graph->tensor[v->tensor];

    WEFT_PUSH(m->w->a, m->folded,
              weft_onnx_tensor_of(t->name, t->type, t->shape, t->value, m->w->a));
}

static bool is_marked(making *m, int value)
{
    bool is = m->mark[value] == m->segment + 1;

    m->mark[value] = m->segment + 1;
    return is;
}

static void add_read(making *m, int value);

static void add_constant(making *m, int u)
{
    const weft_cut_node *n = &m->w->cut.node[u];

    for (int i = 0; i < m->constants.n; i++)
        if (m->constants.at[i] == u)
            return;
    for (int i = 0; i < n->n_reads; i++)
        add_read(m, n->read[i]);
    WEFT_PUSH(m->w->a, m->constants, u);
}

/* Chains of constants are as deep as the file has them in a row: a few nodes. */
static void add_read(making *m, int value)
{
    const weft_cut_value *v = &m->w->cut.value[value];

    if (is_marked(m, value))
        return;
    if (v->source == WEFT_CUT_WEIGHT)
        WEFT_PUSH(m->w->a, m->weights, v->at);
    else if (v->source == WEFT_CUT_CONSTANT)
        add_constant(m, v->at);
    else if (v->source == WEFT_CUT_FOLDED)
        add_folded(m, v);
    else if (v->source == WEFT_CUT_INPUT || m->w->cut.segment_of[v->at] != m->segment)
        WEFT_PUSH(m->w->a, m->reads, m->w->tensor_of[value]);
}

static void add_result(making *m, weft_slice name)
{
    writing *w = m->w;
    int v = name.n > 0 ? weft_map_get(w->cut.index, name.at, name.n) : -1;
    const weft_tensor *t = v >= 0 ? graph_tensor(w, v) : NULL;

    if (v < 0)
        return;
    if (w->tensor_of[v] >= 0)
        WEFT_PUSH(w->a, m->makes, w->tensor_of[v]);
    else if (t != NULL && t->type != WEFT_TYPE_UNKNOWN && weft_shape_is_static(t->shape))
        WEFT_PUSH(w->a, m->inner, weft_onnx_value_of(t->name, t->type, t->shape, w->a));
}

/* Outputs that nobody computes: the first segment has them as weights or constants. */
static void add_constant_outputs(making *m)
{
    for (int i = 0; i < m->w->doc->graph->n_outputs && m->segment == 0; i++) {
        int v = output_value(m->w, i);

        if (m->w->cut.value[v].source == WEFT_CUT_INPUT ||
            m->w->cut.value[v].source == WEFT_CUT_MADE || is_output_before(m->w, i))
            continue;
        add_read(m, v);
        WEFT_PUSH(m->w->a, m->makes, m->w->tensor_of[v]);
    }
}

static const weft_onnx_value_info *values_of(const writing *w, const int *tensor, int n)
{
    weft_onnx_value_info *v = WEFT_NEW(w->a, weft_onnx_value_info, n + 1);

    for (int i = 0; i < n; i++) {
        const weft_segment_tensor *t = &w->tensor.at[tensor[i]];

        v[i] = weft_onnx_value_of(t->name, t->type, t->shape, w->a);
    }
    return v;
}

/* Constants first, each behind what it reads. */
static const int *all_nodes(making *m)
{
    int *node = WEFT_NEW(m->w->a, int, m->constants.n + m->nodes.n + 1);

    for (int i = 0; i < m->constants.n; i++)
        node[i] = m->constants.at[i];
    for (int i = 0; i < m->nodes.n; i++)
        node[m->constants.n + i] = m->nodes.at[i];
    return node;
}

static weft_onnx_part part_of(making *m, const char *name)
{
    writing *w = m->w;
    weft_onnx_part part = {.name = name, .n_nodes = m->constants.n + m->nodes.n};

    part.node = all_nodes(m);
    part.n_initializers = m->weights.n;
    part.initializer = m->weights.at;
    part.n_extra = m->folded.n;
    part.extra = m->folded.at;
    part.n_inputs = m->reads.n;
    part.input = values_of(w, m->reads.at, m->reads.n);
    part.n_outputs = m->makes.n;
    part.output = values_of(w, m->makes.at, m->makes.n);
    part.n_values = m->inner.n;
    part.value = m->inner.at;
    return part;
}

/* --- times ----------------------------------------------------------------------------------- */

/* Without a plan each node is a task. */
static int n_tasks(const writing *w)
{
    return w->plan->problem ? w->plan->problem->n_tasks : w->plan->graph->n_nodes;
}

/* What the model of the device says of a node, whatever was measured. */
static double modelled_s(const weft_deployment *d, int u)
{
    const weft_design *design = &d->platform->device[d->device[u]].design[0];
    weft_work_key key;

    if (design->model == WEFT_PROFILE)
        return d->problem ? weft_task_s(d->problem, d->task[u], d->device[u]) : 0;
    weft_work_key_of(d->graph, u, &key);
    return weft_design_cost(design, &key).seconds;
}

/* What each task takes longer for a switch to its device, as the plan has it. */
static const double *switch_times(const weft_deployment *d, weft_arena *a)
{
    int *device;

    if (d->problem == NULL)
        return NULL;
    device = WEFT_NEW(a, int, d->problem->n_tasks);
    for (int u = 0; u < d->graph->n_nodes; u++)
        device[d->task[u]] = d->device[u];
    return weft_switch_times(d->problem, device, a);
}

/* A task that several segments share counts for the first. */
static void add_times(writing *w, const weft_cut_segment *from, weft_segment *to)
{
    to->start_s = INFINITY;
    for (int i = 0; i < from->n_nodes; i++) {
        const weft_cut_node *n = &w->cut.node[from->node[i]];

        to->start_s = fmin(to->start_s, n->start_s);
        for (int k = 0; k < n->n_tasks; k++) {
            if (!w->is_paid[n->task[k]] && w->plan->problem != NULL)
                to->seconds += weft_task_s(w->plan->problem, n->task[k], from->device) +
                               (w->switch_s ? w->switch_s[n->task[k]] : 0);
            w->is_paid[n->task[k]] = true;
        }
    }
}

static void add_paced(const writing *w, const int *segment_of)
{
    const weft_graph *g = w->plan->graph;

    for (int u = 0; u < g->n_nodes; u++)
        if (segment_of[u] >= 0)
            w->segment[segment_of[u]].paced_s += modelled_s(w->plan, u);
}

/* The segment of each node of the graph. */
static int *graph_segments(const writing *w)
{
    const weft_graph *g = w->plan->graph;
    int *of_task = WEFT_NEW(w->a, int, n_tasks(w) + 1);
    int *of = WEFT_NEW(w->a, int, g->n_nodes + 1);

    for (int i = 0; i < n_tasks(w); i++)
        of_task[i] = -1;
    for (int u = w->doc->graph->n_nodes - 1; u >= 0; u--)
        for (int k = 0; k < w->cut.node[u].n_tasks && w->cut.segment_of[u] >= 0; k++)
            of_task[w->cut.node[u].task[k]] = w->cut.segment_of[u];
    for (int u = 0; u < g->n_nodes; u++)
        of[u] = of_task[w->plan->task[u]];
    return of;
}

static double planned_send_s(const writing *w, const weft_segment_tensor *t, int to)
{
    const weft_platform *p = w->plan->platform;
    int from = t->producer >= 0 ? w->segment[t->producer].device : p->host;
    const weft_route *r = from >= 0 ? weft_platform_route(p, from, to) : NULL;

    if (r == NULL || from == to)
        return 0;
    return r->latency_s + (t->bytes > 0 ? weft_route_s(p, r, (double)t->bytes) : 0);
}

static const double *send_times(const writing *w)
{
    int n_devices = w->plan->platform->n_devices;
    double *send_s = WEFT_NEW(w->a, double, (size_t)(w->tensor.n + 1) * (size_t)n_devices);

    for (int i = 0; i < w->cut.n_segments; i++)
        for (int k = 0; k < w->segment[i].n_reads; k++) {
            int t = w->segment[i].reads[k], d = w->segment[i].device;

            send_s[t * n_devices + d] = planned_send_s(w, &w->tensor.at[t], d);
        }
    return send_s;
}

/* --- files ----------------------------------------------------------------------------------- */

static weft_status write_parts(writing *w, const char *name, const weft_bytes *part, int n)
{
    const char *path = weft_arena_print(w->a, "%s/%s", w->folder.stage, name);

    WEFT_PUSH(w->a, w->files, name);
    return weft_file_write_unsynced(path, part, n);
}

static weft_status write_text(writing *w, const char *name, const char *text)
{
    return write_parts(w, name, &(weft_bytes){text, strlen(text)}, 1);
}

static uint64_t parts_hash(const weft_bytes *part, int n, weft_arena *a)
{
    size_t mark = weft_arena_mark(a), size = 0;
    uint64_t hash;
    uint8_t *all;

    for (int i = 0; i < n; i++)
        size += part[i].size;
    all = weft_arena_raw(a, size + 1);
    size = 0;
    for (int i = 0; i < n; i++) {
        memcpy(all + size, part[i].data, part[i].size);
        size += part[i].size;
    }
    hash = weft_file_hash(all, size);
    weft_arena_rewind(a, mark);
    return hash;
}

static weft_status write_segment(writing *w, making *m, const weft_cut_segment *from)
{
    weft_segment *s = &w->segment[m->segment];
    const char **name = WEFT_NEW(w->a, const char *, from->n_nodes + 1);
    const weft_bytes *part;
    weft_onnx_part p;
    int n;

    for (int i = 0; i < from->n_nodes; i++) {
        const weft_onnx_node *node = &w->doc->graph->node[from->node[i]];

        name[i] = w->cut.node[from->node[i]].name;
        for (int k = 0; k < w->cut.node[from->node[i]].n_reads; k++)
            add_read(m, w->cut.node[from->node[i]].read[k]);
        for (int k = 0; k < node->n_outputs; k++)
            add_result(m, node->output[k]);
        WEFT_PUSH(w->a, m->nodes, from->node[i]);
    }
    add_constant_outputs(m);
    s->device = from->device;
    s->file = weft_arena_print(w->a, "segment%04d-%s.onnx", m->segment,
                               w->plan->platform->device[from->device].name);
    s->n_nodes = from->n_nodes;
    s->node = name;
    s->reads = m->reads.at;
    s->n_reads = m->reads.n;
    s->makes = m->makes.at;
    s->n_makes = m->makes.n;
    add_times(w, from, s);
    p = part_of(m, s->file);
    weft_onnx_part_bytes(&w->index, &p, w->a, &part, &n);
    s->hash = parts_hash(part, n, w->a);
    return write_parts(w, s->file, part, n);
}

static weft_status write_segments(writing *w)
{
    int *mark = WEFT_NEW(w->a, int, w->cut.n_values + 1);

    w->segment = WEFT_NEW(w->a, weft_segment, w->cut.n_segments + 1);
    w->is_paid = WEFT_NEW(w->a, bool, n_tasks(w) + 1);
    w->switch_s = switch_times(w->plan, w->a);
    for (int i = 0; i < w->cut.n_segments; i++) {
        making m = {.w = w, .segment = i, .mark = mark};

        WEFT_TRY(write_segment(w, &m, &w->cut.segment[i]));
    }
    add_paced(w, graph_segments(w));
    return WEFT_OK;
}

/* --- the folder ------------------------------------------------------------------------------ */

static weft_status write_settings(writing *w)
{
    const weft_setting_file *file;
    int n;

    WEFT_TRY(weft_settings_make(w->plan, w->document, w->a, &file, &n));
    for (int i = 0; i < n; i++)
        WEFT_TRY(write_parts(w, file[i].name, file[i].part, file[i].n_parts));
    return WEFT_OK;
}

static void fill_devices(writing *w)
{
    const weft_platform *p = w->plan->platform;
    weft_segment_device *d = WEFT_NEW(w->a, weft_segment_device, p->n_devices);

    for (int i = 0; i < p->n_devices; i++)
        d[i] = (weft_segment_device){p->device[i].name, p->device[i].engine, p->device[i].n_cores,
                                     p->device[i].cores};
    w->out->n_devices = p->n_devices;
    w->out->device = d;
}

static void fill(writing *w)
{
    weft_split_net *out = w->out;

    fill_devices(w);
    out->model = w->plan->source;
    out->model_hash = weft_file_hash(w->document.data, w->document.size);
    out->n_segments = w->cut.n_segments;
    out->segment = w->segment;
    out->n_tensors = w->tensor.n;
    out->tensor = w->tensor.at;
    out->transfer = w->plan->platform->transfer;
    out->host = w->plan->platform->host;
    out->send_s = send_times(w);
    out->plan_latency_s = w->plan->latency_s;
    out->plan_period_s = w->plan->period_s;
}

static weft_status bring_weights(writing *w)
{
    weft_weight_files files = {0};
    weft_weight_file *weight;

    WEFT_TRY(weft_weights_bring(w->doc, w->plan->source, w->folder.stage, w->a, &files));
    w->out->weight = weight = WEFT_NEW(w->a, weft_weight_file, files.name.n + 1);
    w->out->n_weights = files.name.n;
    for (int i = 0; i < files.name.n; i++) {
        const char *name = files.name.at[i];

        weight[i].file = name;
        WEFT_TRY(weft_file_hash_of(weft_arena_print(w->a, "%s/%s", w->folder.stage, name),
                                   &weight[i].hash));
        WEFT_PUSH(w->a, w->files, name);
    }
    return WEFT_OK;
}

/* Weights come last: their names are those of the model, and must be none of the others. */
static weft_status write_files(writing *w)
{
    WEFT_TRY(write_segments(w));
    if (w->out->whole != NULL)
        WEFT_TRY(write_parts(w, w->out->whole, &w->document, 1));
    if (w->plan->plan != NULL) {
        const char *text = weft_doc_json(w->plan->plan, 1, w->a);

        WEFT_TRY(write_text(w, "plan.json", weft_arena_print(w->a, "%s\n", text)));
        WEFT_TRY(write_settings(w));
    }
    WEFT_TRY(bring_weights(w));
    fill(w);
    return WEFT_OK;
}

static weft_status write_all(writing *w)
{
    const char *path = weft_arena_print(w->a, "%s/" WEFT_MANIFEST, w->folder.stage), *text;

    WEFT_TRY(write_files(w));
    text = weft_doc_json(weft_manifest_doc(w->out, w->files.at, w->files.n, w->a), 1, w->a);
    text = weft_arena_print(w->a, "%s\n", text);
    return weft_file_write(path, text, strlen(text));
}

static weft_status write_folder(writing *w)
{
    weft_status status;

    WEFT_TRY(weft_split_folder_begin(w->out->folder, w->a, &w->folder));
    status = write_all(w);
    if (status == WEFT_OK)
        return weft_split_folder_end(&w->folder, w->files.at, w->files.n);
    weft_split_folder_abandon(&w->folder);
    return status;
}

static weft_status split(writing *w)
{
    WEFT_TRY(weft_onnx_index_read(w->document, w->a, &w->index));
    WEFT_TRY(weft_cut_make(w->plan, w->doc, w->a, &w->cut));
    WEFT_TRY(check_inputs(w));
    if (w->cut.n_segments == 0)
        return weft_fail(WEFT_E_INPUT, "%s: no operator is left to run", w->plan->source);
    WEFT_TRY(add_tensors(w));
    return write_folder(w);
}

static weft_status split_document(writing *w)
{
    weft_onnx *doc;
    weft_status status;

    WEFT_TRY(weft_onnx_read(w->document.data, w->document.size, w->plan->source, &doc));
    w->doc = doc;
    status = split(w);
    weft_onnx_free(doc);
    return status;
}

weft_status weft_split_net_write(const weft_deployment *d, const char *folder, weft_arena *a,
                                 weft_split_net *out)
{
    writing w = {.plan = d, .a = a, .out = out};
    weft_status status;
    weft_file f = {NULL, 0};

    *out = (weft_split_net){.folder = folder};
    WEFT_TRY(check_options(d));
    if (weft_model_is_file(d->source)) {
        WEFT_TRY(weft_file_open(d->source, &f));
        w.document = (weft_bytes){f.data, f.size};
    } else {
        const uint8_t *data;

        WEFT_TRY(weft_onnx_of_graph(d->graph, a, &data, &w.document.size));
        w.document.data = data;
        out->whole = "whole.onnx";
    }
    status = split_document(&w);
    if (status == WEFT_OK && weft_file_check(&f) != WEFT_OK)
        status = WEFT_E_INPUT;
    weft_file_close(&f);
    return status;
}
