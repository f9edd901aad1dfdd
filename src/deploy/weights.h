/* SPDX-License-Identifier: MIT */
/* Weights in files beside a model. */
#ifndef WEFT_DEPLOY_WEIGHTS_H
#define WEFT_DEPLOY_WEIGHTS_H

#include "onnx.h"

typedef struct weft_weight_files {
    WEFT_VEC(const char *) name; /* relative to the folder */
} weft_weight_files;

/* Gives the folder a second name of each file that the document keeps weights in (a hard link), or a
 * copy where the file system has none. A file of that name that is there already stays. Names of new
 * ones go to `out`. */
WEFT_CHECKED weft_status weft_weights_bring(const weft_onnx *doc, const char *model,
                                            const char *folder, weft_arena *a,
                                            weft_weight_files *out);

#endif
