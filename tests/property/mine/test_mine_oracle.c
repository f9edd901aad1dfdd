/* SPDX-License-Identifier: MIT */
/* Searches of designs against all designs of the template, one by one, on small random templates
 * and small networks: every registered search, without limits, with few evaluations, and stopped
 * on its way; limits that are met exactly, that nothing meets, and least throughputs around that of
 * the reference. No false optimum, no false infeasibility, no bound below a design, no front that
 * is not one, no design of ours that `weft check` refuses. Between questions: larger limits and
 * more sizes are never worse, the order of networks does not matter, no value of one search is
 * above a bound of another.
 *
 * Schedules of designs are asked of evaluations of their own; nothing of searches and bounds is used.
 * WEFT_LONG_TESTS=1 runs all 2,000 problems, else few of them. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "kind.h"

enum { MOST_DESIGNS = 729, MOST_NETS = 2, MOST_PLACES = 12 };

static const char *const files[] = {
    WEFT_TEST_DATA "/counterexamples/mine-exhaustive/m0.onnx",
    WEFT_TEST_DATA "/counterexamples/mine-inference/m0.onnx",
    WEFT_TEST_DATA "/counterexamples/mine-inference/m1.onnx",
};

static int n_problems(int few, int all)
{
    return getenv("WEFT_LONG_TESTS") ? all : N_DRAWN(few);
}

static const char *scratch_file(int which)
{
    static char path[2][32] = {"/tmp/weft_oracle_t_XXXXXX", "/tmp/weft_oracle_d_XXXXXX"};
    static bool is_made[2];

    if (!is_made[which]) {
        int fd = mkstemp(path[which]);

        CHECK(fd >= 0);
        close(fd);
        is_made[which] = true;
    }
    return path[which];
}

/* --- questions ------------------------------------------------------------------------------- */

typedef struct question {
    int n[WEFT_N_PARAMETERS], reference[WEFT_N_PARAMETERS];
    double size[WEFT_N_PARAMETERS][MOST_PLACES];
    const char *rest; /* of the template, without sizes and designs */
    weft_mine_network network[MOST_NETS];
    weft_mine_request request;
    weft_design_pipeline design_pipeline;
    double area_mm2, tdp_w; /* the limits; INFINITY: none */
    weft_arena *a;
} question;

static double one_of(weft_rng *r, const double *list, int n)
{
    return list[weft_rng_below(r, n)];
}

#define ONE_OF(r, ...)                                                                             \
    one_of(r, (const double[]){__VA_ARGS__},                                                       \
           (int)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)))

static void draw_sizes(weft_rng *r, int most, question *q)
{
    static const double usual[WEFT_N_PARAMETERS][6] = {
        {4,     8,     12,     16,     32,      64     },
        {4,     8,     16,     24,     32,      128    },
        {1,     2,     3,      4,      6,       8      },
        {4,     8,     16,     32,     64,      128    },
        {1,     2,     3,      4,      5,       8      },
        {16384, 65536, 100000, 262144, 1048576, 4194304},
    };

    for (int k = 0; k < WEFT_N_PARAMETERS; k++) {
        int at = weft_rng_below(r, 2);

        q->n[k] = 1 + weft_rng_below(r, most);
        for (int i = 0; i < q->n[k]; i++, at += 1 + weft_rng_below(r, 2))
            q->size[k][i] = usual[k][at < 6 ? at : 5];
        while (q->n[k] > 1 && q->size[k][q->n[k] - 1] == q->size[k][q->n[k] - 2])
            q->n[k]--;
        q->reference[k] = weft_rng_below(r, q->n[k]);
    }
}

/* Many sizes of one parameter: more than some searches look at. */
static void draw_many(weft_rng *r, question *q)
{
    int k = WEFT_TENSOR_CORES + weft_rng_below(r, 4);

    q->n[k] = 10 + weft_rng_below(r, 3);
    for (int i = 0; i < q->n[k]; i++)
        q->size[k][i] = (k == WEFT_BUFFER ? 40000 : 1) * (2 * i + 1);
    q->reference[k] = weft_rng_below(r, q->n[k]);
}

static const char *draw_constants(weft_rng *r, weft_arena *a)
{
    static const char *const flows[] = {"os", "ws", "is"};
    static const char *const ports[] = {"", "\"port\": \"64B\", ", "\"port\": \"1024B\", ",
                                        "\"port\": \"4096B\", "};
    static const char *const buffers[] = {
        "", "\"l2\": {\"bytes_per_pe\": \"16B\", \"least\": \"1KiB\"}, "};

    return weft_arena_print(
        a,
        "\"clock\": \"%.0fMHz\", \"hbm\": {\"bandwidth\": \"%.0fB/s\", \"efficiency\": %.17g, "
        "\"size\": \"16GiB\"}, \"area\": {\"fixed\": \"%.0fmm2\", \"pe\": \"%.0fum2\", \"lane\": "
        "\"%.0fum2\", \"sram_per_MiB\": \"0.3mm2\"}, \"power\": {\"fixed\": \"%.0fW\", \"mac\": "
        "\"%.1fpJ\", \"lane\": \"8pJ\"}, \"dataflow\": \"%s\", \"state_bytes\": 8, %s%s"
        "\"derate\": %.17g",
        ONE_OF(r, 100, 500, 940), ONE_OF(r, 1e9, 2e10, 3e11), ONE_OF(r, 1, 0.83, 0.5),
        ONE_OF(r, 1, 200), ONE_OF(r, 500, 1100), ONE_OF(r, 500, 3000), ONE_OF(r, 0, 5, 40),
        ONE_OF(r, 0.5, 2.2), flows[weft_rng_below(r, 3)], ports[weft_rng_below(r, 4)],
        buffers[weft_rng_below(r, 2)], ONE_OF(r, 1, 0.8, 0.9, 0.8 + 0.2 * weft_rng_real(r)));
}

static const char *size_text(const question *q, int parameter, int place, weft_arena *a)
{
    return weft_arena_print(a, parameter == WEFT_BUFFER ? "\"%.0fB\"" : "%.0f",
                            q->size[parameter][place]);
}

static void write_template(const question *q)
{
    const char *sizes = "", *reference = "", *text;

    for (int k = 0; k < WEFT_N_PARAMETERS; k++) {
        const char *name = weft_parameter_name((weft_parameter)k), *list = "";

        for (int i = 0; i < q->n[k]; i++)
            list = weft_arena_print(q->a, "%s%s%s", list, i ? ", " : "", size_text(q, k, i, q->a));
        sizes = weft_arena_print(q->a, "%s%s\"%s\": [%s]", sizes, k ? ", " : "", name, list);
        reference = weft_arena_print(q->a, "%s, \"%s\": %s", reference, name,
                                     size_text(q, k, q->reference[k], q->a));
    }
    text = weft_arena_print(q->a,
                            "{\"schema\": \"weft.template/1\", \"name\": \"drawn\", \"sizes\": "
                            "{%s}, %s, \"designs\": [{\"name\": \"ref\"%s}]}",
                            sizes, q->rest, reference);
    CHECK_OK(weft_file_write(scratch_file(0), text, strlen(text)));
}

static const char *draw_model(weft_rng *r, weft_arena *a)
{
    int heads = 1 + weft_rng_below(r, 3), wide = heads * 4 * (1 + weft_rng_below(r, 12));

    switch (weft_rng_below(r, 6)) {
    case 0:
        return weft_arena_print(a, "gpt2:layers=%d,hidden=%d,heads=%d,seq=%d,vocab=%d",
                                1 + weft_rng_below(r, 2), wide, heads, 1 + weft_rng_below(r, 24),
                                10 + weft_rng_below(r, 300));
    case 1:
        return weft_arena_print(a, "bert:layers=1,hidden=%d,heads=%d,seq=%d,vocab=50", wide, heads,
                                1 + weft_rng_below(r, 24));
    case 2:
        return weft_arena_print(
            a, "randwire:kind=er,nodes=%d,stages=%d,channels=%d,image=%d,classes=7,seed=%d",
            2 + weft_rng_below(r, 5), 1 + weft_rng_below(r, 2), 1 + weft_rng_below(r, 12),
            8 + weft_rng_below(r, 16), weft_rng_below(r, 1000));
    case 3:
        return weft_arena_print(a, "dlrm:tables=%d,rows=%d,dim=%d,dense=%d",
                                1 + weft_rng_below(r, 3), 5 + weft_rng_below(r, 100),
                                4 + weft_rng_below(r, 20), 1 + weft_rng_below(r, 9));
    default:
        return files[weft_rng_below(r, 3)];
    }
}

static void draw_networks(weft_rng *r, question *q)
{
    q->request.n_networks = 1 + (weft_rng_below(r, 3) == 0);
    for (int i = 0; i < q->request.n_networks; i++)
        q->network[i] = (weft_mine_network){draw_model(r, q->a), 1 + weft_rng_below(r, 8),
                                            ONE_OF(r, 1, 1, 0.5, 3)};
    q->request.options = (weft_model_options){
        .dtype = WEFT_BF16,
        .train = true,
        .optimizer = (weft_optimizer)weft_rng_below(r, 3),
    };
    q->request.options.has_software = weft_rng_below(r, 3) == 0; /* attention in one kernel */
    q->request.options.software =
        q->request.options.has_software ? WEFT_SOFTWARE_FLASH : WEFT_SOFTWARE_GRAPH;
}

static question draw_question(uint64_t seed, weft_arena *a)
{
    weft_rng r = weft_rng_seed(seed);
    question q = {.a = a, .area_mm2 = INFINITY, .tdp_w = INFINITY};

    draw_sizes(&r, seed % 8 == 0 ? 3 : 2, &q);
    if (seed % 8 == 1)
        draw_many(&r, &q);
    q.rest = draw_constants(&r, a);
    draw_networks(&r, &q);
    q.request.template_ = scratch_file(0);
    q.request.n_threads = 1;
    q.request.has_forward = true;
    q.request.metric = weft_rng_below(&r, 2) ? WEFT_METRIC_PER_TDP : WEFT_METRIC_THROUGHPUT;
    q.request.blend = weft_rng_below(&r, 4) ? WEFT_BLEND_GEOMETRIC : WEFT_BLEND_WORST;
    q.request.least_throughput = q.request.metric == WEFT_METRIC_PER_TDP
                                     ? ONE_OF(&r, 0.01, 0.5, 1, 1, 1.5, 4)
                                     : ONE_OF(&r, 0, 0, 0.5, 1, 1.5, 4);
    return q;
}

static void set_limits(question *q, double area_mm2, double tdp_w)
{
    q->area_mm2 = area_mm2;
    q->tdp_w = tdp_w;
    q->request.area = area_mm2 < INFINITY ? weft_arena_print(q->a, "%.17gmm2", area_mm2) : NULL;
    q->request.power = tdp_w < INFINITY ? weft_arena_print(q->a, "%.17gW", tdp_w) : NULL;
}

/* What a design takes, by the formulas of docs/formats.md. */
static double cost_of(const weft_template *t, const weft_design_point *p, bool is_area)
{
    const weft_constant *c = t->constant;
    double pe = t->size[WEFT_ROWS][p->at[WEFT_ROWS]] * t->size[WEFT_COLS][p->at[WEFT_COLS]];
    double cores = t->size[WEFT_TENSOR_CORES][p->at[WEFT_TENSOR_CORES]];
    double lanes = t->size[WEFT_LANES][p->at[WEFT_LANES]] *
                   t->size[WEFT_VECTOR_CORES][p->at[WEFT_VECTOR_CORES]];
    double own_bytes = fmax(t->l2_least_bytes, t->l2_bytes_per_pe * pe);
    double bytes = cores * own_bytes + t->size[WEFT_BUFFER][p->at[WEFT_BUFFER]];

    if (!is_area)
        return c[WEFT_POWER_FIXED].value +
               c[WEFT_CLOCK].value *
                   (c[WEFT_POWER_MAC].value * pe * cores + c[WEFT_POWER_LANE].value * lanes);
    return c[WEFT_AREA_FIXED].value + cores * pe * c[WEFT_AREA_PE].value +
           lanes * c[WEFT_AREA_LANE].value + bytes / 1048576 * c[WEFT_AREA_SRAM].value;
}

/* --- all designs ----------------------------------------------------------------------------- */

typedef struct lattice {
    int n_all, n; /* designs; within the limits */
    weft_mined design[MOST_DESIGNS];
    double value[MOST_DESIGNS];
    double best, least;
} lattice;

static void next_point(const weft_template *t, weft_design_point *p)
{
    for (int k = 0; k < WEFT_N_PARAMETERS; k++) {
        if (++p->at[k] < t->n_sizes[k])
            return;
        p->at[k] = 0;
    }
}

static double throughput_of(const weft_mine_case *c, weft_workload_eval **eval,
                            const weft_design_point *p)
{
    const weft_objective *q = &c->objective;
    double product = 1, weights = 0, worst = INFINITY;

    for (int i = 0; i < q->n_workloads; i++) {
        double step_s = weft_eval_step_s(eval[i], p);
        double share = weft_eval_step_s(eval[i], &q->reference) / step_s;

        if (q->n_workloads == 1)
            return q->workload[0].batch / step_s;
        worst = fmin(worst, share);
        product *= pow(share, q->workload[i].weight);
        weights += q->workload[i].weight;
    }
    return q->blend == WEFT_BLEND_WORST ? worst : pow(product, 1 / weights);
}

/* Designs whose throughput is the least one but for rounding may count or not. */
static bool is_on_edge(const lattice *l, double throughput)
{
    return fabs(throughput - l->least) <= 1e-12 * l->least;
}

static void list_all(const weft_mine_case *c, lattice *l)
{
    const weft_template *t = c->template_;
    weft_workload_eval *eval[MOST_NETS];
    weft_design_point p = {{0}};

    for (int i = 0; i < c->objective.n_workloads; i++)
        CHECK_OK(weft_eval_new(c->trained[i]->graph, t, &eval[i]));
    *l = (lattice){.n_all = (int)weft_template_points(t)};
    l->least = c->objective.least_throughput * throughput_of(c, eval, &c->objective.reference);
    for (int i = 0; i < l->n_all; i++, next_point(t, &p)) {
        weft_mined m = {p, 0, weft_design_point_tdp_w(t, &p), weft_design_point_area_mm2(t, &p)};

        CHECK_NEAR(m.area_mm2 / cost_of(t, &p, true), 1.0);
        CHECK(fabs(m.tdp_w - cost_of(t, &p, false)) <= 1e-12 * m.tdp_w);
        if (m.area_mm2 > c->objective.limits.area_mm2 || m.tdp_w > c->objective.limits.tdp_w)
            continue;
        m.throughput = throughput_of(c, eval, &p);
        l->value[l->n] =
            c->objective.metric == WEFT_METRIC_PER_TDP ? m.throughput / m.tdp_w : m.throughput;
        if (m.throughput < l->least && !is_on_edge(l, m.throughput))
            l->value[l->n] = 0;
        l->best = fmax(l->best, l->value[l->n]);
        l->design[l->n++] = m;
    }
    for (int i = 0; i < c->objective.n_workloads; i++)
        weft_eval_free(eval[i]);
}

static int find_design(const lattice *l, const weft_design_point *p)
{
    for (int i = 0; i < l->n; i++)
        if (memcmp(&l->design[i].point, p, sizeof *p) == 0)
            return i;
    return -1;
}

/* --- what a search says ---------------------------------------------------------------------- */

typedef struct tally {
    int n_problems, n_runs, n_optimal, n_infeasible, n_open, n_fronts, n_checked, n_related;
} tally;

static tally total;

typedef struct trial {
    const question *q;
    const weft_mine_case *c;
    const lattice *l;
    const char *solver;
    int64_t most; /* evaluations; 0: no limit */
    uint64_t seed;
    bool is_cut; /* stopped on its way */
} trial;

#define EXPECT(t, condition)                                                                       \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg("seed %llu, %s, %lld evaluations%s: not so: %s",                              \
                     (unsigned long long)(t)->seed, (t)->solver, (long long)(t)->most,             \
                     (t)->is_cut ? ", stopped" : "", #condition);                                  \
    } while (0)

static bool is_no_worse(const weft_mined *a, const weft_mined *b, double slack)
{
    return a->throughput * (1 + slack) >= b->throughput && a->tdp_w <= b->tdp_w &&
           a->area_mm2 <= b->area_mm2;
}

static void expect_front(const trial *t, const weft_found *f)
{
    const lattice *l = t->l;

    for (int i = 0; i < f->n_front; i++) {
        int at = find_design(l, &f->front[i].point);

        EXPECT(t, at >= 0);
        EXPECT(t, fabs(f->front[i].throughput / l->design[at].throughput - 1) <= 1e-9);
        for (int j = 0; j < f->n_front; j++)
            EXPECT(t, i == j || !is_no_worse(&f->front[j], &f->front[i], 0));
    }
    for (int i = 0; i < l->n && f->is_front_proved; i++) {
        int by = 0;

        while (by < f->n_front && !is_no_worse(&f->front[by], &l->design[i], 3e-9))
            by++;
        EXPECT(t, by < f->n_front);
    }
    total.n_fronts += f->is_front_proved;
}

static void expect_design(const trial *t, const weft_found *f)
{
    int at = find_design(t->l, &f->point);

    EXPECT(t, at >= 0);
    EXPECT(t, t->l->value[at] > 0);
    EXPECT(t, fabs(f->value / t->l->value[at] - 1) <= 1e-9);
    EXPECT(t, fabs(f->throughput / t->l->design[at].throughput - 1) <= 1e-9);
}

/* A best design on the edge of the least throughput may be missed by rounding. */
static bool has_edge(const lattice *l)
{
    for (int i = 0; i < l->n; i++)
        if (l->value[i] > 0 && is_on_edge(l, l->design[i].throughput))
            return true;
    return false;
}

static double certain_best(const lattice *l)
{
    double best = 0;

    for (int i = 0; i < l->n; i++)
        if (!is_on_edge(l, l->design[i].throughput))
            best = fmax(best, l->value[i]);
    return best;
}

static bool is_proving(const char *solver)
{
    static const char *const list[] = {"auto", "certified", "exhaustive", "boxes", "front"};

    for (int i = 0; i < 5; i++)
        if (strcmp(solver, list[i]) == 0)
            return true;
    return false;
}

static void expect_truth(const trial *t, const weft_found *f)
{
    /* one network: throughputs are compared as they are; several: a mean has another rounding */
    double best = t->q->request.n_networks > 1 ? certain_best(t->l) : t->l->best;

    EXPECT(t, f->bound >= best * (1 - 1e-9));
    EXPECT(t, f->schedule_bound >= f->bound);
    EXPECT(t, f->outcome != WEFT_INFEASIBLE || best == 0);
    EXPECT(t, f->outcome != WEFT_OPTIMAL || f->value >= best * (1 - 2e-9));
    EXPECT(t, (f->value > 0) == (f->outcome == WEFT_OPTIMAL || f->outcome == WEFT_BOUNDED));
    EXPECT(t, f->value > 0 || f->reason != NULL);
    if (f->value > 0)
        expect_design(t, f);
    if (is_proving(t->solver) && t->most == 0 && !t->is_cut)
        EXPECT(t, f->outcome == WEFT_OPTIMAL || f->outcome == WEFT_INFEASIBLE);
    expect_front(t, f);
    total.n_runs++;
    total.n_optimal += f->outcome == WEFT_OPTIMAL;
    total.n_infeasible += f->outcome == WEFT_INFEASIBLE;
    total.n_open += f->outcome == WEFT_BOUNDED || f->outcome == WEFT_UNKNOWN;
}

/* --- runs ------------------------------------------------------------------------------------ */

/* Stops a search after so many designs, as a user does. */
typedef struct brake {
    volatile sig_atomic_t stop;
    int64_t left;
} brake;

static bool find_none(void *context, int64_t index, double *step_s)
{
    (void)context;
    (void)index;
    (void)step_s;
    return false;
}

static weft_status count_down(void *context, int n, const int64_t *index, const double *step_s)
{
    brake *b = context;

    (void)index;
    (void)step_s;
    b->left -= n;
    if (b->left <= 0)
        b->stop = 1;
    return WEFT_OK;
}

/* cut_after: below 0: never; 0: before the first design. */
static weft_found run_trial(trial *t, int64_t cut_after, weft_arena *a)
{
    brake b = {.stop = cut_after == 0, .left = cut_after < 0 ? INT64_MAX : cut_after};
    weft_eval_cache eval_cache = {find_none, count_down, &b};
    weft_run run = {.seed = (int64_t)t->seed,
                    .n_threads = 1,
                    .limit_s = INFINITY,
                    .scratch = weft_arena_new(),
                    .stop = &b.stop};
    weft_found f;

    t->is_cut = cut_after >= 0;
    CHECK_OK(weft_miner_find(t->solver)->mine(&t->c->objective, &eval_cache, t->most, &run, a, &f));
    expect_truth(t, &f);
    weft_arena_free(run.scratch);
    return f;
}

/* --- files ----------------------------------------------------------------------------------- */

static void expect_accepted(const trial *t, const char *text)
{
    weft_arena *a = weft_arena_new();
    weft_check_result v;

    CHECK_OK(weft_file_write(scratch_file(1), text, strlen(text)));
    CHECK_OK(weft_verify(scratch_file(1), NULL, NULL, a, &v));
    if (v.n_wrong > 0)
        fail_msg("seed %llu, %s, %lld evaluations: check says: %s", (unsigned long long)t->seed,
                 t->solver, (long long)t->most, v.wrong[0]);
    weft_check_result_close(&v);
    weft_arena_free(a);
    total.n_checked++;
}

static void expect_checked(const trial *t, const weft_found *f, weft_arena *a)
{
    static const char *const optimizers[] = {"sgd", "momentum", "adam"};
    weft_mine_figure figure[MOST_NETS];
    weft_mine_report r = {.objective = &t->c->objective,
                          .found = f,
                          .figure = figure,
                          .solver = t->solver,
                          .dtype = "bf16",
                          .optimizer = optimizers[t->q->request.options.optimizer],
                          .options = &t->q->request.options,
                          .seed = (int64_t)t->seed,
                          .evaluations = t->most};

    for (int i = 0; i < t->c->objective.n_workloads && f->value > 0; i++) {
        weft_workload_eval *eval = t->c->objective.workload[i].eval[0];

        figure[i] =
            (weft_mine_figure){.macs = t->c->need[i].macs,
                               .memory_bytes = t->c->need[i].memory_bytes,
                               .fits = t->c->need[i].fits,
                               .step_s = weft_eval_step_s(eval, &f->point),
                               .schedule_s = weft_eval_headtail_s(eval, &f->point),
                               .reference_s = weft_eval_step_s(eval, &t->c->objective.reference)};
    }
    if (f->value > 0)
        expect_accepted(t, weft_doc_json(weft_mine_design_doc(&r, a), 0, a));
}

/* --- one question, all searches -------------------------------------------------------------- */

/* Baselines that draw until they have seen enough would draw long on small lattices. */
static bool is_drawing(const char *solver)
{
    static const char *const list[] = {"random", "anneal", "genetic", "surrogate"};

    for (int i = 0; i < 4; i++)
        if (strcmp(solver, list[i]) == 0)
            return true;
    return false;
}

typedef struct extremes {
    double value, bound; /* largest value, least bound of all runs of a question */
} extremes;

static void note(extremes *x, const weft_found *f)
{
    x->value = fmax(x->value, f->value);
    x->bound = fmin(x->bound, f->bound);
}

static extremes try_all(const question *q, const weft_mine_case *c, const lattice *l, uint64_t seed)
{
    weft_rng r = weft_rng_seed(seed + 1);
    extremes x = {0, INFINITY};

    for (int i = 0; i < weft_miner_count(); i++) {
        weft_arena *a = weft_arena_new();
        trial t = {q, c, l, weft_miner_at(i)->name, 0, seed, false};
        weft_found f;

        if (!is_drawing(t.solver)) {
            f = run_trial(&t, -1, a);
            note(&x, &f);
            f = run_trial(&t, weft_rng_below(&r, l->n_all + 1), a);
            note(&x, &f);
        }
        t.most = 1 + weft_rng_below(&r, l->n_all);
        f = run_trial(&t, -1, a);
        note(&x, &f);
        if ((seed + (uint64_t)i) % 4 == 0)
            expect_checked(&t, &f, a);
        weft_arena_free(a);
    }
    return x;
}

static extremes ask(const question *q, uint64_t seed)
{
    weft_mine_case c;
    lattice *l = malloc(sizeof *l);
    extremes x;

    write_template(q);
    CHECK_OK(weft_mine_case_open(&q->request, &c));
    list_all(&c, l);
    x = try_all(q, &c, l, seed);
    if (x.value > x.bound * (1 + 1e-9))
        fail_msg("seed %llu: a value of %.12g, a bound of %.12g", (unsigned long long)seed, x.value,
                 x.bound);
    if (l->best > 0 && !has_edge(l))
        CHECK(fabs(x.value / l->best - 1) <= 1e-9);
    weft_mine_case_close(&c);
    free(l);
    return x;
}

/* Limits that some design meets exactly, that are wide, or that nothing meets. */
static void draw_limits(question *q, weft_rng *r)
{
    weft_template *t = NULL;
    weft_design_point p = {{0}}, least = {{0}};
    int area = weft_rng_below(r, 6), power = weft_rng_below(r, 6);

    write_template(q);
    CHECK_OK(weft_template_open(q->request.template_, &t));
    for (int k = 0; k < WEFT_N_PARAMETERS; k++)
        p.at[k] = (uint16_t)weft_rng_below(r, t->n_sizes[k]);
    set_limits(q,
               area < 3    ? weft_design_point_area_mm2(t, &p)
               : area == 3 ? weft_design_point_area_mm2(t, &least) * 0.999
                           : 1e6,
               power < 3    ? weft_design_point_tdp_w(t, &p)
               : power == 3 ? INFINITY
                            : 1e6);
    weft_template_free(t);
}

/* --- between questions ----------------------------------------------------------------------- */

/* What may only be better than before: `before` and its values against the bounds now. */
static void expect_no_worse(extremes before, extremes now, uint64_t seed, const char *what)
{
    total.n_related++;
    if (now.value < before.value * (1 - 1e-9) || now.bound < before.value * (1 - 1e-9))
        fail_msg("seed %llu, %s: %.12g before, now %.12g with a bound of %.12g",
                 (unsigned long long)seed, what, before.value, now.value, now.bound);
}

static void widen(question q, extremes before, uint64_t seed)
{
    set_limits(&q, q.area_mm2 * 1.2, q.tdp_w * 1.5);
    expect_no_worse(before, ask(&q, seed), seed, "larger limits");
}

/* One size less of a parameter, not that of the reference. */
static void restrict_parameter(question q, extremes before, uint64_t seed)
{
    for (int k = 0; k < WEFT_N_PARAMETERS; k++)
        if (q.n[k] > 1) {
            int drop = q.reference[k] == 0 ? q.n[k] - 1 : 0;

            for (int i = drop; i + 1 < q.n[k]; i++)
                q.size[k][i] = q.size[k][i + 1];
            q.n[k]--;
            q.reference[k] -= q.reference[k] > drop;
            expect_no_worse(ask(&q, seed), before, seed, "more sizes");
            return;
        }
}

static void relabel(question q, extremes before, uint64_t seed)
{
    weft_mine_network first = q.network[0];
    extremes now;

    q.network[0] = q.network[1];
    q.network[1] = first;
    q.request.network = q.network;
    now = ask(&q, seed);
    total.n_related++;
    if (q.request.n_networks > 1 && q.request.least_throughput != 1)
        CHECK(fabs(now.value - before.value) <= 1e-9 * before.value);
}

TEST(searches_say_what_all_designs_say)
{
    int n = n_problems(200, 2000);

    for (int i = 0; i < n; i++) {
        uint64_t seed = 1000 + (uint64_t)i;
        weft_arena *a = weft_arena_new();
        weft_rng r = weft_rng_seed(seed * 7 + 1);
        question q = draw_question(seed, a);
        extremes x;

        q.request.network = q.network;
        draw_limits(&q, &r);
        x = ask(&q, seed);
        if (i % 5 == 0)
            widen(q, x, seed);
        if (i % 5 == 1)
            restrict_parameter(q, x, seed);
        if (q.request.n_networks > 1 && i % 5 > 1)
            relabel(q, x, seed);
        total.n_problems++;
        weft_arena_free(a);
    }
    print_message("%d problems, %d runs of %d searches: %d optimal, %d infeasible, %d open; "
                  "%d fronts proved; %d files checked; %d questions beside others\n",
                  total.n_problems, total.n_runs, weft_miner_count(), total.n_optimal,
                  total.n_infeasible, total.n_open, total.n_fronts, total.n_checked,
                  total.n_related);
    CHECK(total.n_optimal > 0 && total.n_infeasible > 0 && total.n_open > 0);
    CHECK(total.n_fronts > 0 && total.n_checked > 0 && total.n_related > 0);
}

/* --- pipelines of real networks ---------------------------------------------------------------
 * Their designs are compared with brute force on drawn networks (test_mine_design_pipeline.c); here
 * with each other, and files are checked. */

typedef struct design_pipeline_answer {
    weft_design_pipeline_found common, stages, cut[2]; /* cut: both, stopped at once */
} design_pipeline_answer;

static question draw_design_pipeline(uint64_t seed, weft_arena *a)
{
    static const char *const layered[] = {"gpt2:layers=3,hidden=32,heads=2,seq=8,vocab=64",
                                          "bert:layers=2,hidden=48,heads=2,seq=12,vocab=50"};
    weft_rng r = weft_rng_seed(seed + 77);
    question q = draw_question(seed, a);

    for (int i = 0; i < q.request.n_networks; i++)
        q.network[i].model = layered[weft_rng_below(&r, 2)];
    q.request.blend = WEFT_BLEND_GEOMETRIC;
    q.design_pipeline = weft_design_pipeline_default();
    q.design_pipeline.n_stages = 1 + weft_rng_below(&r, 4);
    q.design_pipeline.width = 1 + weft_rng_below(&r, 2);
    q.design_pipeline.replicas = 1 + weft_rng_below(&r, 2);
    q.design_pipeline.microbatch = 1 + weft_rng_below(&r, 2);
    q.design_pipeline.batch =
        q.design_pipeline.microbatch * q.design_pipeline.replicas * (1 + weft_rng_below(&r, 9));
    q.design_pipeline.recomputes = (unsigned)(1 + weft_rng_below(&r, 7));
    q.design_pipeline.between =
        (weft_link_cost){ONE_OF(&r, 0, 5e-6), ONE_OF(&r, 1e9, 25e9, 1e12), 0, NULL, false};
    return q;
}

static weft_design_pipeline_found mine_design_pipeline(const weft_design_pipeline_case *c,
                                                       bool is_per_stage, bool is_cut,
                                                       weft_arena *a)
{
    volatile sig_atomic_t stop = is_cut;
    weft_run run = {
        .n_threads = 1, .limit_s = INFINITY, .scratch = weft_arena_new(), .stop = &stop};
    weft_design_pipeline_objective q = c->objective;
    weft_design_pipeline_found f;

    q.is_per_stage = is_per_stage;
    CHECK_OK(weft_mine_cluster(&q, &run, a, &f));
    weft_arena_free(run.scratch);
    return f;
}

static void check_design_pipeline_file(const question *q, weft_design_pipeline_case *c,
                                       const design_pipeline_answer *x, bool is_per_stage,
                                       uint64_t seed)
{
    static const char *const optimizers[] = {"sgd", "momentum", "adam"};
    const weft_design_pipeline_found *f = is_per_stage ? &x->stages : &x->common;
    weft_arena *a = weft_arena_new();
    trial t = {.solver = is_per_stage ? "stages" : "common", .seed = seed};

    c->objective.is_per_stage = is_per_stage;
    if (f->value > 0)
        expect_accepted(&t,
                        weft_doc_json(weft_design_pipeline_design_doc(
                                          &(weft_design_pipeline_report){
                                              .objective = &c->objective,
                                              .found = f,
                                              .common = is_per_stage ? &x->common : NULL,
                                              .dtype = "bf16",
                                              .optimizer = optimizers[q->request.options.optimizer],
                                              .options = &q->request.options},
                                          a),
                                      0, a));
    weft_arena_free(a);
}

static void expect_design_pipeline(const weft_design_pipeline_found *f,
                                   const weft_design_pipeline_found *any, uint64_t seed,
                                   const char *what)
{
    total.n_runs++;
    total.n_optimal += f->outcome == WEFT_OPTIMAL;
    total.n_infeasible += f->outcome == WEFT_INFEASIBLE;
    if (any->value > f->bound * (1 + 1e-9) || (any->value > 0 && f->outcome == WEFT_INFEASIBLE) ||
        (f->outcome == WEFT_OPTIMAL && any->value > f->value * (1 + 1e-8)))
        fail_msg("seed %llu, %s: %s %.12g with a bound of %.12g, and there is %.12g",
                 (unsigned long long)seed, what, weft_outcome_name(f->outcome), f->value, f->bound,
                 any->value);
}

static design_pipeline_answer ask_design_pipeline(const question *q, uint64_t seed, weft_arena *a)
{
    bool is_single = q->request.n_networks == 1;
    design_pipeline_answer x;
    weft_design_pipeline_case c;

    write_template(q);
    CHECK_OK(weft_design_pipeline_case_open(&q->request, &c));
    x.common = mine_design_pipeline(&c, false, false, a);
    x.cut[0] = mine_design_pipeline(&c, false, true, a);
    x.stages = is_single ? mine_design_pipeline(&c, true, false, a) : x.common;
    x.cut[1] = is_single ? mine_design_pipeline(&c, true, true, a) : x.cut[0];
    CHECK(x.common.outcome == WEFT_OPTIMAL || x.common.outcome == WEFT_INFEASIBLE ||
          x.common.outcome == WEFT_BOUNDED);
    CHECK((x.common.value > 0) <= (x.stages.value > 0));
    CHECK(x.stages.value >= x.common.value * (1 - 1e-9));
    expect_design_pipeline(&x.common, &x.cut[0], seed, "common");
    expect_design_pipeline(&x.cut[0], &x.common, seed, "common, stopped");
    expect_design_pipeline(&x.stages, &x.common, seed, "stages");
    expect_design_pipeline(&x.stages, &x.cut[1], seed, "stages");
    expect_design_pipeline(&x.cut[1], &x.stages, seed, "stages, stopped");
    check_design_pipeline_file(q, &c, &x, false, seed);
    if (is_single)
        check_design_pipeline_file(q, &c, &x, true, seed);
    weft_design_pipeline_case_close(&c);
    return x;
}

TEST(pipelines_do_not_contradict_each_other)
{
    int n = n_problems(100, 1000);

    total = (tally){0};
    for (int i = 0; i < n; i++) {
        uint64_t seed = 500000 + (uint64_t)i;
        weft_arena *a = weft_arena_new();
        weft_rng r = weft_rng_seed(seed * 7 + 1);
        question q = draw_design_pipeline(seed, a);
        design_pipeline_answer x, wide;

        q.request.network = q.network;
        q.request.design_pipeline = &q.design_pipeline;
        draw_limits(&q, &r);
        x = ask_design_pipeline(&q, seed, a);
        set_limits(&q, q.area_mm2 * 1.3, q.tdp_w * 1.3);
        wide = ask_design_pipeline(&q, seed, a);
        expect_design_pipeline(&wide.common, &x.common, seed, "larger limits");
        expect_design_pipeline(&wide.stages, &x.stages, seed, "larger limits, stages");
        total.n_problems += 2;
        weft_arena_free(a);
    }
    print_message("%d pipelines, %d answers beside others: %d optimal, %d infeasible; %d files "
                  "checked\n",
                  total.n_problems, total.n_runs, total.n_optimal, total.n_infeasible,
                  total.n_checked);
    CHECK(total.n_optimal > 0 && total.n_infeasible > 0 && total.n_checked > 0);
}

/* --- examples that were once wrong ----------------------------------------------------------- */

#define EXAMPLES WEFT_TEST_DATA "/counterexamples/"

static weft_found mine_example(const weft_mine_request *request, const char *solver, int64_t most,
                               weft_arena *a)
{
    weft_run run = {.seed = 1, .n_threads = 1, .limit_s = INFINITY, .scratch = weft_arena_new()};
    weft_mine_case c;
    weft_found f;

    CHECK_OK(weft_mine_case_open(request, &c));
    CHECK_OK(weft_miner_find(solver)->mine(&c.objective, NULL, most, &run, a, &f));
    weft_mine_case_close(&c);
    weft_arena_free(run.scratch);
    return f;
}

/* Two of four designs are tried, the last of which the reference is: nothing is proved. */
TEST(an_exhaustive_search_that_is_cut_short_proves_nothing)
{
    static const weft_mine_network network = {EXAMPLES "mine-exhaustive/m0.onnx", 4, 1};
    weft_mine_request r = {
        .n_networks = 1,
        .network = &network,
        .options = {.dtype = WEFT_BF16, .train = true, .optimizer = WEFT_ADAM},
        .template_ = EXAMPLES "mine-exhaustive/t.json",
        .area = "202.65825579999995mm2",
        .power = "0.98304000000000014W",
        .metric = WEFT_METRIC_PER_TDP,
        .least_throughput = 0.01,
        .n_threads = 1
    };
    weft_arena *a = weft_arena_new();
    weft_found cut = mine_example(&r, "exhaustive", 2, a);
    weft_found all = mine_example(&r, "exhaustive", 0, a);

    CHECK_INT(cut.outcome, WEFT_BOUNDED);
    CHECK(!cut.is_front_proved);
    CHECK(cut.value < all.value && cut.bound >= all.value);
    CHECK_INT(all.outcome, WEFT_OPTIMAL);
    CHECK(all.is_front_proved);
    weft_arena_free(a);
}

/* No design is quick enough for inference; some are for training. */
TEST(a_search_for_inference_says_nothing_of_training)
{
    static const weft_mine_network networks[] = {
        {EXAMPLES "mine-inference/m0.onnx", 8, 1},
        {EXAMPLES "mine-inference/m1.onnx", 8, 1}
    };
    weft_mine_request r = {
        .n_networks = 2,
        .network = networks,
        .options = {.dtype = WEFT_BF16, .train = true, .optimizer = WEFT_SGD},
        .template_ = EXAMPLES "mine-inference/t.json",
        .power = "5.0729078400000001W",
        .metric = WEFT_METRIC_PER_TDP,
        .least_throughput = 1,
        .has_forward = true,
        .n_threads = 1
    };
    weft_arena *a = weft_arena_new();
    weft_found f = mine_example(&r, "inference", 0, a), best = mine_example(&r, "auto", 0, a);

    CHECK_INT(f.outcome, WEFT_UNKNOWN);
    CHECK(f.value == 0 && f.bound >= best.value);
    CHECK_INT(best.outcome, WEFT_OPTIMAL);
    r.power = "1W"; /* nothing is within the limits, whatever is asked */
    f = mine_example(&r, "inference", 0, a);
    CHECK_INT(f.outcome, WEFT_INFEASIBLE);
    weft_arena_free(a);
}

/* Throughput per TDP of designs that take no power is no number. */
TEST(per_tdp_needs_power)
{
    static const weft_mine_network network = {EXAMPLES "mine-exhaustive/m0.onnx", 4, 1};
    weft_mine_request r = {
        .n_networks = 1,
        .network = &network,
        .options = {.dtype = WEFT_BF16, .train = true, .optimizer = WEFT_ADAM},
        .area = "300mm2",
        .metric = WEFT_METRIC_PER_TDP,
        .n_threads = 1
    };
    weft_arena *a = weft_arena_new();
    question q = {
        .a = a,
        .n = {1,   1,   1,   1,   1,   1      },
        .size = {{4}, {4}, {1}, {4}, {1}, {65536}},
        .rest = "\"clock\": \"100MHz\", \"hbm\": {\"bandwidth\": \"1GB/s\", "
                "\"efficiency\": 1, \"size\": \"16GiB\"}, \"area\": {\"fixed\": "
                "\"1mm2\", \"pe\": \"500um2\", \"lane\": \"500um2\", "
                "\"sram_per_MiB\": \"0.3mm2\"}, \"power\": {\"fixed\": \"0W\", "
                "\"mac\": \"0pJ\", \"lane\": \"0pJ\"}, \"dataflow\": \"os\", "
                "\"state_bytes\": 8"
    };
    weft_mine_case c;

    write_template(&q);
    r.template_ = scratch_file(0);
    CHECK_FAILS(weft_mine_case_open(&r, &c), "designs that take no power");
    weft_arena_free(a);
}

static int drop_files(void **state)
{
    (void)state;
    unlink(scratch_file(0));
    return unlink(scratch_file(1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(searches_say_what_all_designs_say),
        cmocka_unit_test(pipelines_do_not_contradict_each_other),
        cmocka_unit_test(per_tdp_needs_power),
        cmocka_unit_test(an_exhaustive_search_that_is_cut_short_proves_nothing),
        cmocka_unit_test(a_search_for_inference_says_nothing_of_training),
    };

    return cmocka_run_group_tests(tests, NULL, drop_files);
}
