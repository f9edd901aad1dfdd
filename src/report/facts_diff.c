/* SPDX-License-Identifier: MIT */
/* facts_diff.c: two plans side by side as a document for a terminal (write_text.c).
 *
 * 1. Which files, and what is proved about which is better; what stayed, what one plan has only.
 * 2. Values, bounds and other figures of both.
 * 3. How the problems and searches differ, and the decisions that are not of single tasks.
 * 4. The time of each device, taken apart: what left it, what came; memory and bytes sent.
 * 5. What the chain that explains the value is made of.
 * 6. What moved: stretches of neighbours by falling effect on the time of devices. */
#include "document.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { MOST_ONLY = 12, MOST_PLACES = 32, MOST_DECISIONS = 16, MOST_SETTINGS = 24 };

typedef struct comparing {
    weft_page g;
    const weft_diff *d;
    weft_arena *a;
    int prefix; /* bytes of places that are not shown */
} comparing;

static const char *of(comparing *c, double value, const char *unit)
{
    return weft_unglued(c->a, weft_amount_text(c->a, value, unit));
}

static const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

/* A table of texts: narrow ones have words, wide ones a name, numbers and what moved. */
static weft_doc *new_table(comparing *c, const char *title, int shown, const char *const *name,
                           int n)
{
    weft_column *column = WEFT_NEW(c->a, weft_column, n);

    for (int i = 0; i < n; i++) {
        bool is_words = i == 0 || n < 4 || (i == n - 1 && strcmp(title, "moved") == 0);

        column[i] = (weft_column){name[i], name[i], is_words ? "text" : "amount"};
    }
    return weft_page_table(&c->g,
                           &(weft_table){title, title, "use", NULL, n, column, .n_shown = shown});
}

static void add_cells(comparing *c, weft_doc *rows, const char *const *cell, int n)
{
    weft_doc *row = weft_page_row(&c->g, rows);

    for (int i = 0; i < n; i++)
        weft_cell_text(&c->g, row, cell[i]);
}

/* --- facts ----------------------------------------------------------------------------------- */

static void add_side(comparing *c, int s)
{
    const weft_plan_origin *o = c->d->side[s].origin;

    weft_page_fact(&c->g, s == 0 ? "a" : "b", s == 0 ? "A" : "B",
                   weft_arena_print(c->a, "%s: %s%s%s, solver %s", c->d->side[s].file, o->model,
                                    o->platform ? " on " : "", o->platform ? o->platform : "",
                                    o->solver),
                   NULL, NAN);
}

static void add_claim(comparing *c)
{
    const weft_diff *d = c->d;
    const char *first = "";

    if (d->is_same_plan)
        first = d->side->is_design ? "The designs are the same. " : "The plans are the same. ";
    else if (d->better >= 0 && isfinite(d->ratio) && d->ratio > 0)
        first = weft_arena_print(
            c->a, "%s is %.4g times as %s as %s%s. ", d->better == 1 ? "B" : "A",
            d->better == 1 ? d->ratio : 1 / d->ratio, d->side->is_max ? "good" : "fast",
            d->better == 1 ? "A" : "B", d->is_per_sample ? " per sample" : "");
    else if (d->better >= 0 && !d->side->is_max)
        first = weft_arena_print(c->a, "%s takes no time. ", d->better == 1 ? "B" : "A");
    else if (d->is_comparable && d->better < 0)
        first = d->side->is_max ? "Both are worth the same. " : "Both take the same time. ";
    weft_page_fact(&c->g, "claim", "result", weft_arena_print(c->a, "%s%s", first, d->claim), NULL,
                   NAN);
}

static void add_stay(comparing *c)
{
    const weft_diff *d = c->d;

    if (d->n_stay == 0)
        return;
    weft_page_fact(
        &c->g, "stayed", "not moved",
        weft_arena_print(c->a, "%d %s%s, %s in A and %s in B%s", d->n_stay, d->side->item_name,
                         plural(d->n_stay), of(c, d->stay_s[0], "s"), of(c, d->stay_s[1], "s"),
                         d->n_shifted > 0
                             ? weft_arena_print(c->a, "; %d of them start%s at another time",
                                                d->n_shifted, d->n_shifted == 1 ? "s" : "")
                             : ""),
        NULL, d->n_stay);
}

static void add_only(comparing *c, int s)
{
    const weft_diff *d = c->d;
    const char *text;

    if (d->n_only[s] == 0)
        return;
    text =
        weft_arena_print(c->a, "%d %s%s:", d->n_only[s], d->side->item_name, plural(d->n_only[s]));
    for (int i = 0; i < d->n_only[s] && i < MOST_ONLY; i++)
        text = weft_arena_print(c->a, "%s %s", text, d->only[s][i]);
    if (d->n_only[s] > MOST_ONLY)
        text = weft_arena_print(c->a, "%s and %d more", text, d->n_only[s] - MOST_ONLY);
    weft_page_fact(&c->g, "only", s == 0 ? "only in A" : "only in B", text, NULL, d->n_only[s]);
}

/* --- figures --------------------------------------------------------------------------------- */

/* "+12.3 %", "-2"; nothing where it says nothing. */
static const char *change_text(comparing *c, const weft_diff_figure *f)
{
    double x = f->value[0], y = f->value[1];
    char text[32];

    if (isnan(x) || isnan(y))
        return "";
    if (fabs(x - y) <= 1e-9 * fmax(fabs(x), fabs(y)))
        return "same";
    if (strcmp(f->unit, "%") == 0 ||
        strcmp(f->unit, "gap") == 0) /* a difference that the numbers do not show is none */
        return fabs(y - x) < 0.0005 ? "same"
                                    : weft_arena_print(c->a, "%+.1f points", 100 * (y - x));
    if (strcmp(f->unit, "count") == 0)
        return weft_arena_print(c->a, "%s%s", y > x ? "+" : "",
                                weft_format_integer((int64_t)(y - x), text));
    if (!(x > 0))
        return "";
    return y > 10 * x ? weft_arena_print(c->a, "%.4gx", y / x)
                      : weft_arena_print(c->a, "%+.1f %%", 100 * (y / x - 1));
}

static void add_figure(comparing *c, weft_doc *rows, const weft_diff_figure *f)
{
    add_cells(c, rows,
              (const char *[]){f->name, of(c, f->value[0], f->unit), of(c, f->value[1], f->unit),
                               change_text(c, f)},
              4);
}

static weft_doc *figure_table(comparing *c, const char *title)
{
    return new_table(c, title, 1000, (const char *[]){"figure", "A", "B", "change"}, 4);
}

/* Figures that are the value itself, or of neither plan, have been said or are not worth it. */
static bool is_shown(const weft_diff *d, const weft_diff_figure *f)
{
    bool is_empty = !(f->value[0] > 0) && !(f->value[1] > 0);
    bool is_same_count = strcmp(f->unit, "count") == 0 && !(f->value[0] < f->value[1]) &&
                         !(f->value[0] > f->value[1]);

    return !is_empty && !is_same_count && strcmp(f->name, d->value_name) != 0;
}

static void add_values(comparing *c)
{
    const weft_diff *d = c->d;
    const weft_proof *x = d->side[0].proof, *y = d->side[1].proof;
    const weft_diff_figure list[] = {
        {NULL, d->value_name,      d->unit, {x->value, y->value}      },
        {NULL, "value per sample", "s",     {d->value[0], d->value[1]}},
        {NULL, "bound",            d->unit, {x->bound, y->bound}      },
        {NULL, "gap",              "gap",   {x->gap, y->gap}          },
    };
    /* else the figures below say what each is worth */
    const bool has[] = {d->is_comparable, d->is_per_sample, d->is_comparable, true};
    weft_doc *rows = figure_table(c, "values");

    for (int i = 0; i < 4; i++)
        if (has[i])
            add_figure(c, rows, &list[i]);
    for (int i = 0; i < d->figures.n; i++)
        if (is_shown(d, &d->figures.at[i]))
            add_figure(c, rows, &d->figures.at[i]);
}

static void add_chain(comparing *c)
{
    weft_doc *rows = figure_table(c, "why it takes so long");

    for (int i = 0; i < c->d->chain.n; i++)
        if (c->d->chain.at[i].value[0] > 0 || c->d->chain.at[i].value[1] > 0)
            add_figure(c, rows, &c->d->chain.at[i]);
}

/* --- settings and decisions ------------------------------------------------------------------ */

static const char *or_none(const char *text)
{
    return text ? text : "none";
}

static void add_settings(comparing *c)
{
    weft_doc *rows = new_table(c, "what was asked otherwise", MOST_SETTINGS,
                               (const char *[]){"setting", "A -> B"}, 2);

    for (int i = 0; i < c->d->settings.n; i++) {
        const weft_diff_row *r = &c->d->settings.at[i];

        add_cells(c, rows,
                  (const char *[]){r->name, weft_arena_print(c->a, "%s -> %s", or_none(r->text[0]),
                                                             or_none(r->text[1]))},
                  2);
    }
}

static void add_decisions(comparing *c)
{
    weft_doc *rows = new_table(c, "what was decided otherwise", 2 * MOST_DECISIONS,
                               (const char *[]){"decision", "plan", "decided"}, 3);

    for (int i = 0; i < c->d->decisions.n; i++)
        for (int s = 0; s < 2; s++) {
            const weft_diff_row *r = &c->d->decisions.at[i];

            add_cells(
                c, rows,
                (const char *[]){s == 0 ? r->name : "", s == 0 ? "A" : "B", or_none(r->text[s])},
                3);
        }
}

/* --- devices --------------------------------------------------------------------------------- */

/* Seconds with a sign; "-" for none. */
static const char *signed_s(comparing *c, double s)
{
    return fabs(s) > 0 ? weft_arena_print(c->a, "%s%s", s > 0 ? "+" : "-", of(c, fabs(s), "s"))
                       : "-";
}

/* A value of a place; NAN: it has none. */
static double value_of(const weft_diff_place *p, int side, int column)
{
    return p->value[side] ? p->value[side][column] : NAN;
}

static void add_pairs(comparing *c)
{
    const weft_side *side = c->d->side;
    int n = 1 + 2 * side->n_columns;
    const char **name = WEFT_NEW(c->a, const char *, n), **cell = WEFT_NEW(c->a, const char *, n);
    weft_doc *rows;

    name[0] = side->places;
    for (int k = 1; k < n; k++)
        name[k] =
            weft_arena_print(c->a, "%s %s", side->column[(k - 1) / 2].name, k % 2 ? "A" : "B");
    rows = new_table(c, side->places, MOST_PLACES, name, n);
    for (int i = 0; i < c->d->places.n; i++) {
        const weft_diff_place *p = &c->d->places.at[i];

        cell[0] = p->name;
        for (int k = 1; k < n; k++) {
            double value = value_of(p, (k - 1) % 2, (k - 1) / 2);

            cell[k] = isnan(value) ? NULL : of(c, value, side->column[(k - 1) / 2].unit);
        }
        add_cells(c, rows, cell, n);
    }
}

/* What left a device, what came. */
static void add_times(comparing *c)
{
    weft_doc *rows =
        new_table(c, "time of devices", MOST_PLACES,
                  (const char *[]){"device", "busy A", "left", "came", "others", "busy B"}, 6);

    for (int i = 0; i < c->d->places.n; i++) {
        const weft_diff_place *p = &c->d->places.at[i];
        double a_s = p->left_s + p->stay_s[0] + p->only_s[0];
        double b_s = p->came_s + p->stay_s[1] + p->only_s[1];
        double others_s = p->stay_s[1] - p->stay_s[0] + p->only_s[1] - p->only_s[0];

        if (fabs(others_s) <= 1e-9 * fmax(a_s, b_s))
            others_s = 0;
        if (a_s > 0 || b_s > 0 || c->d->places.n <= MOST_ONLY)
            add_cells(c, rows,
                      (const char *[]){p->name, of(c, p->value[0] ? a_s : NAN, "s"),
                                       signed_s(c, -p->left_s), signed_s(c, p->came_s),
                                       signed_s(c, others_s), of(c, p->value[1] ? b_s : NAN, "s")},
                      6);
    }
}

/* --- what moved ------------------------------------------------------------------------------ */

/* "conv_2 .. conv_9 (12)"; units are called after their first and last operator themselves. */
static const char *names_text(comparing *c, const weft_diff_stretch *s)
{
    const weft_diff_move *move = &c->d->move[s->first];
    const char *between = strstr(move->name, " .. ");
    const char *first =
        between ? weft_arena_text(c->a, move->name, (size_t)(between - move->name)) : move->name;
    const char *last = strstr(move[s->n - 1].name, " .. ");
    const char *number = s->n > 1 ? weft_arena_print(c->a, " (%d)", s->n) : "";

    last = last ? last + 4 : move[s->n - 1].name;
    return strcmp(first, last) == 0 ? weft_arena_print(c->a, "%s%s", first, number)
                                    : weft_arena_print(c->a, "%s .. %s%s", first, last, number);
}

/* Where there is one set only, its number says nothing. */
static const char *place_text(const comparing *c, const char *at)
{
    return c->prefix > 0 && at[c->prefix] != '\0' ? at + c->prefix : at;
}

static int find_prefix(const weft_diff *d)
{
    const char one[] = "set 0 ";

    for (int i = 0; i < d->n_moves; i++)
        for (int s = 0; s < 2; s++)
            if (strncmp(d->move[i].at[s], one, sizeof one - 1) != 0)
                return 0;
    return (int)sizeof one - 1;
}

static void add_moves(comparing *c, int top)
{
    const weft_diff *d = c->d;
    weft_doc *rows = new_table(c, "moved", top > 0 ? top : -1,
                               (const char *[]){"from -> to", "A", "B", "transfers",
                                                weft_arena_print(c->a, "%ss", d->side->item_name)},
                               5);

    weft_page_fact(&c->g, "moved", d->has_parts ? "moved" : "done otherwise",
                   weft_arena_print(c->a, "%d of %d %s%s, in %d stretch%s%s", d->n_moves,
                                    d->n_moves + d->n_stay, d->side->item_name,
                                    plural(d->n_moves + d->n_stay), d->n_stretches,
                                    d->n_stretches == 1 ? "" : "es",
                                    d->n_stretches > 1 ? ", by effect on the time of devices" : ""),
                   NULL, d->n_moves);
    for (int i = 0; i < d->n_stretches; i++) {
        const weft_diff_stretch *s = &d->stretch[i];
        const weft_diff_move *m = &d->move[s->first];
        const char *transfers =
            s->n_transfers[0] + s->n_transfers[1] == 0
                ? "-"
                : weft_arena_print(c->a, "+%d -%d", s->n_transfers[1], s->n_transfers[0]);

        add_cells(c, rows,
                  (const char *[]){weft_arena_print(c->a, "%s -> %s", place_text(c, m->at[0]),
                                                    place_text(c, m->at[1])),
                                   of(c, s->seconds[0], "s"), of(c, s->seconds[1], "s"),
                                   d->has_parts ? transfers : NULL, names_text(c, s)},
                  5);
    }
}

void weft_diff_text(const weft_diff *d, int top, int width, FILE *to)
{
    comparing c = {.d = d, .a = weft_arena_new(), .prefix = find_prefix(d)};

    assert(d->side != NULL);
    weft_page_begin(&c.g, "diff", c.a);
    c.g.outcome = WEFT_BOUNDED;
    add_side(&c, 0);
    add_side(&c, 1);
    add_claim(&c);
    add_values(&c);
    add_settings(&c);
    if (!d->is_same_plan) {
        add_decisions(&c);
        if (d->has_parts)
            add_times(&c);
        add_pairs(&c);
        add_chain(&c);
        if (d->n_moves > 0)
            add_moves(&c, top);
        add_stay(&c);
        add_only(&c, 0);
        add_only(&c, 1);
    }
    weft_write_text(&c.g, false, width, to);
    weft_arena_free(c.a);
}
