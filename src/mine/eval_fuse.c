/* SPDX-License-Identifier: MIT */
/* weft_eval_fuse.c: nodes become operators, each on tensor cores, vector cores, both or none.
 *
 * 1. Views are free: whoever reads a view reads what it shows.
 * 2. In topological order a node v joins the operator that made one of its operands t, if
 *    (a) that operator is a product (of matrices, a convolution) and v element-wise or a norm, or
 *    (b) all in it is element-wise and v is element-wise, a reduction or a norm;
 *    and v is the only reader of the last node u of that operator in the same phase, makes no more
 *    elements than t has, and all it reads besides was there before u: weights, inputs, results of
 *    ancestors of u. Nothing follows a norm or a reduction.
 * 3. Updates that wait for the same operator are one operator. An update never joins the product
 *    that makes its gradient: between the two lies the sum over replicas.
 * 4. Operators are put in topological order, by their last nodes where there is a choice.
 *
 * With --software flash the nodes of an attention (ops/fusion_attention.c), forward and backward, are
 * one operator each, instead of 2.; their bytes are those of the keys already. The other kernels of
 * ops/fusion.c are not used here: the rules of 2. are those of the searches that are compared with.
 *
 * An inner tensor is not read from memory, and not written either unless a later phase reads it
 * (or the user). Time is the larger of the two cores' (eval_time.c).
 *
 * No cycles arise: a path from u to v around the edge would leave u through another reader. One of
 * the same phase does not exist; later phases lead to earlier ones nowhere. What v reads besides
 * is an ancestor of u, so joining makes nobody wait for longer.
 *
 * After WHAM's public code, in the manner of TVM; there v must have no other operand at all and u
 * no other reader, so that in training almost nothing can be fused. Cost O(nodes^2 / 64) for the
 * ancestors. */
#include "order.h"
#include "rows.h"
#include "workload_eval.h"

#include <stdlib.h>
#include <string.h>

typedef WEFT_VEC(int) int_list;

enum { NO_READER = -1, MANY_READERS = -2 };

typedef struct fuser {
    const weft_graph *g;
    const weft_work_keys *keys;
    weft_closure closure;
    weft_arena *a; /* scratch */
    int *root;     /* [tensors] what a view shows; else itself */
    int *reader;   /* [nodes] the only one of the same phase */
    bool *is_kept; /* [tensors] read by a later phase, or asked for */
    int *group;    /* [nodes] -1: free */
    int n_groups;
    int_list *member;     /* [groups] */
    weft_eval_kind *kind; /* [groups] */
    bool *is_closed;      /* [groups] */
    int64_t *saved;       /* [groups] bytes */
    int *update;          /* [groups] the updates that wait for this one; -1: none */
} fuser;

static const weft_work_key *key_of(const fuser *f, int u)
{
    return &f->keys->key[f->keys->of_node[u]];
}

static int producer(const fuser *f, int tensor)
{
    return tensor < 0 ? -1 : f->g->tensor[f->root[tensor]].producer;
}

/* A view without other operands that are computed. */
static bool is_free(const fuser *f, int u)
{
    const weft_graph *g = f->g;

    if (!key_of(f, u)->is_view || g->arg_at[u] == g->arg_at[u + 1] || g->arg[g->arg_at[u]] < 0)
        return false;
    for (int i = g->arg_at[u] + 1; i < g->arg_at[u + 1]; i++)
        if (g->arg[i] >= 0 && g->tensor[g->arg[i]].producer >= 0)
            return false;
    return true;
}

/* --- who reads what */

static void find_roots(fuser *f)
{
    const weft_graph *g = f->g;

    for (int t = 0; t < g->n_tensors; t++)
        f->root[t] = t;
    for (int u = 0; u < g->n_nodes; u++)
        for (int i = g->res_at[u]; i < g->res_at[u + 1] && is_free(f, u); i++)
            if (g->res[i] >= 0)
                f->root[g->res[i]] = f->root[g->arg[g->arg_at[u]]];
    for (int t = 0; t < g->n_tensors; t++)
        if (g->tensor[t].kind == WEFT_OUTPUT)
            f->is_kept[f->root[t]] = true;
}

static void find_readers(fuser *f)
{
    const weft_graph *g = f->g;

    for (int u = 0; u < g->n_nodes; u++)
        f->reader[u] = NO_READER;
    for (int v = 0; v < g->n_nodes; v++)
        for (int i = g->arg_at[v]; i < g->arg_at[v + 1] && !is_free(f, v); i++) {
            int u = producer(f, g->arg[i]);

            if (u < 0)
                continue;
            if (g->node[u].phase != g->node[v].phase)
                f->is_kept[f->root[g->arg[i]]] = true;
            else if (f->reader[u] == NO_READER || f->reader[u] == v)
                f->reader[u] = v;
            else
                f->reader[u] = MANY_READERS;
        }
}

/* --- which nodes join */

static weft_eval_kind kind_of(const weft_work_key *k)
{
    bool moves = k->family == WEFT_FUSE_MOVE || k->family == WEFT_FUSE_NONE || k->is_view;

    if (k->n_layers > 0)
        return k->points > 0 ? WEFT_EVAL_BOTH : WEFT_EVAL_TENSOR;
    return k->flops > 0 || (k->points > 0 && !moves) ? WEFT_EVAL_VECTOR : WEFT_EVAL_MEMORY;
}

static bool may_follow(const fuser *f, int group, const weft_work_key *v)
{
    bool is_last = v->family == WEFT_FUSE_NORM || v->family == WEFT_FUSE_REDUCE;

    if (f->is_closed[group] || kind_of(v) != WEFT_EVAL_VECTOR)
        return false;
    if (f->kind[group] == WEFT_EVAL_VECTOR)
        return v->family == WEFT_FUSE_ELEMENT || is_last;
    return f->kind[group] <= WEFT_EVAL_BOTH &&
           (v->family == WEFT_FUSE_ELEMENT || v->family == WEFT_FUSE_NORM);
}

static bool others_came_before(const fuser *f, int u, int v)
{
    const weft_graph *g = f->g;

    for (int i = g->arg_at[v]; i < g->arg_at[v + 1]; i++) {
        int p = producer(f, g->arg[i]);

        if (p >= 0 && p != u && !weft_closure_has(&f->closure, p, u))
            return false;
    }
    return true;
}

static int64_t elements_made(const weft_graph *g, int v)
{
    int64_t most = 0;

    for (int i = g->res_at[v]; i < g->res_at[v + 1]; i++)
        if (g->res[i] >= 0 && g->tensor[g->res[i]].elements > most)
            most = g->tensor[g->res[i]].elements;
    return most;
}

/* The operand through which v joins an operator; -1: none. */
static int joint(const fuser *f, int v)
{
    const weft_graph *g = f->g;

    for (int i = g->arg_at[v]; i < g->arg_at[v + 1]; i++) {
        int u = producer(f, g->arg[i]), group = u < 0 ? -1 : f->group[u];

        if (group < 0 || f->reader[u] != v || f->member[group].at[f->member[group].n - 1] != u)
            continue;
        if (may_follow(f, group, key_of(f, v)) &&
            elements_made(g, v) <= g->tensor[g->arg[i]].elements && others_came_before(f, u, v))
            return f->root[g->arg[i]];
    }
    return -1;
}

static void add_member(fuser *f, int group, int v)
{
    weft_fusion family = key_of(f, v)->family;

    f->group[v] = group;
    WEFT_PUSH(f->a, f->member[group], v);
    f->is_closed[group] = family == WEFT_FUSE_NORM || family == WEFT_FUSE_REDUCE ||
                          f->g->node[v].phase == WEFT_UPDATE;
}

static void join(fuser *f, int v, int tensor)
{
    int group = f->group[f->g->tensor[tensor].producer];
    int64_t bytes = f->g->tensor[tensor].bytes;

    add_member(f, group, v);
    f->saved[group] += f->is_kept[tensor] ? bytes : 2 * bytes;
    if (f->kind[group] == WEFT_EVAL_TENSOR)
        f->kind[group] = WEFT_EVAL_BOTH;
}

/* The operator that an update waits for; -1: none. */
static int awaited(const fuser *f, int v)
{
    int group = -1;

    for (int i = f->g->arg_at[v]; i < f->g->arg_at[v + 1]; i++) {
        int u = producer(f, f->g->arg[i]);

        if (u >= 0 && group >= 0 && f->group[u] != group)
            return -1;
        if (u >= 0)
            group = f->group[u];
    }
    return group;
}

static void start_group(fuser *f, int v)
{
    int group = f->n_groups++;

    f->kind[group] = kind_of(key_of(f, v));
    f->update[group] = -1;
    add_member(f, group, v);
}

static void add_update(fuser *f, int v)
{
    int before = awaited(f, v);

    if (before >= 0 && f->update[before] >= 0) {
        add_member(f, f->update[before], v);
        return;
    }
    start_group(f, v);
    if (before >= 0)
        f->update[before] = f->group[v];
}

static bool uses_tensor(weft_eval_kind k)
{
    return k == WEFT_EVAL_TENSOR || k == WEFT_EVAL_BOTH;
}

static bool uses_vector(weft_eval_kind k)
{
    return k == WEFT_EVAL_VECTOR || k == WEFT_EVAL_BOTH;
}

static weft_eval_kind both_kinds(weft_eval_kind a, weft_eval_kind b)
{
    bool has_tensor = uses_tensor(a) || uses_tensor(b),
         has_vector = uses_vector(a) || uses_vector(b);

    if (has_tensor)
        return has_vector ? WEFT_EVAL_BOTH : WEFT_EVAL_TENSOR;
    return has_vector ? WEFT_EVAL_VECTOR : WEFT_EVAL_MEMORY;
}

/* Puts v to the other nodes of its kernel; of_kernel: 1 + group. */
static void add_to_kernel(fuser *f, int v, int *of_kernel)
{
    int *group = &of_kernel[f->g->kernel[v]];

    if (*group == 0) {
        start_group(f, v);
        *group = 1 + f->group[v];
    } else
        add_member(f, *group - 1, v);
    f->is_closed[*group - 1] = true;
    f->kind[*group - 1] = both_kinds(f->kind[*group - 1], kind_of(key_of(f, v)));
}

static void group_nodes(fuser *f)
{
    int *of_kernel = WEFT_NEW(f->a, int, f->g->n_nodes + 1);

    for (int v = 0; v < f->g->n_nodes; v++) {
        int tensor;

        if (is_free(f, v)) {
            int u = producer(f, f->g->arg[f->g->arg_at[v]]);

            f->group[v] = u < 0 ? -1 : f->group[u];
            continue;
        }
        if (f->g->node[v].phase == WEFT_UPDATE) {
            add_update(f, v);
            continue;
        }
        if (f->g->kernel && f->g->attention[v] >= 0) {
            add_to_kernel(f, v, of_kernel);
            continue;
        }
        tensor = joint(f, v);
        if (tensor >= 0)
            join(f, v, tensor);
        else
            start_group(f, v);
    }
}

/* --- order and edges */

/* Groups before each group, each once. */
static int_list *groups_before(fuser *f)
{
    int_list *before = WEFT_NEW(f->a, int_list, f->n_groups + 1);
    int *seen_by = WEFT_NEW(f->a, int, f->n_groups + 1);

    for (int group = 0; group < f->n_groups; group++)
        for (int k = 0; k < f->member[group].n; k++) {
            int v = f->member[group].at[k];

            for (int i = f->g->arg_at[v]; i < f->g->arg_at[v + 1]; i++) {
                int u = producer(f, f->g->arg[i]), from = u < 0 ? -1 : f->group[u];

                if (from < 0 || from == group || seen_by[from] == group + 1)
                    continue;
                seen_by[from] = group + 1;
                WEFT_PUSH(f->a, before[group], from);
            }
        }
    return before;
}

/* order[i]: the i-th group, those with earlier last nodes first; false: there is a cycle. */
static bool sort_groups(fuser *f, const int_list *before, int *order)
{
    int n_nodes = f->g->n_nodes, words = weft_bits_words(n_nodes), n = 0, at = 0;
    uint64_t *ready = WEFT_NEW(f->a, uint64_t, words + 1);
    int_list *after = WEFT_NEW(f->a, int_list, f->n_groups + 1);
    int *missing = WEFT_NEW(f->a, int, f->n_groups + 1);

#define LAST(group) f->member[group].at[f->member[group].n - 1]
    for (int group = 0; group < f->n_groups; group++) {
        missing[group] = before[group].n;
        for (int i = 0; i < before[group].n; i++)
            WEFT_PUSH(f->a, after[before[group].at[i]], group);
        if (missing[group] == 0)
            weft_bit_set(ready, LAST(group));
    }
    while (at < words) {
        int v, group;

        if (ready[at] == 0) {
            at++;
            continue;
        }
        v = at * 64 + __builtin_ctzll(ready[at]);
        group = f->group[v];
        ready[at] &= ready[at] - 1;
        order[n++] = group;
        for (int i = 0; i < after[group].n; i++) {
            int next = after[group].at[i];

            if (--missing[next] > 0)
                continue;
            weft_bit_set(ready, LAST(next));
            at = LAST(next) / 64 < at ? LAST(next) / 64 : at;
        }
    }
#undef LAST
    return n == f->n_groups;
}

static void copy_edges(const fuser *f, const int_list *before, const int *order, const int *place,
                       weft_arena *a, weft_eval_ops *out)
{
    int n = f->n_groups, n_edges = 0;
    weft_rows in = {.at = WEFT_NEW(a, int, n + 1)}, after;

    for (int i = 0; i < n; i++)
        n_edges += before[i].n;
    in.item = WEFT_NEW(a, int, n_edges + 1);
    for (int i = 0; i < n; i++) {
        const int_list *from = &before[order[i]];

        in.at[i + 1] = in.at[i] + from->n;
        for (int k = 0; k < from->n; k++)
            in.item[in.at[i] + k] = place[from->at[k]];
        if (from->n > 1)
            qsort(in.item + in.at[i], (size_t)from->n, sizeof *in.item, weft_by_int);
    }
    after = weft_rows_transposed(in, n, n, a);
    out->in_at = in.at;
    out->in_from = in.item;
    out->out_at = after.at;
    out->out_to = after.item;
}

/* --- classes */

/* What two operators of a class share, as bytes: kind, bytes saved, keys of the nodes. */
static char *class_mark(const fuser *f, int group, size_t *n)
{
    const int_list *member = &f->member[group];
    int64_t *mark = WEFT_NEW(f->a, int64_t, member->n + 2);

    mark[0] = (int64_t)f->kind[group];
    mark[1] = f->saved[group];
    for (int i = 0; i < member->n; i++)
        mark[i + 2] = f->keys->of_node[member->at[i]];
    *n = (size_t)(member->n + 2) * sizeof *mark;
    return (char *)mark;
}

static weft_eval_class class_of(const fuser *f, int group, weft_arena *a)
{
    const int_list *member = &f->member[group];
    const weft_work_key **key = WEFT_NEW(a, const weft_work_key *, member->n);

    for (int i = 0; i < member->n; i++)
        key[i] = key_of(f, member->at[i]);
    return (weft_eval_class){f->kind[group], member->n, key, (double)f->saved[group]};
}

/* Classes by kind, then by first operator. */
static void find_classes(const fuser *f, const int *order, weft_arena *a, weft_eval_ops *out)
{
    weft_map *seen = weft_map_new(f->a);
    int *of_class = WEFT_NEW(a, int, f->n_groups + 1);
    weft_eval_class *class_ = WEFT_NEW(a, weft_eval_class, f->n_groups + 1);

    for (int kind = 0; kind < WEFT_EVAL_N_KINDS; kind++) {
        out->kind_at[kind] = out->n_classes;
        for (int i = 0; i < f->n_groups; i++) {
            size_t n;
            char *mark;

            if ((int)f->kind[order[i]] != kind)
                continue;
            mark = class_mark(f, order[i], &n);
            of_class[i] = weft_map_get(seen, mark, n);
            if (of_class[i] >= 0)
                continue;
            of_class[i] = out->n_classes++;
            class_[of_class[i]] = class_of(f, order[i], a);
            (void)weft_map_put(seen, mark, n, of_class[i]);
        }
    }
    out->kind_at[WEFT_EVAL_N_KINDS] = out->n_classes;
    out->of_class = of_class;
    out->class_ = class_;
}

static weft_status write_ops(fuser *f, weft_arena *a, weft_eval_ops *out)
{
    int n = f->n_groups, *order = WEFT_NEW(f->a, int, n + 1), *place = WEFT_NEW(f->a, int, n + 1);
    int *first = WEFT_NEW(a, int, n + 1), *of_node = WEFT_NEW(a, int, f->g->n_nodes + 1);
    bool *is_update = WEFT_NEW(a, bool, n + 1);
    const int_list *before = groups_before(f);

    if (!sort_groups(f, before, order))
        return weft_fail(WEFT_E_INTERNAL, "network '%s': fused operators wait for each other",
                         f->g->name);
    for (int i = 0; i < n; i++) {
        place[order[i]] = i;
        first[i] = f->member[order[i]].at[0];
        is_update[i] = f->g->node[first[i]].phase == WEFT_UPDATE;
    }
    for (int u = 0; u < f->g->n_nodes; u++)
        of_node[u] = f->group[u] < 0 ? -1 : place[f->group[u]];
    out->n = n;
    out->first_node = first;
    out->of_node = of_node;
    out->is_update = is_update;
    copy_edges(f, before, order, place, a, out);
    find_classes(f, order, a, out);
    return WEFT_OK;
}

weft_status weft_eval_fuse(const weft_graph *g, const weft_work_keys *keys, weft_arena *a,
                           weft_eval_ops *out)
{
    weft_arena *scratch = weft_arena_new();
    int n = g->n_nodes + 1;
    fuser f = {.g = g,
               .keys = keys,
               .closure = weft_graph_closure(g, scratch),
               .a = scratch,
               .root = WEFT_NEW(scratch, int, g->n_tensors + 1),
               .reader = WEFT_NEW(scratch, int, n),
               .is_kept = WEFT_NEW(scratch, bool, g->n_tensors + 1),
               .group = WEFT_NEW(scratch, int, n),
               .member = WEFT_NEW(scratch, int_list, n),
               .kind = WEFT_NEW(scratch, weft_eval_kind, n),
               .is_closed = WEFT_NEW(scratch, bool, n),
               .saved = WEFT_NEW(scratch, int64_t, n),
               .update = WEFT_NEW(scratch, int, n)};
    weft_status status;

    memset(out, 0, sizeof *out);
    find_roots(&f);
    find_readers(&f);
    group_nodes(&f);
    status = write_ops(&f, a, out);
    weft_arena_free(scratch);
    return status;
}
