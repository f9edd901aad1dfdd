/* SPDX-License-Identifier: MIT */
/* window.c: re-optimisation of a schedule by exact windows.
 *
 * 1. Draw a task on a longest way, and around it a window of one of four kinds:
 *      time     tasks that follow each other in the order of starts, on all devices
 *      module   tasks of its module
 *      pair     tasks of its module and of the module that the longest way enters or leaves
 *      random   tasks collected along edges and neighbours on devices
 *    Windows other than `time` hold fixed tasks between their own; they are cut around the drawn
 *    task until not more than SPAN tasks are left.
 * 2. A window that a longest way leaps over, or that lies in one already closed without gain since
 *    the last change, is drawn again.
 * 3. Solve its subproblem with the value of the schedule as the limit and few states. A schedule below
 *    the limit is put in; timing.c keeps it only if the whole is better.
 * 4. A closed window makes its kind one task larger, one that ran out of states one smaller. Kinds
 *    that gain are drawn more often.
 *
 * The value never rises and every schedule on the way is legal. No other guarantee, unless one
 * window holds everything. A window costs its own size, not that of the schedule; an accepted one
 * O(tasks + edges). */
#include "window.h"
#include "rows.h"
#include "sort.h"

#include "timing.h"

#include <math.h>
#include <string.h>

enum { SPAN = 3, FIRST_FREE = 12, LEAST_FREE = 6, MOST_DRAWS = 24 }; /* SPAN: times the free ones */

typedef enum kind { BY_TIME, BY_MODULE, BY_PAIR, AT_RANDOM, N_KINDS } kind;

typedef struct search {
    weft_timing *timing;
    const weft_window_options *options;
    weft_rng rng;
    weft_arena *arena;                     /* of windows: rewound after each */
    int size[N_KINDS];                     /* free tasks of the next window */
    double gains[N_KINDS], tries[N_KINDS]; /* fading counts */
    weft_rows member;                      /* module -> tasks */
    bool *is_free;                         /* [n_tasks] of the window in hand */
    int *picked, n_picked;                 /* its free tasks */
    int *critical, n_critical;             /* positions on longest ways */
    int *closed;  /* [n_tasks] largest end of a closed time window that begins there; 0: none */
    bool is_done; /* the whole was closed */
} search;

/* --- what does not change often -------------------------------------------------------------- */

/* After a change: positions on longest ways, and nothing is known to be closed. */
static void look_again(search *s)
{
    const weft_timing *t = s->timing;
    int n = t->subproblem->n_tasks, n_kept = 0;

    s->n_critical = 0;
    for (int i = 0; i < t->n_leaps; i++) {
        if (t->leap[i].to < n)
            s->critical[s->n_critical++] = t->leap[i].to;
    }
    weft_sort_ints(s->critical, s->n_critical);
    for (int i = 0; i < s->n_critical; i++) {
        if (i == 0 || s->critical[i] != s->critical[i - 1])
            s->critical[n_kept++] = s->critical[i];
    }
    s->n_critical = n_kept;
    memset(s->closed, 0, sizeof *s->closed * (size_t)n);
}

/* --- windows --------------------------------------------------------------------------------- */

static void pick(search *s, int u)
{
    if (s->is_free[u])
        return;
    s->is_free[u] = true;
    s->picked[s->n_picked++] = u;
}

static void pick_module(search *s, int c)
{
    for (int i = s->member.at[c]; i < s->member.at[c + 1]; i++)
        pick(s, s->member.item[i]);
}

/* The module of a task that a longest way joins with u directly, or -1. */
static int neighbour_module(search *s, int u)
{
    const weft_timing *t = s->timing;
    const int *module = s->options->module;
    int at = t->place[u], first = weft_rng_below(&s->rng, t->n_leaps);

    for (int k = 0; k < t->n_leaps; k++) {
        weft_leap leap = t->leap[(first + k) % t->n_leaps];
        int other = leap.from == at ? leap.to : leap.to == at ? leap.from : -1;

        if (other >= 0 && other < t->subproblem->n_tasks && module[t->order[other]] != module[u])
            return module[t->order[other]];
    }
    return -1;
}

/* A task beside u: an end of one of its edges, or a neighbour on its device. */
static int beside(search *s, int u)
{
    const weft_timing *t = s->timing;
    const weft_subproblem *x = t->subproblem;
    int n_in = x->in_at[u + 1] - x->in_at[u], n_out = x->out_at[u + 1] - x->out_at[u];
    int i = weft_rng_below(&s->rng, n_in + n_out + 2), d = t->device[u];

    if (i < n_in)
        return x->from[x->in[x->in_at[u] + i]];
    if (i < n_in + n_out)
        return x->to[x->out[x->out_at[u] + i - n_in]];
    i = t->slot[u] + (i == n_in + n_out ? 1 : -1);
    return i >= t->lane_at[d] && i < t->lane_at[d + 1] ? t->lane[i] : u;
}

static void pick_random(search *s, int n)
{
    for (int i = 0; i < 8 * n && s->n_picked < n; i++)
        pick(s, beside(s, s->picked[weft_rng_below(&s->rng, s->n_picked)]));
}

/* Cuts the picked tasks around `centre` until `n` and n * SPAN positions are left. */
static weft_window trim(search *s, int centre, int n)
{
    const weft_timing *t = s->timing;
    int *at = s->picked, low = 0, high;

    for (int i = 0; i < s->n_picked; i++)
        at[i] = t->place[s->picked[i]];
    weft_sort_ints(at, s->n_picked);
    while (at[low] != centre)
        low++;
    for (high = low; high - low + 1 < n;) {
        int down = low > 0 ? at[high] - at[low - 1] : INT32_MAX;
        int up = high + 1 < s->n_picked ? at[high + 1] - at[low] : INT32_MAX;

        if ((down < up ? down : up) >= n * SPAN)
            break;
        if (down < up)
            low--;
        else
            high++;
    }
    for (int i = 0; i < s->n_picked; i++)
        s->is_free[t->order[at[i]]] = i >= low && i <= high;
    for (int i = 0; i < s->n_picked; i++)
        at[i] = t->order[at[i]];
    return (weft_window){t->place[at[low]], t->place[at[high]] + 1, s->is_free};
}

static weft_window window_at(search *s, kind k, int centre)
{
    int n = s->timing->subproblem->n_tasks, u = s->timing->order[centre], c;
    int size = s->size[k] < n ? s->size[k] : n;

    if (k == BY_TIME) {
        int first = centre - weft_rng_below(&s->rng, size);

        first = first < 0 ? 0 : first > n - size ? n - size : first;
        return (weft_window){first, first + size, NULL};
    }
    pick(s, u);
    if (k == AT_RANDOM)
        pick_random(s, size);
    else
        pick_module(s, s->options->module[u]);
    if (k == BY_PAIR && (c = neighbour_module(s, u)) >= 0)
        pick_module(s, c);
    return trim(s, centre, size);
}

static void drop_window(search *s)
{
    for (int i = 0; i < s->n_picked; i++)
        s->is_free[s->picked[i]] = false;
    s->n_picked = 0;
}

/* Does a closed time window hold this one? */
static bool is_known(const search *s, const weft_window *w)
{
    for (int first = w->first; first >= 0 && first > w->last - SPAN * s->options->most_free;
         first--) {
        if (s->closed[first] >= w->last)
            return true;
    }
    return false;
}

static kind draw_kind(search *s)
{
    double weight[N_KINDS], sum = 0, at;

    for (int k = 0; k < N_KINDS; k++) {
        bool is_there = s->options->module != NULL || k == BY_TIME || k == AT_RANDOM;

        weight[k] = is_there ? (s->gains[k] + 1) / (s->tries[k] + 2) : 0;
        sum += weight[k] *= k == BY_TIME ? 3 : 1;
    }
    at = sum * weft_rng_real(&s->rng);
    for (int k = 0; k < N_KINDS - 1; k++) {
        if (at < weight[k])
            return (kind)k;
        at -= weight[k];
    }
    return AT_RANDOM;
}

/* --- steps ----------------------------------------------------------------------------------- */

/* Larger windows if they are cheap, smaller ones if they are not; fading counts of success. */
static void adapt(search *s, kind k, const weft_answer *answer, bool has_gained)
{
    int *size = &s->size[k];

    if (answer->is_closed && *size < s->options->most_free)
        ++*size;
    else if (!answer->is_closed && !has_gained && *size > LEAST_FREE)
        --*size;
    s->gains[k] = 0.98 * s->gains[k] + has_gained;
    s->tries[k] = 0.98 * s->tries[k] + 1;
}

static bool try_window(search *s, kind k, const weft_window *w, weft_effort *effort, int64_t *steps)
{
    weft_timing *t = s->timing;
    size_t mark = weft_arena_mark(s->arena);
    weft_subproblem *subproblem = weft_window_subproblem(t, w, s->arena);
    weft_answer answer;
    bool has_gained = false;

    effort->upper = t->value;
    answer = weft_subproblem_solve(subproblem, effort, s->arena);
    *steps += answer.n_states + 1;
    if (answer.device != NULL)
        has_gained = weft_window_put(t, w, answer.device, answer.start_s);
    adapt(s, k, &answer, has_gained);
    if (has_gained)
        look_again(s);
    else if (answer.is_closed && w->is_free == NULL && s->closed[w->first] < w->last)
        s->closed[w->first] = w->last;
    s->is_done |=
        answer.is_closed && w->is_free == NULL && subproblem->n_tasks == t->subproblem->n_tasks;
    weft_arena_rewind(s->arena, mark);
    return has_gained;
}

/* Draws windows until one is worth solving and solves it. True if the schedule changed. */
static bool step(search *s, weft_effort *effort, int64_t *steps)
{
    for (int i = 0; i < MOST_DRAWS; i++) {
        kind k = draw_kind(s);
        weft_window w = window_at(s, k, s->critical[weft_rng_below(&s->rng, s->n_critical)]);
        bool has_gained = false, is_tried = weft_window_matters(s->timing, &w) && !is_known(s, &w);

        if (is_tried)
            has_gained = try_window(s, k, &w, effort, steps);
        drop_window(s);
        if (is_tried)
            return has_gained;
    }
    return false;
}

static search *search_new(weft_timing *t, const weft_window_options *o, weft_run *run,
                          weft_arena *a)
{
    search *s = WEFT_NEW(a, search, 1);
    int n = t->subproblem->n_tasks;

    s->timing = t;
    s->options = o;
    s->rng = weft_rng_seed((uint64_t)run->seed);
    s->arena = weft_arena_new();
    for (int k = 0; k < N_KINDS; k++)
        s->size[k] = o->most_free < FIRST_FREE ? o->most_free : FIRST_FREE;
    s->is_free = WEFT_NEW(a, bool, n);
    s->picked = WEFT_NEW(a, int, n);
    s->critical = WEFT_NEW(a, int, 3 * n + t->subproblem->n_edges);
    s->closed = WEFT_NEW(a, int, n);
    s->member =
        weft_rows_by(s->options->module, s->options->module ? s->timing->subproblem->n_tasks : 0,
                     s->options->n_modules, a);
    look_again(s);
    return s;
}

double weft_windows(const weft_subproblem *x, int *device, double *start_s,
                    const weft_window_options *o, weft_run *run, int64_t *steps)
{
    weft_arena *a = weft_arena_new();
    weft_timing *t = weft_timing_new(x, device, start_s, a);
    search *s = search_new(t, o, run, a);
    int64_t most = *steps;
    int n_idle = 0;
    double value;

    *steps = 0;
    while (!s->is_done && (o->patience == 0 || n_idle < o->patience) &&
           (most == 0 || *steps < most) && !weft_run_is_over(run)) {
        weft_effort effort = {.most_states = o->most_states, .most_beam = o->most_beam, .run = run};

        if (most > 0 && most - *steps < effort.most_states)
            effort.most_states = most - *steps;
        n_idle = step(s, &effort, steps) ? 0 : n_idle + 1;
    }
    memcpy(device, t->device, sizeof *device * (size_t)x->n_tasks);
    memcpy(start_s, t->start_s, sizeof *start_s * (size_t)x->n_tasks);
    value = t->value;
    weft_arena_free(s->arena);
    weft_arena_free(a);
    return value;
}
