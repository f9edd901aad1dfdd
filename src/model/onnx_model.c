/* SPDX-License-Identifier: MIT */
/* onnx_model.c: a network that was read becomes a model: its graph, the tensors of the source,
 * counts and warnings.
 *
 * With --batch, a file that is fixed to another size is read twice: as it stands, to know what its
 * constants were made for, then with the new size. */
#include "import.h"

#include <string.h>

static int64_t count_parameters(const weft_onnx_graph *g)
{
    int64_t total = 0;

    for (int i = 0; i < g->n_initializers; i++) {
        const weft_onnx_tensor *t = &g->initializer[i];

        if (weft_dtype_is_float((weft_dtype)t->data_type) &&
            __builtin_add_overflow(total, t->n_elements, &total))
            return INT64_MAX;
    }
    return total;
}

static const char *describe(const weft_onnx *doc, weft_arena *a)
{
    long long opset = 0;

    for (int i = 0; i < doc->n_opsets; i++)
        if (weft_import_domain(doc->opset[i].domain).n == 0)
            opset = (long long)doc->opset[i].version;
    return weft_arena_print(a, "ONNX, opset %lld%s%.*s%s%.*s", opset, doc->producer.n ? ", " : "",
                            (int)doc->producer.n, doc->producer.at,
                            doc->producer_version.n ? " " : "", (int)doc->producer_version.n,
                            doc->producer_version.at);
}

/* Every input and node result of the source, folded ones too. Names and shapes are in the arena of
 * the graph. */
static void list_tensors(const weft_net_builder *net, weft_model *model)
{
    int n = weft_net_count(net);
    weft_source_tensor *t = WEFT_NEW_RAW(model->arena, weft_source_tensor, n + 1);

    for (int v = 0; v < n; v++) {
        const char *name;
        const weft_value *value = weft_net_live(net, v, &name);

        if (value == NULL)
            continue;
        t[model->n_tensors++] = (weft_source_tensor){name, value->type, &value->shape};
    }
    model->tensor = t;
}

static void list_warnings(const weft_net_builder *net, weft_model *model)
{
    const char **text = WEFT_NEW(model->arena, const char *, weft_net_n_warnings(net) + 1);

    model->n_warnings = weft_net_n_warnings(net);
    for (int i = 0; i < model->n_warnings; i++)
        text[i] = weft_arena_text(model->arena, weft_net_warning(net, i),
                                  strlen(weft_net_warning(net, i)));
    model->warning = text;
}

weft_status weft_model_from_net(weft_net_builder *net, weft_model *model)
{
    WEFT_TRY(weft_net_finish(net, &model->graph));
    list_tensors(net, model);
    list_warnings(net, model);
    return WEFT_OK;
}

/* True if --batch asks for another size than the file is fixed to. */
static bool needs_rebatch(const weft_import *m, const weft_model_options *o)
{
    return m->file_batch > 0 && m->file_batch != o->batch;
}

weft_status weft_onnx_to_model(const weft_onnx *doc, const weft_model_options *options,
                               weft_model *model)
{
    weft_model_options as_stored = *options;
    weft_net_builder *before = options->batch > 0 ? weft_net_new(model->name) : NULL;
    weft_net_builder *net = weft_net_new(model->name);
    weft_import m = {0};
    weft_status status = WEFT_OK;

    as_stored.batch = 0;
    if (before) /* what the constants of a fixed batch were made for; as far as it can be read */
        (void)weft_import_net(doc, &as_stored, NULL, before, &m);
    status = weft_import_net(doc, options, before, net, &m);
    if (status == WEFT_OK)
        status = weft_model_from_net(net, model);
    if (status != WEFT_OK && needs_rebatch(&m, options))
        status = weft_fail(status,
                           "%s (the file is fixed to batch %lld and could not be read with %lld; "
                           "export it with a symbolic batch)",
                           weft_message(), (long long)m.file_batch, (long long)options->batch);
    if (status == WEFT_OK && m.batch_dim)
        model->batch_dim =
            (weft_dim_binding){weft_arena_word(model->arena, m.batch_dim->name), m.batch_dim->size};
    model->n_nodes = doc->graph->n_nodes;
    model->n_parameters = status == WEFT_OK ? count_parameters(doc->graph) : 0;
    model->n_constants = m.n_constants;
    model->origin = describe(doc, model->arena);
    weft_net_free(net);
    weft_net_free(before);
    return status == WEFT_OK ? status : weft_fail_in(status, doc->file);
}
