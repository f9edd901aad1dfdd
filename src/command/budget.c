/* SPDX-License-Identifier: MIT */
/* budget.c: how long a search may take, how the user stops it, and what is shown meanwhile. */
#define _POSIX_C_SOURCE 200809L
#include "command.h"
#include "solve.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static const double SHOW_EVERY_S = 0.1, TICK_EVERY_S = 1;

static void print_line(weft_watch *w, double now_s)
{
    char limit[48], best[48], least[48], gap[32], text[240];
    int n = snprintf(
        text, sizeof text, "%.1f s%s%s: ", now_s - w->begin_s, isfinite(w->limit_s) ? " of " : "",
        isfinite(w->limit_s) ? weft_unit_print(w->limit_s, WEFT_UNIT_SECONDS, limit) : "");

    w->shown_s = now_s;
    w->has_shown = true;
    if (!isfinite(w->value))
        snprintf(text + n, sizeof text - (size_t)n, "no plan yet");
    else if (!(w->bound > 0))
        snprintf(text + n, sizeof text - (size_t)n, "best %s, no bound yet",
                 weft_unit_print(w->value, WEFT_UNIT_SECONDS, best));
    else
        snprintf(text + n, sizeof text - (size_t)n, "best %s, bound %s, gap %s %%",
                 weft_unit_print(w->value, WEFT_UNIT_SECONDS, best),
                 weft_unit_print(w->bound, WEFT_UNIT_SECONDS, least),
                 weft_format_gap(w->value > 0 ? 1 - w->bound / w->value : 0, 2, gap));
    weft_progress(w->host, text);
}

static void show(void *context, double value, double bound)
{
    weft_watch *w = context;
    double now_s = weft_wall_s();

    if (w->host->progress)
        w->host->progress(w->host->context, value, bound);
    pthread_mutex_lock(&w->lock);
    w->value = value;
    w->bound = bound;
    if (w->host->show && now_s - w->shown_s >= SHOW_EVERY_S)
        print_line(w, now_s);
    pthread_mutex_unlock(&w->lock);
}

/* A line each second that had none. */
static void *tick(void *context)
{
    weft_watch *w = context;

    pthread_mutex_lock(&w->lock);
    while (w->is_ticking) {
        struct timespec until;
        double now_s;

        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec++;
        (void)pthread_cond_timedwait(&w->ends, &w->lock, &until);
        now_s = weft_wall_s();
        if (w->is_ticking && now_s - w->shown_s >= TICK_EVERY_S - SHOW_EVERY_S)
            print_line(w, now_s);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static void begin_watch(weft_watch *w, const weft_host *host, double limit_s)
{
    pthread_condattr_t monotonic;

    *w =
        (weft_watch){.host = host, .begin_s = weft_wall_s(), .limit_s = limit_s, .value = INFINITY};
    w->shown_s = w->begin_s - SHOW_EVERY_S;
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&w->ends, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

/* Without a thread to be had, lines come with better plans only. */
static void start_ticker(weft_watch *w)
{
    sigset_t all, before;

    sigfillset(&all); /* signals are for the thread of the program */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    w->is_ticking = true;
    if (pthread_create(&w->ticker, NULL, tick, w) != 0)
        w->is_ticking = false;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void stop_ticker(weft_watch *w)
{
    if (!w->is_ticking)
        return;
    pthread_mutex_lock(&w->lock);
    w->is_ticking = false;
    pthread_cond_signal(&w->ends);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->ticker, NULL);
}

weft_status weft_budget_read(const weft_budget_flags *f, const char *usual, weft_watch *w,
                             weft_run *out)
{
    const weft_host *host = weft_host_now();
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
    out->stop = host->stop;
    if (host->searches)
        host->searches(host->context, true);
    begin_watch(w, host, out->limit_s);
    if ((host->show || host->progress) && !f->is_silent) {
        out->progress = show;
        out->context = w;
        if (host->show)
            start_ticker(w);
    }
    return WEFT_OK;
}

void weft_budget_wipe(weft_watch *w)
{
    stop_ticker(w);
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
