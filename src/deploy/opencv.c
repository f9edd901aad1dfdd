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
    weft_arena *a; /* of all of it */
    const plugin *of;
    void *net;
    weft_session_spec spec;
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
    weft_arena_free(s->a);
}

static weft_status check_type(const weft_session_tensor *t, int n)
{
    for (int i = 0; i < n; i++)
        if (t[i].type != WEFT_F32)
            return weft_fail(WEFT_E_INPUT, "'%s' is of type %s: OpenCV takes f32 only", t[i].name,
                             weft_dtype_name(t[i].type));
    return WEFT_OK;
}

static session *new_session(const plugin *p, const weft_session_spec *spec)
{
    weft_arena *a = weft_arena_new();
    session *s = WEFT_NEW(a, session, 1);

    s->a = a;
    s->of = p;
    s->spec = weft_session_spec_copy(spec, a);
    s->name = WEFT_NEW(a, const char *, spec->n_outputs + 1);
    s->to = WEFT_NEW(a, void *, spec->n_outputs + 1);
    s->bytes = WEFT_NEW(a, size_t, spec->n_outputs + 1);
    for (int i = 0; i < spec->n_outputs; i++) {
        s->name[i] = spec->output[i].name;
        s->bytes[i] = spec->output[i].bytes;
    }
    return s;
}

static weft_status load(void *state, const weft_session_spec *spec, void **out)
{
    const plugin *p = state;
    session *s;
    char error[400] = "";

    WEFT_TRY(check_type(spec->input, spec->n_inputs));
    WEFT_TRY(check_type(spec->output, spec->n_outputs));
    s = new_session(p, spec);
    s->net = p->api.open(spec->path, p->n_threads, error, sizeof error);
    *out = s;
    if (s->net != NULL)
        return WEFT_OK;
    unload(s);
    return weft_fail(WEFT_E_INPUT, "%s: OpenCV says: %s", spec->path, error);
}

static weft_status run(void *of, int slot)
{
    session *s = of;
    char error[400] = "";

    for (int i = 0; i < s->spec.n_inputs; i++) {
        const weft_session_tensor *t = &s->spec.input[i];

        if (!s->of->api.set_input(s->net, t->name, t->shape->dim, t->shape->rank, t->data[slot],
                                  error, sizeof error))
            return weft_fail(WEFT_E_INPUT, "OpenCV says: %s", error);
    }
    for (int i = 0; i < s->spec.n_outputs; i++)
        s->to[i] = s->spec.output[i].data[slot];
    if (!s->of->api.run(s->net, s->spec.n_outputs, s->name, s->to, s->bytes, error, sizeof error))
        return weft_fail(WEFT_E_INPUT, "OpenCV says: %s", error);
    return WEFT_OK;
}

const weft_engine weft_engine_opencv = {
    .name = "opencv",
    .title = "OpenCV DNN",
    .most_level = 0,
    .tolerance = 1e-3,
    WEFT_ENGINE_FUNCTIONS,
};
