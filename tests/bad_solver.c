/* SPDX-License-Identifier: MIT */
/* bad_solver.c: a library that does wrong what the environment variable BAD says. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft.h>

static void crash(void)
{
    raise(SIGSEGV);
}

static void hang(void)
{
    for (;;)
        sleep(1);
}

static void leave_child(void)
{
    if (fork() == 0)
        for (;;)
            sleep(1);
}

static void print_much(void)
{
    for (;;)
        puts("much, much, much, much, much, much, much, much, much, much, much, much");
}

static void end_program(void)
{
    exit(0);
}

static weft_status solve(void *context, const weft_instance *in, weft_decisions *decisions)
{
    static const struct {
        const char *name;
        void (*act)(void);
    } acts[] = {
        {"crash", crash      },
        {"hang",  hang       },
        {"child", leave_child},
        {"much",  print_much },
        {"exit",  end_program},
    };
    const char *bad = getenv("BAD");
    int n = weft_instance_n_tasks(in);

    (void)context;
    for (size_t i = 0; bad != NULL && i < sizeof acts / sizeof *acts; i++)
        if (strcmp(bad, acts[i].name) == 0)
            acts[i].act();
    if (bad != NULL && strcmp(bad, "fail") == 0)
        return WEFT_E_SYSTEM;
    if (bad != NULL && strcmp(bad, "none") == 0)
        return WEFT_OK;
    printf("a library may print what it likes\n");
    for (int u = 0; u < n; u++)
        weft_decide(decisions, u, bad != NULL && strcmp(bad, "device") == 0 ? 99 : 0,
                    bad != NULL && strcmp(bad, "nan") == 0 ? (double)NAN : u);
    if (bad != NULL && strcmp(bad, "task") == 0)
        weft_decide(decisions, n, 0, 0);
    return WEFT_OK;
}

extern const weft_solver_definition weft_solver;
const weft_solver_definition weft_solver = {"bad", "does wrong what it is told", solve, NULL};
