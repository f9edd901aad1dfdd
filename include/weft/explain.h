/* SPDX-License-Identifier: MIT */
/* Why a plan takes as long as it does, and why no plan can take less than its bound. */
#ifndef WEFT_EXPLAIN_H
#define WEFT_EXPLAIN_H

#include "weft/mine.h"
#include "weft/place.h"
#include "weft/shard.h"
#include "weft/train.h"

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
void weft_shard_why(const weft_sharding *p, const weft_shard_solution *s, weft_arena *a,
                    weft_why *out);
void weft_train_why(const weft_training *p, const weft_train_solution *s, weft_arena *a,
                    weft_why *out);

/* --- two plans side by side ------------------------------------------------------------------ */

/* A plan or a design with all that belongs to it; of the kinds one is there. */
typedef struct weft_side {
    const char *file; /* what people call the plan */
    double samples;   /* that its value is of; NAN: not known */
    const weft_plan_origin *origin;
    const weft_platform *platform; /* NULL: a file of tasks */
    const weft_problem *problem;   /* place */
    const weft_solution *solution;
    const weft_sharding *sharding; /* shard */
    const weft_shard_solution *shards;
    const weft_training *training; /* train */
    const weft_train_solution *pipeline;
    const weft_mine_report *mine;   /* a design of one device */
    const weft_fleet_report *fleet; /* designs for a pipeline */
} weft_side;

/* Below, [0] is of plan A and [1] of plan B; NULL and NAN: it has no such thing. */

/* Something that differs, in words: an option, a device of the platform, a set, a stage. */
typedef struct weft_diff_row {
    const char *name, *text[2];
} weft_diff_row;

/* A number of both, equal or not. */
typedef struct weft_diff_figure {
    const char *key, *name; /* for programs, for people */
    const char *unit;       /* "s", "B", "J", "W", "mm2", "1/s", "x", "%" (a share), "count",
                               "units" */
    double value[2];
} weft_diff_figure;

/* A device (train: a stage). Of a placed network the time of a device is taken apart:
 * busy_s[0] = left_s + stay_s[0] + only_s[0], busy_s[1] = came_s + stay_s[1] + only_s[1]. */
typedef struct weft_diff_place {
    const char *name;
    double busy_s[2], peak_bytes[2];
    double sent_bytes[2];        /* sent from there */
    double left_s, came_s;       /* tasks that run elsewhere in B; that ran elsewhere in A */
    double stay_s[2], only_s[2]; /* tasks in both plans, here; tasks the other does not have */
    double forward_s[2];         /* train: of a microbatch */
    double backward_s[2];        /* with what is computed again */
} weft_diff_place;

/* A task (shard: step, train: unit) that is not where it was, or not done as it was. */
typedef struct weft_diff_move {
    const char *name, *kind; /* kind: operator, or NULL */
    const char *at[2];       /* "gpu0"; "set 0 r=4 c=2"; "stage 1" */
    double seconds[2];
    double effect_s;      /* on the time of devices: both if it moved, their difference if not */
    int n_gained, n_lost; /* transfers it takes part in: in B only, in A only */
    double gained_bytes, lost_bytes;
    int stretch;
} weft_diff_move;

/* Neighbours that moved from one place to another, counted together. */
typedef struct weft_diff_stretch {
    int first, n; /* of `move` */
    double seconds[2], effect_s;
    int n_gained, n_lost; /* transfers that any of them takes part in, once each */
    double gained_bytes, lost_bytes;
} weft_diff_stretch;

typedef struct weft_diff {
    const char *kind; /* "place", "shard", "train", "mine", "fleet" */
    const char *item; /* what moves: "task", "step", "unit"; nothing does of designs */
    const weft_side *side;
    const weft_proof *proof[2];
    const char *value_name; /* "latency", "time per item", "step", "throughput" ... */
    const char *unit;       /* of the value: "s", "samples/s" ... */
    bool is_max;            /* more is better, and bounds are above: designs */
    /* What is compared: value and bound, or these for a sample if batches differ. */
    bool is_comparable; /* false: the goals differ */
    bool is_per_sample;
    double value[2], bound[2];
    double ratio;         /* how many times as fast, or as good, B is */
    bool is_same_problem; /* then the bound of one holds for the other */
    bool is_same_plan;    /* the same decisions and times */
    int better;           /* 0 or 1; -1: neither */
    bool is_proved;       /* that no plan for the problem of the worse one is better than the better
                             plan (of one problem: that no plan at all is) */
    const char *claim;    /* what is proved, in words */
    int n_settings, n_decisions, n_figures, n_links, n_parts, n_places;
    const weft_diff_row *setting;   /* how the problems and searches differ */
    const weft_diff_row *decision;  /* shard: sets; train: schedule, stages ... that differ */
    const weft_diff_figure *figure; /* of the whole plan */
    const weft_diff_figure *link;   /* seconds of transfers; those that carry something */
    const weft_diff_figure *part;   /* of the chain that explains the value: it is their sum */
    const weft_diff_place *place;
    int n_moves, n_stretches;
    const weft_diff_move *move;       /* stretch by stretch, in the order of B's tasks */
    const weft_diff_stretch *stretch; /* by falling effect */
    int n_stay;                       /* in both and where they were */
    int n_shifted;                    /* of these: start at another time */
    double stay_s[2];
    int n_only[2];
    const char *const *only[2]; /* tasks of one plan, by name */
    int n_gained, n_lost;       /* transfers of the whole plan (place) */
} weft_diff;

/* Tasks, devices and links are matched by name. Both sides are of one kind. All in `a`; the sides
 * must live as long. */
void weft_diff_plans(const weft_side side[2], weft_arena *a, weft_diff *out);

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
typedef struct weft_priced {
    const weft_upgrade *upgrade;
    weft_outcome outcome;
    double value;       /* of the better of the two plans below; NAN: there is none */
    double bound, gap;  /* no plan for the upgraded machine is below */
    const char *method; /* of that bound */
    double solved;      /* the value of the solver's plan; NAN: it has none */
    double kept;        /* the old plan on the upgraded machine; NAN: it does not run there */
    double gain;        /* value before / value; NAN without one */
    double most_gain;   /* value before / bound: no plan gains more */
    bool is_useless;    /* the bound proves that the upgrade cannot help */
    const char *reason; /* why there is no value; NULL if there is one */
} weft_priced;

/* --- uncertain costs ------------------------------------------------------------------------- */

/* For which errors of one device's or link's times the plan is still good. */
typedef struct weft_range {
    const char *name;   /* "gpu0", "cpu - gpu0" */
    bool is_link;       /* transfers over the link take so many times as long; else all tasks on
                           the device do */
    double least, most; /* factors; NAN: even as it is, the plan is not within the tolerance */
    bool is_proved;     /* at every factor that was tried in between a bound shows it */
} weft_range;

typedef struct weft_doubt {
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
} weft_doubt;

typedef struct weft_doubt_options {
    double error;     /* times may be wrong by this part of them: less than 1 */
    double tolerance; /* regret that is allowed: 0.01 */
    int n_samples;
    const weft_solver *solver; /* that finds better plans */
    weft_run run;              /* seed; steps of each solve; n_threads solves side by side; stop */
    void (*told)(void *context, int n_done, int n); /* at first, and after each by any thread */
    void *context;
} weft_doubt_options;

/* Is a plan still good if costs are not what they were taken for? The plan keeps devices and order,
 * the simulator says what it is worth, and the problem with those costs is solved again.
 *  - For each device and each link (both directions together) alone: the largest interval of
 *    factors around 1, within [1 - error, 1 + error], at whose tried points the plan is within the
 *    tolerance of the best plan found. Points are eighths of the error on either side, outward up
 *    to the first that is not; the end is then bisected to `precision`.
 *  - For samples of factors, log-uniform in that interval and independent for each time of a task.
 * Limits of latency and period are left out. Same bytes for any number of threads. In `a`. */
WEFT_CHECKED weft_status weft_place_doubt(const weft_problem *p, const weft_plan *plan,
                                          const weft_doubt_options *o, weft_arena *a,
                                          weft_doubt *out);

#ifdef __cplusplus
}
#endif
#endif
