/* SPDX-License-Identifier: MIT */
/* The language of the built-in networks: values, control, calls, failures with their place. */
#include "check.h"

#include "script.h"

/* print(x, ...) appends its arguments to a text. */
typedef struct printer {
    weft_arena *arena;
    const char *text;
} printer;

static bool hook(void *context, const weft_script_args *args, weft_script_value *out)
{
    printer *p = context;

    if (strcmp(args->name, "print") != 0)
        return false;
    for (int i = 0; i < args->n + args->n_named; i++)
        p->text = args->at[i].kind == WEFT_SCRIPT_TEXT
                      ? weft_arena_print(p->arena, "%s%s;", p->text, args->at[i].text)
                      : weft_arena_print(p->arena, "%s%g;", p->text, args->at[i].f);
    *out = weft_script_int(args->n);
    return true;
}

static weft_status run(weft_arena *a, const char *text, const char **printed)
{
    printer p = {a, ""};
    weft_script *s = weft_script_new(a, hook, &p);
    weft_script_value value;
    const char *name, *summary;
    weft_status status;

    weft_script_add(s, "test", text);
    assert_true(weft_script_model(s, 0, &name, &summary));
    status = weft_script_declare(s, 0);
    if (status == WEFT_OK)
        status = weft_script_run(s, &value);
    *printed = p.text;
    return status;
}

static void check(const char *body, const char *expected)
{
    weft_arena *a = weft_arena_new();
    const char *printed;

    CHECK_OK(run(a,
                 weft_arena_print(a, "model m \"one\"\n{\n%s\n}\n%s", body,
                                  "def twice(x, by=2) {\n    return by * x\n}\n"
                                  "def first(list) {\n"
                                  "    for x in list { return x }\n    return \"none\"\n}\n"),
                 &printed));
    CHECK_TEXT(printed, expected);
    weft_arena_free(a);
}

static void check_fails(const char *body, const char *part)
{
    weft_arena *a = weft_arena_new();
    const char *printed;

    CHECK_FAILS(run(a, weft_arena_print(a, "model m \"one\"\n{\n%s\n}\n", body), &printed), part);
    weft_arena_free(a);
}

TEST(numbers_follow_the_rules_of_c)
{
    check("print(2 + 3 * 4, (2 + 3) * 4, 7 / 2, 7 % 4, 7 / 2.0, -3, 1 << 4)",
          "14;20;3;3;3.5;-3;16;");
    check("print(1 < 2, 2 <= 1, 1.5 > 1, 1 == 1.0, 1 != 1, !0, 1 && 0, 0 || 2)",
          "1;0;1;1;0;1;0;1;");
    check("print(9 - 3 - 2, 1 == 2 ? 5 : 6, 1e3)", "4;6;1000;");
}

TEST(texts_lists_and_names)
{
    check("x = 3 print(\"a{x + 1}b{x}\") # a remark\n", "a4b3;");
    check("x = [1, [2, 5]] print(x[0], x[1][1])", "1;5;");
    check("print(none == none, \"a\" == \"a\", \"a\" != \"b\", [1][0])", "1;1;1;1;");
}

TEST(control_does_what_is_asked_and_no_more)
{
    check("for i in 2..5 { print(i) } for i in 5..2 { print(i) }", "2;3;4;");
    check("for x in [3, \"b\"] { print(x) }", "3;b;");
    check("if 0 { print(1) } else if 1 { print(2) } else { print(3) }", "2;");
    check("x = 0 && print(1) ? print(2) : print(3)", "3;");
}

TEST(functions_have_defaults_and_return_at_once)
{
    check("print(twice(4), twice(4, 3), twice(4, by=5), first([7, 8]), first([]))",
          "8;12;20;7;none;");
}

TEST(failures_name_the_line)
{
    check_fails("print(x)", "test:3: no value is called x");
    check_fails("\nfoo(1)", "test:4: there is no function foo");
    check_fails("print(1 / 0)", "division by 0");
    check_fails("print([1][1])", "test:3: no list, or none of so many");
    check_fails("x = ", "expected a name");
    check_fails("print(\"a\" + 1)", "only numbers know +");
    check_fails("if 1 { print(1)", "expected a name");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_follow_the_rules_of_c),
        cmocka_unit_test(texts_lists_and_names),
        cmocka_unit_test(control_does_what_is_asked_and_no_more),
        cmocka_unit_test(functions_have_defaults_and_return_at_once),
        cmocka_unit_test(failures_name_the_line),
    };

    return RUN_TESTS(tests);
}
