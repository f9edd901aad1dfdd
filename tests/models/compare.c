/* SPDX-License-Identifier: MIT */
/* compare WEFT FOLDER: runs `WEFT inspect FILE --json` on every ONNX file of a folder and compares
 * with FOLDER/reference/NAME.json: nodes, parameters, MACs, and type and shape of every tensor the
 * reference knows. Files with symbolic dimensions are compared at each size the reference has.
 *
 * A file without a reference of its own is a variant of another one (small_mlp_packed of
 * small_mlp): the same network stored differently, so MACs and the tensors that both name must be
 * equal, but not the number of nodes and initializers.
 *
 * One line a comparison, and "N passed, N failed" at the end. */
#define _POSIX_C_SOURCE 200809L
#include "base.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct job {
    const char *file, *name; /* path, and name without folder and ending */
    const char *reference;   /* path */
    bool is_variant;
    const char *symbol; /* bound dimension, or NULL */
    int64_t size;
    weft_arena *arena;
    const char *trouble; /* NULL: equal */
    int n_tensors;       /* compared */
} job;

typedef WEFT_VEC(job) job_list;

typedef struct campaign {
    const char *weft;
    job_list jobs;
} campaign;

static void say(job *j, const char *format, const char *what, int64_t got, int64_t expected)
{
    if (j->trouble == NULL)
        j->trouble = weft_arena_print(j->arena, format, what, (long long)got, (long long)expected);
}

/* --- numbers of the reference ---------------------------------------------------------------- */

static int64_t need_int(job *j, const weft_doc *map, const char *key)
{
    const weft_doc *d = weft_doc_get(map, key);

    if (d == NULL || d->kind != WEFT_DOC_INT) {
        say(j, "no number '%s'%.0lld%.0lld", key, 0, 0);
        return -1;
    }
    return d->integer;
}

/* "12*N" with the bound symbol; -1 if it names another one. */
static int64_t affine(const job *j, const char *text)
{
    char *end;
    long long factor = strtoll(text, &end, 10);

    if (end == text)
        factor = 1;
    else if (*end == '*')
        end++;
    return j->symbol && strcmp(end, j->symbol) == 0 ? factor * j->size : -1;
}

static int64_t dimension(const job *j, const weft_doc *d)
{
    if (d->kind == WEFT_DOC_INT)
        return d->integer;
    return d->kind == WEFT_DOC_TEXT ? affine(j, d->text) : -1;
}

/* --- comparisons ----------------------------------------------------------------------------- */

static bool is_static(const job *j, const weft_doc *shape)
{
    for (int i = 0; i < shape->n; i++)
        if (dimension(j, shape->item[i]) < 0)
            return false;
    return shape->kind == WEFT_DOC_LIST;
}

/* ours {"type": "f32", "shape": [..]}, theirs ["f32", [..]]. */
static bool tensor_equal(const job *j, const weft_doc *ours, const weft_doc *theirs)
{
    const weft_doc *type = weft_doc_get(ours, "type"), *shape = weft_doc_get(ours, "shape");
    const weft_doc *dims = theirs->item[1];

    if (type == NULL || shape == NULL || shape->kind != WEFT_DOC_LIST || shape->n != dims->n ||
        strcmp(type->text, theirs->item[0]->text) != 0)
        return false;
    for (int i = 0; i < dims->n; i++)
        if (shape->item[i]->kind != WEFT_DOC_INT ||
            shape->item[i]->integer != dimension(j, dims->item[i]))
            return false;
    return true;
}

static void compare_tensors(job *j, const weft_doc *ours, const weft_doc *theirs)
{
    weft_map *index = weft_map_new(j->arena);

    for (int i = 0; i < ours->n; i++)
        weft_map_set(index, ours->key[i], strlen(ours->key[i]), i);
    for (int i = 0; i < theirs->n; i++) {
        const char *name = theirs->key[i];
        const weft_doc *t = theirs->item[i];
        int k = weft_map_get(index, name, strlen(name));

        if (t->kind != WEFT_DOC_LIST || t->n != 2 || !is_static(j, t->item[1]))
            continue; /* the reference does not know it */
        if (k < 0 && j->is_variant)
            continue; /* inside a function, under another name */
        if (k < 0)
            say(j, "tensor '%s' is missing%.0lld%.0lld", name, 0, 0);
        else if (!tensor_equal(j, ours->item[k], t))
            say(j, "tensor '%s' differs%.0lld%.0lld", name, 0, 0);
        j->n_tensors++;
    }
}

static void compare_int(job *j, const char *what, int64_t got, int64_t expected)
{
    if (got != expected)
        say(j, "%s: %lld, expected %lld", what, got, expected);
}

static void compare(job *j, const weft_doc *ours, const weft_doc *theirs)
{
    const weft_doc *at = theirs, *sizes = weft_doc_get(theirs, "at");
    const weft_doc *our_tensors = weft_doc_get(ours, "tensors");
    const weft_doc *their_tensors = weft_doc_get(theirs, "tensors");

    if (j->symbol)
        at = weft_doc_get(sizes,
                          weft_arena_print(j->arena, "%s=%lld", j->symbol, (long long)j->size));
    if (!j->is_variant) {
        compare_int(j, "nodes", need_int(j, ours, "nodes"), need_int(j, theirs, "nodes"));
        compare_int(j, "parameters", need_int(j, ours, "parameters"),
                    need_int(j, theirs, "initializer_float_elements"));
    }
    compare_int(j, "MACs", need_int(j, ours, "macs"), need_int(j, at, "macs_total"));
    if (our_tensors && their_tensors)
        compare_tensors(j, our_tensors, their_tensors);
    else
        say(j, "no '%s'%.0lld%.0lld", "tensors", 0, 0);
    if (j->n_tensors == 0)
        say(j, "no %s compared%.0lld%.0lld", "tensor was", 0, 0);
}

/* --- running weft ---------------------------------------------------------------------------- */

/* Standard output of `weft inspect FILE --json [--dim S=N]`; NULL if it fails. */
static char *run_weft(const char *weft, const job *j, size_t *n)
{
    char *dim =
        j->symbol ? weft_arena_print(j->arena, "%s=%lld", j->symbol, (long long)j->size) : NULL;
    const char *argv[] = {weft, "inspect", j->file, "--json", dim ? "--dim" : NULL, dim, NULL};
    int pipe_of[2], status;
    WEFT_VEC(char) text = {0};
    char part[65536];
    ssize_t got;
    pid_t child;

    if (pipe(pipe_of) != 0)
        return NULL;
    child = fork();
    if (child == 0) {
        dup2(pipe_of[1], STDOUT_FILENO);
        close(pipe_of[0]);
        close(pipe_of[1]);
        execv(weft, (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    close(pipe_of[1]);
    while ((got = read(pipe_of[0], part, sizeof part)) > 0)
        for (ssize_t i = 0; i < got; i++)
            WEFT_PUSH(j->arena, text, part[i]);
    close(pipe_of[0]);
    waitpid(child, &status, 0);
    *n = (size_t)text.n;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text.at : NULL;
}

static void work(void *context, int i)
{
    campaign *c = context;
    job *j = &c->jobs.at[i];
    const weft_doc *ours, *theirs;
    size_t n;
    char *text = run_weft(c->weft, j, &n);

    if (text == NULL)
        say(j, "weft inspect fails%s%.0lld%.0lld", "", 0, 0);
    else if (weft_doc_parse(text, n, j->file, j->arena, &ours) != WEFT_OK ||
             weft_doc_read(j->reference, j->arena, &theirs) != WEFT_OK)
        j->trouble = weft_arena_print(j->arena, "%s", weft_message());
    else
        compare(j, ours, theirs);
}

/* --- the folder ------------------------------------------------------------------------------ */

static int by_name(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* The longest reference name that begins NAME, at an underscore. */
static const char *find_reference(weft_arena *a, const char *folder, char *name, bool *is_variant)
{
    *is_variant = false;
    for (;;) {
        const char *path = weft_arena_print(a, "%s/reference/%s.json", folder, name);
        char *underscore = strrchr(name, '_');

        if (access(path, R_OK) == 0)
            return path;
        if (underscore == NULL)
            return NULL;
        *underscore = '\0';
        *is_variant = true;
    }
}

/* One job, or one for each size in the reference ("at": {"N=1": ..}). */
static int add_jobs(weft_arena *a, const char *folder, const char *file, job_list *jobs)
{
    size_t n = strlen(file) - strlen(".onnx");
    job j = {.file = weft_arena_print(a, "%s/%s", folder, file),
             .name = weft_arena_text(a, file, n)};
    const weft_doc *reference, *at;

    j.reference = find_reference(a, folder, weft_arena_text(a, file, n), &j.is_variant);
    if (j.reference == NULL || weft_doc_read(j.reference, a, &reference) != WEFT_OK) {
        printf("FAIL %s: %s\n", file, j.reference ? weft_message() : "no reference");
        return 1;
    }
    at = weft_doc_get(reference, "at");
    for (int i = 0; i < (at ? at->n : 1); i++) {
        j.arena = weft_arena_new();
        if (at) {
            char *symbol = weft_arena_text(a, at->key[i], strlen(at->key[i]));
            char *equals = strchr(symbol, '=');

            *equals = '\0';
            j.symbol = symbol;
            j.size = strtoll(equals + 1, NULL, 10);
        }
        WEFT_PUSH(a, *jobs, j);
    }
    return 0;
}

int main(int argc, char **argv)
{
    weft_arena *a = weft_arena_new();
    WEFT_VEC(const char *) files = {0};
    campaign c = {.weft = argc == 3 ? argv[1] : NULL};
    DIR *folder = argc == 3 ? opendir(argv[2]) : NULL;
    int n_failed = 0, n_passed = 0;

    if (folder == NULL) {
        fprintf(stderr,
                argc == 3 ? "compare: %s%s cannot be opened\n" : "usage: %s WEFT FOLDER%s\n",
                argc == 3 ? argv[2] : argv[0], "");
        return 2;
    }
    for (struct dirent *e = readdir(folder); e; e = readdir(folder)) {
        size_t n = strlen(e->d_name);

        if (n > 5 && strcmp(e->d_name + n - 5, ".onnx") == 0)
            WEFT_PUSH(a, files, weft_arena_text(a, e->d_name, n));
    }
    closedir(folder);
    if (files.n > 0)
        qsort(files.at, (size_t)files.n, sizeof *files.at, by_name);
    for (int i = 0; i < files.n; i++)
        n_failed += add_jobs(a, argv[2], files.at[i], &c.jobs);
    weft_parallel(2, c.jobs.n, work, &c);
    for (int i = 0; i < c.jobs.n; i++) {
        const job *j = &c.jobs.at[i];
        char size[64] = "";

        if (j->symbol)
            snprintf(size, sizeof size, " %s=%lld", j->symbol, (long long)j->size);
        if (j->trouble)
            printf("FAIL %s%s: %s\n", j->name, size, j->trouble);
        else
            printf("ok   %s%s: MACs%s and %d tensors equal\n", j->name, size,
                   j->is_variant ? "" : ", nodes, parameters", j->n_tensors);
        n_failed += j->trouble != NULL;
        n_passed += j->trouble == NULL;
        weft_arena_free(j->arena);
    }
    weft_arena_free(a);
    printf("%d passed, %d failed\n", n_passed, n_failed);
    return n_failed > 0 || n_passed == 0;
}
