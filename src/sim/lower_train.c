/* SPDX-License-Identifier: MIT */
/* lower_train.c: a plan of training as jobs on resources.
 *
 * With C chunks and m microbatches, jobs are numbered so:
 *   1. 2 (c m + j): forward of microbatch j through chunk c; the next number: its backward.
 *   2. For each chunk whose way to the next takes time: m sends, then, if the way back does, m
 *      returns of that next chunk's gradients.
 *   3. Gradients of shared parameters to their owners; of each stage sum and update, where they
 * take time; values of shared parameters back. What takes no time has no job in 2 and 3: what would
 * wait for it waits for what it would have waited for.
 *
 * Stages are queues: 1 in the order of the schedule, then sum, then update. Transfers use nothing
 * but, under contend, the direction of the link between their two stages; of two that are ready at
 * one time the one with the lower number of the job that made its data comes first (gradients and
 * values of shared parameters after all others, in the order of the list). On platforms with shared
 * resources (train_shared.c) the sends of a chunk follow each other, and so do its returns.
 *
 * Whether a run gets stuck is for the event loop to say; no schedule here does (tests run them
 * all).
 *
 * Time O(jobs + units). */
#include <math.h>

#include "parts.h"
#include "train_lowered.h"

/* --- jobs ------------------------------------------------------------------------------------ */

/* Jobs while they are written, in the order of their numbers. */
typedef struct writer {
    weft_train_lowered *d;
    weft_jobs *jobs;            /* n_jobs: so far */
    int *send_job, *return_job; /* [n_chunks] first of m jobs, or -1: it takes no time */
    int *first_device;          /* [n_stages] */
    int *link;                  /* directions between stages: from, to */
} writer;

static int64_t count_jobs(const weft_train_lowered *d)
{
    int64_t n = 2 * d->n_chunks + 2 * d->plan->n_stages + 2 * d->n_moves;

    for (int c = 0; c < d->n_chunks; c++)
        n += d->n_microbatches *
             (2 + (d->figures[c].send_s > 0) + (int64_t)(d->figures[c].return_s > 0));
    return n;
}

static writer new_writer(weft_train_lowered *d, weft_arena *a)
{
    int n = (int)count_jobs(d), n_stages = d->plan->n_stages;
    writer w = {
        .d = d,
        .jobs = weft_jobs_new(n, n_stages + 2 * (d->n_chunks + d->n_moves),
                              2 * (int64_t)n + d->n_moves, n, a),
        .send_job = WEFT_NEW(a, int, d->n_chunks),
        .return_job = WEFT_NEW(a, int, d->n_chunks),
        .first_device = WEFT_NEW(a, int, n_stages),
        .link = WEFT_NEW(a, int, 4 * (d->n_chunks + d->n_moves)),
    };

    d->part = WEFT_NEW_RAW(a, weft_train_part, n);
    w.jobs->n_jobs = 0;
    w.jobs->n_resources = n_stages;
    for (int i = 0; i < n_stages; i++)
        w.jobs->is_queue[i] = true;
    for (int i = 0; i < n_stages && d->p->cluster != NULL; i++) {
        weft_block_walk b = weft_walk_blocks(d->p, &d->plan->stage[i]);

        weft_walk_next(&b);
        w.first_device[i] = b.member[0];
    }
    return w;
}

/* A job of which everything is known; -1 among the things it waits for or uses: nothing. */
typedef struct job {
    weft_train_part part;
    double duration_s;
    int task, item;
    int from, to; /* stages of a transfer; else -1 */
    int dep[2];
    int resource;
    int64_t rank;
} job;

static int add_job(writer *w, const job *j)
{
    weft_jobs *to = w->jobs;
    int i = to->n_jobs++, n_deps = to->dep_at[i], n_uses = to->use_at[i];

    to->duration_s[i] = j->duration_s;
    w->d->part[i] = j->part;
    to->kind[i] = j->from < 0 && j->part != WEFT_TRAIN_SYNC ? WEFT_JOB_COMPUTE : WEFT_JOB_TRANSFER;
    to->task[i] = j->task;
    to->item[i] = j->item;
    to->from[i] = j->from < 0 ? -1 : w->first_device[j->from];
    to->to[i] = j->to < 0 ? -1 : w->first_device[j->to];
    to->rank[i] = j->rank;
    for (int k = 0; k < 2; k++)
        if (j->dep[k] >= 0)
            to->dep[n_deps++] = j->dep[k];
    to->dep_at[i + 1] = n_deps;
    if (j->resource >= 0)
        to->use[n_uses++] = j->resource;
    to->use_at[i + 1] = n_uses;
    return i;
}

/* The last job waits for one more. */
static void wait_too(writer *w, int other)
{
    w->jobs->dep[w->jobs->dep_at[w->jobs->n_jobs]++] = other;
}

/* The direction between two stages; -1: transfers use nothing. */
static int link_between(writer *w, int from, int to)
{
    int k = 0, n_stages = w->d->plan->n_stages, n_links = w->jobs->n_resources - n_stages;

    if (w->d->p->transfer != WEFT_CONTEND)
        return -1;
    while (k < n_links && (w->link[2 * k] != from || w->link[2 * k + 1] != to))
        k++;
    w->link[2 * k] = from;
    w->link[2 * k + 1] = to;
    w->jobs->n_resources += k == n_links;
    return n_stages + k;
}

/* What the hops from one chunk to another use one after the other; -1: nothing. */
static int lane_between(writer *w, int from, int to)
{
    if (w->d->p->transfer == WEFT_CONTEND || !weft_hops_queue(w->d->p))
        return link_between(w, from, to);
    return w->jobs->n_resources++;
}

/* --- forward and backward -------------------------------------------------------------------- */

/* Numbers of the jobs that the transfers will have: chunk by chunk. */
static void number_transfers(writer *w)
{
    const weft_train_lowered *d = w->d;
    int m = (int)d->n_microbatches, next = 2 * d->n_chunks * m;

    for (int c = 0; c < d->n_chunks; c++) {
        w->send_job[c] = d->figures[c].send_s > 0 ? next : -1;
        next += d->figures[c].send_s > 0 ? m : 0;
        w->return_job[c] = d->figures[c].return_s > 0 ? next : -1;
        next += d->figures[c].return_s > 0 ? m : 0;
    }
}

static int forward_job(const writer *w, int c, int j)
{
    return 2 * (c * (int)w->d->n_microbatches + j);
}

/* Brings the activations of microbatch j to chunk c; -1: they are there. */
static int activation_job(const writer *w, int c, int j)
{
    if (c == 0)
        return -1;
    return w->send_job[c - 1] >= 0 ? w->send_job[c - 1] + j : forward_job(w, c - 1, j);
}

/* Brings their gradients to chunk c. */
static int gradient_job(const writer *w, int c, int j)
{
    if (c + 1 == w->d->n_chunks)
        return -1;
    return w->return_job[c] >= 0 ? w->return_job[c] + j : forward_job(w, c + 1, j) + 1;
}

static void add_computation(writer *w)
{
    const weft_train_lowered *d = w->d;
    int m = (int)d->n_microbatches;

    for (int c = 0; c < d->n_chunks; c++) {
        const weft_chunk_figures *f = &d->figures[c];
        job x = {.task = c, .from = -1, .to = -1, .resource = weft_chunk_stage(d, c)};

        for (int j = 0; j < m; j++) {
            x.item = j;
            x.part = WEFT_TRAIN_FORWARD;
            x.duration_s = f->forward_s;
            x.dep[0] = activation_job(w, c, j);
            x.dep[1] = -1;
            add_job(w, &x);
            x.part = WEFT_TRAIN_BACKWARD;
            x.duration_s = f->backward_s + f->again_s;
            x.dep[0] = forward_job(w, c, j);
            x.dep[1] = gradient_job(w, c, j);
            add_job(w, &x);
        }
    }
    for (int i = 0; i < d->plan->n_stages; i++)
        for (int64_t k = 0; k < d->n_order; k++)
            w->jobs->rank[weft_order_job(d, i, k)] = k;
}

/* m transfers from chunk `from` to chunk `to`, behind its forward or backward jobs. */
static void add_transfers(writer *w, weft_train_part part, int from, int to, double duration_s)
{
    int a = weft_chunk_stage(w->d, from), b = weft_chunk_stage(w->d, to);
    job x = {
        part, duration_s, from, 0, a, b, {-1, -1},
              -1, 0
    };

    if (!(duration_s > 0))
        return;
    x.resource = lane_between(w, a, b);
    for (int j = 0; j < (int)w->d->n_microbatches; j++) {
        x.item = j;
        x.dep[0] = forward_job(w, from, j) + (part == WEFT_TRAIN_RETURN);
        x.rank = x.dep[0];
        add_job(w, &x);
    }
}

/* --- the end of the step --------------------------------------------------------------------- */

/* Move k to the owner after job `after`, or back. */
static int add_shared(writer *w, int k, bool is_to_owner, int after)
{
    const weft_train_lowered *d = w->d;
    const weft_shared_move *x = &d->move[k];
    int from_chunk = is_to_owner ? x->other_chunk : x->owner_chunk;
    int from = weft_chunk_stage(d, from_chunk);
    int to = weft_chunk_stage(d, is_to_owner ? x->owner_chunk : x->other_chunk);
    int64_t rank = 2 * d->n_chunks * d->n_microbatches + k;
    job y = {
        WEFT_TRAIN_SHARED,
        is_to_owner ? x->gradient_s : x->value_s,
        from_chunk,
        -1,
        from,
        to,
        {after, -1},
        link_between(w, from, to),
        is_to_owner ? rank : rank + d->n_moves
    };
    int i = add_job(w, &y);

    w->jobs->tensor[i] = d->p->blocks.shared[x->shared].tensor;
    return i;
}

static bool is_owner(const weft_train_lowered *d, int move, int stage)
{
    return weft_chunk_stage(d, d->move[move].owner_chunk) == stage;
}

/* Sum and update of stage i; returns the job that makes the new parameters. gradient: [n_moves] the
 * jobs that bring shared gradients. */
static int add_update(writer *w, int i, const int *gradient)
{
    const weft_train_lowered *d = w->d;
    int last = weft_order_job(d, i, d->n_order - 1);
    job x = {
        WEFT_TRAIN_SYNC, d->sync_s[i], i, -1, -1, -1, {last, -1},
              i, d->n_order
    };
    bool is_awaited = false;

    for (int k = 0; k < d->n_moves; k++)
        is_awaited |= is_owner(d, k, i);
    if (d->sync_s[i] > 0 || is_awaited)
        last = add_job(w, &x);
    for (int k = 0; k < d->n_moves; k++)
        if (is_owner(d, k, i))
            wait_too(w, gradient[k]);
    if (d->update_s[i] > 0) {
        x = (job){
            WEFT_TRAIN_UPDATE, d->update_s[i], i, -1, -1, -1, {last, -1},
                  i, d->n_order + 1
        };
        last = add_job(w, &x);
    }
    return last;
}

static void add_end(writer *w, weft_arena *a)
{
    const weft_train_lowered *d = w->d;
    int *gradient = WEFT_NEW(a, int, d->n_moves + 1),
        *updated = WEFT_NEW(a, int, d->plan->n_stages);

    for (int k = 0; k < d->n_moves; k++) {
        gradient[k] = forward_job(w, d->move[k].other_chunk, (int)d->n_microbatches - 1) + 1;
        if (d->move[k].gradient_s > 0)
            gradient[k] = add_shared(w, k, true, gradient[k]);
    }
    for (int i = 0; i < d->plan->n_stages; i++)
        updated[i] = add_update(w, i, gradient);
    for (int k = 0; k < d->n_moves; k++)
        if (d->move[k].value_s > 0)
            add_shared(w, k, false, updated[weft_chunk_stage(d, d->move[k].owner_chunk)]);
}

/* --- the whole ------------------------------------------------------------------------------- */

static void write_jobs(weft_train_lowered *d, weft_arena *a)
{
    writer w = new_writer(d, a);

    number_transfers(&w);
    add_computation(&w);
    for (int c = 0; c + 1 < d->n_chunks; c++) {
        add_transfers(&w, WEFT_TRAIN_SEND, c, c + 1, d->figures[c].send_s);
        add_transfers(&w, WEFT_TRAIN_RETURN, c + 1, c, d->figures[c].return_s);
    }
    add_end(&w, a);
    d->jobs = w.jobs;
}

static weft_status check_links(const weft_train_lowered *d)
{
    for (int c = 0; c < d->n_chunks; c++)
        if (!isfinite(d->figures[c].send_s) || !isfinite(d->figures[c].return_s))
            return weft_fail(WEFT_E_INPUT, "no route between devices of stage %d and stage %d",
                             weft_chunk_stage(d, c), weft_chunk_stage(d, c + 1));
    for (int i = 0; i < d->plan->n_stages; i++)
        if (!isfinite(d->sync_s[i]))
            return weft_fail(WEFT_E_INPUT, "no route between the replicas of stage %d", i);
    for (int k = 0; k < d->n_moves; k++)
        if (!isfinite(d->move[k].gradient_s) || !isfinite(d->move[k].value_s))
            return weft_fail(WEFT_E_INPUT,
                             "no route for the parameter that stage %d and stage %d share",
                             weft_chunk_stage(d, d->move[k].owner_chunk),
                             weft_chunk_stage(d, d->move[k].other_chunk));
    return WEFT_OK;
}

weft_status weft_train_lower_jobs(weft_train_lowered *d, weft_arena *a)
{
    const weft_train_plan *plan = d->plan;

    if (d->n_microbatches > WEFT_MOST_TRAIN_JOBS || count_jobs(d) > WEFT_MOST_TRAIN_JOBS)
        return weft_fail(WEFT_E_INPUT,
                         "%lld microbatches on %d stages are more than can be simulated (%d jobs): "
                         "larger microbatches are needed",
                         (long long)d->n_microbatches, plan->n_stages, (int)WEFT_MOST_TRAIN_JOBS);
    d->order = WEFT_NEW(a, const int64_t *, plan->n_stages);
    for (int i = 0; i < plan->n_stages; i++)
        d->n_order = weft_schedule_order(plan->schedule, plan->n_stages, i, d->n_microbatches,
                                         plan->n_chunks, a, &d->order[i]);
    write_jobs(d, a);
    return WEFT_OK;
}

weft_status weft_train_lower(const weft_train_problem *p, const weft_train_plan *plan,
                             weft_arena *a, weft_train_lowered *out)
{
    weft_violation violation;

    if (weft_train_plan_check(p, plan, &violation, 1, a) > 0)
        return weft_fail(WEFT_E_INPUT, "%s", violation.what);
    weft_train_lower_figures(p, plan, a, out);
    WEFT_TRY(check_links(out));
    return weft_train_lower_jobs(out, a);
}
