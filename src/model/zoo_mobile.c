/* SPDX-License-Identifier: MIT */
/* zoo_mobile.c: networks for small devices (MobileNet v2 and v3, EfficientNet) and networks that
 * are not a single classifier (U-Net, two face anti-spoofing networks with three streams).
 *
 * MobileNets and EfficientNet are made of one block: a 1x1 convolution widens, a depthwise
 * convolution filters, a gate ("squeeze and excitation") may scale the channels, a 1x1 convolution
 * narrows, and the input is added if nothing changed size. Tables and rounding of channels are
 * those of torchvision.
 *
 * U-Net (Ronneberger, Fischer, Brox, MICCAI 2015): two 3x3 convolutions at each of levels + 1
 * sizes, going down by 2x2 pooling, up by 2x2 transposed convolutions whose result is concatenated
 * with the features of the same size. Convolutions are padded, so that sizes match without
 * cropping; the article's are not. Normalisations after the convolutions (option bn) are a common
 * addition; folded, they leave the network of the article.
 *
 * CASIA-SURF and FaceBagNet are the workloads tabulated by H2H (Zhang, Hao, Zhou, Jones, Hu, DAC
 * 2022): 3x3 convolutions without bias of given channels and sizes. What a table leaves open is
 * completed here and said beside the code; the published networks differ.
 */

#include <math.h>

#include "zoo_cnn.h"

const weft_option weft_mobilenet_table[] = {
    WEFT_CNN_IMAGE(224), WEFT_CNN_CLASSES(1000),
    WEFT_CNN_BN,         WEFT_CNN_SCALE(width_mult, "factor on the channels of all layers"),
    WEFT_OPTIONS_END,
};

const weft_option weft_efficientnet_table[] = {
    WEFT_CNN_IMAGE(224),
    WEFT_CNN_CLASSES(1000),
    WEFT_CNN_BN,
    WEFT_CNN_SCALE(width_mult, "factor on the channels of all layers"),
    WEFT_CNN_SCALE(depth_mult, "factor on the layers of each stage"),
    WEFT_OPTIONS_END,
};

/* The multiple of 8 nearest to `channels`, but not below nine tenths of it. */
static int64_t divisible(double channels)
{
    int64_t rounded = (int64_t)(channels + 4) / 8 * 8;

    if (rounded < 8)
        rounded = 8;
    return (double)rounded < 0.9 * channels ? rounded + 8 : rounded;
}

typedef struct inverted {
    int64_t hidden, kernel, out, stride;
    int64_t squeeze; /* channels inside the gate; 0: no gate */
    const char *act, *gate_act, *gate;
} inverted;

static int scale_channels(weft_zoo *z, int x, const inverted *b)
{
    const weft_zoo_conv narrow = {.out = b->squeeze, .act = b->gate_act};
    const weft_zoo_conv widen = {.out = weft_zoo_dim(z, x, 1), .act = b->gate};
    int y = weft_zoo_conv2d(z, weft_zoo_global_pool(z, x), &narrow);

    return weft_zoo_binary(z, "Mul", weft_zoo_conv2d(z, y, &widen), x);
}

static int inverted_block(weft_zoo *z, int x, const inverted *b)
{
    const int64_t in = weft_zoo_dim(z, x, 1);
    const weft_zoo_conv expand = {.out = b->hidden, .norm = true, .act = b->act};
    const weft_zoo_conv depthwise = {.out = b->hidden,
                                     .kernel_h = b->kernel,
                                     .kernel_w = b->kernel,
                                     .stride = b->stride,
                                     .pad_h = b->kernel / 2,
                                     .pad_w = b->kernel / 2,
                                     .groups = b->hidden,
                                     .norm = true,
                                     .act = b->act};
    const weft_zoo_conv project = {.out = b->out, .norm = true};
    int y = b->hidden == in ? x : weft_zoo_conv2d(z, x, &expand);

    y = weft_zoo_conv2d(z, y, &depthwise);
    if (b->squeeze > 0)
        y = scale_channels(z, y, b);
    y = weft_zoo_conv2d(z, y, &project);
    return b->stride == 1 && b->out == in ? weft_zoo_binary(z, "Add", y, x) : y;
}

/* The first layer of all three: 3x3, stride 2. */
static int stem(weft_zoo *z, int64_t image, int64_t out, const char *act)
{
    const weft_zoo_conv c = {.out = out,
                             .kernel_h = 3,
                             .kernel_w = 3,
                             .stride = 2,
                             .pad_h = 1,
                             .pad_w = 1,
                             .norm = true,
                             .act = act};

    return weft_zoo_conv2d(z, weft_cnn_input(z, "input", 3, image), &c);
}

weft_status weft_build_mobilenet_v2(weft_net *net, const void *options,
                                    const weft_model_options *common)
{
    static const struct {
        int expand, out, n, stride;
    } stage[] = {
        {1, 16,  1, 1},
        {6, 24,  2, 2},
        {6, 32,  3, 2},
        {6, 64,  4, 2},
        {6, 96,  3, 1},
        {6, 160, 3, 2},
        {6, 320, 1, 1}
    };
    const weft_cnn_options *o = options;
    weft_zoo z = weft_cnn_begin(net, o, common);
    int x = stem(&z, o->image, divisible(32 * o->width_mult), "Relu6");

    for (int s = 0; s < 7; s++)
        for (int i = 0; i < stage[s].n; i++) {
            const inverted b = {.hidden = stage[s].expand * weft_zoo_dim(&z, x, 1),
                                .kernel = 3,
                                .out = divisible(stage[s].out * o->width_mult),
                                .stride = i == 0 ? stage[s].stride : 1,
                                .act = "Relu6"};
            x = inverted_block(&z, x, &b);
        }
    /* The last layer is widened, never narrowed. */
    const weft_zoo_conv last = {
        .out = divisible(1280 * fmax(1, o->width_mult)), .norm = true, .act = "Relu6"};
    x = weft_cnn_classifier(&z, weft_zoo_conv2d(&z, x, &last), o->classes);
    return weft_cnn_finish(&z, x, "mobilenet_v2", o->image);
}

/* Rows of MobileNet v3 large: kernel, hidden, out, stride, gate, activation. */
static const struct {
    int kernel, hidden, out, stride;
    bool gated;
    const char *act;
} large[] = {
    {3, 16,  16,  1, false, "Relu"     },
    {3, 64,  24,  2, false, "Relu"     },
    {3, 72,  24,  1, false, "Relu"     },
    {5, 72,  40,  2, true,  "Relu"     },
    {5, 120, 40,  1, true,  "Relu"     },
    {5, 120, 40,  1, true,  "Relu"     },
    {3, 240, 80,  2, false, "HardSwish"},
    {3, 200, 80,  1, false, "HardSwish"},
    {3, 184, 80,  1, false, "HardSwish"},
    {3, 184, 80,  1, false, "HardSwish"},
    {3, 480, 112, 1, true,  "HardSwish"},
    {3, 672, 112, 1, true,  "HardSwish"},
    {5, 672, 160, 2, true,  "HardSwish"},
    {5, 960, 160, 1, true,  "HardSwish"},
    {5, 960, 160, 1, true,  "HardSwish"},
};

weft_status weft_build_mobilenet_v3_large(weft_net *net, const void *options,
                                          const weft_model_options *common)
{
    enum { N_BLOCKS = sizeof large / sizeof large[0] };
    const weft_cnn_options *o = options;
    weft_zoo z = weft_cnn_begin(net, o, common);
    int x = stem(&z, o->image, divisible(16 * o->width_mult), "HardSwish");

    for (int i = 0; i < N_BLOCKS; i++) {
        const int64_t hidden = divisible(large[i].hidden * o->width_mult);
        const inverted b = {.hidden = hidden,
                            .kernel = large[i].kernel,
                            .out = divisible(large[i].out * o->width_mult),
                            .stride = large[i].stride,
                            .squeeze = large[i].gated ? divisible((double)(hidden / 4)) : 0,
                            .act = large[i].act,
                            .gate_act = "Relu",
                            .gate = "HardSigmoid"};
        x = inverted_block(&z, x, &b);
    }
    const weft_zoo_conv last = {
        .out = 6 * weft_zoo_dim(&z, x, 1), .norm = true, .act = "HardSwish"};
    x = weft_cnn_classifier(&z, weft_zoo_conv2d(&z, x, &last), divisible(1280 * o->width_mult));
    x = weft_zoo_linear(&z, weft_zoo_act(&z, "HardSwish", x), o->classes);
    return weft_cnn_finish(&z, x, "mobilenet_v3_large", o->image);
}

weft_status weft_build_efficientnet_b0(weft_net *net, const void *options,
                                       const weft_model_options *common)
{
    static const struct {
        int expand, kernel, stride, out, n;
    } stage[] = {
        {1, 3, 1, 16,  1},
        {6, 3, 2, 24,  2},
        {6, 5, 2, 40,  2},
        {6, 3, 2, 80,  3},
        {6, 5, 1, 112, 3},
        {6, 5, 2, 192, 4},
        {6, 3, 1, 320, 1}
    };
    const weft_cnn_options *o = options;
    weft_zoo z = weft_cnn_begin(net, o, common);
    int x = stem(&z, o->image, divisible(32 * o->width_mult), "Silu");

    for (int s = 0; s < 7; s++)
        for (int i = 0; i < (int)ceil(stage[s].n * o->depth_mult); i++) {
            const int64_t in = weft_zoo_dim(&z, x, 1);
            const inverted b = {.hidden = divisible((double)(stage[s].expand * in)),
                                .kernel = stage[s].kernel,
                                .out = divisible(stage[s].out * o->width_mult),
                                .stride = i == 0 ? stage[s].stride : 1,
                                .squeeze = in < 4 ? 1 : in / 4,
                                .act = "Silu",
                                .gate_act = "Silu",
                                .gate = "Sigmoid"};
            x = inverted_block(&z, x, &b);
        }
    const weft_zoo_conv last = {.out = 4 * weft_zoo_dim(&z, x, 1), .norm = true, .act = "Silu"};
    x = weft_cnn_classifier(&z, weft_zoo_conv2d(&z, x, &last), o->classes);
    return weft_cnn_finish(&z, x, "efficientnet_b0", o->image);
}

/* --- U-Net ----------------------------------------------------------------------------------- */

enum { MAX_LEVELS = 8 };

const weft_option weft_unet_table[] = {
    WEFT_CNN_IMAGE(256),
    WEFT_CNN_ROW(channels, 1, 1, 4096, "channels of the input"),
    WEFT_CNN_CLASSES(2),
    WEFT_CNN_BN,
    WEFT_CNN_ROW(width, 64, 1, 4096, "channels of the first level"),
    WEFT_CNN_ROW(levels, 4, 1, MAX_LEVELS, "times the image is halved"),
    WEFT_OPTIONS_END,
};

static int two_convs(weft_zoo *z, int x, int64_t out)
{
    return weft_zoo_conv_relu(z, weft_zoo_conv_relu(z, x, out, 3, 1), out, 3, 1);
}

/* Twice the size, half the channels. */
static int up_conv(weft_zoo *z, int x)
{
    static const int64_t two[] = {2, 2};
    const int64_t in = weft_zoo_dim(z, x, 1), out = in / 2;
    const int64_t dim[] = {in, out, 2, 2};
    int weight = weft_zoo_weight(z, "up_conv", 4, dim);
    int bias = weft_zoo_weight(z, "up_conv_bias", 1, &out);
    weft_zoo_call call = {
        .op = "ConvTranspose", .n_args = 3, .arg = {x, weight, bias}
    };

    call.attr[call.n_attrs++] = weft_zoo_attr_ints(z, "kernel_shape", 2, two);
    call.attr[call.n_attrs++] = weft_zoo_attr_ints(z, "strides", 2, two);
    return weft_zoo_call1(z, &call);
}

weft_status weft_build_unet(weft_net *net, const void *options, const weft_model_options *common)
{
    const weft_cnn_options *o = options;
    const int64_t step = (int64_t)1 << o->levels;
    weft_zoo z = weft_cnn_begin(net, o, common);
    int skip[MAX_LEVELS];

    if (o->image % step != 0)
        return weft_fail(WEFT_E_INPUT,
                         "unet: image is %lld, must be a multiple of %lld (levels=%lld)",
                         (long long)o->image, (long long)step, (long long)o->levels);
    int x = weft_cnn_input(&z, "input", o->channels, o->image);
    for (int i = 0; i < o->levels; i++) {
        skip[i] = two_convs(&z, x, o->width << i);
        x = weft_zoo_pool(&z, "MaxPool", skip[i], 2, 2, 0);
    }
    x = two_convs(&z, x, o->width << o->levels);
    for (int i = (int)o->levels - 1; i >= 0; i--) {
        const int part[] = {skip[i], up_conv(&z, x)};
        x = two_convs(&z, weft_zoo_concat(&z, part, 2, 1), o->width << i);
    }
    const weft_zoo_conv last = {.out = o->classes};
    return weft_cnn_finish(&z, weft_zoo_conv2d(&z, x, &last), "unet", o->image);
}

/* --- faces ----------------------------------------------------------------------------------- */

enum { N_STREAMS = 3 };

static const char *const stream_name[N_STREAMS] = {"rgb", "depth", "infrared"};

const weft_option weft_casia_surf_table[] = {
    WEFT_CNN_IMAGE(112),
    WEFT_OPTIONS_END,
};

const weft_option weft_facebagnet_table[] = {
    WEFT_CNN_IMAGE(56),
    WEFT_CNN_CLASSES(3),
    WEFT_CNN_ROW(features, 92146, 0, 1 << 30,
                 "inputs of the linear layer at least, filled up with zeros"),
    WEFT_OPTIONS_END,
};

/* 3x3, no bias, Relu. Where the table's size shrinks, this is the convolution with stride 2; no
 * padding if the size is odd, so that 7 gives 3 like 14 gives 7. */
static int face_conv(weft_zoo *z, int x, int64_t out, bool halve)
{
    const int64_t pad = halve && weft_zoo_dim(z, x, 2) % 2 != 0 ? 0 : 1;
    const weft_zoo_conv c = {.out = out,
                             .kernel_h = 3,
                             .kernel_w = 3,
                             .stride = halve ? 2 : 1,
                             .pad_h = pad,
                             .pad_w = pad,
                             .no_bias = true,
                             .act = "Relu"};

    return weft_zoo_conv2d(z, x, &c);
}

/* Four convolutions, the first of which may halve the size. */
static int four_convs(weft_zoo *z, int x, int64_t out, bool halve)
{
    x = face_conv(z, x, out, halve);
    for (int i = 1; i < 4; i++)
        x = face_conv(z, x, out, false);
    return x;
}

weft_status weft_build_casia_surf(weft_net *net, const void *options,
                                  const weft_model_options *common)
{
    const weft_cnn_options *o = options;
    weft_zoo z = weft_zoo_begin(net, common);
    int part[N_STREAMS];

    for (int i = 0; i < N_STREAMS; i++) { /* L1-4, L5-8, L9-12 */
        int x = weft_cnn_input(&z, stream_name[i], 3, o->image);
        x = four_convs(&z, x, 64, false);
        x = four_convs(&z, x, 64, true);
        part[i] = four_convs(&z, x, 128, true);
    }
    int x = weft_zoo_concat(&z, part, N_STREAMS, 1); /* L13 reads 3 x 128 channels */
    x = four_convs(&z, x, 256, true);                /* L13-16 */
    x = four_convs(&z, x, 512, true);                /* L17-20 */
    return weft_cnn_finish(&z, x, "casia_surf", o->image);
}

/* The two convolutions after `first`. */
static int two_more(weft_zoo *z, int first)
{
    const int64_t out = weft_zoo_dim(z, first, 1);

    return face_conv(z, face_conv(z, first, out, false), out, false);
}

/* Results of `first` and of the two convolutions after it, concatenated. In FaceBagNet's table the
 * layer after such a group reads twice the channels that the layer before it writes: L5 (64,128,28)
 * after L4 (64,64,28), L8 (128,128,14) after L7 (64,64,28), and so on up to the linear layer; we
 * take the second half to be a skip connection around the two convolutions. */
static int joined_group(weft_zoo *z, int first)
{
    const int part[] = {two_more(z, first), first};

    return weft_zoo_concat(z, part, 2, 1);
}

/* Two groups of three convolutions of the same channels; the first one halves the size. */
static int six_convs(weft_zoo *z, int x, int64_t out)
{
    x = joined_group(z, face_conv(z, x, out, true));
    return joined_group(z, face_conv(z, x, out, false));
}

/* The result of L13 of one stream; the streams meet there, without the skip connection. */
static int bag_stream(weft_zoo *z, const char *name, int64_t image)
{
    int x = face_conv(z, weft_cnn_input(z, name, 3, image), 32, false); /* L1 */

    x = six_convs(z, x, 64);                         /* L2-7 */
    x = joined_group(z, face_conv(z, x, 128, true)); /* L8-10 */
    return two_more(z, face_conv(z, x, 128, false)); /* L11-13 */
}

/* Gives x at least `features` columns. The table's linear layer has 92146 inputs, which no
 * combination of its layers has: L25 and L23 give 2 x 512 x 3 x 3 = 9216, the rest are zeros. */
static int fill_up(weft_zoo *z, int x, int64_t features)
{
    const int64_t missing = features - weft_zoo_dim(z, x, 1);
    const int64_t pads[] = {0, 0, 0, missing};

    return missing > 0 ? weft_zoo_binary(z, "Pad", x, weft_zoo_ints(z, 4, pads)) : x;
}

weft_status weft_build_facebagnet(weft_net *net, const void *options,
                                  const weft_model_options *common)
{
    const weft_cnn_options *o = options;
    weft_zoo z = weft_zoo_begin(net, common);
    int stream[N_STREAMS];

    for (int i = 0; i < N_STREAMS; i++)
        stream[i] = bag_stream(&z, stream_name[i], o->image);
    /* L14 reads 256 channels but three streams have 384: depth and infrared are added first. */
    const int part[] = {stream[0], weft_zoo_binary(&z, "Add", stream[1], stream[2])};
    int x = weft_zoo_concat(&z, part, 2, 1);
    x = six_convs(&z, x, 256); /* L14-19 */
    x = six_convs(&z, x, 512); /* L20-25 */
    x = fill_up(&z, weft_zoo_flatten(&z, x), o->features);
    const int64_t dim[] = {o->classes, weft_zoo_dim(&z, x, 1)};
    int weight = weft_zoo_weight(&z, "linear", 2, dim);
    weft_zoo_call linear = {
        .op = "Gemm", .n_args = 2, .arg = {x, weight}
    };
    linear.attr[linear.n_attrs++] = weft_zoo_attr_int("transB", 1);
    return weft_cnn_finish(&z, weft_zoo_call1(&z, &linear), "facebagnet", o->image);
}
