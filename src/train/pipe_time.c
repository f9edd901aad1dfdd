/* SPDX-License-Identifier: MIT */
/* pipe_time.c: the seconds of a step by recurrence, without jobs and events.
 *
 * One chunk a stage. Stage i runs K_i = weft_in_flight forwards, then backward and forward in turn,
 * then the backwards that are left. K falls along the pipeline, so for j = 0, 1, ..
 *   1. all stages, first to last: forwards up to microbatch j + K_i - 1; each starts when the stage
 *      is free and its activations have come;
 *   2. all stages, last to first: backward of microbatch j, in the same way.
 * Everything that a job waits for has then been computed before it. Under contend, or on platforms
 * with shared resources, the transfers of one direction between two stages follow each other, in
 * the order of microbatches.
 *
 * Several chunks a stage: every stage goes on through its order as far as what it waits for is
 * known, the stages in turn, until all are through.
 *
 * The end: a stage sums gradients after its last backward (an owner of shared parameters also after
 * the gradients of these have come), updates, and sends shared values back.
 *
 * Equal to the simulator to rounding (tests). Contention between several chunks, or with shared
 * parameters, is left to the simulator itself. O(chunks * microbatches). */
#include <math.h>

#include "space.h"
#include "train_lowered.h"

weft_pipe_stage_times weft_pipe_stage_times_new(int n_stages, int n_chunks, int n_shared,
                                                weft_arena *a)
{
    int n = n_stages * n_chunks;

    return (weft_pipe_stage_times){
        .n_stages = n_stages,
        .n_chunks = n_chunks,
        .forward_s = WEFT_NEW(a, double, n),
        .backward_s = WEFT_NEW(a, double, n),
        .send_s = WEFT_NEW(a, double, n),
        .return_s = WEFT_NEW(a, double, n),
        .sync_s = WEFT_NEW(a, double, n_stages),
        .update_s = WEFT_NEW(a, double, n_stages),
        .shared = WEFT_NEW(a, weft_pipe_shared, n_shared + 1),
    };
}

/* --- the end of a step ----------------------------------------------------------------------- */

/* last_s: [n_stages] end of the last backward; chunk_s: [chunks] the same of each chunk, which may
 * have given its gradients before its stage is through. */
static double finish(const weft_pipe_stage_times *b, const double *last_s, const double *chunk_s,
                     weft_arena *scratch)
{
    double *ready_s = WEFT_NEW(scratch, double, b->n_stages), end_s = 0;

    for (int i = 0; i < b->n_stages; i++)
        ready_s[i] = last_s[i];
    for (int k = 0; k < b->n_shared; k++) {
        const weft_pipe_shared *s = &b->shared[k];

        ready_s[s->owner] = fmax(ready_s[s->owner], chunk_s[s->other] + s->gradient_s);
    }
    for (int i = 0; i < b->n_stages; i++) {
        ready_s[i] += b->sync_s[i] + b->update_s[i];
        end_s = fmax(end_s, ready_s[i]);
    }
    for (int k = 0; k < b->n_shared; k++)
        end_s = fmax(end_s, ready_s[b->shared[k].owner] + b->shared[k].value_s);
    return end_s;
}

/* --- one chunk a stage ----------------------------------------------------------------------- */

/* A stage on its way. */
typedef struct lane {
    double free_s;             /* the stage */
    double sent_s, returned_s; /* the link to the next stage; the link back from there */
    int64_t n_forward, in_flight;
    double *arrival_s; /* [m] of what stage i makes, at stage i + 1 */
    double gradient_s; /* arrival of the gradients of the microbatch at hand */
} lane;

static void run_forwards(const weft_pipe_stage_times *b, lane *l, int i, int64_t j)
{
    int64_t end = j + l[i].in_flight < b->n_microbatches ? j + l[i].in_flight : b->n_microbatches;
    lane *s = &l[i];

    for (; s->n_forward < end; s->n_forward++) {
        double start_s = s->free_s, out_s;

        if (i > 0)
            start_s = fmax(start_s, l[i - 1].arrival_s[s->n_forward]);
        if (b->forward_at_s != NULL)
            b->forward_at_s[i * b->n_microbatches + s->n_forward] = start_s;
        s->free_s = out_s = start_s + b->forward_s[i];
        if (b->is_contend)
            out_s = fmax(out_s, s->sent_s);
        s->sent_s = s->arrival_s[s->n_forward] = out_s + b->send_s[i];
    }
}

static void run_backward(const weft_pipe_stage_times *b, lane *l, int i, int64_t j)
{
    double start_s = l[i].free_s, out_s;

    if (i + 1 < b->n_stages)
        start_s = fmax(start_s, l[i].gradient_s);
    if (b->backward_at_s != NULL)
        b->backward_at_s[i * b->n_microbatches + j] = start_s;
    l[i].free_s = out_s = start_s + b->backward_s[i];
    if (i == 0)
        return;
    if (b->is_contend)
        out_s = fmax(out_s, l[i - 1].returned_s);
    l[i - 1].returned_s = l[i - 1].gradient_s = out_s + b->return_s[i - 1];
}

static double plain_step(const weft_pipe_stage_times *b, weft_arena *scratch)
{
    lane *l = WEFT_NEW(scratch, lane, b->n_stages);
    double *last_s = WEFT_NEW(scratch, double, b->n_stages);

    for (int i = 0; i < b->n_stages; i++) {
        l[i].in_flight = weft_in_flight(b->schedule, b->n_stages, i, b->n_microbatches, 1);
        l[i].arrival_s = WEFT_NEW_RAW(scratch, double, b->n_microbatches);
    }
    for (int64_t j = 0; j < b->n_microbatches; j++) {
        for (int i = 0; i < b->n_stages; i++)
            run_forwards(b, l, i, j);
        for (int i = b->n_stages - 1; i >= 0; i--)
            run_backward(b, l, i, j);
    }
    for (int i = 0; i < b->n_stages; i++)
        last_s[i] = l[i].free_s;
    return finish(b, last_s, last_s, scratch);
}

/* --- several chunks a stage ------------------------------------------------------------------ */

typedef struct weave {
    const weft_pipe_stage_times *b;
    const int64_t **order; /* [n_stages] */
    int64_t n_order, *at;  /* length of an order; [n_stages] how far each stage is */
    double *free_s;        /* [n_stages] */
    double *forward_end_s, *backward_end_s; /* [chunks * m]; NAN: not known yet */
} weave;

/* Runs the next job of a stage; false: what it waits for is not known. */
static bool run_next(weave *w, int stage)
{
    const weft_pipe_stage_times *b = w->b;
    int64_t m = b->n_microbatches, job = w->order[stage][w->at[stage]] / 2, j = job % m;
    bool is_backward = w->order[stage][w->at[stage]] & 1;
    int64_t c = job / m * b->n_stages + stage, last = (int64_t)b->n_stages * b->n_chunks - 1;
    double start_s = w->free_s[stage];

    if (is_backward && c < last)
        start_s = fmax(start_s, w->backward_end_s[(c + 1) * m + j] + b->return_s[c]);
    if (!is_backward && c > 0)
        start_s = fmax(start_s, w->forward_end_s[(c - 1) * m + j] + b->send_s[c - 1]);
    if (is_backward && c < last && isnan(w->backward_end_s[(c + 1) * m + j]))
        return false;
    if (!is_backward && c > 0 && isnan(w->forward_end_s[(c - 1) * m + j]))
        return false;
    w->free_s[stage] = start_s + (is_backward ? b->backward_s[c] : b->forward_s[c]);
    (is_backward ? w->backward_end_s : w->forward_end_s)[c * m + j] = w->free_s[stage];
    w->at[stage]++;
    return true;
}

static double woven_step(const weft_pipe_stage_times *b, weft_arena *scratch)
{
    int64_t n_jobs = b->n_microbatches * b->n_stages * b->n_chunks;
    int n_chunks = b->n_stages * b->n_chunks;
    double *chunk_s = WEFT_NEW(scratch, double, n_chunks);
    weave w = {.b = b};
    bool is_moving = true;

    w.order = WEFT_NEW(scratch, const int64_t *, b->n_stages);
    w.at = WEFT_NEW(scratch, int64_t, b->n_stages);
    w.free_s = WEFT_NEW(scratch, double, b->n_stages);
    w.forward_end_s = WEFT_NEW_RAW(scratch, double, n_jobs);
    w.backward_end_s = WEFT_NEW_RAW(scratch, double, n_jobs);
    for (int64_t k = 0; k < n_jobs; k++)
        w.forward_end_s[k] = w.backward_end_s[k] = NAN;
    for (int i = 0; i < b->n_stages; i++)
        w.n_order = weft_schedule_order(b->schedule, b->n_stages, i, b->n_microbatches, b->n_chunks,
                                        scratch, &w.order[i]);
    while (is_moving) {
        is_moving = false;
        for (int i = 0; i < b->n_stages; i++)
            while (w.at[i] < w.n_order && run_next(&w, i))
                is_moving = true;
    }
    for (int i = 0; i < b->n_stages; i++)
        if (w.at[i] < w.n_order)
            return INFINITY; /* the orders contradict each other */
    for (int c = 0; c < n_chunks; c++)
        chunk_s[c] = w.backward_end_s[(c + 1) * b->n_microbatches - 1];
    return finish(b, w.free_s, chunk_s, scratch);
}

double weft_pipe_step_s(const weft_pipe_stage_times *b, weft_arena *scratch)
{
    size_t mark = weft_arena_mark(scratch);
    double step_s = b->n_chunks > 1 ? woven_step(b, scratch) : plain_step(b, scratch);

    weft_arena_rewind(scratch, mark);
    return step_s;
}

/* --- of a plan ------------------------------------------------------------------------------- */

/* By events: transfers of several kinds meet on the links. */
static double simulated_s(const weft_train_problem *p, const weft_train_plan *plan,
                          weft_arena *scratch)
{
    weft_train_lowered draft;

    if (weft_train_lower(p, plan, scratch, &draft) != WEFT_OK)
        return INFINITY;
    return weft_run_jobs(draft.jobs, scratch).end_of_all_s;
}

static weft_pipe_stage_times stage_times_of(const weft_train_lowered *d, weft_arena *a)
{
    int n_stages = d->plan->n_stages;
    weft_pipe_stage_times b = weft_pipe_stage_times_new(n_stages, d->plan->n_chunks, d->n_moves, a);

    b.schedule = d->plan->schedule;
    b.n_microbatches = d->n_microbatches;
    b.is_contend = weft_hops_queue(d->p);
    for (int c = 0; c < d->n_chunks; c++) {
        b.forward_s[c] = d->figures[c].forward_s;
        b.backward_s[c] = d->figures[c].backward_s + d->figures[c].again_s;
        b.send_s[c] = d->figures[c].send_s;
        b.return_s[c] = d->figures[c].return_s;
    }
    for (int i = 0; i < n_stages; i++) {
        b.sync_s[i] = d->sync_s[i];
        b.update_s[i] = d->update_s[i];
    }
    b.n_shared = d->n_moves;
    for (int k = 0; k < d->n_moves; k++)
        b.shared[k] =
            (weft_pipe_shared){weft_chunk_stage(d, d->move[k].owner_chunk), d->move[k].other_chunk,
                               d->move[k].gradient_s, d->move[k].value_s};
    return b;
}

double weft_pipe_plan_s(const weft_train_problem *p, const weft_train_plan *plan,
                        weft_arena *scratch)
{
    size_t mark = weft_arena_mark(scratch);
    weft_train_lowered draft;
    weft_pipe_stage_times stage_times;
    double step_s;

    weft_train_lower_figures(p, plan, scratch, &draft);
    stage_times = stage_times_of(&draft, scratch);
    if (stage_times.is_contend && (stage_times.n_chunks > 1 || stage_times.n_shared > 0))
        step_s = simulated_s(p, plan, scratch);
    else
        step_s = weft_pipe_step_s(&stage_times, scratch);
    weft_arena_rewind(scratch, mark);
    return step_s;
}
