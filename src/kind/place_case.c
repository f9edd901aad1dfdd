/* SPDX-License-Identifier: MIT */
/* place_case.c: opens what a request names and puts the problem together. */
#include "check.h"
#include "profile.h"

#include <inttypes.h>
#include <string.h>

static bool is_task_file(const weft_request *r)
{
    size_t n = strlen(r->model);

    return (r->format && *r->format) || (n > 5 && strcmp(r->model + n - 5, ".json") == 0);
}

/* The problem of a file of tasks, or of the text in its place. */
static weft_status read_tasks(const weft_request *r, bool is_msr, weft_problem **out)
{
    const weft_doc *doc = NULL;
    weft_arena *a;
    weft_status status;

    if (r->machine == NULL)
        return weft_problem_read(r->model, is_msr, &r->constraints, out);
    a = weft_arena_new();
    status = weft_doc_parse(r->machine, strlen(r->machine), r->model, a, &doc);
    if (status == WEFT_OK)
        status = weft_problem_parse(doc, is_msr, &r->constraints, out);
    weft_arena_free(a);
    return status;
}

static weft_status open_tasks(const weft_request *r, weft_case *out)
{
    bool is_msr = r->format && strcmp(r->format, "msr") == 0;

    if (r->format && *r->format && !is_msr)
        return weft_fail(WEFT_E_INPUT, "--format is '%s', expected msr", r->format);
    if (r->platform && *r->platform)
        return weft_fail(WEFT_E_INPUT, "%s names its own devices: leave --on out", r->model);
    if (r->options.batch || r->options.n_dims || r->options.dtype || r->options.train)
        return weft_fail(WEFT_E_INPUT,
                         "%s is a file of tasks: leave --batch, --dim, --dtype and --train out",
                         r->model);
    if (r->options.n_states > 0 || r->options.no_states)
        return weft_fail(WEFT_E_INPUT, "%s is a file of tasks: leave --state out", r->model);
    if (r->options.has_software)
        return weft_fail(WEFT_E_INPUT, "%s is a file of tasks: leave --software out", r->model);
    WEFT_TRY(read_tasks(r, is_msr, &out->problem));
    out->model_hash = out->problem->hash;
    return WEFT_OK;
}

static weft_status make_problem(const weft_request *r, weft_arena *scratch, weft_case *out)
{
    const weft_graph *g = out->model->graph;
    weft_graph torn;
    weft_costs *costs;
    weft_status status;

    WEFT_TRY(weft_costs_new(g, out->platform, &costs));
    if (weft_problem_tear(g, costs, scratch, &torn)) {
        weft_costs_free(costs);
        g = &torn;
        WEFT_TRY(weft_costs_new(g, out->platform, &costs));
    }
    status = weft_problem_new(g, costs, out->platform, &r->constraints, &out->problem);
    weft_costs_free(costs);
    return status;
}

/* Times are of the network that was measured: with the same shapes, whatever its file is called. */
static weft_status check_profiles(const weft_case *c, weft_arena *scratch)
{
    uint64_t hash = weft_graph_hash(c->model->graph);

    for (int d = 0; d < c->platform->n_devices; d++) {
        const char *path = c->platform->device[d].design[0].profile;
        weft_profile *p;

        if (path == NULL)
            continue;
        WEFT_TRY(weft_profile_read(path, scratch, &p));
        if (weft_profile_model(p) != 0 && weft_profile_model(p) != hash)
            return weft_fail(WEFT_E_INPUT,
                             "%s has times of another network: its content hash is %016" PRIx64
                             ", that of this one %016" PRIx64
                             " (other shapes, --batch or --dim, or not the file that weft profile "
                             "has normalised)",
                             path, weft_profile_model(p), hash);
    }
    return WEFT_OK;
}

static weft_status open_network(const weft_request *r, weft_case *out)
{
    weft_model_options options;
    weft_arena *scratch;
    weft_status status;

    WEFT_TRY(weft_need_platform(r->platform));
    WEFT_TRY(weft_machine_open(r->platform, r->machine, &out->platform));
    options = weft_model_options_on(&r->options, out->platform);
    options.keeps_states = true;
    WEFT_TRY(weft_model_open(r->model, &options, &out->model));
    WEFT_TRY(weft_only_check(out->platform, out->model->graph));
    scratch = weft_arena_new();
    status = check_profiles(out, scratch);
    if (status == WEFT_OK)
        status = make_problem(r, scratch, out);
    weft_arena_free(scratch);
    out->model_hash = weft_graph_hash(out->model->graph);
    out->platform_hash = out->platform->hash;
    return status == WEFT_OK ? status : weft_fail_in(status, r->model);
}

weft_status weft_case_open(const weft_request *r, weft_case *out)
{
    weft_status status;

    memset(out, 0, sizeof *out);
    status = is_task_file(r) ? open_tasks(r, out) : open_network(r, out);
    if (status != WEFT_OK)
        weft_case_close(out);
    return status;
}

void weft_case_close(weft_case *c)
{
    weft_problem_free(c->problem);
    weft_model_free(c->model);
    weft_platform_free(c->platform);
    memset(c, 0, sizeof *c);
}
