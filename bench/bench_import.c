/* SPDX-License-Identifier: MIT */
/* bench_import.c: how long does it take to read an ONNX file, to know all shapes and to add up the
 * work?
 *
 * bench_import MODEL.onnx... prints one JSON line a model: the processor times of repeated calls in
 * this process (weft_model_open and weft_summarize, memory given back included), the least of them,
 * since the least disturbed run is the one that repeats, and the largest memory of the process so
 * far. One call before warms up: the file is in memory, and so are the pages of the allocator. */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "kind.h"
#include "report.h"

enum { N_REPEATS = 11 };

/* Processor time of this process: other load on the machine does not count. */
static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int64_t peak_rss_bytes(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (int64_t)usage.ru_maxrss * 1024;
}

/* One import, from the call to the last byte given back. */
static weft_status import_once(const char *path, double *taken_s, int *n_nodes)
{
    double start_s = now_s();
    weft_arena *a;
    weft_model *model;

    WEFT_TRY(weft_model_open(path, NULL, &model));
    a = weft_arena_new();
    (void)weft_summarize(model, a);
    *n_nodes = model->n_nodes;
    weft_arena_free(a);
    weft_model_free(model);
    *taken_s = now_s() - start_s;
    return WEFT_OK;
}

static weft_status import_times(const char *path, weft_doc *line, weft_arena *a)
{
    weft_doc *times = weft_doc_new(a, WEFT_DOC_LIST);
    double taken_s, best_s = 0;
    int n_nodes;

    WEFT_TRY(import_once(path, &taken_s, &n_nodes));
    for (int i = 0; i < N_REPEATS; i++) {
        WEFT_TRY(import_once(path, &taken_s, &n_nodes));
        best_s = i == 0 || taken_s < best_s ? taken_s : best_s;
        weft_doc_add(a, times, weft_doc_new_real(a, taken_s));
    }
    weft_doc_put(a, line, "nodes", weft_doc_new_int(a, n_nodes));
    weft_doc_put(a, line, "seconds", weft_doc_new_real(a, best_s));
    weft_doc_put(a, line, "times_s", times);
    weft_doc_put(a, line, "peak_rss_bytes", weft_doc_new_int(a, peak_rss_bytes()));
    return WEFT_OK;
}

static void measure(const char *path)
{
    weft_arena *a = weft_arena_new();
    weft_doc *line = weft_doc_new(a, WEFT_DOC_MAP);
    const char *slash = strrchr(path, '/');

    weft_doc_put(a, line, "bench", weft_doc_new_text(a, "import"));
    weft_doc_put(a, line, "tool", weft_doc_new_text(a, "weft"));
    weft_doc_put(a, line, "model", weft_doc_new_text(a, slash == NULL ? path : slash + 1));
    if (import_times(path, line, a) != WEFT_OK)
        weft_doc_put(a, line, "error", weft_doc_new_text(a, weft_message()));
    printf("%s\n", weft_doc_json(line, 0, a));
    fflush(stdout);
    weft_arena_free(a);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        measure(argv[i]);
    return argc > 1 ? 0 : 2;
}
