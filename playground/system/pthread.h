/* SPDX-License-Identifier: MIT */
/* pthread.h: no thread can be made, and the only one needs no lock. */
#ifndef WEFT_PLAYGROUND_PTHREAD_H
#define WEFT_PLAYGROUND_PTHREAD_H

#include <errno.h>
#include <sys/types.h>
#include <time.h>

#define PTHREAD_MUTEX_INITIALIZER                                                                  \
    {                                                                                              \
        {                                                                                          \
            {                                                                                      \
                0                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
#define PTHREAD_ONCE_INIT 0

static inline int pthread_create(pthread_t *t, const void *how, void *(*f)(void *), void *context)
{
    (void)t, (void)how, (void)f, (void)context;
    return EAGAIN;
}

static inline int pthread_join(pthread_t t, void **result)
{
    (void)t, (void)result;
    return EINVAL;
}

static inline int pthread_mutex_init(pthread_mutex_t *m, const void *how)
{
    (void)m, (void)how;
    return 0;
}

static inline int pthread_mutex_lock(pthread_mutex_t *m)
{
    (void)m;
    return 0;
}

static inline int pthread_mutex_unlock(pthread_mutex_t *m)
{
    (void)m;
    return 0;
}

static inline int pthread_mutex_destroy(pthread_mutex_t *m)
{
    (void)m;
    return 0;
}

static inline int pthread_condattr_init(pthread_condattr_t *how)
{
    (void)how;
    return 0;
}

static inline int pthread_condattr_setclock(pthread_condattr_t *how, clockid_t clock)
{
    (void)how, (void)clock;
    return 0;
}

static inline int pthread_condattr_destroy(pthread_condattr_t *how)
{
    (void)how;
    return 0;
}

static inline int pthread_cond_init(pthread_cond_t *c, const pthread_condattr_t *how)
{
    (void)c, (void)how;
    return 0;
}

static inline int pthread_cond_signal(pthread_cond_t *c)
{
    (void)c;
    return 0;
}

/* Nobody else could end the wait. */
static inline int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
                                         const struct timespec *until)
{
    (void)c, (void)m, (void)until;
    return ETIMEDOUT;
}

static inline int pthread_once(pthread_once_t *once, void (*f)(void))
{
    if (*once == 0) {
        *once = 1;
        f();
    }
    return 0;
}

#endif
