/* SPDX-License-Identifier: MIT */
#include "draw_training.h"

#include "check.h"

enum { N_WIDTHS = 3, N_SHARES = 6 };

static const int widths[N_WIDTHS] = {1, 2, 3};
static const int64_t shares[N_SHARES] = {1, 2, 3, 4, 5, 6};

/* --- problems -------------------------------------------------------------------------------- */

static weft_platform *draw_cluster(const draw_training_ask *ask, weft_rng *r, weft_arena *a)
{
    const char *text = weft_arena_print(a,
                                        "schema: weft.platform/1\n"
                                        "name: drawn\n"
                                        "transfer: %s\n"
                                        "switches: [fabric]\n"
                                        "groups:\n",
                                        ask->is_contend ? "contend" : "overlap");
    weft_platform *p = NULL;

    for (int k = 0; k < 2; k++)
        text = weft_arena_print(
            a,
            "%s  - name: %s\n    count: %d\n    switches: [hub]\n    devices:\n"
            "      - {name: gpu, count: %d, model: roofline, peak_flops: %de12,\n"
            "         memory_bandwidth: 100GB/s, memory: %dkB}\n"
            "    links:\n"
            "      - {star: {center: hub, to: [gpu]}, bandwidth: %dGB/s, latency: %dus}\n",
            text, k == 0 ? "fast" : "slow", 1 + weft_rng_below(r, 3), 1 + weft_rng_below(r, 4),
            9 - 4 * k, 40 + weft_rng_below(r, 40), 20 + weft_rng_below(r, 5),
            1 + weft_rng_below(r, 3));
    text = weft_arena_print(a,
                            "%slinks:\n"
                            "  - {star: {center: fabric, to: [fast.gpu, slow.gpu]}, bandwidth: "
                            "%gGB/s, latency: %dus}\n",
                            text, (1 + weft_rng_below(r, 5)) * (ask->wider > 0 ? ask->wider : 1),
                            1 + weft_rng_below(r, 9));
    for (int k = 0; k < 2 && ask->is_sharing; k++) { /* cards first: they belong to the group */
        const char *at =
            strstr(text, k == 0 ? "  - name: slow" : "links:\n  - {star: {center: fabric");
        size_t before = (size_t)(at - text);

        text = weft_arena_print(a,
                                "%.*s    shared: [{name: card, bandwidth: %dMB/s, duplex: %s, of: "
                                "[{star: {center: fabric, to: [gpu]}}]}]\n%s",
                                (int)before, text, 50 + weft_rng_below(r, 5000),
                                weft_rng_below(r, 2) ? "half" : "full", at);
    }
    if (ask->is_sharing)
        text = weft_arena_print(a,
                                "%sshared: [{name: spine, bandwidth: %dMB/s, of: [{star: {center: "
                                "fabric, to: [fast.gpu, slow.gpu]}}]}]\n",
                                text, 50 + weft_rng_below(r, 9000));
    CHECK_OK(weft_platform_parse(text, strlen(text), "drawn", &p));
    return p;
}

static double draw_s(const draw_training_ask *constraints, weft_rng *r)
{
    if (!constraints->has_no_zero && weft_rng_below(r, 12) == 0)
        return 0;
    return 1e-6 * (1 + weft_rng_real(r) * 9);
}

static double draw_bytes(weft_rng *r)
{
    return weft_rng_below(r, 8) == 0 ? 0 : 1 + weft_rng_below(r, 3000);
}

static weft_block_cost draw_cost(const draw_training_ask *constraints, weft_rng *r)
{
    weft_block_cost c = {.forward_s = draw_s(constraints, r), .backward_s = draw_s(constraints, r)};

    c.forward_collective_s = weft_rng_real(r) * c.forward_s;
    c.backward_collective_s = weft_rng_real(r) * c.backward_s;
    c.compute_s = weft_rng_real(r) * (c.forward_s + c.backward_s);
    c.memory_s = weft_rng_real(r) * (c.forward_s + c.backward_s);
    for (int k = 0; k < WEFT_N_RECOMPUTES; k++) {
        c.again_s[k] = k == WEFT_KEEP_ALL ? 0 : weft_rng_real(r) * c.forward_s;
        c.stash_bytes[k] = draw_bytes(r);
        c.work_bytes[k] = draw_bytes(r);
    }
    return c;
}

static weft_block_state draw_state(const draw_training_ask *constraints, weft_rng *r)
{
    weft_block_state s = {.weight_bytes = draw_bytes(r), .moment_bytes = draw_bytes(r)};

    s.gradient_bytes = draw_bytes(r);
    s.sync_bytes = constraints->is_alone ? 0 : s.gradient_bytes;
    s.update_s = constraints->is_alone ? 0 : draw_s(constraints, r);
    return s;
}

/* Up to three pairs; the others do not sum what they share. */
static void draw_shared(weft_blocks *u, weft_rng *r, weft_arena *a)
{
    weft_shared *list = WEFT_NEW(a, weft_shared, 3);

    u->n_shared = 1 + weft_rng_below(r, 3);
    for (int i = 0; i < u->n_shared; i++) {
        list[i].owner = weft_rng_below(r, u->n_blocks - 1);
        list[i].other = list[i].owner + 1 + weft_rng_below(r, u->n_blocks - 1 - list[i].owner);
        list[i].tensor = weft_rng_below(r, 3) - 1;
    }
    u->shared = list;
}

static bool is_other(const weft_blocks *u, int unit)
{
    for (int i = 0; i < u->n_shared; i++)
        if (u->shared[i].other == unit)
            return true;
    return false;
}

static weft_blocks draw_units(const draw_training_ask *constraints, weft_rng *r, weft_arena *a)
{
    int n = 2 + weft_rng_below(r, 9), n_edges = 0, from[64], to[64];
    weft_blocks u;
    double *leave, *back;

    for (int v = 1; v < n; v++)
        for (int k = 1 + weft_rng_below(r, 2); k > 0; k--) {
            from[n_edges] = weft_rng_below(r, v);
            to[n_edges++] = v;
        }
    if (constraints->is_dag)
        CHECK(weft_blocks_dag(n, n_edges, from, to, 5000, a, &u));
    else
        weft_blocks_chain(n, a, &u);
    leave = (double *)(uintptr_t)u.leave_bytes; /* the maker's to write */
    back = (double *)(uintptr_t)u.back_bytes;
    for (int c = 1; c + 1 < u.n_cuts && !constraints->is_alone; c++) {
        leave[c] = draw_bytes(r);
        back[c] = weft_rng_below(r, 3) ? leave[c] : draw_bytes(r);
    }
    if (constraints->has_shared)
        draw_shared(&u, r, a);
    return u;
}

static const weft_block_cost *draw_costs(const draw_training_ask *constraints, int n, weft_rng *r,
                                         weft_arena *a)
{
    weft_block_cost *list = WEFT_NEW(a, weft_block_cost, n);

    for (int u = 0; u < n; u++)
        list[u] = draw_cost(constraints, r);
    return list;
}

static const weft_block_state *draw_states(const draw_training_ask *constraints,
                                           const weft_blocks *u, weft_rng *r, weft_arena *a)
{
    weft_block_state *list = WEFT_NEW(a, weft_block_state, u->n_blocks);

    for (int i = 0; i < u->n_blocks; i++) {
        list[i] = draw_state(constraints, r);
        if (is_other(u, i))
            list[i].sync_bytes = floor(list[i].sync_bytes * weft_rng_real(r));
    }
    return list;
}

drawn_training draw_training(const draw_training_ask *constraints, weft_rng *r)
{
    weft_arena *a = weft_arena_new();
    drawn_training d = {.platform = draw_cluster(constraints, r, a), .arena = a};
    const weft_block_cost *cost[2 * N_WIDTHS * N_SHARES] = {NULL};
    const weft_block_state *state[2 * N_WIDTHS * N_SHARES];
    weft_train_problem_spec s = {.name = "drawn",
                                 .platform = d.platform,
                                 .blocks = draw_units(constraints, r, a),
                                 .n_widths = N_WIDTHS,
                                 .n_shares = N_SHARES,
                                 .width = widths,
                                 .share = shares,
                                 .cost = cost,
                                 .state = state,
                                 .sequence_cost = cost,
                                 .sequence_state = state};

    s.constraints = (weft_train_constraints){
        .batch = weft_rng_below(r, 2) ? 12 : 24,
        .schedules = (1u << WEFT_N_SCHEDULES) - 1,
        .recomputes = (1u << WEFT_N_RECOMPUTES) - 1,
        .most_chunks = 4,

        .zero = constraints->zero,
        .overlap = constraints->overlap,
        .zeros = constraints->zeros != 0 ? constraints->zeros : 1u << constraints->zero};
    for (int i = 0; i < 2 * N_WIDTHS * N_SHARES; i++)
        state[i] = draw_states(constraints, &s.blocks, r, a);
    for (int t = 0; t < 2 * N_WIDTHS * N_SHARES; t++)
        if (weft_rng_below(r, 8))
            cost[t] = draw_costs(constraints, s.blocks.n_blocks, r, a);
    if (cost[0] == NULL)
        cost[0] = draw_costs(constraints, s.blocks.n_blocks, r, a);
    CHECK_OK(weft_train_problem_make(&s, &d.training));
    return d;
}

void drop_training(drawn_training *d)
{
    weft_train_problem_free(d->training);
    weft_platform_free(d->platform);
    weft_arena_free(d->arena);
}

weft_train_problem_spec draw_spec(const drawn_training *d)
{
    const weft_train_problem *p = d->training;

    return (weft_train_problem_spec){.name = p->name,
                                     .platform = d->platform,
                                     .blocks = p->blocks,
                                     .constraints = p->constraints,
                                     .n_widths = p->n_widths,
                                     .n_shares = p->n_shares,
                                     .width = p->width,
                                     .share = p->share,
                                     .cost = p->cost,
                                     .state = p->state,
                                     .sequence_cost = p->cost,
                                     .sequence_state = p->state};
}

/* --- plans ----------------------------------------------------------------------------------- */

/* n + 1 cuts from nothing to all, each with more units than the one before. */
static bool draw_cuts(const weft_blocks *u, int n, weft_rng *r, int *cut)
{
    int path[64], length = 0, drop;

    path[length++] = 0;
    for (int c = 0; c < u->n_cuts - 1 && length < 63;) {
        int next = c + 1 + weft_rng_below(r, u->is_chain ? 1 : u->n_cuts - 1 - c);

        if (!weft_cut_within(u, c, next))
            continue;
        path[length++] = c = next;
    }
    if (path[length - 1] != u->n_cuts - 1 || length < n + 1)
        return false;
    for (; length > n + 1; length--) {
        drop = 1 + weft_rng_below(r, length - 2);
        memmove(path + drop, path + drop + 1, (size_t)(length - drop - 1) * sizeof *path);
    }
    memcpy(cut, path, (size_t)(n + 1) * sizeof *path);
    return true;
}

/* Blocks of a part that nobody uses yet; marks them used. */
static bool take_part(const weft_train_problem *p, int width, weft_device_set_part *part,
                      bool *is_used)
{
    const weft_class *c = &p->cluster->classes[part->class_id];

    if (part->first + (part->n_blocks - 1) * part->step >= weft_class_blocks(c, width))
        return false;
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < part->n_blocks; k++)
            for (int q = 0; q < width; q++) {
                int start = weft_class_block(c, width, part->first + k * part->step);
                bool *used = &is_used[c->device[start + q]];

                if (pass == 0 && *used)
                    return false;
                *used = pass == 1 || *used;
            }
    return true;
}

static bool draw_device_set(const weft_train_problem *p, int64_t microbatch, weft_rng *r,
                            bool *is_used, weft_stage *s)
{
    int w = weft_rng_below(r, p->n_widths);
    int64_t left = microbatch;

    *s = (weft_stage){.width = p->width[w], .recompute = (weft_recompute)weft_rng_below(r, 3)};
    for (int tries = 0; left > 0 && tries < 12; tries++) {
        weft_device_set_part part = {weft_rng_below(r, p->cluster->n_classes),
                                     1 + weft_rng_below(r, 3), weft_rng_below(r, 6),
                                     1 + weft_rng_below(r, 2),
                                     p->share[weft_rng_below(r, p->n_shares)]};

        if (s->n_parts == WEFT_MAX_PARTS)
            return false;
        if (part.samples * part.n_blocks > left)
            part = (weft_device_set_part){part.class_id, 1, part.first, 1, left < 6 ? left : 6};
        if (p->cost[weft_train_problem_table(p, part.class_id, w, (int)part.samples - 1)] == NULL ||
            !take_part(p, s->width, &part, is_used))
            continue;
        s->part[s->n_parts++] = part;
        left -= part.samples * part.n_blocks;
    }
    return left == 0;
}

static bool draw_once(const weft_train_problem *p, weft_schedule schedule, int n_stages,
                      weft_rng *r, weft_arena *a, weft_train_plan *out)
{
    int n_chunks = schedule == WEFT_INTERLEAVED ? 2 + weft_rng_below(r, 2) : 1;
    int64_t microbatch = 1 + weft_rng_below(r, 6);
    bool *is_used = WEFT_NEW(a, bool, p->cluster->platform->n_devices);

    if (p->constraints.batch % microbatch != 0 ||
        (schedule == WEFT_INTERLEAVED && p->constraints.batch / microbatch % n_stages != 0))
        return false;
    *out = (weft_train_plan){.schedule = schedule,
                             .microbatch = microbatch,
                             .n_stages = n_stages,
                             .n_chunks = n_chunks,
                             .cut = WEFT_NEW(a, int, n_stages *n_chunks + 1),
                             .stage = WEFT_NEW(a, weft_stage, n_stages)};
    if (!draw_cuts(&p->blocks, n_stages * n_chunks, r, out->cut))
        return false;
    for (int i = 0; i < n_stages; i++)
        if (!draw_device_set(p, microbatch, r, is_used, &out->stage[i]))
            return false;
    return true;
}

bool draw_pipeline(const weft_train_problem *p, weft_schedule schedule, weft_rng *r, weft_arena *a,
                   weft_train_plan *out)
{
    for (int n_stages = 1 + weft_rng_below(r, 5); n_stages > 0; n_stages--)
        for (int tries = 0; tries < 60; tries++)
            if (draw_once(p, schedule, n_stages, r, a, out))
                return true;
    return false;
}
