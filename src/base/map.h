/* SPDX-License-Identifier: MIT */
/* What a map is made of (map.c), for those who ask it a lot. */
#ifndef WEFT_BASE_MAP_H
#define WEFT_BASE_MAP_H

#include "weft/base.h"

#include <string.h>

typedef struct weft_map_item {
    const char *key;
    uint32_t n;
    int value;
} weft_map_item;

struct weft_map {
    weft_arena *arena;
    uint32_t *slot;
    uint32_t mask;                /* slots - 1; their number is a power of two */
    WEFT_VEC(weft_map_item) item; /* never room for more than half as many as slots */
};

static inline uint64_t weft_word_at(const char *from)
{
    uint64_t word;

    memcpy(&word, from, sizeof word);
    return word;
}

/* A word made of fewer than eight bytes. */
static inline uint64_t weft_short_word(const char *key, size_t n)
{
    uint64_t word = 0;

    for (size_t i = 0; i < n; i++)
        word = word << 8 | (uint8_t)key[i];
    return word;
}

static inline bool weft_same_half_word(const char *a, const char *b)
{
    return memcmp(a, b, 4) == 0;
}

static inline bool weft_same_bytes(const char *a, const char *b, size_t n)
{
    size_t i = 0;

    if (n < 4)
        return weft_short_word(a, n) == weft_short_word(b, n);
    if (n < 8)
        return weft_same_half_word(a, b) && weft_same_half_word(a + n - 4, b + n - 4);
    while (i + 8 < n && weft_word_at(a + i) == weft_word_at(b + i))
        i += 8;
    return i + 8 >= n && weft_word_at(a + n - 8) == weft_word_at(b + n - 8);
}

/* Is this the i-th key? There may be no i-th one. */
static inline bool weft_map_is(const weft_map *m, int i, const char *key, size_t n)
{
    const weft_map_item *it;

    if (i < 0 || i >= m->item.n)
        return false;
    it = &m->item.at[i];
    return it->n == n && weft_same_bytes(it->key, key, n);
}

/* The slots are too many for the fastest memory. Who puts one key after the other gives a hint some
 * time before, so that nobody waits for the slot. The map may change meanwhile. */
uint32_t weft_map_hint(const weft_map *m, const char *key, size_t n);
/* weft_map_put with the hint for the key. */
bool weft_map_put_hinted(weft_map *m, const char *key, size_t n, uint32_t hint, int value);

#endif
