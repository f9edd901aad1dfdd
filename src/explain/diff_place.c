/* SPDX-License-Identifier: MIT */
/* diff_place.c: two placed networks side by side.
 *
 * 1. Devices and tasks are matched by name. A task has moved if it runs on another device (of a
 *    mix: if another share of the items runs it on some device).
 * 2. The time of a device is taken apart: what left it, what came, what stayed and may take longer
 *    or shorter now, and what only one of the networks has. These add up to its busy time.
 * 3. A transfer is known by the name of what is sent, where from and where to. Those of B that A
 *    does not have are gained, the other way round lost; the task that made what is sent and those
 *    that read it there take part in it.
 * 4. Moves of tasks that are neighbours in the network of B, from the same device to the same, are
 *    one stretch: connected components of edges between such tasks (union-find). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "diff.h"

/* A transfer of one of the plans. */
typedef struct crossing {
    const char *key;
    int tensor, from, to, way;
    double bytes; /* of an item: by the share of its way */
    bool is_new;  /* the other plan has none of this name */
} crossing;

typedef struct placed {
    weft_differ *d;
    const weft_problem *p[2];
    const weft_solution *s[2];
    weft_match devices, tasks;
    int n_crossings[2];
    crossing *cross[2];
    int *move_of[2]; /* task -> move before sorting, or -1 */
} placed;

/* --- where tasks are ------------------------------------------------------------------------- */

static int device_of(const placed *g, int side, int way, int u)
{
    return g->s[side]->plan.device[(size_t)way * (size_t)g->p[side]->n_tasks + (size_t)u];
}

static double share_of(const placed *g, int side, int way)
{
    return g->s[side]->plan.n_ways > 1 ? g->s[side]->plan.share[way] : 1;
}

/* Share of the items that run task u on device d of the list of both. */
static double share_on(const placed *g, int side, int u, int d)
{
    double sum = 0;

    for (int w = 0; w < g->s[side]->plan.n_ways; w++)
        if (g->devices.at[side][device_of(g, side, w, u)] == d)
            sum += share_of(g, side, w);
    return sum;
}

static double seconds_of(const placed *g, int side, int u)
{
    double sum = 0;

    for (int w = 0; w < g->s[side]->plan.n_ways; w++)
        sum += share_of(g, side, w) * weft_task_s(g->p[side], u, device_of(g, side, w, u));
    return sum;
}

static double seconds_on(const placed *g, int side, int u, int d)
{
    int here = g->devices.of[side][d];
    double share = here < 0 ? 0 : share_on(g, side, u, d);

    return share > 0 ? share * weft_task_s(g->p[side], u, here) : 0; /* not 0 * INFINITY */
}

/* "gpu0", or of a mix "60 % gpu0 40 % gpu1". */
static const char *place_text(const placed *g, int side, int u)
{
    const char *text = "";

    if (g->s[side]->plan.n_ways == 1)
        return g->p[side]->device_name[device_of(g, side, 0, u)];
    for (int d = 0; d < g->devices.n; d++) {
        double share = share_on(g, side, u, d);

        if (share > 0)
            text = weft_arena_print(g->d->a, "%s%s%.4g %% %s", text, *text ? " " : "", 100 * share,
                                    g->devices.name[d]);
    }
    return text;
}

static bool has_moved(const placed *g, int x, int y)
{
    if (g->s[0]->plan.n_ways == 1 && g->s[1]->plan.n_ways == 1)
        return g->devices.at[0][device_of(g, 0, 0, x)] != g->devices.at[1][device_of(g, 1, 0, y)];
    for (int d = 0; d < g->devices.n; d++)
        if (fabs(share_on(g, 0, x, d) - share_on(g, 1, y, d)) > WEFT_SAME)
            return true;
    return false;
}

static bool has_shifted(const placed *g, int x, int y)
{
    double span_s = fmax(g->s[0]->measures.makespan_s, g->s[1]->measures.makespan_s);

    if (g->s[0]->plan.n_ways != 1 || g->s[1]->plan.n_ways != 1)
        return g->s[0]->plan.n_ways != g->s[1]->plan.n_ways;
    return fabs(g->s[0]->plan.start_s[x] - g->s[1]->plan.start_s[y]) > WEFT_SAME * span_s;
}

/* --- transfers ------------------------------------------------------------------------------- */

static void list_crossings(placed *g, int side)
{
    const weft_problem *p = g->p[side];
    const weft_measures *m = &g->s[side]->measures;
    const char *const *label = weft_tensor_labels(p, g->d->a);
    WEFT_VEC(crossing) list = {0};

    for (int w = 0; w < g->s[side]->plan.n_ways; w++) {
        const weft_jobs *j = m->n_ways > 1 ? m->way[w].jobs : m->jobs;

        for (int i = 0; i < j->n_jobs; i++) {
            crossing c = {NULL, j->tensor[i], j->from[i], j->to[i], w, 0, true};

            if (j->kind[i] != WEFT_JOB_TRANSFER)
                continue;
            c.bytes = share_of(g, side, w) * p->amount[c.tensor];
            c.key = weft_arena_print(g->d->a, "%s\n%s\n%s\n%d", label[c.tensor],
                                     p->device_name[c.from], p->device_name[c.to], w);
            WEFT_PUSH(g->d->a, list, c);
        }
    }
    g->cross[side] = list.at;
    g->n_crossings[side] = list.n;
}

/* Which of them the other plan does not have. */
static void match_crossings(placed *g)
{
    for (int s = 0; s < 2; s++) {
        weft_map *other = weft_map_new(g->d->a);

        weft_map_reserve(other, g->n_crossings[1 - s]);
        for (int i = 0; i < g->n_crossings[1 - s]; i++)
            weft_map_set(other, g->cross[1 - s][i].key, strlen(g->cross[1 - s][i].key), i);
        for (int i = 0; i < g->n_crossings[s]; i++) {
            crossing *c = &g->cross[s][i];

            c->is_new = weft_map_get(other, c->key, strlen(c->key)) < 0;
            *(s == 0 ? &g->d->out->n_lost : &g->d->out->n_gained) += c->is_new;
        }
    }
}

static void count(int side, double bytes, int *n_gained, int *n_lost, double *gained_bytes,
                  double *lost_bytes)
{
    *(side == 0 ? n_lost : n_gained) += 1;
    *(side == 0 ? lost_bytes : gained_bytes) += bytes;
}

typedef struct counting {
    placed *g;
    weft_diff_move *move;
    weft_diff_stretch *stretch;
    const int *order;
    int *seen; /* [n_stretches] 1 + the last crossing that was counted */
} counting;

/* Task u takes part in crossing c, the number-th of all. */
static void take_part(counting *k, int side, const crossing *c, int number, int u)
{
    int at = k->g->move_of[side][u];
    weft_diff_move *m;
    weft_diff_stretch *s;

    if (at < 0)
        return;
    m = &k->move[k->order[at]];
    s = &k->stretch[m->stretch];
    count(side, c->bytes, &m->n_gained, &m->n_lost, &m->gained_bytes, &m->lost_bytes);
    if (k->seen[m->stretch] == number + 1)
        return;
    k->seen[m->stretch] = number + 1;
    count(side, c->bytes, &s->n_gained, &s->n_lost, &s->gained_bytes, &s->lost_bytes);
}

static void count_crossing(counting *k, int side, const crossing *c, int number)
{
    const weft_problem *p = k->g->p[side];
    int maker = p->producer[c->tensor];

    if (maker >= 0 && device_of(k->g, side, c->way, maker) == c->from)
        take_part(k, side, c, number, maker);
    for (int i = p->reader_at[c->tensor]; i < p->reader_at[c->tensor + 1]; i++)
        if (device_of(k->g, side, c->way, p->reader[i]) == c->to)
            take_part(k, side, c, number, p->reader[i]);
}

static void count_crossings(placed *g, const int *order)
{
    weft_diff *o = g->d->out;
    counting k = {.g = g, .order = order};

    /* They were made for this comparison: nobody else holds them yet. */
    k.move = WEFT_NEW(g->d->a, weft_diff_move, o->n_moves + 1);
    k.stretch = WEFT_NEW(g->d->a, weft_diff_stretch, o->n_stretches + 1);
    memcpy(k.move, o->move, (size_t)o->n_moves * sizeof *k.move);
    memcpy(k.stretch, o->stretch, (size_t)o->n_stretches * sizeof *k.stretch);
    k.seen = WEFT_NEW(g->d->a, int, o->n_stretches + 1);
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < g->n_crossings[s]; i++)
            if (g->cross[s][i].is_new)
                count_crossing(&k, s, &g->cross[s][i], s * g->n_crossings[0] + i);
    o->move = k.move;
    o->stretch = k.stretch;
}

/* --- moves ----------------------------------------------------------------------------------- */

static int root_of(int *parent, int i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

static bool is_alike(const weft_diff_move *x, const weft_diff_move *y)
{
    return strcmp(x->at[0], y->at[0]) == 0 && strcmp(x->at[1], y->at[1]) == 0;
}

/* Joins neighbours in the network of B that went the same way. */
static void join_neighbours(placed *g, const weft_diff_move *move, int n, int *group)
{
    const weft_problem *p = g->p[1];

    for (int i = 0; i < n; i++)
        group[i] = i;
    for (int v = 0; v < p->n_tasks; v++)
        for (int e = p->pred_at[v]; e < p->pred_at[v + 1]; e++) {
            int x = g->move_of[1][p->pred[e]], y = g->move_of[1][v];

            if (x < 0 || y < 0 || !is_alike(&move[x], &move[y]))
                continue;
            x = root_of(group, x);
            y = root_of(group, y);
            group[x > y ? x : y] = x > y ? y : x;
        }
    for (int i = 0; i < n; i++)
        group[i] = root_of(group, i);
}

static weft_diff_move move_of(const placed *g, int x, int y)
{
    weft_diff_move m = {
        .name = g->p[1]->task_name[y],
        .kind = g->p[1]->task_kind ? g->p[1]->task_kind[y] : NULL,
        .at = {place_text(g, 0, x), place_text(g, 1, y)},
        .seconds = {seconds_of(g, 0, x), seconds_of(g, 1, y)}
    };

    m.effect_s = m.seconds[0] + m.seconds[1];
    return m;
}

static void find_moves(placed *g)
{
    weft_diff *o = g->d->out;
    weft_diff_move *move = WEFT_NEW(g->d->a, weft_diff_move, g->p[1]->n_tasks + 1);
    int *group = WEFT_NEW(g->d->a, int, g->p[1]->n_tasks + 1);
    int *order = WEFT_NEW(g->d->a, int, g->p[1]->n_tasks + 1), n = 0;

    for (int s = 0; s < 2; s++) {
        g->move_of[s] = WEFT_NEW(g->d->a, int, g->p[s]->n_tasks + 1);
        for (int u = 0; u < g->p[s]->n_tasks; u++)
            g->move_of[s][u] = -1;
    }
    for (int y = 0; y < g->p[1]->n_tasks; y++) {
        int x = g->tasks.of[0][g->tasks.at[1][y]];

        if (x < 0)
            continue;
        if (!has_moved(g, x, y)) {
            o->n_stay++;
            o->n_shifted += has_shifted(g, x, y);
            o->stay_s[0] += seconds_of(g, 0, x);
            o->stay_s[1] += seconds_of(g, 1, y);
            continue;
        }
        g->move_of[0][x] = g->move_of[1][y] = n;
        move[n++] = move_of(g, x, y);
    }
    join_neighbours(g, move, n, group);
    weft_differ_moves(g->d, move, n, group, order);
    match_crossings(g);
    count_crossings(g, order);
}

/* --- devices --------------------------------------------------------------------------------- */

static void add_tasks(const placed *g, int d, weft_diff_place *to)
{
    for (int s = 0; s < 2; s++)
        to->stay_s[s] = to->only_s[s] = 0;
    to->left_s = to->came_s = 0;
    for (int k = 0; k < g->tasks.n; k++) {
        int x = g->tasks.of[0][k], y = g->tasks.of[1][k];
        double before_s = x < 0 ? 0 : seconds_on(g, 0, x, d);
        double after_s = y < 0 ? 0 : seconds_on(g, 1, y, d);

        if (x < 0 || y < 0) {
            to->only_s[0] += before_s;
            to->only_s[1] += after_s;
        } else if (g->move_of[1][y] >= 0) {
            to->left_s += before_s;
            to->came_s += after_s;
        } else {
            to->stay_s[0] += before_s;
            to->stay_s[1] += after_s;
        }
    }
}

static void list_devices(placed *g)
{
    for (int k = 0; k < g->devices.n; k++) {
        weft_diff_place place = weft_diff_nowhere(g->devices.name[k]);

        for (int s = 0; s < 2; s++) {
            int d = g->devices.of[s][k];

            if (d < 0)
                continue;
            place.busy_s[s] = g->s[s]->measures.busy_s[d];
            place.peak_bytes[s] = g->s[s]->measures.peak_bytes[d];
            place.sent_bytes[s] = 0;
            for (int i = 0; i < g->n_crossings[s]; i++)
                if (g->cross[s][i].from == d)
                    place.sent_bytes[s] += g->cross[s][i].bytes;
        }
        add_tasks(g, k, &place);
        WEFT_PUSH(g->d->a, g->d->places, place);
    }
}

static void list_links(placed *g)
{
    weft_match m = weft_match_names(g->p[0]->link_name, g->p[0]->n_links, g->p[1]->link_name,
                                    g->p[1]->n_links, g->d->a);

    for (int k = 0; k < m.n; k++) {
        weft_diff_figure f = {
            .key = m.name[k], .name = m.name[k], .unit = "s", .value = {NAN, NAN}
        };

        for (int s = 0; s < 2; s++)
            if (m.of[s][k] >= 0)
                f.value[s] = g->s[s]->measures.link_s[m.of[s][k]];
        if (f.value[0] > 0 || f.value[1] > 0)
            WEFT_PUSH(g->d->a, g->d->links, f);
    }
}

/* --- the whole ------------------------------------------------------------------------------- */

static void list_figures(placed *g)
{
    const weft_measures *x = &g->s[0]->measures, *y = &g->s[1]->measures;
    const char *sent = g->d->side[0].platform || g->d->side[1].platform ? "B" : "units";
    const weft_diff_figure list[] = {
        {"latency",   "latency",       "s",     {x->makespan_s, y->makespan_s}      },
        {"period",    "time per item", "s",     {x->period_s, y->period_s}          },
        {"energy",    "energy",        "J",     {x->energy_j, y->energy_j}          },
        {"sent",      "sent",          sent,    {x->sent_bytes, y->sent_bytes}      },
        {"transfers", "transfers",     "count", {x->n_transfers, y->n_transfers}    },
        {"tasks",     "tasks",         "count", {g->p[0]->n_tasks, g->p[1]->n_tasks}},
    };

    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        weft_differ_figure(g->d, list[i]);
}

static void list_chain(placed *g)
{
    weft_diff_figure part[] = {
        {"compute",  "computing", "s", {0, 0}},
        {"transfer", "sending",   "s", {0, 0}},
        {"wait",     "waiting",   "s", {0, 0}},
    };

    for (int s = 0; s < 2; s++) {
        const weft_measures *m = &g->s[s]->measures;

        for (int i = 0; i < m->n_chain; i++)
            part[m->chain[i].kind].value[s] += m->chain[i].end_s - m->chain[i].start_s;
    }
    for (int k = 0; k < 3; k++)
        WEFT_PUSH(g->d->a, g->d->parts, part[k]);
}

static const char *limit_text(weft_arena *a, double limit_s)
{
    return limit_s > 0 ? weft_unit_print(limit_s, WEFT_UNIT_SECONDS, WEFT_NEW(a, char, 48)) : NULL;
}

static void list_asks(placed *g)
{
    const weft_ask *x = &g->p[0]->ask, *y = &g->p[1]->ask;
    weft_differ *d = g->d;

    weft_differ_setting(d, "goal", weft_goal_name(x->goal), weft_goal_name(y->goal));
    weft_differ_setting(d, "transfers", weft_transfer_name(g->p[0]->transfer),
                        weft_transfer_name(g->p[1]->transfer));
    weft_differ_setting(d, "contiguous stages", x->is_contiguous ? "yes" : "no",
                        y->is_contiguous ? "yes" : "no");
    weft_differ_setting(d, "items take different ways", x->is_mixed ? "yes" : "no",
                        y->is_mixed ? "yes" : "no");
    weft_differ_setting(d, "longest latency allowed", limit_text(d->a, x->most_latency_s),
                        limit_text(d->a, y->most_latency_s));
    weft_differ_setting(d, "longest time per item allowed", limit_text(d->a, x->most_period_s),
                        limit_text(d->a, y->most_period_s));
}

void weft_differ_place(weft_differ *d)
{
    placed g = {.d = d};
    weft_diff *o = d->out;

    for (int s = 0; s < 2; s++) {
        g.p[s] = d->side[s].problem;
        g.s[s] = d->side[s].solution;
        o->proof[s] = &g.s[s]->proof;
    }
    o->kind = "place";
    o->item = "task";
    o->is_comparable = g.p[0]->ask.goal == g.p[1]->ask.goal;
    o->value_name = !o->is_comparable                     ? "value"
                    : g.p[0]->ask.goal == WEFT_THROUGHPUT ? "time per item"
                                                          : "latency";
    list_asks(&g);
    g.devices = weft_match_names(g.p[0]->device_name, g.p[0]->n_devices, g.p[1]->device_name,
                                 g.p[1]->n_devices, d->a);
    g.tasks = weft_match_names(g.p[0]->task_name, g.p[0]->n_tasks, g.p[1]->task_name,
                               g.p[1]->n_tasks, d->a);
    weft_differ_values(d);
    weft_differ_only(d, &g.tasks);
    list_crossings(&g, 0);
    list_crossings(&g, 1);
    find_moves(&g);
    list_devices(&g);
    list_links(&g);
    list_figures(&g);
    list_chain(&g);
}
