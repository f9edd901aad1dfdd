/* SPDX-License-Identifier: MIT */
/* taskgraph_dot.c: task graphs in the language of Graphviz, without Graphviz.
 *
 *   graph     = ["strict"] "digraph" [id] block
 *   block     = "{" { statement [";"] } "}"
 *   statement = ("graph" | "node" | "edge") attributes | id "=" id | ["subgraph" [id]] block
 *             | node { "->" node } attributes
 *   node      = id [":" id [":" id]]              attributes = { "[" { id "=" id [";" | ","] } "]" }
 *   id        = letters, digits and "_" | number | "quoted", joined by "+" | <html>
 *
 * A node has its time in one of node_keys, an edge its bytes in one of edge_keys, in any case; a
 * number, or one with a unit. What `node [...]` and `edge [...]` say holds for the nodes and edges
 * behind it in that block. Nodes count from where they first stand. Other attributes are skipped.
 *
 * Every byte is looked at once; blocks may nest MOST_DEPTH levels. */
#include "taskgraph.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "problem_spec.h"

enum { MOST_DEPTH = 50 };

static const char *const node_keys[] = {"time", "runtime", "duration", "weight", "size", "cost"};
static const char *const edge_keys[] = {"bytes", "size", "data", "weight", "cost"};

enum {
    N_NODE_KEYS = sizeof node_keys / sizeof *node_keys,
    N_EDGE_KEYS = sizeof edge_keys / sizeof *edge_keys
};

typedef enum token { END, ID, OPEN, CLOSE, LEFT, RIGHT, ARROW, LINE, EQUALS, COLON, MARK } token;

/* What an attribute says: a number, and where. */
typedef struct value {
    bool is_given;
    const char *key;
    double number;
} value;

typedef struct defaults {
    value node, edge;
} defaults;

typedef struct dot_node {
    const char *name;
    int line;
    value time;
} dot_node;

typedef struct dot_edge {
    int from, to, line;
    value bytes;
} dot_edge;

typedef struct reader {
    weft_taskgraph *x;
    size_t at;
    int line;
    token token;
    bool is_quoted;
    const char *word; /* of an ID */
    weft_map *index;
    WEFT_VEC(dot_node) node;
    WEFT_VEC(dot_edge) edge;
} reader;

/* --- tokens ---------------------------------------------------------------------------------- */

static int peek(const reader *r, size_t ahead)
{
    return r->at + ahead < r->x->n ? (unsigned char)r->x->text[r->at + ahead] : -1;
}

static int take(reader *r)
{
    int c = peek(r, 0);

    r->line += c == '\n';
    r->at += c >= 0;
    return c;
}

static void skip_line(reader *r)
{
    while (peek(r, 0) >= 0 && peek(r, 0) != '\n')
        r->at++;
}

static weft_status skip_comment(reader *r)
{
    int first = r->line;

    for (r->at += 2; peek(r, 0) != '*' || peek(r, 1) != '/';)
        if (take(r) < 0)
            return weft_taskgraph_fail(r->x, first, "this comment does not end");
    r->at += 2;
    return WEFT_OK;
}

/* White space, comments, and lines of the C preprocessor. */
static weft_status skip(reader *r)
{
    for (;;) {
        int c = peek(r, 0);
        bool is_first = r->at == 0 || r->x->text[r->at - 1] == '\n';

        if (c >= 0 && isspace(c))
            take(r);
        else if ((c == '/' && peek(r, 1) == '/') || (c == '#' && is_first))
            skip_line(r);
        else if (c == '/' && peek(r, 1) == '*')
            WEFT_TRY(skip_comment(r));
        else
            return WEFT_OK;
    }
}

typedef WEFT_VEC(char) letters;

static weft_status read_quoted(reader *r, letters *to)
{
    int first = r->line;

    r->at++;
    for (;;) {
        int c = take(r);

        if (c == '"')
            return WEFT_OK;
        if (c == '\\' && (peek(r, 0) == '"' || peek(r, 0) == '\\'))
            c = take(r);
        else if (c == '\\' && peek(r, 0) == '\n') { /* goes on in the next line */
            take(r);
            continue;
        }
        if (c <= 0)
            return weft_taskgraph_fail(
                r->x, first, c < 0 ? "these quotes do not end" : "there is a byte 0 in quotes");
        WEFT_PUSH(r->x->a, *to, (char)c);
    }
}

static weft_status read_html(reader *r, letters *to)
{
    int first = r->line, depth = 0;

    do {
        int c = take(r);

        if (c <= 0)
            return weft_taskgraph_fail(r->x, first, "this '<' has no '>'");
        depth += (c == '<') - (c == '>');
        WEFT_PUSH(r->x->a, *to, (char)c);
    } while (depth > 0);
    return WEFT_OK;
}

/* Quoted texts that are joined by '+' are one. */
static weft_status read_quotes(reader *r, letters *to)
{
    for (;;) {
        WEFT_TRY(read_quoted(r, to));
        WEFT_TRY(skip(r));
        if (peek(r, 0) != '+')
            return WEFT_OK;
        r->at++;
        WEFT_TRY(skip(r));
        if (peek(r, 0) != '"')
            return weft_taskgraph_fail(r->x, r->line, "expected quotes behind '+'");
    }
}

static bool is_word(int c)
{
    return c >= 0 && (isalnum(c) || c == '_' || c == '.' || c >= 128);
}

static weft_status read_id(reader *r)
{
    letters word = {0};
    int c = peek(r, 0);

    r->is_quoted = c == '"' || c == '<';
    if (c == '"')
        WEFT_TRY(read_quotes(r, &word));
    else if (c == '<')
        WEFT_TRY(read_html(r, &word));
    else if (c == '-')
        WEFT_PUSH(r->x->a, word, (char)take(r));
    while (!r->is_quoted && is_word(peek(r, 0)))
        WEFT_PUSH(r->x->a, word, (char)take(r));
    WEFT_PUSH(r->x->a, word, '\0');
    r->word = word.at;
    r->token = ID;
    return WEFT_OK;
}

static weft_status next(reader *r)
{
    static const char signs[] = "{}[]=:;,";
    static const token tokens[] = {OPEN, CLOSE, LEFT, RIGHT, EQUALS, COLON, MARK, MARK};
    const char *sign;
    int c;

    WEFT_TRY(skip(r));
    c = peek(r, 0);
    r->token = END;
    if (c < 0)
        return WEFT_OK;
    sign = c > 0 ? strchr(signs, c) : NULL;
    if (sign != NULL) {
        r->at++;
        r->token = tokens[sign - signs];
        return WEFT_OK;
    }
    if (c == '-' && (peek(r, 1) == '>' || peek(r, 1) == '-')) {
        r->token = peek(r, 1) == '>' ? ARROW : LINE;
        r->at += 2;
        return WEFT_OK;
    }
    if (c == '"' || c == '<' || is_word(c) || (c == '-' && is_word(peek(r, 1))))
        return read_id(r);
    return weft_taskgraph_fail(r->x, r->line, isprint(c) ? "unexpected '%c'" : "unexpected byte %d",
                               c);
}

static weft_status expect(reader *r, token t, const char *what)
{
    if (r->token != t)
        return weft_taskgraph_fail(r->x, r->line, "expected %s%s", what,
                                   r->token == END ? ", the file ends" : "");
    return next(r);
}

static bool same_word(const char *one, const char *other)
{
    for (; *one && tolower((unsigned char)*one) == tolower((unsigned char)*other); one++)
        other++;
    return *one == '\0' && *other == '\0';
}

static bool is_keyword(const reader *r, const char *word)
{
    return r->token == ID && !r->is_quoted && same_word(r->word, word);
}

/* --- attributes ------------------------------------------------------------------------------ */

/* Takes an attribute if it is one of the keys. */
static weft_status take_value(const reader *r, const char *key, const char *text,
                              const char *const *keys, int n, value *out)
{
    bool is_time = keys == node_keys;

    for (int i = 0; i < n; i++) {
        double number;

        if (!same_word(key, keys[i]))
            continue;
        if (out->key != NULL && out->key != keys[i])
            return weft_taskgraph_fail(
                r->x, r->line, "'%s' and '%s' are there, expected one of them", out->key, keys[i]);
        if (weft_unit_parse(text, is_time ? WEFT_UNIT_SECONDS : WEFT_UNIT_BYTES, true, &number) !=
                WEFT_OK ||
            number < 0)
            return weft_taskgraph_fail(r->x, r->line, "'%s' is '%.*s', expected %s from 0 on",
                                       keys[i], WEFT_SHOWN(text),
                                       is_time ? "seconds or a time" : "a number of bytes");
        *out = (value){true, keys[i], number};
    }
    return WEFT_OK;
}

/* Lists in brackets; the later attribute counts. NULL: of neither. */
static weft_status read_attributes(reader *r, value *node, value *edge)
{
    value mine[2] = {{0}, {0}};

    while (r->token == LEFT) {
        WEFT_TRY(next(r));
        while (r->token == ID) {
            const char *key = r->word, *text = "true";

            WEFT_TRY(next(r));
            if (r->token == EQUALS) {
                WEFT_TRY(next(r));
                text = r->word;
                WEFT_TRY(expect(r, ID, "a value behind '='"));
            }
            if (node != NULL)
                WEFT_TRY(take_value(r, key, text, node_keys, N_NODE_KEYS, &mine[0]));
            if (edge != NULL)
                WEFT_TRY(take_value(r, key, text, edge_keys, N_EDGE_KEYS, &mine[1]));
            if (r->token == MARK)
                WEFT_TRY(next(r));
        }
        WEFT_TRY(expect(r, RIGHT, "']' or an attribute"));
    }
    if (mine[0].is_given)
        *node = mine[0];
    if (mine[1].is_given)
        *edge = mine[1];
    return WEFT_OK;
}

/* --- statements ------------------------------------------------------------------------------ */

static weft_status read_block(reader *r, defaults usual, int depth);

/* The node of this name, which has what is usual here if it is new. */
static weft_status read_node(reader *r, const defaults *usual, int *out)
{
    const char *name = r->word;

    if (r->token == OPEN || is_keyword(r, "subgraph"))
        return weft_taskgraph_fail(r->x, r->line,
                                   "an edge of a whole block is not read: name its "
                                   "nodes");
    if (r->token == ID && *name == '\0')
        return weft_taskgraph_fail(r->x, r->line, "a node has an empty name");
    *out = r->token == ID ? weft_map_get(r->index, name, strlen(name)) : -1;
    if (*out < 0 && r->token == ID) {
        *out = r->node.n;
        (void)weft_map_put(r->index, name, strlen(name), *out);
        WEFT_PUSH(r->x->a, r->node, ((dot_node){name, r->line, usual->node}));
    }
    WEFT_TRY(expect(r, ID, "the name of a node"));
    for (int i = 0; i < 2 && r->token == COLON; i++) { /* a port, and a side of it */
        WEFT_TRY(next(r));
        WEFT_TRY(expect(r, ID, "a port behind ':'"));
    }
    return WEFT_OK;
}

static weft_status read_edges(reader *r, const defaults *usual, int from)
{
    int first = r->edge.n;
    value bytes = usual->edge;

    while (r->token == ARROW) {
        int to = -1, line = r->line;

        WEFT_TRY(next(r));
        WEFT_TRY(read_node(r, usual, &to));
        if (from == to)
            return weft_taskgraph_fail(r->x, line, "node '%.*s' has an edge to itself",
                                       WEFT_SHOWN(r->node.at[to].name));
        WEFT_PUSH(r->x->a, r->edge, ((dot_edge){from, to, line, bytes}));
        from = to;
    }
    if (r->token == LINE)
        return weft_taskgraph_fail(r->x, r->line, "'--' has no direction, expected '->'");
    WEFT_TRY(read_attributes(r, NULL, &bytes));
    for (int i = first; i < r->edge.n; i++)
        r->edge.at[i].bytes = bytes;
    return WEFT_OK;
}

static weft_status read_statement(reader *r, defaults *usual, int depth)
{
    int u = -1;

    if (is_keyword(r, "subgraph")) {
        WEFT_TRY(next(r));
        if (r->token == ID)
            WEFT_TRY(next(r));
        return read_block(r, *usual, depth + 1);
    }
    if (r->token == OPEN)
        return read_block(r, *usual, depth + 1);
    if (is_keyword(r, "graph") || is_keyword(r, "node") || is_keyword(r, "edge")) {
        bool is_node = is_keyword(r, "node"), is_edge = is_keyword(r, "edge");

        WEFT_TRY(next(r));
        return read_attributes(r, is_node ? &usual->node : NULL, is_edge ? &usual->edge : NULL);
    }
    if (r->token == ID) {
        size_t at = r->at;
        int line = r->line;
        const char *name = r->word;
        bool is_quoted = r->is_quoted;

        WEFT_TRY(next(r));
        if (r->token == EQUALS) { /* an attribute of the graph */
            WEFT_TRY(next(r));
            return expect(r, ID, "a value behind '='");
        }
        r->at = at; /* back to behind the name */
        r->line = line;
        r->token = ID;
        r->word = name;
        r->is_quoted = is_quoted;
    }
    WEFT_TRY(read_node(r, usual, &u));
    if (r->token == ARROW || r->token == LINE)
        return read_edges(r, usual, u);
    return read_attributes(r, &r->node.at[u].time, NULL);
}

static weft_status read_block(reader *r, defaults usual, int depth)
{
    if (depth > MOST_DEPTH)
        return weft_taskgraph_fail(r->x, r->line, "blocks nest deeper than %d levels", MOST_DEPTH);
    WEFT_TRY(expect(r, OPEN, "'{'"));
    while (r->token != CLOSE) {
        if (r->token == MARK)
            WEFT_TRY(next(r));
        else if (r->token == END)
            return weft_taskgraph_fail(r->x, r->line, "expected '}', the file ends");
        else
            WEFT_TRY(read_statement(r, &usual, depth));
    }
    return next(r);
}

/* --- the graph ------------------------------------------------------------------------------- */

static weft_status read_graph(reader *r)
{
    WEFT_TRY(next(r));
    if (is_keyword(r, "strict"))
        WEFT_TRY(next(r));
    if (is_keyword(r, "graph"))
        return weft_taskgraph_fail(r->x, r->line, "'graph' has no directions, expected 'digraph'");
    if (!is_keyword(r, "digraph"))
        return weft_taskgraph_fail(r->x, r->line, "expected 'digraph'");
    WEFT_TRY(next(r));
    if (r->token == ID) {
        r->x->name = r->word;
        WEFT_TRY(next(r));
    }
    WEFT_TRY(read_block(r, (defaults){{0}, {0}}, 0));
    return r->token == END ? WEFT_OK
                           : weft_taskgraph_fail(r->x, r->line, "expected one graph and no more");
}

weft_status weft_taskgraph_dot(weft_taskgraph *x)
{
    reader r = {.x = x, .line = 1, .index = weft_map_new(x->a)};

    x->has_bytes = true;
    WEFT_TRY(read_graph(&r));
    for (int u = 0; u < r.node.n; u++) {
        const dot_node *v = &r.node.at[u];

        if (!v->time.is_given)
            return weft_taskgraph_fail(x, v->line,
                                       "node '%.*s' has no time, expected one of time, runtime, "
                                       "duration, weight, size and cost",
                                       WEFT_SHOWN(v->name));
        WEFT_TRY(weft_taskgraph_add_task(x, v->line, v->name, v->time.number));
    }
    for (int i = 0; i < r.edge.n; i++) {
        const dot_edge *e = &r.edge.at[i];

        weft_taskgraph_add_edge(x, e->line, r.node.at[e->from].name, &r.node.at[e->to].name, 1,
                                e->bytes.number);
    }
    return WEFT_OK;
}
