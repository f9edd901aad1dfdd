/* SPDX-License-Identifier: MIT */
/* out_explain.c: what `weft explain` found, for a terminal and as a document. */
#include "fields.h"

#include <math.h>
#include <string.h>

enum { MOST_TASKS = 100, SHOWN_TASKS = 3 }; /* names of a reason: in a document, on a terminal */

static const char *value_word(const weft_explanation *e)
{
    return strcmp(e->kind, "train") == 0 ? "a step" : e->is_period ? "per item" : "latency";
}

/* --- text: value and bound ------------------------------------------------------------------- */

static void print_head(const weft_explanation *e, weft_arena *a, int width, FILE *to)
{
    const weft_proof *proof = e->proof;
    char text[32];
    const char *gap = proof->outcome == WEFT_OPTIMAL
                          ? "proved optimal"
                          : weft_arena_print(a, "gap %s\t%%", weft_format_gap(proof->gap, 2, text));

    weft_print_wrapped(to, 0, width,
                       e->origin->platform
                           ? weft_arena_print(a, "%s on %s", e->origin->model, e->origin->platform)
                           : e->origin->model);
    fprintf(to, "\n");
    weft_print_field(to, width, value_word(e),
                     weft_arena_print(a, "%s, bound %s (%s), %s",
                                      weft_glued_seconds(a, proof->value),
                                      weft_glued_seconds(a, proof->bound),
                                      proof->method ? proof->method : "none", gap));
}

/* "30.2 us (12.3 %)". */
static const char *share_words(const weft_explanation *e, double seconds, weft_arena *a)
{
    double part = e->proof->value > 0 ? seconds / e->proof->value : 0;

    return weft_arena_print(a, "%s (%.1f\t%%)", weft_glued_seconds(a, seconds), 100 * part);
}

static void print_value(const weft_explanation *e, weft_arena *a, int width, FILE *to)
{
    const weft_why *w = e->why;

    fprintf(to, "\nwhy it takes so long\n");
    weft_print_field(to, width, "computes", share_words(e, w->compute_s, a));
    weft_print_field(to, width, "sends", share_words(e, w->transfer_s, a));
    weft_print_field(to, width, "waits", share_words(e, w->wait_s, a));
    if (w->text != NULL)
        weft_print_field(to, width, "", weft_glued(a, w->text));
}

/* "; most by 'conv_1', 'conv_2', 'conv_3'". */
static const char *heaviest(const weft_explanation *e, const weft_why_part *part, weft_arena *a)
{
    const char *text = "";
    char name[WEFT_SHORT_BYTES];

    for (int i = 0; i < part->n_tasks && i < SHOWN_TASKS && e->task_name != NULL; i++)
        text =
            weft_arena_print(a, "%s%s%s", text, i == 0 ? "; most by " : ", ",
                             weft_shorten(e->task_name[part->task[i]], WEFT_SHORT_COLUMNS, name));
    return text;
}

static void print_bound(const weft_explanation *e, weft_arena *a, int width, FILE *to)
{
    const weft_why *w = e->why;

    fprintf(to, "\nwhy no plan takes less\n");
    for (int i = 0; i < w->n_parts; i++) {
        const weft_why_part *part = &w->part[i];
        bool is_named = strcmp(part->name, part->key) != 0;

        weft_print_field(to, width, part->key,
                         weft_arena_print(a, "%s: %s%s%s%s", weft_glued_seconds(a, part->seconds),
                                          is_named ? part->name : "", is_named ? ": " : "",
                                          weft_glued(a, part->text), heaviest(e, part, a)));
    }
}

/* --- text: upgrades -------------------------------------------------------------------------- */

static const char *note_of(const weft_upgrade_value *p, weft_arena *a)
{
    if (p->reason != NULL)
        return weft_arena_print(a, ": %s", p->reason);
    if (p->is_useless)
        return ": cannot help, which is proved";
    return p->value < p->solved || isnan(p->solved) ? " (with the plan as it is)" : "";
}

/* "1.50x"; "-" where there is no limit. */
static const char *factor(double x, weft_arena *a)
{
    return isfinite(x) ? weft_arena_print(a, "%.2fx", x) : "-";
}

/* The column of proved gains is left out where the line has no room for it. */
enum { NUMBER_COLUMNS = 47, LEAST_COLUMNS = 10, ROOM_FOR_LEAST = 72 };

static void print_row(const weft_upgrade_value *p, weft_arena *a, int width, FILE *to)
{
    bool has_value = isfinite(p->value), has_least = width >= ROOM_FOR_LEAST;
    char value[48], bound[48];

    fprintf(to, "  %11s %11s %9s", has_value ? weft_print_seconds(p->value, value) : "no plan",
            has_value ? weft_print_seconds(p->bound, bound) : "-",
            has_value ? factor(p->gain, a) : "-");
    if (has_least)
        fprintf(to, " %9s", p->least_gain > 1 + 1e-9 ? factor(p->least_gain, a) : "-");
    fprintf(to, " %9s  ", has_value ? factor(p->most_gain, a) : "-");
    weft_print_wrapped(to, NUMBER_COLUMNS + (has_least ? LEAST_COLUMNS : 0), width,
                       weft_arena_print(a, "%s%s", p->upgrade->what, note_of(p, a)));
}

static void print_upgrades(const weft_explanation *e, weft_arena *a, int width, FILE *to)
{
    fprintf(to, "\nwhat an upgrade is worth\n");
    if (e->n_upgrades == 0) {
        fprintf(to, "  there is nothing to upgrade\n");
        return;
    }
    if (e->base.is_better)
        weft_print_field(to, width, "found again",
                         weft_arena_print(a,
                                          "%s for the platform as it is, which is less than the "
                                          "plan takes: gains are against that",
                                          weft_glued_seconds(a, e->base.value)));
    fprintf(to, "  %11s %11s %9s", value_word(e), "bound", "gain");
    if (width >= ROOM_FOR_LEAST)
        fprintf(to, " %9s", "at least");
    fprintf(to, " %9s  upgrade\n", "at most");
    for (int i = 0; i < e->n_shown; i++)
        print_row(&e->upgrade[i], a, width, to);
    if (e->n_shown < e->n_upgrades)
        fprintf(to, "  and %d more\n", e->n_upgrades - e->n_shown);
}

/* --- text: errors of costs ------------------------------------------------------------------- */

static void print_sensitivity(const weft_explanation *e, weft_arena *a, int width, FILE *to)
{
    const weft_sensitivity *d = e->sensitivity;
    char steps[32];

    fprintf(to, "\nif costs are wrong by up to %.4g %%, one at a time, solved again in %s steps\n",
            100 * d->error, weft_format_integer(d->steps, steps));
    fprintf(to, "  the plan is within %.4g %% of the best found wherever it was tried, for\n",
            100 * d->tolerance);
    for (int i = 0; i < d->n_ranges; i++) {
        const weft_range *r = &d->range[i];

        fprintf(to, "    ");
        weft_print_padded(to, r->name, 30);
        if (isnan(r->least) || isnan(r->most))
            fprintf(to, " no factor, not even 1\n");
        else
            fprintf(to, " %.3fx to %.3fx of its %s%s\n", r->least, r->most,
                    r->is_link ? "transfers" : "times", r->is_proved ? ", proved" : "");
    }
    if (d->n_samples > 0)
        weft_print_field(
            to, width, "all at once",
            weft_arena_print(a,
                             "in %d of %d samples of independent errors of %s "
                             "(%.1f\t%%) it is within %.4g\t%%, in %d of them by proof; the worst "
                             "takes %.2f\t%% longer than the best plan found, the mean %.2f\t%%",
                             d->n_within, d->n_samples, d->sampled,
                             100.0 * d->n_within / d->n_samples, 100 * d->tolerance, d->n_proved,
                             100 * d->worst, 100 * d->mean));
}

void weft_explanation_text(const weft_explanation *e, int width, FILE *to)
{
    weft_arena *a = weft_arena_new();

    print_head(e, a, width, to);
    print_value(e, a, width, to);
    print_bound(e, a, width, to);
    if (e->upgrade != NULL)
        print_upgrades(e, a, width, to);
    if (e->sensitivity != NULL)
        print_sensitivity(e, a, width, to);
    weft_arena_free(a);
}

/* --- document -------------------------------------------------------------------------------- */

static weft_doc *part_doc(const weft_explanation *e, const weft_why_part *part, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *tasks = weft_doc_new(a, WEFT_DOC_LIST);

    weft_put_text(a, d, "key", part->key);
    weft_put_text(a, d, "name", part->name);
    weft_put_text(a, d, "text", part->text);
    weft_put_real(a, d, "seconds", part->seconds);
    weft_put_int(a, d, "n_tasks", part->n_tasks);
    for (int i = 0; i < part->n_tasks && i < MOST_TASKS && e->task_name != NULL; i++)
        weft_doc_add(a, tasks, weft_doc_new_text(a, e->task_name[part->task[i]]));
    weft_doc_put(a, d, "tasks", tasks);
    return d;
}

static weft_doc *why_doc(const weft_explanation *e, weft_arena *a)
{
    const weft_why *w = e->why;
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *parts = weft_doc_new(a, WEFT_DOC_LIST);
    weft_doc *chain = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_real(a, chain, "compute_s", w->compute_s);
    weft_put_real(a, chain, "transfer_s", w->transfer_s);
    weft_put_real(a, chain, "wait_s", w->wait_s);
    weft_put_text(a, d, "text", w->text);
    weft_doc_put(a, d, "chain", chain);
    weft_put_bool(a, d, "is_explained", w->is_explained);
    for (int i = 0; i < w->n_parts; i++)
        weft_doc_add(a, parts, part_doc(e, &w->part[i], a));
    weft_doc_put(a, d, "parts", parts);
    return d;
}

static weft_doc *priced_doc(const weft_upgrade_value *p, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_text(a, d, "kind", weft_upgrade_name(p->upgrade->kind));
    weft_put_text(a, d, "name", p->upgrade->name);
    weft_put_text(a, d, "what", p->upgrade->what);
    weft_put_text(a, d, "edit", p->upgrade->edit);
    weft_put_text(a, d, "status", weft_outcome_name(p->outcome));
    weft_put_real(a, d, "value", p->value);
    weft_put_real(a, d, "bound", p->bound);
    weft_put_real(a, d, "gap", p->gap);
    weft_put_text(a, d, "method", p->method);
    weft_put_real(a, d, "gain", p->gain);
    weft_put_real(a, d, "least_gain", p->least_gain);
    weft_put_real(a, d, "bound_gain", p->bound_gain);
    weft_put_real(a, d, "most_gain", p->most_gain);
    weft_put_bool(a, d, "cannot_help", p->is_useless);
    weft_put_real(a, d, "solved_value", p->solved);
    weft_put_real(a, d, "old_plan_value", p->kept);
    weft_put_text(a, d, "reason", p->reason);
    return d;
}

static weft_doc *upgrades_doc(const weft_explanation *e, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, e->upgrade == NULL ? WEFT_DOC_NULL : WEFT_DOC_LIST);

    for (int i = 0; e->upgrade != NULL && i < e->n_shown; i++)
        weft_doc_add(a, list, priced_doc(&e->upgrade[i], a));
    return list;
}

/* The platform as it is, searched again. */
static weft_doc *base_doc(const weft_explanation *e, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, e->upgrade == NULL ? WEFT_DOC_NULL : WEFT_DOC_MAP);

    if (e->upgrade == NULL)
        return d;
    weft_put_real(a, d, "value", e->base.value);
    weft_put_real(a, d, "bound", e->base.bound);
    weft_put_real(a, d, "searched_bound", e->base.searched);
    weft_put_bool(a, d, "better_than_plan", e->base.is_better);
    return d;
}

static weft_doc *range_doc(const weft_range *r, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_text(a, d, "name", r->name);
    weft_put_text(a, d, "kind", r->is_link ? "link" : "device");
    weft_put_real(a, d, "least", r->least);
    weft_put_real(a, d, "most", r->most);
    weft_put_bool(a, d, "proved", r->is_proved);
    return d;
}

static weft_doc *sensitivity_doc(const weft_sensitivity *u, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, u == NULL ? WEFT_DOC_NULL : WEFT_DOC_MAP), *list;

    if (u == NULL)
        return d;
    list = weft_doc_new(a, WEFT_DOC_LIST);
    weft_put_real(a, d, "error", u->error);
    weft_put_real(a, d, "tolerance", u->tolerance);
    weft_put_real(a, d, "precision", u->precision);
    weft_put_int(a, d, "steps", u->steps);
    for (int i = 0; i < u->n_ranges; i++)
        weft_doc_add(a, list, range_doc(&u->range[i], a));
    weft_doc_put(a, d, "ranges", list);
    weft_put_text(a, d, "sampled", u->sampled);
    weft_put_int(a, d, "samples", u->n_samples);
    weft_put_int(a, d, "within", u->n_within);
    weft_put_int(a, d, "proved", u->n_proved);
    weft_put_real(a, d, "worst_regret", u->n_samples > 0 ? u->worst : NAN);
    weft_put_real(a, d, "mean_regret", u->n_samples > 0 ? u->mean : NAN);
    return d;
}

weft_doc *weft_explanation_doc(const weft_explanation *e, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_text(a, d, "schema", "weft.explain/1");
    weft_put_text(a, d, "command", "explain");
    weft_put_text(a, d, "plan", e->plan);
    weft_put_text(a, d, "kind", e->kind);
    weft_put_text(a, d, "model", e->origin->model);
    weft_put_text(a, d, "platform", e->origin->platform);
    weft_put_text(a, d, "status", weft_outcome_name(e->proof->outcome));
    weft_put_real(a, d, "value", e->proof->value);
    weft_put_text(a, d, "unit", e->is_period ? "s/item" : "s");
    weft_put_real(a, d, "bound", e->proof->bound);
    weft_put_real(a, d, "gap", e->proof->gap);
    weft_put_text(a, d, "method", e->proof->method);
    weft_doc_put(a, d, "why", why_doc(e, a));
    weft_put_text(a, d, "solver", e->solver);
    weft_put_int(a, d, "seed", e->seed);
    weft_put_int(a, d, "steps", e->steps);
    weft_put_real(a, d, "time_limit_s", e->limit_s);
    weft_doc_put(a, d, "base", base_doc(e, a));
    weft_doc_put(a, d, "upgrades", upgrades_doc(e, a));
    weft_put_int(a, d, "upgrades_priced", e->upgrade == NULL ? 0 : e->n_upgrades);
    weft_doc_put(a, d, "uncertainty", sensitivity_doc(e->sensitivity, a));
    return d;
}
