/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators where their types are narrow, whole or empty: floats of 16 bits whose squares have no
 * room there, integers that are divided, cut off or not there at all, infinities among numbers.
 * Each is one small model; what it gives is worked out by hand and exact in the narrow type.
 */
#include <math.h>
#include <stdlib.h>

#include "graph/graph.h"
#include "support/onnx_file.h"

enum { INT8 = 3, INT32 = 6, FLOAT16 = 10 };

static void cast(ot_text *g, const char *from, const char *to, int type)
{
    ot_text attrs = {0};
    attr_int(&attrs, "to", type);
    onnx_node(g, "Cast", to, from, to, &attrs);
}

/* One operator on x, in another type on the way; "a" holds what it gives. */
static void between(ot_text *g, const char *dims, int given, int type, const char *op,
                    const char *inputs, ot_text *attrs)
{
    onnx_input(g, "x", given, dims);
    cast(g, "x", "h", type);
    onnx_node(g, op, "only", inputs, "a", attrs);
}

/* 300 squared is no float16; what is divided by such a root is. */
static void squares_have_room(void **state)
{
    static const float x[] = {300, -300, 300, -300}, ones[] = {1, 1, 1, 1};
    static const float halves[] = {.5f, -.5f, .5f, -.5f}, unit[] = {1, -1, 1, -1}, six = 600;
    static const struct {
        const char *op, *dims, *more; /* further inputs, and how many ones they hold */
        int opset, n;
        const float *want;
    } all[] = {
        {"LayerNormalization", "1,4", "4", 17, 4, unit},
        {"RMSNormalization", "1,4", "4", 23, 4, unit},
        {"InstanceNormalization", "1,1,4", "1", 17, 4, unit},
        {"GroupNormalization", "1,1,4", "1", 21, 4, unit},
        {"MeanVarianceNormalization", "1,1,2,2", NULL, 13, 4, unit},
        {"LRN", "1,1,2,2", NULL, 13, 4, unit},
        {"LpNormalization", "1,4", NULL, 13, 4, halves},
        {"ReduceL2", "1,4", NULL, 13, 1, &six},
        {"GlobalLpPool", "1,1,4", NULL, 13, 1, &six},
    };
    (void)state;
    for (int i = 0; i < OT_COUNT(all); i++) {
        ot_text g = {0}, attrs = {0};
        const bool shifts = all[i].op[0] == 'I' || !strcmp(all[i].op, "GroupNormalization");
        print_message("%s\n", all[i].op);
        if (all[i].more) {
            onnx_initializer(&g, "wide", ONNX_FLOAT, all[i].more, ones,
                             (size_t)atoi(all[i].more) * sizeof *ones);
            cast(&g, "wide", "s", FLOAT16);
            onnx_node(&g, "Sub", "none", "s s", "b", NULL);
        }
        if (!strcmp(all[i].op, "LRN")) {
            attr_int(&attrs, "size", 1);
            attr_real(&attrs, "alpha", 1);
            attr_real(&attrs, "beta", .5f);
            attr_real(&attrs, "bias", 0);
        }
        if (!strcmp(all[i].op, "GroupNormalization"))
            attr_int(&attrs, "num_groups", 1);
        between(&g, all[i].dims, ONNX_FLOAT, FLOAT16, all[i].op,
                shifts        ? "h s b"
                : all[i].more ? "h s"
                              : "h",
                &attrs);
        cast(&g, "a", "y", ONNX_FLOAT);
        onnx_gives(&g, all[i].opset, x, all[i].n, all[i].want, 0);
    }
}

/* A mean over a small deviation is no float16 either, where what is near the mean is. */
static void batches_are_shifted_in_float32(void **state)
{
    static const float x[] = {700, 701, 699, 700}, want[] = {0, 128, -128, 0};
    static const float params[] = {1, 0, 700, 0x1p-14f};
    static const char *const names[] = {"gamma", "beta", "mean", "variance"};
    ot_text g = {0}, attrs = {0};
    (void)state;
    for (int i = 0; i < OT_COUNT(names); i++) {
        char narrow[8];
        snprintf(narrow, sizeof narrow, "p%d", i);
        onnx_initializer(&g, names[i], ONNX_FLOAT, "1", &params[i], sizeof params[i]);
        cast(&g, names[i], narrow, FLOAT16);
    }
    attr_real(&attrs, "epsilon", 0);
    between(&g, "1,1,2,2", ONNX_FLOAT, FLOAT16, "BatchNormalization", "h p0 p1 p2 p3", &attrs);
    cast(&g, "a", "y", ONNX_FLOAT);
    onnx_gives(&g, 15, x, 4, want, 0);
}

/* Whatever is normalised, its mean and deviation are float32: they are added to what is. */
static void moments_are_wide(void **state)
{
    static const float x[] = {1, 3}, none = 0, want = 2;
    ot_text g = {0}, attrs = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "1,2");
    cast(&g, "x", "h", FLOAT16);
    onnx_node(&g, "LayerNormalization", "only", "h h", "a mean", &attrs);
    onnx_initializer(&g, "none", ONNX_FLOAT, "", &none, sizeof none);
    onnx_node(&g, "Add", "sum", "mean none", "y", NULL);
    onnx_gives(&g, 17, x, 1, &want, 0);
}

/* Beyond 256 a float16 has no square, beyond 32752 it cannot be doubled; 1 is where atanh ends. */
static void inverse_functions_reach_far(void **state)
{
    static const struct {
        const char *op, *then;
        float x[3], y[3];
    } all[] = {
        {"Asinh", "Floor", {1000, -1000, 60000}, {7, -8, 11}},
        {"Acosh", "Floor", {1000, 40000, 60000}, {7, 11, 11}},
        {"Atanh", "Sign", {1, -1, 0}, {1, -1, 0}},
    };
    (void)state;
    for (int i = 0; i < OT_COUNT(all); i++) {
        ot_text g = {0};
        between(&g, "3", ONNX_FLOAT, FLOAT16, all[i].op, "h", NULL);
        onnx_node(&g, all[i].then, "then", "a", "f", NULL);
        cast(&g, "f", "y", ONNX_FLOAT);
        onnx_gives(&g, 13, all[i].x, 3, all[i].y, 0);
    }
}

static void infinities_sum(void **state)
{
    static const float x[] = {INFINITY, 1, -INFINITY, -INFINITY, 0, -INFINITY};
    static const float want[] = {1, -1, 0};
    ot_text g = {0};
    static const int64_t axes[] = {1};
    ot_text attrs = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "3,2");
    attr_ints(&attrs, "axes", 1, axes);
    attr_int(&attrs, "keepdims", 0);
    onnx_node(&g, "ReduceLogSumExp", "only", "x", "a", &attrs);
    onnx_node(&g, "Sign", "sign", "a", "y", NULL);
    onnx_gives(&g, 13, x, 3, want, 0);
}

/* By half a number: what is left is cut off towards 0, not rounded, and not compared unsigned. */
static void integers_shrink(void **state)
{
    static const int64_t x[] = {5, 1, -5, 0};
    static const float want[] = {4, 0, -4, 0};
    ot_text g = {0}, attrs = {0};
    (void)state;
    attr_real(&attrs, "bias", .5f);
    attr_real(&attrs, "lambd", .5f);
    between(&g, "4", ONNX_INT64, INT32, "Shrink", "h", &attrs);
    cast(&g, "a", "y", ONNX_FLOAT);
    onnx_gives(&g, 13, x, 4, want, 0);
}

/* Of no integers at all the largest is the least that there is. */
static void of_no_integers(void **state)
{
    static const struct {
        const char *op;
        int type;
        float y;
    } all[] = {
        {"ReduceMax", INT32, -0x1p31f},
        {"ReduceMin", INT8, 127},
        {"ReduceMax", INT8, -128},
        {"ReduceMin", ONNX_INT64, 0x1p63f},
    };
    (void)state;
    for (int i = 0; i < OT_COUNT(all); i++) {
        ot_text g = {0};
        between(&g, "0", ONNX_INT64, all[i].type, all[i].op, "h", NULL);
        cast(&g, "a", "y", ONNX_FLOAT);
        onnx_gives(&g, 13, "", 1, &all[i].y, 0);
    }
}

/* What opset 10 says by examples only: the next element where an axis shrinks. */
static void old_images_shrink(void **state)
{
    static const float x[] = {1, 2, 3, 4}, want[] = {1, 3}, scales[] = {1, 1, 1, .6f};
    ot_text g = {0}, attrs = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "1,1,1,4");
    onnx_initializer(&g, "scales", ONNX_FLOAT, "4", scales, sizeof scales);
    attr_text(&attrs, "mode", "nearest");
    onnx_node(&g, "Resize", "only", "x scales", "y", &attrs);
    onnx_gives(&g, 10, x, 2, want, 0);
}

/* Between whole numbers others are floats, cut off towards 0: -1.25 is -1, 100.25 is 100. */
static void whole_images_grow(void **state)
{
    static const float x[] = {-2, 1, 100, 101}, scales[] = {1, 1, 1, 2};
    static const float want[] = {-2, -1, 0, 25, 75, 100, 100, 101};
    static const int types[] = {INT8, INT32};
    (void)state;
    for (int i = 0; i < OT_COUNT(types); i++) {
        ot_text g = {0}, attrs = {0};
        onnx_initializer(&g, "scales", ONNX_FLOAT, "4", scales, sizeof scales);
        attr_text(&attrs, "mode", "linear");
        between(&g, "1,1,1,4", ONNX_FLOAT, types[i], "Resize", "h - scales", &attrs);
        cast(&g, "a", "y", ONNX_FLOAT);
        onnx_gives(&g, 13, x, 8, want, 0);
    }
}

/* Where all is the same, it stays so, whatever weights by thirds add up to. */
static void whole_images_stay_as_bright(void **state)
{
    enum { LEVELS = 127, SIDE = 5, LARGE = 3 * SIDE };
    static const float factors[] = {1.5f, 3};
    static float x[LEVELS * SIDE * SIDE], want[LEVELS * LARGE * LARGE];
    (void)state;
    for (int which = 0; which < OT_COUNT(factors); which++) {
        const float factor = factors[which], scales[] = {1, 1, factor, factor};
        const int side = (int)(SIDE * factor), n = LEVELS * side * side;
        ot_text g = {0}, attrs = {0};
        for (int i = 0; i < LEVELS * SIDE * SIDE; i++)
            x[i] = (float)(i / (SIDE * SIDE) + 1);
        for (int i = 0; i < n; i++)
            want[i] = (float)(i / (side * side) + 1);
        onnx_initializer(&g, "scales", ONNX_FLOAT, "4", scales, sizeof scales);
        attr_text(&attrs, "mode", "linear");
        between(&g, "1,127,5,5", ONNX_FLOAT, INT8, "Resize", "h - scales", &attrs);
        cast(&g, "a", "y", ONNX_FLOAT);
        onnx_gives(&g, 13, x, n, want, 0);
    }
}

static int resize_long(const float scales[2], optune_graph **made, optune_err *err)
{
    ot_text g = {0}, attrs = {0};
    onnx_input(&g, "x", ONNX_INT64, "1,2");
    onnx_initializer(&g, "scales", ONNX_FLOAT, "2", scales, 2 * sizeof *scales);
    attr_text(&attrs, "mode", "linear");
    onnx_node(&g, "Resize", "only", "x - scales", "y", &attrs);
    return onnx_read(&g, 13, made, err);
}

/* No float holds integers of 64 bits: they are refused, but where nothing becomes of them. */
static void long_integers_are_not_resized(void **state)
{
    static const int64_t x[] = {INT64_MAX, (1LL << 53) + 1};
    const void *in = x;
    optune_err err = {0};
    optune_graph *g = NULL;
    optune_values *values = NULL;
    (void)state;
    check_ok(resize_long((const float[]){1, 1}, &g, &err));
    check_ok(optune_graph_evaluate(g, &in, NULL, &values, &err));
    assert_memory_equal(optune_values_data(values, 0), x, sizeof x);
    optune_values_free(values);
    optune_graph_close(g);
    g = NULL;
    assert_int_equal(resize_long((const float[]){1, 2}, &g, &err), OPTUNE_EUNSUPPORTED);
    check_contains(err.text, "integers of 64 bits");
}

/* Since opset 23 the quotient is of the scale's type: -80.508 is -80.5 there, and rounds to -80. */
static void quotients_are_narrow(void **state)
{
    static const float x[] = {-242.625f}, scale = 3.013671875f;
    static const int8_t zero = 0;
    (void)state;
    for (int opset = 21; opset <= 23; opset += 2) {
        ot_text g = {0};
        const float want = opset < 23 ? -81 : -80;
        onnx_initializer(&g, "wide", ONNX_FLOAT, "", &scale, sizeof scale);
        cast(&g, "wide", "s", FLOAT16);
        onnx_initializer(&g, "zero", INT8, "", &zero, sizeof zero);
        between(&g, "1", ONNX_FLOAT, FLOAT16, "QuantizeLinear", "h s zero", NULL);
        cast(&g, "a", "y", ONNX_FLOAT);
        onnx_gives(&g, opset, x, 1, &want, 0);
    }
}

/* A pad below 0 takes away; what comes round again behind is of what is left. */
static void cut_before_it_wraps(void **state)
{
    static const float x[] = {1, 2, 3}, want[] = {2, 3, 2, 3};
    static const int64_t pads[] = {-1, 2};
    ot_text g = {0}, attrs = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "3");
    onnx_initializer(&g, "pads", ONNX_INT64, "2", pads, sizeof pads);
    attr_text(&attrs, "mode", "wrap");
    onnx_node(&g, "Pad", "only", "x pads", "y", &attrs);
    onnx_gives(&g, 19, x, 4, want, 0);
}

/* Half of an integer product is none: that is said, not rounded away. */
static void halves_of_integers_are_refused(void **state)
{
    ot_text g = {0}, attrs = {0};
    optune_err err = {0};
    optune_graph *made = NULL;
    (void)state;
    onnx_input(&g, "x", ONNX_INT64, "2,2");
    attr_real(&attrs, "alpha", .5f);
    onnx_node(&g, "Gemm", "only", "x x", "y", &attrs);
    assert_int_equal(onnx_read(&g, 13, &made, &err), OPTUNE_EUNSUPPORTED);
    check_contains(err.text, "integers times 0.5");
}

/* What is added no times is not looked at: a NaN in it stays out. */
static void nothing_of_what_is_added(void **state)
{
    ot_text g = {0}, attrs = {0};
    static const float x[] = {1, 2, 3, 4}, add[] = {NAN, INFINITY};
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "2,2");
    onnx_initializer(&g, "c", ONNX_FLOAT, "2", add, sizeof add);
    attr_real(&attrs, "beta", 0);
    onnx_node(&g, "Gemm", "only", "x x c", "y", &attrs);
    onnx_gives(&g, 13, x, 4, (float[]){7, 10, 15, 22}, 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(squares_have_room),
        cmocka_unit_test(batches_are_shifted_in_float32),
        cmocka_unit_test(moments_are_wide),
        cmocka_unit_test(inverse_functions_reach_far),
        cmocka_unit_test(infinities_sum),
        cmocka_unit_test(nothing_of_what_is_added),
        cmocka_unit_test(integers_shrink),
        cmocka_unit_test(of_no_integers),
        cmocka_unit_test(old_images_shrink),
        cmocka_unit_test(whole_images_grow),
        cmocka_unit_test(whole_images_stay_as_bright),
        cmocka_unit_test(long_integers_are_not_resized),
        cmocka_unit_test(quotients_are_narrow),
        cmocka_unit_test(cut_before_it_wraps),
        cmocka_unit_test(halves_of_integers_are_refused),
    };
    return cmocka_run_group_tests(tests, onnx_make_folder, onnx_drop_folder);
}
