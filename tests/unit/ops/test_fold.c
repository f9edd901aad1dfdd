/* SPDX-License-Identifier: MIT */
/* Evaluation of small constants. A case is one line: "Op@opset(operand; operand) attributes ->
 * type[shape]; ...", where an operand is "type[shape] elements" ('?' is an unknown element or
 * dimension, no elements: none known, "-": left out). Results are compared as text; "-" means that
 * nothing is known about a result, "empty" that it is known to have no elements. */
#include "check.h"

#include "ops.h"

#include <stdio.h>
#include <stdlib.h>

/* --- cases as text --------------------------------------------------------------------------- */

enum { MAX_VALUES = 8, MAX_ATTRS = 8 };

typedef struct bench {
    weft_arena *arena;
    const char *at; /* what is left of the text */
    weft_node node;
    weft_attr attr[MAX_ATTRS];
    weft_value value[MAX_VALUES];
    const weft_value *arg[MAX_VALUES];
    weft_value result[MAX_VALUES];
    int n_args, n_results;
} bench;

static void blanks(bench *b)
{
    while (*b->at == ' ')
        b->at++;
}

static bool take(bench *b, const char *mark)
{
    blanks(b);
    if (strncmp(b->at, mark, strlen(mark)) != 0)
        return false;
    b->at += strlen(mark);
    return true;
}

static const char *word(bench *b, const char *stops)
{
    size_t n;

    blanks(b);
    n = strcspn(b->at, stops);
    b->at += n;
    return weft_arena_text(b->arena, b->at - n, n);
}

static int64_t integer(bench *b)
{
    char *end;
    int64_t x = strtoll(b->at, &end, 10);

    assert_true(end > b->at);
    b->at = end;
    return x;
}

static double real(bench *b)
{
    char *end;
    double x = strtod(b->at, &end);

    assert_true(end > b->at);
    b->at = end;
    return x;
}

static void read_elements(bench *b, weft_value *v)
{
    int64_t n = weft_shape_elements(&v->shape);
    weft_literal *literal = WEFT_NEW(b->arena, weft_literal, 1);
    int64_t *ints = WEFT_NEW(b->arena, int64_t, n);
    double *reals = WEFT_NEW(b->arena, double, n);
    bool is_int = weft_dtype_is_integer(v->type);

    for (int64_t i = 0; i < n; i++) {
        bool is_unknown = take(b, "?");

        ints[i] = is_unknown ? WEFT_UNKNOWN_INT : is_int ? integer(b) : 0;
        reals[i] = is_unknown ? NAN : is_int ? 0 : real(b);
    }
    *literal = (weft_literal){(int)n, is_int ? ints : NULL, is_int ? NULL : reals};
    v->data = literal;
}

static bool at_element(bench *b)
{
    blanks(b);
    return *b->at != '\0' && strchr("+-.?0123456789i", *b->at) != NULL &&
           strncmp(b->at, "->", 2) != 0;
}

static weft_value read_value(bench *b)
{
    weft_value v = {0};

    v.type = weft_dtype_find(word(b, "["));
    assert_true(v.type != WEFT_TYPE_UNKNOWN && take(b, "["));
    while (!take(b, "]")) {
        blanks(b);
        v.shape.dim[v.shape.rank++] = take(b, "?") ? WEFT_UNKNOWN_DIM : integer(b);
        take(b, ",");
    }
    if (weft_shape_elements(&v.shape) == 0 || at_element(b))
        read_elements(b, &v);
    return v;
}

static weft_attr read_list(bench *b)
{
    weft_attr a = {.kind = WEFT_ATTR_INTS};
    int64_t *ints = WEFT_NEW(b->arena, int64_t, 16);
    double *reals = WEFT_NEW(b->arena, double, 16);

    while (!take(b, "]")) {
        char *end;

        reals[a.n] = strtod(b->at, &end);
        ints[a.n] = strtoll(b->at, NULL, 10);
        if (memchr(b->at, '.', (size_t)(end - b->at)))
            a.kind = WEFT_ATTR_REALS;
        b->at = end;
        a.n++;
        take(b, ",");
    }
    a.ints = ints;
    a.reals = reals;
    return a;
}

static weft_attr read_attr(bench *b)
{
    const char *name = word(b, "=");
    weft_attr a = {.kind = WEFT_ATTR_INT};

    b->at++;
    if (take(b, "[")) {
        a = read_list(b);
    } else if (take(b, "{")) {
        weft_value v = read_value(b);

        a = (weft_attr){
            .kind = WEFT_ATTR_LITERAL, .type = v.type, .shape = v.shape, .literal = v.data};
        assert_true(take(b, "}"));
    } else {
        a.s = word(b, " ");
        a.i = strtoll(a.s, NULL, 10);
        a.f = strtod(a.s, NULL);
        if (strchr(a.s, '.'))
            a.kind = WEFT_ATTR_REAL;
        else if (strchr("-0123456789", a.s[0]) == NULL)
            a.kind = WEFT_ATTR_TEXT;
    }
    a.name = name;
    return a;
}

/* "Op@opset", then attributes up to "->" or the end. */
static void read_head(bench *b)
{
    b->node.name = "n";
    b->node.domain = "";
    b->node.attr = b->attr;
    b->node.op = word(b, "@( ");
    b->node.opset = take(b, "@") ? (int)integer(b) : 21;
}

static void read_attrs(bench *b)
{
    for (blanks(b); *b->at != '\0' && strncmp(b->at, "->", 2) != 0; blanks(b))
        b->attr[b->node.n_attrs++] = read_attr(b);
}

static void call_fold(bench *b)
{
    const weft_op *op = weft_op_find("", b->node.op);
    weft_call c = {.node = &b->node,
                   .op = op,
                   .n_args = b->n_args,
                   .n_results = b->n_results,
                   .arg = b->arg,
                   .result = b->result,
                   .arena = b->arena};

    assert_non_null(op);
    assert_non_null(op->fold);
    op->fold(&c);
}

static const char *print_value(weft_arena *a, const weft_value *v)
{
    const char *text = "";

    if (v->data == NULL)
        return "-";
    assert_int_equal(v->data->n, weft_shape_elements(&v->shape));
    for (int i = 0; i < v->data->n; i++) {
        const char *gap = i ? " " : "";

        if (weft_dtype_is_integer(v->type) ? v->data->ints[i] == WEFT_UNKNOWN_INT
                                           : isnan(v->data->reals[i]))
            text = weft_arena_print(a, "%s%s?", text, gap);
        else if (weft_dtype_is_integer(v->type))
            text = weft_arena_print(a, "%s%s%lld", text, gap, (long long)v->data->ints[i]);
        else
            text = weft_arena_print(a, "%s%s%.7g", text, gap, v->data->reals[i]);
    }
    return v->data->n ? text : "empty";
}

/* The results of a case as text, in `a`. */
static const char *run(weft_arena *a, const char *text)
{
    bench *b = WEFT_NEW(a, bench, 1);
    const char *out = "";

    b->arena = a;
    b->at = text;
    read_head(b);
    assert_true(take(b, "("));
    while (!take(b, ")")) {
        b->arg[b->n_args] = NULL;
        if (!take(b, "-")) {
            b->value[b->n_args] = read_value(b);
            b->arg[b->n_args] = &b->value[b->n_args];
        }
        b->n_args++;
        take(b, ";");
    }
    read_attrs(b);
    for (assert_true(take(b, "->")); *b->at != '\0'; take(b, ";"))
        b->result[b->n_results++] = read_value(b);
    for (int i = 0; i < b->n_results; i++)
        b->result[i].data = NULL;
    call_fold(b);
    for (int i = 0; i < b->n_results; i++)
        out = weft_arena_print(a, "%s%s%s", out, i ? "; " : "", print_value(a, &b->result[i]));
    return out;
}

static void check_fold(const char *text, const char *expected)
{
    weft_arena *a = weft_arena_new();
    const char *result = run(a, text);

    if (strcmp(result, expected) != 0)
        fail_msg("%s\n  gave     %s\n  expected %s", text, result, expected);
    weft_arena_free(a);
}

/* --- one operand ----------------------------------------------------------------------------- */

TEST(unary_functions_of_integers)
{
    check_fold("Abs(i64[3] -4 0 ?) -> i64[3]", "4 0 ?");
    check_fold("Abs(i8[2] -128 -127) -> i8[2]", "-128 127"); /* 128 - 256 */
    check_fold("Neg(i32[2] 5 -2147483648) -> i32[2]", "-5 -2147483648");
    check_fold("Sign(i64[3] -7 0 9) -> i64[3]", "-1 0 1");
    check_fold("Relu(i32[2] -3 3) -> i32[2]", "0 3");
    check_fold("Not(bool[3] 0 1 ?) -> bool[3]", "1 0 ?");
    check_fold("Sqrt(i64[1] 4) -> i64[1]", "-"); /* not defined for integers */
}

TEST(unary_functions_of_reals)
{
    check_fold("Abs(f32[2] -1.5 ?) -> f32[2]", "1.5 ?");
    check_fold("Neg(f32[1] 2) -> f32[1]", "-2");
    check_fold("Sign(f32[3] -0.5 0 7) -> f32[3]", "-1 0 1");
    check_fold("Ceil(f32[2] 1.2 -1.2) -> f32[2]", "2 -1");
    check_fold("Floor(f32[2] 1.8 -1.2) -> f32[2]", "1 -2");
    check_fold("Round(f32[5] 0.5 1.5 2.5 -0.5 -1.5) -> f32[5]", "0 2 2 -0 -2");
    check_fold("Sqrt(f32[3] 9 2 -1) -> f32[3]", "3 1.414214 ?");
    check_fold("Exp(f32[2] 0 1) -> f32[2]", "1 2.718282");
    check_fold("Exp(f32[1] 89) -> f32[1]", "inf"); /* e^89 > 2^128 */
    check_fold("Log(f32[2] 1 0) -> f32[2]", "0 -inf");
    check_fold("Reciprocal(f32[2] 4 0) -> f32[2]", "0.25 inf");
    check_fold("Relu(f32[3] -1 2 ?) -> f32[3]", "0 2 ?");
    check_fold("Sigmoid(f32[3] 0 -1000 1000) -> f32[3]", "0.5 0 1");
    check_fold("Erf(f32[2] 0 10) -> f32[2]", "0 1");
    check_fold("Softplus(f32[2] 0 1000) -> f32[2]", "0.6931472 1000"); /* ln 2 */
    check_fold("Softsign(f32[2] 1 -3) -> f32[2]", "0.5 -0.75");
}

TEST(trigonometric_functions)
{
    check_fold("Sin(f32[1] 0.5) -> f32[1]", "0.4794255");
    check_fold("Cos(f32[1] 0) -> f32[1]", "1");
    check_fold("Tan(f32[1] 0.5) -> f32[1]", "0.5463025");
    check_fold("Asin(f32[2] 1 2) -> f32[2]", "1.570796 ?"); /* pi / 2; undefined */
    check_fold("Acos(f32[1] 1) -> f32[1]", "0");
    check_fold("Atan(f32[1] 1) -> f32[1]", "0.7853982"); /* pi / 4 */
    check_fold("Sinh(f32[1] 1) -> f32[1]", "1.175201");
    check_fold("Cosh(f32[1] 1) -> f32[1]", "1.543081");
    check_fold("Tanh(f32[1] 1) -> f32[1]", "0.7615942");
    check_fold("Asinh(f32[1] 1) -> f32[1]", "0.8813736");
    check_fold("Acosh(f32[1] 2) -> f32[1]", "1.316958");
    check_fold("Atanh(f32[1] 0.5) -> f32[1]", "0.5493062");
}

TEST(activations_with_attributes)
{
    check_fold("LeakyRelu(f32[2] -2 3) -> f32[2]", "-0.02 3");
    check_fold("LeakyRelu(f32[1] -2) alpha=0.5 -> f32[1]", "-1");
    check_fold("Elu(f32[2] -1 2) alpha=2.0 -> f32[2]", "-1.264241 2"); /* 2 (1/e - 1) */
    check_fold("Celu(f32[1] -2) alpha=2.0 -> f32[1]", "-1.264241");
    check_fold("Selu(f32[2] 1 -1) -> f32[2]", "1.050701 -1.111331");
    check_fold("HardSigmoid(f32[3] 1 9 -9) -> f32[3]", "0.7 1 0");      /* 0.2 + 0.5 */
    check_fold("HardSwish(f32[3] 3 -3 1) -> f32[3]", "3 -0 0.6666667"); /* 1 (1/6 + 1/2) */
    check_fold("ThresholdedRelu(f32[2] 1 1.5) -> f32[2]", "0 1.5");
    check_fold("Shrink(f32[3] -2 0.2 2) bias=0.5 lambd=1.0 -> f32[3]", "-1.5 0 1.5");
}

TEST(clip_by_attributes_and_by_operands)
{
    check_fold("Clip@6(f32[3] -1 3 9) min=0.0 max=6.0 -> f32[3]", "0 3 6");
    check_fold("Clip(i64[4] -1 3 9 ?; i64[] 0; i64[] 6) -> i64[4]", "0 3 6 ?");
    check_fold("Clip(f32[2] -1 9; -; f32[] 6) -> f32[2]", "-1 6");
    check_fold("Clip(i64[2] -1 9; i64[] 4) -> i64[2]", "4 9");
    check_fold("Clip(i64[1] 5; i64[] 8; i64[] 2) -> i64[1]", "2"); /* bounds cross: the upper */
    check_fold("Clip(i64[1] 5; i64[] ?) -> i64[1]", "-");
}

TEST(cast_truncates_wraps_and_rounds)
{
    check_fold("Cast(f32[4] 2.9 -2.9 ? 3e9) to=6 -> i32[4]", "2 -2 ? ?");
    check_fold("Cast(f32[3] 300 -1 255.5) to=2 -> u8[3]", "? ? 255");
    check_fold("Cast(i64[3] 300 -1 ?) to=2 -> u8[3]", "44 255 ?"); /* 300 - 256 */
    check_fold("Cast(i64[2] 128 -129) to=3 -> i8[2]", "-128 127");
    check_fold("Cast(i64[1] -1) to=13 -> u64[1]", "-"); /* 2^64 - 1 has no place in a literal */
    check_fold("Cast(f64[2] 9.3e18 9e18) to=7 -> i64[2]", "? 9000000000000000000");
    check_fold("Cast(f32[3] 0.5 0 -3) to=9 -> bool[3]", "1 0 1");
    check_fold("Cast(bool[2] 1 0) to=1 -> f32[2]", "1 0");
    check_fold("Cast(i64[1] 16777217) to=1 -> f32[1]", "1.677722e+07"); /* 2^24 + 1 -> 2^24 */
    check_fold("Cast(f64[1] 3.4e39) to=1 -> f32[1]", "inf");
    check_fold("Cast(f32[4] 65504 65519 65520 1e-8) to=10 -> f16[4]", "65504 65504 inf 0");
    check_fold("Cast(f32[2] 2049 2051) to=10 -> f16[2]", "2048 2052"); /* ties to even */
    check_fold("Cast(f32[2] 257 259) to=16 -> bf16[2]", "256 260");
    check_fold("Cast(f32[1] 1) to=17 -> f8e4m3fn[1]", "-");
    check_fold("CastLike(f32[1] 7.5; i64[1]) -> i64[1]", "7");
}

/* --- two operands and more ------------------------------------------------------------------- */

TEST(integer_arithmetic)
{
    check_fold("Add(i64[3] 1 2 ?; i64[3] 10 ? 30) -> i64[3]", "11 ? ?");
    check_fold("Add(i64[1] 9223372036854775807; i64[1] 1) -> i64[1]", "-");
    check_fold("Add(i32[1] 2147483647; i32[1] 1) -> i32[1]", "-2147483648");
    check_fold("Sub(u8[1] 3; u8[1] 5) -> u8[1]", "254"); /* -2 + 256 */
    check_fold("Sub(u64[2] 3 5; u64[2] 5 3) -> u64[2]", "? 2");
    check_fold("Mul(u32[1] 4294967295; u32[1] 4294967295) -> u32[1]", "1"); /* (-1)^2 mod 2^32 */
    check_fold("Mul(i64[1] 4294967296; i64[1] 4294967296) -> i64[1]", "-");
    check_fold("Div(i64[4] 7 -7 7 7; i64[4] 2 2 -2 0) -> i64[4]", "3 -3 -3 ?");
    check_fold("Div(i32[1] -2147483648; i32[1] -1) -> i32[1]", "-2147483648");
    check_fold("Mod(i64[5] 7 -7 7 -7 7; i64[5] 3 3 -3 -3 0) -> i64[5]", "1 2 -2 -1 ?");
    check_fold("Mod(i64[4] 7 -7 7 -7; i64[4] 3 3 -3 -3) fmod=1 -> i64[4]", "1 -1 1 -1");
    check_fold("Pow(i64[5] 2 -3 0 2 -1; i64[5] 10 3 0 -1 -3) -> i64[5]", "1024 -27 1 0 -1");
    check_fold("Pow(i64[3] 2 3 0; i64[3] 63 39 -1) -> i64[3]", "? 4052555153018976267 ?");
    check_fold("Pow(i64[2] 2 9; f32[2] 3 0.5) -> i64[2]", "8 3");
    check_fold("Pow(f32[2] 2 9; i64[2] -1 2) -> f32[2]", "0.5 81");
}

TEST(real_arithmetic_is_that_of_the_type)
{
    /* 2^24 + 1 is no f32; in doubles it would be 16777217 */
    check_fold("Add(f32[1] 16777216; f32[1] 1) -> f32[1]", "1.677722e+07");
    check_fold("Div(f32[1] 1; f32[1] 0) -> f32[1]", "inf");
    check_fold("Div(f32[1] 0; f32[1] 0) -> f32[1]", "-");
    check_fold("Mul(f16[1] 300; f16[1] 300) -> f16[1]", "inf"); /* 90000 > 65504 */
    check_fold("Sub(bf16[1] 256; bf16[1] 1) -> bf16[1]", "255");
    check_fold("Add(bf16[1] 256; bf16[1] 1) -> bf16[1]", "256");
    check_fold("Mod(f32[2] 5.5 -5.5; f32[1] 2) fmod=1 -> f32[2]", "1.5 -1.5");
    check_fold("Pow(f32[2] 2 ?; f32[] 0.5) -> f32[2]", "1.414214 ?");
}

TEST(operands_are_broadcast)
{
    check_fold("Add(i64[2,1] 10 20; i64[3] 1 2 3) -> i64[2,3]", "11 12 13 21 22 23");
    check_fold("Mul(i64[] 3; i64[2] 5 ?) -> i64[2]", "15 ?");
    check_fold("Add(i64[1] 3; i64[0]) -> i64[0]", "empty");
    check_fold("Add@6(i64[2,3] 0 0 0 0 0 0; i64[2] 1 2) broadcast=1 axis=0 -> i64[2,3]",
               "1 1 1 2 2 2");
    check_fold("Add(i64[1] 3; i64[2]) -> i64[2]", "-");
    check_fold("Add(i64[1] 3; i64[?]) -> i64[?]", "-");
    check_fold("Add(i64[4097]; i64[] 1) -> i64[4097]", "-");
}

TEST(operators_of_many_operands)
{
    check_fold("Sum(i64[2] 1 2; i64[1] 10; i64[] 100) -> i64[2]", "111 112");
    check_fold("Max(i64[3] 1 5 ?; i64[3] 4 2 9) -> i64[3]", "4 5 ?");
    check_fold("Min(f32[2] 1 5; f32[2] 4 2; f32[] 3) -> f32[2]", "1 2");
    check_fold("Mean(f32[2] 1 2; f32[2] 3 ?) -> f32[2]", "2 ?");
    check_fold("Max(f32[2] ? 1) -> f32[2]", "? 1");
}

TEST(comparisons_and_logic)
{
    check_fold("Equal(i64[3] 1 2 ?; i64[3] 1 3 3) -> bool[3]", "1 0 ?");
    check_fold("Less(f32[3] 1 2 3; f32[] 2) -> bool[3]", "1 0 0");
    check_fold("LessOrEqual(f32[3] 1 2 3; f32[] 2) -> bool[3]", "1 1 0");
    check_fold("Greater(i64[3] 1 2 3; i64[] 2) -> bool[3]", "0 0 1");
    check_fold("GreaterOrEqual(i64[3] 1 2 3; i64[] 2) -> bool[3]", "0 1 1");
    /* equal as doubles, but not as integers: 2^53 and 2^53 + 1 */
    check_fold("Equal(i64[1] 9007199254740992; i64[1] 9007199254740993) -> bool[1]", "0");
    check_fold("And(bool[4] 0 1 ? ?; bool[4] ? ? 0 1) -> bool[4]", "0 ? 0 ?");
    check_fold("Or(bool[4] 0 1 ? ?; bool[4] ? ? 0 1) -> bool[4]", "? 1 ? 1");
    check_fold("Xor(bool[4] 0 1 1 ?; bool[4] 1 1 0 1) -> bool[4]", "1 0 1 ?");
    check_fold("And(bool[2] 0 1; bool[2]) -> bool[2]", "0 ?"); /* the other operand is unknown */
    check_fold("Equal(string[1]; string[1]) -> bool[1]", "-");
}

TEST(where_picks_by_element)
{
    check_fold("Where(bool[3] 1 0 ?; i64[3] 1 2 3; i64[3] 7 8 9) -> i64[3]", "1 8 ?");
    check_fold("Where(bool[2] 1 0; i64[2] 5 6; i64[2]) -> i64[2]", "5 ?");
    check_fold("Where(bool[2,1] 1 0; f32[2] 1 2; f32[] 9) -> f32[2,2]", "1 2 9 9");
}

/* --- along axes ------------------------------------------------------------------------------ */

TEST(reductions)
{
    check_fold("ReduceSum(i64[2,3] 1 2 3 4 5 6; i64[1] 1) -> i64[2,1]", "6 15");
    check_fold("ReduceSum(i64[2,3] 1 2 3 4 ? 6; i64[1] 0) keepdims=0 -> i64[3]", "5 ? 9");
    check_fold("ReduceProd@13(i64[4] 2 3 4 5) keepdims=0 -> i64[]", "120");
    check_fold("ReduceProd@13(i64[2,2] 2 3 4 5) axes=[-1] -> i64[2,1]", "6 20");
    check_fold("ReduceMax(i64[2,2] 1 9 3 4; i64[2] 0 1) -> i64[1,1]", "9");
    check_fold("ReduceMin(f32[2,2] 1 9 3 4; i64[1] 1) -> f32[2,1]", "1 3");
    check_fold("ReduceMean(i64[3] -1 -2 -5; i64[1] 0) -> i64[1]", "-2"); /* -8 / 3 toward zero */
    check_fold("ReduceMean(f32[4] 1 2 3 4) -> f32[1]", "2.5");
    check_fold("ReduceSum(i64[2] 1 2) noop_with_empty_axes=1 -> i64[2]", "1 2");
    check_fold("ReduceSum(i64[2] 1 2; i64[0]) noop_with_empty_axes=1 -> i64[2]", "1 2");
    check_fold("ReduceSum(i64[2] 1 2; i64[0]) -> i64[1]", "3");
    check_fold("ReduceSum(i64[2] 1 2; i64[1]) -> i64[1]", "-"); /* axes not known */
    check_fold("ReduceSum(i64[0]; i64[1] 0) -> i64[1]", "0");
    check_fold("ReduceProd(f32[0]; i64[1] 0) -> f32[1]", "1");
    check_fold("ReduceMax(f32[0]; i64[1] 0) -> f32[1]", "-");
    check_fold("ReduceMean(i64[0]; i64[1] 0) -> i64[1]", "-");
    check_fold("ReduceSum(f16[3] 2048 1 1; i64[1] 0) -> f16[1]", "2050"); /* one rounding */
}

TEST(running_sums)
{
    check_fold("CumSum(i64[4] 1 2 3 4; i64[] 0) -> i64[4]", "1 3 6 10");
    check_fold("CumSum(i64[4] 1 2 3 4; i64[] 0) exclusive=1 -> i64[4]", "0 1 3 6");
    check_fold("CumSum(i64[4] 1 2 3 4; i64[] 0) reverse=1 -> i64[4]", "10 9 7 4");
    check_fold("CumSum(i64[4] 1 2 3 4; i64[] 0) reverse=1 exclusive=1 -> i64[4]", "9 7 4 0");
    check_fold("CumSum(i64[4] 1 ? 3 4; i64[] 0) -> i64[4]", "1 ? ? ?");
    check_fold("CumSum(i64[2,2] 1 2 3 4; i64[] -2) -> i64[2,2]", "1 2 4 6");
    check_fold("CumSum(f32[2] 1 2; i64[]) -> f32[2]", "-");
}

TEST(ranges)
{
    check_fold("Range(i64[] 2; i64[] 10; i64[] 3) -> i64[3]", "2 5 8");
    check_fold("Range(i64[] 3; i64[] 0; i64[] -1) -> i64[3]", "3 2 1");
    check_fold("Range(f32[] 0; f32[] 1; f32[] 0.25) -> f32[4]", "0 0.25 0.5 0.75");
    check_fold("Range(i64[] 3; i64[] 3; i64[] 1) -> i64[0]", "empty");
    check_fold("Range(i64[] ?; i64[] 3; i64[] 1) -> i64[3]", "-");
    check_fold("Range(i64[] 0; i64[] ?; i64[] 1) -> i64[?]", "-");
}

/* --- shapes, attributes, copies -------------------------------------------------------------- */

TEST(shapes_and_sizes_of_activations)
{
    check_fold("Shape(f32[2,?,7]) -> i64[3]", "2 ? 7");
    check_fold("Shape(f32[2,3,7]) start=1 -> i64[2]", "3 7");
    check_fold("Shape(f32[2,3,7]) start=-9 end=-1 -> i64[2]", "2 3");
    check_fold("Shape(f32[2,3,7]) start=2 end=1 -> i64[0]", "empty");
    check_fold("Shape(f32[]) -> i64[0]", "empty");
    check_fold("Shape(f32[?,?]) -> i64[2]", "-");
    check_fold("Size(f32[2,3,7]) -> i64[]", "42");
    check_fold("Size(f32[2,?]) -> i64[]", "-");
}

TEST(constants_from_attributes)
{
    check_fold("Constant() value={i64[2] 4 5} -> i64[2]", "4 5");
    check_fold("Constant() value={f32[300]} -> f32[300]", "-"); /* elements not read */
    check_fold("Constant() value_int=7 -> i64[]", "7");
    check_fold("Constant() value_ints=[1,-1,3] -> i64[3]", "1 -1 3");
    check_fold("Constant() value_float=0.5 -> f32[]", "0.5");
    check_fold("Constant() value_floats=[0.5,2.0] -> f32[2]", "0.5 2");
    check_fold("Constant() value_string=a -> string[]", "-");
    check_fold("Constant() value_ints=[1,2] -> i64[3]", "-"); /* does not fit the shape */
    check_fold("ConstantOfShape(i64[1] 3) value={i64[1] 7} -> i64[3]", "7 7 7");
    check_fold("ConstantOfShape(i64[1] 2) -> f32[2]", "0 0");
    check_fold("ConstantOfShape(i64[1] 2) value={i64[1]} -> i64[2]", "-");
    check_fold("ConstantOfShape(i64[1] ?) value={i64[1] 7} -> i64[?]", "-");
    check_fold("ConstantOfShape(i64[1] 5000) -> f32[5000]", "-"); /* too many */
}

TEST(copies)
{
    check_fold("Identity(i64[2] 1 ?) -> i64[2]", "1 ?");
    check_fold("Reshape(i64[4] 1 2 3 4; i64[2] 2 2) -> i64[2,2]", "1 2 3 4");
    check_fold("Reshape(i64[4] 1 2 3 4; i64[2]) -> i64[?,?]", "-");
    check_fold("Squeeze(i64[1,1] 5) -> i64[]", "5");
    check_fold("Unsqueeze(f32[] 5; i64[1] 0) -> f32[1]", "5");
    check_fold("Flatten(f32[1,2] 5 6) -> f32[1,2]", "5 6");
    check_fold("Dropout(f32[2] 5 6) -> f32[2]; bool[2]", "5 6; -");
    check_fold("Dropout(f32[1] 5; f32[] 0.5; bool[] 0) -> f32[1]", "5");
    check_fold("Dropout(f32[1] 5; f32[] 0.5; bool[] 1) -> f32[1]", "-"); /* random */
    check_fold("Expand(i64[2,1] 1 ?; i64[2] 2 3) -> i64[2,3]", "1 1 1 ? ? ?");
    check_fold("Expand(f32[] 4; i64[1] 2) -> f32[2]", "4 4");
}

/* --- moves ----------------------------------------------------------------------------------- */

TEST(concat_joins_known_and_unknown_parts)
{
    check_fold("Concat(i64[1] 1; i64[2]; i64[1] 4) axis=0 -> i64[4]", "1 ? ? 4");
    check_fold("Concat(i64[2,1] 1 2; i64[2,2] 3 4 5 6) axis=-1 -> i64[2,3]", "1 3 4 2 5 6");
    check_fold("Concat(i64[0]; i64[2] 3 4) axis=0 -> i64[2]", "3 4");
    check_fold("Concat(i64[?]; i64[2] 3 4) axis=0 -> i64[?]", "-");
    check_fold("Concat(i64[3] 1 2 3; i64[2] 3 4) axis=0 -> i64[4]", "-"); /* does not fit */
}

TEST(slices)
{
    check_fold("Slice@9(i64[5] 0 1 2 3 4) starts=[1] ends=[4] axes=[0] -> i64[3]", "1 2 3");
    check_fold("Slice(i64[5] 0 1 2 3 4; i64[1] -2; i64[1] 99) -> i64[2]", "3 4");
    check_fold("Slice(i64[5] 0 1 2 3 4; i64[1] -1; i64[1] -99; i64[1] 0; i64[1] -2) -> i64[3]",
               "4 2 0");
    /* the lowest integer as end is the mark of an unknown one; the shape tells the count */
    check_fold("Slice(i64[3] 0 1 2; i64[1] 99; i64[1] ?; i64[1] 0; i64[1] -1) -> i64[3]", "2 1 0");
    check_fold("Slice(i64[2,3] 1 2 3 4 5 6; i64[1] 1; i64[1] 3; i64[1] -1) -> i64[2,2]", "2 3 5 6");
    check_fold("Slice(i64[2] 1 2; i64[1] 2; i64[1] 9) -> i64[0]", "empty");
    check_fold("Slice(i64[2] 1 2; i64[1] ?; i64[1] 9) -> i64[1]", "-");
    check_fold("Slice(i64[2] 1 2; i64[1] 0; i64[1] 2; i64[1] 0; i64[1] 0) -> i64[2]", "-");
    check_fold("Slice(i64[2] 1 2; i64[1] 1; i64[1] 9; i64[1] 0; i64[1] 9223372036854775807) -> "
               "i64[1]",
               "2");
    check_fold("Slice(i64[2] 1 2; i64[1] 1; i64[1] 9) -> i64[2]", "-"); /* beyond the end */
}

TEST(gathers)
{
    check_fold("Gather(i64[3] 7 ? 9; i64[] -1) -> i64[]", "9");
    check_fold("Gather(i64[3] 7 ? 9; i64[3] 0 1 ?) -> i64[3]", "7 ? ?");
    check_fold("Gather(i64[2,3] 1 2 3 4 5 6; i64[2] 2 0) axis=1 -> i64[2,2]", "3 1 6 4");
    check_fold("Gather(i64[3] 7 8 9; i64[1] 3) -> i64[1]", "-");
    check_fold("Gather(i64[3] 7 8 9; i64[1] -4) -> i64[1]", "-");
    check_fold("Gather(i64[3] 7 8 9; i64[0]) -> i64[0]", "empty");
    check_fold("Gather(i64[0]; i64[1] 0) -> i64[1]", "-");
    check_fold("GatherElements(i64[2,2] 1 2 3 4; i64[2,2] 0 0 1 0) axis=1 -> i64[2,2]", "1 1 4 3");
    check_fold("GatherElements(i64[3] 1 2 3; i64[2] -1 ?) -> i64[2]", "3 ?");
    check_fold("GatherElements(i64[3] 1 2 3; i64[2] 0 3) -> i64[2]", "-");
}

TEST(splits)
{
    check_fold("Split(i64[4] 1 2 3 4; i64[2] 1 3) -> i64[1]; i64[3]", "1; 2 3 4");
    check_fold("Split@11(i64[2,2] 1 2 3 4) axis=1 -> i64[2,1]; i64[2,1]", "1 3; 2 4");
    check_fold("Split(i64[3] 1 2 3; i64[2]) -> i64[?]; i64[?]", "-; -");
    check_fold("Split(i64[3] 1 ? 3; i64[3] 1 1 1) -> i64[1]; i64[1]; i64[1]", "1; -; 3");
}

TEST(tiles_transposes_triangles)
{
    check_fold("Tile(i64[2] 1 ?; i64[1] 2) -> i64[4]", "1 ? 1 ?");
    check_fold("Tile(i64[1,2] 1 2; i64[2] 2 1) -> i64[2,2]", "1 2 1 2");
    check_fold("Tile(i64[2] 1 2; i64[1] 0) -> i64[0]", "empty");
    check_fold("Transpose(i64[2,3] 1 2 3 4 5 6) -> i64[3,2]", "1 4 2 5 3 6");
    check_fold("Transpose(i64[1,2,2] 1 2 3 4) perm=[2,0,1] -> i64[2,1,2]", "1 3 2 4");
    check_fold("Transpose(i64[2] 1 2) perm=[5] -> i64[2]", "-");
    check_fold("Transpose(i64[2,1] 1 2) perm=[0,0] -> i64[2,2]", "-");
    check_fold("Trilu(i64[2,3] 1 2 3 4 5 6) -> i64[2,3]", "1 2 3 0 5 6");
    check_fold("Trilu(f32[2,3] 1 2 3 4 5 6; i64[] 1) -> f32[2,3]", "0 2 3 0 0 6");
    check_fold("Trilu(i64[2,3] 1 2 3 4 5 ?; i64[] 0) upper=0 -> i64[2,3]", "1 0 0 4 5 0");
    check_fold("Trilu(i64[2,2] 1 2 3 4; i64[] 9223372036854775807) -> i64[2,2]", "0 0 0 0");
    check_fold("Trilu(i64[2,2] 1 2 3 4; i64[] ?) -> i64[2,2]", "-");
}

TEST(nonzero_counts_and_sets_its_shape)
{
    check_fold("NonZero(i64[2,3] 0 5 0 7 0 9) -> i64[2,?]", "0 1 1 1 0 2"); /* (0,1) (1,0) (1,2) */
    check_fold("NonZero(f32[4] 0 -0.0 0.5 1) -> i64[1,?]", "2 3");
    check_fold("NonZero(i64[2] 0 0) -> i64[1,?]", "empty");
    check_fold("NonZero(i64[0]) -> i64[1,?]", "empty");
    check_fold("NonZero(i64[2] 1 ?) -> i64[1,?]", "-");
    check_fold("NonZero(f32[3]) -> i64[1,?]", "-");
}

TEST(scatters)
{
    check_fold("ScatterElements(i64[3] 1 2 3; i64[2] 2 0; i64[2] 8 9) -> i64[3]", "9 2 8");
    check_fold("ScatterElements(i64[2,2] 1 2 3 4; i64[1,2] 1 -2; i64[1,2] 8 ?) -> i64[2,2]",
               "1 ? 8 4");
    check_fold("Scatter@9(i64[1,3] 1 2 3; i64[1,1] 1; i64[1,1] 8) axis=1 -> i64[1,3]", "1 8 3");
    check_fold("ScatterElements(i64[2] 1 2; i64[1] ?; i64[1] 8) -> i64[2]", "-");
    check_fold("ScatterElements(i64[2] 1 2; i64[1] 2; i64[1] 8) -> i64[2]", "-");
    check_fold("ScatterElements(i64[2] 1 2; i64[1] 0; i64[1] 8) reduction=add -> i64[2]", "-");
    check_fold("ScatterND(i64[4] 1 2 3 4; i64[2,1] 3 -3; i64[2] 8 9) -> i64[4]", "1 9 3 8");
    check_fold("ScatterND(i64[2,2] 1 2 3 4; i64[1,1] 1; i64[1,2] 8 9) -> i64[2,2]", "1 2 8 9");
    check_fold("ScatterND(i64[2,2] 1 2 3 4; i64[1,2] 0 1; i64[1]) -> i64[2,2]", "1 ? 3 4");
    check_fold("ScatterND(i64[2] 1 2; i64[1,1] 2; i64[1] 8) -> i64[2]", "-");
    check_fold("ScatterND(i64[2] 1 2; i64[0,1]; i64[0]) -> i64[2]", "1 2");
}

TEST(topk_sorts_lines_that_are_known)
{
    check_fold("TopK(i64[4] 3 9 3 5; i64[1] 3) -> i64[3]; i64[3]", "9 5 3; 1 3 0");
    check_fold("TopK(f32[4] 3 9 3 5; i64[1] 2) largest=0 -> f32[2]; i64[2]", "3 3; 0 2");
    check_fold("TopK(i64[2,2] 1 2 ? 3; i64[1] 1) -> i64[2,1]; i64[2,1]", "2 ?; 1 ?");
    check_fold("TopK(i64[2,2] 1 4 2 3; i64[1] 1) axis=0 -> i64[1,2]; i64[1,2]", "2 4; 1 0");
    check_fold("TopK(i64[2] 1 2; i64[1] 1) sorted=0 -> i64[1]; i64[1]", "-; -");
    check_fold("TopK(i64[2] 1 2; i64[1] 3) -> i64[3]; i64[3]", "-; -");
    check_fold("TopK(i64[2] 1 2; i64[1] 0) -> i64[0]; i64[0]", "empty; empty");
}

/* --- properties ------------------------------------------------------------------------------ */

static weft_shape random_shape(weft_rng *r, int rank, int most)
{
    weft_shape s = {.rank = rank};

    for (int d = 0; d < rank; d++)
        s.dim[d] = 1 + weft_rng_below(r, most);
    return s;
}

/* Integers 0, 1, 2, ..; one in ten is unknown. */
static weft_value numbered(weft_arena *a, weft_rng *r, weft_shape shape)
{
    int n = (int)weft_shape_elements(&shape);
    weft_literal *literal = WEFT_NEW(a, weft_literal, 1);
    int64_t *ints = WEFT_NEW(a, int64_t, n);

    for (int i = 0; i < n; i++)
        ints[i] = weft_rng_below(r, 10) ? i + weft_rng_below(r, 5) : WEFT_UNKNOWN_INT;
    *literal = (weft_literal){n, ints, NULL};
    return (weft_value){.type = WEFT_I64, .shape = shape, .is_const = true, .data = literal};
}

/* A list of integers as operand. */
static weft_value list(weft_arena *a, int n, const int64_t *item)
{
    weft_literal *literal = WEFT_NEW(a, weft_literal, 1);

    *literal = (weft_literal){n, weft_arena_copy(a, item, (size_t)n * sizeof *item), NULL};
    return (weft_value){
        .type = WEFT_I64, .shape = {.rank = 1, .dim = {n}},
             .is_const = true, .data = literal
    };
}

/* A bench for an operator with the attributes in `head`: "Gather axis=1". */
static bench *prepare(weft_arena *a, const char *head)
{
    bench *b = WEFT_NEW(a, bench, 1);

    b->arena = a;
    b->at = head;
    read_head(b);
    read_attrs(b);
    return b;
}

static void add_arg(bench *b, weft_value v)
{
    b->value[b->n_args] = v;
    b->arg[b->n_args] = &b->value[b->n_args];
    b->n_args++;
}

/* Elements of the only result; all of them unknown if nothing was said. */
static const int64_t *fold_ints(bench *b, weft_dtype type, const weft_shape *shape)
{
    int64_t n = weft_shape_elements(shape);
    int64_t *out = WEFT_NEW(b->arena, int64_t, n);

    b->n_results = 1;
    b->result[0] = (weft_value){.type = type, .shape = *shape, .is_const = true, .data = NULL};
    call_fold(b);
    if (b->result[0].data == NULL) {
        for (int64_t i = 0; i < n; i++)
            out[i] = WEFT_UNKNOWN_INT;
        return out;
    }
    CHECK_INT(b->result[0].data->n, n);
    return b->result[0].data->ints;
}

/* Indices of element `at`, by repeated subtraction of whole rows. */
static void unravel(const weft_shape *s, int64_t at, int64_t index[WEFT_MAX_RANK])
{
    for (int d = 0; d < s->rank; d++) {
        int64_t size = 1;

        for (int k = d + 1; k < s->rank; k++)
            size *= s->dim[k];
        for (index[d] = 0; at >= size; index[d]++)
            at -= size;
    }
}

static int64_t ravel(const weft_shape *s, const int64_t index[WEFT_MAX_RANK])
{
    int64_t at = 0;

    for (int d = 0; d < s->rank; d++)
        at = at * s->dim[d] + index[d];
    return at;
}

TEST(transposes_put_each_element_in_its_place)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        weft_arena *a = weft_arena_new();
        weft_rng r = weft_rng_seed(seed);
        int rank = 1 + weft_rng_below(&r, 5);
        weft_value x = numbered(a, &r, random_shape(&r, rank, 4));
        weft_shape to = {.rank = rank};
        int64_t perm[8], from[8], index[8];
        const char *head = "Transpose perm=[";
        const int64_t *y;
        bench *b;

        for (int d = 0; d < rank; d++) {
            int k = weft_rng_below(&r, d + 1);

            perm[d] = perm[k];
            perm[k] = d;
        }
        for (int d = 0; d < rank; d++) {
            head =
                weft_arena_print(a, "%s%lld%s", head, (long long)perm[d], d + 1 < rank ? "," : "]");
            to.dim[d] = x.shape.dim[perm[d]];
        }
        b = prepare(a, head);
        add_arg(b, x);
        y = fold_ints(b, WEFT_I64, &to);
        for (int64_t i = 0; i < weft_shape_elements(&to); i++) {
            unravel(&to, i, index);
            for (int d = 0; d < rank; d++)
                from[perm[d]] = index[d];
            CHECK_INT(y[i], x.data->ints[ravel(&x.shape, from)]);
        }
        weft_arena_free(a);
    }
}

/* The indices that Python's slice start:end:step takes, by walking. Returns their number. */
static int walk(int64_t dim, int64_t start, int64_t end, int64_t step, int64_t *taken)
{
    int n = 0;

    for (int64_t at = start < 0 ? start + dim : start, stop = end < 0 ? end + dim : end;
         step > 0 ? at < stop : at > stop; at += step)
        if (at >= 0 && at < dim)
            taken[n++] = at;
    return n;
}

TEST(slices_take_the_elements_that_walking_takes)
{
    for (uint64_t seed = 1; seed <= 400; seed++) {
        weft_arena *a = weft_arena_new();
        weft_rng r = weft_rng_seed(seed);
        int rank = 1 + weft_rng_below(&r, 3), axis = weft_rng_below(&r, rank);
        weft_value x = numbered(a, &r, random_shape(&r, rank, 6));
        weft_shape to = x.shape;
        int64_t dim = to.dim[axis], step = weft_rng_below(&r, 3) + 1, taken[8], index[8];
        int64_t start = weft_rng_below(&r, (int)dim), end = weft_rng_below(&r, (int)dim + 1);
        int64_t where = weft_rng_below(&r, 2) ? axis : axis - rank;
        const int64_t *y;
        bench *b = prepare(a, "Slice");

        if (weft_rng_below(&r, 2)) {
            step = -step;
            end = weft_rng_below(&r, 3) ? end : -dim - 1; /* to the very front */
        }
        start = weft_rng_below(&r, 2) ? start : start - dim;
        to.dim[axis] = walk(dim, start, end, step, taken);
        add_arg(b, x);
        add_arg(b, list(a, 1, &start));
        add_arg(b, list(a, 1, &end));
        add_arg(b, list(a, 1, &where));
        add_arg(b, list(a, 1, &step));
        y = fold_ints(b, WEFT_I64, &to);
        for (int64_t i = 0; i < weft_shape_elements(&to); i++) {
            unravel(&to, i, index);
            index[axis] = taken[index[axis]];
            CHECK_INT(y[i], x.data->ints[ravel(&x.shape, index)]);
        }
        weft_arena_free(a);
    }
}

TEST(gathers_read_the_rows_they_name)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        weft_arena *a = weft_arena_new();
        weft_rng r = weft_rng_seed(seed);
        int rank = 1 + weft_rng_below(&r, 3), axis = weft_rng_below(&r, rank);
        weft_value x = numbered(a, &r, random_shape(&r, rank, 4));
        weft_value at = numbered(a, &r, random_shape(&r, weft_rng_below(&r, 3), 3));
        int n = at.data->n, q = at.shape.rank;
        int64_t dim = x.shape.dim[axis], *item = WEFT_NEW(a, int64_t, n), index[8], from[8];
        weft_shape to = {.rank = rank + q - 1};
        const int64_t *y;
        bench *b = prepare(a, weft_arena_print(a, "Gather axis=%d", axis));

        for (int i = 0; i < n; i++)
            item[i] = weft_rng_below(&r, 2 * (int)dim) - dim;
        at.data = list(a, n, item).data;
        for (int d = 0; d < to.rank; d++)
            to.dim[d] = d < axis       ? x.shape.dim[d]
                        : d < axis + q ? at.shape.dim[d - axis]
                                       : x.shape.dim[d - q + 1];
        add_arg(b, x);
        add_arg(b, at);
        y = fold_ints(b, WEFT_I64, &to);
        for (int64_t i = 0; i < weft_shape_elements(&to); i++) {
            int64_t row;

            unravel(&to, i, index);
            row = item[ravel(&at.shape, index + axis)];
            for (int d = 0; d < rank; d++)
                from[d] = d < axis ? index[d] : d > axis ? index[d + q - 1] : (row + dim) % dim;
            CHECK_INT(y[i], x.data->ints[ravel(&x.shape, from)]);
        }
        weft_arena_free(a);
    }
}

TEST(concat_undoes_split)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        weft_arena *a = weft_arena_new();
        weft_rng r = weft_rng_seed(seed);
        int rank = 1 + weft_rng_below(&r, 4), axis = weft_rng_below(&r, rank);
        weft_value x = numbered(a, &r, random_shape(&r, rank, 5));
        int64_t left = x.shape.dim[axis], index[8], begin = 0;
        bench *split = prepare(a, weft_arena_print(a, "Split axis=%d", axis));
        bench *concat = prepare(a, weft_arena_print(a, "Concat axis=%d", axis - rank));
        const int64_t *y;

        add_arg(split, x);
        for (int i = 0; i < 3; i++) { /* the last one takes the rest; parts may be empty */
            weft_value *part = &split->result[split->n_results++];

            *part = x;
            part->data = NULL;
            part->shape.dim[axis] = i == 2 ? left : weft_rng_below(&r, (int)left + 1);
            left -= part->shape.dim[axis];
        }
        call_fold(split);
        for (int p = 0; p < 3; p++) {
            const weft_value *part = &split->result[p];

            for (int i = 0; part->data && i < part->data->n; i++) {
                unravel(&part->shape, i, index);
                index[axis] += begin;
                CHECK_INT(part->data->ints[i], x.data->ints[ravel(&x.shape, index)]);
            }
            begin += part->shape.dim[axis];
            add_arg(concat, *part);
        }
        y = fold_ints(concat, WEFT_I64, &x.shape);
        for (int i = 0; i < x.data->n; i++)
            CHECK_INT(y[i], x.data->ints[i]);
        weft_arena_free(a);
    }
}

TEST(broadcasting_repeats_dimensions_of_one)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        weft_arena *a = weft_arena_new();
        weft_rng r = weft_rng_seed(seed);
        weft_shape to = random_shape(&r, 1 + weft_rng_below(&r, 4), 4);
        weft_value x[2];
        int64_t index[8], from[8];
        const int64_t *y;
        bench *b = prepare(a, "Sub");

        for (int k = 0; k < 2; k++) {
            weft_shape s = {.rank = k == 0 ? to.rank : weft_rng_below(&r, to.rank + 1)};

            for (int d = 0; d < s.rank; d++) /* the first operand keeps what the second gives up */
                s.dim[d] = weft_rng_below(&r, 3) ? to.dim[d + to.rank - s.rank] : 1;
            x[k] = numbered(a, &r, s);
            add_arg(b, x[k]);
        }
        y = fold_ints(b, WEFT_I64, &to);
        for (int64_t i = 0; i < weft_shape_elements(&to); i++) {
            int64_t operand[2];

            unravel(&to, i, index);
            for (int k = 0; k < 2; k++) {
                const weft_shape *s = &x[k].shape;

                for (int d = 0; d < s->rank; d++)
                    from[d] = s->dim[d] == 1 ? 0 : index[d + to.rank - s->rank];
                operand[k] = x[k].data->ints[ravel(s, from)];
            }
            CHECK_INT(y[i], operand[0] == WEFT_UNKNOWN_INT || operand[1] == WEFT_UNKNOWN_INT
                                ? WEFT_UNKNOWN_INT
                                : operand[0] - operand[1]);
        }
        weft_arena_free(a);
    }
}

/* Scattering what was gathered from the same places changes nothing. */
TEST(scatter_undoes_gather_elements)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        weft_arena *a = weft_arena_new();
        weft_rng r = weft_rng_seed(seed);
        int rank = 1 + weft_rng_below(&r, 3), axis = weft_rng_below(&r, rank);
        weft_value x = numbered(a, &r, random_shape(&r, rank, 4));
        weft_value at = numbered(a, &r, random_shape(&r, rank, 4)), updates;
        bench *gather = prepare(a, weft_arena_print(a, "GatherElements axis=%d", axis));
        bench *scatter = prepare(a, weft_arena_print(a, "ScatterElements axis=%d", axis));
        int64_t *item;
        const int64_t *y;

        for (int d = 0; d < rank; d++)
            if (d != axis && at.shape.dim[d] > x.shape.dim[d])
                at.shape.dim[d] = x.shape.dim[d];
        at = numbered(a, &r, at.shape);
        item = WEFT_NEW(a, int64_t, at.data->n);
        for (int i = 0; i < at.data->n; i++)
            item[i] = weft_rng_below(&r, (int)x.shape.dim[axis]);
        at.data = list(a, at.data->n, item).data;
        add_arg(gather, x);
        add_arg(gather, at);
        updates = at;
        updates.data = list(a, at.data->n, fold_ints(gather, WEFT_I64, &at.shape)).data;
        add_arg(scatter, x);
        add_arg(scatter, at);
        add_arg(scatter, updates);
        y = fold_ints(scatter, WEFT_I64, &x.shape);
        for (int i = 0; i < x.data->n; i++)
            CHECK_INT(y[i], x.data->ints[i]);
        weft_arena_free(a);
    }
}

/* The value in another type. */
static weft_value cast(weft_arena *a, weft_value x, weft_dtype type)
{
    bench *b = prepare(a, "Cast");

    add_arg(b, x);
    b->n_results = 1;
    b->result[0] = (weft_value){.type = type, .shape = x.shape, .is_const = true, .data = NULL};
    call_fold(b);
    return b->result[0];
}

/* Exporters compute the size of a resized image as Floor(Mul(size, scale)), in f32: in doubles
 * the product with a rounded scale often falls just below a whole number. */
TEST(sizes_computed_through_floats_are_those_of_the_runtime)
{
    for (int n = 1; n <= 300; n++) {
        weft_arena *a = weft_arena_new();
        float scale = (float)(n + 1) / (float)n;
        double operand[2] = {n, (double)scale};
        bench *mul = prepare(a, "Mul"), *down = prepare(a, "Floor");

        for (int k = 0; k < 2; k++) {
            weft_literal *literal = WEFT_NEW(a, weft_literal, 1);

            *literal = (weft_literal){1, NULL, &operand[k]};
            add_arg(mul,
                    (weft_value){
                        .type = WEFT_F32, .shape = {.rank = 0}, .is_const = true, .data = literal});
        }
        mul->n_results = down->n_results = 1;
        mul->result[0].type = down->result[0].type = WEFT_F32;
        call_fold(mul);
        add_arg(down, mul->result[0]);
        call_fold(down);
        CHECK_NEAR(down->result[0].data->reals[0], (double)floorf((float)n * scale));
        weft_arena_free(a);
    }
}

/* A value that a type holds stays what it is when it is cast to that type again. */
TEST(casting_twice_is_casting_once)
{
    static const weft_dtype type[] = {WEFT_F32, WEFT_F16, WEFT_BF16, WEFT_F64, WEFT_U8,
                                      WEFT_I8,  WEFT_I16, WEFT_I32,  WEFT_U32, WEFT_BOOL};
    int n_known = 0;

    for (uint64_t seed = 1; seed <= 1000; seed++) {
        weft_arena *a = weft_arena_new();
        weft_rng r = weft_rng_seed(seed);
        weft_dtype to = type[weft_rng_below(&r, 10)];
        double real_x = ldexp(weft_rng_real(&r) - 0.5, weft_rng_below(&r, 60) - 25);
        weft_literal literal = {1, NULL, &real_x};
        weft_value x = {.type = WEFT_F64, .shape = {.rank = 0}, .is_const = true, .data = &literal};
        weft_value once = cast(a, x, to), twice = cast(a, once, to);

        CHECK((once.data == NULL) == (twice.data == NULL));
        if (once.data != NULL) {
            n_known++;
            if (weft_dtype_is_integer(to))
                CHECK_INT(twice.data->ints[0], once.data->ints[0]);
            else
                CHECK(!(twice.data->reals[0] < once.data->reals[0]) &&
                      !(twice.data->reals[0] > once.data->reals[0]));
        }
        weft_arena_free(a);
    }
    CHECK(n_known > 500);
}

/* Rounding by hand agrees with the processor's. */
TEST(casts_to_f32_round_as_the_processor_does)
{
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        weft_arena *a = weft_arena_new();
        weft_rng r = weft_rng_seed(seed);
        double real_x = ldexp(weft_rng_real(&r) - 0.5, weft_rng_below(&r, 290) - 160);
        weft_literal literal = {1, NULL, &real_x};
        weft_value x = {.type = WEFT_F64, .shape = {.rank = 0}, .is_const = true, .data = &literal};
        weft_value y = cast(a, x, WEFT_F32);

        CHECK(fabs(y.data->reals[0] - (double)(float)real_x) <= 0);
        weft_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unary_functions_of_integers),
        cmocka_unit_test(unary_functions_of_reals),
        cmocka_unit_test(trigonometric_functions),
        cmocka_unit_test(activations_with_attributes),
        cmocka_unit_test(clip_by_attributes_and_by_operands),
        cmocka_unit_test(cast_truncates_wraps_and_rounds),
        cmocka_unit_test(integer_arithmetic),
        cmocka_unit_test(real_arithmetic_is_that_of_the_type),
        cmocka_unit_test(sizes_computed_through_floats_are_those_of_the_runtime),
        cmocka_unit_test(operands_are_broadcast),
        cmocka_unit_test(operators_of_many_operands),
        cmocka_unit_test(comparisons_and_logic),
        cmocka_unit_test(where_picks_by_element),
        cmocka_unit_test(reductions),
        cmocka_unit_test(running_sums),
        cmocka_unit_test(ranges),
        cmocka_unit_test(shapes_and_sizes_of_activations),
        cmocka_unit_test(constants_from_attributes),
        cmocka_unit_test(copies),
        cmocka_unit_test(concat_joins_known_and_unknown_parts),
        cmocka_unit_test(slices),
        cmocka_unit_test(gathers),
        cmocka_unit_test(splits),
        cmocka_unit_test(tiles_transposes_triangles),
        cmocka_unit_test(nonzero_counts_and_sets_its_shape),
        cmocka_unit_test(scatters),
        cmocka_unit_test(topk_sorts_lines_that_are_known),
        cmocka_unit_test(transposes_put_each_element_in_its_place),
        cmocka_unit_test(slices_take_the_elements_that_walking_takes),
        cmocka_unit_test(gathers_read_the_rows_they_name),
        cmocka_unit_test(concat_undoes_split),
        cmocka_unit_test(broadcasting_repeats_dimensions_of_one),
        cmocka_unit_test(scatter_undoes_gather_elements),
        cmocka_unit_test(casting_twice_is_casting_once),
        cmocka_unit_test(casts_to_f32_round_as_the_processor_does),
    };

    return RUN_TESTS(tests);
}
