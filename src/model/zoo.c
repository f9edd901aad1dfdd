/* SPDX-License-Identifier: MIT */
/* zoo.c: the built-in models: their list, parameters and variants, and the values, weights and
 * operators of which their scripts (models/) put them together.
 *
 * Scripts are done twice: what stands before the block of a model declares parameters, which then
 * get their values from the user; the block makes operators of ONNX (opset 20), whose shapes follow
 * by inference in the net. The first failure ends the script.
 *
 * Names are unique: each ends in a running number. Parameters are called "w/<name>_<number>",
 * constants with known elements "c/<number>", operators and their results "<operator>_<number>". */
#include "zoo.h"

#include "platform.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST_WHOLE 9007199254740992.0 /* 2^53: whole numbers below are exact */

enum { OPSET = 20, FIELD_BYTES = 8 };

/* --- arguments ------------------------------------------------------------------------------- */

static weft_script_value need(weft_zoo *z, const weft_script_args *args, int i,
                              weft_script_kind kind)
{
    static const char *const kinds[] = {"nothing", "a whole number", "a number",
                                        "a text",  "a tensor",       "a list"};
    bool is_there = i < args->n + args->n_named;

    if (is_there && args->at[i].kind == kind)
        return args->at[i];
    if (!weft_script_is_over(z->script))
        weft_script_stop(z->script,
                         weft_fail(WEFT_E_INPUT, "argument %d of %s is %s, expected %s", i + 1,
                                   args->name, is_there ? kinds[args->at[i].kind] : "missing",
                                   kinds[kind]));
    return kind == WEFT_SCRIPT_LIST ? weft_script_list_new(z->script)
                                    : (weft_script_value){.kind = kind, .text = ""};
}

int64_t weft_zoo_int_of(weft_zoo *z, const weft_script_args *args, int i)
{
    return need(z, args, i, WEFT_SCRIPT_INT).i;
}

const char *weft_zoo_text_of(weft_zoo *z, const weft_script_args *args, int i)
{
    return need(z, args, i, WEFT_SCRIPT_TEXT).text;
}

static double real_of(const weft_script_args *args, int i)
{
    return i < args->n ? args->at[i].f : NAN;
}

/* Argument i as a name that lives as long as the net. */
static const char *name_of(weft_zoo *z, const weft_script_args *args, int i)
{
    const char *text = weft_zoo_text_of(z, args, i);

    return weft_arena_text(weft_net_arena(z->net), text, strlen(text));
}

/* The type that argument i names; that of the network if there is none. */
static weft_dtype type_of(weft_zoo *z, const weft_script_args *args, int i)
{
    return i < args->n ? weft_dtype_find(weft_zoo_text_of(z, args, i)) : z->type;
}

/* --- values ---------------------------------------------------------------------------------- */

/* A list of whole numbers that lives as long as the net. */
static const int64_t *ints_of(weft_zoo *z, const weft_script_list *list)
{
    int64_t *to = WEFT_NEW(weft_net_arena(z->net), int64_t, list->item.n + 1);

    for (int i = 0; i < list->item.n; i++)
        to[i] = list->item.at[i].i;
    return to;
}

/* The shape that argument i lists; fails if a dimension is not positive or the tensor is beyond
 * counting. */
static weft_shape shape_of(weft_zoo *z, const weft_script_args *args, int i, const char *name)
{
    const weft_script_list *list = need(z, args, i, WEFT_SCRIPT_LIST).list;
    weft_shape shape = {.rank = list->item.n};
    weft_status status = WEFT_OK;
    char text[192];

    for (int d = 0; d < shape.rank; d++) {
        shape.dim[d] = list->item.at[d].i;
        if (shape.dim[d] < 1)
            status =
                weft_fail(WEFT_E_INPUT, "dimension %d of '%s' would be %lld, must be at least 1", d,
                          name, (long long)shape.dim[d]);
    }
    if (status == WEFT_OK && weft_shape_elements(&shape) < 0)
        status = weft_fail(WEFT_E_INPUT, "tensor '%s' would be %s: too large", name,
                           weft_shape_print(&shape, text));
    weft_script_stop(z->script, status);
    return shape;
}

void weft_zoo_input(weft_zoo *z, const weft_script_args *args, weft_script_value *out)
{
    const char *name = name_of(z, args, 0);
    weft_value input = {.type = type_of(z, args, 2), .shape = shape_of(z, args, 1, name)};
    int value = -1;

    if (!weft_script_is_over(z->script))
        weft_script_stop(z->script, weft_net_input(z->net, name, &input, &value));
    *out = weft_script_tensor(value);
}

static weft_script_value add_constant(weft_zoo *z, const char *name, weft_value constant)
{
    int value = -1;

    if (!weft_script_is_over(z->script))
        weft_script_stop(z->script, weft_net_constant(z->net, name, &constant, &value));
    return weft_script_tensor(value);
}

void weft_zoo_weight(weft_zoo *z, const weft_script_args *args, weft_script_value *out)
{
    const char *name = weft_arena_print(weft_net_arena(z->net), "w/%s_%d",
                                        weft_zoo_text_of(z, args, 0), z->n_made);
    weft_value weight = {
        .type = z->type, .shape = shape_of(z, args, 1, name), .is_parameter = true};

    z->n_made++;
    *out = add_constant(z, name, weight);
}

/* A constant whose elements are not known and that is no parameter. */
void weft_zoo_fixed(weft_zoo *z, const weft_script_args *args, weft_script_value *out)
{
    const char *name = name_of(z, args, 0);

    *out = add_constant(
        z, name, (weft_value){.type = type_of(z, args, 2), .shape = shape_of(z, args, 1, name)});
}

/* A constant with known elements: a whole number, a list of them, or a number of the network's
 * type. A network of an integer type holds whole constants, masks of -infinity clipped. */
static weft_script_value constant(weft_zoo *z, weft_script_value v)
{
    weft_literal *literal = WEFT_NEW(weft_net_arena(z->net), weft_literal, 1);
    weft_value value = {.type = WEFT_I64, .data = literal};
    bool is_list = v.kind == WEFT_SCRIPT_LIST;
    int64_t *whole = WEFT_NEW(weft_net_arena(z->net), int64_t, 1);

    literal->n = is_list ? v.list->item.n : 1;
    literal->ints = is_list ? ints_of(z, v.list) : whole;
    *whole = v.i;
    if (is_list)
        value.shape = (weft_shape){.rank = 1, .dim = {literal->n}};
    if (v.kind == WEFT_SCRIPT_REAL) {
        value.type = z->type;
        *whole = (int64_t)fmax(-LARGEST_WHOLE, fmin(LARGEST_WHOLE, v.f));
    }
    if (v.kind == WEFT_SCRIPT_REAL && weft_dtype_is_float(z->type))
        *literal = (weft_literal){
            .n = 1, .reals = weft_arena_copy(weft_net_arena(z->net), &v.f, sizeof v.f)};
    return add_constant(z, weft_arena_print(weft_net_arena(z->net), "c/%d", z->n_made++), value);
}

void weft_zoo_constant(weft_zoo *z, const weft_script_args *args, weft_script_value *out)
{
    *out = constant(z, args->at[0]);
}

/* Dimension d of a value; negative d count from the end. */
void weft_zoo_dim(weft_zoo *z, const weft_script_args *args, weft_script_value *out)
{
    int64_t d = weft_zoo_int_of(z, args, 1), value = need(z, args, 0, WEFT_SCRIPT_TENSOR).i;
    const weft_shape *shape;

    *out = weft_script_int(0);
    if (weft_script_is_over(z->script))
        return;
    shape = &weft_net_value(z->net, (int)value)->shape;
    d += d < 0 ? shape->rank : 0;
    if (d >= 0 && d < shape->rank)
        *out = weft_script_int(shape->dim[d]);
}

/* --- operators ------------------------------------------------------------------------------- */

typedef WEFT_VEC(int) operands;

static void add_operand(weft_zoo *z, weft_script_value v, operands *to)
{
    bool is_tensors = v.kind == WEFT_SCRIPT_LIST && v.list->item.n > 0 &&
                      v.list->item.at[0].kind == WEFT_SCRIPT_TENSOR;

    for (int i = 0; is_tensors && i < v.list->item.n; i++)
        WEFT_PUSH(z->arena, *to, (int)v.list->item.at[i].i);
    if (is_tensors)
        return;
    if (v.kind != WEFT_SCRIPT_TENSOR && v.kind != WEFT_SCRIPT_NONE)
        v = constant(z, v);
    WEFT_PUSH(z->arena, *to, v.kind == WEFT_SCRIPT_NONE ? -1 : (int)v.i);
}

static weft_attr attribute(weft_zoo *z, const char *name, weft_script_value v)
{
    switch (v.kind) {
    case WEFT_SCRIPT_TEXT:
        return (weft_attr){.name = name, .kind = WEFT_ATTR_TEXT, .s = v.text};
    case WEFT_SCRIPT_REAL:
        return (weft_attr){.name = name, .kind = WEFT_ATTR_REAL, .f = v.f};
    case WEFT_SCRIPT_LIST:
        return (weft_attr){
            .name = name, .kind = WEFT_ATTR_INTS, .n = v.list->item.n, .ints = ints_of(z, v.list)};
    default:
        return (weft_attr){.name = name, .kind = WEFT_ATTR_INT, .i = v.i};
    }
}

/* "GlobalAveragePool" and 7 give "global_average_pool_7". */
static const char *layer_name(weft_arena *a, const char *op, int number)
{
    size_t length = strlen(op), n = 0;
    char *snake = WEFT_NEW(a, char, 2 * length + 1);

    for (size_t i = 0; i < length; i++) {
        if (i > 0 && isupper((unsigned char)op[i]) && islower((unsigned char)op[i - 1]))
            snake[n++] = '_';
        snake[n++] = (char)tolower((unsigned char)op[i]);
    }
    return weft_arena_print(a, "%s_%d", snake, number);
}

/* The last results of the operator take the place of inputs "past_key_values...": they are outputs,
 * and called "present...". */
static void name_kept(weft_zoo *z, const weft_script_list *pasts, int n_results, const char **name)
{
    static const char past[] = "past_key_values", present[] = "present";

    for (int i = 0; i < pasts->item.n && i < n_results; i++) {
        const char *of = weft_net_name(z->net, (int)pasts->item.at[i].i);
        bool is_past = strncmp(of, past, sizeof past - 1) == 0;

        name[n_results - pasts->item.n + i] = weft_arena_print(
            weft_net_arena(z->net), "%s%s", present, is_past ? of + sizeof past - 1 : of);
    }
}

/* Adds the node and gives its result, or a list of n_results if these are asked for. */
static weft_script_value add_node(weft_zoo *z, weft_net_op *op, bool is_list,
                                  const weft_script_list *keeps)
{
    weft_arena *a = weft_net_arena(z->net);
    const char **names = WEFT_NEW(a, const char *, op->n_results);
    int *results = WEFT_NEW(z->arena, int, op->n_results);
    weft_script_value list = weft_script_list_new(z->script);

    if (weft_script_is_over(z->script))
        return list;
    op->node.name = layer_name(a, op->node.op, z->n_made++);
    for (int i = 0; i < op->n_results; i++)
        names[i] =
            op->n_results == 1 ? op->node.name : weft_arena_print(a, "%s.%d", op->node.name, i);
    if (keeps != NULL)
        name_kept(z, keeps, op->n_results, names);
    op->result_name = names;
    weft_script_stop(z->script, weft_net_node(z->net, op, results));
    for (int i = 0; i < op->n_results; i++)
        weft_script_push(z->script, list, weft_script_tensor(results[i]));
    for (int i = 0; keeps != NULL && i < keeps->item.n && !weft_script_is_over(z->script); i++)
        weft_net_output(z->net, results[op->n_results - keeps->item.n + i]);
    return is_list ? list : weft_script_tensor(results[0]);
}

/* Arguments by name that are no attributes: results (how many there are), domain, keeps (inputs of
 * which the last results take the place). */
static bool set_special(weft_zoo *z, const char *key, weft_script_value v, weft_net_op *op,
                        const weft_script_list **keeps)
{
    bool is_domain = strcmp(key, "domain") == 0, is_keeps = strcmp(key, "keeps") == 0;

    if (strcmp(key, "results") == 0)
        op->n_results = (int)v.i;
    if (is_domain) {
        op->node.domain = weft_arena_word(weft_net_arena(z->net), v.text);
        op->node.opset = 1;
    }
    if (is_keeps)
        *keeps = v.list;
    return is_domain || is_keeps || strcmp(key, "results") == 0;
}

/* Operands are tensors, lists of them, none, or constants; arguments by name are attributes, but
 * for the special ones. */
void weft_zoo_operator(weft_zoo *z, const weft_script_args *args, weft_script_value *out)
{
    weft_attr attr[WEFT_SCRIPT_ARGS];
    weft_net_op op = {
        .node = {.op = args->name,
                 .domain = "",
                 .opset = OPSET,
                 .attr = attr,
                 .forward = -1,
                 .wrt = -1},
        .n_results = 1,
    };
    const weft_script_list *keeps = NULL;
    operands arg = {0};
    bool is_list = false;

    for (int i = 0; i < args->n; i++)
        add_operand(z, args->at[i], &arg);
    while (arg.n > 0 && arg.at[arg.n - 1] < 0)
        arg.n--;
    for (int i = 0; i < args->n_named; i++) {
        weft_script_value v = args->at[args->n + i];

        if (!set_special(z, args->key[i], v, &op, &keeps))
            attr[op.node.n_attrs++] = attribute(z, args->key[i], v);
        is_list = is_list || strcmp(args->key[i], "results") == 0;
    }
    op.arg = arg.at;
    op.n_args = arg.n;
    *out = add_node(z, &op, is_list, keeps);
}

/* --- parameters ------------------------------------------------------------------------------ */

static void add_option(weft_zoo *z, weft_option_kind kind, const weft_script_args *args)
{
    bool is_text = kind == WEFT_OPTION_TEXT, is_flag = kind == WEFT_OPTION_FLAG;
    weft_option o = {.kind = kind,
                     .name = weft_zoo_text_of(z, args, 0),
                     .offset = (size_t)z->option.n * FIELD_BYTES,
                     .help = weft_zoo_text_of(z, args, args->n - 1)};

    if (is_text) {
        o.text = weft_zoo_text_of(z, args, 1);
        o.choices = weft_zoo_text_of(z, args, 2);
    } else {
        o.fallback = real_of(args, 1);
        o.lowest = is_flag ? 0 : real_of(args, 2);
        o.highest = is_flag ? 1 : real_of(args, 3);
    }
    WEFT_PUSH(z->arena, z->option, o);
}

/* parameter(name, default, lowest, highest, help), or (name, default, choices, help) of a text. */
static void parameter(weft_zoo *z, const weft_script_args *args, weft_script_value *out)
{
    weft_script_kind kind = args->n > 1 ? args->at[1].kind : WEFT_SCRIPT_INT;

    (void)out;
    add_option(z,
               kind == WEFT_SCRIPT_TEXT   ? WEFT_OPTION_TEXT
               : kind == WEFT_SCRIPT_REAL ? WEFT_OPTION_REAL
                                          : WEFT_OPTION_INT,
               args);
}

/* flag(name, default, help) */
static void flag(weft_zoo *z, const weft_script_args *args, weft_script_value *out)
{
    (void)out;
    add_option(z, WEFT_OPTION_FLAG, args);
}

/* variant(name, "layers=12,hidden=768") */
static void variant(weft_zoo *z, const weft_script_args *args, weft_script_value *out)
{
    (void)out;
    WEFT_PUSH(z->arena, z->variant, weft_zoo_text_of(z, args, 0));
    WEFT_PUSH(z->arena, z->size, weft_zoo_text_of(z, args, 1));
}

/* "a|b|c", or NULL if there are none. */
static const char *variant_names(const weft_zoo *z)
{
    const char *all = NULL;

    for (int i = 0; i < z->variant.n; i++)
        all = all ? weft_arena_print(z->arena, "%s|%s", all, z->variant.at[i]) : z->variant.at[i];
    return all;
}

/* "xl,seq=512": a variant first, then parameters. */
static weft_status set_parameters(const weft_zoo *z, const char *text, void *fields)
{
    const weft_option *table = z->option.at;
    char *first = weft_arena_text(z->arena, text, strcspn(text, ","));
    int known = 0;

    weft_options_default(table, fields);
    while (known < z->variant.n && strcmp(z->variant.at[known], first) != 0)
        known++;
    if (*first != '\0' && strchr(first, '=') == NULL) {
        const weft_option *flag = weft_option_find(table, first);

        if (known < z->variant.n) {
            WEFT_TRY(weft_options_parse(table, fields, z->size.at[known], z->arena));
            text += strlen(first) + (text[strlen(first)] == ',');
        } else if (flag == NULL || flag->kind != WEFT_OPTION_FLAG) {
            return weft_fail(WEFT_E_INPUT, "'%s' is not a variant, expected %s", first,
                             z->variant.n > 0 ? variant_names(z) : "name=value");
        }
    }
    return weft_options_parse(table, fields, text, z->arena);
}

/* Parameters are globals of the script. */
static void publish(const weft_zoo *z, const void *fields)
{
    for (const weft_option *o = z->option.at; o->kind != WEFT_OPTION_END; o++) {
        const void *at = (const char *)fields + o->offset;
        weft_script_value v = o->kind == WEFT_OPTION_INT    ? weft_script_int(*(const int64_t *)at)
                              : o->kind == WEFT_OPTION_REAL ? weft_script_real(*(const double *)at)
                              : o->kind == WEFT_OPTION_FLAG
                                  ? weft_script_int(*(const bool *)at)
                                  : weft_script_text(*(const char *const *)at);

        weft_script_set(z->script, o->name, v);
    }
}

/* --- what else scripts call ------------------------------------------------------------------ */

static void output(weft_zoo *z, const weft_script_args *args, weft_script_value *out)
{
    (void)out;
    if (!weft_script_is_over(z->script))
        weft_net_output(z->net, (int)need(z, args, 0, WEFT_SCRIPT_TENSOR).i);
}

/* require(condition, text) */
static void require(weft_zoo *z, const weft_script_args *args, weft_script_value *out)
{
    (void)out;
    if (weft_zoo_int_of(z, args, 0) == 0)
        weft_script_stop(z->script, weft_fail(WEFT_E_INPUT, "%s", weft_zoo_text_of(z, args, 1)));
}

static void global(weft_zoo *z, const weft_script_args *args, weft_script_value *out)
{
    (void)out;
    weft_script_set(z->script, weft_zoo_text_of(z, args, 0), args->at[1]);
}

static void push(weft_zoo *z, const weft_script_args *args, weft_script_value *out)
{
    *out = need(z, args, 0, WEFT_SCRIPT_LIST);
    weft_script_push(z->script, *out, args->at[1]);
}

static void count(weft_zoo *z, const weft_script_args *args, weft_script_value *out)
{
    *out = weft_script_int(need(z, args, 0, WEFT_SCRIPT_LIST).list->item.n);
}

static void whole(weft_zoo *z, const weft_script_args *args, weft_script_value *out)
{
    (void)z;
    *out = weft_script_int((int64_t)real_of(args, 0));
}

static void square_root(weft_zoo *z, const weft_script_args *args, weft_script_value *out)
{
    (void)z;
    *out = weft_script_real(sqrt(real_of(args, 0)));
}

static void ceiling(weft_zoo *z, const weft_script_args *args, weft_script_value *out)
{
    (void)z;
    *out = weft_script_real(ceil(real_of(args, 0)));
}

typedef struct builtin {
    const char *name;
    weft_zoo_rule *rule;
} builtin;

static const builtin builtins[] = {
    {"ceil",      ceiling          },
    {"constant",  weft_zoo_constant},
    {"count",     count            },
    {"dim",       weft_zoo_dim     },
    {"fixed",     weft_zoo_fixed   },
    {"flag",      flag             },
    {"global",    global           },
    {"input",     weft_zoo_input   },
    {"int",       whole            },
    {"layers",    weft_zoo_layers  },
    {"output",    output           },
    {"parameter", parameter        },
    {"push",      push             },
    {"require",   require          },
    {"sqrt",      square_root      },
    {"variant",   variant          },
    {"weight",    weft_zoo_weight  },
    {"wiring",    weft_zoo_wiring  },
};

/* Names in capitals are operators. */
static bool call(void *context, const weft_script_args *args, weft_script_value *out)
{
    weft_zoo *z = context;

    if (isupper((unsigned char)args->name[0])) {
        weft_zoo_operator(z, args, out);
        return true;
    }
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
        if (strcmp(builtins[i].name, args->name) == 0) {
            builtins[i].rule(z, args, out);
            return true;
        }
    return false;
}

/* --- models ---------------------------------------------------------------------------------- */

static weft_zoo *new_zoo(weft_arena *a)
{
    weft_zoo *z = WEFT_NEW(a, weft_zoo, 1);

    z->arena = a;
    z->script = weft_script_new(a, call, z);
    for (int i = 0; i < weft_network_preset_count(); i++)
        weft_script_add(z->script, weft_network_preset_at(i)->name,
                        weft_network_preset_at(i)->text);
    return z;
}

int weft_zoo_list(weft_arena *a, const char *const **names)
{
    weft_zoo *z = new_zoo(a);
    WEFT_VEC(const char *) list = {0};
    const char *name, *summary;

    while (weft_script_model(z->script, list.n, &name, &summary))
        WEFT_PUSH(a, list, name);
    *names = list.at;
    return list.n;
}

/* The number of the model, -1 if there is none of that name; its parameters are declared. */
static int find_model(weft_zoo *z, const char *wanted, const char **summary)
{
    const char *name;
    int i = 0;

    while (weft_script_model(z->script, i, &name, summary) && strcmp(name, wanted) != 0)
        i++;
    if (!weft_script_model(z->script, i, &name, summary) ||
        weft_script_declare(z->script, i) != WEFT_OK)
        return -1;
    WEFT_PUSH(z->arena, z->option, (weft_option)WEFT_OPTIONS_END);
    return i;
}

bool weft_zoo_find(const char *name, weft_arena *a, weft_zoo_model *out)
{
    weft_zoo *z = new_zoo(a);

    if (find_model(z, name, &out->summary) < 0)
        return false;
    out->name = weft_arena_word(a, name);
    out->variants = variant_names(z);
    out->options = z->option.at;
    return true;
}

bool weft_zoo_has(const char *name)
{
    weft_arena *a = weft_arena_new();
    weft_zoo_model m;
    bool is_there = weft_zoo_find(name, a, &m);

    weft_arena_free(a);
    return is_there;
}

/* Type and batch from the common options (defaults f32, 1). Batch normalisations are kept for
 * training. */
static void set_common(weft_zoo *z, const char *name, const weft_model_options *common)
{
    bool has_type = common && common->dtype != WEFT_TYPE_UNKNOWN;

    z->type = has_type ? common->dtype : WEFT_F32;
    weft_script_set(z->script, "act", weft_script_text("Relu"));
    weft_script_set(z->script, "model", weft_script_text(name));
    weft_script_set(z->script, "type", weft_script_int(z->type));
    weft_script_set(z->script, "batch",
                    weft_script_int(common && common->batch ? common->batch : 1));
    weft_script_set(z->script, "keep_norms", weft_script_int(common && common->train));
}

static weft_status run(weft_zoo *z, const char *name)
{
    weft_script_value result, image;
    weft_status status = weft_script_run(z->script, &result);

    if (status == WEFT_OK) {
        weft_net_output(z->net, (int)result.i);
        return status;
    }
    image = weft_script_get(z->script, "image_shown");
    if (image.kind == WEFT_SCRIPT_NONE)
        return status;
    return weft_fail_in(status,
                        weft_arena_print(z->arena, "%s with image=%lld", name, (long long)image.i));
}

static weft_status build(weft_zoo *z, const char *name, const char *parameters,
                         const weft_model_options *common)
{
    void *fields;
    const char *summary;

    if (find_model(z, name, &summary) < 0)
        return weft_script_is_over(z->script)
                   ? WEFT_E_INPUT
                   : weft_fail(WEFT_E_INPUT, "no built-in model is called '%s'", name);
    fields = weft_arena_alloc(z->arena, (size_t)z->option.n * FIELD_BYTES);
    WEFT_TRY(set_parameters(z, parameters, fields));
    publish(z, fields);
    set_common(z, name, common);
    return run(z, name);
}

weft_status weft_zoo_build(const char *name, const char *parameters,
                           const weft_model_options *common, weft_net_builder *net)
{
    weft_arena *a = weft_arena_new();
    weft_zoo *z = new_zoo(a);
    weft_status status;

    z->net = net;
    status = build(z, name, parameters, common);
    weft_arena_free(a);
    return status;
}
