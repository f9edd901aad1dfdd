/* SPDX-License-Identifier: MIT */
/* annotate.c: the model of a plan with notes on its nodes, written to a file. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"
#include "weft/api.h"
#include "weft/report.h"

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

static void describe(const char *source, const char *path, const weft_annotated *n, FILE *to)
{
    struct stat s;
    char size[32];

    fprintf(to, "%s: %s, notes on %d of %d nodes\n", path,
            weft_format_bytes(stat(path, &s) == 0 ? (double)s.st_size : 0, size), n->n_noted,
            n->n_nodes);
    if (n->external != NULL && !is_same_folder(source, path))
        fprintf(to, "%s: its weights are still in '%s', beside %s: copy that file too\n", path,
                n->external, source);
}

weft_status weft_annotate_plan(const weft_case *c, const weft_verdict *v, const weft_doc *page,
                               const weft_annotate_ask *ask, weft_arena *a)
{
    const char *source = *ask->model ? ask->model : v->origin.model;
    const weft_notes *notes;
    weft_case_nodes nodes;
    weft_annotated done;
    weft_status status;

    if (v->is_mine || v->is_fleet)
        return weft_fail(WEFT_E_INPUT, "--annotate is for plans, not for designs");
    WEFT_TRY(weft_case_nodes_open(c, v, source, a, &nodes));
    notes = weft_page_notes(page, nodes.graph, nodes.part, a);
    status = notes ? weft_model_annotate(source, &v->origin.options, notes, ask->path, a, &done)
                   : weft_fail(WEFT_E_INPUT, "--annotate: the page of this plan has no network");
    weft_case_nodes_close(&nodes);
    if (status == WEFT_OK && ask->to != NULL)
        describe(source, ask->path, &done, ask->to);
    return status;
}
