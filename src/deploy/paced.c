/* SPDX-License-Identifier: MIT */
/* paced.c: an engine without a library. It takes the time it is told and computes nothing, but its
 * results depend on everything that real ones would depend on.
 *
 * The value of a tensor is a number of 64 bits: of weights, that of name, type and shape; of results,
 * that of the operator, its attributes and the values of its operands. A tensor in memory begins
 * with its value, and the rest follows from it; one that does not (an input of the network, or bytes
 * that nobody has written) has the hash of its bytes as value. So a split network gives the bits of
 * the whole one if and only if every tensor went where it should, in time.
 *
 * A run ends when its time is over, counted from its begin, or later if its bytes take longer. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine.h"
#include "hash.h"
#include "model.h"

typedef struct session {
    weft_arena *a; /* of all but the model */
    weft_model *model;
    weft_session_spec spec;
    uint64_t *value;           /* [tensors of the graph] */
    uint64_t *node;            /* [nodes] of operator and attributes */
    int *input_at, *output_at; /* tensors of the graph */
} session;

/* --- values and bytes ------------------------------------------------------------------------ */

static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Word i > 0 of a tensor. */
static uint64_t word_of(uint64_t value, size_t i)
{
    uint64_t x = value + i * 0x9e3779b97f4a7c15u;

    x ^= x >> 29;
    return x * 0xbf58476d1ce4e5b9u;
}

/* Tensors of less than eight bytes have as much of their value as they hold. */
static uint64_t held(uint64_t value, size_t bytes)
{
    return bytes >= sizeof value ? value : value & (((uint64_t)1 << 8 * bytes) - 1);
}

static void write_value(uint64_t value, void *to, size_t bytes)
{
    uint8_t *at = to;
    uint64_t word = value;

    for (size_t i = 0; bytes > 0; i++) {
        size_t n = bytes < sizeof word ? bytes : sizeof word;

        if (i > 0)
            word = word_of(value, i);
        memcpy(at, &word, n);
        at += n;
        bytes -= n;
    }
}

static uint64_t read_value(const void *from, size_t bytes)
{
    const uint8_t *at = from;
    uint64_t value = 0, word = 0, hash = bytes, differs = 0;

    memcpy(&value, at, bytes < sizeof value ? bytes : sizeof value);
    for (size_t i = 0; i < bytes / sizeof word; i++, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = (hash ^ word) * 0x9fb21c651e98df25u;
        hash ^= hash >> 32;
        differs |= i > 0 ? word ^ word_of(value, i) : 0;
    }
    if (bytes > sizeof word && bytes % sizeof word > 0) {
        uint64_t last = word_of(value, bytes / sizeof word);

        word = 0;
        memcpy(&word, at, bytes % sizeof word);
        hash = mixed(hash ^ word);
        differs |= word ^ held(last, bytes % sizeof word);
    }
    return differs ? mixed(hash) : value;
}

/* --- what a network computes ----------------------------------------------------------------- */

static uint64_t hash_shape(uint64_t h, const weft_tensor *t)
{
    h = weft_hash_int(h, (int64_t)t->type);
    for (int i = 0; i < t->shape->rank; i++)
        h = weft_hash_int(h, t->shape->dim[i]);
    return h;
}

static uint64_t hash_attr(uint64_t h, const weft_attr *x)
{
    h = weft_hash_text(h, x->name);
    h = weft_hash_int(h, x->i);
    h = weft_hash_real(h, x->f);
    h = weft_hash_text(h, x->kind == WEFT_ATTR_TEXT ? x->s : NULL);
    for (int i = 0; i < x->n && x->kind == WEFT_ATTR_INTS; i++)
        h = weft_hash_int(h, x->ints[i]);
    for (int i = 0; i < x->n && x->kind == WEFT_ATTR_REALS; i++)
        h = weft_hash_real(h, x->reals[i]);
    return h;
}

static uint64_t hash_node(const weft_node *n)
{
    uint64_t h = weft_hash_text(weft_hash_start(), n->op);

    h = weft_hash_text(h, n->domain);
    for (int i = 0; i < n->n_attrs; i++)
        h = hash_attr(h, &n->attr[i]);
    return weft_hash_end(h);
}

static void hash_all(session *s)
{
    const weft_graph *g = s->model->graph;

    for (int u = 0; u < g->n_nodes; u++)
        s->node[u] = hash_node(&g->node[u]);
    for (int t = 0; t < g->n_tensors; t++)
        if (g->tensor[t].producer < 0)
            s->value[t] = weft_hash_end(
                hash_shape(weft_hash_text(weft_hash_start(), g->tensor[t].name), &g->tensor[t]));
}

static void compute(session *s)
{
    const weft_graph *g = s->model->graph;

    for (int u = 0; u < g->n_nodes; u++) {
        uint64_t h = s->node[u];

        for (int i = g->arg_at[u]; i < g->arg_at[u + 1]; i++)
            h = mixed(h * 31 + (g->arg[i] < 0 ? 1 : s->value[g->arg[i]]));
        for (int i = g->res_at[u]; i < g->res_at[u + 1]; i++)
            if (g->res[i] >= 0)
                s->value[g->res[i]] = held(mixed(h + (uint64_t)(i - g->res_at[u])),
                                           (size_t)g->tensor[g->res[i]].bytes);
    }
}

/* --- the engine ------------------------------------------------------------------------------ */

static weft_status open(const weft_engine_places *where, int n_threads, void **state,
                        const char **version)
{
    (void)where, (void)n_threads;
    *state = NULL;
    *version = "1";
    return WEFT_OK;
}

static void unload(void *of)
{
    session *s = of;

    weft_model_free(s->model);
    weft_arena_free(s->a);
}

/* The tensor of this name; -1: the network does not depend on it. */
static weft_status find_tensors(const session *s, const weft_session_tensor *t, int n, int *at,
                                const char *path)
{
    const weft_graph *g = s->model->graph;

    for (int i = 0; i < n; i++) {
        at[i] = -1;
        for (int k = 0; k < g->n_tensors && at[i] < 0; k++)
            if (strcmp(g->tensor[k].name, t[i].name) == 0)
                at[i] = k;
        if (at[i] >= 0 && (size_t)g->tensor[at[i]].bytes != t[i].bytes)
            return weft_fail(WEFT_E_INPUT, "%s: '%s' has %lld bytes, expected %zu", path, t[i].name,
                             (long long)g->tensor[at[i]].bytes, t[i].bytes);
    }
    return WEFT_OK;
}

static weft_status open_session(session *s, const weft_session_spec *spec)
{
    s->spec = weft_session_spec_copy(spec, s->a);
    s->input_at = WEFT_NEW(s->a, int, spec->n_inputs + 1);
    s->output_at = WEFT_NEW(s->a, int, spec->n_outputs + 1);
    WEFT_TRY(weft_model_open(spec->path, NULL, &s->model));
    WEFT_TRY(find_tensors(s, s->spec.input, s->spec.n_inputs, s->input_at, spec->path));
    WEFT_TRY(find_tensors(s, s->spec.output, s->spec.n_outputs, s->output_at, spec->path));
    s->value = WEFT_NEW(s->a, uint64_t, s->model->graph->n_tensors + 1);
    s->node = WEFT_NEW(s->a, uint64_t, s->model->graph->n_nodes + 1);
    hash_all(s);
    return WEFT_OK;
}

static weft_status load(void *state, const weft_session_spec *spec, void **out)
{
    weft_arena *a = weft_arena_new();
    session *s = WEFT_NEW(a, session, 1);
    weft_status status;

    (void)state;
    s->a = a;
    status = open_session(s, spec);
    if (status != WEFT_OK)
        unload(s);
    else
        *out = s;
    return status;
}

static weft_status run(void *of, int slot)
{
    double begin_s = weft_wall_s();
    session *s = of;

    for (int i = 0; i < s->spec.n_inputs; i++)
        if (s->input_at[i] >= 0)
            s->value[s->input_at[i]] =
                read_value(s->spec.input[i].data[slot], s->spec.input[i].bytes);
    compute(s);
    for (int i = 0; i < s->spec.n_outputs; i++)
        if (s->output_at[i] >= 0)
            write_value(s->value[s->output_at[i]], s->spec.output[i].data[slot],
                        s->spec.output[i].bytes);
    while (weft_wall_s() - begin_s < s->spec.paced_s)
        continue;
    return WEFT_OK;
}

const weft_engine weft_engine_paced = {
    .name = "paced",
    .title = "paced",
    .most_level = -1,
    WEFT_ENGINE_FUNCTIONS,
};
