/* SPDX-License-Identifier: MIT */
/* The document of a plan, which every kind fills and every writer reads (weft.page/1: docs/formats.md). */
#ifndef WEFT_DOCUMENT_H
#define WEFT_DOCUMENT_H

#include "fields.h"
#include "tracks.h"

typedef struct weft_page_bar {
    int row, lane, kind;
    int node; /* of the graph, or -1 */
    int job;  /* of whatever the kind of plan counts */
    double start_s, end_s;
    const char *name;
} weft_page_bar;

typedef struct weft_page_line {
    const char *name, *kind; /* kind: "device", "link", "set", "stage" */
    int n_lanes;
    int owner; /* of what is sent: the row of who sends; -1: nobody's */
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

/* A part of the chain that explains the end of a run: n bars of the timeline. */
typedef struct weft_page_link {
    const char *kind, *text; /* "compute", "transfer", "wait" */
    double start_s, end_s;
    int n;
    const int *bar;
} weft_page_link;

/* Memory of what a row of the timeline is, over time. */
typedef struct weft_page_curve {
    const char *name;
    int row;
    double capacity;
    const weft_sample *sample;
    int n;
} weft_page_curve;

/* The document of a plan as it grows: what every writer of reports reads. Parts that a kind of plan
 * does not have stay NULL or empty. */
struct weft_page {
    weft_arena *a; /* of the document */
    const char *kind, *title, *subtitle;
    weft_outcome outcome;
    const char *nothing, *reason; /* what there is none of without a plan, and why */
    weft_doc *result;
    weft_doc *facts, *tables, *plots, *about, *assumptions; /* lists */
    WEFT_VEC(const char *) warnings;
    WEFT_VEC(weft_page_curve) memory;
    weft_page_time time; /* no rows: none */
    int n_links;
    const weft_page_link *chain;
    const char *chain_note, *chain_of; /* "one item" */
    weft_doc *graph, *bound;           /* maps, or NULL */
    /* What a kind knows of a bar besides, for traces; context is its own. */
    void (*put_bar)(const void *context, const weft_page_bar *bar, weft_arena *a, weft_doc *args);
    const void *context;
    const char *command;
};

void weft_page_begin(weft_page *g, const char *kind, weft_arena *a);

/* What results of all commands have. */
typedef struct weft_result_head {
    const char *command, *model, *platform, *goal, *solver, *unit;
    const char *software;           /* NULL: that of the origin, if it is not the default */
    const weft_plan_origin *origin; /* has model, platform and solver, if it is not NULL */
    const weft_proof *proof;
    bool is_max, has_rate; /* has_rate: the value is a time of which there are so many per second */
} weft_result_head;
void weft_page_result(weft_page *g, const weft_result_head *h);
/* How far the constants of a platform were off where it was measured, as a fact and in the result;
 * NULL: of a design. */
void weft_page_accuracy(weft_page *g, const weft_platform *p);
const char *weft_accuracy_text(const weft_platform *p, weft_arena *a);
weft_doc *weft_accuracy_doc(const weft_platform *p, weft_arena *a);
/* ", software flash"; "" for the default. */
const char *weft_software_note(const weft_plan_origin *o, weft_arena *a);
/* Rows of a table as a list of maps, by the keys of its columns; NULL: the table is not there. */
weft_doc *weft_page_rows(const weft_page *g, const char *table);
/* Puts the seconds of the parts in the table "times" into a map: "compute_s" and so on. */
void weft_put_times(weft_page *g, weft_doc *map);
/* A map, a list, or null if there is none. */
void weft_put_or_null(weft_page *g, weft_doc *map, const char *key, weft_doc *d);

/* --- small parts ----------------------------------------------------------------------------- */

/* One card of the summary; note may be NULL; `number` is what the text says, NAN: no number. */
void weft_page_fact(weft_page *g, const char *key, const char *label, const char *text,
                    const char *note, double number);
/* Value, bound and gap of a proof: `label` names the value. */
void weft_page_proof_facts(weft_page *g, const char *label, const char *text,
                           const weft_proof *proof);
void weft_page_assume(weft_page *g, const char *text);
/* An assumption that a terminal shows too. */
void weft_page_warn(weft_page *g, const char *text);
/* A section of the last part of the page: its rows. */
weft_doc *weft_page_about(weft_page *g, const char *title);
/* A row of such a section; NULL text: none. */
void weft_about(weft_page *g, weft_doc *rows, const char *key, const char *text);
/* Sections of model, platform and options that all plans have; extra rows may follow: *options. */
void weft_page_origin(weft_page *g, const weft_plan_origin *o, const weft_page_more *more,
                      weft_doc **options);
void weft_page_proof(weft_page *g, const weft_proof *proof);

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
    const char *rank; /* of many rows a terminal shows those with most of this; NULL: the first */
    const char *more; /* the flag that shows all */
    int n_shown;      /* rows on a terminal; 0: as many as usual, below 0: none */
    bool is_detail;   /* not for terminals, unless all is asked for */
} weft_table;

/* Adds a table; its rows. */
weft_doc *weft_page_table(weft_page *g, const weft_table *t);
/* A row of a table and its cells, left to right. Numbers are exact; those that are not finite are
 * null, as is a text that is NULL. */
weft_doc *weft_page_row(weft_page *g, weft_doc *rows);
void weft_cell_text(weft_page *g, weft_doc *row, const char *text);
void weft_cell_real(weft_page *g, weft_doc *row, double x);
void weft_cell_int(weft_page *g, weft_doc *row, int64_t x);
/* What `weft compare` and `weft explain` printed, as tables, and the reasons of the bound; nothing
 * where no page is made. */
void weft_page_add_more(weft_page *g, const weft_page_more *more, const weft_proof *proof);

/* A field of comma-separated values. */
void weft_put_csv(FILE *to, const char *text);

/* --- timeline -------------------------------------------------------------------------------- */

void weft_page_add_row(weft_page_time *t, const char *name, const char *kind, int owner);
int weft_page_add_bar(weft_page_time *t, const weft_page_bar *bar); /* its number */
void weft_page_add_arrow(weft_page_time *t, int from, int to);
/* Gives the bars the lanes of their rows, and the rows as many as they need. */
void weft_page_spread(weft_page_time *t);
weft_doc *weft_page_timeline(const weft_page_time *t);
weft_doc *weft_page_chain(const weft_page *g);

/* The jobs that explain the end of a run, first to last: from the last to end back along "waits
 * for". With only_compute it is a computation that ends it. Their number; in `a`. */
int weft_job_chain(const weft_jobs *j, const weft_timeline *t, bool only_compute, weft_arena *a,
                   const int **out);
/* A simulated run in which every job is one bar: what a kind of plan knows of its jobs. */
typedef struct weft_page_run {
    const weft_jobs *jobs;
    const weft_timeline *run;
    int n_rows;
    const char *row_kind; /* "set", "stage" */
    int n_kinds;
    const char *(*kind_name)(int kind);
    const char *(*row_name)(void *context, int row);
    int (*row_of)(const void *context, int job);
    int (*kind_of)(const void *context, int job);
    bool (*is_sent)(const void *context, int job); /* beside the computation of its row */
    const char *(*bar_name)(void *context, int job);
    int (*node_of)(const void *context, int job); /* of the graph, or -1 */
    bool (*is_compute)(const void *context, int job);
    bool (*is_alike)(const void *context, int x, int y); /* neighbours of the chain: one part */
    const char *(*text)(void *context, const int *job, int n);
    void *context;
} weft_page_run;
/* Rows, bars, arrows and the chain of the run; bar[job], in the arena of the document. */
const int *weft_page_add_run(weft_page *g, const weft_page_run *r, const char *colour_by);

/* What weft run printed (weft.run/1): rows of the timeline, whose first rows are devices, before lanes are
 * given; `compute` is the kind of bars. And a card and a table. */
void weft_page_add_measured(weft_page *g, const weft_doc *run, int compute);
void weft_page_add_run_facts(weft_page *g, const weft_doc *run);

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
