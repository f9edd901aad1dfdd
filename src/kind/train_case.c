/* SPDX-License-Identifier: MIT */
/* train_case.c: opens what a request names and puts the problem of training together.
 *
 * The hash of the model is that of the network as it is opened with the options of the request,
 * without backward nodes, so that it does not depend on how steps are cut; of one sample, if it has
 * no batch of its own. */
#include "check.h"

#include <string.h>

static weft_status check_request(const weft_train_request *r)
{
    size_t n = strlen(r->model);

    WEFT_TRY(weft_need_platform(r->platform));
    if (n > 5 && strcmp(r->model + n - 5, ".json") == 0 && !weft_model_is_config(r->model))
        return weft_fail(WEFT_E_INPUT,
                         "%s is no network; for inputs of Piper give --objective piper and leave "
                         "--on out",
                         r->model);
    return WEFT_OK;
}

/* A symbolic batch is that of the step: --dim may say the same size, and then says nothing more. */
static weft_status drop_batch(const weft_train_request *r, const weft_dim_binding *batch,
                              weft_arena *a, weft_model_options *o)
{
    weft_dim_binding *rest = WEFT_NEW(a, weft_dim_binding, o->n_dims);
    int n = 0;

    if (batch->size == 0)
        return WEFT_OK;
    if (batch->size != r->constraints.batch)
        return weft_fail(WEFT_E_INPUT,
                         "dimension '%s' of '%s' is the batch: --dim %s=%lld contradicts a step of "
                         "%lld samples, expected --batch without --dim %s or the same size",
                         batch->name, r->model, batch->name, (long long)batch->size,
                         (long long)r->constraints.batch, batch->name);
    for (int i = 0; i < o->n_dims; i++)
        if (strcmp(o->dim[i].name, batch->name) != 0)
            rest[n++] = o->dim[i];
    o->dim = rest;
    o->n_dims = n;
    return WEFT_OK;
}

/* The hash of the network; checks what flags and platform say about it. */
static weft_status check_model(const weft_train_request *r, const weft_platform *on, weft_arena *a,
                               weft_model_options *o, uint64_t *out)
{
    weft_model *model;
    weft_status status;

    if (weft_model_open(r->model, o, &model) != WEFT_OK) {
        weft_model_options one = *o;

        one.batch = 1;
        WEFT_TRY(weft_model_open(r->model, &one, &model));
    }
    *out = weft_graph_hash(model->graph);
    status = weft_only_check(on, model->graph);
    if (status == WEFT_OK)
        status = drop_batch(r, &model->batch_dim, a, o);
    weft_model_free(model);
    return status;
}

static weft_status open_case(const weft_train_request *r, weft_arena *a, weft_train_case *out)
{
    weft_model_options options = r->options;

    options.train = false;
    WEFT_TRY(check_request(r));
    WEFT_TRY(weft_machine_open(r->platform, r->machine, &out->platform));
    WEFT_TRY(check_model(r, out->platform, a, &options, &out->model_hash));
    out->platform_hash = out->platform->hash;
    options.train = true;
    return weft_train_problem_new(r->model, &options, out->platform, &r->constraints,
                                  &out->training);
}

weft_status weft_train_case_open(const weft_train_request *r, weft_train_case *out)
{
    weft_arena *a = weft_arena_new();
    weft_status status;

    memset(out, 0, sizeof *out);
    status = open_case(r, a, out);
    weft_arena_free(a);
    if (status != WEFT_OK)
        weft_train_case_close(out);
    return status;
}

void weft_train_case_close(weft_train_case *c)
{
    weft_train_problem_free(c->training);
    weft_platform_free(c->platform);
    memset(c, 0, sizeof *c);
}
