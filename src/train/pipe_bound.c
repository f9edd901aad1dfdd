/* SPDX-License-Identifier: MIT */
/* pipe_bound.c: lower bounds on a step of training. s stages, m microbatches, l = f + b the seconds
 * of a stage for one microbatch, h and h' of the hops to the next stage and back.
 *
 * 1. One stage. Stage i starts after P = sum over earlier stages of f + h, and after its last
 *    backward come b + h' of these: the step takes at least sum_{j<i} (l_j + h_j + h'_j) + own_i.
 *    own_i >= m l_i: it works that long. Between forward and backward of a microbatch lie R = sum
 *    over later stages of l and of hops there and back. The stage runs K forwards first (its
 *    microbatches in flight), then backward and forward in turn. So, for m > K,
 *      - between forward 1 and backward 1 it has K - 1 forwards to do, and idles R - (K-1) f;
 *      - between forward m and backward m it has K - 1 backwards, and idles R - (K-1) b;
 *      - between forward k and backward k, k = 1 + K, 1 + 2K, .. <= m - K, it has K - 1 of both,
 *        and idles R - (K-1) l.
 *    Backward k comes before forward k + K in its order, so these times do not overlap, and
 *      own = m l + (R - (K-1) f)+ + n (R - (K-1) l)+ + (R - (K-1) b)+,  n = floor((m-K-1) / K).
 *    For m <= K the first two overlap: the larger one counts, with m for K. Under gpipe all
 *    forwards of the last stage come before its backwards, hence own = m l + R: f of all later
 *    stages follow its last forward, b of them come before its first backward.
 * 2. Fill. By 1 each stage has m l_i <= T - P_i with P_i = sum_{j<i} l_j, so
 *    P_{i+1} <= P_i (1 - 1/m) + T/m, hence sum l <= T (1 - (1 - 1/m)^s): T >= sum l / that.
 * 3. Work. Let c_kq be the least seconds of a device of class k for one sample of unit q (over
 *    shares and widths: width * seconds / samples), n_k its devices. For any prices y_k >= 0 the
 *    work of a step, priced, is at least batch * sum_q min_k y_k c_kq, and in T seconds all devices
 *    deliver at most T sum_k n_k y_k: T >= the quotient. (By duality the best prices give the
 *    optimum of fractional assignments.) One class: batch * sum c / n. Prices start as 1 / sum_q
 *    c_kq, so that classes are equal on the whole network, and are improved one by one.
 *
 * 4. Pools that fill. The bounds 2 and 3 together, for stages whose groups of devices are given but
 *    not their order. A stage i delivers at most Y_i m l_i of priced work, Y_i the sum of y over
 *    its devices. Of any a stages, sum l <= T (1 - (1 - 1/m)^a) by 2: those between them only make
 *    them wait. Let a(t) be the number of stages with Y >= t. Then sum Y_i l_i = integral over t of
 *    the sum of l of stages with Y_i >= t <= T * integral of 1 - (1 - 1/m)^a(t), which is
 *    T/m * sum of Y_(i) (1 - 1/m)^(i-1), Y_(1) >= Y_(2) .. in falling order. So
 *      T >= priced work / sum Y_(i) (1 - 1/m)^(i-1),
 *    with as many of the largest Y as there may be stages. Interleaved plans do not fill stage by
 *    stage: for them without the powers, but the number of stages divides m, and each has two
 *    chunks at least.
 *
 * Cost: 1 and 2 O(1), 4 O(stages log stages), 3 O(classes * units * shares * widths) and the rounds of prices. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "space.h"

double weft_pipe_own_s(weft_schedule schedule, int64_t m, int64_t in_flight, double forward_s,
                       double backward_s, double rest_s)
{
    double l = forward_s + backward_s, k = (double)in_flight - 1;
    double first_s, last_s, middle_s;

    if (schedule == WEFT_GPIPE)
        return (double)m * l + rest_s;
    if (m <= in_flight)
        return (double)m * l + fmax(0, rest_s - (double)(m - 1) * fmin(forward_s, backward_s));
    first_s = fmax(0, rest_s - k * forward_s);
    last_s = fmax(0, rest_s - k * backward_s);
    middle_s = fmax(0, rest_s - k * l);
    return (double)m * l + first_s + last_s + (double)((m - in_flight - 1) / in_flight) * middle_s;
}

double weft_pipe_fill_s(double l, int64_t m, int s)
{
    /* 1 - (1 - 1/m)^s without cancellation */
    double part = m > 1 ? -expm1((double)s * log1p(-1.0 / (double)m)) : 1.0;

    return l / part;
}

/* --- work ------------------------------------------------------------------------------------ */

enum { ROUNDS = 30 };

/* Device seconds of one sample. */
typedef struct pool {
    int n_classes, n_blocks;
    double *c; /* [class * n_units + unit]; INFINITY: cannot */
    double n_devices[WEFT_MAX_PARTS];
} pool;

static double value_of(const weft_block_cost *u, int kind, const weft_pipe_costs *c)
{
    double again_s = INFINITY;

    if (kind == 1)
        return u->compute_s;
    if (kind == 2)
        return u->memory_s;
    for (int r = 0; r < c->n_recomputes; r++)
        again_s = fmin(again_s, u->again_s[c->recompute[r]]);
    return u->forward_s + u->backward_s + again_s;
}

static void take_table(const weft_pipe_costs *c, int kind, int class_id, int w, int x, pool *out)
{
    const weft_train_problem *p = c->p;
    int table = weft_train_problem_table(p, class_id, w, x);
    const weft_block_cost *cost = c->row[table].is_there ? p->cost[table] : NULL;
    double factor = (double)p->width[w] / (double)p->share[x];

    for (int u = 0; cost != NULL && u < out->n_blocks; u++) {
        double *least = &out->c[class_id * out->n_blocks + u];

        *least = fmin(*least, factor * value_of(&cost[u], kind, c));
    }
}

/* Devices of a plan, where all that it takes is given. */
static double most_devices(const weft_train_constraints *x)
{
    return x->tp.n > 0 && x->pp.n > 0 && x->dp.n > 0
               ? (double)weft_counts_most(&x->tp) * (double)weft_counts_most(&x->pp) *
                     (double)weft_counts_most(&x->dp)
               : INFINITY;
}

/* Widths and shares of a family; f NULL: all that are allowed. */
static pool pool_of(const weft_pipe_costs *c, const weft_pipe_family *f, int kind, weft_arena *a)
{
    const weft_train_problem *p = c->p;
    pool out = {.n_classes = c->n_classes, .n_blocks = p->blocks.n_blocks};

    out.c = WEFT_NEW(a, double, out.n_classes *out.n_blocks);
    for (int i = 0; i < out.n_classes * out.n_blocks; i++)
        out.c[i] = INFINITY;
    for (int k = 0; k < c->n_classes; k++) {
        out.n_devices[k] = fmin(p->cluster->classes[k].n_devices, most_devices(&p->constraints));
        if (f != NULL)
            out.n_devices[k] = f->width[k] < 0 ? 0 : (double)f->n_blocks[k] * p->width[f->width[k]];
        for (int w = 0; w < p->n_widths; w++)
            for (int x = 0; x < p->n_shares; x++)
                if (f == NULL
                        ? p->constraints.most_width == 0 || p->width[w] <= p->constraints.most_width
                        : f->width[k] == w && p->share[x] <= f->microbatch &&
                              (f->replicas == 0 || p->share[x] * f->replicas == f->microbatch))
                    take_table(c, kind, k, w, x, &out);
    }
    return out;
}

/* The bound for one sample with these prices. */
static double priced_s(const pool *q, const double *price)
{
    double work = 0, devices = 0;

    for (int u = 0; u < q->n_blocks; u++) {
        double least = INFINITY;

        for (int k = 0; k < q->n_classes; k++)
            if (q->n_devices[k] > 0 && q->c[k * q->n_blocks + u] < INFINITY)
                least = fmin(least, price[k] * q->c[k * q->n_blocks + u]);
        work += least < INFINITY ? least : 0;
    }
    for (int k = 0; k < q->n_classes; k++)
        devices += q->n_devices[k] * price[k];
    return devices > 0 ? work / devices : 0;
}

/* Improves on prices by which all classes are equal on the whole network. */
static double best_priced_s(const pool *q, double price[WEFT_MAX_PARTS])
{
    double best_s, factor = 2;

    for (int k = 0; k < q->n_classes; k++) {
        double sum = 0;

        for (int u = 0; u < q->n_blocks; u++)
            sum += q->c[k * q->n_blocks + u] < INFINITY ? q->c[k * q->n_blocks + u] : 0;
        price[k] = q->n_devices[k] > 0 && sum > 0 ? 1 / sum : 0;
    }
    best_s = priced_s(q, price);
    for (int round = 0; q->n_classes > 1 && round < ROUNDS; round++) {
        bool is_better = false;

        for (int k = 0; k < 2 * q->n_classes; k++) {
            double before = price[k / 2], s;

            price[k / 2] *= k % 2 ? factor : 1 / factor;
            s = priced_s(q, price);
            if (s > best_s) {
                best_s = s;
                is_better = true;
            } else {
                price[k / 2] = before;
            }
        }
        if (!is_better)
            factor = sqrt(factor);
    }
    return best_s;
}

double weft_pipe_work_s(const weft_pipe_costs *c, const weft_pipe_family *f, int kind)
{
    weft_arena *a = weft_arena_new();
    pool q = pool_of(c, f, kind, a);
    double price[WEFT_MAX_PARTS] = {0};
    double s = best_priced_s(&q, price) * (double)c->p->constraints.batch;

    weft_arena_free(a);
    return s;
}

weft_pipe_pool weft_pipe_pool_of(const weft_pipe_costs *c, const weft_pipe_family *f)
{
    weft_arena *a = weft_arena_new();
    pool q = pool_of(c, f, 0, a);
    weft_pipe_pool out = {0};
    double devices = 0;

    out.work_s = best_priced_s(&q, out.price) * (double)c->p->constraints.batch;
    for (int k = 0; k < q.n_classes; k++)
        devices += q.n_devices[k] * out.price[k];
    out.work = out.work_s * devices;
    weft_arena_free(a);
    return out;
}

/* --- pools that fill stage by stage ---------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x < y) - (x > y);
}

/* What a second of a stage of this group is worth. */
static double group_value(const weft_pipe_costs *c, const weft_pipe_group *g,
                          const weft_pipe_pool *prices)
{
    double value = 0;

    for (int i = 0; i < g->n_parts; i++)
        value += prices->price[g->class_id[i]] * g->count[i] * c->p->width[g->width];
    return value;
}

/* The values of all stages that there may be, the largest first. */
static int stage_values(const weft_pipe_costs *c, const weft_pipe_family *f,
                        const weft_pipe_pool *prices, double *value)
{
    int n = 0;

    for (int i = 0; i < f->n_groups; i++) {
        const weft_pipe_group *g = &f->group[i];
        int stages = f->is_row ? 1 : f->n_blocks[g->class_id[0]] / f->replicas;

        for (int k = 0; k < stages && k < f->most_stages; k++)
            value[n++] = group_value(c, g, prices);
    }
    qsort(value, (size_t)n, sizeof *value, by_value);
    return n < f->most_stages ? n : f->most_stages;
}

/* The most stages that divide the microbatches, as interleaved plans ask for. */
static int most_chunked(const weft_pipe_costs *c, const weft_pipe_family *f, int n)
{
    if (n > c->p->blocks.n_blocks / 2)
        n = c->p->blocks.n_blocks / 2;
    while (n > 1 && f->n_microbatches % n != 0)
        n--;
    return n;
}

double weft_pipe_pool_s(const weft_pipe_costs *c, const weft_pipe_family *f,
                        const weft_pipe_pool *prices, bool is_chunks)
{
    weft_arena *a = weft_arena_new();
    double *value = WEFT_NEW(a, double, (size_t)f->n_groups *(size_t)f->most_stages + 1);
    double delivered = 0, part = 1;
    int n = stage_values(c, f, prices, value);

    if (is_chunks)
        n = most_chunked(c, f, n);
    for (int i = 0; i < n; i++) {
        delivered += part * value[i];
        part *= is_chunks ? 1 : 1 - 1.0 / (double)f->n_microbatches;
    }
    weft_arena_free(a);
    return delivered > 0 ? fmax(prices->work_s, prices->work / delivered * (1 - 1e-12))
                         : prices->work_s;
}
