/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The generic body of two convolutions in a row computes the value between them once, not for each
 * tap of the second: it keeps it, where a range does not make it too large to be kept.
 */
#include "support/batch.h"

#include "support/check.h"

#define CHAIN "pointwise_depthwise_conv2d("
static const char kept[] = CHAIN "f16[?n:1..2,6,?h:5..9,8], f16[10,6,1,1], f16[10,1,3,3], "
                                 "const f16[10,1,1], padding=[1,1,1,1], between=relu6)";
static const char vast[] = CHAIN "f16[?n:1..9000000,6,?h:5..90,8], f16[10,6,1,1], "
                                 "f16[10,1,3,3], padding=[1,1,1,1], between=silu)";

static const optune_impl *loops(void)
{
    return ot_impl_find("pointwise_depthwise_conv2d_loops.generic");
}

static void plan_of(const char *target, const char *text, optune_plan *plan)
{
    static batch b;
    static optune_call call;
    optune_err err = {0};
    const optune_config none = {0};
    if (!batch_open(&b, target))
        skip();
    check_ok(ot_call_parse(text, &call, &err));
    const optune_task task = {&call, &b.target, &b.device};
    check_ok(ot_plan_make(&task, loops(), &none, plan, &err));
    batch_close(&b);
}

static void keeps(void **state)
{
    (void)state;
    static optune_plan plan;
    plan_of("cpu -threads=1", kept, &plan);
    assert_int_equal(plan.n_stages, 2);
    assert_int_equal(plan.n_scratch, 1);
    assert_int_equal(plan.scratch[0].bytes, 2 * 10 * 9 * 8 * 4);
    plan_of("cpu -threads=1", vast, &plan);
    assert_int_equal(plan.n_stages, 1);
    assert_int_equal(plan.n_scratch, 0);
}

static void computes(const char *target)
{
    static const char *const at[][3] = {
        {CHAIN "f16[1,6,5,8], f16[10,6,1,1], f16[10,1,3,3], const f16[10,1,1], "
               "padding=[1,1,1,1], between=relu6)",
         CHAIN "f16[2,6,9,8], f16[10,6,1,1], f16[10,1,3,3], const f16[10,1,1], "
               "padding=[1,1,1,1], between=relu6)",
         CHAIN "f16[2,6,7,8], f16[10,6,1,1], f16[10,1,3,3], const f16[10,1,1], "
               "padding=[1,1,1,1], between=relu6)"},
        {CHAIN "f16[1,6,5,8], f16[10,6,1,1], f16[10,1,3,3], padding=[1,1,1,1], between=silu)",
         CHAIN "f16[3,6,7,8], f16[10,6,1,1], f16[10,1,3,3], padding=[1,1,1,1], between=silu)",
         CHAIN "f16[1,6,90,8], f16[10,6,1,1], f16[10,1,3,3], padding=[1,1,1,1], between=silu)"},
    };
    static optune_call call;
    const optune_config none = {0};
    optune_err err = {0};
    batch b;
    if (!batch_open(&b, target))
        skip();
    b.usual = true;
    for (int i = 0; i < OT_COUNT(at); i++) {
        check_ok(ot_call_parse(i ? vast : kept, &call, &err));
        batch_add(&b, &call, loops(), &none, at[i], 3);
    }
    batch_finish(&b);
    assert_int_equal(b.computed, 6);
    batch_judge(&b);
}

static void on_cpu(void **state)
{
    (void)state;
    computes("cpu -threads=2");
}

static void on_opencl(void **state)
{
    (void)state;
    computes("opencl -cflags='-cl-std=CL1.2 -cl-opt-disable'");
}

int main(int argc, char **argv)
{
    batch_inside(argc, argv);
    const struct CMUnitTest tests[] = {cmocka_unit_test(keeps), cmocka_unit_test(on_cpu),
                                       cmocka_unit_test(on_opencl)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
