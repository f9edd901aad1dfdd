/* SPDX-License-Identifier: MIT */
/* script.c: the language of the built-in networks (models/README.md), read and done at once.
 *
 *   file      = { "def" NAME "(" [ NAME ["=" value] {"," ...} ] ")" block
 *               | "model" NAME TEXT { statement } block }
 *   block     = "{" { statement } "}"
 *   statement = NAME "=" value | call | "return" value | "if" value block ["else" (block | if)]
 *               | "for" NAME "in" value [".." value] block
 *   value     = or ["?" value ":" value]       or, and, comparisons, sums, products as in C
 *   operand   = NUMBER | TEXT | NAME | call | "none" | "[" [value {"," value}] "]" | "(" value ")"
 *               | "-" operand | "!" operand;   each may be followed by "[" value "]"
 *   call      = NAME "(" [ [NAME "="] value {"," ...} ] ")"
 *
 * There is no tree: a statement is done while it is read, and what is not to be done (the other
 * branch of an if, a loop over nothing) is read with n_skipped > 0. Loops and calls go back in the
 * text. Names that are assigned belong to the function; all others are globals, set from outside or
 * by global(). There is no loop without an end, and calls nest MOST_CALLS deep: scripts end. */
#include "script.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CALLS = 100, LOWEST_LEVEL = 1 };

typedef struct variable {
    const char *name; /* interned */
    weft_script_value value;
} variable;

typedef struct frame {
    WEFT_VEC(variable) variable;
} frame;

typedef struct source {
    const char *file, *text;
} source;

/* Where the parameters of a function begin, or a model's name. */
typedef struct place {
    const source *source;
    const char *at;
} place;

struct weft_script {
    weft_arena *arena;
    weft_script_hook hook;
    void *context;
    weft_map *names; /* -> index into name: equal names are one text */
    WEFT_VEC(const char *) name;
    weft_map *functions; /* name -> index into function */
    WEFT_VEC(place) function;
    WEFT_VEC(place) model;
    frame globals, *frame;
    const source *source; /* that is read now */
    const char *at;
    int n_skipped, n_calls;
    bool has_returned;
    weft_script_value result; /* of the function that returned */
    weft_status status;
};

static weft_script_value value_of(weft_script *s);
static void block(weft_script *s);

void weft_script_stop(weft_script *s, weft_status status)
{
    if (s->status == WEFT_OK)
        s->status = status;
}

bool weft_script_is_over(const weft_script *s)
{
    return s->status != WEFT_OK;
}

/* Is what is read now to be done? */
static bool is_live(const weft_script *s)
{
    return s->n_skipped == 0 && !s->has_returned && s->status == WEFT_OK;
}

static void fail(weft_script *s, const char *what, const char *name)
{
    int line = 1;

    for (const char *p = s->source->text; p < s->at; p++)
        line += *p == '\n';
    if (s->status == WEFT_OK)
        s->status = weft_fail(WEFT_E_INPUT, "%s:%d: %s%s", s->source->file, line, what, name);
}

/* --- values made outside --------------------------------------------------------------------- */

weft_script_value weft_script_int(int64_t value)
{
    return (weft_script_value){.kind = WEFT_SCRIPT_INT, .i = value, .f = (double)value};
}

weft_script_value weft_script_real(double value)
{
    return (weft_script_value){.kind = WEFT_SCRIPT_REAL, .f = value};
}

weft_script_value weft_script_text(const char *value)
{
    return (weft_script_value){.kind = WEFT_SCRIPT_TEXT, .text = value};
}

weft_script_value weft_script_tensor(int value)
{
    return (weft_script_value){.kind = WEFT_SCRIPT_TENSOR, .i = value};
}

/* --- marks, words ---------------------------------------------------------------------------- */

static void skip_space(weft_script *s)
{
    s->at += strspn(s->at, " \t\r\n");
    while (*s->at == '#') {
        s->at += strcspn(s->at, "\n");
        s->at += strspn(s->at, " \t\r\n");
    }
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Past the mark or the word if it comes next. */
static bool take(weft_script *s, const char *text)
{
    size_t n = strlen(text);

    skip_space(s);
    if (strncmp(s->at, text, n) != 0 || (is_name(text[0]) && is_name(s->at[n])))
        return false;
    s->at += n;
    return true;
}

/* After an error nothing comes: whoever reads on ends. */
static void need(weft_script *s, const char *mark)
{
    if (take(s, mark))
        return;
    fail(s, "expected ", mark);
    s->at += strlen(s->at);
}

static const char *intern(weft_script *s, const char *text, size_t n)
{
    int i = weft_map_get(s->names, text, n);

    if (i >= 0)
        return s->name.at[i];
    WEFT_PUSH(s->arena, s->name, weft_arena_text(s->arena, text, n));
    (void)weft_map_put(s->names, s->name.at[s->name.n - 1], n, s->name.n - 1);
    return s->name.at[s->name.n - 1];
}

static const char *read_name(weft_script *s)
{
    const char *first;

    skip_space(s);
    first = s->at;
    while (is_name(*s->at))
        s->at++;
    if (s->at == first)
        need(s, "a name");
    return intern(s, first, (size_t)(s->at - first));
}

/* --- variables ------------------------------------------------------------------------------- */

static variable *find(const frame *f, const char *name)
{
    for (int i = f->variable.n - 1; i >= 0; i--)
        if (f->variable.at[i].name == name)
            return &f->variable.at[i];
    return NULL;
}

static void assign(weft_script *s, frame *f, const char *name, weft_script_value value)
{
    variable *known = find(f, name);

    if (known)
        known->value = value;
    else
        WEFT_PUSH(s->arena, f->variable, ((variable){name, value}));
}

void weft_script_set(weft_script *s, const char *name, weft_script_value value)
{
    assign(s, &s->globals, intern(s, name, strlen(name)), value);
}

weft_script_value weft_script_get(weft_script *s, const char *name)
{
    const variable *v = find(&s->globals, intern(s, name, strlen(name)));

    return v ? v->value : (weft_script_value){.kind = WEFT_SCRIPT_NONE};
}

static weft_script_value look_up(weft_script *s, const char *name)
{
    const variable *v = find(s->frame, name);

    if (v == NULL)
        v = find(&s->globals, name);
    if (v == NULL && is_live(s))
        fail(s, "no value is called ", name);
    return v ? v->value : (weft_script_value){.kind = WEFT_SCRIPT_NONE};
}

weft_script_value weft_script_list_new(weft_script *s)
{
    return (weft_script_value){.kind = WEFT_SCRIPT_LIST,
                               .list = WEFT_NEW(s->arena, weft_script_list, 1)};
}

void weft_script_push(weft_script *s, weft_script_value list, weft_script_value item)
{
    WEFT_PUSH(s->arena, list.list->item, item);
}

/* --- calls ----------------------------------------------------------------------------------- */

/* The value of parameter i, called `key`, if the caller gives it. */
static const weft_script_value *given(const weft_script_args *args, int i, const char *key)
{
    if (i < args->n)
        return &args->at[i];
    for (int k = 0; k < args->n_named; k++)
        if (args->key[k] == key)
            return &args->at[args->n + k];
    return NULL;
}

/* Reads the parameters of a function and gives them their values. */
static void bind(weft_script *s, const weft_script_args *args)
{
    int n_used = 0;

    need(s, "(");
    for (int i = 0; !take(s, ")") && s->status == WEFT_OK; i++) {
        const char *key = read_name(s);
        const weft_script_value *value = given(args, i, key);

        n_used += value != NULL;
        s->n_skipped += value != NULL;
        if (take(s, "=")) {
            weft_script_value fallback = value_of(s);

            assign(s, s->frame, key, value ? *value : fallback);
        } else if (value) {
            assign(s, s->frame, key, *value);
        } else {
            fail(s, "a call lacks ", key);
        }
        s->n_skipped -= value != NULL;
        (void)take(s, ",");
    }
    if (n_used != args->n + args->n_named)
        fail(s, "too many arguments for ", args->name);
}

static weft_script_value call_function(weft_script *s, const place *function,
                                       const weft_script_args *args)
{
    const place back = {s->source, s->at};
    frame inner = {0}, *outer = s->frame;
    weft_script_value result;

    if (s->n_calls == MOST_CALLS)
        fail(s, "calls nest too deep: ", args->name);
    s->n_calls++;
    s->source = function->source;
    s->at = function->at;
    s->frame = &inner;
    bind(s, args);
    block(s);
    s->frame = outer;
    s->source = back.source;
    s->at = back.at;
    s->n_calls--;
    result = s->result;
    s->has_returned = false;
    s->result = (weft_script_value){.kind = WEFT_SCRIPT_NONE};
    return result;
}

weft_script_value weft_script_call(weft_script *s, const weft_script_args *args)
{
    weft_script_value out = {.kind = WEFT_SCRIPT_NONE};
    int i = weft_map_get(s->functions, args->name, strlen(args->name));

    if (!is_live(s))
        return out;
    if (i >= 0)
        return call_function(s, &s->function.at[i], args);
    if (!s->hook(s->context, args, &out))
        fail(s, "there is no function ", args->name);
    return out;
}

/* After its '('. */
static weft_script_value call(weft_script *s, const char *called)
{
    weft_script_args args = {.name = called};

    while (!take(s, ")") && s->status == WEFT_OK) {
        const char *before, *key;
        bool is_named = false;

        skip_space(s);
        before = s->at;
        if (isalpha((unsigned char)*s->at)) {
            key = read_name(s);
            is_named = take(s, "=") && *s->at != '=';
            if (is_named)
                args.key[args.n_named++] = key;
            else
                s->at = before;
        }
        assert(args.n + args.n_named < WEFT_SCRIPT_ARGS);
        args.at[args.n + args.n_named - is_named] = value_of(s);
        args.n += !is_named;
        (void)take(s, ",");
    }
    return weft_script_call(s, &args);
}

/* --- values ---------------------------------------------------------------------------------- */

static weft_script_value number(weft_script *s)
{
    size_t n = strspn(s->at, "0123456789");
    bool is_real = (s->at[n] == '.' && s->at[n + 1] != '.') || s->at[n] == 'e';
    char *end;
    weft_script_value v =
        is_real ? weft_script_real(strtod(s->at, &end)) : weft_script_int(strtoll(s->at, &end, 10));

    s->at = end;
    return v;
}

static const char *printed(weft_script *s, weft_script_value v)
{
    if (v.kind == WEFT_SCRIPT_INT)
        return weft_arena_print(s->arena, "%lld", (long long)v.i);
    if (v.kind == WEFT_SCRIPT_REAL)
        return weft_arena_print(s->arena, "%g", v.f);
    return v.kind == WEFT_SCRIPT_TEXT ? v.text : "";
}

/* After its first quote; {value} stands for the value as text. */
static weft_script_value quoted(weft_script *s)
{
    const char *text = "";

    while (*s->at != '"' && *s->at != '\0') {
        size_t n = strcspn(s->at, "\"{");
        const char *plain = s->at, *inner = "";

        s->at += n;
        if (*s->at == '{') {
            s->at++;
            inner = printed(s, value_of(s));
            need(s, "}");
        }
        text = weft_arena_print(s->arena, "%s%.*s%s", text, (int)n, plain, inner);
    }
    s->at += *s->at == '"';
    return weft_script_text(text);
}

/* After its '['. */
static weft_script_value listed(weft_script *s)
{
    weft_script_value list = weft_script_list_new(s);

    while (!take(s, "]") && s->status == WEFT_OK) {
        weft_script_push(s, list, value_of(s));
        (void)take(s, ",");
    }
    return list;
}

static weft_script_value item(weft_script *s, weft_script_value list, weft_script_value at)
{
    if (!is_live(s))
        return list;
    if (list.kind == WEFT_SCRIPT_LIST && at.i >= 0 && at.i < list.list->item.n)
        return list.list->item.at[at.i];
    fail(s, "no list, or none of so many", "");
    return list;
}

static weft_script_value operand(weft_script *s);

static weft_script_value signed_operand(weft_script *s)
{
    weft_script_value x = operand(s);

    return x.kind == WEFT_SCRIPT_INT ? weft_script_int(-x.i) : weft_script_real(-x.f);
}

static weft_script_value in_parentheses(weft_script *s)
{
    weft_script_value x = value_of(s);

    need(s, ")");
    return x;
}

static weft_script_value named(weft_script *s)
{
    const char *called = read_name(s);

    if (*s->at != '(')
        return look_up(s, called);
    s->at++;
    return call(s, called);
}

static weft_script_value plain_operand(weft_script *s)
{
    if (take(s, "none"))
        return (weft_script_value){.kind = WEFT_SCRIPT_NONE};
    if (take(s, "("))
        return in_parentheses(s);
    if (take(s, "-"))
        return signed_operand(s);
    if (take(s, "!"))
        return weft_script_int(operand(s).i == 0);
    if (take(s, "\""))
        return quoted(s);
    if (take(s, "["))
        return listed(s);
    return isdigit((unsigned char)*s->at) ? number(s) : named(s);
}

static weft_script_value operand(weft_script *s)
{
    weft_script_value x = plain_operand(s);

    while (*s->at == '[') { /* at once: a list may come next */
        s->at++;
        x = item(s, x, value_of(s));
        need(s, "]");
    }
    return x;
}

typedef struct operation {
    const char *mark; /* longer ones first */
    int level;
} operation;

static const operation operations[] = {
    {"||", 1},
    {"&&", 2},
    {"==", 3},
    {"!=", 3},
    {"<=", 4},
    {">=", 4},
    {"<<", 5},
    {"<",  4},
    {">",  4},
    {"+",  5},
    {"-",  5},
    {"*",  6},
    {"/",  6},
    {"%",  6},
};

static bool is_number(weft_script_value v)
{
    return v.kind == WEFT_SCRIPT_INT || v.kind == WEFT_SCRIPT_REAL;
}

/* Whole numbers if both are; a product that does not fit is the largest one. */
static weft_script_value compute(char mark, weft_script_value a, weft_script_value b)
{
    bool is_whole = a.kind == WEFT_SCRIPT_INT && b.kind == WEFT_SCRIPT_INT;
    int64_t y = 0;

    if (!is_whole)
        return weft_script_real(mark == '+'   ? a.f + b.f
                                : mark == '-' ? a.f - b.f
                                : mark == '*' ? a.f * b.f
                                              : a.f / b.f);
    if (mark == '*' && __builtin_mul_overflow(a.i, b.i, &y))
        y = INT64_MAX;
    if (mark == '/' || mark == '%')
        y = b.i == 0 ? 0 : mark == '/' ? a.i / b.i : a.i % b.i;
    return weft_script_int(mark == '+' ? a.i + b.i : mark == '-' ? a.i - b.i : y);
}

static bool is_true(const char *mark, weft_script_value a, weft_script_value b)
{
    bool has_equal = mark[1] == '=';

    switch (mark[0]) {
    case '&':
        return a.i != 0 && b.i != 0;
    case '|':
        return a.i != 0 || b.i != 0;
    case '<':
        return has_equal ? a.f <= b.f : a.f < b.f;
    case '>':
        return has_equal ? a.f >= b.f : a.f > b.f;
    default:
        return (a.f == b.f) == (mark[0] == '=');
    }
}

static weft_script_value operate(weft_script *s, const char *mark, weft_script_value a,
                                 weft_script_value b)
{
    bool is_equal = a.kind == b.kind && a.i == b.i;

    if (is_equal && a.kind == WEFT_SCRIPT_TEXT)
        is_equal = strcmp(a.text, b.text) == 0;
    if (is_live(s) && ((!is_number(a) || !is_number(b)) && mark[1] != '='))
        fail(s, "only numbers know ", mark);
    if (is_live(s) && (mark[0] == '/' || mark[0] == '%') && b.f == 0)
        fail(s, "division by 0", "");
    if (strcmp(mark, "<<") == 0)
        return weft_script_int(a.i << b.i);
    if (strchr("+-*/%", mark[0]))
        return compute(mark[0], a, b);
    if (is_number(a) && is_number(b))
        return weft_script_int(is_true(mark, a, b));
    return weft_script_int(is_equal == (mark[0] == '='));
}

static const operation *next_operation(weft_script *s, int lowest)
{
    skip_space(s);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (strncmp(s->at, operations[i].mark, strlen(operations[i].mark)) == 0)
            return operations[i].level >= lowest ? &operations[i] : NULL;
    return NULL;
}

/* Operations of this level and above, from left to right. */
static weft_script_value level(weft_script *s, int lowest)
{
    weft_script_value x = operand(s);
    const operation *o;

    while ((o = next_operation(s, lowest)) != NULL) {
        bool is_decided =
            (o->mark[0] == '&' && x.i == 0) || (o->mark[0] == '|' && x.i != 0); /* as in C */
        weft_script_value y;

        s->at += strlen(o->mark);
        s->n_skipped += is_decided;
        y = level(s, o->level + 1);
        s->n_skipped -= is_decided;
        x = operate(s, o->mark, x, is_decided ? x : y);
    }
    return x;
}

static weft_script_value value_of(weft_script *s)
{
    weft_script_value x = level(s, LOWEST_LEVEL), yes, no;
    bool holds = x.i != 0;

    if (!take(s, "?"))
        return x;
    s->n_skipped += !holds;
    yes = value_of(s);
    s->n_skipped -= !holds;
    need(s, ":");
    s->n_skipped += holds;
    no = value_of(s);
    s->n_skipped -= holds;
    return holds ? yes : no;
}

/* --- statements ------------------------------------------------------------------------------ */

static void if_statement(weft_script *s)
{
    bool holds = value_of(s).i != 0;

    s->n_skipped += !holds;
    block(s);
    s->n_skipped -= !holds;
    if (!take(s, "else"))
        return;
    s->n_skipped += holds;
    if (take(s, "if"))
        if_statement(s);
    else
        block(s);
    s->n_skipped -= holds;
}

static void for_statement(weft_script *s)
{
    const char *counter = read_name(s), *body;
    weft_script_value first, end = {.kind = WEFT_SCRIPT_NONE};
    int64_t n;
    bool is_range;

    need(s, "in");
    first = value_of(s);
    is_range = take(s, "..");
    if (is_range)
        end = value_of(s);
    body = s->at;
    n = is_range ? end.i - first.i : first.kind == WEFT_SCRIPT_LIST ? first.list->item.n : 0;
    for (int64_t i = 0; i < n && is_live(s); i++) {
        s->at = body;
        assign(s, s->frame, counter,
               is_range ? weft_script_int(first.i + i) : first.list->item.at[i]);
        block(s);
    }
    s->at = body; /* once more, past it */
    s->n_skipped++;
    block(s);
    s->n_skipped--;
}

static void statement(weft_script *s)
{
    weft_script_value value;
    const char *first;

    if (take(s, "if")) {
        if_statement(s);
    } else if (take(s, "for")) {
        for_statement(s);
    } else if (take(s, "return")) {
        value = value_of(s);
        if (is_live(s)) {
            s->result = value;
            s->has_returned = true;
        }
    } else {
        first = read_name(s);
        if (*s->at == '(') {
            s->at++;
            (void)call(s, first);
            return;
        }
        need(s, "=");
        value = value_of(s);
        if (is_live(s))
            assign(s, s->frame, first, value);
    }
}

static void block(weft_script *s)
{
    need(s, "{");
    while (!take(s, "}") && s->status == WEFT_OK)
        statement(s);
}

/* --- texts ----------------------------------------------------------------------------------- */

weft_script *weft_script_new(weft_arena *a, weft_script_hook hook, void *context)
{
    weft_script *s = WEFT_NEW(a, weft_script, 1);

    *s = (weft_script){.arena = a,
                       .hook = hook,
                       .context = context,
                       .names = weft_map_new(a),
                       .functions = weft_map_new(a)};
    s->frame = &s->globals;
    return s;
}

/* Definitions begin a line, all other lines are indented or close a block. */
void weft_script_add(weft_script *s, const char *file, const char *text)
{
    source *from = WEFT_NEW(s->arena, source, 1);

    *from = (source){file, text};
    s->source = from;
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, "def ", 4) == 0) {
            const char *called;

            s->at = line + 4;
            called = read_name(s);
            if (!weft_map_put(s->functions, called, strlen(called), s->function.n))
                fail(s, "a second function is called ", called);
            WEFT_PUSH(s->arena, s->function, ((place){from, s->at}));
        } else if (strncmp(line, "model ", 6) == 0) {
            WEFT_PUSH(s->arena, s->model, ((place){from, line + 6}));
        }
    }
}

/* Reads name and summary. */
static void begin_model(weft_script *s, int i, const char **called, const char **summary)
{
    s->source = s->model.at[i].source;
    s->at = s->model.at[i].at;
    *called = read_name(s);
    need(s, "\"");
    *summary = quoted(s).text;
}

bool weft_script_model(weft_script *s, int i, const char **called, const char **summary)
{
    if (i >= s->model.n)
        return false;
    begin_model(s, i, called, summary);
    return true;
}

weft_status weft_script_declare(weft_script *s, int model)
{
    const char *called, *summary;

    begin_model(s, model, &called, &summary);
    while (s->status == WEFT_OK && (skip_space(s), *s->at != '{') && *s->at != '\0')
        statement(s);
    return s->status;
}

weft_status weft_script_run(weft_script *s, weft_script_value *out)
{
    block(s);
    *out = s->result;
    return s->status;
}
