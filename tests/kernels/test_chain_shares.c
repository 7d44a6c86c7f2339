/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What pointwise_depthwise_conv2d.cpu uses untuned shares its blocks among threads: nine vectors of
 * channels are five tiles, of which one of two threads would have three, so planes are cut, too.
 * Rows that are shorter than a vector go together.
 */
#include "strategy/inside.h"
#include "support/check.h"

/* A knob of the fallback config. */
static int64_t knob_of(const char *text, const char *knob, int threads)
{
    const optune_device device = {.key = "wide",
                                  .kind = "cpu",
                                  .cores = threads,
                                  .threads = threads,
                                  .vector_bytes = 64,
                                  .vector_registers = 32,
                                  .l1 = 32 << 10,
                                  .l2 = 1 << 20};
    static const optune_target target = {.kind = "cpu", .n_keys = 1, .key = {"cpu"}};
    static optune_call call;
    optune_err err = {0};
    optune_space *space;
    optune_config config;
    check_ok(ot_call_parse(text, &call, &err));
    const optune_task task = {&call, &target, &device};
    const optune_impl *impl = ot_impl_find("pointwise_depthwise_conv2d.cpu");
    check_ok(ot_space_open(&task, impl, &space, &err));
    assert_true(ot_space_fallback(space, &config, NULL));
    assert_int_equal(optune_config_int(&config, "tile_vectors"), 2);
    assert_int_equal(optune_config_int(&config, "pass"), 1);
    const int64_t value = optune_config_int(&config, knob);
    ot_space_close(space);
    return value;
}

static int64_t rows_of(int threads)
{
    return knob_of("pointwise_depthwise_conv2d(f32[1,24,56,56], const f32[144,24,1,1], "
                   "const f32[144,1,3,3], padding=[1,1,1,1])",
                   "block_oh", threads);
}

static void test_shares(void **state)
{
    (void)state;
    assert_int_equal(rows_of(1), 56); /* nobody to share with: no row is computed twice */
    assert_int_equal(rows_of(2), 28); /* ten blocks, five for each */
}

/* Rows of 14 are shorter than a vector, two of them are not: only whole squares are turned over by
 * vectors. In blocks of channels nothing is turned over. */
static void test_steps(void **state)
{
    (void)state;
    static const char plain[] =
        "pointwise_depthwise_conv2d(f32[1,32,28,28], const f32[192,32,1,1], "
        "const f32[192,1,3,3], strides=[2,2], padding=[1,1,1,1])";
    static const char blocks[] =
        "pointwise_depthwise_conv2d(f32[1,2,28,28,16], const f32[192,32,1,1], "
        "const f32[192,1,3,3], strides=[2,2], padding=[1,1,1,1], data_layout=NCHW16c)";
    static const char narrow[] =
        "pointwise_depthwise_conv2d(f32[1,32,600,3], const f32[192,32,1,1], "
        "const f32[192,1,3,3], padding=[1,1,1,1])";
    assert_int_equal(knob_of(plain, "step", 2), 2);
    assert_int_equal(knob_of(blocks, "step", 2), 1);
    assert_int_equal(knob_of(narrow, "step", 2), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shares),
                                       cmocka_unit_test(test_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
