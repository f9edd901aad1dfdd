/* SPDX-License-Identifier: MIT */
/* Calls in a process of their own. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "subprocess.h"

#include <time.h>

typedef struct shared {
    volatile sig_atomic_t stop;
    int value;
} shared;

static shared *new_shared(void)
{
    shared *s = weft_subprocess_memory(sizeof *s);

    assert_non_null(s);
    assert_int_equal(s->value, 0);
    return s;
}

static int beside; /* not shared */

static void write_both(void *context)
{
    ((shared *)context)->value = 42;
    beside = 42;
}

static void what_is_shared_comes_back_and_nothing_else(void **state)
{
    shared *s = new_shared();

    (void)state;
    assert_true(weft_subprocess(write_both, s, NULL, &s->stop));
    assert_int_equal(s->value, 42);
    assert_int_equal(beside, 0);
    weft_subprocess_release(s, sizeof *s);
}

static void crash(void *context)
{
    ((shared *)context)->value = 1;
    raise(SIGKILL);
}

static void a_crash_is_no_answer(void **state)
{
    shared *s = new_shared();

    (void)state;
    assert_false(weft_subprocess(crash, s, NULL, &s->stop));
    assert_int_equal(s->value, 1);
    assert_true(weft_subprocess(write_both, s, NULL, &s->stop));
    weft_subprocess_release(s, sizeof *s);
}

static void wait_for_stop(void *context)
{
    shared *s = context;

    for (int i = 0; i < 60000 && !s->stop; i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    s->value = s->stop ? 1 : 2;
}

static void a_stop_is_passed_on(void **state)
{
    volatile sig_atomic_t stop = 1;
    shared *s = new_shared();

    (void)state;
    assert_true(weft_subprocess(wait_for_stop, s, &stop, &s->stop));
    assert_int_equal(s->value, 1);
    weft_subprocess_release(s, sizeof *s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_shared_comes_back_and_nothing_else),
        cmocka_unit_test(a_crash_is_no_answer),
        cmocka_unit_test(a_stop_is_passed_on),
    };

    return RUN_TESTS(tests);
}
