/* SPDX-License-Identifier: MIT */
/* Steps, splits, modes and edges of sharding, with the arithmetic of every expected value. */
#include "check.h"

#include "model.h"
#include "nets.h"
#include "split.h"

/* --- helpers --------------------------------------------------------------------------------- */

#define CHECK_IS(value, expected) CHECK_NEAR(value, (double)(expected))
#define ARGS(...)                                                                                  \
    (const int[]){__VA_ARGS__}, (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

static weft_steps *steps_of(const weft_graph *g)
{
    weft_steps *s = NULL;

    CHECK_OK(weft_steps_new(g, &s));
    return s;
}

static weft_split split_of(const weft_steps *s, int step, int n, const char *text)
{
    weft_split x;

    CHECK_OK(weft_split_parse(s, step, n, text, &x));
    return x;
}

static weft_design roofline(void)
{
    weft_design d = {.name = "d", .model = WEFT_ROOFLINE};

    d.value[WEFT_P_FLOPS] = 1e12;
    d.value[WEFT_P_BANDWIDTH] = 64e9;
    d.value[WEFT_P_ETA] = 1;
    for (int f = 0; f < WEFT_N_FAMILIES; f++)
        d.efficiency[f] = 1;
    return d;
}

static weft_design design(weft_device_model model)
{
    weft_design d = roofline();

    d.model = model;
    d.value[WEFT_P_CLOCK] = 200e6;
    d.value[WEFT_P_ROWS] = 11;
    d.value[WEFT_P_COLS] = 13;
    d.value[WEFT_P_VEC] = 8;
    d.value[WEFT_P_CORES] = 1;
    d.value[WEFT_P_LANES] = 16;
    d.value[WEFT_P_SRAM] = 1 << 20;
    d.value[WEFT_P_TM] = 64;
    d.value[WEFT_P_TN] = d.value[WEFT_P_TR] = 7;
    d.value[WEFT_P_TC] = 14;
    d.value[WEFT_P_PORT_IN] = d.value[WEFT_P_PORT_WEIGHT] = d.value[WEFT_P_PORT_OUT] = 16;
    d.value[WEFT_P_PM] = 8;
    d.value[WEFT_P_PN] = 2;
    d.value[WEFT_P_TILE] = 6;
    d.value[WEFT_P_OVERHEAD] = 1e-6;
    return d;
}

/* Two convolutions of 64 channels on 56 x 56 places, K = 3, two bytes an element. */
static net_fixture two_convolutions(void)
{
    net_fixture f = net_start(WEFT_F16);
    int x = net_input(&f, "1x64x56x56");
    int y = net_op(&f, "Conv", ARGS(x, net_weight(&f, "64x64x3x3")), "pads=1,1,1,1");
    int z = net_op(&f, "Conv", ARGS(y, net_weight(&f, "64x64x3x3")), "pads=1,1,1,1");

    net_finish(&f, z);
    return f;
}

/* --- steps ----------------------------------------------------------------------------------- */

TEST(followers_join_the_operand_made_last)
{
    net_fixture f = net_start(WEFT_F32);
    int x = net_input(&f, "1x8x6x6");
    int a = net_op(&f, "Conv", ARGS(x, net_weight(&f, "8x8x1x1")), "");
    int b = net_op(&f, "Conv", ARGS(x, net_weight(&f, "8x8x1x1")), "");
    int sum = net_op(&f, "Add", ARGS(a, b), "");
    int y = net_op(&f, "Relu", ARGS(sum), "");
    weft_steps *s = steps_of(net_finish(&f, y));

    CHECK_INT(s->n, 2);
    CHECK_INT(s->step[0].n_nodes, 1);
    CHECK_INT(s->step[1].n_nodes, 3); /* the second convolution, Add, Relu */
    CHECK_INT(s->step[1].n_operands, 2);
    CHECK_INT(s->step[1].operand[1].step, 0);
    CHECK_INT(s->step[1].operand[1].node, 1); /* read by Add */
    CHECK_INT(s->step[1].operand[1].slot, 0);
    CHECK_INT(s->step[1].n_results, 1);
    weft_steps_free(s);
    net_free(&f);
}

TEST(a_tensor_with_two_readers_or_asked_for_ends_its_step)
{
    net_fixture f = net_start(WEFT_F32);
    int x = net_input(&f, "4x6");
    int a = net_op(&f, "Relu", ARGS(x), "");
    int b = net_op(&f, "Exp", ARGS(a), "");
    int c = net_op(&f, "Mul", ARGS(a, b), ""); /* a has two readers; joins b */
    int d = net_op(&f, "Neg", ARGS(c), "");
    weft_steps *s;

    net_ask(&f, c);
    s = steps_of(net_finish(&f, d));
    CHECK_INT(s->n, 3); /* Relu; Exp Mul; Neg */
    CHECK_INT(s->step[1].n_nodes, 2);
    CHECK_INT(s->step[2].operand[0].step, 1);
    weft_steps_free(s);
    net_free(&f);
}

TEST(reshapes_stay_alone_and_mixing_operators_are_not_cut)
{
    net_fixture f = net_start(WEFT_F32);
    const int64_t to[] = {2, 12};
    int x = net_input(&f, "4x6");
    int a = net_op(&f, "Reshape", ARGS(x, net_ints(&f, 2, to)), "");
    int b = net_op(&f, "Relu", ARGS(a), "");
    int q[3];
    weft_steps *s;

    net_op_results(&f, "DynamicQuantizeLinear", ARGS(b), "", 3, q);
    net_ask(&f, q[1]);
    s = steps_of(net_finish(&f, q[0]));
    CHECK_INT(s->n, 3);
    CHECK_INT(s->step[0].n_axes, 2);
    CHECK_INT(s->step[1].n_axes, 2);
    CHECK_INT(s->step[2].n_axes, 0); /* its scale depends on all elements */
    weft_steps_free(s);
    net_free(&f);
}

/* Where it is not known before the run which elements are read, everything is needed. */
TEST(operators_without_addresses_are_copied_only)
{
    const int64_t pads[] = {0, 1, 0, 1};
    net_fixture f = net_start(WEFT_F32);
    int x = net_input(&f, "4x6"), picture = net_input(&f, "1x4x6x6");
    int starts = net_indices(&f, "1"), a, b, c, d, e;
    weft_steps *s;

    a = net_op(&f, "Pad", ARGS(x, net_ints(&f, 4, pads)), "mode=reflect");
    b = net_op(&f, "DepthToSpace", ARGS(picture), "blocksize=2");
    c = net_op(&f, "DeformConv", ARGS(picture, net_weight(&f, "8x4x1x1"), net_input(&f, "1x2x6x6")),
               "");
    d = net_op(&f, "CumSum", ARGS(x, starts), ""); /* along any axis */
    e = net_op(&f, "BatchNormalization",
               ARGS(picture, net_weight(&f, "4"), net_weight(&f, "4"), net_weight(&f, "4"),
                    net_weight(&f, "4")),
               "training_mode=1");
    net_ask(&f, a);
    net_ask(&f, b);
    net_ask(&f, c);
    net_ask(&f, d);
    s = steps_of(net_finish(&f, e));
    CHECK_INT(s->n, 5);
    for (int v = 0; v < s->n; v++)
        CHECK_INT(s->step[v].n_axes, 0);
    weft_steps_free(s);
    net_free(&f);
}

/* Groups are cut as a whole, kernels and arguments of a maximum never. */
TEST(axes_that_may_be_cut)
{
    net_fixture f = net_start(WEFT_F32);
    int x = net_input(&f, "2x8x6x6");
    int a = net_op(&f, "Conv", ARGS(x, net_weight(&f, "12x2x3x3")), "group=4");
    int b = net_op(&f, "ArgMax", ARGS(x), "axis=1 keepdims=0");
    int c = net_op(&f, "Gather", ARGS(x, net_indices(&f, "3x5")), "axis=1"), d;
    weft_steps *s;
    weft_split split;
    weft_box box;

    d = net_op(&f, "Conv", ARGS(x, net_weight(&f, "4x8x6x6")), "");
    net_ask(&f, a);
    net_ask(&f, b);
    net_ask(&f, c);
    s = steps_of(net_finish(&f, d));
    CHECK_INT(s->step[0].n_axes, 4); /* b, g, r, c; not m, nor n, which follow g */
    CHECK_TEXT(s->step[0].axis[1].name, "g");
    CHECK_TEXT(s->step[0].axis[2].name, "r");
    CHECK_INT(s->step[0].scatter, -1);          /* nothing is summed over members */
    CHECK_INT(s->step[1].n_axes, 3);            /* not the one it runs along */
    for (int k = 0; k < s->step[3].n_axes; k++) /* one place alone: still no cut of the kernel */
        CHECK(strchr("bmn", s->step[3].axis[k].name[0]) != NULL);
    CHECK_INT(s->step[3].n_axes, 3);
    split = split_of(s, 2, 3, "d1=3"); /* rows of the indices; any channel may be looked up */
    box = weft_split_need(s, 2, &split, 1, 0, 0);
    CHECK_INT(box.hi[1] - box.lo[1], 8);
    box = weft_split_need(s, 2, &split, 1, 1, 0);
    CHECK(box.lo[0] == 1 && box.hi[0] == 2 && box.lo[1] == 0 && box.hi[1] == 5);
    weft_steps_free(s);
    net_free(&f);
}

typedef struct known_steps {
    const char *name;
    int n_nodes, n_steps;
} known_steps;

/* Counted by hand from the structure of the networks:
 * resnet34: 36 convolutions (16 blocks of 2, stem, 3 on short-cuts) that take their Relus and Adds,
 *   max pool, average pool, Flatten, Gemm = 40.
 * casia_surf: 44 convolutions that take their Relus, and the Concat = 45.
 * dlrm: 3 + 5 Gemm, 26 Gather, 2 Concat, Transpose, MatMul, Flatten, Gather, Unsqueeze = 41.
 * bert: 12 layers of 20 (6 MatMul with bias, 2 more, Softmax, 2 norms, 4 Reshape, 5 Transpose), and
 *   2 Gather, Unsqueeze, the mask, norm, Gather and Gemm of the pooler = 247.
 * vit_b_16: 12 layers of 19 (4 MatMul with bias, 2 more, Split, Softmax, 2 norms, 4 Reshape, 5
 *   Transpose), and Conv, Reshape, Transpose, Concat, norm, Gather, Gemm = 235. */
static const known_steps known[] = {
    {"resnet34",   89,  40 },
    {"casia_surf", 89,  45 },
    {"dlrm",       49,  41 },
    {"bert",       384, 247},
    {"vit_b_16",   332, 235},
};

static void check_operands(const weft_steps *s, int v)
{
    const weft_step *x = &s->step[v];
    const weft_graph *g = s->graph;

    for (int k = 0; k < x->n_operands; k++) {
        const weft_step_operand *o = &x->operand[k];
        int u = x->node[o->node];

        CHECK_INT(g->arg[g->arg_at[u] + o->slot], o->tensor);
        CHECK(o->step < v); /* topological */
        if (o->step >= 0)
            CHECK_INT(s->step[o->step].result[o->result], o->tensor);
        else
            CHECK_INT(g->tensor[o->tensor].kind, WEFT_INPUT);
    }
}

TEST(steps_of_networks_partition_the_nodes_in_topological_order)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        weft_model *m = NULL;
        weft_steps *s;
        int n_nodes = 0;

        CHECK_OK(weft_model_open(known[i].name, NULL, &m));
        s = steps_of(m->graph);
        CHECK_INT(m->graph->n_nodes, known[i].n_nodes);
        CHECK_INT(s->n, known[i].n_steps);
        for (int v = 0; v < s->n; v++) {
            for (int k = 0; k < s->step[v].n_nodes; k++)
                CHECK_INT(s->of_node[s->step[v].node[k]], v);
            n_nodes += s->step[v].n_nodes;
            check_operands(s, v);
        }
        CHECK_INT(n_nodes, m->graph->n_nodes);
        weft_steps_free(s);
        weft_model_free(m);
    }
}

TEST(steps_of_one_class_have_equal_boxes_and_modes)
{
    weft_model *m = NULL;
    weft_design d = design(WEFT_SYSTOLIC);
    weft_arena *a = weft_arena_new();
    int n_alike = 0;
    weft_steps *s;

    CHECK_OK(weft_model_open("bert", NULL, &m));
    s = steps_of(m->graph);
    for (int v = 0; v < s->n; v++) {
        int like = s->step[v].like, n;
        const weft_split *split;

        CHECK_INT(s->step[like].like, like);
        n_alike += like != v;
        n = weft_step_splits(s, v, 6, true, a, &split);
        for (int i = 0; i < n; i += 5) {
            weft_split_cost x = weft_split_cost_of(s, v, &split[i], &d);
            weft_split_cost y = weft_split_cost_of(s, like, &split[i], &d);

            CHECK(x.phase_s == y.phase_s && x.weight_bytes == y.weight_bytes &&
                  x.operand_bytes == y.operand_bytes && x.sent_bytes == y.sent_bytes);
            for (int k = 0; k < s->step[v].n_operands; k++) {
                weft_box p = weft_split_need(s, v, &split[i], 3, k, 0);
                weft_box q = weft_split_need(s, like, &split[i], 3, k, 0);

                CHECK_INT(weft_box_common(&p, &q), weft_box_elements(&p));
                CHECK_INT(weft_box_elements(&q), weft_box_elements(&p));
            }
        }
    }
    CHECK_INT(n_alike, 247 - 19); /* eleven of twelve layers, and equal steps inside a layer */
    weft_arena_free(a);
    weft_steps_free(s);
    weft_model_free(m);
}

/* --- numbers of splits ----------------------------------------------------------------------- */

/* Counted by hand from the rules of split.h, for a convolution with axes large enough. */
static int count_strategies(int p, bool is_shared, bool has_c)
{
    int n = 0;

    for (int m = 1; m <= p; m++)
        for (int k = 1; k <= p; k++)
            for (int r = 1; r <= p; r++)
                for (int c = 1; c <= p; c++) {
                    int ways = k > 1 ? 2 : 1; /* all-reduce or scattered */
                    int rc = r * c;

                    if (m * k * r * c != p)
                        continue;
                    n += is_shared ? 0 : ways;
                    if (!is_shared)
                        continue;
                    n += m == 1 && rc > 1 ? ways : 0;         /* M: kernels rotate */
                    n += k == 1 && m == 1 && rc > 1 ? 1 : 0;  /* N: kernels */
                    n += k == 1 && rc == 1 && m > 1 ? 1 : 0;  /* N: pictures */
                    n += k == 1 && m == rc && m > 1 ? 1 : 0;  /* N: both */
                    n += r == 1 && m > 1 ? ways : 0;          /* R: pictures */
                    n += has_c && c == 1 && m > 1 ? ways : 0; /* C: pictures */
                }
    return n;
}

TEST(splits_of_a_convolution_are_as_many_as_the_method_says)
{
    static const int exclusive[] = {1, 5, 5, 14, 5, 23, 5, 30};
    static const int with_mnr[] = {1, 11, 11, 31, 11, 47, 11, 58};
    net_fixture f = two_convolutions();
    weft_steps *s = steps_of(f.graph);
    weft_arena *a = weft_arena_new();
    const weft_split *split;

    for (int p = 1; p <= 8; p++) {
        int copies = p > 1, n_mnr = 0, n;

        CHECK_INT(count_strategies(p, false, false), exclusive[p - 1]);
        CHECK_INT(weft_step_splits(s, 0, p, false, a, &split), exclusive[p - 1] + copies);
        n = weft_step_splits(s, 0, p, true, a, &split);
        CHECK_INT(n, exclusive[p - 1] + count_strategies(p, true, true) + copies);
        for (int i = 0; i < n - copies; i++)
            n_mnr += split[i].shared < 0 || strcmp(s->step[0].axis[split[i].shared].name, "c") != 0;
        CHECK_INT(n_mnr, with_mnr[p - 1]);
    }
    weft_arena_free(a);
    weft_steps_free(s);
    net_free(&f);
}

TEST(splits_come_in_order_and_survive_their_text)
{
    net_fixture f = two_convolutions();
    weft_steps *s = steps_of(f.graph);
    weft_arena *a = weft_arena_new();
    const weft_split *split;
    int n = weft_step_splits(s, 1, 8, true, a, &split);
    char text[128];

    CHECK_TEXT(weft_split_print(s, 1, &split[0], text), "m=8");
    CHECK_TEXT(weft_split_print(s, 1, &split[1], text), "m=4 n=2");
    CHECK_TEXT(weft_split_print(s, 1, &split[2], text), "m=4 n=2>scatter");
    CHECK_TEXT(weft_split_print(s, 1, &split[n - 1], text), "copy");
    for (int i = 0; i < n; i++) {
        weft_split again = split_of(s, 1, 8, weft_split_print(s, 1, &split[i], text));

        CHECK(memcmp(&again, &split[i], sizeof again) == 0);
        CHECK(weft_split_is_valid(s, 1, &split[i]));
        CHECK(i == 0 || split[i].shared >= 0 || split[i - 1].shared < 0 ||
              weft_split_is_copy(&split[i])); /* shared behind exclusive */
    }
    CHECK_INT(split_of(s, 1, 1, "whole").n, 1);
    CHECK_INT(split_of(s, 1, 8, " r=8  share m ").shared, 0);
    weft_arena_free(a);
    weft_steps_free(s);
    net_free(&f);
}

TEST(texts_that_are_no_split_are_refused_with_a_reason)
{
    net_fixture f = two_convolutions();
    weft_steps *s = steps_of(f.graph);
    weft_split x;

    CHECK_FAILS(weft_split_parse(s, 1, 4, "q=4", &x), "expected an axis");
    CHECK_FAILS(weft_split_parse(s, 1, 4, "m", &x), "expected '='");
    CHECK_FAILS(weft_split_parse(s, 1, 4, "m=2", &x), "that many members");
    CHECK_FAILS(weft_split_parse(s, 1, 4, "m=2 m=2", &x), "each axis once");
    CHECK_FAILS(weft_split_parse(s, 1, 4, "m=4>scatter", &x), "at a summed axis");
    CHECK_FAILS(weft_split_parse(s, 1, 4, "m=4 share m", &x), "that many members");
    CHECK_FAILS(weft_split_parse(s, 1, 4, "", &x), "that many members");
    CHECK_FAILS(weft_split_parse(s, 1, 4, "copy m=4", &x), "nothing more");
    CHECK_FAILS(weft_split_parse(s, 1, 4, "r=4 share m n=1", &x), "nothing behind");
    CHECK_FAILS(weft_split_parse(s, 1, 400, "m=4", &x), "expected 1 to 64");
    CHECK_FAILS(weft_split_parse(s, 1, 64, "r=64", &x), "that many members"); /* 56 rows only */
    weft_steps_free(s);
    net_free(&f);
}

TEST(invalid_splits_are_told)
{
    net_fixture f = two_convolutions();
    weft_steps *s = steps_of(f.graph);
    weft_split x = split_of(s, 1, 4, "r=4 share m"), y = x;

    CHECK(weft_split_is_valid(s, 1, &x));
    y.shared = 4; /* there is no such axis */
    CHECK(!weft_split_is_valid(s, 1, &y));
    y = x;
    y.is_scattered = true; /* nothing is summed over members */
    CHECK(!weft_split_is_valid(s, 1, &y));
    y = x;
    y.factor[7] = 2;
    CHECK(!weft_split_is_valid(s, 1, &y));
    y = x;
    y.n = 65;
    CHECK(!weft_split_is_valid(s, 1, &y));
    y = split_of(s, 1, 4, "copy");
    y.shared = 0;
    CHECK(!weft_split_is_valid(s, 1, &y));
    weft_steps_free(s);
    net_free(&f);
}

/* --- costs ----------------------------------------------------------------------------------- */

/* Worked by hand: 64 x 56 x 56, two bytes, four members, K = 3. */
TEST(reshards_of_the_method)
{
    net_fixture f = two_convolutions();
    weft_steps *s = steps_of(f.graph);
    weft_split rows = split_of(s, 1, 4, "r=4"), channels = split_of(s, 1, 4, "m=4");
    weft_link_cost link = {0, 1e9, 0, NULL, false};
    weft_design d = design(WEFT_SYSTOLIC);
    weft_split_cost sums;
    double total;

    /* two border rows of 64 x 56 elements; the first and last member need one */
    CHECK_IS(weft_reshard_bytes(s, 1, 0, &rows, &rows, &total), 2 * 64 * 56 * 2);
    CHECK_IS(total, 6 * 64 * 56 * 2);
    CHECK_IS(weft_reshard_bytes(s, 1, 0, &rows, &channels, NULL), 301056); /* 3/4 of all */
    /* 16 rows less the quarter of channels that is there */
    CHECK_IS(weft_reshard_bytes(s, 1, 0, &channels, &rows, NULL), 86016);
    sums = weft_split_cost_of(s, 1,
                              &(weft_split){
                                  .n = 4, .factor = {1, 4, 1, 1},
                                       .shared = -1
    },
                              &d);
    CHECK_IS(weft_split_reduce_s(&sums, &link), 602.112e-6);
    CHECK_IS(sums.sent_bytes, 4 * 602112);
    CHECK_IS(weft_need_bytes(s, 1, 0, &rows, &total), 64 * 16 * 56 * 2);
    CHECK_IS(total, 64 * 56 * 2 * (15 + 16 + 16 + 15));
    CHECK_IS(weft_result_bytes(s, 0, 0, &channels, &total), 16 * 56 * 56 * 2);
    CHECK_IS(total, 64 * 56 * 56 * 2);
    weft_steps_free(s);
    net_free(&f);
}

TEST(seconds_of_modes_and_edges)
{
    weft_split_cost m = {
        .phase_s = 3, .n_phases = 4, .rotate_bytes = 10, .n_reduce = 1, .n_statistic = 1};
    weft_link_cost link = {1, 2, 0, NULL, false}, none = {0, 0, 0, NULL, false},
                   self = {0, INFINITY, 0, NULL, false};

    CHECK_IS(weft_link_cost_s(&link, 10), 6); /* 1 + 10 / 2 */
    CHECK_IS(weft_link_cost_s(&link, 0), 0);
    CHECK(isinf(weft_link_cost_s(&none, 1)));
    CHECK_IS(weft_link_cost_s(&self, 1e9), 0);
    CHECK_IS(weft_split_compute_s(&m), 12);
    CHECK_IS(weft_split_cost_s(&m, &link, false), 12 + 3 * 6);
    CHECK_IS(weft_split_cost_s(&m, &link, true), 3 + 3 * 6); /* rotation is longer than a phase */
    m.phase_s = 7;
    CHECK_IS(weft_split_cost_s(&m, &link, true), 28);
    m = (weft_split_cost){
        .phase_s = 1, .n_phases = 1, .reduce_bytes = 12, .n_reduce = 3, .n_statistic = 1};
    CHECK_IS(weft_split_reduce_s(&m, &link), 2 * 2 * (1 + 2)); /* 2 (r-1) messages of 12 / 3 */
    m.is_scattered = true;
    CHECK_IS(weft_split_cost_s(&m, &link, false), 1 + 2 * (1 + 2));
    m = (weft_split_cost){
        .phase_s = 1, .n_phases = 1, .n_reduce = 1, .n_statistic = 2, .statistic_bytes = 8};
    CHECK_IS(weft_split_reduce_s(&m, &link), 2 * (1 + 2));
    CHECK_IS(weft_reshard_s(&link, 4), 3);
    CHECK_IS(weft_handover_s(&link, 4, 40, 5), 1 + 4);  /* senders take 8 bytes each */
    CHECK_IS(weft_handover_s(&link, 10, 40, 5), 1 + 5); /* receivers take more */
    CHECK_IS(weft_handover_s(&link, 0, 40, 5), 0);
}

/* One member has the work of the node; so has each copy. */
TEST(one_member_costs_what_the_nodes_cost)
{
    static const char *const names[] = {"resnet18", "mobilenet_v2", "dlrm",      "t5",
                                        "lstm",     "unet",         "googlenet", "densenet121"};
    static const weft_device_model models[] = {WEFT_ROOFLINE, WEFT_SYSTOLIC, WEFT_TILED,
                                               WEFT_WINOGRAD, WEFT_VECTOR};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        weft_model *m = NULL;
        weft_steps *s;

        CHECK_OK(weft_model_open(names[i], NULL, &m));
        s = steps_of(m->graph);
        for (size_t k = 0; k < sizeof models / sizeof models[0]; k++)
            for (int v = 0; v < s->n; v++) {
                weft_design d = design(models[k]);
                weft_split one = split_of(s, v, 1, "whole"), copy = split_of(s, v, 3, "copy");
                weft_split_cost x = weft_split_cost_of(s, v, &one, &d),
                                y = weft_split_cost_of(s, v, &copy, &d);
                double seconds = 0, joules = 0;

                for (int n = 0; n < s->step[v].n_nodes; n++) {
                    weft_work_key key;
                    weft_cost c;

                    weft_work_key_of(m->graph, s->step[v].node[n], &key);
                    c = weft_design_cost(&d, &key);
                    seconds += c.seconds;
                    joules += c.joules;
                }
                CHECK(x.phase_s == seconds && y.phase_s == seconds);
                CHECK_IS(x.joules, joules);
                CHECK_IS(y.joules, 3 * joules);
                CHECK(x.sent_bytes == 0 && y.sent_bytes == 0 && x.n_phases == 1);
            }
        weft_steps_free(s);
        weft_model_free(m);
    }
}

TEST(an_operator_that_the_design_lacks_takes_for_ever)
{
    static const char *const only[] = {"Conv"};
    net_fixture f = net_start(WEFT_F32);
    int x = net_input(&f, "1x8x6x6");
    int y = net_op(&f, "Conv", ARGS(x, net_weight(&f, "8x8x1x1")), "");
    int z = net_op(&f, "Flatten", ARGS(net_op(&f, "Relu", ARGS(y), "")), "");
    weft_steps *s = steps_of(net_finish(&f, z));
    weft_design d = design(WEFT_SYSTOLIC);
    weft_split two = split_of(s, 0, 2, "m=2");

    CHECK(isfinite(weft_split_cost_of(s, 0, &two, &d).phase_s));
    d.n_only = 1;
    d.only = only;
    CHECK(isinf(weft_split_cost_of(s, 0, &two, &d).phase_s)); /* Relu */
    two = split_of(s, 1, 2, "d1=2");
    CHECK_IS(weft_split_cost_of(s, 1, &two, &d).phase_s, 0); /* views are free everywhere */
    weft_steps_free(s);
    net_free(&f);
}

TEST(bytes_of_modes_by_hand)
{
    net_fixture f = two_convolutions();
    weft_steps *s = steps_of(f.graph);
    weft_design d = design(WEFT_SYSTOLIC);
    const double picture = 64 * 56 * 56 * 2, kernels = 64 * 64 * 9 * 2;
    weft_split x = split_of(s, 1, 4, "m=4");
    weft_split_cost m = weft_split_cost_of(s, 1, &x, &d);

    CHECK_IS(m.weight_bytes, kernels / 4);
    CHECK_IS(m.operand_bytes, picture);
    CHECK_IS(m.result_bytes, picture / 4);
    CHECK_IS(m.extra_bytes, 0);
    x = split_of(s, 1, 4, "r=4 share m"); /* kernels travel in four shards */
    m = weft_split_cost_of(s, 1, &x, &d);
    CHECK_INT(m.n_phases, 4);
    CHECK_IS(m.weight_bytes, kernels / 4);
    CHECK_IS(m.rotate_bytes, kernels / 4);
    CHECK_IS(m.extra_bytes, kernels / 4);
    CHECK_IS(m.sent_bytes, 4 * 3 * kernels / 4);
    CHECK_IS(m.result_bytes, picture / 4);
    CHECK_IS(m.operand_bytes, picture / 56 * 16); /* 14 rows and a halo on both sides */
    x = split_of(s, 1, 4, "m=2 r=2 share n");     /* both travel */
    m = weft_split_cost_of(s, 1, &x, &d);
    CHECK_INT(m.n_phases, 2);
    CHECK_IS(m.weight_bytes, kernels / 4);
    CHECK_IS(m.operand_bytes, picture / 56 * 29 / 2);
    CHECK_IS(m.rotate_bytes, kernels / 4 + picture / 56 * 29 / 2);
    x = split_of(s, 1, 4, "n=4>scatter");
    m = weft_split_cost_of(s, 1, &x, &d);
    CHECK_IS(m.reduce_bytes, picture);
    CHECK_IS(m.extra_bytes, picture);
    CHECK_IS(m.result_bytes, picture / 4);
    CHECK_IS(m.sent_bytes, 4 * 0.75 * picture);
    weft_steps_free(s);
    net_free(&f);
}

/* x times its transposed self: rows on the left, all of it on the right. */
TEST(parts_of_one_tensor_count_once_if_they_are_the_same)
{
    net_fixture f = net_start(WEFT_F32);
    int x = net_input(&f, "8x8"), a = net_op(&f, "Mul", ARGS(x, x), "");
    int b = net_op(&f, "Gemm", ARGS(x, x), "transB=1");
    weft_steps *s;
    weft_design d = roofline();
    weft_split cut;

    net_ask(&f, a);
    s = steps_of(net_finish(&f, b));
    cut = split_of(s, 0, 2, "d0=2");
    CHECK_INT(s->step[0].n_operands, 2);
    CHECK_IS(weft_split_cost_of(s, 0, &cut, &d).operand_bytes, 4 * 8 * 4);
    cut = split_of(s, 1, 2, "m=2");
    CHECK_IS(weft_split_cost_of(s, 1, &cut, &d).operand_bytes, 4 * 8 * 4 + 8 * 8 * 4);
    weft_steps_free(s);
    net_free(&f);
}

TEST(statistics_are_two_numbers_a_place)
{
    net_fixture f = net_start(WEFT_F16);
    int y = net_op(&f, "Softmax", ARGS(net_input(&f, "6x10x8")), "axis=-1");
    weft_steps *s = steps_of(net_finish(&f, y));
    weft_design d = design(WEFT_VECTOR);
    weft_split x = split_of(s, 0, 4, "d0=2 d2=2");
    weft_split_cost m = weft_split_cost_of(s, 0, &x, &d);
    int partner[WEFT_MAX_MEMBERS];

    CHECK(s->step[0].axis[2].is_statistic && s->step[0].scatter == -1);
    CHECK_INT(m.n_statistic, 2);
    CHECK_INT(m.n_reduce, 1);
    CHECK_IS(m.statistic_bytes, 2 * 4 * 3 * 10); /* four bytes each, though elements have two */
    CHECK_IS(m.sent_bytes, 4 * 2 * 0.5 * 240);
    CHECK_INT(weft_split_partners(s, 0, &x, 2, partner), 2);
    CHECK_INT(partner[0], 2);
    CHECK_INT(partner[1], 3);
    weft_steps_free(s);
    net_free(&f);
}

TEST(work_is_shared_out_and_followers_come_once)
{
    net_fixture f = net_start(WEFT_F32);
    int x = net_input(&f, "64x64");
    int y = net_op(&f, "MatMul", ARGS(x, net_weight(&f, "64x64")), "");
    int z = net_op(&f, "Relu", ARGS(y), "");
    weft_steps *s = steps_of(net_finish(&f, z));
    weft_design d = roofline();
    weft_split cut = split_of(s, 0, 4, "m=4"), shared = split_of(s, 0, 4, "m=4 share n");
    weft_split_cost a, b;

    d.value[WEFT_P_BANDWIDTH] = 1e18; /* arithmetic alone */
    a = weft_split_cost_of(s, 0, &cut, &d);
    b = weft_split_cost_of(s, 0, &shared, &d);
    CHECK_IS(a.phase_s * 1e12, 2 * 64 * 64 * 64 / 4 + 64 * 64 / 4);
    CHECK_INT(b.n_phases, 4);
    CHECK_IS(weft_split_compute_s(&b) * 1e12, 2 * 64 * 64 * 64 / 4 + 64 * 64 / 4);
    d.value[WEFT_P_FLOPS] = 1e18;
    d.value[WEFT_P_BANDWIDTH] = 1e12; /* bytes alone: the left part is read in each phase */
    a = weft_split_cost_of(s, 0, &cut, &d);
    b = weft_split_cost_of(s, 0, &shared, &d);
    CHECK_IS(a.phase_s * 1e12, 4 * (16 * 64 + 64 * 64 + 16 * 64) + 4 * 2 * 16 * 64);
    CHECK_IS(weft_split_compute_s(&b) * 1e12,
             4 * 4 * (16 * 64 + 64 * 16 + 16 * 16) + 4 * 2 * 16 * 64);
    weft_steps_free(s);
    net_free(&f);
}

TEST(all_but_the_border_can_be_computed_before_the_halo_arrives)
{
    net_fixture f = two_convolutions();
    weft_steps *s = steps_of(f.graph);
    weft_split rows = split_of(s, 1, 4, "r=4"), channels = split_of(s, 1, 4, "m=4");
    weft_split sums = split_of(s, 1, 4, "n=4"), shared = split_of(s, 1, 4, "r=4 share m");

    CHECK_IS(weft_interior_share(s, 1, 0, &rows, &rows), 12.0 / 14);
    CHECK_IS(weft_interior_share(s, 1, 0, &channels, &sums), 1);        /* all of it is there */
    CHECK_IS(weft_interior_share(s, 1, 0, &channels, &channels), 0.25); /* a quarter of n */
    CHECK_IS(weft_interior_share(s, 1, 0, &rows, &shared), 0);
    /* all rows of the channels that are there */
    CHECK_IS(weft_interior_share(s, 1, 0, &channels, &rows), 0.25);
    weft_steps_free(s);
    net_free(&f);
}

TEST(a_short_cut_is_waited_for_by_the_sum_only)
{
    net_fixture f = net_start(WEFT_F32);
    int x = net_op(&f, "Relu", ARGS(net_input(&f, "8x16")), "");
    int y = net_op(&f, "MatMul", ARGS(x, net_weight(&f, "16x16")), "");
    int z = net_op(&f, "Add", ARGS(y, x), "");
    weft_steps *s = steps_of(net_finish(&f, z));
    weft_split rows = split_of(s, 0, 2, "d0=2"), columns = split_of(s, 1, 2, "n=2");

    CHECK_INT(s->step[1].operand[1].node, 1);
    /* head 8 x 8 x 16 points, Add 8 x 8, of which the rows that are there need not wait */
    CHECK_IS(weft_interior_share(s, 1, 1, &rows, &columns), (1024 + 32) / 1088.0);
    weft_steps_free(s);
    net_free(&f);
}

TEST(a_shape_that_depends_on_data_is_an_error)
{
    net_fixture f = net_start(WEFT_F32);
    int y = net_op(&f, "NonZero", ARGS(net_input(&f, "4x6")), "");
    weft_steps *s = NULL;

    net_finish(&f, y);
    CHECK_FAILS(weft_steps_new(f.graph, &s), "depends on the data");
    net_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(followers_join_the_operand_made_last),
        cmocka_unit_test(a_tensor_with_two_readers_or_asked_for_ends_its_step),
        cmocka_unit_test(reshapes_stay_alone_and_mixing_operators_are_not_cut),
        cmocka_unit_test(operators_without_addresses_are_copied_only),
        cmocka_unit_test(axes_that_may_be_cut),
        cmocka_unit_test(steps_of_networks_partition_the_nodes_in_topological_order),
        cmocka_unit_test(steps_of_one_class_have_equal_boxes_and_modes),
        cmocka_unit_test(splits_of_a_convolution_are_as_many_as_the_method_says),
        cmocka_unit_test(splits_come_in_order_and_survive_their_text),
        cmocka_unit_test(texts_that_are_no_split_are_refused_with_a_reason),
        cmocka_unit_test(invalid_splits_are_told),
        cmocka_unit_test(reshards_of_the_method),
        cmocka_unit_test(seconds_of_modes_and_edges),
        cmocka_unit_test(one_member_costs_what_the_nodes_cost),
        cmocka_unit_test(an_operator_that_the_design_lacks_takes_for_ever),
        cmocka_unit_test(bytes_of_modes_by_hand),
        cmocka_unit_test(parts_of_one_tensor_count_once_if_they_are_the_same),
        cmocka_unit_test(statistics_are_two_numbers_a_place),
        cmocka_unit_test(work_is_shared_out_and_followers_come_once),
        cmocka_unit_test(all_but_the_border_can_be_computed_before_the_halo_arrives),
        cmocka_unit_test(a_short_cut_is_waited_for_by_the_sum_only),
        cmocka_unit_test(a_shape_that_depends_on_data_is_an_error),
    };

    return RUN_TESTS(tests);
}
