/* SPDX-License-Identifier: MIT */
/* weft compare with several instances: a row per instance and solver. */
#ifndef WEFT_COMPARE_H
#define WEFT_COMPARE_H

#include "command.h"
#include "kind.h"

/* Texts belong to whoever made the row. Equal instance, solver and seed: the same row. */
typedef struct weft_compare_row {
    const char *instance, *solver;
    weft_outcome outcome;
    double value, bound, gap, seconds; /* value and gap NAN: no plan */
    int64_t seed;
    const char *limit; /* of the search: "10s", "500 steps" */
    uint64_t problem;  /* hash of what was solved */
    bool is_there;
} weft_compare_row;

/* A file of rows that grows while it is made (compare_rows.c). */
typedef struct weft_compare_file weft_compare_file;

/* Opens a file of rows, or makes it; path NULL or empty: rows are kept in memory. A last line that is
 * not whole is dropped. Another file, or one that another process writes, is an error. */
WEFT_CHECKED weft_status weft_compare_file_open(const char *path, weft_arena *a,
                                                weft_compare_file **out);
/* The row of the file that answers the same question, or NULL. */
const weft_compare_row *weft_compare_file_find(const weft_compare_file *f,
                                               const weft_compare_row *row);
/* Appends a row: it is in the file as a whole or not at all, also if the program is killed. By one
 * thread at a time. */
WEFT_CHECKED weft_status weft_compare_file_add(weft_compare_file *f, const weft_compare_row *row);
/* Writes the file anew: these rows in this order, then those of the file that ask other questions. */
WEFT_CHECKED weft_status weft_compare_file_finish(weft_compare_file *f, const weft_compare_row *row,
                                                  int n);
void weft_compare_file_close(weft_compare_file *f);
void weft_compare_print_csv(const weft_compare_row *row, int n, FILE *to);

/* What compare is asked for, where there are several instances. */
typedef struct weft_compare_many {
    const weft_kind *kind;
    int n_operands;
    const char *const *operand; /* files, folders, built-in models */
    const char *solvers;        /* "heft,auto"; empty: auto */
    const weft_budget_flags *effort;
    int n_jobs;
    bool csv, json;
    const char *output;
    /* What an instance asks for, in `a`. Called by any thread. */
    weft_status (*request)(const void *context, const char *model, weft_arena *a, const void **out);
    const void *context;
} weft_compare_many;

bool weft_compare_is_folder(const char *path);
WEFT_CHECKED weft_status weft_compare_many_run(const weft_compare_many *m, weft_arena *a,
                                               int *code);

#endif
