/* SPDX-License-Identifier: MIT */
/* train_shared.c: stages of one plan that share resources of the platform (`shared:`).
 *
 * What may be on its way at one time counts together, each with its part of a resource:
 *   round   R: all bytes that one microbatch moves over the resource: hops of all chunks both ways, and
 *           weights and gradients that replicas divide (twice the weights, once the gradients).
 *           Every hop takes R / capacity at least; so do forward and backward of a stage together, each
 *           with its part of what the stage gathers and scatters. As the sends of a chunk follow each
 *           other (lower_train.c), m microbatches take m R / capacity at least.
 *   end     E: the sums of gradients of all stages, shared parameters both ways, and the rounds that may
 *           be on their way when the first sum begins: as many as the first stage keeps microbatches.
 *           Every sum and every shared parameter takes E / capacity at least; beside a last backward
 *           pass (overlap) less what that takes.
 * So whatever uses a resource never ends before the sum of the bytes / capacity. First come first
 * served would often be faster, but a faster machine could then be slower: here every time is a
 * fixed function of the plan that falls with each bandwidth.
 *
 * Sums count as over two levels where there are two. One stage shares nothing with others. */
#include <math.h>
#include <string.h>

#include "train_lowered.h"

enum { SEND, RETURN, WEIGHTS, GRADIENTS, N_OF_CHUNK };

typedef struct sharing {
    weft_train_lowered *d;
    int n;        /* resources */
    double *rate; /* [n] */
    weft_users u;
    double *of_chunk; /* [chunks * N_OF_CHUNK * n] bytes of one microbatch */
    double *of_stage; /* [stages * n] of the sum of gradients */
    double *of_move;  /* [2 * moves * n] gradients, then values */
    double *round, *end;
} sharing;

/* --- bytes ----------------------------------------------------------------------------------- */

static double *chunk_row(const sharing *s, int c, int what)
{
    return s->of_chunk + (ptrdiff_t)(c * N_OF_CHUNK + what) * s->n;
}

/* Writes what has been counted, so many times. */
static void take(sharing *s, double times, double *row)
{
    for (int r = 0; r < s->n; r++)
        row[r] = times * s->u.bytes[r];
    weft_users_clear(&s->u);
}

static void add(const sharing *s, const double *row, double times, double *to)
{
    for (int r = 0; r < s->n; r++)
        to[r] += times * row[r];
}

static void count_chunk(sharing *s, int c)
{
    const weft_train_lowered *d = s->d;
    const weft_stage *here = &d->plan->stage[weft_chunk_stage(d, c)];

    if (c + 1 < d->n_chunks) {
        const weft_stage *next = &d->plan->stage[weft_chunk_stage(d, c + 1)];
        int cut = d->plan->cut[c + 1];

        weft_hop_use(d->p, here, next, d->p->blocks.leave_bytes[cut], &s->u);
        take(s, 1, chunk_row(s, c, SEND));
        weft_hop_use(d->p, next, here, d->p->blocks.back_bytes[cut], &s->u);
        take(s, 1, chunk_row(s, c, RETURN));
    }
    weft_sync_use(d->p, here, d->gathered_bytes[c], &s->u);
    take(s, 0.5, chunk_row(s, c, WEIGHTS));
    weft_sync_use(d->p, here, d->scattered_bytes[c], &s->u);
    take(s, 0.5, chunk_row(s, c, GRADIENTS));
    for (int k = 0; k < N_OF_CHUNK; k++)
        add(s, chunk_row(s, c, k), k == WEIGHTS ? 2 : 1, s->round);
}

static void count_move(sharing *s, int k)
{
    const weft_train_lowered *d = s->d;
    const weft_shared_move *x = &d->move[k];
    const weft_stage *owner = &d->plan->stage[weft_chunk_stage(d, x->owner_chunk)];
    const weft_stage *other = &d->plan->stage[weft_chunk_stage(d, x->other_chunk)];

    for (int way = 0; way < 2; way++) {
        double *row = s->of_move + (ptrdiff_t)(2 * k + way) * s->n;

        weft_shared_use(d->p, owner, other, way == 0, x->bytes, &s->u);
        take(s, 1, row);
        add(s, row, 1, s->end);
    }
}

static void count_all(sharing *s)
{
    const weft_train_lowered *d = s->d;
    const weft_train_plan *plan = d->plan;
    int64_t m = d->n_microbatches;
    int64_t kept = weft_in_flight(plan->schedule, plan->n_stages, 0, m, plan->n_chunks);

    for (int c = 0; c < d->n_chunks; c++)
        count_chunk(s, c);
    for (int i = 0; i < plan->n_stages; i++) {
        double *row = s->of_stage + (ptrdiff_t)i * s->n;

        weft_sync_use(d->p, &plan->stage[i], d->sync_bytes[i], &s->u);
        take(s, weft_sync_part(d->p), row);
        add(s, row, 1, s->end);
    }
    for (int k = 0; k < d->n_moves; k++)
        count_move(s, k);
    add(s, s->round, (double)(kept < m ? kept : m), s->end);
}

/* --- seconds --------------------------------------------------------------------------------- */

/* That the fullest of the resources in use takes for all that is on its way. */
static double least_s(const sharing *s, const double *row, const double *all)
{
    double longest_s = 0;

    for (int r = 0; r < s->n; r++)
        if (row[r] > 0)
            longest_s = fmax(longest_s, all[r] / s->rate[r]);
    return longest_s;
}

/* A part of the round that grows with the part of the bytes of the stage. */
static double part_s(const sharing *s, int c, bool is_forward)
{
    const weft_train_lowered *d = s->d;
    double longest_s = 0;

    for (int r = 0; r < s->n; r++) {
        double own = chunk_row(s, c, WEIGHTS)[r], all = 0;

        own += is_forward ? 0 : chunk_row(s, c, GRADIENTS)[r];
        for (int k = weft_chunk_stage(d, c); k < d->n_chunks; k += d->plan->n_stages)
            all += 2 * chunk_row(s, k, WEIGHTS)[r] + chunk_row(s, k, GRADIENTS)[r];
        if (own > 0)
            longest_s = fmax(longest_s, own / all * s->round[r] / s->rate[r]);
    }
    return longest_s;
}

static void slow_chunk(const sharing *s, int c)
{
    weft_chunk_figures *f = &s->d->figures[c];
    double before_s = f->forward_s + f->backward_s;

    f->send_s = fmax(f->send_s, least_s(s, chunk_row(s, c, SEND), s->round));
    f->return_s = fmax(f->return_s, least_s(s, chunk_row(s, c, RETURN), s->round));
    f->forward_s = fmax(f->forward_s, part_s(s, c, true));
    f->backward_s = fmax(f->backward_s + f->again_s, part_s(s, c, false)) - f->again_s;
    f->wait_s += f->forward_s + f->backward_s - before_s;
}

static void slow_sums(const sharing *s)
{
    weft_train_lowered *d = s->d;

    for (int i = 0; i < d->plan->n_stages; i++) {
        double hidden_s =
            weft_sync_overlaps(d->p) ? d->figures[i].backward_s + d->figures[i].again_s : 0;

        d->sync_s[i] =
            fmax(d->sync_s[i], least_s(s, s->of_stage + (ptrdiff_t)i * s->n, s->end) - hidden_s);
    }
    for (int k = 0; k < d->n_moves; k++) {
        const double *row = s->of_move + (ptrdiff_t)(2 * k) * s->n;

        d->move[k].gradient_s = fmax(d->move[k].gradient_s, least_s(s, row, s->end));
        d->move[k].value_s = fmax(d->move[k].value_s, least_s(s, row + s->n, s->end));
    }
}

void weft_train_share(weft_train_lowered *d, weft_arena *a)
{
    int n = d->p->cluster->platform->n_resources, n_stages = d->plan->n_stages;
    sharing s = {.d = d, .n = n};

    if (n == 0 || n_stages == 1)
        return;
    s.u = weft_users_new(d->p->cluster->platform, false, a);
    s.rate = WEFT_NEW(a, double, n);
    s.of_chunk = WEFT_NEW(a, double, (int64_t)d->n_chunks *N_OF_CHUNK *n);
    s.of_stage = WEFT_NEW(a, double, (int64_t)n_stages *n);
    s.of_move = WEFT_NEW(a, double, 2 * (int64_t)d->n_moves * n + 1);
    s.round = WEFT_NEW(a, double, n);
    s.end = WEFT_NEW(a, double, n);
    for (int r = 0; r < n; r++)
        s.rate[r] = weft_users_capacity(&s.u, r);
    count_all(&s);
    for (int c = 0; c < d->n_chunks; c++)
        slow_chunk(&s, c);
    slow_sums(&s);
}
