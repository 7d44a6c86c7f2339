/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention by warpgroups: what its row refuses, each limit from both sides, a valid fallback for
 * every size, configs whose blocks go over several tiles of rows and of keys on the emulated
 * target, where a wait for what never comes fails the launch (the contract tests' samples are too
 * small for either), and that there are the registers for which warpgroups ask.
 */
#include "support/assumed.h"
#include "support/check.h"
#include "support/one_config.h"

static const char IMPL[] = "attention_wgmma.cuda";

typedef struct knobs {
    int64_t consumers, keys, stages, turns, band, persistent;
} knobs;

static void set(optune_config *config, const optune_space *space, const void *knobs_)
{
    static const char *const names[] = {"consumers", "block_k",       "stages",
                                        "turns",     "heads_at_once", "persistent"};
    const knobs *k = knobs_;
    const int64_t value[] = {k->consumers, k->keys, k->stages,
                             k->turns,     k->band, k->persistent};
    for (int i = 0; i < OT_COUNT(names); i++)
        optune_config_choose_int(config, space, names[i], value[i]);
}

/* ---- limits ------------------------------------------------------------------------------ */

/* Taken when `reason` is NULL. */
static void expect_applies(const char *text, const char *workload, const char *reason)
{
    char why[OPTUNE_WHY_SIZE] = "";
    assume(text, workload);
    assert_int_equal(ot_impl_find(IMPL)->applies(&assumed.task, why), reason == NULL);
    if (reason)
        check_contains(why, reason);
}

static void test_applies(void **state)
{
    (void)state;
    static const char one[] = "attention(bf16[1,2,64,72], bf16[1,2,64,72], bf16[1,2,64,72])";
    expect_applies("cuda -arch=sm_90", one, NULL);
    expect_applies("cuda -arch=sm_90a", one, NULL);
    expect_applies("cuda -arch=sm_89", one, "9.0");
    expect_applies("cuda -arch=sm_100", one, "9.0 alone");
    expect_applies("cuda -arch=sm_90",
                   "attention(f32[1,2,64,64], f32[1,2,64,64], f32[1,2,64,64])",
                   "needs float16");
    expect_applies("cuda -arch=sm_90",
                   "attention(f16[1,2,64,68], f16[1,2,64,68], f16[1,2,64,72])",
                   "multiples of 8");
    expect_applies("cuda -arch=sm_90",
                   "attention(f16[1,2,64,64], f16[1,2,64,64], f16[1,2,64,68])",
                   "multiples of 8");
    expect_applies("cuda -arch=sm_90",
                   "attention(f16[1,2,64,256], f16[1,2,64,256], f16[1,2,64,256])", NULL);
    expect_applies("cuda -arch=sm_90",
                   "attention(f16[1,2,64,264], f16[1,2,64,264], f16[1,2,64,64])", "wider");
}

static void expect_valid(const knobs *k, const char *reason)
{
    char why[OPTUNE_WHY_SIZE] = "";
    const bool valid = one_config_valid(&(one_config){IMPL, set, k}, why);
    if (valid != (reason == NULL))
        fail_msg("%d warpgroups, %d keys, %d stages: %s", (int)k->consumers, (int)k->keys,
                 (int)k->stages, valid ? "is taken" : why);
    if (reason)
        check_contains(why, reason);
}

static void test_limits(void **state)
{
    (void)state;
    assume("cuda -arch=sm_90",
           "attention(bf16[4,16,4096,128], bf16[4,16,4096,128], bf16[4,16,4096,128])");
    expect_valid(&(knobs){2, 128, 2, 1, 4, 1}, NULL);
    expect_valid(&(knobs){2, 128, 3, 1, 4, 1}, NULL);
    expect_valid(&(knobs){2, 128, 4, 1, 4, 1}, "shared memory");
    expect_valid(&(knobs){1, 128, 3, 0, 64, 0}, NULL);
    expect_valid(&(knobs){1, 128, 3, 1, 64, 0}, "take turns");
    expect_valid(&(knobs){2, 256, 2, 1, 4, 1}, "registers");
    expect_valid(&(knobs){3, 128, 2, 1, 4, 1}, "registers");
    expect_valid(&(knobs){3, 64, 2, 1, 4, 1}, NULL);
    assume("cuda -arch=sm_90", "attention(f16[1,1,128,64], f16[1,1,128,64], f16[1,1,128,64])");
    expect_valid(&(knobs){2, 64, 2, 1, 1, 0}, NULL);
    expect_valid(&(knobs){3, 64, 2, 1, 1, 0}, "no queries");
    expect_valid(&(knobs){2, 128, 2, 1, 1, 0}, NULL);
    expect_valid(&(knobs){2, 192, 2, 1, 1, 0}, "no keys");
    expect_valid(&(knobs){2, 64, 3, 1, 1, 0}, "more stages");
    expect_valid(&(knobs){2, 64, 2, 1, 4, 0}, "fewer heads");
    expect_valid(&(knobs){2, 64, 2, 1, 1, 1}, "second tile");
}

/* The fallback is valid everywhere. */
static void test_fallback(void **state)
{
    (void)state;
    static const int sizes[] = {1, 40, 64, 65, 200, 1000, 4096, 20000};
    for (int i = 0; i < OT_COUNT(sizes); i++)
        for (int j = 0; j < OT_COUNT(sizes); j++)
            for (int d = 8; d <= 256; d = d < 64 ? 64 : d + 64)
                for (int heads = 1; heads <= 64; heads *= 8) {
                    char text[160], why[OPTUNE_WHY_SIZE];
                    snprintf(text, sizeof text,
                             "attention(f16[1,%d,%d,%d], f16[1,%d,%d,%d], f16[1,%d,%d,%d])",
                             heads, sizes[i], d, heads, sizes[j], d, heads, sizes[j], 264 - d);
                    assume("cuda -arch=sm_90", text);
                    if (!assumed_takes(IMPL, text, NULL, 0, why))
                        fail_msg("%s: %s", text, why);
                }
}

/* Blocks go on to other rows where that is even: of causal rows, if all heads are one band. */
static void test_even(void **state)
{
    (void)state;
#define SQUARE(b, h, kv, s, more)                                                              \
    "attention(bf16[" #b "," #h "," #s ",128], bf16[" #b "," #kv "," #s ",128], "              \
    "bf16[" #b "," #kv "," #s ",128]" more ")"
    static const struct {
        const char *workload;
        int64_t persistent;
    } known[] = {{SQUARE(4, 16, 16, 4096, ""), 1},
                 {SQUARE(4, 16, 16, 4096, ", causal=true"), 0},
                 {SQUARE(1, 32, 8, 2048, ", causal=true"), 1},
                 {SQUARE(1, 16, 16, 4096, ", causal=true"), 0}};
    for (int i = 0; i < OT_COUNT(known); i++) {
        optune_err err;
        optune_space *space;
        optune_config config;
        assume("cuda -arch=sm_90", known[i].workload);
        check_ok(ot_space_open(&assumed.task, ot_impl_find(IMPL), &space, &err));
        assert_true(ot_space_fallback(space, &config, NULL));
        assert_int_equal(optune_config_int(&config, "persistent"), known[i].persistent);
        ot_space_close(space);
    }
#undef SQUARE
}

/* ---- several tiles ----------------------------------------------------------------------- */

static void test_tiles(void **state)
{
    (void)state;
#define HEADS(type, b, hq, hkv, sq, skv, d, dv, more)                                          \
    "attention(" type "[" #b "," #hq "," #sq "," #d "], " type "[" #b "," #hkv "," #skv "," #d \
    "], " type "[" #b "," #hkv "," #skv "," #dv "]" more ")"
    static const char plain[] = HEADS("bf16", 1, 3, 3, 200, 300, 64, 64, "");
    static const char causal[] = HEADS("f16", 2, 4, 2, 128, 200, 128, 128, ", causal=true");
    static const char odd[] = HEADS("bf16", 1, 4, 2, 90, 150, 72, 40, ", causal=true");
    static const char first[] = HEADS("f16", 1, 2, 1, 200, 100, 64, 64, ", causal=true");
    static const char kept[] = HEADS("bf16", 2, 2, 2, 130, 200, 64, 64, ", bool[2,1,1,200]");
    static const char added[] =
        HEADS("f16", 1, 2, 2, 130, 200, 64, 128, ", f16[1,2,130,200], scale=-0.2");
    static const char negative[] = HEADS("f16", 1, 2, 2, 70, 200, 64, 64, ", scale=-0.2");
    static const char large[] = HEADS("f16", 1, 2, 2, 70, 200, 64, 64, ", scale=3");
    static const char wide[] = HEADS("bf16", 1, 2, 2, 70, 200, 256, 256, "");
    static const struct {
        const char *workload;
        knobs k;
    } table[] = {
        {plain, {2, 128, 2, 1, 1, 0}},   {plain, {2, 64, 3, 0, 4, 1}},
        {plain, {3, 64, 4, 1, 1, 1}},    {plain, {1, 192, 2, 0, 1, 1}},
        {causal, {2, 64, 2, 1, 4, 1}},   {causal, {1, 128, 2, 0, 1, 0}},
        {causal, {2, 192, 2, 1, 1, 1}},  {odd, {2, 64, 2, 1, 1, 0}},
        {odd, {3, 64, 2, 1, 4, 0}},      {first, {2, 64, 2, 1, 1, 0}},
        {first, {1, 64, 2, 0, 1, 1}},    {kept, {2, 128, 2, 1, 4, 1}},
        {kept, {1, 64, 3, 0, 1, 0}},     {added, {2, 64, 2, 1, 1, 0}},
        {negative, {2, 64, 2, 1, 1, 0}}, {large, {1, 128, 2, 0, 1, 0}},
        {wide, {2, 64, 2, 1, 1, 0}},
    };
    static workbench b;
    if (!workbench_find(&b, "emulated -arch=sm_90"))
        skip();
    b.device.cores = 2; /* blocks of persistent kernels */
    workbench_start(&b);
    for (int i = 0; i < OT_COUNT(table); i++)
        one_config_compute(&b, table[i].workload, &(one_config){IMPL, set, &table[i].k});
    workbench_close(&b);
}

/* ---- registers --------------------------------------------------------------------------- */

/* Warpgroups that compute take so many registers a thread, the one that copies keeps so many.
 * Those of the block were shared out at its launch, and who asks for more than there are waits
 * for ever. */
static void test_registers(void **state)
{
    (void)state;
    static const char wide[] =
        "attention(bf16[4,16,4096,128], bf16[4,16,4096,128], bf16[4,16,4096,128])";
    static const char half[] = "attention(f16[1,32,2048,128], f16[1,8,2048,128], "
                               "f16[1,8,2048,128], causal=true)";
    static const char narrow[] = "attention(bf16[8,12,512,64], bf16[8,12,512,64], "
                                 "bf16[8,12,512,64])";
    static const char kept[] = "attention(bf16[8,12,512,64], bf16[8,12,512,64], "
                               "bf16[8,12,512,64], bool[8,1,1,512])";
    static const char most[] =
        "attention(bf16[4,16,4096,256], bf16[4,16,4096,256], bf16[4,16,4096,256])";
    static const struct {
        const char *workload;
        knobs k;
    } table[] = {
        {wide, {2, 128, 2, 1, 4, 1}},   {wide, {2, 64, 2, 0, 4, 0}},
        {half, {2, 128, 2, 1, 4, 1}},   {narrow, {3, 128, 2, 1, 64, 1}},
        {narrow, {2, 192, 2, 1, 4, 1}}, {kept, {2, 128, 2, 1, 4, 1}},
        {most, {2, 64, 2, 1, 4, 1}},    {wide, {1, 192, 2, 0, 4, 1}},
    };
    for (int i = 0; i < OT_COUNT(table); i++) {
        const knobs *k = &table[i].k;
        assume("cuda -arch=sm_90", table[i].workload);
        const int64_t n = one_config_registers(&(one_config){IMPL, set, k});
        if (n < 0)
            skip();
        if (k->consumers == 2)
            assert_true(3 * n >= 2 * 240 + 24);
        if (k->consumers == 3)
            assert_true(4 * n >= 3 * 160 + 32);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_applies),  cmocka_unit_test(test_limits),
        cmocka_unit_test(test_fallback), cmocka_unit_test(test_even),
        cmocka_unit_test(test_tiles),    cmocka_unit_test(test_registers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
