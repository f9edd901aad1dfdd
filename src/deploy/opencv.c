/* SPDX-License-Identifier: MIT */
/* opencv.c: OpenCV's DNN module, through a plugin that is built where OpenCV is (opencv_plugin.cpp),
 * since OpenCV has no C interface. Looked for: the folder WEFT_PLUGINS, then where libraries are. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "opencv_plugin.h"

typedef struct plugin {
    weft_opencv_plugin api;
    int n_threads;
} plugin;

typedef struct session {
    const plugin *of;
    void *net;
    int n_inputs, n_outputs, n_slots;
    weft_session_tensor *input, *output;
    const char **name; /* [n_outputs], as the next two */
    void **to;
    size_t *bytes;
} session;

static weft_status open(const weft_engine_places *where, int n_threads, void **state,
                        const char **version)
{
    weft_arena *a = weft_arena_new();
    const char *file = where->plugins != NULL && *where->plugins != '\0'
                           ? weft_arena_print(a, "%s/" WEFT_OPENCV_FILE, where->plugins)
                           : WEFT_OPENCV_FILE;
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE), *address;
    weft_status status = WEFT_OK;
    plugin *p = calloc(1, sizeof *p);
    const weft_opencv_plugin *(*get)(void);

    if (p == NULL)
        weft_out_of_memory(sizeof *p);
    address = library ? dlsym(library, "weft_opencv") : NULL;
    if (address == NULL) {
        status = weft_fail(WEFT_E_SYSTEM,
                           "OpenCV cannot be used: %s (the plugin is built with libopencv-dnn-dev; "
                           "WEFT_PLUGINS names its folder)",
                           dlerror());
        free(p);
    } else {
        memcpy(&get, &address, sizeof address);
        p->api = *get();
        p->n_threads = n_threads > 0 ? n_threads : 1;
        *version = p->api.version;
        *state = p;
    }
    weft_arena_free(a);
    return status;
}

static void unload(void *of)
{
    session *s = of;

    if (s->net != NULL)
        s->of->api.close(s->net);
    free(s->input);
    free(s->output);
    free(s->name);
    free(s->to);
    free(s->bytes);
    free(s);
}

static weft_status check_type(const weft_session_tensor *t, int n)
{
    for (int i = 0; i < n; i++)
        if (t[i].type != WEFT_F32)
            return weft_fail(WEFT_E_INPUT, "'%s' is of type %s: OpenCV takes f32 only", t[i].name,
                             weft_dtype_name(t[i].type));
    return WEFT_OK;
}

static void *zeros(int n, size_t size)
{
    void *p = calloc((size_t)n + 1, size);

    if (p == NULL)
        weft_out_of_memory(((size_t)n + 1) * size);
    return p;
}

static weft_session_tensor *copied(const weft_session_tensor *t, int n)
{
    return memcpy(zeros(n, sizeof *t), t, (size_t)n * sizeof *t);
}

static weft_status load(void *state, const weft_session_spec *spec, void **out)
{
    const plugin *p = state;
    session *s;
    char error[400] = "";

    WEFT_TRY(check_type(spec->input, spec->n_inputs));
    WEFT_TRY(check_type(spec->output, spec->n_outputs));
    s = zeros(1, sizeof *s);
    s->of = p;
    s->n_inputs = spec->n_inputs;
    s->n_outputs = spec->n_outputs;
    s->n_slots = spec->n_slots;
    s->input = copied(spec->input, spec->n_inputs);
    s->output = copied(spec->output, spec->n_outputs);
    s->name = zeros(spec->n_outputs, sizeof *s->name);
    s->to = zeros(spec->n_outputs, sizeof *s->to);
    s->bytes = zeros(spec->n_outputs, sizeof *s->bytes);
    for (int i = 0; i < spec->n_outputs; i++) {
        s->name[i] = spec->output[i].name;
        s->bytes[i] = spec->output[i].bytes;
    }
    s->net = p->api.open(spec->path, p->n_threads, error, sizeof error);
    if (s->net == NULL) {
        unload(s);
        return weft_fail(WEFT_E_INPUT, "%s: OpenCV says: %s", spec->path, error);
    }
    *out = s;
    return WEFT_OK;
}

static weft_status run(void *of, int slot)
{
    session *s = of;
    char error[400] = "";

    for (int i = 0; i < s->n_inputs; i++) {
        const weft_session_tensor *t = &s->input[i];

        if (!s->of->api.set_input(s->net, t->name, t->shape->dim, t->shape->rank, t->data[slot],
                                  error, sizeof error))
            return weft_fail(WEFT_E_INPUT, "OpenCV says: %s", error);
    }
    for (int i = 0; i < s->n_outputs; i++)
        s->to[i] = s->output[i].data[slot];
    if (!s->of->api.run(s->net, s->n_outputs, s->name, s->to, s->bytes, error, sizeof error))
        return weft_fail(WEFT_E_INPUT, "OpenCV says: %s", error);
    return WEFT_OK;
}

const weft_engine weft_engine_opencv = {
    .name = "opencv",
    .title = "OpenCV DNN",
    .most_level = 0,
    .tolerance = 1e-3,
    .open = open,
    .load = load,
    .run = run,
    .unload = unload,
};
