/* SPDX-License-Identifier: Apache-2.0 */
/* Workloads with a dim of 0: their references and what computes them touch nothing. */
#include "support/command.h"

static void nothing_is_computed_of_nothing(void **state)
{
    static const char *const all[][2] = {
        {"relu", "relu(f32[3,0,2])"},       {"add", "add(f32[0,3], f32[3])"},
        {"add", "add(f32[1,0], f32[3,1])"}, {"broadcast_to", "broadcast_to(f32[1], shape=[0])"},
        {"sum", "sum(f32[3,0], axis=[1])"}, {"dense", "dense(f32[0,4], f32[3,4])"},
    };
    (void)state;
    for (int i = 0; i < OT_COUNT(all); i++) {
        outcome o = optune("run", all[i][0], all[i][1], "--threads", "1", "--trials", "1",
                           "--time", "20");
        print_message("%s\n", all[i][1]);
        check_contains(ot_text_str(&o.out), "1 new trials, 0 failed");
        assert_int_equal(o.code, 0);
        release(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_computed_of_nothing)};
    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
