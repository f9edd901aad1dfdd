/* SPDX-License-Identifier: MIT */
/* Measured rows: what is read, what is refused, and that their work is that of nodes of a graph. */
#include "check.h"

#include "measured.h"
#include "nets.h"
#include "score.h"

#define HEAD "what,params,type,published,unit\n"
#define V100 WEFT_TEST_DATA "/gpus/v100.yaml"

static weft_status parse(const char *text, weft_arena *a, weft_measured *out)
{
    return weft_measured_parse(text, strlen(text), "t.csv", V100, a, out);
}

TEST(times_and_rates_become_seconds)
{
    weft_arena *a = weft_arena_new();
    weft_measured m;

    CHECK_OK(parse("# summary: of a test\n# recorded: median=3,p90=7.5\n# regret: group\n"
                   "what,params,model,type,published,unit,group\n"
                   "gemm,m=1 n=2  k=3,,f16,5,us,g\n"
                   "infer,batch=8,resnet50,f16,400,items/s,g\n"
                   "train,\"batch=64,tokens=10,tp=2,dp=2\",gpt2,bf16,20,tokens/s/device,h\n",
                   a, &m));
    CHECK_TEXT(m.summary, "of a test");
    CHECK(m.has_choices);
    CHECK_INT(m.n, 3);
    CHECK_NEAR(m.row[0].seconds * 1e6, 5.0);
    CHECK_INT(((const weft_gemm_shape *)m.row[0].shape)->k, 3);
    CHECK_NEAR(m.row[1].seconds, 8 / 400.0);
    CHECK_NEAR(m.row[2].seconds, 64 * 10 / (20.0 * 4));
    weft_arena_free(a);
}

TEST(what_is_wrong_is_named_with_line_and_column)
{
    static const char *const wrong[][2] = {
        {HEAD,                                    "t.csv: there are no rows"                             },
        {"what,parms,published,unit\n",           "a column 'parms', expected one like 'params'"         },
        {"what,published,unit\n",                 "the column 'params' is missing"                       },
        {HEAD "gem,m=1,f16,1,s\n",                "t.csv:2: column 'what' is 'gem', expected gemm"       },
        {HEAD "gemm,m=1 n=1,f16,1,s\n",           "t.csv:2: column 'params' is 'm=1 n=1': 'k' is missing"},
        {HEAD "gemm,m=1 n=1 q=1,f16,1,s\n",       "t.csv:2: column 'params': "                           },
        {HEAD "gemm,m=-1 n=1 k=1,f16,1,s\n",      "t.csv:2: column 'params': "                           },
        {HEAD "gemm,m=1 n=1 k=1,f15,1,s\n",
         "t.csv:2: column 'type' is 'f15', expected a type of numbers"                                   },
        {HEAD "gemm,m=1 n=1 k=1,f16,1,h\n",       "t.csv:2: column 'unit' is 'h', expected s, ms or us"  },
        {HEAD "gemm,m=1 n=1 k=1,f16,1,items/s\n", "t.csv:2: column 'unit' is 'items/s'"                  },
        {HEAD "gemm,m=1 n=1 k=1,f16,-3,s\n",
         "column 'published' is '-3', expected a positive number"                                        },
        {HEAD "gemm,m=1 n=1 k=1,f16,nan,s\n",     "column 'published' is 'nan'"                          },
        {HEAD "gemm,m=1 n=1 k=1,f16,1e999,s\n",   "column 'published' is '1e999'"                        },
        {HEAD "gemm,m=1 n=1 k=1,f16,,s\n",        "column 'published' is ''"                             },
        {HEAD "infer,batch=1,f16,1,s\n",          "t.csv:2: column 'model' is '', expected a network"    },
    };
    static const char whole[] = HEAD "gemm,m=1 n=1 k=1,f16,1,s\n";
    weft_arena *a = weft_arena_new();
    weft_measured m;

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK_FAILS(parse(wrong[i][0], a, &m), wrong[i][1]);
    CHECK_FAILS(weft_measured_parse(whole, strlen(whole), "t.csv", NULL, a, &m),
                "column 'platform' is '', expected a platform");
    CHECK_FAILS(weft_measured_open("nccl-a10", NULL, a, &m), "did you mean 'nccl-a100'?");
    weft_arena_free(a);
}

/* Predictions of rows that cannot be: refused with file and line, too. */
TEST(rows_that_cannot_be_are_refused)
{
    static const char *const wrong[][2] = {
        {HEAD "conv,batch=1 channels=1 height=2 width=2 filters=1 kernel_h=3 kernel_w=3,f16,1,s\n",
         "t.csv:2: column 'params' is 'batch=1 channels=1"                                                                                         },
        {HEAD "gemm,m=1 n=1 k=1,bf16,1,s\n",                                                        "t.csv:2: device 'gpu' has no 'peak_bf16'"     },
        {HEAD "allreduce,ranks=2 bytes=8,,1,s\n",                                                   "ranks is 2, but platform 'v100' has 1 devices"},
    };
    weft_arena *a = weft_arena_new();
    weft_measured m;
    weft_score s;

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK_OK(parse(wrong[i][0], a, &m));
        CHECK_FAILS(weft_score_make(&m, V100, a, &s), wrong[i][1]);
    }
    CHECK_OK(parse("what,params,type,published,unit,constants\n"
                   "gemm,m=1 n=1 k=1,f16,1,s,\"sm=3\"\n",
                   a, &m));
    CHECK_FAILS(weft_score_make(&m, V100, a, &s),
                "t.csv:2: column 'constants': 'sm' is no parameter of the model gpu");
    weft_arena_free(a);
}

/* --- work ------------------------------------------------------------------------------------ */

static weft_work_key row_key(const char *what, const char *params)
{
    weft_arena *a = weft_arena_new();
    weft_platforms *platforms = weft_platforms_new(a);
    weft_measured m;
    weft_ready ready;
    weft_work_key key;

    CHECK_OK(parse(weft_arena_print(a, HEAD "%s,%s,f16,1,s\n", what, params), a, &m));
    CHECK_OK(weft_ready_make(&m, 0, V100, platforms, &ready));
    key = ready.key;
    weft_platforms_free(platforms);
    weft_arena_free(a);
    return key;
}

/* Does a node of the training graph have this work? */
static bool has_key(const weft_graph *g, const weft_work_key *key)
{
    for (int u = 0; u < g->n_nodes; u++) {
        weft_work_key k;

        weft_work_key_of(g, u, &k);
        if (k.n_layers == 1 && memcmp(&k, key, sizeof k) == 0)
            return true;
    }
    return false;
}

TEST(convolutions_are_the_work_of_nodes)
{
    static const char *const passes[] = {"forward", "data", "weight"};
    static const char size[] = "batch=4 channels=8 height=15 width=17 filters=16 kernel_h=3 "
                               "kernel_w=5 pad_h=1 pad_w=2 stride_h=2 stride_w=2";
    net_fixture f = net_start(WEFT_F16);
    int x = net_input(&f, "4x8x15x17"), first = net_weight(&f, "8x8x1x1"),
        w = net_weight(&f, "16x8x3x5"), y = net_op(&f, "Conv", (int[]){x, first}, 2, "");
    weft_graph *train;

    y = net_op(&f, "Conv", (int[]){y, w}, 2, "pads=1,2,1,2 strides=2,2");
    (void)net_finish(&f, y);
    CHECK_OK(weft_graph_train(f.graph, WEFT_SGD, &train));
    for (int i = 0; i < 3; i++) {
        weft_arena *a = weft_arena_new();
        weft_work_key key = row_key("conv", weft_arena_print(a, "%s pass=%s", size, passes[i]));

        if (!has_key(train, &key))
            fail_msg("no node has the work of pass %s", passes[i]);
        weft_arena_free(a);
    }
    weft_graph_free(train);
    net_free(&f);
}

TEST(products_are_the_work_of_nodes)
{
    net_fixture f = net_start(WEFT_F16);
    int x = net_input(&f, "32x64"), w = net_weight(&f, "64x48");
    weft_work_key key = row_key("gemm", "m=32 n=48 k=64");

    (void)net_finish(&f, net_op(&f, "MatMul", (int[]){x, w}, 2, ""));
    CHECK(has_key(f.graph, &key));
    net_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_and_rates_become_seconds),
        cmocka_unit_test(what_is_wrong_is_named_with_line_and_column),
        cmocka_unit_test(rows_that_cannot_be_are_refused),
        cmocka_unit_test(convolutions_are_the_work_of_nodes),
        cmocka_unit_test(products_are_the_work_of_nodes),
    };

    return RUN_TESTS(tests);
}
