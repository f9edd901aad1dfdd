/* SPDX-License-Identifier: MIT */
/* shares.c: a batch that is cut in shares: data parallelism for latency.
 *
 * Each share is a copy of the network with its own batch, and copies are placed like one network of
 * so many parts: on devices of their own, or on several each. Rules, simulator, bounds and solvers
 * need not know of it.
 *
 * 1. Weights, constants too, are those of the first copy, which all copies read; what is as large
 *    as a batch, and states, each copy has for itself.
 * 2. Inputs are on the host: a copy reads its piece, so a scatter is what is sent of them.
 * 3. A result that is asked for is gathered where its task "#gather" is, which takes no time: what
 *    counts are the pieces that are sent there. It holds the whole besides the pieces.
 * 4. Samples are apart if whatever is made from something as large as the batch is so, too. A
 *    network in which they mix, as in a mean over a batch, is refused. */
#include "problem_spec.h"

#include <string.h>

typedef struct joiner {
    const weft_problem *whole;
    const weft_problem *const *part; /* [n] */
    const int64_t *share;            /* [n] */
    int n, n_gathers;
    int64_t batch;
    const bool *is_batch; /* [n_tensors of a part] as large as the batch */
    const int *gather;    /* [n_tensors of a part] the gather that reads it, or -1 */
    weft_arena *a;
} joiner;

static int tasks_of(const joiner *j)
{
    return j->whole->n_tasks;
}

static int tensors_of(const joiner *j)
{
    return j->whole->n_tensors;
}

/* --- what may be cut ------------------------------------------------------------------------- */

static bool is_same_network(const weft_problem *p, const weft_problem *q)
{
    if (p->n_tasks != q->n_tasks || p->n_tensors != q->n_tensors ||
        p->reader_at[p->n_tensors] != q->reader_at[q->n_tensors])
        return false;
    for (int u = 0; u < p->n_tasks; u++)
        if (strcmp(p->task_name[u], q->task_name[u]) != 0)
            return false;
    return memcmp(p->producer, q->producer, (size_t)p->n_tensors * sizeof *p->producer) == 0 &&
           memcmp(p->reader_at, q->reader_at, (size_t)p->n_tensors * sizeof *p->reader_at) == 0 &&
           memcmp(p->reader, q->reader, (size_t)p->reader_at[p->n_tensors] * sizeof *p->reader) ==
               0;
}

/* Of every copy the tensor is as large as its share. */
static bool grows(const joiner *j, int t)
{
    if (j->whole->is_weight[t] || !(j->whole->amount[t] > 0))
        return false;
    for (int i = 0; i < j->n; i++)
        if (j->part[i]->amount[t] * (double)j->batch != j->whole->amount[t] * (double)j->share[i])
            return false;
    return true;
}

static weft_status check_task(const joiner *j, int u)
{
    const weft_problem *p = j->whole;
    bool reads = false;

    for (int i = p->arg_at[u]; i < p->arg_at[u + 1]; i++)
        reads |= j->is_batch[p->arg[i]];
    for (int i = p->res_at[u]; reads && i < p->res_at[u + 1]; i++)
        if (!j->is_batch[p->res[i]] && p->amount[p->res[i]] > 0)
            return weft_fail(WEFT_E_INPUT,
                             "the batch cannot be cut in shares: '%s' makes of a batch what does "
                             "not grow with it, so the samples are not apart",
                             p->task_name[u]);
    return WEFT_OK;
}

static weft_status check_parts(joiner *j)
{
    bool *is_batch = WEFT_NEW(j->a, bool, tensors_of(j) + 1), has_input = false;

    for (int i = 0; i < j->n; i++)
        if (!is_same_network(j->whole, j->part[i]))
            return weft_fail(WEFT_E_INPUT,
                             "the batch cannot be cut in shares: with a batch of %lld the network "
                             "has other operators than with %lld",
                             (long long)j->share[i], (long long)j->batch);
    for (int t = 0; t < tensors_of(j); t++) {
        is_batch[t] = grows(j, t);
        has_input |= is_batch[t] && j->whole->producer[t] < 0;
    }
    j->is_batch = is_batch;
    if (!has_input)
        return weft_fail(WEFT_E_INPUT, "the batch cannot be cut in shares: no input of the network "
                                       "grows with it");
    for (int u = 0; u < tasks_of(j); u++)
        WEFT_TRY(check_task(j, u));
    return WEFT_OK;
}

/* --- tensors --------------------------------------------------------------------------------- */

/* Held once for all copies. */
static bool is_shared(const joiner *j, int t)
{
    const weft_problem *p = j->whole;

    if (!p->is_weight[t] || (p->is_state != NULL && p->is_state[t]))
        return false;
    for (int i = 0; i < j->n; i++)
        if (j->part[i]->memory[t] != p->memory[t])
            return false;
    return true;
}

static void number_gathers(joiner *j)
{
    int *gather = WEFT_NEW(j->a, int, tensors_of(j) + 1);

    for (int t = 0; t < tensors_of(j); t++) {
        bool is_gathered = j->whole->is_output[t] && j->is_batch[t] && j->whole->producer[t] >= 0;

        gather[t] = is_gathered ? j->n_gathers++ : -1;
    }
    j->gather = gather;
}

/* Readers of tensor t of copy i; the first copy of what is shared has those of all. */
static int *add_readers(const joiner *j, int i, int t, int *to)
{
    const weft_problem *p = j->whole;
    bool has_all = is_shared(j, t);

    for (int c = has_all ? 0 : i; c < (has_all ? (i == 0 ? j->n : 0) : i + 1); c++)
        for (int k = p->reader_at[t]; k < p->reader_at[t + 1]; k++)
            *to++ = c * tasks_of(j) + p->reader[k];
    if (j->gather[t] >= 0)
        *to++ = j->n * tasks_of(j) + j->gather[t];
    return to;
}

static void join_tensors(const joiner *j, weft_problem_spec *s)
{
    const weft_problem *p = j->whole;
    int n = j->n * tensors_of(j) + j->n_gathers;
    double *amount = WEFT_NEW(j->a, double, n), *memory = WEFT_NEW(j->a, double, n);
    bool *is_weight = WEFT_NEW(j->a, bool, n), *is_output = WEFT_NEW(j->a, bool, n);
    int *producer = WEFT_NEW(j->a, int, n), *at = WEFT_NEW(j->a, int, n + 1);
    int *reader = WEFT_NEW(j->a, int, j->n *(p->reader_at[tensors_of(j)] + j->n_gathers) + 1);

    for (int i = 0; i < j->n; i++)
        for (int t = 0; t < tensors_of(j); t++) {
            int x = i * tensors_of(j) + t;

            amount[x] = j->part[i]->amount[t];
            memory[x] = i > 0 && is_shared(j, t) ? 0 : j->part[i]->memory[t];
            is_weight[x] = p->is_weight[t];
            is_output[x] = p->is_output[t] && j->gather[t] < 0;
            producer[x] = p->producer[t] < 0 ? -1 : i * tasks_of(j) + p->producer[t];
            at[x + 1] = (int)(add_readers(j, i, t, reader + at[x]) - reader);
        }
    for (int t = 0; t < tensors_of(j); t++) {
        int g = j->gather[t], x = j->n * tensors_of(j) + g;

        if (g < 0)
            continue;
        amount[x] = p->amount[t];
        memory[x] = p->memory[t];
        is_output[x] = true;
        producer[x] = j->n * tasks_of(j) + g;
    }
    for (int x = j->n * tensors_of(j); x < n; x++)
        at[x + 1] = at[x];
    s->n_tensors = n;
    s->amount = amount, s->memory = memory;
    s->is_weight = is_weight, s->is_output = is_output;
    s->producer = producer;
    s->reader_at = at, s->reader = reader;
}

/* --- tasks ----------------------------------------------------------------------------------- */

static void name_tasks(const joiner *j, weft_problem_spec *s, weft_problem_extra *x)
{
    const weft_problem *p = j->whole;
    const char **name = WEFT_NEW(j->a, const char *, s->n_tasks);
    const char **kind = WEFT_NEW(j->a, const char *, s->n_tasks);

    for (int k = 0; k < j->n * tasks_of(j); k++) {
        int u = k % tasks_of(j);

        name[k] = weft_arena_print(j->a, "%s#%d", p->task_name[u], k / tasks_of(j) + 1);
        kind[k] = p->task_kind[u];
    }
    for (int t = 0; t < tensors_of(j); t++) {
        int u = p->producer[t], k = j->n * tasks_of(j) + j->gather[t], before = 0;

        if (j->gather[t] < 0)
            continue;
        for (int i = p->res_at[u]; p->res[i] < t; i++)
            before += j->gather[p->res[i]] >= 0;
        name[k] = before == 0 ? weft_arena_print(j->a, "%s#gather", p->task_name[u])
                              : weft_arena_print(j->a, "%s#gather%d", p->task_name[u], before + 1);
        kind[k] = "Gather";
    }
    s->task_name = name;
    x->task_kind = kind;
}

/* Rows of the copies, one below the other; gathers take nothing. */
static const double *join_rows(const joiner *j, bool is_energy)
{
    size_t n = (size_t)tasks_of(j) * (size_t)j->whole->n_devices;
    double *to = WEFT_NEW(j->a, double,
                          (size_t)j->n *n + (size_t)j->n_gathers * (size_t)j->whole->n_devices);

    for (int i = 0; i < j->n; i++)
        memcpy(to + (size_t)i * n, is_energy ? j->part[i]->joules : j->part[i]->seconds,
               n * sizeof *to);
    return to;
}

static void join_tasks(const joiner *j, weft_problem_spec *s, weft_problem_extra *x)
{
    const weft_problem *p = j->whole;
    int *pin, *colocation, most = 0;
    bool *is_backward;

    s->n_tasks = j->n * tasks_of(j) + j->n_gathers;
    pin = WEFT_NEW(j->a, int, s->n_tasks);
    colocation = WEFT_NEW(j->a, int, s->n_tasks);
    is_backward = WEFT_NEW(j->a, bool, s->n_tasks);
    for (int u = 0; u < tasks_of(j); u++)
        most = p->colocation[u] > most ? p->colocation[u] : most;
    for (int k = 0; k < s->n_tasks; k++) {
        int u = k % tasks_of(j), i = k / tasks_of(j), colour = p->colocation[u];
        bool is_copy = k < j->n * tasks_of(j);

        pin[k] = is_copy ? p->pin[u] : -1;
        colocation[k] = is_copy && colour >= 0 ? i * (most + 1) + colour : -1;
        is_backward[k] = is_copy && p->is_backward[u];
    }
    s->pin = pin, s->colocation = colocation, s->is_backward = is_backward;
    s->seconds = join_rows(j, false);
    s->joules = p->joules ? join_rows(j, true) : NULL;
    name_tasks(j, s, x);
}

/* --- the rest -------------------------------------------------------------------------------- */

static void join_devices(const joiner *j, weft_problem_spec *s, weft_problem_extra *x)
{
    const weft_problem *p = j->whole;
    uint64_t used = 0;

    s->name = p->name;
    s->n_devices = p->n_devices;
    s->device_name = p->device_name;
    s->latency_s = p->latency_s;
    s->second_per_byte = p->second_per_byte;
    for (int k = 0; p->curves != NULL && k < p->n_devices * p->n_devices; k++)
        used |= p->curves[k];
    while (s->n_curves < 64 && used >> s->n_curves != 0)
        s->n_curves++;
    s->curve = p->curve, s->curves = p->curves;
    s->capacity = p->capacity, s->idle_w = p->idle_w, s->switch_s = p->switch_s;
    s->host = p->host;
    s->transfer = p->transfer;
    s->constraints = p->constraints;
    s->constraints.pin = s->constraints.together = NULL; /* done, in every copy */
    x->n_links = p->n_links, x->link_name = p->link_name;
    x->route_at = p->route_at, x->route = p->route;
}

/* What a problem knows besides. */
static void join_marks(const joiner *j, weft_problem *p)
{
    const weft_problem *of = j->whole;
    size_t n = (size_t)tasks_of(j) * (size_t)of->n_devices;
    bool *is_measured = WEFT_NEW(p->arena, bool, (size_t)p->n_tasks *(size_t)p->n_devices);
    bool *is_state = WEFT_NEW(p->arena, bool, p->n_tensors + 1);
    const weft_constraints *c = &of->constraints;

    for (int i = 0; i < j->n; i++) {
        if (of->is_measured != NULL)
            memcpy(is_measured + (size_t)i * n, j->part[i]->is_measured, n * sizeof *is_measured);
        for (int t = 0; t < tensors_of(j) && of->is_state != NULL; t++)
            is_state[i * tensors_of(j) + t] = of->is_state[t];
    }
    p->is_measured = of->is_measured ? is_measured : NULL;
    p->is_state = of->is_state ? is_state : NULL;
    p->wide_state = of->wide_state ? weft_arena_word(p->arena, of->wide_state) : NULL;
    p->constraints.pin = c->pin ? weft_arena_word(p->arena, c->pin) : NULL;
    p->constraints.together = c->together ? weft_arena_word(p->arena, c->together) : NULL;
}

static weft_status join(joiner *j, weft_problem **out)
{
    weft_problem_spec s = {0};
    weft_problem_extra x = {0};

    for (int i = 0; i < j->n; i++)
        j->batch += j->share[i];
    WEFT_TRY(check_parts(j));
    number_gathers(j);
    join_devices(j, &s, &x);
    join_tensors(j, &s);
    join_tasks(j, &s, &x);
    WEFT_TRY(weft_problem_build(&s, &x, out));
    join_marks(j, *out);
    return WEFT_OK;
}

weft_status weft_problem_of_shares(const weft_problem *whole, const weft_problem *const *part,
                                   const int64_t *share, int n, weft_problem **out)
{
    joiner j = {.whole = whole, .part = part, .share = share, .n = n, .a = weft_arena_new()};
    weft_status status = join(&j, out);

    weft_arena_free(j.a);
    return status;
}
