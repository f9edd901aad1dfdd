/* SPDX-License-Identifier: MIT */
/* out_shard.c: a plan of a sharded network for a terminal.
 *
 * 1. What it is worth: latency, bound, what it saves against the baselines, energy, bytes sent.
 * 2. The sets: members, design, how busy, how much of the memory.
 * 3. Where the time goes: computing and the kinds of communication. One step after the other these
 *    add up to the latency, unless communication hides behind computation; side by side they do
 *    not, and the report says so.
 * 4. The steps that take longest, in the order of the network, or all.
 *
 * Every line fits the width (60 columns or more) unless a single word does not. Plain ASCII besides
 * the names. Time O(jobs + steps log steps). */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fields.h"

enum {
    DEFAULT_WIDTH = 80,
    LEAST_WIDTH = 60,
    MOST_WIDTH = 1000,
    MOST_SETS = 16,
    MOST_NAMES = 16, /* devices of a set */
    MOST_STEPS = 15,
    LEAST_SPLIT = 16,
    MOST_NAME = 24, /* columns of a name */
};

typedef struct page {
    const weft_shard_report *r;
    const weft_sharding *p;
    const weft_shards *s;
    const weft_shards_measures *m;
    const weft_proof *proof;
    FILE *to;
    weft_arena *a; /* scratch */
    int width;
} page;

static const char *short_name(page *g, const char *name)
{
    return weft_shorten(name, MOST_NAME, WEFT_NEW(g->a, char, WEFT_SHORT_BYTES));
}

static const char *seconds(page *g, double s)
{
    return weft_glued_seconds(g->a, s);
}

static void field(page *g, const char *label, const char *text)
{
    weft_print_field(g->to, g->width, label, text);
}

/* --- what it is worth ------------------------------------------------------------------------ */

static void print_title(page *g)
{
    const weft_plan_origin *o = g->r->origin;
    char model[WEFT_SHORT_BYTES], platform[WEFT_SHORT_BYTES], solver[WEFT_SHORT_BYTES];

    weft_shorten(o && o->model ? o->model : g->p->name, WEFT_SHORT_COLUMNS, model);
    weft_shorten(o && o->platform ? o->platform : g->p->platform->name, WEFT_SHORT_COLUMNS,
                 platform);
    weft_shorten(o && o->solver ? o->solver : "", MOST_NAME, solver);
    weft_print_wrapped(
        g->to, 0, g->width,
        weft_arena_print(g->a, "%s sharded on %s, lowest latency, %s%s%s", model, platform,
                         g->p->ask.is_concurrent ? "branches side by side" : "one step at a time",
                         *solver ? ", solver " : "", solver));
    fputc('\n', g->to);
}

static void print_bound(page *g)
{
    const weft_proof *proof = g->proof;
    const char *bound = seconds(g, proof->bound);
    char gap[32];
    const char *by =
        proof->method ? weft_arena_print(g->a, "  (%s)", short_name(g, proof->method)) : "";

    if (!(proof->bound > 0))
        field(g, "bound", "none is known");
    else if (proof->outcome == WEFT_OPTIMAL)
        field(g, "bound", weft_arena_print(g->a, "%s%s  no plan is better", bound, by));
    else
        field(g, "bound",
              weft_arena_print(g->a, "%s%s  gap %s\t%%", bound, by,
                               weft_format_gap(proof->gap, 1, gap)));
}

double weft_shard_reduction(const weft_shard_report *r, const weft_shard_baseline *b)
{
    double value_s = weft_shard_report_has_plan(r) ? r->solution->measures.latency_s : NAN;

    return b->value_s > 0 ? (b->value_s - value_s) / b->value_s : NAN;
}

static void print_baselines(page *g)
{
    for (int i = 0; i < g->r->n_baselines; i++) {
        const weft_shard_baseline *b = &g->r->baseline[i];
        double share = weft_shard_reduction(g->r, b);
        const char *label = i == 0 ? "baselines" : "";

        if (isnan(share))
            field(g, label, weft_arena_print(g->a, "%s has no plan", b->solver));
        else if (fabs(share) < 1e-9)
            field(g, label, weft_arena_print(g->a, "no better than %s", b->solver));
        else
            field(g, label,
                  weft_arena_print(g->a, "%.1f\t%% %s than %s (%s)", 100 * fabs(share),
                                   share < 0 ? "higher" : "lower", b->solver,
                                   seconds(g, b->value_s)));
    }
}

static void print_energy(page *g)
{
    char text[48];

    if (!(g->m->energy_j > 0))
        return;
    weft_unit_print(g->m->energy_j, WEFT_UNIT_JOULES, text);
    field(g, "energy", text);
}

/* --- sets ------------------------------------------------------------------------------------ */

static const char *members_text(page *g, const weft_team *t)
{
    const char *names = "";

    for (int i = 0; i < t->n && i < MOST_NAMES; i++)
        names = weft_arena_print(g->a, "%s%s%s", names, i == 0 ? "" : " ",
                                 short_name(g, g->p->platform->device[t->member[i]].name));
    if (t->n > MOST_NAMES)
        names = weft_arena_print(g->a, "%s and %d more", names, t->n - MOST_NAMES);
    return names;
}

static void print_set(page *g, int k, int n_steps)
{
    const weft_team *t = &g->s->set[k];
    const char *design = weft_team_design(g->p, t)->name;
    double capacity = weft_team_memory(g->p, t);
    bool is_named =
        design != NULL && strcmp(design, g->p->platform->device[t->member[0]].name) != 0;

    field(g, weft_arena_print(g->a, "set %d", k),
          weft_arena_print(g->a, "%d device%s%s%s: %s", t->n, t->n == 1 ? "" : "s",
                           is_named ? " as " : "", is_named ? short_name(g, design) : "",
                           members_text(g, t)));
    field(g, "",
          weft_arena_print(
              g->a, "%d step%s, computing %.1f\t%% of the time, memory at most %s of %s each",
              n_steps, n_steps == 1 ? "" : "s", 100 * weft_set_utilisation(g->r, k),
              weft_glued_bytes(g->a, g->m->peak_bytes[t->member[0]]),
              isfinite(capacity) ? weft_glued_bytes(g->a, capacity) : "any"));
}

static void print_sets(page *g)
{
    const int *n_steps = weft_set_sizes(g->s, g->a);
    int n_idle = 0, n_shown = 0, n_left = 0;

    fputc('\n', g->to);
    for (int k = 0; k < g->s->n_sets; k++) {
        if (n_steps[k] == 0)
            n_idle += g->s->set[k].n;
        else if (n_shown++ < MOST_SETS)
            print_set(g, k, n_steps[k]);
        else
            n_left++;
    }
    if (n_left > 0)
        field(g, "", weft_arena_print(g->a, "and %d more sets", n_left));
    for (int k = 0; k < g->s->n_sets; k++)
        n_idle -= g->s->set[k].n;
    n_idle += g->p->n_accelerators;
    if (n_idle > 0)
        field(g, "not used",
              weft_arena_print(g->a, "%d accelerator%s", n_idle, n_idle == 1 ? "" : "s"));
}

/* --- where the time goes --------------------------------------------------------------------- */

/* One kind of time; on a narrow page without what it is. */
static void print_time(page *g, const char *name, double time_s, const char *what)
{
    double share = g->m->latency_s > 0 ? time_s / g->m->latency_s : 0;

    weft_put_glued(g->to,
                   weft_arena_print(g->a, "  %-14s%10s %7.1f %%%s%s\n", name, seconds(g, time_s),
                                    100 * share, g->width < DEFAULT_WIDTH ? "" : "  ",
                                    g->width < DEFAULT_WIDTH ? "" : what));
}

static void print_times(page *g)
{
    const struct {
        const char *name, *what;
        double seconds;
    } row[] = {
        {"computing", "the slowest member of the set",              g->m->compute_s },
        {"rotation",  "shared shards go round between phases",      g->m->rotate_s  },
        {"sums",      "partial results are combined",               g->m->reduce_s  },
        {"reshard",   "operands move between members of a set",     g->m->reshard_s },
        {"handover",  "operands move from one set to another",      g->m->handover_s},
        {"host",      "inputs come from the host, outputs go back", g->m->host_s    },
    };
    double sum_s = 0;

    fprintf(g->to, "\n  %-14s%10s %9s\n", "time", "", "share");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        sum_s += row[i].seconds;
        if (row[i].seconds > 0 || i == 0)
            print_time(g, row[i].name, row[i].seconds, row[i].what);
    }
    if (sum_s > g->m->latency_s * (1 + 1e-9))
        weft_print_wrapped(g->to, 2, g->width,
                           "  Some of this happens at the same time: the shares are of the latency "
                           "and add up to more.");
}

/* --- steps ----------------------------------------------------------------------------------- */

typedef struct row {
    int step;
    double compute_s, send_s;
} row;

static int by_length(const void *a, const void *b)
{
    const row *x = a, *y = b;
    double x_s = x->compute_s + x->send_s, y_s = y->compute_s + y->send_s;

    if (x_s > y_s || x_s < y_s)
        return x_s > y_s ? -1 : 1;
    return (x->step > y->step) - (x->step < y->step);
}

static int by_number(const void *a, const void *b)
{
    const row *x = a, *y = b;

    return (x->step > y->step) - (x->step < y->step);
}

static row *list_rows(page *g)
{
    const double *part_s = weft_step_parts(g->r, g->a);
    row *list = WEFT_NEW(g->a, row, g->s->n_steps + 1);

    for (int v = 0; v < g->s->n_steps; v++) {
        const double *of = part_s + (size_t)v * WEFT_N_PARTS;

        list[v] = (row){.step = v, .compute_s = of[WEFT_PART_COMPUTE]};
        for (int i = 0; i < WEFT_N_PARTS; i++)
            list[v].send_s += i == WEFT_PART_COMPUTE ? 0 : of[i];
    }
    return list;
}

/* Columns of the longest name and split among those shown. */
static void measure_columns(page *g, const row *list, int n, int *name, int *split)
{
    char text[128];
    int room = g->width - 2 - 4 - 2 * 13 - 2;

    *name = (int)strlen("step");
    *split = (int)strlen("split");
    for (int i = 0; i < n; i++) {
        int v = list[i].step;
        int columns = weft_columns(weft_step_name(g->p->steps, v));

        *name = columns > *name ? columns : *name;
        weft_split_print(g->p->steps, v, &g->s->split[v], text);
        columns = (int)strlen(text);
        *split = columns > *split ? columns : *split;
    }
    *name = *name > MOST_NAME ? MOST_NAME : *name;
    if (*name + *split > room)
        *split = room - *name > LEAST_SPLIT ? room - *name : LEAST_SPLIT;
    if (*name + *split > room)
        *name = room - *split;
}

static void print_steps(page *g, bool with_layers)
{
    row *list = list_rows(g);
    int n = g->s->n_steps, n_shown, name, split;
    double rest_s = 0;

    n_shown = with_layers || n <= MOST_STEPS + 1 ? n : MOST_STEPS;
    if (n_shown < n) {
        qsort(list, (size_t)n, sizeof *list, by_length);
        qsort(list, (size_t)n_shown, sizeof *list, by_number);
    }
    measure_columns(g, list, n_shown, &name, &split);
    fprintf(g->to, "\n  %-*s %3s %-*s %12s %12s\n", name, "step", "set", split, "split",
            "computing", "sending");
    for (int i = 0; i < n_shown; i++) {
        int v = list[i].step;
        char text[128];

        fprintf(g->to, "  ");
        weft_print_padded(g->to, weft_step_name(g->p->steps, v), name);
        fprintf(g->to, " %3d ", g->s->set_of[v]);
        weft_print_padded(g->to, weft_split_print(g->p->steps, v, &g->s->split[v], text), split);
        weft_put_glued(g->to, weft_arena_print(g->a, " %12s %12s\n", seconds(g, list[i].compute_s),
                                               seconds(g, list[i].send_s)));
    }
    for (int i = n_shown; i < n; i++)
        rest_s += list[i].compute_s + list[i].send_s;
    if (n_shown < n)
        weft_print_wrapped(g->to, 2, g->width,
                           weft_arena_print(g->a, "  ... %d more, %s together; --layers shows all",
                                            n - n_shown, seconds(g, rest_s)));
}

/* --- all ------------------------------------------------------------------------------------- */

static void print_no_plan(page *g)
{
    weft_print_wrapped(g->to, 0, g->width,
                       g->proof->outcome == WEFT_INFEASIBLE
                           ? "  There is no plan: this is proved."
                           : "  No plan was found; whether there is one is not known.");
    if (g->proof->reason != NULL)
        weft_print_wrapped(g->to, 2, g->width, weft_arena_print(g->a, "  %s", g->proof->reason));
}

static void print_plan(page *g, bool with_layers)
{
    field(g, "latency", seconds(g, g->m->latency_s));
    print_bound(g);
    print_baselines(g);
    print_energy(g);
    field(g, "sent", g->m->sent_bytes > 0 ? weft_glued_bytes(g->a, g->m->sent_bytes) : "nothing");
    print_sets(g);
    print_times(g);
    print_steps(g, with_layers);
}

void weft_shard_report_text(const weft_shard_report *r, bool with_layers, int width, FILE *to)
{
    page g = {
        .r = r,
        .p = r->problem,
        .s = &r->solution->plan,
        .m = &r->solution->measures,
        .proof = &r->solution->proof,
        .to = to,
        .a = weft_arena_new(),
        .width = width <= 0 ? DEFAULT_WIDTH : width,
    };

    assert(r->problem != NULL && r->solution != NULL);
    g.width = g.width < LEAST_WIDTH ? LEAST_WIDTH : g.width > MOST_WIDTH ? MOST_WIDTH : g.width;
    print_title(&g);
    if (weft_shard_report_has_plan(r))
        print_plan(&g, with_layers);
    else
        print_no_plan(&g);
    weft_arena_free(g.a);
}
