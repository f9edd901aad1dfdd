/* SPDX-License-Identifier: MIT */
/* An ONNX document as plain arrays. Text and data point into the file as read: nothing is copied
 * but repeated numbers. Field names follow onnx.proto3. */
#ifndef WEFT_ONNX_H
#define WEFT_ONNX_H

#include <string.h>

#include "model.h"

typedef struct weft_slice {
    const char *at; /* not NUL-terminated; NULL if the field is absent */
    size_t n;
} weft_slice;

static inline weft_slice weft_slice_of(const char *text)
{
    weft_slice s = {text, strlen(text)};

    return s;
}

typedef struct weft_onnx_tensor {
    weft_slice name;
    int data_type;
    int n_dims;
    const int64_t *dim;
    int64_t n_elements;
    bool has_data;          /* some data field is present (raw_data, *_data) */
    bool is_external;       /* data_location == EXTERNAL */
    uint8_t n_head, n_tail; /* bytes before and after the name, if few; n_head 0: not compared */
    int like;               /* of a graph: an earlier one that differs in its name only, or -1 */
    weft_slice raw;         /* raw_data */
    /* typed data fields: packed or single encodings, in the order of the file; number of elements
     */
    int n_floats, n_int32s, n_int64s, n_doubles, n_uint64s, n_strings;
    /* payloads of those fields as they stand in the file, decoded on demand */
    int n_chunks;
    const struct weft_onnx_chunk *chunk;
    weft_slice location;                      /* external_data */
    int64_t external_offset, external_length; /* -1 if absent */
    weft_slice doc;                           /* doc_string */
} weft_onnx_tensor;

/* One occurrence of a typed data field of a TensorProto. */
typedef struct weft_onnx_chunk {
    int field; /* 4 float_data, 5 int32_data, 6 string_data, 7 int64_data, 10 double_data, 11
                  uint64_data */
    bool is_packed;
    weft_slice body; /* packed payload or string bytes */
    uint64_t single; /* the varint or fixed value if it is neither */
} weft_onnx_chunk;

typedef struct weft_onnx_dim {
    int64_t value;    /* -1 if not given */
    weft_slice param; /* symbolic name */
} weft_onnx_dim;

/* TypeProto of tensors; other kinds (sequence, map, optional, sparse) have is_tensor false. */
typedef struct weft_onnx_value_info {
    weft_slice name;
    bool is_tensor, has_shape;
    int elem_type;
    int n_dims;
    const weft_onnx_dim *dim;
    weft_slice raw_type; /* the whole TypeProto, for the writer */
    weft_slice doc;
} weft_onnx_value_info;

typedef enum weft_onnx_attr_kind { /* AttributeProto.AttributeType */
                                   WEFT_ONNX_UNDEFINED = 0,
                                   WEFT_ONNX_FLOAT = 1,
                                   WEFT_ONNX_INT = 2,
                                   WEFT_ONNX_STRING = 3,
                                   WEFT_ONNX_TENSOR = 4,
                                   WEFT_ONNX_GRAPH = 5,
                                   WEFT_ONNX_FLOATS = 6,
                                   WEFT_ONNX_INTS = 7,
                                   WEFT_ONNX_STRINGS = 8,
                                   WEFT_ONNX_TENSORS = 9,
                                   WEFT_ONNX_GRAPHS = 10,
                                   WEFT_ONNX_SPARSE_TENSOR = 11,
                                   WEFT_ONNX_SPARSE_TENSORS = 12,
                                   WEFT_ONNX_TYPE_PROTO = 13,
                                   WEFT_ONNX_TYPE_PROTOS = 14,
} weft_onnx_attr_kind;

typedef struct weft_onnx_graph weft_onnx_graph;

typedef struct weft_onnx_attr {
    weft_slice name, ref; /* ref_attr_name: stands for an attribute of the enclosing function */
    int kind;             /* as stored, or deduced from the field present in old files */
    double f;
    int64_t i;
    weft_slice s;
    int n; /* of floats, ints, strings */
    const double *floats;
    const int64_t *ints;
    const weft_slice *strings;
    const weft_onnx_tensor *tensor; /* WEFT_ONNX_TENSOR */
    const weft_onnx_graph *graph;   /* WEFT_ONNX_GRAPH */
    weft_slice raw;                 /* the whole AttributeProto, for the writer */
} weft_onnx_attr;

/* A node without its name and operands. Networks repeat themselves: nodes whose bytes are equal
 * here share one form. */
typedef struct weft_onnx_form {
    int number;       /* of the document's forms: 0, 1, ... */
    weft_slice bytes; /* that every node with this form has; absent if none is compared with it */
    weft_slice op_type, domain, overload, doc;
    int n_attrs;
    const weft_onnx_attr *attr;
} weft_onnx_form;

typedef struct weft_onnx_node {
    weft_slice name;
    int n_inputs, n_outputs;
    const weft_slice *input, *output;
    const weft_onnx_form *form; /* never NULL */
    int twin; /* of a graph: an earlier node that is like it, by form and place (onnx_node.c); -1 */
} weft_onnx_node;

struct weft_onnx_graph {
    weft_slice name, doc;
    int n_nodes, n_initializers, n_inputs, n_outputs, n_values, n_sparse;
    const weft_onnx_node *node;
    const weft_onnx_tensor *initializer;
    const weft_onnx_value_info *input, *output, *value;
    const weft_slice *sparse;      /* sparse_initializer, undecoded */
    const weft_slice *sparse_name; /* name of the values tensor of each */
};

typedef struct weft_onnx_opset {
    weft_slice domain;
    int64_t version;
} weft_onnx_opset;

typedef struct weft_onnx_function {
    weft_slice name, domain, overload, doc;
    int n_inputs, n_outputs, n_attrs, n_defaults, n_nodes, n_opsets;
    const weft_slice *input, *output, *attr; /* attribute names without default */
    const weft_onnx_attr *fallback;          /* attribute_proto: attributes with default */
    const weft_onnx_node *node;
    const weft_onnx_opset *opset;
} weft_onnx_function;

typedef struct weft_onnx_entry {
    weft_slice key, value;
} weft_onnx_entry;

struct weft_onnx {
    const char *file;
    int64_t ir_version, model_version;
    weft_slice producer, producer_version, domain, doc;
    int n_opsets, n_functions, n_metadata, n_forms;
    const weft_onnx_opset *opset;
    const weft_onnx_function *function;
    const weft_onnx_entry *metadata;
    const weft_onnx_graph *graph; /* never NULL */
    weft_file mapping;            /* empty if the caller keeps the bytes */
    weft_arena *arena;
};

/* Sub-graphs, types and functions nest at most this deep. */
enum { WEFT_ONNX_MAX_DEPTH = 64 };

/* Elements of a tensor with at most `most` elements, as int64 or double; false if they are not in
 * the file (stripped, external, strings) or too many. Checks the size of the data. */
WEFT_CHECKED weft_status weft_onnx_literal(const weft_onnx *o, const weft_onnx_tensor *t, int most,
                                           weft_arena *a, const weft_literal **out);

/* --- parts of a document (onnx_part.c) ------------------------------------------------------- */

/* Where nodes and initializers of the main graph lie in the bytes of a document, with their tags. */
typedef struct weft_onnx_index {
    int n_nodes, n_initializers;
    const weft_bytes *node, *initializer; /* in the order of the file */
    int n_head;
    const weft_bytes *head; /* fields of the model but its graph and its metadata */
    int64_t ir_version;
} weft_onnx_index;

WEFT_CHECKED weft_status weft_onnx_index_read(weft_bytes document, weft_arena *a,
                                              weft_onnx_index *out);

/* A document of some nodes of another one. */
typedef struct weft_onnx_part {
    const char *name; /* of the graph */
    int n_nodes, n_initializers, n_extra, n_inputs, n_outputs, n_values, n_metadata;
    const int *node;               /* of the main graph, in an order that runs */
    const int *initializer;        /* likewise */
    const weft_onnx_tensor *extra; /* more initializers */
    const weft_onnx_value_info *input, *output, *value;
    const weft_onnx_entry *metadata;
} weft_onnx_part;

/* Nodes and initializers are the bytes of the document, which must outlive the list; the rest, and
 * the list, are in `a`. */
void weft_onnx_part_bytes(const weft_onnx_index *from, const weft_onnx_part *part, weft_arena *a,
                          const weft_bytes **out, int *n);

/* Type and shape of a tensor as a document declares them. */
weft_onnx_value_info weft_onnx_value_of(const char *name, weft_dtype type, const weft_shape *shape,
                                        weft_arena *a);
/* A constant with its elements; without them if one is not known or of a type that cannot be
 * written: then raw is absent. */
weft_onnx_tensor weft_onnx_tensor_of(const char *name, weft_dtype type, const weft_shape *shape,
                                     const weft_literal *l, weft_arena *a);

#endif
