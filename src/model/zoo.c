/* SPDX-License-Identifier: MIT */
/* zoo.c: the list of built-in models, and the layers they are put together from.
 *
 * 1. The list is the concatenation of the arrays of the families, in this order: convolutional
 *    networks, transformers, others.
 * 2. A layer turns value numbers into operators of ONNX (opset 20); shapes follow by inference in
 *    the net. The first failure is kept and makes all later layers do nothing.
 *
 * Names are unique: each ends in a running number. Parameters are called "w/<name>_<number>",
 * constants with known elements "c/<number>", operators and their results "<operator>_<number>".
 */

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "zoo.h"

#define LARGEST_WHOLE 9007199254740992.0 /* 2^53: whole numbers below are exact */

/* --- list ------------------------------------------------------------------------------------ */

static const weft_zoo_model *const families[] = {weft_zoo_cnns, weft_zoo_transformers,
                                                 weft_zoo_others};
enum { N_FAMILIES = sizeof families / sizeof families[0], OPSET = 20 };

int weft_zoo_count(void)
{
    int n = 0;

    for (int f = 0; f < N_FAMILIES; f++)
        for (const weft_zoo_model *m = families[f]; m->name != NULL; m++)
            n++;
    return n;
}

const weft_zoo_model *weft_zoo_at(int i)
{
    for (int f = 0; f < N_FAMILIES && i >= 0; f++)
        for (const weft_zoo_model *m = families[f]; m->name != NULL; m++)
            if (i-- == 0)
                return m;
    return NULL;
}

const weft_zoo_model *weft_zoo_find(const char *name)
{
    for (int f = 0; f < N_FAMILIES; f++)
        for (const weft_zoo_model *m = families[f]; m->name != NULL; m++)
            if (strcmp(m->name, name) == 0)
                return m;
    return NULL;
}

/* --- values ---------------------------------------------------------------------------------- */

weft_zoo weft_zoo_begin(weft_net *net, const weft_model_options *common)
{
    weft_zoo z = {.net = net, .type = WEFT_F32, .batch = 1, .status = WEFT_OK};

    if (common == NULL)
        return z;
    if (common->dtype != WEFT_TYPE_UNKNOWN)
        z.type = common->dtype;
    if (common->batch != 0)
        z.batch = common->batch;
    z.keep_norms = common->train;
    return z;
}

/* Fills *shape; records a failure if a dimension is not positive or the tensor is beyond counting.
 */
static bool make_shape(weft_zoo *z, const char *name, int rank, const int64_t *dim,
                       weft_shape *shape)
{
    char text[192];

    if (z->status != WEFT_OK)
        return false;
    *shape = (weft_shape){.rank = rank};
    for (int d = 0; d < rank; d++) {
        shape->dim[d] = dim[d];
        if (dim[d] < 1)
            z->status =
                weft_fail(WEFT_E_INPUT, "dimension %d of '%s' would be %lld, must be at least 1", d,
                          name, (long long)dim[d]);
    }
    if (z->status == WEFT_OK && weft_shape_elements(shape) < 0)
        z->status = weft_fail(WEFT_E_INPUT, "tensor '%s' would be %s: too large", name,
                              weft_shape_print(shape, text));
    return z->status == WEFT_OK;
}

int weft_zoo_input(weft_zoo *z, const char *name, weft_dtype type, int rank, const int64_t *dim)
{
    weft_shape shape;
    int value = -1;

    if (!make_shape(z, name, rank, dim, &shape))
        return -1;
    z->status = weft_net_input(z->net, name, &(weft_value){.type = type, .shape = shape}, &value);
    return z->status == WEFT_OK ? value : -1;
}

static int add_constant(weft_zoo *z, const char *name, const weft_value *constant)
{
    int value = -1;

    if (z->status == WEFT_OK)
        z->status = weft_net_constant(z->net, name, constant, &value);
    return z->status == WEFT_OK ? value : -1;
}

int weft_zoo_weight(weft_zoo *z, const char *name, int rank, const int64_t *dim)
{
    const char *full = weft_arena_print(weft_net_arena(z->net), "w/%s_%d", name, z->n_made);
    weft_value weight = {.type = z->type, .is_parameter = true};

    if (!make_shape(z, full, rank, dim, &weight.shape))
        return -1;
    z->n_made++;
    return add_constant(z, full, &weight);
}

/* A literal of integers that lives as long as the net. */
static weft_literal *int_literal(weft_zoo *z, int n, const int64_t *value)
{
    weft_arena *a = weft_net_arena(z->net);
    weft_literal *literal = WEFT_NEW(a, weft_literal, 1);

    literal->n = n;
    literal->ints = weft_arena_copy(a, value, (size_t)n * sizeof *value);
    return literal;
}

static const char *constant_name(weft_zoo *z)
{
    return weft_arena_print(weft_net_arena(z->net), "c/%d", z->n_made++);
}

int weft_zoo_ints(weft_zoo *z, int n, const int64_t *value)
{
    const weft_shape shape = {.rank = 1, .dim = {n}};

    return add_constant(
        z, constant_name(z),
        &(weft_value){.type = WEFT_I64, .shape = shape, .data = int_literal(z, n, value)});
}

int weft_zoo_int(weft_zoo *z, int64_t value)
{

    return add_constant(z, constant_name(z),
                        &(weft_value){.type = WEFT_I64, .data = int_literal(z, 1, &value)});
}

int weft_zoo_real(weft_zoo *z, double value)
{
    weft_arena *a = weft_net_arena(z->net);
    weft_literal *literal = WEFT_NEW(a, weft_literal, 1);

    literal->n = 1;
    if (weft_dtype_is_float(z->type)) {
        literal->reals = weft_arena_copy(a, &value, sizeof value);
    } else { /* a network of an integer type holds whole constants, masks of -infinity clipped */
        const int64_t whole = (int64_t)fmax(-LARGEST_WHOLE, fmin(LARGEST_WHOLE, value));
        literal->ints = weft_arena_copy(a, &whole, sizeof whole);
    }
    return add_constant(z, constant_name(z), &(weft_value){.type = z->type, .data = literal});
}

void weft_zoo_output(weft_zoo *z, int x)
{
    if (z->status == WEFT_OK)
        weft_net_output(z->net, x);
}

int64_t weft_zoo_dim(const weft_zoo *z, int x, int d)
{
    if (z->status != WEFT_OK)
        return 0;
    const weft_shape *shape = &weft_net_value(z->net, x)->shape;
    if (d < 0)
        d += shape->rank;
    return d >= 0 && d < shape->rank ? shape->dim[d] : 0;
}

/* --- any operator ---------------------------------------------------------------------------- */

weft_attr weft_zoo_attr_int(const char *name, int64_t value)
{
    return (weft_attr){.name = name, .kind = WEFT_ATTR_INT, .i = value};
}

weft_attr weft_zoo_attr_real(const char *name, double value)
{
    return (weft_attr){.name = name, .kind = WEFT_ATTR_REAL, .f = value};
}

weft_attr weft_zoo_attr_ints(weft_zoo *z, const char *name, int n, const int64_t *value)
{
    const int64_t *ints = weft_arena_copy(weft_net_arena(z->net), value, (size_t)n * sizeof *value);

    return (weft_attr){.name = name, .kind = WEFT_ATTR_INTS, .n = n, .ints = ints};
}

weft_attr weft_zoo_attr_text(const char *name, const char *value)
{
    return (weft_attr){.name = name, .kind = WEFT_ATTR_TEXT, .s = value};
}

static void add_attr(weft_zoo_call *call, weft_attr attr)
{
    call->attr[call->n_attrs++] = attr;
}

/* "GlobalAveragePool" and 7 give "global_average_pool_7". */
static const char *layer_name(weft_arena *a, const char *op, int number)
{
    size_t length = strlen(op), n = 0;
    char *snake = WEFT_NEW(a, char, 2 * length + 1);

    for (size_t i = 0; i < length; i++) {
        if (i > 0 && isupper((unsigned char)op[i]) && islower((unsigned char)op[i - 1]))
            snake[n++] = '_';
        snake[n++] = (char)tolower((unsigned char)op[i]);
    }
    return weft_arena_print(a, "%s_%d", snake, number);
}

/* Adds the node; args may be more than a weft_zoo_call holds. */
static void add_node(weft_zoo *z, const weft_zoo_call *call, const int *args, int n_args,
                     int *results)
{
    weft_arena *a = weft_net_arena(z->net);
    int n_results = call->n_results > 0 ? call->n_results : 1;
    const char **names = WEFT_NEW(a, const char *, n_results);

    for (int i = 0; i < n_results; i++)
        results[i] = -1;
    if (z->status != WEFT_OK)
        return;
    const char *name = layer_name(a, call->op, z->n_made++);
    for (int i = 0; i < n_results; i++)
        names[i] = n_results == 1 ? name : weft_arena_print(a, "%s.%d", name, i);
    const weft_net_op op = {
        .node = {.name = name,
                 .op = call->op,
                 .domain = "",
                 .opset = OPSET,
                 .n_attrs = call->n_attrs,
                 .attr = call->attr,
                 .forward = -1,
                 .wrt = -1},
        .n_args = n_args,
        .n_results = n_results,
        .arg = args,
        .result_name = names
    };
    z->status = weft_net_node(z->net, &op, results);
    for (int i = 0; z->status != WEFT_OK && i < n_results; i++)
        results[i] = -1;
}

void weft_zoo_calls(weft_zoo *z, const weft_zoo_call *call, int *results)
{
    add_node(z, call, call->arg, call->n_args, results);
}

int weft_zoo_call1(weft_zoo *z, const weft_zoo_call *call)
{
    int n_results = call->n_results > 0 ? call->n_results : 1;
    int *results = WEFT_NEW(weft_net_arena(z->net), int, n_results);

    weft_zoo_calls(z, call, results);
    return results[0];
}

int weft_zoo_unary(weft_zoo *z, const char *op, int x)
{
    const weft_zoo_call call = {.op = op, .n_args = 1, .arg = {x}};

    return weft_zoo_call1(z, &call);
}

int weft_zoo_binary(weft_zoo *z, const char *op, int x, int y)
{
    const weft_zoo_call call = {
        .op = op, .n_args = 2, .arg = {x, y}
    };

    return weft_zoo_call1(z, &call);
}

/* --- convolutional layers -------------------------------------------------------------------- */

static int64_t or_one(int64_t value)
{
    return value == 0 ? 1 : value;
}

/* Fails if channels cannot be dealt to groups. */
static void check_groups(weft_zoo *z, int64_t in, int64_t out, int64_t groups)
{
    if (z->status == WEFT_OK && (groups < 1 || in % groups != 0 || out % groups != 0))
        z->status = weft_fail(WEFT_E_INPUT,
                              "a convolution from %lld to %lld channels cannot have %lld groups",
                              (long long)in, (long long)out, (long long)groups);
}

/* The Conv node alone. */
static int bare_conv(weft_zoo *z, int x, const weft_zoo_conv *c)
{
    const int64_t kernel[] = {or_one(c->kernel_h), or_one(c->kernel_w)};
    const int64_t groups = or_one(c->groups), in = weft_zoo_dim(z, x, 1);
    const bool has_bias = c->norm ? !z->keep_norms : !c->no_bias;
    int bias = -1;

    check_groups(z, in, c->out, groups);
    if (z->status != WEFT_OK)
        return -1;
    const int64_t dim[] = {c->out, in / groups, kernel[0], kernel[1]};
    int weight = weft_zoo_weight(z, "conv", 4, dim);
    if (has_bias)
        bias = weft_zoo_weight(z, "conv_bias", 1, &c->out);
    const int64_t strides[] = {or_one(c->stride), or_one(c->stride)};
    const int64_t dilations[] = {or_one(c->dilation), or_one(c->dilation)};
    const int64_t pads[] = {c->pad_h, c->pad_w, c->pad_h, c->pad_w};
    weft_zoo_call call = {
        .op = "Conv", .n_args = has_bias ? 3 : 2, .arg = {x, weight, bias}
    };
    add_attr(&call, weft_zoo_attr_ints(z, "dilations", 2, dilations));
    add_attr(&call, weft_zoo_attr_int("group", groups));
    add_attr(&call, weft_zoo_attr_ints(z, "kernel_shape", 2, kernel));
    add_attr(&call, weft_zoo_attr_ints(z, "pads", 4, pads));
    add_attr(&call, weft_zoo_attr_ints(z, "strides", 2, strides));
    return weft_zoo_call1(z, &call);
}

int weft_zoo_conv2d(weft_zoo *z, int x, const weft_zoo_conv *c)
{
    int y = bare_conv(z, x, c);

    if (c->norm && z->keep_norms)
        y = weft_zoo_batch_norm(z, y);
    return weft_zoo_act(z, c->act, y);
}

int weft_zoo_conv_relu(weft_zoo *z, int x, int64_t out, int64_t k, int64_t s)
{
    const weft_zoo_conv c = {.out = out,
                             .kernel_h = k,
                             .kernel_w = k,
                             .stride = s,
                             .pad_h = k / 2,
                             .pad_w = k / 2,
                             .norm = true,
                             .act = "Relu"};

    return weft_zoo_conv2d(z, x, &c);
}

int weft_zoo_batch_norm(weft_zoo *z, int x)
{
    static const char *const part[] = {"norm_scale", "norm_bias", "norm_mean", "norm_variance"};
    const int64_t channels = weft_zoo_dim(z, x, 1);
    weft_zoo_call call = {.op = "BatchNormalization", .n_args = 5, .arg = {x}};

    for (int i = 0; i < 4; i++)
        call.arg[i + 1] = weft_zoo_weight(z, part[i], 1, &channels);
    add_attr(&call, weft_zoo_attr_real("epsilon", 1e-5));
    add_attr(&call, weft_zoo_attr_real("momentum", 0.9));
    return weft_zoo_call1(z, &call);
}

int weft_zoo_act(weft_zoo *z, const char *act, int x)
{
    if (act == NULL)
        return x;
    if (strcmp(act, "Silu") == 0)
        return weft_zoo_binary(z, "Mul", x, weft_zoo_unary(z, "Sigmoid", x));
    if (strcmp(act, "Relu6") == 0) {
        weft_zoo_call clip = {.op = "Clip", .n_args = 3, .arg = {x}};
        clip.arg[1] = weft_zoo_real(z, 0.0);
        clip.arg[2] = weft_zoo_real(z, 6.0);
        return weft_zoo_call1(z, &clip);
    }
    weft_zoo_call call = {.op = act, .n_args = 1, .arg = {x}};
    if (strcmp(act, "HardSigmoid") == 0) /* relu6(x + 3) / 6, not ONNX's default slope of 0.2 */
        add_attr(&call, weft_zoo_attr_real("alpha", 1.0 / 6));
    return weft_zoo_call1(z, &call);
}

int weft_zoo_pool(weft_zoo *z, const char *op, int x, int64_t kernel, int64_t stride, int64_t pad)
{
    const int64_t kernels[] = {kernel, kernel}, strides[] = {stride, stride};
    const int64_t pads[] = {pad, pad, pad, pad};
    weft_zoo_call call = {.op = op, .n_args = 1, .arg = {x}};

    add_attr(&call, weft_zoo_attr_ints(z, "kernel_shape", 2, kernels));
    add_attr(&call, weft_zoo_attr_ints(z, "pads", 4, pads));
    add_attr(&call, weft_zoo_attr_ints(z, "strides", 2, strides));
    return weft_zoo_call1(z, &call);
}

int weft_zoo_global_pool(weft_zoo *z, int x)
{
    return weft_zoo_unary(z, "GlobalAveragePool", x);
}

int weft_zoo_linear(weft_zoo *z, int x, int64_t out)
{
    const int64_t dim[] = {out, weft_zoo_dim(z, x, -1)};
    int weight = weft_zoo_weight(z, "linear", 2, dim);
    int bias = weft_zoo_weight(z, "linear_bias", 1, &out);
    weft_zoo_call call = {
        .op = "Gemm", .n_args = 3, .arg = {x, weight, bias}
    };

    add_attr(&call, weft_zoo_attr_int("transB", 1));
    return weft_zoo_call1(z, &call);
}

int weft_zoo_flatten(weft_zoo *z, int x)
{
    weft_zoo_call call = {.op = "Flatten", .n_args = 1, .arg = {x}};

    add_attr(&call, weft_zoo_attr_int("axis", 1));
    return weft_zoo_call1(z, &call);
}

int weft_zoo_concat(weft_zoo *z, const int *x, int n, int64_t axis)
{
    const weft_zoo_call call = {
        .op = "Concat", .n_attrs = 1, .attr = {weft_zoo_attr_int("axis", axis)}};
    int result;

    add_node(z, &call, x, n, &result);
    return result;
}

/* --- layers of transformers ------------------------------------------------------------------ */

int weft_zoo_matmul(weft_zoo *z, int x, int64_t out, bool bias)
{
    const int64_t dim[] = {weft_zoo_dim(z, x, -1), out};
    int y = weft_zoo_binary(z, "MatMul", x, weft_zoo_weight(z, "matmul", 2, dim));

    return bias ? weft_zoo_binary(z, "Add", y, weft_zoo_weight(z, "matmul_bias", 1, &out)) : y;
}

int weft_zoo_layer_norm(weft_zoo *z, int x)
{
    const int64_t width = weft_zoo_dim(z, x, -1);
    int scale = weft_zoo_weight(z, "norm_scale", 1, &width);
    int bias = weft_zoo_weight(z, "norm_bias", 1, &width);
    weft_zoo_call call = {
        .op = "LayerNormalization", .n_args = 3, .arg = {x, scale, bias}
    };

    add_attr(&call, weft_zoo_attr_int("axis", -1));
    return weft_zoo_call1(z, &call);
}

int weft_zoo_reshape(weft_zoo *z, int x, int rank, const int64_t *dim)
{
    return weft_zoo_binary(z, "Reshape", x, weft_zoo_ints(z, rank, dim));
}

int weft_zoo_transpose(weft_zoo *z, int x, int rank, const int64_t *perm)
{
    weft_zoo_call call = {.op = "Transpose", .n_args = 1, .arg = {x}};

    add_attr(&call, weft_zoo_attr_ints(z, "perm", rank, perm));
    return weft_zoo_call1(z, &call);
}
