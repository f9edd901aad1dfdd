/* SPDX-License-Identifier: MIT */
/* weights.c: files with the weights of a model, beside a copy of it. */
#define _POSIX_C_SOURCE 200809L
#include "weights.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct bringing {
    const char *from, *to; /* folders, the first with its '/' */
    weft_arena *a;
    weft_weight_files *out;
} bringing;

/* Folders on the way to a file. */
static weft_status make_folders(const bringing *b, const char *name)
{
    for (const char *slash = strchr(name, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        const char *path = weft_arena_print(b->a, "%s/%.*s", b->to, (int)(slash - name), name);

        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return weft_fail(WEFT_E_SYSTEM, "%s: cannot be made: %s", path, strerror(errno));
    }
    return WEFT_OK;
}

static weft_status copy_file(const char *from, const char *to)
{
    weft_file f;
    weft_status status;

    WEFT_TRY(weft_file_open(from, &f));
    status = weft_file_write(to, f.data, f.size);
    if (weft_file_check(&f) != WEFT_OK)
        status = WEFT_E_INPUT;
    weft_file_close(&f);
    return status;
}

static weft_status bring(bringing *b, const char *name)
{
    const char *from = weft_arena_print(b->a, "%s%s", b->from, name);
    const char *to = weft_arena_print(b->a, "%s/%s", b->to, name);
    struct stat s;

    if (*name == '/' || strstr(name, "..") != NULL)
        return weft_fail(WEFT_E_INPUT,
                         "weights are in '%s', which is not below the folder of the model", name);
    if (stat(to, &s) == 0)
        return WEFT_OK;
    WEFT_TRY(make_folders(b, name));
    if (link(from, to) != 0)
        WEFT_TRY(copy_file(from, to));
    WEFT_PUSH(b->a, b->out->name, name);
    return WEFT_OK;
}

weft_status weft_weights_bring(const weft_onnx *doc, const char *model, const char *folder,
                               weft_arena *a, weft_weight_files *out)
{
    const char *slash = strrchr(model, '/');
    bringing b = {slash ? weft_arena_text(a, model, (size_t)(slash + 1 - model)) : "", folder, a,
                  out};

    for (int i = 0; i < doc->graph->n_initializers; i++) {
        const weft_onnx_tensor *t = &doc->graph->initializer[i];

        if (t->is_external && t->location.n > 0)
            WEFT_TRY(bring(&b, weft_arena_text(a, t->location.at, t->location.n)));
    }
    return WEFT_OK;
}
