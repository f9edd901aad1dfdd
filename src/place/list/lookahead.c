/* SPDX-License-Identifier: MIT */
/* lookahead.c: HEFT that tries each device and looks at the successors.
 *
 * 1. Order by upward rank, as in HEFT.
 * 2. For each device: the task is put there, then its successors, by rank, each where it finishes
 *    first as far as its data is known. The score is the last finish among them.
 * 3. The device of least score wins; ties go to the earlier own finish, then the lower number.
 *    Tasks without successors go where they finish first; when time is up, all others too.
 *
 * A heuristic without guarantee. Time O(devices^2 * what the successors read) for each task, plus
 * the search for gaps. Bittencourt, Sakellariou, Madeira, Proc. PDP, 2010. */
#include "list.h"

#include <math.h>
#include <stdlib.h>

typedef struct child {
    int place, task; /* in the order, and number */
} child;

typedef struct outlook {
    const int *place; /* [n_tasks] in the order */
    child *child;     /* room for the successors of one task */
    const weft_run *run;
} outlook;

static int by_place(const void *left, const void *right)
{
    const child *a = left, *b = right;

    return a->place < b->place ? -1 : 1;
}

static int sort_children(const weft_problem *p, int u, const outlook *o)
{
    int n = p->succ_at[u + 1] - p->succ_at[u];

    for (int i = 0; i < n; i++) {
        int v = p->succ[p->succ_at[u] + i];

        o->child[i] = (child){o->place[v], v};
    }
    qsort(o->child, (size_t)n, sizeof *o->child, by_place);
    return n;
}

/* Last finish among the successors if u goes as `c` says; the list is as before afterwards. */
static double last_finish(weft_list *l, int u, weft_choice c, const child *children, int n)
{
    double last_s = 0;
    int n_put = 0;

    weft_list_put(l, u, c);
    for (; n_put < n; n_put++) {
        weft_choice next = weft_list_earliest(l, children[n_put].task, NULL);

        if (next.device < 0)
            break;
        weft_list_put(l, children[n_put].task, next);
        last_s = fmax(last_s, l->end_s[children[n_put].task]);
    }
    if (n_put < n)
        last_s = INFINITY;
    while (n_put > 0)
        weft_list_take(l, children[--n_put].task);
    weft_list_take(l, u);
    return last_s;
}

static weft_choice look_ahead(weft_list *l, int u, void *context)
{
    const outlook *o = context;
    int n = sort_children(l->problem, u, o);
    weft_choice best = {-1, 0};
    double least = INFINITY, least_end_s = INFINITY;

    if (n == 0 || weft_run_is_over(o->run))
        return weft_list_earliest(l, u, NULL);
    for (int d = 0; d < l->problem->n_devices; d++) {
        weft_choice c = {d, INFINITY};
        double score, end_s;

        if (weft_list_allows(l, u, d))
            c.start_s = weft_list_insert(l, u, d);
        if (!(c.start_s < INFINITY))
            continue;
        end_s = c.start_s + weft_task_s(l->problem, u, d);
        score = last_finish(l, u, c, o->child, n);
        if (best.device < 0 || score < least || (score == least && end_s < least_end_s)) {
            least = score;
            least_end_s = end_s;
            best = c;
        }
    }
    return best;
}

static weft_status solve(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                         weft_proof *proof)
{
    weft_list l = weft_list_new(p, run->scratch);
    double *rank = weft_list_upward(&l, weft_list_means(&l, p->seconds), weft_list_mean_send(&l));
    int *order = weft_list_order(&l, rank), *place = WEFT_NEW(run->scratch, int, p->n_tasks);
    outlook o = {place, WEFT_NEW(run->scratch, child, p->n_tasks), run};
    weft_list_rule rule = {rank, look_ahead, &o};

    (void)options;
    for (int i = 0; i < p->n_tasks; i++)
        place[order[i]] = i;
    weft_list_run(&l, &rule, plan, proof);
    return WEFT_OK;
}

const weft_solver weft_place_lookahead = {
    .name = "lookahead",
    .summary = "HEFT with lookahead: also considers where the successors would finish",
    .solve = solve};
