/* SPDX-License-Identifier: MIT */
/* fusion.c: which operators become one kernel.
 *
 * 1. Attention is found first (fusion_attention.c).
 * 2. Nodes in order. A node joins the kernel that made one of its operands if the row of both says
 *    so (table below): that of the largest operand, then that made last. Kernels of rows that the
 *    node reads join as well. A node makes at most as many elements as the kernel has.
 * 3. A view belongs to the kernel that made what it shows.
 * 4. Nodes of two phases, updates and losses are never in one kernel.
 *
 *   kernel            takes
 *   product           element-wise operators (bias, activation, residual sum), and normalisation by
 *                     channel with fixed statistics (BatchNormalization of inference)
 *   rows              element-wise operators, reductions along the last axes, and normalisation
 *                     along them: chains, Gelu and SiLU in parts, residual sum and LayerNormalization
 *                     as one operator or as ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div, Mul, Add
 *   other norms       element-wise operators
 *   all else          nothing
 *
 * No cycle arises when kernels are contracted: v joins kernel K only if K reaches no other kernel
 * that v reads. Each kernel has a level, above those of all kernels it reads, so that the search
 * from such a kernel back to K ends at the level of K. A node of an attention that would close a
 * cycle ends that attention: what it has so far is a kernel, the rest is looked at node by node. */
#include "fusion.h"

#include <string.h>

typedef WEFT_VEC(int) int_list;

typedef enum stage { CLOSED, EPILOGUE, ROWS } stage;
typedef enum sort { OTHER, PRODUCT, ELEMENT, CHANNEL, ALONG_ROWS, OTHER_NORM, N_SORTS } sort;

/* What a kernel is after its first node, and what it takes. */
static const struct row {
    stage first;
    bool is_taken[ROWS + 1]; /* by a kernel of that stage */
} rows[N_SORTS] = {
    [OTHER] = {CLOSED,   {false, false, false}},
      [PRODUCT] = {EPILOGUE, {false, false, false}},
    [ELEMENT] = {ROWS,     {false, true, true}  },
      [CHANNEL] = {ROWS,     {false, true, true}  },
    [ALONG_ROWS] = {ROWS,     {false, false, true} },
      [OTHER_NORM] = {EPILOGUE, {false, false, false}},
};

typedef struct group {
    stage stage;
    weft_phase phase;
    int attention; /* or -1 */
    int level, mark;
    int64_t elements; /* of its largest tensor */
    int_list member;
} group;

typedef struct fuser {
    weft_fusing f;
    group *group; /* [n_nodes] those that were joined to others are empty */
    int n_groups, mark;
    int *of;           /* [n_nodes] group */
    int *of_attention; /* [2 * n_attentions] group of its forward and backward nodes, or -1 */
    int_list stack;
} fuser;

/* --- what nodes are -------------------------------------------------------------------------- */

const weft_op *weft_fuse_op(const weft_graph *g, int u)
{
    const weft_node *n = &g->node[u];

    if (n->has_body)
        return NULL;
    if (n->phase == WEFT_BACKWARD && n->forward >= 0)
        n = &g->node[n->forward];
    return weft_op_find(n->domain, n->op);
}

bool weft_node_is_free_view(const weft_graph *g, int u)
{
    const weft_op *op = weft_fuse_op(g, u);
    int first = g->arg_at[u];

    if (op == NULL || op->fusion != WEFT_FUSE_VIEW || first == g->arg_at[u + 1] ||
        g->arg[first] < 0)
        return false;
    for (int i = first + 1; i < g->arg_at[u + 1]; i++)
        if (g->arg[i] >= 0 && g->tensor[g->arg[i]].producer >= 0)
            return false;
    return true;
}

static bool is_attention(const weft_op *op)
{
    const char *end = strstr(op->name, "Attention");

    return end && strcmp(end, "Attention") == 0;
}

bool weft_node_is_attention(const weft_graph *g, int u)
{
    const weft_op *op = g->node[u].has_body || g->node[u].phase != WEFT_FORWARD
                            ? NULL
                            : weft_op_find(g->node[u].domain, g->node[u].op);

    return op != NULL && is_attention(op);
}

bool weft_fuse_is_product(const weft_graph *g, int u)
{
    const weft_op *op = weft_fuse_op(g, u);

    return op && op->fusion == WEFT_FUSE_TENSOR && op->grad != WEFT_GRAD_RECURRENT &&
           !is_attention(op);
}

static const weft_shape *first_shape(const weft_graph *g, const int *at, const int *list, int u)
{
    int t = at[u] < at[u + 1] ? list[at[u]] : -1;

    return t < 0 ? NULL : g->tensor[t].shape;
}

bool weft_fuse_is_softmax(const weft_graph *g, int u)
{
    const weft_node *n = &g->node[u];
    const weft_shape *s = first_shape(g, g->res_at, g->res, u);
    int64_t axis;

    if (n->phase == WEFT_BACKWARD && n->forward >= 0)
        n = &g->node[n->forward];
    if (s == NULL || s->rank < 1 || *n->domain != '\0' || strcmp(n->op, "Softmax") != 0)
        return false;
    axis = weft_node_int(n, "axis", n->opset < 13 ? 1 : -1);
    return axis == -1 || axis == s->rank - 1;
}

/* Leading dimensions stay, the others are reduced to one element or left out. */
static bool is_along_rows(const weft_shape *from, const weft_shape *to)
{
    enum { LONGEST_ROW = 1 << 16 }; /* elements: what fits on a chip */
    int64_t n = weft_shape_elements(to);
    int d = 0;

    if (n < 1 || weft_shape_elements(from) / n > LONGEST_ROW)
        return false;

    while (d < from->rank && d < to->rank && from->dim[d] == to->dim[d])
        d++;
    for (; d < to->rank; d++)
        if (to->dim[d] != 1)
            return false;
    return true;
}

static bool is_row_reduction(const weft_graph *g, int u)
{
    const weft_shape *from = first_shape(g, g->arg_at, g->arg, u);
    const weft_shape *to = first_shape(g, g->res_at, g->res, u);

    if (weft_fuse_is_softmax(g, u))
        return true;
    return g->node[u].phase == WEFT_FORWARD && from && to &&
           strncmp(g->node[u].op, "Reduce", strlen("Reduce")) == 0 && is_along_rows(from, to);
}

static bool is_row_norm(const weft_graph *g, int u)
{
    static const char *const names[] = {
        "LayerNormalization",           "RMSNormalization", "SkipLayerNormalization",
        "SimplifiedLayerNormalization", "LpNormalization",  "SkipSimplifiedLayerNormalization"};

    for (size_t i = 0; i < sizeof names / sizeof *names && g->node[u].phase == WEFT_FORWARD; i++)
        if (strcmp(g->node[u].op, names[i]) == 0)
            return true;
    return false;
}

static int64_t most_elements(const weft_graph *g, const int *at, const int *list, int u)
{
    int64_t most = 0;

    for (int i = at[u]; i < at[u + 1]; i++)
        if (list[i] >= 0 && g->tensor[list[i]].elements > most)
            most = g->tensor[list[i]].elements;
    return most;
}

/* All results have as many elements as the largest operand or more: nothing is summed up. */
static bool is_element_wise(const weft_graph *g, int u)
{
    int64_t most = most_elements(g, g->arg_at, g->arg, u);

    for (int i = g->res_at[u]; i < g->res_at[u + 1]; i++)
        if (g->res[i] >= 0 && g->tensor[g->res[i]].elements < most)
            return false;
    return true;
}

static bool has_fixed_statistics(const fuser *x, int u)
{
    return strcmp(x->f.g->node[u].op, "BatchNormalization") == 0 && !x->f.is_training &&
           weft_node_int(&x->f.g->node[u], "training_mode", 0) == 0;
}

static sort sort_of(const fuser *x, int u)
{
    const weft_graph *g = x->f.g;
    const weft_op *op = weft_fuse_op(g, u);

    if (op == NULL || g->node[u].phase == WEFT_UPDATE || !weft_node_is_static(g, u))
        return OTHER;
    if (weft_fuse_is_product(g, u))
        return PRODUCT;
    if (op->fusion == WEFT_FUSE_ELEMENT)
        return is_element_wise(g, u) ? ELEMENT : OTHER;
    if (op->fusion == WEFT_FUSE_REDUCE)
        return is_row_reduction(g, u) ? ALONG_ROWS : OTHER;
    if (op->fusion != WEFT_FUSE_NORM)
        return OTHER;
    if (is_row_norm(g, u))
        return ALONG_ROWS;
    return has_fixed_statistics(x, u) ? CHANNEL : OTHER_NORM;
}

/* --- who reads what -------------------------------------------------------------------------- */

static void find_sources(weft_fusing *f)
{
    const weft_graph *g = f->g;

    for (int t = 0; t < g->n_tensors; t++)
        f->source[t] = t;
    for (int u = 0; u < g->n_nodes; u++)
        for (int i = g->res_at[u]; i < g->res_at[u + 1] && weft_node_is_free_view(g, u); i++)
            if (g->res[i] >= 0)
                f->source[g->res[i]] = f->source[g->arg[g->arg_at[u]]];
}

enum { NO_READER = -1, MANY_READERS = -2 };

static void find_reader(const weft_fusing *f, int tensor, weft_phase phase, int *reader)
{
    const weft_graph *g = f->g;

    if (g->tensor[tensor].kind == WEFT_OUTPUT)
        *reader = MANY_READERS;
    for (int i = g->use_at[tensor]; i < g->use_at[tensor + 1] && *reader != MANY_READERS; i++) {
        int v = g->use[i];

        if (weft_node_is_free_view(g, v) && g->arg[g->arg_at[v]] == tensor) {
            for (int k = g->res_at[v]; k < g->res_at[v + 1]; k++)
                if (g->res[k] >= 0 && g->node[v].phase == phase)
                    find_reader(f, g->res[k], phase, reader);
        } else if (g->node[v].phase == phase)
            *reader = *reader == NO_READER || *reader == v ? v : MANY_READERS;
    }
}

int weft_fuse_reader(const weft_fusing *f, int u)
{
    int reader = NO_READER;

    for (int i = f->g->res_at[u]; i < f->g->res_at[u + 1]; i++)
        if (f->g->res[i] >= 0)
            find_reader(f, f->g->res[i], f->g->node[u].phase, &reader);
    return reader < 0 ? -1 : reader;
}

static int group_that_made(const fuser *x, int tensor)
{
    int u = tensor < 0 ? -1 : x->f.g->tensor[tensor].producer;

    return u < 0 ? -1 : x->of[u];
}

/* --- order of kernels ------------------------------------------------------------------------ */

/* Does a path of kernels lead from one to the other? Back from `to`, above the level of `from`. */
static bool reaches(fuser *x, int from, int to)
{
    const weft_graph *g = x->f.g;
    bool is_found = from == to;

    x->mark++;
    x->stack.n = 0;
    WEFT_PUSH(x->f.a, x->stack, to);
    while (x->stack.n > 0 && !is_found) {
        const group *k = &x->group[x->stack.at[--x->stack.n]];

        for (int m = 0; m < k->member.n && !is_found; m++) {
            int v = k->member.at[m];

            for (int i = g->arg_at[v]; i < g->arg_at[v + 1]; i++) {
                int before = group_that_made(x, g->arg[i]);

                is_found = is_found || before == from;
                if (before < 0 || x->group[before].mark == x->mark ||
                    x->group[before].level <= x->group[from].level)
                    continue;
                x->group[before].mark = x->mark;
                WEFT_PUSH(x->f.a, x->stack, before);
            }
        }
    }
    return is_found;
}

/* Raises the levels of all kernels that read this one. */
static void raise_readers(fuser *x, int from)
{
    const weft_graph *g = x->f.g;

    x->stack.n = 0;
    WEFT_PUSH(x->f.a, x->stack, from);
    while (x->stack.n > 0) {
        int k = x->stack.at[--x->stack.n];

        for (int m = 0; m < x->group[k].member.n; m++) {
            int v = x->group[k].member.at[m];

            for (int e = g->out_at[v]; e < g->out_at[v + 1]; e++) {
                int next = x->of[g->out_to[e]];

                if (next < 0 || next == k || x->group[next].level > x->group[k].level)
                    continue;
                x->group[next].level = x->group[k].level + 1;
                WEFT_PUSH(x->f.a, x->stack, next);
            }
        }
    }
}

/* Would v as a member of kernel k wait for what waits for k? */
static bool closes_cycle(fuser *x, int k, int v)
{
    const weft_graph *g = x->f.g;

    for (int i = g->arg_at[v]; i < g->arg_at[v + 1]; i++) {
        int before = group_that_made(x, g->arg[i]);

        if (before >= 0 && before != k && x->group[before].level > x->group[k].level &&
            reaches(x, k, before))
            return true;
    }
    return false;
}

/* --- kernels grow ---------------------------------------------------------------------------- */

static void add_member(fuser *x, int k, int v)
{
    const weft_graph *g = x->f.g;
    int level = x->group[k].level;
    int64_t most = most_elements(g, g->res_at, g->res, v);

    x->of[v] = k;
    WEFT_PUSH(x->f.a, x->group[k].member, v);
    if (x->group[k].stage == ROWS && most_elements(g, g->arg_at, g->arg, v) > most)
        most = most_elements(g, g->arg_at, g->arg, v);
    if (most > x->group[k].elements)
        x->group[k].elements = most;
    for (int i = g->arg_at[v]; i < g->arg_at[v + 1]; i++) {
        int before = group_that_made(x, g->arg[i]);

        if (before >= 0 && before != k && x->group[before].level >= x->group[k].level)
            x->group[k].level = x->group[before].level + 1;
    }
    if (x->group[k].level > level)
        raise_readers(x, k);
}

static int start(fuser *x, int v, stage s)
{
    int k = x->n_groups++;

    x->group[k] = (group){.stage = s, .phase = x->f.g->node[v].phase, .attention = -1};
    add_member(x, k, v);
    return k;
}

/* May v join kernel k through this operand? */
static bool fits(fuser *x, int k, int v, sort s)
{
    const group *to = &x->group[k];

    return to->phase == x->f.g->node[v].phase && rows[s].is_taken[to->stage] &&
           most_elements(x->f.g, x->f.g->res_at, x->f.g->res, v) <= to->elements &&
           !closes_cycle(x, k, v);
}

/* The kernel that v joins, or -1. */
static int best_kernel(fuser *x, int v, sort s)
{
    const weft_graph *g = x->f.g;
    int best = -1;
    int64_t most = 0;

    for (int i = g->arg_at[v]; i < g->arg_at[v + 1]; i++) {
        int k = group_that_made(x, g->arg[i]);
        int64_t bytes = k < 0 ? 0 : g->tensor[g->arg[i]].bytes;

        if (k < 0 || k == best || bytes < most ||
            (best >= 0 && bytes == most && x->group[k].level <= x->group[best].level) ||
            !fits(x, k, v, s))
            continue;
        best = k;
        most = bytes;
    }
    return best;
}

/* Does v read kernel k and others that wait for it? */
static bool others_wait(fuser *x, int k, int other, int v)
{
    const weft_graph *g = x->f.g;

    for (int i = g->arg_at[v]; i < g->arg_at[v + 1]; i++) {
        int before = group_that_made(x, g->arg[i]);

        if (before >= 0 && before != k && before != other && reaches(x, k, before))
            return true;
    }
    return false;
}

static void merge(fuser *x, int k, int other)
{
    int level = x->group[k].level;

    for (int m = 0; m < x->group[other].member.n; m++) {
        x->of[x->group[other].member.at[m]] = k;
        WEFT_PUSH(x->f.a, x->group[k].member, x->group[other].member.at[m]);
    }
    x->group[other].member.n = 0;
    if (x->group[other].level > level)
        x->group[k].level = x->group[other].level;
    if (x->group[other].elements > x->group[k].elements)
        x->group[k].elements = x->group[other].elements;
    raise_readers(x, k);
}

/* Kernels of rows beside k that v reads, of the same size, become part of k. */
static void join_rows(fuser *x, int k, int v)
{
    const weft_graph *g = x->f.g;

    for (int i = g->arg_at[v]; i < g->arg_at[v + 1] && x->group[k].stage == ROWS; i++) {
        int other = group_that_made(x, g->arg[i]);

        if (other < 0 || other == k || x->group[other].stage != ROWS ||
            x->group[other].phase != x->group[k].phase ||
            x->group[other].elements != x->group[k].elements || reaches(x, k, other) ||
            reaches(x, other, k) || others_wait(x, other, k, v))
            continue;
        merge(x, k, other);
    }
}

static void place_node(fuser *x, int v)
{
    sort s = sort_of(x, v);
    int k = best_kernel(x, v, s);

    if (k < 0) {
        (void)start(x, v, rows[s].first);
        return;
    }
    if (s == ELEMENT)
        join_rows(x, k, v);
    add_member(x, k, v);
}

/* --- attention and views --------------------------------------------------------------------- */

/* The rest of an attention that cannot be one kernel is looked at node by node. */
static void give_up(fuser *x, int attention)
{
    for (int u = 0; u < x->f.g->n_nodes; u++)
        if (x->f.attention[u] == attention)
            x->f.attention[u] = -1;
}

static bool place_attention(fuser *x, int v)
{
    int attention = x->f.attention[v];
    int *k = &x->of_attention[2 * attention + (x->f.g->node[v].phase == WEFT_BACKWARD)];

    if (*k < 0) {
        *k = start(x, v, CLOSED);
        return true;
    }
    if (closes_cycle(x, *k, v)) {
        give_up(x, attention);
        return false;
    }
    add_member(x, *k, v);
    return true;
}

static void place_view(fuser *x, int v)
{
    int k = group_that_made(x, x->f.g->arg[x->f.g->arg_at[v]]);

    if (k >= 0 && x->group[k].phase == x->f.g->node[v].phase)
        add_member(x, k, v);
    else
        (void)start(x, v, CLOSED);
}

static void place_all(fuser *x)
{
    for (int v = 0; v < x->f.g->n_nodes; v++) {
        if (weft_node_is_free_view(x->f.g, v))
            place_view(x, v);
        else if (x->f.attention[v] < 0 || !place_attention(x, v))
            place_node(x, v);
    }
}

/* --- marks ----------------------------------------------------------------------------------- */

typedef struct marks {
    const weft_graph *g;
    int *kernel, *attention, *again;
    bool *is_score, *is_launched;
    const int *source;
    unsigned char *storage;
} marks;

/* A node that waits for nothing but memory when it is free. */
static bool has_work(const weft_graph *g, int u)
{
    const weft_op *op = weft_fuse_op(g, u);

    return op == NULL || op->fusion != WEFT_FUSE_VIEW;
}

static void mark_launches(const marks *m, weft_arena *scratch)
{
    bool *is_seen = WEFT_NEW(scratch, bool, m->g->n_nodes + 1);

    for (int u = 0; u < m->g->n_nodes; u++)
        if (has_work(m->g, u) && !is_seen[m->kernel[u]])
            is_seen[m->kernel[u]] = m->is_launched[u] = true;
}

/* What is known of the readers of a result, views of it included. */
typedef struct readers {
    bool is_read, is_asked;  /* by the user */
    bool leaves;             /* a node of another kernel and the same phase */
    bool is_later, is_other; /* another phase; and there another attention, or none */
} readers;

static void look_at_readers(const marks *m, int tensor, int maker, readers *r)
{
    const weft_graph *g = m->g;

    r->is_asked = r->is_asked || g->tensor[tensor].kind == WEFT_OUTPUT;
    for (int i = g->use_at[tensor]; i < g->use_at[tensor + 1]; i++) {
        int v = g->use[i];

        if (weft_node_is_free_view(g, v) && g->arg[g->arg_at[v]] == tensor)
            continue; /* its readers count */
        r->is_read = true;
        if (g->node[v].phase == g->node[maker].phase)
            r->leaves = r->leaves || m->kernel[v] != m->kernel[maker];
        else {
            r->is_later = true;
            r->is_other =
                r->is_other || m->attention[maker] < 0 || m->attention[v] != m->attention[maker];
        }
    }
}

static weft_storage storage_of(const marks *m, int maker, const readers *r)
{
    if (r->is_asked || r->leaves || !r->is_read || r->is_other ||
        weft_node_is_free_view(m->g, maker) || m->g->node[maker].has_body)
        return WEFT_STORED;
    if (!r->is_later)
        return WEFT_INNER;
    return m->is_score[maker] ? WEFT_REMADE : WEFT_STRIDED;
}

static void mark_storage(const marks *m, weft_arena *scratch)
{
    const weft_graph *g = m->g;
    readers *r = WEFT_NEW(scratch, readers, g->n_tensors + 1);

    for (int t = 0; t < g->n_tensors; t++) {
        int maker = g->tensor[m->source[t]].producer;

        if (maker >= 0)
            look_at_readers(m, t, maker, &r[m->source[t]]);
    }
    for (int t = 0; t < g->n_tensors; t++) {
        int maker = g->tensor[m->source[t]].producer;

        m->storage[t] =
            (unsigned char)(maker < 0 ? WEFT_STORED : storage_of(m, maker, &r[m->source[t]]));
    }
}

/* The first product of a backward attention comes with the scores once more; so do the gradients of
 * operators that are attention by themselves. */
static void mark_again(const marks *m, int n_attentions, weft_arena *scratch)
{
    const weft_graph *g = m->g;
    int *scores = WEFT_NEW(scratch, int, n_attentions + 1); /* 1 + the product; 0: done */

    for (int u = 0; u < g->n_nodes; u++) {
        const weft_op *op = weft_fuse_op(g, u);
        int k = m->attention[u];

        m->again[u] = -1;
        if (op == NULL || op->fusion != WEFT_FUSE_TENSOR)
            continue;
        if (g->node[u].phase == WEFT_FORWARD && k >= 0 && m->is_score[u])
            scores[k] = u + 1;
        if (g->node[u].phase != WEFT_BACKWARD)
            continue;
        if (is_attention(op))
            m->again[u] = g->node[u].forward;
        if (k >= 0 && scores[k] > 0) {
            m->again[u] = scores[k] - 1;
            scores[k] = 0;
        }
    }
}

static marks new_marks(const weft_graph *g, weft_arena *a)
{
    return (marks){.g = g,
                   .kernel = WEFT_NEW(a, int, g->n_nodes + 1),
                   .attention = WEFT_NEW(a, int, g->n_nodes + 1),
                   .again = WEFT_NEW(a, int, g->n_nodes + 1),
                   .is_score = WEFT_NEW(a, bool, g->n_nodes + 1),
                   .is_launched = WEFT_NEW(a, bool, g->n_nodes + 1),
                   .source = NULL,
                   .storage = WEFT_NEW(a, unsigned char, g->n_tensors + 1)};
}

static void finish(const marks *m, weft_arena *scratch, weft_graph *out)
{
    mark_launches(m, scratch);
    mark_storage(m, scratch);
    out->kernel = m->kernel;
    out->attention = m->attention;
    out->again = m->again;
    out->is_score = m->is_score;
    out->is_launched = m->is_launched;
    out->source = m->source;
    out->storage = m->storage;
}

/* Kernels are numbered by their first nodes. */
static void number_kernels(const fuser *x, int *kernel)
{
    int *number = WEFT_NEW(x->f.a, int, x->n_groups + 1), n = 0;

    for (int u = 0; u < x->f.g->n_nodes; u++) {
        if (number[x->of[u]] == 0)
            number[x->of[u]] = ++n;
        kernel[u] = number[x->of[u]] - 1;
    }
}

static bool has_backward(const weft_graph *g)
{
    return g->n_nodes > 0 && g->node[g->n_nodes - 1].phase != WEFT_FORWARD;
}

static fuser new_fuser(const weft_graph *g, weft_arena *a)
{
    fuser x = {
        .f = {.g = g,
              .a = a,
              .is_training = has_backward(g),
              .attention = WEFT_NEW(a, int, g->n_nodes + 1),
              .is_score = WEFT_NEW(a, bool, g->n_nodes + 1)},
        .group = WEFT_NEW(a, group, g->n_nodes + 1),
        .of = WEFT_NEW(a, int, g->n_nodes + 1)
    };

    for (int u = 0; u < g->n_nodes; u++)
        x.of[u] = x.f.attention[u] = -1;
    return x;
}

void weft_graph_fuse(weft_graph *g, bool is_flash)
{
    weft_arena *scratch = weft_arena_new();
    marks m = new_marks(g, g->arena);
    int *source = WEFT_NEW(g->arena, int, g->n_tensors + 1);
    fuser x = new_fuser(g, scratch);

    m.source = x.f.source = source;
    find_sources(&x.f);
    if (is_flash)
        weft_fuse_attention(&x.f);
    x.of_attention = WEFT_NEW(scratch, int, 2 * x.f.n_attentions + 1);
    for (int i = 0; i < 2 * x.f.n_attentions; i++)
        x.of_attention[i] = -1;
    place_all(&x);
    number_kernels(&x, m.kernel);
    memcpy(m.attention, x.f.attention, (size_t)g->n_nodes * sizeof *m.attention);
    memcpy(m.is_score, x.f.is_score, (size_t)g->n_nodes * sizeof *m.is_score);
    for (int u = 0; u < g->n_nodes; u++)
        m.again[u] = -1;
    if (is_flash)
        mark_again(&m, x.f.n_attentions, scratch);
    finish(&m, scratch, g);
    weft_arena_free(scratch);
}

/* --- causal masks ---------------------------------------------------------------------------- */

static bool is_masked_by(const weft_graph *g, int u, const char *mask)
{
    int t = g->arg_at[u] < g->arg_at[u + 1] ? g->arg[g->arg_at[u]] : -1;

    return g->node[u].phase == WEFT_FORWARD && strcmp(g->node[u].op, "Where") == 0 && t >= 0 &&
           g->tensor[t].kind == WEFT_WEIGHT && strncmp(g->tensor[t].name, mask, strlen(mask)) == 0;
}

void weft_graph_mark_causal(weft_graph *g, const char *mask)
{
    bool *is_causal = WEFT_NEW(g->arena, bool, g->n_nodes + 1);
    weft_arena *scratch = weft_arena_new();
    bool *has_mask = WEFT_NEW(scratch, bool, g->n_nodes + 1); /* by attention */

    for (int u = 0; u < g->n_nodes; u++)
        if (g->attention[u] >= 0 && is_masked_by(g, u, mask))
            has_mask[g->attention[u]] = true;
    for (int u = 0; u < g->n_nodes; u++)
        is_causal[u] =
            g->attention[u] >= 0 && has_mask[g->attention[u]] && weft_fuse_is_product(g, u);
    g->is_causal = is_causal;
    weft_arena_free(scratch);
}

/* --- cuts ------------------------------------------------------------------------------------ */

typedef struct piece {
    int kernel, part;
} piece;

static void cut_kernels(const weft_graph *g, const int *part, const marks *m, weft_arena *scratch)
{
    weft_map *seen = weft_map_new(scratch);
    piece *of = WEFT_NEW(scratch, piece, g->n_nodes + 1);
    int n = 0;

    for (int u = 0; u < g->n_nodes; u++) {
        of[u] = (piece){g->kernel[u], part[u]};
        m->kernel[u] = weft_map_get(seen, (const char *)&of[u], sizeof of[u]);
        if (m->kernel[u] >= 0)
            continue;
        m->kernel[u] = n;
        (void)weft_map_put(seen, (const char *)&of[u], sizeof of[u], n++);
    }
}

/* An attention with nodes in two parts is none. */
static void cut_attention(const weft_graph *g, const int *part, const marks *m, weft_arena *scratch)
{
    int *first = WEFT_NEW(scratch, int, g->n_nodes + 1); /* by attention: 1 + its first node */
    bool *is_cut = WEFT_NEW(scratch, bool, g->n_nodes + 1);

    for (int u = 0; u < g->n_nodes; u++) {
        int k = g->attention[u];

        if (k >= 0 && first[k] == 0)
            first[k] = u + 1;
        if (k >= 0 && part[first[k] - 1] != part[u])
            is_cut[k] = true;
    }
    for (int u = 0; u < g->n_nodes; u++) {
        bool is_whole = g->attention[u] >= 0 && !is_cut[g->attention[u]];

        m->attention[u] = is_whole ? g->attention[u] : -1;
        m->is_score[u] = g->is_score[u];
        m->again[u] = is_whole || g->attention[u] < 0 ? g->again[u] : -1;
    }
}

void weft_graph_cut_kernels(const weft_graph *g, const int *part, weft_arena *a, weft_graph *out)
{
    weft_arena *scratch;
    marks m;

    *out = *g;
    if (g->kernel == NULL)
        return;
    scratch = weft_arena_new();
    m = new_marks(g, a);
    m.source = g->source;
    cut_kernels(g, part, &m, scratch);
    cut_attention(g, part, &m, scratch);
    finish(&m, scratch, out);
    weft_arena_free(scratch);
}
