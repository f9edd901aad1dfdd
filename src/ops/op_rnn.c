/* SPDX-License-Identifier: MIT */
/* op_rnn.c: recurrent layers.
 *
 * At each of `seq` steps, in each direction, a layer multiplies its input (input x gates * hidden)
 * and its state (hidden x gates * hidden) with weights W and R: two nests of multiply-accumulates,
 * together seq * batch * (elements of W + elements of R). Activations of gates are not counted.
 * Time is a SEQUENTIAL axis in both nests, though the first could run ahead.
 *
 * Guarantee: shapes follow ONNX LSTM-14, GRU-14 and RNN-14, both layouts. */
#include "nn.h"

#include <string.h>

enum { X, W, R, BIAS, LENGTHS, STATE }; /* operands */

typedef struct layer {
    int64_t gates, directions, seq, batch, input, hidden, rows; /* rows: gates * hidden */
    bool is_batch_first;
} layer;

/* --- shapes ---------------------------------------------------------------------------------- */

static int64_t gates_of(const weft_call *c)
{
    static const struct {
        const char *op;
        int gates;
    } kind[] = {
        {"LSTM", 4},
        {"GRU",  3}
    };

    for (int i = 0; i < 2; i++)
        if (strcmp(c->node->op, kind[i].op) == 0)
            return kind[i].gates;
    return 1;
}

static weft_status read_attributes(const weft_call *c, layer *l)
{
    const char *direction = weft_node_text(c->node, "direction", "forward");
    int64_t hidden;

    *l = (layer){.gates = gates_of(c), .directions = 1, .hidden = WEFT_UNKNOWN_DIM};
    if (strcmp(direction, "bidirectional") == 0)
        l->directions = 2;
    else if (strcmp(direction, "forward") != 0 && strcmp(direction, "reverse") != 0)
        return weft_call_fail(
            c, "attribute direction is '%.100s', expected forward, reverse or bidirectional",
            direction);
    l->is_batch_first = weft_node_int(c->node, "layout", 0) != 0;
    WEFT_TRY(weft_int_of(c, "hidden_size", 0, 0, &hidden));
    if (hidden > 0)
        l->hidden = hidden;
    return WEFT_OK;
}

static weft_status read_weights(const weft_call *c, layer *l)
{
    weft_shape w = weft_arg_shape(c, W, 3), r = weft_arg_shape(c, R, 3);

    WEFT_TRY(weft_agree(c, W, "number of directions", &l->directions, w.dim[0]));
    WEFT_TRY(weft_agree(c, R, "number of directions", &l->directions, r.dim[0]));
    WEFT_TRY(weft_agree(c, W, "input size", &l->input, w.dim[2]));
    WEFT_TRY(weft_agree(c, R, "hidden size", &l->hidden, r.dim[2]));
    if (l->hidden == WEFT_UNKNOWN_DIM && w.dim[1] != WEFT_UNKNOWN_DIM)
        l->hidden = w.dim[1] / l->gates;
    WEFT_TRY(weft_multiply(c, "number of rows", l->gates, l->hidden, &l->rows));
    WEFT_TRY(weft_agree(c, W, "number of rows", &l->rows, w.dim[1]));
    return weft_agree(c, R, "number of rows", &l->rows, r.dim[1]);
}

/* Initial state: directions x batch x hidden, or the batch first. */
static weft_status check_state(const weft_call *c, const layer *l, int slot)
{
    weft_shape s = weft_arg_shape(c, slot, 3);
    int64_t directions = l->directions, batch = l->batch, hidden = l->hidden;

    if (s.rank != 3)
        return weft_call_fail(c, "input %d (initial state) has %d dimensions, expected 3", slot,
                              s.rank);
    WEFT_TRY(
        weft_agree(c, slot, "number of directions", &directions, s.dim[l->is_batch_first ? 1 : 0]));
    WEFT_TRY(weft_agree(c, slot, "batch size", &batch, s.dim[l->is_batch_first ? 0 : 1]));
    return weft_agree(c, slot, "hidden size", &hidden, s.dim[2]);
}

static weft_status check_others(const weft_call *c, const layer *l)
{
    weft_shape bias = weft_arg_shape(c, BIAS, 2);
    int64_t directions = l->directions, columns;

    if (bias.rank != 2)
        return weft_call_fail(c, "input 3 (bias) has %d dimensions, expected 2", bias.rank);
    WEFT_TRY(weft_multiply(c, "number of columns", 2, l->rows, &columns));
    WEFT_TRY(weft_agree(c, BIAS, "number of directions", &directions, bias.dim[0]));
    WEFT_TRY(weft_agree(c, BIAS, "number of columns", &columns, bias.dim[1]));
    WEFT_TRY(weft_need_list(c, LENGTHS, "sequence lengths", l->batch));
    WEFT_TRY(check_state(c, l, STATE));
    return l->gates == 4 ? check_state(c, l, STATE + 1) : WEFT_OK;
}

static weft_status read_layer(const weft_call *c, layer *l)
{
    weft_shape x;

    WEFT_TRY(weft_need_rank(c, X, 3, 3));
    WEFT_TRY(weft_need_rank(c, W, 3, 3));
    WEFT_TRY(weft_need_rank(c, R, 3, 3));
    WEFT_TRY(read_attributes(c, l));
    x = weft_arg_shape(c, X, 3);
    l->seq = x.dim[l->is_batch_first ? 1 : 0];
    l->batch = x.dim[l->is_batch_first ? 0 : 1];
    l->input = x.dim[2];
    WEFT_TRY(read_weights(c, l));
    return check_others(c, l);
}

weft_status weft_infer_rnn(weft_call *c)
{
    layer l;
    weft_shape y, state;
    weft_dtype type = weft_arg_type(c, X);

    WEFT_TRY(read_layer(c, &l));
    if (l.gates != 4 && c->n_results > 2)
        return weft_call_fail(c, "has %d outputs, expected 2 at most", c->n_results);
    y = (weft_shape){
        4, {l.seq, l.directions, l.batch, l.hidden}
    };
    state = (weft_shape){
        3, {l.directions, l.batch, l.hidden}
    };
    if (l.is_batch_first) {
        y = (weft_shape){
            4, {l.batch, l.seq, l.directions, l.hidden}
        };
        state = (weft_shape){
            3, {l.batch, l.directions, l.hidden}
        };
    }
    weft_set_result(c, 1, type, &state);
    weft_set_result(c, 2, type, &state);
    return weft_set_sized(c, 0, type, &y);
}

/* --- nests ----------------------------------------------------------------------------------- */

typedef struct axes {
    int t, d, b, h, k;
} axes;

static weft_nest *new_step(const layer *l, int64_t inner, weft_nests *out, axes *a)
{
    weft_nest *n = weft_nest_new(out);

    n->is_mac = true;
    a->t = weft_nest_axis(n, "t", WEFT_AXIS_SEQUENTIAL, l->seq);
    a->d = weft_nest_axis(n, "d", WEFT_AXIS_PARALLEL, l->directions);
    a->b = weft_nest_axis(n, "b", WEFT_AXIS_PARALLEL, l->batch);
    a->h = weft_nest_axis(n, "h", WEFT_AXIS_PARALLEL, l->rows);
    a->k = weft_nest_axis(n, "k", WEFT_AXIS_REDUCE, inner);
    return n;
}

static void access_list(weft_nest *n, bool is_result, int slot, const int *axis, int rank)
{
    weft_index_list(weft_nest_access(n, is_result, slot, rank)->index, axis, rank);
}

/* Results, as far as they are asked for: gates are combined, so the hidden dimension is whole. */
static void access_results(const weft_call *c, const layer *l, weft_nest *n, const axes *a)
{
    const int y[2][4] = {
        {a->t, a->d, a->b, -1},
        {a->b, a->t, a->d, -1}
    };
    const int state[2][3] = {
        {a->d, a->b, -1},
        {a->b, a->d, -1}
    };

    for (int i = 0; i < c->n_results; i++) {
        if (i == 0 && c->result[i].shape.rank == 4)
            access_list(n, true, i, y[l->is_batch_first], 4);
        else if (i > 0 && c->result[i].shape.rank == 3)
            access_list(n, true, i, state[l->is_batch_first], 3);
    }
}

void weft_nest_rnn(const weft_call *c, weft_nests *out)
{
    layer l;
    axes a;
    weft_nest *n;

    if (read_layer(c, &l) != WEFT_OK)
        return;
    n = new_step(&l, l.input, out, &a);
    access_list(n, false, X, l.is_batch_first ? (int[]){a.b, a.t, a.k} : (int[]){a.t, a.b, a.k}, 3);
    access_list(n, false, W, (int[]){a.d, a.h, a.k}, 3);
    if (weft_arg(c, BIAS) != NULL) /* those of input and state, side by side */
        access_list(n, false, BIAS, (int[]){a.d, -1}, 2);
    n = new_step(&l, l.hidden, out, &a);
    access_list(n, false, R, (int[]){a.d, a.h, a.k}, 3);
    if (weft_arg(c, STATE) != NULL)
        access_list(n, false, STATE,
                    l.is_batch_first ? (int[]){a.b, a.d, a.k} : (int[]){a.d, a.b, a.k}, 3);
    access_results(c, &l, n, &a);
}
