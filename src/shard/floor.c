/* SPDX-License-Identifier: MIT */
/* floor.c: what no sharded plan can beat, without search.
 *
 * For every step the least seconds of any mode: any number n of equal accelerators up to all there
 * are, any design, any split, with the fastest link of the platform between members and to the
 * host. Communication between steps takes no less than nothing. So
 *
 *   one after the other:  sum of these minima (with inputs and outputs)       <= latency
 *   side by side:         the longest path of minima of modes                  <= latency
 *                         sum of least accelerator-seconds / accelerators      <= latency
 *
 * since computing, rotating and summing occupy all n members of a set. Every plan pays for each
 * step at least its minimum, whatever the sets are. */
#include "weft/shard.h"

#include "tables.h"

#include <math.h>

/* The best any set could hope for: fastest pair, fastest host link. */
typedef struct reach {
    weft_span inside, host;
} reach;

static void take_best(weft_span *best, const weft_route *r)
{
    if (r->n_hops <= 0)
        return;
    best->bytes_per_s = fmax(best->bytes_per_s, r->bytes_per_s);
    best->latency_s = fmin(best->latency_s, r->latency_s);
}

static reach best_reach(const weft_sharding *p)
{
    const weft_platform *m = p->platform;
    reach r = {
        {INFINITY, 0},
        {INFINITY, 0}
    };

    for (int i = 0; i < p->n_accelerators; i++) {
        for (int k = 0; k < p->n_accelerators; k++)
            take_best(&r.inside, weft_platform_route(m, p->accelerator[i], p->accelerator[k]));
        if (m->host >= 0) {
            take_best(&r.host, weft_platform_route(m, m->host, p->accelerator[i]));
            take_best(&r.host, weft_platform_route(m, p->accelerator[i], m->host));
        }
    }
    if (m->host < 0)
        r.host = (weft_span){0, INFINITY};
    return r;
}

/* Minima of one class of steps. */
typedef struct least {
    double own_s;    /* mode and host */
    double mode_s;   /* mode alone */
    double device_s; /* accelerator-seconds */
} least;

static void look_at(weft_tables *t, int step_class, const weft_set_kind *kind, least *out)
{
    const weft_sharding *p = t->problem;
    const weft_mode *m =
        weft_tables_modes(t, step_class, kind->n, weft_team_design(p, &kind->team));
    int n = weft_tables_choices(t, step_class, kind->n)->n;

    for (int k = 0; k < n; k++) {
        double s = weft_mode_s(&m[k], &kind->span, p->hides);

        out->own_s = fmin(out->own_s, weft_tables_own_s(t, step_class, kind, k));
        out->mode_s = fmin(out->mode_s, s);
        out->device_s = fmin(out->device_s, s * kind->n);
    }
}

static least *find_least(weft_tables *t, const weft_twins *twins, const reach *r, weft_arena *a)
{
    const weft_platform *m = t->problem->platform;
    least *out = WEFT_NEW(a, least, t->n_classes);

    for (int c = 0; c < t->n_classes; c++)
        out[c] = (least){INFINITY, INFINITY, INFINITY};
    for (int b = 0; b < twins->n_classes; b++) {
        int most = 0, device = twins->device[b][0];

        for (int k = 0; k < twins->n_classes; k++)
            most += twins->kind[k] == b ? twins->n_in[k] : 0;
        if (twins->kind[b] != b)
            continue;
        for (int n = 1; n <= most && n <= WEFT_MAX_MEMBERS; n++)
            for (int d = 0; d < m->device[device].n_designs; d++) {
                weft_set_kind kind = {.n = n, .design = d, .span = r->inside, .host = r->host};

                kind.team = (weft_team){.n = 1, .member = {device}, .design = d};
                for (int c = 0; c < t->n_classes; c++)
                    look_at(t, c, &kind, &out[c]);
            }
    }
    return out;
}

static double longest_path(const weft_tables *t, const least *l, weft_arena *a)
{
    const weft_steps *s = t->problem->steps;
    double *end_s = WEFT_NEW(a, double, s->n), longest = 0;

    for (int v = 0; v < s->n; v++) {
        double start_s = 0;

        for (int k = 0; k < s->step[v].n_operands; k++)
            if (s->step[v].operand[k].step >= 0)
                start_s = fmax(start_s, end_s[s->step[v].operand[k].step]);
        end_s[v] = start_s + l[t->class_of[v]].mode_s;
        longest = fmax(longest, end_s[v]);
    }
    return longest;
}

void weft_shard_bound(const weft_sharding *p, weft_arena *a, weft_proof *out)
{
    weft_arena *scratch = weft_arena_new();
    weft_tables *t = weft_tables_new(p, scratch);
    weft_twins twins = weft_twins_find(p, scratch);
    reach r = best_reach(p);
    least *l = find_least(t, &twins, &r, scratch);
    double sum_s = 0, device_s = 0, bound;

    (void)a;
    for (int v = 0; v < p->steps->n; v++) {
        sum_s += l[t->class_of[v]].own_s;
        device_s += l[t->class_of[v]].device_s;
    }
    bound = p->ask.is_concurrent ? fmax(longest_path(t, l, scratch), device_s / p->n_accelerators)
                                 : sum_s;
    weft_arena_free(scratch);
    *out = (weft_proof){.outcome = WEFT_UNKNOWN,
                        .value = INFINITY,
                        .bound = bound,
                        .gap = INFINITY,
                        .method = "floor",
                        .certified = bound,
                        .again = "floor"};
}
