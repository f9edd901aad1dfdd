/* SPDX-License-Identifier: MIT */
/* arena.c: memory in chunks that are released together.
 *
 * Chunks form a list; each knows how many bytes were handed out before it, so a mark is one
 * number and a rewind frees the chunks that begin after it. Under the address sanitizer every
 * allocation is followed by a poisoned gap, so that overruns inside a chunk are caught too. */
#include "base.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define WEFT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_ASAN 1
#endif
#endif
#ifdef WEFT_ASAN
#include <sanitizer/asan_interface.h>
enum { GAP = 32 };
#else
#define ASAN_POISON_MEMORY_REGION(at, n) ((void)(at), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(at, n) ((void)(at), (void)(n))
enum { GAP = 0 };
#endif

enum { ALIGN = 16, FIRST_CHUNK = 4096, LARGEST_STEP = 1 << 18 };

typedef struct chunk {
    struct chunk *before;
    size_t start; /* bytes of all earlier chunks */
    size_t size;
} chunk;

enum { HEAD = (sizeof(chunk) + ALIGN - 1) / ALIGN * ALIGN };

struct weft_arena {
    chunk *last;
    uint8_t *at, *end; /* what is left of the last chunk */
};

static void *need(void *memory, size_t bytes)
{
    if (memory == NULL)
        weft_out_of_memory(bytes);
    return memory;
}

static uint8_t *bytes_of(chunk *c)
{
    return (uint8_t *)c + HEAD;
}

weft_arena *weft_arena_new(void)
{
    return need(calloc(1, sizeof(weft_arena)), sizeof(weft_arena));
}

static void drop_last(weft_arena *a)
{
    chunk *c = a->last;

    a->last = c->before;
    ASAN_UNPOISON_MEMORY_REGION(bytes_of(c), c->size);
    free(c);
}

void weft_arena_free(weft_arena *a)
{
    if (a == NULL)
        return;
    while (a->last)
        drop_last(a);
    free(a);
}

static void add_chunk(weft_arena *a, size_t least)
{
    size_t size = a->last ? a->last->size * 2 : FIRST_CHUNK;
    chunk *c;

    if (size > LARGEST_STEP)
        size = LARGEST_STEP;
    if (size < least)
        size = least;
    if (size > SIZE_MAX - HEAD)
        weft_out_of_memory(size);
    c = need(malloc(HEAD + size), HEAD + size);
    *c = (chunk){a->last, a->last ? a->last->start + a->last->size : 0, size};
    ASAN_POISON_MEMORY_REGION(bytes_of(c), size);
    a->last = c;
    a->at = bytes_of(c);
    a->end = a->at + size;
}

/* The next bytes whose address is a multiple of `align`, a power of two up to ALIGN. */
static void *take(weft_arena *a, size_t bytes, size_t align)
{
    size_t skip = -(uintptr_t)a->at & (align - 1), whole = skip + bytes + GAP;
    void *at;

    if (whole < bytes)
        weft_out_of_memory(bytes);
    if (a->last == NULL || (size_t)(a->end - a->at) < whole) {
        add_chunk(a, bytes + GAP);
        skip = 0;
    }
    at = a->at + skip;
    a->at += skip + bytes + GAP;
    ASAN_UNPOISON_MEMORY_REGION(at, bytes);
    return at;
}

void *weft_arena_raw(weft_arena *a, size_t bytes)
{
    return take(a, bytes, ALIGN);
}

void weft_arena_reserve(weft_arena *a, size_t bytes)
{
    if (a->last == NULL || (size_t)(a->end - a->at) < bytes)
        add_chunk(a, bytes);
}

void *weft_arena_alloc(weft_arena *a, size_t bytes)
{
    return memset(weft_arena_raw(a, bytes), 0, bytes);
}

static size_t product(size_t n, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(n, size, &bytes))
        weft_out_of_memory(SIZE_MAX);
    return bytes;
}

void *weft_arena_array(weft_arena *a, size_t n, size_t size)
{
    return weft_arena_alloc(a, product(n, size));
}

void *weft_arena_raw_array(weft_arena *a, size_t n, size_t size)
{
    return weft_arena_raw(a, product(n, size));
}

size_t weft_arena_mark(const weft_arena *a)
{
    return a->last ? a->last->start + (size_t)(a->at - bytes_of(a->last)) : 0;
}

/* The first chunk is kept: arenas that are rewound again and again must not call the allocator. */
void weft_arena_rewind(weft_arena *a, size_t mark)
{
    if (a->last == NULL)
        return;
    while (a->last->before && a->last->start >= mark) {
        drop_last(a);
        a->at = a->end = bytes_of(a->last) + a->last->size;
    }
    if (mark - a->last->start <= (size_t)(a->at - bytes_of(a->last))) {
        a->at = bytes_of(a->last) + (mark - a->last->start);
        ASAN_POISON_MEMORY_REGION(a->at, (size_t)(a->end - a->at));
    }
}

void *weft_arena_copy(weft_arena *a, const void *from, size_t bytes)
{
    void *to = weft_arena_raw(a, bytes);

    return bytes ? memcpy(to, from, bytes) : to;
}

char *weft_arena_text(weft_arena *a, const char *from, size_t n)
{
    char *to = take(a, n + 1, 1);

    if (n)
        memcpy(to, from, n);
    to[n] = '\0';
    return to;
}

char *weft_arena_word(weft_arena *a, const char *from)
{
    return weft_arena_text(a, from, strlen(from));
}

char *weft_arena_print(weft_arena *a, const char *format, ...)
{
    va_list args;
    char *to;
    int n;

    va_start(args, format);
    n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    to = take(a, (size_t)n + 1, 1);
    va_start(args, format);
    vsnprintf(to, (size_t)n + 1, format, args);
    va_end(args);
    return to;
}

void *weft_arena_grow(weft_arena *a, void *at, int n, int *room, size_t size)
{
    void *to;

    if (n < *room)
        return at;
    if (*room > INT_MAX / 2)
        weft_out_of_memory(2 * (size_t)*room * size);
    *room = *room ? *room * 2 : 8;
    to = weft_arena_raw_array(a, (size_t)*room, size);
    return n ? memcpy(to, at, (size_t)n * size) : to;
}
