/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The score against values computed by hand. Ten configs cost 10, 9 .. 1 and each trial takes a
 * second: the median is 5.5, and random search needs one trial for 1 % of the way to the best and
 * three for 95 %. After 1, 2, 3 trials it is expected to have the configs of rank 6, 7 and 8 from
 * the worst, which cost 4, 3 and 2: at t seconds 5 - t.
 */
#include "support/check.h"

#include <math.h>

#include "tuner/simulate/score.h"

static ot_recorded_trial ladder[10];

static ot_recorded ten(void)
{
    for (int i = 0; i < 10; i++)
        ladder[i] = (ot_recorded_trial){.index = i, .cost = i + 1, .seconds = 1};
    return (ot_recorded){.name = "ten", .trial = ladder, .n_trials = 10, .n_good = 10};
}

static ot_yardstick yardstick(void)
{
    optune_err err = {0};
    ot_yardstick y;
    const ot_recorded recorded = ten();
    check_ok(ot_yardstick_open(&recorded, &y, &err));
    return y;
}

static void random_search_by_hand(void **state)
{
    (void)state;
    ot_yardstick y = yardstick();
    assert_int_equal(y.trials, 3);
    assert_true(fabs(y.budget - 3.3) < 1e-9);
    assert_true(y.best == 1 && y.median == 5.5);
    assert_true(fabs(y.time[0] - 1) < 1e-9 && fabs(y.time[OT_SCORE_STEPS - 1] - 3) < 1e-9);
    for (int i = 0; i < OT_SCORE_STEPS; i++)
        assert_true(fabs(y.random[i] - (5 - y.time[i])) < 1e-9);
    ot_yardstick_close(&y);
}

static double score_of(const ot_score_point *points, int n, int runs)
{
    ot_yardstick y = yardstick();
    const double score = ot_score(&y, points, n, runs, 1, -1, NULL);
    ot_yardstick_close(&y);
    return score;
}

static void optimum_at_once_is_one(void **state)
{
    (void)state;
    const ot_score_point points[] = {{1, 1, 0}, {2, 1, 0}, {3, 1, 0}};
    assert_true(fabs(score_of(points, 3, 1) - 1) < 1e-9);
}

/* Mean over [1, 3] of (5 - t - 10) / (5 - t - 1) = 1 - 9 / (4 - t). */
static void the_worst_has_no_floor(void **state)
{
    (void)state;
    const ot_score_point points[] = {{1, 10, 0}, {2, 10, 0}, {3, 10, 0}};
    assert_true(fabs(score_of(points, 3, 1) - (1 - 4.5 * log(3))) < 0.01);
    assert_true(fabs(score_of(NULL, 0, 1) - (1 - 4.5 * log(3))) < 0.01);
}

/* What random search expects, as a search's own points: ranks are interpolated between points and
 * rounded, so the score is the mean of (round(t) - t) / (4 - t), 0.01296, and not quite 0. */
static void random_search_is_nearly_zero(void **state)
{
    (void)state;
    const ot_score_point points[] = {{1, 4, 0}, {2, 3, 0}, {3, 2, 0}};
    assert_true(fabs(score_of(points, 3, 1) - 0.01296) < 0.002);
}

/* Two runs, one at the optimum, one with a cost of 3: ranks 9 and 7, pooled to 8, a cost of 2. The
 * mean over [1, 3] of (5 - t - 2) / (4 - t) is 1 - ln(3) / 2. */
static void runs_are_pooled_by_rank(void **state)
{
    (void)state;
    const ot_score_point points[] = {{1, 1, 0}, {1, 3, 1}, {3, 1, 0}, {3, 3, 1}};
    assert_true(fabs(score_of(points, 4, 2) - (1 - log(3) / 2)) < 0.002);
    ot_yardstick y = yardstick();
    assert_true(ot_score(&y, points, 4, 2, 2, 1, NULL) > 0.999);
    /* One run left out at a time: 1, and 1 - log(3) with a cost of 3 throughout. */
    assert_true(fabs(ot_score_error(&y, points, 4, 2) - log(3) / 2) < 0.002);
    ot_yardstick_close(&y);
}

/* Trials that fail take time: 11 trials bring 10 good ones. */
static void failures_slow_random_search_down(void **state)
{
    (void)state;
    optune_err err = {0};
    ot_recorded_trial trial[11];
    const ot_recorded good = ten();
    for (int i = 0; i < 10; i++)
        trial[i] = good.trial[i];
    trial[10] = (ot_recorded_trial){
        .index = 10, .cost = INFINITY, .seconds = 5, .outcome = OPTUNE_OUTCOME_COMPILE};
    const ot_recorded recorded = {
        .name = "eleven", .trial = trial, .n_trials = 11, .n_good = 10};
    ot_yardstick y;
    check_ok(ot_yardstick_open(&recorded, &y, &err));
    assert_int_equal(y.trials, 3);
    /* 1 + 5 / 11 s a trial: 3 s are two of them, and then it has a cost of 3. */
    assert_true(fabs(y.random[OT_SCORE_STEPS - 1] - 3) < 1e-9);
    ot_yardstick_close(&y);
}

static void what_tells_nothing_apart_is_refused(void **state)
{
    (void)state;
    optune_err err = {0};
    ot_yardstick y;
    ot_recorded recorded = ten();
    for (int i = 0; i < 10; i++)
        ladder[i].cost = 7;
    assert_int_equal(ot_yardstick_open(&recorded, &y, &err), OPTUNE_ESYNTAX);
    check_contains(err.text, "'ten' cannot tell searches apart");
    recorded = ten();
    for (int i = 0; i < 10; i++)
        ladder[i].seconds = 0;
    assert_int_equal(ot_yardstick_open(&recorded, &y, &err), OPTUNE_ESYNTAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_search_by_hand),
        cmocka_unit_test(optimum_at_once_is_one),
        cmocka_unit_test(the_worst_has_no_floor),
        cmocka_unit_test(random_search_is_nearly_zero),
        cmocka_unit_test(runs_are_pooled_by_rank),
        cmocka_unit_test(failures_slow_random_search_down),
        cmocka_unit_test(what_tells_nothing_apart_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
