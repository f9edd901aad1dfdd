/* SPDX-License-Identifier: MIT */
/* What the data of all kinds of pages is made of (weft.page/1: docs/formats.md). */
#ifndef WEFT_PAGE_PARTS_H
#define WEFT_PAGE_PARTS_H

#include "fields.h"
#include "lanes.h"

/* A page as it grows. Parts that a kind does not have stay NULL or empty. */
typedef struct weft_page {
    weft_arena *a; /* of the document */
    const char *kind, *title, *subtitle;
    weft_doc *result;
    weft_doc *facts, *memory, *tables, *plots, *about, *assumptions; /* lists */
    weft_doc *timeline, *graph, *chain, *bound;                      /* maps, or NULL */
    const char *command;
} weft_page;

void weft_page_begin(weft_page *g, const char *kind, weft_arena *a);
weft_doc *weft_page_end(const weft_page *g);

/* --- small parts ----------------------------------------------------------------------------- */

/* One card of the summary; note may be NULL; `number` is what the text says, NAN: no number. */
void weft_page_fact(weft_page *g, const char *key, const char *label, const char *text,
                    const char *note, double number);
/* Value, bound and gap of a proof: `label` names the value. */
void weft_page_proof_facts(weft_page *g, const char *label, const char *text,
                           const weft_proof *proof);
void weft_page_assume(weft_page *g, const char *text);
/* A section of the last part of the page: its rows. */
weft_doc *weft_page_about(weft_page *g, const char *title);
/* A row of such a section; NULL text: none. */
void weft_about(weft_page *g, weft_doc *rows, const char *key, const char *text);
/* Sections of model, platform and options that all plans have; extra rows may follow: *options. */
void weft_page_origin(weft_page *g, const weft_plan_origin *o, const weft_page_more *more,
                      weft_doc **options);
void weft_page_proof(weft_page *g, const weft_proof *proof);
/* Memory of one device over time. */
void weft_page_memory(weft_page *g, const char *name, double capacity, const weft_sample *s, int n);

/* Numbers of drawings: nine digits are more than a screen has, and take half the room. */
double weft_page_rounded(double x);
weft_doc *weft_page_ints(const int *x, int n, weft_arena *a);
weft_doc *weft_page_reals(const double *x, int n, weft_arena *a); /* rounded; NULL: null */
weft_doc *weft_page_texts(const char *const *x, int n, weft_arena *a);

/* --- tables ---------------------------------------------------------------------------------- */

typedef struct weft_column {
    const char *key, *name, *unit; /* unit: "s", "B", "J", "W", "%", "x", "count", "text", ... */
} weft_column;

typedef struct weft_table {
    const char *id, *title, *section, *note; /* note may be NULL */
    int n_columns;
    const weft_column *column;
} weft_table;

/* Adds a table; its rows. */
weft_doc *weft_page_table(weft_page *g, const weft_table *t);
/* A row of a table and its cells, left to right. Numbers are exact; those that are not finite are
 * null, as is a text that is NULL. */
weft_doc *weft_page_row(weft_page *g, weft_doc *rows);
void weft_cell_text(weft_page *g, weft_doc *row, const char *text);
void weft_cell_real(weft_page *g, weft_doc *row, double x);
void weft_cell_int(weft_page *g, weft_doc *row, int64_t x);
/* What `weft compare` and `weft explain` printed, as tables; NULL: none. */
void weft_page_documents(weft_page *g, const weft_page_more *more);

/* --- timeline -------------------------------------------------------------------------------- */

typedef struct weft_page_bar {
    int row, lane, kind;
    int node; /* of the graph, or -1 */
    double start_s, end_s;
    const char *name;
} weft_page_bar;

typedef struct weft_page_line {
    const char *name, *kind; /* kind: "device", "link", "set", "stage" */
    int n_lanes;
} weft_page_line;

typedef struct weft_page_time {
    weft_arena *a;
    double end_s;
    int n_kinds;
    const char *const *kinds;
    const char *colour_by, *note; /* note may be NULL */
    WEFT_VEC(weft_page_line) rows;
    WEFT_VEC(weft_page_bar) bars;
    WEFT_VEC(int) from; /* arrows */
    WEFT_VEC(int) to;
    WEFT_VEC(int) chain;
} weft_page_time;

void weft_page_add_row(weft_page_time *t, const char *name, const char *kind, int n_lanes);
int weft_page_add_bar(weft_page_time *t, const weft_page_bar *bar); /* its number */
void weft_page_add_arrow(weft_page_time *t, int from, int to);
weft_doc *weft_page_timeline(const weft_page_time *t);

/* The jobs that explain the end of a run, first to last: from the last to end back along "waits
 * for". With only_compute it is a computation that ends it. Their number; in `a`. */
int weft_job_chain(const weft_jobs *j, const weft_timeline *t, bool only_compute, weft_arena *a,
                   const int **out);
/* A part of the chain, "parts" of the page: bars of the timeline, n of them. */
typedef struct weft_page_link {
    const char *kind, *text; /* "compute", "transfer", "wait" */
    double start_s, end_s;
    int n;
    const int *bar;
} weft_page_link;
weft_doc *weft_page_chain(const weft_page_link *part, int n, weft_arena *a);

/* The same where every job has one bar. */
typedef struct weft_page_walk {
    const weft_jobs *jobs;
    const weft_timeline *run;
    const int *bar; /* [n_jobs] */
    bool (*is_compute)(const void *context, int job);
    bool (*is_alike)(const void *context, int x, int y); /* neighbours that are one part */
    const char *(*text)(void *context, const int *job, int n);
    void *context;
} weft_page_walk;
/* Finds the chain of the run, and puts it into the timeline. */
weft_doc *weft_page_walk_chain(const weft_page_walk *w, weft_page_time *t);
/* From what jobs wait for to the jobs, where their bars are in different rows. */
void weft_page_dep_arrows(weft_page_time *t, const weft_jobs *j, const int *bar);

/* --- graph ----------------------------------------------------------------------------------- */

/* Arrays by node and by edge; what may be NULL says so. */
typedef struct weft_page_graph {
    int n_devices, n_nodes, n_edges;
    const char *const *device;
    const char **name, **op;
    int *of; /* device, or -1 */
    double *seconds, *bytes;
    double *joules, *start_s; /* or NULL */
    const char **shape;       /* or NULL; single ones too */
    const char **note;        /* the same */
    int *bar;                 /* or NULL: bars say it themselves */
    int *from, *to;           /* by (from, to), each pair once */
    double *edge_bytes;       /* NAN: not known */
    const char *edge_unit;    /* of these; NULL: "B" */
    weft_doc *costs;          /* or NULL */
} weft_page_graph;

/* Room for all arrays that are not optional. */
weft_page_graph weft_page_graph_new(int n_nodes, int n_edges, weft_arena *a);
weft_doc *weft_page_draw(const weft_page_graph *g, weft_arena *a);

/* --- why ------------------------------------------------------------------------------------- */

/* Reasons of a bound; tasks of its parts are nodes of the graph. */
weft_doc *weft_page_bound(const weft_why *why, const weft_proof *proof, weft_arena *a);

#endif
