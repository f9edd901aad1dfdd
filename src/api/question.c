/* SPDX-License-Identifier: MIT */
/* question.c: what a plan file is an answer to, so that it can be asked again. */
#include "verdict.h"

#include <string.h>

static const char *model_of(const weft_plan_origin *o, const weft_named *by, weft_arena *a)
{
    return by->model ? by->model : weft_beside(by->plan_path, o->model, a);
}

/* NULL for files of tasks. */
static const char *platform_of(const weft_plan_origin *o, const weft_named *by, weft_arena *a)
{
    if (by->platform || o->platform == NULL)
        return by->platform;
    return weft_beside(by->plan_path, o->platform, a);
}

weft_request weft_place_request_of(const weft_plan_file *f, const weft_named *by, weft_arena *a)
{
    return (weft_request){.model = model_of(&f->origin, by, a),
                          .platform = platform_of(&f->origin, by, a),
                          .format = f->origin.format,
                          .options = f->origin.options,
                          .ask = f->ask};
}

weft_shard_request weft_shard_request_of(const weft_shards_file *f, const weft_named *by,
                                         weft_arena *a)
{
    return (weft_shard_request){
        .model = model_of(&f->origin, by, a),
        .platform = platform_of(&f->origin, by, a),
        .options = f->origin.options,
        .semantics = f->ask.is_concurrent ? "branches" : "sequential",
        .is_contiguous = f->ask.is_contiguous,
        .has_no_sharing = f->ask.has_no_sharing,
    };
}

weft_train_request weft_train_request_of(const weft_pipeline_file *f, const weft_named *by,
                                         weft_arena *a)
{
    return (weft_train_request){
        .model = model_of(&f->origin, by, a),
        .platform = platform_of(&f->origin, by, a),
        .options = f->origin.options,
        .ask = f->ask,
    };
}

/* --- files ----------------------------------------------------------------------------------- */

static weft_status read_place(const weft_named *by, weft_arena *a, weft_question *out)
{
    weft_plan_file *file = WEFT_NEW(a, weft_plan_file, 1);

    WEFT_TRY(weft_plan_read(by->plan_path, a, file));
    out->placed = file;
    out->origin = &file->origin;
    out->place = weft_place_request_of(file, by, a);
    return WEFT_OK;
}

static weft_status read_shards(const weft_named *by, weft_arena *a, weft_question *out)
{
    weft_shards_file *file = WEFT_NEW(a, weft_shards_file, 1);

    WEFT_TRY(weft_shards_read(by->plan_path, a, file));
    out->sharded = file;
    out->origin = &file->origin;
    out->shard = weft_shard_request_of(file, by, a);
    return WEFT_OK;
}

static weft_status read_train(const weft_named *by, weft_arena *a, weft_question *out)
{
    weft_pipeline_file *file = WEFT_NEW(a, weft_pipeline_file, 1);

    WEFT_TRY(weft_pipeline_read(by->plan_path, a, file));
    out->trained = file;
    out->origin = &file->origin;
    out->train = weft_train_request_of(file, by, a);
    return WEFT_OK;
}

weft_status weft_question_read(const char *plan_path, const char *model, const char *platform,
                               weft_arena *a, weft_question *out)
{
    weft_named by = {plan_path, model, platform};
    const char *kind;

    memset(out, 0, sizeof *out);
    WEFT_TRY(weft_plan_kind(plan_path, a, &kind));
    if (strcmp(kind, "design") == 0)
        return weft_fail(WEFT_E_INPUT,
                         "%s is a design of weft mine, expected a plan of weft place, shard or "
                         "train",
                         plan_path);
    out->is_shard = strcmp(kind, "shard") == 0;
    out->is_train = strcmp(kind, "train") == 0;
    if (out->is_shard)
        return read_shards(&by, a, out);
    return out->is_train ? read_train(&by, a, out) : read_place(&by, a, out);
}

weft_status weft_question_machine(const weft_question *q, weft_arena *a, const weft_doc **out)
{
    const char *platform = q->is_shard   ? q->shard.platform
                           : q->is_train ? q->train.platform
                                         : q->place.platform;
    bool is_tasks = platform == NULL || *platform == '\0';

    if (is_tasks && q->place.format && *q->place.format)
        return weft_fail(WEFT_E_INPUT,
                         "%s is of the format %s, whose machines are not edited: upgrades are for "
                         "platforms and for files of tasks; --upgrades none leaves them out",
                         q->place.model, q->place.format);
    if (is_tasks)
        return weft_doc_read(q->place.model, a, out);
    for (int i = 0; i < weft_preset_count(); i++) {
        const weft_preset *p = weft_preset_at(i);

        if (strcmp(p->name, platform) == 0)
            return weft_doc_parse(p->text, p->size, p->name, a, out);
    }
    return weft_doc_read(platform, a, out);
}
