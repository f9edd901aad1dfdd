/* SPDX-License-Identifier: MIT */
/* shards_lower.c: a plan of a sharded network as jobs on resources.
 *
 * Steps are taken in their order. The jobs of a step:
 *   1. Operands from the host and from other sets, one job each.
 *   2. Operands that move between members, one job each.
 *   3. Phases of computation; between two of them the shards that rotate; in the end one job in
 *      which partial sums and statistics are combined.
 * Outputs go to the host after all steps. Seconds are those of mode.h. A job of 3 uses all devices
 * of its set, which are queues in the order of steps; jobs of 1 and 2 use nothing: there is no
 * contention.
 *
 * One after the other, each job waits for the one before it, so the end of all is the sum
 *     inputs + edges + steps (weft_mode_s) + outputs.
 * Side by side, a way waits for the end of the step that makes the operand, computation waits for
 * all operands and for its set.
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
 * last of such steps take no time; they come first in the order (weft_shards_order), and in a queue
 * steps of no time between two others have one rank, so that they do not wait for each other.
 *
 * Time O(jobs + steps log steps), and the formulas for each operand. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shards.h"
#include "shards_draft.h"

/* --- what moves ------------------------------------------------------------------------------ */

static const weft_team *team_of(const weft_shards_draft *d, int v)
{
    return &d->s->set[d->s->set_of[v]];
}

static weft_move from_host(const weft_shards_draft *d, int v, int k)
{
    weft_span span = weft_host_span(d->p, team_of(d, v));
    double total, need = weft_need_bytes(d->p->steps, v, k, &d->s->split[v], &total);
    bool is_sent = d->p->platform->host >= 0;

    return (weft_move){.part = WEFT_PART_HOST,
                       .seconds = is_sent ? weft_span_s(&span, need) : 0,
                       .held_bytes = need,
                       .sent_bytes = is_sent ? total : 0};
}

static weft_move between_members(const weft_shards_draft *d, int u, int v, int k)
{
    const weft_steps *steps = d->p->steps;
    const weft_split *from = &d->s->split[u], *to = &d->s->split[v];
    double total, largest = weft_reshard_bytes(steps, v, k, from, to, &total);

    return (weft_move){.part = WEFT_PART_RESHARD,
                       .seconds = weft_reshard_s(&d->inside[d->s->set_of[v]], largest),
                       .held_bytes = largest > 0 ? weft_need_bytes(steps, v, k, to, NULL) : 0,
                       .sent_bytes = total};
}

static weft_move between_sets(const weft_shards_draft *d, int u, int v, int k)
{
    const weft_steps *steps = d->p->steps;
    const weft_team *from = team_of(d, u);
    weft_span span = weft_pair_span(d->p, from, team_of(d, v));
    double total, tensor, need = weft_need_bytes(steps, v, k, &d->s->split[v], &total);

    weft_result_bytes(steps, u, steps->step[v].operand[k].result, &d->s->split[u], &tensor);
    return (weft_move){.part = WEFT_PART_HANDOVER,
                       .seconds = weft_handover_s(&span, need, tensor, from->n),
                       .held_bytes = need,
                       .sent_bytes = total};
}

static weft_move move_of(const weft_shards_draft *d, int v, int k)
{
    const weft_step_operand *o = &d->p->steps->step[v].operand[k];
    weft_move m = o->step < 0                                ? from_host(d, v, k)
                  : d->s->set_of[o->step] == d->s->set_of[v] ? between_members(d, o->step, v, k)
                                                             : between_sets(d, o->step, v, k);

    m.step = v;
    m.operand = k;
    m.source = o->step;
    m.result = o->result;
    m.job = -1;
    return m;
}

static int result_of(const weft_step *s, int tensor)
{
    for (int r = 0; r < s->n_results; r++)
        if (s->result[r] == tensor)
            return r;
    return -1;
}

/* Result r of step v goes to the host. */
static weft_move to_host(const weft_shards_draft *d, int v, int r)
{
    weft_span span = weft_host_span(d->p, team_of(d, v));
    double total, part = weft_result_bytes(d->p->steps, v, r, &d->s->split[v], &total);
    bool is_sent = d->p->platform->host >= 0;

    return (weft_move){.part = WEFT_PART_HOST,
                       .step = v,
                       .operand = -1,
                       .source = v,
                       .result = r,
                       .seconds = is_sent ? weft_span_s(&span, part) : 0,
                       .sent_bytes = is_sent ? total : 0,
                       .job = -1};
}

/* Outputs in the order of the network, each once; those that are inputs or constants stay. */
static int list_outputs(weft_shards_draft *d, int n, weft_arena *a)
{
    const weft_graph *g = d->p->steps->graph;
    bool *is_done = WEFT_NEW(a, bool, g->n_tensors + 1);

    for (int i = 0; i < g->n_outputs; i++) {
        int t = g->output[i], u = g->tensor[t].producer;
        int v = u < 0 ? -1 : d->p->steps->of_node[u];
        int r = v < 0 || is_done[t] ? -1 : result_of(&d->p->steps->step[v], t);

        is_done[t] = true;
        if (r >= 0)
            d->move[n++] = to_host(d, v, r);
    }
    return n;
}

static void list_moves(weft_shards_draft *d, weft_arena *a)
{
    const weft_steps *s = d->p->steps;
    int n = 0, most = s->graph->n_outputs, *at = WEFT_NEW(a, int, s->n + 1);

    for (int v = 0; v < s->n; v++)
        most += s->step[v].n_operands;
    d->move = WEFT_NEW(a, weft_move, most);
    for (int v = 0; v < s->n; v++) {
        at[v] = n;
        for (int k = 0; k < s->step[v].n_operands; k++)
            d->move[n++] = move_of(d, v, k);
    }
    at[s->n] = n;
    d->move_at = at;
    d->n_moves = list_outputs(d, n, a);
}

/* --- jobs ------------------------------------------------------------------------------------ */

typedef struct job {
    weft_shard_part part;
    double duration_s;
    int step, tensor, from, to;
    int dep_at;   /* its first dependence */
    bool is_used; /* it occupies its set */
    int64_t rank;
} job;

/* Jobs while they are written. */
typedef struct writer {
    weft_shards_draft *d;
    WEFT_VEC(job) job;
    WEFT_VEC(int) dep;
    int before;           /* one after the other: the job that the next one waits for, or -1 */
    int64_t rank;         /* the last one given */
    int64_t *short_rank;  /* [n_sets] of steps of no time that came last there, or -1 */
    const bool *is_short; /* [n_steps] */
    weft_arena *a;
} writer;

static bool is_sequential(const writer *w)
{
    return !w->d->p->ask.is_concurrent;
}

static void wait_for(writer *w, int other)
{
    if (other >= 0)
        WEFT_PUSH(w->a, w->dep, other);
}

/* A job of step v; what it waits for is written after it. */
static int add_job(writer *w, weft_shard_part part, int v, double duration_s)
{
    int here = team_of(w->d, v)->member[0];
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

/* The way of an operand or of an output. `before`: see writer. */
static void add_move(writer *w, weft_move *m)
{
    const weft_shards_draft *d = w->d;
    int i;
    job *j;

    if (!(m->seconds > 0))
        return;
    i = add_job(w, m->part, m->step, m->seconds);
    j = &w->job.at[i];
    j->tensor = m->operand >= 0 ? d->p->steps->step[m->step].operand[m->operand].tensor
                                : d->p->steps->step[m->step].result[m->result];
    if (m->source < 0)
        j->from = d->p->platform->host;
    else
        j->from = team_of(d, m->source)->member[0];
    if (m->operand < 0)
        j->to = d->p->platform->host;
    wait_for(w, is_sequential(w) ? w->before : m->source < 0 ? -1 : d->last[m->source]);
    m->job = w->before = i;
}

/* The operands of v that move between members, or the others; without the first of all if it comes
 * beside computation. */
static void add_moves(writer *w, int v, bool is_inside, bool is_first_beside)
{
    for (int i = w->d->move_at[v] + is_first_beside; i < w->d->move_at[v + 1]; i++)
        if ((w->d->move[i].part == WEFT_PART_RESHARD) == is_inside)
            add_move(w, &w->d->move[i]);
}

/* What computation waits for: its operands, the first only if is_all (else its maker). `before`:
 * the job before it, one after the other. */
static void wait_for_operands(writer *w, int v, int before, bool is_all)
{
    if (is_sequential(w)) {
        wait_for(w, before);
        return;
    }
    for (int i = w->d->move_at[v]; i < w->d->move_at[v + 1]; i++) {
        const weft_move *m = &w->d->move[i];

        if (m->job >= 0 && (is_all || i > w->d->move_at[v]))
            wait_for(w, m->job);
        else
            wait_for(w, m->source < 0 ? -1 : w->d->last[m->source]);
    }
}

/* Computation in the next rank; steps of no time that follow each other on a set share one. */
static int add_phase(writer *w, int v, double duration_s)
{
    int64_t *of_short = &w->short_rank[w->d->s->set_of[v]];
    int i;

    w->rank++;
    i = add_job(w, WEFT_PART_COMPUTE, v, duration_s);
    if (w->is_short[v] && *of_short >= 0)
        w->job.at[i].rank = *of_short;
    *of_short = w->is_short[v] ? w->job.at[i].rank : -1;
    return i;
}

/* Share of v that is computed while its first operand moves between members. */
static double share_beside(const writer *w, int v)
{
    const weft_shards_draft *d = w->d;
    const weft_move *m = &d->move[d->move_at[v]];

    if (!d->p->hides || d->mode[v].n_phases > 1 || w->is_short[v] ||
        d->move_at[v] == d->move_at[v + 1] || m->part != WEFT_PART_RESHARD || !(m->seconds > 0))
        return 0;
    return weft_interior_share(d->p->steps, v, m->operand, &d->s->split[m->source],
                               &d->s->split[v]);
}

/* Computation in one phase, a share of it beside the move of the first operand. */
static int add_beside(writer *w, int v, double share)
{
    double compute_s = w->d->mode[v].phase_s;
    int before, inner, outer;

    add_moves(w, v, true, true);
    before = w->before;
    add_move(w, &w->d->move[w->d->move_at[v]]);
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
    const weft_mode *m = &w->d->mode[v];
    int n_phases = w->is_short[v] ? 1 : m->n_phases, phase = -1, rotation = -1;
    double rotate_s = weft_span_s(&w->d->inside[w->d->s->set_of[v]], m->rotate_bytes);

    for (int t = 0; t < n_phases; t++) {
        int phase_before = phase, rotation_before = rotation;

        phase = add_phase(w, v, m->phase_s);
        wait_for_turn(w, v, phase_before, rotation_before);
        rotation = -1;
        if (t == 0)
            w->d->first[v] = phase;
        if (t + 1 == n_phases || !(rotate_s > 0))
            continue;
        w->rank += !w->d->p->hides; /* beside the phase: of the same rank */
        rotation = add_job(w, WEFT_PART_ROTATE, v, rotate_s);
        if (w->d->p->hides)
            wait_for_turn(w, v, phase_before, rotation_before);
        else
            wait_for(w, phase);
    }
    return phase;
}

static void add_step(writer *w, int v)
{
    weft_shards_draft *d = w->d;
    double reduce_s = weft_mode_reduce_s(&d->mode[v], &d->inside[d->s->set_of[v]]);
    double share;
    int phase;

    share = share_beside(w, v);
    add_moves(w, v, false, false);
    if (share > 0) {
        phase = add_beside(w, v, share);
    } else {
        add_moves(w, v, true, false);
        phase = add_phases(w, v);
    }
    d->last[v] = phase;
    if (reduce_s > 0) {
        w->rank++;
        d->last[v] = add_job(w, WEFT_PART_REDUCE, v, reduce_s);
        wait_for(w, phase);
    }
    w->before = d->last[v];
}

/* --- the whole ------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

/* Job i with its lists. */
static void copy_job(const writer *w, int i, weft_item *out)
{
    const job *j = &w->job.at[i];
    const weft_team *t = team_of(w->d, j->step);
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
    qsort(out->use + out->use_at[i], (size_t)n_uses, sizeof(int), by_number);
}

static void finish(writer *w, weft_arena *a)
{
    int n_devices = w->d->p->platform->n_devices;
    weft_shard_part *part = WEFT_NEW(a, weft_shard_part, w->job.n + 1);
    int64_t n_uses = 0;
    weft_item one;

    for (int i = 0; i < w->job.n; i++)
        n_uses += w->job.at[i].is_used ? team_of(w->d, w->job.at[i].step)->n : 0;
    one = weft_item_new(w->job.n, n_devices, w->dep.n, n_uses, w->a);
    for (int r = 0; r < n_devices; r++)
        one.is_queue[r] = true;
    for (int i = 0; i < w->job.n; i++) {
        copy_job(w, i, &one);
        part[i] = w->job.at[i].part;
    }
    w->d->jobs = weft_item_copies(&one, 1, a);
    w->d->part = part;
}

static bool write_jobs(weft_shards_draft *d, weft_arena *scratch, weft_arena *a)
{
    writer w = {.d = d, .before = -1, .a = scratch};
    const int *order;

    w.is_short = weft_shards_short(d->p, d->s, d->mode, scratch);
    order = weft_shards_order(d->p, d->s, w.is_short, scratch);
    if (order == NULL)
        return false;
    w.short_rank = WEFT_NEW(scratch, int64_t, d->s->n_sets + 1);
    for (int k = 0; k < d->s->n_sets; k++)
        w.short_rank[k] = -1;
    for (int i = 0; i < d->s->n_steps; i++)
        add_step(&w, order[i]);
    for (int i = d->move_at[d->s->n_steps]; i < d->n_moves; i++)
        add_move(&w, &d->move[i]);
    finish(&w, a);
    return true;
}

bool weft_shards_draft_new(const weft_sharding *p, const weft_shards *s, const weft_mode *mode,
                           weft_arena *a, weft_shards_draft *out)
{
    weft_arena *scratch = weft_arena_new();
    weft_span *inside = WEFT_NEW(a, weft_span, s->n_sets + 1);
    bool is_possible;

    for (int k = 0; k < s->n_sets; k++)
        inside[k] = weft_team_span(p, &s->set[k]);
    *out = (weft_shards_draft){.p = p,
                               .s = s,
                               .mode = mode,
                               .inside = inside,
                               .first = WEFT_NEW(a, int, s->n_steps + 1),
                               .last = WEFT_NEW(a, int, s->n_steps + 1)};
    list_moves(out, a);
    is_possible = write_jobs(out, scratch, a);
    weft_arena_free(scratch);
    return is_possible;
}

weft_jobs *weft_shards_lower(const weft_sharding *p, const weft_shards *s)
{
    weft_arena *a = weft_arena_new();
    weft_mode *mode = WEFT_NEW(a, weft_mode, s->n_steps + 1);
    weft_shards_draft d;

    if (weft_shards_form(p, s, NULL, 0, a, mode) > 0 || !weft_shards_draft_new(p, s, mode, a, &d)) {
        weft_arena_free(a);
        return NULL;
    }
    d.jobs->arena = a;
    return d.jobs;
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
