/* SPDX-License-Identifier: MIT */
/* colours.c: the colours of drawings, as page/page.css, page/base.js and page/timeline.js have
 * them.
 *
 * Text is black or white by the relative luminance of its ground (Web Content Accessibility
 * Guidelines 2.1: linear red, green and blue, weighted as the eye does). */
#include "colours.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const weft_series[WEFT_N_SERIES] = {"#2b7bba", "#e69f00", "#0a8f6a", "#c4511c",
                                                "#b565a0", "#6bb8e8", "#7a6a1f", "#5d54a4"};
const char weft_ink_text[] = "#1b222c", weft_ink_dim[] = "#5b6675", weft_ink_line[] = "#dfe3e8",
           weft_ink_link[] = "#8793a3", weft_ink_faint[] = "#eef0f3", weft_ink_alert[] = "#b3401a";

/* Red, green, blue: 0 .. 255. */
static void parts(const char *colour, double out[3])
{
    unsigned long rgb = strtoul(colour + 1, NULL, 16);

    for (int i = 0; i < 3; i++)
        out[i] = (double)(rgb >> (16 - 8 * i) & 255);
}

static const char *blend(const char *from, const char *with, double share,
                         char to[WEFT_COLOUR_BYTES])
{
    double x[3], y[3];
    unsigned mixed = 0;

    parts(from, x);
    parts(with, y);
    for (int i = 0; i < 3; i++)
        mixed = mixed << 8 | (unsigned)(x[i] + (y[i] - x[i]) * share + 0.5);
    snprintf(to, WEFT_COLOUR_BYTES, "#%06x", mixed & 0xffffff);
    return to;
}

const char *weft_series_colour(int i, char to[WEFT_COLOUR_BYTES])
{
    static const double step = 0.3, most = 0.75;

    if (i < 0)
        return weft_ink_link;
    if (i < WEFT_N_SERIES)
        return weft_series[i];
    return blend(weft_series[i % WEFT_N_SERIES], weft_ink_text,
                 fmin(step * (i / WEFT_N_SERIES), most), to); // NOLINT(bugprone-integer-division)
}

const char *weft_text_on(const char *colour)
{
    static const double weight[3] = {0.2126, 0.7152, 0.0722}, limit = 0.2;
    double rgb[3], luminance = 0;

    parts(colour, rgb);
    for (int i = 0; i < 3; i++) {
        double v = rgb[i] / 255;

        luminance += weight[i] * (v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4));
    }
    return luminance > limit ? "#10141a" : "#ffffff";
}

const char *weft_kind_colour(const char *kind, int i)
{
    static const struct {
        const char *kind;
        int series;
        const char *colour;
    } known[] = {
        {"compute",   0,  NULL          },
        {"forward",   0,  NULL          },
        {"backward",  1,  NULL          },
        {"recompute", 4,  NULL          },
        {"update",    2,  NULL          },
        {"sync",      3,  NULL          },
        {"shared",    6,  NULL          },
        {"transfer",  -1, weft_ink_link },
        {"send",      -1, weft_ink_link },
        {"return",    -1, weft_ink_dim  },
        {"rotate",    1,  NULL          },
        {"reduce",    3,  NULL          },
        {"reshard",   4,  NULL          },
        {"handover",  5,  NULL          },
        {"host",      -1, weft_ink_link },
        {"wait",      -1, weft_ink_faint},
    };

    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++)
        if (strcmp(kind, known[k].kind) == 0)
            return known[k].colour != NULL ? known[k].colour : weft_series[known[k].series];
    return weft_series[i % WEFT_N_SERIES];
}
