/* SPDX-License-Identifier: MIT */
/* scale_platform.c: a platform file whose devices and links take longer, or less long, by factors.
 *
 * The times of a device are proportional to 1 / its rates (peaks, memory_bandwidth, clock) and to
 * its overhead and fill, in all models of devices: with rates divided and these times multiplied by
 * a factor every operator takes that many times as long. Measured times stay. The same for links,
 * with bandwidth and latency. A memory that devices share is divided anew, by what they can take now. */
#include "sensitivity.h"
#include "upgrade.h"

#include <string.h>

/* Walks over the suspects. */
typedef struct walk {
    weft_arena *a;
    const weft_doc *root;
    const double *factor; /* NULL: nothing is changed */
    weft_suspect *suspect;
    int n;
} walk;

static bool scale_key(weft_doc *map, const char *key, double factor, weft_arena *a)
{
    weft_doc *after = weft_doc_times(weft_doc_entry(map, key), factor, a);

    if (after != NULL)
        weft_doc_set(a, map, key, after);
    return after != NULL;
}

static void scale_times(weft_doc *map, double factor, weft_arena *a)
{
    scale_key(map, "overhead", factor, a);
    scale_key(map, "fill", factor, a);
}

/* True if it has rates. */
static bool scale_design(weft_doc *map, double factor, weft_arena *a)
{
    bool has_rates = false;

    for (int i = 0; weft_rates[i] != NULL; i++)
        has_rates |= scale_key(map, weft_rates[i], 1 / factor, a);
    if (has_rates)
        scale_times(map, factor, a);
    return has_rates;
}

static bool scale_device(weft_doc *entry, double factor, weft_arena *a)
{
    weft_doc *designs = weft_doc_entry(entry, "designs");
    bool has_rates = scale_design(entry, factor, a);

    for (int i = 0; designs != NULL && i < designs->n; i++)
        has_rates |= scale_design(designs->item[i], factor, a);
    return has_rates;
}

/* The bandwidths of its points. */
static bool scale_curve(weft_doc *curve, double factor, weft_arena *a)
{
    for (int i = 0; curve != NULL && i < curve->n; i++)
        curve->item[i]->item[1] = weft_doc_times(curve->item[i]->item[1], factor, a);
    return curve != NULL;
}

static bool scale_link(weft_doc *entry, double factor, weft_arena *a)
{
    bool has_curve = scale_curve(weft_doc_entry(entry, "curve"), 1 / factor, a);

    scale_key(entry, "latency", factor, a);
    return scale_key(entry, "bandwidth", 1 / factor, a) || has_curve;
}

/* "server.gpu"; "all of gpu in server". */
static const char *name_of(const walk *w, int group, bool is_link, const weft_doc *entry)
{
    const weft_doc *name = weft_doc_get(entry, "name");
    const char *ends = is_link ? weft_link_ends(entry, w->a) : "";

    if (!is_link)
        return weft_entry_name(w->root, group, name ? name->text : "", w->a);
    if (group < 0)
        return ends;
    name = weft_doc_get(weft_doc_get(w->root, "groups")->item[group], "name");
    return weft_arena_print(w->a, "%s in %s", ends, name ? name->text : "");
}

/* Entries of one scope: the top level (group < 0) or a group. */
static void visit(walk *w, weft_doc *scope, int group, bool is_link)
{
    weft_doc *list = weft_doc_entry(scope, is_link ? "links" : "devices");

    for (int i = 0; list != NULL && i < list->n; i++) {
        weft_doc *entry = w->factor ? list->item[i] : weft_doc_copy(list->item[i], w->a);
        double factor = w->factor ? w->factor[w->n] : 2; /* a copy: to see whether it can be */

        if (!(is_link ? scale_link : scale_device)(entry, factor, w->a))
            continue;
        if (w->suspect != NULL)
            w->suspect[w->n] = (weft_suspect){name_of(w, group, is_link, entry), is_link};
        w->n++;
    }
}

static void visit_all(walk *w, weft_doc *root)
{
    weft_doc *groups = weft_doc_entry(root, "groups");

    for (int is_link = 0; is_link < 2; is_link++) {
        visit(w, root, -1, is_link);
        for (int g = 0; groups != NULL && g < groups->n; g++)
            visit(w, groups->item[g], g, is_link);
    }
}

int weft_machine_suspects(const weft_doc *machine, weft_arena *a, const weft_suspect **out)
{
    walk w = {.a = a, .root = machine};
    weft_doc *copy = weft_doc_copy(machine, a);

    visit_all(&w, copy);
    w.suspect = WEFT_NEW(a, weft_suspect, w.n + 1);
    w.n = 0;
    visit_all(&w, copy);
    *out = w.suspect;
    return w.n;
}

const weft_doc *weft_machine_scaled(const weft_doc *machine, const double *factor, weft_arena *a)
{
    walk w = {.a = a, .root = machine, .factor = factor};
    weft_doc *copy = weft_doc_copy(machine, a);

    visit_all(&w, copy);
    return copy;
}
