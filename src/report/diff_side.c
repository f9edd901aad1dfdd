/* SPDX-License-Identifier: MIT */
/* diff_side.c: what kinds of plans tell of themselves for a comparison, in the same words. */
#include <inttypes.h>
#include <math.h>

#include "diff.h"

void weft_side_setting(weft_side *s, const char *name, const char *text)
{
    WEFT_PUSH(s->a, s->settings, ((weft_side_text){name, name, text}));
}

void weft_side_number_of(weft_side *s, const char *name, double x, const char *unit)
{
    weft_side_setting(s, name,
                      x < INFINITY ? weft_arena_print(s->a, "%.12g%s%s", x, *unit ? " " : "", unit)
                                   : "none");
}

void weft_side_count(weft_side *s, const char *name, int64_t n, const char *none)
{
    weft_side_setting(s, name, n > 0 ? weft_arena_print(s->a, "%" PRId64, n) : none);
}

void weft_side_yes(weft_side *s, const char *name, bool is_so)
{
    weft_side_setting(s, name, is_so ? "yes" : "no");
}

void weft_side_decision(weft_side *s, const char *name, const char *text)
{
    WEFT_PUSH(s->a, s->decisions, ((weft_side_text){name, name, text}));
}

void weft_side_figures(weft_side *s, const weft_side_number *figure, int n)
{
    for (int i = 0; i < n; i++)
        WEFT_PUSH(s->a, s->figures, figure[i]);
}

void weft_side_add_place(weft_side *s, const char *name, const double *value)
{
    size_t size = (size_t)s->n_columns * sizeof *value;

    WEFT_PUSH(s->a, s->place, ((weft_side_place){name, weft_arena_copy(s->a, value, size)}));
}

void weft_side_add_item(weft_side *s, weft_side_item item)
{
    int before = s->item.n - 1;

    item.n_before = before >= 0;
    item.before = weft_arena_copy(s->a, &before, sizeof before);
    WEFT_PUSH(s->a, s->item, item);
}

/* --- where plans come from ------------------------------------------------------------------- */

static const char *dims_text(weft_arena *a, const weft_model_options *o)
{
    const char *text = "";

    for (int i = 0; i < o->n_dims; i++)
        text = weft_arena_print(a, "%s%s%s=%" PRId64, text, i == 0 ? "" : " ", o->dim[i].name,
                                o->dim[i].size);
    return o->n_dims > 0 ? text : NULL;
}

static const char *states_text(weft_arena *a, const weft_model_options *o)
{
    const char *text = "";

    for (int i = 0; i < o->n_states; i++)
        text = weft_arena_print(a, "%s%s%s", text, i == 0 ? "" : " ",
                                weft_state_text(&o->state[i], a));
    return o->no_states ? "none" : o->n_states > 0 ? text : NULL;
}

void weft_side_origin(weft_side *s)
{
    const weft_plan_origin *o = s->origin;
    const weft_model_options *x = &o->options;

    s->problem_hash = o->problem_hash;
    weft_side_setting(s, "format", o->format);
    weft_side_count(s, "batch", x->batch, "as the model says");
    weft_side_setting(s, "sizes of dimensions", dims_text(s->a, x));
    weft_side_setting(s, "element type",
                      x->dtype ? weft_dtype_name(x->dtype) : "as the model says");
    weft_side_setting(s, "states", states_text(s->a, x));
    weft_side_yes(s, "training step", x->train);
    weft_side_setting(s, "optimizer", x->train ? weft_optimizer_name(x->optimizer) : NULL);
    weft_side_setting(s, "software",
                      x->software != WEFT_SOFTWARE_GRAPH ? weft_software_name(x->software) : NULL);
    weft_side_setting(s, "solver", o->solver);
    weft_side_setting(s, "seed", weft_arena_print(s->a, "%" PRId64, o->seed));
}

/* --- chains ---------------------------------------------------------------------------------- */

void weft_side_chain(weft_side *s, const weft_jobs *jobs, const weft_timeline *run,
                     const weft_side_number *part, int n, const int *part_of)
{
    weft_side_number *sum = WEFT_NEW(s->a, weft_side_number, n + 1);
    const int *job;
    int n_jobs = weft_job_chain(jobs, run, false, s->a, &job);
    double end_s = n_jobs > 0 ? run->end_s[job[n_jobs - 1]] : 0, wait_s = end_s;

    for (int i = 0; i < n; i++)
        sum[i] = part[i];
    for (int i = 0; i < n_jobs; i++) {
        double length_s = run->end_s[job[i]] - run->start_s[job[i]];

        sum[part_of[job[i]]].value += length_s;
        wait_s -= length_s;
    }
    sum[n] = (weft_side_number){"wait", "wait", "s", wait_s > WEFT_SAME * end_s ? wait_s : 0};
    for (int i = 0; i <= n; i++)
        WEFT_PUSH(s->a, s->chain, sum[i]);
}
