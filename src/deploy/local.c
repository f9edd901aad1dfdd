/* SPDX-License-Identifier: MIT */
/* local.c: what engines and processors this machine has, as a platform file.
 *
 * Devices of the engine `paced` have made-up speeds, each half as fast as the one before it: they are
 * for trying things out. Links have the bandwidth by size that was measured between the first two
 * processors; a plan for them is one of `transfer: overlap`, since a tensor that lies in shared memory
 * keeps nobody busy. */
#define _GNU_SOURCE
#include <math.h>
#include <sched.h>
#include <string.h>

#include "local.h"
#include "pace.h"

enum { MOST_ENGINES = 16 };

typedef struct listing {
    weft_arena *a;
    const weft_engine_places *where;
    int n_cpus, cpu[WEFT_MOST_CPUS];
    int n_engines;
    const weft_engine *engine[MOST_ENGINES];
    const char *version[MOST_ENGINES];
    const char *text;
} listing;

static void find_cpus(listing *l, int most)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        l->n_cpus = 1;
        return;
    }
    for (int i = 0; i < WEFT_MOST_CPUS && l->n_cpus < most; i++)
        if (CPU_ISSET((size_t)i, &set))
            l->cpu[l->n_cpus++] = i;
}

static weft_status find_engines(listing *l, const char *engines)
{
    while (*engines) {
        size_t n = strcspn(engines, ",");

        if (l->n_engines == MOST_ENGINES)
            return weft_fail(WEFT_E_INPUT, "--engines names more than %d", MOST_ENGINES);
        WEFT_TRY(weft_engine_find(weft_arena_text(l->a, engines, n), &l->engine[l->n_engines]));
        WEFT_TRY(
            weft_engine_look(l->engine[l->n_engines], l->where, l->a, &l->version[l->n_engines]));
        l->n_engines++;
        engines += n + (engines[n] == ',');
    }
    return l->n_engines > 0 ? WEFT_OK : weft_fail(WEFT_E_INPUT, "--engines is empty");
}

static void add(listing *l, const char *text)
{
    l->text = weft_arena_print(l->a, "%s%s", l->text, text);
}

/* "ort0", numbered by processor. */
static const char *device_name(const listing *l, int i)
{
    return weft_arena_print(l->a, "%s%d", l->engine[i % l->n_engines]->name, l->cpu[i]);
}

static void add_devices(listing *l, const char *times)
{
    double flops = 20e9;

    add(l, "devices:\n");
    for (int i = 0; i < l->n_cpus; i++) {
        int e = i % l->n_engines;
        bool is_paced = l->engine[e] == &weft_engine_paced;

        add(l, weft_arena_print(l->a, "  # %s %s\n", l->engine[e]->title, l->version[e]));
        add(l, weft_arena_print(l->a, "  - {name: %s, engine: %s, cpus: [%d], ", device_name(l, i),
                                l->engine[e]->name, l->cpu[i]));
        if (is_paced)
            add(l, weft_arena_print(l->a,
                                    "model: roofline, peak_flops: %.4gGFLOP/s, memory_bandwidth: "
                                    "%.4gGB/s, profile: %s}\n",
                                    flops / 1e9, flops / 2e9, times));
        else
            add(l, weft_arena_print(l->a, "model: profile, profile: %s}\n", times));
        flops /= is_paced ? 2 : 1;
    }
}

/* Times of sizes as points of bandwidth; none where a message takes no time beyond the first. */
static void add_curve(listing *l, const weft_link_timing *t)
{
    double latency_s = t[0].time.seconds, before_s = 0;

    add(l, weft_arena_print(l->a, "latency: %.4gus, curve: [", fmax(latency_s, 1e-8) * 1e6));
    for (int k = 1; k < WEFT_N_LINK_SIZES; k++) {
        double seconds = fmax(t[k].time.seconds - latency_s, 1e-9 * (double)t[k].bytes / 64);

        seconds = fmax(seconds, before_s * 1.0001);
        before_s = seconds;
        add(l, weft_arena_print(l->a, "%s[%lldKiB, %.5gGB/s]", k > 1 ? ", " : "",
                                (long long)(t[k].bytes >> 10), (double)t[k].bytes / seconds / 1e9));
    }
    add(l, "]");
}

static weft_status add_links(listing *l)
{
    weft_link_timing t[WEFT_N_LINK_SIZES];

    if (l->n_cpus < 2)
        return WEFT_OK;
    WEFT_TRY(weft_measure_link(l->cpu[0], l->cpu[1], t));
    add(l,
        "links:\n  # measured: shared memory, what reading a message on another processor takes\n");
    add(l, "  - {all: [");
    for (int i = 0; i < l->n_cpus; i++)
        add(l, weft_arena_print(l->a, "%s%s", i > 0 ? ", " : "", device_name(l, i)));
    add(l, "], ");
    add_curve(l, t);
    add(l, "}\n");
    return WEFT_OK;
}

weft_status weft_local_platform(const char *engines, int most, const char *times,
                                const weft_engine_places *where, weft_arena *a, const char **out)
{
    listing *l = WEFT_NEW(a, listing, 1);

    l->a = a;
    l->where = where;
    l->text = "schema: weft.platform/1\nname: local\ntransfer: overlap\n";
    find_cpus(l, most);
    WEFT_TRY(find_engines(l, engines));
    add_devices(l, times);
    WEFT_TRY(add_links(l));
    *out = l->text;
    return WEFT_OK;
}
