/* SPDX-License-Identifier: MIT */
/* facts_shard.c: the page of a sharded network: steps on sets of accelerators.
 *
 * Node v of the graph is step v, row k of the timeline is what set k computes; rows of what the
 * sets send follow, those that send nothing are left out. Members of a set do the same at the same
 * time, so a set is one row. */
#include "document.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct sharding {
    weft_page g;
    const weft_shard_report *r;
    const weft_page_more *more;
    const weft_shard_problem *p;
    const weft_shard_plan *s;
    const weft_shard_plan_measures *m;
    weft_arena *a;
} sharding;

static const char *seconds(sharding *t, double s)
{
    return weft_glued_seconds(t->a, s);
}

/* --- summary --------------------------------------------------------------------------------- */

static void add_title(sharding *t)
{
    const weft_plan_origin *o = t->r->origin;

    t->g.title = weft_arena_print(t->a, "%s sharded on %s", o && o->model ? o->model : t->p->name,
                                  o && o->platform ? o->platform : t->p->platform->name);
    t->g.subtitle = weft_arena_print(
        t->a, "lowest latency, %s, solver %s%s",
        t->p->constraints.is_concurrent ? "branches side by side" : "one step at a time",
        o && o->solver ? o->solver : "not known", weft_software_note(o, t->a));
}

double weft_shard_reduction(const weft_shard_report *r, const weft_shard_baseline *b)
{
    double value_s = weft_shard_report_has_plan(r) ? r->solution->measures.latency_s : NAN;

    return b->value_s > 0 ? (b->value_s - value_s) / b->value_s : NAN;
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
                           fabs(share) < 1e-9
                               ? "no better"
                               : weft_arena_print(t->a, "%.1f %% %s", 100 * fabs(share),
                                                  share < 0 ? "higher" : "lower"),
                           weft_arena_print(t->a, "it takes %s", seconds(t, b->value_s)), share);
    }
}

static void add_idle(sharding *t)
{
    const int *n_steps = weft_set_sizes(t->s, t->a);
    int n = t->p->n_accelerators;

    for (int k = 0; k < t->s->n_sets; k++)
        n -= n_steps[k] > 0 ? t->s->set[k].n : 0;
    if (n > 0)
        weft_page_fact(&t->g, "idle", "not used",
                       weft_arena_print(t->a, "%d accelerator%s", n, n == 1 ? "" : "s"), NULL, n);
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
    add_idle(t);
}

/* --- timeline -------------------------------------------------------------------------------- */

static const char *set_name(void *context, int k)
{
    const sharding *t = context;
    const weft_device_set *device_set = &t->s->set[k];
    const char *first = t->p->platform->device[device_set->member[0]].name;

    return device_set->n == 1 ? weft_arena_print(t->a, "set %d: %s", k, first)
                              : weft_arena_print(t->a, "set %d: %d devices", k, device_set->n);
}

static const char *kind_name(int kind)
{
    return weft_shard_part_name((weft_shard_part)kind);
}

static int step_of(const void *context, int job)
{
    return ((const sharding *)context)->m->jobs->task[job];
}

static int set_of(const void *context, int job)
{
    return ((const sharding *)context)->s->set_of[step_of(context, job)];
}

static int part_of(const void *context, int job)
{
    return (int)((const sharding *)context)->m->part[job];
}

static bool is_compute(const void *context, int job)
{
    return part_of(context, job) == WEFT_PART_COMPUTE;
}

static bool is_sent(const void *context, int job)
{
    return !is_compute(context, job);
}

static const char *bar_name(void *context, int job)
{
    const sharding *t = context;
    const char *name = weft_step_name(t->p->steps, step_of(t, job));

    return is_compute(t, job) ? name
                              : weft_arena_print(t->a, "%s: %s", kind_name(part_of(t, job)), name);
}

/* What traces say of a bar. */
static void put_bar(const void *context, const weft_page_bar *bar, weft_arena *a, weft_doc *args)
{
    const sharding *t = context;
    int v = step_of(t, bar->job);
    char text[128];

    weft_put_text(a, args, "step", weft_step_name(t->p->steps, v));
    weft_split_print(t->p->steps, v, &t->s->split[v], text);
    weft_put_text(a, args, "split", weft_arena_print(a, "%s", text));
    weft_put_real(a, args, "seconds", t->m->jobs->duration_s[bar->job]);
}

/* Neighbours on one set that do the same. */
static bool is_alike(const void *t, int x, int y)
{
    return is_compute(t, x) == is_compute(t, y) && set_of(t, x) == set_of(t, y);
}

static const char *part_text(void *context, const int *job, int n)
{
    sharding *t = context;
    const weft_steps *steps = t->p->steps;
    int first = step_of(t, job[0]), last = step_of(t, job[n - 1]);
    const char *what = is_compute(t, job[0]) ? "" : "sending for ";

    if (first == last)
        return weft_arena_print(t->a, "%s%s on set %d", what, weft_step_name(steps, first),
                                t->s->set_of[first]);
    return weft_arena_print(t->a, "%s%s .. %s on set %d", what, weft_step_name(steps, first),
                            weft_step_name(steps, last), t->s->set_of[first]);
}

static void add_run(sharding *t)
{
    t->g.put_bar = put_bar;
    t->g.context = t;
    (void)weft_page_add_run(&t->g,
                            &(weft_page_run){.jobs = t->m->jobs,
                                             .run = t->m->timeline,
                                             .n_rows = t->s->n_sets,
                                             .row_kind = "set",
                                             .n_kinds = WEFT_N_PARTS,
                                             .kind_name = kind_name,
                                             .row_name = set_name,
                                             .row_of = set_of,
                                             .kind_of = part_of,
                                             .is_sent = is_sent,
                                             .bar_name = bar_name,
                                             .node_of = step_of,
                                             .is_compute = is_compute,
                                             .is_alike = is_alike,
                                             .text = part_text,
                                             .context = t},
                            t->s->n_sets > 1 ? "device" : "kind");
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
    return weft_arena_word(t->a, text);
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

static const char *members_text(sharding *t, const weft_device_set *device_set)
{
    const char *names = "";

    for (int i = 0; i < device_set->n; i++)
        names = weft_arena_print(t->a, "%s%s%s", names, i == 0 ? "" : " ",
                                 t->p->platform->device[device_set->member[i]].name);
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
                                             sizeof column / sizeof *column, column, .rank = NULL});

    for (int k = 0; k < t->s->n_sets; k++) {
        const weft_device_set *device_set = &t->s->set[k];
        weft_doc *row = weft_page_row(&t->g, rows);

        weft_cell_int(&t->g, row, k);
        weft_cell_int(&t->g, row, device_set->n);
        weft_cell_text(&t->g, row, weft_device_set_design(t->p, device_set)->name);
        weft_cell_int(&t->g, row, n_steps[k]);
        weft_cell_real(&t->g, row, t->m->busy_s[device_set->member[0]]);
        weft_cell_real(&t->g, row, weft_set_utilisation(t->r, k));
        weft_cell_real(&t->g, row, t->m->peak_bytes[device_set->member[0]]);
        weft_cell_real(&t->g, row, weft_device_set_memory(t->p, device_set));
        weft_cell_text(&t->g, row, members_text(t, device_set));
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
                      sizeof column / sizeof *column, column, .rank = NULL});
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
    enum { FIRST = 5, N_COLUMNS = FIRST + WEFT_N_PARTS + 2 };
    weft_column column[N_COLUMNS] = {
        {"name",   "step",    "text" },
        {"set",    "set",     "count"},
        {"split",  "split",   "text" },
        {"all_s",  "time",    "s"    },
        {"sent_s", "sending", "s"    },
    };
    const double *part_s = weft_step_parts(t->r, t->a);
    weft_doc *rows;

    for (int i = 0; i < WEFT_N_PARTS; i++)
        column[FIRST + i] =
            (weft_column){weft_arena_print(t->a, "%s_s", kind_name(i)), kind_name(i), "s"};
    column[N_COLUMNS - 2] = (weft_column){"start_s", "start", "s"};
    column[N_COLUMNS - 1] = (weft_column){"end_s", "end", "s"};
    rows = weft_page_table(&t->g,
                           &(weft_table){"splits", "Splits of the steps", "use", NULL, N_COLUMNS,
                                         column, .rank = "all_s", .more = "--layers"});
    for (int v = 0; v < t->s->n_steps; v++) {
        weft_doc *row = weft_page_row(&t->g, rows);
        const double *of = part_s + (size_t)v * WEFT_N_PARTS;
        double all_s = 0;
        char text[128];

        for (int i = 0; i < WEFT_N_PARTS; i++)
            all_s += of[i];
        weft_cell_text(&t->g, row, weft_step_name(t->p->steps, v));
        weft_cell_int(&t->g, row, t->s->set_of[v]);
        weft_cell_text(&t->g, row, weft_split_print(t->p->steps, v, &t->s->split[v], text));
        weft_cell_real(&t->g, row, all_s);
        weft_cell_real(&t->g, row, all_s - of[WEFT_PART_COMPUTE]);
        for (int i = 0; i < WEFT_N_PARTS; i++)
            weft_cell_real(&t->g, row, of[i]);
        weft_cell_real(&t->g, row, t->m->start_s[v]);
        weft_cell_real(&t->g, row, t->m->end_s[v]);
    }
}

/* Of a set the fullest member. */
static void add_memory(sharding *t)
{
    for (int k = 0; k < t->s->n_sets; k++) {
        const weft_device_set *device_set = &t->s->set[k];
        int fullest = device_set->member[0];

        for (int i = 1; i < device_set->n; i++)
            if (t->m->peak_bytes[device_set->member[i]] > t->m->peak_bytes[fullest])
                fullest = device_set->member[i];
        if (t->m->memory != NULL && t->m->n_memory[fullest] > 0)
            WEFT_PUSH(
                t->a, t->g.memory,
                ((weft_page_curve){set_name(t, k), k, weft_device_set_memory(t->p, device_set),
                                   t->m->memory[fullest], t->m->n_memory[fullest]}));
    }
}

/* --- about ----------------------------------------------------------------------------------- */

static void add_about(sharding *t)
{
    const weft_shard_constraints *request = &t->p->constraints;
    weft_doc *options;

    weft_page_origin(&t->g, t->r->origin, t->more, &options);
    weft_about(&t->g, options, "semantics", request->is_concurrent ? "branches" : "sequential");
    weft_about(&t->g, options, "contiguous", request->is_contiguous ? "yes" : NULL);
    weft_about(&t->g, options, "rotating shards",
               request->has_no_sharing ? "not allowed" : "allowed");
    weft_page_proof(&t->g, &t->r->solution->proof);
    weft_page_assume(&t->g,
                     "All members of a set work on a step at the same time; it takes as long "
                     "as the slowest of them.");
    weft_page_assume(&t->g, request->is_concurrent
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

static void add_baseline_list(sharding *t)
{
    weft_doc *list = weft_doc_new(t->a, WEFT_DOC_LIST);

    for (int i = 0; i < t->r->n_baselines; i++) {
        const weft_shard_baseline *b = &t->r->baseline[i];
        weft_doc *d = weft_add_map(t->a, list);

        weft_put_text(t->a, d, "solver", b->solver);
        weft_put_text(t->a, d, "status", weft_outcome_name(b->outcome));
        weft_put_real(t->a, d, "value", b->value_s);
        weft_put_real(t->a, d, "reduction", weft_shard_reduction(t->r, b));
    }
    weft_doc_put(t->a, t->g.result, "baselines", list);
}

/* Members of the sets and operators of the steps as lists. */
static void list_names(sharding *t, weft_doc *sets, weft_doc *steps)
{
    const weft_graph *graph = t->p->steps->graph;

    for (int k = 0; k < t->s->n_sets; k++) {
        const weft_device_set *set = &t->s->set[k];
        const char **name = WEFT_NEW(t->a, const char *, set->n + 1);

        for (int i = 0; i < set->n; i++)
            name[i] = t->p->platform->device[set->member[i]].name;
        weft_doc_set(t->a, sets->item[k], "devices", weft_page_texts(name, set->n, t->a));
    }
    for (int v = 0; v < t->s->n_steps; v++) {
        const weft_step *s = &t->p->steps->step[v];
        const char **name = WEFT_NEW(t->a, const char *, s->n_nodes + 1);

        for (int i = 0; i < s->n_nodes; i++)
            name[i] = graph->node[s->node[i]].op;
        weft_doc_set(t->a, steps->item[v], "operators", weft_page_texts(name, s->n_nodes, t->a));
    }
}

/* What `weft shard --json` says besides. */
static void add_result(sharding *t, bool has_plan)
{
    weft_doc *sets = weft_page_rows(&t->g, "sets"), *steps = weft_page_rows(&t->g, "splits");
    weft_doc *times = NULL;

    weft_page_result(&t->g, &(weft_result_head){.command = "shard",
                                                .origin = t->r->origin,
                                                .goal = "latency",
                                                .unit = "s",
                                                .proof = &t->r->solution->proof});
    weft_put_text(t->a, t->g.result, "semantics",
                  t->p->constraints.is_concurrent ? "branches" : "sequential");
    add_baseline_list(t);
    if (has_plan) {
        list_names(t, sets, steps);
        times = weft_doc_new(t->a, WEFT_DOC_MAP);
        weft_put_times(&t->g, times);
    }
    weft_put_or_null(&t->g, t->g.result, "sets", sets);
    weft_put_or_null(&t->g, t->g.result, "steps", steps);
    weft_put_or_null(&t->g, t->g.result, "times", times);
}

static void add_plan(sharding *t)
{
    add_facts(t);
    add_run(t);
    if (!t->more->is_brief)
        add_graph(t);
    add_set_table(t);
    add_time_table(t);
    add_step_table(t);
    add_memory(t);
}

weft_page *weft_shard_facts(const void *report, const weft_page_more *more, weft_arena *a)
{
    const weft_shard_report *r = report;
    const weft_proof *proof = &r->solution->proof;
    bool has_plan = weft_shard_report_has_plan(r);
    sharding *t = WEFT_NEW(a, sharding, 1);

    *t = (sharding){.r = r,
                    .more = more,
                    .p = r->problem,
                    .s = &r->solution->plan,
                    .m = &r->solution->measures,
                    .a = a};
    weft_page_begin(&t->g, "shard", a);
    add_title(t);
    t->g.outcome = proof->outcome;
    t->g.reason = proof->reason;
    if (has_plan)
        add_plan(t);
    add_result(t, has_plan);
    if (has_plan)
        weft_page_accuracy(&t->g, t->p->platform);
    weft_page_add_more(&t->g, more, proof);
    if (!more->is_brief)
        add_about(t);
    return &t->g;
}
