/* SPDX-License-Identifier: MIT */
/* weights.c: files with the weights of a model, beside a copy of it. */
#define _POSIX_C_SOURCE 200809L
#include "weights.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "manifest.h"
#include "split_folder.h"

typedef struct bringing {
    const char *from, *to; /* folders, the first with its '/' */
    weft_arena *a;
    weft_weight_files *out;
    WEFT_VEC(const char *) seen;
} bringing;

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

static bool has_same_bytes(const char *one, const char *other)
{
    weft_file f = {0}, g = {0};
    bool is_same = weft_file_open(one, &f) == WEFT_OK && weft_file_open(other, &g) == WEFT_OK &&
                   f.size == g.size && memcmp(f.data, g.data, f.size) == 0;

    weft_file_close(&f);
    weft_file_close(&g);
    return is_same;
}

/* Of another model, perhaps, or of this one before it changed. */
static weft_status check_present(const char *from, const struct stat *there, const char *to)
{
    struct stat s;

    if (stat(from, &s) == 0 && s.st_dev == there->st_dev && s.st_ino == there->st_ino)
        return WEFT_OK;
    if (has_same_bytes(from, to))
        return WEFT_OK;
    return weft_fail(WEFT_E_INPUT,
                     "%s: is there and is not the file of weights %s, which has to lie there", to,
                     from);
}

/* A second name of the file itself where it is a symbolic link. */
static weft_status bring_file(bringing *b, const char *name)
{
    const char *from = weft_arena_print(b->a, "%s%s", b->from, name);
    const char *to = weft_arena_print(b->a, "%s/%s", b->to, name);
    struct stat s;

    if (!weft_is_below(name) || strcmp(name, WEFT_MANIFEST) == 0)
        return weft_fail(WEFT_E_INPUT,
                         "weights are in '%s', which is not a file below the folder of the model",
                         name);
    if (stat(to, &s) == 0)
        return check_present(from, &s, to);
    WEFT_TRY(weft_make_folders(b->to, name, b->a));
    if (linkat(AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW) != 0)
        WEFT_TRY(copy_file(from, to));
    WEFT_PUSH(b->a, b->out->name, name);
    return WEFT_OK;
}

/* Most tensors are in a file that one before them is in. */
static weft_status bring(bringing *b, const char *name)
{
    for (int i = b->seen.n - 1; i >= 0; i--)
        if (strcmp(b->seen.at[i], name) == 0)
            return WEFT_OK;
    WEFT_PUSH(b->a, b->seen, name);
    return bring_file(b, name);
}

weft_status weft_weights_bring(const weft_onnx *doc, const char *model, const char *folder,
                               weft_arena *a, weft_weight_files *out)
{
    const char *slash = strrchr(model, '/');
    bringing b = {.from = slash ? weft_arena_text(a, model, (size_t)(slash + 1 - model)) : "",
                  .to = folder,
                  .a = a,
                  .out = out};

    for (int i = 0; i < doc->graph->n_initializers; i++) {
        const weft_onnx_tensor *t = &doc->graph->initializer[i];

        if (t->is_external && t->location.n > 0)
            WEFT_TRY(bring(&b, weft_arena_text(a, t->location.at, t->location.n)));
    }
    return WEFT_OK;
}
