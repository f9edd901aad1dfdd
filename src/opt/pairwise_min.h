/* SPDX-License-Identifier: MIT */
/* Sums of costs of pairs: what the parts of the elimination tell each other. */
#ifndef WEFT_OPT_PAIRWISE_MIN_H
#define WEFT_OPT_PAIRWISE_MIN_H

#include "opt.h"

/* Costs of the states of some variables, the scope: a table whose last variable runs fastest. */
typedef struct weft_factor {
    int n;      /* 0: a constant */
    int *var;   /* [n] */
    int *place; /* [n] while it is in a bucket: see weft_bucket */
    const double *cost;
    int table; /* number of `cost`: the same address, the same number */
} weft_factor;

/* Factors that share variable w. Its neighbours, the other variables of the factors, are numbered
 * by `place` from 0 to n - 1; w is at place n. */
typedef struct weft_bucket {
    int n, n_factors;
    weft_factor **factor; /* [n_factors] */
    const int *size;      /* [n + 1] states of the variable at each place */
} weft_bucket;

/* The least sum of the factors over the states of w, as a table over the neighbours; axis[i] is the
 * place of its variable i. The table belongs to `a`, which has no other new blocks after. */
const double *weft_bucket_fold(const weft_bucket *b, weft_arena *a, int *axis);

/* A row of costs and what is added to each. */
typedef struct weft_term {
    const double *row;
    double add;
} weft_term;

/* to[i] = least add + row[i] of the terms; INFINITY without terms. */
void weft_row_fold(const weft_term *t, int n_terms, double *to, int n);
/* Least a[i] + b[i]. */
double weft_row_least_sum(const double *a, const double *b, int n);
/* Least and largest of a, n > 0. */
void weft_row_limits(const double *a, int n, double *low, double *high);

typedef WEFT_VEC(weft_factor *) weft_factors;

/* A finished elimination. bucket[v] holds the factors in which v was the first to go, sent[v] what
 * replaced them: the least sum over v, or, where that would have been too large, the least sums of
 * parts of them. */
typedef struct weft_elimination {
    const weft_pairwise_min *m;
    const int *order;            /* [n_vars] */
    weft_factors *bucket, *sent; /* [n_vars] */
    double bound;                /* sum of all constants that were sent */
    bool is_split;
} weft_elimination;

/* The entry of a factor; state of variable `but` (-1: none) is taken as 0. */
size_t weft_factor_at(const weft_factor *f, const int *n_states, const int *state, int but);
/* The step between two states of variable v in a factor that has it. */
size_t weft_factor_step(const weft_factor *f, const int *n_states, int v);
/* The cost of a choice by the original tables. */
double weft_pairwise_min_value(const weft_pairwise_min *m, const int *state);
/* A good choice after an elimination with splits; false: none was found. */
bool weft_pairwise_min_search(const weft_elimination *e, weft_arena *a, int *state);

#endif
