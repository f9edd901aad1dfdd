/* SPDX-License-Identifier: MIT */
/* use_public.c: the public interface from outside: several threads, cancelling, progress, wrong uses.
 * Sees the public headers and the shared library only.
 *
 *   use_public DATA
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

enum { N_THREADS = 4, N_CALLS = 3 };

static int n_failed;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            n_failed++;                                                                            \
            fprintf(stderr, "use_public.c:%d: %s: %s\n", __LINE__, #condition, weft_message());    \
        }                                                                                          \
    } while (0)

/* --- threads --------------------------------------------------------------------------------- */

static char request[N_THREADS][600];
static double value[N_THREADS]; /* in one thread */

static double value_in(const char *reply)
{
    const char *at = strstr(reply, "\"value\": ");

    return at ? atof(at + 9) : NAN;
}

static void *call_often(void *argument)
{
    int i = *(int *)argument;

    for (int k = 0; k < N_CALLS; k++) {
        char *reply;
        weft_status status = weft_call(request[i], &reply);
        int is_same = value_in(reply) == value[i];

        if (i == N_THREADS - 1) /* this one is wrong: the message is that of the thread */
            is_same = status == WEFT_E_INPUT && strstr(weft_message(), "nowhere") != NULL;
        weft_call_free(reply);
        if (!is_same)
            return argument;
    }
    return NULL;
}

static void test_threads(const char *data)
{
    static const char *const solver[N_THREADS - 1] = {"heft", "peft", "auto"};
    pthread_t thread[N_THREADS];
    int number[N_THREADS];

    for (int i = 0; i < N_THREADS; i++) {
        char *reply;

        snprintf(request[i], sizeof request[i],
                 "{\"schema\": \"weft.request/1\", \"command\": \"place\", \"arguments\": "
                 "{\"model\": \"%s\", \"solver\": \"%s\", \"steps\": 1000}}",
                 i < N_THREADS - 1 ? data : "nowhere.json", i < N_THREADS - 1 ? solver[i] : "auto");
        CHECK((weft_call(request[i], &reply) == WEFT_OK) == (i < N_THREADS - 1));
        value[i] = value_in(reply);
        weft_call_free(reply);
    }
    CHECK(value[0] == 80 && value[2] < 80);
    for (int i = 0; i < N_THREADS; i++) {
        number[i] = i;
        CHECK(pthread_create(&thread[i], NULL, call_often, &number[i]) == 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        void *failed;

        pthread_join(thread[i], &failed);
        CHECK(failed == NULL);
    }
}

/* --- problems -------------------------------------------------------------------------------- */

static int n_told;

static void stop_at_first(void *context, double best, double bound)
{
    n_told++;
    if (isfinite(best) && bound >= 0)
        weft_problem_cancel((weft_problem *)context);
}

static void test_cancel(void)
{
    weft_problem *p;
    weft_result *r = NULL;

    CHECK(weft_problem_open("place", "inception_v3", "server-cpu-2gpu", &p) == WEFT_OK);
    CHECK(weft_problem_set_time_limit(p, 60) == WEFT_OK);
    weft_problem_watch(p, stop_at_first, p);
    CHECK(weft_problem_solve(p, &r) == WEFT_OK);
    CHECK(n_told > 0 && r != NULL && weft_result_has_plan(r) && weft_result_seconds(r) < 50);
    weft_result_close(r);
    weft_problem_close(p);
}

static void test_kinds(void)
{
    static const char *const row[][3] = {
        {"shard", "alexnet", "f1-2x4"  },
        {"train", "gpt2",    "dgx-a100"},
        {"mine",  "alexnet", NULL      },
    };

    for (int i = 0; i < 3; i++) {
        weft_problem *p;
        weft_result *r = NULL;
        weft_plan *plan = NULL;

        CHECK(weft_problem_open(row[i][0], row[i][1], row[i][2], &p) == WEFT_OK);
        CHECK(weft_problem_set_steps(p, 1000) == WEFT_OK);
        if (i == 1)
            CHECK(weft_problem_set(p, "batch", "8") == WEFT_OK);
        if (i == 2)
            CHECK(weft_problem_set(p, "area", "400mm2") == WEFT_OK &&
                  weft_problem_set(p, "power", "200W") == WEFT_OK);
        CHECK(weft_problem_solve(p, &r) == WEFT_OK);
        CHECK(r != NULL && weft_result_has_plan(r) && weft_result_value(r) > 0 &&
              weft_result_n_decisions(r) == 0 && *weft_result_unit(r) && *weft_result_sense(r));
        CHECK(weft_plan_of_result(r, &plan) == WEFT_OK);
        CHECK(plan != NULL && strcmp(weft_plan_type(plan), i < 2 ? row[i][0] : "design") == 0);
        weft_plan_close(plan);
        weft_result_close(r);
        weft_problem_close(p);
    }
}

static void test_wrong(const char *data)
{
    weft_problem *p;
    weft_result *r;
    weft_names *names;
    weft_platform *platform;

    CHECK(weft_problem_open("palce", data, NULL, &p) == WEFT_E_INPUT && p == NULL);
    CHECK(strstr(weft_message(), "did you mean 'place'") != NULL);
    CHECK(weft_problem_open("place", data, NULL, &p) == WEFT_OK);
    CHECK(weft_problem_set(p, "gaol", "latency") == WEFT_E_INPUT);
    CHECK(weft_problem_set(p, "goal", "lowest") == WEFT_OK);
    CHECK(weft_problem_solve(p, &r) == WEFT_E_INPUT && r == NULL);
    weft_problem_close(p);
    CHECK(weft_names_open("modles", &names) == WEFT_E_INPUT && names == NULL);
    CHECK(weft_platform_load("nowhere.yaml", &platform) != WEFT_OK);
    weft_result_close(NULL);
    weft_names_close(NULL);
    weft_call_free(NULL);
}

/* --- solvers --------------------------------------------------------------------------------- */

static weft_status lie(void *context, const weft_instance *in, weft_decisions *decisions)
{
    int what = *(int *)context;

    for (int u = 0; u < weft_instance_n_tasks(in) && what != 3; u++)
        weft_decide(decisions, u, what == 0 ? 99 : 0, what == 1 ? (double)NAN : (double)u);
    if (what == 2)
        weft_decide(decisions, 1000000, 0, 0);
    return what == 4 ? WEFT_E_SYSTEM : WEFT_OK;
}

static void test_solvers(const char *data)
{
    static int what[] = {0, 1, 2, 3, 4, 5};
    static const char *const name[] = {"liar-0", "liar-1", "liar-2", "none", "fails", "serial"};
    weft_problem *p;

    CHECK(weft_problem_open("place", data, NULL, &p) == WEFT_OK);
    for (int i = 0; i < 6; i++) {
        weft_solver_definition d = {name[i], "a test", lie, &what[i]};
        weft_result *r = NULL;
        weft_status status;

        CHECK(weft_solver_register(&d) == WEFT_OK);
        CHECK(weft_solver_register(&d) == WEFT_E_INPUT); /* twice */
        CHECK(weft_problem_set_solver(p, name[i]) == WEFT_OK);
        status = weft_problem_solve(p, &r);
        CHECK((status == WEFT_OK) == (i == 3 || i == 5));
        if (i == 3)
            CHECK(r != NULL && strcmp(weft_result_status(r), "unknown") == 0 &&
                  !weft_result_has_plan(r));
        if (i == 5)
            CHECK(r != NULL && weft_result_value(r) == 127); /* all on P1 */
        weft_result_close(r);
    }
    CHECK(weft_solver_register(&(weft_solver_definition){"heft", "", lie, NULL}) == WEFT_E_INPUT);
    CHECK(weft_solver_register(&(weft_solver_definition){"A b", "", lie, NULL}) == WEFT_E_INPUT);
    weft_problem_close(p);
}

static void test_lists(void)
{
    static const char *const what[] = {"models", "platforms", "templates", "solvers", "operators"};
    weft_names *names;

    for (int i = 0; i < 5; i++) {
        CHECK(weft_names_open(what[i], &names) == WEFT_OK);
        CHECK(weft_names_count(names) > 2 && *weft_names_at(names, 0));
        CHECK(weft_names_at(names, -1) == NULL && weft_names_at(names, 1000000) == NULL);
        CHECK((*weft_names_kind(names, 0) != '\0') == (i == 3));
        weft_names_close(names);
    }
}

static void test_platform(void)
{
    weft_platform *p;

    CHECK(weft_platform_load("dgx-a100", &p) == WEFT_OK);
    CHECK(weft_platform_n_devices(p) >= 8 && weft_platform_device_memory(p, 0) > 1e9);
    CHECK(weft_platform_latency(p, 0, 0) == 0 && isinf(weft_platform_bandwidth(p, 0, 0)));
    CHECK(weft_platform_bandwidth(p, 0, 1) > 1e9 && isnan(weft_platform_latency(p, 0, 1000)));
    CHECK(weft_platform_device_name(p, -1) == NULL && *weft_platform_device_kind(p, 0) &&
          *weft_platform_device_model(p, 0) && *weft_platform_name(p));
    weft_platform_close(p);
}

int main(int argc, char **argv)
{
    char data[400];

    if (argc != 2)
        return 2;
    snprintf(data, sizeof data, "%s/tasks/topcuoglu.json", argv[1]);
    test_threads(data);
    test_cancel();
    test_kinds();
    test_wrong(data);
    test_solvers(data);
    test_lists();
    test_platform();
    return n_failed == 0 ? 0 : 1;
}
