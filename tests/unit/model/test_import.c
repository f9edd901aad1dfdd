/* SPDX-License-Identifier: MIT */
/* test_import.c: from ONNX documents to networks. The documents are written here; networks of real
 * files are in test_import_files.c.
 *
 * A document is written as text: values "x:f32:2x3" (dimensions may be names or '?'; "*" is no
 * shape), nodes "Op a b -> c d" ('_' leaves an operand out, "Op@domain" is of another domain). */
#include "check.h"
#include "invariants.h"

#include "model.h"
#include "onnx_fields.h"
#include "wire.h"

#include <stdio.h>
#include <stdlib.h>

/* --- writing documents ----------------------------------------------------------------------- */

static void put_text(weft_wire_out *o, int field, const char *text, size_t n)
{
    weft_wire_put_bytes(o, field, text, n);
}

static void put_dim(weft_wire_out *o, const char *text, size_t n)
{
    size_t dim = weft_wire_begin(o, ONNX_SHAPE_DIM);

    if (*text >= '0' && *text <= '9')
        weft_wire_put_varint(o, ONNX_DIM_VALUE, strtoull(text, NULL, 10));
    else if (*text != '?')
        put_text(o, ONNX_DIM_PARAM, text, n);
    weft_wire_end(o, dim);
}

static void put_shape(weft_wire_out *o, const char *dims, size_t n)
{
    size_t shape = weft_wire_begin(o, ONNX_TENSOR_TYPE_SHAPE);

    for (const char *end = dims + n; dims < end;) {
        size_t length = strcspn(dims, "x ");

        put_dim(o, dims, length);
        dims += length + (dims + length < end);
    }
    weft_wire_end(o, shape);
}

static weft_dtype type_named(const char *text, size_t n)
{
    char name[16] = "";

    memcpy(name, text, n < 15 ? n : 15);
    return weft_dtype_find(name);
}

/* "x:f32:2x3 y:i64:N" as values of a graph: inputs, outputs, or shapes of values between. */
static void put_values(weft_wire_out *o, int field, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, " "), name = strcspn(text, ":");
        const char *type = text + name + 1, *dims = type + strcspn(type, ":") + 1;
        size_t value = weft_wire_begin(o, field), proto, tensor;

        put_text(o, ONNX_VALUE_NAME, text, name);
        proto = weft_wire_begin(o, ONNX_VALUE_TYPE);
        tensor = weft_wire_begin(o, ONNX_TYPE_TENSOR);
        weft_wire_put_varint(o, ONNX_TENSOR_TYPE_ELEM, type_named(type, strcspn(type, ":")));
        if (*dims != '*')
            put_shape(o, dims, length - (size_t)(dims - text));
        weft_wire_end(o, tensor);
        weft_wire_end(o, proto);
        weft_wire_end(o, value);
        text += length + (text[length] == ' ');
    }
}

/* "w:f32:3x4 v:f32:4": initializers without data. */
static void put_weights(weft_wire_out *o, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, " "), name = strcspn(text, ":");
        const char *type = text + name + 1, *dims = type + strcspn(type, ":") + 1;
        size_t tensor = weft_wire_begin(o, ONNX_GRAPH_INITIALIZER);

        while (dims < text + length) {
            weft_wire_put_varint(o, ONNX_TENSOR_DIMS, strtoull(dims, NULL, 10));
            dims += strcspn(dims, "x ") + 1;
        }
        weft_wire_put_varint(o, ONNX_TENSOR_DATA_TYPE, type_named(type, strcspn(type, ":")));
        put_text(o, ONNX_TENSOR_NAME, text, name);
        weft_wire_end(o, tensor);
        text += length + (text[length] == ' ');
    }
}

/* An initializer with its elements; n_dims 0 is a scalar. */
static void put_ints(weft_wire_out *o, const char *name, weft_dtype type, int n,
                     const int64_t *ints)
{
    size_t tensor = weft_wire_begin(o, ONNX_GRAPH_INITIALIZER);

    if (n != 1)
        weft_wire_put_varint(o, ONNX_TENSOR_DIMS, (uint64_t)n);
    weft_wire_put_varint(o, ONNX_TENSOR_DATA_TYPE, type);
    for (int i = 0; i < n; i++)
        weft_wire_put_varint(o, type == WEFT_I64 ? ONNX_TENSOR_INT64S : ONNX_TENSOR_INT32S,
                             (uint64_t)ints[i]);
    put_text(o, ONNX_TENSOR_NAME, name, strlen(name));
    weft_wire_end(o, tensor);
}

/* Begins a node "Op a b -> c"; attributes may follow before weft_wire_end. Its name is "n/c". */
static size_t begin_node(weft_wire_out *o, int field, const char *text, size_t n)
{
    size_t node = weft_wire_begin(o, field), op = strcspn(text, " "), domain = strcspn(text, "@");
    const char *end = text + n, *word = text + op;
    int side = ONNX_NODE_INPUT, n_outputs = 0;

    put_text(o, ONNX_NODE_OP_TYPE, text, domain < op ? domain : op);
    if (domain < op)
        put_text(o, ONNX_NODE_DOMAIN, text + domain + 1, op - domain - 1);
    while (word < end) {
        size_t length;

        word += strspn(word, " ");
        length = strcspn(word, " ;");
        if (word >= end || length == 0)
            break;
        if (strncmp(word, "->", 2) == 0)
            side = ONNX_NODE_OUTPUT;
        else
            put_text(o, side, word, *word == '_' && length == 1 ? 0 : length);
        if (side == ONNX_NODE_OUTPUT && *word != '-' && n_outputs++ == 0) {
            char name[64];

            snprintf(name, sizeof name, "n/%.*s", (int)length, word);
            put_text(o, ONNX_NODE_NAME, name, strlen(name));
        }
        word += length;
    }
    return node;
}

static size_t graph_node(weft_wire_out *o, const char *text)
{
    return begin_node(o, ONNX_GRAPH_NODE, text, strlen(text));
}

/* Nodes without attributes: "Relu x -> h; MatMul h w -> y". */
static void put_nodes(weft_wire_out *o, int field, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, ";");

        weft_wire_end(o, begin_node(o, field, text, n));
        text += n + (text[n] == ';');
        text += strspn(text, " ");
    }
}

static size_t begin_attr(weft_wire_out *o, int field, const char *name, int kind)
{
    size_t attr = weft_wire_begin(o, field);

    put_text(o, ONNX_ATTR_NAME, name, strlen(name));
    weft_wire_put_varint(o, ONNX_ATTR_KIND, (uint64_t)kind);
    return attr;
}

static void int_attr(weft_wire_out *o, const char *name, int64_t value)
{
    size_t attr = begin_attr(o, ONNX_NODE_ATTR, name, WEFT_ONNX_INT);

    weft_wire_put_varint(o, ONNX_ATTR_I, (uint64_t)value);
    weft_wire_end(o, attr);
}

static void ints_attr(weft_wire_out *o, int field, const char *name, int n, const int64_t *ints)
{
    size_t attr = begin_attr(o, field, name, WEFT_ONNX_INTS);

    for (int i = 0; i < n; i++)
        weft_wire_put_varint(o, ONNX_ATTR_INTS, (uint64_t)ints[i]);
    weft_wire_end(o, attr);
}

/* The attribute of this node is the attribute `ref` of the function around it. */
static void ref_attr(weft_wire_out *o, const char *name, int kind, const char *ref)
{
    size_t attr = begin_attr(o, ONNX_NODE_ATTR, name, kind);

    put_text(o, ONNX_ATTR_REF, ref, strlen(ref));
    weft_wire_end(o, attr);
}

/* A graph as attribute: begin, write the graph's fields, end. */
typedef struct part {
    size_t attr, graph;
} part;

static part begin_body(weft_wire_out *o, const char *name)
{
    part p;

    p.attr = begin_attr(o, ONNX_NODE_ATTR, name, WEFT_ONNX_GRAPH);
    p.graph = weft_wire_begin(o, ONNX_ATTR_G);
    return p;
}

static void end_body(weft_wire_out *o, part p)
{
    weft_wire_end(o, p.graph);
    weft_wire_end(o, p.attr);
}

static void put_body(weft_wire_out *o, const char *name, const char *nodes, const char *outputs)
{
    part p = begin_body(o, name);

    put_nodes(o, ONNX_GRAPH_NODE, nodes);
    put_values(o, ONNX_GRAPH_OUTPUT, outputs);
    end_body(o, p);
}

typedef struct document {
    weft_wire_out out;
    size_t graph;
} document;

static void put_opset(weft_wire_out *o, int field, const char *domain, int version)
{
    size_t opset = weft_wire_begin(o, field);

    put_text(o, ONNX_OPSET_DOMAIN, domain, strlen(domain));
    weft_wire_put_varint(o, ONNX_OPSET_VERSION, (uint64_t)version);
    weft_wire_end(o, opset);
}

/* A document of opset 13, inside its graph. */
static document begin_document(void)
{
    document d = {
        .out = {weft_arena_new(), NULL, 0, 0}
    };

    weft_wire_put_varint(&d.out, ONNX_MODEL_IR_VERSION, 8);
    put_opset(&d.out, ONNX_MODEL_OPSET, "", 13);
    d.graph = weft_wire_begin(&d.out, ONNX_MODEL_GRAPH);
    return d;
}

static document plain_document(const char *inputs, const char *weights, const char *nodes,
                               const char *outputs)
{
    document d = begin_document();

    put_values(&d.out, ONNX_GRAPH_INPUT, inputs);
    put_weights(&d.out, weights);
    put_nodes(&d.out, ONNX_GRAPH_NODE, nodes);
    put_values(&d.out, ONNX_GRAPH_OUTPUT, outputs);
    return d;
}

/* Leaves the graph; functions may follow. */
static void end_graph(document *d)
{
    weft_wire_end(&d->out, d->graph);
}

static weft_status import_with(document *d, const weft_model_options *options, weft_model **out)
{
    weft_status status = weft_onnx_import(d->out.at, d->out.n, "doc.onnx", options, out);

    weft_arena_free(d->out.arena);
    if (status == WEFT_OK)
        weft_graph_check((*out)->graph);
    return status;
}

static weft_model *imported(document *d)
{
    weft_model *m = NULL;

    CHECK_OK(import_with(d, NULL, &m));
    return m;
}

static void refused(document *d, const char *message)
{
    weft_model *m = NULL;

    CHECK_FAILS(import_with(d, NULL, &m), message);
    CHECK(strncmp(weft_message(), "doc.onnx: ", 10) == 0);
    CHECK(m == NULL);
}

static void plain_refused(const char *inputs, const char *weights, const char *nodes,
                          const char *outputs, const char *message)
{
    document d = plain_document(inputs, weights, nodes, outputs);

    end_graph(&d);
    refused(&d, message);
}

/* --- looking at networks --------------------------------------------------------------------- */

static weft_work work_of(const weft_graph *g)
{
    weft_work sum = {0, 0, 0, 0};

    for (int u = 0; u < g->n_nodes; u++)
        weft_work_add(&sum, weft_node_work(g, u));
    return sum;
}

static int64_t macs_of(const weft_model *m)
{
    return work_of(m->graph).macs;
}

static bool has_warning(const weft_model *m, const char *text)
{
    for (int i = 0; i < m->n_warnings; i++)
        if (strstr(m->warning[i], text))
            return true;
    return false;
}

static const weft_tensor *tensor_named(const weft_model *m, const char *name)
{
    for (int t = 0; t < m->graph->n_tensors; t++)
        if (strcmp(m->graph->tensor[t].name, name) == 0)
            return &m->graph->tensor[t];
    fail_msg("there is no tensor '%s'", name);
    return NULL;
}

static void check_shape(const weft_model *m, const char *name, const char *expected)
{
    char text[192];

    for (int i = 0; i < m->n_tensors; i++)
        if (strcmp(m->tensor[i].name, name) == 0) {
            CHECK_TEXT(weft_shape_print(m->tensor[i].shape, text), expected);
            return;
        }
    fail_msg("there is no tensor '%s'", name);
}

/* Operators of the graph in order: "MatMul Relu". */
static void check_ops(const weft_model *m, const char *expected)
{
    char text[512] = "";

    for (int u = 0; u < m->graph->n_nodes; u++) {
        strcat(text, u ? " " : "");
        strcat(text, m->graph->node[u].op);
    }
    CHECK_TEXT(text, expected);
}

/* --- dimensions ------------------------------------------------------------------------------ */

static weft_status import_dims(const char *inputs, int n, const weft_dim_binding *dims,
                               weft_model **out)
{
    weft_model_options o = {.n_dims = n, .dim = dims};
    document d = plain_document(inputs, "", "Relu x -> y", "y:f32:*");

    end_graph(&d);
    return import_with(&d, &o, out);
}

TEST(unknown_dimensions_are_named_with_the_flag_that_binds_them)
{
    const weft_dim_binding both[] = {
        {"N",   8},
        {"x.1", 5}
    };
    const weft_dim_binding wrong[] = {
        {"M", 8}
    };
    weft_model *m = NULL;

    CHECK_FAILS(import_dims("x:f32:Nx3", 0, NULL, &m),
                "input 'x' has the unknown dimension 'N': give its size, for example --dim N=8");
    CHECK_FAILS(import_dims("x:f32:3x?", 0, NULL, &m),
                "input 'x' has the unknown dimension 'x.1': give its size, for example --dim "
                "x.1=8");
    CHECK_FAILS(import_dims("x:f32:Nx?", 1, both, &m), "unknown dimension 'x.1'");
    CHECK_FAILS(import_dims("x:f32:2x3", 1, wrong, &m),
                "no dimension and no node with a size that depends on the data is called 'M' "
                "(given with --dim)");
    CHECK(m == NULL);
    CHECK_OK(import_dims("x:f32:Nx?", 2, both, &m));
    check_shape(m, "y", "8x5");
    weft_model_free(m);
}

/* Two counts of what is not zero, one of them without a name that a user could guess, and a
 * NonZero of as many operands that --dim does not name. */
static weft_status import_counts(int n, const weft_dim_binding *dims, weft_model **out)
{
    weft_model_options o = {.n_dims = n, .dim = dims};
    document d =
        plain_document("x:f32:2x3 z:f32:2x3", "",
                       "NonZero x -> a;Transpose a -> b;NonZero z -> c;Unique z -> u i j k",
                       "b:i64:* c:i64:* u:f32:* k:i64:*");

    end_graph(&d);
    return import_with(&d, &o, out);
}

static int assumed_size(const weft_model *m, const char *name)
{
    for (int i = 0; i < m->graph->n_assumed; i++)
        if (strcmp(m->graph->assumed[i].name, name) == 0)
            return (int)m->graph->assumed[i].size;
    return 0;
}

TEST(sizes_that_depend_on_the_data_are_assumed_where_the_user_says_so)
{
    const weft_dim_binding one[] = {
        {"n/a", 5}
    };
    const weft_dim_binding all[] = {
        {"n/*", 4},
        {"c.1", 6}
    };
    weft_model *m = NULL;

    CHECK_OK(import_counts(0, NULL, &m));
    check_shape(m, "b", "?x2");
    CHECK_FAILS(weft_need_static(m->graph, "its cost"),
                "node 'n/a' (NonZero): dimension 1 of output 'a', which is 2x?, depends on the "
                "data: its cost is unknown; assume a size, for example --dim n/a=100");
    weft_model_free(m);
    CHECK_OK(import_counts(1, one, &m));
    check_shape(m, "b", "5x2");
    check_shape(m, "c", "2x?"); /* the same operator on the same shape, under another name */
    CHECK_INT(m->graph->n_assumed, 1);
    CHECK_INT(assumed_size(m, "n/a"), 5);
    CHECK_FAILS(weft_need_static(m->graph, "its cost"), "node 'n/c' (NonZero)");
    weft_model_free(m);
    CHECK_OK(import_counts(2, all, &m));
    check_shape(m, "b", "4x2");
    check_shape(m, "c", "2x6");
    check_shape(m, "u", "4");
    check_shape(m, "j", "6"); /* one for each of z: no assumption */
    CHECK_OK(weft_need_static(m->graph, "its cost"));
    CHECK_INT(m->graph->n_assumed, 2);
    weft_model_free(m);
}

TEST(assumptions_that_nothing_needs_are_refused)
{
    static const struct {
        weft_dim_binding dim;
        const char *message;
    } cases[] = {
        {{"n/b", 5},  "--dim n/b=5: 'n/b' has no size that depends on the data"                },
        {{"a.0", 5},  "--dim a.0=5: 'a.0' has no size that depends on the data"                },
        {{"a.2", 5},  "no dimension and no node with a size that depends on the data is called"},
        {{"n/aa", 5}, "is called 'n/aa' (given with --dim); did you mean 'n/a'?"               },
        {{"m/*", 5},  "is called 'm/*'"                                                        },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const weft_dim_binding dims[] = {
            {"n/a", 5},
            cases[i].dim
        };
        weft_model *m = NULL;

        CHECK_FAILS(import_counts(2, dims, &m), cases[i].message);
        CHECK(m == NULL);
    }
}

static weft_status import_states(const char *inputs, const char *nodes, const char *outputs,
                                 const weft_model_options *o, weft_model **out)
{
    document d = plain_document(inputs, "", nodes, outputs);

    end_graph(&d);
    return import_with(&d, o, out);
}

TEST(pairs_of_past_and_present_are_states)
{
    static const struct {
        const char *past, *inputs, *nodes, *outputs;
        bool is_state;
    } cases[] = {
        {"past_key_values.0.key", "past_key_values.0.key:f32:2x3 x:f32:2x3",
         "Add past_key_values.0.key x -> present.0.key",                                                          "present.0.key:f32:*",            true },
        {"past_key_values.0.key", "past_key_values.0.key:f32:2x3 x:f32:2x3",
         "Add past_key_values.0.key x -> present_key_values.0.key",                                               "present_key_values.0.key:f32:*", true },
        {"past_key_self_0",       "past_key_self_0:f32:2x3 x:f32:2x3",
         "Add past_key_self_0 x -> present_key_self_0",                                                           "present_key_self_0:f32:*",       true },
        {"l0_cache_in",           "l0_cache_in:f32:2x3 x:f32:2x3",           "Add l0_cache_in x -> l0_cache_out",
         "l0_cache_out:f32:*",                                                                                                                      true },
 /* more rows, and more of two dimensions */
        {"past_0",                "past_0:f32:2x1 x:f32:2x3",                "Add past_0 x -> present_0",         "present_0:f32:*",
         true                                                                                                                                            },
        {"past_0",                "past_0:f32:1x1 x:f32:2x3",                "Add past_0 x -> present_0",         "present_0:f32:*",
         false                                                                                                                                           },
 /* no such output; one that nothing makes */
        {"past_0",                "past_0:f32:2x3 x:f32:2x3",                "Add past_0 x -> now_0",             "now_0:f32:*",                    false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int k = 0; k < 2; k++) {
            const weft_model_options o = {.keeps_states = true, .no_states = k == 1};
            bool is_state = cases[i].is_state && k == 0;
            weft_model *m = NULL;

            CHECK_OK(import_states(cases[i].inputs, cases[i].nodes, cases[i].outputs, &o, &m));
            CHECK_INT(m->graph->n_states, is_state);
            CHECK_INT(tensor_named(m, cases[i].past)->kind, is_state ? WEFT_STATE : WEFT_INPUT);
            CHECK_INT(m->graph->n_inputs, 2); /* of the file, as before */
            weft_model_free(m);
        }
}

/* What is changed in place is neither written again nor held twice. */
TEST(states_of_one_size_are_changed_in_place)
{
    const weft_model_options o = {.keeps_states = true}, none = {.no_states = true};
    const char *inputs = "past_0:f32:64x3 i:i64:2x1 x:f32:2x3";
    weft_model *m = NULL;
    weft_work w;

    CHECK_OK(import_states(inputs, "ScatterND past_0 i x -> present_0", "present_0:f32:*", &o, &m));
    w = weft_node_work(m->graph, 0);
    CHECK_INT(w.read_bytes, 2 * 8 + 2 * 3 * 4);
    CHECK_INT(w.write_bytes, 2 * 8 + 2 * 3 * 4); /* no more than is read can be new */
    CHECK(weft_graph_peak_bytes(m->graph) < 64 * 3 * 4);
    weft_model_free(m);
    CHECK_OK(
        import_states(inputs, "ScatterND past_0 i x -> present_0", "present_0:f32:*", &none, &m));
    CHECK(weft_node_work(m->graph, 0).write_bytes == 64 * 3 * 4);
    weft_model_free(m);
    CHECK_OK(import_states("past_0:f32:64x3 y:f32:64x3", "Add past_0 y -> present_0",
                           "present_0:f32:*", &o, &m));
    w = weft_node_work(m->graph, 0); /* all of it is new, and it is computed from all of it */
    CHECK_INT(w.read_bytes, 2 * 64 * 3 * 4);
    CHECK_INT(w.write_bytes, 64 * 3 * 4);
    weft_model_free(m);
}

TEST(a_batch_binds_or_replaces_the_first_dimension)
{
    static const struct {
        const char *inputs, *expected;
    } cases[] = {
        {"x:f32:Nx3", "4x3"}, /* symbolic */
        {"x:f32:?x3", "4x3"}, /* without name */
        {"x:f32:2x3", "4x3"}, /* fixed */
        {"x:f32:4x3", "4x3"}, /* already so */
        {"x:f32:2",   "4"  },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weft_model_options o = {.batch = 4};
        document d = plain_document(cases[i].inputs, "", "Relu x -> y", "y:f32:*");
        weft_model *m = NULL;

        end_graph(&d);
        CHECK_OK(import_with(&d, &o, &m));
        check_shape(m, "y", cases[i].expected);
        weft_model_free(m);
    }
}

TEST(a_batch_needs_a_dimension)
{
    weft_model_options o = {.batch = 4};
    document d = plain_document("x:f32:", "", "Relu x -> y", "y:f32:*");
    weft_model *m = NULL;

    end_graph(&d);
    CHECK_FAILS(import_with(&d, &o, &m), "input 'x' has no dimensions");
    CHECK(m == NULL);
}

/* Every input that begins with the old batch gets the new one; a mask of another size stays. */
TEST(inputs_of_the_same_batch_are_changed_together)
{
    weft_model_options o = {.batch = 4};
    document d = plain_document("x:f32:2x3 z:f32:2x3 s:f32:3", "", "Add x z -> p; Add p s -> y",
                                "y:f32:2x3");
    weft_model *m = NULL;

    end_graph(&d);
    CHECK_OK(import_with(&d, &o, &m));
    check_shape(m, "z", "4x3");
    check_shape(m, "s", "3");
    check_shape(m, "y", "4x3"); /* what the file declares for the old batch does not count */
    weft_model_free(m);
}

TEST(the_same_batch_changes_nothing)
{
    weft_model_options o = {.batch = 2};
    document d = plain_document("x:f32:2x3", "", "Mystery@my x -> y", "y:f32:7");
    weft_model *m = NULL;

    end_graph(&d);
    CHECK_OK(import_with(&d, &o, &m));
    check_shape(m, "y", "7"); /* as declared */
    weft_model_free(m);
}

TEST(wrong_inputs_are_refused)
{
    weft_model *m = NULL;

    CHECK_FAILS(import_dims("x:f32:*", 0, NULL, &m), "input 'x' has no shape, expected one");
    CHECK_FAILS(import_dims("x:odd:2x3", 0, NULL, &m), "input 'x' has the unknown element type 0");
    CHECK_FAILS(import_dims("x:f32:1x1x1x1x1x1x1x1x1", 0, NULL, &m),
                "input 'x' has 9 dimensions, expected at most 8");
    CHECK_FAILS(import_dims(":f32:2x3", 0, NULL, &m), "input 0 has no name");
    CHECK(m == NULL);
}

/* --- nodes ----------------------------------------------------------------------------------- */

TEST(a_small_network_is_read)
{
    document d = plain_document("x:f32:2x3", "w:f32:3x4 b:f32:4",
                                "MatMul x w -> h; Add h b -> a; Relu a -> y", "y:f32:2x4");
    weft_model *m;

    end_graph(&d);
    m = imported(&d);
    check_ops(m, "MatMul Add Relu");
    CHECK_TEXT(m->name, "doc");
    CHECK_TEXT(m->source, "doc.onnx");
    CHECK_TEXT(m->origin, "ONNX, opset 13");
    CHECK_INT(m->n_nodes, 3);
    CHECK_INT(m->n_parameters, 3 * 4 + 4);
    CHECK_INT(m->n_warnings, 0);
    CHECK_INT(m->n_tensors, 4); /* x h a y */
    CHECK_INT(macs_of(m), 2 * 3 * 4);
    CHECK_INT(tensor_named(m, "w")->kind, WEFT_WEIGHT);
    CHECK_INT(tensor_named(m, "y")->kind, WEFT_OUTPUT);
    CHECK(tensor_named(m, "w")->is_parameter);
    CHECK_TEXT(m->graph->node[0].name, "n/h");
    weft_model_free(m);
}

TEST(nodes_may_stand_in_any_order)
{
    document d = plain_document("x:f32:2x3", "w:f32:3x4",
                                "Relu a -> y; Exp h -> a; MatMul x w -> h", "y:f32:2x4");
    weft_model *m;

    end_graph(&d);
    m = imported(&d);
    check_ops(m, "MatMul Exp Relu");
    weft_model_free(m);
}

/* A node as exporters write it: texts first, so that its form can be shared. Operands are numbers
 * of earlier nodes, 0 is the input. */
static void put_numbered(weft_wire_out *o, int number, const int operand[2])
{
    size_t node = weft_wire_begin(o, ONNX_GRAPH_NODE);
    bool is_binary = operand[1] >= 0;
    char text[16];

    for (int i = 0; i < (is_binary ? 2 : 1); i++) {
        snprintf(text, sizeof text, "t%d", operand[i]);
        put_text(o, ONNX_NODE_INPUT, text, strlen(text));
    }
    snprintf(text, sizeof text, "t%d", number);
    put_text(o, ONNX_NODE_OUTPUT, text, strlen(text));
    put_text(o, ONNX_NODE_OP_TYPE, is_binary ? "Add" : "Relu", is_binary ? 3 : 4);
    weft_wire_end(o, node);
}

static void check_numbered(const weft_graph *g, int number, const int operand[2])
{
    int u = number - 1, n = operand[1] >= 0 ? 2 : 1;
    char text[16];

    CHECK_INT(g->arg_at[u + 1] - g->arg_at[u], n);
    for (int i = 0; i < n; i++) {
        snprintf(text, sizeof text, "t%d", operand[i]);
        CHECK_TEXT(g->tensor[g->arg[g->arg_at[u] + i]].name, text);
    }
}

/* Layers of five nodes, but for some operands that are drawn: where an operand was in the layers
 * before says where it is looked for first, never what it is. */
TEST(nodes_of_layers_read_what_the_file_says)
{
    enum { N = 400, PERIOD = 5 };

    for (uint64_t seed = 1; seed <= 10; seed++) {
        weft_rng r = weft_rng_seed(seed);
        document d = begin_document();
        int operand[N + 1][2];
        weft_model *m;

        put_values(&d.out, ONNX_GRAPH_INPUT, "t0:f32:2x3");
        for (int k = 1; k <= N; k++) {
            bool is_binary = k % PERIOD < 2, is_drawn = weft_rng_below(&r, 8) == 0;

            operand[k][0] = is_drawn ? weft_rng_below(&r, k) : k - 1;
            operand[k][1] = is_binary ? k < PERIOD || is_drawn ? 0 : k - PERIOD : -1;
            put_numbered(&d.out, k, operand[k]);
        }
        put_values(&d.out, ONNX_GRAPH_OUTPUT, "t400:f32:2x3");
        end_graph(&d);
        m = imported(&d);
        CHECK_INT(m->graph->n_nodes, N);
        for (int k = 1; k <= N; k++)
            check_numbered(m->graph, k, operand[k]);
        weft_model_free(m);
    }
}

TEST(constants_are_folded)
{
    document d = plain_document("x:f32:2x3", "w:f32:4x3",
                                "Transpose w -> t; Identity t -> i; Shape x -> s; "
                                "Reshape x s -> r; MatMul r i -> y",
                                "y:f32:2x4");
    weft_model *m;

    end_graph(&d);
    m = imported(&d);
    check_ops(m, "Reshape MatMul"); /* the transposed weight and the shape are constants */
    CHECK_INT(m->n_nodes, 5);
    CHECK_INT(tensor_named(m, "i")->kind, WEFT_WEIGHT);
    CHECK(tensor_named(m, "i")->is_parameter);
    check_shape(m, "t", "3x4");
    weft_model_free(m);
}

TEST(initializers_that_are_also_inputs_are_weights)
{
    document d = plain_document("x:f32:2x3 w:f32:3x4", "w:f32:3x4", "MatMul x w -> y", "y:f32:2x4");
    weft_model *m;

    end_graph(&d);
    m = imported(&d);
    CHECK_INT(m->graph->n_inputs, 1);
    CHECK_INT(tensor_named(m, "w")->kind, WEFT_WEIGHT);
    weft_model_free(m);
}

TEST(unknown_operators_take_the_declared_shapes)
{
    document d = plain_document("x:f32:2x3", "",
                                "Mystery@my x -> a; Mystery@my a -> b; Relu b -> y", "y:f32:*");
    weft_model *m;

    put_values(&d.out, ONNX_GRAPH_VALUE, "a:f32:5 b:f32:6x7");
    end_graph(&d);
    m = imported(&d);
    check_ops(m, "Mystery Mystery Relu");
    check_shape(m, "a", "5");
    check_shape(m, "y", "6x7");
    CHECK_INT(weft_node_work(m->graph, 0).read_bytes, 4 * 2 * 3);
    CHECK_INT(weft_node_work(m->graph, 0).write_bytes, 4 * 5);
    CHECK_INT(m->n_warnings, 1);
    CHECK(has_warning(m, "operator my.Mystery is not known (2 nodes): shapes as declared"));
    weft_model_free(m);
}

TEST(nodes_without_name_and_nodes_of_one_name_are_told_apart)
{
    document d = plain_document("x:f32:2x3", "", "", "b:f32:2x3");
    weft_model *m;

    for (int i = 0; i < 2; i++) {
        size_t node = weft_wire_begin(&d.out, ONNX_GRAPH_NODE);

        put_text(&d.out, ONNX_NODE_INPUT, i ? "a" : "x", 1);
        put_text(&d.out, ONNX_NODE_OUTPUT, i ? "b" : "a", 1);
        put_text(&d.out, ONNX_NODE_OP_TYPE, "Relu", 4);
        put_text(&d.out, ONNX_NODE_NAME, "same", 4);
        weft_wire_end(&d.out, node);
    }
    end_graph(&d);
    m = imported(&d);
    CHECK_TEXT(m->graph->node[0].name, "same");
    CHECK(strcmp(m->graph->node[1].name, "same") != 0);
    weft_model_free(m);
}

TEST(broken_graphs_are_refused)
{
    const char *x = "x:f32:2x3", *y = "y:f32:2x3";

    plain_refused(x, "", "Relu x -> y; Exp x -> y", y, "tensor 'y' is made twice");
    plain_refused(x, "", "Relu x -> x", "x:f32:2x3", "tensor 'x' is made twice");
    plain_refused(x, "y:f32:2x3", "Relu x -> y", y, "tensor 'y' is made twice");
    plain_refused(x, "w:f32:3 w:f32:3", "Add x w -> y", y, "two tensors have the name 'w'");
    plain_refused("x:f32:2x3 x:f32:2x3", "", "Relu x -> y", y, "two inputs have the name 'x'");
    plain_refused(x, "", "Add x q -> y", y, "node 'n/y' (Add) reads 'q', which nothing makes");
    plain_refused(x, "", "Relu x -> a", y, "output 'y' is made by no node");
    plain_refused(x, "", "Add x b -> a; Relu a -> b; Relu b -> y", y,
                  "the graph has a cycle through node 'n/a' (Add), tensor 'a'");
    plain_refused(x, "", "Add x -> y", y, "node 'n/y' (Add): input 1 is missing");
    plain_refused(x, "", "Relu x x -> y", y, "node 'n/y' (Relu): has 2 inputs");
    plain_refused(x, ":f32:3", "Relu x -> y", y, "initializer 0 has no name");
    plain_refused(x, "w:f32:3x4", "Identity w -> y", y, "all nodes are constants");
    plain_refused("x:f32:4611686018427387904", "", "Relu x -> y", y, "more than 2^62 bytes");
}

TEST(a_default_operator_set_must_be_named)
{
    document d = {
        .out = {weft_arena_new(), NULL, 0, 0}
    };

    d.graph = weft_wire_begin(&d.out, ONNX_MODEL_GRAPH);
    put_values(&d.out, ONNX_GRAPH_INPUT, "x:f32:2");
    put_nodes(&d.out, ONNX_GRAPH_NODE, "Relu x -> y");
    put_values(&d.out, ONNX_GRAPH_OUTPUT, "y:f32:2");
    end_graph(&d);
    refused(&d, "no version of the default operator set is named");
}

/* --- control flow ---------------------------------------------------------------------------- */

/* If c: relu of x (2x3), else x times w (2x4). */
static document if_document(const char *inputs)
{
    document d = plain_document(inputs, "w:f32:3x4", "", "y:f32:*");
    size_t node = graph_node(&d.out, "If c -> y");

    put_body(&d.out, "then_branch", "Relu x -> t", "t:f32:*");
    put_body(&d.out, "else_branch", "MatMul x w -> e", "e:f32:*");
    weft_wire_end(&d.out, node);
    return d;
}

TEST(a_known_condition_takes_its_branch)
{
    for (int64_t yes = 0; yes < 2; yes++) {
        document d = if_document("x:f32:2x3");
        weft_model *m;

        put_ints(&d.out, "c", WEFT_BOOL, 1, &yes);
        end_graph(&d);
        m = imported(&d);
        check_ops(m, yes ? "Relu" : "MatMul");
        CHECK_INT(m->n_warnings, 0);
        CHECK_INT(m->graph->tensor[m->graph->output[0]].shape->dim[1], yes ? 3 : 4);
        weft_model_free(m);
    }
}

TEST(an_unknown_condition_keeps_what_both_branches_agree_on)
{
    document d = if_document("c:bool: x:f32:2x3");
    weft_model *m;
    weft_work w;

    end_graph(&d);
    m = imported(&d);
    check_ops(m, "If");
    check_shape(m, "y", "2x?");
    w = weft_node_work(m->graph, 0); /* of the first branch: relu of 2x3 */
    CHECK_INT(w.macs, 0);
    CHECK_INT(w.flops, 2 * 3);
    CHECK_INT(w.read_bytes, 4 * 2 * 3);
    CHECK(has_warning(m, "node 'n/y' (If): which branch is taken depends on the data"));
    CHECK_INT(tensor_named(m, "x")->kind, WEFT_INPUT);
    CHECK(m->graph->use_at[1] > 0); /* operands of the branches are operands of the node */
    weft_model_free(m);
}

TEST(branches_that_agree_have_a_known_shape)
{
    document d = plain_document("c:bool: x:f32:2x3", "", "", "y:f32:*");
    size_t node = graph_node(&d.out, "If c -> y");
    weft_model *m;

    put_body(&d.out, "then_branch", "Relu x -> t", "t:f32:*");
    put_body(&d.out, "else_branch", "", "x:f32:*"); /* hands an outer value through */
    weft_wire_end(&d.out, node);
    put_nodes(&d.out, ONNX_GRAPH_NODE, "Exp y -> z");
    end_graph(&d);
    m = imported(&d);
    check_shape(m, "z", "2x3");
    weft_model_free(m);
}

TEST(broken_branches_are_refused)
{
    document d = plain_document("c:bool: x:f32:2x3", "", "", "y:f32:*");
    size_t node = graph_node(&d.out, "If c -> y");

    put_body(&d.out, "then_branch", "Relu x -> t", "t:f32:*");
    weft_wire_end(&d.out, node);
    end_graph(&d);
    refused(&d, "node 'n/y' (If): attribute 'else_branch' is missing, expected a graph");

    d = plain_document("c:bool: x:f32:2x3", "", "", "y:f32:*");
    node = graph_node(&d.out, "If c -> y");
    put_body(&d.out, "then_branch", "Relu x -> t", "t:f32:*");
    put_body(&d.out, "else_branch", "Relu x -> t; Exp x -> e", "t:f32:* e:f32:*");
    weft_wire_end(&d.out, node);
    end_graph(&d);
    refused(&d, "node 'n/y' (If) has 1 outputs, its branches have 1 and 2");

    d = plain_document("c:bool: x:f32:2x3", "", "", "y:f32:*");
    node = graph_node(&d.out, "If c -> y");
    put_body(&d.out, "then_branch", "Relu q -> t", "t:f32:*");
    put_body(&d.out, "else_branch", "Relu x -> t", "t:f32:*");
    weft_wire_end(&d.out, node);
    end_graph(&d);
    refused(&d, "node 'n/t' (Relu) reads 'q', which nothing makes");

    d = plain_document("c:bool: x:f32:2x3", "", "", "y:f32:*");
    node = graph_node(&d.out, "If c -> y");
    put_body(&d.out, "then_branch", "", "t:f32:*");
    put_body(&d.out, "else_branch", "Relu x -> t", "t:f32:*");
    weft_wire_end(&d.out, node);
    end_graph(&d);
    refused(&d, "output 't' of a sub-graph is made by no node");
}

/* Carries v (doubled each time if asked to) and collects the relu of x. */
static document loop_document(const char *loop, bool grows)
{
    static const int64_t trips = 5;
    document d = plain_document("v:f32:1x3 x:f32:2x3 c:bool:", "", "", "a:f32:* s:f32:*");
    size_t node = graph_node(&d.out, loop), inner;
    part body = begin_body(&d.out, "body");

    put_values(&d.out, ONNX_GRAPH_INPUT, "i:i64: go:bool: u:f32:*");
    put_nodes(&d.out, ONNX_GRAPH_NODE, "Identity go -> on; Relu x -> r");
    inner = graph_node(&d.out, grows ? "Concat u u -> next" : "Relu u -> next");
    if (grows)
        int_attr(&d.out, "axis", 0);
    weft_wire_end(&d.out, inner);
    put_values(&d.out, ONNX_GRAPH_OUTPUT, "on:bool:* next:f32:* r:f32:*");
    end_body(&d.out, body);
    weft_wire_end(&d.out, node);
    put_ints(&d.out, "n", WEFT_I64, 1, &trips);
    end_graph(&d);
    return d;
}

TEST(a_loop_collects_as_often_as_it_runs)
{
    document d = loop_document("Loop n _ v -> a s", false);
    weft_model *m = imported(&d);

    check_ops(m, "Loop");
    check_shape(m, "a", "1x3");
    check_shape(m, "s", "5x2x3");                                /* the trip count is known */
    CHECK_INT(weft_node_work(m->graph, 0).flops, 2 * 3 + 1 * 3); /* one pass */
    CHECK(has_warning(m, "node 'n/a' (Loop): its body runs 5 times, its work is counted once"));
    weft_model_free(m);
}

TEST(a_carried_dimension_that_changes_is_unknown)
{
    document d = loop_document("Loop n _ v -> a s", true);
    weft_model *m = imported(&d);

    check_shape(m, "a", "?x3");
    weft_model_free(m);
}

TEST(a_loop_with_a_condition_may_end_early)
{
    document d = loop_document("Loop n c v -> a s", false);
    weft_model *m = imported(&d);

    check_shape(m, "s", "?x2x3");
    CHECK(has_warning(m, "how often its body runs depends on the data"));
    weft_model_free(m);
}

TEST(a_loop_must_fit_its_body)
{
    document d = loop_document("Loop n _ v v -> a s", false);

    refused(&d,
            "node 'n/a' (Loop) has 4 inputs and 2 outputs, which do not fit a body with 3 and 3");
}

TEST(a_scan_takes_its_input_apart_and_collects_its_output)
{
    document d = plain_document("h:f32:4 x:f32:6x4", "", "", "last:f32:* all:f32:*");
    size_t node = graph_node(&d.out, "Scan h x -> last all");
    part body = begin_body(&d.out, "body");
    weft_model *m;

    put_values(&d.out, ONNX_GRAPH_INPUT, "s:f32:* e:f32:*");
    put_nodes(&d.out, ONNX_GRAPH_NODE, "Add s e -> t; Relu t -> r");
    put_values(&d.out, ONNX_GRAPH_OUTPUT, "t:f32:* r:f32:*");
    end_body(&d.out, body);
    int_attr(&d.out, "num_scan_inputs", 1);
    weft_wire_end(&d.out, node);
    end_graph(&d);
    m = imported(&d);
    check_shape(m, "last", "4");
    check_shape(m, "all", "6x4");
    CHECK_INT(weft_node_work(m->graph, 0).flops, 4 + 4);
    CHECK(has_warning(m, "its body runs 6 times"));
    weft_model_free(m);
}

TEST(bodies_within_bodies_read_values_of_any_level)
{
    static const int64_t trips = 2;
    document d = plain_document("c:bool: x:f32:2x3 v:f32:2x3", "", "", "y:f32:*");
    size_t node = graph_node(&d.out, "If c -> y"), loop;
    part branch = begin_body(&d.out, "then_branch"), body;
    weft_model *m;

    put_nodes(&d.out, ONNX_GRAPH_NODE, "Exp x -> middle");
    loop = graph_node(&d.out, "Loop n _ v -> t");
    body = begin_body(&d.out, "body");
    put_values(&d.out, ONNX_GRAPH_INPUT, "i:i64: go:bool: u:f32:*");
    put_nodes(&d.out, ONNX_GRAPH_NODE, "Identity go -> on; Add u x -> p; Add p middle -> q");
    put_values(&d.out, ONNX_GRAPH_OUTPUT, "on:bool:* q:f32:*");
    end_body(&d.out, body);
    weft_wire_end(&d.out, loop);
    put_values(&d.out, ONNX_GRAPH_OUTPUT, "t:f32:*");
    end_body(&d.out, branch);
    put_body(&d.out, "else_branch", "Relu x -> e", "e:f32:*");
    weft_wire_end(&d.out, node);
    put_ints(&d.out, "n", WEFT_I64, 1, &trips);
    end_graph(&d);
    m = imported(&d);
    check_shape(m, "y", "2x3");
    CHECK_INT(weft_node_work(m->graph, 0).flops, 6 + 6 + 6); /* exp and two additions */
    weft_model_free(m);
}

TEST(a_body_may_come_before_what_it_captures)
{
    document d = if_document("c:bool: z:f32:2x3");
    weft_model *m;

    put_nodes(&d.out, ONNX_GRAPH_NODE, "Exp z -> x"); /* after the If that reads x inside */
    end_graph(&d);
    m = imported(&d);
    check_ops(m, "Exp If");
    weft_model_free(m);
}

/* Each round through the body makes one more of its many carried values unknown. */
TEST(a_loop_that_settles_slowly_is_read_quickly)
{
    enum { N = 3000 };
    document d = plain_document("v:f32:1 w:f32:2", "", "", "y0:f32:*");
    char inputs[N * 5 + 8] = "Loop _ _ w";
    size_t node, at = strlen(inputs);
    weft_model *m = NULL;
    part body;

    for (int i = 1; i < N; i++, at += 2)
        memcpy(inputs + at, " v", 3);
    memcpy(inputs + at, " -> y0", 7);
    node = graph_node(&d.out, inputs);
    body = begin_body(&d.out, "body");
    put_values(&d.out, ONNX_GRAPH_INPUT, "i:i64: go:bool:");
    for (int i = 0; i < N; i++) {
        char name[24];

        snprintf(name, sizeof name, "u%d:f32:*", i);
        put_values(&d.out, ONNX_GRAPH_INPUT, name);
    }
    put_values(&d.out, ONNX_GRAPH_OUTPUT, "go:bool:*");
    for (int i = 0; i < N; i++) { /* each takes the place of the one after it */
        char name[24];

        snprintf(name, sizeof name, "u%d:f32:*", i ? i - 1 : 0);
        put_values(&d.out, ONNX_GRAPH_OUTPUT, name);
    }
    end_body(&d.out, body);
    weft_wire_end(&d.out, node);
    end_graph(&d);
    m = imported(&d);
    check_shape(m, "y0", "?"); /* it never changes, but is given up with the others */
    weft_model_free(m);
}

/* --- functions ------------------------------------------------------------------------------- */

/* Begins the function `name` of domain "local" with one input x and one output y. */
static size_t begin_function(weft_wire_out *o, const char *name)
{
    size_t f = weft_wire_begin(o, ONNX_MODEL_FUNCTION);

    put_text(o, ONNX_FUNCTION_NAME, name, strlen(name));
    put_text(o, ONNX_FUNCTION_DOMAIN, "local", 5);
    put_text(o, ONNX_FUNCTION_INPUT, "x", 1);
    put_text(o, ONNX_FUNCTION_OUTPUT, "y", 1);
    put_opset(o, ONNX_FUNCTION_OPSET, "", 13);
    return f;
}

static document call_document(const char *nodes)
{
    document d = plain_document("in:f32:2x3x4", "", nodes, "out:f32:*");

    return d;
}

/* T: a transpose whose order is its attribute "perm", by default 0 2 1 if asked for. */
static void put_transposer(weft_wire_out *o, bool has_default)
{
    size_t f = begin_function(o, "T"), node;

    if (has_default)
        ints_attr(o, ONNX_FUNCTION_FALLBACK, "perm", 3, (int64_t[]){0, 2, 1});
    else
        put_text(o, ONNX_FUNCTION_ATTR, "perm", 4);
    node = begin_node(o, ONNX_FUNCTION_NODE, "Transpose x -> y", 16);
    ref_attr(o, "perm", WEFT_ONNX_INTS, "perm");
    weft_wire_end(o, node);
    weft_wire_end(o, f);
}

TEST(functions_are_inlined)
{
    document d = call_document("F@local in -> a; F@local a -> out");
    weft_model *m;
    size_t f;

    end_graph(&d);
    f = begin_function(&d.out, "F");
    put_nodes(&d.out, ONNX_FUNCTION_NODE, "Relu x -> h; Exp h -> y");
    weft_wire_end(&d.out, f);
    m = imported(&d);
    check_ops(m, "Relu Exp Relu Exp");
    CHECK_INT(m->n_nodes, 2); /* as in the file */
    CHECK_TEXT(m->graph->node[0].name, "n/a:n/h");
    CHECK_TEXT(m->graph->node[2].name, "n/out:n/h");
    weft_model_free(m);
}

TEST(attributes_reach_into_functions)
{
    static const struct {
        bool is_given, has_default;
        const char *expected;
    } cases[] = {
        {true,  false, "3x2x4"}, /* perm 1 0 2, given by the call */
        {true,  true,  "3x2x4"},
        {false, true,  "2x4x3"}, /* perm 0 2 1, by default */
        {false, false, "4x3x2"}, /* left out inside too: Transpose reverses */
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        document d = call_document("");
        size_t node = graph_node(&d.out, "T@local in -> out");
        weft_model *m;

        if (cases[i].is_given)
            ints_attr(&d.out, ONNX_NODE_ATTR, "perm", 3, (int64_t[]){1, 0, 2});
        weft_wire_end(&d.out, node);
        end_graph(&d);
        put_transposer(&d.out, cases[i].has_default);
        m = imported(&d);
        CHECK_INT(m->graph->n_outputs, 1);
        check_shape(m, m->graph->tensor[m->graph->output[0]].name, cases[i].expected);
        weft_model_free(m);
    }
}

/* G calls T with perm = its own attribute p. */
TEST(attributes_reach_through_nested_functions)
{
    for (int is_given = 0; is_given < 2; is_given++) {
        document d = call_document("");
        size_t node = graph_node(&d.out, "G@local in -> out"), f;
        weft_model *m;

        if (is_given)
            ints_attr(&d.out, ONNX_NODE_ATTR, "p", 3, (int64_t[]){1, 0, 2});
        weft_wire_end(&d.out, node);
        end_graph(&d);
        put_transposer(&d.out, true);
        f = begin_function(&d.out, "G");
        put_text(&d.out, ONNX_FUNCTION_ATTR, "p", 1);
        put_opset(&d.out, ONNX_FUNCTION_OPSET, "local", 1);
        node = begin_node(&d.out, ONNX_FUNCTION_NODE, "T@local x -> y", 14);
        ref_attr(&d.out, "perm", WEFT_ONNX_INTS, "p");
        weft_wire_end(&d.out, node);
        weft_wire_end(&d.out, f);
        m = imported(&d);
        check_ops(m, "Transpose");
        /* without p the inner call has no perm, so the default of T holds: 0 2 1 */
        check_shape(m, m->graph->tensor[m->graph->output[0]].name, is_given ? "3x2x4" : "2x4x3");
        weft_model_free(m);
    }
}

TEST(wrong_calls_are_refused)
{
    document d = call_document("F@local in in -> out");
    size_t f;

    end_graph(&d);
    f = begin_function(&d.out, "F");
    put_nodes(&d.out, ONNX_FUNCTION_NODE, "Relu x -> y");
    weft_wire_end(&d.out, f);
    refused(&d, "function 'F' is called with 2 inputs and 1 outputs, expected 1 and 1");

    d = call_document("F@local in -> out");
    end_graph(&d);
    f = begin_function(&d.out, "F");
    put_nodes(&d.out, ONNX_FUNCTION_NODE, "Relu x -> z");
    weft_wire_end(&d.out, f);
    refused(&d, "function 'F' does not make its output 'y'");

    d = call_document("F@local in -> out");
    end_graph(&d);
    f = begin_function(&d.out, "F");
    put_nodes(&d.out, ONNX_FUNCTION_NODE, "Add x in -> y"); /* no view of the caller's values */
    weft_wire_end(&d.out, f);
    refused(&d, "(Add) reads 'in', which nothing makes");
}

TEST(recursion_is_refused)
{
    document d = call_document("F@local in -> out");
    size_t f;

    end_graph(&d);
    f = begin_function(&d.out, "F");
    put_opset(&d.out, ONNX_FUNCTION_OPSET, "local", 1);
    put_nodes(&d.out, ONNX_FUNCTION_NODE, "Relu x -> h; F@local h -> y");
    weft_wire_end(&d.out, f);
    refused(&d, "function 'F' is called more than 64 levels deep");
}

/* Function i calls function i - 1 twice: 2^40 calls in a few kilobytes. What each call does may be
 * dear as well: `nodes` stands in function 0. */
static void check_bomb(const char *nodes, int n_constant)
{
    document d = call_document("F40@local in -> out");
    size_t f;

    end_graph(&d);
    f = begin_function(&d.out, "F0");
    put_nodes(&d.out, ONNX_FUNCTION_NODE, nodes);
    if (n_constant > 0) {
        size_t node = begin_node(&d.out, ONNX_FUNCTION_NODE, "Constant -> k", 13);
        size_t attr = begin_attr(&d.out, ONNX_NODE_ATTR, "value", WEFT_ONNX_TENSOR);
        size_t tensor = weft_wire_begin(&d.out, ONNX_ATTR_T);

        weft_wire_put_varint(&d.out, ONNX_TENSOR_DIMS, (uint64_t)n_constant);
        weft_wire_put_varint(&d.out, ONNX_TENSOR_DATA_TYPE, WEFT_I64);
        for (int i = 0; i < n_constant; i++)
            weft_wire_put_varint(&d.out, ONNX_TENSOR_INT64S, 1);
        weft_wire_end(&d.out, tensor);
        weft_wire_end(&d.out, attr);
        weft_wire_end(&d.out, node);
    }
    weft_wire_end(&d.out, f);
    for (int i = 1; i <= 40; i++) {
        char name[16], body[64];

        snprintf(name, sizeof name, "F%d", i);
        snprintf(body, sizeof body, "F%d@local x -> h; F%d@local h -> y", i - 1, i - 1);
        f = begin_function(&d.out, name);
        put_opset(&d.out, ONNX_FUNCTION_OPSET, "local", 1);
        put_nodes(&d.out, ONNX_FUNCTION_NODE, body);
        weft_wire_end(&d.out, f);
    }
    refused(&d, "more than"); /* so many nodes, or so much memory */
}

TEST(functions_that_explode_are_refused_quickly)
{
    check_bomb("Relu x -> y", 0);
    check_bomb("Identity x -> y", 0);
}

TEST(functions_that_explode_into_large_pieces_are_refused_quickly)
{
    char wide[9000] = "Sum";
    size_t at = 3;

    for (int i = 0; i < 4000; i++, at += 2)
        memcpy(wide + at, " x", 3);
    memcpy(wide + at, " -> y", 6);
    check_bomb(wide, 0);
    check_bomb("Relu x -> y", 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_dimensions_are_named_with_the_flag_that_binds_them),
        cmocka_unit_test(sizes_that_depend_on_the_data_are_assumed_where_the_user_says_so),
        cmocka_unit_test(assumptions_that_nothing_needs_are_refused),
        cmocka_unit_test(pairs_of_past_and_present_are_states),
        cmocka_unit_test(states_of_one_size_are_changed_in_place),
        cmocka_unit_test(a_batch_binds_or_replaces_the_first_dimension),
        cmocka_unit_test(a_batch_needs_a_dimension),
        cmocka_unit_test(inputs_of_the_same_batch_are_changed_together),
        cmocka_unit_test(the_same_batch_changes_nothing),
        cmocka_unit_test(wrong_inputs_are_refused),
        cmocka_unit_test(a_small_network_is_read),
        cmocka_unit_test(nodes_may_stand_in_any_order),
        cmocka_unit_test(nodes_of_layers_read_what_the_file_says),
        cmocka_unit_test(constants_are_folded),
        cmocka_unit_test(initializers_that_are_also_inputs_are_weights),
        cmocka_unit_test(unknown_operators_take_the_declared_shapes),
        cmocka_unit_test(nodes_without_name_and_nodes_of_one_name_are_told_apart),
        cmocka_unit_test(broken_graphs_are_refused),
        cmocka_unit_test(a_default_operator_set_must_be_named),
        cmocka_unit_test(a_known_condition_takes_its_branch),
        cmocka_unit_test(an_unknown_condition_keeps_what_both_branches_agree_on),
        cmocka_unit_test(branches_that_agree_have_a_known_shape),
        cmocka_unit_test(broken_branches_are_refused),
        cmocka_unit_test(a_loop_collects_as_often_as_it_runs),
        cmocka_unit_test(a_carried_dimension_that_changes_is_unknown),
        cmocka_unit_test(a_loop_with_a_condition_may_end_early),
        cmocka_unit_test(a_loop_must_fit_its_body),
        cmocka_unit_test(a_scan_takes_its_input_apart_and_collects_its_output),
        cmocka_unit_test(bodies_within_bodies_read_values_of_any_level),
        cmocka_unit_test(a_body_may_come_before_what_it_captures),
        cmocka_unit_test(a_loop_that_settles_slowly_is_read_quickly),
        cmocka_unit_test(functions_are_inlined),
        cmocka_unit_test(attributes_reach_into_functions),
        cmocka_unit_test(attributes_reach_through_nested_functions),
        cmocka_unit_test(wrong_calls_are_refused),
        cmocka_unit_test(recursion_is_refused),
        cmocka_unit_test(functions_that_explode_are_refused_quickly),
        cmocka_unit_test(functions_that_explode_into_large_pieces_are_refused_quickly),
    };

    return RUN_TESTS(tests);
}
