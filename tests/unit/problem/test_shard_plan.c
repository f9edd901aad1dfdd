/* SPDX-License-Identifier: MIT */
/* Plans of sharded networks: sets, rules, the simulator against closed forms, files, the driver. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "draw_shards.h"
#include "platform_text.h"
#include "shard_lowered.h"

#include <stdlib.h>
#include <unistd.h>

/* --- what a plan costs, by the formulas alone ------------------------------------------------ */

typedef struct move {
    double seconds, held_bytes;
    bool is_reshard;
} move;

static move move_of(const weft_shard_problem *p, const weft_shard_plan *s, int v, int k)
{
    const weft_step_operand *o = &p->steps->step[v].operand[k];
    const weft_device_set *to = &s->set[s->set_of[v]];
    double total, tensor, need = weft_need_bytes(p->steps, v, k, &s->split[v], &total);
    weft_link_cost span;

    if (o->step < 0) {
        span = weft_host_link_cost(p, to);
        return (move){p->platform->host < 0 ? 0 : weft_link_cost_s(&span, need), need, false};
    }
    if (s->set_of[o->step] == s->set_of[v]) {
        double bytes = weft_reshard_bytes(p->steps, v, k, &s->split[o->step], &s->split[v], &total);

        span = weft_device_set_link(p, to);
        return (move){weft_reshard_s(&span, bytes), bytes > 0 ? need : 0, true};
    }
    span = weft_pair_link_cost(p, &s->set[s->set_of[o->step]], to);
    weft_result_bytes(p->steps, o->step, o->result, &s->split[o->step], &tensor);
    return (move){weft_handover_s(&span, need, tensor, s->set[s->set_of[o->step]].n), need, false};
}

static weft_split_cost mode_of(const weft_shard_problem *p, const weft_shard_plan *s, int v)
{
    return weft_split_cost_of(p->steps, v, &s->split[v],
                              weft_device_set_design(p, &s->set[s->set_of[v]]));
}

/* Share of step v that is computed while its first operand moves in the set; 0: none. */
static double interior_of(const weft_shard_problem *p, const weft_shard_plan *s, int v,
                          const weft_split_cost *m)
{
    if (!p->hides || m->n_phases > 1 || p->steps->step[v].n_operands == 0)
        return 0;
    move x = move_of(p, s, v, 0);
    int u = p->steps->step[v].operand[0].step;

    if (!x.is_reshard || !(x.seconds > 0))
        return 0;
    return weft_interior_share(p->steps, v, 0, &s->split[u], &s->split[v]);
}

static int n_beside; /* steps seen of which a share runs beside a move */

static double out_s(const weft_shard_problem *p, const weft_shard_plan *s, int v)
{
    const weft_graph *g = p->steps->graph;
    weft_link_cost span = weft_host_link_cost(p, &s->set[s->set_of[v]]);
    double sum = 0;

    for (int r = 0; r < p->steps->step[v].n_results; r++)
        for (int i = 0; i < g->n_outputs && p->platform->host >= 0; i++)
            if (g->output[i] == p->steps->step[v].result[r])
                sum +=
                    weft_link_cost_s(&span, weft_result_bytes(p->steps, v, r, &s->split[v], NULL));
    return sum;
}

/* All after each other: host in + steps + edges + host out. The edge of a first operand of which
 * computation hides a part is max(0, reshard - interior). */
static double sum_of_all(const weft_shard_problem *p, const weft_shard_plan *s)
{
    double sum = 0;

    for (int v = 0; v < s->n_steps; v++) {
        weft_split_cost m = mode_of(p, s, v);
        weft_link_cost inside = weft_device_set_link(p, &s->set[s->set_of[v]]);
        double interior_s = interior_of(p, s, v, &m) * m.phase_s;

        for (int k = 0; k < p->steps->step[v].n_operands; k++)
            sum += fmax(0, move_of(p, s, v, k).seconds - (k == 0 ? interior_s : 0));
        n_beside += interior_s > 0;
        sum += weft_split_cost_s(&m, &inside, p->hides);
        sum += out_s(p, s, v);
    }
    return sum;
}

/* Steps by start; all starts differ. */
static const int *order_of(const weft_shard_plan *s, weft_arena *a)
{
    int *order = WEFT_NEW(a, int, s->n_steps);

    for (int v = 0; v < s->n_steps; v++) {
        int rank = 0;

        for (int u = 0; u < s->n_steps; u++)
            rank += s->start_s[u] < s->start_s[v];
        order[rank] = v;
    }
    return order;
}

/* Side by side, step by step. */
static double end_of_all(const weft_shard_problem *p, const weft_shard_plan *s, double *start_s,
                         weft_arena *a)
{
    const int *order = order_of(s, a);
    double *end_s = WEFT_NEW(a, double, s->n_steps), last_s = 0;
    double *long_s = WEFT_NEW(a, double, s->n_sets), *short_s = WEFT_NEW(a, double, s->n_sets);

    for (int i = 0; i < s->n_steps; i++) {
        int v = order[i], set = s->set_of[v];
        weft_split_cost m = mode_of(p, s, v);
        weft_link_cost inside = weft_device_set_link(p, &s->set[set]);
        double share = interior_of(p, s, v, &m), ready_s = 0, reshard_s = 0;
        double length_s = weft_split_cost_s(&m, &inside, p->hides);

        for (int k = 0; k < p->steps->step[v].n_operands; k++) {
            int u = p->steps->step[v].operand[k].step;
            move x = move_of(p, s, v, k);
            double from_s = u < 0 ? 0 : end_s[u];

            if (share > 0 && k == 0) {
                reshard_s = from_s + x.seconds;
                ready_s = fmax(ready_s, from_s);
            } else {
                ready_s = fmax(ready_s, from_s + x.seconds);
            }
        }
        start_s[v] = fmax(ready_s, length_s > 0 ? fmax(long_s[set], short_s[set]) : long_s[set]);
        end_s[v] = start_s[v] + length_s;
        if (share > 0)
            end_s[v] += fmax(0, reshard_s - start_s[v] - share * m.phase_s);
        if (length_s > 0)
            long_s[set] = short_s[set] = end_s[v];
        else
            short_s[set] = fmax(short_s[set], end_s[v]);
        last_s = fmax(last_s, end_s[v]);
        last_s = fmax(last_s, end_s[v] + out_s(p, s, v)); /* no step here makes two outputs */
    }
    return last_s;
}

/* --- the simulator --------------------------------------------------------------------------- */

static const char *const networks[] = {"alexnet", "squeezenet1_1", "casia_surf", "bert:layers=1"};
static const char *const platforms[] = {draw_mixed, draw_hostless, draw_hiding};

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b));
}

static void check_sums(const weft_shard_plan_measures *m)
{
    double sum =
               m->compute_s + m->rotate_s + m->reduce_s + m->reshard_s + m->handover_s + m->host_s,
           jobs_s = 0;

    for (int i = 0; i < m->jobs->n_jobs; i++)
        jobs_s += m->jobs->duration_s[i];
    CHECK_NEAR(sum, jobs_s);
}

/* Every network on every platform, n plans each. Returns for how many `look` is true. */
static int for_plans(const weft_shard_constraints *constraints, int n,
                     bool (*look)(const weft_shard_problem *p, weft_shard_plan *s, weft_arena *a))
{
    int n_seen = 0;

    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 3; j++) {
            weft_shard_case c = draw_case(networks[i], platforms[j], constraints);
            weft_rng r = weft_rng_seed((uint64_t)(10 * i + j + 1));

            for (int k = 0; k < n; k++) {
                weft_arena *a = weft_arena_new();
                weft_shard_plan s = draw_shards(c.sharding, &r, a);

                n_seen += look(c.sharding, &s, a);
                weft_arena_free(a);
            }
            weft_shard_case_close(&c);
        }
    return n_seen;
}

static int n_rotating; /* plans seen with shards that rotate */

static bool is_sum(const weft_shard_problem *p, weft_shard_plan *s, weft_arena *a)
{
    weft_shard_plan_measures m;
    double sum = sum_of_all(p, s);

    CHECK_OK(weft_shard_plan_evaluate(p, s, a, &m));
    if (!is_near(m.latency_s, sum))
        fail_msg("%s on %s: simulated %.17g, the sum is %.17g", p->name, p->platform->name,
                 m.latency_s, sum);
    check_sums(&m);
    n_rotating += m.rotate_s > 0;
    return true;
}

TEST(one_after_the_other_is_the_sum_of_all)
{
    weft_shard_constraints constraints = {0};

    n_beside = n_rotating = 0;
    CHECK_INT(for_plans(&constraints, N_DRAWN(30), is_sum), 12 * N_DRAWN(30));
    CHECK(n_rotating > N_DRAWN(30) && n_beside > N_DRAWN(30));
    constraints.is_contiguous = true;
    CHECK_INT(for_plans(&constraints, N_DRAWN(10), is_sum), 12 * N_DRAWN(10));
}

static bool is_side_by_side(const weft_shard_problem *p, weft_shard_plan *s, weft_arena *a)
{
    double *start_s = WEFT_NEW(a, double, s->n_steps);
    double end_s = end_of_all(p, s, start_s, a), sum = sum_of_all(p, s);
    weft_shard_plan_measures m;

    CHECK_OK(weft_shard_plan_evaluate(p, s, a, &m));
    if (!is_near(m.latency_s, end_s))
        fail_msg("%s on %s: simulated %.17g, expected %.17g", p->name, p->platform->name,
                 m.latency_s, end_s);
    for (int v = 0; v < s->n_steps; v++)
        CHECK(fabs(m.start_s[v] - start_s[v]) <= 1e-12 * end_s && m.start_s[v] == s->start_s[v]);
    CHECK(m.latency_s <= sum * (1 + 1e-12));
    return m.latency_s < sum * 0.99;
}

TEST(side_by_side_agrees_with_a_naive_run)
{
    weft_shard_constraints constraints = {.is_concurrent = true};

    CHECK(for_plans(&constraints, N_DRAWN(30), is_side_by_side) > N_DRAWN(30));
}

/* The plan as jobs; NULL: it breaks rules, or starts contradict what steps read. */
static const weft_jobs *jobs_of(const weft_shard_problem *p, const weft_shard_plan *s,
                                weft_arena *a)
{
    weft_split_cost *mode = WEFT_NEW(a, weft_split_cost, s->n_steps + 1);
    weft_shard_lowered d;

    if (weft_shard_plan_form(p, s, NULL, 0, a, mode) > 0 || !weft_shard_lower(p, s, mode, a, &d))
        return NULL;
    return d.jobs;
}

/* Simulated starts give the same run again, bit by bit. */
static bool is_stable(const weft_shard_problem *p, weft_shard_plan *s, weft_arena *a)
{
    weft_shard_plan again;
    weft_shard_plan_measures one, two;
    const weft_jobs *jobs;

    CHECK_OK(weft_shard_plan_evaluate(p, s, a, &one));
    again = weft_shard_plan_copy(s, a);
    jobs = jobs_of(p, &again, a); /* in the order of these starts */
    CHECK_OK(weft_shard_plan_evaluate(p, &again, a, &two));
    CHECK(one.latency_s == two.latency_s);
    CHECK_INT(jobs->n_jobs, two.jobs->n_jobs);
    CHECK(memcmp(jobs->duration_s, two.jobs->duration_s, sizeof(double) * (size_t)jobs->n_jobs) ==
          0);
    for (int v = 0; v < s->n_steps; v++)
        if (s->start_s[v] != again.start_s[v])
            fail_msg("%s on %s: step %d starts at %.17g, then at %.17g; %.17g %.17g", p->name,
                     p->platform->name, v, s->start_s[v], again.start_s[v], one.latency_s,
                     two.latency_s);
    for (int d = 0; d < p->platform->n_devices; d++)
        CHECK(one.peak_bytes[d] == two.peak_bytes[d]);
    return true;
}

TEST(simulating_again_changes_nothing)
{
    weft_shard_constraints constraints = {0};

    CHECK_INT(for_plans(&constraints, N_DRAWN(10), is_stable), 12 * N_DRAWN(10));
    constraints.is_concurrent = true;
    CHECK_INT(for_plans(&constraints, N_DRAWN(20), is_stable), 12 * N_DRAWN(20));
}

/* --- memory ---------------------------------------------------------------------------------- */

/* The job of step v's operand k, or of its result r to the host (k = -1); -1: none. */
static int job_of(const weft_shard_problem *p, const weft_shard_plan_measures *m, int v, int k,
                  int r)
{
    const weft_step *step = &p->steps->step[v];
    int tensor = k < 0 ? step->result[r] : step->operand[k].tensor, skip = 0;

    for (int i = 0; i < k; i++) /* the same tensor in an earlier operand has a job before */
        skip += step->operand[i].tensor == tensor;
    for (int i = 0; i < m->jobs->n_jobs; i++) {
        bool is_out = m->part[i] == WEFT_PART_HOST && m->jobs->to[i] == p->platform->host;

        if (m->jobs->task[i] == v && m->jobs->tensor[i] == tensor && is_out == (k < 0) &&
            skip-- == 0)
            return i;
    }
    return -1;
}

/* Until when result r of step u is held by the set that makes it. */
static double held_until(const weft_shard_problem *p, const weft_shard_plan *s,
                         const weft_shard_plan_measures *m, int u, int r)
{
    const weft_graph *g = p->steps->graph;
    double until_s = m->end_s[u];

    for (int v = 0; v < s->n_steps; v++)
        for (int k = 0; k < p->steps->step[v].n_operands; k++) {
            const weft_step_operand *o = &p->steps->step[v].operand[k];
            int job = job_of(p, m, v, k, -1);

            if (o->step != u || o->result != r)
                continue;
            if (move_of(p, s, v, k).held_bytes > 0)
                until_s = fmax(until_s, job < 0 ? m->start_s[v] : m->timeline->end_s[job]);
            else
                until_s = fmax(until_s, m->end_s[v]);
        }
    for (int i = 0; i < g->n_outputs; i++)
        if (g->output[i] == p->steps->step[u].result[r]) {
            int job = job_of(p, m, u, -1, r);

            until_s = job < 0 ? INFINITY : fmax(until_s, m->timeline->end_s[job]);
        }
    return until_s;
}

/* Bytes of a member of the set at a time. */
static double held_at(const weft_shard_problem *p, const weft_shard_plan *s,
                      const weft_shard_plan_measures *m, int set, double at_s,
                      const double *const *until_s)
{
    double bytes = 0;

    for (int v = 0; v < s->n_steps; v++) {
        weft_split_cost mode = mode_of(p, s, v);
        bool is_running = m->start_s[v] <= at_s && at_s < m->end_s[v];

        if (s->set_of[v] != set)
            continue;
        bytes += mode.weight_bytes + (is_running ? mode.extra_bytes : 0);
        for (int r = 0; r < p->steps->step[v].n_results; r++)
            if (m->start_s[v] <= at_s && at_s < until_s[v][r])
                bytes += weft_result_bytes(p->steps, v, r, &s->split[v], NULL);
        for (int k = 0; k < p->steps->step[v].n_operands; k++) {
            int job = job_of(p, m, v, k, -1);
            double from_s = job < 0 ? m->start_s[v] : m->timeline->start_s[job];

            if (from_s <= at_s && at_s < m->end_s[v])
                bytes += move_of(p, s, v, k).held_bytes;
        }
    }
    return bytes;
}

enum { MOST_NAIVE = 60 };

static bool has_right_peak(const weft_shard_problem *p, weft_shard_plan *s, weft_arena *a)
{
    weft_shard_plan_measures m;
    const double **until_s = WEFT_NEW(a, const double *, s->n_steps);
    double peak[8] = {0};

    if (s->n_steps > MOST_NAIVE)
        return false; /* not looked at: the naive way is slow */
    CHECK_OK(weft_shard_plan_evaluate(p, s, a, &m));
    for (int v = 0; v < s->n_steps; v++) {
        double *until = WEFT_NEW(a, double, p->steps->step[v].n_results + 1);

        for (int r = 0; r < p->steps->step[v].n_results; r++)
            until[r] = held_until(p, s, &m, v, r);
        until_s[v] = until;
    }
    for (int k = 0; k < s->n_sets; k++)
        for (int i = 0; i < m.jobs->n_jobs; i++) /* bytes rise when jobs start */
            peak[k] = fmax(peak[k], held_at(p, s, &m, k, m.timeline->start_s[i], until_s));
    for (int k = 0; k < s->n_sets; k++)
        for (int i = 0; i < s->set[k].n; i++)
            CHECK_NEAR(m.peak_bytes[s->set[k].member[i]], peak[k]);
    if (p->platform->host >= 0)
        CHECK(m.peak_bytes[p->platform->host] == 0);
    return true;
}

TEST(peaks_of_memory_are_those_of_a_naive_look_at_every_start)
{
    weft_shard_constraints constraints = {0};

    CHECK_INT(for_plans(&constraints, N_DRAWN(10), has_right_peak), 12 * N_DRAWN(10));
    constraints.is_concurrent = true;
    CHECK_INT(for_plans(&constraints, N_DRAWN(10), has_right_peak), 12 * N_DRAWN(10));
}

/* --- sets ------------------------------------------------------------------------------------ */

TEST(links_of_sets_are_those_of_their_slowest_pair)
{
    weft_shard_constraints constraints = {0};
    weft_shard_request r = {.model = "alexnet", .platform = "f1-2x4"};
    weft_shard_case c, d = draw_case("alexnet", draw_hostless, &constraints);
    weft_device_set group =
                        {
                            4, {1, 2, 3, 4},
                             0
    },
                    across = {2, {4, 5}, 0}, one = {1, {3}, 0};

    CHECK_OK(weft_shard_case_open(&r, &c));
    CHECK_INT(c.sharding->n_accelerators, 8);
    CHECK(!c.sharding->constraints.is_concurrent);
    CHECK_NEAR(weft_device_set_link(c.sharding, &group).bytes_per_s, 1e9);     /* 8 Gbit/s */
    CHECK_NEAR(weft_device_set_link(c.sharding, &across).bytes_per_s, 0.25e9); /* over the host */
    CHECK_NEAR(weft_host_link_cost(c.sharding, &group).bytes_per_s, 0.25e9);   /* 2 Gbit/s */
    CHECK_NEAR(weft_pair_link_cost(c.sharding, &one, &across).bytes_per_s, 0.25e9);
    CHECK(weft_device_set_link(c.sharding, &one).bytes_per_s == INFINITY);
    CHECK(weft_device_set_link(c.sharding, &one).latency_s == 0);
    CHECK_NEAR(weft_device_set_memory(c.sharding, &group), 1e9);
    CHECK_TEXT(weft_device_set_design(c.sharding, &group)->name, "tiled");
    CHECK(weft_host_link_cost(d.sharding, &one).bytes_per_s == INFINITY); /* there is none */
    CHECK_NEAR(weft_device_set_link(d.sharding, &group).latency_s, 10e-6);
    weft_shard_case_close(&c);
    weft_shard_case_close(&d);
}

TEST(networks_that_cannot_be_sharded_are_refused)
{
    weft_shard_request r = {.model = "casia_surf", .platform = "h2h-12"};
    weft_shard_constraints constraints = {0};
    weft_shard_case c;
    weft_model_options options = {0};
    weft_platform *p;
    weft_model *m;
    weft_shard_problem *s;

    CHECK_OK(weft_shard_case_open(&r, &c));
    CHECK(c.sharding->constraints.is_concurrent); /* no two devices are equal */
    weft_shard_case_close(&c);
    r.semantics = "sometimes";
    CHECK_FAILS(weft_shard_case_open(&r, &c), "'sometimes', expected auto, sequential or branches");
    r = (weft_shard_request){.model = "tasks.json", .platform = "f1-2x4"};
    CHECK_FAILS(weft_shard_case_open(&r, &c), "is a file of tasks");
    r = (weft_shard_request){.model = "alexnet"};
    CHECK_FAILS(weft_shard_case_open(&r, &c), "--on");
    CHECK_OK(weft_model_open("alexnet", &options, &m));
    CHECK_OK(weft_platform_notation("cpu(flops=1); host=cpu", &p));
    CHECK_FAILS(weft_shard_problem_new(m->graph, p, &constraints, &s), "has no accelerator");
    weft_platform_free(p);
    CHECK_OK(weft_platform_notation("65*cpu(flops=1)", &p));
    CHECK_FAILS(weft_shard_problem_new(m->graph, p, &constraints, &s),
                "65 accelerators, expected at most 64");
    weft_platform_free(p);
    weft_model_free(m);
}

/* --- rules ----------------------------------------------------------------------------------- */

/* The first violation of a plan contains `part`. */
static void check_violation(const weft_shard_problem *p, const weft_shard_plan *s, const char *part)
{
    weft_arena *a = weft_arena_new();
    weft_violation violation = {""};

    CHECK(weft_shard_plan_check(p, s, &violation, 1, a) > 0);
    if (strstr(violation.what, part) == NULL)
        fail_msg("the breach is: %s", violation.what);
    weft_arena_free(a);
}

/* All steps on all four devices of the kind npu, cut in the first way that there is. */
static weft_shard_plan whole_plan(const weft_shard_problem *p, weft_arena *a)
{
    weft_shard_plan s = weft_shard_plan_new(2, p->steps->n, a);

    s.set[0] = (weft_device_set){
        4, {1, 2, 3, 4},
         0
    };
    s.set[1] = (weft_device_set){1, {5}, 0};
    for (int v = 0; v < s.n_steps; v++) {
        const weft_split *split;

        weft_step_splits(p->steps, v, 4, true, a, &split);
        s.split[v] = split[0];
        s.start_s[v] = v;
    }
    return s;
}

TEST(each_rule_is_named_when_it_is_broken)
{
    weft_shard_constraints constraints = {.is_contiguous = true, .has_no_sharing = true};
    weft_shard_case c = draw_case("alexnet", draw_mixed, &constraints);
    const weft_shard_problem *p = c.sharding;
    weft_arena *a = weft_arena_new();
    weft_shard_plan good = whole_plan(p, a), s;
    weft_shard_plan_measures m;
    const weft_split *split;
    int n_splits, shared = -1, last = good.n_steps - 1;

    CHECK_INT(weft_shard_plan_check(p, &good, NULL, 0, a), 0);
#define BREAK(change, part)                                                                        \
    s = weft_shard_plan_copy(&good, a);                                                            \
    change;                                                                                        \
    check_violation(p, &s, part)
    BREAK(s.set[1] = ((weft_device_set){1, {4}, 0}), "'npu-3' is in set 0 and in set 1");
    BREAK(s.set[0].member[2] = 1, "set 0 has 'npu-0' twice");
    BREAK(s.set[0].member[2] = 0, "set 0 has 'cpu', which is the host");
    BREAK((s.set[0].member[3] = 5, s.n_sets = 1), "'npu-0' and 'dsp', which are not of one kind");
    BREAK(s.set[0].member[1] = 17, "set 0 has device 17, expected 0 to 5");
    BREAK(s.set[1].n = 0, "set 1 has 0 devices");
    BREAK(s.set[0].design = 2, "set 0 has design 2, 'npu-0' offers 2");
    BREAK(s.set_of[3] = 2, "is on set 2, expected 0 to 1");
    BREAK(s.set_of[3] = 1, "is cut for 4 devices, its set 1 has 1");
    BREAK(s.start_s[3] = NAN, "which is no time");
    BREAK(s.start_s[last] = 0.5, "the order of starts contradicts");
    BREAK(s.n_steps--, "the network has");
    BREAK((s.set_of[3] = 1, weft_step_splits(p->steps, 3, 1, false, a, &split),
           s.split[3] = split[0]),
          "no stretch of the network");
    for (int v = 0; v < good.n_steps && shared < 0; v++) {
        n_splits = weft_step_splits(p->steps, v, 4, true, a, &split);
        for (int i = 0; i < n_splits && shared < 0; i++)
            if (split[i].shared >= 0) {
                BREAK(s.split[v] = split[i], "has shards that rotate, which is not allowed");
                shared = v;
            }
    }
    CHECK(shared >= 0);
    BREAK(memset(s.split[0].factor, 7, sizeof s.split[0].factor),
          "in a way that it does not allow");
    s = weft_shard_plan_copy(&good, a);
    s.set_of[3] = 5;
    CHECK_FAILS(weft_shard_plan_evaluate(p, &s, a, &m), "is on set 5");
    s = weft_shard_plan_copy(&good, a);
    s.start_s[last] = 0.5;
    CHECK_FAILS(weft_shard_plan_evaluate(p, &s, a, &m), "the order of starts contradicts");
    CHECK(jobs_of(p, &s, a) == NULL);
    weft_arena_free(a);
    weft_shard_case_close(&c);
}

/* --- files ----------------------------------------------------------------------------------- */

static const char *scratch_file(void)
{
    static char path[] = "/tmp/weft_shards_XXXXXX"; /* mkstemp fills it in once */
    static int fd = -1;

    if (fd < 0)
        fd = mkstemp(path);
    return path;
}

static void write_doc(const weft_doc *d)
{
    weft_arena *a = weft_arena_new();
    const char *text = weft_doc_json(d, 1, a);

    CHECK_OK(weft_file_write(scratch_file(), text, strlen(text)));
    weft_arena_free(a);
}

static weft_doc *plan_doc(const weft_shard_case *c, weft_shard_plan *s, weft_arena *a)
{
    weft_plan_origin origin = {.model = "alexnet",
                               .platform = "f1-2x4",
                               .solver = "test",
                               .seed = 3,
                               .model_hash = c->model_hash,
                               .platform_hash = c->platform_hash,
                               .problem_hash = c->sharding->hash};
    weft_proof proof = {.outcome = WEFT_BOUNDED, .method = "floor", .again = "floor"};
    weft_shard_plan_measures m;

    CHECK_OK(weft_shard_plan_evaluate(c->sharding, s, a, &m));
    return weft_shard_plan_doc(c->sharding, s, &proof, &origin,
                               weft_shard_plan_measures_doc(c->sharding, &m, a), a);
}

static weft_doc *entry(weft_doc *map, const char *key)
{
    return (weft_doc *)(uintptr_t)weft_doc_get(map, key);
}

TEST(plans_are_read_as_they_were_written)
{
    weft_shard_constraints constraints = {.is_concurrent = true, .has_no_sharing = true};
    weft_shard_case c = draw_case("alexnet", draw_mixed, &constraints);
    weft_rng r = weft_rng_seed(11);

    for (int i = 0; i < 20; i++) {
        weft_arena *a = weft_arena_new();
        weft_shard_plan s = draw_shards(c.sharding, &r, a), read;
        weft_shard_plan_file f;
        weft_plan_file other;
        const char *kind;

        write_doc(plan_doc(&c, &s, a));
        CHECK_OK(weft_plan_kind(scratch_file(), a, &kind));
        CHECK_TEXT(kind, "shard");
        CHECK_FAILS(weft_plan_read(scratch_file(), a, &other), "kind is 'shard', expected 'place'");
        CHECK_OK(weft_shard_plan_read(scratch_file(), a, &f));
        CHECK(f.constraints.is_concurrent && f.constraints.has_no_sharing &&
              !f.constraints.is_contiguous);
        CHECK_TEXT(f.origin.model, "alexnet");
        CHECK_TEXT(f.origin.platform, "f1-2x4");
        CHECK(f.origin.problem_hash == c.sharding->hash && f.origin.seed == 3);
        CHECK_TEXT(f.proof.again, "floor");
        CHECK_OK(weft_shard_plan_decide(&f, c.sharding, a, &read));
        CHECK_INT(read.n_sets, s.n_sets);
        for (int k = 0; k < s.n_sets; k++) {
            CHECK_INT(read.set[k].n, s.set[k].n);
            CHECK_INT(read.set[k].design, s.set[k].design);
            CHECK(memcmp(read.set[k].member, s.set[k].member, sizeof(int) * (size_t)s.set[k].n) ==
                  0);
        }
        for (int v = 0; v < s.n_steps; v++) {
            char one[128], two[128];

            CHECK_INT(read.set_of[v], s.set_of[v]);
            CHECK(read.start_s[v] == s.start_s[v]);
            CHECK_TEXT(weft_split_print(c.sharding->steps, v, &read.split[v], one),
                       weft_split_print(c.sharding->steps, v, &s.split[v], two));
        }
        weft_arena_free(a);
    }
    weft_shard_case_close(&c);
}

/* The document is refused when its decisions are read, or before, with a line that has `part`. */
static void check_refused(const weft_shard_case *c, const weft_doc *d, const char *part)
{
    weft_arena *a = weft_arena_new();
    weft_shard_plan_file f;
    weft_shard_plan s;
    weft_status status;

    write_doc(d);
    status = weft_shard_plan_read(scratch_file(), a, &f);
    if (status == WEFT_OK)
        status = weft_shard_plan_decide(&f, c->sharding, a, &s);
    CHECK_FAILS(status, part);
    CHECK(strstr(weft_message(), scratch_file()) != NULL); /* file and line */
    weft_arena_free(a);
}

TEST(files_that_name_what_is_not_there_are_refused)
{
    weft_shard_constraints constraints = {0};
    weft_shard_case c = draw_case("alexnet", draw_mixed, &constraints);
    weft_arena *a = weft_arena_new();
    weft_shard_plan s = whole_plan(c.sharding, a);
    weft_doc *d = plan_doc(&c, &s, a), *steps = entry(d, "steps"), *set, *step = steps->item[2];
    const char *old;

    set = entry(d, "sets")->item[0];
#define REFUSE(place, text_of, part)                                                               \
    old = (place)->text;                                                                           \
    (place)->text = (text_of);                                                                     \
    check_refused(&c, d, part);                                                                    \
    (place)->text = old
    REFUSE(entry(step, "name"), "nobody", "step 'nobody' is not in the model");
    REFUSE(entry(step, "name"), entry(steps->item[1], "name")->text, "is decided twice");
    REFUSE(entry(set, "devices")->item[1], "npu-9", "'npu-9' is no device of platform 'mixed'");
    REFUSE(entry(set, "design"), "narrow", "'narrow' is no design of 'npu-0'");
    REFUSE(entry(step, "split"), "zebra=4", "zebra=4");
    REFUSE(entry(d, "kind"), "place", "kind is 'place', expected 'shard'");
    REFUSE(entry(entry(d, "ask"), "semantics"), "both", "'semantics' is 'both'");
    steps->n--;
    check_refused(&c, d, "is not in the plan");
    steps->n++;
    entry(step, "set")->integer = 2;
    entry(step, "set")->real = 2;
    check_refused(&c, d, "'set' is 2");
    weft_arena_free(a);
    weft_shard_case_close(&c);
}

/* --- the driver ------------------------------------------------------------------------------ */

static weft_shard_plan planned; /* what the solver of these tests returns */
static weft_proof proved;

static weft_status solve_planned(const weft_shard_problem *p, const weft_shard_options *o,
                                 weft_run *run, weft_shard_plan *plan, weft_proof *proof)
{
    CHECK(o != NULL && o->placer == NULL && p != NULL);
    *plan = weft_shard_plan_copy(&planned, run->scratch);
    *proof = proved;
    return WEFT_OK;
}

static bool never(const weft_shard_problem *p)
{
    return p == NULL;
}

static weft_status drive(const weft_shard_case *c, bool is_applying, weft_arena *a,
                         weft_shard_solution *out)
{
    weft_shard_solver solver = {.name = "planned",
                                .summary = "",
                                .solve = solve_planned,
                                .applies = is_applying ? NULL : never};
    weft_run run = {.seed = 1, .n_threads = 1, .limit_s = INFINITY, .scratch = weft_arena_new()};
    weft_status status = weft_shard_solve(&solver, c->sharding, NULL, &run, a, out);

    weft_arena_free(run.scratch);
    return status;
}

TEST(the_driver_judges_what_solvers_return)
{
    weft_shard_constraints constraints = {0};
    weft_shard_case c = draw_case("alexnet", draw_mixed, &constraints);
    weft_arena *a = weft_arena_new();
    weft_shard_solution s;
    weft_proof floor;
    double sum;

    weft_shard_bound(c.sharding, a, &floor);
    planned = whole_plan(c.sharding, a);
    proved = (weft_proof){.outcome = WEFT_BOUNDED};
    sum = sum_of_all(c.sharding, &planned);
    CHECK_OK(drive(&c, true, a, &s));
    CHECK(is_near(s.proof.value, sum) && s.proof.outcome == WEFT_BOUNDED);
    CHECK(s.proof.bound == floor.bound && s.proof.certified == floor.bound);
    CHECK_TEXT(s.proof.method, "floor");
    CHECK_NEAR(s.proof.gap, (sum - floor.bound) / sum);
    CHECK_INT(s.plan.n_steps, planned.n_steps);
    CHECK(s.plan.start_s[2] == s.measures.start_s[2]);

    proved = (weft_proof){.outcome = WEFT_OPTIMAL, .bound = sum, .method = "sharding search"};
    CHECK_OK(drive(&c, true, a, &s));
    CHECK(s.proof.outcome == WEFT_OPTIMAL && s.proof.gap <= 1e-9);
    CHECK_TEXT(s.proof.method, "sharding search");
    CHECK(s.proof.certified == floor.bound);

    proved.bound = sum * 1.01;
    CHECK_INT(drive(&c, true, a, &s), WEFT_E_INTERNAL);
    CHECK(strstr(weft_message(), "less than the lower bound") != NULL);

    proved = (weft_proof){.outcome = WEFT_BOUNDED};
    planned.set[1].member[0] = 2;
    CHECK_INT(drive(&c, true, a, &s), WEFT_E_INTERNAL);
    CHECK(strstr(weft_message(), "in set 0 and in set 1") != NULL);
    planned.set[1].member[0] = 5;

    CHECK_OK(drive(&c, false, a, &s));
    CHECK(s.proof.outcome == WEFT_UNKNOWN && s.plan.n_steps == 0 && s.proof.value == INFINITY);
    proved = (weft_proof){.outcome = WEFT_INFEASIBLE, .reason = "so it is"};
    CHECK_OK(drive(&c, true, a, &s));
    CHECK(s.proof.outcome == WEFT_INFEASIBLE && s.proof.gap == INFINITY);
    CHECK_TEXT(s.proof.reason, "so it is");
    weft_arena_free(a);
    weft_shard_case_close(&c);
}

TEST(plans_that_exceed_a_memory_are_dropped)
{
    static const char small[] =
        "schema: weft.platform/1\nname: small\nhost: cpu\ndevices:\n"
        "  - {name: cpu, model: roofline, peak_flops: 1e9, memory_bandwidth: 10GB/s}\n"
        "  - {name: npu, model: roofline, peak_flops: 1e12, memory_bandwidth: 10GB/s,\n"
        "     memory: 100MB}\n"
        "links:\n  - {between: [cpu, npu], bandwidth: 1GB/s}\n";
    weft_shard_constraints constraints = {0};
    weft_shard_case c = draw_case("alexnet", small, &constraints);
    weft_arena *a = weft_arena_new();
    weft_shard_solution s;

    planned = weft_shard_plan_new(1, c.sharding->steps->n, a);
    planned.set[0] = (weft_device_set){1, {1}, 0};
    for (int v = 0; v < planned.n_steps; v++) {
        const weft_split *split;

        weft_step_splits(c.sharding->steps, v, 1, false, a, &split);
        planned.split[v] = split[0];
    }
    proved = (weft_proof){.outcome = WEFT_BOUNDED};
    CHECK_OK(drive(&c, true, a, &s)); /* 61 million weights of 4 bytes */
    CHECK(s.proof.outcome == WEFT_UNKNOWN && s.plan.n_steps == 0);
    CHECK(strstr(s.proof.reason, "on 'npu', which has 100 MB") != NULL);
    CHECK(s.measures.over_device == 1);
    CHECK(s.measures.peak_bytes[1] > 4 * 61.1e6);
    check_violation(c.sharding, &planned, "the weights of set 0 take");
    weft_arena_free(a);
    weft_shard_case_close(&c);
}

/* One accelerator, no host, one design: nothing can be chosen, so the floor is the value. */
TEST(the_floor_is_the_value_where_nothing_can_be_chosen)
{
    static const char alone[] = "schema: weft.platform/1\nname: alone\ndevices:\n"
                                "  - {name: npu, model: roofline, peak_flops: 1e12, "
                                "memory_bandwidth: 10GB/s}\n";

    for (int i = 0; i < 2; i++) {
        weft_shard_constraints constraints = {.is_concurrent = i == 1};
        weft_shard_case c = draw_case("squeezenet1_1", alone, &constraints);
        weft_arena *a = weft_arena_new();
        weft_shard_solution s;

        planned = weft_shard_plan_new(1, c.sharding->steps->n, a);
        planned.set[0] = (weft_device_set){1, {0}, 0};
        for (int v = 0; v < planned.n_steps; v++)
            planned.split[v] = (weft_split){.n = 1, .shared = -1};
        for (int v = 0; v < planned.n_steps; v++) {
            const weft_split *split;

            weft_step_splits(c.sharding->steps, v, 1, false, a, &split);
            planned.split[v] = split[0];
        }
        proved = (weft_proof){.outcome = WEFT_BOUNDED};
        CHECK_OK(drive(&c, true, a, &s));
        CHECK(s.proof.outcome == WEFT_OPTIMAL);
        weft_arena_free(a);
        weft_shard_case_close(&c);
    }
}

static bool is_above_floor(const weft_shard_problem *p, weft_shard_plan *s, weft_arena *a)
{
    weft_shard_plan_measures m;
    weft_proof floor;

    weft_shard_bound(p, a, &floor);
    CHECK_OK(weft_shard_plan_evaluate(p, s, a, &m));
    CHECK(floor.bound > 0 && floor.bound <= m.latency_s * (1 + 1e-9));
    return true;
}

TEST(no_plan_is_below_the_floor)
{
    weft_shard_constraints constraints = {0};

    CHECK_INT(for_plans(&constraints, 2, is_above_floor), 24);
    constraints.is_concurrent = true;
    CHECK_INT(for_plans(&constraints, 2, is_above_floor), 24);
}

/* An input of 301,056 bytes for sixteen chiplets behind one link of 1 GB/s. */
TEST(chiplets_share_the_link_to_their_host)
{
    static const char *const how[] = {"transfer: contend\n",
                                      "shared: [{name: port, bandwidth: 1GB/s, of: [{star: "
                                      "{center: hub, to: [chip]}}]}]\n"};

    for (int i = 0; i < 2; i++) {
        weft_arena *a = weft_arena_new();
        const char *text = weft_arena_print(
            a,
            "schema: weft.platform/1\nname: chiplets\nhost: cpu\nswitches: [hub]\ndevices:\n"
            "  - {name: cpu, model: roofline, peak_flops: 1e9, memory_bandwidth: 10GB/s}\n"
            "  - {name: chip, count: 16, model: roofline, peak_flops: 1e12, memory_bandwidth: "
            "10GB/s}\n"
            "links:\n  - {between: [cpu, hub], bandwidth: 1GB/s}\n"
            "  - {star: {center: hub, to: [chip]}, bandwidth: 4GB/s}\n%s",
            how[i]);
        weft_shard_problem p = {0};
        weft_platform *f = NULL;
        weft_device_set set = {.n = 16};
        weft_link_cost host;

        CHECK_OK(weft_platform_parse(text, strlen(text), "chiplets.yaml", &f));
        p.platform = f;
        for (int k = 1; k <= 16; k++) {
            set.n = k;
            set.member[k - 1] = k;
            host = weft_host_link_cost(&p, &set);
            CHECK(weft_link_cost_s(&host, 301056.0 / k) >= 301056e-9 * (1 - 1e-12));
        }
        CHECK_NEAR(weft_link_cost_s(&host, 301056.0 / 16), 301.056e-6);
        weft_platform_free(f);
        weft_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_after_the_other_is_the_sum_of_all),
        cmocka_unit_test(side_by_side_agrees_with_a_naive_run),
        cmocka_unit_test(simulating_again_changes_nothing),
        cmocka_unit_test(peaks_of_memory_are_those_of_a_naive_look_at_every_start),
        cmocka_unit_test(links_of_sets_are_those_of_their_slowest_pair),
        cmocka_unit_test(chiplets_share_the_link_to_their_host),
        cmocka_unit_test(networks_that_cannot_be_sharded_are_refused),
        cmocka_unit_test(each_rule_is_named_when_it_is_broken),
        cmocka_unit_test(plans_are_read_as_they_were_written),
        cmocka_unit_test(files_that_name_what_is_not_there_are_refused),
        cmocka_unit_test(the_driver_judges_what_solvers_return),
        cmocka_unit_test(plans_that_exceed_a_memory_are_dropped),
        cmocka_unit_test(the_floor_is_the_value_where_nothing_can_be_chosen),
        cmocka_unit_test(no_plan_is_below_the_floor),
    };
    int result = RUN_TESTS(tests);

    unlink(scratch_file());
    return result;
}
