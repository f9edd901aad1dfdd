/* SPDX-License-Identifier: MIT */
/* op_einsum.c: sums of products over labelled dimensions.
 *
 * 1. The equation is read into one list of labels a term; "..." stands for the dimensions of an
 *    operand that have no letter, aligned at their right ends.
 * 2. Each of those becomes a label of its own, and every label gets one size (1 is broadcast).
 * 3. Without "->" the result has the dimensions of "..." and then, in the order of the alphabet
 *    (capitals first), the letters that occur once.
 *
 * The nest has one axis a label; labels the result does not have are summed over. All points count
 * as multiply-accumulates if there are two operands or more.
 *
 * Guarantee: numpy's einsum for up to eight operands, except that "..." may be left out of the
 * result, which sums over it. ONNX Einsum-12. */
#include "nn.h"

#include <string.h>

enum {
    N_LETTERS = 52,
    N_LABELS = N_LETTERS + WEFT_MAX_RANK, /* letters, then the dimensions of "..." */
    MAX_OPERANDS = 8,
};

typedef struct term {
    int n;                    /* letters; after expand: dimensions */
    int label[WEFT_MAX_RANK]; /* in order of the dimensions */
    int dots;                 /* letters in front of "...", -1 if there is none */
} term;

typedef struct equation {
    const char *text;
    int n_terms;
    term operand[MAX_OPERANDS], result;
    bool has_arrow;
    bool is_loose;          /* "..." stands for dimensions that are not known */
    int n_dots;             /* dimensions of "...", the most of any operand */
    int count[N_LABELS];    /* occurrences in operands */
    int64_t size[N_LABELS]; /* 1 until it is known to be larger */
} equation;

/* --- reading --------------------------------------------------------------------------------- */

/* 'A' .. 'Z', 'a' .. 'z' -> 0 .. 51; -1 for other characters. */
static int letter(char x)
{
    if (x >= 'A' && x <= 'Z')
        return x - 'A';
    return x >= 'a' && x <= 'z' ? x - 'a' + N_LETTERS / 2 : -1;
}

static const char *skip_spaces(const char *p)
{
    while (*p == ' ')
        p++;
    return p;
}

static weft_status fail_equation(const weft_call *c, const equation *e, const char *why)
{
    return weft_call_fail(c, "equation '%.200s' %s", e->text, why);
}

static weft_status read_term(const weft_call *c, const equation *e, const char **at, term *t)
{
    const char *p = skip_spaces(*at);

    t->n = 0;
    t->dots = -1;
    for (;;) {
        if (strncmp(p, "...", 3) == 0 && t->dots < 0) {
            t->dots = t->n;
            p += 3;
        } else if (letter(*p) >= 0) {
            if (t->n == WEFT_MAX_RANK)
                return fail_equation(c, e, "has a term with more than 8 letters");
            t->label[t->n++] = letter(*p++);
        } else {
            *at = p;
            return WEFT_OK;
        }
        p = skip_spaces(p);
    }
}

static weft_status read_equation(const weft_call *c, equation *e)
{
    const char *p = weft_node_text(c->node, "equation", NULL);

    *e = (equation){.text = p};
    if (p == NULL)
        return weft_call_fail(c, "attribute equation is missing");
    if (c->n_args > MAX_OPERANDS)
        return weft_call_fail(c, "has %d inputs, expected %d at most", c->n_args, MAX_OPERANDS);
    do {
        if (e->n_terms == c->n_args)
            return fail_equation(c, e, "has more terms than there are inputs");
        WEFT_TRY(read_term(c, e, &p, &e->operand[e->n_terms++]));
    } while (*p == ',' && p++);
    e->has_arrow = strncmp(p, "->", 2) == 0;
    if (e->has_arrow) {
        p += 2;
        WEFT_TRY(read_term(c, e, &p, &e->result));
    }
    if (*p != '\0')
        return fail_equation(c, e, "has something else than letters, '...', ',' and one '->'");
    if (e->n_terms != c->n_args)
        return fail_equation(c, e, "has fewer terms than there are inputs");
    return WEFT_OK;
}

/* --- sizes ----------------------------------------------------------------------------------- */

/* Puts labels of n_own of the e->n_dots dimensions of "..." in its place. */
static void expand(const equation *e, term *t, int n_own)
{
    if (t->dots < 0)
        return;
    memmove(&t->label[t->dots + n_own], &t->label[t->dots],
            (size_t)(t->n - t->dots) * sizeof t->label[0]);
    for (int i = 0; i < n_own; i++)
        t->label[t->dots + i] = N_LETTERS + e->n_dots - n_own + i;
    t->n += n_own;
}

/* Dimensions that "..." of an operand stands for. */
static weft_status measure_dots(const weft_call *c, equation *e, int i, int *n_own)
{
    const term *t = &e->operand[i];
    int rank;
    char text[192];

    WEFT_TRY(weft_need_rank(c, i, 0, WEFT_MAX_RANK));
    rank = weft_arg(c, i)->shape.rank;
    *n_own = 0;
    if (rank < 0) {
        e->is_loose = e->is_loose || t->dots >= 0;
        return WEFT_OK;
    }
    if (rank < t->n || (rank > t->n && t->dots < 0))
        return weft_call_fail(c, "input %d is %s but the equation '%.200s' has %d letters for it",
                              i, weft_arg_print(c, i, text), e->text, t->n);
    *n_own = rank - t->n;
    if (*n_own > e->n_dots)
        e->n_dots = *n_own;
    return WEFT_OK;
}

static weft_status fail_size(const weft_call *c, const equation *e, int i, int d, int64_t expected)
{
    weft_shape s = weft_arg_shape(c, i, e->operand[i].n);
    char text[192];

    return weft_call_fail(
        c, "input %d is %s: its dimension %d is %lld, expected %lld by the equation '%.200s'", i,
        weft_shape_print(&s, text), d, (long long)s.dim[d], (long long)expected, e->text);
}

/* A label that an operand repeats takes its diagonal: nothing is broadcast there. */
static weft_status check_diagonal(const weft_call *c, const equation *e, int i, int d)
{
    const term *t = &e->operand[i];
    weft_shape s = weft_arg_shape(c, i, t->n);

    for (int k = 0; k < d; k++)
        if (t->label[k] == t->label[d] && s.dim[k] != s.dim[d] && s.dim[k] != WEFT_UNKNOWN_DIM &&
            s.dim[d] != WEFT_UNKNOWN_DIM)
            return fail_size(c, e, i, d, s.dim[k]);
    return WEFT_OK;
}

/* One size for two dimensions with the same label; 1 is broadcast. */
static weft_status merge(const weft_call *c, equation *e, int i, int d)
{
    int64_t size = weft_arg_shape(c, i, e->operand[i].n).dim[d];
    int64_t *known = &e->size[e->operand[i].label[d]];

    if (size == *known || size == 1)
        return WEFT_OK;
    if (*known == 1 || *known == WEFT_UNKNOWN_DIM)
        *known = size;
    else if (size != WEFT_UNKNOWN_DIM)
        return fail_size(c, e, i, d, *known);
    return WEFT_OK;
}

static weft_status measure(const weft_call *c, equation *e)
{
    int n_own[MAX_OPERANDS];

    for (int i = 0; i < e->n_terms; i++)
        WEFT_TRY(measure_dots(c, e, i, &n_own[i]));
    for (int l = 0; l < N_LABELS; l++)
        e->size[l] = 1;
    for (int i = 0; i < e->n_terms; i++) {
        expand(e, &e->operand[i], n_own[i]);
        for (int d = 0; d < e->operand[i].n; d++) {
            e->count[e->operand[i].label[d]]++;
            WEFT_TRY(check_diagonal(c, e, i, d));
            WEFT_TRY(merge(c, e, i, d));
        }
    }
    return WEFT_OK;
}

/* The result of an equation without arrow. */
static weft_status imply_result(const weft_call *c, equation *e)
{
    term *t = &e->result;

    t->n = 0;
    t->dots = -1;
    for (int i = 0; i < e->n_terms; i++)
        if (e->operand[i].dots >= 0)
            t->dots = 0;
    for (int l = 0; l < N_LETTERS; l++)
        if (e->count[l] == 1) {
            if (t->n == WEFT_MAX_RANK)
                return fail_equation(c, e, "gives a result of more than 8 dimensions");
            t->label[t->n++] = l;
        }
    return WEFT_OK;
}

static weft_status check_result(const weft_call *c, const equation *e)
{
    const term *t = &e->result;

    for (int d = 0; d < t->n; d++) {
        if (e->count[t->label[d]] == 0)
            return fail_equation(c, e, "has a letter in the result that no input has");
        for (int i = 0; i < d; i++)
            if (t->label[i] == t->label[d])
                return fail_equation(c, e, "repeats a letter in the result");
    }
    return WEFT_OK;
}

static weft_status read_einsum(const weft_call *c, equation *e)
{
    WEFT_TRY(read_equation(c, e));
    WEFT_TRY(measure(c, e));
    if (!e->has_arrow)
        WEFT_TRY(imply_result(c, e));
    WEFT_TRY(check_result(c, e));
    if (e->result.dots >= 0 && e->result.n + e->n_dots > WEFT_MAX_RANK)
        return fail_equation(c, e, "gives a result of more than 8 dimensions");
    expand(e, &e->result, e->n_dots);
    return WEFT_OK;
}

weft_status weft_infer_einsum(weft_call *c)
{
    equation e;
    weft_shape result;

    WEFT_TRY(read_einsum(c, &e));
    result = weft_shape_any(e.is_loose && e.result.dots >= 0 ? -1 : e.result.n);
    for (int d = 0; d < result.rank; d++)
        result.dim[d] = e.size[e.result.label[d]];
    return weft_set_sized(c, 0, weft_arg_type(c, 0), &result);
}

/* --- nest ------------------------------------------------------------------------------------ */

static const char *label_name(int label)
{
    static const char letters[N_LETTERS][2] = {
        "A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", "O", "P", "Q", "R",
        "S", "T", "U", "V", "W", "X", "Y", "Z", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j",
        "k", "l", "m", "n", "o", "p", "q", "r", "s", "t", "u", "v", "w", "x", "y", "z"};
    static const char *const dots[] = {"e0", "e1", "e2", "e3", "e4", "e5", "e6", "e7"};

    return label < N_LETTERS ? letters[label] : dots[label - N_LETTERS];
}

/* Axes of the result's labels first, then of the others. Labels that find no room, all of them
 * summed over since a result has eight dimensions at most, share the last axis. */
static void add_axes(weft_nest *n, const equation *e, int axis[N_LABELS])
{
    int64_t rest = 1;
    int n_left = 0;

    for (int l = 0; l < N_LABELS; l++) {
        axis[l] = -1;
        n_left += e->count[l] > 0;
    }
    for (int d = 0; d < e->result.n; d++, n_left--) {
        int l = e->result.label[d];

        axis[l] = weft_nest_axis(n, label_name(l), WEFT_AXIS_PARALLEL, e->size[l]);
    }
    for (int l = 0; l < N_LABELS; l++) {
        if (e->count[l] == 0 || axis[l] >= 0)
            continue;
        if (n->n_axes + 1 < WEFT_MAX_AXES || n_left == 1)
            axis[l] = weft_nest_axis(n, label_name(l), WEFT_AXIS_REDUCE, e->size[l]);
        else if (__builtin_mul_overflow(rest, e->size[l], &rest))
            rest = INT64_MAX;
        n_left -= axis[l] >= 0;
    }
    if (n_left > 0)
        weft_nest_axis(n, "rest", WEFT_AXIS_REDUCE, rest);
}

static void add_access(weft_nest *n, weft_access *to, const term *t, const weft_shape *shape,
                       const int axis[N_LABELS])
{
    for (int d = 0; d < t->n; d++) {
        int x = axis[t->label[d]];

        if (x < 0)
            to->index[d].is_whole = true;
        else if (shape->dim[d] != 1 || n->axis[x].extent == 1)
            weft_index_axis(&to->index[d], x);
    }
}

void weft_nest_einsum(const weft_call *c, weft_nests *out)
{
    equation e;
    int axis[N_LABELS], n_read;
    weft_nest *n;

    if (read_einsum(c, &e) != WEFT_OK)
        return;
    n = weft_nest_new(out);
    n->is_mac = e.n_terms > 1;
    n->point_flops = n->is_mac ? 0 : 1;
    add_axes(n, &e, axis);
    n_read = e.n_terms < WEFT_MAX_ACCESSES ? e.n_terms : WEFT_MAX_ACCESSES - 1;
    for (int i = 0; i < n_read; i++)
        add_access(n, weft_nest_access(n, false, i, e.operand[i].n), &e.operand[i],
                   &c->arg[i]->shape, axis);
    add_access(n, weft_nest_access(n, true, 0, e.result.n), &e.result, &c->result[0].shape, axis);
}
