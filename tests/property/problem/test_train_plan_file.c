/* SPDX-License-Identifier: MIT */
/* Plan files of training runs: what is written is read, and a change in any place of what was asked
 * and decided is noticed: by the reader, by the rules, or because the plan has other measures than
 * the file claims. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "draw_training.h"

#include <stdlib.h>
#include <unistd.h>

typedef struct made {
    drawn_training d;
    weft_arena *arena;
    weft_train_plan plan;
    weft_doc *doc;
} made;

static const weft_plan_origin origin = {
    .model = "drawn",
    .platform = "drawn.yaml",
    .options = {.batch = 3, .train = true},
    .solver = "auto",
    .seed = 7,
    .model_hash = 11,
    .platform_hash = 12,
    .problem_hash = 13
};
static const weft_proof proof = {.outcome = WEFT_BOUNDED,
                                 .value = 2,
                                 .bound = 1,
                                 .gap = 0.5,
                                 .method = "search",
                                 .certified = 0.5,
                                 .again = "floor"};

static weft_doc *measures_of(const weft_train_problem *p, const weft_train_plan *plan,
                             weft_arena *a)
{
    weft_train_measures t;

    CHECK_OK(weft_train_plan_evaluate(p, plan, a, &t));
    return weft_train_measures_doc(p, plan, &t, a);
}

static bool make_plan(uint64_t seed, made *out)
{
    draw_training_ask constraints = {.is_dag = seed % 2,
                                     .has_shared = seed % 3 == 0,
                                     .has_no_zero = true,

                                     .zeros =
                                         seed % 5 < 2 ? 1u << seed % 4 | 1u << seed / 4 % 4 : 0};
    weft_rng r = weft_rng_seed(seed);

    *out = (made){.d = draw_training(&constraints, &r), .arena = weft_arena_new()};
    if (!draw_pipeline(out->d.training, (weft_schedule)(seed / 2 % WEFT_N_SCHEDULES), &r,
                       out->arena, &out->plan))
        return false;
    out->plan.variant = (int)(seed % (uint64_t)weft_train_n_variants(out->d.training));
    out->doc =
        weft_train_plan_doc(out->d.training, &out->plan, &proof, &origin,
                            measures_of(out->d.training, &out->plan, out->arena), out->arena);
    return true;
}

static void drop_plan(made *m)
{
    weft_arena_free(m->arena);
    drop_training(&m->d);
}

static const char *scratch_file(void)
{
    static char path[] = "/tmp/weft_pipeline_file_XXXXXX"; /* mkstemp fills it in once */
    static int fd = -1;

    if (fd < 0)
        fd = mkstemp(path);
    return path;
}

static void write_file(const weft_doc *d, weft_arena *a)
{
    const char *text = weft_doc_json(d, 1, a);

    CHECK_OK(weft_file_write(scratch_file(), text, strlen(text)));
}

/* --- what is written is read ----------------------------------------------------------------- */

static void compare_plans(const weft_train_plan *x, const weft_train_plan *y)
{
    CHECK_INT(x->schedule, y->schedule);
    CHECK_INT(x->microbatch, y->microbatch);
    CHECK_INT(x->variant, y->variant);
    CHECK_INT(x->n_stages, y->n_stages);
    CHECK_INT(x->n_chunks, y->n_chunks);
    for (int c = 0; c <= x->n_stages * x->n_chunks; c++)
        CHECK_INT(x->cut[c], y->cut[c]);
    for (int i = 0; i < x->n_stages; i++) {
        const weft_stage *s = &x->stage[i], *t = &y->stage[i];

        CHECK_INT(s->width, t->width);
        CHECK_INT(s->recompute, t->recompute);
        CHECK_INT(s->n_parts, t->n_parts);
        for (int k = 0; k < s->n_parts; k++) {
            CHECK_INT(s->part[k].class_id, t->part[k].class_id);
            CHECK_INT(s->part[k].n_blocks, t->part[k].n_blocks);
            CHECK_INT(s->part[k].first, t->part[k].first);
            CHECK(s->part[k].n_blocks == 1 || s->part[k].step == t->part[k].step);
            CHECK_INT(s->part[k].samples, t->part[k].samples);
        }
    }
}

static void compare_asks(const weft_train_constraints *x, const weft_train_constraints *y)
{
    CHECK(x->batch == y->batch && x->microbatch == y->microbatch);
    CHECK(x->schedules == y->schedules && x->recomputes == y->recomputes);
    CHECK(x->most_width == y->most_width && x->most_replicas == y->most_replicas);
    CHECK(x->most_stages == y->most_stages && x->most_chunks == y->most_chunks);
    CHECK(x->zero == y->zero);
    CHECK(x->sps == y->sps || x->sps + y->sps == 1);
    CHECK((x->zeros & (x->zeros - 1)) == 0 || x->zeros == y->zeros);
}

TEST(files_hold_plans)
{
    int n = 0;

    for (uint64_t seed = 1; seed <= (uint64_t)N_DRAWN(400); seed++) {
        weft_train_plan_file f;
        weft_train_plan plan;
        const char *kind;
        made m;

        if (make_plan(seed, &m)) {
            n++;
            write_file(m.doc, m.arena);
            CHECK_OK(weft_plan_kind(scratch_file(), m.arena, &kind));
            CHECK_TEXT(kind, "train");
            CHECK_OK(weft_train_plan_read(scratch_file(), m.arena, &f));
            CHECK_OK(weft_train_plan_decide(&f, m.d.training, m.arena, &plan));
            compare_plans(&plan, &m.plan);
            compare_asks(&f.constraints, &m.d.training->constraints);
            CHECK_INT(weft_train_plan_check(m.d.training, &plan, NULL, 0, m.arena), 0);
            CHECK_TEXT(f.origin.model, "drawn");
            CHECK_TEXT(f.origin.solver, "auto");
            CHECK(f.origin.model_hash == 11 && f.origin.platform_hash == 12);
            CHECK(f.origin.problem_hash == 13 && f.origin.seed == 7 && f.origin.options.batch == 3);
            CHECK(f.proof.outcome == WEFT_BOUNDED && f.proof.value == 2 && f.proof.bound == 1);
            CHECK(f.proof.gap == 0.5 && f.proof.certified == 0.5);
            CHECK_TEXT(f.proof.again, "floor");
            CHECK_TEXT(weft_doc_json(f.measures, 0, m.arena),
                       weft_doc_json(measures_of(m.d.training, &plan, m.arena), 0, m.arena));
        }
        drop_plan(&m);
    }
    CHECK(n >= N_DRAWN(380));
}

/* --- changes --------------------------------------------------------------------------------- */

/* What is wrong with the file, in one line; NULL: nothing. Reading must never be anything but wrong
 * input, and names file and line. */
static const char *wrong_with(const made *m, weft_arena *a)
{
    weft_train_problem_spec spec = draw_spec(&m->d);
    weft_train_problem *again = NULL;
    weft_train_plan_file f;
    weft_train_plan plan;
    weft_violation violation;
    bool is_same;

    if (weft_train_plan_read(scratch_file(), a, &f) != WEFT_OK) {
        CHECK(strncmp(weft_message(), scratch_file(), strlen(scratch_file())) == 0);
        return weft_message();
    }
    spec.constraints = f.constraints;
    if (weft_train_problem_make(&spec, &again) != WEFT_OK)
        return weft_message();
    is_same = again->hash == m->d.training->hash;
    weft_train_problem_free(again);
    if (!is_same)
        return "another problem";
    if (weft_train_plan_decide(&f, m->d.training, a, &plan) != WEFT_OK) {
        CHECK(strncmp(weft_message(), scratch_file(), strlen(scratch_file())) == 0);
        return weft_message();
    }
    if (weft_train_plan_check(m->d.training, &plan, &violation, 1, a) > 0)
        return violation.what;
    if (strcmp(weft_doc_json(f.measures, 0, a),
               weft_doc_json(measures_of(m->d.training, &plan, a), 0, a)) != 0)
        return "other measures";
    return NULL;
}

typedef struct walk {
    made *m;
    weft_rng r;
    int n_changes, n_noticed, n_equal;
    weft_arena *a;
} walk;

/* The document as it is now must not pass. Another schedule, recomputation or level of ZeRO may have the very same
 * measures (one stage, nothing to keep, one replica): then all that the file claims holds. */
static void try_change(walk *w, const char *key, const char *what)
{
    size_t mark = weft_arena_mark(w->a);
    bool is_choice = strcmp(key, "schedule") == 0 || strcmp(key, "recompute") == 0 ||
                     strcmp(key, "zero") == 0 || strcmp(key, "sp") == 0;

    w->n_changes++;
    write_file(w->m->doc, w->a);
    if (wrong_with(w->m, w->a) != NULL)
        w->n_noticed++;
    else if (is_choice)
        w->n_equal++;
    else
        fail_msg("'%s' as %s is not noticed:\n%s", key, what, weft_doc_json(w->m->doc, 1, w->a));
    weft_arena_rewind(w->a, mark);
}

static void change_text(walk *w, weft_doc *d, const char *key)
{
    static const char *const words[] = {"gpipe",    "1f1b",     "eager",     "interleaved",
                                        "none",     "full",     "selective", "",
                                        "fast.gpu", "slow.gpu", "u0",        "u1"};
    const char *before = d->text;

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], before) != 0) {
            d->text = words[i];
            try_change(w, key, words[i]);
        }
    d->text = before;
}

static void change_number(walk *w, weft_doc *d, const char *key)
{
    static const int64_t by[] = {1, -1, 1000000, 2000000000};
    int64_t before = d->integer;
    char text[32];

    for (size_t i = 0; i < sizeof by / sizeof *by; i++) {
        d->integer = before + by[i];
        d->real = (double)d->integer;
        snprintf(text, sizeof text, "%lld", (long long)d->integer);
        try_change(w, key, text);
    }
    d->integer = before;
    d->real = (double)before;
}

/* Every other kind of value in its place; no item, no entry; an item twice. */
static void change_form(walk *w, weft_doc *parent, int i, const char *key)
{
    weft_doc *before = parent->item[i];
    int n = parent->n;

    for (weft_doc_kind k = WEFT_DOC_NULL; k <= WEFT_DOC_MAP; k++)
        if (k != before->kind || k == WEFT_DOC_LIST || k == WEFT_DOC_MAP) {
            parent->item[i] = weft_doc_new(w->a, k);
            parent->item[i]->real = 0.5; /* 1.0 is as good as 1 */
            try_change(w, key, weft_doc_kind_name(k));
        }
    parent->item[i] = parent->item[n - 1]; /* lost */
    parent->n--;
    if (parent->kind == WEFT_DOC_MAP) {
        const char *name = parent->key[i];

        parent->key[i] = parent->key[n - 1];
        try_change(w, name, "missing");
        parent->n = n;
        parent->key[i] = "strange";
        parent->item[i] = before;
        parent->key[n - 1] = i == n - 1 ? "strange" : parent->key[n - 1];
        try_change(w, name, "strange");
        parent->key[i] = name;
    } else {
        if (n > 1 || strcmp(key, "schedules") != 0)
            try_change(w, key, "missing");
        parent->n = n;
        parent->item[i] = before;
        if (n > 1) {
            weft_doc *other = parent->item[(i + 1) % n];

            parent->item[i] = other;
            try_change(w, key, "another");
        }
    }
    parent->item[i] = before;
}

static void change_all(walk *w, weft_doc *d, const char *key)
{
    for (int i = 0; i < d->n; i++) {
        weft_doc *x = d->item[i];
        const char *name = d->kind == WEFT_DOC_MAP ? d->key[i] : key;

        /* form: any place in the first stages, some in the rest */
        if (weft_rng_below(&w->r, 3) == 0)
            change_form(w, d, i, name);
        if (x->kind == WEFT_DOC_TEXT)
            change_text(w, x, name);
        if (x->kind == WEFT_DOC_INT)
            change_number(w, x, name);
        if (x->kind == WEFT_DOC_BOOL) {
            x->truth = !x->truth;
            try_change(w, name, "the other");
            x->truth = !x->truth;
        }
        change_all(w, x, name);
    }
}

static weft_doc *entry(weft_doc *map, const char *key)
{
    return (weft_doc *)(uintptr_t)weft_doc_get(map, key);
}

TEST(no_change_passes)
{
    walk w = {.r = weft_rng_seed(3), .a = weft_arena_new()};

    for (uint64_t seed = 1; seed <= (uint64_t)N_DRAWN(10); seed++) {
        made m;

        w.m = &m;
        if (make_plan(seed, &m)) {
            write_file(m.doc, m.arena);
            CHECK(wrong_with(&m, m.arena) == NULL);
            change_all(&w, entry(m.doc, "ask"), "ask");
            change_all(&w, entry(m.doc, "decisions"), "decisions");
        }
        drop_plan(&m);
    }
    print_message("%d changes, %d noticed, %d choices that make no difference\n", w.n_changes,
                  w.n_noticed, w.n_equal);
    CHECK(w.n_noticed > N_DRAWN(2000) && w.n_equal < w.n_changes / 100);
    weft_arena_free(w.a);
}

/* --- messages -------------------------------------------------------------------------------- */

/* A text of the file is replaced by another, and the message must contain `part`. */
static void check_message(const made *m, const char *from, const char *to, const char *part)
{
    weft_arena *a = weft_arena_new();
    const char *text = weft_doc_json(m->doc, 1, a), *at = strstr(text, from), *wrong;
    const char *changed =
        weft_arena_print(a, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));

    CHECK_OK(weft_file_write(scratch_file(), changed, strlen(changed)));
    wrong = wrong_with(m, a);
    if (wrong == NULL || strstr(wrong, part) == NULL)
        fail_msg("expected '%s', found: %s", part, wrong ? wrong : "nothing");
    weft_arena_free(a);
}

TEST(messages_say_what_is_wrong)
{
    uint64_t seed = 2;
    made m;

    while (!make_plan(seed, &m) || m.plan.n_stages < 2 || m.plan.n_chunks > 1 ||
           m.plan.schedule != WEFT_ONE_F_ONE_B) {
        drop_plan(&m);
        seed += 2; /* chains */
    }
    check_message(&m, "\"kind\": \"train\"", "\"kind\": \"place\"",
                  "kind is 'place', expected 'train'");
    check_message(&m, "\"schedule\": \"1f1b\"", "\"schedule\": \"2f2b\"",
                  "'schedule' is '2f2b', expected gpipe");
    check_message(&m, "\"class\": \"", "\"class\": \"x",
                  "is no kind of devices of platform 'drawn'");
    check_message(&m, "\"blocks\": ", "\"blocks\": 9", "there are");
    check_message(&m, "\"width\": ", "\"widths\": ", "did you mean 'width'");
    check_message(&m, "\"first\": 0,\n       \"last\"", "\"first\": 1,\n       \"last\"", "");
    check_message(&m, "\"from\": \"u0\"", "\"from\": \"v0\"", "unit 0 is 'u0', not 'v0'");
    check_message(&m, "\"gpipe\"", "\"1f1b\"",
                  "'schedules' has 1f1b, expected gpipe ..., each once");
    drop_plan(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_hold_plans),
        cmocka_unit_test(no_change_passes),
        cmocka_unit_test(messages_say_what_is_wrong),
    };
    int result = RUN_TESTS(tests);

    unlink(scratch_file());
    return result;
}
