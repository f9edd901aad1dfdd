/* SPDX-License-Identifier: MIT */
/* out_shard_json.c: what the report of a sharded network shows, as numbers. */
#include "fields.h"

#include <math.h>
#include <string.h>

static weft_doc *baselines_doc(const weft_shard_report *r, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < r->n_baselines; i++) {
        const weft_shard_baseline *b = &r->baseline[i];
        weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

        weft_put_text(a, d, "solver", b->solver);
        weft_put_text(a, d, "status", weft_outcome_name(b->outcome));
        weft_put_real(a, d, "value", b->value_s);
        weft_put_real(a, d, "reduction", weft_shard_reduction(r, b));
        weft_doc_add(a, list, d);
    }
    return list;
}

static weft_doc *sets_doc(const weft_shard_report *r, weft_arena *a)
{
    const weft_shards *s = &r->solution->plan;
    const weft_shards_measures *m = &r->solution->measures;
    const int *n_steps = weft_set_sizes(s, a);
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int k = 0; k < s->n_sets; k++) {
        const weft_team *t = &s->set[k];
        weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *devices = weft_doc_new(a, WEFT_DOC_LIST);

        for (int i = 0; i < t->n; i++)
            weft_doc_add(a, devices,
                         weft_doc_new_text(a, r->problem->platform->device[t->member[i]].name));
        weft_doc_put(a, d, "devices", devices);
        weft_put_text(a, d, "design", weft_team_design(r->problem, t)->name);
        weft_put_int(a, d, "steps", n_steps[k]);
        weft_put_real(a, d, "busy_s", m->busy_s[t->member[0]]);
        weft_put_real(a, d, "utilisation", weft_set_utilisation(r, k));
        weft_put_real(a, d, "peak_bytes", m->peak_bytes[t->member[0]]);
        weft_put_real(a, d, "capacity_bytes", weft_team_memory(r->problem, t));
        weft_doc_add(a, list, d);
    }
    return list;
}

/* "compute_s", "rotate_s" ... of one step, or of all. */
static void put_parts(weft_arena *a, weft_doc *d, const double *part_s)
{
    for (int i = 0; i < WEFT_N_PARTS; i++)
        weft_put_real(a, d, weft_arena_print(a, "%s_s", weft_shard_part_name((weft_shard_part)i)),
                      part_s[i]);
}

static weft_doc *operators_doc(const weft_steps *s, int v, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < s->step[v].n_nodes; i++)
        weft_doc_add(a, list, weft_doc_new_text(a, s->graph->node[s->step[v].node[i]].op));
    return list;
}

static weft_doc *steps_doc(const weft_shard_report *r, weft_arena *a)
{
    const weft_steps *steps = r->problem->steps;
    const weft_shards *s = &r->solution->plan;
    const weft_shards_measures *m = &r->solution->measures;
    const double *part_s = weft_step_parts(r, a);
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int v = 0; v < s->n_steps; v++) {
        weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);
        char text[128];

        weft_split_print(steps, v, &s->split[v], text);
        weft_put_text(a, d, "name", weft_step_name(steps, v));
        weft_doc_put(a, d, "operators", operators_doc(steps, v, a));
        weft_put_int(a, d, "set", s->set_of[v]);
        weft_put_text(a, d, "split", weft_arena_text(a, text, strlen(text)));
        weft_put_real(a, d, "start_s", m->start_s[v]);
        weft_put_real(a, d, "end_s", m->end_s[v]);
        put_parts(a, d, part_s + (size_t)v * WEFT_N_PARTS);
        weft_doc_add(a, list, d);
    }
    return list;
}

static weft_doc *times_doc(const weft_shards_measures *m, weft_arena *a)
{
    double part_s[WEFT_N_PARTS] = {
        [WEFT_PART_COMPUTE] = m->compute_s,   [WEFT_PART_ROTATE] = m->rotate_s,
        [WEFT_PART_REDUCE] = m->reduce_s,     [WEFT_PART_RESHARD] = m->reshard_s,
        [WEFT_PART_HANDOVER] = m->handover_s, [WEFT_PART_HOST] = m->host_s,
    };
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    put_parts(a, d, part_s);
    return d;
}

void weft_shard_report_put(const weft_shard_report *r, weft_doc *map, weft_arena *a)
{
    bool has = weft_shard_report_has_plan(r);

    weft_doc_put(a, map, "baselines", baselines_doc(r, a));
    weft_doc_put(a, map, "sets", has ? sets_doc(r, a) : weft_doc_new(a, WEFT_DOC_NULL));
    weft_doc_put(a, map, "steps", has ? steps_doc(r, a) : weft_doc_new(a, WEFT_DOC_NULL));
    weft_doc_put(a, map, "times",
                 has ? times_doc(&r->solution->measures, a) : weft_doc_new(a, WEFT_DOC_NULL));
}
