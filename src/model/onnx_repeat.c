/* SPDX-License-Identifier: MIT */
/* onnx_repeat.c: nodes of the main graph that repeat an earlier one.
 *
 * Networks are made of layers, so most nodes have a twin (onnx_node.c): one of the same form that
 * stands at the same place of an earlier layer. Such a node is imported in four steps:
 *
 * 1. An operand that moved on by a step from the twin of the twin to the twin has most likely moved
 *    on by another: it is looked for there, and its name compared.
 * 2. Names that stand side by side in the file are copied in one piece.
 * 3. The net compares what is known of the operands with what was known of those of the twin, and
 *    takes its results over.
 * 4. The result goes into the scope, which refuses a name that is there already.
 *
 * Nothing is taken for granted: whatever is not as expected goes the usual way (onnx_import.c). */
#include "import.h"
#include "map.h"

void weft_import_add_constant(weft_import *m, const weft_import_form *form)
{
    if (form->n_elements > 0 &&
        __builtin_add_overflow(m->n_constants, form->n_elements, &m->n_constants))
        m->n_constants = INT64_MAX;
}

/* Puts the operands behind those of the nodes before; false if one of them is not there. */
static bool follow_twins(const weft_import_place *twin, const weft_scope *s,
                         const weft_onnx_node *n)
{
    const int *last = s->operand.at + twin->operand, *before = s->operand.at + twin->before;
    int *arg = s->operand.at + s->operand.n;

    for (int i = 0, end = n->n_inputs; i < end; i++) {
        const weft_slice *name = &n->input[i];
        int guess = 2 * last[i] - before[i];

        if (weft_map_is(s->values, guess, name->at, name->n))
            arg[i] = s->values->item.at[guess].value;
        else
            arg[i] = weft_map_get(s->values, name->at, name->n);
        if (arg[i] < 0 || name->n == 0)
            return false;
    }
    return true;
}

/* Does the graph say what the tensor is? It does of its outputs, in most files of nothing else. */
static bool is_declared(const weft_scope *s, const weft_slice *name)
{
    const weft_onnx_graph *g = s->graph;

    if (g->n_values == 0 && g->n_outputs == 1 && g->output[0].name.n != name->n)
        return false;
    return weft_import_find_declared(s, *name) >= 0;
}

/* Room for n bytes of text, as long as the graph. */
static inline char *text_room(weft_import *m, size_t n)
{
    enum { AT_ONCE = 1 << 13 };
    char *text;

    if (m->n_text < n) {
        m->n_text = n > AT_ONCE ? n : AT_ONCE;
        m->text = weft_arena_raw(m->lasting, m->n_text);
    }
    text = m->text;
    m->text += n;
    m->n_text -= n;
    return text;
}

/* Copies the name of the only result, and that of the node, which follows it in nearly all files.
 */
static inline void copy_names(weft_import *m, const weft_onnx_node *n, weft_net_again *to)
{
    enum { BETWEEN = 2 }; /* bytes: field and length of the node's name */
    const weft_slice *result = n->output, *name = &n->name;
    bool is_next = name->n > 0 && name->at == result->at + result->n + BETWEEN;
    size_t size = is_next ? result->n + BETWEEN + name->n : result->n;
    char *text = text_room(m, size + 1);

    memcpy(text, result->at, size);
    text[result->n] = text[size] = '\0';
    to->name = is_next ? text + result->n + BETWEEN : weft_import_text(m, *name);
    to->n_name = name->n;
    to->result_name = text;
}

/* True if the node is an operator with one result of which nothing is declared, and all it reads is
 * there. */
static inline bool is_repeat(const weft_import *m, const weft_scope *s, const weft_onnx_node *n)
{
    const weft_import_place *twin = n->twin < 0 ? NULL : &m->place[n->twin];

    return twin && twin->before >= 0 && m->form[n->form->number].is_operator && n->n_outputs == 1 &&
           n->output[0].n > 0 && n->n_inputs <= s->operand.room - s->operand.n && m->n_budget > 0 &&
           !is_declared(s, &n->output[0]) && follow_twins(twin, s, n);
}

/* The operator does not what its twin did. */
static weft_status import_other(weft_import_form *form, weft_scope *s, const weft_net_again *a,
                                int *result)
{
    weft_net_op *op = &form->op;

    op->name = a->name;
    op->n_name = a->n_name;
    op->arg = a->arg;
    op->n_args = a->n_args;
    op->n_results = 1;
    op->result_name = &a->result_name;
    op->twin = 0;
    return weft_net_node(s->net, op, result);
}

weft_status weft_import_repeats(weft_import *m, weft_scope *s, int *u)
{
    const weft_onnx_node *n = m->doc->graph->node + *u;
    const weft_onnx_node *end = m->doc->graph->node + m->doc->graph->n_nodes;
    weft_import_place *place = m->place + *u;
    int n_ops = weft_net_n_nodes(s->net), result;
    weft_net_again a;

    for (; n < end && is_repeat(m, s, n); n++, place++) {
        weft_import_form *form = &m->form[n->form->number];
        const weft_import_place *twin = &m->place[n->twin];
        uint32_t hint = weft_map_hint(s->values, n->output[0].at, n->output[0].n);

        copy_names(m, n, &a);
        a.twin = twin->op;
        a.arg = s->operand.at + s->operand.n;
        a.n_args = n->n_inputs;
        *place = (weft_import_place){s->operand.n, twin->operand, n_ops++};
        s->operand.n += n->n_inputs;
        m->n_budget--;
        WEFT_TRY(weft_net_repeat(s->net, &a, &result));
        if (result < 0)
            WEFT_TRY(import_other(form, s, &a, &result));
        if (form->is_constant)
            weft_import_add_constant(m, form);
        if (!weft_map_put_hinted(s->values, n->output[0].at, n->output[0].n, hint, result))
            return weft_fail(WEFT_E_INPUT, "tensor '%.*s' is made twice", (int)n->output[0].n,
                             n->output[0].at);
    }
    *u = (int)(place - m->place);
    return WEFT_OK;
}
