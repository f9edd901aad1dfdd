/* SPDX-License-Identifier: MIT */
/* segments.c: what a runtime launches at once, from the devices of a plan alone.
 *
 * The network is run one segment after the other. The next one is begun by the task of least number of
 * those that have not run and whose predecessors have. It has that task and, until there are none,
 * tasks of the same device whose predecessors have run or are in it. So all that a segment reads from
 * elsewhere is there when it begins.
 *
 * Time O(dependences + tasks log tasks). */
#include "heap.h"
#include "problem.h"

typedef struct running {
    const weft_problem *p;
    const int *device;
    int *waits;        /* [n_tasks] predecessors that have not run */
    weft_heap ready;   /* all tasks that could run, also some that have */
    int *first, *next; /* [n_devices], [n_tasks] those of each device that could run; -1: no more */
    weft_segments *s;
} running;

static void make_ready(running *r, int u)
{
    weft_heap_push(&r->ready, u);
    r->next[u] = r->first[r->device[u]];
    r->first[r->device[u]] = u;
}

/* Runs all that device d can go on with. */
static void run_segment(running *r, int d)
{
    const weft_problem *p = r->p;

    while (r->first[d] >= 0) {
        int u = r->first[d];

        r->first[d] = r->next[u];
        r->s->of[u] = r->s->n;
        for (int i = p->succ_at[u]; i < p->succ_at[u + 1]; i++)
            if (--r->waits[p->succ[i]] == 0)
                make_ready(r, p->succ[i]);
    }
    r->s->n++;
}

weft_segments weft_segments_of(const weft_problem *p, const int *device, weft_arena *a)
{
    weft_segments s = {.of = WEFT_NEW(a, int, p->n_tasks)};
    running r = {.p = p,
                 .device = device,
                 .waits = WEFT_NEW(a, int, p->n_tasks),
                 .ready = weft_heap_new(a, p->n_tasks),
                 .first = WEFT_NEW(a, int, p->n_devices),
                 .next = WEFT_NEW(a, int, p->n_tasks),
                 .s = &s};

    for (int d = 0; d < p->n_devices; d++)
        r.first[d] = -1;
    for (int u = 0; u < p->n_tasks; u++) {
        s.of[u] = -1;
        r.waits[u] = p->pred_at[u + 1] - p->pred_at[u];
        if (r.waits[u] == 0)
            make_ready(&r, u);
    }
    while (r.ready.n > 0) {
        int u = weft_heap_pop(&r.ready);

        if (s.of[u] < 0)
            run_segment(&r, device[u]);
    }
    s.seconds = WEFT_NEW(a, double, s.n);
    s.n_tasks = WEFT_NEW(a, int, s.n);
    for (int u = 0; u < p->n_tasks; u++) {
        s.seconds[s.of[u]] += weft_task_s(p, u, device[u]);
        s.n_tasks[s.of[u]]++;
    }
    return s;
}

bool weft_segments_matter(const weft_constraints *c)
{
    return c->most_segments > 0 || c->least_segment_tasks > 0 || c->least_segment_s > 0;
}

bool weft_segment_is_small(const weft_constraints *c, const weft_segments *s, int i)
{
    return s->n_tasks[i] < c->least_segment_tasks ||
           s->seconds[i] < c->least_segment_s * (1 - 1e-9);
}

static const char *small_text(const weft_problem *p, const weft_segments *s, const int *device,
                              int i, weft_arena *a)
{
    const weft_constraints *c = &p->constraints;
    char is[48], least[48];
    int u = 0;

    while (s->of[u] != i)
        u++;
    if (s->n_tasks[i] < c->least_segment_tasks)
        return weft_arena_print(a,
                                "the segment of '%s' on '%s' has %d nodes, at least %d are asked "
                                "for",
                                p->task_name[u], p->device_name[device[u]], s->n_tasks[i],
                                c->least_segment_tasks);
    return weft_arena_print(a,
                            "the segment of '%s' on '%s' takes %s, at least %s are asked "
                            "for",
                            p->task_name[u], p->device_name[device[u]],
                            weft_unit_print(s->seconds[i], WEFT_UNIT_SECONDS, is),
                            weft_unit_print(c->least_segment_s, WEFT_UNIT_SECONDS, least));
}

const char *weft_segments_breach(const weft_problem *p, const int *device, weft_arena *a)
{
    const weft_constraints *c = &p->constraints;
    weft_segments s;

    if (!weft_segments_matter(c))
        return NULL;
    s = weft_segments_of(p, device, a);
    if (c->most_segments > 0 && s.n > c->most_segments)
        return weft_arena_print(a, "the plan has %d segments, at most %d are asked for", s.n,
                                c->most_segments);
    for (int i = 0; i < s.n; i++)
        if (weft_segment_is_small(c, &s, i))
            return small_text(p, &s, device, i, a);
    return NULL;
}
