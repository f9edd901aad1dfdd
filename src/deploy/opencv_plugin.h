/* SPDX-License-Identifier: MIT */
/* What the plugin for OpenCV offers. Functions give NULL or 0 and a text where OpenCV throws. */
#ifndef WEFT_DEPLOY_OPENCV_PLUGIN_H
#define WEFT_DEPLOY_OPENCV_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_OPENCV_FILE "libweft_opencv.so"

typedef struct weft_opencv_plugin {
    const char *version;
    void *(*open)(const char *path, int n_threads, char *error, size_t size);
    void (*close)(void *net);
    int (*set_input)(void *net, const char *name, const int64_t *dim, int rank, void *data,
                     char *error, size_t size);
    /* Runs the network and copies n outputs. */
    int (*run)(void *net, int n, const char *const *name, void *const *to, const size_t *bytes,
               char *error, size_t size);
} weft_opencv_plugin;

const weft_opencv_plugin *weft_opencv(void);

#ifdef __cplusplus
}
#endif
#endif
