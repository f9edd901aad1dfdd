/* SPDX-License-Identifier: MIT */
/* measure_shard.c: the run of a sharded network -> everything that is said about its plan.
 *
 * latency     end of the last job.
 * seconds     of all jobs, by what they do.
 * busy        seconds of computation on a device: those of the slowest member, for each member.
 * energy      joules of all modes + idle watts * (latency - busy) of each device.
 * bytes sent  received by members (and by the host) in all jobs.
 * memory      of a member of a set, the fullest one standing for all; intervals are closed at the
 *             start and open at the end.
 *               weights     of all steps of the set, always
 *               a result    from the start of its step to the end of that step, and of the last
 *                           that takes it: its way to the host, to another set or to other members,
 *                           or, where members read it as it lies, the step that reads it. Without
 *                           host outputs stay to the end of the run
 *               an operand  that came: from the start of its way (that of its step, if it takes no
 *                           time) to the end of its step
 *               extra       second shards and unreduced sums, while the step runs
 *             The host's memory is not counted.
 *
 * Time O(jobs + operands), intervals are sorted by radix. */
#include <math.h>

#include "shard_lowered.h"

typedef struct measuring {
    const weft_shard_lowered *d;
    const weft_timeline *t;
    weft_arena *a, *scratch;
    weft_shard_plan_measures *out;
} measuring;

static double start_of(const measuring *m, int v)
{
    return m->t->start_s[m->d->first[v]];
}

static double end_of(const measuring *m, int v)
{
    return m->t->end_s[m->d->last[v]];
}

/* --- seconds, joules, bytes ------------------------------------------------------------------ */

static void measure_seconds(measuring *m)
{
    weft_shard_plan_measures *out = m->out;
    const weft_jobs *j = m->d->jobs;
    double *busy_s = WEFT_NEW(m->a, double, m->d->costs.p->platform->n_devices);
    double *const sum[WEFT_N_PARTS] = {
        [WEFT_PART_COMPUTE] = &out->compute_s,   [WEFT_PART_ROTATE] = &out->rotate_s,
        [WEFT_PART_REDUCE] = &out->reduce_s,     [WEFT_PART_RESHARD] = &out->reshard_s,
        [WEFT_PART_HANDOVER] = &out->handover_s, [WEFT_PART_HOST] = &out->host_s,
    };

    for (int i = 0; i < j->n_jobs; i++) {
        *sum[m->d->part[i]] += j->duration_s[i];
        for (int k = j->use_at[i]; j->kind[i] == WEFT_JOB_COMPUTE && k < j->use_at[i + 1]; k++)
            busy_s[j->use[k]] += j->duration_s[i];
    }
    out->latency_s = m->t->end_of_all_s;
    out->busy_s = busy_s;
}

static void measure_work(measuring *m)
{
    const weft_platform *p = m->d->costs.p->platform;
    weft_shard_plan_measures *out = m->out;

    for (int v = 0; v < m->d->costs.s->n_steps; v++) {
        out->energy_j += m->d->costs.mode[v].joules;
        out->sent_bytes += m->d->costs.mode[v].sent_bytes;
    }
    for (int i = 0; i < m->d->costs.n_moves; i++)
        out->sent_bytes += m->d->costs.move[i].sent_bytes;
    for (int d = 0; d < p->n_devices; d++)
        out->energy_j += p->device[d].idle_w * fmax(0.0, out->latency_s - out->busy_s[d]);
}

static void measure_starts(measuring *m)
{
    int n = m->d->costs.s->n_steps;
    double *start_s = WEFT_NEW(m->a, double, n + 1), *end_s = WEFT_NEW(m->a, double, n + 1);

    for (int v = 0; v < n; v++) {
        start_s[v] = start_of(m, v);
        end_s[v] = end_of(m, v);
    }
    m->out->start_s = start_s;
    m->out->end_s = end_s;
}

/* --- memory ---------------------------------------------------------------------------------- */

typedef struct holding {
    measuring *m;
    weft_holdings all;
    const int *result_at; /* [n_steps + 1] */
    double *until_s;      /* [result_at[n_steps]] the end of the last that takes it */
} holding;

/* A member of the set of step v holds so many bytes from start_s to end_s. */
static void hold(holding *h, int v, double bytes, double start_s, double end_s)
{
    weft_hold(&h->all, h->m->d->costs.s->set_of[v], bytes, start_s, end_s);
}

/* When nobody needs the source of a move any more. */
static double taken_s(const measuring *m, const weft_move *x, int job)
{
    if (x->operand < 0) /* an output: kept, or sent to the host */
        return job < 0 ? INFINITY : m->t->end_s[job];
    if (!(x->held_bytes > 0)) /* read as it lies */
        return end_of(m, x->step);
    return job < 0 ? start_of(m, x->step) : m->t->end_s[job];
}

static void hold_move(holding *h, int i)
{
    const measuring *m = h->m;
    const weft_move *x = &m->d->costs.move[i];
    int job = m->d->move_job[i];

    if (x->source >= 0) {
        double *until_s = &h->until_s[h->result_at[x->source] + x->result];

        *until_s = fmax(*until_s, taken_s(m, x, job));
    }
    if (x->operand >= 0)
        hold(h, x->step, x->held_bytes,
             job < 0 ? start_of(m, x->step) : m->t->start_s[m->d->move_start[i]],
             end_of(m, x->step));
}

static void hold_step(holding *h, int v)
{
    const weft_shard_plan_costs *d = &h->m->d->costs;
    const weft_split_cost *mode = &d->mode[v];

    hold(h, v, mode->weight_bytes, 0, INFINITY);
    hold(h, v, mode->extra_bytes, start_of(h->m, v), end_of(h->m, v));
    for (int r = 0; r < d->p->steps->step[v].n_results; r++)
        hold(h, v, weft_result_bytes(d->p->steps, v, r, &d->s->split[v], NULL), start_of(h->m, v),
             fmax(end_of(h->m, v), h->until_s[h->result_at[v] + r]));
}

static void list_changes(holding *h)
{
    const weft_shard_plan_costs *d = &h->m->d->costs;
    int n = d->s->n_steps, *at = WEFT_NEW(h->m->scratch, int, n + 1);

    for (int v = 0; v < n; v++)
        at[v + 1] = at[v] + d->p->steps->step[v].n_results;
    h->result_at = at;
    h->until_s = WEFT_NEW(h->m->scratch, double, at[n] + 1);
    for (int i = 0; i < d->n_moves; i++)
        hold_move(h, i);
    for (int v = 0; v < n; v++)
        hold_step(h, v);
}

static void measure_memory(measuring *m)
{
    const weft_platform *p = m->d->costs.p->platform;
    holding h = {.m = m, .all = {.scratch = m->scratch}};
    const weft_sample **memory = WEFT_NEW(m->a, const weft_sample *, p->n_devices);
    int *n_memory = WEFT_NEW(m->a, int, p->n_devices);
    double *peak_bytes = WEFT_NEW(m->a, double, p->n_devices);
    const weft_curve *curve;

    list_changes(&h);
    curve = weft_curves(&h.all, m->d->costs.s->n_sets, m->a);
    for (int k = 0; k < m->d->costs.s->n_sets; k++) {
        const weft_device_set *t = &m->d->costs.s->set[k];

        for (int i = 0; i < t->n; i++) {
            memory[t->member[i]] = curve[k].sample;
            n_memory[t->member[i]] = curve[k].n;
            peak_bytes[t->member[i]] = curve[k].peak_bytes;
        }
    }
    m->out->memory = memory;
    m->out->n_memory = n_memory;
    m->out->peak_bytes = peak_bytes;
    m->out->over_device = -1;
    for (int d = p->n_devices - 1; d >= 0; d--)
        if (peak_bytes[d] > p->device[d].memory_bytes)
            m->out->over_device = d;
}

/* --- the whole ------------------------------------------------------------------------------- */

static weft_status check_links(const weft_shard_lowered *d)
{
    const weft_jobs *j = d->jobs;

    for (int i = 0; i < j->n_jobs; i++)
        if (!isfinite(j->duration_s[i]))
            return weft_fail(WEFT_E_INPUT,
                             "step '%s': no route for what it sends or receives (%s, from '%s' to "
                             "'%s')",
                             weft_step_name(d->costs.p->steps, j->task[i]),
                             weft_shard_part_name(d->part[i]),
                             d->costs.p->platform->device[j->from[i]].name,
                             d->costs.p->platform->device[j->to[i]].name);
    return WEFT_OK;
}

static weft_status lower(const weft_shard_problem *p, const weft_shard_plan *s, weft_arena *a,
                         weft_shard_lowered *out)
{
    weft_split_cost *mode = WEFT_NEW(a, weft_split_cost, s->n_steps + 1);
    weft_violation violation;

    if (weft_shard_plan_form(p, s, &violation, 1, a, mode) > 0)
        return weft_fail(WEFT_E_INPUT, "%s", violation.what);
    if (!weft_shard_lower(p, s, mode, a, out))
        return weft_fail(WEFT_E_INPUT,
                         "the order of starts contradicts what steps read from each other");
    return check_links(out);
}

weft_status weft_shard_plan_evaluate(const weft_shard_problem *p, weft_shard_plan *s, weft_arena *a,
                                     weft_shard_plan_measures *out)
{
    weft_timeline *t = WEFT_NEW(a, weft_timeline, 1);
    weft_shard_lowered d;
    measuring m = {.d = &d, .t = t, .a = a, .out = out};

    WEFT_TRY(lower(p, s, a, &d));
    *t = weft_run_jobs(d.jobs, a);
    if (t->is_stuck) /* queues are in the order of dependences */
        return weft_fail(WEFT_E_INTERNAL, "internal error: the run of a sharded plan is stuck");
    *out = (weft_shard_plan_measures){.jobs = d.jobs, .timeline = t, .part = d.part};
    m.scratch = weft_arena_new();
    measure_seconds(&m);
    measure_work(&m);
    measure_starts(&m);
    measure_memory(&m);
    weft_arena_free(m.scratch);
    for (int v = 0; v < s->n_steps; v++)
        s->start_s[v] = out->start_s[v];
    return WEFT_OK;
}

static weft_doc *devices_doc(const weft_shard_problem *p, const weft_shard_plan_measures *m,
                             weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int d = 0; d < p->platform->n_devices; d++) {
        weft_doc *row = weft_doc_new(a, WEFT_DOC_MAP);
        double busy_s = m->busy_s[d];

        if (d == p->platform->host)
            continue;
        weft_put_text(a, row, "name", p->platform->device[d].name);
        weft_put_real(a, row, "busy_s", busy_s);
        weft_put_real(a, row, "utilisation",
                      m->latency_s > 0 ? fmin(1.0, busy_s / m->latency_s) : 0);
        weft_put_real(a, row, "peak_bytes", m->peak_bytes[d]);
        weft_put_real(a, row, "capacity_bytes", p->platform->device[d].memory_bytes);
        weft_doc_add(a, list, row);
    }
    return list;
}

weft_doc *weft_shard_plan_measures_doc(const weft_shard_problem *p,
                                       const weft_shard_plan_measures *m, weft_arena *a)
{
    weft_doc *d;

    if (m->busy_s == NULL) /* no plan, nothing was measured */
        return weft_doc_new(a, WEFT_DOC_NULL);
    d = weft_doc_new(a, WEFT_DOC_MAP);
    weft_put_real(a, d, "value", m->latency_s);
    weft_put_text(a, d, "unit", "s");
    weft_put_real(a, d, "latency_s", m->latency_s);
    weft_put_real(a, d, "compute_s", m->compute_s);
    weft_put_real(a, d, "rotate_s", m->rotate_s);
    weft_put_real(a, d, "reduce_s", m->reduce_s);
    weft_put_real(a, d, "reshard_s", m->reshard_s);
    weft_put_real(a, d, "handover_s", m->handover_s);
    weft_put_real(a, d, "host_s", m->host_s);
    weft_put_real(a, d, "energy_j", m->energy_j);
    weft_put_real(a, d, "sent_bytes", m->sent_bytes);
    weft_doc_put(a, d, "devices", devices_doc(p, m, a));
    return d;
}
