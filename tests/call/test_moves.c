/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that only move elements give, bit by bit, what their reference gives: on every sample of
 * every operator that declares pieces. */
#include "tests/support/check.h"

#include "base/base.h"
#include "call/call.h"
#include "optune/define.h"

static void *whole_numbers(const optune_tensor *type, uint64_t *random)
{
    const int64_t n = optune_tensor_elements(type);
    double *value = ot_alloc((size_t)(n + 1) * sizeof *value);
    for (int64_t i = 0; i < n; i++)
        value[i] = (double)optune_random_below(random, 100);
    void *data = ot_alloc((size_t)optune_tensor_bytes(type) + 8);
    ot_elements_set(type->dtype, data, 0, n, value);
    free(value);
    return data;
}

/* 1: it moves; 0: it does not. */
static int compare(const optune_call *call, uint64_t *random)
{
    const optune_tensor *type = &call->output[0];
    const int64_t n = optune_tensor_elements(type), bytes = optune_tensor_bytes(type);
    void *in[OPTUNE_MAX_INPUTS] = {NULL};
    for (int i = 0; i < call->n_inputs; i++)
        in[i] = whole_numbers(&call->input[i].type, random);
    char *moved = ot_alloc((size_t)bytes + 8), *right = ot_alloc((size_t)bytes + 8);
    memset(moved, 0x55, (size_t)bytes);
    const bool moves = ot_call_move(call, (const void *const *)in, moved);
    if (moves) {
        double *value = ot_alloc((size_t)(n + 1) * sizeof *value);
        double *magnitude = ot_alloc((size_t)(n + 1) * sizeof *magnitude);
        optune_region whole;
        call->op->reference(call, (const void *const *)in, 0, ot_region_whole(type, &whole),
                            value, magnitude);
        ot_elements_set(type->dtype, right, 0, n, value);
        assert_memory_equal(moved, right, bytes);
        assert_int_equal(moved[bytes], 0); /* nothing behind it */
        free(value);
        free(magnitude);
    }
    for (int i = 0; i < call->n_inputs; i++)
        free(in[i]);
    free(moved);
    free(right);
    return moves;
}

static void test_samples(void **state)
{
    (void)state;
    int n_ops, moved = 0, transposes = 0;
    uint64_t random = 3;
    const optune_op *const *op = ot_ops(&n_ops);
    optune_call *call = ot_alloc(sizeof *call);
    for (int i = 0; i < n_ops; i++)
        for (int k = 0; op[i]->pieces && op[i]->samples && op[i]->samples[k]; k++) {
            optune_err err = {0};
            check_ok(ot_call_parse(op[i]->samples[k], call, &err));
            if (!ot_call_static(call))
                continue;
            const int moves = compare(call, &random);
            moved += moves;
            transposes += moves && !strcmp(op[i]->name, "transpose");
        }
    free(call);
    assert_true(moved > 30);
    assert_true(transposes > 3);
}

/* What computes, and what has something fused behind it, moves nothing. */
static void test_others(void **state)
{
    (void)state;
    optune_err err = {0};
    uint64_t random = 5;
    static const char *const text[] = {"add(f32[4], f32[4])", "cast(f32[4], dtype=i32)",
                                       "transpose(bool[3,4])"};
    optune_call *call = ot_alloc(sizeof *call);
    for (int i = 0; i < OT_COUNT(text); i++) {
        check_ok(ot_call_parse(text[i], call, &err));
        assert_int_equal(compare(call, &random), 0);
    }
    free(call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
