/* SPDX-License-Identifier: MIT */
/* map.c: text -> int by open addressing, and the nearest word for "did you mean".
 *
 * Keys stand in a row in the order in which they came. The table has a number for each slot and is
 * at most half full: with room for 2^k keys, the low k bits are the number of the key + 1 (0: a
 * free slot), the others those of its hash, whose low k bits say where it is looked for first. So
 * the table stays small enough for the fastest memory, and nearly all look-ups see one slot and the
 * key they are for.
 *
 * The hash has a secret that is drawn once a process. It decides in which slots keys are, which
 * nobody sees: look-ups give the same answers under every secret, and there is no order of slots to
 * walk along. */
#define _DEFAULT_SOURCE /* getentropy */
#include "map.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_SLOTS = 16, MOST_KEYS = 1 << 30 };

static uint64_t secret[2];
static pthread_once_t has_secret = PTHREAD_ONCE_INIT;

/* Where the system gives none, the addresses of program and stack are all there is. */
static void draw_secret(void)
{
    if (getentropy(secret, sizeof secret) == 0)
        return;
    secret[0] = (uint64_t)(uintptr_t)&secret ^ (uint64_t)getpid() << 32;
    secret[1] = (uint64_t)(uintptr_t)__builtin_frame_address(0);
}

weft_map *weft_map_new(weft_arena *a)
{
    weft_map *m = WEFT_NEW(a, weft_map, 1);

    pthread_once(&has_secret, draw_secret);
    memcpy(m->secret, secret, sizeof secret);
    m->arena = a;
    m->mask = FIRST_SLOTS - 1;
    m->slot = WEFT_NEW(a, uint32_t, FIRST_SLOTS);
    return m;
}

static weft_map_item *item_of(const weft_map *m, uint32_t slot)
{
    return &m->item.at[(slot & m->mask) - 1];
}

int weft_map_get(const weft_map *m, const char *key, size_t n)
{
    uint32_t slot;

    if (m->item.n == 0)
        return -1;
    slot = *weft_map_find(m, key, n, weft_map_hash(m, key, n));
    return slot ? item_of(m, slot)->value : -1;
}

int weft_map_guess(const weft_map *m, int i, const char *key, size_t n)
{
    return weft_map_is(m, i, key, n) ? m->item.at[i].value : weft_map_get(m, key, n);
}

/* At least that many keys have room, and twice as many slots. */
static void make_slots(weft_map *m, size_t n_keys)
{
    size_t n_slots = (size_t)m->mask + 1;

    if (n_keys > MOST_KEYS)
        weft_out_of_memory(n_keys * sizeof(weft_map_item));
    if (n_keys <= n_slots / 2)
        return;
    while (n_slots / 2 < n_keys)
        n_slots *= 2;
    m->mask = (uint32_t)(n_slots - 1);
    m->slot = WEFT_NEW(m->arena, uint32_t, n_slots);
    for (int k = 0; k < m->item.n; k++) {
        uint32_t hash = weft_map_hash(m, m->item.at[k].key, m->item.at[k].n), i = hash & m->mask;

        while (m->slot[i])
            i = (i + 1) & m->mask;
        m->slot[i] = (hash & ~m->mask) | (uint32_t)(k + 1);
    }
}

void weft_map_reserve(weft_map *m, int n)
{
    make_slots(m, (size_t)n);
    WEFT_RESERVE(m->arena, m->item, n);
}

void weft_map_grow(weft_map *m)
{
    m->item.at =
        weft_arena_grow(m->arena, m->item.at, m->item.n, &m->item.room, sizeof *m->item.at);
    make_slots(m, (size_t)m->item.room);
}

bool weft_map_put(weft_map *m, const char *key, size_t n, int value)
{
    return weft_map_put_hinted(m, key, n, weft_map_hash(m, key, n), value);
}

void weft_map_set(weft_map *m, const char *key, size_t n, int value)
{
    uint32_t slot = *weft_map_find(m, key, n, weft_map_hash(m, key, n));

    if (slot)
        item_of(m, slot)->value = value;
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
