/* SPDX-License-Identifier: MIT */
/* onnx_import.c: an ONNX document becomes a network.
 *
 * 1. Inputs get their shapes; symbolic dimensions are bound by --dim and --batch, or it is an error
 *    that names the flag.
 * 2. Initializers become constants; elements are read only of small ones, which may be shapes.
 * 3. Nodes are visited in topological order (the file's own where it is one). Local functions are
 *    inlined, control flow goes to onnx_body.c, everything else to weft_net_node.
 * 4. Whatever depends on constants only has become a weight; the rest is the graph. */
#include "import.h"

#include <string.h>

enum {
    MOST_NODES = 1000000,   /* after inlining */
    MOST_UNFOLDED_MB = 128, /* for functions and sub-graphs: a file of 2 KB can ask for any size */
    MOST_BOUND = 256,       /* attributes of a call: references to them are searched for */
    FEW_INPUTS = 4,
    MAP_BYTES = 32, /* of a name in a map: no matter if wrong */
    FEW_OUTPUTS = 4,
    NEWEST_OPSET = 25, /* of the default domain, as far as the table was checked */
    OLDEST_OPSET = 7,
};

bool weft_slice_is(weft_slice s, const char *text)
{
    return s.n == strlen(text) && (s.n == 0 || memcmp(s.at, text, s.n) == 0);
}

bool weft_slice_same(weft_slice a, weft_slice b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.at, b.at, a.n) == 0);
}

const char *weft_import_text(weft_import *m, weft_slice s)
{
    return s.n > 0 ? weft_arena_text(m->lasting, s.at, s.n) : "";
}

weft_slice weft_import_domain(weft_slice domain)
{
    return weft_slice_is(domain, "ai.onnx") ? (weft_slice){"", 0} : domain;
}

/* The name outside of what is called `name` in a body. */
static const char *outer_name(weft_import *m, const weft_scope *s, weft_slice name)
{
    int i = s->n_renamed > 0 ? weft_map_get(s->renamed, name.at, name.n) : -1;

    if (i >= 0)
        return s->new_name[i];
    return weft_arena_print(m->lasting, "%s%.*s", s->prefix, (int)name.n, name.at);
}

const char *weft_import_name(weft_import *m, const weft_scope *s, weft_slice name)
{
    if (name.n == 0 || (*s->prefix == '\0' && s->n_renamed == 0))
        return weft_import_text(m, name);
    return outer_name(m, s, name);
}

const char *weft_import_prefix(weft_import *m, const weft_scope *s, weft_slice node, weft_slice op)
{
    weft_slice base = node.n > 0 ? node : op;
    const char *prefix = weft_arena_print(m->arena, "%s%.*s:", s->prefix, (int)base.n, base.at);
    int n = weft_map_get(m->prefixes, prefix, strlen(prefix));

    weft_map_set(m->prefixes, prefix, strlen(prefix), n < 0 ? 1 : n + 1);
    m->has_prefixes = true;
    return n < 0 ? prefix
                 : weft_arena_print(m->arena, "%s%.*s#%d:", s->prefix, (int)base.n, base.at, n + 1);
}

void weft_import_rename(weft_import *m, const weft_scope *s, const weft_onnx_node *n,
                        const weft_slice *inside, weft_scope *inner)
{
    const char **name = WEFT_NEW(m->arena, const char *, n->n_outputs + 1);

    inner->renamed = weft_map_new(m->arena);
    for (int i = 0; i < n->n_outputs; i++) {
        if (n->output[i].n == 0)
            continue;
        (void)weft_map_put(inner->renamed, inside[i].at, inside[i].n, inner->n_renamed);
        name[inner->n_renamed++] = weft_import_name(m, s, n->output[i]);
    }
    inner->new_name = name;
}

/* --- dimensions ------------------------------------------------------------------------------ */

/* What --dim says about a dimension, or NULL. */
static const weft_dim_binding *binding_of(const weft_model_options *o, weft_slice name)
{
    for (int i = 0; i < o->n_dims; i++)
        if (weft_slice_is(name, o->dim[i].name))
            return &o->dim[i];
    return NULL;
}

/* Size of a symbolic dimension, or -1. Remembers the name for the check of --dim. */
static int64_t bound_size(weft_import *m, weft_slice name)
{
    const weft_dim_binding *b = binding_of(m->options, name);

    if (weft_map_put(m->dim_names, name.at, name.n, 0))
        WEFT_PUSH(m->arena, m->dims, name);
    if (b)
        return b->size;
    if (m->batch_name && weft_slice_is(name, m->batch_name))
        return m->options->batch;
    return WEFT_UNKNOWN_DIM;
}

weft_value weft_import_value_info(weft_import *m, const weft_onnx_value_info *info)
{
    weft_value v = {.shape = {.rank = -1}};

    if (!info->is_tensor)
        return v;
    if (info->elem_type > 0 && info->elem_type < WEFT_N_DTYPES)
        v.type = (weft_dtype)info->elem_type;
    if (!info->has_shape || info->n_dims > WEFT_MAX_RANK)
        return v;
    v.shape.rank = info->n_dims;
    for (int d = 0; d < info->n_dims; d++) {
        const weft_onnx_dim *dim = &info->dim[d];

        v.shape.dim[d] = dim->value >= 0    ? dim->value
                         : dim->param.n > 0 ? bound_size(m, dim->param)
                                            : WEFT_UNKNOWN_DIM;
    }
    return v;
}

/* A name for a dimension the file leaves without one: input "x", axis 0 -> "x.0". */
static weft_slice dim_name(weft_import *m, const weft_onnx_value_info *info, int d)
{
    const char *name;

    if (info->dim[d].param.n > 0)
        return info->dim[d].param;
    name = weft_arena_print(m->arena, "%.*s.%d", (int)info->name.n, info->name.at, d);
    return (weft_slice){name, strlen(name)};
}

/* Old files list all initializers as inputs; `names` is NULL if there are few inputs. */
static bool is_initializer(const weft_onnx_graph *g, const weft_map *names, weft_slice name)
{
    if (names)
        return weft_map_get(names, name.at, name.n) >= 0;
    for (int i = 0; i < g->n_initializers; i++)
        if (weft_slice_same(g->initializer[i].name, name))
            return true;
    return false;
}

static weft_map *initializer_names(weft_import *m, const weft_onnx_graph *g)
{
    weft_map *names = g->n_inputs > FEW_INPUTS ? weft_map_new(m->arena) : NULL;

    for (int i = 0; names && i < g->n_initializers; i++)
        weft_map_set(names, g->initializer[i].name.at, g->initializer[i].name.n, i);
    return names;
}

static weft_status input_shape(weft_import *m, const weft_onnx_value_info *info, weft_value *v)
{
    if (!info->is_tensor)
        return weft_fail(WEFT_E_INPUT, "input '%.*s' is not a tensor, expected one",
                         (int)info->name.n, info->name.at);
    if (info->n_dims > WEFT_MAX_RANK)
        return weft_fail(WEFT_E_INPUT, "input '%.*s' has %d dimensions, expected at most %d",
                         (int)info->name.n, info->name.at, info->n_dims, WEFT_MAX_RANK);
    *v = weft_import_value_info(m, info);
    if (v->type == WEFT_TYPE_UNKNOWN)
        return weft_fail(WEFT_E_INPUT, "input '%.*s' has the unknown element type %d",
                         (int)info->name.n, info->name.at, info->elem_type);
    if (v->shape.rank < 0)
        return weft_fail(WEFT_E_INPUT, "input '%.*s' has no shape, expected one", (int)info->name.n,
                         info->name.at);
    for (int d = 0; d < v->shape.rank; d++) {
        weft_slice name = dim_name(m, info, d);

        if (v->shape.dim[d] >= 0)
            continue;
        v->shape.dim[d] = bound_size(m, name);
        if (v->shape.dim[d] < 0)
            return weft_fail(WEFT_E_INPUT,
                             "input '%.*s' has the unknown dimension '%.*s': give its size, for "
                             "example --dim %.*s=8",
                             (int)info->name.n, info->name.at, (int)name.n, name.at, (int)name.n,
                             name.at);
    }
    return WEFT_OK;
}

/* A symbolic first dimension is the batch: --dim and --batch may both say it, if they agree. */
static weft_status choose_symbolic_batch(weft_import *m, const weft_onnx_value_info *first)
{
    weft_slice name = dim_name(m, first, 0);
    int64_t batch = m->options->batch;

    m->batch_dim = binding_of(m->options, name);
    if (m->batch_dim && batch > 0 && m->batch_dim->size != batch)
        return weft_fail(WEFT_E_INPUT,
                         "dimension '%.*s' of input '%.*s' is the batch: --dim %s=%lld contradicts "
                         "a batch of %lld, expected one of them or the same size",
                         (int)name.n, name.at, (int)first->name.n, first->name.at,
                         m->batch_dim->name, (long long)m->batch_dim->size, (long long)batch);
    if (batch > 0)
        m->batch_name = weft_import_text(m, name);
    return WEFT_OK;
}

/* --batch: binds the symbolic first dimension of the first input, or replaces the fixed one. */
static weft_status choose_batch(weft_import *m, const weft_onnx_value_info *first)
{
    if (first->has_shape && first->n_dims > 0 && first->dim[0].value < 0)
        return choose_symbolic_batch(m, first);
    if (m->options->batch <= 0 || !first->has_shape)
        return WEFT_OK;
    if (first->n_dims == 0 || first->dim[0].value == 0)
        return weft_fail(WEFT_E_INPUT,
                         "input '%.*s' has no dimensions or no elements, so --batch does not apply",
                         (int)first->name.n, first->name.at);
    if (first->dim[0].value != m->options->batch)
        m->file_batch = first->dim[0].value;
    return WEFT_OK;
}

static weft_status import_inputs(weft_import *m, weft_scope *s)
{
    const weft_onnx_graph *g = s->graph;
    const weft_map *initializers = initializer_names(m, g);
    bool is_first = true;

    for (int i = 0; i < g->n_inputs; i++) {
        weft_slice name = g->input[i].name;
        weft_value v;
        int value;

        if (is_initializer(g, initializers, name))
            continue;
        if (name.n == 0)
            return weft_fail(WEFT_E_INPUT, "input %d has no name", i);
        if (is_first)
            WEFT_TRY(choose_batch(m, &g->input[i]));
        is_first = false;
        WEFT_TRY(input_shape(m, &g->input[i], &v));
        if (m->file_batch > 0 && v.shape.rank > 0 && v.shape.dim[0] == m->file_batch)
            v.shape.dim[0] = m->options->batch;
        WEFT_TRY(weft_net_input(s->net, weft_import_text(m, name), &v, &value));
        if (!weft_map_put(s->values, name.at, name.n, value))
            return weft_fail(WEFT_E_INPUT, "two inputs have the name '%.*s'", (int)name.n, name.at);
    }
    if (m->file_batch > 0)
        weft_net_rebatch(s->net, m->file_batch, m->options->batch, m->before);
    return WEFT_OK;
}

/* --- scopes ---------------------------------------------------------------------------------- */

void weft_import_declared(weft_import *m, weft_scope *s, const weft_onnx_graph *graph)
{
    s->graph = graph;
    s->declared = weft_map_new(m->arena);
    for (int i = 0; i < graph->n_values; i++)
        weft_map_set(s->declared, graph->value[i].name.at, graph->value[i].name.n, i);
    for (int i = 0; i < graph->n_outputs; i++)
        weft_map_set(s->declared, graph->output[i].name.at, graph->output[i].name.n,
                     graph->n_values + i);
}

/* A value of an outer net as input or constant of this one. */
static weft_status capture(weft_import *m, weft_scope *s, weft_slice name, int outer, int *out)
{
    const weft_value *v = weft_net_value(s->outer->net, outer);
    const char *text = weft_arena_print(m->lasting, "%.*s (outside)", (int)name.n, name.at);

    if (v->is_const)
        WEFT_TRY(weft_net_constant(s->net, text, v, out));
    else
        WEFT_TRY(weft_net_input(s->net, text, v, out));
    weft_map_set(s->values, name.at, name.n, *out);
    WEFT_PUSH(m->arena, s->captured, outer);
    return WEFT_OK;
}

weft_status weft_import_resolve(weft_import *m, weft_scope *s, weft_slice name, int *out)
{
    int outer;

    *out = weft_map_get(s->values, name.at, name.n);
    if (*out >= 0 || s->outer == NULL)
        return WEFT_OK;
    WEFT_TRY(weft_import_resolve(m, s->outer, name, &outer));
    if (outer < 0 || s->shares_net) {
        *out = outer;
        return WEFT_OK;
    }
    return capture(m, s, name, outer, out);
}

weft_status weft_import_define(weft_import *m, weft_scope *s, const weft_onnx_node *n,
                               const int *results)
{
    (void)m;
    for (int i = 0; i < n->n_outputs; i++)
        if (results[i] >= 0 &&
            !weft_map_put(s->values, n->output[i].at, n->output[i].n, results[i]))
            return weft_fail(WEFT_E_INPUT, "tensor '%.*s' is made twice", (int)n->output[i].n,
                             n->output[i].at);
    return WEFT_OK;
}

/* Most graphs declare a few outputs only: these are compared, not looked up. */
int weft_import_find_declared(const weft_scope *s, weft_slice name)
{
    const weft_onnx_graph *g = s->graph;
    int found = -1;

    if (s->declared == NULL || g->n_values > 0 || g->n_outputs > FEW_OUTPUTS)
        return s->declared ? weft_map_get(s->declared, name.at, name.n) : -1;
    for (int i = 0; i < g->n_outputs; i++)
        found = weft_slice_same(g->output[i].name, name) ? i : found;
    return found;
}

static weft_value *no_declarations(weft_arena *a, int n)
{
    weft_value *v = WEFT_NEW_RAW(a, weft_value, n);

    for (int i = 0; i < n; i++)
        v[i] = (weft_value){.shape = {.rank = -1}};
    return v;
}

const weft_value *weft_import_results(weft_import *m, weft_scope *s, const weft_onnx_node *n,
                                      const char **names)
{
    weft_value *values = NULL;

    for (int i = 0; i < n->n_outputs; i++) {
        int k = weft_import_find_declared(s, n->output[i]);

        names[i] = weft_import_name(m, s, n->output[i]);
        if (k < 0 || m->file_batch > 0) /* declared for another batch: of no use */
            continue;
        values = values ? values : no_declarations(m->scratch, n->n_outputs);
        values[i] = weft_import_value_info(m, k < s->graph->n_values
                                                  ? &s->graph->value[k]
                                                  : &s->graph->output[k - s->graph->n_values]);
    }
    return values;
}

/* --- nodes ----------------------------------------------------------------------------------- */

static weft_status operands(weft_import *m, weft_scope *s, const weft_onnx_node *n,
                            const int **args, int *n_args)
{
    int *arg;

    if (s->ready == n) { /* looked up when the order was checked */
        *args = s->operand.at + s->first;
        *n_args = s->n_args;
        return WEFT_OK;
    }
    *args = arg = WEFT_NEW_RAW(m->scratch, int, n->n_inputs + 1);
    *n_args = 0;
    for (int i = 0; i < n->n_inputs; i++) {
        arg[i] = -1;
        if (n->input[i].n == 0)
            continue;
        WEFT_TRY(weft_import_resolve(m, s, n->input[i], &arg[i]));
        if (arg[i] < 0)
            return weft_fail(WEFT_E_INPUT, "node '%.*s' (%.*s) reads '%.*s', which nothing makes",
                             (int)n->name.n, n->name.at, (int)n->form->op_type.n,
                             n->form->op_type.at, (int)n->input[i].n, n->input[i].at);
        *n_args = i + 1; /* trailing operands left out do not count */
    }
    return WEFT_OK;
}

/* Domain, name and overload, none of which has a NUL byte, in a row. */
static weft_slice function_key(weft_arena *a, weft_slice domain, weft_slice name,
                               weft_slice overload)
{
    weft_slice part[] = {weft_import_domain(domain), name, overload};
    char *key = weft_arena_raw(a, part[0].n + name.n + overload.n + 3), *to = key;

    for (int i = 0; i < 3; i++) {
        if (part[i].n > 0)
            memcpy(to, part[i].at, part[i].n);
        to += part[i].n;
        *to++ = '\0';
    }
    return (weft_slice){key, (size_t)(to - key)};
}

static void index_functions(weft_import *m)
{
    const weft_onnx *doc = m->doc;

    m->functions = weft_map_new(m->arena);
    for (int i = 0; i < doc->n_functions; i++) {
        const weft_onnx_function *f = &doc->function[i];
        weft_slice key = function_key(m->arena, f->domain, f->name, f->overload);

        (void)weft_map_put(m->functions, key.at, key.n, i); /* the first of its name counts */
    }
}

static const weft_onnx_function *find_function(const weft_import *m, const weft_onnx_node *n)
{
    size_t mark = weft_arena_mark(m->scratch);
    weft_slice key;
    int i;

    if (m->doc->n_functions == 0)
        return NULL;
    key = function_key(m->scratch, n->form->domain, n->form->op_type, n->form->overload);
    i = weft_map_get(m->functions, key.at, key.n);
    weft_arena_rewind(m->scratch, mark);
    return i >= 0 ? &m->doc->function[i] : NULL;
}

static void bind_attributes(weft_import *m, const weft_onnx_node *n, const weft_onnx_function *f,
                            weft_scope *inner)
{
    const weft_onnx_attr **bound =
        WEFT_NEW(m->arena, const weft_onnx_attr *, n->form->n_attrs + f->n_defaults + 1);

    for (int i = 0; i < n->form->n_attrs; i++)
        bound[inner->n_bound++] = &n->form->attr[i];
    inner->n_given = inner->n_bound;
    for (int i = 0; i < f->n_defaults; i++)
        bound[inner->n_bound++] = &f->fallback[i];
    inner->bound = bound;
}

/* Inlines a call: the function's nodes with names prefixed by the call's. */
static weft_status import_call(weft_import *m, weft_scope *s, const weft_onnx_node *n,
                               const weft_onnx_function *f)
{
    weft_scope inner = {.net = s->net,
                        .values = weft_map_new(m->arena),
                        .n_opsets = f->n_opsets ? f->n_opsets : s->n_opsets,
                        .opset = f->n_opsets ? f->opset : s->opset,
                        .bound_in = s,
                        .depth = s->depth + 1};
    int *results = WEFT_NEW(m->arena, int, n->n_outputs + 1), n_args;
    const int *args;

    if (inner.depth > WEFT_ONNX_MAX_DEPTH)
        return weft_fail(WEFT_E_INPUT, "function '%.*s' is called more than %d levels deep",
                         (int)f->name.n, f->name.at, WEFT_ONNX_MAX_DEPTH);
    if (n->n_inputs > f->n_inputs || n->n_outputs > f->n_outputs)
        return weft_fail(
            WEFT_E_INPUT,
            "function '%.*s' is called with %d inputs and %d outputs, expected %d and %d",
            (int)f->name.n, f->name.at, n->n_inputs, n->n_outputs, f->n_inputs, f->n_outputs);
    if (n->form->n_attrs > MOST_BOUND || f->n_defaults > MOST_BOUND)
        return weft_fail(WEFT_E_INPUT,
                         "function '%.*s' has %d attributes and %d defaults, expected at most %d",
                         (int)f->name.n, f->name.at, n->form->n_attrs, f->n_defaults, MOST_BOUND);
    WEFT_TRY(operands(m, s, n, &args, &n_args));
    for (int i = 0; i < n_args; i++)
        if (args[i] >= 0)
            weft_map_set(inner.values, f->input[i].at, f->input[i].n, args[i]);
    inner.prefix = weft_import_prefix(m, s, n->name, f->name);
    weft_import_rename(m, s, n, f->output, &inner);
    bind_attributes(m, n, f, &inner);
    WEFT_TRY(weft_import_nodes(m, &inner, f->node, f->n_nodes));
    for (int i = 0; i < n->n_outputs; i++) {
        results[i] = -1;
        if (n->output[i].n > 0) {
            results[i] = weft_map_get(inner.values, f->output[i].at, f->output[i].n);
            if (results[i] < 0)
                return weft_fail(WEFT_E_INPUT, "function '%.*s' does not make its output '%.*s'",
                                 (int)f->name.n, f->name.at, (int)f->output[i].n, f->output[i].at);
        }
    }
    return weft_import_define(m, s, n, results);
}

static void count_constant(weft_import *m, const weft_scope *s, weft_import_form *form, int value)
{
    form->n_elements = weft_shape_elements(&weft_net_value(s->net, value)->shape);
    weft_import_add_constant(m, form);
}

/* The operator as the net takes it, but for operands and results. */
static weft_status describe(weft_import *m, weft_scope *s, const weft_onnx_node *n,
                            const weft_import_form *form, weft_net_op *out)
{
    *out = (weft_net_op){0};
    if (!form->is_made)
        return weft_import_header(m, s, n, &out->node);
    *out = form->op;
    out->name = weft_import_text(m, n->name);
    out->n_name = n->name.n;
    out->twin = s->ready == n && n->twin >= 0 ? m->place[n->twin].op + 1 : 0;
    return WEFT_OK;
}

static weft_status import_operator(weft_import *m, weft_scope *s, const weft_onnx_node *n,
                                   weft_import_form *form)
{
    const char *few_names[FEW_OUTPUTS], **names = few_names;
    int few_results[FEW_OUTPUTS], *results = few_results, n_args;
    const int *args;
    weft_net_op op;

    if (n->n_outputs > FEW_OUTPUTS) {
        names = WEFT_NEW_RAW(m->scratch, const char *, n->n_outputs);
        results = WEFT_NEW_RAW(m->scratch, int, n->n_outputs);
    }
    WEFT_TRY(operands(m, s, n, &args, &n_args));
    WEFT_TRY(describe(m, s, n, form, &op));
    op.arg = args;
    op.n_args = n_args;
    op.n_results = n->n_outputs;
    op.result_name = names;
    op.declared = weft_import_results(m, s, n, names);
    WEFT_TRY(weft_net_node(s->net, &op, results));
    if (form->is_constant && s->depth == 0 && n->n_outputs > 0 && results[0] >= 0)
        count_constant(m, s, form, results[0]);
    return weft_import_define(m, s, n, results);
}

/* Counts the memory taken since the last node was begun that is below the main graph or leads
 * there. Names, attributes, constants and lists of reads grow with the nodes unfolded, each in its
 * own way: bytes bound them all. Nets of bodies are freed, so only growth of the net in use counts.
 */
static weft_status check_unfolded(weft_import *m, const weft_scope *s)
{
    size_t arena_bytes = weft_arena_mark(m->arena) + weft_arena_mark(m->lasting);
    size_t net_bytes = weft_arena_mark(weft_net_arena(s->net));

    if (s->depth > 0 && arena_bytes > m->arena_bytes)
        m->unfolded_bytes += arena_bytes - m->arena_bytes;
    if (s->depth > 0 && m->seen == s->net && net_bytes > m->net_bytes)
        m->unfolded_bytes += net_bytes - m->net_bytes;
    m->arena_bytes = arena_bytes;
    m->net_bytes = net_bytes;
    m->seen = s->net;
    if (m->unfolded_bytes >> 20 < MOST_UNFOLDED_MB)
        return WEFT_OK;
    return weft_fail(WEFT_E_INPUT, "functions and sub-graphs unfold to more than %d MB",
                     MOST_UNFOLDED_MB);
}

weft_status weft_import_budget(const weft_import *m)
{
    if (m->n_budget >= 0)
        return WEFT_OK;
    return weft_fail(WEFT_E_INPUT, "more than %d nodes after functions are inlined", MOST_NODES);
}

/* What a node costs of the budget: below the main graph also its operands, results, attributes and
 * the search for references of these, since a small file can repeat a large node any number of
 * times. */
static int64_t cost_of(const weft_scope *s, const weft_onnx_node *n)
{
    int64_t n_parts = (int64_t)n->n_inputs + n->n_outputs + n->form->n_attrs;

    return s->depth == 0 ? 1 : 1 + n_parts / 16 + (int64_t)n->form->n_attrs * s->n_bound / 256;
}

/* What the node's form is. In the main graph it is kept with the attributes of operators; the
 * operands are looked at first, since an error in them is told before one in attributes. */
static weft_status make_form(weft_import *m, weft_scope *s, const weft_onnx_node *n,
                             weft_import_form *out)
{
    const int *args;
    int n_args;

    out->function = find_function(m, n);
    out->is_control = weft_import_is_control(n);
    out->is_constant = weft_slice_is(n->form->op_type, "Constant");
    if (s->depth > 0)
        return WEFT_OK;
    out->is_operator = !out->function && !out->is_control;
    if (out->is_operator) {
        WEFT_TRY(operands(m, s, n, &args, &n_args));
        WEFT_TRY(weft_import_form_header(m, s, n, m->lasting, &out->op.node));
        out->op.form = n->form->number + 1;
    }
    out->is_made = true;
    return WEFT_OK;
}

static weft_status import_any(weft_import *m, weft_scope *s, const weft_onnx_node *n)
{
    /* Below the main graph attributes depend on the call. */
    weft_import_form *form =
        s->depth == 0 ? &m->form[n->form->number] : WEFT_NEW(m->scratch, weft_import_form, 1);

    if (s->depth > 0)
        WEFT_TRY(check_unfolded(m, s));
    m->n_budget -= cost_of(s, n);
    WEFT_TRY(weft_import_budget(m));
    if (!form->is_made)
        WEFT_TRY(make_form(m, s, n, form));
    if (s->depth == 0 && (form->function || form->is_control))
        WEFT_TRY(check_unfolded(m, s));
    if (form->function)
        return import_call(m, s, n, form->function);
    if (form->is_control)
        return weft_import_control(m, s, n);
    return import_operator(m, s, n, form);
}

weft_status weft_import_node(weft_import *m, weft_scope *s, const weft_onnx_node *n)
{
    size_t mark = weft_arena_mark(m->scratch);
    weft_status status = import_any(m, s, n);

    weft_arena_rewind(m->scratch, mark);
    return status;
}

/* --- the whole ------------------------------------------------------------------------------- */

/* The nearest of the symbolic dimensions and the nodes of the main graph. */
static const char *nearest_dim(weft_import *m, const char *name)
{
    const weft_onnx_graph *g = m->doc->graph;
    const char **known = WEFT_NEW(m->arena, const char *, m->dims.n + g->n_nodes + 1);
    int n = 0;

    for (int i = 0; i < m->dims.n; i++)
        known[n++] = weft_arena_text(m->arena, m->dims.at[i].at, m->dims.at[i].n);
    for (int u = 0; u < g->n_nodes; u++)
        if (g->node[u].name.n > 0)
            known[n++] = weft_arena_text(m->arena, g->node[u].name.at, g->node[u].name.n);
    return weft_nearest(name, known, n);
}

/* Each --dim names a symbolic dimension, or a size that depends on the data. */
static weft_status check_dims_used(weft_import *m)
{
    for (int i = 0; i < m->options->n_dims; i++) {
        const weft_assumption *a = &m->assumption[i];
        const char *near;

        if (a->n_given > 0 || weft_map_get(m->dim_names, a->name, strlen(a->name)) >= 0)
            continue;
        if (a->n_named > 0)
            return weft_fail(WEFT_E_INPUT,
                             "--dim %s=%lld: '%s' has no size that depends on the data", a->name,
                             (long long)a->size, a->name);
        near = nearest_dim(m, a->name);
        return weft_fail(WEFT_E_INPUT,
                         "no dimension and no node with a size that depends on the data is called "
                         "'%s' (given with --dim)%s%s%s",
                         a->name, near ? "; did you mean '" : "", near ? near : "",
                         near ? "'?" : "");
    }
    return WEFT_OK;
}

/* What --dim says may be meant for sizes that depend on the data, too. */
static void note_assumptions(weft_import *m, weft_net_builder *net)
{
    int n = m->options->n_dims;

    m->assumption = WEFT_NEW(m->lasting, weft_assumption, n + 1);
    for (int i = 0; i < n; i++)
        m->assumption[i] =
            (weft_assumption){.name = m->options->dim[i].name, .size = m->options->dim[i].size};
    weft_net_assume(net, m->assumption, n);
}

/* A network that picks single items out of its batch does not work on a larger one. */
static void warn_of_batch(weft_import *m, weft_scope *s)
{
    for (int i = 0; i < s->graph->n_outputs; i++) {
        weft_slice name = s->graph->output[i].name;
        const weft_shape *shape =
            &weft_net_value(s->net, weft_map_get(s->values, name.at, name.n))->shape;

        if (shape->rank > 0 && shape->dim[0] > 0 && shape->dim[0] % m->options->batch == 0)
            return;
    }
    weft_net_warn(s->net,
                  "no output has the batch of %lld as its first dimension: the network may not "
                  "work on the whole batch",
                  (long long)m->options->batch);
}

static weft_status import_outputs(weft_import *m, weft_scope *s)
{
    for (int i = 0; i < s->graph->n_outputs; i++) {
        weft_slice name = s->graph->output[i].name;
        int value = weft_map_get(s->values, name.at, name.n);

        if (value < 0)
            return weft_fail(WEFT_E_INPUT, "output '%.*s' is made by no node", (int)name.n,
                             name.at);
        weft_net_output(s->net, value);
    }
    if (m->file_batch > 0 && m->file_batch != m->options->batch)
        warn_of_batch(m, s);
    return check_dims_used(m);
}

static void warn_of_opset(weft_scope *s)
{
    int version;

    if (weft_import_opset(s, (weft_slice){"", 0}, &version) != WEFT_OK)
        return;
    if (version > NEWEST_OPSET || version < OLDEST_OPSET)
        weft_net_warn(
            s->net,
            "opset %d is outside %d to %d, the range weft was checked with: operators may "
            "be read wrongly",
            version, OLDEST_OPSET, NEWEST_OPSET);
}

static weft_status import_graph(weft_import *m, weft_scope *s)
{
    const weft_onnx_graph *g = m->doc->graph;

    weft_import_declared(m, s, g);
    warn_of_opset(s);
    WEFT_TRY(import_inputs(m, s));
    WEFT_TRY(weft_import_weights(m, s));
    WEFT_TRY(weft_import_nodes(m, s, g->node, g->n_nodes));
    /* Every value went into the scope under its own name, which refuses a second one. */
    if (!m->has_prefixes && g->n_sparse == 0)
        weft_net_unique(s->net);
    return import_outputs(m, s);
}

/* Room for what is in the main graph. */
static void reserve(weft_import *m, weft_scope *s)
{
    const weft_onnx_graph *g = m->doc->graph;
    int n_values = g->n_inputs + g->n_initializers + 1, n_operands = 1;

    for (int u = 0; u < g->n_nodes; u++) {
        n_values += g->node[u].n_outputs;
        n_operands += g->node[u].n_inputs;
    }
    weft_arena_reserve(m->arena, (size_t)m->doc->n_forms * sizeof *m->form +
                                     (size_t)g->n_nodes * sizeof *m->place +
                                     (size_t)n_values * MAP_BYTES +
                                     (size_t)n_operands * sizeof(int));
    m->form = WEFT_NEW(m->arena, weft_import_form, m->doc->n_forms + 1);
    m->place = WEFT_NEW_RAW(m->arena, weft_import_place, g->n_nodes + 1);
    WEFT_RESERVE(m->arena, s->operand, n_operands);
    weft_net_reserve(s->net, n_values, g->n_nodes);
    weft_map_reserve(s->values, n_values);
}

weft_status weft_import_net(const weft_onnx *doc, const weft_model_options *options,
                            const weft_net_builder *before, weft_net_builder *net, weft_import *m)
{
    weft_scope s = {.net = net, .prefix = "", .n_opsets = doc->n_opsets, .opset = doc->opset};
    weft_status status;

    *m = (weft_import){.doc = doc,
                       .options = options,
                       .before = before,
                       .arena = weft_arena_new(),
                       .lasting = weft_net_arena(net),
                       .scratch = weft_arena_new(),
                       .n_budget = MOST_NODES};
    m->dim_names = weft_map_new(m->arena);
    m->prefixes = weft_map_new(m->arena);
    m->bodies = weft_map_new(m->arena);
    s.values = weft_map_new(m->arena);
    index_functions(m);
    weft_net_dtype(net, options->dtype);
    note_assumptions(m, net);
    reserve(m, &s);
    status = import_graph(m, &s);
    weft_arena_free(m->scratch);
    weft_arena_free(m->arena);
    return status;
}
