/* SPDX-License-Identifier: MIT */
/* test_onnx.c: protobuf's wire format, ONNX documents, small tensors; hostile bytes of all kinds.
 */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include "onnx.h"
#include "onnx_fields.h"
#include "wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SAMPLE(name) WEFT_TEST_DATA "/onnx/" name ".onnx"

static const char *const samples[] = {
    SAMPLE("every_field"),          SAMPLE("alexnet"),
    SAMPLE("small_cnn_qdq"),        SAMPLE("small_mlp"),
    SAMPLE("small_mlp_constnodes"), SAMPLE("small_mlp_external"),
    SAMPLE("small_mlp_f16"),        SAMPLE("small_mlp_floatdata"),
    SAMPLE("small_mlp_function"),   SAMPLE("small_mlp_packed"),
    SAMPLE("small_mlp_valueinfo"),  SAMPLE("small_transformer_external"),
};

enum { N_SAMPLES = sizeof samples / sizeof *samples };

static bool slice_is(weft_slice s, const char *text)
{
    return s.at && s.n == strlen(text) && memcmp(s.at, text, s.n) == 0;
}

/* --- wire ------------------------------------------------------------------------------------ */

static weft_wire wire_of(const void *data, size_t n)
{
    return (weft_wire){data, (const uint8_t *)data + n, data};
}

TEST(a_message_of_every_encoding_has_the_documented_bytes)
{
    /* tags: 1 << 3 | 0, 2 << 3 | 5, 3 << 3 | 1, 16 << 3 | 2 = 130 as a varint: 0x82 0x01 */
    static const uint8_t expected[] = {0x08, 0x96, 0x01, 0x15, 0,    0,    0x80, 0x3f, 0x19,
                                       0,    0,    0,    0,    0,    0,    0xf0, 0x3f, 0x82,
                                       0x01, 0x02, 'h',  'i',  0x22, 0x02, 0x08, 0x07};
    weft_arena *a = weft_arena_new();
    weft_wire_out o = {a, NULL, 0, 0};
    size_t begin;

    weft_wire_put_varint(&o, 1, 150); /* 150 = 0x16 + 1 * 128 */
    weft_wire_put_float(&o, 2, 1.0f);
    weft_wire_put_double(&o, 3, 1.0);
    weft_wire_put_bytes(&o, 16, "hi", 2);
    begin = weft_wire_begin(&o, 4);
    weft_wire_put_varint(&o, 1, 7);
    weft_wire_end(&o, begin);
    CHECK_INT(o.n, sizeof expected);
    CHECK(memcmp(o.at, expected, sizeof expected) == 0);
    weft_arena_free(a);
}

typedef struct planned_field {
    int number,
        kind; /* 0 varint, 1 double, 2 bytes, 3 message of the fields that follow, 5 float */
    uint64_t value;
    size_t n;
} planned_field;

static planned_field plan_field(weft_rng *r)
{
    static const int kinds[] = {0, 1, 2, 5};
    int number = 1 + (int)(weft_rng_next(r) % ((1u << 29) - 1) >> weft_rng_below(r, 29));
    uint64_t value = weft_rng_next(r) >> weft_rng_below(r, 64);
    planned_field f = {number, kinds[weft_rng_below(r, 4)], value, (size_t)weft_rng_below(r, 300)};

    return f;
}

static void put_planned(weft_wire_out *o, const planned_field *f, const char *text)
{
    if (f->kind == 0)
        weft_wire_put_varint(o, f->number, f->value);
    else if (f->kind == 1)
        weft_wire_put_double(o, f->number, (double)f->value);
    else if (f->kind == 2)
        weft_wire_put_bytes(o, f->number, text, f->n);
    else
        weft_wire_put_float(o, f->number, (float)f->value);
}

static void check_planned(const weft_wire_field *got, const planned_field *f, const char *text)
{
    float single = (float)f->value;
    double real = (double)f->value;
    uint64_t bits = f->value;
    uint32_t low;

    CHECK_INT(got->number, f->number);
    CHECK_INT(got->type, f->kind);
    if (f->kind == 2) {
        CHECK_INT(got->body.end - got->body.at, f->n);
        CHECK(f->n == 0 || memcmp(got->body.at, text, f->n) == 0);
        return;
    }
    memcpy(&low, &single, sizeof low);
    if (f->kind == 1)
        memcpy(&bits, &real, sizeof bits);
    CHECK(got->value == (f->kind == 5 ? low : bits));
}

/* Whatever is written is read back, in a message within a message; measuring gives its size. */
TEST(random_messages_survive_writing_and_reading)
{
    char text[300];

    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i * 7);
    for (uint64_t seed = 1; seed <= 500; seed++) {
        weft_rng r = weft_rng_seed(seed);
        weft_arena *a = weft_arena_new();
        int n = weft_rng_below(&r, 60);
        planned_field *plan = WEFT_NEW(a, planned_field, n);
        weft_wire_out out[2] = {
            {NULL, NULL, 0, 0},
            {a,    NULL, 0, 0}
        };
        weft_wire_field f;
        weft_wire w;

        for (int i = 0; i < n; i++)
            plan[i] = plan_field(&r);
        for (int k = 0; k < 2; k++) {
            size_t begin = weft_wire_begin(&out[k], 9);

            for (int i = 0; i < n; i++)
                put_planned(&out[k], &plan[i], text);
            weft_wire_end(&out[k], begin);
        }
        CHECK_INT(out[0].n, out[1].n);
        w = wire_of(out[1].at, out[1].n);
        CHECK_OK(weft_wire_next(&w, &f));
        CHECK(f.number == 9 && f.body.end == w.end && w.at == w.end);
        w = f.body;
        for (int i = 0; i < n; i++) {
            CHECK(weft_wire_more(&w));
            CHECK_OK(weft_wire_next(&w, &f));
            check_planned(&f, &plan[i], text);
        }
        CHECK(!weft_wire_more(&w));
        weft_arena_free(a);
    }
}

TEST(lengths_of_nested_messages_use_as_few_bytes_as_they_need)
{
    static const size_t sizes[] = {0, 127, 128, 16383, 16384, 2097151, 2097152};
    static const size_t length_bytes[] = {1, 1, 2, 2, 3, 3, 4}; /* 7 bits a byte */

    for (int i = 0; i < 7; i++) {
        weft_arena *a = weft_arena_new();
        weft_wire_out o = {a, NULL, 0, 0};
        size_t begin = weft_wire_begin(&o, 1);

        for (size_t k = 0; k < sizes[i]; k++) /* field 0: values without tag */
            weft_wire_put_varint(&o, 0, k % 100);
        weft_wire_end(&o, begin);
        CHECK_INT(o.n, 1 + length_bytes[i] + sizes[i]);
        CHECK(sizes[i] == 0 || o.at[o.n - 1] == (sizes[i] - 1) % 100);
        weft_arena_free(a);
    }
}

static void refuse_field(const char *bytes, size_t n, const char *message)
{
    char *copy = malloc(n); /* exact size: the sanitizer sees a byte too far */
    weft_wire w = wire_of(memcpy(copy, bytes, n), n);
    weft_wire_field f;

    CHECK_FAILS(weft_wire_next(&w, &f), message);
    free(copy);
}

TEST(malformed_fields_are_errors_with_their_offset)
{
    refuse_field("\x08", 1, "byte 1: a number is cut off");
    refuse_field("\x08\x80\x80", 3, "byte 1: a number is cut off");
    refuse_field("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11, "has more than 64 bits");
    refuse_field("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", 12, "has more than 64 bits");
    refuse_field("\x0a\x05qwer", 6, "byte 1: field 1 announces 5 bytes, but only 4 are left");
    refuse_field("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, "18446744073709551615 bytes");
    refuse_field("\x0d\1\2\3", 4, "byte 1: a number of 4 bytes is cut off");
    refuse_field("\x09\1\2\3\4\5\6\7", 8, "byte 1: a number of 8 bytes is cut off");
    refuse_field("\x00\x00", 2, "byte 0: field number 0");
    refuse_field("\x0b", 1, "byte 0: field 1 has encoding 3");
    refuse_field("\x0c", 1, "byte 0: field 1 has encoding 4");
    refuse_field("\x0e", 1, "byte 0: field 1 has encoding 6");
    refuse_field("\x80\x80\x80\x80\x10\x00", 6, "field number 536870912");
}

/* --- documents made by hand ------------------------------------------------------------------ */

/* A model whose graph is given as bytes. */
static weft_wire_out model_of(weft_arena *a, const weft_wire_out *graph)
{
    weft_wire_out o = {a, NULL, 0, 0};

    weft_wire_put_varint(&o, ONNX_MODEL_IR_VERSION, 8);
    weft_wire_put_bytes(&o, ONNX_MODEL_GRAPH, graph->at, graph->n);
    return o;
}

/* A model with one initializer, given as bytes. */
static weft_wire_out tensor_model(weft_arena *a, const weft_wire_out *tensor)
{
    weft_wire_out graph = {a, NULL, 0, 0};

    weft_wire_put_bytes(&graph, ONNX_GRAPH_INITIALIZER, tensor->at, tensor->n);
    return model_of(a, &graph);
}

static weft_status read_out(const weft_wire_out *o, weft_onnx **out)
{
    return weft_onnx_read(o->at, o->n, "hand.onnx", out);
}

static weft_wire_out tensor_head(weft_arena *a, int type, int64_t dim0, int64_t dim1)
{
    weft_wire_out t = {a, NULL, 0, 0};

    weft_wire_put_bytes(&t, ONNX_TENSOR_NAME, "w", 1);
    weft_wire_put_varint(&t, ONNX_TENSOR_DATA_TYPE, (uint64_t)type);
    weft_wire_put_varint(&t, ONNX_TENSOR_DIMS, (uint64_t)dim0);
    weft_wire_put_varint(&t, ONNX_TENSOR_DIMS, (uint64_t)dim1);
    return t;
}

TEST(fields_come_in_any_order_and_the_last_one_counts)
{
    weft_arena *a = weft_arena_new();
    weft_wire_out node = {a, NULL, 0, 0}, graph = {a, NULL, 0, 0}, model = {a, NULL, 0, 0};
    const weft_onnx_node *n;
    weft_onnx *o;

    weft_wire_put_bytes(&node, ONNX_NODE_OP_TYPE, "Old", 3);
    weft_wire_put_bytes(&node, 4000, "unknown", 7);
    weft_wire_put_bytes(&node, ONNX_NODE_OUTPUT, "y", 1);
    weft_wire_put_bytes(&node, ONNX_NODE_OP_TYPE, "New", 3);
    weft_wire_put_bytes(&node, ONNX_NODE_INPUT, "", 0);
    weft_wire_put_varint(&node, 99, 1);
    weft_wire_put_bytes(&node, ONNX_NODE_INPUT, "x", 1);
    weft_wire_put_bytes(&graph, ONNX_GRAPH_NAME, "g", 1);
    weft_wire_put_bytes(&graph, ONNX_GRAPH_NODE, node.at, node.n);
    weft_wire_put_bytes(&model, ONNX_MODEL_GRAPH, "", 0);
    weft_wire_put_bytes(&model, ONNX_MODEL_GRAPH, graph.at, graph.n);
    weft_wire_put_varint(&model, ONNX_MODEL_IR_VERSION, 3);
    weft_wire_put_varint(&model, ONNX_MODEL_IR_VERSION, 9);
    CHECK_OK(read_out(&model, &o));
    CHECK_INT(o->ir_version, 9);
    CHECK_INT(o->graph->n_nodes, 1);
    CHECK(slice_is(o->graph->name, "g"));
    n = &o->graph->node[0];
    CHECK(slice_is(n->form->op_type, "New") && slice_is(n->output[0], "y"));
    CHECK_INT(n->n_inputs, 2);
    CHECK(slice_is(n->input[0], "") && slice_is(n->input[1], "x"));
    CHECK(n->name.at == NULL); /* absent, not empty */
    weft_onnx_free(o);
    weft_arena_free(a);
}

/* A node "op" that reads x; `name` NULL: without name, `late` NULL: no output behind the operator.
 */
static void put_form_node(weft_wire_out *graph, const char *name, const char *op, const char *late)
{
    size_t begin = weft_wire_begin(graph, ONNX_GRAPH_NODE);

    weft_wire_put_bytes(graph, ONNX_NODE_INPUT, "x", 1);
    if (name)
        weft_wire_put_bytes(graph, ONNX_NODE_NAME, name, strlen(name));
    weft_wire_put_bytes(graph, ONNX_NODE_OP_TYPE, op, strlen(op));
    if (late)
        weft_wire_put_bytes(graph, ONNX_NODE_OUTPUT, late, strlen(late));
    weft_wire_end(graph, begin);
}

TEST(nodes_with_equal_bytes_behind_their_operands_share_a_form)
{
    weft_arena *a = weft_arena_new();
    weft_wire_out graph = {a, NULL, 0, 0}, model;
    const weft_onnx_node *n;
    weft_onnx *o;

    put_form_node(&graph, "a", "Relu", NULL);
    put_form_node(&graph, "b", "Relu", NULL);
    put_form_node(&graph, NULL, "Relu", NULL);
    put_form_node(&graph, "c", "Abs", NULL);
    put_form_node(&graph, "d", "Relu", "y"); /* an output among the rest is not part of a form */
    put_form_node(&graph, "e", "Relu", "y");
    model = model_of(a, &graph);
    CHECK_OK(read_out(&model, &o));
    n = o->graph->node;
    CHECK(n[0].form == n[1].form && n[0].form == n[2].form);
    CHECK(n[3].form != n[0].form && n[4].form != n[0].form && n[5].form != n[4].form);
    CHECK_INT(o->n_forms, 4);
    for (int u = 0; u < o->graph->n_nodes; u++) {
        CHECK(slice_is(n[u].form->op_type, u == 3 ? "Abs" : "Relu"));
        CHECK(n[u].n_inputs == 1 && slice_is(n[u].input[0], "x"));
        CHECK_INT(n[u].n_outputs, u < 4 ? 0 : 1);
    }
    CHECK(slice_is(n[1].name, "b") && n[2].name.at == NULL && slice_is(n[5].output[0], "y"));
    weft_onnx_free(o);
    weft_arena_free(a);
}

static void check_name_fails(const char *name, size_t n, const char *message)
{
    weft_arena *a = weft_arena_new();
    weft_wire_out graph = {a, NULL, 0, 0}, model;
    weft_onnx *o;
    size_t begin;

    put_form_node(&graph, "a", "Relu", NULL);
    begin = weft_wire_begin(&graph, ONNX_GRAPH_NODE);
    weft_wire_put_bytes(&graph, ONNX_NODE_INPUT, name, n);
    weft_wire_put_bytes(&graph, ONNX_NODE_OP_TYPE, "Relu", 4);
    weft_wire_end(&graph, begin);
    model = model_of(a, &graph);
    CHECK_FAILS(read_out(&model, &o), message);
    weft_arena_free(a);
}

TEST(names_of_nodes_with_a_known_form_are_checked_too)
{
    check_name_fails("x\0y", 3, "contains a NUL byte");
    check_name_fails("\0", 1, "contains a NUL byte");
}

static weft_wire_out attr_model(weft_arena *a, const weft_wire_out *attr)
{
    weft_wire_out node = {a, NULL, 0, 0}, graph = {a, NULL, 0, 0};

    weft_wire_put_bytes(&node, ONNX_NODE_ATTR, attr->at, attr->n);
    weft_wire_put_bytes(&graph, ONNX_GRAPH_NODE, node.at, node.n);
    return model_of(a, &graph);
}

TEST(lists_are_packed_or_single_or_both_and_old_files_leave_the_kind_out)
{
    weft_arena *a = weft_arena_new();
    weft_wire_out ints = {a, NULL, 0, 0}, floats = {a, NULL, 0, 0}, other = {a, NULL, 0, 0}, model;
    const weft_onnx_attr *attr;
    weft_onnx *o;
    size_t begin;

    weft_wire_put_varint(&ints, ONNX_ATTR_INTS, 3);
    begin = weft_wire_begin(&ints, ONNX_ATTR_INTS);
    weft_wire_put_varint(&ints, 0, 300);
    weft_wire_put_varint(&ints, 0, (uint64_t)-5);
    weft_wire_end(&ints, begin);
    weft_wire_put_varint(&ints, ONNX_ATTR_INTS, 7);
    model = attr_model(a, &ints);
    CHECK_OK(read_out(&model, &o));
    attr = &o->graph->node[0].form->attr[0];
    CHECK_INT(attr->kind, WEFT_ONNX_INTS);
    CHECK_INT(attr->n, 4);
    CHECK(attr->ints[0] == 3 && attr->ints[1] == 300 && attr->ints[2] == -5 && attr->ints[3] == 7);
    weft_onnx_free(o);

    begin = weft_wire_begin(&floats, ONNX_ATTR_FLOATS);
    weft_wire_put_float(&floats, 0, 0.5f);
    weft_wire_put_float(&floats, 0, -2.0f);
    weft_wire_end(&floats, begin);
    weft_wire_put_float(&floats, ONNX_ATTR_FLOATS, 8.0f);
    model = attr_model(a, &floats);
    CHECK_OK(read_out(&model, &o));
    attr = &o->graph->node[0].form->attr[0];
    CHECK_INT(attr->kind, WEFT_ONNX_FLOATS);
    CHECK(attr->n == 3 && attr->floats[0] == 0.5 && attr->floats[1] == -2 && attr->floats[2] == 8);
    weft_onnx_free(o);

    weft_wire_put_varint(&other, ONNX_ATTR_KIND, 77); /* of a later version */
    model = attr_model(a, &other);
    CHECK_OK(read_out(&model, &o));
    CHECK_INT(o->graph->node[0].form->attr[0].kind, 77);
    weft_onnx_free(o);
    weft_arena_free(a);
}

/* Graphs within graphs: each is the body of an attribute of a node. Built from the inside by
 * prepending heads to a buffer filled from its end. */
static weft_status read_nested(int depth)
{
    static const int fields[] = {ONNX_ATTR_G, ONNX_NODE_ATTR, ONNX_GRAPH_NODE};
    size_t room = (size_t)depth * 30 + 100, at = room;
    uint8_t *bytes = malloc(room);
    weft_arena *a = weft_arena_new();
    weft_onnx *o;
    weft_status status;

    for (int i = 0; i < 3 * (depth - 1) + 1; i++) {
        weft_wire_out head = {a, NULL, 0, 0};
        int field = i == 3 * (depth - 1) ? ONNX_MODEL_GRAPH : fields[i % 3];

        weft_wire_put_varint(&head, 0, (uint64_t)field << 3 | WEFT_WIRE_BYTES);
        weft_wire_put_varint(&head, 0, room - at);
        at -= head.n;
        memcpy(bytes + at, head.at, head.n);
        weft_arena_rewind(a, 0);
    }
    status = weft_onnx_read(bytes + at, room - at, "nested.onnx", &o);
    if (status == WEFT_OK)
        weft_onnx_free(o);
    weft_arena_free(a);
    free(bytes);
    return status;
}

TEST(sub_graphs_side_by_side_are_not_deep)
{
    weft_arena *a = weft_arena_new();
    weft_wire_out attr = {a, NULL, 0, 0}, node = {a, NULL, 0, 0}, graph = {a, NULL, 0, 0}, model;
    weft_onnx *o;

    weft_wire_put_bytes(&attr, ONNX_ATTR_G, "", 0);
    for (int i = 0; i < 20; i++)
        weft_wire_put_bytes(&node, ONNX_NODE_ATTR, attr.at, attr.n);
    for (int i = 0; i < 20; i++)
        weft_wire_put_bytes(&graph, ONNX_GRAPH_NODE, node.at, node.n);
    model = model_of(a, &graph); /* 400 sub-graphs, 2 deep */
    CHECK_OK(read_out(&model, &o));
    CHECK(o->graph->n_nodes == 20 && o->graph->node[19].form->attr[19].graph != NULL);
    weft_onnx_free(o);
    weft_arena_free(a);
}

TEST(sub_graphs_nest_only_so_deep)
{
    CHECK_OK(read_nested(1));
    CHECK_OK(read_nested(WEFT_ONNX_MAX_DEPTH));
    CHECK_FAILS(read_nested(WEFT_ONNX_MAX_DEPTH + 1), "nested.onnx: byte");
    CHECK_FAILS(read_nested(30000), "sub-graphs nest more than 64 deep");
}

TEST(names_with_a_nul_byte_and_wrong_encodings_are_refused)
{
    weft_arena *a = weft_arena_new();
    weft_wire_out named = {a, NULL, 0, 0}, typed = {a, NULL, 0, 0}, tensor = {a, NULL, 0, 0}, model;
    weft_onnx *o;

    weft_wire_put_bytes(&named, ONNX_GRAPH_NAME, "a\0b", 3);
    model = model_of(a, &named);
    CHECK_FAILS(read_out(&model, &o), "hand.onnx: byte 6: the name in field 2 contains a NUL byte");
    CHECK(o == NULL);
    weft_wire_put_varint(&typed, ONNX_GRAPH_NODE, 1);
    model = model_of(a, &typed);
    CHECK_FAILS(read_out(&model, &o), "byte 5: field 1 is not text, data or a group of fields");
    weft_wire_put_bytes(&tensor, ONNX_TENSOR_FLOATS, "12345", 5);
    model = tensor_model(a, &tensor);
    CHECK_FAILS(read_out(&model, &o), "has 5 bytes, expected a multiple of 4");
    weft_arena_free(a);
}

static void refuse_file(const char *bytes, size_t n, const char *message)
{
    char *copy = malloc(n + (n == 0));
    weft_onnx *o;

    CHECK_FAILS(weft_onnx_read(memcpy(copy, bytes, n), n, "x", &o), message);
    CHECK(strstr(weft_message(), message) == weft_message() && o == NULL);
    free(copy);
}

TEST(files_of_other_kinds_are_named)
{
    refuse_file("", 0, "x: is empty, expected an ONNX model");
    refuse_file("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16, "x: is a PNG image, expected an ONNX model");
    refuse_file("PK\3\4\0\0\0\0", 8, "x: is a ZIP archive (as PyTorch saves");
    refuse_file("\x1f\x8b\x08\0\0\0", 6, "x: is compressed with gzip");
    refuse_file("\x89HDF\r\n\x1a\n\0", 9, "x: is an HDF5 file");
    refuse_file("\x40\0\0\0\0\0\0\0{\"w\":", 13, "x: is a safetensors file");
    refuse_file("version https://git-lfs.github.com/spec/", 40, "x: is a Git LFS pointer");
    refuse_file("{\"schema\": 1}", 13, "x: is a JSON file, expected an ONNX model");
    refuse_file("\n <!DOCTYPE html>\n<html>", 24, "x: is an HTML or XML file, expected an ONNX");
    refuse_file("schema: weft.platform/1\n", 24, "x: is a text file, expected an ONNX model");
    refuse_file("\0\0\0\0", 4, "x: not an ONNX model: byte 0: field number 0");
    refuse_file("\x08\x07", 2, "x: not an ONNX model: it has no graph");
    refuse_file("\x08\x07\x3a\x7f\x01", 5, "x: byte 3: field 7 announces 127 bytes, but only 1");
}

TEST(paths_that_are_no_files_are_refused)
{
    weft_onnx *o;

    CHECK_FAILS(weft_onnx_open(WEFT_TEST_DATA, &o), "is a directory");
    CHECK_FAILS(weft_onnx_open(WEFT_TEST_DATA "/onnx/none.onnx", &o),
                "none.onnx: cannot be opened");
    weft_onnx_free(NULL);
    CHECK(o == NULL);
}

/* --- tensors --------------------------------------------------------------------------------- */

TEST(sizes_that_disagree_are_errors_that_name_the_tensor)
{
    weft_arena *a = weft_arena_new();
    weft_wire_out t = tensor_head(a, WEFT_F32, 2, -3), model = tensor_model(a, &t);
    weft_onnx *o;

    CHECK_FAILS(read_out(&model, &o), "hand.onnx: tensor 'w': dimension 1 is -3");
    t = tensor_head(a, WEFT_F32, (int64_t)1 << 40, (int64_t)1 << 40);
    model = tensor_model(a, &t);
    CHECK_FAILS(read_out(&model, &o), "tensor 'w': its dimensions multiply to more than 2^56");
    t = tensor_head(a, WEFT_F32, 2, 2); /* 2 * 2 * 4 = 16 bytes */
    weft_wire_put_bytes(&t, ONNX_TENSOR_RAW, "0123456789ab", 12);
    model = tensor_model(a, &t);
    CHECK_FAILS(read_out(&model, &o),
                "'w': its data have 12 bytes, its type and dimensions ask for 16");
    t = tensor_head(a, WEFT_U32, 2, 2);
    weft_wire_put_varint(&t, ONNX_TENSOR_UINT64S, 1);
    weft_wire_put_varint(&t, ONNX_TENSOR_UINT64S, 1);
    model = tensor_model(a, &t);
    CHECK_FAILS(read_out(&model, &o), "8 bytes (2 values), its type and dimensions ask for 16 (4");
    t = tensor_head(a, WEFT_F32, 1, 1); /* data in the field of another type */
    weft_wire_put_varint(&t, ONNX_TENSOR_INT32S, 1);
    model = tensor_model(a, &t);
    CHECK_FAILS(read_out(&model, &o), "0 bytes (0 values), its type and dimensions ask for 4 (1");
    t = tensor_head(a, WEFT_F32, (int64_t)1 << 62, 0); /* empty, not too large */
    model = tensor_model(a, &t);
    CHECK_OK(read_out(&model, &o));
    weft_onnx_free(o);
    weft_arena_free(a);
}

/* Reads the model's only initializer as a literal. */
static const weft_literal *literal_of(weft_arena *a, const weft_wire_out *tensor, int most)
{
    weft_wire_out model = tensor_model(a, tensor);
    const weft_literal *literal;
    weft_onnx *o;

    CHECK_OK(read_out(&model, &o));
    CHECK_OK(weft_onnx_literal(o, &o->graph->initializer[0], most, a, &literal));
    weft_onnx_free(o);
    return literal;
}

/* Three elements, as values of the typed field and as what they mean. */
typedef struct literal_case {
    int type, field;
    int n_values, unit; /* stored values, and bytes of each in raw_data */
    uint64_t value[3];
    double expected[3];
} literal_case;

/* 4-bit types: low half first, the last half is not used. f16: (2 - 2^-10) * 2^15 is the largest;
 * f8: the largest are 1.75 * 2^8, 1.875 * 2^7, 1.75 * 2^15 twice; 1 is the smallest of each. */
static const literal_case literal_cases[] = {
    {WEFT_U8,         5,  3, 1, {0, 127, 255},                    {0, 127, 255}         },
    {WEFT_I8,         5,  3, 1, {0ull - 128, 0ull - 1, 127},      {-128, -1, 127}       },
    {WEFT_U16,        5,  3, 2, {0, 513, 65535},                  {0, 513, 65535}       },
    {WEFT_I16,        5,  3, 2, {0ull - 32768, 513, 0ull - 1},    {-32768, 513, -1}     },
    {WEFT_I32,        5,  3, 4, {0ull - 65536, 513, 0ull - 1},    {-65536, 513, -1}     },
    {WEFT_I64,        7,  3, 8, {513, 0ull - 1, 1ull << 40},      {513, -1, 0x1p40}     },
    {WEFT_U32,        11, 3, 4, {1u << 31, 513, 0},               {0x1p31, 513, 0}      },
    {WEFT_U64,        11, 3, 8, {513, 1ull << 32, 0},             {513, 0x1p32, 0}      },
    {WEFT_BOOL,       5,  3, 1, {0, 1, 2},                        {0, 1, 1}             },
    {WEFT_U4,         5,  2, 1, {0xf1, 0x08, 0},                  {1, 15, 8}            },
    {WEFT_I4,         5,  2, 1, {0xf1, 0x08, 0},                  {1, -1, -8}           },
    {WEFT_F32,        4,  3, 4, {0x3fc00000, 0xc0000000, 1},      {1.5, -2, 0x1p-149}   },
    {WEFT_F64,        10, 3, 8, {0x3ff8ull << 48, 3ull << 62, 1}, {1.5, -2, 0x1p-1074}  },
    {WEFT_F16,        5,  3, 2, {0x3e00, 0xfbff, 1},              {1.5, -65504, 0x1p-24}},
    {WEFT_BF16,       5,  3, 2, {0x3fc0, 0xc000, 1},              {1.5, -2, 0x1p-133}   },
    {WEFT_F8E4M3FN,   5,  3, 1, {0x7e, 0xb8, 1},                  {448, -1, 0x1p-9}     },
    {WEFT_F8E4M3FNUZ, 5,  3, 1, {0x7f, 0xc0, 1},                  {240, -1, 0x1p-10}    },
    {WEFT_F8E5M2,     5,  3, 1, {0x7b, 0xbc, 1},                  {57344, -1, 0x1p-16}  },
    {WEFT_F8E5M2FNUZ, 5,  3, 1, {0x7f, 0xc0, 1},                  {57344, -1, 0x1p-17}  },
};

static void check_literal(const weft_literal *l, const literal_case *c)
{
    CHECK(l != NULL);
    CHECK_INT(l->n, 3);
    CHECK((l->ints == NULL) != (l->reals == NULL));
    for (int i = 0; i < 3; i++)
        CHECK((l->ints ? (double)l->ints[i] : l->reals[i]) == c->expected[i]);
}

static void put_value(weft_wire_out *o, int field, bool is_packed, uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float f;
    double d;

    memcpy(&f, &low, sizeof f);
    memcpy(&d, &bits, sizeof d);
    if (field == ONNX_TENSOR_FLOATS)
        weft_wire_put_float(o, is_packed ? 0 : field, f);
    else if (field == ONNX_TENSOR_DOUBLES)
        weft_wire_put_double(o, is_packed ? 0 : field, d);
    else
        weft_wire_put_varint(o, is_packed ? 0 : field, bits);
}

static void put_raw(weft_wire_out *o, const literal_case *c)
{
    uint8_t raw[24];
    size_t n = 0;

    for (int k = 0; k < c->n_values; k++)
        for (int i = 0; i < c->unit; i++)
            raw[n++] = (uint8_t)(c->value[k] >> 8 * i);
    weft_wire_put_bytes(o, ONNX_TENSOR_RAW, raw, n);
}

TEST(elements_of_every_type_are_decoded_from_raw_packed_and_single_values)
{
    for (size_t i = 0; i < sizeof literal_cases / sizeof *literal_cases; i++) {
        const literal_case *c = &literal_cases[i];
        weft_arena *a = weft_arena_new();
        weft_wire_out raw = tensor_head(a, c->type, 3, 1), packed = tensor_head(a, c->type, 3, 1),
                      single = tensor_head(a, c->type, 1, 3);
        size_t begin = weft_wire_begin(&packed, c->field);

        put_raw(&raw, c);
        for (int k = 0; k < c->n_values; k++) {
            put_value(&packed, c->field, true, c->value[k]);
            put_value(&single, c->field, false, c->value[k]);
        }
        weft_wire_end(&packed, begin);
        check_literal(literal_of(a, &raw, 3), c);
        check_literal(literal_of(a, &packed, 3), c);
        check_literal(literal_of(a, &single, 3), c);
        CHECK(literal_of(a, &raw, 2) == NULL); /* more than asked for */
        weft_arena_free(a);
    }
}

TEST(raw_data_are_little_endian_and_need_no_alignment)
{
    weft_arena *a = weft_arena_new();

    for (int shift = 0; shift < 8; shift++) { /* a name of any length moves the data */
        weft_wire_out t = tensor_head(a, WEFT_I32, 2, 1);
        const weft_literal *l;

        weft_wire_put_bytes(&t, ONNX_TENSOR_NAME, "aaaaaaaa", (size_t)shift);
        weft_wire_put_bytes(&t, ONNX_TENSOR_RAW, "\1\2\3\4\xfe\xff\xff\xff", 8);
        l = literal_of(a, &t, 2);
        CHECK_INT(l->ints[0], 0x04030201);
        CHECK_INT(l->ints[1], -2);
    }
    weft_arena_free(a);
}

/* Two elements of one byte or two. */
static const weft_literal *two_reals(weft_arena *a, int type, const char *raw, size_t n)
{
    weft_wire_out t = tensor_head(a, type, 2, 1);

    weft_wire_put_bytes(&t, ONNX_TENSOR_RAW, raw, n);
    return literal_of(a, &t, 2);
}

static void check_then_nan(const weft_literal *l, double first)
{
    CHECK(l && l->n == 2 && l->reals);
    CHECK(l->reals[0] == first && isnan(l->reals[1]));
}

TEST(infinities_nans_and_integers_beyond_int64_are_marked)
{
    weft_arena *a = weft_arena_new();
    weft_wire_out t = tensor_head(a, WEFT_U64, 1, 1);

    check_then_nan(two_reals(a, WEFT_F16, "\0\x7c\0\x7e", 4), (double)INFINITY);
    check_then_nan(two_reals(a, WEFT_BF16, "\x80\xff\xc0\x7f", 4), -(double)INFINITY);
    check_then_nan(two_reals(a, WEFT_F8E5M2, "\xfc\x7d", 2), -(double)INFINITY);
    check_then_nan(two_reals(a, WEFT_F8E4M3FN, "\x78\xff", 2), 256); /* 1.0 * 2^8: no infinity */
    check_then_nan(two_reals(a, WEFT_F8E4M3FNUZ, "\x00\x80", 2), 0);
    check_then_nan(two_reals(a, WEFT_F8E5M2FNUZ, "\x7c\x80", 2), 32768); /* 1.0 * 2^15 */
    weft_wire_put_varint(&t, ONNX_TENSOR_UINT64S, (uint64_t)1 << 63);
    CHECK(literal_of(a, &t, 1)->ints[0] == WEFT_UNKNOWN_INT);
    t = tensor_head(a, WEFT_I64, 1, 1); /* a bound of Slice, not an unknown number */
    weft_wire_put_varint(&t, ONNX_TENSOR_INT64S, (uint64_t)1 << 63);
    CHECK(literal_of(a, &t, 1)->ints[0] == INT64_MIN + 1);
    weft_arena_free(a);
}

TEST(absent_complex_and_text_data_give_no_literal_and_empty_tensors_an_empty_one)
{
    weft_arena *a = weft_arena_new();
    weft_wire_out stripped = tensor_head(a, WEFT_F32, 2, 2),
                  complex = tensor_head(a, WEFT_C64, 1, 1),
                  text = tensor_head(a, WEFT_STRING, 1, 1), later = tensor_head(a, 23, 1, 1),
                  empty = tensor_head(a, WEFT_I64, 4, 0);
    const weft_literal *l;

    weft_wire_put_bytes(&complex, ONNX_TENSOR_RAW, "01234567", 8);
    weft_wire_put_bytes(&text, ONNX_TENSOR_STRINGS, "hi", 2);
    weft_wire_put_bytes(&later, ONNX_TENSOR_RAW, "0", 1);
    CHECK(literal_of(a, &stripped, 100) == NULL);
    CHECK(literal_of(a, &complex, 100) == NULL);
    CHECK(literal_of(a, &text, 100) == NULL);
    CHECK(literal_of(a, &later, 100) == NULL);
    l = literal_of(a, &empty, 100);
    CHECK(l && l->n == 0);
    weft_arena_free(a);
}

/* --- external data --------------------------------------------------------------------------- */

/* In the folder of external_literal. */
static const char *const links[][2] = {
    {"inside.bin",  "part.bin"      },
    {"outside.bin", "/proc/self/exe"},
    {"up",          ".."            },
    {"root",        "/"             },
    {"twice.bin",   "outside.bin"   },
    {"lost.bin",    "nowhere"       },
    {"circle.bin",  "circle.bin"    },
};

enum { N_LINKS = (int)(sizeof links / sizeof links[0]) };

/* Saves a model with one external tensor of two i32 in a folder of its own, beside "part.bin" with
 * the bytes 0 .. 15 and the links, opens it and asks for the elements. */
static weft_status external_literal(const char *location, const char *offset, const char *length,
                                    weft_arena *a, const weft_literal **out)
{
    static const uint8_t part[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    char folder[] = "/tmp/weft_onnx_XXXXXX";
    weft_wire_out t = tensor_head(a, WEFT_I32, 2, 1), model;
    const char *entry[3][2] = {
        {"location", location},
        {"offset",   offset  },
        {"length",   length  }
    };
    const char *path, *data;
    weft_onnx *o;
    weft_status status;

    CHECK(mkdtemp(folder) != NULL);
    path = weft_arena_print(a, "%s/model.onnx", folder);
    data = weft_arena_print(a, "%s/part.bin", folder);
    weft_wire_put_varint(&t, ONNX_TENSOR_DATA_LOCATION, ONNX_LOCATION_EXTERNAL);
    for (int i = 0; i < 3; i++) {
        size_t begin = weft_wire_begin(&t, ONNX_TENSOR_EXTERNAL);

        weft_wire_put_bytes(&t, ONNX_ENTRY_KEY, entry[i][0], strlen(entry[i][0]));
        weft_wire_put_bytes(&t, ONNX_ENTRY_VALUE, entry[i][1], strlen(entry[i][1]));
        weft_wire_end(&t, begin);
    }
    model = tensor_model(a, &t);
    CHECK_OK(weft_file_write(path, model.at, model.n));
    CHECK_OK(weft_file_write(data, part, sizeof part));
    for (int i = 0; i < N_LINKS; i++)
        CHECK_INT(symlink(links[i][1], weft_arena_print(a, "%s/%s", folder, links[i][0])), 0);
    *out = NULL;
    status = weft_onnx_open(path, &o);
    if (status == WEFT_OK) {
        status = weft_onnx_literal(o, &o->graph->initializer[0], 2, a, out);
        weft_onnx_free(o);
    }
    for (int i = 0; i < N_LINKS; i++)
        unlink(weft_arena_print(a, "%s/%s", folder, links[i][0]));
    unlink(path);
    unlink(data);
    rmdir(folder);
    return status;
}

TEST(external_data_are_read_from_the_folder_of_the_model_only)
{
    weft_arena *a = weft_arena_new();
    const weft_literal *l;

    CHECK_OK(external_literal("part.bin", "4", "8", a, &l));
    CHECK(l && l->n == 2);
    CHECK_INT(l->ints[0], 0x07060504); /* bytes 4 .. 7, the first is the lowest */
    CHECK_INT(l->ints[1], 0x0b0a0908);
    CHECK_OK(external_literal("./part.bin", "8", "8", a, &l));
    CHECK_INT(l->ints[0], 0x0b0a0908);
    CHECK_OK(external_literal("missing.bin", "0", "8", a, &l));
    CHECK(l == NULL);
    CHECK_OK(external_literal("part.bin/inside", "0", "8", a, &l));
    CHECK(l == NULL);
    CHECK_FAILS(external_literal("part.bin", "12", "8", a, &l),
                "tensor 'w': needs 8 bytes from byte 12 of 'part.bin', which has 16");
    CHECK_FAILS(external_literal("part.bin", "9223372036854775807", "8", a, &l), "needs 8 bytes");
    CHECK_FAILS(external_literal("part.bin", "0", "12", a, &l),
                "have 12 bytes, its type and dimen");
    CHECK_FAILS(external_literal("part.bin", "-4", "8", a, &l),
                "external offset is '-4', expected");
    CHECK_FAILS(external_literal("part.bin", "0", "99999999999999999999", a, &l),
                "external length");
    CHECK_FAILS(external_literal("/etc/passwd", "0", "8", a, &l), "external data in '/etc/passwd'");
    CHECK_FAILS(external_literal("../part.bin", "0", "8", a, &l), "expected a file in the folder");
    CHECK_FAILS(external_literal("a/../part.bin", "0", "8", a, &l),
                "expected a file in the folder");
    CHECK_FAILS(external_literal("a/..", "0", "8", a, &l), "expected a file in the folder");
    CHECK_FAILS(external_literal("", "0", "8", a, &l), "expected a file in the folder");
    CHECK_OK(external_literal("..part.bin", "0", "8", a, &l)); /* an odd name, but below */
    weft_arena_free(a);
}

TEST(links_do_not_lead_external_data_out_of_the_folder)
{
    static const char *const outside[] = {"outside.bin", "twice.bin", "root/proc/self/exe", "up",
                                          "root"};
    weft_arena *a = weft_arena_new();
    const weft_literal *l;

    CHECK_OK(external_literal("inside.bin", "4", "8", a, &l));
    CHECK(l && l->ints[0] == 0x07060504);
    CHECK_OK(external_literal("lost.bin", "0", "8", a, &l));
    CHECK(l == NULL);
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        CHECK_FAILS(external_literal(outside[i], "0", "8", a, &l),
                    "expected a file in the folder of the model or below");
        CHECK(l == NULL);
    }
    CHECK_FAILS(external_literal("circle.bin", "0", "8", a, &l), "cannot be opened");
    weft_arena_free(a);
}

/* --- equality of documents ------------------------------------------------------------------- */

static bool same_slice(weft_slice x, weft_slice y)
{
    return (x.at == NULL) == (y.at == NULL) && x.n == y.n &&
           (x.n == 0 || memcmp(x.at, y.at, x.n) == 0);
}

static bool same_slices(const weft_slice *x, const weft_slice *y, int n)
{
    for (int i = 0; i < n; i++)
        if (!same_slice(x[i], y[i]))
            return false;
    return true;
}

static bool same_array(const void *x, const void *y, int n, size_t size)
{
    return n == 0 || memcmp(x, y, (size_t)n * size) == 0;
}

static bool same_tensor(const weft_onnx_tensor *x, const weft_onnx_tensor *y)
{
    if (!same_slice(x->name, y->name) || x->data_type != y->data_type || x->n_dims != y->n_dims ||
        !same_array(x->dim, y->dim, x->n_dims, sizeof *x->dim) || x->has_data != y->has_data ||
        x->is_external != y->is_external || !same_slice(x->raw, y->raw) ||
        x->n_floats != y->n_floats || x->n_int32s != y->n_int32s || x->n_int64s != y->n_int64s ||
        x->n_doubles != y->n_doubles || x->n_uint64s != y->n_uint64s ||
        x->n_strings != y->n_strings || x->n_chunks != y->n_chunks ||
        !same_slice(x->location, y->location) || x->external_offset != y->external_offset ||
        x->external_length != y->external_length || !same_slice(x->doc, y->doc))
        return false;
    for (int i = 0; i < x->n_chunks; i++)
        if (x->chunk[i].field != y->chunk[i].field || x->chunk[i].single != y->chunk[i].single ||
            x->chunk[i].is_packed != y->chunk[i].is_packed ||
            !same_slice(x->chunk[i].body, y->chunk[i].body))
            return false;
    return true;
}

/* --- tensors and nodes that differ in their names only --------------------------------------- */

enum { N_ALIKE = 40 };

/* One of few tensors, in one of few ways to write it. */
static weft_wire_out drawn_tensor(weft_arena *a, weft_rng *rng, const char *name)
{
    weft_wire_out t = {a, NULL, 0, 0};
    int order = weft_rng_below(rng, 5), raw = weft_rng_below(rng, 4);

    if (order == 0)
        weft_wire_put_bytes(&t, ONNX_TENSOR_NAME, name, strlen(name));
    weft_wire_put_varint(&t, ONNX_TENSOR_DIMS,
                         raw > 0 ? 2u : 4u + (unsigned)weft_rng_below(rng, 2));
    weft_wire_put_varint(&t, ONNX_TENSOR_DATA_TYPE, 1);
    if (order == 1)
        weft_wire_put_bytes(&t, ONNX_TENSOR_NAME, "old", 3);
    if (order > 0)
        weft_wire_put_bytes(&t, ONNX_TENSOR_NAME, name, strlen(name));
    if (raw > 0)
        weft_wire_put_bytes(&t, ONNX_TENSOR_RAW, raw == 1 ? "\0\0\0\0\0\0\0\0" : "\0\0\0\0\0\0\0\1",
                            8);
    if (order == 4)
        weft_wire_put_bytes(&t, ONNX_TENSOR_DOC, "about", 5);
    return t;
}

TEST(initializers_that_differ_in_names_only_are_read_as_others_are)
{
    weft_arena *a = weft_arena_new();
    weft_rng rng = weft_rng_seed(3);
    weft_wire_out graph = {a, NULL, 0, 0}, model;
    weft_onnx *alone[N_ALIKE], *all;
    int n_like = 0;

    for (int i = 0; i < N_ALIKE; i++) {
        weft_wire_out t = drawn_tensor(a, &rng, weft_arena_print(a, "w%d", i * i * i));
        weft_wire_out one = tensor_model(a, &t);

        weft_wire_put_bytes(&graph, ONNX_GRAPH_INITIALIZER, t.at, t.n);
        CHECK_OK(read_out(&one, &alone[i]));
    }
    model = model_of(a, &graph);
    CHECK_OK(read_out(&model, &all));
    CHECK_INT(all->graph->n_initializers, N_ALIKE);
    for (int i = 0; i < N_ALIKE; i++) {
        const weft_onnx_tensor *t = &all->graph->initializer[i];

        CHECK(same_tensor(t, &alone[i]->graph->initializer[0]));
        CHECK_INT(t->n_elements, alone[i]->graph->initializer[0].n_elements);
        CHECK(t->like < i);
        n_like += t->like >= 0;
        if (t->like >= 0) {
            weft_onnx_tensor renamed = all->graph->initializer[t->like];

            renamed.name = t->name;
            CHECK(same_tensor(t, &renamed));
        }
        weft_onnx_free(alone[i]);
    }
    CHECK(n_like > N_ALIKE / 4);
    CHECK(n_like < N_ALIKE);
    weft_onnx_free(all);
    weft_arena_free(a);
}

TEST(the_name_of_an_initializer_like_another_one_is_checked)
{
    weft_arena *a = weft_arena_new();
    weft_wire_out graph = {a, NULL, 0, 0}, model;
    weft_onnx *o;

    for (int i = 0; i < 2; i++) {
        weft_wire_out t = {a, NULL, 0, 0};

        weft_wire_put_varint(&t, ONNX_TENSOR_DIMS, 4);
        weft_wire_put_varint(&t, ONNX_TENSOR_DATA_TYPE, 1);
        weft_wire_put_bytes(&t, ONNX_TENSOR_NAME, i == 0 ? "w.1" : "w\0001", 3);
        weft_wire_put_bytes(&graph, ONNX_GRAPH_INITIALIZER, t.at, t.n);
    }
    model = model_of(a, &graph);
    CHECK_INT(read_out(&model, &o), WEFT_E_INPUT);
    CHECK(strstr(weft_message(), "contains a NUL byte") != NULL);
    weft_arena_free(a);
}

/* Nodes of a few bytes, many more than a file of that size is likely to have, with other fields
 * between them. */
TEST(nodes_are_read_wherever_they_stand)
{
    enum { N_NODES = 900 };
    weft_arena *a = weft_arena_new();
    weft_wire_out graph = {a, NULL, 0, 0}, model;
    weft_onnx *o;

    for (int i = 0; i < N_NODES; i++) {
        weft_wire_out node = {a, NULL, 0, 0};
        const char *name = weft_arena_print(a, "%d", i);

        if (i % 400 == 399)
            weft_wire_put_bytes(&graph, ONNX_GRAPH_INPUT, "", 0);
        weft_wire_put_bytes(&node, ONNX_NODE_INPUT, "x", 1);
        weft_wire_put_bytes(&node, ONNX_NODE_OUTPUT, name, strlen(name));
        weft_wire_put_bytes(&node, ONNX_NODE_OP_TYPE, i % 50 == 7 ? "A" : "B", 1);
        weft_wire_put_bytes(&graph, ONNX_GRAPH_NODE, node.at, node.n);
    }
    model = model_of(a, &graph);
    CHECK_OK(read_out(&model, &o));
    CHECK_INT(o->graph->n_nodes, N_NODES);
    CHECK_INT(o->graph->n_inputs, 2);
    for (int i = 0; i < N_NODES; i++) {
        const weft_onnx_node *n = &o->graph->node[i];
        const char *name = weft_arena_print(a, "%d", i);

        CHECK_INT(n->n_inputs, 1);
        CHECK_INT(n->n_outputs, 1);
        CHECK(same_slice(n->output[0], (weft_slice){name, strlen(name)}));
        CHECK(*n->form->op_type.at == (i % 50 == 7 ? 'A' : 'B'));
        CHECK(n->twin < i && (n->twin < 0 || o->graph->node[n->twin].form == n->form));
    }
    weft_onnx_free(o);
    weft_arena_free(a);
}

static bool same_value(const weft_onnx_value_info *x, const weft_onnx_value_info *y)
{
    if (!same_slice(x->name, y->name) || x->is_tensor != y->is_tensor ||
        x->has_shape != y->has_shape || x->elem_type != y->elem_type || x->n_dims != y->n_dims ||
        !same_slice(x->doc, y->doc) || (x->raw_type.at == NULL) != (y->raw_type.at == NULL))
        return false;
    for (int i = 0; i < x->n_dims; i++)
        if (x->dim[i].value != y->dim[i].value || !same_slice(x->dim[i].param, y->dim[i].param))
            return false;
    return true;
}

static bool same_graph(const weft_onnx_graph *x, const weft_onnx_graph *y);

static bool same_attr(const weft_onnx_attr *x, const weft_onnx_attr *y)
{
    if (!same_slice(x->name, y->name) || !same_slice(x->ref, y->ref) || x->kind != y->kind ||
        memcmp(&x->f, &y->f, sizeof x->f) != 0 || x->i != y->i || !same_slice(x->s, y->s) ||
        x->n != y->n || (x->tensor == NULL) != (y->tensor == NULL) ||
        (x->graph == NULL) != (y->graph == NULL))
        return false;
    return (!x->floats || same_array(x->floats, y->floats, x->n, sizeof *x->floats)) &&
           (!x->ints || same_array(x->ints, y->ints, x->n, sizeof *x->ints)) &&
           (!x->strings || same_slices(x->strings, y->strings, x->n)) &&
           (!x->tensor || same_tensor(x->tensor, y->tensor)) &&
           (!x->graph || same_graph(x->graph, y->graph));
}

static bool same_node(const weft_onnx_node *x, const weft_onnx_node *y)
{
    if (!same_slice(x->name, y->name) || !same_slice(x->form->op_type, y->form->op_type) ||
        !same_slice(x->form->domain, y->form->domain) ||
        !same_slice(x->form->overload, y->form->overload) ||
        !same_slice(x->form->doc, y->form->doc) || x->n_inputs != y->n_inputs ||
        x->n_outputs != y->n_outputs || x->form->n_attrs != y->form->n_attrs ||
        !same_slices(x->input, y->input, x->n_inputs) ||
        !same_slices(x->output, y->output, x->n_outputs))
        return false;
    for (int i = 0; i < x->form->n_attrs; i++)
        if (!same_attr(&x->form->attr[i], &y->form->attr[i]))
            return false;
    return true;
}

static bool same_graph(const weft_onnx_graph *x, const weft_onnx_graph *y)
{
    bool same = same_slice(x->name, y->name) && same_slice(x->doc, y->doc) &&
                x->n_nodes == y->n_nodes && x->n_initializers == y->n_initializers &&
                x->n_inputs == y->n_inputs && x->n_outputs == y->n_outputs &&
                x->n_values == y->n_values && x->n_sparse == y->n_sparse &&
                same_slices(x->sparse, y->sparse, x->n_sparse) &&
                same_slices(x->sparse_name, y->sparse_name, x->n_sparse);

    for (int i = 0; same && i < x->n_nodes; i++)
        same = same_node(&x->node[i], &y->node[i]);
    for (int i = 0; same && i < x->n_initializers; i++)
        same = same_tensor(&x->initializer[i], &y->initializer[i]);
    for (int i = 0; same && i < x->n_inputs; i++)
        same = same_value(&x->input[i], &y->input[i]);
    for (int i = 0; same && i < x->n_outputs; i++)
        same = same_value(&x->output[i], &y->output[i]);
    for (int i = 0; same && i < x->n_values; i++)
        same = same_value(&x->value[i], &y->value[i]);
    return same;
}

static bool same_opsets(const weft_onnx_opset *x, const weft_onnx_opset *y, int n)
{
    for (int i = 0; i < n; i++)
        if (!same_slice(x[i].domain, y[i].domain) || x[i].version != y[i].version)
            return false;
    return true;
}

static bool same_function(const weft_onnx_function *x, const weft_onnx_function *y)
{
    bool same =
        same_slice(x->name, y->name) && same_slice(x->domain, y->domain) &&
        same_slice(x->overload, y->overload) && same_slice(x->doc, y->doc) &&
        x->n_inputs == y->n_inputs && x->n_outputs == y->n_outputs && x->n_attrs == y->n_attrs &&
        x->n_defaults == y->n_defaults && x->n_nodes == y->n_nodes && x->n_opsets == y->n_opsets &&
        same_slices(x->input, y->input, x->n_inputs) &&
        same_slices(x->output, y->output, x->n_outputs) &&
        same_slices(x->attr, y->attr, x->n_attrs) && same_opsets(x->opset, y->opset, x->n_opsets);

    for (int i = 0; same && i < x->n_defaults; i++)
        same = same_attr(&x->fallback[i], &y->fallback[i]);
    for (int i = 0; same && i < x->n_nodes; i++)
        same = same_node(&x->node[i], &y->node[i]);
    return same;
}

static bool same_model(const weft_onnx *x, const weft_onnx *y)
{
    bool same = x->ir_version == y->ir_version && x->model_version == y->model_version &&
                same_slice(x->producer, y->producer) &&
                same_slice(x->producer_version, y->producer_version) &&
                same_slice(x->domain, y->domain) && same_slice(x->doc, y->doc) &&
                x->n_opsets == y->n_opsets && x->n_functions == y->n_functions &&
                x->n_metadata == y->n_metadata && same_opsets(x->opset, y->opset, x->n_opsets) &&
                same_graph(x->graph, y->graph);

    for (int i = 0; same && i < x->n_functions; i++)
        same = same_function(&x->function[i], &y->function[i]);
    for (int i = 0; same && i < x->n_metadata; i++)
        same = same_slice(x->metadata[i].key, y->metadata[i].key) &&
               same_slice(x->metadata[i].value, y->metadata[i].value);
    return same;
}

/* --- writing --------------------------------------------------------------------------------- */

/* read(write(x)) = x, and writing once more changes no byte. */
static void check_rewrite(const weft_onnx *o)
{
    weft_arena *a = weft_arena_new();
    const uint8_t *data, *again_data;
    size_t size, again_size;
    weft_onnx *again;

    CHECK_OK(weft_onnx_bytes(o, a, &data, &size));
    CHECK_OK(weft_onnx_read(data, size, "again.onnx", &again));
    CHECK(same_model(o, again));
    CHECK_OK(weft_onnx_bytes(again, a, &again_data, &again_size));
    CHECK(size == again_size && memcmp(data, again_data, size) == 0);
    weft_onnx_free(again);
    weft_arena_free(a);
}

TEST(every_sample_reads_back_as_it_was_written)
{
    for (int i = 0; i < N_SAMPLES; i++) {
        weft_onnx *o;

        CHECK_OK(weft_onnx_open(samples[i], &o));
        CHECK(o->graph->n_nodes > 0);
        check_rewrite(o);
        weft_onnx_free(o);
    }
}

/* Clears the copied bytes of whatever can be put together from its fields. */
static void forget_raw(weft_onnx_graph *g)
{
    for (int u = 0; u < g->n_nodes; u++) {
        for (int i = 0; i < g->node[u].form->n_attrs; i++) {
            weft_onnx_attr *attr = (weft_onnx_attr *)(uintptr_t)&g->node[u].form->attr[i];

            if (attr->kind >= WEFT_ONNX_FLOAT && attr->kind <= WEFT_ONNX_STRINGS)
                attr->raw = (weft_slice){NULL, 0};
            if (attr->graph)
                forget_raw((weft_onnx_graph *)(uintptr_t)attr->graph);
        }
    }
    for (int i = 0; i < g->n_inputs; i++) {
        weft_onnx_value_info *value = (weft_onnx_value_info *)(uintptr_t)&g->input[i];

        if (value->is_tensor)
            value->raw_type = (weft_slice){NULL, 0};
    }
}

TEST(attributes_and_types_are_put_together_from_their_fields)
{
    for (int i = 0; i < N_SAMPLES; i++) {
        weft_arena *a = weft_arena_new();
        weft_onnx *whole, *parts, *again;
        const uint8_t *data;
        size_t size;

        CHECK_OK(weft_onnx_open(samples[i], &whole));
        CHECK_OK(weft_onnx_open(samples[i], &parts));
        forget_raw((weft_onnx_graph *)(uintptr_t)parts->graph);
        CHECK_OK(weft_onnx_bytes(parts, a, &data, &size));
        CHECK_OK(weft_onnx_read(data, size, "again.onnx", &again));
        CHECK(same_model(whole, again));
        weft_onnx_free(again);
        weft_onnx_free(parts);
        weft_onnx_free(whole);
        weft_arena_free(a);
    }
}

TEST(a_written_file_is_the_document_and_an_impossible_one_is_refused)
{
    char folder[] = "/tmp/weft_onnx_XXXXXX";
    weft_arena *a = weft_arena_new();
    const char *path;
    weft_onnx *o, *again;
    weft_onnx_attr *attr;

    CHECK(mkdtemp(folder) != NULL);
    path = weft_arena_print(a, "%s/copy.onnx", folder);
    CHECK_OK(weft_onnx_open(SAMPLE("every_field"), &o));
    CHECK_OK(weft_onnx_write(o, path));
    CHECK_OK(weft_onnx_open(path, &again));
    CHECK(same_model(o, again));
    CHECK(weft_onnx_write(o, "/nowhere/at/all.onnx") == WEFT_E_SYSTEM);
    attr = (weft_onnx_attr *)(uintptr_t)&o->graph->node[2].form->attr[0];
    attr->kind = WEFT_ONNX_GRAPHS;
    attr->raw.at = NULL;
    CHECK_FAILS(weft_onnx_write(o, path), "can be copied but not composed");
    weft_onnx_free(again);
    weft_onnx_free(o);
    unlink(path);
    rmdir(folder);
    weft_arena_free(a);
}

static const weft_onnx_attr *attr_named(const weft_onnx_node *n, const char *name)
{
    for (int i = 0; i < n->form->n_attrs; i++)
        if (slice_is(n->form->attr[i].name, name))
            return &n->form->attr[i];
    fail_msg("no attribute %s", name);
    return NULL;
}

/* Expected values: as put into the file by tests/data/onnx/every_field.py. */
TEST(every_field_of_a_document_is_read)
{
    weft_onnx *o;
    const weft_onnx_graph *g, *branch;
    const weft_onnx_node *every;
    const weft_onnx_function *f;

    CHECK_OK(weft_onnx_open(SAMPLE("every_field"), &o));
    g = o->graph;
    f = &o->function[0];
    CHECK_INT(o->ir_version, 8);
    CHECK_INT(o->model_version, -3);
    CHECK(slice_is(o->producer, "weft tests") && slice_is(o->producer_version, "1"));
    CHECK(slice_is(o->domain, "org.weft") && slice_is(o->metadata[1].key, "empty"));
    CHECK(o->n_opsets == 2 && slice_is(o->opset[1].domain, "weft.test"));
    CHECK_INT(o->opset[0].version, 15);
    CHECK_INT(g->n_nodes, 3); /* Add, If, Everything */
    branch = attr_named(&g->node[1], "then_branch")->graph;
    CHECK(slice_is(branch->name, "then2") && slice_is(branch->node[1].form->op_type, "If"));
    every = &g->node[2];
    CHECK(slice_is(every->form->domain, "weft.test") && every->n_inputs == 3 &&
          every->input[1].n == 0);
    CHECK(attr_named(every, "a_float")->f == (double)0.1f);
    CHECK_INT(attr_named(every, "an_int")->i, -7);
    CHECK_INT(attr_named(every, "a_string")->s.n, 10); /* "nul", a NUL, "inside" */
    CHECK(attr_named(every, "ints")->ints[2] == (int64_t)1 << 62);
    CHECK(attr_named(every, "floats")->floats[1] == -2.25);
    CHECK_INT(attr_named(every, "strings")->strings[2].n, 3);
    CHECK_INT(attr_named(every, "a_tensor")->tensor->dim[1], 3);
    CHECK_INT(attr_named(every, "graphs")->kind, WEFT_ONNX_GRAPHS);
    CHECK_INT(attr_named(every, "sparse")->kind, WEFT_ONNX_SPARSE_TENSOR);
    CHECK(g->n_inputs == 4 && slice_is(g->input[0].dim[0].param, "N") &&
          g->input[0].dim[1].value == 3);
    CHECK(g->input[1].has_shape && g->input[1].n_dims == 0 && g->input[1].elem_type == WEFT_BOOL);
    CHECK(!g->input[2].is_tensor && g->input[2].raw_type.n > 0);
    CHECK(g->input[3].is_tensor && !g->input[3].has_shape);
    CHECK(g->n_sparse == 1 && slice_is(g->sparse_name[0], "sparse_w"));
    CHECK(o->n_functions == 1 && f->n_nodes == 3 && f->n_attrs == 2 &&
          slice_is(f->attr[1], "an_int"));
    CHECK(slice_is(f->node[1].form->attr[0].ref, "a_float") && f->opset[0].version == 15);
    weft_onnx_free(o);
}

/* --- hostile bytes --------------------------------------------------------------------------- */

static void touch_literals(const weft_onnx *o, const weft_onnx_graph *g, weft_arena *a)
{
    const weft_literal *l;

    for (int i = 0; i < g->n_initializers; i++)
        if (weft_onnx_literal(o, &g->initializer[i], 64, a, &l) == WEFT_OK && l)
            CHECK(l->n <= 64 && (l->ints || l->reals));
    for (int u = 0; u < g->n_nodes; u++)
        for (int i = 0; i < g->node[u].form->n_attrs; i++)
            if (g->node[u].form->attr[i].graph)
                touch_literals(o, g->node[u].form->attr[i].graph, a);
}

/* The bytes are refused with a message that begins with the file's name, or they are a document
 * like any other. Returns whether they were accepted. */
static bool check_hostile(const uint8_t *data, size_t size)
{
    uint8_t *exact = malloc(size + (size == 0)); /* the sanitizer sees a byte too far */
    weft_arena *a = weft_arena_new();
    weft_onnx *o;
    weft_status status;

    memcpy(exact, data, size);
    status = weft_onnx_read(exact, size, "hostile.onnx", &o);
    if (status == WEFT_OK) {
        touch_literals(o, o->graph, a);
        check_rewrite(o);
        weft_onnx_free(o);
    } else {
        CHECK(status == WEFT_E_INPUT && o == NULL);
        CHECK(strstr(weft_message(), "hostile.onnx: ") == weft_message());
        CHECK(strlen(weft_message()) > strlen("hostile.onnx: "));
    }
    weft_arena_free(a);
    free(exact);
    return status == WEFT_OK;
}

TEST(truncated_files_are_refused)
{
    for (int i = 0; i < N_SAMPLES; i++) {
        weft_rng r = weft_rng_seed((uint64_t)i);
        weft_file f;
        int n_accepted = 0;

        CHECK_OK(weft_file_open(samples[i], &f));
        for (int k = 0; k < 300; k++)
            n_accepted += check_hostile(f.data, (size_t)weft_rng_below(&r, (int)f.size));
        for (size_t size = 0; size < 100; size++)
            n_accepted += check_hostile(f.data, size);
        CHECK(n_accepted < 200); /* cuts between the last fields of the model go unnoticed */
        CHECK(check_hostile(f.data, f.size));
        weft_file_close(&f);
    }
}

/* Heads of messages are where damage matters; weights, most of a file, are never looked at. */
TEST(damaged_files_are_refused_or_read)
{
    for (int i = 0; i < N_SAMPLES; i++) {
        weft_rng r = weft_rng_seed((uint64_t)i + 100);
        weft_file f;
        uint8_t *copy;
        int n_refused = 0;

        CHECK_OK(weft_file_open(samples[i], &f));
        copy = malloc(f.size);
        for (int k = 0; k < 1500; k++) {
            size_t at = (size_t)weft_rng_below(&r, (int)f.size);

            if (k % 2)
                at = (size_t)weft_rng_below(&r, f.size < 2000 ? (int)f.size : 2000);
            memcpy(copy, f.data, f.size);
            if (k % 3 == 0)
                copy[at] ^= (uint8_t)(1 << weft_rng_below(&r, 8));
            else
                copy[at] = (uint8_t)weft_rng_next(&r);
            n_refused += !check_hostile(copy, f.size);
        }
        CHECK(n_refused > 0);
        free(copy);
        weft_file_close(&f);
    }
}

TEST(random_bytes_are_refused)
{
    uint8_t bytes[200];

    for (uint64_t seed = 1; seed <= 3000; seed++) {
        weft_rng r = weft_rng_seed(seed);
        size_t n = (size_t)weft_rng_below(&r, sizeof bytes);

        for (size_t i = 0; i < n; i++) /* small bytes make more tags and lengths that fit */
            bytes[i] = (uint8_t)(weft_rng_next(&r) >> weft_rng_below(&r, 6) & 0x7f);
        check_hostile(bytes, n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_of_every_encoding_has_the_documented_bytes),
        cmocka_unit_test(random_messages_survive_writing_and_reading),
        cmocka_unit_test(lengths_of_nested_messages_use_as_few_bytes_as_they_need),
        cmocka_unit_test(malformed_fields_are_errors_with_their_offset),
        cmocka_unit_test(fields_come_in_any_order_and_the_last_one_counts),
        cmocka_unit_test(nodes_with_equal_bytes_behind_their_operands_share_a_form),
        cmocka_unit_test(names_of_nodes_with_a_known_form_are_checked_too),
        cmocka_unit_test(initializers_that_differ_in_names_only_are_read_as_others_are),
        cmocka_unit_test(the_name_of_an_initializer_like_another_one_is_checked),
        cmocka_unit_test(nodes_are_read_wherever_they_stand),
        cmocka_unit_test(lists_are_packed_or_single_or_both_and_old_files_leave_the_kind_out),
        cmocka_unit_test(sub_graphs_nest_only_so_deep),
        cmocka_unit_test(sub_graphs_side_by_side_are_not_deep),
        cmocka_unit_test(raw_data_are_little_endian_and_need_no_alignment),
        cmocka_unit_test(names_with_a_nul_byte_and_wrong_encodings_are_refused),
        cmocka_unit_test(files_of_other_kinds_are_named),
        cmocka_unit_test(paths_that_are_no_files_are_refused),
        cmocka_unit_test(sizes_that_disagree_are_errors_that_name_the_tensor),
        cmocka_unit_test(elements_of_every_type_are_decoded_from_raw_packed_and_single_values),
        cmocka_unit_test(infinities_nans_and_integers_beyond_int64_are_marked),
        cmocka_unit_test(
            absent_complex_and_text_data_give_no_literal_and_empty_tensors_an_empty_one),
        cmocka_unit_test(external_data_are_read_from_the_folder_of_the_model_only),
        cmocka_unit_test(links_do_not_lead_external_data_out_of_the_folder),
        cmocka_unit_test(every_sample_reads_back_as_it_was_written),
        cmocka_unit_test(attributes_and_types_are_put_together_from_their_fields),
        cmocka_unit_test(a_written_file_is_the_document_and_an_impossible_one_is_refused),
        cmocka_unit_test(every_field_of_a_document_is_read),
        cmocka_unit_test(truncated_files_are_refused),
        cmocka_unit_test(damaged_files_are_refused_or_read),
        cmocka_unit_test(random_bytes_are_refused),
    };

    return RUN_TESTS(tests);
}
