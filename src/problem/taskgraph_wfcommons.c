/* SPDX-License-Identifier: MIT */
/* taskgraph_wfcommons.c: workflows of WfCommons (WfFormat).
 *
 * 1. Up to version 1.4 `workflow.tasks` has everything; since 1.5 `workflow.specification` has tasks
 *    and files, and `workflow.execution` the run times.
 * 2. `parents` and `children` say who waits for whom.
 * 3. A file that a task writes and tasks that wait for it read is one tensor: sent once to each
 *    processor. A task that waits without such a file gets an edge without bytes. Files that nobody
 *    writes are everywhere from the start.
 *
 * Everything else in the file is ignored: what ran where, memory, cores, energy. */
#include "taskgraph.h"

#include <string.h>

#include "problem_spec.h"

#define LARGEST 1e18

typedef struct pair {
    int task, file;
} pair;

typedef struct reader {
    weft_taskgraph *x;
    const weft_doc *tasks;
    int n;
    const char **name; /* [n] */
    weft_map *by_name; /* names of tasks that are not their ids */
    weft_map *files;
    WEFT_VEC(double) size; /* of files */
    WEFT_VEC(pair) reads, writes;
    WEFT_VEC(pair) waits; /* task waits for `file`, a task here */
} reader;

static weft_status find_tasks(reader *r, const weft_doc *workflow, const weft_doc **runs,
                              const weft_doc **files)
{
    const weft_doc *part = weft_doc_get(workflow, "specification");

    *runs = *files = NULL;
    if (part == NULL)
        return weft_doc_need(workflow, "tasks", WEFT_DOC_LIST, &r->tasks);
    WEFT_TRY(weft_doc_need(workflow, "specification", WEFT_DOC_MAP, &part));
    WEFT_TRY(weft_doc_need(part, "tasks", WEFT_DOC_LIST, &r->tasks));
    if (weft_doc_get(part, "files") != NULL)
        WEFT_TRY(weft_doc_need(part, "files", WEFT_DOC_LIST, files));
    if (weft_doc_get(workflow, "execution") == NULL)
        return weft_doc_fail(workflow, "key 'execution' is missing: the workflow was not run, and "
                                       "its tasks have no times");
    WEFT_TRY(weft_doc_need(workflow, "execution", WEFT_DOC_MAP, &part));
    return weft_doc_need(part, "tasks", WEFT_DOC_LIST, runs);
}

static weft_status add_file(reader *r, const char *name, double size)
{
    if (weft_map_put(r->files, name, strlen(name), r->size.n))
        WEFT_PUSH(r->x->a, r->size, size);
    return WEFT_OK;
}

static weft_status read_files(reader *r, const weft_doc *list)
{
    for (int i = 0; list != NULL && i < list->n; i++) {
        const char *id;
        double size;

        WEFT_TRY(weft_doc_text(list->item[i], "id", &id));
        WEFT_TRY(weft_doc_real(list->item[i], "sizeInBytes", 0, LARGEST, &size));
        WEFT_TRY(add_file(r, id, size));
    }
    return WEFT_OK;
}

/* --- tasks ----------------------------------------------------------------------------------- */

static const char *key_of(const weft_doc *d, const char *key, const char *old)
{
    return weft_doc_get(d, key) == NULL && weft_doc_get(d, old) != NULL ? old : key;
}

/* runs: where the times are, by id; NULL: in the task itself. */
static weft_status read_seconds(const weft_doc *task, const char *id, const weft_doc *runs,
                                const weft_map *run_at, double *out)
{
    const weft_doc *at = task;
    int run = runs ? weft_map_get(run_at, id, strlen(id)) : 0;

    if (run < 0)
        return weft_doc_fail(task, "task '%.*s' is not in execution.tasks: it has no time",
                             WEFT_SHOWN(id));
    if (runs != NULL)
        at = runs->item[run];
    return weft_doc_real(at, key_of(at, "runtimeInSeconds", "runtime"), 0, LARGEST, out);
}

static weft_status read_task(reader *r, int u, const weft_doc *runs, const weft_map *run_at)
{
    const weft_doc *task = r->tasks->item[u];
    double seconds = 0;
    const char *name;

    WEFT_TRY(weft_doc_text(task, weft_doc_get(task, "id") ? "id" : "name", &r->name[u]));
    WEFT_TRY(read_seconds(task, r->name[u], runs, run_at, &seconds));
    if (weft_doc_get(task, "name") != NULL) {
        WEFT_TRY(weft_doc_text(task, "name", &name));
        (void)weft_map_put(r->by_name, name, strlen(name), u);
    }
    return weft_taskgraph_add_task(r->x, task->line, r->name[u], seconds);
}

static weft_status read_tasks(reader *r, const weft_doc *runs)
{
    weft_map *run_at = weft_map_new(r->x->a);

    for (int i = 0; runs != NULL && i < runs->n; i++) {
        const char *id;

        WEFT_TRY(weft_doc_text(runs->item[i], "id", &id));
        (void)weft_map_put(run_at, id, strlen(id), i);
    }
    r->n = r->tasks->n;
    r->name = WEFT_NEW(r->x->a, const char *, r->n + 1);
    for (int u = 0; u < r->n; u++)
        WEFT_TRY(read_task(r, u, runs, run_at));
    return WEFT_OK;
}

/* --- who waits for whom ---------------------------------------------------------------------- */

static weft_status find_task(const reader *r, const weft_doc *name, int *out)
{
    if (name->kind != WEFT_DOC_TEXT)
        return weft_doc_fail(name, "this is %s, expected the id of a task in quotes",
                             weft_doc_kind_name(name->kind));
    *out = weft_map_get(r->x->index, name->text, strlen(name->text));
    if (*out < 0)
        *out = weft_map_get(r->by_name, name->text, strlen(name->text));
    return *out >= 0 ? WEFT_OK
                     : weft_doc_fail(name, "'%.*s' is the id of no task", WEFT_SHOWN(name->text));
}

static weft_status read_family(reader *r, int u, const char *key, bool is_parent)
{
    const weft_doc *list = weft_doc_get(r->tasks->item[u], key);

    if (list == NULL)
        return WEFT_OK;
    WEFT_TRY(weft_doc_need(r->tasks->item[u], key, WEFT_DOC_LIST, &list));
    for (int i = 0; i < list->n; i++) {
        int v = 0;

        WEFT_TRY(find_task(r, list->item[i], &v));
        if (u == v)
            return weft_doc_fail(list->item[i], "task '%.*s' waits for itself",
                                 WEFT_SHOWN(r->name[u]));
        WEFT_PUSH(r->x->a, r->waits, ((pair){is_parent ? u : v, is_parent ? v : u}));
    }
    return WEFT_OK;
}

/* Files by id, as version 1.5 lists them. */
static weft_status read_ids(reader *r, int u, const char *key, bool is_read)
{
    const weft_doc *list = weft_doc_get(r->tasks->item[u], key);

    if (list == NULL)
        return WEFT_OK;
    WEFT_TRY(weft_doc_need(r->tasks->item[u], key, WEFT_DOC_LIST, &list));
    for (int i = 0; i < list->n; i++) {
        const weft_doc *d = list->item[i];
        pair p = {u,
                  d->kind == WEFT_DOC_TEXT ? weft_map_get(r->files, d->text, strlen(d->text)) : -1};

        if (p.file < 0)
            return weft_doc_fail(d, "'%s' has a file that is not in specification.files", key);
        if (is_read)
            WEFT_PUSH(r->x->a, r->reads, p);
        else
            WEFT_PUSH(r->x->a, r->writes, p);
    }
    return WEFT_OK;
}

/* Files with their sizes, as the versions before list them in the task. */
static weft_status read_own_files(reader *r, int u)
{
    const weft_doc *list = weft_doc_get(r->tasks->item[u], "files");

    if (list == NULL)
        return WEFT_OK;
    WEFT_TRY(weft_doc_need(r->tasks->item[u], "files", WEFT_DOC_LIST, &list));
    for (int i = 0; i < list->n; i++) {
        const weft_doc *d = list->item[i];
        const char *name, *link;
        double size;
        pair p = {u, 0};

        WEFT_TRY(weft_doc_text(d, key_of(d, "name", "id"), &name));
        WEFT_TRY(weft_doc_text(d, "link", &link));
        WEFT_TRY(weft_doc_real(d, key_of(d, "sizeInBytes", "size"), 0, LARGEST, &size));
        WEFT_TRY(add_file(r, name, size));
        p.file = weft_map_get(r->files, name, strlen(name));
        if (strcmp(link, "input") == 0)
            WEFT_PUSH(r->x->a, r->reads, p);
        else if (strcmp(link, "output") == 0)
            WEFT_PUSH(r->x->a, r->writes, p);
        else
            return weft_doc_fail(d, "'link' is '%.*s', expected input or output", WEFT_SHOWN(link));
    }
    return WEFT_OK;
}

static weft_status read_links(reader *r)
{
    for (int u = 0; u < r->n; u++) {
        WEFT_TRY(read_family(r, u, "parents", true));
        WEFT_TRY(read_family(r, u, "children", false));
        WEFT_TRY(read_ids(r, u, "inputFiles", true));
        WEFT_TRY(read_ids(r, u, "outputFiles", false));
        WEFT_TRY(read_own_files(r, u));
    }
    return WEFT_OK;
}

/* --- edges ----------------------------------------------------------------------------------- */

/* Pairs by a key, as rows: at[k] .. at[k + 1] - 1 of `item`. */
typedef struct rows {
    int *at, *item;
} rows;

static rows group(weft_arena *a, const pair *list, int n, int n_rows, bool by_file)
{
    rows g = {WEFT_NEW(a, int, n_rows + 2), WEFT_NEW(a, int, n + 1)};

    for (int i = 0; i < n; i++)
        g.at[(by_file ? list[i].file : list[i].task) + 2]++;
    for (int k = 0; k < n_rows; k++)
        g.at[k + 2] += g.at[k + 1];
    for (int i = 0; i < n; i++)
        g.item[g.at[(by_file ? list[i].file : list[i].task) + 1]++] =
            by_file ? list[i].task : list[i].file;
    return g;
}

typedef struct net {
    rows wait_on;  /* task -> tasks that wait for it */
    rows written;  /* task -> files */
    rows read_by;  /* file -> tasks */
    int *is_after; /* [task] the task that it is known to wait for, + 1 */
    int *has_file; /* the same, of those that get a file of it */
    const char **to;
} net;

static void add_file_edges(const reader *r, const net *g, int u, int f)
{
    int n = 0;

    for (int i = g->read_by.at[f]; i < g->read_by.at[f + 1]; i++) {
        int v = g->read_by.item[i];

        if (g->is_after[v] != u + 1)
            continue;
        g->has_file[v] = u + 1;
        g->to[n++] = r->name[v];
    }
    if (n > 0)
        weft_taskgraph_add_edge(r->x, r->tasks->item[u]->line, r->name[u], g->to, n, r->size.at[f]);
}

static void add_edges(const reader *r, const net *g, int u)
{
    for (int i = g->wait_on.at[u]; i < g->wait_on.at[u + 1]; i++)
        g->is_after[g->wait_on.item[i]] = u + 1;
    for (int i = g->written.at[u]; i < g->written.at[u + 1]; i++)
        add_file_edges(r, g, u, g->written.item[i]);
    for (int i = g->wait_on.at[u]; i < g->wait_on.at[u + 1]; i++) {
        int v = g->wait_on.item[i];

        if (g->has_file[v] == u + 1)
            continue;
        g->has_file[v] = u + 1; /* both parents and children may say it */
        weft_taskgraph_add_edge(r->x, r->tasks->item[u]->line, r->name[u], &r->name[v], 1, 0);
    }
}

static void connect(const reader *r)
{
    weft_arena *a = r->x->a;
    net g = {.wait_on = group(a, r->waits.at, r->waits.n, r->n, true),
             .written = group(a, r->writes.at, r->writes.n, r->n, false),
             .read_by = group(a, r->reads.at, r->reads.n, r->size.n, true),
             .is_after = WEFT_NEW(a, int, r->n + 1),
             .has_file = WEFT_NEW(a, int, r->n + 1),
             .to = WEFT_NEW(a, const char *, r->reads.n + 1)};

    for (int u = 0; u < r->n; u++)
        add_edges(r, &g, u);
}

weft_status weft_taskgraph_wfcommons(weft_taskgraph *x)
{
    reader r = {.x = x, .by_name = weft_map_new(x->a), .files = weft_map_new(x->a)};
    const weft_doc *root = x->doc, *workflow, *runs, *files;

    if (root == NULL)
        WEFT_TRY(weft_doc_parse(x->text, x->n, x->file, x->a, &root));
    WEFT_TRY(weft_doc_need(root, "workflow", WEFT_DOC_MAP, &workflow));
    if (weft_doc_get(root, "name") != NULL)
        WEFT_TRY(weft_doc_text(root, "name", &x->name));
    x->has_bytes = true;
    WEFT_TRY(find_tasks(&r, workflow, &runs, &files));
    WEFT_TRY(read_files(&r, files));
    WEFT_TRY(read_tasks(&r, runs));
    WEFT_TRY(read_links(&r));
    connect(&r);
    return WEFT_OK;
}
