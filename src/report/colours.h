/* SPDX-License-Identifier: MIT */
/* The colours of drawings: those of page/page.css in its light form, which a test compares. */
#ifndef WEFT_COLOURS_H
#define WEFT_COLOURS_H

enum { WEFT_N_SERIES = 8, WEFT_COLOUR_BYTES = 8 };

extern const char *const weft_series[WEFT_N_SERIES]; /* colour-blind safe */
extern const char weft_ink_text[], weft_ink_dim[], weft_ink_line[], weft_ink_link[],
    weft_ink_faint[], weft_ink_alert[];

/* "#rrggbb" of a device, set or stage; after the last of the series, mixed with the colour of text;
 * of -1, that of links. Returns `to`. */
const char *weft_series_colour(int i, char to[WEFT_COLOUR_BYTES]);
/* Black or white, whichever is easier to read on a colour. */
const char *weft_text_on(const char *colour);
/* The colour of a kind of bars: "compute", "transfer"; `i` is its number, for kinds without one. */
const char *weft_kind_colour(const char *kind, int i);

#endif
