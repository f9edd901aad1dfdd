/* SPDX-License-Identifier: MIT */
/* write_text.c: the document of a plan for a terminal.
 *
 * 1. Title, and a line for each fact.
 * 2. Tables: as many columns as fit; of many rows the first, or those with most of what the table
 *    ranks by, in their order.
 * 3. Why it takes that long: the chain of the run, its longest parts in order of time, the rest in
 *    one line.
 * 4. A chart of the timeline, a character a slice of time, and one of the memory. Overlapping bars
 *    count once: they are taken by start, and only what lies after the latest end so far is added.
 *
 * Every line fits the width (60 columns or more) unless a single word does not. Plain ASCII besides
 * the names. Time O(bars log bars + bars * columns). */
#include "document.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_ROWS = 16,  /* of a table */
    MOST_CHART = 32, /* rows of a chart */
    MOST_PARTS = 12, /* of the chain */
    MOST_NAME = 24,  /* columns of a name */
    LEAST_TEXT = 12, /* columns of a text that is cut to fit */
};

typedef struct text {
    const weft_page *g;
    FILE *to;
    weft_arena *a;
    int width;
    bool with_all;
} text;

static const char *string_of(const weft_doc *map, const char *key)
{
    const weft_doc *d = weft_doc_get(map, key);

    return d != NULL && d->kind == WEFT_DOC_TEXT ? d->text : NULL;
}

static const char *seconds(text *t, double s)
{
    return weft_glued_seconds(t->a, s);
}

/* Words that no line has room for are cut. */
static const char *cut_words(text *t, const char *words, int columns)
{
    const char *all = "";

    for (size_t n; *words; words += n) {
        char cut[WEFT_SHORT_BYTES];
        const char *word;

        n = strspn(words, " ");
        n += strcspn(words + n, " ");
        word = weft_arena_text(t->a, words, n);
        all = weft_arena_print(t->a, "%s%s", all,
                               weft_columns(word) <= columns ? word
                                                             : weft_shorten(word, columns, cut));
    }
    return all;
}

static void wrapped(text *t, int indent, const char *words)
{
    weft_print_wrapped(t->to, indent, t->width, cut_words(t, words, t->width - indent));
}

/* --- facts ----------------------------------------------------------------------------------- */

static void print_facts(text *t)
{
    const weft_doc *facts = t->g->facts;
    int label = WEFT_LABEL - 4;

    for (int i = 0; i < facts->n; i++)
        label = (int)fmax(label, fmin(weft_columns(string_of(facts->item[i], "label")), MOST_NAME));
    for (int i = 0; i < facts->n; i++) {
        const char *words = string_of(facts->item[i], "text");
        const char *note = string_of(facts->item[i], "note");

        if (note != NULL)
            words = weft_arena_print(t->a, "%s, %s", words, note);
        fputs("  ", t->to);
        weft_print_padded(t->to, string_of(facts->item[i], "label"), label);
        fputs("  ", t->to);
        wrapped(t, label + 4, weft_glued(t->a, words));
    }
}

/* --- tables ---------------------------------------------------------------------------------- */

typedef struct grid {
    const weft_doc *columns, *rows;
    int n, *row;       /* rows that are shown */
    const char **cell; /* [n * columns] NULL: nothing is known */
    int *width;        /* [columns] 0: not shown */
    int last;          /* column that is shown, and the columns before it */
    int before;
} grid;

static const char *unit_of(const grid *m, int column)
{
    return string_of(m->columns->item[column], "unit");
}

static bool is_words(const grid *m, int column)
{
    return strcmp(unit_of(m, column), "text") == 0;
}

static double number_of(const weft_doc *cell)
{
    return cell->kind == WEFT_DOC_INT    ? (double)cell->integer
           : cell->kind == WEFT_DOC_REAL ? cell->real
                                         : NAN;
}

typedef struct ranked {
    double most;
    int row;
} ranked;

static int by_most(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->most > y->most || x->most < y->most)
        return x->most > y->most ? -1 : 1;
    return x->row - y->row;
}

static int by_row(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static int shown_rows(const text *t, const weft_doc *table, int n)
{
    const weft_doc *shown = weft_doc_get(table, "n_shown");
    int most = shown ? (int)fmax(0, (double)shown->integer) : MOST_ROWS;

    return t->with_all || n <= most + (shown == NULL) ? n : most;
}

/* All rows, or those with most of what the table ranks by. */
static void choose_rows(text *t, const weft_doc *table, grid *m)
{
    const char *rank = string_of(table, "rank");
    ranked *list = WEFT_NEW(t->a, ranked, m->rows->n + 1);

    m->n = shown_rows(t, table, m->rows->n);
    m->row = WEFT_NEW(t->a, int, m->n + 1);
    for (int i = 0; i < m->rows->n; i++) {
        list[i].row = i;
        for (int c = 0; rank != NULL && c < m->columns->n; c++)
            if (strcmp(string_of(m->columns->item[c], "key"), rank) == 0)
                list[i].most = number_of(m->rows->item[i]->item[c]);
    }
    if (m->n < m->rows->n)
        qsort(list, (size_t)m->rows->n, sizeof *list, by_most);
    while (m->n < m->rows->n && m->n > 1 && rank != NULL && !(list[m->n - 1].most > 0))
        m->n--; /* what has nothing to do is not shown */
    for (int i = 0; i < m->n; i++)
        m->row[i] = list[i].row;
    qsort(m->row, (size_t)m->n, sizeof *m->row, by_row);
}

static const char *cell_text(text *t, const grid *m, const weft_doc *cell, int column)
{
    double x = number_of(cell);

    if (cell->kind == WEFT_DOC_TEXT)
        return cell->text;
    return isnan(x) ? NULL : weft_amount_text(t->a, x, unit_of(m, column));
}

/* No time and no bytes; numbers of stages and the like may be 0. */
static bool is_zero(const grid *m, const weft_doc *cell, int column)
{
    return strcmp(unit_of(m, column), "count") != 0 && cell->kind != WEFT_DOC_TEXT &&
           fabs(number_of(cell)) <= 0;
}

/* A column in which there is nothing has no width. */
static void fill(text *t, grid *m)
{
    int n = m->columns->n;

    m->cell = WEFT_NEW(t->a, const char *, m->n *n + 1);
    m->width = WEFT_NEW(t->a, int, n + 1);
    for (int c = 0; c < n; c++) {
        for (int i = 0; i < m->n; i++) {
            const char *cell = cell_text(t, m, m->rows->item[m->row[i]]->item[c], c);

            m->cell[i * n + c] = cell;
            if (cell != NULL && *cell && !is_zero(m, m->rows->item[m->row[i]]->item[c], c))
                m->width[c] = (int)fmax(m->width[c], fmin(weft_columns(cell), WEFT_SHORT_COLUMNS));
        }
        if (m->width[c] > 0)
            m->width[c] =
                (int)fmax(m->width[c], weft_columns(string_of(m->columns->item[c], "name")));
    }
}

/* What does not fit is cut if it is a text, and else left out. */
static void fit(const text *t, grid *m)
{
    int used = 1;

    for (int c = 0; c < m->columns->n; c++) {
        int room = t->width - used - 2;

        if (m->width[c] > room)
            m->width[c] = is_words(m, c) && room >= LEAST_TEXT ? room : 0;
        if (m->width[c] > 0) {
            m->last = c;
            m->before = used + 1;
            used += m->width[c] + 2;
        }
    }
}

static void print_cell(text *t, const grid *m, int column, const char *cell)
{
    int columns = m->width[column];

    if (columns == 0)
        return;
    fputs("  ", t->to);
    if (is_words(m, column) && column == m->last) {
        wrapped(t, m->before, cell ? cell : "");
        return;
    }
    if (is_words(m, column))
        weft_print_padded(t->to, cell ? cell : "", columns);
    else
        fprintf(t->to, "%*s", columns - weft_columns(cell ? cell : "-"), "");
    if (!is_words(m, column))
        weft_put_glued(t->to, cell ? cell : "-");
    if (column == m->last)
        fputc('\n', t->to);
}

static void print_table(text *t, const weft_doc *table)
{
    const char *note = string_of(table, "note"), *more = string_of(table, "more");
    grid m = {.columns = weft_doc_get(table, "columns"), .rows = weft_doc_get(table, "rows")};

    choose_rows(t, table, &m);
    fill(t, &m);
    fit(t, &m);
    fputc('\n', t->to);
    wrapped(t, 0,
            weft_arena_print(t->a, "%s%s%s", string_of(table, "title"), note ? ". " : "",
                             note ? weft_glued(t->a, note) : ""));
    for (int c = 0; c < m.columns->n; c++)
        print_cell(t, &m, c, string_of(m.columns->item[c], "name"));
    for (int i = 0; i < m.n; i++)
        for (int c = 0; c < m.columns->n; c++)
            print_cell(t, &m, c, m.cell[i * m.columns->n + c]);
    if (m.n < m.rows->n)
        fprintf(t->to, "  and %d more%s%s%s\n", m.rows->n - m.n, more ? "; " : "", more ? more : "",
                more ? " shows all" : "");
}

static void print_tables(text *t)
{
    for (int i = 0; i < t->g->tables->n; i++) {
        const weft_doc *table = t->g->tables->item[i];

        if (weft_doc_get(table, "rows")->n > 0 &&
            (t->with_all || !weft_doc_get(table, "is_detail")->truth))
            print_table(t, table);
    }
}

/* --- why it takes that long ------------------------------------------------------------------ */

static double length_of(const weft_page_link *part)
{
    return part->end_s - part->start_s;
}

/* "3.9 ms computing, 0.3 ms sending". */
static const char *totals_text(text *t)
{
    static const char *const kind[] = {"compute", "transfer", "wait"};
    static const char *const doing[] = {"computing", "sending", "waiting"};
    const char *words = "";

    for (int k = 0; k < 3; k++) {
        double sum_s = 0;

        for (int i = 0; i < t->g->n_links; i++)
            sum_s += strcmp(t->g->chain[i].kind, kind[k]) == 0 ? length_of(&t->g->chain[i]) : 0;
        if (sum_s > 0)
            words = weft_arena_print(t->a, "%s%s%s %s", words, *words ? ", " : "",
                                     seconds(t, sum_s), doing[k]);
    }
    return words;
}

static void print_part(text *t, double time_s, const char *words)
{
    weft_put_glued(t->to, weft_arena_print(t->a, "  %*s  ", WEFT_LABEL - 4, seconds(t, time_s)));
    wrapped(t, WEFT_LABEL, words);
}

static void print_chain(text *t)
{
    const weft_page *g = t->g;
    int n = g->n_links <= MOST_PARTS + 1 ? g->n_links : MOST_PARTS;
    ranked *list = WEFT_NEW(t->a, ranked, g->n_links + 1);
    bool *is_shown = WEFT_NEW(t->a, bool, g->n_links + 1);
    double end_s = g->n_links > 0 ? g->chain[g->n_links - 1].end_s : 0, rest_s = 0;

    if (!(end_s > 0))
        return;
    for (int i = 0; i < g->n_links; i++)
        list[i] = (ranked){length_of(&g->chain[i]), i};
    qsort(list, (size_t)g->n_links, sizeof *list, by_most);
    for (int i = 0; i < n; i++)
        is_shown[list[i].row] = true;
    fputc('\n', t->to);
    wrapped(t, 0,
            weft_arena_print(t->a, "why %s takes %s: %s", g->chain_of ? g->chain_of : "it",
                             seconds(t, end_s), totals_text(t)));
    for (int i = 0; i < g->n_links; i++)
        if (is_shown[i])
            print_part(t, length_of(&g->chain[i]), g->chain[i].text);
        else
            rest_s += length_of(&g->chain[i]);
    if (n < g->n_links)
        print_part(t, rest_s,
                   weft_arena_print(t->a, "in %d shorter steps between them", g->n_links - n));
}

/* --- charts ---------------------------------------------------------------------------------- */

typedef struct chart {
    const weft_page_time *time;
    bool is_kinds; /* letters of kinds, not how busy */
    int n_rows;    /* the last is of all that is sent */
    int n_columns, name;
    double slice_s;
    double *busy_s, *until_s; /* [rows * columns], [rows] */
    double *kind_s;           /* [rows * columns * kinds] */
} chart;

static int by_start(const void *a, const void *b)
{
    const weft_page_bar *x = *(const weft_page_bar *const *)a,
                        *y = *(const weft_page_bar *const *)b;

    if (x->start_s > y->start_s || x->start_s < y->start_s)
        return x->start_s > y->start_s ? 1 : -1;
    return (x > y) - (x < y);
}

static bool is_sent(const chart *c, int row)
{
    return strcmp(c->time->rows.at[row].kind, "link") == 0;
}

static void add_bar(chart *c, const weft_page_bar *b)
{
    int row = is_sent(c, b->row) ? c->n_rows - 1 : b->row;
    double from_s = fmax(b->start_s, c->until_s[row]);

    for (int i = (int)fmin(b->start_s / c->slice_s, c->n_columns - 1); i < c->n_columns; i++) {
        double left_s = i * c->slice_s, right_s = fmin(b->end_s, (i + 1) * c->slice_s);
        size_t at = (size_t)row * (size_t)c->n_columns + (size_t)i;

        if (left_s >= b->end_s)
            break;
        c->busy_s[at] += fmax(0.0, right_s - fmax(from_s, left_s));
        c->kind_s[at * (size_t)c->time->n_kinds + (size_t)b->kind] +=
            fmax(0.0, right_s - fmax(b->start_s, left_s));
    }
    c->until_s[row] = fmax(c->until_s[row], b->end_s);
}

static void fill_chart(text *t, chart *c)
{
    int n = c->time->bars.n;
    const weft_page_bar **bar = WEFT_NEW(t->a, const weft_page_bar *, n + 1);
    size_t cells = (size_t)c->n_rows * (size_t)c->n_columns;

    c->busy_s = WEFT_NEW(t->a, double, cells);
    c->kind_s = WEFT_NEW(t->a, double, cells *(size_t)c->time->n_kinds);
    c->until_s = WEFT_NEW(t->a, double, c->n_rows);
    for (int i = 0; i < n; i++)
        bar[i] = &c->time->bars.at[i];
    qsort(bar, (size_t)n, sizeof *bar, by_start);
    for (int i = 0; i < n; i++)
        add_bar(c, bar[i]);
}

static char mark_at(const chart *c, int row, int column)
{
    const double rounding = 1e-6; /* of a slice: what ends with a slice is not in the next */
    size_t at = (size_t)row * (size_t)c->n_columns + (size_t)column;
    const double *kind_s = c->kind_s + at * (size_t)c->time->n_kinds;
    double share = c->busy_s[at] / c->slice_s;
    int most = 0;

    if (!c->is_kinds || row == c->n_rows - 1)
        return share > 0.5 + rounding ? '#' : share > rounding ? '+' : '.';
    for (int k = 1; k < c->time->n_kinds; k++)
        most = kind_s[k] > kind_s[most] ? k : most;
    return share > 0.5 - rounding ? (char)toupper((unsigned char)c->time->kinds[most][0]) : '.';
}

static void print_row(text *t, const chart *c, int row, const char *name)
{
    fputs("  ", t->to);
    weft_print_padded(t->to, name, c->name);
    fputs(" |", t->to);
    for (int i = 0; i < c->n_columns; i++)
        fputc(mark_at(c, row, i), t->to);
    fputs("|\n", t->to);
}

/* "F forward, B backward": kinds of the rows that compute. */
static const char *legend(text *t, const chart *c)
{
    bool *is_used = WEFT_NEW(t->a, bool, c->time->n_kinds);
    const char *words = "";

    for (int i = 0; i < c->time->bars.n; i++)
        if (!is_sent(c, c->time->bars.at[i].row))
            is_used[c->time->bars.at[i].kind] = true;
    for (int k = 0; k < c->time->n_kinds; k++)
        if (is_used[k])
            words =
                weft_arena_print(t->a, "%s%c\t%s, ", words,
                                 toupper((unsigned char)c->time->kinds[k][0]), c->time->kinds[k]);
    return words;
}

static bool is_busy(const chart *c, int row)
{
    return c->until_s[row] > 0;
}

static void print_rows(text *t, const chart *c)
{
    int n = 0, n_idle = 0;

    for (int r = 0; r < c->time->rows.n; r++) {
        if (is_sent(c, r))
            continue;
        n_idle += !is_busy(c, r);
        if (is_busy(c, r) && n++ < MOST_CHART)
            print_row(t, c, r, c->time->rows.at[r].name);
    }
    if (is_busy(c, c->n_rows - 1))
        print_row(t, c, c->n_rows - 1, "transfers");
    if (n_idle > 0)
        fprintf(t->to, "  %d device%s without work\n", n_idle, n_idle == 1 ? "" : "s");
}

static int name_columns(const weft_page_time *time)
{
    int longest = (int)strlen("transfers");

    for (int r = 0; r < time->rows.n; r++)
        if (strcmp(time->rows.at[r].kind, "link") != 0)
            longest = (int)fmax(longest, weft_columns(time->rows.at[r].name));
    return longest < MOST_NAME ? longest : MOST_NAME;
}

static void print_timeline(text *t)
{
    const weft_page_time *time = &t->g->time;
    chart c = {.time = time, .n_rows = time->rows.n + 1, .name = name_columns(time)};
    const char *note = time->note ? weft_arena_print(t->a, "%s; ", time->note) : "";

    c.is_kinds = time->rows.n > 0 && strcmp(time->colour_by, "kind") == 0;
    c.n_columns = t->width - c.name - 5;
    c.slice_s = time->end_s / c.n_columns;
    if (time->rows.n == 0 || !(c.slice_s > 0))
        return;
    fill_chart(t, &c);
    fputc('\n', t->to);
    wrapped(t, 0,
            c.is_kinds
                ? weft_arena_print(t->a, "%swhat takes most of %s: %s.\tidle", note,
                                   seconds(t, c.slice_s), legend(t, &c))
                : weft_arena_print(t->a, "%sbusy: # over half, + less, . idle; one mark is %s",
                                   note, seconds(t, c.slice_s)));
    print_rows(t, &c);
    weft_put_glued(t->to, weft_arena_print(t->a, "  %*s  0 s%*s\n", c.name, "", c.n_columns - 3,
                                           seconds(t, time->end_s)));
}

/* The most that there is in each slice. */
static double most_bytes(const weft_page_curve *c, double from_s, double to_s)
{
    double most = 0;

    for (int i = 0; i < c->n; i++)
        if (c->sample[i].at_s < to_s && (i + 1 == c->n || c->sample[i + 1].at_s > from_s))
            most = fmax(most, c->sample[i].bytes);
    return most;
}

static double peak_of(const weft_page_curve *c)
{
    double most = 0;

    for (int i = 0; i < c->n; i++)
        most = fmax(most, c->sample[i].bytes);
    return most;
}

static void print_curve(text *t, const weft_page_curve *c, int name, int n_columns)
{
    double slice_s = t->g->time.end_s / n_columns;

    fputs("  ", t->to);
    weft_print_padded(t->to, c->name, name);
    fputs(" |", t->to);
    for (int i = 0; i < n_columns; i++) {
        double share = most_bytes(c, i * slice_s, (i + 1) * slice_s) / c->capacity;

        fputc('0' + (int)fmin(fmax(10 * share, 0), 9), t->to);
    }
    weft_put_glued(t->to, weft_arena_print(t->a, "| %s of %s\n", weft_glued_bytes(t->a, peak_of(c)),
                                           weft_glued_bytes(t->a, c->capacity)));
}

static void print_memory(text *t)
{
    const int room = (int)strlen(" 1.23 MB of 12.3 MB");
    int name = name_columns(&t->g->time), n = 0;

    for (int k = 0; k < t->g->memory.n && n < MOST_CHART && t->g->time.end_s > 0; k++) {
        const weft_page_curve *c = &t->g->memory.at[k];

        if (!(10 * peak_of(c) >= c->capacity))
            continue;
        if (n++ == 0) {
            fputc('\n', t->to);
            wrapped(t, 0, "memory, in tenths of what there is (9: 90\t% or more)");
        }
        print_curve(t, c, name, t->width - name - 5 - room);
    }
}

/* --- all ------------------------------------------------------------------------------------- */

static void print_nothing(text *t)
{
    const weft_page *g = t->g;

    wrapped(t, 0,
            g->outcome == WEFT_INFEASIBLE
                ? weft_arena_print(t->a, "  There is no %s: this is proved.", g->nothing)
                : weft_arena_print(t->a, "  No %s was found; whether there is one is not known.",
                                   g->nothing));
    if (g->reason != NULL)
        wrapped(t, 2, weft_arena_print(t->a, "  %s", g->reason));
}

void weft_write_text(const weft_page *g, bool with_all, int width, FILE *to)
{
    text t = {g, to, weft_arena_new(), weft_text_width(width), with_all};

    if (*g->title) {
        wrapped(&t, 0, weft_arena_print(t.a, "%s, %s", g->title, g->subtitle));
        fputc('\n', to);
    }
    if (g->outcome != WEFT_OPTIMAL && g->outcome != WEFT_BOUNDED && g->tables->n == 0)
        print_nothing(&t);
    print_facts(&t);
    print_tables(&t);
    print_chain(&t);
    print_timeline(&t);
    print_memory(&t);
    for (int i = 0; i < g->warnings.n; i++) {
        if (i == 0)
            fputc('\n', to);
        wrapped(&t, 2, weft_arena_print(t.a, "  warning: %s", g->warnings.at[i]));
    }
    weft_arena_free(t.a);
}
