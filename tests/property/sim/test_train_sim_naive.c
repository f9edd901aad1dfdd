/* SPDX-License-Identifier: MIT */
/* Random training plans against a simulator that knows the rules of schedules and nothing of
 * src/sim: lists of what each stage does next, and one start after the other in order of time.
 * Memory against sums over all intervals at every instant; bounds against steps. */
#include "check.h"
#include "draw_training.h"
#include "train_plan.h"

#include <stdlib.h>

/* --- the naive simulator --------------------------------------------------------------------- */

enum { MOST_STAGES = 8, MOST_CHUNKS = 16, MOST_MICRO = 32, MOST_ENTRIES = 4096 };

/* One thing that a stage does. */
typedef struct entry {
    int chunk, microbatch;
    bool is_backward;
    double start_s, end_s;
} entry;

typedef struct stage_run {
    entry list[2 * 4 * MOST_MICRO];
    int n, next;
    double free_s;
} stage_run;

/* A transfer that has been asked for. */
typedef struct message {
    int from, to, chunk, microbatch; /* of the receiver */
    bool is_backward;
    int shared; /* or -1 */
    double ready_s, seconds;
    long rank;
    bool is_sent;
} message;

typedef struct naive {
    const weft_train_problem *p;
    const weft_train_plan *plan;
    int s, v, n_chunks, m;
    double forward_s[MOST_CHUNKS], backward_s[MOST_CHUNKS], send_s[MOST_CHUNKS],
        return_s[MOST_CHUNKS];
    double sync_s[MOST_STAGES], update_s[MOST_STAGES];
    stage_run stage[MOST_STAGES];
    double activation_s[MOST_CHUNKS][MOST_MICRO], gradient_s[MOST_CHUNKS][MOST_MICRO];
    double link_s[MOST_STAGES][MOST_STAGES]; /* when a direction is free */
    message message[MOST_ENTRIES];
    int n_messages;
    int n_done[MOST_CHUNKS];       /* backward passes */
    double lane_s[MOST_CHUNKS][2]; /* when hops to a chunk may follow: forward, backward */
    double move_s[8][2];           /* least time of shared parameters, to the owner and back */
    double gradient_there_s[8];    /* of shared parameters, at the owner */
    double value_there_s[8];       /* and back */
    double step_s;
} naive;

static bool is_in(const naive *x, int chunk, int unit)
{
    const weft_blocks *u = &x->p->blocks;
    const uint64_t *inner = u->cut + (size_t)x->plan->cut[chunk] * (size_t)u->n_words;
    const uint64_t *outer = u->cut + (size_t)x->plan->cut[chunk + 1] * (size_t)u->n_words;

    return weft_bit_get(outer, unit) && !weft_bit_get(inner, unit);
}

static const weft_block_cost *cost_of(const naive *x, int chunk, int part)
{
    const weft_stage *s = &x->plan->stage[chunk % x->s];

    /* widths 1, 2, 3 and shares 1 .. 6: the place is the value less one */
    return x->p->cost[weft_train_problem_table(x->p, s->part[part].class_id, s->width - 1,
                                               (int)s->part[part].samples - 1)];
}

static const weft_block_state *state_of(const naive *x, int stage, int part)
{
    const weft_stage *s = &x->plan->stage[stage];

    return x->p->state[weft_train_problem_table(x->p, s->part[part].class_id, s->width - 1,
                                                (int)s->part[part].samples - 1)];
}

static int blocks_of(const naive *x, int stage)
{
    int n = 0;

    for (int k = 0; k < x->plan->stage[stage].n_parts; k++)
        n += x->plan->stage[stage].part[k].n_blocks;
    return n;
}

/* Half of a sum of gradients, as many times as units have something, of the mean of it. */
static double moved_s(const naive *x, int c, bool is_weights)
{
    const weft_stage *s = &x->plan->stage[c % x->s];
    double most = 0, most_n = 0;

    for (int k = 0; k < s->n_parts; k++) {
        double bytes = 0, n = 0;

        for (int u = 0; u < x->p->blocks.n_blocks; u++) {
            const weft_block_state *unit = &state_of(x, c % x->s, k)[u];
            double has = is_weights ? unit->weight_bytes : unit->sync_bytes;

            bytes += is_in(x, c, u) ? has : 0;
            n += is_in(x, c, u) && has > 0;
        }
        most = fmax(most, bytes);
        most_n = fmax(most_n, n);
    }
    return most_n > 0 ? most_n * weft_sync_s(x->p, s, most / most_n) / 2 : 0;
}

static void wait_for_replicas(naive *x, int c)
{
    double weights_s = x->p->constraints.zero == 3 ? moved_s(x, c, true) : 0;

    if (x->p->constraints.zero < 2)
        return;
    x->forward_s[c] = fmax(x->forward_s[c], weights_s);
    x->backward_s[c] = fmax(x->backward_s[c], weights_s + moved_s(x, c, false));
}

static void sum_chunk(naive *x, int c)
{
    const weft_stage *s = &x->plan->stage[c % x->s];

    for (int k = 0; k < s->n_parts; k++) {
        const weft_block_cost *cost = cost_of(x, c, k);
        double f = 0, b = 0;

        for (int u = 0; u < x->p->blocks.n_blocks; u++)
            if (is_in(x, c, u)) {
                f += cost[u].forward_s;
                b += cost[u].backward_s + cost[u].again_s[s->recompute];
            }
        x->forward_s[c] = fmax(x->forward_s[c], f);
        x->backward_s[c] = fmax(x->backward_s[c], b);
    }
    wait_for_replicas(x, c);
    if (c + 1 < x->n_chunks && x->s > 1) {
        const weft_stage *next = &x->plan->stage[(c + 1) % x->s];

        x->send_s[c] = weft_hop_s(x->p, s, next, x->p->blocks.leave_bytes[x->plan->cut[c + 1]]);
        x->return_s[c] = weft_hop_s(x->p, next, s, x->p->blocks.back_bytes[x->plan->cut[c + 1]]);
    }
}

/* Beside the last backward, that of the stage's first chunk: a message of each unit with gradients. */
static double beside_backward_s(const naive *x, int i, double bytes)
{
    double n = 0, all_s;

    for (int k = 0; k < x->plan->stage[i].n_parts; k++) {
        double of_part = 0;

        for (int u = 0; u < x->p->blocks.n_blocks; u++)
            for (int c = i; c < x->n_chunks; c += x->s)
                of_part += is_in(x, c, u) && state_of(x, i, k)[u].sync_bytes > 0;
        n = fmax(n, of_part);
    }
    if (n < 1)
        return 0;
    all_s = n * weft_sync_s(x->p, &x->plan->stage[i], bytes / n);
    return fmax(all_s / n, all_s - x->backward_s[i]);
}

static void sum_stage(naive *x, int i)
{
    double sync = 0;

    for (int k = 0; k < x->plan->stage[i].n_parts; k++) {
        double bytes = 0, update_s = 0;

        for (int u = 0; u < x->p->blocks.n_blocks; u++)
            for (int c = i; c < x->n_chunks; c += x->s)
                if (is_in(x, c, u)) {
                    bytes += state_of(x, i, k)[u].sync_bytes;
                    update_s += state_of(x, i, k)[u].update_s;
                }
        sync = fmax(sync, bytes);
        x->update_s[i] = fmax(x->update_s[i], update_s);
    }
    if (x->p->constraints.zero >= 1)
        x->update_s[i] /= blocks_of(x, i);
    x->sync_s[i] = weft_sync_s(x->p, &x->plan->stage[i], sync);
    if (x->p->constraints.overlap && x->p->constraints.zero < 2)
        x->sync_s[i] = beside_backward_s(x, i, sync);
    if (x->p->constraints.zero == 2)
        x->sync_s[i] /= 2; /* new weights are gathered; gradients were summed before */
    if (x->p->constraints.zero == 3)
        x->sync_s[i] = 0;
}

/* Chunk of the k-th pass of microbatches, as Megatron-LM's get_model_chunk_id describes it. */
static entry virtual_entry(const naive *x, int i, int k, bool is_backward)
{
    int in_group = k % (x->s * x->v), chunk = in_group / x->s;

    if (is_backward)
        chunk = x->v - 1 - chunk;
    return (entry){i + chunk * x->s, k / (x->s * x->v) * x->s + in_group % x->s, is_backward, 0, 0};
}

static entry plain_entry(int i, int k, bool is_backward)
{
    return (entry){i, k, is_backward, 0, 0};
}

static void add_entry(naive *x, int i, int k, bool is_backward)
{
    stage_run *s = &x->stage[i];

    s->list[s->n++] = x->plan->schedule == WEFT_INTERLEAVED ? virtual_entry(x, i, k, is_backward)
                                                            : plain_entry(i, k, is_backward);
}

/* Warm-up, one forward and one backward in turn, cool-down. */
static void list_entries(naive *x, int i)
{
    int total = x->m * x->v, warm = 0;

    if (x->plan->schedule == WEFT_GPIPE)
        warm = total;
    if (x->plan->schedule == WEFT_ONE_F_ONE_B)
        warm = x->s - i - 1;
    if (x->plan->schedule == WEFT_EAGER)
        warm = 2 * (x->s - i - 1);
    if (x->plan->schedule == WEFT_INTERLEAVED)
        warm = 2 * (x->s - i - 1) + (x->v - 1) * x->s;
    warm = warm < total ? warm : total;
    for (int k = 0; k < warm; k++)
        add_entry(x, i, k, false);
    for (int k = warm; k < total; k++) {
        add_entry(x, i, k, false);
        add_entry(x, i, k - warm, true);
    }
    for (int k = total - warm; k < total; k++)
        add_entry(x, i, k, true);
}

static void deliver(naive *x, const message *m, double at_s)
{
    if (m->shared >= 0 && m->is_backward)
        x->gradient_there_s[m->shared] = at_s;
    else if (m->shared >= 0)
        x->value_there_s[m->shared] = at_s;
    else if (m->is_backward)
        x->gradient_s[m->chunk][m->microbatch] = at_s;
    else
        x->activation_s[m->chunk][m->microbatch] = at_s;
}

/* Something is to be sent from a stage to another from ready_s on. */
static void ask_message(naive *x, message m)
{
    if (m.seconds <= 0) {
        deliver(x, &m, m.ready_s);
        return;
    }
    assert_true(x->n_messages < MOST_ENTRIES);
    x->message[x->n_messages++] = m;
}

static double input_s(const naive *x, const entry *e)
{
    if (e->is_backward)
        return e->chunk + 1 == x->n_chunks ? 0 : x->gradient_s[e->chunk][e->microbatch];
    return e->chunk == 0 ? 0 : x->activation_s[e->chunk][e->microbatch];
}

static int chunk_with(const naive *x, int unit)
{
    int c = 0;

    while (!is_in(x, c, unit))
        c++;
    return c;
}

/* Entry i of the shared list needs no transfer: the same parameter is on the stage already. */
static bool is_there(const naive *x, int i)
{
    const weft_shared *list = x->p->blocks.shared;
    int stage = chunk_with(x, list[i].other) % x->s;

    if (chunk_with(x, list[i].owner) % x->s == stage)
        return true;
    for (int k = 0; k < i; k++)
        if (list[k].owner == list[i].owner && list[k].tensor == list[i].tensor &&
            list[i].tensor >= 0 && chunk_with(x, list[k].other) % x->s == stage)
            return true;
    return false;
}

/* Bytes of entry i that a device holds, of the given table of states. */
static double bytes_of_shared(const naive *x, int i, const weft_block_state *state)
{
    const weft_blocks *u = &x->p->blocks;
    int n = 0;

    for (int k = 0; k < u->n_shared; k++)
        n += u->shared[k].other == u->shared[i].other;
    return (state[u->shared[i].other].gradient_bytes - state[u->shared[i].other].sync_bytes) / n;
}

/* The gradient (else the value) of entry k of the shared list is sent. */
static void ask_shared(naive *x, int k, bool is_gradient, double ready_s)
{
    const weft_shared *list = x->p->blocks.shared;
    int a = chunk_with(x, list[k].owner) % x->s, b = chunk_with(x, list[k].other) % x->s;
    int wide = x->plan->stage[a].width > x->plan->stage[b].width ? a : b;
    double seconds = weft_shared_s(x->p, &x->plan->stage[a], &x->plan->stage[b], is_gradient,
                                   bytes_of_shared(x, k, state_of(x, wide, 0)));
    message m;

    seconds = fmax(seconds, x->move_s[k][!is_gradient]);
    m = (message){.from = is_gradient ? b : a,
                  .to = is_gradient ? a : b,
                  .is_backward = is_gradient,
                  .shared = k,
                  .ready_s = ready_s,
                  .seconds = seconds,
                  .rank = 1000000L + k + (is_gradient ? 0 : 100)};

    ask_message(x, m);
}

/* After the last backward of a chunk the gradients that it shares are complete. */
static void share_gradients(naive *x, int c, double ready_s)
{
    for (int k = 0; k < x->p->blocks.n_shared && x->n_done[c] == x->m; k++)
        if (is_in(x, c, x->p->blocks.shared[k].other) && !is_there(x, k))
            ask_shared(x, k, true, ready_s);
}

static void run_entry(naive *x, int i, double start_s)
{
    stage_run *s = &x->stage[i];
    entry *e = &s->list[s->next++];
    int c = e->chunk, other = e->is_backward ? c - 1 : c + 1;
    message m = {.from = i,
                 .to = (other + x->s) % x->s,
                 .chunk = other,
                 .microbatch = e->microbatch,
                 .is_backward = e->is_backward,
                 .shared = -1,
                 .rank = 2L * (c * x->m + e->microbatch) + e->is_backward};

    e->start_s = start_s;
    e->end_s = start_s + (e->is_backward ? x->backward_s[c] : x->forward_s[c]);
    s->free_s = m.ready_s = e->end_s;
    x->n_done[c] += e->is_backward;
    if (e->is_backward)
        share_gradients(x, c, e->end_s);
    if (other < 0 || other >= x->n_chunks)
        return;
    m.seconds = e->is_backward ? x->return_s[other] : x->send_s[c];
    ask_message(x, m);
}

static bool has_resources(const naive *x)
{
    return x->p->cluster->platform->n_resources > 0;
}

/* Hops of a chunk follow each other, by microbatch. */
static double lane_start(const naive *x, int k)
{
    const message *m = &x->message[k];

    for (int l = 0; l < x->n_messages; l++) {
        const message *o = &x->message[l];

        if (!o->is_sent && o->shared < 0 && o->chunk == m->chunk &&
            o->is_backward == m->is_backward && o->microbatch < m->microbatch)
            return INFINITY;
    }
    return fmax(m->ready_s, x->lane_s[m->chunk][m->is_backward]);
}

/* The start of a message, if no other one has to go first; else INFINITY. */
static double message_start(const naive *x, int k)
{
    const message *m = &x->message[k];

    if (m->is_sent)
        return INFINITY;
    if (x->p->transfer == WEFT_OVERLAP)
        return m->shared < 0 && has_resources(x) ? lane_start(x, k) : m->ready_s;
    for (int l = 0; l < x->n_messages; l++) {
        const message *o = &x->message[l];

        if (o->is_sent || l == k || o->from != m->from || o->to != m->to)
            continue;
        if (o->ready_s < m->ready_s || (o->ready_s <= m->ready_s && o->rank < m->rank))
            return INFINITY;
    }
    return fmax(m->ready_s, x->link_s[m->from][m->to]);
}

/* Starts whatever can start first; computation before messages of the same time. False: nothing. */
static bool run_first(naive *x)
{
    double first_s = INFINITY;
    int stage = -1, sent = -1;

    for (int i = 0; i < x->s; i++) {
        stage_run *s = &x->stage[i];

        if (s->next < s->n) {
            double at_s = fmax(s->free_s, input_s(x, &s->list[s->next]));

            if (at_s < first_s) {
                first_s = at_s;
                stage = i;
            }
        }
    }
    for (int k = 0; k < x->n_messages; k++)
        if (message_start(x, k) < first_s) {
            first_s = message_start(x, k);
            sent = k;
        }
    if (first_s >= INFINITY)
        return false;
    if (sent < 0) {
        run_entry(x, stage, first_s);
        return true;
    }
    x->message[sent].is_sent = true;
    deliver(x, &x->message[sent], first_s + x->message[sent].seconds);
    x->link_s[x->message[sent].from][x->message[sent].to] = first_s + x->message[sent].seconds;
    if (x->message[sent].shared < 0)
        x->lane_s[x->message[sent].chunk][x->message[sent].is_backward] =
            first_s + x->message[sent].seconds;
    return true;
}

/* The end of sum and update of stage i. */
static double updated_s(const naive *x, int i)
{
    double at_s = x->stage[i].free_s;

    for (int k = 0; k < x->p->blocks.n_shared; k++)
        if (!is_there(x, k) && chunk_with(x, x->p->blocks.shared[k].owner) % x->s == i)
            at_s = fmax(at_s, x->gradient_there_s[k]);
    at_s += x->sync_s[i];
    return at_s + x->update_s[i];
}

/* Everything up to the last backward and the last shared gradient; then values go back, on links
 * whose other messages have all been asked for before. */
static void run_all(naive *x)
{
    const weft_blocks *u = &x->p->blocks;

    while (run_first(x))
        continue;
    for (int k = 0; k < u->n_shared; k++)
        if (!is_there(x, k))
            ask_shared(x, k, false, updated_s(x, chunk_with(x, u->shared[k].owner) % x->s));
    while (run_first(x))
        continue;
    for (int i = 0; i < x->s; i++) {
        CHECK_INT(x->stage[i].next, x->stage[i].n); /* nobody is stuck */
        x->step_s = fmax(x->step_s, updated_s(x, i));
    }
    for (int k = 0; k < u->n_shared; k++)
        x->step_s = fmax(x->step_s, x->value_there_s[k]);
}

/* --- what stages share ----------------------------------------------------------------------- */

/* What goes over resource r: bytes of a hop from chunk c (else back to it). */
static double hop_bytes(const naive *x, int r, int c, bool is_back)
{
    const weft_stage *s = &x->plan->stage[c % x->s], *next = &x->plan->stage[(c + 1) % x->s];
    const weft_blocks *b = &x->p->blocks;
    weft_arena *a = weft_arena_new();
    weft_users u = weft_users_new(x->p->cluster->platform, false, a);
    double bytes;

    if (c + 1 < x->n_chunks && is_back)
        weft_hop_use(x->p, next, s, b->back_bytes[x->plan->cut[c + 1]], &u);
    else if (c + 1 < x->n_chunks)
        weft_hop_use(x->p, s, next, b->leave_bytes[x->plan->cut[c + 1]], &u);
    bytes = u.bytes[r];
    weft_arena_free(a);
    return bytes;
}

/* Of a sum over the replicas of stage i. */
static double sum_bytes(const naive *x, int r, int i, double of_device)
{
    weft_arena *a = weft_arena_new();
    weft_users u = weft_users_new(x->p->cluster->platform, false, a);
    double bytes;

    weft_sync_use(x->p, &x->plan->stage[i], of_device, &u);
    bytes = u.bytes[r];
    weft_arena_free(a);
    return bytes;
}

/* Weights or gradients of the part of a chunk's stage that has most. */
static double most_bytes(const naive *x, int c, bool is_weights)
{
    double most = 0;

    for (int k = 0; k < x->plan->stage[c % x->s].n_parts; k++) {
        double bytes = 0;

        for (int u = 0; u < x->p->blocks.n_blocks; u++) {
            const weft_block_state *unit = &state_of(x, c % x->s, k)[u];

            if (is_in(x, c, u))
                bytes += is_weights ? unit->weight_bytes : unit->sync_bytes;
        }
        most = fmax(most, bytes);
    }
    return most;
}

/* Gathered weights, scattered gradients of a microbatch. */
static double divided_bytes(const naive *x, int r, int c, bool is_weights)
{
    if (x->p->constraints.zero < (is_weights ? 3 : 2))
        return 0;
    return sum_bytes(x, r, c % x->s, most_bytes(x, c, is_weights)) / 2;
}

static double move_bytes(const naive *x, int r, int k, bool is_gradient)
{
    const weft_shared *list = x->p->blocks.shared;
    int a = chunk_with(x, list[k].owner) % x->s, b = chunk_with(x, list[k].other) % x->s;
    int wide = x->plan->stage[a].width > x->plan->stage[b].width ? a : b;
    weft_arena *arena = weft_arena_new();
    weft_users u = weft_users_new(x->p->cluster->platform, false, arena);
    double bytes;

    if (!is_there(x, k))
        weft_shared_use(x->p, &x->plan->stage[a], &x->plan->stage[b], is_gradient,
                        bytes_of_shared(x, k, state_of(x, wide, 0)), &u);
    bytes = u.bytes[r];
    weft_arena_free(arena);
    return bytes;
}

/* A sum of gradients at the end of the step. */
static double end_bytes(const naive *x, int r, int i)
{
    static const double part[] = {1, 1, 0.5, 0};
    double most = 0;

    for (int k = 0; k < x->plan->stage[i].n_parts; k++) {
        double bytes = 0;

        for (int u = 0; u < x->p->blocks.n_blocks; u++)
            for (int c = i; c < x->n_chunks; c += x->s)
                bytes += is_in(x, c, u) ? state_of(x, i, k)[u].sync_bytes : 0;
        most = fmax(most, bytes);
    }
    return part[x->p->constraints.zero] * sum_bytes(x, r, i, most);
}

/* All that one microbatch, and all that the end of the step, moves over resource r. */
typedef struct totals {
    double round, of_stage[MOST_STAGES], end;
} totals;

static totals totals_of(const naive *x, int r)
{
    totals t = {0};

    for (int c = 0; c < x->n_chunks; c++) {
        double own = 2 * divided_bytes(x, r, c, true) + divided_bytes(x, r, c, false);

        t.of_stage[c % x->s] += own;
        t.round += own + hop_bytes(x, r, c, false) + hop_bytes(x, r, c, true);
    }
    for (int i = 0; i < x->s; i++)
        t.end += end_bytes(x, r, i);
    for (int k = 0; k < x->p->blocks.n_shared; k++)
        t.end += move_bytes(x, r, k, true) + move_bytes(x, r, k, false);
    return t;
}

/* Microbatches that may be on their way when the first sum begins. */
static double rounds_at_end(const naive *x)
{
    double ahead[WEFT_N_SCHEDULES] = {[WEFT_GPIPE] = x->m,
                                      [WEFT_ONE_F_ONE_B] = x->s,
                                      [WEFT_EAGER] = 2 * x->s - 1,
                                      [WEFT_INTERLEAVED] = 2 * x->s - 1 + (x->v - 1) * x->s};

    return fmin(x->m, ahead[x->plan->schedule]);
}

/* The times with what stages share, seen from one resource. */
static void share(naive *x, int r, double rate)
{
    totals t = totals_of(x, r);
    double all_s = (t.end + rounds_at_end(x) * t.round) / rate;

    for (int c = 0; c < x->n_chunks; c++) {
        double weights = divided_bytes(x, r, c, true), gradients = divided_bytes(x, r, c, false);
        double byte_s = t.round / rate / t.of_stage[c % x->s];

        if (hop_bytes(x, r, c, false) > 0)
            x->send_s[c] = fmax(x->send_s[c], t.round / rate);
        if (hop_bytes(x, r, c, true) > 0)
            x->return_s[c] = fmax(x->return_s[c], t.round / rate);
        if (weights > 0)
            x->forward_s[c] = fmax(x->forward_s[c], weights * byte_s);
        if (weights + gradients > 0)
            x->backward_s[c] = fmax(x->backward_s[c], (weights + gradients) * byte_s);
    }
    for (int i = 0; i < x->s; i++)
        if (end_bytes(x, r, i) > 0)
            x->sync_s[i] =
                fmax(x->sync_s[i], all_s - (x->p->constraints.overlap && x->p->constraints.zero < 2
                                                ? x->backward_s[i]
                                                : 0));
    for (int k = 0; k < x->p->blocks.n_shared; k++)
        for (int way = 0; way < 2; way++)
            if (move_bytes(x, r, k, way == 0) > 0)
                x->move_s[k][way] = fmax(x->move_s[k][way], all_s);
}

/* k users of one resource never finish before the sum of their bytes / its capacity. */
static void compare_resource(const naive *x, int r, double rate)
{
    totals t = totals_of(x, r);
    double most_s = (x->m * t.round + t.end) / rate;

    if (x->s > 1 && most_s > x->step_s * (1 + 1e-9))
        fail_msg("a step of %.12g s, what it moves over resource %d takes %.12g s", x->step_s, r,
                 most_s);
}

static void share_all(naive *x)
{
    const weft_platform *f = x->p->cluster->platform;

    for (int r = 0; r < f->n_resources && x->s > 1; r++)
        share(x, r, f->resource[r].bytes_per_s);
}

static void fill(naive *x, const weft_train_problem *p, const weft_train_plan *plan)
{
    memset(x, 0, sizeof *x);
    x->p = p;
    x->plan = plan;
    x->s = plan->n_stages;
    x->v = plan->n_chunks;
    x->n_chunks = x->s * x->v;
    x->m = (int)(p->constraints.batch / plan->microbatch);
    for (int c = 0; c < x->n_chunks; c++) {
        sum_chunk(x, c);
        for (int j = 0; j < x->m; j++)
            x->activation_s[c][j] = x->gradient_s[c][j] = INFINITY;
    }
    for (int i = 0; i < x->s; i++) {
        sum_stage(x, i);
        list_entries(x, i);
    }
    share_all(x);
}

/* --- comparisons ----------------------------------------------------------------------------- */

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b)) + 1e-18;
}

/* Every start of the simulator is that of the naive one. */
static void compare_starts(const naive *x, const weft_train_measures *t)
{
    for (int i = 0; i < x->s; i++)
        for (int k = 0; k < x->stage[i].n; k++) {
            const entry *e = &x->stage[i].list[k];
            int job = 2 * (e->chunk * x->m + e->microbatch) + e->is_backward;

            CHECK_INT(t->jobs->task[job], e->chunk);
            CHECK_INT(t->jobs->item[job], e->microbatch);
            CHECK_INT(t->part[job], e->is_backward ? WEFT_TRAIN_BACKWARD : WEFT_TRAIN_FORWARD);
            if (!is_near(t->timeline->start_s[job], e->start_s) ||
                !is_near(t->timeline->end_s[job], e->end_s))
                fail_msg("stage %d, entry %d: %.17g to %.17g, expected %.17g to %.17g", i, k,
                         t->timeline->start_s[job], t->timeline->end_s[job], e->start_s, e->end_s);
        }
}

/* No schedule is quicker than the bounds of a pipeline. With several chunks the first ones of the
 * stages count: the last thing that a stage does is backward of its first chunk. */
static void compare_bounds(const naive *x, double step_s)
{
    double there_s = 0, around_s = 0;

    for (int i = 0; i < x->s; i++) {
        double work_s = 0;

        for (int c = i; c < x->n_chunks; c += x->s)
            work_s += x->m * (x->forward_s[c] + x->backward_s[c]);
        CHECK(around_s + work_s + x->sync_s[0] + x->update_s[0] <= step_s * (1 + 1e-9));
        CHECK(there_s + work_s + x->sync_s[i] + x->update_s[i] <= step_s * (1 + 1e-9));
        there_s += x->forward_s[i] + x->send_s[i];
        around_s += x->forward_s[i] + x->send_s[i] + x->return_s[i] + x->backward_s[i];
    }
}

/* --- memory ---------------------------------------------------------------------------------- */

/* What a device of a part always holds. */
static double fixed_bytes(const naive *x, int i, int part)
{
    const weft_block_state *state = state_of(x, i, part);
    int n = blocks_of(x, i), zero = x->p->constraints.zero;
    double bytes = 0, weights = zero > 2 ? 1.0 / n : 1, gradients = zero > 1 ? 1.0 / n : 1;

    for (int c = i; c < x->n_chunks; c += x->s)
        for (int u = 0; u < x->p->blocks.n_blocks; u++)
            if (is_in(x, c, u))
                bytes += weights * state[u].weight_bytes + gradients * state[u].gradient_bytes +
                         state[u].moment_bytes / (zero > 0 ? n : 1);
    for (int k = 0; k < x->p->blocks.n_shared; k++)
        if (chunk_with(x, x->p->blocks.shared[k].other) % x->s == i && is_there(x, k))
            bytes -= (weights + gradients) * bytes_of_shared(x, k, state);
    return bytes;
}

/* What it holds of a unit that runs, of what replicas divide: its gradients, and its weights, and
 * as much again for the next unit. */
static double whole_bytes(const naive *x, int i, int part, int u)
{
    const weft_block_state *state = state_of(x, i, part);

    if (blocks_of(x, i) == 1 || x->p->constraints.zero < 2)
        return 0;
    return state[u].gradient_bytes + (x->p->constraints.zero == 3 ? 2 * state[u].weight_bytes : 0);
}

/* What it holds at one instant. */
static double bytes_at(const naive *x, int i, int part, double at_s)
{
    const stage_run *s = &x->stage[i];
    weft_recompute r = x->plan->stage[i].recompute;
    double bytes = fixed_bytes(x, i, part);

    for (int k = 0; k < s->n; k++) {
        const entry *e = &s->list[k];
        const weft_block_cost *cost = cost_of(x, e->chunk, part);
        double stash = 0, work = 0, end_s = e->end_s;

        for (int u = 0; u < x->p->blocks.n_blocks; u++)
            if (is_in(x, e->chunk, u)) {
                stash += cost[u].stash_bytes[r];
                work = fmax(work, cost[u].work_bytes[r] + whole_bytes(x, i, part, u));
            }
        if (e->start_s <= at_s && at_s < e->end_s)
            bytes += work;
        for (int l = 0; l < s->n; l++)
            if (s->list[l].is_backward && s->list[l].chunk == e->chunk &&
                s->list[l].microbatch == e->microbatch)
                end_s = s->list[l].end_s;
        if (!e->is_backward && e->start_s <= at_s && at_s < end_s)
            bytes += stash;
    }
    return bytes;
}

/* The peak of the fullest device of stage i; *room: its memory. */
static double naive_peak(const naive *x, int i, double *room)
{
    const stage_run *s = &x->stage[i];
    double fullest = -1, most = 0;

    for (int k = 0; k < x->plan->stage[i].n_parts; k++) {
        double memory = x->p->cluster->classes[x->plan->stage[i].part[k].class_id].memory_bytes;
        double peak = bytes_at(x, i, k, -1);

        for (int e = 0; e < s->n; e++) {
            peak = fmax(peak, bytes_at(x, i, k, s->list[e].start_s));
            peak = fmax(peak, bytes_at(x, i, k, s->list[e].end_s));
        }
        if (peak / memory > fullest * (1 + 1e-12)) {
            fullest = peak / memory;
            most = peak;
            *room = memory;
        }
    }
    return most;
}

static void compare_memory(const naive *x, const weft_train_measures *t)
{
    int over = -1;

    for (int i = x->s - 1; i >= 0; i--) {
        double room = 0, peak = naive_peak(x, i, &room), sampled = 0;

        CHECK_NEAR(t->stage_peak_bytes[i], peak);
        CHECK_NEAR(t->stage_room_bytes[i], room);
        if (peak > room)
            over = i;
        for (int k = 0; k < t->n_memory[i]; k++) {
            sampled = fmax(sampled, t->memory[i][k].bytes);
            CHECK(k == 0 ? t->memory[i][k].at_s <= 0
                         : t->memory[i][k].at_s > t->memory[i][k - 1].at_s);
        }
        CHECK_NEAR(sampled, peak);
    }
    CHECK_INT(t->over_stage, over);
}

/* --- the tests ------------------------------------------------------------------------------- */

typedef struct tally {
    int n, n_wide, n_over, n_moved, n_late, n_unequal, n_shared;
    int of_schedule[WEFT_N_SCHEDULES], of_stages[MOST_STAGES];
} tally;

static void count(const naive *x, const weft_train_measures *t, tally *sum)
{
    sum->n++;
    sum->of_schedule[x->plan->schedule]++;
    sum->of_stages[x->s]++;
    sum->n_over += t->over_stage >= 0;
    for (int i = 0; i < x->s; i++) {
        sum->n_wide += x->plan->stage[i].width > 1;
        sum->n_unequal += x->plan->stage[i].n_parts > 1;
    }
    for (int k = 0; k < x->p->blocks.n_shared; k++)
        sum->n_moved += !is_there(x, k);
    if (x->p->transfer == WEFT_CONTEND)
        for (int i = 0; i < t->jobs->n_jobs; i++) {
            int maker =
                t->jobs->dep_at[i] < t->jobs->dep_at[i + 1] ? t->jobs->dep[t->jobs->dep_at[i]] : -1;

            if (t->part[i] == WEFT_TRAIN_SEND &&
                t->timeline->start_s[i] > t->timeline->end_s[maker])
                sum->n_late++;
        }
}

static void compare_one(const draw_training_ask *constraints, uint64_t seed, tally *sum)
{
    static naive x;
    weft_rng r = weft_rng_seed(seed);
    drawn_training d = draw_training(constraints, &r);
    weft_arena *a = weft_arena_new();
    weft_train_measures t;
    weft_train_plan plan;

    if (draw_pipeline(d.training, (weft_schedule)(seed % WEFT_N_SCHEDULES), &r, a, &plan)) {
        CHECK_OK(weft_train_plan_evaluate(d.training, &plan, a, &t));
        fill(&x, d.training, &plan);
        run_all(&x);
        compare_starts(&x, &t);
        if (!is_near(t.step_s, x.step_s))
            fail_msg("seed %llu: a step takes %.17g s, expected %.17g s", (unsigned long long)seed,
                     t.step_s, x.step_s);
        compare_bounds(&x, t.step_s);
        for (int k = 0; k < d.platform->n_resources; k++)
            compare_resource(&x, k, d.platform->resource[k].bytes_per_s);
        sum->n_shared += d.platform->n_resources > 0 && x.s > 1;
        if (seed % 4 == 0 || !constraints->is_contend)
            compare_memory(&x, &t);
        count(&x, &t, sum);
    }
    weft_arena_free(a);
    drop_training(&d);
}

TEST(steps_are_those_of_the_naive_simulator)
{
    tally sum = {0};

    for (uint64_t seed = 1; seed <= (uint64_t)N_DRAWN(6000); seed++) {
        draw_training_ask constraints = {.is_dag = seed / 4 % 3 == 0,
                                         .overlap = seed / 64 % 2 == 1,
                                         .is_contend = seed / 4 % 2,
                                         .has_shared = seed / 8 % 2,
                                         .zero = (int)(seed / 16 % 4),
                                         .has_no_zero = seed / 4 % 2,
                                         .is_sharing = seed / 128 % 2 == 1};

        compare_one(&constraints, seed, &sum);
    }
    CHECK(sum.n >= N_DRAWN(3000));
    if (IS_THOROUGH) {
        for (int i = 0; i < WEFT_N_SCHEDULES; i++)
            CHECK(sum.of_schedule[i] > 300);
        CHECK(sum.of_stages[3] > 100 && sum.n_wide > 300 && sum.n_over > 30 && sum.n_moved > 300);
        CHECK(sum.n_shared > 1000);
        CHECK(sum.n_late > 30 && sum.n_unequal > 300);
    }
    print_message("%d plans (%d %d %d %d by schedule; stages 1: %d, 2: %d, 3: %d, 4: %d, 5: %d), "
                  "%d wide, %d unequal, %d over memory, %d shared, %d late\n",
                  sum.n, sum.of_schedule[0], sum.of_schedule[1], sum.of_schedule[2],
                  sum.of_schedule[3], sum.of_stages[1], sum.of_stages[2], sum.of_stages[3],
                  sum.of_stages[4], sum.of_stages[5], sum.n_wide, sum.n_unequal, sum.n_over,
                  sum.n_moved, sum.n_late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_those_of_the_naive_simulator),
    };

    return RUN_TESTS(tests);
}
