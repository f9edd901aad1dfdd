/* SPDX-License-Identifier: MIT */
/* Schedules of small random networks on cores: bounds, the optimum by linear programming, the
 * policy, and an independent checker and list scheduler. Bounds of boxes against their members. */

#include "check.h"
#include "eval_oracle.h"

#include <stdio.h>

#include "model.h"
#include "nets.h"
#include "workload_eval.h"

static const char small_template[] =
    "schema: weft.template/1\n"
    "name: small\n"
    "sizes:\n"
    "  rows: [8, 16, 32]\n"
    "  cols: [8, 16]\n"
    "  tensor_cores: [1, 2, 3]\n"
    "  lanes: [4, 16]\n"
    "  vector_cores: [1, 2, 3]\n"
    "  buffer: [64KiB, 1MiB]\n"
    "clock: 1GHz\n"
    "port: 250B\n"
    "hbm: {bandwidth: 100GB/s, efficiency: 0.8, size: 16GiB}\n"
    "area: {fixed: 1mm2, pe: 1000um2, lane: 3000um2, "
    "sram_per_MiB: 1.2mm2}\n"
    "power: {fixed: 1W, mac: 2pJ, lane: 8pJ}\n"
    "l2: {bytes_per_pe: 16B, least: 1KiB}\n"
    "dataflow: best\n"
    "state_bytes: 8\n"
    "designs:\n"
    "  - {name: first, rows: 8, cols: 8, tensor_cores: 1, lanes: 4, "
    "vector_cores: 1, buffer: 1MiB}\n";

static weft_template *read_template(void)
{
    weft_template *t;

    CHECK_OK(weft_template_parse(small_template, sizeof small_template - 1, "small", &t));
    return t;
}

static weft_workload_eval *new_eval(const weft_graph *g, const weft_template *t)
{
    weft_workload_eval *m;

    CHECK_OK(weft_eval_new(g, t, &m));
    return m;
}

static weft_design_point random_point(const weft_template *t, weft_rng *r)
{
    weft_design_point p;

    for (int k = 0; k < WEFT_N_PARAMETERS; k++)
        p.at[k] = (uint16_t)weft_rng_below(r, t->n_sizes[k]);
    return p;
}

/* --- random networks */

enum { ROWS = 128, MOST_VALUES = 64 };

typedef struct values {
    int n;
    int at[MOST_VALUES], width[MOST_VALUES];
    bool is_read[MOST_VALUES];
} values;

static int product(net_fixture *f, int value, int from, int to)
{
    char shape[32];

    (void)snprintf(shape, sizeof shape, "%dx%d", from, to);
    return net_op(f, "MatMul", (int[]){value, net_weight(f, shape)}, 2, "");
}

/* One more operator: a product with weights, a sum, a softmax, an activation, a concatenation. */
static void add_operator(net_fixture *f, values *v, weft_rng *r)
{
    int a = weft_rng_below(r, v->n), b = weft_rng_below(r, v->n), kind = weft_rng_below(r, 10);
    int width = v->width[a], value;

    if (kind < 5) {
        width = 64 << weft_rng_below(r, 3);
        value = product(f, v->at[a], v->width[a], width);
    } else if (kind < 7 && a != b && v->width[a] == v->width[b]) {
        value = net_op(f, "Add", (int[]){v->at[a], v->at[b]}, 2, "");
        v->is_read[b] = true;
    } else if (kind < 8) {
        value = net_op(f, "Softmax", (int[]){v->at[a]}, 1, "axis=-1");
    } else if (kind < 9 && a != b && width + v->width[b] <= 512) {
        value = net_op(f, "Concat", (int[]){v->at[a], v->at[b]}, 2, "axis=1");
        width += v->width[b];
        v->is_read[b] = true;
    } else {
        value = net_op(f, "Gelu", (int[]){v->at[a]}, 1, "");
    }
    v->is_read[a] = true;
    v->at[v->n] = value;
    v->width[v->n++] = width;
}

static net_fixture random_net(weft_rng *r, int n_operators)
{
    net_fixture f = net_start(WEFT_F16);
    values v = {1, {net_input(&f, "128x128")}, {128}, {true}};

    for (int i = 0; i < n_operators; i++)
        add_operator(&f, &v, r);
    for (int i = 1; i < v.n - 1; i++)
        if (!v.is_read[i])
            net_ask(&f, v.at[i]);
    (void)net_finish(&f, v.at[v.n - 1]);
    return f;
}

/* --- an independent checker */

typedef struct cores {
    int tensor, vector;
} cores;

static cores cores_of(const weft_template *t, const weft_design_point *p)
{
    return (cores){(int)weft_parameter_size(t, p, WEFT_TENSOR_CORES),
                   (int)weft_parameter_size(t, p, WEFT_VECTOR_CORES)};
}

/* Operands are there; at each start no more cores are in use than there are. */
static void check_schedule(const weft_graph *g, const weft_eval_schedule *s, cores all)
{
    double last_s = 0;

    for (int v = 0; v < g->n_nodes; v++)
        for (int e = g->in_at[v]; e < g->in_at[v + 1]; e++) {
            int from = s->of_node[g->in_from[e]], to = s->of_node[v];

            if (from >= 0 && to >= 0 && from != to)
                CHECK(s->start_s[to] >= s->end_s[from] * (1 - 1e-12));
        }
    for (int i = 0; i < s->n; i++) {
        cores used = {0, 0};

        CHECK(s->start_s[i] >= 0 && s->end_s[i] >= s->start_s[i]);
        for (int k = 0; k < s->n; k++)
            if (s->start_s[k] <= s->start_s[i] && s->end_s[k] > s->start_s[i] * (1 + 1e-12)) {
                used.tensor += s->n_tensor[k];
                used.vector += s->n_vector[k];
            }
        CHECK(used.tensor <= all.tensor && used.vector <= all.vector);
        last_s = fmax(last_s, s->end_s[i]);
    }
    CHECK_NEAR(s->step_s, fmax(last_s, s->floor_s));
}

/* --- list-alap of the whole network, written plainly */

typedef struct plain {
    const weft_eval_schedule *s;
    bool *edge;       /* [n * n] */
    double *bottom_s; /* longest path from an operator */
    double *end_s;    /* INFINITY: not started */
    weft_arena *a;
} plain;

static double length_s(const plain *p, int i)
{
    return p->s->end_s[i] - p->s->start_s[i];
}

static double bottom(plain *p, int i)
{
    double after_s = 0;

    if (p->bottom_s[i] > 0)
        return p->bottom_s[i];
    for (int j = 0; j < p->s->n; j++)
        if (p->edge[i * p->s->n + j])
            after_s = fmax(after_s, bottom(p, j));
    return p->bottom_s[i] = after_s + length_s(p, i);
}

static bool is_ready(const plain *p, int i, double now_s)
{
    for (int j = 0; j < p->s->n; j++)
        if (p->edge[j * p->s->n + i] && !(p->end_s[j] <= now_s * (1 + 1e-12)))
            return false;
    return isinf(p->end_s[i]);
}

static bool is_before(const plain *p, int i, int j)
{
    double gap_s = p->bottom_s[i] - p->bottom_s[j], longer_s = length_s(p, i) - length_s(p, j);

    if (fabs(gap_s) > 1e-12 * p->bottom_s[i])
        return gap_s > 0;
    return fabs(longer_s) > 1e-12 * length_s(p, i) ? longer_s > 0 : i < j;
}

static void start_all(plain *p, double now_s, cores all)
{
    const weft_eval_schedule *s = p->s;
    bool *is_tried = WEFT_NEW(p->a, bool, s->n);

    for (int k = 0; k < s->n; k++)
        if (p->end_s[k] > now_s * (1 + 1e-12) && !isinf(p->end_s[k])) {
            all.tensor -= s->n_tensor[k];
            all.vector -= s->n_vector[k];
        }
    for (;;) {
        int next = -1;

        for (int i = 0; i < s->n; i++)
            if (!is_tried[i] && is_ready(p, i, now_s) && (next < 0 || is_before(p, i, next)))
                next = i;
        if (next < 0)
            return;
        is_tried[next] = true;
        if (s->n_tensor[next] > all.tensor || s->n_vector[next] > all.vector)
            continue;
        all.tensor -= s->n_tensor[next];
        all.vector -= s->n_vector[next];
        p->end_s[next] = now_s + length_s(p, next);
    }
}

static double plain_list(const weft_graph *g, const weft_eval_schedule *s, cores all, weft_arena *a)
{
    plain p = {s, WEFT_NEW(a, bool, s->n * s->n), WEFT_NEW(a, double, s->n),
               WEFT_NEW(a, double, s->n), a};
    double now_s = 0, next_s = 0;

    for (int v = 0; v < g->n_nodes; v++)
        for (int e = g->in_at[v]; e < g->in_at[v + 1]; e++) {
            int from = s->of_node[g->in_from[e]], to = s->of_node[v];

            if (from >= 0 && to >= 0 && from != to)
                p.edge[from * s->n + to] = true;
        }
    for (int i = 0; i < s->n; i++) {
        p.end_s[i] = INFINITY;
        (void)bottom(&p, i);
    }
    while (!isinf(next_s)) {
        now_s = next_s;
        start_all(&p, now_s, all);
        next_s = INFINITY;
        for (int i = 0; i < s->n; i++)
            if (p.end_s[i] > now_s * (1 + 1e-12) && p.end_s[i] < next_s)
                next_s = p.end_s[i];
    }
    return now_s;
}

/* --- the optimum of very small networks, by trying everything */

enum { MOST_TINY = 5 };

typedef struct tiny {
    const weft_workload_eval *m;
    const weft_eval_frame *f;
    cores all;
    int way[MOST_TINY];
    double start_s[MOST_TINY], end_s[MOST_TINY]; /* of those placed */
    bool is_placed[MOST_TINY];
    double best_s;
} tiny;

static size_t tiny_entry(const tiny *x, int i)
{
    return (size_t)x->way[i] * (size_t)x->m->ops.n_classes + (size_t)x->m->ops.of_class[i];
}

static cores tiny_need(const tiny *x, int i)
{
    weft_eval_kind kind = x->m->kind[x->m->ops.of_class[i]];

    return (cores){weft_eval_tensor_need(x->f, kind, x->way[i]),
                   weft_eval_vector_need(x->f, kind, x->way[i])};
}

/* Cores of i are free in all of [start_s, end_s) among those placed. Use changes at starts. */
static bool tiny_fits(const tiny *x, int i, double start_s, double end_s)
{
    for (int at = -1; at < x->m->ops.n; at++) {
        double when_s = at < 0 ? start_s : x->start_s[at];
        cores used = tiny_need(x, i);

        if (at >= 0 && !(x->is_placed[at] && when_s >= start_s && when_s < end_s))
            continue;
        for (int k = 0; k < x->m->ops.n; k++)
            if (x->is_placed[k] && x->start_s[k] <= when_s && x->end_s[k] > when_s) {
                used.tensor += tiny_need(x, k).tensor;
                used.vector += tiny_need(x, k).vector;
            }
        if (used.tensor > x->all.tensor || used.vector > x->all.vector)
            return false;
    }
    return true;
}

/* The earliest start of i: when its operands are there, or when something ends after that. */
static double tiny_start(const tiny *x, int i)
{
    const weft_eval_ops *o = &x->m->ops;
    double ready_s = 0, best_s = INFINITY, long_s = x->f->lat_s[tiny_entry(x, i)];

    for (int e = o->in_at[i]; e < o->in_at[i + 1]; e++)
        ready_s = fmax(ready_s, x->end_s[o->in_from[e]]);
    for (int at = -1; at < o->n; at++) {
        double start_s = at < 0 ? ready_s : x->end_s[at];

        if ((at < 0 || (x->is_placed[at] && start_s >= ready_s)) && start_s < best_s &&
            tiny_fits(x, i, start_s, start_s + long_s))
            best_s = start_s;
    }
    return best_s;
}

/* Places the rest in every order: one of them gives an optimal schedule. */
static void tiny_orders(tiny *x, double bytes_s, double last_s)
{
    const weft_eval_ops *o = &x->m->ops;
    bool is_done = true;

    for (int i = 0; i < o->n; i++) {
        bool is_next = !x->is_placed[i];

        is_done = is_done && x->is_placed[i];
        for (int e = o->in_at[i]; e < o->in_at[i + 1]; e++)
            is_next = is_next && x->is_placed[o->in_from[e]];
        if (!is_next)
            continue;
        x->start_s[i] = tiny_start(x, i);
        x->end_s[i] = x->start_s[i] + x->f->lat_s[tiny_entry(x, i)];
        x->is_placed[i] = true;
        tiny_orders(x, bytes_s, fmax(last_s, x->end_s[i]));
        x->is_placed[i] = false;
    }
    if (is_done)
        x->best_s = fmin(x->best_s, fmax(bytes_s, last_s));
}

static void tiny_ways(tiny *x, int i, double bytes_s)
{
    if (i == x->m->ops.n) {
        tiny_orders(x, bytes_s, 0);
        return;
    }
    for (x->way[i] = 0; x->way[i] < x->f->ways[x->m->kind[x->m->ops.of_class[i]]].n; x->way[i]++)
        tiny_ways(x, i + 1, bytes_s + x->f->bytes_s[tiny_entry(x, i)]);
}

/* --- tests */

TEST(bounds_oracle_and_policy_keep_their_order)
{
    weft_template *t = read_template();
    int n_proved = 0, n_equal = 0;
    double sum = 0, sum_all = 0, worst = 1, n_drawn = N_MANY(210);

    for (uint64_t seed = 1; seed <= (uint64_t)n_drawn; seed++) {
        weft_rng r = weft_rng_seed(seed);
        net_fixture f = random_net(&r, seed % 8 ? 5 + weft_rng_below(&r, 4) : 9);
        weft_workload_eval *m = new_eval(f.graph, t);
        weft_design_point p = random_point(t, &r);
        double simple_s = weft_eval_simple_s(m, &p), headtail_s = weft_eval_headtail_s(m, &p);
        double step_s = weft_eval_step_s(m, &p), floor_s = weft_eval_bound_s(m, &p);
        double value_s, bound_s;

        CHECK(simple_s > 0 && simple_s <= headtail_s);
        CHECK(simple_s <= floor_s * (1 + 1e-9));
        CHECK(floor_s <= step_s);
        CHECK_OK(weft_eval_oracle(m, &p, 2, &value_s, &bound_s));
        CHECK(headtail_s <= value_s * (1 + 1e-9) && bound_s <= value_s);
        CHECK(value_s <= step_s * (1 + 1e-9));
        sum_all += step_s / fmax(bound_s, headtail_s);
        if (bound_s >= value_s * (1 - 1e-5)) {
            n_proved++;
            n_equal += step_s <= value_s * (1 + 1e-6);
            sum += step_s / value_s;
            worst = fmax(worst, step_s / value_s);
        }
        weft_eval_free(m);
        net_free(&f);
    }
    print_message("policy / optimum: %d of %.0f proved, mean %.4f, worst %.3f, equal %d; policy / "
                  "bound of all: mean %.4f\n",
                  n_proved, n_drawn, sum / n_proved, worst, n_equal, sum_all / n_drawn);
    if (IS_THOROUGH) /* how many depends on the machine: the oracle has a limit in seconds */
        CHECK(n_proved >= n_drawn / 2);
    CHECK(sum / n_proved <= 1.05 && sum_all / n_drawn <= 1.05); /* those not proved count, too */
    weft_template_free(t);
}

TEST(oracle_finds_what_trying_everything_finds)
{
    weft_template *t = read_template();
    int n_gains = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(60); seed++) {
        weft_rng r = weft_rng_seed(seed + 1000);
        net_fixture f = random_net(&r, 3 + weft_rng_below(&r, 3));
        weft_workload_eval *m = new_eval(f.graph, t);
        weft_design_point p = random_point(t, &r);
        tiny x = {.m = m, .best_s = INFINITY, .all = cores_of(t, &p)};
        double value_s, bound_s;

        CHECK(weft_eval_n_operators(m) <= MOST_TINY);
        CHECK_OK(weft_eval_oracle(m, &p, 60, &value_s, &bound_s));
        x.f = weft_eval_frame_of(m, &p);
        tiny_ways(&x, 0, 0);
        x.best_s = fmax(x.best_s, weft_eval_port_s(m, x.f));
        CHECK(fabs(value_s / x.best_s - 1) <= 1e-6 && bound_s <= x.best_s);
        n_gains += value_s < weft_eval_step_s(m, &p) * (1 - 1e-6);
        weft_eval_free(m);
        net_free(&f);
    }
    if (IS_THOROUGH)
        CHECK(n_gains > 0); /* the policy alone would not do */
    weft_template_free(t);
}

/* Small networks are cut at barriers only: the schedule is that of the whole. */
TEST(schedules_are_legal_and_those_of_a_plain_list_scheduler)
{
    weft_template *t = read_template();

    for (uint64_t seed = 1; seed <= N_DRAWN(150); seed++) {
        weft_rng r = weft_rng_seed(seed);
        net_fixture f = random_net(&r, 4 + weft_rng_below(&r, 40));
        weft_workload_eval *m = new_eval(f.graph, t);
        weft_arena *a = weft_arena_new();
        weft_design_point p = random_point(t, &r);
        weft_eval_schedule s = weft_eval_schedule_of(m, &p, a);
        cores all = cores_of(t, &p);

        check_schedule(f.graph, &s, all);
        CHECK_NEAR(s.step_s / weft_eval_step_s(m, &p), 1.0);
        CHECK_NEAR(s.step_s / fmax(plain_list(f.graph, &s, all, a), s.floor_s), 1.0);
        weft_arena_free(a);
        weft_eval_free(m);
        net_free(&f);
    }
    weft_template_free(t);
}

static bool is_inside(const weft_template *t, const weft_design_point *p, const weft_limits *l)
{
    return weft_design_point_area_mm2(t, p) <= l->area_mm2 &&
           weft_design_point_tdp_w(t, p) <= l->tdp_w;
}

/* The least step of the members within the limits; INFINITY: none is. */
static double best_member(weft_workload_eval *m, const weft_template *t, const weft_space_box *b,
                          const weft_limits *l)
{
    double best_s = INFINITY;

    for (int64_t i = 0; i < weft_template_points(t); i++) {
        weft_design_point p = weft_point_at(t, i);
        bool is_member = is_inside(t, &p, l);

        for (int k = 0; k < WEFT_N_PARAMETERS; k++)
            is_member = is_member && p.at[k] >= b->lo.at[k] && p.at[k] <= b->hi.at[k];
        if (is_member)
            best_s = fmin(best_s, weft_eval_step_s(m, &p));
    }
    return best_s;
}

static weft_space_box random_box(const weft_template *t, weft_rng *r)
{
    weft_space_box b = {random_point(t, r), random_point(t, r)};

    for (int k = 0; k < WEFT_N_PARAMETERS; k++)
        if (b.lo.at[k] > b.hi.at[k]) {
            uint16_t high = b.lo.at[k];

            b.lo.at[k] = b.hi.at[k];
            b.hi.at[k] = high;
        }
    return b;
}

/* Limits between nothing and everything: those of a random design. */
static weft_limits random_limits(const weft_template *t, weft_rng *r)
{
    weft_design_point p = random_point(t, r);

    return (weft_limits){weft_rng_below(r, 3) ? weft_design_point_area_mm2(t, &p) : INFINITY,
                         weft_rng_below(r, 3) ? weft_design_point_tdp_w(t, &p) : INFINITY};
}

static void check_boxes(const weft_graph *g, const weft_template *t, weft_rng *r, int n)
{
    weft_workload_eval *m = new_eval(g, t);

    for (int i = 0; i < n; i++) {
        weft_space_box b = random_box(t, r);
        weft_limits l = random_limits(t, r);
        double bound_s = weft_eval_box_s(m, &b, &l), best_s = best_member(m, t, &b, &l);

        CHECK(bound_s > 0 && bound_s <= best_s);
        if (isinf(bound_s))
            CHECK(!is_inside(t, &b.lo, &l));
        b.hi = b.lo; /* one design */
        bound_s = weft_eval_box_s(m, &b, &l);
        if (is_inside(t, &b.lo, &l))
            CHECK(bound_s <= weft_eval_step_s(m, &b.lo) &&
                  bound_s >= weft_eval_headtail_s(m, &b.lo));
    }
    weft_eval_free(m);
}

TEST(box_bounds_are_below_every_member)
{
    weft_template *t = read_template();

    for (uint64_t seed = 1; seed <= N_DRAWN(60); seed++) {
        weft_rng r = weft_rng_seed(seed);
        net_fixture f = random_net(&r, 3 + weft_rng_below(&r, 20));
        weft_graph *train = NULL;

        check_boxes(f.graph, t, &r, 5);
        if (weft_graph_train(f.graph, WEFT_ADAM, &train) == WEFT_OK) {
            check_boxes(train, t, &r, 5);
            weft_graph_free(train);
        }
        net_free(&f);
    }
    weft_template_free(t);
}

/* Integer counts: more of them than a box looks at one by one. */
TEST(box_bounds_with_many_counts)
{
    weft_template *t = read_template(), many = *t;
    double counts[40];

    for (int i = 0; i < 40; i++)
        counts[i] = i + 1;
    for (int k = 0; k < WEFT_N_PARAMETERS; k++)
        many.n_sizes[k] = 1;
    many.n_sizes[WEFT_TENSOR_CORES] = many.n_sizes[WEFT_VECTOR_CORES] = 40;
    many.size[WEFT_TENSOR_CORES] = many.size[WEFT_VECTOR_CORES] = counts;
    for (uint64_t seed = 1; seed <= N_DRAWN(10); seed++) {
        weft_rng r = weft_rng_seed(seed);
        net_fixture f = random_net(&r, 3 + weft_rng_below(&r, 8));

        check_boxes(f.graph, &many, &r, 3);
        net_free(&f);
    }
    weft_template_free(t);
}

/* Real networks, trained: order of bounds, legality, the same answers in any order of questions. */
TEST(networks_in_training)
{
    static const char *const names[] = {"bert:base,layers=3,seq=64", "googlenet", "gnmt",
                                        "mobilenet_v3_large"};
    weft_template *t = read_template();

    for (int i = 0; i < 4; i++) {
        weft_model_options o = {.batch = 2, .dtype = WEFT_BF16, .train = true};
        weft_model *model;
        weft_workload_eval *m, *again;
        weft_rng r = weft_rng_seed((uint64_t)i + 1);
        weft_design_point p[12];
        double step_s[12];

        CHECK_OK(weft_model_open(names[i], &o, &model));
        m = new_eval(model->graph, t);
        again = new_eval(model->graph, t);
        for (int k = 0; k < 12; k++) {
            weft_arena *a = weft_arena_new();
            weft_eval_schedule s;
            weft_conflicts c;

            p[k] = random_point(t, &r);
            step_s[k] = weft_eval_step_s(m, &p[k]);
            CHECK(weft_eval_simple_s(m, &p[k]) <= weft_eval_headtail_s(m, &p[k]));
            CHECK(weft_eval_headtail_s(m, &p[k]) <= step_s[k]);
            CHECK(weft_eval_bound_s(m, &p[k]) <= step_s[k]);
            CHECK(weft_eval_simple_s(m, &p[k]) <= weft_eval_bound_s(m, &p[k]) * (1 + 1e-9));
            s = weft_eval_schedule_of(m, &p[k], a);
            check_schedule(model->graph, &s, cores_of(t, &p[k]));
            CHECK_NEAR(s.step_s / step_s[k], 1.0);
            c = weft_eval_conflicts(m, &p[k]);
            CHECK(c.step_s == step_s[k] && c.path_s <= step_s[k] * (1 + 1e-12));
            CHECK(c.tensor >= 0 && c.vector >= 0);
            weft_arena_free(a);
        }
        for (int k = 11; k >= 0; k--)
            CHECK(weft_eval_step_s(again, &p[k]) == step_s[k]);
        weft_eval_free(m);
        weft_eval_free(again);
        weft_model_free(model);
    }
    weft_template_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_oracle_and_policy_keep_their_order),
        cmocka_unit_test(oracle_finds_what_trying_everything_finds),
        cmocka_unit_test(schedules_are_legal_and_those_of_a_plain_list_scheduler),
        cmocka_unit_test(box_bounds_are_below_every_member),
        cmocka_unit_test(box_bounds_with_many_counts),
        cmocka_unit_test(networks_in_training),
    };

    return RUN_TESTS(tests);
}
