/* SPDX-License-Identifier: Apache-2.0 */
/* Who gets the next trial: first the plevel default among what may be selected, then the
 * libraries, then the others, all before any gets a second one; then in proportion to promise.
 * And who gets how much of a time that several share. */
#include <math.h>

#include "support/check.h"
#include "tuner/tune.h"

static const optune_impl plain, better, library = {.library = "blas"};
static const ot_candidate low = {.impl = &plain, .plevel = 5, .refusal = OT_VALID},
                          high = {.impl = &better, .plevel = 10, .refusal = OT_VALID},
                          baseline = {.impl = &library,
                                      .plevel = 13,
                                      .refusal = OT_REFUSED_LIBRARY},
                          chosen = {.impl = &library, .plevel = 13, .refusal = OT_VALID};

static void order(const ot_candidate *const *candidate, int n, const int *want, int trials)
{
    ot_arm arm[8] = {0};
    for (int i = 0; i < n; i++)
        arm[i] =
            (ot_arm){.candidate = candidate[i], .impl = candidate[i]->impl, .best = INFINITY};
    for (int k = 0; k < trials; k++) {
        const int next = ot_budget_next(arm, n);
        assert_int_equal(next, want[k]);
        arm[next].pending++;
    }
}

static void test_first_trials(void **state)
{
    (void)state;
    order((const ot_candidate *const[]){&low, &baseline, &high}, 3,
          (const int[]){2, 1, 0, 2, 1, 0}, 6);
    /* A library that may be selected is the default itself. */
    order((const ot_candidate *const[]){&low, &high, &chosen}, 3,
          (const int[]){2, 1, 0, 2, 1, 0}, 6);
    /* Of equal plevels the first one is. */
    order((const ot_candidate *const[]){&baseline, &high, &high}, 3, (const int[]){1, 0, 2}, 3);
}

/* In a graph, what cannot be chosen waits for the first of all others, and has one trial: it gets
 * no share however fast it is, unless nobody else is left. */
static void test_waiting(void **state)
{
    (void)state;
    const ot_candidate *const candidate[] = {&low, &baseline, &high};
    static const int want[] = {2, 0, 1, 2, 0};
    ot_arm arm[3] = {0};
    for (int i = 0; i < 3; i++)
        arm[i] = (ot_arm){.candidate = candidate[i],
                          .impl = candidate[i]->impl,
                          .waits = i == 1,
                          .best = INFINITY};
    for (size_t k = 0; k < OT_COUNT(want); k++) {
        const int next = ot_budget_next(arm, 3);
        assert_int_equal(next, want[k]);
        arm[next].pending++;
    }
    arm[0].best = arm[2].best = 10;
    arm[1].best = 1;
    for (int k = 0; k < 100; k++) {
        const int next = ot_budget_next(arm, 3);
        assert_true(next == 0 || next == 2);
        arm[next].pending++;
    }
    arm[0].exhausted = arm[2].exhausted = true;
    assert_int_equal(ot_budget_next(arm, 3), 1);
}

static void test_shares(void **state)
{
    (void)state;
    static const double weight[] = {1, 6, 0, 3};
    /* All use what they get: 30 % alike, the rest by weight, and nothing is left. */
    ot_shares shares = {.n = 4, .weights = 10};
    double left = 100;
    for (int i = 0; i < 4; i++) {
        const double own = ot_shares_next(&shares, weight[i], left);
        assert_float_equal(own, 7.5 + 7 * weight[i], 1e-9);
        left -= own;
    }
    assert_float_equal(left, 0, 1e-9);
    /* What one leaves goes to those behind it, the last of whom gets all there is. */
    shares = (ot_shares){.n = 4, .weights = 10};
    ot_shares_next(&shares, weight[0], 100);
    assert_float_equal(ot_shares_next(&shares, weight[1], 100), 49.5 / 0.855, 1e-9);
    ot_shares_next(&shares, weight[2], 50);
    assert_float_equal(ot_shares_next(&shares, weight[3], 40), 40, 1e-9);
    /* Nothing is known: all alike. */
    shares = (ot_shares){.n = 3};
    left = 3;
    for (int i = 0; i < 3; i++)
        assert_float_equal(ot_shares_next(&shares, 0, left--), 1, 1e-9);
    /* No time is left. */
    assert_float_equal(ot_shares_next(&shares, 1, -2), 0, 1e-9);
}

static void test_promise(void **state)
{
    (void)state;
    ot_arm arm[2] = {{.candidate = &low, .best = 1, .trials = 10},
                     {.candidate = &high, .best = 4, .trials = 3}};
    assert_int_equal(ot_budget_next(arm, 2), 0);
    arm[0].exhausted = true;
    assert_int_equal(ot_budget_next(arm, 2), 1);
    arm[1].exhausted = true;
    assert_int_equal(ot_budget_next(arm, 2), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_trials),
        cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_promise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
