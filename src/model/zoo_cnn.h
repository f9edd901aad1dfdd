/* SPDX-License-Identifier: MIT */
/* What the convolutional networks of the zoo share: their parameters, first and last layers. Each
 * network is one build function and one option table; the list is in zoo_cnn.c. */
#ifndef WEFT_ZOO_CNN_H
#define WEFT_ZOO_CNN_H

#include "zoo.h"

/* Parameters of all convolutional networks. A network's table lists those it has; the others are
 * never read. */
typedef struct weft_cnn_options {
    int64_t image, channels, classes;
    int64_t bn; /* -1: as training wants it, 0: folded, 1: kept */
    int64_t width;
    int64_t blocks1, blocks2, blocks3, blocks4;
    int64_t groups, group_width;
    int64_t growth, levels, features;
    double width_mult, depth_mult;
} weft_cnn_options;

#define WEFT_CNN_ROW(field, fallback, lowest, highest, help)                                       \
    {                                                                                              \
        WEFT_INT(weft_cnn_options, field), fallback, lowest, highest, help, NULL, NULL             \
    }
#define WEFT_CNN_SCALE(field, help)                                                                \
    {                                                                                              \
        WEFT_REAL(weft_cnn_options, field), 1, 0.05, 20, help, NULL, NULL                          \
    }
#define WEFT_CNN_IMAGE(size)                                                                       \
    WEFT_CNN_ROW(image, size, 1, 8192, "height and width of the input, in pixels")
#define WEFT_CNN_CLASSES(n) WEFT_CNN_ROW(classes, n, 1, 1 << 20, "outputs of the last layer")
#define WEFT_CNN_BN                                                                                \
    WEFT_CNN_ROW(bn, -1, -1, 1,                                                                    \
                 "batch normalisation: 1 kept, 0 folded into convolutions, -1 kept for training")

/* weft_zoo_begin, and the choice of option bn. */
weft_zoo weft_cnn_begin(weft_net *net, const weft_cnn_options *o, const weft_model_options *common);
/* batch x channels x image x image. */
int weft_cnn_input(weft_zoo *z, const char *name, int64_t channels, int64_t image);
/* Global average pooling, Flatten, Gemm. */
int weft_cnn_classifier(weft_zoo *z, int x, int64_t classes);
/* Makes x the output; a failure gets "name with image=...: " in front. */
weft_status weft_cnn_finish(weft_zoo *z, int x, const char *name, int64_t image);

typedef struct weft_cnn_window {
    const char *op; /* "MaxPool", "AveragePool" */
    int64_t kernel, stride, pad;
    bool ceil;      /* sizes are rounded up */
    bool count_pad; /* an average divides by the whole window, at the border too */
} weft_cnn_window;

int weft_cnn_pool(weft_zoo *z, int x, const weft_cnn_window *w);

/* Build functions and option tables of zoo_mobile.c. */
weft_status weft_build_mobilenet_v2(weft_net *net, const void *options,
                                    const weft_model_options *common);
weft_status weft_build_mobilenet_v3_large(weft_net *net, const void *options,
                                          const weft_model_options *common);
weft_status weft_build_efficientnet_b0(weft_net *net, const void *options,
                                       const weft_model_options *common);
weft_status weft_build_unet(weft_net *net, const void *options, const weft_model_options *common);
weft_status weft_build_casia_surf(weft_net *net, const void *options,
                                  const weft_model_options *common);
weft_status weft_build_facebagnet(weft_net *net, const void *options,
                                  const weft_model_options *common);
extern const weft_option weft_mobilenet_table[], weft_efficientnet_table[];
extern const weft_option weft_unet_table[], weft_casia_surf_table[], weft_facebagnet_table[];

#endif
