/* SPDX-License-Identifier: MIT */
/* Tests read as sentences: TEST(name) { CHECK(...); } and a list in main (see any test). */
#ifndef WEFT_CHECK_H
#define WEFT_CHECK_H

/* cmocka wants these before its own header */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEST(name) static void name(void **state __attribute__((unused)))

#define CHECK(condition) assert_true(condition)
#define CHECK_INT(value, expected) assert_int_equal((long long)(value), (long long)(expected))
#define CHECK_TEXT(value, expected) assert_string_equal(value, expected)
#define CHECK_NEAR(value, expected)                                                                \
    assert_true(fabs((double)(value) - (double)(expected)) <= 1e-9 * (1 + fabs((double)(expected))))
#define CHECK_OK(call)                                                                             \
    do {                                                                                           \
        if ((call) != WEFT_OK)                                                                     \
            fail_msg("%s", weft_message());                                                        \
    } while (0)
/* The call fails as wrong input and its message contains `part`. */
#define CHECK_FAILS(call, part)                                                                    \
    do {                                                                                           \
        assert_int_equal(call, WEFT_E_INPUT);                                                      \
        if (strstr(weft_message(), part) == NULL)                                                  \
            fail_msg("message was: %s", weft_message());                                           \
    } while (0)

/* How many random instances of n a test draws: sanitizers take about ten times as long. N_MANY is for
 * costly ones: all with WEFT_LONG_TESTS=1 in the environment (./dev check --all), else a quarter. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_IS_SLOW 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(WEFT_IS_SLOW)
#define N_DRAWN(n) ((n) / 10)
#define N_MANY(n) ((n) / 10)
#define IS_THOROUGH 0 /* few instances: what is rare may not occur */
#else
#define N_DRAWN(n) (n)
#define N_MANY(n) (getenv("WEFT_LONG_TESTS") != NULL ? (n) : (n) / 4)
#define IS_THOROUGH 1
#endif

#define RUN_TESTS(list) cmocka_run_group_tests(list, NULL, NULL)

#endif
