/* SPDX-License-Identifier: MIT */
/* train_check.c: the rules that a plan of training must keep, by their definitions alone.
 *
 * 1. The whole: a schedule that is allowed; microbatches that divide the batch, of the size that
 * was asked for; no more stages than allowed; several chunks of a stage only with interleaving,
 * which needs two or more and a number of microbatches that the stages divide.
 * 2. Cuts exist, begin with nothing, end with all, and each one has units that the one before
 * lacks.
 * 3. Stages: width, recomputation, replicas as allowed; parts of classes that exist, blocks that
 *    exist, samples for which there are costs; together they get every sample of a microbatch.
 * 4. No device works twice.
 * Memory depends on time: the simulator measures it. A rule that cannot be looked at because an
 * earlier one is broken is left out. */
#include <limits.h>
#include <string.h>

#include "train_plan.h"
#include "violations.h"

typedef struct checker {
    const weft_train_problem *p;
    const weft_train_plan *plan;
    weft_violations v;
} checker;

/* --- the whole ------------------------------------------------------------------------------- */

/* The numbers of stages and chunks are such that cuts and stages can be looked at. */
static bool check_size(checker *c)
{
    const weft_train_plan *plan = c->plan;
    int most = c->p->constraints.most_stages;

    if (plan->n_stages < 1 || plan->n_chunks < 1 ||
        plan->n_stages > c->p->blocks.n_blocks / plan->n_chunks) {
        weft_violate(&c->v,
                     "%d stages of %d chunks each: every chunk needs a unit, the "
                     "network has %d",
                     plan->n_stages, plan->n_chunks, c->p->blocks.n_blocks);
        return false;
    }
    if (most > 0 && plan->n_stages > most)
        weft_violate(&c->v, "%d stages, at most %d are allowed", plan->n_stages, most);
    if (!weft_counts_allow(&c->p->constraints.pp, plan->n_stages))
        weft_violate(&c->v, "%d stages, %s are asked for", plan->n_stages,
                     weft_counts_text(&c->p->constraints.pp, c->v.a));
    return true;
}

static void check_microbatch(checker *c)
{
    const weft_train_constraints *constraints = &c->p->constraints;
    long long microbatch = c->plan->microbatch;

    if (microbatch < 1 || constraints->batch % microbatch != 0)
        weft_violate(&c->v, "microbatches of %lld samples do not divide the batch of %lld",
                     microbatch, (long long)constraints->batch);
    if (constraints->microbatch > 0 && microbatch != constraints->microbatch)
        weft_violate(&c->v, "microbatches of %lld samples, %lld are asked for", microbatch,
                     (long long)constraints->microbatch);
}

static void check_interleaving(checker *c)
{
    const weft_train_plan *plan = c->plan;
    int most = c->p->constraints.most_chunks;
    long long m = plan->microbatch > 0 ? c->p->constraints.batch / plan->microbatch : 0;

    if (c->p->constraints.chunks > 0 && plan->n_chunks != c->p->constraints.chunks)
        weft_violate(&c->v, "%d chunks of each stage, %d are asked for", plan->n_chunks,
                     c->p->constraints.chunks);
    if (plan->schedule != WEFT_INTERLEAVED) {
        if (plan->n_chunks != 1)
            weft_violate(&c->v, "%d chunks of each stage, schedule '%s' has one", plan->n_chunks,
                         weft_schedule_name(plan->schedule));
        return;
    }
    if (plan->n_chunks < 2 || plan->n_chunks > most)
        weft_violate(&c->v, "%d chunks of each stage, schedule 'interleaved' allows 2 to %d",
                     plan->n_chunks, most);
    if (m % plan->n_stages != 0)
        weft_violate(&c->v,
                     "%lld microbatches are no multiple of %d stages, as schedule "
                     "'interleaved' needs",
                     m, plan->n_stages);
}

static void check_schedule(checker *c)
{
    int schedule = (int)c->plan->schedule;

    if (schedule < 0 || schedule >= WEFT_N_SCHEDULES) {
        weft_violate(&c->v, "schedule %d does not exist", schedule);
        return;
    }
    if (!(c->p->constraints.schedules >> schedule & 1))
        weft_violate(&c->v, "schedule '%s' is not allowed", weft_schedule_name(c->plan->schedule));
    check_interleaving(c);
}

/* --- cuts ------------------------------------------------------------------------------------ */

static void check_cuts(checker *c)
{
    const weft_blocks *u = &c->p->blocks;
    const int *cut = c->plan->cut;
    int n = c->plan->n_stages * c->plan->n_chunks;

    for (int k = 0; k <= n; k++)
        if (cut[k] < 0 || cut[k] >= u->n_cuts) {
            weft_violate(&c->v, "chunk %d is cut at %d, expected 0 to %d", k, cut[k],
                         u->n_cuts - 1);
            return;
        }
    if (cut[0] != 0)
        weft_violate(&c->v, "units before chunk 0 are on no stage");
    if (cut[n] != u->n_cuts - 1)
        weft_violate(&c->v, "units after chunk %d are on no stage", n - 1);
    for (int k = 0; k < n; k++)
        if (cut[k] == cut[k + 1])
            weft_violate(&c->v, "chunk %d (stage %d) has no unit", k, k % c->plan->n_stages);
        else if (!weft_cut_within(u, cut[k], cut[k + 1]))
            weft_violate(&c->v,
                         "chunk %d (stage %d) ends before units that earlier chunks "
                         "have",
                         k, k % c->plan->n_stages);
}

/* --- stages ---------------------------------------------------------------------------------- */

static void check_recompute(checker *c, int i)
{
    int recompute = (int)c->plan->stage[i].recompute;

    if (recompute < 0 || recompute >= WEFT_N_RECOMPUTES)
        weft_violate(&c->v, "stage %d: recomputation %d does not exist", i, recompute);
    else if (!(c->p->constraints.recomputes >> recompute & 1))
        weft_violate(&c->v, "stage %d: recomputation '%s' is not allowed", i,
                     weft_recompute_name((weft_recompute)recompute));
}

/* Width and number of parts are such that parts can be looked at. */
static bool check_width(checker *c, int i)
{
    const weft_stage *s = &c->plan->stage[i];
    int most = c->p->constraints.most_width;

    if (s->n_parts < 1 || s->n_parts > WEFT_MAX_PARTS) {
        weft_violate(&c->v, "stage %d has %d groups of devices, expected 1 to %d", i, s->n_parts,
                     (int)WEFT_MAX_PARTS);
        return false;
    }
    if (weft_width_place(c->p, s->width) < 0) {
        weft_violate(&c->v, "stage %d: there are no costs of tensor width %d", i, s->width);
        return false;
    }
    if (most > 0 && s->width > most)
        weft_violate(&c->v, "stage %d has tensor width %d, at most %d is allowed", i, s->width,
                     most);
    if (!weft_counts_allow(&c->p->constraints.tp, s->width))
        weft_violate(&c->v, "stage %d has tensor width %d, %s is asked for", i, s->width,
                     weft_counts_text(&c->p->constraints.tp, c->v.a));
    return true;
}

/* The blocks exist. */
static bool check_blocks(checker *c, int i, const weft_device_set_part *part)
{
    const weft_class *class;
    int n;
    int64_t last = part->first + ((int64_t)part->n_blocks - 1) * part->step;

    if (part->class_id < 0 || part->class_id >= c->p->cluster->n_classes) {
        weft_violate(&c->v, "stage %d: class %d of devices, expected 0 to %d", i, part->class_id,
                     c->p->cluster->n_classes - 1);
        return false;
    }
    class = &c->p->cluster->classes[part->class_id];
    n = weft_class_blocks(class, c->plan->stage[i].width);
    if (part->n_blocks < 1 || part->first < 0 || (part->step < 1 && part->n_blocks > 1) ||
        last >= n) {
        weft_violate(&c->v,
                     "stage %d: %d blocks of '%s' from %d in steps of %d; there are "
                     "%d of %d devices",
                     i, part->n_blocks, class->kind, part->first, part->step, n,
                     c->plan->stage[i].width);
        return false;
    }
    return true;
}

static void check_samples(checker *c, int i, const weft_device_set_part *part)
{
    const weft_stage *s = &c->plan->stage[i];
    int share = weft_share_place(c->p, part->samples);
    int table;

    if (!weft_counts_allow(&c->p->constraints.mbs, part->samples))
        weft_violate(&c->v, "stage %d: replicas get %lld samples, %s are asked for", i,
                     (long long)part->samples, weft_counts_text(&c->p->constraints.mbs, c->v.a));
    if (share < 0) {
        weft_violate(&c->v, "stage %d: there are no costs of %lld samples", i,
                     (long long)part->samples);
        return;
    }
    table = weft_train_problem_table(c->p, part->class_id, weft_width_place(c->p, s->width), share);
    if (c->p->cost[table] == NULL)
        weft_violate(&c->v, "stage %d: '%s' cannot run %lld samples at tensor width %d", i,
                     c->p->cluster->classes[part->class_id].kind, (long long)part->samples,
                     s->width);
}

/* stage_of: [devices of the platform] the stage that each works for; -1: none. */
static void take_devices(checker *c, int i, int *stage_of)
{
    weft_block_walk b = weft_walk_blocks(c->p, &c->plan->stage[i]);

    while (weft_walk_next(&b))
        for (int q = 0; q < c->plan->stage[i].width; q++) {
            const char *name = c->p->cluster->platform->device[b.member[q]].name;
            int *stage = &stage_of[b.member[q]];

            if (*stage == i)
                weft_violate(&c->v, "'%s' is in stage %d twice", name, i);
            else if (*stage >= 0)
                weft_violate(&c->v, "'%s' is in stage %d and in stage %d", name, *stage, i);
            *stage = i;
        }
}

static void check_sums(checker *c, int i)
{
    const weft_stage *s = &c->plan->stage[i];
    int most = c->p->constraints.most_replicas;
    int64_t n_blocks = 0;
    double samples = 0; /* no sum of samples overflows */

    for (int k = 0; k < s->n_parts; k++) {
        n_blocks += s->part[k].n_blocks;
        samples += (double)s->part[k].n_blocks * (double)s->part[k].samples;
    }
    if (samples < (double)c->plan->microbatch || samples > (double)c->plan->microbatch)
        weft_violate(&c->v, "stage %d: its devices get %.0f samples of a microbatch of %lld", i,
                     samples, (long long)c->plan->microbatch);
    if (most > 0 && n_blocks > most)
        weft_violate(&c->v, "stage %d has %lld replicas, at most %d are allowed", i,
                     (long long)n_blocks, most);
    if (!weft_counts_allow(&c->p->constraints.dp, n_blocks))
        weft_violate(&c->v, "stage %d has %lld replicas, %s are asked for", i, (long long)n_blocks,
                     weft_counts_text(&c->p->constraints.dp, c->v.a));
}

static void check_stage(checker *c, int i, int *stage_of)
{
    const weft_stage *s = &c->plan->stage[i];
    bool is_whole = true;

    check_recompute(c, i);
    if (!check_width(c, i))
        return;
    for (int k = 0; k < s->n_parts; k++)
        if (check_blocks(c, i, &s->part[k]))
            check_samples(c, i, &s->part[k]);
        else
            is_whole = false;
    if (!is_whole)
        return;
    check_sums(c, i);
    take_devices(c, i, stage_of);
}

int weft_train_plan_check(const weft_train_problem *p, const weft_train_plan *plan,
                          weft_violation *violation, int most, weft_arena *a)
{
    checker c = {
        p, plan, {violation, 0, most, a, 0}
    };
    int n_devices = p->cluster->platform->n_devices, *stage_of;

    if (plan->variant < 0 || plan->variant >= weft_train_n_variants(p)) {
        weft_violate(&c.v, "variant %d of the problem, it has %d", plan->variant,
                     weft_train_n_variants(p));
        return c.v.n;
    }
    c.p = weft_train_variant(p, plan);
    check_microbatch(&c);
    if (!check_size(&c))
        return c.v.n;
    check_schedule(&c);
    check_cuts(&c);
    stage_of = WEFT_NEW(a, int, n_devices);
    for (int d = 0; d < n_devices; d++)
        stage_of[d] = -1;
    for (int i = 0; i < plan->n_stages; i++)
        check_stage(&c, i, stage_of);
    return c.v.n;
}
