/* SPDX-License-Identifier: MIT */
/* diff.c: two plans of one kind, or two designs, side by side.
 *
 * 1. What the problems and the searches were: every option that differs, in words.
 * 2. Values and bounds. A bound holds for every plan of its problem. Hence
 *    - of one problem (equal hashes) the stronger bound holds for both, and a value that reaches it
 *      is proved to be the best there is;
 *    - of two problems, a value better than the bound of the other problem is better than every
 *      plan of that one: that the one problem allows a better plan than the other is proved then,
 *      and only then, whatever the two plans are.
 *    Where batches differ, all this is of a sample.
 * 3. Items have moved if they are on another place, or done in another way there. The time of a
 *    place is taken apart: what left it, what came, what stayed and may take longer or shorter now,
 *    and what only one of the plans has.
 * 4. Transfers of B that A does not have are gained, the other way round lost.
 * 5. Moves of items that are neighbours in B, from the same place to the same, are one stretch:
 *    connected components of edges between such items (union-find).
 *
 * Nothing is simulated or solved: the two plans have been evaluated before. Time O(n log n) in
 * items, transfers and places. */
#include "diff.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct comparing {
    const weft_side *side;
    weft_arena *a;
    weft_diff *out;
    weft_match items, places;
    int *move_of[2]; /* item -> move before sorting, or -1 */
    weft_diff_move *move;
    weft_diff_stretch *stretch;
    int *order; /* move before sorting -> move */
} comparing;

/* --- names ----------------------------------------------------------------------------------- */

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static const char *name_at(const void *list, size_t size, int i)
{
    return *(const char *const *)(const void *)((const char *)list + (size_t)i * size);
}

weft_match weft_match_names(const void *const list[2], const int n[2], size_t size, weft_arena *a)
{
    weft_match m = {.n = n[0], .name = WEFT_NEW(a, const char *, n[0] + n[1] + 1)};
    weft_map *known = weft_map_new(a);

    for (int s = 0; s < 2; s++) {
        m.of[s] = WEFT_NEW(a, int, n[0] + n[1] + 1);
        m.at[s] = WEFT_NEW(a, int, n[s] + 1);
    }
    weft_map_reserve(known, n[0]);
    for (int i = 0; i < n[0]; i++) {
        m.name[i] = name_at(list[0], size, i);
        m.of[0][i] = m.at[0][i] = i;
        m.of[1][i] = -1;
        weft_map_set(known, m.name[i], strlen(m.name[i]), i);
    }
    for (int i = 0; i < n[1]; i++) {
        const char *name = name_at(list[1], size, i);
        int k = weft_map_get(known, name, strlen(name));

        if (k < 0 || m.of[1][k] >= 0) {
            k = m.n++;
            m.name[k] = name;
            m.of[0][k] = -1;
        }
        m.of[1][k] = i;
        m.at[1][i] = k;
    }
    return m;
}

/* --- what was asked -------------------------------------------------------------------------- */

void weft_diff_setting(weft_diff *d, const char *name, const char *x, const char *y)
{
    weft_diff_row row = {
        name, {x, y}
    };

    if (!is_same_text(x, y))
        WEFT_PUSH(d->a, d->settings, row);
}

static const char *source_text(weft_arena *a, const char *source, uint64_t hash, bool with_hash)
{
    return source != NULL && with_hash
               ? weft_arena_print(a, "%s of content %016" PRIx64, source, hash)
               : source;
}

/* Other options make another network of the same source; if they are the same, its content has
 * changed. */
static void differ_sources(comparing *g, bool is_same_options)
{
    const weft_plan_origin *x = g->side[0].origin, *y = g->side[1].origin;
    bool is_model =
        is_same_text(x->model, y->model) && x->model_hash != y->model_hash && is_same_options;
    bool is_platform =
        is_same_text(x->platform, y->platform) && x->platform_hash != y->platform_hash;

    weft_diff_setting(g->out, "model", source_text(g->a, x->model, x->model_hash, is_model),
                      source_text(g->a, y->model, y->model_hash, is_model));
    weft_diff_setting(g->out, "platform",
                      source_text(g->a, x->platform, x->platform_hash, is_platform),
                      source_text(g->a, y->platform, y->platform_hash, is_platform));
}

static const char *text_of(const weft_side_text *list, int i)
{
    return i < 0 ? NULL : list[i].text;
}

static void differ_settings(comparing *g)
{
    const weft_side *x = &g->side[0], *y = &g->side[1];
    weft_match m =
        weft_match_names((const void *[]){x->settings.at, y->settings.at},
                         (int[]){x->settings.n, y->settings.n}, sizeof *x->settings.at, g->a);
    weft_diff listed = {.a = g->a};
    bool is_same_options = true;

    for (int k = 0; k < m.n; k++) {
        if (strcmp(m.name[k], "solver") == 0) /* options of the model are before it */
            is_same_options = listed.settings.n == 0;
        weft_diff_setting(&listed, m.name[k], text_of(x->settings.at, m.of[0][k]),
                          text_of(y->settings.at, m.of[1][k]));
    }
    if (!x->is_design) /* networks of designs have their own settings */
        differ_sources(g, is_same_options);
    for (int i = 0; i < listed.settings.n; i++)
        WEFT_PUSH(g->a, g->out->settings, listed.settings.at[i]);
}

static void decide(comparing *g, int from, int to)
{
    const weft_side_text *x = from < 0 ? NULL : &g->side[0].decisions.at[from];
    const weft_side_text *y = to < 0 ? NULL : &g->side[1].decisions.at[to];
    weft_diff_row row = {
        (x ? x : y)->name, {x ? x->text : NULL, y ? y->text : NULL}
    };

    if (from >= 0 && to >= 0 && strcmp(x->name, y->name) != 0)
        row.name = weft_arena_print(g->a, "%s, %s", x->name, y->name);
    if (!is_same_text(row.text[0], row.text[1]))
        WEFT_PUSH(g->a, g->out->decisions, row);
}

/* Equal keys belong together; of the others the first to the first. */
static void differ_decisions(comparing *g)
{
    const int n[2] = {g->side[0].decisions.n, g->side[1].decisions.n};
    weft_match m =
        weft_match_names((const void *[]){g->side[0].decisions.at, g->side[1].decisions.at}, n,
                         sizeof(weft_side_text), g->a);
    int next = 0;

    for (int k = 0; k < n[0]; k++) {
        int to = m.of[1][k];

        while (to < 0 && next < n[1])
            if (m.of[0][m.at[1][next++]] < 0)
                to = next - 1;
        decide(g, k, to);
    }
    for (; next < n[1]; next++)
        if (m.of[0][m.at[1][next]] < 0)
            decide(g, -1, next);
}

/* --- values ---------------------------------------------------------------------------------- */

static const char *name_of(int side)
{
    return side == 0 ? "A" : "B";
}

/* "12.3 ms per sample", "1046 samples/s". */
static const char *worth(const comparing *g, int side, double value)
{
    if (g->side->is_max)
        return weft_arena_print(g->a, "%.4g %s", value, g->side[side].unit);
    return weft_arena_print(g->a, "%s%s",
                            weft_unit_print(value, WEFT_UNIT_SECONDS, WEFT_NEW(g->a, char, 48)),
                            g->out->is_per_sample ? " per sample" : "");
}

static bool is_better(const comparing *g, double x, double y)
{
    double margin = WEFT_SAME * fmin(fabs(x), fabs(y)); /* one may be infinite */

    return g->side->is_max ? x > y + margin : x < y - margin;
}

static bool is_known(double bound)
{
    return bound > 0 && bound < INFINITY;
}

/* Both are plans for one problem: the stronger bound holds for both. */
static const char *claim_of_one(comparing *g)
{
    weft_diff *o = g->out;
    const char *none = g->side->none, *below = "";
    int first = is_better(g, o->value[1], o->value[0]), tight = o->bound[1] > o->bound[0];
    double best = o->value[first], bound = o->bound[g->side->is_max ? 1 - tight : tight];

    o->is_proved = !is_better(g, bound, best);
    if (o->is_proved)
        return weft_arena_print(
            g->a, "Both are for the same problem, and %s is better%s%s: proved.", none,
            o->better < 0 ? "" : " than ", o->better < 0 ? "" : name_of(o->better));
    if (!is_known(bound))
        return "Both are for the same problem; no bound is known.";
    if (!g->side->is_max)
        below = weft_arena_print(g->a, ", %.1f %% below %s", 100 * (1 - bound / best),
                                 o->better < 0 ? "them" : name_of(o->better));
    return weft_arena_print(g->a,
                            "Both are for the same problem, so each bound holds for both: %s %s "
                            "than %s%s.",
                            none, g->side->is_max ? "has more" : "takes less", worth(g, 0, bound),
                            below);
}

static const char *better_of(const comparing *g)
{
    return g->side->is_design ? "design" : "plan";
}

/* Two problems with plans of one value. */
static const char *claim_of_equals(comparing *g)
{
    weft_diff *o = g->out;

    if (g->side->is_max)
        return weft_arena_print(
            g->a, "Their problems differ; which of them allows the better %s is not proved.",
            better_of(g));
    o->is_proved =
        !is_better(g, o->bound[0], o->value[0]) && !is_better(g, o->bound[1], o->value[1]);
    return o->is_proved
               ? "Their problems differ. Proved: neither allows a faster plan than the other."
               : "Their problems differ; which of them allows the faster plan is not proved.";
}

/* Two problems: what the better plan says about every plan of the other. */
static const char *claim_of_two(comparing *g)
{
    weft_diff *o = g->out;
    bool is_max = g->side->is_max;
    int best = o->better, other = 1 - best;
    const char *limit =
        is_max && !is_known(o->bound[other]) ? "any worth" : worth(g, other, o->bound[other]);

    o->is_proved = is_better(g, o->value[best], o->bound[other]);
    if (o->is_proved)
        return weft_arena_print(g->a,
                                "Their problems differ. Proved: %s for the problem of %s is as %s "
                                "as %s; %s %s.",
                                g->side->none, name_of(other), is_max ? "good" : "fast",
                                name_of(best), is_max ? "none has more than" : "all take at least",
                                limit);
    return weft_arena_print(
        g->a, "Their problems differ. Which allows the %s is not proved: %s.",
        is_max ? weft_arena_print(g->a, "better %s", better_of(g)) : "faster plan",
        is_max ? weft_arena_print(g->a, "for the problem of %s there may be one of %s",
                                  name_of(other), limit)
               : weft_arena_print(g->a, "one for the problem of %s may take as little as %s",
                                  name_of(other), limit));
}

static void differ_values(comparing *g)
{
    const weft_side *x = &g->side[0], *y = &g->side[1];
    weft_diff *o = g->out;

    o->is_same_problem = x->problem_hash == y->problem_hash;
    o->is_comparable = strcmp(x->value_name, y->value_name) == 0 && strcmp(x->unit, y->unit) == 0;
    o->value_name = o->is_comparable ? x->value_name : "value";
    o->unit = x->unit;
    o->is_per_sample = o->is_comparable && fabs(x->samples - y->samples) > 0;
    for (int s = 0; s < 2; s++) {
        double samples = o->is_per_sample ? g->side[s].samples : 1;

        o->value[s] = g->side[s].proof->value / samples;
        o->bound[s] = g->side[s].proof->bound / samples;
    }
    o->better = -1;
    o->ratio = NAN;
    if (!o->is_comparable) {
        o->claim = x->is_design ? "The metrics differ, so the values are of different things."
                                : "The goals differ, so the values are of different things.";
        return;
    }
    if (o->value[x->is_max ? 0 : 1] > 0)
        o->ratio = x->is_max ? o->value[1] / o->value[0] : o->value[0] / o->value[1];
    if (is_better(g, o->value[0], o->value[1]) || is_better(g, o->value[1], o->value[0]))
        o->better = is_better(g, o->value[0], o->value[1]) ? 0 : 1;
    o->claim = o->is_same_problem ? claim_of_one(g)
               : o->better < 0    ? claim_of_equals(g)
                                  : claim_of_two(g);
}

/* --- numbers --------------------------------------------------------------------------------- */

/* Numbers of both by their keys, those of A first. */
static weft_diff_figure *pair_numbers(comparing *g, const weft_side_number *x, int n_x,
                                      const weft_side_number *y, int n_y, int *n)
{
    weft_match m = weft_match_names((const void *[]){x, y}, (int[]){n_x, n_y}, sizeof *x, g->a);
    weft_diff_figure *list = WEFT_NEW(g->a, weft_diff_figure, m.n + 1);

    *n = m.n;
    for (int k = 0; k < m.n; k++) {
        int i = m.of[0][k], j = m.of[1][k];
        const weft_side_number *one = i >= 0 ? &x[i] : &y[j];

        list[k] = (weft_diff_figure){
            one->key, one->name, one->unit, {i >= 0 ? x[i].value : NAN, j >= 0 ? y[j].value : NAN}
        };
    }
    return list;
}

static void differ_numbers(comparing *g)
{
    const weft_side *x = &g->side[0], *y = &g->side[1];
    weft_diff *o = g->out;
    int n;
    const weft_diff_figure *list =
        pair_numbers(g, x->figures.at, x->figures.n, y->figures.at, y->figures.n, &n);

    for (int i = 0; i < n; i++)
        WEFT_PUSH(g->a, o->figures, list[i]);
    list = pair_numbers(g, x->links.at, x->links.n, y->links.at, y->links.n, &n);
    for (int i = 0; i < n; i++)
        if (list[i].value[0] > 0 || list[i].value[1] > 0)
            WEFT_PUSH(g->a, o->links, list[i]);
    list = pair_numbers(g, x->chain.at, x->chain.n, y->chain.at, y->chain.n, &n);
    for (int i = 0; i < n; i++)
        WEFT_PUSH(g->a, o->chain, list[i]);
}

/* --- moves ----------------------------------------------------------------------------------- */

static bool is_alike(const weft_diff_move *x, const weft_diff_move *y)
{
    return strcmp(x->at[0], y->at[0]) == 0 && strcmp(x->at[1], y->at[1]) == 0;
}

/* Joins neighbours in B that went the same way. */
static int *join_neighbours(comparing *g, const weft_diff_move *move, int n)
{
    int *group = WEFT_NEW(g->a, int, n + 1);

    for (int i = 0; i < n; i++)
        group[i] = i;
    for (int v = 0; v < g->side[1].item.n; v++)
        for (int e = 0; e < g->side[1].item.at[v].n_before; e++) {
            int x = g->move_of[1][g->side[1].item.at[v].before[e]], y = g->move_of[1][v];

            if (x < 0 || y < 0 || !is_alike(&move[x], &move[y]))
                continue;
            x = weft_root(group, x);
            y = weft_root(group, y);
            group[x > y ? x : y] = x > y ? y : x;
        }
    for (int i = 0; i < n; i++)
        group[i] = weft_root(group, i);
    return group;
}

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

/* Makes stretches of moves of one group, and sorts both. A group is called after its first. */
static void make_stretches(comparing *g, const weft_diff_move *move, int n)
{
    const int *group = join_neighbours(g, move, n);
    double *effect_s = WEFT_NEW(g->a, double, n + 1);
    ranked *r = WEFT_NEW(g->a, ranked, n + 1);
    int n_stretches = 0;

    g->move = WEFT_NEW(g->a, weft_diff_move, n + 1);
    g->stretch = WEFT_NEW(g->a, weft_diff_stretch, n + 1);
    g->order = WEFT_NEW(g->a, int, n + 1);
    for (int i = 0; i < n; i++)
        effect_s[group[i]] += move[i].effect_s;
    for (int i = 0; i < n; i++)
        r[i] = (ranked){effect_s[group[i]], group[i], i};
    qsort(r, (size_t)n, sizeof *r, by_effect);
    for (int k = 0; k < n; k++) {
        if (k == 0 || r[k].stretch != r[k - 1].stretch)
            g->stretch[n_stretches++].first = k;
        g->move[k] = move[r[k].move];
        g->move[k].stretch = n_stretches - 1;
        g->order[r[k].move] = k;
        add_move(&g->stretch[n_stretches - 1], &g->move[k]);
    }
    g->out->n_moves = n;
    g->out->move = g->move;
    g->out->n_stretches = n_stretches;
    g->out->stretch = g->stretch;
}

static void stay(comparing *g, const weft_side_item *x, const weft_side_item *y)
{
    weft_diff *o = g->out;
    double span_s = fmax(g->side[0].span_s, g->side[1].span_s);

    o->n_stay++;
    o->n_shifted += isnan(x->start_s) != isnan(y->start_s) ||
                    fabs(x->start_s - y->start_s) > WEFT_SAME * span_s;
    o->stay_s[0] += x->seconds;
    o->stay_s[1] += y->seconds;
}

static weft_diff_move move_of(const weft_side_item *x, const weft_side_item *y)
{
    bool is_there = strcmp(x->place, y->place) == 0;

    return (weft_diff_move){
        .name = y->name,
        .kind = y->kind,
        .at = {x->at,      y->at     },
        .seconds = {x->seconds, y->seconds},
        .effect_s = is_there ? fabs(x->seconds - y->seconds) : x->seconds + y->seconds,
    };
}

static void find_moves(comparing *g)
{
    const weft_side *b = &g->side[1];
    weft_diff_move *move = WEFT_NEW(g->a, weft_diff_move, b->item.n + 1);
    int n = 0;

    for (int s = 0; s < 2; s++) {
        g->move_of[s] = WEFT_NEW(g->a, int, g->side[s].item.n + 1);
        for (int u = 0; u < g->side[s].item.n; u++)
            g->move_of[s][u] = -1;
    }
    for (int v = 0; v < b->item.n; v++) {
        int u = g->items.of[0][g->items.at[1][v]];
        const weft_side_item *x = u < 0 ? NULL : &g->side[0].item.at[u], *y = &b->item.at[v];

        if (x == NULL)
            continue;
        if (strcmp(x->place, y->place) == 0 && is_same_text(x->way, y->way)) {
            stay(g, x, y);
            continue;
        }
        g->move_of[0][u] = g->move_of[1][v] = n;
        move[n++] = move_of(x, y);
    }
    make_stretches(g, move, n);
}

static void list_only(comparing *g)
{
    for (int s = 0; s < 2; s++) {
        const char **name = WEFT_NEW(g->a, const char *, g->items.n + 1);

        for (int k = 0; k < g->items.n; k++)
            if (g->items.of[1 - s][k] < 0)
                name[g->out->n_only[s]++] = g->items.name[k];
        g->out->only[s] = name;
    }
}

/* --- transfers ------------------------------------------------------------------------------- */

/* Those who take part in a transfer that the other plan does not have; seen: [n_stretches] 1 + the
 * last transfer that was counted. */
static void count_transfer(comparing *g, int s, const weft_side_transfer *t, int number, int *seen)
{
    g->out->n_transfers[s]++;
    for (int i = 0; i < t->n_items; i++) {
        int at = g->move_of[s][t->item[i]];
        weft_diff_move *m = at < 0 ? NULL : &g->move[g->order[at]];

        if (m == NULL)
            continue;
        m->n_transfers[s]++;
        m->bytes[s] += t->bytes;
        if (seen[m->stretch] == number)
            continue;
        seen[m->stretch] = number;
        g->stretch[m->stretch].n_transfers[s]++;
        g->stretch[m->stretch].bytes[s] += t->bytes;
    }
}

static void differ_transfers(comparing *g)
{
    int *seen = WEFT_NEW(g->a, int, g->out->n_stretches + 1);

    for (int s = 0; s < 2; s++) {
        const weft_side *x = &g->side[s], *y = &g->side[1 - s];
        weft_map *other = weft_map_new(g->a);

        weft_map_reserve(other, y->transfers.n);
        for (int i = 0; i < y->transfers.n; i++)
            weft_map_set(other, y->transfers.at[i].key, strlen(y->transfers.at[i].key), i);
        for (int i = 0; i < x->transfers.n; i++) {
            const weft_side_transfer *t = &x->transfers.at[i];

            if (weft_map_get(other, t->key, strlen(t->key)) < 0)
                count_transfer(g, s, t, 1 + i + s * y->transfers.n, seen);
        }
    }
}

/* --- places ---------------------------------------------------------------------------------- */

static void add_item(comparing *g, int s, int u)
{
    const weft_side_item *x = &g->side[s].item.at[u];
    bool is_only = g->items.of[1 - s][g->items.at[s][u]] < 0;

    g->out->has_parts |= x->n_parts > 0;
    for (int i = 0; i < x->n_parts; i++) {
        weft_diff_place *p = &g->out->places.at[g->places.at[s][x->part[i].place]];

        *(is_only                ? &p->only_s[s]
          : g->move_of[s][u] < 0 ? &p->stay_s[s]
          : s == 0               ? &p->left_s
                                 : &p->came_s) += x->part[i].seconds;
    }
}

static void differ_places(comparing *g)
{
    g->places = weft_match_names((const void *[]){g->side[0].place.at, g->side[1].place.at},
                                 (int[]){g->side[0].place.n, g->side[1].place.n},
                                 sizeof(weft_side_place), g->a);
    for (int k = 0; k < g->places.n; k++) {
        weft_diff_place place = {.name = g->places.name[k]};

        for (int s = 0; s < 2; s++)
            if (g->places.of[s][k] >= 0)
                place.value[s] = g->side[s].place.at[g->places.of[s][k]].value;
        WEFT_PUSH(g->a, g->out->places, place);
    }
    for (int s = 0; s < 2; s++)
        for (int u = 0; u < g->side[s].item.n; u++)
            add_item(g, s, u);
}

/* --- all ------------------------------------------------------------------------------------- */

void weft_diff_plans(const weft_side side[2], weft_arena *a, weft_diff *out)
{
    comparing g = {.side = side, .a = a, .out = out};

    memset(out, 0, sizeof *out);
    out->a = a;
    out->side = side;
    differ_settings(&g);
    weft_diff_platforms(out);
    differ_values(&g);
    differ_decisions(&g);
    differ_numbers(&g);
    g.items = weft_match_names((const void *[]){side[0].item.at, side[1].item.at},
                               (int[]){side[0].item.n, side[1].item.n}, sizeof(weft_side_item), a);
    list_only(&g);
    find_moves(&g);
    differ_transfers(&g);
    differ_places(&g);
    out->is_same_plan = out->is_same_problem && out->n_moves == 0 && out->decisions.n == 0 &&
                        out->n_shifted == 0 && out->n_only[0] + out->n_only[1] == 0;
}
