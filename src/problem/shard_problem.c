/* SPDX-License-Identifier: MIT */
/* shard_problem.c: what is asked of a sharded network: its steps, the accelerators, and what each of
 * them can be.
 *
 * A problem is accepted if every step can run whole on some accelerator as one of its designs:
 * steps of equal work and devices of one kind are asked once. The hash covers network, platform and
 * what is asked; it knows nothing of names of files. */
#include <math.h>
#include <string.h>

#include "hash.h"
#include "problem.h"

/* Can a device, configured as one of its designs, run the step alone? */
static bool can_run(const weft_steps *s, int step, const weft_device *d, weft_arena *scratch)
{
    size_t mark = weft_arena_mark(scratch);
    const weft_split *split;
    bool is_able = false;

    weft_step_splits(s, step, 1, false, scratch, &split);
    for (int k = 0; k < d->n_designs && !is_able; k++)
        is_able = weft_split_cost_of(s, step, &split[0], &d->design[k]).phase_s < INFINITY;
    weft_arena_rewind(scratch, mark);
    return is_able;
}

static bool is_first_of_kind(const weft_shard_problem *p, int i)
{
    const weft_device *d = p->platform->device;

    for (int k = 0; k < i; k++)
        if (strcmp(d[p->accelerator[k]].kind, d[p->accelerator[i]].kind) == 0)
            return false;
    return true;
}

/* Names the head and, if there are any, the operators that go with it. */
static weft_status cannot_run(const weft_shard_problem *p, int v)
{
    const weft_graph *g = p->steps->graph;
    const weft_step *s = &p->steps->step[v];
    char with[200] = "";
    size_t n = 0;

    for (int i = 1; i < s->n_nodes && n < sizeof with - 40; i++)
        n += (size_t)snprintf(with + n, 40, "%s%.30s", i == 1 ? " with " : ", ",
                              g->node[s->node[i]].op);
    return weft_fail(WEFT_E_INPUT,
                     "node '%s' (%s%s) is supported by no accelerator of platform '%s'",
                     weft_step_name(p->steps, v), g->node[s->node[0]].op, with, p->platform->name);
}

static weft_status check_steps(const weft_shard_problem *p, weft_arena *scratch)
{
    const weft_steps *s = p->steps;

    for (int v = 0; v < s->n; v++) {
        bool is_able = s->step[v].like != v; /* asked before */

        for (int i = 0; i < p->n_accelerators && !is_able; i++)
            is_able = is_first_of_kind(p, i) &&
                      can_run(s, v, &p->platform->device[p->accelerator[i]], scratch);
        if (!is_able)
            return cannot_run(p, v);
    }
    return WEFT_OK;
}

static weft_status list_accelerators(weft_shard_problem *p)
{
    int *accelerator = WEFT_NEW(p->arena, int, p->platform->n_devices);

    for (int d = 0; d < p->platform->n_devices; d++)
        if (d != p->platform->host)
            accelerator[p->n_accelerators++] = d;
    p->accelerator = accelerator;
    if (p->n_accelerators == 0)
        return weft_fail(WEFT_E_INPUT,
                         "platform '%s' has no accelerator: its only device is the "
                         "host",
                         p->platform->name);
    if (p->n_accelerators > WEFT_MAX_MEMBERS)
        return weft_fail(WEFT_E_INPUT, "platform '%s' has %d accelerators, expected at most %d",
                         p->platform->name, p->n_accelerators, WEFT_MAX_MEMBERS);
    return weft_platform_unmeasured(p->platform, "parts of operators");
}

/* Software that is not the default. */
static uint64_t hash_kernels(uint64_t h, const weft_graph *g)
{
    if (g->is_eager)
        h = weft_hash_int(h, WEFT_SOFTWARE_EAGER);
    for (int u = 0; u < g->n_nodes && g->kernel; u++)
        h = weft_hash_int(h, g->kernel[u]);
    return h;
}

static uint64_t hash_of(const weft_shard_problem *p)
{
    uint64_t h = weft_hash_start();

    h = weft_hash_int(h, (int64_t)weft_graph_hash(p->steps->graph));
    h = weft_hash_int(h, (int64_t)p->platform->hash);
    h = weft_hash_int(h, p->platform->hides);
    h = weft_hash_int(h, p->constraints.is_concurrent);
    h = weft_hash_int(h, p->constraints.is_contiguous);
    h = weft_hash_int(h, p->constraints.has_no_sharing);
    h = hash_kernels(h, p->steps->graph);
    return weft_hash_end(h);
}

static weft_status fill(const weft_graph *g, weft_shard_problem *p)
{
    weft_arena *scratch;
    weft_steps *steps;
    weft_status status;

    if (p->constraints.is_concurrent && p->constraints.is_contiguous)
        return weft_fail(WEFT_E_INPUT, "one stretch for each set (--contiguous) needs one step "
                                       "after the other (--semantics sequential)");
    WEFT_TRY(list_accelerators(p));
    WEFT_TRY(weft_check_peaks(g, p->platform));
    WEFT_TRY(weft_steps_new(g, &steps));
    p->steps = steps;
    scratch = weft_arena_new();
    status = check_steps(p, scratch);
    weft_arena_free(scratch);
    p->hash = hash_of(p);
    return status;
}

weft_status weft_shard_problem_new(const weft_graph *g, const weft_platform *platform,
                                   const weft_shard_constraints *constraints,
                                   weft_shard_problem **out)
{
    weft_arena *a = weft_arena_new();
    weft_shard_problem *p = WEFT_NEW(a, weft_shard_problem, 1);
    weft_status status;

    *p = (weft_shard_problem){.name = g->name,
                              .platform = platform,
                              .constraints = *constraints,
                              .hides = platform->hides,
                              .arena = a};
    status = fill(g, p);
    if (status != WEFT_OK)
        weft_shard_problem_free(p);
    else
        *out = p;
    return status;
}

void weft_shard_problem_free(weft_shard_problem *p)
{
    if (p == NULL)
        return;
    weft_steps_free((weft_steps *)(uintptr_t)p->steps); /* const to all others */
    weft_arena_free(p->arena);
}
