/* SPDX-License-Identifier: MIT */
/* block_layout.c: what members have of a tensor, and what it takes to get from one layout to
 * another.
 *
 * Values: member j needs N[j] and has O[j], so it receives |N[j]| - |N[j] and O[j]| elements.
 * Gradients go the other way: member i has a part of the sum for every place of N[i], and member j
 * wants the sum for O[j]. Members send each other what concerns them, so j receives the sum over
 * i /= j of |N[i] and O[j]|: all-gather if N is disjoint and O whole, reduce-scatter if N is whole
 * and O disjoint, an exchange of borders for halos. If all have and want the same, a ring does it
 * with 2 (n-1)/n of the bytes. */
#include "block_part.h"

static int64_t elements_of(const weft_layout *l, int member)
{
    int64_t sum = 0;

    for (int i = 0; i < l->n; i++)
        sum += weft_box_elements(&l->box[member * l->n + i]);
    return sum;
}

static int64_t common_of(const weft_layout *a, int i, const weft_layout *b, int j)
{
    int64_t sum = 0;

    for (int x = 0; x < a->n; x++)
        for (int y = 0; y < b->n; y++)
            sum += weft_box_common(&a->box[i * a->n + x], &b->box[j * b->n + y]);
    return sum;
}

int64_t weft_layout_most(const weft_layout *l)
{
    int64_t most = 0;

    for (int j = 0; j < (l->is_same ? 1 : l->n_members); j++) {
        int64_t x = elements_of(l, j);

        most = x > most ? x : most;
    }
    return most;
}

int64_t weft_layout_receive(const weft_layout *own, const weft_layout *need)
{
    int n = own->is_same && need->is_same ? 1 : need->n_members;
    int64_t most = 0;

    for (int j = 0; j < n; j++) {
        int64_t x = elements_of(need, j) - common_of(need, j, own, j);

        most = x > most ? x : most;
    }
    return most;
}

bool weft_layout_within(const weft_layout *inner, const weft_layout *outer)
{
    return weft_layout_receive(outer, inner) == 0;
}

double weft_layout_sum_s(const weft_layout *from, const weft_layout *to, double element_bytes,
                         const weft_link_cost *inside)
{
    int64_t most = 0;

    if (from->is_same && to->is_same)
        return weft_ring_s(inside, to->n_members, WEFT_ALL_REDUCE,
                           element_bytes * (double)common_of(from, 0, to, 0));
    for (int j = 0; j < to->n_members; j++) {
        int64_t sum = 0;

        for (int i = 0; i < from->n_members; i++)
            sum += i == j ? 0 : common_of(from, i, to, j);
        most = sum > most ? sum : most;
    }
    return weft_link_cost_s(inside, element_bytes * (double)most);
}
