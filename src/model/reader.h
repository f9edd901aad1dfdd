/* SPDX-License-Identifier: MIT */
/* Shared by the two halves of the ONNX reader: graphs and functions, and the nodes in them. */
#ifndef WEFT_READER_H
#define WEFT_READER_H

#include "onnx_fields.h"

typedef struct weft_reader {
    weft_arena *arena;
    int depth;       /* of sub-graphs */
    int n_forms;     /* met so far */
    weft_map *forms; /* bytes -> index into form */
    WEFT_VEC(const weft_onnx_form *) form;
    weft_slice *text; /* room for the operands of the nodes that come next */
    int n_texts;
} weft_reader;

enum { WEFT_HISTORY_SLOTS = 256 };

/* The nodes of a graph so far, all zero at first: where does what comes now stand already? */
typedef struct weft_history {
    int next;                     /* 1 + the node that the next one is likely to repeat; 0: none */
    uint32_t forms;               /* of the last four nodes */
    int seen[WEFT_HISTORY_SLOTS]; /* by these forms: 1 + the last node that came with them */
} weft_history;

weft_slice weft_wire_slice(weft_wire w);
/* Reads node[u]; the nodes before it are read. Without history it has no twin. */
WEFT_CHECKED weft_status weft_onnx_node_read(weft_reader *r, const weft_wire *w, weft_history *h,
                                             weft_onnx_node *node, int u);
/* Reads nodes from w on as long as each of them differs from the one after the twin of the last
 * only in its texts and there is room. Returns how many nodes there are now. */
int weft_onnx_nodes_repeat(weft_reader *r, weft_wire *w, weft_history *h, weft_onnx_node *node,
                           int n, int n_room);
WEFT_CHECKED weft_status weft_onnx_attr_read(weft_reader *r, weft_wire w, weft_onnx_attr *out);
WEFT_CHECKED weft_status weft_onnx_graph_read(weft_reader *r, weft_wire w, weft_onnx_graph *out);

#endif
