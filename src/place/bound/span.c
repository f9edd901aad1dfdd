/* SPDX-License-Identifier: MIT */
/* span.c: how long the work between two barriers takes at least.
 *
 * The span ends when barrier b starts on some device l, its exit; before that, all open tasks of
 * the span are done. Let S be a class of them, leave(d, l) the least time from the end of a task
 * of S on d to the start of b on l, and rest(l) what follows the start of b there. If b starts at
 * X, device d works for S within [free(d), X - leave(d, l)]. So for prices w of devices, of sum 1,
 *
 *     sum over d of w(d) max(0, X - leave(d, l) - free(d))
 *         >=  sum over S of min over d of w(d) time(d),                                        (1)
 *
 * because each task pays at least its cheapest device. The least such X, plus rest(l), bounds the
 * value of every schedule with that exit; the least over the exits bounds them all. The span that
 * ends with the subproblem has one exit; there, leave(d) is the least tail of a task of S on d.
 *
 * 1. Classes: all tasks, and those with tails of at least some quantiles of all tails.
 * 2. Prices: those that make the work of the span dear, the same with one device dearer or
 *    cheaper, and each device alone.
 * 3. leave() by the recursion of tails in subproblem.c, begun at the barrier on each exit.
 *
 * Every class and all prices are valid; the largest bound counts. If no term of (1) is 0, X is
 * the work plus the priced sum of leave + free; else terms are left out from the latest device on.
 * Time for a state: prices * classes * exits. */
#include "span.h"
#include "sort.h"

#include <math.h>
#include <string.h>

enum {
    CLASSES = WEFT_STRETCH_CLASSES,
    MOST_EXITS = 8, /* with more devices, exits are one */
    MOST_PRICES = 3 * WEFT_SUBPROBLEM_DEVICES + 1,
};

static const double ROUNDING = 1e-13; /* relative, of sums of priced work */

typedef struct builder {
    const weft_stretch_costs *costs;
    weft_stretch *span;
    weft_arena *arena;
    double *least; /* [task - begin] least tail */
} builder;

/* Devices that may still work, by the time from which they do. */
typedef struct gate {
    int n, order[WEFT_SUBPROBLEM_DEVICES];
    double from[WEFT_SUBPROBLEM_DEVICES], latest; /* INFINITY if some device may not */
} gate;

static double time_of(const builder *b, int u, int d)
{
    int64_t t = b->costs->time[u * b->span->n_devices + d];

    return t < b->costs->never ? (double)t : INFINITY;
}

/* --- prices ---------------------------------------------------------------------------------- */

static double least_priced(const builder *b, const double *price, int u)
{
    double least = INFINITY;

    for (int d = 0; d < b->span->n_devices; d++) {
        if (time_of(b, u, d) < INFINITY)
            least = fmin(least, price[d] * time_of(b, u, d));
    }
    return least < INFINITY ? least : 0;
}

static double priced_work(const builder *b, const double *price)
{
    double sum = 0, total = 0;

    for (int d = 0; d < b->span->n_devices; d++)
        total += price[d];
    for (int u = b->span->begin; u < b->span->end; u++)
        sum += least_priced(b, price, u);
    return sum / total;
}

/* Prices that make the work of a span dear: scaled one at a time while that helps. */
static void climb(const builder *b, double *price)
{
    double factor = 2;
    double best = priced_work(b, price);

    while (factor > 1.003) {
        for (int d = 0; d < b->span->n_devices; d++) {
            for (int way = 0; way < 2; way++) {
                double before = price[d], value;

                price[d] *= way ? factor : 1 / factor;
                value = priced_work(b, price);
                if (value > best)
                    best = value;
                else
                    price[d] = before;
            }
        }
        factor = sqrt(factor);
    }
}

static void normalise(double *price, int n)
{
    double sum = 0;

    for (int d = 0; d < n; d++)
        sum += price[d];
    for (int d = 0; d < n; d++)
        price[d] /= sum;
}

static void set_prices(builder *b)
{
    weft_stretch *s = b->span;
    int k = s->n_devices, n = 1;
    double *price = WEFT_NEW(b->arena, double, (size_t)(3 * k + 1) * (size_t)k);

    for (int d = 0; d < k; d++)
        price[d] = 1;
    climb(b, price);
    for (int d = 0; d < k && k > 1; d++) {
        for (int way = 0; way < 2; way++) {
            memcpy(price + n * k, price, sizeof *price * (size_t)k);
            price[n * k + d] *= way ? 1.4 : 0.7;
            n++;
        }
        memset(price + n * k, 0, sizeof *price * (size_t)k);
        price[n * k + d] = 1;
        n += priced_work(b, price + n * k) > 0; /* is there work that only d can do? */
    }
    for (int i = 0; i < n; i++)
        normalise(price + i * k, k);
    s->n_prices = n;
    s->price = price;
    s->cheap = WEFT_NEW(b->arena, double, (size_t)(s->end - s->begin) * (size_t)n);
    for (int u = s->begin; u < s->end; u++) {
        for (int i = 0; i < n; i++)
            /* whole numbers: sums are exact, so work that is all done is 0 whatever the order */
            s->cheap[(u - s->begin) * n + i] = floor(least_priced(b, price + i * k, u));
    }
}

/* --- classes --------------------------------------------------------------------------------- */

static void set_classes(builder *b)
{
    weft_stretch *s = b->span;
    int n = s->end - s->begin, k = s->n_devices;
    double *sorted = WEFT_NEW(b->arena, double, n);

    b->least = WEFT_NEW(b->arena, double, n);
    s->n_classes = WEFT_NEW(b->arena, int, n);
    for (int i = 0; i < n; i++) {
        b->least[i] = INFINITY;
        for (int d = 0; d < k; d++) {
            if (time_of(b, s->begin + i, d) < INFINITY)
                b->least[i] = fmin(b->least[i], (double)b->costs->tail[(s->begin + i) * k + d]);
        }
        sorted[i] = b->least[i];
    }
    weft_sort_reals(sorted, n);
    for (int i = 0; i < n; i++) {
        while (s->n_classes[i] < CLASSES && b->least[i] >= sorted[s->n_classes[i] * n / CLASSES])
            s->n_classes[i]++;
    }
}

/* --- exits ----------------------------------------------------------------------------------- */

/* Times from the ends of the tasks to the exit, [(task - begin) * n_devices + device]. */
static void fill_ways(const builder *b, int exit, double *way)
{
    const weft_stretch *s = b->span;
    const weft_subproblem *x = b->costs->subproblem;
    int k = s->n_devices;

    for (int u = s->end - 1; u >= s->begin; u--) {
        double *out = way + (u - s->begin) * k;

        memset(out, 0, sizeof *out * (size_t)k);
        for (int i = x->out_at[u]; i < x->out_at[u + 1]; i++) {
            int e = x->out[i], v = x->to[e];
            const int64_t *send = b->costs->send + (size_t)e * (size_t)(k * k);

            for (int d = 0; v <= s->end && d < k; d++) {
                double least = v == s->end ? (double)send[d * k + exit] : INFINITY;

                for (int m = 0; v < s->end && m < k; m++)
                    least = fmin(least, (double)send[d * k + m] + time_of(b, v, m) +
                                            way[(v - s->begin) * k + m]);
                out[d] = fmax(out[d], least);
            }
        }
    }
}

/* The least of each class, on each device on which a task of it may run. */
static void fill_leave(const builder *b, int exit, const double *way)
{
    const weft_stretch *s = b->span;
    int k = s->n_devices;

    for (int c = 0; c < CLASSES; c++) {
        double *leave = s->leave + (c * s->n_exits + exit) * k;

        for (int d = 0; d < k; d++)
            leave[d] = INFINITY;
        for (int u = s->begin; u < s->end; u++) {
            for (int d = 0; s->n_classes[u - s->begin] > c && d < k; d++) {
                if (time_of(b, u, d) < INFINITY)
                    leave[d] = fmin(leave[d], way[(u - s->begin) * k + d]);
            }
        }
        for (int d = 0; d < k; d++) /* a device for none of them: any number will do */
            leave[d] = leave[d] < INFINITY ? leave[d] : 0;
    }
}

static void set_exits(builder *b)
{
    weft_stretch *s = b->span;
    int k = s->n_devices;
    bool has_exits = s->end < b->costs->subproblem->n_tasks && k <= MOST_EXITS;
    double *way = WEFT_NEW(b->arena, double, (size_t)(s->end - s->begin) * (size_t)k);

    s->n_exits = has_exits ? k : 1;
    s->leave = WEFT_NEW(b->arena, double, (size_t)(CLASSES * s->n_exits) * (size_t)k);
    s->rest = WEFT_NEW(b->arena, double, s->n_exits);
    for (int i = 0; i < (s->end - s->begin) * k; i++)
        way[i] = (double)b->costs->tail[s->begin * k + i];
    for (int l = 0; l < s->n_exits; l++) {
        if (has_exits) {
            fill_ways(b, l, way);
            s->rest[l] = time_of(b, s->end, l) + (double)b->costs->tail[s->end * k + l];
        }
        fill_leave(b, l, way);
    }
}

static void set_leaving(builder *b)
{
    weft_stretch *s = b->span;
    int k = s->n_devices, n = CLASSES * s->n_exits;

    s->leaving = WEFT_NEW(b->arena, double, s->n_prices *n);
    for (int i = 0; i < s->n_prices; i++) {
        for (int j = 0; j < n; j++) {
            for (int d = 0; d < k; d++)
                s->leaving[i * n + j] += s->price[i * k + d] * s->leave[j * k + d];
        }
    }
}

weft_stretch *weft_stretch_new(const weft_stretch_costs *c, int begin, int end, weft_arena *a)
{
    weft_stretch *s = WEFT_NEW(a, weft_stretch, 1);
    builder b = {.costs = c, .span = s, .arena = a};

    s->begin = begin;
    s->end = end;
    s->n_devices = c->subproblem->n_devices;
    if (end - begin < 2) /* paths say all there is */
        return s;
    set_prices(&b);
    set_classes(&b);
    set_exits(&b);
    set_leaving(&b);
    return s;
}

/* --- states ---------------------------------------------------------------------------------- */

void weft_stretch_less(const weft_stretch *s, double *work, int u)
{
    const double *cheap = s->cheap + (u - s->begin) * s->n_prices;

    for (int i = 0; i < s->n_prices; i++) {
        for (int c = 0; c < s->n_classes[u - s->begin]; c++)
            work[i * CLASSES + c] -= cheap[i];
    }
}

double *weft_stretch_work(const weft_stretch *s, const uint64_t *done, weft_arena *a)
{
    double *work = WEFT_NEW(a, double, s->n_prices *CLASSES);

    for (int u = s->begin; s->n_prices > 0 && u < s->end; u++) {
        const double *cheap = s->cheap + (u - s->begin) * s->n_prices;

        for (int i = 0; i < s->n_prices && !weft_bit_get(done, u); i++) {
            for (int c = 0; c < s->n_classes[u - s->begin]; c++)
                work[i * CLASSES + c] += cheap[i];
        }
    }
    return work;
}

/* The least X of (1): devices enter in the order in which their time begins, if before X. */
static double least_end(const double *price, const gate *g, double work)
{
    double rate = 0, sum = work;

    for (int j = 0; j < g->n; j++) {
        int d = g->order[j];

        if (rate > 0 && g->from[d] * rate >= sum)
            break;
        rate += price[d];
        sum += price[d] * g->from[d];
    }
    return rate > 0 ? sum / rate : INFINITY;
}

/* An exit of a class: when the time of each device for it begins, counted from the exit. */
static void open_gate(const weft_stretch *s, int at, const int64_t *free, int64_t never, gate *g)
{
    int k = s->n_devices;
    const double *leave = s->leave + at * k;

    g->n = 0;
    for (int d = 0; d < k; d++) {
        int j = g->n;

        if (free[d] >= never)
            continue;
        g->from[d] = (double)free[d] + leave[d];
        for (; j > 0 && g->from[g->order[j - 1]] > g->from[d]; j--)
            g->order[j] = g->order[j - 1];
        g->order[j] = d;
        g->n++;
    }
    g->latest = g->n == k ? g->from[g->order[k - 1]] : INFINITY;
}

/* The bound of a class at a price, the least over the exits; at most `best` if it is no larger. */
static double bound_at(const weft_stretch *s, int i, int c, const gate *gates, double load,
                       double priced, double best)
{
    const double *leaving = s->leaving + (i * CLASSES + c) * s->n_exits;
    double least = INFINITY;

    for (int l = 0; l < s->n_exits && least > best; l++) {
        double end = load + priced + leaving[l];

        if (!(end >= gates[l].latest))
            end = least_end(s->price + i * s->n_devices, &gates[l], load);
        end += s->rest[l];
        least = end < least ? end : least;
    }
    return least;
}

double weft_stretch_bound(const weft_stretch *s, const double *work, const int64_t *free,
                          int64_t never, double best)
{
    int k = s->n_devices;
    double priced[MOST_PRICES];
    gate gates[MOST_EXITS];

    for (int i = 0; i < s->n_prices; i++) {
        priced[i] = 0;
        for (int d = 0; d < k; d++)
            priced[i] += s->price[i * k + d] * (double)free[d];
    }
    for (int c = 0; s->n_prices > 0 && c < CLASSES && work[c] > 0; c++) {
        for (int l = 0; l < s->n_exits; l++)
            open_gate(s, c * s->n_exits + l, free, never, &gates[l]);
        for (int i = 0; i < s->n_prices; i++) {
            double load = work[i * CLASSES + c], end;

            end = load > 0 ? bound_at(s, i, c, gates, load, priced[i], best) : 0;
            best = end * (1 - ROUNDING) > best ? end * (1 - ROUNDING) : best;
        }
    }
    return best;
}
