/* SPDX-License-Identifier: MIT */
/* zoo_cnn.c: the list of convolutional networks, and the classic ones: AlexNet, VGG, the ResNet
 * family, DenseNet, SqueezeNet, GoogLeNet, Inception.
 *
 * Layers and channels are those of torchvision's definitions (dropout and auxiliary heads, which
 * do nothing at inference, are left out). Batch normalisations that follow a convolution are folded
 * into it, which then has a bias, or kept as nodes (option bn); with the default parameters,
 * weights and multiply-accumulates equal those of the exported ONNX files.
 */

#include "zoo_cnn.h"

/* --- shared ---------------------------------------------------------------------------------- */

weft_zoo weft_cnn_begin(weft_net *net, const weft_cnn_options *o, const weft_model_options *common)
{
    weft_zoo z = weft_zoo_begin(net, common);

    if (o->bn >= 0)
        z.keep_norms = o->bn != 0;
    return z;
}

int weft_cnn_input(weft_zoo *z, const char *name, int64_t channels, int64_t image)
{
    const int64_t dim[] = {z->batch, channels, image, image};

    return weft_zoo_input(z, name, z->type, 4, dim);
}

int weft_cnn_classifier(weft_zoo *z, int x, int64_t classes)
{
    return weft_zoo_linear(z, weft_zoo_flatten(z, weft_zoo_global_pool(z, x)), classes);
}

weft_status weft_cnn_finish(weft_zoo *z, int x, const char *name, int64_t image)
{
    char where[80];

    weft_zoo_output(z, x);
    if (z->status == WEFT_OK)
        return WEFT_OK;
    snprintf(where, sizeof where, "%s with image=%lld", name, (long long)image);
    return weft_fail_in(z->status, where);
}

int weft_cnn_pool(weft_zoo *z, int x, const weft_cnn_window *w)
{
    const int64_t kernels[] = {w->kernel, w->kernel}, strides[] = {w->stride, w->stride};
    const int64_t pads[] = {w->pad, w->pad, w->pad, w->pad};
    weft_zoo_call call = {.op = w->op, .n_args = 1, .arg = {x}};

    call.attr[call.n_attrs++] = weft_zoo_attr_int("ceil_mode", w->ceil);
    call.attr[call.n_attrs++] = weft_zoo_attr_ints(z, "kernel_shape", 2, kernels);
    call.attr[call.n_attrs++] = weft_zoo_attr_ints(z, "pads", 4, pads);
    call.attr[call.n_attrs++] = weft_zoo_attr_ints(z, "strides", 2, strides);
    if (w->count_pad)
        call.attr[call.n_attrs++] = weft_zoo_attr_int("count_include_pad", 1);
    return weft_zoo_call1(z, &call);
}

/* A convolution with bias and Relu, never normalised. */
static int plain_conv(weft_zoo *z, int x, int64_t out, int64_t kernel, int64_t pad)
{
    const weft_zoo_conv c = {.out = out,
                             .kernel_h = kernel,
                             .kernel_w = kernel,
                             .pad_h = pad,
                             .pad_w = pad,
                             .act = "Relu"};

    return weft_zoo_conv2d(z, x, &c);
}

/* Averages n x n features to size x size. ONNX has no adaptive pooling: one window size is used for
 * all outputs, the same as torchvision's if n is a multiple of `size`. */
static int shrink_to(weft_zoo *z, int x, int64_t size)
{
    int64_t n = weft_zoo_dim(z, x, 2);

    if (z->status == WEFT_OK && n < size)
        z->status = weft_fail(WEFT_E_INPUT,
                              "image is too small: %lldx%lld features before the first linear "
                              "layer, at least %lldx%lld needed",
                              (long long)n, (long long)n, (long long)size, (long long)size);
    int64_t stride = n / size;
    return weft_zoo_pool(z, "AveragePool", x, n - (size - 1) * stride, stride, 0);
}

/* The two hidden linear layers and the last one of AlexNet and VGG. */
static int three_linears(weft_zoo *z, int x, int64_t classes)
{
    enum { HIDDEN = 4096 };

    x = weft_zoo_unary(z, "Relu", weft_zoo_linear(z, weft_zoo_flatten(z, x), HIDDEN));
    x = weft_zoo_unary(z, "Relu", weft_zoo_linear(z, x, HIDDEN));
    return weft_zoo_linear(z, x, classes);
}

/* --- AlexNet, VGG ---------------------------------------------------------------------------- */

static const weft_option alexnet_table[] = {
    WEFT_CNN_IMAGE(224),
    WEFT_CNN_CLASSES(1000),
    WEFT_OPTIONS_END,
};

static weft_status build_alexnet(weft_net *net, const void *options,
                                 const weft_model_options *common)
{
    const weft_cnn_options *o = options;
    weft_zoo z = weft_zoo_begin(net, common);
    const weft_zoo_conv stem = {.out = 64,
                                .kernel_h = 11,
                                .kernel_w = 11,
                                .stride = 4,
                                .pad_h = 2,
                                .pad_w = 2,
                                .act = "Relu"};

    int x = weft_zoo_conv2d(&z, weft_cnn_input(&z, "input", 3, o->image), &stem);
    x = weft_zoo_pool(&z, "MaxPool", x, 3, 2, 0);
    x = plain_conv(&z, x, 192, 5, 2);
    x = weft_zoo_pool(&z, "MaxPool", x, 3, 2, 0);
    x = plain_conv(&z, x, 384, 3, 1);
    x = plain_conv(&z, x, 256, 3, 1);
    x = plain_conv(&z, x, 256, 3, 1);
    x = weft_zoo_pool(&z, "MaxPool", x, 3, 2, 0);
    x = three_linears(&z, shrink_to(&z, x, 6), o->classes);
    return weft_cnn_finish(&z, x, "alexnet", o->image);
}

static const weft_option vgg_table[] = {
    WEFT_CNN_IMAGE(224),
    WEFT_CNN_CLASSES(1000),
    WEFT_CNN_ROW(width, 64, 1, 4096, "channels of the first stage"),
    WEFT_OPTIONS_END,
};

static weft_status build_vgg16(weft_net *net, const void *options, const weft_model_options *common)
{
    static const int convs[] = {2, 2, 3, 3, 3}, scale[] = {1, 2, 4, 8, 8};
    const weft_cnn_options *o = options;
    weft_zoo z = weft_zoo_begin(net, common);
    int x = weft_cnn_input(&z, "input", 3, o->image);

    for (int stage = 0; stage < 5; stage++) {
        for (int i = 0; i < convs[stage]; i++)
            x = plain_conv(&z, x, scale[stage] * o->width, 3, 1);
        x = weft_zoo_pool(&z, "MaxPool", x, 2, 2, 0);
    }
    x = three_linears(&z, shrink_to(&z, x, 7), o->classes);
    return weft_cnn_finish(&z, x, "vgg16", o->image);
}

/* --- ResNets --------------------------------------------------------------------------------- */

/* Blocks of each stage, before groups and their width. */
#define RESNET_ROWS(b1, b2, b3, b4)                                                                \
    WEFT_CNN_IMAGE(224), WEFT_CNN_CLASSES(1000), WEFT_CNN_BN,                                      \
        WEFT_CNN_ROW(width, 64, 1, 4096, "channels of the first stage"),                           \
        WEFT_CNN_ROW(blocks1, b1, 1, 1000, "blocks of stage 1"),                                   \
        WEFT_CNN_ROW(blocks2, b2, 1, 1000, "blocks of stage 2"),                                   \
        WEFT_CNN_ROW(blocks3, b3, 1, 1000, "blocks of stage 3"),                                   \
        WEFT_CNN_ROW(blocks4, b4, 1, 1000, "blocks of stage 4")
#define GROUP_ROWS(n, each)                                                                        \
    WEFT_CNN_ROW(groups, n, 1, 1024, "groups of the 3x3 convolutions"),                            \
        WEFT_CNN_ROW(group_width, each, 1, 1024, "channels of a group in the first stage")

static const weft_option resnet18_table[] = {RESNET_ROWS(2, 2, 2, 2), WEFT_OPTIONS_END};
static const weft_option resnet34_table[] = {RESNET_ROWS(3, 4, 6, 3), WEFT_OPTIONS_END};
static const weft_option resnet50_table[] = {RESNET_ROWS(3, 4, 6, 3), GROUP_ROWS(1, 64),
                                             WEFT_OPTIONS_END};
static const weft_option resnet101_table[] = {RESNET_ROWS(3, 4, 23, 3), GROUP_ROWS(1, 64),
                                              WEFT_OPTIONS_END};
static const weft_option wide_resnet50_table[] = {RESNET_ROWS(3, 4, 6, 3), GROUP_ROWS(1, 128),
                                                  WEFT_OPTIONS_END};
static const weft_option resnext50_table[] = {RESNET_ROWS(3, 4, 6, 3), GROUP_ROWS(32, 4),
                                              WEFT_OPTIONS_END};

/* Adds x, by a 1x1 convolution where sizes differ, to y. */
static int add_shortcut(weft_zoo *z, int y, int x, int64_t stride)
{
    const weft_zoo_conv project = {.out = weft_zoo_dim(z, y, 1), .stride = stride, .norm = true};

    if (stride != 1 || weft_zoo_dim(z, x, 1) != project.out)
        x = weft_zoo_conv2d(z, x, &project);
    return weft_zoo_unary(z, "Relu", weft_zoo_binary(z, "Add", y, x));
}

static int basic_block(weft_zoo *z, int x, const weft_cnn_options *o, int64_t planes,
                       int64_t stride)
{
    const weft_zoo_conv second = {
        .out = planes, .kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1, .norm = true};
    int y = weft_zoo_conv_relu(z, x, planes, 3, stride);

    (void)o; /* basic blocks have no groups */
    return add_shortcut(z, weft_zoo_conv2d(z, y, &second), x, stride);
}

static int bottleneck(weft_zoo *z, int x, const weft_cnn_options *o, int64_t planes, int64_t stride)
{
    enum { EXPANSION = 4, REFERENCE_WIDTH = 64 };
    const int64_t inner = planes * o->group_width / REFERENCE_WIDTH * o->groups;
    const weft_zoo_conv middle = {.out = inner,
                                  .kernel_h = 3,
                                  .kernel_w = 3,
                                  .stride = stride,
                                  .pad_h = 1,
                                  .pad_w = 1,
                                  .groups = o->groups,
                                  .norm = true,
                                  .act = "Relu"};
    const weft_zoo_conv last = {.out = EXPANSION * planes, .norm = true};

    if (z->status == WEFT_OK && inner < 1)
        z->status = weft_fail(WEFT_E_INPUT, "group_width=%lld leaves no channels with width=%lld",
                              (long long)o->group_width, (long long)o->width);
    int y = weft_zoo_conv2d(z, weft_zoo_conv_relu(z, x, inner, 1, 1), &middle);
    return add_shortcut(z, weft_zoo_conv2d(z, y, &last), x, stride);
}

typedef int block_maker(weft_zoo *z, int x, const weft_cnn_options *o, int64_t planes,
                        int64_t stride);

static weft_status resnet(const char *name, block_maker *block, weft_net *net,
                          const weft_cnn_options *o, const weft_model_options *common)
{
    const int64_t blocks[] = {o->blocks1, o->blocks2, o->blocks3, o->blocks4};
    weft_zoo z = weft_cnn_begin(net, o, common);
    int x = weft_cnn_input(&z, "input", 3, o->image);

    x = weft_zoo_conv_relu(&z, x, o->width, 7, 2);
    x = weft_zoo_pool(&z, "MaxPool", x, 3, 2, 1);
    for (int stage = 0; stage < 4; stage++)
        for (int64_t i = 0; i < blocks[stage]; i++)
            x = block(&z, x, o, o->width << stage, stage > 0 && i == 0 ? 2 : 1);
    return weft_cnn_finish(&z, weft_cnn_classifier(&z, x, o->classes), name, o->image);
}

static weft_status build_resnet18(weft_net *net, const void *options,
                                  const weft_model_options *common)
{
    return resnet("resnet18", basic_block, net, options, common);
}

static weft_status build_resnet34(weft_net *net, const void *options,
                                  const weft_model_options *common)
{
    return resnet("resnet34", basic_block, net, options, common);
}

static weft_status build_resnet50(weft_net *net, const void *options,
                                  const weft_model_options *common)
{
    return resnet("resnet50", bottleneck, net, options, common);
}

static weft_status build_resnet101(weft_net *net, const void *options,
                                   const weft_model_options *common)
{
    return resnet("resnet101", bottleneck, net, options, common);
}

static weft_status build_wide_resnet50(weft_net *net, const void *options,
                                       const weft_model_options *common)
{
    return resnet("wide_resnet50_2", bottleneck, net, options, common);
}

static weft_status build_resnext50(weft_net *net, const void *options,
                                   const weft_model_options *common)
{
    return resnet("resnext50", bottleneck, net, options, common);
}

/* --- DenseNet -------------------------------------------------------------------------------- */

static const weft_option densenet_table[] = {
    WEFT_CNN_IMAGE(224),
    WEFT_CNN_CLASSES(1000),
    WEFT_CNN_BN,
    WEFT_CNN_ROW(growth, 32, 1, 1024, "channels that each layer adds"),
    WEFT_CNN_ROW(blocks1, 6, 1, 200, "layers of block 1"),
    WEFT_CNN_ROW(blocks2, 12, 1, 200, "layers of block 2"),
    WEFT_CNN_ROW(blocks3, 24, 1, 200, "layers of block 3"),
    WEFT_CNN_ROW(blocks4, 16, 1, 200, "layers of block 4"),
    WEFT_OPTIONS_END,
};

/* A normalisation in front of Relu has no convolution before it to be folded into: always a node.
 */
static int norm_relu(weft_zoo *z, int x)
{
    return weft_zoo_unary(z, "Relu", weft_zoo_batch_norm(z, x));
}

/* The concatenation of the block's input and the results of its n layers. */
static int dense_block(weft_zoo *z, int x, int64_t n, int64_t growth)
{
    enum { BOTTLENECK = 4 };
    const weft_zoo_conv grow = {
        .out = growth, .kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1, .no_bias = true};
    int *part = WEFT_NEW(weft_net_arena(z->net), int, n + 1);

    part[0] = x;
    for (int i = 0; i < n; i++) {
        int y = weft_zoo_conv_relu(z, norm_relu(z, x), BOTTLENECK * growth, 1, 1);
        part[i + 1] = weft_zoo_conv2d(z, y, &grow);
        x = weft_zoo_concat(z, part, i + 2, 1);
    }
    return x;
}

static weft_status build_densenet121(weft_net *net, const void *options,
                                     const weft_model_options *common)
{
    const weft_cnn_options *o = options;
    const int64_t layers[] = {o->blocks1, o->blocks2, o->blocks3, o->blocks4};
    weft_zoo z = weft_cnn_begin(net, o, common);
    int x = weft_cnn_input(&z, "input", 3, o->image);

    x = weft_zoo_conv_relu(&z, x, 2 * o->growth, 7, 2);
    x = weft_zoo_pool(&z, "MaxPool", x, 3, 2, 1);
    for (int i = 0; i < 4; i++) {
        x = norm_relu(&z, dense_block(&z, x, layers[i], o->growth));
        if (i == 3)
            break;
        const weft_zoo_conv halve = {.out = weft_zoo_dim(&z, x, 1) / 2, .no_bias = true};
        x = weft_zoo_pool(&z, "AveragePool", weft_zoo_conv2d(&z, x, &halve), 2, 2, 0);
    }
    return weft_cnn_finish(&z, weft_cnn_classifier(&z, x, o->classes), "densenet121", o->image);
}

/* --- SqueezeNet ------------------------------------------------------------------------------ */

/* A narrow 1x1 convolution, then 1x1 and 3x3 ones side by side, each four times as wide. */
static int fire(weft_zoo *z, int x, int64_t squeeze)
{
    int narrow = plain_conv(z, x, squeeze, 1, 0);
    int part[2];

    part[0] = plain_conv(z, narrow, 4 * squeeze, 1, 0);
    part[1] = plain_conv(z, narrow, 4 * squeeze, 3, 1);
    return weft_zoo_concat(z, part, 2, 1);
}

static weft_status build_squeezenet(weft_net *net, const void *options,
                                    const weft_model_options *common)
{
    static const int squeeze[] = {16, 16, 32, 32, 48, 48, 64, 64};
    static const weft_cnn_window shrink = {"MaxPool", 3, 2, 0, .ceil = true};
    const weft_cnn_options *o = options;
    const weft_zoo_conv stem = {
        .out = 64, .kernel_h = 3, .kernel_w = 3, .stride = 2, .act = "Relu"};
    weft_zoo z = weft_zoo_begin(net, common);
    int x = weft_zoo_conv2d(&z, weft_cnn_input(&z, "input", 3, o->image), &stem);

    for (int i = 0; i < 8; i++) {
        if (i == 0 || i == 2 || i == 4)
            x = weft_cnn_pool(&z, x, &shrink);
        x = fire(&z, x, squeeze[i]);
    }
    x = weft_zoo_global_pool(&z, plain_conv(&z, x, o->classes, 1, 0));
    return weft_cnn_finish(&z, weft_zoo_flatten(&z, x), "squeezenet1_1", o->image);
}

/* --- GoogLeNet: torchvision's has 3x3 convolutions where the article has 5x5 ----------------- */

static const weft_option googlenet_table[] = {
    WEFT_CNN_IMAGE(224),
    WEFT_CNN_CLASSES(1000),
    WEFT_CNN_BN,
    WEFT_OPTIONS_END,
};

typedef struct google_module {
    int one, narrow3, three, narrow5, five, pooled; /* channels */
    int shrink; /* window of a pooling with stride 2 after it; 0: none */
} google_module;

static int run_google_module(weft_zoo *z, int x, const google_module *m)
{
    static const weft_cnn_window around = {"MaxPool", 3, 1, 1, .ceil = true};
    int part[4];

    part[0] = weft_zoo_conv_relu(z, x, m->one, 1, 1);
    part[1] = weft_zoo_conv_relu(z, weft_zoo_conv_relu(z, x, m->narrow3, 1, 1), m->three, 3, 1);
    part[2] = weft_zoo_conv_relu(z, weft_zoo_conv_relu(z, x, m->narrow5, 1, 1), m->five, 3, 1);
    part[3] = weft_zoo_conv_relu(z, weft_cnn_pool(z, x, &around), m->pooled, 1, 1);
    return weft_zoo_concat(z, part, 4, 1);
}

static weft_status build_googlenet(weft_net *net, const void *options,
                                   const weft_model_options *common)
{
    static const google_module module[] = {
        {64,  96,  128, 16, 32,  32,  0},
        {128, 128, 192, 32, 96,  64,  3},
        {192, 96,  208, 16, 48,  64,  0},
        {160, 112, 224, 24, 64,  64,  0},
        {128, 128, 256, 24, 64,  64,  0},
        {112, 144, 288, 32, 64,  64,  0},
        {256, 160, 320, 32, 128, 128, 2},
        {256, 160, 320, 32, 128, 128, 0},
        {384, 192, 384, 48, 128, 128, 0},
    };
    static const weft_cnn_window shrink = {"MaxPool", 3, 2, 0, .ceil = true};
    const weft_cnn_options *o = options;
    weft_zoo z = weft_cnn_begin(net, o, common);
    int x = weft_cnn_input(&z, "input", 3, o->image);

    x = weft_cnn_pool(&z, weft_zoo_conv_relu(&z, x, 64, 7, 2), &shrink);
    x = weft_zoo_conv_relu(&z, weft_zoo_conv_relu(&z, x, 64, 1, 1), 192, 3, 1);
    x = weft_cnn_pool(&z, x, &shrink);
    for (int i = 0; i < 9; i++) {
        const weft_cnn_window after = {"MaxPool", module[i].shrink, 2, 0, .ceil = true};
        x = run_google_module(&z, x, &module[i]);
        if (after.kernel > 0)
            x = weft_cnn_pool(&z, x, &after);
    }
    return weft_cnn_finish(&z, weft_cnn_classifier(&z, x, o->classes), "googlenet", o->image);
}

/* --- Inception v3 ---------------------------------------------------------------------------- */

static const weft_option inception_v3_table[] = {
    WEFT_CNN_IMAGE(299),
    WEFT_CNN_CLASSES(1000),
    WEFT_CNN_BN,
    WEFT_OPTIONS_END,
};

typedef enum step_kind {
    SAME,  /* stride 1, the size is kept */
    VALID, /* stride 1, no padding */
    HALF,  /* stride 2, no padding */
} step_kind;

/* A convolution of a branch; out 0 ends the list. */
typedef struct step {
    int out, h, w;
    step_kind kind;
} step;

static int run_steps(weft_zoo *z, int x, const step *s)
{
    for (; s->out > 0; s++) {
        const weft_zoo_conv c = {.out = s->out,
                                 .kernel_h = s->h,
                                 .kernel_w = s->w,
                                 .stride = s->kind == HALF ? 2 : 1,
                                 .pad_h = s->kind == SAME ? s->h / 2 : 0,
                                 .pad_w = s->kind == SAME ? s->w / 2 : 0,
                                 .norm = true,
                                 .act = "Relu"};
        x = weft_zoo_conv2d(z, x, &c);
    }
    return x;
}

/* 3x3 average around each pixel, then a 1x1 convolution. */
static int averaged(weft_zoo *z, int x, int out)
{
    static const weft_cnn_window around = {"AveragePool", 3, 1, 1, .count_pad = true};
    const step project[] = {
        {out, 1, 1, SAME},
        {0,   0, 0, SAME}
    };

    return run_steps(z, weft_cnn_pool(z, x, &around), project);
}

/* 35 x 35 pixels: 1x1, 5x5, twice 3x3, average. */
static int module_a(weft_zoo *z, int x, int pooled)
{
    static const step one[] = {
        {64, 1, 1, SAME},
        {0,  0, 0, SAME}
    };
    static const step five[] = {
        {48, 1, 1, SAME},
        {64, 5, 5, SAME},
        {0,  0, 0, SAME}
    };
    static const step three[] = {
        {64, 1, 1, SAME},
        {96, 3, 3, SAME},
        {96, 3, 3, SAME},
        {0,  0, 0, SAME}
    };
    int part[4];

    part[0] = run_steps(z, x, one);
    part[1] = run_steps(z, x, five);
    part[2] = run_steps(z, x, three);
    part[3] = averaged(z, x, pooled);
    return weft_zoo_concat(z, part, 4, 1);
}

/* 35 to 17 pixels. */
static int module_b(weft_zoo *z, int x)
{
    static const step three[] = {
        {384, 3, 3, HALF},
        {0,   0, 0, SAME}
    };
    static const step twice[] = {
        {64, 1, 1, SAME},
        {96, 3, 3, SAME},
        {96, 3, 3, HALF},
        {0,  0, 0, SAME}
    };
    int part[3];

    part[0] = run_steps(z, x, three);
    part[1] = run_steps(z, x, twice);
    part[2] = weft_zoo_pool(z, "MaxPool", x, 3, 2, 0);
    return weft_zoo_concat(z, part, 3, 1);
}

/* 17 x 17 pixels: 7x7 convolutions as 1x7 and 7x1 in a row. */
static int module_c(weft_zoo *z, int x, int inner)
{
    static const step one[] = {
        {192, 1, 1, SAME},
        {0,   0, 0, SAME}
    };
    const step seven[] = {
        {inner, 1, 1, SAME},
        {inner, 1, 7, SAME},
        {192,   7, 1, SAME},
        {0,     0, 0, SAME}
    };
    const step twice[] = {
        {inner, 1, 1, SAME},
        {inner, 7, 1, SAME},
        {inner, 1, 7, SAME},
        {inner, 7, 1, SAME},
        {192,   1, 7, SAME},
        {0,     0, 0, SAME}
    };
    int part[4];

    part[0] = run_steps(z, x, one);
    part[1] = run_steps(z, x, seven);
    part[2] = run_steps(z, x, twice);
    part[3] = averaged(z, x, 192);
    return weft_zoo_concat(z, part, 4, 1);
}

/* 17 to 8 pixels. */
static int module_d(weft_zoo *z, int x)
{
    static const step three[] = {
        {192, 1, 1, SAME},
        {320, 3, 3, HALF},
        {0,   0, 0, SAME}
    };
    static const step seven[] = {
        {192, 1, 1, SAME},
        {192, 1, 7, SAME},
        {192, 7, 1, SAME},
        {192, 3, 3, HALF},
        {0,   0, 0, SAME}
    };
    int part[3];

    part[0] = run_steps(z, x, three);
    part[1] = run_steps(z, x, seven);
    part[2] = weft_zoo_pool(z, "MaxPool", x, 3, 2, 0);
    return weft_zoo_concat(z, part, 3, 1);
}

/* 8 x 8 pixels: 3x3 convolutions as 1x3 and 3x1 side by side. */
static int module_e(weft_zoo *z, int x)
{
    static const step one[] = {
        {320, 1, 1, SAME},
        {0,   0, 0, SAME}
    };
    static const step narrow[] = {
        {384, 1, 1, SAME},
        {0,   0, 0, SAME}
    };
    static const step deep[] = {
        {448, 1, 1, SAME},
        {384, 3, 3, SAME},
        {0,   0, 0, SAME}
    };
    static const step row[] = {
        {384, 1, 3, SAME},
        {0,   0, 0, SAME}
    };
    static const step column[] = {
        {384, 3, 1, SAME},
        {0,   0, 0, SAME}
    };
    int part[6];

    part[0] = run_steps(z, x, one);
    int y = run_steps(z, x, narrow);
    part[1] = run_steps(z, y, row);
    part[2] = run_steps(z, y, column);
    y = run_steps(z, x, deep);
    part[3] = run_steps(z, y, row);
    part[4] = run_steps(z, y, column);
    part[5] = averaged(z, x, 192);
    return weft_zoo_concat(z, part, 6, 1);
}

static weft_status build_inception_v3(weft_net *net, const void *options,
                                      const weft_model_options *common)
{
    static const step first[] = {
        {32, 3, 3, HALF },
        {32, 3, 3, VALID},
        {64, 3, 3, SAME },
        {0,  0, 0, SAME }
    };
    static const step second[] = {
        {80,  1, 1, SAME },
        {192, 3, 3, VALID},
        {0,   0, 0, SAME }
    };
    static const int pooled[] = {32, 64, 64}, inner[] = {128, 160, 160, 192};
    const weft_cnn_options *o = options;
    weft_zoo z = weft_cnn_begin(net, o, common);
    int x = run_steps(&z, weft_cnn_input(&z, "input", 3, o->image), first);

    x = run_steps(&z, weft_zoo_pool(&z, "MaxPool", x, 3, 2, 0), second);
    x = weft_zoo_pool(&z, "MaxPool", x, 3, 2, 0);
    for (int i = 0; i < 3; i++)
        x = module_a(&z, x, pooled[i]);
    x = module_b(&z, x);
    for (int i = 0; i < 4; i++)
        x = module_c(&z, x, inner[i]);
    x = module_e(&z, module_e(&z, module_d(&z, x)));
    return weft_cnn_finish(&z, weft_cnn_classifier(&z, x, o->classes), "inception_v3", o->image);
}

/* --- list ------------------------------------------------------------------------------------ */

#define CNN(name, summary, table, build)                                                           \
    {                                                                                              \
        name, summary, NULL, table, sizeof(weft_cnn_options), NULL, build                          \
    }

const weft_zoo_model weft_zoo_cnns[] = {
    CNN("alexnet", "AlexNet, image classification", alexnet_table, build_alexnet),
    CNN("vgg16", "VGG with 16 layers, image classification", vgg_table, build_vgg16),
    CNN("resnet18", "ResNet with 18 layers, image classification", resnet18_table, build_resnet18),
    CNN("resnet34", "ResNet with 34 layers, image classification", resnet34_table, build_resnet34),
    CNN("resnet50", "ResNet with 50 layers, image classification", resnet50_table, build_resnet50),
    CNN("resnet101", "ResNet with 101 layers, image classification", resnet101_table,
        build_resnet101),
    CNN("wide_resnet50_2", "ResNet-50 with inner layers twice as wide", wide_resnet50_table,
        build_wide_resnet50),
    CNN("resnext50", "ResNeXt-50 with 32 groups of 4 channels", resnext50_table, build_resnext50),
    CNN("inception_v3", "Inception v3, image classification", inception_v3_table,
        build_inception_v3),
    CNN("googlenet", "GoogLeNet with batch normalisation, image classification", googlenet_table,
        build_googlenet),
    CNN("squeezenet1_1", "SqueezeNet 1.1, image classification", alexnet_table, build_squeezenet),
    CNN("mobilenet_v2", "MobileNet v2, image classification", weft_mobilenet_table,
        weft_build_mobilenet_v2),
    CNN("mobilenet_v3_large", "MobileNet v3 large, image classification", weft_mobilenet_table,
        weft_build_mobilenet_v3_large),
    CNN("densenet121", "DenseNet with 121 layers, image classification", densenet_table,
        build_densenet121),
    CNN("efficientnet_b0", "EfficientNet B0, image classification", weft_efficientnet_table,
        weft_build_efficientnet_b0),
    CNN("unet", "U-Net with padded convolutions, image segmentation", weft_unet_table,
        weft_build_unet),
    CNN("casia_surf", "face anti-spoofing from colour, depth and infrared, 44 convolutions",
        weft_casia_surf_table, weft_build_casia_surf),
    CNN("facebagnet", "face anti-spoofing from colour, depth and infrared, 51 convolutions",
        weft_facebagnet_table, weft_build_facebagnet),
    {NULL, NULL, NULL, NULL, 0, NULL, NULL},
};
