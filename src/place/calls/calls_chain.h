/* SPDX-License-Identifier: MIT */
/* Searches for the best chain of stages (calls_chain.c). Memory is the run's scratch memory. */
#ifndef WEFT_PLACE_CALLS_CHAIN_H
#define WEFT_PLACE_CALLS_CHAIN_H

#include "calls.h"

typedef struct weft_chain weft_chain;

#define WEFT_CHAIN_MOST_S 1e290 /* no limit; products with prices stay finite */

/* price: [n_devices], any; good ones end branches early. */
weft_chain *weft_chain_new(const weft_calls *m, const double *price, int64_t n_taken,
                           weft_run *run);
/* Blocks taken so far by all searches, n_taken of them before this one began: the steps of a run. */
int64_t weft_chain_taken(const weft_chain *x);
/* The blocks that stages are made of: 0 .. n - 1, forward blocks alone or all. */
void weft_chain_members(weft_chain *x, int n);
/* Finds the best chain below limit_s; is_linear: of prefixes of the numbering. True if there is
 * one. A search that is over has run into a limit of the run or of memory, and so are all after. */
bool weft_chain_search(weft_chain *x, double limit_s, bool is_linear);
double weft_chain_value(const weft_chain *x); /* of the last search; INFINITY: none found */
/* The last search was complete: nothing below its value, or below its limit if it found none. */
bool weft_chain_is_proof(const weft_chain *x);
bool weft_chain_is_over(const weft_chain *x);
/* Devices of the members; devices of a class by number. */
void weft_chain_read(const weft_chain *x, int *device);

#endif
