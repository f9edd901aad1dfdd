/* SPDX-License-Identifier: MIT */
/* mine_pipeline.c: weft mine MODEL... --stages N: designs for the devices of a pipeline, with the
 * partition of the network. */
#include "cli.h"
#include "weft/api.h"
#include "weft/report.h"

#include <math.h>
#include <string.h>

typedef struct job {
    const weft_mine_flags *flags;
    weft_fleet_case *fleet;
    weft_fleet_found found, common;
    double seconds;
    weft_arena *a;
} job;

static weft_status search_once(job *j, bool is_per_stage, weft_fleet_found *out)
{
    weft_effort_flags effort = *j->flags->effort;
    weft_fleet_quest quest = j->fleet->quest;
    weft_watch watch = {0};
    weft_run run;
    weft_status status;

    effort.is_silent = true; /* the search tells of no values meanwhile */
    quest.is_per_stage = is_per_stage;
    WEFT_TRY(weft_effort_read(&effort, WEFT_MINE_LIMIT, &watch, &run));
    run.scratch = weft_arena_new();
    run.begin_s = weft_wall_s();
    status = weft_mine_cluster(&quest, &run, j->a, out);
    weft_arena_free(run.scratch);
    weft_effort_end(&watch);
    return status;
}

static weft_status search(job *j)
{
    double begin_s = weft_wall_s();
    bool is_per_stage = j->fleet->quest.is_per_stage;

    WEFT_TRY(search_once(j, is_per_stage, &j->found));
    j->seconds = weft_wall_s() - begin_s;
    return is_per_stage && !j->flags->quiet ? search_once(j, false, &j->common) : WEFT_OK;
}

static weft_claim claim_of(const char *by, const weft_fleet_found *f)
{
    return (weft_claim){
        .by = by, .outcome = f->outcome, .value = f->value > 0 ? f->value : NAN, .bound = f->bound};
}

static weft_doc *plan_of(const void *context, int i, weft_arena *a)
{
    return i == 0 ? weft_fleet_design_doc(context, a) : NULL;
}

/* One design for all stages is a choice of designs for each, which has no bound of its own here. */
static weft_status cross_check(const weft_fleet_report *r)
{
    weft_claim claim[2] = {claim_of("auto", r->found)};
    weft_contest x = {.n = 1,
                      .claim = claim,
                      .is_max = true,
                      .unit = weft_fleet_unit(r->quest),
                      .plan = plan_of,
                      .context = r};

    if (r->common != NULL && r->common->value > 0)
        claim[x.n++] = weft_claim_plan("one design for all stages", r->common->value, INFINITY);
    return weft_cross_check(&x);
}

static weft_doc *result_doc(const job *j, const weft_fleet_report *r, weft_doc *plan)
{
    weft_arena *a = j->a;
    weft_doc *d = weft_fleet_report_result(r, a);

    weft_put_real(a, d, "seconds", j->seconds);
    weft_put_int(a, d, "peak_rss_bytes", (int64_t)weft_peak_rss_bytes());
    weft_fleet_report_put(r, d, a);
    weft_doc_put(a, d, "plan", plan ? plan : weft_doc_new(a, WEFT_DOC_NULL));
    return d;
}

static weft_status show(const job *j, int *code)
{
    weft_fleet_report r = {.quest = &j->fleet->quest,
                           .found = &j->found,
                           .dtype = j->flags->dtype,
                           .optimizer = j->flags->optimizer,
                           .options = &j->flags->request->options};
    weft_doc *plan;
    weft_collect c;

    if (j->fleet->quest.is_per_stage && !j->flags->quiet)
        r.common = &j->common;
    WEFT_TRY(cross_check(&r));
    plan = weft_fleet_design_doc(&r, j->a);
    if (plan == NULL)
        *code = WEFT_EXIT_NO;
    if (plan != NULL && *j->flags->output) {
        const char *text = weft_arena_print(j->a, "%s\n", weft_doc_json(plan, 1, j->a));

        WEFT_TRY(weft_emit(j->flags->output, text, strlen(text)));
    }
    if (plan != NULL && *j->flags->report)
        WEFT_TRY(weft_page_write(
            weft_fleet_page(
                &r, &(weft_page_ask){.plan = j->flags->output, .page = j->flags->report}, j->a),
            j->flags->report, j->a));
    if (j->flags->quiet)
        return WEFT_OK;
    WEFT_TRY(weft_collect_begin(&c));
    if (j->flags->json)
        fprintf(c.to, "%s\n", weft_doc_json(result_doc(j, &r, plan), 1, j->a));
    else
        weft_fleet_report_text(&r, j->flags->verbose, weft_report_width(NULL), c.to);
    return weft_collect_emit(&c, NULL);
}

weft_status weft_mine_pipeline(const weft_mine_flags *f, weft_arena *a, int *code)
{
    weft_fleet_case c;
    job j = {.flags = f, .fleet = &c, .a = a};
    weft_status status;

    WEFT_TRY(weft_fleet_case_open(f->request, &c));
    status = search(&j);
    if (status == WEFT_OK)
        status = show(&j, code);
    weft_fleet_case_close(&c);
    return status;
}
