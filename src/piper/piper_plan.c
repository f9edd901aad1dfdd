/* SPDX-License-Identifier: MIT */
/* piper_plan.c: the pipeline with the least time per sample under Piper's objective.
 *
 * A probe asks: is there a plan whose stages all take at most T? It walks the cuts from the network
 * down to the empty one and keeps for each cut J the pairs (D, k): the nodes outside J can be
 * staged with D replicas on k devices. A stage between I and J with d replicas of width t leads
 * from (D, k) at J to (D + d, k + d t) at I, if it takes at most T and fits with ceil((D + d) / d)
 * microbatches in flight.
 *
 * 1. Of the pairs of a cut only those stay that no other beats in both figures. Nothing is lost:
 *    what comes before needs memory that does not fall with D, and devices; its times depend on
 *    neither. So any beginning of a plan goes with the better pair too.
 * 2. Of the replicas only the least d that is possible counts, for each range, width and pair: a
 *    larger one leads to a pair that is beaten by rule 1.
 * 3. Devices that I still needs: each takes at most T of work per sample, and work_s of a cut
 * counts the least device time of each node, so there are at least work_s / T. That bounds the
 * stage from both sides, and cuts are sorted by work: the candidates I are a short range.
 *
 * The search over T: rising probes from the bound work / devices until one succeeds, then bisection
 * between the last failure and the value of the last plan, with probes just below that value once
 * the interval is narrow.
 *
 * Guarantee: a failed probe at T proves that no plan takes T or less. Stages are differences of
 * sums over cuts, each off by at most nodes * 2^-53 of the sum over the network; T is raised by
 * more than that before they are compared with it (rounding_s), and by a share of 10^-10 for all
 * else. So a plan may be found that is slower than T, but none that is not is missed. The last
 * probe is at (1 - 10^-9) of the value, which makes the plan optimal to one part in 10^9; if
 * rounding_s does not allow that, the search ends with the bound it has and does not call the plan
 * optimal. Memory is exact (whole bytes). Values come from weft_piper_measure.
 *
 * Cost: a probe looks at the pairs of cuts in the ranges of rule 3, at most cuts^2 / 2, and for
 * each at (pairs of J) * widths * divisors. Compare Piper's recursion over (cut, k, D) with all d
 * (Tarnawski et al., NeurIPS 2021), which this replaces: one probe keeps k as a value instead of an
 * index, d is found and not enumerated, and T prunes. */
#include "piper_parts.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const double comparison = 1e-10; /* stages may be longer by this share */
static const double precision = 1e-9;   /* of the optimum */
static const double narrow = 1e-3;      /* from here on every other probe is just below the value */
enum { MOST_SPANS = 100000 };           /* that are kept from probe to probe */

const weft_option weft_piper_table[] = {
    {WEFT_INT(weft_piper_options, max_cuts),   40000,   2, 1e7,
     "ways to cut the network; a wider network is refused",                            NULL, NULL},
    {WEFT_INT(weft_piper_options, max_points), 1000000, 1, 1e9,
     "sums kept while the modes of a stage are chosen; beyond, the proof may be lost", NULL, NULL},
    WEFT_OPTIONS_END,
};

/* The nodes outside a cut, staged; and the first of these stages. */
typedef struct state {
    int n_replicas, n_devices;
    int cut, next; /* where that stage ends, and which state goes on there */
    int d, width;
} state;

typedef WEFT_VEC(state) states;

typedef enum answer { NO, YES, SENSITIVITY, STOPPED } answer;

typedef struct planner {
    const weft_piper *p;
    const weft_piper_cuts *cuts;
    weft_piper_stages *stages;
    const weft_run *run;
    weft_arena *a, *scratch;  /* of the result; of a probe */
    int n_divisors, *divisor; /* of the microbatches, ascending, up to the devices */
    int *divisor_from;        /* [most_replicas + 1] index of the first one that is as large */
    int most_replicas;
    double rounding_s;       /* stages are off by less */
    weft_piper_range *spans; /* [(outer * n_cuts + inner) * n_widths + width]; outer 0: not known
                               yet, width -1: none; NULL: too many to keep */
    /* the probe */
    double limit_s;
    states *at; /* [n_cuts] by rising n_replicas and falling n_devices */
    int *need;  /* [n_cuts] devices that the cut needs at least */
    weft_piper_solution *out;
} planner;

/* --- states ---------------------------------------------------------------------------------- */

static bool is_beaten(const states *s, int n_replicas, int n_devices)
{
    for (int i = 0; i < s->n && s->at[i].n_replicas <= n_replicas; i++)
        if (s->at[i].n_devices <= n_devices)
            return true;
    return false;
}

/* Adds a state that is not beaten and drops those that it beats. */
static void add_state(states *s, const state *x, weft_arena *a)
{
    int first = 0, end;

    while (first < s->n && s->at[first].n_replicas < x->n_replicas)
        first++;
    for (end = first; end < s->n && s->at[end].n_devices >= x->n_devices;)
        end++;
    if (end == first)
        WEFT_PUSH(a, *s, *x);
    else
        s->n -= end - first - 1;
    int n_after = (end == first ? s->n - 1 : s->n + (end - first - 1)) - end;
    memmove(s->at + first + 1, s->at + end, (size_t)n_after * sizeof *s->at);
    s->at[first] = *x;
}

/* --- probe ----------------------------------------------------------------------------------- */

/* The least d with which the range can follow a state, or 0. */
static int least_replicas(planner *q, weft_piper_range *range, const state *later, const states *to)
{
    int width = q->p->width[range->width];
    int most = (q->p->n_devices - later->n_devices - q->need[range->inner]) / width;

    if (most > q->most_replicas - later->n_replicas)
        most = q->most_replicas - later->n_replicas;
    int low = weft_piper_range_least_replicas(range, later->n_replicas, q->limit_s);
    if (low > most)
        return 0;
    for (int i = q->divisor_from[low]; i < q->n_divisors && q->divisor[i] <= most; i++) {
        int d = q->divisor[i];

        if (is_beaten(to, later->n_replicas + d, later->n_devices + d * width))
            return 0; /* and so is every larger d */
        if (range->border_s < 0)
            range->border_s = weft_piper_range_border_s(q->stages, range);
        q->out->n_stages_tried++;
        if (weft_piper_range_fits(q->stages, range, d,
                                  weft_piper_in_flight(later->n_replicas + d, d), q->limit_s))
            return d;
    }
    return 0;
}

/* The range of two cuts at one width, from an earlier probe if it is kept; NULL: there is none. */
static weft_piper_range *span_of(planner *q, int inner, int outer, int w, weft_piper_range *room)
{
    size_t n_cuts = (size_t)q->cuts->n_cuts, n_widths = (size_t)q->p->n_widths;
    weft_piper_range *range = room;

    if (q->spans != NULL)
        range = &q->spans[((size_t)outer * n_cuts + (size_t)inner) * n_widths + (size_t)w];
    if (q->spans != NULL && range->outer != 0)
        return range->width < 0 ? NULL : range;
    if (weft_piper_range_open(q->stages, inner, outer, w, range))
        return range;
    range->width = -1;
    return NULL;
}

/* All states that a stage from cut `inner` to `outer` leads to. */
static void try_span(planner *q, int inner, int outer)
{
    for (int w = 0; w < q->p->n_widths; w++) {
        weft_piper_range room, *range = span_of(q, inner, outer, w, &room);

        if (range == NULL)
            continue;
        for (int i = 0; i < q->at[outer].n; i++) {
            const state *later = &q->at[outer].at[i];
            int d = least_replicas(q, range, later, &q->at[inner]);
            state x = {
                later->n_replicas + d, later->n_devices + d * q->p->width[w], outer, i, d, w};

            if (d > 0)
                add_state(&q->at[inner], &x, q->scratch);
        }
    }
}

/* The first cut with at least this work. */
static int first_cut(const weft_piper_cuts *c, double work_s)
{
    int low = 0, high = c->n_cuts;

    while (low < high) {
        int mid = low + (high - low) / 2;

        if (c->work_s[mid] < work_s)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Stages that end at a cut with states. */
static void try_cut(planner *q, int outer)
{
    const weft_piper_cuts *c = q->cuts;
    const states *s = &q->at[outer];
    int n_free = q->p->n_devices - s->at[s->n - 1].n_devices; /* the last one has the fewest */
    double slack_s = comparison * c->work_s[c->n_cuts - 1];
    int inner = first_cut(c, c->work_s[outer] - n_free * q->limit_s - slack_s);

    for (; inner < outer && q->need[inner] < n_free; inner++)
        if (weft_piper_cut_within(c, inner, outer))
            try_span(q, inner, outer);
}

static void begin_probe(planner *q, double limit_s)
{
    q->limit_s = limit_s * (1 + comparison) + q->rounding_s;
    q->at = WEFT_NEW(q->scratch, states, q->cuts->n_cuts);
    q->need = WEFT_NEW(q->scratch, int, q->cuts->n_cuts);
    for (int c = 1; c < q->cuts->n_cuts; c++) {
        double n = q->limit_s > 0 ? q->cuts->work_s[c] / q->limit_s * (1 - comparison) : 0;

        q->need[c] = (int)fmin(fmax(ceil(n), 1), q->p->n_devices + 1.0);
    }
    state all = {0};
    WEFT_PUSH(q->scratch, q->at[q->cuts->n_cuts - 1], all);
}

/* Leaves the states of a plan behind if there is one: the caller rewinds the scratch. */
static answer probe(planner *q, double limit_s)
{
    int64_t n_sensitivities = weft_piper_stages_unproved(q->stages);

    q->out->n_probes++;
    begin_probe(q, limit_s);
    for (int c = q->cuts->n_cuts - 1; c > 0 && q->at[0].n == 0; c--) {
        if (q->at[c].n == 0)
            continue;
        if (weft_run_is_over(q->run))
            return STOPPED;
        try_cut(q, c);
    }
    if (q->at[0].n > 0)
        return YES;
    return weft_piper_stages_unproved(q->stages) == n_sensitivities ? NO : SENSITIVITY;
}

/* --- plans ----------------------------------------------------------------------------------- */

static void fill_stage(planner *q, int inner, const state *x, int stage, weft_piper_plan *plan)
{
    const weft_piper_cuts *c = q->cuts;
    weft_piper_range range;
    bool is_open = weft_piper_range_open(q->stages, inner, x->cut, x->width, &range);
    bool fits = weft_piper_range_modes(q->stages, &range, x->d,
                                       weft_piper_in_flight(x->n_replicas, x->d), plan->mode);

    assert(is_open && fits);
    (void)is_open;
    (void)fits;
    plan->replicas[stage] = x->d;
    plan->width[stage] = x->width;
    for (int u = 0; u < q->p->n_nodes; u++)
        if (weft_bit_get(c->bits + (size_t)x->cut * (size_t)c->n_words, u) &&
            !weft_bit_get(c->bits + (size_t)inner * (size_t)c->n_words, u))
            plan->stage[u] = stage;
}

/* The plan that the last probe found, measured; kept if it is better than the one before. */
static weft_status take_plan(planner *q)
{
    int n = q->p->n_nodes, inner = 0;
    weft_piper_plan plan = {.replicas = WEFT_NEW(q->a, int, n),
                            .width = WEFT_NEW(q->a, int, n),
                            .stage = WEFT_NEW(q->a, int, n),
                            .mode = WEFT_NEW(q->a, int, n)};
    weft_piper_measures measures;

    for (const state *x = &q->at[0].at[0]; x->cut != 0; x = &q->at[inner].at[x->next]) {
        fill_stage(q, inner, x, plan.n_stages++, &plan);
        inner = x->cut;
        if (inner == q->cuts->n_cuts - 1)
            break;
    }
    if (weft_piper_measure(q->p, &plan, q->a, &measures) != WEFT_OK)
        return weft_fail_in(WEFT_E_INTERNAL, "the planner broke a rule");
    if (measures.value_s < q->out->value_s) {
        q->out->plan = plan;
        q->out->measures = measures;
        q->out->value_s = measures.value_s;
    }
    return WEFT_OK;
}

/* --- search over the time -------------------------------------------------------------------- */

/* No stage of any plan takes longer. */
static double longest_s(const weft_piper *p)
{
    double bytes = 0, sum_s = 0;

    for (int u = 0; u < p->n_nodes; u++) {
        double most_s = 0, most_bytes = 0;

        for (int m = p->mode_at[u * p->n_widths]; m < p->mode_at[(u + 1) * p->n_widths]; m++) {
            double mode_bytes = 4 * p->mode[m].parameter_bytes / p->n_microbatches;

            for (int k = p->in_at[u]; k < p->in_at[u + 1]; k++)
                mode_bytes +=
                    2 * (p->edge_bytes[p->in_edge[k]] + p->mode[m].enter_bytes[k - p->in_at[u]]);
            for (int k = p->out_at[u]; k < p->out_at[u + 1]; k++)
                mode_bytes +=
                    2 * (p->edge_bytes[p->out_edge[k]] + p->mode[m].leave_bytes[k - p->out_at[u]]);
            most_bytes = fmax(most_bytes, mode_bytes);
            most_s = fmax(most_s, p->mode[m].sample_s);
        }
        bytes += most_bytes;
        sum_s += most_s;
    }
    return (sum_s + bytes / p->bandwidth_bytes_per_s) * (1 + precision);
}

/* One probe and what follows from it: a plan, a bound, or (in doubt) only where not to look. */
static weft_status ask(planner *q, double limit_s, double *low_s, answer *out)
{
    size_t mark = weft_arena_mark(q->scratch);
    weft_status status = WEFT_OK;

    *out = probe(q, limit_s);
    if (*out == YES)
        status = take_plan(q);
    if (*out == NO || *out == SENSITIVITY)
        *low_s = limit_s;
    if (*out == NO)
        q->out->bound_s = fmax(q->out->bound_s, limit_s);
    weft_arena_rewind(q->scratch, mark);
    return status;
}

/* Rising limits until there is a plan; NO: there is none at all. */
static weft_status first_plan(planner *q, double *low_s, answer *out)
{
    double most_s = longest_s(q->p), base_s = fmax(*low_s, most_s * 1e-9);

    *out = NO;
    for (double share = 0.01; *out != YES && *out != STOPPED; share *= 2) {
        double limit_s = fmin(base_s * (1 + share), most_s);

        WEFT_TRY(ask(q, limit_s, low_s, out));
        if (limit_s == most_s)
            break;
    }
    return WEFT_OK;
}

/* Halves the interval; once it is narrow, the value is often optimal already, and a probe just
 * below it says so. Halving in between keeps the number of probes logarithmic. */
static weft_status improve(planner *q, double low_s)
{
    double before_s = INFINITY;
    bool is_below = false;
    answer last = YES;

    while (last != STOPPED) {
        double value_s = q->out->value_s, below_s = value_s * (1 - precision);

        if (low_s >= below_s)
            return WEFT_OK;
        is_below = !is_below && value_s - low_s <= narrow * value_s;
        if (last == YES && value_s >= before_s) /* within the rounding */
            return WEFT_OK;
        before_s = value_s;
        WEFT_TRY(ask(q, is_below ? below_s : fmin(low_s + (value_s - low_s) / 2, below_s), &low_s,
                     &last));
    }
    return WEFT_OK;
}

/* --- reasons and results --------------------------------------------------------------------- */

static const char *reason_of(const weft_piper *p, weft_arena *a)
{
    for (int u = 0; u < p->n_nodes; u++) {
        double least_bytes = INFINITY;
        bool is_narrow = false;

        for (int w = 0; w < p->n_widths && p->width[w] <= p->n_devices; w++) {
            least_bytes = fmin(least_bytes, weft_piper_node_least_bytes(p, u, w));
            is_narrow |= p->mode_at[u * p->n_widths + w] < p->mode_at[u * p->n_widths + w + 1];
        }
        if (!is_narrow)
            return weft_arena_print(a, "node '%s' needs a tensor width above %d, the devices",
                                    p->name[u], p->n_devices);
        if (least_bytes > p->memory_bytes)
            return weft_arena_print(
                a, "node '%s' alone needs %.0f bytes on a device, %.0f more than there are",
                p->name[u], least_bytes, least_bytes - p->memory_bytes);
    }
    return weft_arena_print(a,
                            "no pipeline on at most %d devices keeps every stage within %.0f bytes "
                            "of memory a device",
                            p->n_devices, p->memory_bytes);
}

static void make_spans(planner *q, weft_arena *a)
{
    size_t n_cuts = (size_t)q->cuts->n_cuts, n_widths = (size_t)q->p->n_widths;

    if (n_cuts * n_cuts <= MOST_SPANS / n_widths)
        q->spans = WEFT_NEW(a, weft_piper_range, n_cuts * n_cuts * n_widths);
}

static void list_divisors(planner *q)
{
    const weft_piper *p = q->p;

    q->most_replicas = p->n_devices < p->n_microbatches ? p->n_devices : p->n_microbatches;
    q->divisor = WEFT_NEW(q->scratch, int, q->most_replicas);
    for (int d = 1; d <= q->most_replicas; d++)
        if (p->n_microbatches % d == 0)
            q->divisor[q->n_divisors++] = d;
    q->divisor_from = WEFT_NEW(q->scratch, int, q->most_replicas + 1);
    for (int d = 1; d <= q->most_replicas; d++)
        q->divisor_from[d] = q->divisor_from[d - 1] + (d > 1 && p->n_microbatches % (d - 1) == 0);
}

/* What the differences of sums in a stage may be off by, per sample. */
static double rounding_of(const weft_piper *p, const weft_piper_cuts *c)
{
    const weft_piper_sums *all = c->sums + (size_t)(c->n_cuts - 1) * (size_t)p->n_widths;
    double most_s = 0;

    for (int w = 0; w < p->n_widths; w++) {
        double sync_s = 4 * all[w].parameter_bytes / p->n_microbatches / p->bandwidth_bytes_per_s;

        most_s = fmax(most_s, all[w].fast_s + sync_s);
    }
    return 4 * (p->n_nodes + 2) * 0x1p-53 * most_s;
}

static weft_status search(planner *q)
{
    const weft_piper_cuts *c = q->cuts;
    double low_s = c->work_s[c->n_cuts - 1] / q->p->n_devices * (1 - comparison);
    answer first;

    q->out->value_s = INFINITY;
    q->out->bound_s = low_s;
    WEFT_TRY(first_plan(q, &low_s, &first));
    if (first != YES) {
        q->out->outcome = first == NO ? WEFT_INFEASIBLE : WEFT_UNKNOWN;
        q->out->reason = first == STOPPED ? "stopped before a plan was found"
                         : first == NO    ? reason_of(q->p, q->a)
                                          : "no plan found, though there may be one";
        return WEFT_OK;
    }
    WEFT_TRY(improve(q, low_s));
    q->out->bound_s = fmin(q->out->bound_s, q->out->value_s);
    q->out->outcome =
        q->out->bound_s >= q->out->value_s * (1 - 2 * precision) ? WEFT_OPTIMAL : WEFT_BOUNDED;
    return WEFT_OK;
}

weft_outcome weft_piper_has_plan(const weft_piper *p, const weft_piper_cuts *cuts,
                                 const weft_piper_options *options, const weft_run *run)
{
    weft_arena *kept = weft_arena_new(), *scratch = weft_arena_new(), *sums = weft_arena_new();
    weft_piper_solution counts = {0};
    planner q = {.p = p, .cuts = cuts, .run = run, .scratch = scratch, .out = &counts};
    answer found;

    q.stages = weft_piper_stages_new(p, cuts, options->max_points, kept, sums);
    list_divisors(&q);
    q.rounding_s = rounding_of(p, cuts);
    found = probe(&q, longest_s(p));
    weft_arena_free(sums);
    weft_arena_free(scratch);
    weft_arena_free(kept);
    return found == YES ? WEFT_BOUNDED : found == NO ? WEFT_INFEASIBLE : WEFT_UNKNOWN;
}

weft_status weft_piper_solve(const weft_piper *p, const weft_piper_options *options,
                             const weft_run *run, weft_arena *a, weft_piper_solution *out)
{
    weft_arena *kept = weft_arena_new(), *scratch = weft_arena_new(), *sums = weft_arena_new();
    weft_piper_cuts cuts;
    planner q = {.p = p, .cuts = &cuts, .run = run, .a = a, .scratch = scratch, .out = out};

    *out = (weft_piper_solution){.outcome = WEFT_UNKNOWN};
    weft_status status = weft_piper_cuts_new(p, options->max_cuts, kept, &cuts);
    if (status == WEFT_OK) {
        out->n_cuts = cuts.n_cuts;
        q.stages = weft_piper_stages_new(p, &cuts, options->max_points, kept, sums);
        list_divisors(&q);
        make_spans(&q, kept);
        q.rounding_s = rounding_of(p, &cuts);
        status = search(&q);
    }
    weft_arena_free(sums);
    weft_arena_free(scratch);
    weft_arena_free(kept);
    return status;
}
