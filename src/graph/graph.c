/* SPDX-License-Identifier: MIT */
/* graph.c: element types, shapes, attributes, and what can be read off a finished graph. */
#include "graph.h"

#include <string.h>

typedef enum number_class { OTHER, REAL, INTEGER } number_class;

typedef struct dtype_row {
    const char *name;
    int bits;
    number_class class;
} dtype_row;

/* Indexed by weft_dtype. */
static const dtype_row dtype_table[WEFT_N_DTYPES] = {
    {"?",          0,   OTHER  },
    {"f32",        32,  REAL   },
    {"u8",         8,   INTEGER},
    {"i8",         8,   INTEGER},
    {"u16",        16,  INTEGER},
    {"i16",        16,  INTEGER},
    {"i32",        32,  INTEGER},
    {"i64",        64,  INTEGER},
    {"string",     0,   OTHER  },
    {"bool",       8,   INTEGER},
    {"f16",        16,  REAL   },
    {"f64",        64,  REAL   },
    {"u32",        32,  INTEGER},
    {"u64",        64,  INTEGER},
    {"c64",        64,  OTHER  },
    {"c128",       128, OTHER  },
    {"bf16",       16,  REAL   },
    {"f8e4m3fn",   8,   REAL   },
    {"f8e4m3fnuz", 8,   REAL   },
    {"f8e5m2",     8,   REAL   },
    {"f8e5m2fnuz", 8,   REAL   },
    {"u4",         4,   INTEGER},
    {"i4",         4,   INTEGER},
};

const char *weft_dtype_name(weft_dtype type)
{
    return dtype_table[type].name;
}

/* What other programs call them. */
static const struct {
    const char *name, *ours;
} dtype_alias[] = {
    {"fp16",     "f16" },
    {"float16",  "f16" },
    {"half",     "f16" },
    {"fp32",     "f32" },
    {"float32",  "f32" },
    {"float",    "f32" },
    {"fp64",     "f64" },
    {"float64",  "f64" },
    {"double",   "f64" },
    {"bfloat16", "bf16"},
    {"int4",     "i4"  },
    {"int8",     "i8"  },
    {"int16",    "i16" },
    {"int32",    "i32" },
    {"int64",    "i64" },
    {"uint8",    "u8"  },
};

weft_dtype weft_dtype_find(const char *name)
{
    for (size_t i = 0; i < sizeof dtype_alias / sizeof *dtype_alias; i++)
        if (strcmp(dtype_alias[i].name, name) == 0)
            name = dtype_alias[i].ours;
    for (int i = 1; i < WEFT_N_DTYPES; i++)
        if (strcmp(dtype_table[i].name, name) == 0)
            return (weft_dtype)i;
    return WEFT_TYPE_UNKNOWN;
}

int weft_dtype_bits(weft_dtype type)
{
    return dtype_table[type].bits;
}

bool weft_dtype_is_float(weft_dtype type)
{
    return dtype_table[type].class == REAL;
}

bool weft_dtype_is_integer(weft_dtype type)
{
    return dtype_table[type].class == INTEGER;
}

bool weft_shape_is_static(const weft_shape *s)
{
    for (int i = 0; i < s->rank; i++)
        if (s->dim[i] < 0)
            return false;
    return s->rank >= 0;
}

bool weft_shape_equal(const weft_shape *a, const weft_shape *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i])
            return false;
    return true;
}

int64_t weft_shape_elements(const weft_shape *s)
{
    int64_t n = 1;

    if (!weft_shape_is_static(s))
        return -1;
    for (int i = 0; i < s->rank; i++)
        if (s->dim[i] == 0)
            return 0;
    for (int i = 0; i < s->rank; i++)
        if (__builtin_mul_overflow(n, s->dim[i], &n) || n > (int64_t)1 << 62)
            return -1;
    return n;
}

int64_t weft_dtype_bytes(weft_dtype type, int64_t elements)
{
    int bits = weft_dtype_bits(type);
    int64_t bytes;

    if (bits < 8)
        return elements / 2 * (bits > 0) + (bits > 0 && elements % 2 != 0);
    return __builtin_mul_overflow(elements, (int64_t)(bits / 8), &bytes) ? -1 : bytes;
}

const char *weft_shape_print(const weft_shape *s, char to[192])
{
    size_t n = 0;

    if (s->rank <= 0) {
        memcpy(to, s->rank == 0 ? "scalar" : "?", s->rank == 0 ? 7 : 2);
        return to;
    }
    for (int i = 0; i < s->rank; i++) {
        const char *x = i ? "x" : "";

        if (s->dim[i] < 0)
            n += (size_t)snprintf(to + n, 192 - n, "%s?", x);
        else
            n += (size_t)snprintf(to + n, 192 - n, "%s%lld", x, (long long)s->dim[i]);
    }
    return to;
}

const char *weft_tensor_kind_name(weft_tensor_kind kind)
{
    static const char *const name[] = {"input", "weight", "activation", "output", "state"};

    return name[kind];
}

const weft_attr *weft_node_attr(const weft_node *n, const char *name)
{
    for (int i = 0; i < n->n_attrs; i++)
        if (strcmp(n->attr[i].name, name) == 0)
            return &n->attr[i];
    return NULL;
}

int64_t weft_node_int(const weft_node *n, const char *name, int64_t fallback)
{
    const weft_attr *a = weft_node_attr(n, name);

    return a && a->kind == WEFT_ATTR_INT ? a->i : fallback;
}

double weft_node_real(const weft_node *n, const char *name, double fallback)
{
    const weft_attr *a = weft_node_attr(n, name);

    return a && a->kind == WEFT_ATTR_REAL ? a->f : fallback;
}

const char *weft_node_text(const weft_node *n, const char *name, const char *fallback)
{
    const weft_attr *a = weft_node_attr(n, name);

    return a && a->kind == WEFT_ATTR_TEXT ? a->s : fallback;
}

const int64_t *weft_node_ints(const weft_node *n, const char *name, int *count)
{
    const weft_attr *a = weft_node_attr(n, name);

    *count = a && a->kind == WEFT_ATTR_INTS ? a->n : 0;
    return *count ? a->ints : NULL;
}

void weft_graph_free(weft_graph *g)
{
    if (g)
        weft_arena_free(g->arena);
}

static bool is_live_kind(weft_tensor_kind kind)
{
    return kind != WEFT_WEIGHT && kind != WEFT_STATE;
}

/* Bytes that come and go with a node. */
typedef struct node_bytes {
    int64_t made, freed;
} node_bytes;

/* Fills in what each node makes and after which node it is not needed any more; *live becomes what
 * is there at the start. False if all tensors together do not fit 64 bits. */
static bool find_lives(const weft_graph *g, node_bytes *node, int64_t *live)
{
    int64_t sum = 0;

    *live = 0;
    for (int t = 0; t < g->n_tensors; t++) {
        const weft_tensor *x = &g->tensor[t];
        int n_uses = g->use_at[t + 1] - g->use_at[t];

        if (!is_live_kind(x->kind) || weft_tensor_is_inner(g, t))
            continue;
        if (__builtin_add_overflow(sum, x->bytes, &sum))
            return false;
        if (x->producer < 0)
            *live += x->bytes;
        else
            node[x->producer].made += x->bytes;
        if (x->kind != WEFT_OUTPUT && (n_uses > 0 || x->producer >= 0))
            node[n_uses > 0 ? g->use[g->use_at[t + 1] - 1] : x->producer].freed += x->bytes;
    }
    return true;
}

int64_t weft_graph_peak_bytes(const weft_graph *g)
{
    weft_arena *scratch = weft_arena_new();
    node_bytes *node = WEFT_NEW(scratch, node_bytes, g->n_nodes);
    int64_t live, peak = INT64_MAX;

    if (find_lives(g, node, &live)) {
        peak = live;
        for (int u = 0; u < g->n_nodes; u++) {
            live += node[u].made;
            peak = live > peak ? live : peak;
            live -= node[u].freed;
        }
    }
    weft_arena_free(scratch);
    return peak;
}

int weft_graph_depth(const weft_graph *g)
{
    weft_arena *scratch = weft_arena_new();
    int *depth = WEFT_NEW(scratch, int, g->n_nodes);
    int most = 0;

    for (int u = 0; u < g->n_nodes; u++) {
        for (int e = g->in_at[u]; e < g->in_at[u + 1]; e++)
            if (depth[g->in_from[e]] > depth[u])
                depth[u] = depth[g->in_from[e]];
        depth[u]++;
        if (depth[u] > most)
            most = depth[u];
    }
    weft_arena_free(scratch);
    return most;
}
