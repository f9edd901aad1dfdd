/* SPDX-License-Identifier: MIT */
/* diff_open.c: two plan files, opened and verified, to be set side by side. */
#include <math.h>
#include <string.h>

#include "weft/api.h"

/* Built-in models are made for one sample unless something else was asked for; how many a file is
 * for is not known. */
static double samples_of(const weft_plan_origin *o, weft_arena *a)
{
    if (o->options.batch > 0)
        return (double)o->options.batch;
    return weft_zoo_find(weft_arena_text(a, o->model, strcspn(o->model, ":"))) ? 1 : NAN;
}

/* Designs have a template where plans have a platform. */
static void design_side(const weft_verdict *v, weft_arena *a, weft_side *out)
{
    weft_plan_origin *o = WEFT_NEW(a, weft_plan_origin, 1);
    int n = v->is_mine ? v->mine.quest->n_workloads : v->fleet.quest->n_nets;

    o->model = "";
    for (int i = 0; i < n; i++)
        o->model = weft_arena_print(a, "%s%s%s", o->model, i == 0 ? "" : ", ",
                                    v->is_mine ? v->mine.quest->workload[i].name
                                               : v->fleet.quest->net[i]->name);
    o->platform = v->is_mine ? v->mine.quest->template_->source : v->fleet.quest->template_->source;
    o->solver = v->is_mine ? v->mine.solver : "auto";
    o->seed = v->is_mine ? v->mine.seed : 1;
    out->origin = o;
    out->samples = NAN;
    out->mine = v->is_mine ? &v->mine : NULL;
    out->fleet = v->is_fleet ? &v->fleet : NULL;
}

static weft_side side_of(const char *path, const weft_case *c, const weft_verdict *v, weft_arena *a)
{
    weft_side s = {.file = path, .origin = &v->origin};

    if (v->is_mine || v->is_fleet) {
        design_side(v, a, &s);
    } else if (v->is_shard) {
        s.samples = samples_of(&v->origin, a);
        s.platform = c->shard.platform;
        s.sharding = c->shard.sharding;
        s.shards = &v->shards;
    } else if (v->is_train) {
        s.platform = c->train.platform;
        s.training = c->train.training;
        s.samples = (double)c->train.training->ask.batch;
        s.pipeline = &v->training;
    } else {
        s.samples = samples_of(&v->origin, a);
        s.platform = c->platform;
        s.problem = c->problem;
        s.solution = &v->solution;
    }
    return s;
}

static const char *command_of(const char *kind)
{
    return strcmp(kind, "design") == 0 ? "mine" : kind;
}

weft_status weft_pair_open(const char *const path[2], const char *model, const char *platform,
                           weft_arena *a, weft_pair *out)
{
    const char *kind[2];
    weft_status status;

    memset(out, 0, sizeof *out);
    for (int i = 0; i < 2; i++)
        WEFT_TRY(weft_plan_kind(path[i], a, &kind[i]));
    if (strcmp(kind[0], kind[1]) != 0)
        return weft_fail(WEFT_E_INPUT, "%s is of weft %s, %s of weft %s; expected two of one kind",
                         path[0], command_of(kind[0]), path[1], command_of(kind[1]));
    WEFT_TRY(weft_verify(path[0], model, platform, a, &out->c[0], &out->verdict[0]));
    status = weft_verify(path[1], model, platform, a, &out->c[1], &out->verdict[1]);
    if (status != WEFT_OK) {
        weft_case_close(&out->c[0]);
        return status;
    }
    if (out->verdict[0].is_mine != out->verdict[1].is_mine) {
        weft_pair_close(out);
        return weft_fail(WEFT_E_INPUT,
                         "one of %s and %s is a design for a pipeline, the other is not; expected "
                         "two of one kind",
                         path[0], path[1]);
    }
    for (int i = 0; i < 2; i++)
        if (out->verdict[i].n_wrong == 0) /* a wrong design may have no quest */
            out->side[i] = side_of(path[i], &out->c[i], &out->verdict[i], a);
    return WEFT_OK;
}

void weft_pair_close(weft_pair *p)
{
    weft_case_close(&p->c[0]);
    weft_case_close(&p->c[1]);
}
