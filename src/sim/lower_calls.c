/* SPDX-License-Identifier: MIT */
/* lower_calls.c: a plan as jobs on resources under `calls` (WEFT_CALLS).
 *
 * Every device but the host is an accelerator; data goes through the memory of the host. A tensor
 * is written to the host once by an accelerator that makes it, if anybody else reads it, and read
 * from there once by each other accelerator that needs it. The host pays for neither. Inputs of the
 * network, its outputs and weights are not moved.
 *
 * Latency: the tasks of an accelerator are one call.
 *   1. Jobs of a call, one after the other on the queue of the device: all reads (by tensor), all
 *      tasks (by number), all writes (by tensor).
 *   2. The first job waits for everything from outside: for tasks of the host, and for the last
 *      write of other calls. So a call begins when all its inputs are available, and what it makes
 *      is available at its end.
 *   3. Tasks of the host have equal ranks on its queue: they run side by side, each when its
 *      predecessors are available.
 * The order of the plan's starts does not matter. If calls wait for each other in a circle, the run
 * is stuck. A write has a reader that ends no earlier than it, so the last task to end is the end
 * of all.
 *
 * Throughput: in a steady state an accelerator need not do its work on one item in one
 * go. Jobs wait for the data they read, not for whole calls, so there is always an order. An item
 * alone: devices (the host too) do one job at a time, first come first served; who is ready at the
 * same time goes by rank, reads and writes by (tensor, device) before tasks by number. Load and
 * period are those of calls: each transfer is made once an item, whatever the order.
 *
 * Time O(tasks + reads). */
#include <limits.h>
#include <string.h>

#include "parts.h"

/* A tensor on its way between an accelerator and the host. */
typedef struct crossing {
    int tensor, device;
    bool is_write; /* to the host */
} crossing;

typedef struct draft {
    const weft_problem *p;
    const weft_plan *plan;
    int n;                  /* crossings */
    crossing *cross;        /* by tensor; the write comes before the reads, these by device */
    int *cross_at;          /* [n_tensors + 1] */
    int *first_read;        /* [n_devices] crossing or -1 */
    int *next_read;         /* [n] the next one of the same device, or -1 */
    int *last_write;        /* [n_devices] crossing or -1 */
    int *read_by;           /* [n_devices] 1 + the last tensor found to be read there */
    const double *switch_s; /* [n_tasks] what each takes longer; NULL: nothing */
    weft_arena *scratch;
} draft;

static int device_of(const draft *d, int u)
{
    return d->plan->device[u];
}

/* Marks the devices but `home` that read tensor t; true if there are any. */
static bool mark_readers(draft *d, int t, int home)
{
    const weft_problem *p = d->p;
    bool is_sent = false;

    for (int i = p->reader_at[t]; i < p->reader_at[t + 1]; i++) {
        int to = device_of(d, p->reader[i]);
        d->read_by[to] = t + 1;
        is_sent |= to != home;
    }
    return is_sent;
}

static void add_crossings(draft *d, int t)
{
    const weft_problem *p = d->p;
    int home = device_of(d, p->producer[t]);

    if (!mark_readers(d, t, home))
        return;
    if (home != p->host)
        d->cross[d->n++] = (crossing){t, home, true};
    for (int to = 0; to < p->n_devices; to++)
        if (d->read_by[to] == t + 1 && to != home && to != p->host)
            d->cross[d->n++] = (crossing){t, to, false};
}

static void list_crossings(draft *d)
{
    const weft_problem *p = d->p;
    /* a tensor that crosses has a reader for each of its reads, and one write */
    size_t most = (size_t)p->reader_at[p->n_tensors] + (size_t)p->n_tensors;

    d->cross = WEFT_NEW(d->scratch, crossing, most);
    d->cross_at = WEFT_NEW(d->scratch, int, p->n_tensors + 1);
    d->read_by = WEFT_NEW(d->scratch, int, p->n_devices);
    for (int t = 0; t < p->n_tensors; t++) {
        if (p->producer[t] >= 0)
            add_crossings(d, t);
        d->cross_at[t + 1] = d->n;
    }
}

static void index_crossings(draft *d)
{
    int n_devices = d->p->n_devices;

    d->first_read = WEFT_NEW(d->scratch, int, n_devices);
    d->last_write = WEFT_NEW(d->scratch, int, n_devices);
    d->next_read = WEFT_NEW(d->scratch, int, d->n);
    for (int k = 0; k < n_devices; k++)
        d->first_read[k] = d->last_write[k] = -1;
    for (int x = d->n - 1; x >= 0; x--) {
        int k = d->cross[x].device;
        d->next_read[x] = d->first_read[k];
        if (!d->cross[x].is_write)
            d->first_read[k] = x;
        else if (d->last_write[k] < 0)
            d->last_write[k] = x;
    }
}

static int job_of(const draft *d, int x)
{
    return d->p->n_tasks + x;
}

/* --- jobs ------------------------------------------------------------------------------------ */

/* The job of tensor t whose end makes it available on device k; its maker lies elsewhere. */
static int arrival_job(const draft *d, int t, int k)
{
    int x = d->cross_at[t];

    if (k != d->p->host)
        while (d->cross[x].is_write || d->cross[x].device != k)
            x++;
    return job_of(d, x);
}

/* What task u waits for on account of tensor t, or -1. */
static int task_waits_for(const draft *d, int u, int t, bool is_call)
{
    int maker = d->p->producer[t], home;

    if (maker < 0)
        return -1;
    home = device_of(d, maker);
    if (home == device_of(d, u))
        return maker;
    if (!is_call)
        return arrival_job(d, t, device_of(d, u));
    /* the first job of a call has waited for all calls that this one reads from */
    return device_of(d, u) == d->p->host ? job_of(d, d->last_write[home]) : -1;
}

static void add_task(const draft *d, int u, bool is_call, weft_jobs *out)
{
    const weft_problem *p = d->p;
    int n_deps = out->dep_at[u], n_uses = out->use_at[u];

    out->duration_s[u] = weft_task_s(p, u, device_of(d, u)) + (d->switch_s ? d->switch_s[u] : 0);
    out->task[u] = u;
    for (int i = p->arg_at[u]; i < p->arg_at[u + 1]; i++) {
        int j = task_waits_for(d, u, p->arg[i], is_call);
        if (j >= 0)
            out->dep[n_deps++] = j;
    }
    out->use[n_uses++] = device_of(d, u);
    out->dep_at[u + 1] = n_deps;
    out->use_at[u + 1] = n_uses;
}

/* When tensor t may be read from the memory of the host. */
static int source_job(const draft *d, int t, bool is_call)
{
    int maker = d->p->producer[t], home = device_of(d, maker);

    if (home == d->p->host)
        return maker;
    return job_of(d, is_call ? d->last_write[home] : d->cross_at[t]);
}

static int list_waits(const draft *d, int x, bool is_call, int *dep)
{
    const crossing *c = &d->cross[x];
    int n = 0;

    if (c->is_write)
        dep[n++] = d->p->producer[c->tensor];
    else if (!is_call)
        dep[n++] = source_job(d, c->tensor, is_call);
    else if (d->first_read[c->device] == x)
        for (int y = x; y >= 0; y = d->next_read[y])
            dep[n++] = source_job(d, d->cross[y].tensor, is_call);
    return n;
}

static void add_crossing(const draft *d, int x, bool is_call, weft_jobs *out)
{
    const crossing *c = &d->cross[x];
    int j = job_of(d, x), host = d->p->host;

    out->from[j] = c->is_write ? c->device : host;
    out->to[j] = c->is_write ? host : c->device;
    out->tensor[j] = c->tensor;
    out->kind[j] = WEFT_JOB_TRANSFER;
    out->duration_s[j] = weft_send_s(d->p, c->tensor, out->from[j], out->to[j]);
    out->dep_at[j + 1] = out->dep_at[j] + list_waits(d, x, is_call, out->dep + out->dep_at[j]);
    out->use[out->use_at[j]] = c->device;
    out->use_at[j + 1] = out->use_at[j] + 1;
}

/* --- order ----------------------------------------------------------------------------------- */

/* Reads, tasks, writes; all tasks of the host at once. */
static void rank_calls(const draft *d, weft_jobs *one)
{
    for (int u = 0; u < d->p->n_tasks; u++)
        one->rank[u] = device_of(d, u) == d->p->host ? 0 : (int64_t)d->n + u;
    for (int x = 0; x < d->n; x++)
        one->rank[job_of(d, x)] = x + (d->cross[x].is_write ? (int64_t)d->n + d->p->n_tasks : 0);
    for (int r = 0; r < one->n_resources; r++)
        one->is_queue[r] = true;
}

static void rank_alone(const draft *d, weft_jobs *one)
{
    for (int u = 0; u < d->p->n_tasks; u++)
        one->rank[u] = (int64_t)d->n + u;
    for (int x = 0; x < d->n; x++)
        one->rank[job_of(d, x)] = x;
}

/* --- the whole ------------------------------------------------------------------------------- */

static weft_jobs *lower(draft *d, weft_arena *a)
{
    const weft_problem *p = d->p;
    bool is_call = p->constraints.goal == WEFT_LATENCY;
    int64_t n_jobs, n_deps;
    weft_jobs *out;

    list_crossings(d);
    index_crossings(d);
    n_jobs = (int64_t)p->n_tasks + d->n;
    n_deps = (int64_t)p->arg_at[p->n_tasks] + d->n; /* a crossing waits for one job, or for that of
                                                       another crossing */
    if (n_jobs > INT_MAX - 1 || n_deps > INT_MAX - 1)
        return NULL;
    out = weft_jobs_new((int)n_jobs, p->n_devices, n_deps, n_jobs, a);
    for (int u = 0; u < p->n_tasks; u++)
        add_task(d, u, is_call, out);
    for (int x = 0; x < d->n; x++)
        add_crossing(d, x, is_call, out);
    (is_call ? rank_calls : rank_alone)(d, out);
    return out;
}

weft_jobs *weft_lower_calls(const weft_problem *p, const weft_plan *plan, weft_arena *a)
{
    draft d = {.p = p, .plan = plan, .scratch = weft_arena_new()};
    weft_jobs *out;

    d.switch_s = weft_switch_times(p, plan->device, d.scratch);
    out = lower(&d, a);

    weft_arena_free(d.scratch);
    return out;
}
