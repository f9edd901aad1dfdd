/* SPDX-License-Identifier: MIT */
/* eval_time.c: seconds of operators on the cores of a design, memoised.
 *
 *   tensor   first + max(cycles / (derate f), bytes / (eta BW))          on g tensor cores
 *   both     the same, and no less than the vector cores need            on g and v(g) cores
 *   vector   first + max(cycles / (derate f), bytes / (eta BW), port)    on g vector cores
 *   memory   first + max(bytes / (eta BW), port); 0 without bytes                         [s]
 *
 * port = bytes / (derate f bytes a cycle of the buffer's port), which cycles of products have too,
 * with the bytes of all g cores together.
 *
 * g = 1, 2, 4, .. and all cores; v(g) = max(1, floor(g vector cores / tensor cores)), so that an
 * operator on all tensor cores has all vector cores for what is fused behind. `first` is the first
 * access to memory, 500 cycles (WHAM's public code), paid once by each operator. Cycles of products
 * cut over g cores, with the ports of the shared buffer, and of vector work: cost/template.c,
 * cost/vector.c. Bytes: the best tiling in the share S g / cores of the buffer (cost/traffic.c) for
 * products, operands and results once for what else is fused, less what stays on the chip.
 *
 * With g = all cores and one node this is weft_design_cost() of the template model, which is what
 * stages of pipelines take (weft_eval_keys_s).
 *
 * Rows of all classes are memoised by (rows, cols, g), by (lanes, cores) and by (buffer, cores, g);
 * a design is then a few passes over plain arrays. */
#include "workload_eval.h"

#include "models.h"

#include "arrays.h"

#include <math.h>

static double constant(const weft_workload_eval *m, weft_constant_id id)
{
    return m->template_->constant[id].value;
}

static double cycle_s(const weft_workload_eval *m)
{
    return 1 / (constant(m, WEFT_CLOCK) * constant(m, WEFT_DERATE));
}

static double byte_s(const weft_workload_eval *m)
{
    return 1 / (constant(m, WEFT_HBM_BANDWIDTH) * constant(m, WEFT_HBM_EFFICIENCY));
}

/* Of a byte through the port of the shared buffer; 0: no limit. */
static double port_byte_s(const weft_workload_eval *m)
{
    return cycle_s(m) / constant(m, WEFT_PORT);
}

static double size_at(const weft_workload_eval *m, weft_parameter k, int at)
{
    return m->template_->size[k][at];
}

static int count_at(const weft_workload_eval *m, weft_parameter k, int at)
{
    return (int)size_at(m, k, at);
}

weft_eval_ways weft_eval_ways_of(int n)
{
    weft_eval_ways w = {0, {0}};

    for (int g = 1; g < n && w.n < WEFT_EVAL_MOST_WAYS - 1; g *= 2)
        w.cores[w.n++] = g;
    w.cores[w.n++] = n;
    return w;
}

int weft_eval_vector_of(int g, int n_tensor, int n_vector)
{
    int64_t v = (int64_t)g * n_vector / n_tensor;

    return v > 1 ? (int)v : 1;
}

/* --- memoised rows */

void weft_eval_tables_init(weft_workload_eval *m)
{
    const weft_template *t = m->template_;
    const int *n = t->n_sizes;

    m->tables = (weft_eval_tables){
        .most_tensor = count_at(m, WEFT_TENSOR_CORES, n[WEFT_TENSOR_CORES] - 1),
        .most_vector = count_at(m, WEFT_VECTOR_CORES, n[WEFT_VECTOR_CORES] - 1),
        .tensor = WEFT_NEW(m->arena, double **, n[WEFT_ROWS] * n[WEFT_COLS]),
        .unshared = WEFT_NEW(m->arena, double **, n[WEFT_ROWS] * n[WEFT_COLS]),
        .port = WEFT_NEW(m->arena, double *, n[WEFT_ROWS] * n[WEFT_COLS]),
        .vector = WEFT_NEW(m->arena, double **, n[WEFT_LANES]),
        .bytes = WEFT_NEW(m->arena, double **, n[WEFT_BUFFER] * n[WEFT_TENSOR_CORES])};
}

/* The place of a row, made if it is the first of its kind. */
static double **place(weft_workload_eval *m, double ***rows, int n, int at)
{
    if (*rows == NULL)
        *rows = WEFT_NEW(m->arena, double *, n);
    return &(*rows)[at];
}

static weft_tensor_cores cores_of(const weft_workload_eval *m, int rows, int cols, int g)
{
    return (weft_tensor_cores){size_at(m, WEFT_ROWS, rows), size_at(m, WEFT_COLS, cols), g,
                               constant(m, WEFT_PORT), m->template_->dataflow};
}

static const double *cycles_row(weft_workload_eval *m, double ***rows, const weft_tensor_cores *t)
{
    double **row = place(m, rows, m->tables.most_tensor + 1, (int)t->cores);

    if (*row != NULL)
        return *row;
    *row = WEFT_NEW(m->arena, double, m->ops.n_classes);
    for (int c = 0; c < m->ops.kind_at[WEFT_EVAL_VECTOR]; c++)
        for (int i = 0; i < m->ops.class_[c].n_keys; i++)
            (*row)[c] += cycle_s(m) * weft_tensor_cycles(m->ops.class_[c].key[i], t);
    return *row;
}

static const double *tensor_row(weft_workload_eval *m, int rows, int cols, int g)
{
    int at = rows * m->template_->n_sizes[WEFT_COLS] + cols;
    weft_tensor_cores t = cores_of(m, rows, cols, g);

    return cycles_row(m, &m->tables.tensor[at], &t);
}

/* Never more for more cores, of any number. */
static const double *unshared_row(weft_workload_eval *m, int rows, int cols, int g)
{
    int at = rows * m->template_->n_sizes[WEFT_COLS] + cols;
    weft_tensor_cores t = cores_of(m, rows, cols, g);

    t.port_bytes = INFINITY;
    return cycles_row(m, &m->tables.unshared[at], &t);
}

/* What passes the port at least: products uncut; of other operators what they move. */
static const double *port_row(weft_workload_eval *m, int rows, int cols)
{
    double **row = &m->tables.port[rows * m->template_->n_sizes[WEFT_COLS] + cols];
    weft_tensor_cores t = cores_of(m, rows, cols, 1);

    if (*row != NULL)
        return *row;
    *row = WEFT_NEW(m->arena, double, m->ops.n_classes);
    for (int c = 0; c < m->ops.n_classes; c++) {
        const weft_eval_class *k = &m->ops.class_[c];
        bool is_tensor = k->kind <= WEFT_EVAL_BOTH;
        double bytes = is_tensor ? 0 : -k->saved_bytes;

        for (int i = 0; i < k->n_keys; i++)
            bytes += is_tensor            ? weft_tensor_port_bytes(k->key[i], &t)
                     : k->key[i]->is_view ? 0
                                          : weft_compulsory_bytes(k->key[i]);
        (*row)[c] = port_byte_s(m) * (bytes > 0 ? bytes : 0);
    }
    return *row;
}

static const double *vector_row(weft_workload_eval *m, int lanes, int v)
{
    double **row = place(m, &m->tables.vector[lanes], m->tables.most_vector + 1, v);

    if (*row != NULL)
        return *row;
    *row = WEFT_NEW(m->arena, double, m->ops.n_classes);
    for (int c = m->ops.kind_at[WEFT_EVAL_BOTH]; c < m->ops.kind_at[WEFT_EVAL_MEMORY]; c++)
        for (int i = 0; i < m->ops.class_[c].n_keys; i++)
            (*row)[c] += cycle_s(m) * weft_cycles_vector(m->ops.class_[c].key[i],
                                                         size_at(m, WEFT_LANES, lanes) * v);
    return *row;
}

/* Of the way-th number of cores out of those of a count. */
static const double *bytes_row(weft_workload_eval *m, int buffer, int count, int way)
{
    int n_counts = m->template_->n_sizes[WEFT_TENSOR_CORES];
    double **row = place(m, &m->tables.bytes[buffer * n_counts + count], WEFT_EVAL_MOST_WAYS, way);
    int n = count_at(m, WEFT_TENSOR_CORES, count);
    double share;

    if (*row != NULL)
        return *row;
    share = size_at(m, WEFT_BUFFER, buffer) * weft_eval_ways_of(n).cores[way] / n;
    *row = WEFT_NEW(m->arena, double, m->ops.n_classes);
    for (int c = 0; c < m->ops.n_classes; c++) {
        const weft_eval_class *k = &m->ops.class_[c];
        double bytes = -k->saved_bytes;

        for (int i = 0; i < k->n_keys; i++)
            bytes += k->key[i]->is_view ? 0 : weft_key_traffic(k->key[i], share);
        (*row)[c] = byte_s(m) * (bytes > 0 ? bytes : 0);
    }
    return *row;
}

/* --- a design */

void weft_eval_frame_init(weft_workload_eval *m, weft_eval_frame *f)
{
    size_t n = (size_t)m->ops.n_classes + 1;

    f->lat_s = WEFT_NEW(m->arena, double, n *WEFT_EVAL_MOST_WAYS);
    f->bytes_s = WEFT_NEW(m->arena, double, n *WEFT_EVAL_MOST_WAYS);
    f->least_s = WEFT_NEW(m->arena, double, n);
    f->tensor_work_s = WEFT_NEW(m->arena, double, n);
    f->vector_work_s = WEFT_NEW(m->arena, double, n);
    f->least_bytes_s = WEFT_NEW(m->arena, double, n);
    f->thrifty = WEFT_NEW(m->arena, uint8_t, n);
    f->fast = WEFT_NEW(m->arena, uint8_t, n);
}

/* Cores that an operator of a kind takes in a way, for the least work. */
typedef struct need {
    double tensor, vector;
} need;

/* Takes the way into account in the minima of classes [from, to). */
static void add_way(weft_eval_frame *f, int n_classes, int way, need cores, int from, int to)
{
    const double *lat_s = f->lat_s + (size_t)way * (size_t)n_classes;
    const double *bytes_s = f->bytes_s + (size_t)way * (size_t)n_classes;
    double main = cores.tensor > 0 ? cores.tensor : cores.vector;

    for (int c = from; c < to; c++) {
        double *work_s = cores.tensor > 0 ? &f->tensor_work_s[c] : &f->vector_work_s[c];

        if (way == 0 || lat_s[c] < f->least_s[c]) {
            f->least_s[c] = lat_s[c];
            f->fast[c] = (uint8_t)way;
        }
        if (way == 0 || main * lat_s[c] < *work_s) {
            *work_s = main * lat_s[c];
            f->thrifty[c] = (uint8_t)way;
        }
        if (cores.tensor > 0 && (way == 0 || cores.vector * lat_s[c] < f->vector_work_s[c]))
            f->vector_work_s[c] = cores.vector * lat_s[c];
        if (way == 0 || bytes_s[c] < f->least_bytes_s[c])
            f->least_bytes_s[c] = bytes_s[c];
    }
}

static void fill_tensor(weft_workload_eval *m, weft_eval_frame *f, const weft_design_point *p,
                        int way)
{
    int n = m->ops.n_classes, both = m->ops.kind_at[WEFT_EVAL_BOTH],
        end = m->ops.kind_at[WEFT_EVAL_VECTOR];
    int g = f->ways[WEFT_EVAL_TENSOR].cores[way], v = f->vector_of[way];
    const double *core_s = tensor_row(m, p->at[WEFT_ROWS], p->at[WEFT_COLS], g);
    const double *vector_s = vector_row(m, p->at[WEFT_LANES], v);
    const double *bytes_s = bytes_row(m, p->at[WEFT_BUFFER], p->at[WEFT_TENSOR_CORES], way);
    double first_s = weft_first_access_s(m->template_);
    double *lat_s = f->lat_s + (size_t)way * (size_t)n;
    double *moved_s = f->bytes_s + (size_t)way * (size_t)n;

    for (int c = 0; c < end; c++) {
        moved_s[c] = bytes_s[c];
        lat_s[c] = core_s[c] > bytes_s[c] ? core_s[c] : bytes_s[c];
    }
    for (int c = both; c < end; c++)
        lat_s[c] = lat_s[c] > vector_s[c] ? lat_s[c] : vector_s[c];
    for (int c = 0; c < end; c++)
        lat_s[c] += first_s;
    add_way(f, n, way, (need){g, 0}, 0, both);
    add_way(f, n, way, (need){g, v}, both, end);
}

static double copy_s(double bytes_s, double port_s, double first_s)
{
    return bytes_s > 0 ? first_s + (bytes_s > port_s ? bytes_s : port_s) : 0;
}

/* Vector work, and copies in the first way. Bytes do not depend on the share of the buffer. */
static void fill_vector(weft_workload_eval *m, weft_eval_frame *f, const weft_design_point *p,
                        int way)
{
    int n = m->ops.n_classes, from = m->ops.kind_at[WEFT_EVAL_VECTOR], g;
    int to = m->ops.kind_at[WEFT_EVAL_MEMORY];
    const double *core_s, *bytes_s = bytes_row(m, p->at[WEFT_BUFFER], 0, 0);
    const double *port_s = f->port_s;
    double first_s = weft_first_access_s(m->template_);
    double *lat_s = f->lat_s + (size_t)way * (size_t)n;
    double *moved_s = f->bytes_s + (size_t)way * (size_t)n;

    g = f->ways[WEFT_EVAL_VECTOR].cores[way];
    core_s = vector_row(m, p->at[WEFT_LANES], g);
    for (int c = from; c < to; c++) {
        moved_s[c] = bytes_s[c];
        lat_s[c] = core_s[c] > bytes_s[c] ? core_s[c] : bytes_s[c];
        lat_s[c] = first_s + (lat_s[c] > port_s[c] ? lat_s[c] : port_s[c]);
    }
    add_way(f, n, way, (need){0, g}, from, to);
    if (way > 0)
        return;
    for (int c = to; c < n; c++) {
        moved_s[c] = bytes_s[c];
        lat_s[c] = copy_s(bytes_s[c], port_s[c], first_s);
    }
    add_way(f, n, 0, (need){0, 0}, to, n);
}

const weft_eval_frame *weft_eval_frame_of(weft_workload_eval *m, const weft_design_point *p)
{
    weft_eval_frame *f = &m->frame;

    f->n_tensor = count_at(m, WEFT_TENSOR_CORES, p->at[WEFT_TENSOR_CORES]);
    f->n_vector = count_at(m, WEFT_VECTOR_CORES, p->at[WEFT_VECTOR_CORES]);
    f->ways[WEFT_EVAL_TENSOR] = f->ways[WEFT_EVAL_BOTH] = weft_eval_ways_of(f->n_tensor);
    f->ways[WEFT_EVAL_VECTOR] = weft_eval_ways_of(f->n_vector);
    f->ways[WEFT_EVAL_MEMORY] = (weft_eval_ways){1, {0}};
    f->port_s = port_row(m, p->at[WEFT_ROWS], p->at[WEFT_COLS]);
    for (int way = 0; way < f->ways[WEFT_EVAL_TENSOR].n; way++) {
        f->vector_of[way] =
            weft_eval_vector_of(f->ways[WEFT_EVAL_TENSOR].cores[way], f->n_tensor, f->n_vector);
        fill_tensor(m, f, p, way);
    }
    for (int way = 0; way < f->ways[WEFT_EVAL_VECTOR].n; way++)
        fill_vector(m, f, p, way);
    return f;
}

/* --- keys one by one, on all cores */

static const weft_eval_class *classes_of(const weft_work_key *key, const int *order, int n,
                                         int n_products, weft_arena *a)
{
    weft_eval_class *c = WEFT_NEW(a, weft_eval_class, n + 1);
    const weft_work_key **at = WEFT_NEW(a, const weft_work_key *, n + 1);

    for (int i = 0; i < n; i++) {
        at[i] = &key[order[i]];
        c[i] = (weft_eval_class){i < n_products ? WEFT_EVAL_BOTH : WEFT_EVAL_VECTOR, 1, &at[i], 0};
    }
    return c;
}

weft_eval_keys weft_eval_keys_new(const weft_template *t, const weft_work_key *key, int n,
                                  weft_arena *a)
{
    weft_eval_keys k = {WEFT_NEW(a, weft_workload_eval, 1), WEFT_NEW(a, int, n + 1)};
    int n_products = 0, n_others = 0;

    for (int i = 0; i < n; i++)
        n_products += key[i].n_layers > 0;
    for (int i = 0, at = 0; i < n; i++)
        k.order[key[i].n_layers > 0 ? at++ : n_products + n_others++] = i;
    *k.eval = (weft_workload_eval){.template_ = t, .arena = a};
    k.eval->ops = (weft_eval_ops){
        .n_classes = n,
        .class_ = classes_of(key, k.order, n, n_products, a),
        .kind_at = {0, 0, n_products, n, n},
    };
    weft_eval_tables_init(k.eval);
    return k;
}

void weft_eval_keys_s(const weft_eval_keys *k, const weft_design_point *p, double *key_s)
{
    weft_workload_eval *m = k->eval;
    const uint16_t *at = p->at;
    int count = at[WEFT_TENSOR_CORES];
    int g = count_at(m, WEFT_TENSOR_CORES, count);
    int v = count_at(m, WEFT_VECTOR_CORES, at[WEFT_VECTOR_CORES]);
    const double *tensor_s = tensor_row(m, at[WEFT_ROWS], at[WEFT_COLS], g);
    const double *vector_s = vector_row(m, at[WEFT_LANES], v);
    const double *bytes_s = bytes_row(m, at[WEFT_BUFFER], count, weft_eval_ways_of(g).n - 1);
    const double *port_s = port_row(m, at[WEFT_ROWS], at[WEFT_COLS]);

    for (int c = 0; c < m->ops.n_classes; c++) {
        double core_s = fmax(tensor_s[c], vector_s[c]);

        if (c >= m->ops.kind_at[WEFT_EVAL_VECTOR])
            core_s = fmax(core_s, port_s[c]);
        key_s[k->order[c]] =
            (m->ops.class_[c].key[0]->is_joined ? 0 : weft_first_access_s(m->template_)) +
            fmax(core_s, bytes_s[c]);
    }
}

/* --- a box */

/* Numbers of cores from..to, treated alike: times as if all were `to`, cores as if `from`. Several
 * numbers share no port: only then do more of them never take longer. */
typedef struct span {
    int from, to;
} span;

enum { MOST_POWERS = 23, MOST_SPANS = MOST_POWERS + 16 };

/* Numbers of cores that operators of some design of the box may have: powers of two, and all
 * counts of the box up to `most`, the latter in at most 16 spans. */
static int spans_of(const weft_workload_eval *m, const weft_space_box *b, weft_parameter parameter,
                    int most, span out[MOST_SPANS])
{
    int n = 0, lo = b->lo.at[parameter], hi = b->hi.at[parameter], step;

    for (int g = 1; g <= most && n < MOST_POWERS; g *= 2)
        out[n++] = (span){g, g};
    while (hi > lo && count_at(m, parameter, hi) > most)
        hi--;
    step = (hi - lo) / 16 + 1;
    for (int i = lo; i <= hi; i += step)
        out[n++] = (span){count_at(m, parameter, i),
                          count_at(m, parameter, i + step - 1 < hi ? i + step - 1 : hi)};
    return n;
}

static void lessen(double *a, double b)
{
    *a = b < *a ? b : *a;
}

/* Least cycles over the rows and columns of the box. */
static void least_tensor(weft_workload_eval *m, const weft_space_box *b, span g, double *out)
{
    int end = m->ops.kind_at[WEFT_EVAL_VECTOR];

    for (int c = 0; c < end; c++)
        out[c] = INFINITY;
    for (int r = b->lo.at[WEFT_ROWS]; r <= b->hi.at[WEFT_ROWS]; r++)
        for (int k = b->lo.at[WEFT_COLS]; k <= b->hi.at[WEFT_COLS]; k++) {
            const double *row =
                g.from == g.to ? tensor_row(m, r, k, g.to) : unshared_row(m, r, k, g.to);

            for (int c = 0; c < end; c++)
                lessen(&out[c], row[c]);
        }
}

/* Least bytes through the port, over rows and columns. */
static const double *least_port(weft_workload_eval *m, const weft_space_box *b)
{
    for (int c = 0; c < m->ops.n_classes; c++)
        m->box_port_s[c] = INFINITY;
    for (int r = b->lo.at[WEFT_ROWS]; r <= b->hi.at[WEFT_ROWS]; r++)
        for (int k = b->lo.at[WEFT_COLS]; k <= b->hi.at[WEFT_COLS]; k++) {
            const double *row = port_row(m, r, k);

            for (int c = 0; c < m->ops.n_classes; c++)
                lessen(&m->box_port_s[c], row[c]);
        }
    return m->box_port_s;
}

static void box_tensor(weft_workload_eval *m, weft_eval_frame *f, const weft_space_box *b, span g)
{
    const double *vector_s = vector_row(m, b->hi.at[WEFT_LANES], f->n_vector);
    double first_s = weft_first_access_s(m->template_), *core_s = f->lat_s;
    int low_v = count_at(m, WEFT_VECTOR_CORES, b->lo.at[WEFT_VECTOR_CORES]);

    least_tensor(m, b, g, core_s);
    for (int c = 0; c < m->ops.kind_at[WEFT_EVAL_VECTOR]; c++) {
        bool is_both = c >= m->ops.kind_at[WEFT_EVAL_BOTH];
        double lat_s = first_s + fmax(fmax(core_s[c], f->port_s[c]),
                                      fmax(f->least_bytes_s[c], is_both ? vector_s[c] : 0));

        lessen(&f->least_s[c], lat_s);
        lessen(&f->tensor_work_s[c], g.from * lat_s);
        lessen(&f->vector_work_s[c],
               is_both ? weft_eval_vector_of(g.from, f->n_tensor, low_v) * lat_s : 0);
    }
}

static void box_vector(weft_workload_eval *m, weft_eval_frame *f, const weft_space_box *b, span g)
{
    const double *core_s = vector_row(m, b->hi.at[WEFT_LANES], g.to);
    double first_s = weft_first_access_s(m->template_);

    for (int c = m->ops.kind_at[WEFT_EVAL_VECTOR]; c < m->ops.kind_at[WEFT_EVAL_MEMORY]; c++) {
        double lat_s = first_s + fmax(core_s[c], fmax(f->least_bytes_s[c], f->port_s[c]));

        lessen(&f->least_s[c], lat_s);
        lessen(&f->vector_work_s[c], g.from * lat_s);
    }
}

const weft_eval_frame *weft_eval_frame_of_box(weft_workload_eval *m, const weft_space_box *b,
                                              int n_tensor, int n_vector)
{
    weft_eval_frame *f = &m->box;
    span spans[MOST_SPANS];
    double first_s = weft_first_access_s(m->template_);
    int all = b->lo.at[WEFT_TENSOR_CORES], n;
    const double *bytes_s = /* all cores have all of the buffer */
        bytes_row(m, b->hi.at[WEFT_BUFFER], all,
                  weft_eval_ways_of(count_at(m, WEFT_TENSOR_CORES, all)).n - 1);

    f->n_tensor = n_tensor;
    f->n_vector = n_vector;
    f->port_s = least_port(m, b);
    for (int c = 0; c < m->ops.n_classes; c++) {
        f->least_bytes_s[c] = bytes_s[c];
        f->least_s[c] = f->tensor_work_s[c] = f->vector_work_s[c] = INFINITY;
    }
    for (int c = m->ops.kind_at[WEFT_EVAL_MEMORY]; c < m->ops.n_classes; c++)
        f->least_s[c] = copy_s(bytes_s[c], f->port_s[c], first_s);
    n = spans_of(m, b, WEFT_TENSOR_CORES, n_tensor, spans);
    for (int i = 0; i < n; i++)
        box_tensor(m, f, b, spans[i]);
    n = spans_of(m, b, WEFT_VECTOR_CORES, n_vector, spans);
    for (int i = 0; i < n; i++)
        box_vector(m, f, b, spans[i]);
    for (int c = m->ops.kind_at[WEFT_EVAL_VECTOR]; c < m->ops.n_classes; c++)
        f->tensor_work_s[c] = 0;
    for (int c = m->ops.kind_at[WEFT_EVAL_MEMORY]; c < m->ops.n_classes; c++)
        f->vector_work_s[c] = 0;
    return f;
}
