/* SPDX-License-Identifier: MIT */
/* model.c: opens what a user names: an ONNX file or a built-in model. */
#include "import.h"
#include "language_config.h"

#include <string.h>
#include <sys/stat.h>

static const weft_model_options defaults = {.optimizer = WEFT_ADAM};

weft_model_options weft_model_options_on(const weft_model_options *o, const weft_platform *p)
{
    weft_model_options out = *o;

    if (!o->has_software)
        out.software = p ? p->software : WEFT_SOFTWARE_GRAPH;
    return out;
}

/* "folder/net.onnx" -> "net". */
static const char *base_name(weft_arena *a, const char *path)
{
    const char *slash = strrchr(path, '/'), *first = slash ? slash + 1 : path;
    const char *dot = strrchr(first, '.');

    return weft_arena_text(a, first, dot && dot > first ? (size_t)(dot - first) : strlen(first));
}

static weft_model *new_model(const char *source)
{
    weft_arena *a = weft_arena_new();
    weft_model *m = WEFT_NEW(a, weft_model, 1);

    m->arena = a;
    m->source = weft_arena_word(a, source);
    m->name = base_name(a, source);
    return m;
}

void weft_model_free(weft_model *m)
{
    if (m == NULL)
        return;
    weft_graph_free(m->graph);
    weft_arena_free(m->arena);
}

/* Names and shapes of the source's tensors leave the graph that is about to be freed. */
static void keep_tensors(weft_model *m)
{
    weft_source_tensor *t =
        weft_arena_copy(m->arena, m->tensor, (size_t)m->n_tensors * sizeof *m->tensor);

    for (int i = 0; i < m->n_tensors; i++) {
        t[i].name = weft_arena_word(m->arena, t[i].name);
        t[i].shape = weft_arena_copy(m->arena, t[i].shape, sizeof *t[i].shape);
    }
    m->tensor = t;
}

static void keep_assumed(const weft_graph *from, weft_graph *to)
{
    weft_assumed_size *size =
        weft_arena_copy(to->arena, from->assumed, (size_t)from->n_assumed * sizeof *from->assumed);

    to->n_assumed = from->n_assumed;
    to->assumed = size;
    for (int i = 0; i < from->n_assumed; i++)
        size[i].name = weft_arena_word(to->arena, size[i].name);
}

static const char causal_mask[] = "c/causal_mask"; /* models/transformer.net */

const bool *weft_model_masked(const weft_graph *g, weft_arena *a)
{
    weft_graph flash = *g;

    flash.arena = a;
    flash.kernel = NULL;
    weft_graph_fuse(&flash, true);
    weft_graph_mark_causal(&flash, causal_mask);
    return flash.is_causal;
}

/* Marks the kernels of the software that runs the network. */
static void fuse(weft_model *m, const weft_model_options *o, bool is_built_in)
{
    m->graph->is_eager = o->software == WEFT_SOFTWARE_EAGER;
    if (o->software == WEFT_SOFTWARE_FUSED || o->software == WEFT_SOFTWARE_FLASH)
        weft_graph_fuse(m->graph, o->software == WEFT_SOFTWARE_FLASH);
    if (o->software == WEFT_SOFTWARE_FLASH && is_built_in)
        weft_graph_mark_causal(m->graph, causal_mask);
}

/* Adds backward and update nodes if asked to, then marks kernels. */
static weft_status complete(weft_model *m, const weft_model_options *o, bool is_built_in)
{
    weft_graph *whole;

    WEFT_TRY(weft_model_mark_states(m->graph, o));
    if (o->train) {
        WEFT_TRY(weft_graph_train(m->graph, o->optimizer, &whole));
        keep_tensors(m);
        keep_assumed(m->graph, whole);
        weft_graph_free(m->graph);
        m->graph = whole;
    }
    fuse(m, o, is_built_in);
    return WEFT_OK;
}

/* Ends an open: the model goes to the caller, or is freed. */
static weft_status hand_over(weft_status status, weft_model *m, weft_model **out)
{
    if (status != WEFT_OK)
        weft_model_free(m);
    else
        *out = m;
    return status;
}

static weft_status import(weft_onnx *doc, const weft_model_options *o, weft_model *m)
{
    weft_status status = weft_onnx_to_model(doc, o, m);

    if (weft_file_check(&doc->mapping) != WEFT_OK)
        status = WEFT_E_INPUT;
    weft_onnx_free(doc);
    if (status != WEFT_OK)
        return status;
    status = complete(m, o, false);
    return status == WEFT_OK ? status : weft_fail_in(status, m->source);
}

weft_status weft_onnx_import(const void *data, size_t size, const char *file,
                             const weft_model_options *options, weft_model **out)
{
    weft_onnx *doc;
    weft_model *m;

    WEFT_TRY(weft_onnx_read(data, size, file, &doc));
    m = new_model(file);
    return hand_over(import(doc, options ? options : &defaults, m), m, out);
}

static weft_status open_file(const char *path, const weft_model_options *o, weft_model **out)
{
    weft_onnx *doc;
    weft_model *m;

    WEFT_TRY(weft_onnx_open(path, &doc));
    m = new_model(path);
    return hand_over(import(doc, o, m), m, out);
}

/* --- built-in models ------------------------------------------------------------------------- */

static weft_status unknown_model(const char *name)
{
    weft_arena *a = weft_arena_new();
    const char *const *known;
    int n = weft_zoo_list(a, &known);
    const char *near = weft_nearest(name, known, n);
    weft_status status = weft_fail(
        WEFT_E_INPUT, "'%s' is neither a file nor a built-in model%s%s%s; see: weft list models",
        name, near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
    weft_arena_free(a);
    return status;
}

static int64_t count_parameters(const weft_net_builder *net)
{
    int64_t total = 0;

    for (int v = 0; v < weft_net_count(net); v++)
        if (weft_net_value(net, v)->is_parameter && weft_net_is_given(net, v))
            total += weft_shape_elements(&weft_net_value(net, v)->shape);
    return total;
}

static weft_status build(const char *name, const char *parameters, const weft_model_options *o,
                         weft_model *m)
{
    weft_net_builder *net = weft_net_new(name);
    weft_status status = weft_zoo_build(name, parameters, o, net);

    if (status == WEFT_OK)
        status = weft_model_from_net(net, m);
    m->name = name;
    m->origin = "built-in";
    m->n_nodes = weft_net_n_nodes(net);
    m->n_parameters = status == WEFT_OK ? count_parameters(net) : 0;
    weft_net_free(net);
    if (status == WEFT_OK)
        status = complete(m, o, true);
    return status == WEFT_OK ? status : weft_fail_in(status, m->source);
}

/* The --dim of ONNX files is a parameter here. */
static weft_status refuse_dims(const weft_model_options *o, const char *source, const char *name)
{
    return o->n_dims == 0
               ? WEFT_OK
               : weft_fail(WEFT_E_INPUT,
                           "%s: --dim is for ONNX files; parameters of built-in models are "
                           "given as %s:name=value",
                           source, name);
}

static weft_status open_config(const char *source, const weft_model_options *o, weft_model **out)
{
    weft_model *m = new_model(source);
    weft_model_options all = *o;
    weft_language_config config;
    weft_status status = weft_language_config_read(m->source, m->arena, &config);

    if (status != WEFT_OK)
        return hand_over(status, m, out);
    if (all.dtype == WEFT_TYPE_UNKNOWN)
        all.dtype = config.dtype;
    status = refuse_dims(o, m->source, m->source);
    if (status == WEFT_OK)
        status = build(config.base, config.parameters, &all, m);
    m->name = config.name;
    m->origin = config.origin;
    m->n_warnings = config.n_warnings;
    m->warning = weft_arena_copy(m->arena, config.warning, sizeof config.warning);
    return hand_over(status, m, out);
}

static weft_status open_built_in(const char *source, const weft_model_options *o, weft_model **out)
{
    size_t n = strcspn(source, ":");
    weft_model *m = new_model(source);
    char *name = weft_arena_text(m->arena, source, n);

    if (!weft_zoo_has(name))
        return hand_over(unknown_model(name), m, out);
    if (refuse_dims(o, source, name) != WEFT_OK)
        return hand_over(WEFT_E_INPUT, m, out);
    return hand_over(build(name, source + n + (source[n] == ':'), o, m), m, out);
}

bool weft_model_is_file(const char *source)
{
    size_t n = strlen(source);
    struct stat s;

    if (weft_model_is_config(source))
        return false;
    return strchr(source, '/') || (n > 5 && strcmp(source + n - 5, ".onnx") == 0) ||
           (!weft_zoo_has(source) && stat(source, &s) == 0);
}

weft_status weft_model_open(const char *source, const weft_model_options *options, weft_model **out)
{
    const weft_model_options *o = options ? options : &defaults;

    if (weft_model_is_config(source))
        return open_config(source, o, out);
    return weft_model_is_file(source) ? open_file(source, o, out) : open_built_in(source, o, out);
}
