/* SPDX-License-Identifier: Apache-2.0 */
/* AutoTVM's positional task arguments and our calls, both ways. */
#include "strategy/fake.h"

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)task, (void)config, (void)plan;
}

static const optune_impl plain = {.op = "fake_mm", .name = "fake_plain", .plan = plan};
static const optune_impl named = {
    .op = "fake_mm",
    .name = "fake_named",
    .task_args =
        "data weight bias? padding flip data_layout out_layout out_shape null out_dtype",
    .plan = plan,
};
static const optune_impl implied = {
    .op = "fake_mm",
    .name = "fake_implied",
    .task_args = "data weight groups=data[1] mode=linear",
    .plan = plan,
};
static const optune_impl twice = {
    .op = "fake_mm",
    .name = "fake_twice",
    .task_args = "data weight groups=data[1] groups=weight[0]",
    .plan = plan,
};

static void check_args(const optune_impl *impl, const char *text, const char *expected)
{
    optune_err err = {0};
    optune_call call;
    check_ok(ot_call_parse(text, &call, &err));
    json_t *args = ot_task_args(&call, impl);
    char *dumped = json_dumps(args, JSON_COMPACT);
    assert_string_equal(dumped, expected);
    /* and back to the same question */
    optune_call back;
    check_ok(ot_call_from_args(impl, args, &back, &err));
    ot_text a = {0}, b = {0};
    ot_call_print(&call, &a);
    ot_call_print(&back, &b);
    assert_string_equal(ot_text_str(&a), ot_text_str(&b));
    ot_text_release(&a);
    ot_text_release(&b);
    free(dumped);
    json_decref(args);
}

static void test_both_ways(void **state)
{
    (void)state;
    check_args(
        &named, "fake_mm(f32[4,8], f32[16,8])",
        "[[\"TENSOR\",[4,8],\"float32\"],[\"TENSOR\",[16,8],\"float32\"],null,[0,0,0,0],0,"
        "\"MK\",\"MK\",[4,16],null,\"float32\"]");
    check_args(
        &named,
        "fake_mm(f32[4,8], f32[16,8], f32[16], padding=[1,2], flip=true, "
        "out_layout=KM, out_dtype=f64)",
        "[[\"TENSOR\",[4,8],\"float32\"],[\"TENSOR\",[16,8],\"float32\"],[\"TENSOR\",[16],"
        "\"float32\"],[1,2,1,2],1,\"MK\",\"KM\",[4,16],null,\"float64\"]");
    check_args(&plain, "fake_mm(i8[4,8], i8[16,8], axes=[2,1], alpha=0.25, groups=3)",
               "[[\"TENSOR\",[4,8],\"int8\"],[\"TENSOR\",[16,8],\"int8\"],null,[0,0,0,0],[2,1],"
               "0.25,0,\"nearest\",\"MK\",\"MK\",\"int8\",3]");
    check_args(&implied, "fake_mm(f32[4,8], f32[16,8], groups=8, mode=linear)",
               "[[\"TENSOR\",[4,8],\"float32\"],[\"TENSOR\",[16,8],\"float32\"]]");
    check_args(&twice, "fake_mm(f32[4,8], f32[8,8], groups=8)",
               "[[\"TENSOR\",[4,8],\"float32\"],[\"TENSOR\",[8,8],\"float32\"]]");
}

static void check_error(const optune_impl *impl, const char *text, const char *reason)
{
    optune_err err = {0};
    optune_call call;
    json_t *args = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_non_null(args);
    assert_int_equal(ot_call_from_args(impl, args, &call, &err), OPTUNE_ETYPE);
    check_contains(err.text, reason);
    json_decref(args);
}

#define A "[\"TENSOR\",[4,8],\"float32\"]"
#define B "[\"TENSOR\",[16,8],\"float32\"]"

static void test_errors(void **state)
{
    (void)state;
    check_error(&implied, "[" A "]", "takes 2 arguments, 1 are given");
    check_error(&implied, "[" A "," B ",1]", "takes 2 arguments, 3 are given");
    check_error(&implied, "{}", "takes 2 arguments");
    check_error(&implied, "[" A ",[\"TENSOR\",[16,8],\"float32\",[0,0]]]", "not a tensor");
    check_error(&implied, "[" A ",null]", "not a tensor");
    check_error(&implied, "[" A ",[\"TENSOR\",[16,-8],\"float32\"]]", "not a size");
    check_error(&implied, "[" A ",[\"TENSOR\",[16,8],\"float33\"]]", "float33");
    check_error(&implied, "[" A ",[\"TENSOR\",[16,9],\"float32\"]]", "does not fit data");
    check_error(&twice, "[" A "," B "]", "data[1] and weight[0] are the same");
    check_error(&named, "[" A "," B ",null,[1,2,3],0,\"MK\",\"MK\",[4,16],null,\"float32\"]",
                "has 3 integers");
    check_error(&named, "[" A "," B ",null,0,0,\"MK\",\"MK\",[4,17],null,\"float32\"]",
                "'out_shape' is not the output's");
    check_error(&named, "[" A "," B ",null,0,0,\"MK\",\"MK\",[4,16],3,\"float32\"]",
                "leaves empty");
    check_error(&named, "[" A "," B ",null,0,{},\"MK\",\"MK\",[4,16],null,\"float32\"]",
                "'flip' is not understood");
}

static int add_rows(void **state)
{
    (void)state;
    optune_err err = {0};
    return ot_op_add(&fake_op, &err) < 0 || ot_impl_add(&plain, &err) < 0 ||
           ot_impl_add(&named, &err) < 0 || ot_impl_add(&implied, &err) < 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_ways),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, add_rows, NULL);
}
