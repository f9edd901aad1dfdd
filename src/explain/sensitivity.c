/* SPDX-License-Identifier: MIT */
/* sensitivity.c: is a plan still good if costs are not what they were taken for?
 *
 * 1. Ranges: the times of one suspect (a device, a link) are changed by a factor. GRID points on
 *    either side of 1 are tried, outward, up to the first where the regret is too large; then
 *    BISECTIONS between this one and the last good one. What lies between points that were tried
 *    is not known.
 * 2. Samples: factors log-uniform in [1 - error, 1 + error], all at once.
 *
 * Sides of ranges and samples do not depend on each other and may run side by side, each sample
 * with random numbers of its own. */
#include "sensitivity.h"

#include <math.h>
#include <stdatomic.h>

enum { GRID = 8, BISECTIONS = 3 };

typedef struct side {
    double end; /* the furthest good factor; NAN: not even 1 */
    bool is_proved;
} side;

typedef struct search {
    const weft_doubter *d;
    const weft_sensitivity_options *o;
    side *side;         /* [2 * n suspects] */
    weft_trial *sample; /* [n_samples] */
    weft_rng *rng;      /* [n_samples] */
    weft_status *status;
    char (*message)[512];
    int n;
    atomic_int n_done;
} search;

double weft_draw_factor(weft_rng *r, double error)
{
    double least = log(1 - error), most = log(1 + error);

    return exp(least + (most - least) * weft_rng_real(r));
}

weft_trial weft_trial_of(double value, double best, double bound, double tolerance)
{
    return (weft_trial){best > 0 && best < value ? value / best - 1 : 0,
                        value <= (1 + tolerance) * bound * (1 + 1e-12)};
}

static bool is_good(const search *s, const weft_trial *t)
{
    return t->regret <= s->o->tolerance * (1 + 1e-9);
}

/* At a part of the error, in a direction. */
static weft_status try_part(const search *s, int suspect, double part, weft_trial *out)
{
    return s->d->try_factor(s->d->context, suspect, 1 + part * s->o->error, out);
}

static weft_status find_side(const search *s, int suspect, double direction, side *out)
{
    double good = 0, bad = NAN; /* parts of the error */
    weft_trial t;

    *out = (side){.end = NAN, .is_proved = true};
    for (int i = 0; i <= GRID && isnan(bad); i++) {
        double at = (double)i / GRID;

        WEFT_TRY(try_part(s, suspect, direction * at, &t));
        if (!is_good(s, &t)) {
            bad = at;
            continue;
        }
        good = at;
        out->is_proved &= t.is_proved;
        out->end = 1 + direction * good * s->o->error;
    }
    for (int i = 0; i < BISECTIONS && !isnan(bad) && !isnan(out->end); i++) {
        double at = (good + bad) / 2;

        WEFT_TRY(try_part(s, suspect, direction * at, &t));
        if (is_good(s, &t)) {
            good = at;
            out->is_proved &= t.is_proved;
            out->end = 1 + direction * good * s->o->error;
        } else {
            bad = at;
        }
    }
    return WEFT_OK;
}

static void work(void *context, int i)
{
    search *s = context;
    int n_sides = 2 * s->d->n, n_done;
    weft_rng r;

    if (i < n_sides) {
        s->status[i] = find_side(s, i / 2, i % 2 == 0 ? -1 : 1, &s->side[i]);
    } else {
        r = s->rng[i - n_sides];
        s->status[i] = s->d->try_sample(s->d->context, &r, &s->sample[i - n_sides]);
    }
    if (s->status[i] != WEFT_OK)
        snprintf(s->message[i], sizeof s->message[i], "%s", weft_message());
    n_done = atomic_fetch_add(&s->n_done, 1) + 1;
    if (s->o->told != NULL)
        s->o->told(s->o->context, n_done, s->n);
}

static weft_status first_failure(const search *s)
{
    for (int i = 0; i < s->n; i++)
        if (s->status[i] != WEFT_OK)
            return weft_fail(s->status[i], "%s", s->message[i]);
    return WEFT_OK;
}

static void sum_up(const search *s, weft_arena *a, weft_sensitivity *out)
{
    int n = s->d->n;
    weft_range *range = WEFT_NEW(a, weft_range, n + 1);

    for (int i = 0; i < n; i++) {
        const side *down = &s->side[2 * i], *up = &s->side[2 * i + 1];

        range[i] = (weft_range){s->d->suspect[i].name, s->d->suspect[i].is_link, down->end, up->end,
                                down->is_proved && up->is_proved && !isnan(down->end)};
    }
    *out = (weft_sensitivity){.error = s->o->error,
                              .tolerance = s->o->tolerance,
                              .precision = s->o->error / GRID / (1 << BISECTIONS),
                              .steps = s->o->run.steps,
                              .n_ranges = n,
                              .range = range,
                              .sampled = s->d->sampled,
                              .n_samples = s->o->n_samples};
    for (int i = 0; i < out->n_samples; i++) {
        const weft_trial *t = &s->sample[i];

        out->n_within += is_good(s, t);
        out->n_proved += t->is_proved;
        out->worst = fmax(out->worst, t->regret);
        out->mean += t->regret / out->n_samples;
    }
}

weft_status weft_sensitivity_find(const weft_doubter *d, const weft_sensitivity_options *o,
                                  weft_arena *a, weft_sensitivity *out)
{
    weft_arena *scratch = weft_arena_new();
    weft_rng seed = weft_rng_seed((uint64_t)o->run.seed);
    search s = {.d = d, .o = o, .n = 2 * d->n + o->n_samples};
    weft_status status;

    s.side = WEFT_NEW(scratch, side, 2 * d->n + 1);
    s.sample = WEFT_NEW(scratch, weft_trial, o->n_samples + 1);
    s.rng = WEFT_NEW(scratch, weft_rng, o->n_samples + 1);
    s.status = WEFT_NEW(scratch, weft_status, s.n + 1);
    s.message = weft_arena_array(scratch, (size_t)s.n + 1, sizeof *s.message);
    for (int i = 0; i < o->n_samples; i++)
        s.rng[i] = weft_rng_split(&seed, (uint64_t)i);
    if (o->told != NULL)
        o->told(o->context, 0, s.n);
    weft_parallel(o->run.n_threads > 0 ? o->run.n_threads : 1, s.n, work, &s);
    status = first_failure(&s);
    if (o->run.stop != NULL && *o->run.stop) /* solves that were cut off find nothing better */
        *out = (weft_sensitivity){.is_stopped = true, .sampled = d->sampled};
    else if (status == WEFT_OK)
        sum_up(&s, a, out);
    weft_arena_free(scratch);
    return status;
}
