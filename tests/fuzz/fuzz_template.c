/* SPDX-License-Identifier: MIT */
/* fuzz_template.c: search spaces from anywhere.
 *
 * 1. The reader refuses the bytes or makes a template whose lists ascend and whose landmarks are
 *    points of it.
 * 2. Area and power of designs are numbers, not negative, and grow from the lower to the upper
 *    corner, which searches rely on.
 * 3. Numbers of designs and designs belong together; the same bytes give the same hash. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool condition)
{
    if (!condition)
        abort();
}

static void check_sizes(const weft_template *t)
{
    for (int k = 0; k < WEFT_N_PARAMETERS; k++) {
        expect(t->n_sizes[k] >= 1 && t->n_sizes[k] <= WEFT_MOST_SIZES);
        for (int i = 0; i < t->n_sizes[k]; i++)
            expect(t->size[k][i] > 0 && (i == 0 || t->size[k][i] > t->size[k][i - 1]));
    }
    for (int i = 0; i < WEFT_N_CONSTANTS; i++)
        expect(t->constant[i].error >= 0 && !isnan(t->constant[i].value));
}

static void check_point(const weft_template *t, const weft_design_point *p)
{
    weft_design_point back = weft_point_at(t, weft_point_index(t, p));
    char text[96];

    expect(memcmp(&back, p, sizeof back) == 0);
    expect(weft_design_point_area_mm2(t, p) >= 0 && weft_design_point_tdp_w(t, p) >= 0);
    expect(weft_point_print(t, p, text) == text && strlen(text) < sizeof text);
}

static void check_points(const weft_template *t)
{
    int64_t n = weft_template_points(t);
    weft_design_point first = weft_point_at(t, 0), last = weft_point_at(t, n - 1);

    expect(n >= 1);
    check_point(t, &first);
    check_point(t, &last);
    for (int i = 0; i < t->n_landmarks; i++)
        check_point(t, &t->landmark[i].point);
    expect(weft_design_point_area_mm2(t, &first) <= weft_design_point_area_mm2(t, &last));
    expect(weft_design_point_tdp_w(t, &first) <= weft_design_point_tdp_w(t, &last));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    weft_template *t = NULL, *again = NULL;

    if (weft_template_parse((const char *)data, size, "input", &t) != WEFT_OK)
        return 0;
    check_sizes(t);
    check_points(t);
    expect(weft_template_parse((const char *)data, size, "input", &again) == WEFT_OK);
    expect(again->hash == t->hash);
    weft_template_free(again);
    weft_template_free(t);
    return 0;
}
