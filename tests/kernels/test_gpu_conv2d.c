/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What conv2d's GPU rows refuse by arithmetic, each limit from both sides. Needs no device; that
 * what they admit compiles and is right is for test_cuda and test_impl.
 */
#include "support/check.h"

#include "strategy/strategy.h"
#include "support/assumed.h"

static void test_implicit_gemm(void **state)
{
    (void)state;
    static const char impl[] = "conv2d_implicit_gemm.gpu";
    check_takes(impl, "conv2d(f32[1,2047,4,4], f32[4094,1,3,3], groups=2047)", NULL, 0);
    check_refuses(impl, "conv2d(f32[1,2048,4,4], f32[4096,1,3,3], groups=2048)", NULL, 0,
                  "groups");
    check_refuses(impl, "conv2d(f32[1,1,8,8,16], f32[16,16,3,3], data_layout=NCHW16c)", NULL, 0,
                  "NCHW");
    /* 16 x 16 sums; a depth of 64 is 8, 4 or 2 steps. */
    static const char small[] = "conv2d(f32[1,64,4,4], f32[16,64,1,1])";
    check_takes(impl, small, "split_k", 1);
    check_refuses(impl, small, "split_k", 32, "parts");
    check_takes(impl, small, "block_m", 16);
    check_refuses(impl, small, "block_m", 32, "half of the block");
    check_refuses(impl, small, "block_n", 32, "half of the block");
    check_refuses(impl, small, "thread_m", 16, "less than a warp");
    check_takes(impl, "conv2d(f32[1,64,17,1], f32[16,64,1,1])", "block_m", 32);
}

/* The gradients' rows are conv2d's with other shapes: what is too large is so by theirs. */
static void test_gradients(void **state)
{
    (void)state;
    static const char data[] = "conv2d_transpose_implicit_gemm.gpu";
    static const char weight[] = "conv2d_backward_weight_implicit_gemm.gpu";
    check_takes(data, "conv2d_transpose(f32[1,2047,4,4], f32[2047,2,3,3], groups=2047)", NULL,
                0);
    check_refuses(data, "conv2d_transpose(f32[1,2048,4,4], f32[2048,2,3,3], groups=2048)", NULL,
                  0, "groups");
    /* 16 output channels; rows are 2 input channels by 9 taps, the depth 8 images by 4 pixels. */
    static const char small[] =
        "conv2d_backward_weight(f32[8,16,2,2], f32[8,2,4,4], kernel_size=[3,3])";
    check_takes(weight, small, "block_m", 32);
    check_refuses(weight, small, "block_m", 64, "half of the block");
    check_refuses(weight, small, "block_n", 32, "half of the block");
    check_takes(weight, small, "split_k", 1);
    check_refuses(weight, small, "split_k", 4, "parts");
}

static void test_winograd(void **state)
{
    (void)state;
    static const char impl[] = "conv2d_winograd.gpu";
    check_takes(impl, "conv2d(f32[1,8,9,9], f32[8,8,3,3], padding=[2,2,2,2])", NULL, 0);
    check_refuses(impl, "conv2d(f32[1,8,9,9], f32[8,8,3,3], padding=[2,3,2,2])", NULL, 0,
                  "padding of at most 2");
    check_refuses(impl, "conv2d(f32[1,7,9,9], f32[8,7,3,3])", NULL, 0, "8 input channels");
    check_refuses(impl, "conv2d(f32[1,8,9,9], f32[8,8,3,5])", NULL, 0, "3x3");
    check_refuses(impl, "conv2d(f32[1,8,9,9], f32[8,8,3,3], strides=[1,2])", NULL, 0,
                  "strides");
    check_refuses(impl, "conv2d(f32[1,8,9,9], f32[8,8,3,3], dilation=[2,1])", NULL, 0,
                  "dilation");
    check_refuses(impl, "conv2d(f32[1,16,9,9], f32[8,8,3,3], groups=2)", NULL, 0, "groups=1");
    check_refuses(impl, "conv2d(f16[1,8,9,9], f16[8,8,3,3])", NULL, 0, "float32 or float64");
    /* Depth is the input channels, rows are tiles: 9 of 2x2, 4 of 4x4 on 6 x 6 outputs. */
    static const char small[] = "conv2d(f32[1,17,8,8], f32[64,17,3,3])";
    check_takes(impl, small, "block_k", 32);
    check_refuses(impl, "conv2d(f32[1,16,8,8], f32[64,16,3,3])", "block_k", 32,
                  "outside the input channels");
    check_takes(impl, small, "tile", 2);
    check_takes(impl, small, "tile", 4);
    check_refuses(impl, small, "block_m", 32, "half of the block");
}

/* The entity of `knob` that has these inner sizes, [blocks, 1, threads, each], in the fallback. */
static bool takes_tile(const char *impl, const char *text, const char *knob, int64_t threads,
                       int64_t each, char *why)
{
    optune_err err = {0};
    optune_space *space;
    optune_config config;
    assume(NULL, text);
    check_ok(ot_space_open(&assumed.task, ot_impl_find(impl), &space, &err));
    assert_true(ot_space_fallback(space, &config, NULL));
    optune_config_choose_split(&config, space, knob, (const int64_t[]){0, 1, threads, each});
    assert_int_equal(optune_config_split(&config, knob)[2], threads);
    assert_int_equal(optune_config_split(&config, knob)[3], each);
    const bool fits = ot_impl_find(impl)->valid(&assumed.task, &config, why);
    ot_space_close(space);
    return fits;
}

/* Channels of all images lie along a grid's depth, of which a GPU has 65535. */
static void test_direct(void **state)
{
    (void)state;
    static const char impl[] = "conv2d_nchw.cuda";
    char why[OPTUNE_WHY_SIZE] = "";
    static const char most[] = "conv2d(f32[21845,8,4,4], f32[48,8,3,3])";
    assert_true(takes_tile(impl, most, "tile_f", 2, 8, why));
    static const char more[] = "conv2d(f32[21846,8,4,4], f32[48,8,3,3])";
    assert_false(takes_tile(impl, more, "tile_f", 2, 8, why));
    check_contains(why, "depth");
    check_takes(impl, more, NULL, 0);
    static const char high[] = "conv2d(f32[1,8,65538,3], f32[8,8,3,3])";
    assert_false(takes_tile(impl, high, "tile_y", 1, 1, why));
    check_contains(why, "height");
    check_takes(impl, high, NULL, 0);
}

static void test_depthwise(void **state)
{
    (void)state;
    static const char impl[] = "depthwise_conv2d_nchw.cuda";
    char why[OPTUNE_WHY_SIZE] = "";
    check_takes(impl, "conv2d(f32[1,8,9,9], f32[16,1,3,3], groups=8)", NULL, 0);
    check_refuses(impl, "conv2d(f32[1,8,9,9], f32[16,2,3,3], groups=4)", NULL, 0, "depthwise");
    check_refuses(impl, "conv2d(f32[1,1,9,9], f32[16,1,3,3])", NULL, 0, "depthwise");
    check_refuses(impl, "conv2d(f32[1,2,9,9,4], f32[8,1,3,3], groups=8, data_layout=NCHW4c)",
                  NULL, 0, "NCHW");
    static const char wide[] = "conv2d(f32[1,8,1026,1026], f32[8,1,3,3], groups=8)";
    assert_true(takes_tile(impl, wide, "tile_x", 512, 1, why));
    assert_false(takes_tile(impl, wide, "tile_x", 1, 512, why));
    check_contains(why, "outputs");
    assert_false(takes_tile(impl, wide, "tile_y", 512, 1, why));
    check_contains(why, "threads");
}

static void test_tensor_cores(void **state)
{
    (void)state;
    static const char impl[] = "conv2d_implicit_gemm_mma.cuda";
    static const char half[] = "conv2d(f16[1,64,32,32], f16[128,64,3,3], padding=[1,1,1,1])";
    check_takes(impl, half, NULL, 0);
    check_takes(impl, "conv2d(bf16[1,64,32,32], bf16[128,64,3,3], out_dtype=f32)", NULL, 0);
    check_takes(impl, "conv2d(f32[1,64,32,32], f32[128,64,3,3], math=tf32)", NULL, 0);
    check_refuses(impl, "conv2d(f32[1,64,32,32], f32[128,64,3,3])", NULL, 0, "tf32");
    check_takes(impl, "conv2d(f16[1,1024,3,349524], f16[16,1024,3,3])", NULL, 0);
    check_refuses(impl, "conv2d(f16[1,1024,3,349525], f16[16,1024,3,3])", NULL, 0,
                  "taps too far apart");
    check_refuses(impl, "conv2d(f64[1,64,32,32], f64[128,64,3,3])", NULL, 0, "float16");
    check_refuses(impl, "conv2d(f16[1,4,8,8,16], f16[64,64,3,3], data_layout=NCHW16c)", NULL, 0,
                  "NCHW");
    check_takes(impl, "conv2d(f16[1,65535,2,2], f16[65535,1,1,1], groups=65535)", NULL, 0);
    check_refuses(impl, "conv2d(f16[2,65535,2,2], f16[65535,1,1,1], groups=65535)", NULL, 0,
                  "planes");
    check_takes(impl, half, "block_m", 128);
    check_refuses(impl, half, "block_m", 256, "half of the block");
    /* A depth of 576 is 18 tiles of 64 bytes. */
    check_takes(impl, half, "splits", 4);
    check_refuses(impl, half, "splits", 16, "parts");

    optune_device older = assumed.device;
    older.cc_major = 7;
    older.cc_minor = 5;
    const optune_task on_75 = {&assumed.call, &assumed.target, &older};
    char why[OPTUNE_WHY_SIZE] = "";
    assume(NULL, half);
    assert_false(ot_impl_applies(ot_impl_find(impl), &on_75, why));
    check_contains(why, "8.0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_implicit_gemm), cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_winograd),      cmocka_unit_test(test_direct),
        cmocka_unit_test(test_depthwise),     cmocka_unit_test(test_tensor_cores),
    };
    return cmocka_run_group_tests(tests, assume_sm_80, NULL);
}
