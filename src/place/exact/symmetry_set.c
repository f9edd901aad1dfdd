/* SPDX-License-Identifier: MIT */
/* symmetry_device_set.c: solver `symmetry`: large networks on many equal devices.
 *
 * 1. Equal devices are reduced to as many as can be of use at once (symmetry.c); memory is left out.
 *    The parts between barriers of that problem give a bound, and tails (series.c).
 * 2. If memory limits the whole, the best chain of devices (symmetry_chain.c) is a plan: first with
 *    room left for tensors on every device, then without. It is found in a hurry first, and with
 *    care if step 4 has nothing better.
 * 3. The device set: the devices of the chain, and for each class of twins among them as many more as are
 *    of use side by side. The problem on the device set alone, with its memory and with the tails of
 *    step 1, is searched (exact.c) in narrow beams. If memory does not limit, the reduced problem
 *    itself is searched.
 * 4. Rotation: a schedule of the reduced problem without memory limits, in which a device stands
 *    for another one of its kind when it is full, from a barrier on where little has to be sent.
 * 5. The simulator judges all plans. The bound is that of step 1, that of bytes with prices
 *    (bound_memory.c), or that of a way that must change devices (bound_device_chain.c).
 *
 * Guarantee: the bound holds for every plan, since step 1 is a relaxation (symmetry.c). The plan is
 * proved optimal where it meets the bound; transfers that hide behind computation cost nothing, so
 * this happens even if weights are spread over many devices. In a device set, small weights that several
 * tasks share are put on every device: plans of it are legal, but its searches prove nothing. */
#include "bound.h"
#include "cover.h"
#include "first.h"
#include "series.h"
#include "symmetry.h"

#include <math.h>
#include <string.h>

enum {
    PART_STATES = 4000,
    MOST_DEVICE_SET_TASKS = 400,
    MOST_DEVICE_SET = 16, /* devices of a device set, unless the chain itself has more */
    FIRST_BEAM = 64,
    LAST_BEAM = 512,
    BEAM_STEP = 8,
    LABELS_A_STEP = 32,    /* they cost so much less than a step of search */
    FEW_LABELS = 64,       /* of the first chain: a plan in a moment */
    MOST_SIDE_BY_SIDE = 4, /* of a kind, in the schedule that is rotated */
    LOOK_BACK = 200,       /* tasks before a device is full, where it may move on instead */
};

static const double SMALL_WEIGHT = 1e-3; /* of the least room in a device set */
static const double CLOSED = 1e-10;

typedef struct search {
    const weft_problem *problem;
    weft_domain domain;
    weft_symmetry symmetries;
    const weft_subproblem *whole;
    weft_reduced reduced;
    weft_run *run;
    weft_arena *a;
    weft_best best;
    weft_proved proved;
    int64_t steps_left; /* INT64_MAX: no limit */
} search;

static void take_bound(search *s, double found_s)
{
    weft_proved_take(&s->proved, found_s, s->best.value);
}

static bool is_over(const search *s)
{
    return s->proved.is_impossible || s->proved.bound >= s->best.value * (1 - CLOSED) ||
           s->steps_left <= 0 || weft_run_is_over(s->run);
}

static void spend(search *s, int64_t steps)
{
    if (s->steps_left < INT64_MAX)
        s->steps_left -= steps + 1;
}

/* --- step 1 ---------------------------------------------------------------------------------- */

static void set_reduced(search *s)
{
    int n = s->problem->n_devices;

    s->reduced = weft_subproblem_reduce(s->whole, s->a);
    if (s->reduced.subproblem != NULL)
        return;
    s->reduced.subproblem = weft_subproblem_thin(s->whole, s->a);
    s->reduced.subproblem->n_weights = 0;
    s->reduced.is_exact = true;
    s->reduced.is_memory_aside = s->whole->n_weights > 0;
    s->reduced.device = WEFT_NEW(s->a, int, n);
    s->reduced.kind = WEFT_NEW(s->a, int, n);
    for (int d = 0; d < n; d++) {
        s->reduced.device[d] = d;
        s->reduced.kind[d] =
            s->symmetries.member[s->symmetries.member_at[s->symmetries.kind_at[d]]];
    }
}

static void set_tails(search *s)
{
    weft_series_effort e = {s->proved.bound, PART_STATES, s->steps_left, s->run};
    weft_series r = weft_series_tails(s->reduced.subproblem, &e, s->a);

    spend(s, r.n_states);
    take_bound(s, r.bound);
    s->reduced.subproblem->tail_s = r.tail_s;
}

/* --- step 2 ---------------------------------------------------------------------------------- */

/* Room for weights on each device; with is_roomy, space for tensors is left. */
static double *rooms(const search *s, bool is_roomy)
{
    double *room_bytes = WEFT_NEW(s->a, double, s->problem->n_devices);
    double live_bytes = is_roomy ? weft_symmetry_live_bytes(s->problem) : 0;

    for (int d = 0; d < s->problem->n_devices; d++)
        room_bytes[d] = fmax(0, s->problem->capacity[d] - live_bytes);
    return room_bytes;
}

/* The chain as a plan; false if there is none. With is_roomy, space for tensors is left. */
static bool try_chain(search *s, bool is_roomy, int most_labels, int *device)
{
    const weft_problem *p = s->problem;
    const double *room_bytes = rooms(s, is_roomy);
    bool is_limited = s->steps_left < INT64_MAX && most_labels == 0; /* few labels: at any cost */
    weft_effort e = {.upper = INFINITY,
                     .most_states = is_limited ? s->steps_left : 0,
                     .most_beam = most_labels,
                     .run = s->run};
    weft_chain_plan chain;
    weft_plan plan = weft_plan_new(p->n_tasks, s->a);

    chain = weft_symmetry_chain(&s->domain, &s->symmetries, room_bytes, &e, s->a);
    spend(s, chain.n_states / LABELS_A_STEP);
    if (!(chain.value < INFINITY))
        return false;
    memcpy(device, chain.device, sizeof *device * (size_t)p->n_tasks);
    for (int u = 0; u < p->n_tasks; u++) {
        plan.device[u] = device[u];
        plan.start_s[u] = u;
    }
    return weft_best_try(&s->best, p, &plan, s->a) < INFINITY;
}

/* A plan from the bound of device chains (bound_device_chain.c), with room for tensors left on every
 * device. */
static void try_device_chain(search *s, const weft_tails *tails)
{
    const weft_problem *p = s->problem;
    weft_plan plan = weft_plan_new(p->n_tasks, s->a);

    if (weft_device_chain_plan(s->whole, tails, rooms(s, true), s->a, &plan))
        weft_best_try(&s->best, p, &plan, s->a);
}

/* --- step 3 ---------------------------------------------------------------------------------- */

/* Devices that `device` uses, then twins of theirs; at most `extra` more of each class. */
static int choose_device_set(const search *s, const int *device, int extra, int *device_set)
{
    const weft_symmetry *o = &s->symmetries;
    uint64_t is_in = 0, classes = 0;
    int n = 0;

    for (int u = 0; u < s->problem->n_tasks; u++) {
        if (!(is_in >> device[u] & 1))
            device_set[n++] = device[u];
        is_in |= (uint64_t)1 << device[u];
        classes |= (uint64_t)1 << o->kind_at[device[u]];
    }
    for (int c = 0; c < o->n_classes; c++) {
        int n_more = classes >> c & 1 ? extra : 0;

        for (int i = o->member_at[c]; i < o->member_at[c + 1] && n_more > 0 && n < MOST_DEVICE_SET;
             i++) {
            if (is_in >> o->member[i] & 1)
                continue;
            device_set[n++] = o->member[i];
            n_more--;
        }
    }
    return n;
}

/* Tails of the reduced subproblem, by kind. */
static void lend_tails(const search *s, weft_subproblem *x, const int *device_set)
{
    const weft_subproblem *y = s->reduced.subproblem;
    double *tail_s = WEFT_NEW(s->a, double, (size_t)x->n_tasks *(size_t)x->n_devices);

    for (int u = 0; u < x->n_tasks; u++) {
        for (int d = 0; d < x->n_devices; d++)
            tail_s[u * x->n_devices + d] =
                y->tail_s[u * y->n_devices + s->reduced.kind[device_set[d]]];
    }
    x->tail_s = tail_s;
}

/* Room less what is put aside: space for tensors, and the small weights that tasks share, which
 * then lie everywhere. */
static void lend_memory(const search *s, weft_subproblem *x, double aside_bytes)
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

/* Searches a subproblem whose device d is real[d]; its plans are tried. */
static void search_subproblem(search *s, const weft_subproblem *x, const int *real, int beam)
{
    weft_effort e = {.upper = s->best.value,
                     .lower = s->proved.bound,
                     .most_states = s->steps_left < INT64_MAX ? s->steps_left : 0,
                     .most_beam = beam,
                     .run = s->run};
    weft_answer r = weft_subproblem_solve(x, &e, s->a);
    weft_plan plan = weft_plan_new(s->problem->n_tasks, s->a);

    spend(s, r.n_states);
    for (int u = 0; r.device != NULL && u < plan.n_tasks; u++) {
        plan.device[u] = real[r.device[u]];
        plan.start_s[u] = r.start_s[u];
    }
    if (r.device != NULL)
        weft_best_try(&s->best, s->problem, &plan, s->a);
    if (!(x->n_weights > 0)) /* the reduced problem itself */
        take_bound(s, r.bound);
}

static void search_device_set(search *s, const int *device)
{
    int *device_set = WEFT_NEW(s->a, int, s->problem->n_devices);
    int n = choose_device_set(s, device, s->reduced.subproblem->n_devices - 1, device_set);
    weft_subproblem *x = weft_subproblem_pick(s->whole, device_set, n, s->a);

    lend_memory(s, x, weft_symmetry_live_bytes(s->problem));
    lend_tails(s, x, device_set);
    x = weft_subproblem_thin(x, s->a);
    for (int beam = FIRST_BEAM; beam <= LAST_BEAM && !is_over(s); beam *= BEAM_STEP)
        search_subproblem(s, x, device_set, beam);
}

/* --- rotation -------------------------------------------------------------------------------- */

/* A schedule of the reduced problem whose devices stand for others as they fill up. */
typedef struct rotation {
    const search *s;
    const weft_answer *answer;
    int n_real, *real;      /* devices of the schedule: what they stand for now */
    double *room_bytes;     /* [devices] left */
    bool *is_held;          /* [weight * devices + device] */
    const bool *is_barrier; /* [n_tasks] */
    const double *cross_s;  /* [n_tasks] to move on behind a barrier */
    int *device;            /* [n_tasks] the plan */
    int n_stuck;            /* moves in a row behind the same barrier */
} rotation;

static double new_bytes(const rotation *r, int u, int d)
{
    const weft_subproblem *x = r->s->whole;
    double bytes = 0;

    for (int i = x->weight_at[u]; i < x->weight_at[u + 1]; i++) {
        if (!r->is_held[x->weight[i] * x->n_devices + d])
            bytes += x->weight_bytes[x->weight[i]];
    }
    return bytes;
}

/* Puts tasks begin .. end - 1 on what their devices stand for. */
static void put_tasks(rotation *r, int begin, int end)
{
    const weft_subproblem *x = r->s->whole;

    for (int u = begin; u < end; u++) {
        int d = r->real[r->answer->device[u]];

        r->device[u] = d;
        r->room_bytes[d] -= new_bytes(r, u, d);
        for (int i = x->weight_at[u]; i < x->weight_at[u + 1]; i++)
            r->is_held[x->weight[i] * x->n_devices + d] = true;
    }
}

/* The reduced device that is too full for tasks begin .. end - 1; -1: none. */
static int find_full(const rotation *r, int begin, int end)
{
    for (int i = 0; i < r->n_real; i++) {
        double bytes = 0;

        for (int u = begin; u < end; u++)
            bytes += r->answer->device[u] == i ? new_bytes(r, u, r->real[i]) : 0;
        if (bytes > r->room_bytes[r->real[i]])
            return i;
    }
    return -1;
}

/* Lets device i of the schedule stand for the device of its kind with the most room: a near one on
 * a tie, and one that nobody stands for if that has more room than now; else two change places.
 * False if there is none with more room. */
static bool move_on(rotation *r, int i)
{
    const search *s = r->s;
    const int *class = s->symmetries.kind_at;
    bool is_taken[WEFT_SUBPROBLEM_DEVICES] = {false};
    int best, old = r->real[i];

    for (int j = 0; j < r->n_real; j++)
        is_taken[r->real[j]] = true;
    best = old;
    for (int with_taken = 0; with_taken < 2 && best == old; with_taken++) {
        for (int d = 0; d < s->problem->n_devices; d++) {
            bool is_nearer = class[d] == class[old] && class[best] != class[old];

            if (s->reduced.kind[d] == s->reduced.kind[old] && is_taken[d] == (with_taken == 1) &&
                (r->room_bytes[d] > r->room_bytes[best] ||
                 (r->room_bytes[d] == r->room_bytes[best] && is_nearer)))
                best = d;
        }
    }
    for (int j = 0; j < r->n_real; j++) {
        if (r->real[j] == best)
            r->real[j] = old;
    }
    r->real[i] = best;
    return best != old;
}

/* Stretches between barriers, one after the other; where one does not fit, the device moves on
 * behind the last barrier, or behind a cheaper one shortly before. False if memory does not
 * suffice. */
static bool rotate(rotation *r)
{
    const weft_subproblem *x = r->s->whole;
    size_t n_held = (size_t)x->n_weights * (size_t)x->n_devices;
    bool *is_held = WEFT_NEW(r->s->a, bool, n_held);
    double *room_bytes = WEFT_NEW(r->s->a, double, x->n_devices);
    int mark = 0; /* the cheapest barrier since the last move: what memory looked like then */

    for (int begin = 0, end = 0, last = 0; begin < x->n_tasks; begin = end) {
        int full;

        if (begin == last || mark == 0 || r->cross_s[begin - 1] <= r->cross_s[mark - 1] ||
            begin - mark > LOOK_BACK) {
            mark = begin;
            memcpy(is_held, r->is_held, n_held);
            memcpy(room_bytes, r->room_bytes, sizeof *room_bytes * (size_t)x->n_devices);
        }
        for (end = begin + 1; end < x->n_tasks && !r->is_barrier[end - 1];)
            end++;
        full = find_full(r, begin, end);
        if (full < 0) {
            put_tasks(r, begin, end);
            continue;
        }
        memcpy(r->is_held, is_held, n_held);
        memcpy(r->room_bytes, room_bytes, sizeof *room_bytes * (size_t)x->n_devices);
        if (!move_on(r, full) || (mark == last && ++r->n_stuck > x->n_devices))
            return false;
        r->n_stuck = mark == last ? r->n_stuck : 0;
        end = last = mark;
    }
    return true;
}

/* The least time to send what crosses behind each task, to a device elsewhere. */
static double *cross_times(const search *s)
{
    const weft_subproblem *x = s->reduced.subproblem;
    int n = x->n_devices;
    double *cross_s = WEFT_NEW(s->a, double, x->n_tasks);
    weft_cover *crossing = WEFT_NEW(s->a, weft_cover, x->n_edges);
    int n_crossing = 0;

    for (int e = 0; e < x->n_edges; e++) {
        double least_s = INFINITY;

        for (int i = 0; i < n * n; i++) {
            if (i / n != i % n)
                least_s = fmin(least_s, x->send_s[(size_t)e * (size_t)(n * n) + (size_t)i]);
        }
        if (least_s < INFINITY)
            crossing[n_crossing++] = (weft_cover){x->from[e], x->to[e], least_s};
    }
    weft_cover_raise(crossing, n_crossing, cross_s, x->n_tasks, s->a);
    return cross_s;
}

/* Some devices of each kind of the reduced problem. */
static int choose_few(const search *s, int *few)
{
    int n_kind[WEFT_SUBPROBLEM_DEVICES] = {0}, n = 0;

    for (int i = 0; i < s->reduced.subproblem->n_devices; i++) {
        if (n_kind[s->reduced.kind[s->reduced.device[i]]]++ < MOST_SIDE_BY_SIDE)
            few[n++] = i;
    }
    return n;
}

/* A good schedule without memory limits, on devices that move on. */
static void search_rotation(search *s)
{
    int *few = WEFT_NEW(s->a, int, s->problem->n_devices), n_few = choose_few(s, few);
    const weft_subproblem *x = weft_subproblem_pick(s->reduced.subproblem, few, n_few, s->a),
                          *whole = s->whole;
    weft_effort e = {.upper = INFINITY,
                     .lower = s->proved.bound,
                     .most_states = s->steps_left < INT64_MAX ? s->steps_left : 0,
                     .most_beam = FIRST_BEAM,
                     .run = s->run};
    weft_answer answer = weft_subproblem_solve(x, &e, s->a);
    weft_plan plan = weft_plan_new(x->n_tasks, s->a);
    rotation r = {.s = s, .answer = &answer};

    spend(s, answer.n_states);
    if (answer.device == NULL)
        return;
    r.n_real = n_few;
    r.real = WEFT_NEW(s->a, int, n_few);
    for (int i = 0; i < n_few; i++)
        r.real[i] = s->reduced.device[few[i]];
    r.is_barrier = weft_subproblem_barriers(x, s->a);
    r.cross_s = cross_times(s);
    r.device = plan.device;
    r.is_held = WEFT_NEW(s->a, bool, (size_t)whole->n_weights *(size_t)whole->n_devices);
    r.room_bytes = rooms(s, true);
    memcpy(plan.start_s, answer.start_s, sizeof *plan.start_s * (size_t)x->n_tasks);
    if (rotate(&r))
        weft_best_try(&s->best, s->problem, &plan, s->a);
}

/* --- the solver ------------------------------------------------------------------------------ */

static void search_plans(search *s)
{
    int *device = WEFT_NEW(s->a, int, s->problem->n_tasks);
    weft_tails tails = {s->reduced.subproblem, s->reduced.kind};
    bool has_chain;
    double chain_s;

    if (!s->reduced.is_memory_aside) {
        for (int beam = FIRST_BEAM; beam <= LAST_BEAM && !is_over(s); beam *= BEAM_STEP)
            search_subproblem(s, s->reduced.subproblem, s->reduced.device, beam);
        return;
    }
    take_bound(s, weft_memory_bound(s->whole, s->a));
    if (!is_over(s))
        take_bound(s, weft_device_chain_bound(s->whole, &tails, s->a));
    if (s->proved.is_impossible || is_over(s))
        return;
    has_chain = try_chain(s, true, FEW_LABELS, device) || try_chain(s, false, FEW_LABELS, device);
    chain_s = s->best.value;
    if (!is_over(s))
        try_device_chain(s, &tails);
    if (!is_over(s))
        search_rotation(s);
    if (!is_over(s) && !(s->best.value < chain_s))
        has_chain |= try_chain(s, true, 0, device) || try_chain(s, false, 0, device);
    if (has_chain && !is_over(s) && s->problem->n_tasks <= MOST_DEVICE_SET_TASKS)
        search_device_set(s, device);
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
    if (s.domain.is_empty || !weft_is_schedule(p) || p->n_devices > WEFT_SUBPROBLEM_DEVICES)
        return WEFT_OK;
    WEFT_TRY(weft_best_first(&s.best, p, run));
    s.whole = weft_subproblem_of(&s.domain, s.a);
    if (s.whole->group == NULL) {
        s.symmetries = weft_symmetry_of(&s.domain, s.a);
        set_reduced(&s);
        set_tails(&s);
        if (!s.proved.is_impossible)
            search_plans(&s);
        proof->bound = s.proved.bound;
        proof->method = "symmetry";
        if (s.proved.is_impossible)
            proof->outcome = WEFT_INFEASIBLE;
    }
    weft_best_answer(&s.best, plan, proof);
    return WEFT_OK;
}

const weft_solver weft_place_symmetry = {
    .name = "symmetry",
    .summary = "for large networks on many equal devices: chains and sets of devices",
    .solve = solve,
    .applies = weft_is_schedule,
    .searches = (const weft_search_method[]){{"symmetry", WEFT_FOR_LATENCY}, {0}},
};
