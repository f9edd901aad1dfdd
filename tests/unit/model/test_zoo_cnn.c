/* SPDX-License-Identifier: MIT */
/* Built-in convolutional networks: weights, multiply-accumulates and nodes against exported files
 * and published tables; parameters of the command line; failures. */

#include "check.h"
#include "invariants.h"

#include "model.h"

/* --- helpers --------------------------------------------------------------------------------- */

static weft_status try_make(const char *name, const char *parameters,
                            const weft_model_options *common, weft_graph **out)
{
    weft_net_builder *net = weft_net_new(name);
    weft_status status = weft_zoo_build(name, parameters, common, net);

    if (status == WEFT_OK)
        status = weft_net_finish(net, out);
    weft_net_free(net);
    return status;
}

static weft_graph *make(const char *name, const char *parameters)
{
    weft_graph *g = NULL;

    CHECK_OK(try_make(name, parameters, NULL, &g));
    weft_graph_check(g);
    return g;
}

static int64_t macs(const weft_graph *g)
{
    int64_t sum = 0;

    for (int u = 0; u < g->n_nodes; u++)
        sum += weft_node_work(g, u).macs;
    return sum;
}

/* Elements of the parameters, running statistics included or not. */
static int64_t weights(const weft_graph *g, bool with_statistics)
{
    int64_t sum = 0;

    for (int t = 0; t < g->n_tensors; t++) {
        const char *name = g->tensor[t].name;
        bool is_statistic = strstr(name, "norm_mean") != NULL || strstr(name, "norm_var") != NULL;
        if (strncmp(name, "w/", 2) == 0 && (with_statistics || !is_statistic))
            sum += g->tensor[t].elements;
    }
    return sum;
}

static int count(const weft_graph *g, const char *op)
{
    int n = 0;

    for (int u = 0; u < g->n_nodes; u++)
        n += strcmp(g->node[u].op, op) == 0;
    return n;
}

/* --- exported files -------------------------------------------------------------------------- */

/* Elements of initializers, MACs and nodes of the files that PyTorch exports from torchvision's
 * definitions. The exporter adds a Pad in front of average pools and a Concat of one tensor at the
 * start of each dense block, which do nothing and are not built. */
TEST(models_equal_their_exported_files)
{
    static const struct {
        const char *name, *parameters;
        int64_t weights, macs;
        int nodes;
    } row[] = {
        {"alexnet",            "",     61100840,  714188480,   20         },
        {"vgg16",              "",     138357544, 15470264320, 38         },
        {"resnet18",           "",     11684712,  1814073344,  49         },
        {"resnet18",           "bn=0", 11684712,  1814073344,  49         },
        {"resnet18",           "bn=1", 11699112,  1814073344,  69         },
        {"resnet50",           "",     25530472,  4089184256,  122        },
        {"resnet101",          "",     44496488,  7801405440,  241        },
        {"resnext50",          "",     24994792,  4230479872,  122        },
        {"inception_v3",       "",     23817352,  5713216096,  224 - 9    },
        {"googlenet",          "",     6617624,   1498376192,  139        },
        {"squeezenet1_1",      "",     1235496,   349151936,   65         },
        {"mobilenet_v2",       "",     3487816,   300774272,   100        },
        {"mobilenet_v3_large", "",     5470832,   216589760,   140        },
        {"densenet121",        "",     8040040,   2834161664,  375 - 3 - 4},
        {"efficientnet_b0",    "",     5267540,   385814752,   239        },
    };

    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        weft_graph *g = make(row[i].name, row[i].parameters);
        CHECK_INT(weights(g, true), row[i].weights);
        CHECK_INT(macs(g), row[i].macs);
        CHECK_INT(g->n_nodes, row[i].nodes);
        weft_graph_free(g);
    }
}

/* Trainable parameters as torchvision's documentation lists them for its models ("num_params").
 * Larger members of a family are parameters of a smaller one: ResNet-152, ResNeXt-101 32x8d,
 * DenseNet-169, EfficientNet B1 and B4. */
TEST(kept_norms_give_the_published_number_of_parameters)
{
    static const struct {
        const char *name, *parameters;
        int64_t weights;
    } row[] = {
        {"resnet18",           "bn=1",                                         11689512},
        {"resnet34",           "bn=1",                                         21797672},
        {"resnet50",           "bn=1",                                         25557032},
        {"resnet101",          "bn=1",                                         44549160},
        {"resnet50",           "bn=1,blocks2=8,blocks3=36",                    60192808},
        {"wide_resnet50_2",    "bn=1",                                         68883240},
        {"resnext50",          "bn=1",                                         25028904},
        {"resnet101",          "bn=1,groups=32,group_width=8",                 88791336},
        {"googlenet",          "bn=1",                                         6624904 },
        {"inception_v3",       "bn=1",                                         23834568},
        {"densenet121",        "bn=1",                                         7978856 },
        {"densenet121",        "bn=1,blocks3=32,blocks4=32",                   14149480},
        {"mobilenet_v2",       "bn=1",                                         3504872 },
        {"mobilenet_v3_large", "bn=1",                                         5483032 },
        {"efficientnet_b0",    "bn=1",                                         5288548 },
        {"efficientnet_b0",    "bn=1,image=240,depth_mult=1.1",                7794184 },
        {"efficientnet_b0",    "bn=1,image=380,width_mult=1.4,depth_mult=1.8", 19341616},
    };

    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        weft_graph *g = make(row[i].name, row[i].parameters);
        CHECK_INT(weights(g, false), row[i].weights);
        weft_graph_free(g);
    }
}

/* --- by hand --------------------------------------------------------------------------------- */

/* A convolution with bias. */
static int64_t conv_weights(int64_t out, int64_t in, int64_t k)
{
    return out * in * k * k + out;
}

static int64_t conv_macs(int64_t out, int64_t in, int64_t k, int64_t size)
{
    return out * in * k * k * size * size;
}

TEST(resnet34_is_counted_by_hand)
{
    weft_graph *g = make("resnet34", "");
    int64_t n = conv_weights(64, 3, 7) + 6 * conv_weights(64, 64, 3);
    int64_t m = conv_macs(64, 3, 7, 112) + 6 * conv_macs(64, 64, 3, 56);

    n += conv_weights(128, 64, 3) + conv_weights(128, 64, 1) + 7 * conv_weights(128, 128, 3);
    n += conv_weights(256, 128, 3) + conv_weights(256, 128, 1) + 11 * conv_weights(256, 256, 3);
    n += conv_weights(512, 256, 3) + conv_weights(512, 256, 1) + 5 * conv_weights(512, 512, 3);
    n += 512 * 1000 + 1000;
    m += conv_macs(128, 64, 3, 28) + conv_macs(128, 64, 1, 28) + 7 * conv_macs(128, 128, 3, 28);
    m += conv_macs(256, 128, 3, 14) + conv_macs(256, 128, 1, 14) + 11 * conv_macs(256, 256, 3, 14);
    m += conv_macs(512, 256, 3, 7) + conv_macs(512, 256, 1, 7) + 5 * conv_macs(512, 512, 3, 7);
    CHECK_INT(weights(g, true), n);
    CHECK_INT(macs(g), m + 512 * 1000);
    CHECK_INT(m / 10000000, 366); /* 3.66 G in convolutions */
    CHECK_INT(count(g, "Conv"), 33 + 3);
    weft_graph_free(g);
}

TEST(wide_resnet50_is_counted_by_hand)
{
    static const int blocks[] = {3, 4, 6, 3};
    weft_graph *g = make("wide_resnet50_2", "");
    int64_t n = conv_weights(64, 3, 7), m = conv_macs(64, 3, 7, 112), in = 64, before = 56;

    for (int s = 0; s < 4; s++) { /* inner layers are twice as wide as those of ResNet-50 */
        const int64_t inner = 128 << s, out = 256 << s, size = 56 >> s;
        for (int i = 0; i < blocks[s]; i++) {
            n += conv_weights(inner, in, 1) + conv_weights(inner, inner, 3);
            n += conv_weights(out, inner, 1) + (i == 0 ? conv_weights(out, in, 1) : 0);
            m += conv_macs(inner, in, 1, i == 0 ? before : size) + conv_macs(inner, inner, 3, size);
            m += conv_macs(out, inner, 1, size) + (i == 0 ? conv_macs(out, in, 1, size) : 0);
            in = out;
        }
        before = size; /* the 3x3 convolution has the stride, the 1x1 before it sees more pixels */
    }
    CHECK_INT(weights(g, true), n + 2048 * 1000 + 1000);
    CHECK_INT(macs(g), m + 2048 * 1000);
    CHECK_INT((m + 5000000) / 10000000, 1140); /* 11.40 G in convolutions */
    weft_graph_free(g);
}

TEST(unet_is_counted_by_hand)
{
    weft_graph *g = make("unet", "");
    int64_t n = 0, m = 0, in = 1;

    for (int i = 0; i <= 4; i++) { /* down: 64 .. 1024 channels on 256 .. 16 pixels */
        const int64_t out = 64 << i, size = 256 >> i;
        n += conv_weights(out, in, 3) + conv_weights(out, out, 3);
        m += conv_macs(out, in, 3, size) + conv_macs(out, out, 3, size);
        in = out;
    }
    for (int i = 3; i >= 0; i--) { /* up: 2x2 transposed, then two on the concatenation */
        const int64_t out = 64 << i, size = 256 >> i;
        n += conv_weights(out, 2 * out, 2);
        n += conv_weights(out, 2 * out, 3) + conv_weights(out, out, 3);
        m += conv_macs(out, 2 * out, 2, size / 2); /* each input pixel makes 2x2 outputs */
        m += conv_macs(out, 2 * out, 3, size) + conv_macs(out, out, 3, size);
    }
    n += conv_weights(2, 64, 1);
    m += conv_macs(2, 64, 1, 256);
    CHECK_INT(weights(g, true), n);
    CHECK_INT(macs(g), m);
    CHECK_INT(count(g, "ConvTranspose"), 4);
    CHECK_INT(g->tensor[g->output[0]].shape->dim[1], 2);
    CHECK_INT(g->tensor[g->output[0]].shape->dim[2], 256);
    weft_graph_free(g);
}

/* --- tables of H2H --------------------------------------------------------------------------- */

typedef struct layer {
    int64_t m, n, r; /* channels written, read; size */
    int times;
} layer;

/* Convolutions of a graph that write m channels from n on r x r pixels with a 3x3 kernel. */
static int matching(const weft_graph *g, const layer *l)
{
    int found = 0;

    for (int u = 0; u < g->n_nodes; u++) {
        if (strcmp(g->node[u].op, "Conv") != 0)
            continue;
        const int64_t *w = g->tensor[g->arg[g->arg_at[u] + 1]].shape->dim;
        const int64_t *y = g->tensor[g->res[g->res_at[u]]].shape->dim;
        found += w[0] == l->m && w[1] == l->n && w[2] == 3 && w[3] == 3 && y[1] == l->m &&
                 y[2] == l->r && y[3] == l->r;
    }
    return found;
}

/* Checks each row of a table and returns the sums. */
static layer check_table(const weft_graph *g, const layer *table, int n)
{
    layer sum = {0};

    for (int i = 0; i < n; i++) {
        CHECK_INT(matching(g, &table[i]), table[i].times);
        sum.times += table[i].times;
        sum.n += table[i].times * table[i].m * table[i].n * 9;
        sum.m += table[i].times * conv_macs(table[i].m, table[i].n, 3, table[i].r);
    }
    CHECK_INT(count(g, "Conv"), sum.times);
    return sum;
}

TEST(casia_surf_has_the_layers_of_its_table)
{
    static const layer table[] = {
        {64,  3,   112, 3 },
        {64,  64,  112, 9 },
        {64,  64,  56,  12},
        {128, 64,  28,  3 },
        {128, 128, 28,  9 },
        {256, 384, 14,  1 },
        {256, 256, 14,  3 },
        {512, 256, 7,   1 },
        {512, 512, 7,   3 },
    };
    weft_graph *g = make("casia_surf", "");
    layer sum = check_table(g, table, 9);

    CHECK_INT(sum.times, 44);
    CHECK_INT(weights(g, true), sum.n);
    CHECK_INT(macs(g), sum.m);
    CHECK_INT((sum.n + 5000) / 10000, 1324);      /* 13.24 M */
    CHECK_INT((sum.m + 5000000) / 10000000, 775); /* 7.75 G */
    CHECK_INT(g->n_inputs, 3);
    weft_graph_free(g);
}

TEST(facebagnet_has_the_layers_of_its_table)
{
    static const layer table[] = {
        {32,  3,    56, 3 },
        {64,  32,   28, 3 },
        {64,  64,   28, 12},
        {64,  128,  28, 3 },
        {128, 128,  14, 15},
        {128, 256,  14, 3 },
        {256, 256,  7,  5 },
        {256, 512,  7,  1 },
        {512, 512,  3,  5 },
        {512, 1024, 3,  1 },
    };
    weft_graph *g = make("facebagnet", "");
    layer sum = check_table(g, table, 10);

    CHECK_INT(sum.times, 51);
    CHECK_INT(weights(g, true), sum.n + 3 * 92146);
    CHECK_INT(macs(g), sum.m + 3 * 92146);
    CHECK_INT((sum.n + 3 * 92146 + 5000) / 10000, 2474); /* 24.74 M */
    CHECK_INT((sum.m + 5000000) / 10000000, 153);        /* 1.53 G */
    weft_graph_free(g);
    g = make("facebagnet", "features=0"); /* what L25 and L23 have: 2 x 512 x 3 x 3 = 9216 */
    CHECK_INT(weights(g, true), sum.n + 3 * 9216);
    CHECK_INT(count(g, "Pad"), 0);
    weft_graph_free(g);
}

/* --- all of them ----------------------------------------------------------------------------- */

/* The family of this file stands first in the list and ends with facebagnet. */
static int family(weft_arena *a, const char *const **names)
{
    int n = 0;

    (void)weft_zoo_list(a, names);
    while (strcmp((*names)[n], "facebagnet") != 0)
        n++;
    return n + 1;
}

TEST(the_list_finds_each_model_once)
{
    weft_arena *a = weft_arena_new();
    const char *const *names;
    weft_zoo_model m;

    CHECK_INT(family(a, &names), 18);
    for (int i = 0, n = weft_zoo_list(a, &names); i < n; i++) {
        CHECK(weft_zoo_find(names[i], a, &m));
        CHECK_TEXT(m.name, names[i]);
        CHECK(weft_zoo_has(names[i]));
        for (int k = 0; k < i; k++)
            CHECK(strcmp(names[k], names[i]) != 0);
    }
    CHECK(!weft_zoo_find("resnet", a, &m));
    CHECK(!weft_zoo_has(""));
    weft_arena_free(a);
}

TEST(work_grows_with_the_batch_and_bytes_with_the_type)
{
    weft_arena *arena = weft_arena_new();
    const char *const *names;
    const weft_model_options five = {.batch = 5, .dtype = WEFT_F16};

    for (int i = 0, n = family(arena, &names); i < n; i++) {
        const char *name = names[i];
        weft_graph *one = make(name, ""), *many = NULL;
        CHECK_OK(try_make(name, "", &five, &many));
        CHECK_INT(macs(many), 5 * macs(one));
        CHECK_INT(weights(many, true), weights(one, true));
        CHECK_INT(many->tensor[many->input[0]].bytes * 2, 5 * one->tensor[one->input[0]].bytes);
        CHECK_INT(many->n_nodes, one->n_nodes);
        weft_graph_free(one);
        weft_graph_free(many);
    }
    weft_arena_free(arena);
}

TEST(training_keeps_norms_unless_told_otherwise)
{
    const weft_model_options train = {.train = true};
    weft_graph *g = NULL;

    CHECK_OK(try_make("resnet18", "", &train, &g));
    CHECK_INT(count(g, "BatchNormalization"), 20); /* one for each convolution */
    weft_graph_free(g);
    CHECK_OK(try_make("resnet18", "bn=0", &train, &g));
    CHECK_INT(count(g, "BatchNormalization"), 0);
    weft_graph_free(g);
    g = make("densenet121", "bn=0"); /* 58 layers, 3 transitions and the last cannot be folded */
    CHECK_INT(count(g, "BatchNormalization"), 58 + 3 + 1);
    weft_graph_free(g);
}

/* No layer is made in vain. */
TEST(every_result_is_read_or_asked_for)
{
    weft_arena *arena = weft_arena_new();
    const char *const *names;

    for (int i = 0, n = family(arena, &names); i < n; i++) {
        weft_graph *g = make(names[i], "");
        CHECK_INT(g->n_outputs, 1);
        for (int t = 0; t < g->n_tensors; t++)
            CHECK(g->use_at[t] < g->use_at[t + 1] || t == g->output[0]);
        weft_graph_free(g);
    }
    weft_arena_free(arena);
}

/* Whatever the numbers, a model is built and sound, or refused with a message that names it. */
TEST(any_parameters_give_a_model_or_a_message)
{
    weft_arena *arena = weft_arena_new();
    const char *const *names;
    weft_rng r = weft_rng_seed(7);
    int built = 0, refused = 0, n = family(arena, &names);

    for (int i = 0; i < 200; i++) {
        const char *name = names[weft_rng_below(&r, n)];
        char text[64];
        weft_graph *g = NULL;
        snprintf(text, sizeof text, "image=%d", 1 + weft_rng_below(&r, 100 + 3 * (i % 100)));
        if (try_make(name, text, NULL, &g) == WEFT_OK) {
            weft_graph_check(g);
            CHECK(macs(g) > 0);
            built++;
        } else {
            CHECK(strstr(weft_message(), name) != NULL);
            CHECK(strstr(weft_message(), "image") != NULL);
            refused++;
        }
        weft_graph_free(g);
    }
    CHECK(built > 50 && refused > 10);
    weft_arena_free(arena);
}

TEST(wrong_parameters_are_named)
{
    weft_graph *g = NULL;

    CHECK_FAILS(try_make("alexnet", "image=100", NULL, &g), "alexnet with image=100: image is too");
    CHECK_FAILS(try_make("inception_v3", "image=20", NULL, &g), "inception_v3 with image=20");
    CHECK_FAILS(try_make("unet", "image=100", NULL, &g), "multiple of 16");
    CHECK_FAILS(try_make("resnet50", "group_width=1,width=8", NULL, &g), "group_width=1");
    CHECK_FAILS(try_make("resnet50", "image=0", NULL, &g), "image");
    CHECK_FAILS(try_make("resnet50", "imag=9", NULL, &g), "imag");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_equal_their_exported_files),
        cmocka_unit_test(kept_norms_give_the_published_number_of_parameters),
        cmocka_unit_test(resnet34_is_counted_by_hand),
        cmocka_unit_test(wide_resnet50_is_counted_by_hand),
        cmocka_unit_test(unet_is_counted_by_hand),
        cmocka_unit_test(casia_surf_has_the_layers_of_its_table),
        cmocka_unit_test(facebagnet_has_the_layers_of_its_table),
        cmocka_unit_test(the_list_finds_each_model_once),
        cmocka_unit_test(work_grows_with_the_batch_and_bytes_with_the_type),
        cmocka_unit_test(every_result_is_read_or_asked_for),
        cmocka_unit_test(training_keeps_norms_unless_told_otherwise),
        cmocka_unit_test(any_parameters_give_a_model_or_a_message),
        cmocka_unit_test(wrong_parameters_are_named),
    };

    return RUN_TESTS(tests);
}
