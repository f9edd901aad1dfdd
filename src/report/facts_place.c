/* SPDX-License-Identifier: MIT */
/* facts_place.c: the page of a placed network: tasks on devices.
 *
 * Node u of the graph is task u, row d of the timeline is device d, links follow. Of a mix of ways
 * the one that takes longest is drawn, as in the other reports. */
#include "document.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct placing {
    weft_page g;
    const weft_report *r;
    const weft_page_more *more;
    const weft_problem *p;
    const weft_measures *m;
    weft_plan plan; /* the way that is drawn */
    weft_arena *a;
    weft_device_chain hops;
    int *first_bar; /* [n_jobs] of a transfer one a hop */
    int *job_of;    /* [n_tasks] */
} placing;

static const char *const kinds[] = {"compute", "transfer"};

enum { COMPUTE, TRANSFER, N_KINDS };

static bool is_stream(const placing *t)
{
    return t->p->constraints.goal == WEFT_THROUGHPUT;
}

/* --- summary --------------------------------------------------------------------------------- */

static const char *seconds(placing *t, double s)
{
    return weft_glued_seconds(t->a, s);
}

static void add_title(placing *t)
{
    const weft_plan_origin *o = t->r->origin;
    const char *model = o && o->model ? o->model : t->p->name ? t->p->name : "tasks";

    t->g.title = o && o->platform ? weft_arena_print(t->a, "%s on %s", model, o->platform) : model;
    t->g.subtitle = weft_arena_print(
        t->a, "%s, solver %s%s", is_stream(t) ? "highest throughput" : "lowest latency",
        o && o->solver ? o->solver : "not known", weft_software_note(o, t->a));
}

/* The resource that sets the pace, and what it does if it also sends. */
static const char *pace_text(placing *t)
{
    const weft_measures *m = t->m;

    for (int d = 0; d < t->p->n_devices; d++)
        if (strcmp(t->p->device_name[d], m->bottleneck) == 0 && m->load_s[d] > m->busy_s[d])
            return weft_arena_print(t->a,
                                    "limited by %s: %s computing and %s sending and receiving "
                                    "an item",
                                    m->bottleneck, seconds(t, m->busy_s[d]),
                                    seconds(t, m->load_s[d] - m->busy_s[d]));
    return weft_arena_print(t->a, "limited by %s", m->bottleneck);
}

static void add_value(placing *t)
{
    const weft_proof *proof = &t->r->solution->proof;
    char rate[32];

    if (!is_stream(t)) {
        weft_page_proof_facts(&t->g, "latency", seconds(t, t->m->makespan_s), proof);
        return;
    }
    weft_page_proof_facts(&t->g, "time per item", seconds(t, t->m->period_s), proof);
    if (t->m->period_s > 0)
        weft_page_fact(
            &t->g, "per_second", "throughput",
            weft_arena_print(t->a, "%s items/s", weft_format_count(1 / t->m->period_s, rate)),
            pace_text(t), 1 / t->m->period_s);
    if (t->m->period_s > 0 && (t->r->samples > 1 || t->p->constraints.batches.n > 0))
        weft_page_fact(&t->g, "samples_per_second", "samples",
                       weft_arena_print(t->a, "%s samples/s",
                                        weft_format_count(t->r->samples / t->m->period_s, rate)),
                       weft_arena_print(t->a, "an item is a batch of %s",
                                        weft_whole(t->a, (int64_t)t->r->samples)),
                       t->r->samples / t->m->period_s);
    weft_page_fact(&t->g, "latency", "latency", seconds(t, t->m->makespan_s),
                   t->m->n_variants > 1 ? "one item alone, on the longest way" : "one item alone",
                   t->m->makespan_s);
}

static void add_heft(placing *t, double value)
{
    if (t->r->heft_s > 0 && value > 0)
        weft_page_fact(
            &t->g, "heft", "over HEFT", weft_arena_print(t->a, "%.2fx", t->r->heft_s / value),
            weft_arena_print(t->a, "the list scheduler takes %s", seconds(t, t->r->heft_s)),
            t->r->heft_s / value);
}

/* What the same devices do without splitting the network. */
static void add_replicas(placing *t, double value)
{
    double replicas_s = t->r->replicas_s;
    char rate[32];

    if (!(replicas_s > 0 && value > 0))
        return;
    weft_page_fact(
        &t->g, "replicas", "over replicas",
        value > replicas_s * (1 + 1e-9) ? "none"
                                        : weft_arena_print(t->a, "%.2fx", replicas_s / value),
        weft_arena_print(t->a, "the whole network on %s: %s items/s",
                         t->r->n_replicas == 1
                             ? "one device"
                             : weft_arena_print(t->a, "each of %d devices", t->r->n_replicas),
                         weft_format_count(1 / replicas_s, rate)),
        replicas_s / value);
}

static void add_speed_up(placing *t)
{
    double single_s = t->r->best_single_s, value = weft_goal_value(t->p, t->m);
    const char *most = "";

    if (isnan(single_s)) {
        weft_page_fact(&t->g, "speed_up", "speed-up", "-",
                       t->p->constraints.pin ? "no single device may run all tasks"
                                             : "no single device can run all tasks",
                       NAN);
        return;
    }
    if (!(single_s > 0 && value > 0) || t->r->best_single == NULL || t->p->n_devices == 1)
        return;
    if (t->r->solution->proof.bound > 0)
        most = weft_arena_print(t->a, "; at most %.2fx is possible",
                                single_s / t->r->solution->proof.bound);
    weft_page_fact(&t->g, "speed_up", "speed-up",
                   single_s < value ? "none" : weft_arena_print(t->a, "%.2fx", single_s / value),
                   weft_arena_print(t->a, "%sthe best single device (%s: %s)%s",
                                    single_s < value ? "" : "over ", t->r->best_single,
                                    seconds(t, single_s), most),
                   single_s / value);
    add_heft(t, value);
    add_replicas(t, value);
}

static void add_limits(placing *t)
{
    const weft_constraints *request = &t->p->constraints;
    char rate[32];

    if (request->most_latency_s > 0)
        weft_page_fact(&t->g, "deadline", "deadline", seconds(t, request->most_latency_s),
                       weft_arena_print(t->a, "the plan takes %s", seconds(t, t->m->makespan_s)),
                       request->most_latency_s);
    if (request->most_period_s > 0)
        weft_page_fact(
            &t->g, "min_throughput", "least throughput",
            weft_arena_print(t->a, "%s items/s",
                             weft_format_count(1 / request->most_period_s, rate)),
            weft_arena_print(t->a, "the plan takes %s an item", seconds(t, t->m->period_s)),
            1 / request->most_period_s);
}

static void add_energy(placing *t)
{
    char all[48], idle[48];

    if (!(t->m->energy_j > 0))
        return;
    weft_unit_print(t->m->energy_j, WEFT_UNIT_JOULES, all);
    weft_unit_print(t->m->idle_j, WEFT_UNIT_JOULES, idle);
    weft_page_fact(&t->g, "energy", "energy", all,
                   t->m->energy_j > t->m->idle_j ? weft_arena_print(t->a, "of which %s idle", idle)
                                                 : "of idle devices; dynamic energy unknown",
                   t->m->energy_j);
}

/* How many times of the plan are of a profile, the others of the models of the devices. */
static void add_measured(placing *t)
{
    int n = 0;

    if (t->p->is_measured == NULL)
        return;
    for (int u = 0; u < t->p->n_tasks; u++)
        n += t->p->is_measured[u * t->p->n_devices + t->plan.device[u]];
    weft_page_fact(&t->g, "measured", "measured times",
                   weft_arena_print(t->a, "%d of %d operators", n, t->p->n_tasks),
                   n == t->p->n_tasks ? NULL : "the others are computed by the device models", n);
}

/* What a runtime launches, where switches or segments matter. */
static void add_segments(placing *t)
{
    const weft_problem *p = t->p;
    const double *switch_s = weft_switch_times(p, t->plan.device, t->a);
    double all_s = 0;
    int n;

    if ((p->switch_s == NULL && !weft_segments_matter(&p->constraints)) ||
        (p->transfer == WEFT_CALLS && !is_stream(t)) || t->r->solution->plan.n_variants > 1)
        return;
    n = weft_segments_of(p, t->plan.device, t->a).n;
    for (int u = 0; u < p->n_tasks && switch_s != NULL; u++)
        all_s += switch_s[u];
    weft_page_fact(
        &t->g, "segments", "segments", weft_arena_print(t->a, "%d", n),
        all_s > 0 ? weft_arena_print(t->a, "switches take %s in all", seconds(t, all_s)) : NULL, n);
}

/* States, and the devices that they stay on. */
static void add_states(placing *t)
{
    const weft_problem *p = t->p;
    double *bytes = WEFT_NEW(t->a, double, p->n_devices), sum = 0;
    const char *where = "";
    int n = 0;

    for (int i = 0; p->is_state != NULL && i < p->n_tensors; i++)
        if (p->is_state[i] && p->reader_at[i] < p->reader_at[i + 1]) {
            bytes[t->plan.device[p->reader[p->reader_at[i]]]] += p->memory[i];
            sum += p->memory[i];
            n++;
        }
    for (int d = 0; d < p->n_devices; d++)
        if (bytes[d] > 0)
            where = weft_arena_print(t->a, "%s%s%s on %s", where, *where ? ", " : "",
                                     weft_glued_bytes(t->a, bytes[d]), p->device_name[d]);
    if (n > 0)
        weft_page_fact(&t->g, "state", "state", weft_glued_bytes(t->a, sum),
                       weft_arena_print(t->a, "%d tensor%s that stay from item to item: %s", n,
                                        n == 1 ? "" : "s", where),
                       sum);
}

static void add_facts(placing *t)
{
    int n = t->m->n_transfers;

    add_value(t);
    add_speed_up(t);
    add_limits(t);
    add_energy(t);
    weft_page_fact(&t->g, "sent", "sent",
                   n == 0 ? "nothing" : weft_glued_amount(t->r, t->m->sent_bytes, t->a),
                   n == 0 ? NULL : weft_arena_print(t->a, "%d transfer%s", n, n == 1 ? "" : "s"),
                   t->m->sent_bytes);
    add_segments(t);
    add_states(t);
    add_measured(t);
}

/* --- timeline -------------------------------------------------------------------------------- */

/* Devices run one task at a time, but a host that calls accelerators does not. */
static void add_devices(placing *t)
{
    const weft_jobs *j = t->m->jobs;

    for (int d = 0; d < t->p->n_devices; d++)
        weft_page_add_row(&t->g.time, t->p->device_name[d], "device", d);
    for (int i = 0; i < j->n_jobs; i++) {
        int u = j->task[i];

        if (j->kind[i] != WEFT_JOB_COMPUTE)
            continue;
        t->job_of[u] = i;
        t->first_bar[i] =
            weft_page_add_bar(&t->g.time, &(weft_page_bar){.row = t->plan.device[u],
                                                           .kind = COMPUTE,
                                                           .node = u,
                                                           .job = i,
                                                           .start_s = t->m->timeline->start_s[i],
                                                           .end_s = t->m->timeline->end_s[i],
                                                           .name = t->p->task_name[u]});
    }
}

static void add_links(placing *t)
{
    const weft_jobs *j = t->m->jobs;
    const char *const *label = weft_tensor_labels(t->p, t->a);

    t->hops = weft_device_chain_of(t->p, t->m, t->a);
    for (int r = 0; r < t->hops.n_rows; r++)
        weft_page_add_row(&t->g.time, t->hops.name[r], "link", -1);
    for (int i = 0; i < t->hops.n; i++) {
        const weft_track *h = &t->hops.hop[i];
        int tensor = j->tensor[h->job];
        int bar = weft_page_add_bar(&t->g.time, &(weft_page_bar){.row = t->p->n_devices + h->row,
                                                                 .kind = TRANSFER,
                                                                 .node = t->p->producer[tensor],
                                                                 .job = h->job,
                                                                 .start_s = h->start_s,
                                                                 .end_s = h->end_s,
                                                                 .name = label[tensor]});

        if (i == t->hops.hop_at[h->job])
            t->first_bar[h->job] = bar;
    }
}

/* What traces say of a bar. */
static void put_bar(const void *context, const weft_page_bar *bar, weft_arena *a, weft_doc *args)
{
    const placing *t = context;
    const weft_jobs *j = t->m->jobs;

    if (bar->kind == COMPUTE) {
        weft_put_text(a, args, "task", bar->name);
        weft_put_text(a, args, "operator", t->p->task_kind[bar->node]);
    } else {
        weft_put_text(a, args, "tensor", bar->name);
        weft_put_text(a, args, "from", t->p->device_name[j->from[bar->job]]);
        weft_put_text(a, args, "to", t->p->device_name[j->to[bar->job]]);
        weft_put_real(a, args, "bytes", t->p->amount[j->tensor[bar->job]]);
    }
    weft_put_real(a, args, "seconds", j->duration_s[bar->job]);
}

/* From the producer to the way, and from there to each reader: of a way over several links, to and
 * from the bars of all. */
static void add_arrows(placing *t, int job)
{
    const weft_problem *p = t->p;
    int tensor = t->m->jobs->tensor[job], n = t->hops.hop_at[job + 1] - t->hops.hop_at[job];

    for (int k = 0; k < n; k++) {
        int bar = t->first_bar[job] + k;

        if (p->producer[tensor] >= 0)
            weft_page_add_arrow(&t->g.time, t->first_bar[t->job_of[p->producer[tensor]]], bar);
        for (int i = p->reader_at[tensor]; i < p->reader_at[tensor + 1]; i++)
            if (t->plan.device[p->reader[i]] == t->m->jobs->to[job])
                weft_page_add_arrow(&t->g.time, bar, t->first_bar[t->job_of[p->reader[i]]]);
    }
}

static int bars_of(const placing *t, int job)
{
    return t->m->jobs->kind[job] == WEFT_JOB_COMPUTE
               ? 1
               : t->hops.hop_at[job + 1] - t->hops.hop_at[job];
}

static void add_timeline(placing *t)
{
    int n_jobs = t->m->jobs->n_jobs;

    t->g.put_bar = put_bar;
    t->g.context = t;
    t->g.time =
        (weft_page_time){.a = t->g.a,
                         .end_s = t->m->timeline->end_of_all_s,
                         .n_kinds = N_KINDS,
                         .kinds = kinds,
                         .colour_by = "device",
                         .note = t->m->n_variants > 1 ? "one item on the longest way" : NULL};
    t->first_bar = WEFT_NEW(t->a, int, n_jobs + 1);
    t->job_of = WEFT_NEW(t->a, int, t->p->n_tasks + 1);
    add_devices(t);
    add_links(t);
    if (t->more->run != NULL)
        weft_page_add_measured(&t->g, t->more->run, COMPUTE);
    weft_page_spread(&t->g.time);
    for (int i = 0; i < n_jobs; i++)
        if (t->m->jobs->kind[i] == WEFT_JOB_TRANSFER)
            add_arrows(t, i);
}

/* --- the chain ------------------------------------------------------------------------------- */

/* Bars of n jobs from `job` on. */
static void list_bars(placing *t, const int *job, int n, weft_page_link *part)
{
    int n_bars = 0, *bar;

    for (int i = 0; i < n; i++)
        n_bars += bars_of(t, job[i]);
    bar = WEFT_NEW(t->a, int, n_bars + 1);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < bars_of(t, job[i]); k++) {
            bar[part->n++] = t->first_bar[job[i]] + k;
            WEFT_PUSH(t->g.time.a, t->g.time.chain, t->first_bar[job[i]] + k);
        }
    part->bar = bar;
}

static void add_chain(placing *t)
{
    static const char *const kind[] = {"compute", "transfer", "wait"};
    weft_chain_step *step = WEFT_NEW(t->a, weft_chain_step, t->m->n_chain + 1);
    int n = weft_chain_steps(t->m, step);
    weft_page_link *part = WEFT_NEW(t->a, weft_page_link, n + 1);
    const int *job;

    weft_job_chain(t->m->jobs, t->m->timeline, true, t->a, &job);
    for (int i = 0; i < n; i++) {
        const weft_chain_link *first = &t->m->chain[step[i].first];

        part[i] = (weft_page_link){.kind = kind[step[i].kind],
                                   .text = weft_chain_text(t->r, &step[i], t->a),
                                   .start_s = first->start_s,
                                   .end_s = first[step[i].n - 1].end_s};
        if (step[i].kind == WEFT_CHAIN_WAIT)
            continue;
        list_bars(t, job, step[i].n, &part[i]);
        job += step[i].n;
    }
    t->g.chain = part;
    t->g.n_links = n;
    if (is_stream(t)) {
        t->g.chain_note = "one item alone";
        t->g.chain_of = "one item";
    }
}

/* --- graph ----------------------------------------------------------------------------------- */

/* Bytes of weights and results. */
static double bytes_of(const weft_problem *p, int u)
{
    double bytes = 0;

    for (int i = p->res_at[u]; i < p->res_at[u + 1]; i++)
        bytes += p->memory[p->res[i]];
    for (int i = p->arg_at[u]; i < p->arg_at[u + 1]; i++)
        bytes += p->is_weight[p->arg[i]] ? p->memory[p->arg[i]] : 0;
    return bytes;
}

static void add_nodes(placing *t, weft_page_graph *g)
{
    const weft_problem *p = t->p;

    for (int u = 0; u < p->n_tasks; u++) {
        g->name[u] = p->task_name[u];
        g->op[u] = p->task_kind[u];
        g->of[u] = t->plan.device[u];
        g->seconds[u] = weft_task_s(p, u, g->of[u]);
        g->bytes[u] = bytes_of(p, u);
        g->start_s[u] = t->plan.start_s[u];
        if (p->joules != NULL)
            g->joules[u] = p->joules[u * p->n_devices + g->of[u]];
    }
}

/* Of the first result. */
static const char **shapes_of(placing *t)
{
    const weft_graph *graph = t->more->graph;
    const char **shape = WEFT_NEW(t->a, const char *, t->p->n_tasks + 1);
    char text[192];

    for (int u = 0; u < t->p->n_tasks && u < graph->n_nodes; u++)
        if (strcmp(graph->node[u].name, t->p->task_name[u]) == 0 &&
            graph->res_at[u] < graph->res_at[u + 1] && graph->res[graph->res_at[u]] >= 0) {
            weft_shape_print(graph->tensor[graph->res[graph->res_at[u]]].shape, text);
            shape[u] = weft_arena_word(t->a, text);
        }
    return shape;
}

/* Several tensors from one task to another are one edge. */
static void add_edges(placing *t, weft_page_graph *g)
{
    const weft_problem *p = t->p;
    double *sent = WEFT_NEW(t->a, double, p->n_tasks + 1);
    int e = 0;

    for (int u = 0; u < p->n_tasks; u++) {
        for (int i = p->succ_at[u]; i < p->succ_at[u + 1]; i++)
            sent[p->succ[i]] = 0;
        for (int i = p->res_at[u]; i < p->res_at[u + 1]; i++)
            for (int k = p->reader_at[p->res[i]]; k < p->reader_at[p->res[i] + 1]; k++)
                sent[p->reader[k]] += p->amount[p->res[i]];
        for (int i = p->succ_at[u]; i < p->succ_at[u + 1]; i++) {
            g->from[e] = u;
            g->to[e] = p->succ[i];
            g->edge_bytes[e++] = sent[p->succ[i]];
        }
    }
}

/* --- costs on each device -------------------------------------------------------------------- */

static uint64_t hash_column(const double *x, const weft_problem *p, int d)
{
    uint64_t h = 14695981039346656037u;

    for (int u = 0; x != NULL && u < p->n_tasks; u++) {
        uint64_t bits;

        memcpy(&bits, &x[(size_t)u * (size_t)p->n_devices + (size_t)d], sizeof bits);
        h = (h ^ bits) * 1099511628211u;
    }
    return h;
}

static bool is_same_column(const double *x, const weft_problem *p, int d, int e)
{
    for (int u = 0; x != NULL && u < p->n_tasks; u++) {
        const double *row = x + (size_t)u * (size_t)p->n_devices;

        if (row[d] < row[e] || row[d] > row[e])
            return false;
    }
    return true;
}

static weft_doc *column_values(const double *x, const weft_problem *p, const int *of, int n,
                               weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, x ? WEFT_DOC_LIST : WEFT_DOC_NULL);

    for (int u = 0; x != NULL && u < p->n_tasks; u++) {
        weft_doc *row = weft_doc_new(a, WEFT_DOC_LIST);

        for (int i = 0; i < n; i++)
            weft_doc_add(
                a, row,
                weft_real_or_null(
                    a, weft_page_rounded(x[(size_t)u * (size_t)p->n_devices + (size_t)of[i]])));
        weft_doc_add(a, list, row);
    }
    return list;
}

/* One column for devices that are equal in all tasks: "of" says which is whose. */
static weft_doc *costs_doc(placing *t)
{
    const weft_problem *p = t->p;
    weft_arena *a = t->g.a;
    int *of = WEFT_NEW(t->a, int, p->n_devices), *first = WEFT_NEW(t->a, int, p->n_devices);
    int *count = WEFT_NEW(t->a, int, p->n_devices), n = 0;
    uint64_t *hash = WEFT_NEW(t->a, uint64_t, p->n_devices);
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *on = weft_doc_new(a, WEFT_DOC_LIST);

    for (int k = 0; k < p->n_devices; k++) {
        hash[k] = hash_column(p->seconds, p, k) ^ hash_column(p->joules, p, k);
        for (of[k] = 0; of[k] < n; of[k]++)
            if (hash[first[of[k]]] == hash[k] && is_same_column(p->seconds, p, first[of[k]], k) &&
                is_same_column(p->joules, p, first[of[k]], k))
                break;
        if (of[k] == n)
            first[n++] = k;
        count[of[k]]++;
    }
    for (int i = 0; i < n; i++)
        weft_doc_add(a, on,
                     weft_doc_new_text(a, count[i] == 1 ? p->device_name[first[i]]
                                                        : weft_arena_print(a, "%s and %d equal",
                                                                           p->device_name[first[i]],
                                                                           count[i] - 1)));
    weft_doc_put(a, d, "on", on);
    weft_doc_put(a, d, "of", weft_page_ints(of, p->n_devices, a));
    weft_doc_put(a, d, "seconds", column_values(p->seconds, p, first, n, a));
    weft_doc_put(a, d, "joules", column_values(p->joules, p, first, n, a));
    return d;
}

static void add_graph(placing *t)
{
    const weft_problem *p = t->p;
    weft_page_graph g = weft_page_graph_new(p->n_tasks, p->succ_at[p->n_tasks], t->a);

    g.n_devices = p->n_devices;
    g.device = p->device_name;
    g.edge_unit = weft_report_has_bytes(t->r) ? "B" : "units";
    g.start_s = WEFT_NEW(t->a, double, p->n_tasks + 1);
    if (p->joules != NULL)
        g.joules = WEFT_NEW(t->a, double, p->n_tasks + 1);
    add_nodes(t, &g);
    add_edges(t, &g);
    if (t->more->graph != NULL)
        g.shape = shapes_of(t);
    g.costs = costs_doc(t);
    t->g.graph = weft_page_draw(&g, t->g.a);
}

/* --- tables ---------------------------------------------------------------------------------- */

/* Has the device work, or holds it anything? In any way of a mix. */
static bool is_used(const placing *t, const int *n_tasks, int d)
{
    return n_tasks[d] > 0 || t->m->busy_s[d] > 0 || t->m->peak_bytes[d] > 0;
}

/* "2 devices not used: gpu1, gpu2.", or "". */
static const char *unused_text(placing *t, const int *n_tasks)
{
    enum { MOST_NAMES = 8 };
    const char *names = "";
    int n = 0;

    for (int d = 0; d < t->p->n_devices; d++) {
        if (is_used(t, n_tasks, d))
            continue;
        if (n < MOST_NAMES)
            names = weft_arena_print(t->a, "%s%s%s", names, n ? ", " : "", t->p->device_name[d]);
        n++;
    }
    if (n == 0)
        return "";
    return weft_arena_print(t->a, " %d device%s not used: %s%s.", n, n == 1 ? "" : "s", names,
                            n > MOST_NAMES ? ", ..." : "");
}

static const char *device_note(placing *t, const int *n_tasks)
{
    const char *note = t->m->n_variants > 1 ? "Tasks are those of the longest way, times the mean "
                                              "of all items. Load is what an item costs with "
                                              "transfers; shares are of the time per item."
                       : is_stream(t) ? "Load is what an item costs with transfers; shares are of "
                                        "the time per item."
                                      : "Shares are of the latency.";

    return weft_arena_print(t->a, "%s%s", note, unused_text(t, n_tasks));
}

static void add_device_table(placing *t)
{
    static const weft_column column[] = {
        {"device",      "device",      "text" },
        {"tasks",       "tasks",       "count"},
        {"busy_s",      "busy",        "s"    },
        {"utilisation", "utilised",    "%"    },
        {"peak_bytes",  "peak memory", "B"    },
        {"capacity",    "capacity",    "B"    },
        {"load_s",      "load",        "s"    }, /* of streams only */
    };
    const weft_problem *p = t->p;
    int n_columns = (int)(sizeof column / sizeof *column) - !is_stream(t);
    int *n = WEFT_NEW(t->a, int, p->n_devices);
    weft_doc *rows;

    for (int u = 0; u < p->n_tasks; u++)
        n[t->plan.device[u]]++;
    rows = weft_page_table(&t->g, &(weft_table){"devices", "Devices", "use", device_note(t, n),
                                                n_columns, column, .rank = "busy_s"});
    for (int d = 0; d < p->n_devices; d++) {
        weft_doc *row;

        if (!is_used(t, n, d))
            continue;
        row = weft_page_row(&t->g, rows);
        weft_cell_text(&t->g, row, p->device_name[d]);
        weft_cell_int(&t->g, row, n[d]);
        weft_cell_real(&t->g, row, t->m->busy_s[d]);
        weft_cell_real(&t->g, row, weft_utilisation(p, t->m, d));
        weft_cell_real(&t->g, row, t->m->peak_bytes[d]);
        weft_cell_real(&t->g, row, p->capacity[d]);
        if (is_stream(t))
            weft_cell_real(&t->g, row, t->m->load_s[d]);
    }
}

static void add_link_table(placing *t)
{
    static const weft_column column[] = {
        {"link",        "link",     "text"},
        {"seconds",     "busy",     "s"   },
        {"utilisation", "utilised", "%"   },
    };
    double value = weft_goal_value(t->p, t->m);
    weft_doc *rows = NULL;

    for (int k = 0; k < t->p->n_links; k++) {
        weft_doc *row;

        if (!(t->m->link_s[k] > 0))
            continue;
        if (rows == NULL)
            rows = weft_page_table(
                &t->g, &(weft_table){"links", "Links", "use",
                                     t->p->transfer == WEFT_CONTEND
                                         ? NULL
                                         : "Transfers do not wait for each other: a "
                                           "link may be used more than the "
                                           "whole time.",
                                     sizeof column / sizeof *column, column, .is_detail = true});
        row = weft_page_row(&t->g, rows);
        weft_cell_text(&t->g, row, t->p->link_name[k]);
        weft_cell_real(&t->g, row, t->m->link_s[k]);
        weft_cell_real(&t->g, row, value > 0 ? t->m->link_s[k] / value : NAN);
    }
}

typedef struct traffic {
    int from, to, n;
    double sent, seconds;
} traffic;

static int by_sent(const void *a, const void *b)
{
    const traffic *x = a, *y = b;

    if (x->sent > y->sent || x->sent < y->sent)
        return x->sent > y->sent ? -1 : 1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

/* Who sends to whom; pairs that do nothing come last. */
static int sum_traffic(placing *t, traffic *pair)
{
    const weft_jobs *j = t->m->jobs;
    int n_pairs = t->p->n_devices * t->p->n_devices, n = 0;

    for (int k = 0; k < n_pairs; k++)
        pair[k] = (traffic){.from = k / t->p->n_devices, .to = k % t->p->n_devices};
    for (int i = 0; i < j->n_jobs; i++)
        if (j->kind[i] == WEFT_JOB_TRANSFER) {
            traffic *k = &pair[j->from[i] * t->p->n_devices + j->to[i]];

            k->n++;
            k->sent += t->p->amount[j->tensor[i]];
            k->seconds += j->duration_s[i];
        }
    for (int k = 0; k < n_pairs; k++)
        if (pair[k].n > 0)
            pair[n++] = pair[k];
    qsort(pair, (size_t)n, sizeof *pair, by_sent);
    return n;
}

static void add_traffic_table(placing *t)
{
    bool has_bytes = weft_report_has_bytes(t->r);
    const weft_column column[] = {
        {"from",      "from",      "text"                   },
        {"to",        "to",        "text"                   },
        {"transfers", "transfers", "count"                  },
        {"sent",      "sent",      has_bytes ? "B" : "count"},
        {"seconds",   "time",      "s"                      },
    };
    traffic *pair = WEFT_NEW(t->a, traffic, (size_t)t->p->n_devices * (size_t)t->p->n_devices);
    int n = sum_traffic(t, pair);
    weft_doc *rows;

    if (n == 0)
        return;
    rows = weft_page_table(
        &t->g, &(weft_table){"traffic", "Traffic", "use",
                             t->m->n_variants > 1 ? "Of one item on the longest way." : NULL,
                             sizeof column / sizeof *column, column, .is_detail = true});
    for (int i = 0; i < n; i++) {
        weft_doc *row = weft_page_row(&t->g, rows);

        weft_cell_text(&t->g, row, t->p->device_name[pair[i].from]);
        weft_cell_text(&t->g, row, t->p->device_name[pair[i].to]);
        weft_cell_int(&t->g, row, pair[i].n);
        weft_cell_real(&t->g, row, pair[i].sent);
        weft_cell_real(&t->g, row, pair[i].seconds);
    }
}

static const char *names_of_way(placing *t, const int *device)
{
    bool *is_used = WEFT_NEW(t->a, bool, t->p->n_devices);
    const char *names = "";

    for (int u = 0; u < t->p->n_tasks; u++)
        is_used[device[u]] = true;
    for (int d = 0; d < t->p->n_devices; d++)
        if (is_used[d])
            names =
                weft_arena_print(t->a, "%s%s%s", names, *names ? ", " : "", t->p->device_name[d]);
    return names;
}

/* Where a mix sends its items. */
static void add_way_table(placing *t)
{
    const weft_column column[] = {
        {"way",        "way",                  "count"                                    },
        {"share",      "items",                "%"                                        },
        {"devices",    "devices",              "text"                                     },
        {"makespan_s", "latency",              "s"                                        },
        {"period_s",   "alone, time per item", "s"                                        },
        {"sent",       "sent",                 weft_report_has_bytes(t->r) ? "B" : "count"},
    };
    const weft_plan *plan = &t->r->solution->plan;
    weft_doc *rows;

    if (plan->n_variants < 2)
        return;
    rows =
        weft_page_table(&t->g, &(weft_table){"ways", "Ways of the items", "use", NULL,
                                             sizeof column / sizeof *column, column, .rank = NULL});
    for (int w = 0; w < plan->n_variants; w++) {
        weft_doc *row = weft_page_row(&t->g, rows);

        weft_cell_int(&t->g, row, w);
        weft_cell_real(&t->g, row, plan->share[w]);
        weft_cell_text(&t->g, row,
                       names_of_way(t, plan->device + (size_t)w * (size_t)t->p->n_tasks));
        weft_cell_real(&t->g, row, t->m->way[w].makespan_s);
        weft_cell_real(&t->g, row, t->m->way[w].period_s);
        weft_cell_real(&t->g, row, t->m->way[w].sent_bytes);
    }
}

/* Batches or shares that the plan could have. */
static void add_choice_table(placing *t)
{
    const weft_column column[] = {
        {"choice", is_stream(t) ? "batch" : "shares",     "text" },
        {"value",  is_stream(t) ? "a sample" : "latency", "s"    },
        {"bound",  "no plan below",                       "s"    },
        {"rate",   "samples/s",                           "count"},
        {"taken",  "plan",                                "text" },
    };
    const char *note = NULL;
    weft_doc *rows;

    for (int i = 0; i < t->r->n_choices; i++)
        if (isnan(t->r->choice[i].value))
            note =
                "Those without a plan were not searched, or none was found; none of them has one "
                "below its bound.";
    if (t->r->n_choices == 0)
        return;
    rows = weft_page_table(
        &t->g, &(weft_table){"choices", is_stream(t) ? "Batches" : "Shares of the batch", "use",
                             note, sizeof column / sizeof *column, column, .rank = NULL});
    for (int i = 0; i < t->r->n_choices; i++) {
        const weft_report_choice *c = &t->r->choice[i];
        weft_doc *row = weft_page_row(&t->g, rows);

        weft_cell_text(&t->g, row, c->name);
        weft_cell_real(&t->g, row, c->value);
        weft_cell_real(&t->g, row, c->bound);
        weft_cell_real(&t->g, row, (is_stream(t) ? 1 : t->r->samples) / c->value);
        weft_cell_text(&t->g, row, c->is_taken ? "this" : "");
    }
}

static void add_memory(placing *t)
{
    for (int d = 0; t->m->memory != NULL && d < t->p->n_devices; d++)
        if (t->m->n_memory[d] > 0)
            WEFT_PUSH(t->a, t->g.memory,
                      ((weft_page_curve){t->p->device_name[d], d, t->p->capacity[d],
                                         t->m->memory[d], t->m->n_memory[d]}));
}

static const char *overflow_text(placing *t, const char *whose)
{
    int d = t->m->over_device;

    if (d < 0 || t->m->peak_bytes == NULL)
        return NULL;
    return weft_arena_print(t->a, "%s needs %s on %s, which has %s.", whose,
                            weft_glued_bytes(t->a, t->m->peak_bytes[d]), t->p->device_name[d],
                            weft_glued_bytes(t->a, t->p->capacity[d]));
}

/* --- about ----------------------------------------------------------------------------------- */

static void add_assumptions(placing *t)
{
    static const char *const transfer[] = {
        [WEFT_OVERLAP] = "A transfer takes the latency of its route plus its bytes over the lowest "
                         "bandwidth on it, beside computation and without waiting for other "
                         "transfers.",
        [WEFT_CONTEND] =
            "A link carries one transfer at a time in each direction, first come first "
            "served, beside computation.",
        [WEFT_BLOCK] = "A transfer occupies the device that sends and the one that receives.",
        [WEFT_CALLS] = "The host calls each accelerator once an item; a call reads all its inputs "
                       "first and writes its results last, through the memory of the host.",
    };
    const weft_problem *p = t->p;

    weft_page_assume(&t->g, p->transfer == WEFT_CALLS
                                ? "An accelerator runs one task at a time, without interruption; "
                                  "tasks of the host run side by side."
                                : "A device runs one task at a time, without interruption; a task "
                                  "starts when its inputs are on its device.");
    weft_page_assume(&t->g, transfer[p->transfer]);
    if (p->host >= 0)
        weft_page_assume(&t->g, weft_arena_print(t->a,
                                                 "Inputs are on %s at the start; weights%s are "
                                                 "where they are used.",
                                                 p->device_name[p->host],
                                                 p->is_state ? " and states" : ""));
    weft_page_assume(&t->g, t->r->origin->platform
                                ? "Times of operators come from the cost models of the devices, "
                                  "not from measurements, unless the platform names a profile."
                                : "Times are those of the file of tasks.");
    weft_page_assume(&t->g, "Memory counts weights and, from the moment they are made or arrive to "
                            "the end of their last reader, results.");
    if (is_stream(t))
        weft_page_assume(&t->g, "Throughput is that of a steady stream: the busiest device or link "
                                "sets the pace. The timeline shows one item alone.");
    if (t->m->energy_j > 0)
        weft_page_assume(&t->g, "Energy is that of the operators as the platform states it, and of "
                                "idle devices until the end of the run.");
}

static void add_about(placing *t)
{
    const weft_constraints *request = &t->p->constraints;
    weft_doc *options;

    weft_page_origin(&t->g, t->r->origin, t->more, &options);
    weft_about(&t->g, options, "goal", weft_goal_name(request->goal));
    weft_about(&t->g, options, "transfers", weft_transfer_name(t->p->transfer));
    if (request->most_latency_s > 0)
        weft_about(&t->g, options, "deadline", seconds(t, request->most_latency_s));
    if (request->most_period_s > 0)
        weft_about(&t->g, options, "longest time per item", seconds(t, request->most_period_s));
    weft_about(&t->g, options, "contiguous", request->is_contiguous ? "yes" : NULL);
    weft_about(&t->g, options, "mix of ways", request->is_mixed ? "allowed" : NULL);
    if (request->most_segments > 0)
        weft_about(&t->g, options, "most segments",
                   weft_arena_print(t->a, "%d", request->most_segments));
    if (request->least_segment_tasks > 0)
        weft_about(&t->g, options, "least segment",
                   weft_arena_print(t->a, "%d nodes", request->least_segment_tasks));
    if (request->least_segment_s > 0)
        weft_about(&t->g, options, "least segment", seconds(t, request->least_segment_s));
    if (request->batches.n > 0)
        weft_about(&t->g, options, "batches", weft_counts_text(&request->batches, t->a));
    weft_about(&t->g, options, "shares of the batch", request->splits_batch ? "any" : NULL);
    weft_about(&t->g, options, "pinned", request->pin);
    weft_about(&t->g, options, "together", request->together);
    weft_page_proof(&t->g, &t->r->solution->proof);
    add_assumptions(t);
}

/* --- all ------------------------------------------------------------------------------------- */

/* Batches or shares, with seconds of a sample or of the batch. */
static weft_doc *choices_doc(placing *t)
{
    weft_doc *list = weft_doc_new(t->a, WEFT_DOC_LIST);

    for (int i = 0; i < t->r->n_choices; i++) {
        const weft_report_choice *c = &t->r->choice[i];
        weft_doc *d = weft_add_map(t->a, list);

        weft_put_text(t->a, d, "name", c->name);
        weft_put_real(t->a, d, "value", c->value);
        weft_put_real(t->a, d, "bound", c->bound);
        weft_put_bool(t->a, d, "taken", c->is_taken);
    }
    return list;
}

/* What `weft place --json` says besides; when the tasks end, in the order of the decisions, is on a
 * page already. */
static void add_result(placing *t)
{
    const weft_proof *proof = &t->r->solution->proof;
    const weft_plan *plan = &t->r->solution->plan;
    weft_doc *d, *list;

    weft_page_result(&t->g, &(weft_result_head){.command = "place",
                                                .origin = t->r->origin,
                                                .goal = weft_goal_name(t->p->constraints.goal),
                                                .unit = is_stream(t) ? "s/item" : "s",
                                                .proof = proof,
                                                .has_rate = is_stream(t)});
    d = t->g.result;
    weft_put_real(t->a, d, "best_single_value", t->r->best_single_s);
    weft_put_text(t->a, d, "best_single_device", t->r->best_single);
    weft_put_real(t->a, d, "heft_value", t->r->heft_s);
    if (is_stream(t)) {
        weft_put_real(t->a, d, "replicas_value", t->r->replicas_s);
        weft_put_int(t->a, d, "replicas", t->r->n_replicas);
        weft_put_real(t->a, d, "samples_per_item", t->r->samples);
        weft_put_real(t->a, d, "samples_per_second",
                      weft_has_plan(proof) ? t->r->samples / proof->value : NAN);
    }
    if (t->r->n_choices > 0)
        weft_doc_put(t->a, d, "choices", choices_doc(t));
    weft_put_real(t->a, d, "speed_up",
                  weft_has_plan(proof) ? t->r->best_single_s / proof->value : NAN);
    weft_put_real(t->a, d, "speed_up_ceiling", t->r->best_single_s / proof->bound);
    if (!t->more->is_brief)
        return;
    list = weft_doc_new(t->a, WEFT_DOC_LIST);
    for (int i = 0; i < plan->n_tasks * plan->n_variants; i++)
        weft_doc_add(t->a, list,
                     weft_doc_new_real(
                         t->a, weft_end_s(plan->start_s[i],
                                          weft_task_s(t->p, i % plan->n_tasks, plan->device[i]))));
    weft_doc_put(t->a, d, "end_s", list);
}

static void add_plan(placing *t)
{
    const char *overflow = overflow_text(t, "This plan is not legal: it");

    t->plan = weft_shown_way(t->r);
    add_facts(t);
    if (t->m->jobs != NULL && t->m->timeline != NULL) {
        add_timeline(t);
        add_chain(t);
    }
    if (!t->more->is_brief)
        add_graph(t);
    add_device_table(t);
    add_link_table(t);
    if (t->m->jobs != NULL)
        add_traffic_table(t);
    add_way_table(t);
    add_choice_table(t);
    add_memory(t);
    if (overflow != NULL)
        weft_page_warn(&t->g, overflow);
}

weft_page *weft_place_facts(const void *report, const weft_page_more *more, weft_arena *a)
{
    const weft_report *r = report;
    const weft_proof *proof = &r->solution->proof;
    placing *t = WEFT_NEW(a, placing, 1);

    *t = (placing){.r = r, .more = more, .p = r->problem, .m = &r->solution->measures, .a = a};
    weft_page_begin(&t->g, "place", a);
    add_title(t);
    add_result(t);
    t->g.outcome = proof->outcome;
    t->g.reason = proof->reason ? proof->reason : overflow_text(t, "The best attempt");
    if (weft_report_has_plan(r))
        add_plan(t);
    if (weft_report_has_plan(r) && r->platform != NULL)
        weft_page_accuracy(&t->g, r->platform);
    weft_page_add_more(&t->g, more, proof);
    if (!more->is_brief)
        add_about(t);
    return &t->g;
}
