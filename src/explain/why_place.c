/* SPDX-License-Identifier: MIT */
/* why_place.c: why a placement takes as long as it does, and why no other takes less than its
 * bound.
 *
 * Reasons, each valid by itself for the problem as it is:
 *  path    the longest way through the tasks, each on its best device, transfers included
 *          (bound_path.c; under calls calls_bound.c). Latency only.
 *  work    all tasks shared out over the devices at will, by prices (bound_load.c). Not for
 *          latency under calls, where the host runs tasks side by side.
 *  device  the tasks that only one device can run, one after the other.
 *  link    tensors whose maker and reader have no device in common, if every route between
 *          their devices has the link. Of several such tensors the longest transfer counts; under
 *          contend, where a link carries one at a time, their sum. A period is bounded by links
 *          under contend only.
 *  memory  the fast devices do not hold all weights (bound_memory.c). Latency only.
 *  order   what propagation refutes (the certificate of the proof): paths and devices together.
 *  body, series  as named in the proof: what shares the time between long heads and tails; parts
 *          of the network that follow each other.
 *  search  the rest of the bound.
 *
 * Proof of `link`: the reader runs on a device of its domain, the maker on one of its own, these
 * are different, so the tensor is sent there; no transfer over a pair takes less than without
 * contention, and the least over all pairs is taken. One transfer is counted for each tensor. */
#include "why.h"

#include "bound.h"

#include <math.h>
#include <string.h>

typedef struct finder {
    const weft_problem *p;
    const weft_proof *proof;
    const weft_domain *domain;
    weft_reasons *r;
    weft_arena *a, *scratch;
} finder;

static bool is_latency(const weft_problem *p)
{
    return p->constraints.goal == WEFT_LATENCY;
}

static double least_s(const weft_domain *m, int u)
{
    double least = INFINITY;

    for (int d = 0; d < m->problem->n_devices; d++)
        if (weft_domain_has(m, u, d))
            least = fmin(least, weft_task_s(m->problem, u, d));
    return least;
}

/* --- path ------------------------------------------------------------------------------------ */

static void add_path(finder *f, const int *path, int n, double seconds)
{
    double *weight = WEFT_NEW(f->scratch, double, n + 1);
    double sum_s = 0;

    for (int i = 0; i < n; i++) {
        weight[i] = least_s(f->domain, path[i]);
        sum_s += weight[i];
    }
    for (int i = 0; i < n; i++)
        weight[i] = fmax(weight[i], 1e-300); /* tasks of no time are on the way all the same */
    weft_reason_add(
        f->r,
        &(weft_reason){"path", "critical path",
                       weft_arena_print(
                           f->a,
                           "%d tasks wait for each other in turn, from '%s' to '%s': %s "
                           "computing on the fastest devices, %s sending or on slower ones",
                           n, n > 0 ? f->p->task_name[path[0]] : "",
                           n > 0 ? f->p->task_name[path[n - 1]] : "", weft_why_seconds(f->a, sum_s),
                           weft_why_seconds(f->a, fmax(0, seconds - sum_s))),
                       seconds, n, path, weight});
}

/* The way of the proof, or the one that is found without it, whichever bounds more. */
static void find_path(finder *f)
{
    const weft_problem *p = f->p;
    weft_proof found = {0};
    double given_s = 0;

    if (!is_latency(p))
        return;
    if (p->transfer == WEFT_CALLS)
        weft_calls_bound(f->domain, f->scratch, &found);
    else
        weft_path_bound(f->domain, 0, f->scratch, &found);
    if (f->proof->n_path > 0)
        given_s = p->transfer == WEFT_CALLS
                      ? weft_calls_path_bound_of(p, f->proof->path, f->proof->n_path)
                      : weft_path_bound_of(p, f->proof->path, f->proof->n_path);
    if (given_s >= found.bound)
        add_path(f, f->proof->path, f->proof->n_path, given_s);
    else
        add_path(f, found.path, found.n_path, found.bound);
}

/* --- work and devices ------------------------------------------------------------------------ */

static const int *all_tasks(finder *f)
{
    int *task = WEFT_NEW(f->scratch, int, f->p->n_tasks + 1);

    for (int u = 0; u < f->p->n_tasks; u++)
        task[u] = u;
    return task;
}

static void find_work(finder *f)
{
    const weft_problem *p = f->p;
    double *weight = WEFT_NEW(f->scratch, double, p->n_tasks + 1), given_s = 0;
    const double *price;
    weft_proof found = {0};

    if (is_latency(p) && p->transfer == WEFT_CALLS)
        return;
    weft_load_bound(f->domain, f->scratch, &found);
    if (f->proof->price != NULL)
        given_s = weft_load_bound_of(p, f->proof->price);
    price = given_s > found.bound ? f->proof->price : found.price;
    for (int u = 0; u < p->n_tasks; u++) {
        weight[u] = INFINITY;
        for (int d = 0; d < p->n_devices; d++)
            if (weft_domain_has(f->domain, u, d))
                weight[u] = fmin(weight[u], price[d] * weft_task_s(p, u, d));
    }
    weft_reason_add(
        f->r, &(weft_reason){"work", "work of all devices",
                             weft_arena_print(f->a,
                                              "all %d tasks, shared out over the %d devices as "
                                              "well as can be, keep the busiest one busy so long",
                                              p->n_tasks, p->n_devices),
                             fmax(given_s, found.bound), p->n_tasks, all_tasks(f), weight});
}

/* The only device that can run u; -1: there are several. */
static int only_device(const weft_domain *m, int u)
{
    int only = -1;

    for (int d = 0; d < m->problem->n_devices; d++) {
        if (!weft_domain_has(m, u, d))
            continue;
        if (only >= 0)
            return -1;
        only = d;
    }
    return only;
}

static void find_devices(finder *f)
{
    const weft_problem *p = f->p;
    int *only = WEFT_NEW(f->scratch, int, p->n_tasks + 1);
    const int *task = all_tasks(f);

    if (p->transfer == WEFT_CALLS && is_latency(p))
        return;
    for (int u = 0; u < p->n_tasks; u++)
        only[u] = only_device(f->domain, u);
    for (int d = 0; d < p->n_devices; d++) {
        double *weight = WEFT_NEW(f->scratch, double, p->n_tasks + 1), sum_s = 0;
        int n = 0;

        for (int u = 0; u < p->n_tasks; u++) {
            weight[u] = only[u] == d ? weft_task_s(p, u, d) : 0;
            sum_s += weight[u];
            n += only[u] == d;
        }
        weft_reason_add(f->r, &(weft_reason){"device",
                                             weft_arena_print(f->a, "device %s", p->device_name[d]),
                                             weft_arena_print(f->a,
                                                              "%d tasks can run on '%s' only, "
                                                              "which runs one at a time",
                                                              n, p->device_name[d]),
                                             sum_s, p->n_tasks, task, weight});
    }
}

/* --- links ----------------------------------------------------------------------------------- */

/* What must cross links. */
typedef struct crossing {
    double *sum_s, *most_s; /* [n_links] */
    double *tensor_s;       /* [n_links] of the tensor at hand */
    int *n_tensors;         /* [n_links] */
    double *weight;         /* [link * n_tasks + task] of readers */
    int *n_routes;          /* [n_links] of the pair of tasks at hand */
} crossing;

static bool may_send_from(const finder *f, int t, int d)
{
    int u = f->p->producer[t];

    return u < 0 ? d == f->p->host : weft_domain_has(f->domain, u, d);
}

/* Can the reader be where the tensor is? */
static bool is_near(const finder *f, int t, int v)
{
    for (int d = 0; d < f->p->n_devices; d++)
        if (may_send_from(f, t, d) && weft_domain_has(f->domain, v, d))
            return true;
    return false;
}

/* Links that every route of tensor t to reader v has, and the least time it takes. */
static void cross(const finder *f, crossing *c, int t, int v)
{
    const weft_problem *p = f->p;
    double least_send_s = INFINITY;
    int n_pairs = 0;

    memset(c->n_routes, 0, sizeof *c->n_routes * (size_t)p->n_links);
    for (int d = 0; d < p->n_devices; d++) {
        for (int e = 0; may_send_from(f, t, d) && e < p->n_devices; e++) {
            int pair = d * p->n_devices + e;

            if (!weft_domain_has(f->domain, v, e) || !(p->second_per_byte[pair] < INFINITY))
                continue;
            n_pairs++;
            least_send_s = fmin(least_send_s, weft_send_s(p, t, d, e));
            for (int i = p->route_at[pair]; i < p->route_at[pair + 1]; i++) {
                bool is_new = true;

                for (int k = p->route_at[pair]; k < i; k++)
                    is_new &= p->route[k] != p->route[i];
                c->n_routes[p->route[i]] += is_new;
            }
        }
    }
    for (int k = 0; n_pairs > 0 && k < p->n_links; k++) {
        if (c->n_routes[k] != n_pairs)
            continue;
        c->tensor_s[k] = fmax(c->tensor_s[k], least_send_s);
        c->weight[(size_t)k * (size_t)p->n_tasks + (size_t)v] += least_send_s;
    }
}

static void cross_tensor(const finder *f, crossing *c, int t)
{
    const weft_problem *p = f->p;

    if (p->is_weight[t] || (p->producer[t] < 0 && p->host < 0))
        return;
    memset(c->tensor_s, 0, sizeof *c->tensor_s * (size_t)p->n_links);
    for (int i = p->reader_at[t]; i < p->reader_at[t + 1]; i++)
        if (!is_near(f, t, p->reader[i]))
            cross(f, c, t, p->reader[i]);
    for (int k = 0; k < p->n_links; k++) {
        c->sum_s[k] += c->tensor_s[k];
        c->most_s[k] = fmax(c->most_s[k], c->tensor_s[k]);
        c->n_tensors[k] += c->tensor_s[k] > 0;
    }
}

static void find_links(finder *f)
{
    const weft_problem *p = f->p;
    bool is_sum = p->transfer == WEFT_CONTEND;
    crossing c = {
        .sum_s = WEFT_NEW(f->scratch, double, p->n_links + 1),
        .most_s = WEFT_NEW(f->scratch, double, p->n_links + 1),
        .tensor_s = WEFT_NEW(f->scratch, double, p->n_links + 1),
        .n_tensors = WEFT_NEW(f->scratch, int, p->n_links + 1),
        .n_routes = WEFT_NEW(f->scratch, int, p->n_links + 1),
    };

    if (p->transfer == WEFT_CALLS || (!is_latency(p) && !is_sum))
        return;
    c.weight = WEFT_NEW(f->scratch, double, (size_t)p->n_links *(size_t)p->n_tasks + 1);
    for (int t = 0; t < p->n_tensors; t++)
        cross_tensor(f, &c, t);
    for (int k = 0; k < p->n_links; k++)
        weft_reason_add(f->r,
                        &(weft_reason){"link", weft_arena_print(f->a, "link %s", p->link_name[k]),
                                       weft_arena_print(f->a, "%d tensors must go over '%s'%s",
                                                        c.n_tensors[k], p->link_name[k],
                                                        is_sum ? ", which carries one at a time"
                                                               : "; the longest takes so long"),
                                       is_sum ? c.sum_s[k] : c.most_s[k], p->n_tasks, all_tasks(f),
                                       c.weight + (size_t)k * (size_t)p->n_tasks});
}

/* --- memory ---------------------------------------------------------------------------------- */

static bool is_memory_limited(const weft_problem *p)
{
    for (int d = 0; d < p->n_devices; d++)
        if (p->capacity[d] < INFINITY)
            return true;
    return false;
}

static const double *weight_bytes(finder *f)
{
    const weft_problem *p = f->p;
    double *bytes = WEFT_NEW(f->scratch, double, p->n_tasks + 1);

    for (int u = 0; u < p->n_tasks; u++)
        for (int i = p->arg_at[u]; i < p->arg_at[u + 1]; i++)
            if (p->is_weight[p->arg[i]])
                bytes[u] += p->memory[p->arg[i]];
    return bytes;
}

static void find_memory(finder *f)
{
    if (is_latency(f->p) && is_memory_limited(f->p))
        weft_reason_add(
            f->r,
            &(weft_reason){"memory", "memory of devices",
                           "the fastest devices do not hold all weights: part of the network runs "
                           "on others, or is sent on to them",
                           weft_bound_again(f->p, "memory"), f->p->n_tasks, all_tasks(f),
                           weight_bytes(f)});
}

/* --- certificates of the proof that are not found again here --------------------------------- */

typedef struct named {
    const char *method, *name, *text;
} named;

static const named names[] = {
    {"head-tail", "tasks in the middle",
     "tasks that all have long ways before and behind them share the devices between"        },
    {"series",    "parts in series",
     "parts of the network follow each other, and each takes so long on the devices together"},
};

static void find_certificates(finder *f)
{
    const weft_proof *proof = f->proof;
    double best_s = proof->refuted_s;

    if (proof->refuted_s < INFINITY && proof->refuted_s <= proof->bound * (1 + 1e-9))
        weft_reason_add(f->r, &(weft_reason){.key = "order",
                                             .name = "paths and devices together",
                                             .text = "paths leave devices too little time for the "
                                                     "tasks between, whatever the order",
                                             .seconds = proof->refuted_s});
    for (int i = 0; i < f->r->part.n; i++)
        best_s = fmax(best_s, f->r->part.at[i].seconds);
    for (size_t i = 0; proof->again != NULL && i < sizeof names / sizeof *names; i++)
        if (strcmp(proof->again, names[i].method) == 0 && proof->certified > best_s)
            weft_reason_add(f->r, &(weft_reason){.key = names[i].method,
                                                 .name = names[i].name,
                                                 .text = names[i].text,
                                                 .seconds = proof->certified});
}

/* --- the value ------------------------------------------------------------------------------- */

/* A period is the load of one device or link. */
static void split_period(const weft_problem *p, const weft_measures *m, weft_why *out)
{
    for (int d = 0; d < p->n_devices; d++)
        if (strcmp(p->device_name[d], m->bottleneck) == 0 && m->load_s[d] == m->period_s) {
            out->compute_s = fmin(m->busy_s[d], m->period_s);
            out->transfer_s = m->period_s - out->compute_s;
            return;
        }
    out->transfer_s = m->period_s;
}

static void split_chain(const weft_measures *m, weft_why *out)
{
    for (int i = 0; i < m->n_chain; i++) {
        const weft_chain_link *l = &m->chain[i];
        double length_s = l->end_s - l->start_s;

        *(l->kind == WEFT_CHAIN_COMPUTE    ? &out->compute_s
          : l->kind == WEFT_CHAIN_TRANSFER ? &out->transfer_s
                                           : &out->wait_s) += length_s;
    }
}

void weft_place_why(const weft_problem *p, const weft_solution *s, weft_arena *a, weft_why *out)
{
    weft_arena *scratch = weft_arena_new();
    weft_domain domain = weft_domain_new(p, scratch);
    weft_reasons r = {.a = a};
    finder f = {p, &s->proof, &domain, &r, a, scratch};
    bool has_plan = s->plan.device != NULL && s->measures.busy_s != NULL;
    bool has_choices = p->constraints.batches.n > 0 || p->constraints.splits_batch;

    *out = (weft_why){0};
    if (!domain.is_empty && p->n_tasks > 0) {
        find_path(&f);
        find_work(&f);
        find_devices(&f);
        find_links(&f);
        find_memory(&f);
        find_certificates(&f);
    }
    for (int i = 0; i < r.part.n; i++) /* in whole numbers, like the bound */
        r.part.at[i].seconds = weft_grain_up(s->proof.grain_s, r.part.at[i].seconds);
    weft_reasons_end(&r, &s->proof, weft_method_is_search(s->proof.method), out);
    out->is_explained = out->is_explained && !has_choices;
    if (has_plan && is_latency(p))
        split_chain(&s->measures, out);
    else if (has_plan)
        split_period(p, &s->measures, out);
    weft_why_words(&s->proof, has_plan,
                   has_choices ? "the bound is of all batches or shares that could be chosen, what "
                                 "follows is of plans with those of this plan"
                               : NULL,
                   a, out);
    weft_arena_free(scratch);
}
