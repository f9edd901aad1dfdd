/* SPDX-License-Identifier: MIT */
/* Shape rules and loop nests of element-wise, reducing, moving and making operators.
 *
 * A case is one line of text. Operands: "2x3x?" (f32), "i64:2x3", "scalar", "*" (rank not known),
 * "[1,-1,?]" and "=5" (known integers), "{0.5,2}" and "=2.5" (known reals), "~" (left out).
 * Attributes: "axis=1 perm=[1,0] scales={1,2} mode=none value=#i64:1". Results are written as
 * operands are, or "!part of the message"; "3!" asks for three results. */
#include "check.h"

#include "rules.h"

#include <stdlib.h>

enum { MOST = 12, TEXT = 512 };

/* --- from text to calls ---------------------------------------------------------------------- */

typedef struct fixture {
    weft_arena *arena;
    weft_node node;
    weft_attr attr[MOST];
    weft_value value[MOST], result[MOST];
    const weft_value *arg[MOST];
    weft_call call;
} fixture;

/* Cuts the next word off *text; NULL at the end. */
static char *next_word(weft_arena *a, const char **text)
{
    size_t n;
    char *word;

    *text += strspn(*text, " ");
    n = strcspn(*text, " ");
    if (n == 0)
        return NULL;
    word = weft_arena_text(a, *text, n);
    *text += n;
    return word;
}

static weft_shape read_dims(const char *text)
{
    weft_shape s = {.rank = 0};

    if (strcmp(text, "*") == 0)
        s.rank = -1;
    if (strcmp(text, "*") == 0 || strcmp(text, "scalar") == 0)
        return s;
    while (*text) {
        char *end = (char *)(uintptr_t)text + 1;

        s.dim[s.rank++] = *text == '?' ? WEFT_UNKNOWN_DIM : strtoll(text, &end, 10);
        text = *end == 'x' ? end + 1 : end;
    }
    return s;
}

static weft_shape read_shape(const char *text, weft_dtype *type)
{
    const char *colon = strchr(text, ':');
    char name[16] = "f32";

    if (colon)
        memcpy(name, text, (size_t)(colon - text) + 1);
    name[colon ? colon - text : 3] = '\0';
    *type = strcmp(name, "?") == 0 ? WEFT_TYPE_UNKNOWN : weft_dtype_find(name);
    return read_dims(colon ? colon + 1 : text);
}

/* Numbers up to the closing bracket. */
static weft_literal *read_list(weft_arena *a, const char *text, bool is_real)
{
    weft_literal *l = WEFT_NEW(a, weft_literal, 1);
    int64_t *ints = WEFT_NEW(a, int64_t, TEXT);
    double *reals = WEFT_NEW(a, double, TEXT);

    while (*text && *text != ']' && *text != '}') {
        char *end = (char *)(uintptr_t)text + 1;

        ints[l->n] = *text == '?' ? WEFT_UNKNOWN_INT : strtoll(text, &end, 10);
        reals[l->n++] = *text == '?' ? (double)NAN : strtod(text, &end);
        text = *end == ',' ? end + 1 : end;
    }
    l->ints = is_real ? NULL : ints;
    l->reals = is_real ? reals : NULL;
    return l;
}

static weft_value read_value(weft_arena *a, const char *text)
{
    weft_value v = {.type = WEFT_I64};

    if (strchr("[{=", *text) == NULL) {
        v.shape = read_shape(text, &v.type);
        return v;
    }
    if (*text == '{' || (*text == '=' && strchr(text, '.') != NULL))
        v.type = WEFT_F32;
    v.data = read_list(a, text + 1, v.type == WEFT_F32);
    v.shape.rank = *text == '=' ? 0 : 1;
    v.shape.dim[0] = v.data->n;
    return v;
}

static void read_attr(weft_arena *a, char *text, weft_attr *out)
{
    char *value = strchr(text, '=');

    *value++ = '\0';
    out->name = text;
    if (*value == '[' || *value == '{') {
        const weft_literal *l = read_list(a, value + 1, *value == '{');

        out->kind = *value == '[' ? WEFT_ATTR_INTS : WEFT_ATTR_REALS;
        out->n = l->n;
        out->ints = l->ints;
        out->reals = l->reals;
    } else if (*value == '#') {
        out->kind = WEFT_ATTR_LITERAL;
        out->shape = read_shape(value + 1, &out->type);
    } else if (strspn(value, "-0123456789") == strlen(value)) {
        out->kind = WEFT_ATTR_INT;
        out->i = strtoll(value, NULL, 10);
    } else {
        out->kind = WEFT_ATTR_TEXT;
        out->s = value;
    }
}

static void fixture_open(fixture *f, const char *op, int opset)
{
    memset(f, 0, sizeof *f);
    f->arena = weft_arena_new();
    f->call.op = weft_op_find("", op) ? weft_op_find("", op) : weft_op_find("com.microsoft", op);
    if (f->call.op == NULL)
        fail_msg("no operator %s", op);
    f->node = (weft_node){.name = "n", .op = op, .domain = "", .opset = opset, .attr = f->attr};
    f->call.node = &f->node;
    f->call.arg = f->arg;
    f->call.result = f->result;
    f->call.arena = f->arena;
}

static void fixture_read(fixture *f, const char *args, const char *attrs)
{
    char *word;

    for (; (word = next_word(f->arena, &args)) != NULL; f->call.n_args++) {
        f->value[f->call.n_args] = read_value(f->arena, *word == '~' ? "*" : word);
        f->arg[f->call.n_args] = *word == '~' ? NULL : &f->value[f->call.n_args];
    }
    while ((word = next_word(f->arena, &attrs)) != NULL)
        read_attr(f->arena, word, &f->attr[f->node.n_attrs++]);
}

static void print_value(const weft_value *v, char *to)
{
    char dims[192];
    const char *type = v->type == WEFT_TYPE_UNKNOWN ? "?" : weft_dtype_name(v->type);

    to += strlen(to);
    if (v->type != WEFT_F32)
        to += snprintf(to, 16, "%s:", type);
    snprintf(to, 200, "%s", v->shape.rank < 0 ? "*" : weft_shape_print(&v->shape, dims));
}

static void print_results(const weft_call *c, char to[TEXT])
{
    to[0] = '\0';
    for (int i = 0; i < c->n_results; i++) {
        strcat(to, i ? " " : "");
        print_value(&c->result[i], to);
    }
}

/* --- shapes ---------------------------------------------------------------------------------- */

typedef struct shape_case {
    const char *op;
    int opset;
    const char *args, *attrs, *expected;
} shape_case;

/* clang-format off */
static const shape_case cases[] = {
    /* element-wise: the shape of the operand, or numpy broadcasting */
    {"Relu", 14, "2x3", "", "2x3"},
    {"Relu", 14, "f16:?x3", "", "f16:?x3"},
    {"Relu", 14, "*", "", "*"},
    {"Relu", 14, "scalar", "", "scalar"},
    {"Relu", 14, "~", "", "!node 'n' (Relu): input 0 is missing"},
    {"Clip", 13, "2x3 scalar scalar", "", "2x3"},
    {"IsNaN", 13, "2x3", "", "bool:2x3"},
    {"Not", 1, "bool:4", "", "bool:4"},
    {"Add", 14, "2x3 3", "", "2x3"},
    {"Add", 14, "2x1x4 3x1", "", "2x3x4"},
    {"Add", 14, "scalar 5", "", "5"},
    {"Add", 14, "0x3 1x3", "", "0x3"},
    {"Add", 14, "2x? 2x3", "", "2x3"},       /* ? is 1 or 3 */
    {"Add", 14, "?x1 ?x3", "", "?x3"},
    {"Add", 14, "?x1 1x1", "", "?x1"},
    {"Add", 14, "* 2x3", "", "*"},
    {"Add", 14, "?:2 f16:2", "", "f16:2"},
    {"Add", 14, "2x3 4x3", "", "!shapes 2x3 and 4x3 do not broadcast: 2 against 4"},
    {"Add", 14, "1099511627776x1 1x1099511627776", "", "!too large"}, /* 2^80 elements */
    {"Sum", 13, "2x1 1x3 4x1x1", "", "4x2x3"},
    {"Max", 13, "i32:3", "", "i32:3"},
    {"PRelu", 16, "1x4x5x5 4x1x1", "", "1x4x5x5"},
    {"Pow", 15, "2x3 =2", "", "2x3"},
    {"Equal", 13, "i64:2x1 i64:3", "", "bool:2x3"},
    {"And", 7, "bool:2 bool:3", "", "!do not broadcast"},
    {"Where", 16, "bool:2x1 f16:3 f16:1", "", "f16:2x3"},
    {"Where", 16, "bool:2x1 ?:3 f16:1", "", "f16:2x3"},
    {"Where", 16, "bool:2 ~ f16:1", "", "!input 1 is missing"},
    {"Cast", 13, "2x3", "to=7", "i64:2x3"},
    {"Cast", 13, "i64:*", "to=1", "*"},
    {"Cast", 13, "2x3", "", "!attribute 'to' is missing"},
    {"Cast", 13, "2x3", "to=99", "!attribute 'to' is 99, expected the number of an element type"},
    {"Cast", 13, "2x3", "to=-1", "!attribute 'to' is -1"},
    {"CastLike", 15, "2x3 f16:1", "", "f16:2x3"},
    {"EyeLike", 9, "i32:2x3", "", "i32:2x3"},
    {"EyeLike", 9, "i32:2x3", "dtype=1", "2x3"},
    {"EyeLike", 9, "2x3x4", "", "!input 0 has shape 2x3x4 with 3 dimensions, expected 2"},
    {"Bernoulli", 15, "2x3", "dtype=9", "bool:2x3"},
    {"RandomNormalLike", 1, "f16:2x3", "", "f16:2x3"},
    {"Dropout", 13, "2x3", "", "2x3 bool:2x3"},
    {"Dropout", 7, "f16:2x3", "", "f16:2x3 f16:2x3"},
    {"Dropout", 13, "2x3 =0.5", "", "2x3"},
    {"QuantizeLinear", 13, "2x3 scalar i8:scalar", "", "i8:2x3"},
    {"QuantizeLinear", 13, "2x3 scalar", "", "u8:2x3"},
    {"QuantizeLinear", 21, "2x3 scalar", "output_dtype=3", "i8:2x3"},
    {"QuantizeLinear", 13, "2x3 3 i8:3", "", "i8:2x3"},
    {"QuantizeLinear", 13, "2x3 2 i8:2", "axis=0", "i8:2x3"},
    {"QuantizeLinear", 13, "2x3 2 i8:2", "", "!input 1 has shape 2, expected one element, or 3 for axis 1 of 2x3"},
    {"QuantizeLinear", 13, "2x3 2x3", "", "!expected 0 to 1"},
    {"QuantizeLinear", 21, "4x32 4x2 i4:4x2", "axis=1 block_size=16", "i4:4x32"},
    {"QuantizeLinear", 13, "2x3 3", "axis=2", "!axis is 2, expected -2 to 1"},
    {"DequantizeLinear", 13, "i8:2x3 scalar i8:scalar", "", "2x3"},
    {"DequantizeLinear", 19, "i8:2x3 f16:3", "", "f16:2x3"},
    {"DynamicQuantizeLinear", 11, "2x3", "", "u8:2x3 scalar u8:scalar"},
    {"QLinearAdd", 1, "u8:2x3 scalar u8:scalar u8:3 scalar u8:scalar scalar u8:scalar", "", "u8:2x3"},
    {"QLinearAdd", 1, "u8:2x3 scalar u8:scalar u8:4 scalar u8:scalar scalar", "", "!do not broadcast"},
    {"CumSum", 14, "2x3 =1", "", "2x3"},

    /* reductions */
    {"ReduceSum", 13, "2x3x4 [1]", "", "2x1x4"},
    {"ReduceSum", 13, "2x3x4 [1,-1]", "keepdims=0", "2"},
    {"ReduceSum", 13, "2x3x4", "", "1x1x1"},
    {"ReduceSum", 13, "2x3x4", "keepdims=0", "scalar"},
    {"ReduceSum", 13, "2x3x4 []", "", "1x1x1"},
    {"ReduceSum", 13, "2x3x4 []", "noop_with_empty_axes=1", "2x3x4"},
    {"ReduceSum", 13, "2x1x4 i64:1", "", "?x1x?"},
    {"ReduceSum", 13, "2x3x4 i64:2", "keepdims=0", "?"},
    {"ReduceSum", 13, "2x3x4 i64:?", "keepdims=0", "*"},
    {"ReduceSum", 13, "2x3x4 [?]", "keepdims=0", "?x?"},
    {"ReduceSum", 13, "* [1]", "", "*"},
    {"ReduceSum", 13, "*", "keepdims=0", "scalar"},
    {"ReduceMean", 11, "2x3x4", "axes=[2,0] keepdims=0", "3"},
    {"ReduceMean", 18, "2x3x4 [0]", "", "1x3x4"},
    {"ReduceMean", 11, "2x3x4", "axes=[3]", "!axis is 3, expected -3 to 2 for 3 dimensions"},
    {"ReduceMax", 11, "?x3", "axes=[1]", "?x1"},
    {"ArgMax", 13, "2x3x4", "axis=-1", "i64:2x3x1"},
    {"ArgMax", 13, "2x3x4", "keepdims=0", "i64:3x4"},
    {"ArgMin", 13, "2x3x4", "axis=5", "!axis is 5"},
    {"ArgMin", 13, "*", "", "i64:*"},
    {"Softmax", 13, "2x3", "", "2x3"},
    {"Softmax", 11, "2x3x4", "axis=2", "2x3x4"},
    {"Softmax", 11, "3", "", "!axis is 1, expected -1 to 0 for 1 dimension"},
    {"LogSoftmax", 13, "2x3", "axis=-3", "!axis is -3"},
    {"TopK", 11, "2x10 [3]", "", "2x3 i64:2x3"},
    {"TopK", 9, "2x10", "k=4 axis=0", "2!k is 4, but axis 0 has 2 elements only"},
    {"TopK", 9, "5x10", "k=4 axis=0", "4x10 i64:4x10"},
    {"TopK", 11, "2x10 i64:1", "", "2x? i64:2x?"},
    {"TopK", 11, "2x10 [-1]", "", "2!k is -1, must not be negative"},
    {"TopK", 11, "2x10 [1,2]", "", "2!k has 2 elements, expected 1"},
    {"TopK", 11, "2x10", "", "2!k is missing"},
    {"NegativeLogLikelihoodLoss", 13, "2x5x3 i64:2x3", "", "scalar"},
    {"NegativeLogLikelihoodLoss", 13, "2x5x3 i64:2x3 5", "reduction=none", "2x3"},
    {"NegativeLogLikelihoodLoss", 13, "?x5x3 i64:2x?", "reduction=none", "2x3"},
    {"NegativeLogLikelihoodLoss", 13, "2x5x3 i64:2x4", "", "!input 1 (labels) has shape 2x4, expected 2x3"},
    {"NegativeLogLikelihoodLoss", 13, "2x5 i64:2 4", "", "!input 2 (weights) has 4 elements, expected one for each of 5 classes"},
    {"SoftmaxCrossEntropyLoss", 13, "2x5 i64:2", "reduction=sum", "scalar 2x5"},
    {"SoftmaxCrossEntropyLoss", 13, "2x5 i64:2", "reduction=max", "!attribute 'reduction' is 'max', expected none, mean or sum"},

    /* views */
    {"Reshape", 13, "2x3x4 [6,4]", "", "6x4"},
    {"Reshape", 13, "2x3x4 [2,-1]", "", "2x12"}, /* 24 / 2 */
    {"Reshape", 13, "2x3x4 [0,-1]", "", "2x12"},
    {"Reshape", 13, "2x3x4 []", "", "![]"},
    {"Reshape", 13, "1x1 []", "", "scalar"},
    {"Reshape", 13, "?x3x4 [0,-1]", "", "?x12"}, /* the copied one cancels */
    {"Reshape", 13, "?x3x4 [-1,12]", "", "?x12"},
    {"Reshape", 13, "?x3x4 [2,12]", "", "2x12"},
    {"Reshape", 13, "2x3x4 [?,-1]", "", "?x?"},
    {"Reshape", 13, "2x3x4 [?,4]", "", "?x4"},
    {"Reshape", 13, "2x3x4 i64:2", "", "?x?"},
    {"Reshape", 13, "2x3x4 i64:?", "", "*"},
    {"Reshape", 13, "* [0,4]", "", "?x4"},
    {"Reshape", 14, "0x3 [0,-1]", "", "0x3"},
    {"Reshape", 14, "0x3 [3,0]", "allowzero=1", "3x0"},
    {"Reshape", 14, "0x3 [0,5]", "", "0x5"},
    {"Reshape", 13, "2x3x4 [5,5]", "", "!input 0 has shape 2x3x4, which cannot be reshaped to [5,5]"},
    {"Reshape", 13, "2x3x4 [5,-1]", "", "!cannot be reshaped to [5,-1]"},
    {"Reshape", 13, "2x3x4 [-1,-1]", "", "!(only one may be -1)"},
    {"Reshape", 13, "2x3x4 [-2,12]", "", "!dimension 0 of the new shape is -2, expected a size"},
    {"Reshape", 13, "2x3 [2,3,0]", "", "!dimension 2 of the new shape copies one that input 0 lacks"},
    {"Reshape", 13, "2 [1,1,1,1,1,1,1,1,2]", "", "!the new shape has 9 dimensions, at most 8 are supported"},
    {"Reshape", 13, "2 i64:9", "", "!the new shape has 9 dimensions"},
    {"Reshape", 13, "2 [4611686018427387904,4]", "", "!too large"}, /* 2^64 */
    {"Reshape", 13, "2", "", "!the new shape is missing"},
    {"Flatten", 13, "2x3x4", "", "2x12"},
    {"Flatten", 13, "2x3x4", "axis=0", "1x24"},
    {"Flatten", 13, "2x3x4", "axis=3", "24x1"},
    {"Flatten", 13, "2x3x4", "axis=-1", "6x4"},
    {"Flatten", 13, "?x3x4", "", "?x12"},
    {"Flatten", 13, "0x?x4", "axis=2", "0x4"},
    {"Flatten", 13, "*", "", "?x?"},
    {"Flatten", 13, "2x3", "axis=3", "!axis is 3, expected -2 to 2"},
    {"Squeeze", 13, "1x3x1 [0]", "", "3x1"},
    {"Squeeze", 11, "1x3x1", "axes=[-1,0]", "3"},
    {"Squeeze", 13, "1x3x1", "", "3"},
    {"Squeeze", 13, "1x?x1", "", "*"},
    {"Squeeze", 13, "1x?x1 [1]", "", "1x1"},
    {"Squeeze", 13, "1x3x1 i64:1", "", "?x?"},
    {"Squeeze", 13, "1x3x1 i64:?", "", "*"},
    {"Squeeze", 13, "1x3x1 [1]", "", "!input 0 has shape 1x3x1, dimension 1 cannot be removed"},
    {"Unsqueeze", 13, "3x4 [0,-1]", "", "1x3x4x1"},
    {"Unsqueeze", 11, "3x4", "axes=[1]", "3x1x4"},
    {"Unsqueeze", 13, "scalar [0]", "", "1"},
    {"Unsqueeze", 13, "3x4 i64:2", "", "?x?x?x?"},
    {"Unsqueeze", 13, "3x4 [?]", "", "?x?x?"},
    {"Unsqueeze", 13, "* [0]", "", "*"},
    {"Unsqueeze", 13, "3x4 [0,-4]", "", "!axis 0 is given twice"},
    {"Unsqueeze", 13, "3x4 [3]", "", "!axis is 3, expected -3 to 2"},
    {"Unsqueeze", 13, "3x4", "", "!the axes are missing"},
    {"Unsqueeze", 13, "3x4 i64:2147483647", "", "!at most 8 are supported"},

    /* permutation, join, cut */
    {"Transpose", 13, "2x3x4", "", "4x3x2"},
    {"Transpose", 13, "2x3x4", "perm=[0,2,1]", "2x4x3"},
    {"Transpose", 13, "*", "perm=[0,2,1]", "?x?x?"},
    {"Transpose", 13, "*", "perm=[0,1,2,3,4,5,6,7,8]", "*"},
    {"Transpose", 13, "2x3", "perm=[0,0]", "!attribute 'perm' has 0 twice"},
    {"Transpose", 13, "2x3", "perm=[0]", "!attribute 'perm' has 1 elements, expected 2"},
    {"Concat", 13, "2x3 2x4 2x5", "axis=1", "2x12"}, /* 3 + 4 + 5 */
    {"Concat", 13, "2x3 2x?", "axis=-1", "2x?"},
    {"Concat", 13, "?x3 2x4", "axis=1", "2x7"},
    {"Concat", 13, "* 2x4", "axis=1", "2x?"},
    {"Concat", 13, "* *", "axis=1", "*"},
    {"Concat", 13, "2x3 4x5", "axis=1", "!input 1 has shape 4x5, which does not fit"},
    {"Concat", 13, "2x3 2x3x4", "axis=1", "!input 1 has shape 2x3x4 with 3 dimensions, expected 2"},
    {"Concat", 13, "2x3 2x3", "", "!attribute 'axis' is missing"},
    {"Concat", 13, "2x3 2x3", "axis=2", "!axis is 2"},
    {"QLinearConcat", 1, "scalar u8:scalar u8:2x3 scalar u8:scalar u8:2x4 scalar u8:scalar", "axis=1", "u8:2x7"},
    {"Split", 13, "2x6", "axis=1", "2x3 2x3"},
    {"Split", 13, "2x6 [1,5]", "axis=1", "2x1 2x5"},
    {"Split", 11, "6x2", "split=[2,3,1]", "2x2 3x2 1x2"},
    {"Split", 18, "7x2", "num_outputs=3", "3x2 3x2 1x2"}, /* ceil(7 / 3), the rest is last */
    {"Split", 13, "?x6", "", "?x6 ?x6"},
    {"Split", 13, "2x6 i64:2", "axis=1", "2x? 2x?"},
    {"Split", 13, "2x7", "axis=1", "2!7 elements cannot be split into 2 equal parts"},
    {"Split", 18, "5x2", "num_outputs=4", "4!5 elements cannot be split into 4 parts"}, /* 2 2 2 -1 */
    {"Split", 18, "6x2", "num_outputs=3", "2!attribute 'num_outputs' is 3, but there are 2 outputs"},
    {"Split", 13, "2x6 [1,4]", "axis=1", "2!sizes of the parts add up to 5, expected 6"},
    {"Split", 13, "2x6 [7,-1]", "axis=1", "2!size of part 1 is -1, must not be negative"},
    {"Split", 13, "2x6 [6]", "axis=1", "2!1 sizes are given for 2 outputs"},
    {"Slice", 13, "10x20 [2] [8]", "", "6x20"},
    {"Slice", 13, "10x20 [0] [9] [1] [2]", "", "10x5"}, /* 0 2 4 6 8 */
    {"Slice", 13, "10 [-3] [9223372036854775807]", "", "3"},
    {"Slice", 13, "10 [-1] [-9223372036854775807] [0] [-1]", "", "10"},
    {"Slice", 13, "10 [7] [2] [0] [-2]", "", "3"}, /* 7 5 3 */
    {"Slice", 13, "10 [5] [5]", "", "0"},
    {"Slice", 13, "0x3 [0] [5]", "", "0x3"},
    {"Slice", 13, "0 [-1] [-5] [0] [-1]", "", "0"},
    {"Slice", 13, "10x20 [?] [8]", "", "?x20"},
    {"Slice", 13, "10x20 [2] [8] [?]", "", "?x?"},
    {"Slice", 13, "10x20 i64:1 i64:1", "", "?x20"},
    {"Slice", 13, "10x20 i64:? i64:?", "", "?x?"},
    {"Slice", 13, "10x20 i64:1 i64:1 [1]", "", "10x?"},
    {"Slice", 9, "10x20", "starts=[1,2] ends=[4,-1] axes=[0,1]", "3x17"},
    {"Slice", 13, "10 [0] [10] [0] [9223372036854775807]", "", "1"},
    {"Slice", 13, "10x20 [2] [8] [2]", "", "!axis is 2"},
    {"Slice", 13, "10x20 [2] [8] [0] [0]", "", "!step of axis 0 is 0"},
    {"Slice", 13, "10x20 [2,3] [8]", "", "!starts, ends, axes and steps differ in length: 2 and 1"},
    {"Slice", 13, "10x20 [2]", "", "!ends are missing"},

    /* look-ups */
    {"Gather", 13, "10x20 i64:3x4", "", "3x4x20"},
    {"Gather", 13, "10x20 =5", "axis=-1", "10"},
    {"Gather", 13, "f16:* i64:3", "", "f16:*"},
    {"Gather", 13, "10x20 i64:3", "axis=2", "!axis is 2"},
    {"Gather", 13, "2x2x2x2x2x2 i64:2x2x2x2", "", "!the result has 9 dimensions"},
    {"GatherElements", 13, "10x20 i64:3x20", "", "3x20"},
    {"GatherElements", 13, "10x20 i64:*", "", "?x?"},
    {"GatherElements", 13, "10x20 i64:3", "", "!input 1 (indices) has shape 3, expected as many dimensions as 10x20"},
    {"GatherND", 13, "2x3x4 i64:5x2", "", "5x4"},
    {"GatherND", 13, "2x3x4 i64:2x1", "batch_dims=1", "2x4"},
    {"GatherND", 13, "2x3x4 i64:5x?", "", "*"},
    {"GatherND", 13, "2x3x4 i64:5x4", "", "!does not index 2x3x4"},
    {"GatherND", 13, "2x3x4 i64:5x1", "batch_dims=1", "!batch dimension 0 of 2x3x4 and 5x1 differs"},
    {"ScatterElements", 13, "2x3 i64:1x2 1x2", "axis=1", "2x3"},
    {"ScatterElements", 13, "2x3 i64:2 2", "", "!expected as many dimensions as 2x3"},
    {"ScatterND", 13, "4x5 i64:2x1 2x5", "", "4x5"},
    {"ScatterND", 13, "4x5 i64:2x3 2", "", "!input 1 (indices) has shape 2x3, which does not index 4x5"},
    {"Compress", 11, "3x4 bool:3", "axis=0", "?x4"},
    {"Compress", 11, "3x4 [1,0,1]", "axis=0", "2x4"},
    {"Compress", 11, "3x4 [1,?,1]", "", "?"},
    {"Compress", 11, "3x4 bool:3x4", "", "!expected 1"},

    /* larger and smaller */
    {"Expand", 13, "3x1 [2,1,4]", "", "2x3x4"},
    {"Expand", 13, "3x4 [1]", "", "3x4"},
    {"Expand", 13, "3x1 i64:2", "", "3x?"},
    {"Expand", 13, "3x1 i64:?", "", "*"},
    {"Expand", 13, "3x1 [?,4]", "", "3x4"},
    {"Expand", 13, "3 [4]", "", "!do not broadcast"},
    {"Expand", 13, "3 [-3]", "", "!dimension 0 of the shape is -3, must not be negative"},
    {"Tile", 13, "2x3 [1,4]", "", "2x12"},
    {"Tile", 13, "2x3 [?,4]", "", "?x12"},
    {"Tile", 13, "2x3 i64:2", "", "?x?"},
    {"Tile", 13, "0x3 i64:2", "", "0x?"},
    {"Tile", 13, "2x3 [4]", "", "!1 repeats for 2 dimensions"},
    {"Tile", 13, "4x4 [4611686018427387904,1]", "", "!too large"},
    {"Pad", 13, "2x3 [0,1,0,2]", "", "2x6"}, /* 1 + 3 + 2 */
    {"Pad", 10, "2x3", "pads=[1,0,-1,0]", "2x3"},
    {"Pad", 1, "2x3", "paddings=[0,0,0,5]", "2x8"},
    {"Pad", 18, "2x3x4 [1,2] ~ [-1]", "", "2x3x7"},
    {"Pad", 13, "2x3 [0,?,0,2]", "", "2x?"},
    {"Pad", 13, "2x3 i64:4", "", "?x?"},
    {"Pad", 18, "2x3x4 [1,2] ~ i64:1", "", "?x?x?"},
    {"Pad", 13, "2x3 [0,-4,0,0]", "", "!a dimension of 3 elements cannot be padded by -4 and 0"},
    {"Pad", 13, "2x3 [0,0,0]", "", "!3 pads, expected 2 for each of 2 axes"},
    {"Pad", 13, "2x3 [9223372036854775807,0,1,0]", "", "!cannot be padded"},
    {"Resize", 11, "1x3x4x5 0 {1,1,2,2}", "", "1x3x8x10"},
    {"Resize", 11, "1x3x4x5 ~ {1,1,1.5,0.5}", "", "1x3x6x2"},
    {"Resize", 11, "1x1x3x3 ~ {1,1,1.6666666,1}", "", "1x1x5x3"}, /* 3 * float(5 / 3) */
    {"Resize", 13, "1x3x4x5 ~ ~ [1,3,7,9]", "", "1x3x7x9"},
    {"Resize", 13, "1x3x4x5 ~ 0 i64:4", "", "?x?x?x?"},
    {"Resize", 13, "1x3x4x5 ~ {1,1,?,2}", "", "1x3x?x10"},
    {"Resize", 10, "1x3x4x5 {1,1,2,2}", "", "1x3x8x10"},
    {"Resize", 18, "1x3x4x5 ~ {2,3}", "axes=[2,-1]", "1x3x8x15"},
    {"Resize", 18, "1x3x4x8 ~ ~ [8,8]", "axes=[2,3] keep_aspect_ratio_policy=not_larger", "1x3x4x8"},   /* min(2, 1) */
    {"Resize", 18, "1x3x4x8 ~ ~ [8,8]", "axes=[2,3] keep_aspect_ratio_policy=not_smaller", "1x3x8x16"}, /* max(2, 1) */
    {"Resize", 13, "4x8 {0,0,0.5,1} {2,2}", "coordinate_transformation_mode=tf_crop_and_resize", "4x16"},
    {"Resize", 13, "1x3x4x5", "", "!expected either scales or sizes, got none"},
    {"Resize", 13, "4x5 ~ {1,2} [1,2]", "", "!got both"},
    {"Resize", 13, "4x5 ~ {1,2,3}", "", "!3 scales, expected one for each of 2 axes"},
    {"Resize", 13, "4x5 ~ {1,-2}", "", "!a scale is -2, must be positive"},
    {"Resize", 13, "4x5 ~ ~ [1,-2]", "", "!a size is -2"},
    {"Resize", 13, "4x5 ~ {1,1e30}", "", "!too many"},
    {"Upsample", 7, "1x3x4x5", "scales={1,1,2,3}", "1x3x8x15"},
    {"Upsample", 9, "1x3x4x5 {1,1,2,3}", "", "1x3x8x15"},
    {"Upsample", 9, "1x3x4x5", "", "!the scales are missing"},
    {"DepthToSpace", 13, "1x8x2x3", "blocksize=2", "1x2x4x6"},
    {"SpaceToDepth", 13, "1x2x4x6", "blocksize=2", "1x8x2x3"},
    {"DepthToSpace", 13, "*", "blocksize=2", "?x?x?x?"},
    {"DepthToSpace", 13, "1x6x2x3", "blocksize=2", "!a dimension of 6 elements is not a multiple of 4"},
    {"DepthToSpace", 13, "1x8x2x3", "", "!attribute 'blocksize' is 0, must be positive"},
    {"CenterCropPad", 18, "10x20x3 [5,30]", "axes=[0,1]", "5x30x3"},
    {"CenterCropPad", 18, "10x20 i64:2", "", "?x?"},
    {"CenterCropPad", 18, "10x20 [5]", "", "!1 sizes, expected one for each of 2 axes"},
    {"Col2Im", 18, "1x12x6 [4,5] [2,3]", "", "1x2x4x5"}, /* 12 / (2 * 3) channels */
    {"Col2Im", 18, "1x12x6 i64:2 [2,3]", "", "1x2x?x?"},
    {"Col2Im", 18, "1x12x6 [4,5] [5,1]", "", "!not a multiple of 5"},

    /* makers */
    {"Shape", 13, "2x3x4", "", "i64:3"},
    {"Shape", 15, "2x3x4", "start=-2", "i64:2"},
    {"Shape", 15, "2x3x4", "start=1 end=2", "i64:1"},
    {"Shape", 15, "2x3x4", "start=2 end=-9", "i64:0"},
    {"Shape", 13, "*", "", "i64:?"},
    {"Size", 13, "2x3x4", "", "i64:scalar"},
    {"Constant", 13, "", "value=#f16:2x3", "f16:2x3"},
    {"Constant", 13, "", "value_int=5", "i64:scalar"},
    {"Constant", 13, "", "value_ints=[1,2,3]", "i64:3"},
    {"Constant", 13, "", "value_floats={1,2}", "2"},
    {"Constant", 13, "", "value_string=x", "string:scalar"},
    {"Constant", 13, "", "", "!attribute 'value' is missing"},
    {"ConstantOfShape", 9, "[2,3]", "", "2x3"},
    {"ConstantOfShape", 9, "[2,?]", "value=#i64:1", "i64:2x?"},
    {"ConstantOfShape", 9, "[]", "", "scalar"},
    {"ConstantOfShape", 9, "i64:3", "", "?x?x?"},
    {"ConstantOfShape", 9, "i64:?", "", "*"},
    {"ConstantOfShape", 9, "[-1]", "", "!dimension 0 of the shape is -1"},
    {"ConstantOfShape", 9, "[4611686018427387904,2]", "", "!too large"},
    {"Range", 11, "=0 =10 =3", "", "i64:4"},     /* 0 3 6 9 */
    {"Range", 11, "=10 =0 =-3", "", "i64:4"},    /* 10 7 4 1 */
    {"Range", 11, "=5 =5 =1", "", "i64:0"},
    {"Range", 11, "=0.0 =1.0 =0.3", "", "4"},    /* 0 0.3 0.6 0.9 */
    {"Range", 11, "=0 i64:scalar =1", "", "i64:?"},
    {"Range", 11, "=0 =10 =0", "", "!the step is 0"},
    {"Range", 11, "=-9223372036854775807 =9223372036854775807 =1", "", "!too large"},
    {"OneHot", 11, "i64:2x3 =5 2", "", "2x3x5"},
    {"OneHot", 11, "i64:2x3 [5] i32:2", "axis=0", "i32:5x2x3"},
    {"OneHot", 11, "i64:2x3 i64:scalar 2", "axis=1", "2x?x3"},
    {"OneHot", 11, "i64:2x3 =-5 2", "", "!depth is -5, expected a size"},
    {"OneHot", 11, "i64:2x3 =5 2", "axis=3", "!axis is 3"},
    {"NonZero", 13, "2x3", "", "i64:2x?"},
    {"NonZero", 13, "*", "", "i64:?x?"},
    {"Unique", 11, "f16:2x3", "", "f16:? i64:? i64:6 i64:?"},
    {"Unique", 11, "2x3", "axis=1", "2x? i64:? i64:3"},
    {"NonMaxSuppression", 11, "1x10x4 1x2x10", "", "i64:?x3"},
    {"NonMaxSuppression", 11, "10x4 1x2x10", "", "!input 0 has shape 10x4"},
    {"RandomNormal", 1, "", "shape=[2,3] dtype=10", "f16:2x3"},
    {"RandomUniform", 1, "", "", "!the shape is missing"},
    {"Multinomial", 7, "4x10", "sample_size=3", "i32:4x3"},
    {"Multinomial", 7, "4x10", "dtype=7", "i64:4x1"},
    {"HannWindow", 17, "=16", "", "16"},
    {"HammingWindow", 17, "i64:scalar", "output_datatype=11", "f64:?"},
    {"BlackmanWindow", 17, "=-1", "", "!the size is -1, expected a size"},
    {"MelWeightMatrix", 17, "=8 =16 =8000 =0.0 =4000.0", "", "9x8"}, /* 16 / 2 + 1 */
    {"If", 16, "bool:scalar", "", "?:* ?:*"},
    {"Loop", 16, "=3 bool:scalar 2x3", "", "?:*"},
    {"Det", 11, "2x3x3", "", "2"},
    {"Det", 11, "2x3x4", "", "!input 0 has shape 2x3x4, expected square matrices"},
    {"DFT", 17, "2x16x1", "", "2x16x2"},
    {"DFT", 17, "2x16x1", "onesided=1", "2x9x2"},
    {"DFT", 20, "2x8x16x1 =12 =1", "", "2x12x16x2"},
    {"DFT", 20, "2x8x16x1", "onesided=1", "2x8x9x2"},
    {"DFT", 20, "2x8x16x1 ~ i64:scalar", "", "?x?x?x2"},
    {"DFT", 17, "2x16x3", "", "!expected 1 or 2 as last dimension"},
    {"DFT", 17, "2x16x1", "axis=2", "!axis 2 is the last one"},
    {"DFT", 17, "2x16x1", "onesided=1 inverse=1", "!an inverse transform cannot be one-sided"},
    {"STFT", 17, "2x128x1 =8 16", "", "2x15x9x2"}, /* (128 - 16) / 8 + 1 frames, 16 / 2 + 1 bins */
    {"STFT", 17, "2x128x1 =8 ~ =16", "onesided=0", "2x15x16x2"},
    {"STFT", 17, "2x128x1 i64:scalar ~ =16", "", "2x?x9x2"},
    {"STFT", 17, "2x128x1 =8", "", "!expected a window or a frame length"},
    {"STFT", 17, "2x128x1 =0 16", "", "!the frame's step is 0"},
    {"STFT", 17, "2x8x1 =8 16", "", "!a frame of 16 samples is longer than the signal of 8"},
};
/* clang-format on */

enum { N_CASES = (int)(sizeof cases / sizeof cases[0]) };

/* Number of results a case asks for. */
static int count_results(const char *expected)
{
    const char *mark = strchr(expected, '!');
    int n = 1;

    if (mark != NULL)
        return mark == expected ? 1 : atoi(expected);
    for (; *expected; expected++)
        n += *expected == ' ';
    return n;
}

TEST(shapes_follow_the_operator_definitions)
{
    for (int i = 0; i < N_CASES; i++) {
        const shape_case *k = &cases[i];
        const char *mark = strchr(k->expected, '!');
        char got[TEXT];
        fixture f;
        weft_status status;

        fixture_open(&f, k->op, k->opset);
        fixture_read(&f, k->args, k->attrs);
        f.call.n_results = count_results(k->expected);
        status = weft_infer(&f.call);
        print_results(&f.call, got);
        if (status != WEFT_OK)
            snprintf(got, sizeof got, "%s", weft_message());
        if ((status != WEFT_OK) != (mark != NULL) ||
            (mark ? strstr(got, mark + 1) == NULL : strcmp(got, k->expected) != 0))
            fail_msg("%s-%d (%s) %s: got %s, expected %s", k->op, k->opset, k->args, k->attrs, got,
                     k->expected);
        weft_arena_free(f.arena);
    }
    CHECK(N_CASES >= 150);
}

/* Reshape of `args` in a network of batch 1 that is read with batch 8; dimension `grown` of input 0
 * was 1 before. */
static void check_rebatch(const char *args, int grown, bool is_const, const char *expected)
{
    char got[TEXT];
    weft_shape old;
    fixture f;

    fixture_open(&f, "Reshape", 13);
    fixture_read(&f, args, "");
    f.value[0].is_const = is_const;
    f.call.n_results = 1;
    f.call.old_batch = 1;
    f.call.new_batch = 8;
    old = f.value[0].shape;
    old.dim[grown] = 1;
    f.call.old_shape = &old;
    if (weft_infer(&f.call) == WEFT_OK)
        print_results(&f.call, got);
    else
        snprintf(got, sizeof got, "error");
    CHECK_TEXT(got, expected);
    weft_arena_free(f.arena);
}

TEST(a_fixed_batch_in_a_reshape_is_scaled)
{
    check_rebatch("8x3x4 [1,12]", 0, false, "8x12");
    check_rebatch("8x12x4 [12,4]", 0, false, "96x4"); /* batch * heads = 12 */
    check_rebatch("8x3x4 [1,-1]", 0, false, "8x12");
    check_rebatch("8x3x4 [8,12]", 0, false, "8x12");
    check_rebatch("8x3x4 [2,-1]", 0, false, "2x48"); /* not the batch */
    check_rebatch("8x3x4 [1,-1]", 0, true, "1x96");  /* constants have no batch */
    check_rebatch("8x3x4 [1,13]", 0, false, "error");
    check_rebatch("5x8x6 [5,1,2,3]", 1, false, "5x8x2x3");
    check_rebatch("5x8x6 [5,2,3]", 1, false, "error"); /* 5 * 8 or 8 * 2? not certain */
}

/* --- loop nests ------------------------------------------------------------------------------ */

static void print_index(const weft_nest *n, const weft_index *x, char *to)
{
    if (x->n_terms == 0)
        strcat(to, x->is_whole ? "*" : "-");
    for (int i = 0; i < x->n_terms; i++) {
        to += strlen(to);
        if (x->factor[i] != 1)
            to += snprintf(to, 24, "%lld", (long long)x->factor[i]);
        snprintf(to, 24, "%s%s", n->axis[x->axis[i]].name, i + 1 < x->n_terms ? "." : "");
    }
    if (x->offset != 0)
        snprintf(to + strlen(to), 24, "%+lld", (long long)x->offset);
}

/* "d0:2 d1:3r; a0[d0,d1] r0[d0]": axes with their kind, then accesses of operands and results. */
static void print_nest(const weft_nest *n, char to[TEXT])
{
    static const char *const kind[] = {"", "p", "r", "s"}; /* spatial, reduce, sequential */

    to[0] = '\0';
    for (int i = 0; i < n->n_axes; i++)
        snprintf(to + strlen(to), 64, "%s%s:%lld%s", i ? " " : "", n->axis[i].name,
                 (long long)n->axis[i].extent, kind[n->axis[i].kind]);
    strcat(to, ";");
    for (int i = 0; i < n->n_accesses; i++) {
        const weft_access *a = &n->access[i];

        snprintf(to + strlen(to), 16, " %s%d[", a->is_result ? "r" : "a", a->slot);
        for (int d = 0; d < a->rank; d++) {
            strcat(to, d ? "," : "");
            print_index(n, &a->index[d], to);
        }
        strcat(to, "]");
    }
}

typedef struct nest_case {
    const char *op;
    int opset;
    const char *args, *attrs;
    int n_results, flops;
    const char *expected;
} nest_case;

/* clang-format off */
static const nest_case nests[] = {
    {"Relu", 13, "2x3", "", 1, 1, "d0:2 d1:3; a0[d0,d1] r0[d0,d1]"},
    {"Relu", 13, "scalar", "", 1, 1, "; a0[] r0[]"},
    {"Add", 13, "2x3 3", "", 1, 1, "d0:2 d1:3; a0[d0,d1] a1[d1] r0[d0,d1]"},
    {"Add", 13, "2x1 1x3", "", 1, 1, "d0:2 d1:3; a0[d0,-] a1[-,d1] r0[d0,d1]"},
    {"Sum", 13, "2 2 2", "", 1, 2, "d0:2; a0[d0] a1[d0] a2[d0] r0[d0]"}, /* 2 additions */
    {"Sum", 13, "2 2 2 2 2 2 2 2", "", 1, 7, "d0:2; a0[d0] a1[d0] a2[d0] a3[d0] a4[d0] a5[d0] a6[d0] r0[d0]"},
    {"Clip", 13, "2x3 scalar scalar", "", 1, 2, "d0:2 d1:3; a0[d0,d1] a1[] a2[] r0[d0,d1]"},
    {"QuantizeLinear", 13, "2x3x3 3 u8:3", "axis=1", 1, 3, "d0:2 d1:3 d2:3; a0[d0,d1,d2] a1[d1] a2[d1] r0[d0,d1,d2]"},
    {"Expand", 13, "3x1 [3,2]", "", 1, 0, "d0:3 d1:2; a0[d0,-] r0[d0,d1]"},
    {"QLinearAdd", 1, "u8:2x3 scalar u8:scalar u8:3 scalar u8:scalar scalar", "", 1, 4, "d0:2 d1:3; a0[d0,d1] a3[d1] r0[d0,d1]"},
    {"ReduceSum", 13, "2x3x4 [1]", "", 1, 1, "d0:2 d1:3r d2:4; a0[d0,d1,d2] r0[d0,-,d2]"},
    {"ReduceMean", 11, "2x3x4", "axes=[0,2] keepdims=0", 1, 1, "d0:2r d1:3 d2:4r; a0[d0,d1,d2] r0[d1]"},
    {"ReduceMax", 11, "2x3", "", 1, 1, "d0:2r d1:3r; a0[d0,d1] r0[-,-]"},
    {"ArgMax", 13, "2x3", "axis=-1 keepdims=0", 1, 1, "d0:2 d1:3r; a0[d0,d1] r0[d0]"},
    {"Softmax", 13, "2x3x4", "axis=1", 1, 5, "d0:2 d1:3r d2:4; a0[d0,d1,d2] r0[d0,d1,d2]"},
    {"Softmax", 11, "2x3x4", "", 1, 5, "d0:2 d1:3r d2:4r; a0[d0,d1,d2] r0[d0,d1,d2]"},
    {"LpNormalization", 11, "2x3", "axis=0", 1, 3, "d0:2r d1:3; a0[d0,d1] r0[d0,d1]"},
    {"CumSum", 14, "2x3 =1", "", 1, 1, "d0:2 d1:3s; a0[d0,d1] r0[d0,d1]"},
    {"TopK", 11, "2x9 [3]", "", 2, 2, "d0:2 d1:9s; a0[d0,d1] r0[d0,*] r1[d0,*]"},
    {"SoftmaxCrossEntropyLoss", 13, "2x5x3 i64:2x3 5", "", 2, 6, "d0:2r d1:5r d2:3r; a0[d0,d1,d2] a1[d0,d2] a2[d1] r0[] r1[d0,d1,d2]"},
    {"NegativeLogLikelihoodLoss", 13, "2x5 i64:2", "reduction=none", 1, 2, "d0:2 d1:5r; a0[d0,d1] a1[d0] r0[d0]"},
    {"Transpose", 13, "2x3x4", "perm=[1,2,0]", 1, 0, "d0:3 d1:4 d2:2; r0[d0,d1,d2] a0[d2,d0,d1]"},
    {"Concat", 13, "2x3 2x4", "axis=1", 1, 0, "d0:2 d1:7; r0[d0,d1] a0[d0,d1] a1[d0,d1-3]"},
    {"Split", 13, "2x6 [1,5]", "axis=1", 2, 0, "d0:2 d1:6; a0[d0,d1] r0[d0,d1] r1[d0,d1-1]"},
    {"Slice", 13, "10x20 [2] [9] [1] [3]", "", 1, 0, "d0:10 d1:3; r0[d0,d1] a0[d0,3d1+2]"},
    {"Slice", 13, "10 [-1] [-11] [0] [-1]", "", 1, 0, "d0:10; r0[d0] a0[-1d0+9]"},
    {"Gather", 13, "10x20 i64:3x4", "", 1, 0, "d0:3 d1:4 d2:20; r0[d0,d1,d2] a0[d0.d1,d2] a1[d0,d1]"},
    {"Gather", 13, "5x10 =3", "axis=1", 1, 0, "d0:5; r0[d0] a0[d0,-] a1[]"},
    {"Pad", 13, "2x3 [0,1,0,2]", "", 1, 0, "d0:2 d1:6; r0[d0,d1] a0[d0,d1-1]"},
    {"Resize", 13, "1x2x4x4 ~ {1,1,2,2}", "", 1, 0, "d0:1 d1:2 d2:8p d3:8p; r0[d0,d1,d2,d3] a0[d0,d1,*,*]"},
    {"Det", 11, "2x3x3", "", 1, 1, "d0:2 d1:3r d2:3r pivot:3s; a0[d0,d1,d2] r0[d0]"},
    {"DFT", 17, "2x16x1", "onesided=1", 1, 5, "d0:2 d1:16r stage:4s; a0[d0,d1,*] r0[d0,*,*]"},
    {"STFT", 17, "2x128x1 =8 16", "", 1, 5, "batch:2 frame:15p sample:16r stage:4s; a0[batch,8frame.sample,*] a2[sample] r0[batch,frame,*,*]"},
};
/* clang-format on */

TEST(nests_index_what_they_touch)
{
    for (size_t i = 0; i < sizeof nests / sizeof nests[0]; i++) {
        const nest_case *k = &nests[i];
        weft_nests out;
        char got[TEXT];
        fixture f;

        fixture_open(&f, k->op, k->opset);
        fixture_read(&f, k->args, k->attrs);
        f.call.n_results = k->n_results;
        CHECK_OK(weft_infer(&f.call));
        f.call.op->nests(&f.call, &out);
        CHECK_INT(out.n, 1);
        print_nest(&out.nest[0], got);
        CHECK_TEXT(got, k->expected);
        CHECK_INT(out.nest[0].point_flops, k->flops);
        CHECK(!out.nest[0].is_mac);
        weft_arena_free(f.arena);
    }
}

/* --- properties ------------------------------------------------------------------------------ */

static int64_t between(weft_rng *r, int low, int high)
{
    return low + weft_rng_below(r, high - low + 1);
}

static const weft_value *run(fixture *f, const char *args, const char *attrs)
{
    fixture_read(f, args, attrs);
    f->call.n_results = 1;
    CHECK_OK(weft_infer(&f->call));
    return &f->result[0];
}

/* The number of indices that a loop as in the definition visits. */
static int64_t count_slice(int64_t dim, int64_t start, int64_t end, int64_t step)
{
    int64_t n = 0, low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1;

    start += start < 0 ? dim : 0;
    end += end < 0 ? dim : 0;
    start = start < 0 ? 0 : start > high ? high : start;
    end = end < low ? low : end > high ? high : end;
    for (int64_t i = start; step > 0 ? i < end : i > end; i += step)
        n++;
    return n;
}

TEST(slices_have_the_length_of_their_loop)
{
    weft_rng r = weft_rng_seed(1);

    for (int i = 0; i < 2000; i++) {
        int64_t dim = between(&r, 1, 12), start = between(&r, -15, 15), end = between(&r, -15, 15);
        int64_t step = between(&r, 1, 5) * (weft_rng_below(&r, 2) ? 1 : -1);
        char args[TEXT];
        fixture f;

        fixture_open(&f, "Slice", 13);
        snprintf(args, sizeof args, "%lld [%lld] [%lld] [0] [%lld]", (long long)dim,
                 (long long)start, (long long)end, (long long)step);
        CHECK_INT(run(&f, args, "")->shape.dim[0], count_slice(dim, start, end, step));
        weft_arena_free(f.arena);
    }
}

/* What is inferred from less must not contradict what is inferred from more. */
static void check_refines(const weft_shape *less, const weft_shape *more)
{
    if (less->rank < 0)
        return;
    CHECK_INT(less->rank, more->rank);
    for (int i = 0; i < less->rank; i++)
        CHECK(less->dim[i] < 0 || less->dim[i] == more->dim[i]);
}

TEST(forgetting_dimensions_never_changes_the_others)
{
    weft_rng r = weft_rng_seed(2);

    for (int k = 0; k < N_CASES * 20; k++) {
        const shape_case *from = &cases[k % N_CASES];
        fixture f;
        weft_value full[MOST];

        if (strchr(from->expected, '!') != NULL)
            continue;
        fixture_open(&f, from->op, from->opset);
        fixture_read(&f, from->args, from->attrs);
        f.call.n_results = count_results(from->expected);
        CHECK_OK(weft_infer(&f.call));
        memcpy(full, f.result, sizeof full);
        for (int i = 0; i < f.call.n_args; i++) {
            for (int d = 0; d < f.value[i].shape.rank && !f.value[i].data; d++)
                if (weft_rng_below(&r, 2))
                    f.value[i].shape.dim[d] = WEFT_UNKNOWN_DIM;
            if (weft_rng_below(&r, 4) == 0)
                f.value[i].data = NULL;
            if (weft_rng_below(&r, 8) == 0 && f.value[i].data == NULL)
                f.value[i].shape.rank = -1;
        }
        if (weft_infer(&f.call) != WEFT_OK)
            fail_msg("%s (%s): %s", from->op, from->args, weft_message());
        for (int i = 0; i < f.call.n_results; i++)
            check_refines(&f.result[i].shape, &full[i].shape);
        weft_arena_free(f.arena);
    }
}

static int64_t odd_int(weft_rng *r)
{
    static const int64_t odd[] = {INT64_MIN, INT64_MIN + 1,   INT64_MAX, -1, 0, 1, 2, 3, 4, -2, 8,
                                  9,         (int64_t)1 << 61};

    return odd[weft_rng_below(r, (int)(sizeof odd / sizeof odd[0]))];
}

static weft_value odd_value(weft_arena *a, weft_rng *r)
{
    weft_value v = {.type = (weft_dtype)weft_rng_below(r, WEFT_N_DTYPES)};

    v.shape.rank = (int)between(r, -1, weft_rng_below(r, 2) ? 2 : WEFT_MAX_RANK);
    for (int i = 0; i < v.shape.rank; i++) {
        int64_t dim = odd_int(r);

        v.shape.dim[i] = dim < -1 || dim > (int64_t)1 << 61 ? 5 : dim;
    }
    if (weft_shape_is_static(&v.shape) && weft_shape_elements(&v.shape) < 0)
        v.shape.dim[0] = WEFT_UNKNOWN_DIM; /* the reader refuses such tensors */
    if (weft_rng_below(r, 2) && weft_shape_is_static(&v.shape) &&
        weft_shape_elements(&v.shape) <= 32) {
        weft_literal *l = WEFT_NEW(a, weft_literal, 1);
        int64_t *ints = WEFT_NEW(a, int64_t, 32);
        double *reals = WEFT_NEW(a, double, 32);

        l->n = (int)weft_shape_elements(&v.shape);
        for (int i = 0; i < l->n; i++) {
            ints[i] = odd_int(r);
            reals[i] = weft_rng_below(r, 8) ? (double)odd_int(r) / 2 : (double)INFINITY;
        }
        l->ints = weft_rng_below(r, 4) ? ints : NULL;
        l->reals = l->ints ? NULL : reals;
        v.data = l;
    }
    return v;
}

static void odd_attrs(fixture *f, weft_rng *r)
{
    static const char *const name[] = {"axis",   "axes",   "keepdims",   "perm", "split",
                                       "starts", "ends",   "pads",       "k",    "blocksize",
                                       "shape",  "scales", "batch_dims", "to",   "num_outputs"};

    f->node.n_attrs = weft_rng_below(r, 4);
    for (int i = 0; i < f->node.n_attrs; i++) {
        weft_attr *a = &f->attr[i];
        int64_t *ints = WEFT_NEW(f->arena, int64_t, 9);
        double *reals = WEFT_NEW(f->arena, double, 9);

        a->name = name[weft_rng_below(r, (int)(sizeof name / sizeof name[0]))];
        a->kind = (weft_attr_kind)between(r, WEFT_ATTR_INT, WEFT_ATTR_REALS);
        a->i = odd_int(r);
        a->s = "none";
        a->n = weft_rng_below(r, 10);
        for (int k = 0; k < a->n; k++) {
            ints[k] = weft_rng_below(r, 2) ? k : odd_int(r);
            reals[k] = (double)odd_int(r);
        }
        a->ints = ints;
        a->reals = reals;
    }
}

static void check_nest(const weft_nest *n)
{
    CHECK(n->n_axes <= WEFT_MAX_AXES && n->n_accesses <= WEFT_MAX_ACCESSES);
    for (int i = 0; i < n->n_accesses; i++)
        for (int d = 0; d < n->access[i].rank; d++)
            for (int k = 0; k < n->access[i].index[d].n_terms; k++)
                CHECK(n->access[i].index[d].axis[k] < n->n_axes);
}

/* Runs the rules on one random call. The result is a shape or a message, whatever came in. */
static bool survives(const char *op, weft_rng *r)
{
    static const int opsets[] = {7, 9, 10, 11, 13, 18, 21};
    bool is_static = true, is_ok;
    weft_nests out;
    fixture f;

    fixture_open(&f, op, opsets[weft_rng_below(r, 7)]);
    f.call.n_args = f.call.op->max_args < 0 ? weft_rng_below(r, MOST) : f.call.op->max_args;
    f.call.n_results = (int)between(r, 1, 4);
    for (int i = 0; i < f.call.n_args; i++) {
        f.value[i] = odd_value(f.arena, r);
        is_static = is_static && weft_shape_is_static(&f.value[i].shape);
        f.arg[i] = weft_rng_below(r, 6) || i < f.call.op->min_args ? &f.value[i] : NULL;
    }
    f.call.old_batch = weft_rng_below(r, 3);
    f.call.new_batch = weft_rng_below(r, 9);
    odd_attrs(&f, r);
    is_ok = weft_infer(&f.call) == WEFT_OK;
    for (int i = 0; is_ok && i < f.call.n_results; i++) {
        weft_shape *s = &f.result[i].shape;

        CHECK(s->rank >= -1 && s->rank <= WEFT_MAX_RANK);
        for (int d = 0; d < s->rank; d++) {
            CHECK(s->dim[d] >= -1);
            s->dim[d] = s->dim[d] < 0 ? 3 : s->dim[d]; /* as a file may declare it */
        }
        s->rank = s->rank < 0 ? (int)between(r, 0, WEFT_MAX_RANK) : s->rank;
    }
    if (is_ok && is_static && f.call.op->nests != NULL) {
        f.call.op->nests(&f.call, &out);
        check_nest(&out.nest[0]);
    }
    weft_arena_free(f.arena);
    return is_ok;
}

TEST(random_calls_give_shapes_or_messages)
{
    weft_rng r = weft_rng_seed(3);
    int n_ok = 0;

    for (int i = 0; i < N_CASES * 200; i++)
        n_ok += survives(cases[i % N_CASES].op, &r);
    CHECK(n_ok > N_CASES * 10); /* else the calls are too odd to test anything */
}

int main(void)
{
    const struct CMUnitTest list[] = {
        cmocka_unit_test(shapes_follow_the_operator_definitions),
        cmocka_unit_test(a_fixed_batch_in_a_reshape_is_scaled),
        cmocka_unit_test(nests_index_what_they_touch),
        cmocka_unit_test(slices_have_the_length_of_their_loop),
        cmocka_unit_test(forgetting_dimensions_never_changes_the_others),
        cmocka_unit_test(random_calls_give_shapes_or_messages),
    };

    return RUN_TESTS(list);
}
