/* SPDX-License-Identifier: MIT */
/* The small language in which the built-in networks are written (models/README.md). */
#ifndef WEFT_SCRIPT_H
#define WEFT_SCRIPT_H

#include "base.h"

typedef enum weft_script_kind {
    WEFT_SCRIPT_NONE,
    WEFT_SCRIPT_INT,
    WEFT_SCRIPT_REAL,
    WEFT_SCRIPT_TEXT,
    WEFT_SCRIPT_TENSOR, /* a value number of the net, in `i` */
    WEFT_SCRIPT_LIST,
} weft_script_kind;

typedef struct weft_script_list weft_script_list;

typedef struct weft_script_value {
    weft_script_kind kind;
    int64_t i;
    double f; /* of numbers, whole ones too */
    const char *text;
    weft_script_list *list; /* shared by all that hold it */
} weft_script_value;

struct weft_script_list {
    WEFT_VEC(weft_script_value) item;
};

enum { WEFT_SCRIPT_ARGS = 20 };

/* One call: first the arguments by place, then those by name. */
typedef struct weft_script_args {
    const char *name; /* of what is called */
    int n, n_named;
    weft_script_value at[WEFT_SCRIPT_ARGS];
    const char *key[WEFT_SCRIPT_ARGS]; /* of argument n + i */
} weft_script_args;

typedef struct weft_script weft_script;

/* What is no function of the language: false if there is no such thing. */
typedef bool (*weft_script_hook)(void *context, const weft_script_args *args,
                                 weft_script_value *out);

/* Everything lives in `a`. Texts end with NUL and stay as they are. */
weft_script *weft_script_new(weft_arena *a, weft_script_hook hook, void *context);
void weft_script_add(weft_script *s, const char *file, const char *text);

/* The i-th "model NAME TEXT" of all texts, in order; false: there are not so many. */
bool weft_script_model(weft_script *s, int i, const char **name, const char **summary);
/* Does what stands before the block of the model; then the block, whose value it is. */
WEFT_CHECKED weft_status weft_script_declare(weft_script *s, int model);
WEFT_CHECKED weft_status weft_script_run(weft_script *s, weft_script_value *out);
/* A function of the language, called from outside. */
weft_script_value weft_script_call(weft_script *s, const weft_script_args *args);

void weft_script_set(weft_script *s, const char *name, weft_script_value value); /* a global */
weft_script_value weft_script_get(weft_script *s, const char *name);             /* or none */

/* The first failure stops the script. Status and message may come from outside. */
void weft_script_stop(weft_script *s, weft_status status);
bool weft_script_is_over(const weft_script *s);

weft_script_value weft_script_int(int64_t value);
weft_script_value weft_script_real(double value);
weft_script_value weft_script_text(const char *value);
weft_script_value weft_script_tensor(int value);
weft_script_value weft_script_list_new(weft_script *s);
void weft_script_push(weft_script *s, weft_script_value list, weft_script_value item);

#endif
