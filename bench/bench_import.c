/* SPDX-License-Identifier: MIT */
/* bench_import.c: how long does it take to read an ONNX file and to know all shapes?
 *
 * bench_import MODEL.onnx... prints one JSON line a model: the best of five times, since the least
 * disturbed run is the one that repeats, and the largest memory of the process so far. */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "weft.h"

enum { N_REPEATS = 5 };

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int64_t peak_rss_bytes(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (int64_t)usage.ru_maxrss * 1024;
}

static weft_status import_s(const char *path, double *best_s, int *n_nodes)
{
    for (int i = 0; i < N_REPEATS; i++) {
        weft_model *model = NULL;
        double start_s = now_s();
        WEFT_TRY(weft_model_open(path, NULL, &model));
        double taken_s = now_s() - start_s;
        if (i == 0 || taken_s < *best_s)
            *best_s = taken_s;
        *n_nodes = model->n_nodes;
        weft_model_free(model);
    }
    return WEFT_OK;
}

static void measure(const char *path)
{
    weft_arena *a = weft_arena_new();
    weft_doc *line = weft_doc_new(a, WEFT_DOC_MAP);
    const char *slash = strrchr(path, '/');
    double best_s = 0;
    int n_nodes = 0;

    weft_doc_put(a, line, "bench", weft_doc_new_text(a, "import"));
    weft_doc_put(a, line, "tool", weft_doc_new_text(a, "weft"));
    weft_doc_put(a, line, "model", weft_doc_new_text(a, slash == NULL ? path : slash + 1));
    if (import_s(path, &best_s, &n_nodes) == WEFT_OK) {
        weft_doc_put(a, line, "nodes", weft_doc_new_int(a, n_nodes));
        weft_doc_put(a, line, "seconds", weft_doc_new_real(a, best_s));
        weft_doc_put(a, line, "peak_rss_bytes", weft_doc_new_int(a, peak_rss_bytes()));
    } else {
        weft_doc_put(a, line, "error", weft_doc_new_text(a, weft_message()));
    }
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
