/* SPDX-License-Identifier: MIT */
/* link_curve.c: seconds of a message by its size.
 *
 * Points (bytes, seconds), both ascending, seconds not strictly. Between two points seconds are
 * linear in bytes; before the first and behind the last point the bandwidth is that of the point.
 * So more bytes never take less time. */
#include "platform.h"

double weft_link_curve_s(const weft_link_curve *c, double bytes)
{
    int low = 0, high = c->n - 1;
    double part;

    if (bytes <= c->bytes[0])
        return bytes / c->bytes[0] * c->seconds[0];
    if (bytes >= c->bytes[high])
        return bytes / c->bytes[high] * c->seconds[high];
    while (high - low > 1) {
        int middle = low + (high - low) / 2;

        if (c->bytes[middle] <= bytes)
            low = middle;
        else
            high = middle;
    }
    part = (bytes - c->bytes[low]) / (c->bytes[high] - c->bytes[low]);
    return c->seconds[low] + part * (c->seconds[high] - c->seconds[low]);
}

double weft_link_curves_s(const weft_link_curve *list, uint64_t curves, double bytes)
{
    double longest_s = 0;

    for (int i = 0; curves >> i != 0; i++)
        if (curves >> i & 1) {
            double s = weft_link_curve_s(&list[i], bytes);

            longest_s = s > longest_s ? s : longest_s;
        }
    return longest_s;
}
