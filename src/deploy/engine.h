/* SPDX-License-Identifier: MIT */
/* What runs networks on this machine: a row for each engine.
 *
 * An engine is opened in the process of one device, after it was forked: libraries with threads do
 * not survive a fork. A session is a network with a place in memory for each input and output; it
 * may have several such places (slots), for items of a stream. */
#ifndef WEFT_DEPLOY_ENGINE_H
#define WEFT_DEPLOY_ENGINE_H

#include "base.h"
#include "graph.h"

/* Where libraries may be: what the environment of the user says; NULL: nothing. */
typedef struct weft_engine_places {
    const char *ort;         /* WEFT_ORT: the library of ONNX Runtime */
    const char *home;        /* HOME */
    const char *virtual_env; /* VIRTUAL_ENV */
    const char *plugins;     /* WEFT_PLUGINS: folder with libweft_opencv.so */
} weft_engine_places;

/* An input or an output of a session. */
typedef struct weft_session_tensor {
    const char *name;
    weft_dtype type;
    const weft_shape *shape;
    size_t bytes;
    void *const *data; /* [n_slots] */
} weft_session_tensor;

typedef struct weft_session_key {
    const char *name, *value;
} weft_session_key;

typedef struct weft_session_spec {
    const char *path; /* of the ONNX file */
    int level;        /* of the runtime's own optimisations: 0, 1, 2, 99 */
    double paced_s;   /* for the engine `paced` */
    int n_slots, n_inputs, n_outputs;
    const weft_session_tensor *input, *output;
    int n_keys;
    const weft_session_key *key; /* of ONNX Runtime */
} weft_session_spec;

typedef struct weft_engine {
    const char *name, *title;
    int most_level;   /* of normalised files that it reads; -1: it has none of its own */
    double tolerance; /* of the largest output, against another engine; 0: its results are exact */
    /* Loads what it needs. *state and *version are valid until the process ends. */
    weft_status (*open)(const weft_engine_places *where, int n_threads, void **state,
                        const char **version);
    weft_status (*load)(void *state, const weft_session_spec *spec, void **session);
    weft_status (*run)(void *session, int slot);
    void (*unload)(void *session);
    /* Writes the network as the runtime has optimised it; NULL: it cannot. */
    weft_status (*normalise)(void *state, const char *from, int level, const char *to);
} weft_engine;

/* Each engine is a file with functions of these names. */
#define WEFT_ENGINE_FUNCTIONS .open = open, .load = load, .run = run, .unload = unload

/* With places of its own, for sessions that outlive the caller's. Names and shapes are not copied. */
weft_session_spec weft_session_spec_copy(const weft_session_spec *spec, weft_arena *a);

int weft_engine_count(void);
const weft_engine *weft_engine_at(int i);
/* An unknown name is an error that lists the known ones. */
WEFT_CHECKED weft_status weft_engine_find(const char *name, const weft_engine **out);

extern const weft_engine weft_engine_ort, weft_engine_paced, weft_engine_opencv;

#endif
