/* SPDX-License-Identifier: MIT */
/* page_train.c: the page of a training plan: stages of a pipeline.
 *
 * Node i of the graph is unit i of the network, row s of the timeline is what stage s computes;
 * rows of what the stages send follow. Devices of a stage do the same at the same time.
 *
 * Which unit reads from which is not kept, but cuts are, and they are closed under predecessors:
 * the units in every cut with unit v are those that v waits for, as far as cuts know. Of these
 * relations the ones that follow from others are left out (a transitive reduction). Time O(cuts *
 * units * words
 * + units^2 * words), words being units / 64. */
#include "page_parts.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct training {
    weft_page g;
    const weft_train_report *r;
    const weft_page_more *more;
    const weft_training *p;
    const weft_pipeline *plan;
    const weft_train_measures *m;
    weft_arena *a; /* scratch */
    weft_page_time time;
    int *bar;      /* [n_jobs] */
    int *chunk_of; /* [n_units] */
} training;

static const char *seconds(training *t, double s)
{
    return weft_glued_seconds(t->a, s);
}

static const char *whole(training *t, int64_t n)
{
    return weft_format_integer(n, WEFT_NEW(t->a, char, 32));
}

static int n_chunks(const training *t)
{
    return t->plan->n_stages * t->plan->n_chunks;
}

static void find_chunks(training *t)
{
    const weft_units *u = &t->p->units;

    t->chunk_of = WEFT_NEW(t->a, int, u->n_units + 1);
    for (int c = 0; c < n_chunks(t); c++)
        for (int i = 0; i < u->n_units; i++)
            if (weft_bit_get(u->cut + (size_t)t->plan->cut[c + 1] * (size_t)u->n_words, i) &&
                !weft_bit_get(u->cut + (size_t)t->plan->cut[c] * (size_t)u->n_words, i))
                t->chunk_of[i] = c;
}

/* --- summary --------------------------------------------------------------------------------- */

static void add_title(training *t)
{
    const weft_plan_origin *o = t->r->origin;

    t->g.title = weft_arena_print(t->g.a, "%s trained on %s", o->model, o->platform);
    t->g.subtitle = weft_arena_print(t->g.a, "shortest step of %s sample%s, solver %s",
                                     whole(t, t->p->ask.batch), t->p->ask.batch == 1 ? "" : "s",
                                     o->solver ? o->solver : "not known");
}

static void add_shape(training *t)
{
    const weft_pipeline *plan = t->plan;
    int64_t m = t->p->ask.batch / plan->microbatch;
    int used = weft_pipeline_devices(plan);

    weft_page_fact(
        &t->g, "schedule", "schedule", weft_schedule_name(plan->schedule),
        weft_arena_print(
            t->a, "%s microbatch%s of %s, %d stage%s%s", whole(t, m), m == 1 ? "" : "es",
            whole(t, plan->microbatch), plan->n_stages, plan->n_stages == 1 ? "" : "s",
            plan->n_chunks > 1 ? weft_arena_print(t->a, " of %d chunks", plan->n_chunks) : ""),
        NAN);
    weft_page_fact(
        &t->g, "devices", "devices",
        weft_arena_print(t->a, "%s of %s", whole(t, used),
                         whole(t, weft_cluster_devices(t->p->cluster))),
        isnan(t->m->flops_utilisation)
            ? NULL
            : weft_arena_print(t->a, "%.1f %% of their usable peak", 100 * t->m->flops_utilisation),
        used);
}

static void add_facts(training *t)
{
    double speed_up = weft_train_speed_up(t->r);
    char rate[32];

    weft_page_proof_facts(&t->g, "step", seconds(t, t->m->step_s), &t->r->solution->proof);
    weft_page_fact(
        &t->g, "samples_per_s", "throughput",
        weft_arena_print(t->a, "%s samples/s", weft_format_count(t->m->samples_per_s, rate)), NULL,
        t->m->samples_per_s);
    if (!isnan(speed_up))
        weft_page_fact(&t->g, "speed_up", "over equal shares",
                       weft_arena_print(t->a, "%.2fx", speed_up),
                       weft_arena_print(t->a, "a planner for equal devices takes %s",
                                        seconds(t, t->r->equal->measures.step_s)),
                       speed_up);
    add_shape(t);
    weft_page_fact(&t->g, "bubble", "idle", weft_arena_print(t->a, "%.1f %%", 100 * t->m->bubble),
                   "of the time of all stages (bubble)", t->m->bubble);
    weft_page_fact(&t->g, "sent", "sent",
                   t->m->sent_bytes > 0 ? weft_glued_bytes(t->a, t->m->sent_bytes) : "nothing",
                   "a step", t->m->sent_bytes);
}

/* --- timeline -------------------------------------------------------------------------------- */

static const char *stage_name(training *t, int i)
{
    int n = weft_stage_devices(&t->plan->stage[i]);

    return weft_arena_print(t->g.a, "stage %d: %d device%s", i, n, n == 1 ? "" : "s");
}

static const char *job_name(training *t, int job)
{
    const char *part = weft_train_part_name(t->m->part[job]);
    int item = t->m->jobs->item[job], chunk = t->m->jobs->task[job] / t->plan->n_stages;

    if (item < 0)
        return part;
    return t->plan->n_chunks > 1 ? weft_arena_print(t->a, "%s %d, chunk %d", part, item, chunk)
                                 : weft_arena_print(t->a, "%s %d", part, item);
}

static weft_lane *list_jobs(training *t, bool is_sent, int *n)
{
    const weft_jobs *j = t->m->jobs;
    weft_lane *lane = WEFT_NEW(t->a, weft_lane, j->n_jobs + 1);

    *n = 0;
    for (int i = 0; i < j->n_jobs; i++)
        if (weft_train_is_sent(t->m->part[i]) == is_sent)
            lane[(*n)++] = (weft_lane){.row = weft_train_stage_of(t->r, i),
                                       .job = i,
                                       .start_s = t->m->timeline->start_s[i],
                                       .end_s = t->m->timeline->end_s[i]};
    return lane;
}

static void add_rows(training *t, bool is_sent)
{
    int n, n_stages = t->plan->n_stages;
    int *n_lanes = WEFT_NEW(t->a, int, n_stages + 1), *row_of = WEFT_NEW(t->a, int, n_stages + 1);
    weft_lane *lane = list_jobs(t, is_sent, &n);

    weft_lanes_assign(lane, n, n_stages, n_lanes);
    for (int i = 0; i < n_stages; i++) {
        row_of[i] = t->time.rows.n;
        if (!is_sent)
            weft_page_add_row(&t->time, stage_name(t, i), "stage", n_lanes[i]);
        else if (n_lanes[i] > 0)
            weft_page_add_row(&t->time, weft_arena_print(t->g.a, "stage %d sends", i), "link",
                              n_lanes[i]);
    }
    for (int i = 0; i < n; i++)
        t->bar[lane[i].job] =
            weft_page_add_bar(&t->time, &(weft_page_bar){.row = row_of[lane[i].row],
                                                         .lane = lane[i].lane,
                                                         .kind = (int)t->m->part[lane[i].job],
                                                         .node = -1,
                                                         .start_s = lane[i].start_s,
                                                         .end_s = lane[i].end_s,
                                                         .name = job_name(t, lane[i].job)});
}

static void add_timeline(training *t)
{
    const char **kinds = WEFT_NEW(t->a, const char *, WEFT_N_TRAIN_PARTS);

    for (int i = 0; i < WEFT_N_TRAIN_PARTS; i++)
        kinds[i] = weft_train_part_name((weft_train_part)i);
    t->time = (weft_page_time){.a = t->g.a,
                               .end_s = t->m->timeline->end_of_all_s,
                               .n_kinds = WEFT_N_TRAIN_PARTS,
                               .kinds = kinds,
                               .colour_by = "kind"};
    t->bar = WEFT_NEW(t->a, int, t->m->jobs->n_jobs + 1);
    add_rows(t, false);
    add_rows(t, true);
    weft_page_dep_arrows(&t->time, t->m->jobs, t->bar);
}

/* --- the chain ------------------------------------------------------------------------------- */

/* As the reasons count it: summing gradients is no computation. */
static bool is_compute(const void *context, int job)
{
    const training *t = context;

    return t->m->part[job] == WEFT_TRAIN_FORWARD || t->m->part[job] == WEFT_TRAIN_BACKWARD ||
           t->m->part[job] == WEFT_TRAIN_UPDATE;
}

static bool is_alike(const void *context, int x, int y)
{
    const training *t = context;

    return t->m->part[x] == t->m->part[y] &&
           weft_train_stage_of(t->r, x) == weft_train_stage_of(t->r, y);
}

static const char *part_text(void *context, const int *job, int n)
{
    training *t = context;
    const char *part = weft_train_part_name(t->m->part[job[0]]);
    int stage = weft_train_stage_of(t->r, job[0]);

    return n == 1 ? weft_arena_print(t->a, "%s on stage %d", job_name(t, job[0]), stage)
                  : weft_arena_print(t->a, "%d times %s on stage %d", n, part, stage);
}

/* --- graph ----------------------------------------------------------------------------------- */

static int index_of(const int64_t *list, int n, int64_t x)
{
    for (int i = 0; i < n; i++)
        if (list[i] == x)
            return i;
    return -1;
}

static int width_index(const weft_training *p, int width)
{
    for (int i = 0; i < p->n_widths; i++)
        if (p->width[i] == width)
            return i;
    return -1;
}

/* Forward, backward and what is computed again of a microbatch: the slowest part of the stage. */
static double unit_s(training *t, int unit, const weft_stage *s)
{
    const weft_training *p = t->p;
    double most_s = 0;

    for (int i = 0; i < s->n_parts; i++) {
        int w = width_index(p, s->width),
            share = index_of(p->share, p->n_shares, s->part[i].samples);
        const weft_unit_cost *cost =
            w < 0 || share < 0 ? NULL
                               : p->cost[weft_training_table(p, s->part[i].class_id, w, share)];

        if (cost != NULL)
            most_s = fmax(most_s, cost[unit].forward_s + cost[unit].backward_s +
                                      cost[unit].again_s[s->recompute]);
    }
    return most_s;
}

/* Weights, gradients and moments on one device of the stage. */
static double unit_bytes(training *t, int unit, const weft_stage *s)
{
    int w = width_index(t->p, s->width);
    const weft_unit_state *state =
        w < 0 ? NULL : t->p->state[s->part[0].class_id * t->p->n_widths + w];

    return state == NULL
               ? 0
               : state[unit].weight_bytes + state[unit].gradient_bytes + state[unit].moment_bytes;
}

/* The first forward of each chunk. */
static int *first_bars(training *t)
{
    int *first = WEFT_NEW(t->a, int, n_chunks(t) + 1);

    for (int c = 0; c < n_chunks(t); c++)
        first[c] = -1;
    for (int i = t->m->jobs->n_jobs - 1; i >= 0; i--)
        if (t->m->part[i] == WEFT_TRAIN_FORWARD)
            first[t->m->jobs->task[i]] = t->bar[i];
    return first;
}

static void add_nodes(training *t, weft_page_graph *g)
{
    const int *first = first_bars(t);

    for (int i = 0; i < g->n_nodes; i++) {
        int chunk = t->chunk_of[i], stage = chunk % t->plan->n_stages;
        const weft_stage *s = &t->plan->stage[stage];

        g->name[i] = t->p->units.name[i];
        g->op[i] = weft_arena_print(t->a, "unit %d", i);
        g->of[i] = stage;
        g->seconds[i] = unit_s(t, i, s);
        g->bytes[i] = unit_bytes(t, i, s);
        g->bar[i] = first[chunk];
        g->note[i] =
            t->plan->n_chunks > 1
                ? weft_arena_print(t->a, "stage %d, chunk %d; recomputation: %s", stage,
                                   chunk / t->plan->n_stages, weft_recompute_name(s->recompute))
                : weft_arena_print(t->a, "stage %d; recomputation: %s", stage,
                                   weft_recompute_name(s->recompute));
    }
}

/* [unit * words] units that each waits for, and itself: those of every cut that has it. */
static uint64_t *find_ancestors(training *t)
{
    const weft_units *u = &t->p->units;
    size_t words = (size_t)u->n_words;
    uint64_t *before = WEFT_NEW(t->a, uint64_t, (size_t)u->n_units * words + 1);

    memset(before, 0xff, (size_t)u->n_units * words * sizeof *before);
    for (int c = 0; c < u->n_cuts; c++) {
        const uint64_t *cut = u->cut + (size_t)c * words;

        for (int i = 0; i < u->n_units; i++)
            if (weft_bit_get(cut, i))
                for (size_t w = 0; w < words; w++)
                    before[(size_t)i * words + w] &= cut[w];
    }
    return before;
}

static void add_edge(weft_page_graph *g, int from, int to, double bytes)
{
    g->from[g->n_edges] = from;
    g->to[g->n_edges] = to;
    g->edge_bytes[g->n_edges++] = bytes;
}

/* Does a unit between the two wait for `from` and is waited for by `to`? */
static bool is_implied(const weft_units *u, const uint64_t *before, int from, int to)
{
    size_t words = (size_t)u->n_words;

    for (int i = from + 1; i < to; i++)
        if (weft_bit_get(before + (size_t)to * words, i) &&
            weft_bit_get(before + (size_t)i * words, from))
            return true;
    return false;
}

static void add_dag(training *t, weft_page_graph *g)
{
    const weft_units *u = &t->p->units;
    const uint64_t *before = find_ancestors(t);

    for (int i = 0; i < u->n_units; i++)
        for (int k = i + 1; k < u->n_units; k++)
            if (weft_bit_get(before + (size_t)k * (size_t)u->n_words, i) &&
                !is_implied(u, before, i, k))
                add_edge(g, i, k, NAN);
}

/* What leaves a unit of a chain goes to the next, a microbatch at a time. */
static void add_line(training *t, weft_page_graph *g)
{
    const weft_units *u = &t->p->units;

    for (int i = 0; i + 1 < u->n_units; i++)
        add_edge(g, i, i + 1, u->leave_bytes[i + 1] * (double)t->plan->microbatch);
}

/* A sample on one device of each class. */
static weft_doc *costs_doc(training *t)
{
    const weft_training *p = t->p;
    weft_arena *a = t->g.a;
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *on = weft_doc_new(a, WEFT_DOC_LIST);
    weft_doc *of = weft_doc_new(a, WEFT_DOC_LIST), *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int k = 0; k < p->cluster->n_classes; k++)
        weft_doc_add(a, on,
                     weft_doc_new_text(a, weft_arena_print(a, "%s, one sample on one device",
                                                           p->cluster->classes[k].kind)));
    for (int i = 0; i < t->plan->n_stages; i++)
        weft_doc_add(a, of, weft_doc_new_int(a, t->plan->stage[i].part[0].class_id));
    for (int i = 0; i < p->units.n_units; i++) {
        weft_doc *row = weft_doc_new(a, WEFT_DOC_LIST);

        for (int k = 0; k < p->cluster->n_classes; k++) {
            const weft_unit_cost *cost = p->cost[weft_training_table(p, k, 0, 0)];

            weft_doc_add(a, row,
                         weft_real_or_null(
                             a, cost == NULL
                                    ? NAN
                                    : weft_page_rounded(cost[i].forward_s + cost[i].backward_s)));
        }
        weft_doc_add(a, list, row);
    }
    weft_doc_put(a, d, "on", on);
    weft_doc_put(a, d, "of", of);
    weft_doc_put(a, d, "seconds", list);
    weft_doc_put(a, d, "joules", weft_doc_new(a, WEFT_DOC_NULL));
    return d;
}

static void add_graph(training *t)
{
    const weft_units *u = &t->p->units;
    int most = u->is_chain ? u->n_units : u->n_units * (u->n_units - 1) / 2;
    weft_page_graph g = weft_page_graph_new(u->n_units, most, t->a);
    const char **names = WEFT_NEW(t->a, const char *, t->plan->n_stages + 1);

    for (int i = 0; i < t->plan->n_stages; i++)
        names[i] = stage_name(t, i);
    g.n_edges = 0;
    g.n_devices = t->plan->n_stages;
    g.device = names;
    g.note = WEFT_NEW(t->a, const char *, u->n_units + 1);
    g.bar = WEFT_NEW(t->a, int, u->n_units + 1);
    add_nodes(t, &g);
    if (u->is_chain)
        add_line(t, &g);
    else
        add_dag(t, &g);
    g.costs = costs_doc(t);
    t->g.graph = weft_page_draw(&g, t->g.a);
}

/* --- tables ---------------------------------------------------------------------------------- */

/* "2 x 4 server.gpu, 8 samples each" for each part. */
static const char *parts_text(training *t, const weft_stage *s)
{
    const char *text = "";

    for (int i = 0; i < s->n_parts; i++)
        text = weft_arena_print(t->a, "%s%s%d x %d %s, %" PRId64 " sample%s each", text,
                                i == 0 ? "" : "; ", s->part[i].n_blocks, s->width,
                                t->p->cluster->classes[s->part[i].class_id].kind,
                                s->part[i].samples, s->part[i].samples == 1 ? "" : "s");
    return text;
}

static const char *units_text(training *t, int stage, int *n)
{
    const weft_units *u = &t->p->units;
    int first = -1, last = -1;

    *n = 0;
    for (int i = 0; i < u->n_units; i++)
        if (t->chunk_of[i] % t->plan->n_stages == stage) {
            first = first < 0 ? i : first;
            last = i;
            (*n)++;
        }
    return first == last ? u->name[first]
                         : weft_arena_print(t->a, "%s .. %s", u->name[first], u->name[last]);
}

static void add_stage(training *t, weft_doc *rows, int i)
{
    const weft_stage *s = &t->plan->stage[i];
    weft_chunk_figures sum = weft_stage_figures(t->r, i);
    weft_doc *row = weft_page_row(&t->g, rows);
    double busy_s = t->m->stage_busy_s[i];
    int n_units;
    const char *units = units_text(t, i, &n_units);

    weft_cell_int(&t->g, row, i);
    weft_cell_int(&t->g, row, n_units);
    weft_cell_int(&t->g, row, weft_stage_devices(s));
    weft_cell_int(&t->g, row, s->width);
    weft_cell_text(&t->g, row, weft_recompute_name(s->recompute));
    weft_cell_real(&t->g, row, sum.forward_s);
    weft_cell_real(&t->g, row, sum.backward_s);
    weft_cell_real(&t->g, row, sum.again_s);
    weft_cell_real(&t->g, row, sum.collective_s);
    weft_cell_real(&t->g, row, busy_s);
    weft_cell_real(&t->g, row, t->m->step_s > 0 ? fmax(0.0, 1 - busy_s / t->m->step_s) : NAN);
    weft_cell_real(&t->g, row, t->m->stage_peak_bytes[i]);
    weft_cell_real(&t->g, row, t->m->stage_room_bytes[i]);
    weft_cell_text(&t->g, row, parts_text(t, s));
    weft_cell_text(&t->g, row, units);
}

static void add_stage_table(training *t)
{
    static const weft_column column[] = {
        {"stage",          "stage",            "count"},
        {"units",          "units",            "count"},
        {"devices",        "devices",          "count"},
        {"width",          "tensor width",     "count"},
        {"recompute",      "recomputation",    "text" },
        {"forward_s",      "forward",          "s"    },
        {"backward_s",     "backward",         "s"    },
        {"again_s",        "computed again",   "s"    },
        {"collective_s",   "tensor sums",      "s"    },
        {"busy_s",         "busy",             "s"    },
        {"bubble",         "idle (bubble)",    "%"    },
        {"peak_bytes",     "peak memory",      "B"    },
        {"capacity_bytes", "capacity",         "B"    },
        {"parts",          "replicas x width", "text" },
        {"names",          "network",          "text" },
    };
    weft_doc *rows = weft_page_table(
        &t->g, &(weft_table){"stages", "Stages", "use",
                             "Forward, backward, what is computed again and, as a part "
                             "of these, sums over the tensor width are of one "
                             "microbatch; busy and idle of a step; memory of "
                             "the fullest device.",
                             sizeof column / sizeof *column, column});

    for (int i = 0; i < t->plan->n_stages; i++)
        add_stage(t, rows, i);
}

static void add_time_table(training *t)
{
    static const weft_column column[] = {
        {"part",    "part", "text"},
        {"seconds", "time", "s"   },
        {"what",    "what", "text"},
    };
    const struct {
        const char *name, *what;
        double seconds;
    } part[] = {
        {"compute",    "forward, backward and what is computed again", t->m->compute_s   },
        {"collective", "sums over the tensor width",                   t->m->collective_s},
        {"send",       "activations and gradients between stages",     t->m->send_s      },
        {"sync",       "replicas sum gradients",                       t->m->sync_s      },
        {"update",     "optimizer",                                    t->m->update_s    },
    };
    weft_doc *rows = weft_page_table(
        &t->g, &(weft_table){"times", "Where the time goes", "use",
                             "Sums over all stages, which work at the same time: together they are "
                             "more than the step.",
                             sizeof column / sizeof *column, column});

    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        weft_doc *row = weft_page_row(&t->g, rows);

        weft_cell_text(&t->g, row, part[i].name);
        weft_cell_real(&t->g, row, part[i].seconds);
        weft_cell_text(&t->g, row, part[i].what);
    }
}

static void add_memory(training *t)
{
    for (int i = 0; t->m->memory != NULL && i < t->plan->n_stages; i++)
        if (t->m->n_memory[i] > 0)
            weft_page_memory(&t->g, stage_name(t, i), t->m->stage_room_bytes[i], t->m->memory[i],
                             t->m->n_memory[i]);
}

/* --- about ----------------------------------------------------------------------------------- */

static void add_about(training *t)
{
    const weft_train_ask *ask = &t->p->ask;
    weft_doc *options;

    weft_page_origin(&t->g, t->r->origin, t->more, &options);
    weft_about(&t->g, options, "samples of a step", whole(t, ask->batch));
    if (ask->microbatch > 0)
        weft_about(&t->g, options, "samples of a microbatch", whole(t, ask->microbatch));
    weft_about(&t->g, options, "optimizer state",
               ask->is_split_moments ? "divided among the replicas" : "on every replica");
    weft_about(&t->g, options, "units of the network", whole(t, t->p->units.n_units));
    weft_page_proof(&t->g, &t->r->solution->proof);
    weft_page_assume(&t->g, "A step is forward, backward and optimizer of all samples under the "
                            "schedule, simulated job by job.");
    weft_page_assume(&t->g,
                     "Devices of a stage do the same at the same time; a stage takes as long "
                     "as its slowest part.");
    weft_page_assume(&t->g, t->p->transfer == WEFT_CONTEND
                                ? "Stages send beside computation; a direction between two stages "
                                  "carries one transfer at a time."
                                : "Stages send beside computation, without waiting for other "
                                  "transfers.");
    weft_page_assume(&t->g, "Memory counts weights, gradients, optimizer state, what is kept for "
                            "backward, and the most that a running unit needs.");
    weft_page_assume(&t->g, "Times of operators come from the cost models of the devices, not from "
                            "measurements.");
    weft_page_assume(&t->g, "The bound holds for plans of the space that is searched: pipelines of "
                            "the units, with replicas and tensor widths. How operators are cut "
                            "over the devices of a block is fixed before: the least forward + "
                            "backward + update / 8.");
    for (int i = 0; i < t->p->n_warnings; i++)
        weft_page_assume(&t->g, t->p->warning[i]);
}

/* --- all ------------------------------------------------------------------------------------- */

static void add_plan(training *t)
{
    find_chunks(t);
    add_facts(t);
    add_timeline(t);
    t->g.chain = weft_page_walk_chain(
        &(weft_page_walk){t->m->jobs, t->m->timeline, t->bar, is_compute, is_alike, part_text, t},
        &t->time);
    t->g.timeline = weft_page_timeline(&t->time);
    add_graph(t);
    add_stage_table(t);
    add_time_table(t);
    add_memory(t);
}

weft_doc *weft_train_report_page(const weft_train_report *r, const weft_page_more *more,
                                 weft_arena *a)
{
    training t = {.r = r,
                  .more = more,
                  .p = r->problem,
                  .plan = &r->solution->plan,
                  .m = &r->solution->measures,
                  .a = weft_arena_new()};
    weft_doc *page;

    weft_page_begin(&t.g, "train", a);
    add_title(&t);
    t.g.result = weft_train_report_result(r, a);
    weft_train_report_put(r, t.g.result, a);
    if (weft_train_report_has_plan(r))
        add_plan(&t);
    weft_page_documents(&t.g, more);
    if (more->why != NULL)
        t.g.bound = weft_page_bound(more->why, &r->solution->proof, a);
    add_about(&t);
    page = weft_page_end(&t.g);
    weft_arena_free(t.a);
    return page;
}
