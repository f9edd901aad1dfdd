/* SPDX-License-Identifier: MIT */
/* pipe_space.c: the space of plans.
 *
 * A plan of the space has
 *  - a microbatch of B samples that divides the batch (the one that is asked for, if one is);
 *  - one width for each class of devices; of more than WEFT_MAX_PARTS classes the first ones are
 *    used;
 *  - a schedule, and s stages, each between two cuts, with any recomputation that is allowed;
 *  - blocks for every stage, in one of three ways:
 *      uniform  every stage has d blocks of one class with B / d samples each, the same d for all;
 *               classes may differ from stage to stage, in any order. Of a class with S stages the
 *               p-th has the blocks p d .. p d + d - 1 ("wide": replicas are neighbours) or p, p +
 *               S, .. p + (d - 1) S ("near": stages are neighbours), p counted from the last stage
 *               to the first, or ("front") from the first to the last;
 *      device sets    only if the product over classes of (blocks + 1) is at most MOST_DEVICE_SETS: a stage has
 *               any number of blocks of any classes of one width, with one share for each class;
 *               the shares add up to B. Stages, from the last to the first or from the first to
 *               the last, take the next blocks of each class;
 *      rows     d blocks of one width with B / d samples each for every stage: the blocks of two
 *               or more classes, class by class, are a row, and stages, from the last to the
 *               first, take the next d, whatever their class. Up to MOST_ORDERED classes in any
 *               order; of more, the 2, 3, .. fastest by falling or rising speed;
 *  - interleaved only: uniform stages, chunks as in pipe_chunks.c; with more than MOST_MIXED stages
 *    those of one class follow each other.
 * Parts of a stage stand in the order of classes. Limits on width, replicas (blocks of a stage) and
 * stages are kept, and exact numbers of these, of chunks and of samples of a block; microbatches times stages are at most what can be simulated
 * (weft_train_plan_most_chunks). pipe_member.c tells whether a plan is one of these.
 *
 * A family is what shares B, the widths, and d (or device sets). Suffixes of its pipelines are nodes of a
 * graph: what they use of each class, and how many stages they have. A move puts a stage in front.
 */
#include <assert.h>
#include <string.h>

#include "cost.h"
#include "rows.h"
#include "space.h"
#include "train_lowered.h"

enum { MOST_DEVICE_SETS = 100, MOST_FAMILIES = 100000, MOST_ORDERED = 4, MOST_MIXED = 6 };

typedef WEFT_VEC(weft_pipe_family) family_list;

typedef struct maker {
    weft_pipe_costs *c;
    const weft_train_problem *p;
    weft_arena *a;
    family_list list;
    int n_choices[WEFT_MAX_PARTS]; /* widths of each class */
    int *choice[WEFT_MAX_PARTS];   /* places in the list of widths */
} maker;

/* --- widths ---------------------------------------------------------------------------------- */

static bool is_width_possible(const weft_pipe_costs *c, int class_id, int w)
{
    const weft_train_problem *p = c->p;
    bool is_there = false;

    if (p->constraints.most_width > 0 && p->width[w] > p->constraints.most_width)
        return false;
    if (weft_class_blocks(&p->cluster->classes[class_id], p->width[w]) < 1)
        return false;
    for (int x = 0; x < p->n_shares; x++)
        is_there |= c->row[weft_train_problem_table(p, class_id, w, x)].is_there;
    return is_there;
}

static void list_widths(maker *k)
{
    for (int i = 0; i < k->c->n_classes; i++) {
        k->choice[i] = WEFT_NEW(k->a, int, k->p->n_widths);
        for (int w = 0; w < k->p->n_widths; w++)
            if (is_width_possible(k->c, i, w))
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

/* --- device groups --------------------------------------------------------------------------- */

/* The largest number of stages that is allowed, of at most n; 0: none is. */
static int most_length(const weft_counts *pp, int n)
{
    while (n > 0 && !weft_counts_allow(pp, n))
        n--;
    return n;
}

/* Of d blocks each, out of so many. */
static void limit_stages(const maker *k, weft_pipe_family *f, int64_t n_blocks, int d)
{
    int64_t n = n_blocks / d;

    if (n > k->p->blocks.n_blocks)
        n = k->p->blocks.n_blocks;
    if (k->p->constraints.most_stages > 0 && n > k->p->constraints.most_stages)
        n = k->p->constraints.most_stages;
    if (n > weft_train_plan_most_chunks(k->p, f->microbatch))
        n = weft_train_plan_most_chunks(k->p, f->microbatch);
    f->most_stages = most_length(&k->p->constraints.pp, (int)n);
}

static void add_family(maker *k, weft_pipe_family *f, const weft_pipe_group *group, int n_groups)
{
    if (n_groups == 0 || f->most_stages == 0)
        return;
    f->n_groups = n_groups;
    f->group = weft_arena_copy(k->a, group, (size_t)n_groups * sizeof *group);
    f->n_microbatches = k->p->constraints.batch / f->microbatch;
    WEFT_PUSH(k->a, k->list, *f);
}

static bool are_replicas(const maker *k, int d)
{
    const weft_train_constraints *constraints = &k->p->constraints;

    return (constraints->most_replicas == 0 || d <= constraints->most_replicas) &&
           weft_counts_allow(&constraints->dp, d);
}

static bool is_microbatch(const maker *k, int64_t samples)
{
    const weft_train_constraints *constraints = &k->p->constraints;

    return constraints->batch % samples == 0 &&
           (constraints->microbatch == 0 || constraints->microbatch == samples);
}

/* Uniform: d replicas with share x each. Classes that have too few blocks, or no table, take no
 * part; then only their first width counts, so that no plan occurs twice. */
static void add_uniform(maker *k, const int *at, int d, int x)
{
    weft_pipe_family f = family_with(k, at);
    weft_pipe_group group[WEFT_MAX_PARTS];
    int n_groups = 0;
    int64_t n_blocks = 0;

    for (int i = 0; i < k->c->n_classes; i++) {
        bool is_part = f.width[i] >= 0 && f.n_blocks[i] >= d &&
                       k->c->row[weft_train_problem_table(k->p, i, f.width[i], x)].is_there;

        if (!is_part && at[i] > 0)
            return;
        if (!is_part) {
            f.width[i] = -1;
            f.n_blocks[i] = 0;
            continue;
        }
        n_blocks += f.n_blocks[i] / d * d;
        group[n_groups++] = (weft_pipe_group){.width = f.width[i],
                                              .n_parts = 1,
                                              .n_blocks = d,
                                              .class_id = {i},
                                              .count = {d},
                                              .n_mixes = 1,
                                              .mix = weft_arena_copy(k->a, &x, sizeof x)};
    }
    f.replicas = d;
    f.microbatch = d * k->p->share[x];
    limit_stages(k, &f, n_blocks, d);
    add_family(k, &f, group, n_groups);
}

static void add_uniforms(maker *k, const int *at)
{
    int most = 0;

    for (int i = 0; i < k->c->n_classes; i++) {
        int n = family_with(k, at).n_blocks[i];

        most = n > most ? n : most;
    }
    if (k->p->constraints.most_replicas > 0 && most > k->p->constraints.most_replicas)
        most = k->p->constraints.most_replicas;
    for (int x = 0; x < k->p->n_shares; x++)
        for (int d = 1; d <= most && d * k->p->share[x] <= k->p->constraints.batch; d++)
            if (are_replicas(k, d) && is_microbatch(k, d * k->p->share[x]))
                add_uniform(k, at, d, x);
}

/* --- device sets ----------------------------------------------------------------------------- */

typedef WEFT_VEC(int) int_list;
typedef WEFT_VEC(weft_pipe_group) device_group_list;

/* All shares of parts i .. with `left` samples to give away. */
static void add_mixes(const maker *k, const weft_pipe_group *group, int i, int64_t left, int *share,
                      int_list *out)
{
    if (i == group->n_parts) {
        for (int q = 0; q < group->n_parts && left == 0; q++)
            WEFT_PUSH(k->a, *out, share[q]);
        return;
    }
    for (int x = 0; x < k->p->n_shares && k->p->share[x] * group->count[i] <= left; x++) {
        int table = weft_train_problem_table(k->p, group->class_id[i], group->width, x);

        if (!k->c->row[table].is_there)
            continue;
        share[i] = x;
        add_mixes(k, group, i + 1, left - k->p->share[x] * group->count[i], share, out);
    }
}

/* The device group with these blocks, if there is one. */
static void add_device_group(const maker *k, const weft_pipe_family *f, const int *count,
                             device_group_list *out)
{
    weft_pipe_group group = {.width = -1};
    int share[WEFT_MAX_PARTS];
    int_list mixes = {0};

    for (int i = 0; i < k->c->n_classes; i++) {
        if (count[i] == 0)
            continue;
        if (group.width >= 0 && group.width != f->width[i])
            return;
        group.width = f->width[i];
        group.class_id[group.n_parts] = i;
        group.count[group.n_parts++] = count[i];
        group.n_blocks += count[i];
    }
    if (group.n_parts == 0 || !are_replicas(k, group.n_blocks))
        return;
    add_mixes(k, &group, 0, f->microbatch, share, &mixes);
    group.n_mixes = mixes.n / group.n_parts;
    group.mix = mixes.at;
    if (group.n_mixes > 0)
        WEFT_PUSH(k->a, *out, group);
}

static void add_device_sets(maker *k, const int *at, int64_t microbatch)
{
    weft_pipe_family f = family_with(k, at);
    int count[WEFT_MAX_PARTS] = {0}, i = 0;
    device_group_list groups = {0};
    int64_t n_blocks = 0;

    f.microbatch = microbatch;
    while (i < k->c->n_classes) { /* all vectors of blocks */
        for (i = 0; i < k->c->n_classes && count[i] == f.n_blocks[i]; i++)
            count[i] = 0;
        if (i < k->c->n_classes) {
            count[i]++;
            add_device_group(k, &f, count, &groups);
        }
    }
    for (int c = 0; c < k->c->n_classes; c++)
        n_blocks += f.n_blocks[c];
    limit_stages(k, &f, n_blocks, 1);
    add_family(k, &f, groups.at, groups.n);
}

static bool are_device_sets(const int *n_blocks, int n_classes)
{
    int64_t product = 1;

    for (int i = 0; i < n_classes && product <= MOST_DEVICE_SETS; i++)
        product *= n_blocks[i] + 1;
    return product <= MOST_DEVICE_SETS;
}

static void add_device_set_families(maker *k, const int *at)
{
    weft_pipe_family f = family_with(k, at);
    int64_t most = 0;

    assert(k->c->n_classes <= WEFT_MAX_PARTS);
    if (!are_device_sets(f.n_blocks, k->c->n_classes))
        return;
    for (int i = 0; i < k->c->n_classes; i++)
        most += f.n_blocks[i] * k->p->share[k->p->n_shares - 1];
    for (int64_t b = 1; b <= most && b <= k->p->constraints.batch; b++)
        if (is_microbatch(k, b))
            add_device_sets(k, at, b);
}

/* The fewest blocks of a class at any width that it may have; 0: it has none. */
static int fewest_blocks(const weft_pipe_costs *c, int class_id)
{
    int fewest = 0;

    for (int w = 0; w < c->p->n_widths; w++) {
        int n = weft_class_blocks(&c->p->cluster->classes[class_id], c->p->width[w]);

        if (is_width_possible(c, class_id, w) && (fewest == 0 || n < fewest))
            fewest = n;
    }
    return fewest;
}

bool weft_pipe_are_device_sets(const weft_pipe_costs *c, const int *width)
{
    int n_blocks[WEFT_MAX_PARTS];

    for (int i = 0; i < c->n_classes; i++)
        n_blocks[i] = width[i] > 0 ? weft_class_blocks(&c->p->cluster->classes[i], width[i])
                                   : fewest_blocks(c, i);
    return are_device_sets(n_blocks, c->n_classes);
}

/* --- rows ------------------------------------------------------------------------------------ */

typedef WEFT_VEC(weft_pipe_order) order_list;

/* All orders of classes that begin with `at`. */
static void add_orders(int n_classes, weft_pipe_order *at, weft_arena *a, order_list *out)
{
    if (at->n > 1)
        WEFT_PUSH(a, *out, *at);
    for (int k = 0; k < n_classes; k++) {
        bool is_in = false;

        for (int i = 0; i < at->n; i++)
            is_in |= at->class_id[i] == k;
        if (is_in)
            continue;
        at->class_id[at->n++] = k;
        add_orders(n_classes, at, a, out);
        at->n--;
    }
}

int weft_pipe_orders_of(int n_classes, weft_arena *a, const weft_pipe_order **out)
{
    weft_pipe_order at = {0};
    order_list list = {0};

    if (n_classes > WEFT_MAX_PARTS)
        n_classes = WEFT_MAX_PARTS;
    if (n_classes <= MOST_ORDERED) {
        add_orders(n_classes, &at, a, &list);
    } else {
        for (at.n = 2; at.n <= n_classes; at.n++) {
            for (int i = 0; i < at.n; i++)
                at.class_id[i] = i;
            WEFT_PUSH(a, list, at);
            for (int i = 0; i < at.n; i++)
                at.class_id[i] = at.n - 1 - i;
            WEFT_PUSH(a, list, at);
        }
    }
    *out = list.at;
    return list.n;
}

static void add_part(weft_stage *s, const weft_device_set_part *part)
{
    int i = s->n_parts++;

    for (; i > 0 && s->part[i - 1].class_id > part->class_id; i--)
        s->part[i] = s->part[i - 1];
    s->part[i] = *part;
}

bool weft_pipe_row_stage(const weft_train_problem *p, const weft_pipe_order *order, int width,
                         int d, int after, weft_stage *out)
{
    int64_t from = (int64_t)after * d, to = from + d, at = 0; /* places in the row */

    *out = (weft_stage){.width = width};
    for (int i = 0; i < order->n && at < to; i++) {
        int k = order->class_id[i], n = weft_class_blocks(&p->cluster->classes[k], width);
        int64_t first = from > at ? from - at : 0, end = to - at < n ? to - at : n;

        if (first < end)
            add_part(out, &(weft_device_set_part){.class_id = k,
                                                  .n_blocks = (int)(end - first),
                                                  .first = (int)first,
                                                  .step = 1});
        at += n;
    }
    return at >= to;
}

static weft_pipe_group device_group_of(const maker *k, const weft_stage *s, int w, int x)
{
    weft_pipe_group group = {.width = w, .n_parts = s->n_parts, .n_mixes = 1};
    int *mix = WEFT_NEW(k->a, int, s->n_parts);

    for (int i = 0; i < s->n_parts; i++) {
        group.class_id[i] = s->part[i].class_id;
        group.count[i] = s->part[i].n_blocks;
        group.n_blocks += s->part[i].n_blocks;
        mix[i] = x;
    }
    group.mix = mix;
    return group;
}

/* Stages of d blocks along the order; if none has blocks of two classes, they are uniform. */
static void add_row(maker *k, const weft_pipe_order *order, int w, int d, int x)
{
    weft_pipe_family f = {.replicas = d, .is_row = true, .microbatch = d * k->p->share[x]};
    device_group_list groups = {0};
    int64_t total = 0;
    bool is_mixed = false;
    weft_stage s;

    for (int i = 0; i < WEFT_MAX_PARTS; i++)
        f.width[i] = -1;
    for (int i = 0; i < order->n; i++) {
        int c = order->class_id[i];

        f.width[c] = w;
        f.n_blocks[c] = weft_class_blocks(&k->p->cluster->classes[c], k->p->width[w]);
        total += f.n_blocks[c];
    }
    limit_stages(k, &f, total, d);
    for (int i = 0; i < f.most_stages; i++) {
        (void)weft_pipe_row_stage(k->p, order, k->p->width[w], d, i, &s);
        is_mixed |= s.n_parts > 1;
        WEFT_PUSH(k->a, groups, device_group_of(k, &s, w, x));
    }
    if (is_mixed)
        add_family(k, &f, groups.at, groups.n);
}

/* Can all classes of the order work so, and are they too many for device sets, which have all
 * this? */
static bool is_row(const maker *k, const weft_pipe_order *order, int w, int x)
{
    int width[WEFT_MAX_PARTS] = {0};

    for (int i = 0; i < order->n; i++) {
        int c = order->class_id[i];

        if (!is_width_possible(k->c, c, w) ||
            !k->c->row[weft_train_problem_table(k->p, c, w, x)].is_there)
            return false;
        width[c] = k->p->width[w];
    }
    return !weft_pipe_are_device_sets(k->c, width);
}

static void add_rows_of(maker *k, const weft_pipe_order *order, int w, int x)
{
    int most = 0;

    for (int i = 0; i < order->n; i++)
        most += weft_class_blocks(&k->p->cluster->classes[order->class_id[i]], k->p->width[w]);
    if (k->p->constraints.most_replicas > 0 && most > k->p->constraints.most_replicas)
        most = k->p->constraints.most_replicas;
    for (int d = 2; d <= most && d * k->p->share[x] <= k->p->constraints.batch; d++)
        if (are_replicas(k, d) && is_microbatch(k, d * k->p->share[x]))
            add_row(k, order, w, d, x);
}

static void add_rows(maker *k)
{
    const weft_pipe_order *order;
    int n = weft_pipe_orders_of(k->c->n_classes, k->a, &order);

    for (int i = 0; i < n && k->list.n < MOST_FAMILIES; i++)
        for (int w = 0; w < k->p->n_widths; w++)
            for (int x = 0; x < k->p->n_shares; x++)
                if (is_row(k, &order[i], w, x))
                    add_rows_of(k, &order[i], w, x);
}

weft_pipe_families weft_pipe_families_of(weft_pipe_costs *c, weft_arena *a)
{
    maker k = {.c = c, .p = c->p, .a = a};
    int at[WEFT_MAX_PARTS] = {0};
    bool is_more = true;

    list_widths(&k);
    for (; is_more && k.list.n < MOST_FAMILIES; is_more = next_widths(&k, at)) {
        add_uniforms(&k, at);
        add_device_set_families(&k, at);
    }
    add_rows(&k);
    return (weft_pipe_families){k.list.n, k.list.at, !is_more && k.list.n < MOST_FAMILIES};
}

/* --- nodes ----------------------------------------------------------------------------------- */

typedef struct step {
    int group, from, to; /* nodes */
} step;

typedef struct node_maker {
    const weft_pipe_family *f;
    int block;                 /* blocks are used by so many at a time */
    int radix[WEFT_MAX_PARTS]; /* of the key of what is used */
    int n_keys, *node_of;      /* [n_keys] of this number of stages; -1: none */
    WEFT_VEC(int) used, stages;
    WEFT_VEC(step) steps;
    weft_arena *a;
} node_maker;

static int key_of(const node_maker *k, const int *used)
{
    int key = 0;

    for (int i = 0; i < WEFT_MAX_PARTS && !k->f->is_row; i++)
        key = key * k->radix[i] + used[i] / k->block;
    return key;
}

/* Puts device group c in front of a node; false: there are no such blocks. */
static bool grow(node_maker *k, int from, int c)
{
    const weft_pipe_group *group = &k->f->group[c];
    int used[WEFT_MAX_PARTS], key;

    memcpy(used, k->used.at + (size_t)from * WEFT_MAX_PARTS, sizeof used);
    for (int i = 0; i < group->n_parts; i++) {
        used[group->class_id[i]] += group->count[i];
        if (used[group->class_id[i]] > k->f->n_blocks[group->class_id[i]])
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
    int *to = WEFT_NEW(k->a, int, k->steps.n + 1);
    weft_rows moves;

    for (int i = 0; i < k->steps.n; i++)
        to[i] = k->steps.at[i].to;
    moves = weft_rows_by(to, k->steps.n, k->stages.n, k->a);
    *n = (weft_pipe_nodes){.n_nodes = k->stages.n,
                           .n_stages = k->stages.at,
                           .used = k->used.at,
                           .move_at = moves.at,
                           .move = WEFT_NEW(k->a, weft_pipe_move, k->steps.n + 1)};
    for (int i = 0; i < k->steps.n; i++) {
        const step *s = &k->steps.at[moves.item[i]];

        n->move[i] = (weft_pipe_move){s->group, s->from};
    }
    return n;
}

weft_pipe_nodes *weft_pipe_nodes_of(const weft_pipe_family *f, int most, weft_arena *a)
{
    node_maker k = {.f = f, .block = f->replicas > 0 ? f->replicas : 1, .a = a};
    int64_t n_keys = 1;
    int first = 0, end = 1;

    for (int i = 0; i < WEFT_MAX_PARTS; i++) {
        k.radix[i] = f->is_row ? 0 : f->n_blocks[i] / k.block + 1; /* of rows one node a stage */
        n_keys *= f->is_row ? 1 : k.radix[i];
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
            for (int c = f->is_row ? s : 0; c < (f->is_row ? s + 1 : f->n_groups); c++)
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
    node_maker k = {.f = f, .block = f->replicas > 0 ? f->replicas : 1, .a = a};
    int used[WEFT_MAX_PARTS] = {0};
    int64_t n_keys = 1;

    for (int i = 0; i < WEFT_MAX_PARTS; i++) {
        k.radix[i] = f->n_blocks[i] / k.block + 1;
        n_keys *= k.radix[i];
        if (n_keys > most)
            return NULL;
    }
    k.node_of = WEFT_NEW(a, int, n_keys);
    for (int key = 0; key < n_keys; key++) { /* what is within a node has a lower key */
        int left = key;

        k.node_of[key] = key;
        for (int i = WEFT_MAX_PARTS - 1; i >= 0; i--) {
            used[i] = left % k.radix[i] * k.block;
            left /= k.radix[i];
        }
        for (int i = 0; i < WEFT_MAX_PARTS; i++)
            WEFT_PUSH(a, k.used, used[i]);
        WEFT_PUSH(a, k.stages, key > 0);
    }
    for (int key = 0; key < n_keys; key++)
        for (int c = 0; c < f->n_groups; c++)
            (void)grow(&k, key, c);
    return finish_nodes(&k);
}

/* --- which blocks ---------------------------------------------------------------------------- */

bool weft_pipe_is_sequence(const int *class_id, int n_stages, int n)
{
    for (int i = 1; i < n && n_stages > MOST_MIXED; i++)
        for (int k = 0; k + 1 < i; k++)
            if (class_id[k] == class_id[i] && class_id[i - 1] != class_id[i])
                return false;
    return true;
}

/* Does a transfer from any device of one class to any of the other take the same time? Not if
 * transfers may share something. */
static bool is_like(const weft_cluster *c, int from, int to)
{
    const weft_class *x = &c->classes[from], *y = &c->classes[to];
    const weft_route *like = NULL;

    if (c->platform->n_resources > 0)
        return false;
    for (int i = 0; i < x->n_devices; i++)
        for (int k = 0; k < y->n_devices; k++) {
            const weft_route *r = weft_platform_route(c->platform, x->device[i], y->device[k]);

            if (x->device[i] == y->device[k])
                continue;
            if (like != NULL && (r->latency_s != like->latency_s ||
                                 r->bytes_per_s != like->bytes_per_s || r->curves != like->curves))
                return false;
            like = r;
        }
    return true;
}

bool weft_pipe_is_alike(const weft_pipe_costs *c, unsigned classes)
{
    for (int i = 0; i < c->n_classes; i++)
        for (int k = 0; k < c->n_classes; k++) {
            signed char *like = &c->like[i * c->n_classes + k];

            if (!(classes >> i & 1) || !(classes >> k & 1))
                continue;
            if (*like < 0)
                *like = is_like(c->p->cluster, i, k);
            if (*like == 0)
                return false;
        }
    return true;
}

/* --- stages ---------------------------------------------------------------------------------- */

weft_device_set_part weft_pipe_part_at(weft_pipe_layout layout, int class_id, int n_blocks,
                                       int used, int all)
{
    bool is_near = weft_pipe_is_near(layout);
    bool is_front = layout == WEFT_PIPE_WIDE_FRONT || layout == WEFT_PIPE_NEAR_FRONT;
    int before = is_front ? all - used - n_blocks : used; /* blocks handed out before */

    return (weft_device_set_part){.class_id = class_id,
                                  .n_blocks = n_blocks,
                                  .first = is_near ? before / n_blocks : before,
                                  .step = is_near ? all / n_blocks : 1};
}

weft_stage weft_pipe_stage_at(const weft_train_problem *p, const weft_pipe_family *f,
                              const weft_pipe_nodes *nodes, weft_pipe_layout layout, int root,
                              int move, int mix)
{
    const weft_pipe_group *group = &f->group[nodes->move[move].group];
    const int *used = nodes->used + (size_t)nodes->move[move].next * WEFT_MAX_PARTS;
    const int *all = nodes->used + (size_t)(root < 0 ? 0 : root) * WEFT_MAX_PARTS;
    weft_stage s = {.width = p->width[group->width], .n_parts = group->n_parts};

    for (int i = 0; i < group->n_parts; i++) {
        int k = group->class_id[i];

        s.part[i] = weft_pipe_part_at(layout, k, group->count[i], used[k], all[k]);
        s.part[i].samples = p->share[group->mix[mix * group->n_parts + i]];
    }
    return s;
}
