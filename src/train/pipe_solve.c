/* SPDX-License-Identifier: MIT */
/* pipe_solve.c: the search over all families and schedules.
 *
 * 1. Every family gets a floor from bounds 2 to 4 of pipe_bound.c. Tasks are a family with a
 *    schedule, in the order of floors, uniform ones before device sets.
 * 2. First plans, so that there is a target: plans of one stage; and, if the units are no chain,
 *    all tasks with the cuts of one line only, with half of the steps.
 * 3. A task: the table of suffixes without hops bounds all its nodes at once. A node below the
 *    target gets a table with its hops, in all layouts, and a first look (pipe_branch_bound.c) with few
 *    steps. Device sets get a bound for all schedules before. Interleaved: all plans (pipe_chunks.c).
 * 4. A floor at or above the target closes all tasks that follow.
 * 5. Nodes that are still open are searched again in the order of their bounds, each round with
 *    more steps, until nothing is open or the steps are used up.
 *
 * Guarantee: the bound is the least of the best value and the bounds of all that is open; if
 * nothing is, the plan is the best of the space (to the rounding in weft_pipe_target_s), or there
 * is none. Without a deadline all depends on steps only, never on the clock. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "order.h"
#include "pipe_chunks.h"
#include "pipe_relax.h"
#include "pipe_solve.h"

enum {
    MOST_NODES = 20000,
    MOST_ENTRIES = 10000000, /* of a table */
    FIRST_LOOK = 2000,       /* steps */
    GROWTH = 8,              /* of steps from round to round */
    SINGLES = 32,            /* part of the steps for plans of one stage, if more is known after */
};

typedef struct task {
    int family;
    weft_schedule schedule;
    double floor_s;
} task;

/* A node that is not closed. */
typedef struct open_node {
    int family, root;
    weft_schedule schedule;
    weft_pipe_layout layout;
    double bound_s;
} open_node;

typedef WEFT_VEC(open_node) open_list;

/* Replicas, place of the share, and width of each class, -1: not used. */
typedef struct chunk_key {
    int at[2 + WEFT_MAX_PARTS];
} chunk_key;

typedef WEFT_VEC(chunk_key) chunk_keys;

typedef struct searcher {
    weft_pipe_best best;
    weft_pipe_families families;
    weft_pipe_chunks chunks;
    const weft_pipe_effort *effort;
    open_list open;
    double lost_s;     /* bound of what cannot be searched */
    double *relaxed_s; /* [families] of device sets, for all schedules; 0: not made yet */
    chunk_keys done;   /* whose chunks were tried */
    int n_tasks;
    task *task;
    weft_arena *a, *scratch;
} searcher;

/* --- tasks ----------------------------------------------------------------------------------- */

/* Bound 3 of the family before, which often has the same classes, widths and share: pools of
 * devices and work do not depend on replicas. When time is up, that of all families together does.
 */
typedef struct work_memo {
    const weft_pipe_family *of; /* NULL: none yet */
    weft_pipe_pool pool;
    double all_s; /* of all families; negative: not known yet */
} work_memo;

static int64_t share_of(const weft_pipe_family *f)
{
    return f->replicas > 0 ? f->microbatch / f->replicas : -f->microbatch;
}

static bool is_same_pool(const weft_pipe_family *f, const weft_pipe_family *g)
{
    return share_of(f) == share_of(g) && memcmp(f->width, g->width, sizeof f->width) == 0 &&
           memcmp(f->n_blocks, g->n_blocks, sizeof f->n_blocks) == 0;
}

static double pool_floor(const searcher *s, const weft_pipe_family *f, bool is_chunks,
                         const work_memo *memo)
{
    if (f->replicas == 0)
        return memo->pool.work_s;
    return weft_pipe_pool_s(s->best.costs, f, &memo->pool, is_chunks);
}

static double work_of(searcher *s, const weft_pipe_family *f, bool is_chunks, work_memo *memo)
{
    const weft_pipe_costs *c = s->best.costs;

    if (memo->of != NULL && is_same_pool(memo->of, f))
        return pool_floor(s, f, is_chunks, memo);
    if (weft_run_is_over(s->best.run)) {
        if (memo->all_s < 0)
            memo->all_s = weft_pipe_work_s(c, NULL, 0);
        return memo->all_s;
    }
    memo->of = f;
    memo->pool = weft_pipe_pool_of(c, f);
    return pool_floor(s, f, is_chunks, memo);
}

/* Bounds 2 to 4. Bound 2 is of pipelines that fill stage by stage: interleaved ones fill chunk by
 * chunk, and for them all work over the most stages counts. With one class, uniform families have
 * one device group with one share. */
static double floor_of(searcher *s, const weft_pipe_family *f, bool is_chunks, work_memo *memo)
{
    const weft_pipe_costs *c = s->best.costs;
    double least_s;

    if (c->n_classes > 1 || f->replicas == 0)
        return work_of(s, f, is_chunks, memo);
    least_s = c->row[weft_train_problem_table(c->p, 0, f->group->width, f->group->mix[0])].least_s;
    if (is_chunks)
        return (double)f->n_microbatches * least_s / f->most_stages;
    return weft_pipe_fill_s(least_s, f->n_microbatches, f->most_stages);
}

static int by_floor(const void *a, const void *b)
{
    const task *x = a, *y = b;

    return weft_order((double[]){x->floor_s, x->family, x->schedule},
                      (double[]){y->floor_s, y->family, y->schedule}, 3);
}

static void list_tasks(searcher *s)
{
    const weft_pipe_costs *c = s->best.costs;
    work_memo memo = {.all_s = -1};

    s->task = WEFT_NEW(s->a, task, s->families.n * WEFT_N_SCHEDULES + 1);
    for (int i = 0; i < s->families.n; i++) {
        weft_pipe_family *f = &s->families.at[i];

        if (s->effort->is_uniform && f->replicas == 0)
            continue;
        f->floor_s = floor_of(s, f, false, &memo);
        for (int k = 0; k < WEFT_N_SCHEDULES; k++) {
            bool is_chunks = k == WEFT_INTERLEAVED;

            if (!(c->p->constraints.schedules >> k & 1) ||
                (is_chunks && (f->replicas == 0 || f->is_row || !c->p->blocks.is_chain)))
                continue;
            s->task[s->n_tasks++] =
                (task){i, (weft_schedule)k, is_chunks ? floor_of(s, f, true, &memo) : f->floor_s};
        }
    }
    qsort(s->task, (size_t)s->n_tasks, sizeof *s->task, by_floor);
}

/* --- nodes ----------------------------------------------------------------------------------- */

/* Hops and sums of gradients take time to find out, too. */
static weft_pipe_links find_links(searcher *s, const weft_pipe_family *f,
                                  const weft_pipe_nodes *nodes, weft_pipe_layout layout, int root)
{
    int end = nodes->move_at[root < 0 ? nodes->n_nodes : root + 1];
    int64_t width = f->replicas > 0 ? f->replicas : 1;

    (void)weft_pipe_spend(&s->best, end * width);
    return weft_pipe_links_of(s->best.costs, f, nodes, layout, root, s->scratch);
}

/* One node of a family with its hops: a table and a search of so many steps. */
static double search_node(searcher *s, const weft_pipe_family *f, const open_node *n,
                          const weft_pipe_nodes *nodes, int64_t steps)
{
    size_t mark = weft_arena_mark(s->scratch);
    weft_pipe_links links = find_links(s, f, nodes, n->layout, n->root);
    weft_pipe_table table = {.family = f, .nodes = nodes, .links = &links, .schedule = n->schedule};
    double open_s = n->bound_s;

    if (weft_pipe_suffixes(&s->best, &table, n->root, s->scratch))
        open_s = fmax(open_s, weft_pipe_branch_bound(&s->best, &table, n->layout, n->root, steps,
                                                     s->scratch));
    weft_arena_rewind(s->scratch, mark);
    return open_s;
}

/* Do the plans of a root differ in this layout from those in the layouts before it? Not if it does
 * not matter which block of a class a stage has, or every class has one stage; near and wide are
 * the same if every stage has one block. */
static bool has_layout(const searcher *s, const weft_pipe_family *f, const weft_pipe_nodes *nodes,
                       int root, weft_pipe_layout layout)
{
    const int *used = nodes->used + (size_t)root * WEFT_MAX_PARTS;
    bool is_shared = f->replicas == 0 && nodes->n_stages[root] > 1; /* a class by two stages */
    unsigned classes = 0;

    if (layout == WEFT_PIPE_WIDE)
        return true;
    if (f->is_row || (weft_pipe_is_near(layout) && f->replicas <= 1))
        return false;
    for (int i = 0; i < WEFT_MAX_PARTS; i++) {
        classes |= used[i] > 0 ? 1u << i : 0;
        is_shared |= f->replicas > 0 && used[i] > f->replicas;
    }
    return is_shared && !weft_pipe_is_alike(s->best.costs, classes);
}

static int by_bound(const void *a, const void *b)
{
    const open_node *x = a, *y = b;

    return weft_order((double[]){x->bound_s, x->family, x->schedule, x->root, x->layout},
                      (double[]){y->bound_s, y->family, y->schedule, y->root, y->layout}, 5);
}

/* Nodes of a task below the target, by their bounds without hops. */
static open_list nodes_below(searcher *s, const task *t, const weft_pipe_nodes *nodes,
                             const weft_pipe_table *table)
{
    const weft_pipe_family *f = &s->families.at[t->family];
    int n_cuts = s->best.costs->p->blocks.n_cuts;
    open_list list = {0};

    for (int root = 1; root < nodes->n_nodes; root++) {
        open_node n = {.family = t->family, .root = root, .schedule = t->schedule};

        n.bound_s = fmax(t->floor_s, table->bound_s[(size_t)root * (size_t)n_cuts]);
        if (n.bound_s >= weft_pipe_target_s(&s->best) ||
            !weft_pipe_is_length(s->best.costs->p, nodes->n_stages[root]))
            continue;
        for (int layout = 0; layout < WEFT_PIPE_N_LAYOUTS; layout++) {
            n.layout = (weft_pipe_layout)layout;
            if (has_layout(s, f, nodes, root, n.layout))
                WEFT_PUSH(s->scratch, list, n);
        }
    }
    if (list.n > 1)
        qsort(list.at, (size_t)list.n, sizeof *list.at, by_bound);
    return list;
}

static void lose(searcher *s, double bound_s)
{
    s->lost_s = fmin(s->lost_s, bound_s);
}

/* A first look at the nodes of a list. Wide layouts have one table for all of them. */
static void look_at(searcher *s, const task *t, const weft_pipe_nodes *nodes, open_list *list)
{
    const weft_pipe_family *f = &s->families.at[t->family];
    int n_cuts = s->best.costs->p->blocks.n_cuts;
    weft_pipe_links links = find_links(s, f, nodes, WEFT_PIPE_WIDE, -1);
    weft_pipe_table wide = {.family = f, .nodes = nodes, .links = &links, .schedule = t->schedule};
    bool is_whole = !s->best.is_over && weft_pipe_suffixes(&s->best, &wide, -1, s->scratch);

    for (int i = 0; i < list->n; i++) {
        open_node *n = &list->at[i];
        bool is_wide = n->layout == WEFT_PIPE_WIDE && is_whole;

        if (is_wide)
            n->bound_s = fmax(n->bound_s, wide.bound_s[(size_t)n->root * (size_t)n_cuts]);
        if (n->bound_s >= weft_pipe_target_s(&s->best))
            continue;
        if (is_wide && !s->best.is_over)
            n->bound_s = fmax(n->bound_s, weft_pipe_branch_bound(&s->best, &wide, n->layout,
                                                                 n->root, FIRST_LOOK, s->scratch));
        else if (!s->best.is_over)
            n->bound_s = search_node(s, f, n, nodes, FIRST_LOOK);
        if (n->bound_s < weft_pipe_target_s(&s->best))
            WEFT_PUSH(s->a, s->open, *n);
    }
}

/* May the table of a task use up too much memory, or too many of the steps? In a chain it takes far
 * fewer than the number of pairs says. */
static bool is_too_large(const searcher *s, const weft_pipe_nodes *nodes)
{
    const weft_pipe_costs *c = s->best.costs;
    int64_t n_pairs = c->outer == NULL ? 0 : c->outer_at[c->p->blocks.n_cuts];

    return (int64_t)nodes->n_nodes * c->p->blocks.n_cuts > MOST_ENTRIES ||
           n_pairs * nodes->move_at[nodes->n_nodes] > s->best.most_steps / 4;
}

/* A bound for all schedules of a family of device sets, found once: as if one microbatch were in
 * flight. The floor, if there is none. */
static double relaxed_bound(searcher *s, int family)
{
    size_t mark = weft_arena_mark(s->scratch);
    const weft_pipe_family *f = &s->families.at[family];
    int n_cuts = s->best.costs->p->blocks.n_cuts;
    weft_pipe_nodes *nodes;
    double bound_s = INFINITY;

    if (s->relaxed_s[family] > 0)
        return s->relaxed_s[family];
    nodes = weft_pipe_flat_nodes_of(f, MOST_NODES, s->scratch);
    if (nodes != NULL && !is_too_large(s, nodes)) {
        weft_pipe_links links = weft_pipe_links_free(nodes, s->scratch);
        weft_pipe_table table = {.family = f,
                                 .nodes = nodes,
                                 .links = &links,
                                 .schedule = WEFT_ONE_F_ONE_B,
                                 .is_relaxed = true};

        if (!weft_pipe_suffixes(&s->best, &table, -1, s->scratch))
            bound_s = 0;
        for (int i = 1; i < nodes->n_nodes; i++)
            bound_s = fmin(bound_s, table.bound_s[(size_t)i * (size_t)n_cuts]);
    } else {
        bound_s = 0;
    }
    s->relaxed_s[family] = fmax(bound_s, f->floor_s);
    weft_arena_rewind(s->scratch, mark);
    return s->relaxed_s[family];
}

static void run_plain(searcher *s, const task *whole)
{
    size_t mark = weft_arena_mark(s->scratch);
    const weft_pipe_family *f = &s->families.at[whole->family];
    task tight = *whole, *t = &tight;
    weft_pipe_nodes *nodes;
    bool is_lost;

    if (f->replicas == 0 && f->most_stages > 1)
        tight.floor_s = relaxed_bound(s, t->family);
    if (tight.floor_s >= weft_pipe_target_s(&s->best))
        return;
    nodes = weft_pipe_nodes_of(f, MOST_NODES, s->scratch);
    is_lost = nodes == NULL || is_too_large(s, nodes);
    if (!is_lost) {
        weft_pipe_links links = weft_pipe_links_free(nodes, s->scratch);
        weft_pipe_table table = {
            .family = f, .nodes = nodes, .links = &links, .schedule = t->schedule};

        is_lost = !weft_pipe_suffixes(&s->best, &table, -1, s->scratch);
        if (!is_lost) {
            open_list list = nodes_below(s, t, nodes, &table);

            if (list.n > 0)
                look_at(s, t, nodes, &list);
        }
    }
    if (is_lost)
        lose(s, t->floor_s);
    weft_arena_rewind(s->scratch, mark);
}

/* --- interleaved ----------------------------------------------------------------------------- */

/* Were these device groups (bits) of the family tried in another, which differs in unused classes
 * only? */
static bool is_done(searcher *s, const weft_pipe_family *f, unsigned groups)
{
    chunk_key key;

    memset(&key, 0xff, sizeof key);
    key.at[0] = f->replicas;
    key.at[1] = f->group[0].mix[0];
    for (int c = 0; c < f->n_groups; c++)
        if (groups >> c & 1)
            key.at[2 + f->group[c].class_id[0]] = f->group[c].width;
    for (int i = 0; i < s->done.n; i++)
        if (memcmp(&s->done.at[i], &key, sizeof key) == 0)
            return true;
    WEFT_PUSH(s->a, s->done, key);
    return false;
}

static void run_chunks(searcher *s, const task *t)
{
    const weft_pipe_family *f = &s->families.at[t->family];

    for (unsigned groups = 1; groups < 1u << f->n_groups; groups++)
        if (!is_done(s, f, groups))
            lose(s, fmax(t->floor_s, weft_pipe_try_chunks(&s->chunks, f, groups)));
}

/* --- rounds ---------------------------------------------------------------------------------- */

/* All open nodes once more; what is still open stays. */
static void run_round(searcher *s, int64_t steps)
{
    int n = 0;

    if (s->open.n > 1)
        qsort(s->open.at, (size_t)s->open.n, sizeof *s->open.at, by_bound);
    for (int i = 0; i < s->open.n; i++) {
        open_node *x = &s->open.at[i];
        size_t mark = weft_arena_mark(s->scratch);

        if (x->bound_s < weft_pipe_target_s(&s->best) && !s->best.is_over) {
            weft_pipe_nodes *nodes =
                weft_pipe_nodes_of(&s->families.at[x->family], MOST_NODES, s->scratch);

            x->bound_s = search_node(s, &s->families.at[x->family], x, nodes, steps);
        }
        if (x->bound_s < weft_pipe_target_s(&s->best))
            s->open.at[n++] = *x;
        weft_arena_rewind(s->scratch, mark);
    }
    s->open.n = n;
}

/* Uniform families, or device sets. */
static void run_tasks(searcher *s, bool is_device_sets)
{
    for (int i = 0; i < s->n_tasks; i++) {
        const task *t = &s->task[i];

        if ((s->families.at[t->family].replicas == 0) != is_device_sets)
            continue;
        if (t->floor_s >= weft_pipe_target_s(&s->best))
            return;
        if (s->best.is_over) {
            lose(s, t->floor_s); /* the others have floors that are not lower */
            return;
        }
        if (t->schedule == WEFT_INTERLEAVED)
            run_chunks(s, t);
        else
            run_plain(s, t);
    }
}

static double open_bound(const searcher *s)
{
    double bound_s = s->best.value_s;

    if (s->best.value_s < INFINITY)
        bound_s = weft_pipe_target_s(&s->best);
    bound_s = fmin(bound_s, s->lost_s);
    for (int i = 0; i < s->open.n; i++)
        bound_s = fmin(bound_s, s->open.at[i].bound_s);
    return bound_s;
}

/* --- first plans ----------------------------------------------------------------------------- */

/* Forgets what is open: only the plan counts. */
static void forget(searcher *s, int64_t most_steps)
{
    s->open.n = s->done.n = 0;
    s->lost_s = INFINITY;
    memset(s->relaxed_s, 0, sizeof *s->relaxed_s * (size_t)s->families.n);
    s->best.most_steps = most_steps;
    s->best.is_over = s->best.n_steps >= most_steps || weft_run_is_over(s->best.run);
}

/* Are families relaxed? */
static bool is_relaxed(const searcher *s)
{
    return s->best.costs->n_classes > 1;
}

/* Plans of one stage, with at most so many steps. */
static void run_singles(searcher *s, int64_t part)
{
    int64_t most_steps = s->best.most_steps;

    if (!weft_pipe_is_length(s->best.costs->p, 1))
        return;
    s->best.most_steps = part;
    s->best.is_over = s->best.n_steps >= part || weft_run_is_over(s->best.run);
    for (int i = 0; i < s->n_tasks && !s->best.is_over; i++) {
        weft_pipe_family *f = &s->families.at[s->task[i].family];
        int most_stages = f->most_stages;

        if (s->task[i].schedule == WEFT_INTERLEAVED ||
            s->task[i].floor_s >= weft_pipe_target_s(&s->best))
            continue;
        f->most_stages = 1;
        run_plain(s, &s->task[i]);
        f->most_stages = most_stages;
    }
    forget(s, most_steps);
}

/* Where families are relaxed, better ones follow: few steps then, unless these find none. */
static void find_singles(searcher *s)
{
    int64_t most_steps = s->best.most_steps;

    if (!is_relaxed(s)) {
        run_singles(s, most_steps);
        return;
    }
    run_singles(s, most_steps / SINGLES);
    if (!(s->best.value_s < INFINITY))
        run_singles(s, most_steps / 2);
}

/* The next cut of one line through all: the smallest that contains it, of these the one that fewest
 * bytes leave. */
static int next_in_line(const weft_pipe_costs *c, int cut)
{
    const weft_blocks *u = &c->p->blocks;
    int best = -1;

    for (int k = c->outer_at[cut]; k < c->outer_at[cut + 1]; k++) {
        int other = c->outer[k];

        if (best < 0 || weft_cut_within(u, other, best) ||
            (!weft_cut_within(u, best, other) && u->leave_bytes[other] < u->leave_bytes[best]))
            best = other;
    }
    return best;
}

/* Pipelines between the cuts of one line only, as if the units were a chain. */
static void run_line(searcher *s)
{
    weft_pipe_costs *c = s->best.costs;
    const int *outer_at = c->outer_at, *outer = c->outer;
    int n_cuts = c->p->blocks.n_cuts, n_line = 0, n = 0;
    int *line = WEFT_NEW(s->a, int, n_cuts), *at = WEFT_NEW(s->a, int, n_cuts + 1), *list;
    int64_t most_steps = s->best.most_steps;

    for (int cut = 0; cut >= 0; cut = next_in_line(c, cut))
        line[n_line++] = cut;
    list = WEFT_NEW(s->a, int, n_line *n_line + 1);
    for (int cut = 0, k = 0; cut < n_cuts; cut++) {
        at[cut] = n;
        if (k < n_line && line[k] == cut)
            for (int i = ++k; i < n_line; i++)
                list[n++] = line[i];
    }
    at[n_cuts] = n;
    c->outer_at = at;
    c->outer = list;
    s->best.most_steps = s->best.n_steps + (most_steps - s->best.n_steps) / 2;
    run_tasks(s, false);
    run_tasks(s, true);
    c->outer_at = outer_at;
    c->outer = outer;
    forget(s, most_steps);
}

/* --- families as a whole --------------------------------------------------------------------- */

/* Pipelines of one sequence of device groups, of all schedules and layouts. */
static void try_sequence(searcher *s, const weft_pipe_family *f, const weft_pipe_sequence *q)
{
    size_t mark = weft_arena_mark(s->scratch);
    weft_pipe_family row = *f;
    weft_pipe_nodes *nodes;

    row.is_row = true; /* one group for each number of stages */
    row.n_groups = row.most_stages = q->n;
    row.group = WEFT_NEW(s->scratch, weft_pipe_group, q->n);
    for (int i = 0; i < q->n; i++)
        row.group[i] = f->group[q->group[i]];
    nodes = weft_pipe_nodes_of(&row, MOST_NODES, s->scratch);
    row.is_row = false; /* but its blocks are handed out class by class */
    for (int k = 0; nodes != NULL && nodes->n_nodes > q->n && k < WEFT_N_SCHEDULES; k++)
        for (int layout = 0; layout < WEFT_PIPE_N_LAYOUTS; layout++) {
            open_node n = {.root = q->n,
                           .schedule = (weft_schedule)k,
                           .layout = (weft_pipe_layout)layout,
                           .bound_s = q->bound_s};

            if ((s->best.costs->p->constraints.schedules >> k & 1) &&
                weft_pipe_is_relaxable(n.schedule) && !s->best.is_over &&
                q->bound_s < weft_pipe_target_s(&s->best) &&
                has_layout(s, &row, nodes, q->n, n.layout))
                (void)search_node(s, &row, &n, nodes, FIRST_LOOK);
        }
    weft_arena_rewind(s->scratch, mark);
}

static int by_family_floor(const void *a, const void *b)
{
    const task *x = a, *y = b;

    return weft_order((double[]){x->floor_s, x->family}, (double[]){y->floor_s, y->family}, 2);
}

/* The least that any plan of each family takes, whatever the schedule, in the order of what is known
 * of them; and plans from the pipelines that have the least. Interleaved plans keep their floors. */
static void relax_families(searcher *s)
{
    weft_pipe_relaxer *r = weft_pipe_relaxer_new(&s->best, s->a);
    task *order = WEFT_NEW(s->a, task, s->families.n + 1);

    for (int i = 0; i < s->families.n; i++)
        order[i] = (task){.family = i, .floor_s = s->families.at[i].floor_s};
    qsort(order, (size_t)s->families.n, sizeof *order, by_family_floor);
    for (int i = 0; i < s->families.n && !s->best.is_over; i++) {
        weft_pipe_family *f = &s->families.at[order[i].family];
        weft_pipe_sequence list[WEFT_PIPE_N_SEQUENCES];

        if (f->floor_s >= weft_pipe_target_s(&s->best))
            break;
        if (s->effort->is_uniform && f->replicas == 0)
            continue;
        f->floor_s = fmax(f->floor_s, weft_pipe_relaxed_s(r, f, list, s->scratch));
        for (int k = 0; k < WEFT_PIPE_N_SEQUENCES; k++)
            if (list[k].bound_s < weft_pipe_target_s(&s->best))
                try_sequence(s, f, &list[k]);
    }
    weft_pipe_relaxer_free(r);
    for (int i = 0; i < s->n_tasks; i++)
        if (weft_pipe_is_relaxable(s->task[i].schedule))
            s->task[i].floor_s =
                fmax(s->task[i].floor_s, s->families.at[s->task[i].family].floor_s);
    if (s->n_tasks > 1)
        qsort(s->task, (size_t)s->n_tasks, sizeof *s->task, by_floor);
}

static void search(searcher *s)
{
    list_tasks(s);
    s->relaxed_s = WEFT_NEW(s->a, double, s->families.n + 1);
    find_singles(s);
    if (s->best.costs->outer != NULL)
        run_line(s);
    if (!s->families.is_complete)
        s->lost_s = 0;
    if (is_relaxed(s))
        relax_families(s);
    run_tasks(s, false);
    run_tasks(s, true);
    for (int64_t steps = (int64_t)GROWTH * FIRST_LOOK;
         s->open.n > 0 && !s->best.is_over && !s->effort->is_first; steps *= GROWTH)
        run_round(s, steps);
}

int64_t weft_pipe_default_steps(const weft_run *run)
{
    const double usual_s = 10, longest = 1e5;

    if (!(run->limit_s < INFINITY) || run->limit_s <= usual_s)
        return WEFT_PIPE_STEPS;
    return (int64_t)(WEFT_PIPE_STEPS * fmin(run->limit_s / usual_s, longest));
}

void weft_pipe_search(const weft_train_problem *p, weft_run *run, const weft_pipe_effort *effort,
                      weft_arena *a, weft_pipe_result *out)
{
    weft_pipe_costs costs;
    searcher s = {
        .effort = effort, .lost_s = INFINITY, .a = weft_arena_new(), .scratch = weft_arena_new()};

    weft_pipe_costs_new(p, s.a, &costs);
    s.best = (weft_pipe_best){.costs = &costs,
                              .run = run,
                              .value_s = effort->below_s > 0 ? effort->below_s : INFINITY,
                              .a = a,
                              .most_steps =
                                  effort->steps > 0 ? effort->steps : weft_pipe_default_steps(run)};
    s.families = weft_pipe_families_of(&costs, s.a);
    s.chunks = (weft_pipe_chunks){
        .best = &s.best,
        .least = WEFT_NEW(s.a, const double *, costs.n_classes * p->n_widths * p->n_shares),
        .a = s.a,
        .scratch = s.scratch};
    search(&s);
    *out = (weft_pipe_result){.value_s = s.best.plan.n_stages > 0 ? s.best.value_s : INFINITY,
                              .plan = s.best.plan,
                              .bound_s = open_bound(&s),
                              .n_stages_tried = costs.n_tried,
                              .n_plans_tried = s.best.n_plans,
                              .n_steps = s.best.n_steps};
    weft_arena_free(s.scratch);
    weft_arena_free(s.a);
}
