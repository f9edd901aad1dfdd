/* SPDX-License-Identifier: MIT */
/* zoo_words.c: layers of convolutional networks as a text of words, done from left to right:
 *
 *   64k3      3x3 convolution to 64 channels with padding 1, batch norm, activation (global act);
 *             "64" alone is 1x1, k1x7 has height 1 and width 7
 *     /2      stride; p2: padding; v: no padding; g32: groups; a final -: no activation
 *     b64k3   with a bias instead of the norm; n64k3: with neither
 *   max3/2p1  pooling, as avg; c: sizes are rounded up; i: padding counts in averages
 *   bn        batch norm, always a node, and activation
 *   gap flat fc10 fc10r    global average, flatten, linear layer, linear layer and Relu
 *   [a | b c | d]   branches that start at the same value, concatenated
 *   (a | b)         inside of these: from here on, two branches of the outer brackets
 *
 * A word is a call of a function of the language (models/layers.net) with its numbers. */
#include "zoo.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 2 };

typedef struct words {
    weft_zoo *z;
    const char *at;
    weft_script_value start[MAX_DEPTH]; /* values at which branches begin, outer brackets first */
    int n_starts;
    weft_script_value parts; /* list */
} words;

static int64_t number(words *w)
{
    char *end;
    int64_t n = strtoll(w->at, &end, 10);

    w->at = end;
    return n;
}

static bool skip(words *w, const char *text)
{
    bool is_there = strncmp(w->at, text, strlen(text)) == 0;

    w->at += is_there ? strlen(text) : 0;
    return is_there;
}

static int64_t number_after(words *w, const char *letter, int64_t fallback)
{
    return skip(w, letter) ? number(w) : fallback;
}

/* Calls the function with x and n numbers. */
static weft_script_value call(words *w, const char *name, weft_script_value x, const int64_t *value,
                              int n)
{
    weft_script_args args = {.name = name, .n = n + 1, .at = {x}};

    for (int i = 0; i < n; i++)
        args.at[i + 1] = weft_script_int(value[i]);
    return weft_script_call(w->z->script, &args);
}

static weft_script_value conv_word(words *w, weft_script_value x)
{
    bool has_bias = skip(w, "b"), has_norm = !has_bias && !skip(w, "n");
    int64_t out = number(w), height = number_after(w, "k", 1), width = number_after(w, "x", height);
    int64_t stride = number_after(w, "/", 1), pad[2] = {height / 2, width / 2}, groups;

    if (*w->at == 'p' || *w->at == 'v')
        pad[0] = pad[1] = skip(w, "v") ? 0 : number_after(w, "p", 0);
    groups = number_after(w, "g", 1);
    return call(w, "conv", x,
                (int64_t[]){out, height, width, stride, pad[0], pad[1], groups, has_norm, has_bias,
                            !skip(w, "-")},
                10);
}

static weft_script_value pool_word(words *w, const char *name, weft_script_value x)
{
    const int64_t kernel = number(w), stride = number_after(w, "/", 1);
    const int64_t pad = number_after(w, "p", 0), is_ceil = skip(w, "c"), counts = skip(w, "i");

    return call(w, name, x, (int64_t[]){kernel, stride, pad, is_ceil, counts}, 5);
}

static weft_script_value layer_word(words *w, weft_script_value x)
{
    static const char *const plain[][2] = {
        {"gap",  "GlobalAveragePool"},
        {"flat", "flatten"          },
        {"bn",   "norm_act"         },
    };

    if (skip(w, "max"))
        return pool_word(w, "max_pool", x);
    if (skip(w, "avg"))
        return pool_word(w, "average_pool", x);
    for (int i = 0; i < 3; i++)
        if (skip(w, plain[i][0]))
            return call(w, plain[i][1], x, NULL, 0);
    if (!skip(w, "fc"))
        return conv_word(w, x);
    x = call(w, "linear", x, (int64_t[]){number(w)}, 1);
    return skip(w, "r") ? call(w, "Relu", x, NULL, 0) : x;
}

/* A bracket or the line between two branches. */
static weft_script_value branch_word(words *w, weft_script_value x)
{
    char mark = *w->at++;

    if (mark == '[' || mark == '(')
        w->start[w->n_starts++] = x;
    if (mark == '|' || mark == ']')
        weft_script_push(w->z->script, w->parts, x);
    if (mark == '|')
        return w->start[w->n_starts - 1];
    if (mark == ']' || mark == ')')
        w->n_starts--;
    if (mark != ']')
        return x;
    x = call(w, "concat", w->parts, NULL, 0);
    w->parts = weft_script_list_new(w->z->script);
    return x;
}

/* layers(x, text) */
void weft_zoo_layers(weft_zoo *z, const weft_script_args *args, weft_script_value *out)
{
    words w = {
        .z = z, .at = weft_zoo_text_of(z, args, 1), .parts = weft_script_list_new(z->script)};

    *out = args->at[0];
    while (*w.at != '\0' && !weft_script_is_over(z->script)) {
        if (*w.at == ' ' || *w.at == '\n')
            w.at++;
        else
            *out = strchr("[]()|", *w.at) ? branch_word(&w, *out) : layer_word(&w, *out);
    }
}
