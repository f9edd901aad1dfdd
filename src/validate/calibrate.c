/* SPDX-License-Identifier: MIT */
/* calibrate.c: fits constants of a device to measured rows.
 *
 * 1. A constant is fitted if some row depends on it and the table below has it.
 * 2. What is made small: for each kind of row (products, convolutions, ..) the median of
 *    |log(predicted / measured)|, and a tenth of its mean so that no constant rests on one row; the
 *    mean over kinds.
 * 3. Search: from each start, every constant in turn is raised and lowered by a factor; where
 *    nothing helps, the factor shrinks. Starts are the constants of the platform and, drawn with the
 *    seed, some others. The best end wins, the first of equals: same rows, same seed, same bytes.
 * 4. Rows of a group (shape family, network) are alike. Groups are dealt out to folds; each fold is
 *    predicted by a fit to the others. The errors of these predictions are what is announced. */
#include "calibrate.h"

#include <math.h>
#include <string.h>

enum { N_STARTS = 4, MOST_PARAMS = 16 };

static const weft_fit_param fit_params[] = {
    {"efficiency.tensor", -1,                     0.02, 1,    0.8,  WEFT_UNIT_NONE,    "",   1  },
    {"memory_efficiency", WEFT_P_ETA,             0.02, 1,    0.8,  WEFT_UNIT_NONE,    "",   1  },
    {"overhead",          WEFT_P_OVERHEAD,        1e-8, 1e-2, 5e-6, WEFT_UNIT_SECONDS, "us", 1e6},
    {"tile_cost",         WEFT_P_TILE_COST,       0.01, 200,  8,    WEFT_UNIT_NONE,    "",   1  },
    {"fill",              WEFT_P_FILL,            1e-9, 1e-4, 2e-7, WEFT_UNIT_SECONDS, "us", 1e6},
    {"conv_efficiency",   WEFT_P_CONV_EFFICIENCY, 0.02, 1,    0.7,  WEFT_UNIT_NONE,    "",   1  },
    {"host_time",         WEFT_P_HOST_TIME,       1e-8, 1e-2, 1e-5, WEFT_UNIT_SECONDS, "us", 1e6},
    {"step",              WEFT_P_STEP,            1e-8, 1e-2, 1e-5, WEFT_UNIT_SECONDS, "us", 1e6},
};

enum { N_FIT_PARAMS = (int)(sizeof fit_params / sizeof fit_params[0]) };

typedef struct fitter {
    const weft_measured *m;
    const weft_ready *ready;  /* [n] */
    const weft_design *given; /* of the device */
    int n, n_params;
    const weft_fit_param *param[MOST_PARAMS];
    const int *fold; /* [n] */
    const weft_fit_options *o;
} fitter;

static double get(const weft_design *d, const weft_fit_param *p)
{
    return p->place < 0 ? d->efficiency[WEFT_FUSE_TENSOR] : d->value[p->place];
}

static void set(weft_design *d, const weft_fit_param *p, double value)
{
    if (p->place < 0)
        d->efficiency[WEFT_FUSE_TENSOR] = value;
    else
        d->value[p->place] = value;
}

/* --- predictions ----------------------------------------------------------------------------- */

/* Errors of single rows were found when the given constants were tried. */
static double row_s(const fitter *f, const weft_design *d, int i)
{
    weft_design design;
    double seconds = INFINITY;

    if (weft_ready_design(f->m, &f->m->row[i], d, &design) != WEFT_OK ||
        weft_ready_seconds(&f->ready[i], &design, &seconds) != WEFT_OK)
        return INFINITY;
    return seconds;
}

typedef struct scratch {
    weft_arena *a;
    double *error[WEFT_N_MEASURED]; /* [n] */
    int n[WEFT_N_MEASURED];
} scratch;

static scratch scratch_new(int n)
{
    scratch s = {.a = weft_arena_new()};

    for (int k = 0; k < WEFT_N_MEASURED; k++)
        s.error[k] = WEFT_NEW(s.a, double, n);
    return s;
}

/* Of all rows but those of a fold; -1: of all. */
static double loss(const fitter *f, const weft_design *d, int without, scratch *s)
{
    double sum = 0;
    int n_kinds = 0;

    memset(s->n, 0, sizeof s->n);
    for (int i = 0; i < f->n; i++)
        if (f->fold[i] != without) {
            weft_measured_what k = f->m->row[i].what;

            s->error[k][s->n[k]++] = fabs(log(row_s(f, d, i) / f->m->row[i].seconds));
        }
    for (int k = 0; k < WEFT_N_MEASURED; k++) {
        double mean = 0;

        if (s->n[k] == 0)
            continue;
        for (int i = 0; i < s->n[k]; i++)
            mean += fmin(s->error[k][i], 1) / s->n[k];
        sum += weft_quantile(s->error[k], s->n[k], 0.5, s->a) + 0.1 * mean;
        n_kinds++;
    }
    return sum / n_kinds;
}

/* --- search ---------------------------------------------------------------------------------- */

static weft_design begin(const fitter *f, int start)
{
    weft_design d = *f->given;
    weft_rng rng = weft_rng_seed((uint64_t)f->o->seed);

    rng = weft_rng_split(&rng, (uint64_t)start);
    for (int p = 0; p < f->n_params; p++) {
        const weft_fit_param *row = f->param[p];
        double value = get(&d, row);

        if (!(value >= row->lowest && value <= row->highest))
            value = row->begin;
        if (start > 0)
            value = row->begin * exp(2 * (weft_rng_real(&rng) - 0.5));
        set(&d, row, fmin(fmax(value, row->lowest), row->highest));
    }
    return d;
}

/* Tries a constant a factor larger and smaller; true: one of them is better. */
static bool improve(const fitter *f, const weft_fit_param *p, double factor, int without,
                    scratch *s, weft_design *best, double *least)
{
    double value = get(best, p);
    bool is_better = false;

    for (int up = 0; up < 2; up++) {
        weft_design tried = *best;
        double to = up ? value * factor : value / factor, now;

        set(&tried, p, fmin(fmax(to, p->lowest), p->highest));
        now = loss(f, &tried, without, s);
        if (now < *least) {
            *best = tried;
            *least = now;
            is_better = true;
        }
    }
    return is_better;
}

static double descend(const fitter *f, int without, scratch *s, weft_design *d)
{
    enum { MOST_ROUNDS = 60 };
    double least = loss(f, d, without, s);
    double step = 0.7;

    for (int round = 0; round < MOST_ROUNDS && step > 0.004; round++) {
        bool is_better = false;

        for (int p = 0; p < f->n_params; p++)
            is_better = improve(f, f->param[p], exp(step), without, s, d, &least) || is_better;
        if (!is_better)
            step *= 0.5;
    }
    return least;
}

static weft_design fit(const fitter *f, int without)
{
    scratch s = scratch_new(f->n);
    weft_design best = *f->given;
    double least = INFINITY;

    for (int start = 0; start < N_STARTS; start++) {
        weft_design d = begin(f, start);
        double now = descend(f, without, &s, &d);

        if (now < least) {
            least = now;
            best = d;
        }
    }
    weft_arena_free(s.a);
    return best;
}

/* --- groups and folds ------------------------------------------------------------------------ */

static int number_groups(const weft_measured *m, int *group, weft_arena *a)
{
    weft_map *seen = weft_map_new(a);
    int n = 0;

    for (int i = 0; i < m->n; i++) {
        const char *name = *m->row[i].group ? m->row[i].group : m->row[i].label;

        group[i] = weft_map_get(seen, name, strlen(name));
        if (group[i] < 0) {
            group[i] = n++;
            (void)weft_map_put(seen, name, strlen(name), group[i]);
        }
    }
    return n;
}

/* Deals groups out in an order drawn with the seed. */
static int *deal(const int *group, int n, int n_groups, const weft_fit_options *o, weft_arena *a)
{
    int *order = WEFT_NEW(a, int, n_groups), *fold = WEFT_NEW(a, int, n);
    weft_rng rng = weft_rng_seed((uint64_t)o->seed);

    for (int g = 0; g < n_groups; g++) {
        int k = weft_rng_below(&rng, g + 1);

        order[g] = order[k];
        order[k] = g;
    }
    for (int g = 0; g < n_groups; g++)
        for (int i = 0; i < n; i++)
            if (group[i] == order[g])
                fold[i] = g % (int)o->folds;
    return fold;
}

/* --- the fit --------------------------------------------------------------------------------- */

/* The constants that some row depends on. */
static void choose_params(fitter *f)
{
    for (int k = 0; k < N_FIT_PARAMS; k++) {
        const weft_fit_param *p = &fit_params[k];
        weft_design d = begin(f, 0), other = d;
        bool matters = false;

        if (p->place >= 0 && weft_param_key(d.model, p->place) == NULL)
            continue;
        set(&d, p, p->begin);
        set(&other, p, p->begin / 2);
        for (int i = 0; i < f->n && !matters; i++)
            matters = row_s(f, &d, i) != row_s(f, &other, i);
        if (matters)
            f->param[f->n_params++] = p;
    }
}

typedef struct folds {
    const fitter *f;
    weft_design *design; /* [n_folds + 1], the last of all rows */
    int n;
} folds;

static void fit_fold(void *context, int i)
{
    const folds *x = context;

    x->design[i] = fit(x->f, i < x->n ? i : -1);
}

static weft_score score_of(const fitter *f, const weft_design *design, bool is_held_out,
                           weft_arena *a)
{
    double *published = WEFT_NEW(a, double, f->n), *predicted = WEFT_NEW(a, double, f->n);
    weft_score s = {.measured = f->m,
                    .name = f->m->file,
                    .n = f->n,
                    .published_s = published,
                    .predicted_s = predicted};

    for (int i = 0; i < f->n; i++) {
        published[i] = f->m->row[i].seconds;
        predicted[i] = row_s(f, is_held_out ? &design[f->fold[i]] : design, i);
    }
    weft_score_sum(&s, a);
    return s;
}

static const char *what_of(const weft_measured *m, weft_arena *a)
{
    bool has[WEFT_N_MEASURED] = {false};
    const char *text = "";

    for (int i = 0; i < m->n; i++)
        has[m->row[i].what] = true;
    for (int k = 0; k < WEFT_N_MEASURED; k++)
        if (has[k])
            text = weft_arena_print(a, "%s%s%s", text, *text ? ", " : "",
                                    weft_measured_kind_of((weft_measured_what)k)->plural);
    return text;
}

static void finish(const fitter *f, const weft_design *design, int n_folds, weft_arena *a,
                   weft_fit *out)
{
    weft_fitted *fitted = WEFT_NEW(a, weft_fitted, f->n_params);

    out->design = design[n_folds];
    for (int p = 0; p < f->n_params; p++)
        fitted[p] =
            (weft_fitted){f->param[p], get(f->given, f->param[p]), get(&out->design, f->param[p])};
    out->param = fitted;
    out->n_params = f->n_params;
    out->before = score_of(f, f->given, false, a);
    out->fitted = score_of(f, &out->design, false, a);
    if (n_folds > 1)
        out->held_out = score_of(f, design, true, a);
}

static weft_status run_fits(fitter *f, int n_groups, const int *group, weft_arena *a, weft_fit *out)
{
    weft_fit_options *o = weft_arena_copy(a, f->o, sizeof *o);
    folds x;

    o->folds = o->folds < n_groups ? o->folds : n_groups;
    f->o = o;
    f->fold = deal(group, f->n, n_groups, o, a);
    choose_params(f);
    if (f->n_params == 0)
        return weft_fail(WEFT_E_INPUT, "%s: no row depends on a constant that can be fitted",
                         f->m->file);
    x = (folds){f, WEFT_NEW(a, weft_design, o->folds + 1), o->folds > 1 ? (int)o->folds : 0};
    weft_parallel(o->n_threads, x.n + 1, fit_fold, &x);
    *out = (weft_fit){.device = f->ready[0].platform->device[f->ready[0].device].kind,
                      .n_rows = f->n,
                      .n_groups = n_groups,
                      .n_folds = x.n,
                      .what = what_of(f->m, a)};
    finish(f, x.design, x.n, a, out);
    return WEFT_OK;
}

/* All rows on one kind of device, which can be predicted with the constants there are. */
static weft_status prepare(const weft_measured *m, const char *on, weft_platforms *platforms,
                           weft_ready *ready)
{
    for (int i = 0; i < m->n; i++) {
        const weft_measured_row *row = &m->row[i];
        double seconds;

        if (row->what == WEFT_MEASURED_SUM)
            return weft_fail(
                WEFT_E_INPUT,
                "%s:%d: column 'what' is 'allreduce', expected work of one device as in "
                "the rows before: links are fitted apart from devices",
                m->file, row->line);
        WEFT_TRY(weft_ready_make(m, i, on, platforms, &ready[i]));
        if (strcmp(ready[i].platform->device[ready[i].device].kind,
                   ready[0].platform->device[ready[0].device].kind) != 0)
            return weft_fail(WEFT_E_INPUT,
                             "%s:%d: column 'device' is '%.60s', expected '%.60s' as in the rows "
                             "before: one device is fitted at a time",
                             m->file, row->line, row->device, m->row[0].device);
        if (weft_ready_seconds(&ready[i], &ready[i].design, &seconds) != WEFT_OK)
            return weft_fail(WEFT_E_INPUT, "%s:%d: %s", m->file, row->line, weft_message());
    }
    return WEFT_OK;
}

weft_status weft_fit_make(const weft_measured *m, const char *on, const weft_fit_options *o,
                          weft_arena *a, weft_fit *out)
{
    weft_ready *ready = WEFT_NEW(a, weft_ready, m->n);
    weft_platforms *platforms = weft_platforms_new(a);
    int *group = WEFT_NEW(a, int, m->n);
    weft_status status = prepare(m, on, platforms, ready);

    if (status == WEFT_OK) {
        fitter f = {.m = m,
                    .ready = ready,
                    .given = ready[0].platform->device[ready[0].device].design,
                    .n = m->n,
                    .o = o};

        status = run_fits(&f, number_groups(m, group, a), group, a, out);
        if (status == WEFT_OK)
            out->device = weft_arena_text(a, out->device, strlen(out->device));
    }
    weft_ready_free(ready, m->n);
    weft_platforms_free(platforms);
    return status;
}
