/* SPDX-License-Identifier: MIT */
/* The latency of a subproblem as a linear program with whole columns, and its relaxation. */
#ifndef WEFT_MILP_PLACE_H
#define WEFT_MILP_PLACE_H

#include "opt.h"

#include "subproblem.h"

/* How much work goes into tightening the relaxation before the search. */
typedef struct weft_milp_effort {
    double limit_s; /* wall seconds; INFINITY: none */
    int rounds;     /* of cuts */
    const volatile sig_atomic_t *stop;
    bool adds_sends; /* to a loose model, where they can matter */
} weft_milp_effort;

/* What is known before. `upper` is the value of a schedule, or INFINITY; values above are left out.
 * `device` and `start_s` are a schedule of at most `upper` to start from, or NULL. */
typedef struct weft_milp_known {
    double upper;
    const int *device;     /* [n_tasks] */
    const double *start_s; /* [n_tasks] */
    int most_pairs;        /* of tasks whose order is open; 0: no limit */
    weft_milp_effort tighten;
} weft_milp_known;

/* What the columns of a model mean. Tasks of one group share their columns `on`. */
typedef struct weft_milp_columns {
    double unit_s;   /* times in the model are in this unit */
    int span;        /* the value, T */
    int *on;         /* [task * n_devices + device] 1: it runs there; -1: it cannot */
    int *start;      /* [n_tasks] */
    double bound;    /* seconds; no schedule is below: the relaxation says so */
    int n_pairs;     /* pairs of tasks whose order is open */
    bool is_partial; /* more than most_pairs: some are missing, solutions may be none */
    bool is_empty;   /* no schedule of at most `upper`: proved, there is no model */
} weft_milp_columns;

/* The model of a subproblem. Release with weft_milp_free; the arrays of `out` belong to `a`. */
weft_milp *weft_milp_schedule_new(const weft_subproblem *x, const weft_milp_known *k, weft_arena *a,
                                  weft_milp_columns *out);
/* Devices, and starts as early as the order of the solution allows; returns the value of that. */
double weft_milp_schedule_decode(const weft_subproblem *x, const weft_milp_columns *columns,
                                 const double *solution, weft_arena *a, int *device,
                                 double *start_s);
/* A topological order: of the tasks that are ready, the one with the least start first. */
void weft_subproblem_order(const weft_subproblem *x, const double *start, int *order,
                           weft_arena *a);
/* All times of a subproblem are multiples of the result, and so is its least value; 0: nothing
 * larger than `least` is known to divide them. */
double weft_subproblem_quantum(const weft_subproblem *x, double least);

/* --- what the model and the bound share (milp_model.c) --------------------------------------- */

typedef enum weft_milp_kind {
    WEFT_MILP_RELAXED,
    WEFT_MILP_WHOLE, /* x are whole */
    WEFT_MILP_LOOSE, /* relaxed, and ways through the network pay no transfers: a fast program */
} weft_milp_kind;

typedef struct weft_milp_model {
    const weft_subproblem *subproblem;
    weft_arena *arena;
    weft_milp *milp;
    double upper, lower, unit_s; /* seconds; lower: a bound */
    bool *has;                   /* [task * n_devices + device] domains */
    double *head_s, *tail_s;     /* the same */
    double *first_s, *rest_s;    /* [n_tasks] least head and least tail over the domain */
    int *group;                  /* [n_tasks] first task of its group */
    int span, *on, *start;       /* columns */
    int *arrive;                 /* [n_edges] rows (3) */
    bool *has_send;              /* [n_edges] (3) knows the transfer */
    bool is_empty;               /* a task without device: nothing of at most `upper` exists */
} weft_milp_model;

/* Domains, heads and tails under `upper` (INFINITY: none), and rows (1)-(3), (6), (7), (9). */
weft_milp_model weft_milp_model_new(const weft_subproblem *x, double upper, weft_milp_kind kind,
                                    weft_arena *a);
/* A row named by its kind and one or two numbers (b < 0: one). */
int weft_milp_model_row(weft_milp_model *m, double low, double high, const char *kind, int a,
                        int b);
/* The transfer of edge e in (3), and (2) (milp_send.c). */
void weft_milp_model_send(weft_milp_model *m, int e);
/* The transfers of edges on ways that would be longer than T if they paid for theirs; returns how
 * many there were. */
int weft_milp_model_late_sends(weft_milp_model *m, const double *solution);
/* Adds rows (8) for each device: n heads, the earliest and some quantiles, with n tails each. */
void weft_milp_model_windows(weft_milp_model *m, int n);
/* Solves the relaxation, adds the most violated rows (8), and so on; raises `lower`. */
void weft_milp_model_tighten(weft_milp_model *m, const weft_milp_effort *e);

#endif
