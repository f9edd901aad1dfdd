/* SPDX-License-Identifier: MIT */
/* write_score.c: scores as text, as Markdown and as a document. */
#include "score.h"

#include <math.h>
#include <string.h>

enum { LABEL = 44 };

static double error_of(const weft_score *s, int i)
{
    return 100 * (s->predicted_s[i] / s->published_s[i] - 1);
}

/* The prediction in the unit of the published value: rates are inverse to times. */
static double predicted_of(const weft_score *s, int i)
{
    const weft_measured_row *r = &s->measured->row[i];
    double longer = s->predicted_s[i] / s->published_s[i];

    return strchr(r->unit, '/') ? r->published / longer
                                : r->published * longer; /* 0, INFINITY: none */
}

/* Four digits that count, without exponent. */
static const char *number(double value, char to[32])
{
    int whole = value >= 1 ? (int)floor(log10(value)) + 1 : 0;

    if (!isfinite(value) || value <= 0)
        (void)snprintf(to, 32, "-");
    else if (value >= 1e-3 && value < 1e7)
        (void)snprintf(to, 32, "%.*f", whole < 4 ? 4 - whole : 0, value);
    else
        (void)snprintf(to, 32, "%.3e", value);
    return to;
}

static void print_figures(const weft_score *s, FILE *to)
{
    const weft_errors *e = &s->errors;

    fprintf(to, "%d row%s: median error %.1f %%, 90 %% of rows within %.1f %%, bias %+.1f %%", s->n,
            s->n == 1 ? "" : "s", 100 * e->median, 100 * e->p90, 100 * e->bias);
    if (!isnan(e->spearman))
        fprintf(to, ", rank correlation %.2f", e->spearman);
    if (s->n_refused > 0)
        fprintf(to, "; %d refused for want of memory, though they ran", s->n_refused);
    if (s->n_problems > 0)
        fprintf(to, "; regret of the planner's choice %.1f %% (mean of %d problems %.1f %%)",
                100 * s->regret, s->n_problems, 100 * s->mean_regret);
}

void weft_score_text(const weft_score *s, FILE *to)
{
    char published[32], predicted[32];

    fprintf(to, "%s: %s\n\n", s->name,
            s->measured->summary ? s->measured->summary : "measurements");
    fprintf(to, "%-*s %11s %11s %-8s %8s\n", LABEL, "case", "published", "predicted", "unit",
            "error");
    for (int i = 0; i < s->n; i++) {
        const weft_measured_row *r = &s->measured->row[i];

        fprintf(to, "%-*.*s %11s %11s %-8s", LABEL, LABEL, r->label,
                number(r->published, published), number(predicted_of(s, i), predicted), r->unit);
        if (isfinite(s->predicted_s[i]))
            fprintf(to, " %+6.1f %%\n", error_of(s, i));
        else
            fputs("  refused\n", to);
    }
    fputc('\n', to);
    print_figures(s, to);
    fputs("\n", to);
}

static void print_cell(const char *text, FILE *to)
{
    for (; *text != '\0'; text++) {
        if (*text == '|')
            fputc('\\', to);
        fputc(*text == '\n' ? ' ' : *text, to);
    }
}

void weft_score_markdown(const weft_score *s, FILE *to)
{
    char published[32], predicted[32];

    fprintf(to, "### %s\n\n%s\n\n", s->name,
            s->measured->summary ? s->measured->summary : "Measurements.");
    fputs("| case | published | predicted | unit | error of the time |\n|---|---|---|---|---|\n",
          to);
    for (int i = 0; i < s->n; i++) {
        const weft_measured_row *r = &s->measured->row[i];

        fputs("| ", to);
        print_cell(r->label, to);
        fprintf(to, " | %s | %s | %s | ", number(r->published, published),
                number(predicted_of(s, i), predicted), r->unit);
        if (isfinite(s->predicted_s[i]))
            fprintf(to, "%+.1f %% |\n", error_of(s, i));
        else
            fputs("refused |\n", to);
    }
    fputc('\n', to);
    print_figures(s, to);
    fputs(".\n", to);
    for (int i = 0, n = 0; i < s->n; i++) { /* sources, each once */
        const char *source = s->measured->row[i].source;
        bool is_new = *source != '\0';

        for (int k = 0; k < i && is_new; k++)
            is_new = strcmp(s->measured->row[k].source, source) != 0;
        if (is_new)
            fprintf(to, "%s%s", n++ == 0 ? "\nSources: " : "; ", source);
        if (i == s->n - 1 && n > 0)
            fputs(".\n", to);
    }
}

/* --- all sets -------------------------------------------------------------------------------- */

static void print_regret(const weft_score *s, const char *none, FILE *to)
{
    if (s->n_problems > 0)
        fprintf(to, "%.1f %%", 100 * s->regret);
    else
        fputs(none, to);
}

void weft_scores_text(const weft_score *s, int n, FILE *to)
{
    fprintf(to, "%-24s %5s %9s %9s %9s %9s %9s\n", "set", "rows", "median", "90 %", "bias", "rank",
            "regret");
    for (int i = 0; i < n; i++) {
        const weft_errors *e = &s[i].errors;

        fprintf(to, "%-24s %5d %7.1f %% %7.1f %% %+7.1f %% %9.2f   ", s[i].name, s[i].n,
                100 * e->median, 100 * e->p90, 100 * e->bias, e->spearman);
        print_regret(&s[i], "", to);
        fputc('\n', to);
    }
}

void weft_scores_markdown(const weft_score *s, int n, FILE *to)
{
    fputs("| set | rows | median error | 90 % of rows within | bias | rank correlation | regret |\n"
          "|---|---|---|---|---|---|---|\n",
          to);
    for (int i = 0; i < n; i++) {
        const weft_errors *e = &s[i].errors;

        fprintf(to, "| %s | %d | %.1f %% | %.1f %% | %+.1f %% | %.2f | ", s[i].name, s[i].n,
                100 * e->median, 100 * e->p90, 100 * e->bias, e->spearman);
        print_regret(&s[i], "-", to);
        fputs(" |\n", to);
    }
}

weft_doc *weft_score_figures_doc(const weft_score *s, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_text(a, d, "set", s->name);
    weft_put_text(a, d, "summary", s->measured->summary);
    weft_put_int(a, d, "rows", s->n);
    weft_put_int(a, d, "refused", s->n_refused);
    weft_put_real(a, d, "median_error", s->errors.median);
    weft_put_real(a, d, "p90_error", s->errors.p90);
    weft_put_real(a, d, "bias", s->errors.bias);
    weft_put_real(a, d, "spearman", s->errors.spearman);
    if (s->n_problems > 0) {
        weft_put_int(a, d, "problems", s->n_problems);
        weft_put_real(a, d, "regret", s->regret);
        weft_put_real(a, d, "mean_regret", s->mean_regret);
    }
    return d;
}

weft_doc *weft_score_doc(const weft_score *s, weft_arena *a)
{
    weft_doc *d = weft_score_figures_doc(s, a), *rows = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < s->n; i++) {
        const weft_measured_row *r = &s->measured->row[i];
        weft_doc *row = weft_doc_new(a, WEFT_DOC_MAP);

        weft_put_text(a, row, "case", r->label);
        weft_put_text(a, row, "what", weft_measured_kind_of(r->what)->name);
        weft_put_text(a, row, "platform", r->platform);
        weft_put_real(a, row, "published", r->published);
        weft_put_real(a, row, "predicted", predicted_of(s, i));
        weft_put_text(a, row, "unit", r->unit);
        weft_put_real(a, row, "published_s", s->published_s[i]);
        weft_put_real(a, row, "predicted_s", s->predicted_s[i]);
        weft_put_real(a, row, "error", error_of(s, i) / 100);
        weft_put_text(a, row, "source", *r->source ? r->source : NULL);
        weft_doc_add(a, rows, row);
    }
    weft_doc_put(a, d, "row", rows);
    return d;
}
