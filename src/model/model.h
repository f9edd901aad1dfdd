/* SPDX-License-Identifier: MIT */
/* Where networks come from: ONNX files and the built-in models. */
#ifndef WEFT_MODEL_H
#define WEFT_MODEL_H

#include "ops.h"
#include "platform.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_dim_binding {
    const char *name; /* of a symbolic dimension in the file */
    int64_t size;
} weft_dim_binding;

/* Machines for a file of tasks that names none: processors that are connected alike. All zero: the
 * user says nothing. */
typedef struct weft_task_machines {
    int n_processors;
    int n_speeds; /* 0: all are equal */
    const double *speed;
    double bytes_per_s;     /* INFINITY: bytes take no time; 0: not said */
    double communication_s; /* of each transfer, before its bytes */
    bool is_optional;       /* said of several files: those that have their own do without */
} weft_task_machines;

/* An input that stays on its device between items, and the output that takes its place: names, in
 * which '*' stands for any text, the same in both. */
typedef struct weft_state_pattern {
    const char *past;
    const char *present; /* NULL: by the usual names, or none */
} weft_state_pattern;

enum { WEFT_MOST_SHARES = 4 };

typedef struct weft_model_options {
    int64_t batch;    /* 0: as in the file, or 1 for built-in models */
    weft_dtype dtype; /* element type of all floating-point tensors; WEFT_TYPE_UNKNOWN: as given */
    bool train;       /* add backward and optimizer nodes */
    weft_optimizer optimizer;
    int n_dims;
    const weft_dim_binding *dim;
    weft_software software; /* what becomes one kernel */
    bool has_software;      /* the user has said so; else the platform says it */
    weft_task_machines machines;
    bool
        keeps_states; /* inputs that stay on their device between items are marked as WEFT_STATE: */
    /* Samples of the shares that a placement cuts the batch in (problem/shares.c); the network
     * itself is that of the whole batch. n 0: it is not cut. */
    int n_shares;
    int64_t share[WEFT_MOST_SHARES];
    bool no_states; /* none, */
    int n_states;   /* those that the user names; 0: those with the usual names */
    const weft_state_pattern *state;
} weft_model_options;

/* The options with the software that is meant: the user's, else the platform's (NULL: graph). */
weft_model_options weft_model_options_on(const weft_model_options *o, const weft_platform *p);

/* A tensor of the source, also of nodes that were folded away. */
typedef struct weft_source_tensor {
    const char *name;
    weft_dtype type;
    const weft_shape *shape;
} weft_source_tensor;

typedef struct weft_model {
    weft_graph *graph;
    const char *name;   /* of the network: file name without folder and ending, or built-in name */
    const char *source; /* as the user named it */
    const char *origin; /* "ONNX, opset 13, pytorch 1.13.0" or "built-in" */
    int n_nodes;        /* as in the source, before anything was folded */
    int64_t n_parameters; /* elements of floating-point initializers */
    int64_t n_constants;  /* elements in Constant nodes */
    int n_tensors;        /* graph inputs and every node's results */
    const weft_source_tensor *tensor;
    weft_dim_binding batch_dim; /* the --dim that gives the batch; size 0: none does */
    int n_warnings;
    const char *const *warning;
    weft_arena *arena;
} weft_model;

/* Reads "past_*=present_*" or "memory"; what is returned points into a copy in `a`. */
WEFT_CHECKED weft_status weft_state_read(const char *text, weft_arena *a, weft_state_pattern *out);
/* The same as text, in `a`. */
const char *weft_state_text(const weft_state_pattern *s, weft_arena *a);

/* Opens an ONNX file (anything with a '/' or that ends in ".onnx"), a built-in model
 * ("gpt2:layers=48,hidden=1600"), or a file that describes one ("config.json", "model.gguf:seq=512").
 * NULL options: defaults. The caller owns *out. */
WEFT_CHECKED weft_status weft_model_open(const char *source, const weft_model_options *options,
                                         weft_model **out);
/* [n_nodes] products of attention of which a causal mask of a built-in network hides half, whatever
 * software runs them. In `a`. */
const bool *weft_model_masked(const weft_graph *g, weft_arena *a);
/* Is it an ONNX file that the user names, or a built-in model? */
bool weft_model_is_file(const char *source);
/* Is it a file that describes a built-in model: config.json of Hugging Face, or GGUF? */
bool weft_model_is_config(const char *source);
void weft_model_free(weft_model *m); /* NULL is allowed; frees the graph */

/* The ONNX reader on bytes in memory; external weight files are not looked for. `file` is used in
 * messages. */
WEFT_CHECKED weft_status weft_onnx_import(const void *data, size_t size, const char *file,
                                          const weft_model_options *options, weft_model **out);

/* --- ONNX documents, as stored: what the importer reads and the writer writes ---------------- */

typedef struct weft_onnx weft_onnx;

/* Opens and maps a file; weights are never touched. The caller owns *out. */
WEFT_CHECKED weft_status weft_onnx_open(const char *path, weft_onnx **out);
/* Reads bytes that the caller keeps alive. */
WEFT_CHECKED weft_status weft_onnx_read(const void *data, size_t size, const char *file,
                                        weft_onnx **out);
void weft_onnx_free(weft_onnx *o);
/* The document as bytes (weights included, copied from the mapping) in `a`. */
WEFT_CHECKED weft_status weft_onnx_bytes(const weft_onnx *o, weft_arena *a, const uint8_t **data,
                                         size_t *size);
/* Writes it to a file, whole or not at all. */
WEFT_CHECKED weft_status weft_onnx_write(const weft_onnx *o, const char *path);

/* --- notes on nodes, for viewers of ONNX files ----------------------------------------------- */

#define WEFT_NOTE_PREFIX "weft." /* of keys: what begins so is ours, and replaced by new notes */

typedef struct weft_note {
    const char *key, *value;
} weft_note;

/* What is said of nodes and of the model as a whole. */
typedef struct weft_notes {
    int n_nodes;
    const char *const *result; /* [n_nodes] name of a result of the node, */
    const char *const *op; /* and its operator: a call of a function is not what it unfolds to */
    const int *note_at;    /* [n_nodes + 1] notes of node u: note_at[u] .. note_at[u + 1] - 1 */
    const weft_note *note;
    int n_model;
    const weft_note *model; /* [n_model] */
} weft_notes;

typedef struct weft_annotated {
    int n_nodes, n_noted; /* of the main graph; those that have notes */
    const char *external; /* a file with weights, relative to the folder of the model; NULL: none */
    int n_parts;          /* the copy: */
    const weft_bytes *part; /* bytes of the document and, in between, of the arena */
} weft_annotated;

/* A copy of an ONNX document with notes in the metadata_props of the nodes of its main graph and of
 * the model; everything else stays byte for byte. `document` must outlive the parts. */
WEFT_CHECKED weft_status weft_onnx_annotate(weft_bytes document, const char *file,
                                            const weft_notes *notes, weft_arena *a,
                                            weft_annotated *out);
/* The same of a model as the user names it, written to a file. Built-in models have no weights:
 * these are left out. The parts are gone when it returns. */
WEFT_CHECKED weft_status weft_model_annotate(const char *source, const weft_model_options *options,
                                             const weft_notes *notes, const char *path,
                                             weft_arena *a, weft_annotated *out);
/* A network without training as an ONNX document, in `a`; of constants, only small ones have their
 * elements. */
WEFT_CHECKED weft_status weft_onnx_of_graph(const weft_graph *g, weft_arena *a,
                                            const uint8_t **data, size_t *size);

/* --- built-in models ------------------------------------------------------------------------- */

/* Scripts of models/, part of the library; whatever is returned lives in `a`. */
typedef struct weft_zoo_model {
    const char *name, *summary;
    const char *variants;       /* "small|medium|large|xl" as in "gpt2:xl", NULL if it has none */
    const weft_option *options; /* parameters, with defaults */
} weft_zoo_model;

/* Adds the network to an empty net. `parameters` as on the command line: "xl,seq=512". */
WEFT_CHECKED weft_status weft_zoo_build(const char *name, const char *parameters,
                                        const weft_model_options *common, weft_net_builder *net);
/* Names, in the order in which they are listed; returns how many. */
int weft_zoo_list(weft_arena *a, const char *const **names);
bool weft_zoo_find(const char *name, weft_arena *a, weft_zoo_model *out); /* false: none */
bool weft_zoo_has(const char *name);

#ifdef __cplusplus
}
#endif
#endif
