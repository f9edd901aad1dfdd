/* SPDX-License-Identifier: MIT */
/* A built-in network under construction: what scripts (models/) call that is no function of
 * theirs. */
#ifndef WEFT_ZOO_H
#define WEFT_ZOO_H

#include "model.h"
#include "script.h"

typedef struct weft_zoo {
    weft_arena *arena;
    weft_script *script;
    weft_net_builder *net; /* NULL: only the parameters are asked for */
    weft_dtype type;       /* of weights and activations */
    int n_made;            /* for unique names */
    WEFT_VEC(weft_option) option;
    WEFT_VEC(const char *) variant, size;
} weft_zoo;

/* Something that scripts call: sees the arguments, gives a value. */
typedef void weft_zoo_rule(weft_zoo *z, const weft_script_args *args, weft_script_value *out);

/* Inputs, weights, constants, and any operator of the default domain. */
weft_zoo_rule weft_zoo_input, weft_zoo_weight, weft_zoo_fixed, weft_zoo_constant, weft_zoo_dim,
    weft_zoo_operator;
weft_zoo_rule weft_zoo_layers; /* zoo_words.c */
weft_zoo_rule weft_zoo_wiring; /* zoo_random.c */

/* Argument i: 0, "" or none, and a failure of the script, if it is something else or missing. */
int64_t weft_zoo_int_of(weft_zoo *z, const weft_script_args *args, int i);
const char *weft_zoo_text_of(weft_zoo *z, const weft_script_args *args, int i);

#endif
