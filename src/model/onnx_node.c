/* SPDX-License-Identifier: MIT */
/* onnx_node.c: nodes and their attributes.
 *
 * What a node is, apart from its name and operands, is read once: a node whose remaining bytes are
 * equal to those of an earlier one shares its form. Equal bytes mean the same, so nothing is
 * checked less.
 *
 * Networks are made of layers. A node has a twin if an earlier one has its form and the nodes
 * before the two agree as well: most likely it is the same node of an earlier layer. The twin after
 * a twin is the node after it, as long as forms agree; else the last node that came with the same
 * three forms before it. Twins tell where to look first and nothing else: whoever uses one
 * compares. */
#include "map.h"
#include "reader.h"

#include <string.h>

enum {
    MOST_ATTRS = 1000,
    MOST_FORM_BYTES = 256, /* larger ones are not compared with others: they are data */
    MOST_TEXTS = 32,       /* names in a node whose form is looked for */
    TEXTS_AT_ONCE = 1024,
};

/* --- attributes ------------------------------------------------------------------------------ */

static weft_status read_strings(weft_reader *r, weft_wire w, int number, int n,
                                const weft_slice **out)
{
    weft_slice *to = WEFT_NEW(r->arena, weft_slice, n);
    weft_wire_field f;

    *out = to;
    while (weft_wire_more(&w)) {
        WEFT_TRY(weft_wire_next(&w, &f));
        if (f.number == number)
            WEFT_TRY(weft_onnx_field_bytes(&f, to++));
    }
    return WEFT_OK;
}

/* Files older than IR version 3 do not say what an attribute holds. */
static int deduce_kind(const int n[WEFT_WIRE_COUNTED])
{
    static const struct {
        int field, kind;
    } kinds[] = {
        {ONNX_ATTR_F,              WEFT_ONNX_FLOAT         },
        {ONNX_ATTR_I,              WEFT_ONNX_INT           },
        {ONNX_ATTR_S,              WEFT_ONNX_STRING        },
        {ONNX_ATTR_T,              WEFT_ONNX_TENSOR        },
        {ONNX_ATTR_G,              WEFT_ONNX_GRAPH         },
        {ONNX_ATTR_FLOATS,         WEFT_ONNX_FLOATS        },
        {ONNX_ATTR_INTS,           WEFT_ONNX_INTS          },
        {ONNX_ATTR_STRINGS,        WEFT_ONNX_STRINGS       },
        {ONNX_ATTR_TENSORS,        WEFT_ONNX_TENSORS       },
        {ONNX_ATTR_GRAPHS,         WEFT_ONNX_GRAPHS        },
        {ONNX_ATTR_SPARSE_TENSOR,  WEFT_ONNX_SPARSE_TENSOR },
        {ONNX_ATTR_SPARSE_TENSORS, WEFT_ONNX_SPARSE_TENSORS},
        {ONNX_ATTR_TYPE_PROTO,     WEFT_ONNX_TYPE_PROTO    },
        {ONNX_ATTR_TYPE_PROTOS,    WEFT_ONNX_TYPE_PROTOS   },
    };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (n[kinds[i].field] > 0)
            return kinds[i].kind;
    return WEFT_ONNX_UNDEFINED;
}

/* What an attribute holds as a message, kept until its kind is known. */
typedef struct attr_parts {
    weft_wire tensor, graph;
} attr_parts;

static weft_status attr_field(const weft_wire_field *f, weft_onnx_attr *out, attr_parts *parts)
{
    switch (f->number) {
    case ONNX_ATTR_NAME:
        return weft_onnx_field_text(f, &out->name);
    case ONNX_ATTR_REF:
        return weft_onnx_field_text(f, &out->ref);
    case ONNX_ATTR_KIND:
        return weft_onnx_field_int32(f, &out->kind);
    case ONNX_ATTR_F:
        return weft_wire_float(f, &out->f);
    case ONNX_ATTR_I:
        return weft_wire_int(f, &out->i);
    case ONNX_ATTR_S:
        return weft_onnx_field_bytes(f, &out->s);
    case ONNX_ATTR_T:
        return weft_wire_body(f, &parts->tensor);
    case ONNX_ATTR_G:
        return weft_wire_body(f, &parts->graph);
    default:
        return WEFT_OK;
    }
}

static weft_status read_attr_tensor(weft_reader *r, weft_wire w, weft_onnx_attr *out)
{
    weft_onnx_tensor *tensor = WEFT_NEW_RAW(r->arena, weft_onnx_tensor, 1);

    out->tensor = tensor;
    return weft_onnx_tensor_read(w, r->arena, tensor);
}

static weft_status read_attr_graph(weft_reader *r, weft_wire w, weft_onnx_attr *out)
{
    weft_onnx_graph *graph = WEFT_NEW(r->arena, weft_onnx_graph, 1);

    out->graph = graph;
    return weft_onnx_graph_read(r, w, graph);
}

static weft_status no_value(const weft_onnx_attr *a, const char *what)
{
    char name[WEFT_ONNX_SHOWN_BYTES];

    if (a->ref.n > 0) /* the value is given where the function is called */
        return WEFT_OK;
    return weft_fail(WEFT_E_INPUT, "attribute '%s': is said to hold a %s, but there is none",
                     weft_onnx_show(a->name, name), what);
}

weft_status weft_onnx_attr_read(weft_reader *r, weft_wire w, weft_onnx_attr *out)
{
    attr_parts parts = {
        {NULL, NULL, NULL},
        {NULL, NULL, NULL}
    };
    weft_wire whole = w;
    weft_wire_field f;
    int n[WEFT_WIRE_COUNTED];

    out->raw = weft_wire_slice(w);
    WEFT_TRY(weft_wire_count(w, n));
    while (weft_wire_more(&w)) {
        WEFT_TRY(weft_wire_next(&w, &f));
        WEFT_TRY(attr_field(&f, out, &parts));
    }
    if (out->kind == WEFT_ONNX_UNDEFINED)
        out->kind = deduce_kind(n);
    switch (out->kind) {
    case WEFT_ONNX_FLOATS:
        return weft_wire_floats(whole, ONNX_ATTR_FLOATS, r->arena, &out->floats, &out->n);
    case WEFT_ONNX_INTS:
        return weft_wire_ints(whole, ONNX_ATTR_INTS, r->arena, &out->ints, &out->n);
    case WEFT_ONNX_STRINGS:
        out->n = n[ONNX_ATTR_STRINGS];
        return read_strings(r, whole, ONNX_ATTR_STRINGS, out->n, &out->strings);
    case WEFT_ONNX_TENSOR:
        return parts.tensor.at ? read_attr_tensor(r, parts.tensor, out) : no_value(out, "tensor");
    case WEFT_ONNX_GRAPH:
        return parts.graph.at ? read_attr_graph(r, parts.graph, out) : no_value(out, "graph");
    default:
        return WEFT_OK;
    }
}

/* --- nodes ----------------------------------------------------------------------------------- */

/* A node while it is filled. */
typedef struct node_parts {
    weft_slice *input, *output;
    weft_onnx_form *form;
    weft_onnx_attr *attr;
} node_parts;

static weft_status form_field(weft_reader *r, const weft_wire_field *f, const node_parts *parts)
{
    weft_onnx_form *form = parts->form;
    weft_wire body;

    switch (f->number) {
    case ONNX_NODE_OP_TYPE:
        return weft_onnx_field_text(f, &form->op_type);
    case ONNX_NODE_DOMAIN:
        return weft_onnx_field_text(f, &form->domain);
    case ONNX_NODE_OVERLOAD:
        return weft_onnx_field_text(f, &form->overload);
    case ONNX_NODE_DOC:
        return weft_onnx_field_bytes(f, &form->doc);
    case ONNX_NODE_ATTR:
        WEFT_TRY(weft_wire_body(f, &body));
        return weft_onnx_attr_read(r, body, &parts->attr[form->n_attrs++]);
    default:
        return WEFT_OK;
    }
}

static weft_status node_field(weft_reader *r, const weft_wire_field *f, weft_onnx_node *out,
                              const node_parts *parts)
{
    switch (f->number) {
    case ONNX_NODE_INPUT:
        return weft_onnx_field_text(f, &parts->input[out->n_inputs++]);
    case ONNX_NODE_OUTPUT:
        return weft_onnx_field_text(f, &parts->output[out->n_outputs++]);
    case ONNX_NODE_NAME:
        return weft_onnx_field_text(f, &out->name);
    default:
        return form_field(r, f, parts);
    }
}

static weft_status node_fields(weft_reader *r, weft_wire w, weft_onnx_node *out,
                               const node_parts *parts)
{
    weft_wire_field f;

    while (weft_wire_more(&w)) {
        WEFT_TRY(weft_wire_next(&w, &f));
        WEFT_TRY(node_field(r, &f, out, parts));
    }
    return WEFT_OK;
}

/* A form is kept if its bytes are few. Sub-graphs are read wherever they stand: how deep they may
 * nest depends on the place. */
static bool is_kept(const weft_onnx_form *form, weft_slice bytes)
{
    for (int i = 0; i < form->n_attrs; i++)
        if (form->attr[i].graph)
            return false;
    return bytes.n <= MOST_FORM_BYTES;
}

/* The inputs, outputs and name of a node, which come first in files as protobuf writes them. */
typedef struct node_head {
    int n_inputs, n_outputs;
    weft_slice *text; /* [MOST_TEXTS] until the next node is read */
    weft_slice name;
    weft_slice rest; /* the bytes of its form */
} node_head;

static int count_nuls(const uint8_t *from, const uint8_t *to)
{
    int n = 0;

    while (from < to && (from = memchr(from, '\0', (size_t)(to - from)))) {
        from++;
        n++;
    }
    return n;
}

/* Texts that stand in a row. */
typedef struct row {
    const uint8_t *at, *end; /* what comes after them; the last byte of the node */
    weft_slice *text, *last; /* where they go; there is room up to the last one */
    int n_empty;
} row;

/* Takes fields with this number, texts of less than 128 bytes with something behind them. Returns
 * how many. */
static inline int take_texts(row *r, int field)
{
    const uint8_t *at = r->at, *end = r->end;
    weft_slice *first = r->text, *text = first;
    int n_empty = 0;

    while (at[0] == (field << 3 | WEFT_WIRE_BYTES) && text < r->last) {
        size_t length = at[1];

        if (length >= 0x80 || length >= (size_t)(end - at) - 2)
            break;
        text->at = (const char *)at + 2;
        text++->n = length;
        n_empty += length == 0;
        at += length + 2;
    }
    r->at = at;
    r->text = text;
    r->n_empty += n_empty;
    return (int)(text - first);
}

/* True if the node begins with its texts, in order, and all of them are as they should be. One look
 * for NUL bytes suffices: tags are none, and neither are lengths but those of empty texts. */
static bool read_head(const weft_wire *w, node_head *out)
{
    row r = {w->at, w->end - 1, out->text, out->text + MOST_TEXTS, 0};

    if (w->end - w->at < 2)
        return false;
    out->n_inputs = take_texts(&r, ONNX_NODE_INPUT);
    out->n_outputs = take_texts(&r, ONNX_NODE_OUTPUT);
    out->name = (weft_slice){NULL, 0};
    if (take_texts(&r, ONNX_NODE_NAME) > 0)
        out->name = r.text[-1];
    if (r.at[0] <= (ONNX_NODE_NAME << 3 | WEFT_WIRE_BYTES))
        return false;
    out->rest.at = (const char *)r.at;
    out->rest.n = (size_t)(w->end - r.at);
    return count_nuls(w->at, r.at) == r.n_empty;
}

/* The form with these bytes, or NULL; `guess` is looked at first. */
static const weft_onnx_form *find_form(const weft_reader *r, const weft_onnx_form *guess,
                                       weft_slice bytes)
{
    int i;

    if (guess && guess->bytes.at && guess->bytes.n == bytes.n &&
        memcmp(guess->bytes.at, bytes.at, bytes.n) == 0)
        return guess;
    i = bytes.n > MOST_FORM_BYTES ? -1 : weft_map_get(r->forms, bytes.at, bytes.n);
    return i < 0 ? NULL : r->form.at[i];
}

/* A node whose form is known already. Its texts stay where they are. */
static void read_known(weft_reader *r, const node_head *head, const weft_onnx_form *form,
                       weft_onnx_node *out)
{
    int n_texts = head->n_inputs + head->n_outputs;

    out->name = head->name;
    out->n_inputs = head->n_inputs;
    out->n_outputs = head->n_outputs;
    out->input = head->text;
    out->output = head->text + head->n_inputs;
    out->form = form;
    r->text += n_texts;
    r->n_texts -= n_texts;
}

/* A node as such: fields in any order, errors told. */
static weft_status read_new(weft_reader *r, weft_wire w, weft_onnx_node *out, weft_onnx_form *form)
{
    node_parts parts;
    int n[WEFT_WIRE_COUNTED];

    *out = (weft_onnx_node){0};
    WEFT_TRY(weft_wire_count(w, n));
    if (n[ONNX_NODE_ATTR] > MOST_ATTRS) /* two bytes of the file would take hundreds of memory */
        return weft_fail(WEFT_E_INPUT, "byte %zu: a node has %d attributes, expected at most %d",
                         (size_t)(w.at - w.start), n[ONNX_NODE_ATTR], MOST_ATTRS);
    out->input = parts.input = WEFT_NEW_RAW(r->arena, weft_slice, n[ONNX_NODE_INPUT]);
    out->output = parts.output = WEFT_NEW_RAW(r->arena, weft_slice, n[ONNX_NODE_OUTPUT]);
    out->form = parts.form = form;
    parts.form->attr = parts.attr = WEFT_NEW(r->arena, weft_onnx_attr, n[ONNX_NODE_ATTR]);
    WEFT_TRY(node_fields(r, w, out, &parts));
    parts.form->number = r->n_forms++;
    return WEFT_OK;
}

/* A node whose form is not known; it is kept if `head` has been read. */
static weft_status read_unknown(weft_reader *r, const weft_wire *w, const node_head *head,
                                weft_onnx_node *out)
{
    weft_onnx_form *form = WEFT_NEW(r->arena, weft_onnx_form, 1);

    WEFT_TRY(read_new(r, *w, out, form));
    /* Inputs, outputs or a name among the rest would not be part of the form. */
    if (head && out->n_inputs == head->n_inputs && out->n_outputs == head->n_outputs &&
        out->name.at == head->name.at && is_kept(form, head->rest)) {
        form->bytes = head->rest;
        (void)weft_map_put(r->forms, head->rest.at, head->rest.n, r->form.n);
        WEFT_PUSH(r->arena, r->form, form);
    }
    return WEFT_OK;
}

/* Room for the texts of the next node. */
static inline void need_texts(weft_reader *r)
{
    if (r->n_texts < MOST_TEXTS) {
        r->text = WEFT_NEW_RAW(r->arena, weft_slice, TEXTS_AT_ONCE);
        r->n_texts = TEXTS_AT_ONCE;
    }
}

static weft_status read_node(weft_reader *r, const weft_wire *w, const weft_onnx_form *guess,
                             weft_onnx_node *out)
{
    const weft_onnx_form *known;
    node_head head;
    bool is_usual;

    need_texts(r);
    head.text = r->text;
    is_usual = read_head(w, &head);
    known = is_usual ? find_form(r, guess, head.rest) : NULL;
    if (known == NULL)
        return read_unknown(r, w, is_usual ? &head : NULL, out);
    read_known(r, &head, known, out);
    return WEFT_OK;
}

/* --- twins ----------------------------------------------------------------------------------- */

/* Have the two nodes the same form and as many operands and results? */
static bool are_alike(const weft_onnx_node *a, const weft_onnx_node *b)
{
    return a->form == b->form && a->n_inputs == b->n_inputs && a->n_outputs == b->n_outputs;
}

/* Notes that node u has this form. Returns where the last one stands that came with the same forms
 * before it. */
static inline int *note_form(weft_history *h, const weft_onnx_form *form)
{
    h->forms = h->forms << 8 | (form->number & 0xff);
    return &h->seen[h->forms * 0x9e3779b1u / (UINT32_MAX / WEFT_HISTORY_SLOTS + 1)];
}

/* The twin of node[u], or -1. */
static int find_twin(weft_history *h, const weft_onnx_node *node, int u)
{
    int twin = h->next - 1;
    int *seen = note_form(h, node[u].form);

    if (twin < 0 || !are_alike(&node[twin], &node[u]))
        twin = *seen - 1;
    if (twin >= 0 && !are_alike(&node[twin], &node[u]))
        twin = -1;
    *seen = u + 1;
    h->next = twin < 0 ? 0 : twin + 2;
    return twin;
}

weft_status weft_onnx_node_read(weft_reader *r, const weft_wire *w, weft_history *h,
                                weft_onnx_node *node, int u)
{
    const weft_onnx_form *guess = h && h->next > 0 ? node[h->next - 1].form : NULL;

    WEFT_TRY(read_node(r, w, guess, &node[u]));
    node[u].twin = h ? find_twin(h, node, u) : -1;
    return WEFT_OK;
}

/* --- nodes that repeat others ---------------------------------------------------------------- */

/* Takes n texts of less than 128 bytes with this number; NULL if they are not there. After `end`
 * come at least two bytes. */
static inline const uint8_t *take_row(const uint8_t *at, const uint8_t *end, int field, int n,
                                      weft_slice *to)
{
    for (weft_slice *last = to + n; to < last; to++) {
        ptrdiff_t length = at[1];

        if (at[0] != (field << 3 | WEFT_WIRE_BYTES) || length >= 0x80 || end - at < length + 2)
            return NULL;
        to->at = (const char *)at + 2;
        to->n = (size_t)length;
        at += length + 2;
    }
    return at;
}

/* Reads a node that differs from another one in its texts only, none of them empty; false if it is
 * not such a node. There is room for its texts. */
static inline bool read_like(const uint8_t *at, const uint8_t *end, const weft_onnx_node *like,
                             weft_slice *text, weft_onnx_node *out)
{
    const weft_slice *rest = &like->form->bytes;
    const uint8_t *first = at, *last;

    if (rest->n < 2 || (size_t)(end - at) < rest->n)
        return false;
    last = end - rest->n;
    out->input = text;
    out->n_inputs = like->n_inputs;
    at = take_row(at, last, ONNX_NODE_INPUT, like->n_inputs, text);
    text += like->n_inputs;
    out->output = text;
    out->n_outputs = like->n_outputs;
    at = at ? take_row(at, last, ONNX_NODE_OUTPUT, like->n_outputs, text) : NULL;
    out->name = (weft_slice){NULL, 0};
    at = at ? take_row(at, last, ONNX_NODE_NAME, like->name.n > 0, &out->name) : NULL;
    out->form = like->form;
    return at == last && weft_same_bytes((const char *)at, rest->at, rest->n) &&
           memchr(first, '\0', (size_t)(last - first)) == NULL;
}

/* Finds a node of less than 2^14 bytes, if one comes next: most of a graph are. */
static inline bool next_node(const weft_wire *w, const uint8_t **from, const uint8_t **to)
{
    const uint8_t *at = w->at, *end = w->end;
    ptrdiff_t length;

    if (end - at < 3 || at[0] != (ONNX_GRAPH_NODE << 3 | WEFT_WIRE_BYTES) ||
        (at[1] >= 0x80 && at[2] >= 0x80))
        return false;
    length = at[1] < 0x80 ? at[1] : (at[1] & 0x7f) | at[2] << 7;
    at += at[1] < 0x80 ? 2 : 3;
    *from = at;
    if (length > end - at)
        return false;
    *to = at + length;
    return true;
}

/* Notes the forms of the nodes before node[n], as far as they are not forgotten again at once. */
static void note_forms(weft_history *h, const weft_onnx_node *node, int from, int n)
{
    for (int u = n - from > WEFT_HISTORY_SLOTS ? n - WEFT_HISTORY_SLOTS : from; u < n; u++)
        *note_form(h, node[u].form) = u + 1;
}

int weft_onnx_nodes_repeat(weft_reader *r, weft_wire *w, weft_history *h, weft_onnx_node *node,
                           int n, int n_room)
{
    const uint8_t *at, *end;
    int from = n, twin = h->next - 1;

    while (n < n_room && twin >= 0 && next_node(w, &at, &end)) {
        const weft_onnx_node *like = &node[twin];
        int n_texts = like->n_inputs + like->n_outputs;

        need_texts(r);
        if (n_texts >= r->n_texts || !read_like(at, end, like, r->text, &node[n]))
            break;
        node[n++].twin = twin++;
        r->text += n_texts;
        r->n_texts -= n_texts;
        w->at = end;
    }
    h->next = twin + 1;
    note_forms(h, node, from, n);
    return n;
}
