/* SPDX-License-Identifier: MIT */
/* test_hostile.c: files that nobody should have written.
 *
 * Each case makes a file, opens it the way a user does and checks the answer: wrong input, told in
 * one line that begins with the name of the file, names it once and says what is wrong; or, where
 * the file is odd but legal, a graph that keeps its invariants. Cases of operators are rows of a
 * table in a small notation (see `operand` and `attribute`). Small files that ask for endless work
 * have to be answered within SECONDS of processor time. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include "onnx_fields.h"
#include "weft/report.h"
#include "wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifdef IS_SANITIZED
enum { SECONDS = 20 };
#else
enum { SECONDS = 2 };
#endif

/* --- files ----------------------------------------------------------------------------------- */

/* The scratch folder and the file of a case in it. */
typedef struct place {
    char folder[64], file[96];
} place;

static place new_place(void)
{
    place p = {"/tmp/weft_hostile_XXXXXX", ""};

    assert_non_null(mkdtemp(p.folder));
    snprintf(p.file, sizeof p.file, "%s/net.onnx", p.folder);
    return p;
}

static void remove_place(const place *p)
{
    unlink(p->file);
    CHECK_INT(rmdir(p->folder), 0);
}

static void check_message(const char *file, const char *words)
{
    const char *message = weft_message();
    size_t n = strlen(file);

    if (strncmp(message, file, n) != 0 || strncmp(message + n, ": ", 2) != 0)
        fail_msg("does not begin with the file: %s", message);
    if (strstr(message + n, file) != NULL)
        fail_msg("names the file twice: %s", message);
    if (strstr(message, words) == NULL)
        fail_msg("expected \"%s\" in: %s", words, message);
    for (const char *p = message; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            fail_msg("not one printable line: %s", message);
}

/* The file is refused: as it is, for training and with another batch. */
static void refuse_file(const char *file, const char *words)
{
    weft_model_options other = {.batch = 3, .train = true};
    weft_model *m = NULL;

    assert_int_equal(weft_model_open(file, NULL, &m), WEFT_E_INPUT);
    check_message(file, words);
    assert_int_equal(weft_model_open(file, &other, &m), WEFT_E_INPUT);
    check_message(file, "");
}

static void refuse(const weft_wire_out *o, const char *words)
{
    place p = new_place();

    CHECK_OK(weft_file_write(p.file, o->at, o->n));
    refuse_file(p.file, words);
    remove_place(&p);
}

static void refuse_bytes(const void *data, size_t n, const char *words)
{
    weft_wire_out o = {NULL, (uint8_t *)(uintptr_t)data, n, n};

    refuse(&o, words);
}

/* The file is read, its graph is sound, and it has so many nodes. */
static void accept(const weft_wire_out *o, int n_nodes)
{
    place p = new_place();
    weft_arena *a = weft_arena_new();
    weft_model *m = NULL;

    CHECK_OK(weft_file_write(p.file, o->at, o->n));
    CHECK_OK(weft_model_open(p.file, NULL, &m));
    weft_graph_check(m->graph);
    CHECK_INT(m->graph->n_nodes, n_nodes);
    assert_non_null(weft_doc_json(weft_summary_doc(weft_summarize(m, a), true, a), 0, a));
    weft_model_free(m);
    weft_arena_free(a);
    remove_place(&p);
}

static double seconds_since(clock_t start)
{
    return (double)(clock() - start) / (double)CLOCKS_PER_SEC;
}

/* --- documents ------------------------------------------------------------------------------- */

static void put_text(weft_wire_out *o, int field, const char *text)
{
    weft_wire_put_bytes(o, field, text, strlen(text));
}

static void put_opset(weft_wire_out *o, int field, const char *domain, int version)
{
    size_t opset = weft_wire_begin(o, field);

    put_text(o, ONNX_OPSET_DOMAIN, domain);
    weft_wire_put_varint(o, ONNX_OPSET_VERSION, (uint64_t)version);
    weft_wire_end(o, opset);
}

/* Begins a model with opset 17; ends with weft_wire_end of the result. */
static size_t begin_model(weft_wire_out *o, weft_arena *a)
{
    *o = (weft_wire_out){a, NULL, 0, 0};
    weft_wire_put_varint(o, ONNX_MODEL_IR_VERSION, 8);
    put_opset(o, ONNX_MODEL_OPSET, "", 17);
    put_opset(o, ONNX_MODEL_OPSET, "local", 1);
    return weft_wire_begin(o, ONNX_MODEL_GRAPH);
}

/* An input or output; type 0: a name alone. */
static void put_value(weft_wire_out *o, int field, const char *name, int type, const int64_t *dim,
                      int n_dims)
{
    size_t value = weft_wire_begin(o, field), part[3];

    put_text(o, ONNX_VALUE_NAME, name);
    if (type > 0) {
        part[0] = weft_wire_begin(o, ONNX_VALUE_TYPE);
        part[1] = weft_wire_begin(o, ONNX_TYPE_TENSOR);
        weft_wire_put_varint(o, ONNX_TENSOR_TYPE_ELEM, (uint64_t)type);
        part[2] = weft_wire_begin(o, ONNX_TENSOR_TYPE_SHAPE);
        for (int d = 0; d < n_dims; d++) {
            size_t size = weft_wire_begin(o, ONNX_SHAPE_DIM);

            weft_wire_put_varint(o, ONNX_DIM_VALUE, (uint64_t)dim[d]);
            weft_wire_end(o, size);
        }
        for (int i = 2; i >= 0; i--)
            weft_wire_end(o, part[i]);
    }
    weft_wire_end(o, value);
}

static void put_input(weft_wire_out *o, const char *name, int64_t rows, int64_t columns)
{
    int64_t dim[] = {rows, columns};

    put_value(o, ONNX_GRAPH_INPUT, name, WEFT_F32, dim, 2);
}

static void put_output(weft_wire_out *o, const char *name)
{
    put_value(o, ONNX_GRAPH_OUTPUT, name, 0, NULL, 0);
}

/* Begins a node with one operand and one result; NULL leaves them out. */
static size_t begin_node(weft_wire_out *o, int field, const char *op, const char *from,
                         const char *to)
{
    size_t node = weft_wire_begin(o, field);

    put_text(o, ONNX_NODE_OP_TYPE, op);
    if (from)
        put_text(o, ONNX_NODE_INPUT, from);
    if (to)
        put_text(o, ONNX_NODE_OUTPUT, to);
    return node;
}

static void put_node(weft_wire_out *o, const char *op, const char *from, const char *to)
{
    weft_wire_end(o, begin_node(o, ONNX_GRAPH_NODE, op, from, to));
}

/* An int64 list (rank 1) or number (rank 0) as initializer. */
static void put_ints(weft_wire_out *o, const char *name, const int64_t *value, int n, int rank)
{
    size_t tensor = weft_wire_begin(o, ONNX_GRAPH_INITIALIZER);

    put_text(o, ONNX_TENSOR_NAME, name);
    weft_wire_put_varint(o, ONNX_TENSOR_DATA_TYPE, WEFT_I64);
    if (rank == 1)
        weft_wire_put_varint(o, ONNX_TENSOR_DIMS, (uint64_t)n);
    for (int i = 0; i < n; i++)
        weft_wire_put_varint(o, ONNX_TENSOR_INT64S, (uint64_t)value[i]);
    weft_wire_end(o, tensor);
}

/* --- operators: one node in a line of notation ----------------------------------------------- */

enum { MOST_NUMBERS = 16 };

/* Reads "1x3x8" or "1,2,3" up to the mark `end`; returns how many numbers. */
static int read_numbers(const char **at, int64_t *to)
{
    int n = 0;

    while ((**at >= '0' && **at <= '9') || **at == '-') {
        char *end;

        assert_true(n < MOST_NUMBERS);
        to[n++] = strtoll(*at, &end, 10);
        *at = end + (*end == 'x' || *end == ',');
    }
    return n;
}

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

/* "axis=1", "pads=[1,1]", "mode='edge'" and "scale=~" (a float, 1.5). */
static void attribute(weft_wire_out *o, const char **at)
{
    int64_t number[MOST_NUMBERS];
    size_t attr = weft_wire_begin(o, ONNX_NODE_ATTR), length = strcspn(*at, "=");
    int n;

    weft_wire_put_bytes(o, ONNX_ATTR_NAME, *at, length);
    *at += length + 1;
    if (**at == '\'') {
        length = strcspn(*at + 1, "'");
        weft_wire_put_bytes(o, ONNX_ATTR_S, *at + 1, length);
        weft_wire_put_varint(o, ONNX_ATTR_KIND, WEFT_ONNX_STRING);
        *at += length + 2;
    } else if (**at == '~') {
        weft_wire_put_float(o, ONNX_ATTR_F, 1.5f);
        weft_wire_put_varint(o, ONNX_ATTR_KIND, WEFT_ONNX_FLOAT);
        (*at)++;
    } else {
        bool is_list = **at == '[';

        *at += is_list;
        n = read_numbers(at, number);
        *at += is_list;
        for (int i = 0; i < n; i++)
            weft_wire_put_varint(o, is_list ? ONNX_ATTR_INTS : ONNX_ATTR_I, (uint64_t)number[i]);
        weft_wire_put_varint(o, ONNX_ATTR_KIND, is_list ? WEFT_ONNX_INTS : WEFT_ONNX_INT);
    }
    *at += strspn(*at, " ");
    weft_wire_end(o, attr);
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
    {"Conv",            "1x3x8x8 4x3x3x3",   "strides=[0,0]",                           1, "stride"          },
    {"Conv",            "1x3x8x8 4x3x3x3",   "strides=[-1,1]",                          1, "stride"          },
    {"Conv",            "1x3x8x8 4x3x3x3",   "strides=[1]",                             1, "strides"         },
    {"Conv",            "1x3x8x8 4x3x3x3",   "pads=[-9,0,0,0]",                         1, "pad"             },
    {"Conv",            "1x3x8x8 4x3x3x3",   "pads=[9223372036854775807,0,1,0]",        1, "pad"             },
    {"Conv",            "1x3x8x8 4x3x3x3",   "dilations=[9223372036854775807,1]",       1, "dilation"        },
    {"Conv",            "1x3x8x8 4x3x3x3",   "dilations=[0,1]",                         1, "dilation"        },
    {"Conv",            "1x3x8x8 4x3x99x99", "",                                        1, "bad"             },
    {"Conv",            "1x3x8x8 4x3x3x3",   "group=0",                                 1, "group"           },
    {"Conv",            "1x3x8x8 4x3x3x3",   "group=2",                                 1, "channels"        },
    {"Conv",            "1x3x8x8 4x5x3x3",   "",                                        1, "channels"        },
    {"Conv",            "1x3x8x8",           "",                                        1, "input 1 is missing"},
    {"Conv",            "1x3 4x3",           "",                                        1, "dimensions"      },
    {"Conv",            "1x3x8x8 4x3x3x3",   "auto_pad='SOMEHOW'",                      1, "auto_pad"        },
    {"Conv",            "1x3x8x8 4x3x3x3",   "strides='2'",                             1, "strides"         },
    {"ConvTranspose",   "1x3x8x8 3x4x3x3",   "strides=[4611686018427387904,1]",         1, "too large"       },
    {"MaxPool",         "1x3x8x8",           "kernel_shape=[9223372036854775807,2]",    1, "kernel"          },
    {"MaxPool",         "1x3x8x8",           "",                                        1, "kernel_shape"    },
    {"AveragePool",     "1x3x8x8",           "kernel_shape=[0,2]",                      1, "kernel"          },
    /* sizes */
    {"Reshape",         "2x3 {4611686018427387904,4611686018427387904}", "",            1, "6 elements"      },
    {"Reshape",         "2x3 {-1,-1}",       "",                                        1, "-1"              },
    {"Reshape",         "2x3 {-7,1}",        "",                                        1, "-7"              },
    {"Reshape",         "2x3 {4}",           "",                                        1, "6 elements"      },
    {"Reshape",         "2x3 {0,0,0}",       "",                                        1, "0"               },
    {"Tile",            "2x3 {4611686018427387904,4611686018427387904}", "",            1, "too large"       },
    {"Tile",            "2x3 {-1,1}",        "",                                        1, "-1"              },
    {"Tile",            "2x3 {1}",           "",                                        1, "repeats"         },
    {"Expand",          "1x1 {4611686018427387904,4611686018427387904}", "",            1, "too large"       },
    {"Expand",          "2x3 {-5,3}",        "",                                        1, "-5"              },
    {"ConstantOfShape", "{4611686018427387904,16}", "",                                 1, "too large"       },
    {"ConstantOfShape", "{-1}",              "",                                        1, "-1"              },
    {"ConstantOfShape", "{1,1,1,1,1,1,1,1,1}", "",                                      1, "9 dimensions"    },
    {"Range",           "#0 #9223372036854775807 #1", "",                               1, "too large"       },
    {"Range",           "#0 #10 #0",         "",                                        1, "0"               },
    {"Pad",             "2x3 {9223372036854775807,0,9223372036854775807,0}", "",        1, "too large"       },
    {"Pad",             "2x3 {-5,0,0,0}",    "",                                        1, "-"               },
    {"Pad",             "2x3 {1}",           "",                                        1, "pads"            },
    {"Resize",          "1x3x4x4 _ _ {1,3,9223372036854775807,9223372036854775807}", "", 1, "too large"      },
    {"Resize",          "1x3x4x4 _ _ {1,3}", "",                                        1, "sizes"           },
    {"OneHot",          "i4 #4611686018427387904 2", "",                                1, "too large"       },
    {"OneHot",          "i4 #-3 2",          "",                                        1, "-3"              },
    {"TopK",            "2x3 {99}",          "",                                        2, "99"              },
    {"TopK",            "2x3 {-1}",          "",                                        2, "-1"              },
    {"DepthToSpace",    "1x8x2x2",           "blocksize=3037000500",                    1, "blocksize"       },
    {"DepthToSpace",    "1x8x2x2",           "blocksize=0",                             1, "blocksize"       },
    {"EyeLike",         "2x3x4",             "",                                        1, "dimensions"      },
    {"Unsqueeze",       "1x1x1x1x1x1x1x1 {0}", "",                                      1, "9"               },
    {"Compress",        "2x3 b7",            "axis=9",                                  1, "axis"            },
    /* axes and lists */
    {"Concat",          "2x3 2x3",           "axis=2",                                  1, "axis is 2"       },
    {"Concat",          "2x3 4x5",           "axis=0",                                  1, "bad"             },
    {"Concat",          "2x3 2x3",           "",                                        1, "axis"            },
    {"Concat",          "4611686018427387903 4611686018427387903", "axis=0",            1, "2^62"            },
    {"Split",           "6x2 {2,5}",         "axis=0",                                  2, "7"               },
    {"Split",           "6x2 {7,-1}",        "axis=0",                                  2, "-1"              },
    {"Split",           "6x2 {2,4}",         "axis=0",                                  3, "bad"             },
    {"Softmax",         "2x3",               "axis=-9223372036854775808",               1, "axis"            },
    {"Transpose",       "2x3",               "perm=[0,0]",                              1, "perm"            },
    {"Transpose",       "2x3",               "perm=[0,7]",                              1, "perm"            },
    {"Transpose",       "2x3",               "perm=1",                                  1, "perm"            },
    {"Squeeze",         "2x3 {0}",           "",                                        1, "2"               },
    {"ReduceSum",       "2x3 {5}",           "",                                        1, "axis"            },
    {"ReduceMean",      "2x3",               "axes=[9223372036854775807]",              1, "axis"            },
    {"Gather",          "2x3 #0",            "axis=3",                                  1, "axis"            },
    {"Slice",           "6 {0} {9} {7}",     "",                                        1, "axis"            },
    {"Slice",           "6 {0} {9} {0} {0}", "",                                        1, "0"               },
    {"Slice",           "6 {0,1} {9}",       "",                                        1, "bad"             },
    {"Slice",           "6 {-9223372036854775808} {9223372036854775807} {0} {-9223372036854775808}", "", 1, NULL},
    /* matrices */
    {"Gemm",            "2x3 4x5",           "",                                        1, "3"               },
    {"Gemm",            "2x3x4 4x5",         "",                                        1, "dimensions"      },
    {"Gemm",            "2x3 3x5 7",         "",                                        1, "7"               },
    {"MatMul",          "2x3 4x5",           "",                                        1, "3"               },
    {"MatMul",          "s 4x5",             "",                                        1, "bad"             },
    {"MatMul",          "4194304x4194304 4194304x4194304", "",                          1, "2^62 operations" },
    {"Add",             "2x3 4x5",           "",                                        1, "do not broadcast"},
    {"Einsum",          "2x3 3x4",           "equation='ij,jk->i->k'",                  1, "equation"        },
    {"Einsum",          "2x3 3x4",           "equation='ij'",                           1, "bad"             },
    {"Einsum",          "2x3 3x4",           "equation='ijk,jk->i'",                    1, "bad"             },
    {"Einsum",          "2x3 3x4",           "equation='ij,jk->iz'",                    1, "z"               },
    {"Einsum",          "2x3 3x4",           "equation='ij,ij->ij'",                    1, "bad"             },
    {"Einsum",          "2x3 3x4",           "equation='......,ij->'",                  1, "bad"             },
    {"Einsum",          "2x3 3x4",           "equation='i1,\x01j->%'",                  1, "equation"        },
    {"Einsum",          "2x3",               "equation=''",                             1, "bad"             },
    {"Einsum",          "2x3",               "",                                        1, "equation"        },
    {"LSTM",            "5x2x3 1x16x9 1x16x4", "hidden_size=4",                         1, "bad"             },
    {"LSTM",            "5x2 1x16x3 1x16x4", "hidden_size=4",                           1, "dimensions"      },
    {"LSTM",            "5x2x3 1x16x3 1x16x4", "hidden_size=4 direction='sideways'",    1, "direction"       },
    /* kinds of attributes and arity */
    {"Softmax",         "2x3",               "axis=[1]",                                1, "axis"            },
    {"Softmax",         "2x3",               "axis='one'",                              1, "axis"            },
    {"Cast",            "2x3",               "to=99",                                   1, "99"              },
    {"Cast",            "2x3",               "to=~",                                    1, "'to'"            },
    {"Relu",            "2x3 2x3",           "",                                        1, "at most 1"       },
    {"Relu",            "",                  "",                                        1, "input 0 is missing"},
    {"Relu",            "2x3",               "",                                        2, "outputs"         },
    {"Add",             "2x3 _",             "",                                        1, "input 1 is missing"},
    {"Constant",        "",                  "",                                        1, "value"           },
    {"If",              "b1",                "",                                        1, "then_branch"     },
    {"Loop",            "_ _ 2x3",           "",                                        1, "body"            },
    {"Scan",            "2x3",               "num_scan_inputs=1",                       1, "body"            },
};

TEST(operators_with_absurd_operands_or_attributes)
{
    int n_wrong = 0;

    for (size_t i = 0; i < sizeof op_cases / sizeof *op_cases; i++) {
        const op_case *c = &op_cases[i];
        weft_arena *a = weft_arena_new();
        weft_wire_out o;

        write_case(c, a, &o);
        if (getenv("SURVEY")) {
            weft_model *m = NULL;
            weft_status s = weft_onnx_import(o.at, o.n, "f", NULL, &m);
            bool good = s == (c->words ? WEFT_E_INPUT : WEFT_OK) && (!c->words || strstr(weft_message(), c->words));
            if (!good) printf("%s | %s | %s | want %s: %s\n", c->op, c->operands, c->attributes, c->words ? c->words : "OK", s ? weft_message() : "ACCEPTED"), n_wrong++;
            if (s == WEFT_OK) weft_model_free(m);
            weft_arena_free(a);
            continue;
        }
        if (c->words)
            refuse(&o, c->words);
        else
            accept(&o, 1);
        weft_arena_free(a);
    }
    CHECK_INT(n_wrong, 0);
}
