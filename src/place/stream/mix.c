/* SPDX-License-Identifier: MIT */
/* mix.c: items of a stream take different ways, so that data and model parallelism are one choice.
 *
 * A mix gives each mapping a the share of items it carries. The best one is a linear program over
 * all mappings, with lambda_a the items a second that take a:
 *     max sum lambda_a   with   sum lambda_a load_r(a) <= 1 for each resource r,  lambda >= 0.
 * 1. Columns to begin with: every single device, and the mappings of least period (load.c).
 * 2. The program over the columns gives rates and a price pi_r >= 0 for each resource.
 * 3. Pricing: the mapping of least sum of pi_r load_r (priced_mapping.c; else by annealing). Below 1 it is
 *    a new column, and step 2 follows. Else the mix is the best there is.
 * 4. Ways of no share are dropped. Ways whose weights do not fit together are left out, those of
 *    small share first, and the program is solved again over the rest.
 *
 * Bound: for any prices, every mapping has priced load >= v, the value of an exact pricing; and
 * sum lambda_a v <= sum lambda_a sum pi_r load_r(a) <= sum pi_r. So the period of every mix is at
 * least v / sum pi_r. The largest of all rounds is kept. Where transfers do not count, prices of
 * devices prove it to anybody (bound_load.c).
 *
 * Exact if the pricing is and memory is no limit; else a heuristic with that bound. Deterministic.
 * Linear programming by columns: Gilmore and Gomory, Operations Research 9(6), 1961. */
#include "mix.h"

#include "opt.h"
#include "priced_mapping.h"

#include <math.h>
#include <string.h>

enum { MOST_ROUNDS = 400, MOST_COLUMNS = 600, PRICING_STEPS = 20000 };
static const double EXACT = 1e-10; /* of the priced load 1 */
static const double NO_SHARE = 1e-9;

typedef struct column {
    int *device;    /* [n_tasks] */
    double *load_s; /* [n_resources] */
    double *start_s;
    double rate; /* items a second in the last program */
    bool is_out; /* does not fit with others */
} column;

typedef struct mixing {
    const weft_domain *domain;
    weft_problem alone; /* limits of a way by itself: no least rate */
    weft_domain alone_domain;
    weft_mapping map;
    WEFT_VEC(column) columns;
    double *price; /* [n_resources] */
    double scale_s;
    double rate; /* of all columns */
    double bound_s;
    weft_run *run;
    weft_proof *proof;
    weft_arena *a;
} mixing;

/* --- columns --------------------------------------------------------------------------------- */

/* Adds a mapping unless it is there, cannot run, or does not keep memory and deadline by itself. */
static bool add_column(mixing *x, const int *device)
{
    const weft_problem *p = x->domain->problem;
    size_t bytes = (size_t)p->n_tasks * sizeof *device;
    weft_plan plan;
    column c = {0};

    for (int i = 0; i < x->columns.n; i++)
        if (memcmp(x->columns.at[i].device, device, bytes) == 0)
            return false;
    weft_mapping_set(&x->map, device);
    if (x->map.n_cut > 0 || x->map.n_over > 0 || x->columns.n == MOST_COLUMNS)
        return false;
    plan = weft_plan_new(p->n_tasks, x->a);
    if (!weft_mapping_try(&x->alone_domain, device, x->a, &plan).is_legal)
        return false;
    c.device = plan.device;
    c.start_s = plan.start_s;
    c.load_s = weft_arena_copy(x->a, x->map.load_s, (size_t)x->map.n_resources * sizeof(double));
    WEFT_PUSH(x->a, x->columns, c);
    return true;
}

static void add_singles(mixing *x)
{
    const weft_problem *p = x->domain->problem;
    int *device = WEFT_NEW(x->a, int, p->n_tasks);

    for (int d = 0; d < p->n_devices; d++) {
        for (int u = 0; u < p->n_tasks; u++)
            device[u] = d;
        if (weft_domain_has_all(x->domain, d))
            add_column(x, device);
    }
}

/* --- the program ----------------------------------------------------------------------------- */

static weft_milp *build(const mixing *x)
{
    weft_milp *m = weft_milp_new("mix");
    int n_resources = x->map.n_resources;

    for (int r = 0; r < n_resources; r++)
        weft_milp_row(m, NULL, -INFINITY, 1);
    for (int i = 0; i < x->columns.n; i++) {
        const column *c = &x->columns.at[i];
        int k = weft_milp_column(m, NULL, 0, c->is_out ? 0 : INFINITY, -1, false);

        for (int r = 0; r < n_resources; r++)
            if (c->load_s[r] > 0)
                weft_milp_term(m, r, k, c->load_s[r] / x->scale_s);
    }
    return m;
}

/* Rates of the columns and prices of the resources. False: the engine has no answer, or its library
 * is missing. */
static weft_status solve_program(mixing *x, bool *is_solved)
{
    weft_milp_options o = {
        .limit_s = weft_run_left_s(x->run), .is_relaxed = true, .stop = x->run->stop};
    weft_milp_result r;
    weft_milp *m = build(x);
    weft_arena *a = weft_arena_new();
    weft_status status = weft_milp_solve(m, &o, a, &r);

    *is_solved = status == WEFT_OK && r.outcome == WEFT_MILP_OPTIMAL && r.x != NULL;
    if (*is_solved) {
        x->rate = 0;
        for (int i = 0; i < x->columns.n; i++) {
            x->columns.at[i].rate = fmax(0, r.x[i]) / x->scale_s;
            x->rate += x->columns.at[i].rate;
        }
        for (int k = 0; k < x->map.n_resources; k++)
            x->price[k] = r.dual != NULL ? fmax(0, -r.dual[k]) / x->scale_s : 0;
    }
    weft_arena_free(a);
    weft_milp_free(m);
    return status == WEFT_E_SYSTEM ? WEFT_OK : status;
}

/* --- pricing --------------------------------------------------------------------------------- */

/* Prices of devices are a certificate of their own where transfers do not count. */
static void certify(mixing *x, double sum)
{
    const weft_problem *p = x->domain->problem;
    double *price, value;

    if (x->map.is_sending)
        return;
    price = WEFT_NEW(x->a, double, p->n_devices);
    for (int d = 0; d < p->n_devices; d++)
        price[d] = x->price[d] / sum;
    value = weft_load_bound_of(p, price);
    if (!(value > x->proof->certified))
        return;
    x->proof->price = price;
    x->proof->certified = value;
}

/* The cheapest mapping into `device`; *is_exact: none is cheaper. Raises the bound. */
static double price_mapping(mixing *x, int *device, bool *is_exact)
{
    double sum = 0, value = INFINITY;

    for (int r = 0; r < x->map.n_resources; r++)
        sum += x->price[r];
    *is_exact = weft_priced_mapping_exact(&x->map, x->price, x->a, device, &value);
    if (*is_exact && sum > 0 && value / sum > x->bound_s) {
        x->bound_s = value / sum;
        certify(x, sum);
    }
    return value;
}

/* A cheap mapping that keeps memory, by annealing from the one in `device`. */
static double search_mapping(mixing *x, int *device, uint64_t seed)
{
    weft_load_task task = {.domain = x->domain,
                           .price = x->price,
                           .heat = 0.05,
                           .steps = PRICING_STEPS,
                           .seed = seed,
                           .run = x->run};

    weft_load_search(&task, device, NULL, x->a);
    weft_mapping_set(&x->map, device);
    return weft_mapping_cost(&x->map, x->price);
}

/* Adds a column that may make the mix better; false: none is found. */
static bool improve(mixing *x, int round, int *device)
{
    const weft_problem *p = x->domain->problem;
    int most = 0;
    bool is_exact;
    double value = price_mapping(x, device, &is_exact);

    if (is_exact && (value >= 1 - EXACT || add_column(x, device)))
        return value < 1 - EXACT;
    for (int i = 1; i < x->columns.n; i++)
        if (x->columns.at[i].rate > x->columns.at[most].rate)
            most = i;
    if (!is_exact)
        memcpy(device, x->columns.at[most].device, (size_t)p->n_tasks * sizeof *device);
    value = search_mapping(x, device, (uint64_t)x->run->seed + (uint64_t)round);
    return value < 1 - 1e-7 && add_column(x, device);
}

static weft_status generate(mixing *x)
{
    int *device = WEFT_NEW(x->a, int, x->domain->problem->n_tasks);
    bool is_solved = true;

    for (int round = 0; round < MOST_ROUNDS && !weft_run_is_over(x->run); round++) {
        WEFT_TRY(solve_program(x, &is_solved));
        if (!is_solved)
            return WEFT_OK;
        if (x->run->progress != NULL)
            x->run->progress(x->run->context, 1 / x->rate, x->bound_s);
        if (!improve(x, round, device))
            return WEFT_OK;
    }
    return solve_program(x, &is_solved);
}

/* --- the plan -------------------------------------------------------------------------------- */

/* Columns that carry something, as a plan; shares by their rates. */
static weft_plan plan_of(const mixing *x, weft_arena *a)
{
    size_t n = (size_t)x->domain->problem->n_tasks;
    int n_variants = 0;
    weft_plan plan;
    double sum = 0;

    for (int i = 0; i < x->columns.n; i++)
        if (!x->columns.at[i].is_out && x->columns.at[i].rate > NO_SHARE * x->rate) {
            n_variants++;
            sum += x->columns.at[i].rate;
        }
    plan = weft_plan_new_variants((int)n, n_variants > 0 ? n_variants : 1, a);
    n_variants = 0;
    for (int i = 0; i < x->columns.n; i++) {
        const column *c = &x->columns.at[i];

        if (c->is_out || !(c->rate > NO_SHARE * x->rate))
            continue;
        memcpy(plan.device + (size_t)n_variants * n, c->device, n * sizeof *plan.device);
        memcpy(plan.start_s + (size_t)n_variants * n, c->start_s, n * sizeof *plan.start_s);
        plan.share[n_variants++] = c->rate / sum;
    }
    return plan;
}

/* Does the mix keep all memories and limits? INFINITY: no; else its period. */
static double period_of(const mixing *x, weft_plan *plan)
{
    weft_arena *a = weft_arena_new();
    weft_measures m;
    double period_s = INFINITY;

    if (weft_evaluate(x->domain->problem, plan, a, &m) == WEFT_OK && m.over_device < 0 &&
        weft_constraints_allow(&x->alone.constraints, m.makespan_s, 0))
        period_s = m.period_s;
    weft_arena_free(a);
    return period_s;
}

/* Columns by falling rate, then by number, `first` before all. */
static int *by_rate(const mixing *x, int first)
{
    int *order = WEFT_NEW(x->a, int, x->columns.n);

    for (int i = 0; i < x->columns.n; i++) {
        int at = i;

        for (;
             at > 0 && (i == first || (order[at - 1] != first &&
                                       x->columns.at[i].rate > x->columns.at[order[at - 1]].rate));
             at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    return order;
}

/* Leaves columns out until the rest fits together. `first` is kept for sure. */
static void fit(mixing *x, int first)
{
    const int *order = by_rate(x, first);

    for (int i = 0; i < x->columns.n; i++)
        x->columns.at[i].is_out = true;
    for (int i = 0; i < x->columns.n; i++) {
        column *c = &x->columns.at[order[i]];
        weft_plan plan;

        if (i > 0 && !(c->rate > NO_SHARE * x->rate))
            continue;
        c->is_out = false;
        c->rate = fmax(c->rate, 1e-3 * x->rate); /* any share: memory does not depend on it */
        plan = plan_of(x, x->a);
        if (!(period_of(x, &plan) < INFINITY))
            c->is_out = true;
    }
}

/* The column of least period alone: one way. */
static int best_alone(const mixing *x)
{
    int best = 0;
    double least_s = INFINITY;

    for (int i = 0; i < x->columns.n; i++) {
        double most_s = 0;

        for (int r = 0; r < x->map.n_resources; r++)
            most_s = fmax(most_s, x->columns.at[i].load_s[r]);
        if (most_s < least_s) {
            least_s = most_s;
            best = i;
        }
    }
    return best;
}

/* The better of two choices of ways that fit together. */
static weft_status choose(mixing *x, weft_plan *plan)
{
    double least_s = INFINITY, *rate = WEFT_NEW(x->a, double, x->columns.n);
    int first[2] = {-1, best_alone(x)};
    double all = x->rate;

    for (int i = 0; i < x->columns.n; i++)
        rate[i] = x->columns.at[i].rate;
    for (int k = 0; k < 2; k++) {
        weft_plan trial;
        bool is_solved;
        double period_s;

        for (int i = 0; i < x->columns.n; i++)
            x->columns.at[i].rate = rate[i];
        x->rate = all;
        fit(x, first[k]);
        WEFT_TRY(solve_program(x, &is_solved));
        if (!is_solved)
            continue;
        trial = plan_of(x, x->a);
        period_s = period_of(x, &trial);
        if (period_s < least_s * (1 - 1e-12)) {
            least_s = period_s;
            *plan = trial;
            x->proof->outcome = WEFT_BOUNDED;
        }
    }
    return WEFT_OK;
}

/* The ways that the last program gives rates, as far as they fit together. */
static weft_status take_ways(mixing *x, weft_plan *plan)
{
    weft_plan all;

    if (!(x->rate > 0)) /* no program was solved: all items go the best single way */
        x->columns.at[best_alone(x)].rate = x->rate = 1;
    all = plan_of(x, x->a);
    if (period_of(x, &all) < INFINITY) {
        *plan = all;
        x->proof->outcome = WEFT_BOUNDED;
        return WEFT_OK;
    }
    return choose(x, plan);
}

static weft_status mix(mixing *x, weft_plan *plan)
{
    WEFT_TRY(generate(x));
    return take_ways(x, plan);
}

static mixing new_mixing(const weft_domain *m, weft_run *run, weft_proof *proof)
{
    mixing x = {.domain = m,
                .alone = *m->problem,
                .alone_domain = *m,
                .map = weft_mapping_new(m, run->scratch),
                .run = run,
                .proof = proof,
                .a = run->scratch};

    weft_load_bound(m, run->scratch, proof);
    proof->certified = x.bound_s = proof->bound;
    x.alone.constraints.most_period_s = 0;
    x.price = WEFT_NEW(x.a, double, x.map.n_resources);
    return x;
}

/* False: there are no columns. */
static bool set_scale(mixing *x)
{
    if (x->columns.n == 0)
        return false;
    for (int r = 0; r < x->map.n_resources; r++)
        x->scale_s = fmax(x->scale_s, x->columns.at[0].load_s[r]);
    if (!(x->scale_s > 0)) /* nothing takes time */
        x->scale_s = 1;
    return true;
}

weft_status weft_mix_solve(const weft_domain *m, const weft_candidates *found, weft_run *run,
                           weft_plan *plan, weft_proof *proof)
{
    mixing x = new_mixing(m, run, proof);
    weft_status status;

    x.alone_domain.problem = &x.alone;
    for (int i = 0; i < found->n; i++)
        add_column(&x, found->device[i]);
    add_singles(&x);
    if (!set_scale(&x)) {
        proof->reason = "no way that keeps memory and deadline was found";
        return WEFT_OK;
    }
    status = mix(&x, plan);
    if (x.bound_s > proof->bound) {
        bool is_certified = proof->certified >= x.bound_s * (1 - 1e-9);

        proof->bound = is_certified ? proof->certified : x.bound_s;
        proof->method = is_certified ? "load" : "search";
    }
    return status;
}

weft_status weft_replicas_solve(const weft_domain *m, weft_run *run, weft_plan *plan,
                                weft_proof *proof)
{
    mixing x = new_mixing(m, run, proof);
    bool is_solved;

    x.alone_domain.problem = &x.alone;
    add_singles(&x);
    if (!set_scale(&x)) {
        proof->reason = "no device holds the whole network and keeps the deadline";
        return WEFT_OK;
    }
    WEFT_TRY(solve_program(&x, &is_solved));
    return take_ways(&x, plan);
}
