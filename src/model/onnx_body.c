/* SPDX-License-Identifier: MIT */
/* onnx_body.c: If, Loop and Scan.
 *
 * An If whose condition is known is replaced by the branch taken. Everything else becomes one node
 * with the operands of the file plus whatever its bodies read from outside. Bodies are imported
 * into networks of their own: results get the shapes on which all branches and iterations agree,
 * the node the work of one pass through the first branch or the body, and the user a warning. */
#include "import.h"

#include <string.h>

enum {
    MOST_ROUNDS = 16,    /* through the body of a loop until its shapes are settled */
    MOST_WARNINGS = 100, /* with those from inside: bodies of bodies can have any number */
    MOST_RUNS = 10000,   /* of bodies, beyond as many rounds for each body of the file */
};

bool weft_import_is_control(const weft_onnx_node *n)
{
    bool is_default = n->form->domain.n == 0 || weft_slice_is(n->form->domain, "ai.onnx");

    return is_default &&
           (weft_slice_is(n->form->op_type, "If") || weft_slice_is(n->form->op_type, "Loop") ||
            weft_slice_is(n->form->op_type, "Scan"));
}

typedef struct body {
    const weft_onnx_graph *graph;
    int n_results;
    weft_value *result;
    weft_work work;
    weft_scope scope;
} body;

static weft_status find_body(const weft_onnx_node *n, const char *name, const weft_onnx_graph **out)
{
    for (int i = 0; i < n->form->n_attrs; i++)
        if (weft_slice_is(n->form->attr[i].name, name) && n->form->attr[i].graph) {
            *out = n->form->attr[i].graph;
            return WEFT_OK;
        }
    return weft_fail(
        WEFT_E_INPUT, "node '%.*s' (%.*s): attribute '%s' is missing, expected a graph",
        (int)n->name.n, n->name.at, (int)n->form->op_type.n, n->form->op_type.at, name);
}

/* --- one body -------------------------------------------------------------------------------- */

static weft_work graph_work(const weft_graph *g)
{
    weft_work sum = {0, 0, 0, 0};

    for (int u = 0; u < g->n_nodes; u++)
        weft_work_add(&sum, weft_node_work(g, u));
    return sum;
}

static weft_status body_results(weft_import *m, body *b)
{
    b->n_results = b->graph->n_outputs;
    b->result = WEFT_NEW(m->arena, weft_value, b->n_results + 1);
    for (int i = 0; i < b->n_results; i++) {
        weft_slice name = b->graph->output[i].name;
        int value;

        WEFT_TRY(weft_import_resolve(m, &b->scope, name, &value));
        if (value < 0)
            return weft_fail(WEFT_E_INPUT, "output '%.*s' of a sub-graph is made by no node",
                             (int)name.n, name.at);
        b->result[i] = *weft_net_value(b->scope.net, value);
        weft_net_output(b->scope.net, value);
    }
    return WEFT_OK;
}

static void pass_warnings(const weft_net_builder *from, weft_net_builder *to)
{
    for (int i = 0; i < weft_net_n_warnings(from); i++) {
        if (weft_net_n_warnings(to) > MOST_WARNINGS)
            return;
        weft_net_warn(to, "%s",
                      weft_net_n_warnings(to) < MOST_WARNINGS
                          ? weft_net_warning(from, i)
                          : "further warnings from inside of If, Loop and Scan are left out");
    }
}

/* What the lists of a body cost of the budget of nodes, which they may outnumber. */
static weft_status count_lists(weft_import *m, const weft_onnx_graph *g)
{
    m->n_budget -= ((int64_t)g->n_inputs + g->n_outputs + g->n_values + g->n_initializers) / 16;
    return weft_import_budget(m);
}

/* Each body of the file may have its rounds, but bodies in functions in bodies multiply. */
static weft_status count_run(weft_import *m, const weft_onnx_graph *g)
{
    if (++m->n_runs > MOST_RUNS + (int64_t)MOST_ROUNDS * m->reads.n)
        return weft_fail(WEFT_E_INPUT, "functions and sub-graphs unfold to more than %d sub-graphs",
                         MOST_RUNS);
    return count_lists(m, g);
}

/* The scope of a sub-graph, which sees the values around it. */
static weft_scope scope_inside(weft_import *m, weft_scope *outer, weft_net_builder *net)
{
    return (weft_scope){.net = net,
                        .values = weft_map_new(m->arena),
                        .outer = outer,
                        .n_opsets = outer->n_opsets,
                        .opset = outer->opset,
                        .n_bound = outer->n_bound,
                        .n_given = outer->n_given,
                        .bound = outer->bound,
                        .bound_in = outer->bound_in,
                        .depth = outer->depth + 1};
}

/* Imports the body with the given values for its inputs (NULL: no inputs). The net is gone
 * afterwards; results, work and captured values stay. */
static weft_status run_body(weft_import *m, weft_scope *s, body *b, const weft_value *input)
{
    weft_net_builder *net;
    weft_graph *graph = NULL;
    weft_status status = WEFT_OK;

    WEFT_TRY(count_run(m, b->graph));
    net = weft_net_new("body");
    b->scope = scope_inside(m, s, net);
    b->scope.prefix = "";
    weft_import_declared(m, &b->scope, b->graph);
    weft_net_dtype(net, m->options->dtype);
    weft_net_assume(net, m->assumption, m->options->n_dims);
    for (int i = 0; i < b->graph->n_inputs && status == WEFT_OK; i++) {
        weft_slice name = b->graph->input[i].name;
        int value;

        status = weft_net_input(net, weft_import_text(m, name), &input[i], &value);
        if (status == WEFT_OK)
            weft_map_set(b->scope.values, name.at, name.n, value);
    }
    if (status == WEFT_OK)
        status = weft_import_weights(m, &b->scope);
    if (status == WEFT_OK)
        status = weft_import_nodes(m, &b->scope, b->graph->node, b->graph->n_nodes);
    if (status == WEFT_OK)
        status = body_results(m, b);
    if (status == WEFT_OK && weft_net_n_kept(net) > 0)
        status = weft_net_finish(net, &graph);
    b->work = graph ? graph_work(graph) : (weft_work){0, 0, 0, 0};
    pass_warnings(net, s->net);
    for (int i = 0; i < b->n_results; i++)
        b->result[i].data = NULL; /* it lived in the net */
    weft_graph_free(graph);
    weft_net_free(net);
    return status;
}

/* --- the node -------------------------------------------------------------------------------- */

/* Keeps of *a what b agrees with; true if something was lost. */
static bool meet(weft_value *a, const weft_value *b)
{
    bool is_changed = false;

    if (a->type == WEFT_TYPE_UNKNOWN)
        a->type = b->type;
    if (a->shape.rank != b->shape.rank) {
        is_changed = a->shape.rank >= 0;
        a->shape.rank = -1;
        return is_changed;
    }
    for (int d = 0; d < a->shape.rank; d++)
        if (a->shape.dim[d] != b->shape.dim[d] && a->shape.dim[d] >= 0) {
            a->shape.dim[d] = WEFT_UNKNOWN_DIM;
            is_changed = true;
        }
    return is_changed;
}

/* Adds the node: its operands, then what the bodies captured. `result` has one value an output. */
static weft_status add_control(weft_import *m, weft_scope *s, const weft_onnx_node *n,
                               const body *const *bodies, int n_bodies, const weft_value *result)
{
    WEFT_VEC(int) args = {0};
    int *results = WEFT_NEW(m->arena, int, n->n_outputs + 1);
    const char **names = WEFT_NEW(m->arena, const char *, n->n_outputs + 1);
    const weft_value *declared, nothing = {.shape = {.rank = -1}};
    weft_value *values = WEFT_NEW(m->arena, weft_value, n->n_outputs + 1);
    weft_node node;

    WEFT_TRY(weft_import_header(m, s, n, &node));
    for (int i = 0; i < n->n_inputs; i++) {
        int value = -1;

        if (n->input[i].n > 0)
            WEFT_TRY(weft_import_resolve(m, s, n->input[i], &value));
        if (value < 0 && n->input[i].n > 0)
            return weft_fail(WEFT_E_INPUT, "node '%s' (%s) reads '%.*s', which nothing makes",
                             node.name, node.op, (int)n->input[i].n, n->input[i].at);
        WEFT_PUSH(m->arena, args, value);
    }
    for (int k = 0; k < n_bodies; k++)
        for (int i = 0; i < bodies[k]->scope.captured.n; i++)
            WEFT_PUSH(m->arena, args, bodies[k]->scope.captured.at[i]);
    declared = weft_import_results(m, s, n, names);
    for (int i = 0; i < n->n_outputs; i++) {
        const weft_value *file = declared ? &declared[i] : &nothing;
        weft_value v = result[i];

        if (v.shape.rank < 0)
            v.shape = file->shape;
        if (v.type == WEFT_TYPE_UNKNOWN)
            v.type = file->type;
        for (int d = 0; d < v.shape.rank && v.shape.rank == file->shape.rank; d++)
            if (v.shape.dim[d] < 0)
                v.shape.dim[d] = file->shape.dim[d];
        v.is_const = false;
        v.data = NULL;
        values[i] = v;
    }
    node.has_body = true;
    node.body = bodies[0]->work;
    WEFT_TRY(weft_net_node(s->net,
                           &(weft_net_op){.node = node,
                                          .n_args = args.n,
                                          .n_results = n->n_outputs,
                                          .arg = args.at,
                                          .result_name = names,
                                          .declared = values},
                           results));
    return weft_import_define(m, s, n, results);
}

/* --- If -------------------------------------------------------------------------------------- */

/* The branch taken, as if its nodes stood in the outer graph. */
static weft_status inline_branch(weft_import *m, weft_scope *s, const weft_onnx_node *n,
                                 const weft_onnx_graph *graph)
{
    weft_scope inner = scope_inside(m, s, s->net);
    int *results = WEFT_NEW(m->arena, int, n->n_outputs + 1);
    weft_slice *inside = WEFT_NEW(m->arena, weft_slice, n->n_outputs + 1);

    for (int i = 0; i < n->n_outputs; i++)
        inside[i] = graph->output[i].name;
    inner.shares_net = true;
    WEFT_TRY(count_lists(m, graph));
    inner.prefix = weft_import_prefix(m, s, n->name, n->form->op_type);
    weft_import_rename(m, s, n, inside, &inner);
    weft_import_declared(m, &inner, graph);
    WEFT_TRY(weft_import_weights(m, &inner));
    WEFT_TRY(weft_import_nodes(m, &inner, graph->node, graph->n_nodes));
    for (int i = 0; i < n->n_outputs; i++) {
        weft_slice name = graph->output[i].name;

        results[i] = -1;
        if (n->output[i].n == 0)
            continue;
        WEFT_TRY(weft_import_resolve(m, &inner, name, &results[i]));
        if (results[i] < 0)
            return weft_fail(WEFT_E_INPUT, "output '%.*s' of a sub-graph is made by no node",
                             (int)name.n, name.at);
    }
    return weft_import_define(m, s, n, results);
}

static weft_status import_if(weft_import *m, weft_scope *s, const weft_onnx_node *n)
{
    body yes = {0}, no = {0};
    const body *both[] = {&yes, &no};
    const weft_literal *known = NULL;
    int condition = -1;

    WEFT_TRY(find_body(n, "then_branch", &yes.graph));
    WEFT_TRY(find_body(n, "else_branch", &no.graph));
    if (yes.graph->n_outputs != no.graph->n_outputs || n->n_outputs > yes.graph->n_outputs)
        return weft_fail(
            WEFT_E_INPUT, "node '%.*s' (If) has %d outputs, its branches have %d and %d",
            (int)n->name.n, n->name.at, n->n_outputs, yes.graph->n_outputs, no.graph->n_outputs);
    if (yes.graph->n_inputs + no.graph->n_inputs > 0)
        return weft_fail(WEFT_E_INPUT, "node '%.*s' (If) has a branch with inputs, expected none",
                         (int)n->name.n, n->name.at);
    if (n->n_inputs > 0)
        WEFT_TRY(weft_import_resolve(m, s, n->input[0], &condition));
    if (condition >= 0)
        known = weft_net_value(s->net, condition)->data;
    if (known && known->n == 1 && known->ints && known->ints[0] != WEFT_UNKNOWN_INT)
        return inline_branch(m, s, n, known->ints[0] ? yes.graph : no.graph);
    WEFT_TRY(run_body(m, s, &yes, NULL));
    WEFT_TRY(run_body(m, s, &no, NULL));
    for (int i = 0; i < yes.n_results; i++)
        (void)meet(&yes.result[i], &no.result[i]);
    weft_net_warn(s->net,
                  "node '%.*s' (If): which branch is taken depends on the data; the work of the "
                  "first is counted",
                  (int)n->name.n, n->name.at);
    return add_control(m, s, n, both, 2, yes.result);
}

/* --- Loop and Scan --------------------------------------------------------------------------- */

static weft_status operand_value(weft_import *m, weft_scope *s, const weft_onnx_node *n, int i,
                                 weft_value *out)
{
    int value = -1;

    *out = (weft_value){.shape = {.rank = -1}};
    if (i < n->n_inputs && n->input[i].n > 0)
        WEFT_TRY(weft_import_resolve(m, s, n->input[i], &value));
    if (value >= 0)
        *out = *weft_net_value(s->net, value);
    return WEFT_OK;
}

/* Runs the body until the carried values (inputs first.. and results carried_at..) keep their
 * shapes; dimensions that change from one iteration to the next become unknown. Each round loses a
 * dimension or a rank, or is the last; where that goes on for long, all ranks are given up. */
static weft_status settle(weft_import *m, weft_scope *s, body *b, weft_value *input, int first,
                          int carried_at, int n_carried)
{
    bool is_changed = true;

    for (int round = 1; is_changed; round++) {
        is_changed = false;
        for (int i = 0; i < n_carried && round == MOST_ROUNDS; i++)
            input[first + i].shape.rank = -1;
        WEFT_TRY(run_body(m, s, b, input));
        for (int i = 0; i < n_carried; i++)
            is_changed |= meet(&input[first + i], &b->result[carried_at + i]);
    }
    return WEFT_OK;
}

static weft_shape insert_dim(const weft_shape *s, int at, int64_t size)
{
    weft_shape out = {.rank = -1};

    if (s->rank < 0 || s->rank == WEFT_MAX_RANK || at < 0 || at > s->rank)
        return out;
    out.rank = s->rank + 1;
    for (int d = 0; d < out.rank; d++)
        out.dim[d] = d < at ? s->dim[d] : d == at ? size : s->dim[d - 1];
    return out;
}

static weft_status body_mismatch(const weft_onnx_node *n, const body *b)
{
    return weft_fail(
        WEFT_E_INPUT,
        "node '%.*s' (%.*s) has %d inputs and %d outputs, which do not fit a body with "
        "%d and %d",
        (int)n->name.n, n->name.at, (int)n->form->op_type.n, n->form->op_type.at, n->n_inputs,
        n->n_outputs, b->graph->n_inputs, b->graph->n_outputs);
}

static void warn_of_once(weft_scope *s, const weft_onnx_node *n, int64_t trips)
{
    if (trips >= 0)
        weft_net_warn(s->net,
                      "node '%.*s' (%.*s): its body runs %lld times, its work is counted once",
                      (int)n->name.n, n->name.at, (int)n->form->op_type.n, n->form->op_type.at,
                      (long long)trips);
    else
        weft_net_warn(
            s->net,
            "node '%.*s' (%.*s): how often its body runs depends on the data; its work is "
            "counted once",
            (int)n->name.n, n->name.at, (int)n->form->op_type.n, n->form->op_type.at);
}

/* Inputs: trip count, condition, carried ..; body: iteration, condition, carried ..; its results:
 * condition, carried .., scanned ... */
static weft_status import_loop(weft_import *m, weft_scope *s, const weft_onnx_node *n)
{
    body b = {0};
    const body *only[] = {&b};
    int n_carried = n->n_inputs > 2 ? n->n_inputs - 2 : 0;
    weft_value *input = WEFT_NEW(m->arena, weft_value, n_carried + 2), trip, condition;
    weft_value *result = WEFT_NEW(m->arena, weft_value, n->n_outputs + 1);
    int64_t trips = WEFT_UNKNOWN_DIM;

    WEFT_TRY(find_body(n, "body", &b.graph));
    if (b.graph->n_inputs != n_carried + 2 || b.graph->n_outputs < n_carried + 1 ||
        n->n_outputs > b.graph->n_outputs - 1)
        return body_mismatch(n, &b);
    WEFT_TRY(operand_value(m, s, n, 0, &trip));
    WEFT_TRY(operand_value(m, s, n, 1, &condition));
    input[0] = (weft_value){.type = WEFT_I64};
    input[1] = (weft_value){.type = WEFT_BOOL};
    for (int i = 0; i < n_carried; i++)
        WEFT_TRY(operand_value(m, s, n, 2 + i, &input[2 + i]));
    WEFT_TRY(settle(m, s, &b, input, 2, 1, n_carried));
    if (trip.data && trip.data->n == 1 && trip.data->ints && trip.data->ints[0] >= 0 &&
        condition.shape.rank < 0)
        trips = trip.data->ints[0];
    for (int i = 0; i < n->n_outputs; i++) {
        result[i] = i < n_carried ? input[2 + i] : b.result[1 + i];
        if (i >= n_carried)
            result[i].shape = insert_dim(&b.result[1 + i].shape, 0, trips);
    }
    warn_of_once(s, n, trips);
    return add_control(m, s, n, only, 1, result);
}

/* Axis of scan input or output i: attribute list, default 0; -1 where it makes no sense. */
static int scan_axis(const weft_node *node, const char *name, int i, int rank)
{
    int count;
    const int64_t *axes = weft_node_ints(node, name, &count);
    int64_t axis = i < count ? axes[i] : 0;

    axis = axis < 0 ? axis + rank : axis;
    return axis >= 0 && axis < rank ? (int)axis : -1;
}

static void drop_dim(weft_shape *s, int at)
{
    for (int d = at; d + 1 < s->rank; d++)
        s->dim[d] = s->dim[d + 1];
    s->rank--;
}

/* Inputs: states .., scanned ..; body: the same with one step of each scanned; its results:
 * states .., scanned ... (opset 9 and later; 8 had another layout) */
static weft_status import_scan(weft_import *m, weft_scope *s, const weft_onnx_node *n)
{
    body b = {0};
    const body *only[] = {&b};
    weft_value *input = WEFT_NEW(m->arena, weft_value, n->n_inputs + 1);
    weft_value *result = WEFT_NEW(m->arena, weft_value, n->n_outputs + 1);
    int64_t n_scanned, length = WEFT_UNKNOWN_DIM;
    weft_node node;
    int n_states;

    WEFT_TRY(find_body(n, "body", &b.graph));
    WEFT_TRY(weft_import_header(m, s, n, &node));
    n_scanned = weft_node_int(&node, "num_scan_inputs", -1);
    if (node.opset < 9)
        return weft_fail(WEFT_E_INPUT, "node '%s' (Scan) is of opset 8, expected 9 or later",
                         node.name);
    if (n_scanned < 1 || n_scanned > n->n_inputs || b.graph->n_inputs != n->n_inputs ||
        b.graph->n_outputs < n->n_outputs || b.graph->n_outputs < n->n_inputs - n_scanned)
        return body_mismatch(n, &b);
    n_states = n->n_inputs - (int)n_scanned;
    for (int i = 0; i < n->n_inputs; i++) {
        WEFT_TRY(operand_value(m, s, n, i, &input[i]));
        if (i >= n_states && input[i].shape.rank > 0) {
            int axis = scan_axis(&node, "scan_input_axes", i - n_states, input[i].shape.rank);

            if (axis < 0)
                return weft_fail(WEFT_E_INPUT, "node '%s' (Scan): bad axis of scan input %d",
                                 node.name, i - n_states);
            length = input[i].shape.dim[axis];
            drop_dim(&input[i].shape, axis);
        }
        input[i].data = NULL;
        input[i].is_const = false;
    }
    WEFT_TRY(settle(m, s, &b, input, 0, 0, n_states));
    for (int i = 0; i < n->n_outputs; i++) {
        result[i] = i < n_states ? input[i] : b.result[i];
        if (i >= n_states && result[i].shape.rank >= 0)
            result[i].shape = insert_dim(
                &b.result[i].shape,
                scan_axis(&node, "scan_output_axes", i - n_states, b.result[i].shape.rank + 1),
                length);
    }
    warn_of_once(s, n, length);
    return add_control(m, s, n, only, 1, result);
}

weft_status weft_import_control(weft_import *m, weft_scope *s, const weft_onnx_node *n)
{
    if (weft_slice_is(n->form->op_type, "If"))
        return import_if(m, s, n);
    return weft_slice_is(n->form->op_type, "Loop") ? import_loop(m, s, n) : import_scan(m, s, n);
}
