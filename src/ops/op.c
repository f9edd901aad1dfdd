/* SPDX-License-Identifier: MIT */
/* op.c: the operator table, sorted by domain and name.
 *
 * One row an operator: arity, shape rule, constant rule, loop nest, fusion class, backward rule,
 * and arithmetic operations a point of the nest. Counts of operations follow one convention: an
 * addition, multiplication, comparison, division, exponential or square root counts 1; functions
 * made of several of them count their sum (sigmoid: negate, exp, add, divide = 4).
 * Multiply-accumulate nests count 2 a point and leave `flops` at 0. */
#include "rules.h"

#include <string.h>

#define ROW(domain, name, since, a0, a1, r0, r1, ranks, infer, fold, nest, fusion, grad, with, f,  \
            g, random)                                                                             \
    {                                                                                              \
        domain, name, since, a0, a1, r0, r1, ranks, weft_infer_##infer, weft_fold_##fold,          \
            weft_nest_##nest, WEFT_FUSE_##fusion, WEFT_GRAD_##grad, with, f, g, random             \
    }
#define OP(...) ROW("", __VA_ARGS__)
#define MS(...) ROW("com.microsoft", __VA_ARGS__)
#define ALL 0xffffffffu
#define weft_fold_none NULL
#define weft_nest_none NULL

/* name, since, least and most operands (-1: any), least and most results, numbers of dimensions,
 * rules for shapes, constants and loop nest, fusion class, gradient, operands that have one, flops a point forward
 * and backward, random */
/* clang-format off */
static const weft_op table[] = {
    OP("Abs",                              1,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, OPERAND,   0x1,  1,  2,  false),
    OP("Acos",                             7,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, OPERAND,   0x1,  6,  6,  false),
    OP("Acosh",                            9,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, OPERAND,   0x1,  6,  6,  false),
    OP("Add",                              1,  2, 2,  1, 1,  "",          broadcast,         binary,            elementwise,      ELEMENT, SUM,       0x3,  1,  1,  false),
    OP("AffineGrid",                       20, 2, 2,  1, 1,  "3 1",       affine_grid,       none,              none,             MOVE,    PASS,      0x1,  0,  0,  false),
    OP("And",                              7,  2, 2,  1, 1,  "",          compare,           compare,           elementwise,      ELEMENT, NONE,      0x0,  1,  0,  false),
    OP("ArgMax",                           1,  1, 1,  1, 1,  "",          arg_reduce,        none,              reduce,           REDUCE,  NONE,      0x0,  1,  0,  false),
    OP("ArgMin",                           1,  1, 1,  1, 1,  "",          arg_reduce,        none,              reduce,           REDUCE,  NONE,      0x0,  1,  0,  false),
    OP("Asin",                             7,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, OPERAND,   0x1,  6,  6,  false),
    OP("Asinh",                            9,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, OPERAND,   0x1,  6,  6,  false),
    OP("Atan",                             7,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, OPERAND,   0x1,  6,  6,  false),
    OP("Atanh",                            9,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, OPERAND,   0x1,  6,  6,  false),
    OP("Attention",                        23, 3, 7,  1, 4,  "",          attention,         none,              attention,        TENSOR,  OPERAND,   0x7,  0,  0,  false),
    OP("AveragePool",                      1,  1, 1,  1, 1,  "",          pool,              none,              pool,             REDUCE,  PASS,      0x1,  1,  1,  false),
    OP("BatchNormalization",               1,  5, 5,  1, 5,  "1+",        batch_norm,        none,              batch_norm,       NORM,    OPERAND,   0x7,  2,  8,  false),
    OP("Bernoulli",                        15, 1, 1,  1, 1,  "",          cast_optional,     none,              none,             MOVE,    NONE,      0x0,  0,  0,  true),
    OP("BitShift",                         11, 2, 2,  1, 1,  "",          broadcast,         none,              elementwise,      ELEMENT, NONE,      0x0,  1,  0,  false),
    OP("BitwiseAnd",                       18, 2, 2,  1, 1,  "",          broadcast,         none,              elementwise,      ELEMENT, NONE,      0x0,  1,  0,  false),
    OP("BitwiseNot",                       18, 1, 1,  1, 1,  "",          same,              none,              elementwise,      ELEMENT, NONE,      0x0,  1,  0,  false),
    OP("BitwiseOr",                        18, 2, 2,  1, 1,  "",          broadcast,         none,              elementwise,      ELEMENT, NONE,      0x0,  1,  0,  false),
    OP("BitwiseXor",                       18, 2, 2,  1, 1,  "",          broadcast,         none,              elementwise,      ELEMENT, NONE,      0x0,  1,  0,  false),
    OP("BlackmanWindow",                   17, 1, 1,  1, 1,  "",          window,            none,              none,             MOVE,    NONE,      0x0,  0,  0,  false),
    OP("Cast",                             1,  1, 1,  1, 1,  "",          cast,              cast,              elementwise,      ELEMENT, PASS,      0x1,  0,  0,  false),
    OP("CastLike",                         15, 2, 2,  1, 1,  "",          cast,              cast,              elementwise,      ELEMENT, PASS,      0x1,  0,  0,  false),
    OP("Ceil",                             1,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, NONE,      0x0,  1,  0,  false),
    OP("Celu",                             12, 1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, OPERAND,   0x1,  1,  2,  false),
    OP("CenterCropPad",                    18, 2, 2,  1, 1,  "",          center_crop_pad,   none,              none,             MOVE,    PASS,      0x1,  0,  0,  false),
    OP("Clip",                             1,  1, 3,  1, 1,  "",          same,              clip,              elementwise,      ELEMENT, OPERAND,   0x1,  2,  1,  false),
    OP("Col2Im",                           18, 3, 3,  1, 1,  "3",         col2im,            none,              none,             MOVE,    PASS,      0x1,  0,  0,  false),
    OP("Compress",                         9,  2, 2,  1, 1,  "1+ 1",      compress,          none,              none,             MOVE,    NONE,      0x0,  0,  0,  false),
    OP("Concat",                           1,  1, -1, 1, 1,  "",          concat,            concat,            concat,           MOVE,    PASS,      ALL,  0,  0,  false),
    OP("Constant",                         1,  0, 0,  1, 1,  "",          constant,          constant,          none,             VIEW,    NONE,      0x0,  0,  0,  false),
    OP("ConstantOfShape",                  9,  1, 1,  1, 1,  "1",         constant_of_shape, constant_of_shape, none,             MOVE,    NONE,      0x0,  0,  0,  false),
    OP("Conv",                             1,  2, 3,  1, 1,  "",          conv,              none,              conv,             TENSOR,  EACH,      0x7,  0,  0,  false),
    OP("ConvInteger",                      10, 2, 4,  1, 1,  "",          conv,              none,              conv,             TENSOR,  NONE,      0x0,  0,  0,  false),
    OP("ConvTranspose",                    1,  2, 3,  1, 1,  "",          conv_transpose,    none,              conv_transpose,   TENSOR,  EACH,      0x7,  0,  0,  false),
    OP("Cos",                              7,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, OPERAND,   0x1,  6,  6,  false),
    OP("Cosh",                             9,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, OPERAND,   0x1,  6,  6,  false),
    OP("CumSum",                           11, 2, 2,  1, 1,  "",          same,              cumsum,            scan,             REDUCE,  PASS,      0x1,  1,  1,  false),
    OP("DFT",                              17, 1, 3,  1, 1,  "2+",        dft,               none,              dft,              NONE,    PASS,      0x1,  5,  5,  false),
    OP("DeformConv",                       19, 3, 5,  1, 1,  "? ? 3+",    deform_conv,       none,              conv,             TENSOR,  EACH,      0x1f, 0,  0,  false),
    OP("DepthToSpace",                     1,  1, 1,  1, 1,  "4",         depth_space,       none,              none,             MOVE,    PASS,      0x1,  0,  0,  false),
    OP("DequantizeLinear",                 10, 2, 3,  1, 1,  "",          dequantize,        none,              elementwise,      ELEMENT, PASS,      0x1,  2,  1,  false),
    OP("Det",                              11, 1, 1,  1, 1,  "2+",        det,               none,              det,              NONE,    BOTH,      0x1,  1,  2,  false),
    OP("Div",                              1,  2, 2,  1, 1,  "",          broadcast,         binary,            elementwise,      ELEMENT, PRODUCT,   0x3,  1,  3,  false),
    OP("Dropout",                          1,  1, 3,  1, 2,  "",          dropout,           copy,              none,             VIEW,    SUM,       0x1,  0,  0,  false),
    OP("DynamicQuantizeLinear",            11, 1, 1,  3, 3,  "",          dynamic_quantize,  none,              elementwise,      ELEMENT, NONE,      0x0,  5,  0,  false),
    OP("Einsum",                           12, 1, -1, 1, 1,  "",          einsum,            none,              einsum,           TENSOR,  EACH,      ALL,  0,  0,  false),
    OP("Elu",                              1,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, OPERAND,   0x1,  1,  2,  false),
    OP("Equal",                            7,  2, 2,  1, 1,  "",          compare,           compare,           elementwise,      ELEMENT, NONE,      0x0,  1,  0,  false),
    OP("Erf",                              9,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, OPERAND,   0x1,  8,  8,  false),
    OP("Exp",                              1,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, RESULT,    0x1,  1,  2,  false),
    OP("Expand",                           8,  2, 2,  1, 1,  "",          expand,            expand,            elementwise,      MOVE,    PASS,      0x1,  0,  0,  false),
    OP("EyeLike",                          9,  1, 1,  1, 1,  "",          cast_optional,     none,              none,             MOVE,    NONE,      0x0,  0,  0,  false),
    OP("Flatten",                          1,  1, 1,  1, 1,  "",          flatten,           copy,              none,             VIEW,    PASS,      0x1,  0,  0,  false),
    OP("Floor",                            1,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, NONE,      0x0,  1,  0,  false),
    OP("GRU",                              1,  3, 8,  0, 3,  "",          rnn,               none,              rnn,              TENSOR,  RECURRENT, 0x6f, 0,  0,  false),
    OP("Gather",                           1,  2, 2,  1, 1,  "1+",        gather,            gather,            gather,           MOVE,    PASS,      0x1,  0,  0,  false),
    OP("GatherElements",                   11, 2, 2,  1, 1,  "1+ 1+",     gather_elements,   gather_elements,   none,             MOVE,    PASS,      0x1,  0,  0,  false),
    OP("GatherND",                         11, 2, 2,  1, 1,  "1+ 1+",     gather_nd,         none,              none,             MOVE,    PASS,      0x1,  0,  0,  false),
    OP("Gelu",                             20, 1, 1,  1, 1,  "",          same,              none,              elementwise,      ELEMENT, OPERAND,   0x1,  10, 14, false),
    OP("Gemm",                             1,  2, 3,  1, 1,  "2 2",       gemm,              none,              gemm,             TENSOR,  EACH,      0x7,  0,  0,  false),
    OP("GlobalAveragePool",                1,  1, 1,  1, 1,  "2+",        global_pool,       none,              global_pool,      REDUCE,  PASS,      0x1,  1,  1,  false),
    OP("GlobalLpPool",                     1,  1, 1,  1, 1,  "2+",        global_pool,       none,              global_pool,      REDUCE,  PASS,      0x1,  1,  1,  false),
    OP("GlobalMaxPool",                    1,  1, 1,  1, 1,  "2+",        global_pool,       none,              global_pool,      REDUCE,  OPERAND,   0x1,  1,  1,  false),
    OP("Greater",                          7,  2, 2,  1, 1,  "",          compare,           compare,           elementwise,      ELEMENT, NONE,      0x0,  1,  0,  false),
    OP("GreaterOrEqual",                   12, 2, 2,  1, 1,  "",          compare,           compare,           elementwise,      ELEMENT, NONE,      0x0,  1,  0,  false),
    OP("GridSample",                       16, 2, 2,  1, 1,  "3+ 3+",     grid_sample,       none,              grid_sample,      MOVE,    OPERAND,   0x3,  8,  16, false),
    OP("GroupNormalization",               18, 3, 3,  1, 1,  "",          same,              none,              group_norm,       NORM,    OPERAND,   0x7,  8,  12, false),
    OP("HammingWindow",                    17, 1, 1,  1, 1,  "",          window,            none,              none,             MOVE,    NONE,      0x0,  0,  0,  false),
    OP("HannWindow",                       17, 1, 1,  1, 1,  "",          window,            none,              none,             MOVE,    NONE,      0x0,  0,  0,  false),
    OP("HardSigmoid",                      1,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, OPERAND,   0x1,  3,  2,  false),
    OP("HardSwish",                        14, 1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, OPERAND,   0x1,  4,  4,  false),
    OP("Hardmax",                          1,  1, 1,  1, 1,  "",          softmax,           none,              softmax,          REDUCE,  RESULT,    0x1,  5,  4,  false),
    OP("Identity",                         1,  1, 1,  1, 1,  "",          same,              copy,              none,             VIEW,    SUM,       0x1,  0,  0,  false),
    OP("If",                               1,  0, -1, 0, -1, "",          body,              none,              none,             NONE,    NONE,      0x0,  0,  0,  false),
    OP("InstanceNormalization",            1,  3, 3,  1, 1,  "",          same,              none,              instance_norm,    NORM,    OPERAND,   0x7,  8,  12, false),
    OP("IsInf",                            10, 1, 1,  1, 1,  "",          boolean,           none,              elementwise,      ELEMENT, NONE,      0x0,  1,  0,  false),
    OP("IsNaN",                            9,  1, 1,  1, 1,  "",          boolean,           none,              elementwise,      ELEMENT, NONE,      0x0,  1,  0,  false),
    OP("LRN",                              1,  1, 1,  1, 1,  "",          same,              none,              lrn,              NORM,    BOTH,      0x1,  0,  0,  false),
    OP("LSTM",                             1,  3, 8,  0, 3,  "",          rnn,               none,              rnn,              TENSOR,  RECURRENT, 0x6f, 0,  0,  false),
    OP("LayerNormalization",               17, 2, 3,  1, 3,  "1+",        layer_norm,        none,              layer_norm,       NORM,    OPERAND,   0x7,  8,  12, false),
    OP("LeakyRelu",                        1,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, OPERAND,   0x1,  1,  2,  false),
    OP("Less",                             7,  2, 2,  1, 1,  "",          compare,           compare,           elementwise,      ELEMENT, NONE,      0x0,  1,  0,  false),
    OP("LessOrEqual",                      12, 2, 2,  1, 1,  "",          compare,           compare,           elementwise,      ELEMENT, NONE,      0x0,  1,  0,  false),
    OP("Log",                              1,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, OPERAND,   0x1,  1,  1,  false),
    OP("LogSoftmax",                       1,  1, 1,  1, 1,  "",          softmax,           none,              softmax,          REDUCE,  RESULT,    0x1,  5,  4,  false),
    OP("Loop",                             1,  0, -1, 0, -1, "",          body,              none,              none,             NONE,    NONE,      0x0,  0,  0,  false),
    OP("LpNormalization",                  1,  1, 1,  1, 1,  "",          same,              none,              softmax,          NORM,    BOTH,      0x1,  3,  4,  false),
    OP("LpPool",                           1,  1, 1,  1, 1,  "",          pool,              none,              pool,             REDUCE,  PASS,      0x1,  1,  1,  false),
    OP("MatMul",                           1,  2, 2,  1, 1,  "",          matmul,            none,              matmul,           TENSOR,  EACH,      0x3,  0,  0,  false),
    OP("MatMulInteger",                    10, 2, 4,  1, 1,  "",          matmul,            none,              matmul,           TENSOR,  NONE,      0x0,  0,  0,  false),
    OP("Max",                              1,  1, -1, 1, 1,  "",          broadcast,         variadic,          elementwise,      ELEMENT, OPERAND,   ALL,  1,  1,  false),
    OP("MaxPool",                          1,  1, 1,  1, 2,  "",          pool,              none,              pool,             REDUCE,  OPERAND,   0x1,  1,  1,  false),
    OP("MaxRoiPool",                       1,  2, 2,  1, 1,  "4 2",       max_roi_pool,      none,              none,             REDUCE,  OPERAND,   0x1,  0,  0,  false),
    OP("MaxUnpool",                        9,  2, 3,  1, 1,  "3+ 3+",     max_unpool,        none,              none,             MOVE,    PASS,      0x1,  0,  0,  false),
    OP("Mean",                             1,  1, -1, 1, 1,  "",          broadcast,         variadic,          elementwise,      ELEMENT, PASS,      ALL,  1,  1,  false),
    OP("MeanVarianceNormalization",        9,  1, 1,  1, 1,  "",          same,              none,              mvn,              NORM,    BOTH,      0x1,  6,  8,  false),
    OP("MelWeightMatrix",                  17, 5, 5,  1, 1,  "",          mel,               none,              none,             MOVE,    NONE,      0x0,  0,  0,  false),
    OP("Min",                              1,  1, -1, 1, 1,  "",          broadcast,         variadic,          elementwise,      ELEMENT, OPERAND,   ALL,  1,  1,  false),
    OP("Mish",                             18, 1, 1,  1, 1,  "",          same,              none,              elementwise,      ELEMENT, OPERAND,   0x1,  8,  10, false),
    OP("Mod",                              10, 2, 2,  1, 1,  "",          broadcast,         binary,            elementwise,      ELEMENT, NONE,      0x0,  1,  0,  false),
    OP("Mul",                              1,  2, 2,  1, 1,  "",          broadcast,         binary,            elementwise,      ELEMENT, PRODUCT,   0x3,  1,  3,  false),
    OP("Multinomial",                      7,  1, 1,  1, 1,  "2",         multinomial,       none,              none,             MOVE,    NONE,      0x0,  0,  0,  true),
    OP("Neg",                              1,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, OPERAND,   0x1,  1,  2,  false),
    OP("NegativeLogLikelihoodLoss",        12, 2, 3,  1, 1,  "2+ 1+",     loss,              none,              loss,             REDUCE,  OPERAND,   0x1,  2,  1,  false),
    OP("NonMaxSuppression",                10, 2, 5,  1, 1,  "3 3",       nms,               none,              none,             NONE,    NONE,      0x0,  0,  0,  false),
    OP("NonZero",                          9,  1, 1,  1, 1,  "",          nonzero,           nonzero,           none,             NONE,    NONE,      0x0,  0,  0,  false),
    OP("Not",                              1,  1, 1,  1, 1,  "",          boolean,           unary,             elementwise,      ELEMENT, NONE,      0x0,  1,  0,  false),
    OP("OneHot",                           9,  3, 3,  1, 1,  "0-7 ? 1",   one_hot,           none,              none,             MOVE,    NONE,      0x0,  0,  0,  false),
    OP("Or",                               7,  2, 2,  1, 1,  "",          compare,           compare,           elementwise,      ELEMENT, NONE,      0x0,  1,  0,  false),
    OP("PRelu",                            1,  2, 2,  1, 1,  "",          broadcast,         none,              elementwise,      ELEMENT, OPERAND,   0x3,  2,  3,  false),
    OP("Pad",                              1,  1, 4,  1, 1,  "",          pad,               none,              pad,              MOVE,    PASS,      0x1,  0,  0,  false),
    OP("Pow",                              1,  2, 2,  1, 1,  "",          broadcast,         binary,            elementwise,      ELEMENT, OPERAND,   0x1,  2,  3,  false),
    OP("QLinearConv",                      10, 8, 9,  1, 1,  "",          conv,              none,              conv,             TENSOR,  NONE,      0x0,  0,  0,  false),
    OP("QLinearMatMul",                    10, 8, 8,  1, 1,  "",          matmul,            none,              matmul,           TENSOR,  NONE,      0x0,  0,  0,  false),
    OP("QuantizeLinear",                   10, 2, 3,  1, 1,  "",          quantize,          none,              elementwise,      ELEMENT, PASS,      0x1,  3,  1,  false),
    OP("RMSNormalization",                 23, 2, 2,  1, 1,  "1+",        layer_norm,        none,              layer_norm,       NORM,    OPERAND,   0x3,  5,  8,  false),
    OP("RNN",                              1,  3, 8,  0, 3,  "",          rnn,               none,              rnn,              TENSOR,  RECURRENT, 0x6f, 0,  0,  false),
    OP("RandomNormal",                     1,  0, 0,  1, 1,  "",          random,            none,              none,             MOVE,    NONE,      0x0,  0,  0,  true),
    OP("RandomNormalLike",                 1,  1, 1,  1, 1,  "",          cast_optional,     none,              none,             MOVE,    NONE,      0x0,  0,  0,  true),
    OP("RandomUniform",                    1,  0, 0,  1, 1,  "",          random,            none,              none,             MOVE,    NONE,      0x0,  0,  0,  true),
    OP("RandomUniformLike",                1,  1, 1,  1, 1,  "",          cast_optional,     none,              none,             MOVE,    NONE,      0x0,  0,  0,  true),
    OP("Range",                            11, 3, 3,  1, 1,  "",          range,             range,             none,             MOVE,    NONE,      0x0,  0,  0,  false),
    OP("Reciprocal",                       1,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, RESULT,    0x1,  1,  2,  false),
    OP("ReduceL1",                         1,  1, 2,  1, 1,  "",          reduce,            none,              reduce,           REDUCE,  BOTH,      0x1,  2,  2,  false),
    OP("ReduceL2",                         1,  1, 2,  1, 1,  "",          reduce,            none,              reduce,           REDUCE,  BOTH,      0x1,  2,  2,  false),
    OP("ReduceLogSum",                     1,  1, 2,  1, 1,  "",          reduce,            none,              reduce,           REDUCE,  BOTH,      0x1,  2,  2,  false),
    OP("ReduceLogSumExp",                  1,  1, 2,  1, 1,  "",          reduce,            none,              reduce,           REDUCE,  BOTH,      0x1,  2,  2,  false),
    OP("ReduceMax",                        1,  1, 2,  1, 1,  "",          reduce,            reduce,            reduce,           REDUCE,  BOTH,      0x1,  1,  2,  false),
    OP("ReduceMean",                       1,  1, 2,  1, 1,  "",          reduce,            reduce,            reduce,           REDUCE,  PASS,      0x1,  1,  1,  false),
    OP("ReduceMin",                        1,  1, 2,  1, 1,  "",          reduce,            reduce,            reduce,           REDUCE,  BOTH,      0x1,  1,  2,  false),
    OP("ReduceProd",                       1,  1, 2,  1, 1,  "",          reduce,            reduce,            reduce,           REDUCE,  BOTH,      0x1,  1,  2,  false),
    OP("ReduceSum",                        1,  1, 2,  1, 1,  "",          reduce,            reduce,            reduce,           REDUCE,  PASS,      0x1,  1,  1,  false),
    OP("ReduceSumSquare",                  1,  1, 2,  1, 1,  "",          reduce,            none,              reduce,           REDUCE,  BOTH,      0x1,  2,  2,  false),
    OP("Relu",                             1,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, RESULT,    0x1,  1,  1,  false),
    OP("Reshape",                          1,  1, 2,  1, 1,  "",          reshape,           copy,              none,             VIEW,    PASS,      0x1,  0,  0,  false),
    OP("Resize",                           10, 1, 4,  1, 1,  "",          resize,            none,              resize,           MOVE,    PASS,      0x1,  0,  0,  false),
    OP("ReverseSequence",                  10, 2, 2,  1, 1,  "",          same,              none,              none,             MOVE,    PASS,      0x1,  0,  0,  false),
    OP("RoiAlign",                         10, 3, 3,  1, 1,  "4 2 1",     roi_align,         none,              roi_align,        REDUCE,  PASS,      0x1,  8,  8,  false),
    OP("Round",                            11, 1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, NONE,      0x0,  1,  0,  false),
    OP("STFT",                             17, 2, 4,  1, 1,  "3",         stft,              none,              stft,             NONE,    PASS,      0x1,  5,  5,  false),
    OP("Scan",                             8,  0, -1, 0, -1, "",          body,              none,              none,             NONE,    NONE,      0x0,  0,  0,  false),
    OP("Scatter",                          9,  3, 3,  1, 1,  "1+ 1+",     scatter,           scatter_elements,  none,             MOVE,    PASS,      0x5,  0,  0,  false),
    OP("ScatterElements",                  11, 3, 3,  1, 1,  "1+ 1+",     scatter,           scatter_elements,  none,             MOVE,    PASS,      0x5,  0,  0,  false),
    OP("ScatterND",                        11, 3, 3,  1, 1,  "1+ 1+",     scatter,           scatter_nd,        none,             MOVE,    PASS,      0x5,  0,  0,  false),
    OP("Selu",                             1,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, RESULT,    0x1,  4,  3,  false),
    OP("Shape",                            1,  1, 1,  1, 1,  "",          shape,             shape,             none,             VIEW,    NONE,      0x0,  0,  0,  false),
    OP("Shrink",                           9,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, OPERAND,   0x1,  1,  2,  false),
    OP("Sigmoid",                          1,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, RESULT,    0x1,  4,  3,  false),
    OP("Sign",                             9,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, OPERAND,   0x1,  1,  2,  false),
    OP("SimplifiedLayerNormalization",     1,  2, 2,  1, 2,  "1+",        layer_norm,        none,              layer_norm,       NORM,    OPERAND,   0x3,  5,  8,  false),
    OP("Sin",                              7,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, OPERAND,   0x1,  6,  6,  false),
    OP("Sinh",                             9,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, OPERAND,   0x1,  6,  6,  false),
    OP("Size",                             1,  1, 1,  1, 1,  "",          size,              size,              none,             VIEW,    NONE,      0x0,  0,  0,  false),
    OP("Slice",                            1,  1, 5,  1, 1,  "",          slice,             slice,             slice,            MOVE,    PASS,      0x1,  0,  0,  false),
    OP("Softmax",                          1,  1, 1,  1, 1,  "",          softmax,           none,              softmax,          REDUCE,  RESULT,    0x1,  5,  4,  false),
    OP("SoftmaxCrossEntropyLoss",          12, 2, 3,  1, 2,  "2+ 1+",     loss,              none,              loss,             REDUCE,  OPERAND,   0x1,  6,  2,  false),
    OP("Softplus",                         1,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, OPERAND,   0x1,  4,  4,  false),
    OP("Softsign",                         1,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, OPERAND,   0x1,  4,  4,  false),
    OP("SpaceToDepth",                     1,  1, 1,  1, 1,  "4",         depth_space,       none,              none,             MOVE,    PASS,      0x1,  0,  0,  false),
    OP("Split",                            1,  1, 2,  1, -1, "1+",        split,             split,             split,            MOVE,    PASS,      0x1,  0,  0,  false),
    OP("Sqrt",                             1,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, RESULT,    0x1,  1,  2,  false),
    OP("Squeeze",                          1,  1, 2,  1, 1,  "",          squeeze,           copy,              none,             VIEW,    PASS,      0x1,  0,  0,  false),
    OP("Sub",                              1,  2, 2,  1, 1,  "",          broadcast,         binary,            elementwise,      ELEMENT, PASS,      0x3,  1,  1,  false),
    OP("Sum",                              1,  1, -1, 1, 1,  "",          broadcast,         variadic,          elementwise,      ELEMENT, SUM,       ALL,  1,  1,  false),
    OP("Swish",                            24, 1, 1,  1, 1,  "",          same,              none,              elementwise,      ELEMENT, OPERAND,   0x1,  5,  6,  false),
    OP("Tan",                              7,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, OPERAND,   0x1,  6,  6,  false),
    OP("Tanh",                             1,  1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, RESULT,    0x1,  5,  3,  false),
    OP("ThresholdedRelu",                  10, 1, 1,  1, 1,  "",          same,              unary,             elementwise,      ELEMENT, OPERAND,   0x1,  1,  2,  false),
    OP("Tile",                             1,  2, 3,  1, 1,  "",          tile,              tile,              none,             MOVE,    PASS,      0x1,  0,  0,  false),
    OP("TopK",                             1,  1, 2,  2, 2,  "1+",        topk,              topk,              scan,             REDUCE,  OPERAND,   0x1,  2,  1,  false),
    OP("Transpose",                        1,  1, 1,  1, 1,  "",          transpose,         transpose,         transpose,        MOVE,    PASS,      0x1,  0,  0,  false),
    OP("Trilu",                            14, 1, 2,  1, 1,  "",          same,              trilu,             elementwise,      MOVE,    PASS,      0x1,  0,  0,  false),
    OP("Unique",                           11, 1, 1,  1, 4,  "",          unique,            none,              none,             NONE,    NONE,      0x0,  0,  0,  false),
    OP("Unsqueeze",                        1,  1, 2,  1, 1,  "",          unsqueeze,         copy,              none,             VIEW,    PASS,      0x1,  0,  0,  false),
    OP("Upsample",                         1,  1, 2,  1, 1,  "",          upsample,          none,              resize,           MOVE,    PASS,      0x1,  0,  0,  false),
    OP("Where",                            9,  3, 3,  1, 1,  "",          where,             where,             elementwise,      ELEMENT, PASS,      0x6,  1,  2,  false),
    OP("Xor",                              7,  2, 2,  1, 1,  "",          compare,           compare,           elementwise,      ELEMENT, NONE,      0x0,  1,  0,  false),
    MS("Attention",                        1,  2, 7,  1, 2,  "",          ms_attention,      none,              ms_attention,     TENSOR,  OPERAND,   0x7,  0,  0,  false),
    MS("BiasGelu",                         1,  1, 2,  1, 1,  "",          same,              none,              elementwise,      ELEMENT, OPERAND,   0x3,  10, 14, false),
    MS("DequantizeLinear",                 1,  2, 3,  1, 1,  "",          dequantize,        none,              elementwise,      ELEMENT, PASS,      0x1,  2,  1,  false),
    MS("DynamicQuantizeMatMul",            1,  3, 5,  1, 1,  "",          matmul,            none,              matmul,           TENSOR,  NONE,      0x0,  0,  0,  false),
    MS("EmbedLayerNormalization",          1,  1, 9,  2, 3,  "2 ? 2",     embed_layer_norm,  none,              embed_layer_norm, NORM,    OPERAND,   0x7c, 10, 13, false),
    MS("FastGelu",                         1,  1, 2,  1, 1,  "",          same,              none,              elementwise,      ELEMENT, OPERAND,   0x3,  9,  13, false),
    MS("FusedConv",                        1,  2, 4,  1, 1,  "",          conv,              none,              conv,             TENSOR,  EACH,      0xf,  0,  0,  false),
    MS("FusedGemm",                        1,  2, 3,  1, 1,  "2 2",       gemm,              none,              gemm,             TENSOR,  EACH,      0x7,  0,  0,  false),
    MS("FusedMatMul",                      1,  2, 2,  1, 1,  "",          matmul,            none,              matmul,           TENSOR,  EACH,      0x3,  0,  0,  false),
    MS("Gelu",                             1,  1, 2,  1, 1,  "",          same,              none,              elementwise,      ELEMENT, OPERAND,   0x3,  10, 14, false),
    MS("GroupQueryAttention",              1,  1, 9,  1, 3,  "",          ms_gqa,            none,              ms_gqa,           TENSOR,  OPERAND,   0x7,  0,  0,  false),
    MS("MatMulIntegerToFloat",             1,  4, 7,  1, 1,  "",          matmul,            none,              matmul,           TENSOR,  NONE,      0x0,  0,  0,  false),
    MS("MatMulNBits",                      1,  3, 6,  1, 1,  "1+ 1-3",    matmul_nbits,      none,              matmul_nbits,     TENSOR,  PASS,      0x1,  0,  0,  false),
    MS("MultiHeadAttention",               1,  1, 8,  1, 3,  "",          ms_mha,            none,              ms_mha,           TENSOR,  OPERAND,   0x7,  0,  0,  false),
    MS("QLinearAdd",                       1,  7, 8,  1, 1,  "",          qlinear_binary,    none,              qlinear_binary,   ELEMENT, NONE,      0x0,  4,  0,  false),
    MS("QLinearAveragePool",               1,  4, 5,  1, 1,  "",          pool,              none,              pool,             REDUCE,  NONE,      0x0,  1,  0,  false),
    MS("QLinearConcat",                    1,  5, -1, 1, 1,  "",          qlinear_concat,    none,              none,             MOVE,    NONE,      0x0,  0,  0,  false),
    MS("QLinearGlobalAveragePool",         1,  5, 5,  1, 1,  "2+",        global_pool,       none,              global_pool,      REDUCE,  NONE,      0x0,  1,  0,  false),
    MS("QLinearLeakyRelu",                 1,  3, 5,  1, 1,  "",          same,              none,              elementwise,      ELEMENT, NONE,      0x0,  6,  0,  false),
    MS("QLinearMul",                       1,  7, 8,  1, 1,  "",          qlinear_binary,    none,              qlinear_binary,   ELEMENT, NONE,      0x0,  4,  0,  false),
    MS("QLinearSigmoid",                   1,  3, 5,  1, 1,  "",          same,              none,              elementwise,      ELEMENT, NONE,      0x0,  6,  0,  false),
    MS("QLinearSoftmax",                   1,  3, 5,  1, 1,  "",          same,              none,              elementwise,      ELEMENT, NONE,      0x0,  6,  0,  false),
    MS("QuantizeLinear",                   1,  2, 3,  1, 1,  "",          quantize,          none,              elementwise,      ELEMENT, PASS,      0x1,  3,  1,  false),
    MS("QuickGelu",                        1,  1, 1,  1, 1,  "",          same,              none,              elementwise,      ELEMENT, OPERAND,   0x1,  5,  6,  false),
    MS("RotaryEmbedding",                  1,  4, 4,  1, 1,  "",          same,              none,              elementwise,      ELEMENT, PASS,      0x1,  3,  3,  false),
    MS("SkipLayerNormalization",           1,  3, 5,  1, 4,  "2-3 2-3 1", skip_layer_norm,   none,              skip_layer_norm,  NORM,    OPERAND,   0x1f, 9,  13, false),
    MS("SkipSimplifiedLayerNormalization", 1,  3, 4,  1, 4,  "2-3 2-3 1", skip_layer_norm,   none,              skip_layer_norm,  NORM,    OPERAND,   0xf,  6,  9,  false),
};
/* clang-format on */

enum { N_OPS = (int)(sizeof table / sizeof table[0]) };

int weft_op_count(void)
{
    return N_OPS;
}

const weft_op *weft_op_at(int i)
{
    return &table[i];
}

/* As strcmp, which is seldom needed: most names differ in their first letter. */
static int compare(const char *a, const char *b)
{
    int order = (int)(unsigned char)*a - (int)(unsigned char)*b;

    return order != 0 || *a == '\0' ? order : strcmp(a, b);
}

const weft_op *weft_op_find(const char *domain, const char *name)
{
    int low = 0, high = N_OPS;

    if (compare(domain, "ai.onnx") == 0) /* another spelling of the default domain */
        domain = "";
    while (low < high) {
        int mid = (low + high) / 2;
        int order = compare(domain, table[mid].domain);

        if (order == 0)
            order = compare(name, table[mid].name);
        if (order == 0)
            return &table[mid];
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}

const char *weft_fusion_name(weft_fusion f)
{
    static const char *const name[] = {"tensor", "element", "reduce", "norm",
                                       "view",   "move",    "none"};

    return name[f];
}

const char *weft_grad_name(weft_grad g)
{
    static const char *const name[] = {"none",    "each",   "sum",  "product",  "pass",
                                       "operand", "result", "both", "recurrent"};

    return name[g];
}
