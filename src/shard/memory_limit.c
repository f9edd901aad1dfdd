/* SPDX-License-Identifier: MIT */
/* memory_limit.c: splits under limits of memory, by Lagrange's relaxation.
 *
 * Weights of all steps of a set lie on its members from the start to the end: for each set i
 *
 *     W_i(x) = sum of weight bytes of steps on i  <=  C_i = memory - spare.
 *
 *  1. Without prices: if the best choice fits, it is the best that fits.
 *  2. With prices q_i >= 0 on bytes, L(q) = min_x [ T(x) + sum q_i W_i(x) ] - sum q_i C_i is a
 * lower bound for every x that fits, since the terms added are <= 0 for it. Prices follow the
 *     subgradient W - C with Polyak's step; each round is one elimination. Its choice, if it fits,
 *     is a plan; else it is repaired: step by step the change that costs the fewest seconds for
 *     each byte by which sets are too full (equal steps get equal states from an elimination, and
 *     must part to fill several sets).
 *  3. If no choice fitted, prices are raised until one does, or until nothing gets smaller.
 *  4. The bound mixes choices that do not go together: all steps on one set now, on the other then.
 *     So steps with many edges are tied to each of the sets in turn, the node of lowest bound
 *     first, with prices of its own; the lowest bound of the nodes that are left is the bound.
 *  5. A plan is improved step by step: every state that fits and makes the sum smaller is taken,
 *     until there is none.
 *
 * Splits that store parts of weights (cuts of channels, rotating shards) are what prices make
 * attractive. If even the smallest states of all steps together exceed the sum of all memories,
 * nothing fits: bound INFINITY. */
#include "memory_limit.h"
#include "rows.h"

#include <math.h>
#include <string.h>

enum { MOST_ROUNDS = 40, RAISES = 40, MOST_NODES = 60 };

static const double MOST_BYTES = 1e18; /* instead of no limit: differences stay finite */
static const double ROUNDING = 1e-13;  /* of sums, relative: what is paid may exceed the seconds */

typedef struct limited {
    const weft_inner *in;
    const int *order;
    double *limit;     /* [n_sets] C */
    double *price;     /* [n_sets] q */
    double *used;      /* [n_sets] W of the last choice */
    const int *set_of; /* [n_steps] sets that steps are tied to, -1: none */
    double bound;      /* proved for the choices that keep to that */
    weft_rows ends;    /* of pairs, by step */
    weft_memory_limit_answer *out;
    weft_arena *scratch;
} limited;

static bool does_fit(const limited *r)
{
    for (int i = 0; i < r->in->n_sets; i++)
        if (r->used[i] > r->limit[i])
            return false;
    return true;
}

/* Seconds of step v in a state, with its edges to the others as they are. */
static double cost_around(const limited *r, int v, int x, const int *state)
{
    const weft_inner *in = r->in;
    double s = in->model.own[v][x];

    for (int i = r->ends.at[v]; i < r->ends.at[v + 1]; i++) {
        const weft_pairwise_min_pair *p = &in->model.pair[r->ends.item[i] / 2];
        int from = p->u == v ? x : state[p->u], to = p->v == v ? x : state[p->v];

        s += p->cost[from * in->model.n_states[p->v] + to];
    }
    return s;
}

/* Ends of pairs by step: end 2 i of pair i is its first, the next one its second. */
static weft_rows find_ends(const weft_inner *in, weft_arena *a)
{
    int n = in->model.n_pairs, *step = WEFT_NEW(a, int, 2 * n + 1);

    for (int i = 0; i < n; i++) {
        step[2 * i] = in->model.pair[i].u;
        step[2 * i + 1] = in->model.pair[i].v;
    }
    return weft_rows_by(step, 2 * n, in->model.n_vars, a);
}

static int n_pairs(const limited *r, int v)
{
    return r->ends.at[v + 1] - r->ends.at[v];
}

/* Bytes over the limits of all sets together. */
static double overflow(const limited *r)
{
    double bytes = 0;

    for (int i = 0; i < r->in->n_sets; i++)
        bytes += fmax(0, r->used[i] - r->limit[i]);
    return bytes;
}

/* A change of one step's state that relieves sets that are too full. */
typedef struct relief {
    int step, state;
    double price; /* seconds a byte */
} relief;

static void find_relief(const limited *r, const int *state, int v, relief *best)
{
    const weft_inner *in = r->in;
    int c = in->tables->class_of[v], from = weft_inner_set(in, v, state[v]);
    double now = cost_around(r, v, state[v], state), old = in->weight[c][state[v]];

    if (r->used[from] <= r->limit[from] || !(old > 0))
        return;
    for (int x = 0; x < in->model.n_states[v]; x++) {
        int to = weft_inner_set(in, v, x);
        double less =
            fmin(r->used[from] - r->limit[from], old - (to == from ? in->weight[c][x] : 0));
        double price;

        if (!(less > 0) || (to != from && r->used[to] + in->weight[c][x] > r->limit[to]))
            continue;
        price = (cost_around(r, v, x, state) - now) / less;
        if (price < best->price)
            *best = (relief){v, x, price};
    }
}

/* Makes a choice fit by changing states one by one, the cheapest byte first. */
static bool repair(limited *r, int *state)
{
    const weft_inner *in = r->in;

    for (int k = 0; k < 4 * in->model.n_vars && overflow(r) > 0; k++) {
        relief best = {-1, 0, INFINITY};
        int c, from;

        for (int v = 0; v < in->model.n_vars; v++)
            find_relief(r, state, v, &best);
        if (best.step < 0)
            return false;
        c = in->tables->class_of[best.step];
        from = weft_inner_set(in, best.step, state[best.step]);
        r->used[from] -= in->weight[c][state[best.step]];
        r->used[weft_inner_set(in, best.step, best.state)] += in->weight[c][best.state];
        state[best.step] = best.state;
    }
    return does_fit(r);
}

static void keep(limited *r, const int *state)
{
    double value = weft_inner_value(r->in, state);

    if (value < r->out->value) {
        r->out->value = value;
        memcpy(r->out->state, state, sizeof *state * (size_t)r->in->model.n_vars);
    }
}

/* One elimination at the prices; false if it found no choice. That none is allowed is proved only
 * if its bound says so: where tables were too large, it may have missed them. */
static bool ask(limited *r)
{
    size_t mark = weft_arena_mark(r->scratch);
    weft_pairwise_min_answer m;
    double paid = 0;

    weft_inner_solve(r->in, &(weft_inner_request){r->order, r->price, r->set_of}, r->scratch, &m);
    for (int i = 0; i < r->in->n_sets; i++)
        paid += r->price[i] * r->limit[i];
    r->bound = fmax(r->bound, m.bound - paid - ROUNDING * fabs(paid));
    if (m.value == INFINITY) {
        weft_arena_rewind(r->scratch, mark);
        return false;
    }
    weft_inner_weights(r->in, m.state, r->used);
    if (does_fit(r)) {
        keep(r, m.state);
    } else {
        double *used = weft_arena_copy(r->scratch, r->used, sizeof *used * (size_t)r->in->n_sets);

        if (repair(r, m.state))
            keep(r, m.state);
        memcpy(r->used, used, sizeof *used * (size_t)r->in->n_sets); /* prices follow the choice */
    }
    weft_arena_rewind(r->scratch, mark);
    return true;
}

/* Prices one step along the subgradient; false if there is none left. */
static bool move(limited *r, double target)
{
    double square = 0, step;

    for (int i = 0; i < r->in->n_sets; i++) {
        double g = r->used[i] - r->limit[i];

        square += r->price[i] > 0 || g > 0 ? g * g : 0;
    }
    if (!(square > 0) || !(target > r->bound))
        return false;
    step = (target - r->bound) / square;
    for (int i = 0; i < r->in->n_sets; i++)
        r->price[i] = fmax(0, r->price[i] + step * (r->used[i] - r->limit[i]));
    return true;
}

static void search_prices(limited *r, double upper, const weft_run *run)
{
    double scale = 1.2;

    for (int round = 0; round < MOST_ROUNDS && !weft_run_is_over(run); round++) {
        double before = r->bound;
        double known = fmin(upper, r->out->value);
        double target =
            known < INFINITY ? before + scale * (known - before) : before * 1.05 + 1e-12;

        if (before >= upper || r->out->value <= before * (1 + 1e-9) || !move(r, target) || !ask(r))
            return;
        if (r->bound <= before)
            scale = fmax(0.05, scale * 0.8);
    }
}

/* Raises prices of sets that are too full until a choice fits. */
static void force(limited *r, const weft_run *run)
{
    for (int i = 0; i < r->in->n_sets; i++)
        if (!(r->price[i] > 0))
            r->price[i] = fmax(r->bound, 1e-9) / fmax(r->limit[i], 1) * 0.01;
    for (int k = 0; k < RAISES && r->out->value == INFINITY && !weft_run_is_over(run); k++) {
        if (!ask(r))
            return;
        for (int i = 0; i < r->in->n_sets; i++)
            if (r->used[i] > r->limit[i])
                r->price[i] *= 1.6;
    }
}

/* Takes the best state of step v that fits; true if it is a better one. */
static bool improve_step(limited *r, int v)
{
    const weft_inner *in = r->in;
    int c = in->tables->class_of[v], now = r->out->state[v], set = weft_inner_set(in, v, now);
    double least = cost_around(r, v, now, r->out->state) * (1 - 1e-12);
    int best = now;

    for (int x = 0; x < in->model.n_states[v]; x++) {
        int i = weft_inner_set(in, v, x);
        double used = r->used[i] + in->weight[c][x] - (i == set ? in->weight[c][now] : 0), s;

        if (used > r->limit[i])
            continue;
        s = cost_around(r, v, x, r->out->state);
        if (s < least) {
            least = s;
            best = x;
        }
    }
    r->used[set] -= in->weight[c][now];
    r->used[weft_inner_set(in, v, best)] += in->weight[c][best];
    r->out->state[v] = best;
    return best != now;
}

static void improve(limited *r, const weft_run *run)
{
    bool is_better = true;

    weft_inner_weights(r->in, r->out->state, r->used);
    while (is_better && !weft_run_is_over(run)) {
        is_better = false;
        for (int v = 0; v < r->in->model.n_vars; v++)
            is_better = improve_step(r, v) || is_better;
    }
    r->out->value = weft_inner_value(r->in, r->out->state);
}

/* Do all weights, in their smallest parts, exceed all memories together? */
static bool is_hopeless(const limited *r)
{
    const weft_inner *in = r->in;
    double least = 0, all = 0;

    for (int i = 0; i < in->n_sets; i++)
        all += fmax(0, r->limit[i]) * in->kind[i]->n;
    for (int v = 0; v < in->model.n_vars; v++) {
        int c = in->tables->class_of[v];
        double smallest = INFINITY;

        for (int x = 0; x < in->model.n_states[v]; x++)
            smallest = fmin(smallest, in->weight[c][x] * in->kind[weft_inner_set(in, v, x)]->n);
        least += smallest;
    }
    return least > all * (1 + 1e-9);
}

/* --- branches: steps that others gather around are tied to sets ------------------------------ */

/* Choices in which some steps are tied to sets. */
typedef struct node {
    double bound;
    int *set_of;
    double *price;
    int depth;
} node;

/* Steps by falling number of edges: the ones to tie. */
static int *find_hubs(const limited *r, weft_arena *a)
{
    int n = r->in->model.n_vars, *hub = WEFT_NEW(a, int, n);

    for (int v = 0; v < n; v++) {
        int at = v;

        for (; at > 0 && n_pairs(r, hub[at - 1]) < n_pairs(r, v); at--)
            hub[at] = hub[at - 1];
        hub[at] = v;
    }
    return hub;
}

/* Prices and bound of a node; what it finds goes to r->out. */
static void solve_node(limited *r, node *x, double upper, const weft_run *run)
{
    r->set_of = x->set_of;
    r->bound = x->bound;
    memcpy(r->price, x->price, sizeof *r->price * (size_t)r->in->n_sets);
    if (ask(r))
        search_prices(r, upper, run);
    x->bound = fmax(x->bound, r->bound);
    memcpy(x->price, r->price, sizeof *r->price * (size_t)r->in->n_sets);
}

static int lowest(const node *open, int n)
{
    int best = 0;

    for (int i = 1; i < n; i++)
        if (open[i].bound < open[best].bound)
            best = i;
    return best;
}

/* Ties one more step to each of the sets; the lowest bound of what is left is the bound. */
static void branch(limited *r, double upper, const weft_run *run)
{
    int n_sets = r->in->n_sets, n_steps = r->in->model.n_vars, n_open = 1;
    node *open = WEFT_NEW(r->scratch, node, MOST_NODES * n_sets + 1);
    const int *hub = find_hubs(r, r->scratch);

    open[0] = (node){r->bound, WEFT_NEW(r->scratch, int, n_steps),
                     weft_arena_copy(r->scratch, r->price, sizeof(double) * (size_t)n_sets), 0};
    for (int v = 0; v < n_steps; v++)
        open[0].set_of[v] = -1;
    for (int k = 0; k < MOST_NODES && n_open > 0 && !weft_run_is_over(run); k++) {
        int i = lowest(open, n_open);
        node x = open[i];

        if (x.bound >= fmin(upper, r->out->value) * (1 - 1e-12) || x.depth == n_steps)
            break;
        open[i] = open[--n_open];
        for (int set = 0; set < n_sets; set++) {
            node y = {x.bound, weft_arena_copy(r->scratch, x.set_of, sizeof(int) * (size_t)n_steps),
                      weft_arena_copy(r->scratch, x.price, sizeof(double) * (size_t)n_sets),
                      x.depth + 1};

            y.set_of[hub[x.depth]] = set;
            solve_node(r, &y, upper, run);
            open[n_open++] = y;
        }
    }
    r->out->bound = n_open > 0 ? open[lowest(open, n_open)].bound : INFINITY;
}

void weft_memory_limit_solve(const weft_inner *in, const int *order, double spare_bytes,
                             double upper, const weft_run *run, weft_arena *a,
                             weft_memory_limit_answer *out)
{
    limited r = {.in = in, .order = order, .out = out, .scratch = weft_arena_new()};

    *out = (weft_memory_limit_answer){INFINITY, 0, WEFT_NEW(a, int, in->model.n_vars)};
    r.limit = WEFT_NEW(r.scratch, double, in->n_sets);
    r.price = WEFT_NEW(r.scratch, double, in->n_sets);
    r.used = WEFT_NEW(r.scratch, double, in->n_sets);
    r.ends = find_ends(in, r.scratch);
    for (int i = 0; i < in->n_sets; i++)
        r.limit[i] = fmin(in->kind[i]->memory_bytes, MOST_BYTES) - spare_bytes;
    if (is_hopeless(&r)) {
        out->bound = INFINITY;
    } else if (!ask(&r) || does_fit(&r)) {
        out->bound = r.bound;
    } else {
        search_prices(&r, upper, run);
        if (r.bound < upper && out->value == INFINITY)
            force(&r, run);
        branch(&r, upper, run);
        if (out->value < INFINITY)
            improve(&r, run);
    }
    out->bound = fmin(out->bound, out->value);
    weft_arena_free(r.scratch);
}
