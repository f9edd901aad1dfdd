/* SPDX-License-Identifier: MIT */
/* fields.c: what the writers of reports share: what a report has, and texts that fit the
 * columns of a terminal.
 *
 * Names come from files of others. Control characters never reach a terminal, and a column is a
 * character of UTF-8, two for wide ones: bytes that only continue one do not count. */
#include "fields.h"
#include "train_plan.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* --- plans ----------------------------------------------------------------------------------- */

bool weft_report_has_plan(const weft_report *r)
{
    return r->solution->plan.device != NULL && r->solution->measures.busy_s != NULL;
}

weft_plan weft_shown_way(const weft_report *r)
{
    weft_plan view = r->solution->plan;
    size_t first = (size_t)r->solution->measures.longest_way * (size_t)view.n_tasks;

    if (view.n_variants > 1) {
        view.device += first;
        view.start_s += first;
        view.n_variants = 1;
    }
    return view;
}

bool weft_report_has_bytes(const weft_report *r)
{
    return r->origin == NULL || r->origin->platform != NULL;
}

bool weft_shard_report_has_plan(const weft_shard_report *r)
{
    return r->solution->plan.set_of != NULL && r->solution->measures.busy_s != NULL;
}

const double *weft_step_parts(const weft_shard_report *r, weft_arena *a)
{
    const weft_shard_plan_measures *m = &r->solution->measures;
    double *sum_s = WEFT_NEW(a, double, (size_t)r->solution->plan.n_steps *WEFT_N_PARTS + 1);

    for (int i = 0; i < m->jobs->n_jobs; i++)
        sum_s[(size_t)m->jobs->task[i] * WEFT_N_PARTS + m->part[i]] += m->jobs->duration_s[i];
    return sum_s;
}

const int *weft_set_sizes(const weft_shard_plan *s, weft_arena *a)
{
    int *n = WEFT_NEW(a, int, s->n_sets + 1);

    for (int v = 0; v < s->n_steps; v++)
        n[s->set_of[v]]++;
    return n;
}

double weft_set_utilisation(const weft_shard_report *r, int set)
{
    const weft_shard_plan_measures *m = &r->solution->measures;
    double busy_s = m->busy_s[r->solution->plan.set[set].member[0]];

    return m->latency_s > 0 ? fmin(1.0, busy_s / m->latency_s) : 0;
}

/* --- training -------------------------------------------------------------------------------- */

bool weft_train_report_has_plan(const weft_train_report *r)
{
    return r->solution->plan.stage != NULL && r->solution->measures.stage_busy_s != NULL;
}

int weft_train_stage_of(const weft_train_report *r, int job)
{
    const weft_train_measures *m = &r->solution->measures;
    int task = m->jobs->task[job], n = r->solution->plan.n_stages;

    return m->part[job] == WEFT_TRAIN_SYNC || m->part[job] == WEFT_TRAIN_UPDATE ? task : task % n;
}

bool weft_train_is_sent(weft_train_part part)
{
    return part == WEFT_TRAIN_SEND || part == WEFT_TRAIN_RETURN || part == WEFT_TRAIN_SHARED;
}

int weft_stage_devices(const weft_stage *s)
{
    int n = 0;

    for (int i = 0; i < s->n_parts; i++)
        n += s->part[i].n_blocks * s->width;
    return n;
}

int weft_train_plan_devices(const weft_train_plan *plan)
{
    int n = 0;

    for (int i = 0; i < plan->n_stages; i++)
        n += weft_stage_devices(&plan->stage[i]);
    return n;
}

int weft_cluster_devices(const weft_cluster *c)
{
    int n = 0;

    for (int k = 0; k < c->n_classes; k++)
        n += c->classes[k].n_devices;
    return n;
}

weft_chunk_figures weft_stage_figures(const weft_train_plan *plan, const weft_train_measures *m,
                                      int stage)
{
    weft_chunk_figures sum = {0};

    for (int c = stage; c < plan->n_stages * plan->n_chunks; c += plan->n_stages) {
        sum.forward_s += m->figures[c].forward_s;
        sum.backward_s += m->figures[c].backward_s;
        sum.again_s += m->figures[c].again_s;
        sum.collective_s += m->figures[c].collective_s;
    }
    return sum;
}

const int *weft_unit_chunks(const weft_train_problem *p, const weft_train_plan *plan, weft_arena *a)
{
    const weft_blocks *u = &p->blocks;
    int *chunk_of = WEFT_NEW(a, int, u->n_blocks + 1);

    for (int c = 0; c < plan->n_stages * plan->n_chunks; c++)
        for (int i = 0; i < u->n_blocks; i++)
            if (weft_bit_get(u->cut + (size_t)plan->cut[c + 1] * (size_t)u->n_words, i) &&
                !weft_bit_get(u->cut + (size_t)plan->cut[c] * (size_t)u->n_words, i))
                chunk_of[i] = c;
    return chunk_of;
}

double weft_unit_s(const weft_train_problem *p, int unit, const weft_stage *s)
{
    double most_s = 0;

    for (int i = 0; i < s->n_parts; i++) {
        int table = weft_part_table(p, s, i);
        const weft_block_cost *cost = table < 0 ? NULL : p->cost[table];

        if (cost != NULL)
            most_s = fmax(most_s, cost[unit].forward_s + cost[unit].backward_s +
                                      cost[unit].again_s[s->recompute]);
    }
    return most_s;
}

int weft_train_bounds(const weft_train_solution *s, weft_bound_name out[WEFT_N_BOUNDS])
{
    const weft_train_bound_parts *f = &s->log.floor;
    const weft_bound_name list[WEFT_N_BOUNDS] = {
        {"arithmetic",       "compute_s",  f->compute_s },
        {"memory bandwidth", "memory_s",   f->memory_s  },
        {"communication",    "send_s",     f->send_s    },
        {"pipeline",         "pipeline_s", f->pipeline_s},
    };

    memcpy(out, list, sizeof list);
    for (int i = 0; i < WEFT_N_BOUNDS; i++)
        if (list[i].seconds > 0 && list[i].seconds >= s->proof.bound * (1 - 1e-9))
            return i;
    return -1;
}

/* --- text ------------------------------------------------------------------------------------ */

static char shown(char c)
{
    return (unsigned char)c < ' ' || c == 0x7f ? '?' : c;
}

/* Characters that take two columns: scripts of East Asia, and pictures. */
static bool is_wide(uint32_t c)
{
    return (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
           (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
           (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
           (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1faff) ||
           (c >= 0x20000 && c <= 0x3fffd);
}

/* Marks that stand on the character before, and signs that nobody sees. */
static bool is_narrow(uint32_t c)
{
    return (c >= 0x300 && c <= 0x36f) || (c >= 0x200b && c <= 0x200f) ||
           (c >= 0xfe00 && c <= 0xfe0f);
}

/* Columns of the character that begins here, and its bytes; bytes that are no UTF-8 count as one
 * column with those that would continue them. */
static int character(const char *text, int *n_bytes)
{
    unsigned char head = (unsigned char)*text;
    uint32_t c = head >= 0xf0 ? head & 0x07 : head >= 0xe0 ? head & 0x0f : head & 0x1f;

    for (*n_bytes = 1; ((unsigned char)text[*n_bytes] & 0xc0) == 0x80; (*n_bytes)++)
        c = c << 6 | ((unsigned char)text[*n_bytes] & 0x3f);
    if (head < 0xc0 || *n_bytes > 4)
        return 1;
    return is_wide(c) ? 2 : is_narrow(c) ? 0 : 1;
}

int weft_columns(const char *text)
{
    int n = 0, n_bytes;

    for (; *text; text += n_bytes)
        n += character(text, &n_bytes);
    return n;
}

/* Copies the characters within columns first .. last - 1 behind the n bytes that are there; returns
 * how many there are then. Text that is not UTF-8 may have more bytes a column than there is room
 * for. */
static int copy_columns(const char *name, int first, int last, char *to, int n)
{
    int column = 0, n_bytes;

    for (; *name; name += n_bytes) {
        int columns = character(name, &n_bytes);

        if (column + columns > last)
            break;
        for (int i = 0; i < n_bytes && column >= first && n + 1 < WEFT_SHORT_BYTES; i++)
            to[n++] = shown(name[i]);
        column += columns;
    }
    to[n] = '\0';
    return n;
}

const char *weft_shorten(const char *name, int columns, char to[WEFT_SHORT_BYTES])
{
    int have = weft_columns(name),
        want = columns < WEFT_SHORT_COLUMNS ? columns : WEFT_SHORT_COLUMNS;
    int head = (want - 1) / 2, n;

    if (have <= want) {
        copy_columns(name, 0, have, to, 0);
        return to;
    }
    n = copy_columns(name, 0, head, to, 0);
    for (int i = 0; i < 2 && n + 1 < WEFT_SHORT_BYTES; i++)
        to[n++] = '.';
    copy_columns(name, have - (want - 2 - head), have, to, n);
    return to;
}

void weft_print_padded(FILE *to, const char *name, int columns)
{
    char text[WEFT_SHORT_BYTES];

    weft_shorten(name, columns, text);
    fprintf(to, "%s%*s", text, columns - weft_columns(text), "");
}

/* The bytes up to the next blank, and their columns. What no line has room for ends behind a '|'. */
static int word_bytes(const char *word, int room, int *columns)
{
    int bytes = (int)strcspn(word, " "), bar = 0, bar_columns = 0, n_bytes;

    *columns = 0;
    for (int i = 0; i < bytes; i += n_bytes) {
        *columns += character(word + i, &n_bytes);
        if (word[i] == '|' && *columns <= room) {
            bar = i + 1;
            bar_columns = *columns;
        }
    }
    if (*columns <= room || bar == 0)
        return bytes;
    *columns = bar_columns;
    return bar;
}

void weft_print_wrapped(FILE *to, int indent, int width, const char *text)
{
    int used = indent;

    while (*text) {
        int blanks = (int)strspn(text, " "), columns;
        const char *word = text + blanks;
        int bytes = word_bytes(word, width - indent, &columns);

        if (used > indent && used + blanks + columns > width) {
            fprintf(to, "\n%*s", indent, "");
            used = indent;
            blanks = 0;
        }
        fprintf(to, "%*s", blanks, "");
        for (int i = 0; i < bytes; i++)
            fputc(word[i] == '\t' ? ' ' : shown(word[i]), to);
        used += blanks + columns;
        text = word + bytes;
    }
    fputc('\n', to);
}

const char *weft_print_seconds(double seconds, char to[48])
{
    char digits[32];

    if (!(seconds >= 9999.5 && seconds < 1e15)) /* four digits are enough, or none are */
        return weft_unit_print(seconds, WEFT_UNIT_SECONDS, to);
    snprintf(to, 48, "%s s", weft_format_integer((int64_t)(seconds + 0.5), digits));
    return to;
}

static const char *glued(char *text)
{
    char *blank = strchr(text, ' ');

    if (blank != NULL)
        *blank = '\t';
    return text;
}

const char *weft_whole(weft_arena *a, int64_t number)
{
    return weft_format_integer(number, WEFT_NEW(a, char, 32));
}

const char *weft_glued_seconds(weft_arena *a, double seconds)
{
    char *text = WEFT_NEW(a, char, 48);

    weft_print_seconds(seconds, text);
    return glued(text);
}

const char *weft_glued_bytes(weft_arena *a, double bytes)
{
    char *text = WEFT_NEW(a, char, 32);

    weft_format_bytes(bytes, text);
    return glued(text);
}

const char *weft_glued_amount(const weft_report *r, double sent, weft_arena *a)
{
    char text[32];

    if (weft_report_has_bytes(r))
        return weft_glued_bytes(a, sent);
    return weft_arena_print(a, "%s\tunit%s", weft_format_count(sent, text),
                            sent < 1 || sent > 1 ? "s" : "");
}

const char *weft_unglued(weft_arena *a, const char *text)
{
    char *copy = weft_arena_word(a, text);

    for (char *c = copy; *c; c++)
        *c = *c == '\t' ? ' ' : *c;
    return copy;
}

const char *weft_column_seconds(weft_arena *a, double seconds, int columns)
{
    const char *text = weft_glued_seconds(a, seconds);

    return (int)strlen(text) <= columns ? text : weft_arena_print(a, "%.2g\ts", seconds);
}

void weft_put_glued(FILE *to, const char *text)
{
    for (; *text; text++)
        fputc(*text == '\t' ? ' ' : *text, to);
}

int weft_text_width(int width)
{
    enum { LEAST_WIDTH = 60, MOST_WIDTH = 1000 };

    width = width <= 0 ? WEFT_USUAL_WIDTH : width;
    return width < LEAST_WIDTH ? LEAST_WIDTH : width > MOST_WIDTH ? MOST_WIDTH : width;
}

const char *weft_glued(weft_arena *a, const char *text)
{
    char *copy = weft_arena_word(a, text);

    for (char *c = copy; *c; c++)
        if (*c == ' ' && c > copy && isdigit((unsigned char)c[-1]) &&
            (isalpha((unsigned char)c[1]) || c[1] == '%'))
            *c = '\t';
    return copy;
}

const char *weft_amount_text(weft_arena *a, double value, const char *unit)
{
    enum { SECONDS = 8 }; /* columns */
    bool is_plain = strcmp(unit, "x") == 0 || strcmp(unit, "count") == 0;
    char text[48];

    if (isnan(value))
        return "-";
    if (strcmp(unit, "s") == 0)
        return weft_column_seconds(a, value, SECONDS);
    if (strcmp(unit, "B") == 0)
        return weft_glued_bytes(a, value);
    if (strcmp(unit, "%") == 0)
        return weft_arena_print(a, "%.1f\t%%", 100 * value);
    if (strcmp(unit, "gap") == 0)
        return weft_arena_print(a, "%s\t%%", weft_format_gap(value, 1, text));
    if (strcmp(unit, "J") == 0)
        return weft_arena_print(a, "%s", weft_unit_print(value, WEFT_UNIT_JOULES, text));
    if (strcmp(unit, "1/s") == 0)
        return weft_arena_print(a, "%s/s", weft_format_count(value, text));
    if (strcmp(unit, "count") == 0 && value == floor(value))
        return weft_arena_print(a, "%s", weft_format_integer((int64_t)value, text));
    if (strcmp(unit, "units") == 0)
        return weft_arena_print(a, "%s\tunit%s", weft_format_count(value, text),
                                value < 1 || value > 1 ? "s" : "");
    return value < INFINITY ? weft_arena_print(a, "%.4g%s%s", value, is_plain ? "" : "\t",
                                               strcmp(unit, "count") == 0 ? "" : unit)
                            : "none";
}

void weft_print_field(FILE *to, int width, const char *label, const char *text)
{
    fprintf(to, "  %-*s", WEFT_LABEL - 2, label);
    weft_print_wrapped(to, WEFT_LABEL, width, text);
}

/* --- accelerators ---------------------------------------------------------------------------- */

const char *weft_limits_words(const weft_limits *l, weft_arena *a)
{
    if (!(l->tdp_w < INFINITY))
        return weft_arena_print(a, "%.4g\tmm2", l->area_mm2);
    if (!(l->area_mm2 < INFINITY))
        return weft_arena_print(a, "%.4g\tW", l->tdp_w);
    return weft_arena_print(a, "%.4g\tmm2 and %.4g\tW", l->area_mm2, l->tdp_w);
}
