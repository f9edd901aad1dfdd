/* SPDX-License-Identifier: MIT */
/* Gaps between the slots of a device, against a walk over a sorted array. */
#include "check.h"

#include "lane.h"

#include <math.h>

enum { N_LANES = 300, MOST_SLOTS = 60, N_LONG = 100000 };

typedef struct naive {
    double start_s[MOST_SLOTS], end_s[MOST_SLOTS];
    int n;
} naive;

static void naive_put(naive *x, double start_s, double end_s)
{
    int at = x->n++;

    for (; at > 0 && (x->start_s[at - 1] > start_s ||
                      (x->start_s[at - 1] == start_s && x->end_s[at - 1] > end_s));
         at--) {
        x->start_s[at] = x->start_s[at - 1];
        x->end_s[at] = x->end_s[at - 1];
    }
    x->start_s[at] = start_s;
    x->end_s[at] = end_s;
}

static void naive_take(naive *x, int at)
{
    x->n--;
    for (int i = at; i < x->n; i++) {
        x->start_s[i] = x->start_s[i + 1];
        x->end_s[i] = x->end_s[i + 1];
    }
}

static double naive_gap(const naive *x, double ready_s, double length_s)
{
    double at_s = ready_s;

    for (int i = 0; i < x->n; i++) {
        if (x->end_s[i] <= ready_s)
            continue;
        if (x->start_s[i] - at_s >= length_s)
            break;
        at_s = fmax(at_s, x->end_s[i]);
    }
    return at_s;
}

/* Whole seconds, so that gaps of just the length wanted, and of none, are common. */
static void run_lane(weft_rng *rng, weft_arena *a)
{
    weft_lane lane = weft_lane_new();
    naive x = {.n = 0};

    for (int i = 0; i < 3 * MOST_SLOTS; i++) {
        double ready_s = weft_rng_below(rng, 200), length_s = weft_rng_below(rng, 6);
        double at_s = weft_lane_gap(&lane, ready_s, length_s);

        assert_true(at_s == naive_gap(&x, ready_s, length_s));
        if (x.n > 0)
            assert_true(weft_lane_end(&lane) == x.end_s[x.n - 1]);
        if (x.n == MOST_SLOTS || (x.n > 0 && weft_rng_below(rng, 3) == 0)) {
            int out = (int)weft_rng_below(rng, x.n);

            weft_lane_take(&lane, x.start_s[out], x.end_s[out]);
            naive_take(&x, out);
        } else {
            weft_lane_put(&lane, at_s, at_s + length_s, a);
            naive_put(&x, at_s, at_s + length_s);
        }
        assert_int_equal(lane.n, x.n);
    }
}

static void gaps_are_those_of_a_walk(void **state)
{
    weft_rng rng = weft_rng_seed(14);

    (void)state;
    for (int i = 0; i < N_LANES; i++) {
        weft_arena *a = weft_arena_new();

        run_lane(&rng, a);
        weft_arena_free(a);
    }
}

/* Depth of the tree below slot i. */
static int depth_of(const weft_lane *l, int i)
{
    int left, right;

    if (i < 0)
        return 0;
    left = depth_of(l, l->slot.at[i].left);
    right = depth_of(l, l->slot.at[i].right);
    return 1 + (left > right ? left : right);
}

/* Slots from first to last, then from last to first between them: no order makes the tree deep. */
static void trees_stay_flat(void **state)
{
    weft_arena *a = weft_arena_new();
    weft_lane lane = weft_lane_new();

    (void)state;
    for (int i = 0; i < N_LONG; i++)
        weft_lane_put(&lane, 4.0 * i, 4.0 * i + 1, a);
    for (int i = N_LONG - 1; i >= 0; i--)
        weft_lane_put(&lane, 4.0 * i + 2, 4.0 * i + 3, a);
    assert_int_equal(lane.n, 2 * N_LONG);
    assert_true(depth_of(&lane, lane.root) < 64);
    assert_true(weft_lane_gap(&lane, 0, 1) == 1);
    assert_true(weft_lane_gap(&lane, 0, 2) == 4.0 * N_LONG - 1);
    weft_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps_are_those_of_a_walk),
        cmocka_unit_test(trees_stay_flat),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
