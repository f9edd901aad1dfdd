/* SPDX-License-Identifier: MIT */
/* machine_sensitivity.c: plans whose costs are in doubt, where these are not those of single tasks.
 *
 * Suspects are the entries of the platform file: its devices and links. The file with other rates
 * (scale_platform.c) is read, the plan is simulated there and the problem solved again (resolve.c).
 * Samples change all entries, each by a factor of its own. */
#include "resolve.h"
#include "sensitivity.h"

#include <math.h>
#include <string.h>

typedef struct doubter {
    const weft_check_result *plan;
    const char *solver;
    const weft_sensitivity_options *o;
    const weft_doc *machine;
    int n;
} doubter;

static weft_status try_machine(const doubter *d, const double *factor, weft_arena *a,
                               weft_trial *out)
{
    weft_run run = {.seed = d->o->run.seed,
                    .limit_s = INFINITY,
                    .steps = d->o->run.steps,
                    .stop = d->o->run.stop};
    weft_resolve_request k = {
        d->plan, d->solver, weft_doc_json(weft_machine_scaled(d->machine, factor, a), 1, a), &run};
    weft_resolved o;

    WEFT_TRY(weft_resolve(&k, a, &o));
    if (!isfinite(o.kept))
        return weft_fail(WEFT_E_INTERNAL,
                         "internal error: the plan does not run on a machine of other speed");
    *out = weft_trial_of(o.kept, weft_resolved_has_plan(&o) ? o.proof.value : o.kept, o.proof.bound,
                         d->o->tolerance);
    return WEFT_OK;
}

static double *factors(const doubter *d, weft_arena *a)
{
    double *factor = WEFT_NEW(a, double, d->n + 1);

    for (int i = 0; i < d->n; i++)
        factor[i] = 1;
    return factor;
}

static weft_status try_factor(const void *context, int suspect, double factor, weft_trial *out)
{
    const doubter *d = context;
    weft_arena *a = weft_arena_new();
    double *all = factors(d, a);
    weft_status status;

    all[suspect] = factor;
    status = try_machine(d, all, a, out);
    weft_arena_free(a);
    return status;
}

static weft_status try_sample(const void *context, weft_rng *r, weft_trial *out)
{
    const doubter *d = context;
    weft_arena *a = weft_arena_new();
    double *all = factors(d, a);
    weft_status status;

    for (int i = 0; i < d->n; i++)
        all[i] = weft_draw_factor(r, d->o->error);
    status = try_machine(d, all, a, out);
    weft_arena_free(a);
    return status;
}

weft_status weft_machine_sensitivity(const weft_check_result *v, const char *solver,
                                     const weft_sensitivity_options *o, weft_arena *a,
                                     weft_sensitivity *out)
{
    doubter x = {.plan = v, .solver = solver, .o = o};
    weft_doubter d = {.sampled = "all devices and links",
                      .try_factor = try_factor,
                      .try_sample = try_sample,
                      .context = &x};

    WEFT_TRY(weft_resolve_solver(v, x.solver));
    WEFT_TRY(v->kind->machine(v->request, a, &x.machine));
    d.n = x.n = weft_machine_suspects(x.machine, a, &d.suspect);
    return weft_sensitivity_find(&d, o, a, out);
}
