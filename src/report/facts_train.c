/* SPDX-License-Identifier: MIT */
/* facts_train.c: the page of a training plan: stages of a pipeline.
 *
 * Node i of the graph is unit i of the network, row s of the timeline is what stage s computes;
 * rows of what the stages send follow. Devices of a stage do the same at the same time.
 *
 * Which unit reads from which is not kept, but cuts are, and they are closed under predecessors:
 * the units in every cut with unit v are those that v waits for, as far as cuts know. Of these
 * relations the ones that follow from others are left out (a transitive reduction). Time O(cuts *
 * units * words
 * + units^2 * words), words being units / 64. */
#include "document.h"
#include "train_plan.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct training {
    weft_page g;
    const weft_train_report *r;
    const weft_page_more *more;
    const weft_train_problem *p;
    const weft_train_plan *plan;
    const weft_train_measures *m;
    weft_arena *a;
    const int *bar;      /* [n_jobs] */
    const int *chunk_of; /* [n_units] */
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

/* --- summary --------------------------------------------------------------------------------- */

static void add_title(training *t)
{
    const weft_plan_origin *o = t->r->origin;

    t->g.title = weft_arena_print(t->a, "%s trained on %s", o && o->model ? o->model : t->p->name,
                                  o && o->platform ? o->platform : t->p->cluster->platform->name);
    t->g.subtitle =
        weft_arena_print(t->a, "shortest step of %s sample%s, solver %s%s",
                         whole(t, t->p->constraints.batch), t->p->constraints.batch == 1 ? "" : "s",
                         o && o->solver ? o->solver : "not known", weft_software_note(o, t->a));
}

/* What the bound is the largest of. */
static void add_floors(training *t)
{
    weft_bound_name list[WEFT_N_BOUNDS];
    int binding = weft_train_bounds(t->r->solution, list);
    const char *text = "";

    for (int i = 0; i < WEFT_N_BOUNDS; i++)
        if (list[i].seconds > 0)
            text = weft_arena_print(t->a, "%s%s%s %s%s", text, *text ? ", " : "", list[i].name,
                                    seconds(t, list[i].seconds), i == binding ? " (binds)" : "");
    if (*text)
        weft_page_fact(&t->g, "floors", "at least", text, NULL, NAN);
}

double weft_train_speed_up(const weft_train_report *r)
{
    double value_s = weft_train_report_has_plan(r) ? r->solution->measures.step_s : NAN;
    weft_outcome outcome = r->equal ? r->equal->proof.outcome : WEFT_UNKNOWN;

    if (outcome != WEFT_OPTIMAL && outcome != WEFT_BOUNDED)
        return NAN;
    return value_s > 0 ? r->equal->measures.step_s / value_s : NAN;
}

static void add_equal(training *t)
{
    double speed_up = weft_train_speed_up(t->r);

    if (t->r->equal == NULL)
        return;
    if (isnan(speed_up))
        weft_page_fact(&t->g, "speed_up", "over equal shares", "-",
                       "a planner for equal devices finds no plan", NAN);
    else
        weft_page_fact(&t->g, "speed_up", "over equal shares",
                       weft_arena_print(t->a, "%.2fx", speed_up),
                       weft_arena_print(t->a, "a planner for equal devices takes %s",
                                        seconds(t, t->r->equal->measures.step_s)),
                       speed_up);
}

/* Tensor width, stages, replicas and samples of each. */
typedef struct split {
    int tp, pp, dp;
    int64_t mbs;
} split;

/* Where these are the same for all stages; false: they are not. */
static bool find_split(const training *t, split *out)
{
    const weft_train_plan *plan = t->plan;

    *out = (split){.tp = plan->stage[0].width,
                   .pp = plan->n_stages,
                   .dp = weft_stage_blocks(&plan->stage[0]),
                   .mbs = plan->stage[0].part[0].samples};
    for (int i = 0; i < plan->n_stages; i++) {
        const weft_stage *s = &plan->stage[i];

        if (s->width != out->tp || weft_stage_blocks(s) != out->dp)
            return false;
        for (int k = 0; k < s->n_parts; k++)
            if (s->part[k].samples != out->mbs)
                return false;
    }
    return true;
}

static void add_split(training *t)
{
    int zero = t->p->constraints.zero;
    split x;

    if (find_split(t, &x))
        weft_page_fact(&t->g, "split", "split",
                       weft_arena_print(t->a, "tp=%d,pp=%d,dp=%d,mbs=%" PRId64 "%s%s%s", x.tp, x.pp,
                                        x.dp, x.mbs,
                                        zero > 0 ? weft_arena_print(t->a, ",zero=%d", zero) : "",
                                        t->p->is_sequence ? ",sp=1" : "",
                                        t->p->constraints.overlap ? ",overlap=1" : ""),
                       "as --exactly takes it", NAN);
}

/* Of networks that read words, words count. */
static const char *token_rate(training *t)
{
    char rate[32];

    if (t->p->tokens == 0)
        return NULL;
    return weft_arena_print(t->a, "%s tokens/s, sequences of %s",
                            weft_format_count(t->m->samples_per_s * (double)t->p->tokens, rate),
                            whole(t, t->p->tokens));
}

static void add_shape(training *t)
{
    const weft_train_plan *plan = t->plan;
    int64_t m = t->p->constraints.batch / plan->microbatch;
    int used = weft_train_plan_devices(plan);

    weft_page_fact(
        &t->g, "schedule", "schedule", weft_schedule_name(plan->schedule),
        weft_arena_print(
            t->a, "%s microbatch%s of %s sample%s, %d stage%s%s", whole(t, m), m == 1 ? "" : "es",
            whole(t, plan->microbatch), plan->microbatch == 1 ? "" : "s", plan->n_stages,
            plan->n_stages == 1 ? "" : "s",
            plan->n_chunks > 1 ? weft_arena_print(t->a, " of %d chunks", plan->n_chunks) : ""),
        NAN);
    add_split(t);
    if (t->p->constraints.memory_margin > 0)
        weft_page_fact(&t->g, "margin", "left free",
                       weft_arena_print(t->a, "%g %%", 100 * t->p->constraints.memory_margin),
                       "of the memory of every device", t->p->constraints.memory_margin);
    weft_page_fact(
        &t->g, "devices", "devices",
        weft_arena_print(t->a, "%s of %s", whole(t, used),
                         whole(t, weft_cluster_devices(t->p->cluster))),
        isnan(t->m->flops_utilisation)
            ? NULL
            : weft_arena_print(t->a, "%.1f %% of their usable peak", 100 * t->m->flops_utilisation),
        used);
}

/* Model FLOPs utilisation: products of forward and backward, nothing that is computed again, over
 * what the devices of the plan could do at the peak of their type. NAN: not known. */
static double mfu(const training *t)
{
    double peak = 0;

    for (int i = 0; i < t->plan->n_stages; i++)
        for (int k = 0; k < t->plan->stage[i].n_parts; k++) {
            const weft_device_set_part *x = &t->plan->stage[i].part[k];
            const weft_class *c = &t->p->cluster->classes[x->class_id];
            double one = weft_design_type_peak(t->p->cluster->platform->device[c->device[0]].design,
                                               t->p->product_type);

            if (!(one > 0))
                return NAN;
            peak += one * x->n_blocks * t->plan->stage[i].width;
        }
    return t->p->sample_flops > 0 ? t->m->samples_per_s * t->p->sample_flops / peak : NAN;
}

static void add_mfu(training *t)
{
    double part = mfu(t);

    if (!isnan(part))
        weft_page_fact(&t->g, "mfu", "MFU", weft_arena_print(t->a, "%.1f %%", 100 * part),
                       "products of forward and backward over the peak of the devices in use",
                       part);
}

static void add_facts(training *t)
{
    char rate[32];

    weft_page_proof_facts(&t->g, "step", seconds(t, t->m->step_s), &t->r->solution->proof);
    weft_page_fact(
        &t->g, "samples_per_s", "throughput",
        weft_arena_print(t->a, "%s samples/s", weft_format_count(t->m->samples_per_s, rate)),
        token_rate(t), t->m->samples_per_s);
    add_floors(t);
    add_equal(t);
    add_shape(t);
    add_mfu(t);
    weft_page_fact(&t->g, "bubble", "idle", weft_arena_print(t->a, "%.1f %%", 100 * t->m->bubble),
                   "of the time of all stages (bubble)", t->m->bubble);
    weft_page_fact(&t->g, "exposed", "exposed",
                   weft_arena_print(t->a, "%.1f %%", 100 * t->m->exposed),
                   "of the same in communication that no computation hides", t->m->exposed);
    weft_page_fact(&t->g, "sent", "sent",
                   t->m->sent_bytes > 0 ? weft_glued_bytes(t->a, t->m->sent_bytes) : "nothing",
                   "a step", t->m->sent_bytes);
}

/* --- timeline -------------------------------------------------------------------------------- */

static const char *stage_name(void *context, int i)
{
    training *t = context;
    int n = weft_stage_devices(&t->plan->stage[i]);

    return weft_arena_print(t->a, "stage %d: %d device%s", i, n, n == 1 ? "" : "s");
}

static const char *kind_name(int kind)
{
    return weft_train_part_name((weft_train_part)kind);
}

static int part_of(const void *context, int job)
{
    return (int)((const training *)context)->m->part[job];
}

static int stage_of(const void *context, int job)
{
    return weft_train_stage_of(((const training *)context)->r, job);
}

static int no_node(const void *context, int job)
{
    (void)context;
    (void)job;
    return -1;
}

static bool is_sent(const void *context, int job)
{
    return weft_train_is_sent((weft_train_part)part_of(context, job));
}

static const char *job_name(void *context, int job)
{
    training *t = context;
    const char *part = kind_name(part_of(t, job));
    int item = t->m->jobs->item[job], chunk = t->m->jobs->task[job] / t->plan->n_stages;

    if (item < 0)
        return part;
    return t->plan->n_chunks > 1 ? weft_arena_print(t->a, "%s %d, chunk %d", part, item, chunk)
                                 : weft_arena_print(t->a, "%s %d", part, item);
}

/* What traces say of a bar. */
static void put_bar(const void *context, const weft_page_bar *bar, weft_arena *a, weft_doc *args)
{
    const training *t = context;

    if (t->m->jobs->item[bar->job] >= 0) {
        weft_put_int(a, args, "microbatch", t->m->jobs->item[bar->job]);
        weft_put_int(a, args, "chunk", t->m->jobs->task[bar->job] / t->plan->n_stages);
    }
    weft_put_real(a, args, "seconds", t->m->jobs->duration_s[bar->job]);
}

/* As the reasons count it: summing gradients is no computation. */
static bool is_compute(const void *context, int job)
{
    return !is_sent(context, job) && part_of(context, job) != WEFT_TRAIN_SYNC;
}

static bool is_alike(const void *t, int x, int y)
{
    return part_of(t, x) == part_of(t, y) && stage_of(t, x) == stage_of(t, y);
}

static const char *part_text(void *context, const int *job, int n)
{
    training *t = context;
    int stage = stage_of(t, job[0]);

    return n == 1 ? weft_arena_print(t->a, "%s on stage %d", job_name(t, job[0]), stage)
                  : weft_arena_print(t->a, "%d times %s on stage %d", n,
                                     kind_name(part_of(t, job[0])), stage);
}

static void add_run(training *t)
{
    t->g.put_bar = put_bar;
    t->g.context = t;
    t->bar = weft_page_add_run(&t->g,
                               &(weft_page_run){.jobs = t->m->jobs,
                                                .run = t->m->timeline,
                                                .n_rows = t->plan->n_stages,
                                                .row_kind = "stage",
                                                .n_kinds = WEFT_N_TRAIN_PARTS,
                                                .kind_name = kind_name,
                                                .row_name = stage_name,
                                                .row_of = stage_of,
                                                .kind_of = part_of,
                                                .is_sent = is_sent,
                                                .bar_name = job_name,
                                                .node_of = no_node,
                                                .is_compute = is_compute,
                                                .is_alike = is_alike,
                                                .text = part_text,
                                                .context = t},
                               "kind");
}

/* --- graph ----------------------------------------------------------------------------------- */

/* Weights, gradients and moments on one device of the stage. */
static double unit_bytes(training *t, int unit, const weft_stage *s)
{
    int table = weft_part_table(t->p, s, 0);
    const weft_block_state *state = table < 0 ? NULL : t->p->state[table];

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

        g->name[i] = t->p->blocks.name[i];
        g->op[i] = weft_arena_print(t->a, "unit %d", i);
        g->of[i] = stage;
        g->seconds[i] = weft_unit_s(t->p, i, s);
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
    const weft_blocks *u = &t->p->blocks;
    size_t words = (size_t)u->n_words;
    uint64_t *before = WEFT_NEW(t->a, uint64_t, (size_t)u->n_blocks * words + 1);

    memset(before, 0xff, (size_t)u->n_blocks * words * sizeof *before);
    for (int c = 0; c < u->n_cuts; c++) {
        const uint64_t *cut = u->cut + (size_t)c * words;

        for (int i = 0; i < u->n_blocks; i++)
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
static bool is_implied(const weft_blocks *u, const uint64_t *before, int from, int to)
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
    const weft_blocks *u = &t->p->blocks;
    const uint64_t *before = find_ancestors(t);

    for (int i = 0; i < u->n_blocks; i++)
        for (int k = i + 1; k < u->n_blocks; k++)
            if (weft_bit_get(before + (size_t)k * (size_t)u->n_words, i) &&
                !is_implied(u, before, i, k))
                add_edge(g, i, k, NAN);
}

/* What leaves a unit of a chain goes to the next, a microbatch at a time. */
static void add_line(training *t, weft_page_graph *g)
{
    const weft_blocks *u = &t->p->blocks;

    for (int i = 0; i + 1 < u->n_blocks; i++)
        add_edge(g, i, i + 1, u->leave_bytes[i + 1] * (double)t->plan->microbatch);
}

/* A sample on one device of each class. */
static weft_doc *costs_doc(training *t)
{
    const weft_train_problem *p = t->p;
    weft_arena *a = t->g.a;
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *on = weft_doc_new(a, WEFT_DOC_LIST);
    weft_doc *of = weft_doc_new(a, WEFT_DOC_LIST), *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int k = 0; k < p->cluster->n_classes; k++)
        weft_doc_add(a, on,
                     weft_doc_new_text(a, weft_arena_print(a, "%s, one sample on one device",
                                                           p->cluster->classes[k].kind)));
    for (int i = 0; i < t->plan->n_stages; i++)
        weft_doc_add(a, of, weft_doc_new_int(a, t->plan->stage[i].part[0].class_id));
    for (int i = 0; i < p->blocks.n_blocks; i++) {
        weft_doc *row = weft_doc_new(a, WEFT_DOC_LIST);

        for (int k = 0; k < p->cluster->n_classes; k++) {
            const weft_block_cost *cost = p->cost[weft_train_problem_table(p, k, 0, 0)];

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
    const weft_blocks *u = &t->p->blocks;
    int most = u->is_chain ? u->n_blocks : u->n_blocks * (u->n_blocks - 1) / 2;
    weft_page_graph g = weft_page_graph_new(u->n_blocks, most, t->a);
    const char **names = WEFT_NEW(t->a, const char *, t->plan->n_stages + 1);

    for (int i = 0; i < t->plan->n_stages; i++)
        names[i] = stage_name(t, i);
    g.n_edges = 0;
    g.n_devices = t->plan->n_stages;
    g.device = names;
    g.note = WEFT_NEW(t->a, const char *, u->n_blocks + 1);
    g.bar = WEFT_NEW(t->a, int, u->n_blocks + 1);
    add_nodes(t, &g);
    if (u->is_chain)
        add_line(t, &g);
    else
        add_dag(t, &g);
    g.costs = costs_doc(t);
    t->g.graph = weft_page_draw(&g, t->g.a);
}

/* --- tables ---------------------------------------------------------------------------------- */

/* "2 x4 server.gpu, 8 each" for each part. */
static const char *parts_text(training *t, const weft_stage *s)
{
    const char *text = "";

    for (int i = 0; i < s->n_parts; i++)
        text = weft_arena_print(
            t->a, "%s%s%d x%d %s, %" PRId64 " each", text, i == 0 ? "" : "; ", s->part[i].n_blocks,
            s->width, t->p->cluster->classes[s->part[i].class_id].kind, s->part[i].samples);
    return text;
}

static const char *units_text(training *t, int stage, int *n)
{
    const weft_blocks *u = &t->p->blocks;
    int first = -1, last = -1;

    *n = 0;
    for (int i = 0; i < u->n_blocks; i++)
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
    weft_chunk_figures sum = weft_stage_figures(t->plan, t->m, i);
    weft_doc *row = weft_page_row(&t->g, rows);
    double busy_s = t->m->stage_busy_s[i];
    int n_blocks;
    const char *blocks = units_text(t, i, &n_blocks);

    weft_cell_int(&t->g, row, i);
    weft_cell_int(&t->g, row, n_blocks);
    weft_cell_text(&t->g, row, parts_text(t, s));
    weft_cell_text(&t->g, row, weft_recompute_name(s->recompute));
    weft_cell_real(&t->g, row, sum.forward_s);
    weft_cell_real(&t->g, row, sum.backward_s);
    weft_cell_real(&t->g, row, t->m->stage_peak_bytes[i]);
    weft_cell_int(&t->g, row, weft_stage_devices(s));
    weft_cell_int(&t->g, row, s->width);
    weft_cell_real(&t->g, row, sum.again_s);
    weft_cell_real(&t->g, row, sum.collective_s);
    weft_cell_real(&t->g, row, busy_s);
    weft_cell_real(&t->g, row, t->m->step_s > 0 ? fmax(0.0, 1 - busy_s / t->m->step_s) : NAN);
    weft_cell_real(&t->g, row, t->m->stage_room_bytes[i]);
    weft_cell_text(&t->g, row, blocks);
}

static void add_stage_table(training *t)
{
    static const weft_column column[] = {
        {"stage",          "stage",            "count"},
        {"units",          "units",            "count"},
        {"parts",          "replicas x width", "text" },
        {"recompute",      "again",            "text" },
        {"forward_s",      "forward",          "s"    },
        {"backward_s",     "backward",         "s"    },
        {"peak_bytes",     "memory",           "B"    },
        {"devices",        "devices",          "count"},
        {"width",          "tensor width",     "count"},
        {"again_s",        "computed again",   "s"    },
        {"collective_s",   "tensor sums",      "s"    },
        {"busy_s",         "busy",             "s"    },
        {"bubble",         "idle (bubble)",    "%"    },
        {"capacity_bytes", "capacity",         "B"    },
        {"names",          "network",          "text" },
    };
    weft_doc *rows = weft_page_table(
        &t->g, &(weft_table){"stages", "Stages", "use",
                             "Replicas of a width, and samples of each. Forward, backward, what is "
                             "computed again and, as a part "
                             "of these, sums over the tensor width are of one "
                             "microbatch; busy and idle of a step; memory of "
                             "the fullest device.",
                             sizeof column / sizeof *column, column, .more = "--verbose"});

    for (int i = 0; i < t->plan->n_stages; i++)
        add_stage(t, rows, i);
}

/* The devices of a part, block by block: "gpu-0..gpu-3 gpu-4..gpu-7". */
static const char *devices_text(training *t, const weft_stage *s, const weft_device_set_part *part)
{
    const weft_class *k = &t->p->cluster->classes[part->class_id];
    const weft_device *device = t->p->cluster->platform->device;
    const char *text = "";

    for (int b = 0; b < part->n_blocks; b++) {
        int start = weft_class_block(k, s->width, part->first + b * part->step);
        const char *first = device[k->device[start]].name;

        text = s->width == 1 ? weft_arena_print(t->a, "%s%s%s", text, b == 0 ? "" : " ", first)
                             : weft_arena_print(t->a, "%s%s%s..%s", text, b == 0 ? "" : " ", first,
                                                device[k->device[start + s->width - 1]].name);
    }
    return text;
}

static void add_memory_table(training *t)
{
    static const weft_column column[] = {
        {"stage",       "stage",       "count"},
        {"weights",     "weights",     "B"    },
        {"gradients",   "gradients",   "B"    },
        {"optimizer",   "optimizer",   "B"    },
        {"activations", "activations", "B"    },
        {"buffers",     "buffers",     "B"    },
        {"peak_bytes",  "peak",        "B"    },
    };
    weft_doc *rows = weft_page_table(
        &t->g, &(weft_table){
                   "memory_kinds", "Memory of a device", "use",
                   "Of the fullest device of each stage, when it is fullest. Activations are kept "
                   "for backward; buffers are what the running unit needs beside them.",
                   sizeof column / sizeof *column, column, .more = "--verbose"});

    for (int i = 0; i < t->plan->n_stages; i++) {
        const weft_train_memory *x = &t->m->stage_memory[i];
        weft_doc *row = weft_page_row(&t->g, rows);

        weft_cell_int(&t->g, row, i);
        weft_cell_real(&t->g, row, x->weight_bytes);
        weft_cell_real(&t->g, row, x->gradient_bytes);
        weft_cell_real(&t->g, row, x->moment_bytes);
        weft_cell_real(&t->g, row, x->stash_bytes);
        weft_cell_real(&t->g, row, x->work_bytes);
        weft_cell_real(&t->g, row, t->m->stage_peak_bytes[i]);
    }
}

static void add_device_table(training *t)
{
    static const weft_column column[] = {
        {"stage",    "stage",                 "count"},
        {"class",    "class",                 "text" },
        {"replicas", "replicas",              "count"},
        {"samples",  "samples of each block", "count"},
        {"devices",  "devices",               "text" },
    };
    weft_doc *rows = weft_page_table(&t->g, &(weft_table){"devices", "Devices of the stages", "use",
                                                          NULL, sizeof column / sizeof *column,
                                                          column, .is_detail = true});

    for (int i = 0; i < t->plan->n_stages; i++)
        for (int k = 0; k < t->plan->stage[i].n_parts; k++) {
            const weft_device_set_part *part = &t->plan->stage[i].part[k];
            weft_doc *row = weft_page_row(&t->g, rows);

            weft_cell_int(&t->g, row, i);
            weft_cell_text(&t->g, row, t->p->cluster->classes[part->class_id].kind);
            weft_cell_int(&t->g, row, part->n_blocks);
            weft_cell_int(&t->g, row, part->samples);
            weft_cell_text(&t->g, row, devices_text(t, &t->plan->stage[i], part));
        }
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
                             sizeof column / sizeof *column, column, .is_detail = true});

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
            WEFT_PUSH(t->a, t->g.memory,
                      ((weft_page_curve){stage_name(t, i), i, t->m->stage_room_bytes[i],
                                         t->m->memory[i], t->m->n_memory[i]}));
}

/* --- about ----------------------------------------------------------------------------------- */

static void add_about(training *t)
{
    const weft_train_constraints *request = &t->p->constraints;
    weft_doc *options;

    weft_page_origin(&t->g, t->r->origin, t->more, &options);
    weft_about(&t->g, options, "samples of a step", whole(t, request->batch));
    if (request->microbatch > 0)
        weft_about(&t->g, options, "samples of a microbatch", whole(t, request->microbatch));
    weft_about(&t->g, options, "optimizer state",
               request->zero >= WEFT_ZERO_MOMENTS ? "divided among the replicas"
                                                  : "on every replica");
    weft_about(&t->g, options, "recipe", weft_recipe_name(request->recipe));
    if (request->memory_margin > 0)
        weft_about(&t->g, options, "memory left free",
                   weft_arena_print(t->a, "%g %%", 100 * request->memory_margin));
    if (request->zero >= WEFT_ZERO_GRADIENTS)
        weft_about(&t->g, options, "gradients", "divided among the replicas");
    if (request->zero >= WEFT_ZERO_WEIGHTS)
        weft_about(&t->g, options, "weights", "divided among the replicas, gathered unit by unit");
    weft_about(&t->g, options, "units of the network", whole(t, t->p->blocks.n_blocks));
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
}

/* --- all ------------------------------------------------------------------------------------- */

/* Of a plan that was read nobody knows: below 0, null. */
static void put_count(training *t, weft_doc *d, const char *key, int64_t n)
{
    weft_put_or_null(&t->g, d, key, n < 0 ? NULL : weft_doc_new_int(t->a, n));
}

static weft_doc *bounds_doc(training *t)
{
    weft_doc *d = weft_doc_new(t->a, WEFT_DOC_MAP);
    weft_bound_name list[WEFT_N_BOUNDS];
    int binding = weft_train_bounds(t->r->solution, list);

    for (int i = 0; i < WEFT_N_BOUNDS; i++)
        weft_put_real(t->a, d, list[i].key, list[i].seconds);
    weft_put_text(t->a, d, "binds", binding >= 0 ? list[binding].name : NULL);
    return d;
}

static weft_doc *search_doc(training *t)
{
    weft_doc *d = weft_doc_new(t->a, WEFT_DOC_MAP);

    weft_put_int(t->a, d, "units", t->p->blocks.n_blocks);
    weft_put_int(t->a, d, "cuts", t->p->blocks.n_cuts);
    put_count(t, d, "stages_tried", t->r->solution->log.n_stages_tried);
    put_count(t, d, "plans_tried", t->r->solution->log.n_plans_tried);
    return d;
}

static weft_doc *equal_doc(training *t)
{
    double speed_up = weft_train_speed_up(t->r);
    weft_doc *d = weft_doc_new(t->a, WEFT_DOC_MAP);

    if (t->r->equal == NULL)
        return NULL;
    weft_put_text(t->a, d, "status", weft_outcome_name(t->r->equal->proof.outcome));
    weft_put_real(t->a, d, "value", isnan(speed_up) ? NAN : t->r->equal->measures.step_s);
    weft_put_real(t->a, d, "speed_up", speed_up);
    return d;
}

/* null where stages differ. */
static void put_split(training *t, weft_doc *d)
{
    split x;
    bool is_even = find_split(t, &x);

    put_count(t, d, "tp", is_even ? x.tp : -1);
    put_count(t, d, "pp", t->plan->n_stages);
    put_count(t, d, "dp", is_even ? x.dp : -1);
    put_count(t, d, "mbs", is_even ? x.mbs : -1);
    put_count(t, d, "zero", t->p->constraints.zero);
    weft_doc_put(t->a, d, "sp", weft_doc_new_bool(t->a, t->p->is_sequence));
}

static weft_doc *step_doc(training *t)
{
    weft_doc *d = weft_doc_new(t->a, WEFT_DOC_MAP);

    weft_put_int(t->a, d, "batch", t->p->constraints.batch);
    weft_put_int(t->a, d, "microbatch", t->plan->microbatch);
    weft_put_text(t->a, d, "schedule", weft_schedule_name(t->plan->schedule));
    weft_put_int(t->a, d, "chunks", t->plan->n_chunks);
    put_split(t, d);
    weft_put_real(t->a, d, "samples_per_s", t->m->samples_per_s);
    weft_put_real(t->a, d, "tokens_per_s",
                  t->p->tokens > 0 ? t->m->samples_per_s * (double)t->p->tokens : NAN);
    weft_put_real(t->a, d, "bubble", t->m->bubble);
    weft_put_real(t->a, d, "exposed", t->m->exposed);
    weft_put_times(&t->g, d);
    weft_put_real(t->a, d, "sent_bytes", t->m->sent_bytes);
    weft_put_real(t->a, d, "flops_utilisation", t->m->flops_utilisation);
    weft_put_real(t->a, d, "mfu", mfu(t));
    return d;
}

/* The table, with the parts of a stage one by one. */
static weft_doc *stages_doc(training *t)
{
    weft_doc *list = weft_page_rows(&t->g, "stages"), *all = weft_page_rows(&t->g, "devices");
    int next = 0;

    for (int i = 0; i < t->plan->n_stages; i++) {
        weft_doc *parts = weft_doc_new(t->a, WEFT_DOC_LIST);

        for (int k = 0; k < t->plan->stage[i].n_parts; k++)
            weft_doc_add(t->a, parts, all->item[next++]);
        weft_doc_set(t->a, list->item[i], "parts", parts);
    }
    return list;
}

/* What `weft train --json` says besides. */
static void add_result(training *t, bool has_plan)
{
    weft_doc *d;

    weft_page_result(&t->g, &(weft_result_head){.command = "train",
                                                .origin = t->r->origin,
                                                .goal = "step",
                                                .unit = "s",
                                                .proof = &t->r->solution->proof,
                                                .has_rate = true});
    d = t->g.result;
    weft_put_text(t->a, d, "objective", "step");
    weft_doc_put(t->a, d, "bounds", bounds_doc(t));
    weft_doc_put(t->a, d, "search", search_doc(t));
    weft_put_or_null(&t->g, d, "equal", equal_doc(t));
    weft_put_or_null(&t->g, d, "step", has_plan ? step_doc(t) : NULL);
    weft_put_or_null(&t->g, d, "stages", has_plan ? stages_doc(t) : NULL);
    weft_put_or_null(&t->g, d, "memory", has_plan ? weft_page_rows(&t->g, "memory_kinds") : NULL);
    weft_put_or_null(&t->g, d, "warnings", weft_page_texts(t->p->warning, t->p->n_warnings, t->a));
}

static void add_plan(training *t)
{
    t->chunk_of = weft_unit_chunks(t->p, t->plan, t->a);
    add_facts(t);
    if (t->m->jobs != NULL && t->m->timeline != NULL)
        add_run(t);
    if (!t->more->is_brief)
        add_graph(t);
    add_stage_table(t);
    add_memory_table(t);
    add_device_table(t);
    add_time_table(t);
    add_memory(t);
}

weft_page *weft_train_facts(const void *report, const weft_page_more *more, weft_arena *a)
{
    const weft_train_report *r = report;
    const weft_proof *proof = &r->solution->proof;
    bool has_plan = weft_train_report_has_plan(r);
    training *t = WEFT_NEW(a, training, 1);

    *t = (training){.r = r,
                    .more = more,
                    .p = weft_train_variant(r->problem, &r->solution->plan),
                    .plan = &r->solution->plan,
                    .m = &r->solution->measures,
                    .a = a};
    weft_page_begin(&t->g, "train", a);
    add_title(t);
    t->g.outcome = proof->outcome;
    t->g.nothing = "plan in the space that is searched";
    t->g.reason = proof->reason;
    if (has_plan)
        add_plan(t);
    add_result(t, has_plan);
    if (has_plan)
        weft_page_accuracy(&t->g, t->p->cluster->platform);
    for (int i = 0; i < t->p->n_warnings; i++)
        weft_page_warn(&t->g, t->p->warning[i]);
    weft_page_add_more(&t->g, more, proof);
    if (!more->is_brief)
        add_about(t);
    return &t->g;
}
