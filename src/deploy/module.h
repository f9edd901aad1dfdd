/* SPDX-License-Identifier: MIT */
/* Modules of PyTorch in the names of nodes. */
#ifndef WEFT_DEPLOY_MODULE_H
#define WEFT_DEPLOY_MODULE_H

#include "base.h"

/* The module that a node was exported from, "layer1.0.conv1" of "/layer1/layer1.0/conv1/Conv"; "":
 * the name does not say. */
const char *weft_module_of(const char *node, weft_arena *a);

#endif
