/* SPDX-License-Identifier: MIT */
/* score.c: predictions of a table of measurements, and their statistics. */
#include "score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Regret of each group of two or more rows. */
static void add_regrets(weft_score *s, weft_arena *a)
{
    size_t mark = weft_arena_mark(a);
    double *published = WEFT_NEW(a, double, s->n), *predicted = WEFT_NEW(a, double, s->n);
    bool *is_done = WEFT_NEW(a, bool, s->n);

    for (int i = 0; i < s->n; i++) {
        int n = 0;

        for (int k = i; k < s->n; k++) {
            if (is_done[k] || strcmp(s->measured->row[k].group, s->measured->row[i].group) != 0)
                continue;
            published[n] = s->published_s[k];
            predicted[n++] = s->predicted_s[k];
            is_done[k] = true;
        }
        if (n < 2)
            continue;
        s->n_problems++;
        s->regret = fmax(s->regret, weft_regret(published, predicted, n));
        s->mean_regret += weft_regret(published, predicted, n);
    }
    s->mean_regret /= s->n_problems > 0 ? s->n_problems : 1;
    weft_arena_rewind(a, mark);
}

void weft_score_sum(weft_score *s, weft_arena *a)
{
    size_t mark = weft_arena_mark(a);
    double *published = WEFT_NEW(a, double, s->n), *predicted = WEFT_NEW(a, double, s->n);
    int n = 0;

    for (int i = 0; i < s->n; i++)
        if (isfinite(s->predicted_s[i])) {
            published[n] = s->published_s[i];
            predicted[n++] = s->predicted_s[i];
        }
    s->n_refused = s->n - n;
    s->errors = weft_errors_of(published, predicted, n, a);
    weft_arena_rewind(a, mark);
    s->n_problems = 0;
    s->regret = s->mean_regret = 0;
    if (s->measured->has_choices)
        add_regrets(s, a);
}

static weft_status predict(const weft_measured *m, int i, const char *on, weft_platforms *platforms,
                           double *out)
{
    weft_ready ready;
    weft_status status = weft_ready_make(m, i, on, platforms, &ready);

    if (status == WEFT_OK) {
        status = weft_ready_seconds(&ready, &ready.design, out);
        if (status != WEFT_OK)
            status = weft_fail(status, "%s:%d: %s", m->file, m->row[i].line, weft_message());
    }
    weft_ready_free(&ready, 1);
    return status;
}

weft_status weft_score_make(const weft_measured *m, const char *on, weft_arena *a, weft_score *out)
{
    double *published = WEFT_NEW(a, double, m->n), *predicted = WEFT_NEW(a, double, m->n);
    weft_platforms *platforms = weft_platforms_new(a);
    weft_status status = WEFT_OK;

    for (int i = 0; i < m->n && status == WEFT_OK; i++) {
        published[i] = m->row[i].seconds;
        status = predict(m, i, on, platforms, &predicted[i]);
    }
    weft_platforms_free(platforms);
    *out = (weft_score){.measured = m,
                        .name = m->file,
                        .n = m->n,
                        .published_s = published,
                        .predicted_s = predicted};
    if (status == WEFT_OK)
        weft_score_sum(out, a);
    return status;
}

/* --- families -------------------------------------------------------------------------------- */

static bool is_of_family(const weft_score *s, const char *family)
{
    return family != NULL && s->measured->family != NULL &&
           strcmp(s->measured->family, family) == 0;
}

bool weft_score_family(const weft_score *s, int n, int i, weft_arena *a, weft_score *out)
{
    const char *family = s[i].measured->family;
    double *published, *predicted;
    int n_rows = 0, n_sets = 0, first = n;

    for (int k = 0; k < n; k++)
        if (is_of_family(&s[k], family)) {
            first = first < k ? first : k;
            n_rows += s[k].n;
            n_sets++;
        }
    if (n_sets < 2 || first != i)
        return false;
    published = WEFT_NEW(a, double, n_rows);
    predicted = WEFT_NEW(a, double, n_rows);
    n_rows = 0;
    for (int k = 0; k < n; k++)
        for (int row = 0; row < s[k].n && is_of_family(&s[k], family); row++) {
            published[n_rows] = s[k].published_s[row];
            predicted[n_rows++] = s[k].predicted_s[row];
        }
    *out = (weft_score){.measured = WEFT_NEW(a, weft_measured, 1),
                        .name = weft_arena_print(a, "%s, together", family),
                        .n = n_rows,
                        .published_s = published,
                        .predicted_s = predicted};
    weft_score_sum(out, a);
    return true;
}

/* --- recorded figures ------------------------------------------------------------------------ */

typedef struct recorded_percent {
    double median, p90, regret, refused;
} recorded_percent;

static const weft_option recorded_table[] = {
    {WEFT_REAL(recorded_percent, median),  1e9, 0, 1e9, "median of |error|, percent",       NULL, NULL},
    {WEFT_REAL(recorded_percent, p90),     1e9, 0, 1e9, "90 % of rows are nearer, percent", NULL, NULL},
    {WEFT_REAL(recorded_percent, regret),  1e9, 0, 1e9, "largest regret, percent",          NULL, NULL},
    {WEFT_REAL(recorded_percent, refused), 0,   0, 1e9, "rows that weft says cannot be",    NULL, NULL},
    WEFT_OPTIONS_END,
};

static double part(double percent)
{
    return percent < 1e9 ? percent / 100 : INFINITY;
}

weft_status weft_recorded_read(const weft_measured *m, weft_recorded *out)
{
    weft_arena *a = weft_arena_new();
    recorded_percent r;
    weft_status status;

    weft_options_default(recorded_table, &r);
    status = weft_options_parse(recorded_table, &r, m->recorded, a);
    weft_arena_free(a);
    if (status != WEFT_OK)
        return weft_fail(status, "%s: line '# recorded': %s", m->file, weft_message());
    *out = (weft_recorded){part(r.median), part(r.p90), part(r.regret), r.refused};
    return WEFT_OK;
}

const char *weft_score_worse(const weft_score *s, const weft_recorded *r, weft_arena *a)
{
    const double forgiven = 0.0005; /* figures are recorded with one digit of percent */

    if (!(s->errors.median <= r->median + forgiven))
        return weft_arena_print(a, "%s: median error %.1f %%, recorded %.1f %%", s->name,
                                100 * s->errors.median, 100 * r->median);
    if (!(s->errors.p90 <= r->p90 + forgiven))
        return weft_arena_print(a, "%s: 90 %% of rows within %.1f %%, recorded %.1f %%", s->name,
                                100 * s->errors.p90, 100 * r->p90);
    if (!(s->regret <= r->regret + forgiven))
        return weft_arena_print(a, "%s: regret %.1f %%, recorded %.1f %%", s->name, 100 * s->regret,
                                100 * r->regret);
    if (s->n_refused > r->refused)
        return weft_arena_print(a, "%s: %d rows refused, recorded %g", s->name, s->n_refused,
                                r->refused);
    return NULL;
}
