/* SPDX-License-Identifier: Apache-2.0 */
/* What a row's rate is a share of, and when that share says nothing. */
#include "support/check.h"
#include "tuner/report.h"

static void test_share(void **state)
{
    (void)state;
    const optune_record best = {.cost = 1e-3};
    const ot_run run = {.peak = {.flops = 4e12, .bandwidth = 2e12, .tensor = 40e12}};
    const ot_row moves = {.best = &best, .moves = true, .bytes = 2.2e9},
                 kept = {.best = &best, .moves = true, .bytes = 2.2e9, .cacheable = true},
                 slow = {.best = &best, .moves = true, .bytes = 1e9, .cacheable = true};
    /* What no cache holds does not stay in one, however fast it moves. */
    assert_float_equal(ot_row_share(&run, &moves), 1.1, 1e-9);
    assert_false(ot_row_cached(&run, &moves));
    assert_true(ot_row_cached(&run, &kept));
    assert_false(ot_row_cached(&run, &slow));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
