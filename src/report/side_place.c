/* SPDX-License-Identifier: MIT */
/* side_place.c: what placed networks are compared by.
 *
 * Of a mix a task is where the shares of the items say, its time is the mean, and its start is not
 * compared. A transfer is known by the name of what is sent, where from and where to; the task that
 * made what is sent and those that read it there take part in it. */
#include "diff.h"

#include <math.h>
#include <string.h>

typedef struct placed {
    const weft_problem *p;
    const weft_solution *s;
    weft_arena *a;
    weft_side *out;
} placed;

static const weft_side_number columns[] = {
    {"peak_bytes", "memory", "B", 0},
    {"busy_s",     "busy",   "s", 0},
    {"sent",       "sent",   "B", 0},
};

enum { PEAK, BUSY, SENT, N_COLUMNS };

static int device_of(const placed *g, int way, int u)
{
    return g->s->plan.device[(size_t)way * (size_t)g->p->n_tasks + (size_t)u];
}

static double share_of(const placed *g, int way)
{
    return g->s->plan.n_variants > 1 ? g->s->plan.share[way] : 1;
}

/* --- tasks ----------------------------------------------------------------------------------- */

/* Shares of the items that run the task on each device, [n_devices]. */
static void sum_shares(const placed *g, int u, double *share)
{
    memset(share, 0, (size_t)g->p->n_devices * sizeof *share);
    for (int w = 0; w < g->s->plan.n_variants; w++)
        share[device_of(g, w, u)] += share_of(g, w);
}

/* "gpu0", or of a mix "60 % gpu0 40 % gpu1". */
static const char *place_text(const placed *g, const double *share)
{
    const char *text = "";

    for (int d = 0; d < g->p->n_devices; d++) {
        if (share[d] >= 1 - WEFT_SAME)
            return g->p->device_name[d];
        if (share[d] > 0)
            text = weft_arena_print(g->a, "%s%s%.4g %% %s", text, *text ? " " : "", 100 * share[d],
                                    g->p->device_name[d]);
    }
    return text;
}

static void add_task(placed *g, int u, double *share)
{
    const weft_problem *p = g->p;
    bool is_mix = g->s->plan.n_variants > 1;
    weft_side_part *part = WEFT_NEW(g->a, weft_side_part, g->s->plan.n_variants);
    weft_side_item x = {.name = p->task_name[u],
                        .kind = p->task_kind ? p->task_kind[u] : NULL,
                        .start_s = is_mix ? NAN : g->s->plan.start_s[u],
                        .part = part,
                        .n_before = p->pred_at[u + 1] - p->pred_at[u],
                        .before = p->pred + p->pred_at[u]};

    sum_shares(g, u, share);
    for (int d = 0; d < p->n_devices; d++)
        if (share[d] > 0) {
            part[x.n_parts] = (weft_side_part){d, share[d] * weft_task_s(p, u, d)};
            x.seconds += part[x.n_parts++].seconds;
        }
    x.place = x.at = place_text(g, share);
    WEFT_PUSH(g->a, g->out->item, x);
}

/* --- transfers ------------------------------------------------------------------------------- */

static void add_transfer(placed *g, const weft_jobs *j, int job, int way, const char *label)
{
    const weft_problem *p = g->p;
    int tensor = j->tensor[job], maker = p->producer[tensor];
    int *item = WEFT_NEW(g->a, int, p->reader_at[tensor + 1] - p->reader_at[tensor] + 1);
    weft_side_transfer t = {.key = weft_arena_print(g->a, "%s\n%s\n%s\n%d", label,
                                                    p->device_name[j->from[job]],
                                                    p->device_name[j->to[job]], way),
                            .bytes = share_of(g, way) * p->amount[tensor],
                            .item = item};

    if (maker >= 0 && device_of(g, way, maker) == j->from[job])
        item[t.n_items++] = maker;
    for (int i = p->reader_at[tensor]; i < p->reader_at[tensor + 1]; i++)
        if (device_of(g, way, p->reader[i]) == j->to[job])
            item[t.n_items++] = p->reader[i];
    WEFT_PUSH(g->a, g->out->transfers, t);
}

/* sent: [n_devices] */
static void add_transfers(placed *g, double *sent)
{
    const weft_measures *m = &g->s->measures;
    const char *const *label = weft_tensor_labels(g->p, g->a);

    for (int w = 0; w < g->s->plan.n_variants; w++) {
        const weft_jobs *j = m->n_variants > 1 ? m->way[w].jobs : m->jobs;

        for (int i = 0; i < j->n_jobs; i++) {
            if (j->kind[i] != WEFT_JOB_TRANSFER)
                continue;
            add_transfer(g, j, i, w, label[j->tensor[i]]);
            sent[j->from[i]] += share_of(g, w) * g->p->amount[j->tensor[i]];
        }
    }
}

/* --- the whole ------------------------------------------------------------------------------- */

static void add_figures(placed *g)
{
    const weft_measures *m = &g->s->measures;
    const char *unit = g->out->platform ? "B" : "units";
    const weft_side_number list[] = {
        {"latency",   "latency",       "s",     m->makespan_s },
        {"period",    "time per item", "s",     m->period_s   },
        {"energy",    "energy",        "J",     m->energy_j   },
        {"sent",      "sent",          unit,    m->sent_bytes },
        {"transfers", "transfers",     "count", m->n_transfers},
        {"tasks",     "tasks",         "count", g->p->n_tasks },
    };
    weft_side_number part[] = {
        {"compute",  "computing", "s", 0},
        {"transfer", "sending",   "s", 0},
        {"wait",     "waiting",   "s", 0},
    };

    weft_side_figures(g->out, list, sizeof list / sizeof *list);
    for (int i = 0; i < m->n_chain; i++)
        part[m->chain[i].kind].value += m->chain[i].end_s - m->chain[i].start_s;
    for (int k = 0; k < 3; k++)
        WEFT_PUSH(g->a, g->out->chain, part[k]);
    for (int k = 0; k < g->p->n_links; k++)
        WEFT_PUSH(g->a, g->out->links,
                  ((weft_side_number){g->p->link_name[k], g->p->link_name[k], "s", m->link_s[k]}));
}

static void add_limit(weft_side *out, const char *name, double limit_s)
{
    weft_side_setting(out, name,
                      limit_s > 0
                          ? weft_unit_print(limit_s, WEFT_UNIT_SECONDS, WEFT_NEW(out->a, char, 48))
                          : NULL);
}

static void add_settings(placed *g)
{
    const weft_constraints *x = &g->p->constraints;

    weft_side_setting(g->out, "goal", weft_goal_name(x->goal));
    weft_side_setting(g->out, "transfers", weft_transfer_name(g->p->transfer));
    weft_side_yes(g->out, "contiguous stages", x->is_contiguous);
    weft_side_yes(g->out, "items take different ways", x->is_mixed);
    weft_side_count(g->out, "most segments", x->most_segments, NULL);
    weft_side_count(g->out, "fewest nodes of a segment", x->least_segment_tasks, NULL);
    add_limit(g->out, "shortest segment allowed", x->least_segment_s);
    weft_side_setting(g->out, "batches",
                      x->batches.n > 0 ? weft_counts_text(&x->batches, g->a) : NULL);
    weft_side_yes(g->out, "batch in shares", x->splits_batch);
    weft_side_setting(g->out, "pinned", x->pin);
    weft_side_setting(g->out, "together", x->together);
    add_limit(g->out, "longest latency allowed", x->most_latency_s);
    add_limit(g->out, "longest time per item allowed", x->most_period_s);
}

void weft_place_side(const weft_problem *p, const weft_solution *s, weft_side *out)
{
    placed g = {p, s, out->a, out};
    double *share = WEFT_NEW(g.a, double, p->n_devices),
           *sent = WEFT_NEW(g.a, double, p->n_devices);
    weft_side_number *column = weft_arena_copy(g.a, columns, sizeof columns);

    out->kind = "place";
    out->none = "no plan";
    out->item_name = "task";
    out->proof = &s->proof;
    out->value_name = p->constraints.goal == WEFT_THROUGHPUT ? "time per item" : "latency";
    out->unit = "s";
    out->span_s = s->measures.makespan_s;
    out->places = "devices";
    out->n_columns = N_COLUMNS;
    out->column = column;
    column[SENT].unit = out->platform ? "B" : "units";
    weft_side_origin(out);
    add_settings(&g);
    add_figures(&g);
    for (int u = 0; u < p->n_tasks; u++)
        add_task(&g, u, share);
    add_transfers(&g, sent);
    for (int d = 0; d < p->n_devices; d++)
        weft_side_add_place(out, p->device_name[d],
                            (double[N_COLUMNS]){[PEAK] = s->measures.peak_bytes[d],
                                                [BUSY] = s->measures.busy_s[d],
                                                [SENT] = sent[d]});
}
