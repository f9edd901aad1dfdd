/* SPDX-License-Identifier: MIT */
/* Splits of small networks of many operators, by brute force over points and elements: results are
 * covered, needs hold what points access, rings hand on what the next phase needs, bytes are those
 * of the boxes. */
#include "check.h"

#include "nets.h"
#include "split.h"

#define ARGS(...)                                                                                  \
    (const int[]){__VA_ARGS__}, (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

enum { MOST_PARTS = 11 };

/* --- random networks ------------------------------------------------------------------------- */

static int between(weft_rng *r, int low, int high)
{
    return low + weft_rng_below(r, high - low + 1);
}

static const char *shape_text(net_fixture *f, int rank, const int *dim)
{
    const char *text = "";

    for (int d = 0; d < rank; d++)
        text = weft_arena_print(weft_net_arena(f->net), "%s%s%d", text, d ? "x" : "", dim[d]);
    return text;
}

/* A value that a step makes, so that edges have two ends. */
static int made(net_fixture *f, int rank, const int *dim)
{
    return net_op(f, "Relu", ARGS(net_input(f, shape_text(f, rank, dim))), "");
}

static int maker(net_fixture *f, weft_rng *r, int rank, int low, int high, int dim[4])
{
    for (int d = 0; d < rank; d++)
        dim[d] = between(r, low, high);
    return made(f, rank, dim);
}

static const char *print(net_fixture *f, const char *format, int a, int b, int c, int d)
{
    return weft_arena_print(weft_net_arena(f->net), format, a, b, c, d);
}

static int draw_conv(net_fixture *f, weft_rng *r)
{
    int g = between(r, 1, 3) == 1 ? 2 : 1, k = between(r, 1, 3), in = between(r, 1, 3);
    int out = between(r, 1, 3), stride = between(r, 1, 2), dilation = between(r, 1, 2);
    int x = made(f, 4, (int[]){between(r, 1, 2), g * in, between(r, 4, 6), between(r, 5, 6)});
    int w = net_weight(f, shape_text(f, 4, (int[]){g * out, in, k, 2}));
    const char *pads = print(f, "pads=%d,%d,%d,0 group=%d", k / 2 + (dilation - 1) * (k > 2),
                             between(r, 0, 1), k / 2, g);
    int y = net_op(f, "Conv", ARGS(x, w, net_weight(f, print(f, "%d", g * out, 0, 0, 0))),
                   weft_arena_print(weft_net_arena(f->net), "%s strides=%d,1 dilations=%d,1", pads,
                                    stride, dilation));

    return between(r, 0, 1) ? net_op(f, "Relu", ARGS(y), "") : y;
}

/* Windows that meet can be cut, those that overlap or leave places out cannot. */
static int draw_transposed(net_fixture *f, weft_rng *r)
{
    int k = between(r, 1, 3), in = between(r, 1, 4), out = between(r, 1, 4);
    int stride = between(r, 0, 1) ? k : between(r, 1, 3);
    int x = made(f, 4, (int[]){1, in, between(r, 2, 5), 3});
    int w = net_weight(f, shape_text(f, 4, (int[]){in, out, k, 2}));

    return net_op(f, "ConvTranspose", ARGS(x, w),
                  print(f, "strides=%d,2 pads=%d,0,%d,0 output_padding=%d,0", stride, 0,
                        between(r, 0, k / 2), stride > 1 && between(r, 0, 1)));
}

static int draw_matmul(net_fixture *f, weft_rng *r)
{
    int b = between(r, 1, 3), m = between(r, 1, 6), n = between(r, 1, 6), k = between(r, 1, 6);
    int x = made(f, 3, (int[]){b, m, k});
    int y = between(r, 0, 1) ? made(f, 3, (int[]){between(r, 0, 1) ? b : 1, k, n})
                             : net_weight(f, shape_text(f, 2, (int[]){k, n}));
    int z = net_op(f, "MatMul", ARGS(x, y), "");

    return net_op(f, "Add", ARGS(z, made(f, 2, (int[]){m, between(r, 0, 1) ? n : 1})), "");
}

static int draw_gemm(net_fixture *f, weft_rng *r)
{
    int m = between(r, 1, 6), n = between(r, 1, 6), k = between(r, 1, 6);
    int a = between(r, 0, 1), b = between(r, 0, 1);
    int x = made(f, 2, a ? (int[]){k, m} : (int[]){m, k});
    int y = net_weight(f, shape_text(f, 2, b ? (int[]){n, k} : (int[]){k, n}));

    return net_op(f, "Gemm", ARGS(x, y, net_weight(f, print(f, "%d", n, 0, 0, 0))),
                  print(f, "transA=%d transB=%d", a, b, 0, 0));
}

static int draw_einsum(net_fixture *f, weft_rng *r)
{
    int i = between(r, 1, 4), j = between(r, 1, 4), k = between(r, 1, 4), b = between(r, 1, 3);

    return net_op(f, "Einsum", ARGS(made(f, 3, (int[]){b, i, j}), made(f, 3, (int[]){k, b, j})),
                  between(r, 0, 1) ? "equation=bij,kbj->kib" : "equation=bij,kbj->ki");
}

static int draw_pool(net_fixture *f, weft_rng *r)
{
    int x = made(f, 4, (int[]){between(r, 1, 2), between(r, 1, 4), between(r, 4, 7), 5});

    switch (between(r, 0, 3)) {
    case 0:
        return net_op(f, "GlobalAveragePool", ARGS(x), "");
    case 1:
        return net_op(f, "LRN", ARGS(x), print(f, "size=%d", between(r, 1, 3), 0, 0, 0));
    case 2:
        return net_op(f, "AveragePool", ARGS(x), "kernel_shape=3,2 strides=2,1 pads=1,0,1,1");
    default:
        return net_op(f, "MaxPool", ARGS(x), "kernel_shape=2,3 strides=1,2 dilations=2,1");
    }
}

static int draw_norm(net_fixture *f, weft_rng *r)
{
    int c = 2 * between(r, 1, 3), dim[3] = {between(r, 1, 3), c, between(r, 1, 5)};
    int x = made(f, 3, dim);
    const char *channels = print(f, "%d", c, 0, 0, 0);

    switch (between(r, 0, 4)) {
    case 0:
        return net_op(f, "Softmax", ARGS(x), print(f, "axis=%d", between(r, -3, 2), 0, 0, 0));
    case 1:
        return net_op(f, "LayerNormalization", ARGS(x, net_weight(f, shape_text(f, 2, dim + 1))),
                      "axis=1");
    case 2:
        return net_op(f, "GroupNormalization",
                      ARGS(x, net_weight(f, channels), net_weight(f, channels)),
                      print(f, "num_groups=%d", between(r, 1, 2), 0, 0, 0));
    case 3:
        return net_op(f, "InstanceNormalization",
                      ARGS(x, net_weight(f, channels), net_weight(f, channels)), "");
    default:
        return net_op(f, "BatchNormalization",
                      ARGS(x, net_weight(f, channels), net_weight(f, channels),
                           net_weight(f, channels), net_weight(f, channels)),
                      "");
    }
}

static int draw_reduce(net_fixture *f, weft_rng *r)
{
    static const char *const op[] = {"ReduceMean", "ReduceMax", "ReduceSum", "ArgMax"};
    int dim[4], i = between(r, 0, 3), x = maker(f, r, 3, 1, 5, dim);
    int keeps = between(r, 0, 1), axis = between(r, 0, 2);
    const int64_t axes[] = {axis};

    if (i != 3)
        return net_op(f, op[i], ARGS(x, net_ints(f, 1, axes)),
                      print(f, "keepdims=%d", keeps, 0, 0, 0));
    return net_op(f, op[i], ARGS(x), print(f, "keepdims=%d axis=%d", keeps, axis, 0, 0));
}

static int draw_concat(net_fixture *f, weft_rng *r)
{
    int n = between(r, 2, MOST_PARTS), axis = between(r, 0, 2), part[MOST_PARTS];
    int dim[3] = {between(r, 1, 4), between(r, 1, 4), between(r, 1, 4)};

    for (int i = 0; i < n; i++) {
        dim[axis] = between(r, 1, 3);
        part[i] = made(f, 3, dim);
    }
    return net_op(f, "Concat", part, n, print(f, "axis=%d", axis, 0, 0, 0));
}

static int draw_split(net_fixture *f, weft_rng *r)
{
    int n = between(r, 2, MOST_PARTS), axis = between(r, 0, 1), dim[2], result[MOST_PARTS];
    int64_t size[MOST_PARTS];

    dim[1 - axis] = between(r, 1, 4);
    dim[axis] = 0;
    for (int i = 0; i < n; i++)
        dim[axis] += (int)(size[i] = between(r, 1, 3));
    net_op_results(f, "Split", ARGS(made(f, 2, dim), net_ints(f, n, size)),
                   print(f, "axis=%d", axis, 0, 0, 0), n, result);
    for (int i = 1; i < n; i++)
        net_ask(f, result[i]);
    return result[0];
}

static int draw_move(net_fixture *f, weft_rng *r)
{
    int dim[4], x = maker(f, r, 3, 2, 6, dim);
    const int64_t first[] = {1, dim[2] - 1}, end[] = {dim[0], -100}, axes[] = {0, 2};
    const int64_t step[] = {2, -between(r, 1, 2)}, pads[] = {1, 0, -1, 0, 2, 1};
    const int64_t size[] = {dim[0], 2 * dim[1], dim[2]};

    switch (between(r, 0, 5)) {
    case 0:
        return net_op(f, "Transpose", ARGS(x), "perm=2,0,1");
    case 1:
        return net_op(f, "Slice",
                      ARGS(x, net_ints(f, 2, first), net_ints(f, 2, end), net_ints(f, 2, axes),
                           net_ints(f, 2, step)),
                      "");
    case 2:
        return net_op(f, "Pad", ARGS(x, net_ints(f, 6, pads)), "");
    case 3:
        return net_op(f, "Gather", ARGS(x, net_indices(f, "2x3")),
                      print(f, "axis=%d", between(r, 0, 2), 0, 0, 0));
    case 4:
        return net_op(f, "Expand",
                      ARGS(made(f, 3, (int[]){dim[0], 1, dim[2]}), net_ints(f, 3, size)), "");
    default:
        return net_op(f, "Resize", ARGS(x, -1, -1, net_ints(f, 3, size)), "mode=nearest");
    }
}

static int draw_elementwise(net_fixture *f, weft_rng *r)
{
    int dim[4], n = between(r, 2, MOST_PARTS), part[MOST_PARTS];

    part[0] = maker(f, r, 3, 1, 5, dim);
    for (int i = 1; i < n; i++) {
        int own[3] = {dim[0], between(r, 0, 1) ? dim[1] : 1, between(r, 0, 1) ? dim[2] : 1};

        part[i] = made(f, 3, own);
    }
    return net_op(f, "Max", part, n, "");
}

/* Products of dimensions are regrouped: 12 x 10 as 2 x 3 x 2, 10 and so on. */
static int draw_reshape(net_fixture *f, weft_rng *r)
{
    static const int64_t shape[][4] = {
        {12,  10, 1,  1},
        {2,   6,  5,  2},
        {3,   4,  10, 1},
        {4,   3,  2,  5},
        {120, 1,  1,  1},
        {8,   5,  3,  1},
        {1,   24, 1,  5}
    };
    const int64_t *from = shape[weft_rng_below(r, 7)], *to = shape[weft_rng_below(r, 7)];
    int x = made(f, 4, (int[]){(int)from[0], (int)from[1], (int)from[2], (int)from[3]});

    return net_op(f, "Reshape", ARGS(x, net_ints(f, 4, to)), "");
}

typedef int (*drawer)(net_fixture *f, weft_rng *r);

static const drawer drawers[] = {draw_conv, draw_transposed,  draw_matmul, draw_gemm,   draw_einsum,
                                 draw_pool, draw_norm,        draw_reduce, draw_concat, draw_split,
                                 draw_move, draw_elementwise, draw_reshape};

enum { N_DRAWERS = (int)(sizeof drawers / sizeof drawers[0]), DRAW_CONCAT = 8, DRAW_SPLIT = 9 };

static net_fixture draw(uint64_t seed, int kind)
{
    weft_rng r = weft_rng_seed(seed * N_DRAWERS + (uint64_t)kind);
    net_fixture f = net_start(WEFT_F16);
    int value = drawers[kind](&f, &r);

    net_finish(&f, value);
    return f;
}

/* --- elements and points --------------------------------------------------------------------- */

/* Next index of a box, last dimension fastest; false behind the last. */
static bool next_index(const int64_t *lo, const int64_t *hi, int n, int64_t *at)
{
    for (int d = n - 1; d >= 0; d--) {
        if (++at[d] < hi[d])
            return true;
        at[d] = lo[d];
    }
    return false;
}

static bool is_in(const weft_box *b, const int64_t *at)
{
    for (int d = 0; d < b->rank; d++)
        if (at[d] < b->lo[d] || at[d] >= b->hi[d])
            return false;
    return true;
}

static bool is_within(const weft_box *b, const weft_shape *s)
{
    bool is_good = b->rank == s->rank;

    for (int d = 0; d < b->rank; d++)
        is_good = is_good && b->lo[d] >= 0 && b->lo[d] <= b->hi[d] && b->hi[d] <= s->dim[d];
    return is_good;
}

static bool is_equal(const weft_box *a, const weft_box *b)
{
    for (int d = 0; d < a->rank; d++)
        if (a->lo[d] != b->lo[d] || a->hi[d] != b->hi[d])
            return false;
    return a->rank == b->rank;
}

/* The index of an access at a point of the nest; false outside the tensor. */
static bool index_at(const weft_access *a, const weft_shape *s, const int64_t *point, int64_t *at)
{
    bool is_inside = true;

    for (int d = 0; d < a->rank; d++) {
        at[d] = a->index[d].offset;
        for (int i = 0; i < a->index[d].n_terms; i++)
            at[d] += a->index[d].factor[i] * point[a->index[d].axis[i]];
        is_inside = is_inside && at[d] >= 0 && at[d] < s->dim[d];
    }
    return is_inside;
}

/* One split of one step. */
typedef struct subject {
    const weft_steps *s;
    int v;
    const weft_step *step;
    const weft_graph *g;
    const weft_split *split;
} subject;

/* --- properties ------------------------------------------------------------------------------ */

/* Every element of a result is held by the same number of members: one, if all that is cut indexes
 * it or sums stay scattered. */
static void check_results(const subject *x)
{
    bool is_disjoint = !weft_split_is_copy(x->split);

    for (int k = 0; k < x->step->n_axes; k++)
        is_disjoint = is_disjoint && (x->split->factor[k] == 1 || x->step->axis[k].in_result ||
                                      x->split->is_scattered);
    for (int r = 0; r < x->step->n_results; r++) {
        const weft_shape *shape = x->g->tensor[x->step->result[r]].shape;
        weft_box whole = weft_box_whole(shape), b;
        int64_t at[WEFT_MAX_RANK] = {0};
        int expected = -1;

        do {
            int n = 0;

            for (int j = 0; j < x->split->n; j++) {
                b = weft_split_result(x->s, x->v, x->split, j, r);
                CHECK(is_within(&b, shape));
                n += is_in(&b, at);
            }
            CHECK(n >= 1 && (expected < 0 || n == expected));
            CHECK(!is_disjoint || n == 1);
            expected = n;
        } while (next_index(whole.lo, whole.hi, whole.rank, at));
    }
}

/* The block of a member in a phase, for every axis of the head's nest. */
static void block_of(const subject *x, const weft_nest *n, int member, int phase, int64_t *lo,
                     int64_t *hi)
{
    int64_t from[WEFT_MAX_AXES], to[WEFT_MAX_AXES];

    weft_split_points(x->s, x->v, x->split, member, phase, from, to);
    for (int k = 0; k < n->n_axes; k++) {
        lo[k] = 0;
        hi[k] = n->axis[k].extent;
        for (int i = 0; i < x->step->n_axes; i++)
            if (strcmp(x->step->axis[i].name, n->axis[k].name) == 0) {
                lo[k] = from[i];
                hi[k] = to[i];
            }
    }
}

/* Members and phases share the points out: each is computed once (by every copy). */
static void check_points(const subject *x, const weft_nest *n, int n_phases)
{
    int64_t zero[WEFT_MAX_AXES] = {0}, extent[WEFT_MAX_AXES], at[WEFT_MAX_AXES] = {0};

    for (int k = 0; k < n->n_axes; k++) {
        int i = 0;

        while (i < x->step->n_axes && strcmp(x->step->axis[i].name, n->axis[k].name) != 0)
            i++;
        extent[k] = i < x->step->n_axes ? n->axis[k].extent : 1; /* others are never cut */
    }
    do {
        int count = 0;

        for (int j = 0; j < x->split->n; j++)
            for (int t = 0; t < n_phases; t++) {
                int64_t lo[WEFT_MAX_AXES], hi[WEFT_MAX_AXES];
                bool has = true;

                block_of(x, n, j, t, lo, hi);
                for (int k = 0; k < n->n_axes; k++)
                    has = has && at[k] >= lo[k] && at[k] < hi[k];
                count += has;
            }
        CHECK_INT(count, weft_split_is_copy(x->split) ? x->split->n : 1);
    } while (next_index(zero, extent, n->n_axes, at));
}

/* A member has every element that its points of the phase access. */
static void check_needs(const subject *x, const weft_nests *nests, int member, int phase)
{
    const weft_nest *n = &nests->nest[0];
    int u = x->step->node[0], n_entries = x->step->n_operands + x->step->n_weights;

    for (int e = 0; e < n_entries; e++) {
        bool is_weight = e >= x->step->n_operands;
        int k = is_weight ? e - x->step->n_operands : e;
        const weft_step_operand *o = is_weight ? &x->step->weight[k] : &x->step->operand[k];
        const weft_shape *shape = x->g->tensor[o->tensor].shape;
        weft_box b = is_weight ? weft_split_weight(x->s, x->v, x->split, member, k, phase)
                               : weft_split_need(x->s, x->v, x->split, member, k, phase);
        int64_t lo[WEFT_MAX_AXES], hi[WEFT_MAX_AXES], point[WEFT_MAX_AXES], at[WEFT_MAX_RANK];
        weft_access a;

        CHECK(is_within(&b, shape));
        if (o->node != 0 || !weft_node_access(x->g, u, nests, 0, false, o->slot, &a))
            continue;
        block_of(x, n, member, phase, lo, hi);
        memcpy(point, lo, sizeof point);
        do {
            for (int d = 0; d < a.rank; d++) /* a dimension that is read whole */
                if (a.index[d].is_whole)
                    CHECK(b.lo[d] == 0 && b.hi[d] == shape->dim[d]);
            if (!index_at(&a, shape, point, at))
                continue;
            for (int d = 0; d < a.rank; d++)
                at[d] = a.index[d].is_whole ? 0 : at[d];
            CHECK(is_in(&b, at));
        } while (next_index(lo, hi, n->n_axes, point));
    }
}

/* What a point writes is held in the end by the member or one of its partners. */
static void check_writes(const subject *x, const weft_nests *nests, int member, int phase)
{
    const weft_nest *n = &nests->nest[0];
    int u = x->step->node[0], partner[WEFT_MAX_MEMBERS];
    int n_partners = weft_split_partners(x->s, x->v, x->split, member, partner);
    int64_t lo[WEFT_MAX_AXES], hi[WEFT_MAX_AXES], point[WEFT_MAX_AXES], at[WEFT_MAX_RANK];

    for (int r = 0; r < x->step->n_results; r++) {
        int slot = x->step->n_nodes > 1 ? 0 : -1;
        const weft_shape *shape = x->g->tensor[x->step->result[r]].shape;
        weft_access a;

        for (int i = x->g->res_at[u]; i < x->g->res_at[u + 1] && slot < 0; i++)
            slot = x->g->res[i] == x->step->result[r] ? i - x->g->res_at[u] : -1;
        CHECK(weft_node_access(x->g, u, nests, 0, true, slot, &a));
        block_of(x, n, member, phase, lo, hi);
        memcpy(point, lo, sizeof point);
        do {
            bool is_held = false;

            if (!index_at(&a, shape, point, at))
                continue;
            for (int i = 0; i < n_partners; i++) {
                weft_box b = weft_split_result(x->s, x->v, x->split, partner[i], r);

                is_held = is_held || is_in(&b, at);
            }
            CHECK(is_held);
        } while (next_index(lo, hi, n->n_axes, point));
    }
}

static weft_box box_of(const subject *x, int member, bool is_weight, int k, int phase)
{
    return is_weight ? weft_split_weight(x->s, x->v, x->split, member, k, phase)
                     : weft_split_need(x->s, x->v, x->split, member, k, phase);
}

static double bytes_of(const subject *x, const weft_box *b, int tensor)
{
    const weft_tensor *t = &x->g->tensor[tensor];

    return (double)weft_box_elements(b) * (double)t->bytes / (double)t->elements;
}

/* The next shard is where the source has it; what does not rotate stays. Returns bytes that the
 * member receives before phase `phase`. */
static double check_ring(const subject *x, int member, int phase)
{
    double received = 0;

    for (int e = 0; e < x->step->n_operands + x->step->n_weights; e++) {
        bool is_weight = e >= x->step->n_operands;
        int k = is_weight ? e - x->step->n_operands : e;
        int source = weft_split_source(x->s, x->v, x->split, member, is_weight, k);
        weft_box now = box_of(x, member, is_weight, k, phase);
        weft_box before = box_of(x, source < 0 ? member : source, is_weight, k, phase - 1);

        CHECK(source != member && is_equal(&now, &before));
        if (source >= 0)
            received += bytes_of(
                x, &now, is_weight ? x->step->weight[k].tensor : x->step->operand[k].tensor);
    }
    return received;
}

/* Bytes of the mode against the boxes. */
static void check_mode(const subject *x, int n_phases)
{
    weft_design d = {.name = "d", .model = WEFT_ROOFLINE};
    double rotate = 0, sent = 0, weights = 0, results = 0;
    weft_split_cost m;

    d.value[WEFT_P_FLOPS] = d.value[WEFT_P_BANDWIDTH] = d.value[WEFT_P_ETA] = 1;
    for (int i = 0; i < WEFT_N_FAMILIES; i++)
        d.efficiency[i] = 1;
    m = weft_split_cost_of(x->s, x->v, x->split, &d);
    CHECK_INT(m.n_phases, n_phases);
    CHECK(m.phase_s >= 0 && isfinite(m.phase_s));
    for (int j = 0; j < x->split->n; j++) {
        double mine = 0, made_bytes = 0;

        for (int t = 1; t < n_phases; t++) {
            double received = check_ring(x, j, t);

            rotate = fmax(rotate, received);
            sent += received;
        }
        for (int k = 0; k < x->step->n_weights; k++) {
            weft_box b = box_of(x, j, true, k, 0);

            mine += bytes_of(x, &b, x->step->weight[k].tensor);
        }
        for (int r = 0; r < x->step->n_results; r++) {
            weft_box b = weft_split_result(x->s, x->v, x->split, j, r);

            made_bytes += bytes_of(x, &b, x->step->result[r]);
        }
        weights = fmax(weights, mine);
        results = fmax(results, made_bytes);
    }
    CHECK_NEAR(m.rotate_bytes, rotate);
    CHECK_NEAR(m.weight_bytes, weights);
    CHECK_NEAR(m.result_bytes, results);
    CHECK(m.sent_bytes >= sent * (1 - 1e-12));
    if (m.n_reduce == 1 && m.n_statistic == 1)
        CHECK_NEAR(m.sent_bytes, sent);
}

/* A reshard against a count of elements that a member needs and does not own. */
static void check_edge(const subject *x, int k, const weft_split *from)
{
    const weft_step_operand *o = &x->step->operand[k];
    double total, largest = weft_reshard_bytes(x->s, x->v, k, from, x->split, &total);
    double share = weft_interior_share(x->s, x->v, k, from, x->split), most = 0, sum = 0;

    for (int j = 0; j < x->split->n; j++) {
        weft_box need = weft_split_need(x->s, x->v, x->split, j, k, 0);
        weft_box own = weft_split_result(x->s, o->step, from, j, o->result);
        int64_t at[WEFT_MAX_RANK], n = 0;

        memcpy(at, need.lo, sizeof at);
        if (weft_box_elements(&need) > 0)
            do
                n += !is_in(&own, at);
            while (next_index(need.lo, need.hi, need.rank, at));
        most = fmax(most, 2.0 * (double)n); /* two bytes an element */
        sum += 2.0 * (double)n;
    }
    CHECK_NEAR(largest, most);
    CHECK_NEAR(total, sum);
    CHECK(share >= 0 && share <= 1);
    if (largest == 0 && x->split->shared < 0)
        CHECK_NEAR(share, 1.0);
    else if (largest > 0)
        CHECK(share < 1);
}

static void check_text(const subject *x)
{
    char text[128];
    weft_split again;

    CHECK(weft_split_is_valid(x->s, x->v, x->split));
    CHECK_OK(weft_split_parse(x->s, x->v, x->split->n, weft_split_print(x->s, x->v, x->split, text),
                              &again));
    CHECK(memcmp(&again, x->split, sizeof again) == 0);
}

static void check_split(const subject *x, const weft_nests *nests)
{
    int n_phases = weft_split_phases(x->s, x->v, x->split);

    check_text(x);
    check_results(x);
    check_mode(x, n_phases);
    if (nests->n != 1 || x->step->n_axes == 0)
        return;
    check_points(x, &nests->nest[0], n_phases);
    for (int j = 0; j < x->split->n; j++)
        for (int t = 0; t < n_phases; t++) {
            check_needs(x, nests, j, t);
            check_writes(x, nests, j, t);
        }
}

/* What was checked, so that a drawer that gives nothing to check is found. */
typedef struct tally {
    int n_cut, n_shared, n_scattered, n_edges;
} tally;

/* Splits of the last step over n members. */
static void check_step(const weft_steps *s, int n, weft_arena *a, tally *sum)
{
    int v = s->n - 1, n_splits;
    const weft_split *split, *from;
    weft_nests nests;

    weft_node_nests(s->graph, s->step[v].node[0], &nests);
    if (!weft_node_has_addresses(s->graph, s->step[v].node[0]))
        nests.n = 0;
    n_splits = weft_step_splits(s, v, n, true, a, &split);
    CHECK(n_splits >= 1);
    for (int i = 0; i < n_splits; i++) {
        subject x = {s, v, &s->step[v], s->graph, &split[i]};

        check_split(&x, &nests);
        sum->n_cut += n > 1 && !weft_split_is_copy(&split[i]);
        sum->n_shared += split[i].shared >= 0;
        sum->n_scattered += split[i].is_scattered;
        for (int k = 0; k < s->step[v].n_operands; k++) {
            int u = s->step[v].operand[k].step, n_from;

            n_from = u < 0 ? 0 : weft_step_splits(s, u, n, true, a, &from);
            for (int j = 0; j < n_from; j++)
                check_edge(&x, k, &from[j]);
            sum->n_edges += n_from;
        }
    }
}

TEST(splits_cover_results_and_needs_hold_what_points_access)
{
    int n_shared = 0, n_scattered = 0;

    for (int kind = 0; kind < N_DRAWERS; kind++) {
        tally sum = {0, 0, 0, 0};

        for (uint64_t seed = 1; seed <= N_DRAWN(60); seed++) {
            net_fixture f = draw(seed, kind);
            weft_arena *a = weft_arena_new();
            weft_steps *s = NULL;

            CHECK_OK(weft_steps_new(f.graph, &s));
            for (int n = 1; n <= 4; n++)
                check_step(s, n, a, &sum);
            check_step(s, 6, a, &sum);
            weft_steps_free(s);
            weft_arena_free(a);
            net_free(&f);
        }
        CHECK(sum.n_cut > N_DRAWN(60) && sum.n_edges > N_DRAWN(60));
        n_shared += sum.n_shared;
        n_scattered += sum.n_scattered;
    }
    CHECK(n_shared > 10 * N_DRAWN(60) && n_scattered > 10 * N_DRAWN(60));
}

/* --- arithmetic of operators, written down a second time ------------------------------------- */

static int64_t block_lo(const subject *x, const char *axis, const int64_t *lo, int64_t fallback)
{
    for (int i = 0; i < x->step->n_axes; i++)
        if (strcmp(x->step->axis[i].name, axis) == 0)
            return lo[i];
    return fallback;
}

/* y[b, m, r, c] += x[b, n, 2 r + i - 1, c + j] * w[m, n, i, j]. */
static void check_convolution(const subject *x, int member, int phase)
{
    static const char *const name[] = {"b", "m", "n", "r", "c"};
    const weft_tensor *y = &x->g->tensor[x->step->result[0]];
    const weft_shape *in = x->g->tensor[x->step->operand[0].tensor].shape;
    const weft_shape *w = x->g->tensor[x->step->weight[0].tensor].shape;
    const int64_t extent[] = {in->dim[0], w->dim[0], w->dim[1], y->shape->dim[2], y->shape->dim[3]};
    weft_box need = weft_split_need(x->s, x->v, x->split, member, 0, phase);
    weft_box kernel = weft_split_weight(x->s, x->v, x->split, member, 0, phase);
    int64_t from[WEFT_MAX_AXES], to[WEFT_MAX_AXES], lo[5], hi[5], p[5];

    weft_split_points(x->s, x->v, x->split, member, phase, from, to);
    for (int k = 0; k < 5; k++) {
        lo[k] = p[k] = block_lo(x, name[k], from, 0);
        hi[k] = block_lo(x, name[k], to, extent[k]);
    }
    do
        for (int64_t i = 0; i < w->dim[2]; i++)
            for (int64_t j = 0; j < w->dim[3]; j++) {
                const int64_t at[] = {p[0], p[2], 2 * p[3] + i - 1, p[4] + j};

                CHECK(is_in(&kernel, (const int64_t[]){p[1], p[2], i, j}));
                CHECK(at[2] < 0 || at[2] >= in->dim[2] || at[3] >= in->dim[3] || is_in(&need, at));
            }
    while (next_index(lo, hi, 5, p));
}

TEST(convolutions_have_the_rows_and_kernels_they_use)
{
    for (uint64_t seed = 1; seed <= N_DRAWN(40); seed++) {
        weft_rng r = weft_rng_seed(seed);
        net_fixture f = net_start(WEFT_F32);
        int in = between(&r, 1, 5), out = between(&r, 1, 5);
        int x = made(&f, 4, (int[]){between(&r, 1, 2), in, between(&r, 4, 9), between(&r, 4, 6)});
        int w = net_weight(&f, shape_text(&f, 4, (int[]){out, in, between(&r, 1, 3), 2}));
        weft_arena *a = weft_arena_new();
        weft_steps *s = NULL;
        const weft_split *split;

        net_finish(&f, net_op(&f, "Conv", ARGS(x, w), "strides=2,1 pads=1,0,0,0"));
        CHECK_OK(weft_steps_new(f.graph, &s));
        for (int n = 2; n <= 6; n++)
            for (int k = weft_step_splits(s, 1, n, true, a, &split) - 1; k >= 0; k--) {
                subject it = {s, 1, &s->step[1], f.graph, &split[k]};

                for (int j = 0; j < n; j++)
                    for (int t = weft_split_phases(s, 1, &split[k]) - 1; t >= 0; t--)
                        check_convolution(&it, j, t);
            }
        weft_arena_free(a);
        weft_steps_free(s);
        net_free(&f);
    }
}

/* Element number N of the result is element number N of the operand. */
static void check_reshape(const subject *x, int member)
{
    const weft_shape *from = x->g->tensor[x->step->operand[0].tensor].shape;
    const weft_shape *to = x->g->tensor[x->step->result[0]].shape;
    weft_box need = weft_split_need(x->s, x->v, x->split, member, 0, 0);
    weft_box own = weft_split_result(x->s, x->v, x->split, member, 0);
    int64_t at[WEFT_MAX_RANK], source[WEFT_MAX_RANK];

    memcpy(at, own.lo, sizeof at);
    do {
        int64_t number = 0;

        for (int d = 0; d < to->rank; d++)
            number = number * to->dim[d] + at[d];
        for (int d = from->rank - 1; d >= 0; d--) {
            source[d] = number % from->dim[d];
            number /= from->dim[d];
        }
        CHECK(is_in(&need, source));
    } while (next_index(own.lo, own.hi, own.rank, at));
}

TEST(reshapes_have_the_elements_they_need_and_no_more_at_outer_edges)
{
    weft_arena *a = weft_arena_new();
    net_fixture f = net_start(WEFT_F32);
    const int64_t heads[] = {1, 6, 4, 5};
    weft_steps *s = NULL;
    weft_split cut;
    weft_box b;

    for (uint64_t seed = 1; seed <= N_DRAWN(100); seed++) {
        net_fixture one = draw(seed, N_DRAWERS - 1);
        const weft_split *split;

        CHECK_OK(weft_steps_new(one.graph, &s));
        for (int n = 2; n <= 6; n++)
            for (int k = weft_step_splits(s, 1, n, true, a, &split) - 1; k >= 0; k--)
                for (int j = 0; j < n; j++) {
                    subject it = {s, 1, &s->step[1], one.graph, &split[k]};

                    check_reshape(&it, j);
                }
        weft_steps_free(s);
        net_free(&one);
    }
    net_finish(&f, net_op(&f, "Reshape",
                          ARGS(made(&f, 3, (int[]){1, 6, 20}), net_ints(&f, 4, heads)), ""));
    CHECK_OK(weft_steps_new(f.graph, &s));
    CHECK_OK(weft_split_parse(s, 1, 2, "d2=2", &cut));
    b = weft_split_need(s, 1, &cut, 1, 0, 0); /* heads 2 and 3: columns 10 .. 19 of all rows */
    CHECK(b.lo[1] == 0 && b.hi[1] == 6 && b.lo[2] == 10 && b.hi[2] == 20);
    CHECK_OK(weft_split_parse(s, 1, 2, "d1=2", &cut));
    b = weft_split_need(s, 1, &cut, 1, 0, 0);
    CHECK(b.lo[1] == 3 && b.hi[1] == 6 && b.lo[2] == 0 && b.hi[2] == 20);
    weft_steps_free(s);
    weft_arena_free(a);
    net_free(&f);
}

/* Piece k of a joined tensor begins where those before it end. */
static int64_t start_of(const subject *x, bool is_join, int k, int axis)
{
    int64_t start = 0;

    for (int i = 0; i < k; i++)
        start += x->g->tensor[is_join ? x->step->operand[i].tensor : x->step->result[i]]
                     .shape->dim[axis];
    return start;
}

/* Joins: element (i, j) of the result comes from one operand, and the member that holds the element
 * has it. Cuts: the other way round. */
static void check_subproblems(const subject *x, bool is_join, int axis)
{
    int n = is_join ? x->step->n_operands : x->step->n_results;

    for (int m = 0; m < x->split->n; m++)
        for (int k = 0; k < n; k++) {
            weft_box whole = is_join ? weft_split_result(x->s, x->v, x->split, m, 0)
                                     : weft_split_need(x->s, x->v, x->split, m, 0, 0);
            weft_box subproblem = is_join ? weft_split_need(x->s, x->v, x->split, m, k, 0)
                                          : weft_split_result(x->s, x->v, x->split, m, k);
            const weft_shape *shape =
                x->g->tensor[is_join ? x->step->operand[k].tensor : x->step->result[k]].shape;
            weft_box all = weft_box_whole(shape);
            int64_t start = start_of(x, is_join, k, axis), at[WEFT_MAX_RANK] = {0};

            do {
                int64_t joined[WEFT_MAX_RANK];

                memcpy(joined, at, sizeof joined);
                joined[axis] += start;
                CHECK_INT(is_in(&subproblem, at), is_in(&whole, joined));
            } while (next_index(all.lo, all.hi, all.rank, at));
        }
}

TEST(subproblems_of_joins_and_cuts_lie_where_they_belong)
{
    for (uint64_t seed = 1; seed <= N_DRAWN(60); seed++)
        for (int is_join = 0; is_join < 2; is_join++) {
            net_fixture f = draw(seed, is_join ? DRAW_CONCAT : DRAW_SPLIT);
            weft_arena *a = weft_arena_new();
            weft_steps *s = NULL;
            const weft_split *split;
            const weft_node *node;

            CHECK_OK(weft_steps_new(f.graph, &s));
            node = &f.graph->node[s->step[s->n - 1].node[0]];
            for (int n = 2; n <= 6; n++)
                for (int k = weft_step_splits(s, s->n - 1, n, false, a, &split) - 1; k >= 0; k--) {
                    subject x = {s, s->n - 1, &s->step[s->n - 1], f.graph, &split[k]};

                    check_subproblems(&x, is_join, (int)weft_node_int(node, "axis", -1));
                }
            weft_steps_free(s);
            weft_arena_free(a);
            net_free(&f);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_cover_results_and_needs_hold_what_points_access),
        cmocka_unit_test(convolutions_have_the_rows_and_kernels_they_use),
        cmocka_unit_test(subproblems_of_joins_and_cuts_lie_where_they_belong),
        cmocka_unit_test(reshapes_have_the_elements_they_need_and_no_more_at_outer_edges),
    };

    return RUN_TESTS(tests);
}
