/* SPDX-License-Identifier: MIT */
/* own_problem.c: problems as programs of users get them, weft.problem/1 (docs/formats.md).
 *
 * A placement is there as a whole: tasks, devices, tensors, times. Of the other kinds there are the
 * names that decisions are about, the machine, what is asked, and a plan of the first solver of the
 * kind, in the form that an answer has. */
#include "own.h"

#include <math.h>
#include <string.h>

/* --- placement ------------------------------------------------------------------------------- */

static weft_doc *devices_doc(const weft_problem *p, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int d = 0; d < p->n_devices; d++) {
        weft_doc *device = weft_add_map(a, list);

        weft_put_text(a, device, "name", p->device_name[d]);
        weft_put_real(a, device, "memory", p->capacity[d]);
    }
    return list;
}

static weft_doc *tasks_doc(const weft_problem *p, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int u = 0; u < p->n_tasks; u++) {
        weft_doc *task = weft_add_map(a, list), *seconds = weft_doc_new(a, WEFT_DOC_LIST);

        weft_put_text(a, task, "name", p->task_name[u]);
        for (int d = 0; d < p->n_devices; d++)
            weft_doc_add(a, seconds, weft_real_or_null(a, weft_task_s(p, u, d)));
        weft_doc_put(a, task, "seconds", seconds);
        if (p->pin[u] >= 0)
            weft_put_text(a, task, "device", p->device_name[p->pin[u]]);
        if (p->colocation[u] >= 0)
            weft_put_int(a, task, "group", p->colocation[u]);
        if (p->is_backward[u])
            weft_put_bool(a, task, "backward", true);
    }
    return list;
}

static weft_doc *tensors_doc(const weft_problem *p, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int t = 0; t < p->n_tensors; t++) {
        weft_doc *tensor = weft_add_map(a, list), *to = weft_doc_new(a, WEFT_DOC_LIST);

        weft_put_text(a, tensor, "from", p->producer[t] < 0 ? NULL : p->task_name[p->producer[t]]);
        for (int i = p->reader_at[t]; i < p->reader_at[t + 1]; i++)
            weft_doc_add(a, to, weft_doc_new_text(a, p->task_name[p->reader[i]]));
        weft_doc_put(a, tensor, "to", to);
        weft_put_real(a, tensor, "amount", p->amount[t]);
        weft_put_real(a, tensor, "memory", p->memory[t]);
        if (p->is_weight[t])
            weft_put_bool(a, tensor, "weight", true);
    }
    return list;
}

static weft_doc *matrix_doc(const double *value, int n, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < n; i++) {
        weft_doc *row = weft_doc_new(a, WEFT_DOC_LIST);

        for (int k = 0; k < n; k++)
            weft_doc_add(a, row, weft_real_or_null(a, value[i * n + k]));
        weft_doc_add(a, list, row);
    }
    return list;
}

static void put_placement(weft_doc *d, const weft_problem *p, weft_arena *a)
{
    const weft_constraints *c = &p->constraints;

    weft_put_text(a, d, "goal", weft_goal_name(c->goal));
    weft_put_text(a, d, "transfer", weft_transfer_name(p->transfer));
    weft_put_text(a, d, "host", p->host < 0 ? NULL : p->device_name[p->host]);
    if (c->most_latency_s > 0)
        weft_put_real(a, d, "most_latency_s", c->most_latency_s);
    if (c->most_period_s > 0)
        weft_put_real(a, d, "most_period_s", c->most_period_s);
    if (c->is_contiguous)
        weft_put_bool(a, d, "contiguous", true);
    weft_doc_put(a, d, "devices", devices_doc(p, a));
    weft_doc_put(a, d, "tasks", tasks_doc(p, a));
    weft_doc_put(a, d, "tensors", tensors_doc(p, a));
    weft_doc_put(a, d, "link", matrix_doc(p->second_per_byte, p->n_devices, a));
    weft_doc_put(a, d, "latency", matrix_doc(p->latency_s, p->n_devices, a));
}

/* --- the other kinds ------------------------------------------------------------------------- */

/* A plan of the first solver, without what only weft knows; NULL: it finds none. */
static weft_status find_example(const weft_kind *k, const weft_opened *p, const weft_run *run,
                                weft_arena *a, weft_doc **out)
{
    static const char *const kept[] = {"sets", "steps", "decisions"};
    const weft_plan_origin nobody = {.model = "", .platform = "", .solver = ""};
    weft_run some = {.seed = run->seed,
                     .n_threads = 1,
                     .limit_s = weft_run_left_s(run) / 4,
                     .steps = k->steps,
                     .stop = run->stop};
    void *solution = weft_arena_alloc(a, k->solution_size);
    weft_solver_entry first;
    const weft_doc *plan;

    *out = NULL;
    some.scratch = weft_arena_new();
    weft_status status =
        k->solver(0, &first) ? k->solve(p, first.name, &some, NULL, a, solution) : WEFT_OK;
    weft_arena_free(some.scratch);
    WEFT_TRY(status);
    if (!weft_has_plan(k->proof(solution)))
        return WEFT_OK;
    plan = k->write(p, solution, &nobody, a);
    *out = weft_doc_new(a, WEFT_DOC_MAP);
    weft_put_text(a, *out, "schema", "weft.decisions/1");
    for (int i = 0; i < 3; i++)
        if (weft_doc_get(plan, kept[i]) != NULL)
            weft_doc_put(a, *out, kept[i], (weft_doc *)(uintptr_t)weft_doc_get(plan, kept[i]));
    return WEFT_OK;
}

static weft_status put_network(weft_doc *d, const weft_kind *k, const weft_opened *p,
                               const weft_run *run, weft_arena *a)
{
    weft_doc *example;
    int n;
    const char *const *name = k->names(p, a, &n);

    weft_doc_put(a, d, "ask", k->ask(p, a));
    weft_doc_put(a, d, "names", weft_texts_doc(name, n, a));
    weft_doc_put(a, d, "machine", weft_platform_doc(p->platform, a));
    WEFT_TRY(find_example(k, p, run, a, &example));
    weft_doc_put(a, d, "example", example ? example : weft_doc_new(a, WEFT_DOC_NULL));
    return WEFT_OK;
}

weft_status weft_own_problem(const weft_kind *k, const weft_opened *p, const weft_run *run,
                             weft_arena *a, weft_doc **out)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    *out = d;
    weft_put_text(a, d, "schema", "weft.problem/1");
    weft_put_text(a, d, "kind", k->name);
    weft_put_int(a, d, "seed", run->seed);
    weft_put_real(a, d, "time_limit_s", run->limit_s);
    if (run->steps > 0)
        weft_put_int(a, d, "steps", run->steps);
    if (k->ask != NULL)
        return put_network(d, k, p, run, a);
    put_placement(d, ((const weft_case *)p->of_kind)->problem, a);
    return WEFT_OK;
}
