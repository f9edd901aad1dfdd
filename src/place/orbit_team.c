/* SPDX-License-Identifier: MIT */
/* orbit_team.c: solver `orbit`: large networks on many equal devices.
 *
 * 1. Equal devices are reduced to as many as can be of use at once (orbit.c); memory is left out.
 *    The parts between barriers of that problem give a bound, and tails (series.c).
 * 2. If memory limits the whole, the best chain of devices (orbit_chain.c) is a plan: first with
 *    room left for tensors on every device, then without.
 * 3. The team: the devices of the chain, and for each class of twins among them as many more as are
 *    of use side by side. The problem on the team alone, with its memory and with the tails of
 *    step 1, is searched (exact.c) in narrow beams. If memory does not limit, the reduced problem
 *    itself is searched.
 * 4. The simulator judges all plans. The bound is that of step 1.
 *
 * Guarantee: the bound holds for every plan, since step 1 is a relaxation (orbit.c). The plan is
 * proved optimal where it meets the bound; transfers that hide behind computation cost nothing, so
 * this happens even if weights are spread over many devices. In a team, small weights that several
 * tasks share are put on every device: plans of it are legal, but its searches prove nothing. */
#include "first.h"
#include "orbit.h"
#include "series.h"

#include <math.h>
#include <string.h>

enum {
    PART_STATES = 4000,
    MOST_TEAM = 16, /* devices of a team, unless the chain itself has more */
    FIRST_BEAM = 64,
    LAST_BEAM = 512,
    BEAM_STEP = 8,
};

static const double SMALL_WEIGHT = 1e-3; /* of the least room in a team */
static const double CLOSED = 1e-10;

typedef struct search {
    const weft_problem *problem;
    weft_domain domain;
    weft_orbits orbits;
    const weft_piece *whole;
    weft_reduced reduced;
    weft_run *run;
    weft_arena *a;
    weft_best best;
    double bound;
    int64_t steps_left; /* INT64_MAX: no limit */
} search;

static bool is_over(const search *s)
{
    return s->bound >= s->best.value * (1 - CLOSED) || s->steps_left <= 0 ||
           weft_run_is_over(s->run);
}

static void spend(search *s, int64_t steps)
{
    if (s->steps_left < INT64_MAX)
        s->steps_left -= steps + 1;
}

bool weft_orbit_helps(const weft_piece *x, const weft_reduced *r)
{
    return x->group == NULL && (x->n_weights > 0 || r->piece != NULL);
}

/* --- step 1 ---------------------------------------------------------------------------------- */

static void set_reduced(search *s)
{
    int n = s->problem->n_devices;

    s->reduced = weft_piece_reduce(s->whole, s->a);
    if (s->reduced.piece != NULL)
        return;
    s->reduced.piece = weft_piece_thin(s->whole, s->a);
    s->reduced.piece->n_weights = 0;
    s->reduced.is_exact = true;
    s->reduced.is_memory_aside = s->whole->n_weights > 0;
    s->reduced.device = WEFT_NEW(s->a, int, n);
    s->reduced.kind = WEFT_NEW(s->a, int, n);
    for (int d = 0; d < n; d++)
        s->reduced.device[d] = s->reduced.kind[d] = d;
}

static void set_tails(search *s)
{
    weft_series_effort e = {s->bound, PART_STATES, s->steps_left, s->run};
    weft_series r = weft_series_tails(s->reduced.piece, &e, s->a);

    spend(s, r.n_states);
    s->bound = fmax(s->bound, r.bound);
    s->reduced.piece->tail_s = r.tail_s;
}

/* --- step 2 ---------------------------------------------------------------------------------- */

/* The chain as a plan; false if there is none. With is_roomy, space for tensors is left. */
static bool try_chain(search *s, bool is_roomy, int *device)
{
    const weft_problem *p = s->problem;
    double *room_bytes = WEFT_NEW(s->a, double, p->n_devices);
    double live_bytes = is_roomy ? weft_orbit_live_bytes(p) : 0;
    int64_t steps = s->steps_left < INT64_MAX ? s->steps_left : 0;
    weft_chain_plan chain;
    weft_plan plan = weft_plan_new(p->n_tasks, s->a);

    for (int d = 0; d < p->n_devices; d++)
        room_bytes[d] = fmax(0, p->capacity[d] - live_bytes);
    chain = weft_orbit_chain(&s->domain, &s->orbits, room_bytes, INFINITY, &steps, s->a);
    spend(s, steps);
    if (!(chain.value < INFINITY))
        return false;
    memcpy(device, chain.device, sizeof *device * (size_t)p->n_tasks);
    for (int u = 0; u < p->n_tasks; u++) {
        plan.device[u] = device[u];
        plan.start_s[u] = u;
    }
    return weft_best_try(&s->best, p, &plan, s->a) < INFINITY;
}

/* --- step 3 ---------------------------------------------------------------------------------- */

/* Devices that `device` uses, then twins of theirs; at most `extra` more of each class. */
static int choose_team(const search *s, const int *device, int extra, int *team)
{
    const weft_orbits *o = &s->orbits;
    uint64_t is_in = 0, classes = 0;
    int n = 0;

    for (int u = 0; u < s->problem->n_tasks; u++) {
        if (!(is_in >> device[u] & 1))
            team[n++] = device[u];
        is_in |= (uint64_t)1 << device[u];
        classes |= (uint64_t)1 << o->class[device[u]];
    }
    for (int c = 0; c < o->n_classes; c++) {
        int n_more = classes >> c & 1 ? extra : 0;

        for (int i = o->member_at[c]; i < o->member_at[c + 1] && n_more > 0 && n < MOST_TEAM; i++) {
            if (is_in >> o->member[i] & 1)
                continue;
            team[n++] = o->member[i];
            n_more--;
        }
    }
    return n;
}

/* Tails of the reduced piece, by kind. */
static void lend_tails(const search *s, weft_piece *x, const int *team)
{
    const weft_piece *y = s->reduced.piece;
    double *tail_s = WEFT_NEW(s->a, double, (size_t)x->n_tasks *(size_t)x->n_devices);

    for (int u = 0; u < x->n_tasks; u++) {
        for (int d = 0; d < x->n_devices; d++)
            tail_s[u * x->n_devices + d] = y->tail_s[u * y->n_devices + s->reduced.kind[team[d]]];
    }
    x->tail_s = tail_s;
}

/* Room less what is put aside: space for tensors, and the small weights that tasks share, which
 * then lie everywhere. */
static void lend_memory(const search *s, weft_piece *x, double aside_bytes)
{
    int *n_readers = WEFT_NEW(s->a, int, x->n_weights);
    int *at = WEFT_NEW(s->a, int, x->n_tasks + 1), n = 0;
    int *weight = WEFT_NEW(s->a, int, x->weight_at[x->n_tasks]);
    double *room_bytes =
        weft_arena_copy(s->a, x->room_bytes, sizeof *room_bytes * (size_t)x->n_devices);
    double least = INFINITY;

    for (int d = 0; d < x->n_devices; d++)
        least = fmin(least, room_bytes[d]);
    for (int i = 0; i < x->weight_at[x->n_tasks]; i++)
        n_readers[x->weight[i]]++;
    for (int w = 0; w < x->n_weights; w++) {
        if (n_readers[w] > 1 && x->weight_bytes[w] <= SMALL_WEIGHT * least)
            aside_bytes += x->weight_bytes[w];
    }
    for (int u = 0; u < x->n_tasks; u++) {
        for (int i = x->weight_at[u]; i < x->weight_at[u + 1]; i++) {
            int w = x->weight[i];

            if (n_readers[w] < 2 || x->weight_bytes[w] > SMALL_WEIGHT * least)
                weight[n++] = w;
        }
        at[u + 1] = n;
    }
    for (int d = 0; d < x->n_devices; d++)
        room_bytes[d] = fmax(0, room_bytes[d] - aside_bytes);
    x->weight_at = at;
    x->weight = weight;
    x->room_bytes = room_bytes;
}

/* Searches a piece whose device d is real[d]; its plans are tried. */
static void search_piece(search *s, const weft_piece *x, const int *real, int beam)
{
    weft_effort e = {.upper = s->best.value,
                     .lower = s->bound,
                     .most_states = s->steps_left < INT64_MAX ? s->steps_left : 0,
                     .most_beam = beam,
                     .run = s->run};
    weft_answer r = weft_piece_solve(x, &e, s->a);
    weft_plan plan = weft_plan_new(s->problem->n_tasks, s->a);

    spend(s, r.n_states);
    for (int u = 0; r.device != NULL && u < plan.n_tasks; u++) {
        plan.device[u] = real[r.device[u]];
        plan.start_s[u] = r.start_s[u];
    }
    if (r.device != NULL)
        weft_best_try(&s->best, s->problem, &plan, s->a);
    if (!(x->n_weights > 0)) /* the reduced problem itself */
        s->bound = fmax(s->bound, fmin(r.bound, s->best.value));
}

static void search_team(search *s, const int *device)
{
    int *team = WEFT_NEW(s->a, int, s->problem->n_devices);
    int n = choose_team(s, device, s->reduced.piece->n_devices - 1, team);
    weft_piece *x = weft_piece_pick(s->whole, team, n, s->a);

    lend_memory(s, x, weft_orbit_live_bytes(s->problem));
    lend_tails(s, x, team);
    x = weft_piece_thin(x, s->a);
    for (int beam = FIRST_BEAM; beam <= LAST_BEAM && !is_over(s); beam *= BEAM_STEP)
        search_piece(s, x, team, beam);
}

/* --- the solver ------------------------------------------------------------------------------ */

static void search_plans(search *s)
{
    int *device = WEFT_NEW(s->a, int, s->problem->n_tasks);

    if (!s->reduced.is_memory_aside) {
        for (int beam = FIRST_BEAM; beam <= LAST_BEAM && !is_over(s); beam *= BEAM_STEP)
            search_piece(s, s->reduced.piece, s->reduced.device, beam);
    } else if (try_chain(s, true, device) || try_chain(s, false, device)) {
        search_team(s, device);
    }
}

static weft_status solve(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                         weft_proof *proof)
{
    search s = {.problem = p,
                .domain = weft_domain_new(p, run->scratch),
                .run = run,
                .a = run->scratch,
                .best = weft_best_new(p, run->scratch),
                .steps_left = run->steps > 0 ? run->steps : INT64_MAX};

    (void)options;
    proof->outcome = s.domain.is_empty ? WEFT_INFEASIBLE : WEFT_UNKNOWN;
    if (s.domain.is_empty || !weft_is_schedule(p) || p->n_devices > WEFT_PIECE_DEVICES)
        return WEFT_OK;
    s.whole = weft_piece_of(&s.domain, s.a);
    if (s.whole->group != NULL)
        return WEFT_OK;
    s.orbits = weft_orbits_of(&s.domain, s.a);
    set_reduced(&s);
    set_tails(&s);
    search_plans(&s);
    proof->bound = fmin(s.bound, s.best.value);
    proof->method = "orbit";
    if (s.best.value < INFINITY) {
        weft_best_copy(&s.best, plan);
        proof->outcome = WEFT_BOUNDED;
    }
    return WEFT_OK;
}

const weft_solver weft_place_orbit = {
    .name = "orbit",
    .summary = "large networks on many equal devices: chains and teams of devices",
    .solve = solve,
    .applies = weft_is_schedule,
};
