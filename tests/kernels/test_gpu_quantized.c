/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which row quantised calls have untuned on GPUs, and what the rows refuse by arithmetic. Needs no
 * device; that what they admit compiles and is right is for test_cuda and test_impl.
 */
#include "support/check.h"

#include "strategy/strategy.h"
#include "support/assumed.h"

#define CONV(data, weight, channels, more)                                                     \
    "quantized_conv2d(u8[" data "],i8[" weight "],i32[" channels "],f32[" channels "]" more ")"
#define PLAIN CONV("1,28,28,64", "96,64,3,3", "96", ",padding=[1,1]")
#define DEPTHWISE CONV("1,28,28,64", "64,1,3,3", "64", ",padding=[1,1],groups=64")
#define SUM(scale) "quantized_add(u8[64,64],u8[64,64],scale=" scale ")"

/* Of the rows whose condition holds and whose implementation applies, the one of highest plevel. */
static const char *chosen(const char *arch, const char *text)
{
    const optune_strategy_row *best = NULL;
    assume(arch, text);
    for (const optune_strategy_row *row =
             optune_strategy_of(assumed.call.op->name, "gpu")->rows;
         row->impl; row++)
        if ((!row->condition || row->condition(&assumed.task, NULL)) &&
            ot_impl_applies(ot_impl_find(row->impl), &assumed.task, NULL) &&
            (!best || row->plevel > best->plevel))
            best = row;
    return best ? best->impl : "none";
}

static void test_chosen(void **state)
{
    (void)state;
    static const char tile[] = "quantized_conv2d_tile.gpu", mma[] = "quantized_conv2d_mma.cuda";
    static const char depthwise[] = "quantized_depthwise_conv2d.gpu";
    static const char wgmma[] = "quantized_conv2d_wgmma.cuda";
    assert_string_equal(chosen("cuda -arch=sm_80", PLAIN), mma);
    /* Where channels fill their panels of 128 bytes, up to a third. */
    assert_string_equal(chosen("cuda -arch=sm_90", PLAIN), mma);
    static const char deep[] = CONV("1,28,28,256", "96,256,3,3", "96", ",padding=[1,1]");
    static const char filled[] = CONV("1,28,28,96", "96,96,1,1", "96", "");
    static const char wasted[] = CONV("1,28,28,160", "96,160,1,1", "96", "");
    assert_string_equal(chosen("cuda -arch=sm_90", deep), wgmma);
    assert_string_equal(chosen("cuda -arch=sm_80", deep), mma);
    assert_string_equal(chosen("cuda -arch=sm_90", filled), wgmma);
    assert_string_equal(chosen("cuda -arch=sm_90", wasted), mma);
    assert_string_equal(chosen("cuda -arch=sm_75", PLAIN), tile);
    assert_string_equal(chosen("cuda -arch=sm_80", DEPTHWISE), depthwise);
    assert_string_equal(chosen("cuda -arch=sm_75", DEPTHWISE), depthwise);
    static const char twice[] = CONV("1,28,28,64", "128,1,3,3", "128", ",groups=64");
    assert_string_equal(chosen("cuda -arch=sm_80", twice), mma);
    static const char far[] = CONV("1,9,99,64", "64,1,1,70", "64", ",groups=64");
    assert_string_equal(chosen("cuda -arch=sm_80", far), mma);
    assert_string_equal(chosen("cuda -arch=sm_75", SUM("0.5")), "quantized_add.gpu");
}

static void test_refused(void **state)
{
    (void)state;
    static const char wide[] = "quantized_conv2d(u8[1,8,8,64],i8[64,64,1,1],i32[64],f64[64])";
    check_refuses("quantized_conv2d_mma.cuda", wide, NULL, 0, "float32");
    check_refuses("quantized_conv2d_tile.gpu", wide, NULL, 0, "float32");
    /* 9 steps of 64 bytes. */
    check_takes("quantized_conv2d_mma.cuda", PLAIN, "splits", 2);
    check_refuses("quantized_conv2d_mma.cuda", PLAIN, "splits", 4, "parts");
    check_refuses("quantized_depthwise_conv2d.gpu", PLAIN, NULL, 0, "for each channel");
    static const char odd[] = CONV("1,28,28,36", "36,1,3,3", "36", ",groups=36");
    check_takes("quantized_depthwise_conv2d.gpu", odd, "vector", 4);
    check_refuses("quantized_depthwise_conv2d.gpu", odd, "vector", 8, "whole vectors");
    /* Of 3e38 the reciprocal has fewer digits than others. */
    check_takes("quantized_add.gpu", SUM("8e37"), NULL, 0);
    check_refuses("quantized_add.gpu", SUM("3e38"), NULL, 0, "reciprocal");
    check_takes("quantized_multiply.gpu",
                "quantized_multiply(u8[64,64],u8[64,64],scale=3e38,merged=true)", NULL, 0);
    /* One channel a group is a block of them in the sums of parts. */
    static const char few[] = CONV("64,512,512,512", "1,512,1,1", "1", "");
    check_refuses("quantized_conv2d_mma.cuda", few, "splits", 4, "1 GiB");
    check_refuses("quantized_conv2d_mma.cuda",
                  CONV("1,3,2200000,1024", "16,1024,3,3", "16", ""), NULL, 0,
                  "taps too far apart");
    static const char steps[] =
        CONV("1,4,20000,64", "64,1,1,1", "64", ",strides=[1,6000],groups=64");
    check_refuses("quantized_depthwise_conv2d.gpu", steps, "tile_x", 2, "columns");
    check_refuses("quantized_conv2d_tile.gpu",
                  CONV("1,8192,8192,3", "16,3,3,3", "16", ",padding=[1,1]"), NULL, 0, "1 GiB");
}

/* Sixteen bytes at once where every core has some, and fewer where taps take many registers. */
static void test_untuned(void **state)
{
    (void)state;
    static const char row[] = "quantized_depthwise_conv2d.gpu";
    static const char large[] =
        CONV("32,56,56,144", "144,1,3,3", "144", ",padding=[1,1],groups=144");
    static const char wide[] =
        CONV("32,56,56,144", "144,1,5,5", "144", ",padding=[2,2],groups=144");
    assert_int_equal(untuned(row, large, "vector"), 16);
    assert_int_equal(untuned(row, large, "tile_y"), 2);
    assert_int_equal(untuned(row, wide, "vector"), 8);
    assert_int_equal(
        untuned(row, CONV("1,7,7,160", "160,1,3,3", "160", ",groups=160"), "vector"), 4);
    assert_int_equal(untuned(row, CONV("1,7,7,19", "19,1,3,3", "19", ",groups=19"), "vector"),
                     1);
    static const char conv[] =
        CONV("32,28,28,256", "256,256,3,3", "256", ",padding=[1,1],zero=114");
    assert_int_equal(untuned("quantized_conv2d_mma.cuda", conv, "warp_n"), 64);
    /* A thread stores 16 channels at once; the rest is the estimate's. */
    assert_int_equal(untuned("quantized_conv2d_tile.gpu", conv, "thread_m"), 8);
    assert_int_equal(untuned("quantized_conv2d_tile.gpu", conv, "thread_n"), 16);
    assert_int_equal(untuned("quantized_conv2d_tile.gpu", conv, "stages"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_chosen, assume_sm_80),
        cmocka_unit_test_setup(test_refused, assume_sm_80),
        cmocka_unit_test_setup(test_untuned, assume_sm_80),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
