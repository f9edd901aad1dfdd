/* SPDX-License-Identifier: MIT */
/* place_case.c: opens what a request names and puts the problem together. */
#include "check.h"
#include "profile.h"
#include "taskgraph.h"

#include <inttypes.h>
#include <string.h>

static bool is_given(const char *text)
{
    return text != NULL && *text != '\0';
}

static bool is_msr(const weft_request *r)
{
    return is_given(r->format) && strcmp(r->format, "msr") == 0;
}

/* The format of another project that is not told by the file itself; NULL: there is none. */
static const char *foreign_format(const weft_request *r)
{
    return is_msr(r) ? NULL
                     : weft_taskgraph_format(r->model, is_given(r->format) ? r->format : NULL);
}

static bool is_task_file(const weft_request *r)
{
    size_t n = strlen(r->model);

    return is_given(r->format) || foreign_format(r) != NULL ||
           (n > 5 && strcmp(r->model + n - 5, ".json") == 0);
}

static bool has_machines(const weft_task_machines *m)
{
    return m->n_processors > 0 || m->n_speeds > 0 || m->bytes_per_s > 0 || m->communication_s > 0;
}

weft_status weft_tasks_read(const weft_request *r, weft_arena *a, const weft_doc **out)
{
    const weft_task_machines *machines = &r->options.machines;
    const char *foreign = foreign_format(r);

    if (r->machine != NULL)
        return weft_doc_parse(r->machine, strlen(r->machine), r->model, a, out);
    if (is_given(r->format) && foreign == NULL && !is_msr(r))
        return weft_fail(WEFT_E_INPUT, "--format is '%s', expected msr, stg, dot or wfcommons",
                         r->format);
    if (foreign != NULL)
        return weft_taskgraph_read(r->model, foreign, machines, a, out);
    WEFT_TRY(weft_doc_read(r->model, a, out));
    if (!is_msr(r) && weft_taskgraph_is_workflow(*out))
        return weft_taskgraph_of_workflow(*out, machines, a, out);
    if (has_machines(machines) && !machines->is_optional)
        return weft_fail(WEFT_E_INPUT,
                         "%s names its own devices: leave --processors, --speeds, --bandwidth and "
                         "--communication out",
                         r->model);
    return WEFT_OK;
}

static weft_status open_tasks(const weft_request *r, weft_case *out)
{
    const weft_doc *doc;
    weft_arena *a;
    weft_status status;

    if (is_given(r->platform))
        return weft_fail(WEFT_E_INPUT, "%s names its own devices: leave --on out", r->model);
    if (r->options.batch || r->options.n_dims || r->options.dtype || r->options.train)
        return weft_fail(WEFT_E_INPUT,
                         "%s is a file of tasks: leave --batch, --dim, --dtype and --train out",
                         r->model);
    if (r->options.n_states > 0 || r->options.no_states)
        return weft_fail(WEFT_E_INPUT, "%s is a file of tasks: leave --state out", r->model);
    if (r->options.has_software)
        return weft_fail(WEFT_E_INPUT, "%s is a file of tasks: leave --software out", r->model);
    if (r->options.n_shares > 0)
        return weft_fail(WEFT_E_INPUT, "%s is a file of tasks: it has no batch to cut in shares",
                         r->model);
    a = weft_arena_new();
    status = weft_tasks_read(r, a, &doc);
    if (status == WEFT_OK)
        status = weft_problem_parse(doc, is_msr(r), &r->constraints, &out->problem);
    weft_arena_free(a);
    WEFT_TRY(status);
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

/* The same network with a batch of so many samples. */
static weft_status open_share(const weft_request *r, int64_t batch, weft_platform *platform,
                              weft_arena *scratch, weft_problem **out)
{
    weft_model_options options = weft_model_options_on(&r->options, platform);
    weft_case c = {.platform = platform};
    weft_status status;

    options.keeps_states = true;
    options.batch = batch;
    WEFT_TRY(weft_model_open(r->model, &options, &c.model));
    status = check_profiles(&c, scratch);
    if (status == WEFT_OK)
        status = make_problem(r, scratch, &c);
    weft_model_free(c.model);
    *out = c.problem;
    return status;
}

static weft_status check_shares(const weft_request *r)
{
    if (r->options.train)
        return weft_fail(WEFT_E_INPUT, "a training step is not cut in shares: its weights change "
                                       "with the whole batch (see weft train)");
    if (r->constraints.goal != WEFT_LATENCY)
        return weft_fail(WEFT_E_INPUT, "shares of a batch are for the goal latency");
    if (r->constraints.is_calls)
        return weft_fail(WEFT_E_INPUT, "shares of a batch are not for 'calls'");
    return WEFT_OK;
}

/* The problem of the whole batch becomes that of its shares. */
static weft_status cut_batch(const weft_request *r, weft_arena *scratch, weft_case *out)
{
    const weft_model_options *o = &r->options;
    weft_problem *part[WEFT_MOST_SHARES] = {NULL}, *joined = NULL;
    weft_status status = WEFT_OK;

    if (o->n_shares == 0)
        return WEFT_OK;
    WEFT_TRY(check_shares(r));
    for (int i = 0; i < o->n_shares && status == WEFT_OK; i++)
        status = open_share(r, o->share[i], out->platform, scratch, &part[i]);
    if (status == WEFT_OK)
        status = weft_problem_of_shares(out->problem, (const weft_problem *const *)part, o->share,
                                        o->n_shares, &joined);
    for (int i = 0; i < o->n_shares; i++)
        weft_problem_free(part[i]);
    if (status != WEFT_OK)
        return status;
    out->whole = out->problem;
    out->problem = joined;
    return WEFT_OK;
}

static weft_status open_network(const weft_request *r, weft_case *out)
{
    weft_model_options options;
    weft_arena *scratch;
    weft_status status;

    if (has_machines(&r->options.machines) && !r->options.machines.is_optional)
        return weft_fail(WEFT_E_INPUT,
                         "--processors, --speeds, --bandwidth and --communication are "
                         "for task graphs (STG, DOT, WfCommons); networks take --on");
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
    if (status == WEFT_OK)
        status = cut_batch(r, scratch, out);
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
    weft_problem_free(c->whole);
    weft_model_free(c->model);
    weft_platform_free(c->platform);
    memset(c, 0, sizeof *c);
}
