/* SPDX-License-Identifier: MIT */
/* What people and programs read: summaries as text and as JSON. */
#ifndef WEFT_REPORT_H
#define WEFT_REPORT_H

#include "explain.h"
#include "mine.h"
#include "piper.h"
#include "place.h"
#include "serve.h"
#include "shard.h"
#include "train.h"
#include "worth_serve.h"

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
/* Sizes that depend on the data and were assumed, by name. */
weft_doc *weft_assumed_doc(const weft_graph *graph, weft_arena *a);
/* The kernels of a model that was opened with software fused or flash. */
void weft_kernels_text(const weft_model *m, weft_software s, int width, weft_arena *a, FILE *to);
weft_doc *weft_kernels_doc(const weft_model *m, weft_software s, weft_arena *a);

/* --- plans ----------------------------------------------------------------------------------- */

/* Everything a report of a plan shows. */
/* What a plan could choose (kind/choices.c), and what came of it. */
typedef struct weft_report_choice {
    const char *name;    /* "16", "24 + 8" */
    double value, bound; /* of an item: a sample, or the batch; value NAN: no plan */
    bool is_taken;
} weft_report_choice;

typedef struct weft_report {
    const weft_problem *problem;
    const weft_problem *whole; /* of the batch in one piece; the same unless it is cut in shares */
    const weft_platform *platform; /* NULL: a file of tasks */
    const weft_solution *solution;
    const weft_plan_origin *origin;
    double best_single_s;    /* value of the best single device; NAN if no device can do all */
    const char *best_single; /* its name, or NULL */
    double heft_s;           /* value of HEFT's plan; NAN if it has none */
    double replicas_s;       /* of a stream through replicas of the whole network; NAN: none */
    int n_replicas;
    double samples; /* of an item: the batch; NAN: not known */
    int n_choices;  /* known to those who made the plan */
    const weft_report_choice *choice;
} weft_report;

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
    const weft_shard_problem *problem;
    const weft_shard_solution *solution;
    const weft_plan_origin *origin;
    int n_baselines;
    const weft_shard_baseline *baseline;
} weft_shard_report;

/* How much lower the value of the plan is than that of a baseline, as a share of the latter;
 * negative: higher; NAN: one of them has none. */
double weft_shard_reduction(const weft_shard_report *r, const weft_shard_baseline *b);
/* --- training -------------------------------------------------------------------------------- */

/* Everything a report of a training plan shows. */
typedef struct weft_train_report {
    const weft_train_problem *problem;
    const weft_train_solution *solution;
    const weft_plan_origin *origin;
    const weft_train_solution *equal; /* of the solver `equal`; NULL: not set beside it */
} weft_train_report;

/* How many times as fast a step is as that of the plan for equal devices; NAN: one has none. */
double weft_train_speed_up(const weft_train_report *r);
/* --- serving --------------------------------------------------------------------------------- */

/* Everything a report of a serving plan shows. */
typedef struct weft_serve_report {
    const weft_serve_problem *problem;
    const weft_serve_solution *solution;
    const weft_plan_origin *origin;
} weft_serve_report;

/* What weft explain found of such a plan: value, bound, what binds, and n_shown upgrades of n. */
typedef struct weft_serve_explanation {
    const char *plan; /* the file */
    const weft_serve_report *report;
    const weft_serve_worth *worth;
    int n, n_shown;
} weft_serve_explanation;

/* --- training plans under Piper's objective -------------------------------------------------- */

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

/* --- accelerators for training --------------------------------------------------------------- */

/* What designs of one device and of the stages of a pipeline are asked for alike. */
typedef struct weft_asked_network {
    const char *name;
    double batch, weight;
    uint64_t hash;
} weft_asked_network;

typedef struct weft_design_asked {
    const weft_template *t;
    weft_metric metric;
    const weft_limits *limits;
    double least_throughput;
    int n;
    const weft_asked_network *network;
    const char *unit, *dtype, *optimizer;
    const weft_model_options *options;
} weft_design_asked;

weft_design_asked weft_asked_of_device(const weft_mine_report *r, weft_arena *a);
weft_design_asked weft_asked_of_pipeline(const weft_design_pipeline_report *r, weft_arena *a);

/* The front as comma-separated values. */
void weft_mine_report_csv(const weft_mine_report *r, FILE *to);
/* The fronts of what a study holds, for a terminal and as a document (schema weft.study/1). */
void weft_study_text(const weft_study_part *part, int n_parts, bool with_all, int width, FILE *to);
weft_doc *weft_study_doc(const weft_study_part *part, int n_parts, weft_arena *a);

/* --- two plans side by side ------------------------------------------------------------------ */

/* Something of a plan in words: an option, a set, a stage. Those of two plans with equal keys are
 * set beside each other. */
typedef struct weft_side_text {
    const char *key, *name, *text; /* text NULL: none */
} weft_side_text;

typedef struct weft_side_number {
    const char *key, *name; /* for programs, for people */
    const char *unit;       /* "s", "B", "J", "W", "mm2", "1/s", "x", "%" (a share), "count",
                               "units" */
    double value;           /* NAN: none */
} weft_side_number;

/* A device, a stage (train, pipeline) or a network (mine). */
typedef struct weft_side_place {
    const char *name;
    const double *value; /* [n_columns] NAN: it has no such thing */
} weft_side_place;

/* The part of an item that runs on a place. */
typedef struct weft_side_part {
    int place;
    double seconds;
} weft_side_part;

/* A task, step or unit. It is done as in the other plan if place and way are the same there. */
typedef struct weft_side_item {
    const char *name, *kind; /* kind: operator, or NULL */
    const char *at;          /* for people: "gpu0", "set 0 r=4 c=2", "stage 1" */
    const char *place, *way; /* equal texts: equal places, and ways to do it there */
    double seconds, start_s; /* start_s NAN: not compared */
    int n_parts, n_before;
    const weft_side_part *part; /* they add up to the time of the places; or none */
    const int *before;          /* neighbours of lower number */
} weft_side_item;

/* Something that is sent, and the items that make it or read it there. */
typedef struct weft_side_transfer {
    const char *key;
    double bytes;
    int n_items;
    const int *item;
} weft_side_transfer;

/* What two plans of one kind, or two designs, are compared by. */
typedef struct weft_side {
    weft_arena *a; /* of all that the kind adds */
    /* of everybody who compares */
    const char *file;               /* what people call the plan */
    const weft_plan_origin *origin; /* of designs: models, template, solver and seed */
    const weft_platform *platform;  /* NULL: a file of tasks, or a design */
    double samples;                 /* that its value is of; NAN: not known */
    /* of the kind */
    const char *kind, *none; /* "place"; "no plan" */
    const char *item_name;   /* what moves: "task", "step", "unit"; nothing does of designs */
    const weft_proof *proof;
    uint64_t problem_hash;
    const char *value_name, *unit; /* "latency", "step", "throughput" ...; "s", "samples/s" ... */
    bool is_max, is_design;        /* more is better, and bounds are above; designs of weft mine */
    double span_s;                 /* of the starts of items */
    WEFT_VEC(weft_side_text) settings;
    WEFT_VEC(weft_side_text) decisions; /* sets, schedule, stages */
    WEFT_VEC(weft_side_number) figures; /* of the whole plan */
    WEFT_VEC(weft_side_number) links;   /* seconds of transfers */
    WEFT_VEC(weft_side_number) chain;   /* parts of the chain that explains the value: their sum */
    const char *places;                 /* "devices", "stages", "networks" */
    int n_columns;
    const weft_side_number *column; /* what is known of a place; values are not used */
    WEFT_VEC(weft_side_place) place;
    WEFT_VEC(weft_side_item) item;
    WEFT_VEC(weft_side_transfer) transfers;
} weft_side;

/* What kinds know of a plan; what is of everybody is there. */
void weft_place_side(const weft_problem *p, const weft_solution *s, weft_side *out);
void weft_shard_side(const weft_shard_problem *p, const weft_shard_solution *s, weft_side *out);
void weft_train_side(const weft_train_problem *p, const weft_train_solution *s, weft_side *out);
void weft_serve_side(const weft_serve_problem *p, const weft_serve_solution *s, weft_side *out);
void weft_mine_side(const weft_mine_report *r, weft_side *out);
void weft_design_pipeline_side(const weft_design_pipeline_report *r, weft_side *out);

/* Below, [0] is of plan A and [1] of plan B; NULL and NAN: it has no such thing. */

/* Something that differs, in words. */
typedef struct weft_diff_row {
    const char *name, *text[2];
} weft_diff_row;

/* A number of both, equal or not. */
typedef struct weft_diff_figure {
    const char *key, *name, *unit;
    double value[2];
} weft_diff_figure;

/* A place. Where items have parts, its time is taken apart: that of A is left_s + stay_s[0] +
 * only_s[0], that of B is came_s + stay_s[1] + only_s[1]. */
typedef struct weft_diff_place {
    const char *name;
    const double *value[2];      /* [n_columns] or NULL */
    double left_s, came_s;       /* items that run elsewhere in B; that ran elsewhere in A */
    double stay_s[2], only_s[2]; /* items in both plans, here; items the other does not have */
} weft_diff_place;

/* An item that is not where it was, or not done as it was. */
typedef struct weft_diff_move {
    const char *name, *kind;
    const char *at[2];
    double seconds[2];
    double effect_s;    /* on the time of places: both if it moved, their difference if not */
    int n_transfers[2]; /* that it takes part in and the other plan does not have */
    double bytes[2];    /* of these */
    int stretch;
} weft_diff_move;

/* Neighbours that moved from one place to another, counted together. */
typedef struct weft_diff_stretch {
    int first, n; /* of `move` */
    double seconds[2], effect_s;
    int n_transfers[2]; /* that any of them takes part in, once each */
    double bytes[2];
} weft_diff_stretch;

typedef struct weft_diff {
    weft_arena *a;
    const weft_side *side;
    const char *value_name, *unit;
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
    bool has_parts;       /* items have: transfers and times of places say who is what */
    WEFT_VEC(weft_diff_row) settings;   /* how the problems and searches differ */
    WEFT_VEC(weft_diff_row) decisions;  /* that differ */
    WEFT_VEC(weft_diff_figure) figures; /* of the whole plan */
    WEFT_VEC(weft_diff_figure) links;   /* those that carry something */
    WEFT_VEC(weft_diff_figure) chain;
    WEFT_VEC(weft_diff_place) places;
    int n_moves, n_stretches;
    const weft_diff_move *move;       /* stretch by stretch, in the order of B's items */
    const weft_diff_stretch *stretch; /* by falling effect */
    int n_stay;                       /* in both and where they were */
    int n_shifted;                    /* of these: start at another time */
    double stay_s[2];
    int n_only[2];
    const char *const *only[2]; /* items of one plan, by name */
    int n_transfers[2];         /* of the whole plan, that the other does not have */
} weft_diff;

/* Items, places and links are matched by name. Both sides are of one kind. All in `a`; the sides
 * must live as long. */
void weft_diff_plans(const weft_side side[2], weft_arena *a, weft_diff *out);

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
    double limit_s;                      /* of a solve */
    const weft_upgrade_value *upgrade;   /* NULL: none were asked for */
    int n_upgrades, n_shown;             /* best first; how many of them are shown */
    weft_upgrade_base base;              /* what they are held against */
    const weft_sensitivity *sensitivity; /* NULL: not asked for */
} weft_explanation;

/* For a terminal: why the value, why the bound, upgrades in a table, errors of costs. */
void weft_explanation_text(const weft_explanation *e, int width, FILE *to);
/* The same as a document (schema weft.explain/1). */
weft_doc *weft_explanation_doc(const weft_explanation *e, weft_arena *a);

/* --- the page -------------------------------------------------------------------------------- */

/* What a page shows besides the report. */
typedef struct weft_page_more {
    bool is_brief;                 /* no page: neither graph nor origin are needed */
    const weft_graph *graph;       /* the network; NULL: a file of tasks */
    const weft_graph *network;     /* what is assumed of it is told, on brief pages too; or NULL */
    const weft_platform *platform; /* NULL likewise */
    const weft_why *why;           /* what bound and value are made of; NULL: not shown */
    const weft_doc *compare;       /* what `weft compare --json` printed; NULL */
    const weft_doc *explain;       /* what `weft explain --json` printed; NULL */
    const weft_doc *run;           /* what `weft run --json` printed; NULL */
    const char *command;           /* lines that make the page again; NULL: not known */
    const char *version;           /* of weft; NULL: not shown */
} weft_page_more;

/* The document of a plan, which every kind fills and every writer reads (document.h): facts with
 * units, tables, timeline, memory, graph, where it comes from. */
typedef struct weft_page weft_page;

/* Of a report of the kind: weft_report, weft_shard_report ...; of designs weft_mine_report,
 * weft_design_pipeline_report. In `a`. */
weft_page *weft_place_facts(const void *report, const weft_page_more *more, weft_arena *a);
weft_page *weft_shard_facts(const void *report, const weft_page_more *more, weft_arena *a);
weft_page *weft_serve_explanation_page(const weft_serve_explanation *e, weft_arena *a);
weft_page *weft_serve_facts(const void *report, const weft_page_more *more, weft_arena *a);
weft_page *weft_train_facts(const void *report, const weft_page_more *more, weft_arena *a);
weft_page *weft_mine_facts(const void *report, const weft_page_more *more, weft_arena *a);
weft_page *weft_design_pipeline_facts(const void *report, const weft_page_more *more,
                                      weft_arena *a);

/* For a terminal, `width` columns wide: facts, tables, the chain that explains the value, and charts
 * of timeline and memory in characters. with_all: every row of every table. */
void weft_write_text(const weft_page *g, bool with_all, int width, FILE *to);
/* Chrome trace JSON, which Perfetto opens: a process for each device, set or stage, rows for links,
 * flow arrows from producer to reader. */
weft_doc *weft_write_trace(const weft_page *g, weft_arena *a);
/* What the command that made the plan prints as JSON but "seconds", "peak_rss_bytes" and "plan"
 * (schema weft.result/1). */
weft_doc *weft_write_result(const weft_page *g);
/* Everything on the page, as data (schema weft.page/1: docs/formats.md). */
weft_doc *weft_write_page(const weft_page *g);
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
