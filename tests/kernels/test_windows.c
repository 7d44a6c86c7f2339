/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The type relations of pooling, softmax and the gradients of conv2d: forwards, backwards, with
 * ranges, and what they say when nothing fits.
 */
#include "support/check.h"

#include "strategy/strategy.h"

static optune_call call;

static int infer(const char *text, optune_err *err)
{
    return ot_call_parse(text, &call, err);
}

static void check_dim(const optune_dim *d, int64_t min, int64_t max)
{
    assert_int_equal(d->min, min);
    assert_int_equal(d->max, max);
}

static void test_ranges(void **state)
{
    (void)state;
    optune_err err = {0};
    assert_true(
        infer("max_pool2d(f32[?n:1..8,64,?h:32..112,112], pool_size=[3,3], strides=[2,2], "
              "padding=[1,1])",
              &err) >= 0);
    check_dim(&call.output[0].dim[0], 1, 8);
    assert_string_equal(call.output[0].dim[0].name, "n");
    check_dim(&call.output[0].dim[2], 16, 56);
    check_dim(&call.output[0].dim[3], 56, 56);
    /* a window that keeps the extent keeps its name */
    assert_true(infer("avg_pool2d(f32[1,4,?h,9], pool_size=[3,3], padding=[1,1])", &err) >= 0);
    assert_string_equal(call.output[0].dim[2].name, "h");
    assert_true(infer("softmax(f32[?m:1..64,128])", &err) >= 0);
    check_dim(&call.output[0].dim[0], 1, 64);
}

/* Strides lose what they round away: backwards there is a range. */
static void test_backwards(void **state)
{
    (void)state;
    optune_err err = {0};
    assert_true(infer("max_pool2d_grad(f32[1,2,7,7], f32[1,?c,?h,15], pool_size=[3,3], "
                      "strides=[2,2])",
                      &err) >= 0);
    check_dim(&call.input[1].type.dim[1], 2, 2);
    check_dim(&call.output[0].dim[1], 2, 2);
    check_dim(&call.input[1].type.dim[2], 15, 16);
    assert_true(infer("conv2d_transpose(f32[1,4,?h,8], f32[4,6,3,3], strides=[2,2], "
                      "padding=[1,1], output_padding=[1,1])",
                      &err) >= 0);
    check_dim(&call.output[0].dim[1], 6, 6);
    check_dim(&call.output[0].dim[3], 16, 16);
    assert_true(infer("conv2d_backward_weight(f32[1,6,4,4], f32[1,4,8,8], kernel_size=[3,3], "
                      "strides=[2,2], padding=[1,1], groups=2)",
                      &err) >= 0);
    const int64_t want[] = {6, 2, 3, 3};
    for (int d = 0; d < 4; d++)
        check_dim(&call.output[0].dim[d], want[d], want[d]);
}

static void test_ceil_mode(void **state)
{
    (void)state;
    optune_err err = {0};
    check_ok(infer("max_pool2d(f32[1,1,14,14], pool_size=[3,3], strides=[2,2])", &err));
    check_dim(&call.output[0].dim[2], 6, 6);
    check_ok(infer("max_pool2d(f32[1,1,14,14], pool_size=[3,3], strides=[2,2], ceil_mode=true)",
                   &err));
    check_dim(&call.output[0].dim[2], 7, 7);
}

static void test_conflicts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"softmax(f32[3,4], axis=2)", "no axis 2"},
        {"max_pool2d(f32[1,2,3,3], pool_size=[4,4])", "pool_size"},
        {"max_pool2d(f32[1,2,3], pool_size=[1,1])", "4 dimensions"},
        {"max_pool2d(f32[1,2,3,3], pool_size=[1,1], layout=NHWC)", "neither NCHW nor"},
        {"max_pool2d_grad(f32[1,3,2,2], f32[1,2,3,3], pool_size=[2,2])", "channels differ"},
        {"conv2d_transpose(f32[1,4,5,5], f32[3,2,3,3])", "argument 2 (weight) f32[3,2,3,3]"},
        {"conv2d_transpose(f32[1,4,5,5], f32[4,2,3,3], output_padding=[1,1])",
         "output_padding"},
        {"conv2d_backward_weight(f32[1,6,9,9], f32[1,4,8,8], kernel_size=[3,3], padding=[1,1])",
         "argument 1 (grad) f32[1,6,9,9]"},
    };
    for (int i = 0; i < OT_COUNT(bad); i++) {
        optune_err err = {0};
        assert_true(infer(bad[i].text, &err) < 0);
        if (!strstr(err.text, bad[i].says))
            print_error("%s: %s\n", bad[i].text, err.text);
        assert_non_null(strstr(err.text, bad[i].says));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_backwards),
        cmocka_unit_test(test_ceil_mode),
        cmocka_unit_test(test_conflicts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
