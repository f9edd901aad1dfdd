/* SPDX-License-Identifier: MIT */
/* public_run.c: commands without a program: arguments as a document, the answer as a text.
 *
 * Arguments become the words of a command line, which the option tables of the command read: they
 * are the only list of names, values and defaults. The host collects what the command prints. */
#define _POSIX_C_SOURCE 200809L
#include "public.h"

#include "command.h"

#include <ctype.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* --- documents ------------------------------------------------------------------------------- */

double weft_doc_number_or_nan(const weft_doc *map, const char *key)
{
    const weft_doc *d = map && map->kind == WEFT_DOC_MAP ? weft_doc_get(map, key) : NULL;

    return d && (d->kind == WEFT_DOC_INT || d->kind == WEFT_DOC_REAL) ? d->real : NAN;
}

const char *weft_doc_text_or_empty(const weft_doc *map, const char *key)
{
    const weft_doc *d = map && map->kind == WEFT_DOC_MAP ? weft_doc_get(map, key) : NULL;

    return d && d->kind == WEFT_DOC_TEXT ? d->text : "";
}

int weft_doc_count(const weft_doc *list)
{
    return list && list->kind == WEFT_DOC_LIST ? list->n : 0;
}

const weft_doc *weft_doc_item(const weft_doc *list, int i)
{
    return i >= 0 && i < weft_doc_count(list) ? list->item[i] : NULL;
}

void weft_put_argument(weft_arena *a, weft_doc *arguments, const char *name, weft_doc *value)
{
    for (int i = 0; i < arguments->n; i++) {
        if (strcmp(arguments->key[i], name) == 0) {
            arguments->item[i] = value;
            return;
        }
    }
    weft_doc_put(a, arguments, weft_arena_word(a, name), value);
}

void weft_put_options(weft_arena *a, weft_doc *arguments, const char *const *options)
{
    for (; options && *options; options++) {
        const char *equals = strchr(*options, '=');
        size_t n = equals ? (size_t)(equals - *options) : strlen(*options);

        weft_put_argument(a, arguments, weft_arena_text(a, *options, n),
                          equals ? weft_doc_new_text(a, equals + 1) : weft_doc_new_bool(a, true));
    }
}

/* --- arguments to words ---------------------------------------------------------------------- */

typedef struct words {
    const weft_command *command;
    WEFT_VEC(char *) list;
    weft_arena *a;
} words;

/* The k-th operand's name as an argument: "[MODEL...]" is model, "A B" a and b, and one of several
 * words ("models|platforms") is called what. NULL: there are no more. */
static const char *operand_name(const weft_command *c, int k, weft_arena *a)
{
    const char *at = c->operands;
    char *name;

    if (strchr(at, '|'))
        return k == 0 ? "what" : NULL;
    for (at += strspn(at, " ["); k > 0 && *at; k--) {
        at += strcspn(at, " ");
        at += strspn(at, " [");
    }
    if (*at == '\0')
        return NULL;
    name = weft_arena_text(a, at, strcspn(at, " .]"));
    for (char *p = name; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return name;
}

static bool is_operand(const weft_command *c, const char *name, weft_arena *a)
{
    for (int k = 0; operand_name(c, k, a) != NULL; k++)
        if (strcmp(operand_name(c, k, a), name) == 0)
            return true;
    return false;
}

static weft_status wrong_value(const char *name, const weft_doc *value, const char *expected)
{
    return weft_fail(WEFT_E_INPUT, "argument '%s' is %s, expected %s", name,
                     weft_doc_kind_name(value->kind), expected);
}

/* A text or a number as it is typed. */
static weft_status scalar(words *w, const char *name, const weft_doc *value, const char **out)
{
    switch (value->kind) {
    case WEFT_DOC_TEXT:
        *out = value->text;
        return WEFT_OK;
    case WEFT_DOC_INT:
        *out = weft_arena_print(w->a, "%lld", (long long)value->integer);
        return WEFT_OK;
    case WEFT_DOC_REAL:
        *out = weft_arena_print(w->a, "%.17g", value->real);
        return WEFT_OK;
    default:
        return wrong_value(name, value, "a text or a number");
    }
}

static weft_status add_operand(words *w, const char *name, const weft_doc *value)
{
    const weft_doc *one[] = {value}, *const *item = one;
    int n = 1;
    const char *text;

    if (value->kind == WEFT_DOC_LIST) {
        item = (const weft_doc *const *)value->item;
        n = value->n;
    }
    for (int i = 0; i < n; i++) {
        WEFT_TRY(scalar(w, name, item[i], &text));
        WEFT_PUSH(w->a, w->list, weft_arena_word(w->a, text));
    }
    return WEFT_OK;
}

/* Items of a list are joined by ','. */
static weft_status joined(words *w, const char *name, const weft_doc *value, const char **out)
{
    const char *text;

    if (value->kind != WEFT_DOC_LIST)
        return scalar(w, name, value, out);
    *out = "";
    for (int i = 0; i < value->n; i++) {
        WEFT_TRY(scalar(w, name, value->item[i], &text));
        *out = weft_arena_print(w->a, "%s%s%s", *out, i ? "," : "", text);
    }
    return WEFT_OK;
}

static weft_status read_truth(const char *name, const weft_doc *value, bool *out)
{
    *out = value->kind == WEFT_DOC_BOOL   ? value->truth
           : value->kind == WEFT_DOC_TEXT ? strcmp(value->text, "true") == 0
                                          : false;
    if (value->kind == WEFT_DOC_BOOL || *out ||
        (value->kind == WEFT_DOC_TEXT && strcmp(value->text, "false") == 0))
        return WEFT_OK;
    return wrong_value(name, value, "true or false");
}

static weft_status add_flag(words *w, const char *name, const weft_doc *value)
{
    const weft_option *o = weft_command_option(w->command, name);
    const char *text;
    bool is_set;

    if (o == NULL)
        return WEFT_E_INPUT;
    if (o->kind == WEFT_OPTION_FLAG) {
        WEFT_TRY(read_truth(name, value, &is_set));
        if (is_set)
            WEFT_PUSH(w->a, w->list, weft_arena_print(w->a, "--%s", name));
        return WEFT_OK;
    }
    WEFT_TRY(joined(w, name, value, &text));
    WEFT_PUSH(w->a, w->list, weft_arena_print(w->a, "--%s=%s", name, text));
    return WEFT_OK;
}

static bool has_option(const weft_command *c, const char *name)
{
    return weft_command_option(c, name) != NULL;
}

/* Flags, then operands in their order. null is as if the argument were not there. */
static weft_status make_words(words *w, const weft_doc *arguments)
{
    const char *name;

    for (int i = 0; arguments && i < arguments->n; i++)
        if (!is_operand(w->command, arguments->key[i], w->a) &&
            arguments->item[i]->kind != WEFT_DOC_NULL && strcmp(arguments->key[i], "json") != 0)
            WEFT_TRY(add_flag(w, arguments->key[i], arguments->item[i]));
    if (has_option(w->command, "json"))
        WEFT_PUSH(w->a, w->list, weft_arena_text(w->a, "--json", 6));
    WEFT_PUSH(w->a, w->list, weft_arena_text(w->a, "--", 2));
    for (int k = 0; arguments && (name = operand_name(w->command, k, w->a)) != NULL; k++) {
        const weft_doc *value = weft_doc_get(arguments, name);

        if (value && value->kind != WEFT_DOC_NULL)
            WEFT_TRY(add_operand(w, name, value));
    }
    return WEFT_OK;
}

weft_status weft_ask_knows(const char *command, const char *name)
{
    const weft_command *c = weft_command_find(command);
    weft_arena *a = weft_arena_new();
    bool is_known = c && (is_operand(c, name, a) || has_option(c, name));

    weft_arena_free(a);
    return is_known ? WEFT_OK : WEFT_E_INPUT;
}

/* --- the host -------------------------------------------------------------------------------- */

typedef struct collector {
    const weft_watcher *watcher; /* or NULL */
    FILE *to;
    weft_doc *notes;
    weft_arena *a;
    pthread_mutex_t lock; /* of the callback */
} collector;

static bool print(void *context, const char *text, size_t n)
{
    collector *c = context;

    return fwrite(text, 1, n, c->to) == n;
}

static void complain(void *context, const char *line)
{
    collector *c = context;

    weft_doc_add(c->a, c->notes, weft_doc_new_text(c->a, line));
}

static void progress(void *context, double value, double bound)
{
    collector *c = context;

    pthread_mutex_lock(&c->lock);
    c->watcher->progress(c->watcher->context, value, bound);
    pthread_mutex_unlock(&c->lock);
}

static weft_status run(words *w, collector *c, int *code)
{
    weft_host host = {.context = c, .print = print, .complain = complain, .n_processes = 1};

    if (c->watcher) {
        host.progress = c->watcher->progress ? progress : NULL;
        host.stop = c->watcher->stop;
    }
    return weft_command_run(w->command, &host, w->list.at, w->list.n, code);
}

weft_status weft_ask(const char *command, const weft_doc *arguments, const weft_watcher *w,
                     weft_arena *a, weft_reply *out)
{
    words line = {.command = weft_command_find(command), .a = a};
    collector c = {.watcher = w, .notes = weft_doc_new(a, WEFT_DOC_LIST), .a = a};
    char *text = NULL;
    size_t n = 0;
    weft_status status;

    *out = (weft_reply){.code = WEFT_EXIT_WRONG, .text = "", .notes = c.notes};
    if (line.command == NULL)
        return WEFT_E_INPUT;
    WEFT_TRY(make_words(&line, arguments));
    c.to = open_memstream(&text, &n);
    if (c.to == NULL)
        return weft_fail(WEFT_E_SYSTEM, "no memory for the result");
    pthread_mutex_init(&c.lock, NULL);
    status = run(&line, &c, &out->code);
    pthread_mutex_destroy(&c.lock);
    fclose(c.to);
    out->text = weft_arena_text(a, text, n);
    free(text);
    return status;
}

bool weft_is_json(const char *text)
{
    return *text == '{' || *text == '[';
}

weft_status weft_ask_document(const char *command, const weft_doc *arguments, const weft_watcher *w,
                              weft_arena *a, const weft_doc **out)
{
    weft_reply answer;

    WEFT_TRY(weft_ask(command, arguments, w, a, &answer));
    if (!weft_is_json(answer.text))
        return weft_fail(WEFT_E_INPUT, "%s",
                         answer.notes->n > 0 ? answer.notes->item[0]->text : "there is no answer");
    return weft_doc_parse(answer.text, strlen(answer.text), command, a, out);
}
