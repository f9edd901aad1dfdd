/* SPDX-License-Identifier: MIT */
/* traffic.c: bytes between memory and a buffer when a matrix product is computed in tiles.
 *
 * M x K by K x N, b bytes an element, partial sums of s = max(4, b) bytes; half of the buffer of S
 * bytes holds the tiles in use, the other half those that are being loaded. The least of
 *
 *   K innermost       b (M K ceil(N/Tn) + K N ceil(M/Tm) + M N)
 *                     if s Tm Tn + b (Tm + Tn) <= S/2
 *   right resident    b (K N + M K ceil(N/Tn) + M N) + 2 s M N (ceil(K/Tk) - 1)
 *                     if b Tk Tn + b Tk + s Tn <= S/2
 *   left resident     the same with M and N, left and right exchanged                       [bytes]
 *
 * over tiles that are powers of two or the whole dimension. (Tk of the first and Tm of the second
 * form cost room and save nothing, so they are 1.) If not even tiles of 1 fit: those, in registers.
 * For a given tile of one dimension the largest of the other is best and its limit is linear, so
 * the search takes O(log) steps and is exact over these tiles.
 *
 * Guarantee: at least b (M K + K N + M N), never more with a larger buffer, and never below the
 * bound 2 M N K / sqrt(S) - 2 S elements of Smith et al., arXiv 1702.02017.
 * Source of the forms: tiling of a double-buffered memory as in public estimators of accelerators
 * (WHAM, Phaze), with the partial sums written out. */
#include "arrays.h"

#include <math.h>

typedef struct product {
    double m, n, k;
    double left, right;  /* elements of the operands */
    double element, sum; /* bytes */
} product;

/* The largest power of two, or the whole dimension, up to `room`; 0 if none. */
static double largest_tile(double room, double dim)
{
    int exponent;

    if (!(room >= 1))
        return 0;
    if (dim <= room)
        return dim;
    (void)frexp(room, &exponent);
    return ldexp(1, exponent - 1);
}

static double next_tile(double tile, double dim)
{
    return tile < dim ? weft_less(2 * tile, dim) : INFINITY;
}

static double innermost_elements(const product *p, double tm, double tn)
{
    return p->left * weft_n_tiles(p->n, tn) + p->right * weft_n_tiles(p->m, tm) + p->m * p->n;
}

static double k_innermost(const product *p, double room)
{
    double best = innermost_elements(p, 1, 1), tn = 1;

    while (tn <= p->n) {
        double tm = largest_tile((room - p->element * tn) / (p->sum * tn + p->element), p->m);

        if (tm >= 1)
            best = weft_less(best, innermost_elements(p, tm, tn));
        tn = next_tile(tn, p->n);
    }
    return p->element * best;
}

/* The right operand stays in panels of tk x tn, the left one passes once for each panel column. */
static double right_resident(const product *p, double room)
{
    double best = INFINITY, tn = 1;

    while (tn <= p->n) {
        double tk = largest_tile((room - p->sum * tn) / (p->element * tn + p->element), p->k);

        if (tk >= 1)
            best = weft_less(best, p->element * p->left * weft_n_tiles(p->n, tn) +
                                       2 * p->sum * p->m * p->n * (weft_n_tiles(p->k, tk) - 1));
        tn = next_tile(tn, p->n);
    }
    return best + p->element * (p->right + p->m * p->n);
}

static double traffic(const product *p, double sram_bytes)
{
    product exchanged = {p->n, p->m, p->k, p->right, p->left, p->element, p->sum};
    double room = sram_bytes / 2;

    return weft_less(k_innermost(p, room),
                     weft_less(right_resident(p, room), right_resident(&exchanged, room)));
}

/* Elements of the input of one group, rows and columns at the border included. */
static double input_elements(const weft_layer *l)
{
    double high = ((double)l->r - 1) * (double)l->stride + (double)l->kh;
    double wide = ((double)l->c - 1) * (double)l->stride + (double)l->kw;

    return (double)l->batch * (double)l->n * high * wide;
}

double weft_layer_traffic(const weft_layer *l, int element_bytes, double sram_bytes)
{
    double b = element_bytes;
    product p = {.m = (double)l->batch * (double)l->r * (double)l->c,
                 .n = (double)l->m,
                 .k = (double)l->n * (double)l->kh * (double)l->kw,
                 .element = b,
                 .sum = fmax(4, b)};

    if (!(p.m > 0 && p.n > 0 && p.k > 0))
        return 0;
    p.left =
        weft_less(p.m * p.k, input_elements(l)); /* a stride may skip more than windows share */
    p.right = p.k * p.n;
    return (double)l->groups * traffic(&p, sram_bytes);
}

double weft_key_traffic(const weft_work_key *k, double sram_bytes)
{
    double bytes = 0;

    for (int i = 0; i < k->n_layers - k->n_again && sram_bytes > 0; i++)
        bytes += weft_layer_traffic(&k->layer[i], k->element_bytes, sram_bytes);
    return fmax(bytes - (double)k->inner_bytes, weft_compulsory_bytes(k));
}
