/* SPDX-License-Identifier: MIT */
/* equal.c: the best plan that treats all devices it uses as equal; what planners for identical
 * devices give on a mixed fleet.
 *
 * 1. The devices of some classes become one class, those of the others are left out. A unit takes
 *    the time of the mean speed: N / sum over devices of 1 / seconds; it needs the most bytes of
 *    any class; memory is that of the smallest device. Links stay as they are, islands follow from
 *    them.
 * 2. For these devices the best uniform plan is searched (pipe_solve.c, without device sets).
 * 3. Its decisions, microbatch, cuts, widths, replicas, equal shares, schedule and recomputation,
 *    are put on the real devices in all orders of classes in which every stage has blocks of one
 *    class, in all layouts (at most MOST_ORDERS orders), and along rows of the blocks of all
 *    classes, a stage taking the next blocks whatever their class: uniform plans and rows of the
 *    space (pipe_space.c). Interleaved plans are cut anew, as the space cuts them. The quickest
 *    counts.
 * 4. Blocks of that width may not be there on the real devices: then again with half the width.
 * 5. All sets of classes are tried (of more than MOST_SUBSETS classes: the fastest ones, 1, 2, ..):
 *    who plans for equal devices would leave out those that only slow the others down.
 *
 * With one class it is the search of 2 itself. No guarantee; the bound is the floor. */
#include <math.h>
#include <string.h>

#include "infeasibility.h"
#include "pipe_chunks.h"
#include "pipe_solve.h"
#include "train_plan.h"

enum { MOST_ORDERS = 5000, MOST_SUBSETS = 4, STEPS = 4000000 };

static const char *const over = "the search ended before it found a plan";

/* Which classes are used: bits. */
typedef unsigned class_set;

static bool has(class_set set, int class_id)
{
    return set >> class_id & 1;
}

/* --- equal devices --------------------------------------------------------------------------- */

static weft_platform equal_platform(const weft_train_problem *p, class_set set, weft_arena *a)
{
    const weft_cluster *c = p->cluster;
    weft_platform f = *c->platform;
    weft_device *device = weft_arena_copy(a, f.device, sizeof *device * (size_t)f.n_devices);
    double least_bytes = INFINITY;

    for (int k = 0; k < c->n_classes; k++)
        if (has(set, k))
            least_bytes = fmin(least_bytes, c->classes[k].memory_bytes);
    for (int d = 0; d < f.n_devices; d++)
        if (c->class_of[d] >= 0) {
            device[d].kind = has(set, c->class_of[d]) ? "device" : "unused";
            device[d].memory_bytes = least_bytes;
            if ((set & (set - 1)) != 0) /* servers of several classes are not alike */
                device[d].group = 0;
        }
    f.device = device;
    return f;
}

/* One number of all classes of the set: the time of the mean speed, or the most. */
static double merge(const weft_cluster *c, class_set set, const double *value, bool is_time)
{
    double devices = 0, speed = 0, most = 0;

    for (int k = 0; k < c->n_classes; k++) {
        if (!has(set, k))
            continue;
        devices += c->classes[k].n_devices;
        speed += value[k] > 0 ? c->classes[k].n_devices / value[k] : INFINITY;
        most = fmax(most, value[k]);
    }
    if (!is_time)
        return most;
    return speed < INFINITY ? devices / speed : 0;
}

/* Tables of the real classes that become one. */
typedef struct merger {
    const weft_train_problem *p;
    class_set set;
    const void *const *table;
    int stride;              /* tables of a class */
    int n;                   /* numbers of a unit */
    bool (*is_time)(size_t); /* of a number */
    weft_arena *a;
} merger;

/* Table i of every class as one; NULL: a class does not have it. */
static void *merge_table(const merger *m, int i)
{
    const weft_cluster *c = m->p->cluster;
    size_t n = (size_t)m->p->blocks.n_blocks * (size_t)m->n;
    double *to = WEFT_NEW(m->a, double, n), *value = WEFT_NEW(m->a, double, c->n_classes);

    for (int k = 0; k < c->n_classes; k++)
        if (has(m->set, k) && m->table[(size_t)k * (size_t)m->stride + (size_t)i] == NULL)
            return NULL;
    for (size_t q = 0; q < n; q++) {
        for (int k = 0; k < c->n_classes; k++)
            if (has(m->set, k))
                value[k] = ((const double *)m->table[(size_t)k * (size_t)m->stride + (size_t)i])[q];
        to[q] = merge(c, m->set, value, m->is_time(q % (size_t)m->n));
    }
    return to;
}

enum {
    N_COST = sizeof(weft_block_cost) / sizeof(double),
    N_STATE = sizeof(weft_block_state) / sizeof(double),
};

static bool is_time_of_cost(size_t place)
{
    return place * sizeof(double) < offsetof(weft_block_cost, stash_bytes);
}

static bool is_time_of_state(size_t place)
{
    return place * sizeof(double) == offsetof(weft_block_state, update_s);
}

/* The place of the class of devices that are used. */
static weft_status find_class(const weft_platform *f, int *place, int *n_classes)
{
    weft_cluster *c;

    WEFT_TRY(weft_cluster_new(f, &c));
    *n_classes = c->n_classes;
    *place = 0;
    for (int k = 0; k < c->n_classes; k++)
        if (strcmp(c->classes[k].kind, "device") == 0)
            *place = k;
    weft_cluster_free(c);
    return WEFT_OK;
}

static weft_status equal_training(const weft_train_problem *p, class_set set,
                                  const weft_platform *f, int most_width, weft_arena *a,
                                  weft_train_problem **out)
{
    int n_tables = p->n_widths * p->n_shares, place, n_classes;
    merger costs = {p, set, (const void *const *)p->cost, n_tables, N_COST, is_time_of_cost, a};
    merger states = {p, set, (const void *const *)p->state, n_tables, N_STATE, is_time_of_state, a};
    const weft_block_cost **cost;
    const weft_block_state **state;
    weft_train_problem_spec s = {.name = p->name,
                                 .platform = f,
                                 .blocks = p->blocks,
                                 .constraints = p->constraints,
                                 .n_widths = p->n_widths,
                                 .n_shares = p->n_shares,
                                 .width = p->width,
                                 .share = p->share};

    WEFT_TRY(find_class(f, &place, &n_classes));
    cost = WEFT_NEW(a, const weft_block_cost *, n_classes *n_tables);
    state = WEFT_NEW(a, const weft_block_state *, n_classes *n_tables);
    for (int i = 0; i < n_tables; i++) {
        cost[place * n_tables + i] = merge_table(&costs, i);
        state[place * n_tables + i] = merge_table(&states, i);
    }
    s.cost = cost;
    s.state = state;
    s.constraints.most_width = most_width;
    s.constraints.zeros = 1u << p->constraints.zero;
    s.constraints.sps = 1; /* the tables are what they are */
    return weft_train_problem_make(&s, out);
}

/* --- on the real devices --------------------------------------------------------------------- */

/* A plan for equal devices on its way to real ones. */
typedef struct settling {
    const weft_train_problem *p;
    class_set set;
    const weft_train_plan *equal;
    int d, width; /* replicas and width of every stage */
    weft_train_plan plan, best;
    double best_s;
    int64_t n_tried;
    int *class_of;                /* [n_stages] on the way down */
    int *n_stages;                /* [n_classes] */
    weft_recompute *again;        /* [n_stages] */
    const weft_pipe_costs *costs; /* interleaved only */
    weft_arena *a;
} settling;

static void try_plan(settling *s)
{
    size_t mark = weft_arena_mark(s->a);
    size_t n_cuts = (size_t)s->plan.n_stages * (size_t)s->plan.n_chunks + 1;
    weft_violation violation;
    bool is_legal = weft_train_plan_check(s->p, &s->plan, &violation, 1, s->a) == 0;
    double step_s;

    s->n_tried++;
    weft_arena_rewind(s->a, mark);
    if (!is_legal)
        return;
    step_s = weft_pipe_plan_s(s->p, &s->plan, s->a);
    if (step_s < s->best_s) {
        s->best_s = step_s;
        memcpy(s->best.stage, s->plan.stage, sizeof *s->plan.stage * (size_t)s->plan.n_stages);
        memcpy(s->best.cut, s->plan.cut, sizeof *s->plan.cut * n_cuts);
    }
}

static void start_stage(const settling *s, int i)
{
    s->plan.stage[i] = s->equal->stage[i];
    s->plan.stage[i].n_parts = 0;
    s->plan.stage[i].recompute = s->again[i];
}

static void set_layout(settling *s, weft_pipe_layout layout)
{
    size_t mark = weft_arena_mark(s->a);
    int *seen = WEFT_NEW(s->a, int, s->p->cluster->n_classes);

    for (int i = s->plan.n_stages - 1; i >= 0; i--) {
        int k = s->class_of[i], at = seen[k]++;
        weft_stage *to = &s->plan.stage[i];

        start_stage(s, i);
        to->n_parts = 1;
        to->part[0] = weft_pipe_part_at(layout, k, s->d, at * s->d, s->n_stages[k] * s->d);
        to->part[0].samples = s->equal->stage[i].part[0].samples;
    }
    weft_arena_rewind(s->a, mark);
}

static void try_layout(settling *s, weft_pipe_layout layout)
{
    set_layout(s, layout);
    try_plan(s);
}

/* Cuts and recomputation of an interleaved plan as the space has them, whatever the layout; false:
 * it has none. */
static bool cut_anew(settling *s)
{
    size_t mark = weft_arena_mark(s->a);
    int n = s->plan.n_stages;
    bool is_cut;

    if (s->plan.schedule != WEFT_INTERLEAVED)
        return true;
    set_layout(s, WEFT_PIPE_WIDE);
    is_cut = weft_pipe_is_sequence(s->class_of, n, n) &&
             weft_pipe_cut_chunks(s->costs, &s->plan, s->a) &&
             weft_pipe_choose_again(s->costs, &s->plan, s->a);
    for (int i = 0; i < n; i++)
        s->again[i] = s->plan.stage[i].recompute;
    weft_arena_rewind(s->a, mark);
    return is_cut;
}

/* All sequences of classes from stage i on. */
static void try_orders(settling *s, int i)
{
    if (s->n_tried >= WEFT_PIPE_N_LAYOUTS * MOST_ORDERS)
        return;
    if (i == s->plan.n_stages) {
        if (!cut_anew(s)) {
            s->n_tried++;
            return;
        }
        try_layout(s, WEFT_PIPE_WIDE);
        try_layout(s, WEFT_PIPE_WIDE_FRONT);
        if (s->d > 1) {
            try_layout(s, WEFT_PIPE_NEAR);
            try_layout(s, WEFT_PIPE_NEAR_FRONT);
        }
        return;
    }
    for (int k = 0; k < s->p->cluster->n_classes; k++) {
        if (!has(s->set, k) ||
            (s->n_stages[k] + 1) * s->d > weft_class_blocks(&s->p->cluster->classes[k], s->width))
            continue;
        s->class_of[i] = k;
        s->n_stages[k]++;
        try_orders(s, i + 1);
        s->n_stages[k]--;
    }
}

/* Along the blocks of the classes in this order. */
static void try_row(settling *s, const weft_pipe_order *order)
{
    int n = s->plan.n_stages;
    class_set set = 0;

    for (int i = 0; i < order->n; i++)
        set |= 1u << order->class_id[i];
    if (set != s->set)
        return;
    for (int i = 0; i < n; i++) {
        weft_stage stage;

        if (!weft_pipe_row_stage(s->p, order, s->width, s->d, n - 1 - i, &stage))
            return; /* too few blocks */
        stage.recompute = s->equal->stage[i].recompute;
        for (int k = 0; k < stage.n_parts; k++)
            stage.part[k].samples = s->equal->stage[i].part[0].samples;
        s->plan.stage[i] = stage;
    }
    try_plan(s);
}

static void try_rows(settling *s)
{
    const weft_pipe_order *order;
    int n = weft_pipe_orders_of(s->p->cluster->n_classes, s->a, &order);

    for (int i = 0; i < n && s->plan.schedule != WEFT_INTERLEAVED; i++)
        try_row(s, &order[i]);
}

/* The best way to put the plan on the real devices; its seconds, INFINITY: there is none. */
static double settle(const weft_train_problem *p, class_set set, const weft_train_plan *equal,
                     weft_arena *a, weft_train_plan *out, weft_train_log *log)
{
    int n_classes = p->cluster->n_classes;
    weft_pipe_costs costs;
    settling s = {.p = p,
                  .set = set,
                  .equal = equal,
                  .d = equal->stage[0].part[0].n_blocks,
                  .width = equal->stage[0].width,
                  .plan = weft_train_plan_copy(equal, a),
                  .best = weft_train_plan_copy(equal, a),
                  .best_s = INFINITY,
                  .class_of = WEFT_NEW(a, int, equal->n_stages),
                  .n_stages = WEFT_NEW(a, int, n_classes),
                  .again = WEFT_NEW(a, weft_recompute, equal->n_stages),
                  .costs = &costs,
                  .a = a};

    weft_pipe_costs_new(p, a, &costs);
    for (int i = 0; i < equal->n_stages; i++)
        s.again[i] = equal->stage[i].recompute;
    try_orders(&s, 0);
    try_rows(&s);
    log->n_plans_tried += s.n_tried;
    *out = s.best;
    return s.best_s;
}

/* --- solver ---------------------------------------------------------------------------------- */

static void add_log(weft_train_log *log, const weft_pipe_result *r)
{
    log->n_stages_tried += r->n_stages_tried;
    log->n_plans_tried += r->n_plans_tried;
}

/* The best of what is known so far. */
typedef struct choice {
    double best_s;
    weft_train_plan plan;
} choice;

static weft_status try_set(const weft_train_problem *p, weft_run *run, class_set set, choice *best,
                           weft_train_log *log)
{
    weft_pipe_effort effort = {.is_uniform = true, .steps = run->steps > 0 ? run->steps : STEPS};
    weft_platform platform = equal_platform(p, set, run->scratch);
    int width = p->width[p->n_widths - 1];
    double step_s = INFINITY;

    if (p->constraints.most_width > 0 && p->constraints.most_width < width)
        width = p->constraints.most_width;
    for (; width > 0 && !(step_s < INFINITY); width /= 2) {
        weft_train_problem *equal;
        weft_pipe_result r;
        weft_train_plan plan;

        if (equal_training(p, set, &platform, width, run->scratch, &equal) != WEFT_OK)
            return WEFT_OK; /* no table that all classes have */
        weft_pipe_search(equal, run, &effort, run->scratch, &r);
        weft_train_problem_free(equal);
        add_log(log, &r);
        if (!(r.value_s < INFINITY))
            return WEFT_OK;
        step_s = settle(p, set, &r.plan, run->scratch, &plan, log);
        if (step_s < best->best_s)
            *best = (choice){step_s, plan};
    }
    return WEFT_OK;
}

static weft_status solve_mixed(const weft_train_problem *p, weft_run *run, weft_train_plan *plan,
                               weft_proof *proof, weft_train_log *log)
{
    int n = p->cluster->n_classes < WEFT_MAX_PARTS ? p->cluster->n_classes : WEFT_MAX_PARTS;
    choice best = {.best_s = INFINITY};

    for (class_set set = 1; set < 1u << n; set++) {
        bool is_front = (set & (set + 1)) == 0; /* the fastest classes */

        if (n <= MOST_SUBSETS || is_front)
            WEFT_TRY(try_set(p, run, set, &best, log));
    }
    if (best.best_s < INFINITY) {
        *plan = best.plan;
        proof->outcome = WEFT_BOUNDED;
    } else if (weft_run_is_over(run)) {
        proof->reason = over;
    } else {
        proof->reason = "devices treated as equal, all as small as the smallest, have no plan that "
                        "can be put on the real ones";
    }
    return WEFT_OK;
}

static weft_status solve_one(const weft_train_problem *p, weft_run *run, weft_train_plan *plan,
                             weft_proof *proof, weft_train_log *log)
{
    weft_pipe_effort effort = {.is_uniform = true, .steps = run->steps};
    weft_pipe_result r;

    if (p->cluster->n_classes > 1)
        return solve_mixed(p, run, plan, proof, log);
    weft_pipe_search(p, run, &effort, run->scratch, &r);
    add_log(log, &r);
    if (r.value_s < INFINITY) {
        *plan = r.plan;
        proof->outcome = WEFT_BOUNDED;
    } else if (r.bound_s < INFINITY) {
        proof->reason = over;
    } else {
        proof->reason = weft_pipe_infeasibility(p, run, run->scratch);
    }
    return WEFT_OK;
}

/* The best of all variants, each with its part of steps and time. */
static weft_status solve(const weft_train_problem *p, weft_run *run, weft_train_plan *plan,
                         weft_proof *proof, weft_train_log *log)
{
    double best_s = INFINITY;

    if (p->n_variants == 0)
        return solve_one(p, run, plan, proof, log);
    for (int i = 0; i < p->n_variants; i++) {
        double left_s = weft_run_left_s(run), step_s;
        int left = p->n_variants - i;
        weft_run part = *run;
        weft_proof one = {.outcome = WEFT_UNKNOWN};
        weft_train_plan found;

        part.limit_s -= left_s < INFINITY ? left_s - left_s / left : 0;
        part.steps = run->steps > 0 ? run->steps / p->n_variants + 1 : 0;
        WEFT_TRY(solve_one(p->variant[i], &part, &found, &one, log));
        step_s = one.outcome == WEFT_BOUNDED ? weft_pipe_plan_s(p->variant[i], &found, run->scratch)
                                             : INFINITY;
        if (i > 0 && !(step_s < best_s))
            continue;
        best_s = step_s;
        *plan = found;
        plan->variant = i;
        *proof = one;
    }
    return WEFT_OK;
}

const weft_train_solver weft_train_equal = {
    .name = "equal",
    .summary = "baseline: the best uniform plan, treating all devices as equal",
    .solve = solve,
};
