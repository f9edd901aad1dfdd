/* SPDX-License-Identifier: MIT */
/* op_matmul.c: matrix products.
 *
 * Every product is one nest over batch axes b0, b1, ..., rows m, columns n and the inner axis k.
 * Each dimension of an operand has a role, one of these axes; transposed operands have their roles
 * in another order, vectors lack m or n, and batch dimensions of size 1 are broadcast. Shapes,
 * checks and nests all follow from the roles.
 *
 * Guarantee: numpy's matmul for every rank up to WEFT_MAX_RANK; inner sizes that differ are errors.
 * ONNX MatMul-13, MatMulInteger-10, QLinearMatMul-10, Gemm-13; com.microsoft FusedMatMul,
 * MatMulNBits, MatMulIntegerToFloat, DynamicQuantizeMatMul. */
#include "nn.h"

#include <string.h>

/* Roles of a dimension; 0 and up: that batch dimension of the result. */
enum { ROLE_M = -3, ROLE_N = -2, ROLE_K = -1 };

typedef struct side {
    int slot;
    bool is_transposed, is_batch_last; /* last two swapped; rows before the batch dimensions */
    weft_shape shape;
    int role[WEFT_MAX_RANK];
} side;

typedef struct product {
    side a, b;
    weft_shape batch; /* rank -1 if a rank is not known: then nothing else is */
    bool has_m, has_n;
    int64_t m, n, k;
} product;

/* --- shapes ---------------------------------------------------------------------------------- */

static int n_batch(const side *s)
{
    return s->shape.rank > 2 ? s->shape.rank - 2 : 0;
}

/* Roles of a matrix, or of a stack of them, with these rows and columns; a vector is all k. */
static void assign_roles(side *s, int rows, int columns, int n_batch_result)
{
    int rank = s->shape.rank, first = s->is_batch_last && rank > 2 ? 1 : 0;

    if (rank == 1) {
        s->role[0] = ROLE_K;
        return;
    }
    for (int i = 0; i < n_batch(s); i++)
        s->role[first + i] = n_batch_result - n_batch(s) + i;
    s->role[first ? 0 : rank - 2] = s->is_transposed ? columns : rows;
    s->role[rank - 1] = s->is_transposed ? rows : columns;
}

static weft_shape batch_of(const side *s)
{
    weft_shape batch = weft_shape_any(n_batch(s));
    int first = s->is_batch_last ? 1 : 0;

    for (int i = 0; i < batch.rank; i++)
        batch.dim[i] = s->shape.dim[first + i];
    return batch;
}

static int64_t size_of(const side *s, int role)
{
    for (int i = 0; i < s->shape.rank; i++)
        if (s->role[i] == role)
            return s->shape.dim[i];
    return 1;
}

static weft_status check_inner(const weft_call *c, product *p)
{
    int64_t k = size_of(&p->b, ROLE_K);
    char left[192], right[192];

    p->k = size_of(&p->a, ROLE_K);
    if (p->k == WEFT_UNKNOWN_DIM)
        p->k = k;
    if (k == WEFT_UNKNOWN_DIM || k == p->k)
        return WEFT_OK;
    return weft_call_fail(
        c, "input %d is %s but input %d is %s: expected %lld for the inner size %lld", p->b.slot,
        weft_shape_print(&p->b.shape, right), p->a.slot, weft_shape_print(&p->a.shape, left),
        (long long)p->k, (long long)k);
}

/* Fills the product of two sides whose slots and flags are set. */
static weft_status read_product(const weft_call *c, product *p)
{
    weft_shape right;

    WEFT_TRY(weft_need_rank(c, p->a.slot, 1, WEFT_MAX_RANK));
    WEFT_TRY(weft_need_rank(c, p->b.slot, 1, WEFT_MAX_RANK));
    p->a.shape = weft_arg(c, p->a.slot)->shape;
    p->b.shape = weft_arg(c, p->b.slot)->shape;
    p->batch = weft_shape_any(-1);
    if (p->a.shape.rank < 0 || p->b.shape.rank < 0)
        return WEFT_OK;
    p->batch = batch_of(&p->a);
    right = batch_of(&p->b);
    WEFT_TRY(weft_broadcast(c, &p->batch, &right));
    assign_roles(&p->a, ROLE_M, ROLE_K, p->batch.rank);
    assign_roles(&p->b, ROLE_K, ROLE_N, p->batch.rank);
    p->has_m = p->a.shape.rank > 1;
    p->has_n = p->b.shape.rank > 1;
    p->m = size_of(&p->a, ROLE_M);
    p->n = size_of(&p->b, ROLE_N);
    return check_inner(c, p);
}

static weft_shape result_of(const product *p)
{
    weft_shape s = p->batch;

    if (s.rank >= 0 && p->has_m)
        s.dim[s.rank++] = p->m;
    if (s.rank >= 0 && p->has_n)
        s.dim[s.rank++] = p->n;
    return s;
}

/* Operand b is the fourth of a quantised product; only some products have transposed operands. */
static product product_of(const weft_call *c)
{
    bool is_gemm = strstr(c->node->op, "Gemm") != NULL;
    bool is_fused = strcmp(c->node->op, "FusedMatMul") == 0;
    product p = {.b = {.slot = strcmp(c->node->op, "QLinearMatMul") == 0 ? 3 : 1}};

    if (is_gemm || is_fused) {
        p.a.is_transposed = weft_node_int(c->node, "transA", 0) != 0;
        p.b.is_transposed = weft_node_int(c->node, "transB", 0) != 0;
    }
    if (is_fused) {
        p.a.is_batch_last = weft_node_int(c->node, "transBatchA", 0) != 0;
        p.b.is_batch_last = weft_node_int(c->node, "transBatchB", 0) != 0;
    }
    return p;
}

/* The type of either operand: some files leave one unknown. */
static weft_dtype common_type(const weft_call *c)
{
    weft_dtype type = weft_arg_type(c, 0);

    return type == WEFT_TYPE_UNKNOWN ? weft_arg_type(c, 1) : type;
}

/* Integers give their sum, or reals; quantised products have the type of the result's zero point. */
static weft_dtype result_type(const weft_call *c)
{
    const char *op = c->node->op;
    weft_dtype zero = weft_arg_type(c, 7);

    if (strcmp(op, "MatMulInteger") == 0)
        return WEFT_I32;
    if (strcmp(op, "QLinearMatMul") == 0)
        return zero ? zero : weft_arg_type(c, 0);
    return strcmp(op, "MatMul") == 0 || strcmp(op, "FusedMatMul") == 0 ? common_type(c) : WEFT_F32;
}

weft_status weft_infer_matmul(weft_call *c)
{
    product p = product_of(c);
    weft_shape result;

    if (strcmp(c->node->op, "MatMul") == 0)
        WEFT_TRY(weft_need_type(c, 1, 0));
    WEFT_TRY(read_product(c, &p));
    result = result_of(&p);
    return weft_set_sized(c, 0, result_type(c), &result);
}

/* The summand must broadcast to the product, never the other way round. */
static weft_status check_summand(const weft_call *c, const weft_shape *result)
{
    weft_shape s = weft_arg_shape(c, 2, 0);
    bool fits = s.rank <= 2;
    char left[192], right[192];

    for (int i = 0; fits && i < s.rank; i++) {
        int64_t to = result->dim[2 - s.rank + i];

        fits = s.dim[i] == 1 || s.dim[i] == to || s.dim[i] == WEFT_UNKNOWN_DIM ||
               to == WEFT_UNKNOWN_DIM;
    }
    if (!fits)
        return weft_call_fail(c, "input 2 is %s, expected a shape that broadcasts to %s",
                              weft_shape_print(&s, left), weft_shape_print(result, right));
    return WEFT_OK;
}

weft_status weft_infer_gemm(weft_call *c)
{
    product p = product_of(c);
    weft_shape result = weft_shape_any(2);

    WEFT_TRY(weft_need_type(c, 1, 0));
    WEFT_TRY(read_product(c, &p));
    if (p.batch.rank >= 0)
        result = result_of(&p);
    else if (weft_arg(c, 0)->shape.rank == 2)
        result.dim[0] = weft_arg(c, 0)->shape.dim[p.a.is_transposed ? 1 : 0];
    else if (weft_arg(c, 1)->shape.rank == 2)
        result.dim[1] = weft_arg(c, 1)->shape.dim[p.b.is_transposed ? 0 : 1];
    WEFT_TRY(check_summand(c, &result));
    return weft_set_sized(c, 0, common_type(c), &result);
}

/* The weight is N x blocks x bytes, each block holding block_size elements of `bits` bits. */
weft_status weft_infer_matmul_nbits(weft_call *c)
{
    int64_t inner, columns, block, blocks;
    weft_shape a, b;

    WEFT_TRY(weft_int_of(c, "K", 0, 1, &inner));
    WEFT_TRY(weft_int_of(c, "N", 0, 1, &columns));
    WEFT_TRY(weft_int_of(c, "block_size", 0, 1, &block));
    a = weft_arg(c, 0)->shape;
    b = weft_arg(c, 1)->shape;
    if (a.rank > 0) {
        WEFT_TRY(weft_agree(c, 0, "last dimension", &inner, a.dim[a.rank - 1]));
        a.dim[a.rank - 1] = columns;
    }
    if (b.rank > 0 && b.rank != 1)
        WEFT_TRY(weft_agree(c, 1, "number of columns", &columns, b.dim[0]));
    blocks = (inner + block - 1) / block;
    if (b.rank == 3)
        WEFT_TRY(weft_agree(c, 1, "number of blocks", &blocks, b.dim[1]));
    return weft_set_sized(c, 0, weft_arg_type(c, 0), &a);
}

/* --- nests ----------------------------------------------------------------------------------- */

typedef struct axes {
    int batch[WEFT_MAX_RANK], m, n, k;
} axes;

static const char *batch_name(int i)
{
    static const char *const name[] = {"b0", "b1", "b2", "b3", "b4", "b5", "b6"};

    return name[i];
}

static int axis_of(const axes *x, int role)
{
    return role == ROLE_M ? x->m : role == ROLE_N ? x->n : role == ROLE_K ? x->k : x->batch[role];
}

static void access_side(weft_nest *n, const side *s, const axes *x)
{
    weft_access *to = weft_nest_access(n, false, s->slot, s->shape.rank);

    for (int i = 0; i < s->shape.rank; i++) {
        int axis = axis_of(x, s->role[i]);

        if (s->role[i] < 0 || s->shape.dim[i] != 1 || n->axis[axis].extent == 1)
            weft_index_axis(&to->index[i], axis);
    }
}

/* The nest of a product; *result gets the axes of the result's dimensions. */
static weft_nest *nest_product(const product *p, weft_nests *out, int result[WEFT_MAX_RANK])
{
    weft_nest *n = weft_nest_new(out);
    axes x = {.m = -1, .n = -1};
    int rank = 0;

    n->is_mac = true;
    for (int i = 0; i < p->batch.rank; i++)
        x.batch[i] = result[rank++] =
            weft_nest_axis(n, batch_name(i), WEFT_AXIS_PARALLEL, p->batch.dim[i]);
    if (p->has_m)
        x.m = result[rank++] = weft_nest_axis(n, "m", WEFT_AXIS_PARALLEL, p->m);
    if (p->has_n)
        x.n = result[rank++] = weft_nest_axis(n, "n", WEFT_AXIS_PARALLEL, p->n);
    x.k = weft_nest_axis(n, "k", WEFT_AXIS_REDUCE, p->k);
    access_side(n, &p->a, &x);
    access_side(n, &p->b, &x);
    weft_index_list(weft_nest_access(n, true, 0, rank)->index, result, rank);
    return n;
}

void weft_nest_matmul(const weft_call *c, weft_nests *out)
{
    product p = product_of(c);
    int result[WEFT_MAX_RANK];

    if (read_product(c, &p) == WEFT_OK && p.batch.rank >= 0)
        nest_product(&p, out, result);
}

void weft_nest_gemm(const weft_call *c, weft_nests *out)
{
    product p = product_of(c);
    const weft_value *summand = weft_arg(c, 2);
    int result[WEFT_MAX_RANK];
    weft_nest *n;

    if (read_product(c, &p) != WEFT_OK || p.batch.rank < 0)
        return;
    n = nest_product(&p, out, result);
    if (summand != NULL && summand->shape.rank <= 2)
        weft_index_broadcast(n, weft_nest_access(n, false, 2, summand->shape.rank), &summand->shape,
                             result, 2);
}

/* Blocks of k are packed into bytes, so only the column of the weight is an axis. */
void weft_nest_matmul_nbits(const weft_call *c, weft_nests *out)
{
    const weft_shape *a = &c->arg[0]->shape, *b = &c->arg[1]->shape;
    int axis[WEFT_MAX_RANK];
    weft_access *to;
    weft_nest *n = weft_nest_new(out);
    int last = a->rank - 1, column;

    n->is_mac = true;
    for (int i = 0; i < last; i++)
        axis[i] =
            weft_nest_axis(n, i == last - 1 ? "m" : batch_name(i), WEFT_AXIS_PARALLEL, a->dim[i]);
    column = weft_nest_axis(n, "n", WEFT_AXIS_PARALLEL, weft_node_int(c->node, "N", 1));
    axis[last] = weft_nest_axis(n, "k", WEFT_AXIS_REDUCE, a->dim[last]);
    weft_index_list(weft_nest_access(n, false, 0, a->rank)->index, axis, a->rank);
    to = weft_nest_access(n, false, 1, b->rank);
    for (int i = 0; i < b->rank; i++)
        to->index[i].is_whole = i > 0 || b->rank == 1;
    if (b->rank > 1)
        weft_index_axis(&to->index[0], column);
    axis[last] = column;
    weft_index_list(weft_nest_access(n, true, 0, a->rank)->index, axis, a->rank);
}
