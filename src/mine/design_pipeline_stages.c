/* SPDX-License-Identifier: MIT */
/* design_pipeline_stages.c: a design for each stage of a pipeline, and the partition with it.
 *
 * Options of a variant are the designs on its Pareto front of load and TDP.
 *
 * Throughput.
 * 1. Each variant takes its quickest option; the partition is that of design_pipeline_plan.c.
 * 2. Stage by stage, other designs of nearly the same load are tried by events, whose time is
 *    monotone in forward and backward, not in their sum.
 * The bound: design_pipeline_plan.c with the least forward, backward, load and update over all designs.
 *
 * Throughput / TDP, that is the least T W, T the step and W the power of all stages.
 * 1. The largest load L of a plan lies in one of many narrow ranges [lo, hi].
 * 2. For a range, and weights x, y, the partition and options with loads up to hi that have the
 *    least x A + y W come from one dynamic program over cuts, stages left, and whether the stage
 *    with the largest load is still to come. A is a sum over stages:
 *      plan    sum of l and hops, + (m-1) hi                             latency and m-1 times the load
 *      bound   before the largest one l and hops, for it m l, behind it (2 + c) l - (1 + c) hi and
 *              2 + c times the hops. By pipe_bound.c its own time is at least
 *              m l + (R - (K-1) f) + (R - (K-1) b) + c (R - (K-1) l),  0 <= c <= (m-K-1) / K,
 *              R being l and hops of the K-1 stages behind it: at K stages left c is a part of the
 *              most that is possible, the same for K up to 2, 4, 8, ..; for m <= K nothing counts.
 *              (K-1) (1 + c) times the largest load is taken off: hi is no less than it. (Designs
 * that are no options have no less of load or TDP than one that is, and A grows with every load:
 * options suffice.)
 * 3. The product of two positive sums is quasi-concave: over a polygon it is least at a corner. Two
 *    extreme weights give two lines below all plans; between two solutions, weights at right angles
 *    to them give the next line, until the corner of two lines is no better than what is known.
 *    Plans with T above the limit that the least throughput sets are cut off. Several parts are
 *    tried for c; each gives a bound of the range, the largest counts.
 * 4. All plans met on the way are run by events, unless their product looks far too large; the
 *    best is improved stage by stage.
 * 5. With `bound` A <= T, so the least product over all ranges is a lower bound of T W. The bound
 * of all steps, as for throughput, helps where ends of steps count more than loads.
 *
 * It starts from the plan with one design for all, so it is never worse.
 *
 * Cost: O(variants * designs) for options; ranges * corners * pairs * stages. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "design_pipeline.h"
#include "order.h"

enum {
    NEAR_MOST = 12, /* designs of nearly the same load that are tried */
    ROUNDS = 4,     /* of improvement */
    DEPTH = 24,     /* of corners */
    MOST_CLASSES = 12,
};
static const double PART[] = {0, 0.2, 0.5, 1}; /* of the most that c may be */
static const double RANGE = 1.002;             /* hi / lo */
static const double NEAR = 1.01;
static const double FAR = 1.05; /* forms are off by less than that, as a rule */
static const double EXACT = 1e-9;

typedef struct option {
    double load_s, tdp_w;
    int point;
} option;

/* A plan on its way: pairs and points of all stages. */
typedef struct draft {
    weft_partition cuts;
    int *point;
    double a, w; /* as in the head comment */
} draft;

typedef struct picks {
    const option **at; /* [n_variants] NULL: none */
    double *value;     /* [n_variants] */
} picks;

/* Stages behind the largest one, if at most `most` are left from that on. */
typedef struct tail {
    int most;
    double weight, shift; /* of loads; hops have the same weight */
    picks picks;
    double *table; /* [left * n_cuts + cut] */
    int *next;     /* pair */
} tail;

typedef struct stager {
    weft_pipeline_search *s;
    const weft_stage_space *x;
    weft_partitioner *d;
    int *by_tdp;            /* points */
    option **option;        /* [n_variants] by rising TDP, falling load */
    int *n_options;         /* [n_variants] */
    weft_stage_load *least; /* [n_variants] over all designs */
    double tail_s;          /* of the first stage, at least */
    double floor_s, most_s; /* a step takes at least; may take */
    bool is_bound;          /* the form in use */
    double lo_s, hi_s;
    int n_classes; /* of numbers of stages from the largest one to the end */
    tail after[MOST_CLASSES];
    picks before, at;
    double *table;         /* [left * n_cuts + cut] with the largest stage */
    int *next;             /* pair */
    bool *is_at;           /* this stage is the largest one */
    weft_stage_load *load; /* [n_stages] scratch */
} stager;

/* --- options --------------------------------------------------------------------------------- */

typedef struct ranked {
    double tdp_w;
    int point;
} ranked;

static int by_power(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    return weft_order((double[]){x->tdp_w, x->point}, (double[]){y->tdp_w, y->point}, 2);
}

static void sort_points(stager *g)
{
    weft_pipeline_search *s = g->s;
    ranked *r = WEFT_NEW(s->a, ranked, s->n_points + 1);

    g->by_tdp = WEFT_NEW(s->a, int, s->n_points + 1);
    for (int p = 0; p < s->n_points; p++)
        r[p] = (ranked){s->tdp_w[p], p};
    qsort(r, (size_t)s->n_points, sizeof *r, by_power);
    for (int p = 0; p < s->n_points; p++)
        g->by_tdp[p] = r[p].point;
}

static weft_stage_load load_at(const stager *g, int variant, int point)
{
    return weft_stage_load_of(g->x, &g->x->variant[variant], weft_block_times_at(g->s, 0, point));
}

static double least_of(double a, double b)
{
    return a < b ? a : b;
}

static void list_options(stager *g, int v)
{
    weft_stage_load least = {INFINITY, INFINITY, INFINITY, INFINITY};
    WEFT_VEC(option) list = {0};

    for (int i = 0; i < g->s->n_points; i++) {
        int p = g->by_tdp[i];
        weft_stage_load l = load_at(g, v, p);

        least.forward_s = least_of(least.forward_s, l.forward_s);
        least.backward_s = least_of(least.backward_s, l.backward_s);
        least.update_s = least_of(least.update_s, l.update_s);
        if (!(l.load_s < least.load_s))
            continue;
        least.load_s = l.load_s;
        if (list.n > 0 && list.at[list.n - 1].tdp_w == g->s->tdp_w[p])
            list.n--;
        WEFT_PUSH(g->s->a, list, ((option){l.load_s, g->s->tdp_w[p], p}));
    }
    g->least[v] = least;
    g->option[v] = list.at;
    g->n_options[v] = list.n;
}

static const option *quickest(const stager *g, int v)
{
    return &g->option[v][g->n_options[v] - 1];
}

/* --- plans by events ------------------------------------------------------------------------- */

static int variant_of(const stager *g, const weft_partition *cuts, int i)
{
    return weft_stage_variant_of(g->x, &g->x->pair[cuts->pair[i]], g->x->n_stages - i);
}

static double power_of(const stager *g, const int *point)
{
    double w = 0;

    for (int i = 0; i < g->x->n_stages; i++)
        w += g->s->tdp_w[point[i]];
    return w * weft_pipeline_devices(g->x->design_pipeline);
}

/* Runs a plan; keeps it if it is the best. */
static bool try_plan(stager *g, const weft_partition *cuts, const int *point)
{
    weft_pipeline_search *s = g->s;
    weft_pipeline_best *b = &s->best;
    int n = g->x->n_stages;
    double step_s, throughput, power_w = power_of(g, point), value;

    for (int i = 0; i < n; i++)
        g->load[i] = load_at(g, variant_of(g, cuts, i), point[i]);
    s->n_plans++;
    step_s = weft_partition_step_s(g->x, cuts, g->load, s->a);
    throughput = weft_pipeline_throughput(s, &step_s);
    value = weft_pipeline_metric(s, throughput, power_w);
    if (value <= b->value * (1 + EXACT))
        return false;
    b->value = value;
    b->throughput = throughput;
    b->tdp_w = power_w;
    b->step_s[0] = step_s;
    memmove(b->cuts[0].pair, cuts->pair, (size_t)n * sizeof *cuts->pair);
    memmove(b->point, point, (size_t)n * sizeof *point);
    return true;
}

/* Could stage i on this design make the plan better? At least m times its load passes. */
static bool is_hopeful(const stager *g, int point, double load_s, double rest_w)
{
    double step_s = (double)g->x->n_microbatches * load_s;
    double w = weft_pipeline_devices(g->x->design_pipeline) * (rest_w + g->s->tdp_w[point]);

    return weft_pipeline_metric(g->s, weft_pipeline_throughput(g->s, &step_s), w) >
           g->s->best.value * (1 + EXACT);
}

/* Other designs for stage i: options, or those of nearly the same load. */
static bool improve_stage(stager *g, draft *now, int i)
{
    int v = variant_of(g, &now->cuts, i), mine = now->point[i], n_tried = 0;
    bool is_per_tdp = g->s->q->metric == WEFT_METRIC_PER_TDP, is_better = false;
    double rest_w = -g->s->tdp_w[mine], most_s = NEAR * g->least[v].load_s;

    for (int k = 0; k < g->x->n_stages; k++)
        rest_w += g->s->tdp_w[now->point[k]];
    for (int k = 0; k < (is_per_tdp ? g->n_options[v] : g->s->n_points); k++) {
        int p = is_per_tdp ? g->option[v][k].point : k;
        weft_stage_load l;

        if (p == mine)
            continue;
        l = load_at(g, v, p);
        if ((!is_per_tdp && (l.load_s > most_s || n_tried >= NEAR_MOST)) ||
            !is_hopeful(g, p, l.load_s, rest_w))
            continue;
        n_tried++;
        now->point[i] = p;
        if (try_plan(g, &now->cuts, now->point)) {
            mine = p;
            is_better = true;
        }
    }
    now->point[i] = mine;
    return is_better;
}

/* Stage by stage, until nothing is better. */
static void improve(stager *g)
{
    int n = g->x->n_stages;
    draft now = {.cuts = weft_partition_new(g->x, g->s->a), .point = WEFT_NEW(g->s->a, int, n)};
    bool is_better = g->s->best.value > 0;

    for (int round = 0; is_better && round < ROUNDS; round++) {
        memcpy(now.cuts.pair, g->s->best.cuts[0].pair, (size_t)n * sizeof *now.cuts.pair);
        memcpy(now.point, g->s->best.point, (size_t)n * sizeof *now.point);
        is_better = false;
        for (int i = 0; i < n && !weft_run_is_over(g->s->run); i++)
            is_better |= improve_stage(g, &now, i);
    }
}

/* --- throughput ------------------------------------------------------------------------------ */

/* Each variant on its quickest design. */
static void try_quickest(stager *g)
{
    int n = g->x->n_stages, *point = WEFT_NEW(g->s->a, int, n);
    weft_stage_load *load = WEFT_NEW(g->s->a, weft_stage_load, g->x->n_variants + 1);
    weft_partition cuts = weft_partition_new(g->x, g->s->a);
    double bound_s;

    for (int v = 0; v < g->x->n_variants; v++)
        load[v] = load_at(g, v, quickest(g, v)->point);
    if (!(weft_partition_find(g->d, load, &cuts, &bound_s, &g->s->n_plans) < INFINITY))
        return;
    for (int i = 0; i < n; i++)
        point[i] = quickest(g, variant_of(g, &cuts, i))->point;
    try_plan(g, &cuts, point);
}

/* --- the dynamic program of ranges ----------------------------------------------------------- */

/* The option with the least weight * load + power for each variant, of those with a load from
 * lo_s on; shift is added. */
static void pick(const stager *g, double weight, double shift, double power, double lo_s, picks *to)
{
    for (int v = 0; v < g->x->n_variants; v++) {
        to->at[v] = NULL;
        to->value[v] = INFINITY;
        for (int k = g->n_options[v] - 1; k >= 0; k--) {
            const option *o = &g->option[v][k];
            double value = weight * o->load_s + shift + power * o->tdp_w;

            if (o->load_s > g->hi_s)
                break; /* loads rise from here on */
            if (o->load_s >= lo_s && value < to->value[v]) {
                to->value[v] = value;
                to->at[v] = o;
            }
        }
    }
}

static void start(const weft_stage_space *s, double *table, double last)
{
    for (int c = 0; c < s->n_cuts; c++)
        table[c] = c == s->n_cuts - 1 ? last : INFINITY;
}

/* Suffixes without the largest stage; x: the weight of A. */
static void fill_tail(const stager *g, double x, tail *t)
{
    const weft_stage_space *s = g->x;
    int most = t->most - (g->is_bound ? 1 : 0);

    start(s, t->table, 0);
    for (int at = s->n_cuts; at < (most + 1) * s->n_cuts; at++) {
        int left = at / s->n_cuts, cut = at % s->n_cuts;
        const double *rest = t->table + (left - 1) * s->n_cuts;
        double best = INFINITY;

        for (int p = s->pair_at[cut]; p < s->pair_at[cut + 1]; p++) {
            const weft_cut_pair *y = &s->pair[p];
            int v = weft_stage_variant_of(s, y, left);
            double value;

            if (v < 0)
                continue;
            value = t->picks.value[v] + x * t->weight * s->hop_s[y->outer] + rest[y->outer];
            if (value < best) {
                best = value;
                t->next[at] = p;
            }
        }
        t->table[at] = best;
    }
}

static const tail *tail_of(const stager *g, int left)
{
    const tail *t = g->after;

    while (t->most < left)
        t++;
    return t;
}

/* Suffixes with the largest stage. */
static void fill_head(stager *g, double x)
{
    const weft_stage_space *s = g->x;

    start(s, g->table, INFINITY);
    for (int at = s->n_cuts; at < (s->n_stages + 1) * s->n_cuts; at++) {
        int left = at / s->n_cuts, cut = at % s->n_cuts;
        const tail *t = tail_of(g, left);
        const double *behind = t->table + (left - 1) * s->n_cuts;
        const double *rest = g->table + (left - 1) * s->n_cuts;
        double best = INFINITY;

        for (int p = s->pair_at[cut]; p < s->pair_at[cut + 1]; p++) {
            const weft_cut_pair *y = &s->pair[p];
            int v = weft_stage_variant_of(s, y, left);
            double hop_s = x * s->hop_s[y->outer], at_value, value;

            if (v < 0)
                continue;
            at_value = g->at.value[v] + t->weight * hop_s + behind[y->outer];
            value = g->before.value[v] + hop_s + rest[y->outer];
            if (least_of(value, at_value) < best) {
                best = least_of(value, at_value);
                g->next[at] = p;
                g->is_at[at] = at_value <= value;
            }
        }
        g->table[at] = best;
    }
}

/* A plan from the tables, with its sums. */
static void read_draft(const stager *g, draft *out)
{
    const weft_stage_space *s = g->x;
    double m = (double)s->n_microbatches;
    const tail *t = g->is_bound ? NULL : &g->after[0]; /* NULL: the largest one is to come */

    out->a = g->is_bound ? g->tail_s : g->tail_s + (m - 1) * g->hi_s;
    out->w = 0;
    for (int i = 0, cut = 0; i < s->n_stages; i++) {
        int left = s->n_stages - i, at = left * s->n_cuts + cut;
        int p = t != NULL ? t->next[at] : g->next[at];
        int v = weft_stage_variant_of(s, &s->pair[p], left);
        bool is_largest = t == NULL && g->is_at[at], is_before = t == NULL && !is_largest;
        const option *o = is_largest ? g->at.at[v] : is_before ? g->before.at[v] : t->picks.at[v];

        cut = s->pair[p].outer;
        out->cuts.pair[i] = p;
        out->point[i] = o->point;
        out->w += o->tdp_w;
        if (is_largest)
            t = tail_of(g, left);
        out->a += (is_before ? 1 : t->weight) * s->hop_s[cut];
        out->a += is_largest  ? m * o->load_s
                  : is_before ? o->load_s
                              : t->weight * o->load_s + t->shift;
    }
}

/* The least x A + y W over all plans; false: there is none. */
static bool solve(stager *g, double x, double y, draft *out)
{
    const weft_stage_space *s = g->x;
    int root = s->n_stages * s->n_cuts;

    for (int i = 0; i < g->n_classes; i++) {
        tail *t = &g->after[i];

        pick(g, x * t->weight, x * t->shift, y, 0, &t->picks);
        fill_tail(g, x, t);
    }
    if (g->is_bound) {
        pick(g, x, 0, y, 0, &g->before);
        pick(g, x * (double)s->n_microbatches, 0, y, g->lo_s, &g->at);
        fill_head(g, x);
    }
    if (!((g->is_bound ? g->table[root] : g->after[0].table[root]) < INFINITY))
        return false;
    read_draft(g, out);
    return true;
}

/* The form of plans, or of the bound with a part of the most that c may be. */
static void set_plan_form(stager *g, double lo_s)
{
    g->is_bound = false;
    g->lo_s = lo_s;
    g->hi_s = lo_s * RANGE;
    g->n_classes = 1;
    g->after[0].most = g->x->n_stages;
    g->after[0].weight = 1;
    g->after[0].shift = 0;
}

static void set_bound_form(stager *g, double lo_s, double part)
{
    int s = g->x->n_stages, most = 1;
    int64_t m = g->x->n_microbatches;

    g->is_bound = true;
    g->lo_s = lo_s;
    g->hi_s = lo_s * RANGE;
    g->n_classes = 0;
    do {
        tail *t = &g->after[g->n_classes++];

        most = g->n_classes == MOST_CLASSES || 2 * most > s ? s : 2 * most;
        t->most = most;
        t->weight = t->shift = 0;
        if (m > most) {
            double c = part * (double)((m - most - 1) / most);

            t->weight = 2 + c;
            t->shift = -(1 + c) * g->hi_s;
        }
    } while (most < s);
}

/* --- corners --------------------------------------------------------------------------------- */

/* T W of the best plan. */
static double best_product(const stager *g)
{
    const weft_pipeline_best *b = &g->s->best;

    return b->value > 0 ? b->step_s[0] * b->tdp_w / weft_pipeline_devices(g->x->design_pipeline)
                        : INFINITY;
}

/* A line below all plans: x A + y W >= z; and the plan on it. */
typedef struct line {
    double x, y, z;
    draft plan;
} line;

static draft new_draft(stager *g)
{
    return (draft){.cuts = weft_partition_new(g->x, g->s->a),
                   .point = WEFT_NEW(g->s->a, int, g->x->n_stages)};
}

static bool make_line(stager *g, double x, double y, line *out)
{
    *out = (line){.x = x, .y = y, .plan = new_draft(g)};
    if (!solve(g, x, y, &out->plan))
        return false;
    out->z = x * out->plan.a + y * out->plan.w;
    return true;
}

/* On a line; no A above the limit counts. */
static double product_on(const stager *g, const line *l, double a, double w)
{
    if (a > g->most_s)
        w = (l->z - l->x * g->most_s) / l->y;
    return least_of(a, g->most_s) * w;
}

/* The least product in the triangle of two plans and the corner of their lines, up to the limit of
 * A: it is at one of the ends of its lower sides. */
static double triangle_product(const stager *g, const line *l, const line *r)
{
    double det = l->x * r->y - r->x * l->y, a, w, least;

    if (l->plan.a > g->most_s)
        return INFINITY;
    least = least_of(l->plan.a * l->plan.w, product_on(g, r, r->plan.a, r->plan.w));
    if (!(fabs(det) > 0))
        return least;
    /* to rounding the corner lies between the two plans */
    a = fmax((l->z * r->y - r->z * l->y) / det, l->plan.a * (1 - EXACT));
    w = fmax((l->x * r->z - r->x * l->z) / det, r->plan.w * (1 - EXACT));
    if (a > g->most_s)
        return least_of(l->plan.a * l->plan.w, product_on(g, l, a, w));
    return least_of(least, a * w);
}

/* The same, and no less than the bound of all steps with the least power there. */
static double corner_product(const stager *g, const line *l, const line *r)
{
    return fmax(triangle_product(g, l, r), g->floor_s * r->plan.w * (1 - EXACT));
}

/* By events, unless it looks far from the best. */
static void try_draft(stager *g, const draft *x)
{
    if (x->a <= g->most_s * FAR && x->a * x->w <= best_product(g) * FAR)
        try_plan(g, &x->cuts, x->point);
}

/* The least product that plans between two lines may have, if it is below `target`. */
static double search_corner(stager *g, const line *l, const line *r, double target, int depth)
{
    double corner = corner_product(g, l, r), da = r->plan.a - l->plan.a, dw = l->plan.w - r->plan.w;
    size_t mark = weft_arena_mark(g->s->a);
    double left, right;
    line m;

    if (corner >= target || depth == 0 || !(da > 0) || !(dw > 0))
        return corner;
    if (!make_line(g, dw, da, &m))
        return corner;
    try_draft(g, &m.plan);
    if (m.z >= (dw * l->plan.a + da * l->plan.w) * (1 - 1e-12)) { /* both lie on it */
        left = corner_product(g, l, &m);
        right = corner_product(g, &m, r);
        weft_arena_rewind(g->s->a, mark);
        return least_of(left, right);
    }
    left = search_corner(g, l, &m, target, depth - 1);
    right = search_corner(g, &m, r, target, depth - 1);
    weft_arena_rewind(g->s->a, mark);
    return least_of(left, right);
}

/* The least product of a range, if it is below `target`; INFINITY: no plan there. */
static double search_range(stager *g, double target)
{
    size_t mark = weft_arena_mark(g->s->a);
    double scale =
        (double)g->x->n_microbatches * g->lo_s / (g->x->n_stages * g->s->tdp_w[g->by_tdp[0]]);
    double product;
    line quick, thrifty;

    if (!make_line(g, 1, 1e-10 * scale, &quick) || !make_line(g, 1e-10, scale, &thrifty)) {
        weft_arena_rewind(g->s->a, mark);
        return INFINITY;
    }
    try_draft(g, &quick.plan);
    try_draft(g, &thrifty.plan);
    product = search_corner(g, &quick, &thrifty, target, DEPTH);
    weft_arena_rewind(g->s->a, mark);
    return product;
}

/* --- throughput / TDP ------------------------------------------------------------------------ */

/* The least largest load of any plan. */
static double least_load_s(stager *g)
{
    const weft_stage_space *s = g->x;
    double *most = g->table;

    for (int c = 0; c < s->n_cuts; c++)
        most[c] = c == s->n_cuts - 1 ? 0 : INFINITY;
    for (int left = 1; left <= s->n_stages; left++)
        for (int c = 0; c + 1 < s->n_cuts; c++) {
            double *to = &most[left * s->n_cuts + c];

            *to = INFINITY;
            for (int p = s->pair_at[c]; p < s->pair_at[c + 1]; p++) {
                int v = weft_stage_variant_of(s, &s->pair[p], left);

                if (v >= 0)
                    *to = least_of(*to, fmax(g->least[v].load_s,
                                             most[(left - 1) * s->n_cuts + s->pair[p].outer]));
            }
        }
    return most[s->n_stages * s->n_cuts];
}

/* Plans by the form, of all ranges. */
static void find_thrifty(stager *g, double first_s, double last_s)
{
    double best = INFINITY, m = (double)g->x->n_microbatches;

    for (double lo = first_s; lo <= last_s && !weft_run_is_over(g->s->run); lo *= RANGE) {
        set_plan_form(g, lo);
        if (m * lo * g->x->n_stages * g->s->tdp_w[g->by_tdp[0]] >= best)
            break;
        best = least_of(best, search_range(g, best * FAR));
    }
    improve(g);
}

/* The same of plans whose largest load is in one range, if it is below `target`. */
static double bound_range(stager *g, double lo_s, double target)
{
    double most = 0;

    for (size_t i = 0; i < sizeof PART / sizeof PART[0] && most < target; i++) {
        set_bound_form(g, lo_s, PART[i]);
        most = fmax(most, search_range(g, target));
    }
    return most;
}

/* No plan has a smaller T W. */
static double bound_product(stager *g, double first_s, double last_s)
{
    double m = (double)g->x->n_microbatches, best = best_product(g), bound = best, lo = first_s;

    while (lo <= last_s) {
        double least = m * lo * g->x->n_stages * g->s->tdp_w[g->by_tdp[0]];

        if (least >= bound)
            break; /* and so are all that follow */
        if (weft_run_is_over(g->s->run))
            return least_of(bound, least);
        bound = least_of(bound, bound_range(g, lo, bound));
        lo *= RANGE;
    }
    return bound;
}

static void search_thrifty(stager *g)
{
    double m = (double)g->x->n_microbatches, first_s = least_load_s(g) * (1 - EXACT);
    double last_s = g->most_s / m, product;

    find_thrifty(g, first_s, last_s);
    product = bound_product(g, first_s, last_s);
    improve(g); /* plans of the bound were tried, too */
    g->s->bound =
        fmax(g->s->best.value, (double)g->x->design_pipeline->batch /
                                   (product * weft_pipeline_devices(g->x->design_pipeline)));
}

/* --- all ------------------------------------------------------------------------------------- */

static stager new_stager(weft_pipeline_search *s)
{
    const weft_stage_space *x = &s->space[0];
    int n = (x->n_stages + 1) * x->n_cuts, v = x->n_variants + 1;
    stager g = {.s = s, .x = x, .d = &s->work[0]};
    picks *p[2 + MOST_CLASSES] = {&g.before, &g.at};

    g.option = WEFT_NEW(s->a, option *, v);
    g.n_options = WEFT_NEW(s->a, int, v);
    g.least = WEFT_NEW(s->a, weft_stage_load, v);
    g.load = WEFT_NEW(s->a, weft_stage_load, x->n_stages);
    g.is_at = WEFT_NEW(s->a, bool, n);
    g.table = WEFT_NEW(s->a, double, n);
    g.next = WEFT_NEW(s->a, int, n);
    for (int i = 0; i < MOST_CLASSES; i++) {
        g.after[i].table = WEFT_NEW(s->a, double, n);
        g.after[i].next = WEFT_NEW(s->a, int, n);
        p[2 + i] = &g.after[i].picks;
    }
    for (int i = 0; i < 2 + MOST_CLASSES; i++)
        *p[i] = (picks){WEFT_NEW(s->a, const option *, v), WEFT_NEW(s->a, double, v)};
    if (s->least_throughput > 0) /* to rounding */
        g.most_s = (double)x->design_pipeline->batch / s->least_throughput * (1 + EXACT);
    else
        g.most_s = INFINITY;
    return g;
}

/* The least tail of a first stage. */
static double least_tail_s(const stager *g)
{
    double tail_s = INFINITY;

    for (int p = g->x->pair_at[0]; p < g->x->pair_at[1]; p++) {
        int v = weft_stage_variant_of(g->x, &g->x->pair[p], g->x->n_stages);

        if (v >= 0)
            tail_s = least_of(tail_s, weft_pipeline_tail_s(&g->x->pair[p], &g->least[v]));
    }
    return tail_s;
}

void weft_pipeline_stages(weft_pipeline_search *s)
{
    stager g = new_stager(s);
    double top;

    sort_points(&g);
    for (int v = 0; v < g.x->n_variants; v++)
        list_options(&g, v);
    g.tail_s = least_tail_s(&g);
    try_quickest(&g);
    improve(&g);
    g.floor_s = weft_partition_bound_s(g.d, g.least, NULL);
    if (s->q->metric == WEFT_METRIC_PER_TDP) {
        search_thrifty(&g);
    } else {
        top = weft_pipeline_throughput(s, &g.floor_s);
        s->bound = fmax(s->best.value, weft_pipeline_metric(s, top, 1));
    }
    s->best.bound_s[0] = g.floor_s;
}
