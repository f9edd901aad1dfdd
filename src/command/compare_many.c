/* SPDX-License-Identifier: MIT */
/* compare_many.c: weft compare with several instances.
 *
 * 1. Operands become instances: a folder stands for its files, by name.
 * 2. Each instance is opened by one of the jobs; the rows that the file has already, of the same
 *    problem under the same limit, are taken from there. The others are solved and appended.
 * 3. Answers to one instance are held against each other, as in a comparison of one.
 * 4. In the end the rows stand in the order of instances and solvers.
 *
 * An instance that cannot be opened or solved has no rows; the others go on, and the call fails in
 * the end with what was wrong first. */
#define _POSIX_C_SOURCE 200809L
#include "compare.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fields.h"

enum { MOST_SOLVERS = 32 };

typedef struct many {
    const weft_compare_many *m;
    weft_arena *a;
    int n; /* instances */
    const char **instance;
    int n_solvers;
    const char **solver;
    const char *limit;
    weft_run run;
    weft_watch watch;
    weft_compare_file *file;
    weft_compare_row *row; /* [n * n_solvers] */
    pthread_mutex_t lock;  /* of all below, and of the file */
    int n_done, n_kept, n_wrong;
    int first_wrong; /* instance; its message and status */
    const char *message;
    weft_status status;
} many;

/* --- instances ------------------------------------------------------------------------------- */

bool weft_compare_is_folder(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static int by_name(const void *one, const void *other)
{
    return strcmp(*(const char *const *)one, *(const char *const *)other);
}

/* Files that may be instances; others lie in such folders, too. */
static bool is_instance(const char *name)
{
    static const char *const endings[] = {".json", ".stg", ".dot", ".gv", ".onnx"};
    size_t n = strlen(name);

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t k = strlen(endings[i]);

        if (n > k && name[0] != '.' && strcmp(name + n - k, endings[i]) == 0)
            return true;
    }
    return false;
}

typedef struct names {
    WEFT_VEC(const char *) list;
} names;

static weft_status add_folder(many *x, const char *path, names *out)
{
    DIR *folder = opendir(path);
    size_t n = strlen(path);
    int first = out->list.n;

    if (folder == NULL)
        return weft_fail(WEFT_E_SYSTEM, "%s cannot be opened: %s", path, strerror(errno));
    for (const struct dirent *d; (d = readdir(folder)) != NULL;) {
        const char *file =
            weft_arena_print(x->a, "%s%s%s", path, path[n - 1] == '/' ? "" : "/", d->d_name);

        if (is_instance(d->d_name) && !weft_compare_is_folder(file))
            WEFT_PUSH(x->a, out->list, file);
    }
    closedir(folder);
    if (out->list.n == first)
        return weft_fail(WEFT_E_INPUT,
                         "%s has no instances: no file ends in .json, .stg, .dot, .gv or .onnx",
                         path);
    qsort(out->list.at + first, (size_t)(out->list.n - first), sizeof *out->list.at, by_name);
    return WEFT_OK;
}

static weft_status list_instances(many *x)
{
    weft_map *seen = weft_map_new(x->a);
    names all = {0};

    for (int i = 0; i < x->m->n_operands; i++) {
        if (weft_compare_is_folder(x->m->operand[i]))
            WEFT_TRY(add_folder(x, x->m->operand[i], &all));
        else
            WEFT_PUSH(x->a, all.list, x->m->operand[i]);
    }
    for (int i = 0; i < all.list.n; i++) {
        if (!weft_map_put(seen, all.list.at[i], strlen(all.list.at[i]), i))
            return weft_fail(WEFT_E_INPUT, "compare: %s is there twice", all.list.at[i]);
        if (strchr(all.list.at[i], '\n') != NULL)
            return weft_fail(WEFT_E_INPUT, "compare: the name of file %d has a line break", i + 1);
    }
    x->n = all.list.n;
    x->instance = all.list.at;
    return WEFT_OK;
}

static weft_status list_solvers(many *x)
{
    const char *at = *x->m->solvers ? x->m->solvers : "auto";

    x->solver = WEFT_NEW(x->a, const char *, MOST_SOLVERS);
    while (*at) {
        size_t n = strcspn(at, ",");

        if (x->n_solvers == MOST_SOLVERS)
            return weft_fail(WEFT_E_INPUT, "compare: --solver has more than %d names",
                             MOST_SOLVERS);
        x->solver[x->n_solvers] = weft_arena_text(x->a, at, n);
        for (int i = 0; i < x->n_solvers; i++)
            if (strcmp(x->solver[i], x->solver[x->n_solvers]) == 0)
                return weft_fail(WEFT_E_INPUT, "compare: --solver has '%s' twice", x->solver[i]);
        WEFT_TRY(weft_make_check_solver(x->m->kind, NULL, x->solver[x->n_solvers++], x->a));
        at += n + (at[n] == ',');
    }
    return WEFT_OK;
}

/* --- one instance ---------------------------------------------------------------------------- */

static bool is_stopped(const many *x)
{
    return x->run.stop != NULL && *x->run.stop;
}

static weft_status take_row(many *x, const weft_compare_row *row, int at, bool is_new)
{
    weft_status status = WEFT_OK;

    pthread_mutex_lock(&x->lock);
    if (is_new)
        status = weft_compare_file_add(x->file, row);
    x->row[at] = *row;
    x->row[at].is_there = status == WEFT_OK;
    x->n_kept += !is_new;
    pthread_mutex_unlock(&x->lock);
    return status;
}

static bool find_row(many *x, weft_compare_row *row)
{
    const weft_compare_row *old;

    pthread_mutex_lock(&x->lock);
    old = weft_compare_file_find(x->file, row);
    pthread_mutex_unlock(&x->lock);
    if (old != NULL)
        *row = *old;
    return old != NULL;
}

static weft_status solve_one(many *x, const weft_opened *p, const char *solver, weft_arena *a,
                             weft_compare_row *row, weft_proof *proof)
{
    const weft_proof nothing = {0};
    weft_run run = x->run;
    weft_made made = {0};
    bool has_plan;

    WEFT_TRY(weft_make_check_solver(x->m->kind, p, solver, a));
    run.begin_s = weft_wall_s();
    WEFT_TRY(weft_make_solve(x->m->kind, p, solver, &nothing, &run, a, &made));
    *proof = *x->m->kind->proof(made.solution);
    has_plan = weft_has_plan(proof);
    row->outcome = proof->outcome;
    row->value = has_plan ? proof->value : NAN;
    row->bound = proof->bound;
    row->gap = has_plan ? proof->gap : NAN;
    row->seconds = made.seconds;
    return WEFT_OK;
}

static weft_status solve_instance(many *x, int i, const weft_opened *p, weft_arena *a)
{
    weft_claim *claim = WEFT_NEW(a, weft_claim, x->n_solvers);
    int n = 0;

    for (int s = 0; s < x->n_solvers && !is_stopped(x); s++) {
        weft_compare_row row = {.instance = x->instance[i],
                                .solver = x->solver[s],
                                .seed = x->run.seed,
                                .limit = x->limit,
                                .problem = p->problem_hash};
        weft_proof proof;

        if (find_row(x, &row)) {
            WEFT_TRY(take_row(x, &row, i * x->n_solvers + s, false));
            continue;
        }
        WEFT_TRY(solve_one(x, p, x->solver[s], a, &row, &proof));
        if (is_stopped(x)) /* what it would have found is not known */
            return WEFT_OK;
        claim[n++] = weft_claim_of(x->solver[s], &proof);
        WEFT_TRY(take_row(x, &row, i * x->n_solvers + s, true));
    }
    return weft_cross_check(&(weft_contest){.n = n, .claim = claim});
}

static weft_status open_and_solve(many *x, int i, weft_arena *a)
{
    const weft_kind *k = x->m->kind;
    const void *request = NULL;
    weft_opened p;
    weft_status status;

    WEFT_TRY(x->m->request(x->m->context, x->instance[i], a, &request));
    WEFT_TRY(k->open(request, NULL, a, &p));
    status = solve_instance(x, i, &p, a);
    k->close(p.of_kind);
    return status;
}

static void tell(many *x)
{
    char line[80];

    snprintf(line, sizeof line, "%d of %d instances", x->n_done, x->n);
    weft_progress(x->watch.host, line);
    x->watch.has_shown = true;
}

static void job(void *context, int i)
{
    many *x = context;
    weft_arena *a;
    weft_status status;

    if (is_stopped(x))
        return;
    a = weft_arena_new();
    status = open_and_solve(x, i, a);
    pthread_mutex_lock(&x->lock);
    x->n_done++;
    if (status != WEFT_OK) {
        x->n_wrong++;
        if (x->message == NULL || i < x->first_wrong) {
            x->first_wrong = i;
            x->message = weft_arena_word(x->a, weft_message());
            x->status = status;
        }
    }
    tell(x);
    pthread_mutex_unlock(&x->lock);
    weft_arena_free(a);
}

/* --- the answer ------------------------------------------------------------------------------ */

static void print_text(const many *x, int n, FILE *to)
{
    int columns = 8;

    for (int i = 0; i < x->n; i++)
        columns = (int)strlen(x->instance[i]) > columns ? (int)strlen(x->instance[i]) : columns;
    fprintf(to, "%-*s %-12s %12s %12s %8s %10s  %s\n", columns, "instance", "solver", "value",
            "bound", "gap", "solved in", "status");
    for (int i = 0; i < n; i++) {
        const weft_compare_row *r = &x->row[i];
        char value[48], bound[48], gap[32], seconds[48];
        bool has_plan = !isnan(r->value);

        if (!r->is_there)
            continue;
        fprintf(to, "%-*s %-12s %12s %12s %8s %10s  %s\n", columns, r->instance, r->solver,
                has_plan ? weft_unit_print(r->value, WEFT_UNIT_SECONDS, value) : "-",
                weft_unit_print(r->bound, WEFT_UNIT_SECONDS, bound),
                has_plan ? weft_format_gap(r->gap, 1, gap) : "-",
                weft_unit_print(r->seconds, WEFT_UNIT_SECONDS, seconds),
                weft_outcome_name(r->outcome));
    }
    fprintf(to, "\ngaps are in percent\n");
}

static weft_doc *rows_doc(const many *x, int n)
{
    weft_arena *a = x->a;
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *list = weft_doc_new(a, WEFT_DOC_LIST);

    weft_put_text(a, d, "schema", "weft.comparisons/1");
    weft_put_text(a, d, "command", "compare");
    for (int i = 0; i < n; i++) {
        const weft_compare_row *r = &x->row[i];
        weft_doc *row;

        if (!r->is_there)
            continue;
        row = weft_add_map(a, list);
        weft_put_text(a, row, "instance", r->instance);
        weft_put_text(a, row, "solver", r->solver);
        weft_put_real(a, row, "value", r->value);
        weft_put_real(a, row, "bound", r->bound);
        weft_put_real(a, row, "gap", r->gap);
        weft_put_text(a, row, "status", weft_outcome_name(r->outcome));
        weft_put_real(a, row, "seconds", r->seconds);
        weft_put_int(a, row, "seed", r->seed);
        weft_put_text(a, row, "limit", r->limit);
        weft_put_text(a, row, "problem", weft_arena_print(a, "%016" PRIx64, r->problem));
    }
    weft_doc_put(a, d, "rows", list);
    return d;
}

/* Rows of a file are there already, but for their order. */
static bool is_file(const many *x)
{
    return x->m->csv && *x->m->output && strcmp(x->m->output, "-") != 0;
}

static weft_status show(many *x)
{
    int n = x->n * x->n_solvers;
    weft_collect c;

    if (is_file(x))
        return weft_compare_file_finish(x->file, x->row, n);
    WEFT_TRY(weft_collect_begin(&c));
    if (x->m->csv)
        weft_compare_print_csv(x->row, n, c.to);
    else if (x->m->json)
        fprintf(c.to, "%s\n", weft_doc_json(rows_doc(x, n), 1, x->a));
    else
        print_text(x, n, c.to);
    return weft_collect_emit(&c, x->m->output);
}

static weft_status finish(many *x, int *code)
{
    int n = 0;

    for (int i = 0; i < x->n * x->n_solvers; i++)
        n += x->row[i].is_there;
    if (is_file(x))
        weft_complain(weft_arena_print(x->a, "weft: %s: %d rows, %d of them from before",
                                       x->m->output, n, x->n_kept));
    if (is_stopped(x)) {
        *code = WEFT_EXIT_NO;
        weft_complain(
            weft_arena_print(x->a, "weft: stopped with %d of %d rows", n, x->n * x->n_solvers));
    }
    if (x->n_wrong == 0)
        return WEFT_OK;
    return weft_fail(x->status, "%d of %d instances failed; the first is %s: %s", x->n_wrong, x->n,
                     x->instance[x->first_wrong], x->message);
}

static weft_status run_all(many *x, int *code)
{
    weft_status status;

    x->row = WEFT_NEW(x->a, weft_compare_row, (size_t)x->n * (size_t)x->n_solvers);
    weft_parallel(x->m->n_jobs, x->n, job, x);
    weft_budget_wipe(&x->watch);
    status = show(x);
    return status == WEFT_OK ? finish(x, code) : status;
}

weft_status weft_compare_many_run(const weft_compare_many *m, weft_arena *a, int *code)
{
    many x = {.m = m, .a = a, .lock = PTHREAD_MUTEX_INITIALIZER};
    weft_budget_flags silent = *m->effort;
    weft_status status;

    silent.is_silent = true;
    WEFT_TRY(list_instances(&x));
    WEFT_TRY(list_solvers(&x));
    WEFT_TRY(weft_budget_read(&silent, m->kind->limit, &x.watch, &x.run));
    x.limit = x.run.limit_s < INFINITY ? weft_arena_print(a, "%gs", x.run.limit_s) : "";
    if (m->effort->steps > 0)
        x.limit = weft_arena_print(a, "%s%s%lld steps", x.limit, *x.limit ? " " : "",
                                   (long long)m->effort->steps);
    status = weft_compare_file_open(is_file(&x) ? m->output : NULL, a, &x.file);
    if (status == WEFT_OK) {
        status = run_all(&x, code);
        weft_compare_file_close(x.file);
    }
    weft_budget_end(&x.watch);
    return status;
}
