/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What 16-bit floats are multiplied by untuned, on devices that differ in what their instructions
 * for it are worth alone. All is arithmetic: no device is needed and nothing is compiled.
 */
#include "bench/made_up_cpu.h"
#include "kernels/matmul/dot.h"
#include "support/check.h"
#include "support/untuned.h"

enum {
    NONE = 0,
    FAST = OPTUNE_DOT_BF16,
    SLOW = OPTUNE_DOT_BF16 | OPTUNE_DOT_BF16_SLOW,
    TILES = SLOW | OPTUNE_DOT_TILE_BF16
};

static const optune_target target = {.kind = "cpu", .n_keys = 1, .key = {"cpu"}};

static optune_device device_of(int dots)
{
    optune_device device = made_up_cpu(1);
    device.l3 = 32 << 20;
    device.dots = dots;
    return device;
}

static void test_untuned(void **state)
{
    (void)state;
    static const char conv[] = "conv2d(bf16[1,64,14,14], const bf16[64,64,3,3], padding=[1])",
                      pixels[] = "conv2d(bf16[1,64,14,14], const bf16[64,64,1,1])",
                      varies[] = "conv2d(bf16[1,64,14,14], var bf16[64,64,3,3], padding=[1])",
                      rows[] = "dense(bf16[64,256], const bf16[128,256])",
                      few[] = "dense(bf16[1,256], const bf16[128,256])";
    static const struct {
        const char *call;
        int dots;
        const char *impl;
        dot_step step; /* DOT_NONE: it has no such knob */
    } table[] = {
        {conv, FAST, "conv2d_dot.cpu", DOT_BF16},
        {conv, SLOW, "conv2d_direct.cpu", DOT_NONE},
        {conv, NONE, "conv2d_direct.cpu", DOT_NONE},
        {conv, TILES, "conv2d_amx.x86", DOT_NONE},
        {pixels, FAST, "conv2d_dot.cpu", DOT_BF16},
        {pixels, SLOW, "conv2d_1x1.cpu", DOT_NONE},
        {varies, FAST, "conv2d_dot.cpu", DOT_BF16},
        {varies, SLOW, "conv2d_dot.cpu", DOT_WIDE},
        {rows, FAST, "dense_dot.cpu", DOT_BF16},
        {rows, SLOW, "dense_gemm.cpu", DOT_NONE},
        /* Reading the weight takes the time. */
        {few, FAST, "dense_dot.cpu", DOT_BF16},
        {few, SLOW, "dense_dot.cpu", DOT_BF16},
        {few, NONE, "dense_dot.cpu", DOT_WIDE},
    };
    for (int i = 0; i < OT_COUNT(table); i++) {
        const optune_device device = device_of(table[i].dots);
        optune_config config;
        const char *const name = untuned_impl(table[i].call, &device, &config);
        if (strcmp(name, table[i].impl) != 0)
            fail_msg("%s, %d: %s", table[i].call, table[i].dots, name);
        if (table[i].step != DOT_NONE && dot_chosen(&config) != table[i].step)
            fail_msg("%s, %d: step %d", table[i].call, table[i].dots, (int)dot_chosen(&config));
    }
}

/* A slow instruction is still one that tuning may choose. */
static void test_both_steps(void **state)
{
    (void)state;
    static optune_call call;
    optune_err err = {0};
    check_ok(ot_call_parse("conv2d(bf16[1,64,14,14], const bf16[64,64,3,3])", &call, &err));
    for (int slow = 0; slow < 2; slow++) {
        const optune_device device = device_of(slow ? SLOW : FAST);
        const optune_task task = {&call, &target, &device};
        optune_space *space;
        optune_config config;
        check_ok(ot_space_open(&task, ot_impl_find("conv2d_dot.cpu"), &space, &err));
        assert_true(ot_space_fallback(space, &config, NULL));
        assert_int_equal(dot_chosen(&config), slow ? DOT_WIDE : DOT_BF16);
        dot_choose(space, &config, DOT_BF16);
        assert_true(ot_space_valid(space, &config, NULL));
        assert_int_equal(dot_chosen(&config), DOT_BF16);
        dot_choose(space, &config, DOT_WIDE);
        assert_int_equal(dot_chosen(&config), DOT_WIDE);
        ot_space_close(space);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_untuned),
                                       cmocka_unit_test(test_both_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
