/* SPDX-License-Identifier: MIT */
/* document_time.c: the timeline of a page, and the chain that explains its end. */
#include "document.h"

void weft_page_add_row(weft_page_time *t, const char *name, const char *kind, int owner)
{
    WEFT_PUSH(t->a, t->rows, ((weft_page_line){name, kind, 1, owner}));
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

void weft_page_spread(weft_page_time *t)
{
    weft_arena *scratch = weft_arena_new();
    weft_track *track = WEFT_NEW(scratch, weft_track, t->bars.n + 1);
    int *n_lanes = WEFT_NEW(scratch, int, t->rows.n + 1);

    for (int i = 0; i < t->bars.n; i++)
        track[i] = (weft_track){.row = t->bars.at[i].row,
                                .job = i,
                                .start_s = t->bars.at[i].start_s,
                                .end_s = t->bars.at[i].end_s};
    weft_tracks_assign(track, t->bars.n, t->rows.n, n_lanes);
    for (int i = 0; i < t->bars.n; i++)
        t->bars.at[track[i].job].lane = track[i].lane;
    for (int i = 0; i < t->rows.n; i++)
        t->rows.at[i].n_lanes = n_lanes[i] > 0 ? n_lanes[i] : 1;
    weft_arena_free(scratch);
}

static weft_doc *rows_doc(const weft_page_time *t)
{
    weft_doc *list = weft_doc_new(t->a, WEFT_DOC_LIST);

    for (int i = 0; i < t->rows.n; i++) {
        weft_doc *d = weft_add_map(t->a, list);

        weft_put_text(t->a, d, "name", t->rows.at[i].name);
        weft_put_text(t->a, d, "kind", t->rows.at[i].kind);
        weft_put_int(t->a, d, "lanes", t->rows.at[i].n_lanes);
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

weft_doc *weft_page_chain(const weft_page *g)
{
    static const char *const kind[] = {"compute", "transfer", "wait"};
    weft_arena *a = g->a;
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *parts = weft_doc_new(a, WEFT_DOC_LIST);

    for (int k = 0; k < 3; k++) {
        double sum_s = 0;

        for (int i = 0; i < g->n_links; i++)
            if (g->chain[i].kind[0] == kind[k][0])
                sum_s += g->chain[i].end_s - g->chain[i].start_s;
        weft_put_real(a, d, weft_arena_print(a, "%s_s", kind[k]), sum_s);
    }
    for (int i = 0; i < g->n_links; i++) {
        const weft_page_link *part = &g->chain[i];
        weft_doc *p = weft_add_map(a, parts);

        weft_put_text(a, p, "kind", part->kind);
        weft_put_text(a, p, "text", weft_unglued(a, part->text));
        weft_put_real(a, p, "start", part->start_s);
        weft_put_real(a, p, "end", part->end_s);
        weft_doc_put(a, p, "bars", weft_page_ints(part->bar, part->n, a));
    }
    weft_doc_put(a, d, "parts", parts);
    if (g->chain_note != NULL)
        weft_put_text(a, d, "note", g->chain_note);
    return d;
}

static bool joins(const weft_page_run *r, int x, int y)
{
    return r->is_alike(r->context, x, y) && r->run->end_s[x] >= r->run->start_s[y];
}

static void add_chain(weft_page *g, const weft_page_run *r, const int *bar)
{
    weft_page_time *t = &g->time;
    const int *job;
    int n_jobs = weft_job_chain(r->jobs, r->run, false, g->a, &job), n = 0;
    weft_page_link *part = WEFT_NEW(g->a, weft_page_link, 2 * n_jobs + 1);
    double until_s = 0;

    for (int i = 0; i < n_jobs; i++)
        WEFT_PUSH(t->a, t->chain, bar[job[i]]);
    for (int i = 0, k; i < n_jobs; i += k) {
        double start_s = r->run->start_s[job[i]];

        for (k = 1; i + k < n_jobs && joins(r, job[i + k - 1], job[i + k]); k++)
            ;
        if (start_s > until_s)
            part[n++] = (weft_page_link){
                .kind = "wait", .text = "nothing to do", .start_s = until_s, .end_s = start_s};
        until_s = r->run->end_s[job[i + k - 1]];
        part[n] =
            (weft_page_link){.kind = r->is_compute(r->context, job[i]) ? "compute" : "transfer",
                             .text = r->text(r->context, job + i, k),
                             .start_s = start_s,
                             .end_s = until_s,
                             .n = k,
                             .bar = t->chain.at + i};
        n++;
    }
    g->n_links = n;
    g->chain = part;
}

/* --- runs ------------------------------------------------------------------------------------ */

/* Rows of computation, then of what is sent by those that send anything. */
static int *add_rows(weft_page *g, const weft_page_run *r)
{
    int *row = WEFT_NEW(g->a, int, 2 * r->n_rows + 1);
    bool *sends = WEFT_NEW(g->a, bool, r->n_rows + 1);

    for (int i = 0; i < r->jobs->n_jobs; i++)
        sends[r->row_of(r->context, i)] |= r->is_sent(r->context, i);
    for (int k = 0; k < r->n_rows; k++) {
        row[k] = k;
        weft_page_add_row(&g->time, r->row_name(r->context, k), r->row_kind, k);
    }
    for (int k = 0; k < r->n_rows; k++) {
        row[r->n_rows + k] = g->time.rows.n;
        if (sends[k])
            weft_page_add_row(&g->time, weft_arena_print(g->a, "%s %d sends", r->row_kind, k),
                              "link", k);
    }
    return row;
}

/* From what jobs wait for to the jobs, where their bars are in different rows. */
static void add_arrows(weft_page_time *t, const weft_jobs *j, const int *bar)
{
    for (int i = 0; i < j->n_jobs; i++)
        for (int k = j->dep_at[i]; k < j->dep_at[i + 1]; k++)
            if (t->bars.at[bar[j->dep[k]]].row != t->bars.at[bar[i]].row)
                weft_page_add_arrow(t, bar[j->dep[k]], bar[i]);
}

const int *weft_page_add_run(weft_page *g, const weft_page_run *r, const char *colour_by)
{
    int *bar = WEFT_NEW(g->a, int, r->jobs->n_jobs + 1), *row;
    const char **kinds = WEFT_NEW(g->a, const char *, r->n_kinds + 1);

    for (int i = 0; i < r->n_kinds; i++)
        kinds[i] = r->kind_name(i);
    g->time = (weft_page_time){.a = g->a,
                               .end_s = r->run->end_of_all_s,
                               .n_kinds = r->n_kinds,
                               .kinds = kinds,
                               .colour_by = colour_by};
    row = add_rows(g, r);
    for (int sent = 0; sent < 2; sent++)
        for (int i = 0; i < r->jobs->n_jobs; i++)
            if (r->is_sent(r->context, i) == (sent == 1))
                bar[i] = weft_page_add_bar(
                    &g->time,
                    &(weft_page_bar){.row = row[sent * r->n_rows + r->row_of(r->context, i)],
                                     .kind = r->kind_of(r->context, i),
                                     .node = r->node_of(r->context, i),
                                     .job = i,
                                     .start_s = r->run->start_s[i],
                                     .end_s = r->run->end_s[i],
                                     .name = r->bar_name(r->context, i)});
    weft_page_spread(&g->time);
    add_arrows(&g->time, r->jobs, bar);
    add_chain(g, r, bar);
    return bar;
}
