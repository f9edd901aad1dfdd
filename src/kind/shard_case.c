/* SPDX-License-Identifier: MIT */
/* shard_case.c: opens what a request names and puts the problem of sharding together. */
#include "check.h"

#include <string.h>

/* Two accelerators that can form a set. */
static bool has_equals(const weft_platform *p)
{
    for (int i = 0; i < p->n_devices; i++)
        for (int j = 0; j < i; j++)
            if (i != p->host && j != p->host && strcmp(p->device[i].kind, p->device[j].kind) == 0)
                return true;
    return false;
}

static weft_status read_semantics(const char *text, const weft_platform *p,
                                  weft_shard_constraints *constraints)
{
    if (text == NULL || strcmp(text, "auto") == 0)
        constraints->is_concurrent = !constraints->is_contiguous && !has_equals(p);
    else if (strcmp(text, "sequential") == 0 || strcmp(text, "branches") == 0)
        constraints->is_concurrent = strcmp(text, "branches") == 0;
    else
        return weft_fail(WEFT_E_INPUT, "--semantics is '%s', expected auto, sequential or branches",
                         text);
    return WEFT_OK;
}

static weft_status check_request(const weft_shard_request *r)
{
    size_t n = strlen(r->model);

    WEFT_TRY(weft_need_platform(r->platform));
    if (n > 5 && strcmp(r->model + n - 5, ".json") == 0 && !weft_model_is_config(r->model))
        return weft_fail(WEFT_E_INPUT,
                         "%s is a file of tasks, which cannot be cut: expected a network",
                         r->model);
    if (r->options.train)
        return weft_fail(WEFT_E_INPUT, "%s: training steps are not sharded: leave --train out",
                         r->model);
    return WEFT_OK;
}

static weft_status open_case(const weft_shard_request *r, weft_shard_case *out)
{
    weft_shard_constraints constraints = {false, r->is_contiguous, r->has_no_sharing};
    weft_model_options options;
    weft_status status;

    WEFT_TRY(check_request(r));
    WEFT_TRY(weft_machine_open(r->platform, r->machine, &out->platform));
    WEFT_TRY(read_semantics(r->semantics, out->platform, &constraints));
    options = weft_model_options_on(&r->options, out->platform);
    WEFT_TRY(weft_model_open(r->model, &options, &out->model));
    WEFT_TRY(weft_only_check(out->platform, out->model->graph));
    out->model_hash = weft_graph_hash(out->model->graph);
    out->platform_hash = out->platform->hash;
    status = weft_shard_problem_new(out->model->graph, out->platform, &constraints, &out->sharding);
    return status == WEFT_OK ? status : weft_fail_in(status, r->model);
}

weft_status weft_shard_case_open(const weft_shard_request *r, weft_shard_case *out)
{
    weft_status status;

    memset(out, 0, sizeof *out);
    status = open_case(r, out);
    if (status != WEFT_OK)
        weft_shard_case_close(out);
    return status;
}

void weft_shard_case_close(weft_shard_case *c)
{
    weft_shard_problem_free(c->sharding);
    weft_model_free(c->model);
    weft_platform_free(c->platform);
    memset(c, 0, sizeof *c);
}
