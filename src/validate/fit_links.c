/* SPDX-License-Identifier: MIT */
/* fit_links.c: the curve of a link from measured all-reduces.
 *
 * 1. A sum of V bytes over n devices on a ring is 2 (n - 1) messages of V / n bytes, one after the
 *    other. So each row says what such a message takes; rows of one size count with their median.
 *    What a message takes must not fall with its size: neighbours that do are replaced by their mean.
 * 2. The curve is written to the list of links that changes what the rows are predicted to take, and
 *    sums of the platform take rings, since the curve is one of rings.
 * 3. Each size is predicted by the curve of the other sizes: that is the error of what was not seen. */
#include "calibrate.h"

#include "collective.h"

#include <math.h>
#include <string.h>

typedef struct points {
    int n;
    double *bytes, *seconds; /* of a message, latency included; bytes ascend */
} points;

/* The median of the rows of each size; `without`: a size that is left out, or -1. */
static points points_of(const weft_measured *m, double without, weft_arena *a)
{
    points p = {0, WEFT_NEW(a, double, m->n), WEFT_NEW(a, double, m->n)};
    double *same = WEFT_NEW(a, double, m->n), last = -1;

    for (;;) {
        double bytes = INFINITY;
        int n = 0;

        for (int i = 0; i < m->n; i++) {
            const weft_sum_shape *s = m->row[i].shape;
            double b = (double)s->bytes / (double)s->ranks;

            if (b > last && b < bytes && b != without)
                bytes = b;
        }
        if (isinf(bytes))
            return p;
        for (int i = 0; i < m->n; i++) {
            const weft_sum_shape *s = m->row[i].shape;

            if ((double)s->bytes / (double)s->ranks == bytes)
                same[n++] = m->row[i].seconds / (2 * ((double)s->ranks - 1));
        }
        p.bytes[p.n] = last = bytes;
        p.seconds[p.n++] = weft_quantile(same, n, 0.5, a);
    }
}

/* Seconds that do not fall: neighbours that do are pooled. */
static void make_rising(const points *p, weft_arena *a)
{
    int *count = WEFT_NEW(a, int, p->n + 1), n = 0, at = 0;
    double *mean = WEFT_NEW(a, double, p->n + 1);

    for (int i = 0; i < p->n; i++) {
        mean[n] = p->seconds[i];
        count[n++] = 1;
        for (; n > 1 && mean[n - 2] > mean[n - 1]; n--) {
            int both = count[n - 2] + count[n - 1];

            mean[n - 2] = (mean[n - 2] * count[n - 2] + mean[n - 1] * count[n - 1]) / both;
            count[n - 2] = both;
        }
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < count[i]; k++, at++) /* a little more, so that rounding is no fall */
            p->seconds[at] = fmax(mean[i], at > 0 ? p->seconds[at - 1] * (1 + 1e-9) : 0);
}

static points curve_of(const weft_measured *m, double without, double latency_s, weft_arena *a)
{
    points p = points_of(m, without, a);

    for (int i = 0; i < p.n; i++)
        p.seconds[i] -= latency_s;
    make_rising(&p, a);
    return p;
}

static double ring_s(const points *p, double latency_s, const weft_sum_shape *s)
{
    weft_link_curve curve = {p->n, p->bytes, p->seconds};

    return 2 * ((double)s->ranks - 1) *
           (latency_s + weft_link_curve_s(&curve, (double)s->bytes / (double)s->ranks));
}

/* --- what is asked ---------------------------------------------------------------------------- */

static weft_status check_rows(const weft_measured *m, const weft_platform *p, double *latency_s)
{
    weft_link_cost slowest = WEFT_LINK_COST_NONE;
    const weft_sum_shape *first = m->row[0].shape;

    for (int i = 0; i < m->n; i++) {
        const weft_sum_shape *s = m->row[i].shape;

        if (m->row[i].what != WEFT_MEASURED_SUM)
            return weft_fail(WEFT_E_INPUT,
                             "%s:%d: column 'what' is '%s', expected 'allreduce' as in the rows "
                             "before: links are fitted apart from devices",
                             m->file, m->row[i].line, weft_measured_kind_of(m->row[i].what)->name);
        if (s->ranks != first->ranks || s->ranks < 2 || s->ranks > p->n_devices)
            return weft_fail(WEFT_E_INPUT,
                             "%s:%d: ranks is %lld, expected the same in all rows, 2 to %d",
                             m->file, m->row[i].line, (long long)s->ranks, p->n_devices);
    }
    for (int d = 0; d < first->ranks; d++)
        weft_link_cost_take(p, d, (int)((d + 1) % first->ranks), &slowest);
    *latency_s = slowest.latency_s;
    for (int i = 0; i < m->n; i++)
        if (m->row[i].seconds <= 2 * ((double)first->ranks - 1) * *latency_s)
            return weft_fail(WEFT_E_INPUT,
                             "%s:%d: %g s are less than %lld messages of no bytes take, %g s each: "
                             "expected a lower 'latency' of the links",
                             m->file, m->row[i].line, m->row[i].seconds,
                             2 * ((long long)first->ranks - 1), *latency_s);
    return WEFT_OK;
}

/* --- scores ----------------------------------------------------------------------------------- */

typedef struct fitting {
    const weft_measured *m;
    const weft_platform *platform;
    double latency_s;
    weft_arena *a;
} fitting;

enum { BEFORE, FITTED, HELD_OUT };

static double predicted_s(const fitting *x, int i, int which)
{
    const weft_sum_shape *s = x->m->row[i].shape;
    double b = (double)s->bytes / (double)s->ranks;
    points p;

    if (which == BEFORE) {
        weft_link_cost slowest = WEFT_LINK_COST_NONE;

        for (int d = 0; d < s->ranks; d++)
            weft_link_cost_take(x->platform, d, (int)((d + 1) % s->ranks), &slowest);
        return weft_ring_s(&slowest, (int)s->ranks, WEFT_ALL_REDUCE, (double)s->bytes);
    }
    p = curve_of(x->m, which == HELD_OUT ? b : -1, x->latency_s, x->a);
    return ring_s(&p, x->latency_s, s);
}

static weft_score score_of(const fitting *x, int which)
{
    double *published = WEFT_NEW(x->a, double, x->m->n);
    double *predicted = WEFT_NEW(x->a, double, x->m->n);
    weft_score s = {.measured = x->m,
                    .name = x->m->file,
                    .n = x->m->n,
                    .published_s = published,
                    .predicted_s = predicted};

    for (int i = 0; i < x->m->n; i++) {
        published[i] = x->m->row[i].seconds;
        predicted[i] = predicted_s(x, i, which);
    }
    weft_score_sum(&s, x->a);
    return s;
}

bool weft_fit_is_of_links(const weft_measured *m)
{
    return m->n > 0 && m->row[0].what == WEFT_MEASURED_SUM;
}

weft_status weft_fit_links(const weft_measured *m, const char *on, weft_arena *a, weft_fit *out)
{
    weft_platform *platform;
    fitting x = {.m = m, .a = a};
    weft_status status;

    WEFT_TRY(weft_platform_open(on, &platform));
    x.platform = platform;
    status = check_rows(m, platform, &x.latency_s);
    if (status == WEFT_OK) {
        points p = curve_of(m, -1, x.latency_s, a);

        *out = (weft_fit){
            .device = "links",
            .n_rows = m->n,
            .n_groups = p.n,
            .n_folds = p.n > 2 ? p.n : 0,
            .what = weft_measured_kind_of(WEFT_MEASURED_SUM)->plural,
            .curve = {p.n, p.bytes, p.seconds},
            .n_ranks = (int)((const weft_sum_shape *)m->row[0].shape)->ranks,
            .before = score_of(&x, BEFORE),
            .fitted = score_of(&x, FITTED)
        };
        if (out->n_folds > 0)
            out->held_out = score_of(&x, HELD_OUT);
    }
    weft_platform_free(platform);
    return status;
}
