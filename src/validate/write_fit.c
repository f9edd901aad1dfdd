/* SPDX-License-Identifier: MIT */
/* write_fit.c: what a fit found, and the platform file with it. */
#define _POSIX_C_SOURCE 200809L
#include "calibrate.h"
#include "collective.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Three digits that count: constants are not known better. */
static const char *constant(const weft_fit_param *p, double value, char to[48])
{
    (void)snprintf(to, 48, "%.3g%s", value * p->scale, p->unit_text);
    return to;
}

static void print_errors(const char *what, const weft_score *s, FILE *to)
{
    fprintf(to, "%-28s median %.1f %%, 90 %% of rows within %.1f %%, bias %+.1f %%", what,
            100 * s->errors.median, 100 * s->errors.p90, 100 * s->errors.bias);
    if (!isnan(s->errors.spearman))
        fprintf(to, ", rank correlation %.3f", s->errors.spearman);
    fputc('\n', to);
}

static void print_all_errors(const weft_fit *f, FILE *to)
{
    fputc('\n', to);
    print_errors("error before:", &f->before, to);
    print_errors("error of the fit:", &f->fitted, to);
    if (f->n_folds > 0)
        print_errors(f->curve.n > 0 ? "held out by size:" : "held out by group:", &f->held_out, to);
    else
        fputs("held out by group: not known, all rows are of one group\n", to);
}

static void print_curve(const weft_fit *f, FILE *to)
{
    char bytes[32], rate[48];

    fprintf(to, "links: %d all-reduces of %d devices, %d sizes\n\n%-20s %12s\n", f->n_rows,
            f->n_ranks, f->curve.n, "message", "bandwidth");
    for (int i = 0; i < f->curve.n; i++)
        fprintf(
            to, "%-20s %12s\n", weft_format_bytes(f->curve.bytes[i], bytes),
            weft_unit_print(f->curve.bytes[i] / f->curve.seconds[i], WEFT_UNIT_BYTES_PER_S, rate));
    print_all_errors(f, to);
}

void weft_fit_text(const weft_fit *f, FILE *to)
{
    char before[48], after[48];

    if (f->curve.n > 0) {
        print_curve(f, to);
        return;
    }
    fprintf(to, "device %s: %d rows (%s) in %d groups\n\n", f->device, f->n_rows, f->what,
            f->n_groups);
    fprintf(to, "%-20s %12s %12s\n", "constant", "before", "fitted");
    for (int i = 0; i < f->n_params; i++)
        fprintf(to, "%-20s %12s %12s\n", f->param[i].param->key,
                constant(f->param[i].param, f->param[i].before, before),
                constant(f->param[i].param, f->param[i].after, after));
    print_all_errors(f, to);
}

static weft_doc *errors_doc(const weft_score *s, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_real(a, d, "median_error", s->errors.median);
    weft_put_real(a, d, "p90_error", s->errors.p90);
    weft_put_real(a, d, "bias", s->errors.bias);
    weft_put_real(a, d, "spearman", s->errors.spearman);
    return d;
}

weft_doc *weft_fit_doc(const weft_fit *f, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *list = weft_doc_new(a, WEFT_DOC_LIST);
    weft_doc *curve = weft_doc_new(a, WEFT_DOC_LIST);

    weft_put_text(a, d, "schema", "weft.calibration/1");
    weft_put_text(a, d, "device", f->device);
    weft_put_text(a, d, "what", f->what);
    weft_put_int(a, d, "rows", f->n_rows);
    weft_put_int(a, d, "groups", f->n_groups);
    weft_put_int(a, d, "folds", f->n_folds);
    for (int i = 0; i < f->n_params; i++) {
        weft_doc *p = weft_doc_new(a, WEFT_DOC_MAP);

        weft_put_text(a, p, "key", f->param[i].param->key);
        weft_put_real(a, p, "before", f->param[i].before);
        weft_put_real(a, p, "fitted", f->param[i].after);
        weft_doc_add(a, list, p);
    }
    weft_doc_put(a, d, "constants", list);
    for (int i = 0; i < f->curve.n; i++) {
        weft_doc *p = weft_doc_new(a, WEFT_DOC_LIST);

        weft_doc_add(a, p, weft_doc_new_real(a, f->curve.bytes[i]));
        weft_doc_add(a, p, weft_doc_new_real(a, f->curve.bytes[i] / f->curve.seconds[i]));
        weft_doc_add(a, curve, p);
    }
    if (f->curve.n > 0)
        weft_doc_put(a, d, "curve", curve);
    weft_doc_put(a, d, "before", errors_doc(&f->before, a));
    weft_doc_put(a, d, "fitted", errors_doc(&f->fitted, a));
    weft_doc_put(a, d, "held_out",
                 f->n_folds > 0 ? errors_doc(&f->held_out, a) : weft_doc_new(a, WEFT_DOC_NULL));
    return d;
}

/* --- the platform file ----------------------------------------------------------------------- */

/* A scalar that YAML reads back as what it is: plain if it is a word or number, else quoted. */
static void print_scalar(const weft_doc *d, weft_arena *a, FILE *to)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/.-";

    if (d->kind == WEFT_DOC_TEXT && *d->text != '\0' && strspn(d->text, plain) == strlen(d->text) &&
        strchr("-.", *d->text) == NULL)
        fputs(d->text, to);
    else if (d->kind != WEFT_DOC_TEXT && d->text != NULL)
        fputs(d->text, to);
    else
        fputs(weft_doc_json_short(d, a), to);
}

static bool is_small(const weft_doc *d)
{
    for (int i = 0; i < d->n; i++)
        if (d->item[i]->kind == WEFT_DOC_LIST || d->item[i]->kind == WEFT_DOC_MAP)
            return false;
    return true;
}

static void print_flow(const weft_doc *d, weft_arena *a, FILE *to)
{
    bool is_map = d->kind == WEFT_DOC_MAP;

    if (!is_map && d->kind != WEFT_DOC_LIST) {
        print_scalar(d, a, to);
        return;
    }
    fputc(is_map ? '{' : '[', to);
    for (int i = 0; i < d->n; i++) {
        fprintf(to, "%s%s%s", i > 0 ? ", " : "", is_map ? d->key[i] : "", is_map ? ": " : "");
        print_flow(d->item[i], a, to);
    }
    fputc(is_map ? '}' : ']', to);
}

/* Maps of maps and lists of maps in lines of their own, what is inside on one. */
static void print_block(const weft_doc *d, int indent, weft_arena *a, FILE *to)
{
    for (int i = 0; i < d->n; i++) {
        const weft_doc *item = d->item[i];
        bool is_map = d->kind == WEFT_DOC_MAP;
        bool is_large = (item->kind == WEFT_DOC_LIST || item->kind == WEFT_DOC_MAP) &&
                        (!is_small(item) || (!is_map && item->n > 4));

        if (is_map)
            fprintf(to, "%*s%s:%s", i == 0 && indent < 0 ? 0 : indent, "", d->key[i],
                    is_large ? "\n" : " ");
        else
            fprintf(to, "%*s- ", indent, "");
        if (is_large && is_map)
            print_block(item, indent + 2, a, to);
        else if (is_large) { /* the first key stands behind the dash */
            for (int k = 0; k < item->n; k++) {
                bool is_deep = !is_small(item->item[k]) && item->item[k]->n > 0;

                fprintf(to, "%*s%s:%s", k > 0 ? indent + 2 : 0, "", item->key[k],
                        is_deep ? "\n" : " ");
                if (is_deep)
                    print_block(item->item[k], indent + 4, a, to);
                else {
                    print_flow(item->item[k], a, to);
                    fputc('\n', to);
                }
            }
        } else {
            print_flow(item, a, to);
            fputc('\n', to);
        }
    }
}

/* The map of the device kind "gpu", or "server.gpu" inside the group server. */
static weft_doc *find_device(const weft_doc *in, const char *kind)
{
    const weft_doc *groups = weft_doc_get(in, "groups"), *devices = weft_doc_get(in, "devices");
    const char *point = strchr(kind, '.');

    for (int i = 0; devices && i < devices->n; i++) {
        const weft_doc *name = weft_doc_get(devices->item[i], "name");

        if (name && name->text && strcmp(name->text, kind) == 0)
            return devices->item[i];
    }
    for (int i = 0; groups && point && i < groups->n; i++) {
        const weft_doc *name = weft_doc_get(groups->item[i], "name");

        if (name && name->text && strlen(name->text) == (size_t)(point - kind) &&
            strncmp(name->text, kind, (size_t)(point - kind)) == 0)
            return find_device(groups->item[i], point + 1);
    }
    return NULL;
}

static void put_constant(weft_doc *device, const weft_fitted *p, weft_arena *a)
{
    static const char efficiency[] = "efficiency.";
    char text[48];
    bool is_part = strncmp(p->param->key, efficiency, sizeof efficiency - 1) == 0;
    const char *key = is_part ? p->param->key + sizeof efficiency - 1 : p->param->key;
    weft_doc *map = device, *value = weft_doc_new_text(a, constant(p->param, p->after, text));

    value->text = weft_arena_text(a, text, strlen(text));
    if (is_part) {
        const weft_doc *old = weft_doc_get(device, "efficiency");

        map = weft_doc_new(a, WEFT_DOC_MAP);
        for (int i = 0; old && i < old->n; i++)
            weft_doc_put(a, map, old->key[i], old->item[i]);
        weft_doc_set(a, device, "efficiency", map);
    }
    weft_doc_set(a, map, key, value);
}

enum { MOST_ERROR = 1000000000 }; /* what platform files may say of it */

static void put_rounded(weft_doc *d, const char *key, double value, weft_arena *a)
{
    weft_put_real(a, d, key, round(value * 1e4) / 1e4);
}

static void put_calibrated(const weft_fit *f, weft_doc *platform, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_text(a, d, "device", f->device);
    weft_put_int(a, d, "rows", f->n_rows);
    weft_put_text(a, d, "what", f->what);
    put_rounded(d, "held_out_median", f->held_out.errors.median, a);
    put_rounded(d, "p90", f->held_out.errors.p90, a);
    put_rounded(d, "rho", isnan(f->held_out.errors.spearman) ? 0 : f->held_out.errors.spearman, a);
    weft_doc_set(a, platform, "calibrated", d);
}

/* --- curves of links -------------------------------------------------------------------------- */

static const char *text_of(const weft_doc *platform, weft_arena *a)
{
    char *text = NULL;
    size_t size = 0;
    const char *copy;
    FILE *to = open_memstream(&text, &size);

    if (to == NULL)
        return NULL;
    print_block(platform, 0, a, to);
    (void)fclose(to);
    copy = weft_arena_text(a, text, size);
    free(text);
    return copy;
}

/* A list of links with the curve instead of what it had. */
static weft_doc *with_curve(const weft_doc *link, const weft_link_curve *c, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *curve = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < link->n; i++)
        if (strcmp(link->key[i], "bandwidth") != 0 && strcmp(link->key[i], "curve") != 0)
            weft_doc_put(a, d, link->key[i], link->item[i]);
    for (int i = 0; i < c->n; i++) {
        weft_doc *point = weft_doc_new(a, WEFT_DOC_LIST);

        weft_doc_add(a, point, weft_doc_new_text(a, weft_arena_print(a, "%.12gB", c->bytes[i])));
        weft_doc_add(
            a, point,
            weft_doc_new_text(a, weft_arena_print(a, "%.12gB/s", c->bytes[i] / c->seconds[i])));
        weft_doc_add(a, curve, point);
    }
    weft_doc_put(a, d, "curve", curve);
    return d;
}

/* Do sums take rings of the fitted curve on this platform? */
static bool has_curve(const weft_fit *f, const char *text, const char *on)
{
    weft_platform *p;
    weft_link_cost slowest = WEFT_LINK_COST_NONE;
    double bytes = f->curve.bytes[f->curve.n / 2], seconds = f->curve.seconds[f->curve.n / 2];

    if (weft_platform_parse(text, strlen(text), on, &p) != WEFT_OK)
        return false;
    for (int d = 0; d < f->n_ranks; d++)
        weft_link_cost_take(p, d, (d + 1) % f->n_ranks, &slowest);
    seconds = (weft_link_cost_s(&slowest, bytes) - slowest.latency_s) / seconds;
    weft_platform_free(p);
    return seconds > 1 - 1e-6 && seconds < 1 + 1e-6;
}

static weft_status try_links(const weft_fit *f, weft_doc *platform, weft_doc *in, const char *on,
                             weft_arena *a, const char **out)
{
    weft_doc *links = weft_arena_copy(a, weft_doc_get(in, "links"), sizeof *links);

    links->item = weft_arena_copy(a, links->item, (size_t)links->n * sizeof *links->item);
    weft_doc_set(a, in, "links", links);
    for (int i = 0; i < links->n && *out == NULL; i++) {
        weft_doc *was = links->item[i];
        const char *text;

        links->item[i] = with_curve(was, &f->curve, a);
        text = text_of(platform, a);
        if (text != NULL && has_curve(f, text, on))
            *out = text;
        links->item[i] = was;
    }
    return WEFT_OK;
}

/* The first list of links that makes rings take what was fitted: of a group, then of the whole. */
static weft_status put_curve(const weft_fit *f, weft_doc *platform, const char *on, weft_arena *a,
                             const char **out)
{
    const weft_doc *groups = weft_doc_get(platform, "groups");

    *out = NULL;
    weft_doc_set(a, platform, "collectives", weft_doc_new_text(a, "ring"));
    for (int i = 0; groups && i < groups->n; i++)
        if (weft_doc_get(groups->item[i], "links") != NULL)
            WEFT_TRY(try_links(f, platform, groups->item[i], on, a, out));
    if (*out == NULL && weft_doc_get(platform, "links") != NULL)
        WEFT_TRY(try_links(f, platform, platform, on, a, out));
    if (*out == NULL)
        return weft_fail(WEFT_E_INPUT,
                         "%s: no single list of links carries the sums of the first %d devices: "
                         "write the curve into the platform (--json prints it)",
                         on, f->n_ranks);
    return WEFT_OK;
}

weft_status weft_fit_platform(const weft_fit *f, const char *on, weft_arena *a, const char **out)
{
    const weft_doc *read = NULL;
    weft_doc *platform, *device;

    if (!(f->held_out.errors.p90 <= MOST_ERROR && f->held_out.errors.median <= MOST_ERROR))
        return weft_fail(WEFT_E_INPUT,
                         "the rows cannot be fitted: no constants of '%s' come near them",
                         f->device);
    WEFT_TRY(weft_platform_read(on, a, &read));
    platform = weft_arena_copy(a, read, sizeof *read);
    if (f->curve.n > 0)
        return put_curve(f, platform, on, a, out);
    device = find_device(platform, f->device);
    if (device == NULL || weft_doc_get(device, "designs"))
        return weft_fail(WEFT_E_INPUT,
                         "%s: device '%s' has no constants of its own, expected one with a model",
                         on, f->device);
    for (int i = 0; i < f->n_params; i++)
        put_constant(device, &f->param[i], a);
    if (f->n_folds > 0)
        put_calibrated(f, platform, a);
    *out = text_of(platform, a);
    if (*out == NULL)
        return weft_fail(WEFT_E_INTERNAL, "no memory for the text of a platform");
    return WEFT_OK;
}
