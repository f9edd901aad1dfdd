/* SPDX-License-Identifier: MIT */
/* Language models that are described, not stored: config.json of Hugging Face and heads of GGUF files, as
 * a built-in model with parameters. */
#ifndef WEFT_LANGUAGE_CONFIG_H
#define WEFT_LANGUAGE_CONFIG_H

#include "model.h"

enum { WEFT_CONFIG_WARNINGS = 3 };

typedef struct weft_language_config {
    const char *base;       /* the built-in model */
    const char *parameters; /* its parameters: "layers=32,hidden=4096,seq=512" */
    const char *name;       /* of the folder of config.json, or of the GGUF file */
    const char *origin;     /* "config.json, model_type llama" */
    weft_dtype dtype;       /* of its weights; WEFT_TYPE_UNKNOWN if that is not said */
    int n_warnings;
    const char *warning[WEFT_CONFIG_WARNINGS];
} weft_language_config;

/* Reads "folder/config.json", "model.gguf", or either with more parameters: "config.json:seq=512".
 * What is returned lives in `a`. */
WEFT_CHECKED weft_status weft_language_config_read(const char *source, weft_arena *a,
                                                   weft_language_config *out);

#endif
