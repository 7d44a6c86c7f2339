/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Planted candidates (tests/data/plants) that leave something behind in buffers, in their process
 * or in what a process inherits harm nobody else. How one of them itself ends is its own affair.
 */
#include "support/check.h"
#include "support/plants.h"
#include "tests/data/plants/list.h"

#define TRY(id)                                                                                \
    static void id##_harms_nobody(void **state)                                                \
    {                                                                                          \
        (void)state;                                                                           \
        plants_harm_nobody(#id, 20);                                                           \
    }
STATE(TRY)

static int setup(void **state)
{
    (void)state;
    const int status = plants_setup("STATE_LEFT");
    plants_workload("dense(f32[96,256], f32[120,256])");
    return status;
}

int main(void)
{
#define TEST(id) cmocka_unit_test(id##_harms_nobody),
    const struct CMUnitTest tests[] = {STATE(TEST)};
    return cmocka_run_group_tests(tests, setup, plants_teardown);
}
