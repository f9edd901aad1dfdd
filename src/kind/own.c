/* SPDX-License-Identifier: MIT */
/* own.c: solvers of users: a program that reads the problem and writes decisions (any kind whose
 * decisions weft simulate takes), or a library with a weft_solver (placement).
 *
 * 1. It runs in a process of its own, with the time limit, and nothing of it stays behind. A library
 *    is loaded there, too, and decides into memory that both see.
 * 2. Its decisions go the way of those in a file: read, decided, simulated, checked.
 * 3. The bound is the one that needs no search: what a solver of somebody else says of its plan
 *    proves nothing, and a value that differs from the simulator's is an error.
 *
 * A plan that exceeds a memory or a limit is no plan, as with every solver. Everything else that is
 * wrong is the solver's fault: one line that names it. */
#define _POSIX_C_SOURCE 200809L
#include "own.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "dynload.h"
#include "own_solver.h"
#include "plan_head.h"
#include "subprocess.h"

static const char exec[] = "exec:";
enum { EXEC = sizeof exec - 1, MOST_WORDS = 64, MOST_BYTES = 64 << 20, MESSAGE_BYTES = 256 };
static const double GRACE_S = 1; /* behind the time limit, before it is killed */

static bool is_program(const char *solver)
{
    return strncmp(solver, exec, EXEC) == 0;
}

static bool is_library(const char *solver)
{
    size_t n = strlen(solver);

    return !is_program(solver) && n > 3 && strcmp(solver + n - 3, ".so") == 0;
}

bool weft_own_is(const char *solver)
{
    return is_program(solver) || is_library(solver);
}

weft_status weft_own_check(const weft_kind *k, const char *solver)
{
    if (is_program(solver) && solver[EXEC] == '\0')
        return weft_fail(WEFT_E_INPUT, "--solver is 'exec:', expected a program behind it");
    if (k->take == NULL)
        return weft_fail(WEFT_E_INPUT,
                         "solver '%s': solvers of your own are for place, shard and "
                         "train",
                         solver);
    if (is_library(solver) && k->ask != NULL)
        return weft_fail(WEFT_E_INPUT,
                         "solver '%s': a library decides placements only, expected exec:PROGRAM",
                         solver);
    return WEFT_OK;
}

const char *weft_own_name(const char *solver, weft_arena *a)
{
    const char *file = is_program(solver) ? solver + EXEC : solver;
    const char *end = is_program(solver) && access(file, F_OK) != 0 ? file + strcspn(file, " ")
                                                                    : file + strlen(file);
    const char *name = end;

    while (name > file && name[-1] != '/')
        name--;
    return weft_arena_print(a, "%s%.*s", is_program(solver) ? exec : "", (int)(end - name), name);
}

/* --- its end --------------------------------------------------------------------------------- */

/* What is wrong with the way it ended; WEFT_OK: nothing. */
static weft_status check_end(const char *name, const weft_child_end *end, double limit_s)
{
    const char *colon = *end->complaint ? ": " : "";

    switch (end->fate) {
    case WEFT_CHILD_MISSING:
        return weft_fail(WEFT_E_INPUT, "solver %s cannot be started: %s", name,
                         strerror(end->code));
    case WEFT_CHILD_CRASHED:
        return weft_fail(WEFT_E_INPUT, "solver %s crashed with signal %d (%s)%s%s", name, end->code,
                         strsignal(end->code), colon, end->complaint);
    case WEFT_CHILD_LATE:
        return weft_fail(WEFT_E_INPUT, "solver %s did not end within its time limit of %.3g s",
                         name, limit_s);
    case WEFT_CHILD_TOO_LOUD:
        return weft_fail(WEFT_E_INPUT, "solver %s printed more than %d MB", name, MOST_BYTES >> 20);
    case WEFT_CHILD_STOPPED:
        return weft_fail(WEFT_E_INPUT, "solver %s was stopped", name);
    case WEFT_CHILD_ENDED:
        break;
    }
    if (end->code != 0)
        return weft_fail(WEFT_E_INPUT, "solver %s ended with exit code %d%s%s", name, end->code,
                         colon, end->complaint);
    return WEFT_OK;
}

/* --- judgement ------------------------------------------------------------------------------- */

typedef struct own {
    const weft_kind *k;
    const weft_opened *p;
    const char *solver, *name;
    const weft_run *run;
    weft_arena *a;
    void *solution;
} own;

/* No plan, and why. */
static weft_status drop(const own *x, const char *reason)
{
    weft_proof *proof;

    memset(x->solution, 0, x->k->solution_size);
    proof = x->k->proof(x->solution);
    x->k->floor(x->p, x->a, proof);
    proof->outcome = WEFT_UNKNOWN;
    proof->value = proof->gap = INFINITY;
    proof->reason = reason;
    return WEFT_OK;
}

/* Simulates what is decided. */
static weft_status judge(const own *x, weft_wrongs *w)
{
    weft_violation list;
    weft_proof *proof = x->k->proof(x->solution);

    if (x->k->evaluate(x->p, x->solution, x->a) != WEFT_OK)
        return weft_fail(WEFT_E_INPUT, "the plan of solver %s cannot run: %s", x->name,
                         weft_arena_word(x->a, weft_message()));
    x->k->refuse(x->p, x->solution, w);
    if (w->n > 0)
        return drop(x, w->line[0]);
    if (x->k->violations(x->p, x->solution, &list, 1, x->a) > 0)
        return weft_fail(WEFT_E_INPUT, "the plan of solver %s is not legal: %s", x->name,
                         list.what);
    x->k->floor(x->p, x->a, proof);
    proof->outcome = WEFT_BOUNDED;
    return weft_proof_settle(proof, x->k->value(x->p, x->solution), x->name);
}

/* --- programs -------------------------------------------------------------------------------- */

/* "exec:python3 mine.py" has two words, unless there is a file of that name. */
static weft_status read_words(const own *x, const char **word)
{
    const char *at = x->solver + EXEC;
    int n = 0;

    if (access(at, F_OK) == 0) {
        word[0] = strchr(at, '/') ? at : weft_arena_print(x->a, "./%s", at);
        word[1] = NULL;
        return WEFT_OK;
    }
    for (at += strspn(at, " "); *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");

        if (n == MOST_WORDS)
            return weft_fail(WEFT_E_INPUT, "solver %s has more than %d words", x->name, MOST_WORDS);
        word[n++] = weft_arena_text(x->a, at, length);
        at += length;
    }
    word[n] = NULL;
    return n > 0 ? WEFT_OK : weft_fail(WEFT_E_INPUT, "--solver is 'exec:' without a program");
}

static weft_status run_program(const own *x, weft_child_end *out)
{
    const char *word[MOST_WORDS + 1];
    weft_child c = {.word = word,
                    .limit_s = weft_run_left_s(x->run),
                    .grace_s = GRACE_S,
                    .most_bytes = MOST_BYTES,
                    .stop = x->run->stop};
    weft_doc *problem;
    const char *text;

    WEFT_TRY(read_words(x, word));
    WEFT_TRY(weft_own_problem(x->k, x->p, x->run, x->a, &problem));
    text = weft_doc_json(problem, 1, x->a);
    c.input = (weft_bytes){text, strlen(text)};
    c.limit_s = weft_run_left_s(x->run);
    WEFT_TRY(weft_child_run(&c, x->a, out));
    return check_end(x->name, out, c.limit_s);
}

static weft_doc *no_doc(const weft_doc *d)
{
    return (weft_doc *)(uintptr_t)d;
}

/* The answer as a file of decisions about this problem. */
static weft_status complete(const own *x, const weft_doc *answer, const weft_doc **out)
{
    static const char *const keys[] = {"schema", "kind", "model", "platform",  "goal",  "semantics",
                                       "ask",    "sets", "steps", "decisions", "order", "value"};
    static const char *const taken[] = {"sets", "steps", "decisions", "order"};
    const char *schema, *kind;
    weft_doc *d = weft_doc_new(x->a, WEFT_DOC_MAP);

    WEFT_TRY(weft_doc_text(answer, "schema", &schema));
    if (strcmp(schema, "weft.decisions/1") != 0)
        return weft_doc_fail(answer, "schema is '%s', expected 'weft.decisions/1'", schema);
    WEFT_TRY(weft_doc_known_keys(answer, keys, (int)(sizeof keys / sizeof *keys)));
    if (weft_doc_get(answer, "kind") != NULL) {
        WEFT_TRY(weft_doc_text(answer, "kind", &kind));
        if (strcmp(kind, x->k->name) != 0)
            return weft_doc_fail(answer, "kind is '%s', expected '%s'", kind, x->k->name);
    }
    d->file = answer->file;
    d->line = answer->line;
    weft_put_text(x->a, d, "schema", "weft.decisions/1");
    weft_put_text(x->a, d, "kind", x->k->name);
    weft_put_text(x->a, d, "model", x->name);
    weft_put_text(x->a, d, "platform", x->name);
    if (x->k->ask != NULL)
        weft_doc_put(x->a, d, "ask", x->k->ask(x->p, x->a));
    for (int i = 0; i < d->n; i++)
        d->item[i]->file = answer->file;
    for (int i = 0; i < 4; i++)
        if (weft_doc_get(answer, taken[i]) != NULL)
            weft_doc_put(x->a, d, taken[i], no_doc(weft_doc_get(answer, taken[i])));
    return weft_decisions_complete(d, x->a, out);
}

/* A program may say what its plan is worth; then it must be so. */
static weft_status check_claim(const own *x, const weft_doc *answer)
{
    const weft_proof *proof = x->k->proof(x->solution);
    double claimed;

    if (weft_doc_get(answer, "value") == NULL || !weft_has_plan(proof))
        return WEFT_OK;
    WEFT_TRY(weft_doc_real(answer, "value", 0, INFINITY, &claimed));
    if (fabs(claimed - proof->value) <= WEFT_NEAR * fmax(claimed, proof->value))
        return WEFT_OK;
    return weft_fail(WEFT_E_INPUT,
                     "solver %s says that its plan takes %.12g s, the simulator finds %.12g s",
                     x->name, claimed, proof->value);
}

static weft_status take_answer(const own *x, const weft_child_end *end)
{
    const char *file = weft_arena_print(x->a, "answer of solver %s", x->name);
    const weft_doc *answer = NULL, *plan, *decisions;
    weft_wrongs w = weft_wrongs_new(x->a);
    weft_kind_file f;

    if (end->n == 0)
        return weft_fail(WEFT_E_INPUT, "solver %s printed nothing, expected weft.decisions/1",
                         x->name);
    WEFT_TRY(weft_doc_parse(end->output, end->n, file, x->a, &answer));
    decisions = answer->kind == WEFT_DOC_MAP ? weft_doc_get(answer, "decisions") : NULL;
    if (decisions != NULL && decisions->kind == WEFT_DOC_NULL)
        return drop(x, weft_arena_print(x->a, "solver %s found none", x->name));
    WEFT_TRY(complete(x, answer, &plan));
    WEFT_TRY(x->k->take(plan, x->a, &f));
    if (!x->k->decide(&f, x->p, &w, x->solution))
        return weft_fail(WEFT_E_INPUT, "%s: %s", file, w.n > 0 ? w.line[0] : "it decides nothing");
    WEFT_TRY(judge(x, &w));
    return check_claim(x, answer);
}

/* --- libraries ------------------------------------------------------------------------------- */

/* What the copy writes for the caller; device, start_s and is_decided lie behind it. */
typedef struct shared {
    int n_decided, status;
    bool is_wrong, has_returned;
    char message[MESSAGE_BYTES];
} shared;

typedef struct call {
    const own *x;
    shared *to;
    weft_decisions decisions;
} call;

static size_t shared_bytes(int n_tasks)
{
    return sizeof(shared) + (size_t)n_tasks * (sizeof(double) + sizeof(int) + sizeof(bool)) + 64;
}

static void map_decisions(shared *s, int n_tasks, weft_decisions *out)
{
    char *at = (char *)s + (sizeof *s + 15) / 16 * 16;

    *out = (weft_decisions){.n_tasks = n_tasks};
    out->start_s = (double *)(void *)at;
    out->device = (int *)(void *)(at + (size_t)n_tasks * sizeof(double));
    out->is_decided = (bool *)(void *)(at + (size_t)n_tasks * (sizeof(double) + sizeof(int)));
}

/* In the copy. */
static void call_library(void *context)
{
    call *c = context;
    const weft_solver_definition *definition;
    const weft_instance instance = {((const weft_case *)c->x->p->of_kind)->problem, c->x->run};
    const char *file =
        strchr(c->x->solver, '/') ? c->x->solver : weft_arena_print(c->x->a, "./%s", c->x->solver);

    if (weft_dynload_symbol(file, "weft_solver", (const void **)&definition) != WEFT_OK) {
        snprintf(c->to->message, sizeof c->to->message, "%s", weft_message());
        return;
    }
    if (definition->solve == NULL) {
        snprintf(c->to->message, sizeof c->to->message, "its weft_solver has no function");
        return;
    }
    c->to->status = (int)definition->solve(definition->context, &instance, &c->decisions);
    c->to->n_decided = c->decisions.n_decided;
    c->to->is_wrong = c->decisions.is_wrong;
    c->to->has_returned = true;
}

static weft_status check_decisions(const own *x, const call *c, const weft_problem *p)
{
    const weft_decisions *d = &c->decisions;

    if (*c->to->message != '\0')
        return weft_fail(WEFT_E_INPUT, "solver %s cannot be loaded: %s", x->name, c->to->message);
    if (!c->to->has_returned)
        return weft_fail(WEFT_E_INPUT, "solver %s ended by itself before it returned", x->name);
    if (c->to->status != WEFT_OK)
        return weft_fail(WEFT_E_INPUT, "solver %s failed with status %d", x->name, c->to->status);
    if (c->to->is_wrong)
        return weft_fail(WEFT_E_INPUT, "solver %s decided about a task that there is not", x->name);
    for (int u = 0; u < p->n_tasks && c->to->n_decided > 0; u++) {
        if (!d->is_decided[u])
            return weft_fail(WEFT_E_INPUT, "solver %s left task '%s' without a device", x->name,
                             p->task_name[u]);
        if (d->device[u] < 0 || d->device[u] >= p->n_devices)
            return weft_fail(WEFT_E_INPUT, "solver %s put task '%s' on device %d of %d", x->name,
                             p->task_name[u], d->device[u], p->n_devices);
        if (!isfinite(d->start_s[u]))
            return weft_fail(WEFT_E_INPUT, "solver %s starts task '%s' at %g seconds", x->name,
                             p->task_name[u], d->start_s[u]);
    }
    return WEFT_OK;
}

static weft_status take_decisions(const own *x, const call *c, const weft_problem *p)
{
    weft_plan plan = weft_plan_new(p->n_tasks, x->a);
    weft_wrongs w = weft_wrongs_new(x->a);

    WEFT_TRY(check_decisions(x, c, p));
    if (c->to->n_decided == 0)
        return drop(x, weft_arena_print(x->a, "solver %s found none", x->name));
    memcpy(plan.device, c->decisions.device, (size_t)p->n_tasks * sizeof *plan.device);
    memcpy(plan.start_s, c->decisions.start_s, (size_t)p->n_tasks * sizeof *plan.start_s);
    ((weft_solution *)x->solution)->plan = plan;
    return judge(x, &w);
}

static weft_status run_library(const own *x)
{
    const weft_problem *p = ((const weft_case *)x->p->of_kind)->problem;
    call c = {.x = x, .to = weft_subprocess_memory(shared_bytes(p->n_tasks))};
    weft_child job = {.job = call_library,
                      .context = &c,
                      .limit_s = weft_run_left_s(x->run),
                      .grace_s = GRACE_S,
                      .most_bytes = MOST_BYTES,
                      .stop = x->run->stop};
    weft_child_end end;
    weft_status status;

    if (c.to == NULL)
        return weft_fail(WEFT_E_SYSTEM, "no memory for solver %s", x->name);
    map_decisions(c.to, p->n_tasks, &c.decisions);
    status = weft_child_run(&job, x->a, &end);
    if (status == WEFT_OK)
        status = check_end(x->name, &end, job.limit_s);
    if (status == WEFT_OK)
        status = take_decisions(x, &c, p);
    weft_subprocess_release(c.to, shared_bytes(p->n_tasks));
    return status;
}

weft_status weft_own_solve(const weft_kind *k, const weft_opened *p, const char *solver,
                           const weft_run *run, weft_arena *a, void *solution)
{
    weft_run mine = *run;
    own x = {k, p, solver, weft_own_name(solver, a), &mine, a, solution};
    weft_child_end end;

    mine.begin_s = weft_wall_s();
    memset(solution, 0, k->solution_size);
    if (is_library(solver))
        return run_library(&x);
    WEFT_TRY(run_program(&x, &end));
    return take_answer(&x, &end);
}
