/* SPDX-License-Identifier: MIT */
/* pipe_relax.c: one lower bound for all plans of a family, whatever their schedule (gpipe, 1f1b,
 * eager), hops and layout.
 *
 * Suffixes as in pipe_search.c, but without hops, and stages cost what they cost at best:
 *   bound[node][I] = min over moves and J > I of max(m l(I, J), l(I, J) + bound[next][J]),
 * l with the quickest recomputation that fits beside the fewest microbatches that any of these
 * schedules keeps there. Nodes tell how many stages follow; device sets use nodes that do not, and
 * one microbatch. Stages of several classes:
 *   rows         equal shares: the largest l of any class;
 *   device sets  the least t at which all blocks together may take the microbatch, each class the
 *                largest share with l <= t, and every class the smallest share at least.
 * A node may also leave a stage out: bound[node] <= bound[next]. That only lowers bounds, and lets
 * them fall with J: with c > 0 units taken off the front of a suffix, each of its stages, or none of
 * it, is still there. So, with the first J at which m l >= l + bound[next], longer stages are not
 * better than it, and shorter ones need a look only while bound[next][J] is below the best. That J
 * falls with I, so in a chain it is found by one walk for each move of a node.
 * The first stage is followed by its sum of gradients and its update: the least of all layouts (with
 * sums that overlap computation only the update).
 *
 * Guarantee: no plan of the family with one of these schedules takes less than the result, or less
 * than the target if that is INFINITY. By pipe_bound.c, 1: m l is at most own, and hops are at least 0.
 *
 * Stage times are kept for each table, number of blocks and number of microbatches: of every pair of
 * cuts, seconds by microbatches in flight. Time: nodes * cuts * moves, times a few. */
#include <math.h>
#include <string.h>

#include "pipe_relax.h"
#include "train_plan.h"

enum {
    MOST_KEPT = 2000000,     /* stages in memory */
    MOST_ENTRIES = 16000000, /* of a table */
    STEP = 32,               /* stages looked up for one step of the search */
};

/* Seconds of a stage with at most so many microbatches in flight; the first that is enough. */
typedef struct stage_time {
    double s[WEFT_N_RECOMPUTES];
    int64_t most[WEFT_N_RECOMPUTES];
} stage_time;

/* Of every inner cut the stages that are possible, by their outer cuts: outer_of. In a chain the
 * first that is not possible ends those of its inner cut. */
typedef struct stage_list {
    const struct stage_list *next; /* of the same table */
    int n_blocks;
    int64_t m;
    int *at; /* [n_cuts] first place */
    stage_time *time;
} stage_list;

struct weft_pipe_relaxer {
    weft_pipe_best *best;
    const stage_list **list; /* [tables] */
    int64_t n_kept, n_looks;
    weft_arena *a, *kept;
};

weft_pipe_relaxer *weft_pipe_relaxer_new(weft_pipe_best *best, weft_arena *a)
{
    weft_pipe_relaxer *r = WEFT_NEW(a, weft_pipe_relaxer, 1);
    const weft_train_problem *p = best->costs->p;

    *r = (weft_pipe_relaxer){
        .best = best,
        .list = WEFT_NEW(a, const stage_list *, best->costs->n_classes * p->n_widths * p->n_shares),
        .a = a,
        .kept = weft_arena_new()};
    return r;
}

void weft_pipe_relaxer_free(weft_pipe_relaxer *r)
{
    weft_arena_free(r->kept);
}

bool weft_pipe_is_relaxable(weft_schedule schedule)
{
    return schedule == WEFT_GPIPE || schedule == WEFT_ONE_F_ONE_B || schedule == WEFT_EAGER;
}

/* --- stages ---------------------------------------------------------------------------------- */

/* Places behind the first of an inner cut at which stages may stand. */
static inline int n_outer(const weft_pipe_costs *c, int inner)
{
    return c->outer == NULL ? c->p->blocks.n_cuts - 1 - inner
                            : c->outer_at[inner + 1] - c->outer_at[inner];
}

static inline int outer_of(const weft_pipe_costs *c, int inner, int place)
{
    return c->outer == NULL ? inner + 1 + place : c->outer[c->outer_at[inner] + place];
}

static double at_flight(weft_pipe_relaxer *r, const weft_pipe_group *g, weft_pipe_range *range,
                        double most_s)
{
    weft_pipe_stage s;

    if (!weft_pipe_stage_of(r->best->costs, g, range, 0, most_s, &s))
        return INFINITY;
    return s.forward_s + s.backward_s;
}

/* The seconds of a stage for 1 .. most microbatches: they rise with them, in few steps. False: it
 * is not possible. */
static bool time_stage(weft_pipe_relaxer *r, const weft_pipe_group *g, weft_pipe_range range,
                       int64_t most, double most_s, stage_time *out)
{
    int64_t from = 1;
    int n = 0;

    *out = (stage_time){
        {INFINITY,  INFINITY, INFINITY},
        {0}
    };
    while (n < WEFT_N_RECOMPUTES && from <= most) {
        int64_t low = from, high = most;
        double s;

        range.in_flight = from;
        s = at_flight(r, g, &range, most_s);
        if (!(s < INFINITY))
            break;
        while (low < high) { /* the last with the same seconds */
            int64_t middle = low == from && high == most ? most : low + (high - low + 1) / 2;

            range.in_flight = middle;
            if (at_flight(r, g, &range, most_s) <= s)
                low = middle;
            else
                high = middle - 1;
        }
        out->s[n] = s;
        out->most[n++] = low;
        from = low + 1;
    }
    return n > 0;
}

static stage_list *new_list(const weft_pipe_relaxer *r, weft_arena *a)
{
    stage_list *list = WEFT_NEW(a, stage_list, 1);

    list->at = WEFT_NEW(a, int, r->best->costs->p->blocks.n_cuts + 1);
    return list;
}

typedef WEFT_VEC(stage_time) stage_times;

static const stage_list *fill_list(weft_pipe_relaxer *r, const weft_pipe_group *g, int64_t m,
                                   int most_stages)
{
    const weft_pipe_costs *c = r->best->costs;
    int n_cuts = c->p->blocks.n_cuts;
    stage_list *list = new_list(r, r->kept);
    int64_t most = weft_pipe_relaxed_flight(c->p, most_stages, m), before = c->n_tried;
    double most_s = weft_pipe_target_s(r->best) / (double)m;
    stage_times times = {0};

    for (int inner = 0; inner + 1 < n_cuts; inner++) {
        stage_time time;

        list->at[inner] = times.n;
        for (int i = 0; i < n_outer(c, inner); i++) {
            weft_pipe_range range = {inner, outer_of(c, inner, i), 1};

            if (!time_stage(r, g, range, most, most_s, &time) && c->outer == NULL)
                break;
            WEFT_PUSH(r->kept, times, time);
        }
    }
    list->at[n_cuts - 1] = times.n;
    list->time = times.at;
    r->n_kept += times.n;
    (void)weft_pipe_spend(r->best, c->n_tried - before);
    return list;
}

/* The stages of one class of a group, alone, with as many blocks as the group has. */
static const stage_list *list_of(weft_pipe_relaxer *r, const weft_pipe_group *g, int part,
                                 int share, int64_t m, int most_stages)
{
    const weft_train_problem *p = r->best->costs->p;
    int table = weft_train_problem_table(p, g->class_id[part], g->width, share);
    weft_pipe_group one = {.width = g->width,
                           .n_parts = 1,
                           .n_blocks = g->n_blocks,
                           .class_id = {g->class_id[part]},
                           .count = {g->n_blocks},
                           .n_mixes = 1,
                           .mix = &share};
    stage_list *list;

    if (p->constraints.zero == WEFT_ZERO_NONE) /* blocks divide nothing */
        one.n_blocks = one.count[0] = 1;
    for (const stage_list *x = r->list[table]; x != NULL; x = x->next)
        if (x->n_blocks == one.n_blocks && x->m == m)
            return x;
    list = (stage_list *)(uintptr_t)fill_list(r, &one, m, most_stages);
    list->n_blocks = one.n_blocks;
    list->m = m;
    list->next = r->list[table];
    r->list[table] = list;
    return list;
}

/* Drops what is kept, when it is too much. */
static void make_room(weft_pipe_relaxer *r)
{
    const weft_train_problem *p = r->best->costs->p;
    int n_tables = r->best->costs->n_classes * p->n_widths * p->n_shares;

    if (r->n_kept < MOST_KEPT)
        return;
    memset(r->list, 0, sizeof *r->list * (size_t)n_tables);
    weft_arena_free(r->kept);
    r->kept = weft_arena_new();
    r->n_kept = 0;
}

static inline double look(const stage_list *x, int inner, int place, int64_t in_flight)
{
    int i = x->at[inner] + place;

    if (i >= x->at[inner + 1])
        return INFINITY;
    for (int k = 0; k < WEFT_N_RECOMPUTES; k++)
        if (x->time[i].most[k] >= in_flight)
            return x->time[i].s[k];
    return INFINITY;
}

/* --- stages of several classes ---------------------------------------------------------------- */

/* The lists of the classes of a group at all shares that its ways to share have. */
typedef struct mixture {
    const weft_pipe_group *g;
    int n_shares;
    const int64_t *share;
    const stage_list *list[WEFT_MAX_PARTS][64];
    double samples;
} mixture;

/* The least seconds at which the class of a part takes share x or more. */
static double take_s(const mixture *k, int part, int x, int inner, int place, int64_t in_flight)
{
    double least = INFINITY;

    for (; x < k->n_shares; x++)
        if (k->list[part][x] != NULL)
            least = fmin(least, look(k->list[part][x], inner, place, in_flight));
    return least;
}

/* Shares rise part by part, the cheapest first, until the microbatch is taken. */
static double mixed_s(const mixture *k, int inner, int place, int64_t in_flight)
{
    int at[WEFT_MAX_PARTS] = {0};
    double samples = 0, t = 0;

    for (int i = 0; i < k->g->n_parts; i++) {
        t = fmax(t, take_s(k, i, 0, inner, place, in_flight));
        samples += (double)k->share[0] * k->g->count[i];
    }
    while (samples < k->samples && t < INFINITY) {
        double least = INFINITY;
        int part = 0;

        for (int i = 0; i < k->g->n_parts; i++) {
            double s = at[i] + 1 < k->n_shares ? take_s(k, i, at[i] + 1, inner, place, in_flight)
                                               : INFINITY;

            if (s < least) {
                least = s;
                part = i;
            }
        }
        if (least < INFINITY)
            samples += (double)(k->share[at[part] + 1] - k->share[at[part]]) * k->g->count[part];
        at[part]++;
        t = fmax(t, least);
    }
    return t;
}

/* The most of any class, all with the same share. */
static double equal_s(const mixture *k, int inner, int place, int64_t in_flight)
{
    double most = 0;

    for (int i = 0; i < k->g->n_parts; i++)
        most = fmax(most, look(k->list[i][0], inner, place, in_flight));
    return most;
}

static const stage_list *mix_list(weft_pipe_relaxer *r, const weft_pipe_family *f, const mixture *k,
                                  int64_t in_flight, weft_arena *scratch)
{
    const weft_pipe_costs *c = r->best->costs;
    int n_cuts = c->p->blocks.n_cuts;
    stage_list *list = new_list(r, scratch);
    double most_s = weft_pipe_target_s(r->best) / (double)f->n_microbatches;
    stage_times times = {0};

    for (int inner = 0; inner + 1 < n_cuts; inner++) {
        list->at[inner] = times.n;
        for (int i = 0; i < n_outer(c, inner); i++) {
            double s =
                f->replicas > 0 ? equal_s(k, inner, i, in_flight) : mixed_s(k, inner, i, in_flight);

            if (!(s < most_s) && c->outer == NULL)
                break;
            s = s < most_s ? s : INFINITY;
            WEFT_PUSH(scratch, times,
                      ((stage_time){
                          {s,         INFINITY, INFINITY},
                          {INT64_MAX, 0,        0       }
            }));
            r->n_looks += k->g->n_parts * (f->replicas > 0 ? 1 : 4);
        }
    }
    list->at[n_cuts - 1] = times.n;
    list->time = times.at;
    return list;
}

/* The list of a group that has several classes, or several ways to share. */
static const stage_list *mixed_list(weft_pipe_relaxer *r, const weft_pipe_family *f, int group,
                                    weft_arena *scratch)
{
    const weft_train_problem *p = r->best->costs->p;
    const weft_pipe_group *g = &f->group[group];
    mixture *k = WEFT_NEW(scratch, mixture, 1);
    int64_t in_flight = 1;

    *k = (mixture){.g = g, .n_shares = 1, .share = p->share, .samples = (double)f->microbatch};
    if (f->replicas > 0) {
        for (int i = 0; i < g->n_parts; i++)
            k->list[i][0] = list_of(r, g, i, g->mix[i], f->n_microbatches, f->most_stages);
        in_flight = weft_pipe_relaxed_flight(p, group + 1, f->n_microbatches);
    } else {
        k->n_shares = p->n_shares;
        for (int i = 0; i < g->n_parts; i++)
            for (int x = 0; x < p->n_shares; x++)
                if (r->best->costs->row[weft_train_problem_table(p, g->class_id[i], g->width, x)]
                        .is_there)
                    k->list[i][x] = list_of(r, g, i, x, f->n_microbatches, f->most_stages);
    }
    return mix_list(r, f, k, in_flight, scratch);
}

/* --- suffixes -------------------------------------------------------------------------------- */

typedef struct relaxing {
    weft_pipe_relaxer *r;
    const weft_pipe_family *f;
    const weft_pipe_nodes *nodes;
    const stage_list **group; /* [groups] */
    bool is_flat;
    int n_cuts;
    double m;
    double *bound_s; /* [node * n_cuts + cut] */
} relaxing;

static double *row_of(const relaxing *x, int node)
{
    return x->bound_s + (size_t)node * (size_t)x->n_cuts;
}

static int64_t flight_of(const relaxing *x, int node)
{
    return x->is_flat ? 1
                      : weft_pipe_relaxed_flight(x->r->best->costs->p, x->nodes->n_stages[node],
                                                 x->f->n_microbatches);
}

/* Takes the stages of a move in front of the suffixes of its next node into account: of a graph
 * all. */
static void take_all(relaxing *x, int node, int move)
{
    const weft_pipe_costs *c = x->r->best->costs;
    const stage_list *list = x->group[x->nodes->move[move].group];
    const double *rest = row_of(x, x->nodes->move[move].next);
    double *to = row_of(x, node);
    int64_t in_flight = flight_of(x, node);

    for (int inner = x->n_cuts - 2; inner >= 0; inner--) {
        double best = to[inner];

        for (int i = 0; i < n_outer(c, inner); i++) {
            double rest_s = rest[outer_of(c, inner, i)], l;

            if (!(rest_s < best))
                continue;
            l = look(list, inner, i, in_flight);
            best = fmin(best, fmax(x->m * l, l + rest_s));
        }
        x->r->n_looks += n_outer(c, inner);
        to[inner] = best;
    }
}

/* The same of a chain. */
static void take_move(relaxing *x, int node, int move)
{
    const stage_list *list = x->group[x->nodes->move[move].group];
    const double *rest = row_of(x, x->nodes->move[move].next);
    double *to = row_of(x, node);
    int64_t in_flight = flight_of(x, node);
    int last = x->n_cuts - 1, k = last; /* the first at which m l counts, or the end */

    for (int inner = last - 1; inner >= 0; inner--) {
        double best = fmin(to[inner], rest[inner]), l;

        while (k - 1 > inner) {
            l = look(list, inner, k - 2 - inner, in_flight);
            if (!(x->m * l >= l + rest[k - 1]))
                break;
            k--;
        }
        for (int outer = k; outer > inner && rest[outer] < best; outer--) {
            l = look(list, inner, outer - inner - 1, in_flight);
            best = fmin(best, fmax(x->m * l, l + rest[outer]));
            x->r->n_looks++;
        }
        x->r->n_looks++;
        to[inner] = best;
    }
}

/* False: time is up. */
static bool fill(relaxing *x)
{
    size_t n = (size_t)x->nodes->n_nodes * (size_t)x->n_cuts;
    bool is_chain = x->r->best->costs->outer == NULL;

    for (size_t i = 0; i < n; i++)
        x->bound_s[i] = INFINITY;
    x->bound_s[x->n_cuts - 1] = 0;
    for (int node = 1; node < x->nodes->n_nodes; node++) {
        row_of(x, node)[x->n_cuts - 1] = 0; /* all left out */
        for (int t = x->nodes->move_at[node]; t < x->nodes->move_at[node + 1]; t++)
            (is_chain ? take_move : take_all)(x, node, t);
        if (weft_pipe_spend(x->r->best, 1 + x->r->n_looks / STEP))
            return false;
        x->r->n_looks %= STEP;
    }
    return true;
}

/* --- whole pipelines ------------------------------------------------------------------------- */

/* After the last backward of the first stage: the least of all layouts. */
static double tail_s(const relaxing *x, int root, int move, int outer)
{
    weft_pipe_costs *c = x->r->best->costs;
    const weft_pipe_group *g = &x->f->group[x->nodes->move[move].group];
    weft_pipe_range range = {0, outer, 1};
    weft_pipe_stage none = {0};
    double least_s = INFINITY, update_s = weft_pipe_update_s(c, g, &range, 0);

    if (x->f->replicas == 0)
        return 0;
    if (weft_sync_overlaps(c->p) || c->p->constraints.zero >= WEFT_ZERO_GRADIENTS)
        return update_s;
    for (int k = 0; k < (x->f->is_row ? 1 : WEFT_PIPE_N_LAYOUTS); k++) {
        weft_stage s = weft_pipe_stage_at(c->p, x->f, x->nodes, (weft_pipe_layout)k, root, move, 0);
        weft_levels way[2];
        int n_ways = weft_sync_ways(c->p, &s, way);

        least_s = fmin(least_s, weft_pipe_sync_s(c, g, &range, way, n_ways, &none));
    }
    return update_s + least_s;
}

/* The pipelines of a root, or with stages of it left out. */
static double root_s(const relaxing *x, int root, double most_s)
{
    const weft_pipe_costs *c = x->r->best->costs;
    int64_t in_flight = flight_of(x, root);
    double best = most_s;

    for (int t = x->nodes->move_at[root]; t < x->nodes->move_at[root + 1]; t++) {
        const stage_list *list = x->group[x->nodes->move[t].group];
        const double *rest = row_of(x, x->nodes->move[t].next);

        for (int i = n_outer(c, 0) - 1; i >= 0; i--) {
            int outer = outer_of(c, 0, i);
            double l, s;

            if (!(rest[outer] < best))
                continue;
            l = look(list, 0, i, in_flight);
            s = fmax(x->m * l, l + rest[outer]);
            if (s < best)
                best = fmin(best, s + tail_s(x, root, t, outer));
            x->r->n_looks++;
        }
    }
    return best;
}

/* The groups of the stages of a pipeline that has the bound; false: stages are left out of it. */
static bool trace(const relaxing *x, int root, weft_pipe_sequence *out)
{
    const weft_pipe_costs *c = x->r->best->costs;
    int node = root, cut = 0;

    out->n = x->nodes->n_stages[root];
    for (int i = out->n - 1; i >= 0; i--) {
        int64_t in_flight = flight_of(x, node);
        double best = INFINITY;
        int next = 0, to = 0;

        for (int t = x->nodes->move_at[node]; t < x->nodes->move_at[node + 1]; t++)
            for (int place = 0; place < n_outer(c, cut); place++) {
                int k = outer_of(c, cut, place);
                double l = look(x->group[x->nodes->move[t].group], cut, place, in_flight);
                double s = fmax(x->m * l, l + row_of(x, x->nodes->move[t].next)[k]);

                if (s < best) {
                    best = s;
                    next = x->nodes->move[t].next;
                    to = k;
                    out->group[i] = x->nodes->move[t].group;
                }
            }
        if (!(best < INFINITY))
            return false;
        node = next;
        cut = to;
        if (cut == x->n_cuts - 1 && i > 0)
            return false;
    }
    return cut == x->n_cuts - 1;
}

static void keep_sequence(const relaxing *x, int root, double bound_s, weft_pipe_sequence *list)
{
    weft_pipe_sequence s = {.bound_s = bound_s};
    int at = WEFT_PIPE_N_SEQUENCES;

    if (x->is_flat || x->f->is_row || !(bound_s < list[WEFT_PIPE_N_SEQUENCES - 1].bound_s) ||
        x->nodes->n_stages[root] > WEFT_PIPE_MOST_SEQUENCE || !trace(x, root, &s))
        return;
    while (at > 0 && bound_s < list[at - 1].bound_s)
        at--;
    for (int i = WEFT_PIPE_N_SEQUENCES - 1; i > at; i--)
        list[i] = list[i - 1];
    list[at] = s;
}

static double least_of_roots(const relaxing *x, weft_pipe_sequence *list)
{
    double least = INFINITY;

    for (int root = 1; root < x->nodes->n_nodes; root++) {
        double s;

        if (!x->is_flat && !weft_pipe_is_length(x->r->best->costs->p, x->nodes->n_stages[root]))
            continue;
        s = root_s(x, root, INFINITY);
        least = fmin(least, s);
        keep_sequence(x, root, s, list);
    }
    return least;
}

static void list_groups(relaxing *x, weft_arena *scratch)
{
    x->group = WEFT_NEW(scratch, const stage_list *, x->f->n_groups);
    for (int i = 0; i < x->f->n_groups; i++) {
        const weft_pipe_group *g = &x->f->group[i];

        x->group[i] = g->n_parts == 1 && g->n_mixes == 1
                          ? list_of(x->r, g, 0, g->mix[0], x->f->n_microbatches, x->f->most_stages)
                          : mixed_list(x->r, x->f, i, scratch);
    }
}

double weft_pipe_relaxed_s(weft_pipe_relaxer *r, const weft_pipe_family *f,
                           weft_pipe_sequence *list, weft_arena *scratch)
{
    size_t mark = weft_arena_mark(scratch);
    const weft_train_problem *p = r->best->costs->p;
    relaxing x = {.r = r,
                  .f = f,
                  .is_flat = f->replicas == 0,
                  .n_cuts = p->blocks.n_cuts,
                  .m = (double)f->n_microbatches};
    int most = MOST_ENTRIES / x.n_cuts;
    double least = 0;

    for (int i = 0; i < WEFT_PIPE_N_SEQUENCES; i++)
        list[i] = (weft_pipe_sequence){.bound_s = INFINITY};
    make_room(r);
    x.nodes = x.is_flat ? weft_pipe_flat_nodes_of(f, most, scratch)
                        : weft_pipe_nodes_of(f, most, scratch);
    if (x.nodes != NULL && p->n_shares <= 64) {
        list_groups(&x, scratch);
        x.bound_s = WEFT_NEW_RAW(scratch, double, (size_t)x.nodes->n_nodes *(size_t)x.n_cuts);
        if (!r->best->is_over && fill(&x))
            least = least_of_roots(&x, list) * (1 - 1e-12);
    }
    weft_arena_rewind(scratch, mark);
    return least;
}
