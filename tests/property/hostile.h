/* SPDX-License-Identifier: MIT */
/* Shared by the tests of hostile input: files in a scratch folder, the answers they must get, and
 * documents written field by field. */
#ifndef WEFT_HOSTILE_H
#define WEFT_HOSTILE_H

#include "check.h"
#include "invariants.h"

#include "onnx_fields.h"
#include "report.h"
#include "wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* --- files ----------------------------------------------------------------------------------- */

/* The scratch folder and the file of a case in it. */
typedef struct place {
    char folder[64], file[96];
} place;

static inline place new_place(void)
{
    place p = {"/tmp/weft_hostile_XXXXXX", ""};

    assert_non_null(mkdtemp(p.folder));
    snprintf(p.file, sizeof p.file, "%s/net.onnx", p.folder);
    return p;
}

static inline void remove_place(const place *p)
{
    unlink(p->file);
    CHECK_INT(rmdir(p->folder), 0);
}

static inline void check_message(const char *file, const char *words)
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
static inline void refuse_file(const char *file, const char *words)
{
    weft_model_options other = {.batch = 3, .train = true};
    weft_model *m = NULL;

    assert_int_equal(weft_model_open(file, NULL, &m), WEFT_E_INPUT);
    check_message(file, words);
    assert_int_equal(weft_model_open(file, &other, &m), WEFT_E_INPUT);
    check_message(file, "");
}

static inline void refuse(const weft_wire_out *o, const char *words)
{
    place p = new_place();

    CHECK_OK(weft_file_write(p.file, o->at, o->n));
    refuse_file(p.file, words);
    remove_place(&p);
}

static inline void refuse_bytes(const void *data, size_t n, const char *words)
{
    weft_wire_out o = {NULL, (uint8_t *)(uintptr_t)data, n, n};

    refuse(&o, words);
}

/* The file is read (a hang is the time limit of the test runner), its graph is sound, and it has so
 * many nodes. */
static inline void accept(const weft_wire_out *o, int n_nodes)
{
    place p = new_place();
    weft_arena *a = weft_arena_new();
    weft_model *m = NULL;

    CHECK_OK(weft_file_write(p.file, o->at, o->n));
    CHECK_OK(weft_model_open(p.file, NULL, &m));
    CHECK_INT(m->graph->n_nodes, n_nodes);
    assert_non_null(weft_doc_json(weft_summary_doc(weft_summarize(m, a), true, a), 0, a));
    weft_graph_check(m->graph);
    weft_model_free(m);
    weft_arena_free(a);
    remove_place(&p);
}

/* --- documents ------------------------------------------------------------------------------- */

static inline void put_text(weft_wire_out *o, int field, const char *text)
{
    weft_wire_put_bytes(o, field, text, strlen(text));
}

static inline void put_opset(weft_wire_out *o, int field, const char *domain, int version)
{
    size_t opset = weft_wire_begin(o, field);

    put_text(o, ONNX_OPSET_DOMAIN, domain);
    weft_wire_put_varint(o, ONNX_OPSET_VERSION, (uint64_t)version);
    weft_wire_end(o, opset);
}

/* Begins a model with opset 17; ends with weft_wire_end of the result. */
static inline size_t begin_model(weft_wire_out *o, weft_arena *a)
{
    *o = (weft_wire_out){a, NULL, 0, 0};
    weft_wire_put_varint(o, ONNX_MODEL_IR_VERSION, 8);
    put_opset(o, ONNX_MODEL_OPSET, "", 17);
    put_opset(o, ONNX_MODEL_OPSET, "local", 1);
    return weft_wire_begin(o, ONNX_MODEL_GRAPH);
}

/* An input or output; type 0: a name alone. */
static inline void put_value(weft_wire_out *o, int field, const char *name, int type,
                             const int64_t *dim, int n_dims)
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

static inline void put_input(weft_wire_out *o, const char *name, int64_t rows, int64_t columns)
{
    int64_t dim[] = {rows, columns};

    put_value(o, ONNX_GRAPH_INPUT, name, WEFT_F32, dim, 2);
}

static inline void put_output(weft_wire_out *o, const char *name)
{
    put_value(o, ONNX_GRAPH_OUTPUT, name, 0, NULL, 0);
}

/* Begins a node with one operand and one result; NULL leaves them out. */
static inline size_t begin_node(weft_wire_out *o, int field, const char *op, const char *from,
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

static inline void put_node(weft_wire_out *o, const char *op, const char *from, const char *to)
{
    weft_wire_end(o, begin_node(o, ONNX_GRAPH_NODE, op, from, to));
}

/* An int64 list (rank 1) or number (rank 0) as initializer. */
static inline void put_ints(weft_wire_out *o, const char *name, const int64_t *value, int n,
                            int rank)
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

/* --- attributes in a line of notation -------------------------------------------------------- */

enum { MOST_NUMBERS = 16 };

/* Reads "1x3x8" or "1,2,3" up to the mark `end`; returns how many numbers. */
static inline int read_numbers(const char **at, int64_t *to)
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

/* "axis=1", "pads=[1,1]", "mode='edge'" and "scale=~" (a float, 1.5). */
static inline void attribute(weft_wire_out *o, const char **at)
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

#endif
