/* SPDX-License-Identifier: MIT */
/* What a map is made of (map.c), for those who ask it a lot. */
#ifndef WEFT_BASE_MAP_H
#define WEFT_BASE_MAP_H

#include "weft/base.h"

#include <stdlib.h>
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

__extension__ typedef unsigned __int128 weft_wide;

/* Both halves of the product: each of its bits depends on many of both factors. */
static inline uint64_t weft_map_mix(uint64_t a, uint64_t b)
{
    weft_wide product = (weft_wide)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Sixteen bytes a multiplication, none of which waits for another: names of tensors are long and
 * looked up often. The last words overlap those before them. The constants have no meaning but to
 * be odd and without pattern. */
static inline uint32_t weft_map_hash(const char *key, size_t n)
{
    const uint64_t first = 0x9e3779b97f4a7c15u, second = 0xd6e8feb86659fd93u;
    uint64_t h = first ^ n;

    if (n < 8)
        return (uint32_t)weft_map_mix(weft_short_word(key, n) ^ h, second);
    h = weft_map_mix(weft_word_at(key + (n < 16 ? 0 : n - 16)) ^ h,
                     weft_word_at(key + n - 8) ^ second);
    for (size_t i = 0; i + 16 < n; i += 16)
        h += weft_map_mix(weft_word_at(key + i) ^ (first + i), weft_word_at(key + i + 8) ^ second);
    return (uint32_t)(h ^ h >> 32);
}

/* The slot of the key, or the free one where it belongs. */
static inline uint32_t *weft_map_find(const weft_map *m, const char *key, size_t n, uint32_t hash)
{
    uint32_t mask = m->mask, i = hash & mask;

    for (; m->slot[i]; i = (i + 1) & mask) {
        const weft_map_item *it = &m->item.at[(m->slot[i] & mask) - 1];

        if (((m->slot[i] ^ hash) & ~mask) == 0 && it->n == n && weft_same_bytes(it->key, key, n))
            break;
    }
    return &m->slot[i];
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

/* Room for more. */
void weft_map_grow(weft_map *m);

/* The slots are too many for the fastest memory. Who puts one key after the other gives a hint some
 * time before, so that nobody waits for the slot. The map may change meanwhile. */
static inline uint32_t weft_map_hint(const weft_map *m, const char *key, size_t n)
{
    uint32_t hash = weft_map_hash(key, n);

    __builtin_prefetch(&m->slot[hash & m->mask], 1);
    return hash;
}

/* weft_map_put with the hint for the key. */
static inline bool weft_map_put_hinted(weft_map *m, const char *key, size_t n, uint32_t hash,
                                       int value)
{
    weft_map_item *added;
    uint32_t *slot;

    if (m->item.n == m->item.room)
        weft_map_grow(m);
    slot = weft_map_find(m, key, n, hash);
    if (*slot)
        return false;
    if (n > UINT32_MAX)
        abort();
    added = &m->item.at[m->item.n++];
    added->key = key;
    added->n = (uint32_t)n;
    added->value = value;
    *slot = (hash & ~m->mask) | (uint32_t)m->item.n;
    return true;
}

#endif
