/* SPDX-License-Identifier: MIT */
/* Why a plan takes as long as it does, and why no plan can take less than its bound. */
#ifndef WEFT_EXPLAIN_H
#define WEFT_EXPLAIN_H

#include "mine.h"
#include "place.h"
#include "shard.h"
#include "train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One reason why no plan is faster: a bound of its own. */
typedef struct weft_why_part {
    const char *key;  /* for programs: "path", "work", "device", "link", "memory", "search" ... */
    const char *name; /* for people: "critical path", "work of all devices", "link cpu > gpu0" */
    const char *text; /* a sentence, with units */
    double seconds;   /* no plan takes less, for this reason alone */
    int n_tasks;      /* tasks (steps, units) that it is made of, heaviest first */
    const int *task;
} weft_why_part;

typedef struct weft_why {
    int n_parts; /* by falling seconds; the first is the bound if is_explained */
    const weft_why_part *part;
    bool is_explained; /* the bound of the proof is that of the first part; else a search went
                          further than every single reason */
    /* The chain that explains the value: it is the sum of these. */
    double compute_s, transfer_s, wait_s;
    const char *text; /* what stands between value and bound: a sentence */
} weft_why;

/* All in `a`. Solutions without a plan have bounds only; the chain is 0 then. */
void weft_place_why(const weft_problem *p, const weft_solution *s, weft_arena *a, weft_why *out);
void weft_shard_why(const weft_shard_problem *p, const weft_shard_solution *s, weft_arena *a,
                    weft_why *out);
void weft_train_why(const weft_train_problem *p, const weft_train_solution *s, weft_arena *a,
                    weft_why *out);

/* --- upgrades -------------------------------------------------------------------------------- */

typedef enum weft_upgrade_kind {
    WEFT_UPGRADE_LINK,   /* twice the bandwidth of the links of an entry */
    WEFT_UPGRADE_SPEED,  /* twice the rates of the devices of an entry */
    WEFT_UPGRADE_MEMORY, /* twice their memory */
    WEFT_UPGRADE_DEVICE, /* one device more, a copy with the links of the original */
    WEFT_N_UPGRADES
} weft_upgrade_kind;

const char *weft_upgrade_name(weft_upgrade_kind k); /* "link", "speed", "memory", "device" */

/* A machine with one thing better: the document of its file with a few values changed, so that to
 * have the upgrade is to edit the file. */
typedef struct weft_upgrade {
    weft_upgrade_kind kind;
    const char *name; /* unique, fit for a file name: "speed-gpu" */
    const char *what; /* for people: "twice the speed of gpu (8 devices)" */
    const char *edit; /* what is changed in the file: "peak_flops 1e12 -> 2e12, ..." */
    const weft_doc *document;
} weft_upgrade;

/* All upgrades of these kinds (bits 1 << kind) of a machine: the document of a platform
 * (weft.platform/1), or of tasks (weft.tasks/1), which must be valid. Entries with `count`, and
 * entries of groups, are upgraded whole. Other documents are refused. In `a`. */
WEFT_CHECKED weft_status weft_upgrades_of(const weft_doc *machine, unsigned kinds, weft_arena *a,
                                          const weft_upgrade **out, int *n);

/* What an upgrade is worth. */
typedef struct weft_upgrade_value {
    const weft_upgrade *upgrade;
    weft_outcome outcome;
    double value;       /* of the better of the two plans below; NAN: there is none */
    double bound, gap;  /* no plan for the upgraded machine is below */
    const char *method; /* of that bound */
    double solved;      /* the value of the solver's plan; NAN: it has none */
    double kept;        /* the old plan on the upgraded machine; NAN: it does not run there */
    double gain;        /* value before / value; NAN without one */
    double least_gain;  /* bound before / value: the best plan gains so much at least; NAN */
    double bound_gain;  /* bound before / bound, of searches of the same effort; NAN */
    double most_gain;   /* value before / bound: no plan gains more */
    bool is_useless;    /* the bound proves that the upgrade cannot help */
    const char *reason; /* why there is no value; NULL if there is one */
} weft_upgrade_value;

/* The machine as it is, searched with the effort that upgrades get: what these are held against, so
 * that a longer search does not pass for an upgrade. */
typedef struct weft_upgrade_base {
    double value;    /* of the better of the plan and what was found */
    double bound;    /* the higher of that of the plan and what was found */
    double searched; /* the bound that was found */
    bool is_better;  /* than the plan */
} weft_upgrade_base;

/* --- uncertain costs ------------------------------------------------------------------------- */

/* For which errors of one device's or link's times the plan is still good. */
typedef struct weft_range {
    const char *name;   /* "gpu0", "cpu - gpu0" */
    bool is_link;       /* transfers over the link take so many times as long; else all tasks on
                           the device do */
    double least, most; /* factors; NAN: even as it is, the plan is not within the tolerance */
    bool is_proved;     /* at every factor that was tried in between a bound shows it */
} weft_range;

typedef struct weft_sensitivity {
    double error, tolerance;
    double precision; /* of least and most */
    int64_t steps;    /* of each solve */
    int n_ranges;
    const weft_range *range;
    const char *sampled; /* what samples change, each by its own factor: "all times of tasks" */
    int n_samples;
    int n_within;    /* samples in which the plan is within the tolerance of the best found */
    int n_proved;    /* of them: a bound shows it */
    double worst;    /* regret: value of the plan / value of the best found - 1 */
    double mean;     /* regret */
    bool is_stopped; /* run.stop came before all was tried: there are neither ranges nor samples */
} weft_sensitivity;

typedef struct weft_sensitivity_options {
    double error;     /* times may be wrong by this part of them: less than 1 */
    double tolerance; /* regret that is allowed: 0.01 */
    int n_samples;
    const weft_solver *solver; /* that finds better plans */
    weft_run run;              /* seed; steps of each solve; n_threads solves side by side; stop */
    void (*told)(void *context, int n_done, int n); /* at first, and after each by any thread */
    void *context;
} weft_sensitivity_options;

/* Is a plan still good if costs are not what they were taken for? The plan keeps devices and order,
 * the simulator says what it is worth, and the problem with those costs is solved again.
 *  - For each device and each link (both directions together) alone: the largest interval of
 *    factors around 1, within [1 - error, 1 + error], at whose tried points the plan is within the
 *    tolerance of the best plan found. Points are eighths of the error on either side, outward up
 *    to the first that is not; the end is then bisected to `precision`.
 *  - For samples of factors, log-uniform in that interval and independent for each time of a task.
 * Limits of latency and period are left out. Same bytes for any number of threads. In `a`. */
WEFT_CHECKED weft_status weft_place_sensitivity(const weft_problem *p, const weft_plan *plan,
                                                const weft_sensitivity_options *o, weft_arena *a,
                                                weft_sensitivity *out);

#ifdef __cplusplus
}
#endif
#endif
