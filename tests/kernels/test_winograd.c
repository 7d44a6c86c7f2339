/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which tiles of the winograd convolutions keep their error bound, by arithmetic alone: few
 * products in an output allow small tiles or none, many allow large ones. That what is allowed is
 * right when it runs is the contract tests' matter.
 */
#include "strategy/inside.h"
#include "support/check.h"

static const optune_device wide = {.key = "wide",
                                   .kind = "cpu",
                                   .cores = 2,
                                   .threads = 2,
                                   .vector_bytes = 64,
                                   .vector_registers = 32,
                                   .l1 = 48 << 10,
                                   .l2 = 2 << 20};
static const optune_target target = {.kind = "cpu", .n_keys = 1, .key = {"cpu"}};

/* Whether any valid config has these values of two knobs. */
static bool allows(const char *name, const char *text, const char *knob, int64_t value,
                   const char *other, int64_t other_value)
{
    optune_err err = {0};
    static optune_call call;
    optune_space *space;
    const optune_impl *impl = ot_impl_find(name);
    check_ok(ot_call_parse(text, &call, &err));
    const optune_task task = {&call, &target, &wide};
    if (!ot_impl_applies(impl, &task, NULL))
        return false;
    check_ok(ot_space_open(&task, impl, &space, &err));
    bool found = false;
    uint64_t rng = 3;
    for (int i = 0; i < 20000 && !found; i++) {
        optune_config config;
        ot_space_nth(space, ot_space_random(space, &rng), &config);
        optune_config_choose_int(&config, space, knob, value);
        if (other)
            optune_config_choose_int(&config, space, other, other_value);
        found = ot_space_valid(space, &config, NULL);
    }
    ot_space_close(space);
    return found;
}

static void test_rows(void **state)
{
    (void)state;
    static const struct {
        const char *call;
        bool tile_2, tile_4, tile_6;
    } want[] = {
        {"conv2d(f32[1,1,572,572], f32[64,1,3,3])", true, true, false},
        {"conv2d(f32[1,1,572,572], f32[64,1,1,5], strides=[2], padding=[0,2])", 0, 0, 0},
        {"conv2d(f32[1,1,60,60], f32[64,1,1,3])", false, false, false},
        {"conv2d(f32[1,3,224,224], f32[64,3,7,7], padding=[3])", true, false, false},
        {"conv2d(f32[1,3,224,224], f32[64,3,7,7], strides=[2], padding=[3])", 1, 1, 1},
        {"conv2d(f32[1,16,56,56], f32[64,16,3,3], padding=[1])", true, true, true},
    };
    for (int i = 0; i < OT_COUNT(want); i++) {
        const bool is[] = {want[i].tile_2, want[i].tile_4, want[i].tile_6};
        for (int k = 0; k < OT_COUNT(is); k++)
            if (allows("conv2d_winograd_rows.cpu", want[i].call, "tile", 2 + 2 * k, NULL, 0) !=
                is[k])
                fail_msg("%s: tile %d should%s be allowed", want[i].call, 2 + 2 * k,
                         is[k] ? "" : " not");
    }
}

static void test_squares(void **state)
{
    (void)state;
    static const char few[] = "conv2d(f32[1,8,28,28], f32[64,8,3,3], padding=[2])";
    static const char many[] = "conv2d(f32[1,512,28,28], f32[64,512,3,3], padding=[1])";
    assert_true(allows("conv2d_winograd.cpu", few, "tile_h", 2, "tile_w", 2));
    assert_false(allows("conv2d_winograd.cpu", few, "tile_h", 7, "tile_w", 7));
    assert_true(allows("conv2d_winograd.cpu", many, "tile_h", 4, "tile_w", 4));
    assert_true(allows("conv2d_winograd.cpu", many, "tile_h", 7, "tile_w", 7));
}

/* What fits by no tile is refused as a whole, before a default could be. */
static void test_scratch(void **state)
{
    (void)state;
    static const char large[] = "conv2d(f64[256,256,14,128,8], const f64[16,2048,3,3], "
                                "padding=[1], data_layout=NCHW8c)";
    char why[OPTUNE_WHY_SIZE] = "";
    optune_err err = {0};
    static optune_call call;
    optune_device device = wide;
    device.threads = device.cores = 8;
    check_ok(ot_call_parse(large, &call, &err));
    const optune_task task = {&call, &target, &device};
    assert_false(ot_impl_applies(ot_impl_find("conv2d_winograd.cpu"), &task, why));
    check_contains(why, "more than 1 GiB of scratch");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_squares),
        cmocka_unit_test(test_scratch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
