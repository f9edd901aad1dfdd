/* SPDX-License-Identifier: MIT */
/* test_hostile.c: files that nobody should have written.
 *
 * Each case makes a file, opens it the way a user does and checks the answer: wrong input, told in
 * one line that begins with the name of the file, names it once and says what is wrong; or, where
 * the file is odd but legal, a graph that keeps its invariants. Small files that ask for endless
 * work have to be answered within SECONDS of processor time. */
#define _POSIX_C_SOURCE 200809L
#include "hostile.h"

#include <sys/stat.h>
#include <time.h>

/* --- files that are no models ---------------------------------------------------------------- */

TEST(files_of_other_kinds_are_told_apart)
{
    static const struct {
        size_t n;
        const char *bytes, *words;
    } cases[] = {
        {0,  "",                                                 "is empty"              },
        {12, "\x89PNG\r\n\x1a\n\0\0\0\r",                        "is a PNG image"        },
        {8,  "PK\3\4\x14\0\0\0",                                 "is a ZIP archive"      },
        {8,  "\x1f\x8b\x08\0\0\0\0\0",                           "compressed with gzip"  },
        {17, "{\"graph\": [1, 2]}",                              "is a JSON file"        },
        {20, "ir_version: 8 graph {",                            "is a text file"        },
        {46, "version https://git-lfs.github.com/spec/v1\noid ", "is a Git LFS pointer"  },
        {15, "<!DOCTYPE html>",                                  "is an HTML or XML file"},
        {2,  "\x08\x08",                                         "it has no graph"       },
        {2,  "\x08\x80",                                         "cut off"               },
        {12, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "more than 64 bits"     },
        {4,  "\x08\x08\x3a\x7f",                                 "announces 127 bytes"   },
        {4,  "\x08\x08\x3b\x3c",                                 "encoding 3"            },
        {3,  "\x08\x08\x38",                                     "cut off"               },
        {4,  "\x08\x08\x38\x01",                                 "field 7 is not"        },
        {3,  "\x08\x08\x01",                                     "field number 0"        },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuse_bytes(cases[i].bytes, cases[i].n, cases[i].words);
}

TEST(what_is_not_a_regular_file_is_refused_at_once)
{
    place p = new_place();
    char other[128];

    alarm(30); /* a test that waits for a writer would wait for ever */
    assert_int_equal(mkfifo(p.file, 0600), 0);
    refuse_file(p.file, "is not a regular file");
    refuse_file("/dev/zero", "is not a regular file");
    snprintf(other, sizeof other, "%s/", p.folder);
    refuse_file(other, "is a directory");
    snprintf(other, sizeof other, "%s/missing.onnx", p.folder);
    refuse_file(other, "No such file");
    alarm(0);
    remove_place(&p);
}

TEST(a_model_cut_off_anywhere_is_refused)
{
    weft_file f;

    CHECK_OK(weft_file_open(WEFT_TEST_DATA "/onnx/small_mlp_packed.onnx", &f));
    for (size_t n = 0; n < f.size; n += n < 300 || n + 300 > f.size ? 1 : 997)
        refuse_bytes(f.data, n, "");
    weft_file_close(&f);
}

/* Whatever bytes are changed: a sound graph, or one line that names the file. */
TEST(a_model_with_random_damage_is_read_or_refused)
{
    weft_rng rng = weft_rng_seed(7);
    int n_refused = 0;
    weft_file f;

    CHECK_OK(weft_file_open(WEFT_TEST_DATA "/onnx/every_field.onnx", &f));
    for (int round = 0; round < 2000; round++) {
        weft_arena *a = weft_arena_new();
        uint8_t *copy = weft_arena_copy(a, f.data, f.size);
        weft_model *m = NULL;

        for (int i = 1 + weft_rng_below(&rng, 4); i > 0; i--)
            copy[weft_rng_below(&rng, (int)f.size)] = (uint8_t)weft_rng_below(&rng, 256);
        if (weft_onnx_import(copy, f.size, "net.onnx", NULL, &m) == WEFT_OK) {
            weft_graph_check(m->graph);
            weft_model_free(m);
        } else {
            check_message("net.onnx", "");
            n_refused++;
        }
        weft_arena_free(a);
    }
    CHECK(n_refused > 100);
    weft_file_close(&f);
}

/* --- graphs ---------------------------------------------------------------------------------- */

TEST(cycles_missing_and_doubled_tensors)
{
    static const struct {
        const char *from[3], *to[3]; /* operands and results of three nodes; NULL: no more nodes */
        const char *output, *words;
    } cases[] = {
        {{"x", "c", "b"},        {"a", "b", "c"},    "a", "cycle"                               },
        {{"y", NULL, NULL},      {"y", NULL, NULL},  "y", "cycle"                               },
        {{"x", "nowhere", NULL}, {"a", "b", NULL},   "b", "reads 'nowhere', which nothing makes"},
        {{"x", "x", NULL},       {"a", "a", NULL},   "a", "'a' is made twice"                   },
        {{"x", NULL, NULL},      {"x", NULL, NULL},  "x", "'x'"                                 },
        {{"x", NULL, NULL},      {"a", NULL, NULL},  "b", "output 'b' is made by no node"       },
        {{NULL, NULL, NULL},     {NULL, NULL, NULL}, "x", "no nodes"                            },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weft_arena *a = weft_arena_new();
        weft_wire_out o;
        size_t graph = begin_model(&o, a);

        put_input(&o, "x", 2, 3);
        for (int k = 0; k < 3 && cases[i].from[k]; k++)
            put_node(&o, "Relu", cases[i].from[k], cases[i].to[k]);
        put_output(&o, cases[i].output);
        weft_wire_end(&o, graph);
        refuse(&o, cases[i].words);
        weft_arena_free(a);
    }
}

/* One node on an input of the given type and shape. */
static void refuse_input(int type, const int64_t *dim, int n_dims, const char *words)
{
    weft_arena *a = weft_arena_new();
    weft_wire_out o;
    size_t graph = begin_model(&o, a);

    put_value(&o, ONNX_GRAPH_INPUT, "x", type, dim, n_dims);
    put_node(&o, "Relu", "x", "y");
    weft_wire_end(&o, graph);
    refuse(&o, words);
    weft_arena_free(a);
}

TEST(inputs_with_absurd_types_and_shapes)
{
    static const int64_t ones[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, negative[] = {2, -3};
    static const int64_t huge[] = {(int64_t)1 << 32, (int64_t)1 << 32}, most[] = {INT64_MAX};

    refuse_input(WEFT_F32, ones, 9, "input 'x' has 9 dimensions, expected at most 8");
    refuse_input(WEFT_F32, negative, 2, "unknown dimension 'x.1'");
    refuse_input(WEFT_F32, huge, 2, "more than 2^62 bytes"); /* 2^32 * 2^32 overflows 64 bits */
    refuse_input(WEFT_F32, most, 1, "more than 2^62 bytes");
    refuse_input(77, ones, 1, "unknown element type 77");
    refuse_input(0, NULL, 0, "is not a tensor");
}

TEST(two_inputs_of_one_name_are_refused)
{
    weft_arena *a = weft_arena_new();
    weft_wire_out o;
    size_t graph = begin_model(&o, a);

    put_input(&o, "x", 2, 3);
    put_input(&o, "x", 4, 5);
    put_node(&o, "Relu", "x", "y");
    weft_wire_end(&o, graph);
    refuse(&o, "'x'");
    weft_arena_free(a);
}

/* --- weights --------------------------------------------------------------------------------- */

/* A weight "w" added to an input; the fields after type and name are the caller's. */
typedef struct weight_case {
    int type;
    int64_t dim[2];
    int n_raw; /* bytes of raw_data; 0: none */
    const char *location, *offset;
    const char *words;
} weight_case;

static void put_entry(weft_wire_out *o, const char *key, const char *value)
{
    size_t entry = weft_wire_begin(o, ONNX_TENSOR_EXTERNAL);

    put_text(o, ONNX_ENTRY_KEY, key);
    put_text(o, ONNX_ENTRY_VALUE, value);
    weft_wire_end(o, entry);
}

static void write_weight(const weight_case *c, weft_wire_out *o)
{
    size_t tensor = weft_wire_begin(o, ONNX_GRAPH_INITIALIZER);
    uint8_t zeros[64] = {0};

    put_text(o, ONNX_TENSOR_NAME, "w");
    weft_wire_put_varint(o, ONNX_TENSOR_DATA_TYPE, (uint64_t)c->type);
    for (int d = 0; d < 2; d++)
        weft_wire_put_varint(o, ONNX_TENSOR_DIMS, (uint64_t)c->dim[d]);
    if (c->n_raw > 0)
        weft_wire_put_bytes(o, ONNX_TENSOR_RAW, zeros, (size_t)c->n_raw);
    if (c->location) {
        weft_wire_put_varint(o, ONNX_TENSOR_DATA_LOCATION, ONNX_LOCATION_EXTERNAL);
        put_entry(o, "location", c->location);
        put_entry(o, "offset", c->offset);
    }
    weft_wire_end(o, tensor);
}

TEST(weights_that_do_not_fit_their_data)
{
    static const int64_t large = (int64_t)1 << 40;
    const weight_case cases[] = {
        {WEFT_F32, {2, 3},         23, NULL,            NULL,                   "have 23 bytes"                 },
        {WEFT_F32, {2, 3},         28, NULL,            NULL,                   "ask for 24"                    },
        {WEFT_F32, {2, -3},        24, NULL,            NULL,                   "dimension 1 is -3"             },
        {WEFT_F32, {large, large}, 24, NULL,            NULL,                   "multiply to more than"         },
        {WEFT_F32, {large, large}, 0,  NULL,            NULL,                   "multiply to more than"         },
        {99,       {2, 3},         24, NULL,            NULL,                   "unknown element type 99"       },
        {WEFT_F32, {2, 3},         0,  "../w.data",     "0",                    "folder of the model"           },
        {WEFT_F32, {2, 3},         0,  "a/../../w",     "0",                    "folder of the model"           },
        {WEFT_F32, {2, 3},         0,  "/etc/passwd",   "0",                    "folder of the model"           },
        {WEFT_F32, {2, 3},         0,  "net.onnx",      "-1",                   "expected a number of bytes"    },
        {WEFT_F32, {2, 3},         0,  "net.onnx",      "99999999999999999999", "number of bytes"               },
        {WEFT_F32, {2, 3},         0,  "net.onnx",      "99999",                "needs 24 bytes from byte 99999"},
        {WEFT_F32, {2, 3},         0,  "../net.onnx\n", "0",                    "folder of the model"           },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weft_arena *a = weft_arena_new();
        weft_wire_out o;
        size_t graph = begin_model(&o, a);

        put_input(&o, "x", 2, 3);
        write_weight(&cases[i], &o);
        size_t node = begin_node(&o, ONNX_GRAPH_NODE, "Add", "x", "y");
        put_text(&o, ONNX_NODE_INPUT, "w");
        weft_wire_end(&o, node);
        weft_wire_end(&o, graph);
        refuse(&o, cases[i].words);
        weft_arena_free(a);
    }
}

/* --- names ----------------------------------------------------------------------------------- */

/* A node and its result called `name`; it reads `from`. */
static void write_named(const char *name, size_t n, const char *from, weft_arena *a,
                        weft_wire_out *o)
{
    size_t graph = begin_model(o, a), node;

    put_input(o, "x", 2, 3);
    node = begin_node(o, ONNX_GRAPH_NODE, "Relu", from, NULL);
    weft_wire_put_bytes(o, ONNX_NODE_NAME, name, n);
    weft_wire_put_bytes(o, ONNX_NODE_OUTPUT, name, n);
    weft_wire_end(o, node);
    weft_wire_end(o, graph);
}

static void check_printable(const weft_model *m, weft_arena *a)
{
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);

    assert_non_null(to);
    weft_summary_text(weft_summarize(m, a), true, 80, to);
    fclose(to);
    for (size_t i = 0; i < n; i++)
        CHECK(text[i] == '\n' || ((unsigned char)text[i] >= 0x20 && text[i] != 0x7f));
    free(text);
}

/* Names that would clear the screen, forge a line or break JSON if they were printed as they are.
 */
TEST(names_with_control_characters_stay_harmless)
{
    static const char *const names[] = {"a\nweft: forged", "\x1b[2Jgone", "\a\b\x7f",
                                        "\xff\xfe\xc0",    "\"},{\"",     "%s%n%n"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        weft_arena *a = weft_arena_new();
        weft_wire_out o;
        weft_model *m = NULL;
        const weft_doc *again;
        const char *json;

        write_named(names[i], strlen(names[i]), "x", a, &o);
        accept(&o, 1);
        CHECK_OK(weft_onnx_import(o.at, o.n, "net.onnx", NULL, &m));
        check_printable(m, a);
        json = weft_doc_json(weft_summary_doc(weft_summarize(m, a), true, a), 2, a);
        CHECK_OK(weft_doc_parse(json, strlen(json), "output", a, &again));
        weft_model_free(m);
        write_named(names[i], strlen(names[i]), "nowhere", a, &o);
        refuse(&o, "reads 'nowhere'");
        weft_arena_free(a);
    }
}

TEST(names_with_nul_bytes_and_endless_names_are_refused)
{
    weft_arena *a = weft_arena_new();
    char *endless = weft_arena_alloc(a, 70000);
    weft_wire_out o;

    write_named("a\0b", 3, "x", a, &o);
    refuse(&o, "NUL byte");
    memset(endless, 'n', 70000);
    write_named(endless, 70000, "x", a, &o);
    refuse(&o, "has 70000 bytes, expected at most 65535");
    weft_arena_free(a);
}

/* --- small files that ask for endless work --------------------------------------------------- */

/* `depth` operators, each in the body of the one before. Lengths are known from the inside out, so
 * the document is built from its end: `inside` is the innermost graph. */
static weft_wire_out nest(weft_arena *a, const char *op, const char *attr, int depth,
                          weft_wire_out inside)
{
    for (int i = 0; i < depth; i++) {
        weft_wire_out o = {a, NULL, 0, 0};
        size_t node = begin_node(&o, ONNX_GRAPH_NODE, op, NULL, NULL), part;

        part = weft_wire_begin(&o, ONNX_NODE_ATTR);
        put_text(&o, ONNX_ATTR_NAME, attr);
        weft_wire_put_varint(&o, ONNX_ATTR_KIND, WEFT_ONNX_GRAPH);
        weft_wire_put_bytes(&o, ONNX_ATTR_G, inside.at, inside.n);
        weft_wire_end(&o, part);
        weft_wire_end(&o, node);
        inside = o;
    }
    return inside;
}

TEST(thirty_thousand_nested_sub_graphs_are_refused)
{
    enum { DEPTH = 30000, HEAD = 24 }; /* bytes of tags and lengths a level, at most */
    weft_arena *a = weft_arena_new();
    uint8_t *end = (uint8_t *)weft_arena_alloc(a, DEPTH * HEAD) + DEPTH * HEAD, *at = end;

    for (int i = 0; i < DEPTH; i++) { /* written backwards: each level goes in front of its body */
        static const int field[] = {ONNX_ATTR_G, ONNX_NODE_ATTR, ONNX_GRAPH_NODE};

        for (int k = 0; k < 3; k++) {
            weft_arena *scratch = weft_arena_new();
            weft_wire_out o = {scratch, NULL, 0, 0};

            weft_wire_put_varint(&o, 0, (uint64_t)field[k] << 3 | WEFT_WIRE_BYTES);
            weft_wire_put_varint(&o, 0, (uint64_t)(end - at));
            at -= o.n;
            memcpy(at, o.at, o.n);
            weft_arena_free(scratch);
        }
    }
    weft_wire_out model = {a, NULL, 0, 0};
    put_opset(&model, ONNX_MODEL_OPSET, "", 17);
    weft_wire_put_bytes(&model, ONNX_MODEL_GRAPH, at, (size_t)(end - at));
    refuse(&model, "sub-graphs nest more than 64 deep");
    weft_arena_free(a);
}

static void put_graph(weft_wire_out *o, const char *name, const weft_wire_out *body)
{
    size_t attr = weft_wire_begin(o, ONNX_NODE_ATTR);

    put_text(o, ONNX_ATTR_NAME, name);
    weft_wire_put_varint(o, ONNX_ATTR_KIND, WEFT_ONNX_GRAPH);
    weft_wire_put_bytes(o, ONNX_ATTR_G, body->at, body->n);
    weft_wire_end(o, attr);
}

static void put_body(weft_wire_out *o, const weft_wire_out *body)
{
    put_graph(o, "body", body);
}

/* A name of its own at each level, as sub-graphs must have. */
static const char *at_level(weft_arena *a, const char *name, int level)
{
    return weft_arena_print(a, "%s%d", name, level);
}

/* A loop body whose carried value grows on the way out, so that each level runs twice: 2^60 runs
 * if nobody counted. */
static void write_loop_body(weft_wire_out *o, int level, const weft_wire_out *inside)
{
    const char *state = at_level(o->arena, "s", level), *half = at_level(o->arena, "t", level);
    const char *condition = at_level(o->arena, "c", level), *whole = at_level(o->arena, "u", level);
    size_t node;

    put_value(o, ONNX_GRAPH_INPUT, at_level(o->arena, "i", level), WEFT_I64, NULL, 0);
    put_value(o, ONNX_GRAPH_INPUT, condition, WEFT_BOOL, NULL, 0);
    put_value(o, ONNX_GRAPH_INPUT, state, 0, NULL, 0);
    node = begin_node(o, ONNX_GRAPH_NODE, inside ? "Loop" : "Relu", inside ? "" : NULL, half);
    if (inside) {
        put_text(o, ONNX_NODE_INPUT, "");
        put_body(o, inside);
    }
    put_text(o, ONNX_NODE_INPUT, state);
    weft_wire_end(o, node);
    node = begin_node(o, ONNX_GRAPH_NODE, "Concat", half, whole);
    put_text(o, ONNX_NODE_INPUT, half);
    attribute(o, &(const char *){"axis=0"});
    weft_wire_end(o, node);
    put_output(o, condition);
    put_output(o, whole);
}

TEST(sixty_nested_loops_take_no_time)
{
    weft_arena *a = weft_arena_new();
    weft_wire_out inside = {a, NULL, 0, 0}, o;
    size_t graph, node;

    write_loop_body(&inside, 0, NULL);
    for (int i = 1; i < 60; i++) {
        weft_wire_out level = {a, NULL, 0, 0};

        write_loop_body(&level, i, &inside);
        inside = level;
    }
    graph = begin_model(&o, a);
    put_input(&o, "x", 2, 3);
    node = begin_node(&o, ONNX_GRAPH_NODE, "Loop", "", "y");
    put_text(&o, ONNX_NODE_INPUT, "");
    put_text(&o, ONNX_NODE_INPUT, "x");
    put_body(&o, &inside);
    weft_wire_end(&o, node);
    weft_wire_end(&o, graph);
    accept(&o, 1);
    weft_arena_free(a);
}

TEST(an_if_without_branches_at_the_bottom_of_many)
{
    weft_arena *a = weft_arena_new();
    weft_wire_out none = {a, NULL, 0, 0}, o = none;
    weft_wire_out inside = nest(a, "If", "then_branch", 50, none);

    put_opset(&o, ONNX_MODEL_OPSET, "", 17);
    weft_wire_put_bytes(&o, ONNX_MODEL_GRAPH, inside.at, inside.n);
    refuse(&o, "attribute 'else_branch' is missing");
    weft_arena_free(a);
}

/* A sub-graph of one node, `op` of a domain with the operands c and x or only x, that makes `to`.
 */
static weft_wire_out one_node(weft_arena *a, const char *op, const char *domain, const char *to)
{
    weft_wire_out o = {a, NULL, 0, 0};
    size_t node = begin_node(&o, ONNX_GRAPH_NODE, op, *domain ? "c" : "x", to);

    if (*domain) {
        put_text(&o, ONNX_NODE_INPUT, "x");
        put_text(&o, ONNX_NODE_DOMAIN, domain);
    }
    weft_wire_end(&o, node);
    put_output(&o, to);
    return o;
}

static void put_branches(weft_wire_out *o, const weft_wire_out *yes, const weft_wire_out *no)
{
    put_graph(o, "then_branch", yes);
    put_graph(o, "else_branch", no);
}

/* Function `number` is an If. */
static void write_choice(weft_wire_out *o, int number, const weft_wire_out *yes,
                         const weft_wire_out *no)
{
    size_t function = weft_wire_begin(o, ONNX_MODEL_FUNCTION), node;

    put_text(o, ONNX_FUNCTION_NAME, at_level(o->arena, "f", number));
    put_text(o, ONNX_FUNCTION_DOMAIN, "local");
    put_text(o, ONNX_FUNCTION_INPUT, "c");
    put_text(o, ONNX_FUNCTION_INPUT, "x");
    put_text(o, ONNX_FUNCTION_OUTPUT, "y");
    put_opset(o, ONNX_FUNCTION_OPSET, "", 17);
    node = begin_node(o, ONNX_FUNCTION_NODE, "If", "c", "y");
    put_branches(o, yes, no);
    weft_wire_end(o, node);
    weft_wire_end(o, function);
}

/* `depth` functions, both branches of each call the next; those of the last are leaves. */
static void write_choices(weft_wire_out *o, weft_arena *a, int depth, const weft_wire_out *leaf)
{
    size_t graph = begin_model(o, a), node;

    put_value(o, ONNX_GRAPH_INPUT, "c", WEFT_BOOL, NULL, 0);
    put_input(o, "x", 2, 3);
    node = begin_node(o, ONNX_GRAPH_NODE, "f0", "c", "y");
    put_text(o, ONNX_NODE_INPUT, "x");
    put_text(o, ONNX_NODE_DOMAIN, "local");
    weft_wire_end(o, node);
    weft_wire_end(o, graph);
    for (int i = 0; i + 1 < depth; i++) {
        const char *next = at_level(a, "f", i + 1);
        weft_wire_out yes = one_node(a, next, "local", "p"), no = one_node(a, next, "local", "q");

        write_choice(o, i, &yes, &no);
    }
    write_choice(o, depth - 1, leaf, leaf);
}

/* 2^8 bodies are fine; of 2^16 and 2^30 the first ten thousand are met, not 128 MB of them. */
TEST(choices_that_multiply_are_refused_early)
{
    static const int depth[] = {16, 20, 30};
    weft_arena *a = weft_arena_new();
    weft_wire_out o, leaf = one_node(a, "Relu", "", "p");

    write_choices(&o, a, 8, &leaf);
    accept(&o, 1);
    for (int i = 0; i < 3; i++) {
        write_choices(&o, a, depth[i], &leaf);
        refuse(&o, "unfold to more than 10000 sub-graphs");
    }
    weft_arena_free(a);
}

/* 2^12 bodies with a list of 20,000 declarations, all of one name. */
TEST(lists_of_bodies_count_as_nodes)
{
    weft_arena *a = weft_arena_new();
    weft_wire_out o, leaf = one_node(a, "Relu", "", "p");

    for (int i = 0; i < 20000; i++)
        put_value(&leaf, ONNX_GRAPH_VALUE, "v", WEFT_F32, NULL, 0);
    write_choices(&o, a, 12, &leaf);
    refuse(&o, "more than 1000000 nodes");
    weft_arena_free(a);
}

/* Sixteen choices inside each other, with 50,000 nodes in the innermost. Whoever looks through all
 * of them at each level takes 16 times as long and more memory than there may be. */
TEST(a_large_body_at_the_bottom_of_many)
{
    enum { N = 50000, DEPTH = 16 };
    weft_arena *a = weft_arena_new();
    weft_wire_out inside = {a, NULL, 0, 0}, o;
    size_t graph, node;

    for (int i = 0; i < N; i++)
        put_node(&inside, "Relu", "x", at_level(a, "leaf", i));
    put_output(&inside, "leaf0");
    for (int i = 0; i < DEPTH; i++) {
        weft_wire_out level = {a, NULL, 0, 0}, no = one_node(a, "Relu", "", at_level(a, "no", i));

        node = begin_node(&level, ONNX_GRAPH_NODE, "If", "c", at_level(a, "level", i));
        put_branches(&level, &inside, &no);
        weft_wire_end(&level, node);
        put_output(&level, at_level(a, "level", i));
        inside = level;
    }
    graph = begin_model(&o, a);
    put_value(&o, ONNX_GRAPH_INPUT, "c", WEFT_BOOL, NULL, 0);
    put_input(&o, "x", 2, 3);
    node = begin_node(&o, ONNX_GRAPH_NODE, "If", "c", "y");
    put_branches(&o, &inside, &inside);
    weft_wire_end(&o, node);
    weft_wire_end(&o, graph);
    accept(&o, 1);
    weft_arena_free(a);
}

/* Function `number` calls function `called` ten times in a row; -1: a Relu. */
static void write_function(weft_wire_out *o, int number, int called)
{
    size_t function = weft_wire_begin(o, ONNX_MODEL_FUNCTION);
    char text[32], other[32];

    snprintf(text, sizeof text, "f%d", number);
    put_text(o, ONNX_FUNCTION_NAME, text);
    put_text(o, ONNX_FUNCTION_DOMAIN, "local");
    put_text(o, ONNX_FUNCTION_INPUT, "t0");
    put_text(o, ONNX_FUNCTION_OUTPUT, "t10");
    put_opset(o, ONNX_FUNCTION_OPSET, "", 17);
    for (int i = 0; i < 10; i++) {
        size_t node;

        snprintf(text, sizeof text, "t%d", i);
        snprintf(other, sizeof other, "t%d", i + 1);
        node = begin_node(o, ONNX_FUNCTION_NODE, "Relu", text, other);
        if (called >= 0) {
            snprintf(text, sizeof text, "f%d", called);
            put_text(o, ONNX_NODE_OP_TYPE, text); /* the last one counts */
            put_text(o, ONNX_NODE_DOMAIN, "local");
        }
        weft_wire_end(o, node);
    }
    weft_wire_end(o, function);
}

static void write_call(weft_wire_out *o, weft_arena *a, const char *function)
{
    size_t graph = begin_model(o, a), node;

    put_input(o, "x", 2, 3);
    node = begin_node(o, ONNX_GRAPH_NODE, function, "x", "y");
    put_text(o, ONNX_NODE_DOMAIN, "local");
    weft_wire_end(o, node);
    weft_wire_end(o, graph);
}

TEST(functions_that_call_themselves_are_refused)
{
    weft_arena *a = weft_arena_new();
    weft_wire_out o;

    write_call(&o, a, "f0");
    write_function(&o, 0, 0);
    refuse(&o, "function 'f0' is called more than 64 levels deep");
    weft_arena_free(a);
}

/* 10^2 nodes are fine, 10^40 are not, and nobody tries them all. */
TEST(functions_that_multiply_are_refused_early)
{
    weft_arena *a = weft_arena_new();
    weft_wire_out o;

    write_call(&o, a, "f1");
    for (int i = 0; i < 2; i++)
        write_function(&o, i, i - 1);
    accept(&o, 100);
    write_call(&o, a, "f39");
    for (int i = 0; i < 40; i++)
        write_function(&o, i, i - 1);
    refuse(&o, "unfold to more than 128 MB");
    weft_arena_free(a);
}

/* --- large files are read in no time --------------------------------------------------------- */

/* n nodes in a row, the last one first in the file if `is_reversed`. */
static void write_chain(weft_wire_out *o, weft_arena *a, int n, bool is_reversed)
{
    size_t graph = begin_model(o, a);
    char from[32], to[32];

    put_input(o, "t0", 2, 3);
    for (int i = 0; i < n; i++) {
        int k = is_reversed ? n - 1 - i : i;

        snprintf(from, sizeof from, "t%d", k);
        snprintf(to, sizeof to, "t%d", k + 1);
        put_node(o, "Relu", from, to);
    }
    put_output(o, is_reversed ? "t1" : to);
    weft_wire_end(o, graph);
}

TEST(a_chain_of_100000_nodes_in_either_order)
{
    for (int is_reversed = 0; is_reversed < 2; is_reversed++) {
        weft_arena *a = weft_arena_new();
        weft_wire_out o;

        write_chain(&o, a, 100000, is_reversed);
        accept(&o, 100000);
        weft_arena_free(a);
    }
}

TEST(a_node_that_reads_a_tensor_10000_times)
{
    weft_arena *a = weft_arena_new();
    weft_wire_out o;
    size_t graph = begin_model(&o, a), node;

    put_input(&o, "x", 2, 3);
    node = begin_node(&o, ONNX_GRAPH_NODE, "Sum", NULL, "y");
    for (int i = 0; i < 10000; i++)
        put_text(&o, ONNX_NODE_INPUT, "x");
    weft_wire_end(&o, node);
    weft_wire_end(&o, graph);
    accept(&o, 1);
    weft_arena_free(a);
}

/* 50,000 operators nobody knows, each with an output, and one node that reads many of them, the
 * last one first. Whatever looks at all pairs takes minutes. */
TEST(many_operators_outputs_and_operands)
{
    enum { N = 50000, N_READ = 5000 };
    weft_arena *a = weft_arena_new();
    weft_wire_out o;
    size_t graph = begin_model(&o, a), node;
    char text[32];

    put_input(&o, "x", 2, 3);
    for (int i = 0; i < N; i++) {
        snprintf(text, sizeof text, "Unknown%d", i);
        put_node(&o, text, "x", text);
        put_output(&o, text);
    }
    node = begin_node(&o, ONNX_GRAPH_NODE, "Gatherer", NULL, "y");
    for (int i = N_READ - 1; i >= 0; i--) {
        snprintf(text, sizeof text, "Unknown%d", i);
        put_text(&o, ONNX_NODE_INPUT, text);
    }
    weft_wire_end(&o, node);
    weft_wire_end(&o, graph);
    accept(&o, N + 1);
    weft_arena_free(a);
}

/* A function for each node, all of one name: only their overloads differ. */
static void write_overloads(weft_wire_out *o, weft_arena *a, int n)
{
    size_t graph = begin_model(o, a), part, node;

    put_input(o, "x", 2, 3);
    for (int i = 0; i < n; i++) {
        node = begin_node(o, ONNX_GRAPH_NODE, "f", "x", at_level(a, "y", i));
        put_text(o, ONNX_NODE_DOMAIN, "local");
        put_text(o, ONNX_NODE_OVERLOAD, at_level(a, "o", n + i));
        weft_wire_end(o, node);
    }
    weft_wire_end(o, graph);
    for (int i = 0; i < n; i++) {
        part = weft_wire_begin(o, ONNX_MODEL_FUNCTION);
        put_text(o, ONNX_FUNCTION_NAME, "f");
        put_text(o, ONNX_FUNCTION_DOMAIN, "local");
        put_text(o, ONNX_FUNCTION_OVERLOAD, at_level(a, "o", n + i));
        put_text(o, ONNX_FUNCTION_INPUT, "x");
        put_text(o, ONNX_FUNCTION_OUTPUT, "y");
        put_opset(o, ONNX_FUNCTION_OPSET, "", 17);
        weft_wire_end(o, begin_node(o, ONNX_FUNCTION_NODE, "Relu", "x", "y"));
        weft_wire_end(o, part);
    }
}

/* A function with as many results as nodes. */
static void write_wide_function(weft_wire_out *o, weft_arena *a, int n)
{
    size_t graph = begin_model(o, a), part, node;

    put_input(o, "x", 2, 3);
    node = begin_node(o, ONNX_GRAPH_NODE, "f", "x", "y");
    put_text(o, ONNX_NODE_DOMAIN, "local");
    for (int i = 1; i < n; i++)
        put_text(o, ONNX_NODE_OUTPUT, at_level(a, "y", n + i));
    weft_wire_end(o, node);
    weft_wire_end(o, graph);
    part = weft_wire_begin(o, ONNX_MODEL_FUNCTION);
    put_text(o, ONNX_FUNCTION_NAME, "f");
    put_text(o, ONNX_FUNCTION_DOMAIN, "local");
    put_text(o, ONNX_FUNCTION_INPUT, "x");
    put_opset(o, ONNX_FUNCTION_OPSET, "", 17);
    for (int i = 0; i < n; i++) {
        put_text(o, ONNX_FUNCTION_OUTPUT, at_level(a, "t", n + i));
        weft_wire_end(o, begin_node(o, ONNX_FUNCTION_NODE, "Relu", "x", at_level(a, "t", n + i)));
    }
    weft_wire_end(o, part);
}

/* Processor time: whoever looks at all pairs takes a minute for each. */
TEST(many_functions_of_one_name_and_many_results_of_one)
{
    enum { N = 100000, MOST_S = 30 };
    clock_t begin = clock();
    weft_arena *a = weft_arena_new();
    weft_wire_out o;

    write_overloads(&o, a, N);
    accept(&o, N);
    write_wide_function(&o, a, N);
    accept(&o, N);
    CHECK((clock() - begin) / CLOCKS_PER_SEC < MOST_S);
    weft_arena_free(a);
}

TEST(a_thousand_operator_sets_are_enough)
{
    weft_arena *a = weft_arena_new();

    for (int n = 998; n <= 999; n++) {
        weft_wire_out o;
        size_t graph = begin_model(&o, a); /* names two */

        put_input(&o, "x", 2, 3);
        put_node(&o, "Relu", "x", "y");
        weft_wire_end(&o, graph);
        for (int i = 0; i < n; i++)
            put_opset(&o, ONNX_MODEL_OPSET, at_level(a, "domain", i), 1);
        if (n == 998)
            accept(&o, 1);
        else
            refuse(&o, "1001 operator sets are named (opset_import), expected at most 1000");
    }
    weft_arena_free(a);
}

TEST(a_million_empty_attributes_are_refused)
{
    weft_arena *a = weft_arena_new();
    weft_wire_out o;
    size_t graph = begin_model(&o, a), node;

    put_input(&o, "x", 2, 3);
    node = begin_node(&o, ONNX_GRAPH_NODE, "Relu", "x", "y");
    for (int i = 0; i < 1000000; i++)
        weft_wire_put_bytes(&o, ONNX_NODE_ATTR, "", 0);
    weft_wire_end(&o, node);
    weft_wire_end(&o, graph);
    refuse(&o, "a node has 1000000 attributes, expected at most 1000");
    weft_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_other_kinds_are_told_apart),
        cmocka_unit_test(what_is_not_a_regular_file_is_refused_at_once),
        cmocka_unit_test(a_model_cut_off_anywhere_is_refused),
        cmocka_unit_test(a_model_with_random_damage_is_read_or_refused),
        cmocka_unit_test(cycles_missing_and_doubled_tensors),
        cmocka_unit_test(inputs_with_absurd_types_and_shapes),
        cmocka_unit_test(two_inputs_of_one_name_are_refused),
        cmocka_unit_test(weights_that_do_not_fit_their_data),
        cmocka_unit_test(names_with_control_characters_stay_harmless),
        cmocka_unit_test(names_with_nul_bytes_and_endless_names_are_refused),
        cmocka_unit_test(thirty_thousand_nested_sub_graphs_are_refused),
        cmocka_unit_test(sixty_nested_loops_take_no_time),
        cmocka_unit_test(an_if_without_branches_at_the_bottom_of_many),
        cmocka_unit_test(choices_that_multiply_are_refused_early),
        cmocka_unit_test(lists_of_bodies_count_as_nodes),
        cmocka_unit_test(a_large_body_at_the_bottom_of_many),
        cmocka_unit_test(functions_that_call_themselves_are_refused),
        cmocka_unit_test(functions_that_multiply_are_refused_early),
        cmocka_unit_test(a_chain_of_100000_nodes_in_either_order),
        cmocka_unit_test(a_node_that_reads_a_tensor_10000_times),
        cmocka_unit_test(many_operators_outputs_and_operands),
        cmocka_unit_test(many_functions_of_one_name_and_many_results_of_one),
        cmocka_unit_test(a_thousand_operator_sets_are_enough),
        cmocka_unit_test(a_million_empty_attributes_are_refused),
    };

    return RUN_TESTS(tests);
}
