/* SPDX-License-Identifier: MIT */
/* configuration.c: sets of nodes that pass a target together (covering knapsacks).
 *
 * Rates in whole parts of the target, rounded up, give the least cost of whatever is still missing
 * (a table); rounding up loses no configuration, so the table is a lower bound. A depth-first search
 * over the items, by falling worth, finds the cheapest with exact sums; it leaves out what the table
 * says cannot be cheaper. If it takes too many steps, the table alone answers. */
#include "serve_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 4096, MOST_STEPS = 4000000 }; /* choices that are looked at */

/* --- items ----------------------------------------------------------------------------------- */

weft_serve_items weft_serve_items_of(const weft_serve_problem *p, weft_arena *a)
{
    WEFT_VEC(weft_serve_item) list = {0};

    for (int c = 0; c < p->n_classes; c++) {
        int node = p->class_node[c];
        double best = 0;

        for (int k = p->most[node]; k >= 1; k--) {
            double rate = p->rate[node][k - 1];

            if (rate > best)
                WEFT_PUSH(a, list, ((weft_serve_item){c, k, rate}));
            best = fmax(best, rate);
        }
    }
    return (weft_serve_items){list.n, list.at};
}

int weft_serve_layers_at(const weft_serve_problem *p, int class_id, double rate)
{
    int node = p->class_node[class_id], k = p->most[node];

    while (k > 0 && !(p->rate[node][k - 1] >= rate))
        k--;
    return k;
}

/* --- the table ------------------------------------------------------------------------------- */

typedef struct choice {
    int item, class_id;
    double rate, cost; /* rate: at most the target */
} choice;

typedef struct search {
    const weft_serve_problem *p;
    double target, least; /* what counts as the target */
    int n;
    choice *choice;
    double *table; /* [PARTS + 1] least cost of so many parts */
    int *left;     /* [n_classes] nodes */
    int *count;    /* [n] */
    int64_t n_steps;
    double best;
    weft_serve_cover *out; /* the cheapest; or */
    weft_serve_list *list; /* all that are minimal */
    int room, n_items;
    bool is_over;
    weft_arena *a;
} search;

static int by_worth(const void *x, const void *y)
{
    const choice *a = x, *b = y;
    double left = a->cost * b->rate, right = b->cost * a->rate;

    if (left < right || left > right)
        return left < right ? -1 : 1;
    return a->item - b->item;
}

static void fill_table(search *s)
{
    for (int i = 1; i <= PARTS; i++)
        s->table[i] = INFINITY;
    for (int c = 0; c < s->n; c++) {
        int parts = (int)fmin(PARTS, ceil(s->choice[c].rate / s->target * PARTS + 1e-9));

        for (int i = 1; i <= PARTS; i++) {
            double cost = s->table[i > parts ? i - parts : 0] + s->choice[c].cost;

            if (cost < s->table[i])
                s->table[i] = cost;
        }
    }
}

/* No set of items that passes `missing` costs less. */
static double least_cost(const search *s, double missing)
{
    int parts = (int)ceil(missing / s->target * PARTS - 1e-6);

    return s->table[parts < 0 ? 0 : parts > PARTS ? PARTS : parts];
}

static search begin(const weft_serve_problem *p, const weft_serve_items *items, const double *price,
                    double target, weft_arena *a)
{
    search s = {.p = p,
                .target = target,
                .least = target * WEFT_SERVE_SLACK,
                .choice = WEFT_NEW(a, choice, items->n + 1),
                .table = WEFT_NEW(a, double, PARTS + 1),
                .left = weft_arena_copy(a, p->class_size, sizeof *s.left * (size_t)p->n_classes),
                .count = WEFT_NEW(a, int, items->n + 1),
                .best = INFINITY,
                .n_items = items->n,
                .a = a};

    for (int i = 0; i < items->n; i++) {
        const weft_serve_item *x = &items->item[i];

        s.choice[s.n++] =
            (choice){i, x->class_id, fmin(x->rate, target), price[x->class_id] / x->layers};
    }
    qsort(s.choice, (size_t)s.n, sizeof *s.choice, by_worth);
    fill_table(&s);
    return s;
}

/* What all nodes pass together, each with its best number of layers. */
static bool can_pass(const weft_serve_problem *p, const weft_serve_items *items, double target)
{
    double sum = 0;

    for (int i = 0; i < items->n; i++)
        if (i + 1 == items->n || items->item[i + 1].class_id != items->item[i].class_id)
            sum += p->class_size[items->item[i].class_id] * items->item[i].rate;
    return sum >= target * (1 - WEFT_SERVE_SLACK);
}

/* --- the cheapest ---------------------------------------------------------------------------- */

static void keep(search *s, int last, double cost)
{
    s->best = cost;
    s->out->is_found = true;
    memset(s->out->count, 0, sizeof *s->out->count * (size_t)s->n_items);
    for (int c = 0; c <= last; c++)
        s->out->count[s->choice[c].item] = s->count[c];
}

static void find_cheapest(search *s, int from, double missing, double cost)
{
    for (int c = from; c < s->n && !s->is_over; c++) {
        const choice *x = &s->choice[c];
        double with = cost + x->cost, still = missing - x->rate;

        s->is_over = ++s->n_steps > MOST_STEPS;
        if (s->left[x->class_id] == 0 || !(with + least_cost(s, still) < s->best * (1 - 1e-12)))
            continue;
        s->left[x->class_id]--;
        s->count[c]++;
        if (still <= s->least)
            keep(s, c, with);
        else
            find_cheapest(s, c, still, with);
        s->count[c]--;
        s->left[x->class_id]++;
    }
}

void weft_serve_cheapest(const weft_serve_problem *p, const weft_serve_items *items,
                         const double *price, double target, weft_arena *a, weft_serve_cover *out)
{
    search s;

    *out = (weft_serve_cover){INFINITY, false, WEFT_NEW(a, int, items->n + 1)};
    if (!can_pass(p, items, target))
        return;
    s = begin(p, items, price, target, a);
    s.out = out;
    find_cheapest(&s, 0, target, 0);
    out->cost = s.is_over ? fmin(s.best, least_cost(&s, target)) : s.best * (1 - 1e-11);
}

/* --- all that are minimal -------------------------------------------------------------------- */

/* Without its smallest node the target is lost; sums are taken anew, and what is near counts. */
static bool is_minimal(const search *s, int last)
{
    double sum = 0, smallest = INFINITY;

    for (int c = 0; c <= last; c++)
        if (s->count[c] > 0) {
            sum += s->count[c] * s->choice[c].rate;
            smallest = fmin(smallest, s->choice[c].rate);
        }
    return sum - smallest < s->target * (1 + WEFT_SERVE_SLACK);
}

static void list_one(search *s, int last)
{
    int *row, n_nodes = 0;

    if (!is_minimal(s, last))
        return;
    if (s->list->n == s->room) {
        s->is_over = true;
        return;
    }
    row = s->list->count + (size_t)s->list->n++ * (size_t)s->n_items;
    for (int c = 0; c <= last; c++) {
        row[s->choice[c].item] = s->count[c];
        n_nodes += s->count[c];
    }
    s->list->has_pairs |= n_nodes > 1;
}

static void list_minimal(search *s, int from, double missing, double cost)
{
    for (int c = from; c < s->n && !s->is_over; c++) {
        const choice *x = &s->choice[c];
        double with = cost + x->cost, still = missing - x->rate;

        s->is_over = ++s->n_steps > MOST_STEPS;
        if (s->left[x->class_id] == 0 || with + least_cost(s, still) > s->best)
            continue;
        s->left[x->class_id]--;
        s->count[c]++;
        if (still <= s->least)
            list_one(s, c);
        else
            list_minimal(s, c, still, with);
        s->count[c]--;
        s->left[x->class_id]++;
    }
}

void weft_serve_minimal(const weft_serve_problem *p, const weft_serve_items *items,
                        const double *price, double target, double most, int room, weft_arena *a,
                        weft_serve_list *out)
{
    search s = begin(p, items, price, target, a);

    *out = (weft_serve_list){0};
    out->count = WEFT_NEW(a, int, (size_t)room *(size_t)(items->n + 1));
    s.list = out;
    s.room = room;
    s.best = most * (1 + 1e-9);
    if (can_pass(p, items, target))
        list_minimal(&s, 0, target, 0);
    out->is_whole = !s.is_over;
}
