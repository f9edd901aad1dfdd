/* SPDX-License-Identifier: MIT */
/* memo.c: networks repeat themselves, so shapes are inferred once.
 *
 * 1. What is known of a value (type, shape, elements, whether it is constant) is its kind. Kinds
 *    are interned: equal knowledge, equal number. Literals are compared by address.
 * 2. An operator with its attributes has a form, given by the caller. Form, kinds of the operands
 *    and which of these are the same value are all that rules look at, so they are the key under
 *    which the kinds of the results are kept.
 *
 * A caller who knows an operator that is likely to be the same saves the look-up: keys are
 * compared.
 *
 * Guarantee: rules are functions of the key, hence a result found is the result the rule would
 * give; errors are not kept. The 32 layers of a transformer cost one layer and 31 look-ups each
 * node. Cost: O(operands) a node. */
#include "memo.h"

#include <string.h>

weft_memo *weft_memo_new(weft_arena *a, weft_arena *lasting)
{
    weft_memo *m = WEFT_NEW(a, weft_memo, 1);

    m->arena = a;
    m->lasting = lasting;
    m->kinds = weft_map_new(a);
    m->memo_entries = weft_map_new(a);
    return m;
}

/* Everything that tells kinds apart, as numbers without gaps between them. */
typedef struct kind_key {
    int64_t part[5 + WEFT_MAX_RANK];
    size_t n_bytes;
} kind_key;

static kind_key key_of(const weft_value *v, int64_t stored_bytes)
{
    int rank = v->shape.rank < 0 ? 0 : v->shape.rank;
    kind_key key;

    key.part[0] = v->type;
    key.part[1] = v->shape.rank;
    key.part[2] = (v->is_const ? 1 : 0) | (v->is_parameter ? 2 : 0);
    key.part[3] = (int64_t)(intptr_t)v->data;
    key.part[4] = stored_bytes;
    for (int d = 0; d < rank; d++)
        key.part[5 + d] = v->shape.dim[d];
    key.n_bytes = (size_t)(5 + rank) * sizeof key.part[0];
    return key;
}

static weft_kind *new_kind(weft_memo *m, const weft_value *v, int64_t stored_bytes)
{
    weft_kind *k = WEFT_NEW_RAW(m->lasting, weft_kind, 1);
    int64_t elements = weft_shape_is_static(&v->shape) ? weft_shape_elements(&v->shape) : 0;
    int64_t bytes = elements < 0 ? -1 : weft_dtype_bytes(v->type, elements);

    k->value = *v;
    k->stored_bytes = stored_bytes;
    k->tensor = (weft_tensor){.type = v->type,
                              .shape = &k->value.shape,
                              .elements = elements,
                              .bytes = bytes >= 0 && stored_bytes > 0 ? stored_bytes : bytes,
                              .producer = -1,
                              .is_parameter = v->is_parameter,
                              .value = v->data};
    return k;
}

int weft_memo_kind(weft_memo *m, const weft_value *value, int64_t stored_bytes)
{
    kind_key key = key_of(value, stored_bytes);
    int known = weft_map_get(m->kinds, (const char *)key.part, key.n_bytes);

    if (known >= 0)
        return known;
    (void)weft_map_put(m->kinds, weft_arena_copy(m->arena, key.part, key.n_bytes), key.n_bytes,
                       m->kind.n);
    WEFT_PUSH(m->arena, m->kind, new_kind(m, value, stored_bytes));
    return m->kind.n - 1;
}

int weft_memo_find(const weft_memo *m, const weft_memo_entry_key *key)
{
    return weft_map_get(m->memo_entries, (const char *)key->part,
                        (size_t)key->n * sizeof key->part[0]);
}

int weft_memo_add(weft_memo *m, const weft_memo_entry_key *key, weft_memo_entry memo_entry)
{
    size_t n_bytes = (size_t)key->n * sizeof key->part[0];

    memo_entry.key = weft_arena_copy(m->arena, key->part, n_bytes);
    memo_entry.n_key = key->n;
    (void)weft_map_put(m->memo_entries, (const char *)memo_entry.key, n_bytes, m->memo_entry.n);
    WEFT_PUSH(m->arena, m->memo_entry, memo_entry);
    return m->memo_entry.n - 1;
}
