/* SPDX-License-Identifier: MIT */
/* What a net knows of values and of operators on them, each fact once (memo.c). */
#ifndef WEFT_MEMO_H
#define WEFT_MEMO_H

#include "ops.h"

/* What is known of a value: all values of which the same is known have the same kind. */
typedef struct weft_kind {
    weft_value value;
    int64_t stored_bytes; /* of constants kept in a smaller form than their type; 0: as the type */
    weft_tensor tensor;   /* but for name and kind; elements and bytes are -1 beyond 2^62 */
} weft_kind;

/* An operator of some form applied to operands of some kinds. */
typedef struct weft_memo_entry {
    const weft_op *op;
    int *result;    /* kinds of all results, asked for or not */
    int node;       /* of the builder: the first that did this; -1 if none is in the graph */
    bool is_folded; /* all results asked for are constants: a weight, not work */
    int n_key;
    const int *key;
} weft_memo_entry;

enum { WEFT_MEMO_ENTRY_ARGS = 16 }; /* more operands or results are not looked up */

/* Form, number of results and which are asked for, and for each operand its kind, or which earlier
 * operand it equals. */
typedef struct weft_memo_entry_key {
    int n;
    int part[2 + WEFT_MEMO_ENTRY_ARGS];
} weft_memo_entry_key;

typedef struct weft_memo {
    weft_arena *arena, *lasting;
    weft_map *kinds, *memo_entries; /* keys as bytes -> index */
    WEFT_VEC(const weft_kind *) kind;
    WEFT_VEC(weft_memo_entry) memo_entry;
} weft_memo;

/* The memo is in `a`, the kinds in `lasting`. */
weft_memo *weft_memo_new(weft_arena *a, weft_arena *lasting);
/* Number of the kind; its literal must live as long as the memo. */
int weft_memo_kind(weft_memo *m, const weft_value *value, int64_t stored_bytes);
/* Stays where it is, even when the memo is gone. */
static inline const weft_kind *weft_memo_get(const weft_memo *m, int kind)
{
    return m->kind.at[kind];
}
static inline const weft_value *weft_memo_value(const weft_memo *m, int kind)
{
    return &m->kind.at[kind]->value;
}
/* Number of the memo entry with that key, or -1. */
int weft_memo_find(const weft_memo *m, const weft_memo_entry_key *key);
int weft_memo_add(weft_memo *m, const weft_memo_entry_key *key, weft_memo_entry memo_entry);

#endif
