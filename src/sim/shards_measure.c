/* SPDX-License-Identifier: MIT */
/* shards_measure.c: the run of a sharded network -> everything that is said about its plan.
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

#include "shards_draft.h"

typedef struct measuring {
    const weft_shards_draft *d;
    const weft_timeline *t;
    weft_arena *a, *scratch;
    weft_shards_measures *out;
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
    weft_shards_measures *out = m->out;
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
    weft_shards_measures *out = m->out;

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

/* From at_s on, a member of a set holds so many bytes more (or less). */
typedef struct change {
    double at_s, bytes;
    int set;
} change;

typedef struct holding {
    measuring *m;
    WEFT_VEC(change) change;
    const int *result_at; /* [n_steps + 1] */
    double *until_s;      /* [result_at[n_steps]] the end of the last that takes it */
} holding;

/* A member of the set of step v holds so many bytes from start_s to end_s. */
static void hold(holding *h, int v, double bytes, double start_s, double end_s)
{
    int set = h->m->d->costs.s->set_of[v];

    if (!(bytes > 0) || !(end_s > start_s))
        return;
    WEFT_PUSH(h->m->scratch, h->change, ((change){start_s, bytes, set}));
    if (end_s < INFINITY)
        WEFT_PUSH(h->m->scratch, h->change, ((change){end_s, -bytes, set}));
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
        hold(h, x->step, x->held_bytes, job < 0 ? start_of(m, x->step) : m->t->start_s[job],
             end_of(m, x->step));
}

static void hold_step(holding *h, int v)
{
    const weft_shards_costs *d = &h->m->d->costs;
    const weft_mode *mode = &d->mode[v];

    hold(h, v, mode->weight_bytes, 0, INFINITY);
    hold(h, v, mode->extra_bytes, start_of(h->m, v), end_of(h->m, v));
    for (int r = 0; r < d->p->steps->step[v].n_results; r++)
        hold(h, v, weft_result_bytes(d->p->steps, v, r, &d->s->split[v], NULL), start_of(h->m, v),
             fmax(end_of(h->m, v), h->until_s[h->result_at[v] + r]));
}

static void list_changes(holding *h)
{
    const weft_shards_costs *d = &h->m->d->costs;
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

/* Changes by set, then time. */
static const int *sort_changes(const holding *h)
{
    weft_arena *a = h->m->scratch;
    int n = h->change.n, *order = WEFT_NEW(a, int, n + 1);
    uint64_t *key = WEFT_NEW(a, uint64_t, n + 1);

    for (int i = 0; i < n; i++) {
        order[i] = i;
        key[i] = weft_time_key(h->change.at[i].at_s);
    }
    weft_sort(key, order, n, a);
    for (int i = 0; i < n; i++)
        key[i] = (uint64_t)h->change.at[i].set;
    weft_sort(key, order, n, a);
    return order;
}

/* The steps of one set from its n changes in order of time, the first at time 0; *peak: the most.
 */
static weft_sample *list_steps(const holding *h, const int *order, int n, int *n_steps,
                               double *peak)
{
    weft_sample *step = WEFT_NEW(h->m->a, weft_sample, n + 1);
    double bytes = 0.0;

    *n_steps = 1;
    *peak = 0;
    for (int i = 0; i < n; i++) {
        const change *c = &h->change.at[order[i]];

        bytes += c->bytes;
        if (i + 1 < n && h->change.at[order[i + 1]].at_s <= c->at_s)
            continue;
        if (c->at_s > step[*n_steps - 1].at_s)
            (*n_steps)++;
        step[*n_steps - 1] = (weft_sample){c->at_s, bytes};
        *peak = fmax(*peak, bytes);
    }
    return step;
}

static void measure_memory(measuring *m)
{
    const weft_platform *p = m->d->costs.p->platform;
    holding h = {.m = m};
    const weft_sample **memory = WEFT_NEW(m->a, const weft_sample *, p->n_devices);
    int *n_memory = WEFT_NEW(m->a, int, p->n_devices), first = 0;
    double *peak_bytes = WEFT_NEW(m->a, double, p->n_devices);
    const int *order;

    list_changes(&h);
    order = sort_changes(&h);
    for (int k = 0; k < m->d->costs.s->n_sets; k++) {
        const weft_team *t = &m->d->costs.s->set[k];
        const weft_sample *steps;
        int n = 0, n_steps;
        double peak;

        while (first + n < h.change.n && h.change.at[order[first + n]].set == k)
            n++;
        steps = list_steps(&h, order + first, n, &n_steps, &peak);
        first += n;
        for (int i = 0; i < t->n; i++) {
            memory[t->member[i]] = steps;
            n_memory[t->member[i]] = n_steps;
            peak_bytes[t->member[i]] = peak;
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

static weft_status check_links(const weft_shards_draft *d)
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

static weft_status lower(const weft_sharding *p, const weft_shards *s, weft_arena *a,
                         weft_shards_draft *out)
{
    weft_mode *mode = WEFT_NEW(a, weft_mode, s->n_steps + 1);
    weft_breach breach;

    if (weft_shards_form(p, s, &breach, 1, a, mode) > 0)
        return weft_fail(WEFT_E_INPUT, "%s", breach.what);
    if (!weft_shards_draft_new(p, s, mode, a, out))
        return weft_fail(WEFT_E_INPUT,
                         "the order of starts contradicts what steps read from each other");
    return check_links(out);
}

weft_status weft_shards_evaluate(const weft_sharding *p, weft_shards *s, weft_arena *a,
                                 weft_shards_measures *out)
{
    weft_timeline *t = WEFT_NEW(a, weft_timeline, 1);
    weft_shards_draft d;
    measuring m = {.d = &d, .t = t, .a = a, .out = out};

    WEFT_TRY(lower(p, s, a, &d));
    *t = weft_run_jobs(d.jobs, a);
    if (t->is_stuck) /* queues are in the order of dependences */
        return weft_fail(WEFT_E_INTERNAL, "internal error: the run of a sharded plan is stuck");
    *out = (weft_shards_measures){.jobs = d.jobs, .timeline = t, .part = d.part};
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

static weft_doc *devices_doc(const weft_sharding *p, const weft_shards_measures *m, weft_arena *a)
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

weft_doc *weft_shards_measures_doc(const weft_sharding *p, const weft_shards_measures *m,
                                   weft_arena *a)
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
