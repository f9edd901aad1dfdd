/* SPDX-License-Identifier: MIT */
/* measure.c: the timeline of one run -> everything that is said about a plan.
 *
 * makespan    end of the last task.
 * busy        seconds of tasks on a device, switches to it included. load = busy; under block also transfers in and out;
 *             under calls the host pays for none, accelerators for theirs.
 * link        seconds of transfers whose route has the link, each for its whole length.
 * period      largest load of a device, under contend of a device or link; ties go to devices, then
 *             to the lowest number. lower.c shows that a stream of items keeps this period.
 * energy      joules of the tasks + idle watts * (makespan - busy + switches) of each device.
 * memory      a sum of intervals, closed at the start and open at the end: what ends at a time
 *             makes room for what starts then.
 *               weights          on each device that reads them, always
 *               a made tensor    where it is made, from the start of its task to the last end of
 *                                that task, its readers there and its transfers
 *               a tensor sent    where it goes, from the start of the transfer to the last end of
 *                                its readers there (and of the transfer)
 *               an input         as a made tensor, on the host from time 0; without host on each
 *                                device that reads it, to the last end of its readers there
 *               an output        where it is made or lies, to the end of the run
 *             Under calls weights are all that counts.
 * chain       from the last task back along "waits for", gaps filled by waits; its links add up to
 *             the makespan.
 *
 * Time O(jobs + readers): intervals are sorted by radix. */
#include <math.h>

#include "parts.h"
#include "rows.h"

typedef struct measuring {
    const weft_problem *p;
    const weft_jobs *j;
    const weft_timeline *t;
    weft_arena *a, *scratch;
    int *job_of;    /* [n_tasks] */
    int *device;    /* [n_tasks] */
    double *work_s; /* [n_devices] as busy, without switches: these take no energy of work */
    weft_measures *out;
} measuring;

static void index_tasks(measuring *m)
{
    m->job_of = WEFT_NEW(m->scratch, int, m->p->n_tasks);
    m->device = WEFT_NEW(m->scratch, int, m->p->n_tasks);
    for (int i = 0; i < m->j->n_jobs; i++)
        if (m->j->kind[i] == WEFT_JOB_COMPUTE) {
            m->job_of[m->j->task[i]] = i;
            m->device[m->j->task[i]] = m->j->use[m->j->use_at[i]]; /* its queue */
        }
}

/* --- loads and energy ------------------------------------------------------------------------ */

static void add_task(measuring *m, int i, double *busy_s, double *load_s)
{
    int u = m->j->task[i], d = m->device[u];

    busy_s[d] += m->j->duration_s[i];
    load_s[d] += m->j->duration_s[i];
    m->work_s[d] += weft_task_s(m->p, u, d);
    if (m->p->joules != NULL)
        m->out->energy_j += m->p->joules[u * m->p->n_devices + d];
    m->out->makespan_s = fmax(m->out->makespan_s, m->t->end_s[i]);
}

static void add_transfer(measuring *m, int i, double *load_s, double *link_s)
{
    const weft_problem *p = m->p;
    int from = m->j->from[i], to = m->j->to[i], pair = from * p->n_devices + to;

    m->out->n_transfers++;
    m->out->sent_bytes += p->amount[m->j->tensor[i]];
    if (p->transfer == WEFT_BLOCK) {
        load_s[from] += m->j->duration_s[i];
        load_s[to] += m->j->duration_s[i];
    } else if (p->transfer == WEFT_CALLS) {
        load_s[from == p->host ? to : from] += m->j->duration_s[i];
    }
    for (int k = p->route_at[pair]; k < p->route_at[pair + 1]; k++) {
        bool is_new = true;
        for (int l = p->route_at[pair]; l < k; l++)
            is_new &= p->route[l] != p->route[k];
        if (is_new)
            link_s[p->route[k]] += m->j->duration_s[i];
    }
}

static void measure_loads(measuring *m)
{
    const weft_problem *p = m->p;
    double *busy_s = WEFT_NEW(m->a, double, p->n_devices);
    double *load_s = WEFT_NEW(m->a, double, p->n_devices);
    double *link_s = WEFT_NEW(m->a, double, p->n_links);

    m->work_s = WEFT_NEW(m->scratch, double, p->n_devices);
    for (int i = 0; i < m->j->n_jobs; i++)
        if (m->j->kind[i] == WEFT_JOB_COMPUTE)
            add_task(m, i, busy_s, load_s);
        else
            add_transfer(m, i, load_s, link_s);
    m->out->busy_s = busy_s;
    m->out->load_s = load_s;
    m->out->link_s = link_s;
}

void weft_measure_period(const weft_problem *p, weft_measures *out)
{
    int n_links = p->transfer == WEFT_CONTEND ? p->n_links : 0;

    out->bottleneck = p->n_devices > 0 ? p->device_name[0] : "";
    for (int d = 0; d < p->n_devices; d++)
        if (out->load_s[d] > out->period_s) {
            out->period_s = out->load_s[d];
            out->bottleneck = p->device_name[d];
        }
    for (int k = 0; k < n_links; k++)
        if (out->link_s[k] > out->period_s) {
            out->period_s = out->link_s[k];
            out->bottleneck = p->link_name[k];
        }
}

static void measure_energy(measuring *m)
{
    weft_measures *out = m->out;

    for (int d = 0; d < m->p->n_devices; d++)
        out->idle_j += m->p->idle_w[d] * fmax(0.0, out->makespan_s - m->work_s[d]);
    out->energy_j = m->p->joules == NULL ? NAN : out->energy_j + out->idle_j;
}

/* --- memory ---------------------------------------------------------------------------------- */

typedef struct holding {
    measuring *m;
    weft_holdings all;
    double *last_s; /* [n_devices] last end of a reader of the tensor at hand */
    int *mark;      /* [n_devices] t + 1: last_s is of tensor t */
    weft_rows sent; /* tensor -> its transfer jobs */
} holding;

/* Tensor t is on the device from start_s to end_s; INFINITY: to the end of the run. */
static void hold(holding *h, int t, int device, double start_s, double end_s)
{
    weft_hold(&h->all, device, h->m->p->memory[t], start_s, end_s);
}

static void list_sent(holding *h)
{
    const weft_jobs *j = h->m->j;
    int *tensor = WEFT_NEW(h->m->scratch, int, j->n_jobs);

    for (int i = 0; i < j->n_jobs; i++)
        tensor[i] = j->kind[i] == WEFT_JOB_TRANSFER ? j->tensor[i] : -1;
    h->sent = weft_rows_by(tensor, j->n_jobs, h->m->p->n_tensors, h->m->scratch);
}

/* Fills last_s of all devices that read t. Where no task has a part, it is held for good
 * (weights) or by each reader (inputs without host): is_everywhere. */
static void find_last_readers(holding *h, int t, bool is_everywhere)
{
    const weft_problem *p = h->m->p;

    for (int i = p->reader_at[t]; i < p->reader_at[t + 1]; i++) {
        int d = h->m->device[p->reader[i]];
        double end_s = h->m->t->end_s[h->m->job_of[p->reader[i]]];
        bool is_new = h->mark[d] != t + 1;
        h->last_s[d] = is_new ? end_s : fmax(h->last_s[d], end_s);
        h->mark[d] = t + 1;
        if (is_new && is_everywhere && p->is_weight[t])
            hold(h, t, d, 0.0, INFINITY);
    }
    if (is_everywhere && !p->is_weight[t])
        for (int i = p->reader_at[t]; i < p->reader_at[t + 1]; i++) {
            int d = h->m->device[p->reader[i]];
            if (h->mark[d] == t + 1)
                hold(h, t, d, 0.0, p->is_output[t] ? INFINITY : h->last_s[d]);
            h->mark[d] = 0; /* once a device */
        }
}

static double last_reader_s(const holding *h, int t, int device)
{
    return h->mark[device] == t + 1 ? h->last_s[device] : 0.0;
}

static void hold_tensor(holding *h, int t)
{
    const weft_problem *p = h->m->p;
    const weft_timeline *line = h->m->t;
    int u = p->producer[t], home = u < 0 ? p->host : h->m->device[u];
    bool is_everywhere = p->is_weight[t] || home < 0;
    double start_s = u < 0 ? 0.0 : line->start_s[h->m->job_of[u]], end_s;

    find_last_readers(h, t, is_everywhere);
    if (is_everywhere || p->transfer == WEFT_CALLS)
        return;
    end_s = fmax(last_reader_s(h, t, home), u < 0 ? 0.0 : line->end_s[h->m->job_of[u]]);
    for (int k = h->sent.at[t]; k < h->sent.at[t + 1]; k++) {
        int i = h->sent.item[k], to = h->m->j->to[i];
        end_s = fmax(end_s, line->end_s[i]);
        hold(h, t, to, line->start_s[i], fmax(line->end_s[i], last_reader_s(h, t, to)));
    }
    hold(h, t, home, start_s, p->is_output[t] ? INFINITY : end_s);
}

static void measure_memory(measuring *m)
{
    int n_devices = m->p->n_devices;
    holding h = {.m = m,
                 .all = {.scratch = m->scratch},
                 .last_s = WEFT_NEW(m->scratch, double, n_devices),
                 .mark = WEFT_NEW(m->scratch, int, n_devices)};
    const weft_sample **memory = WEFT_NEW(m->a, const weft_sample *, n_devices);
    int *n_memory = WEFT_NEW(m->a, int, n_devices);
    double *peak_bytes = WEFT_NEW(m->a, double, n_devices);
    const weft_curve *curve;

    list_sent(&h);
    for (int t = 0; t < m->p->n_tensors; t++)
        hold_tensor(&h, t);
    curve = weft_curves(&h.all, n_devices, m->a);
    m->out->over_device = -1;
    for (int d = 0; d < n_devices; d++) {
        memory[d] = curve[d].sample;
        n_memory[d] = curve[d].n;
        peak_bytes[d] = curve[d].peak_bytes;
        if (m->out->over_device < 0 && !weft_fits(peak_bytes[d], m->p->capacity[d]))
            m->out->over_device = d;
    }
    m->out->memory = memory;
    m->out->n_memory = n_memory;
    m->out->peak_bytes = peak_bytes;
}

/* --- the chain ------------------------------------------------------------------------------- */

/* The task that ends last; the lowest number of several. -1: no tasks. */
static int last_task_job(const measuring *m)
{
    int last = -1;

    for (int i = 0; i < m->j->n_jobs; i++)
        if (m->j->kind[i] == WEFT_JOB_COMPUTE && (last < 0 || m->t->end_s[i] > m->t->end_s[last]))
            last = i;
    return last;
}

static weft_chain_link link_of(const measuring *m, int i)
{
    bool is_task = m->j->kind[i] == WEFT_JOB_COMPUTE;
    int task = m->j->task[i];

    return (weft_chain_link){
        .kind = is_task ? WEFT_CHAIN_COMPUTE : WEFT_CHAIN_TRANSFER,
        .task = task,
        .tensor = m->j->tensor[i],
        .from = is_task ? m->device[task] : m->j->from[i],
        .to = is_task ? m->device[task] : m->j->to[i],
        .start_s = m->t->start_s[i],
        .end_s = m->t->end_s[i],
    };
}

static void measure_chain(measuring *m)
{
    WEFT_VEC(weft_chain_link) back = {0};
    weft_chain_link *chain;

    for (int i = last_task_job(m), before; i >= 0; i = before) {
        weft_chain_link link = link_of(m, i), wait = {WEFT_CHAIN_WAIT, -1, -1, -1, -1, 0, 0};
        before = m->t->waits_for[i];
        wait.start_s = before < 0 ? 0.0 : m->t->end_s[before];
        wait.end_s = link.start_s;
        WEFT_PUSH(m->scratch, back, link);
        if (wait.end_s > wait.start_s)
            WEFT_PUSH(m->scratch, back, wait);
    }
    chain = WEFT_NEW(m->a, weft_chain_link, back.n);
    for (int i = 0; i < back.n; i++)
        chain[i] = back.at[back.n - 1 - i];
    m->out->n_chain = back.n;
    m->out->chain = chain;
}

void weft_measure(const weft_problem *p, const weft_jobs *j, const weft_timeline *t, weft_arena *a,
                  weft_measures *out)
{
    measuring m = {.p = p, .j = j, .t = t, .a = a, .scratch = weft_arena_new(), .out = out};

    *out = (weft_measures){.n_jobs = j->n_jobs, .jobs = j, .timeline = t, .n_variants = 1};
    index_tasks(&m);
    measure_loads(&m);
    weft_measure_period(p, out);
    measure_energy(&m);
    measure_memory(&m);
    measure_chain(&m);
    weft_arena_free(m.scratch);
}

double weft_goal_value(const weft_problem *p, const weft_measures *m)
{
    return p->constraints.goal == WEFT_THROUGHPUT ? m->period_s : m->makespan_s;
}
