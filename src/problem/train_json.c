/* SPDX-License-Identifier: MIT */
/* train_json.c: plan files of training runs (weft.plan/1, kind train).
 *
 * They are read in two stages. The first needs the file alone: where model and platform come from,
 * what was asked, what is claimed, and that the decisions have the right form. The second, given
 * the problem that follows from these, turns them into numbers: every chunk lists its units as
 * stretches of numbers with the names of their ends, every group of devices its class and blocks
 * with the names of the first and last device. What is written twice must agree, so that a file
 * that was edited in one of the two places is noticed. Decisions that were made elsewhere may
 * have no names. */
#include <limits.h>
#include <string.h>

#include "plan_head.h"
#include "train_plan.h"

enum { MOST_COUNT = 1000000000 };

/* --- writing --------------------------------------------------------------------------------- */

static const char *schedule_word(int i)
{
    return weft_schedule_name((weft_schedule)i);
}

static const char *recompute_word(int i)
{
    return weft_recompute_name((weft_recompute)i);
}

/* The words of the bits that are set. */
static weft_doc *words_doc(unsigned bits, const char *(*name)(int), int n, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < n; i++)
        if (bits >> i & 1)
            weft_doc_add(a, list, weft_doc_new_text(a, name(i)));
    return list;
}

/* Numbers that are asked for: only those that are. */
static const struct {
    const char *key;
    size_t offset;
} exact[] = {
    {"tp",  offsetof(weft_train_constraints, tp) },
    {"pp",  offsetof(weft_train_constraints, pp) },
    {"dp",  offsetof(weft_train_constraints, dp) },
    {"mbs", offsetof(weft_train_constraints, mbs)},
};
enum { N_EXACT = sizeof exact / sizeof *exact };

/* One number, or a list of several. */
static void put_counts(const weft_counts *c, const char *key, weft_doc *to, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < c->n; i++)
        weft_doc_add(a, list, weft_doc_new_int(a, c->at[i]));
    if (c->n > 0)
        weft_doc_put(a, to, key, c->n == 1 ? weft_doc_new_int(a, c->at[0]) : list);
}

static weft_counts levels_of(unsigned bits)
{
    weft_counts c = {0};

    for (int i = 0; i <= WEFT_MOST_ZERO; i++)
        if (bits >> i & 1)
            c.at[c.n++] = i;
    return c;
}

static void put_exact(const weft_train_constraints *constraints, weft_doc *to, weft_arena *a)
{
    const weft_counts levels = levels_of(constraints->zeros), sps = levels_of(constraints->sps);

    for (int i = 0; i < N_EXACT; i++)
        put_counts((const weft_counts *)(const void *)((const char *)constraints + exact[i].offset),
                   exact[i].key, to, a);
    if (constraints->chunks > 0)
        weft_put_int(a, to, "chunks", constraints->chunks);
    if (constraints->overlap != 0)
        weft_put_int(a, to, "overlap", constraints->overlap);
    if (constraints->sps > 1)
        put_counts(&sps, "sp", to, a);
    if (levels.n > 1)
        put_counts(&levels, "zero", to, a);
    else if (constraints->zero > WEFT_ZERO_MOMENTS)
        weft_put_int(a, to, "zero", constraints->zero);
    if (constraints->recipe != WEFT_RECIPE_16)
        weft_put_text(a, to, "recipe", weft_recipe_name(constraints->recipe));
    if (constraints->memory_margin > 0)
        weft_put_real(a, to, "memory_margin", constraints->memory_margin);
}

weft_doc *weft_train_constraints_doc(const weft_train_constraints *constraints, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_int(a, d, "batch", constraints->batch);
    weft_put_int(a, d, "microbatch", constraints->microbatch);
    weft_doc_put(a, d, "schedules",
                 words_doc(constraints->schedules, schedule_word, WEFT_N_SCHEDULES, a));
    weft_doc_put(a, d, "recompute",
                 words_doc(constraints->recomputes, recompute_word, WEFT_N_RECOMPUTES, a));
    weft_put_int(a, d, "most_width", constraints->most_width);
    weft_put_int(a, d, "most_replicas", constraints->most_replicas);
    weft_put_int(a, d, "most_stages", constraints->most_stages);
    weft_put_int(a, d, "most_chunks", constraints->most_chunks);
    weft_doc_put(a, d, "split_moments", weft_doc_new_bool(a, constraints->zero >= 1));
    put_exact(constraints, d, a);
    return d;
}

static const char *device_name(const weft_train_problem *p, const weft_class *c, int place)
{
    return p->cluster->platform->device[c->device[place]].name;
}

/* Places in the class of the first and the last device of a part. */
static int first_place(const weft_class *c, int width, const weft_device_set_part *part)
{
    return weft_class_block(c, width, part->first);
}

static int last_place(const weft_class *c, int width, const weft_device_set_part *part)
{
    return weft_class_block(c, width, part->first + (part->n_blocks - 1) * part->step) + width - 1;
}

static weft_doc *device_set_doc(const weft_train_problem *p, const weft_stage *s, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int k = 0; k < s->n_parts; k++) {
        const weft_device_set_part *part = &s->part[k];
        const weft_class *c = &p->cluster->classes[part->class_id];
        weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

        weft_put_text(a, d, "class", c->kind);
        weft_put_int(a, d, "blocks", part->n_blocks);
        weft_put_int(a, d, "first", part->first);
        weft_put_int(a, d, "step", part->n_blocks > 1 ? part->step : 1);
        weft_put_text(a, d, "from", device_name(p, c, first_place(c, s->width, part)));
        weft_put_text(a, d, "to", device_name(p, c, last_place(c, s->width, part)));
        weft_put_int(a, d, "samples", part->samples);
        weft_doc_add(a, list, d);
    }
    return list;
}

/* The units of chunk c as stretches of numbers, each with the names of its ends. */
static weft_doc *units_doc(const weft_blocks *u, const weft_train_plan *plan, int c, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int first = 0, last; first < u->n_blocks; first = last + 1) {
        weft_doc *d;

        last = first;
        if (!weft_block_between(u, first, plan->cut[c], plan->cut[c + 1]))
            continue;
        while (last + 1 < u->n_blocks &&
               weft_block_between(u, last + 1, plan->cut[c], plan->cut[c + 1]))
            last++;
        d = weft_doc_new(a, WEFT_DOC_MAP);
        weft_put_int(a, d, "first", first);
        weft_put_int(a, d, "last", last);
        weft_put_text(a, d, "from", u->name[first]);
        weft_put_text(a, d, "to", u->name[last]);
        weft_doc_add(a, list, d);
    }
    return list;
}

static weft_doc *stage_doc(const weft_train_problem *p, const weft_train_plan *plan, int i,
                           weft_arena *a)
{
    const weft_stage *s = &plan->stage[i];
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *chunks = weft_doc_new(a, WEFT_DOC_LIST);

    weft_put_int(a, d, "width", s->width);
    weft_put_text(a, d, "recompute", weft_recompute_name(s->recompute));
    weft_doc_put(a, d, "devices", device_set_doc(p, s, a));
    for (int c = i; c < plan->n_stages * plan->n_chunks; c += plan->n_stages)
        weft_doc_add(a, chunks, units_doc(&p->blocks, plan, c, a));
    weft_doc_put(a, d, "chunks", chunks);
    return d;
}

static weft_doc *decisions_doc(const weft_train_problem *p, const weft_train_plan *plan,
                               weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *stages = weft_doc_new(a, WEFT_DOC_LIST);

    weft_put_text(a, d, "schedule", weft_schedule_name(plan->schedule));
    weft_put_int(a, d, "microbatch", plan->microbatch);
    if ((p->constraints.zeros & (p->constraints.zeros - 1)) != 0)
        weft_put_int(a, d, "zero", weft_train_variant(p, plan)->constraints.zero);
    if (p->constraints.sps == 3)
        weft_put_int(a, d, "sp", weft_train_variant(p, plan)->is_sequence);
    for (int i = 0; i < plan->n_stages; i++)
        weft_doc_add(a, stages, stage_doc(p, plan, i, a));
    weft_doc_put(a, d, "stages", stages);
    return d;
}

weft_doc *weft_train_plan_doc(const weft_train_problem *p, const weft_train_plan *plan,
                              const weft_proof *proof, const weft_plan_origin *origin,
                              weft_doc *measures, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_plan_put_head(a, d, "train", origin);
    weft_doc_put(a, d, "ask", weft_train_constraints_doc(&p->constraints, a));
    weft_plan_put_maker(a, d, origin);
    weft_doc_put(a, d, "decisions", decisions_doc(p, plan, a));
    weft_doc_put(a, d, "measures", measures);
    weft_plan_put_proof(a, d, proof);
    return d;
}

/* --- reading: the form ----------------------------------------------------------------------- */

static weft_status need_map(const weft_doc *d, const char *expected)
{
    if (d->kind == WEFT_DOC_MAP)
        return WEFT_OK;
    return weft_doc_fail(d, "this is %s, expected {%s}", weft_doc_kind_name(d->kind), expected);
}

static weft_status need_list(const weft_doc *map, const char *key, int most, const weft_doc **out)
{
    WEFT_TRY(weft_doc_need(map, key, WEFT_DOC_LIST, out));
    if ((*out)->n < 1 || (*out)->n > most)
        return weft_doc_fail(*out, "'%s' has %d entries, expected 1 to %d", key, (*out)->n, most);
    return WEFT_OK;
}

static weft_status read_count(const weft_doc *map, const char *key, int lowest, int *out)
{
    int64_t value = 0;

    WEFT_TRY(weft_doc_int(map, key, lowest, MOST_COUNT, &value));
    *out = (int)value;
    return WEFT_OK;
}

static weft_status read_words(const weft_doc *map, const char *key, const char *(*name)(int), int n,
                              unsigned *out)
{
    const weft_doc *list;

    WEFT_TRY(need_list(map, key, n, &list));
    *out = 0;
    for (int k = 0; k < list->n; k++) {
        int i = 0;

        while (i < n &&
               (list->item[k]->kind != WEFT_DOC_TEXT || strcmp(list->item[k]->text, name(i)) != 0))
            i++;
        if (i == n || (*out >> i & 1))
            return weft_doc_fail(list->item[k], "'%s' has %s, expected %s ..., each once", key,
                                 list->item[k]->kind == WEFT_DOC_TEXT
                                     ? list->item[k]->text
                                     : weft_doc_kind_name(list->item[k]->kind),
                                 name(0));
        *out |= 1u << i;
    }
    return WEFT_OK;
}

static const char *recipe_word(int i)
{
    return weft_recipe_name((weft_recipe)i);
}

static weft_status read_memory(const weft_doc *d, weft_train_constraints *out)
{
    int recipe = WEFT_RECIPE_16;

    if (weft_doc_get(d, "recipe") != NULL)
        WEFT_TRY(weft_plan_read_word(d, "recipe", recipe_word, WEFT_N_RECIPES, &recipe));
    out->recipe = (weft_recipe)recipe;
    if (weft_doc_get(d, "memory_margin") != NULL)
        WEFT_TRY(weft_doc_real(d, "memory_margin", 0, 1, &out->memory_margin));
    return WEFT_OK;
}

/* A number, or a list of several that ascend. */
static weft_status read_counts(const weft_doc *map, const char *key, int lowest, int highest,
                               weft_counts *out)
{
    const weft_doc *d = weft_doc_get(map, key);

    *out = (weft_counts){0};
    if (d == NULL)
        return WEFT_OK;
    if (d->kind != WEFT_DOC_LIST) {
        out->n = 1;
        return weft_doc_int(map, key, lowest, highest, &out->at[0]);
    }
    if (d->n < 2 || d->n > WEFT_MOST_COUNTS)
        return weft_doc_fail(d, "'%s' has %d entries, expected 2 to %d, or a number", key, d->n,
                             (int)WEFT_MOST_COUNTS);
    for (int i = 0; i < d->n; i++) {
        const weft_doc *x = d->item[i];

        if (x->kind != WEFT_DOC_INT || x->integer < lowest || x->integer > highest ||
            (i > 0 && x->integer <= out->at[i - 1]))
            return weft_doc_fail(x, "'%s' needs ascending whole numbers from %d to %d", key, lowest,
                                 highest);
        out->at[out->n++] = x->integer;
    }
    return WEFT_OK;
}

static weft_status read_levels(const weft_doc *d, weft_train_constraints *out)
{
    weft_counts levels;

    WEFT_TRY(read_counts(d, "sp", 0, 1, &levels));
    for (int i = 0; i < levels.n; i++)
        out->sps |= 1u << levels.at[i];
    WEFT_TRY(read_counts(d, "zero", 0, WEFT_MOST_ZERO, &levels));
    if (levels.n == 0)
        return WEFT_OK;
    if (levels.n == 1 && levels.at[0] < WEFT_ZERO_GRADIENTS)
        return weft_doc_fail(d,
                             "'zero' is %lld, expected 2 or 3, or a list; 'split_moments' tells "
                             "0 and 1 apart",
                             (long long)levels.at[0]);
    if ((levels.at[0] > WEFT_ZERO_NONE) != (out->zero > WEFT_ZERO_NONE))
        return weft_doc_fail(d, "'zero' starts with %lld, but 'split_moments' is %s",
                             (long long)levels.at[0],
                             out->zero > WEFT_ZERO_NONE ? "true" : "false");
    out->zeros = 0;
    for (int i = 0; i < levels.n; i++)
        out->zeros |= 1u << levels.at[i];
    weft_train_settle_zero(out);
    return WEFT_OK;
}

static weft_status read_exact(const weft_doc *d, weft_train_constraints *out)
{
    for (int i = 0; i < N_EXACT; i++)
        WEFT_TRY(read_counts(d, exact[i].key, 1, MOST_COUNT,
                             (weft_counts *)(void *)((char *)out + exact[i].offset)));
    if (weft_doc_get(d, "chunks") != NULL)
        WEFT_TRY(read_count(d, "chunks", 1, &out->chunks));
    if (weft_doc_get(d, "overlap") != NULL)
        WEFT_TRY(read_count(d, "overlap", 1, &out->overlap));
    if (out->overlap > 1)
        return weft_doc_fail(d, "'overlap' is %d, expected 1, or nothing", out->overlap);
    WEFT_TRY(read_memory(d, out));
    return read_levels(d, out);
}

static weft_status read_constraints(const weft_doc *plan, weft_train_constraints *out)
{
    static const char *const keys[] = {
        "batch",        "microbatch",  "schedules",     "recompute", "most_width", "most_replicas",
        "most_stages",  "most_chunks", "split_moments", "tp",        "pp",         "dp",
        "mbs",          "chunks",      "zero",          "sp",        "overlap",    "recipe",
        "memory_margin"};
    const weft_doc *d, *split;

    WEFT_TRY(weft_doc_need(plan, "ask", WEFT_DOC_MAP, &d));
    WEFT_TRY(weft_doc_known_keys(d, keys, (int)(sizeof keys / sizeof *keys)));
    WEFT_TRY(weft_doc_int(d, "batch", 1, MOST_COUNT, &out->batch));
    WEFT_TRY(weft_doc_int(d, "microbatch", 0, MOST_COUNT, &out->microbatch));
    WEFT_TRY(read_words(d, "schedules", schedule_word, WEFT_N_SCHEDULES, &out->schedules));
    WEFT_TRY(read_words(d, "recompute", recompute_word, WEFT_N_RECOMPUTES, &out->recomputes));
    WEFT_TRY(read_count(d, "most_width", 0, &out->most_width));
    WEFT_TRY(read_count(d, "most_replicas", 0, &out->most_replicas));
    WEFT_TRY(read_count(d, "most_stages", 0, &out->most_stages));
    WEFT_TRY(read_count(d, "most_chunks", 0, &out->most_chunks));
    WEFT_TRY(weft_doc_need(d, "split_moments", WEFT_DOC_BOOL, &split));
    out->zero = split->truth;
    return read_exact(d, out);
}

/* What a file says of a group of devices. */
typedef struct group {
    const char *kind, *from, *to;
    weft_device_set_part part; /* but its class */
} group;

static weft_status read_group(const weft_doc *d, group *out)
{
    static const char *const keys[] = {"class", "blocks", "first", "step", "from", "to", "samples"};

    *out = (group){0};
    WEFT_TRY(need_map(d, "class, blocks, first, step, from, to, samples"));
    WEFT_TRY(weft_doc_known_keys(d, keys, 7));
    WEFT_TRY(weft_doc_text(d, "class", &out->kind));
    WEFT_TRY(read_count(d, "blocks", 1, &out->part.n_blocks));
    WEFT_TRY(read_count(d, "first", 0, &out->part.first));
    WEFT_TRY(read_count(d, "step", 1, &out->part.step));
    if (out->part.n_blocks == 1 && out->part.step != 1)
        return weft_doc_fail(d, "'step' is %d, expected 1, as there is one block", out->part.step);
    WEFT_TRY(weft_doc_text(d, "from", &out->from));
    WEFT_TRY(weft_doc_text(d, "to", &out->to));
    return weft_doc_int(d, "samples", 1, MOST_COUNT, &out->part.samples);
}

/* What a file says of a stretch of units. */
typedef struct stretch {
    int first, last;
    const char *from, *to;
} stretch;

static weft_status read_stretch(const weft_doc *d, stretch *out)
{
    static const char *const keys[] = {"first", "last", "from", "to"};

    *out = (stretch){0};
    WEFT_TRY(need_map(d, "first, last, from, to"));
    WEFT_TRY(weft_doc_known_keys(d, keys, 4));
    WEFT_TRY(read_count(d, "first", 0, &out->first));
    WEFT_TRY(read_count(d, "last", out->first, &out->last));
    WEFT_TRY(weft_doc_text(d, "from", &out->from));
    return weft_doc_text(d, "to", &out->to);
}

static weft_status check_chunk(const weft_doc *d)
{
    stretch s;

    if (d->kind != WEFT_DOC_LIST || d->n == 0)
        return weft_doc_fail(d, "a chunk is %s, expected a list of stretches of units",
                             d->kind == WEFT_DOC_LIST ? "empty" : weft_doc_kind_name(d->kind));
    for (int i = 0; i < d->n; i++)
        WEFT_TRY(read_stretch(d->item[i], &s));
    return WEFT_OK;
}

/* What a file says of a stage; lists of it have the right form. */
static weft_status read_stage(const weft_doc *d, weft_stage *out, const weft_doc **devices,
                              const weft_doc **chunks)
{
    static const char *const keys[] = {"width", "recompute", "devices", "chunks"};
    int recompute;
    group g;

    *out = (weft_stage){0};
    WEFT_TRY(need_map(d, "width, recompute, devices, chunks"));
    WEFT_TRY(weft_doc_known_keys(d, keys, 4));
    WEFT_TRY(read_count(d, "width", 1, &out->width));
    WEFT_TRY(weft_plan_read_word(d, "recompute", recompute_word, WEFT_N_RECOMPUTES, &recompute));
    out->recompute = (weft_recompute)recompute;
    WEFT_TRY(need_list(d, "devices", WEFT_MAX_PARTS, devices));
    for (int k = 0; k < (*devices)->n; k++)
        WEFT_TRY(read_group((*devices)->item[k], &g));
    WEFT_TRY(need_list(d, "chunks", INT_MAX, chunks));
    for (int c = 0; c < (*chunks)->n; c++)
        WEFT_TRY(check_chunk((*chunks)->item[c]));
    return WEFT_OK;
}

/* The head of the decisions and the form of the rest. */
static weft_status read_decisions(const weft_doc *d, weft_train_plan *out, const weft_doc **stages)
{
    static const char *const keys[] = {"schedule", "microbatch", "zero", "sp", "stages"};
    const weft_doc *devices, *chunks = NULL;
    weft_stage stage;
    int schedule;

    *out = (weft_train_plan){0};
    WEFT_TRY(weft_doc_known_keys(d, keys, 5));
    WEFT_TRY(weft_plan_read_word(d, "schedule", schedule_word, WEFT_N_SCHEDULES, &schedule));
    out->schedule = (weft_schedule)schedule;
    WEFT_TRY(weft_doc_int(d, "microbatch", 1, MOST_COUNT, &out->microbatch));
    WEFT_TRY(need_list(d, "stages", INT_MAX, stages));
    out->n_stages = (*stages)->n;
    for (int i = 0; i < (*stages)->n; i++) {
        WEFT_TRY(read_stage((*stages)->item[i], &stage, &devices, &chunks));
        if (i == 0)
            out->n_chunks = chunks->n;
        if (chunks->n != out->n_chunks)
            return weft_doc_fail(chunks, "stage %d has %d chunks, stage 0 has %d", i, chunks->n,
                                 out->n_chunks);
    }
    return WEFT_OK;
}

weft_status weft_train_plan_read(const char *path, weft_arena *a, weft_train_plan_file *out)
{
    const weft_doc *d;

    WEFT_TRY(weft_plan_open(path, "train", a, &d));
    return weft_train_plan_take(d, a, out);
}

weft_status weft_train_plan_take(const weft_doc *d, weft_arena *a, weft_train_plan_file *out)
{
    static const char *const keys[] = {"schema",    "kind",     "model", "platform",
                                       "ask",       "solver",   "seed",  "problem_hash",
                                       "decisions", "measures", "proof"};
    const weft_doc *stages;
    weft_train_plan plan;

    memset(out, 0, sizeof *out);
    WEFT_TRY(weft_doc_known_keys(d, keys, (int)(sizeof keys / sizeof *keys)));
    WEFT_TRY(weft_plan_read_origin(d, a, &out->origin));
    WEFT_TRY(read_constraints(d, &out->constraints));
    WEFT_TRY(weft_doc_need(d, "decisions", WEFT_DOC_MAP, &out->decisions));
    WEFT_TRY(read_decisions(out->decisions, &plan, &stages));
    WEFT_TRY(weft_doc_need(d, "measures", WEFT_DOC_MAP, &out->measures));
    WEFT_TRY(weft_plan_read_proof(d, &out->proof));
    out->doc = d;
    return WEFT_OK;
}

/* --- reading: names become numbers ----------------------------------------------------------- */

static int find_class(const weft_cluster *c, const char *kind)
{
    for (int k = 0; k < c->n_classes; k++)
        if (strcmp(c->classes[k].kind, kind) == 0)
            return k;
    return -1;
}

static weft_status need_device(const weft_doc *d, const char *key, const char *found,
                               const char *expected)
{
    if (found == weft_unnamed || weft_is_copy_name(expected, found))
        return WEFT_OK;
    return weft_doc_fail(d, "'%s' is '%s', by its blocks it is '%s'", key, found, expected);
}

static weft_status decide_part(const weft_doc *d, const weft_train_problem *p, int width,
                               weft_device_set_part *out)
{
    const weft_class *c;
    int64_t last;
    int n;
    group g;

    WEFT_TRY(read_group(d, &g));
    *out = g.part;
    out->class_id = find_class(p->cluster, g.kind);
    if (out->class_id < 0)
        return weft_doc_fail(d, "'%s' is no kind of devices of platform '%s' that can be used",
                             g.kind, p->cluster->platform->name);
    c = &p->cluster->classes[out->class_id];
    n = weft_class_blocks(c, width);
    last = out->first + ((int64_t)out->n_blocks - 1) * out->step;
    if (last >= n)
        return weft_doc_fail(d, "block %lld of '%s' with %d devices: there are %d", (long long)last,
                             g.kind, width, n);
    WEFT_TRY(need_device(d, "from", g.from, device_name(p, c, first_place(c, width, out))));
    return need_device(d, "to", g.to, device_name(p, c, last_place(c, width, out)));
}

/* Adds a stretch of units to those that earlier chunks have. */
static weft_status take_stretch(const weft_doc *d, const weft_blocks *u, uint64_t *taken)
{
    stretch s;

    WEFT_TRY(read_stretch(d, &s));
    if (s.last >= u->n_blocks)
        return weft_doc_fail(d, "unit %d is not in the model, which has %d", s.last, u->n_blocks);
    if (s.from != weft_unnamed && strcmp(s.from, u->name[s.first]) != 0)
        return weft_doc_fail(d, "unit %d is '%s', not '%s'", s.first, u->name[s.first], s.from);
    if (s.to != weft_unnamed && strcmp(s.to, u->name[s.last]) != 0)
        return weft_doc_fail(d, "unit %d is '%s', not '%s'", s.last, u->name[s.last], s.to);
    for (int i = s.first; i <= s.last; i++) {
        if (weft_bit_get(taken, i))
            return weft_doc_fail(d, "unit %d ('%s') is in two places", i, u->name[i]);
        weft_bit_set(taken, i);
    }
    return WEFT_OK;
}

static int find_cut(const weft_blocks *u, const uint64_t *taken)
{
    size_t bytes = (size_t)u->n_words * sizeof *taken;

    for (int c = 0; c < u->n_cuts; c++)
        if (memcmp(weft_cut_bits(u, c), taken, bytes) == 0)
            return c;
    return -1;
}

/* Chunks in the order of the pipeline. */
static weft_status decide_cuts(const weft_doc *const *chunks, const weft_train_problem *p,
                               weft_arena *a, weft_train_plan *out)
{
    const weft_blocks *u = &p->blocks;
    uint64_t *taken = WEFT_NEW(a, uint64_t, u->n_words);

    for (int c = 0; c < out->n_stages * out->n_chunks; c++) {
        const weft_doc *list = chunks[c % out->n_stages]->item[c / out->n_stages];

        for (int i = 0; i < list->n; i++)
            WEFT_TRY(take_stretch(list->item[i], u, taken));
        out->cut[c + 1] = find_cut(u, taken);
        if (out->cut[c + 1] < 0)
            return weft_doc_fail(
                list,
                "chunk %d of stage %d: the units up to here cannot be cut off from "
                "the rest",
                c / out->n_stages, c % out->n_stages);
    }
    for (int i = 0; i < u->n_blocks; i++)
        if (!weft_bit_get(taken, i))
            return weft_doc_fail(chunks[0], "unit %d ('%s') is not in the plan", i, u->name[i]);
    return WEFT_OK;
}

/* Which of the variants the decisions are of. */
static weft_status decide_variant(const weft_doc *d, const weft_train_problem *p,
                                  weft_train_plan *out)
{
    int64_t zero = p->constraints.zero, sp = p->is_sequence;
    unsigned zeros = p->constraints.zeros;

    if ((zeros & (zeros - 1)) != 0 || weft_doc_get(d, "zero") != NULL)
        WEFT_TRY(weft_doc_int(d, "zero", 0, WEFT_MOST_ZERO, &zero));
    if (p->constraints.sps == 3 || weft_doc_get(d, "sp") != NULL)
        WEFT_TRY(weft_doc_int(d, "sp", 0, 1, &sp));
    for (int i = 0; i < weft_train_n_variants(p); i++) {
        const weft_train_problem *one = weft_train_variant_at(p, i);

        if (one->constraints.zero == zero && one->is_sequence == (sp == 1)) {
            out->variant = i;
            return WEFT_OK;
        }
    }
    return weft_doc_fail(d, "'zero' is %lld and 'sp' is %lld, which is not allowed",
                         (long long)zero, (long long)sp);
}

weft_status weft_train_plan_decide(const weft_train_plan_file *f, const weft_train_problem *p,
                                   weft_arena *a, weft_train_plan *out)
{
    const weft_doc *stages, *devices, **chunks;

    WEFT_TRY(read_decisions(f->decisions, out, &stages));
    WEFT_TRY(decide_variant(f->decisions, p, out));
    if (out->n_stages > p->blocks.n_blocks / out->n_chunks)
        return weft_doc_fail(stages, "%d stages of %d chunks, the model has %d units",
                             out->n_stages, out->n_chunks, p->blocks.n_blocks);
    out->cut = WEFT_NEW(a, int, out->n_stages * out->n_chunks + 1);
    out->stage = WEFT_NEW(a, weft_stage, out->n_stages);
    chunks = WEFT_NEW(a, const weft_doc *, out->n_stages);
    for (int i = 0; i < out->n_stages; i++) {
        weft_stage *s = &out->stage[i];

        WEFT_TRY(read_stage(stages->item[i], s, &devices, &chunks[i]));
        s->n_parts = devices->n;
        for (int k = 0; k < devices->n; k++)
            WEFT_TRY(decide_part(devices->item[k], p, s->width, &s->part[k]));
    }
    return decide_cuts(chunks, p, a, out);
}
