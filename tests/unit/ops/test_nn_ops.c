/* SPDX-License-Identifier: MIT */
/* Rules of layers: convolutions, pools, matrix products, normalisations, recurrent layers,
 * attention. A case is one line: operator, attributes, operands, expected results.
 *
 *   operator    "Conv", "com.microsoft:FusedConv"
 *   attributes  "group=2 strides=[2,2] auto_pad=VALID equation='ij -> ji'"
 *   operands    "1x3x8x8 16x3x3x3:i8 scalar 2:i64{5,7} - ?"   (- left out, ? unknown)
 *   results     "1x16x6x6 | 1x16x6x6:i64", or "!" and a part of the error message */
#include "check.h"

#include "rules.h"

#include <stdbool.h>
#include <stdlib.h>

enum { MAX_ARGS = 12, MAX_ATTRS = 8, MAX_LIST = 16 };

typedef struct fixture {
    weft_node node;
    weft_attr attr[MAX_ATTRS];
    int64_t list[MAX_ATTRS + MAX_ARGS][MAX_LIST];
    int n_lists;
    weft_literal literal[MAX_ARGS];
    weft_value value[MAX_ARGS], result[4];
    const weft_value *arg[MAX_ARGS];
    weft_call call;
    weft_arena *arena;
} fixture;

/* --- reading a case -------------------------------------------------------------------------- */

/* Copies up to one of the marks; *at moves behind what was copied. */
static char *take(fixture *f, const char **at, const char *marks)
{
    size_t n = strcspn(*at, marks);
    char *text = weft_arena_text(f->arena, *at, n);

    *at += n;
    return text;
}

static int read_list(fixture *f, const char **at, char end, const int64_t **out)
{
    int64_t *to = f->list[f->n_lists++];
    int n = 0;

    for ((*at)++; **at != end; *at += **at == ',') {
        char *after;

        assert_true(n < MAX_LIST);
        to[n++] = strtoll(*at, &after, 10);
        assert_ptr_not_equal(after, *at);
        *at = after;
    }
    (*at)++;
    *out = to;
    return n;
}

static void read_attrs(fixture *f, const char *at)
{
    while (*at != '\0') {
        weft_attr *a = &f->attr[f->node.n_attrs++];

        assert_true(f->node.n_attrs <= MAX_ATTRS);
        a->name = take(f, &at, "=");
        at++;
        if (*at == '[') {
            a->kind = WEFT_ATTR_INTS;
            a->n = read_list(f, &at, ']', &a->ints);
        } else if (*at == '\'') {
            a->kind = WEFT_ATTR_TEXT;
            at++;
            a->s = take(f, &at, "'");
            at++;
        } else {
            char *after, *text = take(f, &at, " ");

            a->s = text;
            a->i = strtoll(text, &after, 10);
            a->kind = *after == '\0' ? WEFT_ATTR_INT : WEFT_ATTR_TEXT;
        }
        at += *at == ' ';
    }
}

static weft_shape read_shape(const char *text)
{
    weft_shape s = {0};

    if (strcmp(text, "scalar") == 0)
        return s;
    if (strcmp(text, "?") == 0) {
        s.rank = -1;
        return s;
    }
    while (*text != '\0') {
        char *after;

        assert_true(s.rank < WEFT_MAX_RANK);
        s.dim[s.rank++] = *text == '?' ? WEFT_UNKNOWN_DIM : strtoll(text, &after, 10);
        text += strcspn(text, "x");
        text += *text == 'x';
    }
    return s;
}

static void read_args(fixture *f, const char *at)
{
    while (*at != '\0') {
        int i = f->call.n_args++;
        weft_value *v = &f->value[i];
        char *text = take(f, &at, " :");

        assert_true(i < MAX_ARGS);
        v->shape = read_shape(text);
        v->type = WEFT_F32;
        f->arg[i] = strcmp(text, "-") == 0 ? NULL : v;
        if (*at == ':') {
            at++;
            v->type = weft_dtype_find(take(f, &at, " {"));
        }
        if (*at == '{') {
            f->literal[i].n = read_list(f, &at, '}', &f->literal[i].ints);
            v->data = &f->literal[i];
        }
        at += *at == ' ';
    }
}

static fixture *open_call(const char *op, const char *attrs, const char *args, int n_results)
{
    weft_arena *arena = weft_arena_new();
    fixture *f = WEFT_NEW(arena, fixture, 1);
    const char *colon = strchr(op, ':');

    f->arena = arena;
    f->node.name = "node";
    f->node.op = colon == NULL ? op : colon + 1;
    f->node.domain = colon == NULL ? "" : weft_arena_text(arena, op, (size_t)(colon - op));
    f->node.attr = f->attr;
    f->node.opset = 21;
    read_attrs(f, attrs);
    read_args(f, args);
    f->call.node = &f->node;
    f->call.op = weft_op_find(f->node.domain, f->node.op);
    f->call.arg = f->arg;
    f->call.result = f->result;
    f->call.n_results = n_results;
    f->call.arena = arena;
    assert_non_null(f->call.op);
    assert_true(n_results <= f->call.op->max_results);
    return f;
}

static void close_call(fixture *f)
{
    weft_arena_free(f->arena);
}

/* "1x2x3:i64 | 4" */
static const char *print_results(fixture *f)
{
    const char *text = "";

    for (int i = 0; i < f->call.n_results; i++) {
        const weft_value *v = &f->result[i];
        char shape[192];

        weft_shape_print(&v->shape, shape);
        text = weft_arena_print(f->arena, "%s%s%s%s%s", text, i == 0 ? "" : " | ", shape,
                                v->type == WEFT_F32 ? "" : ":",
                                v->type == WEFT_F32 ? "" : weft_dtype_name(v->type));
    }
    return text;
}

static void check_shape(const char *op, const char *attrs, const char *args, const char *expected)
{
    bool fails = *expected == '!', is_right;
    int n_results = 1;
    fixture *f;
    const char *got;

    for (const char *p = expected; *p != '\0' && !fails; p++)
        n_results += *p == '|';
    f = open_call(op, attrs, args, n_results);
    if (weft_infer(&f->call) == WEFT_OK) {
        got = print_results(f);
        is_right = strcmp(got, expected) == 0;
    } else {
        got = weft_message();
        is_right = fails && strstr(got, expected + 1) != NULL;
    }
    if (!is_right)
        fail_msg("%s %s (%s): %s, expected %s", op, attrs, args, got, expected);
    close_call(f);
}

/* The nests of a call whose shapes were inferred; every access fits its tensor's rank. */
static void infer_nests(fixture *f, weft_nests *out)
{
    memset(out, 0, sizeof *out);
    CHECK_OK(weft_infer(&f->call));
    f->call.op->nests(&f->call, out);
    CHECK(out->n > 0);
    for (int i = 0; i < out->n; i++) {
        CHECK(out->nest[i].n_axes <= WEFT_MAX_AXES);
        CHECK(out->nest[i].n_accesses <= WEFT_MAX_ACCESSES);
        for (int k = 0; k < out->nest[i].n_accesses; k++) {
            const weft_access *a = &out->nest[i].access[k];

            CHECK_INT(a->rank,
                      a->is_result ? f->result[a->slot].shape.rank : f->arg[a->slot]->shape.rank);
        }
    }
}

/* Multiply-accumulates, and operations of the nests that have none. */
static void check_work(const char *op, const char *attrs, const char *args, int64_t macs,
                       int64_t flops)
{
    fixture *f = open_call(op, attrs, args, 1);
    weft_nests *nests = WEFT_NEW(f->arena, weft_nests, 1);
    int64_t got_macs = 0, got_flops = 0;

    infer_nests(f, nests);
    for (int i = 0; i < nests->n; i++) {
        int64_t points = weft_nest_points(&nests->nest[i]);

        got_macs += nests->nest[i].is_mac ? points : 0;
        got_flops += nests->nest[i].is_mac ? 0 : points * nests->nest[i].point_flops;
    }
    if (got_macs != macs || got_flops != flops)
        fail_msg("%s %s (%s): %lld macs and %lld flops, expected %lld and %lld", op, attrs, args,
                 (long long)got_macs, (long long)got_flops, (long long)macs, (long long)flops);
    close_call(f);
}

/* --- shapes ---------------------------------------------------------------------------------- */

TEST(convolutions_slide_their_window)
{
    /* (224 + 3 + 3 - 7) / 2 + 1 = 112 */
    check_shape("Conv", "kernel_shape=[7,7] strides=[2,2] pads=[3,3,3,3]",
                "1x3x224x224 64x3x7x7 64", "1x64x112x112");
    /* kernel taken from the weight: 8 - 3 + 1 = 6 */
    check_shape("Conv", "", "1x3x8x8 16x3x3x3", "1x16x6x6");
    /* extent 2 * (3 - 1) + 1 = 5: 10 - 5 + 1 = 6 */
    check_shape("Conv", "dilations=[2,2]", "1x3x10x10 16x3x3x3", "1x16x6x6");
    /* different pads: 5 + 1 + 0 - 3 + 1 = 4, 6 + 2 + 1 - 3 + 1 = 7 */
    check_shape("Conv", "pads=[1,2,0,1]", "2x1x5x6 1x1x3x3", "2x1x4x7");
    check_shape("Conv", "group=32 pads=[1,1,1,1]", "1x32x7x7 32x1x3x3", "1x32x7x7");
    check_shape("Conv", "group=2", "1x6x7x7 8x3x1x1", "1x8x7x7");
    check_shape("Conv", "", "1x3x9 4x3x3", "1x4x7");             /* one dimension: 9 - 3 + 1 */
    check_shape("Conv", "", "1x3x9x9x9 4x3x3x2x1", "1x4x7x8x9"); /* three */
    check_shape("Conv", "", "1x2x4x4x4x4 3x2x2x2x2x2", "1x3x3x3x3x3");
    check_shape("Conv", "", "1x1x2x2x2x2x2x2 1x1x1x1x1x1x1x2", "1x1x2x2x2x2x2x1");
    /* SAME: ceil(7 / 2) = 4, whatever pads says */
    check_shape("Conv", "auto_pad=SAME_UPPER strides=[2,2]", "1x1x7x8 1x1x3x3", "1x1x4x4");
    check_shape("Conv", "auto_pad=SAME_LOWER strides=[2,2] pads=[9,9,9,9]", "1x1x7x8 1x1x3x3",
                "1x1x4x4");
    check_shape("Conv", "auto_pad=VALID strides=[2,2]", "1x1x7x8 1x1x3x3", "1x1x3x3");
    check_shape("Conv", "auto_pad=NOTSET pads=[1,1,1,1]", "1x1x7x8 1x1x3x3", "1x1x7x8");
    check_shape("Conv", "", "0x3x8x8 16x3x3x3", "0x16x6x6"); /* an empty batch is legal */
    check_shape("Conv", "", "1x3x8x8:f16 16x3x3x3:f16", "1x16x6x6:f16");
    check_shape("com.microsoft:FusedConv", "activation=Relu", "1x3x8x8 16x3x3x3 16 1x16x6x6",
                "1x16x6x6");
    check_shape("ConvInteger", "", "1x3x8x8:u8 16x3x3x3:i8 scalar:u8 scalar:i8", "1x16x6x6:i32");
    check_shape("QLinearConv", "pads=[1,1,1,1]",
                "1x3x8x8:u8 scalar scalar:u8 16x3x3x3:i8 16 16:i8 scalar scalar:u8 16:i32",
                "1x16x8x8:u8");
    check_shape("DeformConv", "offset_group=2", "1x4x5x5 8x4x3x3 1x36x3x3 8 1x18x3x3", "1x8x3x3");
}

TEST(convolutions_pass_unknown_sizes_on)
{
    check_shape("Conv", "", "?x3x?x8 16x3x3x3", "?x16x?x6");
    check_shape("Conv", "", "? 16x3x3x3", "?x16x?x?");
    check_shape("Conv", "", "1x3x8x8 ?", "1x?x?x?");
    check_shape("Conv", "kernel_shape=[3,3]", "1x3x8x8 ?", "1x?x6x6");
    check_shape("Conv", "", "? ?", "?");
    check_shape("Conv", "auto_pad=SAME_UPPER strides=[2,2]", "1x3x8x? ?", "1x?x4x?");
    check_shape("ConvTranspose", "", "?x3x?x8 3x5x3x3", "?x5x?x10");
    check_shape("ConvTranspose", "", "? ?", "?");
    check_shape("MaxPool", "kernel_shape=[2,2] strides=[2,2]", "?x3x?x8", "?x3x?x4");
    check_shape("MaxPool", "kernel_shape=[2,2]", "?", "?x?x?x?");
    check_shape("GlobalAveragePool", "", "?x3x?x8", "?x3x1x1");
    check_shape("GlobalAveragePool", "", "?", "?");
}

TEST(convolutions_refuse_contradictions)
{
    check_shape("Conv", "", "1x4x224x224 64x3x7x7",
                "!input 1 (weight) is 64x3x7x7 but input 0 is 1x4x224x224: expected 3 channels x "
                "group 1");
    check_shape("Conv", "group=2", "1x6x8x8 8x2x3x3", "!expected 2 channels x group 2");
    check_shape("Conv", "group=2", "1x6x8x8 9x3x3x3",
                "!its 9 output channels do not divide into 2 groups");
    check_shape("Conv", "group=0", "1x6x8x8 9x3x3x3",
                "!attribute group is 0, expected 1 .. 2147483647");
    check_shape("Conv", "", "1x3x8x8 16x3x3", "!expected as many dimensions in both");
    check_shape("Conv", "", "1x3 16x3", "!dimensions");
    check_shape("Conv", "", "1x3x4x4 16x3x5x5",
                "!its dimension 2, padded to 4, is smaller than the kernel, 5");
    check_shape("Conv", "kernel_shape=[3,3]", "1x3x8x8 16x3x5x5",
                "!attribute kernel_shape has 3 for 5");
    check_shape("Conv", "kernel_shape=[3]", "1x3x8x8 16x3x3x3",
                "!attribute kernel_shape has 1 values, expected 2");
    check_shape("Conv", "strides=[0,1]", "1x3x8x8 16x3x3x3", "!attribute strides has the value 0");
    check_shape("Conv", "strides=[1,1,1]", "1x3x8x8 16x3x3x3", "!attribute strides has 3 values");
    check_shape("Conv", "dilations=[-1,1]", "1x3x8x8 16x3x3x3",
                "!attribute dilations has the value -1");
    check_shape("Conv", "pads=[1,1]", "1x3x8x8 16x3x3x3",
                "!attribute pads has 2 values, expected 4");
    check_shape("Conv", "pads=[1,1,-1,1]", "1x3x8x8 16x3x3x3", "!attribute pads has the value -1");
    check_shape("Conv", "auto_pad=SAME", "1x3x8x8 16x3x3x3", "!attribute auto_pad is 'SAME'");
    check_shape("Conv", "", "1x3x8x8 16x3x0x3", "!its kernel has size 0");
    check_shape("Conv", "", "1x3x8x8 16x3x3x3 15", "!input 2 (bias) is 15, expected 16");
    check_shape("Conv", "", "1x3x8x8 16x3x3x3 16x1", "!input 2 (bias) is 16x1, expected 16");
    check_shape("Conv", "", "1x3x8x8 -", "!missing");
    check_shape("Conv", "dilations=[2147483647,1]", "1x1x8x8 1x1x2147483647x1",
                "!smaller than the kernel");
    check_shape("Conv", "", "1x1x9223372036854775807x8 1x1x1x1", "!too large");
    check_shape("Conv", "", "4611686018427387904x1x8x8 1x1x1x1", "!too large");
    check_shape("QLinearConv", "",
                "1x3x8x8:u8 scalar scalar:u8 16x4x3x3:i8 16 16:i8 scalar scalar:u8",
                "!input 3 (weight)");
    check_shape("DeformConv", "", "1x4x5x5 8x4x3x3 1x36x3x3",
                "!its number of channels is 36, expected 18");
    check_shape("DeformConv", "", "1x4x5x5 8x4x3x3 1x18x4x3", "!its spatial size is 4, expected 3");
    check_shape("ConvTranspose", "", "1x4x8x8 3x5x3x3", "!input 1 (weight) is 3x5x3x3");
    check_shape("ConvTranspose", "group=2", "1x3x8x8 3x5x3x3",
                "!its 3 channels do not divide into 2");
    check_shape("ConvTranspose", "pads=[9,9,9,9]", "1x3x4x4 3x5x3x3",
                "!padding 9 + 9 of dimension 2 exceeds its size 6");
    check_shape("ConvTranspose", "strides=[2147483647,1]", "1x1x4294967296x4 1x1x1x1",
                "!too large");
    check_shape("ConvTranspose", "output_padding=[1]", "1x3x4x4 3x5x3x3",
                "!output_padding has 1 values");
    check_shape("ConvTranspose", "output_shape=[0,4]", "1x3x4x4 3x5x3x3",
                "!output_shape has the value 0");
    check_shape("MaxPool", "", "1x3x8x8", "!attribute kernel_shape is missing");
    check_shape("MaxPool", "kernel_shape=[9,9]", "1x3x8x8", "!smaller than the kernel, 9");
    check_shape("MaxPool", "kernel_shape=[2,2]", "3x8", "!dimensions");
    check_shape("com.microsoft:QLinearAveragePool", "kernel_shape=[2,2] channels_last=1",
                "1x3x8x8:u8 scalar scalar:u8 scalar scalar:u8", "!attribute channels_last is set");
    check_shape("com.microsoft:QLinearGlobalAveragePool", "channels_last=1",
                "1x3x8x8:u8 scalar scalar:u8 scalar scalar:u8", "!attribute channels_last is set");
}

TEST(transposed_convolutions_spread)
{
    check_shape("ConvTranspose", "", "1x3x4x4 3x5x3x3 5", "1x5x6x6"); /* (4 - 1) * 1 + 3 */
    /* 2 * (4 - 1) + 1 + 3 - 1 - 1 = 8 */
    check_shape("ConvTranspose", "strides=[2,2] pads=[1,1,1,1] output_padding=[1,1]",
                "1x3x4x4 3x5x3x3", "1x5x8x8");
    check_shape("ConvTranspose", "group=3", "1x3x4x4 3x5x3x3", "1x15x6x6");
    check_shape("ConvTranspose", "dilations=[2,2]", "1x3x4x4 3x5x3x3",
                "1x5x8x8"); /* 3 + 2 * 2 + 1 */
    check_shape("ConvTranspose", "strides=[2,2] auto_pad=SAME_UPPER", "1x3x4x5 3x5x3x3",
                "1x5x8x10");
    check_shape("ConvTranspose", "strides=[2,2] auto_pad=SAME_LOWER", "1x3x4x5 3x5x3x3",
                "1x5x8x10");
    check_shape("ConvTranspose", "strides=[2,2] auto_pad=VALID", "1x3x4x5 3x5x3x3", "1x5x9x11");
    check_shape("ConvTranspose", "strides=[3,2] output_shape=[10,8]", "1x1x3x3 1x2x3x3",
                "1x2x10x8");
    check_shape("ConvTranspose", "strides=[2]", "1x3x4 3x5x4", "1x5x10"); /* 2 * 3 + 4 */
}

TEST(pools_round_as_asked)
{
    check_shape("MaxPool", "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]", "1x64x112x112",
                "1x64x56x56"); /* 111 / 2 + 1 */
    check_shape("MaxPool", "kernel_shape=[2,2]", "1x3x8x8",
                "1x3x7x7 | 1x3x7x7:i64"); /* with places */
    check_shape("MaxPool", "kernel_shape=[3,3] strides=[2,2]", "1x3x8x8",
                "1x3x3x3"); /* floor(2.5) + 1 */
    check_shape("MaxPool", "kernel_shape=[3,3] strides=[2,2] ceil_mode=1", "1x3x8x8", "1x3x4x4");
    /* ceil((4 + 2 - 2) / 3) + 1 = 3, but the third would start at 6 > 4 + 1: 2 */
    check_shape("MaxPool", "kernel_shape=[2] strides=[3] pads=[1,1] ceil_mode=1", "1x1x4", "1x1x2");
    /* ceil((4 - 1) / 4) + 1 = 2, but the second would start at 4, behind the end: 1 */
    check_shape("MaxPool", "kernel_shape=[1] strides=[4] ceil_mode=1", "1x1x4", "1x1x1");
    /* VALID rounds down in any mode: ceil((8 - 3 + 1) / 2) = 3 */
    check_shape("MaxPool", "kernel_shape=[3] strides=[2] ceil_mode=1 auto_pad=VALID", "1x1x8",
                "1x1x3");
    check_shape("MaxPool", "kernel_shape=[3] strides=[2] ceil_mode=1 auto_pad=SAME_LOWER", "1x1x9",
                "1x1x5");
    check_shape("MaxPool", "kernel_shape=[3] dilations=[2]", "1x1x9", "1x1x5"); /* 9 - 5 + 1 */
    check_shape("AveragePool", "kernel_shape=[2,2,2] strides=[2,2,2]", "1x3x8x6x4", "1x3x4x3x2");
    check_shape("AveragePool", "kernel_shape=[2,2] count_include_pad=1 pads=[0,0,1,1]",
                "1x3x8x8:f16", "1x3x8x8:f16");
    check_shape("LpPool", "kernel_shape=[2] p=3", "1x3x8", "1x3x7");
    check_shape("com.microsoft:QLinearAveragePool", "kernel_shape=[2,2]",
                "1x3x8x8:u8 scalar scalar:u8 scalar scalar:u8", "1x3x7x7:u8");
    check_shape("GlobalAveragePool", "", "2x3x8x9", "2x3x1x1");
    check_shape("GlobalMaxPool", "", "2x3x8x9x10", "2x3x1x1x1");
    check_shape("com.microsoft:QLinearGlobalAveragePool", "",
                "1x3x8x8:i8 scalar scalar:i8 scalar scalar:i8", "1x3x1x1:i8");
}

TEST(regions_grids_and_unpools)
{
    check_shape("MaxRoiPool", "pooled_shape=[7,5]", "1x16x20x20 30x5", "30x16x7x5");
    check_shape("MaxRoiPool", "", "1x16x20x20 30x5", "!attribute pooled_shape is missing");
    check_shape("MaxRoiPool", "pooled_shape=[7,5]", "1x16x20x20 30x4",
                "!its row length is 4, expected 5");
    check_shape("RoiAlign", "output_height=7 output_width=5", "1x16x20x20 30x4 30:i64",
                "30x16x7x5");
    check_shape("RoiAlign", "", "1x16x20x20 ?x4 ?", "?x16x1x1");
    check_shape("RoiAlign", "", "1x16x20x20 30x4 29:i64",
                "!its number of regions is 29, expected 30");
    check_shape("RoiAlign", "output_width=0", "1x16x20x20 30x4 30:i64",
                "!attribute output_width is 0");
    check_shape("GridSample", "", "2x3x8x9 2x5x6x2", "2x3x5x6");
    check_shape("GridSample", "", "2x3x8x9x7 2x5x6x4x3", "2x3x5x6x4");
    check_shape("GridSample", "", "2x3x8x9 2x5x6x3", "!its row length is 3, expected 2");
    check_shape("GridSample", "", "2x3x8x9 1x5x6x2", "!its batch size is 1, expected 2");
    check_shape("GridSample", "", "? 2x5x6x2", "2x?x5x6");
    check_shape("AffineGrid", "", "2x2x3 4:i64{2,3,8,9}", "2x8x9x2");
    check_shape("AffineGrid", "", "2x3x4 5:i64{2,3,7,8,9}", "2x7x8x9x3");
    check_shape("AffineGrid", "", "2x2x3 4:i64", "2x?x?x2");
    check_shape("AffineGrid", "", "2x2x3 ?:i64", "2x?x?x2");
    check_shape("AffineGrid", "", "2x2x4 4:i64{2,3,8,9}",
                "!its number of columns is 4, expected 3");
    check_shape("AffineGrid", "", "2x2x3 3:i64{2,3,8}", "!has 3 elements, expected 4 or 5");
    check_shape("AffineGrid", "", "3x2x3 4:i64{2,3,8,9}", "!its batch size is 3, expected 2");
    check_shape("MaxUnpool", "kernel_shape=[2,2] strides=[2,2]", "1x1x2x2 1x1x2x2:i64", "1x1x4x4");
    check_shape("MaxUnpool", "kernel_shape=[3] strides=[2] pads=[1,1]", "1x1x4 1x1x4:i64",
                "1x1x7"); /* 2 * 3 + 3 - 2 */
    check_shape("MaxUnpool", "kernel_shape=[2,2] strides=[2,2]",
                "1x1x2x2 1x1x2x2:i64 4:i64{1,1,5,5}", "1x1x5x5");
    check_shape("MaxUnpool", "kernel_shape=[2,2]", "1x1x2x2 1x1x2x2:i64 4:i64", "?x?x?x?");
    check_shape("MaxUnpool", "kernel_shape=[2,2]", "1x1x2x2 1x1x2x2:i64 3:i64{1,1,5}",
                "!has 3 elements, expected 4");
    check_shape("MaxUnpool", "kernel_shape=[2,2]", "1x1x2x2 1x1x2x3:i64",
                "!its size is 3, expected 2");
}

TEST(matrix_products_follow_numpy)
{
    check_shape("MatMul", "", "2x3 3x4", "2x4");
    check_shape("MatMul", "", "3 3x4", "4");
    check_shape("MatMul", "", "2x3 3", "2");
    check_shape("MatMul", "", "3 3", "scalar");
    check_shape("MatMul", "", "5x2x3 3x4", "5x2x4");
    check_shape("MatMul", "", "2x3 5x3x4", "5x2x4");
    check_shape("MatMul", "", "7x1x2x3 6x3x4", "7x6x2x4");
    check_shape("MatMul", "", "3 5x3x4", "5x4");
    check_shape("MatMul", "", "5x2x3 3", "5x2");
    check_shape("MatMul", "", "?x3 3x?", "?x?");
    check_shape("MatMul", "", "?x?x3 5x3x4", "5x?x4");
    check_shape("MatMul", "", "? 3x4", "?");
    check_shape("MatMul", "", "2x3 4x5",
                "!input 1 is 4x5 but input 0 is 2x3: expected 3 for the inner size 4");
    check_shape("MatMul", "", "scalar 4x5", "!dimensions");
    check_shape("MatMul", "", "2x5x3 3x3x4", "!2 and 3 do not broadcast");
    check_shape("MatMulInteger", "", "2x3:u8 3x4:i8 scalar:u8", "2x4:i32");
    check_shape("com.microsoft:MatMulIntegerToFloat", "", "2x3:u8 3x4:i8 scalar scalar", "2x4");
    check_shape("com.microsoft:DynamicQuantizeMatMul", "", "2x3 3x4:i8 scalar", "2x4");
    check_shape("QLinearMatMul", "",
                "2x3:u8 scalar scalar:u8 3x4:i8 scalar scalar:i8 scalar scalar:i8", "2x4:i8");
    check_shape("QLinearMatMul", "",
                "2x3:u8 scalar scalar:u8 4x4:i8 scalar scalar:i8 scalar scalar:i8",
                "!input 3 is 4x4 but input 0 is 2x3");
    check_shape("Gemm", "", "2x3 3x4 4", "2x4");
    check_shape("Gemm", "transA=1", "3x2 3x4 2x1", "2x4");
    check_shape("Gemm", "transB=1", "2x3 4x3 scalar", "2x4");
    check_shape("Gemm", "transA=1 transB=1", "3x2 4x3", "2x4");
    check_shape("Gemm", "", "2x3 3x4 -", "2x4");
    check_shape("Gemm", "", "2x3 ?", "2x?");
    check_shape("Gemm", "transB=1", "? 4x3", "?x4");
    check_shape("com.microsoft:FusedGemm", "activation=Relu transB=1", "2x3 4x3 4", "2x4");
    check_shape("Gemm", "", "2x3 4x3", "!expected 3 for the inner size 4");
    check_shape("Gemm", "", "2x3 3x4 3", "!input 2 is 3, expected a shape that broadcasts to 2x4");
    check_shape("Gemm", "", "2x3 3x4 1x2x4", "!input 2 is 1x2x4");
    check_shape("Gemm", "", "1x2x3 3x4", "!dimensions");
    check_shape("com.microsoft:FusedMatMul", "transA=1", "5x3x2 5x3x4", "5x2x4");
    check_shape("com.microsoft:FusedMatMul", "transB=1", "5x2x3 5x4x3", "5x2x4");
    /* rows before the batch: 2 x 5 x 3 is five matrices of 2 x 3 */
    check_shape("com.microsoft:FusedMatMul", "transBatchA=1", "2x5x3 5x3x4", "5x2x4");
    check_shape("com.microsoft:FusedMatMul", "transBatchB=1", "5x2x3 3x5x4", "5x2x4");
    check_shape("com.microsoft:FusedMatMul", "transA=1 transBatchA=1", "3x5x2 5x3x4", "5x2x4");
    check_shape("com.microsoft:FusedMatMul", "transA=1", "5x2x3 5x3x4", "!inner size");
    check_shape("com.microsoft:MatMulNBits", "K=64 N=8 bits=4 block_size=32", "2x5x64 8x2x16:u8 16",
                "2x5x8");
    check_shape("com.microsoft:MatMulNBits", "K=64 N=8 bits=4 block_size=32", "2x5x60 8x2x16:u8 16",
                "!its last dimension is 60, expected 64");
    check_shape("com.microsoft:MatMulNBits", "K=64 N=8 bits=4 block_size=32", "5x64 8x3x16:u8 16",
                "!its number of blocks is 3, expected 2");
    check_shape("com.microsoft:MatMulNBits", "K=64 block_size=32", "5x64 8x2x16:u8 16",
                "!attribute N");
}

TEST(einsum_reads_equations)
{
    check_shape("Einsum", "equation=ij,jk->ik", "2x3 3x4", "2x4");
    check_shape("Einsum", "equation=ij,jk", "2x3 3x4", "2x4"); /* letters that occur once */
    check_shape("Einsum", "equation=ji", "2x3", "3x2");        /* sorted: i, j */
    check_shape("Einsum", "equation=bA", "2x3", "3x2");        /* capitals first */
    check_shape("Einsum", "equation=ii", "3x3", "scalar");     /* trace */
    check_shape("Einsum", "equation=ii->i", "3x3", "3");       /* diagonal */
    check_shape("Einsum", "equation=ij->", "2x3", "scalar");
    check_shape("Einsum", "equation='b h i d , b h j d -> b h i j'", "1x2x3x4 1x2x5x4", "1x2x3x5");
    check_shape("Einsum", "equation=...ij,...jk->...ik", "7x2x3 3x4", "7x2x4");
    check_shape("Einsum", "equation=...ij,...jk", "7x1x2x3 6x3x4", "7x6x2x4");
    check_shape("Einsum", "equation=i...->...", "2x3x4", "3x4");
    check_shape("Einsum", "equation=i...->i", "2x3x4", "2");
    check_shape("Einsum", "equation=a,b,c,d,e,f,g,h->hgfedcba", "1 2 3 4 5 6 7 8",
                "8x7x6x5x4x3x2x1");
    check_shape("Einsum", "equation=ij,jk->ik", "1x3 3x?", "1x?");
    check_shape("Einsum", "equation=ij,jk->ik", "? 3x4", "?x4");
    check_shape("Einsum", "equation=...j,jk->...k", "? 3x4", "?");
    check_shape("Einsum", "equation=->", "scalar", "scalar");
    check_shape("Einsum", "equation=ij,jk->ik", "2x3 4x5", "!its dimension 0 is 4, expected 3");
    check_shape("Einsum", "equation=ii", "2x3", "!its dimension 1 is 3, expected 2");
    check_shape("Einsum", "equation=ij->ik", "2x3",
                "!has a letter in the result that no input has");
    check_shape("Einsum", "equation=ij->ii", "2x3", "!repeats a letter in the result");
    check_shape("Einsum", "equation=ij,jk->ik", "2x3", "!has more terms than there are inputs");
    check_shape("Einsum", "equation=ij->ik", "2x3 4", "!has fewer terms than there are inputs");
    check_shape("Einsum", "equation=ijk->i", "2x3", "!has 3 letters for it");
    check_shape("Einsum", "equation=i...j...->i", "2x3", "!has something else than letters");
    check_shape("Einsum", "equation=i1->i", "2x3", "!has something else than letters");
    check_shape("Einsum", "equation=ij->i->j", "2x3", "!has something else than letters");
    check_shape("Einsum", "equation=abcdefghi->a", "2x3", "!more than 8 letters");
    check_shape("Einsum", "equation=abcde,fghij", "1x1x1x1x1 1x1x1x1x1", "!more than 8 dimensions");
    check_shape("Einsum", "", "2x3", "!attribute equation is missing");
    check_shape("Einsum", "equation=a,a,a,a,a,a,a,a,a", "1 1 1 1 1 1 1 1 1", "!expected 8 at most");
    check_shape("Einsum", "equation=i,j->ij", "4611686018427387904 4611686018427387904",
                "!too large");
}

TEST(normalisations_keep_the_shape)
{
    check_shape("BatchNormalization", "", "2x3x4x4 3 3 3 3", "2x3x4x4");
    check_shape("BatchNormalization", "training_mode=1", "2x3x4x4:f16 3 3 3 3",
                "2x3x4x4:f16 | 3 | 3");
    check_shape("BatchNormalization", "", "2x3 3 3 3 3", "2x3");
    check_shape("BatchNormalization", "spatial=0", "2x3x4 3x4 3x4 3x4 3x4", "2x3x4");
    check_shape("BatchNormalization", "", "2x?x4x4 3 3 3 3", "2x3x4x4");
    check_shape("BatchNormalization", "", "2x3x4x4 3 4 3 3", "!input 2 (bias) is 4, expected 3");
    check_shape("BatchNormalization", "", "2x3x4x4 3 - 3 3", "!missing");
    check_shape("LayerNormalization", "", "2x5x8 8 8", "2x5x8 | 2x5x1 | 2x5x1");
    check_shape("LayerNormalization", "axis=1", "2x5x8 5x8", "2x5x8 | 2x1x1 | 2x1x1");
    check_shape("LayerNormalization", "", "2x5x8:f16 8:f16", "2x5x8:f16 | 2x5x1");
    check_shape("LayerNormalization", "axis=3", "2x5x8 8", "!axis is 3");
    check_shape("LayerNormalization", "", "2x5x8 5",
                "!input 1 is 5, expected a shape that broadcasts");
    check_shape("LayerNormalization", "stash_type=99", "2x5x8 8", "!stash_type");
    check_shape("LayerNormalization", "", "? 8", "?");
    check_shape("RMSNormalization", "", "2x5x8 8", "2x5x8");
    check_shape("SimplifiedLayerNormalization", "", "2x5x8 8", "2x5x8 | 2x5x1");
    check_shape("com.microsoft:SkipLayerNormalization", "", "2x5x8 2x5x8 8 8 8",
                "2x5x8 | 2x5x1 | 2x5x1 | 2x5x8");
    check_shape("com.microsoft:SkipLayerNormalization", "", "2x5x8 5x8 8", "2x5x8");
    check_shape("com.microsoft:SkipSimplifiedLayerNormalization", "", "2x5x8 2x5x8 8", "2x5x8");
    check_shape("com.microsoft:SkipLayerNormalization", "", "2x5x8 2x4x8 8", "!input 1 is 2x4x8");
    check_shape("com.microsoft:SkipLayerNormalization", "", "2x5x8 2x5x8 7",
                "!input 2 (vector) is 7");
    check_shape("com.microsoft:EmbedLayerNormalization", "",
                "2x5:i32 2x5:i32 100x8:f16 50x8:f16 2x8:f16 8:f16 8:f16",
                "2x5x8:f16 | 2:i32 | 2x5x8:f16");
    check_shape("com.microsoft:EmbedLayerNormalization", "", "2x5:i32 - 100x8 50x8 - 8 8",
                "2x5x8 | 2:i32");
    check_shape("com.microsoft:EmbedLayerNormalization", "", "2x5:i32 - 100x8 50x7 - 8 8",
                "!its row length is 7, expected 8");
}

TEST(recurrent_layers_have_two_layouts)
{
    check_shape("LSTM", "hidden_size=5", "7x2x3 1x20x3 1x20x5", "7x1x2x5 | 1x2x5 | 1x2x5");
    check_shape("LSTM", "hidden_size=5 direction=bidirectional",
                "7x2x3 2x20x3 2x20x5 2x40 2:i32 2x2x5 "
                "2x2x5",
                "7x2x2x5 | 2x2x5 | 2x2x5");
    check_shape("LSTM", "hidden_size=5 layout=1", "2x7x3 1x20x3 1x20x5 - - 2x1x5",
                "2x7x1x5 | 2x1x5 | 2x1x5");
    check_shape("GRU", "", "7x2x3 1x15x3 1x15x5", "7x1x2x5 | 1x2x5"); /* hidden from the weight */
    check_shape("RNN", "direction=reverse", "7x2x3 1x5x3 1x5x5", "7x1x2x5");
    check_shape("LSTM", "", "?x2x3 1x20x3 ?", "?x1x2x5 | 1x2x5"); /* 20 rows / 4 gates */
    check_shape("LSTM", "hidden_size=5", "7x2x3 1x20x3 1x20x6",
                "!its hidden size is 6, expected 5");
    check_shape("LSTM", "hidden_size=5", "7x2x3 1x20x4 1x20x5", "!its input size is 4, expected 3");
    check_shape("LSTM", "hidden_size=5", "7x2x3 1x15x3 1x20x5",
                "!its number of rows is 15, expected 20");
    check_shape("LSTM", "hidden_size=5 direction=bidirectional", "7x2x3 1x20x3 2x20x5",
                "!its number of directions is 1, expected 2");
    check_shape("LSTM", "direction=up", "7x2x3 1x20x3 1x20x5", "!attribute direction is 'up'");
    check_shape("LSTM", "", "7x2x3 1x20x3 1x20x5 1x20",
                "!its number of columns is 20, expected 40");
    check_shape("LSTM", "", "7x2x3 1x20x3 1x20x5 - 3:i32", "!input 4 (sequence lengths) is 3");
    check_shape("LSTM", "", "7x2x3 1x20x3 1x20x5 - - 1x3x5", "!its batch size is 3, expected 2");
    check_shape("LSTM", "", "7x2 1x20x3 1x20x5", "!dimensions");
    check_shape("GRU", "", "7x2x3 1x15x3 1x16x5", "!its number of rows is 16, expected 15");
}

TEST(attention_finds_its_heads)
{
    check_shape("Attention", "", "2x4x5x8 2x4x6x8 2x4x6x7",
                "2x4x5x7 | 2x4x6x8 | 2x4x6x7 | 2x4x5x6");
    check_shape("Attention", "q_num_heads=4 kv_num_heads=2", "2x5x32 2x6x16 2x6x14",
                "2x5x28 | 2x2x6x8 | 2x2x6x7 | 2x4x5x6");
    /* three keys of the past */
    check_shape("Attention", "", "2x4x5x8 2x2x6x8 2x2x6x8 5x9 2x2x3x8 2x2x3x8",
                "2x4x5x8 | 2x2x9x8 | 2x2x9x8 | 2x4x5x9");
    check_shape("Attention", "", "?x4x?x8 ?x4x6x8 2x4x6x7", "2x4x?x7");
    check_shape("Attention", "", "? 2x4x6x8 2x4x6x7", "?");
    check_shape("Attention", "", "2x5x32 2x6x32 2x6x32", "!attribute q_num_heads is missing");
    check_shape("Attention", "q_num_heads=5 kv_num_heads=5", "2x5x32 2x6x32 2x6x32",
                "!its 32 columns do not divide into 5 heads");
    check_shape("Attention", "", "2x4x5x8 2x3x6x8 2x3x6x7", "!4 heads of queries do not share 3");
    check_shape("Attention", "", "2x4x5x8 2x4x6x9 2x4x6x7", "!its head size is 9, expected 8");
    check_shape("Attention", "", "2x4x5x8 2x4x6x8 2x4x7x7", "!its number of rows is 7, expected 6");
    check_shape("Attention", "", "2x4x5x8 3x4x6x8 2x4x7x7", "!its batch size is 3, expected 2");
    check_shape("com.microsoft:Attention", "num_heads=4", "2x5x16 16x96 96",
                "2x5x32 | 2x2x4x5x8"); /* 96 / 3 = 32 columns, 8 a head */
    check_shape("com.microsoft:Attention", "num_heads=4 qkv_hidden_sizes=[32,32,16]",
                "2x5x16 16x80 80", "2x5x16");
    check_shape("com.microsoft:Attention", "num_heads=4", "2x5x16 16x96 96 - 2x2x4x3x8",
                "2x5x32 | 2x2x4x8x8"); /* 3 + 5 keys */
    check_shape("com.microsoft:Attention", "num_heads=4 past_present_share_buffer=1",
                "2x5x16 16x96 96 - 2x2x4x30x8", "2x5x32 | 2x2x4x30x8");
    check_shape("com.microsoft:Attention", "num_heads=4", "2x5x16 16x95", "!not a multiple of 3");
    check_shape("com.microsoft:Attention", "num_heads=4", "2x5x16 15x96",
                "!its number of rows is 15, expected 16");
    check_shape("com.microsoft:Attention", "num_heads=4 qkv_hidden_sizes=[32,32,8]", "2x5x16 16x80",
                "!expected 32 + 32 + 8 columns");
    check_shape("com.microsoft:Attention", "", "2x5x16 16x96", "!attribute num_heads is missing");
    check_shape("com.microsoft:MultiHeadAttention", "num_heads=4", "2x5x32 2x6x32 2x6x28",
                "2x5x28 | 2x4x6x8 | 2x4x6x7");
    check_shape("com.microsoft:MultiHeadAttention", "num_heads=4", "2x5x32 2x4x6x8 2x4x6x7",
                "2x5x28");
    check_shape("com.microsoft:MultiHeadAttention", "num_heads=4", "2x5x4x3x8", "2x5x32 | 2x4x5x8");
    check_shape("com.microsoft:MultiHeadAttention", "num_heads=4", "2x5x32 2x6x4x2x8",
                "2x5x32 | 2x4x6x8 | 2x4x6x8");
    check_shape("com.microsoft:MultiHeadAttention", "num_heads=4",
                "2x5x32 2x6x32 2x6x32 96 - - 2x4x3x8 2x4x3x8", "2x5x32 | 2x4x9x8 | 2x4x9x8");
    check_shape("com.microsoft:MultiHeadAttention", "num_heads=4", "2x5x32", "!missing");
    check_shape("com.microsoft:MultiHeadAttention", "num_heads=4", "2x5x4x2x8",
                "!number of parts is 2");
    check_shape("com.microsoft:MultiHeadAttention", "num_heads=4", "2x5x4x8", "!expected 3 or 5");
    check_shape("com.microsoft:GroupQueryAttention", "num_heads=8 kv_num_heads=2",
                "2x5x64 2x5x16 2x5x16 - - 2:i32 scalar:i32", "2x5x64 | 2x2x5x8 | 2x2x5x8");
    /* packed: 96 columns / (8 + 2 + 2) heads = 8 */
    check_shape("com.microsoft:GroupQueryAttention", "num_heads=8 kv_num_heads=2",
                "2x5x96 - - 2x2x3x8 2x2x3x8 2:i32 scalar:i32", "2x5x64 | 2x2x8x8 | 2x2x8x8");
    /* a buffer of 100 rows of which 8 are used */
    check_shape("com.microsoft:GroupQueryAttention", "num_heads=8 kv_num_heads=2",
                "2x5x96 - - 2x2x100x8 2x2x100x8 2:i32 scalar:i32{8}",
                "2x5x64 | 2x2x100x8 | 2x2x100x8");
    check_shape("com.microsoft:GroupQueryAttention", "num_heads=8 kv_num_heads=3",
                "2x5x64 2x5x24 2x5x24 - - 2:i32 scalar:i32", "!8 heads of queries do not share 3");
    check_shape("com.microsoft:GroupQueryAttention", "num_heads=8 kv_num_heads=2",
                "2x5x64 - 2x5x16 - - 2:i32 scalar:i32", "!input 2 (values) is there");
}

/* --- work ------------------------------------------------------------------------------------ */

TEST(work_follows_the_formulas)
{
    /* result elements x channels a group x kernel */
    check_work("Conv", "strides=[2,2] pads=[3,3,3,3]", "1x3x224x224 64x3x7x7 64",
               64LL * 112 * 112 * 3 * 49, 0);
    check_work("Conv", "group=32 pads=[1,1,1,1]", "2x32x7x7 32x1x3x3", 2LL * 32 * 49 * 1 * 9, 0);
    check_work("Conv", "group=2", "1x6x9 8x3x3", 8LL * 7 * 3 * 3, 0);
    check_work("Conv", "", "1x2x4x5x6 3x2x2x2x2", 3LL * 3 * 4 * 5 * 2 * 8, 0);
    check_work("Conv", "", "1x2x3x3x3x3 3x2x2x2x2x2", 3LL * 16 * 2 * 16, 0);
    check_work("Conv", "", "1x2x3x3x3x3x3x3 3x2x2x2x2x2x2x2", 3LL * 64 * 2 * 64, 0);
    check_work("com.microsoft:FusedConv", "", "1x3x8x8 16x3x3x3 16 1x16x6x6", 16LL * 36 * 3 * 9, 0);
    check_work("ConvInteger", "", "1x3x8x8:u8 16x3x3x3:i8", 16LL * 36 * 3 * 9, 0);
    check_work("QLinearConv", "", "1x3x8x8:u8 1 1:u8 16x3x3x3:i8 16 16:i8 1 1:u8 16:i32",
               16LL * 36 * 3 * 9, 0);
    check_work("QLinearConv", "", "1x1x8x8:u8 1 1:u8 1x1x3x3:i8 1 1:i8 1 1:u8 1:i32", 36LL * 9, 0);
    check_work("DeformConv", "", "1x4x5x5 8x4x3x3 1x18x3x3 8 1x9x3x3", 8LL * 9 * 4 * 9, 0);
    /* operand elements x result channels a group x kernel */
    check_work("ConvTranspose", "strides=[2,2]", "1x4x5x5 4x3x3x3 3", 4LL * 25 * 3 * 9, 0);
    check_work("ConvTranspose", "group=2", "2x4x5 4x3x2 6", 2LL * 4 * 5 * 3 * 2, 0);
    /* result elements x kernel, 1 operation each */
    check_work("MaxPool", "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]", "1x64x112x112", 0,
               64LL * 56 * 56 * 9);
    check_work("AveragePool", "kernel_shape=[2]", "1x3x8", 0, 3 * 7 * 2);
    check_work("LpPool", "kernel_shape=[2,2,2,2,2]", "1x3x2x2x2x2x3", 0, 3 * 2 * 32);
    check_work("GlobalAveragePool", "", "2x3x8x9", 0, 2 * 3 * 72);
    check_work("RoiAlign", "output_height=7 output_width=7 sampling_ratio=2",
               "1x16x20x20 30x4 30:i64", 0, 30LL * 16 * 49 * 4 * 8);
    check_work("RoiAlign", "", "1x16x20x20 30x4 30:i64", 0, 30LL * 16 * 8);
    check_work("GridSample", "", "2x3x8x9 2x5x6x2", 0, 2 * 3 * 30 * 8);
    /* m n k */
    check_work("MatMul", "", "7x1x2x3 6x3x4", 7 * 6 * 2 * 4 * 3, 0);
    check_work("MatMul", "", "3 3", 3, 0);
    check_work("MatMul", "", "1x1x1x1x1x1x2x3 3x4", 24, 0);
    check_work("MatMulInteger", "", "2x3:u8 3x4:i8", 24, 0);
    check_work("QLinearMatMul", "",
               "2x3:u8 scalar scalar:u8 3x4:i8 scalar scalar:i8 scalar scalar:i8", 24, 0);
    check_work("Gemm", "transA=1 transB=1", "3x2 4x3 4", 24, 0);
    check_work("com.microsoft:FusedMatMul", "transA=1 transBatchA=1", "3x5x2 5x3x4", 5 * 24, 0);
    check_work("com.microsoft:MatMulNBits", "K=64 N=8 bits=4 block_size=32", "2x5x64 8x2x16:u8 16",
               10 * 64 * 8, 0);
    /* all labels */
    check_work("Einsum", "equation=bhid,bhjd->bhij", "1x2x3x4 1x2x5x4", 2 * 3 * 5 * 4, 0);
    check_work("Einsum", "equation=ij->ji", "2x3", 0, 6);
    check_work("Einsum", "equation=i,j,k->ijk", "2 3 4", 24, 0);
    check_work("Einsum", "equation=a,a,a,a,a,a,a,a->", "2 2 2 2 2 2 2 2", 2, 0);
    check_work("Einsum", "equation=abcdefg,hijklmn->", "2x2x2x2x2x2x2 2x2x2x2x2x2x2", 1 << 14, 0);
    check_work("Einsum", "equation=abcdef,ghijkl->", "2x2x2x2x2x2 2x2x2x2x2x2", 1 << 12, 0);
    /* elements x operations of the table */
    check_work("BatchNormalization", "", "2x3x4x4 3 3 3 3", 0, 2 * 3 * 16 * 2);
    check_work("InstanceNormalization", "", "2x3x4x4 3 3", 0, 2 * 3 * 16 * 8);
    check_work("GroupNormalization", "num_groups=2", "2x4x5x5 4 4", 0, 2 * 4 * 25 * 8);
    check_work("LayerNormalization", "", "2x5x8 8 8", 0, 80 * 8);
    check_work("RMSNormalization", "", "2x5x8 8", 0, 80 * 5);
    check_work("com.microsoft:SkipLayerNormalization", "", "2x5x8 5x8 8 8 8", 0, 80 * 9);
    check_work("com.microsoft:EmbedLayerNormalization", "", "2x5:i32 2x5:i32 9x8 5x8 2x8 8 8", 0,
               80 * 10);
    check_work("LRN", "size=3", "1x8x5x5", 0, 8 * 25 * 3 * 2); /* square and add */
    check_work("MeanVarianceNormalization", "", "2x3x4x5", 0, 120 * 6);
    /* seq x batch x (elements of W + elements of R) */
    check_work("LSTM", "direction=bidirectional", "7x2x3 2x20x3 2x20x5 2x40", 7 * 2 * (120 + 200),
               0);
    check_work("GRU", "layout=1", "2x7x3 1x15x3 1x15x5 - - 2x1x5", 7 * 2 * (45 + 75), 0);
    check_work("RNN", "", "7x2x3 1x5x3 1x5x5", 7 * 2 * (15 + 25), 0);
    /* batch x heads x s x t x (d + e); 5 operations a score */
    check_work("Attention", "", "2x4x5x8 2x2x6x8 2x2x6x7 5x9 2x2x3x8 2x2x3x7",
               2LL * 4 * 5 * 9 * (8 + 7), 2LL * 4 * 5 * 9 * 5);
    check_work("Attention", "q_num_heads=4 kv_num_heads=2", "2x5x32 2x6x16 2x6x14 1x1x5x6",
               2LL * 4 * 5 * 6 * (8 + 7), 2LL * 4 * 5 * 6 * 5);
    /* the projection 2 x 5 x 16 x 96 as well */
    check_work("com.microsoft:Attention", "num_heads=4", "2x5x16 16x96 96 - 2x2x4x3x8",
               2LL * 5 * 16 * 96 + 2LL * 4 * 5 * 8 * 16, 2LL * 4 * 5 * 8 * 5);
    check_work("com.microsoft:MultiHeadAttention", "num_heads=4", "2x5x32 2x6x32 2x6x28",
               2LL * 4 * 5 * 6 * 15, 2LL * 4 * 5 * 6 * 5);
    check_work("com.microsoft:MultiHeadAttention", "num_heads=4", "2x5x4x3x8", 2LL * 4 * 5 * 5 * 16,
               2LL * 4 * 5 * 5 * 5);
    check_work("com.microsoft:GroupQueryAttention", "num_heads=8 kv_num_heads=2",
               "2x5x96 - - 2x2x3x8 2x2x3x8 2:i32 scalar:i32", 2LL * 8 * 5 * 8 * 16,
               2LL * 8 * 5 * 8 * 5);
    /* a buffer of 100 rows of which 8 are attended to */
    check_work("com.microsoft:GroupQueryAttention", "num_heads=8 kv_num_heads=2",
               "2x5x96 - - 2x2x100x8 2x2x100x8 2:i32 scalar:i32{8}", 2LL * 8 * 5 * 8 * 16,
               2LL * 8 * 5 * 8 * 5);
}

/* --- loops ----------------------------------------------------------------------------------- */

static const char *print_index(fixture *f, const weft_nest *n, const weft_index *i)
{
    const char *text = i->is_whole ? "*" : i->n_terms == 0 ? "0" : "";

    for (int t = 0; t < i->n_terms; t++) {
        text = weft_arena_print(f->arena, "%s%s", text, t == 0 ? "" : "+");
        if (i->factor[t] != 1)
            text = weft_arena_print(f->arena, "%s%lld", text, (long long)i->factor[t]);
        text = weft_arena_print(f->arena, "%s%s", text, n->axis[i->axis[t]].name);
    }
    if (i->offset != 0)
        text = weft_arena_print(f->arena, "%s%+lld", text, (long long)i->offset);
    return text;
}

/* "b:p r:s i:r t:q; x0[b, 2r+i-1] y0[b, r]": axes with the first letter of their kind (q for
 * sequential), accesses to operands x and results y. */
static const char *print_nest(fixture *f, const weft_nest *n)
{
    const char *text = "";

    for (int i = 0; i < n->n_axes; i++)
        text = weft_arena_print(f->arena, "%s%s%s:%c", text, i == 0 ? "" : " ", n->axis[i].name,
                                "psrq"[n->axis[i].kind]);
    for (int i = 0; i < n->n_accesses; i++) {
        const weft_access *a = &n->access[i];

        text = weft_arena_print(f->arena, "%s%s%c%d[", text, i == 0 ? "; " : " ",
                                a->is_result ? 'y' : 'x', a->slot);
        for (int d = 0; d < a->rank; d++)
            text = weft_arena_print(f->arena, "%s%s%s", text, d == 0 ? "" : ", ",
                                    print_index(f, n, &a->index[d]));
        text = weft_arena_print(f->arena, "%s]", text);
    }
    return text;
}

/* Nests of a call, " / " between them. */
static void check_nest(const char *op, const char *attrs, const char *args, int n_results,
                       const char *expected)
{
    fixture *f = open_call(op, attrs, args, n_results);
    weft_nests *nests = WEFT_NEW(f->arena, weft_nests, 1);
    const char *text = "";

    infer_nests(f, nests);
    for (int i = 0; i < nests->n; i++)
        text = weft_arena_print(f->arena, "%s%s%s", text, i == 0 ? "" : " / ",
                                print_nest(f, &nests->nest[i]));
    CHECK_TEXT(text, expected);
    close_call(f);
}

TEST(nests_index_their_tensors)
{
    check_nest("Conv", "strides=[2,1] dilations=[1,3] pads=[1,0,1,0] group=2", "1x6x9x9 8x3x3x1 8",
               1,
               "b:p g:p m:p n:r r:s c:p i:r j:r; x0[b, 3g+n, 2r+i-1, c+3j] x1[4g+m, n, i, j] "
               "y0[b, 4g+m, r, c] x2[4g+m]");
    /* total padding (4 - 1) * 2 + 4 - 8 = 2; with 3: 1, of which the beginning gets 1 */
    check_nest("Conv", "strides=[2] auto_pad=SAME_LOWER", "1x1x8 1x1x3", 1,
               "b:p g:p m:p n:r x0:s k0:r; x0[b, g+n, 2x0+k0-1] x1[g+m, n, k0] y0[b, g+m, x0]");
    check_nest("Conv", "strides=[2] auto_pad=SAME_UPPER", "1x1x8 1x1x3", 1,
               "b:p g:p m:p n:r x0:s k0:r; x0[b, g+n, 2x0+k0] x1[g+m, n, k0] y0[b, g+m, x0]");
    check_nest(
        "com.microsoft:FusedConv", "", "1x3x8 5x3x3 5 1x5x6", 1,
        "b:p g:p m:p n:r x0:s k0:r; x0[b, 3g+n, x0+k0] x1[5g+m, n, k0] y0[b, 5g+m, x0] x2[5g+m] "
        "x3[b, 5g+m, x0]");
    check_nest("ConvTranspose", "strides=[2] pads=[1,1] group=2", "1x4x5 4x3x3 6", 1,
               "b:p g:p m:p n:r x0:s k0:r; x0[b, 2g+n, x0] x1[2g+n, m, k0] y0[b, 3g+m, 2x0+k0-1] "
               "x2[3g+m]");
    check_nest("MaxPool", "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]", "1x3x8x8", 2,
               "b:p m:p r:s c:s i:r j:r; x0[b, m, 2r+i-1, 2c+j-1] y0[b, m, r, c] y1[b, m, r, c]");
    check_nest("GlobalMaxPool", "", "2x3x4x5", 1, "b:p m:p i:r j:r; x0[b, m, i, j] y0[b, m, 0, 0]");
    check_nest("RoiAlign", "", "1x16x20x20 30x4 30:i64", 1,
               "b:p m:p r:p c:p i:r j:r; x0[*, m, *, *] x1[b, *] x2[b] y0[b, m, r, c]");
    check_nest("GridSample", "", "2x3x8x9 2x5x6x2", 1,
               "b:p m:p r:p c:p; x0[b, m, *, *] x1[b, r, c, *] y0[b, m, r, c]");
    check_nest("MatMul", "", "7x1x2x3 6x3x4", 1,
               "b0:p b1:p m:p n:p k:r; x0[b0, 0, m, k] x1[b1, k, n] y0[b0, b1, m, n]");
    check_nest("MatMul", "", "3 5x3x4", 1, "b0:p n:p k:r; x0[k] x1[b0, k, n] y0[b0, n]");
    check_nest("Gemm", "transA=1 transB=1", "3x2 4x3 2x1", 1,
               "m:p n:p k:r; x0[k, m] x1[n, k] y0[m, n] x2[m, 0]");
    check_nest("com.microsoft:FusedMatMul", "transA=1 transBatchA=1 transBatchB=1", "3x5x2 3x5x4",
               1, "b0:p m:p n:p k:r; x0[k, b0, m] x1[k, b0, n] y0[b0, m, n]");
    check_nest("com.microsoft:MatMulNBits", "K=64 N=8 block_size=32", "2x5x64 8x2x16:u8 16", 1,
               "b0:p m:p n:p k:r; x0[b0, m, k] x1[n, *, *] y0[b0, m, n]");
    check_nest("Einsum", "equation=...ii,...ij->...j", "7x3x3 3x4", 1,
               "e0:p j:p i:r; x0[e0, i, i] x1[i, j] y0[e0, j]");
    check_nest("BatchNormalization", "", "2x3x4 3 3 3 3", 1,
               "b:p m:p x0:p; x0[b, m, x0] y0[b, m, x0] x1[m] x2[m] x3[m] x4[m]");
    check_nest("InstanceNormalization", "", "2x3x4 3 3", 1,
               "b:p m:p x0:r; x0[b, m, x0] y0[b, m, x0] x1[m] x2[m]");
    check_nest("GroupNormalization", "num_groups=2", "2x6x4 6 2", 1,
               "b:p g:p m:r x0:r; x0[b, 3g+m, x0] y0[b, 3g+m, x0] x1[3g+m] x2[g]");
    check_nest("LayerNormalization", "axis=1", "2x5x8 5x8 8", 2,
               "d0:p d1:r d2:r; x0[d0, d1, d2] x1[d1, d2] x2[d2] y0[d0, d1, d2] y1[d0, 0, 0]");
    check_nest("com.microsoft:SkipLayerNormalization", "", "2x5x8 1x5x8 8", 1,
               "d0:p d1:p d2:r; x0[d0, d1, d2] x1[0, d1, d2] x2[d2] y0[d0, d1, d2]");
    check_nest("com.microsoft:EmbedLayerNormalization", "", "2x5:i32 - 9x8 5x8 - 8 8", 2,
               "b:p s:p h:r; x0[b, s] x2[*, h] x3[s, h] x5[h] x6[h] y0[b, s, h]");
    check_nest("LRN", "size=5", "1x8x4", 1, "b:p m:s x0:p w:r; x0[b, m+w-2, x0] y0[b, m, x0]");
    check_nest("MeanVarianceNormalization", "axes=[-1,1]", "2x3x4", 1,
               "d0:p d1:r d2:r; x0[d0, d1, d2] y0[d0, d1, d2]");
    check_nest("LSTM", "layout=1", "2x7x3 1x20x3 1x20x5 1x40 - 2x1x5", 2,
               "t:q d:p b:p h:p k:r; x0[b, t, k] x1[d, h, k] x3[d, *] / "
               "t:q d:p b:p h:p k:r; x2[d, h, k] x5[b, d, k] y0[b, t, d, *] y1[b, d, *]");
    check_nest("Attention", "q_num_heads=4 kv_num_heads=2", "2x5x32 2x6x16 2x6x14 4x5x1", 1,
               "b:p h:p g:p s:p t:p d:r; x0[b, s, 16h+8g+d] x1[b, t, 8h+d] / "
               "b:p h:p g:p s:p t:r; x3[2h+g, s, 0] / "
               "b:p h:p g:p s:p e:p t:r; x2[b, t, 7h+e] y0[b, s, 14h+7g+e]");
    /* three keys of the past come first */
    check_nest(
        "Attention", "", "2x4x5x8 2x4x6x8 2x4x6x7 - 2x4x3x8 2x4x3x7", 4,
        "b:p h:p s:p t:p d:r; x0[b, h, s, d] x4[b, h, t, d] x1[b, h, t-3, d] y3[b, h, s, t] / "
        "b:p h:p s:p t:r / "
        "b:p h:p s:p e:p t:r; x5[b, h, t, e] x2[b, h, t-3, e] y0[b, h, s, e]");
    check_nest("com.microsoft:Attention", "num_heads=4", "2x5x16 16x96 96 - 2x2x4x3x8 2x1x5x8", 1,
               "b:p s:p n:p k:r; x0[b, s, k] x1[k, n] x2[n] / "
               "b:p h:p s:p t:p d:r; x4[*, b, h, t, d] / "
               "b:p h:p s:p t:r; x5[b, 0, s, t] / "
               "b:p h:p s:p e:p t:r; x4[*, b, h, t, e] y0[b, s, 8h+e]");
    check_nest("com.microsoft:MultiHeadAttention", "num_heads=4", "2x5x4x3x8", 1,
               "b:p h:p s:p t:p d:r; x0[b, s, h, *, d] x0[b, t, h, *, d] / "
               "b:p h:p s:p t:r / "
               "b:p h:p s:p e:p t:r; x0[b, t, h, *, e] y0[b, s, 8h+e]");
    check_nest("com.microsoft:GroupQueryAttention", "num_heads=8 kv_num_heads=2",
               "2x5x96 - - - - 2:i32 scalar:i32", 1,
               "b:p h:p g:p s:p t:p d:r; x0[b, s, *] x0[b, t, *] / "
               "b:p h:p g:p s:p t:r / "
               "b:p h:p g:p s:p e:p t:r; x0[b, t, *] y0[b, s, 32h+8g+e]");
}

/* A nest with no work, and rules that the shapes alone do not stop. */
TEST(odd_sizes_do_no_harm)
{
    check_work("Conv", "", "0x3x8x8 16x3x3x3", 0, 0);
    check_work("MatMul", "", "2x0 0x4", 0, 0);
    check_work("GroupNormalization", "num_groups=3", "2x4x5 4 4", 0,
               40 * 8); /* 3 does not divide 4 */
    check_work("GroupNormalization", "num_groups=-1", "2x4x5 4 4", 0, 40 * 8);
    check_work("LRN", "size=99", "1x8x4", 0, 32 * 8 * 2); /* no more than all channels */
    check_work("LSTM", "", "0x2x3 1x20x3 1x20x5", 0, 0);
    check_work("Attention", "", "2x4x5x8 2x4x0x8 2x4x0x7", 0, 0);
}

/* --- nests compute what the operators mean --------------------------------------------------- */

/* Offset of the element an access touches at a point; false if it lies in the padding. */
static bool locate(const weft_access *a, const weft_shape *s, const int64_t *point, int64_t *at)
{
    *at = 0;
    for (int d = 0; d < s->rank; d++) {
        int64_t index = a->index[d].offset;

        for (int t = 0; t < a->index[d].n_terms; t++)
            index += a->index[d].factor[t] * point[a->index[d].axis[t]];
        if (index < 0 || index >= s->dim[d])
            return false;
        *at = *at * s->dim[d] + index;
    }
    return true;
}

static bool next_point(const weft_nest *n, int64_t *point)
{
    for (int i = n->n_axes - 1; i >= 0; i--) {
        if (++point[i] < n->axis[i].extent)
            return true;
        point[i] = 0;
    }
    return false;
}

/* Result 0 of the only nest of a call, as sum over points of input 0 times input 1. */
static int64_t *run_nest(fixture *f, int64_t *const data[2])
{
    weft_nests *nests = WEFT_NEW(f->arena, weft_nests, 1);
    const weft_nest *n = &nests->nest[0];
    int64_t point[WEFT_MAX_AXES] = {0}, *y, at, to = 0;

    infer_nests(f, nests);
    y = WEFT_NEW(f->arena, int64_t, weft_shape_elements(&f->result[0].shape));
    CHECK(weft_nest_points(n) > 0);
    do {
        int64_t product = 1;
        bool is_inside = true;

        for (int i = 0; i < n->n_accesses; i++) {
            const weft_access *a = &n->access[i];

            if (a->is_result) {
                is_inside = locate(a, &f->result[0].shape, point, &to) && is_inside;
            } else {
                bool found = locate(a, &f->arg[a->slot]->shape, point, &at);

                is_inside = is_inside && found;
                product *= found ? data[a->slot][at] : 0;
            }
        }
        if (is_inside)
            y[to] += product;
    } while (next_point(n, point));
    return y;
}

static int64_t *random_data(fixture *f, weft_rng *r, int slot)
{
    int64_t n = weft_shape_elements(&f->arg[slot]->shape);
    int64_t *data = WEFT_NEW(f->arena, int64_t, n);

    for (int64_t i = 0; i < n; i++)
        data[i] = weft_rng_below(r, 19) - 9;
    return data;
}

static int64_t flat(const weft_shape *s, int64_t a, int64_t b, int64_t c, int64_t d)
{
    return ((a * s->dim[1] + b) * s->dim[2] + c) * s->dim[3] + d;
}

static void check_same(const weft_shape *s, const int64_t *got, const int64_t *expected)
{
    for (int64_t i = 0; i < weft_shape_elements(s); i++)
        CHECK_INT(got[i], expected[i]);
}

typedef struct conv_case {
    int group, stride[2], dilation[2], pad[4];
} conv_case;

static int small(weft_rng *r, int lowest, int highest)
{
    return lowest + weft_rng_below(r, highest - lowest + 1);
}

static const char *random_window(weft_rng *r, weft_arena *a, conv_case *k)
{
    k->group = small(r, 1, 2);
    for (int i = 0; i < 2; i++) {
        k->stride[i] = small(r, 1, 3);
        k->dilation[i] = small(r, 1, 2);
    }
    for (int i = 0; i < 4; i++)
        k->pad[i] = small(r, 0, 2);
    return weft_arena_print(a, "group=%d strides=[%d,%d] dilations=[%d,%d] pads=[%d,%d,%d,%d]",
                            k->group, k->stride[0], k->stride[1], k->dilation[0], k->dilation[1],
                            k->pad[0], k->pad[1], k->pad[2], k->pad[3]);
}

/* Every element of x meets every kernel element of the filters of its group: the definition of the
 * transposed convolution, and with x and y exchanged of the plain one. */
static void convolve(fixture *f, const conv_case *k, int64_t *const data[2], int64_t *y,
                     bool is_transposed)
{
    const weft_shape *xs = &f->arg[0]->shape, *ws = &f->arg[1]->shape, *ys = &f->result[0].shape;
    int64_t n = xs->dim[1] / k->group, m = ys->dim[1] / k->group;
    const weft_shape *from = is_transposed ? xs : ys, *to = is_transposed ? ys : xs;

    for (int64_t b = 0; b < xs->dim[0]; b++)
        for (int64_t p = 0; p < ys->dim[1]; p++)
            for (int64_t q = 0; q < n; q++)
                for (int64_t r = 0; r < from->dim[2] * from->dim[3]; r++)
                    for (int64_t i = 0; i < ws->dim[2] * ws->dim[3]; i++) {
                        int64_t r0 = r / from->dim[3], r1 = r % from->dim[3];
                        int64_t i0 = i / ws->dim[3], i1 = i % ws->dim[3];
                        int64_t t0 = r0 * k->stride[0] + i0 * k->dilation[0] - k->pad[0];
                        int64_t t1 = r1 * k->stride[1] + i1 * k->dilation[1] - k->pad[1];
                        int64_t channel = p / m * n + q;

                        if (t0 < 0 || t1 < 0 || t0 >= to->dim[2] || t1 >= to->dim[3])
                            continue;
                        if (is_transposed)
                            y[flat(ys, b, p, t0, t1)] += data[0][flat(xs, b, channel, r0, r1)] *
                                                         data[1][flat(ws, channel, p % m, i0, i1)];
                        else
                            y[flat(ys, b, p, r0, r1)] += data[0][flat(xs, b, channel, t0, t1)] *
                                                         data[1][flat(ws, p, q, i0, i1)];
                    }
}

static void check_convolution(uint64_t seed, bool is_transposed)
{
    weft_rng r = weft_rng_seed(seed);
    weft_arena *a = weft_arena_new();
    conv_case k;
    const char *attrs = random_window(&r, a, &k), *args;
    int n = small(&r, 1, 3), m = small(&r, 1, 3);
    fixture *f;
    int64_t *data[2], *y, *expected;

    args = weft_arena_print(a, "%dx%dx%dx%d %dx%dx%dx%d", small(&r, 1, 2), n * k.group,
                            small(&r, 5, 7), small(&r, 5, 7), (is_transposed ? n : m) * k.group,
                            is_transposed ? m : n, small(&r, 1, 3), small(&r, 1, 3));
    f = open_call(is_transposed ? "ConvTranspose" : "Conv", attrs, args, 1);
    data[0] = random_data(f, &r, 0);
    data[1] = random_data(f, &r, 1);
    y = run_nest(f, data);
    expected = WEFT_NEW(f->arena, int64_t, weft_shape_elements(&f->result[0].shape));
    convolve(f, &k, data, expected, is_transposed);
    check_same(&f->result[0].shape, y, expected);
    close_call(f);
    weft_arena_free(a);
}

TEST(convolution_nests_compute_convolutions)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        check_convolution(seed, false);
        check_convolution(seed, true);
    }
}

/* Element (b, i, j) of an operand stored with matrices transposed or rows before the batch. */
static int64_t element(const weft_shape *s, const int64_t *data, const int64_t at[3],
                       const bool swaps[2])
{
    int64_t b = s->dim[swaps[1] ? 1 : 0] == 1 ? 0 : at[0];
    int64_t i = at[swaps[0] ? 2 : 1], j = at[swaps[0] ? 1 : 2];

    if (swaps[1])
        return data[(i * s->dim[1] + b) * s->dim[2] + j];
    return data[(b * s->dim[1] + i) * s->dim[2] + j];
}

static const char *stored(weft_arena *a, const int size[3], const bool swaps[2])
{
    int i = size[swaps[0] ? 2 : 1], j = size[swaps[0] ? 1 : 2];

    return swaps[1] ? weft_arena_print(a, "%dx%dx%d", i, size[0], j)
                    : weft_arena_print(a, "%dx%dx%d", size[0], i, j);
}

static void check_product(uint64_t seed)
{
    weft_rng r = weft_rng_seed(seed);
    weft_arena *arena = weft_arena_new();
    int batch = small(&r, 1, 3), m = small(&r, 1, 4), n = small(&r, 1, 4), k = small(&r, 1, 4);
    const int a[] = {small(&r, 0, 1) ? 1 : batch, m, k}, b[] = {batch, k, n};
    const bool left[] = {seed & 1, seed & 2}, right[] = {seed & 4, seed & 8};
    fixture *f = open_call(
        "com.microsoft:FusedMatMul",
        weft_arena_print(arena, "transA=%d transBatchA=%d transB=%d transBatchB=%d", left[0],
                         left[1], right[0], right[1]),
        weft_arena_print(arena, "%s %s", stored(arena, a, left), stored(arena, b, right)), 1);
    int64_t *data[] = {random_data(f, &r, 0), random_data(f, &r, 1)};
    const int64_t *y = run_nest(f, data);

    CHECK_INT(weft_shape_elements(&f->result[0].shape), batch * m * n);
    for (int64_t i = 0; i < batch * m * n; i++) {
        int64_t sum = 0, at = i / (m * n), row = i / n % m, column = i % n;

        for (int64_t x = 0; x < k; x++)
            sum += element(&f->arg[0]->shape, data[0], (int64_t[]){at, row, x}, left) *
                   element(&f->arg[1]->shape, data[1], (int64_t[]){at, x, column}, right);
        CHECK_INT(y[i], sum);
    }
    close_call(f);
    weft_arena_free(arena);
}

TEST(product_nests_compute_products)
{
    for (uint64_t seed = 0; seed < 160; seed++)
        check_product(seed);
}

/* A product written as an equation is the same nest. */
TEST(einsum_nests_compute_products)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        weft_rng r = weft_rng_seed(seed), again = r;
        fixture *f = open_call("Einsum", "equation=bij,jk->bik", "2x3x4 4x5", 1);
        fixture *g = open_call("MatMul", "", "2x3x4 4x5", 1);
        int64_t *data[] = {random_data(f, &r, 0), random_data(f, &r, 1)};
        int64_t *same[] = {random_data(g, &again, 0), random_data(g, &again, 1)};
        const int64_t *y = run_nest(f, data);

        check_same(&f->result[0].shape, y, run_nest(g, same));
        close_call(f);
        close_call(g);
    }
}

/* Unknown sizes only ever lose knowledge: with dimensions hidden, a rule gives the same shape with
 * some dimensions unknown, and never fails. */
static void hide_some(const char *op, const char *attrs, const char *args, weft_rng *r)
{
    fixture *f = open_call(op, attrs, args, 1);
    weft_shape full;

    CHECK_OK(weft_infer(&f->call));
    full = f->result[0].shape;
    for (int i = 0; i < f->call.n_args; i++)
        for (int d = 0; d < f->value[i].shape.rank; d++)
            if (weft_rng_below(r, 3) == 0)
                f->value[i].shape.dim[d] = WEFT_UNKNOWN_DIM;
    for (int i = 0; i < f->call.n_args; i++)
        if (weft_rng_below(r, 8) == 0)
            f->value[i].shape.rank = -1;
    if (weft_infer(&f->call) != WEFT_OK)
        fail_msg("%s %s (%s): %s", op, attrs, args, weft_message());
    CHECK(f->result[0].shape.rank == -1 || f->result[0].shape.rank == full.rank);
    for (int d = 0; d < f->result[0].shape.rank; d++)
        CHECK(f->result[0].shape.dim[d] == WEFT_UNKNOWN_DIM ||
              f->result[0].shape.dim[d] == full.dim[d]);
    close_call(f);
}

static void check_hiding(const char *op, const char *attrs, const char *args)
{
    weft_rng r = weft_rng_seed(7);

    for (int k = 0; k < 40; k++)
        hide_some(op, attrs, args, &r);
}

TEST(hidden_sizes_only_lose_knowledge)
{
    check_hiding("Conv", "strides=[2,2] pads=[1,1,1,1] group=2", "2x6x9x8 8x3x3x3 8");
    check_hiding("Conv", "auto_pad=SAME_UPPER strides=[2,2]", "2x3x9x8 8x3x3x3");
    check_hiding("ConvTranspose", "strides=[2,2] group=3", "2x3x9x8 3x5x3x3 15");
    check_hiding("DeformConv", "", "1x4x5x5 8x4x3x3 1x18x3x3 8 1x9x3x3");
    check_hiding("QLinearConv", "", "1x3x8x8:u8 1 1:u8 16x3x3x3:i8 16 16:i8 1 1:u8 16:i32");
    check_hiding("MaxPool", "kernel_shape=[3,3] strides=[2,2] ceil_mode=1", "1x3x8x8");
    check_hiding("MaxUnpool", "kernel_shape=[2,2] strides=[2,2]", "1x1x2x2 1x1x2x2:i64");
    check_hiding("RoiAlign", "", "1x16x20x20 30x4 30:i64");
    check_hiding("GridSample", "", "2x3x8x9 2x5x6x2");
    check_hiding("AffineGrid", "", "2x2x3 4:i64{2,3,8,9}");
    check_hiding("MatMul", "", "7x1x2x3 6x3x4");
    check_hiding("Gemm", "transA=1 transB=1", "3x2 4x3 4");
    check_hiding("com.microsoft:FusedMatMul", "transA=1 transBatchA=1", "3x5x2 5x3x4");
    check_hiding("com.microsoft:MatMulNBits", "K=64 N=8 block_size=32", "2x5x64 8x2x16:u8 16");
    check_hiding("Einsum", "equation=...ij,...jk", "7x1x2x3 6x3x4");
    check_hiding("BatchNormalization", "", "2x3x4x4 3 3 3 3");
    check_hiding("LayerNormalization", "axis=1", "2x5x8 5x8 8");
    check_hiding("com.microsoft:SkipLayerNormalization", "", "2x5x8 2x5x8 8 8 8");
    check_hiding("com.microsoft:EmbedLayerNormalization", "", "2x5:i32 2x5:i32 9x8 5x8 2x8 8 8");
    check_hiding("LSTM", "", "7x2x3 1x20x3 1x20x5 1x40 2:i32 1x2x5 1x2x5");
    check_hiding("Attention", "", "2x4x5x8 2x2x6x8 2x2x6x8 5x9 2x2x3x8 2x2x3x8");
    check_hiding("com.microsoft:Attention", "num_heads=4", "2x5x16 16x96 96 - 2x2x4x3x8");
    check_hiding("com.microsoft:MultiHeadAttention", "num_heads=4", "2x5x32 2x6x32 2x6x28");
    check_hiding("com.microsoft:MultiHeadAttention", "num_heads=4", "2x5x4x3x8");
    check_hiding("com.microsoft:GroupQueryAttention", "num_heads=8 kv_num_heads=2",
                 "2x5x96 - - 2x2x3x8 2x2x3x8 2:i32 scalar:i32");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_slide_their_window),
        cmocka_unit_test(convolutions_pass_unknown_sizes_on),
        cmocka_unit_test(convolutions_refuse_contradictions),
        cmocka_unit_test(transposed_convolutions_spread),
        cmocka_unit_test(pools_round_as_asked),
        cmocka_unit_test(regions_grids_and_unpools),
        cmocka_unit_test(matrix_products_follow_numpy),
        cmocka_unit_test(einsum_reads_equations),
        cmocka_unit_test(normalisations_keep_the_shape),
        cmocka_unit_test(recurrent_layers_have_two_layouts),
        cmocka_unit_test(attention_finds_its_heads),
        cmocka_unit_test(work_follows_the_formulas),
        cmocka_unit_test(nests_index_their_tensors),
        cmocka_unit_test(odd_sizes_do_no_harm),
        cmocka_unit_test(convolution_nests_compute_convolutions),
        cmocka_unit_test(product_nests_compute_products),
        cmocka_unit_test(einsum_nests_compute_products),
        cmocka_unit_test(hidden_sizes_only_lose_knowledge),
    };

    return RUN_TESTS(tests);
}
