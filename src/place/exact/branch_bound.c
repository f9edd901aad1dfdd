/* SPDX-License-Identifier: MIT */
/* branch_bound.c: every plan, depth first, less those that a bound excludes.
 *
 * 1. The best plan of the list schedulers is the value to beat; paths and loads give a bound. If
 *    they meet, that is all.
 * 2. A node is a partial schedule. It is continued by each (ready task, device) that the domain,
 *    colocation and the room for weights allow; the task starts as soon as its data is there and
 *    the device is free. Starts must not decrease; of equal starts, tasks without length come
 *    first, then the lower number. Of devices that cannot be told apart and are empty only the
 *    first is tried (overlap only).
 * 3. A node is left if it cannot beat the best value:
 *      path: heads of all open tasks from what is placed (no earlier than the last start, nor than
 *            the device is free), then the largest over tasks of the least over devices of
 *            head + time + tail;
 *      load: the least X with  sum over d of price[d] * max(0, X - free[d])  no less than the sum
 *            over open tasks of the least price * time. Prices are those of the load bound.
 * 4. A complete schedule is simulated. It counts if it is legal, memory over time included, and
 *    better than the best.
 *
 * Exact for latency under overlap, contend and block, with memory. Proof: a plan is a device for
 * each task and an order for each device. Started as early as possible under overlap, and sorted by
 * (start, length > 0, number), its tasks are placed by step 2 one after the other exactly so: of
 * two tasks of equal start neither waits for one that has a length, and those without length do
 * not wait for each other (lower.c). So every plan is reached or excluded. Values under contend and
 * block are no less than under overlap, so step 3 excludes nothing better; legality is the
 * simulator's. Bounds in step 3 are relaxations as in bound_path.c and bound_load.c. A node must
 * beat the best by 1e-12 of it, which covers the rounding of sums.
 *
 * Switches are left out but where they are sure (subproblem.c), which is a relaxation; the simulator
 * adds them. Where a switch gives a length to a task that has none, plans that differ in the order of
 * such tasks are one here: the bound is then the least that this search knows of any of them.
 *
 * If the search ends by itself, the value is the bound. If it is stopped, the bound is the larger
 * of the first one and the least among the branches that were left open. A step is a node. Without
 * any limit in the run a fixed amount of work is done, so the answer depends on nothing else.
 *
 * Time exponential in the tasks: a node takes O(edges * devices^2). Reaches about 20 tasks on 3
 * devices in a second if several can run side by side, more if the network is narrow. */
#include "first.h"
#include "same.h"
#include "symmetry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SLACK = 1e-12;    /* what a better plan must save, relative */
static const double MOST_WORK = 1e8;  /* pairs of devices looked at, if the run has no limit */
static const double MOST_TABLE = 4e6; /* edges * devices^2: beyond there is no search */
enum { NODES_A_LOOK = 64 };           /* nodes between two looks at the clock */
enum { SIMULATION_WORK = 50 };        /* of a task or tensor, in units of MOST_WORK */

/* A task on a device that may come next. */
typedef struct branch {
    int task, device;
    double start_s, score; /* score: start + time + tail */
} branch;

typedef struct search {
    const weft_problem *p;
    weft_domain domain;
    weft_run *run;
    weft_arena *a;
    weft_best *best;
    double grain_s;           /* values are multiples of it; 0: of nothing */
    const weft_subproblem *x; /* its edge i is pred[i] of the problem */
    double *tail_s;           /* [task][device] */
    const double *price;      /* [n_devices] or NULL */
    double *least_load;       /* [n_tasks] least price * time */
    const int *twin;          /* [n_devices] the first device that is the same */
    /* the partial schedule */
    int n_done, last; /* last: task placed last, or -1 */
    int *device;      /* [n_tasks] or -1 */
    double *end_s;
    double *position;        /* [n_tasks] place in the sequence */
    int *waits;              /* [n_tasks] predecessors not placed */
    double last_s;           /* start of `last` */
    double *free_s, *long_s; /* [n_devices] end of its tasks; of those with length */
    int *n_on;               /* [n_devices] tasks there */
    int *home;               /* [n_groups] device or -1 */
    int *n_held;             /* [device][tensor] groups there that hold the weight */
    double *held_bytes;      /* [n_devices] */
    double open_load;        /* sum of least_load of the open tasks */
    double *ready_s;         /* [task][device] ends of open tasks at the node at hand: bounds */
    /* effort */
    int64_t n_nodes, most_nodes;
    double work, most_work;
    bool is_over;
    bool is_coarse;     /* orders that are one here may differ for the simulator */
    double first_bound; /* before the search */
    double open_bound;  /* least bound of the branches left open */
} search;

static size_t cell(const search *s, int row, int d)
{
    return (size_t)row * (size_t)s->p->n_devices + (size_t)d;
}

static bool is_open_to(const search *s, int u, int d)
{
    int home = s->home[s->domain.group[u]];

    return home >= 0 ? home == d : weft_domain_has(&s->domain, u, d);
}

/* --- tables ---------------------------------------------------------------------------------- */

static void fill_loads(search *s)
{
    const weft_problem *p = s->p;

    s->least_load = WEFT_NEW(s->a, double, p->n_tasks);
    for (int u = 0; u < p->n_tasks; u++) {
        double least = INFINITY;

        for (int d = 0; d < p->n_devices && s->price != NULL; d++) {
            if (weft_domain_has(&s->domain, u, d))
                least = fmin(least, s->price[d] * weft_task_s(p, u, d));
        }
        s->least_load[u] = s->price != NULL ? least : 0;
        s->open_load += s->least_load[u];
    }
}

/* Devices d and e may change names. */
static bool is_twin(const void *context, int d, int e)
{
    const search *s = context;

    return s->p->transfer == WEFT_OVERLAP && !(s->p->constraints.most_period_s > 0) &&
           weft_devices_are_equal(&s->domain, d, e);
}

static void new_schedule(search *s)
{
    const weft_problem *p = s->p;

    s->last = -1;
    s->device = WEFT_NEW(s->a, int, p->n_tasks);
    s->end_s = WEFT_NEW(s->a, double, p->n_tasks);
    s->position = WEFT_NEW(s->a, double, p->n_tasks);
    s->waits = WEFT_NEW(s->a, int, p->n_tasks);
    s->free_s = WEFT_NEW(s->a, double, p->n_devices);
    s->long_s = WEFT_NEW(s->a, double, p->n_devices);
    s->n_on = WEFT_NEW(s->a, int, p->n_devices);
    s->home = WEFT_NEW(s->a, int, s->domain.n_groups);
    s->n_held = WEFT_NEW(s->a, int, (size_t)p->n_devices *(size_t)p->n_tensors);
    s->held_bytes = WEFT_NEW(s->a, double, p->n_devices);
    s->ready_s = WEFT_NEW(s->a, double, cell(s, p->n_tasks, 0));
    for (int u = 0; u < p->n_tasks; u++) {
        s->device[u] = -1;
        s->waits[u] = p->pred_at[u + 1] - p->pred_at[u];
    }
    for (int g = 0; g < s->domain.n_groups; g++)
        s->home[g] = -1;
}

/* --- bounds of a node ------------------------------------------------------------------------ */

/* When the data of u can be on d: from where its producers are, or from the device that suits an
 * open one best. */
static double data_s(const search *s, int u, int d)
{
    double at_s = s->x->release_s[cell(s, u, d)];

    for (int edge = s->p->pred_at[u]; edge < s->p->pred_at[u + 1]; edge++) {
        int v = s->p->pred[edge];
        double come_s = INFINITY;

        if (s->device[v] >= 0) {
            come_s = s->end_s[v] + weft_edge_s(s->x, edge, s->device[v], d);
        } else {
            for (int e = 0; e < s->p->n_devices; e++)
                come_s = fmin(come_s, s->ready_s[cell(s, v, e)] + weft_edge_s(s->x, edge, e, d));
        }
        at_s = fmax(at_s, come_s);
    }
    return at_s;
}

/* When device d can take u: tasks without length do not wait for each other. */
static double device_s(const search *s, int u, int d)
{
    return weft_task_s(s->p, u, d) > 0 ? s->free_s[d] : s->long_s[d];
}

/* Fills the ends of u on all devices; returns the least that the whole takes then. */
static double bound_task(search *s, int u)
{
    double least_s = INFINITY;

    for (int d = 0; d < s->p->n_devices; d++) {
        size_t at = cell(s, u, d);

        s->ready_s[at] = INFINITY;
        if (!is_open_to(s, u, d))
            continue;
        s->ready_s[at] =
            fmax(fmax(data_s(s, u, d), device_s(s, u, d)), s->last_s) + weft_task_s(s->p, u, d);
        least_s = fmin(least_s, s->ready_s[at] + s->tail_s[at]);
    }
    s->work +=
        (double)(1 + s->p->pred_at[u + 1] - s->p->pred_at[u]) * s->p->n_devices * s->p->n_devices;
    return least_s;
}

/* The least X of step 3. Between two free times in order, the sum grows with the prices below. */
static double bound_load(const search *s)
{
    double x = 0, price = 0, spent = 0;
    bool is_higher = true;

    if (s->price == NULL)
        return 0;
    while (is_higher) { /* each round takes at least one more device in, so it ends */
        double next = INFINITY;

        price = spent = 0;
        is_higher = false;
        for (int d = 0; d < s->p->n_devices; d++) {
            if (s->long_s[d] <= x) {
                price += s->price[d];
                spent += s->price[d] * s->long_s[d];
            } else {
                next = fmin(next, s->long_s[d]);
            }
        }
        if (next < INFINITY && (!(price > 0) || (s->open_load + spent) / price > next)) {
            x = next;
            is_higher = true;
        }
    }
    return price > 0 ? (s->open_load + spent) / price : 0;
}

static bool is_beaten(const search *s, double bound)
{
    return weft_grain_up(s->grain_s, bound) >= s->best->value * (1 - SLACK);
}

/* A bound of all that the node leads to, or any value that is beaten. */
static double bound_node(search *s, double known)
{
    double bound = fmax(known, bound_load(s));

    for (int u = 0; u < s->p->n_tasks && !is_beaten(s, bound); u++) {
        if (s->device[u] < 0)
            bound = fmax(bound, bound_task(s, u));
    }
    return bound;
}

/* --- branches -------------------------------------------------------------------------------- */

/* Rounding must not exclude what the simulator would accept, so a little more is let through. */
static bool has_room(const search *s, int u, int d)
{
    const weft_domain *m = &s->domain;
    int g = m->group[u];
    double bytes = s->held_bytes[d];

    if (s->home[g] >= 0)
        return true;
    for (int i = m->weight_at[g]; i < m->weight_at[g + 1]; i++) {
        if (s->n_held[(size_t)d * (size_t)s->p->n_tensors + (size_t)m->weight[i]] == 0)
            bytes += s->p->memory[m->weight[i]];
    }
    return weft_fits(bytes, s->p->capacity[d]);
}

/* The sequence rule of step 2 for tasks of equal start. */
static bool is_in_turn(const search *s, int u, int d, double start_s)
{
    bool is_long, is_last_long;

    if (s->last < 0 || start_s > s->last_s)
        return true;
    is_long = weft_task_s(s->p, u, d) > 0;
    is_last_long = weft_task_s(s->p, s->last, s->device[s->last]) > 0;
    return start_s == s->last_s && (is_long != is_last_long ? is_long : u > s->last);
}

static bool has_empty_twin(const search *s, int d)
{
    if (s->n_on[d] > 0)
        return false;
    for (int e = s->twin[d]; e < d; e++) {
        if (s->twin[e] == s->twin[d] && s->n_on[e] == 0)
            return true;
    }
    return false;
}

static int by_score(const void *left, const void *right)
{
    const branch *a = left, *b = right;

    if (a->score != b->score)
        return a->score < b->score ? -1 : 1;
    if (a->start_s != b->start_s)
        return a->start_s < b->start_s ? -1 : 1;
    if (a->task != b->task)
        return a->task < b->task ? -1 : 1;
    return (a->device > b->device) - (a->device < b->device);
}

static int list_branches_of(const search *s, int u, branch *to)
{
    int n = 0;

    for (int d = 0; d < s->p->n_devices; d++) {
        double start_s;

        if (!is_open_to(s, u, d) || !has_room(s, u, d) || has_empty_twin(s, d))
            continue;
        start_s = fmax(data_s(s, u, d), device_s(s, u, d));
        if (start_s < INFINITY && is_in_turn(s, u, d, start_s))
            to[n++] = (branch){u, d, start_s,
                               start_s + weft_task_s(s->p, u, d) + s->tail_s[cell(s, u, d)]};
    }
    return n;
}

/* All branches of the node, best first; the array belongs to the arena. */
static branch *list_branches(search *s, int *n)
{
    int n_ready = 0;
    branch *list;

    for (int u = 0; u < s->p->n_tasks; u++)
        n_ready += s->device[u] < 0 && s->waits[u] == 0;
    list = WEFT_NEW(s->a, branch, cell(s, n_ready, 0));
    *n = 0;
    for (int u = 0; u < s->p->n_tasks; u++) {
        if (s->device[u] < 0 && s->waits[u] == 0)
            *n += list_branches_of(s, u, list + *n);
    }
    s->work += (double)s->p->n_tasks + 4.0 * *n;
    qsort(list, (size_t)*n, sizeof *list, by_score);
    return list;
}

/* What a step changes, to take it back. */
typedef struct undo {
    double free_s, long_s, held_bytes, open_load, last_s;
    int last, home;
} undo;

/* Adds (or with -1 removes) the weights of a group; returns the bytes that are new. */
static double count_weights(search *s, int g, int d, int change)
{
    const weft_domain *m = &s->domain;
    double bytes = 0;

    for (int i = m->weight_at[g]; i < m->weight_at[g + 1]; i++) {
        int *n_held = &s->n_held[(size_t)d * (size_t)s->p->n_tensors + (size_t)m->weight[i]];

        bytes += *n_held == 0 ? s->p->memory[m->weight[i]] : 0;
        *n_held += change;
    }
    return bytes;
}

static undo put(search *s, const branch *b)
{
    int u = b->task, d = b->device, g = s->domain.group[u];
    undo before = {s->free_s[d], s->long_s[d], s->held_bytes[d], s->open_load,
                   s->last_s,    s->last,      s->home[g]};

    s->device[u] = d;
    s->end_s[u] = weft_end_s(b->start_s, weft_task_s(s->p, u, d));
    s->position[u] = s->n_done++;
    s->free_s[d] = fmax(s->free_s[d], s->end_s[u]);
    if (s->end_s[u] > b->start_s)
        s->long_s[d] = s->end_s[u];
    if (s->home[g] < 0)
        s->held_bytes[d] += count_weights(s, g, d, 1);
    s->home[g] = d;
    s->n_on[d]++;
    s->open_load -= s->least_load[u];
    s->last = u;
    s->last_s = b->start_s;
    for (int i = s->p->succ_at[u]; i < s->p->succ_at[u + 1]; i++)
        s->waits[s->p->succ[i]]--;
    return before;
}

static void take_back(search *s, const branch *b, const undo *before)
{
    int u = b->task, d = b->device, g = s->domain.group[u];

    for (int i = s->p->succ_at[u]; i < s->p->succ_at[u + 1]; i++)
        s->waits[s->p->succ[i]]++;
    if (before->home < 0)
        count_weights(s, g, d, -1);
    s->n_on[d]--;
    s->n_done--;
    s->device[u] = -1;
    s->home[g] = before->home;
    s->free_s[d] = before->free_s;
    s->long_s[d] = before->long_s;
    s->held_bytes[d] = before->held_bytes;
    s->open_load = before->open_load;
    s->last = before->last;
    s->last_s = before->last_s;
}

/* --- the search ------------------------------------------------------------------------------ */

static bool is_time_over(search *s)
{
    if (s->is_over)
        return true;
    s->is_over = s->n_nodes >= s->most_nodes || s->work >= s->most_work;
    if (!s->is_over && s->n_nodes % NODES_A_LOOK == 0)
        s->is_over = weft_run_is_over(s->run);
    return s->is_over;
}

static void finish_schedule(search *s)
{
    size_t n = (size_t)s->p->n_tasks, mark = weft_arena_mark(s->a);
    weft_plan plan = weft_plan_new(s->p->n_tasks, s->a);
    double before = s->best->value;

    memcpy(plan.device, s->device, n * sizeof *plan.device);
    memcpy(plan.start_s, s->position, n * sizeof *plan.start_s);
    weft_best_try(s->best, s->p, &plan, s->a);
    s->work += SIMULATION_WORK * (1.0 + s->p->n_tasks + s->p->n_tensors);
    if (s->best->value < before && s->run->progress != NULL)
        s->run->progress(s->run->context, s->best->value, s->first_bound);
    weft_arena_rewind(s->a, mark);
}

/* `bound` holds for everything below this node. */
static void explore(search *s, double bound)
{
    size_t mark = weft_arena_mark(s->a);
    branch *list;
    int n;

    if (is_time_over(s)) {
        s->open_bound = fmin(s->open_bound, bound);
        return;
    }
    s->n_nodes++;
    if (s->n_done == s->p->n_tasks) {
        finish_schedule(s);
        if (s->is_coarse)
            s->open_bound = fmin(s->open_bound, bound);
        return;
    }
    bound = bound_node(s, bound);
    if (is_beaten(s, bound))
        return;
    list = list_branches(s, &n);
    for (int i = 0; i < n && !is_beaten(s, list[i].score); i++) {
        undo before;

        if (s->is_over) { /* the rest is no better than this one */
            s->open_bound = fmin(s->open_bound, fmax(bound, list[i].score));
            break;
        }
        before = put(s, &list[i]);
        explore(s, fmax(bound, list[i].score));
        take_back(s, &list[i], &before);
    }
    weft_arena_rewind(s->a, mark);
}

static void set_limits(search *s)
{
    bool is_limited = s->run->steps > 0 || s->run->limit_s < INFINITY;

    s->most_nodes = s->run->steps > 0 ? s->run->steps : INT64_MAX;
    s->most_work = is_limited ? INFINITY : MOST_WORK;
    s->open_bound = INFINITY;
}

/* The bound of the proof becomes that of the search, if it is larger. */
static void raise_bound(weft_proof *proof, double bound)
{
    if (!(bound > proof->bound))
        return;
    proof->certified = proof->bound;
    proof->bound = bound;
    proof->method = "search";
}

/* Tasks without seconds of their own that a switch may give a length: their order matters then. */
static bool has_hidden_length(const weft_problem *p)
{
    for (int i = 0; p->switch_s != NULL && i < p->n_tasks * p->n_devices; i++)
        if (!(p->seconds[i] > 0) && p->switch_s[i % p->n_devices] > 0)
            return true;
    return false;
}

static void run_search(search *s, weft_proof *proof)
{
    s->x = weft_subproblem_of(&s->domain, s->a);
    s->tail_s = weft_subproblem_tails(s->x, s->a);
    fill_loads(s);
    s->twin = weft_first_same(s->p->n_devices, is_twin, s, s->a);
    new_schedule(s);
    set_limits(s);
    s->first_bound = proof->bound;
    s->is_coarse = has_hidden_length(s->p);
    explore(s, s->first_bound);
    if (s->is_over || s->open_bound < INFINITY)
        raise_bound(proof, fmin(s->open_bound, s->best->value));
    else if (s->best->value < INFINITY)
        raise_bound(proof, s->best->value);
    else
        proof->outcome = WEFT_INFEASIBLE;
}

/* Is the simulator's value no less than the value under overlap, for every plan? */
static bool is_searchable(const weft_problem *p)
{
    double table = (double)p->pred_at[p->n_tasks] * p->n_devices * p->n_devices;
    bool is_known =
        p->transfer == WEFT_OVERLAP || p->transfer == WEFT_CONTEND || p->transfer == WEFT_BLOCK;

    return p->constraints.goal == WEFT_LATENCY && !p->constraints.is_calls && is_known &&
           table <= MOST_TABLE;
}

static weft_status solve(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                         weft_proof *proof)
{
    weft_best best = weft_best_new(p, run->scratch);
    search s = {
        .p = p, .run = run, .a = run->scratch, .best = &best, .grain_s = weft_problem_grain_s(p)};
    weft_proof load = {.outcome = WEFT_UNKNOWN};

    (void)options;
    weft_place_bound(p, run->scratch, proof);
    if (proof->outcome == WEFT_INFEASIBLE)
        return WEFT_OK;
    WEFT_TRY(weft_best_first(&best, p, run));
    s.domain = weft_domain_new(p, run->scratch);
    weft_load_bound(&s.domain, run->scratch, &load);
    s.price = load.price;
    if (is_searchable(p) && !is_beaten(&s, proof->bound))
        run_search(&s, proof);
    weft_best_answer(&best, plan, proof);
    return WEFT_OK;
}

static bool applies(const weft_problem *p)
{
    return p->transfer != WEFT_CALLS;
}

const weft_solver weft_place_branch_bound = {
    .name = "branch-bound",
    .summary = "branch and bound over all plans; proves small problems",
    .solve = solve,
    .applies = applies,
    .searches = (const weft_search_method[]){{"search", WEFT_FOR_LATENCY}, {0}},
};
