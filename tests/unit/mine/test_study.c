/* SPDX-License-Identifier: MIT */
/* Studies: what was evaluated is kept, never evaluated again, and survives kill -9. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "toy_eval.h"

enum { SEED = 11, MOST = 6, N_WORKLOADS = 2 };

typedef struct place {
    char folder[64], file[96];
} place;

static place new_place(void)
{
    place p;

    snprintf(p.folder, sizeof p.folder, "/tmp/weft-study-XXXXXX");
    CHECK(mkdtemp(p.folder) != NULL);
    snprintf(p.file, sizeof p.file, "%s/study.db", p.folder);
    return p;
}

static void remove_place(const place *p)
{
    static const char *const end[] = {"", "-wal", "-shm", "-journal"};
    char path[128];

    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s%s", p->file, end[i]);
        unlink(path);
    }
    CHECK_INT(rmdir(p->folder), 0);
}

static weft_found mine(const char *name, const weft_objective *q, const weft_eval_cache *l,
                       weft_arena *a)
{
    weft_run run = toy_run(2, 1, a);
    weft_found found;

    CHECK_OK(weft_miner_find(name)->mine(q, l, 0, &run, a, &found));
    return found;
}

static void check_same(const weft_found *x, const weft_found *y)
{
    CHECK(x->value == y->value && x->bound == y->bound && x->throughput == y->throughput);
    CHECK(memcmp(&x->point, &y->point, sizeof x->point) == 0);
    CHECK_INT(x->n_evaluated, y->n_evaluated);
    CHECK_INT(x->n_front, y->n_front);
    for (int i = 0; i < x->n_front; i++) {
        const weft_mined *f = &x->front[i], *g = &y->front[i];

        CHECK(memcmp(&f->point, &g->point, sizeof f->point) == 0);
        CHECK(f->throughput == g->throughput && f->tdp_w == g->tdp_w && f->area_mm2 == g->area_mm2);
    }
}

TEST(what_is_known_is_not_evaluated_again)
{
    place at = new_place();
    weft_arena *a = weft_arena_new();
    toy_objective q = toy_objective_new(SEED, MOST, N_WORKLOADS, 0.3, a);
    weft_study *s = NULL;
    weft_eval_cache l;
    weft_found first, again, other;
    long long n_steps;

    CHECK_OK(weft_study_open(at.file, &s));
    CHECK_OK(weft_study_eval_cache(s, &q.objective, &l));
    first = mine("exhaustive", &q.objective, &l, a);
    CHECK_INT(first.n_recalled, 0);
    n_steps = atomic_load(&q.eval[0]->n_steps);
    CHECK_INT(n_steps, first.n_evaluated);
    weft_study_close(s);

    CHECK_OK(weft_study_open(at.file, &s));
    CHECK_OK(weft_study_eval_cache(s, &q.objective, &l));
    again = mine("exhaustive", &q.objective, &l, a);
    check_same(&first, &again);
    CHECK_INT(again.n_recalled, again.n_evaluated);
    CHECK_INT(atomic_load(&q.eval[0]->n_steps), n_steps);

    /* Another metric and other limits are served by the same seconds. */
    q.objective.metric = WEFT_METRIC_PER_TDP;
    q.objective.least_throughput = 1;
    q.objective.limits.area_mm2 *= 0.8;
    other = mine("certified", &q.objective, &l, a);
    CHECK_INT(other.n_recalled, other.n_evaluated);
    CHECK_INT(atomic_load(&q.eval[0]->n_steps), n_steps);
    weft_study_close(s);
    weft_template_free(q.template_);
    weft_arena_free(a);
    remove_place(&at);
}

TEST(parts_of_a_study_do_not_mix)
{
    place at = new_place();
    weft_arena *a = weft_arena_new();
    toy_objective q = toy_objective_new(SEED, 3, 1, 0, a),
                  r = toy_objective_new(SEED + 2, 3, 1, 0, a);
    weft_study *s = NULL;
    weft_eval_cache l, m, again;
    int64_t index = 0;
    double seconds = 0.125, back = 0;

    CHECK_OK(weft_study_open(at.file, &s));
    CHECK_OK(weft_study_eval_cache(s, &q.objective, &l));
    CHECK_OK(weft_study_eval_cache(s, &r.objective, &m));
    CHECK_OK(l.put(l.context, 1, &index, &seconds));
    CHECK(l.find(l.context, 0, &back) && back == seconds);
    CHECK(!l.find(l.context, 1, &back));
    CHECK(!m.find(m.context, 0, &back));
    CHECK_OK(weft_study_eval_cache(s, &q.objective, &again));
    CHECK(again.find(again.context, 0, &back) && back == seconds);
    weft_study_close(s);
    weft_template_free(q.template_);
    weft_template_free(r.template_);
    weft_arena_free(a);
    remove_place(&at);
}

TEST(a_study_can_be_read_without_its_template)
{
    place at = new_place();
    weft_arena *a = weft_arena_new();
    toy_objective q = toy_objective_new(SEED, 3, N_WORKLOADS, 0, a);
    const weft_study_part *part = NULL;
    weft_study *s = NULL;
    weft_eval_cache l;
    weft_found f;
    int n = 0;

    CHECK_OK(weft_study_open(at.file, &s));
    CHECK_OK(weft_study_eval_cache(s, &q.objective, &l));
    f = mine("exhaustive", &q.objective, &l, a);
    CHECK_OK(weft_study_read(s, a, &n, &part));
    CHECK_INT(n, 1);
    CHECK_TEXT(part->template_name, "toy");
    CHECK_INT(part->n_workloads, N_WORKLOADS);
    CHECK_TEXT(part->workload[1], "b");
    CHECK_NEAR(part->batch[1], 8.0);
    CHECK_INT(part->n_designs, f.n_evaluated);
    for (int i = 0; i < part->n_designs; i++) {
        const weft_study_design *d = &part->design[i];
        weft_design_point p = weft_point_at(q.template_, d->index);

        CHECK(i == 0 || d->index > d[-1].index);
        CHECK(d->area_mm2 == weft_design_point_area_mm2(q.template_, &p));
        CHECK(d->tdp_w == weft_design_point_tdp_w(q.template_, &p));
        CHECK(d->size[WEFT_LANES] == weft_parameter_size(q.template_, &p, WEFT_LANES));
        for (int w = 0; w < N_WORKLOADS; w++)
            CHECK(d->step_s[w] == toy_timer.conflicts(q.eval[w], &p).step_s);
    }
    weft_study_close(s);
    weft_template_free(q.template_);
    weft_arena_free(a);
    remove_place(&at);
}

/* --- files that are no studies --------------------------------------------------------------- */

static void write_text(const char *path, const char *text)
{
    CHECK_OK(weft_file_write(path, text, strlen(text)));
}

TEST(other_files_are_refused_and_left_alone)
{
    place at = new_place();
    weft_study *s = NULL;
    weft_file f;
    char text[200];

    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    write_text(at.file, text);
    CHECK_FAILS(weft_study_open(at.file, &s), "study.db");
    CHECK_OK(weft_file_open(at.file, &f));
    CHECK(f.size == strlen(text) && memcmp(f.data, text, f.size) == 0);
    weft_file_close(&f);
    unlink(at.file);
    CHECK_FAILS(weft_study_open("/no such folder/study.db", &s), "cannot be opened");
    CHECK_FAILS(weft_study_open_to_read(at.file, &s), "cannot be opened");
    write_text(at.file, "");
    CHECK_FAILS(weft_study_open_to_read(at.file, &s), "this file is empty");
    remove_place(&at);
}

/* --- kill -9 --------------------------------------------------------------------------------- */

static int wire = -1; /* of the child: a byte for each evaluation */

static void tell_parent(void)
{
    if (write(wire, "x", 1) != 1)
        _exit(3);
}

static void run_child(const char *file, int out)
{
    weft_arena *a = weft_arena_new();
    toy_objective q = toy_objective_new(SEED, MOST, N_WORKLOADS, 0.3, a);
    weft_study *s = NULL;
    weft_eval_cache l;

    wire = out;
    q.eval[0]->told = tell_parent;
    if (weft_study_open(file, &s) != WEFT_OK ||
        weft_study_eval_cache(s, &q.objective, &l) != WEFT_OK)
        _exit(4);
    (void)mine("exhaustive", &q.objective, &l, a);
    weft_study_close(s);
    _exit(0);
}

/* Starts a search and kills it when it has made about n evaluations; false: it had ended before. */
static bool kill_after(const char *file, int n)
{
    int end[2], status = 0;
    pid_t child;
    char byte;

    CHECK_INT(pipe(end), 0);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close(end[0]);
        run_child(file, end[1]);
    }
    close(end[1]);
    while (n-- > 0 && read(end[0], &byte, 1) == 1)
        continue;
    kill(child, SIGKILL);
    CHECK_INT(waitpid(child, &status, 0), child);
    close(end[0]);
    if (WIFEXITED(status)) {
        CHECK_INT(WEXITSTATUS(status), 0);
        return false;
    }
    return true;
}

/* Once more to the end; says how many designs were known before. */
static int64_t finish(const char *file, const weft_found *expected)
{
    weft_arena *a = weft_arena_new();
    toy_objective q = toy_objective_new(SEED, MOST, N_WORKLOADS, 0.3, a);
    weft_study *s = NULL;
    weft_eval_cache l;
    weft_found found;
    int64_t n_known;

    CHECK_OK(weft_study_open(file, &s));
    CHECK_OK(weft_study_eval_cache(s, &q.objective, &l));
    found = mine("exhaustive", &q.objective, &l, a);
    check_same(expected, &found);
    CHECK_INT(atomic_load(&q.eval[0]->n_steps) + found.n_recalled, found.n_evaluated);
    n_known = found.n_recalled;
    weft_study_close(s);
    weft_template_free(q.template_);
    weft_arena_free(a);
    return n_known;
}

TEST(a_killed_search_ends_where_it_would_have_ended)
{
    enum { N_KILLS = 30 };
    weft_arena *a = weft_arena_new();
    toy_objective q = toy_objective_new(SEED, MOST, N_WORKLOADS, 0.3, a);
    weft_found whole = mine("exhaustive", &q.objective, NULL, a);
    weft_rng r = weft_rng_seed(1);
    int n_killed = 0, n_resumed = 0;

    CHECK(whole.n_evaluated > 300);
    for (int i = 0; i < N_KILLS; i++) {
        place at = new_place();
        int n_times = 1 + i % 3; /* killed again after it was resumed */

        for (int k = 0; k < n_times; k++)
            n_killed += kill_after(at.file, weft_rng_below(&r, (int)whole.n_evaluated / n_times));
        n_resumed += finish(at.file, &whole) > 0;
        remove_place(&at);
    }
    CHECK(n_killed >= 20);
    CHECK(n_resumed >= 10); /* not all had come to their first batch */
    weft_template_free(q.template_);
    weft_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_known_is_not_evaluated_again),
        cmocka_unit_test(parts_of_a_study_do_not_mix),
        cmocka_unit_test(a_study_can_be_read_without_its_template),
        cmocka_unit_test(other_files_are_refused_and_left_alone),
        cmocka_unit_test(a_killed_search_ends_where_it_would_have_ended),
    };

    return RUN_TESTS(tests);
}
