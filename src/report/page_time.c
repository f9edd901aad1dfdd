/* SPDX-License-Identifier: MIT */
/* page_time.c: the timeline of a page, and the chain that explains its end. */
#include "page_parts.h"

void weft_page_add_row(weft_page_time *t, const char *name, const char *kind, int n_lanes)
{
    WEFT_PUSH(t->a, t->rows, ((weft_page_line){name, kind, n_lanes}));
}

int weft_page_add_bar(weft_page_time *t, const weft_page_bar *bar)
{
    WEFT_PUSH(t->a, t->bars, *bar);
    return t->bars.n - 1;
}

void weft_page_add_arrow(weft_page_time *t, int from, int to)
{
    WEFT_PUSH(t->a, t->from, from);
    WEFT_PUSH(t->a, t->to, to);
}

static weft_doc *rows_doc(const weft_page_time *t)
{
    weft_doc *list = weft_doc_new(t->a, WEFT_DOC_LIST);

    for (int i = 0; i < t->rows.n; i++) {
        weft_doc *d = weft_doc_new(t->a, WEFT_DOC_MAP);

        weft_put_text(t->a, d, "name", t->rows.at[i].name);
        weft_put_text(t->a, d, "kind", t->rows.at[i].kind);
        weft_put_int(t->a, d, "lanes", t->rows.at[i].n_lanes > 0 ? t->rows.at[i].n_lanes : 1);
        weft_doc_add(t->a, list, d);
    }
    return list;
}

static weft_doc *bars_doc(const weft_page_time *t)
{
    weft_arena *a = t->a;
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);
    weft_doc *row = weft_doc_new(a, WEFT_DOC_LIST), *lane = weft_doc_new(a, WEFT_DOC_LIST);
    weft_doc *start = weft_doc_new(a, WEFT_DOC_LIST), *end = weft_doc_new(a, WEFT_DOC_LIST);
    weft_doc *kind = weft_doc_new(a, WEFT_DOC_LIST), *name = weft_doc_new(a, WEFT_DOC_LIST);
    weft_doc *node = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < t->bars.n; i++) {
        const weft_page_bar *b = &t->bars.at[i];

        weft_doc_add(a, row, weft_doc_new_int(a, b->row));
        weft_doc_add(a, lane, weft_doc_new_int(a, b->lane));
        weft_doc_add(a, start, weft_real_or_null(a, weft_page_rounded(b->start_s)));
        weft_doc_add(a, end, weft_real_or_null(a, weft_page_rounded(b->end_s)));
        weft_doc_add(a, kind, weft_doc_new_int(a, b->kind));
        weft_doc_add(a, name, weft_doc_new_text(a, b->name));
        weft_doc_add(a, node, weft_doc_new_int(a, b->node));
    }
    weft_doc_put(a, d, "row", row);
    weft_doc_put(a, d, "lane", lane);
    weft_doc_put(a, d, "start", start);
    weft_doc_put(a, d, "end", end);
    weft_doc_put(a, d, "kind", kind);
    weft_doc_put(a, d, "name", name);
    weft_doc_put(a, d, "node", node);
    return d;
}

weft_doc *weft_page_timeline(const weft_page_time *t)
{
    weft_arena *a = t->a;
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *arrows = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_real(a, d, "end", weft_page_rounded(t->end_s));
    weft_doc_put(a, d, "rows", rows_doc(t));
    weft_doc_put(a, d, "kinds", weft_page_texts(t->kinds, t->n_kinds, a));
    weft_doc_put(a, d, "bars", bars_doc(t));
    weft_doc_put(a, arrows, "from", weft_page_ints(t->from.at, t->from.n, a));
    weft_doc_put(a, arrows, "to", weft_page_ints(t->to.at, t->to.n, a));
    weft_doc_put(a, d, "arrows", arrows);
    weft_doc_put(a, d, "chain", weft_page_ints(t->chain.at, t->chain.n, a));
    weft_put_text(a, d, "colour_by", t->colour_by);
    weft_put_text(a, d, "note", t->note);
    return d;
}

/* --- the chain ------------------------------------------------------------------------------- */

int weft_job_chain(const weft_jobs *j, const weft_timeline *t, bool only_compute, weft_arena *a,
                   const int **out)
{
    int last = -1, n = 0, *list;

    for (int i = 0; i < j->n_jobs; i++)
        if ((!only_compute || j->kind[i] == WEFT_JOB_COMPUTE) &&
            (last < 0 || t->end_s[i] > t->end_s[last]))
            last = i;
    for (int i = last; i >= 0; i = t->waits_for[i])
        n++;
    list = WEFT_NEW(a, int, n + 1);
    for (int i = last, k = n; i >= 0; i = t->waits_for[i])
        list[--k] = i;
    *out = list;
    return n;
}

weft_doc *weft_page_chain(const weft_page_link *part, int n, weft_arena *a)
{
    static const char *const kind[] = {"compute", "transfer", "wait"};
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *parts = weft_doc_new(a, WEFT_DOC_LIST);

    for (int k = 0; k < 3; k++) {
        double sum_s = 0;

        for (int i = 0; i < n; i++)
            if (part[i].kind[0] == kind[k][0])
                sum_s += part[i].end_s - part[i].start_s;
        weft_put_real(a, d, weft_arena_print(a, "%s_s", kind[k]), sum_s);
    }
    for (int i = 0; i < n; i++) {
        weft_doc *p = weft_doc_new(a, WEFT_DOC_MAP);

        weft_put_text(a, p, "kind", part[i].kind);
        weft_put_text(a, p, "text", weft_unglued(a, part[i].text));
        weft_put_real(a, p, "start", part[i].start_s);
        weft_put_real(a, p, "end", part[i].end_s);
        weft_doc_put(a, p, "bars", weft_page_ints(part[i].bar, part[i].n, a));
        weft_doc_add(a, parts, p);
    }
    weft_doc_put(a, d, "parts", parts);
    return d;
}

static bool joins(const weft_page_walk *w, int x, int y)
{
    return w->is_alike(w->context, x, y) && w->run->end_s[x] >= w->run->start_s[y];
}

weft_doc *weft_page_walk_chain(const weft_page_walk *w, weft_page_time *t)
{
    weft_arena *scratch = weft_arena_new();
    const int *job;
    int n_jobs = weft_job_chain(w->jobs, w->run, false, scratch, &job), n = 0;
    weft_page_link *part = WEFT_NEW(scratch, weft_page_link, 2 * n_jobs + 1);
    double until_s = 0;
    weft_doc *d;

    for (int i = 0; i < n_jobs; i++)
        WEFT_PUSH(t->a, t->chain, w->bar[job[i]]);
    for (int i = 0, k; i < n_jobs; i += k) {
        double start_s = w->run->start_s[job[i]];

        for (k = 1; i + k < n_jobs && joins(w, job[i + k - 1], job[i + k]); k++)
            ;
        if (start_s > until_s)
            part[n++] = (weft_page_link){
                .kind = "wait", .text = "nothing to do", .start_s = until_s, .end_s = start_s};
        until_s = w->run->end_s[job[i + k - 1]];
        part[n] =
            (weft_page_link){.kind = w->is_compute(w->context, job[i]) ? "compute" : "transfer",
                             .text = w->text(w->context, job + i, k),
                             .start_s = start_s,
                             .end_s = until_s,
                             .n = k,
                             .bar = t->chain.at + i};
        n++;
    }
    d = weft_page_chain(part, n, t->a);
    weft_arena_free(scratch);
    return d;
}

void weft_page_dep_arrows(weft_page_time *t, const weft_jobs *j, const int *bar)
{
    for (int i = 0; i < j->n_jobs; i++)
        for (int k = j->dep_at[i]; k < j->dep_at[i + 1]; k++) {
            int from = bar[j->dep[k]], to = bar[i];

            if (t->bars.at[from].row != t->bars.at[to].row)
                weft_page_add_arrow(t, from, to);
        }
}
