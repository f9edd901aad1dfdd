/* SPDX-License-Identifier: MIT */
/* effort.c: how long a search may take, how the user stops it, and what is shown meanwhile.
 *
 * The first Ctrl-C asks for what there is; a second one ends the program at once. Progress is shown
 * on a terminal only, on one line that is wiped at the end. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"
#include "weft/solve.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static const double SHOW_EVERY_S = 0.1;

static volatile sig_atomic_t is_interrupted; /* a signal has no other way to tell */

static void interrupt(int number)
{
    is_interrupted = 1;
    weft_end_on(number);
}

static double wall_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void show(void *context, double value, double bound)
{
    weft_watch *w = context;
    double now_s = wall_s();
    char best[48], least[48], gap[32], text[200];
    int n;

    if (now_s - w->shown_s < SHOW_EVERY_S)
        return;
    w->shown_s = now_s;
    w->has_shown = true;
    n = snprintf(text, sizeof text, "%.1f s: ", now_s - w->begin_s);
    if (!isfinite(value))
        snprintf(text + n, sizeof text - (size_t)n, "no plan yet");
    else if (!(bound > 0))
        snprintf(text + n, sizeof text - (size_t)n, "best %s, no bound yet",
                 weft_unit_print(value, WEFT_UNIT_SECONDS, best));
    else
        snprintf(text + n, sizeof text - (size_t)n, "best %s, bound %s, gap %s %%",
                 weft_unit_print(value, WEFT_UNIT_SECONDS, best),
                 weft_unit_print(bound, WEFT_UNIT_SECONDS, least),
                 weft_format_gap(value > 0 ? 1 - bound / value : 0, 2, gap));
    weft_progress(text);
}

weft_status weft_effort_read(const weft_effort_flags *f, const char *usual, weft_watch *w,
                             weft_run *out)
{
    struct sigaction action = {.sa_handler = interrupt};
    const char *limit = *f->time_limit ? f->time_limit : usual;

    memset(out, 0, sizeof *out);
    out->seed = f->seed;
    out->n_threads = (int)f->threads;
    out->steps = f->steps;
    out->limit_s = INFINITY;
    if (*f->time_limit || f->steps == 0) {
        if (weft_unit_parse(limit, WEFT_UNIT_SECONDS, false, &out->limit_s) != WEFT_OK)
            return weft_fail_in(WEFT_E_INPUT, "--time-limit");
    }
    out->stop = &is_interrupted;
    sigaction(SIGINT, &action, NULL);
    *w = (weft_watch){.begin_s = wall_s()};
    if (weft_progress_is_shown() && !f->is_silent) {
        out->progress = show;
        out->context = w;
    }
    return WEFT_OK;
}

void weft_effort_wipe(weft_watch *w)
{
    if (w->has_shown)
        weft_progress_end();
    w->has_shown = false;
}

void weft_effort_end(weft_watch *w)
{
    weft_end_on(SIGINT);
    weft_effort_wipe(w);
}

bool weft_effort_is_stopped(void)
{
    return is_interrupted;
}

double weft_peak_rss_bytes(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss * 1024;
}

weft_status weft_unknown_solver(const char *name, const char *const *known, int n)
{
    const char *near = weft_nearest(name, known, n);

    return weft_fail(WEFT_E_INPUT, "unknown solver '%s'%s%s%s; see: weft list solvers", name,
                     near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}
