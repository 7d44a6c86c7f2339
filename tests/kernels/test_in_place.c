/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan that says so computes the same with an operand of what is fused in the output's own
 * memory, to the bit. Every implementation is asked, a config or, under OPTUNE_TEST_CONFIGS=n, n of
 * each that says so.
 */
#include "support/check.h"
#include "support/direct.h"
#include "support/workbench.h"

#include <stdlib.h>

#include "strategy/inside.h"

enum { MOST_BYTES = 1 << 18 };

static bool in_place(const optune_plan *plan)
{
    return plan->in_place;
}

/* Planes that fill no vector, several tiles of channels, parts of a thread's; then rows of
 * channels. Each operand as large as the output is tried in its memory. */
static const char *const calls[] = {
    "conv2d(f32[2,72,5,7], const f32[24,72,1,1]) -> add(f32[2,24,5,7]) -> relu()",
    "conv2d(f32[1,12,9,6], const f32[20,12,3,3], padding=[1,1]) -> add(const f32[20,1,1]) -> "
    "subtract(f32[1,20,9,6]) -> multiply(f32[1,20,9,6])",
    "conv2d(f32[1,2,6,5,16], const f32[32,32,1,1], data_layout=NCHW16c, out_layout=NCHW16c) -> "
    "add(f32[1,2,6,5,16])",
    "conv2d(f32[1,4,5,5,8], const f32[32,32,1,1], data_layout=NCHW8c, out_layout=NCHW8c) -> "
    "add(f32[1,4,5,5,8])",
    "dense(f32[9,40], const f32[50,40]) -> add(f32[9,50])",
    "batch_matmul(f32[2,9,40], f32[2,50,40]) -> add(f32[2,9,50])",
    "add(f32[7,33], f32[7,33]) -> multiply(f32[7,33])",
};

/* Returns how many operands were tried. */
static int try_operands(const char *name, direct *d)
{
    static char memory[OPTUNE_MAX_INPUTS + 2][MOST_BYTES] __attribute__((aligned(64)));
    const optune_call *call = direct_call(d);
    char *apart = memory[OPTUNE_MAX_INPUTS], *shared = memory[OPTUNE_MAX_INPUTS + 1];
    const void *in[OPTUNE_MAX_INPUTS] = {NULL};
    const size_t bytes = (size_t)optune_tensor_bytes(&call->output[0]);
    int n = 0;
    for (int i = 0; i < optune_call_inputs(call); i++) {
        assert_true(optune_tensor_bytes(&call->input[i].type) <= MOST_BYTES);
        ot_fill_call_input(call, 5, i, memory[i]);
        in[i] = memory[i];
    }
    direct_run(d, in, (void *[]){apart});
    for (int i = call->n_inputs; i < optune_call_inputs(call); i++) {
        if (!ot_tensor_same(&call->input[i].type, &call->output[0]))
            continue;
        memcpy(shared, memory[i], bytes);
        in[i] = shared;
        direct_run(d, in, (void *[]){shared});
        in[i] = memory[i];
        if (memcmp(apart, shared, bytes) != 0)
            fail_msg("%s: operand %d in the output's memory", name, i);
        n++;
    }
    return n;
}

static void test_operands(void **state)
{
    (void)state;
    int n;
    const optune_impl *const *impl = ot_impls(&n);
    const int configs = workbench_asked("OPTUNE_TEST_CONFIGS", 1);
    int asked[OT_COUNT(calls)] = {0};
    for (int k = 0; k < OT_COUNT(calls); k++)
        for (int i = 0; i < n; i++) {
            const size_t op = strcspn(calls[k], "(");
            if (!impl[i]->op || strncmp(impl[i]->op, calls[k], op) || impl[i]->op[op] ||
                !workbench_wants(impl[i]->name))
                continue;
            for (int c = 0; c < configs; c++) {
                direct *d = direct_open_where(impl[i], calls[k], c, in_place);
                if (!d)
                    break;
                asked[k] += try_operands(impl[i]->name, d);
                direct_close(d);
            }
        }
    if (!getenv("OPTUNE_TEST_IMPL") && !getenv("OPTUNE_TEST_WITHOUT"))
        assert_true(asked[0] && asked[1] && asked[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_operands)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
