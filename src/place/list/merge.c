/* SPDX-License-Identifier: MIT */
/* merge.c: plans with fewer switches, by simulation.
 *
 * A piece is tasks of one device that hang together by edges or must share a device; it can be a
 * single kernel. A move puts a piece, with all that must share its device, on a device that it
 * reads from or gives to.
 *
 * Better: pieces from the shortest to the longest, each to the device beside it that gives the least
 * value, if that is no more than before. A move leaves fewer edges between devices, as all those of
 * a piece to other pieces were such edges, so this ends. Again until no piece moves.
 *
 * Repair: of the shortest segments, the one whose move takes away most of what the constraints object
 * to, at the least value; until they object to nothing, or no move helps. A plan on one device has
 * one segment, so mostly there is a way.
 *
 * Time: a simulation for each move that is tried. */
#include "merge.h"

#include "rows.h"
#include "sort.h"

#include <math.h>
#include <string.h>

enum {
    MOST_TRIED = 12,
    MOST_PASSES = 20
};                                   /* segments of a step of repair; passes over all pieces */
static const double MOST_WORK = 4e7; /* tasks simulated */

typedef struct merging {
    const weft_problem *p;
    weft_problem bare; /* without what is asked of segments and stages */
    weft_domain domain;
    weft_run *run;
    weft_plan plan; /* at hand */
    double value;   /* of it */
    double work;
    weft_arena *a;
} merging;

/* Pieces or segments: sets of tasks. */
typedef struct pieces {
    int n;
    const int *of; /* [n_tasks] */
    weft_rows task;
    double *seconds; /* [n] */
} pieces;

bool weft_merge_matters(const weft_problem *p)
{
    return p->switch_s != NULL || weft_segments_matter(&p->constraints) ||
           p->constraints.is_contiguous;
}

static bool is_over(const merging *m)
{
    return m->work > MOST_WORK || weft_run_is_over(m->run);
}

/* --- values ---------------------------------------------------------------------------------- */

/* What the simulator says of the plan, which gets its starts; INFINITY: it does not run, or does
 * not fit. */
static double simulated(merging *m, const weft_problem *p, weft_plan *plan)
{
    weft_best best = weft_best_new(p, m->a);

    m->work += p->n_tasks;
    return weft_best_try(&best, p, plan, m->a);
}

/* What the constraints object to; 0: nothing. */
static int objections(merging *m, const int *device)
{
    const weft_constraints *c = &m->p->constraints;
    weft_segments s = weft_segments_of(m->p, device, m->a);
    int n = c->most_segments > 0 && s.n > c->most_segments ? s.n - c->most_segments : 0;

    for (int i = 0; i < s.n; i++)
        n += weft_segment_is_small(c, &s, i);
    if (c->is_contiguous && weft_plan_loop(m->p, device, m->a) >= 0)
        n += s.n;
    return n;
}

/* --- pieces ---------------------------------------------------------------------------------- */

static pieces pieces_by(merging *m, const int *of, int n)
{
    pieces x = {.n = n, .of = of};

    x.task = weft_rows_by(of, m->p->n_tasks, n, m->a);
    x.seconds = WEFT_NEW(m->a, double, n);
    for (int u = 0; u < m->p->n_tasks; u++)
        x.seconds[of[u]] += weft_task_s(m->p, u, m->plan.device[u]);
    return x;
}

static void join(int *root, int u, int v)
{
    int one = weft_root(root, u), other = weft_root(root, v);

    root[one < other ? other : one] = one < other ? one : other;
}

static pieces pieces_of(merging *m)
{
    const weft_problem *p = m->p;
    const int *device = m->plan.device;
    int *root = WEFT_NEW(m->a, int, p->n_tasks), *of = WEFT_NEW(m->a, int, p->n_tasks), n = 0;
    int *first = WEFT_NEW(m->a, int, m->domain.n_groups); /* 1 + task */

    for (int u = 0; u < p->n_tasks; u++)
        root[u] = u;
    for (int v = 0; v < p->n_tasks; v++) {
        int *known = &first[m->domain.group[v]];

        for (int i = p->pred_at[v]; i < p->pred_at[v + 1]; i++)
            if (device[p->pred[i]] == device[v])
                join(root, p->pred[i], v);
        if (*known > 0)
            join(root, *known - 1, v);
        *known = *known > 0 ? *known : v + 1;
    }
    for (int u = 0; u < p->n_tasks; u++)
        of[u] = weft_root(root, u) == u ? n++ : of[weft_root(root, u)];
    return pieces_by(m, of, n);
}

static pieces segments_of(merging *m)
{
    weft_segments s = weft_segments_of(m->p, m->plan.device, m->a);

    return pieces_by(m, s.of, s.n);
}

/* Marks the devices of tasks that give to piece i or read from it. False: there are none. */
static bool mark_beside(const merging *m, const pieces *x, int i, bool *is_beside)
{
    const weft_problem *p = m->p;
    bool has_some = false;

    memset(is_beside, 0, sizeof *is_beside * (size_t)p->n_devices);
    for (int k = x->task.at[i]; k < x->task.at[i + 1]; k++) {
        int u = x->task.item[k];

        for (int j = p->pred_at[u]; j < p->pred_at[u + 1]; j++)
            is_beside[m->plan.device[p->pred[j]]] = true;
        for (int j = p->succ_at[u]; j < p->succ_at[u + 1]; j++)
            is_beside[m->plan.device[p->succ[j]]] = true;
    }
    is_beside[m->plan.device[x->task.item[x->task.at[i]]]] = false;
    for (int d = 0; d < p->n_devices; d++)
        has_some |= is_beside[d];
    return has_some;
}

/* The plan with piece i, and all that must share its device, on d. False: something may not go. */
static bool moved(merging *m, const pieces *x, int i, int d, weft_plan *to)
{
    bool *goes = WEFT_NEW(m->a, bool, m->domain.n_groups);

    for (int k = x->task.at[i]; k < x->task.at[i + 1]; k++) {
        int u = x->task.item[k];

        if (!weft_domain_has(&m->domain, u, d))
            return false;
        goes[m->domain.group[u]] = true;
    }
    weft_plan_copy(to, &m->plan);
    for (int u = 0; u < m->p->n_tasks; u++)
        if (goes[m->domain.group[u]])
            to->device[u] = d;
    return true;
}

/* --- better ---------------------------------------------------------------------------------- */

/* The best move of piece i, if it loses nothing. */
static bool try_piece(merging *m, const pieces *x, int i)
{
    int n_devices = m->p->n_devices;
    bool *is_beside = WEFT_NEW(m->a, bool, n_devices), has_moved = false;
    weft_plan best = weft_plan_new(m->p->n_tasks, m->a), plan = weft_plan_new(m->p->n_tasks, m->a);

    mark_beside(m, x, i, is_beside);
    for (int d = 0; d < n_devices; d++) {
        double value;

        if (!is_beside[d] || is_over(m) || !moved(m, x, i, d, &plan))
            continue;
        value = simulated(m, m->p, &plan);
        if (value < m->value || (value == m->value && !has_moved)) {
            m->value = value;
            weft_plan_copy(&best, &plan);
            has_moved = true;
        }
    }
    if (has_moved)
        weft_plan_copy(&m->plan, &best);
    return has_moved;
}

/* Every piece once; pieces that a move has changed wait for the next pass. */
static bool try_pieces(merging *m)
{
    size_t mark = weft_arena_mark(m->a);
    pieces x = pieces_of(m);
    const int *order = weft_sorted_rising(x.seconds, x.n, m->a);
    int *before = weft_arena_copy(m->a, m->plan.device, sizeof *before * (size_t)m->p->n_tasks);
    bool has_moved = false;

    for (int i = 0; i < x.n && !is_over(m); i++) {
        size_t inner = weft_arena_mark(m->a);
        bool is_old = true;

        for (int k = x.task.at[order[i]]; k < x.task.at[order[i] + 1]; k++)
            is_old &= m->plan.device[x.task.item[k]] == before[x.task.item[k]];
        if (is_old)
            has_moved |= try_piece(m, &x, order[i]);
        weft_arena_rewind(m->a, inner);
    }
    weft_arena_rewind(m->a, mark);
    return has_moved;
}

static void make_better(merging *m)
{
    for (int i = 0; i < MOST_PASSES && try_pieces(m);)
        i++;
}

/* --- repair ---------------------------------------------------------------------------------- */

/* The best move of one of the shortest segments that lowers the objections; false: none does. */
static bool repair_once(merging *m, int *n_objections)
{
    const weft_problem *p = m->p;
    pieces x = segments_of(m);
    const int *order = weft_sorted_rising(x.seconds, x.n, m->a);
    bool *is_beside = WEFT_NEW(m->a, bool, p->n_devices);
    weft_plan best = weft_plan_new(p->n_tasks, m->a), plan = weft_plan_new(p->n_tasks, m->a);
    int least = *n_objections;
    double value = INFINITY;

    for (int i = 0; i < x.n && (i < MOST_TRIED || !(value < INFINITY)) && !is_over(m); i++) {
        bool has_some = mark_beside(m, &x, order[i], is_beside);

        for (int d = 0; d < p->n_devices; d++) {
            size_t inner = weft_arena_mark(m->a);
            double at;
            int n;

            if ((has_some && !is_beside[d]) || !moved(m, &x, order[i], d, &plan))
                continue;
            n = objections(m, plan.device);
            at = n < *n_objections ? simulated(m, &m->bare, &plan) : INFINITY;
            weft_arena_rewind(m->a, inner);
            if (!(at < value))
                continue;
            value = at;
            least = n;
            weft_plan_copy(&best, &plan);
        }
    }
    if (value < INFINITY)
        weft_plan_copy(&m->plan, &best);
    *n_objections = least;
    return value < INFINITY;
}

static merging merging_new(const weft_problem *p, weft_run *run)
{
    merging m = {.p = p, .bare = *p, .run = run, .value = INFINITY, .a = weft_arena_new()};

    m.bare.constraints =
        (weft_constraints){.goal = p->constraints.goal, .is_calls = p->constraints.is_calls};
    m.domain = weft_domain_new(p, m.a);
    m.plan = weft_plan_new(p->n_tasks, m.a);
    return m;
}

void weft_merge_repair(weft_best *best, const weft_problem *p, weft_plan *plan, weft_run *run)
{
    merging m = merging_new(p, run);
    int n = objections(&m, plan->device);

    weft_plan_copy(&m.plan, plan);
    while (n > 0 && !is_over(&m)) {
        size_t mark = weft_arena_mark(m.a);
        bool has_moved = repair_once(&m, &n);

        weft_arena_rewind(m.a, mark);
        if (!has_moved)
            break;
    }
    weft_plan_copy(plan, &m.plan);
    weft_best_try(best, p, plan, m.a);
    weft_arena_free(m.a);
}

/* --- all ------------------------------------------------------------------------------------- */

/* The plans of list schedulers that know nothing of the constraints, repaired. */
static weft_status repair_lists(weft_best *best, const weft_problem *p, weft_run *run)
{
    const weft_solver *const list[] = {&weft_place_single, &weft_place_heft, &weft_place_greedy,
                                       &weft_place_peft};
    weft_problem bare = *p;
    weft_arena *scratch = weft_arena_new();
    weft_status status = WEFT_OK;

    bare.constraints = (weft_constraints){.goal = p->constraints.goal};
    for (size_t i = 0; i < sizeof list / sizeof *list && status == WEFT_OK; i++) {
        weft_plan plan = weft_plan_new(p->n_tasks, scratch);
        weft_proof proof = {.outcome = WEFT_UNKNOWN};
        weft_run inner = *run;

        inner.scratch = scratch;
        status = list[i]->solve(&bare, NULL, &inner, &plan, &proof);
        if (status == WEFT_OK && proof.outcome == WEFT_BOUNDED)
            weft_merge_repair(best, p, &plan, run);
    }
    weft_arena_free(scratch);
    return status;
}

static void try_intervals(weft_best *best, const weft_problem *p, const weft_run *run)
{
    weft_arena *scratch = weft_arena_new();
    weft_domain domain = weft_domain_new(p, scratch);

    if (p->transfer != WEFT_CALLS && !weft_run_is_over(run) && !domain.is_empty)
        weft_intervals_try(&domain, best, scratch);
    weft_arena_free(scratch);
}

weft_status weft_merge_best(weft_best *best, const weft_problem *p, weft_run *run)
{
    merging m;

    if (!weft_merge_matters(p))
        return WEFT_OK;
    try_intervals(best, p, run);
    if (p->transfer != WEFT_CALLS &&
        (weft_segments_matter(&p->constraints) || p->constraints.is_contiguous))
        WEFT_TRY(repair_lists(best, p, run));
    if (!(best->value < INFINITY))
        return WEFT_OK;
    m = merging_new(p, run);
    weft_plan_copy(&m.plan, &best->plan);
    m.value = best->value;
    make_better(&m);
    weft_best_try(best, p, &m.plan, m.a);
    if (m.value == best->value) /* fewer switches for the same value */
        weft_plan_copy(&best->plan, &m.plan);
    weft_arena_free(m.a);
    return WEFT_OK;
}
