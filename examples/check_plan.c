/* SPDX-License-Identifier: MIT */
/* check_plan.c: recomputes everything that a plan file claims, and makes a page of it.
 *
 *   cc check_plan.c $(pkg-config --cflags --libs weft) -o check_plan
 *   weft place resnet50 --on edge-soc -o plan.json && ./check_plan plan.json page.html
 */
#include <stdio.h>
#include <weft.h>

static void print_check(const char *path, const weft_check *c)
{
    if (weft_check_is_legal(c))
        printf("%s: legal, and worth what it claims; bound %s\n", path,
               weft_check_is_bound_proved(c) ? "proved again" : "rests on a search");
    for (int i = 0; i < weft_check_n_wrong(c); i++)
        printf("%s: %s\n", path, weft_check_wrong(c, i));
}

int main(int argc, char **argv)
{
    weft_plan *plan = NULL;
    weft_check *c = NULL;
    int is_legal;

    if (argc < 2) {
        fprintf(stderr, "usage: check_plan PLAN [PAGE]\n");
        return 2;
    }
    if (weft_plan_load(argv[1], &plan) != WEFT_OK ||
        weft_plan_verify(argv[1], NULL, NULL, &c) != WEFT_OK) {
        fprintf(stderr, "check_plan: %s\n", weft_message());
        weft_plan_close(plan);
        return 2;
    }
    printf("%s: a plan of %s, %d decisions, made by %s\n", argv[1], weft_plan_type(plan),
           weft_plan_n_decisions(plan), weft_plan_solver(plan));
    print_check(argv[1], c);
    is_legal = weft_check_is_legal(c);
    weft_check_close(c);
    weft_plan_close(plan);
    if (argc > 2 && weft_plan_report(argv[1], argv[2], NULL) != WEFT_OK) {
        fprintf(stderr, "check_plan: %s\n", weft_message());
        return 1;
    }
    return is_legal ? 0 : 1;
}
