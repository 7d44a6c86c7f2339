/* SPDX-License-Identifier: Apache-2.0 */
/* What holds less memory is chosen as far as the whole may lose time, where it saves most first. */
#include <math.h>

#include "support/check.h"
#include "tuner/in_graph.h"

static void time_is_spent_where_it_saves_most(void **state)
{
    (void)state;
    const ot_weight a[] = {{10, 900}, {11, 400}, {13, 100}};
    const ot_weight b[] = {{10, 900}, {10.5, 100}};
    const ot_weight *const weight[] = {a, b};
    const int n[] = {3, 2};
    int chosen[2] = {0, 0};
    assert_true(ot_lighten(weight, n, 2, 0.9, chosen) ==
                800); /* 1600 bytes for a second first */
    assert_int_equal(chosen[0], 0);
    assert_int_equal(chosen[1], 1);
    chosen[1] = 0;
    assert_true(ot_lighten(weight, n, 2, 1.5, chosen) == 1300); /* all of it is spent */
    assert_int_equal(chosen[0], 1);
    assert_int_equal(chosen[1], 1);
    chosen[0] = chosen[1] = 0;
    assert_true(ot_lighten(weight, n, 2, 3.5, chosen) == 1600); /* and in steps */
    assert_int_equal(chosen[0], 2);
}

static void nothing_is_given_for_nothing(void **state)
{
    (void)state;
    const ot_weight a[] = {{10, 500}, {11, 500}, {12, 600}}, b[] = {{10, 900}, {10.1, 100}};
    const ot_weight *const weight[] = {a, b};
    const int n[] = {3, 2};
    int chosen[2] = {0, 0};
    assert_true(ot_lighten(weight, n, 2, 0, chosen) == 0);
    assert_int_equal(chosen[0], 0);
    assert_int_equal(chosen[1], 0);
    assert_true(ot_lighten(weight, n, 1, 100, chosen) == 0); /* as heavy, or heavier */
    assert_int_equal(chosen[0], 0);
}

/* What was hardly measured is not known, and what is as fast costs nothing. */
static void only_what_is_known_is_taken(void **state)
{
    (void)state;
    const ot_weight a[] = {{10, 500}, {INFINITY, 1}, {10, 300}, {9, 400}};
    const ot_weight *const weight[] = {a};
    const int n[] = {4};
    int chosen[1] = {0};
    assert_true(ot_lighten(weight, n, 1, 0, chosen) == 200);
    assert_int_equal(chosen[0], 2);
    assert_true(ot_lighten(weight, n, 1, 1e9, chosen) == 0);
    assert_int_equal(chosen[0], 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_spent_where_it_saves_most),
        cmocka_unit_test(nothing_is_given_for_nothing),
        cmocka_unit_test(only_what_is_known_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
