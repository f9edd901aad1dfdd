/* SPDX-License-Identifier: MIT */
/* diff_plans.c: two plans of one kind side by side.
 *
 * 1. What the problems and the searches were: every option that differs, in words.
 * 2. Values and bounds. A bound holds for every plan of its problem. Hence
 *    - of one problem (equal hashes) the larger bound holds for both, and a value that reaches it
 *      is proved to be the best there is;
 *    - of two problems, a value below the bound of the other problem is below every plan of that
 *      one: that the one problem allows a faster plan than the other is proved then, and only
 *      then, whatever the two plans are.
 *    Where batches differ, all this is of a sample.
 * 3. What each kind of plan has: diff_place.c, diff_shard.c, diff_train.c. Moves are joined to
 *    stretches here.
 *
 * Nothing is simulated or solved: the two plans have been evaluated before. Time O(n log n) in
 * tasks, transfers and devices. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"

/* --- rows ------------------------------------------------------------------------------------ */

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

void weft_differ_setting(weft_differ *d, const char *name, const char *a, const char *b)
{
    weft_diff_row row = {
        name, {a, b}
    };

    if (!is_same_text(a, b))
        WEFT_PUSH(d->a, d->settings, row);
}

void weft_differ_decision(weft_differ *d, const char *name, const char *a, const char *b)
{
    weft_diff_row row = {
        name, {a, b}
    };

    if (!is_same_text(a, b))
        WEFT_PUSH(d->a, d->decisions, row);
}

void weft_differ_figure(weft_differ *d, weft_diff_figure f)
{
    WEFT_PUSH(d->a, d->figures, f);
}

weft_diff_place weft_diff_nowhere(const char *name)
{
    return (weft_diff_place){
        .name = name,
        .busy_s = {NAN, NAN},
        .peak_bytes = {NAN, NAN},
        .sent_bytes = {NAN, NAN},
        .left_s = NAN,
        .came_s = NAN,
        .stay_s = {NAN, NAN},
        .only_s = {NAN, NAN},
        .forward_s = {NAN, NAN},
        .backward_s = {NAN, NAN},
    };
}

weft_match weft_match_names(const char *const *a_name, int a_n, const char *const *b_name, int b_n,
                            weft_arena *a)
{
    weft_match m = {.n = a_n, .name = WEFT_NEW(a, const char *, a_n + b_n + 1)};
    weft_map *known = weft_map_new(a);

    m.of[0] = WEFT_NEW(a, int, a_n + b_n + 1);
    m.of[1] = WEFT_NEW(a, int, a_n + b_n + 1);
    m.at[0] = WEFT_NEW(a, int, a_n + 1);
    m.at[1] = WEFT_NEW(a, int, b_n + 1);
    weft_map_reserve(known, a_n);
    for (int i = 0; i < a_n; i++) {
        m.name[i] = a_name[i];
        m.of[0][i] = m.at[0][i] = i;
        m.of[1][i] = -1;
        weft_map_set(known, a_name[i], strlen(a_name[i]), i);
    }
    for (int i = 0; i < b_n; i++) {
        int k = weft_map_get(known, b_name[i], strlen(b_name[i]));

        if (k < 0 || m.of[1][k] >= 0) {
            k = m.n++;
            m.name[k] = b_name[i];
            m.of[0][k] = -1;
        }
        m.of[1][k] = i;
        m.at[1][i] = k;
    }
    return m;
}

void weft_differ_only(weft_differ *d, const weft_match *m)
{
    for (int s = 0; s < 2; s++) {
        const char **name = WEFT_NEW(d->a, const char *, m->n + 1);
        int n = 0;

        for (int k = 0; k < m->n; k++)
            if (m->of[1 - s][k] < 0)
                name[n++] = m->name[k];
        d->out->n_only[s] = n;
        d->out->only[s] = name;
    }
}

/* --- what was asked -------------------------------------------------------------------------- */

static const char *count_text(weft_arena *a, int64_t n, const char *none)
{
    return n > 0 ? weft_arena_print(a, "%" PRId64, n) : none;
}

static const char *dims_text(weft_arena *a, const weft_model_options *o)
{
    const char *text = "";

    for (int i = 0; i < o->n_dims; i++)
        text = weft_arena_print(a, "%s%s%s=%" PRId64, text, i == 0 ? "" : " ", o->dim[i].name,
                                o->dim[i].size);
    return o->n_dims > 0 ? text : NULL;
}

static const char *optimizer_text(const weft_model_options *o)
{
    static const char *const name[] = {
        [WEFT_SGD] = "sgd", [WEFT_MOMENTUM] = "momentum", [WEFT_ADAM] = "adam"};

    return o->train ? name[o->optimizer] : NULL;
}

/* Other options make another network of the same source; if they are the same, its content has
 * changed. */
static bool is_edited(const weft_plan_origin *x, const weft_plan_origin *y, weft_arena *a)
{
    const weft_model_options *o = &x->options, *q = &y->options;

    return is_same_text(x->model, y->model) && x->model_hash != y->model_hash &&
           o->batch == q->batch && o->dtype == q->dtype && o->train == q->train &&
           (o->optimizer == q->optimizer || !o->train) &&
           is_same_text(dims_text(a, o), dims_text(a, q));
}

static const char *source_text(weft_arena *a, const char *source, uint64_t hash, bool with_hash)
{
    return source != NULL && with_hash
               ? weft_arena_print(a, "%s of content %016" PRIx64, source, hash)
               : source;
}

static void differ_sources(weft_differ *d)
{
    const weft_plan_origin *x = d->side[0].origin, *y = d->side[1].origin;
    bool is_model = is_edited(x, y, d->a);
    bool is_platform =
        is_same_text(x->platform, y->platform) && x->platform_hash != y->platform_hash;

    weft_differ_setting(d, "model", source_text(d->a, x->model, x->model_hash, is_model),
                        source_text(d->a, y->model, y->model_hash, is_model));
    weft_differ_setting(d, "platform",
                        source_text(d->a, x->platform, x->platform_hash, is_platform),
                        source_text(d->a, y->platform, y->platform_hash, is_platform));
}

static void differ_makers(weft_differ *d)
{
    const weft_plan_origin *x = d->side[0].origin, *y = d->side[1].origin;

    weft_differ_setting(d, "template", x->platform, y->platform);
    weft_differ_setting(d, "solver", x->solver, y->solver);
    weft_differ_setting(d, "seed", weft_arena_print(d->a, "%" PRId64, x->seed),
                        weft_arena_print(d->a, "%" PRId64, y->seed));
}

static void differ_origins(weft_differ *d)
{
    const weft_plan_origin *x = d->side[0].origin, *y = d->side[1].origin;
    const weft_model_options *o = &x->options, *q = &y->options;
    weft_arena *a = d->a;

    differ_sources(d);
    weft_differ_setting(d, "format", x->format, y->format);
    weft_differ_setting(d, "batch", count_text(a, o->batch, "as the model says"),
                        count_text(a, q->batch, "as the model says"));
    weft_differ_setting(d, "sizes of dimensions", dims_text(a, o), dims_text(a, q));
    weft_differ_setting(d, "element type",
                        o->dtype ? weft_dtype_name(o->dtype) : "as the model says",
                        q->dtype ? weft_dtype_name(q->dtype) : "as the model says");
    weft_differ_setting(d, "training step", o->train ? "yes" : "no", q->train ? "yes" : "no");
    weft_differ_setting(d, "optimizer", optimizer_text(o), optimizer_text(q));
    weft_differ_setting(d, "solver", x->solver, y->solver);
    weft_differ_setting(d, "seed", weft_arena_print(a, "%" PRId64, x->seed),
                        weft_arena_print(a, "%" PRId64, y->seed));
}

/* --- values ---------------------------------------------------------------------------------- */

static const char *seconds(weft_arena *a, double s)
{
    return weft_unit_print(s, WEFT_UNIT_SECONDS, WEFT_NEW(a, char, 48));
}

static const char *name_of(int side)
{
    return side == 0 ? "A" : "B";
}

/* Searches of training know a space of plans; what they prove is about that. */
static const char *a_plan(const weft_differ *d)
{
    return strcmp(d->out->kind, "train") == 0 ? "no plan of the space" : "no plan";
}

static const char *a_sample(const weft_differ *d)
{
    return d->out->is_per_sample ? " a sample" : "";
}

/* Both are plans for one problem: the larger bound holds for both. */
static const char *claim_of_one(weft_differ *d)
{
    weft_diff *o = d->out;
    double bound = fmax(o->bound[0], o->bound[1]), best = fmin(o->value[0], o->value[1]);

    o->is_proved = best <= bound * (1 + WEFT_SAME);
    if (o->is_proved)
        return weft_arena_print(
            d->a, "Both are for the same problem, and %s is better%s%s: proved.", a_plan(d),
            o->better < 0 ? "" : " than ", o->better < 0 ? "" : name_of(o->better));
    if (!(bound > 0))
        return "Both are for the same problem; no bound is known.";
    return weft_arena_print(d->a,
                            "Both are for the same problem, so each bound holds for both: %s "
                            "takes less than %s, %.1f %% below %s.",
                            a_plan(d), seconds(d->a, bound), 100 * (1 - bound / best),
                            o->better < 0 ? "them" : name_of(o->better));
}

/* Two problems: what the better plan says about every plan of the other. */
static const char *claim_of_two(weft_differ *d)
{
    weft_diff *o = d->out;
    int best = o->better, other = 1 - best;

    if (best < 0) {
        o->is_proved = o->bound[0] >= o->value[0] * (1 - WEFT_SAME) &&
                       o->bound[1] >= o->value[1] * (1 - WEFT_SAME);
        return o->is_proved ? "Their problems differ. Proved: neither allows a faster plan than "
                              "the other."
                            : "Their problems differ; which of them allows the faster plan is not "
                              "proved.";
    }
    o->is_proved = o->value[best] < o->bound[other] * (1 - WEFT_SAME);
    if (o->is_proved)
        return weft_arena_print(d->a,
                                "Their problems differ. Proved: %s for the problem of %s is as "
                                "fast as %s; all take at least %s%s.",
                                a_plan(d), name_of(other), name_of(best),
                                seconds(d->a, o->bound[other]), a_sample(d));
    return weft_arena_print(d->a,
                            "Their problems differ. Which allows the faster plan is not proved: "
                            "one for the problem of %s may take as little as %s%s.",
                            name_of(other), seconds(d->a, o->bound[other]), a_sample(d));
}

void weft_differ_values(weft_differ *d)
{
    weft_diff *o = d->out;

    o->is_per_sample = o->is_comparable && fabs(d->side[0].samples - d->side[1].samples) > 0;
    for (int s = 0; s < 2; s++) {
        double samples = o->is_per_sample ? d->side[s].samples : 1;

        o->value[s] = o->proof[s]->value / samples;
        o->bound[s] = o->proof[s]->bound / samples;
    }
    o->better = -1;
    o->ratio = NAN;
    if (!o->is_comparable) {
        o->claim = "The goals differ, so the values are of different things.";
        return;
    }
    if (o->value[1] > 0)
        o->ratio = o->value[0] / o->value[1];
    if (fabs(o->value[0] - o->value[1]) > WEFT_SAME * fmax(o->value[0], o->value[1]))
        o->better = o->value[0] < o->value[1] ? 0 : 1;
    o->claim = o->is_same_problem ? claim_of_one(d) : claim_of_two(d);
}

/* --- stretches ------------------------------------------------------------------------------- */

typedef struct ranked {
    double effect_s;
    int stretch, move; /* the stretch's first move; the move */
} ranked;

static int by_effect(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->effect_s > y->effect_s || x->effect_s < y->effect_s)
        return x->effect_s > y->effect_s ? -1 : 1;
    if (x->stretch != y->stretch)
        return x->stretch < y->stretch ? -1 : 1;
    return (x->move > y->move) - (x->move < y->move);
}

static void add_move(weft_diff_stretch *s, const weft_diff_move *m)
{
    s->n++;
    s->seconds[0] += m->seconds[0];
    s->seconds[1] += m->seconds[1];
    s->effect_s += m->effect_s;
}

void weft_differ_moves(weft_differ *d, weft_diff_move *move, int n, const int *group, int *order)
{
    weft_diff_move *sorted = WEFT_NEW(d->a, weft_diff_move, n + 1);
    weft_diff_stretch *stretch = WEFT_NEW(d->a, weft_diff_stretch, n + 1);
    double *effect_s = WEFT_NEW(d->a, double, n + 1);
    int *first = WEFT_NEW(d->a, int, n + 1), n_stretches = 0;
    ranked *r = WEFT_NEW(d->a, ranked, n + 1);

    for (int i = n - 1; i >= 0; i--)
        first[group[i]] = i;
    for (int i = 0; i < n; i++)
        effect_s[group[i]] += move[i].effect_s;
    for (int i = 0; i < n; i++)
        r[i] = (ranked){effect_s[group[i]], first[group[i]], i};
    if (n > 0)
        qsort(r, (size_t)n, sizeof *r, by_effect);
    for (int k = 0; k < n; k++) {
        if (k == 0 || r[k].stretch != r[k - 1].stretch)
            stretch[n_stretches++].first = k;
        sorted[k] = move[r[k].move];
        sorted[k].stretch = n_stretches - 1;
        order[r[k].move] = k;
        add_move(&stretch[n_stretches - 1], &sorted[k]);
    }
    d->out->n_moves = n;
    d->out->move = sorted;
    d->out->n_stretches = n_stretches;
    d->out->stretch = stretch;
}

void weft_differ_rows(weft_differ *d, weft_diff_move *move, int n, const int *number)
{
    int *group = WEFT_NEW(d->a, int, n + 1), *order = WEFT_NEW(d->a, int, n + 1);

    for (int i = 1; i < n; i++) {
        bool is_next = number[i] == number[i - 1] + 1 &&
                       strcmp(move[i].at[0], move[i - 1].at[0]) == 0 &&
                       strcmp(move[i].at[1], move[i - 1].at[1]) == 0;

        group[i] = is_next ? group[i - 1] : i;
    }
    weft_differ_moves(d, move, n, group, order);
}

/* --- chains ---------------------------------------------------------------------------------- */

double weft_chain_parts(const weft_jobs *j, const weft_timeline *t, const int *part, int n,
                        double *part_s)
{
    double sum_s = 0;
    int last = -1;

    for (int k = 0; k < n; k++)
        part_s[k] = 0;
    for (int i = 0; i < j->n_jobs; i++)
        if (last < 0 || t->end_s[i] > t->end_s[last])
            last = i;
    if (last < 0)
        return 0;
    for (int i = last; i >= 0; i = t->waits_for[i]) {
        part_s[part ? part[i] : (int)j->kind[i]] += t->end_s[i] - t->start_s[i];
        sum_s += t->end_s[i] - t->start_s[i];
    }
    return t->end_s[last] - sum_s > WEFT_SAME * t->end_s[last] ? t->end_s[last] - sum_s : 0;
}

/* --- all ------------------------------------------------------------------------------------- */

static void finish(weft_differ *d)
{
    weft_diff *o = d->out;

    o->n_settings = d->settings.n;
    o->setting = d->settings.at;
    o->n_decisions = d->decisions.n;
    o->decision = d->decisions.at;
    o->n_figures = d->figures.n;
    o->figure = d->figures.at;
    o->n_links = d->links.n;
    o->link = d->links.at;
    o->n_parts = d->parts.n;
    o->part = d->parts.at;
    o->n_places = d->places.n;
    o->place = d->places.at;
    o->is_same_plan = o->is_same_problem && o->n_moves == 0 && o->n_decisions == 0 &&
                      o->n_shifted == 0 && o->n_only[0] + o->n_only[1] == 0;
}

void weft_diff_plans(const weft_side side[2], weft_arena *a, weft_diff *out)
{
    weft_differ d = {.a = a, .side = side, .out = out};

    memset(out, 0, sizeof *out);
    out->side = side;
    out->is_comparable = true;
    out->is_same_problem = side[0].origin->problem_hash == side[1].origin->problem_hash;
    if (side[0].mine != NULL || side[0].fleet != NULL)
        differ_makers(&d);
    else
        differ_origins(&d);
    out->unit = "s";
    if (side[0].mine != NULL || side[0].fleet != NULL)
        weft_differ_mine(&d);
    else if (side[0].problem != NULL)
        weft_differ_place(&d);
    else if (side[0].sharding != NULL)
        weft_differ_shard(&d);
    else
        weft_differ_train(&d);
    weft_differ_platforms(&d);
    finish(&d);
}
