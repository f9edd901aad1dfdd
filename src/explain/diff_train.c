/* SPDX-License-Identifier: MIT */
/* diff_train.c: two plans of training side by side.
 *
 * Units are matched by name: by their first and last operator. Another model or element type may
 * cut a network into other units; then few of them are in both. A unit is done otherwise if its
 * stage has another number, other devices, another width or another policy. Its time is that of
 * forward and backward of a microbatch on the part of the team that takes longest. Units that
 * follow each other and change in the same way are one stretch. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "diff.h"
#include "pipeline.h"

typedef struct trained {
    weft_differ *d;
    const weft_training *p[2];
    const weft_train_solution *s[2];
    weft_match units;
    int *stage_of[2];         /* [n_units] */
    const char **stage_at[2]; /* [n_stages] with its devices: equal texts, equal stages */
    double *unit_s[2];        /* [n_units] of a microbatch */
} trained;

/* --- stages ---------------------------------------------------------------------------------- */

static void find_stages(trained *g, int side)
{
    const weft_units *u = &g->p[side]->units;
    const weft_pipeline *plan = &g->s[side]->plan;

    g->stage_of[side] = WEFT_NEW(g->d->a, int, u->n_units + 1);
    for (int c = 0; c < plan->n_stages * plan->n_chunks; c++)
        for (int i = 0; i < u->n_units; i++)
            if (weft_bit_get(u->cut + (size_t)plan->cut[c + 1] * (size_t)u->n_words, i) &&
                !weft_bit_get(u->cut + (size_t)plan->cut[c] * (size_t)u->n_words, i))
                g->stage_of[side][i] = c % plan->n_stages;
}

static const char *device_name(const trained *g, int side, const weft_class *k, int place)
{
    return g->p[side]->cluster->platform->device[k->device[place]].name;
}

/* "4 x2 gpu (8 samples): gpu0 .. gpu7": blocks of a width, and which. */
static const char *part_text(const trained *g, int side, const weft_stage *s,
                             const weft_team_part *t)
{
    const weft_class *k = &g->p[side]->cluster->classes[t->class_id];
    int first = weft_class_block(k, s->width, t->first);
    int last = weft_class_block(k, s->width, t->first + (t->n_blocks - 1) * t->step) + s->width - 1;
    const char *to =
        first == last ? "" : weft_arena_print(g->d->a, " .. %s", device_name(g, side, k, last));

    return weft_arena_print(g->d->a, "%d x%d %s, %" PRId64 " sample%s each, %s%s", t->n_blocks,
                            s->width, k->kind, t->samples, t->samples == 1 ? "" : "s",
                            device_name(g, side, k, first), to);
}

static const char *team_text(const trained *g, int side, const weft_stage *s)
{
    const char *text = "";

    for (int i = 0; i < s->n_parts; i++)
        text = weft_arena_print(g->d->a, "%s%s%s", text, i == 0 ? "" : " and ",
                                part_text(g, side, s, &s->part[i]));
    return text;
}

/* Units of a stage: "3 .. 7", or how many where others lie between. */
static const char *units_text(const trained *g, int side, int stage)
{
    int n = 0, first = -1, last = -1;

    for (int i = 0; i < g->p[side]->units.n_units; i++)
        if (g->stage_of[side][i] == stage) {
            first = n == 0 ? i : first;
            last = i;
            n++;
        }
    if (n == 1)
        return weft_arena_print(g->d->a, "unit %d", first);
    return n == last - first + 1 ? weft_arena_print(g->d->a, "units %d .. %d", first, last)
                                 : weft_arena_print(g->d->a, "%d units", n);
}

static const char *stage_text(const trained *g, int side, int stage)
{
    const weft_stage *s = &g->s[side]->plan.stage[stage];

    return weft_arena_print(g->d->a, "%s on %s, computed again: %s", units_text(g, side, stage),
                            team_text(g, side, s), weft_recompute_name(s->recompute));
}

static void describe_stages(trained *g, int side)
{
    const weft_pipeline *plan = &g->s[side]->plan;

    g->stage_at[side] = WEFT_NEW(g->d->a, const char *, plan->n_stages + 1);
    for (int i = 0; i < plan->n_stages; i++)
        g->stage_at[side][i] =
            weft_arena_print(g->d->a, "stage %d\n%s\n%s", i, team_text(g, side, &plan->stage[i]),
                             weft_recompute_name(plan->stage[i].recompute));
}

static const char *number(weft_arena *a, int64_t n)
{
    return weft_arena_print(a, "%" PRId64, n);
}

static void list_decisions(trained *g)
{
    const weft_pipeline *x = &g->s[0]->plan, *y = &g->s[1]->plan;
    int most = x->n_stages > y->n_stages ? x->n_stages : y->n_stages;
    weft_arena *a = g->d->a;

    weft_differ_decision(g->d, "schedule", weft_schedule_name(x->schedule),
                         weft_schedule_name(y->schedule));
    weft_differ_decision(g->d, "microbatch",
                         weft_arena_print(a, "%" PRId64 " samples", x->microbatch),
                         weft_arena_print(a, "%" PRId64 " samples", y->microbatch));
    weft_differ_decision(g->d, "stages", number(a, x->n_stages), number(a, y->n_stages));
    weft_differ_decision(g->d, "chunks of a stage", number(a, x->n_chunks), number(a, y->n_chunks));
    for (int i = 0; i < most; i++)
        weft_differ_decision(g->d, weft_arena_print(a, "stage %d", i),
                             i < x->n_stages ? stage_text(g, 0, i) : NULL,
                             i < y->n_stages ? stage_text(g, 1, i) : NULL);
}

/* Forward and backward of a microbatch through all chunks of a stage. */
static void stage_times(const trained *g, int side, int stage, weft_diff_place *to)
{
    const weft_pipeline *plan = &g->s[side]->plan;
    const weft_chunk_figures *f = g->s[side]->measures.figures;

    to->forward_s[side] = to->backward_s[side] = 0;
    for (int c = stage; c < plan->n_stages * plan->n_chunks; c += plan->n_stages) {
        to->forward_s[side] += f[c].forward_s;
        to->backward_s[side] += f[c].backward_s + f[c].again_s;
    }
}

static void list_stages(trained *g)
{
    int most = g->s[0]->plan.n_stages > g->s[1]->plan.n_stages ? g->s[0]->plan.n_stages
                                                               : g->s[1]->plan.n_stages;

    for (int i = 0; i < most; i++) {
        weft_diff_place place = weft_diff_nowhere(weft_arena_print(g->d->a, "stage %d", i));

        for (int s = 0; s < 2; s++) {
            if (i >= g->s[s]->plan.n_stages)
                continue;
            place.busy_s[s] = g->s[s]->measures.stage_busy_s[i];
            place.peak_bytes[s] = g->s[s]->measures.stage_peak_bytes[i];
            stage_times(g, s, i, &place);
        }
        WEFT_PUSH(g->d->a, g->d->places, place);
    }
}

/* --- units ----------------------------------------------------------------------------------- */

static void time_units(trained *g, int side)
{
    const weft_training *p = g->p[side];

    g->unit_s[side] = WEFT_NEW(g->d->a, double, p->units.n_units + 1);
    for (int u = 0; u < p->units.n_units; u++) {
        const weft_stage *s = &g->s[side]->plan.stage[g->stage_of[side][u]];

        for (int k = 0; k < s->n_parts; k++) {
            const weft_unit_cost *cost =
                p->cost[weft_training_table(p, s->part[k].class_id, weft_width_place(p, s->width),
                                            weft_share_place(p, s->part[k].samples))];

            g->unit_s[side][u] = fmax(g->unit_s[side][u], cost[u].forward_s + cost[u].backward_s +
                                                              cost[u].again_s[s->recompute]);
        }
    }
}

static void find_moves(trained *g)
{
    weft_diff *o = g->d->out;
    int n_units = g->p[1]->units.n_units, n = 0;
    weft_diff_move *move = WEFT_NEW(g->d->a, weft_diff_move, n_units + 1);
    int *place = WEFT_NEW(g->d->a, int, n_units + 1);

    for (int y = 0; y < n_units; y++) {
        int x = g->units.of[0][g->units.at[1][y]];
        int from = x < 0 ? -1 : g->stage_of[0][x], to = g->stage_of[1][y];

        if (x < 0)
            continue;
        if (strcmp(g->stage_at[0][from], g->stage_at[1][to]) == 0) {
            o->n_stay++;
            o->stay_s[0] += g->unit_s[0][x];
            o->stay_s[1] += g->unit_s[1][y];
            continue;
        }
        move[n] = (weft_diff_move){
            .name = g->p[1]->units.name[y],
            .at = {weft_arena_print(g->d->a, "stage %d", from),
                   weft_arena_print(g->d->a, "stage %d", to)},
            .seconds = {g->unit_s[0][x], g->unit_s[1][y]},
        };
        move[n].effect_s = move[n].seconds[0] + move[n].seconds[1];
        place[n++] = y;
    }
    weft_differ_rows(g->d, move, n, place);
}

/* --- the rest -------------------------------------------------------------------------------- */

static const char *const part_name[WEFT_N_TRAIN_PARTS] = {
    [WEFT_TRAIN_FORWARD] = "forward",
    [WEFT_TRAIN_BACKWARD] = "backward",
    [WEFT_TRAIN_SEND] = "sending",
    [WEFT_TRAIN_RETURN] = "sending gradients",
    [WEFT_TRAIN_SYNC] = "sum of gradients",
    [WEFT_TRAIN_UPDATE] = "update",
    [WEFT_TRAIN_SHARED] = "shared parameters",
};

static void list_chain(trained *g)
{
    double part_s[2][WEFT_N_TRAIN_PARTS], wait_s[2];

    for (int s = 0; s < 2; s++) {
        const weft_train_measures *m = &g->s[s]->measures;
        int *part = WEFT_NEW(g->d->a, int, m->jobs->n_jobs + 1);

        for (int i = 0; i < m->jobs->n_jobs; i++)
            part[i] = (int)m->part[i];
        wait_s[s] = weft_chain_parts(m->jobs, m->timeline, part, WEFT_N_TRAIN_PARTS, part_s[s]);
    }
    for (int k = 0; k <= WEFT_N_TRAIN_PARTS; k++) {
        const char *name =
            k < WEFT_N_TRAIN_PARTS ? weft_train_part_name((weft_train_part)k) : "wait";
        weft_diff_figure f = {
            name, name, "s", {wait_s[0], wait_s[1]}
        };

        if (k < WEFT_N_TRAIN_PARTS) {
            f.key = weft_train_part_name((weft_train_part)k);
            f.name = part_name[k];
            f.value[0] = part_s[0][k];
            f.value[1] = part_s[1][k];
        }
        if (f.value[0] > 0 || f.value[1] > 0)
            WEFT_PUSH(g->d->a, g->d->parts, f);
    }
}

static double devices_of(const weft_pipeline *plan)
{
    int n = 0;

    for (int i = 0; i < plan->n_stages; i++)
        n += weft_stage_blocks(&plan->stage[i]) * plan->stage[i].width;
    return n;
}

static void list_figures(trained *g)
{
    const weft_train_measures *x = &g->s[0]->measures, *y = &g->s[1]->measures;
    const weft_diff_figure list[] = {
        {"step",        "step",                "s",     {x->step_s, y->step_s}                          },
        {"rate",        "samples a second",    "1/s",   {x->samples_per_s, y->samples_per_s}            },
        {"bubble",      "stages without work", "%",     {x->bubble, y->bubble}                          },
        {"utilisation", "of the usable peak",  "%",     {x->flops_utilisation, y->flops_utilisation}    },
        {"devices",
         "devices in use",                     "count",
         {devices_of(&g->s[0]->plan), devices_of(&g->s[1]->plan)}                                       },
        {"sent",        "sent",                "B",     {x->sent_bytes, y->sent_bytes}                  },
        {"units",       "units",               "count", {g->p[0]->units.n_units, g->p[1]->units.n_units}},
    };

    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        weft_differ_figure(g->d, list[i]);
}

/* The words of the bits that are set. */
static const char *words(weft_arena *a, unsigned bits, const char *(*name)(int), int n)
{
    const char *text = "";

    for (int i = 0; i < n; i++)
        if (bits >> i & 1)
            text = weft_arena_print(a, "%s%s%s", text, *text ? " " : "", name(i));
    return text;
}

static const char *schedule_word(int i)
{
    return weft_schedule_name((weft_schedule)i);
}

static const char *recompute_word(int i)
{
    return weft_recompute_name((weft_recompute)i);
}

static const char *most(weft_arena *a, int64_t n)
{
    return n > 0 ? number(a, n) : "any";
}

static void list_asks(trained *g)
{
    const weft_train_ask *x = &g->p[0]->ask, *y = &g->p[1]->ask;
    weft_differ *d = g->d;
    weft_arena *a = d->a;

    weft_differ_setting(d, "samples of a step", number(a, x->batch), number(a, y->batch));
    weft_differ_setting(d, "microbatch asked for", most(a, x->microbatch), most(a, y->microbatch));
    weft_differ_setting(d, "schedules allowed",
                        words(a, x->schedules, schedule_word, WEFT_N_SCHEDULES),
                        words(a, y->schedules, schedule_word, WEFT_N_SCHEDULES));
    weft_differ_setting(d, "computing again allowed",
                        words(a, x->recomputes, recompute_word, WEFT_N_RECOMPUTES),
                        words(a, y->recomputes, recompute_word, WEFT_N_RECOMPUTES));
    weft_differ_setting(d, "tensor width, at most", most(a, x->most_width), most(a, y->most_width));
    weft_differ_setting(d, "replicas, at most", most(a, x->most_replicas),
                        most(a, y->most_replicas));
    weft_differ_setting(d, "stages, at most", most(a, x->most_stages), most(a, y->most_stages));
    weft_differ_setting(d, "chunks, at most", most(a, x->most_chunks), most(a, y->most_chunks));
    weft_differ_setting(d, "optimizer's state split", x->is_split_moments ? "yes" : "no",
                        y->is_split_moments ? "yes" : "no");
    weft_differ_setting(d, "transfers", weft_transfer_name(g->p[0]->transfer),
                        weft_transfer_name(g->p[1]->transfer));
}

void weft_differ_train(weft_differ *d)
{
    trained g = {.d = d};
    weft_diff *o = d->out;

    for (int s = 0; s < 2; s++) {
        g.p[s] = d->side[s].training;
        g.s[s] = d->side[s].pipeline;
        o->proof[s] = &g.s[s]->proof;
        find_stages(&g, s);
        describe_stages(&g, s);
        time_units(&g, s);
    }
    o->kind = "train";
    o->item = "unit";
    o->value_name = "step";
    list_asks(&g);
    weft_differ_values(d);
    g.units = weft_match_names(g.p[0]->units.name, g.p[0]->units.n_units, g.p[1]->units.name,
                               g.p[1]->units.n_units, d->a);
    weft_differ_only(d, &g.units);
    list_decisions(&g);
    find_moves(&g);
    list_stages(&g);
    list_figures(&g);
    list_chain(&g);
}
