/* SPDX-License-Identifier: MIT */
/* split_open.c: what weft run and weft profile find on this machine: split networks, engines. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <errno.h>
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

/* The file of the whole network, if it has the bytes that were split. */
static const char *find_whole(const weft_split_net *s, const char *model, weft_arena *a)
{
    const char *path = s->whole ? weft_arena_print(a, "%s/%s", s->folder, s->whole)
                       : model  ? model
                                : weft_beside(weft_arena_print(a, "%s/x", s->folder), s->model, a);
    uint64_t hash;
    weft_file f;

    if (weft_file_open(path, &f) != WEFT_OK)
        return NULL;
    hash = weft_file_hash(f.data, f.size);
    weft_file_close(&f);
    return hash == s->model_hash ? path : NULL;
}

weft_status weft_split_net_open(const char *path, const char *model, const char *on, weft_arena *a,
                                weft_split_net *out, bool *is_new, const char **whole, int *code)
{
    struct stat s;

    *is_new = stat(path, &s) != 0 || !S_ISDIR(s.st_mode);
    if (*is_new)
        WEFT_TRY(open_plan(path, model, on, a, out, code));
    else
        WEFT_TRY(weft_split_net_read(path, a, out));
    *whole = find_whole(out, model, a);
    return WEFT_OK;
}
