/* SPDX-License-Identifier: MIT */
/* platform.c: the rows of the device models, and platforms from their parts.
 *
 * A machine grows
 * while names are checked: devices, switches and the lists that stand for several of them (the
 * kind "gpu" of gpu0, gpu1, ...) share one space of names. Finishing numbers the places, sets the
 * lower end of each link first, finds the routes and hashes the content.
 *
 * The hash covers what results depend on: devices in order with their names, models, parameters and
 * limits; switches; links; host; transfer model. Not the platform's name, not the spelling: two
 * devices written out equal one with `count: 2`. Software and host time, which came later, are part
 * of it where they are given. It is the same on every machine. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "machine.h"

/* --- models and their parameters ------------------------------------------------------------- */

#define ROW(NAME, name) [WEFT_##NAME] = &weft_device_##name,

static const weft_device_row *const models[WEFT_N_DEVICE_MODELS] = {WEFT_DEVICE_MODELS(ROW)};

const weft_device_row *weft_device_row_of(weft_device_model m)
{
    return models[m];
}

const char *weft_device_model_name(weft_device_model m)
{
    return models[m]->name;
}

const weft_param *weft_device_params(weft_device_model m, int *n)
{
    *n = models[m]->n_params;
    return models[m]->param;
}

const char *weft_param_key(weft_device_model m, int place)
{
    for (int i = 0; i < models[m]->n_params; i++)
        if (models[m]->param[i].place == place)
            return models[m]->param[i].key;
    return NULL;
}

const char *weft_transfer_name(weft_transfer t)
{
    static const char *const name[] = {
        [WEFT_OVERLAP] = "overlap",
        [WEFT_CONTEND] = "contend",
        [WEFT_BLOCK] = "block",
        [WEFT_CALLS] = "calls",
    };

    return name[t];
}

static const char *const softwares[WEFT_N_SOFTWARES] = {
    [WEFT_SOFTWARE_GRAPH] = "graph",
    [WEFT_SOFTWARE_EAGER] = "eager",
    [WEFT_SOFTWARE_FUSED] = "fused",
    [WEFT_SOFTWARE_FLASH] = "flash",
};

const char *weft_software_name(weft_software s)
{
    return softwares[s];
}

weft_software weft_software_find(const char *name)
{
    int i = 0;

    while (i < WEFT_N_SOFTWARES && strcmp(name, softwares[i]) != 0)
        i++;
    return (weft_software)i;
}

weft_design weft_design_default(weft_device_model model)
{
    weft_design d = {.name = models[model]->name, .model = model};

    for (int i = 0; i < models[model]->n_params; i++)
        d.value[models[model]->param[i].place] = models[model]->param[i].fallback;
    for (int f = 0; f < WEFT_N_FAMILIES; f++)
        d.efficiency[f] = 1;
    return d;
}

bool weft_param_is_whole(const weft_param *p)
{
    return p->unit == WEFT_UNIT_NONE && p->place != WEFT_P_ETA && p->place != WEFT_P_TILE_COST &&
           p->place != WEFT_P_CONV_EFFICIENCY && p->place != WEFT_P_ATTENTION;
}

weft_status weft_param_check(const weft_param *p, double value)
{
    bool is_low = !(value >= p->lowest);
    char shown[48], limit[48];

    weft_unit_print(value, p->unit, shown);
    if (weft_param_is_whole(p) && value != floor(value))
        return weft_fail(WEFT_E_INPUT, "%s is %s, expected a whole number", p->key, shown);
    if (!is_low && value <= p->highest)
        return WEFT_OK;
    if (is_low && p->lowest == WEFT_POSITIVE)
        return weft_fail(WEFT_E_INPUT, "%s is %s, expected more than 0", p->key, shown);
    weft_unit_print(is_low ? p->lowest : p->highest, p->unit, limit);
    return weft_fail(WEFT_E_INPUT, "%s is %s, expected at %s %s", p->key, shown,
                     is_low ? "least" : "most", limit);
}

/* --- names ----------------------------------------------------------------------------------- */

void weft_machine_init(weft_machine *m)
{
    *m = (weft_machine){.arena = weft_arena_new(), .scratch = weft_arena_new(), .host = -1};
    m->names = weft_map_new(m->scratch);
    m->lists = weft_map_new(m->scratch);
    m->pairs = weft_map_new(m->scratch);
}

void weft_machine_free(weft_machine *m)
{
    weft_arena_free(m->arena);
    weft_arena_free(m->scratch);
}

/* Names must also work in one-line notations and on the command line. */
static weft_status check_name(const char *name)
{
    size_t n = strlen(name);

    if (n == 0 || n > WEFT_LONGEST_NAME)
        return weft_fail(WEFT_E_INPUT, "the name '%.40s%s' has %zu characters, expected 1 to %d",
                         name, n > 40 ? "..." : "", n, WEFT_LONGEST_NAME);
    for (const char *p = name; *p; p++)
        if ((unsigned char)*p <= ' ' || *p == 0x7f || strchr(":;,><=*[]{}()'\"\\", *p) != NULL)
            return weft_fail(WEFT_E_INPUT,
                             "the name '%s' contains '%c', expected letters, digits, '_', '-', '.'",
                             name, *p);
    return WEFT_OK;
}

static bool is_name(const weft_machine *m, const char *name)
{
    return weft_map_get(m->names, name, strlen(name)) >= 0;
}

static int list_of(const weft_machine *m, const char *name)
{
    return weft_map_get(m->lists, name, strlen(name));
}

/* Steps over the '-' before the number at the end of a part of a name. */
static const char *over_dash(const char *at)
{
    size_t digits = *at == '-' ? strspn(at + 1, "0123456789") : 0;

    return digits > 0 && (at[1 + digits] == '.' || at[1 + digits] == '\0') ? at + 1 : at;
}

bool weft_is_copy_name(const char *name, const char *asked)
{
    if (strcmp(name, asked) == 0)
        return true;
    for (;; name++, asked++) {
        name = over_dash(name);
        asked = over_dash(asked);
        if (*name != *asked || *name == '\0')
            return *name == *asked;
    }
}

/* The name as it stands in the machine, or of the copy that was called so before; NULL: none. */
static const char *name_now(const weft_machine *m, const char *name)
{
    if (is_name(m, name) || list_of(m, name) >= 0)
        return name;
    for (int i = 0; i < m->word.n; i++)
        if (weft_is_copy_name(m->word.at[i], name))
            return m->word.at[i];
    return NULL;
}

bool weft_machine_has_name(const weft_machine *m, const char *name)
{
    return name_now(m, name) != NULL;
}

static weft_status add_name(weft_machine *m, const char *name, int place)
{
    WEFT_TRY(check_name(name));
    if (is_name(m, name) || list_of(m, name) >= 0)
        return weft_fail(WEFT_E_INPUT, "the name '%s' is used twice, expected a name of its own",
                         name);
    (void)weft_map_put(m->names, name, strlen(name), place);
    WEFT_PUSH(m->scratch, m->word, name);
    return WEFT_OK;
}

static weft_status add_to_list(weft_machine *m, const char *name, int place)
{
    int i = list_of(m, name);

    if (is_name(m, name))
        return weft_fail(WEFT_E_INPUT, "the name '%s' is used twice, expected a name of its own",
                         name);
    if (i < 0) {
        i = m->list.n;
        (void)weft_map_put(m->lists, name, strlen(name), i);
        WEFT_PUSH(m->scratch, m->list, (weft_places){0});
        WEFT_PUSH(m->scratch, m->word, name);
    }
    WEFT_PUSH(m->scratch, m->list.at[i], place);
    return WEFT_OK;
}

weft_status weft_machine_device(weft_machine *m, const weft_device *d)
{
    int place = 2 * m->device.n;

    if (m->device.n == WEFT_MOST_DEVICES)
        return weft_fail(WEFT_E_INPUT, "there are more than %d devices", WEFT_MOST_DEVICES);
    WEFT_TRY(add_name(m, d->name, place));
    if (strcmp(d->name, d->kind) != 0)
        WEFT_TRY(add_to_list(m, d->kind, place));
    WEFT_PUSH(m->scratch, m->device, *d);
    return WEFT_OK;
}

weft_status weft_machine_alias(weft_machine *m, const char *list)
{
    return add_to_list(m, list, 2 * (m->device.n - 1));
}

weft_status weft_machine_switch(weft_machine *m, const weft_switch_names *s, int group)
{
    int place = 2 * m->switch_name.n + 1;

    if (m->switch_name.n == WEFT_MOST_SWITCHES)
        return weft_fail(WEFT_E_INPUT, "there are more than %d switches", WEFT_MOST_SWITCHES);
    WEFT_TRY(add_name(m, s->name, place));
    if (strcmp(s->name, s->kind) != 0)
        WEFT_TRY(add_to_list(m, s->kind, place));
    WEFT_PUSH(m->scratch, m->switch_name, s->name);
    WEFT_PUSH(m->scratch, m->switch_old_name, s->old_name);
    WEFT_PUSH(m->scratch, m->switch_group, group);
    return WEFT_OK;
}

const char *weft_machine_name(const weft_machine *m, int place)
{
    return place % 2 == 0 ? m->device.at[place / 2].name : m->switch_name.at[place / 2];
}

static weft_status fail_unknown(const weft_machine *m, const char *name)
{
    const char *near = weft_nearest(name, m->word.at, m->word.n);

    if (near)
        return weft_fail(WEFT_E_INPUT,
                         "no device or switch is called '%.100s', expected one of this platform "
                         "(did you mean '%s'?)",
                         name, near);
    return weft_fail(WEFT_E_INPUT,
                     "no device or switch is called '%.100s', expected one of this platform", name);
}

int weft_platform_find_device(const weft_platform *p, const char *name)
{
    for (int d = 0; d < p->n_devices; d++)
        if (strcmp(p->device[d].name, name) == 0)
            return d;
    for (int d = 0; d < p->n_devices; d++)
        if (weft_is_copy_name(p->device[d].name, name))
            return d;
    return -1;
}

weft_status weft_machine_find(weft_machine *m, const char *asked, int *place)
{
    const char *name = name_now(m, asked);
    int list;

    if (name == NULL)
        return fail_unknown(m, asked);
    list = list_of(m, name);

    if (list >= 0)
        return weft_fail(WEFT_E_INPUT, "'%s' stands for %d places, expected one of them, like '%s'",
                         name, m->list.at[list].n, weft_machine_name(m, m->list.at[list].at[0]));
    *place = weft_map_get(m->names, name, strlen(name));
    return WEFT_OK;
}

weft_status weft_machine_find_all(weft_machine *m, const char *asked, weft_places *out)
{
    const char *name = name_now(m, asked);
    int list = name ? list_of(m, name) : -1, place = -1;

    if (list >= 0) {
        for (int i = 0; i < m->list.at[list].n; i++)
            WEFT_PUSH(m->scratch, *out, m->list.at[list].at[i]);
        return WEFT_OK;
    }
    WEFT_TRY(weft_machine_find(m, asked, &place));
    WEFT_PUSH(m->scratch, *out, place);
    return WEFT_OK;
}

/* --- links ----------------------------------------------------------------------------------- */

typedef struct pair {
    int low, high;
} pair;

static pair pair_of(int a, int b)
{
    return (pair){a < b ? a : b, a < b ? b : a};
}

bool weft_machine_has_link(const weft_machine *m, int a, int b)
{
    pair key = pair_of(a, b);

    return weft_map_get(m->pairs, (const char *)&key, sizeof key) >= 0;
}

weft_status weft_machine_link(weft_machine *m, const weft_link *l)
{
    pair *key;

    assert(l->bytes_per_s > 0 && l->latency_s >= 0);
    if (l->a == l->b)
        return weft_fail(WEFT_E_INPUT, "a link connects '%s' with itself",
                         weft_machine_name(m, l->a));
    if (weft_machine_has_link(m, l->a, l->b))
        return weft_fail(WEFT_E_INPUT, "'%s' and '%s' are linked twice", weft_machine_name(m, l->a),
                         weft_machine_name(m, l->b));
    if (m->link.n == WEFT_MOST_LINKS)
        return weft_fail(WEFT_E_INPUT, "there are more than %d links, use switches",
                         WEFT_MOST_LINKS);
    key = WEFT_NEW(m->scratch, pair, 1);
    *key = pair_of(l->a, l->b);
    (void)weft_map_put(m->pairs, (const char *)key, sizeof *key, m->link.n);
    WEFT_PUSH(m->scratch, m->link, *l);
    return WEFT_OK;
}

int weft_machine_hop(const weft_machine *m, int a, int b)
{
    pair key = pair_of(a, b);
    int k = weft_map_get(m->pairs, (const char *)&key, sizeof key);

    return k < 0 ? -1 : 2 * k + (m->link.at[k].a != a);
}

/* --- curves and resources -------------------------------------------------------------------- */

static bool is_same_curve(const weft_link_curve *a, const weft_link_curve *b)
{
    if (a->n != b->n)
        return false;
    for (int i = 0; i < a->n; i++)
        if (a->bytes[i] != b->bytes[i] || a->seconds[i] != b->seconds[i])
            return false;
    return true;
}

weft_status weft_machine_curve(weft_machine *m, const weft_link_curve *c, int *number)
{
    for (*number = 1; *number <= m->curve.n; ++*number)
        if (is_same_curve(&m->curve.at[*number - 1], c))
            return WEFT_OK;
    if (m->curve.n == WEFT_MOST_CURVES)
        return weft_fail(WEFT_E_INPUT, "there are more than %d different curves", WEFT_MOST_CURVES);
    WEFT_PUSH(m->scratch, m->curve, *c);
    return WEFT_OK;
}

int weft_machine_resource(weft_machine *m, const char *name, double bytes_per_s)
{
    WEFT_PUSH(m->scratch, m->resource, ((weft_resource){name, bytes_per_s}));
    return m->resource.n - 1;
}

void weft_machine_use(weft_machine *m, int hop, int resource)
{
    WEFT_PUSH(m->scratch, m->use, ((weft_use){hop, resource}));
}

/* --- hash ------------------------------------------------------------------------------------ */

static void mix(uint64_t *h, uint64_t x)
{
    *h = (*h ^ x) * 0x9e3779b97f4a7c15u;
    *h ^= *h >> 29;
}

static void mix_text(uint64_t *h, const char *text)
{
    uint64_t of_text = 0xcbf29ce484222325u; /* FNV-1a */
    size_t n = strlen(text);

    for (size_t i = 0; i < n; i++)
        of_text = (of_text ^ (unsigned char)text[i]) * 0x100000001b3u;
    mix(h, of_text);
    mix(h, n);
}

static void mix_real(uint64_t *h, double value)
{
    uint64_t bits;
    double plain = value + 0.0; /* one zero */

    memcpy(&bits, &plain, sizeof bits);
    mix(h, bits);
}

/* Does a platform without it have the hash it had before the model got this parameter? */
static bool is_late(weft_device_model model, int place)
{
    bool is_peak = place >= WEFT_P_PEAK_F64 && place <= WEFT_P_PEAK_INT8;

    return place == WEFT_P_MEMORY_HALF || place == WEFT_P_HOST_TIME || place == WEFT_P_BLOCKING ||
           place == WEFT_P_CONV_EFFICIENCY || place == WEFT_P_STEP || place == WEFT_P_ALIGN ||
           place == WEFT_P_ATTENTION ||
           (model == WEFT_ROOFLINE && (is_peak || place == WEFT_P_USE_TF32));
}

static void mix_design(uint64_t *h, const weft_design *d)
{
    const weft_device_row *model = models[d->model];
    const char *slash = d->profile ? strrchr(d->profile, '/') : NULL;
    uint64_t only = 0; /* a sum: the order of operators does not matter */

    mix_text(h, d->name);
    mix_text(h, model->name);
    for (int i = 0; i < model->n_params; i++) {
        const weft_param *p = &model->param[i];

        if (is_late(d->model, p->place) && d->value[p->place] == p->fallback)
            continue;
        mix_text(h, p->key);
        mix_real(h, d->value[p->place]);
    }
    for (int f = 0; f < WEFT_N_FAMILIES; f++)
        mix_real(h, d->efficiency[f]);
    for (int i = 0; i < d->n_only; i++) {
        uint64_t one = 1;

        mix_text(&one, d->only[i]);
        only += one;
    }
    mix(h, only);
    mix_text(h, slash ? slash + 1 : d->profile ? d->profile : ""); /* wherever the folder is */
}

static void mix_device(uint64_t *h, const weft_device *d)
{
    mix_text(h, d->old_name ? d->old_name : d->name);
    mix_real(h, d->memory_bytes);
    mix_real(h, d->power_w);
    mix_real(h, d->idle_w);
    if (d->switch_s > 0) {
        mix_text(h, "switch");
        mix_real(h, d->switch_s);
    }
    mix(h, (uint64_t)d->n_designs);
    for (int i = 0; i < d->n_designs; i++)
        mix_design(h, &d->design[i]);
}

/* Nothing where there are none, so that the hash of such a platform stays. */
static void mix_curves(uint64_t *h, const weft_platform *p)
{
    for (int k = 0; k < p->n_links && p->n_curves > 0; k++) {
        const weft_link_curve *c = p->link[k].curve ? &p->curve[p->link[k].curve - 1] : NULL;

        mix(h, c ? (uint64_t)c->n : 0);
        for (int i = 0; c && i < c->n; i++) {
            mix_real(h, c->bytes[i]);
            mix_real(h, c->seconds[i]);
        }
    }
}

static void mix_resources(uint64_t *h, const weft_platform *p)
{
    for (int r = 0; r < p->n_resources; r++)
        mix_real(h, p->resource[r].bytes_per_s);
    for (int hop = 0; hop < 2 * p->n_links && p->n_resources > 0; hop++)
        for (int k = p->use_at[hop]; k < p->use_at[hop + 1]; k++) {
            mix(h, (uint64_t)hop);
            mix(h, (uint64_t)p->use[k]);
        }
}

static uint64_t hash_of(const weft_platform *p, const char *const *switch_old_name)
{
    uint64_t h = 0;

    mix(&h, (uint64_t)p->n_devices);
    for (int d = 0; d < p->n_devices; d++)
        mix_device(&h, &p->device[d]);
    mix(&h, (uint64_t)p->n_switches);
    for (int i = 0; i < p->n_switches; i++)
        mix_text(&h, switch_old_name[i]);
    mix(&h, (uint64_t)p->n_links);
    for (int k = 0; k < p->n_links; k++) {
        mix(&h, (uint64_t)p->link[k].a << 32 | (uint64_t)p->link[k].b);
        mix_real(&h, p->link[k].bytes_per_s);
        mix_real(&h, p->link[k].latency_s);
        mix(&h, p->link[k].is_half_duplex);
    }
    mix(&h, (uint64_t)(p->host + 1));
    mix_text(&h, weft_transfer_name(p->transfer));
    mix(&h, p->hides);
    if (p->has_trees)
        mix_text(&h, "best");
    mix_curves(&h, p);
    mix_resources(&h, p);
    if (p->software != WEFT_SOFTWARE_GRAPH)
        mix_text(&h, weft_software_name(p->software));
    return h;
}

/* --- finish ---------------------------------------------------------------------------------- */

static const weft_link *numbered_links(const weft_machine *m)
{
    weft_link *link = WEFT_NEW(m->arena, weft_link, m->link.n);

    for (int k = 0; k < m->link.n; k++) {
        const weft_link *l = &m->link.at[k];
        int a = l->a / 2 + (l->a % 2 ? m->device.n : 0);
        int b = l->b / 2 + (l->b % 2 ? m->device.n : 0);

        link[k] = *l;
        link[k].a = a < b ? a : b;
        link[k].b = a < b ? b : a;
    }
    return link;
}

static void *copied(weft_arena *a, const void *from, int n, size_t size)
{
    return n > 0 ? weft_arena_copy(a, from, (size_t)n * size) : NULL;
}

/* The direction of a link after its ends have changed places, or not. */
static int numbered_hop(const weft_machine *m, const weft_platform *p, int hop)
{
    int a = m->link.at[hop / 2].a;

    return hop ^ (p->link[hop / 2].a != a / 2 + (a % 2 ? m->device.n : 0));
}

static void list_uses(const weft_machine *m, weft_platform *p)
{
    int *at = WEFT_NEW(m->arena, int, 2 * p->n_links + 2), *use;

    for (int i = 0; i < m->use.n; i++)
        at[numbered_hop(m, p, m->use.at[i].hop) + 2]++;
    for (int hop = 0; hop < 2 * p->n_links; hop++)
        at[hop + 2] += at[hop + 1];
    use = WEFT_NEW(m->arena, int, m->use.n);
    for (int i = 0; i < m->use.n; i++)
        use[at[numbered_hop(m, p, m->use.at[i].hop) + 1]++] = m->use.at[i].resource;
    p->use_at = at;
    p->use = use;
}

weft_status weft_machine_finish(weft_machine *m, weft_platform **out)
{
    weft_arena *a = m->arena;
    weft_platform *p = WEFT_NEW(a, weft_platform, 1);

    if (m->device.n == 0)
        return weft_fail(WEFT_E_INPUT, "there are no devices, expected at least one");
    p->name = m->name;
    p->source = m->source;
    p->n_devices = m->device.n;
    p->n_switches = m->switch_name.n;
    p->n_links = m->link.n;
    p->device = copied(a, m->device.at, m->device.n, sizeof *m->device.at);
    p->switch_name = copied(a, m->switch_name.at, m->switch_name.n, sizeof *m->switch_name.at);
    p->switch_group = copied(a, m->switch_group.at, m->switch_group.n, sizeof(int));
    p->link = numbered_links(m);
    p->n_curves = m->curve.n;
    p->curve = copied(a, m->curve.at, m->curve.n, sizeof *m->curve.at);
    p->n_resources = m->resource.n;
    p->resource = copied(a, m->resource.at, m->resource.n, sizeof *m->resource.at);
    if (p->n_resources > 0)
        list_uses(m, p);
    p->host = m->host;
    p->transfer = m->transfer;
    p->software = m->software;
    p->hides = m->hides;
    p->calibrated = m->calibrated;
    p->has_trees = m->has_trees;
    p->arena = a;
    p->hash = hash_of(p, m->switch_old_name.at);
    weft_platform_find_routes(p);
    m->arena = NULL;
    *out = p;
    return WEFT_OK;
}

void weft_platform_free(weft_platform *p)
{
    if (p)
        weft_arena_free(p->arena);
}

weft_status weft_platform_unmeasured(const weft_platform *p, const char *what)
{
    for (int d = 0; d < p->n_devices; d++)
        for (int i = 0; i < p->device[d].n_designs; i++)
            if (p->device[d].design[i].profile != NULL)
                return weft_fail(WEFT_E_INPUT,
                                 "device '%s' has measured times (profile: %s), which say nothing "
                                 "about %s: leave 'profile' out, weft place takes it",
                                 p->device[d].name, p->device[d].design[i].profile, what);
    return WEFT_OK;
}
