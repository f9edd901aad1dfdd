/* SPDX-License-Identifier: MIT */
/* split_open.c: what weft run and weft profile find on this machine: split networks, engines. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "check.h"
#include "command.h"
#include "engine.h"

static const char *variable(const weft_host *host, const char *name)
{
    const char *text = host->environment ? host->environment(host->context, name) : NULL;

    return text != NULL && *text != '\0' ? text : NULL;
}

void weft_find_places(weft_engine_places *out)
{
    const weft_host *host = weft_host_now();

    *out = (weft_engine_places){.ort = variable(host, "WEFT_ORT"),
                                .home = variable(host, "HOME"),
                                .virtual_env = variable(host, "VIRTUAL_ENV"),
                                .plugins = variable(host, "WEFT_PLUGINS")};
}

weft_status weft_make_tmp(const char *what, weft_arena *a, const char **out)
{
    const char *tmp = variable(weft_host_now(), "TMPDIR");
    char *folder = weft_arena_print(a, "%s/weft-%s-XXXXXX", tmp ? tmp : "/tmp", what);

    *out = folder;
    return mkdtemp(folder) != NULL
               ? WEFT_OK
               : weft_fail(WEFT_E_SYSTEM, "%s: cannot be made: %s", folder, strerror(errno));
}

static weft_status split_plan(const char *path, const char *model, const char *on,
                              const char *folder, weft_arena *a, weft_split_net *out, int *code)
{
    weft_check_result v;
    weft_status status = weft_verify(path, model, on, a, &v);

    if (status == WEFT_OK && v.n_wrong > 0) {
        *code = WEFT_EXIT_NO;
        weft_complain_wrong(&v, path);
        status = weft_fail(WEFT_E_INPUT, "%s: this plan is wrong: it is not run", path);
    } else if (status == WEFT_OK) {
        status = weft_split_plan(&v, folder, a, out);
    }
    weft_check_result_close(&v);
    return status;
}

static weft_status open_plan(const char *path, const char *model, const char *on, weft_arena *a,
                             weft_split_net *out, int *code)
{
    const char *folder;
    weft_status status;

    WEFT_TRY(weft_make_tmp("run", a, &folder));
    status = split_plan(path, model, on, folder, a, out, code);
    if (status == WEFT_OK)
        status = weft_split_net_read(folder, a, out);
    if (status != WEFT_OK) {
        const char *message = weft_arena_word(a, weft_message());

        weft_split_net_remove(folder);
        return weft_fail(status, "%s", message);
    }
    return WEFT_OK;
}

/* The network that the user names. */
static weft_status take_whole(const weft_split_net *s, const char *model, weft_whole_net *out)
{
    uint64_t hash;

    WEFT_TRY(weft_file_hash_of(model, &hash));
    out->path = model;
    if (hash == s->model_hash)
        return WEFT_OK;
    return weft_fail(WEFT_E_INPUT,
                     "--model: %s is not the network that was split: its hash is %016" PRIx64
                     ", the manifest has %016" PRIx64,
                     model, hash, s->model_hash);
}

/* The file of the whole network, if it has the bytes that were split. */
static void find_whole(const weft_split_net *s, weft_arena *a, weft_whole_net *out)
{
    const char *path = s->whole ? weft_arena_print(a, "%s/%s", s->folder, s->whole)
                                : weft_beside(weft_arena_print(a, "%s/x", s->folder), s->model, a);
    uint64_t hash;

    if (weft_file_hash_of(path, &hash) != WEFT_OK)
        out->missing = weft_arena_print(a, "%s is not here", path);
    else if (hash != s->model_hash)
        out->missing = weft_arena_print(a, "%s has changed since it was split", path);
    else
        out->path = path;
}

weft_status weft_split_net_open(const char *path, const char *model, const char *on, weft_arena *a,
                                weft_split_net *out, bool *is_new, weft_whole_net *whole, int *code)
{
    struct stat s;

    *whole = (weft_whole_net){NULL, NULL};
    *is_new = stat(path, &s) != 0 || !S_ISDIR(s.st_mode);
    if (*is_new)
        WEFT_TRY(open_plan(path, model, on, a, out, code));
    else
        WEFT_TRY(weft_split_net_read(path, a, out));
    if (!*is_new && model != NULL)
        return take_whole(out, model, whole);
    find_whole(out, a, whole);
    return WEFT_OK;
}
