/* SPDX-License-Identifier: MIT */
/* annotate.c: the model of a plan with notes on its nodes, written to a file. */
#define _POSIX_C_SOURCE 200809L
#include "command.h"
#include "kind.h"
#include "report.h"

#include <string.h>
#include <sys/stat.h>

/* Length of "folder/" in front of a file name. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (size_t)(slash - path) + 1 : 0;
}

static bool is_same_folder(const char *a, const char *b)
{
    size_t n = folder_length(a);

    return n == folder_length(b) && strncmp(a, b, n) == 0;
}

static weft_status describe(const char *source, const char *path, const weft_annotated *n)
{
    weft_collect c;
    struct stat s;
    char size[32];

    WEFT_TRY(weft_collect_begin(&c));
    fprintf(c.to, "%s: %s, notes on %d of %d nodes\n", path,
            weft_format_bytes(stat(path, &s) == 0 ? (double)s.st_size : 0, size), n->n_noted,
            n->n_nodes);
    if (n->external != NULL && !is_same_folder(source, path))
        fprintf(c.to, "%s: its weights are still in '%s', beside %s: copy that file too\n", path,
                n->external, source);
    return weft_collect_emit(&c, NULL);
}

weft_status weft_annotate_plan(const weft_check_result *v, const weft_doc *page,
                               const weft_annotate_request *request, weft_arena *a)
{
    const char *source = *request->model ? request->model : v->file.origin->model;
    const weft_notes *notes;
    weft_case_nodes nodes;
    weft_annotated done;
    weft_status status;

    WEFT_TRY(weft_case_nodes_open(v, source, a, &nodes));
    notes = weft_page_notes(page, nodes.graph, nodes.part, a);
    status = notes ? weft_model_annotate(source, &v->file.origin->options, notes, request->path, a,
                                         &done)
                   : weft_fail(WEFT_E_INPUT, "--annotate: the page of this plan has no network");
    weft_case_nodes_close(&nodes);
    return status == WEFT_OK && request->is_told ? describe(source, request->path, &done) : status;
}
