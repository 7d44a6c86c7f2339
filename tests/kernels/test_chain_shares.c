/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What pointwise_depthwise_conv2d.cpu uses untuned shares its blocks among threads: nine vectors of
 * channels are five tiles, of which one of two threads would have three, so planes are cut, too.
 */
#include "strategy/inside.h"
#include "support/check.h"

static int64_t rows_of(int threads)
{
    static const char text[] =
        "pointwise_depthwise_conv2d(f32[1,24,56,56], const f32[144,24,1,1], "
        "const f32[144,1,3,3], padding=[1,1,1,1])";
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
    const int64_t rows = optune_config_int(&config, "block_oh");
    ot_space_close(space);
    return rows;
}

static void test_shares(void **state)
{
    (void)state;
    assert_int_equal(rows_of(1), 56); /* nobody to share with: no row is computed twice */
    assert_int_equal(rows_of(2), 28); /* ten blocks, five for each */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shares)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
