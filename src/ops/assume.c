/* SPDX-License-Identifier: MIT */
/* assume.c: sizes that depend on the data (how many elements are not zero, how many boxes are left)
 * as the user assumes them, and the error without such a size. */
#include "ops.h"

#include <string.h>

/* Is the assumption about one dimension of this result: "NAME.1"? *dim is which. */
static bool names_dim(const char *name, const char *result, int *dim)
{
    size_t n = result == NULL ? 0 : strlen(result);

    if (n == 0 || strncmp(name, result, n) != 0 || name[n] != '.')
        return false;
    *dim = name[n + 1] - '0';
    return *dim >= 0 && *dim < WEFT_MAX_RANK && name[n + 2] == '\0';
}

bool weft_assumes(const weft_assumption *list, int n, const char *node, const char *const *result,
                  int n_results)
{
    int dim;

    for (int i = 0; i < n; i++) {
        if (weft_pattern_matches(list[i].name, node))
            return true;
        for (int k = 0; k < n_results; k++)
            if (names_dim(list[i].name, result[k], &dim))
                return true;
    }
    return false;
}

static void give(weft_assumption *a, int64_t *dim)
{
    if (*dim >= 0)
        return;
    *dim = a->size;
    a->n_given++;
}

static void give_dim(weft_assumption *a, weft_shape *s, int dim)
{
    if (s->rank >= 0 && dim >= s->rank)
        return;
    a->n_named++;
    if (s->rank >= 0)
        give(a, &s->dim[dim]);
}

static void give_dims(weft_assumption *list, int n, const char *const *result, weft_call *c)
{
    int dim;

    for (int i = 0; i < n; i++)
        for (int k = 0; k < c->n_results; k++)
            if (names_dim(list[i].name, result[k], &dim))
                give_dim(&list[i], &c->result[k].shape, dim);
}

/* By name, or by pattern. */
static void give_nodes(weft_assumption *list, int n, const char *node, bool is_pattern,
                       weft_call *c)
{
    for (int i = 0; i < n; i++) {
        bool has_star = strchr(list[i].name, '*') != NULL;

        if (has_star != is_pattern || !weft_pattern_matches(list[i].name, node))
            continue;
        list[i].n_named++;
        for (int k = 0; k < c->n_results; k++)
            for (int d = 0; d < c->result[k].shape.rank; d++)
                give(&list[i], &c->result[k].shape.dim[d]);
    }
}

/* What is said of one dimension goes before what is said of a node, that before patterns. */
void weft_assume(weft_assumption *list, int n, const char *node, const char *const *result,
                 weft_call *c)
{
    give_dims(list, n, result, c);
    give_nodes(list, n, node, false, c);
    give_nodes(list, n, node, true, c);
}

/* --- without an assumption ------------------------------------------------------------------- */

static int count_open(const weft_shape *s)
{
    int n = 0;

    for (int d = 0; d < s->rank; d++)
        n += s->dim[d] < 0;
    return n;
}

static int first_open(const weft_shape *s)
{
    int d = 0;

    while (d < s->rank && s->dim[d] >= 0)
        d++;
    return d;
}

/* Is one size enough for the node, and does its name, which may be made up, find it? */
static bool is_one_size(const weft_graph *g, int u)
{
    for (int i = g->res_at[u]; i < g->res_at[u + 1]; i++)
        if (g->res[i] >= 0 && count_open(g->tensor[g->res[i]].shape) > 1)
            return false;
    return strpbrk(g->node[u].name, "#*,=") == NULL;
}

/* The first result of node u that is not static; -1: none. */
static int open_result(const weft_graph *g, int u)
{
    for (int i = g->res_at[u]; i < g->res_at[u + 1]; i++)
        if (g->res[i] >= 0 && !weft_shape_is_static(g->tensor[g->res[i]].shape))
            return g->res[i];
    return -1;
}

static weft_status fail_open(const weft_graph *g, int u, int t, const char *unknown)
{
    const weft_tensor *x = &g->tensor[t];
    const weft_node *n = &g->node[u];
    int dim = x->shape->rank < 0 ? 0 : first_open(x->shape);
    char shape[192];

    if (x->shape->rank < 0)
        return weft_fail(WEFT_E_INPUT,
                         "node '%s' (%s): output '%s' has a shape that depends on the data, not "
                         "even the number of its dimensions is known: %s is unknown",
                         n->name, n->op, x->name, unknown);
    if (is_one_size(g, u))
        return weft_fail(WEFT_E_INPUT,
                         "node '%s' (%s): dimension %d of output '%s', which is %s, depends on the "
                         "data: %s is unknown; assume a size, for example --dim %s=100",
                         n->name, n->op, dim, x->name, weft_shape_print(x->shape, shape), unknown,
                         n->name);
    return weft_fail(WEFT_E_INPUT,
                     "node '%s' (%s): dimension %d of output '%s', which is %s, depends on the "
                     "data: %s is unknown; assume a size, for example --dim %s.%d=100",
                     n->name, n->op, dim, x->name, weft_shape_print(x->shape, shape), unknown,
                     x->name, dim);
}

weft_status weft_need_static(const weft_graph *g, const char *unknown)
{
    for (int u = 0; u < g->n_nodes; u++) {
        int t = open_result(g, u);

        if (t >= 0)
            return fail_open(g, u, t, unknown);
        if (!weft_node_is_static(g, u)) /* an input, or a constant, without elements */
            return weft_fail(WEFT_E_INPUT,
                             "node '%s' (%s) has a shape that depends on the data: %s is unknown",
                             g->node[u].name, g->node[u].op, unknown);
    }
    return WEFT_OK;
}
