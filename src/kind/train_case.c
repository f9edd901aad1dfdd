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

    if (r->platform == NULL || *r->platform == '\0')
        return weft_fail(WEFT_E_INPUT,
                         "no platform is given, expected --on PLATFORM (see: weft list platforms)");
    if (n > 5 && strcmp(r->model + n - 5, ".json") == 0)
        return weft_fail(WEFT_E_INPUT,
                         "%s is no network; for inputs of Piper give --objective piper and leave "
                         "--on out",
                         r->model);
    return WEFT_OK;
}

static weft_status hash_model(const weft_train_request *r, uint64_t *out)
{
    weft_model_options options = r->options;
    weft_model *model;

    options.train = false;
    if (weft_model_open(r->model, &options, &model) != WEFT_OK) {
        options.batch = 1;
        WEFT_TRY(weft_model_open(r->model, &options, &model));
    }
    *out = weft_graph_hash(model->graph);
    weft_model_free(model);
    return WEFT_OK;
}

static weft_status open_case(const weft_train_request *r, weft_train_case *out)
{
    weft_model_options options = r->options;

    options.train = true;
    WEFT_TRY(check_request(r));
    WEFT_TRY(weft_machine_open(r->platform, r->machine, &out->platform));
    WEFT_TRY(hash_model(r, &out->model_hash));
    out->platform_hash = out->platform->hash;
    return weft_train_problem_new(r->model, &options, out->platform, &r->constraints,
                                  &out->training);
}

weft_status weft_train_case_open(const weft_train_request *r, weft_train_case *out)
{
    weft_status status;

    memset(out, 0, sizeof *out);
    status = open_case(r, out);
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
