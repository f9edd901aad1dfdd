/* SPDX-License-Identifier: MIT */
/* cmd_shard.c: weft shard MODEL --on PLATFORM. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"
#include "weft/api.h"
#include "weft/report.h"

#include <math.h>
#include <string.h>

typedef struct shard_options {
    weft_model_flags flags;
    weft_effort_flags effort;
    const char *on, *solver, *semantics, *output, *trace, *report;
    bool contiguous, no_sharing, layers, json, quiet;
} shard_options;

static const weft_option shard_table[] = {
    {WEFT_TEXT(shard_options, on),         0, 0, 0, "platform: a file, or a preset (weft list platforms)",
     "",                                                                                                           NULL                      },
    {WEFT_TEXT(shard_options, solver),     0, 0, 0, "how to search (weft list solvers)",                   "auto", NULL                      },
    {WEFT_TEXT(shard_options, semantics),  0, 0, 0,
     "one step after the other, or side by side; auto: side by side if no two accelerators are "
     "equal and stretches are not asked for",                                                              "auto", "auto|sequential|branches"},
    {WEFT_FLAG(shard_options, contiguous), 0, 0, 1,
     "each set runs one stretch of the network (not side by side)",                                        NULL,   NULL                      },
    {WEFT_FLAG(shard_options, no_sharing), 0, 0, 1,
     "no shards that rotate among the devices of a set",                                                   NULL,   NULL                      },
    WEFT_EFFORT_FLAGS(shard_options, WEFT_SHARD_LIMIT),
    WEFT_SHAPE_FLAGS(shard_options),
    {WEFT_TEXT(shard_options, output),     0, 0, 0, "write the plan there (weft check reads it)",          "",
     NULL                                                                                                                                    },
    {WEFT_TEXT(shard_options, trace),      0, 0, 0, "write a timeline for Perfetto there",                 "",     NULL                      },
    {WEFT_TEXT(shard_options, report),     0, 0, 0, "write a page to look at there (see weft report)",
     "",                                                                                                           NULL                      },
    {WEFT_FLAG(shard_options, layers),     0, 0, 1, "show every step, not only the longest",               NULL,
     NULL                                                                                                                                    },
    {WEFT_FLAG(shard_options, json),       0, 0, 1, "the result as one JSON document",                     NULL,   NULL                      },
    {WEFT_FLAG(shard_options, quiet),      0, 0, 1, "print nothing but errors",                            NULL,   NULL                      },
    WEFT_OPTIONS_END,
};

/* --- what shard and compare share ------------------------------------------------------------ */

const char *const weft_shard_beside[] = {"longest-group", "longest-all", NULL};

weft_status weft_shard_run(const weft_shard_solver *s, const weft_sharding *p,
                           const weft_shard_effort *f, weft_arena *a, weft_shard_solution *out)
{
    weft_shard_options options = {.placer = weft_place_find("auto"), .floor = f->floor};
    weft_run run = {.n_threads = 1, .limit_s = INFINITY};
    weft_watch watch = {0};
    weft_status status;

    if (f->flags)
        WEFT_TRY(weft_effort_read(f->flags, f->usual, &watch, &run));
    run.scratch = weft_arena_new();
    status = weft_shard_solve(s, p, &options, &run, a, out);
    weft_arena_free(run.scratch);
    if (f->flags)
        weft_effort_end(&watch);
    return status;
}

bool weft_shard_has_plan(const weft_shard_solution *s)
{
    return s->proof.outcome == WEFT_OPTIMAL || s->proof.outcome == WEFT_BOUNDED;
}

static weft_doc *plan_of(const void *context, int i, weft_arena *a)
{
    const weft_shard_answers *x = context;
    weft_plan_origin origin = *x->report->origin;
    const weft_shard_solution *s;

    if (i >= x->n)
        return NULL;
    s = &x->solution[i];
    origin.solver = x->name[i];
    return weft_shards_doc(x->report->problem, &s->plan, &s->proof, &origin,
                           weft_shards_measures_doc(x->report->problem, &s->measures, a), a);
}

weft_status weft_shard_cross_check(const weft_shard_answers *x, weft_arena *a)
{
    const weft_shard_report *r = x->report;
    weft_claim *claim = WEFT_NEW(a, weft_claim, x->n + r->n_baselines + 1);
    weft_contest all = {.n = x->n, .claim = claim, .plan = plan_of, .context = x};

    for (int i = 0; i < x->n; i++)
        claim[i] = weft_claim_of(x->name[i], &x->solution[i].proof);
    for (int i = 0; i < r->n_baselines; i++)
        claim[all.n++] = weft_claim_plan(r->baseline[i].solver, r->baseline[i].value_s, 0);
    return weft_cross_check(&all);
}

/* --- shard ----------------------------------------------------------------------------------- */

static weft_status find_solver(const char *name, const weft_sharding *p,
                               const weft_shard_solver **out)
{
    const char *known[64];
    int n = 0;

    *out = weft_shard_find(name);
    for (; n < weft_shard_count() && n < 64; n++)
        known[n] = weft_shard_at(n)->name;
    if (*out == NULL)
        return weft_unknown_solver(name, known, n);
    if ((*out)->applies != NULL && !(*out)->applies(p))
        return weft_fail(WEFT_E_INPUT,
                         "solver '%s' does not know this kind of problem (platform '%s', %s); try "
                         "--solver auto",
                         name, p->platform->name,
                         p->ask.is_concurrent ? "side by side" : "one step after the other");
    return WEFT_OK;
}

weft_status weft_shard_baselines(const weft_sharding *p, const weft_proof *floor, weft_arena *a,
                                 weft_shard_report *r)
{
    weft_shard_effort no_limit = {.floor = floor};
    weft_shard_baseline *list = WEFT_NEW(a, weft_shard_baseline, 8);

    for (int i = 0; weft_shard_beside[i] != NULL; i++) {
        const weft_shard_solver *s = weft_shard_find(weft_shard_beside[i]);
        weft_shard_solution solution;

        if (s == NULL || (s->applies != NULL && !s->applies(p)))
            continue;
        WEFT_TRY(weft_shard_run(s, p, &no_limit, a, &solution));
        list[r->n_baselines++] =
            (weft_shard_baseline){s->name, solution.proof.outcome,
                                  weft_shard_has_plan(&solution) ? solution.proof.value : NAN};
    }
    r->baseline = list;
    return WEFT_OK;
}

static weft_doc *result_doc(const weft_shard_report *r, weft_doc *plan, weft_arena *a)
{
    weft_doc *d = weft_shard_report_result(r, a);

    weft_put_real(a, d, "seconds", r->solution->seconds);
    weft_put_int(a, d, "peak_rss_bytes", (int64_t)weft_peak_rss_bytes());
    weft_shard_report_put(r, d, a);
    weft_doc_put(a, d, "plan", plan ? plan : weft_doc_new(a, WEFT_DOC_NULL));
    return d;
}

static weft_status write_doc(const weft_doc *d, const char *path, weft_arena *a)
{
    const char *text = weft_doc_json(d, 1, a);

    return weft_emit(path, text, strlen(text));
}

static weft_status show(const weft_shard_report *r, weft_doc *plan, const shard_options *o,
                        weft_arena *a)
{
    weft_collect c;

    if (o->quiet)
        return WEFT_OK;
    WEFT_TRY(weft_collect_begin(&c));
    if (o->json)
        fprintf(c.to, "%s\n", weft_doc_json(result_doc(r, plan, a), 1, a));
    else
        weft_shard_report_text(r, o->layers, weft_report_width(NULL), c.to);
    return weft_collect_emit(&c, NULL);
}

static weft_status shard(const weft_shard_case *c, const weft_shard_request *q,
                         const shard_options *o, weft_arena *a, int *code)
{
    const weft_sharding *p = c->sharding;
    weft_plan_origin origin = {q->model,      q->platform,      NULL,
                               q->options,    o->solver,        o->effort.seed,
                               c->model_hash, c->platform_hash, p->hash};
    weft_proof floor;
    weft_shard_effort effort = {&o->effort, WEFT_SHARD_LIMIT, &floor};
    weft_shard_report r = {.problem = p, .origin = &origin};
    const weft_shard_solver *solver;
    weft_shard_solution solution;
    weft_doc *plan = NULL;

    WEFT_TRY(find_solver(o->solver, p, &solver));
    weft_shard_bound(p, a, &floor); /* once for all */
    WEFT_TRY(weft_shard_baselines(p, &floor, a, &r));
    WEFT_TRY(weft_shard_run(solver, p, &effort, a, &solution));
    WEFT_TRY(weft_shard_cross_check(&(weft_shard_answers){&r, &solution, &solver->name, 1}, a));
    r.solution = &solution;
    if (weft_shard_has_plan(&solution)) {
        plan = weft_shards_doc(p, &solution.plan, &solution.proof, &origin,
                               weft_shards_measures_doc(p, &solution.measures, a), a);
        if (*o->output)
            WEFT_TRY(write_doc(plan, o->output, a));
        if (*o->trace)
            WEFT_TRY(write_doc(weft_shard_report_trace(&r, a), o->trace, a));
        if (*o->report)
            WEFT_TRY(weft_page_write(
                weft_shard_page(&r, c, &(weft_page_ask){.plan = o->output, .page = o->report}, a),
                o->report, a));
    } else {
        *code = WEFT_EXIT_NO;
    }
    return show(&r, plan, o, a);
}

static weft_status run_shard(const void *options, const char *const *operand, int n_operands,
                             int *code)
{
    const shard_options *o = options;
    weft_arena *a = weft_arena_new();
    weft_shard_request request = {
        .model = operand[0],
        .platform = o->on,
        .semantics = o->semantics,
        .is_contiguous = o->contiguous,
        .has_no_sharing = o->no_sharing,
    };
    weft_shard_case c;
    weft_status status = weft_model_flags_read(&o->flags, a, &request.options);

    (void)n_operands; /* one: the table says so */
    if (status == WEFT_OK)
        status = weft_shard_case_open(&request, &c);
    if (status == WEFT_OK) {
        status = shard(&c, &request, o, a, code);
        weft_shard_case_close(&c);
    }
    weft_arena_free(a);
    return status;
}

const weft_command weft_cmd_shard = {
    .name = "shard",
    .summary = "Which accelerators work together, and how each layer is cut over them",
    .operands = "MODEL",
    .description =
        "Cuts the layers of a network over sets of equal accelerators: which devices form a set,\n"
        "which design a set is configured with, and how each step (an operator and what follows\n"
        "it element by element) is split over its set. Simulates the plan and says how far it is\n"
        "from the best possible one at most. The host computes nothing: inputs come from it and\n"
        "outputs go back to it. Ctrl-C ends the search with the best plan so far.",
    .examples = "  weft shard alexnet --on f1-2x4\n"
                "  weft shard resnet34 --on f1-2x4 --dtype f16 --layers\n"
                "  weft shard casia_surf --on h2h-12 -o plan.json --trace trace.json\n"
                "  weft shard model.onnx --on boards.yaml --time-limit 5min --json\n",
    .options = shard_table,
    .options_size = sizeof(shard_options),
    .min_operands = 1,
    .max_operands = 1,
    .run = run_shard,
};
