/* SPDX-License-Identifier: MIT */
/* base_equal.c: the best plan that treats all devices as equal; what planners for identical devices
 * give on a mixed fleet.
 *
 * 1. All devices become one class. A unit takes the time of the mean speed: N / sum over devices of
 *    1 / seconds; it needs the most bytes of any class; memory is that of the smallest device. Links
 *    stay as they are, islands follow from them.
 * 2. For these devices the best uniform plan is searched (pipe_solve.c, without teams).
 * 3. Its decisions, microbatch, cuts, widths, replicas, equal shares, schedule and recomputation, are
 *    put on the real devices in all orders of classes in which every stage has blocks of one class,
 *    in both layouts (at most MOST_ORDERS), and along the list of all blocks for all orders of the
 *    classes, a stage taking the next blocks whatever their class. The quickest counts.
 * 4. Blocks of that width may not be there on the real devices: then again with half the width.
 *
 * With one class it is the search of 2 itself. No guarantee; the bound is the floor. */
#include <math.h>
#include <string.h>

#include "misfit.h"
#include "pipe_solve.h"

enum { MOST_ORDERS = 5000 };

/* --- equal devices --------------------------------------------------------------------------- */

static weft_platform equal_platform(const weft_training *p, weft_arena *a)
{
    const weft_cluster *c = p->cluster;
    weft_platform f = *c->platform;
    weft_device *device = weft_arena_copy(a, f.device, sizeof *device * (size_t)f.n_devices);
    double least_bytes = INFINITY;

    for (int k = 0; k < c->n_classes; k++)
        least_bytes = fmin(least_bytes, c->classes[k].memory_bytes);
    for (int d = 0; d < f.n_devices; d++)
        if (c->class_of[d] >= 0) {
            device[d].kind = "device";
            device[d].memory_bytes = least_bytes;
        }
    f.device = device;
    return f;
}

/* One number of all classes: the time of the mean speed, or the most. */
static double merge(const weft_cluster *c, const double *value, bool is_time)
{
    double devices = 0, speed = 0, most = 0;

    for (int k = 0; k < c->n_classes; k++) {
        devices += c->classes[k].n_devices;
        speed += value[k] > 0 ? c->classes[k].n_devices / value[k] : INFINITY;
        most = fmax(most, value[k]);
    }
    if (!is_time)
        return most;
    return speed < INFINITY ? devices / speed : 0;
}

/* Rows of n numbers, one for each unit: those of every class into one. is_time: [n]. */
static void *merge_rows(const weft_training *p, const double *const *from, int n,
                        const bool *is_time, weft_arena *a)
{
    double *to = WEFT_NEW(a, double, (size_t)p->units.n_units * (size_t)n);
    double *value = WEFT_NEW(a, double, p->cluster->n_classes);

    for (int i = 0; i < p->units.n_units * n; i++) {
        for (int k = 0; k < p->cluster->n_classes; k++)
            value[k] = from[k][i];
        to[i] = merge(p->cluster, value, is_time[i % n]);
    }
    return to;
}

enum {
    N_COST = sizeof(weft_unit_cost) / sizeof(double),
    N_STATE = sizeof(weft_unit_state) / sizeof(double),
};

static bool is_time_of_cost(size_t place)
{
    return place * sizeof(double) < offsetof(weft_unit_cost, stash_bytes);
}

static bool is_time_of_state(size_t place)
{
    return place * sizeof(double) == offsetof(weft_unit_state, update_s);
}

/* Table i of every class as one; NULL: a class does not have it. `stride`: tables of a class. */
static void *merge_table(const weft_training *p, const void *const *table, int i, int stride, int n,
                         bool (*is_time)(size_t), weft_arena *a)
{
    const double **from = WEFT_NEW(a, const double *, p->cluster->n_classes);
    bool *times = WEFT_NEW(a, bool, n);

    for (int k = 0; k < p->cluster->n_classes; k++) {
        from[k] = table[(size_t)k * (size_t)stride + (size_t)i];
        if (from[k] == NULL)
            return NULL;
    }
    for (int k = 0; k < n; k++)
        times[k] = is_time((size_t)k);
    return merge_rows(p, from, n, times, a);
}

static weft_status equal_training(const weft_training *p, const weft_platform *f, int most_width,
                                  weft_arena *a, weft_training **out)
{
    int n_tables = p->n_widths * p->n_shares;
    const weft_unit_cost **cost = WEFT_NEW(a, const weft_unit_cost *, n_tables);
    const weft_unit_state **state = WEFT_NEW(a, const weft_unit_state *, p->n_widths);
    weft_training_spec s = {.name = p->name,
                            .platform = f,
                            .units = p->units,
                            .ask = p->ask,
                            .n_widths = p->n_widths,
                            .n_shares = p->n_shares,
                            .width = p->width,
                            .share = p->share,
                            .cost = cost,
                            .state = state};

    for (int i = 0; i < n_tables; i++)
        cost[i] = merge_table(p, (const void *const *)p->cost, i, n_tables, N_COST,
                              is_time_of_cost, a);
    for (int i = 0; i < p->n_widths; i++)
        state[i] = merge_table(p, (const void *const *)p->state, i, p->n_widths, N_STATE,
                               is_time_of_state, a);
    s.ask.most_width = most_width;
    return weft_training_make(&s, out);
}

/* --- on the real devices --------------------------------------------------------------------- */

/* A plan for equal devices on its way to real ones. */
typedef struct settling {
    const weft_training *p;
    const weft_pipeline *equal;
    int d, width; /* replicas and width of every stage */
    weft_pipeline plan, best;
    double best_s;
    int64_t n_tried;
    int *class_of; /* [n_stages] on the way down */
    int *n_stages; /* [n_classes] */
    weft_arena *a;
} settling;

static void try_plan(settling *s)
{
    weft_breach breach;
    double step_s;

    s->n_tried++;
    if (weft_pipeline_check(s->p, &s->plan, &breach, 1, s->a) != 0)
        return;
    step_s = weft_pipe_plan_s(s->p, &s->plan, s->a);
    if (step_s < s->best_s) {
        s->best_s = step_s;
        memcpy(s->best.stage, s->plan.stage, sizeof *s->plan.stage * (size_t)s->plan.n_stages);
    }
}

static void start_stage(const settling *s, int i)
{
    s->plan.stage[i] = s->equal->stage[i];
    s->plan.stage[i].n_parts = 0;
}

static void try_layout(settling *s, weft_pipe_layout layout)
{
    int *seen = WEFT_NEW(s->a, int, s->p->cluster->n_classes);

    for (int i = s->plan.n_stages - 1; i >= 0; i--) {
        int k = s->class_of[i], at = seen[k]++;
        bool is_near = layout == WEFT_PIPE_NEAR;

        start_stage(s, i);
        s->plan.stage[i].n_parts = 1;
        s->plan.stage[i].part[0] = (weft_team_part){.class_id = k,
                                                    .n_blocks = s->d,
                                                    .first = is_near ? at : at * s->d,
                                                    .step = is_near ? s->n_stages[k] : 1,
                                                    .samples = s->equal->stage[i].part[0].samples};
    }
    try_plan(s);
}

/* All sequences of classes from stage i on. */
static void try_orders(settling *s, int i)
{
    if (s->n_tried >= 2 * MOST_ORDERS)
        return;
    if (i == s->plan.n_stages) {
        try_layout(s, WEFT_PIPE_WIDE);
        if (s->d > 1)
            try_layout(s, WEFT_PIPE_NEAR);
        return;
    }
    for (int k = 0; k < s->p->cluster->n_classes; k++) {
        if ((s->n_stages[k] + 1) * s->d > weft_class_blocks(&s->p->cluster->classes[k], s->width))
            continue;
        s->class_of[i] = k;
        s->n_stages[k]++;
        try_orders(s, i + 1);
        s->n_stages[k]--;
    }
}

/* Along the blocks of the classes in this order. */
static void try_row(settling *s, const int *order)
{
    int n_classes = s->p->cluster->n_classes, k = 0, used = 0;

    for (int i = 0; i < s->plan.n_stages; i++) {
        int left = s->d;

        start_stage(s, i);
        while (left > 0 && k < n_classes) {
            weft_stage *to = &s->plan.stage[i];
            int n = weft_class_blocks(&s->p->cluster->classes[order[k]], s->width) - used;

            n = n < left ? n : left;
            if (n > 0 && to->n_parts < WEFT_MAX_PARTS)
                to->part[to->n_parts++] =
                    (weft_team_part){.class_id = order[k],
                                     .n_blocks = n,
                                     .first = used,
                                     .step = 1,
                                     .samples = s->equal->stage[i].part[0].samples};
            left -= n;
            used += n;
            if (left > 0) {
                k++;
                used = 0;
            }
        }
        if (left > 0)
            return; /* too few blocks */
    }
    try_plan(s);
}

/* All orders of classes, by exchanges. */
static void try_rows(settling *s, int *order, int at)
{
    int n = s->p->cluster->n_classes;

    if (s->n_tried >= 3 * MOST_ORDERS)
        return;
    if (at == n)
        try_row(s, order);
    for (int i = at; i < n; i++) {
        int other = order[i];

        order[i] = order[at];
        order[at] = other;
        try_rows(s, order, at + 1);
        order[at] = order[i];
        order[i] = other;
    }
}

static weft_pipeline new_plan(const weft_pipeline *like, weft_arena *a)
{
    weft_pipeline plan = *like;
    size_t n_cuts = (size_t)like->n_stages * (size_t)like->n_chunks + 1;

    plan.cut = weft_arena_copy(a, like->cut, n_cuts * sizeof *like->cut);
    plan.stage = weft_arena_copy(a, like->stage, (size_t)like->n_stages * sizeof *like->stage);
    return plan;
}

/* The best way to put the plan on the real devices; false: there is none. */
static bool settle(const weft_training *p, const weft_pipeline *equal, weft_arena *a,
                   weft_pipeline *out, weft_train_log *log)
{
    int n_classes = p->cluster->n_classes, *order = WEFT_NEW(a, int, n_classes);
    settling s = {.p = p,
                  .equal = equal,
                  .d = equal->stage[0].part[0].n_blocks,
                  .width = equal->stage[0].width,
                  .plan = new_plan(equal, a),
                  .best = new_plan(equal, a),
                  .best_s = INFINITY,
                  .class_of = WEFT_NEW(a, int, equal->n_stages),
                  .n_stages = WEFT_NEW(a, int, n_classes),
                  .a = a};

    for (int k = 0; k < n_classes; k++)
        order[k] = k;
    for (int k = 0; k < equal->n_stages; k++)
        s.class_of[k] = -1;
    try_orders(&s, 0);
    try_rows(&s, order, 0);
    log->n_plans_tried += s.n_tried;
    *out = s.best;
    return s.best_s < INFINITY;
}

/* --- solver ---------------------------------------------------------------------------------- */

static void add_log(weft_train_log *log, const weft_pipe_result *r)
{
    log->n_stages_tried += r->n_stages_tried;
    log->n_plans_tried += r->n_plans_tried;
}

static weft_status solve_mixed(const weft_training *p, weft_run *run, weft_pipeline *plan,
                               weft_proof *proof, weft_train_log *log)
{
    weft_pipe_effort effort = {.is_uniform = true, .steps = run->steps};
    weft_platform platform = equal_platform(p, run->scratch);
    int width = p->width[p->n_widths - 1];

    if (p->ask.most_width > 0 && p->ask.most_width < width)
        width = p->ask.most_width;
    for (bool is_placed = false; width > 0 && !is_placed; width /= 2) {
        weft_training *equal;
        weft_pipe_result r;

        WEFT_TRY(equal_training(p, &platform, width, run->scratch, &equal));
        weft_pipe_search(equal, run, &effort, run->scratch, &r);
        weft_training_free(equal);
        add_log(log, &r);
        is_placed = r.value_s < INFINITY && settle(p, &r.plan, run->scratch, plan, log);
        if (is_placed)
            proof->outcome = WEFT_BOUNDED;
    }
    if (proof->outcome != WEFT_BOUNDED)
        proof->reason = "devices treated as equal, all as small as the smallest, have no plan that "
                        "can be put on the real ones";
    return WEFT_OK;
}

static weft_status solve(const weft_training *p, weft_run *run, weft_pipeline *plan,
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
    } else {
        proof->reason = weft_pipe_misfit(p, run, run->scratch);
    }
    return WEFT_OK;
}

const weft_train_solver weft_train_equal = {
    .name = "equal",
    .summary = "the best uniform plan that takes all devices for equal, on the real ones",
    .solve = solve,
};
