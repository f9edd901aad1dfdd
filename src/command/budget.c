/* SPDX-License-Identifier: MIT */
/* budget.c: how long a search may take, how the user stops it, and what is shown meanwhile. */
#define _POSIX_C_SOURCE 200809L
#include "command.h"
#include "solve.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MOST_THREADS = 1024 };

static const double SHOW_EVERY_S = 0.1;

static void show(void *context, double value, double bound)
{
    weft_watch *w = context;
    double now_s = weft_wall_s();
    char best[48], least[48], gap[32], text[200];
    int n;

    if (w->host->progress)
        w->host->progress(w->host->context, value, bound);
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
    weft_progress(w->host, text);
}

int weft_threads(int64_t asked)
{
    long n = asked > 0 ? (long)asked : sysconf(_SC_NPROCESSORS_ONLN);

    return n < 1 ? 1 : n > MOST_THREADS ? MOST_THREADS : (int)n;
}

weft_status weft_budget_read(const weft_budget_flags *f, const char *usual, weft_watch *w,
                             weft_run *out)
{
    const weft_host *host = weft_host_now();
    const char *limit = *f->time_limit ? f->time_limit : usual;

    memset(out, 0, sizeof *out);
    out->seed = f->seed;
    out->n_threads = weft_threads(f->threads);
    out->steps = f->steps;
    out->limit_s = INFINITY;
    if (*f->time_limit || f->steps == 0) {
        if (weft_unit_parse(limit, WEFT_UNIT_SECONDS, false, &out->limit_s) != WEFT_OK)
            return weft_fail_in(WEFT_E_INPUT, "--time-limit");
    }
    out->stop = host->stop;
    if (host->searches)
        host->searches(host->context, true);
    *w = (weft_watch){.host = host, .begin_s = weft_wall_s()};
    if ((host->show || host->progress) && !f->is_silent) {
        out->progress = show;
        out->context = w;
    }
    return WEFT_OK;
}

void weft_budget_wipe(weft_watch *w)
{
    if (w->has_shown)
        weft_progress(w->host, NULL);
    w->has_shown = false;
}

void weft_budget_end(weft_watch *w)
{
    if (w->host && w->host->searches)
        w->host->searches(w->host->context, false);
    weft_budget_wipe(w);
}

bool weft_budget_is_stopped(void)
{
    const weft_host *host = weft_host_now();

    return host->stop && *host->stop;
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
