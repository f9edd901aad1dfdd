/* SPDX-License-Identifier: MIT */
/* op_attention.c: attention as one operator.
 *
 * With s queries, t keys (those of the past included), heads h, head sizes d of queries and keys
 * and e of values, attention is three nests:
 *
 *   scores   s x t for each batch item and head, summed over d     multiply-accumulates
 *   softmax  over t                                                5 operations a score
 *   values   s x e for each batch item and head, summed over t     multiply-accumulates
 *
 * and, where the operator contains it, the projection of its input to queries, keys and values.
 * Where several heads of queries share one of keys, the axes are h for heads of keys and g for
 * queries a head. Masks do not reduce the count.
 *
 * Guarantee: shapes follow ONNX Attention-23 and com.microsoft Attention, MultiHeadAttention and
 * GroupQueryAttention; sizes that contradict each other are errors. */
#include "nn.h"

/* How a tensor of rows (queries, keys or values) is laid out. */
typedef enum layout {
    LAYOUT_NONE,   /* not an operand */
    LAYOUT_ROWS,   /* batch x rows x heads * size */
    LAYOUT_PACKED, /* batch x rows x heads * size of queries, keys and values side by side */
    LAYOUT_HEADS,  /* batch x heads x rows x size */
    LAYOUT_STACK,  /* batch x rows x heads x 2 or 3 x size */
    LAYOUT_PAST,   /* 2 x batch x heads x rows x size */
} layout;

typedef struct part {
    int slot;
    layout layout;
} part;

/* Sizes of an attention; each may be WEFT_UNKNOWN_DIM. */
typedef struct heads {
    int64_t batch, q_heads, kv_heads;
    int64_t s, t; /* queries; keys given with this call */
    int64_t past; /* keys of earlier calls */
    int64_t total;
    int64_t d, e;
    part q, k, v, past_k, past_v;
    int mask_slot;   /* added to the scores; -1: none */
    layout y_layout; /* of result 0 */
} heads;

static heads unknown_heads(void)
{
    const int64_t no = WEFT_UNKNOWN_DIM;

    return (heads){.batch = no, .q_heads = no, .kv_heads = no, .s = no, .t = no, .d = no, .e = no};
}

/* --- shapes ---------------------------------------------------------------------------------- */

static weft_status positive_attribute(const weft_call *c, const char *name, int64_t *out)
{
    WEFT_TRY(weft_int_of(c, name, 0, 0, out));
    if (*out == 0)
        return weft_call_fail(c, "attribute %s is missing or 0, expected the number of heads",
                              name);
    return WEFT_OK;
}

/* Size of one of n equal parts. */
static weft_status divide(const weft_call *c, int slot, int64_t size, int64_t n, int64_t *out)
{
    char text[192];

    *out = WEFT_UNKNOWN_DIM;
    if (size == WEFT_UNKNOWN_DIM || n == WEFT_UNKNOWN_DIM)
        return WEFT_OK;
    if (n == 0 || size % n != 0)
        return weft_call_fail(c, "input %d is %s: its %lld columns do not divide into %lld heads",
                              slot, weft_arg_print(c, slot, text), (long long)size, (long long)n);
    *out = size / n;
    return WEFT_OK;
}

/* Where the sizes that a tensor of rows has are kept. */
typedef struct sizes {
    int64_t *n_heads, *rows, *size;
} sizes;

static weft_status agree_all(const weft_call *c, int slot, sizes to, const int64_t found[3])
{
    WEFT_TRY(weft_agree(c, slot, "number of heads", to.n_heads, found[0]));
    WEFT_TRY(weft_agree(c, slot, "number of rows", to.rows, found[1]));
    return weft_agree(c, slot, "head size", to.size, found[2]);
}

/* Sizes from an operand of 3 (LAYOUT_ROWS) or 4 dimensions (LAYOUT_HEADS), if it is there. */
static weft_status read_rows(const weft_call *c, heads *a, part *p, sizes to)
{
    weft_shape s = weft_arg_shape(c, p->slot, -1);
    int64_t each;

    if (s.rank < 0)
        return WEFT_OK;
    WEFT_TRY(weft_need_rank(c, p->slot, 3, 4));
    WEFT_TRY(weft_agree(c, p->slot, "batch size", &a->batch, s.dim[0]));
    p->layout = s.rank == 3 ? LAYOUT_ROWS : LAYOUT_HEADS;
    if (s.rank == 4)
        return agree_all(c, p->slot, to, (int64_t[]){s.dim[1], s.dim[2], s.dim[3]});
    WEFT_TRY(divide(c, p->slot, s.dim[2], *to.n_heads, &each));
    return agree_all(c, p->slot, to, (int64_t[]){WEFT_UNKNOWN_DIM, s.dim[1], each});
}

/* Sizes from batch x rows x heads x n x head size: n parts in one operand. */
static weft_status read_stack(const weft_call *c, heads *a, int slot, int64_t n, sizes to)
{
    weft_shape s = weft_arg_shape(c, slot, 5);

    WEFT_TRY(weft_agree(c, slot, "batch size", &a->batch, s.dim[0]));
    WEFT_TRY(weft_agree(c, slot, "number of parts", &n, s.dim[3]));
    return agree_all(c, slot, to, (int64_t[]){s.dim[2], s.dim[1], s.dim[4]});
}

/* Keys and values of earlier calls: batch x heads x rows x head size each. */
static weft_status read_past(const weft_call *c, heads *a, int slot)
{
    a->past = weft_arg(c, slot) == NULL && weft_arg(c, slot + 1) == NULL ? 0 : WEFT_UNKNOWN_DIM;
    a->past_k.slot = slot;
    a->past_v.slot = slot + 1;
    for (int i = slot; i < slot + 2; i++)
        if (weft_arg(c, i) != NULL)
            WEFT_TRY(weft_need_rank(c, i, 4, 4));
    WEFT_TRY(read_rows(c, a, &a->past_k, (sizes){&a->kv_heads, &a->past, &a->d}));
    return read_rows(c, a, &a->past_v, (sizes){&a->kv_heads, &a->past, &a->e});
}

/* Heads of queries share those of keys evenly; keys of past and present follow each other. */
static weft_status settle(const weft_call *c, heads *a)
{
    bool known = a->q_heads != WEFT_UNKNOWN_DIM && a->kv_heads != WEFT_UNKNOWN_DIM;

    if (known && (a->kv_heads == 0 || a->q_heads % a->kv_heads != 0))
        return weft_call_fail(c, "%lld heads of queries do not share %lld heads of keys evenly",
                              (long long)a->q_heads, (long long)a->kv_heads);
    a->total = WEFT_UNKNOWN_DIM;
    if (a->past == WEFT_UNKNOWN_DIM || a->t == WEFT_UNKNOWN_DIM)
        return WEFT_OK;
    if (__builtin_add_overflow(a->past, a->t, &a->total) || a->total > WEFT_MAX_DIM)
        return weft_call_fail(c, "%lld and %lld keys are too many", (long long)a->past,
                              (long long)a->t);
    return WEFT_OK;
}

/* Result 0 as batch x queries x heads * size. */
static weft_status set_rows(weft_call *c, const heads *a)
{
    weft_shape y = {
        3, {a->batch, a->s, WEFT_UNKNOWN_DIM}
    };

    WEFT_TRY(weft_multiply(c, "number of columns", a->q_heads, a->e, &y.dim[2]));
    return weft_set_sized(c, 0, weft_arg_type(c, 0), &y);
}

static void set_present(weft_call *c, const heads *a, int64_t rows)
{
    weft_shape key = {
        4, {a->batch, a->kv_heads, rows, a->d}
    };
    weft_shape value = {
        4, {a->batch, a->kv_heads, rows, a->e}
    };

    weft_set_result(c, 1, weft_arg_type(c, 0), &key);
    weft_set_result(c, 2, weft_arg_type(c, 0), &value);
}

/* ONNX Attention: queries, keys, values, mask, past keys, past values. */
static weft_status read_attention(const weft_call *c, heads *a)
{
    *a = unknown_heads();
    for (int i = 0; i < 3; i++)
        WEFT_TRY(weft_need_rank(c, i, 3, 4));
    if (weft_arg(c, 0)->shape.rank == 3)
        WEFT_TRY(positive_attribute(c, "q_num_heads", &a->q_heads));
    if (weft_arg(c, 1)->shape.rank == 3 || weft_arg(c, 2)->shape.rank == 3)
        WEFT_TRY(positive_attribute(c, "kv_num_heads", &a->kv_heads));
    a->k.slot = 1;
    a->v.slot = 2;
    WEFT_TRY(read_rows(c, a, &a->q, (sizes){&a->q_heads, &a->s, &a->d}));
    WEFT_TRY(read_rows(c, a, &a->k, (sizes){&a->kv_heads, &a->t, &a->d}));
    WEFT_TRY(read_rows(c, a, &a->v, (sizes){&a->kv_heads, &a->t, &a->e}));
    WEFT_TRY(read_past(c, a, 4));
    a->mask_slot = 3;
    a->y_layout = a->q.layout;
    return settle(c, a);
}

weft_status weft_infer_attention(weft_call *c)
{
    heads a;
    weft_shape y, scores;

    WEFT_TRY(read_attention(c, &a));
    scores = (weft_shape){
        4, {a.batch, a.q_heads, a.s, a.total}
    };
    set_present(c, &a, a.total);
    weft_set_result(c, 3, weft_arg_type(c, 0), &scores);
    if (a.y_layout == LAYOUT_ROWS)
        return set_rows(c, &a);
    y = (weft_shape){
        4, {a.batch, a.q_heads, a.s, a.e}
    };
    if (a.y_layout == LAYOUT_NONE)
        y = weft_shape_any(-1);
    return weft_set_sized(c, 0, weft_arg_type(c, 0), &y);
}

/* Columns of queries, keys and values that the weight of com.microsoft Attention makes. */
static weft_status read_projection(const weft_call *c, int64_t columns, int64_t each[3])
{
    char text[192];

    each[0] = each[1] = each[2] = WEFT_UNKNOWN_DIM;
    WEFT_TRY(weft_window_list(c, "qkv_hidden_sizes", 3, 1, each));
    if (each[0] == WEFT_UNKNOWN_DIM && columns != WEFT_UNKNOWN_DIM) {
        each[0] = each[1] = each[2] = columns / 3;
        if (columns % 3 != 0)
            return weft_call_fail(c, "input 1 (weight) is %s: %lld columns are not a multiple of 3",
                                  weft_arg_print(c, 1, text), (long long)columns);
    }
    if (each[0] == WEFT_UNKNOWN_DIM)
        return WEFT_OK;
    if (columns != WEFT_UNKNOWN_DIM && each[0] + each[1] + each[2] != columns)
        return weft_call_fail(c, "input 1 (weight) is %s: expected %lld + %lld + %lld columns",
                              weft_arg_print(c, 1, text), (long long)each[0], (long long)each[1],
                              (long long)each[2]);
    if (each[0] != each[1])
        return weft_call_fail(c, "queries have %lld columns but keys have %lld: expected as many",
                              (long long)each[0], (long long)each[1]);
    return WEFT_OK;
}

/* Past keys and values stacked: 2 x batch x heads x rows x head size. */
static weft_status read_stacked_past(const weft_call *c, heads *a, int slot)
{
    weft_shape s = weft_arg_shape(c, slot, 5);
    int64_t parts = 2;

    a->past = 0;
    if (weft_arg(c, slot) == NULL)
        return WEFT_OK;
    WEFT_TRY(weft_need_rank(c, slot, 5, 5));
    a->past = WEFT_UNKNOWN_DIM;
    a->past_k = a->past_v = (part){slot, LAYOUT_PAST};
    WEFT_TRY(weft_agree(c, slot, "first dimension", &parts, s.dim[0]));
    WEFT_TRY(weft_agree(c, slot, "batch size", &a->batch, s.dim[1]));
    return agree_all(c, slot, (sizes){&a->kv_heads, &a->past, &a->d},
                     (int64_t[]){s.dim[2], s.dim[3], s.dim[4]});
}

/* com.microsoft Attention: input, weight, bias, mask, past, summand of the scores. */
static weft_status read_ms_attention(const weft_call *c, heads *a)
{
    weft_shape x, w;
    int64_t each[3];

    *a = unknown_heads();
    WEFT_TRY(weft_need_rank(c, 0, 3, 3));
    WEFT_TRY(weft_need_rank(c, 1, 2, 2));
    WEFT_TRY(positive_attribute(c, "num_heads", &a->q_heads));
    x = weft_arg_shape(c, 0, 3);
    w = weft_arg_shape(c, 1, 2);
    a->kv_heads = a->q_heads;
    a->batch = x.dim[0];
    a->s = a->t = x.dim[1];
    WEFT_TRY(weft_agree(c, 1, "number of rows", &x.dim[2], w.dim[0]));
    WEFT_TRY(read_projection(c, w.dim[1], each));
    WEFT_TRY(divide(c, 1, each[0], a->q_heads, &a->d));
    WEFT_TRY(divide(c, 1, each[2], a->q_heads, &a->e));
    WEFT_TRY(weft_need_list(c, 2, "bias", w.dim[1]));
    WEFT_TRY(read_stacked_past(c, a, 4));
    a->mask_slot = 5;
    a->y_layout = LAYOUT_ROWS;
    return settle(c, a);
}

weft_status weft_infer_ms_attention(weft_call *c)
{
    heads a;
    weft_shape present;

    WEFT_TRY(read_ms_attention(c, &a));
    present = (weft_shape){
        5, {2, a.batch, a.kv_heads, a.total, a.d}
    };
    if (weft_node_int(c->node, "past_present_share_buffer", 0) != 0)
        present.dim[3] = a.past;
    weft_set_result(c, 1, weft_arg_type(c, 0), &present);
    return set_rows(c, &a);
}

/* Keys and values of MultiHeadAttention as operands 1 and 2, or both in operand 1. */
static weft_status read_mha_keys(const weft_call *c, heads *a)
{
    const sizes key = {&a->kv_heads, &a->t, &a->d};

    a->k.slot = a->v.slot = 1;
    WEFT_TRY(weft_need_rank(c, 1, 3, 5));
    if (weft_arg(c, 1)->shape.rank == 5) {
        a->k.layout = a->v.layout = LAYOUT_STACK;
        WEFT_TRY(read_stack(c, a, 1, 2, key));
        a->e = a->d;
        return WEFT_OK;
    }
    a->v.slot = 2;
    WEFT_TRY(read_rows(c, a, &a->k, key));
    WEFT_TRY(weft_need_rank(c, 2, 3, 4));
    return read_rows(c, a, &a->v, (sizes){&a->kv_heads, &a->t, &a->e});
}

/* com.microsoft MultiHeadAttention: queries, keys, values, bias, mask, summand of the scores, past
 * keys, past values. */
static weft_status read_mha(const weft_call *c, heads *a)
{
    weft_shape q;

    *a = unknown_heads();
    WEFT_TRY(weft_need_rank(c, 0, 3, 5));
    WEFT_TRY(positive_attribute(c, "num_heads", &a->q_heads));
    a->kv_heads = a->q_heads;
    q = weft_arg_shape(c, 0, -1);
    if (q.rank == 4)
        return weft_call_fail(c, "input 0 has 4 dimensions, expected 3 or 5");
    if (q.rank == 5) {
        a->q.layout = a->k.layout = a->v.layout = LAYOUT_STACK;
        WEFT_TRY(read_stack(c, a, 0, 3, (sizes){&a->q_heads, &a->s, &a->d}));
        a->t = a->s;
        a->e = a->d;
    } else if (q.rank == 3 || weft_arg(c, 1) != NULL) { /* else it may hold keys and values too */
        WEFT_TRY(read_rows(c, a, &a->q, (sizes){&a->q_heads, &a->s, &a->d}));
        WEFT_TRY(read_mha_keys(c, a));
    }
    WEFT_TRY(read_past(c, a, 6));
    a->mask_slot = 5;
    a->y_layout = LAYOUT_ROWS;
    return settle(c, a);
}

weft_status weft_infer_ms_mha(weft_call *c)
{
    heads a;

    WEFT_TRY(read_mha(c, &a));
    set_present(c, &a, a.total);
    return set_rows(c, &a);
}

/* Queries, keys and values side by side in the columns of operand 0. */
static weft_status read_packed(const weft_call *c, heads *a)
{
    weft_shape s = weft_arg_shape(c, 0, 3);

    if (weft_arg(c, 2) != NULL)
        return weft_call_fail(c, "input 2 (values) is there but input 1 (keys) is missing");
    a->q.layout = a->k.layout = a->v.layout = LAYOUT_PACKED;
    a->batch = s.dim[0];
    a->s = a->t = s.dim[1];
    WEFT_TRY(divide(c, 0, s.dim[2], a->q_heads + 2 * a->kv_heads, &a->d));
    a->e = a->d;
    return WEFT_OK;
}

/* com.microsoft GroupQueryAttention: queries, keys, values, past keys, past values, lengths, length
 * of all keys, two tables of rotary embeddings. */
static weft_status read_gqa(const weft_call *c, heads *a)
{
    *a = unknown_heads();
    WEFT_TRY(weft_need_rank(c, 0, 3, 3));
    WEFT_TRY(positive_attribute(c, "num_heads", &a->q_heads));
    WEFT_TRY(positive_attribute(c, "kv_num_heads", &a->kv_heads));
    if (weft_arg(c, 1) == NULL) {
        WEFT_TRY(read_packed(c, a));
    } else {
        a->k.slot = 1;
        a->v.slot = 2;
        WEFT_TRY(weft_need_rank(c, 1, 3, 3));
        WEFT_TRY(weft_need_rank(c, 2, 3, 3));
        WEFT_TRY(read_rows(c, a, &a->q, (sizes){&a->q_heads, &a->s, &a->d}));
        WEFT_TRY(read_rows(c, a, &a->k, (sizes){&a->kv_heads, &a->t, &a->d}));
        WEFT_TRY(read_rows(c, a, &a->v, (sizes){&a->kv_heads, &a->t, &a->e}));
    }
    WEFT_TRY(read_past(c, a, 3));
    a->mask_slot = -1;
    a->y_layout = LAYOUT_ROWS;
    return settle(c, a);
}

/* The number of keys is an operand: where it is known, past tensors may be buffers that are longer
 * or shorter than that. */
static int64_t given_total(const weft_call *c)
{
    int n;
    bool known;
    const int64_t *total = weft_list_of(c, NULL, 6, &n, &known);

    if (total == NULL || n != 1 || total[0] < 1 || total[0] > WEFT_MAX_DIM)
        return WEFT_UNKNOWN_DIM;
    return total[0];
}

weft_status weft_infer_ms_gqa(weft_call *c)
{
    heads a;
    int64_t rows, total = given_total(c);

    WEFT_TRY(read_gqa(c, &a));
    rows = a.total;
    if (total != WEFT_UNKNOWN_DIM && a.past != WEFT_UNKNOWN_DIM)
        rows = total > a.past ? total : a.past;
    set_present(c, &a, rows);
    return set_rows(c, &a);
}

/* --- nests ----------------------------------------------------------------------------------- */

typedef struct axes {
    int b, h, g, s, t, size; /* g is -1 where each head of queries has its own keys */
    int64_t shared;          /* heads of queries a head of keys */
} axes;

static void head_axes(weft_nest *n, const heads *a, axes *x)
{
    x->shared = a->q_heads / a->kv_heads;
    x->b = weft_nest_axis(n, "b", WEFT_AXIS_PARALLEL, a->batch);
    x->h = weft_nest_axis(n, "h", WEFT_AXIS_PARALLEL, a->kv_heads);
    x->g = x->shared == 1 ? -1 : weft_nest_axis(n, "g", WEFT_AXIS_PARALLEL, x->shared);
    x->s = weft_nest_axis(n, "s", WEFT_AXIS_PARALLEL, a->s);
}

/* Head of queries h * shared + g, or head of keys h, times `factor`. */
static void index_head(weft_index *i, const axes *x, bool is_query, int64_t factor)
{
    weft_index_term(i, x->h, is_query ? factor * x->shared : factor);
    if (is_query && x->g >= 0)
        weft_index_term(i, x->g, factor);
}

/* Dimension i of each layout, from the list of its kinds: batch, row, head, size, or whole. Packed
 * columns count as whole, since the three parts would each claim their own. */
static void index_rows(weft_access *to, const char *kinds, const axes *x, bool is_query)
{
    for (int i = 0; i < to->rank; i++) {
        weft_index *index = &to->index[i];

        if (kinds[i] == 'b')
            weft_index_axis(index, x->b);
        else if (kinds[i] == 'r')
            weft_index_axis(index, is_query ? x->s : x->t);
        else if (kinds[i] == 'h')
            index_head(index, x, is_query, 1);
        else if (kinds[i] == 'd')
            weft_index_axis(index, x->size);
        index->is_whole = kinds[i] == '*';
    }
}

static void access_rows(weft_nest *n, const part *p, const axes *x, bool is_query, bool is_result)
{
    static const char *const kinds[] = {"", "br.", "br*", "bhrd", "brh*d", "*bhrd"};
    static const int rank[] = {0, 3, 3, 4, 5, 5};
    weft_access *to;

    if (p->layout == LAYOUT_NONE)
        return;
    to = weft_nest_access(n, is_result, p->slot, rank[p->layout]);
    index_rows(to, kinds[p->layout], x, is_query);
    if (p->layout == LAYOUT_ROWS) {
        index_head(&to->index[2], x, is_query, n->axis[x->size].extent);
        weft_index_axis(&to->index[2], x->size);
    }
}

/* Keys or values of this call follow those of the past. */
static void access_keys(weft_nest *n, const part *now, const part *past, const axes *x,
                        int64_t n_past)
{
    weft_access *to;

    access_rows(n, past, x, false, false);
    if (now->layout == LAYOUT_NONE)
        return;
    access_rows(n, now, x, false, false);
    to = &n->access[n->n_accesses - 1];
    to->index[now->layout == LAYOUT_HEADS ? 2 : 1].offset = -n_past;
}

/* A tensor that is broadcast over batch x heads x queries x keys. */
static void access_scores(weft_nest *n, const weft_shape *s, int slot, bool is_result,
                          const axes *x)
{
    weft_access *to;

    if (s->rank < 0 || s->rank > 4)
        return;
    to = weft_nest_access(n, is_result, slot, s->rank);
    for (int i = 0; i < s->rank; i++) {
        int at = 4 - s->rank + i;

        if (s->dim[i] == 1)
            continue;
        if (at == 1)
            index_head(&to->index[i], x, true, 1);
        else
            weft_index_axis(&to->index[i], at == 0 ? x->b : at == 2 ? x->s : x->t);
    }
}

static void nest_scores(const weft_call *c, const heads *a, weft_nests *out)
{
    axes x;
    weft_nest *n = weft_nest_new(out);

    n->is_mac = true;
    head_axes(n, a, &x);
    x.t = weft_nest_axis(n, "t", WEFT_AXIS_PARALLEL, a->total);
    x.size = weft_nest_axis(n, "d", WEFT_AXIS_REDUCE, a->d);
    access_rows(n, &a->q, &x, true, false);
    access_keys(n, &a->k, &a->past_k, &x, a->past);
    if (c->n_results > 3 && c->result[3].shape.rank == 4)
        access_scores(n, &c->result[3].shape, 3, true, &x);
}

static void nest_softmax(const weft_call *c, const heads *a, weft_nests *out)
{
    enum { SOFTMAX_FLOPS = 5 }; /* maximum, subtract, exp, add, divide */
    const weft_value *mask = a->mask_slot < 0 ? NULL : weft_arg(c, a->mask_slot);
    axes x;
    weft_nest *n = weft_nest_new(out);

    n->point_flops = SOFTMAX_FLOPS;
    head_axes(n, a, &x);
    x.t = weft_nest_axis(n, "t", WEFT_AXIS_REDUCE, a->total);
    if (mask != NULL)
        access_scores(n, &mask->shape, a->mask_slot, false, &x);
}

static void nest_values(const heads *a, weft_nests *out)
{
    const part y = {0, a->y_layout};
    axes x;
    weft_nest *n = weft_nest_new(out);

    n->is_mac = true;
    head_axes(n, a, &x);
    x.size = weft_nest_axis(n, "e", WEFT_AXIS_PARALLEL, a->e);
    x.t = weft_nest_axis(n, "t", WEFT_AXIS_REDUCE, a->total);
    access_keys(n, &a->v, &a->past_v, &x, a->past);
    access_rows(n, &y, &x, true, true);
}

static void nest_heads(const weft_call *c, const heads *a, weft_nests *out)
{
    nest_scores(c, a, out);
    nest_softmax(c, a, out);
    nest_values(a, out);
}

void weft_nest_attention(const weft_call *c, weft_nests *out)
{
    heads a;

    if (read_attention(c, &a) == WEFT_OK)
        nest_heads(c, &a, out);
}

/* Input times weight: all queries, keys and values. */
static void nest_projection(const weft_call *c, weft_nests *out)
{
    const weft_shape *x = &c->arg[0]->shape, *w = &c->arg[1]->shape;
    weft_nest *n = weft_nest_new(out);
    int b, s, columns, k;

    n->is_mac = true;
    b = weft_nest_axis(n, "b", WEFT_AXIS_PARALLEL, x->dim[0]);
    s = weft_nest_axis(n, "s", WEFT_AXIS_PARALLEL, x->dim[1]);
    columns = weft_nest_axis(n, "n", WEFT_AXIS_PARALLEL, w->dim[1]);
    k = weft_nest_axis(n, "k", WEFT_AXIS_REDUCE, x->dim[2]);
    weft_index_list(weft_nest_access(n, false, 0, 3)->index, (int[]){b, s, k}, 3);
    weft_index_list(weft_nest_access(n, false, 1, 2)->index, (int[]){k, columns}, 2);
    if (weft_arg(c, 2) != NULL)
        weft_index_axis(&weft_nest_access(n, false, 2, 1)->index[0], columns);
}

void weft_nest_ms_attention(const weft_call *c, weft_nests *out)
{
    heads a;

    if (read_ms_attention(c, &a) != WEFT_OK)
        return;
    nest_projection(c, out);
    nest_heads(c, &a, out);
}

void weft_nest_ms_mha(const weft_call *c, weft_nests *out)
{
    heads a;

    if (read_mha(c, &a) == WEFT_OK)
        nest_heads(c, &a, out);
}

void weft_nest_ms_gqa(const weft_call *c, weft_nests *out)
{
    heads a;
    int64_t total = given_total(c);

    if (read_gqa(c, &a) != WEFT_OK)
        return;
    if (total != WEFT_UNKNOWN_DIM)
        a.total = total;
    nest_heads(c, &a, out);
}
