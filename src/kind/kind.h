/* SPDX-License-Identifier: MIT */
/* Plan kinds: a row for each (kinds.c), and what is done alike with all of them.
 *
 * 1. A row is a table of functions over what only the row knows: the request, the problem, the
 *    plan file and the solution of its kind pass through everybody else's hands as pointers.
 * 2. Commands, weft_verify, weft_resolve and weft_upgrade_values find everything through the row;
 *    nobody else asks which kind a plan is.
 * 3. A function that is NULL says that the kind has no such thing. */
#ifndef WEFT_KIND_H
#define WEFT_KIND_H

#include "deploy.h"
#include "mine.h"
#include "place.h"
#include "report.h"
#include "serve.h"
#include "shard.h"
#include "train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is asked for: a network on a platform, or a file of tasks that names its own devices. */
typedef struct weft_request {
    const char *model, *platform; /* platform NULL or empty for task files */
    const char *format;           /* of a file of tasks: "msr" for the dnn-partitioning JSON, "stg",
                                     "dot", "wfcommons"; NULL: as the file says */
    weft_model_options options;
    weft_constraints constraints;
    const char *machine; /* NULL, or the text that takes the place of the file of the platform (of
                            task files: of the model), whose folder and name it keeps */
} weft_request;

/* A network to be sharded over the accelerators of a platform. */
typedef struct weft_shard_request {
    const char *model, *platform;
    weft_model_options options;
    const char *semantics; /* "sequential": one step after the other; "branches": side by side;
                              "auto" or NULL: branches if no two accelerators are equal */
    bool is_contiguous;    /* a set runs one stretch of the steps; one after the other only */
    bool has_no_sharing;   /* no shards that rotate */
    const char *machine;   /* NULL, or the text of the platform: as in weft_request */
} weft_shard_request;

typedef struct weft_shard_case {
    weft_model *model;
    weft_platform *platform;
    weft_shard_problem *sharding;
    uint64_t model_hash, platform_hash;
} weft_shard_case;

WEFT_CHECKED weft_status weft_shard_case_open(const weft_shard_request *r, weft_shard_case *out);
void weft_shard_case_close(weft_shard_case *c);

/* A network to be trained on the devices of a platform. */
typedef struct weft_train_request {
    const char *model, *platform;
    weft_model_options options; /* batch: 0, that of a step is in `ask`; train: true */
    weft_train_constraints constraints;
    const char *machine; /* NULL, or the text of the platform: as in weft_request */
} weft_train_request;

typedef struct weft_train_case {
    weft_platform *platform;
    weft_train_problem *training;
    uint64_t model_hash, platform_hash;
} weft_train_case;

WEFT_CHECKED weft_status weft_train_case_open(const weft_train_request *r, weft_train_case *out);
void weft_train_case_close(weft_train_case *c);

/* Layers of a language model on nodes: a file of weft.serving/1. */
typedef struct weft_serve_request {
    const char *model;
} weft_serve_request;

/* Networks to be trained on an accelerator that is to be chosen. */
typedef struct weft_mine_network {
    const char *model; /* a file or a built-in model */
    /* samples of a step; 0: the largest power of two up to 64 with which training fits the memory
     * of the template, or 1 */
    int64_t batch;
    double weight; /* in the geometric mean */
} weft_mine_network;

typedef struct weft_mine_request {
    int n_networks;
    const weft_mine_network *network;
    weft_model_options options; /* batch: that of each network; train: true */
    const char *template_;      /* a preset or a file */
    /* "600mm2", "280W", or the name of a design of the template: no more than it takes. NULL or
     * empty: no limit, which one of them must have. */
    const char *area, *power;
    const char *memory; /* of a device: "32GiB"; NULL or empty: as the template says */
    weft_metric metric;
    weft_blend blend;
    double least_throughput; /* relative to the reference; 0: 0.5 per TDP, else none */
    int n_threads;
    bool has_forward; /* the networks without training too, for the search "inference" */
    const weft_design_pipeline *design_pipeline; /* devices of a pipeline; NULL: one device */
    bool is_per_stage; /* of a pipeline: a design for each stage, else one for all */
} weft_mine_request;

/* What a network takes, apart from any design. */
typedef struct weft_mine_need {
    double memory_bytes; /* that training holds at least */
    bool fits;           /* into the memory of the template */
    double macs;         /* of a step */
} weft_mine_need;

typedef struct weft_mine_case {
    weft_template *template_;
    weft_objective objective;   /* without reference_s and ranks */
    const weft_mine_need *need; /* [n_workloads] */
    weft_workload_maker maker;  /* valid while the case stays where it is */
    weft_model **trained, **plain;
    int n_threads;
    weft_arena *arena, *shop;
} weft_mine_case;

/* A network that does not fit into the memory of one device is searched for all the same, and
 * `need` says so: its parts would have to be spread, or results computed again. */
WEFT_CHECKED weft_status weft_mine_case_open(const weft_mine_request *r, weft_mine_case *out);
void weft_mine_case_close(weft_mine_case *c);

/* The same for the devices of a pipeline; batch and options.batch are those of the pipeline. */
typedef struct weft_design_pipeline_case {
    weft_template *template_;
    weft_design_pipeline_net **net;
    weft_design_pipeline_objective objective;
    weft_arena *arena;
} weft_design_pipeline_case;

WEFT_CHECKED weft_status weft_design_pipeline_case_open(const weft_mine_request *r,
                                                        weft_design_pipeline_case *out);
void weft_design_pipeline_case_close(weft_design_pipeline_case *c);

typedef struct weft_case {
    weft_model *model;       /* NULL for task files */
    weft_platform *platform; /* NULL for task files */
    weft_problem *problem;
    weft_problem *whole; /* of the batch in one piece, where the problem is of shares; else NULL */
    uint64_t model_hash, platform_hash;
} weft_case;

WEFT_CHECKED weft_status weft_case_open(const weft_request *r, weft_case *out);
void weft_case_close(weft_case *c);
/* The document of a file of tasks; of other projects' formats, as weft.tasks/1. */
WEFT_CHECKED weft_status weft_tasks_read(const weft_request *r, weft_arena *a,
                                         const weft_doc **out);

/* --- what all kinds have --------------------------------------------------------------------- */

/* What the reader of a plan asks for: model and platform, if not NULL, take the place of those that
 * the file names. */
typedef struct weft_named {
    const char *plan_path, *model, *platform;
} weft_named;

/* A problem that is open. */
typedef struct weft_opened {
    void *of_kind;                 /* weft_case, weft_shard_case, weft_train_case ... */
    const weft_graph *graph;       /* the network; NULL: there is none, or several */
    const weft_platform *platform; /* NULL: there is none */
    uint64_t model_hash, platform_hash, problem_hash; /* of designs 0 */
} weft_opened;

/* A plan file, as far as it can be read without its model. */
typedef struct weft_kind_file {
    const void *of_kind;            /* weft_plan_file, weft_shard_plan_file ... */
    const weft_plan_origin *origin; /* of designs: models, template, solver and seed */
    const weft_proof *proof;        /* as claimed */
    const weft_doc *measures;       /* as claimed; of designs NULL */
    const weft_doc *doc;
} weft_kind_file;

enum { WEFT_MOST_UNCHECKED = 16, WEFT_MOST_BESIDE = 8 };

/* The verdict on a plan file: one line for each thing that is wrong. */
typedef struct weft_check_result {
    const struct weft_kind *kind;
    weft_kind_file file;
    const void *request; /* of the kind: what the file is an answer to */
    weft_opened problem;
    /* What the simulator says: weft_solution, weft_shard_solution, weft_train_solution,
     * weft_mine_report, weft_design_pipeline_report; valid if has_solution. */
    void *solution;
    int n_wrong;
    bool is_bound_checked; /* the whole bound follows from certificates */
    bool has_solution;
    const char *const *wrong; /* at most 100 of them */
    /* Fields whose claims were neither found again nor compared: who made the plan, and what rests
     * on a search. Everything else was. */
    int n_unchecked;
    const char *unchecked[WEFT_MOST_UNCHECKED];
    double certified;    /* the part of the bound that certificates prove; the rest was found by a
                         search. Where more is better: no more than this without a search */
    bool has_space;      /* searches of this kind cover a part of the legal plans only */
    const char *outside; /* why the plan is none of that part; NULL: it is */
    const char *note;    /* what is right but should be known, a sentence; or NULL */
} weft_check_result;

/* Opens the model and the platform that the plan names (or the given ones, if not NULL; of a design
 * the template takes the place of the platform), recomputes legality, times and every claimed
 * number, for plans of all kinds. Everything returned belongs to `a`; *out is to be closed. A file
 * that cannot be read is an error, a wrong plan is a verdict. */
WEFT_CHECKED weft_status weft_verify(const char *plan_path, const char *model, const char *platform,
                                     weft_arena *a, weft_check_result *out);
void weft_check_result_close(weft_check_result *v);

/* What decisions that were made elsewhere are worth (a file of weft.decisions/1): as weft_verify,
 * but nothing is claimed. Wrong is what breaks a rule or exceeds a memory; a solution that is there
 * all the same has its value. The proof is that of the bound without search. */
WEFT_CHECKED weft_status weft_value_decisions(const char *path, const char *model,
                                              const char *platform, weft_arena *a,
                                              weft_check_result *out);

/* The network that a plan is about, node by node. */
typedef struct weft_case_nodes {
    const weft_graph *graph;
    const int *part;   /* [n_nodes] task, step or unit that the node is part of; -1: none */
    weft_model *model; /* that had to be opened for it, or NULL */
} weft_case_nodes;

/* Of a verified plan; source: the model. Plans without a network, of tasks, and designs are an
 * error. part is in `a`; *out is to be closed before the plan. */
WEFT_CHECKED weft_status weft_case_nodes_open(const weft_check_result *v, const char *source,
                                              weft_arena *a, weft_case_nodes *out);
void weft_case_nodes_close(weft_case_nodes *n);

/* A verified plan that is split into a folder: segments, manifest, settings of runtimes. */
WEFT_CHECKED weft_status weft_split_plan(const weft_check_result *v, const char *folder,
                                         weft_arena *a, weft_split_net *out);

/* --- the row --------------------------------------------------------------------------------- */

struct weft_wrongs;
struct weft_finding;

/* Files that the command lines of remake.c name. */
typedef struct weft_remake {
    const char *plan, *page;
    const weft_plan_origin *origin; /* NULL: nothing of it is hidden */
} weft_remake;

/* The file without its folder: pages name no place of this machine. */
const char *weft_baseline_name(const char *path);
/* The page of a plan; what `more` has but graph, platform, why and command_line is the caller's. */
weft_doc *weft_plan_page(const struct weft_kind *k, const weft_opened *p, const void *solution,
                         const void *report, const weft_remake *m, const weft_page_more *more,
                         weft_arena *a);
/* The report of a verified plan; in `a`. */
WEFT_CHECKED weft_status weft_kind_report(const weft_check_result *v, weft_arena *a, void **out);

/* Where a plan says that its tasks start. */
typedef struct weft_starts {
    int n;
    const double *start_s;
    double span_s; /* of the whole plan, once it is simulated */
} weft_starts;

typedef struct weft_solver_entry {
    const char *name, *summary;
} weft_solver_entry;

typedef struct weft_explain_request {
    const char *plan, *solver; /* the file; solver of upgrades */
    unsigned kinds;
    int n_shown;
    const weft_run *run; /* of each solve */
} weft_explain_request;

/* Below, `p` is an open problem and `solution` a solution of the kind. */
typedef struct weft_kind {
    const char *name, *command; /* "pipeline", "mine" */
    const char *item;           /* what is decided: "task" */
    const char *legal;          /* what is said of a plan that is right */
    bool is_max;                /* larger values are better, bounds are above */
    bool is_design;             /* a design of weft mine, no plan */
    const char *limit;          /* usual limit of the time of a search */
    int64_t steps;              /* of a solve of about a tenth of a second */
    size_t solution_size;

    /* files */
    weft_status (*read)(const char *path, weft_arena *a, weft_kind_file *out);
    /* The same of a document that is complete; NULL: decisions of others are not taken. */
    weft_status (*take)(const weft_doc *d, weft_arena *a, weft_kind_file *out);
    const void *(*request)(const weft_kind_file *f, const weft_named *by, weft_arena *a);
    weft_doc *(*ask)(const weft_opened *p, weft_arena *a); /* key "ask"; or NULL: it has none */

    /* problems. machine: NULL, or the text that takes the place of the file of the platform. */
    weft_status (*open)(const void *request, const char *machine, weft_arena *a, weft_opened *out);
    void (*close)(void *of_kind);
    /* The document of the platform, or of the file of tasks; in `a`. */
    weft_status (*machine)(const void *request, weft_arena *a, const weft_doc **out);
    const char *(*value_name)(const weft_opened *p); /* "latency"; of designs the unit */
    const char *const *(*names)(const weft_opened *p, weft_arena *a, int *n);
    weft_status (*nodes)(const weft_check_result *v, const char *source, weft_arena *a,
                         weft_case_nodes *out);

    /* searches */
    bool (*solver)(int i, weft_solver_entry *out); /* false: there are no more */
    /* Runs a solver, simulates and checks its plan. bound NULL: nobody knows one yet. */
    weft_status (*solve)(const weft_opened *p, const char *solver, weft_run *run,
                         const weft_proof *bound, weft_arena *a, void *solution);
    weft_proof *(*proof)(void *solution);
    /* Why a solver does not apply to the problem, in words; NULL: it does. */
    const char *(*unfit)(const weft_opened *p, const char *solver, weft_arena *a);
    /* The plan as a document; designs: of the report, NULL without one. */
    weft_doc *(*write)(const weft_opened *p, const void *solution, const weft_plan_origin *o,
                       weft_arena *a);

    /* checks. check NULL: by the functions below it. */
    void (*check)(struct weft_wrongs *w, weft_check_result *out);
    bool (*decide)(const weft_kind_file *f, const weft_opened *p, struct weft_wrongs *w,
                   void *solution);
    int (*violations)(const weft_opened *p, const void *solution, weft_violation *list, int most,
                      weft_arena *a);
    weft_status (*evaluate)(const weft_opened *p, void *solution, weft_arena *a);
    /* Memories and limits that the simulated plan exceeds. */
    void (*refuse)(const weft_opened *p, const void *solution, struct weft_wrongs *w);
    double (*value)(const weft_opened *p, const void *solution);
    weft_doc *(*measures)(const weft_opened *p, const void *solution, weft_arena *a);
    void (*floor)(const weft_opened *p, weft_arena *a,
                  weft_proof *out);                         /* the bound without search */
    void (*starts)(const void *solution, weft_starts *out); /* or NULL */
    void (*check_file)(struct weft_wrongs *w, weft_check_result *out); /* or NULL */
    void (*certify)(struct weft_wrongs *w, weft_check_result *out, struct weft_finding *f);

    /* explanations */
    void (*why)(const weft_opened *p, const void *solution, weft_arena *a, weft_why *out);
    weft_status (*sensitivity)(const weft_check_result *v, const char *solver,
                               const weft_sensitivity_options *o, weft_arena *a,
                               weft_sensitivity *out);
    /* Kinds whose values are no times: all that weft explain says, as a page that a terminal shows and
     * whose result is the document. kinds: bits 1 << weft_upgrade_kind; n_shown: 0: all. */
    weft_status (*explain)(const weft_check_result *v, const weft_explain_request *r, weft_arena *a,
                           weft_page **out);
    void (*side)(const weft_check_result *v, weft_side *out); /* what it is compared by */

    /* reports: weft_report, weft_shard_report, weft_train_report; of designs the solution itself.
     * report_begin, before the search: what a plan is set beside, and the bound that the search may
     * start with (its method is NULL if there is none). report_end, after it. run NULL: there was
     * no search, and there is no limit. */
    size_t report_size;
    weft_status (*report_begin)(const weft_opened *p, const weft_plan_origin *o,
                                const weft_run *run, weft_arena *a, void *report,
                                weft_proof *bound);
    weft_status (*report_end)(const weft_opened *p, const void *solution, const weft_run *run,
                              weft_arena *a, void *report);
    /* Claims of what the plan is set beside; returns their number, at most WEFT_MOST_BESIDE. */
    int (*beside)(const void *report, weft_claim *list);
    weft_page *(*facts)(const void *report, const weft_page_more *more, weft_arena *a);
    void (*dot)(const void *report, FILE *to); /* or NULL */
    /* A verified plan as a file of another program; or NULL. source: the model. */
    weft_status (*translate)(const weft_check_result *v, const char *source, const char *format,
                             weft_arena *a, const char **text);
    const char *(*command_line)(const void *report, const weft_remake *m, weft_arena *a);

    /* Where and when the nodes of a verified plan run, for weft split; NULL: it cannot be split. */
    weft_status (*deploy)(const weft_check_result *v, weft_arena *a, weft_deployment *out);
} weft_kind;

int weft_kind_count(void);
const weft_kind *weft_kind_at(int i);
const weft_kind *weft_kind_find(const char *name); /* NULL: none */
/* The kind of a plan file; a file that is of none is an error. */
WEFT_CHECKED weft_status weft_kind_of_file(const char *path, weft_arena *a, const weft_kind **out);
/* Is this a solver of the kind? */
bool weft_kind_has_solver(const weft_kind *k, const char *name);

/* Two plans to be set side by side, and their verdicts. */
typedef struct weft_pair {
    weft_check_result check[2];
    weft_side side[2]; /* valid while the pair stays where it is; of plans with nothing wrong */
} weft_pair;

/* Opens and verifies both as weft_verify does; those of different kinds are an error. All belongs
 * to `a`; *out is to be closed. */
WEFT_CHECKED weft_status weft_pair_open(const char *const path[2], const char *model,
                                        const char *platform, weft_arena *a, weft_pair *out);
void weft_pair_close(weft_pair *p);

/* --- solving again --------------------------------------------------------------------------- */

/* How the problem of a plan is solved again. */
typedef struct weft_whatif {
    const char *solver; /* NULL: the one of the plan */
    weft_run run;       /* seed, limit_s and steps of each solve; n_threads solves run side by side;
                           stop; the rest is not used */
    void (*told)(void *context, int n_done, int n); /* at first, and after each by any thread */
    void *context;
} weft_whatif;

/* Solves for the machine as it is and for each of the n upgraded ones, as the command of the plan
 * does with --on EDITED, and sets the plan beside it: an upgrade that the solver makes less of than
 * the plan does is worth what the plan is. out[n]: first by the gain that is proved, if there is one,
 * then by how far the bound moves, then by value, then as listed. Same bytes for any number of
 * threads, unless limit_s ends a solve. In `a`. */
typedef struct weft_upgrades {
    const weft_doc *machine; /* as it is */
    const weft_upgrade *upgrade;
    int n;
} weft_upgrades;

WEFT_CHECKED weft_status weft_upgrade_values(const weft_check_result *v, const weft_upgrades *u,
                                             const weft_whatif *how, weft_arena *a,
                                             weft_upgrade_base *base, weft_upgrade_value *out);

/* As weft_place_sensitivity, for kinds whose costs are not those of single tasks: what is in doubt
 * are the times of the devices and links of each entry of the platform file; samples change all of
 * them. The solver of the options does not count. */
WEFT_CHECKED weft_status weft_machine_sensitivity(const weft_check_result *v, const char *solver,
                                                  const weft_sensitivity_options *o, weft_arena *a,
                                                  weft_sensitivity *out);

#ifdef __cplusplus
}
#endif
#endif
