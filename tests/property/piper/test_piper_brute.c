/* SPDX-License-Identifier: MIT */
/* Plans under Piper's objective against all plans there are: chains and other small networks, with
 * memory that is plenty, short, or too little; every plan is measured by weft_piper_measure. */
#include "check.h"
#include "piper.h"

enum { N_NETWORKS = 2000, MOST_NODES = 5, MOST_WIDTHS = 2, MOST_MODES = 3 };

/* --- random inputs --------------------------------------------------------------------------- */

/* What an input may have besides; every combination is below N_TRAITS. */
enum {
    TRAIT_ANY_EDGES = 1, /* not a chain */
    TRAIT_OWN_SYNC = 2,  /* parameters and edge bytes depend on the mode */
    TRAIT_TIES = 4,      /* figures are 0, 1, 2 */
    TRAIT_GAPS = 8,      /* some nodes lack a width */
    N_TRAITS = 16,
};

static double figure(weft_rng *r, unsigned traits, double most)
{
    return traits & TRAIT_TIES ? weft_rng_below(r, 3) : most * weft_rng_real(r);
}

static void put_sync(weft_rng *r, unsigned traits, weft_doc *mode, const char *key,
                     const bool *is_there, weft_arena *a)
{
    weft_doc *by_id = weft_doc_new(a, WEFT_DOC_MAP);

    for (int v = 0; v < MOST_NODES; v++)
        if (is_there[v])
            weft_put_real(a, by_id, weft_arena_print(a, "%d", v), figure(r, traits, 20));
    weft_doc_put(a, mode, key, by_id);
}

typedef struct wires {
    bool in[MOST_NODES][MOST_NODES], out[MOST_NODES][MOST_NODES];
} wires;

static weft_doc *draw_mode(weft_rng *r, unsigned traits, const wires *x, int u, weft_arena *a)
{
    weft_doc *m = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_text(a, m, "id", "drawn");
    weft_put_real(a, m, "timePerSample", figure(r, traits, 10));
    weft_put_real(a, m, "parameterSize", figure(r, traits, 40));
    weft_put_real(a, m, "memoryUsageA", weft_rng_below(r, 40));
    weft_put_real(a, m, "memoryUsageB", weft_rng_below(r, 60));
    put_sync(r, traits, m, "syncTimeFw", x->in[u], a);
    put_sync(r, traits, m, "syncTimeBw", x->out[u], a);
    return m;
}

/* Modes of one node and width; unless TRAIT_OWN_SYNC, what must be shared is. */
static weft_doc *draw_modes(weft_rng *r, unsigned traits, const wires *x, int u, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);
    int n = 1 + weft_rng_below(r, MOST_MODES);

    for (int i = 0; i < n; i++) {
        weft_doc *m = draw_mode(r, traits, x, u, a);

        for (int k = 0; i > 0 && !(traits & TRAIT_OWN_SYNC) && k < m->n; k++)
            if (strcmp(m->key[k], "parameterSize") == 0 || strncmp(m->key[k], "sync", 4) == 0)
                m->item[k] = list->item[0]->item[k];
        weft_doc_add(a, list, m);
    }
    return list;
}

static void draw_node(weft_rng *r, unsigned traits, const wires *x, int u, weft_doc *nodes,
                      weft_arena *a)
{
    static const char *const width[MOST_WIDTHS] = {"1", "2"};
    weft_doc *node = weft_doc_new(a, WEFT_DOC_MAP), *modes = weft_doc_new(a, WEFT_DOC_MAP);
    int lacks = traits & TRAIT_GAPS ? weft_rng_below(r, 4) : -1;

    weft_put_int(a, node, "id", u);
    weft_put_text(a, node, "name", weft_arena_print(a, "n%d", u));
    for (int w = 0; w < MOST_WIDTHS; w++)
        if (w != lacks)
            weft_doc_put(a, modes, width[w], draw_modes(r, traits, x, u, a));
    weft_doc_put(a, node, "TMPCs", modes);
    weft_doc_add(a, nodes, node);
}

static void draw_edges(weft_rng *r, unsigned traits, int n, wires *x, weft_doc *edges,
                       weft_arena *a)
{
    for (int v = 1; v < n; v++)
        for (int u = 0; u < v; u++) {
            if (traits & TRAIT_ANY_EDGES ? weft_rng_below(r, 2) == 0 : u != v - 1)
                continue;
            weft_doc *edge = weft_doc_new(a, WEFT_DOC_MAP);

            weft_put_int(a, edge, "sourceId", u);
            weft_put_int(a, edge, "destId", v);
            weft_put_real(a, edge, "communicationCost", figure(r, traits, 20));
            weft_doc_add(a, edges, edge);
            x->in[v][u] = x->out[u][v] = true;
        }
}

static weft_piper *draw(uint64_t seed, weft_arena *a)
{
    weft_rng r = weft_rng_seed(seed);
    unsigned traits = (unsigned)(seed % N_TRAITS);
    int n = 1 + weft_rng_below(&r, MOST_NODES);
    weft_doc *root = weft_doc_new(a, WEFT_DOC_MAP);
    weft_doc *nodes = weft_doc_new(a, WEFT_DOC_LIST), *edges = weft_doc_new(a, WEFT_DOC_LIST);
    weft_piper *p = NULL;
    wires x = {0};

    draw_edges(&r, traits, n, &x, edges, a);
    for (int u = 0; u < n; u++)
        draw_node(&r, traits, &x, u, nodes, a);
    weft_put_int(a, root, "maxDevices", 1 + weft_rng_below(&r, 5));
    weft_put_int(a, root, "mbsInBatch", 1 + weft_rng_below(&r, 8));
    weft_put_real(a, root, "maxMemoryPerDevice", 20 + weft_rng_below(&r, 60 * n));
    weft_put_real(a, root, "bandwidth", 1 + 20 * weft_rng_real(&r));
    weft_doc_put(a, root, "nodes", nodes);
    weft_doc_put(a, root, "edges", edges);
    const char *text = weft_doc_json(root, 0, a);
    CHECK_OK(weft_piper_parse(text, strlen(text), "drawn", NULL, &p));
    return p;
}

/* --- all plans ------------------------------------------------------------------------------- */

typedef struct brute {
    const weft_piper *p;
    weft_arena *a;
    weft_piper_plan plan;
    double best_s;
    bool is_short; /* a plan without a fault but its memory exists */
} brute;

static void try_modes(brute *b, int u)
{
    const weft_piper *p = b->p;

    if (u == p->n_nodes) {
        size_t mark = weft_arena_mark(b->a);
        weft_piper_measures m;

        if (weft_piper_measure(p, &b->plan, b->a, &m) == WEFT_OK)
            b->best_s = fmin(b->best_s, m.value_s);
        else
            b->is_short |= strstr(weft_message(), "bytes") != NULL;
        weft_arena_rewind(b->a, mark);
        return;
    }
    const int *at = &p->mode_at[u * p->n_widths + b->plan.width[b->plan.stage[u]]];
    for (b->plan.mode[u] = at[0]; b->plan.mode[u] < at[1]; b->plan.mode[u]++)
        try_modes(b, u + 1);
}

static void try_stages(brute *b, int stage, int n_free)
{
    const weft_piper *p = b->p;

    if (stage == b->plan.n_stages) {
        try_modes(b, 0);
        return;
    }
    for (int w = 0; w < p->n_widths; w++)
        for (int d = 1; d * p->width[w] <= n_free; d++) {
            if (p->n_microbatches % d != 0)
                continue;
            b->plan.width[stage] = w;
            b->plan.replicas[stage] = d;
            try_stages(b, stage + 1, n_free - d * p->width[w]);
        }
}

/* Stages of the nodes from u on; no node before its predecessors, no stage empty. */
static void try_nodes(brute *b, int u)
{
    const weft_piper *p = b->p;
    int first = 0;
    unsigned used = 0;

    if (u == p->n_nodes) {
        for (int v = 0; v < p->n_nodes; v++)
            used |= 1u << b->plan.stage[v];
        if ((used & (used + 1)) != 0) /* an empty stage before a full one */
            return;
        for (b->plan.n_stages = 0; used >> b->plan.n_stages; b->plan.n_stages++)
            ;
        try_stages(b, 0, p->n_devices);
        return;
    }
    for (int k = p->in_at[u]; k < p->in_at[u + 1]; k++) {
        int before = b->plan.stage[p->edge_from[p->in_edge[k]]];
        first = before > first ? before : first;
    }
    for (b->plan.stage[u] = first; b->plan.stage[u] < p->n_nodes; b->plan.stage[u]++)
        try_nodes(b, u + 1);
}

/* The same with hardly any room for the choice of modes: less may be proved, nothing false. */
static bool loses_proof(const weft_piper *p, double best_s, weft_arena *a)
{
    weft_piper_options options = {.max_cuts = 1000, .max_points = 1};
    weft_piper_solution s;
    weft_run run = {.limit_s = INFINITY};

    CHECK_OK(weft_piper_solve(p, &options, &run, a, &s));
    CHECK(s.bound_s <= best_s);
    if (s.outcome == WEFT_OPTIMAL)
        CHECK(s.value_s <= best_s * (1 + 2e-9));
    if (s.outcome == WEFT_BOUNDED)
        CHECK(s.value_s >= best_s * (1 - 1e-12));
    if (s.outcome == WEFT_INFEASIBLE)
        CHECK(best_s == INFINITY);
    return s.outcome == WEFT_BOUNDED;
}

TEST(plans_are_the_best_of_all)
{
    int n_none = 0, n_short = 0, n_several = 0, n_wide = 0, n_replicated = 0, n_lost = 0;

    for (uint64_t seed = 1; seed <= (uint64_t)N_DRAWN(N_NETWORKS); seed++) {
        weft_arena *a = weft_arena_new();
        weft_piper *p = draw(seed, a);
        int room[4][MOST_NODES] = {0};
        brute b = {
            p, weft_arena_new(), {0, room[0], room[1], room[2], room[3]},
              INFINITY, false
        };
        weft_piper_options options;
        weft_piper_solution s;
        weft_run run = {.limit_s = INFINITY};

        try_nodes(&b, 0);
        weft_options_default(weft_piper_table, &options);
        CHECK_OK(weft_piper_solve(p, &options, &run, a, &s));
        if (b.best_s == INFINITY) {
            CHECK_INT(s.outcome, WEFT_INFEASIBLE);
            CHECK(s.reason != NULL);
            n_none++;
        } else {
            CHECK_INT(s.outcome, WEFT_OPTIMAL);
            if (fabs(s.value_s - b.best_s) > 2e-9 * b.best_s)
                fail_msg("seed %d: %.12g, the best is %.12g", (int)seed, s.value_s, b.best_s);
            CHECK(s.bound_s <= b.best_s);
            n_short += b.is_short;
            n_several += s.plan.n_stages > 1;
            n_wide += p->width[s.plan.width[0]] > 1;
            n_replicated += s.plan.replicas[0] > 1;
        }
        n_lost += loses_proof(p, b.best_s, a);
        weft_arena_free(b.a);
        weft_piper_free(p);
        weft_arena_free(a);
    }
    print_message("%d without a plan, %d short of memory, %d with several stages, %d wide, %d "
                  "replicated, %d without room for a proof\n",
                  n_none, n_short, n_several, n_wide, n_replicated, n_lost);
    CHECK(n_none >= N_DRAWN(50) && n_short >= N_DRAWN(300) && n_several >= N_DRAWN(100));
    CHECK(n_wide >= N_DRAWN(50) && n_replicated >= N_DRAWN(100) && n_lost >= N_DRAWN(10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_are_the_best_of_all),
    };

    return RUN_TESTS(tests);
}
