/* SPDX-License-Identifier: MIT */
/* modularity.c: modules that hang together and can be scheduled one after the other.
 *
 * Interval program. On a depth-first topological order, best[j] = the largest modularity of a
 * partition of the first j nodes into intervals of at most `most` nodes:
 *     best[0] = 0,  best[j] = max over i of best[i] + part of the interval [i, j).
 * An interval's inside weight, entering and leaving sums grow with i falling, so each step costs
 * the edges of one node. Ties go to the longer interval.
 *
 * Louvain with levels.
 * 1. Every module has a level, all levels differ, and every edge between modules climbs. That is
 *    the invariant, and it makes the quotient acyclic.
 * 2. Moves: node by node, v goes to the neighbouring module B of largest gain among those with
 *    level(modules of predecessors) <= level(B) <= level(modules of successors), equal only for B
 *    itself. The invariant holds afterwards: only edges at v changed ends.
 * 3. Merges: A, B with an edge A -> B join if no path from A to B runs through a third module. A
 *    search from A among the levels between finds its descendants D there; B is not fed by D. The
 *    levels from A to B are dealt out again: first those not in D, then the union, then D, each in
 *    the old order. No edge leads from D to the others (it would make them descendants), so edges
 *    climb again.
 * 4. Rounds of 2 and 3 until nothing gains. Start 1: every node alone. Start 2: moves without
 *    regard to levels, repaired. The better end is kept (start 1 on a tie).
 *
 * Repair. Contract the strong components of the quotient: what is left is acyclic. A component too
 * large is cut by the interval program on its own nodes; in its place of the order of components,
 * the intervals follow each other, so every edge still climbs.
 *
 * The interval program is optimal among partitions of its order, the others promise a legal
 * partition only. Interval O(most (n + m)); Louvain O(n + m) for a round of moves, and for merges a
 * search each; rounds are capped. Leicht, Newman, PRL 100, 2008 (directed modularity); Blondel et
 * al., J. Stat. Mech. 2008 (moves). */
#include "modularity.h"
#include "dag.h"
#include "rows.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum { MOST_ROUNDS = 32, MOST_SWEEPS = 16 }; /* of moves and merges; of moves in a round */
static const double LEAST_GAIN = 1e-12;      /* below, rounding would make moves go in circles */

/* --- adjacency and value --------------------------------------------------------------------- */

/* The graph as every step needs it. */
typedef struct net {
    const weft_flow *flow;
    weft_module_rule rule;
    weft_rows out, in;          /* edges */
    weft_rows next;             /* nodes that edges out lead to */
    double *leaving, *entering; /* [n_nodes] weighted degrees */
    double total;
} net;

static net net_of(const weft_flow *f, const weft_module_rule *r, weft_arena *a)
{
    net x = {.flow = f, .rule = *r};

    x.out = weft_rows_by(f->from, f->n_edges, f->n_nodes, a);
    x.in = weft_rows_by(f->to, f->n_edges, f->n_nodes, a);
    x.next = (weft_rows){x.out.at, WEFT_NEW_RAW(a, int, f->n_edges)};
    for (int i = 0; i < f->n_edges; i++)
        x.next.item[i] = f->to[x.out.item[i]];
    x.leaving = WEFT_NEW(a, double, f->n_nodes);
    x.entering = WEFT_NEW(a, double, f->n_nodes);
    for (int e = 0; e < f->n_edges; e++) {
        x.leaving[f->from[e]] += f->weight[e];
        x.entering[f->to[e]] += f->weight[e];
        x.total += f->weight[e];
    }
    return x;
}

/* What a module adds to the modularity. */
static double part(const net *x, double inside, double leaving, double entering)
{
    if (!(x->total > 0))
        return 0;
    return inside / x->total - x->rule.gamma * (leaving / x->total) * (entering / x->total);
}

double weft_modularity(const weft_flow *f, const int *module, int n_modules, double gamma)
{
    weft_arena *a = weft_arena_new();
    weft_module_rule rule = {gamma, 1};
    net x = net_of(f, &rule, a);
    double *sum = WEFT_NEW(a, double, (size_t)n_modules * 3), value = 0;

    for (int e = 0; e < f->n_edges; e++) {
        if (module[f->from[e]] == module[f->to[e]])
            sum[3 * module[f->from[e]]] += f->weight[e];
    }
    for (int u = 0; u < f->n_nodes; u++) {
        sum[3 * module[u] + 1] += x.leaving[u];
        sum[3 * module[u] + 2] += x.entering[u];
    }
    for (int c = 0; c < n_modules; c++)
        value += part(&x, sum[3 * c], sum[3 * c + 1], sum[3 * c + 2]);
    weft_arena_free(a);
    return value;
}

/* --- intervals ------------------------------------------------------------------------------- */

/* Cuts order[0 .. n - 1] into intervals and writes module numbers from `first` on; returns the next
 * number. place[u] is the position in `order`, or -1 for nodes that are not in it. */
static int cut_order(const net *x, const int *order, int n, const int *place, weft_arena *a,
                     int first, int *module)
{
    const weft_flow *f = x->flow;
    size_t mark = weft_arena_mark(a);
    double *best = WEFT_NEW(a, double, n + 1);
    int *begin = WEFT_NEW(a, int, n + 1), *next = WEFT_NEW(a, int, n + 1), c = first;

    for (int j = 1; j <= n; j++) {
        double inside = 0, leaving = 0, entering = 0;

        best[j] = -INFINITY;
        for (int i = j - 1; i >= 0 && j - i <= x->rule.most; i--) {
            int u = order[i];
            double value;

            for (int k = x->out.at[u]; k < x->out.at[u + 1]; k++) {
                int at = place[f->to[x->out.item[k]]];

                if (at >= 0 && at < j)
                    inside += f->weight[x->out.item[k]];
            }
            leaving += x->leaving[u];
            entering += x->entering[u];
            value = best[i] + part(x, inside, leaving, entering);
            if (value >= best[j]) {
                best[j] = value;
                begin[j] = i;
            }
        }
    }
    for (int j = n; j > 0; j = begin[j])
        next[begin[j]] = j;
    for (int i = 0; i < n; i = next[i], c++) {
        for (int k = i; k < next[i]; k++)
            module[order[k]] = c;
    }
    weft_arena_rewind(a, mark);
    return c;
}

static int cut_all(const net *x, weft_arena *a, int *module)
{
    int n = x->flow->n_nodes, *order = weft_depth_first(x->next, n, a),
        *place = WEFT_NEW(a, int, n);

    for (int i = 0; i < n; i++)
        place[order[i]] = i;
    return cut_order(x, order, n, place, a, 0, module);
}

int weft_modules_interval(const weft_flow *f, const weft_module_rule *r, weft_arena *a, int *module)
{
    size_t mark = weft_arena_mark(a);
    net x = net_of(f, r, a);
    int n_modules = cut_all(&x, a, module);

    weft_arena_rewind(a, mark);
    return n_modules;
}

/* --- repair ---------------------------------------------------------------------------------- */

/* The quotient of a partition: an edge of the graph is an edge between its modules. */
static weft_rows quotient_of(const net *x, const int *module, int n_modules, weft_arena *a)
{
    const weft_flow *f = x->flow;
    int *from = WEFT_NEW(a, int, f->n_edges);
    weft_rows out;

    for (int e = 0; e < f->n_edges; e++)
        from[e] = module[f->from[e]];
    out = weft_rows_by(from, f->n_edges, n_modules, a);
    for (int i = 0; i < f->n_edges; i++)
        out.item[i] = module[f->to[out.item[i]]];
    return out;
}

/* Components of the quotient: their numbers climb along edges. */
static int components(const net *x, const int *module, int n_modules, weft_arena *a, int *component)
{
    int n;
    weft_rows list = weft_strong_components(quotient_of(x, module, n_modules, a), n_modules, a, &n);

    for (int c = 0; c < n; c++) {
        for (int i = list.at[c]; i < list.at[c + 1]; i++)
            component[list.item[i]] = n - 1 - c;
    }
    return n;
}

/* Module numbers without holes, in order of first use; returns their number. */
static int compact(int n, int *module, weft_arena *a)
{
    size_t mark = weft_arena_mark(a);
    int most = 0, n_modules = 0, *number;

    for (int u = 0; u < n; u++)
        most = module[u] > most ? module[u] : most;
    number = WEFT_NEW(a, int, most + 1);
    for (int u = 0; u < n; u++) {
        if (number[module[u]] == 0)
            number[module[u]] = ++n_modules;
        module[u] = number[module[u]] - 1;
    }
    weft_arena_rewind(a, mark);
    return n_modules;
}

/* Node lists of the components, each in depth-first order. */
static weft_rows nodes_by(const int *component, int n_components, const int *order, int n,
                          weft_arena *a)
{
    int *owner = WEFT_NEW(a, int, n);
    weft_rows x;

    for (int i = 0; i < n; i++)
        owner[i] = component[order[i]];
    x = weft_rows_by(owner, n, n_components, a);
    for (int i = 0; i < n; i++)
        x.item[i] = order[x.item[i]];
    return x;
}

static int repair(const net *x, weft_arena *a, int *module)
{
    int n = x->flow->n_nodes, n_modules = compact(n, module, a), n_found, c = 0;
    int *component = WEFT_NEW(a, int, n_modules), *owner = WEFT_NEW(a, int, n);
    int *place = WEFT_NEW(a, int, n), *order = weft_depth_first(x->next, n, a);
    weft_rows list;

    n_found = components(x, module, n_modules, a, component);
    for (int u = 0; u < n; u++) {
        owner[u] = component[module[u]];
        place[u] = -1;
    }
    list = nodes_by(owner, n_found, order, n, a);
    for (int k = 0; k < n_found; k++) {
        int first = list.at[k], size = list.at[k + 1] - first;

        if (size <= x->rule.most) {
            for (int i = 0; i < size; i++)
                module[list.item[first + i]] = c;
            c++;
            continue;
        }
        for (int i = 0; i < size; i++)
            place[list.item[first + i]] = i;
        c = cut_order(x, list.item + first, size, place, a, c, module);
        for (int i = 0; i < size; i++)
            place[list.item[first + i]] = -1;
    }
    return c;
}

int weft_modules_repair(const weft_flow *f, const weft_module_rule *r, weft_arena *a, int *module)
{
    size_t mark = weft_arena_mark(a);
    net x = net_of(f, r, a);
    int n_modules = repair(&x, a, module);

    weft_arena_rewind(a, mark);
    return n_modules;
}

/* --- Louvain --------------------------------------------------------------------------------- */

/* A partition that grows. Modules are numbered below n_nodes; empty ones stay unused. */
typedef struct growth {
    const net *x;
    bool is_free;                       /* levels are not looked at */
    int *module, *size, *level, *holds; /* holds[level]: the module there, or -1 */
    int *head, *next;                   /* module -> first node, node -> next; for merges */
    double *leaving, *entering;         /* of modules */
    double *tie;                        /* [module] weight to the node or module in hand */
    int *near, n_near;                  /* modules with a tie */
    bool *is_near;
    int *stack; /* scratch of searches */
    bool *is_below;
} growth;

static growth growth_new(const net *x, bool is_free, weft_arena *a)
{
    int n = x->flow->n_nodes;
    growth g = {.x = x, .is_free = is_free};

    g.size = WEFT_NEW(a, int, n);
    g.level = WEFT_NEW(a, int, n);
    g.holds = WEFT_NEW(a, int, n);
    g.head = WEFT_NEW(a, int, n);
    g.next = WEFT_NEW(a, int, n);
    g.leaving = WEFT_NEW(a, double, n);
    g.entering = WEFT_NEW(a, double, n);
    g.tie = WEFT_NEW(a, double, n);
    g.near = WEFT_NEW(a, int, n);
    g.is_near = WEFT_NEW(a, bool, n);
    g.stack = WEFT_NEW(a, int, n);
    g.is_below = WEFT_NEW(a, bool, n);
    return g;
}

/* From module numbers that climb along edges: they are the levels. */
static void growth_start(growth *g, int *module)
{
    int n = g->x->flow->n_nodes;

    g->module = module;
    for (int c = 0; c < n; c++) {
        g->size[c] = 0;
        g->leaving[c] = g->entering[c] = 0;
        g->level[c] = g->holds[c] = c;
    }
    for (int u = 0; u < n; u++) {
        g->size[g->module[u]]++;
        g->leaving[g->module[u]] += g->x->leaving[u];
        g->entering[g->module[u]] += g->x->entering[u];
    }
}

static void add_tie(growth *g, int c, double weight)
{
    if (!g->is_near[c]) {
        g->is_near[c] = true;
        g->near[g->n_near++] = c;
    }
    g->tie[c] += weight;
}

static void drop_ties(growth *g)
{
    for (int i = 0; i < g->n_near; i++) {
        g->tie[g->near[i]] = 0;
        g->is_near[g->near[i]] = false;
    }
    g->n_near = 0;
}

/* Ties of node v, and the levels between which it may move. */
static void tie_node(growth *g, int v, int *lowest, int *highest)
{
    const net *x = g->x;
    const weft_flow *f = x->flow;

    *lowest = -1;
    *highest = INT_MAX;
    for (int i = x->in.at[v]; i < x->in.at[v + 1]; i++) {
        int c = g->module[f->from[x->in.item[i]]];

        add_tie(g, c, f->weight[x->in.item[i]]);
        *lowest = g->level[c] > *lowest ? g->level[c] : *lowest;
    }
    for (int i = x->out.at[v]; i < x->out.at[v + 1]; i++) {
        int c = g->module[f->to[x->out.item[i]]];

        add_tie(g, c, f->weight[x->out.item[i]]);
        *highest = g->level[c] < *highest ? g->level[c] : *highest;
    }
}

/* What modularity gains if two disjoint sets become one module. */
static double joint_gain(const net *x, double tie, const double one[2], const double other[2])
{
    if (!(x->total > 0))
        return 0;
    return tie / x->total - x->rule.gamma * ((one[0] / x->total) * (other[1] / x->total) +
                                             (other[0] / x->total) * (one[1] / x->total));
}

/* What modularity gains if v, taken out of its module, joins c. */
static double join_gain(const growth *g, int v, int c)
{
    bool is_home = c == g->module[v];
    double one[2] = {g->x->leaving[v], g->x->entering[v]};
    double other[2] = {g->leaving[c] - (is_home ? one[0] : 0),
                       g->entering[c] - (is_home ? one[1] : 0)};

    return joint_gain(g->x, g->tie[c], one, other);
}

static void move_node(growth *g, int v, int c)
{
    int from = g->module[v];

    g->size[from]--;
    g->leaving[from] -= g->x->leaving[v];
    g->entering[from] -= g->x->entering[v];
    g->size[c]++;
    g->leaving[c] += g->x->leaving[v];
    g->entering[c] += g->x->entering[v];
    g->module[v] = c;
}

/* Moves v to the best module near it; false if it stays. */
static bool improve_node(growth *g, int v)
{
    int lowest, highest, best = g->module[v];
    double most;

    tie_node(g, v, &lowest, &highest);
    most = join_gain(g, v, best);
    for (int i = 0; i < g->n_near; i++) {
        int c = g->near[i];
        double gain;

        if (c == g->module[v] || g->size[c] >= g->x->rule.most ||
            (!g->is_free && (g->level[c] < lowest || g->level[c] > highest)))
            continue;
        gain = join_gain(g, v, c);
        if (gain > most + LEAST_GAIN) {
            most = gain;
            best = c;
        }
    }
    drop_ties(g);
    if (best == g->module[v])
        return false;
    move_node(g, v, best);
    return true;
}

static bool move_nodes(growth *g)
{
    bool has_moved = false, again = true;

    for (int sweep = 0; again && sweep < MOST_SWEEPS; sweep++) {
        again = false;
        for (int v = 0; v < g->x->flow->n_nodes; v++)
            again |= improve_node(g, v);
        has_moved |= again;
    }
    return has_moved;
}

/* --- merges */

static void list_nodes(growth *g)
{
    int n = g->x->flow->n_nodes;

    for (int c = 0; c < n; c++)
        g->head[c] = -1;
    for (int u = n - 1; u >= 0; u--) {
        g->next[u] = g->head[g->module[u]];
        g->head[g->module[u]] = u;
    }
}

/* Marks the modules below `from` on levels up to that of `to`. False if `to` is below one of them:
 * there is a way through a third. The marks stay until clear_marks. */
static bool mark_between(growth *g, int from, int to)
{
    const net *x = g->x;
    int n_stack = 0;
    bool is_alone = true;

    g->stack[n_stack++] = from;
    while (n_stack > 0) {
        int c = g->stack[--n_stack];

        for (int u = g->head[c]; u >= 0; u = g->next[u]) {
            for (int i = x->out.at[u]; i < x->out.at[u + 1]; i++) {
                int d = g->module[x->flow->to[x->out.item[i]]];

                if (d == to)
                    is_alone &= c == from;
                if (d == c || g->level[d] >= g->level[to] || g->is_below[d])
                    continue;
                g->is_below[d] = true;
                g->stack[n_stack++] = d;
            }
        }
    }
    return is_alone;
}

static void clear_marks(growth *g, int from, int to)
{
    for (int k = g->level[from]; k <= g->level[to]; k++) {
        if (g->holds[k] >= 0)
            g->is_below[g->holds[k]] = false;
    }
}

/* Deals out the levels again: those not below `low`, the union, those below. The marks go. */
static void deal_levels(growth *g, int low, int high)
{
    int first = g->level[low], last = g->level[high], at = first, n_below = 0;

    for (int k = first + 1; k < last; k++) {
        int c = g->holds[k];

        if (c >= 0 && g->is_below[c])
            g->stack[n_below++] = c;
        else if (c >= 0)
            g->holds[at++] = c;
    }
    g->holds[at++] = low;
    for (int i = 0; i < n_below; i++) {
        g->holds[at++] = g->stack[i];
        g->is_below[g->stack[i]] = false;
    }
    while (at <= last)
        g->holds[at++] = -1;
    for (int k = first; k <= last; k++) {
        if (g->holds[k] >= 0)
            g->level[g->holds[k]] = k;
    }
}

static void unite(growth *g, int low, int high)
{
    int last = g->head[low];

    deal_levels(g, low, high);
    for (int u = g->head[high]; u >= 0; u = g->next[u])
        g->module[u] = low;
    while (g->next[last] >= 0)
        last = g->next[last];
    g->next[last] = g->head[high];
    g->head[high] = -1;
    g->size[low] += g->size[high];
    g->leaving[low] += g->leaving[high];
    g->entering[low] += g->entering[high];
    g->size[high] = 0;
    g->leaving[high] = g->entering[high] = 0;
}

static void tie_module(growth *g, int low)
{
    const net *x = g->x;

    for (int u = g->head[low]; u >= 0; u = g->next[u]) {
        for (int i = x->out.at[u]; i < x->out.at[u + 1]; i++) {
            int c = g->module[x->flow->to[x->out.item[i]]];

            if (c != low)
                add_tie(g, c, x->flow->weight[x->out.item[i]]);
        }
    }
}

/* The module that `low` gains most by taking in, of those it feeds and has room for; -1: none. */
static int best_partner(growth *g, int low)
{
    double one[2] = {g->leaving[low], g->entering[low]}, most = LEAST_GAIN;
    int best = -1;

    tie_module(g, low);
    for (int i = 0; i < g->n_near; i++) {
        int c = g->near[i];
        double other[2] = {g->leaving[c], g->entering[c]}, gain;

        if (g->size[low] + g->size[c] > g->x->rule.most)
            continue;
        gain = joint_gain(g->x, g->tie[c], one, other);
        if (gain > most || (gain == most && best >= 0 && c < best)) {
            bool is_alone = mark_between(g, low, c);

            clear_marks(g, low, c);
            if (!is_alone)
                continue;
            most = gain;
            best = c;
        }
    }
    drop_ties(g);
    return best;
}

static bool merge_modules(growth *g)
{
    bool has_merged = false;

    list_nodes(g);
    for (int low = 0; low < g->x->flow->n_nodes; low++) {
        int high;

        while (g->size[low] > 0 && (high = best_partner(g, low)) >= 0) {
            mark_between(g, low, high);
            unite(g, low, high);
            has_merged = true;
        }
    }
    return has_merged;
}

/* From a partition whose numbers climb; the result's numbers climb too. */
static int grow(const net *x, weft_arena *a, int *module)
{
    growth g = growth_new(x, false, a);
    int n = x->flow->n_nodes, n_modules = 0;
    bool again = true;

    growth_start(&g, module);
    for (int round = 0; again && round < MOST_ROUNDS; round++) {
        again = move_nodes(&g);
        again |= merge_modules(&g);
    }
    for (int k = 0; k < n; k++) { /* empty levels fall out */
        if (g.holds[k] >= 0 && g.size[g.holds[k]] > 0)
            g.stack[g.holds[k]] = n_modules++;
    }
    for (int u = 0; u < n; u++)
        module[u] = g.stack[module[u]];
    return n_modules;
}

/* Moves without regard to cycles, then repair. */
static void start_freely(const net *x, weft_arena *a, int *module)
{
    growth g = growth_new(x, true, a);

    for (int u = 0; u < x->flow->n_nodes; u++)
        module[u] = u;
    growth_start(&g, module);
    move_nodes(&g);
    repair(x, a, module);
}

int weft_modules_louvain(const weft_flow *f, const weft_module_rule *r, weft_arena *a, int *module)
{
    size_t mark = weft_arena_mark(a);
    net x = net_of(f, r, a);
    int *other = WEFT_NEW(a, int, f->n_nodes), n_modules, n_others;

    for (int u = 0; u < f->n_nodes; u++)
        module[u] = u;
    n_modules = grow(&x, a, module);
    start_freely(&x, a, other);
    n_others = grow(&x, a, other);
    if (weft_modularity(f, other, n_others, r->gamma) >
        weft_modularity(f, module, n_modules, r->gamma)) {
        memcpy(module, other, sizeof *module * (size_t)f->n_nodes);
        n_modules = n_others;
    }
    weft_arena_rewind(a, mark);
    return n_modules;
}
