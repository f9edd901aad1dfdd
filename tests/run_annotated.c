/* SPDX-License-Identifier: MIT */
/* run_annotated.c: a model with annotations on its nodes and the session key that belongs to them, as
 * weft split writes it, gives what the model gives.
 *
 *   run_annotated LIBRARY MODEL ANNOTATED KEYS.json      prints "equal" or what is wrong */
#include "engine.h"
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct places {
    int n_inputs, n_outputs;
    weft_session_tensor input[8], output[8];
    void *input_at[8], *output_at[8];
} places;

static weft_session_tensor place(const weft_tensor *t, void **at)
{
    float *x = calloc((size_t)t->bytes + 8, 1);

    for (int64_t i = 0; i < t->elements && t->type == WEFT_F32 && x != NULL; i++)
        x[i] = (float)(i % 17) / 17;
    *at = x;
    return (weft_session_tensor){t->name, t->type, t->shape, (size_t)t->bytes, at};
}

static void find_places(const weft_graph *g, places *p)
{
    for (; p->n_inputs < g->n_inputs && p->n_inputs < 8; p->n_inputs++)
        p->input[p->n_inputs] = place(&g->tensor[g->input[p->n_inputs]], &p->input_at[p->n_inputs]);
    for (; p->n_outputs < g->n_outputs && p->n_outputs < 8; p->n_outputs++)
        p->output[p->n_outputs] =
            place(&g->tensor[g->output[p->n_outputs]], &p->output_at[p->n_outputs]);
}

static weft_status run(void *engine, const char *path, const weft_session_key *key, int n_keys,
                       const places *p)
{
    weft_session_spec spec = {.path = path,
                              .n_slots = 1,
                              .n_inputs = p->n_inputs,
                              .n_outputs = p->n_outputs,
                              .input = p->input,
                              .output = p->output,
                              .n_keys = n_keys,
                              .key = key};
    void *session;

    WEFT_TRY(weft_engine_ort.load(engine, &spec, &session));
    WEFT_TRY(weft_engine_ort.run(session, 0));
    weft_engine_ort.unload(session);
    return WEFT_OK;
}

static weft_status compare(char **argv, weft_arena *a, bool *is_equal)
{
    weft_engine_places where = {.ort = argv[1]};
    places plain = {0}, annotated = {0};
    weft_session_key key = {"session.layer_assignment_settings", NULL};
    const char *version;
    const weft_doc *keys;
    weft_model *m;
    void *engine;

    WEFT_TRY(weft_doc_read(argv[4], a, &keys));
    WEFT_TRY(weft_doc_text(keys, key.name, &key.value));
    WEFT_TRY(weft_model_open(argv[2], NULL, &m));
    find_places(m->graph, &plain);
    find_places(m->graph, &annotated);
    WEFT_TRY(weft_engine_ort.open(&where, 1, &engine, &version));
    WEFT_TRY(run(engine, argv[2], NULL, 0, &plain));
    WEFT_TRY(run(engine, argv[3], &key, 1, &annotated));
    *is_equal = plain.n_outputs > 0;
    for (int i = 0; i < plain.n_outputs; i++)
        *is_equal = *is_equal &&
                    memcmp(plain.output_at[i], annotated.output_at[i], plain.output[i].bytes) == 0;
    return WEFT_OK;
}

int main(int argc, char **argv)
{
    bool is_equal = false;
    weft_status status;

    if (argc != 5)
        return 2;
    status = compare(argv, weft_arena_new(), &is_equal);
    puts(status != WEFT_OK ? weft_message() : is_equal ? "equal" : "not equal");
    return status == WEFT_OK && is_equal ? 0 : 1;
}
