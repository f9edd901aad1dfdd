/* SPDX-License-Identifier: MIT */
/* map.c: text -> int by open addressing, and the nearest word for "did you mean".
 *
 * Keys stand in a row in the order in which they came; the table of slots holds their numbers and
 * hashes only, so it stays small enough for the fastest memory. */
#include "weft/base.h"

#include <stdlib.h>
#include <string.h>

typedef struct slot {
    uint32_t hash;
    int next; /* number of the key + 1; 0: a free slot */
} slot;

typedef struct item {
    const char *key;
    uint32_t n;
    int value;
} item;

struct weft_map {
    weft_arena *arena;
    slot *slot;
    size_t room; /* a power of two, at most three quarters full */
    WEFT_VEC(item) item;
};

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint64_t word_at(const char *from)
{
    uint64_t word;

    memcpy(&word, from, sizeof word);
    return word;
}

/* A word made of fewer than eight bytes. */
static uint64_t short_word(const char *key, size_t n)
{
    uint64_t word = 0;

    for (size_t i = 0; i < n; i++)
        word = word << 8 | (uint8_t)key[i];
    return word;
}

/* Eight bytes at a time: names of tensors are long and looked up often. The last word overlaps the
 * one before it. Words at even and odd places are mixed side by side, which halves the wait for
 * multiplications. */
static uint32_t hash_of(const char *key, size_t n)
{
    uint64_t h = n, other = 0x100000001b3u;
    size_t i = 0;

    if (n < 8)
        return (uint32_t)(mix(mix(h, short_word(key, n)), other) >> 32);
    for (; i + 16 < n; i += 16) {
        h = mix(h, word_at(key + i));
        other = mix(other, word_at(key + i + 8));
    }
    if (i + 8 < n)
        h = mix(h, word_at(key + i));
    other = mix(other, word_at(key + n - 8));
    return (uint32_t)(mix(h, other) >> 32);
}

static bool same_bytes(const char *a, const char *b, size_t n)
{
    size_t i = 0;

    if (n < 8)
        return short_word(a, n) == short_word(b, n);
    while (i + 8 < n && word_at(a + i) == word_at(b + i))
        i += 8;
    return i + 8 >= n && word_at(a + n - 8) == word_at(b + n - 8);
}

weft_map *weft_map_new(weft_arena *a)
{
    weft_map *m = WEFT_NEW(a, weft_map, 1);

    m->arena = a;
    m->room = 16;
    m->slot = WEFT_NEW(a, slot, m->room);
    return m;
}

/* The slot of the key, or the free one where it belongs. */
static slot *find(const weft_map *m, const char *key, size_t n, uint32_t hash)
{
    size_t i = hash & (m->room - 1);

    for (; m->slot[i].next; i = (i + 1) & (m->room - 1)) {
        const item *it = &m->item.at[m->slot[i].next - 1];

        if (m->slot[i].hash == hash && it->n == n && same_bytes(it->key, key, n))
            break;
    }
    return &m->slot[i];
}

int weft_map_get(const weft_map *m, const char *key, size_t n)
{
    const slot *s;

    if (m->item.n == 0)
        return -1;
    s = find(m, key, n, hash_of(key, n));
    return s->next ? m->item.at[s->next - 1].value : -1;
}

int weft_map_guess(const weft_map *m, int i, const char *key, size_t n)
{
    const item *it = i >= 0 && i < m->item.n ? &m->item.at[i] : NULL;

    return it && it->n == n && same_bytes(it->key, key, n) ? it->value : weft_map_get(m, key, n);
}

static void set_room(weft_map *m, size_t room)
{
    const slot *old = m->slot;
    size_t n_old = m->room;

    m->room = room;
    m->slot = WEFT_NEW(m->arena, slot, m->room);
    for (size_t i = 0; i < n_old; i++)
        if (old[i].next) {
            size_t to = old[i].hash & (room - 1);

            while (m->slot[to].next)
                to = (to + 1) & (room - 1);
            m->slot[to] = old[i];
        }
}

void weft_map_reserve(weft_map *m, int n)
{
    size_t room = m->room;

    while (room / 4 * 3 < (size_t)n)
        room *= 2;
    if (room > m->room)
        set_room(m, room);
    WEFT_RESERVE(m->arena, m->item, n);
}

static void add(weft_map *m, slot *s, item key, uint32_t hash)
{
    WEFT_PUSH(m->arena, m->item, key);
    *s = (slot){hash, m->item.n};
    if ((size_t)m->item.n * 4 > m->room * 3)
        set_room(m, m->room * 2);
}

bool weft_map_put(weft_map *m, const char *key, size_t n, int value)
{
    uint32_t hash = hash_of(key, n);
    slot *s = find(m, key, n, hash);

    if (s->next)
        return false;
    if (n > UINT32_MAX)
        abort();
    add(m, s, (item){key, (uint32_t)n, value}, hash);
    return true;
}

void weft_map_set(weft_map *m, const char *key, size_t n, int value)
{
    slot *s = find(m, key, n, hash_of(key, n));

    if (s->next)
        m->item.at[s->next - 1].value = value;
    else
        (void)weft_map_put(m, key, n, value);
}

enum { LONGEST_WORD = 63 };

/* Edits (insert, delete, replace, swap of neighbours) that turn a into b. */
static int edits(const char *a, size_t n_a, const char *b, size_t n_b)
{
    int row[3][LONGEST_WORD + 2];
    int *before = row[0], *last = row[1], *now = row[2];

    for (size_t j = 0; j <= n_b; j++)
        last[j] = (int)j;
    for (size_t i = 1; i <= n_a; i++) {
        int *spare = before;

        now[0] = (int)i;
        for (size_t j = 1; j <= n_b; j++) {
            int cost = last[j - 1] + (a[i - 1] != b[j - 1]);

            if (last[j] + 1 < cost)
                cost = last[j] + 1;
            if (now[j - 1] + 1 < cost)
                cost = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < cost)
                cost = before[j - 2] + 1;
            now[j] = cost;
        }
        before = last;
        last = now;
        now = spare;
    }
    return last[n_b];
}

const char *weft_nearest(const char *word, const char *const *candidates, int n)
{
    size_t length = strlen(word);
    int best = 1 + (int)(length / 3); /* about one slip in three letters */
    const char *found = NULL;

    if (length > LONGEST_WORD)
        return NULL;
    for (int i = 0; i < n; i++) {
        size_t other = strlen(candidates[i]);
        int distance;

        if (other > LONGEST_WORD)
            continue;
        distance = edits(word, length, candidates[i], other);
        if (distance < best || (distance == best && found == NULL)) {
            best = distance;
            found = candidates[i];
        }
    }
    return found;
}
