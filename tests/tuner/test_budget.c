/* SPDX-License-Identifier: Apache-2.0 */
/* Who gets the next trial: first the plevel default among what may be selected, then the
 * libraries, then the others, all before any gets a second one; then in proportion to promise. */
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
        cmocka_unit_test(test_promise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
