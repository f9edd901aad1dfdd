/* SPDX-License-Identifier: MIT */
/* diff_platform.c: how two platforms differ, in words.
 *
 * Devices and links are matched by name. What differs in the same way for all devices of a kind, or
 * for all links between two kinds, is one line that says how many there are. */
#include <math.h>
#include <string.h>

#include "diff.h"

enum { MOST_NAMES = 12 };

/* A line that may stand for several devices or links. */
typedef struct shared_row {
    const char *kind, *key, *text[2]; /* key: "" for links */
    const char *name;                 /* of the first */
    int n;
} shared_row;

typedef struct platforms {
    weft_diff *d;
    weft_arena *a;
    const weft_platform *p[2];
    const char *noun; /* "devices", "links" */
    WEFT_VEC(shared_row) rows;
} platforms;

static bool is_near(double a, double b)
{
    return !(a < b || a > b) || fabs(a - b) <= WEFT_SAME * fmax(fabs(a), fabs(b));
}

/* --- rows that repeat ------------------------------------------------------------------------ */

static void add(platforms *g, const char *kind, const char *name, const char *key,
                const char *const text[2])
{
    shared_row row = {
        kind, key, {text[0], text[1]},
          name, 1
    };

    for (int i = 0; i < g->rows.n; i++) {
        shared_row *r = &g->rows.at[i];

        if (strcmp(r->kind, kind) == 0 && strcmp(r->key, key) == 0 &&
            strcmp(r->text[0], text[0]) == 0 && strcmp(r->text[1], text[1]) == 0) {
            r->n++;
            return;
        }
    }
    WEFT_PUSH(g->a, g->rows, row);
}

static void flush(platforms *g)
{
    for (int i = 0; i < g->rows.n; i++) {
        const shared_row *r = &g->rows.at[i];
        const char *who =
            r->n == 1 ? r->name : weft_arena_print(g->a, "%s (%d %s)", r->kind, r->n, g->noun);

        weft_diff_setting(g->d, *r->key ? weft_arena_print(g->a, "%s %s", who, r->key) : who,
                          r->text[0], r->text[1]);
    }
    g->rows.n = 0;
}

/* --- devices --------------------------------------------------------------------------------- */

static const char *amount(weft_arena *a, double value, weft_unit unit)
{
    return value < INFINITY ? weft_unit_print(value, unit, WEFT_NEW(a, char, 48)) : "unlimited";
}

static void compare(platforms *g, const weft_device *x, const char *key, const double value[2],
                    weft_unit unit)
{
    weft_arena *a = g->a;

    if (!is_near(value[0], value[1]))
        add(g, x->kind, x->name, key,
            (const char *[2]){amount(a, value[0], unit), amount(a, value[1], unit)});
}

static const char *only_text(weft_arena *a, const weft_design *d)
{
    const char *text = d->n_only == 0 ? "all" : "";

    for (int i = 0; i < d->n_only; i++)
        text = weft_arena_print(a, "%s%s%s", text, i == 0 ? "" : " ", d->only[i]);
    return text;
}

/* One design of a device; `prefix` names it where there are several. */
static void compare_designs(platforms *g, const weft_device *x, const weft_design *const d[2],
                            const char *prefix)
{
    weft_arena *a = g->a;
    int n = 0;
    const weft_param *q = weft_device_params(d[0]->model, &n);
    const char *const profile[2] = {d[0]->profile ? d[0]->profile : "none",
                                    d[1]->profile ? d[1]->profile : "none"};
    const char *const only[2] = {only_text(a, d[0]), only_text(a, d[1])};

    if (d[0]->model != d[1]->model) {
        add(g, x->kind, x->name, weft_arena_print(a, "%smodel", prefix),
            (const char *[2]){weft_device_model_name(d[0]->model),
                              weft_device_model_name(d[1]->model)});
        return;
    }
    for (int i = 0; i < n; i++)
        compare(g, x, weft_arena_print(a, "%s%s", prefix, q[i].key),
                (double[2]){d[0]->value[q[i].place], d[1]->value[q[i].place]}, q[i].unit);
    for (int f = 0; f < WEFT_N_FAMILIES; f++)
        compare(g, x,
                weft_arena_print(a, "%sefficiency of %s operators", prefix,
                                 weft_fusion_name((weft_fusion)f)),
                (double[2]){d[0]->efficiency[f], d[1]->efficiency[f]}, WEFT_UNIT_NONE);
    if (strcmp(profile[0], profile[1]) != 0)
        add(g, x->kind, x->name, weft_arena_print(a, "%sprofile", prefix), profile);
    if (strcmp(only[0], only[1]) != 0)
        add(g, x->kind, x->name, weft_arena_print(a, "%soperators", prefix), only);
}

static void compare_devices(platforms *g, const weft_device *x, const weft_device *y)
{
    weft_arena *a = g->a;

    if (x->n_designs != y->n_designs)
        add(g, x->kind, x->name, "designs",
            (const char *[2]){weft_arena_print(a, "%d", x->n_designs),
                              weft_arena_print(a, "%d", y->n_designs)});
    for (int i = 0; i < x->n_designs && i < y->n_designs; i++)
        compare_designs(g, x, (const weft_design *[2]){&x->design[i], &y->design[i]},
                        x->n_designs == 1 ? "" : weft_arena_print(a, "%s ", x->design[i].name));
    compare(g, x, "memory", (double[2]){x->memory_bytes, y->memory_bytes}, WEFT_UNIT_BYTES);
    compare(g, x, "power", (double[2]){x->power_w, y->power_w}, WEFT_UNIT_WATTS);
    compare(g, x, "switch", (double[2]){x->switch_s, y->switch_s}, WEFT_UNIT_SECONDS);
    compare(g, x, "idle power", (double[2]){x->idle_w, y->idle_w}, WEFT_UNIT_WATTS);
}

static const char *only_names(weft_arena *a, const weft_match *m, int side)
{
    const char *text = NULL;
    int n = 0;

    for (int k = 0; k < m->n; k++)
        if (m->of[1 - side][k] < 0 && n++ < MOST_NAMES)
            text = n == 1 ? m->name[k] : weft_arena_print(a, "%s %s", text, m->name[k]);
    return n > MOST_NAMES ? weft_arena_print(a, "%s and %d more", text, n - MOST_NAMES) : text;
}

static void differ_devices(platforms *g)
{
    weft_match m = weft_match_names((const void *[]){g->p[0]->device, g->p[1]->device},
                                    (int[]){g->p[0]->n_devices, g->p[1]->n_devices},
                                    sizeof(weft_device), g->a);

    weft_diff_setting(g->d, "devices that one has only", only_names(g->a, &m, 0),
                      only_names(g->a, &m, 1));
    g->noun = "devices";
    for (int k = 0; k < m.n; k++)
        if (m.of[0][k] >= 0 && m.of[1][k] >= 0)
            compare_devices(g, &g->p[0]->device[m.of[0][k]], &g->p[1]->device[m.of[1][k]]);
    flush(g);
}

/* --- links ----------------------------------------------------------------------------------- */

static const char *end_kind(const weft_platform *p, int place)
{
    return place < p->n_devices ? p->device[place].kind : p->switch_name[place - p->n_devices];
}

static const char *link_text(weft_arena *a, const weft_link *k)
{
    return weft_arena_print(a, "%s, %s%s", amount(a, k->bytes_per_s, WEFT_UNIT_BYTES_PER_S),
                            amount(a, k->latency_s, WEFT_UNIT_SECONDS),
                            k->is_half_duplex ? ", one direction at a time" : "");
}

/* Names of links, which are the same for both directions of writing them. */
static const char **link_names(platforms *g, int side)
{
    const weft_platform *p = g->p[side];
    const char **name = WEFT_NEW(g->a, const char *, p->n_links + 1);

    for (int i = 0; i < p->n_links; i++) {
        const char *x = weft_place_name(p, p->link[i].a), *y = weft_place_name(p, p->link[i].b);

        name[i] = weft_arena_print(g->a, "link %s - %s", strcmp(x, y) < 0 ? x : y,
                                   strcmp(x, y) < 0 ? y : x);
    }
    return name;
}

static bool has_place(const weft_platform *p, const char *name)
{
    for (int i = 0; i < p->n_devices + p->n_switches; i++)
        if (strcmp(weft_place_name(p, i), name) == 0)
            return true;
    return false;
}

/* A link that the other side does not have, of devices that it does not have, is no news. */
static bool is_news(const platforms *g, const weft_platform *p, const weft_link *l)
{
    const weft_platform *other = p == g->p[0] ? g->p[1] : g->p[0];

    return has_place(other, weft_place_name(p, l->a)) && has_place(other, weft_place_name(p, l->b));
}

static void differ_links(platforms *g)
{
    weft_arena *a = g->a;
    weft_match m =
        weft_match_names((const void *[]){link_names(g, 0), link_names(g, 1)},
                         (int[]){g->p[0]->n_links, g->p[1]->n_links}, sizeof(const char *), a);

    g->noun = "links";
    for (int k = 0; k < m.n; k++) {
        const weft_link *x = m.of[0][k] >= 0 ? &g->p[0]->link[m.of[0][k]] : NULL;
        const weft_link *y = m.of[1][k] >= 0 ? &g->p[1]->link[m.of[1][k]] : NULL;
        const char *const text[2] = {x ? link_text(a, x) : "none", y ? link_text(a, y) : "none"};
        const weft_platform *p = g->p[x ? 0 : 1];
        const weft_link *l = x ? x : y;

        if (strcmp(text[0], text[1]) != 0 && is_news(g, p, l))
            add(g, weft_arena_print(a, "link %s - %s", end_kind(p, l->a), end_kind(p, l->b)),
                m.name[k], "", text);
    }
    flush(g);
}

static const char *host_text(const weft_platform *p)
{
    return p->host >= 0 ? p->device[p->host].name : "none";
}

void weft_diff_platforms(weft_diff *d)
{
    platforms g = {
        .d = d, .a = d->a, .p = {d->side[0].platform, d->side[1].platform}
    };

    if (g.p[0] == NULL || g.p[1] == NULL || g.p[0]->hash == g.p[1]->hash)
        return;
    weft_diff_setting(d, "host", host_text(g.p[0]), host_text(g.p[1]));
    weft_diff_setting(d, "communication behind computation", g.p[0]->hides ? "yes" : "no",
                      g.p[1]->hides ? "yes" : "no");
    differ_devices(&g);
    differ_links(&g);
}
