/* SPDX-License-Identifier: MIT */
/* infeasibility.c: why no plan fits, in one line: which memory, by how much at least, and the smallest
 * change that would fit.
 *
 * 1. The least overflow: over families and schedules, by dynamic programming over suffixes, the
 *    least over uniform plans of the most bytes that a stage is over. Stages that are over by more
 *    than the least so far are not looked at.
 * 2. Changes are tried in this order, and the first that fits is named: a recomputation, then a
 *    schedule, that was not allowed; a smaller microbatch than the one asked for; moments, then
 *    gradients, then weights split over replicas; more devices of the class that is over, in islands like the largest it has,
 *    their number found by doubling and bisection. With a change the problem is the same but for
 *    the numbers changed; there is a plan if the suffix tables without hops reach the empty cut
 *    (pipe_search.c).
 *
 * What is named fits. What is not named may fit: steps and time are limited, interleaved schedules
 * are not looked at, and only telling families are (see there). The line says so. */
#include <math.h>
#include <string.h>

#include "infeasibility.h"

enum { MOST_NODES = 5000, MOST_STEPS = 3000000, MOST_DEVICES = 4096 };

typedef struct trial {
    const weft_train_problem *p;
    weft_run *run;
    weft_arena *a;
    bool is_cut; /* some answer was no because steps or time ended */
} trial;

/* --- the least overflow ---------------------------------------------------------------------- */

typedef struct overflow {
    weft_pipe_costs *c;
    const weft_pipe_family *f;
    const weft_pipe_nodes *nodes;
    double *over; /* [node * n_cuts + cut] least over ways to stage what is left */
    int *class_id;
    double least; /* of all so far */
    int least_class;
} overflow;

/* The stage in front of `next`; false: longer ones need no look. */
static bool take_stage(overflow *o, size_t at, const weft_pipe_move *move, int64_t in_flight,
                       int inner, int outer)
{
    size_t next = (size_t)move->next * (size_t)o->c->p->blocks.n_cuts + (size_t)outer;
    int class_id = -1;
    double over;

    if (!(o->over[next] < o->least))
        return true;
    over = weft_pipe_stage_over(o->c, &o->f->group[move->group],
                                &(weft_pipe_range){inner, outer, in_flight}, &class_id);
    if (over >= o->least)
        return false;
    if (over < o->over[next]) {
        over = o->over[next];
        class_id = o->class_id[next];
    }
    if (over < o->over[at]) {
        o->over[at] = over;
        o->class_id[at] = class_id;
    }
    return true;
}

static void fill_cut(overflow *o, int node, int inner, int64_t in_flight)
{
    const weft_pipe_costs *c = o->c;
    int last = c->p->blocks.n_cuts - 1;
    size_t at = (size_t)node * (size_t)(last + 1) + (size_t)inner;

    for (int t = o->nodes->move_at[node]; t < o->nodes->move_at[node + 1]; t++) {
        const weft_pipe_move *move = &o->nodes->move[t];

        if (move->next == 0)
            (void)take_stage(o, at, move, in_flight, inner, last);
        else if (c->outer == NULL)
            for (int k = inner + 1; k < last && take_stage(o, at, move, in_flight, inner, k);)
                k++;
        else
            for (int k = c->outer_at[inner]; k < c->outer_at[inner + 1]; k++)
                if (c->outer[k] < last)
                    (void)take_stage(o, at, move, in_flight, inner, c->outer[k]);
    }
}

static void overflow_of(overflow *o, weft_schedule schedule, weft_arena *scratch)
{
    int n_cuts = o->c->p->blocks.n_cuts;
    size_t n = (size_t)o->nodes->n_nodes * (size_t)n_cuts;

    o->over = WEFT_NEW_RAW(scratch, double, n);
    o->class_id = WEFT_NEW(scratch, int, n);
    for (size_t i = 0; i < n; i++)
        o->over[i] = INFINITY;
    o->over[n_cuts - 1] = -INFINITY;
    for (int node = 1; node < o->nodes->n_nodes; node++) {
        size_t whole = (size_t)node * (size_t)n_cuts;

        for (int inner = n_cuts - 2; inner >= 0; inner--)
            fill_cut(o, node, inner,
                     weft_pipe_in_flight(schedule, o->nodes->n_stages[node], o->f->n_microbatches));
        if (o->over[whole] < o->least && weft_pipe_is_length(o->c->p, o->nodes->n_stages[node])) {
            o->least = o->over[whole];
            o->least_class = o->class_id[whole];
        }
    }
}

/* Which families are looked at. More samples make a stage need more memory, and replicas only
 * divide moments that are split, so the smallest microbatch without device sets tells most. But
 * larger ones are fewer: where that leaves fewer of them in flight, replicas with the least share
 * count too. */
typedef struct telling {
    bool has_uniform;
    int64_t least_share, least_microbatch, most_microbatches;
} telling;

static telling tell_from(const weft_pipe_families *all)
{
    telling t = {.least_share = INT64_MAX, .least_microbatch = INT64_MAX};

    for (int i = 0; i < all->n; i++) {
        const weft_pipe_family *f = &all->at[i];
        int64_t share = f->replicas > 0 ? f->microbatch / f->replicas : f->microbatch;

        t.has_uniform = t.has_uniform || f->replicas > 0;
        if (share < t.least_share)
            t.least_share = share;
        if (f->microbatch < t.least_microbatch) {
            t.least_microbatch = f->microbatch;
            t.most_microbatches = f->n_microbatches;
        }
    }
    return t;
}

static bool is_telling(const weft_train_problem *p, const telling *t, const weft_pipe_family *f,
                       weft_schedule schedule)
{
    if (t->has_uniform && f->replicas == 0)
        return false;
    if (p->constraints.zero >= 1 || f->microbatch == t->least_microbatch)
        return true;
    return f->microbatch == t->least_share * f->replicas &&
           weft_pipe_in_flight(schedule, f->most_stages, f->n_microbatches) <
               weft_pipe_in_flight(schedule, f->most_stages, t->most_microbatches);
}

/* The least overflow of the space; INFINITY: no plan but for memory either. */
static double least_overflow(const trial *q, int *class_id)
{
    weft_arena *a = weft_arena_new(), *scratch = weft_arena_new();
    weft_pipe_costs c;
    weft_pipe_families families;
    overflow o = {.c = &c, .least = INFINITY, .least_class = -1};
    telling t;

    weft_pipe_costs_new(q->p, a, &c);
    families = weft_pipe_families_of(&c, a);
    t = tell_from(&families);
    for (int i = 0; i < families.n && c.n_tried < MOST_STEPS; i++)
        for (int s = 0; s < WEFT_INTERLEAVED; s++) {
            size_t mark = weft_arena_mark(scratch);

            o.f = &families.at[i];
            if (!(q->p->constraints.schedules >> s & 1) ||
                !is_telling(q->p, &t, o.f, (weft_schedule)s))
                continue;
            o.nodes = weft_pipe_nodes_of(o.f, MOST_NODES, scratch);
            if (o.nodes != NULL)
                overflow_of(&o, (weft_schedule)s, scratch);
            weft_arena_rewind(scratch, mark);
        }
    weft_arena_free(scratch);
    weft_arena_free(a);
    *class_id = o.least_class;
    return o.least;
}

/* --- would it fit? --------------------------------------------------------------------------- */

static bool family_fits(trial *q, weft_pipe_best *best, const weft_pipe_family *f,
                        weft_schedule schedule, weft_arena *scratch)
{
    int n_cuts = best->costs->p->blocks.n_cuts;
    weft_pipe_nodes *nodes = weft_pipe_nodes_of(f, MOST_NODES, scratch);
    weft_pipe_links links;
    weft_pipe_table t;

    if (nodes == NULL) {
        q->is_cut = true;
        return false;
    }
    links = weft_pipe_links_free(nodes, scratch);
    t = (weft_pipe_table){.family = f, .nodes = nodes, .links = &links, .schedule = schedule};
    if (!weft_pipe_suffixes(best, &t, -1, scratch)) {
        q->is_cut = true;
        return false;
    }
    for (int node = 1; node < nodes->n_nodes; node++)
        if (t.bound_s[(size_t)node * (size_t)n_cuts] < INFINITY &&
            weft_pipe_is_length(best->costs->p, nodes->n_stages[node]))
            return true;
    return false;
}

/* Is there a plan of the problem? */
static bool fits(trial *q, const weft_train_problem *p)
{
    weft_arena *a = weft_arena_new(), *scratch = weft_arena_new();
    weft_pipe_costs c;
    weft_pipe_families families;
    weft_pipe_best best = {
        .costs = &c, .run = q->run, .value_s = INFINITY, .a = a, .most_steps = MOST_STEPS};
    bool is_found = false;
    telling t;

    weft_pipe_costs_new(p, a, &c);
    families = weft_pipe_families_of(&c, a);
    t = tell_from(&families);
    q->is_cut = q->is_cut || !families.is_complete;
    for (int i = 0; i < families.n && !is_found && !best.is_over; i++)
        for (int s = 0; s < WEFT_INTERLEAVED && !is_found; s++) {
            size_t mark = weft_arena_mark(scratch);

            if ((p->constraints.schedules >> s & 1) &&
                is_telling(p, &t, &families.at[i], (weft_schedule)s))
                is_found = family_fits(q, &best, &families.at[i], (weft_schedule)s, scratch);
            weft_arena_rewind(scratch, mark);
        }
    weft_arena_free(scratch);
    weft_arena_free(a);
    return is_found;
}

/* The problem with more devices of a class, in islands like its largest. Only counts are right:
 * such a cluster has no devices. */
static weft_train_problem with_devices(const weft_train_problem *p, int class_id, int n,
                                       weft_cluster *cluster, weft_arena *a)
{
    weft_train_problem changed = *p;
    weft_class *classes =
        weft_arena_copy(a, p->cluster->classes, sizeof *classes * (size_t)p->cluster->n_classes);
    weft_class *c = &classes[class_id];
    int size = 1, *at;

    for (int i = 0; i < c->n_islands; i++)
        if (c->island_at[i + 1] - c->island_at[i] > size)
            size = c->island_at[i + 1] - c->island_at[i];
    c->n_devices = n;
    c->n_islands = (n + size - 1) / size;
    at = WEFT_NEW(a, int, c->n_islands + 1);
    for (int i = 0; i <= c->n_islands; i++)
        at[i] = i * size < n ? i * size : n;
    c->island_at = at;
    *cluster = *p->cluster;
    cluster->classes = classes;
    changed.cluster = cluster;
    return changed;
}

static bool fits_with(trial *q, int class_id, int n)
{
    size_t mark = weft_arena_mark(q->a);
    weft_cluster cluster;
    weft_train_problem changed = with_devices(q->p, class_id, n, &cluster, q->a);
    bool is_enough = fits(q, &changed);

    weft_arena_rewind(q->a, mark);
    return is_enough;
}

/* The least number of devices of a class with which there is a plan; 0: none is found. If an answer
 * was cut short, fewer may do. */
static int devices_needed(trial *q, int class_id)
{
    int low = q->p->cluster->classes[class_id].n_devices, high = low;

    do {
        if (high >= MOST_DEVICES)
            return 0;
        high = 2 * high < MOST_DEVICES ? 2 * high : MOST_DEVICES;
    } while (!fits_with(q, class_id, high));
    while (high - low > 1) {
        int middle = low + (high - low) / 2;

        if (fits_with(q, class_id, middle))
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* --- the line -------------------------------------------------------------------------------- */

/* "would fit with ...", or NULL: a schedule, or a recomputation, that was not allowed. */
static const char *by_allowing(trial *q, bool is_schedule)
{
    for (int i = 0; i < (is_schedule ? (int)WEFT_INTERLEAVED : (int)WEFT_N_RECOMPUTES); i++) {
        weft_train_problem changed = *q->p;
        unsigned *allowed =
            is_schedule ? &changed.constraints.schedules : &changed.constraints.recomputes;

        if (*allowed >> i & 1)
            continue;
        *allowed |= 1u << i;
        if (fits(q, &changed))
            return weft_arena_print(q->a, "would fit with %s '%s'",
                                    is_schedule ? "schedule" : "recomputation",
                                    is_schedule ? weft_schedule_name((weft_schedule)i)
                                                : weft_recompute_name((weft_recompute)i));
    }
    return NULL;
}

/* The largest smaller microbatch that fits. */
static const char *by_microbatch(trial *q)
{
    for (int64_t b = q->p->constraints.microbatch - 1; b > 0; b--) {
        weft_train_problem changed = *q->p;

        if (q->p->constraints.batch % b != 0)
            continue;
        changed.constraints.microbatch = b;
        if (fits(q, &changed))
            return weft_arena_print(q->a,
                                    "would fit with microbatches of %lld samples instead of "
                                    "%lld",
                                    (long long)b, (long long)q->p->constraints.microbatch);
    }
    return NULL;
}

/* The lowest level of what replicas divide. */
static const char *by_splitting(trial *q)
{
    static const char *const what[] = {
        [WEFT_ZERO_MOMENTS] = "the optimizer's state",
        [WEFT_ZERO_GRADIENTS] = "the optimizer's state and gradients",
        [WEFT_ZERO_WEIGHTS] = "the optimizer's state, gradients and weights",
    };

    for (int zero = q->p->constraints.zero + 1; zero <= WEFT_MOST_ZERO; zero++) {
        weft_train_problem changed = *q->p;

        changed.constraints.zero = zero;
        if (fits(q, &changed))
            return weft_arena_print(q->a, "would fit with %s split over replicas (--zero %d)",
                                    what[zero], zero);
    }
    return NULL;
}

static const char *by_recomputing(trial *q)
{
    return by_allowing(q, false);
}

static const char *by_scheduling(trial *q)
{
    return by_allowing(q, true);
}

/* What may lift it, in the order in which it is tried: each gives "would fit with ...", or NULL. */
static const char *(*const remedies[])(trial *) = {by_recomputing, by_scheduling, by_microbatch,
                                                   by_splitting};

static const char *by_devices(trial *q, int class_id)
{
    const weft_class *c = &q->p->cluster->classes[class_id];
    int n;
    char room[32];

    q->is_cut = false;
    n = devices_needed(q, class_id);
    if (n == 0)
        return NULL;
    return weft_arena_print(q->a, "would fit with %d devices of %s%s instead of %d", n,
                            weft_format_bytes(c->memory_bytes, room),
                            q->is_cut ? ", or fewer," : "", c->n_devices);
}

/* The first change that fits, or that none is known. */
static const char *change_that_fits(trial *q, int class_id)
{
    const char *text = NULL;
    bool is_cut;

    for (size_t i = 0; i < sizeof remedies / sizeof *remedies && text == NULL; i++)
        text = remedies[i](q);
    is_cut = q->is_cut;
    if (text == NULL)
        text = by_devices(q, class_id);
    if (text != NULL)
        return text;
    if (is_cut || q->is_cut)
        return "what would fit was not found within the limits of the search";
    return weft_arena_print(q->a,
                            "no other recomputation, schedule or microbatch, and no number of such "
                            "devices up to %d, was found to help",
                            MOST_DEVICES);
}

/* Nothing but interleaved schedules is allowed; these have rules of their own. */
static const char *interleaved_infeasibility(trial *q)
{
    const char *change = by_allowing(q, true);

    return weft_arena_print(
        q->a,
        "no interleaved plan fits: it takes a network that is a chain, memory for two or more "
        "stages with chunks as equal as can be, and a number of microbatches that the stages "
        "divide; %s",
        change != NULL ? change : "no other schedule was found to fit either");
}

/* What the memory that is said to be too small was counted with. */
static const char *assumptions(const weft_train_problem *p, weft_arena *a)
{
    const weft_train_constraints *x = &p->constraints;
    const char *margin = x->memory_margin > 0
                             ? weft_arena_print(a, "%g %% of it left free", 100 * x->memory_margin)
                             : "all of it in use";

    return weft_arena_print(a, "; counted with recipe %s, ZeRO level %d, %s",
                            weft_recipe_name(x->recipe), x->zero, margin);
}

const char *weft_pipe_infeasibility(const weft_train_problem *p, weft_run *run, weft_arena *a)
{
    trial q = {.p = p, .run = run, .a = a};
    const weft_class *c;
    int class_id;
    double over;
    char room[32], more[32];

    if (p->constraints.schedules == 1u << WEFT_INTERLEAVED)
        return interleaved_infeasibility(&q);
    over = least_overflow(&q, &class_id);
    if (!(over < INFINITY))
        return "no stage can be formed within the limits on microbatch, width, replicas, stages "
               "and schedules, with as many microbatches as can be simulated";
    if (!(over > 0))
        return "no plan fits memory under the schedules that are allowed";
    c = &p->cluster->classes[class_id];
    weft_format_bytes(weft_train_room_bytes(p, class_id), room);
    weft_format_bytes(over, more);
    return weft_arena_print(
        a, "no plan fits memory: devices of '%s' have %s, the best plan needs %s more; %s%s",
        c->kind, room, more, change_that_fits(&q, class_id), assumptions(p, a));
}
