/* SPDX-License-Identifier: MIT */
/* lower_shard.c: a plan of a sharded network as jobs on resources.
 *
 * Steps are taken in their order. The jobs of a step:
 *   1. Operands from the host and from other sets, one job each.
 *   2. Operands that move between members, one job each.
 *   3. Phases of computation; between two of them the shards that rotate; in the end one job in
 *      which partial sums and statistics are combined.
 * Outputs go to the host after all steps. Seconds are those of split.h. A job of 3 uses all devices
 * of its set, which are queues in the order of steps; jobs of 1 and 2 use no device.
 *
 * One after the other, each job waits for the one before it, so the end of all is the sum
 *     inputs + edges + steps (weft_split_cost_s) + outputs.
 * Side by side, a way waits for the end of the step that makes the operand, computation waits for
 * all operands and for its set. What a way, a rotation or a sum brings to shared resources (and, under
 * contend, to directions of links) it does first, in a job that holds these, first come first
 * served; a second job is the rest of its time.
 *
 * With `hides`:
 *  - The shards of phase t + 1 rotate beside phase t (the same rank: no one waits for the other),
 *    and both end before phase t + 1 starts: c + (s - 1) max(c, r).
 *  - If a step has one phase and its first operand moves between members, the interior share f of
 *    that operand is computed beside this move, when all other operands are there. The rest
 *    follows when both have ended. With r seconds of the move and c of computation that is
 *    max(f c, r) + (1 - f) c = c + max(0, r - f c): one edge and one step, whatever the others.
 *
 * Simulating a plan with simulated starts changes nothing. Equal starts on one set: all but the
 * last of such steps take no time; they come first in the order (shard_costs.c), and in a queue
 * steps of no time between two others have one rank, so that they do not wait for each other.
 *
 * Time O(jobs + steps log steps), and the formulas for each operand. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "order.h"
#include "shard_lowered.h"

/* --- jobs ------------------------------------------------------------------------------------ */

typedef struct job {
    weft_shard_part part;
    double duration_s;
    int step, tensor, from, to;
    int dep_at;   /* its first dependence */
    bool is_used; /* it occupies its set */
    int n_shared; /* what it holds besides */
    const int *shared;
    int64_t rank;
} job;

/* Jobs while they are written. */
typedef struct writer {
    weft_shard_lowered *d;
    const weft_shard_plan_costs *c;
    WEFT_VEC(job) job;
    WEFT_VEC(int) dep;
    int before;          /* one after the other: the job that the next one waits for, or -1 */
    int64_t rank;        /* the last one given */
    int n_shared;        /* what transfers may share; 0: one after the other */
    int64_t *short_rank; /* [n_sets] of steps of no time that came last there, or -1 */
    weft_arena *a;
} writer;

static bool is_sequential(const writer *w)
{
    return !w->c->p->constraints.is_concurrent;
}

static void wait_for(writer *w, int other)
{
    if (other >= 0)
        WEFT_PUSH(w->a, w->dep, other);
}

/* A job of step v; what it waits for is written after it. */
static int add_job(writer *w, weft_shard_part part, int v, double duration_s)
{
    int here = weft_device_set_of(w->c->s, v)->member[0];
    job j = {.part = part,
             .duration_s = duration_s,
             .step = v,
             .tensor = -1,
             .from = part == WEFT_PART_COMPUTE ? -1 : here,
             .to = part == WEFT_PART_COMPUTE ? -1 : here,
             .dep_at = w->dep.n,
             .is_used = part <= WEFT_PART_REDUCE,
             .rank = w->rank};

    WEFT_PUSH(w->a, w->job, j);
    return w->job.n - 1;
}

/* Job i, the last one, holds for so many seconds what its transfer shares; a job behind it has the
 * rest of the time. Returns that one. `rank` tells transfers apart that come at one time; it does not
 * depend on the order of steps. */
static int hold_shared(writer *w, int i, double shared_s, weft_shared_way way, int64_t rank)
{
    job rest = w->job.at[i];

    rest.duration_s -= shared_s;
    rest.dep_at = w->dep.n;
    w->job.at[i].duration_s = shared_s;
    w->job.at[i].is_used = false;
    w->job.at[i].n_shared = way.n;
    w->job.at[i].shared = way.resource;
    w->job.at[i].rank = rank;
    WEFT_PUSH(w->a, w->job, rest);
    wait_for(w, i);
    return w->job.n - 1;
}

static weft_shared_way way_of_move(const writer *w, const weft_move *m)
{
    const weft_device_set *here = weft_device_set_of(w->c->s, m->step);

    return weft_shared_way_of(w->c->p,
                              m->operand < 0  ? here
                              : m->source < 0 ? NULL
                                              : weft_device_set_of(w->c->s, m->source),
                              m->operand < 0 ? NULL : here, w->a);
}

/* The same for job i, a rotation or a sum inside the set of step v. */
static int hold_inside(writer *w, int i, int v)
{
    const weft_device_set *here = weft_device_set_of(w->c->s, v);
    const weft_split_cost *mode = &w->c->mode[v];
    const job *j = &w->job.at[i];
    weft_shared_way way;
    double shared_s;

    if (w->n_shared == 0)
        return i;
    way = weft_shared_way_of(w->c->p, here, here, w->a);
    shared_s = j->part == WEFT_PART_REDUCE ? weft_split_reduce_s(mode, &way.link)
                                           : weft_link_cost_s(&way.link, mode->rotate_bytes);
    shared_s = fmin(shared_s, j->duration_s);
    return shared_s > 0 ? hold_shared(w, i, shared_s, way, w->c->n_moves + v) : i;
}

/* Move k: the way of an operand or of an output. */
static void add_move(writer *w, int k)
{
    static const weft_shard_part part[] = {
        [WEFT_MOVE_INSIDE] = WEFT_PART_RESHARD,
        [WEFT_MOVE_OVER] = WEFT_PART_HANDOVER,
        [WEFT_MOVE_HOST] = WEFT_PART_HOST,
    };
    const weft_move *m = &w->c->move[k];
    const weft_step *step = &w->c->p->steps->step[m->step];
    double shared_s = fmin(m->shared_s, m->seconds);
    int host = w->c->p->platform->host, i;
    job *j;

    w->d->move_job[k] = -1;
    if (!(m->seconds > 0))
        return;
    i = add_job(w, part[m->kind], m->step, m->seconds);
    j = &w->job.at[i];
    j->tensor = m->operand >= 0 ? step->operand[m->operand].tensor : step->result[m->result];
    j->from = m->source < 0 ? host : weft_device_set_of(w->c->s, m->source)->member[0];
    j->to = m->operand < 0 ? host : j->to;
    wait_for(w, is_sequential(w) ? w->before : m->source < 0 ? -1 : w->d->last[m->source]);
    w->d->move_start[k] = i;
    if (w->n_shared > 0 && shared_s > 0)
        i = hold_shared(w, i, shared_s, way_of_move(w, m), k);
    w->d->move_job[k] = w->before = i;
}

/* The operands of v that move between members, or the others; without the first of all if it comes
 * beside computation. */
static void add_moves(writer *w, int v, bool is_inside)
{
    for (int i = w->c->move_at[v] + (w->c->share[v] > 0); i < w->c->move_at[v + 1]; i++)
        if ((w->c->move[i].kind == WEFT_MOVE_INSIDE) == is_inside)
            add_move(w, i);
}

/* What computation waits for: its operands, the first only if is_all (else its maker). `before`:
 * the job before it, one after the other. */
static void wait_for_operands(writer *w, int v, int before, bool is_all)
{
    if (is_sequential(w)) {
        wait_for(w, before);
        return;
    }
    for (int i = w->c->move_at[v]; i < w->c->move_at[v + 1]; i++) {
        int source = w->c->move[i].source;

        if (w->d->move_job[i] >= 0 && (is_all || i > w->c->move_at[v]))
            wait_for(w, w->d->move_job[i]);
        else
            wait_for(w, source < 0 ? -1 : w->d->last[source]);
    }
}

/* Computation in the next rank; steps of no time that follow each other on a set share one. */
static int add_phase(writer *w, int v, double duration_s)
{
    int64_t *of_short = &w->short_rank[w->c->s->set_of[v]];
    int i;

    w->rank++;
    i = add_job(w, WEFT_PART_COMPUTE, v, duration_s);
    if (w->c->is_short[v] && *of_short >= 0)
        w->job.at[i].rank = *of_short;
    *of_short = w->c->is_short[v] ? w->job.at[i].rank : -1;
    return i;
}

/* Computation in one phase, a share of it beside the move of the first operand. */
static int add_beside(writer *w, int v)
{
    double share = w->c->share[v], compute_s = w->c->mode[v].phase_s;
    int before = w->before, inner, outer;

    add_move(w, w->c->move_at[v]);
    inner = add_phase(w, v, share * compute_s);
    wait_for_operands(w, v, before, false);
    outer = add_phase(w, v, (1 - share) * compute_s);
    wait_for(w, inner);
    wait_for_operands(w, v, w->before, true);
    w->d->first[v] = inner;
    return outer;
}

/* A phase, or the rotation beside it, waits for the phase and the rotation before; the first one
 * for the operands. */
static void wait_for_turn(writer *w, int v, int phase, int rotation)
{
    if (phase < 0)
        wait_for_operands(w, v, w->before, true);
    wait_for(w, phase);
    wait_for(w, rotation);
}

/* Phases of computation and rotations in turn; the last phase. */
static int add_phases(writer *w, int v)
{
    const weft_split_cost *m = &w->c->mode[v];
    int n_phases = w->c->is_short[v] ? 1 : m->n_phases, phase = -1, rotation = -1;
    double rotate_s = weft_link_cost_s(&w->c->inside[w->c->s->set_of[v]], m->rotate_bytes);

    for (int t = 0; t < n_phases; t++) {
        int phase_before = phase, rotation_before = rotation;

        phase = add_phase(w, v, m->phase_s);
        wait_for_turn(w, v, phase_before, rotation_before);
        rotation = -1;
        if (t == 0)
            w->d->first[v] = phase;
        if (t + 1 == n_phases || !(rotate_s > 0))
            continue;
        w->rank += !w->c->p->hides; /* beside the phase: of the same rank */
        rotation = add_job(w, WEFT_PART_ROTATE, v, rotate_s);
        if (w->c->p->hides)
            wait_for_turn(w, v, phase_before, rotation_before);
        else
            wait_for(w, phase);
        rotation = hold_inside(w, rotation, v);
    }
    return phase;
}

static void add_step(writer *w, int v)
{
    weft_shard_lowered *d = w->d;
    double reduce_s = weft_split_reduce_s(&w->c->mode[v], &w->c->inside[w->c->s->set_of[v]]);
    int phase;

    add_moves(w, v, false);
    add_moves(w, v, true);
    phase = w->c->share[v] > 0 ? add_beside(w, v) : add_phases(w, v);
    d->last[v] = phase;
    if (reduce_s > 0) {
        w->rank++;
        d->last[v] = add_job(w, WEFT_PART_REDUCE, v, reduce_s);
        wait_for(w, phase);
        d->last[v] = hold_inside(w, d->last[v], v);
    }
    w->before = d->last[v];
}

/* --- the whole ------------------------------------------------------------------------------- */

/* Job i with its lists. */
static void copy_job(const writer *w, int i, weft_jobs *out)
{
    const job *j = &w->job.at[i];
    const weft_device_set *t = weft_device_set_of(w->c->s, j->step);
    int n_deps = (i + 1 < w->job.n ? w->job.at[i + 1].dep_at : w->dep.n) - j->dep_at;
    int n_uses = j->is_used ? t->n : 0;

    out->duration_s[i] = j->duration_s;
    out->rank[i] = j->rank;
    out->kind[i] = j->part == WEFT_PART_COMPUTE ? WEFT_JOB_COMPUTE : WEFT_JOB_TRANSFER;
    out->task[i] = j->step;
    out->tensor[i] = j->tensor;
    out->from[i] = j->from;
    out->to[i] = j->to;
    out->dep_at[i + 1] = out->dep_at[i] + n_deps;
    out->use_at[i + 1] = out->use_at[i] + n_uses;
    if (n_deps > 0)
        memcpy(out->dep + out->dep_at[i], w->dep.at + j->dep_at, (size_t)n_deps * sizeof(int));
    if (n_uses > 0)
        memcpy(out->use + out->use_at[i], t->member, (size_t)n_uses * sizeof(int));
    qsort(out->use + out->use_at[i], (size_t)n_uses, sizeof(int), weft_by_int);
    for (int k = 0; k < j->n_shared; k++)
        out->use[out->use_at[i + 1]++] = w->c->p->platform->n_devices + j->shared[k];
}

static void finish(writer *w, weft_arena *a)
{
    int n_devices = w->c->p->platform->n_devices;
    weft_shard_part *part = WEFT_NEW(a, weft_shard_part, w->job.n + 1);
    int64_t n_uses = 0;
    weft_jobs *one;

    for (int i = 0; i < w->job.n; i++) {
        n_uses += w->job.at[i].is_used ? weft_device_set_of(w->c->s, w->job.at[i].step)->n : 0;
        n_uses += w->job.at[i].n_shared;
    }
    one = weft_jobs_new(w->job.n, n_devices + w->n_shared, w->dep.n, n_uses, a);
    for (int r = 0; r < n_devices; r++)
        one->is_queue[r] = true;
    for (int i = 0; i < w->job.n; i++) {
        copy_job(w, i, one);
        part[i] = w->job.at[i].part;
    }
    w->d->jobs = one;
    w->d->part = part;
}

static bool write_jobs(weft_shard_lowered *d, weft_arena *scratch, weft_arena *a)
{
    const weft_shard_plan_costs *c = &d->costs;
    writer w = {.d = d, .c = c, .before = -1, .a = scratch};
    const weft_platform *f = c->p->platform;
    const int *order = weft_shard_plan_order(c, scratch);

    if (order == NULL)
        return false;
    if (!is_sequential(&w) && (f->n_resources > 0 || f->transfer == WEFT_CONTEND))
        w.n_shared = weft_users_new(f, true, scratch).n_shared;
    w.short_rank = WEFT_NEW(scratch, int64_t, c->s->n_sets + 1);
    for (int k = 0; k < c->s->n_sets; k++)
        w.short_rank[k] = -1;
    for (int i = 0; i < c->s->n_steps; i++)
        add_step(&w, order[i]);
    for (int i = c->move_at[c->s->n_steps]; i < c->n_moves; i++)
        add_move(&w, i);
    finish(&w, a);
    return true;
}

bool weft_shard_lower(const weft_shard_problem *p, const weft_shard_plan *s,
                      const weft_split_cost *mode, weft_arena *a, weft_shard_lowered *out)
{
    weft_arena *scratch = weft_arena_new();
    bool is_possible;

    *out = (weft_shard_lowered){.costs = weft_shard_plan_costs_of(p, s, mode, a),
                                .first = WEFT_NEW(a, int, s->n_steps + 1),
                                .last = WEFT_NEW(a, int, s->n_steps + 1)};
    out->move_job = WEFT_NEW(a, int, out->costs.n_moves + 1);
    out->move_start = WEFT_NEW(a, int, out->costs.n_moves + 1);
    is_possible = write_jobs(out, scratch, a);
    weft_arena_free(scratch);
    return is_possible;
}

const char *weft_shard_part_name(weft_shard_part p)
{
    static const char *const names[WEFT_N_PARTS] = {
        [WEFT_PART_COMPUTE] = "compute",   [WEFT_PART_ROTATE] = "rotate",
        [WEFT_PART_REDUCE] = "reduce",     [WEFT_PART_RESHARD] = "reshard",
        [WEFT_PART_HANDOVER] = "handover", [WEFT_PART_HOST] = "host",
    };

    return names[p];
}
