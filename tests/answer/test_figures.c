/* SPDX-License-Identifier: Apache-2.0 */
/* Which peak a call is compared with. */
#include "answer/figures.h"
#include "support/check.h"

static optune_call *parse(const char *text)
{
    static optune_call call;
    optune_err err = {0};
    check_ok(ot_call_parse(text, &call, &err));
    return &call;
}

static void test_tensor(void **state)
{
    (void)state;
    static const struct {
        const char *call;
        bool yes;
    } each[] = {
        {"dense(bf16[4096,4096], bf16[4096,4096])", true},
        {"dense(f16[256,512], f16[128,512])", true},
        {"dense(f32[4096,4096], f32[4096,4096])", false},
        {"dense(f32[4096,4096], f32[4096,4096], math=tf32)", false}, /* a peak of its own */
        {"dense(i8[256,512], i8[128,512], out_dtype=i32)", false},
        {"dense(bf16[1,4096], bf16[4096,4096])", false}, /* memory's */
        {"conv2d(bf16[1,64,56,56], bf16[64,64,3,3], padding=[1,1])", true},
        {"attention(bf16[1,32,512,128], bf16[1,8,512,128], bf16[1,8,512,128])", true},
        {"dense_nbits(bf16[512,4096], const u8[4096,2048], const bf16[4096,128], bits=4, "
         "group=32)",
         true},
        {"softmax(bf16[512,1024])", false},
        {"avg_pool2d(bf16[1,64,56,56], pool_size=[3,3])", false},
        {"sum(bf16[512,1024], axis=[1])", false},
    };
    for (int i = 0; i < OT_COUNT(each); i++)
        if (ot_call_tensor(parse(each[i].call)) != each[i].yes)
            fail_msg("%s", each[i].call);
}

static void test_cache(void **state)
{
    (void)state;
    const optune_device gpu = {.l2 = 50 << 20}, unknown = {0};
    const optune_device cpu = {.l2 = 1 << 20, .l3 = 32 << 20};
    optune_call *call = parse("add(f32[67108864], f32[67108864])");
    assert_false(ot_call_fits_cache(&gpu, call));
    assert_false(ot_call_fits_cache(&cpu, call));
    assert_true(ot_call_fits_cache(&unknown, call)); /* nobody can say that it does not */
    call = parse("relu(f32[1024,2048])");
    assert_true(ot_call_fits_cache(&gpu, call));
    assert_true(ot_call_fits_cache(&cpu, call));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensor),
        cmocka_unit_test(test_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
