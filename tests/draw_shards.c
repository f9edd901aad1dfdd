/* SPDX-License-Identifier: MIT */
/* draw_shards.c: random plans of sharded networks. */
#include "draw_shards.h"

#include "check.h"

#define DRAW_BODY                                                                                  \
    "  - name: npu\n"                                                                              \
    "    count: 4\n"                                                                               \
    "    memory: 1GB\n"                                                                            \
    "    power: 20W\n"                                                                             \
    "    idle_power: 5W\n"                                                                         \
    "    designs:\n"                                                                               \
    "      - {name: wide, model: roofline, peak_flops: 4e11, memory_bandwidth: 30GB/s,\n"          \
    "         energy_per_flop: 2pJ}\n"                                                             \
    "      - {name: grid, model: systolic, rows: 16, cols: 16, vec: 4, dataflow: simd,\n"          \
    "         clock: 200MHz, memory_bandwidth: 20GB/s}\n"                                          \
    "  - {name: dsp, model: roofline, peak_flops: 1e11, memory_bandwidth: 10GB/s, memory: 2GB}\n"

const char draw_mixed[] =
    "schema: weft.platform/1\nname: mixed\nhost: cpu\ndevices:\n"
    "  - {name: cpu, model: roofline, peak_flops: 1e9, memory_bandwidth: 10GB/s}\n" DRAW_BODY
    "links:\n"
    "  - {all: [npu], bandwidth: 1GB/s, latency: 10us}\n"
    "  - {star: {center: cpu, to: [npu, dsp]}, bandwidth: 0.25GB/s, latency: 20us}\n";

const char draw_hostless[] =
    "schema: weft.platform/1\nname: hostless\ndevices:\n" DRAW_BODY "links:\n"
    "  - {all: [npu, dsp], bandwidth: 1GB/s, latency: 10us}\n";

const char draw_hiding[] =
    "schema: weft.platform/1\nname: hiding\nhost: cpu\noverlap: true\ndevices:\n"
    "  - {name: cpu, model: roofline, peak_flops: 1e9, memory_bandwidth: 10GB/s}\n" DRAW_BODY
    "links:\n"
    "  - {all: [npu], bandwidth: 1GB/s, latency: 10us}\n"
    "  - {star: {center: cpu, to: [npu, dsp]}, bandwidth: 0.25GB/s, latency: 20us}\n";

weft_shard_case draw_case(const char *model, const char *platform_yaml,
                          const weft_shard_constraints *constraints)
{
    weft_model_options options = {0};
    weft_shard_case c = {0};

    CHECK_OK(weft_platform_parse(platform_yaml, strlen(platform_yaml), "test.yaml", &c.platform));
    CHECK_OK(weft_model_open(model, &options, &c.model));
    CHECK_OK(weft_shard_problem_new(c.model->graph, c.platform, constraints, &c.sharding));
    c.model_hash = weft_graph_hash(c.model->graph);
    c.platform_hash = c.platform->hash;
    return c;
}

/* Accelerators in random order; each joins a set of its kind, opens one, or stays unused. */
static void draw_sets(const weft_shard_problem *p, weft_rng *r, weft_shard_plan *s)
{
    const weft_device *device = p->platform->device;
    int order[WEFT_MAX_MEMBERS];

    for (int i = 0; i < p->n_accelerators; i++) {
        int j = weft_rng_below(r, i + 1);

        order[i] = order[j];
        order[j] = p->accelerator[i];
    }
    for (int i = 0; i < p->n_accelerators; i++) {
        int k = weft_rng_below(r, s->n_sets + 2) - 1; /* -1: unused */

        if (k < 0 && i + 1 < p->n_accelerators)
            continue;
        if (k < 0 || k == s->n_sets ||
            strcmp(device[s->set[k].member[0]].kind, device[order[i]].kind) != 0)
            k = s->n_sets++;
        s->set[k].member[s->set[k].n++] = order[i];
        s->set[k].design = weft_rng_below(r, device[order[i]].n_designs);
    }
}

/* A valid split that the set can run; false if this set seems to have none. */
static bool draw_split(const weft_shard_problem *p, int v, const weft_device_set *t, weft_rng *r,
                       weft_split *out)
{
    weft_arena *a = weft_arena_new();
    const weft_split *split;
    int n = weft_step_splits(p->steps, v, t->n, !p->constraints.has_no_sharing, a, &split);
    bool is_found = false;

    for (int i = 0; i < 20 && !is_found; i++) {
        *out = split[weft_rng_below(r, n)];
        is_found =
            weft_split_cost_of(p->steps, v, out, weft_device_set_design(p, t)).phase_s < INFINITY;
    }
    weft_arena_free(a);
    return is_found;
}

/* A random order: ready steps are taken at random. */
static void draw_order(const weft_shard_problem *p, weft_rng *r, weft_shard_plan *s, weft_arena *a)
{
    const weft_steps *steps = p->steps;
    bool *is_done = WEFT_NEW(a, bool, steps->n + 1);

    for (int i = 0; i < steps->n; i++) {
        int chosen = -1, n_ready = 0;

        for (int v = 0; v < steps->n; v++) {
            bool is_ready = !is_done[v];

            for (int k = 0; k < steps->step[v].n_operands; k++)
                is_ready &=
                    steps->step[v].operand[k].step < 0 || is_done[steps->step[v].operand[k].step];
            if (is_ready && weft_rng_below(r, ++n_ready) == 0)
                chosen = v;
        }
        is_done[chosen] = true;
        s->start_s[chosen] = i;
    }
}

/* Steps in order of number go to sets in stretches of random length. */
static void draw_stretches(weft_rng *r, weft_shard_plan *s)
{
    int set = 0;

    for (int v = 0; v < s->n_steps; v++) {
        if (set + 1 < s->n_sets && weft_rng_below(r, 1 + s->n_steps / s->n_sets) == 0)
            set++;
        s->set_of[v] = set;
        s->start_s[v] = v;
    }
}

weft_shard_plan draw_shards(const weft_shard_problem *p, weft_rng *r, weft_arena *a)
{
    weft_shard_plan s = weft_shard_plan_new(p->n_accelerators, p->steps->n, a);

    s.n_sets = 0;
    draw_sets(p, r, &s);
    for (int v = 0; v < s.n_steps; v++)
        s.set_of[v] = weft_rng_below(r, s.n_sets);
    if (p->constraints.is_contiguous)
        draw_stretches(r, &s);
    else
        draw_order(p, r, &s, a);
    for (int v = 0; v < s.n_steps; v++)
        while (!draw_split(p, v, &s.set[s.set_of[v]], r, &s.split[v])) {
            if (p->constraints.is_contiguous)
                fail_msg("step '%s' finds no split", weft_step_name(p->steps, v));
            s.set_of[v] = weft_rng_below(r, s.n_sets);
        }
    return s;
}
