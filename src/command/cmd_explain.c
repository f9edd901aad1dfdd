/* SPDX-License-Identifier: MIT */
/* cmd_explain.c: weft explain PLAN. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "command.h"
#include "kind.h"
#include "report.h"
#include "upgrade.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct explain_options {
    const char *upgrades, *save, *uncertainty, *solver, *model, *on, *output;
    weft_budget_flags effort;
    int64_t top, samples;
    bool json, quiet;
} explain_options;

static const weft_option explain_table[] = {
    {WEFT_TEXT(explain_options, upgrades),          0,   0,  0,    "upgrades to evaluate, or none",
     "link,speed,memory,device",                                                                                  NULL},
    {WEFT_INT(explain_options,  top),               0,   0,  1e6,  "show only the best N upgrades; 0: all", NULL,
     NULL                                                                                                             },
    {WEFT_TEXT(explain_options, save),              0,   0,  0,
     "write the upgraded platforms to FOLDER, for use with --on",                                           "",   NULL},
    {WEFT_TEXT(explain_options, uncertainty),       0,   0,  0,
     "test whether the plan stays good if costs are off by up to PART (20%)",                               "",   NULL},
    {WEFT_INT(explain_options,  samples),           100, 0,  1e6,
     "number of random cost errors that --uncertainty tries",                                               NULL, NULL},
    {WEFT_TEXT(explain_options, solver),            0,   0,  0,
     "solver for each upgrade; default: that of the plan",                                                  "",   NULL},
    {WEFT_TEXT(explain_options, effort.time_limit), 0,   0,  0,
     "time limit per solve (default: that of the plan's command, or none with --steps)",                    "",   NULL},
    {WEFT_INT(explain_options,  effort.steps),      0,   0,  1e15,
     "search steps per solve (deterministic); 0: no limit (--uncertainty: a few)",                          NULL, NULL},
    {WEFT_INT(explain_options,  effort.seed),       -1,  -1, 1e15, "seed; -1: that of the plan",            NULL,
     NULL                                                                                                             },
    {WEFT_INT(explain_options,  effort.threads),    1,   1,  1024,
     "number of parallel solves; the answer does not depend on it",                                         NULL, NULL},
    {WEFT_TEXT(explain_options, model),             0,   0,  0,    "path of the model, if it has moved",    "",   NULL},
    {WEFT_TEXT(explain_options, on),                0,   0,  0,    "path of the platform, if it has moved", "",   NULL},
    {WEFT_FLAG(explain_options, json),              0,   0,  1,    "print the result as one JSON document", NULL,
     NULL                                                                                                             },
    {WEFT_TEXT(explain_options, output),            0,   0,  0,    "write the result to FILE",              "",   NULL},
    {WEFT_FLAG(explain_options, quiet),             0,   0,  1,    "print errors only",                     NULL, NULL},
    WEFT_OPTIONS_END,
};

/* What is explained, and what is needed for it. */
typedef struct explainer {
    const explain_options *o;
    const char *plan;
    weft_check_result check;
    weft_run run;
    weft_watch watch;
    weft_arena *a;
    weft_explanation e;
    weft_why why;
    weft_sensitivity sensitivity;
} explainer;

/* --- flags ----------------------------------------------------------------------------------- */

/* "link,speed" -> bits. */
static weft_status read_kinds(const char *text, unsigned *out)
{
    *out = 0;
    if (strcmp(text, "none") == 0)
        return WEFT_OK;
    while (*text) {
        size_t n = strcspn(text, ",");
        int k = 0;

        while (k < WEFT_N_UPGRADES &&
               (strlen(weft_upgrade_name((weft_upgrade_kind)k)) != n ||
                strncmp(text, weft_upgrade_name((weft_upgrade_kind)k), n) != 0))
            k++;
        if (k == WEFT_N_UPGRADES)
            return weft_fail(WEFT_E_INPUT,
                             "--upgrades has '%.*s', expected some of link, speed, memory, device, "
                             "or none",
                             (int)n, text);
        *out |= 1u << k;
        text += n + (text[n] == ',');
    }
    return WEFT_OK;
}

/* "20%", "0.2". */
static weft_status read_error(const char *text, double *out)
{
    char *end;

    *out = strtod(text, &end);
    if (end != text && strcmp(end, "%") == 0)
        *out /= 100;
    if (end == text || (*end != '\0' && strcmp(end, "%") != 0) || !(*out > 0 && *out < 1))
        return weft_fail(WEFT_E_INPUT,
                         "--uncertainty is '%s', expected a part of the costs below 100%%: 20%%",
                         text);
    return WEFT_OK;
}

static weft_status read_effort(explainer *x)
{
    weft_budget_flags flags = x->o->effort;

    if (flags.seed < 0)
        flags.seed = x->check.file.origin->seed;
    flags.is_silent = true; /* it tells how many upgrades are done */
    return weft_budget_read(&flags, x->check.kind->limit, &x->watch, &x->run);
}

/* --- progress -------------------------------------------------------------------------------- */

typedef struct telling {
    const weft_host *host;
    const char *what;
} telling;

static void tell(void *context, int n_done, int n)
{
    const telling *t = context;
    char text[96];

    snprintf(text, sizeof text, "%s: %d of %d", t->what, n_done, n);
    weft_progress(t->host, text);
}

/* --- why ------------------------------------------------------------------------------------- */

static void find_why(explainer *x)
{
    const weft_kind *k = x->check.kind;
    const weft_opened *p = &x->check.problem;
    weft_explanation *e = &x->e;
    int n;

    e->plan = x->plan;
    e->kind = k->name;
    e->origin = x->check.file.origin;
    e->proof = x->check.file.proof;
    e->why = &x->why;
    e->solver = *x->o->solver ? x->o->solver : e->origin->solver;
    e->task_name = k->names(p, x->a, &n);
    e->is_period = strcmp(k->value_name(p), "per item") == 0;
    k->why(p, x->check.solution, x->a, &x->why);
}

static weft_doc *plan_of(const void *context, int i, weft_arena *a)
{
    const weft_doc *d;

    return i == 0 && weft_doc_read(context, a, &d) == WEFT_OK ? weft_doc_copy(d, a) : NULL;
}

/* Every reason is a bound, which the plan keeps. */
static weft_status cross_check(const explainer *x)
{
    weft_claim *claim = WEFT_NEW(x->a, weft_claim, x->why.n_parts + 1);

    claim[0] = weft_claim_of(x->e.origin->solver, x->e.proof);
    for (int i = 0; i < x->why.n_parts; i++)
        claim[i + 1] = (weft_claim){.by = "a reason why the plan is not faster",
                                    .outcome = WEFT_UNKNOWN,
                                    .bound = x->why.part[i].seconds,
                                    .method = x->why.part[i].name};
    return weft_cross_check(&(weft_contest){
        .n = x->why.n_parts + 1, .claim = claim, .plan = plan_of, .context = x->plan});
}

/* --- upgrades -------------------------------------------------------------------------------- */

/* Paths of measured times do not depend on the folder that the file is in. */
static void make_absolute(weft_doc *d, const char *file, weft_arena *a)
{
    const char *slash = strrchr(file, '/');

    for (int i = 0; i < d->n; i++) {
        weft_doc *item = d->item[i];

        if (d->kind == WEFT_DOC_MAP && strcmp(d->key[i], "profile") == 0 &&
            item->kind == WEFT_DOC_TEXT && item->text[0] != '/') {
            char *path =
                realpath(slash == NULL ? item->text
                                       : weft_arena_print(a, "%.*s/%s", (int)(slash - file), file,
                                                          item->text),
                         NULL);

            if (path != NULL)
                d->item[i] = weft_doc_new_text(a, path);
            free(path);
        } else if (item->kind == WEFT_DOC_MAP || item->kind == WEFT_DOC_LIST) {
            make_absolute(item, file, a);
        }
    }
}

static weft_status save(const explainer *x, const weft_upgrade *u, int n)
{
    if (mkdir(x->o->save, 0777) != 0 && errno != EEXIST)
        return weft_fail(WEFT_E_SYSTEM, "%s: the folder cannot be made: %s", x->o->save,
                         strerror(errno));
    for (int i = 0; i < n; i++) {
        const char *path = weft_arena_print(x->a, "%s/%s.json", x->o->save, u[i].name);
        weft_doc *copy = weft_doc_copy(u[i].document, x->a);
        const char *text;

        make_absolute(copy, copy->file ? copy->file : "", x->a);
        text = weft_arena_print(x->a, "%s\n", weft_doc_json(copy, 1, x->a));
        WEFT_TRY(weft_file_write(path, text, strlen(text)));
    }
    return WEFT_OK;
}

static weft_status price(explainer *x, unsigned kinds)
{
    const weft_doc *machine;
    const weft_upgrade *upgrade;
    weft_upgrade_value *priced;
    telling t = {weft_host_now(), "upgrades"};
    weft_whatif how = {.solver = *x->o->solver ? x->o->solver : NULL,
                       .run = x->run,
                       .told = x->run.progress ? tell : NULL,
                       .context = &t};
    int n;

    WEFT_TRY(x->check.kind->machine(x->check.request, x->a, &machine));
    WEFT_TRY(weft_upgrades_of(machine, kinds, x->a, &upgrade, &n));
    if (*x->o->save)
        WEFT_TRY(save(x, upgrade, n));
    priced = WEFT_NEW(x->a, weft_upgrade_value, n + 1);
    WEFT_TRY(weft_upgrade_values(&x->check, upgrade, n, &how, x->a, priced));
    x->e.upgrade = priced;
    x->e.n_upgrades = n;
    x->e.n_shown = x->o->top > 0 && x->o->top < n ? (int)x->o->top : n;
    return WEFT_OK;
}

/* --- errors of costs ------------------------------------------------------------------------- */

static weft_status sensitivity(explainer *x)
{
    telling t = {weft_host_now(), "errors of costs"};
    weft_sensitivity_options o = {.tolerance = 0.01,
                                  .n_samples = (int)x->o->samples,
                                  .run = x->run,
                                  .told = x->run.progress ? tell : NULL,
                                  .context = &t};

    WEFT_TRY(read_error(x->o->uncertainty, &o.error));
    if (o.run.steps == 0)
        o.run.steps = x->check.kind->steps;
    x->e.sensitivity = &x->sensitivity;
    return x->check.kind->sensitivity(&x->check, x->e.solver, &o, x->a, &x->sensitivity);
}

/* --- the whole ------------------------------------------------------------------------------- */

static weft_status show(const explainer *x)
{
    weft_collect text;

    if (x->o->quiet && !*x->o->output)
        return WEFT_OK;
    WEFT_TRY(weft_collect_begin(&text));
    if (x->o->json)
        fprintf(text.to, "%s\n", weft_doc_json(weft_explanation_doc(&x->e, x->a), 1, x->a));
    else
        weft_explanation_text(&x->e, weft_report_width(x->o->output), text.to);
    return weft_collect_emit(&text, x->o->output);
}

static weft_status find_all(explainer *x, unsigned kinds)
{
    find_why(x);
    WEFT_TRY(cross_check(x));
    x->e.seed = x->run.seed;
    x->e.steps = x->run.steps;
    x->e.limit_s = x->run.limit_s;
    if (*x->o->uncertainty)
        WEFT_TRY(sensitivity(x));
    if (x->sensitivity.is_stopped)
        x->e.sensitivity = NULL;
    return kinds != 0 ? price(x, kinds) : WEFT_OK;
}

/* Solves that Ctrl-C cut off say less than those of the flags. */
static void tell_stopped(const explainer *x)
{
    if (x->sensitivity.is_stopped)
        weft_complain("weft: stopped: what errors of costs do (--uncertainty) is not "
                      "known and left out");
    if (x->e.upgrade != NULL)
        weft_complain("weft: stopped: upgrades were not searched to the end, their "
                      "bounds hold all the same");
}

static weft_status explain(explainer *x)
{
    unsigned kinds = 0;
    weft_status status;

    WEFT_TRY(read_kinds(x->o->upgrades, &kinds));
    WEFT_TRY(read_effort(x));
    status = find_all(x, kinds);
    if (x->run.progress != NULL)
        weft_progress(weft_host_now(), NULL); /* what `tell` has shown */
    weft_budget_end(&x->watch);
    if (status == WEFT_OK && weft_budget_is_stopped())
        tell_stopped(x);
    return status == WEFT_OK ? show(x) : status;
}

static weft_status refuse(const explainer *x, int *code)
{
    *code = WEFT_EXIT_NO;
    weft_complain(
        weft_arena_print(x->a, "weft: %s: %s%s", x->plan, x->check.wrong[0],
                         x->check.n_wrong > 1 ? " (weft check shows all that is wrong)" : ""));
    return WEFT_OK;
}

static weft_status run(const void *options, const char *const *operand, int n_operands, int *code)
{
    const explain_options *o = options;
    explainer x = {.o = o, .plan = operand[0], .a = weft_arena_new()};
    const char *model = *o->model ? o->model : NULL, *on = *o->on ? o->on : NULL;
    const weft_kind *kind = NULL;
    weft_status status = weft_kind_of_file(x.plan, x.a, &kind);

    (void)n_operands; /* one: the table says so */
    if (status == WEFT_OK && kind->why == NULL)
        status = weft_fail(WEFT_E_INPUT,
                           "%s is a design of weft %s, expected a plan of weft place, shard or "
                           "train",
                           x.plan, kind->command);
    if (status == WEFT_OK)
        status = weft_verify(x.plan, model, on, x.a, &x.check);
    if (status == WEFT_OK) {
        status = x.check.n_wrong > 0 ? refuse(&x, code) : explain(&x);
        weft_check_result_close(&x.check);
    }
    weft_arena_free(x.a);
    return status;
}

const weft_command weft_cmd_explain = {
    .name = "explain",
    .summary = "Explain a plan's value, its bound, and what upgrades are worth",
    .operands = "PLAN",
    .description =
        "Shows the composition of a plan's value and the reasons why no plan is below its\n"
        "bound, each a bound of its own. Then upgrades the platform in one place at a\n"
        "time (a link or a device twice as fast, twice the memory, one more device),\n"
        "solves again, and ranks the results. Works for plans of weft place, shard and\n"
        "train. With --uncertainty, shows for which cost errors the plan stays within 1 %\n"
        "of the best plan found.",
    .examples = "  weft explain plan.json\n"
                "  weft explain plan.json --top 3 --threads 4\n"
                "  weft explain plan.json --upgrades link,speed --save upgraded\n"
                "  weft explain plan.json --upgrades none --uncertainty 20%\n"
                "  weft explain plan.json --time-limit 1min --json -o explain.json\n",
    .options = explain_table,
    .options_size = sizeof(explain_options),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
