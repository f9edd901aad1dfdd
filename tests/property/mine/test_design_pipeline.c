/* SPDX-License-Identifier: MIT */
/* Designs for the devices of pipelines, on small chains and small lattices: all partitions, all
 * ways to recompute, all designs of all stages, by events. One design for all is the best there is;
 * one for each stage is no better than the best, no worse than one for all, and the bound holds.
 * What is said of a plan is what the simulator says. WEFT_LONG_TESTS=1 draws 2,000 of them. */
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "mine.h"
#include "sim.h"
#include "space.h"
#include "toy_eval.h"

enum { MOST_UNITS = 6, MOST_STAGES = 3, MOST_DESIGNS = 9, MOST_JOBS = 6 };

/* --- made-up networks ------------------------------------------------------------------------ */

static uint64_t n_drawn(int usual, int all)
{
    return (uint64_t)(getenv("WEFT_LONG_TESTS") ? all : N_DRAWN(usual));
}

static double draw(weft_rng *r, double least, double most)
{
    return least + weft_rng_real(r) * (most - least);
}

static weft_work_key draw_key(weft_rng *r)
{
    weft_work_key k;

    memset(&k, 0, sizeof k); /* keys are compared as bytes */
    k.element_bytes = 2;
    if (weft_rng_below(r, 3) > 0) {
        k.n_layers = 1;
        k.layer[0] = (weft_layer){1,
                                  1,
                                  16 + weft_rng_below(r, 400),
                                  16 + weft_rng_below(r, 400),
                                  16 + weft_rng_below(r, 400),
                                  1,
                                  1,
                                  1,
                                  1};
    } else {
        k.points = 1000 + weft_rng_below(r, 200000);
        k.flops = k.points * (1 + weft_rng_below(r, 4));
    }
    k.read_bytes = 1000 + weft_rng_below(r, 1000000);
    k.write_bytes = 1000 + weft_rng_below(r, 1000000);
    return k;
}

static weft_block_kind draw_kind(int n_keys, weft_rng *r, weft_arena *a)
{
    weft_block_kind k = {.n_jobs = 3 + weft_rng_below(r, MOST_JOBS - 3)};
    weft_block_job *job = WEFT_NEW(a, weft_block_job, k.n_jobs);
    double stash = draw(r, 1, 5);

    for (int i = 0; i < k.n_jobs; i++) {
        job[i] = (weft_block_job){(weft_phase)(i % 3), false, weft_rng_below(r, n_keys),
                                  1 + weft_rng_below(r, 3)};
        job[i].is_again = job[i].phase == WEFT_FORWARD && weft_rng_below(r, 2);
    }
    k.job = job;
    k.cost.forward_collective_s = draw(r, 0, 1e-5);
    k.cost.backward_collective_s = draw(r, 0, 1e-5);
    k.again_collective_s = k.cost.forward_collective_s * draw(r, 0, 1);
    for (int i = 0; i < WEFT_N_RECOMPUTES; i++) {
        k.cost.stash_bytes[i] = stash;
        k.cost.work_bytes[i] = draw(r, 0, 3);
        stash *= draw(r, 0, 0.8);
    }
    k.state = (weft_block_state){draw(r, 0, 4), draw(r, 0, 4), draw(r, 0, 8), 0, 0};
    k.state.sync_bytes = k.state.gradient_bytes;
    return k;
}

static weft_design_pipeline_net *draw_net(bool is_dag, bool has_shared, weft_rng *r)
{
    static const int from[] = {0, 0, 1, 2, 3}, to[] = {1, 2, 3, 3, 4};
    weft_arena *a = weft_arena_new();
    weft_design_pipeline_net *n = WEFT_NEW(a, weft_design_pipeline_net, 1);
    int n_kinds = 1 + weft_rng_below(r, 3), n_keys = 5, *kind_of;
    weft_block_kind *kind = WEFT_NEW(a, weft_block_kind, MOST_UNITS);
    weft_work_key *key = WEFT_NEW(a, weft_work_key, n_keys);
    double *leave, *back;

    n->arena = a;
    n->name = "drawn";
    n->weight = 1;
    if (is_dag)
        CHECK(weft_blocks_dag(5, 5, from, to, 100, a, &n->blocks));
    else
        weft_blocks_chain(MOST_STAGES + weft_rng_below(r, MOST_UNITS - MOST_STAGES + 1), a,
                          &n->blocks);
    leave = (double *)(uintptr_t)n->blocks.leave_bytes; /* the maker's to write */
    back = (double *)(uintptr_t)n->blocks.back_bytes;
    for (int c = 1; c + 1 < n->blocks.n_cuts; c++)
        leave[c] = back[c] = draw(r, 0, 2e6);
    kind_of = WEFT_NEW(a, int, n->blocks.n_blocks);
    for (int i = 0; i < n_keys; i++)
        key[i] = draw_key(r);
    for (int i = 0; i < n_kinds; i++)
        kind[i] = draw_kind(n_keys, r, a);
    for (int q = 0; q < n->blocks.n_blocks; q++)
        kind_of[q] = weft_rng_below(r, n_kinds);
    if (has_shared) { /* the last unit reads a parameter of the first: a kind of its own */
        weft_shared *shared = WEFT_NEW(a, weft_shared, 1);

        kind[n_kinds] = draw_kind(n_keys, r, a);
        kind[n_kinds].state.sync_bytes = kind[n_kinds].state.gradient_bytes / 2;
        kind_of[n->blocks.n_blocks - 1] = n_kinds++;
        shared[0] = (weft_shared){0, n->blocks.n_blocks - 1, -1};
        n->blocks.n_shared = 1;
        n->blocks.shared = shared;
    }
    n->work = (weft_block_work){n_kinds, kind, kind_of, n_keys, key};
    return n;
}

/* --- an objective on a small lattice --------------------------------------------------------- */

typedef struct small {
    weft_template *template_;
    weft_design_pipeline_net *net;
    const weft_design_pipeline_net *nets[1];
    weft_design_pipeline_objective q;
    double least[2]; /* throughput, of both metrics */
    int n_points;
    weft_design_point point[MOST_DESIGNS];
} small;

static int by_area(const weft_template *t, double area_mm2, weft_design_point *to, int most)
{
    int n = 0;

    for (int64_t i = 0; i < weft_template_points(t); i++) {
        weft_design_point p = weft_point_at(t, i);

        if (weft_design_point_area_mm2(t, &p) > area_mm2)
            continue;
        if (n < most)
            to[n] = p;
        n++;
    }
    return n;
}

/* The largest area with few designs. */
static void limit(small *s)
{
    double best = 0;

    s->q.limits = (weft_limits){INFINITY, INFINITY};
    for (int64_t i = 0; i < weft_template_points(s->template_); i++) {
        weft_design_point p = weft_point_at(s->template_, i);
        double area = weft_design_point_area_mm2(s->template_, &p);

        if (area > best && by_area(s->template_, area, s->point, 0) <= MOST_DESIGNS)
            best = area;
    }
    s->q.limits.area_mm2 = best;
    s->n_points = by_area(s->template_, best, s->point, MOST_DESIGNS);
}

static small small_new(uint64_t seed)
{
    weft_rng r = weft_rng_seed(seed);
    small s = {.template_ = toy_template(seed, 3)};
    weft_design_pipeline f = weft_design_pipeline_default();

    s.net = draw_net(seed % 5 == 4, seed % 4 == 3, &r);
    f.n_stages = 1 + weft_rng_below(&r, MOST_STAGES);
    f.width = 1 + weft_rng_below(&r, 2);
    f.replicas = 1 + weft_rng_below(&r, 2);
    f.microbatch = 1 + weft_rng_below(&r, 2);
    f.batch = f.microbatch * f.replicas * (1 + weft_rng_below(&r, 12));
    f.is_split_moments = weft_rng_below(&r, 2);
    f.between = (weft_link_cost){draw(&r, 0, 1e-5), draw(&r, 5e9, 5e11), 0, NULL, false};
    s.q = (weft_design_pipeline_objective){
        .template_ = s.template_, .design_pipeline = f, .n_nets = 1};
    s.template_->hbm_bytes = draw(&r, 20, 120) * 2 / f.n_stages;
    s.q.reference =
        weft_point_at(s.template_, weft_rng_below(&r, 3) % (int)weft_template_points(s.template_));
    if (seed % 3 != 0) /* else there is no limit */
        s.template_->constant[WEFT_PORT].value = (double)(4 << seed % 9);
    if (seed % 2 == 1)
        s.template_->constant[WEFT_DERATE].value = draw(&r, 0.8, 1);
    s.least[WEFT_METRIC_THROUGHPUT] = (double[]){0, 0, 0, 0.9, 1.1}[weft_rng_below(&r, 5)];
    s.least[WEFT_METRIC_PER_TDP] = (double[]){0.8, 0.8, 0.5, 1, 1.2}[weft_rng_below(&r, 5)];
    limit(&s);
    return s;
}

static void small_free(small *s)
{
    weft_design_pipeline_net_free(s->net);
    weft_template_free(s->template_);
}

/* --- brute force ----------------------------------------------------------------------------- */

/* A unit on a design, by the cost model itself. */
static weft_block_cost cost_on(const small *s, const weft_design *d, int unit, double *update_s)
{
    const weft_block_kind *k = &s->net->work.kind[s->net->work.kind_of[unit]];
    weft_block_cost c = k->cost;
    double again_s = k->again_collective_s;

    c.forward_s = c.forward_collective_s;
    c.backward_s = c.backward_collective_s;
    *update_s = 0;
    for (int i = 0; i < k->n_jobs; i++) {
        double x = k->job[i].count * weft_design_cost(d, &s->net->work.key[k->job[i].key]).seconds;

        *(k->job[i].phase == WEFT_FORWARD    ? &c.forward_s
          : k->job[i].phase == WEFT_BACKWARD ? &c.backward_s
                                             : update_s) += x;
        again_s += k->job[i].is_again ? x : 0;
    }
    c.again_s[WEFT_KEEP_ALL] = 0;
    c.again_s[WEFT_KEEP_SOME] = again_s;
    c.again_s[WEFT_KEEP_NONE] = c.forward_s;
    return c;
}

typedef struct brute {
    const small *s;
    int n_points;
    const weft_design_point *point;
    weft_block_cost cost[MOST_DESIGNS + 1][MOST_UNITS];
    double update_s[MOST_DESIGNS + 1][MOST_UNITS];
    bool is_common;
    weft_metric metric;
    double most_s; /* of a step */
    /* at hand */
    int cut[MOST_STAGES + 1], design[MOST_STAGES], keep[MOST_STAGES];
    weft_arena *a;
    double best; /* value */
    double best_s;
    int64_t n_plans;
} brute;

static bool has_unit(const weft_blocks *u, int cut, int unit)
{
    return weft_bit_get(u->cut + (size_t)cut * (size_t)u->n_words, unit);
}

static bool in_stage(const brute *b, int i, int unit)
{
    const weft_blocks *u = &b->s->net->blocks;

    return has_unit(u, b->cut[i + 1], unit) && !has_unit(u, b->cut[i], unit);
}

static bool fits(const brute *b, int i)
{
    const weft_design_pipeline *f = &b->s->q.design_pipeline;
    const weft_blocks *u = &b->s->net->blocks;
    int64_t m = f->batch / f->microbatch / f->replicas, ahead = f->n_stages - i;
    double bytes = 0, work = 0;

    ahead = ahead < m ? ahead : m;
    for (int q = 0; q < u->n_blocks; q++) {
        const weft_block_kind *k = &b->s->net->work.kind[b->s->net->work.kind_of[q]];

        if (!in_stage(b, i, q))
            continue;
        bytes += k->state.weight_bytes + k->state.gradient_bytes +
                 k->state.moment_bytes / (f->is_split_moments ? f->replicas : 1) +
                 (double)ahead * k->cost.stash_bytes[b->keep[i]];
        work = fmax(work, k->cost.work_bytes[b->keep[i]]);
    }
    for (int k = 0; k < u->n_shared; k++) {
        const weft_block_state *x =
            &b->s->net->work.kind[b->s->net->work.kind_of[u->shared[k].other]].state;

        if (in_stage(b, i, u->shared[k].owner) && in_stage(b, i, u->shared[k].other))
            bytes -= 2 * (x->gradient_bytes - x->sync_bytes);
    }
    return bytes + work <= b->s->template_->hbm_bytes;
}

static double hop_s(const weft_design_pipeline *f, double bytes)
{
    return bytes > 0 ? f->between.latency_s + bytes / f->between.bytes_per_s : 0;
}

static void fill_stage(const brute *b, int i, weft_pipe_stage_times *to)
{
    const weft_design_pipeline *f = &b->s->q.design_pipeline;
    const weft_blocks *u = &b->s->net->blocks;
    double sync = 0, n = f->replicas;

    for (int q = 0; q < u->n_blocks; q++) {
        const weft_block_cost *c = &b->cost[b->design[i]][q];

        if (!in_stage(b, i, q))
            continue;
        to->forward_s[i] += c->forward_s;
        to->backward_s[i] += c->backward_s + c->again_s[b->keep[i]];
        to->update_s[i] += b->update_s[b->design[i]][q] / (f->is_split_moments ? n : 1);
        sync += b->s->net->work.kind[b->s->net->work.kind_of[q]].state.sync_bytes;
    }
    if (i + 1 < f->n_stages) {
        to->send_s[i] = hop_s(f, (double)f->microbatch * u->leave_bytes[b->cut[i + 1]]);
        to->return_s[i] = hop_s(f, (double)f->microbatch * u->back_bytes[b->cut[i + 1]]);
    }
    if (f->replicas > 1)
        to->sync_s[i] = 2 * (n - 1) * (f->between.latency_s + sync / n / f->between.bytes_per_s);
}

static void run_plan(brute *b)
{
    const weft_design_pipeline *f = &b->s->q.design_pipeline;
    const weft_blocks *u = &b->s->net->blocks;
    size_t mark = weft_arena_mark(b->a);
    weft_pipe_stage_times stage_times = weft_pipe_stage_times_new(f->n_stages, 1, 1, b->a);
    double power = 0, step_s, value;

    stage_times.schedule = WEFT_ONE_F_ONE_B;
    stage_times.n_microbatches = f->batch / f->microbatch / f->replicas;
    for (int i = 0; i < f->n_stages; i++) {
        fill_stage(b, i, &stage_times);
        power += f->width * f->replicas *
                 weft_design_point_tdp_w(b->s->template_, &b->point[b->design[i]]);
    }
    if (u->n_shared > 0 && !in_stage(b, f->n_stages - 1, 0)) {
        const weft_block_state *x = &b->s->net->work.kind[b->s->net->work.n_kinds - 1].state;
        double move_s = hop_s(f, x->gradient_bytes - x->sync_bytes);

        stage_times.shared[stage_times.n_shared++] =
            (weft_pipe_shared){0, f->n_stages - 1, move_s, move_s};
    }
    step_s = weft_pipe_step_s(&stage_times, b->a);
    value = (double)f->batch / step_s / (b->metric == WEFT_METRIC_PER_TDP ? power : 1);
    b->n_plans++;
    if (step_s <= b->most_s * (1 + 1e-12)) {
        b->best = fmax(b->best, value);
        b->best_s = fmin(b->best_s, step_s);
    }
    weft_arena_rewind(b->a, mark);
}

static void try_stage(brute *b, int i)
{
    const weft_blocks *u = &b->s->net->blocks;
    int n = b->s->q.design_pipeline.n_stages;

    if (i == n) {
        if (b->cut[n] == u->n_cuts - 1)
            run_plan(b);
        return;
    }
    for (int c = b->cut[i] + 1; c < u->n_cuts; c++) {
        if (!weft_cut_within(u, b->cut[i], c))
            continue;
        b->cut[i + 1] = c;
        for (b->keep[i] = 0; b->keep[i] < WEFT_N_RECOMPUTES; b->keep[i]++)
            for (int p = 0; p < b->n_points; p++) {
                if (b->is_common && i > 0 && p != b->design[0])
                    continue;
                b->design[i] = p;
                if (fits(b, i))
                    try_stage(b, i + 1);
            }
    }
}

static brute brute_of(const small *s, int n_points, const weft_design_point *point, bool is_common,
                      weft_metric metric, double most_s, weft_arena *a)
{
    brute b = {.s = s,
               .n_points = n_points,
               .point = point,
               .is_common = is_common,
               .metric = metric,
               .most_s = most_s,
               .a = a,
               .best_s = INFINITY};

    for (int p = 0; p < n_points; p++) {
        weft_design d = weft_point_design(s->template_, &point[p]);

        for (int q = 0; q < s->net->blocks.n_blocks; q++)
            b.cost[p][q] = cost_on(s, &d, q, &b.update_s[p][q]);
    }
    try_stage(&b, 0);
    return b;
}

/* --- comparisons ----------------------------------------------------------------------------- */

typedef struct tally {
    int n_plans, n_none, n_exact;
    double worst, sum, worst_gap;
} tally;

/* Stops a search after so many designs. */
typedef struct brake {
    volatile sig_atomic_t stop;
    int left;
} brake;

static void count_down(void *context, double value, double bound)
{
    brake *b = context;

    (void)value;
    (void)bound;
    if (--b->left <= 0)
        b->stop = 1;
}

static weft_design_pipeline_found found_until(small *s, bool is_per_stage, weft_metric metric,
                                              int n_looks, weft_arena *a)
{
    brake b = {.stop = n_looks == 0, .left = n_looks};
    weft_run run = toy_run(1, 0, a);
    weft_design_pipeline_found out;

    run.stop = &b.stop;
    run.progress = count_down;
    run.context = &b;
    s->nets[0] = s->net;
    s->q.net = s->nets;
    s->q.is_per_stage = is_per_stage;
    s->q.metric = metric;
    s->q.least_throughput = s->least[metric];
    CHECK_OK(weft_mine_cluster(&s->q, &run, a, &out));
    CHECK_INT(out.n_feasible, s->n_points);
    return out;
}

static weft_design_pipeline_found found(small *s, bool is_per_stage, weft_metric metric,
                                        weft_arena *a)
{
    return found_until(s, is_per_stage, metric, INT32_MAX, a);
}

/* What a search says that was stopped on its way. */
static void check_stopped(small s, bool is_per_stage, weft_metric metric, int n_looks,
                          const brute *b)
{
    weft_arena *a = weft_arena_new();
    weft_design_pipeline_found out = found_until(&s, is_per_stage, metric, n_looks, a);

    CHECK(out.value <= b->best * (1 + 1e-8));
    CHECK(out.bound >= b->best * (1 - 1e-9));
    CHECK(out.outcome != WEFT_INFEASIBLE || !(b->best > 0));
    CHECK(out.outcome != WEFT_OPTIMAL || out.value >= b->best * (1 - 1e-8));
    weft_arena_free(a);
}

static void check_common(const weft_design_pipeline_found *out, const brute *b, tally *t)
{
    t->n_plans += b->best > 0;
    t->n_none += !(b->best > 0);
    if (!(b->best > 0)) {
        CHECK_INT(out->outcome, WEFT_INFEASIBLE);
        CHECK(out->reason != NULL && out->plan == NULL);
        return;
    }
    CHECK_INT(out->outcome, WEFT_OPTIMAL);
    CHECK(fabs(out->value / b->best - 1) <= 1e-8);
    CHECK(out->bound >= b->best * (1 - 1e-9));
}

static void check_stages(const weft_design_pipeline_found *out, const brute *b,
                         const weft_design_pipeline_found *common, tally *t)
{
    if (!(b->best > 0)) {
        CHECK(!(out->value > 0) && !(out->bound > 0 && out->outcome == WEFT_INFEASIBLE));
        return;
    }
    CHECK(out->value <= b->best * (1 + 1e-8));
    CHECK(out->bound >= b->best * (1 - 1e-9));
    CHECK(out->outcome != WEFT_OPTIMAL || out->value >= b->best * (1 - 1e-8));
    CHECK(out->value >= common->value);
    CHECK(out->value > 0);
    CHECK(out->plan[0].bound_s <= b->best_s * (1 + 1e-9));
    t->n_plans++;
    t->n_exact += out->value >= b->best * (1 - 1e-8);
    t->worst = fmin(t->worst, out->value / b->best);
    t->sum += out->value / b->best;
    t->worst_gap = fmax(t->worst_gap, out->gap);
}

/* Its decisions alone are worth the same, and nothing is above what is certified without a search.
 */
static void check_again(const small *s, const weft_design_pipeline_found *out, const brute *b,
                        weft_arena *a)
{
    weft_design_pipeline_found again = *out;
    double top = 0;

    if (!(out->value > 0))
        return;
    CHECK_OK(weft_design_pipeline_measure(&s->q, a, &again, &top));
    CHECK_NEAR(again.value / out->value, 1.0);
    CHECK(top >= b->best * (1 - 1e-9));
}

TEST(designs_are_those_of_brute_force)
{
    tally common[2] = {{0}}, stages[2] = {{.worst = 1}, {.worst = 1}};

    for (uint64_t seed = 0; seed < n_drawn(300, 2000); seed++) {
        weft_arena *a = weft_arena_new();
        small s = small_new(seed);
        brute reference =
            brute_of(&s, 1, &s.q.reference, true, WEFT_METRIC_THROUGHPUT, INFINITY, a);

        for (int m = 0; m < 2; m++) {
            weft_metric metric = m ? WEFT_METRIC_PER_TDP : WEFT_METRIC_THROUGHPUT;
            weft_design_pipeline_found one = found(&s, false, metric, a),
                                       each = found(&s, true, metric, a);
            double most_s = INFINITY;
            brute b;

            if (one.reference_throughput > 0) { /* its partition is good, not always the best */
                double step_s = (double)s.q.design_pipeline.batch / one.reference_throughput;

                CHECK(step_s >= reference.best_s * (1 - 1e-9));
                CHECK(step_s <= reference.best_s * 1.25);
                most_s = s.least[m] > 0 ? step_s / s.least[m] : INFINITY;
            }
            b = brute_of(&s, s.n_points, s.point, true, metric, most_s, a);
            check_common(&one, &b, &common[m]);
            check_stopped(s, false, metric, (int)(seed % 5), &b);
            b = brute_of(&s, s.n_points, s.point, false, metric, most_s, a);
            check_stages(&each, &b, &one, &stages[m]);
            check_again(&s, &each, &b, a);
            check_stopped(s, true, metric, (int)(seed % 7), &b);
        }
        small_free(&s);
        weft_arena_free(a);
    }
    for (int m = 0; m < 2; m++) {
        print_message("metric %d: %d plans, %d without; per stage: %d of %d exact, mean %.5f, "
                      "worst %.4f, worst gap %.3f\n",
                      m, common[m].n_plans, common[m].n_none, stages[m].n_exact, stages[m].n_plans,
                      stages[m].sum / stages[m].n_plans, stages[m].worst, stages[m].worst_gap);
        CHECK(!IS_THOROUGH || (common[m].n_plans > 100 && common[m].n_none > 5));
        CHECK(getenv("WEFT_LONG_TESTS") || stages[m].worst > 0.97); /* rare ones are worse */
        CHECK(stages[m].n_exact > stages[m].n_plans * 9 / 10);
    }
}

/* --- what the simulator says ----------------------------------------------------------------- */

/* A class of devices for each stage, in the order of stages. */
static weft_platform *platform_of(const small *s, weft_arena *a)
{
    const weft_design_pipeline *f = &s->q.design_pipeline;
    const char *text = "schema: weft.platform/1\nname: fleet\ntransfer: overlap\n"
                       "switches: [fabric]\ngroups:\n";
    const char *list = "";
    weft_platform *p = NULL;

    for (int i = 0; i < f->n_stages; i++) {
        text = weft_arena_print(
            a,
            "%s  - name: s%d\n    count: %d\n    switches: [hub]\n    devices:\n"
            "      - {name: gpu, count: %d, model: roofline, peak_flops: %de12,\n"
            "         memory_bandwidth: 100GB/s, memory: 100kB}\n    links:\n"
            "      - {star: {center: hub, to: [gpu]}, bandwidth: 900GB/s, latency: 1us}\n",
            text, i, f->replicas, f->width, 9 - i);
        list = weft_arena_print(a, "%s%ss%d.gpu", list, i > 0 ? ", " : "", i);
    }
    text = weft_arena_print(a,
                            "%slinks:\n  - {star: {center: fabric, to: [%s]}, bandwidth: %.17gB/s, "
                            "latency: %.17gs}\n",
                            text, list, f->between.bytes_per_s, f->between.latency_s / 2);
    CHECK_OK(weft_platform_parse(text, strlen(text), "pipeline", &p));
    return p;
}

static weft_train_problem *training_of(const small *s, const weft_platform *p,
                                       const weft_design_pipeline_plan *plan, weft_arena *a)
{
    const weft_design_pipeline *f = &s->q.design_pipeline;
    int width[2] = {1, f->width}, n_widths = f->width > 1 ? 2 : 1;
    int64_t share[2] = {1, f->microbatch};
    int n_shares = f->microbatch > 1 ? 2 : 1, n = s->net->blocks.n_blocks;
    int n_tables = f->n_stages * n_widths * n_shares;
    const weft_block_cost **cost = WEFT_NEW(a, const weft_block_cost *, n_tables);
    const weft_block_state **state = WEFT_NEW(a, const weft_block_state *, n_tables);
    weft_train_problem_spec spec = {.name = "pipeline",
                                    .platform = p,
                                    .blocks = s->net->blocks,
                                    .n_widths = n_widths,
                                    .n_shares = n_shares,
                                    .width = width,
                                    .share = share,
                                    .cost = cost,
                                    .state = state};
    weft_train_problem *t = NULL;

    spec.constraints = (weft_train_constraints){.batch = f->batch,
                                                .schedules = 1u << WEFT_ONE_F_ONE_B,
                                                .recomputes = (1u << WEFT_N_RECOMPUTES) - 1,
                                                .most_chunks = 1,
                                                .zero = f->is_split_moments};
    for (int i = 0; i < f->n_stages; i++) {
        weft_design d = weft_point_design(s->template_, &plan->stage[i].point);
        weft_block_cost *c = WEFT_NEW(a, weft_block_cost, n);
        weft_block_state *x = WEFT_NEW(a, weft_block_state, n);

        for (int q = 0; q < n; q++) {
            x[q] = s->net->work.kind[s->net->work.kind_of[q]].state;
            c[q] = cost_on(s, &d, q, &x[q].update_s);
        }
        for (int w = 0; w < n_widths * n_shares; w++) {
            state[i * n_widths * n_shares + w] = x;
            cost[i * n_widths * n_shares + w] = c;
        }
    }
    CHECK_OK(weft_train_problem_make(&spec, &t));
    return t;
}

static void check_simulated(const small *s, const weft_design_pipeline_plan *plan, weft_arena *a)
{
    const weft_design_pipeline *f = &s->q.design_pipeline;
    weft_platform *p = platform_of(s, a);
    weft_train_problem *t = training_of(s, p, plan, a);
    weft_train_plan x = {.schedule = WEFT_ONE_F_ONE_B,
                         .microbatch = f->microbatch * f->replicas,
                         .n_stages = f->n_stages,
                         .n_chunks = 1,
                         .cut = WEFT_NEW(a, int, f->n_stages + 1),
                         .stage = WEFT_NEW(a, weft_stage, f->n_stages)};
    weft_train_measures m;

    for (int i = 0; i < f->n_stages; i++) {
        x.cut[i + 1] = plan->stage[i].last_cut;
        CHECK_INT(x.cut[i], plan->stage[i].first_cut);
        x.stage[i] =
            (weft_stage){.width = f->width, .n_parts = 1, .recompute = plan->stage[i].recompute};
        x.stage[i].part[0] = (weft_device_set_part){i, f->replicas, 0, 1, f->microbatch};
    }
    CHECK_OK(weft_train_plan_evaluate(t, &x, a, &m));
    CHECK(fabs(m.step_s / plan->step_s - 1) <= 1e-9);
    for (int i = 0; i < f->n_stages; i++) {
        const weft_design_pipeline_stage *y = &plan->stage[i];

        CHECK(fabs(m.figures[i].forward_s / y->forward_s - 1) <= 1e-9);
        CHECK_NEAR(m.figures[i].send_s, y->send_s);
        CHECK(fabs(m.stage_peak_bytes[i] / y->memory_bytes - 1) <= 1e-9);
        CHECK(y->memory_bytes <= s->template_->hbm_bytes * (1 + 1e-12));
    }
    weft_train_problem_free(t);
    weft_platform_free(p);
}

TEST(plans_are_worth_what_the_simulator_says)
{
    int n_plans = 0;

    for (uint64_t seed = 1000; seed < 1000 + N_DRAWN(200); seed++) {
        weft_arena *a = weft_arena_new();
        small s = small_new(seed);
        weft_design_pipeline_found out =
            found(&s, seed % 2, seed % 3 ? WEFT_METRIC_PER_TDP : WEFT_METRIC_THROUGHPUT, a);

        if (out.plan != NULL) {
            double power = 0;

            check_simulated(&s, out.plan, a);
            for (int i = 0; i < s.q.design_pipeline.n_stages; i++)
                power += out.plan->stage[i].tdp_w;
            CHECK_NEAR(out.tdp_w, power * s.q.design_pipeline.width * s.q.design_pipeline.replicas);
            CHECK_NEAR(out.throughput, (double)s.q.design_pipeline.batch / out.plan->step_s);
            n_plans++;
        }
        small_free(&s);
        weft_arena_free(a);
    }
    CHECK(!IS_THOROUGH || n_plans > 100);
}

/* --- several networks ------------------------------------------------------------------------ */

TEST(several_networks_share_a_design_by_their_geometric_mean)
{
    for (uint64_t seed = 2000; seed < 2000 + N_DRAWN(60); seed++) {
        weft_arena *a = weft_arena_new();
        weft_rng r = weft_rng_seed(seed);
        small s = small_new(seed);
        weft_design_pipeline_net *second = draw_net(false, false, &r);
        const weft_design_pipeline_net *nets[2] = {s.net, second};
        weft_run run = toy_run(1, 0, a);
        weft_design_pipeline_found both, one;
        double best = 0;

        second->weight = 2;
        s.template_->hbm_bytes = 1e6;
        s.q.net = nets;
        s.q.n_nets = 2;
        CHECK_OK(weft_mine_cluster(&s.q, &run, a, &both));
        CHECK_INT(both.outcome, WEFT_OPTIMAL);
        for (int p = 0; p < s.n_points; p++) {
            double sum = 0;

            for (int i = 0; i < 2; i++) {
                small alone = s;
                brute here, there;

                alone.net = i ? second : s.net;
                here = brute_of(&alone, 1, &s.point[p], true, WEFT_METRIC_THROUGHPUT, INFINITY, a);
                there =
                    brute_of(&alone, 1, &s.q.reference, true, WEFT_METRIC_THROUGHPUT, INFINITY, a);
                sum += nets[i]->weight * log(there.best_s / here.best_s);
            }
            best = fmax(best, exp(sum / 3));
        }
        /* the reference's partition is good, not always the best: then shares are larger */
        CHECK(both.value >= best * (1 - 1e-8));
        CHECK(both.value <= best * 1.25);
        s.q.is_per_stage = true;
        CHECK_FAILS(weft_mine_cluster(&s.q, &run, a, &one), "one network only");
        weft_design_pipeline_net_free(second);
        small_free(&s);
        weft_arena_free(a);
    }
}

TEST(what_cannot_be_asked_is_said)
{
    weft_arena *a = weft_arena_new();
    small s = small_new(1);
    weft_run run = toy_run(1, 0, a);
    weft_design_pipeline_objective good;
    weft_design_pipeline_found out;

    s.nets[0] = s.net;
    s.q.net = s.nets;
    good = s.q;
    s.q.design_pipeline.batch =
        s.q.design_pipeline.microbatch * s.q.design_pipeline.replicas * 3 + 1;
    if (s.q.design_pipeline.microbatch * s.q.design_pipeline.replicas > 1)
        CHECK_FAILS(weft_mine_cluster(&s.q, &run, a, &out), "cannot be divided");
    s.q = good;
    s.q.metric = WEFT_METRIC_PER_TDP;
    CHECK_FAILS(weft_mine_cluster(&s.q, &run, a, &out), "least throughput");
    s.q = good;
    s.q.design_pipeline.n_stages = 0;
    CHECK_FAILS(weft_mine_cluster(&s.q, &run, a, &out), "at least 1");
    s.q = good;
    s.q.design_pipeline.recomputes = 0;
    CHECK_FAILS(weft_mine_cluster(&s.q, &run, a, &out), "keep results");
    s.q = good;
    s.q.limits.area_mm2 = 1;
    CHECK_OK(weft_mine_cluster(&s.q, &run, a, &out));
    CHECK_INT(out.outcome, WEFT_INFEASIBLE);
    CHECK(strstr(out.reason, "limits") != NULL);
    s.q = good;
    s.q.design_pipeline.n_stages = 7;
    CHECK_OK(weft_mine_cluster(&s.q, &run, a, &out));
    CHECK_INT(out.outcome, WEFT_INFEASIBLE);
    CHECK(strstr(out.reason, "fewer than 7 stages") != NULL);
    small_free(&s);
    weft_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(designs_are_those_of_brute_force),
        cmocka_unit_test(plans_are_worth_what_the_simulator_says),
        cmocka_unit_test(several_networks_share_a_design_by_their_geometric_mean),
        cmocka_unit_test(what_cannot_be_asked_is_said),
    };

    return RUN_TESTS(tests);
}
