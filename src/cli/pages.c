/* SPDX-License-Identifier: MIT */
/* pages.c: the data of pages, with reasons and the commands that make them again: for weft report,
 * and for --report of the commands that make plans. */
#include "cli.h"
#include "weft/api.h"
#include "weft/report.h"

static void complete(const weft_page_ask *ask, const weft_why *why, weft_page_more *more)
{
    *more = (weft_page_more){.compare = ask->compare, .explain = ask->explain};
    more->why = why;
    more->version = WEFT_VERSION;
}

static weft_remake remake_of(const weft_page_ask *ask, const weft_plan_origin *origin)
{
    return (weft_remake){origin, ask->plan && *ask->plan ? ask->plan : "plan.json", ask->page};
}

weft_doc *weft_place_page(const weft_report *r, const weft_case *c, const weft_page_ask *ask,
                          weft_arena *a)
{
    weft_remake make = remake_of(ask, r->origin);
    weft_page_more more;
    weft_why why;

    weft_place_why(r->problem, r->solution, a, &why);
    complete(ask, &why, &more);
    more.graph = c->model ? c->model->graph : NULL;
    more.platform = c->platform;
    more.command = weft_remake_place(&make, &r->problem->ask, a);
    return weft_report_page(r, &more, a);
}

weft_doc *weft_shard_page(const weft_shard_report *r, const weft_shard_case *c,
                          const weft_page_ask *ask, weft_arena *a)
{
    weft_remake make = remake_of(ask, r->origin);
    weft_page_more more;
    weft_why why;

    weft_shard_why(r->problem, r->solution, a, &why);
    complete(ask, &why, &more);
    more.graph = c->model->graph;
    more.platform = c->platform;
    more.command = weft_remake_shard(&make, &r->problem->ask, a);
    return weft_shard_report_page(r, &more, a);
}

weft_doc *weft_train_page(const weft_train_report *r, const weft_train_case *c,
                          const weft_page_ask *ask, weft_arena *a)
{
    weft_remake make = remake_of(ask, r->origin);
    weft_page_more more;
    weft_why why;

    weft_train_why(r->problem, r->solution, a, &why);
    complete(ask, &why, &more);
    more.platform = c->platform;
    more.command = weft_remake_train(&make, &r->problem->ask, a);
    return weft_train_report_page(r, &more, a);
}

weft_doc *weft_mine_page(const weft_mine_report *r, const weft_mine_case *c,
                         const weft_page_ask *ask, weft_arena *a)
{
    weft_remake make = remake_of(ask, NULL);
    weft_page_more more;

    complete(ask, NULL, &more);
    more.graph = c->trained[0]->graph;
    more.command = weft_remake_mine(&make, r, a);
    return weft_mine_report_page(r, &more, a);
}

weft_doc *weft_fleet_page(const weft_fleet_report *r, const weft_page_ask *ask, weft_arena *a)
{
    weft_remake make = remake_of(ask, NULL);
    weft_page_more more;

    complete(ask, NULL, &more);
    more.command = weft_remake_fleet(&make, r, a);
    return weft_fleet_report_page(r, &more, a);
}

weft_status weft_page_write(const weft_doc *page, const char *path, weft_arena *a)
{
    weft_collect c;

    WEFT_TRY(weft_collect_begin(&c));
    weft_page_html(page, a, c.to);
    return weft_collect_emit(&c, path);
}
