/* SPDX-License-Identifier: MIT */
/* Kernels: each pattern on a small graph, attention in the files of exporters and in built-in
 * networks, forward and backward, and what a cut of a kernel pays for. */
#include "check.h"

#include "cost.h"
#include "model.h"
#include "nets.h"

#define DATA WEFT_TEST_DATA "/models/"

static weft_model *open_as(const char *source, weft_software s, bool train)
{
    weft_model_options o = {.optimizer = WEFT_ADAM, .software = s, .train = train};
    weft_model *m;

    CHECK_OK(weft_model_open(source, &o, &m));
    return m;
}

/* "MatMul+Add+Gelu": the nodes of the kernel of u, views left out. */
static const char *kernel_of(const weft_graph *g, int u, weft_arena *a)
{
    const char *text = "";

    for (int v = 0; v < g->n_nodes; v++)
        if (g->kernel[v] == g->kernel[u] && !weft_node_is_free_view(g, v))
            text = weft_arena_print(a, "%s%s%s", text, *text ? "+" : "", g->node[v].op);
    return text;
}

static int count_kernels(const weft_graph *g, const char *ops)
{
    weft_arena *a = weft_arena_new();
    int n = 0;

    for (int u = 0; u < g->n_nodes; u++)
        n += g->is_launched[u] && strcmp(kernel_of(g, u, a), ops) == 0;
    weft_arena_free(a);
    return n;
}

static int count_ops(const weft_graph *g, const char *op)
{
    int n = 0;

    for (int u = 0; u < g->n_nodes; u++)
        n += strcmp(g->node[u].op, op) == 0;
    return n;
}

static int op(net_fixture *f, const char *name, int x, int y)
{
    int args[2] = {x, y};

    return net_op(f, name, args, y < 0 ? 1 : 2, "");
}

static int reduced(net_fixture *f, const char *name, int x, int64_t axis)
{
    return op(f, name, x, net_ints(f, 1, &axis));
}

static void check_one_kernel(net_fixture *f, int result, const char *ops)
{
    weft_arena *a = weft_arena_new();

    (void)net_finish(f, result);
    weft_graph_fuse(f->graph, false);
    CHECK_TEXT(kernel_of(f->graph, f->graph->n_nodes - 1, a), ops);
    weft_arena_free(a);
    net_free(f);
}

TEST(a_product_takes_bias_activation_and_residual_sum)
{
    net_fixture f = net_start(WEFT_F32);
    int x = net_input(&f, "8x16"), y = op(&f, "MatMul", x, net_weight(&f, "16x16"));

    y = op(&f, "Relu", op(&f, "Add", y, net_weight(&f, "16")), -1);
    check_one_kernel(&f, op(&f, "Add", y, x), "MatMul+Add+Relu+Add");
}

TEST(a_convolution_takes_an_activation)
{
    net_fixture f = net_start(WEFT_F32);
    int conv[2] = {net_input(&f, "1x4x8x8"), net_weight(&f, "4x4x1x1")};

    check_one_kernel(&f, op(&f, "Relu", net_op(&f, "Conv", conv, 2, ""), -1), "Conv+Relu");
}

TEST(a_norm_in_parts_is_one_kernel_with_the_sum_before)
{
    net_fixture f = net_start(WEFT_F32);
    int x = op(&f, "Add", net_input(&f, "8x16"), net_input(&f, "8x16"));
    int mean = reduced(&f, "ReduceMean", x, -1), d = op(&f, "Sub", x, mean);
    int square = op(&f, "Mul", d, d);
    int root = op(&f, "Sqrt", reduced(&f, "ReduceMean", square, -1), -1);

    check_one_kernel(&f, op(&f, "Mul", op(&f, "Div", d, root), net_weight(&f, "16")),
                     "Add+ReduceMean+Sub+Mul+ReduceMean+Sqrt+Div+Mul");
}

TEST(a_gate_in_parts_is_one_kernel)
{
    net_fixture f = net_start(WEFT_F32);
    int x = net_input(&f, "8x16"), gate = op(&f, "Sigmoid", x, -1);

    check_one_kernel(&f, op(&f, "Mul", x, gate), "Sigmoid+Mul");
}

TEST(a_reduction_of_columns_stays_alone)
{
    net_fixture f = net_start(WEFT_F32);
    int x = op(&f, "Exp", net_input(&f, "8x16"), -1);

    check_one_kernel(&f, reduced(&f, "ReduceSum", x, 0), "ReduceSum");
}

TEST(no_kernel_waits_for_itself)
{
    net_fixture f = net_start(WEFT_F32);
    int x = op(&f, "Exp", net_input(&f, "8x8"), -1); /* read by a product and by the sum after it */
    int y = op(&f, "MatMul", x, net_weight(&f, "8x8"));
    const weft_graph *g = net_finish(&f, op(&f, "Add", x, op(&f, "MatMul", y, x)));

    weft_graph_fuse(f.graph, false);
    CHECK(g->kernel[0] != g->kernel[3]); /* Exp and Add: the products are between them */
    CHECK_INT(g->kernel[2], g->kernel[3]);
    net_free(&f);
}

/* --- networks -------------------------------------------------------------------------------- */

typedef struct spelling {
    const char *source;
    int n_attentions;
    const char *kernel;
} spelling;

TEST(attention_is_found_in_the_spellings_of_exporters)
{
    static const spelling known[] = {
        {DATA "bert_base.onnx",  12,
         "Transpose+Transpose+Transpose+MatMul+Div+Add+Softmax+MatMul+Transpose"            },
        {DATA "gpt2_small.onnx", 12,
         "Transpose+Transpose+Transpose+MatMul+Div+Where+Softmax+MatMul+Transpose"          },
        {DATA "vit_b_16.onnx",   12,
         "Transpose+Transpose+Div+Transpose+MatMul+Softmax+MatMul+Transpose"                },
        {DATA "llama7b.onnx",    32, NULL                                                   },
        {"bert",                 12, NULL                                                   },
        {"gpt2",                 12,
         "Transpose+Transpose+Transpose+Transpose+MatMul+Div+Where+Softmax+MatMul+Transpose"},
        {"llama",                32, NULL                                                   },
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        weft_model *m = open_as(known[i].source, WEFT_SOFTWARE_FLASH, false);
        const weft_graph *g = m->graph;
        int n = 0;

        for (int u = 0; u < g->n_nodes; u++)
            if (strcmp(g->node[u].op, "Softmax") == 0) {
                int t = g->res[g->res_at[u]];

                CHECK(g->attention[u] >= 0);
                CHECK_INT(weft_storage_of(g, t), WEFT_INNER);
                CHECK_INT(weft_node_work(g, u).read_bytes + weft_node_work(g, u).write_bytes, 0);
                n++;
            }
        CHECK_INT(n, known[i].n_attentions);
        if (known[i].kernel != NULL)
            CHECK_INT(count_kernels(g, known[i].kernel), n);
        weft_model_free(m);
    }
}

TEST(norms_and_gelu_of_exporters_are_found)
{
    weft_model *m = open_as(DATA "bert_base.onnx", WEFT_SOFTWARE_FUSED, false);

    CHECK_INT(count_kernels(m->graph, "ReduceMean+Sub+Pow+ReduceMean+Add+Sqrt+Div+Mul+Add"), 24);
    CHECK_INT(count_kernels(m->graph, "MatMul+Add+Div+Erf+Add+Mul+Mul"), 12);
    CHECK_INT(count_kernels(m->graph, "MatMul+Add+Add"), 24);
    weft_model_free(m);
    m = open_as(DATA "resnet18_bn.onnx", WEFT_SOFTWARE_FUSED, false);
    CHECK_INT(count_kernels(m->graph, "Conv+BatchNormalization+Relu"), 9);
    CHECK_INT(count_kernels(m->graph, "Conv+BatchNormalization+Add+Relu"), 8);
    weft_model_free(m);
}

static double layer_flops(const weft_work_key *k)
{
    double sum = 0;

    for (int i = 0; i < k->n_layers; i++)
        sum += (double)k->layer[i].groups * (double)k->layer[i].m * (double)k->layer[i].n *
               (double)k->layer[i].batch * (double)k->layer[i].r;
    return sum;
}

TEST(backward_attention_computes_scores_once_more_and_keeps_none)
{
    weft_model *plain = open_as("gpt2:layers=2", WEFT_SOFTWARE_GRAPH, true);
    weft_model *flash = open_as("gpt2:layers=2", WEFT_SOFTWARE_FLASH, true);
    const weft_graph *g = flash->graph;
    int64_t scores = 12LL * 1024 * 1024 * 4;
    double forward = 0, backward = 0;

    for (int u = 0; u < g->n_nodes; u++) {
        weft_work_key k;

        weft_work_key_of(g, u, &k);
        if (g->attention[u] >= 0)
            *(g->node[u].phase == WEFT_FORWARD ? &forward : &backward) += layer_flops(&k);
    }
    CHECK_NEAR(backward, 2.5 * forward);
    /* Softmax, and Where and Div before it keep four tensors a layer as big as the scores less. */
    CHECK(weft_graph_stash_bytes(plain->graph) - weft_graph_stash_bytes(g) >= 2 * scores);
    CHECK(weft_graph_stash_bytes(g) < 2 * scores * 3);
    weft_model_free(plain);
    weft_model_free(flash);
}

TEST(causal_masks_of_built_in_networks_halve_the_products)
{
    weft_model *gpt2 = open_as("gpt2:layers=1", WEFT_SOFTWARE_FLASH, true);
    weft_model *bert = open_as("bert:layers=1", WEFT_SOFTWARE_FLASH, true);
    const weft_graph *g = gpt2->graph;
    weft_graph full = *g;
    int n = 0;

    full.is_causal = NULL;
    for (int u = 0; u < g->n_nodes; u++) {
        weft_work_key half, whole;

        weft_work_key_of(g, u, &half);
        weft_work_key_of(&full, u, &whole);
        CHECK_NEAR(layer_flops(&half), layer_flops(&whole) * (g->is_causal[u] ? 0.5 : 1));
        n += g->is_causal[u];
    }
    CHECK_INT(n, 6); /* two products forward, four backward */
    for (int u = 0; u < bert->graph->n_nodes; u++)
        CHECK(!bert->graph->is_causal[u]);
    weft_model_free(gpt2);
    weft_model_free(bert);
}

/* --- cuts ------------------------------------------------------------------------------------ */

static int64_t bytes_of(const weft_graph *g)
{
    int64_t sum = 0;

    for (int u = 0; u < g->n_nodes; u++)
        sum += weft_node_work(g, u).read_bytes + weft_node_work(g, u).write_bytes;
    return sum;
}

TEST(a_kernel_that_is_torn_pays_for_its_traffic)
{
    weft_model *m = open_as("gpt2:layers=1", WEFT_SOFTWARE_FLASH, true);
    weft_model *plain = open_as("gpt2:layers=1", WEFT_SOFTWARE_GRAPH, true);
    weft_arena *a = weft_arena_new();
    int *part = WEFT_NEW(a, int, m->graph->n_nodes);
    int softmax = -1;
    weft_graph cut;

    weft_graph_cut_kernels(m->graph, part, a, &cut); /* one part: nothing is cut */
    CHECK_INT(bytes_of(&cut), bytes_of(m->graph));
    for (int u = 0; u < m->graph->n_nodes; u++) {
        softmax = strcmp(m->graph->node[u].op, "Softmax") == 0 ? u : softmax;
        part[u] = u <= softmax || softmax < 0;
    }
    weft_graph_cut_kernels(m->graph, part, a, &cut); /* between Softmax and the second product */
    CHECK(cut.attention[softmax] < 0);
    CHECK_INT(weft_storage_of(&cut, cut.res[cut.res_at[softmax]]), WEFT_STORED);
    CHECK_INT(weft_node_work(&cut, softmax).write_bytes, 12LL * 1024 * 1024 * 4);
    CHECK_INT(weft_node_work(&cut, softmax + 1).read_bytes,
              weft_node_work(plain->graph, softmax + 1).read_bytes);
    for (int u = 0; u < m->graph->n_nodes; u++)
        part[u] = u;
    weft_graph_cut_kernels(m->graph, part, a, &cut);
    CHECK_INT(bytes_of(&cut), bytes_of(plain->graph));
    CHECK_INT(count_ops(&cut, "Softmax"), 1);
    weft_arena_free(a);
    weft_model_free(m);
    weft_model_free(plain);
}

/* --- host time ------------------------------------------------------------------------------- */

TEST(eager_software_pays_the_host)
{
    weft_design d = {.model = WEFT_ROOFLINE};
    weft_work_key k = {.family = WEFT_FUSE_ELEMENT, .flops = 1, .read_bytes = 3, .is_eager = true};

    for (int f = 0; f < WEFT_N_FAMILIES; f++)
        d.efficiency[f] = 1;
    d.value[WEFT_P_FLOPS] = d.value[WEFT_P_BANDWIDTH] = d.value[WEFT_P_ETA] = 1;
    d.value[WEFT_P_OVERHEAD] = 2;
    d.value[WEFT_P_HOST_TIME] = 7;
    CHECK_NEAR(weft_design_cost(&d, &k).seconds, 7.0); /* beside 2 + 3 of the device */
    d.value[WEFT_P_HOST_TIME] = 4;
    CHECK_NEAR(weft_design_cost(&d, &k).seconds, 5.0);
    d.value[WEFT_P_BLOCKING] = 1;
    CHECK_NEAR(weft_design_cost(&d, &k).seconds, 9.0);
    k.is_eager = false;
    CHECK_NEAR(weft_design_cost(&d, &k).seconds, 5.0);
    k.is_joined = true;
    CHECK_NEAR(weft_design_cost(&d, &k).seconds, 3.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_product_takes_bias_activation_and_residual_sum),
        cmocka_unit_test(a_convolution_takes_an_activation),
        cmocka_unit_test(a_norm_in_parts_is_one_kernel_with_the_sum_before),
        cmocka_unit_test(a_gate_in_parts_is_one_kernel),
        cmocka_unit_test(a_reduction_of_columns_stays_alone),
        cmocka_unit_test(no_kernel_waits_for_itself),
        cmocka_unit_test(attention_is_found_in_the_spellings_of_exporters),
        cmocka_unit_test(norms_and_gelu_of_exporters_are_found),
        cmocka_unit_test(backward_attention_computes_scores_once_more_and_keeps_none),
        cmocka_unit_test(causal_masks_of_built_in_networks_halve_the_products),
        cmocka_unit_test(a_kernel_that_is_torn_pays_for_its_traffic),
        cmocka_unit_test(eager_software_pays_the_host),
    };

    return RUN_TESTS(tests);
}
