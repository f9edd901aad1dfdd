/* SPDX-License-Identifier: MIT */
/* grad.c: a forward graph becomes a training graph.
 *
 * 1. Trainable: parameters (initializers, and constants made from them) that some operator
 *    differentiates; constants written into the network are not. A tensor needs
 *    a gradient if a trainable weight reaches it through differentiable operators.
 * 2. Each output that needs one starts with a loss node, which reads the output and writes its
 *    gradient.
 * 3. Nodes are visited from last to first. The gradients that readers of a result left are summed;
 *    the rule in the operator table says which backward nodes follow and what they read again.
 *    Operands and results of backward nodes have the fixed places given in nest.c.
 * 4. Each trainable weight gets an update node that reads weight, gradient and optimizer state and
 *    writes them in place.
 *
 * Gradients of operands and of weights are separate nodes wherever both are matrix work, so that a
 * scheduler sees that they are independent. Operators outside the table get one backward node that
 * costs bytes only, like their forward node. */
#include "rules.h"

#include <string.h>

typedef WEFT_VEC(int) int_list;

typedef struct optimizer_row {
    const char *op;
    int n_states;
    int64_t flops; /* for each parameter */
    const char *state[2];
} optimizer_row;

/* SGD: rate * g, subtract. Momentum: scale and add the velocity besides. Adam: first moment 3,
 * second moment 4, square root, add, divide, rate, subtract. */
static const optimizer_row optimizers[] = {
    [WEFT_SGD] = {"SGD",      0, 2,  {NULL, NULL}          },
    [WEFT_MOMENTUM] = {"Momentum", 1, 4,  {"velocity", NULL}    },
    [WEFT_ADAM] = {"Adam",     2, 12, {"moment1", "moment2"}},
};

enum { LOSS_FLOPS = 4 }; /* an element: exponential, sum, divide, subtract */

typedef struct trainer {
    const weft_graph *g;
    weft_builder *builder;
    weft_arena *arena;
    const optimizer_row *optimizer;
    bool *needs;         /* [n_tensors] a gradient */
    bool *is_trainable;  /* [n_tensors] */
    int_list *gradients; /* [n_tensors] partial gradients, builder numbers */
    int *n_named;        /* [n_tensors] gradients named so far */
} trainer;

/* --- what needs a gradient ------------------------------------------------------------------- */

static const weft_op *rule_of(const trainer *t, int u)
{
    const weft_node *n = &t->g->node[u];

    return n->has_body ? NULL : weft_op_find(n->domain, n->op);
}

static bool is_differentiable(const weft_op *op, int i)
{
    return op == NULL || (op->grad != WEFT_GRAD_NONE && (op->grad_args >> (i < 31 ? i : 31) & 1));
}

static bool is_float(const trainer *t, int tensor)
{
    return tensor >= 0 && weft_dtype_is_float(t->g->tensor[tensor].type);
}

/* Operand i of u takes part in differentiation. */
static bool wants_gradient(const trainer *t, int u, int i)
{
    int tensor = t->g->arg[t->g->arg_at[u] + i];

    return is_float(t, tensor) && t->needs[tensor] && is_differentiable(rule_of(t, u), i);
}

static bool any_wants(const trainer *t, int u)
{
    for (int i = 0; i < t->g->arg_at[u + 1] - t->g->arg_at[u]; i++)
        if (wants_gradient(t, u, i))
            return true;
    return false;
}

static void find_needs(trainer *t)
{
    const weft_graph *g = t->g;

    for (int u = 0; u < g->n_nodes; u++) {
        for (int i = g->arg_at[u]; i < g->arg_at[u + 1]; i++) {
            int w = g->arg[i];

            if (is_float(t, w) && g->tensor[w].is_parameter &&
                is_differentiable(rule_of(t, u), i - g->arg_at[u]))
                t->needs[w] = t->is_trainable[w] = true;
        }
        for (int i = g->res_at[u]; i < g->res_at[u + 1]; i++)
            if (is_float(t, g->res[i]) && any_wants(t, u))
                t->needs[g->res[i]] = true;
    }
}

/* --- pieces of the new graph ----------------------------------------------------------------- */

static void copy_forward(trainer *t)
{
    const weft_graph *g = t->g;

    for (int i = 0; i < g->n_tensors; i++) {
        weft_tensor copy = g->tensor[i];

        if (copy.kind == WEFT_OUTPUT)
            copy.kind = WEFT_ACTIVATION; /* asked for again below */
        (void)weft_builder_tensor(t->builder, &copy);
    }
    for (int u = 0; u < g->n_nodes; u++) {
        (void)weft_builder_node(t->builder, &g->node[u], g->arg + g->arg_at[u],
                                g->arg_at[u + 1] - g->arg_at[u], g->res + g->res_at[u],
                                g->res_at[u + 1] - g->res_at[u]);
        weft_builder_like(t->builder, u, g->like[u]);
    }
    for (int i = 0; i < g->n_outputs; i++)
        weft_builder_output(t->builder, g->output[i]);
}

/* A new gradient of a tensor, like it in type and shape. */
static int new_gradient(trainer *t, int of)
{
    weft_tensor x = t->g->tensor[of];

    x.name = t->n_named[of] == 0
                 ? weft_arena_print(t->arena, "grad/%s", x.name)
                 : weft_arena_print(t->arena, "grad/%s#%d", x.name, t->n_named[of] + 1);
    t->n_named[of]++;
    x.kind = WEFT_ACTIVATION;
    x.bytes = weft_dtype_bytes(x.type, x.elements);
    x.value = NULL;
    return weft_builder_tensor(t->builder, &x);
}

static weft_node backward_node(const char *name, const char *op, const char *domain)
{
    return (weft_node){.name = name,
                       .op = op,
                       .domain = domain,
                       .opset = 13,
                       .phase = WEFT_BACKWARD,
                       .forward = -1,
                       .wrt = -1};
}

/* The gradient of a tensor: what its readers left, summed; -1 if they left nothing. */
static int gradient_of(trainer *t, int tensor)
{
    int_list *parts = &t->gradients[tensor];
    weft_node sum;
    int total;

    if (parts->n <= 1)
        return parts->n ? parts->at[0] : -1;
    total = new_gradient(t, tensor);
    sum = backward_node(weft_arena_print(t->arena, "%s/grad_sum", t->g->tensor[tensor].name), "Sum",
                        "");
    (void)weft_builder_node(t->builder, &sum, parts->at, parts->n, &total, 1);
    parts->n = 0;
    WEFT_PUSH(t->arena, *parts, total);
    return total;
}

/* --- backward nodes of one forward node ------------------------------------------------------ */

/* The backward nodes of u share its gradients; each is a draft filled in and added. */
typedef struct draft {
    trainer *t;
    int u, n_args, n_res;
    int *result_gradient; /* [n_res] */
    int *arg, *res;       /* n_args + 2 n_res + 1 operands, n_args + 1 results */
} draft;

static void clear_draft(draft *d)
{
    for (int i = 0; i <= d->n_args + 2 * d->n_res; i++)
        d->arg[i] = -1;
    for (int i = 0; i <= d->n_args; i++)
        d->res[i] = -1;
}

static int operand(const draft *d, int i)
{
    return d->t->g->arg[d->t->g->arg_at[d->u] + i];
}

static void read_gradients(draft *d)
{
    for (int r = 0; r < d->n_res; r++)
        d->arg[r] = d->result_gradient[r];
}

static void keep_operand(draft *d, int i)
{
    d->arg[d->n_res + i] = operand(d, i);
}

static void keep_results(draft *d)
{
    const weft_graph *g = d->t->g;

    for (int r = 0; r < d->n_res; r++)
        d->arg[d->n_res + d->n_args + r] = g->res[g->res_at[d->u] + r];
}

/* Gradient of operand i as a result; it counts among what its producer sums. */
static void write_gradient(draft *d, int i)
{
    int tensor = operand(d, i);

    d->res[i] = new_gradient(d->t, tensor);
    WEFT_PUSH(d->t->arena, d->t->gradients[tensor], d->res[i]);
}

/* Work of a body, backward: every product has two gradients. */
static weft_work twice(weft_work w)
{
    weft_work sum = w;

    weft_work_add(&sum, w);
    return sum;
}

static void add_draft(draft *d, const char *suffix, int wrt)
{
    const weft_node *f = &d->t->g->node[d->u];
    weft_node n = backward_node(weft_arena_print(d->t->arena, "%s/%s", f->name, suffix),
                                weft_arena_print(d->t->arena, "%sGrad", f->op), "weft.grad");

    n.forward = d->u;
    n.wrt = wrt;
    n.has_body = f->has_body;
    if (f->has_body)
        n.body = twice(f->body);
    (void)weft_builder_node(d->t->builder, &n, d->arg, d->n_args + 2 * d->n_res + 1, d->res,
                            d->n_args + 1);
}

/* a * b, both not negative; stops at INT64_MAX. */
static int64_t times(int64_t a, int64_t b)
{
    int64_t product;

    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/* A bias alone is differentiated: the gradient of the result, summed. */
static void bias_alone(draft *d, int i)
{
    const trainer *t = d->t;
    const weft_tensor *dy = weft_builder_get(t->builder, d->result_gradient[0]);
    const weft_node *f = &t->g->node[d->u];
    weft_node n =
        backward_node(weft_arena_print(t->arena, "%s/db", f->name), "BiasGrad", "weft.grad");

    n.has_body = true;
    n.body = (weft_work){0, dy->elements, dy->bytes, t->g->tensor[operand(d, i)].bytes};
    clear_draft(d);
    read_gradients(d);
    write_gradient(d, i);
    (void)weft_builder_node(t->builder, &n, d->arg, 1, &d->res[i], 1);
}

static void each_operand(draft *d, const weft_op *op)
{
    bool is_bias_done = false;

    for (int i = d->n_args - 1; i >= 0; i--) {           /* dW before dX: the bias rides with dW */
        bool is_product = op->nests == weft_nest_einsum; /* of all operands; else of two */
        bool keeps_all = is_product || op->infer == weft_infer_deform_conv; /* offsets, mask */

        if ((i >= 2 && !is_product) || !wants_gradient(d->t, d->u, i))
            continue;
        clear_draft(d);
        read_gradients(d);
        for (int k = 0; k < d->n_args; k++)
            if (k != i && (k < 2 || keeps_all) && operand(d, k) >= 0)
                keep_operand(d, k);
        write_gradient(d, i);
        for (int k = 2; k < d->n_args && i < 2 && !is_bias_done; k++)
            if (wants_gradient(d->t, d->u, k)) {
                d->arg[d->n_res + k] = -1;
                write_gradient(d, k);
            }
        is_bias_done = true;
        add_draft(d, i == 0 ? "dx" : i == 1 ? "dw" : "dz", i);
    }
    for (int k = 2; k < d->n_args && !is_bias_done; k++)
        if (wants_gradient(d->t, d->u, k))
            bias_alone(d, k);
}

static void sum_operands(draft *d)
{
    const weft_graph *g = d->t->g;
    const weft_tensor *y = &g->tensor[g->res[g->res_at[d->u]]];

    for (int i = 0; i < d->n_args; i++) {
        if (!wants_gradient(d->t, d->u, i))
            continue;
        if (weft_shape_equal(g->tensor[operand(d, i)].shape, y->shape)) {
            WEFT_PUSH(d->t->arena, d->t->gradients[operand(d, i)], d->result_gradient[0]);
            continue;
        }
        clear_draft(d);
        read_gradients(d);
        write_gradient(d, i);
        add_draft(d, i == 0 ? "dx" : weft_arena_print(d->t->arena, "dx%d", i), i);
    }
}

static bool other_wants(const draft *d, int i)
{
    for (int k = 0; k < d->n_args; k++)
        if (k != i && wants_gradient(d->t, d->u, k))
            return true;
    return false;
}

static bool is_kept(const draft *d, const weft_op *op, int i)
{
    weft_grad rule = op ? op->grad : WEFT_GRAD_OPERAND;

    switch (rule) {
    case WEFT_GRAD_PRODUCT:
        return other_wants(d, i);
    case WEFT_GRAD_PASS:
        return !is_differentiable(op, i);
    case WEFT_GRAD_OPERAND:
    case WEFT_GRAD_BOTH:
        return true;
    default:
        return false;
    }
}

static void one_node(draft *d, const weft_op *op)
{
    clear_draft(d);
    read_gradients(d);
    for (int i = 0; i < d->n_args; i++)
        if (operand(d, i) >= 0 && is_kept(d, op, i))
            keep_operand(d, i);
    if (op && (op->grad == WEFT_GRAD_RESULT || op->grad == WEFT_GRAD_BOTH))
        keep_results(d);
    for (int i = 0; i < d->n_args; i++)
        if (wants_gradient(d->t, d->u, i))
            write_gradient(d, i);
    add_draft(d, "grad", -1);
}

/* Gradient of the gates: time x batch x (directions * gates * hidden). */
static int gates_gradient(draft *d)
{
    const weft_graph *g = d->t->g;
    const weft_tensor *x = &g->tensor[operand(d, 0)], *w = &g->tensor[operand(d, 1)];
    weft_shape shape = weft_shape_any(-1);
    weft_tensor gates = {.type = x->type, .kind = WEFT_ACTIVATION, .shape = &shape};

    gates.name = weft_arena_print(d->t->arena, "grad/%s/gates", g->node[d->u].name);
    if (weft_shape_is_static(x->shape) && weft_shape_is_static(w->shape)) {
        shape = (weft_shape){
            3, {x->shape->dim[0], x->shape->dim[1], times(w->shape->dim[0], w->shape->dim[1])}
        };
        gates.elements = weft_shape_elements(&shape);
        gates.bytes = gates.elements < 0 ? -1 : weft_dtype_bytes(gates.type, gates.elements);
    }
    if (gates.bytes < 0) { /* larger than any number: as if the size were not known */
        shape = weft_shape_any(-1);
        gates.elements = gates.bytes = 0;
    }
    return weft_builder_tensor(d->t->builder, &gates);
}

static void recurrent(draft *d)
{
    enum { X, W, R, B, H0 = 5, C0 = 6 };
    int gates = gates_gradient(d), last = d->n_args + 2 * d->n_res;

    clear_draft(d); /* back through time */
    read_gradients(d);
    keep_operand(d, W);
    keep_operand(d, R);
    keep_results(d);
    for (int i = 0; i < d->n_args; i++)
        if ((i == X || i == H0 || i == C0) && wants_gradient(d->t, d->u, i))
            write_gradient(d, i);
    d->res[d->n_args] = gates;
    add_draft(d, "dx", X);
    for (int i = W; i <= R; i++) {
        if (!wants_gradient(d->t, d->u, i))
            continue;
        clear_draft(d);
        d->arg[last] = gates;
        if (i == W)
            keep_operand(d, X);
        else
            keep_results(d);
        write_gradient(d, i);
        if (i == W && d->n_args > B && wants_gradient(d->t, d->u, B))
            write_gradient(d, B);
        add_draft(d, i == W ? "dw" : "dr", i);
    }
}

static void differentiate(trainer *t, int u)
{
    const weft_graph *g = t->g;
    const weft_op *op = rule_of(t, u);
    draft d = {t,    u,   g->arg_at[u + 1] - g->arg_at[u], g->res_at[u + 1] - g->res_at[u], NULL,
               NULL, NULL};
    bool has_gradient = false;

    if (!any_wants(t, u))
        return;
    d.result_gradient = WEFT_NEW(t->arena, int, d.n_res + 1);
    d.arg = WEFT_NEW(t->arena, int, d.n_args + 2 * d.n_res + 1);
    d.res = WEFT_NEW(t->arena, int, d.n_args + 1);
    for (int r = 0; r < d.n_res; r++) {
        int y = g->res[g->res_at[u] + r];

        d.result_gradient[r] = y < 0 ? -1 : gradient_of(t, y);
        has_gradient = has_gradient || d.result_gradient[r] >= 0;
    }
    if (!has_gradient) /* no output depends on it */
        return;
    if (op && op->grad == WEFT_GRAD_EACH)
        each_operand(&d, op);
    else if (op && op->grad == WEFT_GRAD_SUM && d.result_gradient[0] >= 0)
        sum_operands(&d);
    else if (op && op->grad == WEFT_GRAD_RECURRENT)
        recurrent(&d);
    else
        one_node(&d, op);
}

/* --- loss and updates ------------------------------------------------------------------------ */

static weft_status add_losses(trainer *t)
{
    const weft_graph *g = t->g;
    int n = 0;

    for (int i = 0; i < g->n_outputs; i++) {
        int y = g->output[i], gradient;
        const weft_tensor *x = &g->tensor[y];
        weft_node loss;

        if (!is_float(t, y) || !t->needs[y] || x->producer < 0)
            continue;
        loss = backward_node(weft_arena_print(t->arena, "%s/loss", x->name), "Loss", "weft.train");
        loss.has_body = true;
        loss.body = (weft_work){0, times(x->elements, LOSS_FLOPS), x->bytes, x->bytes};
        gradient = new_gradient(t, y);
        WEFT_PUSH(t->arena, t->gradients[y], gradient);
        (void)weft_builder_node(t->builder, &loss, &y, 1, &gradient, 1);
        n++;
    }
    if (n == 0)
        return weft_fail(WEFT_E_INPUT,
                         "there is nothing to train: no floating-point output depends on a weight");
    return WEFT_OK;
}

static void add_update(trainer *t, int w)
{
    const optimizer_row *o = t->optimizer;
    const weft_tensor *x = &t->g->tensor[w];
    int gradient = gradient_of(t, w), args[4] = {w, gradient, -1, -1};
    weft_node n = {.name = weft_arena_print(t->arena, "%s/update", x->name),
                   .op = o->op,
                   .domain = "weft.train",
                   .opset = 1,
                   .phase = WEFT_UPDATE,
                   .forward = -1,
                   .wrt = -1,
                   .has_body = true};

    if (gradient < 0)
        return;
    for (int i = 0; i < o->n_states; i++) {
        weft_tensor state = *x;

        state.name = weft_arena_print(t->arena, "state/%s/%s", x->name, o->state[i]);
        state.kind = WEFT_STATE;
        state.bytes = weft_dtype_bytes(x->type, x->elements);
        state.value = NULL;
        args[2 + i] = weft_builder_tensor(t->builder, &state);
    }
    n.body.flops = times(x->elements, o->flops);
    n.body.read_bytes = times(x->bytes, 2 + o->n_states); /* weight, gradient, state */
    n.body.write_bytes = times(x->bytes, 1 + o->n_states);
    (void)weft_builder_node(t->builder, &n, args, 2 + o->n_states, NULL, 0);
}

weft_status weft_graph_train(const weft_graph *g, weft_optimizer optimizer, weft_graph **out)
{
    weft_arena *a = weft_arena_new();
    trainer t = {.g = g,
                 .builder = weft_builder_new(g->name),
                 .arena = a,
                 .optimizer = &optimizers[optimizer],
                 .needs = WEFT_NEW(a, bool, g->n_tensors + 1),
                 .is_trainable = WEFT_NEW(a, bool, g->n_tensors + 1),
                 .gradients = WEFT_NEW(a, int_list, g->n_tensors + 1),
                 .n_named = WEFT_NEW(a, int, g->n_tensors + 1)};
    weft_status status;

    find_needs(&t);
    copy_forward(&t);
    status = add_losses(&t);
    for (int u = g->n_nodes - 1; u >= 0 && status == WEFT_OK; u--)
        differentiate(&t, u);
    for (int w = 0; w < g->n_tensors && status == WEFT_OK; w++)
        if (t.is_trainable[w])
            add_update(&t, w);
    if (status == WEFT_OK)
        status = weft_builder_finish(t.builder, out);
    weft_builder_free(t.builder);
    weft_arena_free(a);
    return status;
}

/* --- what training keeps --------------------------------------------------------------------- */

/* Views share the bytes of what they show. */
static int root_of(const weft_graph *g, int tensor)
{
    for (;;) {
        int u = g->tensor[tensor].producer;
        const weft_op *op = u < 0 ? NULL : weft_op_find(g->node[u].domain, g->node[u].op);

        if (op == NULL || op->fusion != WEFT_FUSE_VIEW || g->arg_at[u] == g->arg_at[u + 1] ||
            g->arg[g->arg_at[u]] < 0)
            return tensor;
        tensor = g->arg[g->arg_at[u]];
    }
}

static bool is_forward_value(const weft_graph *g, int tensor)
{
    const weft_tensor *x = &g->tensor[tensor];

    if (x->kind == WEFT_WEIGHT || x->kind == WEFT_STATE)
        return false;
    return x->producer < 0 || g->node[x->producer].phase == WEFT_FORWARD;
}

int64_t weft_graph_stash_bytes(const weft_graph *g)
{
    weft_arena *scratch = weft_arena_new();
    bool *is_counted = WEFT_NEW(scratch, bool, g->n_tensors + 1);
    weft_work sum = {0, 0, 0, 0};

    for (int u = 0; u < g->n_nodes; u++) {
        for (int i = g->arg_at[u]; g->node[u].forward >= 0 && i < g->arg_at[u + 1]; i++) {
            int root =
                g->arg[i] >= 0 && is_forward_value(g, g->arg[i]) ? root_of(g, g->arg[i]) : -1;

            if (root < 0 || is_counted[root] || !is_forward_value(g, root) ||
                weft_tensor_is_inner(g, root))
                continue;
            is_counted[root] = true;
            weft_work_add(&sum, (weft_work){0, 0, g->tensor[root].bytes, 0});
        }
    }
    weft_arena_free(scratch);
    return sum.read_bytes;
}
