/* SPDX-License-Identifier: MIT */
/* segments.c: what a runtime launches at once, from the devices of a plan alone.
 *
 * The level of a task is the most switches on a way to it: the largest over the tasks it reads from
 * of their level, plus one if that task is on another device. Tasks of one device and level are a
 * segment. None of them waits for another by way of another device (that would be two levels more),
 * and an edge never leads to a lower level, so segments do not wait for each other in a circle.
 *
 * Time O(dependences + tasks log tasks). */
#include "problem.h"
#include "sort.h"

weft_segments weft_segments_of(const weft_problem *p, const int *device, weft_arena *a)
{
    weft_segments s = {.of = WEFT_NEW(a, int, p->n_tasks)};
    int *level = WEFT_NEW(a, int, p->n_tasks);
    double *by_device = WEFT_NEW(a, double, p->n_tasks), *by_level;
    const int *order;

    by_level = WEFT_NEW(a, double, p->n_tasks);
    for (int v = 0; v < p->n_tasks; v++) {
        for (int i = p->pred_at[v]; i < p->pred_at[v + 1]; i++) {
            int u = p->pred[i], at = level[u] + (device[u] != device[v]);

            level[v] = at > level[v] ? at : level[v];
        }
        by_level[v] = level[v];
        by_device[v] = device[v];
    }
    order = weft_sorted_twice(by_level, by_device, p->n_tasks, a);
    for (int i = 0; i < p->n_tasks; i++) {
        int u = order[i], before = i > 0 ? order[i - 1] : -1;

        s.n += before < 0 || level[u] != level[before] || device[u] != device[before];
        s.of[u] = s.n - 1;
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
