/* SPDX-License-Identifier: MIT */
/* replay.c: the simulator on segments instead of nodes. What one segment makes and another device
 * reads is one tensor for each device, so that each of them may take a time of its own. */
#include <math.h>
#include <string.h>

#include "deploy.h"

typedef struct replaying {
    const weft_split_net *s;
    const double *send_s;
    weft_problem_spec spec;
    weft_arena *a;
    double *amount;
    int *producer;
    WEFT_VEC(int) reader;
    int *reader_at;
} replaying;

int weft_split_net_sent_to(const weft_split_net *s, int tensor)
{
    int producer = s->tensor[tensor].producer, n = 0;

    for (int d = 0; d < s->n_devices; d++) {
        bool is_read = false;

        for (int i = 0; i < s->n_segments; i++)
            for (int k = 0; k < s->segment[i].n_reads && s->segment[i].device == d; k++)
                is_read |= s->segment[i].reads[k] == tensor;
        n += is_read && producer >= 0 && s->segment[producer].device != d;
    }
    return n;
}

/* Readers of a tensor on one device; false: none. */
static bool add_readers(replaying *r, int tensor, int device)
{
    const weft_split_net *s = r->s;
    int before = r->reader.n;

    for (int i = 0; i < s->n_segments; i++)
        for (int k = 0; k < s->segment[i].n_reads && s->segment[i].device == device; k++)
            if (s->segment[i].reads[k] == tensor)
                WEFT_PUSH(r->a, r->reader, i);
    return r->reader.n > before;
}

static void add_tensors(replaying *r)
{
    const weft_split_net *s = r->s;
    size_t n = (size_t)s->n_tensors * (size_t)s->n_devices;
    int at = 0;

    r->amount = WEFT_NEW(r->a, double, n + 1);
    r->producer = WEFT_NEW(r->a, int, n + 1);
    r->reader_at = WEFT_NEW(r->a, int, n + 2);
    for (int t = 0; t < s->n_tensors; t++)
        for (int d = 0; d < s->n_devices; d++) {
            if (!add_readers(r, t, d))
                continue;
            r->amount[at] = r->send_s[t * s->n_devices + d];
            r->producer[at] = s->tensor[t].producer;
            r->reader_at[++at] = r->reader.n;
        }
    r->spec.n_tensors = at;
    r->spec.amount = r->amount;
    r->spec.producer = r->producer;
    r->spec.reader_at = r->reader_at;
    r->spec.reader = r->reader.at;
}

static void add_tasks(replaying *r, const double *seconds)
{
    const weft_split_net *s = r->s;
    const char **task = WEFT_NEW(r->a, const char *, s->n_segments);
    const char **device = WEFT_NEW(r->a, const char *, s->n_devices);
    double *table = WEFT_NEW(r->a, double, (size_t)s->n_segments *(size_t)s->n_devices);

    for (int d = 0; d < s->n_devices; d++)
        device[d] = s->device[d].name;
    for (int i = 0; i < s->n_segments; i++) {
        task[i] = s->segment[i].file;
        for (int d = 0; d < s->n_devices; d++)
            table[i * s->n_devices + d] = s->segment[i].device == d ? seconds[i] : INFINITY;
    }
    r->spec.n_tasks = s->n_segments;
    r->spec.n_devices = s->n_devices;
    r->spec.task_name = task;
    r->spec.device_name = device;
    r->spec.seconds = table;
}

static weft_status replay(replaying *r, const weft_problem *p, double *latency_s, double *end_s)
{
    const weft_split_net *s = r->s;
    weft_plan plan = weft_plan_new(p->n_tasks, r->a);
    weft_map *number = weft_map_new(r->a);
    int *at = WEFT_NEW(r->a, int, s->n_segments);
    weft_measures m;

    for (int u = 0; u < p->n_tasks; u++)
        weft_map_set(number, p->task_name[u], strlen(p->task_name[u]), u);
    for (int i = 0; i < s->n_segments; i++) {
        at[i] = weft_map_get(number, s->segment[i].file, strlen(s->segment[i].file));
        plan.device[at[i]] = s->segment[i].device;
        plan.start_s[at[i]] = i; /* the order of the list */
    }
    WEFT_TRY(weft_evaluate(p, &plan, r->a, &m));
    *latency_s = m.makespan_s;
    for (int i = 0; i < s->n_segments && end_s != NULL; i++)
        end_s[i] = plan.start_s[at[i]] + weft_task_s(p, at[i], s->segment[i].device);
    return WEFT_OK;
}

weft_status weft_split_net_replay(const weft_split_net *s, const double *seconds,
                                  const double *send_s, double *latency_s, double *end_s)
{
    weft_arena *a = weft_arena_new();
    replaying r = {.s = s, .send_s = send_s, .a = a};
    weft_problem *p = NULL;
    weft_status status;

    r.spec.host = s->host;
    r.spec.transfer = s->transfer;
    add_tasks(&r, seconds);
    add_tensors(&r);
    status = weft_problem_make(&r.spec, &p);
    if (status == WEFT_OK)
        status = replay(&r, p, latency_s, end_s);
    weft_problem_free(p);
    weft_arena_free(a);
    return status;
}
