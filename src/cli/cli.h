/* SPDX-License-Identifier: MIT */
/* The commands and what they share: flags from option tables, help, output. */
#ifndef WEFT_CLI_H
#define WEFT_CLI_H

#include "weft/base.h"
#include "weft/model.h"

/* Exit codes of the program. */
enum { WEFT_EXIT_DONE = 0, WEFT_EXIT_NO = 1, WEFT_EXIT_WRONG = 2, WEFT_EXIT_INTERNAL = 3 };

typedef struct weft_command {
    const char *name, *summary;
    const char *operands;       /* "MODEL" */
    const char *description;    /* paragraphs of the help */
    const char *examples;       /* lines of the help */
    const weft_option *options; /* flags, as --name */
    size_t options_size;
    int min_operands, max_operands;
    /* *code is WEFT_EXIT_DONE when it is called. */
    weft_status (*run)(const void *options, const char *const *operand, int n_operands, int *code);
} weft_command;

extern const weft_command weft_cmd_check, weft_cmd_compare, weft_cmd_diff, weft_cmd_explain,
    weft_cmd_inspect, weft_cmd_list, weft_cmd_mine, weft_cmd_place, weft_cmd_report, weft_cmd_shard,
    weft_cmd_train;

/* Reads a command line: fills the options and lists the operands. Help and version are the
 * caller's business. "-o X" is short for "--output X", "-q" for "--quiet", "-v" for "--verbose"; a
 * text flag given twice is joined by ','. */
WEFT_CHECKED weft_status weft_args_read(const weft_command *c, char **argv, int argc, void *options,
                                        const char **operand, int *n_operands, weft_arena *a);
void weft_help_command(const weft_command *c, int width, FILE *to);
/* The same as a section of docs/cli.md. */
void weft_help_markdown(const weft_command *c, FILE *to);

/* --- terminals (terminal.c) --- */

/* Does what goes to this file, or to standard output if path is empty or NULL, go to a terminal? */
bool weft_is_for_terminal(const char *path);
/* Columns for a report that goes to this file, or to standard output if path is empty or NULL:
 * those of the terminal, 60 to 120; 80 where there is none. */
int weft_report_width(const char *path);
/* Writes to standard output, on a terminal with colours for what is proved, open or wrong. The text
 * ends with a NUL behind its n bytes, or it is written as it is. False: it could not be written. */
bool weft_terminal_print(const char *text, size_t n);
/* "who: message" on standard error. */
void weft_terminal_complain(const char *who, const char *message);
/* One line of progress on standard error, which replaces the one before; the end wipes it. Only if
 * it is shown. The text is ASCII. */
bool weft_progress_is_shown(void);
void weft_progress(const char *text);
void weft_progress_end(void);

/* --- ends that nobody planned (signals.c) --- */

/* A signal that asks the program to end leaves no temporary files; a file that shrinks and a lack
 * of memory are one line and an exit code. Called once, at first. */
void weft_signals_handle(void);
/* From now on this signal ends the program, as it does at first. */
void weft_end_on(int signal_number);

/* Writes a result to a file, whole or not at all, or to standard output if path is empty. */
WEFT_CHECKED weft_status weft_emit(const char *path, const char *text, size_t n);

/* Flags of all commands that open a model. */
typedef struct weft_model_flags {
    int64_t batch;
    const char *dim, *dtype, *optimizer;
    bool train;
} weft_model_flags;

/* Those of all, and those of commands that also know training steps. */
#define WEFT_SHAPE_FLAGS(type)                                                                     \
    {WEFT_INT(type, flags.batch), 0, 0, 1e9, "batch size; 0: as in the file, or 1", NULL, NULL},   \
        {WEFT_TEXT(type, flags.dim),                                                               \
         0,                                                                                        \
         0,                                                                                        \
         0,                                                                                        \
         "sizes of symbolic dimensions, NAME=N[,NAME=N]; may be repeated",                         \
         "",                                                                                       \
         NULL},                                                                                    \
    {                                                                                              \
        WEFT_TEXT(type, flags.dtype), 0, 0, 0,                                                     \
            "element type of all floating-point tensors (f32, f16, bf16, ...)", "", NULL           \
    }

#define WEFT_MODEL_FLAGS(type)                                                                     \
    WEFT_SHAPE_FLAGS(type),                                                                        \
        {WEFT_FLAG(type, flags.train), 0, 0, 1, "add backward and optimizer nodes", NULL, NULL},   \
    {                                                                                              \
        WEFT_TEXT(type, flags.optimizer), 0, 0, 0, "optimizer of the training step", "adam",       \
            "sgd|momentum|adam"                                                                    \
    }

/* Flags of commands that put a network on a platform. */
typedef struct weft_case_flags {
    const char *on, *goal, *semantics, *format, *deadline;
    double min_throughput;
    bool contiguous, mix;
} weft_case_flags;

#define WEFT_CASE_FLAGS(type)                                                                        \
    {WEFT_TEXT(type, where.on),                                                                      \
     0,                                                                                              \
     0,                                                                                              \
     0,                                                                                              \
     "platform: a file, or a preset (weft list platforms)",                                          \
     "",                                                                                             \
     NULL},                                                                                          \
        {WEFT_TEXT(type, where.goal), 0, 0, 0, "what to optimise", "latency", "latency|throughput"}, \
        {WEFT_TEXT(type, where.deadline), 0, 0, 0, "the longest latency allowed (10ms)", "", NULL},  \
        {WEFT_REAL(type, where.min_throughput),                                                      \
         0,                                                                                          \
         0,                                                                                          \
         1e18,                                                                                       \
         "the least throughput allowed, in items a second; 0: any",                                  \
         NULL,                                                                                       \
         NULL},                                                                                      \
        {WEFT_FLAG(type, where.contiguous),                                                          \
         0,                                                                                          \
         0,                                                                                          \
         1,                                                                                          \
         "throughput: the tasks of each device form a pipeline stage",                               \
         NULL,                                                                                       \
         NULL},                                                                                      \
        {WEFT_FLAG(type, where.mix),                                                                 \
         0,                                                                                          \
         0,                                                                                          \
         1,                                                                                          \
         "throughput: items may take different ways (data parallel)",                                \
         NULL,                                                                                       \
         NULL},                                                                                      \
    {                                                                                                \
        WEFT_TEXT(type, where.format), 0, 0, 0, "read MODEL as another project's file: msr", "",     \
            NULL                                                                                     \
    }

/* Flags of commands that search. */
typedef struct weft_effort_flags {
    const char *time_limit;
    int64_t steps, seed, threads;
    bool is_silent; /* not a flag: set where nothing may be shown */
} weft_effort_flags;

#define WEFT_USUAL_LIMIT "10s"
#define WEFT_SHARD_LIMIT "50s"
#define WEFT_TRAIN_LIMIT "10s"
#define WEFT_MINE_LIMIT "60s"

/* usual: the time limit where none is given, one of the above. */
#define WEFT_EFFORT_FLAGS(type, usual)                                                             \
    {WEFT_TEXT(type, effort.time_limit),                                                           \
     0,                                                                                            \
     0,                                                                                            \
     0,                                                                                            \
     "stop searching after this time: 500ms, 1min (default: " usual ", or none with --steps)",     \
     "",                                                                                           \
     NULL},                                                                                        \
        {WEFT_INT(type, effort.steps),                                                             \
         0,                                                                                        \
         0,                                                                                        \
         1e15,                                                                                     \
         "stop after so many steps of search; the same steps give the same answer; 0: no limit",   \
         NULL,                                                                                     \
         NULL},                                                                                    \
        {WEFT_INT(type, effort.seed), 1, 0, 1e15, "seed of randomised solvers", NULL, NULL},       \
    {                                                                                              \
        WEFT_INT(type, effort.threads), 1, 1, 1024, "threads; the answer does not depend on it",   \
            NULL, NULL                                                                             \
    }

/* What is shown while a search runs. */
typedef struct weft_watch {
    double begin_s, shown_s;
    bool has_shown;
} weft_watch;

struct weft_run;
/* Fills a run (but its scratch memory) and lets Ctrl-C stop it; weft_effort_end undoes that.
 * `usual` is the time limit where the flags have none. */
WEFT_CHECKED weft_status weft_effort_read(const weft_effort_flags *f, const char *usual,
                                          weft_watch *w, struct weft_run *out);
/* Wipes what was shown; Ctrl-C still asks for what there is. */
void weft_effort_wipe(weft_watch *w);
void weft_effort_end(weft_watch *w);
bool weft_effort_is_stopped(void); /* by Ctrl-C */

struct weft_request;
WEFT_CHECKED weft_status weft_case_flags_read(const weft_case_flags *w, const weft_model_flags *f,
                                              const char *model, weft_arena *a,
                                              struct weft_request *out);

/* The nearest of n known names is suggested. */
weft_status weft_unknown_solver(const char *name, const char *const *known, int n);
/* Most memory that the program has used so far. */
double weft_peak_rss_bytes(void);

/* Sharding, as far as shard and compare share it. flags NULL: without limit, for quick solvers. */
struct weft_shard_solver;
struct weft_shard_solution;
struct weft_sharding;
typedef struct weft_shard_effort {
    const weft_effort_flags *flags;
    const char *usual;              /* time limit */
    const struct weft_proof *floor; /* of weft_shard_bound, which takes time with many devices */
} weft_shard_effort;

WEFT_CHECKED weft_status weft_shard_run(const struct weft_shard_solver *s,
                                        const struct weft_sharding *p, const weft_shard_effort *f,
                                        weft_arena *a, struct weft_shard_solution *out);
bool weft_shard_has_plan(const struct weft_shard_solution *s);
/* The plans that every answer is set beside, of the solvers that apply. */
struct weft_shard_report;
WEFT_CHECKED weft_status weft_shard_baselines(const struct weft_sharding *p,
                                              const struct weft_proof *floor, weft_arena *a,
                                              struct weft_shard_report *r);
/* Answers that are held against each other and against the baselines of the report: a contradiction
 * is an internal error (weft_cross_check). */
typedef struct weft_shard_answers {
    const struct weft_shard_report *report;     /* problem, origin, baselines */
    const struct weft_shard_solution *solution; /* [n] */
    const char *const *name;                    /* [n] of the solvers */
    int n;
} weft_shard_answers;

WEFT_CHECKED weft_status weft_shard_cross_check(const weft_shard_answers *x, weft_arena *a);
/* Solvers that a plan is set beside: NULL-terminated names. */
extern const char *const weft_shard_beside[];

/* weft compare --task shard. */
struct weft_shard_request;
typedef struct weft_shard_comparing {
    const struct weft_shard_request *request;
    const weft_effort_flags *effort;
    bool json, csv;
    const char *output;
} weft_shard_comparing;

WEFT_CHECKED weft_status weft_compare_shards(const weft_shard_comparing *o, weft_arena *a,
                                             int *code);

/* What is wrong with a plan, a line each. */
struct weft_verdict;
void weft_print_wrong(const struct weft_verdict *v, const char *plan, FILE *to);

/* Pages: weft report, and --report of the commands that make plans. */
struct weft_ask;
struct weft_shard_ask;
struct weft_train_ask;
struct weft_plan_origin;
/* The file without its folder: pages name no place of this machine. */
const char *weft_base_name(const char *path);
/* The commands that make a plan and its page again. plan, page: their names. In `a`. */
typedef struct weft_remake {
    const struct weft_plan_origin *origin;
    const char *plan, *page;
} weft_remake;
const char *weft_remake_place(const weft_remake *m, const struct weft_ask *ask, weft_arena *a);
const char *weft_remake_shard(const weft_remake *m, const struct weft_shard_ask *ask,
                              weft_arena *a);
const char *weft_remake_train(const weft_remake *m, const struct weft_train_ask *ask,
                              weft_arena *a);
struct weft_mine_report;
struct weft_fleet_report;
const char *weft_remake_mine(const weft_remake *m, const struct weft_mine_report *r, weft_arena *a);
const char *weft_remake_fleet(const weft_remake *m, const struct weft_fleet_report *r,
                              weft_arena *a);

/* Data of pages, with reasons; plan, page: names of the files, plan empty or NULL: not written. */
struct weft_case;
struct weft_report;
struct weft_shard_report;
struct weft_shard_case;
struct weft_train_report;
struct weft_train_case;
typedef struct weft_page_ask {
    const char *plan, *page;
    const weft_doc *compare, *explain; /* what these commands printed; NULL: not shown */
} weft_page_ask;
weft_doc *weft_place_page(const struct weft_report *r, const struct weft_case *c,
                          const weft_page_ask *ask, weft_arena *a);
weft_doc *weft_shard_page(const struct weft_shard_report *r, const struct weft_shard_case *c,
                          const weft_page_ask *ask, weft_arena *a);
weft_doc *weft_train_page(const struct weft_train_report *r, const struct weft_train_case *c,
                          const weft_page_ask *ask, weft_arena *a);
struct weft_mine_case;
weft_doc *weft_mine_page(const struct weft_mine_report *r, const struct weft_mine_case *c,
                         const weft_page_ask *ask, weft_arena *a);
weft_doc *weft_fleet_page(const struct weft_fleet_report *r, const weft_page_ask *ask,
                          weft_arena *a);
/* Writes a page, whole or not at all. */
WEFT_CHECKED weft_status weft_page_write(const weft_doc *page, const char *path, weft_arena *a);

/* weft train --objective step. */
struct weft_train_request;
typedef struct weft_train_flags {
    const struct weft_train_request *request;
    const char *solver;
    const weft_effort_flags *effort;
    const char *output, *trace, *report; /* empty: none */
    bool json, quiet, verbose;
} weft_train_flags;

WEFT_CHECKED weft_status weft_train_step(const weft_train_flags *f, weft_arena *a, int *code);

/* weft train --objective piper. */
typedef struct weft_piper_flags {
    const char *model;
    int64_t devices, microbatches, max_cuts;
    const char *memory, *bandwidth; /* empty: as in the file */
    const weft_effort_flags *effort;
    bool json, quiet, verbose;
} weft_piper_flags;

WEFT_CHECKED weft_status weft_train_piper(const weft_piper_flags *f, weft_arena *a, int *code);

/* weft mine MODEL... */
struct weft_mine_request;
typedef struct weft_mine_flags {
    const struct weft_mine_request *request;
    const char *solver, *dtype, *optimizer;
    const weft_effort_flags *effort;              /* steps: evaluations */
    int n_processes;                              /* that mpirun has started; 1 without it */
    int64_t sensitivity;                          /* draws; 0: none */
    const char *study, *output, *pareto, *report; /* empty: none */
    bool json, quiet, verbose;
} weft_mine_flags;

WEFT_CHECKED weft_status weft_mine_search(const weft_mine_flags *f, weft_arena *a, int *code);
/* weft mine MODEL... --stages N. */
WEFT_CHECKED weft_status weft_mine_pipeline(const weft_mine_flags *f, weft_arena *a, int *code);
/* Errors are not printed from now on: another process of this run does. */
void weft_mute(void);
/* weft mine --study FILE --show. */
WEFT_CHECKED weft_status weft_mine_show(const char *study, bool json, bool with_all,
                                        const char *output, weft_arena *a);

/* A stream that collects text, and its hand-over to weft_emit. */
typedef struct weft_collect {
    FILE *to;
    char *text;
    size_t n;
} weft_collect;

WEFT_CHECKED weft_status weft_collect_begin(weft_collect *c);
WEFT_CHECKED weft_status weft_collect_emit(weft_collect *c, const char *path);

/* weft place --pareto. */
typedef struct weft_pareto_options {
    const weft_effort_flags *effort;
    bool json;
    const char *output; /* empty: standard output */
} weft_pareto_options;

struct weft_problem;
struct weft_plan_origin;
WEFT_CHECKED weft_status weft_pareto_show(const struct weft_problem *p,
                                          const struct weft_plan_origin *origin,
                                          const weft_pareto_options *o, weft_arena *a, int *code);

/* The options of weft_model_open from those flags. */
WEFT_CHECKED weft_status weft_model_flags_read(const weft_model_flags *f, weft_arena *a,
                                               weft_model_options *out);

/* --- models with notes (annotate.c) --- */

struct weft_case;
struct weft_verdict;

typedef struct weft_annotate_ask {
    const char *model, *path; /* model: empty: as the plan says */
    FILE *to;                 /* what was done, in a line or two; NULL: nobody is told */
} weft_annotate_ask;

/* The model of a verified plan as an ONNX file with what the page shows on each node. */
WEFT_CHECKED weft_status weft_annotate_plan(const struct weft_case *c, const struct weft_verdict *v,
                                            const weft_doc *page, const weft_annotate_ask *ask,
                                            weft_arena *a);

#endif
