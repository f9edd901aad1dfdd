/* SPDX-License-Identifier: MIT */
/* Systolic cycles against arrays that are stepped cycle by cycle and register by register.
 *
 * A unit of the array sees, in a cycle, only registers of its neighbours as they were at the end of
 * the cycle before; the borders feed data from outside. Nothing here knows the formula: the array
 * runs until the last result has left it, and its results must be the product. */

#include "check.h"

#include "arrays.h"

enum { MOST = 16, MOST_SIDE = 6, MOST_PRODUCTS = 3 };

typedef struct matrix {
    int at[MOST][MOST];
} matrix;

/* What the model says of a GEMM M x N x K on one array. */
static double systolic_cycles(int64_t m, int64_t n, int64_t k, int64_t rows, int64_t cols,
                              weft_dataflow dataflow)
{
    weft_array a = {(double)rows, (double)cols, 1, 1, dataflow, INFINITY, 0, INFINITY};
    weft_layer l = {1, 1, n, k, m, 1, 1, 1, 1};

    return weft_array_cycles(&a, &l);
}

/* `count` products left (m x k) * right (k x n). */
typedef struct products {
    int count, m, n, k;
    matrix left[MOST_PRODUCTS], right[MOST_PRODUCTS], result[MOST_PRODUCTS];
} products;

/* Data that moves from register to register. */
typedef struct word {
    bool is_valid, is_first, is_last;
    int value, row, fold;
} word;

typedef struct unit {
    word right, down; /* on their way through the array */
    word load;        /* stationary data on its way down to its row */
    word leaving;     /* a finished sum on its way down */
    int held, next;   /* stationary operand, and the one that was loaded behind it */
    int sum;
} unit;

typedef struct machine {
    products *p;
    int rows, cols;
    int row_folds, col_folds, n_folds;
    int period; /* cycles between the starts of two folds */
    int cycle, n_left;
    int n_out[MOST_SIDE];    /* results that a column has delivered */
    int draining[MOST_SIDE]; /* last fold of the column whose sums may leave */
    unit now[MOST_SIDE][MOST_SIDE], old[MOST_SIDE][MOST_SIDE];
} machine;

static int blocks(int a, int b)
{
    return (a + b - 1) / b;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static int between(weft_rng *rng, int low, int high)
{
    return low + weft_rng_below(rng, high - low + 1);
}

/* `on_rows` and `on_cols`: the dimensions that lie on the array; `streamed`: the third one. */
static machine machine_of(products *p, int rows, int cols, const int size[3])
{
    int on_rows = size[0], on_cols = size[1], streamed = size[2];
    machine m = {.p = p, .rows = rows, .cols = cols};

    m.row_folds = blocks(on_rows, rows);
    m.col_folds = blocks(on_cols, cols);
    m.n_folds = p->count * m.row_folds * m.col_folds;
    m.period = larger(streamed, rows); /* a side feeds one thing at a time */
    for (int j = 0; j < cols; j++)
        m.draining[j] = -1;
    return m;
}

/* Where a fold is: which product, and which corner of the dimensions that lie on the array. */
typedef struct corner {
    int product, row, col;
} corner;

static corner corner_of(const machine *m, int fold)
{
    int inside = fold % (m->row_folds * m->col_folds);

    return (corner){fold / (m->row_folds * m->col_folds), inside / m->col_folds * m->rows,
                    inside % m->col_folds * m->cols};
}

/* What a border feeds `late` cycles after the start: step `*step` of fold `*fold`; false: nothing.
 */
static bool feeds(const machine *m, int late, int n_steps, int *fold, int *step)
{
    int t = m->cycle - late;

    *fold = t >= 0 ? t / m->period : 0;
    *step = t >= 0 ? t % m->period : 0;
    return t >= 0 && *fold < m->n_folds && *step < n_steps;
}

/* --- weight stationary: k on the rows, n on the columns, m streamed from the left, sums move down.
 * Weights enter at the top, a row a cycle and a cycle later a column, and wait in the second
 * register until the first element of their fold comes by. */

static word next_row_element(const machine *m, int i)
{
    int fold, row;
    corner at;

    if (!feeds(m, m->rows + i, m->p->m, &fold, &row)) /* rows: until the first weights are there */
        return (word){0};
    at = corner_of(m, fold);
    return (word){.is_valid = true,
                  .is_first = row == 0,
                  .value = at.row + i < m->p->k ? m->p->left[at.product].at[row][at.row + i] : 0};
}

static word next_weight(const machine *m, int j)
{
    int fold, row;
    corner at;
    bool is_inside;

    if (!feeds(m, j, m->rows, &fold, &row))
        return (word){0};
    at = corner_of(m, fold);
    is_inside = at.row + row < m->p->k && at.col + j < m->p->n;
    return (word){.is_valid = true,
                  .row = row,
                  .value = is_inside ? m->p->right[at.product].at[at.row + row][at.col + j] : 0};
}

static void step_weight_unit(machine *m, int i, int j)
{
    unit *u = &m->now[i][j];
    word x = j > 0 ? m->old[i][j - 1].right : next_row_element(m, i);
    word load = i > 0 ? m->old[i - 1][j].load : next_weight(m, j);
    int above = i > 0 ? m->old[i - 1][j].down.value : 0;

    if (x.is_first)
        u->held = m->old[i][j].next;
    u->right = x;
    u->down = (word){.is_valid = x.is_valid, .value = above + u->held * x.value};
    u->load = load;
    if (load.is_valid && load.row == i)
        u->next = load.value;
}

/* Results come out of a column in the order in which rows went in. */
static void collect_sum(machine *m, int j)
{
    word out = m->now[m->rows - 1][j].down;
    corner at = corner_of(m, m->n_out[j] / m->p->m);

    if (!out.is_valid)
        return;
    if (at.col + j < m->p->n)
        m->p->result[at.product].at[m->n_out[j] % m->p->m][at.col + j] += out.value;
    m->n_out[j]++;
    m->n_left--;
}

static int run_weight_stationary(products *p, int rows, int cols)
{
    machine m = machine_of(p, rows, cols, (const int[]){p->k, p->n, p->m});

    m.n_left = m.n_folds * p->m * cols;
    for (; m.n_left > 0; m.cycle++) {
        memcpy(m.old, m.now, sizeof m.old);
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < cols; j++)
                step_weight_unit(&m, i, j);
        for (int j = 0; j < cols; j++)
            collect_sum(&m, j);
    }
    return m.cycle;
}

/* --- output stationary: m on the rows, n on the columns, k streamed from both sides. A finished
 * sum moves to the second register; when the lowest one of a column is there, they leave downwards,
 * one a cycle. A sum that would overwrite another fails the test. */

static word next_left(const machine *m, int i)
{
    int fold, step;
    corner at;

    if (!feeds(m, i, m->p->k, &fold, &step))
        return (word){0};
    at = corner_of(m, fold);
    return (word){.is_valid = true,
                  .is_first = step == 0,
                  .is_last = step == m->p->k - 1,
                  .fold = fold,
                  .value = at.row + i < m->p->m ? m->p->left[at.product].at[at.row + i][step] : 0};
}

static word next_right(const machine *m, int j)
{
    int fold, step;
    corner at;

    if (!feeds(m, j, m->p->k, &fold, &step))
        return (word){0};
    at = corner_of(m, fold);
    return (word){.value = at.col + j < m->p->n ? m->p->right[at.product].at[step][at.col + j] : 0};
}

static void deliver(machine *m, int j, word sum)
{
    corner at = corner_of(m, sum.fold);

    if (at.row + sum.row < m->p->m && at.col + j < m->p->n)
        m->p->result[at.product].at[at.row + sum.row][at.col + j] = sum.value;
    m->n_left--;
}

/* Sums of the folds up to `drained` move down by one. */
static void step_leaving(machine *m, int i, int j, int drained)
{
    unit *u = &m->now[i][j];
    word mine = m->old[i][j].leaving;
    word above = i > 0 ? m->old[i - 1][j].leaving : (word){0};

    if (mine.is_valid && mine.fold <= drained) {
        u->leaving.is_valid = false;
        if (i == m->rows - 1)
            deliver(m, j, mine);
    }
    if (above.is_valid && above.fold <= drained) {
        CHECK(!u->leaving.is_valid);
        u->leaving = above;
    }
}

static void step_sum_unit(machine *m, int i, int j)
{
    unit *u = &m->now[i][j];
    word x = j > 0 ? m->old[i][j - 1].right : next_left(m, i);
    word w = i > 0 ? m->old[i - 1][j].down : next_right(m, j);

    u->right = x;
    u->down = w;
    if (x.is_valid)
        u->sum = (x.is_first ? 0 : u->sum) + x.value * w.value;
    if (!x.is_last)
        return;
    CHECK(!u->leaving.is_valid);
    u->leaving = (word){.is_valid = true, .value = u->sum, .row = i, .fold = x.fold};
    if (i == m->rows - 1)
        m->draining[j] = x.fold;
}

static int run_output_stationary(products *p, int rows, int cols)
{
    machine m = machine_of(p, rows, cols, (const int[]){p->m, p->n, p->k});

    m.n_left = m.n_folds * rows * cols;
    for (; m.n_left > 0; m.cycle++) {
        memcpy(m.old, m.now, sizeof m.old);
        for (int j = 0; j < cols; j++) {
            int drained = m.draining[j];

            for (int i = 0; i < rows; i++) {
                step_leaving(&m, i, j, drained);
                step_sum_unit(&m, i, j);
            }
        }
    }
    return m.cycle;
}

/* --- comparison ------------------------------------------------------------------------------ */

static products random_products(weft_rng *rng)
{
    products p = {.count = between(rng, 1, MOST_PRODUCTS),
                  .m = between(rng, 1, MOST),
                  .n = between(rng, 1, MOST),
                  .k = between(rng, 1, MOST)};

    for (int q = 0; q < p.count; q++)
        for (int i = 0; i < MOST * MOST; i++) {
            p.left[q].at[i / MOST][i % MOST] = between(rng, -9, 9);
            p.right[q].at[i / MOST][i % MOST] = between(rng, -9, 9);
        }
    return p;
}

static int dot(const products *p, int q, int i, int j)
{
    int sum = 0;

    for (int s = 0; s < p->k; s++)
        sum += p->left[q].at[i][s] * p->right[q].at[s][j];
    return sum;
}

static bool is_right(const products *p)
{
    bool is_equal = true;

    for (int q = 0; q < p->count; q++)
        for (int i = 0; i < p->m; i++)
            for (int j = 0; j < p->n; j++)
                is_equal = is_equal && p->result[q].at[i][j] == dot(p, q, i, j);
    return is_equal;
}

/* (left right)^T = right^T left^T: what stays and what streams change places. */
static products transposed(const products *p)
{
    products t = {.count = p->count, .m = p->n, .n = p->m, .k = p->k};

    for (int q = 0; q < p->count; q++)
        for (int i = 0; i < MOST; i++)
            for (int j = 0; j < MOST; j++) {
                t.left[q].at[i][j] = p->right[q].at[j][i];
                t.right[q].at[i][j] = p->left[q].at[j][i];
            }
    return t;
}

/* Cycles of the stepped array; its results must be right. */
static int stepped(const products *given, int rows, int cols, weft_dataflow dataflow)
{
    products p = dataflow == WEFT_DATAFLOW_IS ? transposed(given) : *given;
    int cycles = dataflow == WEFT_DATAFLOW_OS ? run_output_stationary(&p, rows, cols)
                                              : run_weight_stationary(&p, rows, cols);

    CHECK(is_right(&p));
    return cycles;
}

static double modelled(const products *p, int rows, int cols, weft_dataflow dataflow)
{
    weft_design d = {.model = WEFT_SYSTOLIC};
    weft_layer l = {1, p->count, p->n, p->k, p->m, 1, 1, 1, 1};

    d.value[WEFT_P_ROWS] = rows;
    d.value[WEFT_P_COLS] = cols;
    d.value[WEFT_P_CORES] = 1;
    d.value[WEFT_P_DATAFLOW] = (double)dataflow;
    return weft_design_cycles(&d, &l);
}

static const weft_dataflow flows[] = {WEFT_DATAFLOW_WS, WEFT_DATAFLOW_OS, WEFT_DATAFLOW_IS};

TEST(cycles_are_those_of_a_stepped_array)
{
    weft_rng rng = weft_rng_seed(1);

    for (int i = 0; i < 600; i++) {
        products p = random_products(&rng);
        int rows = between(&rng, 1, MOST_SIDE), cols = between(&rng, 1, MOST_SIDE);

        for (int f = 0; f < 3; f++)
            CHECK_INT(stepped(&p, rows, cols, flows[f]), modelled(&p, rows, cols, flows[f]));
    }
}

TEST(best_is_the_shortest_of_three)
{
    weft_rng rng = weft_rng_seed(2);

    for (int i = 0; i < 300; i++) {
        products p = random_products(&rng);
        int rows = between(&rng, 1, MOST_SIDE), cols = between(&rng, 1, MOST_SIDE),
            best = INT32_MAX;

        p.count = 1;
        for (int f = 0; f < 3; f++) {
            int cycles = stepped(&p, rows, cols, flows[f]);

            CHECK_INT(systolic_cycles(p.m, p.n, p.k, rows, cols, flows[f]), cycles);
            best = cycles < best ? cycles : best;
        }
        CHECK_INT(systolic_cycles(p.m, p.n, p.k, rows, cols, WEFT_DATAFLOW_BEST), best);
    }
}

/* Cuts a product to one fold and returns the size of the dimension that is streamed. */
static int cut_to_one_fold(products *p, int rows, int cols, weft_dataflow dataflow)
{
    int *on_rows = dataflow == WEFT_DATAFLOW_OS ? &p->m : &p->k;
    int *on_cols = dataflow == WEFT_DATAFLOW_IS ? &p->m : &p->n;

    p->count = 1;
    *on_rows = *on_rows < rows ? *on_rows : rows;
    *on_cols = *on_cols < cols ? *on_cols : cols;
    return dataflow == WEFT_DATAFLOW_WS ? p->m : dataflow == WEFT_DATAFLOW_OS ? p->k : p->n;
}

/* SCALE-Sim's form of a fold: T + 2 R + C - 2. */
TEST(one_fold_is_the_form_without_overlap)
{
    weft_rng rng = weft_rng_seed(3);

    for (int i = 0; i < 300; i++) {
        products p = random_products(&rng);
        int rows = between(&rng, 1, MOST_SIDE), cols = between(&rng, 1, MOST_SIDE);

        for (int f = 0; f < 3; f++) {
            products one = p;
            int streamed = cut_to_one_fold(&one, rows, cols, flows[f]);

            CHECK_INT(stepped(&one, rows, cols, flows[f]), streamed + 2 * rows + cols - 2);
            CHECK_INT(modelled(&one, rows, cols, flows[f]), streamed + 2 * rows + cols - 2);
        }
    }
}

/* Fold after fold without overlap is never faster than the array that overlaps them. */
TEST(overlap_never_costs_time)
{
    weft_rng rng = weft_rng_seed(4);

    for (int i = 0; i < 300; i++) {
        products p = random_products(&rng);
        int rows = between(&rng, 1, MOST_SIDE), cols = between(&rng, 1, MOST_SIDE);
        int n_folds = p.count * blocks(p.k, rows) * blocks(p.n, cols);

        CHECK(stepped(&p, rows, cols, WEFT_DATAFLOW_WS) <= n_folds * (p.m + 2 * rows + cols - 2));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cycles_are_those_of_a_stepped_array),
        cmocka_unit_test(best_is_the_shortest_of_three),
        cmocka_unit_test(one_fold_is_the_form_without_overlap),
        cmocka_unit_test(overlap_never_costs_time),
    };

    return RUN_TESTS(tests);
}
