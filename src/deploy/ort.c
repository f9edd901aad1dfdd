/* SPDX-License-Identifier: MIT */
/* ort.c: ONNX Runtime, the only file that knows it. Nothing of it is needed to build weft.
 *
 * The library exports one function, which gives a table of functions. The table only grows: a
 * function keeps its place from version to version, so that places are all that is declared here.
 * Version 12 of the table is asked for, which libraries since 1.12 have.
 *
 * Looked for: WEFT_ORT; the system's library; pip's packages; npm's packages of the current folder
 * and those above it. */
#define _GNU_SOURCE /* glob */
#include <dlfcn.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "engine.h"

enum { API_VERSION = 12, MOST_ABOVE = 8 };

/* Places in the table of functions. */
enum {
    GET_ERROR_MESSAGE = 2,
    CREATE_ENV = 3,
    CREATE_SESSION = 7,
    RUN = 9,
    CREATE_SESSION_OPTIONS = 10,
    SET_OPTIMIZED_MODEL_FILE_PATH = 11,
    SET_GRAPH_OPTIMIZATION_LEVEL = 23,
    SET_INTRA_OP_NUM_THREADS = 24,
    SET_INTER_OP_NUM_THREADS = 25,
    CREATE_TENSOR_WITH_DATA = 49,
    CREATE_CPU_MEMORY_INFO = 69,
    RELEASE_STATUS = 93,
    RELEASE_SESSION = 95,
    RELEASE_VALUE = 96,
    RELEASE_SESSION_OPTIONS = 100,
    ADD_SESSION_CONFIG_ENTRY = 130,
};

typedef void (*slot)(void);
typedef struct OrtStatus OrtStatus;
typedef struct OrtEnv OrtEnv;
typedef struct OrtSession OrtSession;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtValue OrtValue;
typedef struct OrtMemoryInfo OrtMemoryInfo;

typedef struct api_base {
    const slot *(*get_api)(uint32_t version);
    const char *(*get_version)(void);
} api_base;

typedef struct runtime {
    const slot *api;
    OrtEnv *env;
    OrtMemoryInfo *memory;
    int n_threads;
    char version[64];
} runtime;

typedef struct session {
    weft_arena *a; /* of all of it */
    const runtime *r;
    OrtSession *of;
    int n_inputs, n_outputs, n_slots;
    const char **input_name, **output_name;
    OrtValue **input, **output; /* [slot * n + i] */
} session;

typedef OrtStatus *(*create_env_f)(int level, const char *id, OrtEnv **out);
typedef OrtStatus *(*create_session_f)(const OrtEnv *env, const char *path,
                                       const OrtSessionOptions *o, OrtSession **out);
typedef OrtStatus *(*run_f)(OrtSession *s, const void *options, const char *const *input_names,
                            const OrtValue *const *inputs, size_t n_inputs,
                            const char *const *output_names, size_t n_outputs, OrtValue **outputs);
typedef OrtStatus *(*create_options_f)(OrtSessionOptions **out);
typedef OrtStatus *(*set_path_f)(OrtSessionOptions *o, const char *path);
typedef OrtStatus *(*set_int_f)(OrtSessionOptions *o, int value);
typedef OrtStatus *(*set_entry_f)(OrtSessionOptions *o, const char *key, const char *value);
typedef OrtStatus *(*create_tensor_f)(const OrtMemoryInfo *info, void *data, size_t bytes,
                                      const int64_t *shape, size_t rank, int type, OrtValue **out);
typedef OrtStatus *(*create_memory_f)(int allocator, int memory, OrtMemoryInfo **out);
typedef const char *(*get_message_f)(const OrtStatus *s);
typedef void (*release_f)(void *object);

/* --- errors ---------------------------------------------------------------------------------- */

static void release(const runtime *r, int place, void *object)
{
    if (object != NULL)
        ((release_f)r->api[place])(object);
}

/* Its messages may have several lines. */
static weft_status check(const runtime *r, OrtStatus *s, const char *what)
{
    char text[600];
    size_t n;

    if (s == NULL)
        return WEFT_OK;
    snprintf(text, sizeof text, "%s", ((get_message_f)r->api[GET_ERROR_MESSAGE])(s));
    release(r, RELEASE_STATUS, s);
    n = strcspn(text, "\r\n");
    text[n] = '\0';
    return weft_fail(WEFT_E_INPUT, "%s: ONNX Runtime says: %s", what, text);
}

/* --- the library ----------------------------------------------------------------------------- */

static void *open_library(const char *path)
{
    return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

static void *open_pattern(const char *pattern)
{
    void *library = NULL;
    glob_t found;

    if (glob(pattern, 0, NULL, &found) != 0)
        return NULL;
    for (size_t i = 0; i < found.gl_pathc && library == NULL; i++)
        library = open_library(found.gl_pathv[i]);
    globfree(&found);
    return library;
}

static void *find_pip(const weft_engine_places *where, weft_arena *a)
{
    static const char tail[] = "lib/python3*/%s-packages/onnxruntime/capi/libonnxruntime.so*";
    const char *folder[] = {where->virtual_env,
                            weft_arena_print(a, "%s/.local", where->home ? where->home : ""),
                            "/usr/local", "/usr"};
    static const char *const kind[] = {"site", "dist"};
    void *library = NULL;

    for (size_t i = 0; i < sizeof folder / sizeof *folder && library == NULL; i++)
        for (int k = 0; k < 2 && library == NULL && folder[i] != NULL; k++) {
            const char *end = weft_arena_print(a, "%.*s%s%s", (int)(strstr(tail, "%s") - tail),
                                               tail, kind[k], strstr(tail, "%s") + 2);

            library = open_pattern(weft_arena_print(a, "%s/%s", folder[i], end));
        }
    return library;
}

static void *find_npm(weft_arena *a)
{
    const char *above = "", *folder;
    void *library = NULL;
    struct utsname machine;

    folder = uname(&machine) == 0 && strcmp(machine.machine, "aarch64") == 0 ? "arm64" : "x64";
    for (int i = 0; i <= MOST_ABOVE && library == NULL; i++) {
        library = open_pattern(weft_arena_print(
            a, "%snode_modules/onnxruntime-node/bin/napi-v*/linux/%s/libonnxruntime.so*", above,
            folder));
        above = weft_arena_print(a, "../%s", above);
    }
    return library;
}

static weft_status find_library(const weft_engine_places *where, void **out)
{
    weft_arena *a;

    if (where->ort != NULL && *where->ort != '\0') {
        *out = open_library(where->ort);
        return *out != NULL ? WEFT_OK
                            : weft_fail(WEFT_E_SYSTEM, "WEFT_ORT: '%s' cannot be loaded: %s",
                                        where->ort, dlerror());
    }
    a = weft_arena_new();
    *out = open_library("libonnxruntime.so.1");
    if (*out == NULL)
        *out = open_library("libonnxruntime.so");
    if (*out == NULL)
        *out = find_pip(where, a);
    if (*out == NULL)
        *out = find_npm(a);
    weft_arena_free(a);
    return *out != NULL
               ? WEFT_OK
               : weft_fail(WEFT_E_SYSTEM,
                           "ONNX Runtime is not found: install it (npm install onnxruntime-node, "
                           "pip install onnxruntime), or set WEFT_ORT to libonnxruntime.so");
}

static weft_status get_api(runtime *r, void *library)
{
    void *address = dlsym(library, "OrtGetApiBase");
    const api_base *(*get_base)(void);
    const api_base *base;

    if (address == NULL)
        return weft_fail(WEFT_E_SYSTEM, "ONNX Runtime: the library has no OrtGetApiBase");
    memcpy(&get_base, &address, sizeof address);
    base = get_base();
    snprintf(r->version, sizeof r->version, "%s", base->get_version());
    r->api = base->get_api(API_VERSION);
    return r->api != NULL
               ? WEFT_OK
               : weft_fail(WEFT_E_SYSTEM, "ONNX Runtime %s is too old, expected 1.12 or later",
                           r->version);
}

static weft_status open(const weft_engine_places *where, int n_threads, void **state,
                        const char **version)
{
    enum { NOTHING_LESS_THAN_FATAL = 4, DEVICE_ALLOCATOR = 0, DEFAULT_MEMORY = 0 };
    runtime *r = calloc(1, sizeof *r);
    void *library;

    if (r == NULL)
        weft_out_of_memory(sizeof *r);
    *state = r;
    r->n_threads = n_threads > 0 ? n_threads : 1;
    WEFT_TRY(find_library(where, &library));
    WEFT_TRY(get_api(r, library));
    *version = r->version;
    WEFT_TRY(check(r, ((create_env_f)r->api[CREATE_ENV])(NOTHING_LESS_THAN_FATAL, "weft", &r->env),
                   "start"));
    return check(r,
                 ((create_memory_f)r->api[CREATE_CPU_MEMORY_INFO])(DEVICE_ALLOCATOR, DEFAULT_MEMORY,
                                                                   &r->memory),
                 "start");
}

/* --- sessions -------------------------------------------------------------------------------- */

static weft_status set_options(const runtime *r, OrtSessionOptions *o, int level)
{
    WEFT_TRY(check(r, ((set_int_f)r->api[SET_INTRA_OP_NUM_THREADS])(o, r->n_threads), "threads"));
    WEFT_TRY(check(r, ((set_int_f)r->api[SET_INTER_OP_NUM_THREADS])(o, 1), "threads"));
    return check(r, ((set_int_f)r->api[SET_GRAPH_OPTIMIZATION_LEVEL])(o, level), "level");
}

static weft_status make_options(const runtime *r, const weft_session_spec *spec,
                                OrtSessionOptions **out)
{
    WEFT_TRY(check(r, ((create_options_f)r->api[CREATE_SESSION_OPTIONS])(out), "options"));
    WEFT_TRY(set_options(r, *out, spec->level));
    for (int i = 0; i < spec->n_keys; i++)
        WEFT_TRY(check(r,
                       ((set_entry_f)r->api[ADD_SESSION_CONFIG_ENTRY])(*out, spec->key[i].name,
                                                                       spec->key[i].value),
                       spec->key[i].name));
    return WEFT_OK;
}

static weft_status make_values(session *s, const weft_session_tensor *t, int n, OrtValue **to,
                               const char **name)
{
    const runtime *r = s->r;

    for (int i = 0; i < n; i++) {
        name[i] = t[i].name;
        for (int k = 0; k < s->n_slots; k++)
            WEFT_TRY(check(r,
                           ((create_tensor_f)r->api[CREATE_TENSOR_WITH_DATA])(
                               r->memory, t[i].data[k], t[i].bytes, t[i].shape->dim,
                               (size_t)t[i].shape->rank, (int)t[i].type, &to[k * n + i]),
                           t[i].name));
    }
    return WEFT_OK;
}

static void unload(void *of)
{
    session *s = of;

    for (int i = 0; i < s->n_slots * s->n_inputs; i++)
        release(s->r, RELEASE_VALUE, s->input[i]);
    for (int i = 0; i < s->n_slots * s->n_outputs; i++)
        release(s->r, RELEASE_VALUE, s->output[i]);
    release(s->r, RELEASE_SESSION, s->of);
    weft_arena_free(s->a);
}

static session *new_session(const runtime *r, const weft_session_spec *spec)
{
    weft_arena *a = weft_arena_new();
    session *s = WEFT_NEW(a, session, 1);

    s->a = a;
    s->r = r;
    s->n_inputs = spec->n_inputs;
    s->n_outputs = spec->n_outputs;
    s->n_slots = spec->n_slots;
    s->input_name = WEFT_NEW(a, const char *, spec->n_inputs + 1);
    s->output_name = WEFT_NEW(a, const char *, spec->n_outputs + 1);
    s->input = WEFT_NEW(a, OrtValue *, spec->n_inputs * spec->n_slots + 1);
    s->output = WEFT_NEW(a, OrtValue *, spec->n_outputs * spec->n_slots + 1);
    return s;
}

static weft_status load(void *state, const weft_session_spec *spec, void **out)
{
    const runtime *r = state;
    OrtSessionOptions *options = NULL;
    session *s = new_session(r, spec);
    weft_status status = make_options(r, spec, &options);

    if (status == WEFT_OK)
        status = check(
            r, ((create_session_f)r->api[CREATE_SESSION])(r->env, spec->path, options, &s->of),
            spec->path);
    release(r, RELEASE_SESSION_OPTIONS, options);
    if (status == WEFT_OK)
        status = make_values(s, spec->input, spec->n_inputs, s->input, s->input_name);
    if (status == WEFT_OK)
        status = make_values(s, spec->output, spec->n_outputs, s->output, s->output_name);
    if (status != WEFT_OK)
        unload(s);
    else
        *out = s;
    return status;
}

static weft_status run(void *of, int k)
{
    session *s = of;
    const runtime *r = s->r;
    OrtStatus *status = ((run_f)r->api[RUN])(
        s->of, NULL, s->input_name, (const OrtValue *const *)(s->input + k * s->n_inputs),
        (size_t)s->n_inputs, s->output_name, (size_t)s->n_outputs, s->output + k * s->n_outputs);

    return status == NULL ? WEFT_OK : check(r, status, "run");
}

static weft_status normalise(void *state, const char *from, int level, const char *to)
{
    const runtime *r = state;
    OrtSessionOptions *options = NULL;
    OrtSession *of = NULL;
    weft_status status =
        check(r, ((create_options_f)r->api[CREATE_SESSION_OPTIONS])(&options), "options");

    if (status == WEFT_OK)
        status = set_options(r, options, level);
    if (status == WEFT_OK)
        status = check(r, ((set_path_f)r->api[SET_OPTIMIZED_MODEL_FILE_PATH])(options, to), to);
    if (status == WEFT_OK)
        status =
            check(r, ((create_session_f)r->api[CREATE_SESSION])(r->env, from, options, &of), from);
    release(r, RELEASE_SESSION, of);
    release(r, RELEASE_SESSION_OPTIONS, options);
    return status;
}

const weft_engine weft_engine_ort = {
    .name = "ort",
    .title = "ONNX Runtime",
    .most_level = 2,
    .tolerance = 1e-4,
    WEFT_ENGINE_FUNCTIONS,
    .normalise = normalise,
};
