/* SPDX-License-Identifier: MIT */
/* States: inputs that stay on their device between items. The oracle knows neither weights nor groups:
 * it tries every device as the home of every state, pins the tasks that touch the state, takes its
 * bytes from the memory of its home, and leaves the state itself out of the problem. */
#include "brute.h"
#include "check.h"
#include "import.h"
#include "place.h"
#include "platform_text.h"

enum { MOST_NODES = 6, MOST_DEVICES = 3, MOST_STATES = 2, MOST_TENSORS = 24, N_DRAWS = 400 };

typedef struct drawn {
    weft_graph *graph;
    weft_platform *platform;
    weft_costs costs;
    double seconds[MOST_NODES * MOST_DEVICES];
    int n_states;
    const char *past[MOST_STATES], *present[MOST_STATES];
    bool grows[MOST_STATES];
} drawn;

/* --- random networks ------------------------------------------------------------------------- */

static int add_tensor(weft_builder *b, const char *name, int64_t n, weft_tensor_kind kind)
{
    const weft_shape shape = {1, {n}};

    return weft_builder_tensor(b, &(weft_tensor){.name = name,
                                                 .type = WEFT_I8,
                                                 .kind = kind,
                                                 .shape = &shape,
                                                 .elements = n,
                                                 .bytes = n});
}

typedef struct networking {
    weft_builder *b;
    weft_rng *rng;
    weft_arena *a;
    int n_nodes, past[MOST_STATES], present[MOST_STATES], reader[MOST_STATES], maker[MOST_STATES];
    int made[MOST_NODES], x;
} networking;

static int below(networking *n, int limit)
{
    return weft_rng_below(n->rng, limit);
}

/* Every state is read by one node and made anew by it or by a later one; a third one may look. */
static void draw_states(networking *n, drawn *out)
{
    out->n_states = 1 + below(n, MOST_STATES);
    for (int i = 0; i < out->n_states; i++) {
        int64_t size = 1 + below(n, 6);

        out->grows[i] = below(n, 2) == 0;
        out->past[i] = weft_arena_print(n->a, "past_key_values.%d.key", i);
        out->present[i] = weft_arena_print(n->a, "present.%d.key", i);
        n->past[i] = add_tensor(n->b, out->past[i], size, WEFT_INPUT);
        n->present[i] = add_tensor(n->b, out->present[i], size + out->grows[i], WEFT_ACTIVATION);
        n->reader[i] = below(n, n->n_nodes);
        n->maker[i] = n->reader[i];
        if (below(n, 4) == 0)
            n->maker[i] += below(n, n->n_nodes - n->reader[i]);
    }
}

static void add_node(networking *n, const drawn *d, int u)
{
    int arg[8], res[4], n_args = 0, n_res = 0;
    weft_node node = {.name = weft_arena_print(n->a, "u%d", u),
                      .op = "Task",
                      .domain = "test",
                      .forward = -1,
                      .wrt = -1,
                      .has_body = true};

    if (u == 0 || below(n, 4) == 0)
        arg[n_args++] = n->x;
    if (u > 0)
        arg[n_args++] = n->made[below(n, u)];
    for (int i = 0; i < d->n_states; i++) {
        if (n->reader[i] == u || (u > n->reader[i] && below(n, 8) == 0))
            arg[n_args++] = n->past[i];
        else if (u > n->maker[i] && below(n, 4) == 0)
            arg[n_args++] = n->present[i];
    }
    res[n_res++] = n->made[u] =
        add_tensor(n->b, weft_arena_print(n->a, "t%d", u), 1 + below(n, 4), WEFT_ACTIVATION);
    for (int i = 0; i < d->n_states; i++)
        if (n->maker[i] == u)
            res[n_res++] = n->present[i];
    weft_builder_node(n->b, &node, arg, n_args, res, n_res);
}

static void draw_costs(networking *n, drawn *out)
{
    int n_devices = out->platform->n_devices;

    for (int i = 0; i < n->n_nodes * n_devices; i++)
        out->seconds[i] = below(n, 12) == 0 ? INFINITY : 0.5 * (1 + below(n, 8));
    out->costs =
        (weft_costs){.n_nodes = n->n_nodes, .n_devices = n_devices, .seconds = out->seconds};
}

/* Device memories are those of the platform: it is made of a text. */
static void draw_platform(networking *n, drawn *out)
{
    static const char *const links[] = {"*:1", "*:4,0.5", "*:0.5,1"};
    int n_devices = 2 + below(n, MOST_DEVICES - 1);
    const char *text = "";

    for (int d = 0; d < n_devices; d++) {
        text = weft_arena_print(n->a, "%s d%d", text, d);
        if (below(n, 3) == 0)
            text = weft_arena_print(n->a, "%s(mem=%d)", text, 6 + below(n, 16));
    }
    text = weft_arena_print(n->a, "%s; %s %s host=d0", text + 1, links[below(n, 3)],
                            below(n, 2) == 0 ? "@overlap" : "@block");
    CHECK_OK(weft_platform_notation(text, &out->platform));
}

static void draw(uint64_t seed, const weft_model_options *options, drawn *to)
{
    weft_rng rng = weft_rng_seed(seed);
    networking n = {.b = weft_builder_new("drawn"), .rng = &rng, .a = weft_arena_new()};

    *to = (drawn){0};
    n.n_nodes = 2 + below(&n, MOST_NODES - 1);
    draw_platform(&n, to);
    n.x = add_tensor(n.b, "x", 1 + below(&n, 4), WEFT_INPUT);
    draw_states(&n, to);
    for (int u = 0; u < n.n_nodes; u++)
        add_node(&n, to, u);
    for (int i = 0; i < to->n_states; i++)
        weft_builder_output(n.b, n.present[i]);
    weft_builder_output(n.b, n.made[n.n_nodes - 1]);
    CHECK_OK(weft_builder_finish(n.b, &to->graph));
    weft_builder_free(n.b);
    draw_costs(&n, to);
    for (int i = 0; i < to->n_states; i++) { /* names of the arena that goes */
        to->past[i] = weft_arena_word(to->graph->arena, to->past[i]);
        to->present[i] = weft_arena_word(to->graph->arena, to->present[i]);
    }
    weft_arena_free(n.a);
    CHECK_OK(weft_model_mark_states(to->graph, options));
}

static void drop(drawn *d)
{
    weft_graph_free(d->graph);
    weft_platform_free(d->platform);
}

/* --- the oracle ------------------------------------------------------------------------------ */

static int state_of(const drawn *d, int t, bool *is_past)
{
    for (int i = 0; i < d->n_states; i++) {
        *is_past = strcmp(d->graph->tensor[t].name, d->past[i]) == 0;
        if (*is_past || strcmp(d->graph->tensor[t].name, d->present[i]) == 0)
            return i;
    }
    return -1;
}

static bool pin_one(int *pin, int home)
{
    bool is_possible = *pin < 0 || *pin == home;

    *pin = home;
    return is_possible;
}

/* False: a task that touches the state is pinned elsewhere. */
static bool pin_all(const drawn *d, int t, int home, int *pin)
{
    const weft_graph *g = d->graph;
    bool is_possible = true;

    for (int k = g->use_at[t]; k < g->use_at[t + 1]; k++)
        is_possible = pin_one(&pin[g->use[k]], home) && is_possible;
    if (g->tensor[t].producer >= 0)
        is_possible = pin_one(&pin[g->tensor[t].producer], home) && is_possible;
    return is_possible;
}

/* Does the node that makes the tensor read the state of the same size? */
static bool is_in_place(const drawn *d, int i, int t)
{
    const weft_graph *g = d->graph;
    int u = g->tensor[t].producer;

    for (int k = g->arg_at[u]; k < g->arg_at[u + 1]; k++)
        if (strcmp(g->tensor[g->arg[k]].name, d->past[i]) == 0)
            return !d->grows[i];
    return false;
}

/* The problem in which state i lives on home[i]; NULL: these homes contradict each other. */
static weft_problem *problem_of(const drawn *d, const int *home, weft_constraints c, weft_arena *a)
{
    const weft_graph *g = d->graph;
    int n_devices = d->platform->n_devices, n_readers = 0;
    double amount[MOST_TENSORS], memory[MOST_TENSORS], capacity[MOST_DEVICES];
    double latency[MOST_DEVICES * MOST_DEVICES], per_byte[MOST_DEVICES * MOST_DEVICES];
    bool is_output[MOST_TENSORS] = {false}, is_possible = true, is_past = false;
    int producer[MOST_TENSORS], reader_at[MOST_TENSORS + 1] = {0}, pin[MOST_NODES];
    int *reader = WEFT_NEW(a, int, g->use_at[g->n_tensors] + 1);
    const char *task[MOST_NODES], *device[MOST_DEVICES];
    weft_problem *p = NULL;

    for (int u = 0; u < g->n_nodes; u++) {
        pin[u] = -1;
        task[u] = g->node[u].name;
    }
    for (int i = 0; i < n_devices; i++) {
        capacity[i] = d->platform->device[i].memory_bytes;
        device[i] = d->platform->device[i].name;
    }
    for (int k = 0; k < n_devices * n_devices; k++) {
        const weft_route *r = weft_platform_route(d->platform, k / n_devices, k % n_devices);

        latency[k] = r->latency_s;
        per_byte[k] = r->n_hops > 0 ? 1 / r->bytes_per_s : 0;
    }
    for (int t = 0; t < g->n_tensors; t++) {
        int i = state_of(d, t, &is_past);

        amount[t] = memory[t] = (double)g->tensor[t].bytes;
        producer[t] = g->tensor[t].producer;
        if (i >= 0)
            is_possible = pin_all(d, t, home[i], pin) && is_possible;
        if (i >= 0 && is_past)
            capacity[home[i]] -= memory[t];
        if (i >= 0 && (is_past || is_in_place(d, i, t)))
            memory[t] = 0;
        for (int k = g->use_at[t]; k < g->use_at[t + 1] && !(i >= 0 && is_past); k++)
            reader[n_readers++] = g->use[k];
        reader_at[t + 1] = n_readers;
    }
    for (int i = 0; i < g->n_outputs; i++)
        is_output[g->output[i]] = true;
    for (int i = 0; i < n_devices; i++)
        is_possible = is_possible && capacity[i] >= 0;
    for (int u = 0; u < g->n_nodes; u++)
        is_possible = is_possible && (pin[u] < 0 || d->seconds[u * n_devices + pin[u]] < INFINITY);
    if (!is_possible)
        return NULL;
    CHECK_OK(weft_problem_make(&(weft_problem_spec){.n_tasks = g->n_nodes,
                                                    .n_devices = n_devices,
                                                    .n_tensors = g->n_tensors,
                                                    .task_name = task,
                                                    .device_name = device,
                                                    .seconds = d->seconds,
                                                    .amount = amount,
                                                    .memory = memory,
                                                    .is_output = is_output,
                                                    .producer = producer,
                                                    .reader_at = reader_at,
                                                    .reader = reader,
                                                    .latency_s = latency,
                                                    .second_per_byte = per_byte,
                                                    .capacity = capacity,
                                                    .pin = pin,
                                                    .host = d->platform->host,
                                                    .transfer = d->platform->transfer,
                                                    .constraints = c},
                               &p));
    return p;
}

static double oracle(const drawn *d, weft_constraints c)
{
    int home[MOST_STATES] = {0}, n_devices = d->platform->n_devices;
    int n_homes = d->n_states == 1 ? n_devices : n_devices * n_devices;
    double best = INFINITY;

    for (int k = 0; k < n_homes; k++) {
        weft_arena *a = weft_arena_new();
        weft_problem *p;

        home[0] = k % n_devices;
        home[1] = k / n_devices;
        p = problem_of(d, home, c, a);
        if (p != NULL)
            best = fmin(best, brute_optimum(p, n_devices));
        weft_problem_free(p);
        weft_arena_free(a);
    }
    return best;
}

/* --- what holds ------------------------------------------------------------------------------ */

/* The answer of auto is held against the best there is; whether it was proved optimal. */
static bool is_solved(const weft_problem *p, double best)
{
    weft_arena *a = weft_arena_new();
    weft_run run = {
        .seed = 1, .n_threads = 1, .limit_s = INFINITY, .steps = 2000, .scratch = weft_arena_new()};
    weft_solution s;
    weft_proof floor;
    bool is_proved;

    weft_place_bound(p, a, &floor);
    CHECK(floor.bound <= best * (1 + 1e-9));
    CHECK_OK(weft_solve(weft_place_find("auto"), p, NULL, &run, &floor, a, &s));
    CHECK(s.proof.bound <= best * (1 + 1e-9));
    is_proved = s.proof.outcome == WEFT_OPTIMAL || s.proof.outcome == WEFT_INFEASIBLE;
    if (s.proof.outcome == WEFT_OPTIMAL)
        CHECK_NEAR(s.proof.value, best);
    if (s.proof.outcome == WEFT_INFEASIBLE)
        CHECK(isinf(best));
    if (s.proof.outcome == WEFT_BOUNDED)
        CHECK(s.proof.value >= best * (1 - 1e-9));
    weft_arena_free(run.scratch);
    weft_arena_free(a);
    return is_proved;
}

TEST(states_stay_where_they_are_and_take_room)
{
    static const weft_model_options options = {.keeps_states = true};
    int n_streams = 0, n_wide = 0, n_none = 0, n_proved = 0;

    for (int i = 0; i < N_DRAWN(N_DRAWS); i++) {
        weft_constraints c = {.goal = i % 3 == 0 ? WEFT_THROUGHPUT : WEFT_LATENCY};
        drawn d;
        weft_problem *p = NULL;
        double best;
        weft_status status;

        draw((uint64_t)i, &options, &d);
        status = weft_problem_new(d.graph, &d.costs, d.platform, &c, &p);
        CHECK_INT(d.graph->n_states, d.n_states);
        if (status != WEFT_OK) { /* a state that another task makes anew cannot be streamed */
            CHECK(c.goal == WEFT_THROUGHPUT && strstr(weft_message(), "made anew by another"));
            n_wide++;
        } else {
            best = oracle(&d, c);
            n_proved += is_solved(p, best);
            n_none += isinf(best);
            n_streams += c.goal == WEFT_THROUGHPUT;
        }
        weft_problem_free(p);
        drop(&d);
    }
    if (IS_THOROUGH)
        CHECK(n_streams > 20 && n_wide > 5 && n_none > 5 && n_proved > 250);
}

/* The plan that sends a state from one item to the next is refused. */
TEST(plans_that_tear_a_state_apart_are_not_legal)
{
    static const weft_model_options options = {.keeps_states = true};
    const weft_constraints c = {.goal = WEFT_LATENCY};
    int n_torn = 0;

    for (int i = 0; i < N_DRAWN(N_DRAWS); i++) {
        drawn d;
        weft_arena *a = weft_arena_new();
        weft_problem *p = NULL;
        weft_violation found[4];
        weft_plan plan;
        bool is_torn = false, is_past = false;

        draw((uint64_t)i, &options, &d);
        CHECK_OK(weft_problem_new(d.graph, &d.costs, d.platform, &c, &p));
        plan = weft_plan_new(p->n_tasks, a);
        for (int u = 0; u < p->n_tasks; u++) {
            plan.device[u] = (u + i) % p->n_devices;
            plan.start_s[u] = 100.0 * u;
        }
        for (int t = 0; t < d.graph->n_tensors; t++) {
            int first = -1;

            if (state_of(&d, t, &is_past) < 0)
                continue;
            first = d.graph->tensor[t].producer;
            for (int k = d.graph->use_at[t]; k < d.graph->use_at[t + 1]; k++) {
                first = first < 0 ? d.graph->use[k] : first;
                is_torn = is_torn || plan.device[first] != plan.device[d.graph->use[k]];
            }
        }
        if (is_torn) {
            int n = weft_plan_check(p, &plan, found, 4, a);
            bool is_named = false;

            for (int k = 0; k < n && k < 4; k++)
                is_named = is_named || strstr(found[k].what, "share") != NULL;
            CHECK(n > 0);
            CHECK(is_named || n > 4);
            n_torn++;
        }
        weft_problem_free(p);
        weft_arena_free(a);
        drop(&d);
    }
    if (IS_THOROUGH)
        CHECK(n_torn > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_stay_where_they_are_and_take_room),
        cmocka_unit_test(plans_that_tear_a_state_apart_are_not_legal),
    };

    return RUN_TESTS(tests);
}
