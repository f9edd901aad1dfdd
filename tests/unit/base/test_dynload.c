/* SPDX-License-Identifier: MIT */
/* Libraries that are loaded on demand; the C library's own is one that every system has. */
#include "check.h"
#include "dynload.h"

#include <stdlib.h>

typedef struct calls {
    __typeof__(abs) *first;
    __typeof__(labs) *second;
} calls;

static const weft_symbol symbols[] = {
    {"abs",    offsetof(calls, first)},
    {"labs",        offsetof(calls,                 second)},
    {"weft_no_such_call", 0}
};

TEST(functions_are_found_each_time_and_go_where_the_table_says)
{
    weft_dynload l = {"The C library", "libc.so.6", "libc6", symbols, 2};

    for (int i = 0; i < 3; i++) {
        calls c = {NULL, NULL};

        CHECK_OK(weft_dynload_open(&l, &c));
        CHECK_INT(c.first(-7), 7);
        CHECK_INT(c.second(-5000000000L), 5000000000L);
    }
}

TEST(a_missing_library_is_named_with_its_package)
{
    weft_dynload l = {"Nothing", "libweft-nothing.so.1", "libnothing1", symbols, 2};
    calls c;

    CHECK_INT(weft_dynload_open(&l, &c), WEFT_E_SYSTEM);
    CHECK(strstr(weft_message(), "Nothing cannot be loaded from libweft-nothing.so.1") != NULL);
    CHECK(strstr(weft_message(), "package libnothing1") != NULL);
}

TEST(a_missing_function_is_named)
{
    weft_dynload l = {"The C library", "libc.so.6", "libc6", symbols, 3};
    calls c;

    CHECK_INT(weft_dynload_open(&l, &c), WEFT_E_SYSTEM);
    CHECK(strstr(weft_message(), "weft_no_such_call") != NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_found_each_time_and_go_where_the_table_says),
        cmocka_unit_test(a_missing_library_is_named_with_its_package),
        cmocka_unit_test(a_missing_function_is_named),
    };

    return RUN_TESTS(tests);
}
