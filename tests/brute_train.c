/* SPDX-License-Identifier: MIT */
/* brute_train.c: all plans of the space that src/train/pipe_space.c and pipe_chunks.c define, put
 * together here from that text alone, unit by unit. Each one is timed and its memory measured by
 * the simulator, unless the work of one of its stages alone takes longer than the best plan. */
#include "brute_train.h"

#include "check.h"
#include "platform_text.h"

/* --- problems -------------------------------------------------------------------------------- */

static small_machines draw_machines(weft_rng *r)
{
    small_machines m = {.n_fast = 1 + weft_rng_below(r, 3),
                        .n_slow = weft_rng_below(r, 2) ? 0 : 1,
                        .fast_bytes = 40 + weft_rng_below(r, 260),
                        .slow_bytes = 40 + weft_rng_below(r, 260),
                        .time = 1};

    if (m.n_slow == 0)
        m.n_fast += weft_rng_below(r, 2);
    else if (m.n_fast < 3)
        m.n_slow += weft_rng_below(r, 2);
    m.bytes_per_s = 4 + weft_rng_below(r, 20);
    m.latency_s = weft_rng_below(r, 3);
    m.is_contend = weft_rng_below(r, 4) == 0;
    return m;
}

static const char *device_of(const small_machines *m, int i, weft_arena *a)
{
    return i < m->n_fast ? weft_arena_print(a, "fast%d", i)
                         : weft_arena_print(a, "slow%d", i - m->n_fast);
}

/* A link between two devices, as wide as in platform_of. */
static const char *link_text(const small_machines *m, int i, int k, weft_arena *a)
{
    bool is_near = m->n_fast == 4 && i / 2 == k / 2;
    double bytes_per_s = (is_near ? 40 : m->bytes_per_s) / m->time;
    const char *rate = weft_arena_print(a, "bandwidth: %.17gB/s", bytes_per_s);

    if (m->has_curves)
        rate = weft_arena_print(a, "curve: [[2B, %.17gB/s], [10B, %.17gB/s], [40B, %.17gB/s]]",
                                bytes_per_s / 3, 0.7 * bytes_per_s, bytes_per_s);
    return weft_arena_print(a, "  - {between: [%s, %s], %s, latency: %.17gs}\n", device_of(m, i, a),
                            device_of(m, k, a), rate, (is_near ? 1 : m->latency_s) * m->time);
}

/* With curves or with what is shared: as a file. */
static weft_platform *written_platform(const small_machines *m, weft_arena *a)
{
    const char *text = weft_arena_print(
        a,
        "schema: weft.platform/1\nname: small\ntransfer: %s\ncollectives: %s\ndevices:\n"
        "  - {name: fast, count: %d, model: roofline, peak_flops: 4, memory_bandwidth: 1GB/s, "
        "memory: %.0fB}\n",
        m->is_contend ? "contend" : "overlap", m->has_trees ? "best" : "ring", m->n_fast,
        m->fast_bytes);
    int n = m->n_fast + m->n_slow;
    weft_platform *p = NULL;

    if (m->n_slow > 0)
        text = weft_arena_print(a,
                                "%s  - {name: slow, count: %d, model: roofline, peak_flops: 2, "
                                "memory_bandwidth: 1GB/s, memory: %.0fB}\n",
                                text, m->n_slow, m->slow_bytes);
    text = weft_arena_print(a, "%s%s", text, n > 1 ? "links:\n" : "");
    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < n; k++)
            text = weft_arena_print(a, "%s%s", text, link_text(m, i, k, a));
    if (m->is_shared && n > 1) {
        text = weft_arena_print(a, "%sshared: [{name: card, bandwidth: %.17gB/s, of: [", text,
                                1.2 * m->bytes_per_s / m->time);
        for (int i = 1; i < n; i++)
            text = weft_arena_print(a, "%s{between: [fast0, %s]}%s", text, device_of(m, i, a),
                                    i + 1 < n ? ", " : "]}]\n");
    }
    CHECK_OK(weft_platform_parse(text, strlen(text), "small.yaml", &p));
    return p;
}

static weft_platform *platform_of(const small_machines *m, weft_arena *a)
{
    const char *fast = weft_arena_print(a, "%d*fast(flops=4,mem=%.0f)", m->n_fast, m->fast_bytes);
    const char *slow = weft_arena_print(a, "%d*slow(flops=2,mem=%.0f)", m->n_slow, m->slow_bytes);
    const char *text = fast;
    weft_platform *p = NULL;

    if (m->has_curves || m->is_shared)
        return written_platform(m, a);
    if (m->n_slow > 0)
        text = weft_arena_print(a, "%s %s", m->is_slow_first ? slow : fast,
                                m->is_slow_first ? fast : slow);
    text = weft_arena_print(a, "%s;", text);
    if (m->n_fast == 4) /* two islands of two */
        text = weft_arena_print(a, "%s fast0-fast1:%.17g,%.17g fast2-fast3:%.17g,%.17g", text,
                                40 / m->time, m->time, 40 / m->time, m->time);
    text = weft_arena_print(a, "%s *:%.17g,%.17g %s", text, m->bytes_per_s / m->time,
                            m->latency_s * m->time, m->is_contend ? "@contend" : "@overlap");
    CHECK_OK(weft_platform_notation(text, &p));
    return p;
}

static weft_blocks draw_units(bool is_dag, int most_units, weft_rng *r, weft_arena *a)
{
    int n = 2 + weft_rng_below(r, most_units - 1), n_edges = 0, from[32], to[32];
    weft_shared *shared = WEFT_NEW(a, weft_shared, 1);
    weft_blocks u;
    double *leave, *back;

    for (int v = 1; v < n; v++)
        for (int k = weft_rng_below(r, 3); k > 0; k--) {
            from[n_edges] = weft_rng_below(r, v);
            to[n_edges++] = v;
        }
    if (is_dag)
        CHECK(weft_blocks_dag(n, n_edges, from, to, 1000, a, &u));
    else
        weft_blocks_chain(n, a, &u);
    leave = (double *)(uintptr_t)u.leave_bytes; /* the maker's to write */
    back = (double *)(uintptr_t)u.back_bytes;
    for (int c = 1; c + 1 < u.n_cuts; c++) {
        leave[c] = weft_rng_below(r, 6) ? 1 + weft_rng_below(r, 20) : 0;
        back[c] = weft_rng_below(r, 4) ? leave[c] : 0;
    }
    if (weft_rng_below(r, 3) == 0) {
        *shared = (weft_shared){0, n - 1, -1};
        u.n_shared = 1;
        u.shared = shared;
    }
    return u;
}

static const weft_block_cost *draw_cost(int n, double speed, int width, int64_t samples,
                                        weft_rng *r, weft_arena *a)
{
    weft_block_cost *c = WEFT_NEW(a, weft_block_cost, n);
    double factor = (double)samples / speed / (width == 1 ? 1 : 0.7 * width);

    for (int u = 0; u < n; u++) {
        double f = 1 + weft_rng_below(r, 20), kept = 1 + weft_rng_below(r, 9);

        c[u] = (weft_block_cost){.forward_s = factor * f,
                                 .backward_s = factor * (f + weft_rng_below(r, 20)) + 1};
        c[u].compute_s = 0.5 * (c[u].forward_s + c[u].backward_s);
        c[u].memory_s = 0.25 * (c[u].forward_s + c[u].backward_s);
        c[u].again_s[WEFT_KEEP_SOME] = 0.25 * c[u].forward_s;
        c[u].again_s[WEFT_KEEP_NONE] = c[u].forward_s;
        c[u].stash_bytes[WEFT_KEEP_ALL] = (double)samples * (kept + 6);
        c[u].stash_bytes[WEFT_KEEP_SOME] = (double)samples * (kept + 2);
        c[u].stash_bytes[WEFT_KEEP_NONE] = (double)samples * kept;
        for (int k = 0; k < WEFT_N_RECOMPUTES; k++)
            c[u].work_bytes[k] = weft_rng_below(r, 12);
    }
    return c;
}

/* The same with less to keep, and other times. */
static const weft_block_cost *draw_sequence_cost(int n, const weft_block_cost *plain, weft_rng *r,
                                                 weft_arena *a)
{
    weft_block_cost *c = weft_arena_copy(a, plain, sizeof *c * (size_t)n);

    for (int u = 0; u < n; u++) {
        c[u].forward_s *= 0.8 + 0.1 * weft_rng_below(r, 4);
        c[u].compute_s *= 0.8;
        c[u].memory_s *= 0.8;
        for (int k = 0; k < WEFT_N_RECOMPUTES; k++)
            c[u].stash_bytes[k] *= 0.5;
        c[u].again_s[WEFT_KEEP_SOME] = 0.25 * c[u].forward_s;
        c[u].again_s[WEFT_KEEP_NONE] = c[u].forward_s;
    }
    return c;
}

static const weft_block_state *draw_state(const weft_blocks *u, int width, weft_rng *r,
                                          weft_arena *a)
{
    weft_block_state *s = WEFT_NEW(a, weft_block_state, u->n_blocks);

    for (int i = 0; i < u->n_blocks; i++) {
        double bytes = 1 + weft_rng_below(r, 20 / width);

        s[i] = (weft_block_state){.weight_bytes = bytes,
                                  .gradient_bytes = bytes,
                                  .moment_bytes = 2 * bytes,
                                  .sync_bytes = bytes,
                                  .update_s = 0.1 * (1 + weft_rng_below(r, 9))};
        if (u->n_shared > 0 && u->shared[0].other == i)
            s[i].sync_bytes = weft_rng_below(r, (int)bytes);
    }
    return s;
}

static weft_train_constraints draw_ask(weft_rng *r)
{
    static const int64_t batches[] = {2, 4, 6, 8};
    weft_train_constraints constraints = {
        .batch = batches[weft_rng_below(r, 4)],
        .schedules = 1u << weft_rng_below(r, WEFT_INTERLEAVED),
        .recomputes = 1u << weft_rng_below(r, WEFT_N_RECOMPUTES),
        .most_chunks = 3,
        .zeros = weft_rng_below(r, 3) == 0 ? 1u << (1 + weft_rng_below(r, 3)) : 1};

    constraints.schedules |= weft_rng_below(r, 3) ? 1u << weft_rng_below(r, WEFT_N_SCHEDULES) : 0;
    constraints.recomputes |= weft_rng_below(r, 2) ? 1u << weft_rng_below(r, WEFT_N_RECOMPUTES) : 0;
    constraints.overlap = weft_rng_below(r, 3) == 0;
    constraints.sps = weft_rng_below(r, 2) ? 1 : 2 + (unsigned)weft_rng_below(r, 2);
    if (weft_rng_below(r, 2)) /* several levels of ZeRO */
        constraints.zeros |= 1u << weft_rng_below(r, 4) | 1u << weft_rng_below(r, 4);
    weft_train_settle_zero(&constraints);
    if (weft_rng_below(r, 5) == 0)
        constraints.microbatch = weft_rng_below(r, 2) ? 2 : 1;
    if (weft_rng_below(r, 8) == 0)
        constraints.most_replicas = 1 + weft_rng_below(r, 2);
    if (weft_rng_below(r, 8) == 0)
        constraints.most_stages = 1 + weft_rng_below(r, 3);
    return constraints;
}

/* Any number, one up to `most`, or two. */
static weft_counts draw_counts(int most, weft_rng *r)
{
    weft_counts c = weft_counts_of(weft_rng_below(r, most + 1));

    if (c.n == 1 && c.at[0] < most && weft_rng_below(r, 2)) {
        c.at[1] = c.at[0] + 1 + weft_rng_below(r, most - (int)c.at[0]);
        c.n = 2;
    }
    return c;
}

/* A third of the problems ask for exact numbers, if these do not contradict what there is. */
static void draw_exact(weft_train_problem_spec *s, weft_rng *r)
{
    weft_train_constraints usual = s->constraints, *x = &s->constraints;
    weft_cluster *cluster;

    if (weft_rng_below(r, 3) != 0)
        return;
    x->tp = draw_counts(2, r);
    x->pp = draw_counts(3, r);
    x->dp = draw_counts(3, r);
    x->mbs = draw_counts(3, r);
    x->chunks = weft_rng_below(r, 4);
    if (!s->blocks.is_chain && x->schedules >> WEFT_INTERLEAVED & 1)
        x->pp.n = 0; /* a narrower problem may ask for interleaved only, which no graph has */
    CHECK_OK(weft_cluster_new(s->platform, &cluster));
    if (weft_train_constraints_check(x, cluster, &s->blocks) != WEFT_OK)
        *x = usual;
    weft_cluster_free(cluster);
}

small_training draw_small_training(bool is_dag, int most_units, weft_rng *r)
{
    enum { N_WIDTHS = 2, N_SHARES = 3, MOST_CLASSES = 2 };
    static const int widths[N_WIDTHS] = {1, 2};
    static const int64_t shares[N_SHARES] = {1, 2, 3};
    weft_arena *a = weft_arena_new();
    small_training d = {.machines = draw_machines(r), .arena = a};
    const weft_block_cost *cost[MOST_CLASSES * N_WIDTHS * N_SHARES] = {NULL};
    const weft_block_state *state[MOST_CLASSES * N_WIDTHS * N_SHARES];
    const weft_block_cost *sequence_cost[MOST_CLASSES * N_WIDTHS * N_SHARES] = {NULL};
    weft_train_problem_spec s = {.name = "small",
                                 .blocks = draw_units(is_dag, most_units, r, a),
                                 .constraints = draw_ask(r),
                                 .n_widths = N_WIDTHS,
                                 .n_shares = N_SHARES,
                                 .width = widths,
                                 .share = shares,
                                 .cost = cost,
                                 .state = state,
                                 .sequence_cost = sequence_cost,
                                 .sequence_state = state};

    s.platform = d.platform = platform_of(&d.machines, a);
    for (int t = 0; t < MOST_CLASSES * N_WIDTHS * N_SHARES;
         t++) /* half are cut as the one before */
        state[t] = t % N_SHARES > 0 && weft_rng_below(r, 2)
                       ? state[t - 1]
                       : draw_state(&s.blocks, widths[t / N_SHARES % N_WIDTHS], r, a);
    for (int t = 0; t < MOST_CLASSES * N_WIDTHS * N_SHARES; t++)
        if (t == 0 || weft_rng_below(r, 8))
            cost[t] = draw_cost(s.blocks.n_blocks, t < N_WIDTHS * N_SHARES ? 2 : 1,
                                widths[t / N_SHARES % N_WIDTHS], shares[t % N_SHARES], r, a);
    for (int t = 0; t < MOST_CLASSES * N_WIDTHS * N_SHARES; t++) /* one device has no tensor cuts */
        sequence_cost[t] = t / N_SHARES % N_WIDTHS == 0 || cost[t] == NULL
                               ? cost[t]
                               : draw_sequence_cost(s.blocks.n_blocks, cost[t], r, a);
    draw_exact(&s, r);
    CHECK_OK(weft_train_problem_make(&s, &d.training));
    return d;
}

static void slow_down(weft_block_cost *c, double factor)
{
    c->forward_s *= factor;
    c->backward_s *= factor;
    c->compute_s *= factor;
    c->memory_s *= factor;
    for (int r = 0; r < WEFT_N_RECOMPUTES; r++)
        c->again_s[r] *= factor;
}

/* Tables of a problem without variants, with the seconds of each class by a factor. */
typedef struct tables {
    const weft_block_cost **cost;
    const weft_block_state **state;
} tables;

static tables vary_tables(const weft_train_problem *p, const double factor[2], weft_arena *a)
{
    int n = p->blocks.n_blocks, n_tables = p->cluster->n_classes * p->n_widths * p->n_shares;
    tables t = {WEFT_NEW(a, const weft_block_cost *, n_tables),
                WEFT_NEW(a, const weft_block_state *, n_tables)};

    for (int i = 0; i < n_tables; i++) {
        weft_block_cost *c;
        weft_block_state *held;

        if (p->cost[i] == NULL)
            continue;
        t.cost[i] = c = weft_arena_copy(a, p->cost[i], sizeof *c * (size_t)n);
        t.state[i] = held = weft_arena_copy(a, p->state[i], sizeof *held * (size_t)n);
        for (int u = 0; u < n; u++) {
            slow_down(&c[u], factor[i / p->n_shares / p->n_widths]);
            held[u].update_s *= factor[i / p->n_shares / p->n_widths];
        }
    }
    return t;
}

small_training vary_small_training(const small_training *s, const small_machines *m,
                                   const weft_train_constraints *constraints,
                                   const double factor[2])
{
    const weft_train_problem *p = s->training;
    weft_arena *a = weft_arena_new();
    small_training d = {.machines = *m, .platform = platform_of(m, a), .arena = a};
    tables by[2] = {
        {NULL, NULL}
    };
    weft_train_problem_spec t = {.name = p->name,
                                 .platform = d.platform,
                                 .blocks = p->blocks,
                                 .constraints = *constraints,
                                 .n_widths = p->n_widths,
                                 .n_shares = p->n_shares,
                                 .width = p->width,
                                 .share = p->share};

    for (int i = 0; i < weft_train_n_variants(p); i++) {
        const weft_train_problem *one = weft_train_variant_at(p, i);

        by[one->is_sequence] = vary_tables(one, factor, a);
    }
    t.cost = by[0].cost;
    t.state = by[0].state;
    t.sequence_cost = by[1].cost;
    t.sequence_state = by[1].state;
    CHECK_OK(weft_train_problem_make(&t, &d.training));
    return d;
}

void drop_small_training(small_training *s)
{
    weft_train_problem_free(s->training);
    weft_platform_free(s->platform);
    weft_arena_free(s->arena);
}

/* --- stages, unit by unit -------------------------------------------------------------------- */

enum { MOST_STAGES = 8 };

typedef struct brute {
    const weft_train_problem *p;
    weft_arena *a;
    weft_train_plan plan; /* stages are filled from the end: see flip */
    int64_t m;
    int n_blocks[2], width[2]; /* of each class; width: place in the list */
    int used[2];
    int n; /* stages chosen, the last stage of the pipeline first */
    weft_stage stage[MOST_STAGES];
    int inner[MOST_STAGES];
    double least_s[MOST_STAGES]; /* forward and backward of the stage */
    double best_s;
} brute;

static bool is_in(const weft_blocks *u, int unit, int inner, int outer)
{
    return weft_bit_get(u->cut + (size_t)outer * (size_t)u->n_words, unit) &&
           !weft_bit_get(u->cut + (size_t)inner * (size_t)u->n_words, unit);
}

static int place_of(const weft_train_problem *p, int64_t samples)
{
    for (int x = 0; x < p->n_shares; x++)
        if (p->share[x] == samples)
            return x;
    return -1;
}

static const weft_block_cost *cost_of(const weft_train_problem *p, const weft_stage *s, int part)
{
    int x = place_of(p, s->part[part].samples), w = s->width == 1 ? 0 : 1;

    return x < 0 ? NULL : p->cost[weft_train_problem_table(p, s->part[part].class_id, w, x)];
}

static double seconds_of(const weft_train_problem *p, const weft_stage *s, int inner, int outer)
{
    double most_f = 0, most_b = 0;

    for (int i = 0; i < s->n_parts; i++) {
        const weft_block_cost *c = cost_of(p, s, i);
        double f = 0, b = 0;

        for (int u = 0; u < p->blocks.n_blocks; u++)
            if (is_in(&p->blocks, u, inner, outer)) {
                f += c[u].forward_s;
                b += c[u].backward_s + c[u].again_s[s->recompute];
            }
        most_f = fmax(most_f, f);
        most_b = fmax(most_b, b);
    }
    return most_f + most_b;
}

/* --- complete plans -------------------------------------------------------------------------- */

static bool is_among(const weft_counts *c, int64_t value)
{
    bool is_there = c->n == 0;

    for (int i = 0; i < c->n; i++)
        is_there |= c->at[i] == value;
    return is_there;
}

/* Has the plan the numbers that are asked for? */
static bool is_exact(const brute *b)
{
    const weft_train_constraints *x = &b->p->constraints;
    const weft_train_plan *plan = &b->plan;

    if (!is_among(&x->pp, plan->n_stages) || (x->chunks > 0 && plan->n_chunks != x->chunks))
        return false;
    for (int i = 0; i < plan->n_stages; i++) {
        int n = 0;

        for (int k = 0; k < plan->stage[i].n_parts; k++) {
            n += plan->stage[i].part[k].n_blocks;
            if (!is_among(&x->mbs, plan->stage[i].part[k].samples))
                return false;
        }
        if (!is_among(&x->dp, n) || !is_among(&x->tp, plan->stage[i].width))
            return false;
    }
    return true;
}

static void judge(brute *b)
{
    size_t mark = weft_arena_mark(b->a);
    weft_train_measures measures;
    weft_violation violation;

    if (!is_exact(b))
        return;
    if (weft_train_plan_check(b->p, &b->plan, &violation, 1, b->a) != 0)
        fail_msg("brute force makes a plan that is not legal: %s", violation.what);
    CHECK_OK(weft_train_plan_evaluate(b->p, &b->plan, b->a, &measures));
    if (measures.over_stage < 0)
        b->best_s = fmin(b->best_s, measures.step_s);
    weft_arena_rewind(b->a, mark);
}

/* The chosen stages, in the order of the pipeline. */
static void flip(brute *b)
{
    b->plan.n_stages = b->n;
    b->plan.n_chunks = 1;
    for (int i = 0; i < b->n; i++) {
        b->plan.stage[i] = b->stage[b->n - 1 - i];
        b->plan.cut[i] = b->inner[b->n - 1 - i];
    }
    b->plan.cut[b->n] = b->p->blocks.n_cuts - 1;
}

static bool is_too_long(const brute *b)
{
    for (int i = 0; i < b->n; i++)
        if ((double)b->m * b->least_s[i] >= b->best_s)
            return true;
    return false;
}

static void try_recomputes(brute *b, int i)
{
    if (i == b->n) {
        if (!is_too_long(b))
            judge(b);
        return;
    }
    for (int r = 0; r < WEFT_N_RECOMPUTES; r++) {
        if (!(b->p->constraints.recomputes >> r & 1))
            continue;
        b->plan.stage[b->n - 1 - i].recompute = (weft_recompute)r;
        b->least_s[i] = seconds_of(b->p, &b->plan.stage[b->n - 1 - i], b->inner[i],
                                   i == 0 ? b->p->blocks.n_cuts - 1 : b->inner[i - 1]);
        try_recomputes(b, i + 1);
    }
}

static int most_stages(const brute *b)
{
    int most = b->p->blocks.n_blocks;

    if (b->p->constraints.most_stages > 0 && most > b->p->constraints.most_stages)
        most = b->p->constraints.most_stages;
    return most;
}

/* --- uniform --------------------------------------------------------------------------------- */

/* Stages are numbered from the end here; front: blocks are handed out from the first stage. */
static void finish_uniform(brute *b, int d)
{
    for (int layout = 0; layout < 4; layout++) {
        int seen[2] = {0}, count[2] = {0};
        bool is_near = layout % 2, is_front = layout / 2;

        if (is_near && d == 1)
            continue;
        for (int i = 0; i < b->n; i++)
            count[b->stage[i].part[0].class_id]++;
        for (int i = 0; i < b->n; i++) {
            weft_device_set_part *part = &b->stage[i].part[0];
            int at = seen[part->class_id]++;

            at = is_front ? count[part->class_id] - 1 - at : at;
            part->first = is_near ? at : at * d;
            part->step = is_near ? count[part->class_id] : 1;
        }
        flip(b);
        try_recomputes(b, 0);
    }
}

/* Stages in front of those chosen; `outer`: the cut before them. */
static void try_uniform(brute *b, int d, int64_t samples, int outer)
{
    if (outer == 0) {
        finish_uniform(b, d);
        return;
    }
    if (b->n == most_stages(b))
        return;
    for (int k = 0; k < b->p->cluster->n_classes; k++) {
        weft_stage s = {.width = b->p->width[b->width[k]],
                        .n_parts = 1,
                        .part = {{.class_id = k, .n_blocks = d, .samples = samples}}};

        if (b->used[k] + d > b->n_blocks[k] || cost_of(b->p, &s, 0) == NULL)
            continue;
        b->used[k] += d;
        for (int inner = 0; inner < outer; inner++) {
            if (!weft_cut_within(&b->p->blocks, inner, outer))
                continue;
            b->stage[b->n] = s;
            b->inner[b->n++] = inner;
            try_uniform(b, d, samples, inner);
            b->n--;
        }
        b->used[k] -= d;
    }
}

/* --- device sets ----------------------------------------------------------------------------- */

static void finish_device_sets(brute *b)
{
    for (int is_front = 0; is_front < 2; is_front++) {
        int used[2] = {0};

        for (int k = 0; k < b->n; k++) {
            weft_stage *s = &b->stage[is_front ? b->n - 1 - k : k];

            for (int i = 0; i < s->n_parts; i++) {
                s->part[i].first = used[s->part[i].class_id];
                used[s->part[i].class_id] += s->part[i].n_blocks;
            }
        }
        flip(b);
        try_recomputes(b, 0);
    }
}

static void try_device_sets(brute *b, int outer);

/* All ways to share a stage of n blocks of each class, and all that may come before it. */
static void try_shares(brute *b, const int *n, int inner)
{
    for (int64_t x = 0; x <= b->plan.microbatch; x++)
        for (int64_t y = 0; y <= b->plan.microbatch; y++) {
            int64_t share[2] = {x, y};
            weft_stage s = {0};
            bool is_possible = n[0] * x + n[1] * y == b->plan.microbatch && (n[0] > 0) == (x > 0) &&
                               (n[1] > 0) == (y > 0);

            for (int k = 0; k < 2 && is_possible; k++)
                if (n[k] > 0) {
                    s.width = b->p->width[b->width[k]];
                    s.part[s.n_parts++] = (weft_device_set_part){k, n[k], 0, 1, share[k]};
                    is_possible = cost_of(b->p, &s, s.n_parts - 1) != NULL;
                }
            if (!is_possible)
                continue;
            b->stage[b->n] = s;
            b->inner[b->n++] = inner;
            b->used[0] += n[0];
            b->used[1] += n[1];
            try_device_sets(b, inner);
            b->used[0] -= n[0];
            b->used[1] -= n[1];
            b->n--;
        }
}

static void try_device_sets(brute *b, int outer)
{
    int n[2] = {0};

    if (outer == 0) {
        finish_device_sets(b);
        return;
    }
    if (b->n == most_stages(b))
        return;
    for (n[0] = 0; n[0] <= b->n_blocks[0] - b->used[0]; n[0]++)
        for (n[1] = 0; n[1] <= b->n_blocks[1] - b->used[1]; n[1]++) {
            int most = b->p->constraints.most_replicas;

            if (n[0] + n[1] == 0 || (most > 0 && n[0] + n[1] > most) ||
                (n[0] > 0 && n[1] > 0 && b->width[0] != b->width[1]))
                continue;
            for (int inner = 0; inner < outer; inner++)
                if (weft_cut_within(&b->p->blocks, inner, outer))
                    try_shares(b, n, inner);
        }
}

/* --- interleaved ----------------------------------------------------------------------------- */

/* The quickest recomputation of every stage that fits, by the simulator's peaks; false: none. */
static bool settle_recomputes(brute *b)
{
    double best_s[MOST_STAGES];
    weft_recompute choice[MOST_STAGES];
    int n = b->plan.n_stages;

    if (!is_exact(b))
        return false;
    for (int i = 0; i < n; i++)
        best_s[i] = INFINITY;
    for (int r = 0; r < WEFT_N_RECOMPUTES; r++) {
        size_t mark = weft_arena_mark(b->a);
        weft_train_measures m;

        if (!(b->p->constraints.recomputes >> r & 1))
            continue;
        for (int i = 0; i < n; i++)
            b->plan.stage[i].recompute = (weft_recompute)r;
        CHECK_OK(weft_train_plan_evaluate(b->p, &b->plan, b->a, &m));
        for (int i = 0; i < n; i++) {
            double l = 0;

            for (int c = i; c < n * b->plan.n_chunks; c += n)
                l += seconds_of(b->p, &b->plan.stage[i], b->plan.cut[c], b->plan.cut[c + 1]);
            if (m.stage_peak_bytes[i] <= m.stage_room_bytes[i] && l < best_s[i]) {
                best_s[i] = l;
                choice[i] = (weft_recompute)r;
            }
        }
        weft_arena_rewind(b->a, mark);
    }
    for (int i = 0; i < n; i++) {
        if (!(best_s[i] < INFINITY))
            return false;
        b->plan.stage[i].recompute = choice[i];
    }
    return true;
}

static void judge_layouts(brute *b, int d)
{
    for (int layout = 0; layout < 4; layout++) { /* as in finish_uniform */
        int seen[2] = {0}, count[2] = {0};

        if (layout % 2 && d == 1)
            continue;
        for (int i = 0; i < b->n; i++)
            count[b->stage[i].part[0].class_id]++;
        for (int i = 0; i < b->n; i++) {
            weft_device_set_part *part = &b->stage[i].part[0];
            int at = seen[part->class_id]++;

            at = layout / 2 ? at : count[part->class_id] - 1 - at;
            part->first = layout % 2 ? at : at * d;
            part->step = layout % 2 ? count[part->class_id] : 1;
            b->plan.stage[i] = b->stage[i];
        }
        if (settle_recomputes(b))
            judge(b);
    }
}

/* All ways to cut a chain into chunks, from chunk q on: there are at most 500. */
static void try_chunks(brute *b, int d, int q)
{
    int last = b->p->blocks.n_cuts - 1;

    if (q == b->n * b->plan.n_chunks) {
        if (b->plan.cut[q] == last)
            judge_layouts(b, d);
        return;
    }
    for (int next = b->plan.cut[q] + 1; next <= last; next++) {
        b->plan.cut[q + 1] = next;
        try_chunks(b, d, q + 1);
    }
}

/* All sequences of classes, the first stage first: there are at most six stages. */
static void try_interleaved(brute *b, int d, int64_t samples)
{
    for (int v = 2; v <= b->p->constraints.most_chunks && b->n * v <= b->p->blocks.n_blocks; v++)
        if (b->n >= 2 && b->m % b->n == 0) {
            b->plan.n_stages = b->n;
            b->plan.n_chunks = v;
            b->plan.cut[0] = 0;
            try_chunks(b, d, 0);
        }
    for (int k = 0; k < b->p->cluster->n_classes && b->n < most_stages(b); k++) {
        weft_stage s = {.width = b->p->width[b->width[k]],
                        .n_parts = 1,
                        .part = {{.class_id = k, .n_blocks = d, .samples = samples}}};

        if (b->used[k] + d > b->n_blocks[k] || cost_of(b->p, &s, 0) == NULL)
            continue;
        b->used[k] += d;
        b->stage[b->n++] = s;
        try_interleaved(b, d, samples);
        b->n--;
        b->used[k] -= d;
    }
}

/* --- all ------------------------------------------------------------------------------------- */

static void try_replicas(brute *b)
{
    for (int d = 1; d <= b->plan.microbatch; d++) {
        int64_t samples = b->plan.microbatch / d;

        if (b->plan.microbatch % d != 0 || place_of(b->p, samples) < 0 ||
            (b->p->constraints.most_replicas > 0 && d > b->p->constraints.most_replicas))
            continue;
        if (b->plan.schedule != WEFT_INTERLEAVED)
            try_uniform(b, d, samples, b->p->blocks.n_cuts - 1);
        else if (b->p->blocks.is_chain)
            try_interleaved(b, d, samples);
    }
    if (b->plan.schedule != WEFT_INTERLEAVED)
        try_device_sets(b, b->p->blocks.n_cuts - 1);
}

static double best_of(const weft_train_problem *p, weft_arena *a)
{
    brute b = {.p = p, .a = a, .best_s = INFINITY};
    const weft_cluster *c = p->cluster;

    b.plan.cut = WEFT_NEW(a, int, 33);
    b.plan.stage = WEFT_NEW(a, weft_stage, MOST_STAGES);
    for (int w = 0; w < 4; w++)
        for (int k = 0; k < WEFT_N_SCHEDULES; k++)
            for (int64_t micro = 1; micro <= p->constraints.batch; micro++) {
                bool is_possible =
                    (p->constraints.schedules >> k & 1) && p->constraints.batch % micro == 0 &&
                    (p->constraints.microbatch == 0 || p->constraints.microbatch == micro);

                for (int i = 0; i < 2; i++) {
                    b.width[i] = w >> i & 1;
                    b.n_blocks[i] = i < c->n_classes
                                        ? weft_class_blocks(&c->classes[i], p->width[b.width[i]])
                                        : 0;
                }
                if (!is_possible || (c->n_classes == 1 && w > 1))
                    continue;
                b.plan.schedule = (weft_schedule)k;
                b.plan.microbatch = micro;
                b.m = p->constraints.batch / micro;
                try_replicas(&b);
            }
    return b.best_s;
}

/* Variant by variant, each as a problem that allows nothing else; every level of ZeRO that is allowed
 * has one without, or with, sequence parallelism. */
double brute_train(const weft_train_problem *p, weft_arena *a)
{
    unsigned seen[2] = {0};
    double best_s = INFINITY;

    for (int i = 0; i < weft_train_n_variants(p); i++) {
        const weft_train_problem *one = weft_train_variant_at(p, i);

        seen[one->is_sequence] |= 1u << one->constraints.zero;
        best_s = fmin(best_s, best_of(one, a));
    }
    for (int i = 0; i < 2; i++)
        CHECK(seen[i] == (p->constraints.sps >> i & 1 ? p->constraints.zeros : 0));
    return best_s;
}
