/* SPDX-License-Identifier: MIT */
/* What a plan of training becomes in other people's programs: arguments of Megatron-LM, a
 * configuration of DeepSpeed or torchtitan, a device map of accelerate (train_files.c). */
#ifndef WEFT_TRAIN_FILES_H
#define WEFT_TRAIN_FILES_H

#include "sim.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_train_deployment {
    const weft_train_problem *problem; /* the variant that the plan is of */
    const weft_train_plan *plan;
    const weft_plan_origin *origin;
    const int *n_layers; /* [n_blocks] transformer layers that begin in the unit */
} weft_train_deployment;

/* "megatron", "deepspeed", "torchtitan", "accelerate"; NULL: there are no more. */
const char *weft_train_format(int i);
/* The text of the file. What the format cannot say is an error that names it; what it can say only
 * nearly stands in a comment of the file. In `a`. */
WEFT_CHECKED weft_status weft_train_deploy(const char *format, const weft_train_deployment *d,
                                           weft_arena *a, const char **text);

#ifdef __cplusplus
}
#endif
#endif
