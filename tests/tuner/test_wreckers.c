/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Planted candidates (tests/data/plants) that break the conversation with the worker, processes,
 * memory or files harm nobody else. How one of them itself ends is its own affair.
 */
#include "support/check.h"
#include "support/plants.h"
#include "tests/data/plants/list.h"

#define TRY(id)                                                                                \
    static void id##_harms_nobody(void **state)                                                \
    {                                                                                          \
        (void)state;                                                                           \
        plants_harm_nobody(#id, 6);                                                            \
    }
WRECK(TRY)

static int setup(void **state)
{
    (void)state;
    const int status = plants_setup("WRECKS");
    plants_workload("dense(f32[96,256], f32[120,256])");
    return status;
}

int main(void)
{
#define TEST(id) cmocka_unit_test(id##_harms_nobody),
    const struct CMUnitTest tests[] = {WRECK(TEST)};
    return cmocka_run_group_tests(tests, setup, plants_teardown);
}
