/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls by their address and functions by a workload's text: what languages without C's structs
 * use is the same call, and computes the same, as what C's own programs use.
 */
#include <jansson.h>
#include <math.h>

#include "optune/graph.h"
#include "optune/optune.h"
#include "support/check.h"
#include "support/command.h"

static json_t *describe(const char *workload)
{
    optune_err err = {0};
    optune_call *call = NULL;
    optune_result *result = NULL;
    char text[OPTUNE_TEXT_SIZE];
    check_ok(optune_call_open(workload, &call, &err));
    check_ok(optune_call_write(call, text, sizeof text, &err));
    check_ok(optune_call_describe(call, &result, &err));
    assert_string_equal(optune_result_text(result), text);
    json_t *json = json_loads(optune_result_json(result), 0, NULL);
    assert_non_null(json);
    assert_string_equal(json_string_value(json_object_get(json, "call")), text);
    optune_result_free(result);
    optune_call_close(call);
    return json;
}

static void types_are_told(void **state)
{
    (void)state;
    json_t *json = describe("dense(f32[?m:1..8,16],f32[4,16])");
    json_t *want = json_loads(
        "{\"op\": \"dense\", \"inputs\": ["
        "{\"type\": \"f32[?m:1..8,16]\", \"dtype\": \"f32\", \"shape\": [null, 16],"
        " \"const\": false},"
        "{\"type\": \"f32[4,16]\", \"dtype\": \"f32\", \"shape\": [4, 16], \"const\": true}],"
        "\"outputs\": [{\"type\": \"f32[?m:1..8,4]\", \"dtype\": \"f32\","
        " \"shape\": [null, 4]}]}",
        0, NULL);
    json_object_del(json, "call");
    if (!json_equal(json, want))
        fail_msg("%s", json_dumps(json, 0));
    json_decref(want);
    json_decref(json);
    /* Inputs of fused operators follow, and of several outputs all are told. */
    json = describe("dense(f32[2,16], f32[4,16]) -> add(const f32[4]) -> relu()");
    assert_int_equal(json_array_size(json_object_get(json, "inputs")), 3);
    json_decref(json);
    json = describe("topk(f32[3,50], k=4)");
    assert_int_equal(json_array_size(json_object_get(json, "outputs")), 2);
    json_decref(json);
}

static void functions_by_text(void **state)
{
    (void)state;
    optune *o = NULL;
    optune_err err = {0};
    optune_function *f = NULL;
    const optune_options options = {.size = sizeof options, .db = command_path("describe")};
    check_ok(optune_open(&options, &o, &err));
    assert_int_equal(optune_function_open_text(o, "dense(f32[2,3], f32[4,3]", NULL, &f, &err),
                     OPTUNE_ESYNTAX);
    assert_null(f);
    assert_int_equal(optune_function_open_text(o, "dense(f32[2,3], f32[4,3])", NULL, &f, &err),
                     OPTUNE_EUSAGE); /* its constant has no elements */
    assert_non_null(strstr(err.text, "constant"));
    const float x[6] = {1, 2, 3, 4, 5, 6};
    const float w[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1};
    float y[8] = {0};
    check_ok(optune_function_open_text(o, "dense(f32[2,3], f32[4,3])",
                                       (const void *const[]){NULL, w}, &f, &err));
    check_ok(optune_function_run(f, (const void *const[]){x, NULL}, (void *const[]){y}, &err));
    static const float want[8] = {1, 2, 3, 6, 4, 5, 6, 15};
    for (int i = 0; i < 8; i++)
        if (fabsf(y[i] - want[i]) > 1e-5f)
            fail_msg("element %d is %g, not %g", i, (double)y[i], (double)want[i]);
    optune_function_close(f);
    optune_close(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_are_told),
        cmocka_unit_test(functions_by_text),
    };
    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
