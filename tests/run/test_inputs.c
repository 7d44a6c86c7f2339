/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs and references that the worker holds, of a call that is so large that near inputs are made
 * of the true ones: each set is what it was made to be, whenever it is asked for, and its reference
 * is of these very elements.
 */
#include <math.h>
#include <unistd.h>

#include "run/worker/worker_keeper.h"
#include "support/check.h"

enum { N = 23000000 };
static const char text[] = "relu(f32[23000000])";

static void relu(const float *in, float *out)
{
    for (int i = 0; i < N; i++)
        out[i] = fmaxf(in[i], 0);
}

static bool right(const ot_inputs *in, ot_set set, const float *out)
{
    const optune_impl impl = {.name = "x"};
    char message[256];
    double error = 0;
    return ot_judge(&in->call, &impl, &in->reference[set], (const void *const[]){out}, 0, 0,
                    &error, message, sizeof message);
}

static void test_sets(void **state)
{
    (void)state;
    char dir[1024], path[1100];
    optune_err err = {0};
    ot_inputs in;
    float *want = ot_alloc(4 * (size_t)N), *out = ot_alloc(4 * (size_t)N);
    float *tray = ot_alloc(4 * (size_t)N + 64);
    check_ok(ot_temp_dir(dir, sizeof dir, &err));
    snprintf(path, sizeof path, "%s/reference", dir);
    check_ok(ot_inputs_open(&in, text, 9, path, 2, NULL, &err));
    assert_true(OT_SETS * in.in_bytes > OT_ALWAYS_KEPT); /* or this tests something else */
    assert_null(in.kept[OT_SET_NEAR][0]);
    for (int round = 0; round < 2; round++) {
        ot_fill_call_input(&in.call, 9, 0, want);
        ot_inputs_put(&in, OT_SET_TRUE, 1, (char *)tray);
        assert_memory_equal(tray, want, 4 * (size_t)N); /* not the near ones any more */
        relu(tray, out);
        assert_true(right(&in, OT_SET_TRUE, out));
        assert_false(right(&in, OT_SET_NEAR, out));
        assert_false(right(&in, OT_SET_FAR, out));
        ot_inputs_put(&in, OT_SET_NEAR, 1, (char *)tray);
        int differ = 0;
        for (int i = 0; i < N; i++)
            differ += tray[i] != want[i];
        assert_true(differ > N / 300 && differ < N / 250);
        relu(tray, out);
        assert_true(right(&in, OT_SET_NEAR, out));
        assert_false(right(&in, OT_SET_TRUE, out));
        ot_inputs_put(&in, OT_SET_FAR, 1, (char *)tray);
        float most = 0;
        for (int i = 0; i < N; i++)
            most = fmaxf(most, fabsf(tray[i]));
        assert_true(most > 1.9f && most <= 2);
        relu(tray, out);
        assert_true(right(&in, OT_SET_FAR, out));
    }
    ot_inputs_close(&in);
    ot_remove_tree(dir);
    free(want);
    free(out);
    free(tray);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
