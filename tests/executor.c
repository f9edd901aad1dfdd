/* SPDX-License-Identifier: MIT */
/* executor.c: private memories, messages, rings, and a step on the members of a set.
 *
 *  1. Weights and operands of phase 0 are placed, or fetched by messages.
 *  2. In each phase a member computes the points it is given. Between phases the shards that rotate
 *     are taken from their source, and the old ones forgotten.
 *  3. Partial sums, or statistics, of partners are combined in a ring: in g - 1 turns each member
 *     passes on a chunk, to which the receiver adds its own terms (reduce-scatter). Member i ends
 *     with the sums of chunk i; in g - 1 more turns these go round (all-gather), unless they stay
 *     cut.
 *  4. What follows the head is computed on what a member then holds of the result. */
#include "executor.h"

#include "check.h"

/* --- memories -------------------------------------------------------------------------------- */

static int64_t poison(int64_t at)
{
    return INT64_MIN / 2 + (at * 40503 & 0xffff);
}

void exec_forget(exec_memory *m, int64_t at)
{
    m->value[at] = poison(at);
    m->held[at] = false;
}

exec_memory *exec_memory_new(weft_arena *a, const weft_shape *shape, int element_bytes)
{
    exec_memory *m = WEFT_NEW(a, exec_memory, 1);

    *m = (exec_memory){
        .shape = *shape, .n = weft_shape_elements(shape), .element_bytes = element_bytes};
    m->value = WEFT_NEW_RAW(a, int64_t, m->n);
    m->held = WEFT_NEW_RAW(a, bool, m->n);
    m->read = WEFT_NEW(a, bool, m->n);
    for (int64_t i = 0; i < m->n; i++)
        exec_forget(m, i);
    return m;
}

int64_t exec_at(const weft_shape *s, const int64_t *index)
{
    int64_t at = 0;

    for (int i = 0; i < s->rank; i++)
        at = at * s->dim[i] + index[i];
    return at;
}

int64_t exec_at_broadcast(const weft_shape *s, const int64_t *index, int rank)
{
    int64_t at = 0;

    for (int i = 0; i < s->rank; i++)
        at = at * s->dim[i] + (s->dim[i] == 1 ? 0 : index[rank - s->rank + i]);
    return at;
}

bool exec_first(int rank, const int64_t *lo, const int64_t *hi, int64_t *index)
{
    bool is_any = true;

    for (int i = 0; i < rank; i++) {
        index[i] = lo[i];
        is_any = is_any && lo[i] < hi[i];
    }
    return is_any;
}

bool exec_next(int rank, const int64_t *lo, const int64_t *hi, int64_t *index)
{
    for (int i = rank - 1; i >= 0; i--) {
        if (++index[i] < hi[i])
            return true;
        index[i] = lo[i];
    }
    return false;
}

static bool is_inside(const weft_box *b, const weft_shape *s)
{
    if (b->rank != s->rank)
        return false;
    for (int i = 0; i < s->rank; i++)
        if (b->lo[i] < b->hi[i] && (b->lo[i] < 0 || b->hi[i] > s->dim[i]))
            return false;
    return true;
}

bool exec_holds_exactly(const exec_memory *m, const weft_box *b)
{
    int64_t at[WEFT_MAX_RANK], n = 0;

    if (!is_inside(b, &m->shape))
        return false;
    for (int64_t i = 0; i < m->n; i++)
        n += m->held[i];
    for (bool more = exec_first(b->rank, b->lo, b->hi, at); more;
         more = exec_next(b->rank, b->lo, b->hi, at))
        n -= m->held[exec_at(&m->shape, at)] ? 1 : m->n + 1;
    return n == 0;
}

weft_box exec_read_box(const exec_memory *m)
{
    weft_box b = weft_box_whole(&m->shape), all = b;
    int64_t at[WEFT_MAX_RANK];

    for (int d = 0; d < b.rank; d++) {
        b.lo[d] = b.hi[d];
        b.hi[d] = 0;
    }
    for (bool more = exec_first(all.rank, all.lo, all.hi, at); more;
         more = exec_next(all.rank, all.lo, all.hi, at))
        for (int d = 0; d < b.rank && m->read[exec_at(&m->shape, at)]; d++) {
            b.lo[d] = at[d] < b.lo[d] ? at[d] : b.lo[d];
            b.hi[d] = at[d] + 1 > b.hi[d] ? at[d] + 1 : b.hi[d];
        }
    return b;
}

void exec_place(exec_memory *m, const exec_memory *whole, const weft_box *b)
{
    int64_t at[WEFT_MAX_RANK];

    assert_true(is_inside(b, &m->shape));
    for (bool more = exec_first(b->rank, b->lo, b->hi, at); more;
         more = exec_next(b->rank, b->lo, b->hi, at)) {
        int64_t i = exec_at(&m->shape, at);

        m->value[i] = whole->value[i];
        m->held[i] = true;
    }
}

int64_t exec_send(const exec_memory *from, exec_memory *to, const weft_box *b)
{
    int64_t at[WEFT_MAX_RANK], n = 0;

    assert_true(is_inside(b, &to->shape));
    for (bool more = exec_first(b->rank, b->lo, b->hi, at); more;
         more = exec_next(b->rank, b->lo, b->hi, at)) {
        int64_t i = exec_at(&to->shape, at);

        if (to->held[i] || !from->held[i])
            continue;
        to->value[i] = from->value[i];
        to->held[i] = true;
        n++;
    }
    return n * to->element_bytes;
}

/* --- a step ---------------------------------------------------------------------------------- */

static const weft_step *step_of(const exec_step *e)
{
    return &e->steps->step[e->step];
}

static exec_memory *memory_of(const exec_step *e, int tensor)
{
    const weft_tensor *t = &e->steps->graph->tensor[tensor];

    return exec_memory_new(e->arena, t->shape, weft_dtype_bits(t->type) / 8);
}

exec_step *exec_step_new(const weft_steps *s, int step, const weft_split *split, weft_arena *a)
{
    const weft_graph *g = s->graph;
    const weft_step *v = &s->step[step];
    exec_step *e = WEFT_NEW(a, exec_step, 1);

    *e = (exec_step){.steps = s, .step = step, .n_members = split->n, .split = *split, .arena = a};
    e->member = WEFT_NEW(a, exec_member, split->n);
    assert_true(v->n_nodes <= EXEC_MOST_NODES && v->n_operands <= EXEC_MOST_OPERANDS &&
                v->n_weights <= EXEC_MOST_OPERANDS);
    for (int m = 0; m < split->n; m++) {
        for (int k = 0; k < v->n_operands; k++)
            e->member[m].operand[k] = memory_of(e, v->operand[k].tensor);
        for (int k = 0; k < v->n_weights; k++)
            e->member[m].weight[k] = memory_of(e, v->weight[k].tensor);
        for (int i = 0; i < v->n_nodes; i++) {
            int first = g->res_at[v->node[i]], n = g->res_at[v->node[i] + 1] - first;

            assert_true(n <= EXEC_MOST_RESULTS);
            for (int k = 0; k < n; k++)
                if (g->res[first + k] >= 0)
                    e->member[m].made[i][k] = memory_of(e, g->res[first + k]);
        }
    }
    return e;
}

exec_memory *exec_result_of(const exec_step *e, int member, int result)
{
    const weft_graph *g = e->steps->graph;
    const weft_step *v = step_of(e);

    for (int i = 0; i < v->n_nodes; i++)
        for (int k = g->res_at[v->node[i]]; k < g->res_at[v->node[i] + 1]; k++)
            if (g->res[k] == v->result[result])
                return e->member[member].made[i][k - g->res_at[v->node[i]]];
    fail_msg("a result that no node of the step makes");
    return NULL;
}

static weft_box need_of(const exec_step *e, int member, bool is_weight, int k, int phase)
{
    return is_weight ? weft_split_weight(e->steps, e->step, &e->split, member, k, phase)
                     : weft_split_need(e->steps, e->step, &e->split, member, k, phase);
}

void exec_place_weights(exec_step *e, exec_memory *const *whole)
{
    for (int m = 0; m < e->n_members; m++)
        for (int k = 0; k < step_of(e)->n_weights; k++) {
            weft_box b = need_of(e, m, true, k, 0);

            exec_place(e->member[m].weight[k], whole[step_of(e)->weight[k].tensor], &b);
        }
}

/* --- operands -------------------------------------------------------------------------------- */

/* Member 0 loses the last row (dimension 2 of pictures, else 0) of what it holds of an operand. */
static void drop_row(exec_step *e, int k)
{
    exec_memory *m = e->member[0].operand[k];
    weft_box b = need_of(e, 0, false, k, 0);
    int64_t at[WEFT_MAX_RANK];
    int d = b.rank > 2 ? 2 : 0;

    b.lo[d] = b.hi[d] - 1;
    for (bool more = exec_first(b.rank, b.lo, b.hi, at); more;
         more = exec_next(b.rank, b.lo, b.hi, at))
        exec_forget(m, exec_at(&m->shape, at));
}

void exec_place_operands(exec_step *e, exec_memory *const *whole)
{
    for (int k = 0; k < step_of(e)->n_operands; k++) {
        for (int m = 0; m < e->n_members; m++) {
            weft_box b = need_of(e, m, false, k, 0);

            exec_place(e->member[m].operand[k], whole[step_of(e)->operand[k].tensor], &b);
        }
        if (e->drop == EXEC_DROP_ROW && k == 0)
            drop_row(e, k);
    }
}

/* Elements of the box that are not held. */
static long n_missing(const exec_memory *m, const weft_box *b)
{
    int64_t at[WEFT_MAX_RANK];
    long n = 0;

    for (bool more = exec_first(b->rank, b->lo, b->hi, at); more;
         more = exec_next(b->rank, b->lo, b->hi, at))
        n += !m->held[exec_at(&m->shape, at)];
    return n;
}

int64_t exec_fetch(exec_step *e, int k, const exec_step *from, bool is_same_set, int64_t *total)
{
    int result = step_of(e)->operand[k].result;
    int64_t most = 0;

    *total = 0;
    for (int m = 0; m < e->n_members; m++) {
        exec_memory *to = e->member[m].operand[k];
        weft_box b = need_of(e, m, false, k, 0);
        int64_t bytes = 0;

        if (is_same_set) /* what it has made itself is there without a message */
            (void)exec_send(exec_result_of(from, m, result), to, &b);
        for (int i = 1; i <= from->n_members; i++) /* from the neighbour on */
            bytes += exec_send(exec_result_of(from, (m + i) % from->n_members, result), to, &b);
        e->n_faults += n_missing(to, &b);
        *total += bytes;
        most = bytes > most ? bytes : most;
    }
    if (e->drop == EXEC_DROP_ROW && k == 0)
        drop_row(e, k);
    return most;
}

int64_t exec_fetch_input(exec_step *e, int k, const exec_memory *whole, int64_t *total)
{
    int64_t most = 0;

    *total = 0;
    for (int m = 0; m < e->n_members; m++) {
        weft_box b = need_of(e, m, false, k, 0);
        int64_t bytes = exec_send(whole, e->member[m].operand[k], &b);

        *total += bytes;
        most = bytes > most ? bytes : most;
    }
    return most;
}

int64_t exec_deliver(const exec_step *e, int result, exec_memory *host, int64_t *total)
{
    weft_box all = weft_box_whole(&host->shape);
    int64_t most = 0;

    *total = 0;
    for (int m = 0; m < e->n_members; m++) {
        const exec_memory *part = exec_result_of(e, m, result);
        int64_t n = 0;

        for (int64_t i = 0; i < part->n; i++)
            n += part->held[i];
        most = n * part->element_bytes > most ? n * part->element_bytes : most;
        *total += exec_send(part, host, &all);
    }
    return most;
}

/* --- phases ---------------------------------------------------------------------------------- */

/* The memory that node i of the step (its place there) reads as operand `slot`. */
static exec_memory *argument(const exec_step *e, int m, int i, int slot)
{
    const weft_graph *g = e->steps->graph;
    const weft_step *v = step_of(e);
    int tensor = g->arg[g->arg_at[v->node[i]] + slot];

    for (int k = 0; k < v->n_operands; k++)
        if (v->operand[k].node == i && v->operand[k].slot == slot)
            return e->member[m].operand[k];
    for (int k = 0; k < v->n_weights; k++)
        if (v->weight[k].node == i && v->weight[k].slot == slot)
            return e->member[m].weight[k];
    for (int j = 0; j < i; j++)
        for (int k = g->res_at[v->node[j]]; k < g->res_at[v->node[j] + 1]; k++)
            if (tensor >= 0 && g->res[k] == tensor)
                return e->member[m].made[j][k - g->res_at[v->node[j]]];
    return NULL;
}

static exec_task task_of(exec_step *e, int m, int i)
{
    const weft_graph *g = e->steps->graph;
    int u = step_of(e)->node[i], n = g->arg_at[u + 1] - g->arg_at[u];
    exec_memory **arg = WEFT_NEW(e->arena, exec_memory *, EXEC_MOST_OPERANDS);

    assert_true(n <= EXEC_MOST_OPERANDS);
    for (int slot = 0; slot < n; slot++) {
        arg[slot] = argument(e, m, i, slot);
        if (arg[slot] == NULL && g->arg[g->arg_at[u] + slot] >= 0)
            fail_msg("node %s: nobody brings operand %d", g->node[u].name, slot);
    }
    return (exec_task){.graph = g,
                       .node = u,
                       .arg = arg,
                       .result = e->member[m].made[i],
                       .sum = e->member[m].sum,
                       .max = e->member[m].max};
}

static const exec_kernel *head_of(const exec_step *e)
{
    const char *op = e->steps->graph->node[step_of(e)->node[0]].op;
    const exec_kernel *k = exec_kernel_find(op);

    if (k == NULL)
        fail_msg("no kernel for %s", op);
    return k;
}

/* The head on the points of a phase: `run` is its rule for points, or for closing. */
static void run_head(exec_step *e, int m, int phase, void (*run)(exec_task *t))
{
    exec_task t = task_of(e, m, 0);
    int64_t lo[WEFT_MAX_AXES], hi[WEFT_MAX_AXES];

    weft_split_points(e->steps, e->step, &e->split, m, phase, lo, hi);
    t.step = step_of(e);
    t.lo = lo;
    t.hi = hi;
    run(&t);
    e->n_faults += t.n_faults;
    if (run == head_of(e)->points && t.n_axes != t.step->n_axes)
        e->n_faults++; /* an axis that the operator does not have */
}

/* Takes the next shard of an operand, or of a weight, into a second memory. */
static void take_shard(exec_step *e, int m, int phase, bool is_weight, int k, exec_memory **next)
{
    exec_memory *const *own = is_weight ? e->member[m].weight : e->member[m].operand;
    int source = weft_split_source(e->steps, e->step, &e->split, m, is_weight, k);
    weft_box b = need_of(e, m, is_weight, k, phase), old = need_of(e, m, is_weight, k, phase - 1);
    const exec_member *from;
    int64_t bytes;

    *next = own[k];
    if (source < 0) {
        e->n_faults += weft_box_common(&b, &old) != weft_box_elements(&b);
        return;
    }
    if (e->drop == EXEC_DROP_ROTATION && m == 0 && phase == 1)
        return;
    from = &e->member[source];
    *next = exec_memory_new(e->arena, &own[k]->shape, own[k]->element_bytes);
    bytes = exec_send(is_weight ? from->weight[k] : from->operand[k], *next, &b);
    e->n_faults += n_missing(*next, &b);
    e->member[m].rotated_bytes += bytes;
    e->member[m].most_rotated_bytes += bytes; /* of this turn: see rotate */
}

/* Shards from phase - 1 to phase, all at once. */
static void rotate(exec_step *e, int phase)
{
    const weft_step *v = step_of(e);
    exec_member *after = WEFT_NEW(e->arena, exec_member, e->n_members);

    for (int m = 0; m < e->n_members; m++) {
        int64_t most = e->member[m].most_rotated_bytes;

        e->member[m].most_rotated_bytes = 0;
        for (int k = 0; k < v->n_operands; k++)
            take_shard(e, m, phase, false, k, &after[m].operand[k]);
        for (int k = 0; k < v->n_weights; k++)
            take_shard(e, m, phase, true, k, &after[m].weight[k]);
        if (e->member[m].most_rotated_bytes < most)
            e->member[m].most_rotated_bytes = most;
    }
    for (int m = 0; m < e->n_members; m++) {
        memcpy(e->member[m].operand, after[m].operand, sizeof after[m].operand);
        memcpy(e->member[m].weight, after[m].weight, sizeof after[m].weight);
    }
}

/* --- rings ----------------------------------------------------------------------------------- */

/* What a member brings to a ring: places of its memory, chunk after chunk, and their elements. */
typedef struct ring {
    int n;
    int member[WEFT_MAX_MEMBERS];
    int64_t length, chunk_at[WEFT_MAX_MEMBERS + 1];
    int64_t *place;                   /* [length] of all members alike */
    int64_t *value[WEFT_MAX_MEMBERS]; /* [length] private to each */
    exec_combine combine;             /* EXEC_STATISTIC: sums, then maxima */
} ring;

static bool is_held_alike(const exec_memory *a, const exec_memory *b)
{
    return memcmp(a->held, b->held, (size_t)a->n * sizeof a->held[0]) == 0;
}

/* The elements of `m` that fall into the box, as the next chunk. */
static void add_chunk(ring *r, int chunk, const exec_memory *m, const weft_box *b)
{
    int64_t at[WEFT_MAX_RANK];

    for (bool more = exec_first(b->rank, b->lo, b->hi, at); more;
         more = exec_next(b->rank, b->lo, b->hi, at))
        if (m->held[exec_at(&m->shape, at)])
            r->place[r->length++] = exec_at(&m->shape, at);
    r->chunk_at[chunk + 1] = r->length;
}

/* Chunks: the parts that partners keep if sums stay cut, else equal shares. */
static void cut_chunks(const exec_step *e, ring *r, const exec_memory *m)
{
    weft_box all = weft_box_whole(&m->shape);

    if (e->split.is_scattered) {
        for (int i = 0; i < r->n; i++) {
            weft_box b = weft_split_result(e->steps, e->step, &e->split, r->member[i], 0);

            add_chunk(r, i, m, &b);
        }
        return;
    }
    add_chunk(r, 0, m, &all);
    if (r->combine == EXEC_STATISTIC) {
        memcpy(r->place + r->length, r->place, (size_t)r->length * sizeof r->place[0]);
        r->length *= 2;
    }
    for (int i = 0; i <= r->n; i++)
        r->chunk_at[i] = r->length * i / r->n;
}

/* Memory of element i of the ring: statistics are sums first, then maxima. */
static exec_memory *ring_memory(exec_step *e, const ring *r, int i, int64_t element)
{
    exec_member *m = &e->member[r->member[i]];

    if (r->combine != EXEC_STATISTIC)
        return m->made[0][0];
    return element < r->length / 2 ? m->sum : m->max;
}

static exec_combine term_of(const ring *r, int64_t element)
{
    if (r->combine != EXEC_STATISTIC)
        return r->combine;
    return element < r->length / 2 ? EXEC_SUM : EXEC_MAX;
}

/* Member i of the ring receives chunk c of its predecessor, and adds it or keeps it. */
static void pass_on(exec_step *e, ring *r, int64_t **before, int i, int c, bool is_adding)
{
    const int64_t *from = before[(i + r->n - 1) % r->n];

    for (int64_t k = r->chunk_at[c]; k < r->chunk_at[c + 1]; k++) {
        if (is_adding)
            r->value[i][k] = exec_combined(term_of(r, k), r->value[i][k], from[k]);
        else
            r->value[i][k] = from[k];
    }
    e->member[r->member[i]].ring_in += r->chunk_at[c + 1] - r->chunk_at[c];
}

/* Turn s of a ring: member i sends chunk i - s - 1 (adding) or i - s (not). */
static void turn(exec_step *e, ring *r, int s, bool is_adding)
{
    int64_t *before[WEFT_MAX_MEMBERS];
    size_t mark = weft_arena_mark(e->arena);

    for (int i = 0; i < r->n; i++) /* all send at once */
        before[i] = weft_arena_copy(e->arena, r->value[i], (size_t)r->length * sizeof(int64_t));
    for (int i = 0; i < r->n; i++) {
        int sender = (i + r->n - 1) % r->n;
        int c = (sender - s - (is_adding ? 1 : 0) + 2 * r->n) % r->n;

        if (e->drop == EXEC_DROP_TERM && is_adding && s == 0 && r->member[i] == 0)
            continue;
        pass_on(e, r, before, i, c, is_adding);
    }
    weft_arena_rewind(e->arena, mark);
}

static void run_ring(exec_step *e, ring *r)
{
    for (int i = 0; i < r->n; i++)
        for (int64_t k = 0; k < r->length; k++)
            r->value[i][k] = ring_memory(e, r, i, k)->value[r->place[k]];
    for (int s = 0; s < r->n - 1; s++)
        turn(e, r, s, true);
    for (int s = 0; s < r->n - 1 && !e->split.is_scattered; s++)
        turn(e, r, s, false);
    for (int i = 0; i < r->n; i++)
        for (int64_t k = 0; k < r->length; k++) {
            exec_memory *m = ring_memory(e, r, i, k);

            m->value[r->place[k]] = r->value[i][k];
            if (e->split.is_scattered && (k < r->chunk_at[i] || k >= r->chunk_at[i + 1]))
                exec_forget(m, r->place[k]); /* only sums of its own chunk are complete */
        }
}

static void note_ring(exec_step *e, const ring *r)
{
    for (int i = 0; i < r->n; i++) {
        exec_member *m = &e->member[r->member[i]];

        m->n_partners = r->n;
        m->partials = r->length;
        m->smallest = r->length;
        for (int c = 0; c < r->n; c++) {
            int64_t size = r->chunk_at[c + 1] - r->chunk_at[c];

            m->smallest = size < m->smallest ? size : m->smallest;
            m->largest = size > m->largest ? size : m->largest;
        }
    }
}

/* The ring of which `member` is the first. */
static void combine(exec_step *e, int member)
{
    ring r = {.combine = head_of(e)->combine};
    bool is_statistic = r.combine == EXEC_STATISTIC;
    const exec_memory *first = is_statistic ? e->member[member].sum : e->member[member].made[0][0];

    r.n = weft_split_partners(e->steps, e->step, &e->split, member, r.member);
    e->n_faults += r.n > 1 && r.combine == EXEC_NONE; /* it has nothing to combine */
    if (r.n == 1 || r.member[0] != member || r.combine == EXEC_NONE)
        return;
    r.place = WEFT_NEW(e->arena, int64_t, 2 * first->n);
    for (int i = 0; i < r.n; i++) {
        const exec_member *m = &e->member[r.member[i]];

        r.value[i] = WEFT_NEW(e->arena, int64_t, 2 * first->n);
        e->n_faults += !is_held_alike(first, is_statistic ? m->sum : m->made[0][0]);
    }
    cut_chunks(e, &r, first);
    note_ring(e, &r);
    run_ring(e, &r);
}

/* --- all of it ------------------------------------------------------------------------------- */

static void run_followers(exec_step *e, int m)
{
    for (int i = 1; i < step_of(e)->n_nodes; i++) {
        exec_task t = task_of(e, m, i);

        exec_elementwise(&t, e->member[m].made[i - 1][0]);
        e->n_faults += t.n_faults;
    }
}

static void make_statistics(exec_step *e)
{
    for (int m = 0; m < e->n_members && head_of(e)->combine == EXEC_STATISTIC; m++) {
        weft_shape s = exec_statistic_shape(e->steps->graph, step_of(e)->node[0]);

        e->member[m].sum = exec_memory_new(e->arena, &s, 0);
        e->member[m].max = exec_memory_new(e->arena, &s, 0);
    }
}

void exec_run(exec_step *e)
{
    const exec_kernel *head = head_of(e);
    int n_phases = weft_split_phases(e->steps, e->step, &e->split);

    make_statistics(e);
    for (int t = 0; t < n_phases; t++) {
        if (t > 0)
            rotate(e, t);
        for (int m = 0; m < e->n_members; m++)
            run_head(e, m, t, head->points);
    }
    for (int m = 0; m < e->n_members; m++)
        e->member[m].n_partners = 1;
    for (int m = 0; m < e->n_members; m++)
        combine(e, m);
    for (int m = 0; m < e->n_members; m++) {
        if (head->close != NULL)
            run_head(e, m, 0, head->close);
        run_followers(e, m);
    }
}

/* --- one point at a time --------------------------------------------------------------------- */

/* Share of the points of member m that it can compute with what it holds. */
static double share_at_hand(exec_step *e, int m)
{
    exec_task t = task_of(e, m, 0);
    int64_t lo[WEFT_MAX_AXES], hi[WEFT_MAX_AXES], at[WEFT_MAX_AXES], next[WEFT_MAX_AXES];
    long n_points = 0, n_at_hand = 0;

    weft_split_points(e->steps, e->step, &e->split, m, 0, lo, hi);
    t.step = step_of(e);
    t.lo = at;
    t.hi = next;
    for (bool more = exec_first(t.step->n_axes, lo, hi, at); more;
         more = exec_next(t.step->n_axes, lo, hi, at)) {
        for (int i = 0; i < t.step->n_axes; i++)
            next[i] = at[i] + 1;
        t.n_faults = 0;
        head_of(e)->points(&t);
        n_at_hand += t.n_faults == 0;
        n_points++;
    }
    return (double)n_at_hand / (double)n_points;
}

double exec_interior_share(const exec_step *e, int k, const exec_step *from,
                           exec_memory *const *whole)
{
    exec_step *alone = exec_step_new(e->steps, e->step, &e->split, e->arena);
    double least = 1;

    make_statistics(alone);
    exec_place_weights(alone, whole);
    exec_place_operands(alone, whole);
    for (int m = 0; m < e->n_members; m++) {
        exec_memory *own = memory_of(e, step_of(e)->operand[k].tensor);
        weft_box b = need_of(e, m, false, k, 0);

        (void)exec_send(exec_result_of(from, m, step_of(e)->operand[k].result), own, &b);
        alone->member[m].operand[k] = own;
        least = fmin(least, share_at_hand(alone, m));
    }
    return least;
}
