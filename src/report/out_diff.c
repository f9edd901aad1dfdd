/* SPDX-License-Identifier: MIT */
/* out_diff.c: two plans side by side, for a terminal and as comma-separated values.
 *
 * 1. Values, bounds and other figures of both, and what is proved about which is better.
 * 2. How the problems and searches differ, and the decisions that are not of single tasks.
 * 3. The time of each device, taken apart: what left it, what came; memory and bytes sent.
 * 4. What the chain that explains the value is made of.
 * 5. What moved: stretches of neighbours by falling effect on the time of devices.
 *
 * Every line fits the width (60 columns or more) unless a single word does not. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "fields.h"

enum {
    DEFAULT_WIDTH = 80,
    LEAST_WIDTH = 60,
    MOST_WIDTH = 1000,
    MOST_NUMBER = 9,  /* columns of a number with its unit */
    MOST_NAME = 24,   /* columns of the name of a device */
    MOST_PLACES = 32, /* rows of devices */
    MOST_IDLE = 12,   /* of more devices, those without work are left out */
    MOST_ONLY = 12,   /* names of tasks of one plan only */
    MOST_DECISIONS = 16,
    MOST_SETTINGS = 24,
    NAMES = 22,      /* columns for what moved, if there is room */
    LEAST_PAIR = 16, /* columns for the names of two tasks */
};

typedef struct page {
    const weft_diff *d;
    FILE *to;
    weft_arena *a; /* scratch */
    int width, top;
    int label, number; /* columns of names and numbers in the tables of A and B */
    int slim;          /* of numbers in wider tables */
    int prefix;        /* bytes of places that are not shown */
} page;

static const char *of(page *g, double value, const char *unit)
{
    char text[48];

    if (isnan(value))
        return "-";
    if (strcmp(unit, "s") == 0)
        return weft_column_seconds(g->a, value, MOST_NUMBER - 1);
    if (strcmp(unit, "B") == 0)
        return weft_glued_bytes(g->a, value);
    if (strcmp(unit, "%") == 0)
        return weft_arena_print(g->a, "%.1f\t%%", 100 * value);
    if (strcmp(unit, "gap") == 0)
        return weft_arena_print(g->a, "%s\t%%", weft_format_gap(value, 1, text));
    if (strcmp(unit, "J") == 0)
        return weft_arena_print(g->a, "%s", weft_unit_print(value, WEFT_UNIT_JOULES, text));
    if (strcmp(unit, "1/s") == 0)
        return weft_arena_print(g->a, "%s/s", weft_format_count(value, text));
    if (strcmp(unit, "count") == 0)
        return weft_arena_print(g->a, "%s", weft_format_integer((int64_t)value, text));
    if (strcmp(unit, "units") == 0)
        return weft_arena_print(g->a, "%s\tunit%s", weft_format_count(value, text),
                                value < 1 || value > 1 ? "s" : "");
    return value < INFINITY
               ? weft_arena_print(g->a, "%.4g%s%s", value, strcmp(unit, "x") == 0 ? "" : "\t", unit)
               : "none";
}

static void put(page *g, const char *text)
{
    weft_put_glued(g->to, text);
}

static const char *short_name(page *g, const char *name, int columns)
{
    int most = columns < WEFT_SHORT_COLUMNS ? columns : WEFT_SHORT_COLUMNS;

    return weft_shorten(name, most < 2 ? 2 : most, WEFT_NEW(g->a, char, WEFT_SHORT_BYTES));
}

/* --- values ---------------------------------------------------------------------------------- */

static void print_title(page *g, int s)
{
    const weft_plan_origin *o = g->d->side[s].origin;

    weft_print_field(g->to, g->width, s == 0 ? "A" : "B",
                     weft_arena_print(g->a, "%s: %s%s%s, solver %s", g->d->side[s].file, o->model,
                                      o->platform ? " on " : "", o->platform ? o->platform : "",
                                      o->solver));
}

/* "+12.3 %", "-2"; nothing where it says nothing. */
static const char *change_text(page *g, const weft_diff_figure *f)
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
                                    : weft_arena_print(g->a, "%+.1f\tpoints", 100 * (y - x));
    if (strcmp(f->unit, "count") == 0)
        return weft_arena_print(g->a, "%s%s", y > x ? "+" : "",
                                weft_format_integer((int64_t)(y - x), text));
    if (!(x > 0))
        return "";
    if (y > 10 * x)
        return weft_arena_print(g->a, "%.4gx", y / x);
    return weft_arena_print(g->a, "%+.1f\t%%", 100 * (y / x - 1));
}

static void print_figure(page *g, const weft_diff_figure *f)
{
    const char *change = change_text(g, f);

    put(g, weft_arena_print(g->a, "  %-*s %*s %*s", g->label, f->name, g->number,
                            of(g, f->value[0], f->unit), g->number, of(g, f->value[1], f->unit)));
    put(g, *change ? weft_arena_print(g->a, " %*s\n", g->number + 2, change) : "\n");
}

static void print_head(page *g, const char *title)
{
    fprintf(g->to, "\n%-*s %*s %*s %*s\n", g->label + 2, title, g->number, "A", g->number, "B",
            g->number + 2, "change");
}

/* Figures that are the value itself, or of neither plan, have been said or are not worth it. */
static bool is_shown(const weft_diff *d, const weft_diff_figure *f)
{
    bool is_empty = !(f->value[0] > 0) && !(f->value[1] > 0);
    bool is_same_count = strcmp(f->unit, "count") == 0 && !(f->value[0] < f->value[1]) &&
                         !(f->value[0] > f->value[1]);

    return !is_empty && !is_same_count && strcmp(f->name, d->value_name) != 0;
}

static void print_values(page *g)
{
    const weft_diff *d = g->d;
    weft_diff_figure value = {
        NULL, d->value_name, d->unit, {d->proof[0]->value, d->proof[1]->value}
    };
    weft_diff_figure bound = {
        NULL, "bound", d->unit, {d->proof[0]->bound, d->proof[1]->bound}
    };
    weft_diff_figure gap = {
        NULL, "gap", "gap", {d->proof[0]->gap, d->proof[1]->gap}
    };

    print_head(g, "");
    if (d->is_comparable) /* else the figures below say what each is worth */
        print_figure(g, &value);
    if (d->is_per_sample) {
        value = (weft_diff_figure){
            NULL, "  of a sample", "s", {d->value[0], d->value[1]}
        };
        print_figure(g, &value);
    }
    if (d->is_comparable)
        print_figure(g, &bound);
    print_figure(g, &gap);
    for (int i = 0; i < d->n_figures; i++)
        if (is_shown(d, &d->figure[i]))
            print_figure(g, &d->figure[i]);
}

static void print_claim(page *g)
{
    const weft_diff *d = g->d;
    const char *first = "";

    if (d->is_same_plan)
        first = d->is_max ? "The designs are the same. " : "The plans are the same. ";
    else if (d->better >= 0 && isfinite(d->ratio) && d->ratio > 0)
        first =
            weft_arena_print(g->a, "%s is %.4g times as %s as %s%s. ", d->better == 1 ? "B" : "A",
                             d->better == 1 ? d->ratio : 1 / d->ratio, d->is_max ? "good" : "fast",
                             d->better == 1 ? "A" : "B", d->is_per_sample ? " per sample" : "");
    else if (d->better >= 0 && !d->is_max)
        first = weft_arena_print(g->a, "%s takes no time. ", d->better == 1 ? "B" : "A");
    else if (d->is_comparable && d->better < 0)
        first = d->is_max ? "Both are worth the same. " : "Both take the same time. ";
    fputc('\n', g->to);
    weft_print_wrapped(g->to, 0, g->width, weft_arena_print(g->a, "%s%s", first, d->claim));
}

/* --- settings and decisions ------------------------------------------------------------------ */

static int longest_name(const weft_diff_row *row, int n, int most)
{
    int longest = 0;

    for (int i = 0; i < n; i++) {
        int columns = weft_columns(row[i].name);

        longest = columns > longest ? columns : longest;
    }
    return longest < most ? longest : most;
}

static void print_more(page *g, int n)
{
    if (n > 0)
        fprintf(g->to, "  and %d more\n", n);
}

static void print_settings(page *g)
{
    const weft_diff *d = g->d;
    int n = d->n_settings < MOST_SETTINGS ? d->n_settings : MOST_SETTINGS;
    int name = longest_name(d->setting, n, WEFT_SHORT_COLUMNS);

    if (n == 0)
        return;
    fprintf(g->to, "\nwhat was asked otherwise\n");
    for (int i = 0; i < n; i++) {
        const weft_diff_row *r = &d->setting[i];

        fputs("  ", g->to);
        weft_print_padded(g->to, r->name, name);
        fputs("  ", g->to);
        weft_print_wrapped(g->to, name + 4, g->width,
                           weft_arena_print(g->a, "%s -> %s", r->text[0] ? r->text[0] : "none",
                                            r->text[1] ? r->text[1] : "none"));
    }
    print_more(g, d->n_settings - n);
}

static void print_decisions(page *g)
{
    const weft_diff *d = g->d;
    int n = d->n_decisions < MOST_DECISIONS ? d->n_decisions : MOST_DECISIONS;

    if (n > 0)
        fprintf(g->to, "\nwhat was decided otherwise\n");
    for (int i = 0; i < n; i++)
        for (int s = 0; s < 2; s++) {
            const weft_diff_row *r = &d->decision[i];

            fputs("  ", g->to);
            weft_print_padded(g->to, s == 0 ? r->name : "", WEFT_LABEL - 2);
            fprintf(g->to, "%s  ", s == 0 ? "A" : "B");
            weft_print_wrapped(g->to, WEFT_LABEL + 3, g->width, r->text[s] ? r->text[s] : "none");
        }
    print_more(g, d->n_decisions - n);
}

/* --- devices --------------------------------------------------------------------------------- */

typedef struct rows {
    int n, name;
    int *place;
} rows;

static rows choose_places(page *g)
{
    const weft_diff *d = g->d;
    rows r = {0, (int)strlen(d->is_max ? "network" : "device"), WEFT_NEW(g->a, int, MOST_PLACES)};

    for (int i = 0; i < d->n_places && r.n < MOST_PLACES; i++) {
        const weft_diff_place *p = &d->place[i];
        int columns = weft_columns(p->name);

        if (d->n_places > MOST_IDLE && p->busy_s[0] <= 0 && p->busy_s[1] <= 0)
            continue;
        r.place[r.n++] = i;
        r.name = columns > r.name ? columns : r.name;
    }
    r.name = r.name < MOST_NAME ? r.name : MOST_NAME;
    return r;
}

/* Numbers in columns of their own behind a name. */
static void print_row(page *g, const char *name, int columns, const char *const *cell, int n)
{
    int slim = n <= 4 ? g->slim + 1 : g->slim;

    fputs("  ", g->to);
    weft_print_padded(g->to, name, columns);
    for (int i = 0; i < n; i++)
        put(g, weft_arena_print(g->a, " %*s", slim, cell[i]));
    fputc('\n', g->to);
}

/* Seconds with a sign; "-" for none. */
static const char *signed_s(page *g, double s)
{
    if (!(fabs(s) > 0))
        return "-";
    return weft_arena_print(g->a, "%s%s", s > 0 ? "+" : "-",
                            weft_column_seconds(g->a, fabs(s), MOST_NUMBER - 1));
}

static double or_none(double x)
{
    return isnan(x) ? 0 : x;
}

/* What left a device, what came, and by how much what stayed takes longer. */
static void print_times(page *g, const rows *r)
{
    fputc('\n', g->to);
    print_row(g, "device", r->name, (const char *[]){"busy A", "left", "came", "others", "busy B"},
              5);
    for (int i = 0; i < r->n; i++) {
        const weft_diff_place *p = &g->d->place[r->place[i]];
        double other_s = p->stay_s[1] - p->stay_s[0] + p->only_s[1] - p->only_s[0];
        bool is_noise = fabs(other_s) <= 1e-9 * fmax(or_none(p->busy_s[0]), or_none(p->busy_s[1]));

        print_row(g, p->name, r->name,
                  (const char *[]){of(g, p->busy_s[0], "s"), signed_s(g, -p->left_s),
                                   signed_s(g, p->came_s), signed_s(g, is_noise ? 0 : other_s),
                                   of(g, p->busy_s[1], "s")},
                  5);
    }
}

static void print_holds(page *g, const rows *r)
{
    const char *unit = g->d->side[0].platform || g->d->side[1].platform ? "B" : "units";

    fputc('\n', g->to);
    print_row(g, "device", r->name, (const char *[]){"memory A", "memory B", "sent A", "sent B"},
              4);
    for (int i = 0; i < r->n; i++) {
        const weft_diff_place *p = &g->d->place[r->place[i]];

        print_row(g, p->name, r->name,
                  (const char *[]){of(g, p->peak_bytes[0], "B"), of(g, p->peak_bytes[1], "B"),
                                   of(g, p->sent_bytes[0], unit), of(g, p->sent_bytes[1], unit)},
                  4);
    }
}

/* Stages; a narrow page has no room for their memory. */
static void print_stages(page *g, const rows *r)
{
    int n = g->width < DEFAULT_WIDTH ? 4 : 6;

    fputc('\n', g->to);
    print_row(
        g, "stage", r->name,
        (const char *[]){"forward A", "forward B", "backwd A", "backwd B", "memory A", "memory B"},
        n);
    for (int i = 0; i < r->n; i++) {
        const weft_diff_place *p = &g->d->place[r->place[i]];

        print_row(g, p->name, r->name,
                  (const char *[]){of(g, p->forward_s[0], "s"), of(g, p->forward_s[1], "s"),
                                   of(g, p->backward_s[0], "s"), of(g, p->backward_s[1], "s"),
                                   of(g, p->peak_bytes[0], "B"), of(g, p->peak_bytes[1], "B")},
                  n);
    }
}

/* Devices of sets, and networks on designs. */
static void print_busy(page *g, const rows *r, bool is_network)
{
    fputc('\n', g->to);
    print_row(g, is_network ? "network" : "device", r->name,
              (const char *[]){is_network ? "step A" : "busy A", is_network ? "step B" : "busy B",
                               "memory A", "memory B"},
              4);
    for (int i = 0; i < r->n; i++) {
        const weft_diff_place *p = &g->d->place[r->place[i]];

        print_row(g, p->name, r->name,
                  (const char *[]){of(g, p->busy_s[0], "s"), of(g, p->busy_s[1], "s"),
                                   of(g, p->peak_bytes[0], "B"), of(g, p->peak_bytes[1], "B")},
                  4);
    }
}

static void print_places(page *g)
{
    rows r = choose_places(g);
    int room = g->width - 2 - 5 * (g->slim + 1);

    if (strcmp(g->d->kind, "train") == 0 || strcmp(g->d->kind, "fleet") == 0) {
        print_stages(g, &r);
    } else if (strcmp(g->d->kind, "place") != 0) {
        print_busy(g, &r, g->d->is_max);
    } else {
        r.name = r.name < room ? r.name : room;
        print_times(g, &r);
        print_holds(g, &r);
    }
    if (r.n < g->d->n_places)
        fprintf(g->to, "  and %d more%s\n", g->d->n_places - r.n,
                r.n < MOST_PLACES ? " without work" : "");
}

static void print_chain(page *g)
{
    if (g->d->n_parts == 0)
        return;
    print_head(g, "why it takes so long");
    for (int i = 0; i < g->d->n_parts; i++)
        if (g->d->part[i].value[0] > 0 || g->d->part[i].value[1] > 0)
            print_figure(g, &g->d->part[i]);
}

/* --- what moved ------------------------------------------------------------------------------ */

static const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

/* Units are called after their first and last operator: "conv_2 .. relu_3". */
static const char *head_of(page *g, const char *name)
{
    const char *between = strstr(name, " .. ");

    return between ? weft_arena_text(g->a, name, (size_t)(between - name)) : name;
}

static const char *tail_of(const char *name)
{
    const char *between = strstr(name, " .. ");

    return between ? between + 4 : name;
}

/* "conv_2 .. conv_9 (12)", or with little room "conv_2 (12)". */
static const char *names_text(page *g, const weft_diff_stretch *s, int columns)
{
    const weft_diff_move *move = &g->d->move[s->first];
    const char *first = head_of(g, move->name), *last = tail_of(move[s->n - 1].name);
    const char *number = s->n > 1 ? weft_arena_print(g->a, " (%d)", s->n) : "";
    int room = columns - (int)strlen(number), head = weft_columns(first), tail = weft_columns(last);

    if (strcmp(first, last) == 0 || room < LEAST_PAIR)
        return weft_arena_print(g->a, "%s%s", short_name(g, first, room), number);
    room -= 4;
    if (head + tail > room) { /* the shorter one is whole if it leaves the other half of the room */
        int most = head < room / 2 ? room - head : tail < room / 2 ? room - tail : room / 2;

        head = head < most ? head : most;
        tail = tail < room - head ? tail : room - head;
    }
    return weft_arena_print(g->a, "%s .. %s%s", short_name(g, first, head),
                            short_name(g, last, tail), number);
}

/* Where there is one set only, its number says nothing. */
static const char *place_text(const page *g, const char *at)
{
    return g->prefix > 0 && at[g->prefix] != '\0' ? at + g->prefix : at;
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

static const char *way_text(page *g, const weft_diff_stretch *s, int columns)
{
    const weft_diff_move *m = &g->d->move[s->first];
    const char *from = place_text(g, m->at[0]), *to = place_text(g, m->at[1]);

    if (weft_columns(from) + weft_columns(to) + 4 <= columns)
        return weft_arena_print(g->a, "%s -> %s", from, to);
    return weft_arena_print(g->a, "%s -> %s", short_name(g, from, (columns - 4) / 2),
                            short_name(g, to, (columns - 4) / 2));
}

static int way_columns(page *g, int n, int most)
{
    int longest = (int)strlen("from -> to");

    for (int i = 0; i < n; i++) {
        const weft_diff_move *m = &g->d->move[g->d->stretch[i].first];
        int columns =
            weft_columns(place_text(g, m->at[0])) + weft_columns(place_text(g, m->at[1])) + 4;

        longest = columns > longest ? columns : longest;
    }
    return longest < most ? longest : most;
}

static void print_cell(page *g, const char *text, int columns)
{
    int have = weft_columns(text);

    put(g, text);
    fprintf(g->to, "%*s", have < columns ? columns - have : 0, "");
}

static void print_stretch(page *g, const weft_diff_stretch *s, int way, bool has_transfers)
{
    int rest = g->width - 2 - way - 2 * (g->slim + 1) - (has_transfers ? g->slim : 0) - 2;

    fputs("  ", g->to);
    print_cell(g, way_text(g, s, way), way);
    put(g, weft_arena_print(g->a, " %*s %*s", g->slim, of(g, s->seconds[0], "s"), g->slim,
                            of(g, s->seconds[1], "s")));
    if (has_transfers)
        fprintf(g->to, "%*s", g->slim,
                s->n_gained + s->n_lost == 0
                    ? "-"
                    : weft_arena_print(g->a, "+%d -%d", s->n_gained, s->n_lost));
    fprintf(g->to, "  %s\n", names_text(g, s, rest));
}

static void print_moves(page *g)
{
    const weft_diff *d = g->d;
    bool has_transfers = strcmp(d->kind, "place") == 0;
    int n = d->n_stretches < g->top ? d->n_stretches : g->top, left = 0;
    int room = g->width - 2 - 2 * (g->slim + 1) - (has_transfers ? g->slim : 0) - 2;
    int way = way_columns(g, n, room - (room < 2 * NAMES ? room / 2 : NAMES));

    if (d->n_moves == 0)
        return;
    fputc('\n', g->to);
    weft_print_wrapped(
        g->to, 0, g->width,
        weft_arena_print(g->a, "%s: %d of %d %s%s, in %d stretch%s%s",
                         has_transfers ? "moved" : "done otherwise", d->n_moves,
                         d->n_moves + d->n_stay, d->item, plural(d->n_moves + d->n_stay),
                         d->n_stretches, d->n_stretches == 1 ? "" : "es",
                         d->n_stretches > 1 ? ", by effect on the time of devices" : ""));
    if (n > 0)
        fprintf(g->to, "  %-*s %*s %*s%*s  %ss\n", way, "from -> to", g->slim, "A", g->slim, "B",
                has_transfers ? g->slim : 0, has_transfers ? "transfers" : "", d->item);
    for (int i = 0; i < n; i++)
        print_stretch(g, &d->stretch[i], way, has_transfers);
    for (int i = n; i < d->n_stretches; i++)
        left += d->stretch[i].n;
    if (left > 0)
        fprintf(g->to, "  and %d %s%s in %d more stretch%s\n", left, d->item, plural(left),
                d->n_stretches - n, d->n_stretches - n == 1 ? "" : "es");
}

static void print_stay(page *g)
{
    const weft_diff *d = g->d;
    const char *text;

    if (d->n_stay == 0 || d->is_same_plan)
        return;
    text = weft_arena_print(g->a, "not moved: %d %s%s, %s in A and %s in B%s", d->n_stay, d->item,
                            plural(d->n_stay), of(g, d->stay_s[0], "s"), of(g, d->stay_s[1], "s"),
                            d->n_shifted > 0
                                ? weft_arena_print(g->a, "; %d of them start%s at another time",
                                                   d->n_shifted, d->n_shifted == 1 ? "s" : "")
                                : "");
    fputc('\n', g->to);
    weft_print_wrapped(g->to, 0, g->width, text);
}

static void print_only(page *g, int s)
{
    const weft_diff *d = g->d;
    const char *text;

    if (d->n_only[s] == 0)
        return;
    text = weft_arena_print(g->a, "only in %s: %d %s%s:", s == 0 ? "A" : "B", d->n_only[s], d->item,
                            plural(d->n_only[s]));
    for (int i = 0; i < d->n_only[s] && i < MOST_ONLY; i++)
        text = weft_arena_print(g->a, "%s %s", text, d->only[s][i]);
    if (d->n_only[s] > MOST_ONLY)
        text = weft_arena_print(g->a, "%s and %d more", text, d->n_only[s] - MOST_ONLY);
    weft_print_wrapped(g->to, 0, g->width, text);
}

void weft_diff_text(const weft_diff *d, int top, int width, FILE *to)
{
    page g = {.d = d, .to = to, .a = weft_arena_new(), .top = top, .prefix = find_prefix(d)};

    assert(d->side != NULL);
    g.width = width <= 0 ? DEFAULT_WIDTH : width;
    g.width = g.width < LEAST_WIDTH ? LEAST_WIDTH : g.width > MOST_WIDTH ? MOST_WIDTH : g.width;
    g.label = g.width < DEFAULT_WIDTH ? 18 : 20;
    g.number = g.width < DEFAULT_WIDTH ? 11 : 12;
    if (d->is_max) { /* "1587 samples/s" */
        g.label = g.width < DEFAULT_WIDTH ? 11 : 17;
        g.number = g.width < DEFAULT_WIDTH ? 14 : 15;
    }
    g.slim = g.width < DEFAULT_WIDTH ? MOST_NUMBER : MOST_NUMBER + 1;
    print_title(&g, 0);
    print_title(&g, 1);
    print_values(&g);
    print_claim(&g);
    print_settings(&g);
    if (!d->is_same_plan) {
        print_decisions(&g);
        print_places(&g);
        print_chain(&g);
        print_moves(&g);
        print_stay(&g);
        print_only(&g, 0);
        print_only(&g, 1);
    }
    weft_arena_free(g.a);
}
