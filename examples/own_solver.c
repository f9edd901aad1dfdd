/* SPDX-License-Identifier: MIT */
/* own_solver.c: a placement solver of your own, registered at run time.
 *
 * HEFT (Topcuoglu et al. 2002): tasks by falling upward rank, each on the device where it ends
 * first, in the earliest gap that is long enough. weft simulates the plan and proves the bound.
 *
 *   cc own_solver.c $(pkg-config --cflags --libs weft) -lm -o own_solver && ./own_solver tasks.json
 *
 * The same as a library, for the program; there the caller's half is left out:
 *
 *   cc -shared -fPIC -DLIBRARY own_solver.c $(pkg-config --cflags weft) -lm -o heft.so
 *   weft place tasks.json --solver ./heft.so
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <weft.h>

typedef struct work {
    const weft_instance *in;
    int n, n_devices;
    double *rank, *start, *end; /* [n] */
    int *device;                /* [n]; -1: not yet */
} work;

/* Mean over the devices that can run it. */
static double mean_s(const work *w, int task)
{
    double sum = 0;
    int n = 0;

    for (int d = 0; d < w->n_devices; d++) {
        double s = weft_instance_task_s(w->in, task, d);

        if (isfinite(s)) {
            sum += s;
            n++;
        }
    }
    return n > 0 ? sum / n : 0;
}

/* Mean over the pairs of different devices. */
static double mean_transfer_s(const work *w, int from, int to)
{
    double sum = 0;
    int n = 0;

    for (int a = 0; a < w->n_devices; a++)
        for (int b = 0; b < w->n_devices; b++)
            if (a != b && isfinite(weft_instance_transfer_s(w->in, from, to, a, b))) {
                sum += weft_instance_transfer_s(w->in, from, to, a, b);
                n++;
            }
    return n > 0 ? sum / n : 0;
}

static void find_ranks(work *w)
{
    for (int u = w->n - 1; u >= 0; u--) {
        double longest = 0;

        for (int k = 0; k < weft_instance_n_after(w->in, u); k++) {
            int v = weft_instance_after(w->in, u, k);

            longest = fmax(longest, mean_transfer_s(w, u, v) + w->rank[v]);
        }
        w->rank[u] = mean_s(w, u) + longest;
    }
}

/* When everything that the task reads is on the device. */
static double ready_s(const work *w, int task, int device)
{
    double ready = 0;

    for (int k = 0; k < weft_instance_n_before(w->in, task); k++) {
        int u = weft_instance_before(w->in, task, k);

        ready =
            fmax(ready, w->end[u] + weft_instance_transfer_s(w->in, u, task, w->device[u], device));
    }
    return ready;
}

/* The earliest start in a gap of the device: try the ready time and the end of each task there. */
static double earliest_s(const work *w, int task, int device)
{
    double length = weft_instance_task_s(w->in, task, device), ready = ready_s(w, task, device);
    double best = INFINITY;

    for (int c = -1; c < w->n; c++) {
        double start = c < 0 ? ready : fmax(ready, w->end[c]);
        int is_free = c < 0 || w->device[c] == device;

        for (int v = 0; v < w->n && is_free; v++)
            if (w->device[v] == device && start < w->end[v] && w->start[v] < start + length)
                is_free = 0;
        if (is_free && start < best)
            best = start;
    }
    return best;
}

static void put(work *w, int task)
{
    double best = INFINITY;
    int pin = weft_instance_pin(w->in, task), to = pin < 0 ? 0 : pin;

    for (int d = 0; d < w->n_devices; d++) {
        double end = earliest_s(w, task, d) + weft_instance_task_s(w->in, task, d);

        if ((pin < 0 || d == pin) && end < best) {
            best = end;
            to = d;
        }
    }
    w->start[task] = earliest_s(w, task, to);
    w->end[task] = w->start[task] + weft_instance_task_s(w->in, task, to);
    w->device[task] = to;
}

static int next_task(const work *w)
{
    int best = -1;

    for (int u = 0; u < w->n; u++)
        if (w->device[u] < 0 && (best < 0 || w->rank[u] > w->rank[best]))
            best = u;
    return best;
}

static weft_status solve(void *context, const weft_instance *in, weft_decisions *decisions)
{
    int n = weft_instance_n_tasks(in);
    work w = {in, n, weft_instance_n_devices(in), NULL, NULL, NULL, NULL};

    (void)context;
    w.rank = calloc((size_t)n * 3 + 1, sizeof *w.rank);
    w.device = malloc(((size_t)n + 1) * sizeof *w.device);
    if (w.rank == NULL || w.device == NULL) {
        free(w.rank);
        free(w.device);
        return WEFT_E_SYSTEM;
    }
    w.start = w.rank + n;
    w.end = w.start + n;
    for (int u = 0; u < n; u++)
        w.device[u] = -1;
    find_ranks(&w);
    for (int u = next_task(&w); u >= 0; u = next_task(&w))
        put(&w, u);
    for (int u = 0; u < n; u++)
        weft_decide(decisions, u, w.device[u], w.start[u]);
    free(w.rank);
    free(w.device);
    return WEFT_OK;
}

#ifdef LIBRARY

/* What weft looks for in a library. */
extern const weft_solver_definition weft_solver;
const weft_solver_definition weft_solver = {"my-heft", "HEFT by hand", solve, NULL};

#else

/* Says nothing about its last task. */
static weft_status solve_badly(void *context, const weft_instance *in, weft_decisions *decisions)
{
    (void)context;
    for (int u = 0; u + 1 < weft_instance_n_tasks(in); u++)
        weft_decide(decisions, u, 0, u);
    return WEFT_OK;
}

static weft_status run(const char *tasks, const char *solver)
{
    weft_problem *p;
    weft_result *r = NULL;
    weft_status status = weft_problem_open("place", tasks, NULL, &p);

    if (status == WEFT_OK)
        status = weft_problem_set_solver(p, solver);
    if (status == WEFT_OK)
        status = weft_problem_solve(p, &r);
    if (status == WEFT_OK)
        printf("%s: %g %s, bound %g, gap %.1f %%\n", solver, weft_result_value(r),
               weft_result_unit(r), weft_result_bound(r), 100 * weft_result_gap(r));
    else
        printf("%s: refused: %s\n", solver, weft_message());
    weft_result_close(r);
    weft_problem_close(p);
    return status;
}

int main(int argc, char **argv)
{
    const weft_solver_definition own = {"my-heft", "HEFT by hand", solve, NULL};
    const weft_solver_definition broken = {"broken", "forgets a task", solve_badly, NULL};

    if (argc != 2) {
        fprintf(stderr, "usage: own_solver TASKS\n");
        return 2;
    }
    if (weft_solver_register(&own) != WEFT_OK || weft_solver_register(&broken) != WEFT_OK) {
        fprintf(stderr, "own_solver: %s\n", weft_message());
        return 2;
    }
    if (run(argv[1], "my-heft") != WEFT_OK)
        return 2;
    return run(argv[1], "broken") == WEFT_OK ? 1 : 0; /* it must be refused */
}

#endif
