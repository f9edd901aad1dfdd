/* SPDX-License-Identifier: MIT */
/* The commands and what they share: flags from option tables, help, output. */
#ifndef WEFT_COMMAND_H
#define WEFT_COMMAND_H

#include <pthread.h>
#include <signal.h>

#include "base.h"
#include "model.h"

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

/* The array of commands, which ends with NULL, and the one of this name; NULL: there is none, and
 * the message suggests the nearest. */
extern const weft_command *const weft_commands[];
const weft_command *weft_command_find(const char *name);

/* Reads a command line: fills the options and lists the operands. Help and version are the
 * caller's business. "-o X" is short for "--output X", "-q" for "--quiet", "-v" for "--verbose"; of
 * flags that may be repeated the values are joined by ','. */
WEFT_CHECKED weft_status weft_args_read(const weft_command *c, char **argv, int argc, void *options,
                                        const char **operand, int *n_operands, weft_arena *a);
/* Can all files be written that the options name, and is none of them one that is read? */
WEFT_CHECKED weft_status weft_outputs_check(const weft_command *c, const void *options,
                                            const char *const *operand, int n, weft_arena *a);
/* The option of this flag (without "--"); NULL: there is none, and the message says so. */
const weft_option *weft_command_option(const weft_command *c, const char *name);
/* The name of a flag without "--", written to `to`, and what stands for its value in the help. */
const char *weft_flag_name(const weft_option *o, char to[64]);
const char *weft_flag_value(const weft_option *o, const char *name);
void weft_help_command(const weft_command *c, int width, FILE *to);
/* The same as a section of docs/cli.md. */
void weft_help_markdown(const weft_command *c, FILE *to);
/* The page of the manual, for troff (manual.c). */
void weft_help_manual(const weft_command *c, FILE *to);

/* --- who runs a command (host.c) ------------------------------------------------------------- */

/* The program, or a caller of the library. Where a function is NULL nobody listens. */
typedef struct weft_host {
    void *context;
    /* What a command prints. The text ends with a NUL behind its n bytes, or it is written as it
     * is. False: it could not be written. */
    bool (*print)(void *context, const char *text, size_t n);
    void (*complain)(void *context, const char *line); /* what is no answer */
    void (*mute)(void *context); /* errors are told already, by one process of this run */
    /* A line of progress, which replaces the one before; NULL wipes it. Called by any thread. */
    void (*show)(void *context, const char *line);
    /* The best value and bound so far, each time that one of them changes; by any thread. */
    void (*progress)(void *context, double value, double bound);
    /* A search begins (true) or ends: the program lets Ctrl-C stop it meanwhile. */
    void (*searches)(void *context, bool begins);
    const volatile sig_atomic_t *stop; /* not 0: the user wants what there is; NULL: never */
    /* A variable of the user's environment, or NULL; NULL: the caller has none. */
    const char *(*environment)(void *context, const char *name);
    int terminal_width; /* columns of the terminal printed to; 0: none */
    int n_processes;    /* that mpirun has started; 1 without it */
} weft_host;

/* The host of this thread while it runs a command, or one that nobody listens to. */
const weft_host *weft_host_now(void);
/* Runs a command with the words behind its name. *code: what the program exits with; set also if
 * there is an error. */
WEFT_CHECKED weft_status weft_command_run(const weft_command *c, const weft_host *host,
                                          char **argument, int n, int *code);

/* Does what goes to this file, or to standard output if path is empty or NULL, go to a terminal? */
bool weft_is_for_terminal(const char *path);
/* Columns for a report that goes to this file, or to standard output if path is empty or NULL:
 * those of the terminal; 80 where there is none. */
int weft_report_width(const char *path);
void weft_complain(const char *line);
/* One line of progress, if this host shows any; line NULL wipes it. The text is ASCII. */
void weft_progress(const weft_host *host, const char *line);

/* Writes a result to a file, whole or not at all, or to standard output if path is empty. */
WEFT_CHECKED weft_status weft_emit(const char *path, const char *text, size_t n);

/* Flags of all commands that open a model. */
typedef struct weft_model_flags {
    int64_t batch;
    const char *dim, *dtype, *optimizer, *software, *state;
    bool train;
} weft_model_flags;

#define WEFT_SOFTWARE_FLAG(type)                                                                   \
    {                                                                                              \
        WEFT_TEXT(type, flags.software), 0, 0, 0,                                                  \
            "which operators are one kernel, and what a launch takes; empty: as the platform "     \
            "says (see docs/costs.md)",                                                            \
            "", WEFT_SOFTWARE_WORDS                                                                \
    }

#define WEFT_DIM_HELP                                                                              \
    "size of a symbolic dimension, or assumed size of what depends on the data in the results of " \
    "a node, NAME=N[,NAME=N]; may be repeated"

/* Those of all, and those of commands that also know training steps. */
#define WEFT_BATCH_FLAG(type)                                                                      \
    {                                                                                              \
        WEFT_INT(type, flags.batch), 0, 0, 1e9, "batch size; 0: as in the file, or 1", NULL, NULL  \
    }
#define WEFT_SHAPE_FLAGS(type) WEFT_BATCH_FLAG(type), WEFT_OTHER_SHAPE_FLAGS(type)
#define WEFT_OTHER_SHAPE_FLAGS(type)                                                               \
    {WEFT_TEXT(type, flags.dim), 0, 0, 0, WEFT_DIM_HELP, "", NULL},                                \
        {WEFT_TEXT(type, flags.dtype),                                                             \
         0,                                                                                        \
         0,                                                                                        \
         0,                                                                                        \
         "element type of all floating-point tensors (f32, f16, bf16, ...)",                       \
         "",                                                                                       \
         NULL},                                                                                    \
        WEFT_SOFTWARE_FLAG(type)

#define WEFT_MODEL_FLAGS(type) WEFT_BATCH_FLAG(type), WEFT_OTHER_MODEL_FLAGS(type)
#define WEFT_OTHER_MODEL_FLAGS(type)                                                               \
    WEFT_OTHER_SHAPE_FLAGS(type),                                                                  \
        {WEFT_TEXT(type, flags.state),                                                             \
         0,                                                                                        \
         0,                                                                                        \
         0,                                                                                        \
         "inputs that stay on their device between items, INPUT[=OUTPUT][,...] with * for any "    \
         "text; none: no input; empty: pairs like past.., present..",                              \
         "",                                                                                       \
         NULL},                                                                                    \
        {WEFT_FLAG(type, flags.train), 0, 0, 1, "add backward and optimizer nodes", NULL, NULL},   \
    {                                                                                              \
        WEFT_TEXT(type, flags.optimizer), 0, 0, 0, "optimizer of the training step", "adam",       \
            "sgd|momentum|adam"                                                                    \
    }

/* Flags of commands that put a network on a platform. */
typedef struct weft_case_flags {
    const char *on, *goal, *semantics, *format, *deadline, *pin, *together, *min_segment;
    int64_t processors; /* of task graphs */
    const char *speeds, *bandwidth, *communication;
    double min_throughput;
    int64_t max_segments;
    bool contiguous, mix;
} weft_case_flags;

/* clang-format off */
#define WEFT_CASE_FLAGS(type) \
    {WEFT_TEXT(type, where.on), 0, 0, 0, "platform: a file or a preset (see weft list platforms); NAME:server=4 sets a count", "", NULL}, \
    {WEFT_TEXT(type, where.goal), 0, 0, 0, "objective to optimise", "latency", "latency|throughput"}, \
    {WEFT_TEXT(type, where.deadline), 0, 0, 0, "upper limit on latency (10ms)", "", NULL}, \
    {WEFT_REAL(type, where.min_throughput), 0, 0, 1e18, "lower limit on throughput, in items per second; 0: none", NULL, NULL}, \
    {WEFT_FLAG(type, where.contiguous), 0, 0, 1, "the tasks of each device form a pipeline stage: nothing comes back to it", NULL, NULL}, \
    {WEFT_FLAG(type, where.mix), 0, 0, 1, "throughput: items may take different placements (data parallel)", NULL, NULL}, \
    {WEFT_INT(type, where.max_segments), 0, 0, 1e6, "most segments of a plan: runs of nodes between switches; 0: no limit", NULL, NULL}, \
    {WEFT_TEXT(type, where.min_segment), 0, 0, 0, "least segment of a plan, in nodes or time: 4, 200us", "", NULL}, \
    {WEFT_TEXT(type, where.pin), 0, 0, 0, "run nodes on a device, NODE=DEVICE[,...]; * and ? in NODE match any; may be repeated", "", NULL}, \
    {WEFT_TEXT(type, where.together), 0, 0, 0, "run nodes on one device, A,B[,...], by name or pattern; may be repeated", "", NULL}, \
    {WEFT_TEXT(type, where.format), 0, 0, 0, "read MODEL as a task graph of another project: msr, stg, dot or wfcommons; empty: as its ending says", "", NULL}, \
    {WEFT_INT(type, where.processors), 0, 0, 1024, "stg, dot, wfcommons: number of processors; 0: as the file or --speeds says", NULL, NULL}, \
    {WEFT_TEXT(type, where.speeds), 0, 0, 0, "the same: speed of each processor, as in 1,1,2; empty: all 1", "", NULL}, \
    {WEFT_TEXT(type, where.bandwidth), 0, 0, 0, "dot, wfcommons: bytes per second between two processors (1GB/s), or unlimited", "", NULL}, \
    {WEFT_TEXT(type, where.communication), 0, 0, 0, "stg, dot, wfcommons: time of each transfer besides what the file says (5s)", "", NULL}
/* clang-format on */

/* Flags of commands that search. */
typedef struct weft_budget_flags {
    const char *time_limit;
    int64_t steps, seed, threads;
    bool is_silent; /* not a flag: set where nothing may be shown */
} weft_budget_flags;

#define WEFT_REFERENCE_LIMIT "10s"
#define WEFT_SHARD_LIMIT "50s"
#define WEFT_TRAIN_LIMIT "10s"
#define WEFT_MINE_LIMIT "60s"
#define WEFT_SERVE_LIMIT "50s"

/* usual: the time limit where none is given, one of the above. */
#define WEFT_BUDGET_FLAGS(type, usual)                                                             \
    {WEFT_TEXT(type, effort.time_limit),                                                           \
     0,                                                                                            \
     0,                                                                                            \
     0,                                                                                            \
     "time limit of the search: 500ms, 1min (default: " usual ", or none with --steps)",           \
     "",                                                                                           \
     NULL},                                                                                        \
        {WEFT_INT(type, effort.steps),                                                             \
         0,                                                                                        \
         0,                                                                                        \
         1e15,                                                                                     \
         "stop after N search steps (deterministic); 0: no limit",                                 \
         NULL,                                                                                     \
         NULL},                                                                                    \
        {WEFT_INT(type, effort.seed), 1, 0, 1e15, "seed of randomised solvers", NULL, NULL},       \
    {                                                                                              \
        WEFT_INT(type, effort.threads), 0, 0, 1024,                                                \
            "number of threads; the answer does not depend on it; 0: one per core", NULL, NULL     \
    }

/* --threads: 0 is one for each core of this machine. */
int weft_threads(int64_t asked);

/* What is shown while a search runs: a line at each better plan, and one a second in between. */
typedef struct weft_watch {
    const weft_host *host;
    double begin_s, shown_s, limit_s;
    double value, bound; /* the last that was told */
    bool has_shown, is_ticking;
    pthread_t ticker;
    pthread_mutex_t lock; /* of all but host and limit */
    pthread_cond_t ends;
} weft_watch;

struct weft_run;
/* Fills a run (but its scratch memory) and lets Ctrl-C stop it; weft_budget_end undoes that.
 * `usual` is the time limit where the flags have none. */
WEFT_CHECKED weft_status weft_budget_read(const weft_budget_flags *f, const char *usual,
                                          weft_watch *w, struct weft_run *out);
/* Wipes what was shown; Ctrl-C still asks for what there is. */
void weft_budget_wipe(weft_watch *w);
void weft_budget_end(weft_watch *w);
bool weft_budget_is_stopped(void); /* by the user */

struct weft_request;
WEFT_CHECKED weft_status weft_case_flags_read(const weft_case_flags *w, const weft_model_flags *f,
                                              const char *model, weft_arena *a,
                                              struct weft_request *out);

/* The nearest of n known names is suggested. */
weft_status weft_unknown_solver(const char *name, const char *const *known, int n);
/* Most memory that the program has used so far. */
double weft_peak_rss_bytes(void);

/* --- commands that make plans (make.c) ------------------------------------------------------- */

struct weft_kind;
struct weft_opened;
struct weft_plan_origin;
struct weft_proof;

/* What is asked for, and where the answer goes. Paths: empty or NULL: none. */
typedef struct weft_make {
    const struct weft_kind *kind;
    const void *request; /* of the kind */
    const char *model, *platform, *format;
    const weft_model_options *options;
    const char *solver;
    const weft_budget_flags *effort;
    const char *output, *trace, *dot, *page;
    bool json, quiet, is_long;
    /* Called with the open problem before the search, or NULL; *is_done: there is none to make. */
    weft_status (*first)(const struct weft_make *m, const struct weft_opened *p,
                         const struct weft_plan_origin *origin, weft_arena *a, bool *is_done,
                         int *code);
    const void *flags; /* of the command, for `first` */
} weft_make;

/* What a search has found. */
typedef struct weft_made {
    const struct weft_kind *kind;
    const struct weft_opened *problem;
    const struct weft_plan_origin *origin;
    void *solution, *report; /* of the kind */
    double seconds;          /* of the search */
    bool has_plan;
} weft_made;

/* Solutions that are held against each other and against what the report sets beside them: a
 * contradiction is an internal error (weft_cross_check). */
typedef struct weft_answers {
    const struct weft_kind *kind;
    const struct weft_opened *problem;
    const void *report;
    const struct weft_plan_origin *origin;
    int n;
    void *const *solution;   /* [n] */
    const char *const *name; /* [n] of the solvers */
} weft_answers;

/* Opens, searches, checks, writes and prints: all that place, shard and train do. */
WEFT_CHECKED weft_status weft_make_plan(const weft_make *m, weft_arena *a, int *code);
/* Parts of it, for commands that do more. p NULL: the solver must exist, no more. */
WEFT_CHECKED weft_status weft_make_check_solver(const struct weft_kind *k,
                                                const struct weft_opened *p, const char *name,
                                                weft_arena *a);
struct weft_plan_origin weft_make_origin(const weft_make *m, const struct weft_opened *p);
/* like: the run of the command, with its limit since begin_s. Fills solution and seconds. */
WEFT_CHECKED weft_status weft_make_solve(const struct weft_kind *k, const struct weft_opened *p,
                                         const char *solver, const struct weft_proof *bound,
                                         const struct weft_run *like, weft_arena *a,
                                         weft_made *out);
WEFT_CHECKED weft_status weft_make_cross_check(const weft_answers *x, weft_arena *a);
WEFT_CHECKED weft_status weft_make_show(const weft_make *m, const weft_made *x, weft_arena *a,
                                        int *code);

/* What is wrong with a plan, a line each. */
struct weft_check_result;
void weft_print_wrong(const struct weft_check_result *v, const char *plan, FILE *to);
void weft_complain_wrong(const struct weft_check_result *v, const char *plan);

/* Writes a page, whole or not at all. */
WEFT_CHECKED weft_status weft_page_write(const weft_doc *page, const char *path, weft_arena *a);

/* weft train --objective piper. */
typedef struct weft_piper_flags {
    const char *model;
    int64_t devices, microbatches, max_cuts;
    const char *memory, *bandwidth; /* empty: as in the file */
    const weft_budget_flags *effort;
    bool json, quiet, verbose;
} weft_piper_flags;

WEFT_CHECKED weft_status weft_train_piper(const weft_piper_flags *f, weft_arena *a, int *code);

/* weft mine MODEL... */
struct weft_mine_request;
typedef struct weft_mine_flags {
    const struct weft_mine_request *request;
    const weft_make *make; /* solver, effort (steps: evaluations), files */
    const char *dtype, *optimizer;
    int n_processes;            /* that mpirun has started; 1 without it */
    int64_t sensitivity;        /* draws; 0: none */
    const char *study, *pareto; /* empty: none */
} weft_mine_flags;

WEFT_CHECKED weft_status weft_mine_search(const weft_mine_flags *f, weft_arena *a, int *code);
/* weft mine MODEL... --stages N. */
WEFT_CHECKED weft_status weft_mine_pipeline(const weft_mine_flags *f, weft_arena *a, int *code);
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
    const weft_budget_flags *effort;
    bool json;
    const char *output; /* empty: standard output */
} weft_pareto_options;

struct weft_problem;
WEFT_CHECKED weft_status weft_pareto_show(const struct weft_problem *p,
                                          const struct weft_plan_origin *origin,
                                          const weft_pareto_options *o, weft_arena *a, int *code);

/* weft place with batches or shares to choose (place_choices.c). Of the request the batches are
 * filled in if they are to be any. */
struct weft_request;
WEFT_CHECKED weft_status weft_choices_plan(const weft_make *m, struct weft_request *r,
                                           weft_arena *a, int *code);

/* The options of weft_model_open from those flags. */
WEFT_CHECKED weft_status weft_model_flags_read(const weft_model_flags *f, weft_arena *a,
                                               weft_model_options *out);

struct weft_engine_places;
/* Where engines may be, as the environment says. */
void weft_find_places(struct weft_engine_places *out);
/* A new folder for files that go again. */
WEFT_CHECKED weft_status weft_make_tmp(const char *what, weft_arena *a, const char **out);
struct weft_split_net;
typedef struct weft_whole_net {
    const char *path;    /* of the file with the bytes that were split; NULL: it is not here */
    const char *missing; /* then: why */
} weft_whole_net;
/* A split network: a folder, or a plan that is split into a folder of its own; *is_new: it is to be
 * removed with weft_split_net_remove. The network is looked for near the folder, unless it is given:
 * then another one is an error. */
WEFT_CHECKED weft_status weft_split_net_open(const char *path, const char *model, const char *on,
                                             weft_arena *a, struct weft_split_net *out,
                                             bool *is_new, weft_whole_net *whole, int *code);

/* --- models with notes (annotate.c) ---------------------------------------------------------- */

typedef struct weft_annotate_request {
    const char *model, *path; /* model: empty: as the plan says */
    bool is_told;             /* print what was done, in a line or two */
} weft_annotate_request;

/* The model of a verified plan as an ONNX file with what the page shows on each node. */
WEFT_CHECKED weft_status weft_annotate_plan(const struct weft_check_result *v, const weft_doc *page,
                                            const weft_annotate_request *request, weft_arena *a);

#endif
