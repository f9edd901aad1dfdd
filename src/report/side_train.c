/* SPDX-License-Identifier: MIT */
/* side_train.c: what plans of training are compared by.
 *
 * Units are called by their first and last operator. Another model or element type may cut a network
 * into other units; then few of them are in both plans. A unit is done otherwise if its stage has
 * another number, other devices, another width or another policy. Its time is that of forward and
 * backward of a microbatch on the part of the device set that takes longest. */
#include "diff.h"
#include "train_plan.h"

#include <inttypes.h>
#include <math.h>

typedef struct trained {
    const weft_train_problem *p;
    const weft_train_plan *plan;
    const weft_train_measures *m;
    weft_arena *a;
    weft_side *out;
    const int *chunk_of; /* [n_units] */
} trained;

static const weft_side_number columns[] = {
    {"forward_s",  "forward", "s", 0},
    {"backward_s", "backwd",  "s", 0},
    {"peak_bytes", "memory",  "B", 0},
    {"busy_s",     "busy",    "s", 0},
};

static int stage_of(const trained *g, int unit)
{
    return g->chunk_of[unit] % g->plan->n_stages;
}

/* --- stages ---------------------------------------------------------------------------------- */

static const char *device_name(const trained *g, const weft_class *k, int place)
{
    return g->p->cluster->platform->device[k->device[place]].name;
}

/* "4 x2 gpu, 8 samples each, gpu-0 .. gpu-7": blocks of a width, and which. */
static const char *part_text(const trained *g, const weft_stage *s, const weft_device_set_part *t)
{
    const weft_class *k = &g->p->cluster->classes[t->class_id];
    int first = weft_class_block(k, s->width, t->first);
    int last = weft_class_block(k, s->width, t->first + (t->n_blocks - 1) * t->step) + s->width - 1;
    const char *to = first == last ? "" : weft_arena_print(g->a, " .. %s", device_name(g, k, last));

    return weft_arena_print(g->a, "%d x%d %s, %" PRId64 " sample%s each, %s%s", t->n_blocks,
                            s->width, k->kind, t->samples, t->samples == 1 ? "" : "s",
                            device_name(g, k, first), to);
}

static const char *device_set_text(const trained *g, const weft_stage *s)
{
    const char *text = "";

    for (int i = 0; i < s->n_parts; i++)
        text = weft_arena_print(g->a, "%s%s%s", text, i == 0 ? "" : " and ",
                                part_text(g, s, &s->part[i]));
    return text;
}

/* Units of a stage: "3 .. 7", or how many where others lie between. */
static const char *units_text(const trained *g, int stage)
{
    int n = 0, first = -1, last = -1;

    for (int i = 0; i < g->p->blocks.n_blocks; i++)
        if (stage_of(g, i) == stage) {
            first = n++ == 0 ? i : first;
            last = i;
        }
    if (n == 1)
        return weft_arena_print(g->a, "unit %d", first);
    return n == last - first + 1 ? weft_arena_print(g->a, "units %d .. %d", first, last)
                                 : weft_arena_print(g->a, "%d units", n);
}

static void add_stage(trained *g, int i)
{
    const weft_stage *s = &g->plan->stage[i];
    weft_chunk_figures sum = weft_stage_figures(g->plan, g->m, i);
    const char *name = weft_arena_print(g->a, "stage %d", i);

    weft_side_decision(g->out, name,
                       weft_arena_print(g->a, "%s on %s, computed again: %s", units_text(g, i),
                                        device_set_text(g, s), weft_recompute_name(s->recompute)));
    weft_side_add_place(g->out, name,
                        (double[]){sum.forward_s, sum.backward_s + sum.again_s,
                                   g->m->stage_peak_bytes[i], g->m->stage_busy_s[i]});
}

static void add_decisions(trained *g)
{
    const weft_train_plan *plan = g->plan;

    weft_side_decision(g->out, "schedule", weft_schedule_name(plan->schedule));
    weft_side_decision(g->out, "microbatch",
                       weft_arena_print(g->a, "%" PRId64 " samples", plan->microbatch));
    weft_side_decision(g->out, "stages", weft_arena_print(g->a, "%d", plan->n_stages));
    weft_side_decision(g->out, "chunks of a stage", weft_arena_print(g->a, "%d", plan->n_chunks));
    for (int i = 0; i < plan->n_stages; i++)
        add_stage(g, i);
}

/* --- units ----------------------------------------------------------------------------------- */

static void add_units(trained *g)
{
    const char **place = WEFT_NEW(g->a, const char *, g->plan->n_stages);

    for (int i = 0; i < g->plan->n_stages; i++)
        place[i] = weft_arena_print(g->a, "%d\n%s\n%s", i, device_set_text(g, &g->plan->stage[i]),
                                    weft_recompute_name(g->plan->stage[i].recompute));
    for (int u = 0; u < g->p->blocks.n_blocks; u++) {
        int stage = stage_of(g, u);

        weft_side_add_item(g->out,
                           (weft_side_item){.name = g->p->blocks.name[u],
                                            .at = weft_arena_print(g->a, "stage %d", stage),
                                            .place = place[stage],
                                            .seconds = weft_unit_s(g->p, u, &g->plan->stage[stage]),
                                            .start_s = NAN});
    }
}

/* --- the rest -------------------------------------------------------------------------------- */

static void add_chain(trained *g)
{
    static const char *const name[WEFT_N_TRAIN_PARTS] = {
        [WEFT_TRAIN_FORWARD] = "forward",
        [WEFT_TRAIN_BACKWARD] = "backward",
        [WEFT_TRAIN_SEND] = "sending",
        [WEFT_TRAIN_RETURN] = "sending gradients",
        [WEFT_TRAIN_SYNC] = "sum of gradients",
        [WEFT_TRAIN_UPDATE] = "update",
        [WEFT_TRAIN_SHARED] = "shared parameters",
    };
    weft_side_number part[WEFT_N_TRAIN_PARTS];
    int *part_of = WEFT_NEW(g->a, int, g->m->jobs->n_jobs + 1);

    for (int k = 0; k < WEFT_N_TRAIN_PARTS; k++)
        part[k] = (weft_side_number){weft_train_part_name((weft_train_part)k), name[k], "s", 0};
    for (int i = 0; i < g->m->jobs->n_jobs; i++)
        part_of[i] = (int)g->m->part[i];
    weft_side_chain(g->out, g->m->jobs, g->m->timeline, part, WEFT_N_TRAIN_PARTS, part_of);
}

/* The words of the bits that are set. */
static void add_words(trained *g, const char *key, unsigned bits, const char *(*name)(int), int n)
{
    const char *text = "";

    for (int i = 0; i < n; i++)
        if (bits >> i & 1)
            text = weft_arena_print(g->a, "%s%s%s", text, *text ? " " : "", name(i));
    weft_side_setting(g->out, key, text);
}

static const char *schedule_word(int i)
{
    return weft_schedule_name((weft_schedule)i);
}

static const char *recompute_word(int i)
{
    return weft_recompute_name((weft_recompute)i);
}

static const char *zero_word(int i)
{
    static const char *const words[] = {"0", "1", "2", "3"};

    return words[i];
}

static void add_settings(trained *g)
{
    const weft_train_constraints *x = &g->p->constraints;
    weft_side *out = g->out;

    weft_side_count(out, "samples of a step", x->batch, "none");
    weft_side_count(out, "microbatch asked for", x->microbatch, "any");
    add_words(g, "schedules allowed", x->schedules, schedule_word, WEFT_N_SCHEDULES);
    add_words(g, "computing again allowed", x->recomputes, recompute_word, WEFT_N_RECOMPUTES);
    weft_side_count(out, "tensor width, at most", x->most_width, "any");
    weft_side_count(out, "replicas, at most", x->most_replicas, "any");
    weft_side_count(out, "stages, at most", x->most_stages, "any");
    weft_side_count(out, "chunks, at most", x->most_chunks, "any");
    if ((x->zeros & (x->zeros - 1)) != 0)
        add_words(g, "ZeRO levels allowed", x->zeros, zero_word, WEFT_MOST_ZERO + 1);
    if (x->overlap != 0)
        weft_side_yes(out, "sums of gradients overlap", true);
    if (x->sps > 1)
        weft_side_yes(out, "sequence parallel", weft_train_variant(g->p, g->plan)->is_sequence);
    x = &weft_train_variant(g->p, g->plan)->constraints;
    weft_side_yes(out, "optimizer's state split", x->zero >= WEFT_ZERO_MOMENTS);
    if (x->zero >= WEFT_ZERO_GRADIENTS)
        weft_side_yes(out, "gradients split", true);
    if (x->zero >= WEFT_ZERO_WEIGHTS)
        weft_side_yes(out, "weights split", true);
    weft_side_setting(out, "transfers", weft_transfer_name(g->p->transfer));
}

void weft_train_side(const weft_train_problem *p, const weft_train_solution *s, weft_side *out)
{
    const weft_train_measures *m = &s->measures;
    trained g = {p, &s->plan, m, out->a, out, weft_unit_chunks(p, &s->plan, out->a)};
    const weft_side_number list[] = {
        {"step",        "step",                "s",     m->step_s                        },
        {"rate",        "samples per second",  "1/s",   m->samples_per_s                 },
        {"bubble",      "stages without work", "%",     m->bubble                        },
        {"utilisation", "of the usable peak",  "%",     m->flops_utilisation             },
        {"devices",     "devices in use",      "count", weft_train_plan_devices(&s->plan)},
        {"sent",        "sent",                "B",     m->sent_bytes                    },
        {"units",       "units",               "count", p->blocks.n_blocks               },
    };

    out->kind = "train";
    out->none = "no plan of the space"; /* which is what searches know */
    out->item_name = "unit";
    out->proof = &s->proof;
    out->value_name = "step";
    out->unit = "s";
    out->places = "stages";
    out->n_columns = sizeof columns / sizeof *columns;
    out->column = columns;
    weft_side_origin(out);
    add_settings(&g);
    weft_side_figures(out, list, sizeof list / sizeof *list);
    add_decisions(&g);
    add_units(&g);
    add_chain(&g);
}
