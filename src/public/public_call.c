/* SPDX-License-Identifier: MIT */
/* public_call.c: requests and replies, weft/call.h. */
#include "public.h"
#include "weft/call.h"

#include <stdlib.h>
#include <string.h>

enum { WRONG_INPUT = 2 }; /* exit code of the program */

static weft_status read_request(const char *text, weft_arena *a, const char **command,
                                const weft_doc **arguments)
{
    static const char *const keys[] = {"schema", "command", "arguments"};
    const weft_doc *d;
    const char *schema;

    if (text == NULL || !weft_is_json(text + strspn(text, " \t\r\n")))
        return weft_fail(WEFT_E_INPUT, "request: expected a JSON document of weft.request/1");
    WEFT_TRY(weft_doc_parse(text, strlen(text), "request", a, &d));
    if (d->kind != WEFT_DOC_MAP)
        return weft_doc_fail(d, "a request is %s, expected a map", weft_doc_kind_name(d->kind));
    WEFT_TRY(weft_doc_known_keys(d, keys, 3));
    WEFT_TRY(weft_doc_text(d, "schema", &schema));
    if (strcmp(schema, "weft.request/1") != 0)
        return weft_doc_fail(d, "schema is '%s', expected 'weft.request/1'", schema);
    WEFT_TRY(weft_doc_text(d, "command", command));
    *arguments = NULL;
    return weft_doc_get(d, "arguments") ? weft_doc_need(d, "arguments", WEFT_DOC_MAP, arguments)
                                        : WEFT_OK;
}

static char *copied(const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = malloc(n);

    if (copy != NULL)
        return memcpy(copy, text, n);
    weft_out_of_memory(n);
}

/* What was printed as a document goes in as it is. */
static char *reply_text(weft_status status, const weft_reply *answer, weft_arena *a)
{
    weft_doc *error = weft_doc_new(a, status == WEFT_OK ? WEFT_DOC_NULL : WEFT_DOC_MAP);
    const char *result = status != WEFT_OK || *answer->text == '\0' ? "null"
                         : weft_is_json(answer->text)
                             ? answer->text
                             : weft_doc_json(weft_doc_new_text(a, answer->text), 0, a);

    if (status != WEFT_OK) {
        weft_put_int(a, error, "code", answer->code);
        weft_put_text(a, error, "message", weft_message());
    }
    return copied(weft_arena_print(
        a,
        "{\"schema\": \"weft.reply/1\", \"status\": %d, \"result\": %s, \"notes\": %s, "
        "\"error\": %s}\n",
        answer->code, result, weft_doc_json(answer->notes, 0, a), weft_doc_json(error, 0, a)));
}

weft_status weft_call_watched(const char *request, weft_progress_callback progress_to,
                              void *context, const volatile sig_atomic_t *stop, char **reply)
{
    weft_watcher watcher = {progress_to, context, stop};
    weft_arena *a = weft_arena_new();
    weft_reply answer = {WRONG_INPUT, "", weft_doc_new(a, WEFT_DOC_LIST)};
    const weft_doc *arguments;
    const char *command;
    weft_status status = read_request(request, a, &command, &arguments);

    if (status == WEFT_OK)
        status = weft_ask(command, arguments, &watcher, a, &answer);
    *reply = reply_text(status, &answer, a);
    weft_arena_free(a);
    return status;
}

weft_status weft_call(const char *request, char **reply)
{
    return weft_call_watched(request, NULL, NULL, NULL, reply);
}

void weft_call_free(char *reply)
{
    free(reply);
}
