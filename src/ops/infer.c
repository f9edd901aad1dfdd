/* SPDX-License-Identifier: MIT */
/* infer.c: what the shape rules share: errors that name the node, axes, broadcasting, lists of
 * integers that are attributes in some opsets and operands in others.
 *
 * Guarantee: what is not known stays unknown, and no size is computed beyond 2^62. */
#include "shapes.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { CALL_MESSAGE_BYTES = 768 };

weft_status weft_call_fail(const weft_call *c, const char *format, ...)
{
    const char *name = c->node->name;
    char text[CALL_MESSAGE_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (name == NULL || *name == '\0')
        return weft_fail(WEFT_E_INPUT, "node without name (%.100s): %s", c->node->op, text);
    return weft_fail(WEFT_E_INPUT, "node '%.100s' (%.100s): %s", name, c->node->op, text);
}

/* --- kinds of attributes --------------------------------------------------------------------- */

/* Attributes that have one kind in all operators, as far as rules read them. */
static const struct attr_row {
    weft_attr_kind kind;
    const char *names; /* with a blank before and behind each */
} attr_rows[] = {
    {WEFT_ATTR_INT,   " allowzero axis batch_dims blocksize ceil_mode dtype end exclusive fmod"
                    " group hidden_size inverse keepdims largest layout noop_with_empty_axes"
                    " num_heads num_scan_inputs onesided output_datatype output_height"
                    " output_width reverse sample_size sampling_ratio size sorted spatial start"
                    " stash_type to transA transB upper value_int "},
    {WEFT_ATTR_REAL,  " alpha beta bias gamma lambd scale value_float "               },
    {WEFT_ATTR_TEXT,  " auto_pad coordinate_transformation_mode direction equation reduction"
                     " value_string "                             },
    {WEFT_ATTR_INTS,  " axes dilations ends kernel_shape output_padding output_shape paddings pads"
                     " perm pooled_shape scan_input_axes scan_output_axes shape split starts"
                     " strides value_ints "                       },
    {WEFT_ATTR_REALS, " scales value_floats "                                         },
};

/* The row that has the name, or NULL; names with blanks are in none. */
static const struct attr_row *find_row(const char *name)
{
    size_t n = strchr(name, ' ') == NULL ? strlen(name) : 0;

    for (size_t i = 0; n > 0 && i < sizeof attr_rows / sizeof *attr_rows; i++)
        for (const char *at = strstr(attr_rows[i].names, name); at; at = strstr(at + n, name))
            if (at[-1] == ' ' && at[n] == ' ')
                return &attr_rows[i];
    return NULL;
}

static const char *kind_text(weft_attr_kind kind)
{
    switch (kind) {
    case WEFT_ATTR_INT:
        return "an integer";
    case WEFT_ATTR_REAL:
        return "a number";
    case WEFT_ATTR_TEXT:
        return "a text";
    case WEFT_ATTR_INTS:
        return "a list of integers";
    case WEFT_ATTR_REALS:
        return "a list of numbers";
    case WEFT_ATTR_TEXTS:
        return "a list of texts";
    default:
        return "a tensor";
    }
}

static weft_status check_attributes(const weft_call *c)
{
    for (int i = 0; i < c->node->n_attrs; i++) {
        const weft_attr *a = &c->node->attr[i];
        const struct attr_row *row = find_row(a->name);

        /* Files older than IR version 3 do not say of what kind an empty list is. */
        if (row == NULL || a->kind == row->kind || a->kind == WEFT_ATTR_OTHER)
            continue;
        if (strcmp(a->name, "to") == 0 && c->node->opset < 6) /* was the name of a type */
            continue;
        return weft_call_fail(c, "attribute '%s' is %s, expected %s", a->name, kind_text(a->kind),
                              kind_text(row->kind));
    }
    return WEFT_OK;
}

void weft_set_result(weft_call *c, int i, weft_dtype type, const weft_shape *shape)
{
    if (i >= c->n_results)
        return;
    c->result[i].type = type;
    c->result[i].shape = *shape;
}

weft_status weft_set_sized(weft_call *c, int i, weft_dtype type, const weft_shape *shape)
{
    char text[192];

    if (weft_shape_is_static(shape) && weft_shape_elements(shape) < 0)
        return weft_call_fail(c, "output %d would have shape %s, which is too large", i,
                              weft_shape_print(shape, text));
    weft_set_result(c, i, type, shape);
    return WEFT_OK;
}

weft_shape weft_shape_any(int rank)
{
    weft_shape s = {.rank = rank};

    for (int i = 0; i < WEFT_MAX_RANK; i++)
        s.dim[i] = i < rank ? WEFT_UNKNOWN_DIM : 0;
    return s;
}

weft_status weft_axis_of(const weft_call *c, int64_t axis, int rank, int *out)
{
    if (axis < -rank || axis >= rank)
        return weft_call_fail(c, "axis is %lld, expected %d to %d for %d dimension%s",
                              (long long)axis, -rank, rank - 1, rank, rank == 1 ? "" : "s");
    *out = (int)(axis < 0 ? axis + rank : axis);
    return WEFT_OK;
}

weft_status weft_need_rank(const weft_call *c, int i, int lowest, int highest)
{
    const weft_value *v = weft_arg(c, i);
    char text[192], range[48];

    if (v == NULL)
        return weft_call_fail(c, "input %d is missing", i);
    if (v->shape.rank < 0 || (v->shape.rank >= lowest && v->shape.rank <= highest))
        return WEFT_OK;
    if (lowest == highest)
        snprintf(range, sizeof range, "%d", lowest);
    else if (highest >= WEFT_MAX_RANK)
        snprintf(range, sizeof range, "at least %d", lowest);
    else
        snprintf(range, sizeof range, "%d to %d", lowest, highest);
    return weft_call_fail(c, "input %d has shape %s with %d dimensions, expected %s", i,
                          weft_shape_print(&v->shape, text), v->shape.rank, range);
}

weft_status weft_need_type(const weft_call *c, int i, int k)
{
    const weft_value *a = weft_arg(c, i), *b = weft_arg(c, k);

    if (a == NULL || b == NULL || a->type == b->type || a->type == WEFT_TYPE_UNKNOWN ||
        b->type == WEFT_TYPE_UNKNOWN)
        return WEFT_OK;
    return weft_call_fail(c, "input %d is %s, expected %s like input %d", i,
                          weft_dtype_name(a->type), weft_dtype_name(b->type), k);
}

/* --- all that the table says ----------------------------------------------------------------- */

static weft_status check_arity(const weft_call *c)
{
    const weft_op *op = c->op;

    if (op->max_args >= 0 && c->n_args > op->max_args)
        return weft_call_fail(c, "has %d inputs, expected at most %d", c->n_args, op->max_args);
    for (int i = 0; i < op->min_args; i++)
        if (weft_arg(c, i) == NULL)
            return weft_call_fail(c, "input %d is missing, expected at least %d inputs", i,
                                  op->min_args);
    if (op->max_results >= 0 && c->n_results > op->max_results)
        return weft_call_fail(c, "has %d outputs, expected at most %d", c->n_results,
                              op->max_results);
    return WEFT_OK;
}

/* Holds operands against the numbers of dimensions in the table: those with one must be there. */
static weft_status check_ranks(const weft_call *c)
{
    const char *at = c->op->ranks;

    for (int i = 0; *at != '\0'; i++) {
        int low = *at - '0', high = at[1] == '+' ? WEFT_MAX_RANK : at[1] == '-' ? at[2] - '0' : low;

        if (*at != '?')
            WEFT_TRY(weft_need_rank(c, i, low, high));
        at += strcspn(at, " ");
        at += *at == ' ';
    }
    return WEFT_OK;
}

weft_status weft_infer(weft_call *c)
{
    WEFT_TRY(check_arity(c));
    WEFT_TRY(check_attributes(c));
    WEFT_TRY(check_ranks(c));
    return c->op->infer(c);
}

/* --- what rules share ------------------------------------------------------------------------ */

/* Dimension of two that are broadcast together; -2 if they do not agree. */
static int64_t broadcast_dim(int64_t a, int64_t b)
{
    if (a == b || b == 1)
        return a;
    if (a == 1)
        return b;
    if (a == WEFT_UNKNOWN_DIM) /* 1 or b: the result is b either way */
        return b;
    return b == WEFT_UNKNOWN_DIM ? a : -2;
}

weft_status weft_broadcast(const weft_call *c, weft_shape *a, const weft_shape *b)
{
    char left[192], right[192];
    weft_shape sum = weft_shape_any(a->rank > b->rank ? a->rank : b->rank);

    if (a->rank < 0 || b->rank < 0) {
        *a = weft_shape_any(-1);
        return WEFT_OK;
    }
    for (int i = 0; i < sum.rank; i++) {
        int at = i - (sum.rank - a->rank), bt = i - (sum.rank - b->rank);

        sum.dim[i] = broadcast_dim(at < 0 ? 1 : a->dim[at], bt < 0 ? 1 : b->dim[bt]);
        if (sum.dim[i] == -2)
            return weft_call_fail(c, "shapes %s and %s do not broadcast: %lld against %lld",
                                  weft_shape_print(a, left), weft_shape_print(b, right),
                                  (long long)a->dim[at], (long long)b->dim[bt]);
    }
    if (weft_shape_is_static(&sum) && weft_shape_elements(&sum) < 0)
        return weft_call_fail(c, "shapes %s and %s broadcast to a shape that is too large",
                              weft_shape_print(a, left), weft_shape_print(b, right));
    *a = sum;
    return WEFT_OK;
}

bool weft_is_empty(const weft_value *v)
{
    if (v == NULL || (v->data != NULL && v->data->n == 0))
        return true;
    return weft_shape_is_static(&v->shape) && weft_shape_elements(&v->shape) == 0;
}

/* Length of a list that is known by its shape alone; -1 if not. */
static int list_length(const weft_shape *s)
{
    if (s->rank == 0)
        return 1;
    if (s->rank != 1 || s->dim[0] < 0)
        return -1;
    return s->dim[0] < INT_MAX ? (int)s->dim[0] : INT_MAX;
}

const int64_t *weft_list_of(const weft_call *c, const char *name, int slot, int *count, bool *known)
{
    static const int64_t nothing[1] = {0}; /* an empty list is not an absent one */
    const weft_attr *attr = name == NULL ? NULL : weft_node_attr(c->node, name);
    const weft_value *v = slot < 0 ? NULL : weft_arg(c, slot);

    *known = true;
    *count = 0;
    if (attr != NULL && attr->kind == WEFT_ATTR_INT) {
        *count = 1;
        return &attr->i;
    }
    if (attr != NULL && attr->kind == WEFT_ATTR_INTS) {
        *count = attr->n;
        return attr->n == 0 ? nothing : attr->ints;
    }
    if (v == NULL)
        return NULL;
    if (weft_is_empty(v))
        return nothing;
    if (v->data != NULL && v->data->ints != NULL) {
        *count = v->data->n;
        return v->data->ints;
    }
    *known = false;
    *count = list_length(&v->shape);
    return NULL;
}

weft_status weft_axes_of(const weft_call *c, int slot, int rank, unsigned *mask, bool *present,
                         bool *known)
{
    int n;
    const int64_t *axes = weft_list_of(c, "axes", slot, &n, known);

    *mask = 0;
    *present = axes != NULL || !*known;
    if (axes == NULL)
        return WEFT_OK;
    for (int i = 0; i < n; i++)
        if (axes[i] == WEFT_UNKNOWN_INT)
            *known = false;
    if (n > 0 && rank < 0)
        *known = false;
    for (int i = 0; i < n && *known; i++) {
        int axis = 0;

        WEFT_TRY(weft_axis_of(c, axes[i], rank, &axis));
        *mask |= 1u << axis;
    }
    return WEFT_OK;
}

weft_status weft_dims_of(const weft_call *c, const char *name, int slot, weft_shape *out)
{
    int n;
    bool known;
    const int64_t *dims = weft_list_of(c, name, slot, &n, &known);

    if (dims == NULL && known)
        return weft_call_fail(c, "the shape is missing");
    if (n > WEFT_MAX_RANK)
        return weft_call_fail(c, "the shape has %d dimensions, at most %d are supported", n,
                              WEFT_MAX_RANK);
    *out = weft_shape_any(n);
    for (int i = 0; dims != NULL && i < n; i++) {
        if (dims[i] == WEFT_UNKNOWN_INT)
            continue;
        if (dims[i] < 0)
            return weft_call_fail(c, "dimension %d of the shape is %lld, must not be negative", i,
                                  (long long)dims[i]);
        out->dim[i] = dims[i];
    }
    return WEFT_OK;
}

weft_status weft_scalar_of(const weft_call *c, const char *name, int slot, const char *what,
                           int64_t *out)
{
    int n;
    bool known;
    const int64_t *list = weft_list_of(c, name, slot, &n, &known);

    *out = WEFT_UNKNOWN_INT;
    if (list == NULL && known)
        return weft_call_fail(c, "%s is missing", what);
    if (n >= 0 && n != 1)
        return weft_call_fail(c, "%s has %d elements, expected 1", what, n);
    if (list != NULL)
        *out = list[0];
    return WEFT_OK;
}

weft_status weft_type_of(const weft_call *c, const char *name, weft_dtype fallback, weft_dtype *out)
{
    int64_t type = weft_node_int(c->node, name, (int64_t)fallback);

    if (type < 0 || type >= WEFT_N_DTYPES ||
        (type == WEFT_TYPE_UNKNOWN && fallback != WEFT_TYPE_UNKNOWN))
        return weft_call_fail(c, "attribute '%s' is %lld, expected the number of an element type",
                              name, (long long)type);
    *out = (weft_dtype)type;
    return WEFT_OK;
}

weft_status weft_dim_times(const weft_call *c, int64_t *product, int64_t factor)
{
    if (__builtin_mul_overflow(*product, factor, product) || *product > WEFT_LARGEST_DIM)
        return weft_call_fail(c, "the number of elements is too large");
    return WEFT_OK;
}

weft_status weft_product_of(const weft_call *c, const weft_shape *s, int from, int to, int64_t *out)
{
    bool known = true;

    *out = 1;
    for (int i = from; i < to; i++) {
        if (s->dim[i] < 0)
            known = false;
        else
            WEFT_TRY(weft_dim_times(c, out, s->dim[i]));
    }
    if (!known && *out != 0)
        *out = WEFT_UNKNOWN_DIM;
    return WEFT_OK;
}

weft_status weft_shape_append(const weft_call *c, weft_shape *out, const weft_shape *s, int from,
                              int to)
{
    if (to - from > WEFT_MAX_RANK - out->rank)
        return weft_call_fail(c, "the result has %d dimensions, at most %d are supported",
                              out->rank + to - from, WEFT_MAX_RANK);
    for (int i = from; i < to; i++)
        out->dim[out->rank++] = s->dim[i];
    return WEFT_OK;
}

weft_list weft_list_read(const weft_call *c, const char *name, int slot)
{
    weft_list l;

    l.at = weft_list_of(c, name, slot, &l.n, &l.known);
    l.present = l.at != NULL || !l.known;
    return l;
}

int64_t weft_list_get(const weft_list *l, int i, int64_t fallback)
{
    if (!l->present)
        return fallback;
    return l->at == NULL ? WEFT_UNKNOWN_INT : l->at[i];
}

bool weft_attr_is(const weft_call *c, const char *name, const char *value)
{
    return strcmp(weft_node_text(c->node, name, ""), value) == 0;
}

double weft_element(const weft_value *v, int i)
{
    if (v == NULL || v->data == NULL || i < 0 || i >= v->data->n)
        return NAN;
    if (v->data->reals != NULL)
        return v->data->reals[i];
    if (v->data->ints == NULL || v->data->ints[i] == WEFT_UNKNOWN_INT)
        return NAN;
    return (double)v->data->ints[i];
}

weft_nest *weft_nest_start(weft_nests *out, int64_t point_flops)
{
    out->n = 1;
    memset(&out->nest[0], 0, sizeof out->nest[0]);
    out->nest[0].point_flops = point_flops;
    return &out->nest[0];
}

void weft_nest_dims(weft_nest *n, const weft_shape *s, weft_axis_kind kind)
{
    static const char *const name[WEFT_MAX_RANK] = {"d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7"};

    for (int i = 0; i < s->rank; i++)
        weft_nest_axis(n, name[i], kind, s->dim[i]);
}

weft_access *weft_nest_whole(weft_nest *n, bool is_result, int slot, int rank)
{
    weft_access *access = weft_nest_access(n, is_result, slot, rank);

    for (int i = 0; i < rank; i++)
        weft_index_axis(&access->index[i], i);
    return access;
}

weft_nest *weft_nest_over_result(const weft_call *c, weft_nests *out)
{
    weft_nest *n = weft_nest_start(out, 0);

    weft_nest_dims(n, &c->result[0].shape, WEFT_AXIS_PARALLEL);
    weft_nest_whole(n, true, 0, c->result[0].shape.rank);
    return n;
}
