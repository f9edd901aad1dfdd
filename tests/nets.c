/* SPDX-License-Identifier: MIT */
#include "nets.h"

#include "check.h"
#include "invariants.h"

#include <ctype.h>
#include <stdlib.h>

enum { MOST_ATTRS = 8, MOST_INTS = 16, MOST_RESULTS = 16 };

net_fixture net_start(weft_dtype type)
{
    net_fixture f = {.net = weft_net_new("test")};

    weft_net_dtype(f.net, type);
    return f;
}

static const char *next_name(net_fixture *f)
{
    return weft_arena_print(weft_net_arena(f->net), "t%d", f->n_names++);
}

static weft_shape shape_of(const char *text)
{
    weft_shape s = {.rank = 0};

    while (*text) {
        char *end;

        s.dim[s.rank++] = strtoll(text, &end, 10);
        text = *end ? end + 1 : end;
    }
    return s;
}

int net_input(net_fixture *f, const char *shape)
{
    weft_value v = {.type = WEFT_F32, .shape = shape_of(shape)};
    int value;

    CHECK_OK(weft_net_input(f->net, next_name(f), &v, &value));
    return value;
}

int net_indices(net_fixture *f, const char *shape)
{
    weft_value v = {.type = WEFT_I64, .shape = shape_of(shape)};
    int value;

    CHECK_OK(weft_net_input(f->net, next_name(f), &v, &value));
    return value;
}

int net_weight(net_fixture *f, const char *shape)
{
    weft_value v = {.type = WEFT_F32, .shape = shape_of(shape), .is_parameter = true};
    int value;

    CHECK_OK(weft_net_constant(f->net, next_name(f), &v, &value));
    return value;
}

int net_ints(net_fixture *f, int n, const int64_t *ints)
{
    weft_arena *a = weft_net_arena(f->net);
    weft_literal *data = WEFT_NEW(a, weft_literal, 1);
    weft_value v = {
        .type = WEFT_I64, .shape = {.rank = 1, .dim = {n}},
             .data = data
    };
    int value;

    data->n = n;
    data->ints = weft_arena_copy(a, ints, (size_t)n * sizeof *ints);
    CHECK_OK(weft_net_constant(f->net, next_name(f), &v, &value));
    return value;
}

/* "pads=1,1" or "mode=edge"; *text moves behind it. */
static weft_attr read_attr(weft_arena *a, const char **text)
{
    const char *equals = strchr(*text, '='), *end = equals + strcspn(equals, " ");
    weft_attr x = {.name = weft_arena_text(a, *text, (size_t)(equals - *text)),
                   .kind = WEFT_ATTR_TEXT,
                   .s = weft_arena_text(a, equals + 1, (size_t)(end - equals - 1))};
    int64_t *ints = WEFT_NEW(a, int64_t, MOST_INTS);

    if (isdigit((unsigned char)equals[1]) || equals[1] == '-') {
        for (const char *p = equals; p < end; p += strcspn(p + 1, ", ") + 1)
            ints[x.n++] = strtoll(p + 1, NULL, 10);
        x.kind = memchr(equals, ',', (size_t)(end - equals)) ? WEFT_ATTR_INTS : WEFT_ATTR_INT;
        x.i = ints[0];
        x.ints = ints;
        x.s = NULL;
        x.n = x.kind == WEFT_ATTR_INTS ? x.n : 0;
    }
    *text = end + strspn(end, " ");
    return x;
}

int net_op_results(net_fixture *f, const char *op, const int *args, int n_args,
                   const char *attributes, int n_results, int *results)
{
    weft_arena *a = weft_net_arena(f->net);
    const char *names[MOST_RESULTS];
    weft_attr *attr = WEFT_NEW(a, weft_attr, MOST_ATTRS);
    weft_net_op n = {
        .node = {.op = op, .domain = "", .opset = 18, .attr = attr, .forward = -1, .wrt = -1},
        .n_args = n_args,
        .n_results = n_results,
        .arg = args,
        .result_name = names
    };

    while (*attributes)
        attr[n.node.n_attrs++] = read_attr(a, &attributes);
    for (int i = 0; i < n_results; i++)
        names[i] = next_name(f);
    n.node.name = next_name(f);
    CHECK_OK(weft_net_node(f->net, &n, results));
    return results[0];
}

int net_op(net_fixture *f, const char *op, const int *args, int n_args, const char *attributes)
{
    int result;

    return net_op_results(f, op, args, n_args, attributes, 1, &result);
}

void net_ask(net_fixture *f, int value)
{
    weft_net_output(f->net, value);
}

const weft_graph *net_finish(net_fixture *f, int value)
{
    weft_net_output(f->net, value);
    CHECK_OK(weft_net_finish(f->net, &f->graph));
    weft_graph_check(f->graph);
    return f->graph;
}

void net_free(net_fixture *f)
{
    weft_graph_free(f->graph);
    weft_net_free(f->net);
}
