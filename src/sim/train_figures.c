/* SPDX-License-Identifier: MIT */
/* train_figures.c: what the chunks and stages of a plan take and hold, unit by unit.
 *
 * chunk       forward, and backward with what is computed again, of the part that takes longest (of
 *             each of the two; the first of several). Where replicas divide gradients or weights
 *             not less than moving these takes: the weights of all its units, once for each of the
 *             two, the gradients for backward. As messages of equal size, one for each unit.
 * stage       sync: the most bytes of any part. update: the part that takes longest, over the
 *             number of blocks if moments are split. With gradients split, sync is the gathering of
 *             new weights alone, half of it; with weights split, nothing.
 *             Where sums overlap with the last backward of the stage, which is that of its first
 *             chunk, they are messages of equal size, one for each unit with gradients, and what is
 *             left after it is sync: their seconds less those of that backward, at least one message.
 * device      weights + gradients + moments (over the number of blocks if these are split). Of a
 *             parameter that two units of the stage read, the second has neither weights nor
 *             gradients of its own.
 * shared      a parameter whose owner and other unit are on two stages moves. Two units of one
 * stage that share with the same owner have one copy, which moves once.
 * Last, stages share resources of the platform (train_shared.c).
 *
 * Time O(parts * (units + cut words)), and the formulas of links for each chunk. */
#include <math.h>

#include "train_lowered.h"

/* --- chunks ---------------------------------------------------------------------------------- */

/* The next unit of chunk c after `unit` (start with -1), or -1. */
static int next_unit(const weft_train_lowered *d, int c, int block)
{
    const weft_blocks *u = &d->p->blocks;
    int first = d->plan->cut[c], last = d->plan->cut[c + 1];

    if (u->is_chain && block < first)
        block = first - 1;
    for (block++; block < (u->is_chain ? last : u->n_blocks); block++)
        if (weft_block_between(u, block, first, last))
            return block;
    return -1;
}

/* The table of a part of the device set of a stage. */
static int table_of(const weft_train_lowered *d, int stage, int part)
{
    return weft_part_table(d->p, &d->plan->stage[stage], part);
}

static weft_part_chunk sum_chunk(const weft_train_lowered *d, int c, int part)
{
    int stage = weft_chunk_stage(d, c);
    weft_recompute r = d->plan->stage[stage].recompute;
    const weft_block_cost *cost = d->p->cost[table_of(d, stage, part)];
    const weft_block_state *state = d->p->state[table_of(d, stage, part)];
    int n = weft_stage_blocks(&d->plan->stage[stage]);
    weft_part_chunk sum = {0};

    for (int u = next_unit(d, c, -1); u >= 0; u = next_unit(d, c, u)) {
        sum.forward_s += cost[u].forward_s;
        sum.backward_s += cost[u].backward_s;
        sum.again_s += cost[u].again_s[r];
        sum.forward_collective_s += cost[u].forward_collective_s;
        sum.backward_collective_s += cost[u].backward_collective_s;
        sum.compute_s += cost[u].compute_s;
        sum.stash_bytes += cost[u].stash_bytes[r];
        sum.work_bytes =
            fmax(sum.work_bytes, cost[u].work_bytes[r] + weft_zero_work_bytes(d->p, n, &state[u]));
    }
    return sum;
}

static void add_state(const weft_train_lowered *d, int c, int part, weft_part_figures *to)
{
    int stage = weft_chunk_stage(d, c);
    int n = weft_stage_blocks(&d->plan->stage[stage]);
    const weft_block_state *state = d->p->state[table_of(d, stage, part)];

    for (int u = next_unit(d, c, -1); u >= 0; u = next_unit(d, c, u)) {
        to->weight_bytes += weft_zero_bytes(d->p, WEFT_ZERO_WEIGHTS, n, state[u].weight_bytes);
        to->gradient_bytes +=
            weft_zero_bytes(d->p, WEFT_ZERO_GRADIENTS, n, state[u].gradient_bytes);
        to->moment_bytes += weft_zero_bytes(d->p, WEFT_ZERO_MOMENTS, n, state[u].moment_bytes);
        to->sync_bytes += state[u].sync_bytes;
        to->n_syncs += state[u].sync_bytes > 0;
        to->update_s += weft_zero_bytes(d->p, WEFT_ZERO_MOMENTS, n, state[u].update_s);
    }
}

/* Messages of units that have something to send, and all their bytes. */
typedef struct messages {
    double n, bytes;
} messages;

static void add_message(messages *to, double bytes)
{
    to->n += bytes > 0;
    to->bytes += bytes;
}

static messages more(messages a, messages b)
{
    return (messages){fmax(a.n, b.n), fmax(a.bytes, b.bytes)};
}

static double half_sync_s(const weft_train_lowered *d, int stage, messages x)
{
    return weft_half_sync_s(weft_sync_s(d->p, &d->plan->stage[stage], x.n > 0 ? x.bytes / x.n : 0),
                            x.n);
}

/* A chunk waits for weights and gradients that its replicas divide, if these take longer. */
static void hold_up(weft_train_lowered *d, int c)
{
    int stage = weft_chunk_stage(d, c);
    weft_chunk_figures *f = &d->figures[c];
    messages weights = {0}, gradients = {0};
    double gather_s;

    for (int k = 0; k < d->plan->stage[stage].n_parts; k++) {
        const weft_block_state *state = d->p->state[table_of(d, stage, k)];
        messages w = {0}, g = {0};

        for (int u = next_unit(d, c, -1); u >= 0; u = next_unit(d, c, u)) {
            if (d->p->constraints.zero >= WEFT_ZERO_WEIGHTS)
                add_message(&w, state[u].weight_bytes);
            add_message(&g, state[u].sync_bytes);
        }
        weights = more(weights, w);
        gradients = more(gradients, g);
    }
    gather_s = half_sync_s(d, stage, weights);
    f->wait_s = -f->forward_s - f->backward_s;
    f->forward_s = fmax(f->forward_s, gather_s);
    f->backward_s =
        fmax(f->backward_s + f->again_s, gather_s + half_sync_s(d, stage, gradients)) - f->again_s;
    f->wait_s = fmax(0, f->wait_s + f->forward_s + f->backward_s);
    d->gathered_bytes[c] = weights.bytes;
    d->scattered_bytes[c] = gradients.bytes;
    d->ring_bytes[stage] += (double)d->n_microbatches * (2 * weights.bytes + gradients.bytes);
}

static void fill_chunk(weft_train_lowered *d, int c)
{
    int stage = weft_chunk_stage(d, c);
    weft_chunk_figures *f = &d->figures[c];
    double backward_collective_s = 0;

    for (int k = 0; k < d->plan->stage[stage].n_parts; k++) {
        weft_part_chunk *x = &d->chunk[c * WEFT_MAX_PARTS + k];

        *x = sum_chunk(d, c, k);
        if (k == 0 || x->forward_s > f->forward_s) {
            f->forward_s = x->forward_s;
            f->collective_s = x->forward_collective_s;
        }
        if (k == 0 || x->backward_s + x->again_s > f->backward_s + f->again_s) {
            f->backward_s = x->backward_s;
            f->again_s = x->again_s;
            backward_collective_s = x->backward_collective_s;
        }
        add_state(d, c, k, &d->state[stage * WEFT_MAX_PARTS + k]);
    }
    f->collective_s += backward_collective_s;
    if (d->p->constraints.zero >= WEFT_ZERO_GRADIENTS)
        hold_up(d, c);
}

static void fill_hops(weft_train_lowered *d, int c)
{
    const weft_stage *here = &d->plan->stage[weft_chunk_stage(d, c)];
    const weft_stage *next = &d->plan->stage[weft_chunk_stage(d, c + 1)];
    int cut = d->plan->cut[c + 1];

    if (here == next)
        return;
    d->figures[c].send_s = weft_hop_s(d->p, here, next, d->p->blocks.leave_bytes[cut]);
    d->figures[c].return_s = weft_hop_s(d->p, next, here, d->p->blocks.back_bytes[cut]);
}

/* --- shared parameters ----------------------------------------------------------------------- */

static int chunk_of(const weft_train_lowered *d, int block)
{
    const weft_blocks *u = &d->p->blocks;
    int c = 0;

    while (!weft_bit_get(weft_cut_bits(u, d->plan->cut[c + 1]), block))
        c++;
    return c;
}

/* The other unit of entry i finds the parameter on its stage: the owner is there, or a unit of an
 * earlier entry that shares with the same owner. */
static bool is_copy_there(const weft_train_lowered *d, int i, const int *stage_of)
{
    const weft_shared *list = d->p->blocks.shared, *s = &list[i];

    if (stage_of[s->owner] == stage_of[s->other])
        return true;
    for (int k = 0; k < i; k++)
        if (list[k].owner == s->owner && list[k].tensor == s->tensor && s->tensor >= 0 &&
            stage_of[list[k].other] == stage_of[s->other])
            return true;
    return false;
}

static void add_move(weft_train_lowered *d, int i, int owner_chunk, int other_chunk)
{
    int a = weft_chunk_stage(d, owner_chunk), b = weft_chunk_stage(d, other_chunk);
    const weft_stage *owner = &d->plan->stage[a], *other = &d->plan->stage[b];
    double bytes = weft_shared_bytes(
        d->p, i, weft_part_table(d->p, owner->width > other->width ? owner : other, 0));

    d->move[d->n_moves++] = (weft_shared_move){i,
                                               owner_chunk,
                                               other_chunk,
                                               bytes,
                                               weft_shared_s(d->p, owner, other, true, bytes),
                                               weft_shared_s(d->p, owner, other, false, bytes)};
}

/* Takes off weights and gradients of a parameter that a device holds twice. */
static void drop_copy(weft_train_lowered *d, int stage, int part, int shared)
{
    double bytes = weft_shared_bytes(d->p, shared, table_of(d, stage, part));
    weft_part_figures *f = &d->state[stage * WEFT_MAX_PARTS + part];
    int n = weft_stage_blocks(&d->plan->stage[stage]);

    f->weight_bytes -=
        weft_zero_bytes(d->p, WEFT_ZERO_WEIGHTS, n, weft_shared_weight_bytes(d->p, bytes));
    f->gradient_bytes -= weft_zero_bytes(d->p, WEFT_ZERO_GRADIENTS, n, bytes);
}

static void fill_shared(weft_train_lowered *d, weft_arena *a)
{
    const weft_blocks *u = &d->p->blocks;
    int *stage_of = WEFT_NEW(a, int, u->n_blocks);

    d->move = WEFT_NEW(a, weft_shared_move, u->n_shared + 1);
    for (int i = 0; i < u->n_shared; i++) {
        const weft_shared *s = &u->shared[i];

        stage_of[s->owner] = weft_chunk_stage(d, chunk_of(d, s->owner));
        stage_of[s->other] = weft_chunk_stage(d, chunk_of(d, s->other));
    }
    for (int i = 0; i < u->n_shared; i++) {
        int stage = stage_of[u->shared[i].other];

        if (!is_copy_there(d, i, stage_of)) {
            add_move(d, i, chunk_of(d, u->shared[i].owner), chunk_of(d, u->shared[i].other));
            continue;
        }
        for (int k = 0; k < d->plan->stage[stage].n_parts; k++) /* weights and gradients */
            drop_copy(d, stage, k, i);
    }
}

/* --- the whole ------------------------------------------------------------------------------- */

/* Sums of gradients beside the last backward of the stage. */
static double exposed_sync_s(const weft_train_lowered *d, int i, double n)
{
    const weft_chunk_figures *last = &d->figures[i];
    double message_s = n > 0 ? weft_sync_s(d->p, &d->plan->stage[i], d->sync_bytes[i] / n) : 0;

    return weft_exposed_sync_s(message_s, n, last->backward_s + last->again_s);
}

static void fill_stage(weft_train_lowered *d, int i)
{
    double n_syncs = 0;

    for (int k = 0; k < d->plan->stage[i].n_parts; k++) {
        const weft_part_figures *f = &d->state[i * WEFT_MAX_PARTS + k];

        d->sync_bytes[i] = fmax(d->sync_bytes[i], f->sync_bytes);
        d->update_s[i] = fmax(d->update_s[i], f->update_s);
        n_syncs = fmax(n_syncs, f->n_syncs);
    }
    d->sync_s[i] =
        weft_sync_overlaps(d->p)
            ? exposed_sync_s(d, i, n_syncs)
            : weft_sync_part(d->p) * weft_sync_s(d->p, &d->plan->stage[i], d->sync_bytes[i]);
    d->ring_bytes[i] += 2 * weft_sync_part(d->p) * d->sync_bytes[i];
}

void weft_train_lower_figures(const weft_train_problem *p, const weft_train_plan *plan,
                              weft_arena *a, weft_train_lowered *out)
{
    int n = plan->n_stages * plan->n_chunks;

    *out = (weft_train_lowered){
        .p = weft_train_variant(p, plan),
        .plan = plan,
        .n_chunks = n,
        .n_microbatches = p->constraints.batch / plan->microbatch,
        .figures = WEFT_NEW(a, weft_chunk_figures, n),
        .chunk = WEFT_NEW(a, weft_part_chunk, n * WEFT_MAX_PARTS),
        .state = WEFT_NEW(a, weft_part_figures, plan->n_stages * WEFT_MAX_PARTS),
        .sync_s = WEFT_NEW(a, double, plan->n_stages),
        .update_s = WEFT_NEW(a, double, plan->n_stages),
        .sync_bytes = WEFT_NEW(a, double, plan->n_stages),
        .gathered_bytes = WEFT_NEW(a, double, n),
        .scattered_bytes = WEFT_NEW(a, double, n),
        .ring_bytes = WEFT_NEW(a, double, plan->n_stages),
    };
    for (int c = 0; c < n; c++)
        fill_chunk(out, c);
    for (int c = 0; c + 1 < n; c++)
        fill_hops(out, c);
    for (int i = 0; i < plan->n_stages; i++)
        fill_stage(out, i);
    fill_shared(out, a);
    weft_train_share(out, a);
}
