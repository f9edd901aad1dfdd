/* SPDX-License-Identifier: MIT */
/* platform_text.c: the one-line notation of platforms.
 *
 *   platform = (device | setting)* [";" (link | setting)*]
 *   device   = [count "*"] name ["(" value ("," value)* ")"]
 *   value    = ("flops" | "bw" | "mem" | "overhead") "=" quantity
 *   link     = (name "-" name | "*") ":" bandwidth ["," latency]
 *   setting  = "@overlap" | "@contend" | "@block" | "host" "=" name
 *
 * "2*cpu(flops=1) gpu(flops=4,bw=2,mem=8); cpu0-gpu:8,1us @contend host=cpu0"
 *
 * Names are letters, digits, '_' and '.', beginning with a letter. Devices are rooflines: flops a
 * second (1 if not given), bytes a second of their memory and bytes of it (not limited if not
 * given), overhead of an operator (0). "2*cpu" makes cpu0 and cpu1. "*" links all pairs of devices
 * that have no link so far. Quantities may have units ("bw=12GB/s"); plain numbers are bytes a
 * second, bytes and seconds. Unlike in files, devices may be left unconnected. */
#include <math.h>
#include <string.h>

#include "machine.h"
#include "platform_text.h"
#include "scan.h"

typedef struct parser {
    weft_scan scan;
    weft_machine m;
} parser;

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A name of this notation; unlike weft_scan_name it ends before '-'. */
static weft_status parse_name(parser *p, const char **out)
{
    const char *first;

    if (weft_scan_end(&p->scan) || !is_letter(*p->scan.at))
        return weft_scan_fail(&p->scan, "a name");
    first = p->scan.at;
    while (is_letter(*p->scan.at) || is_digit(*p->scan.at) || *p->scan.at == '.')
        p->scan.at++;
    *out = weft_arena_text(p->m.arena, first, (size_t)(p->scan.at - first));
    return WEFT_OK;
}

static weft_status need_mark(parser *p, char mark)
{
    const char text[] = {'\'', mark, '\'', '\0'};

    return weft_scan_mark(&p->scan, mark) ? WEFT_OK : weft_scan_fail(&p->scan, text);
}

/* A quantity from `lowest` on; `what` names it in messages. */
static weft_status parse_quantity(parser *p, const char *what, weft_unit unit, double lowest,
                                  double *out)
{
    const char *text;
    size_t n;

    WEFT_TRY(weft_scan_name(&p->scan, &text, &n));
    text = weft_arena_text(p->m.scratch, text, n);
    if (weft_unit_parse(text, unit, true, out) != WEFT_OK)
        return weft_fail(WEFT_E_INPUT, "%s: %s", what, weft_message());
    if (!(*out >= lowest))
        return weft_fail(WEFT_E_INPUT, "%s is %s, expected %s", what, text,
                         lowest > 0 ? "more than 0" : "at least 0");
    return WEFT_OK;
}

static weft_status parse_value(parser *p, weft_device *d, weft_design *design)
{
    static const char *const keys[] = {"flops", "bw", "mem", "overhead"};
    const weft_unit units[] = {WEFT_UNIT_FLOPS, WEFT_UNIT_BYTES_PER_S, WEFT_UNIT_BYTES,
                               WEFT_UNIT_SECONDS};
    const double lowest[] = {WEFT_POSITIVE, WEFT_POSITIVE, 0, 0};
    double *const to[] = {&design->value[WEFT_P_FLOPS], &design->value[WEFT_P_BANDWIDTH],
                          &d->memory_bytes, &design->value[WEFT_P_OVERHEAD]};
    const char *key = NULL, *near;

    WEFT_TRY(parse_name(p, &key));
    WEFT_TRY(need_mark(p, '='));
    for (int i = 0; i < 4; i++)
        if (strcmp(key, keys[i]) == 0)
            return parse_quantity(p, key, units[i], lowest[i], to[i]);
    near = weft_nearest(key, keys, 4);
    return weft_fail(WEFT_E_INPUT, "a device has no value '%.60s', expected %s", key,
                     near ? near : "flops, bw, mem or overhead");
}

static weft_status parse_values(parser *p, weft_device *d, weft_design *design)
{
    if (!weft_scan_mark(&p->scan, '('))
        return WEFT_OK;
    do
        WEFT_TRY(parse_value(p, d, design));
    while (weft_scan_mark(&p->scan, ','));
    return need_mark(p, ')');
}

static weft_status parse_count(parser *p, int *out)
{
    int64_t n = 0;

    *out = 0;
    if (weft_scan_end(&p->scan) || !is_digit(*p->scan.at))
        return WEFT_OK;
    WEFT_TRY(weft_scan_count(&p->scan, &n));
    if (n < 1 || n > WEFT_MOST_DEVICES)
        return weft_fail(WEFT_E_INPUT, "a device is repeated %lld times, expected 1 to %d",
                         (long long)n, WEFT_MOST_DEVICES);
    *out = (int)n;
    return need_mark(p, '*');
}

/* The device whose name was just read, `count` times (0: once, without a number). */
static weft_status parse_device(parser *p, const char *name, int count)
{
    weft_design *design = WEFT_NEW(p->m.arena, weft_design, 1);
    weft_device d = {.kind = name, .n_designs = 1, .design = design, .memory_bytes = INFINITY};

    *design = weft_design_default(WEFT_ROOFLINE);
    design->value[WEFT_P_FLOPS] = 1;
    design->value[WEFT_P_BANDWIDTH] = WEFT_UNLIMITED;
    WEFT_TRY(parse_values(p, &d, design));
    for (int i = 0; i < (count ? count : 1); i++) {
        d.name = count ? weft_arena_print(p->m.arena, "%s%d", name, i) : name;
        WEFT_TRY(weft_machine_device(&p->m, &d));
    }
    return WEFT_OK;
}

/* ":8,1us": bandwidth and perhaps latency. */
static weft_status parse_speed(parser *p, weft_link *l)
{
    WEFT_TRY(need_mark(p, ':'));
    WEFT_TRY(parse_quantity(p, "bandwidth", WEFT_UNIT_BYTES_PER_S, WEFT_POSITIVE, &l->bytes_per_s));
    if (weft_scan_mark(&p->scan, ','))
        WEFT_TRY(parse_quantity(p, "latency", WEFT_UNIT_SECONDS, 0, &l->latency_s));
    return WEFT_OK;
}

static weft_status parse_link(parser *p, const char *from)
{
    const char *to = NULL;
    weft_link l = {0};

    WEFT_TRY(need_mark(p, '-'));
    WEFT_TRY(parse_name(p, &to));
    WEFT_TRY(weft_machine_find(&p->m, from, &l.a));
    WEFT_TRY(weft_machine_find(&p->m, to, &l.b));
    WEFT_TRY(parse_speed(p, &l));
    return weft_machine_link(&p->m, &l);
}

/* "*:8,1us" after its star. */
static weft_status parse_mesh(parser *p)
{
    weft_link l = {0};

    WEFT_TRY(parse_speed(p, &l));
    for (int a = 0; a < p->m.device.n; a++)
        for (int b = a + 1; b < p->m.device.n; b++) {
            l.a = 2 * a;
            l.b = 2 * b;
            if (!weft_machine_has_link(&p->m, l.a, l.b))
                WEFT_TRY(weft_machine_link(&p->m, &l));
        }
    return WEFT_OK;
}

/* "@contend" after its mark. */
static weft_status parse_transfer(parser *p)
{
    const char *word = "";

    WEFT_TRY(parse_name(p, &word));
    for (int t = WEFT_OVERLAP; t <= WEFT_CALLS; t++)
        if (strcmp(word, weft_transfer_name((weft_transfer)t)) == 0) {
            p->m.transfer = (weft_transfer)t;
            return WEFT_OK;
        }
    return weft_fail(WEFT_E_INPUT,
                     "'@%.60s' is unknown, expected @overlap, @contend, @block or @calls", word);
}

/* "host=cpu0" after its '='. */
static weft_status parse_host(parser *p)
{
    const char *name = NULL;
    int place = 0;

    WEFT_TRY(parse_name(p, &name));
    WEFT_TRY(weft_machine_find(&p->m, name, &place));
    p->m.host = place / 2;
    return WEFT_OK;
}

static weft_status parse_item(parser *p, bool is_link)
{
    const char *name = "";
    int count = 0;

    if (weft_scan_mark(&p->scan, '@'))
        return parse_transfer(p);
    if (is_link && weft_scan_mark(&p->scan, '*'))
        return parse_mesh(p);
    if (!is_link)
        WEFT_TRY(parse_count(p, &count));
    WEFT_TRY(parse_name(p, &name));
    if (count == 0 && strcmp(name, "host") == 0 && weft_scan_mark(&p->scan, '='))
        return parse_host(p);
    return is_link ? parse_link(p, name) : parse_device(p, name, count);
}

static weft_status parse(parser *p, weft_platform **out)
{
    bool is_link = false;

    while (!weft_scan_end(&p->scan)) {
        if (!is_link && weft_scan_mark(&p->scan, ';'))
            is_link = true;
        else
            WEFT_TRY(parse_item(p, is_link));
    }
    if (p->m.transfer == WEFT_CALLS && p->m.host < 0)
        return weft_fail(WEFT_E_INPUT, "'@calls' needs a host that calls, expected host=DEVICE");
    return weft_machine_finish(&p->m, out);
}

weft_status weft_platform_notation(const char *text, weft_platform **out)
{
    parser p = {
        .scan = {text, text, "in the notation"}
    };
    weft_status status;

    weft_machine_init(&p.m);
    p.m.name = "notation";
    p.m.source = weft_arena_text(p.m.arena, text, strlen(text));
    status = parse(&p, out);
    weft_machine_free(&p.m);
    return status == WEFT_OK ? status : weft_fail_in(status, "platform");
}
