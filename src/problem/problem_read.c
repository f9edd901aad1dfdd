/* SPDX-License-Identifier: MIT */
/* problem_read.c: problems from files: weft.tasks/1, and the JSON of the public dnn-partitioning
 * workloads (docs/formats.md).
 *
 * weft.tasks/1: each edge is a tensor of its own, sent whole; its amount is in the units of `link`
 * and takes no memory. The `memory` of a task is a weight of its own.
 *
 * dnn-partitioning: a node has one output, and everything goes through the memory of the host: an
 * accelerator pays the cost of an output when it writes it there and another when it reads it, a
 * CPU pays nothing. So the amount of a tensor is that cost in seconds, and a transfer counts it
 * twice between accelerators, once between accelerator and CPU, not at all between CPUs. Nothing
 * overlaps, which is the transfer model `block`, with as many CPUs as the file says. If calls are
 * asked for, the CPUs are one host.
 *
 * Everything is collected in a scratch arena and handed to weft_problem_build, which copies it.
 * Errors name file and line. Time and memory are linear in the file and in devices^2. */
#include "problem_spec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of files end here, so that sums and products of them stay finite. */
#define LARGEST 1e18

enum { MOST_CANDIDATES = 10000 }; /* names looked at for "did you mean" */

typedef struct reader {
    weft_arena *arena;
    const weft_doc *doc;
    weft_problem_spec spec;
    weft_problem_extra extra;
    weft_map *task_by_name; /* of dnn-partitioning: by id */
    const char **task_name;
    const weft_doc **task_at;
    double *seconds;
    WEFT_VEC(double) amount, memory;
    WEFT_VEC(bool) is_weight;
    WEFT_VEC(int) producer, reader_at, reader;
} reader;

/* --- pieces of both formats ------------------------------------------------------------------ */

static void expect_tasks(reader *r, int n)
{
    r->spec.n_tasks = n;
    r->spec.task_name = r->task_name = WEFT_NEW(r->arena, const char *, n);
    r->spec.seconds = r->seconds = WEFT_NEW(r->arena, double, (size_t)n *(size_t)r->spec.n_devices);
    r->extra.task_at = r->task_at = WEFT_NEW(r->arena, const weft_doc *, n);
    r->task_by_name = weft_map_new(r->arena);
}

/* Adds a tensor; add_reader adds to the last one. */
static void add_tensor(reader *r, int producer, double amount, double memory)
{
    WEFT_PUSH(r->arena, r->amount, amount);
    WEFT_PUSH(r->arena, r->memory, memory);
    WEFT_PUSH(r->arena, r->is_weight, producer < 0);
    WEFT_PUSH(r->arena, r->producer, producer);
    WEFT_PUSH(r->arena, r->reader_at, r->reader.n);
}

static void add_reader(reader *r, int task)
{
    WEFT_PUSH(r->arena, r->reader, task);
}

static void add_weight(reader *r, int task, double bytes)
{
    if (bytes <= 0)
        return;
    add_tensor(r, -1, 0, bytes);
    add_reader(r, task);
}

static weft_status finish(reader *r, weft_problem **out)
{
    WEFT_PUSH(r->arena, r->reader_at, r->reader.n);
    r->spec.n_tensors = r->amount.n;
    r->spec.amount = r->amount.at;
    r->spec.memory = r->memory.at;
    r->spec.is_weight = r->is_weight.at;
    r->spec.producer = r->producer.at;
    r->spec.reader_at = r->reader_at.at;
    r->spec.reader = r->reader.at;
    r->extra.at = r->doc;
    return weft_problem_build(&r->spec, &r->extra, out);
}

/* "dir/bert24.json" -> "bert24". */
static const char *stem_of(weft_arena *a, const char *file)
{
    const char *base = strrchr(file, '/'), *dot;

    base = base ? base + 1 : file;
    dot = strrchr(base, '.');
    return weft_arena_text(a, base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
}

/* The value as written, for messages. */
static const char *shown(const weft_doc *d, weft_arena *a)
{
    if (d->kind == WEFT_DOC_NULL)
        return "null";
    if (d->kind == WEFT_DOC_BOOL)
        return d->truth ? "true" : "false";
    if (d->kind == WEFT_DOC_TEXT)
        return weft_arena_print(a, "'%.*s'", WEFT_SHOWN(d->text));
    if (!weft_doc_is_number(d))
        return weft_doc_kind_name(d->kind);
    return d->text ? weft_arena_print(a, "%.*s", WEFT_SHOWN(d->text))
                   : weft_arena_print(a, "%g", d->real);
}

/* An item of a list: a number from 0 on, or null if `null_value` is not NAN. */
static bool take_item(const weft_doc *d, double null_value, double *out)
{
    bool is_null = d->kind == WEFT_DOC_NULL && !isnan(null_value);

    *out = is_null ? null_value : d->real;
    return is_null || (weft_doc_is_number(d) && d->real >= 0 && d->real <= LARGEST);
}

static weft_status read_item(reader *r, const weft_doc *d, const char *what, double null_value,
                             double *out)
{
    if (take_item(d, null_value, out))
        return WEFT_OK;
    return weft_doc_fail(d, "%s is %s, expected a number from 0 to 1e18%s", what,
                         shown(d, r->arena), isnan(null_value) ? "" : " or null");
}

/* A short file can name many nodes and devices: their product is checked before it is allocated. */
static weft_status check_size(const reader *r, const weft_doc *list)
{
    if ((int64_t)list->n * r->spec.n_devices > WEFT_MOST_TIMES)
        return weft_doc_fail(list,
                             "%d tasks on %d devices are too many, expected a product of at "
                             "most %d",
                             list->n, r->spec.n_devices, WEFT_MOST_TIMES);
    return WEFT_OK;
}

/* --- weft.tasks/1 ---------------------------------------------------------------------------- */

static weft_status read_devices(reader *r)
{
    const weft_doc *list = NULL;
    const char **name;
    weft_map *seen = weft_map_new(r->arena);

    WEFT_TRY(weft_doc_need(r->doc, "devices", WEFT_DOC_LIST, &list));
    if (list->n < 1 || list->n > WEFT_MOST_DEVICES)
        return weft_doc_fail(list, "'devices' names %d devices, expected 1 to %d", list->n,
                             WEFT_MOST_DEVICES);
    name = WEFT_NEW(r->arena, const char *, list->n);
    for (int d = 0; d < list->n; d++) {
        const weft_doc *item = list->item[d];

        if (item->kind != WEFT_DOC_TEXT || *item->text == '\0')
            return weft_doc_fail(item, "device %d is %s, expected a name in quotes", d + 1,
                                 shown(item, r->arena));
        if (!weft_map_put(seen, item->text, strlen(item->text), d))
            return weft_doc_fail(item, "two devices are called '%.*s'", WEFT_SHOWN(item->text));
        name[d] = item->text;
    }
    r->spec.n_devices = list->n;
    r->spec.device_name = name;
    return WEFT_OK;
}

static weft_status read_seconds(reader *r, const weft_doc *task, const char *name, double *out)
{
    const weft_doc *list = NULL;

    WEFT_TRY(weft_doc_need(task, "seconds", WEFT_DOC_LIST, &list));
    if (list->n != r->spec.n_devices)
        return weft_doc_fail(list, "task '%.*s' has %d seconds, expected %d: one for each device",
                             WEFT_SHOWN(name), list->n, r->spec.n_devices);
    for (int d = 0; d < list->n; d++) {
        if (take_item(list->item[d], INFINITY, &out[d])) /* most: no text is made for them */
            continue;
        return read_item(r, list->item[d],
                         weft_arena_print(r->arena, "the time of task '%.*s' on '%.*s'",
                                          WEFT_SHOWN(name), WEFT_SHOWN(r->spec.device_name[d])),
                         INFINITY, &out[d]);
    }
    return WEFT_OK;
}

static weft_status read_task(reader *r, const weft_doc *task, int u)
{
    static const char *const keys[] = {"name", "seconds", "memory"};
    const char *name = NULL;
    double memory = 0;

    WEFT_TRY(weft_doc_known_keys(task, keys, 3));
    WEFT_TRY(weft_doc_text(task, "name", &name));
    if (*name == '\0')
        return weft_doc_fail(task, "task %d has an empty name", u + 1);
    if (!weft_map_put(r->task_by_name, name, strlen(name), u))
        return weft_doc_fail(task, "two tasks are called '%.*s'", WEFT_SHOWN(name));
    WEFT_TRY(read_seconds(r, task, name, r->seconds + (size_t)u * (size_t)r->spec.n_devices));
    if (weft_doc_get(task, "memory"))
        WEFT_TRY(weft_doc_real(task, "memory", 0, LARGEST, &memory));
    add_weight(r, u, memory);
    r->task_name[u] = name;
    r->task_at[u] = task;
    return WEFT_OK;
}

static weft_status read_tasks(reader *r)
{
    const weft_doc *list = NULL;

    WEFT_TRY(weft_doc_need(r->doc, "tasks", WEFT_DOC_LIST, &list));
    if (list->n < 1)
        return weft_doc_fail(list, "'tasks' is empty, expected at least one task");
    WEFT_TRY(check_size(r, list));
    expect_tasks(r, list->n);
    for (int u = 0; u < list->n; u++)
        WEFT_TRY(read_task(r, list->item[u], u));
    return WEFT_OK;
}

/* The task that an end of an edge names. */
static weft_status find_task(reader *r, const weft_doc *edge, const char *key, const char *name,
                             int *out)
{
    const char *nearest;

    *out = weft_map_get(r->task_by_name, name, strlen(name));
    if (*out >= 0)
        return WEFT_OK;
    nearest = weft_nearest(name, r->spec.task_name,
                           r->spec.n_tasks < MOST_CANDIDATES ? r->spec.n_tasks : MOST_CANDIDATES);
    if (nearest)
        return weft_doc_fail(edge,
                             "'%s' is '%.*s', but there is no such task (did you mean "
                             "'%s'?)",
                             key, WEFT_SHOWN(name), nearest);
    return weft_doc_fail(edge, "'%s' is '%.*s', but there is no such task", key, WEFT_SHOWN(name));
}

static weft_status read_end(reader *r, const weft_doc *edge, const char *name, int from)
{
    int to = 0;

    WEFT_TRY(find_task(r, edge, "to", name, &to));
    if (from == to)
        return weft_doc_fail(edge, "task '%.*s' has an edge to itself",
                             WEFT_SHOWN(r->task_name[from]));
    add_reader(r, to);
    return WEFT_OK;
}

/* 'to' is a task, or a list of those that read the same: it is sent once to each of their devices.
 */
static weft_status read_ends(reader *r, const weft_doc *edge, int from)
{
    const weft_doc *to = weft_doc_get(edge, "to");
    const char *name = NULL;

    if (to == NULL || to->kind != WEFT_DOC_LIST) {
        WEFT_TRY(weft_doc_text(edge, "to", &name));
        return read_end(r, edge, name, from);
    }
    if (to->n == 0)
        return weft_doc_fail(to, "'to' is empty, expected at least one task");
    for (int i = 0; i < to->n; i++) {
        if (to->item[i]->kind != WEFT_DOC_TEXT)
            return weft_doc_fail(to->item[i], "'to' has %s, expected the name of a task",
                                 shown(to->item[i], r->arena));
        WEFT_TRY(read_end(r, edge, to->item[i]->text, from));
    }
    return WEFT_OK;
}

static weft_status read_edge(reader *r, const weft_doc *edge)
{
    static const char *const keys[] = {"from", "to", "amount"};
    const char *name = NULL;
    int from = 0;
    double amount = 0;

    WEFT_TRY(weft_doc_known_keys(edge, keys, 3));
    WEFT_TRY(weft_doc_text(edge, "from", &name));
    WEFT_TRY(find_task(r, edge, "from", name, &from));
    WEFT_TRY(weft_doc_real(edge, "amount", 0, LARGEST, &amount));
    add_tensor(r, from, amount, 0);
    return read_ends(r, edge, from);
}

static weft_status read_edges(reader *r)
{
    const weft_doc *list = NULL;

    WEFT_TRY(weft_doc_need(r->doc, "edges", WEFT_DOC_LIST, &list));
    for (int i = 0; i < list->n; i++)
        WEFT_TRY(read_edge(r, list->item[i]));
    return WEFT_OK;
}

/* One row for each device, one number for each device; 0 on the diagonal. */
static weft_status read_row(reader *r, const weft_doc *row, const char *key, double null_value,
                            double *out)
{
    int n = r->spec.n_devices;

    if (row->kind != WEFT_DOC_LIST || row->n != n)
        return weft_doc_fail(row,
                             "'%s' has %s here, expected a list of %d numbers: one for "
                             "each device",
                             key,
                             row->kind == WEFT_DOC_LIST
                                 ? weft_arena_print(r->arena, "a list of %d", row->n)
                                 : shown(row, r->arena),
                             n);
    for (int i = 0; i < n; i++)
        WEFT_TRY(read_item(r, row->item[i], key, null_value, &out[i]));
    return WEFT_OK;
}

static weft_status read_matrix(reader *r, const char *key, double null_value, const double **out)
{
    int n = r->spec.n_devices;
    const weft_doc *list = NULL;
    double *to;

    if (weft_doc_get(r->doc, key) == NULL)
        return WEFT_OK;
    WEFT_TRY(weft_doc_need(r->doc, key, WEFT_DOC_LIST, &list));
    if (list->n != n)
        return weft_doc_fail(list, "'%s' has %d rows, expected %d: one for each device", key,
                             list->n, n);
    to = WEFT_NEW(r->arena, double, n *n);
    for (int i = 0; i < n; i++) {
        WEFT_TRY(read_row(r, list->item[i], key, null_value, to + i * n));
        if (to[i * n + i] != 0)
            return weft_doc_fail(list->item[i]->item[i],
                                 "'%s' from '%.*s' to itself is %s, "
                                 "expected 0",
                                 key, WEFT_SHOWN(r->spec.device_name[i]),
                                 shown(list->item[i]->item[i], r->arena));
    }
    *out = to;
    return WEFT_OK;
}

static weft_status read_capacity(reader *r)
{
    const weft_doc *list = NULL;
    double *capacity;

    if (weft_doc_get(r->doc, "capacity") == NULL)
        return WEFT_OK;
    WEFT_TRY(weft_doc_need(r->doc, "capacity", WEFT_DOC_LIST, &list));
    capacity = WEFT_NEW(r->arena, double, r->spec.n_devices);
    WEFT_TRY(read_row(r, list, "capacity", INFINITY, capacity));
    r->spec.capacity = capacity;
    return WEFT_OK;
}

/* Seconds of a switch to each device. */
static weft_status read_switch(reader *r)
{
    const weft_doc *list = NULL;
    double *switch_s;

    if (weft_doc_get(r->doc, "switch") == NULL)
        return WEFT_OK;
    WEFT_TRY(weft_doc_need(r->doc, "switch", WEFT_DOC_LIST, &list));
    switch_s = WEFT_NEW(r->arena, double, r->spec.n_devices);
    WEFT_TRY(read_row(r, list, "switch", NAN, switch_s));
    r->spec.switch_s = switch_s;
    return WEFT_OK;
}

static weft_status read_transfer(reader *r)
{
    const char *name = NULL;

    if (weft_doc_get(r->doc, "transfer") == NULL)
        return WEFT_OK;
    WEFT_TRY(weft_doc_text(r->doc, "transfer", &name));
    for (weft_transfer t = WEFT_OVERLAP; t <= WEFT_CALLS; t++)
        if (strcmp(name, weft_transfer_name(t)) == 0) {
            r->spec.transfer = t;
            return WEFT_OK;
        }
    return weft_doc_fail(weft_doc_get(r->doc, "transfer"),
                         "'transfer' is '%.*s', expected overlap, contend, block or calls",
                         WEFT_SHOWN(name));
}

/* The device where inputs lie, which calls the others under `calls`. */
static weft_status read_host(reader *r)
{
    const char *name = NULL;

    if (weft_doc_get(r->doc, "host") == NULL)
        return WEFT_OK;
    WEFT_TRY(weft_doc_text(r->doc, "host", &name));
    for (int d = 0; d < r->spec.n_devices; d++)
        if (strcmp(r->spec.device_name[d], name) == 0)
            r->spec.host = d;
    if (r->spec.host < 0)
        return weft_doc_fail(weft_doc_get(r->doc, "host"),
                             "'host' is '%.*s', but there is no such device", WEFT_SHOWN(name));
    return WEFT_OK;
}

/* Says how to read a file that looks like the other format. */
static weft_status check_schema(const weft_doc *d)
{
    const char *schema = NULL;

    if (d->kind == WEFT_DOC_MAP && !weft_doc_get(d, "schema") && weft_doc_get(d, "maxFPGAs"))
        return weft_doc_fail(d, "key 'schema' is missing; for a file of the dnn-partitioning "
                                "workloads add --format msr");
    WEFT_TRY(weft_doc_text(d, "schema", &schema));
    if (strcmp(schema, "weft.tasks/1") != 0)
        return weft_doc_fail(weft_doc_get(d, "schema"),
                             "'schema' is '%.*s', expected 'weft.tasks/1'", WEFT_SHOWN(schema));
    return WEFT_OK;
}

static weft_status read_task_file(reader *r)
{
    static const char *const keys[] = {"schema",  "name",     "devices",  "tasks", "edges", "link",
                                       "latency", "capacity", "transfer", "host",  "switch"};

    WEFT_TRY(check_schema(r->doc));
    WEFT_TRY(weft_doc_known_keys(r->doc, keys, (int)(sizeof keys / sizeof *keys)));
    if (weft_doc_get(r->doc, "name"))
        WEFT_TRY(weft_doc_text(r->doc, "name", &r->spec.name));
    WEFT_TRY(read_devices(r));
    WEFT_TRY(read_host(r));
    WEFT_TRY(read_tasks(r));
    WEFT_TRY(read_edges(r));
    WEFT_TRY(read_matrix(r, "link", INFINITY, &r->spec.second_per_byte));
    WEFT_TRY(read_matrix(r, "latency", NAN, &r->spec.latency_s));
    WEFT_TRY(read_capacity(r));
    WEFT_TRY(read_switch(r));
    return read_transfer(r);
}

/* --- dnn-partitioning ------------------------------------------------------------------------ */

#define SECONDS_PER_MS 1e-3

static weft_status read_flag(reader *r, const weft_doc *map, const char *key, bool *out)
{
    const weft_doc *d = weft_doc_get(map, key);

    if (d == NULL)
        return weft_doc_fail(map, "key '%s' is missing", key);
    if (d->kind != WEFT_DOC_BOOL && (d->kind != WEFT_DOC_INT || (d->integer & ~1) != 0))
        return weft_doc_fail(d, "'%s' is %s, expected true or false", key, shown(d, r->arena));
    *out = d->kind == WEFT_DOC_BOOL ? d->truth : d->integer == 1;
    return WEFT_OK;
}

static bool is_given(const weft_doc *map, const char *key)
{
    const weft_doc *d = weft_doc_get(map, key);

    return d && d->kind != WEFT_DOC_NULL;
}

/* The accelerators come first, then the CPUs. Under calls the CPUs are one host. */
static weft_status read_machine(reader *r, int *n_accelerators)
{
    int64_t n_fpgas = 0, n_cpus = 0;
    double room = 0;
    double *capacity, *second_per_byte;
    const char **name;
    int n, k;

    WEFT_TRY(weft_doc_int(r->doc, "maxFPGAs", 0, WEFT_MOST_DEVICES / 2, &n_fpgas));
    WEFT_TRY(weft_doc_int(r->doc, "maxCPUs", 0, WEFT_MOST_DEVICES / 2, &n_cpus));
    WEFT_TRY(weft_doc_real(r->doc, "maxSizePerFPGA", 0, LARGEST, &room));
    k = *n_accelerators = (int)n_fpgas;
    n = k + (n_cpus > 1 && !r->spec.constraints.is_calls ? (int)n_cpus : 1);
    name = WEFT_NEW(r->arena, const char *, n);
    capacity = WEFT_NEW(r->arena, double, n);
    second_per_byte = WEFT_NEW(r->arena, double, n *n);
    for (int d = 0; d < n; d++) {
        name[d] = d < k ? weft_arena_print(r->arena, "acc%d", d)
                        : weft_arena_print(r->arena, "cpu%d", d - k);
        capacity[d] = d < k ? room : INFINITY;
        for (int e = 0; e < n; e++)
            second_per_byte[d * n + e] = (d < k) + (e < k);
    }
    r->spec.n_devices = n;
    r->spec.device_name = name;
    r->spec.capacity = capacity;
    r->spec.second_per_byte = second_per_byte;
    r->spec.transfer = WEFT_BLOCK; /* unless calls are asked for */
    r->spec.host = r->spec.constraints.is_calls ? k : -1;
    return WEFT_OK;
}

static weft_status read_id(reader *r, const weft_doc *map, const char *key, const char **out)
{
    int64_t id = 0;

    WEFT_TRY(weft_doc_int(map, key, INT64_MIN, INT64_MAX, &id));
    *out = weft_arena_print(r->arena, "%lld", (long long)id);
    return WEFT_OK;
}

/* The name of a node, with its id where the file has none or two alike. */
static weft_status name_node(reader *r, const weft_doc *node, const char *id, weft_map *names,
                             const char **out)
{
    *out = weft_arena_print(r->arena, "node %s", id);
    if (is_given(node, "name")) {
        WEFT_TRY(weft_doc_text(node, "name", out));
        if (**out && weft_map_put(names, *out, strlen(*out), 0))
            return WEFT_OK;
        *out = weft_arena_print(r->arena, "%s (id %s)", *out, id);
    }
    if (!weft_map_put(names, *out, strlen(*out), 0))
        return weft_doc_fail(node, "two nodes are called '%.*s'", WEFT_SHOWN(*out));
    return WEFT_OK;
}

static weft_status read_latencies(reader *r, const weft_doc *node, int u, int n_accelerators)
{
    double *seconds = r->seconds + (size_t)u * (size_t)r->spec.n_devices;
    double cpu_ms = 0, accelerator_ms = INFINITY;
    bool is_supported = false;

    WEFT_TRY(read_flag(r, node, "supportedOnFpga", &is_supported));
    WEFT_TRY(weft_doc_real(node, "cpuLatency", 0, LARGEST, &cpu_ms));
    if (is_supported)
        WEFT_TRY(weft_doc_real(node, "fpgaLatency", 0, LARGEST, &accelerator_ms));
    for (int d = 0; d < r->spec.n_devices; d++)
        seconds[d] = (d < n_accelerators ? accelerator_ms : cpu_ms) * SECONDS_PER_MS;
    return WEFT_OK;
}

/* Colours of the file are any numbers; here they count from 0 in order of appearance. */
static weft_status read_colocation(reader *r, const weft_doc *node, weft_map *colocations, int *out)
{
    const char *id = NULL;
    int next = *out;

    *out = -1;
    if (!is_given(node, "colorClass"))
        return WEFT_OK;
    WEFT_TRY(read_id(r, node, "colorClass", &id));
    (void)weft_map_put(colocations, id, strlen(id), next);
    *out = weft_map_get(colocations, id, strlen(id));
    return WEFT_OK;
}

static weft_status read_node(reader *r, const weft_doc *node, int u, int n_accelerators,
                             weft_map *names)
{
    const char *id = NULL;
    double size = 0;

    WEFT_TRY(read_id(r, node, "id", &id));
    if (!weft_map_put(r->task_by_name, id, strlen(id), u))
        return weft_doc_fail(node, "two nodes have the id %s", id);
    WEFT_TRY(name_node(r, node, id, names, &r->task_name[u]));
    WEFT_TRY(read_latencies(r, node, u, n_accelerators));
    if (is_given(node, "size"))
        WEFT_TRY(weft_doc_real(node, "size", 0, LARGEST, &size));
    add_weight(r, u, size);
    r->task_at[u] = node;
    return WEFT_OK;
}

static weft_status read_nodes(reader *r, int n_accelerators)
{
    const weft_doc *list = NULL;
    weft_map *names = weft_map_new(r->arena), *colocations = weft_map_new(r->arena);
    int *colocation;
    bool *is_backward;
    int n_colocations = 0;

    WEFT_TRY(weft_doc_need(r->doc, "nodes", WEFT_DOC_LIST, &list));
    if (list->n < 1)
        return weft_doc_fail(list, "'nodes' is empty, expected at least one node");
    WEFT_TRY(check_size(r, list));
    expect_tasks(r, list->n);
    r->spec.colocation = colocation = WEFT_NEW(r->arena, int, list->n);
    r->spec.is_backward = is_backward = WEFT_NEW(r->arena, bool, list->n);
    for (int u = 0; u < list->n; u++) {
        WEFT_TRY(read_node(r, list->item[u], u, n_accelerators, names));
        if (is_given(list->item[u], "isBackwardNode"))
            WEFT_TRY(read_flag(r, list->item[u], "isBackwardNode", &is_backward[u]));
        colocation[u] = n_colocations;
        WEFT_TRY(read_colocation(r, list->item[u], colocations, &colocation[u]));
        n_colocations += colocation[u] == n_colocations;
    }
    return WEFT_OK;
}

typedef struct msr_edge {
    int from, to, next; /* next edge of the same source, or -1 */
} msr_edge;

static weft_status find_node(reader *r, const weft_doc *edge, const char *key, int *out)
{
    const char *id = NULL;

    WEFT_TRY(read_id(r, edge, key, &id));
    *out = weft_map_get(r->task_by_name, id, strlen(id));
    if (*out < 0)
        return weft_doc_fail(edge, "'%s' is %s, but there is no node with this id", key, id);
    return WEFT_OK;
}

/* The cost belongs to the source: all its edges must agree on it. cost[] is negative until known.
 */
static weft_status read_msr_edge(reader *r, const weft_doc *d, double *cost, msr_edge *out)
{
    double ms = 0;

    WEFT_TRY(find_node(r, d, "sourceId", &out->from));
    WEFT_TRY(find_node(r, d, "destId", &out->to));
    WEFT_TRY(weft_doc_real(d, "cost", 0, LARGEST, &ms));
    if (cost[out->from] >= 0 && cost[out->from] != ms)
        return weft_doc_fail(d,
                             "'cost' is %g, but another edge of node '%.*s' has %g, expected "
                             "the same: a node has one output",
                             ms, WEFT_SHOWN(r->task_name[out->from]), cost[out->from]);
    cost[out->from] = ms;
    return WEFT_OK;
}

static weft_status read_outputs(reader *r)
{
    const weft_doc *list = NULL;
    int *first = WEFT_NEW(r->arena, int, r->spec.n_tasks);
    double *cost = WEFT_NEW(r->arena, double, r->spec.n_tasks);
    msr_edge *edge;

    WEFT_TRY(weft_doc_need(r->doc, "edges", WEFT_DOC_LIST, &list));
    edge = WEFT_NEW(r->arena, msr_edge, list->n);
    for (int u = 0; u < r->spec.n_tasks; u++) {
        first[u] = -1;
        cost[u] = -1;
    }
    for (int i = 0; i < list->n; i++) {
        WEFT_TRY(read_msr_edge(r, list->item[i], cost, &edge[i]));
        edge[i].next = first[edge[i].from];
        first[edge[i].from] = i;
    }
    for (int u = 0; u < r->spec.n_tasks; u++) {
        if (first[u] < 0)
            continue;
        add_tensor(r, u, cost[u] * SECONDS_PER_MS, 0);
        for (int i = first[u]; i >= 0; i = edge[i].next)
            add_reader(r, edge[i].to);
    }
    return WEFT_OK;
}

static weft_status read_msr(reader *r)
{
    int n_accelerators = 0;

    WEFT_TRY(read_machine(r, &n_accelerators));
    WEFT_TRY(read_nodes(r, n_accelerators));
    return read_outputs(r);
}

/* --- either format --------------------------------------------------------------------------- */

static weft_status parse(reader *r, bool is_msr, weft_problem **out)
{
    r->spec.name = r->doc->file ? stem_of(r->arena, r->doc->file) : "tasks";
    WEFT_TRY(is_msr ? read_msr(r) : read_task_file(r));
    return finish(r, out);
}

weft_status weft_problem_parse(const weft_doc *d, bool is_msr, const weft_constraints *constraints,
                               weft_problem **out)
{
    reader r = {
        .arena = weft_arena_new(), .doc = d, .spec = {.host = -1, .constraints = *constraints}
    };
    weft_status status = parse(&r, is_msr, out);

    weft_arena_free(r.arena);
    return status;
}

weft_status weft_problem_read(const char *path, bool is_msr, const weft_constraints *constraints,
                              weft_problem **out)
{
    weft_arena *scratch = weft_arena_new();
    const weft_doc *d = NULL;
    weft_status status = weft_doc_read(path, scratch, &d);

    if (status == WEFT_OK)
        status = weft_problem_parse(d, is_msr, constraints, out);
    weft_arena_free(scratch);
    return status;
}
