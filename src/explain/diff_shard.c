/* SPDX-License-Identifier: MIT */
/* diff_shard.c: two sharded networks side by side.
 *
 * Steps are matched by name. A step is done otherwise if its set has other members or another
 * design, or if its split differs; numbers of sets do not matter. The time of a step is the sum of
 * all its jobs: computing, rotation, sums, and the ways of its operands. One after the other these
 * add up to the latency. Steps that follow each other and change in the same way are one stretch.
 */
#include <math.h>
#include <string.h>

#include "diff.h"

enum { MOST_NAMES = 8 };

typedef struct sharded {
    weft_differ *d;
    const weft_sharding *p[2];
    const weft_shard_solution *s[2];
    weft_match steps;
    const char **set_key[2];  /* [n_sets] members and design: equal texts, equal sets */
    const char **set_text[2]; /* [n_sets] for people */
    double *step_s[2];        /* [n_steps] */
} sharded;

/* --- sets ------------------------------------------------------------------------------------ */

static const char *member_name(const sharded *g, int side, const weft_team *t, int i)
{
    return g->p[side]->platform->device[t->member[i]].name;
}

static void describe_set(sharded *g, int side, int k)
{
    const weft_team *t = &g->s[side]->plan.set[k];
    const char *design = weft_team_design(g->p[side], t)->name;
    const char *key = design ? design : "", *names = "";
    int n = 0;

    for (int i = 0; i < t->n; i++) {
        key = weft_arena_print(g->d->a, "%s\n%s", key, member_name(g, side, t, i));
        if (i < MOST_NAMES)
            names = weft_arena_print(g->d->a, "%s%s%s", names, i == 0 ? "" : " ",
                                     member_name(g, side, t, i));
    }
    for (int v = 0; v < g->s[side]->plan.n_steps; v++)
        n += g->s[side]->plan.set_of[v] == k;
    if (t->n > MOST_NAMES)
        names = weft_arena_print(g->d->a, "%s and %d more", names, t->n - MOST_NAMES);
    g->set_key[side][k] = key;
    g->set_text[side][k] =
        n == 0 ? NULL /* what nobody uses is no decision */
               : weft_arena_print(g->d->a, "%d device%s%s%s: %s; %d step%s", t->n,
                                  t->n == 1 ? "" : "s", design ? " as " : "", design ? design : "",
                                  names, n, n == 1 ? "" : "s");
}

static void describe_sets(sharded *g)
{
    for (int s = 0; s < 2; s++) {
        int n = g->s[s]->plan.n_sets;

        g->set_key[s] = WEFT_NEW(g->d->a, const char *, n + 1);
        g->set_text[s] = WEFT_NEW(g->d->a, const char *, n + 1);
        for (int k = 0; k < n; k++)
            describe_set(g, s, k);
    }
}

static void decide_sets(sharded *g, int from, int to)
{
    const char *name = from >= 0 && to >= 0 && from != to
                           ? weft_arena_print(g->d->a, "set %d, set %d", from, to)
                           : weft_arena_print(g->d->a, "set %d", from >= 0 ? from : to);

    weft_differ_decision(g->d, name, from >= 0 ? g->set_text[0][from] : NULL,
                         to >= 0 ? g->set_text[1][to] : NULL);
}

/* Equal sets belong together, whatever their numbers; of the others the first to the first. */
static void list_sets(sharded *g)
{
    weft_match m;
    int next = 0;

    describe_sets(g);
    m = weft_match_names(g->set_key[0], g->s[0]->plan.n_sets, g->set_key[1], g->s[1]->plan.n_sets,
                         g->d->a);
    for (int k = 0; k < g->s[0]->plan.n_sets; k++) {
        int to = m.of[1][k];

        while (to < 0 && next < g->s[1]->plan.n_sets)
            if (m.of[0][m.at[1][next++]] < 0)
                to = next - 1;
        decide_sets(g, k, to);
    }
    for (; next < g->s[1]->plan.n_sets; next++)
        if (m.of[0][m.at[1][next]] < 0)
            decide_sets(g, -1, next);
}

/* --- steps ----------------------------------------------------------------------------------- */

static const char *split_text(const sharded *g, int side, int v)
{
    char text[128];

    weft_split_print(g->p[side]->steps, v, &g->s[side]->plan.split[v], text);
    return weft_arena_print(g->d->a, "%s", text);
}

static void find_moves(sharded *g)
{
    weft_diff *o = g->d->out;
    int n_steps = g->p[1]->steps->n, n = 0;
    weft_diff_move *move = WEFT_NEW(g->d->a, weft_diff_move, n_steps + 1);
    int *number = WEFT_NEW(g->d->a, int, n_steps + 1);

    for (int y = 0; y < n_steps; y++) {
        int x = g->steps.of[0][g->steps.at[1][y]];
        int from = x < 0 ? -1 : g->s[0]->plan.set_of[x], to = g->s[1]->plan.set_of[y];
        const char *before = x < 0 ? "" : split_text(g, 0, x), *after = split_text(g, 1, y);
        bool is_there;

        if (x < 0)
            continue;
        is_there = strcmp(g->set_key[0][from], g->set_key[1][to]) == 0;
        if (is_there && strcmp(before, after) == 0) {
            o->n_stay++;
            o->stay_s[0] += g->step_s[0][x];
            o->stay_s[1] += g->step_s[1][y];
            o->n_shifted += fabs(g->s[0]->measures.start_s[x] - g->s[1]->measures.start_s[y]) >
                            WEFT_SAME * fmax(o->proof[0]->value, o->proof[1]->value);
            continue;
        }
        move[n] = (weft_diff_move){
            .name = weft_step_name(g->p[1]->steps, y),
            .at = {weft_arena_print(g->d->a, "set %d%s%s", from, *before ? " " : "", before),
                   weft_arena_print(g->d->a, "set %d%s%s", to, *after ? " " : "", after)},
            .seconds = {g->step_s[0][x],      g->step_s[1][y]          },
        };
        move[n].effect_s = is_there ? fabs(move[n].seconds[0] - move[n].seconds[1])
                                    : move[n].seconds[0] + move[n].seconds[1];
        number[n++] = y;
    }
    weft_differ_rows(g->d, move, n, number);
}

static void time_steps(sharded *g)
{
    for (int s = 0; s < 2; s++) {
        const weft_shards_measures *m = &g->s[s]->measures;

        g->step_s[s] = WEFT_NEW(g->d->a, double, g->p[s]->steps->n + 1);
        for (int i = 0; i < m->jobs->n_jobs; i++)
            g->step_s[s][m->jobs->task[i]] += m->jobs->duration_s[i];
    }
}

static void match_steps(sharded *g)
{
    const char **name[2];

    for (int s = 0; s < 2; s++) {
        name[s] = WEFT_NEW(g->d->a, const char *, g->p[s]->steps->n + 1);
        for (int v = 0; v < g->p[s]->steps->n; v++)
            name[s][v] = weft_step_name(g->p[s]->steps, v);
    }
    g->steps = weft_match_names(name[0], g->p[0]->steps->n, name[1], g->p[1]->steps->n, g->d->a);
}

/* --- the rest -------------------------------------------------------------------------------- */

static void list_devices(sharded *g)
{
    const char **name[2];
    weft_match m;

    for (int s = 0; s < 2; s++) {
        name[s] = WEFT_NEW(g->d->a, const char *, g->p[s]->n_accelerators + 1);
        for (int i = 0; i < g->p[s]->n_accelerators; i++)
            name[s][i] = g->p[s]->platform->device[g->p[s]->accelerator[i]].name;
    }
    m = weft_match_names(name[0], g->p[0]->n_accelerators, name[1], g->p[1]->n_accelerators,
                         g->d->a);
    for (int k = 0; k < m.n; k++) {
        weft_diff_place place = weft_diff_nowhere(m.name[k]);

        for (int s = 0; s < 2; s++)
            if (m.of[s][k] >= 0) {
                int d = g->p[s]->accelerator[m.of[s][k]];

                place.busy_s[s] = g->s[s]->measures.busy_s[d];
                place.peak_bytes[s] = g->s[s]->measures.peak_bytes[d];
            }
        WEFT_PUSH(g->d->a, g->d->places, place);
    }
}

static const char *const part_name[WEFT_N_PARTS] = {
    [WEFT_PART_COMPUTE] = "computing", [WEFT_PART_ROTATE] = "rotation",
    [WEFT_PART_REDUCE] = "sums",       [WEFT_PART_RESHARD] = "reshard",
    [WEFT_PART_HANDOVER] = "handover", [WEFT_PART_HOST] = "host",
};

/* The chain by what its jobs do. */
static void list_chain(sharded *g)
{
    double part_s[2][WEFT_N_PARTS], wait_s[2];

    for (int s = 0; s < 2; s++) {
        const weft_shards_measures *m = &g->s[s]->measures;
        int *part = WEFT_NEW(g->d->a, int, m->jobs->n_jobs + 1);

        for (int i = 0; i < m->jobs->n_jobs; i++)
            part[i] = (int)m->part[i];
        wait_s[s] = weft_chain_parts(m->jobs, m->timeline, part, WEFT_N_PARTS, part_s[s]);
    }
    for (int k = 0; k <= WEFT_N_PARTS; k++) {
        const char *name = k < WEFT_N_PARTS ? weft_shard_part_name((weft_shard_part)k) : "wait";
        weft_diff_figure f = {
            name, name, "s", {wait_s[0], wait_s[1]}
        };

        if (k < WEFT_N_PARTS) {
            f.key = weft_shard_part_name((weft_shard_part)k);
            f.name = part_name[k];
            f.value[0] = part_s[0][k];
            f.value[1] = part_s[1][k];
        }
        if (f.value[0] > 0 || f.value[1] > 0)
            WEFT_PUSH(g->d->a, g->d->parts, f);
    }
}

static void list_figures(sharded *g)
{
    const weft_shards_measures *x = &g->s[0]->measures, *y = &g->s[1]->measures;
    const weft_diff_figure list[] = {
        {"latency", "latency", "s",     {x->latency_s, y->latency_s}          },
        {"energy",  "energy",  "J",     {x->energy_j, y->energy_j}            },
        {"sent",    "sent",    "B",     {x->sent_bytes, y->sent_bytes}        },
        {"steps",   "steps",   "count", {g->p[0]->steps->n, g->p[1]->steps->n}},
    };

    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        weft_differ_figure(g->d, list[i]);
}

static void list_asks(sharded *g)
{
    const weft_shard_ask *x = &g->p[0]->ask, *y = &g->p[1]->ask;

    weft_differ_setting(g->d, "steps run", x->is_concurrent ? "side by side" : "one at a time",
                        y->is_concurrent ? "side by side" : "one at a time");
    weft_differ_setting(g->d, "contiguous sets", x->is_contiguous ? "yes" : "no",
                        y->is_contiguous ? "yes" : "no");
    weft_differ_setting(g->d, "shards rotate", x->has_no_sharing ? "no" : "allowed",
                        y->has_no_sharing ? "no" : "allowed");
}

void weft_differ_shard(weft_differ *d)
{
    sharded g = {.d = d};
    weft_diff *o = d->out;

    for (int s = 0; s < 2; s++) {
        g.p[s] = d->side[s].sharding;
        g.s[s] = d->side[s].shards;
        o->proof[s] = &g.s[s]->proof;
    }
    o->kind = "shard";
    o->item = "step";
    o->value_name = "latency";
    list_asks(&g);
    weft_differ_values(d);
    list_sets(&g);
    match_steps(&g);
    time_steps(&g);
    weft_differ_only(d, &g.steps);
    find_moves(&g);
    list_devices(&g);
    list_figures(&g);
    list_chain(&g);
}
