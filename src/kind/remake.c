/* SPDX-License-Identifier: MIT */
/* remake.c: the commands that make a plan and its page again, as a user would type them: flags that
 * have their usual values are left out. Files are named without their folders. */
#include "check.h"

#include <math.h>
#include <string.h>

const char *weft_baseline_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* A line of words that grows. */
typedef struct line {
    const char *text;
    weft_arena *a;
} line;

static void add(line *l, const char *word)
{
    l->text = weft_arena_print(l->a, "%s%s%s", l->text, *l->text ? " " : "", word);
}

/* A word as the shell reads it: between quotes if it has anything but letters, digits and marks
 * that mean nothing there. */
static void add_word(line *l, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+.,:/=%@";
    char *quoted, *to;

    if (*word && word[strspn(word, plain)] == '\0') {
        add(l, word);
        return;
    }
    to = quoted = weft_arena_alloc(l->a, 4 * strlen(word) + 3); /* ends with NUL */
    *to++ = '\'';
    for (; *word; word++) {
        *to++ = *word;
        if (*word == '\'') { /* ends the quotes: \' and new ones */
            *to++ = '\\';
            *to++ = '\'';
            *to++ = '\'';
        }
    }
    *to = '\'';
    add(l, quoted);
}

static void add_flag(line *l, const char *flag, const char *value)
{
    add(l, flag);
    add_word(l, value);
}

static void add_count(line *l, const char *flag, int64_t value, int64_t usual)
{
    if (value != usual)
        add_flag(l, flag, weft_arena_print(l->a, "%lld", (long long)value));
}

static void add_machines(line *l, const weft_task_machines *m)
{
    const char *speeds = "";

    add_count(l, "--processors", m->n_processors, 0);
    for (int i = 0; i < m->n_speeds; i++)
        speeds = weft_arena_print(l->a, "%s%s%.17g", speeds, i ? "," : "", m->speed[i]);
    if (m->n_speeds > 0)
        add_flag(l, "--speeds", speeds);
    if (m->bytes_per_s > 0)
        add_flag(l, "--bandwidth",
                 isinf(m->bytes_per_s) ? "unlimited"
                                       : weft_arena_print(l->a, "%.17gB/s", m->bytes_per_s));
    if (m->communication_s > 0)
        add_flag(l, "--communication", weft_arena_print(l->a, "%.17gs", m->communication_s));
}

/* batch NULL: that of the options. */
static void add_model(line *l, const weft_plan_origin *o, const char *batch)
{
    const weft_model_options *opt = &o->options;

    add_word(l, o->model);
    if (o->platform != NULL)
        add_flag(l, "--on", o->platform);
    if (o->format != NULL)
        add_flag(l, "--format", o->format);
    add_machines(l, &opt->machines);
    if (batch != NULL)
        add_flag(l, "--batch", batch);
    else
        add_count(l, "--batch", opt->batch, 0);
    for (int i = 0; i < opt->n_dims; i++)
        add_flag(l, "--dim",
                 weft_arena_print(l->a, "%s=%lld", opt->dim[i].name, (long long)opt->dim[i].size));
    if (opt->dtype != WEFT_TYPE_UNKNOWN)
        add_flag(l, "--dtype", weft_dtype_name(opt->dtype));
    for (int i = 0; i < opt->n_states; i++)
        add_flag(l, "--state", weft_state_text(&opt->state[i], l->a));
    if (opt->no_states)
        add_flag(l, "--state", "none");
    if (opt->has_software)
        add_flag(l, "--software", weft_software_name(opt->software));
}

static void add_optimizer(line *l, const weft_plan_origin *o)
{
    if (o->options.optimizer != WEFT_ADAM)
        add_flag(l, "--optimizer", weft_optimizer_name(o->options.optimizer));
}

static const char *end_files(line *l, const weft_remake *m)
{
    const char *plan = m->plan && *m->plan ? m->plan : "plan.json";
    line report = {"weft report", l->a};

    add_flag(l, "-o", weft_baseline_name(plan));
    add_word(&report, weft_baseline_name(plan));
    add_flag(&report, "-o", weft_baseline_name(m->page));
    return weft_arena_print(l->a, "%s\n%s", l->text, report.text);
}

static const char *end(line *l, const weft_plan_origin *o, const weft_remake *m)
{
    if (o->solver != NULL && strcmp(o->solver, "auto") != 0)
        add_flag(l, "--solver", o->solver);
    add_count(l, "--seed", o->seed, 1);
    return end_files(l, m);
}

static void add_shares(line *l, const weft_plan_origin *o, const weft_constraints *constraints)
{
    const char *shares = "";

    for (int i = 0; i < o->options.n_shares; i++)
        shares = weft_arena_print(l->a, "%s%s%lld", shares, i > 0 ? "," : "",
                                  (long long)o->options.share[i]);
    if (constraints->splits_batch)
        add_flag(l, "--split-batch", "auto");
    else if (*shares)
        add_flag(l, "--split-batch", shares);
}

const char *weft_remake_place(const void *report, const weft_remake *m, weft_arena *a)
{
    const weft_report *r = report;
    const weft_constraints *constraints = &r->problem->constraints;
    line l = {"weft place", a};

    add_model(&l, r->origin,
              constraints->batches.n > 0 ? weft_counts_text(&constraints->batches, a) : NULL);
    if (r->origin->options.train) {
        add(&l, "--train");
        add_optimizer(&l, r->origin);
    }
    if (constraints->goal == WEFT_THROUGHPUT)
        add_flag(&l, "--goal", "throughput");
    if (constraints->most_latency_s > 0)
        add_flag(&l, "--deadline", weft_arena_print(a, "%.17gs", constraints->most_latency_s));
    if (constraints->most_period_s > 0)
        add_flag(&l, "--min-throughput",
                 weft_arena_print(a, "%.17g", 1 / constraints->most_period_s));
    if (constraints->is_contiguous)
        add(&l, "--contiguous");
    if (constraints->is_mixed)
        add(&l, "--mix");
    else if (constraints->goal == WEFT_THROUGHPUT && !constraints->is_contiguous)
        add(&l, "--no-mix");
    add_count(&l, "--max-segments", constraints->most_segments, 0);
    add_count(&l, "--min-segment", constraints->least_segment_tasks, 0);
    if (constraints->least_segment_s > 0)
        add_flag(&l, "--min-segment", weft_arena_print(a, "%.17gs", constraints->least_segment_s));
    if (constraints->pin != NULL)
        add_flag(&l, "--pin", constraints->pin);
    for (const char *t = constraints->together; t != NULL && *t; t += strspn(t, ";")) {
        int n = (int)strcspn(t, ";");

        add_flag(&l, "--together", weft_arena_print(a, "%.*s", n, t));
        t += n;
    }
    if (constraints->is_calls)
        add_flag(&l, "--semantics", "calls");
    add_shares(&l, r->origin, constraints);
    return end(&l, r->origin, m);
}

const char *weft_remake_shard(const void *report, const weft_remake *m, weft_arena *a)
{
    const weft_shard_report *r = report;
    const weft_shard_constraints *constraints = &r->problem->constraints;
    line l = {"weft shard", a};

    add_model(&l, r->origin, NULL);
    add_flag(&l, "--semantics", constraints->is_concurrent ? "branches" : "sequential");
    if (constraints->is_contiguous)
        add(&l, "--contiguous");
    if (constraints->has_no_sharing)
        add(&l, "--no-sharing");
    return end(&l, r->origin, m);
}

/* What is allowed, as a flag takes it; nothing, if that is all. */
static void add_words(line *l, const char *flag, unsigned bits, const char *(*name)(int), int n)
{
    const char *text = "";

    if (bits == (1u << n) - 1)
        return;
    for (int i = 0; i < n; i++)
        if (bits >> i & 1)
            text = weft_arena_print(l->a, "%s%s%s", text, *text ? "," : "", name(i));
    add_flag(l, flag, text);
}

static void add_counts(line *l, const char *flag, const weft_counts *c)
{
    if (c->n > 0)
        add_flag(l, flag, weft_counts_text(c, l->a));
}

static void add_zero(line *l, const weft_train_constraints *x)
{
    const char *text = "";

    if ((x->zeros & (x->zeros - 1)) == 0 && x->zero == WEFT_ZERO_MOMENTS) {
        add(l, "--split-moments");
        return;
    }
    for (int i = 0; i <= WEFT_MOST_ZERO; i++)
        if (x->zeros >> i & 1 || (x->zeros == 0 && x->zero == i))
            text = weft_arena_print(l->a, "%s%s%d", text, *text ? "," : "", i);
    if (strcmp(text, "0,1,2,3") == 0)
        text = "auto";
    if (strcmp(text, "0") != 0)
        add_flag(l, "--zero", text);
}

static const char *schedule_word(int i)
{
    return weft_schedule_name((weft_schedule)i);
}

static const char *recompute_word(int i)
{
    return weft_recompute_name((weft_recompute)i);
}

const char *weft_remake_train(const void *report, const weft_remake *m, weft_arena *a)
{
    const weft_train_report *r = report;
    const weft_train_constraints *constraints = &r->problem->constraints;
    line l = {"weft train", a};

    add_model(&l, r->origin, NULL);
    add_optimizer(&l, r->origin);
    add_count(&l, "--batch", constraints->batch, 512);
    add_count(&l, "--microbatch", constraints->microbatch, 0);
    add_words(&l, "--schedule", constraints->schedules, schedule_word, WEFT_N_SCHEDULES);
    add_words(&l, "--recompute", constraints->recomputes, recompute_word, WEFT_N_RECOMPUTES);
    add_count(&l, "--width", constraints->most_width, 0);
    add_count(&l, "--replicas", constraints->most_replicas, 0);
    add_count(&l, "--stages", constraints->most_stages, 0);
    add_count(&l, "--chunks", constraints->most_chunks, 4);
    add_zero(&l, constraints);
    if (constraints->overlap != 0)
        add(&l, "--overlap");
    if (constraints->sps > 1)
        add_flag(&l, "--sp", constraints->sps == 2 ? "on" : "auto");
    if (constraints->recipe != WEFT_RECIPE_16)
        add_flag(&l, "--recipe", weft_recipe_name(constraints->recipe));
    if (constraints->memory_margin > 0)
        add_flag(&l, "--memory-margin", weft_arena_print(a, "%.15g", constraints->memory_margin));
    add_counts(&l, "--tp", &constraints->tp);
    add_counts(&l, "--pp", &constraints->pp);
    add_counts(&l, "--dp", &constraints->dp);
    add_counts(&l, "--mbs", &constraints->mbs);
    if (constraints->chunks > 0)
        add_flag(&l, "--exactly", weft_arena_print(a, "chunks=%d", constraints->chunks));
    return end(&l, r->origin, m);
}

const char *weft_remake_serve(const void *report, const weft_remake *m, weft_arena *a)
{
    const weft_serve_report *r = report;
    line l = {"weft serve", a};

    add_model(&l, r->origin, NULL);
    return end(&l, r->origin, m);
}

/* --- designs --------------------------------------------------------------------------------- */

/* One number for all networks, or one for each. */
static const char *batches(const weft_design_asked *q, weft_arena *a)
{
    const char *one = weft_arena_print(a, "%.0f", q->network[0].batch), *text = one;
    bool is_one = true;

    for (int i = 1; i < q->n; i++) {
        is_one = is_one && q->network[i].batch == q->network[0].batch;
        text = weft_arena_print(a, "%s,%.0f", text, q->network[i].batch);
    }
    return is_one ? one : text;
}

static void add_real(line *l, const char *flag, double value, const char *unit)
{
    if (value < INFINITY)
        add_flag(l, flag, weft_arena_print(l->a, "%.15g%s", value, unit));
}

/* Whole GiB, as a rule. */
static void add_memory(line *l, double bytes)
{
    static const double gib = 1073741824;
    bool is_whole = bytes == gib * (double)(int64_t)(bytes / gib);

    add_real(l, "--memory", is_whole ? bytes / gib : bytes, is_whole ? "GiB" : "B");
}

static void add_design(line *l, const weft_design_asked *q)
{
    bool is_per_tdp = q->metric == WEFT_METRIC_PER_TDP;

    if (strcmp(q->t->source, "mine16") != 0)
        add_flag(l, "--template", q->t->source);
    add_real(l, "--area", q->limits->area_mm2, "mm2");
    add_real(l, "--power", q->limits->tdp_w, "W");
    add_memory(l, q->t->hbm_bytes);
    if (is_per_tdp)
        add_flag(l, "--metric", "perf-per-tdp");
    if (q->least_throughput != (is_per_tdp ? 0.5 : 0))
        add_real(l, "--least-throughput", q->least_throughput, "");
    for (int i = 0; i < q->options->n_dims; i++)
        add_flag(l, "--dim",
                 weft_arena_print(l->a, "%s=%lld", q->options->dim[i].name,
                                  (long long)q->options->dim[i].size));
    if (strcmp(q->dtype, "bf16") != 0)
        add_flag(l, "--dtype", q->dtype);
    if (strcmp(q->optimizer, "adam") != 0)
        add_flag(l, "--optimizer", q->optimizer);
    if (q->options->has_software)
        add_flag(l, "--software", weft_software_name(q->options->software));
}

static void add_networks(line *l, const weft_design_asked *q)
{
    for (int i = 0; i < q->n; i++)
        add_word(l, q->network[i].name);
}

static void add_weights(line *l, const weft_design_asked *q)
{
    const char *text = "";
    bool is_plain = true;

    for (int i = 0; i < q->n; i++) {
        is_plain = is_plain && q->network[i].weight == 1;
        text = weft_arena_print(l->a, "%s%s%.15g", text, *text ? "," : "", q->network[i].weight);
    }
    if (!is_plain)
        add_flag(l, "--weights", text);
}

const char *weft_remake_mine(const void *report, const weft_remake *m, weft_arena *a)
{
    const weft_mine_report *r = report;
    weft_design_asked q = weft_asked_of_device(r, a);
    line l = {"weft mine", a};

    add_networks(&l, &q);
    add_flag(&l, "--batch", batches(&q, a));
    add_weights(&l, &q);
    if (r->objective->blend == WEFT_BLEND_WORST)
        add_flag(&l, "--blend", "worst");
    add_design(&l, &q);
    if (strcmp(r->solver, "auto") != 0)
        add_flag(&l, "--solver", r->solver);
    add_count(&l, "--seed", r->seed, 1);
    add_count(&l, "--evaluations", r->evaluations, 0);
    if (r->sensitivity != NULL)
        add_count(&l, "--sensitivity", r->sensitivity->n_draws, 0);
    return end_files(&l, m);
}

const char *weft_remake_pipeline(const void *report, const weft_remake *m, weft_arena *a)
{
    const weft_design_pipeline_report *r = report;
    const weft_design_pipeline *x = &r->objective->design_pipeline;
    weft_design_pipeline usual = weft_design_pipeline_default();
    weft_design_asked q = weft_asked_of_pipeline(r, a);
    line l = {"weft mine", a};

    add_networks(&l, &q);
    add_count(&l, "--stages", x->n_stages, 0);
    add_count(&l, "--width", x->width, 1);
    add_count(&l, "--replicas", x->replicas, 1);
    add_count(&l, "--batch", x->batch, 0);
    add_count(&l, "--microbatch", x->microbatch, 1);
    add_weights(&l, &q);
    if (r->objective->is_per_stage)
        add_flag(&l, "--designs", "stages");
    add_words(&l, "--recompute", x->recomputes, recompute_word, WEFT_N_RECOMPUTES);
    if (x->inside.bytes_per_s != usual.inside.bytes_per_s)
        add_real(&l, "--inside", x->inside.bytes_per_s, "B/s");
    if (x->between.bytes_per_s != usual.between.bytes_per_s)
        add_real(&l, "--between", x->between.bytes_per_s, "B/s");
    add_design(&l, &q);
    return end_files(&l, m);
}
