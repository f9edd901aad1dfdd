/* SPDX-License-Identifier: MIT */
/* page_shard.c: the page of a sharded network: steps on sets of accelerators.
 *
 * Node v of the graph is step v, row k of the timeline is what set k computes; rows of what the
 * sets send follow, those that send nothing are left out. Members of a set do the same at the same
 * time, so a set is one row. */
#include "page_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct sharding {
    weft_page g;
    const weft_shard_report *r;
    const weft_page_more *more;
    const weft_sharding *p;
    const weft_shards *s;
    const weft_shards_measures *m;
    weft_arena *a; /* scratch */
    weft_page_time time;
    int *bar; /* [n_jobs] */
} sharding;

static const char *seconds(sharding *t, double s)
{
    return weft_glued_seconds(t->a, s);
}

/* --- summary --------------------------------------------------------------------------------- */

static void add_title(sharding *t)
{
    const weft_plan_origin *o = t->r->origin;

    t->g.title = weft_arena_print(t->g.a, "%s sharded on %s", o->model, o->platform);
    t->g.subtitle =
        weft_arena_print(t->g.a, "lowest latency, %s, solver %s",
                         t->p->ask.is_concurrent ? "branches side by side" : "one step at a time",
                         o->solver ? o->solver : "not known");
}

static void add_baselines(sharding *t)
{
    for (int i = 0; i < t->r->n_baselines; i++) {
        const weft_shard_baseline *b = &t->r->baseline[i];
        double share = weft_shard_reduction(t->r, b);
        const char *label = weft_arena_print(t->a, "against %s", b->solver);

        if (isnan(share))
            weft_page_fact(&t->g, "baseline", label, "-", "it has no plan", NAN);
        else
            weft_page_fact(&t->g, "baseline", label,
                           weft_arena_print(t->a, "%.1f %% %s", 100 * fabs(share),
                                            share < 0 ? "higher" : "lower"),
                           weft_arena_print(t->a, "it takes %s", seconds(t, b->value_s)), share);
    }
}

static void add_facts(sharding *t)
{
    char energy[48];

    weft_page_proof_facts(&t->g, "latency", seconds(t, t->m->latency_s), &t->r->solution->proof);
    add_baselines(t);
    if (t->m->energy_j > 0)
        weft_page_fact(&t->g, "energy", "energy",
                       weft_unit_print(t->m->energy_j, WEFT_UNIT_JOULES, energy), NULL,
                       t->m->energy_j);
    weft_page_fact(&t->g, "sent", "sent",
                   t->m->sent_bytes > 0 ? weft_glued_bytes(t->a, t->m->sent_bytes) : "nothing",
                   NULL, t->m->sent_bytes);
}

/* --- timeline -------------------------------------------------------------------------------- */

static const char *set_name(sharding *t, int k)
{
    const weft_team *team = &t->s->set[k];
    const char *first = t->p->platform->device[team->member[0]].name;

    return team->n == 1 ? weft_arena_print(t->g.a, "set %d: %s", k, first)
                        : weft_arena_print(t->g.a, "set %d: %d devices", k, team->n);
}

static void add_bars(sharding *t, const weft_lane *lane, int n, const int *row_of)
{
    for (int i = 0; i < n; i++) {
        int job = lane[i].job, v = t->m->jobs->task[job];
        const char *name = weft_step_name(t->p->steps, v);

        t->bar[job] = weft_page_add_bar(
            &t->time,
            &(weft_page_bar){.row = row_of[lane[i].row],
                             .lane = lane[i].lane,
                             .kind = (int)t->m->part[job],
                             .node = v,
                             .start_s = lane[i].start_s,
                             .end_s = lane[i].end_s,
                             .name = t->m->part[job] == WEFT_PART_COMPUTE
                                         ? name
                                         : weft_arena_print(t->a, "%s: %s",
                                                            weft_shard_part_name(t->m->part[job]),
                                                            name)});
    }
}

/* Rows 0 .. n_sets - 1 are computation, n_sets .. what is sent. */
static weft_lane *list_jobs(sharding *t, bool is_compute, int *n)
{
    const weft_jobs *j = t->m->jobs;
    weft_lane *lane = WEFT_NEW(t->a, weft_lane, j->n_jobs + 1);

    *n = 0;
    for (int i = 0; i < j->n_jobs; i++)
        if ((t->m->part[i] == WEFT_PART_COMPUTE) == is_compute)
            lane[(*n)++] = (weft_lane){.row = t->s->set_of[j->task[i]],
                                       .job = i,
                                       .start_s = t->m->timeline->start_s[i],
                                       .end_s = t->m->timeline->end_s[i]};
    return lane;
}

static void add_rows(sharding *t, bool is_compute)
{
    int n, *n_lanes = WEFT_NEW(t->a, int, t->s->n_sets + 1);
    int *row_of = WEFT_NEW(t->a, int, t->s->n_sets + 1);
    weft_lane *lane = list_jobs(t, is_compute, &n);

    weft_lanes_assign(lane, n, t->s->n_sets, n_lanes);
    for (int k = 0; k < t->s->n_sets; k++) {
        row_of[k] = t->time.rows.n;
        if (is_compute)
            weft_page_add_row(&t->time, set_name(t, k), "set", n_lanes[k]);
        else if (n_lanes[k] > 0)
            weft_page_add_row(&t->time, weft_arena_print(t->g.a, "set %d sends", k), "link",
                              n_lanes[k]);
    }
    add_bars(t, lane, n, row_of);
}

static void add_timeline(sharding *t)
{
    const char **kinds = WEFT_NEW(t->a, const char *, WEFT_N_PARTS);

    for (int i = 0; i < WEFT_N_PARTS; i++)
        kinds[i] = weft_shard_part_name((weft_shard_part)i);
    t->time = (weft_page_time){.a = t->g.a,
                               .end_s = t->m->timeline->end_of_all_s,
                               .n_kinds = WEFT_N_PARTS,
                               .kinds = kinds,
                               .colour_by = t->s->n_sets > 1 ? "device" : "kind"};
    t->bar = WEFT_NEW(t->a, int, t->m->jobs->n_jobs + 1);
    add_rows(t, true);
    add_rows(t, false);
    weft_page_dep_arrows(&t->time, t->m->jobs, t->bar);
}

/* --- the chain ------------------------------------------------------------------------------- */

static bool is_compute(const void *context, int job)
{
    const sharding *t = context;

    return t->m->part[job] == WEFT_PART_COMPUTE;
}

/* Neighbours on one set that do the same. */
static bool is_alike(const void *context, int x, int y)
{
    const sharding *t = context;

    return is_compute(t, x) == is_compute(t, y) &&
           t->s->set_of[t->m->jobs->task[x]] == t->s->set_of[t->m->jobs->task[y]];
}

static const char *part_text(void *context, const int *job, int n)
{
    sharding *t = context;
    const weft_steps *steps = t->p->steps;
    int first = t->m->jobs->task[job[0]], last = t->m->jobs->task[job[n - 1]];
    const char *what = is_compute(t, job[0]) ? "" : "sending for ";

    if (first == last)
        return weft_arena_print(t->a, "%s%s on set %d", what, weft_step_name(steps, first),
                                t->s->set_of[first]);
    return weft_arena_print(t->a, "%s%s .. %s on set %d", what, weft_step_name(steps, first),
                            weft_step_name(steps, last), t->s->set_of[first]);
}

/* --- graph ----------------------------------------------------------------------------------- */

static const char *operators_of(sharding *t, const weft_step *s)
{
    const weft_graph *graph = t->p->steps->graph;
    const char *text = graph->node[s->node[0]].op;

    for (int i = 1; i < s->n_nodes && i < 4; i++)
        text = weft_arena_print(t->a, "%s+%s", text, graph->node[s->node[i]].op);
    return s->n_nodes > 4 ? weft_arena_print(t->a, "%s+%d", text, s->n_nodes - 4) : text;
}

static bool is_repeated(const weft_step *s, int weight)
{
    for (int i = 0; i < weight; i++)
        if (s->weight[i].tensor == s->weight[weight].tensor)
            return true;
    return false;
}

/* Weights and results of the whole step, however it is cut. */
static double bytes_of(const weft_graph *graph, const weft_step *s)
{
    double bytes = 0;

    for (int i = 0; i < s->n_weights; i++)
        bytes += is_repeated(s, i) ? 0 : (double)graph->tensor[s->weight[i].tensor].bytes;
    for (int i = 0; i < s->n_results; i++)
        bytes += (double)graph->tensor[s->result[i]].bytes;
    return bytes;
}

/* Of its first result; NULL: it has none. */
static const char *shape_of(sharding *t, const weft_step *s)
{
    char text[192];

    if (s->n_results == 0)
        return NULL;
    weft_shape_print(t->p->steps->graph->tensor[s->result[0]].shape, text);
    return weft_arena_text(t->a, text, strlen(text));
}

static void add_nodes(sharding *t, weft_page_graph *g)
{
    const double *part_s = weft_step_parts(t->r, t->a);

    for (int v = 0; v < t->s->n_steps; v++) {
        char text[128];

        g->name[v] = weft_step_name(t->p->steps, v);
        g->op[v] = operators_of(t, &t->p->steps->step[v]);
        g->of[v] = t->s->set_of[v];
        for (int i = 0; i < WEFT_N_PARTS; i++)
            g->seconds[v] += part_s[(size_t)v * WEFT_N_PARTS + (size_t)i];
        g->bytes[v] = bytes_of(t->p->steps->graph, &t->p->steps->step[v]);
        g->shape[v] = shape_of(t, &t->p->steps->step[v]);
        g->start_s[v] = t->m->start_s[v];
        weft_split_print(t->p->steps, v, &t->s->split[v], text);
        g->note[v] = weft_arena_print(t->a, "split %s", text);
    }
}

typedef struct edge {
    int from, to, tensor;
} edge;

static int by_ends(const void *a, const void *b)
{
    const edge *x = a, *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return (x->tensor > y->tensor) - (x->tensor < y->tensor);
}

static int count_operands(const weft_steps *steps)
{
    int n = 0;

    for (int v = 0; v < steps->n; v++)
        n += steps->step[v].n_operands;
    return n;
}

/* What steps read from each other. Their number. */
static int list_edges(const weft_steps *steps, edge *e)
{
    int n = 0;

    for (int v = 0; v < steps->n; v++)
        for (int i = 0; i < steps->step[v].n_operands; i++) {
            const weft_step_operand *o = &steps->step[v].operand[i];

            if (o->step >= 0)
                e[n++] = (edge){o->step, v, o->tensor};
        }
    qsort(e, (size_t)n, sizeof *e, by_ends);
    return n;
}

/* A tensor counts once for each pair. */
static void add_edges(const edge *e, int n, const weft_graph *graph, weft_page_graph *g)
{
    g->n_edges = 0;
    for (int i = 0; i < n; i++) {
        bool is_new = i == 0 || e[i].from != e[i - 1].from || e[i].to != e[i - 1].to;

        if (is_new) {
            g->from[g->n_edges] = e[i].from;
            g->to[g->n_edges++] = e[i].to;
        }
        if (is_new || e[i].tensor != e[i - 1].tensor)
            g->edge_bytes[g->n_edges - 1] += (double)graph->tensor[e[i].tensor].bytes;
    }
}

static void add_graph(sharding *t)
{
    const weft_graph *graph = t->p->steps->graph;
    edge *e = WEFT_NEW(t->a, edge, count_operands(t->p->steps) + 1);
    int n = list_edges(t->p->steps, e);
    weft_page_graph g = weft_page_graph_new(t->s->n_steps, n, t->a);
    const char **names = WEFT_NEW(t->a, const char *, t->s->n_sets + 1);

    for (int k = 0; k < t->s->n_sets; k++)
        names[k] = set_name(t, k);
    g.n_devices = t->s->n_sets;
    g.device = names;
    g.start_s = WEFT_NEW(t->a, double, t->s->n_steps + 1);
    g.shape = WEFT_NEW(t->a, const char *, t->s->n_steps + 1);
    g.note = WEFT_NEW(t->a, const char *, t->s->n_steps + 1);
    add_nodes(t, &g);
    add_edges(e, n, graph, &g);
    t->g.graph = weft_page_draw(&g, t->g.a);
}

/* --- tables ---------------------------------------------------------------------------------- */

static const char *members_text(sharding *t, const weft_team *team)
{
    const char *names = "";

    for (int i = 0; i < team->n; i++)
        names = weft_arena_print(t->a, "%s%s%s", names, i == 0 ? "" : " ",
                                 t->p->platform->device[team->member[i]].name);
    return names;
}

static void add_set_table(sharding *t)
{
    static const weft_column column[] = {
        {"set",            "set",         "count"},
        {"n_devices",      "devices",     "count"},
        {"design",         "design",      "text" },
        {"steps",          "steps",       "count"},
        {"busy_s",         "computing",   "s"    },
        {"utilisation",    "utilised",    "%"    },
        {"peak_bytes",     "peak memory", "B"    },
        {"capacity_bytes", "capacity",    "B"    },
        {"devices",        "members",     "text" },
    };
    const int *n_steps = weft_set_sizes(t->s, t->a);
    weft_doc *rows =
        weft_page_table(&t->g, &(weft_table){"sets", "Sets of accelerators", "use",
                                             "Times and memory are those of one member: all do the "
                                             "same at the same time.",
                                             sizeof column / sizeof *column, column});

    for (int k = 0; k < t->s->n_sets; k++) {
        const weft_team *team = &t->s->set[k];
        weft_doc *row = weft_page_row(&t->g, rows);

        weft_cell_int(&t->g, row, k);
        weft_cell_int(&t->g, row, team->n);
        weft_cell_text(&t->g, row, weft_team_design(t->p, team)->name);
        weft_cell_int(&t->g, row, n_steps[k]);
        weft_cell_real(&t->g, row, t->m->busy_s[team->member[0]]);
        weft_cell_real(&t->g, row, weft_set_utilisation(t->r, k));
        weft_cell_real(&t->g, row, t->m->peak_bytes[team->member[0]]);
        weft_cell_real(&t->g, row, weft_team_memory(t->p, team));
        weft_cell_text(&t->g, row, members_text(t, team));
    }
}

static void add_time_table(sharding *t)
{
    static const weft_column column[] = {
        {"part",    "part",             "text"},
        {"seconds", "time",             "s"   },
        {"share",   "share of latency", "%"   },
        {"what",    "what",             "text"},
    };
    const struct {
        const char *name, *what;
        double seconds;
    } part[] = {
        {"compute",  "the slowest member of the set",              t->m->compute_s },
        {"rotate",   "shared shards go round between phases",      t->m->rotate_s  },
        {"reduce",   "partial results are combined",               t->m->reduce_s  },
        {"reshard",  "operands move between members of a set",     t->m->reshard_s },
        {"handover", "operands move from one set to another",      t->m->handover_s},
        {"host",     "inputs come from the host, outputs go back", t->m->host_s    },
    };
    double sum_s = 0;
    weft_doc *rows;

    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        sum_s += part[i].seconds;
    rows = weft_page_table(
        &t->g,
        &(weft_table){"times", "Where the time goes", "use",
                      sum_s > t->m->latency_s * (1 + 1e-9)
                          ? "Some of this happens at the same time: the shares add up to more."
                          : NULL,
                      sizeof column / sizeof *column, column});
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        weft_doc *row = weft_page_row(&t->g, rows);

        weft_cell_text(&t->g, row, part[i].name);
        weft_cell_real(&t->g, row, part[i].seconds);
        weft_cell_real(&t->g, row, t->m->latency_s > 0 ? part[i].seconds / t->m->latency_s : NAN);
        weft_cell_text(&t->g, row, part[i].what);
    }
}

static void add_step_table(sharding *t)
{
    enum { FIRST = 5, N_COLUMNS = FIRST + WEFT_N_PARTS };
    weft_column column[N_COLUMNS] = {
        {"name",    "step",  "text" },
        {"set",     "set",   "count"},
        {"split",   "split", "text" },
        {"start_s", "start", "s"    },
        {"end_s",   "end",   "s"    },
    };
    const double *part_s = weft_step_parts(t->r, t->a);
    weft_doc *rows;

    for (int i = 0; i < WEFT_N_PARTS; i++) {
        const char *name = weft_shard_part_name((weft_shard_part)i);

        column[FIRST + i] = (weft_column){weft_arena_print(t->a, "%s_s", name), name, "s"};
    }
    rows = weft_page_table(
        &t->g, &(weft_table){"splits", "Splits of the steps", "use", NULL, N_COLUMNS, column});
    for (int v = 0; v < t->s->n_steps; v++) {
        weft_doc *row = weft_page_row(&t->g, rows);
        char text[128];

        weft_cell_text(&t->g, row, weft_step_name(t->p->steps, v));
        weft_cell_int(&t->g, row, t->s->set_of[v]);
        weft_cell_text(&t->g, row, weft_split_print(t->p->steps, v, &t->s->split[v], text));
        weft_cell_real(&t->g, row, t->m->start_s[v]);
        weft_cell_real(&t->g, row, t->m->end_s[v]);
        for (int i = 0; i < WEFT_N_PARTS; i++)
            weft_cell_real(&t->g, row, part_s[(size_t)v * WEFT_N_PARTS + (size_t)i]);
    }
}

/* Of a set the fullest member. */
static void add_memory(sharding *t)
{
    for (int k = 0; k < t->s->n_sets; k++) {
        const weft_team *team = &t->s->set[k];
        int fullest = team->member[0];

        for (int i = 1; i < team->n; i++)
            if (t->m->peak_bytes[team->member[i]] > t->m->peak_bytes[fullest])
                fullest = team->member[i];
        if (t->m->memory != NULL && t->m->n_memory[fullest] > 0)
            weft_page_memory(&t->g, set_name(t, k), weft_team_memory(t->p, team),
                             t->m->memory[fullest], t->m->n_memory[fullest]);
    }
}

/* --- about ----------------------------------------------------------------------------------- */

static void add_about(sharding *t)
{
    const weft_shard_ask *ask = &t->p->ask;
    weft_doc *options;

    weft_page_origin(&t->g, t->r->origin, t->more, &options);
    weft_about(&t->g, options, "semantics", ask->is_concurrent ? "branches" : "sequential");
    weft_about(&t->g, options, "contiguous", ask->is_contiguous ? "yes" : NULL);
    weft_about(&t->g, options, "rotating shards", ask->has_no_sharing ? "not allowed" : "allowed");
    weft_page_proof(&t->g, &t->r->solution->proof);
    weft_page_assume(&t->g,
                     "All members of a set work on a step at the same time; it takes as long "
                     "as the slowest of them.");
    weft_page_assume(&t->g, ask->is_concurrent
                                ? "A step begins when its operands are there and its set is free."
                                : "Steps run one after the other, with their communication.");
    weft_page_assume(&t->g, t->p->hides ? "Rotation of shards and halos hide behind computation."
                                        : "Communication does not hide behind computation.");
    weft_page_assume(&t->g, "A set communicates at the speed of its slowest pair of members.");
    weft_page_assume(&t->g, "The host computes nothing: inputs come from it and outputs go back to "
                            "it.");
    weft_page_assume(&t->g, "Times of operators come from the cost models of the devices, not from "
                            "measurements.");
}

/* --- all ------------------------------------------------------------------------------------- */

static void add_plan(sharding *t)
{
    add_facts(t);
    add_timeline(t);
    t->g.chain = weft_page_walk_chain(
        &(weft_page_walk){t->m->jobs, t->m->timeline, t->bar, is_compute, is_alike, part_text, t},
        &t->time);
    t->g.timeline = weft_page_timeline(&t->time);
    add_graph(t);
    add_set_table(t);
    add_time_table(t);
    add_step_table(t);
    add_memory(t);
}

weft_doc *weft_shard_report_page(const weft_shard_report *r, const weft_page_more *more,
                                 weft_arena *a)
{
    sharding t = {.r = r,
                  .more = more,
                  .p = r->problem,
                  .s = &r->solution->plan,
                  .m = &r->solution->measures,
                  .a = weft_arena_new()};
    weft_doc *page;

    weft_page_begin(&t.g, "shard", a);
    add_title(&t);
    t.g.result = weft_shard_report_result(r, a);
    weft_shard_report_put(r, t.g.result, a);
    if (weft_shard_report_has_plan(r))
        add_plan(&t);
    weft_page_documents(&t.g, more);
    if (more->why != NULL)
        t.g.bound = weft_page_bound(more->why, &r->solution->proof, a);
    add_about(&t);
    page = weft_page_end(&t.g);
    weft_arena_free(t.a);
    return page;
}
