/* SPDX-License-Identifier: MIT */
/* test_hostile_ops.c: operators with operands, attributes and sizes that make no sense.
 *
 * Each row of a table is one node in a small notation (see `operand` and `attribute`). The file is
 * refused in one line that begins with its name and says what is wrong, or, where the node is odd
 * but legal, read. */
#define _POSIX_C_SOURCE 200809L
#include "hostile.h"

/* "1x3x8x8" is an input, "i1x3" one of integers, "b2" of booleans, "s" a number as input,
 * "{1,2}" a constant list of int64, "#5" a constant number, "_" is left out. */
static void operand(weft_wire_out *o, const char **at, const char *name)
{
    int64_t number[MOST_NUMBERS];
    char mark = **at;
    int n;

    if (strchr("ibs{#_", mark))
        (*at)++;
    n = read_numbers(at, number);
    if (mark == '{' || mark == '#')
        put_ints(o, name, number, n, mark == '{');
    else if (mark != '_')
        put_value(o, ONNX_GRAPH_INPUT, name,
                  mark == 'i'   ? WEFT_I64
                  : mark == 'b' ? WEFT_BOOL
                                : WEFT_F32,
                  number, n);
    *at += **at == '}';
    *at += strspn(*at, " ");
}

typedef struct op_case {
    const char *op, *operands, *attributes;
    int n_results;
    const char *words; /* NULL: odd but legal */
} op_case;

static void write_case(const op_case *c, weft_arena *a, weft_wire_out *o)
{
    size_t graph = begin_model(o, a), node;
    char name[32];
    int n = 0;

    for (const char *at = c->operands; *at; n++) {
        snprintf(name, sizeof name, "a%d", n);
        operand(o, &at, name);
    }
    node = begin_node(o, ONNX_GRAPH_NODE, c->op, NULL, NULL);
    put_text(o, ONNX_NODE_NAME, "bad");
    n = 0;
    for (const char *at = c->operands; *at; n++, at += strcspn(at, " "), at += strspn(at, " ")) {
        snprintf(name, sizeof name, "a%d", n);
        put_text(o, ONNX_NODE_INPUT, *at == '_' ? "" : name);
    }
    for (int i = 0; i < c->n_results; i++) {
        snprintf(name, sizeof name, "y%d", i);
        put_text(o, ONNX_NODE_OUTPUT, name);
    }
    for (const char *at = c->attributes; *at;)
        attribute(o, &at);
    weft_wire_end(o, node);
    put_output(o, "y0");
    weft_wire_end(o, graph);
}

static const op_case op_cases[] = {
  /* windows */
    {"Conv",            "1x3x8x8 4x3x3x3",                                                           "strides=[0,0]",                        1, "stride"                   },
    {"Conv",            "1x3x8x8 4x3x3x3",                                                           "strides=[-1,1]",                       1, "stride"                   },
    {"Conv",            "1x3x8x8 4x3x3x3",                                                           "strides=[1]",                          1, "strides"                  },
    {"Conv",            "1x3x8x8 4x3x3x3",                                                           "pads=[-9,0,0,0]",                      1, "pad"                      },
    {"Conv",            "1x3x8x8 4x3x3x3",                                                           "pads=[9223372036854775807,0,1,0]",     1, "pad"                      },
    {"Conv",            "1x3x8x8 4x3x3x3",                                                           "dilations=[9223372036854775807,1]",    1, "dilation"                 },
    {"Conv",            "1x3x8x8 4x3x3x3",                                                           "dilations=[0,1]",                      1, "dilation"                 },
    {"Conv",            "1x3x8x8 4x3x99x99",                                                         "",                                     1, "bad"                      },
    {"Conv",            "1x3x8x8 4x3x3x3",                                                           "group=0",                              1, "group"                    },
    {"Conv",            "1x3x8x8 4x3x3x3",                                                           "group=2",                              1, "channels"                 },
    {"Conv",            "1x3x8x8 4x5x3x3",                                                           "",                                     1, "channels"                 },
    {"Conv",            "1x3x8x8",                                                                   "",                                     1, "input 1 is missing"       },
    {"Conv",            "1x3 4x3",                                                                   "",                                     1, "dimensions"               },
    {"Conv",            "1x3x8x8 4x3x3x3",                                                           "auto_pad='SOMEHOW'",                   1, "auto_pad"                 },
    {"Conv",            "1x3x8x8 4x3x3x3",                                                           "strides='2'",                          1, "strides"                  },
    {"ConvTranspose",   "1x3x8x8 3x4x3x3",                                                           "strides=[4611686018427387904,1]",      1, "strides"                  },
    {"MaxPool",         "1x3x8x8",                                                                   "kernel_shape=[9223372036854775807,2]", 1, "kernel"                   },
    {"MaxPool",         "1x3x8x8",                                                                   "",                                     1, "kernel_shape"             },
    {"AveragePool",     "1x3x8x8",                                                                   "kernel_shape=[0,2]",                   1, "kernel"                   },
 /* sizes */
    {"Reshape",         "2x3 {4611686018427387904,4611686018427387904}",                             "",                                     1, "too large"                },
    {"Reshape",         "2x3 {-1,-1}",                                                               "",                                     1, "-1"                       },
    {"Reshape",         "2x3 {-7,1}",                                                                "",                                     1, "-7"                       },
    {"Reshape",         "2x3 {4}",                                                                   "",                                     1, "cannot be reshaped to [4]"},
    {"Reshape",         "2x3 {0,0,0}",                                                               "",                                     1, "0"                        },
    {"Tile",            "2x3 {4611686018427387904,4611686018427387904}",                             "",                                     1, "too large"                },
    {"Tile",            "2x3 {-1,1}",                                                                "",                                     1, "-1"                       },
    {"Tile",            "2x3 {1}",                                                                   "",                                     1, "repeats"                  },
    {"Expand",          "1x1 {4611686018427387904,4611686018427387904}",                             "",                                     1, "too large"                },
    {"Expand",          "2x3 {-5,3}",                                                                "",                                     1, "-5"                       },
    {"ConstantOfShape", "{4611686018427387904,16}",                                                  "",                                     1, "too large"                },
    {"ConstantOfShape", "{-1}",                                                                      "",                                     1, "-1"                       },
    {"ConstantOfShape", "{1,1,1,1,1,1,1,1,1}",                                                       "",                                     1, "9 dimensions"             },
    {"Range",           "#0 #9223372036854775807 #1",                                                "",                                     1, "too large"                },
    {"Range",           "#0 #10 #0",                                                                 "",                                     1, "0"                        },
    {"Pad",             "2x3 {9223372036854775807,0,9223372036854775807,0}",                         "",                                     1, "cannot be padded"         },
    {"Pad",             "2x3 {-5,0,0,0}",                                                            "",                                     1, "-"                        },
    {"Pad",             "2x3 {1}",                                                                   "",                                     1, "pads"                     },
    {"Resize",          "1x3x4x4 _ _ {1,3,9223372036854775807,9223372036854775807}",                 "",                                     1, "too large"                },
    {"Resize",          "1x3x4x4 _ _ {1,3}",                                                         "",                                     1, "sizes"                    },
    {"OneHot",          "i4 #4611686018427387904 2",                                                 "",                                     1, "depth"                    },
    {"OneHot",          "i4 #-3 2",                                                                  "",                                     1, "-3"                       },
    {"TopK",            "2x3 {99}",                                                                  "",                                     2, "99"                       },
    {"TopK",            "2x3 {-1}",                                                                  "",                                     2, "-1"                       },
    {"DepthToSpace",    "1x8x2x2",                                                                   "blocksize=3037000500",                 1, "too large"                },
    {"DepthToSpace",    "1x8x2x2",                                                                   "blocksize=0",                          1, "blocksize"                },
    {"EyeLike",         "2x3x4",                                                                     "",                                     1, "dimensions"               },
    {"Unsqueeze",       "1x1x1x1x1x1x1x1 {0}",                                                       "",                                     1, "at most 8"                },
    {"Compress",        "2x3 b7",                                                                    "axis=9",                               1, "axis"                     },
 /* axes and lists */
    {"Concat",          "2x3 2x3",                                                                   "axis=2",                               1, "axis is 2"                },
    {"Concat",          "2x3 4x5",                                                                   "axis=0",                               1, "bad"                      },
    {"Concat",          "2x3 2x3",                                                                   "",                                     1, "axis"                     },
    {"Concat",          "4611686018427387903 4611686018427387903",                                   "axis=0",                               1, "2^62"                     },
    {"Split",           "6x2 {2,5}",                                                                 "axis=0",                               2, "7"                        },
    {"Split",           "6x2 {7,-1}",                                                                "axis=0",                               2, "-1"                       },
    {"Split",           "6x2 {2,4}",                                                                 "axis=0",                               3, "bad"                      },
    {"Softmax",         "2x3",                                                                       "axis=-9223372036854775808",            1, "axis"                     },
    {"Transpose",       "2x3",                                                                       "perm=[0,0]",                           1, "perm"                     },
    {"Transpose",       "2x3",                                                                       "perm=[0,7]",                           1, "axis is 7"                },
    {"Transpose",       "2x3",                                                                       "perm=1",                               1, "perm"                     },
    {"Squeeze",         "2x3 {0}",                                                                   "",                                     1, "2"                        },
    {"ReduceSum",       "2x3 {5}",                                                                   "",                                     1, "axis"                     },
    {"ReduceMean",      "2x3",                                                                       "axes=[9223372036854775807]",           1, "axis"                     },
    {"Gather",          "2x3 #0",                                                                    "axis=3",                               1, "axis"                     },
    {"Slice",           "6 {0} {9} {7}",                                                             "",                                     1, "axis"                     },
    {"Slice",           "6 {0} {9} {0} {0}",                                                         "",                                     1, "0"                        },
    {"Slice",           "6 {0,1} {9}",                                                               "",                                     1, "bad"                      },
    {"Slice",           "6 {-9223372036854775808} {9223372036854775807} {0} {-9223372036854775808}", "",                                     1,
     NULL                                                                                                                                                                  },
 /* matrices */
    {"Gemm",            "2x3 4x5",                                                                   "",                                     1, "3"                        },
    {"Gemm",            "2x3x4 4x5",                                                                 "",                                     1, "dimensions"               },
    {"Gemm",            "2x3 3x5 7",                                                                 "",                                     1, "7"                        },
    {"MatMul",          "2x3 4x5",                                                                   "",                                     1, "3"                        },
    {"MatMul",          "s 4x5",                                                                     "",                                     1, "bad"                      },
    {"MatMul",          "4194304x4194304 4194304x4194304",                                           "",                                     1, "2^62 operations"          },
    {"Add",             "2x3 4x5",                                                                   "",                                     1, "do not broadcast"         },
    {"Einsum",          "2x3 3x4",                                                                   "equation='ij,jk->i->k'",               1, "equation"                 },
    {"Einsum",          "2x3 3x4",                                                                   "equation='ij'",                        1, "bad"                      },
    {"Einsum",          "2x3 3x4",                                                                   "equation='ijk,jk->i'",                 1, "bad"                      },
    {"Einsum",          "2x3 3x4",                                                                   "equation='ij,jk->iz'",                 1, "z"                        },
    {"Einsum",          "2x3 3x4",                                                                   "equation='ij,ij->ij'",                 1, "bad"                      },
    {"Einsum",          "2x3 3x4",                                                                   "equation='......,ij->'",               1, "bad"                      },
    {"Einsum",          "2x3 3x4",                                                                   "equation='i1,\x01j->%'",               1, "equation"                 },
    {"Einsum",          "2x3",                                                                       "equation=''",                          1, "bad"                      },
    {"Einsum",          "2x3",                                                                       "",                                     1, "equation"                 },
    {"LSTM",            "5x2x3 1x16x9 1x16x4",                                                       "hidden_size=4",                        1, "bad"                      },
    {"LSTM",            "5x2 1x16x3 1x16x4",                                                         "hidden_size=4",                        1, "dimensions"               },
    {"LSTM",            "5x2x3 1x16x3 1x16x4",                                                       "hidden_size=4 direction='sideways'",   1, "direction"                },
 /* kinds of attributes and arity */
    {"Softmax",         "2x3",                                                                       "axis=[1]",                             1, "axis"                     },
    {"Softmax",         "2x3",                                                                       "axis='one'",                           1, "axis"                     },
    {"Cast",            "2x3",                                                                       "to=99",                                1, "99"                       },
    {"Cast",            "2x3",                                                                       "to=~",                                 1, "'to'"                     },
    {"Relu",            "2x3 2x3",                                                                   "",                                     1, "at most 1"                },
    {"Relu",            "",                                                                          "",                                     1, "input 0 is missing"       },
    {"Relu",            "2x3",                                                                       "",                                     2, "outputs"                  },
    {"Add",             "2x3 _",                                                                     "",                                     1, "input 1 is missing"       },
    {"Constant",        "",                                                                          "",                                     1, "value"                    },
    {"If",              "b1",                                                                        "",                                     1, "then_branch"              },
    {"Loop",            "_ _ 2x3",                                                                   "",                                     1, "body"                     },
    {"Scan",            "2x3",                                                                       "num_scan_inputs=1",                    1, "body"                     },
};

TEST(operators_with_absurd_operands_or_attributes)
{
    for (size_t i = 0; i < sizeof op_cases / sizeof *op_cases; i++) {
        const op_case *c = &op_cases[i];
        weft_arena *a = weft_arena_new();
        weft_wire_out o;

        write_case(c, a, &o);
        if (c->words)
            refuse(&o, c->words);
        else
            accept(&o, 1);
        weft_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_with_absurd_operands_or_attributes),
    };

    return RUN_TESTS(tests);
}
