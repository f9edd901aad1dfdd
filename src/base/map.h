/* SPDX-License-Identifier: MIT */
/* What a map is made of (map.c), for those who ask it a lot. */
#ifndef WEFT_BASE_MAP_H
#define WEFT_BASE_MAP_H

#include "base.h"

#include <string.h>

typedef struct weft_map_item {
    const char *key;
    uint32_t n;
    int value;
} weft_map_item;

struct weft_map {
    weft_arena *arena;
    uint64_t secret[2]; /* of this process: nobody can know which names fall into one slot */
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

static inline uint64_t weft_rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void weft_sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = weft_rotate(v[1], 13) ^ v[0];
    v[3] = weft_rotate(v[3], 16) ^ v[2];
    v[0] = weft_rotate(v[0], 32) + v[3];
    v[2] += v[1];
    v[3] = weft_rotate(v[3], 21) ^ v[0];
    v[1] = weft_rotate(v[1], 17) ^ v[2];
    v[2] = weft_rotate(v[2], 32);
}

/* The last n % 8 bytes and, on top, the length. */
static inline uint64_t weft_sip_end(const char *key, size_t n)
{
    size_t n_rest = n % 8;
    uint64_t word = (uint64_t)n << 56;

    if (n >= 8 && n_rest > 0)
        return word | weft_word_at(key + n - 8) >> (64 - 8 * n_rest);
    for (size_t i = n - n_rest; i < n; i++)
        word |= (uint64_t)(uint8_t)key[i] << 8 * (i % 8);
    return word;
}

/* SipHash-1-3 (Aumasson and Bernstein 2012): names come from strangers, who without the secret
 * cannot make names that collide. */
static inline uint64_t weft_sip_hash(const uint64_t secret[2], const char *key, size_t n)
{
    uint64_t v[4] = {secret[0] ^ 0x736f6d6570736575u, secret[1] ^ 0x646f72616e646f6du,
                     secret[0] ^ 0x6c7967656e657261u, secret[1] ^ 0x7465646279746573u};

    for (size_t i = 0; i + 8 <= n; i += 8) {
        uint64_t word = weft_word_at(key + i);

        v[3] ^= word;
        weft_sip_round(v);
        v[0] ^= word;
    }
    v[3] ^= weft_sip_end(key, n);
    weft_sip_round(v);
    v[0] ^= weft_sip_end(key, n);
    v[2] ^= 0xff;
    weft_sip_round(v);
    weft_sip_round(v);
    weft_sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static inline uint32_t weft_map_hash(const weft_map *m, const char *key, size_t n)
{
    return (uint32_t)weft_sip_hash(m->secret, key, n);
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
    uint32_t hash = weft_map_hash(m, key, n);

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
        weft_out_of_memory(n);
    added = &m->item.at[m->item.n++];
    added->key = key;
    added->n = (uint32_t)n;
    added->value = value;
    *slot = (hash & ~m->mask) | (uint32_t)m->item.n;
    return true;
}

#endif
