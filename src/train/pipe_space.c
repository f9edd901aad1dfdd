/* SPDX-License-Identifier: MIT */
/* pipe_space.c: the space of plans.
 *
 * A plan of the space has
 *  - a microbatch of B samples that divides the batch (the one that is asked for, if one is);
 *  - one width for each class of devices; of more than WEFT_MAX_PARTS classes the first ones are
 *    used;
 *  - a schedule, and s stages, each between two cuts;
 *  - blocks for every stage, in one of two ways:
 *      uniform  every stage has d blocks of one class with B / d samples each, the same d for all;
 *               classes may differ from stage to stage, in any order. Of a class with S stages the
 *               p-th from the end has the blocks p d .. p d + d - 1 ("wide": replicas are
 *               neighbours) or p, p + S, .. p + (d - 1) S ("near": stages are neighbours);
 *      teams    only if the product over classes of (blocks + 1) is at most MOST_TEAMS: a stage has
 *               any number of blocks of any classes of one width, with one share for each class;
 *               the shares add up to B. Stages, from the last to the first, take the next blocks
 *               of each class. Of the ways to share, a stage has the one with the least forward
 *               plus backward seconds; of equal ones that which needs less of a device's memory;
 *  - for every stage the quickest recomputation that is allowed and fits (weft_pipe_stage_of);
 *  - interleaved only: see pipe_chunks.c.
 * Limits on width, replicas (blocks of a stage) and stages are kept; microbatches times stages are
 * at most what can be simulated (weft_pipeline_most_chunks).
 *
 * A family is what shares B, the widths, and d (or teams). Suffixes of its pipelines are nodes of a
 * graph: what they use of each class, and how many stages they have. A move puts a stage in front.
 */
#include <assert.h>
#include <string.h>

#include "pipeline_draft.h"
#include "space.h"

enum { MOST_TEAMS = 100, MOST_FAMILIES = 100000 };

typedef WEFT_VEC(weft_pipe_family) family_list;

typedef struct maker {
    weft_pipe_costs *c;
    const weft_training *p;
    weft_arena *a;
    family_list list;
    int n_choices[WEFT_MAX_PARTS]; /* widths of each class */
    int *choice[WEFT_MAX_PARTS];   /* places in the list of widths */
} maker;

/* --- widths ---------------------------------------------------------------------------------- */

static bool is_width_possible(const maker *k, int class_id, int w)
{
    const weft_training *p = k->p;
    bool is_there = false;

    if (p->ask.most_width > 0 && p->width[w] > p->ask.most_width)
        return false;
    if (weft_class_blocks(&p->cluster->classes[class_id], p->width[w]) < 1 ||
        !k->c->store[class_id * p->n_widths + w].is_there)
        return false;
    for (int x = 0; x < p->n_shares; x++)
        is_there |= k->c->row[weft_training_table(p, class_id, w, x)].is_there;
    return is_there;
}

static void list_widths(maker *k)
{
    for (int i = 0; i < k->c->n_classes; i++) {
        k->choice[i] = WEFT_NEW(k->a, int, k->p->n_widths);
        for (int w = 0; w < k->p->n_widths; w++)
            if (is_width_possible(k, i, w))
                k->choice[i][k->n_choices[i]++] = w;
    }
}

/* The next vector of widths; false: that was the last. */
static bool next_widths(const maker *k, int *at)
{
    for (int i = 0; i < k->c->n_classes; i++) {
        if (at[i] + 1 < k->n_choices[i]) {
            at[i]++;
            return true;
        }
        at[i] = 0;
    }
    return false;
}

static weft_pipe_family family_with(const maker *k, const int *at)
{
    weft_pipe_family f = {0};

    for (int i = 0; i < WEFT_MAX_PARTS; i++) {
        f.width[i] = -1;
        if (i < k->c->n_classes && k->n_choices[i] > 0) {
            f.width[i] = k->choice[i][at[i]];
            f.n_blocks[i] = weft_class_blocks(&k->p->cluster->classes[i], k->p->width[f.width[i]]);
        }
    }
    return f;
}

/* --- crews ----------------------------------------------------------------------------------- */

static void limit_stages(const maker *k, weft_pipe_family *f, int unit)
{
    int64_t n = 0;

    for (int i = 0; i < k->c->n_classes; i++)
        n += f->width[i] < 0 ? 0 : f->n_blocks[i] / unit;
    if (n > k->p->units.n_units)
        n = k->p->units.n_units;
    if (k->p->ask.most_stages > 0 && n > k->p->ask.most_stages)
        n = k->p->ask.most_stages;
    if (n > weft_pipeline_most_chunks(k->p, f->microbatch))
        n = weft_pipeline_most_chunks(k->p, f->microbatch);
    f->most_stages = (int)n;
}

static void add_family(maker *k, weft_pipe_family *f, const weft_pipe_crew *crew, int n_crews)
{
    if (n_crews == 0 || f->most_stages == 0)
        return;
    f->n_crews = n_crews;
    f->crew = weft_arena_copy(k->a, crew, (size_t)n_crews * sizeof *crew);
    f->n_microbatches = k->p->ask.batch / f->microbatch;
    WEFT_PUSH(k->a, k->list, *f);
}

static bool is_microbatch(const maker *k, int64_t samples)
{
    const weft_train_ask *ask = &k->p->ask;

    return ask->batch % samples == 0 && (ask->microbatch == 0 || ask->microbatch == samples);
}

/* Uniform: d replicas with share x each. Classes that have too few blocks, or no table, take no
 * part; then only their first width counts, so that no plan occurs twice. */
static void add_uniform(maker *k, const int *at, int d, int x)
{
    weft_pipe_family f = family_with(k, at);
    weft_pipe_crew crew[WEFT_MAX_PARTS];
    int n_crews = 0;

    for (int i = 0; i < k->c->n_classes; i++) {
        bool is_part = f.width[i] >= 0 && f.n_blocks[i] >= d &&
                       k->c->row[weft_training_table(k->p, i, f.width[i], x)].is_there;

        if (!is_part && at[i] > 0)
            return;
        if (!is_part) {
            f.width[i] = -1;
            f.n_blocks[i] = 0;
            continue;
        }
        crew[n_crews++] = (weft_pipe_crew){.width = f.width[i],
                                           .n_parts = 1,
                                           .n_blocks = d,
                                           .class_id = {i},
                                           .count = {d},
                                           .n_mixes = 1,
                                           .mix = weft_arena_copy(k->a, &x, sizeof x)};
    }
    f.replicas = d;
    f.microbatch = d * k->p->share[x];
    limit_stages(k, &f, d);
    add_family(k, &f, crew, n_crews);
}

static void add_uniforms(maker *k, const int *at)
{
    int most = 0;

    for (int i = 0; i < k->c->n_classes; i++) {
        int n = family_with(k, at).n_blocks[i];

        most = n > most ? n : most;
    }
    if (k->p->ask.most_replicas > 0 && most > k->p->ask.most_replicas)
        most = k->p->ask.most_replicas;
    for (int x = 0; x < k->p->n_shares; x++)
        for (int d = 1; d <= most && d * k->p->share[x] <= k->p->ask.batch; d++)
            if (is_microbatch(k, d * k->p->share[x]))
                add_uniform(k, at, d, x);
}

/* --- teams ----------------------------------------------------------------------------------- */

typedef WEFT_VEC(int) int_list;
typedef WEFT_VEC(weft_pipe_crew) crew_list;

/* All shares of parts i .. with `left` samples to give away. */
static void add_mixes(const maker *k, const weft_pipe_crew *crew, int i, int64_t left, int *share,
                      int_list *out)
{
    if (i == crew->n_parts) {
        for (int q = 0; q < crew->n_parts && left == 0; q++)
            WEFT_PUSH(k->a, *out, share[q]);
        return;
    }
    for (int x = 0; x < k->p->n_shares && k->p->share[x] * crew->count[i] <= left; x++) {
        int table = weft_training_table(k->p, crew->class_id[i], crew->width, x);

        if (!k->c->row[table].is_there)
            continue;
        share[i] = x;
        add_mixes(k, crew, i + 1, left - k->p->share[x] * crew->count[i], share, out);
    }
}

/* The crew with these blocks, if there is one. */
static void add_crew(const maker *k, const weft_pipe_family *f, const int *count, crew_list *out)
{
    weft_pipe_crew crew = {.width = -1};
    int share[WEFT_MAX_PARTS];
    int_list mixes = {0};

    for (int i = 0; i < k->c->n_classes; i++) {
        if (count[i] == 0)
            continue;
        if (crew.width >= 0 && crew.width != f->width[i])
            return;
        crew.width = f->width[i];
        crew.class_id[crew.n_parts] = i;
        crew.count[crew.n_parts++] = count[i];
        crew.n_blocks += count[i];
    }
    if (crew.n_parts == 0 ||
        (k->p->ask.most_replicas > 0 && crew.n_blocks > k->p->ask.most_replicas))
        return;
    add_mixes(k, &crew, 0, f->microbatch, share, &mixes);
    crew.n_mixes = mixes.n / crew.n_parts;
    crew.mix = mixes.at;
    if (crew.n_mixes > 0)
        WEFT_PUSH(k->a, *out, crew);
}

static void add_teams(maker *k, const int *at, int64_t microbatch)
{
    weft_pipe_family f = family_with(k, at);
    int count[WEFT_MAX_PARTS] = {0}, i = 0;
    crew_list crews = {0};

    f.microbatch = microbatch;
    while (i < k->c->n_classes) { /* all vectors of blocks */
        for (i = 0; i < k->c->n_classes && count[i] == f.n_blocks[i]; i++)
            count[i] = 0;
        if (i < k->c->n_classes) {
            count[i]++;
            add_crew(k, &f, count, &crews);
        }
    }
    limit_stages(k, &f, 1);
    add_family(k, &f, crews.at, crews.n);
}

static void add_team_families(maker *k, const int *at)
{
    weft_pipe_family f = family_with(k, at);
    int64_t product = 1, most = 0;

    assert(k->c->n_classes <= WEFT_MAX_PARTS);
    for (int i = 0; i < k->c->n_classes; i++) {
        if (product <= MOST_TEAMS)
            product *= f.n_blocks[i] + 1;
        most += f.n_blocks[i] * k->p->share[k->p->n_shares - 1];
    }
    for (int64_t b = 1; product <= MOST_TEAMS && b <= most && b <= k->p->ask.batch; b++)
        if (is_microbatch(k, b))
            add_teams(k, at, b);
}

weft_pipe_families weft_pipe_families_of(weft_pipe_costs *c, weft_arena *a)
{
    maker k = {.c = c, .p = c->p, .a = a};
    int at[WEFT_MAX_PARTS] = {0};
    bool is_more = true;

    list_widths(&k);
    for (; is_more && k.list.n < MOST_FAMILIES; is_more = next_widths(&k, at)) {
        add_uniforms(&k, at);
        add_team_families(&k, at);
    }
    return (weft_pipe_families){k.list.n, k.list.at, !is_more};
}

/* --- nodes ----------------------------------------------------------------------------------- */

typedef struct step {
    int crew, from, to; /* nodes */
} step;

typedef struct node_maker {
    const weft_pipe_family *f;
    int unit;                  /* blocks are used by so many at a time */
    int radix[WEFT_MAX_PARTS]; /* of the key of what is used */
    int n_keys, *node_of;      /* [n_keys] of this number of stages; -1: none */
    WEFT_VEC(int) used, stages;
    WEFT_VEC(step) steps;
    weft_arena *a;
} node_maker;

static int key_of(const node_maker *k, const int *used)
{
    int key = 0;

    for (int i = 0; i < WEFT_MAX_PARTS; i++)
        key = key * k->radix[i] + used[i] / k->unit;
    return key;
}

/* Puts crew c in front of a node; false: there are no such blocks. */
static bool grow(node_maker *k, int from, int c)
{
    const weft_pipe_crew *crew = &k->f->crew[c];
    int used[WEFT_MAX_PARTS], key;

    memcpy(used, k->used.at + (size_t)from * WEFT_MAX_PARTS, sizeof used);
    for (int i = 0; i < crew->n_parts; i++) {
        used[crew->class_id[i]] += crew->count[i];
        if (used[crew->class_id[i]] > k->f->n_blocks[crew->class_id[i]])
            return false;
    }
    key = key_of(k, used);
    if (k->node_of[key] < 0) {
        k->node_of[key] = k->stages.n;
        for (int i = 0; i < WEFT_MAX_PARTS; i++)
            WEFT_PUSH(k->a, k->used, used[i]);
        WEFT_PUSH(k->a, k->stages, k->stages.at[from] + 1);
    }
    WEFT_PUSH(k->a, k->steps, ((step){c, from, k->node_of[key]}));
    return true;
}

/* Steps sorted by the node they lead to are the moves of that node. */
static weft_pipe_nodes *finish_nodes(const node_maker *k)
{
    weft_pipe_nodes *n = WEFT_NEW(k->a, weft_pipe_nodes, 1);
    int *next;

    n->n_nodes = k->stages.n;
    n->n_stages = k->stages.at;
    n->used = k->used.at;
    n->move_at = WEFT_NEW(k->a, int, n->n_nodes + 1);
    n->move = WEFT_NEW(k->a, weft_pipe_move, k->steps.n + 1);
    next = WEFT_NEW(k->a, int, n->n_nodes + 1);
    for (int i = 0; i < k->steps.n; i++)
        n->move_at[k->steps.at[i].to + 1]++;
    for (int i = 0; i < n->n_nodes; i++)
        next[i + 1] = n->move_at[i + 1] += n->move_at[i];
    for (int i = 0; i < k->steps.n; i++) {
        const step *s = &k->steps.at[i];

        n->move[next[s->to]++] = (weft_pipe_move){s->crew, s->from};
    }
    return n;
}

weft_pipe_nodes *weft_pipe_nodes_of(const weft_pipe_family *f, int most, weft_arena *a)
{
    node_maker k = {.f = f, .unit = f->replicas > 0 ? f->replicas : 1, .a = a};
    int64_t n_keys = 1;
    int first = 0, end = 1;

    for (int i = 0; i < WEFT_MAX_PARTS; i++) {
        k.radix[i] = f->n_blocks[i] / k.unit + 1;
        n_keys *= k.radix[i];
        if (n_keys > most)
            return NULL;
    }
    k.node_of = WEFT_NEW(a, int, n_keys);
    for (int i = 0; i < WEFT_MAX_PARTS; i++)
        WEFT_PUSH(a, k.used, 0);
    WEFT_PUSH(a, k.stages, 0);
    for (int s = 0; s < f->most_stages && first < end; s++) {
        memset(k.node_of, 0xff, sizeof *k.node_of * (size_t)n_keys);
        for (int from = first; from < end; from++)
            for (int c = 0; c < f->n_crews; c++)
                (void)grow(&k, from, c);
        first = end;
        end = k.stages.n;
        if (end > most || k.steps.n > 16 * most)
            return NULL;
    }
    return finish_nodes(&k);
}

weft_pipe_nodes *weft_pipe_flat_nodes_of(const weft_pipe_family *f, int most, weft_arena *a)
{
    node_maker k = {.f = f, .unit = f->replicas > 0 ? f->replicas : 1, .a = a};
    int used[WEFT_MAX_PARTS] = {0};
    int64_t n_keys = 1;

    for (int i = 0; i < WEFT_MAX_PARTS; i++) {
        k.radix[i] = f->n_blocks[i] / k.unit + 1;
        n_keys *= k.radix[i];
        if (n_keys > most)
            return NULL;
    }
    k.node_of = WEFT_NEW(a, int, n_keys);
    for (int key = 0; key < n_keys; key++) { /* what is within a node has a lower key */
        int left = key;

        k.node_of[key] = key;
        for (int i = WEFT_MAX_PARTS - 1; i >= 0; i--) {
            used[i] = left % k.radix[i] * k.unit;
            left /= k.radix[i];
        }
        for (int i = 0; i < WEFT_MAX_PARTS; i++)
            WEFT_PUSH(a, k.used, used[i]);
        WEFT_PUSH(a, k.stages, key > 0);
    }
    for (int key = 0; key < n_keys; key++)
        for (int c = 0; c < f->n_crews; c++)
            (void)grow(&k, key, c);
    return finish_nodes(&k);
}

/* --- stages ---------------------------------------------------------------------------------- */

weft_stage weft_pipe_stage_at(const weft_training *p, const weft_pipe_family *f,
                              const weft_pipe_nodes *nodes, weft_pipe_layout layout, int root,
                              int move, int mix)
{
    const weft_pipe_crew *crew = &f->crew[nodes->move[move].crew];
    const int *used = nodes->used + (size_t)nodes->move[move].next * WEFT_MAX_PARTS;
    const int *all = layout == WEFT_PIPE_NEAR ? nodes->used + (size_t)root * WEFT_MAX_PARTS : NULL;
    weft_stage s = {.width = p->width[crew->width], .n_parts = crew->n_parts};

    for (int i = 0; i < crew->n_parts; i++) {
        int k = crew->class_id[i];
        weft_team_part *part = &s.part[i];

        *part = (weft_team_part){.class_id = k,
                                 .n_blocks = crew->count[i],
                                 .first = used[k],
                                 .step = 1,
                                 .samples = p->share[crew->mix[mix * crew->n_parts + i]]};
        if (layout == WEFT_PIPE_NEAR) {
            part->first = used[k] / f->replicas;
            part->step = all[k] / f->replicas;
        }
    }
    return s;
}
