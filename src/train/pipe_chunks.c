/* SPDX-License-Identifier: MIT */
/* pipe_chunks.c: the interleaved schedule.
 *
 * Plans: networks whose units are a chain; uniform stages (pipe_space.c), of several classes in the
 * sequences that weft_pipe_is_sequence allows; s >= 2 stages that divide the number of
 * microbatches; v = 2 .. most_chunks chunks a stage, s v at most the number of units. If there are
 * at most MOST_CUTS ways to cut the chain into s v chunks, all are plans. Else it is cut so that
 * the largest load (forward plus backward seconds without recomputation, on the class of the
 * chunk's stage) is the least; of all such cuts the first in lexicographic order is taken. Every
 * stage has the quickest recomputation that is allowed and fits.
 *
 * Least largest loads: least[c][i] = min over j of max(load(i, j), least[c - 1][j]) for the last c
 * chunks from cut i on; loads rise with j, so a row ends when they reach what was found. Memory of
 * a stage follows its order of forwards and backwards, as in the simulator.
 *
 * Each plan is bounded first: stage i starts after the chunks 0 .. i - 1 and ends before they go
 * back, so a step takes at least sum of their l and hops, plus m times the load of stage i. */
#include <math.h>

#include "pipe_chunks.h"
#include "train_lowered.h"

enum { MOST_CUTS = 500 };

/* --- cuts ------------------------------------------------------------------------------------ */

static double load_s(const weft_pipe_row *row, int i, int j)
{
    const double *b = row->backward_s[WEFT_KEEP_ALL];

    return row->forward_s[j] - row->forward_s[i] + (b[j] - b[i]);
}

/* The loads of chunk q are those of row q % n_rows. least[c * n_cuts + i] for c = 0 .. n_chunks. */
typedef struct chunk_rows {
    const weft_pipe_row *const *row;
    int n_rows, n_chunks, n_cuts;
} chunk_rows;

static double *least_loads(const chunk_rows *r, weft_arena *a)
{
    int n_cuts = r->n_cuts;
    double *least = WEFT_NEW_RAW(a, double, (size_t)(r->n_chunks + 1) * (size_t)n_cuts);

    for (int i = 0; i < n_cuts; i++)
        least[i] = i == n_cuts - 1 ? 0 : INFINITY;
    for (int c = 1; c <= r->n_chunks; c++) {
        const weft_pipe_row *row = r->row[(r->n_chunks - c) % r->n_rows];
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

/* The first cuts in lexicographic order with the least largest load; false: none. */
static bool cut_chain(const chunk_rows *r, const double *least, int *cut)
{
    double most_s = least[(size_t)r->n_chunks * (size_t)r->n_cuts];

    cut[0] = 0;
    for (int c = 0; c < r->n_chunks; c++) {
        const double *after = least + (size_t)(r->n_chunks - c - 1) * (size_t)r->n_cuts;
        const weft_pipe_row *row = r->row[c % r->n_rows];
        int j = cut[c] + 1;

        while (j < r->n_cuts && !(load_s(row, cut[c], j) <= most_s && after[j] <= most_s))
            j++;
        if (j >= r->n_cuts)
            return false;
        cut[c + 1] = j;
    }
    return true;
}

static const weft_pipe_row **rows_of(const weft_pipe_costs *c, const weft_train_plan *plan,
                                     weft_arena *a)
{
    const weft_pipe_row **row = WEFT_NEW(a, const weft_pipe_row *, plan->n_stages);

    for (int i = 0; i < plan->n_stages; i++)
        row[i] = &c->row[weft_part_table(c->p, &plan->stage[i], 0)];
    return row;
}

bool weft_pipe_cut_chunks(const weft_pipe_costs *c, weft_train_plan *plan, weft_arena *a)
{
    chunk_rows r = {.row = rows_of(c, plan, a),
                    .n_rows = plan->n_stages,
                    .n_chunks = plan->n_stages * plan->n_chunks,
                    .n_cuts = c->p->blocks.n_cuts};

    for (int i = 0; i < plan->n_stages; i++)
        if (!r.row[i]->is_there)
            return false;
    return cut_chain(&r, least_loads(&r, a), plan->cut);
}

bool weft_pipe_has_all_cuts(const weft_blocks *u, int n_chunks)
{
    double n = 1; /* ways to choose n_chunks - 1 of the n_units - 1 inner cuts */

    for (int i = 1; i < n_chunks && n <= MOST_CUTS; i++)
        n = n * (u->n_blocks - i) / i;
    return n <= MOST_CUTS;
}

/* Of one class: all numbers of chunks have the same loads. */
static bool cut_alike(weft_pipe_chunks *k, int table, weft_train_plan *plan)
{
    const weft_pipe_row *row = &k->best->costs->row[table];
    int n_cuts = k->best->costs->p->blocks.n_cuts;
    chunk_rows r = {.row = &row, .n_rows = 1, .n_chunks = n_cuts - 1, .n_cuts = n_cuts};

    if (k->least[table] == NULL)
        k->least[table] = least_loads(&r, k->a);
    r.n_chunks = plan->n_stages * plan->n_chunks;
    return cut_chain(&r, k->least[table], plan->cut);
}

/* --- plans ----------------------------------------------------------------------------------- */

/* Of a device of a stage, along its order; the first that is over `room` ends it. */
static double peak_bytes(const weft_train_lowered *d, int stage, const int64_t *order, int64_t n,
                         double room)
{
    double live = weft_static_bytes(&d->state[stage * WEFT_MAX_PARTS]), peak = live;

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
static double stage_s(const weft_train_lowered *d, int stage)
{
    double l = 0;

    for (int c = stage; c < d->n_chunks; c += d->plan->n_stages)
        l += d->figures[c].forward_s + d->figures[c].backward_s + d->figures[c].again_s;
    return l;
}

bool weft_pipe_choose_again(const weft_pipe_costs *c, weft_train_plan *plan, weft_arena *a)
{
    weft_train_lowered d[WEFT_N_RECOMPUTES];

    for (int r = 0; r < c->n_recomputes; r++) {
        for (int i = 0; i < plan->n_stages; i++)
            plan->stage[i].recompute = c->recompute[r];
        weft_train_lower_figures(c->p, plan, a, &d[r]);
    }
    for (int i = 0; i < plan->n_stages; i++) {
        size_t mark = weft_arena_mark(a);
        const int64_t *order;
        int64_t n = weft_schedule_order(plan->schedule, plan->n_stages, i, d[0].n_microbatches,
                                        plan->n_chunks, a, &order);
        double best_s = INFINITY;
        double room = weft_train_room_bytes(c->p, plan->stage[i].part[0].class_id);

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

static weft_train_plan plan_of(const weft_pipe_family *f, int n_stages, int n_chunks, weft_arena *a)
{
    return (weft_train_plan){.schedule = WEFT_INTERLEAVED,
                             .microbatch = f->microbatch,
                             .n_stages = n_stages,
                             .n_chunks = n_chunks,
                             .cut = WEFT_NEW(a, int, n_stages *n_chunks + 1),
                             .stage = WEFT_NEW(a, weft_stage, n_stages)};
}

/* Stages of the device groups of a sequence, in a layout of pipe_space.c. */
static void place_stages(const weft_train_problem *p, const weft_pipe_family *f, const int *group,
                         weft_pipe_layout layout, weft_train_plan *plan)
{
    int all[WEFT_MAX_PARTS] = {0}, used[WEFT_MAX_PARTS] = {0};

    for (int i = 0; i < plan->n_stages; i++)
        all[group[i]] += f->replicas;
    for (int i = plan->n_stages - 1; i >= 0; i--) {
        const weft_pipe_group *c = &f->group[group[i]];
        weft_stage *s = &plan->stage[i];

        *s = (weft_stage){.width = p->width[c->width], .n_parts = 1};
        s->part[0] =
            weft_pipe_part_at(layout, c->class_id[0], f->replicas, used[group[i]], all[group[i]]);
        s->part[0].samples = p->share[c->mix[0]];
        used[group[i]] += f->replicas;
    }
}

static double chunk_s(const weft_pipe_row *row, weft_recompute r, const weft_train_plan *plan,
                      int q)
{
    const double *b = row->backward_s[r];

    return row->forward_s[plan->cut[q + 1]] - row->forward_s[plan->cut[q]] + b[plan->cut[q + 1]] -
           b[plan->cut[q]];
}

/* From the first forward to the last backward. */
static double bound_s(const weft_pipe_costs *c, const weft_train_plan *plan, int64_t m,
                      weft_arena *scratch)
{
    const weft_pipe_row **row = rows_of(c, plan, scratch);
    double before_s = 0, bound = 0;

    for (int i = 0; i < plan->n_stages; i++) {
        double l = INFINITY, first = INFINITY;

        for (int r = 0; r < c->n_recomputes; r++) {
            double sum = 0;

            for (int q = i; q < plan->n_stages * plan->n_chunks; q += plan->n_stages)
                sum += chunk_s(row[i], c->recompute[r], plan, q);
            first = fmin(first, chunk_s(row[i], c->recompute[r], plan, i));
            l = fmin(l, sum);
        }
        bound = fmax(bound, before_s + (double)m * l);
        before_s += first;
    }
    return bound;
}

static void try_plan(weft_pipe_chunks *k, weft_train_plan *plan)
{
    weft_pipe_best *best = k->best;
    const weft_train_problem *p = best->costs->p;
    double step_s;

    if (!weft_pipe_choose_again(best->costs, plan, k->scratch))
        return;
    best->n_plans++;
    step_s = weft_pipe_plan_s(p, plan, k->scratch);
    if (step_s < best->value_s) {
        best->value_s = step_s;
        best->plan = weft_train_plan_copy(plan, best->a);
    }
}

/* --- all plans ------------------------------------------------------------------------------- */

/* Stages of some device groups of a family, chosen one after the other. */
typedef struct weaving {
    weft_pipe_chunks *k;
    const weft_pipe_family *f;
    unsigned groups; /* that take part: bits */
    int n_stages;
    int *group, *class_id;     /* [n_stages] */
    int count[WEFT_MAX_PARTS]; /* stages of each device group */
    int most[WEFT_MAX_PARTS];  /* that it may have */
    bool is_alike;
    double *worth; /* [groups] of a second of a stage */
    double work;   /* of a microbatch at these prices, at least */
    double open_s; /* least bound of what could not be tried */
} weaving;

/* As has_layout of pipe_solve.c. */
static bool has_layout(const weaving *w, weft_pipe_layout layout)
{
    return layout == WEFT_PIPE_WIDE ||
           (!w->is_alike && !(weft_pipe_is_near(layout) && w->f->replicas == 1));
}

static bool cut_plan(weaving *w, weft_train_plan *plan)
{
    const weft_pipe_costs *c = w->k->best->costs;
    const weft_pipe_group *first = &w->f->group[w->group[0]];

    place_stages(c->p, w->f, w->group, WEFT_PIPE_WIDE, plan);
    if ((w->groups & (w->groups - 1)) == 0)
        return cut_alike(
            w->k, weft_train_problem_table(c->p, first->class_id[0], first->width, first->mix[0]),
            plan);
    (void)weft_pipe_spend(w->k->best, plan->n_stages * plan->n_chunks * c->p->blocks.n_cuts / 8);
    return weft_pipe_cut_chunks(c, plan, w->k->scratch);
}

/* Stage i delivers at most its worth times T / m: what is chosen, and of what is left the best. */
static double least_step_s(const weaving *w)
{
    int left = w->n_stages, count[WEFT_MAX_PARTS];
    double worth = 0;

    for (int c = 0; c < w->f->n_groups; c++) {
        count[c] = w->count[c];
        left -= count[c];
        worth += w->worth[c] * count[c];
    }
    while (left > 0) {
        int best = -1, more;

        for (int c = 0; c < w->f->n_groups; c++)
            if ((w->groups >> c & 1) && count[c] < w->most[c] &&
                (best < 0 || w->worth[c] > w->worth[best]))
                best = c;
        if (best < 0)
            return INFINITY; /* too few devices */
        more = w->most[best] - count[best];
        more = more < left ? more : left;
        count[best] += more;
        left -= more;
        worth += w->worth[best] * more;
    }
    return (double)w->f->n_microbatches * w->work / worth;
}

/* All layouts of a plan that is cut. */
static void try_layouts(weaving *w, weft_train_plan *plan)
{
    weft_pipe_chunks *k = w->k;
    size_t mark = weft_arena_mark(k->scratch);
    int64_t m = w->f->n_microbatches;
    double bound = bound_s(k->best->costs, plan, m, k->scratch);

    for (int layout = 0; layout < WEFT_PIPE_N_LAYOUTS; layout++) {
        if (!has_layout(w, (weft_pipe_layout)layout) || bound >= weft_pipe_target_s(k->best))
            continue;
        if (weft_pipe_spend(k->best, 1 + m * plan->n_stages * plan->n_chunks / 2)) {
            w->open_s = fmin(w->open_s, bound);
            continue;
        }
        place_stages(k->best->costs->p, w->f, w->group, (weft_pipe_layout)layout, plan);
        try_plan(k, plan);
    }
    weft_arena_rewind(k->scratch, mark);
}

/* All cuts from chunk q on. */
static void try_cuts(weaving *w, weft_train_plan *plan, int q)
{
    int n_blocks = w->k->best->costs->p->blocks.n_blocks,
        left = plan->n_stages * plan->n_chunks - q;

    if (w->k->best->is_over) {
        w->open_s = fmin(w->open_s, least_step_s(w));
        return;
    }
    if (left == 1) {
        plan->cut[q + 1] = n_blocks;
        (void)weft_pipe_spend(w->k->best, 1 + q / 2);
        try_layouts(w, plan);
        return;
    }
    for (int cut = plan->cut[q] + 1; cut <= n_blocks - left + 1; cut++) {
        plan->cut[q + 1] = cut;
        try_cuts(w, plan, q + 1);
    }
}

static void try_shape(weaving *w, int v)
{
    weft_pipe_chunks *k = w->k;
    size_t mark = weft_arena_mark(k->scratch);
    weft_train_plan plan = plan_of(w->f, w->n_stages, v, k->scratch);

    if (cut_plan(w, &plan)) {
        try_layouts(w, &plan); /* a good one first */
        place_stages(k->best->costs->p, w->f, w->group, WEFT_PIPE_WIDE, &plan);
        if (weft_pipe_has_all_cuts(&k->best->costs->p->blocks, w->n_stages * v))
            try_cuts(w, &plan, 0);
    }
    weft_arena_rewind(k->scratch, mark);
}

static void try_sequence(weaving *w)
{
    const weft_train_problem *p = w->k->best->costs->p;
    int64_t most = weft_train_plan_most_chunks(p, w->f->microbatch);

    if (most > p->blocks.n_blocks)
        most = p->blocks.n_blocks;
    for (int c = 0; c < w->f->n_groups; c++)
        if ((w->groups >> c & 1) && w->count[c] == 0)
            return; /* tried without it */
    for (int v = 2; v <= p->constraints.most_chunks && w->n_stages * v <= most; v++) {
        if (p->constraints.chunks > 0 && v != p->constraints.chunks)
            continue;
        if (w->k->best->is_over)
            w->open_s = fmin(w->open_s, least_step_s(w));
        else
            try_shape(w, v);
    }
}

/* All sequences from stage i on. */
static void weave_from(weaving *w, int i)
{
    double bound = least_step_s(w);

    if (bound >= weft_pipe_target_s(w->k->best))
        return;
    if (w->k->best->is_over || weft_pipe_spend(w->k->best, 1)) {
        w->open_s = fmin(w->open_s, bound);
        return;
    }
    if (i == w->n_stages) {
        try_sequence(w);
        return;
    }
    for (int c = 0; c < w->f->n_groups; c++) {
        const weft_pipe_group *group = &w->f->group[c];

        w->group[i] = c;
        w->class_id[i] = group->class_id[0];
        if (!(w->groups >> c & 1) || w->count[c] == w->most[c] ||
            !weft_pipe_is_sequence(w->class_id, w->n_stages, i + 1))
            continue;
        w->count[c]++;
        weave_from(w, i + 1);
        w->count[c]--;
    }
}

/* The quickest seconds of a unit on a stage of a group. */
static double unit_s(const weaving *w, int c, int unit)
{
    const weft_pipe_costs *costs = w->k->best->costs;
    const weft_pipe_group *g = &w->f->group[c];
    const weft_block_cost *x =
        &costs->p
             ->cost[weft_train_problem_table(costs->p, g->class_id[0], g->width, g->mix[0])][unit];
    double again_s = INFINITY;

    for (int r = 0; r < costs->n_recomputes; r++)
        again_s = fmin(again_s, x->again_s[costs->recompute[r]]);
    return x->forward_s + x->backward_s + again_s;
}

/* A group is worth what it does of the network in a second; a unit, its least priced seconds. */
static void set_prices(weaving *w)
{
    int n = w->k->best->costs->p->blocks.n_blocks;

    w->worth = WEFT_NEW(w->k->a, double, w->f->n_groups);
    for (int c = 0; c < w->f->n_groups; c++) {
        double sum = 0;

        for (int u = 0; u < n; u++)
            sum += unit_s(w, c, u);
        w->worth[c] = sum > 0 ? 1 / sum : 1;
    }
    for (int u = 0; u < n; u++) {
        double least = INFINITY;

        for (int c = 0; c < w->f->n_groups; c++)
            if (w->groups >> c & 1)
                least = fmin(least, w->worth[c] * unit_s(w, c, u));
        w->work += least;
    }
    w->work *= 1 - 1e-12;
}

double weft_pipe_try_chunks(weft_pipe_chunks *k, const weft_pipe_family *f, unsigned groups)
{
    weaving w = {.k = k, .f = f, .groups = groups, .open_s = INFINITY};
    unsigned classes = 0;
    int most = 0;

    for (int c = 0; c < f->n_groups; c++)
        if (groups >> c & 1) {
            classes |= 1u << f->group[c].class_id[0];
            most += f->n_blocks[f->group[c].class_id[0]] / f->replicas;
        }
    most = most < f->most_stages ? most : f->most_stages;
    w.group = WEFT_NEW(k->a, int, most + 1);
    w.class_id = WEFT_NEW(k->a, int, most + 1);
    w.is_alike = weft_pipe_is_alike(k->best->costs, classes);
    set_prices(&w);
    for (int c = 0; c < f->n_groups; c++)
        w.most[c] = f->n_blocks[f->group[c].class_id[0]] / f->replicas;
    for (w.n_stages = most; w.n_stages >= 2; w.n_stages--)
        if (f->n_microbatches % w.n_stages == 0 &&
            weft_pipe_is_length(k->best->costs->p, w.n_stages))
            weave_from(&w, 0);
    return w.open_s;
}
