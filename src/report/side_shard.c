/* SPDX-License-Identifier: MIT */
/* side_shard.c: what sharded networks are compared by.
 *
 * A set is known by its members and its design; numbers of sets do not matter. The time of a step is
 * the sum of all its jobs: computing, rotation, sums, and the ways of its operands. One after the
 * other these add up to the latency. */
#include "diff.h"

#include <math.h>
#include <string.h>

enum { MOST_NAMES = 8 };

static const weft_side_number columns[] = {
    {"peak_bytes", "memory", "B", 0},
    {"busy_s",     "busy",   "s", 0},
};

/* "4 devices as d: gpu0 gpu1 ...; 12 steps"; NULL: what nobody uses is no decision. */
static const char *set_text(const weft_shard_problem *p, const weft_device_set *t, int n_steps,
                            weft_arena *a)
{
    const char *design = weft_device_set_design(p, t)->name, *names = "";

    for (int i = 0; i < t->n && i < MOST_NAMES; i++)
        names = weft_arena_print(a, "%s%s%s", names, i == 0 ? "" : " ",
                                 p->platform->device[t->member[i]].name);
    if (t->n > MOST_NAMES)
        names = weft_arena_print(a, "%s and %d more", names, t->n - MOST_NAMES);
    return n_steps == 0
               ? NULL
               : weft_arena_print(a, "%d device%s%s%s: %s; %d step%s", t->n, t->n == 1 ? "" : "s",
                                  design ? " as " : "", design ? design : "", names, n_steps,
                                  n_steps == 1 ? "" : "s");
}

/* Members and design: equal texts, equal sets. */
static const char *set_key(const weft_shard_problem *p, const weft_device_set *t, weft_arena *a)
{
    const char *design = weft_device_set_design(p, t)->name, *key = design ? design : "";

    for (int i = 0; i < t->n; i++)
        key = weft_arena_print(a, "%s\n%s", key, p->platform->device[t->member[i]].name);
    return key;
}

static void add_sets(const weft_shard_problem *p, const weft_shard_plan *s, weft_side *out)
{
    const int *n_steps = weft_set_sizes(s, out->a);

    for (int k = 0; k < s->n_sets; k++)
        WEFT_PUSH(
            out->a, out->decisions,
            ((weft_side_text){set_key(p, &s->set[k], out->a), weft_arena_print(out->a, "set %d", k),
                              set_text(p, &s->set[k], n_steps[k], out->a)}));
}

static void add_steps(const weft_shard_problem *p, const weft_shard_solution *s, weft_side *out)
{
    const weft_shard_plan_measures *m = &s->measures;
    double *step_s = WEFT_NEW(out->a, double, p->steps->n + 1);

    for (int i = 0; i < m->jobs->n_jobs; i++)
        step_s[m->jobs->task[i]] += m->jobs->duration_s[i];
    for (int v = 0; v < p->steps->n; v++) {
        int set = s->plan.set_of[v];
        char *split = WEFT_NEW(out->a, char, 128);

        weft_split_print(p->steps, v, &s->plan.split[v], split);
        weft_side_add_item(out, (weft_side_item){.name = weft_step_name(p->steps, v),
                                                 .at = weft_arena_print(out->a, "set %d%s%s", set,
                                                                        *split ? " " : "", split),
                                                 .place = out->decisions.at[set].key,
                                                 .way = split,
                                                 .seconds = step_s[v],
                                                 .start_s = m->start_s[v]});
    }
}

static void add_chain(const weft_shard_plan_measures *m, weft_side *out)
{
    static const char *const name[WEFT_N_PARTS] = {
        [WEFT_PART_COMPUTE] = "computing", [WEFT_PART_ROTATE] = "rotation",
        [WEFT_PART_REDUCE] = "sums",       [WEFT_PART_RESHARD] = "reshard",
        [WEFT_PART_HANDOVER] = "handover", [WEFT_PART_HOST] = "host",
    };
    weft_side_number part[WEFT_N_PARTS];
    int *part_of = WEFT_NEW(out->a, int, m->jobs->n_jobs + 1);

    for (int k = 0; k < WEFT_N_PARTS; k++)
        part[k] = (weft_side_number){weft_shard_part_name((weft_shard_part)k), name[k], "s", 0};
    for (int i = 0; i < m->jobs->n_jobs; i++)
        part_of[i] = (int)m->part[i];
    weft_side_chain(out, m->jobs, m->timeline, part, WEFT_N_PARTS, part_of);
}

static void add_settings(const weft_shard_constraints *x, weft_side *out)
{
    weft_side_setting(out, "steps run", x->is_concurrent ? "side by side" : "one at a time");
    weft_side_yes(out, "contiguous sets", x->is_contiguous);
    weft_side_setting(out, "shards rotate", x->has_no_sharing ? "no" : "allowed");
}

void weft_shard_side(const weft_shard_problem *p, const weft_shard_solution *s, weft_side *out)
{
    const weft_shard_plan_measures *m = &s->measures;
    const weft_side_number list[] = {
        {"latency", "latency", "s",     m->latency_s },
        {"energy",  "energy",  "J",     m->energy_j  },
        {"sent",    "sent",    "B",     m->sent_bytes},
        {"steps",   "steps",   "count", p->steps->n  },
    };

    out->kind = "shard";
    out->none = "no plan";
    out->item_name = "step";
    out->proof = &s->proof;
    out->value_name = "latency";
    out->unit = "s";
    out->span_s = s->proof.value;
    out->places = "devices";
    out->n_columns = sizeof columns / sizeof *columns;
    out->column = columns;
    weft_side_origin(out);
    add_settings(&p->constraints, out);
    weft_side_figures(out, list, sizeof list / sizeof *list);
    add_sets(p, &s->plan, out);
    add_steps(p, s, out);
    add_chain(m, out);
    for (int i = 0; i < p->n_accelerators; i++) {
        int d = p->accelerator[i];

        weft_side_add_place(out, p->platform->device[d].name,
                            (double[]){m->peak_bytes[d], m->busy_s[d]});
    }
}
