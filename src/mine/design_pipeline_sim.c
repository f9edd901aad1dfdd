/* SPDX-License-Identifier: MIT */
/* design_pipeline_sim.c: what a plan of designs and stages is worth, from its decisions alone.
 *
 * 1. Of each stage figures are summed block by block: every job of a block on the stage's design by
 *    weft_design_cost(), collectives, the stash of the microbatches that it keeps, weights,
 *    gradients and moments.
 * 2. Transfers, sums of gradients and moves of shared parameters by the links of the pipeline.
 * 3. The step is lowered to jobs and run by the simulator, as a step of training is
 *    (sim/lower_train.c). Transfers go beside computation, without contention.
 *
 * Searches have tables and recurrences of their own, none of which is used here. */
#include <math.h>

#include "design_pipeline.h"
#include "train_lowered.h"

static int64_t microbatches(const weft_design_pipeline *f)
{
    return f->batch / (f->microbatch * f->replicas);
}

/* --- shared parameters ----------------------------------------------------------------------- */

/* outer[i]: the cut that ends stage i. */
static int stage_of(const weft_blocks *u, const int *outer, int block)
{
    int i = 0;

    while (!weft_block_between(u, block, 0, outer[i]))
        i++;
    return i;
}

int weft_pipeline_moves(const weft_design_pipeline *f, const weft_design_pipeline_net *net,
                        const int *outer, weft_shared_move *move)
{
    const weft_blocks *u = &net->blocks;
    int n = 0;

    for (int k = 0; k < u->n_shared; k++) {
        int owner = stage_of(u, outer, u->shared[k].owner);
        int other = stage_of(u, outer, u->shared[k].other);
        double bytes = weft_pipeline_shared_bytes(net, k);
        double move_s = weft_link_cost_s(&f->between, bytes);

        if (!weft_shared_is_copy(u, k, other == 0 ? 0 : outer[other - 1], outer[other]))
            move[n++] = (weft_shared_move){k, owner, other, bytes, move_s, move_s};
    }
    return n;
}

/* --- stages ---------------------------------------------------------------------------------- */

/* Sums over the blocks of a stage. */
typedef struct sums {
    double static_bytes, sync_bytes, stash_bytes, work_bytes;
} sums;

static void add_block(const weft_design_pipeline *f, const weft_block_kind *kind,
                      const double *key_s, weft_design_pipeline_stage *s, sums *x)
{
    weft_block_time t = weft_block_time_of(kind, key_s);
    int split = f->is_split_moments ? f->replicas : 1;

    s->forward_s += t.forward_s;
    s->backward_s += t.backward_s + t.again_s[s->recompute];
    s->update_s += t.update_s / split;
    x->static_bytes +=
        kind->state.weight_bytes + kind->state.gradient_bytes + kind->state.moment_bytes / split;
    x->sync_bytes += kind->state.sync_bytes;
    x->stash_bytes += kind->cost.stash_bytes[s->recompute];
    x->work_bytes = fmax(x->work_bytes, kind->cost.work_bytes[s->recompute]);
}

static double hop_s(const weft_design_pipeline *f, double sample_bytes)
{
    return weft_link_cost_s(&f->between, (double)f->microbatch * sample_bytes);
}

static void fill_stage(const weft_template *t, const weft_design_pipeline *f,
                       const weft_design_pipeline_net *net, const weft_design_pipeline_plan *p,
                       int i, weft_design_pipeline_stage *s, weft_arena *scratch)
{
    const weft_blocks *u = &net->blocks;
    const weft_block_work *w = &net->work;
    weft_design d = weft_point_design(t, &s->point);
    double *key_s = WEFT_NEW(scratch, double, w->n_keys + 1), doubled_bytes = 0;
    int64_t m = microbatches(f);
    bool is_last = i + 1 == p->n_stages;
    sums x = {0};

    for (int k = 0; k < w->n_keys; k++)
        key_s[k] = weft_design_cost(&d, &w->key[k]).seconds;
    s->forward_s = s->backward_s = s->update_s = 0;
    for (int q = 0; q < u->n_blocks; q++)
        if (weft_block_between(u, q, s->first_cut, s->last_cut))
            add_block(f, &w->kind[w->kind_of[q]], key_s, s, &x);
    for (int k = 0; k < u->n_shared; k++) /* what two blocks of the stage read it has once */
        if (weft_shared_is_copy(u, k, s->first_cut, s->last_cut))
            doubled_bytes += 2 * weft_pipeline_shared_bytes(net, k);
    s->send_s = is_last ? 0 : hop_s(f, u->leave_bytes[s->last_cut]);
    s->return_s = is_last ? 0 : hop_s(f, u->back_bytes[s->last_cut]);
    s->sync_s = weft_ring_s(&f->between, f->replicas, WEFT_ALL_REDUCE, x.sync_bytes);
    s->memory_bytes =
        x.static_bytes - doubled_bytes + x.work_bytes +
        (double)weft_in_flight(WEFT_ONE_F_ONE_B, p->n_stages, i, m, 1) * x.stash_bytes;
    s->tdp_w = weft_design_point_tdp_w(t, &s->point);
}

/* --- the step -------------------------------------------------------------------------------- */

/* Lowers and runs what stages and moves say. */
static weft_status run(const weft_design_pipeline *f, const weft_design_pipeline_net *net,
                       const int *outer, weft_design_pipeline_plan *plan, weft_arena *a)
{
    int n = plan->n_stages;
    const weft_train_problem problem = {.blocks = net->blocks, .transfer = WEFT_OVERLAP};
    const weft_train_plan shape = {
        .schedule = WEFT_ONE_F_ONE_B, .microbatch = f->microbatch, .n_stages = n, .n_chunks = 1};
    weft_train_lowered d = {.p = &problem,
                            .plan = &shape,
                            .n_chunks = n,
                            .n_microbatches = microbatches(f),
                            .figures = WEFT_NEW(a, weft_chunk_figures, n),
                            .sync_s = WEFT_NEW(a, double, n),
                            .update_s = WEFT_NEW(a, double, n),
                            .move = WEFT_NEW(a, weft_shared_move, net->blocks.n_shared + 1)};

    for (int i = 0; i < n; i++) {
        const weft_design_pipeline_stage *s = &plan->stage[i];

        d.figures[i] = (weft_chunk_figures){.forward_s = s->forward_s,
                                            .backward_s = s->backward_s,
                                            .send_s = s->send_s,
                                            .return_s = s->return_s};
        d.sync_s[i] = s->sync_s;
        d.update_s[i] = s->update_s;
    }
    d.n_moves = weft_pipeline_moves(f, net, outer, d.move);
    WEFT_TRY(weft_train_lower_jobs(&d, a));
    plan->step_s = weft_run_jobs(d.jobs, a).end_of_all_s;
    plan->samples_per_s = (double)f->batch / plan->step_s;
    return WEFT_OK;
}

weft_status weft_pipeline_simulate(const weft_template *t, const weft_design_pipeline *f,
                                   const weft_design_pipeline_net *net, weft_arena *a,
                                   weft_design_pipeline_plan *plan)
{
    weft_design_pipeline_stage *stage =
        weft_arena_copy(a, plan->stage, (size_t)plan->n_stages * sizeof *stage);
    weft_arena *scratch = weft_arena_new();
    int *outer = WEFT_NEW(scratch, int, plan->n_stages);
    weft_status status;

    plan->stage = stage;
    for (int i = 0; i < plan->n_stages; i++)
        outer[i] = stage[i].last_cut;
    for (int i = 0; i < plan->n_stages; i++)
        fill_stage(t, f, net, plan, i, &stage[i], scratch);
    status = run(f, net, outer, plan, scratch);
    weft_arena_free(scratch);
    return status;
}
