/* SPDX-License-Identifier: MIT */
/* signals.c: ends of the program that nobody planned.
 *
 * - SIGINT, SIGTERM, SIGHUP and the like end it as they always do, but for the temporaries of files
 *   that are being written: these are removed. while a search runs, the first Ctrl-C ends that only.
 * - SIGBUS where a file is mapped: somebody has cut it off, or its disk fails. Exit code 2.
 * - No memory: exit code 3.
 * - A file that grows beyond a limit (SIGXFSZ) is an error of the system call, told like a full
 * disk.
 *
 * Handlers call nothing but what POSIX allows them to: write, unlink, sigaction, _exit. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { MOST_LINE = 1024 };

/* "weft: TEXT, MORE" as one line, also where a name has control characters. */
static void say(const char *text, const char *more)
{
    char line[MOST_LINE] = "weft: ";
    size_t n = strlen(line), from = n;

    for (const char *part = text; part != NULL; part = part == text ? more : NULL)
        for (const char *p = part; *p && n < sizeof line - 1; p++)
            line[n++] = *p;
    for (size_t i = from; i < n; i++)
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
            line[i] = '?';
    line[n++] = '\n';
    while (write(STDERR_FILENO, line, n) < 0 && errno == EINTR)
        continue;
}

static void end(int number)
{
    struct sigaction usual = {.sa_handler = SIG_DFL};

    weft_file_abandon();
    sigaction(number, &usual, NULL);
    raise(number); /* when the handler has returned */
}

static void end_on(int signal_number)
{
    struct sigaction action = {.sa_handler = end};

    sigaction(signal_number, &action, NULL);
}

volatile sig_atomic_t weft_is_interrupted; /* a signal has no other way to tell */

static void interrupt(int number)
{
    weft_is_interrupted = 1;
    end_on(number);
}

void weft_interrupt_stops(bool stops)
{
    struct sigaction action = {.sa_handler = interrupt};

    if (stops)
        sigaction(SIGINT, &action, NULL);
    else
        end_on(SIGINT);
}

static void lost_bytes(int number, siginfo_t *info, void *context)
{
    const char *path = info->si_code > 0 ? weft_file_at(info->si_addr) : NULL;

    (void)context;
    if (path == NULL) {
        end(number);
        return;
    }
    weft_file_abandon();
    say(path, ": has become shorter while it was read, or its disk fails");
    _exit(WEFT_EXIT_WRONG);
}

static void out_of_memory(size_t bytes)
{
    char size[32], more[64] = "";

    weft_file_abandon();
    if (bytes > 0)
        snprintf(more, sizeof more, ": %s more were needed",
                 weft_format_bytes((double)bytes, size));
    say("out of memory", more);
    _exit(WEFT_EXIT_INTERNAL);
}

void weft_signals_handle(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU};
    struct sigaction bus = {.sa_sigaction = lost_bytes, .sa_flags = SA_SIGINFO};
    struct sigaction ignore = {.sa_handler = SIG_IGN}, now;

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN) /* nohup */
            end_on(ends[i]);
    sigaction(SIGBUS, &bus, NULL);
    sigaction(SIGXFSZ, &ignore, NULL);
    weft_on_out_of_memory(out_of_memory);
}
