/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The type relations of sort, argsort, topk, cumsum and cumprod: one text for one question, what
 * is refused, outputs that follow from attributes, and what the outputs say of the input.
 */
#include "support/check.h"

#include "strategy/strategy.h"

static void check_text(const char *text, const char *canonical)
{
    optune_err err = {0};
    optune_call call;
    ot_text printed = {0};
    if (ot_call_parse(text, &call, &err) < 0)
        fail_msg("%s", err.text);
    ot_call_print(&call, &printed);
    assert_string_equal(ot_text_str(&printed), canonical);
    ot_text_release(&printed);
}

static void check_refused(const char *text, const char *says)
{
    optune_err err = {0};
    optune_call call;
    assert_true(ot_call_parse(text, &call, &err) < 0);
    check_contains(err.text, says);
}

/* Two ways of writing one question are one text. */
static void test_texts(void **state)
{
    (void)state;
    check_text("cumsum(f32[3,4], axis=none)", "cumsum(f32[3,4])");
    check_text("cumsum(f32[3,4], axis=1)", "cumsum(f32[3,4], axis=-1)");
    check_text("cumsum(f32[3,4], axis=-2, dtype=f32)", "cumsum(f32[3,4], axis=0)");
    check_text("topk(f32[3,4], axis=1, k=2)", "topk(f32[3,4], k=2)");
    check_text("topk(f32[3,4])", "topk(f32[3,4], k=1)");
    check_refused("cumsum(f32[3,4], axis=2)", "f32[3,4] has no axis 2");
    check_refused("cumsum(f32[3,4], axis=nine)", "an integer or none");
    check_refused("cumsum(f32[3,4], dtype=i32)", "not accumulated in integers");
    check_refused("sort(f32[3,4], axis=none)", "an integer is expected");
    check_refused("topk(f32[3,4], k=5)", "k is more than there is");
    check_refused("topk(f32[3,4], k=2, dtype=f32)", "i32 or i64");
    check_refused("topk(f32[3,4], ret_type=neither)", "both values indices");
}

static void test_outputs(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_call call;
    check_ok(ot_call_parse("topk(f16[3,40], k=5, dtype=i64)", &call, &err));
    assert_int_equal(call.n_outputs, 2);
    assert_int_equal(call.output[0].dim[1].min, 5);
    assert_int_equal(call.output[0].dtype.bits, 16);
    assert_int_equal(call.output[1].dtype.bits, 64);
    check_ok(ot_call_parse("topk(f32[3,40], k=5, ret_type=indices)", &call, &err));
    assert_int_equal(call.n_outputs, 1);
    assert_int_equal(call.output[0].dtype.code, OPTUNE_DTYPE_INT);
    check_ok(ot_call_parse("topk(f32[3,40], k=0, ret_type=values)", &call, &err));
    assert_int_equal(call.n_outputs, 1);
    assert_int_equal(call.output[0].dim[1].min, 40);
    assert_int_equal(call.output[0].dtype.code, OPTUNE_DTYPE_FLOAT);
}

static void test_both_ways(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_call call;
    /* k says how much there is at least, and a symbolic dim stays what it is */
    check_ok(ot_call_parse("topk(f32[?b,?n:1..900], k=5)", &call, &err));
    assert_int_equal(call.input[0].type.dim[1].min, 5);
    assert_int_equal(call.output[1].dim[1].max, 5);
    assert_string_equal(call.output[0].dim[0].name, "b");
    /* the outputs say what data is */
    check_ok(ot_call_parse("topk(?, k=5, axis=0)", &call, &err));
    call.output[1] = (optune_tensor){.rank = 2, .dim = {optune_dim_of(5), optune_dim_of(7)}};
    call.output[0].dtype = (optune_dtype){OPTUNE_DTYPE_FLOAT, 32, 1};
    assert_int_equal(ot_call_infer(&call, &err), 1);
    assert_int_equal(call.input[0].type.dim[1].min, 7);
    assert_int_equal(call.input[0].type.dim[0].min, 5);
    assert_int_equal(call.input[0].type.dtype.bits, 32);
    /* one unknown dim of what is flattened is what is left */
    check_ok(ot_call_parse("cumsum(f32[3,?,4], dtype=f64)", &call, &err));
    assert_int_equal(call.output[0].rank, 1);
    call.output[0].dim[0] = optune_dim_of(60);
    assert_int_equal(ot_call_infer(&call, &err), OPTUNE_OK);
    assert_int_equal(call.input[0].type.dim[1].min, 5);
    check_ok(ot_call_parse("cumsum(f32[3,?,4])", &call, &err));
    call.output[0].dim[0] = optune_dim_of(61);
    assert_int_equal(ot_call_infer(&call, &err), OPTUNE_ETYPE);
    /* argsort keeps the shape in both directions */
    check_ok(ot_call_parse("argsort(?)", &call, &err));
    call.output[0] = (optune_tensor){.rank = 1, .dim = {optune_dim_of(9)}};
    assert_int_equal(ot_call_infer(&call, &err), 1);
    assert_int_equal(call.input[0].type.dim[0].min, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_outputs),
        cmocka_unit_test(test_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
