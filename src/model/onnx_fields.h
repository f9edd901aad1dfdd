/* SPDX-License-Identifier: MIT */
/* Field numbers of onnx.proto3 (IR version 11), shared by reader and writer, and what the
 * files of the reader share. */
#ifndef WEFT_ONNX_FIELDS_H
#define WEFT_ONNX_FIELDS_H

#include "onnx.h"
#include "wire.h"

enum { /* ModelProto */
       ONNX_MODEL_IR_VERSION = 1,
       ONNX_MODEL_PRODUCER = 2,
       ONNX_MODEL_PRODUCER_VERSION = 3,
       ONNX_MODEL_DOMAIN = 4,
       ONNX_MODEL_VERSION = 5,
       ONNX_MODEL_DOC = 6,
       ONNX_MODEL_GRAPH = 7,
       ONNX_MODEL_OPSET = 8,
       ONNX_MODEL_METADATA = 14,
       ONNX_MODEL_FUNCTION = 25,
};

enum { /* GraphProto */
       ONNX_GRAPH_NODE = 1,
       ONNX_GRAPH_NAME = 2,
       ONNX_GRAPH_INITIALIZER = 5,
       ONNX_GRAPH_DOC = 10,
       ONNX_GRAPH_INPUT = 11,
       ONNX_GRAPH_OUTPUT = 12,
       ONNX_GRAPH_VALUE = 13,
       ONNX_GRAPH_SPARSE = 15,
};

enum { /* NodeProto */
       ONNX_NODE_INPUT = 1,
       ONNX_NODE_OUTPUT = 2,
       ONNX_NODE_NAME = 3,
       ONNX_NODE_OP_TYPE = 4,
       ONNX_NODE_ATTR = 5,
       ONNX_NODE_DOC = 6,
       ONNX_NODE_DOMAIN = 7,
       ONNX_NODE_OVERLOAD = 8,
};

enum { /* AttributeProto */
       ONNX_ATTR_NAME = 1,
       ONNX_ATTR_F = 2,
       ONNX_ATTR_I = 3,
       ONNX_ATTR_S = 4,
       ONNX_ATTR_T = 5,
       ONNX_ATTR_G = 6,
       ONNX_ATTR_FLOATS = 7,
       ONNX_ATTR_INTS = 8,
       ONNX_ATTR_STRINGS = 9,
       ONNX_ATTR_TENSORS = 10,
       ONNX_ATTR_GRAPHS = 11,
       ONNX_ATTR_TYPE_PROTO = 14,
       ONNX_ATTR_TYPE_PROTOS = 15,
       ONNX_ATTR_KIND = 20,
       ONNX_ATTR_REF = 21,
       ONNX_ATTR_SPARSE_TENSOR = 22,
       ONNX_ATTR_SPARSE_TENSORS = 23,
};

enum { /* TensorProto */
       ONNX_TENSOR_DIMS = 1,
       ONNX_TENSOR_DATA_TYPE = 2,
       ONNX_TENSOR_FLOATS = 4,
       ONNX_TENSOR_INT32S = 5,
       ONNX_TENSOR_STRINGS = 6,
       ONNX_TENSOR_INT64S = 7,
       ONNX_TENSOR_NAME = 8,
       ONNX_TENSOR_RAW = 9,
       ONNX_TENSOR_DOUBLES = 10,
       ONNX_TENSOR_UINT64S = 11,
       ONNX_TENSOR_DOC = 12,
       ONNX_TENSOR_EXTERNAL = 13,
       ONNX_TENSOR_DATA_LOCATION = 14,
       ONNX_LOCATION_EXTERNAL = 1, /* a value of data_location */
};

enum { /* ValueInfoProto and what it holds */
       ONNX_VALUE_NAME = 1,
       ONNX_VALUE_TYPE = 2,
       ONNX_VALUE_DOC = 3,
       ONNX_TYPE_TENSOR = 1,
       ONNX_TYPE_SEQUENCE = 4,
       ONNX_TYPE_MAP = 5,
       ONNX_TYPE_OPAQUE = 7,
       ONNX_TYPE_SPARSE = 8,
       ONNX_TYPE_OPTIONAL = 9,
       ONNX_TENSOR_TYPE_ELEM = 1,
       ONNX_TENSOR_TYPE_SHAPE = 2,
       ONNX_SHAPE_DIM = 1,
       ONNX_DIM_VALUE = 1,
       ONNX_DIM_PARAM = 2,
};

enum { /* FunctionProto */
       ONNX_FUNCTION_NAME = 1,
       ONNX_FUNCTION_INPUT = 4,
       ONNX_FUNCTION_OUTPUT = 5,
       ONNX_FUNCTION_ATTR = 6,
       ONNX_FUNCTION_NODE = 7,
       ONNX_FUNCTION_DOC = 8,
       ONNX_FUNCTION_OPSET = 9,
       ONNX_FUNCTION_DOMAIN = 10,
       ONNX_FUNCTION_FALLBACK = 11,
       ONNX_FUNCTION_OVERLOAD = 13,
};

enum { /* OperatorSetIdProto, StringStringEntryProto, SparseTensorProto */
       ONNX_OPSET_DOMAIN = 1,
       ONNX_OPSET_VERSION = 2,
       ONNX_ENTRY_KEY = 1,
       ONNX_ENTRY_VALUE = 2,
       ONNX_SPARSE_VALUES = 1,
};

enum { WEFT_ONNX_SHOWN_BYTES = 100 };

/* A name for messages, with its NUL, shortened if it is long. Returns `to`. */
const char *weft_onnx_show(weft_slice name, char to[WEFT_ONNX_SHOWN_BYTES]);

/* Adds the file, and what is in it if that is no ONNX model, to the message. */
weft_status weft_onnx_explain(weft_status status, weft_wire w, const char *file);

/* --- fields: texts and data stay where they are ---------------------------------------------- */

/* Names and paths: a NUL byte is an error. */
WEFT_CHECKED weft_status weft_onnx_field_text(const weft_wire_field *f, weft_slice *out);
WEFT_CHECKED weft_status weft_onnx_field_bytes(const weft_wire_field *f, weft_slice *out);
WEFT_CHECKED weft_status weft_onnx_field_int32(const weft_wire_field *f, int *out);
WEFT_CHECKED weft_status weft_onnx_field_entry(const weft_wire_field *f, weft_onnx_entry *out);

/* Reads a TensorProto and compares the size of its data with its type and dims. */
WEFT_CHECKED weft_status weft_onnx_tensor_read(weft_wire w, weft_arena *a, weft_onnx_tensor *out);
/* The same without looking, if all bytes but the name are those of another one; else false. */
bool weft_onnx_tensor_like(weft_wire w, const weft_onnx_tensor *like, weft_onnx_tensor *out);

/* --- writing (onnx_write.c) ------------------------------------------------------------------ */

void weft_onnx_put_tensor(weft_wire_out *o, int field, const weft_onnx_tensor *t);
void weft_onnx_put_value(weft_wire_out *o, int field, const weft_onnx_value_info *v);

/* A document as a list of bytes: those of another one and new ones in between (onnx_annotate.c). */
typedef struct weft_parts {
    weft_arena *arena;
    WEFT_VEC(weft_bytes) list;
} weft_parts;

void weft_parts_add(weft_parts *p, const void *at, size_t n);
/* A message whose length is not known yet: its number among the parts; and its end. */
int weft_parts_begin(weft_parts *p);
void weft_parts_end(weft_parts *p, int field, int begin);

#endif
