/* SPDX-License-Identifier: MIT */
/* host.c: the array of commands, and who runs them: the program, or a caller of the library.
 *
 * A command prints, complains, shows progress and is stopped through the host of its thread; it
 * knows neither standard output nor signals. So several may run at once, each in its own thread. */
#include "command.h"

#include <string.h>

enum { USUAL_WIDTH = 80 };

/* A row each, in the order of the help: its file defines weft_cmd_NAME. */
#define COMMANDS(X)                                                                                \
    X(inspect)                                                                                     \
    X(place)                                                                                       \
    X(shard)                                                                                       \
    X(train)                                                                                       \
    X(mine)                                                                                        \
    X(compare)                                                                                     \
    X(simulate)                                                                                    \
    X(profile)                                                                                     \
    X(split)                                                                                       \
    X(run)                                                                                         \
    X(check)                                                                                       \
    X(report)                                                                                      \
    X(explain)                                                                                     \
    X(diff)                                                                                        \
    X(validate)                                                                                    \
    X(calibrate)                                                                                   \
    X(list)                                                                                        \
    X(completions)

#define DECLARATION(name) extern const weft_command weft_cmd_##name;
#define ROW(name) &weft_cmd_##name,

COMMANDS(DECLARATION)

const weft_command *const weft_commands[] = {COMMANDS(ROW) NULL};

const weft_command *weft_command_find(const char *name)
{
    const char *known[sizeof weft_commands / sizeof weft_commands[0]], *near;
    int n = 0;

    for (; weft_commands[n] != NULL; n++) {
        known[n] = weft_commands[n]->name;
        if (strcmp(known[n], name) == 0)
            return weft_commands[n];
    }
    near = weft_nearest(name, known, n);
    (void)weft_fail(WEFT_E_INPUT, "unknown command '%s'%s%s%s; see: weft --help", name,
                    near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
    return NULL;
}

static const weft_host nobody = {.n_processes = 1};
static _Thread_local const weft_host *now;

const weft_host *weft_host_now(void)
{
    return now ? now : &nobody;
}

weft_status weft_command_run(const weft_command *c, const weft_host *host, char **argument, int n,
                             int *code)
{
    const weft_host *before = now;
    weft_arena *a = weft_arena_new();
    void *options = weft_arena_alloc(a, c->options_size);
    const char **operand = WEFT_NEW(a, const char *, n + 1);
    int n_operands;
    weft_status status = weft_args_read(c, argument, n, options, operand, &n_operands, a);

    *code = WEFT_EXIT_DONE;
    if (status == WEFT_OK)
        status = weft_outputs_check(c, options, operand, n_operands, a);
    now = host;
    if (status == WEFT_OK)
        status = c->run(options, operand, n_operands, code);
    now = before;
    if (status != WEFT_OK)
        *code = status == WEFT_E_INTERNAL ? WEFT_EXIT_INTERNAL : WEFT_EXIT_WRONG;
    weft_arena_free(a);
    return status;
}

bool weft_is_for_terminal(const char *path)
{
    return (path == NULL || *path == '\0' || strcmp(path, "-") == 0) &&
           weft_host_now()->terminal_width > 0;
}

int weft_report_width(const char *path)
{
    /* files and pipes: the same bytes for everybody */
    return weft_is_for_terminal(path) ? weft_host_now()->terminal_width : USUAL_WIDTH;
}

void weft_complain(const char *line)
{
    const weft_host *host = weft_host_now();

    if (host->complain)
        host->complain(host->context, line);
}

void weft_progress(const weft_host *host, const char *line)
{
    if (host->show)
        host->show(host->context, line);
}
