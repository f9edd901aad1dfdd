/* SPDX-License-Identifier: MIT */
/* pool.c: loops whose items run side by side.
 *
 * A shared counter hands out the items one by one, so threads that draw short items take more of
 * them. Every item runs exactly once and all have ended when the call returns. If the system
 * refuses a thread the others do its share. The message of a failure belongs to its thread: work
 * functions keep what the caller must see. */
#define _POSIX_C_SOURCE 200809L
#include "base.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct loop {
    atomic_llong next; /* wider than n: each thread counts once past the end */
    int n;
    void (*work)(void *context, int i);
    void *context;
} loop;

static void *run_items(void *shared)
{
    loop *l = shared;

    for (;;) {
        long long i = atomic_fetch_add(&l->next, 1);

        if (i >= l->n)
            return NULL;
        l->work(l->context, (int)i);
    }
}

void weft_parallel(int n_threads, int n, void (*work)(void *context, int i), void *context)
{
    loop l = {.n = n, .work = work, .context = context};
    int n_helpers = (n_threads < n ? n_threads : n) - 1, n_started = 0;
    weft_arena *a;
    pthread_t *helper;

    atomic_init(&l.next, 0);
    if (n_helpers < 1) {
        run_items(&l);
        return;
    }
    a = weft_arena_new();
    helper = WEFT_NEW(a, pthread_t, n_helpers);
    while (n_started < n_helpers && pthread_create(&helper[n_started], NULL, run_items, &l) == 0)
        n_started++;
    run_items(&l);
    for (int i = 0; i < n_started; i++)
        pthread_join(helper[i], NULL);
    weft_arena_free(a);
}
