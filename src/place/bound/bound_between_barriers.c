/* SPDX-License-Identifier: MIT */
/* bound_between_barriers.c: from barrier to barrier.
 *
 * Section (j, k, l) of a subproblem: barrier j - 1 ends on device k at time 0, and barrier j ends on l as
 * early as possible. When a barrier ends all devices are idle, so a schedule takes at least the sum
 * of its sections, and no schedule is below the shortest way through all barriers over their devices.
 * Data from before a barrier is taken to be everywhere (series.c). The first section has no entry, the
 * last one ends with the subproblem and counts its tails.
 *
 * 1. All sections are 0 long at first. What is known of a section grows by stages: a search with few states
 *    (exact.c), a linear program of loads and ways that pay no transfers, and the same with the
 *    transfers that matter (milp_model.c). A section that a search closes is done at once.
 * 2. The shortest way; all its sections that were never searched are searched. If there are none, the
 *    section of the earliest stage, the first on a tie, is taken to the next.
 * 3. Step 2 again until the shortest way has only sections that are done.
 *
 * Sections off the shortest way do not matter, so few of them are ever solved. With both ends on known
 * devices a program knows what reaching the exit costs each device: that is why sections are stronger
 * than parts with any exit. At any time the shortest way is a bound: no section is longer than it can
 * be in a schedule. Without an engine for linear programs the search is all there is.
 * Time: that of the programs, and barriers * devices^2 for each of them. */
#include "bound.h"
#include "milp_place.h"

#include <math.h>
#include <string.h>

enum {
    SMALL = 64,        /* tasks of a part that search may close; others get its first bound */
    MOST_SIZE = 6000,  /* tasks * devices + edges * devices^2 of a program */
    WINDOWS = 6,       /* heads, and tails, of the first rows */
    LOOSE_ROUNDS = 0,  /* of cuts */
    TIGHT_ROUNDS = 1,  /* of cuts and transfers */
    STEPS_A_TASK = 64, /* of search that a program counts for, each stage */
};

typedef enum stage { UNKNOWN, SEARCHED, LOOSE, DONE } stage;

typedef struct section {
    double length_s;
    stage stage;
    weft_milp_model model; /* of stage LOOSE */
} section;

/* What lies between two barriers; the second is its last task. */
typedef struct part {
    int begin, end, entry; /* entry: the first barrier, or -1 */
    bool has_exit;
    int n_in, n_out;   /* devices of the entry and the exit; 1 without */
    section *sections; /* [entry device * n_out + exit device] */
    double *rest_s;    /* [n_in] shortest way from the entry to the end */
    int *next;         /* [n_in] exit device on it */
} part;

typedef struct ways {
    const weft_subproblem *subproblem;
    const weft_between_barriers_effort *effort;
    weft_arena *arena;
    part *parts;
    int n_parts;
    int64_t steps;
} ways;

/* --- sections -------------------------------------------------------------------------------- */

static weft_subproblem *section_subproblem(const ways *w, const part *p, int from, int to)
{
    int k = w->subproblem->n_devices;
    weft_part cut = {p->begin, p->end, p->entry, from, p->has_exit, w->subproblem->tail_s};
    weft_subproblem *x = weft_subproblem_part(w->subproblem, &cut, w->arena);
    size_t n_cells = (size_t)x->n_tasks * (size_t)k;
    double *time_s = weft_arena_copy(w->arena, x->time_s, sizeof *time_s * n_cells);

    if (p->entry < 0)
        memcpy((void *)x->free_s, w->subproblem->free_s, sizeof *x->free_s * (size_t)k);
    for (int d = 0; p->has_exit && d < k; d++) {
        if (d != to)
            time_s[n_cells - (size_t)k + (size_t)d] = INFINITY;
    }
    for (size_t i = 0; i < n_cells; i++) { /* the entry does not reach it: as good as impossible */
        if (!(x->release_s[i] < INFINITY))
            time_s[i] = INFINITY;
    }
    x->time_s = time_s;
    if (p->has_exit) /* the end of the exit is what counts */
        x->tail_s = WEFT_NEW(w->arena, double, n_cells);
    return x;
}

static void search_section(ways *w, section *g, const weft_subproblem *x)
{
    bool is_small = x->n_tasks <= SMALL;
    double size = (double)x->n_devices * (x->n_tasks + (double)x->n_edges * x->n_devices);
    weft_effort e = {.upper = INFINITY,
                     .most_states = is_small ? w->effort->part_states : 1,
                     .run = w->effort->run};
    weft_answer r = weft_subproblem_solve(x, &e, w->arena);

    w->steps += r.n_states + 1;
    g->length_s = r.is_closed ? r.value : r.bound;
    g->stage = r.is_closed || size > MOST_SIZE ? DONE : SEARCHED;
}

static void relax_section(ways *w, section *g, const weft_subproblem *x)
{
    weft_milp_effort e = {.limit_s = weft_run_left_s(w->effort->run),
                          .rounds = g->stage == SEARCHED ? LOOSE_ROUNDS : TIGHT_ROUNDS,
                          .adds_sends = g->stage == LOOSE,
                          .stop = w->effort->run->stop};

    if (g->stage == SEARCHED) {
        g->model = weft_milp_model_new(x, INFINITY, WEFT_MILP_LOOSE, w->arena);
        if (g->model.is_empty) /* a task that no device can take; engines are not asked that */
            g->length_s = INFINITY;
        else
            weft_milp_model_windows(&g->model, WINDOWS);
    }
    weft_milp_model_tighten(&g->model, &e);
    w->steps += (int64_t)STEPS_A_TASK * g->model.subproblem->n_tasks;
    g->length_s = fmax(g->length_s, g->model.lower);
    g->stage = g->stage == SEARCHED && !g->model.is_empty ? LOOSE : DONE;
    if (g->stage == DONE)
        weft_milp_free(g->model.milp);
}

/* Takes section (from, to) of a part to its next stage. */
static void raise_section(ways *w, const part *p, int from, int to)
{
    section *g = &p->sections[from * p->n_out + to];
    const double *time_s = w->subproblem->time_s;
    size_t k = (size_t)w->subproblem->n_devices;

    if ((p->entry >= 0 && !(time_s[(size_t)p->entry * k + (size_t)from] < INFINITY)) ||
        (p->has_exit && !(time_s[(size_t)(p->end - 1) * k + (size_t)to] < INFINITY))) {
        g->length_s = INFINITY;
        g->stage = DONE;
    } else if (g->stage == UNKNOWN) {
        search_section(w, g, section_subproblem(w, p, from, to));
    } else {
        relax_section(w, g, g->stage == SEARCHED ? section_subproblem(w, p, from, to) : NULL);
    }
}

/* --- ways ------------------------------------------------------------------------------------ */

static void add_part(ways *w, int begin, int end, bool has_exit)
{
    part *p = &w->parts[w->n_parts++];
    int k = w->subproblem->n_devices;

    *p = (part){.begin = begin, .end = end, .entry = begin - 1, .has_exit = has_exit};
    p->n_in = begin > 0 ? k : 1;
    p->n_out = has_exit ? k : 1;
    p->sections = WEFT_NEW(w->arena, section, (size_t)p->n_in * (size_t)p->n_out);
    p->rest_s = WEFT_NEW(w->arena, double, p->n_in);
    p->next = WEFT_NEW(w->arena, int, p->n_in);
}

static void cut_parts(ways *w)
{
    int n = w->subproblem->n_tasks, begin = 0;
    const bool *is_barrier = weft_subproblem_barriers(w->subproblem, w->arena);

    w->parts = WEFT_NEW(w->arena, part, n + 1);
    for (int v = 0; v < n; v++) {
        if (is_barrier[v]) {
            add_part(w, begin, v + 1, true);
            begin = v + 1;
        }
    }
    if (begin < n)
        add_part(w, begin, n, false);
}

/* What follows the last barrier on each device if it is the last task: its tail. */
static double after_s(const ways *w, const part *p, int to)
{
    const weft_subproblem *x = w->subproblem;

    return p->has_exit ? x->tail_s[(size_t)(p->end - 1) * (size_t)x->n_devices + (size_t)to] : 0;
}

/* Shortest ways from all entries to the end; returns the length of the shortest. */
static double find_ways(const ways *w)
{
    for (int j = w->n_parts - 1; j >= 0; j--) {
        const part *p = &w->parts[j];
        bool is_last = j == w->n_parts - 1;

        for (int k = 0; k < p->n_in; k++) {
            p->rest_s[k] = INFINITY;
            p->next[k] = 0;
            for (int l = 0; l < p->n_out; l++) {
                double rest_s = is_last ? after_s(w, p, l) : w->parts[j + 1].rest_s[l];

                rest_s += p->sections[k * p->n_out + l].length_s;
                if (rest_s < p->rest_s[k]) {
                    p->rest_s[k] = rest_s;
                    p->next[k] = l;
                }
            }
        }
    }
    return w->parts[0].rest_s[0];
}

static bool is_over(const ways *w)
{
    return w->steps >= w->effort->most_steps || weft_run_is_over(w->effort->run);
}

/* Raises what must be raised of the shortest way; false if all of it is done. */
static bool raise_way(ways *w)
{
    bool has_searched = false;
    const part *worst = NULL;
    int at = 0, worst_at = 0;
    stage least = DONE;

    for (int j = 0; j < w->n_parts && !is_over(w); at = w->parts[j++].next[at]) {
        const part *p = &w->parts[j];
        stage now = p->sections[at * p->n_out + p->next[at]].stage;

        if (now == UNKNOWN) {
            raise_section(w, p, at, p->next[at]);
            has_searched = true;
        } else if (now < least) {
            least = now;
            worst = p;
            worst_at = at;
        }
    }
    if (!has_searched && worst != NULL && !is_over(w))
        raise_section(w, worst, worst_at, worst->next[worst_at]);
    return has_searched || worst != NULL;
}

static void free_models(const ways *w)
{
    for (int j = 0; j < w->n_parts; j++) {
        for (int i = 0; i < w->parts[j].n_in * w->parts[j].n_out; i++) {
            if (w->parts[j].sections[i].stage == LOOSE)
                weft_milp_free(w->parts[j].sections[i].model.milp);
        }
    }
}

double weft_between_barriers_bound(const weft_subproblem *x, const weft_between_barriers_effort *e,
                                   int64_t *steps)
{
    ways w = {.subproblem = x, .effort = e, .arena = weft_arena_new()};
    double bound = 0;
    bool is_open = true;

    if (x->n_tasks > 0 && x->n_devices <= WEFT_SUBPROBLEM_DEVICES) {
        cut_parts(&w);
        while (is_open && bound < e->upper && !is_over(&w)) {
            is_open = raise_way(&w);
            bound = find_ways(&w);
        }
        free_models(&w);
    }
    *steps = w.steps;
    weft_arena_free(w.arena);
    return bound;
}
