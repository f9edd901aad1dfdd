/* SPDX-License-Identifier: MIT */
/* pipe_chunks.c: the interleaved schedule.
 *
 * Plans: networks whose units are a chain; uniform stages of one class (pipe_space.c); s >= 2
 * stages that divide the number of microbatches; v = 2 .. most_chunks chunks a stage, s v at most
 * the number of units. The chain is cut into s v chunks so that the largest load (forward plus
 * backward seconds without recomputation) is the least; of all such cuts the first in lexicographic
 * order is taken. Every stage has the quickest recomputation that is allowed and fits. So each
 * (family, class, layout, s, v) is one plan.
 *
 * Least largest loads: least[c][i] = min over j of max(load(i, j), least[c - 1][j]) for c chunks
 * from cut i on; loads rise with j, so a row ends when they reach what was found. Memory of a stage
 * follows its order of forwards and backwards, as in the simulator.
 *
 * Each plan is bounded first: stage i starts after the chunks 0 .. i - 1 and ends before they go
 * back, so a step takes at least sum of their l and hops, plus m times the load of stage i. */
#include <math.h>

#include "pipe_chunks.h"
#include "pipeline_draft.h"

/* --- cuts ------------------------------------------------------------------------------------ */

static double load_s(const weft_pipe_row *row, int i, int j)
{
    const double *b = row->backward_s[WEFT_KEEP_ALL];

    return row->forward_s[j] - row->forward_s[i] + (b[j] - b[i]);
}

/* least[c * n_cuts + i] for c = 0 .. n_chunks. */
static double *least_loads(const weft_pipe_row *row, int n_cuts, int n_chunks, weft_arena *a)
{
    double *least = WEFT_NEW_RAW(a, double, (size_t)(n_chunks + 1) * (size_t)n_cuts);

    for (int i = 0; i < n_cuts; i++)
        least[i] = i == n_cuts - 1 ? 0 : INFINITY;
    for (int c = 1; c <= n_chunks; c++) {
        const double *after = least + (size_t)(c - 1) * (size_t)n_cuts;
        double *to = least + (size_t)c * (size_t)n_cuts;

        for (int i = 0; i < n_cuts; i++) {
            to[i] = INFINITY;
            for (int j = i + 1; j < n_cuts && load_s(row, i, j) < to[i]; j++)
                to[i] = fmin(to[i], fmax(load_s(row, i, j), after[j]));
        }
    }
    return least;
}

static const double *loads_of(weft_pipe_chunks *k, int table)
{
    int n_cuts = k->best->costs->p->units.n_cuts;

    if (k->least[table] == NULL)
        k->least[table] = least_loads(&k->best->costs->row[table], n_cuts, n_cuts - 1, k->a);
    return k->least[table];
}

/* The first cuts in lexicographic order with the least largest load; false: none. */
static bool cut_chain(weft_pipe_chunks *k, int table, int n_chunks, int *cut)
{
    int n_cuts = k->best->costs->p->units.n_cuts;
    const weft_pipe_row *row = &k->best->costs->row[table];
    const double *least = loads_of(k, table);
    double most_s = least[(size_t)n_chunks * (size_t)n_cuts];

    cut[0] = 0;
    for (int c = 0; c < n_chunks; c++) {
        const double *after = least + (size_t)(n_chunks - c - 1) * (size_t)n_cuts;
        int j = cut[c] + 1;

        while (j < n_cuts && !(load_s(row, cut[c], j) <= most_s && after[j] <= most_s))
            j++;
        if (j == n_cuts)
            return false;
        cut[c + 1] = j;
    }
    return true;
}

/* --- plans ----------------------------------------------------------------------------------- */

/* Of a device of a stage, along its order; the first that is over `room` ends it. */
static double peak_bytes(const weft_pipeline_draft *d, int stage, const int64_t *order, int64_t n,
                         double room)
{
    double live = d->state[stage * WEFT_MAX_PARTS].static_bytes, peak = live;

    for (int64_t i = 0; i < n && peak <= room; i++) {
        int64_t c = order[i] / 2 / d->n_microbatches * d->plan->n_stages + stage;
        const weft_part_chunk *x = &d->chunk[c * WEFT_MAX_PARTS];
        bool is_backward = order[i] & 1;

        live += is_backward ? 0 : x->stash_bytes;
        peak = fmax(peak, live + x->work_bytes);
        live -= is_backward ? x->stash_bytes : 0;
    }
    return peak;
}

/* Seconds of a microbatch on a stage. */
static double stage_s(const weft_pipeline_draft *d, int stage)
{
    double l = 0;

    for (int c = stage; c < d->n_chunks; c += d->plan->n_stages)
        l += d->figures[c].forward_s + d->figures[c].backward_s + d->figures[c].again_s;
    return l;
}

/* Chooses the recomputation of every stage; false: one does not fit. */
static bool choose_recompute(const weft_pipe_costs *c, weft_pipeline *plan, weft_arena *a)
{
    double room = c->p->cluster->classes[plan->stage[0].part[0].class_id].memory_bytes;
    weft_pipeline_draft d[WEFT_N_RECOMPUTES];

    for (int r = 0; r < c->n_recomputes; r++) {
        for (int i = 0; i < plan->n_stages; i++)
            plan->stage[i].recompute = c->recompute[r];
        weft_pipeline_draft_figures(c->p, plan, a, &d[r]);
    }
    for (int i = 0; i < plan->n_stages; i++) {
        size_t mark = weft_arena_mark(a);
        const int64_t *order;
        int64_t n = weft_schedule_order(plan->schedule, plan->n_stages, i, d[0].n_microbatches,
                                        plan->n_chunks, a, &order);
        double best_s = INFINITY;

        for (int r = 0; r < c->n_recomputes; r++)
            if (stage_s(&d[r], i) < best_s && peak_bytes(&d[r], i, order, n, room) <= room) {
                best_s = stage_s(&d[r], i);
                plan->stage[i].recompute = c->recompute[r];
            }
        weft_arena_rewind(a, mark);
        if (!(best_s < INFINITY))
            return false;
    }
    return true;
}

static weft_pipeline plan_of(const weft_pipe_family *f, int n_stages, int n_chunks, weft_arena *a)
{
    return (weft_pipeline){.schedule = WEFT_INTERLEAVED,
                           .microbatch = f->microbatch,
                           .n_stages = n_stages,
                           .n_chunks = n_chunks,
                           .cut = WEFT_NEW(a, int, n_stages *n_chunks + 1),
                           .stage = WEFT_NEW(a, weft_stage, n_stages)};
}

/* The p-th stage from the end has the blocks of pipe_space.c. */
static void place_stages(const weft_training *p, const weft_pipe_crew *crew,
                         weft_pipe_layout layout, weft_pipeline *plan)
{
    for (int i = 0; i < plan->n_stages; i++) {
        int from_end = plan->n_stages - 1 - i, d = crew->n_blocks;
        bool is_near = layout == WEFT_PIPE_NEAR;

        plan->stage[i] = (weft_stage){
            .width = p->width[crew->width],
            .n_parts = 1,
            .part = {{.class_id = crew->class_id[0],
                      .n_blocks = d,
                      .first = is_near ? from_end : from_end * d,
                      .step = is_near ? plan->n_stages : 1,
                      .samples = p->share[crew->mix[0]]}},
        };
    }
}

/* From the first forward to the last backward. */
static double bound_s(const weft_pipe_chunks *k, int table, const weft_pipeline *plan, int64_t m)
{
    const weft_pipe_costs *c = k->best->costs;
    double before_s = 0, bound = 0;

    for (int i = 0; i < plan->n_stages; i++) {
        double l = 0, first = INFINITY;

        for (int r = 0; r < c->n_recomputes; r++) {
            const weft_pipe_row *row = &c->row[table];
            const double *b = row->backward_s[c->recompute[r]];
            double sum = 0;

            for (int q = i; q < plan->n_stages * plan->n_chunks; q += plan->n_stages)
                sum += row->forward_s[plan->cut[q + 1]] - row->forward_s[plan->cut[q]] +
                       b[plan->cut[q + 1]] - b[plan->cut[q]];
            first = fmin(first, row->forward_s[plan->cut[i + 1]] - row->forward_s[plan->cut[i]] +
                                    b[plan->cut[i + 1]] - b[plan->cut[i]]);
            l = r == 0 ? sum : fmin(l, sum);
        }
        bound = fmax(bound, before_s + (double)m * l);
        before_s += first;
    }
    return bound;
}

static void try_plan(weft_pipe_chunks *k, weft_pipeline *plan)
{
    weft_pipe_best *best = k->best;
    const weft_training *p = best->costs->p;
    double step_s;

    if (!choose_recompute(best->costs, plan, k->scratch))
        return;
    best->n_plans++;
    step_s = weft_pipe_plan_s(p, plan, k->scratch);
    if (step_s < best->value_s) {
        best->value_s = step_s;
        best->plan = *plan;
        best->plan.cut = weft_arena_copy(
            best->a, plan->cut, sizeof *plan->cut * (size_t)(plan->n_stages * plan->n_chunks + 1));
        best->plan.stage =
            weft_arena_copy(best->a, plan->stage, sizeof *plan->stage * (size_t)plan->n_stages);
    }
}

/* Both layouts of s stages of v chunks; the least bound of what could not be tried. */
static double try_shape(weft_pipe_chunks *k, const weft_pipe_family *f, const weft_pipe_crew *crew,
                        int s, int v)
{
    const weft_training *p = k->best->costs->p;
    int table = weft_training_table(p, crew->class_id[0], crew->width, crew->mix[0]);
    size_t mark = weft_arena_mark(k->scratch);
    weft_pipeline plan = plan_of(f, s, v, k->scratch);
    double open_s = INFINITY;

    if (cut_chain(k, table, s * v, plan.cut)) {
        double bound = bound_s(k, table, &plan, f->n_microbatches);

        for (int layout = WEFT_PIPE_WIDE; layout <= WEFT_PIPE_NEAR; layout++) {
            if (layout == WEFT_PIPE_NEAR && crew->n_blocks == 1)
                continue; /* the same */
            if (bound >= weft_pipe_target_s(k->best))
                continue;
            if (weft_pipe_spend(k->best, 1 + f->n_microbatches * s * v / 2)) {
                open_s = bound;
                continue;
            }
            place_stages(p, crew, (weft_pipe_layout)layout, &plan);
            try_plan(k, &plan);
        }
    }
    weft_arena_rewind(k->scratch, mark);
    return open_s;
}

double weft_pipe_try_chunks(weft_pipe_chunks *k, const weft_pipe_family *f, int c)
{
    const weft_training *p = k->best->costs->p;
    const weft_pipe_crew *crew = &f->crew[c];
    int table = weft_training_table(p, crew->class_id[0], crew->width, crew->mix[0]);
    int most = f->n_blocks[crew->class_id[0]] / crew->n_blocks;
    double l = k->best->costs->row[table].least_s, open_s = INFINITY;
    int64_t most_chunks = weft_pipeline_most_chunks(p, f->microbatch);

    if (most_chunks > p->units.n_units)
        most_chunks = p->units.n_units;
    most = most < f->most_stages ? most : f->most_stages;
    for (int s = most; s >= 2; s--) {
        if (f->n_microbatches % s != 0 ||
            (double)f->n_microbatches * l / s >= weft_pipe_target_s(k->best))
            continue;
        for (int v = 2; v <= p->ask.most_chunks && s * v <= most_chunks; v++)
            open_s = fmin(open_s, try_shape(k, f, crew, s, v));
    }
    return open_s;
}
