/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions by warpgroups: what the row refuses, each limit of the copy engine's windows from
 * both sides, which stages lay operands out, fallbacks of real networks' shapes, and configs
 * whose blocks go over several tiles with partial edges, in both layouts, on the emulated target
 * (the contract tests' samples are too small for that). The same of bytes that are rounded.
 */
#include "support/assumed.h"
#include "support/check.h"
#include "support/one_config.h"
#include "support/wgmma_knobs.h"

static const char name[] = "conv2d_wgmma.cuda";

/* ---- limits ------------------------------------------------------------------------------ */

/* Taken when `reason` is NULL. */
static void expect_applies(const char *target, const char *workload, const char *reason)
{
    char why[OPTUNE_WHY_SIZE] = "";
    assume(target, workload);
    if (ot_impl_find(name)->applies(&assumed.task, why) != (reason == NULL))
        fail_msg("%s, %s: %s", target, workload, reason ? "is taken" : why);
    if (reason)
        check_contains(why, reason);
}

static void test_applies(void **state)
{
    (void)state;
    static const struct {
        const char *workload, *reason;
    } table[] = {
        {"conv2d(bf16[2,64,14,14], bf16[64,64,3,3])", NULL},
        {"conv2d(f16[2,3,14,14], f16[64,3,3,3])", NULL},
        {"conv2d(i8[2,64,14,14], i8[64,64,3,3], out_dtype=i32)", NULL},
        {"conv2d(f32[2,64,14,14], f32[64,64,3,3], math=tf32)", NULL},
        {"conv2d(f32[2,64,14,14], f32[64,64,3,3])", "math=tf32"},
        {"conv2d(f64[2,64,14,14], f64[64,64,3,3])", "float16"},
        {"conv2d(bf16[2,64,14,14], bf16[64,32,3,3], groups=2)", "one group"},
        {"conv2d(bf16[2,1,14,14,64], bf16[96,64,3,3], data_layout=NCHW64c, out_layout=NCHW96c)",
         NULL},
        {"conv2d(bf16[2,2,14,14,32], bf16[96,64,3,3], data_layout=NCHW32c, out_layout=NCHW)",
         "all channels innermost"},
        {"conv2d(bf16[2,64,14,14], bf16[96,64,3,3], out_layout=NCHW32c)",
         "all channels innermost"},
        {"conv2d(bf16[2,1,14,14,68], bf16[96,68,3,3], data_layout=NCHW68c, out_layout=NCHW)",
         "multiple of 16 bytes"},
        {"conv2d(bf16[1,64,64,64], bf16[64,64,1,1], strides=[8,1])", NULL},
        {"conv2d(bf16[1,64,64,64], bf16[64,64,1,1], strides=[9,1])", "at most 8"},
        {"conv2d(bf16[1,64,64,64], bf16[64,64,1,1], padding=[127,0,0,0])", NULL},
        {"conv2d(bf16[1,64,64,64], bf16[64,64,1,1], padding=[128,0,0,0])", "at most 127"},
        {"conv2d(bf16[1,64,64,64], bf16[64,64,1,1], padding=[0,0,0,127])", NULL},
        {"conv2d(bf16[1,64,64,64], bf16[64,64,1,1], padding=[0,0,0,128])", "too far"},
        {"conv2d(bf16[1,64,400,400], bf16[64,64,3,2], dilation=[64,128])", NULL},
        {"conv2d(bf16[1,64,400,400], bf16[64,64,3,2], dilation=[65,1])", "too far"},
        {"conv2d(bf16[1,64,40,400], bf16[64,64,1,4], padding=[0,0,0,200], dilation=[1,85])",
         NULL},
        {"conv2d(bf16[1,64,40,400], bf16[64,64,1,4], padding=[0,0,0,200], dilation=[1,86])",
         "wider than"},
    };
    for (int i = 0; i < OT_COUNT(table); i++)
        expect_applies("cuda -arch=sm_90", table[i].workload, table[i].reason);
    expect_applies("cuda -arch=sm_89", table[0].workload, "9.0");
    expect_applies("cuda -arch=sm_100", table[0].workload, "9.0 alone");
}

static void expect_valid(const wgmma_knobs *k, const char *reason)
{
    const one_config c = {name, wgmma_knobs_set, k};
    char why[OPTUNE_WHY_SIZE] = "";
    if (one_config_valid(&c, why) != (reason == NULL))
        fail_msg("%d x %d: %s", (int)k->bm, (int)k->bn, reason ? "is taken" : why);
    if (reason)
        check_contains(why, reason);
}

static void test_limits(void **state)
{
    (void)state;
    assume("cuda -arch=sm_90", "conv2d(bf16[8,96,28,28], bf16[256,96,3,3], padding=[1])");
    expect_valid(&(wgmma_knobs){128, 256, 128, 4, 2, 16, 1, 0, false, false}, NULL);
    expect_valid(&(wgmma_knobs){128, 128, 256, 3, 2, 16, 1, 0, false, false},
                 NULL); /* 18 panels */
    assume("cuda -arch=sm_90", "conv2d(bf16[8,64,28,28], bf16[256,64,3,3], padding=[1])");
    expect_valid(&(wgmma_knobs){128, 128, 256, 3, 2, 16, 1, 0, false, false},
                 "behind the last tap");
    assume("cuda -arch=sm_90", "conv2d(bf16[8,64,14,14], bf16[256,64,3,3], padding=[1])");
    expect_valid(&(wgmma_knobs){128, 128, 128, 3, 2, 16, 1, 0, false, true}, NULL);
    expect_valid(&(wgmma_knobs){128, 128, 128, 3, 2, 16, 1, 0, false, false},
                 "multiple of 16 bytes");
    assume("cuda -arch=sm_90", "conv2d(bf16[8,1,14,14,64], bf16[256,64,3,3], padding=[1], "
                               "data_layout=NCHW64c, out_layout=NCHW256c)");
    expect_valid(&(wgmma_knobs){128, 128, 128, 3, 2, 16, 1, 0, false, false}, NULL);
}

/* What is timed is the product alone where operands lie right; else the turn, too. */
static void expect_stages(const char *workload, const char *const *timed, int prepacked)
{
    static optune_plan plan;
    const optune_impl *impl = ot_impl_find(name);
    optune_err err = {0};
    optune_config config;
    optune_space *space;
    assume("cuda -arch=sm_90", workload);
    check_ok(ot_space_open(&assumed.task, impl, &space, &err));
    assert_true(ot_space_fallback(space, &config, NULL));
    check_ok(ot_plan_make(&assumed.task, impl, &config, &plan, &err));
    for (int i = 0; i < plan.n_stages; i++) {
        if (plan.stage[i].phase == OPTUNE_TIMED)
            assert_string_equal(plan.stage[i].function, *timed++);
        prepacked -= plan.stage[i].phase == OPTUNE_PREPACK;
    }
    assert_null(*timed);
    assert_int_equal(prepacked, 0);
    ot_space_close(space);
}

static void test_layouts(void **state)
{
    (void)state;
    static const char *const product[] = {"product", NULL};
    static const char *const turned[] = {"turn", "product", NULL};
    expect_stages("conv2d(bf16[8,1,14,14,64], bf16[64,64,1,1], data_layout=NCHW64c)", product,
                  0);
    expect_stages("conv2d(bf16[8,1,14,14,64], bf16[64,64,3,3], data_layout=NCHW64c)", product,
                  1);
    expect_stages("conv2d(bf16[8,64,14,14], bf16[64,64,3,3])", turned, 1);
    expect_stages("conv2d(bf16[8,64,14,14], bf16[64,64,1,1])", turned, 0);
    expect_stages("conv2d(bf16[8,60,14,14], bf16[64,60,1,1])", turned, 1);
}

/* Valid for every convolution of ResNet-50, VGG-16 and MobileNet that it takes, at batches of 1
 * and 32. */
static void test_fallback(void **state)
{
    (void)state;
    const optune_impl *impl = ot_impl_find(name);
    const optune_op *op = ot_op_find("conv2d");
    int taken = 0;
    for (const optune_preset *preset = op->presets; preset->name; preset++)
        for (int i = 0; preset->workloads[i]; i++) {
            char text[512], why[OPTUNE_WHY_SIZE] = "";
            optune_err err = {0};
            optune_config config;
            optune_space *space;
            snprintf(text, sizeof text, "%s", preset->workloads[i]);
            for (char *at = text; (at = strstr(at, "f32[")); at += 4)
                memcpy(at, "f16[", 4);
            assume("cuda -arch=sm_90", text);
            if (!impl->applies(&assumed.task, NULL))
                continue;
            taken++;
            check_ok(ot_space_open(&assumed.task, impl, &space, &err));
            assert_true(ot_space_fallback(space, &config, NULL));
            if (!ot_space_valid(space, &config, why))
                fail_msg("%s: %s", text, why);
            ot_space_close(space);
        }
    assert_true(taken > 20);
}

/* ---- bytes ------------------------------------------------------------------------------- */

static const char bytes_name[] = "quantized_conv2d_wgmma.cuda";
#define BYTES(data, weight, channels, more)                                                    \
    "quantized_conv2d(" data ", " weight ", i32[" channels "], f32[" channels "], " more ")"

static void test_bytes_applies(void **state)
{
    (void)state;
    static const struct {
        const char *workload, *reason;
    } table[] = {
        {BYTES("u8[2,14,14,64]", "i8[70,64,3,3]", "70", "padding=[1], zero=9"), NULL},
        {BYTES("i8[2,14,14,3]", "i16[64,3,7,7]", "64", "padding=[3], zero=-9"), NULL},
        {BYTES("u8[2,14,14,64]", "i8[64,32,3,3]", "64", "groups=2"), "one group"},
        {BYTES("u8[1,64,64,64]", "i8[64,64,1,1]", "64", "strides=[9,1]"), "at most 8"},
        /* Windows that lie side by side are such of one pixel. */
        {BYTES("u8[1,64,64,60]", "i8[64,60,1,1]", "64", "strides=[9,1]"), NULL},
    };
    for (int i = 0; i < OT_COUNT(table); i++) {
        char why[OPTUNE_WHY_SIZE] = "";
        assume("cuda -arch=sm_90", table[i].workload);
        if (ot_impl_find(bytes_name)->applies(&assumed.task, why) != (table[i].reason == NULL))
            fail_msg("%s: %s", table[i].workload, table[i].reason ? "is taken" : why);
        if (table[i].reason)
            check_contains(why, table[i].reason);
    }
    /* Windows are cut in 16 and in 15 ways at each of four sides. */
    check_refuses(bytes_name,
                  BYTES("u8[1,256,256,64]", "i8[64,64,16,16]", "64", "padding=[15], zero=9"),
                  NULL, 0, "too many ways");
    check_takes(bytes_name,
                BYTES("u8[1,256,256,64]", "i8[64,64,15,15]", "64", "padding=[14], zero=9"),
                NULL, 0);
    check_takes(bytes_name, BYTES("u8[1,256,256,64]", "i8[64,64,16,16]", "64", "padding=[15]"),
                NULL, 0);
}

static void compute_bytes(workbench *b)
{
    /* Edges on one, two and all sides, of windows wider than the image; both signs; weights of 16
     * bits; windows laid side by side; channels that fill no chunk. */
    static const char all[] =
        BYTES("u8[3,9,7,144]", "i8[136,144,3,3]", "136", "padding=[1], zero=114, out_zero=7");
    static const char wide[] =
        BYTES("i8[2,3,4,32]", "i8[70,32,7,5]", "70", "padding=[3,2], zero=-77");
    static const char steps[] =
        BYTES("u8[2,17,23,48]", "i8[200,48,3,2]", "200",
              "strides=[2,3], padding=[2,0,3,1], dilation=[2,1], zero=255, limits=[9,222]");
    static const char twice[] =
        BYTES("u8[2,9,11,160]", "i16[80,160,2,2]", "80", "padding=[1,0], zero=31");
    static const char laid[] =
        BYTES("i8[2,19,21,3]", "i8[64,3,5,5]", "64", "strides=[2], padding=[2], zero=3");
    static const char plain[] = BYTES("u8[1,1,200,256]", "i8[264,256,1,1]", "264", "zero=128");
    static const struct {
        const char *workload;
        wgmma_knobs k;
    } table[] = {
        {all, {64, 64, 128, 3, 1, 4, 2, 1, false, true}},
        {all, {128, 128, 256, 2, 2, 4, 1, 0, false, true}},
        {wide, {64, 64, 128, 3, 1, 4, 1, 0, true, true}},
        {steps, {128, 192, 128, 4, 2, 8, 1, 0, false, true}},
        {steps, {64, 64, 128, 2, 1, 4, 1, 1, true, true}},
        {twice, {256, 64, 128, 2, 2, 4, 1, 0, false, true}},
        {laid, {128, 64, 128, 2, 2, 4, 2, 0, false, true}},
        {plain, {64, 256, 256, 2, 1, 4, 2, 0, false, true}},
        {plain, {128, 64, 128, 3, 1, 16, 1, 1, false, true}},
    };
    for (int i = 0; i < OT_COUNT(table); i++)
        one_config_compute(b, table[i].workload,
                           &(one_config){bytes_name, wgmma_knobs_set, &table[i].k});
}

/* ---- several tiles ----------------------------------------------------------------------- */

#define LAST(ci, co) ", data_layout=NCHW" #ci "c, out_layout=NCHW" #co "c)"

static void test_tiles(void **state)
{
    (void)state;
    /* Planes that tiles cross, lines that boxes take and that only pairs do, a batch of images
     * smaller than a box. */
    static const char plain[] = "conv2d(f16[3,72,8,6], f16[72,72,2,1], padding=[1,0,0,0])";
    static const char odd[] = "conv2d(bf16[4,20,7,7], bf16[70,20,2,3], padding=[1])";
    static const char steps[] = "conv2d(bf16[2,24,17,23], bf16[70,24,3,2], strides=[2,3], "
                                "padding=[1,0,2,1], dilation=[2,1])";
    static const char points[] = "conv2d(f16[2,130,12,16], f16[70,130,1,1])";
    static const char last[] =
        "conv2d(bf16[3,1,7,9,72], bf16[136,72,1,2], padding=[0,1,0,0]" LAST(72, 136);
    static const char stem[] = "conv2d(f16[2,1,19,21,8], f16[64,8,5,5], strides=[2,2], "
                               "padding=[2]" LAST(8, 64);
    static const char mixed[] = "conv2d(f16[2,1,9,11,64], f16[72,64,2,2], padding=[1], "
                                "data_layout=NCHW64c, out_layout=NCHW)";
    static const char other[] = "conv2d(bf16[2,70,9,11], bf16[72,70,2,2], padding=[1], "
                                "out_layout=NCHW72c, out_dtype=f32)";
    static const char bytes[] = "conv2d(i8[2,40,9,12], i8[72,40,2,2], out_dtype=i32)";
    static const char fused[] = "conv2d(f16[3,72,8,6], f16[72,72,2,1], padding=[1,0,0,0]) -> "
                                "add(f16[72,1,1]) -> relu()";
    static const char fused_last[] =
        "conv2d(bf16[3,1,7,9,72], bf16[136,72,1,2], padding=[0,1,0,0]" LAST(
            72, 136) " -> add(bf16[136]) -> relu()";
    static const char tf32[] = "conv2d(f32[2,36,9,12], f32[72,36,2,2], math=tf32)";
    static const struct {
        const char *workload;
        wgmma_knobs k;
    } table[] = {
        {plain, {64, 128, 128, 3, 1, 4, 1, 0, false, false}},
        {plain, {64, 64, 256, 2, 1, 4, 2, 1, false, false}},
        {plain, {128, 64, 128, 3, 2, 4, 1, 0, true, true}},
        {odd, {64, 128, 128, 4, 1, 4, 1, 0, false, true}},
        {odd, {64, 64, 128, 3, 1, 4, 2, 0, false, true}},
        {steps, {128, 64, 128, 3, 2, 4, 1, 0, false, true}},
        {points, {64, 256, 128, 3, 1, 4, 1, 0, false, false}},
        {last, {128, 128, 128, 3, 2, 4, 2, 0, false, false}},
        {last, {64, 64, 256, 2, 1, 4, 1, 1, true, true}},
        {last, {256, 128, 128, 3, 2, 4, 1, 0, false, false}},
        {stem, {128, 64, 128, 4, 2, 8, 1, 0, false, false}},
        {mixed, {64, 128, 128, 3, 1, 4, 1, 0, false, true}},
        {other, {64, 64, 128, 3, 1, 4, 1, 1, false, false}},
        {bytes, {64, 64, 128, 3, 1, 4, 1, 0, false, true}},
        {tf32, {64, 64, 128, 3, 1, 4, 2, 0, false, true}},
    };
    static workbench b;
    if (!workbench_find(&b, "emulated -arch=sm_90"))
        skip();
    b.device.cores = 3; /* blocks of persistent kernels */
    workbench_start(&b);
    for (int i = 0; i < OT_COUNT(table); i++)
        one_config_compute(&b, table[i].workload,
                           &(one_config){name, wgmma_knobs_set, &table[i].k});
    compute_bytes(&b);
    one_config_compute(&b, fused, &(one_config){name, wgmma_knobs_set, &table[0].k});
    one_config_compute(&b, fused_last, &(one_config){name, wgmma_knobs_set, &table[7].k});
    workbench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_applies), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_layouts), cmocka_unit_test(test_fallback),
        cmocka_unit_test(test_tiles),   cmocka_unit_test(test_bytes_applies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
