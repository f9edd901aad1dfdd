/* SPDX-License-Identifier: MIT */
/* What people and programs read: summaries as text and as JSON. */
#ifndef WEFT_REPORT_H
#define WEFT_REPORT_H

#include "weft/explain.h"
#include "weft/mine.h"
#include "weft/place.h"
#include "weft/shard.h"
#include "weft/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All nodes of one operator type. */
typedef struct weft_op_total {
    const char *op, *domain;
    int n_nodes;
    bool is_opaque;
    weft_work work;
} weft_op_total;

/* A network in figures. Byte totals of tensors whose shape depends on the data are not in them. */
typedef struct weft_summary {
    const weft_model *model;
    weft_work total;    /* all nodes */
    weft_work phase[3]; /* by weft_phase */
    int n_phase_nodes[3];
    int64_t weight_bytes, state_bytes, input_bytes, output_bytes;
    int64_t activation_bytes; /* results of all nodes */
    int64_t peak_bytes;       /* largest live sum in topological order */
    int64_t stash_bytes;      /* activations kept for backward */
    int depth, n_barriers, n_cuts;
    int n_dynamic_nodes;   /* with a data-dependent shape: their work is not counted */
    double flops_per_byte; /* arithmetic intensity: flops / bytes moved */
    int n_ops;
    const weft_op_total *op; /* by falling MACs, then flops, then bytes */
    const weft_work *node;   /* [n_nodes] work of each */
} weft_summary;

weft_summary *weft_summarize(const weft_model *model, weft_arena *a);

/* The summary for a terminal, `width` columns wide; with_layers adds one line a node. */
void weft_summary_text(const weft_summary *s, bool with_layers, int width, FILE *to);
/* The same as a document (schema weft.inspect/1). */
weft_doc *weft_summary_doc(const weft_summary *s, bool with_layers, weft_arena *a);

/* --- plans ----------------------------------------------------------------------------------- */

/* Everything a report of a plan shows. */
typedef struct weft_report {
    const weft_problem *problem;
    const weft_solution *solution;
    const weft_plan_origin *origin;
    double best_single_s;    /* value of the best single device; NAN if no device can do all */
    const char *best_single; /* its name, or NULL */
    double heft_s;           /* value of HEFT's plan; NAN if it has none */
} weft_report;

/* What `weft place --json` prints but "seconds", "peak_rss_bytes" and "plan" (schema
 * weft.result/1). */
weft_doc *weft_report_result(const weft_report *r, weft_arena *a);
/* For a terminal: value with unit, speed-up and its ceiling, bound, gap, a table of devices, the
 * chain that explains the makespan, and a small Gantt chart in characters, `width` columns wide. */
void weft_report_text(const weft_report *r, int width, FILE *to);
/* Chrome trace JSON, one process a device, rows for links, flow arrows from producer to reader;
 * what Perfetto opens. */
weft_doc *weft_report_trace(const weft_report *r, weft_arena *a);
/* Graphviz source: tasks coloured by device. */
void weft_report_dot(const weft_report *r, FILE *to);

/* --- sharded networks ------------------------------------------------------------------------ */

/* What a plan is set beside. */
typedef struct weft_shard_baseline {
    const char *solver;
    weft_outcome outcome;
    double value_s; /* NAN: it has no plan */
} weft_shard_baseline;

/* Everything a report of a sharded network shows. */
typedef struct weft_shard_report {
    const weft_sharding *problem;
    const weft_shard_solution *solution;
    const weft_plan_origin *origin;
    int n_baselines;
    const weft_shard_baseline *baseline;
} weft_shard_report;

/* How much lower the value of the plan is than that of a baseline, as a share of the latter;
 * negative: higher; NAN: one of them has none. */
double weft_shard_reduction(const weft_shard_report *r, const weft_shard_baseline *b);
/* For a terminal: latency, bound, gap, baselines, sets, shares of time, and the steps that take
 * longest, or all of them. */
void weft_shard_report_text(const weft_shard_report *r, bool with_layers, int width, FILE *to);
/* What `weft shard --json` prints first: as weft_report_result. */
weft_doc *weft_shard_report_result(const weft_shard_report *r, weft_arena *a);
/* Puts "baselines", "sets", "steps" and "times" into a map: what a report shows, as numbers.
 * Without a plan the last three are null. */
void weft_shard_report_put(const weft_shard_report *r, weft_doc *map, weft_arena *a);
/* Chrome trace JSON, one process a set: its members do the same at the same time. */
weft_doc *weft_shard_report_trace(const weft_shard_report *r, weft_arena *a);

/* --- training -------------------------------------------------------------------------------- */

/* Everything a report of a training plan shows. */
typedef struct weft_train_report {
    const weft_training *problem;
    const weft_train_solution *solution;
    const weft_plan_origin *origin;
    const weft_train_solution *equal; /* of the solver `equal`; NULL: not set beside it */
} weft_train_report;

/* How many times as fast a step is as that of the plan for equal devices; NAN: one has none. */
double weft_train_speed_up(const weft_train_report *r);
/* For a terminal: step, bound and what binds, a table of stages, timeline and memory in characters,
 * `width` columns wide. with_all: every stage with its devices, not only the first ones. */
void weft_train_report_text(const weft_train_report *r, bool with_all, int width, FILE *to);
/* What `weft train --json` prints first: as weft_report_result. */
weft_doc *weft_train_report_result(const weft_train_report *r, weft_arena *a);
/* Puts what the report shows into a map, as numbers; without a plan most of it is null. */
void weft_train_report_put(const weft_train_report *r, weft_doc *map, weft_arena *a);
/* Chrome trace JSON, one process a stage: its devices do the same at the same time. */
weft_doc *weft_train_report_trace(const weft_train_report *r, weft_arena *a);

/* --- training plans under Piper's objective --------------------------------------------------- */

/* Everything a report of such a plan shows. */
typedef struct weft_piper_report {
    const char *model; /* as given */
    const weft_piper *problem;
    const weft_piper_solution *solution;
    const weft_piper_needs *needs; /* without a plan; NULL: not known */
} weft_piper_report;

/* For a terminal: time per sample, bound, what was searched, and a table of stages; with_nodes adds
 * the nodes of each stage and their modes. Without a plan: the reason, and what would do. */
void weft_piper_report_text(const weft_piper_report *r, bool with_nodes, int width, FILE *to);
/* Puts "limits", "search", "stages" and "needs" into a map; what there is not is null. */
void weft_piper_report_put(const weft_piper_report *r, weft_doc *map, weft_arena *a);
/* The decisions; NULL without a plan. */
weft_doc *weft_piper_plan_doc(const weft_piper_report *r, weft_arena *a);

/* --- accelerators for training ---------------------------------------------------------------- */

/* For a terminal: the design in words, area and power, what it is worth, proof, networks, the front
 * (with_all: all of it, else the first rows), sensitivity. `width` columns wide. */
void weft_mine_report_text(const weft_mine_report *r, bool with_all, int width, FILE *to);
/* What `weft mine --json` prints first: as weft_report_result. */
weft_doc *weft_mine_report_result(const weft_mine_report *r, weft_arena *a);
weft_doc *weft_fleet_report_result(const weft_fleet_report *r, weft_arena *a);
/* The front as comma-separated values. */
void weft_mine_report_csv(const weft_mine_report *r, FILE *to);
/* For a terminal: throughput, power, bound, stages (with_all: every one), designs. */
void weft_fleet_report_text(const weft_fleet_report *r, bool with_all, int width, FILE *to);

/* The fronts of what a study holds, for a terminal and as a document (schema weft.study/1). */
void weft_study_text(const weft_study_part *part, int n_parts, bool with_all, int width, FILE *to);
weft_doc *weft_study_doc(const weft_study_part *part, int n_parts, weft_arena *a);

/* --- two plans side by side ------------------------------------------------------------------ */

/* For a terminal, `width` columns wide: at most `top` stretches of what moved. */
void weft_diff_text(const weft_diff *d, int top, int width, FILE *to);
/* All of it (schema weft.diff/1: docs/formats.md). */
weft_doc *weft_diff_doc(const weft_diff *d, weft_arena *a);
/* What moved, as comma-separated values. */
void weft_diff_csv(const weft_diff *d, FILE *to);

/* --- explanations ---------------------------------------------------------------------------- */

/* Everything `weft explain` shows. */
typedef struct weft_explanation {
    const char *plan, *kind; /* the file; "place", "shard" or "train" */
    const weft_plan_origin *origin;
    bool is_period; /* the value is seconds for an item, not of a run */
    const weft_proof *proof;
    const weft_why *why;
    const char *const *task_name; /* what the tasks of reasons are called */
    const char *solver;           /* that solved for upgrades */
    int64_t seed, steps;
    double limit_s;             /* of a solve */
    const weft_priced *upgrade; /* NULL: none were asked for */
    int n_upgrades, n_shown;    /* best first; how many of them are shown */
    const weft_doubt *doubt;    /* NULL: not asked for */
} weft_explanation;

/* For a terminal: why the value, why the bound, upgrades in a table, errors of costs. */
void weft_explanation_text(const weft_explanation *e, int width, FILE *to);
/* The same as a document (schema weft.explain/1). */
weft_doc *weft_explanation_doc(const weft_explanation *e, weft_arena *a);

/* --- the page -------------------------------------------------------------------------------- */

/* What a page shows besides the report. */
typedef struct weft_page_more {
    const weft_graph *graph;       /* the network; NULL: a file of tasks */
    const weft_platform *platform; /* NULL likewise */
    const weft_why *why;           /* what bound and value are made of; NULL: not shown */
    const weft_doc *compare;       /* what `weft compare --json` printed; NULL */
    const weft_doc *explain;       /* what `weft explain --json` printed; NULL */
    const char *command;           /* lines that make the page again; NULL: not known */
    const char *version;           /* of weft; NULL: not shown */
} weft_page_more;

/* Everything on the page, as data (schema weft.page/1: docs/formats.md). Reports of plans have an
 * origin here. */
weft_doc *weft_report_page(const weft_report *r, const weft_page_more *more, weft_arena *a);
weft_doc *weft_shard_report_page(const weft_shard_report *r, const weft_page_more *more,
                                 weft_arena *a);
weft_doc *weft_train_report_page(const weft_train_report *r, const weft_page_more *more,
                                 weft_arena *a);
weft_doc *weft_mine_report_page(const weft_mine_report *r, const weft_page_more *more,
                                weft_arena *a);
weft_doc *weft_fleet_report_page(const weft_fleet_report *r, const weft_page_more *more,
                                 weft_arena *a);
/* The page itself: a fixed file with the data in it. */
void weft_page_html(const weft_doc *page, weft_arena *a, FILE *to);
/* Drawings for papers; false: the page has none of that kind. */
bool weft_page_timeline_svg(const weft_doc *page, FILE *to);
bool weft_page_graph_svg(const weft_doc *page, FILE *to);
/* What the page shows of each node, as notes for a copy of the ONNX file (weft_model_annotate):
 * device, start and time; set and split; or stage. part: [nodes of g] the node of the page that a
 * node of the network belongs to, -1: none. NULL if the page has no network. In `a`. */
const weft_notes *weft_page_notes(const weft_doc *page, const weft_graph *g, const int *part,
                                  weft_arena *a);
/* One of the "tables" of the page as comma-separated values. */
void weft_page_table_csv(const weft_doc *table, FILE *to);

/* Devices, links and the matrix of bandwidths of a platform. */
void weft_platform_text(const weft_platform *p, int width, FILE *to);
weft_doc *weft_platform_doc(const weft_platform *p, weft_arena *a);

#ifdef __cplusplus
}
#endif
#endif
