/* SPDX-License-Identifier: MIT */
/* state.c: inputs that stay on their device between items, such as KV caches, and the outputs that
 * take their place.
 *
 * A pair is found by its names: exporters call the input past..., the output present... . Type and
 * rank of both are equal, and so are all dimensions but one, which may grow. Pairs that are told
 * by the user must be such; names alone that do not fit are no pair. */
#include "import.h"

#include <string.h>

/* What stands in the name of an input, and in its place in that of the output. */
static const struct spelling {
    const char *past, *present;
} spellings[] = {
    {"past_key_values", "present"           }, /* transformers, optimum, ONNX Runtime GenAI */
    {"past_key_values", "present_key_values"},
    {"past",            "present"           }, /* past_0, past_key_self_0, past_conv.0, past_state */
    {"cache_in",        "cache_out"         },
    {"in_cache",        "out_cache"         },
    {"old_cache",       "new_cache"         },
};

enum { N_SPELLINGS = sizeof spellings / sizeof *spellings };

typedef struct marking {
    const weft_graph *g;
    weft_arena *scratch;
    weft_map *outputs;      /* name -> tensor */
    int *kept;              /* [n_tensors] as in the graph */
    weft_tensor_kind *kind; /* [n_tensors] */
    int n;
} marking;

static int output_named(const marking *m, const char *name)
{
    return weft_map_get(m->outputs, name, strlen(name));
}

/* Can one tensor take the place of the other? */
static bool is_pair(const weft_tensor *past, const weft_tensor *present)
{
    int n = 0;

    if (past->type != present->type || past->shape->rank != present->shape->rank)
        return false;
    for (int d = 0; d < past->shape->rank; d++)
        n += past->shape->dim[d] != present->shape->dim[d];
    return n <= 1;
}

/* The name with the spelling of outputs; NULL if it has not that of inputs. */
static const char *renamed(const char *name, const struct spelling *s, weft_arena *a)
{
    const char *at = strstr(name, s->past);

    return at == NULL ? NULL
                      : weft_arena_print(a, "%.*s%s%s", (int)(at - name), name, s->present,
                                         at + strlen(s->past));
}

/* The output that takes the place of an input, by the usual names; -1: none. */
static int usual_present(const marking *m, int past)
{
    for (int i = 0; i < N_SPELLINGS; i++) {
        const char *name = renamed(m->g->tensor[past].name, &spellings[i], m->scratch);
        int present = name ? output_named(m, name) : -1;

        if (present >= 0 && m->kept[present] < 0 && m->g->tensor[present].producer >= 0 &&
            is_pair(&m->g->tensor[past], &m->g->tensor[present]))
            return present;
    }
    return -1;
}

static void keep(marking *m, int past, int present)
{
    m->kind[past] = WEFT_STATE;
    m->n++;
    if (present < 0)
        return;
    m->kept[past] = present;
    m->kept[present] = past;
}

static void find_usual(marking *m)
{
    for (int i = 0; i < m->g->n_inputs; i++) {
        int past = m->g->input[i], present = usual_present(m, past);

        if (present >= 0)
            keep(m, past, present);
    }
}

/* --- what the user says ---------------------------------------------------------------------- */

static int count_stars(const char *s)
{
    int n = 0;

    for (; *s; s++)
        n += *s == '*';
    return n;
}

weft_status weft_state_read(const char *text, weft_arena *a, weft_state_pattern *out)
{
    char *past = weft_arena_word(a, text), *equals = strchr(past, '=');
    bool is_complete = *past != '\0' && equals != past && (equals == NULL || equals[1] != '\0');

    *out = (weft_state_pattern){past, equals ? equals + 1 : NULL};
    if (equals != NULL)
        *equals = '\0';
    if (!is_complete)
        return weft_fail(WEFT_E_INPUT, "--state is '%s', expected INPUT or INPUT=OUTPUT", text);
    if (out->present && (count_stars(past) > 1 || count_stars(past) != count_stars(out->present)))
        return weft_fail(WEFT_E_INPUT, "--state is '%s', expected one '*' in both names, or none",
                         text);
    return WEFT_OK;
}

const char *weft_state_text(const weft_state_pattern *s, weft_arena *a)
{
    return s->present ? weft_arena_print(a, "%s=%s", s->past, s->present) : s->past;
}

static weft_status no_input(const marking *m, const char *name)
{
    const char **known = WEFT_NEW(m->scratch, const char *, m->g->n_inputs + 1);
    const char *near;

    for (int i = 0; i < m->g->n_inputs; i++)
        known[i] = m->g->tensor[m->g->input[i]].name;
    near = weft_nearest(name, known, m->g->n_inputs);
    return weft_fail(WEFT_E_INPUT, "no input is called '%s' (given with --state)%s%s%s", name,
                     near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* The text that the only '*' of the pattern stands for, put into the other pattern. */
static const char *counterpart(const weft_state_pattern *s, const char *name, weft_arena *a)
{
    const char *star = strchr(s->past, '*'), *to = strchr(s->present, '*');
    size_t n = strlen(name);

    if (star == NULL || to == NULL)
        return s->present;
    return weft_arena_print(a, "%.*s%.*s%s", (int)(to - s->present), s->present,
                            (int)(n - strlen(s->past) + 1), name + (star - s->past), to + 1);
}

static weft_status keep_pair(marking *m, const weft_state_pattern *s, int past)
{
    const weft_graph *g = m->g;
    const char *name = counterpart(s, g->tensor[past].name, m->scratch);
    int present = output_named(m, name);

    if (present < 0 || g->tensor[present].producer < 0)
        return weft_fail(WEFT_E_INPUT,
                         "no output that an operator makes is called '%s' (given with --state for "
                         "input '%s')",
                         name, g->tensor[past].name);
    if (m->kept[present] >= 0)
        return weft_fail(WEFT_E_INPUT, "output '%s' takes the place of two inputs (--state)", name);
    if (!is_pair(&g->tensor[past], &g->tensor[present]))
        return weft_fail(WEFT_E_INPUT,
                         "output '%s' cannot take the place of input '%s' (--state): expected "
                         "the same type, and all dimensions equal but one",
                         name, g->tensor[past].name);
    keep(m, past, present);
    return WEFT_OK;
}

static weft_status find_told(marking *m, const weft_state_pattern *s)
{
    bool is_found = false;

    for (int i = 0; i < m->g->n_inputs; i++) {
        int past = m->g->input[i];

        if (!weft_pattern_matches(s->past, m->g->tensor[past].name))
            continue;
        is_found = true;
        if (m->kind[past] == WEFT_STATE)
            continue;
        if (s->present == NULL)
            keep(m, past, usual_present(m, past));
        else
            WEFT_TRY(keep_pair(m, s, past));
    }
    return is_found ? WEFT_OK : no_input(m, s->past);
}

/* --- the graph ------------------------------------------------------------------------------- */

static marking new_marking(const weft_graph *g, weft_arena *scratch)
{
    marking m = {.g = g, .scratch = scratch, .outputs = weft_map_new(scratch)};

    m.kept = WEFT_NEW(g->arena, int, g->n_tensors + 1);
    m.kind = WEFT_NEW(scratch, weft_tensor_kind, g->n_tensors + 1);
    for (int t = 0; t < g->n_tensors; t++) {
        m.kept[t] = -1;
        m.kind[t] = g->tensor[t].kind;
    }
    for (int i = 0; i < g->n_outputs; i++) {
        const char *name = g->tensor[g->output[i]].name;

        weft_map_set(m.outputs, name, strlen(name), g->output[i]);
    }
    return m;
}

/* What is kept in place is not written again: nodes with a state have work of their own. */
static const int *likes_without(const marking *m)
{
    const weft_graph *g = m->g;
    bool *is_apart = WEFT_NEW(m->scratch, bool, g->n_nodes + 1);
    int *like = weft_arena_copy(g->arena, g->like, (size_t)g->n_nodes * sizeof *like);

    for (int t = 0; t < g->n_tensors; t++)
        if (m->kept[t] >= 0 && g->tensor[t].producer >= 0)
            is_apart[g->tensor[t].producer] = is_apart[g->like[g->tensor[t].producer]] = true;
    for (int u = 0; u < g->n_nodes; u++)
        if (is_apart[g->like[u]])
            like[u] = u;
    return like;
}

static void mark(const marking *m, weft_graph *g)
{
    weft_tensor *tensor =
        weft_arena_copy(g->arena, g->tensor, (size_t)g->n_tensors * sizeof *tensor);

    for (int t = 0; t < g->n_tensors; t++)
        tensor[t].kind = m->kind[t];
    g->tensor = tensor;
    g->like = likes_without(m);
    g->kept = m->kept;
    g->n_states = m->n;
}

weft_status weft_model_mark_states(weft_graph *g, const weft_model_options *o)
{
    weft_arena *scratch;
    marking m;
    weft_status status = WEFT_OK;

    if (!o->keeps_states || o->no_states)
        return WEFT_OK;
    if (o->train)
        return o->n_states == 0 ? WEFT_OK
                                : weft_fail(WEFT_E_INPUT, "--state is for inference, not for "
                                                          "training steps (--train)");
    scratch = weft_arena_new();
    m = new_marking(g, scratch);
    for (int i = 0; i < o->n_states && status == WEFT_OK; i++)
        status = find_told(&m, &o->state[i]);
    if (o->n_states == 0)
        find_usual(&m);
    if (status == WEFT_OK && m.n > 0)
        mark(&m, g);
    weft_arena_free(scratch);
    return status;
}
