/* SPDX-License-Identifier: MIT */
/* write_fit.c: what a fit found, and the platform file with it. */
#define _POSIX_C_SOURCE 200809L
#include "calibrate.h"

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

void weft_fit_text(const weft_fit *f, FILE *to)
{
    char before[48], after[48];

    fprintf(to, "device %s: %d rows (%s) in %d groups\n\n", f->device, f->n_rows, f->what,
            f->n_groups);
    fprintf(to, "%-20s %12s %12s\n", "constant", "before", "fitted");
    for (int i = 0; i < f->n_params; i++)
        fprintf(to, "%-20s %12s %12s\n", f->param[i].param->key,
                constant(f->param[i].param, f->param[i].before, before),
                constant(f->param[i].param, f->param[i].after, after));
    fputc('\n', to);
    print_errors("error before:", &f->before, to);
    print_errors("error of the fit:", &f->fitted, to);
    if (f->n_folds > 0)
        print_errors("held out by group:", &f->held_out, to);
    else
        fputs("held out by group: not known, all rows are of one group\n", to);
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

weft_status weft_fit_platform(const weft_fit *f, const char *on, weft_arena *a, const char **out)
{
    weft_file file;
    weft_preset preset;
    const weft_doc *read = NULL;
    weft_doc *platform, *device;
    weft_status status;
    char *text = NULL;
    size_t size = 0;
    FILE *to;

    if (!(f->held_out.errors.p90 <= MOST_ERROR && f->held_out.errors.median <= MOST_ERROR))
        return weft_fail(WEFT_E_INPUT,
                         "the rows cannot be fitted: no constants of '%s' come near them",
                         f->device);
    WEFT_TRY(weft_preset_open(on, false, &file, &preset));
    status = weft_doc_parse(preset.text, preset.size, on, a, &read);
    weft_file_close(&file);
    WEFT_TRY(status);
    platform = weft_arena_copy(a, read, sizeof *read);
    device = find_device(platform, f->device);
    if (device == NULL || weft_doc_get(device, "designs"))
        return weft_fail(WEFT_E_INPUT,
                         "%s: device '%s' has no constants of its own, expected one with a model",
                         on, f->device);
    for (int i = 0; i < f->n_params; i++)
        put_constant(device, &f->param[i], a);
    if (f->n_folds > 0)
        put_calibrated(f, platform, a);
    to = open_memstream(&text, &size);
    if (to == NULL)
        return weft_fail(WEFT_E_INTERNAL, "no memory for the text of a platform");
    print_block(platform, 0, a, to);
    (void)fclose(to);
    *out = weft_arena_text(a, text, size);
    free(text);
    return WEFT_OK;
}
