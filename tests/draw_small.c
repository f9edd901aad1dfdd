/* SPDX-License-Identifier: MIT */
/* draw_small.c: small random networks and machines for tests of sharding. */
#include "draw_small.h"

#include "check.h"
#include "executor_build.h"

/* --- networks -------------------------------------------------------------------------------- */

static int64_t least_side(build_net *m, int x)
{
    const int64_t *d = build_dims(m, x);

    return d[2] < d[3] ? d[2] : d[3];
}

static int picture(build_net *m)
{
    return build_input(m, DIMS(build_draw(m, 1, 3) / 2 + 1, build_draw(m, 1, 5),
                               build_draw(m, 3, 9), build_draw(m, 3, 9)));
}

/* A convolution or a pool of any stride that leaves something. */
static int layer(build_net *m, int x)
{
    int64_t side = least_side(m, x), stride = side > 3 ? build_draw(m, 1, 2) : 1;

    switch (build_draw(m, 0, 4)) {
    case 0:
        return build_pool_of(m, build_happens(m) ? "MaxPool" : "AveragePool", x, 3, stride, 1);
    case 1:
        return build_unary(
            m, "Relu", build_plain_conv(m, x, build_draw(m, 2, 7), 1 + 2 * build_draw(m, 0, 2), 1));
    case 2:
        return side > 2 ? build_conv_of(m, x,
                                        (build_conv_options){.out = build_draw(m, 1, 6),
                                                             .kernel = build_draw(m, 2, 3),
                                                             .stride = stride,
                                                             .groups = 1,
                                                             .dilation = 1,
                                                             .has_bias = true})
                        : build_plain_conv(m, x, 3, 1, 1);
    default:
        return build_plain_conv(m, x, build_draw(m, 2, 7), 3, stride);
    }
}

/* One that keeps the shape. */
static int same_layer(build_net *m, int x)
{
    if (build_draw(m, 0, 4) == 0)
        return build_pool_of(m, "MaxPool", x, 3, 1, 1);
    return build_plain_conv(m, x, build_dims(m, x)[1], 1 + 2 * build_draw(m, 0, 1), 1);
}

static int make_chain(build_net *m)
{
    int x = picture(m), n = (int)build_draw(m, 2, 5);

    for (int i = 0; i < n; i++)
        x = layer(m, x);
    return x;
}

static int make_residual(build_net *m)
{
    int x = layer(m, picture(m)), y = same_layer(m, x);

    y = build_happens(m) ? same_layer(m, build_unary(m, "Relu", y)) : y;
    return build_unary(m, "Relu", build_binary(m, "Add", y, x));
}

static int make_series(build_net *m)
{
    int x = picture(m), y[2];

    x = build_happens(m) ? layer(m, x) : x;
    y[0] = build_plain_conv(m, x, build_draw(m, 2, 5), 3, 1);
    y[1] = build_happens(m) ? build_plain_conv(m, x, build_draw(m, 2, 5), 1, 1)
                            : build_pool_of(m, "AveragePool", x, 3, 1, 1);
    x = build_concat(m, 2, y, 1);
    return build_happens(m) ? layer(m, x) : x;
}

static int make_tree(build_net *m)
{
    int x = layer(m, picture(m)), n = (int)build_draw(m, 1, 2);

    for (int i = 0; i < n; i++)
        weft_net_output(m->net, layer(m, x));
    return layer(m, x);
}

static int make_matrix(build_net *m)
{
    int64_t rows = build_draw(m, 2, 7);
    int x = build_input(m, DIMS(rows, build_draw(m, 2, 9))), y = x;
    int n = (int)build_draw(m, 1, 3);

    for (int i = 0; i < n; i++)
        switch (build_draw(m, 0, 2)) {
        case 0:
            y = build_with_axis(m, "Softmax", y, build_draw(m, 0, 1));
            break;
        case 1:
            y = build_unary(m, "Relu", build_linear(m, y, build_draw(m, 2, 9)));
            break;
        default:
            y = build_project(m, y, build_draw(m, 2, 9));
        }
    if (build_happens(m))
        y = build_binary(m, "MatMul", build_transpose(m, y, DIMS(1, 0)),
                         build_happens(m) ? x : build_linear(m, x, build_draw(m, 2, 6)));
    return build_happens(m) ? build_with_axis(m, "Softmax", y, 1) : y;
}

static int make_general(build_net *m)
{
    int made[6] = {picture(m)}, n = (int)build_draw(m, 2, 5);

    for (int i = 1; i <= n; i++) {
        int x = made[build_draw(m, 0, i - 1)], y = made[build_draw(m, 0, i - 1)];

        made[i] = build_happens(m) ? build_binary(m, "Add", same_layer(m, x), y) : same_layer(m, x);
    }
    return build_binary(m, "Mul", made[n], made[build_draw(m, 0, n - 1)]);
}

weft_graph *small_network(weft_rng *r, small_family family, int least, int most)
{
    static int (*const make[SMALL_FAMILIES])(build_net *) = {
        [SMALL_CHAIN] = make_chain,   [SMALL_RESIDUAL] = make_residual,
        [SMALL_SERIES] = make_series, [SMALL_TREE] = make_tree,
        [SMALL_MATRIX] = make_matrix, [SMALL_GENERAL] = make_general,
    };

    for (;;) {
        build_net m = build_begin(r);
        int x = make[family](&m), n;
        weft_graph *g = build_finish(&m, x);
        weft_steps *s;

        CHECK_OK(weft_steps_new(g, &s));
        n = s->n;
        weft_steps_free(s);
        if (n >= least && n <= most)
            return g;
        weft_graph_free(g);
    }
}

/* --- machines -------------------------------------------------------------------------------- */

/* Between lo and hi, by factors. */
static double draw_scale(weft_rng *r, double lo, double hi)
{
    return lo * pow(hi / lo, weft_rng_real(r));
}

static small_design draw_design(weft_rng *r)
{
    small_design d = {.flops_per_s = draw_scale(r, 2e7, 1e9), .bytes_per_s = 1e9};

    if (weft_rng_below(r, 2) == 0) {
        d.rows = 1 + weft_rng_below(r, 6);
        d.cols = 1 + weft_rng_below(r, 6);
    }
    d.tensor = weft_rng_below(r, 2) == 0 ? 1 : draw_scale(r, 0.01, 1);
    d.reduce = weft_rng_below(r, 2) == 0 ? 1 : draw_scale(r, 0.01, 1);
    return d;
}

/* Designs that are good at one thing each, and links that are worth a change of set. */
static void specialise(weft_rng *r, small_machine *m)
{
    int odd = weft_rng_below(r, 2);

    for (int k = 0; k < SMALL_KINDS; k++)
        for (int d = 0; d < SMALL_DESIGNS; d++) {
            bool is_for_tensors = (k + d + odd) % 2 == 0;

            m->design[k][d] = (small_design){.flops_per_s = draw_scale(r, 1e7, 3e7),
                                             .bytes_per_s = 1e10,
                                             .tensor = is_for_tensors ? 1 : 0.02,
                                             .reduce = is_for_tensors ? 0.002 : 1};
        }
    for (int i = 0; i < m->n; i++)
        for (int k = 0; k < i; k++)
            m->link[k][i] = m->link[k][i] > 0 ? draw_scale(r, 1e8, 1e10) : 0;
}

small_machine small_draw_machine(weft_rng *r, int n, int n_kinds, int n_designs)
{
    small_machine m = {.n = n, .has_host = weft_rng_below(r, 4) > 0};
    bool is_slow_host = weft_rng_below(r, 4) == 0;
    double fast = draw_scale(r, is_slow_host ? 1e8 : 1e6, 1e10);
    double slow = fast / draw_scale(r, 1, 20);
    double to_host = draw_scale(r, 1e6, is_slow_host ? 1e7 : 1e9);
    bool is_grouped = weft_rng_below(r, 2) == 0, is_ragged = weft_rng_below(r, 3) == 0;
    int border = 1 + weft_rng_below(r, n - 1);

    for (int i = 0; i < n; i++) {
        m.kind[i] = n_kinds > 1 && i >= border;
        m.host[i] = is_ragged ? draw_scale(r, 1e6, 1e9) : to_host;
        for (int k = 0; k < i; k++) {
            bool is_inside = is_grouped && (i < border) == (k < border);

            m.link[k][i] = is_inside ? fast : is_ragged ? draw_scale(r, 1e6, 1e9) : slow;
            if (m.has_host && !is_inside && weft_rng_below(r, 3) == 0)
                m.link[k][i] = 0;
        }
    }
    for (int k = 0; k < SMALL_KINDS; k++) {
        m.n_designs[k] = 1 + weft_rng_below(r, n_designs);
        for (int d = 0; d < SMALL_DESIGNS; d++)
            m.design[k][d] = draw_design(r);
    }
    if (weft_rng_below(r, 3) == 0)
        specialise(r, &m);
    if (weft_rng_below(r, 2) == 0) {
        m.latency_s = draw_scale(r, 1e-8, 1e-5);
        m.host_latency_s = draw_scale(r, 1e-8, 1e-5);
    }
    return m;
}

small_machine small_exchange(const small_machine *m, int i, int k)
{
    small_machine out = *m;
    int at[SMALL_MOST];

    for (int x = 0; x < SMALL_MOST; x++)
        at[x] = x == i ? k : x == k ? i : x;
    for (int x = 0; x < m->n; x++) {
        out.host[x] = m->host[at[x]];
        out.host_more_s[x] = m->host_more_s[at[x]];
        for (int y = x + 1; y < m->n; y++) {
            int lo = at[x] < at[y] ? at[x] : at[y], hi = at[x] < at[y] ? at[y] : at[x];

            out.link[x][y] = m->link[lo][hi];
            out.more_s[x][y] = m->more_s[lo][hi];
        }
    }
    return out;
}

static const char *base_name(const small_machine *m, int kind)
{
    static const char *const name[2][SMALL_KINDS] = {
        {"acc",  "npu" },
        {"zeta", "beta"}
    };

    return name[m->is_swapped][kind];
}

/* "acc0": the name of accelerator i. */
static const char *name_of(const small_machine *m, int i, weft_arena *a)
{
    int first = 0;

    while (m->kind[first] != m->kind[i])
        first++;
    return weft_arena_print(a, "%s%d", base_name(m, m->kind[i]), i - first);
}

static const char *only_text(const small_design *x, weft_arena *a)
{
    return x->only != NULL ? weft_arena_print(a, ", only: [%s]", x->only) : "";
}

static const char *kind_text(const small_machine *m, int kind, weft_arena *a)
{
    const char *text;
    int n = 0;

    for (int i = 0; i < m->n; i++)
        n += m->kind[i] == kind;
    if (n == 0)
        return "";
    text = weft_arena_print(a, "  - name: %s\n    count: %d\n", base_name(m, kind), n);
    if (m->memory_bytes[kind] > 0)
        text = weft_arena_print(a, "%s    memory: %.17gB\n", text, m->memory_bytes[kind]);
    text = weft_arena_print(a, "%s    designs:\n", text);
    for (int d = 0; d < m->n_designs[kind]; d++) {
        const small_design *x = &m->design[kind][d];

        text = x->rows > 0
                   ? weft_arena_print(a,
                                      "%s      - {name: d%d, model: systolic, rows: %d, cols: %d, "
                                      "vec: 2, dataflow: simd, clock: 2MHz, "
                                      "memory_bandwidth: %.17gB/s%s}\n",
                                      text, d, x->rows, x->cols, x->bytes_per_s, only_text(x, a))
                   : weft_arena_print(a,
                                      "%s      - {name: d%d, model: roofline, peak_flops: %.17g, "
                                      "memory_bandwidth: %.17gB/s, "
                                      "efficiency: {tensor: %.17g, reduce: %.17g}%s}\n",
                                      text, d, x->flops_per_s, x->bytes_per_s, x->tensor, x->reduce,
                                      only_text(x, a));
    }
    return text;
}

/* Bandwidth, or a curve that reaches it for long messages. */
static const char *rate_text(const small_machine *m, double bytes_per_s, weft_arena *a)
{
    if (!m->has_curves)
        return weft_arena_print(a, "bandwidth: %.17gB/s", bytes_per_s);
    return weft_arena_print(a, "curve: [[100B, %.17gB/s], [700B, %.17gB/s], [5kB, %.17gB/s]]",
                            bytes_per_s / 4, 0.6 * bytes_per_s, bytes_per_s);
}

/* Links of the first ones to the host, else between them, share 0.7 of the bandwidth of one. */
static const char *shared_text(const small_machine *m, weft_arena *a)
{
    const char *text = "";
    double bytes_per_s = 0;

    for (int i = 0; i < m->n_sharing && i < m->n; i++)
        for (int k = i + 1; k < m->n_sharing && k < m->n && !m->has_host; k++)
            if (m->link[i][k] > 0) {
                text = weft_arena_print(a, "%s{between: [%s, %s]}, ", text, name_of(m, i, a),
                                        name_of(m, k, a));
                bytes_per_s = m->link[i][k];
            }
    for (int i = 0; i < m->n_sharing && i < m->n && m->has_host; i++) {
        text = weft_arena_print(a, "%s{between: [cpu, %s]}, ", text, name_of(m, i, a));
        bytes_per_s = m->host[i];
    }
    if (*text == '\0')
        return "";
    return weft_arena_print(a, "shared: [{name: bus, bandwidth: %.17gB/s, of: [%s]}]\n",
                            0.7 * bytes_per_s, text);
}

static const char *links_text(const small_machine *m, weft_arena *a)
{
    const char *text = "links:\n";

    for (int i = 0; i < m->n; i++) {
        if (m->has_host)
            text = weft_arena_print(a, "%s  - {between: [cpu, %s], %s, latency: %.17gs}\n", text,
                                    name_of(m, i, a), rate_text(m, m->host[i], a),
                                    m->host_latency_s + m->host_more_s[i]);
        for (int k = i + 1; k < m->n; k++)
            if (m->link[i][k] > 0)
                text = weft_arena_print(a, "%s  - {between: [%s, %s], %s, latency: %.17gs}\n", text,
                                        name_of(m, i, a), name_of(m, k, a),
                                        rate_text(m, m->link[i][k], a),
                                        m->latency_s + m->more_s[i][k]);
    }
    return text;
}

weft_platform *small_platform(const small_machine *m)
{
    weft_arena *a = weft_arena_new();
    const char *host = m->has_host ? "  - {name: cpu, model: roofline, peak_flops: 1e9, "
                                     "memory_bandwidth: 10GB/s}\n"
                                   : "";
    int first = m->is_swapped;
    const char *text = weft_arena_print(
        a, "schema: weft.platform/1\nname: small\n%s%s%s%sdevices:\n%s%s%s%s%s",
        m->has_host ? "host: cpu\n" : "", m->hides ? "overlap: true\n" : "",
        m->is_contend ? "transfer: contend\n" : "", m->has_trees ? "collectives: best\n" : "", host,
        kind_text(m, first, a), kind_text(m, !first, a), links_text(m, a), shared_text(m, a));
    weft_platform *p;

    CHECK_OK(weft_platform_parse(text, strlen(text), "small.yaml", &p));
    weft_arena_free(a);
    return p;
}
