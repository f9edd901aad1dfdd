/* SPDX-License-Identifier: MIT */
/* fold.c: constants that are computed, element by element or along axes.
 *
 * Networks compute sizes with their own operators (Shape, Gather, Mul, Cast, Floor, Concat), so
 * that shapes are known only if these are evaluated.
 *
 * 1. Operands are read through strides that broadcast them to the result's shape.
 * 2. Each element is computed in 64-bit integers, or in doubles, and then made to fit the type of
 *    the result: integers of at most 32 bits wrap, others become unknown when they overflow;
 *    reals are rounded to the type (to nearest, ties to even). For + - * / and square roots,
 *    rounding the double gives the same as computing in the narrower type: a double has more than
 *    twice its digits.
 * 3. An element that needs an unknown one is unknown; NaN, division of integers by zero and casts
 *    out of range count as unknown too.
 *
 * Exact, but for transcendental functions (within one unit in the last place of f32). Time
 * O(elements * rank). Operators and their formulas: ONNX operator specification. */
#include "fold.h"

#include <math.h>
#include <string.h>

/* --- numbers --------------------------------------------------------------------------------- */

/* One element: `i` of integer types (then `f` is the same as a double), `f` of the others. */
typedef struct number {
    int64_t i;
    double f;
} number;

static const number unknown = {WEFT_UNKNOWN_INT, NAN};

static number number_at(const weft_cells *s, int64_t at)
{
    number x = unknown;

    if (s->reals) {
        x.f = s->reals[at];
    } else if (s->ints && s->ints[at] != WEFT_UNKNOWN_INT) {
        if (s->type == WEFT_U64 && s->ints[at] < 0) /* from 2^63 on */
            return unknown;
        x.i = s->type == WEFT_BOOL ? s->ints[at] != 0 : s->ints[at];
        x.f = (double)x.i;
    }
    return x;
}

/* The only element of an operand. */
static number scalar_of(const weft_value *v)
{
    weft_cells s;

    return weft_cells_of(v, &s) && s.n == 1 ? number_at(&s, 0) : unknown;
}

static void put(weft_draft *d, int64_t at, number x)
{
    if (d->ints)
        d->ints[at] = x.i;
    else
        d->reals[at] = x.f;
}

static bool is_known(const weft_draft *d, number x)
{
    return d->ints ? x.i != WEFT_UNKNOWN_INT : !isnan(x.f);
}

/* The integer as its type holds it. `overflowed`: the value is right modulo 2^64 only. */
static int64_t fit_int(weft_dtype type, int64_t value, bool overflowed)
{
    int bits = weft_dtype_bits(type);
    bool is_signed = type == WEFT_I4 || type == WEFT_I8 || type == WEFT_I16 || type == WEFT_I32;
    int64_t range, low;

    if (type == WEFT_BOOL)
        return value != 0;
    if (bits > 32)
        return overflowed || (type == WEFT_U64 && value < 0) ? WEFT_UNKNOWN_INT : value;
    range = (int64_t)1 << bits;
    low = value & (range - 1);
    return is_signed && low >= range / 2 ? low - range : low;
}

/* Rounds to a binary format: digits of the fraction, exponent of the smallest step, exponent of
 * the first power of two beyond the largest number. */
static double round_to(double x, int digits, int lowest, int highest)
{
    int exponent, step;

    if (x == 0 || !isfinite(x))
        return x;
    frexp(x, &exponent); /* 2^(exponent - 1) <= |x| < 2^exponent */
    step = exponent - digits < lowest ? lowest : exponent - digits;
    if (exponent > highest)
        return copysign(INFINITY, x);
    x = ldexp(nearbyint(ldexp(x, -step)), step);
    return fabs(x) >= ldexp(1, highest) ? copysign(INFINITY, x) : x;
}

/* The real as its type holds it; NaN for types whose arithmetic is not evaluated. */
static double fit_real(weft_dtype type, double x)
{
    static const struct {
        weft_dtype type;
        int digits, lowest, highest;
    } format[] = {
        {WEFT_F32,  24, -149, 128},
        {WEFT_F16,  11, -24,  16 },
        {WEFT_BF16, 8,  -133, 128},
    };

    if (type == WEFT_F64)
        return x;
    for (size_t k = 0; k < sizeof format / sizeof *format; k++)
        if (format[k].type == type)
            return round_to(x, format[k].digits, format[k].lowest, format[k].highest);
    return NAN;
}

/* --- operands broadcast to the result -------------------------------------------------------- */

typedef struct lane {
    weft_cells cells;
    int64_t stride[WEFT_MAX_RANK];
} lane;

static bool lane_of(const weft_value *v, const weft_draft *d, lane *out)
{
    return weft_cells_of(v, &out->cells) &&
           weft_broadcast_strides(d->shape, out->cells.shape,
                                  d->shape->rank - out->cells.shape->rank, out->stride);
}

/* The second operand of a binary operator: before opset 7 its first dimension lies at `axis`. */
static bool second_lane_of(const weft_call *c, const weft_draft *d, lane *out)
{
    int64_t axis = weft_node_int(c->node, "axis", -1);
    int rank = d->shape->rank;

    if (c->node->opset >= 7 || axis < 0 || axis > rank)
        return lane_of(weft_arg(c, 1), d, out);
    return weft_cells_of(weft_arg(c, 1), &out->cells) &&
           weft_broadcast_strides(d->shape, out->cells.shape, (int)axis, out->stride);
}

static number lane_at(const lane *l, const weft_draft *d, int i)
{
    return number_at(&l->cells, weft_offset(d->shape, l->stride, i));
}

/* --- one operand ----------------------------------------------------------------------------- */

/* Formulas of one integer, of one real, of one real and two attributes. */
#define INT(name, formula)                                                                         \
    static int64_t name(int64_t x)                                                                 \
    {                                                                                              \
        return formula;                                                                            \
    }
#define REAL(name, formula)                                                                        \
    static double name(double x)                                                                   \
    {                                                                                              \
        return formula;                                                                            \
    }
#define SHAPED(name, formula)                                                                      \
    static double name(double x, double a, double b)                                               \
    {                                                                                              \
        (void)a;                                                                                   \
        (void)b;                                                                                   \
        return formula;                                                                            \
    }

/* clang-format off */
INT(abs_int, x < 0 ? -x : x)
INT(neg_int, -x)
INT(not_int, x == 0)
INT(relu_int, x < 0 ? 0 : x)
INT(sign_int, (x > 0) - (x < 0))
REAL(neg_real, -x)
REAL(reciprocal, 1 / x)
REAL(relu, x < 0 ? 0 : x)
REAL(sigmoid, 1 / (1 + exp(-x)))
REAL(sign_real, (x > 0) - (x < 0))
REAL(softplus, (x > 0 ? x : 0) + log1p(exp(-fabs(x)))) /* log(1 + e^x) without overflow */
REAL(softsign, x / (1 + fabs(x)))
SHAPED(hard_sigmoid, fmax(0, fmin(1, a * x + b)))
SHAPED(hard_swish, x * hard_sigmoid(x, 1.0 / 6, 0.5))
SHAPED(leaky_relu, x < 0 ? a * x : x)
SHAPED(elu, x < 0 ? a * expm1(x) : x)
SHAPED(celu, x < 0 ? a * expm1(x / a) : x)
SHAPED(selu, b * (x > 0 ? x : a * expm1(x)))
SHAPED(shrink, x < -a ? x + b : x > a ? x - b : 0)
SHAPED(thresholded_relu, x > a ? x : 0)
/* clang-format on */

/* Functions of integers, of reals, of reals and two attributes (names and defaults). */
typedef struct unary {
    const char *name;
    int64_t (*ints)(int64_t x);
    double (*reals)(double x);
    double (*shaped)(double x, double a, double b);
    const char *a_name, *b_name;
    double a, b;
} unary;

/* clang-format off */
static const unary unaries[] = {
    {"Abs",             abs_int,  fabs,       NULL,             NULL,    NULL,    0,                  0},
    {"Acos",            NULL,     acos,       NULL,             NULL,    NULL,    0,                  0},
    {"Acosh",           NULL,     acosh,      NULL,             NULL,    NULL,    0,                  0},
    {"Asin",            NULL,     asin,       NULL,             NULL,    NULL,    0,                  0},
    {"Asinh",           NULL,     asinh,      NULL,             NULL,    NULL,    0,                  0},
    {"Atan",            NULL,     atan,       NULL,             NULL,    NULL,    0,                  0},
    {"Atanh",           NULL,     atanh,      NULL,             NULL,    NULL,    0,                  0},
    {"Ceil",            NULL,     ceil,       NULL,             NULL,    NULL,    0,                  0},
    {"Celu",            NULL,     NULL,       celu,             "alpha", NULL,    1,                  0},
    {"Cos",             NULL,     cos,        NULL,             NULL,    NULL,    0,                  0},
    {"Cosh",            NULL,     cosh,       NULL,             NULL,    NULL,    0,                  0},
    {"Elu",             NULL,     NULL,       elu,              "alpha", NULL,    1,                  0},
    {"Erf",             NULL,     erf,        NULL,             NULL,    NULL,    0,                  0},
    {"Exp",             NULL,     exp,        NULL,             NULL,    NULL,    0,                  0},
    {"Floor",           NULL,     floor,      NULL,             NULL,    NULL,    0,                  0},
    {"HardSigmoid",     NULL,     NULL,       hard_sigmoid,     "alpha", "beta",  0.2,                0.5},
    {"HardSwish",       NULL,     NULL,       hard_swish,       NULL,    NULL,    0,                  0},
    {"LeakyRelu",       NULL,     NULL,       leaky_relu,       "alpha", NULL,    0.01,               0},
    {"Log",             NULL,     log,        NULL,             NULL,    NULL,    0,                  0},
    {"Neg",             neg_int,  neg_real,   NULL,             NULL,    NULL,    0,                  0},
    {"Not",             not_int,  NULL,       NULL,             NULL,    NULL,    0,                  0},
    {"Reciprocal",      NULL,     reciprocal, NULL,             NULL,    NULL,    0,                  0},
    {"Relu",            relu_int, relu,       NULL,             NULL,    NULL,    0,                  0},
    {"Round",           NULL,     nearbyint,  NULL,             NULL,    NULL,    0,                  0},
    {"Selu",            NULL,     NULL,       selu,             "alpha", "gamma", 1.67326319217681885, 1.05070102214813232},
    {"Shrink",          NULL,     NULL,       shrink,           "lambd", "bias",  0.5,                0},
    {"Sigmoid",         NULL,     sigmoid,    NULL,             NULL,    NULL,    0,                  0},
    {"Sign",            sign_int, sign_real,  NULL,             NULL,    NULL,    0,                  0},
    {"Sin",             NULL,     sin,        NULL,             NULL,    NULL,    0,                  0},
    {"Sinh",            NULL,     sinh,       NULL,             NULL,    NULL,    0,                  0},
    {"Softplus",        NULL,     softplus,   NULL,             NULL,    NULL,    0,                  0},
    {"Softsign",        NULL,     softsign,   NULL,             NULL,    NULL,    0,                  0},
    {"Sqrt",            NULL,     sqrt,       NULL,             NULL,    NULL,    0,                  0},
    {"Tan",             NULL,     tan,        NULL,             NULL,    NULL,    0,                  0},
    {"Tanh",            NULL,     tanh,       NULL,             NULL,    NULL,    0,                  0},
    {"ThresholdedRelu", NULL,     NULL,       thresholded_relu, "alpha", NULL,    1,                  0},
};
/* clang-format on */

static const unary *unary_find(const char *name)
{
    for (size_t k = 0; k < sizeof unaries / sizeof *unaries; k++)
        if (strcmp(unaries[k].name, name) == 0)
            return &unaries[k];
    return NULL;
}

/* The function of one known element; unknown where the operator is not defined for the type. */
static number apply(const unary *u, weft_dtype type, number x)
{
    number y = unknown;

    if (u->ints && weft_dtype_is_integer(type))
        y.i = fit_int(type, u->ints(x.i), false);
    else if (u->reals && weft_dtype_is_float(type))
        y.f = fit_real(type, u->reals(x.f));
    else if (u->shaped && weft_dtype_is_float(type))
        y.f = fit_real(type, u->shaped(x.f, u->a, u->b));
    return y;
}

void weft_fold_unary(weft_call *c)
{
    const unary *row = unary_find(c->node->op);
    weft_draft d;
    unary u;
    lane x;

    if (row == NULL || !weft_draft_begin(c, 0, &d) || !lane_of(weft_arg(c, 0), &d, &x) ||
        x.cells.type != d.result->type)
        return;
    u = *row;
    if (u.a_name)
        u.a = weft_node_real(c->node, u.a_name, u.a);
    if (u.b_name)
        u.b = weft_node_real(c->node, u.b_name, u.b);
    for (int i = 0; i < d.n; i++) {
        number y = lane_at(&x, &d, i);

        if (is_known(&d, y))
            put(&d, i, apply(&u, d.result->type, y));
    }
    weft_draft_end(&d);
}

/* A bound of Clip: an operand since opset 11, before that an attribute, `fallback` if neither. */
static number bound_of(const weft_call *c, int slot, const char *name, number fallback)
{
    if (weft_arg(c, slot))
        return scalar_of(c->arg[slot]);
    fallback.f = weft_node_real(c->node, name, fallback.f);
    return fallback;
}

void weft_fold_clip(weft_call *c)
{
    number low = bound_of(c, 1, "min", (number){-INT64_MAX, -INFINITY});
    number high = bound_of(c, 2, "max", (number){INT64_MAX, INFINITY});
    weft_draft d;
    lane x;

    if (!weft_draft_begin(c, 0, &d) || !lane_of(weft_arg(c, 0), &d, &x) || !is_known(&d, low) ||
        !is_known(&d, high))
        return;
    for (int i = 0; i < d.n; i++) {
        number y = lane_at(&x, &d, i);

        if (!is_known(&d, y))
            continue;
        /* in this order: where the bounds cross, ONNX takes the upper one */
        y.i = y.i < low.i ? low.i : y.i;
        y.i = y.i > high.i ? high.i : y.i;
        y.f = fit_real(d.result->type, fmin(fmax(y.f, low.f), high.f));
        put(&d, i, y);
    }
    weft_draft_end(&d);
}

/* The number in another type; `is_real`: it comes from a floating-point type. */
static number cast(number x, bool is_real, weft_dtype to)
{
    double whole = trunc(x.f), range = ldexp(1, weft_dtype_bits(to));
    bool is_signed =
        to == WEFT_I4 || to == WEFT_I8 || to == WEFT_I16 || to == WEFT_I32 || to == WEFT_I64;
    number y = unknown;

    if (!is_real && weft_dtype_is_integer(to)) {
        y.i = fit_int(to, x.i, false);
    } else if (weft_dtype_is_float(to)) {
        /* one rounding, as processors convert integers: not to double first */
        y.f = fit_real(to, is_real || to == WEFT_F64 ? x.f : (double)(float)x.i);
    } else if (to == WEFT_BOOL) {
        y.i = x.f != 0;
    } else if (is_signed ? whole >= -range / 2 && whole < range / 2
                         : whole >= 0 && whole < range && whole < 0x1p63) {
        y.i = (int64_t)whole;
    }
    return y;
}

void weft_fold_cast(weft_call *c)
{
    weft_draft d;
    weft_cells x;

    if (!weft_draft_begin(c, 0, &d) || !weft_cells_of(weft_arg(c, 0), &x) || x.n != d.n)
        return;
    for (int i = 0; i < d.n && weft_cells_any(&x); i++) {
        number y = number_at(&x, i);

        if (!isnan(y.f)) /* also unknown integers */
            put(&d, i, cast(y, x.reals != NULL, d.result->type));
    }
    weft_draft_end(&d);
}

/* --- two operands and more ------------------------------------------------------------------- */

/* Formulas of two integers, and of two reals. */
#define INT2(name, builtin)                                                                        \
    static int64_t name(weft_dtype type, int64_t a, int64_t b)                                     \
    {                                                                                              \
        int64_t r;                                                                                 \
        bool overflowed = builtin(a, b, &r);                                                       \
                                                                                                   \
        return fit_int(type, r, overflowed);                                                       \
    }
#define REAL2(name, formula)                                                                       \
    static double name(double a, double b)                                                         \
    {                                                                                              \
        return formula;                                                                            \
    }

/* clang-format off */
INT2(add_int, __builtin_add_overflow)
INT2(sub_int, __builtin_sub_overflow)
INT2(mul_int, __builtin_mul_overflow)
REAL2(add_real, a + b)
REAL2(sub_real, a - b)
REAL2(mul_real, a * b)
REAL2(div_real, a / b)
/* clang-format on */

/* Toward zero. The lowest integer stands for unknown, so a / -1 does not overflow. */
static int64_t div_int(weft_dtype type, int64_t a, int64_t b)
{
    return b == 0 ? WEFT_UNKNOWN_INT : fit_int(type, a / b, false);
}

/* With the sign of the dividend. */
static int64_t rem_int(weft_dtype type, int64_t a, int64_t b)
{
    return b == 0 ? WEFT_UNKNOWN_INT : fit_int(type, a % b, false);
}

/* With the sign of the divisor. */
static int64_t mod_int(weft_dtype type, int64_t a, int64_t b)
{
    int64_t r = b == 0 ? 0 : a % b;

    if (b == 0)
        return WEFT_UNKNOWN_INT;
    return fit_int(type, r != 0 && (r < 0) != (b < 0) ? r + b : r, false);
}

/* By squaring; a negative exponent gives the integer part of the fraction. */
static int64_t pow_int(weft_dtype type, int64_t a, int64_t b)
{
    bool overflowed = false;
    int64_t r = 1;

    if (b < 0 && a != 1 && a != -1)
        return a == 0 ? WEFT_UNKNOWN_INT : 0;
    for (b = b < 0 ? -b : b; b > 0; b /= 2) {
        if (b % 2)
            overflowed |= __builtin_mul_overflow(r, a, &r);
        if (b > 1)
            overflowed |= __builtin_mul_overflow(a, a, &a);
    }
    return fit_int(type, r, overflowed);
}

static int64_t max_int(weft_dtype type, int64_t a, int64_t b)
{
    (void)type;
    return a > b ? a : b;
}

static int64_t min_int(weft_dtype type, int64_t a, int64_t b)
{
    (void)type;
    return a < b ? a : b;
}

static double mod_real(double a, double b)
{
    double r = fmod(a, b);

    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* How two elements become one; `empty`: the value of no elements at all, where it is defined. */
typedef struct combiner {
    const char *name;
    int64_t (*ints)(weft_dtype type, int64_t a, int64_t b);
    double (*reals)(double a, double b);
    bool is_mean; /* divided by the number of elements */
    number empty;
} combiner;

#define NOTHING                                                                                    \
    {                                                                                              \
        WEFT_UNKNOWN_INT, NAN                                                                      \
    }

static const combiner combiners[] = {
    {"Add",        add_int, add_real, false, NOTHING},
    {"Div",        div_int, div_real, false, NOTHING},
    {"Max",        max_int, fmax,     false, NOTHING},
    {"Mean",       add_int, add_real, true,  NOTHING},
    {"Min",        min_int, fmin,     false, NOTHING},
    {"Mod",        mod_int, mod_real, false, NOTHING},
    {"Mul",        mul_int, mul_real, false, NOTHING},
    {"Pow",        pow_int, pow,      false, NOTHING},
    {"ReduceMax",  max_int, fmax,     false, NOTHING},
    {"ReduceMean", add_int, add_real, true,  NOTHING},
    {"ReduceMin",  min_int, fmin,     false, NOTHING},
    {"ReduceProd", mul_int, mul_real, false, {1, 1} },
    {"ReduceSum",  add_int, add_real, false, {0, 0} },
    {"Sub",        sub_int, sub_real, false, NOTHING},
    {"Sum",        add_int, add_real, false, NOTHING},
    {"fmod",       rem_int, fmod,     false, NOTHING}, /* Mod with its attribute fmod */
};

static const combiner *combiner_find(const char *name)
{
    for (size_t k = 0; k < sizeof combiners / sizeof *combiners; k++)
        if (strcmp(combiners[k].name, name) == 0)
            return &combiners[k];
    return NULL;
}

static number combine(const combiner *by, weft_dtype type, number a, number b)
{
    number y = unknown;

    if (weft_dtype_is_integer(type)) {
        if (a.i != WEFT_UNKNOWN_INT && b.i != WEFT_UNKNOWN_INT)
            y.i = by->ints(type, a.i, b.i);
        else if (!isnan(a.f) && !isnan(b.f)) /* Pow of an integer by a real */
            y = cast((number){WEFT_UNKNOWN_INT, by->reals(a.f, b.f)}, true, type);
    } else if (!isnan(a.f) && !isnan(b.f)) {
        y.f = fit_real(type, by->reals(a.f, b.f));
    }
    return y;
}

/* A sum divided by the number of its terms; integers toward zero. */
static number mean_of(number sum, weft_dtype type, int64_t count)
{
    number y = unknown;

    if (weft_dtype_is_float(type))
        y.f = fit_real(type, sum.f / (double)count);
    else if (sum.i != WEFT_UNKNOWN_INT)
        y.i = div_int(type, sum.i, count);
    return y;
}

void weft_fold_binary(weft_call *c)
{
    const combiner *by = combiner_find(weft_node_int(c->node, "fmod", 0) ? "fmod" : c->node->op);
    weft_draft d;
    lane a, b;

    if (by == NULL || !weft_draft_begin(c, 0, &d) || !lane_of(weft_arg(c, 0), &d, &a) ||
        !second_lane_of(c, &d, &b))
        return;
    for (int i = 0; i < d.n; i++)
        put(&d, i, combine(by, d.result->type, lane_at(&a, &d, i), lane_at(&b, &d, i)));
    weft_draft_end(&d);
}

void weft_fold_variadic(weft_call *c)
{
    const combiner *by = combiner_find(c->node->op);
    weft_draft d;
    weft_cells sum;

    if (by == NULL || !weft_draft_begin(c, 0, &d))
        return;
    sum = (weft_cells){d.result->type, d.shape, d.n, d.ints, d.reals};
    for (int a = 0; a < c->n_args; a++) {
        lane x;

        if (!lane_of(c->arg[a], &d, &x))
            return;
        for (int i = 0; i < d.n; i++) {
            number y = lane_at(&x, &d, i);

            put(&d, i, a == 0 ? y : combine(by, sum.type, number_at(&sum, i), y));
        }
    }
    for (int i = 0; i < d.n && by->is_mean; i++)
        put(&d, i, mean_of(number_at(&sum, i), sum.type, c->n_args));
    weft_draft_end(&d);
}

/* --- truth ----------------------------------------------------------------------------------- */

enum { LESS = 1, EQUAL = 2, GREATER = 4 };

static int64_t and_int(int64_t a, int64_t b)
{
    if (a == 0 || b == 0) /* decided, whatever the other one is */
        return 0;
    return a == WEFT_UNKNOWN_INT || b == WEFT_UNKNOWN_INT ? WEFT_UNKNOWN_INT : 1;
}

static int64_t or_int(int64_t a, int64_t b)
{
    if (a == 1 || b == 1)
        return 1;
    return a == WEFT_UNKNOWN_INT || b == WEFT_UNKNOWN_INT ? WEFT_UNKNOWN_INT : 0;
}

static int64_t xor_int(int64_t a, int64_t b)
{
    return a == WEFT_UNKNOWN_INT || b == WEFT_UNKNOWN_INT ? WEFT_UNKNOWN_INT : a != b;
}

/* Comparisons accept some orders of the operands; logical operators compute with unknowns. */
typedef struct relation {
    const char *name;
    unsigned accepts;
    int64_t (*logic)(int64_t a, int64_t b);
} relation;

static const relation relations[] = {
    {"And",            0,               and_int},
    {"Equal",          EQUAL,           NULL   },
    {"Greater",        GREATER,         NULL   },
    {"GreaterOrEqual", GREATER | EQUAL, NULL   },
    {"Less",           LESS,            NULL   },
    {"LessOrEqual",    LESS | EQUAL,    NULL   },
    {"Or",             0,               or_int },
    {"Xor",            0,               xor_int},
};

static const relation *relation_find(const char *name)
{
    for (size_t k = 0; k < sizeof relations / sizeof *relations; k++)
        if (strcmp(relations[k].name, name) == 0)
            return &relations[k];
    return NULL;
}

static int64_t relate(const relation *r, number a, number b)
{
    unsigned order = EQUAL;

    if (r->logic)
        return r->logic(a.i, b.i);
    if (isnan(a.f) || isnan(b.f)) /* also unknown integers */
        return WEFT_UNKNOWN_INT;
    if (a.i != b.i) /* integers, not their doubles: these may have been rounded to the same */
        order = a.i < b.i ? LESS : GREATER;
    else if (a.f < b.f || a.f > b.f)
        order = a.f < b.f ? LESS : GREATER;
    return (r->accepts & order) != 0;
}

void weft_fold_compare(weft_call *c)
{
    const relation *r = relation_find(c->node->op);
    weft_draft d;
    lane a, b;

    if (r == NULL || !weft_draft_begin(c, 0, &d) || d.ints == NULL ||
        !lane_of(weft_arg(c, 0), &d, &a) || !second_lane_of(c, &d, &b) ||
        a.cells.type != b.cells.type)
        return;
    for (int i = 0; i < d.n; i++)
        d.ints[i] = relate(r, lane_at(&a, &d, i), lane_at(&b, &d, i));
    weft_draft_end(&d);
}

void weft_fold_where(weft_call *c)
{
    weft_draft d;
    lane choose, yes, no;

    if (!weft_draft_begin(c, 0, &d) || !lane_of(weft_arg(c, 0), &d, &choose) ||
        !lane_of(weft_arg(c, 1), &d, &yes) || !lane_of(weft_arg(c, 2), &d, &no))
        return;
    for (int i = 0; i < d.n; i++) {
        int64_t choice = lane_at(&choose, &d, i).i;
        const lane *from = choice ? &yes : &no;

        if (choice != WEFT_UNKNOWN_INT)
            weft_draft_copy(&d, i, &from->cells, weft_offset(d.shape, from->stride, i));
    }
    weft_draft_end(&d);
}

/* --- along axes ------------------------------------------------------------------------------ */

/* The axes of an operand in two groups, each with its strides. */
typedef struct halves {
    weft_shape kept, reduced;
    int64_t kept_stride[WEFT_MAX_RANK], reduced_stride[WEFT_MAX_RANK];
} halves;

static void halve(const weft_shape *s, unsigned mask, halves *out)
{
    int64_t stride[WEFT_MAX_RANK];

    weft_strides(s, stride);
    out->kept.rank = out->reduced.rank = 0;
    for (int d = 0; d < s->rank; d++) {
        bool is_kept = (mask >> d & 1) == 0;
        weft_shape *half = is_kept ? &out->kept : &out->reduced;

        (is_kept ? out->kept_stride : out->reduced_stride)[half->rank] = stride[d];
        half->dim[half->rank++] = s->dim[d];
    }
}

/* The result of one group of elements. Reals are summed as doubles and rounded once. */
static number reduce_group(const combiner *by, const weft_cells *x, const halves *h, int64_t begin)
{
    weft_dtype type = weft_dtype_is_float(x->type) ? WEFT_F64 : x->type;
    int64_t count = weft_shape_elements(&h->reduced);
    number y = by->empty;

    for (int64_t i = 0; i < count; i++) {
        number next = number_at(x, begin + weft_offset(&h->reduced, h->reduced_stride, i));

        y = i == 0 ? next : combine(by, type, y, next);
    }
    if (by->is_mean)
        return mean_of(y, x->type, count);
    y.f = fit_real(x->type, y.f);
    return y;
}

void weft_fold_reduce(weft_call *c)
{
    const combiner *by = combiner_find(c->node->op);
    bool is_given, is_sure;
    unsigned mask;
    weft_draft d;
    weft_cells x;
    halves h;

    if (by == NULL || !weft_cells_of(weft_arg(c, 0), &x) || (x.n > 0 && !weft_cells_any(&x)) ||
        weft_axes_of(c, 1, x.shape->rank, &mask, &is_given, &is_sure) != WEFT_OK || !is_sure)
        return;
    /* no axes: all of them, or the operand as it is, which is the same as groups of one */
    if ((!is_given || mask == 0) && weft_node_int(c->node, "noop_with_empty_axes", 0) == 0)
        mask = (1u << x.shape->rank) - 1;
    halve(x.shape, mask, &h);
    if (!weft_draft_begin(c, 0, &d) || d.result->type != x.type ||
        weft_shape_elements(&h.kept) != d.n)
        return;
    for (int i = 0; i < d.n; i++)
        put(&d, i, reduce_group(by, &x, &h, weft_offset(&h.kept, h.kept_stride, i)));
    weft_draft_end(&d);
}

/* The elements of one line, in the order in which they are summed. */
typedef struct line {
    int64_t begin, step, n;
} line;

static void sum_line(weft_draft *d, const weft_cells *x, line l, bool is_exclusive)
{
    const combiner *add = combiner_find("Sum");
    number sum = {0, 0};

    for (int64_t k = 0; k < l.n; k++) {
        int64_t at = l.begin + k * l.step;
        number next = combine(add, x->type, sum, number_at(x, at));

        put(d, at, is_exclusive ? sum : next);
        sum = next;
    }
}

void weft_fold_cumsum(weft_call *c)
{
    bool is_exclusive = weft_node_int(c->node, "exclusive", 0) != 0;
    bool is_reverse = weft_node_int(c->node, "reverse", 0) != 0;
    int64_t where = weft_cells_scalar(weft_arg(c, 1)), stride[WEFT_MAX_RANK];
    weft_draft d;
    weft_cells x;
    int axis;

    if (!weft_cells_of(weft_arg(c, 0), &x) || !weft_draft_begin(c, 0, &d) ||
        where == WEFT_UNKNOWN_INT || weft_axis_of(c, where, x.shape->rank, &axis) != WEFT_OK ||
        !weft_shape_equal(x.shape, d.shape) || d.result->type != x.type)
        return;
    weft_strides(x.shape, stride);
    for (int64_t i = 0; i < d.n; i++) {
        line l = {i, stride[axis], x.shape->dim[axis]};

        if (i / l.step % l.n != 0) /* not the first of its line */
            continue;
        if (is_reverse)
            l = (line){i + (l.n - 1) * l.step, -l.step, l.n};
        sum_line(&d, &x, l, is_exclusive);
    }
    weft_draft_end(&d);
}

void weft_fold_range(weft_call *c)
{
    number start = scalar_of(weft_arg(c, 0)), step = scalar_of(weft_arg(c, 2));
    weft_draft d;

    if (!weft_draft_begin(c, 0, &d))
        return;
    for (int i = 0; i < d.n && is_known(&d, start) && is_known(&d, step); i++) {
        weft_dtype type = d.result->type;
        number at = {i, i};

        /* not a running sum: ONNX defines start + i * step, and errors would pile up */
        at = combine(combiner_find("Mul"), type, at, step);
        put(&d, i, combine(combiner_find("Add"), type, start, at));
    }
    weft_draft_end(&d);
}
