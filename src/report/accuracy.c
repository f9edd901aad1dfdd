/* SPDX-License-Identifier: MIT */
/* accuracy.c: how far predictions with the constants of a platform were off.
 *
 * Fitted constants say it themselves (`calibrated:`). Those of presets were set beside published
 * measurements: each shipped set has its recorded figures, and its rows name a preset. From the
 * smallest median of these sets to the largest error that 90 % of the rows of one stay below. Where no
 * set is about a platform, those of all count. Sums over devices are not in it. */
#include "document.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct range {
    int n_sets;
    double least, most; /* percent */
} range;

/* Do rows name this preset, alone or with counts? */
static bool has_rows_of(const char *text, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = strstr(text, name); at != NULL; at = strstr(at + 1, name))
        if (at > text && at[-1] == ',' && (at[n] == ',' || at[n] == ':'))
            return true;
    return false;
}

static void take_set(const char *text, range *r)
{
    static const char mark[] = "# recorded: median=", next[] = ",p90=";
    const char *at = strstr(text, mark);
    char *end;
    double median, p90;

    if (at == NULL || strstr(text, ",allreduce,") != NULL)
        return;
    median = strtod(at + sizeof mark - 1, &end);
    if (strncmp(end, next, sizeof next - 1) != 0)
        return;
    p90 = strtod(end + sizeof next - 1, NULL);
    r->least = r->n_sets == 0 ? median : fmin(r->least, median);
    r->most = fmax(r->most, p90);
    r->n_sets++;
}

/* NULL: of all sets. */
static range range_of(const char *preset, weft_arena *a)
{
    range r = {0, 0, 0};

    for (int i = 0; i < weft_set_preset_count(); i++) {
        const weft_preset *set = weft_set_preset_at(i);
        const char *text = weft_arena_text(a, set->text, set->size);

        if (preset == NULL || has_rows_of(text, preset))
            take_set(text, &r);
    }
    return r;
}

/* The preset that a platform is, without counts; NULL: a file. */
static const char *preset_of(const weft_platform *p, weft_arena *a)
{
    const char *source = p != NULL && p->source != NULL ? p->source : "";
    const char *name = weft_arena_text(a, source, strcspn(source, ":"));

    return weft_preset_find(name, false) != NULL ? name : NULL;
}

static range public_range(const weft_platform *p, bool *is_own, weft_arena *a)
{
    const char *preset = preset_of(p, a);
    range r = {0, 0, 0};

    if (preset != NULL)
        r = range_of(preset, a);
    *is_own = r.n_sets > 0;
    return *is_own ? r : range_of(NULL, a);
}

const char *weft_accuracy_text(const weft_platform *p, weft_arena *a)
{
    const weft_calibrated *c = p ? &p->calibrated : NULL;
    bool is_own;
    range r;

    if (c != NULL && c->rows > 0)
        return weft_arena_print(a, "%s: \u00b1%.0f %% (held out, %lld %s)", c->device,
                                100 * c->held_out_median, (long long)c->rows, c->what);
    r = public_range(p, &is_own, a);
    return weft_arena_print(a,
                            "uncalibrated: %s constants were %.0f\u2013%.0f %% off on public data",
                            is_own ? "these" : "other", r.least, r.most);
}

weft_doc *weft_accuracy_doc(const weft_platform *p, weft_arena *a)
{
    const weft_calibrated *c = p ? &p->calibrated : NULL;
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);
    bool is_calibrated = c != NULL && c->rows > 0, is_own;
    range r = public_range(p, &is_own, a);

    weft_put_bool(a, d, "calibrated", is_calibrated);
    if (is_calibrated) {
        weft_put_text(a, d, "device", c->device);
        weft_put_int(a, d, "rows", c->rows);
        weft_put_text(a, d, "what", c->what);
        weft_put_real(a, d, "held_out_median", c->held_out_median);
        weft_put_real(a, d, "p90", c->held_out_p90);
        weft_put_real(a, d, "rho", c->rho);
        return d;
    }
    weft_put_bool(a, d, "of_this_platform", is_own);
    weft_put_int(a, d, "sets", r.n_sets);
    weft_put_real(a, d, "least_median", r.least / 100);
    weft_put_real(a, d, "largest_p90", r.most / 100);
    return d;
}

void weft_page_accuracy(weft_page *g, const weft_platform *p)
{
    weft_page_fact(g, "costs", "costs", weft_accuracy_text(p, g->a), NULL, NAN);
    weft_doc_put(g->a, g->result, "costs", weft_accuracy_doc(p, g->a));
}
