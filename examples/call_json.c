/* SPDX-License-Identifier: MIT */
/* call_json.c: a request on standard input, the reply on standard output: any command, as JSON.
 *
 *   cc call_json.c $(pkg-config --cflags --libs weft) -o call_json
 *   echo '{"schema": "weft.request/1", "command": "list", "arguments": {"what": "solvers"}}' |
 *       ./call_json
 */
#include <stdio.h>
#include <stdlib.h>
#include <weft.h>

static char *read_all(FILE *from)
{
    size_t n = 0, room = 1 << 12;
    char *text = malloc(room);

    while (text != NULL) {
        char *larger;

        n += fread(text + n, 1, room - n - 1, from);
        if (n < room - 1)
            break;
        larger = realloc(text, room *= 2);
        if (larger == NULL)
            free(text);
        text = larger;
    }
    if (text != NULL)
        text[n] = '\0';
    return text;
}

int main(void)
{
    char *request = read_all(stdin), *reply;
    weft_status status = weft_call(request, &reply);

    fputs(reply, stdout);
    weft_call_free(reply);
    free(request);
    return status == WEFT_OK ? 0 : 2;
}
