/* SPDX-License-Identifier: MIT */
/* place_and_read.c: places a network on a platform and reads the plan.
 *
 *   cc place_and_read.c $(pkg-config --cflags --libs weft) -o place_and_read
 *   ./place_and_read tasks.json            (a file of tasks names its own devices)
 *   ./place_and_read resnet50 edge-soc plan.json
 */
#include <stdio.h>
#include <weft.h>

static void show(void *context, double value, double bound)
{
    int *n = (int *)context;

    (void)value;
    (void)bound;
    ++*n;
}

static weft_status place(const char *model, const char *platform, int *n_told, weft_result **out)
{
    weft_problem *p;
    weft_status status = weft_problem_open("place", model, platform, &p);

    if (status == WEFT_OK)
        status = weft_problem_set(p, "goal", "latency");
    if (status == WEFT_OK)
        status = weft_problem_set_time_limit(p, 5);
    if (status == WEFT_OK) {
        weft_problem_watch(p, show, n_told);
        status = weft_problem_solve(p, out);
    }
    weft_problem_close(p);
    return status;
}

static weft_status save(const weft_result *r, const char *path)
{
    weft_plan *plan;
    weft_status status = weft_plan_of_result(r, &plan);

    if (status == WEFT_OK)
        status = weft_plan_save(plan, path);
    weft_plan_close(plan);
    return status;
}

int main(int argc, char **argv)
{
    weft_result *r = NULL;
    int n_told = 0;
    weft_status status;

    if (argc < 2) {
        fprintf(stderr, "usage: place_and_read MODEL [PLATFORM [PLAN]]\n");
        return 2;
    }
    status = place(argv[1], argc > 2 ? argv[2] : NULL, &n_told, &r);
    if (status == WEFT_OK && argc > 3)
        status = save(r, argv[3]);
    if (status != WEFT_OK) {
        fprintf(stderr, "place_and_read: %s\n", weft_message());
        weft_result_close(r);
        return 2;
    }
    printf("%s: %.6g %s, no plan is below %.6g %s (%s)\n", weft_result_status(r),
           weft_result_value(r), weft_result_unit(r), weft_result_bound(r), weft_result_unit(r),
           weft_result_method(r));
    for (int i = 0; i < weft_result_n_decisions(r); i++)
        printf("%-8s %-6s %8.6g %8.6g\n", weft_result_task(r, i), weft_result_device(r, i),
               weft_result_start_s(r, i), weft_result_end_s(r, i));
    fprintf(stderr, "%d reports of progress\n", n_told);
    weft_result_close(r);
    return 0;
}
