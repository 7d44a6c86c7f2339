/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products by warpgroups: what their rows refuse, each limit from both sides, configs whose
 * blocks go over several tiles of several batches with partial edges, on the emulated target,
 * where a wait for what never comes fails the launch (the contract tests' samples are too
 * small for either), and that there are the registers for which warpgroups ask.
 */
#include "support/assumed.h"
#include "support/check.h"
#include "support/one_config.h"
#include "support/wgmma_knobs.h"

/* ---- limits ------------------------------------------------------------------------------ */

/* Taken when `reason` is NULL. */
static void expect_applies(const char *text, const char *workload, const char *reason)
{
    const optune_impl *impl =
        ot_impl_find(workload[0] == 'd' ? "dense_wgmma.cuda" : "batch_matmul_wgmma.cuda");
    char why[OPTUNE_WHY_SIZE] = "";
    assume(text, workload);
    assert_int_equal(impl->applies(&assumed.task, why), reason == NULL);
    if (reason)
        check_contains(why, reason);
}

static void test_applies(void **state)
{
    (void)state;
    expect_applies("cuda -arch=sm_90", "dense(bf16[64,72], bf16[64,72])", NULL);
    expect_applies("cuda -arch=sm_90a", "dense(f16[64,72], f16[64,72], out_dtype=f32)", NULL);
    expect_applies("cuda -arch=sm_89", "dense(bf16[64,72], bf16[64,72])", "9.0");
    expect_applies("cuda -arch=sm_100", "dense(bf16[64,72], bf16[64,72])", "9.0 alone");
    expect_applies("cuda -arch=sm_90", "dense(bf16[64,76], bf16[64,76])", "16 bytes");
    expect_applies("cuda -arch=sm_90", "dense(i8[64,80], i8[64,80], out_dtype=i32)", NULL);
    expect_applies("cuda -arch=sm_90", "dense(i8[64,72], i8[64,72], out_dtype=i32)",
                   "16 bytes");
    expect_applies("cuda -arch=sm_90", "dense(f32[64,72], f32[64,72])", "math=tf32");
    expect_applies("cuda -arch=sm_90", "dense(f32[64,72], f32[64,72], math=tf32)", NULL);
    expect_applies("cuda -arch=sm_90", "dense(f64[64,72], f64[64,72])", "needs float16");
    expect_applies("cuda -arch=sm_90", "batch_matmul(f16[2,64,72], f16[2,64,72])", NULL);
    expect_applies("cuda -arch=sm_90",
                   "batch_matmul(f16[2,64,72], f16[2,72,64], transpose_b=false)",
                   "along the depth");
}

static void expect_valid(const wgmma_knobs *k, const char *reason)
{
    const one_config c = {"dense_wgmma.cuda", wgmma_knobs_set, k};
    char why[OPTUNE_WHY_SIZE] = "";
    const bool valid = one_config_valid(&c, why);
    if (valid != (reason == NULL))
        fail_msg("%d x %d, %d stages: %s", (int)k->bm, (int)k->bn, (int)k->stages,
                 valid ? "is taken" : why);
    if (reason)
        check_contains(why, reason);
}

static void test_limits(void **state)
{
    (void)state;
    assume("cuda -arch=sm_90", "dense(bf16[4096,512], bf16[4096,512])");
    expect_valid(&(wgmma_knobs){128, 256, 128, 4, 2, 16, 1, 0, false, false}, NULL);
    expect_valid(&(wgmma_knobs){128, 256, 128, 5, 2, 16, 1, 0, false, true}, "shared memory");
    expect_valid(&(wgmma_knobs){256, 128, 256, 2, 2, 16, 1, 0, false, false}, NULL);
    expect_valid(&(wgmma_knobs){64, 256, 128, 5, 1, 16, 1, 0, false, true}, NULL);
    expect_valid(&(wgmma_knobs){64, 64, 128, 4, 2, 16, 1, 0, false, false}, "multiple of 64");
    expect_valid(&(wgmma_knobs){256, 192, 128, 4, 2, 16, 1, 0, false, true}, NULL);
    expect_valid(&(wgmma_knobs){256, 256, 128, 3, 2, 16, 1, 0, false, false},
                 "sums in a thread");
    expect_valid(&(wgmma_knobs){128, 192, 128, 4, 1, 16, 1, 0, true, false}, NULL);
    expect_valid(&(wgmma_knobs){128, 256, 128, 4, 1, 16, 1, 0, true, false},
                 "sums in a thread");
    expect_valid(&(wgmma_knobs){128, 256, 128, 4, 2, 16, 1, 1, false, false}, NULL);
    expect_valid(&(wgmma_knobs){128, 256, 128, 4, 2, 16, 2, 1, false, true}, NULL);
    expect_valid(&(wgmma_knobs){128, 256, 128, 4, 2, 16, 2, 1, true, true}, "clusters");
    assume("cuda -arch=sm_90", "dense(bf16[128,512], bf16[4096,512])");
    expect_valid(&(wgmma_knobs){128, 128, 128, 4, 2, 16, 2, 0, false, true}, "of the cluster");
    expect_valid(&(wgmma_knobs){64, 128, 128, 4, 1, 16, 2, 0, false, true}, NULL);
    assume("cuda -arch=sm_90", "dense(bf16[512,512], bf16[516,512])");
    expect_valid(&(wgmma_knobs){128, 128, 128, 3, 2, 16, 1, 0, false, true}, NULL);
    expect_valid(&(wgmma_knobs){128, 128, 128, 3, 2, 16, 1, 0, false, false},
                 "multiple of 16 bytes");
    assume("cuda -arch=sm_90", "dense(bf16[129,128], bf16[1024,128])");
    expect_valid(&(wgmma_knobs){128, 128, 128, 3, 2, 16, 1, 0, false, false}, NULL);
    expect_valid(&(wgmma_knobs){128, 128, 128, 4, 2, 16, 1, 0, false, false}, "more stages");
    expect_valid(&(wgmma_knobs){128, 128, 128, 3, 2, 16, 1, 1, false, false}, "second tile");
    assume("cuda -arch=sm_90", "dense(bf16[128,128], bf16[192,128])");
    expect_valid(&(wgmma_knobs){256, 64, 128, 3, 2, 16, 1, 0, false, false},
                 "outside the output");
    expect_valid(&(wgmma_knobs){128, 256, 128, 3, 2, 16, 1, 0, false, false},
                 "outside the output");
    expect_valid(&(wgmma_knobs){128, 192, 128, 3, 2, 16, 1, 0, false, false}, NULL);
}

/* Sizes from one row to many: the fallback is valid everywhere. */
static void test_fallback(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 8, 64, 65, 200, 1000, 4096, 20000};
    const optune_impl *impl = ot_impl_find("dense_wgmma.cuda");
    for (int i = 0; i < OT_COUNT(sizes); i++)
        for (int j = 0; j < OT_COUNT(sizes); j++)
            for (int k = 8; k <= 4096; k *= 8) {
                char text[128], why[OPTUNE_WHY_SIZE];
                optune_err err = {0};
                optune_config config;
                optune_space *space;
                snprintf(text, sizeof text, "dense(f16[%d,%d], f16[%d,%d])", (int)sizes[i], k,
                         (int)sizes[j], k);
                assume("cuda -arch=sm_90", text);
                check_ok(ot_space_open(&assumed.task, impl, &space, &err));
                assert_true(ot_space_fallback(space, &config, NULL));
                if (!ot_space_valid(space, &config, why))
                    fail_msg("%s: %s", text, why);
                ot_space_close(space);
            }
}

/* ---- several tiles ----------------------------------------------------------------------- */

static void test_tiles(void **state)
{
    (void)state;
    static const char dense[] = "dense(bf16[200,136], bf16[520,136], bf16[520])";
    static const char odd[] = "dense(bf16[136,72], bf16[523,72], bf16[523])";
    static const char wide[] = "dense(f16[130,136], f16[516,136], out_dtype=f32)";
    static const char batch[] = "batch_matmul(f16[3,136,72], f16[1,200,72])";
    static const struct {
        const char *workload, *impl;
        wgmma_knobs k;
    } table[] = {
        {dense, "dense_wgmma.cuda", {128, 256, 128, 3, 2, 4, 1, 0, false, false}},
        {dense, "dense_wgmma.cuda", {128, 256, 128, 3, 2, 4, 1, 0, true, true}},
        {dense, "dense_wgmma.cuda", {256, 128, 128, 4, 2, 16, 1, 1, false, true}},
        {odd, "dense_wgmma.cuda", {128, 128, 256, 2, 1, 8, 1, 1, true, true}},
        {dense, "dense_wgmma.cuda", {128, 256, 128, 3, 2, 4, 2, 0, false, false}},
        {dense, "dense_wgmma.cuda", {64, 64, 128, 4, 1, 4, 2, 1, false, false}},
        {wide, "dense_wgmma.cuda", {64, 64, 128, 5, 1, 4, 1, 1, false, false}},
        {batch, "batch_matmul_wgmma.cuda", {128, 128, 128, 2, 2, 4, 1, 1, false, false}},
        {batch, "batch_matmul_wgmma.cuda", {64, 192, 128, 3, 1, 4, 1, 1, true, false}},
    };
    static workbench b;
    if (!workbench_find(&b, "emulated -arch=sm_90"))
        skip();
    b.device.cores = 3; /* blocks of persistent kernels */
    workbench_start(&b);
    for (int i = 0; i < OT_COUNT(table); i++)
        one_config_compute(&b, table[i].workload,
                           &(one_config){table[i].impl, wgmma_knobs_set, &table[i].k});
    workbench_close(&b);
}

/* ---- registers --------------------------------------------------------------------------- */

/* Two warpgroups that compute take 232 registers a thread, the one that copies keeps 40. Those of
 * the block were shared out at its launch, and who asks for more than there are waits for ever,
 * so that a small tile must be launched with as many as a large one. */
static void test_registers(void **state)
{
    (void)state;
    static const wgmma_knobs table[] = {
        {128, 64, 128, 3, 2, 4, 1, 0, false, true},
        {128, 64, 128, 3, 2, 4, 2, 1, false, false},
        {256, 192, 128, 3, 2, 4, 1, 0, false, true},
    };
    assume("cuda -arch=sm_90", "dense(f16[8192,512], f16[8192,512])");
    for (int i = 0; i < OT_COUNT(table); i++) {
        const int64_t n =
            one_config_registers(&(one_config){"dense_wgmma.cuda", wgmma_knobs_set, &table[i]});
        if (n < 0)
            skip();
        assert_true(3 * n >= 2 * 232 + 40);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_applies),   cmocka_unit_test(test_limits),
        cmocka_unit_test(test_fallback),  cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_registers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
