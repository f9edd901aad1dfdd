/* SPDX-License-Identifier: MIT */
/* serve_stages.c: plans for a target where links matter.
 *
 * A plan is a sequence of stages, each a set of nodes with one common range, and nodes that are not
 * used. A stage is as long as its nodes pass the target together. What does not pass between
 * neighbours (a small maximum flow), from the source, or to the sink, is a deficit. Annealing on
 * layers less deficits moves nodes between stages, swaps two, reverses runs of stages and moves one
 * elsewhere. A sequence of all layers without deficit is trimmed to the model. Passing from
 * neighbour to neighbour is necessary and not sufficient: the flow decides. */
#include "serve_search.h"

#include <math.h>
#include <string.h>

enum { MOST_IN_STAGE = 8 };

static const double DEFICIT = 12, ANY_DEFICIT = 3; /* layers that they cost */
static const double HOT = 2, COLD = 0.12;          /* layers */

typedef struct stage {
    int n, node[MOST_IN_STAGE], length;
    bool is_changed;
    double before; /* what does not pass from the stage before (or the source) to this one */
} stage;

typedef struct state {
    int n;
    stage *stage; /* [n_nodes + 1] */
    int *of;      /* [n_nodes] place of its stage in the sequence; -1: not used */
    double after; /* from the last to the sink */
    double score;
    int layers;
    bool is_whole; /* no deficit */
} state;

typedef struct annealing {
    const weft_serve_problem *p;
    double target;
    double *const *passes; /* [n_nodes][most + 1] with k layers: at most the target */
    bool *carries;         /* [(n_nodes + 2)^2] the link passes the target */
    weft_rng *rng;
    state now, trial;
} annealing;

/* --- what a sequence is worth ---------------------------------------------------------------- */

static double sum_of(const annealing *x, const stage *s, int layers)
{
    double sum = 0;

    for (int i = 0; i < s->n; i++)
        sum += x->passes[s->node[i]][layers];
    return sum;
}

static void find_length(const annealing *x, stage *s)
{
    int most = x->p->n_layers;

    for (int i = 0; i < s->n; i++)
        most = x->p->most[s->node[i]] < most ? x->p->most[s->node[i]] : most;
    while (most > 0 && sum_of(x, s, most) < x->target * (1 - WEFT_SERVE_SLACK))
        most--;
    s->length = most;
}

static double room_of(const annealing *x, const stage *s, int i)
{
    return x->passes[s->node[i]][s->length > 0 ? s->length : 1];
}

/* A pair of stages as a network: what left[i] can still send, right[j] still take. */
typedef struct crossing {
    int n_left, n_right;
    double left[MOST_IN_STAGE], right[MOST_IN_STAGE];
    double link[MOST_IN_STAGE][MOST_IN_STAGE], back[MOST_IN_STAGE][MOST_IN_STAGE];
    bool seen[MOST_IN_STAGE];
} crossing;

/* A way from left i to a right that can take more, over links and back over what was sent. */
static double extend(crossing *c, int i, double most)
{
    if (c->seen[i])
        return 0;
    c->seen[i] = true;
    for (int j = 0; j < c->n_right; j++) {
        double part = fmin(most, c->link[i][j]), sent = fmin(part, c->right[j]);

        if (!(part > 1e-9))
            continue;
        if (sent > 1e-9)
            c->right[j] -= sent;
        else
            sent = 0;
        for (int k = 0; k < c->n_left && !(sent > 0); k++)
            if (c->back[k][j] > 1e-9) {
                sent = extend(c, k, fmin(part, c->back[k][j]));
                c->back[k][j] -= sent;
                c->link[k][j] += sent;
            }
        c->link[i][j] -= sent;
        c->back[i][j] += sent;
        if (sent > 0)
            return sent;
    }
    return 0;
}

static double cross(crossing *c, double target)
{
    double sum = 0;

    for (int i = 0; i < c->n_left; i++)
        while (c->left[i] > 1e-9 * target && sum < target) {
            double sent;

            memset(c->seen, 0, sizeof c->seen);
            sent = extend(c, i, c->left[i]);
            if (!(sent > 0))
                break;
            c->left[i] -= sent;
            sum += sent;
        }
    return sum;
}

static double shortage(const annealing *x, double passed)
{
    double part = 1 - passed / x->target;

    return part > 1e-9 ? part : 0;
}

static double between(const annealing *x, const stage *s, const stage *t)
{
    int n = x->p->n_nodes + 2;
    bool is_free = true;
    crossing c = {.n_left = s->n, .n_right = t->n};

    for (int i = 0; i < s->n && is_free; i++)
        for (int j = 0; j < t->n && is_free; j++)
            is_free = x->carries[s->node[i] * n + t->node[j]];
    if (is_free && s->length > 0 && t->length > 0)
        return 0;
    for (int i = 0; i < s->n; i++)
        c.left[i] = room_of(x, s, i);
    for (int j = 0; j < t->n; j++)
        c.right[j] = room_of(x, t, j);
    for (int i = 0; i < s->n; i++)
        for (int j = 0; j < t->n; j++)
            c.link[i][j] = fmin(x->target, weft_serve_link(x->p, s->node[i], t->node[j]));
    return shortage(x, cross(&c, x->target));
}

static double from_source(const annealing *x, const stage *s)
{
    double sum = 0;

    for (int i = 0; i < s->n; i++)
        sum += fmin(room_of(x, s, i), weft_serve_link(x->p, x->p->n_nodes, s->node[i]));
    return shortage(x, sum);
}

static double to_sink(const annealing *x, const stage *s)
{
    double sum = 0;

    for (int i = 0; i < s->n; i++)
        sum += fmin(room_of(x, s, i), weft_serve_link(x->p, s->node[i], x->p->n_nodes + 1));
    return shortage(x, sum);
}

static double fine(double deficit)
{
    return deficit > 0 ? DEFICIT * deficit + ANY_DEFICIT : 0;
}

/* Only what is beside a stage that has changed is computed anew. */
static void value(const annealing *x, state *s)
{
    double fines = 0;

    s->layers = 0;
    for (int i = 0; i < s->n; i++)
        if (s->stage[i].is_changed)
            find_length(x, &s->stage[i]);
    for (int i = 0; i < s->n; i++) {
        stage *t = &s->stage[i];

        if (t->is_changed || (i > 0 && s->stage[i - 1].is_changed))
            t->before = i == 0 ? from_source(x, t) : between(x, &s->stage[i - 1], t);
        fines += fine(t->before);
        s->layers += t->length;
    }
    if (s->n > 0 && s->stage[s->n - 1].is_changed)
        s->after = to_sink(x, &s->stage[s->n - 1]);
    fines += fine(s->after);
    for (int i = 0; i < s->n; i++)
        s->stage[i].is_changed = false;
    s->is_whole = !(fines > 0);
    s->score = s->layers - fines;
}

/* --- moves ----------------------------------------------------------------------------------- */

static void touch(state *s, int i)
{
    if (i >= 0 && i < s->n)
        s->stage[i].is_changed = true;
}

static void renumber(state *s, int from)
{
    for (int i = from < 0 ? 0 : from; i < s->n; i++)
        for (int k = 0; k < s->stage[i].n; k++)
            s->of[s->stage[i].node[k]] = i;
}

static void remove_stage(state *s, int i)
{
    memmove(&s->stage[i], &s->stage[i + 1], sizeof *s->stage * (size_t)(s->n - i - 1));
    s->n--;
    renumber(s, i);
    touch(s, i - 1);
    touch(s, i);
}

/* Returns whether its stage is gone. */
static bool take_out(state *s, int node)
{
    int i = s->of[node];
    stage *t;

    if (i < 0)
        return false;
    t = &s->stage[i];
    for (int k = 0; k < t->n; k++)
        if (t->node[k] == node) {
            t->node[k] = t->node[--t->n];
            break;
        }
    s->of[node] = -1;
    t->is_changed = true;
    if (t->n > 0)
        return false;
    remove_stage(s, i);
    return true;
}

static void insert_stage(state *s, int at, const stage *what)
{
    memmove(&s->stage[at + 1], &s->stage[at], sizeof *s->stage * (size_t)(s->n - at));
    s->stage[at] = *what;
    s->n++;
    renumber(s, at);
    touch(s, at - 1);
    touch(s, at);
    touch(s, at + 1);
}

static void move_node(annealing *x, state *s)
{
    int node = weft_rng_below(x->rng, x->p->n_nodes), kind = weft_rng_below(x->rng, 8);

    if (x->p->most[node] == 0)
        return;
    take_out(s, node);
    if (kind < 1)
        return;
    if (kind < 5 || s->n == 0) {
        stage alone = {.n = 1, .node = {node}};

        insert_stage(s, weft_rng_below(x->rng, s->n + 1), &alone);
    } else {
        int i = weft_rng_below(x->rng, s->n);

        if (s->stage[i].n == MOST_IN_STAGE)
            return;
        s->stage[i].node[s->stage[i].n++] = node;
        s->of[node] = i;
        touch(s, i);
    }
}

static void put_instead(state *s, int i, int old, int node)
{
    if (i < 0)
        return;
    for (int k = 0; k < s->stage[i].n; k++)
        if (s->stage[i].node[k] == old)
            s->stage[i].node[k] = node;
    touch(s, i);
}

static void swap_nodes(annealing *x, state *s)
{
    int u = weft_rng_below(x->rng, x->p->n_nodes), v = weft_rng_below(x->rng, x->p->n_nodes);
    int i = s->of[u], j = s->of[v];

    if (i == j || x->p->most[u] == 0 || x->p->most[v] == 0)
        return;
    put_instead(s, i, u, v);
    put_instead(s, j, v, u);
    s->of[u] = j;
    s->of[v] = i;
}

static void reverse_run(annealing *x, state *s)
{
    int i = weft_rng_below(x->rng, s->n), j = weft_rng_below(x->rng, s->n);

    if (i > j) {
        int k = i;

        i = j;
        j = k;
    }
    for (int k = i; k <= j; k++)
        touch(s, k);
    touch(s, j + 1);
    for (int a = i, b = j; a < b; a++, b--) {
        stage t = s->stage[a];

        s->stage[a] = s->stage[b];
        s->stage[b] = t;
    }
    renumber(s, i);
}

static void move_stage(annealing *x, state *s)
{
    int i = weft_rng_below(x->rng, s->n);
    stage t = s->stage[i];

    remove_stage(s, i);
    insert_stage(s, weft_rng_below(x->rng, s->n + 1), &t);
}

static void change(annealing *x, state *s)
{
    int kind = weft_rng_below(x->rng, 20);

    if (kind < 9 || s->n < 2)
        move_node(x, s);
    else if (kind < 15)
        swap_nodes(x, s);
    else if (kind < 17)
        reverse_run(x, s);
    else
        move_stage(x, s);
}

/* --- annealing ------------------------------------------------------------------------------- */

static state state_new(int n_nodes, weft_arena *a)
{
    return (state){.stage = WEFT_NEW(a, stage, n_nodes + 2), .of = WEFT_NEW(a, int, n_nodes)};
}

static void copy_state(state *to, const state *from, int n_nodes)
{
    stage *s = to->stage;
    int *of = to->of;

    memcpy(s, from->stage, sizeof *s * (size_t)from->n);
    memcpy(of, from->of, sizeof *of * (size_t)n_nodes);
    *to = *from;
    to->stage = s;
    to->of = of;
}

static annealing begin(const weft_serve_problem *p, double target, weft_rng *rng, weft_arena *a)
{
    int n = p->n_nodes, n_ends = n + 2;
    double **passes = WEFT_NEW(a, double *, n);
    annealing x = {.p = p,
                   .target = target,
                   .carries = WEFT_NEW(a, bool, n_ends *n_ends),
                   .rng = rng,
                   .now = state_new(n, a),
                   .trial = state_new(n, a)};

    for (int i = 0; i < n; i++) {
        passes[i] = WEFT_NEW(a, double, p->most[i] + 2);
        for (int k = 1; k <= p->most[i]; k++)
            passes[i][k] = fmin(target, p->rate[i][k - 1]);
        x.now.of[i] = -1;
    }
    x.passes = passes;
    for (int i = 0; i < n_ends * n_ends; i++)
        x.carries[i] = p->link[i] >= target;
    return x;
}

static bool is_done(const annealing *x)
{
    return x->now.is_whole && x->now.layers >= x->p->n_layers;
}

static void anneal(annealing *x, int64_t steps, const weft_run *run)
{
    double cooling = pow(COLD / HOT, 1.0 / (double)steps), heat = HOT;

    value(x, &x->now);
    for (int64_t i = 0; i < steps && !is_done(x); i++, heat *= cooling) {
        if (i % 4096 == 0 && weft_run_is_over(run))
            return;
        copy_state(&x->trial, &x->now, x->p->n_nodes);
        change(x, &x->trial);
        value(x, &x->trial);
        if (x->trial.score >= x->now.score ||
            weft_rng_real(x->rng) < exp((x->trial.score - x->now.score) / heat)) {
            state t = x->now;

            x->now = x->trial;
            x->trial = t;
        }
    }
}

/* --- the plan -------------------------------------------------------------------------------- */

/* Lengths that the stages pass the target with, all layers in all: from the last to the first,
 * fits[i * (L + 1) + l] is the length of stage i where l layers are left to it and those behind. */
static bool trim(const annealing *x, weft_arena *a, weft_serve_plan *out)
{
    const state *s = &x->now;
    int wide = x->p->n_layers + 1, *fits = WEFT_NEW(a, int, (s->n + 1) * wide);

    for (int l = 1; l < wide; l++)
        fits[s->n * wide + l] = -1;
    for (int i = s->n - 1; i >= 0; i--)
        for (int l = 0; l < wide; l++) {
            fits[i * wide + l] = -1;
            for (int k = 1; k <= s->stage[i].length && k <= l; k++)
                if (fits[(i + 1) * wide + l - k] >= 0 &&
                    sum_of(x, &s->stage[i], k) >= x->target * (1 - WEFT_SERVE_SLACK))
                    fits[i * wide + l] = k;
        }
    if (fits[x->p->n_layers] < 0)
        return false;
    memset(out->start, 0, sizeof *out->start * (size_t)out->n_nodes);
    memset(out->end, 0, sizeof *out->end * (size_t)out->n_nodes);
    for (int i = 0, layer = 0; i < s->n; i++) {
        int k = fits[i * wide + x->p->n_layers - layer];

        for (int j = 0; j < s->stage[i].n; j++) {
            out->start[s->stage[i].node[j]] = layer;
            out->end[s->stage[i].node[j]] = layer + k;
        }
        layer += k;
    }
    return true;
}

bool weft_serve_stages(const weft_serve_problem *p, double target, weft_rng *rng, int64_t steps,
                       const weft_run *run, weft_arena *a, weft_serve_plan *out)
{
    size_t mark = weft_arena_mark(a);
    annealing x = begin(p, target, rng, a);
    bool is_found;

    anneal(&x, steps, run);
    is_found = is_done(&x) && trim(&x, a, out);
    weft_arena_rewind(a, mark);
    return is_found;
}
