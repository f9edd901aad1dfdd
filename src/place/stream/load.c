/* SPDX-License-Identifier: MIT */
/* load.c: the least period of a stream.
 *
 * The period is the largest load of a device, or under contend of a link; no order matters. So:
 * 1. Starts: every single device, the mappings of the list schedulers, and each task where time and
 *    price of the load bound are least (the rounded solution of its linear program).
 * 2. Annealing and polish (load_search.c) from the rounded start, from the best one, and then from
 *    the best so far, hot and cold in turn.
 * 3. The best mappings get an order and are simulated, the best first; the first one that keeps
 *    memory and limits is the plan.
 * 4. Small problems: all mappings are tried or excluded by bounds (load_exact.c), which proves the
 *    least period. Larger ones: a linear program with whole numbers, or its relaxation, bounds it
 *    (milp_assign.c).
 *
 * 5. With a limit of time, step 2 is repeated from the best with other random numbers while the gap is
 *    open; from mapping to mapping, a better one is tried by the simulator like those before.
 *
 * A heuristic without guarantee where step 4 does not end; the bound says how far it may be from
 * the best. Deterministic for
 * a seed and a number of steps. */
#include "load.h"
#include "first.h"

#include "milp_assign.h"
#include "mix.h"
#include "stages.h"
#include "tradeoff.h"

#include <math.h>
#include <string.h>

/* --- candidates ------------------------------------------------------------------------------ */

weft_candidates weft_candidates_new(int n_tasks, weft_arena *a)
{
    weft_candidates c = {.n_tasks = n_tasks};

    for (int i = 0; i < WEFT_MOST_CANDIDATES; i++)
        c.device[i] = WEFT_NEW(a, int, n_tasks);
    return c;
}

void weft_candidates_add(weft_candidates *c, const int *device, double period_s)
{
    size_t bytes = (size_t)c->n_tasks * sizeof *device;
    int at = c->n, *room;

    for (int i = 0; i < c->n; i++)
        if (memcmp(c->device[i], device, bytes) == 0)
            return;
    while (at > 0 && period_s < c->period_s[at - 1])
        at--;
    if (at == WEFT_MOST_CANDIDATES)
        return;
    if (c->n < WEFT_MOST_CANDIDATES)
        c->n++;
    room = c->device[c->n - 1];
    for (int i = c->n - 1; i > at; i--) {
        c->device[i] = c->device[i - 1];
        c->period_s[i] = c->period_s[i - 1];
    }
    c->device[at] = room;
    c->period_s[at] = period_s;
    memcpy(room, device, bytes);
}

static weft_tried simulate(const weft_problem *p, weft_plan *plan, weft_arena *scratch)
{
    weft_tried out = {INFINITY, INFINITY, false};
    weft_measures measures;

    if (weft_evaluate(p, plan, scratch, &measures) != WEFT_OK)
        return out;
    out.latency_s = measures.makespan_s;
    out.period_s = measures.period_s;
    out.is_legal = measures.over_device < 0 &&
                   weft_constraints_allow(&p->constraints, measures.makespan_s, measures.period_s);
    return out;
}

weft_tried weft_mapping_try(const weft_domain *m, const int *device, weft_arena *scratch,
                            weft_plan *plan)
{
    const weft_problem *p = m->problem;
    size_t mark = weft_arena_mark(scratch);
    weft_tried out;

    memcpy(plan->device, device, (size_t)p->n_tasks * sizeof *device);
    weft_mapping_order(m, device, scratch, plan->start_s);
    out = simulate(p, plan, scratch);
    if (!out.is_legal) {
        weft_tried other;

        for (int u = 0; u < p->n_tasks; u++)
            plan->start_s[u] = u;
        other = simulate(p, plan, scratch);
        if (other.is_legal)
            out = other;
    }
    weft_arena_rewind(scratch, mark);
    return out;
}

/* --- starts ---------------------------------------------------------------------------------- */

typedef struct starting {
    const weft_domain *domain;
    weft_mapping map;
    weft_candidates *found;
    int *best; /* [n_tasks] */
    double best_s;
    int n_cut; /* of the best */
    double over_bytes;
    weft_arena *scratch;
} starting;

/* Keeps the start if it is nearer to being possible, or as near and of smaller period. */
static void consider(starting *s, const int *device)
{
    double period_s;
    int n_cut; /* and 1 if stages form a cycle */

    weft_mapping_set(&s->map, device);
    period_s = weft_mapping_period(&s->map);
    n_cut = s->map.n_cut + !weft_mapping_is_staged(&s->map);
    if (n_cut == 0 && s->map.n_over == 0)
        weft_candidates_add(s->found, device, period_s);
    if (n_cut > s->n_cut)
        return;
    if (n_cut == s->n_cut && (s->map.over_bytes > s->over_bytes ||
                              (!(s->map.over_bytes < s->over_bytes) && !(period_s < s->best_s))))
        return;
    s->n_cut = n_cut;
    s->over_bytes = s->map.over_bytes;
    s->best_s = period_s;
    memcpy(s->best, device, (size_t)s->domain->problem->n_tasks * sizeof *device);
}

static void consider_single(starting *s, int d, int *device)
{
    for (int u = 0; u < s->domain->problem->n_tasks; u++)
        device[u] = d;
    if (weft_domain_has_all(s->domain, d))
        consider(s, device);
}

static void consider_solver(starting *s, const weft_solver *solver, const weft_run *run)
{
    const weft_problem *p = s->domain->problem;
    size_t mark = weft_arena_mark(s->scratch);
    weft_run quick = {
        .seed = run->seed, .n_threads = 1, .limit_s = INFINITY, .scratch = s->scratch};
    weft_plan plan = weft_plan_new(p->n_tasks, s->scratch);
    weft_proof proof = {.outcome = WEFT_UNKNOWN};

    if (solver->solve(p, NULL, &quick, &plan, &proof) == WEFT_OK && proof.outcome == WEFT_BOUNDED)
        consider(s, plan.device);
    weft_arena_rewind(s->scratch, mark);
}

/* Each group on the device where price * time is least; a device with a little load left wins a
 * tie. */
static void round_prices(const weft_domain *m, const weft_mapping *map, const double *price,
                         int *device, weft_arena *scratch)
{
    const weft_problem *p = m->problem;
    size_t mark = weft_arena_mark(scratch);
    double *load_s = WEFT_NEW(scratch, double, p->n_devices);

    for (int g = 0; g < m->n_groups; g++) {
        int best = -1;
        double least = INFINITY, best_load_s = INFINITY;

        for (int d = 0; d < p->n_devices; d++) {
            double seconds = 0, cost;

            if (!m->has[g * p->n_devices + d])
                continue;
            for (int i = map->member_at[g]; i < map->member_at[g + 1]; i++)
                seconds += weft_task_s(p, map->member[i], d);
            cost = price[d] * seconds;
            if (best < 0 || cost < least * (1 - 1e-6) ||
                (cost <= least * (1 + 1e-6) && load_s[d] + seconds < best_load_s)) {
                best = d;
                least = cost;
                best_load_s = load_s[d] + seconds;
            }
        }
        load_s[best] = best_load_s;
        for (int i = map->member_at[g]; i < map->member_at[g + 1]; i++)
            device[map->member[i]] = best;
    }
    weft_arena_rewind(scratch, mark);
}

static void consider_stages(starting *s, int *device, weft_proof *bound)
{
    weft_stages stages = weft_stages_fill(&s->map, 1, s->scratch, device);

    if (stages.is_found)
        consider(s, device);
    if (s->domain->problem->constraints.is_contiguous && stages.bound_s > bound->bound) {
        bound->bound = stages.bound_s;
        bound->method = "search";
    }
}

/* With some of the memory left free, for live tensors. */
static void consider_rooms(starting *s, int *device)
{
    static const double part[] = {0.98, 0.94, 0.88, 0.75};

    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        if (weft_stages_fill(&s->map, part[i], s->scratch, device).is_found)
            consider(s, device);
}

/* --- all ------------------------------------------------------------------------------------- */

enum {
    N_ROUNDS = 6,
    MOST_EXACT_GROUPS = 40,
    MOST_EXACT_NODES = 400000,
    MOST_COLUMNS = 10000, /* of programs */
    MOST_WHOLE_COLUMNS = 600,
    MOST_PROGRAM_NODES = 100,
    LEAST_PROGRAM_STEPS = 100000, /* a program takes as long as so many steps, or longer */
};
static const double heat[N_ROUNDS] = {0.1, 0.03, 0.3, 0.03, 0.5, 0.01};

/* No mapping is better than the best candidate. */
static bool is_met(const weft_candidates *found, const weft_proof *proof)
{
    return found->n > 0 && found->period_s[0] <= proof->bound * (1 + 1e-9);
}

static int64_t steps_of(const weft_problem *p, const weft_run *run)
{
    return run->steps > 0 ? run->steps : weft_load_steps(p);
}

/* Is there a device that does not hold all weights? Prices alone do not know where they fit. */
static bool is_memory_short(const weft_problem *p)
{
    double bytes = 0;
    bool is_short = false;

    for (int t = 0; t < p->n_tensors; t++)
        bytes += p->is_weight[t] ? p->memory[t] : 0;
    for (int d = 0; d < p->n_devices; d++)
        is_short |= !weft_fits(bytes, p->capacity[d]);
    return is_short;
}

void weft_load_candidates(const weft_domain *m, weft_proof *bound, weft_run *run,
                          weft_candidates *found)
{
    const weft_problem *p = m->problem;
    weft_arena *a = run->scratch;
    int *device = WEFT_NEW(a, int, p->n_tasks);
    starting s = {.domain = m,
                  .map = weft_mapping_new(m, a),
                  .found = found,
                  .best = WEFT_NEW(a, int, p->n_tasks),
                  .best_s = INFINITY,
                  .n_cut = p->n_tensors * p->n_devices + 1,
                  .scratch = a};
    weft_load_task task = {.domain = m,
                           .steps = steps_of(p, run) / N_ROUNDS + 1,
                           .seed = (uint64_t)run->seed,
                           .run = run};

    for (int d = 0; d < p->n_devices; d++)
        consider_single(&s, d, device);
    consider_solver(&s, &weft_place_met, run);
    consider_solver(&s, &weft_place_greedy, run);
    consider_solver(&s, &weft_place_heft, run);
    round_prices(m, &s.map, bound->price, device, a);
    consider(&s, device);
    if (p->constraints.is_contiguous || is_memory_short(p)) {
        consider_stages(&s, device, bound);
        consider_rooms(&s, device);
        memcpy(device, s.best, (size_t)p->n_tasks * sizeof *device);
    }
    for (int i = 0; i < N_ROUNDS && !weft_run_is_over(run) && !is_met(found, bound);
         i++, task.seed++) {
        const int *from = i == 0 || found->n == 0 ? device : i == 1 ? s.best : found->device[0];

        memmove(device, from, (size_t)p->n_tasks * sizeof *device);
        task.heat = heat[i];
        weft_load_search(&task, device, found, a);
        if (run->progress != NULL && found->n > 0)
            run->progress(run->context, found->period_s[0], bound->bound);
    }
}

/* Step 5. Each turn is as long as a round of step 2. */
static void search_on(const weft_domain *m, const weft_proof *bound, weft_run *run,
                      weft_candidates *found)
{
    int *device = WEFT_NEW(run->scratch, int, m->problem->n_tasks);
    weft_load_task task = {.domain = m,
                           .steps = weft_load_steps(m->problem),
                           .seed = (uint64_t)run->seed + N_ROUNDS,
                           .run = run};

    for (int i = 0; found->n > 0 && !weft_run_is_over(run) && !is_met(found, bound); i++) {
        int from = i % 2 == 0 ? 0 : i / 2 % found->n;

        memcpy(device, found->device[from], (size_t)m->problem->n_tasks * sizeof *device);
        task.heat = heat[i % N_ROUNDS];
        task.seed++;
        weft_load_search(&task, device, found, run->scratch);
        if (run->progress != NULL)
            run->progress(run->context, found->period_s[0], bound->bound);
    }
}

/* The best candidate that keeps memory and limits into the plan. Their periods are without switches:
 * where these take time, the simulator chooses. */
static bool choose(const weft_domain *m, const weft_candidates *found, weft_arena *scratch,
                   weft_plan *plan)
{
    weft_plan tried = weft_plan_new(plan->n_tasks, scratch);
    double best_s = INFINITY;

    for (int i = 0; i < found->n && (m->problem->switch_s != NULL || !(best_s < INFINITY)); i++) {
        weft_tried t = weft_mapping_try(m, found->device[i], scratch, &tried);

        if (!t.is_legal || !(t.period_s < best_s))
            continue;
        best_s = t.period_s;
        weft_plan_copy(plan, &tried);
    }
    return best_s < INFINITY;
}

/* The program of milp_assign.c: its best mapping is a candidate, its bound may be better. Where the
 * engine's library is missing, there is neither. */
static weft_status prove_by_program(const weft_domain *m, weft_run *run, weft_candidates *found,
                                    weft_proof *proof)
{
    weft_arena *a = weft_arena_new();
    weft_mapping map = weft_mapping_new(m, a);
    weft_milp *program = weft_assign_build(&map, found->n > 0 ? found->device[0] : NULL);
    weft_milp_options o = {.limit_s = weft_run_left_s(run) / 2,
                           .most_nodes = MOST_PROGRAM_NODES,
                           .seed = run->seed,
                           .is_relaxed = weft_assign_size(m) > MOST_WHOLE_COLUMNS,
                           .stop = run->stop};
    weft_milp_result r;
    weft_status status = weft_milp_solve(program, &o, a, &r);
    int *device = WEFT_NEW(a, int, m->problem->n_tasks);
    double bound_s = status == WEFT_OK ? r.bound * weft_assign_unit(&map) : 0;

    if (bound_s > proof->bound * (1 + 1e-6) && bound_s < INFINITY) {
        proof->bound = bound_s;
        proof->method = "milp";
    }
    if (status == WEFT_OK && r.x != NULL && !o.is_relaxed) {
        weft_assign_decode(&map, r.x, device);
        weft_mapping_set(&map, device);
        if (map.n_cut == 0 && map.n_over == 0 && weft_mapping_is_staged(&map))
            weft_candidates_add(found, device, weft_mapping_period(&map));
    }
    weft_milp_free(program);
    weft_arena_free(a);
    return status == WEFT_E_SYSTEM ? WEFT_OK : status;
}

/* Raises the bound: by trying all mappings, or by a program. */
static weft_status prove(const weft_domain *m, weft_run *run, weft_candidates *found,
                         weft_proof *proof)
{
    double upper = found->n > 0 ? found->period_s[0] : INFINITY, least_s;

    if (is_met(found, proof) || weft_run_is_over(run))
        return WEFT_OK;
    if (m->n_groups <= MOST_EXACT_GROUPS &&
        weft_load_exact(m, proof, upper, MOST_EXACT_NODES, run, found, &least_s)) {
        proof->bound = fmax(proof->bound, least_s);
        proof->method = "search";
        return WEFT_OK;
    }
    if (weft_assign_size(m) > MOST_COLUMNS || weft_run_is_over(run) ||
        (run->steps > 0 && run->steps < LEAST_PROGRAM_STEPS))
        return WEFT_OK;
    return prove_by_program(m, run, found, proof);
}

/* Plans between least latency and least period, where limits exclude the mappings of least period;
 * the best for the goal. */
static bool choose_between(const weft_domain *m, const weft_candidates *found, weft_run *run,
                           weft_plan *plan)
{
    const weft_problem *p = m->problem;
    weft_front front = weft_front_new(weft_arena_new());
    const weft_tradeoff *best;

    weft_tradeoff_search(m, found, weft_tradeoff_evaluations(p, run), run, &front);
    best = weft_front_best(&front, &p->constraints);
    if (best != NULL) {
        memcpy(plan->device, best->plan.device, (size_t)p->n_tasks * sizeof *plan->device);
        memcpy(plan->start_s, best->plan.start_s, (size_t)p->n_tasks * sizeof *plan->start_s);
    }
    weft_arena_free(front.arena);
    return best != NULL;
}

static void solve_one_way(const weft_domain *m, weft_run *run, weft_candidates *found,
                          weft_plan *plan, weft_proof *proof)
{
    const weft_constraints *constraints = &m->problem->constraints;

    if (constraints->goal == WEFT_THROUGHPUT && !(proof->bound < INFINITY)) {
        proof->outcome = WEFT_INFEASIBLE;
        return;
    }
    if (constraints->goal == WEFT_THROUGHPUT && choose(m, found, run->scratch, plan))
        proof->outcome = WEFT_BOUNDED;
    else if ((constraints->most_latency_s > 0 || constraints->most_period_s > 0) &&
             choose_between(m, found, run, plan))
        proof->outcome = WEFT_BOUNDED;
    else
        proof->reason = "no plan that keeps memory and limits was found";
}

/* The better of a mix and one way for all items, with the bound of mixes, which holds for both. */
static weft_status mix_or_not(const weft_domain *m, weft_run *run, weft_candidates *found,
                              weft_plan *plan, weft_proof *proof)
{
    weft_plan one = weft_plan_new(m->problem->n_tasks, run->scratch);
    weft_proof alone = {.outcome = WEFT_UNKNOWN};
    weft_measures of_one, of_mix;
    weft_arena *a;
    bool is_better;

    WEFT_TRY(weft_mix_solve(m, found, run, plan, proof));
    solve_one_way(m, run, found, &one, &alone);
    if (alone.outcome != WEFT_BOUNDED)
        return WEFT_OK;
    a = weft_arena_new();
    is_better = proof->outcome != WEFT_BOUNDED;
    if (!is_better && weft_evaluate(m->problem, &one, a, &of_one) == WEFT_OK &&
        weft_evaluate(m->problem, plan, a, &of_mix) == WEFT_OK)
        is_better = of_one.period_s <= of_mix.period_s * (1 + 1e-9);
    weft_arena_free(a);
    if (!is_better)
        return WEFT_OK;
    *plan = one;
    proof->outcome = WEFT_BOUNDED;
    proof->reason = NULL;
    return WEFT_OK;
}

/* The bound of load_memory.c, if it is the larger one. */
static void take_memory(weft_proof *proof, double bound_s)
{
    if (!(bound_s > proof->bound * (1 + 1e-9)))
        return;
    proof->bound = bound_s;
    proof->method = "milp";
    if (!(bound_s < INFINITY))
        proof->outcome = WEFT_INFEASIBLE;
}

weft_status weft_load_solve(const weft_problem *p, weft_run *run, weft_plan *plan,
                            weft_proof *proof)
{
    weft_domain m = weft_domain_new(p, run->scratch);
    weft_candidates found = weft_candidates_new(p->n_tasks, run->scratch);
    weft_proof bound = {.outcome = WEFT_UNKNOWN};
    double memory_s;

    proof->outcome = m.is_empty ? WEFT_INFEASIBLE : WEFT_UNKNOWN;
    if (m.is_empty)
        return WEFT_OK;
    if (p->constraints.goal != WEFT_THROUGHPUT && !(p->constraints.most_period_s > 0)) {
        proof->reason = "this solver is for throughput";
        return WEFT_OK;
    }
    weft_load_bound(&m, run->scratch, &bound);
    bound.certified = bound.bound;
    weft_proof_round(&bound, weft_problem_grain_s(p));
    memory_s = weft_load_memory_bound(&m, run);
    take_memory(&bound, memory_s);
    weft_load_candidates(&m, &bound, run, &found);
    if (memory_s > 0 && memory_s < INFINITY && !p->constraints.is_contiguous)
        weft_load_rooms(&m, bound.bound, run, &found);
    WEFT_TRY(prove(&m, run, &found, &bound));
    if (p->constraints.goal == WEFT_THROUGHPUT && !p->constraints.is_mixed &&
        run->limit_s < INFINITY && run->steps == 0)
        search_on(&m, &bound, run, &found);
    run->is_exhausted = run->steps == 0 && !weft_run_is_over(run);
    if (p->constraints.goal == WEFT_THROUGHPUT && !p->constraints.is_mixed)
        *proof = bound;
    if (p->constraints.is_mixed) {
        WEFT_TRY(mix_or_not(&m, run, &found, plan, proof));
        take_memory(proof, memory_s);
        return WEFT_OK;
    }
    solve_one_way(&m, run, &found, plan, proof);
    return WEFT_OK;
}

static weft_status solve(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                         weft_proof *proof)
{
    (void)options;
    return weft_load_solve(p, run, plan, proof);
}

static bool applies(const weft_problem *p)
{
    return p->transfer != WEFT_CALLS &&
           (p->constraints.goal == WEFT_THROUGHPUT || p->constraints.most_period_s > 0);
}

const weft_solver weft_place_load = {
    .name = "load",
    .summary = "throughput: balances the loads of devices and links by annealing",
    .solve = solve,
    .applies = applies,
    .searches = (const weft_search_method[]){{"search", WEFT_FOR_THROUGHPUT},
                                             {"milp", WEFT_FOR_THROUGHPUT},
                                             {0}},
};
