/* SPDX-License-Identifier: MIT */
/* load_search.c: annealing of mappings.
 *
 * 1. The energy of a mapping is the 8-norm of its loads: close to the largest load, but it also
 *    rewards relieving the second largest. With prices it is the priced sum.
 * 2. Moves: a group to another device, often one that a neighbour is on; away from the busiest
 *    device; two groups change places; a connected set of tasks goes together.
 * 3. A move that brings the mapping closer to memory and connections is accepted, one that takes it
 *    further away is not; else it is accepted if the energy falls, or with probability
 *    exp(-rise / temperature). The temperature falls to 0.001 % of the energy.
 * 4. Polish: every group on every device, and for small problems every pair of groups exchanged, as
 *    long as the value falls, or stays and the energy falls.
 *
 * A heuristic without guarantee. Deterministic for a seed and a number of steps. Time: a move costs
 * the tensors it touches. */
#include "load.h"

#include <math.h>
#include <string.h>

enum {
    CHECK_EVERY = 256,    /* steps between looks at the clock */
    MOST_TOGETHER = 64,   /* tasks of a set that moves at once */
    MOST_EXCHANGED = 160, /* groups of problems whose pairs are all exchanged */
    RESUM_EVERY = 8192,   /* kept moves after which loads are summed anew */
};
static const double LAST_HEAT = 1e-5; /* temperature over energy */
static const double EXACT = 1e-12;

/* How far a mapping is from being possible at all. */
typedef struct distance {
    int n_cut; /* and 1 more if stages form a cycle */
    double over_bytes;
} distance;

typedef struct search {
    const weft_load_task *task;
    weft_mapping map;
    weft_rng rng;
    int64_t step, last_step;
    double scale_s; /* loads are divided by it before powers are taken */
    double value;   /* of the mapping at hand: largest load or priced sum */
    double energy;  /* the same */
    distance away;  /* the same */
    double best;    /* value of `kept`; INFINITY if it breaks a limit */
    int *kept;      /* [n_tasks] the best so far */
    int *copy;      /* [n_tasks] */
    int n_kept_moves;
    int *set;  /* [MOST_TOGETHER] */
    int *seen; /* [n_tasks] the walk that met it last */
    int walk;
    bool is_over;
    weft_candidates *found;
} search;

/* --- values ---------------------------------------------------------------------------------- */

static double power8(double x)
{
    x *= x;
    x *= x;
    return x * x;
}

static double energy_of(const search *s)
{
    double sum = 0;

    if (s->task->price != NULL)
        return weft_mapping_cost(&s->map, s->task->price);
    for (int r = 0; r < s->map.n_resources; r++)
        sum += power8(s->map.load_s[r] / s->scale_s);
    return s->scale_s * sqrt(sqrt(sqrt(sum)));
}

static double value_of(const search *s)
{
    return s->task->price != NULL ? weft_mapping_cost(&s->map, s->task->price)
                                  : weft_mapping_period(&s->map);
}

static distance distance_of(const search *s)
{
    return (distance){s->map.n_cut + !weft_mapping_is_staged(&s->map), s->map.over_bytes};
}

static bool is_legal(const search *s)
{
    return s->map.n_cut == 0 && s->map.n_over == 0 && weft_mapping_is_staged(&s->map);
}

/* Remembers the mapping at hand if it is the best. */
static void note(search *s)
{
    if (!is_legal(s) || !(s->value < s->best * (1 - EXACT)))
        return;
    s->best = s->value;
    memcpy(s->kept, s->map.device, (size_t)s->map.problem->n_tasks * sizeof *s->kept);
}

/* Sums the loads anew. */
static void settle(search *s, const int *device)
{
    double most_s;

    memcpy(s->copy, device, (size_t)s->map.problem->n_tasks * sizeof *device); /* may be its own */
    weft_mapping_set(&s->map, s->copy);
    most_s = weft_mapping_period(&s->map);
    s->scale_s = most_s > 0 ? most_s : 1;
    s->value = value_of(s);
    s->energy = energy_of(s);
    s->away = distance_of(s);
    s->n_kept_moves = 0;
}

static bool has_steps(search *s)
{
    if (++s->step % CHECK_EVERY == 0 && s->task->run != NULL)
        s->is_over = weft_run_is_over(s->task->run);
    return s->step <= s->last_step && !s->is_over;
}

/* --- moves ----------------------------------------------------------------------------------- */

static bool may_go(const search *s, int g, int d)
{
    return d != s->map.home[g] && s->map.domain->has[g * s->map.problem->n_devices + d];
}

/* The device of a task that gives to u or takes from it; any device if there is none. */
static int near_device(search *s, int u)
{
    const weft_problem *p = s->map.problem;
    int n_preds = p->pred_at[u + 1] - p->pred_at[u], n_succs = p->succ_at[u + 1] - p->succ_at[u];
    int i;

    if (n_preds + n_succs == 0)
        return weft_rng_below(&s->rng, p->n_devices);
    i = weft_rng_below(&s->rng, n_preds + n_succs);
    return s->map
        .device[i < n_preds ? p->pred[p->pred_at[u] + i] : p->succ[p->succ_at[u] + i - n_preds]];
}

static int any_device(search *s, int u)
{
    if (s->map.is_sending && weft_rng_below(&s->rng, 2) == 0)
        return near_device(s, u);
    return weft_rng_below(&s->rng, s->map.problem->n_devices);
}

static bool move_one(search *s, int u)
{
    int g = s->map.domain->group[u], d = any_device(s, u);

    if (!may_go(s, g, d))
        return false;
    weft_mapping_move(&s->map, g, d);
    return true;
}

/* A task of the busiest device, if a few draws find one. */
static bool relieve(search *s)
{
    int busiest = 0, u = 0;

    for (int d = 1; d < s->map.problem->n_devices; d++)
        if (s->map.load_s[d] > s->map.load_s[busiest])
            busiest = d;
    for (int i = 0; i < 8; i++) {
        u = weft_rng_below(&s->rng, s->map.problem->n_tasks);
        if (s->map.device[u] == busiest)
            break;
    }
    return move_one(s, u);
}

static bool exchange(search *s, int g, int h)
{
    int d = s->map.home[g], e = s->map.home[h];

    if (!may_go(s, g, e) || !may_go(s, h, d))
        return false;
    weft_mapping_move(&s->map, g, e);
    weft_mapping_move(&s->map, h, d);
    return true;
}

static int extend(search *s, int n, int most, const int *list, int n_list, int device)
{
    for (int i = 0; i < n_list && n < most; i++) {
        int v = list[i];

        if (s->seen[v] == s->walk || s->map.device[v] != device)
            continue;
        s->seen[v] = s->walk;
        s->set[n++] = v;
    }
    return n;
}

/* Tasks around u on its device, together to another one. */
static bool move_set(search *s, int u)
{
    const weft_problem *p = s->map.problem;
    int most = 2 << weft_rng_below(&s->rng, 6), n = 1, from = s->map.device[u];
    int to = any_device(s, u);

    if (to == from)
        return false;
    most = most > MOST_TOGETHER ? MOST_TOGETHER : most;
    s->walk++;
    s->seen[u] = s->walk;
    s->set[0] = u;
    for (int i = 0; i < n && n < most; i++) {
        int v = s->set[i];

        n = extend(s, n, most, p->succ + p->succ_at[v], p->succ_at[v + 1] - p->succ_at[v], from);
        n = extend(s, n, most, p->pred + p->pred_at[v], p->pred_at[v + 1] - p->pred_at[v], from);
    }
    for (int i = 0; i < n; i++) {
        int g = s->map.domain->group[s->set[i]];

        if (may_go(s, g, to))
            weft_mapping_move(&s->map, g, to);
    }
    return s->map.moved.n > 0;
}

static bool propose(search *s)
{
    const weft_problem *p = s->map.problem;
    int kind = weft_rng_below(&s->rng, 100), u = weft_rng_below(&s->rng, p->n_tasks);

    if (kind < 45)
        return move_one(s, u);
    if (kind < 60)
        return relieve(s);
    if (kind < 85 || !s->map.is_sending)
        return exchange(s, s->map.domain->group[u],
                        s->map.domain->group[weft_rng_below(&s->rng, p->n_tasks)]);
    return move_set(s, u);
}

/* --- acceptance ------------------------------------------------------------------------------ */

static int compare(distance x, distance y)
{
    if (x.n_cut != y.n_cut)
        return x.n_cut < y.n_cut ? -1 : 1;
    return (x.over_bytes > y.over_bytes) - (x.over_bytes < y.over_bytes);
}

static void keep(search *s, double value, double energy)
{
    weft_mapping_keep(&s->map);
    s->value = value;
    s->energy = energy;
    s->away = distance_of(s);
    if (++s->n_kept_moves >= RESUM_EVERY)
        settle(s, s->map.device);
    note(s);
}

static void anneal(search *s, int64_t steps)
{
    double temperature = s->task->heat * s->energy;
    double cooling = pow(LAST_HEAT / s->task->heat, 1.0 / (double)steps);

    for (int64_t i = 0; i < steps && has_steps(s); i++, temperature *= cooling) {
        distance before = s->away, after;
        double energy, rise;
        int closer;

        if (!propose(s))
            continue;
        after = distance_of(s);
        closer = compare(after, before);
        energy = energy_of(s);
        rise = energy - s->energy;
        if (closer < 0 ||
            (closer == 0 && (rise <= 0 || weft_rng_real(&s->rng) < exp(-rise / temperature))))
            keep(s, value_of(s), energy);
        else
            weft_mapping_undo_all(&s->map);
    }
}

/* --- polish ---------------------------------------------------------------------------------- */

/* Keeps the trial if it is better than what was; else undoes it. */
static bool keep_if_better(search *s)
{
    distance after = distance_of(s);
    double value = value_of(s), energy = energy_of(s);
    int closer = compare(after, s->away);
    bool is_better =
        value < s->value * (1 - EXACT) || (value <= s->value && energy < s->energy * (1 - 1e-9));

    if (closer > 0 || (closer == 0 && !is_better)) {
        weft_mapping_undo_all(&s->map);
        return false;
    }
    keep(s, value, energy);
    return true;
}

static bool polish_moves(search *s)
{
    int n_devices = s->map.problem->n_devices;
    bool is_better = false;

    for (int g = 0; g < s->map.domain->n_groups; g++)
        for (int d = 0; d < n_devices; d++) {
            if (!may_go(s, g, d))
                continue;
            if (!has_steps(s))
                return false;
            weft_mapping_move(&s->map, g, d);
            is_better |= keep_if_better(s);
        }
    return is_better;
}

static bool polish_pairs(search *s)
{
    int n = s->map.domain->n_groups;
    bool is_better = false;

    for (int g = 0; g < n; g++)
        for (int h = g + 1; h < n; h++) {
            if (!has_steps(s))
                return false;
            if (exchange(s, g, h))
                is_better |= keep_if_better(s);
        }
    return is_better;
}

static void polish(search *s)
{
    bool is_better = true;

    while (is_better && !s->is_over && s->step < s->last_step) {
        is_better = polish_moves(s);
        if (!is_better && s->map.domain->n_groups <= MOST_EXCHANGED)
            is_better = polish_pairs(s);
    }
}

/* --- all ------------------------------------------------------------------------------------- */

int64_t weft_load_steps(const weft_problem *p)
{
    double steps = 150.0 * p->n_tasks * p->n_devices;

    return steps < 8000 ? 8000 : steps > 1000000 ? 1000000 : (int64_t)steps;
}

int64_t weft_load_search(const weft_load_task *task, int *device, weft_candidates *found,
                         weft_arena *scratch)
{
    const weft_problem *p = task->domain->problem;
    size_t mark = weft_arena_mark(scratch);
    search s = {
        .task = task,
        .map = weft_mapping_new(task->domain, scratch),
        .rng = weft_rng_seed(task->seed),
        .last_step = task->steps,
        .best = INFINITY,
        .kept = WEFT_NEW(scratch, int, p->n_tasks),
        .copy = WEFT_NEW(scratch, int, p->n_tasks),
        .set = WEFT_NEW(scratch, int, MOST_TOGETHER),
        .seen = WEFT_NEW(scratch, int, p->n_tasks),
        .found = found,
    };
    int64_t for_polish = task->steps / 4;

    settle(&s, device);
    note(&s);
    if (p->n_devices > 1) {
        anneal(&s, task->steps - for_polish);
        settle(&s, isfinite(s.best) ? s.kept : s.map.device);
        polish(&s);
    }
    if (isfinite(s.best))
        memcpy(device, s.kept, (size_t)p->n_tasks * sizeof *device);
    if (isfinite(s.best) && found != NULL) { /* proofs rest on it: not with the rounding of moves */
        weft_mapping_set(&s.map, s.kept);
        weft_candidates_add(found, s.kept, weft_mapping_period(&s.map));
    }
    weft_arena_rewind(scratch, mark);
    return s.step;
}
